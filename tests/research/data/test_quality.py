"""What `check` finds, whole: problem, stream, first row, times, count and words, at each bound and one step beyond."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from toolkit.errors import InputError
from toolkit.research import data
from toolkit.research.data.event_array import Kind, from_columns
from toolkit.research.data.events import Events
from toolkit.research.data.quality import COLUMNS, too_late

S, MS = 1_000_000_000, 1_000_000
FIELDS = ("exchange_ns", "local_ns", "kind", "side", "price", "quantity", "id", "previous")


def made(*rows: tuple[float, ...], **about: Any) -> Events:
    columns = zip(*rows, strict=True)
    array = from_columns(dict(zip(FIELDS, columns, strict=True)), len(rows))
    return Events(array, **{"tick_size": Decimal(1), "step_size": Decimal(1), **about})


def found(events: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Each finding, with its times in ns."""
    table = data.check(events, **options)
    assert {name: str(kind) for name, kind in table.dtypes.items()} == COLUMNS
    rows = table.astype({"time": "int64", "until": "int64"})
    return [tuple(row) for row in rows.to_numpy().tolist()]


def trade(
    local: int, identity: int = 0, *, exchange: int | None = None, price: float = 100.0, size: float = 1.0
) -> Any:
    return (local if exchange is None else exchange, local, Kind.TRADE, 1, price, size, identity, 0)


def depth(
    local: int, identity: int, previous: int = 0, *, price: float = 100.0, side: int = 1, size: float = 1.0
) -> Any:
    return (local, local, Kind.DEPTH, side, price, size, identity, previous)


@pytest.mark.parametrize(("silence", "span"), [({}, 10 * S), ({"silence": "2s"}, 2 * S)])
def test_a_silence_is_longer_than_the_span(silence: dict[str, str], span: int) -> None:
    assert found(made(trade(S), trade(S + span)), **silence) == []
    beyond = S + span + MS
    expected = ("silence", "all", 0, S, beyond, 1, f"nothing was received for {span / S + 0.001:.3f} s")
    assert found(made(trade(S), trade(beyond)), **silence) == [expected]


def test_events_before_they_happened_are_a_problem_of_the_clock() -> None:
    rows = [trade(S), trade(2 * S, exchange=2 * S + 3 * MS), trade(3 * S), trade(4 * S, exchange=4 * S + 1_500_000)]
    words = "received up to 3.000 ms before they happened: the recorder's clock was behind"
    assert found(made(*rows)) == [("clock", "all", 1, S, 4 * S, 2, words)]
    assert found(made(trade(S, exchange=S))) == []


@pytest.mark.parametrize("kind", [Kind.DEPTH, Kind.TRADE, Kind.QUOTE, Kind.SNAPSHOT, Kind.MARK])
def test_a_delay_of_more_than_a_minute_is_one_of_a_feed_only(kind: Kind) -> None:
    def late(ns: int) -> Events:
        return made(*((S * at, S * at + delay, kind, 1, 100.0, 1.0, 0, 0) for at, delay in ((1, 0), (2, ns))))

    minute = 60 * S
    assert found(late(minute), silence="2min") == []
    words = "received up to 60.000 s after they happened: the recorder's clock was wrong"
    expected = [("delay", "all", 1, S, 2 * S + minute + 1, 1, words)]
    counts = kind in (Kind.DEPTH, Kind.TRADE, Kind.QUOTE)
    assert found(late(minute + 1), silence="2min") == (expected if counts else [])
    assert too_late(late(minute + 1)).tolist() == [False, counts]


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        (trade(S, price=1e15, size=1e15), False), (trade(S, price=1.1e15), True), (trade(S, size=1.1e15), True),
        (trade(S, size=0.0), True), (trade(S, size=-1.0), True), (trade(S, price=0.0), True),
        (trade(S, price=float("nan")), True), (trade(S, price=float("inf")), True), (trade(S, size=float("nan")), True),
        (depth(S, 1, size=0.0), False), (depth(S, 1, size=-1.0), True), (depth(S, 1, price=0.0, size=0.0), False),
        (depth(S, 1, price=-1.0), True),
        ((S, S, Kind.FUNDING, 0, -0.1, 0.0, 0, 0), False), ((S, S, Kind.CANCEL, 0, 0.0, 0.0, 1, 0), False),
        ((S, S, Kind.QUOTE, 1, 0.0, 0.0, 0, 0), False), ((S, S, Kind.QUOTE, 1, 0.0, 1.0, 0, 0), True),
    ],
)  # fmt: skip
def test_a_value_that_can_not_be_is_found(row: Any, wrong: bool) -> None:
    expected = ("value", "all", 0, S, S, 1, "an impossible price or quantity")
    assert found(made(row)) == ([expected] if wrong else [])


@pytest.mark.parametrize(("apart", "findings"), [(S, 1), (S + 1, 2)])
def test_findings_within_a_second_or_in_adjacent_rows_are_one(apart: int, findings: int) -> None:
    good = trade(2 * S)
    rows = [trade(2 * S, size=0.0), good, (*trade(2 * S + apart, size=0.0),)]
    words = "an impossible price or quantity"
    expected = [("value", "all", 0, 2 * S, 2 * S + apart, 2, words)]
    if findings == 2:
        expected = [("value", "all", row, at, at, 1, words) for row, at in ((0, 2 * S), (2, 2 * S + apart))]
    assert found(made(*rows)) == expected
    adjacent = [trade(2 * S, size=0.0), trade(7 * S, size=0.0)]
    assert found(made(*adjacent)) == [("value", "all", 0, 2 * S, 7 * S, 2, words)]


@pytest.mark.parametrize("ask", [100.0, 101.0])
def test_best_prices_that_meet_are_crossed(ask: float) -> None:
    rows = [(S, S, Kind.QUOTE, 1, 100.0, 1.0, 0, 0), (S, S, Kind.QUOTE, -1, ask, 1.0, 0, 0)]
    expected = [("crossed", "quotes", 0, S, S, 1, "best bid at or above best ask")]
    assert found(made(*rows)) == (expected if ask == 100.0 else [])
    apart = [rows[0], trade(S), rows[1]]
    assert found(made(*apart)) == []
    assert found(made(rows[1], rows[0])) == [], "two of different times"


CHAINS: dict[str, tuple[list[Any], list[tuple[Any, ...]]]] = {
    "in order": ([depth(S, 5, 4), depth(2 * S, 6, 5), depth(3 * S, 7, 6)], []),
    "a gap": (
        [depth(S, 5, 4), depth(2 * S, 9, 8)],
        [("gap", "book", 1, "updates are missing: the one before is not the one it names")],
    ),
    "no names": ([depth(S, 5), depth(2 * S, 9)], []),
    "back": ([depth(S, 5, 4), depth(2 * S, 4, 3)], [("backwards", "book", 1, "the update id runs back")]),
    "twice": ([depth(S, 5, 4), depth(2 * S, 5, 4)], [("repeat", "book", 1, "an update that was there before")]),
    "no ids": ([depth(S, 0), depth(2 * S, 0)], []),
}


@pytest.mark.parametrize("case", CHAINS)
def test_a_chain_of_updates_has_no_gap_and_does_not_run_back(case: str) -> None:
    rows, expected = CHAINS[case]
    assert [(*each[:3], each[6]) for each in found(made(*rows))] == expected


TRADES: dict[str, tuple[list[int], list[tuple[Any, ...]]]] = {
    "counted": ([1, 2, 3, 4], []),
    "one is missing": ([1, 2, 3, 5], [("gap", 3, 1, "1 trade ids are missing")]),
    "three are missing": ([1, 2, 3, 4, 8], [("gap", 4, 3, "3 trade ids are missing")]),
    "hashes": ([901, 17, 444, 23], []),
    "two only": ([1, 5], []),
    "a third are counted": ([1, 2, 50, 51, 90, 300], [("gap", 2, 47, ""), ("gap", 4, 38, ""), ("gap", 5, 209, "")]),
    "less than a third": ([1, 2, 50, 51, 90, 91, 300, 400, 500, 600, 700], []),
    "a repeat": ([1, 2, 3, 3], [("repeat", 3, 1, "a trade that was there before")]),
    "back": ([1, 2, 4, 3], [("backwards", 3, 1, "the trade id runs back"), ("gap", 2, 1, "1 trade ids are missing")]),
}


@pytest.mark.parametrize("case", TRADES)
def test_ids_of_trades_are_counted_where_they_count(case: str) -> None:
    ids, expected = TRADES[case]
    rows = found(made(*(trade(S * at, identity) for at, identity in enumerate(ids, 1))))
    shown = [(problem, row, count, words) for problem, stream, row, _, _, count, words in rows if stream == "trades"]
    assert sorted(each[:3] for each in shown) == sorted(each[:3] for each in expected)
    for *_, words in expected:
        assert words in [each[3] for each in shown] or not words
    gaps = [(time, until) for problem, _, row, time, until, _, _ in rows if problem == "gap"]
    assert all(until - time == S for time, until in gaps)


def test_a_gap_of_trades_spans_the_two_around_it() -> None:
    rows = found(made(trade(S, 1), trade(2 * S, 2), depth(3 * S, 0), trade(5 * S, 9)))
    assert rows == [("gap", "trades", 3, 2 * S, 5 * S, 6, "6 trade ids are missing")]


def test_notes_of_the_reader_come_first_and_an_empty_source_has_only_those() -> None:
    events = made(trade(S), trade(3 * S), notes=("left out: 2 lines", "another"))
    assert found(events) == [("note", "file", 0, S, 3 * S, 1, note) for note in ("left out: 2 lines", "another")]
    assert found(events[:0]) == [("note", "file", 0, 0, 0, 1, note) for note in ("left out: 2 lines", "another")]


def candles(seconds: list[int], **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"time": pd.to_datetime(seconds, unit="s", utc=True), **columns})


def test_candles_have_gaps_repeats_and_runs_back_by_symbol() -> None:
    table = candles([0, 60, 240, 240, 180, 0, 60, 120], symbol=["A"] * 5 + ["B"] * 3)
    minute = pd.Timedelta("1min")
    assert found(table) == [
        ("gap", "A", 2, 60 * S, 240 * S, 2, f"2 intervals of {minute} are missing"),
        ("repeat", "A", 3, 240 * S, 240 * S, 1, "a time that was there before"),
        ("backwards", "A", 4, 180 * S, 180 * S, 1, "a time before that of the row before"),
    ]
    assert found(candles([0, 60, 120])) == []
    assert found(candles([])) == []
    assert found(candles([0])) == []
    assert found(candles([0, 60, 120, 210])) == [], "one and a half intervals may be two of a month"
    assert [each[:3] for each in found(candles([0, 60, 120, 211]))] == [("gap", "candles", 3)]
    noted = candles([0, 60])
    noted.attrs["notes"] = ["a line was left out"]
    assert found(noted) == [("note", "file", 0, 0, 0, 1, "a line was left out")]


PRICES = {"open": 2.0, "high": 3.0, "low": 1.0, "close": 2.0}


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({}, False), ({"open": 3.0, "close": 1.0}, False), ({"open": 1.0, "close": 3.0}, False), ({"open": 3.1}, True),
        ({"close": 0.9}, True), ({"close": 3.1}, True), ({"open": 0.9}, True), ({"low": 0.0}, True),
        ({"high": float("inf")}, True), ({"close": float("nan")}, True), ({"low": 2.5}, True),
    ],
)  # fmt: skip
def test_a_candle_whose_prices_can_not_be_is_found(changed: dict[str, float], wrong: bool) -> None:
    table = candles([0, 60], **{name: [good, changed.get(name, good)] for name, good in PRICES.items()})
    expected = ("value", "candles", 1, 60 * S, 60 * S, 1, "open and close must lie between low and high, above 0")
    assert found(table) == ([expected] if wrong else [])


def test_a_rate_that_is_no_number_and_a_volume_below_zero_are_found() -> None:
    rates = found(candles([0, 60, 120], rate=[0.1, float("nan"), -0.1]))
    assert rates == [("value", "candles", 1, 60 * S, 60 * S, 1, "a rate that is no number")]
    volumes = found(candles([0, 60, 120], volume=[0.0, 1.0, -0.1]))
    assert volumes == [("value", "candles", 2, 120 * S, 120 * S, 1, "a volume below 0")]
    with pytest.raises(InputError, match="the frame: expected a column for time"):
        data.check(pd.DataFrame({"close": [1.0]}))
