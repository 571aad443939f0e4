"""However a program ends, its runs leave neither orders nor, with close_at_end, positions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolkit
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parents[3]
FRONT = ["SIGINT", "SIGTERM", "SIGHUP", "SIGINT+SIGINT", "SIGTERM+SIGINT", "SIGTERM+SIGTERM", "SIGHUP+SIGTERM",
         "error", "hangs, then SIGTERM", "stop_all", "close"]  # fmt: skip
BACK = ["SIGINT", "SIGTERM", "SIGHUP", "SIGTERM+SIGTERM", "kill", "raises", "sys.exit", "dropped", "script ends",
        "close", "stop_all", "error"]  # fmt: skip
CODES = {"SIGTERM": 143, "SIGHUP": 129, "raises": 1, "sys.exit": 3}
WAYS = [
    (way, where, name) for where, ways in (("front", FRONT), ("back", BACK)) for way in ways for name in ("", "kept")
]
QUICK = {("SIGTERM+SIGINT", "front", "kept"), ("script ends", "back", "")}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with LocalVenue() as venue, venue.serve(0) as served:
        yield served.base_url


@pytest.mark.parametrize(
    ("way", "where", "name"),
    [pytest.param(*each, marks=() if each in QUICK else pytest.mark.slow, id="-".join(each)) for each in WAYS],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_however_a_program_ends_its_run_leaves_nothing(
    url: str, tmp_path: Path, way: str, where: str, name: str
) -> None:
    command = [sys.executable, "-m", "tests.research.running.endings_program", url, way, where, name]
    environment = {**os.environ, "TOOLKIT_STATE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    with toolkit.connect(base_url=url) as session:
        assert session.orders(open=True).empty, ended.stdout + ended.stderr
        assert session.positions().empty, ended.stdout + ended.stderr
    if where == "back" or way in ("SIGTERM", "SIGHUP"):
        code = 1 if way == "SIGINT" else CODES.get(way.partition("+")[0], 0)
        assert ended.returncode == code, ended.stdout + ended.stderr
