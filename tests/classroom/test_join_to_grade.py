"""A class, from the first join to the points of the last notebook, with the commands that a teacher types."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import toolkit
from tests.classroom.test_grading import notebook
from toolkit import errors

STUDENTS = 12
CHECKS = '''
import json
from pathlib import Path

HELD = json.loads(Path(__file__).with_name("held.json").read_text())

def check_joined(work):
    """The notebook joins the class"""
    assert work.value("joined"), "the notebook joined no class"

def check_position(work):
    """It says what the account holds"""
    assert work.value("size") == HELD[work.path.stem], f"it says {work.value('size')}"

check_position.points = 2
'''


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_class_from_join_to_grade(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "toolkit", "class", "--students", str(STUDENTS), "--seed", "7", "--port", "0"]
    (tmp_path / "names").write_text("\n".join(f"Student {number:02}" for number in range(STUDENTS)), encoding="utf-8")
    line += ["--names", str(tmp_path / "names"), "--start", "2026-01-05T09:00:00Z", "--speed", "5"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            text = "".join(iter(process.stdout.readline, "ready\n"))
            links = dict(re.findall(r'(Student \d\d)\ttoolkit\.join\("([^"]+)"\)', text))
            [token] = re.findall(r"control token  (\S+)", text)
            base_url = links["Student 00"].partition("/join/")[0]
            lesson(tmp_path, links, base_url, token)
            grade(tmp_path, links)
            process.terminate()
            assert process.wait(20) == 0
        finally:
            process.kill()


def lesson(folder: Path, links: dict[str, str], base_url: str, token: str) -> None:
    """Join, trade, and do what a teacher does meanwhile; export everything."""
    opened, jumped = threading.Barrier(STUDENTS + 1), threading.Barrier(STUDENTS + 1)
    with toolkit.connect("local", base_url=base_url, control_token=token, timeout=60) as teacher:
        control = teacher.venue.control

        def study(name: str) -> tuple[str, float]:
            quantity = f"0.0{1 + int(name[-2:]) % 9}"
            with toolkit.join(links[name], timeout=60) as session:
                book = session.stream.order_book("BTCUSDC")
                book.wait(lambda live: live.frame().size, timeout=60)
                (session.buy if int(name[-2:]) % 2 else session.sell)("BTCUSDC", quantity)
                opened.wait(100)
                jumped.wait(100)
                with pytest.raises(errors.ExchangeError):  # trading is frozen
                    session.buy("BTCUSDC", "0.01")
                position = session.positions().iloc[0]
                return position["side"], float(position["size"])

        with ThreadPoolExecutor(STUDENTS) as students:
            futures = {name: students.submit(study, name) for name in links}
            opened.wait(100)
            assert all(row["joined"] and row["seen"] for row in control.who())
            kept = control.save_point()
            before = control.leaderboard()
            control.jump("BTCUSDC", "-8", "A large holder sells")
            control.freeze()
            jumped.wait(100)
            held = {name: future.result(100) for name, future in futures.items()}
        control.hold_time()
        end = time.monotonic() + 60
        while (after := control.leaderboard()) == before:  # it may be some seconds old
            assert time.monotonic() < end
        assert [row["rank"] for row in after] == list(range(1, STUDENTS + 1))
        # a fall is the gain of those who were short
        assert {row["name"] for row in after if row["return"] > 0} == {
            name for name in links if held[name][0] == "SHORT"
        }
        written = control.export(str(folder / "export"))
        control.unfreeze()
        control.back_to(kept)
        control.go_on()
    sizes = {name: size for name, (_, size) in held.items()}
    (folder / "held.json").write_text(pd.Series(sizes).to_json(), encoding="utf-8")
    tables = {Path(path).stem: pd.read_parquet(path) for path in written}
    assert set(tables["leaderboard"]["name"]) == set(tables["fills"]["student"]) == set(links)
    assert tables["positions"].groupby("student")["size"].sum().to_dict() == sizes


def grade(folder: Path, links: dict[str, str]) -> None:
    """Hand in notebooks: most are right, one guesses, one fails, one looks for the checks, one never ends."""
    (folder / "checks.py").write_text(CHECKS, encoding="utf-8")
    for number, (name, link) in enumerate(links.items()):
        # A graded notebook has no network: it joins a venue of its own, and trades there as it did in the class.
        trade = f"session.buy('BTCUSDC', '0.0{1 + number % 9}')\nsize = float(session.positions()['size'].iloc[0])"
        last = {3: "size = 1.0", 4: "1 / 0", 5: f"open({str(folder / 'checks.py')!r})", 6: "while True: pass"}
        cells = (
            "import toolkit",
            f"session = toolkit.join({link!r})\njoined = True",
            last.get(number, trade),
        )
        notebook(folder / "handed-in" / f"{name}.ipynb", *cells)
    report = folder / "points.csv"
    line = [sys.executable, "-m", "toolkit", "grade", str(folder / "handed-in"), "--seconds", "20"]
    line += ["--checks", str(folder / "checks.py"), "--report", str(report)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    with open(report, encoding="utf-8", newline="") as file:
        points = dict.fromkeys(links, 0.0)
        for row in csv.DictReader(file):
            points[Path(row["notebook"]).stem] += float(row["reached"])
    wrong = dict(zip(list(links)[3:7], (1.0, 1.0, 1.0, 1.0), strict=True))
    assert points == {**dict.fromkeys(links, 3.0), **wrong}
    for words in ("it says 1.0", "ZeroDivisionError", "FileNotFoundError", "cell 3: it ran longer than"):
        assert words in done.stdout
    assert "Student 00.ipynb: 3 of 3 points" in done.stdout
