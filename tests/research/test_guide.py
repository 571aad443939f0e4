"""The strategies of the guide are short, trade in a backtest and on the local venue, and are refused nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.research.markets import walk
from toolkit.research import backtest, paper

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "strategies.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
NAMES = re.findall(r"^class (\w+)", "\n".join(BLOCKS), re.M)
QUICK = ("SmaCross", "Grid")


@pytest.fixture(scope="module")
def strategies() -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec("\n".join(BLOCKS), found)
    return found


def test_each_is_shorter_than_fifteen_lines() -> None:
    assert NAMES == ["SmaCross", "ArrayCross", "Grid", "Maker", "Carry", "Pairs"]
    for block in BLOCKS[1:]:
        assert len([line for line in block.splitlines() if line.strip()]) < 15, block


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in NAMES]
)
def test_it_trades_on_history_and_on_the_local_venue(name: str, strategies: dict[str, Any]) -> None:
    strategy = strategies[name]
    data = {"BTCUSDC": walk(4, 300, "min", wild=0.001)}
    if name == "Pairs":
        data["ETHUSDC"] = walk(5, 300, "min", wild=0.001, start=2_500)
    rates = {"funding": 0.0001} if name == "Carry" else {}
    run = backtest(strategy(), data, capital=100_000, **rates)
    assert len(run.fills) >= 1
    refused = run.events.loc[run.events["kind"] == "REJECTED", "text"]
    assert refused.str.contains("POST_ONLY at .* would match").all(), refused.tolist()  # a quote that a jump has passed
    assert len(run.orders) < 2_000
    session_run = paper(strategy(), list(data), duration="45m", warm_up=30)
    assert len(session_run.fills) >= 1
    assert session_run.events["kind"].isin(["END", "OPEN", "REJECTED"]).all(), session_run.events["text"].tolist()


def test_the_cross_over_arrays_is_the_streaming_one(strategies: dict[str, Any]) -> None:
    data = {"BTCUSDC": walk(4, 300)}
    one, other = (backtest(strategies[name](), data) for name in ("SmaCross", "ArrayCross"))
    assert one.fills["time"].tolist() == other.fills["time"].tolist()
