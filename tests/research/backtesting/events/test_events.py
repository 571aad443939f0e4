"""A strategy on recorded books and trades knows what has reached it, and is filled as its queue model says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit.errors import InputError
from toolkit.orders import stop
from toolkit.research import Strategy, backtest
from toolkit.research.context import Context
from toolkit.research.data.event_array import Kind
from toolkit.research.data.events import Events
from toolkit.research.market_data import BookSnapshot, Trade

from .recorded import MS, START, events_of, fills_of, naive_fill, random_market

DEPTH, TRADE = Kind.DEPTH, Kind.TRADE
BOOK = [(0, DEPTH, 1, 60000.0, 0.05), (0, DEPTH, 1, 59999.0, 0.5), (0, DEPTH, -1, 60001.0, 0.05),
        (0, DEPTH, -1, 60002.0, 0.5)]  # fmt: skip
END = (5000, DEPTH, 1, 50000.0, 1.0)


class Once(Strategy):
    """Calls its orders in on_start: (side, quantity, price, options)."""

    timer_ms = 1000
    orders: Any = ()

    def on_start(self, ctx: Any) -> None:
        self.seen = ctx.seen = []
        for side, quantity, price, options in self.orders:
            (ctx.buy if side > 0 else ctx.sell)("BTCUSDC", quantity, price, **options)

    def on_timer(self, ctx: Any) -> None:
        """Nothing: its presence makes this a strategy on events."""

    def on_fill(self, ctx: Any, fill: Any) -> None:
        ctx.record(known=ctx.now, filled=fill.time, position=ctx.position("BTCUSDC"))


def run(events: Events, *orders: Any, **settings: Any) -> Any:
    return backtest(Once(orders=orders), {"BTCUSDC": events}, funding=None, **settings)


MAKER = {"tif": "POST_ONLY"}


@pytest.mark.parametrize("power", [None, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(2))
def test_resting_orders_are_filled_when_a_plain_replay_fills_them(seed: int, power: float | None) -> None:
    events = random_market(seed)
    rng = np.random.default_rng(seed)
    placed: list[tuple[int, int, int, Any]] = []

    class Random(Strategy):
        timer_ms = 250

        def on_timer(self, ctx: Any) -> None:
            book = ctx.book("BTCUSDC")
            for handle in ctx.orders():
                if rng.random() < 0.3:
                    ctx.cancel(handle)
                    cancels.setdefault(handle.cl_ord_id, (ctx.now + 3) * MS)
            side = int(rng.choice([1, -1]))
            best = (book.bids if side > 0 else book.asks)[0][0]
            price = round(best * 10) - side * int(rng.integers(0, 3))
            send = ctx.buy if side > 0 else ctx.sell
            placed.append((side, price, (ctx.now + 3) * MS, send("BTCUSDC", "0.001", f"{price / 10:.1f}", **MAKER)))

    cancels: dict[int, int] = {}
    queue = "risk-averse" if power is None else f"power:{power}"
    backtest(Random(), {"BTCUSDC": events}, latency=("3ms", "2ms"), queue=queue, funding=None)
    filled = 0
    for side, price, arrives, handle in placed:
        if handle.state in ("REJECTED", "SENT"):
            continue
        expected = naive_fill(events, side, price, arrives, cancels.get(handle.cl_ord_id, 1 << 62), power)
        assert (handle.filled > 0) == bool(expected), (side, price, arrives - START, expected, handle)
        filled += bool(expected)
    assert filled > 2


def test_an_order_takes_its_latency_there_and_its_answer_back() -> None:
    events = events_of(*BOOK, END)
    result = run(events, (1, "0.01", None, {}), latency=("30ms", "20ms"))
    assert fills_of(result) == [(30, "BUY", 60001.0, 0.01)]
    assert result.records["known"].tolist() == [START // MS + 50]
    assert result.records["position"].tolist() == [0.01]


def test_the_feed_has_its_recorded_delay_or_a_given_one() -> None:
    class Books(Strategy):
        def on_book(self, ctx: Any, book: BookSnapshot) -> None:
            ctx.record(bid=book.bids[0][0])

    rows = [*BOOK, (100, DEPTH, 1, 60000.5, 1.0), END]
    for settings, delay in (({}, 40), ({"feed_latency": "7ms"}, 7)):
        seen = backtest(Books(), {"BTCUSDC": events_of(*rows, feed_ms=40)}, funding=None, **settings).records
        assert [stamp.value // MS - START // MS for stamp in seen.index] == [delay, 100 + delay, 5000 + delay]
        assert seen["bid"].tolist() == [60000.0, 60000.5, 60000.5]


def test_every_trade_and_every_change_of_the_book_arrive_in_order() -> None:
    events = random_market(3)
    seen: list[tuple[int, str]] = []

    class Watcher(Strategy):
        def on_book(self, ctx: Any, book: BookSnapshot) -> None:
            assert book.bids[0][0] < book.asks[0][0]
            seen.append((ctx.now, "book"))

        def on_trade(self, ctx: Any, trade: Trade) -> None:
            seen.append((ctx.now, "trade"))

    backtest(Watcher(), {"BTCUSDC": events}, funding=None)
    assert [time for time, _ in seen] == sorted(time for time, _ in seen)
    assert sum(kind == "trade" for _, kind in seen) == events.counts()["trade"]
    book = events.of(Kind.DEPTH)["exchange_ns"]
    assert sum(kind == "book" for _, kind in seen) == len(np.unique(book))


def test_taking_walks_the_recorded_levels() -> None:
    result = run(events_of(*BOOK, END), (1, "0.1", None, {}))
    assert fills_of(result) == [(0, "BUY", 60001.0, 0.05), (0, "BUY", 60002.0, 0.05)]
    assert set(result.fills["role"]) == {"TAKER"}
    assert result.fills["fee"].sum() == pytest.approx((0.05 * 60001 + 0.05 * 60002) * 0.0006, abs=1e-5)


def test_impact_leaves_a_hole_that_fills_again() -> None:
    class Twice(Strategy):
        timer_ms = 1000

        def on_timer(self, ctx: Any) -> None:
            if ctx.now in (START // MS + 1000, START // MS + 2000, START // MS + 4000):
                ctx.record(left=sum(quantity for _, quantity in ctx.book("BTCUSDC", 1).asks))
                ctx.buy("BTCUSDC", "0.04", "60001", tif="IOC")

    events = events_of(*BOOK, END)
    without = backtest(Twice(), {"BTCUSDC": events}, funding=None)
    with_impact = backtest(Twice(), {"BTCUSDC": events}, funding=None, impact="1s")
    assert without.fills["quantity"].tolist() == [0.04, 0.04, 0.04]
    assert with_impact.fills["quantity"].tolist() == pytest.approx([0.04, 0.03, 0.038])
    assert with_impact.records["left"].tolist() == pytest.approx([0.05, 0.03, 0.038])


def test_fills_in_parts_and_whole() -> None:
    rows = [*BOOK, (100, TRADE, -1, 60000.0, 0.053), (200, TRADE, -1, 60000.0, 0.1), END]
    order = (1, "0.01", "60000", MAKER)
    assert fills_of(run(events_of(*rows), order)) == [(100, "BUY", 60000.0, 0.01)]
    parts = run(events_of(*rows), order, partial_fills=True)
    assert fills_of(parts) == [(100, "BUY", 60000.0, 0.003), (200, "BUY", 60000.0, 0.007)]
    assert parts.orders["status"].tolist() == ["FILLED"]


def test_what_comes_right_after_a_fill_in_part_fills_the_rest() -> None:
    rows = [*BOOK, (100, TRADE, -1, 60000.0, 0.053), (101, DEPTH, -1, 60000.0, 1.0), END]
    parts = run(events_of(*rows), (1, "0.01", "60000", MAKER), partial_fills=True)
    assert fills_of(parts) == [(100, "BUY", 60000.0, 0.003), (101, "BUY", 60000.0, 0.007)]


def test_a_post_only_order_that_would_take_is_rejected_and_one_through_the_book_takes() -> None:
    result = run(events_of(*BOOK, END), (1, "0.01", "60001", MAKER), (1, "0.06", "60001", {"tif": "GTC"}))
    assert result.orders["status"].tolist() == ["REJECTED", "FILLED"]
    # without impact the next message still offers what the order took, so that its rest is filled then
    assert fills_of(result) == [(0, "BUY", 60001.0, 0.05), (5000, "BUY", 60001.0, 0.01)]


def test_a_book_that_comes_to_an_order_fills_it() -> None:
    rows = [*BOOK, (100, DEPTH, 1, 60000.0, 0.0), (101, DEPTH, -1, 59999.5, 1.0), END]
    assert fills_of(run(events_of(*rows), (1, "0.01", "60000", MAKER))) == [(101, "BUY", 60000.0, 0.01)]


def test_a_stop_sees_every_trade_and_closes_in_the_recorded_book() -> None:
    rows = [*BOOK, (500, TRADE, -1, 59990.0, 0.001), (500.5, TRADE, 1, 60001.0, 0.001), END]
    exit_order = stop("BTCUSDC", "SELL", "59995", trigger_by="LAST_PRICE")
    result = run(events_of(*rows), (1, "0.01", None, {"sl": exit_order}))
    assert fills_of(result) == [(0, "BUY", 60001.0, 0.01), (500, "SELL", 60000.0, 0.01)]


def test_a_position_beyond_its_margin_is_liquidated_in_the_recorded_book() -> None:
    gone = [(3500, DEPTH, side, price, 0.0) for _, _, side, price, _ in BOOK]
    fall = [*gone, (3500, DEPTH, 1, 58800.0, 5.0), (3500, DEPTH, -1, 58801.0, 5.0)]
    later = (12000, DEPTH, 1, 50000.0, 1.0)
    result = run(events_of(*BOOK, *fall, later), (1, "0.3", None, {}), capital=500, leverage=40)
    assert result.fills["type"].tolist()[-1] == "LIQUIDATION"
    assert result.positions.iloc[-1].tolist() == [0.0]


def test_funding_is_settled_as_given() -> None:
    hour = 3_600_000
    offset = (-(START // MS)) % (4 * hour)
    rows = [*BOOK, (offset + 10, DEPTH, 1, 50000.0, 1.0), (offset + 5000, DEPTH, 1, 50000.0, 2.0)]
    strategy = Once(orders=((1, "0.01", None, {}),), timer_ms=hour)
    result = backtest(strategy, {"BTCUSDC": events_of(*rows)}, funding=0.001)
    assert result.funding["payment"].tolist() == pytest.approx([-0.01 * 60000.5 * 0.001], abs=1e-5)


def test_funding_may_be_a_frame_of_rates_or_recorded_and_each_settlement_has_its_own() -> None:
    hour = 3_600_000
    first = (-(START // MS)) % (4 * hour)
    book = [*BOOK, (first + 4 * hour + 5000, DEPTH, 1, 50000.0, 2.0)]
    strategy = Once(orders=((1, "0.01", None, {}),), timer_ms=hour)

    def rates(events: Events, **settings: Any) -> list[float]:
        return backtest(strategy, {"BTCUSDC": events}, **settings).funding["rate"].tolist()

    rows = [(10, Kind.FUNDING, 0, 0.001, 0.0), (first + hour, Kind.FUNDING, 0, -0.002, 0.0)]
    recorded = events_of(*sorted([*book, *rows], key=lambda row: row[0]))
    assert rates(recorded) == pytest.approx([0.001, -0.002])
    assert rates(recorded, funding=0.0005) == pytest.approx([0.0005, 0.0005])
    times = pd.to_datetime([START // MS + first, START // MS + first + 4 * hour] * 2, unit="ms", utc=True)
    symbols = ["BTCUSDC", "BTCUSDC", "ETHUSDC", "ETHUSDC"]
    frame = pd.DataFrame({"time": times, "symbol": symbols, "rate": [0.001, 0.003, 0.0, 0.0]})
    assert rates(events_of(*book), funding=frame) == pytest.approx([0.001, 0.003])
    with pytest.raises(InputError, match="the columns time and rate, but it has no rate"):
        rates(events_of(*book), funding=frame[["time"]])


def test_measured_latency_is_interpolated() -> None:
    times = pd.to_datetime([START // MS, START // MS + 1000], unit="ms", utc=True)
    table = pd.DataFrame({"sent": times, "arrived": times + pd.to_timedelta([10, 110], unit="ms")})
    table["answered"] = table["arrived"] + pd.Timedelta("5ms")

    class Timed(Strategy):
        timer_ms = 500

        def on_timer(self, ctx: Any, now: int) -> None:
            if now == START // MS + 500:
                ctx.buy("BTCUSDC", "0.001")

    result = backtest(Timed(), {"BTCUSDC": events_of(*BOOK, END)}, latency=table, funding=None)
    assert fills_of(result) == [(560, "BUY", 60001.0, 0.001)]


def test_a_run_repeats_itself_and_the_shared_books_stay_as_they_are() -> None:
    events = random_market(1)
    first, again = (run(events, (1, "0.002", "59999.5", MAKER), latency="2ms") for _ in range(2))
    pd.testing.assert_frame_equal(first.fills, again.fills)
    pd.testing.assert_frame_equal(first.equity, again.equity)


def test_best_prices_alone_are_a_book_too() -> None:
    prices = [(0, 1, 60000.0), (0, -1, 60001.0), (200, 1, 59990.0), (200, -1, 59991.0), (900, 1, 59990.0)]
    quotes = [(ms, Kind.QUOTE, side, price, 0.5) for ms, side, price in prices]
    result = run(events_of(*quotes), (1, "0.01", "59995", MAKER))
    assert fills_of(result) == [(200, "BUY", 59995.0, 0.01)]


def test_a_finer_recording_than_the_venue_sets_the_steps() -> None:
    rows = [(ms, kind, side, price + 0.05, quantity) for ms, kind, side, price, quantity in [*BOOK, END]]
    array = events_of(*rows).array
    events = Events(array, symbol="BTCUSDC")
    assert fills_of(run(events, (1, "0.01", None, {}))) == [(0, "BUY", 60001.05, 0.01)]
    with pytest.raises(InputError, match="prices of the events are multiples of"):
        run(events, products={"BTCUSDC": {"tick_size": "0.1"}})


def test_settings_say_how_the_run_was_made_and_wrong_ones_what_would_pass() -> None:
    events = events_of(*BOOK, END)
    settings = run(events, latency=("10ms", "5ms"), queue="log").settings
    assert (settings["latency"], settings["queue"], settings["feed_latency"]) == ("(10 ms, 5 ms)", "log", "recorded")
    for wrong, text in (
        ({"queue": "first"}, "Give risk-averse, power:2, log"),
        ({"queue": "power:-1"}, "Give risk-averse"),
        ({"queue": None}, "Give risk-averse"),
        ({"slippage": 0.001}, "slippage is a setting of runs on bars"),
        ({"interval": "0s"}, "interval is '0s', but must be 1 ms or more"),
        ({"impact": "soon"}, "[Gg]ive a timedelta$"),
        ({"latency": ("10ms", None)}, "latency None is not a span"),
        ({"latency": ("10ms", "soon")}, "is not a span"),
        ({"latency": -1}, "is not a span"),
        ({"latency": pd.DataFrame({"sent": [1]})}, "has no arrived, answered"),
    ):
        with pytest.raises(InputError, match=text):
            run(events, **wrong)
    late = events_of(*(END for _ in range(9)), feed_ms=60_001)
    with pytest.raises(InputError, match=r"100% of the events were received more than a minute .* Give feed_latency="):
        run(late)
    assert len(run(late, feed_latency="10ms").equity)
    with pytest.raises(InputError, match="have no order book"):
        run(events_of((0, TRADE, 1, 1.0, 1.0)))


def test_a_post_only_order_is_refused_where_it_would_match_an_order_of_its_own_account() -> None:
    quotes = [(0, Kind.DEPTH, 1, 60_000.0, 1.0), (0, Kind.DEPTH, -1, 60_001.0, 1.0)]
    data = events_of(*quotes, *((100.0 * at, Kind.DEPTH, 1, 59_990.0, at / 10) for at in range(1, 9)))
    placed: list[Any] = []

    def on_book(ctx: Context, book: BookSnapshot) -> None:
        if len(placed) < 2:
            side = ctx.sell if placed else ctx.buy
            placed.append(side("BTCUSDC", "0.1", 60_000.5, tif="POST_ONLY"))

    backtest({"on_book": on_book}, {"BTCUSDC": data})
    assert [order.state for order in placed] == ["NEW", "REJECTED"]
    assert "POST_ONLY at 60000.5 would match the best bid 60000.5" in placed[1].reason


def test_orders_of_which_one_cancels_the_other_do_so_and_all_legs_of_a_bracket_are_listed() -> None:
    class Both(Strategy):
        timer_ms = 100
        calls = 0

        def on_timer(self, ctx: Any) -> None:
            self.calls += 1
            if self.calls == 1:
                ctx.one_cancels_other(
                    ctx.buy("BTCUSDC", "0.01", "60002"),  # takes from the book
                    ctx.buy("BTCUSDC", "0.01", "59000"),
                    ctx.sell("BTCUSDC", "0.01", "61000"),
                )
                ctx.buy("BTCUSDC", "0.01", "59500", tp="61000", sl="59000")
            ctx.record(open=len(ctx.orders()))

    result = backtest(Both(), {"BTCUSDC": events_of(*BOOK, END)}, funding=None, latency=("10ms", "10ms"))
    first = result.orders.sort_values("order_id").head(3)
    assert sorted(first["status"]) == ["CANCELED", "CANCELED", "FILLED"]
    assert result.records["open"].tolist()[:3] == [6, 3, 3], "the entry of the bracket with its two legs stays"


@pytest.mark.parametrize(
    ("change", "filled_at"),
    [({"quantity": "0.005"}, 100), ({"quantity": "0.02"}, 200), ({"price": "59999"}, 300), ({"price": "60001"}, 40)],
)
def test_a_changed_order_keeps_its_place_only_at_the_same_price_with_no_more_quantity(
    change: dict[str, str], filled_at: int
) -> None:
    before = (12, DEPTH, 1, 60000.0, 0.15)  # 0.1 came behind the order, before it was changed
    trades = [(100, TRADE, -1, 60000.0, 0.06), (101, DEPTH, 1, 60000.0, 0.1), (200, TRADE, -1, 60000.0, 0.2)]
    rows = [*BOOK, before, *trades, (300, TRADE, -1, 59990.0, 0.01), END]

    class Change(Strategy):
        timer_ms = 30

        def on_start(self, ctx: Any) -> None:
            self.order = ctx.buy("BTCUSDC", "0.01", "60000")

        def on_timer(self, ctx: Any) -> None:
            if ctx.now == START // MS + 30:
                ctx.modify(self.order, **change)
            ctx.record(price=float(self.order.order.price), quantity=float(self.order.order.quantity))

    result = backtest(Change(), {"BTCUSDC": events_of(*rows)}, latency=("10ms", "45ms"), funding=None)
    [(time, _, _, quantity)] = fills_of(result)
    assert (time, quantity) == (filled_at, float(change.get("quantity", "0.01")))
    assert len(result.orders) == 1
    known = [float(change.get(name, start)) for name, start in (("price", "60000"), ("quantity", "0.01"))]
    assert [tuple(row) for row in result.records.to_numpy()[[1, 2]]] == [(60000.0, 0.01), tuple(known)]


def test_a_change_that_is_refused_leaves_the_order_and_is_noted() -> None:
    class Change(Strategy):
        def on_start(self, ctx: Any) -> None:
            self.order = ctx.buy("BTCUSDC", "0.01", "60000")
            ctx.modify(self.order, quantity="0.0000001")
            with pytest.raises(InputError, match="price"):
                ctx.modify(self.order, price="high")

        def on_timer(self, ctx: Any) -> None:
            assert (self.order.state, self.order.order.quantity) == ("NEW", "0.01")
            ctx.modify(self.order)

    result = backtest(Change(), {"BTCUSDC": events_of(*BOOK, END)}, funding=None)
    assert result.orders["status"].tolist() == ["NEW"]
    assert list(result.events["kind"]) == ["REJECTED"]
    assert "stays as it is" in result.events["text"].iloc[0]


def test_at_one_instant_the_exchange_comes_first_then_answers_then_the_feed_then_timers() -> None:
    seen: list[str] = []

    class Ties(Strategy):
        timer_ms = 10

        def on_start(self, ctx: Any) -> None:
            ctx.buy("BTCUSDC", "0.01", "60000")  # arrives at 10 ms, with the trade, which is before it

        def on_timer(self, ctx: Any) -> None:
            seen.append(f"{ctx.now - START // MS} timer, {ctx.orders()[0].state if ctx.orders() else 'none'}")

        def on_trade(self, ctx: Any, trade: Trade) -> None:
            seen.append(f"{ctx.now - START // MS} trade")

        def on_fill(self, ctx: Any, fill: Any) -> None:
            seen.append(f"{ctx.now - START // MS} fill of {fill.time - START // MS}")

    trades = [(ms, TRADE, -1, 59999.0, 0.001) for ms in (10, 20, 30)]
    events = events_of(*BOOK, *trades, (35, DEPTH, 1, 50000.0, 1.0))
    backtest(Ties(), {"BTCUSDC": events}, latency=("10ms", "10ms"), funding=None)
    assert seen == ["10 trade", "10 timer, SENT", "20 trade", "20 timer, NEW", "30 fill of 20", "30 trade",
                    "30 timer, none"]  # fmt: skip


def test_requests_and_answers_keep_their_order_where_the_latency_falls() -> None:
    times = pd.to_datetime([START // MS, START // MS + 20], unit="ms", utc=True)
    table = pd.DataFrame({"sent": times, "arrived": times + pd.to_timedelta([50, 1], unit="ms")})
    table["answered"] = table["arrived"]  # a cancellation sent at 11 ms would take 23 ms, the order 50 ms

    class Two(Strategy):
        timer_ms = 11

        def on_start(self, ctx: Any) -> None:
            self.first = ctx.buy("BTCUSDC", "0.01", "59999")

        def on_timer(self, ctx: Any) -> None:
            if ctx.now == START // MS + 11:
                ctx.cancel(self.first)

    result = backtest(Two(), {"BTCUSDC": events_of(*BOOK, END)}, latency=table, funding=None)
    assert result.orders["status"].tolist() == ["CANCELED"]
    with pytest.raises(InputError, match="arrives before"):
        backtest(Two(), {"BTCUSDC": events_of(*BOOK, END)}, latency=table.assign(answered=times), funding=None)


class Bars(Strategy):
    """Notes the bars that it receives, and what it knows of those before."""

    def on_start(self, ctx: Any) -> None:
        self.means = self.I(lambda closes: pd.Series(closes).rolling(2).mean())

    def on_bar(self, ctx: Any, bar: Any) -> None:
        known = ctx.bars(bar.symbol).close.tolist()
        ctx.record(opened=bar.time, late=ctx.now - bar.closed, close=bar.close, volume=bar.volume)
        ctx.record(mean=self.means.value, known=len(known), last=known[-1])

    def on_bars(self, ctx: Any, bars: Any) -> None:
        ctx.record(together=len(bars))


@pytest.mark.parametrize("feed", [{}, {"feed_latency": "30ms"}], ids=["recorded", "given"])
def test_a_strategy_on_bars_runs_on_events_and_sees_each_bar_once_its_trades_have_arrived(feed: Any) -> None:
    trades = [(100.0, 60_000.5, 0.01), (900.0, 60_000.0, 0.02), (1000.0, 60_001.0, 0.03), (3500.0, 60_002.0, 0.04)]
    rows = [(ms, TRADE, 1, price, quantity) for ms, price, quantity in trades]
    events = events_of(*BOOK, *rows, (5000, DEPTH, 1, 59_998.0, 1.0), feed_ms=150)
    made: Any = backtest(Bars(), {"BTCUSDC": events}, interval="1s", funding=None, **feed)
    seen = made.records
    base = START // MS
    assert (seen["opened"].dropna() - base // 1000 * 1000).tolist() == [0, 1000, 2000, 3000, 4000]
    wanted = events.bars("1s")
    traded = seen[seen["volume"] > 0]
    assert traded["close"].tolist() == wanted["close"].tolist()
    assert traded["volume"].tolist() == wanted["volume"].tolist()
    quiet = seen[seen["volume"] == 0]
    assert quiet["close"].tolist() == [60_001.0, 60_002.0]  # flat at the last close
    assert seen["late"].dropna().tolist() == ([30] * 5 if feed else [50, 0, 0, 0, 0])
    assert seen["known"].dropna().tolist() == [1, 2, 3, 4, 5]
    assert seen["mean"].dropna().tolist() == [60_000.5, 60_001.0, 60_001.5, 60_002.0]
    assert seen["together"].dropna().tolist() == [1] * 5


def test_without_bars_their_history_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r'there are no bars in this backtest on events\. Give interval="1m"'):
        backtest({"on_timer": lambda ctx: ctx.bars()}, {"BTCUSDC": events_of(*BOOK, END)})
