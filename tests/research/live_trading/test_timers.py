"""A strategy of books and timers runs unchanged on events, on the local venue and over a served one's wire."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toolkit
from tests.research.backtesting.events.recorded import MS, START, random_market
from toolkit.errors import InputError
from toolkit.limits import Limits
from toolkit.research import Strategy, backtest, live, paper
from toolkit.research.data.events import Events
from toolkit.venue.local import LocalVenue

NO_LIMITS = Limits(max_orders_per_minute=None)


class Maker(Strategy):
    """Quotes at the best prices where it does not rest already, each 100 ms, up to a position."""

    symbols = ("BTCUSDC",)
    size, limit, timer_ms = "0.01", 0.05, 100

    def on_timer(self, ctx: Any) -> None:
        book, position = ctx.book(depth=10), ctx.position("BTCUSDC")
        # a venue's book holds the strategy's own orders, a recorded one does not
        own = {float(order.order.price) for order in ctx.orders()}
        bids, asks = ([price for price, _ in side if price not in own] for side in (book.bids, book.asks))
        ctx.record(bid=bids[0], ask=asks[0], position=position)
        for order in ctx.orders()[:-3]:
            ctx.cancel(order)
        for side, price, room in (("BUY", bids[0], self.limit - position), ("SELL", asks[0], self.limit + position)):
            if room > 0 and len(ctx.records) % 2:
                ctx.place(toolkit.orders.limit("BTCUSDC", side, self.size, f"{price:.1f}", tif="POST_ONLY"))


def whole_ms(seed: int) -> Events:
    """Return a random market whose times are whole ms, between two timers."""
    array = random_market(seed).array.copy()
    for name in ("exchange_ns", "local_ns"):
        times = array[name] // MS - START // MS
        array[name] = (times + (times % 100 == 0)) * MS + START
    return Events(array[array["exchange_ns"] < START + 3500 * MS], symbol="BTCUSDC")


@pytest.mark.slow
def test_the_same_maker_has_the_same_fills_on_events_and_on_their_replay() -> None:
    events = whole_ms(1)
    tested = backtest(Maker(), {"BTCUSDC": events}, partial_fills=True, funding=None)
    with LocalVenue(replay=events, clock="manual") as venue, toolkit.connect(venue=venue) as session:
        run = paper(Maker(), session=session, duration="3s", step="1s", limits=NO_LIMITS)
        assert venue.host.core.violations() == []
    fills = tested.fills[tested.fills["time"] <= run.equity.index[-1]]
    columns = ["time", "side", "price", "quantity"]
    assert len(fills) > 10
    assert run.fills[columns].to_numpy().tolist() == fills[columns].to_numpy().tolist()
    count = min(len(run.records), len(tested.records)) - 1
    assert count > 25
    both = [one.records.iloc[1 : count + 1] for one in (run, tested)]
    assert np.array_equal(both[0].to_numpy(), both[1].to_numpy())
    assert both[0].index.tolist() == both[1].index.tolist()


def test_a_timer_of_a_real_clock_runs_between_the_polls_over_the_wire() -> None:
    class Counting(Strategy):
        timer_ms = 50

        def on_start(self, ctx: Any) -> None:
            ctx.set_timer(20)

        def on_timer(self, ctx: Any, now: int) -> None:
            book = ctx.book(depth=25)
            if book.bids:
                assert book.bids[0][0] < book.asks[0][0]
                assert len(book.bids) <= 25
                ctx.record(now=now)
            if len(ctx.records) >= 5:
                ctx.stop("seen enough")

    with (
        LocalVenue(seed=3, speed=5) as venue,
        venue.serve() as served,
        toolkit.connect(base_url=served.base_url, account=1) as session,
    ):
        session.exchange.approve_agent(validity_seconds=86400)
        run = live(Counting(), session, ["BTCUSDC"], limits=Limits(), poll="30s", duration="10m")
    assert run.events["text"].tolist()[-1] == "seen enough"
    stamps = run.records["now"].tolist()
    assert len(stamps) == 5
    assert np.diff(stamps).min() > 0
    assert stamps[-1] - stamps[0] > 3 * 20


def test_while_the_feed_is_lost_the_book_is_empty() -> None:
    seen: list[tuple[bool, bool]] = []

    class Looking(Strategy):
        timer_ms = 1000

        def on_timer(self, ctx: Any) -> None:
            seen.append((bool(ctx.book().bids), lost[0]))

    lost = [False]
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as session:
        paper(Looking(), session=session, duration="3s")
        lost[0] = True
        with venue.control.add_fault("feed-cut", count=None):
            paper(Looking(), session=session, duration="3s")
    assert {has for has, cut in seen if not cut} == {True}
    assert {has for has, cut in seen if cut} == {False}


def test_a_timer_needs_time_and_bars_have_no_book() -> None:
    class Wrong(Strategy):
        def on_bar(self, ctx: Any, bar: Any) -> None:
            with pytest.raises(InputError, match="not above 0"):
                ctx.set_timer(0)
            ctx.book()

    bars = random_market(1).bars("1s")
    with pytest.raises(InputError, match=r"bars have no book\. Give the backtest Events"):
        backtest(Wrong(), {"BTCUSDC": bars}, funding=None)
