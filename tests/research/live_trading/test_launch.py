"""Paper and live: the same strategy as in a backtest, stopped by its limits, leaving nothing unsaid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from msgspec import structs

import toolkit
from tests.research.backtesting.events.recorded import random_market
from tests.research.markets import Scripted
from tests.support.cases import of_all
from toolkit.errors import InputError, NotSent, ToolkitError, WalletError
from toolkit.limits import Limits
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.info.candles import KLINES
from toolkit.research import History, Strategy, backtest
from toolkit.research.account_data import Fill, FundingFee, OrderHandle
from toolkit.research.context import Context
from toolkit.research.data.event_array import MS
from toolkit.research.data.events import Events
from toolkit.research.live_trading.launch import live, paper
from toolkit.research.live_trading.run_state import NAN, RunState
from toolkit.research.live_trading.runner import Runner
from toolkit.research.market_data import Bar, BookSnapshot, Trade
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


@pytest.fixture
def session() -> Iterator[Any]:
    with toolkit.connect(clock="manual") as made:
        made.venue.advance("5m")
        yield made


def ask(script: dict[int, Any], session: Any, duration: str = "5m", **options: Any) -> Any:
    """Run a script live on the local venue."""
    options.setdefault("limits", Limits())
    return live(Scripted(script), session, [BTC], duration=duration, **options)


class Turning(Strategy):
    """Changes sides every third bar; the same object runs everywhere."""

    size = "0.02"

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        count = ctx.bars(bar.symbol).length
        ctx.record(position=ctx.position(bar.symbol))
        if count % 3 == 0:
            ctx.target(bar.symbol, self.size if count % 2 else f"-{self.size}")


def minutes(run: Any) -> Any:
    """Return the minutes of a run: where a venue takes a second to execute, it does not begin and end on one."""
    return run.equity.index.floor("1min").unique()


@pytest.mark.parametrize(
    "begins", of_all([(0, 1_500), (1_500, 0)], quick=[(1_500, 0)]), ids=["the second is later", "the first is later"]
)
def test_paper_lasts_from_the_first_event_of_its_replays_to_the_last(
    begins: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has two seconds from its begin on (Unix ms since the earlier one). The venue executes without delay."""
    monkeypatch.setitem(LocalVenue.__init__.__kwdefaults__, "settle_delay", 0)
    replays, times = dict[str, Events](), list[int]()
    for seed, (symbol, begin) in enumerate(zip((BTC, "ETHUSDC"), begins, strict=True)):
        array = random_market(seed, seconds=2).array.copy()
        for name in ("exchange_ns", "local_ns"):
            array[name] += begin * MS
        replays[symbol] = Events(array)
        times += (array["exchange_ns"] // MS).tolist()
    run = paper(Scripted({}), replay=replays, step="500ms")
    assert list(run.positions.columns) == [BTC, "ETHUSDC"]
    assert run.equity.index[[0, -1]].tolist() == [
        pd.Timestamp(at, unit="ms", tz="UTC") for at in (min(times), max(times))
    ]
    moment = paper(Scripted({}), replay={BTC: replays[BTC][:1]})
    assert moment.equity.index[-1] - moment.equity.index[0] == pd.Timedelta("1ms")


def test_the_same_strategy_runs_in_backtest_and_paper(session: Any) -> None:
    strategy = Turning()
    run = paper(strategy, [BTC], session=session, duration="20m")
    history = session.klines(BTC, "1m", start=minutes(run)[0], end=run.equity.index[-1], closed=True)
    tested = backtest(strategy, {BTC: history}, funding=None)
    assert run.fills["side"].tolist() == tested.fills["side"].tolist()
    assert run.fills["quantity"].tolist() == tested.fills["quantity"].tolist()
    assert len(run.fills) == 6
    assert run.records["position"].tolist() == tested.records["position"].tolist()
    assert (run.fills["price"] / tested.fills["price"] - 1).abs().max() < 0.005
    net = run.attribution.loc["TOTAL", "net"]
    assert net == pytest.approx(run.equity["equity"].iloc[-1] - run.equity["equity"].iloc[0], abs=5)


def test_every_callback_is_called() -> None:
    calls: list[str] = []

    class Listening(Strategy):
        def on_start(self, ctx: Context) -> None:
            calls.append("start")
            ctx.buy(BTC, "0.01")

        def on_bar(self, ctx: Context, bar: Bar) -> None:
            calls.append("bar")

        def on_trade(self, ctx: Context, trade: Trade) -> None:
            assert trade.price > 0
            calls.append("trade")

        def on_book(self, ctx: Context, book: BookSnapshot) -> None:
            assert book.bids[0][0] < book.mid < book.asks[0][0]
            calls.append("book")

        def on_fill(self, ctx: Context, fill: Fill) -> None:
            calls.append(f"fill {fill.side} {fill.quantity:g}")

        def on_funding(self, ctx: Context, payment: FundingFee) -> None:
            assert payment.position == 0.01
            calls.append("funding")

        def on_stop(self, ctx: Context) -> None:
            calls.append("stop")

    venue = LocalVenue(clock="manual", start="2026-01-01T03:56:00Z")
    with venue, toolkit.connect(venue=venue) as session:
        venue.advance("2m")
        live(Listening(), session, [BTC], duration="4m", limits=Limits())
    assert calls[0] == "start"
    assert calls[-1] == "stop"
    assert calls.count("bar") == 4
    assert calls.count("fill BUY 0.01") == 1
    assert calls.count("funding") == 1
    assert calls.count("trade") > 3
    assert calls.count("book") > 3


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(max_notional=2_000), "positions to .* The limit is 2,000.00"),
        (Limits(max_orders_per_minute=2), "2 orders in the last minute. The limit is 2"),
        pytest.param(Limits(max_loss=0.5), "equity fell by .* The limit is 0.50", marks=pytest.mark.slow),
        (Limits(max_daily_loss=0.5), "equity fell by .* since the day began. The limit is 0.50"),
    ],
    ids=["notional", "orders", "loss", "daily loss"],
)
def test_a_limit_stops_the_run_and_says_so(session: Any, limits: Limits, text: str) -> None:
    class Greedy(Strategy):
        bars_seen = 0

        def on_bar(self, ctx: Context, bar: Bar) -> None:
            type(self).bars_seen += 1
            for _ in range(3):
                ctx.buy(BTC, "0.02")

    run = live(Greedy(), session, [BTC], duration="10m", limits=limits, close_at_end=True)
    kinds = run.events.set_index("kind")["text"]
    assert pd.Series([kinds["LIMIT"]]).str.contains(text).all()
    assert Greedy.bars_seen <= 2
    assert len(session.positions()) == 0
    assert len(session.orders(open=True)) == 0


def test_a_silent_venue_stops_the_run(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotSent("the network is gone")

    script = {0: lambda ctx: monkeypatch.setattr(RunState, "read_candles", silent)}
    run = ask(script, session, duration="10m", limits=Limits(max_stale=90))
    assert run.events["kind"].tolist() == ["TRANSPORT", "LIMIT"]
    assert run.events["text"].iloc[1] == "no answer for 120 s, above the limit of 90 s"


@pytest.mark.parametrize("step", of_all(["1m", "7m"], quick=["7m"]))
def test_minutes_without_trades_are_flat_bars_whatever_the_polling(step: str) -> None:
    """A venue without a market: the only trades are the two that a script makes."""
    venue = LocalVenue(clock="manual", market=False)
    with toolkit.connect(venue=venue, clock="manual") as session:
        trade_once(session, "62000")
        venue.advance("3m")
        seen: list[Bar] = []
        watch = {"on_bar": lambda ctx, bar: seen.append(bar)}
        run = paper(watch, [BTC], session=session, duration="14m", step=step, warm_up=5)
    assert run.events["kind"].tolist() == ["END", "OPEN"]
    first = 1_767_225_660_000  # minutes before the first trade have no price
    assert [bar.closed for bar in seen] == [first + 60_000 * count for count in range(17)]
    assert {(bar.open, bar.high, bar.low, bar.close) for bar in seen} == {(62_000,) * 4}
    assert [bar.volume for bar in seen] == [0.01] + [0] * 16


@pytest.mark.parametrize(("quantity", "side"), [("1.5", "LONG"), pytest.param("-1.5", "SHORT", marks=pytest.mark.slow)])
def test_a_live_run_has_the_venues_liquidation_price(session: Any, quantity: str, side: str) -> None:
    found: list[float] = []

    def look(ctx: Context, bar: Bar) -> None:
        ctx.target(BTC, quantity)
        found.append(ctx.liquidation_price(BTC))
        shown = session.positions()["liquidation_price"].get(BTC, NAN)
        assert found[-1] == shown or (found[-1] != found[-1] and shown != shown)

    live(look, session, [BTC], duration="3m", limits=Limits())
    assert session.positions()["side"].tolist() == [side]
    assert found[-1] == session.positions()["liquidation_price"].iloc[0] > 0


def trade_once(session: Any, price: str) -> None:
    """Trade with a counterparty at a price."""
    session.venue.control.add_liquidity(BTC, "SELL", price, "0.01")
    session.buy(BTC, "0.01", price=price, tif="IOC")


def test_an_agent_that_may_not_trade_is_named_before_the_first_bar() -> None:
    bars: list[Bar] = []
    with toolkit.connect(clock="manual", approve=False) as session:
        session.venue.advance("5m")
        with pytest.raises(WalletError, match=r"is not approved by account 0x.*\. Approve it with"):
            live(lambda ctx, bar: bars.append(bar), session, [BTC], duration="3m", limits=Limits())
        session.exchange.approve_agent(validity_seconds=60)
        session.venue.advance("5m")
        with pytest.raises(WalletError, match="is no longer approved"):
            live(lambda ctx, bar: bars.append(bar), session, [BTC], limits=Limits(), background=True)
        assert bars == []
        live(lambda ctx, bar: bars.append(bar), session, [BTC], duration="3m", limits=Limits(), dry_run=True)
        assert len(bars) == 3


def test_a_lost_connection_is_waited_for_and_then_stops_the_run(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"down": 0}
    healthy = RunState.read_candles

    def flaky(self: Any, *args: Any, **kwargs: Any) -> Any:
        answers["down"] += 1
        if answers["down"] in (3, 4) or answers["down"] > 6:
            raise NotSent("the network is gone")
        return healthy(self, *args, **kwargs)

    monkeypatch.setattr(RunState, "read_candles", flaky)
    seen: list[int] = []
    run = live(lambda ctx, bar: seen.append(bar.closed), session, [BTC], duration="30m", limits=Limits(max_stale=150))
    assert len(seen) == 5
    assert [b - a for a, b in itertools.pairwise(seen)] == [60_000] * 4
    assert run.events["kind"].tolist() == ["TRANSPORT", "TRANSPORT", "LIMIT"]


def test_an_error_of_the_strategy_ends_the_run_in_order(session: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(ctx: Context) -> None:
        ctx.buy(BTC, "0.01", "30000")
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError) as caught:
        ask({0: broken}, session)
    assert caught.value.__notes__[0].startswith("in Scripted at 2026-01-01 00:06")
    assert len(session.orders(open=True)) == 0
    assert "nothing is open" in capsys.readouterr().out


def test_a_dry_run_sends_nothing(session: Any) -> None:
    states: list[str] = []
    script = {
        0: lambda ctx: states.append(ctx.buy(BTC, "0.01").reason),
        1: lambda ctx: states.append(ctx.buy(BTC, "0.0001").reason),
    }
    run = ask(script, session, dry_run=True)
    assert states[0] == "dry run: not sent"
    assert "stepSize" in states[1]
    assert len(run.orders) == 0
    assert session.intents().query("action == 'placeOrder'").empty
    assert run.events["kind"].tolist() == ["DRY_RUN", "DRY_RUN", "END"]
    sent, refused = run.events["text"].tolist()[:2]
    assert sent == "BUY 0.01 BTCUSDC at market"
    assert refused.startswith("BUY 0.0001 BTCUSDC at market: ")


def test_a_run_in_the_background_is_killed_from_outside() -> None:
    with toolkit.connect(clock="real") as session:
        runner = live(Scripted({}), session, [BTC], limits=Limits(), poll="10ms", background=True)
        assert isinstance(runner, Runner)
        with pytest.raises(ToolkitError, match="has not ended"):
            runner.results()
        session.buy(BTC, "0.01", "30000")
        runner.kill(close=True)
        assert runner.results().events["kind"].tolist() == ["KILL"]
        assert len(session.orders(open=True)) == 0


def test_paper_needs_a_venue_of_this_process() -> None:
    session = toolkit.connect("testnet", account="0x" + "11" * 20)
    with pytest.raises(InputError, match="local venue in this process"):
        paper(Turning(), session=session)


def test_what_was_filled_before_the_run_is_not_counted_again(session: Any) -> None:
    session.buy(BTC, "0.01")
    seen: list[float] = []
    run: Any = live(lambda ctx, bar: seen.append(ctx.position(BTC)), session, [BTC], duration="2m", limits=Limits())
    assert seen == [0.01, 0.01]
    assert len(run.fills) == len(run.orders) == 0
    ask({0: lambda ctx: ctx.target(BTC, "0.02")}, session, close_at_end=True)
    following: Any = live(
        lambda ctx, bar: seen.append(ctx.position(BTC)), session, [BTC], duration="1m", limits=Limits()
    )
    assert seen[2:] == [0.0]
    assert len(following.fills) == len(following.orders) == 0


def test_both_sides_of_a_hedge_are_counted(session: Any) -> None:
    session.venue.control.set_position_mode(session.account, "HEDGE")
    session.buy(BTC, "0.03")
    session.sell(BTC, "0.01")
    seen: list[Any] = []
    script = {
        0: lambda ctx: seen.append((ctx.position(BTC), ctx.legs(BTC))),
        1: lambda ctx: ctx.sell(BTC, "0.02"),
        2: lambda ctx: seen.append((ctx.position(BTC), ctx.legs(BTC), ctx.close_position(BTC).order.side)),
        3: lambda ctx: seen.append((ctx.legs(BTC), ctx.close_position(BTC))),
    }
    run = ask(script, session)
    assert seen[0] == (pytest.approx(0.02), (0.03, -0.01))
    assert seen[1] == (0.0, (0.03, -0.03), "BUY_CLOSE_HEDGE")
    assert seen[2] == ((0.0, 0.0), None)
    assert len(session.positions()) == 0
    assert run.fills["side"].tolist() == ["SELL", "SELL_CLOSE_HEDGE", "BUY_CLOSE_HEDGE"]


def test_a_hedge_is_limited_by_both_legs_together_on_an_account_that_never_traded(session: Any) -> None:
    session.venue.control.set_position_mode(session.account, "HEDGE")

    def both(ctx: Context) -> None:
        for _ in range(10):
            ctx.buy(BTC, "0.01")
            ctx.sell(BTC, "0.01")

    last = session.klines(BTC, "1m")["close"].iloc[-1]
    run = ask({0: both}, session, limits=Limits(max_notional=0.045 * last))
    assert run.events["kind"].tolist()[0] == "LIMIT"
    assert session.positions()["size"].tolist() == [0.02, 0.02]


@pytest.mark.parametrize(
    "options", of_all([{"warm_up": 4}, {"step": "3m"}], quick=[{"step": "3m"}]), ids=["warm-up", "long steps"]
)
def test_bars_that_come_together_do_not_show_each_other(session: Any, options: dict[str, Any]) -> None:
    session.venue.advance("20m")
    seen: list[tuple[int, bool]] = []

    def look(ctx: Context, bar: Bar) -> None:
        latest = [int(ctx.bars(name).time[-1]) for name in ctx.symbols]
        seen.append((len(ctx.bars(bar.symbol)), latest == [bar.time] * 2 and ctx.price(bar.symbol) == bar.close))

    paper(look, [BTC, "ETHUSDC"], session=session, duration="6m", **options)
    assert seen == [(count, True) for count in range(1, 7 + options.get("warm_up", 0)) for _ in range(2)]


def test_a_symbol_without_an_answer_keeps_no_bar_of_another_from_the_strategy(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy, asked = RunState.read_candles, itertools.count()

    def flaky(self: Any, symbol: str, *args: Any, **kwargs: Any) -> Any:
        if symbol == "ETHUSDC" and next(asked) == 1:
            raise NotSent("the network is gone")
        return healthy(self, symbol, *args, **kwargs)

    monkeypatch.setattr(RunState, "read_candles", flaky)
    seen: list[tuple[str, int]] = []
    names = [BTC, "ETHUSDC"]
    limits = Limits(max_stale=500)
    live(lambda ctx, bar: seen.append((bar.symbol, bar.closed)), session, names, duration="4m", limits=limits)
    times = sorted({closed for _, closed in seen})
    assert seen == [(name, closed) for closed in times for name in names]
    assert len(times) == 4


def test_an_order_is_not_sent_twice_when_the_look_after_it_fails(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy, down = type(session).fills, [False]

    def flaky(self: Any, *args: Any, **kwargs: Any) -> Any:
        if down.pop():
            down.append(False)
            raise NotSent("the network is gone")
        down.append(False)
        return healthy(self, *args, **kwargs)

    monkeypatch.setattr(type(session), "fills", flaky)
    placed: list[OrderHandle] = []

    def once(ctx: Context, bar: Bar) -> None:
        if not placed:
            down[0] = True
            placed.append(ctx.buy(BTC, "0.01"))

    run: Any = live(once, session, [BTC], duration="3m", limits=Limits(max_stale=500))
    assert run.fills["quantity"].tolist() == [0.01]
    assert placed[0].state == "FILLED"
    assert run.events["kind"].tolist() == ["TRANSPORT", "END", "OPEN"]


def test_an_order_that_did_not_leave_is_refused_and_not_under_way(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(self: Any, order: Any) -> Any:
        raise NotSent("the network is gone")

    monkeypatch.setattr(type(session), "place", down)
    seen: list[Any] = []
    ask({0: lambda ctx: seen.extend([ctx.buy(BTC, "0.01"), ctx.underway(BTC)])}, session)
    assert (seen[0].state, seen[0].reason, seen[1]) == ("REJECTED", "the network is gone", 0.0)


def test_open_orders_count_against_the_largest_notional(session: Any) -> None:
    placed: list[OrderHandle] = []

    def grid(ctx: Context, bar: Bar) -> None:
        for part in ("0.9", "0.95", "0.99"):
            price = ctx.product(BTC).round_price(round(bar.close * float(part), 1), "down")
            placed.append(ctx.buy(BTC, "0.01", price))
        placed.append(ctx.sell(BTC, "0.02", ctx.product(BTC).round_price(round(bar.close * 1.1, 1), "down")))
        placed.append(ctx.buy(BTC, "0.01"))

    last = session.klines(BTC, "1m")["close"].iloc[-1]
    limits = Limits(max_notional=0.035 * last)
    run: Any = live(grid, session, [BTC], duration="5m", limits=limits)
    assert [bool(one) for one in placed] == [True] * 4
    assert run.events["kind"].tolist() == ["LIMIT"]


def test_without_a_price_the_largest_notional_can_not_be_held(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Eager(Strategy):
        def on_start(self, ctx: Context) -> None:
            ctx.buy(BTC, "0.01")

    monkeypatch.setattr(type(session), "klines", lambda self, *args, **kwargs: pd.DataFrame(columns=["close"]))
    run: Any = live(Eager(), session, [BTC], duration="5m", limits=Limits(max_notional=10**9))
    assert run.events["text"].iloc[0] == "BTCUSDC has no price, so BUY BTCUSDC can't be checked against max_notional"
    assert len(run.orders) == 0


@pytest.mark.parametrize(("most", "kinds"), [(501, ["END"]), (499, ["LIMIT"])])
def test_without_a_price_an_order_is_limited_by_its_own(
    session: Any, monkeypatch: pytest.MonkeyPatch, most: int, kinds: list[str]
) -> None:
    class Eager(Strategy):
        def on_start(self, ctx: Context) -> None:
            ctx.buy(BTC, "0.01", "50000")

    monkeypatch.setattr(type(session), "klines", lambda self, *args, **kwargs: pd.DataFrame(columns=["close"]))
    run: Any = live(Eager(), session, [BTC], duration="1m", limits=Limits(max_notional=most))
    assert run.events["kind"].tolist() == kinds
    assert run.orders["price"].tolist() == [50_000.0] * (kinds == ["END"])


@pytest.mark.parametrize("symbols", of_all([BTC, [BTC, BTC]], quick=[[BTC, BTC]]), ids=["one name", "the same twice"])
def test_symbols_may_be_one_name_and_count_once(session: Any, symbols: Any) -> None:
    seen: list[str] = []
    live(lambda ctx, bar: seen.append(bar.symbol), session, symbols, duration="2m", limits=Limits())
    assert seen == [BTC, BTC]


def test_a_lost_answer_is_settled_by_the_next_look(session: Any) -> None:
    session.venue.control.add_fault("lose-answer", action="placeOrder", count=None)
    seen: list[Any] = []
    act = {0: lambda ctx: seen.append(ctx.target(BTC, "0.01")), 2: lambda ctx: seen.append(ctx.target(BTC, "0.01"))}
    run = ask(act, session)
    assert run.fills["quantity"].tolist() == [0.01]
    assert (seen[0].state, seen[1]) == ("FILLED", None)


def test_what_others_paid_for_a_bankrupt_account_is_shown(session: Any) -> None:
    session.exchange.set_leverage(BTC, "40")

    def crash(ctx: Context) -> None:
        session.venue.control.set_oracle(BTC, "60300")  # further, and the position would be deleveraged

    run = ask({0: lambda ctx: ctx.buy(BTC, "5"), 1: crash}, session)
    assert "LIQUIDATION" in set(run.fills["type"])
    assert run.transfers["kind"].tolist() == ["BANKRUPTCY"]
    net = run.attribution.loc["TOTAL", "net"]
    assert net == pytest.approx(run.equity["equity"].iloc[-1] - run.equity["equity"].iloc[0], abs=1e-5)


def test_transfers_are_neither_profit_nor_loss(session: Any) -> None:
    script = {
        0: lambda ctx: ctx.buy(BTC, "0.01"),
        1: lambda ctx: session.exchange.withdraw(session.account, "3000"),
        3: lambda ctx: session.venue.control.fund(session.account, "9000"),
        4: lambda ctx: session.venue.control.set_oracle(BTC, "50000"),
    }
    run = ask(script, session, duration="9m", limits=Limits(max_loss=50))
    assert "equity fell by" in run.events["text"].iloc[0]
    assert run.growth.iloc[:5].between(9_980, 10_020).all()
    assert run.metrics()["total_return"] == pytest.approx(-0.0078, abs=0.0005)  # of 15,997 USDC by then
    assert run.equity["equity"].iloc[-1] > 15_000
    assert "(-0.79%)" in repr(run)


@pytest.mark.parametrize(("age", "sent"), [(None, 4), pytest.param("2h", 13, marks=pytest.mark.slow)])
def test_bars_that_waited_for_a_sleeping_computer_are_seen_and_not_traded_on(
    session: Any, age: str | None, sent: int
) -> None:
    seen: list[OrderHandle] = []

    def each(ctx: Context, bar: Bar) -> None:
        seen.append(ctx.buy(BTC, "0.001", "30000", tif="POST_ONLY"))
        if len(seen) == 1:
            session.venue.advance("10m")

    live(each, session, [BTC], duration="13m", limits=Limits(max_orders_per_minute=None), max_bar_age=age)
    assert len(seen) == 13
    assert sum(map(bool, seen)) == sent
    assert {one.reason for one in seen if not one} <= {"the bar is older than max_bar_age. Nothing is sent"}


@pytest.mark.parametrize("wrong", of_all([{"high": "1"}, {"close": "nan"}, {"volume": "-2"}], quick=[{"close": "nan"}]))
def test_a_bar_that_can_not_be_is_noted_and_left_out(
    session: Any, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, str]
) -> None:
    healthy, seen = RunState._rows, list[int]()

    changed = {name: Decimal(value) for name, value in wrong.items()}

    def damaged(self: RunState, endpoint: Endpoint[Any], **given: Any) -> Any:
        rows = healthy(self, endpoint, **given)
        bad = endpoint is KLINES
        return [structs.replace(row, **changed) if bad and row.time % 180_000 == 0 else row for row in rows]

    monkeypatch.setattr(RunState, "_rows", damaged)
    run: Any = live({"on_bar": lambda ctx, bar: seen.append(bar.time)}, session, [BTC], duration="6m", limits=Limits())
    assert len(seen) == 4
    assert all(time // 60_000 % 3 for time in seen)
    assert run.events["kind"].tolist() == ["BAD_BAR", "BAD_BAR", "END"]
    assert "open, high, low, close, volume are (" in run.events["text"].iloc[0]


@pytest.mark.parametrize(
    ("way", "closes"), [(1, "SELL"), pytest.param(-1, "BUY", marks=pytest.mark.slow)], ids=["long", "short"]
)
def test_the_take_profit_of_a_bracket_can_rest_as_a_maker(session: Any, way: int, closes: str) -> None:
    seen: list[tuple[str, str]] = []
    prices: list[float] = []

    def on_bar(ctx: Context, bar: Bar) -> None:
        prices.append(bar.close)
        moved = {2: 0.0022, 4: 0.004}.get(len(prices))
        if moved:
            session.venue.control.set_oracle(BTC, f"{prices[0] * (1 + way * moved):.1f}")
        if len(prices) == 1:
            trigger, limit, stop = (
                ctx.product(BTC).round_price(bar.close * (1 + way * ratio), "nearest")
                for ratio in (0.002, 0.0024, -0.02)
            )
            take = toolkit.orders.take_profit(BTC, closes, trigger, "0.01", limit, tif="POST_ONLY")
            ctx.bracket(BTC, "0.01" if way > 0 else "-0.01", take_profit=take, stop_loss=stop)

    strategy = {"on_bar": on_bar, "on_fill": lambda ctx, fill: seen.append((fill.side, fill.role))}
    live(strategy, session, [BTC], duration="10m", limits=Limits())
    assert seen[0] != (closes, "TAKER")
    assert set(seen[1:]) == {(closes, "MAKER")}


def test_orders_that_are_refused_come_back(session: Any) -> None:
    seen: list[OrderHandle] = []
    script = {
        0: lambda ctx: seen.append(ctx.buy(BTC, "0.0001")),
        1: lambda ctx: seen.append(ctx.sell(BTC, "0.1", reduce_only=True)),
        2: lambda ctx: seen.append(ctx.buy(BTC, "10")),
    }
    run = ask(script, session)
    assert [placed.state for placed in seen] == ["REJECTED"] * 3
    for placed, part in zip(seen, ("stepSize", "no long position", "initial margin"), strict=True):
        assert part in placed.reason
    assert run.events["kind"].tolist().count("REJECTED") == 3


def test_paper_settles_the_funding_and_lists_the_products_of_a_history() -> None:
    """Of the settlements at 04:00, 08:00 and 12:00 two have a rate, one of them a few ms late. Another has no place."""
    index = pd.date_range("2024-03-01 03:00", periods=10, freq="h", tz="UTC")
    stamps = [index[1] + pd.Timedelta("13ms"), index[9], index[2]]
    rates = pd.Series([0.0003, -0.0002, 0.0001], pd.DatetimeIndex(stamps))
    coarse = {"step_size": "0.01", "tick_size": "0.5", "taker_fee_rate": "0.001"}
    given = History({BTC: pd.DataFrame({"close": 60_000.0}, index)}, {BTC: rates}, {BTC: coarse})

    def begin(ctx: Context) -> None:
        ctx.buy(BTC, "0.5")

    with pytest.warns(UserWarning, match="1 funding rates are at no settlement of its product, which has one each 4 h"):
        run = paper({"on_start": begin}, given)
    assert run.funding["rate"].tolist() == [0.0003, -0.0002]
    assert run.funding["time"].tolist() == [index[1], index[9]]
    assert run.funding["payment"].iloc[0] == pytest.approx(-0.5 * 60_000 * 0.0003, rel=0.01)
    taken = run.fills[run.fills["role"] == "TAKER"]
    assert taken["fee"].sum() / taken["value"].sum() == pytest.approx(0.001)
    assert run.reconcile().at["fees", "amount"] == pytest.approx(0.0), "its backtest has the same products"


def test_paper_takes_a_history_or_a_session_in_place_of_symbols() -> None:
    seen: list[tuple[str, int]] = []
    closes: list[float] = []
    told = [2_000.0, 2_010.0, 1_980.0, 2_050.0]
    bars = pd.DataFrame({"close": told}, pd.date_range("2020-01-01", periods=4, freq="5min", tz="UTC"))

    def on_bar(ctx: Context, bar: Bar) -> None:
        seen.append((bar.symbol, (bar.closed - bar.time) // 60_000))
        closes.append(bar.close)

    paper(on_bar, History({"ETHUSDC": bars}))
    assert set(seen) == {("ETHUSDC", 5)}
    assert closes == pytest.approx(told, rel=2e-3), "the market follows the candles"
    with pytest.raises(InputError, match="give replay or a History, not both"):
        paper(on_bar, History({"ETHUSDC": bars}), replay={})
    with toolkit.connect(clock="manual") as session:
        paper({"on_bar": on_bar}, session, duration="2m")
    assert seen[-1] == (BTC, 1)
