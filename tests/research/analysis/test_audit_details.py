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


@pytest.mark.parametrize(("side", "right"), [("BUY", 1.0), ("SELL", -1.0)])
@pytest.mark.parametrize(("good", "bad", "found"), [(16, 4, True), (15, 5, False), (19, 0, False), (21, 0, True)])
def test_market_orders_that_are_nearly_always_right_are_found_from_twenty_on(
    side: str, right: float, good: int, bad: int, found: bool
) -> None:
    """AAA rises to 101 a minute later. A price that stays, as that of BBB, and a limit order say nothing."""
    pairs = [(101.0 - right, good), (101.0 + right, bad), (101.0, 9)]
    fills = [(0.5, A, side, price, 1.0) for price, count in pairs for _ in range(count)] + [(3, B, side, 50.0, 1.0)]
    limits = fills_of([(0.5, A, side, 101.0 - right, 1.0)] * 50, "LIMIT")
    seen = look(a_run(fills=pd.concat([fills_of(fills), limits])))
    if found:
        every = good + bad
        assert seen == (True, f"the price moved in their direction after {good} of {every} market orders")
    else:
        assert seen == (False, "none at 2 orders")


def test_both_symbols_count_together_and_the_last_mark_is_that_of_all_later_times() -> None:
    """A fill at the time of a mark is judged by the next one; after the last mark by the last."""
    wrong, right = (5.0, A, "BUY", 105.5, 1.0), (50.0, A, "SELL", 139.5, 1.0)
    other = (7.0, B, "BUY", 49.0, 1.0)
    fills = [wrong] * 10 + [right] * 9 + [other] * 11
    assert look(a_run(fills=fills_of(fills))) == (
        True,
        "the price moved in their direction after 30 of 30 market orders",
    )


def test_targets_that_are_numbers_are_only_judged_by_what_followed() -> None:
    text = "no sign of it. With targets as a function of the data the run can be made again"
    assert look(a_run(targets=np.ones(40))) == (False, text)
    assert look(a_run(targets=lambda data: np.ones(40))) == (False, "none at 0 orders")


def test_the_run_is_made_again_on_data_up_to_orders_spaced_by_number_and_by_time() -> None:
    """Of 30 orders in the first minutes: eight by number, eight by time, each once. The last bar is a flat one."""
    ends = []

    def again(**given: Any) -> Results:
        ends.append({name: (len(part), part.close[-1] - part.close[-2]) for name, part in given["data"].items()})
        return run

    orders = orders_of([(minute, 99.0) for minute in range(1, 31)])
    run = a_run(again, orders=orders)
    assert look(run) == (False, "none at 11 orders")
    closed = [1 + at for at in (0, 4, 5, 8, 9, 12, 13, 17, 21, 25, 29)]
    assert ends == [{A: (count + 1, 0.0), B: (count + 1, 0.0)} for count in closed]


@pytest.mark.parametrize(
    ("again", "found"),
    [
        ([(1, 99.0), (3, 98.0), (5, 97.0), (30, 1.0)], None),
        ([(1, 99.0), (3, 98.5), (5, 97.0)], 3),
        ([(1, 99.0)], 3),
        ([(1, 99.0), (2, 1.0), (3, 98.0), (5, 97.0)], 3),
        ([(0.5, 1.0), (1, 99.0), (3, 98.0), (5, 97.0)], 1),
        ([(1, 99.0), (3, 98.0), (5, math.nan)], 5),
    ],
)
def test_other_orders_before_the_end_of_the_data_are_a_look_ahead(
    again: list[tuple[float, float]], found: int | None
) -> None:
    """The run's orders are at 1, 3 and 5 minutes. What comes after the end of the data may differ."""

    def made(**given: Any) -> Results:
        end = len(given["data"][A]) - 1
        return a_run(orders=orders_of([order if order[0] <= end else (order[0], 1.0) for order in again]))

    seen = look(a_run(made, orders=orders_of([(1, 99.0), (3, 98.0), (5, 97.0)])))
    if found is None:
        assert seen == (False, "none at 3 orders")
    else:
        assert seen == (True, f"without the data after 2026-01-01 00:0{found}:00 the orders before it are others")


def test_a_run_without_orders_is_judged_by_its_fills() -> None:
    first = fills_of([(1, A, "BUY", 90.0, 1.0), (2, A, "SELL", 91.0, 1.0)])
    same = a_run(fills=first.assign(price=5.0))
    assert look(a_run(lambda **given: same, fills=first)) == (False, "none at 2 orders")
    other = a_run(fills=first.assign(quantity=2.0))
    assert look(a_run(lambda **given: other, fills=first))[0] is True


def test_a_run_that_fails_on_less_data_is_not_judged() -> None:
    def again(**given: Any) -> Results:
        raise KeyError("more")

    seen = look(a_run(again, orders=orders_of([(2, 99.0)])))
    assert seen == (None, "it fails on data up to 2026-01-01 00:02:00: KeyError: 'more'")


@pytest.mark.parametrize("files", [0, 2, 3])
def test_events_end_with_those_that_were_received_and_one_that_changes_nothing(files: int) -> None:
    """Events are received 2 ms later. Those of the millisecond of the end belong to it."""
    rows = [
        (at, Kind.TRADE if at % 2 == 1 else Kind.FUNDING, 1, 100.0 + at, 1.0) for at in (0, 1, 2, 3, 3.999, 4, 6, 7)
    ]
    events = events_of(*rows, feed_ms=2)
    given = {0: events, 2: [events[:3], events[3:]], 3: [events[:1], events[1:3], events[3:]]}[files]
    cuts: list[Any] = []

    def again(**given: Any) -> Results:
        cuts.append(given["data"][A])
        return run

    data = {A: given}
    orders = orders_of([((START // MS + 5 - FIRST) / 60_000, 99.0)])
    run = a_run(again, data=data, orders=orders, settings={"queue": "log"})
    look(run)
    cut = next(one for one in cuts if one is not given)
    parts = cut if isinstance(cut, list) else [cut]
    assert len(parts) == max(files, 1)
    array = np.concatenate([part.array for part in parts])
    assert array["local_ns"].tolist() == [START + round(ms * MS) for ms in (2, 3, 4, 5, 5.999, 6)]
    assert array["kind"][-1] == Kind.MARK
    assert array["exchange_ns"][-1] == START + 6 * MS
    assert array["price"][-1] == 103.0, "the last price, and not a rate"


def kept(ten: int, own: int = 10) -> pd.DataFrame:
    """Return ten fills, of which `ten` are those of the run."""
    return fills_of([(at, A, "BUY", 100.0 if at < ten else 99.0, 1.0) for at in range(own)])


@pytest.mark.parametrize(
    ("latency", "spans"),
    [
        (None, (1, 1)),
        (0, (1, 1)),
        (5, (5_000_001, 5_000_001)),
        (2.5, (2_500_001, 2_500_001)),
        ("10ms", (10_000_001, 10_000_001)),
        (("10ms", 3), (10_000_001, 3_000_001)),
        ([1, "2us"], (1_000_001, 2_001)),
    ],
)
def test_ties_are_tried_with_one_nanosecond_more_on_both_ways(latency: Any, spans: tuple[int, int]) -> None:
    asked = []

    def again(**given: Any) -> Results:
        if given["data"] is TAPE:
            asked.append(given["latency"])
        return a_run(fills=kept(10), settings={"queue": "log"})

    run = a_run(again, fills=kept(10), settings={"queue": "log"}, data=TAPE, latency=latency)
    assert found_by("ties", run) == (False, "10 of 10 fills stay with 1 ns more latency")
    assert asked[0] == tuple(pd.Timedelta(span, "ns") for span in spans)
    assert asked[1:] == [latency, latency], "the other two queue models"


@pytest.mark.parametrize(
    ("same", "count", "found", "total"),
    [(9, 10, False, 10), (8, 10, True, 10), (10, 12, True, 12), (10, 11, False, 11)],
)
def test_a_tenth_of_the_fills_may_differ_with_other_ties(same: int, count: int, found: bool, total: int) -> None:
    def repeated(own: pd.DataFrame, again: pd.DataFrame) -> Results:
        later = a_run(fills=again, settings={"queue": "log"})
        return a_run(lambda **given: later, fills=own, settings={"queue": "log"}, data=TAPE)

    seen = found_by("ties", repeated(kept(10), kept(same, count)))
    assert seen == (found, f"{same} of {total} fills stay with 1 ns more latency")
    assert found_by("ties", repeated(kept(10), kept(8, 8))) == (True, "8 of 10 fills stay with 1 ns more latency")
    nothing = repeated(kept(0, 0), kept(0, 0))
    assert found_by("ties", nothing) == (True, "0 of 1 fills stay with 1 ns more latency")
    assert found_by("queue", nothing) == (
        False, "0 fills with log, 0 fills with risk-averse, 0 fills with power:2",
    )  # fmt: skip


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


def test_gaps_are_named_with_their_symbol_and_counted() -> None:
    whole, holed = bars(), bars().drop(MINUTES[10:20])
    assert found_by("gaps", a_run(data={A: whole, B: whole})) == (False, "none")
    found, text = found_by("gaps", a_run(data={A: whole, B: holed.drop(MINUTES[30:36])}))
    assert found
    assert text.startswith("2, the first: BBB ")
    quiet = events_of(*((at * 1_000, Kind.TRADE, 1, 100.0, 1.0) for at in (*range(60), *range(9_000, 9_060))))
    for given, seen in ((quiet, True), ([quiet[:60], quiet[60:]], False)):
        assert found_by("gaps", a_run(data={A: given}, settings={"queue": "log"}))[0] is seen


def test_the_whole_audit_is_this_table() -> None:
    trials.clear()
    events = frame(
        [(FIRST, "NOTE", A, "no"), (FIRST, "REJECTED", A, "too large"), (FIRST, "REJECTED", B, "too small")], EVENTS
    )
    given: dict[str, Any] = {"events": events, "orders": orders_of([(1, 99.0), (2, 98.0), (3, 97.0)])}
    table = a_run(**given).audit()
    assert [(row.Index, row.found, row.detail) for row in table.itertuples()] == [
        ("rejected", True, "2 of 3 orders, the first: too large"),
        ("look-ahead", False, "none at 3 orders"),
        ("ties", False, "bars have none"),
        ("queue", False, "bars have none"),
        ("gaps", False, "none"),
        ("volume", False, "no fill beyond what was traded"),
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
    unknown = ["look-ahead", "ties", "queue", "gaps", "volume"]
    assert table.loc[unknown, "found"].isna().all()
    assert set(table.loc[unknown, "detail"]) == {"the run can't be made again here"}
    assert table.loc["trials", "detail"].startswith("2 counted")
    clean = a_run()
    assert clean.audited_in_short() == ""
    assert audit.in_short(clean.audit()) == clean.audited_in_short() == "audit: nothing found"
    both = table.assign(found=True)[-2:]
    assert audit.in_short(both) == (
        "audit: volume: the run can't be made again here; trials: 2 counted. The deflated Sharpe ratio takes them"
    )
    trials.clear()
