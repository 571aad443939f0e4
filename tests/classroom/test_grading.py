"""Handed-in notebooks: what they leave is checked, what they must not do is refused, limits end them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit.__main__ import main
from toolkit.classroom.grading import Work, checks_of, grade, marks, run
from toolkit.classroom.jail import Jail, Stopped, exchange
from toolkit.errors import InputError

CHECKS = '''
def check_sum(work):
    """The sum is right"""
    assert work.value("total") == 6, f"the sum is {work.value('total')}"

check_sum.points = 2

def check_table(work):
    """The table has two rows"""
    assert len(work.value("table")) == 2
'''


def notebook(path: Path, *cells: str) -> Path:
    written = [{"cell_type": "code", "source": cell.splitlines(True), "metadata": {}, "outputs": []} for cell in cells]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"cells": written, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}), encoding="utf-8"
    )
    return path


@pytest.mark.jail
def test_values_come_back_in_their_kinds_and_the_graders_variables_stay_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKIT_MASTER_KEY", "0x" + "11" * 32)
    work = run(
        notebook(
            tmp_path / "a.ipynb",
            "from decimal import Decimal\nimport pandas as pd, numpy as np\nprint('hello')",
            "price, count, names = Decimal('1.50'), np.int64(3), {'a': [1, (2, None)]}",
            "import os; variables = sorted(os.environ)",
            "table = pd.DataFrame({'x': [1, 2]}, index=['p', 'q'])\nrow = table['x']\n_hidden = 1",
        )
    )
    assert (work.error, work.output.strip()) == ("", "hello")
    assert work.value("price") == Decimal("1.50")
    assert work.value("count") == 3
    assert work.value("names") == {"a": [1, [2, None]]}
    assert work.value("table")["x"].tolist() == work.value("row").tolist() == [1, 2]
    assert isinstance(work.value("table"), pd.DataFrame)
    with pytest.raises(KeyError, match="left no '_hidden'"):
        work.value("_hidden")
    assert work.memory_mb > 10
    assert "TOOLKIT_MASTER_KEY" not in work.value("variables")


@pytest.mark.slow
@pytest.mark.jail
def test_what_a_failed_notebook_left_is_read_however_late_the_kernel_goes_on_after_its_error(tmp_path: Path) -> None:
    work = run(notebook(tmp_path / "a.ipynb", "kept = 1; get_ipython().kernel.stop_on_error_timeout = 0.5", "1 / 0"))
    assert work.error == "cell 2: ZeroDivisionError: division by zero"
    assert work.value("kept") == 1


@pytest.mark.slow
@pytest.mark.jail
def test_a_notebook_runs_as_in_jupyter_with_files_and_a_machine_of_its_own(tmp_path: Path) -> None:
    cells = [
        "import socket; server = socket.create_server(('127.0.0.1', 0))",
        "socket.create_connection(server.getsockname()).close()",
        "listed = !echo listed",
        "open('own.txt', 'w').write('x')\nfound = open('own.txt').read()",
        "%matplotlib inline\n%load_ext toolkit.magics",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        "%%time\nfrom IPython.display import display, HTML\ndisplay(HTML('<b>bold</b>'))",
        "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    return 7",
        "task = asyncio.create_task(later())",  # needs the loop that a kernel runs between cells
        "seven = await task",
        "%%capture said\nprint('quiet')",
        "quiet = said.stdout",
        "%%writefile own.py\nown = 3",
        "%run own.py",
        "import ipywidgets\nipywidgets.interact(lambda x: x, x=3)",
        "import toolkit\nsession = toolkit.connect(clock='manual')\nsession.dashboard('BTCUSDC')",
        "products = len(await session.aio.products())",
        "import threading\nthread = threading.Thread(target=print, args=('threaded',))",
        "thread.start(); thread.join()",
        "41 + 1",
        "last = _",
        "",
    ]
    work = run(notebook(tmp_path / "a.ipynb", *cells))
    assert work.error == ""
    left = {name: work.value(name) for name in ("found", "seven", "quiet", "own", "products", "last")}
    assert work.value("listed") == ["listed"]
    assert left == {"found": "x", "seven": 7, "quiet": "quiet\n", "own": 3, "products": 4, "last": 42}
    for words in ("Figure size", "IPython.core.display.HTML", "Wall time", "<Dashboard", "threaded\n", "42\n"):
        assert words in work.output, words


LATE = {
    "while True: pass": r"cell 2: it ran longer than (4\.\d|5|5\.\d) s and was interrupted",
    "held = []\nwhile True: held.append(bytes(10_000_000))": "wanted more than 700 MB of memory",
    "import os; os._exit(0)": "cell 2: the notebook ended its process",
    "1 / 0": "cell 2: ZeroDivisionError",
    "input()": "StdinNotImplementedError",
    "import sys; sys.exit(1)": "SystemExit",
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass": "could not be interrupted",
}
SURVIVED = ("while True", "held", "1 / 0", "input", "import sys")


@pytest.mark.jail
@pytest.mark.parametrize(
    "late",
    [pytest.param(late, marks=() if late.startswith(("import os", "1 / 0")) else pytest.mark.slow) for late in LATE],
)
def test_a_late_mistake_costs_only_what_comes_of_it(tmp_path: Path, late: str) -> None:
    work = run(notebook(tmp_path / "a.ipynb", "first = 1", late, "last = first + 1"), seconds=6, memory_mb=700)
    assert re.search(LATE[late], work.error)
    assert work.value("first") == 1
    assert ("last" in work.values) == late.startswith(SURVIVED)
    assert [bool(error) for error in work.errors] == [False, True, not late.startswith(SURVIVED)]


@pytest.mark.slow
@pytest.mark.jail
def test_joining_a_class_gives_a_graded_notebook_a_venue_that_it_can_only_let_advance(tmp_path: Path) -> None:
    cells = (
        "import toolkit\nsession = toolkit.join('http://192.0.2.1:8645/join/abcdefgh')",
        "balance = session.wallet_balances(exact=True)['balance'].iloc[0]",
        "bought = session.buy('BTCUSDC', '0.01').status",
        "held = len(session.positions())\nbefore = session.venue.advance(until=None, span='1s')",
        "passed = session.venue.advance('1h') - before",
        "can = dir(session.venue.control)\nimport os; known = '11' in os.environ.values()",
        "session.venue.snapshot()",
    )
    work = run(notebook(tmp_path / "a.ipynb", *cells), seed=11)
    assert [bool(error) for error in work.errors] == [False] * 6 + [True]
    left = [work.value(name) for name in ("balance", "bought", "held", "can", "known")]
    assert left == [Decimal("10000"), "FILLED", 1, [], False]
    assert 3_600_000 <= work.value("passed") < 3_660_000
    wrong = run(notebook(tmp_path / "b.ipynb", "import toolkit; toolkit.join('192.0.2.1:8645')", "after = 1"))
    assert "no link of a class" in wrong.error
    assert wrong.value("after") == 1


def test_without_a_jail_grading_refuses_and_says_what_trusting_students_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook(tmp_path / "a.ipynb", "import os; parent = os.getppid()")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"no jail.*--container IMAGE.*--trust-students.*read your files, keys"):
        grade(tmp_path)
    with pytest.raises(InputError, match="needs docker or podman"):
        grade(tmp_path, container="image")
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    if sys.platform.startswith("linux"):
        with pytest.raises(InputError, match=r"uid map: Permission denied.*unprivileged_userns_clone.*AppArmor"):
            grade(tmp_path)
    assert grade(tmp_path, trust_students=True)["reached"].tolist() == [1.0]


def test_a_container_has_no_network_no_rights_and_the_same_limits() -> None:
    line = Jail("/usr/bin/podman", "class:1").container(["python", "-m", "worker"], "name", 700)
    assert line[:2] == ["/usr/bin/podman", "run"]
    assert line[-5:] == ["--entrypoint", "python", "class:1", "-m", "worker"] or line[-3:] == [
        "class:1",
        "-m",
        "worker",
    ]
    text = " ".join(line)
    for option in (
        "--rm", "--network none", "--read-only", "--cap-drop ALL", "no-new-privileges", "--user 1000:1000",
        "--pids-limit 200", "--memory 700m", "--memory-swap 700m", "--shm-size 64m", "size=256m",
        "--entrypoint python",
    ):  # fmt: skip
        assert option in text
    assert "--volume" not in text


@pytest.mark.slow
def test_a_check_that_never_ends_costs_its_notebook_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.classroom.grading.CHECK_SECONDS", 4.0)
    notebook(tmp_path / "in" / "a.ipynb", "count = 10 ** 15")
    notebook(tmp_path / "in" / "b.ipynb", "count = 3")
    checks = tmp_path / "checks.py"
    checks.write_text("def check_it(work):\n    assert sum(range(work.value('count'))) == 3\n", encoding="utf-8")
    rows = grade(tmp_path / "in", checks, trust_students=True)
    assert rows["reached"].tolist() == [0.0, 1.0]
    assert "could not judge it: it ran longer than its time" in rows["why"][0]


@pytest.mark.skipif(os.name != "posix", reason="a virtual environment of Windows puts a process in between")
def test_what_was_right_before_the_worker_was_killed_counts(tmp_path: Path) -> None:
    notebook(
        tmp_path / "a.ipynb", "total = 6; table = [1]", "import os, time; os.kill(os.getppid(), 9); time.sleep(60)"
    )
    (tmp_path / "checks.py").write_text("def check_it(work):\n    assert work.value('total') == 6\n", encoding="utf-8")
    rows = grade(tmp_path, tmp_path / "checks.py", trust_students=True)
    assert rows[["reached", "cell"]].to_numpy().tolist() == [[1.0, 2]]
    assert grade(tmp_path, trust_students=True)["why"].tolist() == ["cell 2: the notebook's process ended with code -9"]


@pytest.mark.parametrize(("end", "left"), [("", b"2"), ("\\n", b"3")])
def test_the_last_whole_message_is_what_a_stopped_program_leaves(end: str, left: bytes) -> None:
    program = f"import os\nos.write(1, b'1\\n2\\n3{end}')\nos._exit(4)"
    with pytest.raises(Stopped, match="ended with code 4") as stopped:
        exchange([sys.executable, "-c", program], b"", os.environ, seconds=60, memory_mb=500)
    assert stopped.value.left == left


@pytest.mark.parametrize(
    ("text", "words"), [(None, "can't be read"), ("x = 1", "has no function check_"), ("1/0", "ZeroDivisionError")]
)
def test_checks_that_cannot_be_used_are_explained(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "checks.py"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        checks_of(path)


@pytest.mark.slow
@pytest.mark.jail
def test_the_command_prints_points_and_writes_a_report(tmp_path: Path) -> None:
    notebook(tmp_path / "in" / "a.ipynb", "total = 6; table = [1]")
    (tmp_path / "checks.py").write_text(CHECKS, encoding="utf-8")
    line = [sys.executable, "-m", "toolkit", "grade", str(tmp_path / "in")]
    done = subprocess.run(
        [*line, "--checks", str(tmp_path / "checks.py"), "--report", str(tmp_path / "r.parquet")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "a.ipynb: 2 of 3 points" in done.stdout
    assert "missed 1: The table has two rows" in done.stdout
    assert pd.read_parquet(tmp_path / "r.parquet")["reached"].tolist() == [2.0, 0.0]
    (tmp_path / "in" / "a.ipynb").unlink()
    none = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert (none.returncode, "there are no notebooks" in none.stderr) == (2, True)


@pytest.mark.jail
def test_files_that_are_no_notebooks_are_marked_as_ones_that_do_not_run(tmp_path: Path) -> None:
    texts = ("", "[]", "{}", '{"cells": [{}]}', '{"cells": [{"cell_type": "code"}]}')
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.ipynb").write_text(text, encoding="utf-8")
    rows = grade(tmp_path)
    assert len(rows) == len(texts)
    assert rows["why"].str.startswith("it is not a notebook: ").all()
    assert rows["reached"].sum() == 0


@pytest.mark.parametrize(
    ("answers", "reached"),
    [
        ({"size": 0.08333, "short_liquidation": Decimal("62222.22"), "tries": 243}, [2, 1, 1]),
        ({"size": 0.0033, "short_liquidation": 57_000, "tries": 242}, [0, 0, 0]),
        ({"size": "much"}, [0, 0, 0]),
    ],
)
def test_the_checks_of_the_course_of_two_hours_take_right_answers_only(
    answers: dict[str, object], reached: list[int], tmp_path: Path
) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "course.md").read_text(encoding="utf-8")
    checks = tmp_path / "checks.py"
    checks.write_text(page.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    work = Work(tmp_path / "ann.ipynb", "", values=answers)
    assert [points for _, points, _ in marks(work, checks_of(checks))] == reached


KINDS = {
    "array": "np.arange(3)", "matrix": "np.ones((2, 2))", "times": "np.array(['2026-01-01'], dtype='datetime64[s]')",
    "complex": "1 + 2j", "timestamp": "pd.Timestamp('2026-01-01 01:02:03.123456789', tz='UTC')",
    "pandas span": "pd.Timedelta('1.5s')", "moment": "dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)",
    "day": "dt.date(2026, 1, 1)", "span": "dt.timedelta(hours=-1)", "fraction": "Fraction(1, 3)", "bytes": "b'ab'",
    "index": "pd.Index([1, 2], name='n')", "dates": "pd.date_range('2026-01-01', periods=2, tz='UTC')",
    "levels": "pd.MultiIndex.from_tuples([(1, 'a'), (2, 'b')])", "large": "pd.DataFrame({'x': range(100_000)})",
    "typed": "pd.DataFrame({'t': pd.date_range('2026', periods=2), 'i': pd.array([1, None], dtype='Int64'), "
    "'d': [Decimal('1.10'), None], 'c': pd.Categorical(['u', 'v'])})",
}  # fmt: skip
UNREAD = {
    "thing": ("object()", "its type, object, can't be read"), "code": ("print", "can't be read"),
    "huge": ("'x' * 10 ** 7", "too large to be read"), "deep": ("[[[[[[[[[[1]]]]]]]]]]", "nested too deeply"),
}  # fmt: skip


@pytest.mark.jail
def test_every_kind_of_value_comes_back_or_is_named(tmp_path: Path) -> None:
    imports = "import datetime as dt, numpy as np, pandas as pd\nfrom decimal import Decimal\n"
    imports += "from fractions import Fraction\n"
    sources = [*KINDS.values(), *(source for source, _ in UNREAD.values())]
    cell = "\n".join(f"v{number} = {source}" for number, source in enumerate(sources))
    work = run(notebook(tmp_path / "a.ipynb", imports + cell))
    made: dict[str, Any] = {}
    exec(imports + cell, made)
    assert work.error == ""
    for number, kind in enumerate(KINDS):
        value, expected = work.value(f"v{number}"), made[f"v{number}"]
        assert type(value) is type(expected), kind
        if isinstance(expected, pd.DataFrame):
            pd.testing.assert_frame_equal(value.drop(columns="index"), expected)
        else:
            assert np.array_equal(value, expected), kind
    for number, (_, words) in enumerate(UNREAD.values(), len(KINDS)):
        with pytest.raises(KeyError, match=rf"'v{number}' is there, but .*{words}"):
            work.value(f"v{number}")


@pytest.mark.jail
def test_the_files_of_an_assignment_lie_next_to_each_notebook(tmp_path: Path) -> None:
    (tmp_path / "files" / "data").mkdir(parents=True)
    (tmp_path / "files" / "data" / "prices.csv").write_text("x\n5\n", encoding="utf-8")
    (tmp_path / "files" / "helper.py").write_text("double = lambda x: 2 * x\n", encoding="utf-8")
    cell = "import helper, pandas as pd\nanswer = int(helper.double(pd.read_csv('data/prices.csv')['x'].sum()))"
    notebook(tmp_path / "in" / "a.ipynb", cell)
    checks = tmp_path / "checks.py"
    checks.write_text("def check_it(work):\n    assert work.value('answer') == 10\n", encoding="utf-8")
    assert grade(tmp_path / "in", checks)["reached"].tolist() == [0.0]
    assert grade(tmp_path / "in", checks, files=tmp_path / "files")["reached"].tolist() == [1.0]
    with pytest.raises(InputError, match="no files"):
        grade(tmp_path / "in", checks, files=tmp_path / "none")


def test_a_failure_of_the_machine_is_not_graded_and_never_costs_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook(tmp_path / "a.ipynb", "x = 1")
    assert grade(tmp_path, trust_students=True)["reached"].tolist() == [1.0]
    monkeypatch.setattr("toolkit.classroom.grading.sys.executable", "/no/python")
    rows = grade(tmp_path, trust_students=True)  # its trial has passed already
    assert rows["reached"].isna().all()
    assert rows["why"][0].startswith("not graded: its worker could not be started")
    assert main(["grade", str(tmp_path), "--trust-students", "--canvas", str(tmp_path / "points.csv")]) == 1
    assert "a.ipynb: not graded" in capsys.readouterr().out
    assert pd.read_csv(tmp_path / "points.csv")["Grade"].tolist()[1:] == [pytest.approx(float("nan"), nan_ok=True)]


@pytest.mark.jail
def test_packages_of_a_user_or_of_the_path_are_found_and_a_trial_that_fails_is_said_before_the_first_student(
    tmp_path: Path,
) -> None:
    notebook(tmp_path / "in" / "a.ipynb", "import mine\nx = mine.x")
    packages = tmp_path / "user" / "packages"
    (packages / "mine-1.dist-info").mkdir(parents=True)
    (packages / "mine.py").write_text("x = 1\n", encoding="utf-8")
    line = [sys.executable, "-m", "toolkit", "grade", str(tmp_path / "in")]
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(packages)])
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert "a.ipynb: 1 of 1 points" in done.stdout, done.stderr
    # A module of Python's own, which a folder of the path hides also where the toolkit itself is installed.
    (packages / "json.py").write_text("raise ImportError('broken here')\n", encoding="utf-8")
    program = "import json, pandas, sys; sys.path.insert(0, sys.argv[2]); from toolkit.classroom.grading import grade"
    broken = subprocess.run(
        [sys.executable, "-c", f"{program}; grade(sys.argv[1])", str(tmp_path / "in"), str(packages)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "a known notebook fails here" in broken.stderr
    assert "broken here" in broken.stderr


@pytest.mark.parametrize(
    ("body", "reached", "words"),
    [
        ("    if work.value('x') == 1:\n        import os; os._exit(3)", None, "not graded: .*code 3"),
        ("    if not work.values:\n        import os; os._exit(3)", InputError, "fail for a notebook without values"),
    ],
    ids=["for one", "for all"],
)
def test_checks_that_break_are_not_a_students_fault(
    tmp_path: Path, body: str, reached: type[Exception] | None, words: str
) -> None:
    notebook(tmp_path / "in" / "a.ipynb", "x = 1")
    checks = tmp_path / "checks.py"
    checks.write_text(f"def check_it(work):\n{body}\n", encoding="utf-8")
    if reached is not None:
        with pytest.raises(reached, match=words):
            grade(tmp_path / "in", checks, trust_students=True)
        return
    rows = grade(tmp_path / "in", checks, trust_students=True)
    assert rows["reached"].isna().all()
    assert re.search(words, rows["why"][0])
