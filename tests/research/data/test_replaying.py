"""Replay: the venue's market follows recorded prices, and a strategy meets them in paper trading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import toolkit
from tests.research.markets import bars, walk
from toolkit.errors import InputError
from toolkit.research import Recording, backtest, record, replay
from toolkit.research.data.bars import ExtremeOrder

BTC = "BTCUSDC"


@pytest.fixture
def session() -> Iterator[Any]:
    with toolkit.connect(clock="manual") as made:
        yield made


def test_the_market_follows_the_bars(session: Any) -> None:
    data = bars((62_500, 63_000, 62_000, 62_800), (62_800, 64_000, 62_700, 64_000), every="10min")
    going = replay(session, {BTC: data})
    assert going.end - going.start == pd.Timedelta("20min")
    seen = []
    for _ in range(20):
        session.venue.advance("1m")
        market = session.venue.host.core.state.markets[1]
        seen.append((market.oracle / 10, market.mark / 10))
    oracles = [oracle for oracle, _ in seen]
    assert oracles[2] == pytest.approx(62_050, abs=60)
    assert oracles[6] == pytest.approx(62_980, abs=60)
    assert oracles[9] == pytest.approx(62_800, abs=10)
    assert oracles[19] == 64_000
    assert all(abs(mark / oracle - 1) < 0.01 for oracle, mark in seen)
    candles = session.klines(BTC, "10m", start=going.start, end=going.end)
    assert candles["close"].iloc[-1] == pytest.approx(64_000, rel=0.003)
    session.venue.advance("5m")
    assert session.venue.host.core.state.markets[1].oracle == 640_000
    assert session.venue.host.core.state.markets[2].oracle != 0


def test_a_replay_is_taken_up_again_after_a_revert(session: Any) -> None:
    data = {BTC: walk(1, 20, every="min", wild=0.001, start=61_000.0)}
    going = replay(session, data, path=ExtremeOrder("low"))
    mark = session.venue.snapshot()
    session.venue.advance("10m")
    first = session.venue.host.core.state.markets[1].oracle
    session.venue.revert(mark)
    going.attach()
    session.venue.advance("10m")
    assert session.venue.host.core.state.markets[1].oracle == first
    going.stop()
    session.venue.advance("1m")
    assert session.venue.host.core.state.markets[1].oracle != first


def test_a_recording_is_replayed(session: Any, tmp_path: Path) -> None:
    with record(session, tmp_path / "tape", [BTC]):
        session.venue.advance("8m")
    with toolkit.connect(clock="manual", seed=99) as other:
        going = replay(other, tmp_path / "tape")
        assert going.symbols == (BTC,)
        assert (going.end - going.start).total_seconds() / 60 in (8, 9), "bars of a minute"
        other.venue.advance(until=going.end.to_pydatetime())
        recorded = session.venue.host.core.state.markets[1].last
        assert other.venue.host.core.state.markets[1].oracle == pytest.approx(recorded, rel=0.002)
    with toolkit.connect(clock="manual") as other:
        going = replay(other, tmp_path / "tape", interval="5m")
        assert (going.end - going.start).total_seconds() / 60 in (10, 15)
    tested = backtest(lambda ctx, bar: ctx.target(bar.symbol, "0.01"), Recording(tmp_path / "tape"), funding=None)
    assert len(tested.equity) >= 7
    assert len(tested.fills) == 1


def test_what_can_not_be_replayed_is_refused(session: Any) -> None:
    with pytest.raises(InputError, match="GOOG is not a product of this venue, which lists BTCUSDC"):
        replay(session, {"GOOG": walk(1, 5)})
    with pytest.raises(InputError, match="local venue in this process"):
        replay(toolkit.connect("testnet", account="0x" + "11" * 20), {BTC: walk(1, 5)})
