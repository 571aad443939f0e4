"""`python -m tests.budgets FILE`: which rooms of tests took more processor time than their budget, twice in a row.

`pytest --processor-time=FILE` writes the processor seconds of each room's tests and prints the table. A room that is
over its budget is run once more, alone: beside other work a test takes longer, one that has grown takes longer again.
Seconds are those of the machine that the budgets were set on: each run times a fixed piece of work as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUDGET_SECONDS = 30.0
"""Processor time that the tests of one room may take in the default run."""
OWN_BUDGETS = {"tests": 150.0, "notebooks": 75.0, "tests/research/analysis": 45.0}
"""Rooms with a budget of their own: what holds the project as a whole, the lessons, and measures by a second form."""
UNIT_SECONDS = 0.02
"""Processor time of `_work` on the machine that the budgets were set on."""


def room_of(test: str) -> str:
    """Return the room of a test, by its id: its first two folders, such as "tests/client"."""
    folders = PurePosixPath(test.partition("::")[0]).parts[:-1]
    return "/".join(folders[:3]) or "."


def _work() -> float:
    """Return how long a fixed piece of work takes here, in processor seconds: the quickest of five."""
    took = []
    for _ in range(5):
        began = time.process_time()
        table = {number: str(number) for number in range(100_000)}
        sorted(table.values())
        took.append(time.process_time() - began)
    return min(took)


def _spent() -> float:
    """Return the processor seconds of this process and of those that it has waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class Clock:
    """Plugin: notes the processor time of each phase of a test in its report, where xdist carries it along."""

    def __init__(self) -> None:
        self.began = _spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Any:
        report = yield
        now = _spent()
        report.user_properties.append(("processor", now - self.began))
        self.began = now
        return report


class Table:
    """Plugin of the process that reports: adds up by room, prints and writes the table."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.seconds: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        took = [value for name, value in report.user_properties if name == "processor"]
        # Properties of the phases add up in the reports of the same test: the last one is this phase's.
        self.seconds[room_of(report.nodeid)] += float(took[-1]) if took else 0.0
        self.tests[room_of(report.nodeid)] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        unit = _work()
        told = {"unit": unit, "rooms": {room: took * UNIT_SECONDS / unit for room, took in self.seconds.most_common()}}
        self.file.write_text(json.dumps(told, indent=1), encoding="utf-8")
        terminalreporter.write_line(f"{'room':36}{'tests':>7}{'processor s':>13}")
        for room, took in self.seconds.most_common():
            terminalreporter.write_line(f"{room:36}{self.tests[room]:7,}{took:13.1f}")
        every = sum(self.seconds.values())
        terminalreporter.write_line(f"{'all':36}{sum(self.tests.values()):7,}{every:13.1f}")


def _paths(room: str) -> list[str]:
    """Return what runs the tests of a room: its folder, or its own files where a folder below it is another room."""
    if room.count("/") == 2:
        return [room]
    files = sorted(path for path in (ROOT / room).iterdir() if path.name.startswith("test_") or path.suffix == ".ipynb")
    return [str(path.relative_to(ROOT)) for path in files]


def over(rooms: dict[str, float]) -> dict[str, float]:
    """Return the rooms over their budget."""
    return {room: took for room, took in rooms.items() if took > OWN_BUDGETS.get(room, BUDGET_SECONDS)}


def main() -> int:
    """Return 1 if a room is over its budget in the file and once more alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    code = 0
    for room, took in over(json.loads(arguments.file.read_text(encoding="utf-8"))["rooms"]).items():
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder, "again.json")
            words = [sys.executable, "-m", "pytest", "-q", f"--processor-time={again}", *_paths(room)]
            subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
            second = json.loads(again.read_text(encoding="utf-8"))["rooms"].get(room, 0.0)
        most = OWN_BUDGETS.get(room, BUDGET_SECONDS)
        slow = second > most
        print(f"{room}: {took:.0f} s, alone {second:.0f} s, budget {most:.0f} s{': too slow' if slow else ''}")
        code = max(code, int(slow))
    return code


if __name__ == "__main__":
    raise SystemExit(main())
