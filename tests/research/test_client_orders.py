"""Orders that live at the client: what they do on bars, on events, on the local venue and after a restart."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import httpx
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolkit
from tests.research.backtesting.events.recorded import events_of
from tests.research.markets import Scripted, bars, flat
from tests.support.network import Network
from toolkit import orders
from toolkit.errors import InputError
from toolkit.research import Limits, Results, Strategy, backtest, live, paper
from toolkit.research.context import Context
from toolkit.research.data.event_array import Kind
from toolkit.research.market_data import Bar
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
GRID = {"X": {"tick_size": "0.01", "step_size": "1", "min_order_value": "1"}}


def run(script: Any, *rows: Any, **options: Any) -> tuple[list[Any], Results]:
    """Backtest a script on X without costs. Return what its steps returned, and the results."""
    seen: list[Any] = []
    if isinstance(script, dict):
        noted = {at: (lambda ctx, step=step: seen.append(step(ctx))) for at, step in script.items()}
        script = Scripted(noted)
    free = {"capital": 1_000_000, "products": GRID, "fees": ("0", "0"), "funding": None}
    return seen, backtest(script, {"X": bars(*rows)}, **(free | options))


def traded(found: Results) -> list[tuple[str, float]]:
    return list(zip(found.fills["side"], found.fills["price"], strict=True))


def path(seed: int, rows: int) -> list[tuple[float, float, float, float]]:
    """Return bars of whole cents, three of ten of which open after a jump of some percent."""
    dice, close, made = random.Random(seed), 100.0, []
    for _ in range(rows):
        opened = round(close * (1 + (dice.gauss(0, 0.02) if dice.random() < 0.3 else 0)), 2)
        close = round(opened * (1 + dice.gauss(0, 0.012)), 2)
        high = round(max(opened, close) * (1 + abs(dice.gauss(0, 0.006))), 2)
        made.append((opened, high, round(min(opened, close) * (1 - abs(dice.gauss(0, 0.006))), 2), close))
    return made


class Trailing(Strategy):
    """Holds a long and a short position in turn, each until its trailing stop has closed it."""

    ratio = 0.02
    if_reached = "close"

    def on_start(self, ctx: Context) -> None:
        self.way, self.stops = 1, list[tuple[Any, list[float]]]()

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        if ctx.position("X") and self.stops:
            self.stops[-1][1].append(self.stops[-1][0].stop)
        elif not ctx.position("X"):
            (ctx.buy if self.way > 0 else ctx.sell)("X", "1")
            stop = ctx.trailing_stop("X", self.ratio, if_reached=self.if_reached)  # type: ignore[arg-type]
            self.stops.append((stop, []))
            self.way = -self.way

    def on_stop(self, ctx: Context) -> None:
        for stop, levels in self.stops:
            moves = [(after - before) * stop.kept.sign for before, after in itertools.pairwise(levels)]
            assert all(move >= 0 for move in moves), "a stop never moves back"


def naive_trades(rows: list[tuple[float, float, float, float]], ratio: float) -> list[tuple[str, float]]:
    """Return what `Trailing` trades, bar by bar: at the stop, at an open beyond it, and after a close beyond it."""

    def level(best: float, sign: int) -> float:
        cents = round(best * (1 - sign * ratio) * 100, 8)
        return (math.floor(cents) if sign > 0 else math.ceil(cents)) / 100

    made: list[tuple[str, float]] = []
    sign, stop, decided, leaves, way = 0, 0.0, 0.0, False, 1
    for opened, high, low, close in rows:
        if decided:
            sign, stop, leaves = way, level(decided, way), False
            made.append(("BUY" if sign > 0 else "SELL", opened))
            way, decided = -way, 0.0
        if sign:
            out = "SELL" if sign > 0 else "BUY"
            if leaves or (opened - stop) * sign <= 0:
                made.append((out, opened))
                sign = 0
            elif ((low if sign > 0 else high) - stop) * sign <= 0:
                made.append((out, stop))
                sign = 0
            elif (moved := level(high if sign > 0 else low, sign)) * sign > stop * sign:
                stop, leaves = moved, (close - moved) * sign <= 0
        if not sign:
            decided = close
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_a_trailing_stop_leaves_where_a_plain_loop_does_over_a_thousand_jumps(seed: int) -> None:
    rows = path(seed, 700)
    _, found = run(Trailing(), *rows)
    expected = naive_trades(rows, 0.02)
    assert len(expected) > 300
    assert traded(found) == expected[: len(found.fills)]
    assert len(expected) - len(found.fills) <= 1, "the last order may still be underway"
    assert "REJECTED" not in found.events["kind"].tolist()
    run(Trailing(if_reached="refuse"), *rows)


@st.composite
def jumping(draw: st.DrawFn) -> list[tuple[float, float, float, float]]:
    """Bars of whole cents, each of which may open far from the close before it."""
    close, made = 10_000, []
    for _ in range(draw(st.integers(5, 25))):
        opened = max(200, close + draw(st.sampled_from([0, 0, draw(st.integers(-2_000, 2_000))])))
        close = max(200, opened + draw(st.integers(-300, 300)))
        high, low = (draw(st.integers(0, 200)) for _ in range(2))
        made.append(
            (opened / 100, (max(opened, close) + high) / 100, max(1, min(opened, close) - low) / 100, close / 100)
        )
    return made


@settings(max_examples=60, deadline=None)
@given(
    jumping(),
    st.sampled_from([{"ratio": 0.01}, {"ratio": 0.2}, {"amount": 0.5}, {"atr": 2, "window": 3}]),
    st.sampled_from([1, -1]),
    st.sampled_from(["close", "refuse"]),
)
def test_a_stop_only_moves_with_its_position_whatever_jumps(rows: Any, far: Any, way: int, if_reached: str) -> None:
    """While the position lasts, the venue always has the stop, or the price has passed the first one."""
    seen: list[tuple[float, float]] = []

    class Protected(Strategy):
        def on_bar(self, ctx: Context, bar: Bar) -> None:
            if ctx.bars().length == 1:
                (ctx.buy if way > 0 else ctx.sell)("X", "1")
                self.exit = ctx.trailing_stop("X", **far, if_reached=if_reached)
            elif ctx.position("X"):
                standing = [float(one.order.trigger_price or "nan") for one in ctx.orders()]
                seen.append((self.exit.stop, standing[0] if standing else math.nan))

    run(Protected(), *rows)
    stops = [stop for stop, _ in seen if stop == stop]
    assert all((after - before) * way >= 0 for before, after in itertools.pairwise(stops))
    begun = next((at for at, (_, standing) in enumerate(seen) if standing == standing), len(seen))
    assert all(stop == standing for stop, standing in seen[begun:]), "it is never without its stop again"


JUMP = [*flat(110, 2), (110, 121, 110, 120), (110, 111, 103, 104), *flat(104, 3)]


def enter(side: int, **options: Any) -> Any:
    def step(ctx: Context) -> Any:
        (ctx.buy if side > 0 else ctx.sell)("X", "1")
        return ctx.trailing_stop("X", 0.05, **options)

    return step


def mirrored(rows: list[tuple[float, ...]], around: float) -> list[Any]:
    return [(2 * around - o, 2 * around - low, 2 * around - high, 2 * around - c) for o, high, low, c in rows]


def test_a_jump_over_the_new_stop_closes_at_the_open_after_it() -> None:
    """High 121 wants a stop at 114.95, the next open is 110: the position is left there, not at the old 104.50."""
    seen, found = run({0: enter(1)}, *JUMP)
    assert traded(found) == [("BUY", 110), ("SELL", 110)]
    assert seen[0].done
    _, found = run({0: enter(-1)}, *mirrored(JUMP, 110))
    assert traded(found) == [("SELL", 110), ("BUY", 110)]
    seen, found = run({0: enter(1, if_reached="refuse")}, *JUMP)
    assert traded(found) == [("BUY", 110), ("SELL", 104.5)], "the stop that stood was never cancelled"
    assert found.events["kind"].tolist() == ["REJECTED"]


def test_an_entry_after_a_gap_has_a_first_stop_or_leaves() -> None:
    rows = [*flat(100, 2), *flat(90, 4)]
    _, found = run({1: enter(1)}, *rows)
    assert traded(found) == [("BUY", 90), ("SELL", 90)], "95 is passed at the open"
    _, found = run({1: enter(1, if_reached="refuse")}, *rows)
    assert traded(found) == [("BUY", 90)]


@pytest.mark.parametrize("way", [1, -1])
def test_a_jump_on_events_with_latency(way: int) -> None:
    """Long: the stop of 114.95 is passed, and the position is left at the bid of 109.9. A short mirrors it at 110."""
    rows: list[Any] = []
    before = 0.0
    quotes = (0, 110.5), (60_000, 110.6), (100_000, 121), (119_000, 118), (120_100, 110), (170_000, 104), (400_000, 103)
    for ms, price in ((ms, 110 + way * (price - 110)) for ms, price in quotes):
        gone = [(ms, Kind.DEPTH, side, before - side * 0.1, 0) for side in (1, -1)] if before else []
        rows += [*gone, *((ms, Kind.DEPTH, side, price - side * 0.1, 5) for side in (1, -1))]
        rows.append((ms + 1, Kind.TRADE, way, price + way * 0.1, 0.01))
        before = price

    def on_bar(ctx: Context, bar: Bar) -> None:
        if ctx.bars().length == 1:
            (ctx.buy if way > 0 else ctx.sell)(BTC, "0.1")
            ctx.trailing_stop(BTC, 0.05)
            ctx.stop_entry(BTC, way * 0.2, 110 + way * 5)

    options: dict[str, Any] = {"latency": "200ms", "interval": "1m", "funding": None}
    found = backtest(on_bar, {BTC: events_of(*rows)}, products={BTC: {"min_order_value": "1"}}, **options)
    sides, prices = ("BUY", "BUY", "SELL") if way > 0 else ("SELL", "SELL", "BUY"), (110.6, 121.1, 109.9)
    assert traded(found) == [
        (side, pytest.approx(110 + way * (price - 110))) for side, price in zip(sides, prices, strict=True)
    ]
    stamps = (found.fills["time"] - found.equity.index[0].floor("min")).dt.total_seconds().round(1).tolist()
    assert stamps[1] - stamps[0] == pytest.approx(100.2 - 46.7 - 0.2, abs=60)
    assert found.fills["quantity"].tolist()[2] == pytest.approx(0.3), "the whole position is left"


ABOVE = [*flat(100, 2), (100, 106, 99, 104), *flat(104, 2)]


@pytest.mark.parametrize(
    ("place", "rows", "fills"),
    [
        (lambda ctx: ctx.stop_entry("X", "1", "105"), ABOVE, [("BUY", 105)]),
        (lambda ctx: ctx.stop_entry("X", "-1", "99.5"), ABOVE, [("SELL", 99.5)]),
        (lambda ctx: ctx.if_touched("X", "1", "99.5"), ABOVE, [("BUY", 99.5)]),
        (lambda ctx: ctx.if_touched("X", "-1", "105"), ABOVE, [("SELL", 105)]),
        (lambda ctx: ctx.stop_entry("X", "1", "110"), ABOVE, []),
        (lambda ctx: ctx.stop_entry("X", "1", "103"), [*flat(100, 2), *flat(104, 2)], [("BUY", 104)]),
        (lambda ctx: ctx.stop_entry("X", "1", "99"), ABOVE, [("BUY", 100)]),
        (lambda ctx: ctx.stop_entry("X", "1", "105", "104.5"), ABOVE, [("BUY", 104.5)]),
        (lambda ctx: ctx.stop_entry("X", "1", "105", sl="102"), [*ABOVE, (104, 104, 101, 101)],
         [("BUY", 105), ("SELL", 102)]),
        (lambda ctx: ctx.scheduled("X", "1", "2026-01-01 05:00"), ABOVE, [("BUY", 104)]),
        (lambda ctx: ctx.one_cancels_other(ctx.stop_entry("X", "1", "105"), ctx.stop_entry("X", "-1", "99.5")), ABOVE,
         [("SELL", 99.5)]),
        (lambda ctx: (ctx.stop_entry("X", "1", "105"), ctx.cancel_all("X")), ABOVE, []),
        (lambda ctx: ctx.stop_entry("X", "1", "105").cancel(), ABOVE, []),
    ],
    ids=lambda value: None,
)  # fmt: skip
def test_what_waits_at_the_client_trades_at_the_price_that_it_waits_for(place: Any, rows: Any, fills: Any) -> None:
    _, found = run({0: place}, *rows)
    assert traded(found) == fills
    _, other = run({0: place}, *rows, every_point=True)
    assert traded(other) == fills


def test_an_iceberg_shows_a_part_at_a_time() -> None:
    rows = [*flat(100, 2), *[(100, 101, 98, 100)] * 4]
    seen, found = run({0: lambda ctx: ctx.iceberg("X", "10", "99", "4")}, *rows)
    assert found.fills["quantity"].tolist() == [4, 4, 2]
    assert (seen[0].filled, seen[0].done, found.orders["quantity"].max()) == (10, True, 4)


def test_distances_are_ratios_amounts_or_true_ranges() -> None:
    """The true range is 2 for 16 bars and then 20: 2 + 18 / 10 = 3.8."""
    rows = [*[(100, 101, 99, 100)] * 16, (100, 120, 100, 119), (119, 119, 100, 100)]
    for options, price in (({"ratio": 0.1}, 108), ({"amount": 5}, 115), ({"atr": 2, "window": 10}, 112.4)):

        def step(ctx: Context, options: Any = options) -> None:
            ctx.buy("X", "1")
            ctx.trailing_stop("X", **options)

        _, found = run({14: step}, *rows)
        assert traded(found)[1] == ("SELL", price), options


def test_a_bracket_after_a_gap_is_refused_or_entered_and_left() -> None:
    rows = [*flat(100, 2), *flat(110, 3)]
    legs = {"stop_loss": "95", "take_profit": "105"}
    _, refused = run({1: lambda ctx: ctx.bracket("X", "1", **legs)}, *rows)
    assert (traded(refused), refused.events["kind"].iloc[0]) == ([], "REJECTED")
    _, entered = run({1: lambda ctx: ctx.bracket("X", "1", **legs, if_reached="close")}, *rows)
    assert traded(entered) == [("BUY", 110), ("SELL", 110)]
    assert "PASSED" in entered.events["kind"].tolist()
    _, whole = run({0: lambda ctx: ctx.bracket("X", "1", **legs, if_reached="close")}, *rows)
    assert traded(whole) == [("BUY", 100), ("SELL", 110)], "without a gap it is the venue's bracket"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda ctx: ctx.trailing_stop("X", 2), "between 0 and 1"),
        (lambda ctx: ctx.trailing_stop("X"), "Give one of ratio, amount and atr"),
        (lambda ctx: ctx.trailing_stop("X", 0.1, amount=3), "Give one of"),
        (lambda ctx: ctx.trailing_stop("X", amount=-1), "above 0"),
        (lambda ctx: ctx.stop_loss("X", "99", if_reached="maybe"), "not 'close' or 'refuse'"),
        (lambda ctx: ctx.stop_entry("X", "1", "-3"), "trigger is -3. It must be above 0"),
        (lambda ctx: ctx.iceberg("X", "1", "99", "0"), "shown is 0"),
    ],
    ids=lambda value: None,
)
def test_a_wrong_argument_is_named(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run({0: call}, *flat(100, 2))


def test_an_order_that_can_not_be_sent_is_rejected_immediately_and_says_why() -> None:
    seen, found = run(
        {
            0: lambda ctx: ctx.buy("X", "1", trigger_price="105"),
            1: lambda ctx: ctx.stop_entry("X", "0.5", "105"),
        },
        *flat(100, 3),
    )
    assert "ctx.stop_entry" in seen[0].reason
    assert [one.state for one in seen] == ["REJECTED", "REJECTED"]
    assert found.events["kind"].tolist() == ["REJECTED", "REJECTED"]
    assert seen[1].done


def test_on_paper_it_waits_for_trades() -> None:
    seen: list[Any] = []

    def on_bar(ctx: Context, bar: Bar) -> None:
        if not seen:
            level = ctx.product(BTC).round_price(bar.close * 1.0004, "up")
            seen.append(ctx.one_cancels_other(
                ctx.stop_entry(BTC, "0.01", level), ctx.if_touched(BTC, "0.01", bar.close * 0.5)))  # fmt: skip

    found = paper(on_bar, [BTC], duration="60m")
    [first, other] = seen[0]
    assert first.state == "FILLED"
    assert found.fills["price"].iloc[0] >= first.kept.trigger * 0.999
    assert other.state == "CANCELED"


def test_a_run_that_continues_has_its_orders_at_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(ctx: Context) -> None:
        ctx.buy(BTC, "0.02")
        price = ctx.price(BTC)
        ctx.trailing_stop(BTC, 0.2)
        both = ctx.stop_entry(BTC, "0.01", price * 1.5), ctx.scheduled(BTC, "0.01", ctx.now + 600_000)
        ctx.one_cancels_other(*both)
        ctx.iceberg(BTC, "0.05", ctx.product(BTC).round_price(price * 0.5, "down"), "0.02")

    seen: list[Any] = []

    def look(ctx: Context, bar: Bar) -> None:
        seen.append([(order.kept.kind, order.state) for order in ctx.waiting()])

    with toolkit.connect(clock="manual") as session:
        session.venue.advance("3h")
        with monkeypatch.context() as crash:
            crash.setattr(
                "toolkit.research.live_trading.runner.Runner._end", lambda self, *_: self.state.journal.close()
            )
            live(Scripted({0: begin}), session, [BTC], duration="2m", limits=Limits(), run="one")
        live(look, session, [BTC], duration="12m", limits=Limits(), run="one")
    waiting = ("Entry", "WAITING")
    assert seen[0] == [("TrailingStop", "ORDER_STATUS_UNTRIGGERED"), waiting, waiting, ("Iceberg", "NEW")]
    assert seen[-1] == [("TrailingStop", "ORDER_STATUS_UNTRIGGERED"), ("Iceberg", "NEW")], "one has cancelled the other"


def on_venue(script: dict[int, Any], mode: str, duration: str = "6m") -> Results:
    with toolkit.connect(clock="manual") as session:
        session.venue.advance("3h")
        session.venue.control.set_position_mode(session.account, mode)
        return live(Scripted(script), session, [BTC], duration=duration, limits=Limits())


def at(ctx: Context, ratio: float) -> str:
    """A price at a ratio of the last one, in whole ticks."""
    return ctx.product(BTC).price_text(round(ctx.price(BTC) * ratio / float(ctx.product(BTC).tick_size)))


@pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])
def test_one_cancels_the_other_on_a_venue_whatever_the_position_mode(mode: str) -> None:
    """Two limit orders, two orders that wait here, and a stop-loss and a take-profit: of each pair one is left."""
    pairs: list[tuple[Any, ...]] = []
    seen: list[list[str]] = []

    def enter(ctx: Context) -> None:
        pairs.append(ctx.one_cancels_other(ctx.buy(BTC, "0.02", at(ctx, 0.8)), ctx.buy(BTC, "0.02", at(ctx, 1.001))))
        pairs.append(
            ctx.one_cancels_other(
                ctx.stop_entry(BTC, "0.01", at(ctx, 0.99)), ctx.stop_entry(BTC, "-0.01", at(ctx, 0.5))
            )
        )

    def leave(ctx: Context) -> None:
        pairs.append(ctx.one_cancels_other(ctx.stop_loss(BTC, at(ctx, 0.5)), ctx.take_profit(BTC, at(ctx, 0.99))))

    def look(ctx: Context) -> None:
        seen.extend([one.state for one in pair] for pair in pairs)
        seen.append([str(size) for size in ctx.legs(BTC)])

    on_venue({0: enter, 2: leave, 5: look}, mode, "8m")
    assert seen == [["CANCELED", "FILLED"], ["FILLED", "CANCELED"], ["CANCELED", "CANCELED"], ["0.0", "0.0"]]


def test_the_cancel_of_a_group_is_sent_until_the_venue_has_it() -> None:
    """For two minutes after the fill no cancel reaches the venue."""
    with LocalVenue(clock="manual") as venue:
        network, began = Network(venue), venue.host.now_ms()

        def cut(request: httpx.Request) -> None:
            if b"cancel" in request.content and venue.host.now_ms() < began + 4 * 60_000:
                raise httpx.ConnectError("no route", request=request)

        network.before = cut
        pair: list[Any] = []

        def enter(ctx: Context) -> None:
            pair.extend(ctx.one_cancels_other(ctx.buy(BTC, "0.02", at(ctx, 0.8)), ctx.buy(BTC, "0.02", at(ctx, 1.01))))

        with toolkit.connect(venue=venue, transport=network) as session:
            seen: list[int] = []
            script = {0: enter, **{bar: lambda ctx: seen.append(len(ctx.orders())) for bar in range(1, 7)}}
            live(Scripted(script), session, [BTC], duration="8m", limits=Limits(max_stale=None))
    assert [one.state for one in pair] == ["CANCELED", "FILLED"]
    assert (seen[0], seen[-1]) == (1, 0)


def test_exits_of_both_legs_are_two_pairs_and_one_that_opens_short_is_protected() -> None:
    """In hedge mode the long leg ends by its take-profit. The short one keeps its exits."""
    found: dict[str, Any] = {}

    def enter(ctx: Context) -> None:
        ctx.sell(BTC, "0.01")
        found["trailing"] = ctx.trailing_stop(BTC, 0.1)
        ctx.buy(BTC, "0.02")

    def protect(ctx: Context) -> None:
        with pytest.raises(InputError, match="two legs"):
            ctx.stop_loss(BTC, at(ctx, 0.9))
        for leg, stop, target in (("LONG", 0.5, 0.99), ("SHORT", 1.5, 0.5)):
            pair = ctx.stop_loss(BTC, at(ctx, stop), leg=leg), ctx.take_profit(BTC, at(ctx, target), leg=leg)  # type: ignore[arg-type]
            found[leg] = ctx.one_cancels_other(*pair)

    def look(ctx: Context) -> None:
        found["legs"] = ctx.legs(BTC)
        found["states"] = [(name, one.done) for name in ("LONG", "SHORT") for one in found[name]]
        found["side"] = found["trailing"].handle.order.side

    on_venue({0: enter, 1: protect, 4: look}, "HEDGE")
    assert found["legs"] == (0.0, -0.01)
    assert found["states"] == [("LONG", True), ("LONG", True), ("SHORT", False), ("SHORT", False)]
    assert found["side"] == "BUY_CLOSE_HEDGE"


def test_in_hedge_mode_each_leg_has_its_stop() -> None:
    def begin(ctx: Context) -> None:
        ctx.place(orders.order(BTC, "BUY", "0.02"))
        ctx.place(orders.order(BTC, "SELL", "0.01"))

    def protect(ctx: Context) -> None:
        with pytest.raises(InputError, match="two legs"):
            ctx.trailing_stop(BTC, 0.1)
        ctx.trailing_stop(BTC, 0.1, leg="LONG")
        ctx.trailing_stop(BTC, 0.1, leg="SHORT")

    seen: list[Any] = []

    def look(ctx: Context) -> None:
        seen.extend((one.order.side, one.state) for one in ctx.orders())
        seen.append(ctx.legs(BTC))

    with toolkit.connect(clock="manual") as session:
        session.venue.advance("3h")
        session.venue.control.set_position_mode(session.account, "HEDGE")
        live(Scripted({0: begin, 1: protect, 3: look}), session, [BTC], duration="6m", limits=Limits())
    assert seen[0] == ("SELL_CLOSE_HEDGE", "ORDER_STATUS_UNTRIGGERED")
    assert seen[1] == ("BUY_CLOSE_HEDGE", "ORDER_STATUS_UNTRIGGERED")
    assert pd.Series(seen[2]).tolist() == pytest.approx([0.02, -0.01])
