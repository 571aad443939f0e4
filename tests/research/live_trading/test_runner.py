"""How a run passes its time: polls, timers, bars of one instant, what is old, and what it says at its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import toolkit
from tests.research.markets import Scripted
from tests.support.cases import of_all
from toolkit.errors import LimitReached, NotSent
from toolkit.limits import Limits
from toolkit.research import Strategy, live
from toolkit.research.live_trading import runner as module
from toolkit.research.live_trading.runner import NEVER, Runner
from toolkit.venue.local import LocalVenue

BTC, ETH = "BTCUSDC", "ETHUSDC"
FIRST = pd.Timestamp("2026-01-01T00:05:30Z")
FIRST_MS, MINUTE_MS = FIRST.value // 1_000_000, 60_000
EDGE_MS = FIRST_MS - 30_000


@pytest.fixture
def session() -> Iterator[Any]:
    """An account at a venue without participants, half a minute after the fifth minute."""
    with LocalVenue(clock="manual", market=None, balance="1000", start="2026-01-01T00:00:00Z") as venue:
        for symbol, bid, ask in ((BTC, "59990", "60010"), (ETH, "2999", "3001")):
            venue.control.set_oracle(symbol, str((float(bid) + float(ask)) / 2))
            venue.control.add_liquidity(symbol, "SELL", ask, "5")
            venue.control.add_liquidity(symbol, "BUY", bid, "5")
        with toolkit.connect(venue=venue) as made:
            for symbol, size in ((BTC, "0.001"), (ETH, "0.01")):
                made.buy(symbol, size)
                made.sell(symbol, size)
            venue.advance(until=FIRST_MS)
            yield made


def runner_of(session: Any, strategy: Any = None, **options: Any) -> Runner:
    symbols, interval = options.pop("symbols", [BTC]), options.pop("interval", "1m")
    return Runner(session, strategy or Scripted({}), symbols, interval, options.pop("limits", Limits()), **options)


class Two(Strategy):
    symbols = (ETH, BTC)


@pytest.mark.parametrize(
    ("strategy", "given", "symbols"),
    [
        (Scripted({}), None, (BTC,)), (Two(), None, (ETH, BTC)), (Two(), [BTC], (BTC,)), (Two(), ETH, (ETH,)),
        (Two(), [ETH, BTC, ETH], (ETH, BTC)),
    ],
)  # fmt: skip
def test_the_symbols_are_those_given_else_the_strategys_else_btc(
    session: Any, strategy: Strategy, given: Any, symbols: tuple[str, ...]
) -> None:
    assert runner_of(session, strategy, symbols=given).symbols == symbols


@pytest.mark.parametrize("warm_up", of_all([0, 1, 3], quick=[0, 3]))
def test_a_warm_up_hands_over_as_many_bars_and_refuses_orders_until_then(session: Any, warm_up: int) -> None:
    said: list[Any] = []

    class Warm(Strategy):
        def on_start(self, ctx: Any) -> None:
            said.append(("start", ctx.now, ctx.buy(BTC, "0.01", "50000").state))

        def on_bar(self, ctx: Any, bar: Any) -> None:
            said.append((bar.time, ctx.now, ctx.buy(BTC, "0.01", "50000").state))

    run = live(Warm(), session, [BTC], duration="30s", limits=Limits(), warm_up=warm_up)
    first = EDGE_MS - warm_up * MINUTE_MS
    state = "REJECTED" if warm_up else "NEW"
    past = [(first + at * MINUTE_MS, first + (at + 1) * MINUTE_MS, "REJECTED") for at in range(warm_up)]
    assert said == [("start", FIRST_MS, state), *past, (EDGE_MS, FIRST_MS + 30_000, "NEW")]
    assert run.equity.index.tolist() == [FIRST, FIRST + pd.Timedelta("30s")]
    assert len(session.orders(open=True)) == 0


@pytest.mark.slow
def test_the_last_price_before_the_first_bar_is_searched_for_a_thousand_bars(session: Any) -> None:
    """The only trades were in the first minute, so that all bars are flat at their last price."""
    said: list[Any] = []
    for late, expected in ((999, [59_990.0]), (1_001, [])):
        session.venue.advance(until=EDGE_MS + (late - 5) * MINUTE_MS)
        said.clear()
        live(lambda ctx, bar: said.append(bar.close), session, [BTC], duration="1m", limits=Limits())
        assert said == expected, late


@pytest.mark.parametrize(
    ("side", "shown", "close", "named"),
    [
        pytest.param("buy", "LONG", False, False, marks=pytest.mark.slow),
        ("sell", "SHORT", False, True),
        ("sell", "SHORT", True, False),
    ],
)
def test_the_end_cancels_closes_if_asked_and_says_what_is_open(
    session: Any, side: str, shown: str, close: bool, named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    by_hand = session.buy(BTC, "0.002", "40000")
    elsewhere = session.buy(ETH, "0.01", "2000")

    def begin(ctx: Any) -> None:
        getattr(ctx, side)(BTC, "0.01")
        getattr(ctx, side)(BTC, "0.01", "50000" if side == "buy" else "70000")

    options: dict[str, Any] = {"run": "one"} if named else {}
    run = live(Scripted({0: begin}), session, [BTC], duration="2m", limits=Limits(), close_at_end=close, **options)
    held = session.positions()
    assert list(held["size"]) == ([] if close else [0.01])
    assert (by_hand.status, elsewhere.status) == ("NEW" if named else "CANCELED", "NEW")
    said = capsys.readouterr().out.splitlines()
    left = [] if close else [f"{shown} 0.01 BTCUSDC"]
    events = [(each.kind, each.text) for each in run.events.itertuples()]
    assert events == [("END", "the time is over"), *[("OPEN", each) for each in left]]
    assert said == [f"Scripted ended (the time is over). Still open: {each}" for each in left]


def test_an_end_that_fails_in_parts_names_them_and_does_the_rest(
    session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = runner_of(session, Scripted({0: lambda ctx: ctx.buy(BTC, "0.01")}))

    def fails(symbol: str) -> None:
        raise NotSent("gone")

    monkeypatch.setattr(runner.state, "cancel_open", fails)
    monkeypatch.setattr(session, "close_position", fails)
    run = runner.run("2m", close_at_end=True)
    kinds = [(each.kind, each.text) for each in run.events.itertuples()]
    open_text = (
        "unknown, because cancelling in BTCUSDC failed; unknown, because closing BTCUSDC failed; LONG 0.01 BTCUSDC"
    )
    assert kinds == [
        ("END", "the time is over"), ("PROBLEM", "cancelling in BTCUSDC: NotSent: gone"),
        ("PROBLEM", "closing BTCUSDC: NotSent: gone"), ("OPEN", open_text),
    ]  # fmt: skip
    assert capsys.readouterr().out == f"Scripted ended (the time is over). Still open: {open_text}\n"


@pytest.mark.parametrize("kind", of_all(["END", "STOP", "LIMIT", "INTERRUPT"], quick=["STOP", "LIMIT"]))
def test_on_stop_may_trade_after_a_regular_end_only(
    session: Any, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    states: list[str] = []

    def act(ctx: Any, bar: Any) -> None:
        if kind == "STOP":
            ctx.stop("enough")
        if kind == "LIMIT":
            raise LimitReached("too much", limit="max_loss")
        if kind == "INTERRUPT":
            raise KeyboardInterrupt

    strategy = {"on_bar": act, "on_stop": lambda ctx: states.append(ctx.buy(BTC, "0.01", "50000").state)}
    run = live(strategy, session, [BTC], duration="1m", limits=Limits())
    regular = kind in ("END", "STOP")
    assert states == ["NEW" if regular else "REJECTED"]
    assert run.events["kind"].tolist()[0] == kind
    reason = {"LIMIT": "too much", "INTERRUPT": "interrupted"}.get(kind)
    name = run.name
    assert capsys.readouterr().out == ("" if regular else f"{name} ended ({reason}). Still open: nothing is open\n")
    assert len(session.orders(open=True)) == 0


@pytest.mark.parametrize("during", [False, True])
def test_an_error_of_on_stop_is_raised_unless_the_run_ended_by_an_error(session: Any, during: bool) -> None:
    def act(ctx: Any, bar: Any) -> None:
        if during:
            raise ZeroDivisionError("first")

    def stop(ctx: Any) -> None:
        raise LookupError("second")

    with pytest.raises(ZeroDivisionError if during else LookupError) as raised:
        live({"on_bar": act, "on_stop": stop}, session, [BTC], duration="1m", limits=Limits())
    [note] = raised.value.__notes__
    assert note.startswith("in ")
    assert ("after its open orders were cancelled" in note) is not during
    # an error of the toolkit, such as a refused order, is noted only
    run = live({"on_stop": lambda ctx: ctx.buy("XYZ", "1")}, session, [BTC], duration="1m", limits=Limits())
    assert run.events["kind"].tolist() == ["END", "PROBLEM"]


@pytest.mark.parametrize("close", [None, False, True])
def test_a_kill_from_inside_returns_and_ends_after_the_callback(session: Any, close: bool | None) -> None:
    def act(ctx: Any, bar: Any) -> None:
        ctx.buy(BTC, "0.01")
        runner.kill(close=close)
        ctx.record(after=1)

    runner = runner_of(session, act)
    run = runner.run("5m", close_at_end=True)
    assert len(run.records) == 1
    assert run.events["kind"].tolist()[0] == "KILL"
    assert len(session.positions()) == (1 if close is False else 0)


def test_a_kill_that_takes_too_long_says_so(session: Any) -> None:
    going, let_go = threading.Event(), threading.Event()

    def act(ctx: Any, bar: Any) -> None:
        going.set()
        assert let_go.wait(60)

    runner = runner_of(session, act)
    runner.start("10m")
    assert going.wait(60)
    with pytest.raises(LimitReached, match=r"the run did not end within 0\.01 s") as raised:
        runner.kill(timeout=0.01)
    assert raised.value.limit == "timeout"
    let_go.set()
    runner.kill(timeout=60)
    assert runner.results().events["kind"].tolist() == ["KILL"]


@pytest.mark.parametrize(
    ("side", "sign", "adopt"), [("buy", 1, True), pytest.param("sell", -1, False, marks=pytest.mark.slow)]
)
def test_a_continued_run_prints_what_it_takes_up(
    session: Any, side: str, sign: int, adopt: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    far, farther = ("50000", "49000") if side == "buy" else ("70000", "71000")

    class Sized(Strategy):
        def __init__(self, size: str = "0.01", gap: int = 3) -> None:
            self.size, self.gap, self.count = size, gap, 0

        def on_bar(self, ctx: Any, bar: Any) -> None:
            self.count += 1
            if self.count == 1 and self.gap == 3:
                getattr(ctx, side)(BTC, self.size)
                getattr(ctx, side)(BTC, "0.01", far)
                getattr(ctx, side)(BTC, "0.02", farther)

    options: dict[str, Any] = {"limits": Limits(), "run": "one", "duration": "1m"}
    with monkeypatch.context() as crash:
        crash.setattr(Runner, "_end", lambda self, *_: self.state.journal.close())
        live(Sized(), session, [BTC, ETH], **options)
    assert capsys.readouterr().out == ""
    getattr(session, side)(BTC, "0.005")  # by hand
    run = live(Sized(gap=4), session, [BTC, ETH], adopt=adopt, **options)
    table = pd.DataFrame(
        [
            (BTC, sign * 0.01, 0.0, sign * 0.01, sign * 0.015, 2 if adopt else 0, 0, 0 if adopt else 2),
            (ETH, 0.0, 0.0, 0.0, 0.0, 0, 0, 0),
        ],
        columns=["symbol", "held", "filled meanwhile", "holds", "account holds", "adopted", "unknown", "cancelled"],
    )
    printed = capsys.readouterr().out
    assert printed == f"Sized continues a run of 2026-01-01 00:05:\n{table.to_string(index=False)}\n" + (
        f"Sized ended (the time is over). Still open: {'LONG' if sign > 0 else 'SHORT'} 0.015 BTCUSDC\n"
    )
    assert run.events["kind"].tolist()[0] == "RESUME"
    assert run.events["text"].tolist()[0] == "changed parameters: {'gap': '4'}"


WAITS: dict[str, tuple[float, float, float, float, tuple[float, bool]]] = {
    # speed, seconds since the poll, timer due after ms of the venue, → seconds waited, whether it is a poll
    "no timer": (1, 0.25, NEVER, 1.0, (0.75, True)),
    "a late poll": (1, 3.0, NEVER, 1.0, (0.0, True)),
    "a timer first": (1, 0.25, 500.0, 1.0, (0.5, False)),
    "a fast venue": (2, 0.0, 500.0, 1.0, (0.25, False)),
    "both together": (1, 0.5, 500.0, 1.0, (0.5, True)),
    "a slow venue": (0.5, 0.0, 700.0, 1.0, (1.0, False)),  # the speed may have changed after a poll's length
    "held": (0, 0.25, 10.0, 1.0, (0.75, True)),
}


@pytest.mark.parametrize("case", WAITS)
def test_a_run_on_a_real_clock_waits_for_what_comes_first(
    session: Any, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    speed, since, due, poll, expected = WAITS[case]
    runner = runner_of(session, poll=f"{poll:g}s")
    runner._manual_clock = False
    now, waited = runner.state.now(), []
    monkeypatch.setattr(module, "monotonic", lambda: 100.0)
    monkeypatch.setattr(runner._stop, "wait", waited.append)
    monkeypatch.setattr(type(session), "clock", property(lambda _: SimpleNamespace(speed=speed, now_ms=lambda: now)))
    runner._polled_at, runner._timer_due_ms = 100.0 - since, now + due
    polls = runner._wait(None)
    assert ([pytest.approx(each) for each in waited], polls) == ([expected[0]], expected[1])
    assert runner._polled_at == (100.0 if polls else 100.0 - since)
    runner._timer_due_ms = now
    assert runner._wait(None) is False  # a timer that is due does not wait
    assert len(waited) == 1


@pytest.mark.parametrize(
    ("late_ms", "called", "next_ms"), [(-1, 0, 0), (0, 1, 100), (99, 1, 100), (100, 1, 200), (350, 1, 400)]
)
def test_timers_that_are_missed_are_one_and_the_next_keeps_their_beat(
    session: Any, late_ms: int, called: int, next_ms: int
) -> None:
    calls: list[int] = []

    class Timed(Strategy):
        timer_ms = 100

        def on_timer(self, ctx: Any) -> None:
            calls.append(ctx.now)

    runner = runner_of(session, Timed())
    runner._timer_due_ms = FIRST_MS - late_ms
    runner._tick()
    assert calls == [FIRST_MS] * called
    assert runner._timer_due_ms == FIRST_MS - late_ms + next_ms
    assert runner.ctx.now == FIRST_MS
    runner.ctx.stopped = "enough"
    runner._timer_due_ms = FIRST_MS
    runner._tick()
    assert len(calls) == called


@pytest.mark.parametrize(
    ("options", "age_ms"),
    [
        ({}, 63_000), ({"interval": "1h"}, 3_603_000), ({"step": "7m"}, 423_000), ({"poll": "5m"}, 303_000),
        ({"poll": "2m", "max_bar_age": "1ms"}, 1),
    ],
)  # fmt: skip
def test_a_bar_is_old_three_seconds_after_the_longest_of_interval_step_and_poll(
    session: Any, options: dict[str, Any], age_ms: int
) -> None:
    seen: list[Any] = []
    runner = runner_of(session, lambda ctx, bar: seen.append(runner.state.stale), **options)
    runner.state.trading = True
    length = runner.interval_ms
    for late in (age_ms, age_ms + 1):
        bar = module.Bar(BTC, FIRST_MS - late - length, FIRST_MS - late, 1.0, 1.0, 1.0, 1.0, 0.0)
        runner._read_bars.append((bar.closed, 0, bar))
        runner._deliver_bars()
        assert runner.state.stale is False
    assert seen == [False, True]
    runner.state.trading = False  # while warming up all bars are old, and nothing is sent anyway
    runner._read_bars.append((bar.closed, 0, bar))
    runner._deliver_bars()
    assert seen[2] is False


@pytest.mark.parametrize(
    ("step", "until", "due", "reached", "polls"),
    [
        (None, None, NEVER, 30_000, True), ("20s", None, NEVER, 10_000, True), ("7m", None, NEVER, 90_000, True),
        (None, 10_000, NEVER, 10_000, True), (None, 90_000, NEVER, 30_000, True), (None, None, 12_000.5, 12_001, False),
        (None, None, 30_000, 30_000, True), (None, 10_000, 10_001, 10_000, True), (None, None, 0, 0, False),
    ],
)  # fmt: skip
def test_a_manual_clock_is_set_to_the_next_step_the_end_or_the_timer(
    session: Any, step: str | None, until: int | None, due: float, reached: int, polls: bool
) -> None:
    """Times are ms after the start; steps are counted from 1970 on."""
    runner = runner_of(session, step=step)
    runner._timer_due_ms = FIRST_MS + due
    assert runner._wait(None if until is None else FIRST_MS + until) is polls
    assert runner.state.now() == FIRST_MS + reached


LISTED = {BTC: {0: 60_000.0, 2: 60_010.0}, ETH: {0: 3_000.0, 1: 3_001.0, 2: 3_002.0}}
"""Closes of the bars that a venue lists, by minute."""


@pytest.mark.parametrize(
    ("manual", "late_ms", "btc"),
    [(True, 0, [60_000, 60_000, 60_010, 60_010]), (False, 2_999, [60_000, 60_000, 60_010]),
     (False, 3_000, [60_000, 60_000, 60_010, 60_010])],
)  # fmt: skip
def test_bars_come_by_time_then_in_the_order_of_the_symbols_and_quiet_ones_are_flat(
    session: Any, manual: bool, late_ms: int, btc: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Any] = []

    class Listening(Strategy):
        def on_bar(self, ctx: Any, bar: Any) -> None:
            said.append((bar.symbol, (bar.time - EDGE_MS) // MINUTE_MS, bar.close, bar.volume))
            assert (bar.open, bar.high, bar.low) == (bar.close,) * 3
            assert bar.closed == bar.time + MINUTE_MS
            assert ctx.now == bar.closed
            for symbol in (ETH, BTC):  # those of the same instant are known, none of a later one is
                assert ctx.history[symbol].frame().index[-1].value // 1_000_000 <= bar.time

        def on_bars(self, ctx: Any, bars: Any) -> None:
            said.append([(symbol, each.close) for symbol, each in bars.items()])

    runner = runner_of(session, Listening(), symbols=[ETH, BTC])
    runner._manual_clock = manual
    end = EDGE_MS + 4 * MINUTE_MS
    state = runner.state
    monkeypatch.setattr(state, "now", lambda: end + late_ms)

    def read(symbol: str, start: int, until: int) -> dict[int, tuple[float, ...]]:
        assert until == end
        assert start == state.next_open_ms[symbol]
        return {EDGE_MS + at * MINUTE_MS: (close,) * 4 + (1.0,) for at, close in LISTED[symbol].items()}

    monkeypatch.setattr(state, "read_candles", read)
    state.next_open_ms = {ETH: EDGE_MS, BTC: EDGE_MS}
    runner._query_bars(end + 59_999)
    eth = [3_000.0, 3_001.0, 3_002.0, 3_002.0][: len(btc)]
    expected: list[Any] = []
    for at, closes in enumerate(zip(eth, btc, strict=True)):
        for symbol, close in zip((ETH, BTC), closes, strict=True):
            expected.append((symbol, at, close, float(at in LISTED[symbol])))
        expected.append([(ETH, closes[0]), (BTC, closes[1])])
    assert said == expected
    assert state.next_open_ms == dict.fromkeys((ETH, BTC), EDGE_MS + len(btc) * MINUTE_MS)
    assert state.prices == {ETH: eth[-1], BTC: btc[-1]}
    said.clear()
    if len(btc) == 4:
        monkeypatch.setattr(state, "read_candles", lambda *_: pytest.fail("nothing is new"))
        runner._query_bars(end)
        assert said == []
