"""After every command, live objects equal the engine's book and the Info API."""

from __future__ import annotations

import json
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.venue.traders import Trader
from toolkit.client.stream.live import Live
from toolkit.client.stream.stream import Stream
from toolkit.protocol.reads.feed import RECENT
from toolkit.venue.api import records
from toolkit.venue.local import LocalVenue

DEPTHS = (1, 3, 20)

steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("place"), st.integers(0, 2), st.sampled_from(("BUY", "SELL")), st.integers(-6, 6), st.integers(1, 9)
        ),
        st.tuples(
            st.just("market"), st.integers(0, 2), st.sampled_from(("BUY", "SELL")), st.just(0), st.integers(1, 9)
        ),
        st.tuples(st.just("cancel"), st.integers(0, 2), st.just(""), st.integers(0, 20), st.just(0)),
        st.tuples(st.just("advance"), st.just(0), st.just(""), st.integers(1, 200), st.just(0)),
        st.tuples(
            st.just("reduce"), st.just(0), st.sampled_from(("BUY", "SELL")), st.integers(-6, 6), st.integers(1, 9)
        ),
        st.tuples(st.just("leap"), st.just(0), st.just(""), st.integers(1, 5), st.just(0)),
        st.tuples(st.just("oracle"), st.just(0), st.just(""), st.integers(-40, 40), st.just(0)),
        st.tuples(st.just("big"), st.integers(1, 2), st.sampled_from(("BUY", "SELL")), st.just(0), st.integers(1, 9)),
        st.tuples(st.just("revert"), st.just(0), st.just(""), st.just(0), st.just(0)),
    ),
    max_size=25,
)


class Watch:
    """A venue, three traders, and a stream that listens to everything about the first."""

    def __init__(self) -> None:
        self.venue = LocalVenue(clock="manual", market=False, accounts=3)
        self.traders = [Trader(self.venue, index) for index in range(3)]
        self.orders: list[tuple[int, int]] = []
        self.kept, self.reverted = self.venue.snapshot(), False
        address = self.traders[0].address
        self.stream = Stream(SimpleNamespace(_local=self.venue, environment=None, account=address))
        self.books = [self.stream.order_book("BTCUSDC", depth) for depth in DEPTHS]
        self.trades = self.stream.trades("BTCUSDC")
        self.candles = self.stream.candles("BTCUSDC", "3m")
        self.ticker, self.tickers = self.stream.ticker("BTCUSDC"), self.stream.tickers()
        self.wallet, self.open = self.stream.account(), self.stream.orders()
        self.positions = self.stream.positions()
        self.fills, self.history = self.stream.fills(), self.stream.order_history()
        self.begun = len(self.venue.host.core.state.history.transactions.records)
        self.transactions = self.stream.transactions()
        self.funding, self.closed = self.stream.funding(), self.stream.closed_positions()

    def step(self, kind: str, who: int, side: str, number: int, size: int) -> None:
        trader = self.traders[who]
        if kind == "place":
            order = trader.place(side, str(62500 + number), f"0.00{size}")
            self.orders.append((who, order))
        elif kind == "reduce":
            option = {"reduceOnlyOption": "REDUCE_ONLY"}
            self.orders.append((0, trader.place(side, str(62500 + number), f"0.00{size}", **option)))
        elif kind == "market":
            trader.place(side, "0", f"0.00{size}")
        elif kind == "cancel" and self.orders:
            who, order = self.orders[number % len(self.orders)]
            self.traders[who].cancel(order)
        elif kind == "advance":
            self.venue.advance(f"{number}s")
        elif kind == "leap":
            self.venue.advance(f"{number}h")
        elif kind == "oracle":
            self.venue.control.set_oracle(product=1, price=str(62500 + 625 * number))
        elif kind == "big":
            other = "SELL" if side == "BUY" else "BUY"
            self.traders[0].place(side, "62500", f"1.{size}")
            trader.place(other, "62500", f"1.{size}")
        elif kind == "revert":
            self.venue.revert(self.kept)
            self.orders, self.reverted = [], True

    def info(self, path: str, **query: Any) -> Any:
        answer = self.venue.host.gateway.handle(
            "GET", f"/info/{path}", [(name, str(value)) for name, value in query.items()]
        )
        return json.loads(answer.body)["data"]

    def check(self) -> None:
        core, user = self.venue.host.core, self.traders[0].address
        product = core.products[1]
        for book, depth in zip(self.books, DEPTHS, strict=True):
            for side, levels in ((1, book.bids()), (-1, book.asks())):
                assert [(str(price), str(quantity)) for price, quantity in levels] == [
                    (records.price(product, price), records.quantity(product, total))
                    for price, total in core.books[1].depth(side, depth)
                ]
        assert shared(raw(self.wallet), self.info("account/wallet", userAddr=user, includeZero="true"))
        assert shared(raw(self.positions), self.info("position/list", userAddr=user))
        states = self.info("order/states", userAddr=user, pageSize=500)["items"]
        waiting = {one["ordId"]: one for one in states if one["status"] in ("NEW", "PARTIALLY_FILLED")}
        live_rows = {str(one["ordId"]): one for one in raw(self.open)}
        assert live_rows.keys() == waiting.keys()
        for order, one in live_rows.items():
            info = waiting[order]
            assert (one["ordPx"], one["leavesQty"], one["filledQty"], one["ordStatus"], one["cumFilledValue"]) == (
                *(info["price"], info["leaveQty"], info["filledQty"], info["status"]),
                info["cumFilledValue"],
            )
        assert [one["filledPx"] for one in raw(self.trades)] == [
            records.price(product, trade.price) for trade in core.state.history.trades[1]
        ]
        rate = self.info("fundingRate/current", symbol="1")[0]
        ticker = self.ticker.value
        assert (ticker.mark_price, ticker.oracle_price) == (Decimal(rate["markPx"]), Decimal(rate["oraclePx"]))
        assert ticker.last == Decimal(records.price(product, core.state.markets[1].last))
        shown = self.tickers["BTCUSDC"]
        assert (shown.last, shown.mark_price, shown.volume) == (ticker.last, ticker.mark_price, ticker.volume)
        self.stream.health.assert_healthy()
        assert all(live.gaps == live.duplicates == 0 for live in self.stream.health.live)


def raw(live: Live) -> list[dict[str, Any]]:
    live.state  # noqa: B018 - looking takes in what has arrived
    return list(live._raw())


def shared(live_rows: list[dict[str, Any]], answered: list[dict[str, Any]]) -> bool:
    """Return whether the rows are equal in all fields that both have."""
    assert len(live_rows) == len(answered)
    for one, other in zip(live_rows, answered, strict=True):
        both = one.keys() & other.keys()
        assert len(both) > 5
        assert {name: one[name] for name in both} == {name: other[name] for name in both}
    return True


@settings(max_examples=6)
@given(steps)
@example([("oracle", 0, "", 15, 0), ("big", 1, "SELL", 0, 1)])  # liquidated to an equity of 0
def test_live_objects_equal_the_venue_after_every_command(activity: list[Any]) -> None:
    compare(activity)


@pytest.mark.slow
@settings(max_examples=60)
@given(steps)
def test_live_objects_equal_the_venue_after_every_command_of_more_stories(activity: list[Any]) -> None:
    compare(activity)


def compare(activity: list[Any]) -> None:
    watch = Watch()
    watch.check()
    for step in activity:
        watch.step(*step)
        watch.check()
    watch.stream.close()


def test_live_objects_equal_the_venue_through_hours_of_simulated_market() -> None:
    with LocalVenue(clock="manual", accounts=1) as venue:
        stream = Stream(SimpleNamespace(_local=venue, environment=None, account=None))
        book, trades = stream.order_book("ETHUSDC", 10), stream.trades("ETHUSDC")
        candles, height = stream.candles("ETHUSDC", "1h"), stream.block_height()
        product, before = venue.host.core.products[2], len(trades)  # those of the past before genesis
        assert before == RECENT
        for span in ("1s", "59s", "3m"):
            venue.advance(span)
            for side, levels in ((1, book.bids()), (-1, book.asks())):
                assert [(str(price), str(quantity)) for price, quantity in levels] == [
                    (records.price(product, price), records.quantity(product, total))
                    for price, total in venue.host.core.books[2].depth(side, 10)
                ]
            assert len(trades) == before + len(venue.host.core.state.history.trades[2])
            query = [("symbol_name", "ETHUSDC"), ("interval", "3600"), ("limit", str(len(candles)))]
            answer = venue.host.gateway.handle("GET", "/info/kline/last", query)
            assert raw(candles) == json.loads(answer.body)["data"][::-1]
            assert height["block"] == venue.host.core.height - 1
        stream.health.assert_healthy()
        stream.close()
