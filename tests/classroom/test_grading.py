"""Handed-in notebooks: what they leave is checked, what they must not do is refused, limits end them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from toolkit.classroom.grading import Work, checks_of, grade, marks, run
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
def test_a_notebook_on_the_local_venue_is_graded(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    notebook(
        folder / "ann" / "good.ipynb",
        "import toolkit\nsession = toolkit.connect(clock='manual')",
        "session.buy('BTCUSDC', '0.01')\ntable = session.positions()\ntable = [1, 2]\ntotal = 6",
    )
    notebook(folder / "bo.ipynb", "total = 5", "1/0", "total = 6")
    notebook(folder / ".ipynb_checkpoints" / "old.ipynb", "total = 6")
    checks = tmp_path / "checks.py"
    checks.write_text(CHECKS, encoding="utf-8")
    rows = grade(folder, checks)
    assert rows.groupby("notebook")["reached"].sum().to_dict() == {"ann/good.ipynb": 3.0, "bo.ipynb": 0.0}
    why = rows[rows["notebook"] == "bo.ipynb"]["why"].tolist()
    assert "the sum is 5; cell 2: ZeroDivisionError" in why[0]
    assert "left no 'table'" in why[1]


FORBIDDEN = {
    "import subprocess; subprocess.run(['id'])": "does not allow subprocess.Popen",
    "import os; os.system('id')": "does not allow os.system",
    "open('{secret}').read()": "does not let this notebook read",
    "open('{outside}/x', 'w')": "does not let this notebook write",
    "import os; os.open('{outside}/x', os.O_CREAT | os.O_WRONLY)": "does not let this notebook write",
    "import os; os.remove('{secret}')": "does not let this notebook change",
    "import os; os.rename('{secret}', 'mine')": "does not let this notebook change",
    "import os; os.listdir('{outside}')": "does not let this notebook list",
    "import socket; socket.create_connection(('192.0.2.1', 9), timeout=1)": "has no network",
    "import os; os.kill(os.getppid(), 9)": "does not allow os.kill",
    "open('{source}/pyproject.toml').read()": "does not let this notebook read",
    "get_ipython().run_cell_magic('bash', '', 'id')": "does not allow subprocess.Popen",
    "get_ipython().system('id')": "does not allow os.",
    "get_ipython().getoutput('id')": "does not allow subprocess.Popen",
    "get_ipython().run_line_magic('pip', 'install x')": "does not allow os.",
    "import ctypes; ctypes.CDLL('libm.so.6')": "does not allow ctypes.dlopen",
    "import multiprocessing as m; m.get_context('spawn').Process(target=print).start()": "does not",
}


def test_what_the_sandbox_forbids(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "checks.py"
    secret.write_text("secret", encoding="utf-8")
    places = {"secret": secret, "outside": outside, "source": Path(__file__).parents[2]}
    tries = [code.format(**{name: path.as_posix() for name, path in places.items()}) for code in FORBIDDEN]
    program = (
        f"said = []\nfor code in {tries!r}:\n    try:\n        exec(code)\n        said.append('nothing')\n"
        "    except Exception as error:\n        said.append(str(error))"
    )
    work = run(notebook(tmp_path / "in" / "a.ipynb", program, "open('/root/.profile')", "reached = True"))
    for code, words, said in zip(FORBIDDEN, FORBIDDEN.values(), work.value("said"), strict=True):
        assert words in said, code
    assert "cell 2: Forbidden" in work.error or "cell 2: FileNotFound" in work.error
    assert "reached" not in work.values
    assert secret.read_text(encoding="utf-8") == "secret"
    assert list(outside.iterdir()) == [secret]


def test_what_a_failed_notebook_left_is_read_however_late_the_kernel_goes_on_after_its_error(tmp_path: Path) -> None:
    work = run(notebook(tmp_path / "a.ipynb", "kept = 1; get_ipython().kernel.stop_on_error_timeout = 0.5", "1 / 0"))
    assert work.error == "cell 2: ZeroDivisionError: division by zero"
    assert work.value("kept") == 1


def test_a_notebook_runs_as_in_jupyter_with_files_and_a_machine_of_its_own(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].close(), daemon=True).start()
        cells = [
            f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]})).close()",
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
    assert left == {"found": "x", "seven": 7, "quiet": "quiet\n", "own": 3, "products": 4, "last": 42}
    for words in ("Figure size", "IPython.core.display.HTML", "Wall time", "<Dashboard", "threaded\n", "42\n"):
        assert words in work.output, words


@pytest.mark.parametrize(
    ("cell", "seconds", "words"),
    [
        ("while True: pass", 3, "ran longer than 3 s"),
        pytest.param("while True: print('x' * 1000)", 5, "ran longer than 5 s", marks=pytest.mark.slow),
        pytest.param("import os; os._exit(0)", 60, "ended its process", marks=pytest.mark.slow),
        pytest.param("exit()", 60, "", marks=pytest.mark.slow),
        pytest.param("input()", 60, "StdinNotImplementedError", marks=pytest.mark.slow),
        pytest.param("import sys; sys.exit(1)", 60, "SystemExit", marks=pytest.mark.slow),
    ],
)
def test_what_does_not_end_is_ended(tmp_path: Path, cell: str, seconds: float, words: str) -> None:
    assert words in run(notebook(tmp_path / "a.ipynb", cell), seconds=seconds).error


@pytest.mark.slow
def test_memory_has_a_limit(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", "held = []\nwhile True: held.append(bytearray(10_000_000))")
    work = run(path, seconds=60, memory_mb=400)
    assert "more than 400 MB" in work.error


@pytest.mark.parametrize(
    ("text", "words"), [(None, "can't be read"), ("x = 1", "has no function check_"), ("1/0", "ZeroDivisionError")]
)
def test_checks_that_cannot_be_used_are_explained(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "checks.py"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        checks_of(path)


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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [{}]}', '{"cells": [{"cell_type": "code"}]}'])
def test_a_file_that_is_no_notebook_is_marked_as_one_that_does_not_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.ipynb").write_text(text, encoding="utf-8")
    [row] = grade(tmp_path).to_dict("records")
    assert (row["reached"], row["why"].startswith("it is not a notebook: ")) == (0.0, True)


def test_a_work_without_values_says_so() -> None:
    with pytest.raises(KeyError):
        Work(Path("a"), "it ran longer than 1 s").value("x")


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
