"""Each check of an audit at its bounds, on runs whose frames and repetitions are written down here."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.backtesting.events.recorded import MS, START, events_of
from toolkit.research import Results, trials
from toolkit.research.analysis import audit
from toolkit.research.analysis.recipes import Recipe
from toolkit.research.analysis.results import EVENTS, FILLS, ORDERS, frame
from toolkit.research.backtesting.models import RandomLatency
from toolkit.research.data.event_array import Kind

MINUTES = pd.date_range("2026-01-01", periods=40, freq="min", tz="UTC")
FIRST = int(MINUTES[0].timestamp()) * 1_000
A, B = "AAA", "BBB"
Fill = tuple[float, str, str, float, float]
"""Minute, symbol, side, price, quantity."""


def bars(count: int = 40, volume: float = 10.0) -> pd.DataFrame:
    values = dict.fromkeys(("open", "high", "low", "close"), 100.0 + np.arange(count))
    return pd.DataFrame({**values, "volume": volume}, MINUTES[:count])


def fills_of(fills: list[Fill], kind: str = "MARKET") -> pd.DataFrame:
    rows = [
        (FIRST + round(minute * 60_000), symbol, side, price, size, 0.0, 0.0, 0.0, "TAKER", kind, 0)
        for minute, symbol, side, price, size in fills
    ]
    return frame(rows, FILLS)


def orders_of(orders: list[tuple[float, float]]) -> pd.DataFrame:
    """Return orders of (minute, price)."""
    times = [FIRST + round(minute * 60_000) for minute, _ in orders]
    rows = [
        (time, A, 0, "BUY", "LIMIT", "GTC", price, math.nan, 1.0, 0.0, "NEW", "", time)
        for time, (_, price) in zip(times, orders, strict=True)
    ]
    return frame(rows, ORDERS)


def a_run(again: Callable[..., Results] | None = None, /, **changed: Any) -> Results:
    """Return a run on bars that rise by 1 a minute. `again` makes it again, from the arguments and their changes."""
    frames = {name: changed.pop(name) for name in ("fills", "orders", "events", "settings") if name in changed}
    still = pd.DataFrame(0.0, MINUTES, [A, B])
    marks = pd.DataFrame({A: 100.0 + np.arange(40), B: 50.0}, MINUTES)
    equity = pd.DataFrame(1_000.0, MINUTES, ["equity", "balance", "unrealized"])
    run = Results("Made", equity, still, marks, **frames)
    recipe = Recipe(again or (lambda **given: run), {"data": {A: bars(), B: bars()}, **changed})
    object.__setattr__(run, "recipe", recipe)
    return run


def found_by(check: str, run: Results) -> tuple[Any, str]:
    """Return what a check of the audit finds, and its words."""
    row = run.audit().loc[check]
    return (None if pd.isna(row["found"]) else bool(row["found"])), row["detail"]


def look(run: Results) -> tuple[Any, str]:
    return found_by("look-ahead", run)


TAPE = {A: events_of(*((at * 1_000, Kind.TRADE, 1, 100.0, 1.0) for at in range(4)))}
"""Data of runs on events."""


def test_both_symbols_count_together_and_the_last_mark_is_that_of_all_later_times() -> None:
    """A fill at the time of a mark is judged by the next one; after the last mark by the last."""
    wrong, right = (5.0, A, "BUY", 105.5, 1.0), (50.0, A, "SELL", 139.5, 1.0)
    other = (7.0, B, "BUY", 49.0, 1.0)
    fills = [wrong] * 10 + [right] * 9 + [other] * 11
    assert look(a_run(fills=fills_of(fills))) == (
        True,
        "the price moved in their direction after 30 of 30 market orders",
    )


def kept(ten: int, own: int = 10) -> pd.DataFrame:
    """Return ten fills, of which `ten` are those of the run."""
    return fills_of([(at, A, "BUY", 100.0 if at < ten else 99.0, 1.0) for at in range(own)])


@pytest.mark.parametrize(
    ("own", "counts", "found"),
    [
        ("power:3", {"risk-averse": 10, "power:2": 12, "log": 10}, False),
        ("power:3", {"risk-averse": 10, "power:2": 13, "log": 10}, True),
        ("power:3", {"risk-averse": 8, "power:2": 10, "log": 10}, False),
        ("power:3", {"risk-averse": 10, "power:2": 10, "log": 7}, True),
        ("log", {"risk-averse": 11, "power:2": 9}, False),
        ("log", {"risk-averse": 12, "power:2": 9}, True),
    ],
)
def test_a_fifth_of_the_fills_may_differ_with_another_queue_model(
    own: str, counts: dict[str, int], found: bool
) -> None:
    asked = []

    def again(**given: Any) -> Results:
        if given["data"] is not TAPE:
            return run
        asked.append(given["queue"])
        return a_run(fills=kept(10, counts[given["queue"]]))

    run = a_run(again, fills=kept(10), settings={"queue": own}, data=TAPE, latency=RandomLatency(1, 2))
    text = ", ".join(f"{count} fills with {queue}" for queue, count in {own: 10, **counts}.items())
    table = run.audit()
    assert pd.isna(table.at["ties", "found"])
    assert table.at["ties", "detail"] == "the latency is not a fixed one"
    assert (bool(table.at["queue", "found"]), table.at["queue", "detail"]) == (found, text)
    assert asked == list(counts)


@pytest.mark.parametrize("symbol", [A, B])
@pytest.mark.parametrize(
    ("taken", "volume", "found", "text"),
    [
        ([(5.0, 6.0), (5.5, 4.0)], 10.0, False, "no fill beyond what was traded"),
        ([(5.0, 6.0), (5.5, 4.001)], 10.0, True, "in 1 bars more was filled than the market traded"),
        ([(4.999, 6.0), (5.0, 6.0)], 10.0, False, "no fill beyond what was traded"),
        ([(5.0, 11.0), (6.0, 11.0)], 10.0, True, "in 2 bars more was filled than the market traded"),
        ([(-3.0, 11.0)], 10.0, True, "in 1 bars more was filled than the market traded"),
        ([(5.0, 0.6)], 0.5, True, "in 1 bars more was filled than the market traded"),
        ([(5.0, 11.0)], 0.0, False, "the data has no volume"),
        ([], 10.0, False, "no fill beyond what was traded"),
    ],
)
def test_fills_of_a_bar_are_compared_with_its_volume(
    symbol: str, taken: list[tuple[float, float]], volume: float, found: bool, text: str
) -> None:
    fills = fills_of([(minute, symbol, "SELL", 100.0, size) for minute, size in taken])
    given = {"data": {A: bars(volume=volume), B: bars(volume=volume)}}
    assert found_by("volume", a_run(fills=fills, **given)) == (found, text)


@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize(("size", "found"), [("3", False), ("3.5", True)])
def test_fills_of_a_minute_are_compared_with_what_was_traded_in_it(files: bool, size: str, found: bool) -> None:
    """One was traded in the first minute, none in the second, three in the third."""
    trades = [(20_000, 1.0), (130_000, 1.0), (150_000, 2.0)]
    events = events_of(*((ms, Kind.TRADE, 1, 100.0, traded) for ms, traded in trades))
    minute = (START // MS + 150_000 - FIRST) / 60_000
    fills = fills_of([(minute, A, "BUY", 100.0, float(size)), (minute - 1, A, "BUY", 100.0, 9.0)])
    given = {"data": {A: [events[:2], events[2:]] if files else events}}
    text = "in 1 minutes more was filled than the market traded" if found else "no fill beyond what was traded"
    assert found_by("volume", a_run(fills=fills, settings={"queue": "log"}, **given)) == (found, text)


def test_the_whole_audit_is_this_table() -> None:
    trials.clear()
    events = frame(
        [(FIRST, "NOTE", A, "no"), (FIRST, "REJECTED", A, "too large"), (FIRST, "REJECTED", B, "too small")], EVENTS
    )
    given: dict[str, Any] = {"events": events, "orders": orders_of([(1, 99.0), (2, 98.0), (3, 97.0)])}
    table = a_run(**given).audit()
    assert [(row.Index, row.found, row.detail) for row in table.itertuples()] == [
        ("execution", False, "none of 0 market orders found nothing"),
        ("rejected", True, "2 of 3 orders, the first: too large"),
        ("look-ahead", False, "none at 3 orders"),
        ("ties", False, "bars have none"),
        ("queue", False, "bars have none"),
        ("gaps", False, "none"),
        ("volume", False, "no fill beyond what was traded"),
        ("funding", False, "no position that could pay any"),
        ("silence", False, "none"),
        ("trials", False, "1 counted. The deflated Sharpe ratio takes them"),
    ]
    assert str(table["found"].dtype) == "boolean"
    assert (table.index.name, audit.in_short(table)) == (
        "check", "audit: rejected: 2 of 3 orders, the first: too large",
    )  # fmt: skip
    trials.add("one")
    trials.add("two")
    run = a_run(events=events.iloc[1:])
    assert run.audited_in_short() == "rejected: 2 of 2 orders, the first: too large"
    object.__setattr__(run, "recipe", Recipe(lambda **given: run, {"targets": 5}))
    table = run.audit()
    unknown = list(audit.CHECKS)
    assert table.loc[unknown, "found"].isna().all()
    assert set(table.loc[unknown, "detail"]) == {"the run can't be made again here"}
    assert table.loc["trials", "detail"].startswith("2 counted")
    clean = a_run(orders=orders_of([(1, 99.0)]))
    assert clean.audited_in_short() == ""
    assert audit.in_short(clean.audit()) == clean.audited_in_short() == "audit: nothing found"
    both = table.assign(found=True)[-2:]
    assert audit.in_short(table.assign(found=False)[-1:]) == "audit: nothing found"
    assert audit.in_short(table) == (
        f"audit: rejected: {table.at['rejected', 'detail']}. 3 of 10 checks could be made, not: {', '.join(unknown)}"
    )
    assert audit.in_short(both) == (
        "audit: silence: the run can't be made again here; trials: 2 counted. The deflated Sharpe ratio takes them"
    )
    trials.clear()
