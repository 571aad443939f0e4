"""`toolkit quickstart`: the whole first trade, quickly, readably, and the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
STEPS = ("faucetClaim accepted", "approveAgent accepted", "BTCUSDC", "placeOrder accepted", "cancelOrder accepted",
         "LONG", "Close it", "FUNDING", "REALIZED_PNL", "equity")  # fmt: skip


def test_the_first_trade_in_a_fresh_process_takes_less_than_ten_seconds(tmp_path: Path) -> None:
    before = os.times()
    words = [sys.executable, "-W", "error", "-m", "toolkit", "quickstart"]
    places = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=places)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    after = os.times()  # of the child; the clock on the wall also counts what else the machine does
    assert after.children_user + after.children_system - before.children_user - before.children_system < 10
    last = -1
    for step in STEPS:
        assert done.stdout.find(step, last + 1) > last, step
        last = done.stdout.find(step, last + 1)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (tmp_path / "quickstart-equity.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_tells_the_same_story(capsys: pytest.CaptureFixture[str]) -> None:
    stories = []
    for seed in ("7", "7", "8"):
        assert main(["quickstart", "--seed", seed, "--no-plot"]) == 0
        stories.append(capsys.readouterr().out)
    assert stories[0] == stories[1] != stories[2]


def test_a_figure_that_can_not_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quickstart", "--plot", str(tmp_path / "nowhere" / "x.png")]) == 1
    assert "could not be written" in capsys.readouterr().out
