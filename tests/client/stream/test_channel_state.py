"""States of channels at their bounds: what is kept, how records are joined and told apart, times and types."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.client.rows import whole
from toolkit.client.stream.channel_state import (
    KEPT,
    AppendState,
    moment,
    row,
)
from toolkit.client.stream.kinds import _leverages
from toolkit.errors import FeedError
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.feed import RECORDS

BTC = {"symbol": "BTCUSDC"}


def trade(number: int, at: int | None = None) -> dict[str, Any]:
    return whole(RECORDS["trades"], filledPx=str(number), transactionTime=number if at is None else at)


def said(*trades: dict[str, Any]) -> dict[str, Any]:
    return {**BTC, "trades": list(trades)}


def log(*numbers: int, kept: int = KEPT) -> AppendState:
    made = AppendState(wire.CHANNELS["trades"], BTC, kept)
    made.snapshot(said(*map(trade, numbers)), merge=False)
    return made


def numbers(state: AppendState) -> list[int]:
    return [int(one["filledPx"]) for one in state.records()]


LINES = st.lists(st.integers(1, 3), max_size=12)


@settings(max_examples=60)
@given(LINES, LINES, st.integers(1, 6))
def test_a_snapshot_after_a_break_adds_what_is_new_where_it_overlaps(
    before: list[int], during: list[int], shown: int
) -> None:
    """The truth is one log. A snapshot has its newest ones, and the client may have seen the older ones."""
    truth = [trade(price, at) for at, price in enumerate([*before, *during], 1)]
    state = AppendState(wire.CHANNELS["trades"], BTC)
    state.increment(said(*truth[: len(before)]), sequenced=True)
    new = state.snapshot(said(*truth[-shown:]), merge=True)
    known, recent = truth[: len(before)], truth[-shown:]
    fresh = truth[len(before) :][-shown:]
    assert new == fresh
    assert state.records() == known + fresh
    has_hole = bool(known) and bool(recent) and len(during) >= len(recent)
    assert state.holes == has_hole


def test_a_fill_puts_each_record_in_its_place_and_its_message_is_taken_once_only() -> None:
    fills = AppendState(wire.CHANNELS["userFilled"], {}, kept=4)

    def fill(number: int, **more: Any) -> dict[str, Any]:
        return whole(RECORDS["userFilled"], ordId=1, execId=number, transactionTime=number, **more)

    def of(*rows: dict[str, Any]) -> dict[str, Any]:
        return {"userFills": list(rows)}

    fills.increment(of(fill(5)), sequenced=False)
    assert fills.fill(of(fill(4, role="MAKER"), fill(5, role="MAKER"), fill(6, role="TAKER"))) == [
        fill(4, role="MAKER"),
        fill(6, role="TAKER"),
    ]
    assert [one["execId"] for one in fills.records()] == [4, 5, 6]
    for added in (0, 1):  # the feed's own message of what the Info API had, and one more of that name
        assert len(fills.increment(of(fill(6)), sequenced=False)) == added
    assert fills.fill(of(fill(1), fill(2))) == [fill(1), fill(2)]
    assert [one["execId"] for one in fills.records()] == [4, 5, 6, 6], "the newest four"
    with pytest.raises(FeedError, match="an item is not a record"):
        fills.fill({"userFills": [7]})


@pytest.mark.parametrize("rows", [7, "x", [7], [{}, None], [[1]]])
def test_what_is_no_list_of_records_is_an_error(rows: Any) -> None:
    with pytest.raises(FeedError, match="an item is not a record"):
        log().increment({**BTC, "trades": rows}, sequenced=True)


@pytest.mark.parametrize(
    ("value", "unit_ms", "expected"),
    [
        (0, 1, datetime(1970, 1, 1, tzinfo=UTC)),
        (1_001, 1, datetime(1970, 1, 1, 0, 0, 1, 1_000, tzinfo=UTC)),
        ("1999", 1, datetime(1970, 1, 1, 0, 0, 1, 999_000, tzinfo=UTC)),
        (-1, 1, datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        (7, 1_000, datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC)),
        (1_767_225_600_123, 1, datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=UTC)),
        (10**18, 1, None),
        ("x", 1, None),
        (None, 1, None),
    ],
)
def test_a_time_is_exact_to_the_millisecond(value: Any, unit_ms: int, expected: datetime | None) -> None:
    assert moment(value, unit_ms) == expected


def test_a_row_has_python_values_and_none_for_what_can_not_be_read() -> None:
    made = row(RECORDS["trades"], {**trade(5, 1_500), "ordSide": "SELL", "filledQty": "x"})
    assert (made.price, made.quantity, made.side) == (Decimal(5), None, "SELL")
    assert made.time == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
    candle = row(RECORDS["candle"], whole(RECORDS["candle"], timestamp=60, tradeCount="7"))
    assert (candle.time, candle.trades) == (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), 7)
    assert list(made) == list(RECORDS["trades"].columns)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([["ONE_WAY", "10"], "5"], [("ONE_WAY", "10"), (1, "5")]),
        (["ONE_WAY", "10", "HEDGE"], []),
        ([], []),
        ({"leverage": "3"}, [(None, "3")]),
        ([{"HEDGE": "4"}, {"ONE_WAY": "5"}], [("HEDGE", "4"), ("ONE_WAY", "5")]),
        (0, [(1, 0)]),
    ],
)
def test_a_leverage_that_names_no_mode_is_that_of_its_setting(given: Any, expected: list[tuple[Any, Any]]) -> None:
    made = _leverages({"symbol": "BTCUSDC", "symbolCode": 1, "posMode": 1, "leverage": given, "other": 5})
    assert made == [
        {"symbol": "BTCUSDC", "symbolCode": 1, "posMode": mode, "leverage": value} for mode, value in expected
    ]
