"""Reads of several products: one long frame, in which each product is as a read of it alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit.errors import DataWarning, InputError, UnknownProduct
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

BOTH = ["BTCUSDC", "ETHUSDC"]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as made:
        venue.advance("1m")
        for symbol, side in (("BTCUSDC", made.buy), ("ETHUSDC", made.sell), ("SOLUSDC", made.buy)):
            side(symbol, value="700")
        made.buy("SOLUSDC", "1", price="100")
        made.sell("BTCUSDC", "0.01", price="90000")
        venue.advance("1m")
        yield made


def session_in(mode: str) -> Session:
    venue = LocalVenue(clock="manual")
    made = toolkit.connect(venue=venue)
    venue.control.set_position_mode(made.account, mode)
    made.buy("BTCUSDC", "0.02")
    if mode == "HEDGE":
        made.sell("BTCUSDC", "0.01")
    made.sell("ETHUSDC", "0.3")
    return made


@pytest.mark.parametrize("exact", [False, True])
def test_candles_of_several_products_are_those_of_each_by_symbol_and_time(session: Session, exact: bool) -> None:
    made = session.klines(["BTCUSDC", 2, "btcusdc"], "1h", limit=30, exact=exact)
    assert made["symbol"].unique().tolist() == BOTH
    for symbol in BOTH:
        alone = session.klines(symbol, "1h", limit=30, exact=exact)
        pd.testing.assert_frame_equal(made[made["symbol"] == symbol], alone, check_freq=False)
    assert made.pivot(columns="symbol", values="close").shape == (30, 2)
    assert made.attrs["coverage"]["proven"] == alone.attrs["coverage"]["proven"]
    assert len(made.attrs["raw"].pages) >= 2


def test_candles_that_are_missing_leave_the_columns_and_dtypes(session: Session) -> None:
    some, none = (session.klines(BOTH, "1m", *when) for when in (("5m",), ("2010-01-01", "2010-01-02")))
    assert none.empty
    assert none.dtypes.equals(some.dtypes)
    assert none.index.names == some.index.names == ["time"]


def test_a_start_before_what_the_feed_has_is_said(session: Session) -> None:
    with pytest.warns(DataWarning, match=r"trades\.BTCUSDC: the trades that the feed sent begin at .* UTC"):
        made = session.trades("BTCUSDC", start="30d")
    pd.testing.assert_frame_equal(made, session.trades("BTCUSDC"))
    with LocalVenue(clock="manual", market=False) as venue, toolkit.connect(venue=venue) as quiet:
        with pytest.warns(DataWarning, match="the trades that the feed sent are none"):
            assert quiet.trades("BTCUSDC", start="1h").empty
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert quiet.trades("BTCUSDC", limit=5).empty


def test_trades_grow_while_a_live_object_keeps_them() -> None:
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as made:
        begun = made.clock.now_ms()
        with made.stream.trades("BTCUSDC") as live:
            venue.advance("20m")
            kept = made.trades("BTCUSDC", start=begun - 1)
            assert len(kept) > 100
            assert len(kept) < len(live)
        assert len(made.trades("BTCUSDC")) == 100


@pytest.mark.parametrize("name", ["klines", "trades"])
@pytest.mark.parametrize("limit", [0, -1, 2.5, "ten", True])
def test_a_limit_that_is_no_count_is_refused(session: Session, name: str, limit: Any) -> None:
    with pytest.raises(InputError, match=f"limit {limit!r} is not a whole number, 1 or more"):
        getattr(session, name)("BTCUSDC", limit=limit)


@pytest.mark.parametrize("exact", [False, True])
def test_tickers_have_every_number_that_the_ticker_of_each_product_has(session: Session, exact: bool) -> None:
    made = session.tickers(exact=exact)
    assert made.index.tolist() == session.products().index.tolist()
    assert made.notna().all(axis=None)
    for symbol in made.index:
        pd.testing.assert_frame_equal(made.loc[[symbol]], session.ticker(symbol, exact=exact))
    pd.testing.assert_frame_equal(session.ticker(BOTH, exact=exact), made.loc[BOTH])
    assert session.stream.health.live == []


@pytest.mark.parametrize("name", ["orders", "fills", "positions"])
def test_records_of_several_products_are_those_of_each(session: Session, name: str) -> None:
    read = getattr(session, name)
    every, both = read(index=None), read(BOTH, index=None)
    expected = every[every["symbol"].isin(BOTH)].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, expected)
    pd.testing.assert_frame_equal(read(["BTCUSDC", 1, 2], index=None), expected)
    assert set(read("BTCUSDC", index=None)["symbol"]) == {"BTCUSDC"}


@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
def test_positions_are_indexed_by_symbol_and_have_a_row_for_each_leg(mode: str) -> None:
    with session_in(mode) as made:
        held = made.positions()
        legs = {"ONE_WAY": ["LONG"], "HEDGE": ["LONG", "SHORT"]}[mode]
        assert held.loc[["BTCUSDC"], "side"].tolist() == legs
        assert held.loc[["ETHUSDC"], "side"].tolist() == ["SHORT"]
        assert made.positions("BTCUSDC")["side"].tolist() == legs
        pd.testing.assert_frame_equal(made.positions(index=None).set_index("symbol"), held)
        assert made.positions(index="side").loc[["SHORT"], "symbol"].tolist()[-1] == "ETHUSDC"


@pytest.mark.parametrize("name", ["klines", "ticker", "trades", "orders", "fills", "positions"])
def test_a_list_without_a_product_or_with_an_unknown_one_is_refused(session: Session, name: str) -> None:
    with pytest.raises(InputError, match=r"symbol is empty\. Name a product, or several"):
        getattr(session, name)([])
    with pytest.raises(UnknownProduct, match="no product 'NOSUCH'"):
        getattr(session, name)(["BTCUSDC", "NOSUCH"])


def test_funding_rates_of_several_products_say_what_is_proven(session: Session) -> None:
    made = session.info.funding_rate_history([*BOTH, "btcusdc"], start="1d")
    for symbol in BOTH:
        alone = session.info.funding_rate_history(symbol, start="1d")
        pd.testing.assert_frame_equal(made[made["symbol"] == symbol].reset_index(drop=True), alone)
        assert made.attrs["coverage"] == alone.attrs["coverage"]
    ((start, end),) = made.attrs["coverage"]["proven"]
    assert end - start == pd.Timedelta(days=1)


def test_candles_say_what_is_proven_quiet_and_forming(session: Session) -> None:
    made = session.klines("BTCUSDC", "1m", start="90m")
    said = made.attrs["coverage"]
    assert (said["missing"], said["quiet"] + len(made) - said["forming"]) == ([], 90)
    with session.stream.candles("BTCUSDC", "1m") as live:
        frame = live.frame()
    found = frame.attrs["coverage"]
    assert (found["forming"], found["missing"]) == (1, [])
    assert found["proven"] == [(frame["time"].min(), frame["time"].max() + pd.Timedelta("1m"))]
