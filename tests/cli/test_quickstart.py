"""`toolkit quickstart`: the whole first trade, quickly, readably, and the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from toolkit.__main__ import main
from toolkit.cli import quickstart
from toolkit.errors import MissingPackage

ROOT = Path(__file__).resolve().parents[2]
STORY = Path(__file__).with_name("quickstart.txt")
STEPS = ("faucetClaim accepted", "approveAgent accepted", "BTCUSDC", "placeOrder accepted", "cancelOrder accepted",
         "LONG", "Close it", "FUNDING", "REALIZED_PNL", "equity")  # fmt: skip


@pytest.mark.slow
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


def test_a_seed_gives_the_whole_text_of_the_first_trade(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change of this file is a change of the simulated market, of hashes, or of words: say so in the changelog."""
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["quickstart", "--no-plot"]) == 0
    assert capsys.readouterr().out == STORY.read_text(encoding="utf-8")


def test_the_equity_of_the_trade_is_drawn_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from matplotlib import pyplot

    drawn: list[pd.Series[Any]] = []
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("toolkit.plots.equity", lambda curve, title: drawn.append(curve.rename(title)))
    monkeypatch.chdir(tmp_path)
    assert main(["quickstart", "--plot", "x.png"]) == 0
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")
    assert pyplot.get_fignums() == []
    [curve] = drawn
    assert curve.name == "Equity of the first trade (USDC)"
    assert str(curve.index.tz) == "UTC"
    # Before the order, every two minutes of the hour, and a second after the position was closed.
    start = pd.Timestamp(quickstart.START)
    assert (curve.index[1:-1] - curve.index[0]).tolist() == [pd.Timedelta(minutes=2 * at) for at in range(1, 31)]
    assert pd.Timedelta(0) <= curve.index[0] - start < pd.Timedelta("1min")
    assert pd.Timedelta("1s") <= curve.index[-1] - curve.index[-2] < pd.Timedelta("1min")
    story, told = capsys.readouterr().out, STORY.read_text(encoding="utf-8")
    assert story.startswith(told)
    assert " ".join(story.removeprefix(told).split()) == (
        "The equity over that hour is drawn in x.png. "
        "Next: python -m toolkit lab opens the walkthroughs, python -m toolkit doctor looks at your set-up."
    )
    change = curve.iloc[-1] - curve.iloc[0]
    assert f"The trade {'made' if change >= 0 else 'lost'} {abs(change):.2f} USDC" in story


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def need(package: str) -> None:
        raise MissingPackage(f"{package} is not installed", name=package)

    monkeypatch.setattr(quickstart, "need", need)
    assert main(["quickstart"]) == 0
    assert capsys.readouterr().out.endswith("   The equity is not drawn: matplotlib is not installed\n")


def test_the_keys_follow_from_the_seed() -> None:
    found = [quickstart.throwaway_wallet(seed) for seed in (7, 7, 8)]
    assert found[0].master == found[1].master == "0x539eFEe65E918E634c5E98048A882Cc8992D569D"
    assert found[0].agent == found[1].agent == "0xf5C9bD7cBfe193a919df3a9B34Bb9b76ab74b7a9"
    assert len({wallet.master for wallet in found} | {wallet.agent for wallet in found}) == 4


@pytest.mark.slow
def test_a_figure_that_can_not_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quickstart", "--plot", str(tmp_path / "nowhere" / "x.png")]) == 1
    assert "could not be written" in capsys.readouterr().out
