"""Feeds that are played by hand: what a market of ccxt's client gives on, and what a venue makes of what it follows."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("ccxt", reason="the extra ccxt is not installed")

import toolkit
from toolkit import following
from toolkit.errors import InputError, StaleData, UnknownProduct, VenueError
from toolkit.exchanges import ExchangeMarket, exchange_market
from toolkit.exchanges.watching import Feed, View
from toolkit.products import Product
from toolkit.venue.local import LocalVenue

SYMBOL, BTC, ETH = "BTC/USDT:USDT", "BTCUSDC", "ETHUSDC"
NOON_MS = 1_767_268_800_000
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
follow: Any = following.follow
HAS = ("watchOrderBook", "watchTrades", "watchTicker")


class Exchange:
    """A client of ccxt whose channels give what `put` puts there."""

    precisionMode, timeframes = 4, None

    def __init__(self, *more: str, contract_size: float = 0.5) -> None:
        market = {"symbol": SYMBOL, "base": "BTC", "quote": "USDT", "contract": True, "contractSize": contract_size}
        self.markets = {SYMBOL: market}
        self.has = dict.fromkeys((*HAS, *more), True)
        self.asked: list[tuple[str, str]] = []
        self._loop: Any = None
        self._left: dict[str, asyncio.Queue[Any]] = {}

    def at(self, market: ExchangeMarket) -> ExchangeMarket:
        market.__dict__["_client"], self._loop = self, market._loop._loop
        return market

    def put(self, channel: str, got: Any) -> None:
        self._loop.call_soon_threadsafe(self._queue(channel).put_nowait, got)

    def _queue(self, channel: str) -> asyncio.Queue[Any]:
        return self._left.setdefault(channel, asyncio.Queue())

    async def _next(self, channel: str, symbol: str) -> Any:
        self.asked.append((channel, symbol))
        return await self._queue(channel).get()

    async def watch_order_book(self, symbol: str) -> Any:
        return await self._next("book", symbol)

    async def watch_trades(self, symbol: str) -> Any:
        return await self._next("trades", symbol)

    async def watch_ticker(self, symbol: str) -> Any:
        return await self._next("ticker", symbol)

    async def watch_mark_price(self, symbol: str) -> Any:
        return await self._next("mark", symbol)

    async def close(self) -> None:
        self.asked.append(("closed", ""))


@pytest.fixture
def exchange() -> Iterator[Any]:
    """Yield a market over a scripted exchange, its client, and what an update of a view is put into."""
    client, market = Exchange(), ExchangeMarket("binance", SYMBOL)
    yield client, client.at(market), queue.Queue()
    market.close()


def told(arrivals: Any) -> tuple[str, list[tuple[str, str, str]], int, Any]:
    update = arrivals.get(timeout=30)
    items = [(item["side"], str(item["price"]), str(item["quantity"])) for item in update.items]
    return update.kind, items, update.sequence, update.time


def test_a_live_book_begins_whole_and_goes_on_with_its_changes_in_base_units(
    exchange: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, market, arrivals = exchange
    monkeypatch.setattr(exchange_market, "wall_ms", lambda: NOON_MS + 7_000)
    first, view = market.order_book(SYMBOL), market.order_book(BTC, depth=20)  # the first one is told first
    assert (view.subject, view.state, view.sequence) == (f"binance:{SYMBOL} order_book", "connecting", 0)
    early: list[Any] = []
    first.on_update(early.append, begin=True)
    view.on_update(arrivals.put)
    assert early == []  # there is no book yet, so there is nothing to begin with
    client.put("book", {"bids": [[99.5, 4], [99.0, 1]], "asks": [[100.5, 2]], "timestamp": NOON_MS})
    begun = [("BUY", "99.5", "2.0"), ("BUY", "99.0", "0.5"), ("SELL", "100.5", "1.0")]
    assert told(arrivals) == ("snapshot", begun, 1, NOON)
    client.put("book", {"bids": [[99.5, 4], [98.5, 6]], "asks": [[100.5, 8]]})
    changed = [("BUY", "99.0", "0.0"), ("BUY", "98.5", "3.0"), ("SELL", "100.5", "4.0")]
    assert told(arrivals) == ("incremental", changed, 2, NOON.replace(second=7))
    assert (view.state, view.is_live, len(early)) == ("live", True, 2)
    later = market.order_book(BTC)
    later.on_update(arrivals.put, begin=True)
    whole = [("BUY", "99.5", "2.0"), ("BUY", "98.5", "3.0"), ("SELL", "100.5", "4.0")]
    assert told(arrivals) == ("snapshot", whole, 2, NOON.replace(second=7))
    assert set(client.asked) == {("book", SYMBOL)}
    market.close()
    assert (view.state, later.state) == ("closed", "closed")
    assert client.asked[-1] == ("closed", "")


def test_trades_are_quiet_and_come_as_they_happen_in_base_units(exchange: Any) -> None:
    client, market, arrivals = exchange
    book, view = market.order_book(BTC), market.trades(BTC)
    market.ticker(BTC)
    assert (view.state, view.subject) == ("live", f"binance:{SYMBOL} trades")
    assert book.state == "connecting"
    view.on_update(arrivals.put)
    for number in (1, 2):
        client.put("trades", [{"timestamp": NOON_MS, "side": "sell", "price": 99.5, "amount": 3}])
        assert told(arrivals) == ("incremental", [("SELL", "99.5", "1.5")], number, None)


@pytest.mark.parametrize(("more", "channel"), [((), "ticker"), (("watchMarkPrice",), "mark")])
def test_prices_come_from_the_channel_of_marks_where_there_is_one(
    more: tuple[str, ...], channel: str, exchange: Any
) -> None:
    client, market, arrivals = exchange
    client.has |= dict.fromkeys(more, True)
    market.ticker(BTC).on_update(arrivals.put)
    for kind, mark in (("snapshot", 99.5), ("incremental", 99.75)):
        client.put(channel, {"markPrice": mark, "indexPrice": 100, "timestamp": NOON_MS})
        update = arrivals.get(timeout=30)
        assert (update.kind, update.time) == (kind, NOON)
        assert update.items == [{"symbol": BTC, "mark_price": Decimal(str(mark)), "oracle_price": Decimal(100)}]


@pytest.mark.parametrize("channel", ["order_book", "trades", "ticker"])
def test_a_channel_that_the_exchange_lacks_is_named(channel: str, exchange: Any) -> None:
    client, market, _ = exchange
    name = exchange_market.WATCHED[channel]
    client.has[name] = None
    with pytest.raises(InputError, match=f"binance has no {name} in ccxt, so it can't be followed") as raised:
        getattr(market, channel)(BTC)
    assert (raised.value.field, raised.value.rule, raised.value.value) == ("follow", name, "binance")


@pytest.mark.parametrize(
    ("name", "near"),
    [("binanse", ("binance", "binanceus", "coinbase")), ("zzzzzz", ("binance", "bybit", "okx"))],
)
def test_an_unknown_exchange_names_the_three_nearest_or_known_ones(name: str, near: tuple[str, ...]) -> None:
    with pytest.raises(
        InputError, match=f"no live feed of an exchange '{name}'. It has {', '.join(near)} and"
    ) as raised:
        ExchangeMarket(name, SYMBOL)
    assert (raised.value.field, raised.value.rule, raised.value.nearest) == ("follow", "known", near)


@pytest.mark.parametrize(("name", "near"), [("BTC/USDT", 3), ("nothing", 0)])
def test_an_unknown_market_names_the_three_nearest(name: str, near: int) -> None:
    client, market = Exchange(), ExchangeMarket("binance", name)
    client.markets |= {other: {} for other in ("BTC/USDT:BTC", "BTC/USDC:USDC", "BTC/USD:BTC", "XRP/EUR")}
    names = ("BTC/USD:BTC", "BTC/USDT:BTC", "BTC/USDT:USDT")[:near]
    said = ", ".join(names) or "none"
    with pytest.raises(UnknownProduct, match=f"binance has no market '{name}'. Similar ones are {said}$") as raised:
        client.at(market).product()
    market.close()
    assert (raised.value.field, raised.value.nearest) == ("follow", names)


# a venue that follows feeds


@pytest.fixture(scope="module")
def listed() -> dict[str, Product]:
    with LocalVenue(clock="manual", market=None) as venue:
        return {product.symbol: product for product in venue.host.core.products.values()}


class Upstream:
    """Reads another venue whose feeds a test moves. `account` is what its queries answer."""

    environment: Any = SimpleNamespace(base_url="there")
    venue = None

    def __init__(self, listed: dict[str, Product], *symbols: str, begun: bool = True) -> None:
        self.stream = self.info = self
        self.closed = 0
        self.account: dict[str, Any] = {"positions": [], "orders": [], "leverages": [], "balance": ["0"]}
        self.asked: list[Any] = []
        self._listed = {symbol: listed[symbol] for symbol in symbols}
        names = [(what, symbol) for symbol in symbols for what in ("book", "trades", "ticker")]
        self.feeds = {name: Feed(f"{name[0]} of {name[1]}", None, None, True) for name in names}  # type: ignore[arg-type]
        for (what, _), feed in self.feeds.items() if begun else ():
            if what != "trades":
                feed.begin = lambda what=what: ("snapshot", BEGINNING[what], NOON)  # type: ignore[misc]

    def product(self, symbol: str | int) -> Product:
        return self._listed[str(symbol)]

    def products(self) -> pd.DataFrame:
        return pd.DataFrame(index=pd.Index(list(self._listed), name="symbol"))

    def order_book(self, symbol: str, depth: int) -> View:
        assert depth == 200
        return View(self.feeds["book", symbol])

    def trades(self, symbol: str) -> View:
        return View(self.feeds["trades", symbol])

    def ticker(self, symbol: str) -> View:
        return View(self.feeds["ticker", symbol])

    def change(self, what: str, symbol: str, state: str, reason: str = "") -> None:
        self.feeds[what, symbol]._change(state, reason)

    def send(self, what: str, kind: str, *items: dict[str, Any], symbol: str = BTC) -> None:
        feed = self.feeds[what, symbol]
        for view in feed.views:
            view.deliver(kind, list(items), NOON)

    def wallet_balances(self, *, account: str, exact: bool) -> pd.DataFrame:
        self.asked.append(("balance", account, exact))
        return pd.DataFrame({"balance": [Decimal(amount) for amount in self.account["balance"]]})

    def positions(self, *, account: str, exact: bool) -> pd.DataFrame:
        self.asked.append(("positions", account, exact))
        return pd.DataFrame(self.account["positions"])

    def orders(self, *, open: bool, account: str, exact: bool) -> pd.DataFrame:
        self.asked.append(("orders", open, account, exact))
        return pd.DataFrame(
            self.account["orders"], dtype=object, columns=None if self.account["orders"] else ["order_id"]
        )

    def leverages(self, account: str) -> Any:
        self.asked.append(("leverages", account))
        return self

    def frame(self, *, exact: bool, timeout: float) -> pd.DataFrame:
        self.asked.append(("frame", exact, timeout))
        if isinstance(self.account["leverages"], Exception):
            raise self.account["leverages"]
        return pd.DataFrame(self.account["leverages"])

    def close(self) -> None:
        self.closed += 1


def level(side: str, price: str, quantity: str) -> dict[str, Any]:
    return {"side": side, "price": Decimal(price), "quantity": Decimal(quantity)}


BEGINNING: dict[str, list[dict[str, Any]]] = {
    "book": [level("BUY", "2999.9", "1"), level("BUY", "2999.8", "2"), level("SELL", "3000.1", "3")],
    "ticker": [{"symbol": BTC, "mark_price": Decimal("3000.2"), "oracle_price": Decimal("3000.3")}],
}


def depth(venue: LocalVenue, side: int) -> list[tuple[int, int]]:
    return [(price, steps) for price, steps in venue.host.core.books[1].depth(side, 10)]


def test_updates_of_books_trades_and_prices_are_played_as_what_they_are(listed: dict[str, Product]) -> None:
    upstream = Upstream(listed, BTC)
    with follow(upstream) as venue:
        market, trades = venue.host.core.state.markets[1], venue.host.core.state.history.trades[1]
        assert len(venue.host.masters) == 10
        assert (depth(venue, 1), depth(venue, -1)) == ([(29_999, 1_000), (29_998, 2_000)], [(30_001, 3_000)])
        assert (market.mark, market.oracle) == (30_002, 30_003)
        said = "<Following there: BTCUSDC, live>"
        assert (repr(venue.following), venue.following.notes, venue.following.symbols) == (said, ["live"], (BTC,))
        upstream.send("book", "incremental", level("BUY", "2999.8", "0"), level("SELL", "3000.2", "0.5"))
        assert (depth(venue, 1), depth(venue, -1)) == ([(29_999, 1_000)], [(30_001, 3_000), (30_002, 500)])
        upstream.send("book", "snapshot", level("BUY", "2999.7", "4"), level("SELL", "3000.2", "0.25"))
        assert (depth(venue, 1), depth(venue, -1)) == ([(29_997, 4_000)], [(30_002, 250)])
        upstream.send("trades", "snapshot", level("BUY", "3000.2", "0.1"))  # those of before
        assert list(trades) == []
        upstream.send("trades", "incremental", level("BUY", "3000.2", "0.1"), level("SELL", "2999.7", "0.2"))
        done = [(one.side, one.price, one.quantity) for one in trades]
        assert done == [(1, 30_002, 100), (-1, 29_997, 200)]
        upstream.send("ticker", "incremental", {"symbol": BTC, "mark_price": Decimal("3000.0"), "oracle_price": None})
        assert (market.mark, market.oracle) == (30_000, 30_003)
        upstream.send("ticker", "incremental", {"symbol": BTC, "oracle_price": Decimal("3001")})
        assert (market.mark, market.oracle) == (30_000, 30_010)
        upstream.send("ticker", "incremental", {"symbol": BTC})
        assert venue.host.core.violations() == []
    assert upstream.closed == 1
    assert all(feed.views == [] for feed in upstream.feeds.values())


@pytest.mark.parametrize("setting", ["pause", "continue"])
def test_each_change_of_the_feeds_is_noted_once_and_pauses_every_product(
    listed: dict[str, Product], setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream, early = Upstream(listed, BTC, ETH), list[str]()
    with follow(upstream, when_stale=setting) as venue:
        markets, heard = venue.host.core.state.markets, list[str]()
        venue.following.on_change = heard.append
        resumed = venue.control.resume
        monkeypatch.setattr(
            venue.control, "resume", lambda symbol: (early.append(venue.following.state), resumed(symbol))
        )
        upstream.change("book", BTC, "reconnecting", "cut")
        assert [market.paused for market in markets.values()] == [setting == "pause"] * 2
        said = "book of BTCUSDC is reconnecting: cut"
        assert (venue.following.state, venue.following.reason) == ("stale", said)
        assert repr(venue.following) == f"<Following there: BTCUSDC, ETHUSDC, stale ({said})>"
        upstream.change("trades", ETH, "resyncing")
        upstream.change("book", BTC, "live")
        assert venue.following.reason == "trades of ETHUSDC is resyncing"  # the other one is still missing
        upstream.change("trades", ETH, "live")
        assert [market.paused for market in markets.values()] == [False, False]
        assert venue.following.notes == ["live", f"stale: {said}", "live"]
        assert heard == venue.following.notes[1:]
        assert venue.following.reason == ""
        assert early == ["stale"] * (2 if setting == "pause" else 0)  # "live" is said when all can trade


def test_what_does_not_come_is_named_after_the_time_that_was_given(listed: dict[str, Product]) -> None:
    for begun, missing in ((False, "book of BTCUSDC, book of ETHUSDC, ticker of BTCUSDC, ticker of ETHUSDC"),):
        upstream = Upstream(listed, BTC, ETH, begun=begun)
        with pytest.raises(StaleData, match=f"there sent nothing within 0 s: {missing}"):
            follow(upstream, timeout=0)
        assert upstream.closed == 1
    partly = Upstream(listed, BTC, ETH)
    partly.feeds["book", ETH].begin = lambda: None
    with pytest.raises(StaleData, match=r"there sent nothing within 0\.1 s: book of ETHUSDC$"):
        follow(partly, timeout=0.1)
    known = Upstream(listed, BTC, ETH)
    with pytest.raises(InputError, match=r"when_stale is 'stop'\. It must be pause or continue"):
        follow(known, when_stale="stop")
    assert known.closed == 1


def test_time_passes_on_both_venues_by_a_second_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalVenue(clock="manual", seed=5) as upstream:
        reader = toolkit.connect(venue=upstream, account=9, approve=False)
        with follow(reader, symbols=[BTC]) as venue:
            until: list[int] = []
            advance, began = upstream.advance, upstream.host.now_ms()

            def noted(**given: Any) -> int:
                until.append(given["until"] - began)
                return advance(**given)

            monkeypatch.setattr(upstream, "advance", noted)
            assert venue.advance("2s500ms") == began + 2_500
            assert until == [1_000, 2_000, 2_500]


SIZES = {"long_size": "0", "short_size": "0", "long_entry_value": "0", "short_entry_value": "0"}
HELD: dict[str, Any] = {
    "symbol": BTC, "position_mode": "ONE_WAY", "margin_mode": "CROSS", "leverage": "5", "assigned_margin": "0", **SIZES,
}  # fmt: skip


@pytest.mark.parametrize("hedge", [False, True])
@pytest.mark.parametrize(("side", "name"), [(1, "long"), (-1, "short")])
@pytest.mark.parametrize("isolated", [False, True])
def test_a_copied_account_has_the_sizes_values_and_settings_of_the_other_one(
    listed: dict[str, Product], side: int, name: str, hedge: bool, isolated: bool
) -> None:
    upstream = Upstream(listed, BTC, ETH)
    mode = "HEDGE" if hedge else "ONE_WAY"
    own = {"size": "0.25", "entry_value": "750.0001"}
    own = {f"{name}_{what}": value for what, value in own.items()} | {"position_mode": mode}
    if isolated:
        own |= {"margin_mode": "ISOLATED", "assigned_margin": "150.5"}
    upstream.account = {
        "balance": ["900.25", "100.000001"],
        "positions": [{**HELD, **own}, {**HELD, "symbol": "SOLUSDC", "position_mode": mode, "long_size": "1"}],
        "leverages": [
            {"symbol": ETH, "leverage": "7.5", "position_mode": mode},
            {"symbol": "XRPUSDC", "leverage": "3", "position_mode": mode},
        ],
        "orders": [],
    }
    with follow(upstream) as venue, toolkit.connect(venue=venue) as session:
        venue.following.fork(session, "0xthem")
        account = venue.host.core.state.accounts[str(session.account).lower()]
        held = account.positions[1]
        sides = {"long": held.long, "short": held.short}
        assert {one: (leg.size, leg.value) for one, leg in sides.items()} == {
            **dict.fromkeys(sides, (0, 0)),
            name: (250, 750_000_100),
        }
        assert (held.leverage, account.positions[2].leverage) == (500, 750)
        assert session.wallet_balances()["balance"].tolist() == [1_000.250001]
        assert held.assigned == (150_500_000 if isolated else 0)
        row = session.positions(exact=True).iloc[0]
        assert (row["margin_mode"], row["position_mode"]) == ("ISOLATED" if isolated else "CROSS", mode)
        assert venue.following.notes == ["live", "a position in SOLUSDC, which is not followed, was left out"]
    assert upstream.asked == [
        ("balance", "0xthem", True), ("positions", "0xthem", True), ("leverages", "0xthem"), ("frame", True, 5.0),
        ("orders", True, "0xthem", True),
    ]  # fmt: skip


def test_settings_that_do_not_come_are_left_as_they_are_and_said(listed: dict[str, Product]) -> None:
    upstream = Upstream(listed, BTC)
    upstream.account |= {"positions": [{**HELD, "long_size": "0.1", "long_entry_value": "300"}]}
    upstream.account |= {"balance": ["1000"], "leverages": StaleData("nothing came")}
    with follow(upstream) as venue, toolkit.connect(venue=venue) as session:
        venue.following.fork(session, "0xthem")
        assert session.positions()["size"].tolist() == [0.1]
        assert venue.following.notes[1:] == ["the leverage of products without a position was not copied: nothing came"]
        with pytest.raises(VenueError, match="has positions already"):
            venue.following.fork(session, "0xthem")


def order(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "order_id": number, "symbol": BTC, "type": "LIMIT", "side": "BUY", "quantity": Decimal("0.5"),
        "filled": Decimal(0), "remaining": Decimal("0.5"), "price": Decimal(2_000), "tif": "GTC", "reduce_only": "NONE",
        "parent_order_id": None, "trigger_price": None, "trigger_type": None, **changed,
    }  # fmt: skip


@pytest.mark.parametrize("filled", ["0", "0.1"])
def test_orders_are_copied_by_their_number_and_an_exit_without_an_order_that_was_filled(
    listed: dict[str, Product], filled: str
) -> None:
    upstream = Upstream(listed, BTC)
    left = Decimal("0.5") - Decimal(filled)
    exits = {"type": "TAKE_PROFIT_MARKET", "side": "SELL", "reduce_only": "TP_FROM_ORDER", "trigger_price": 4_000}
    upstream.account |= {
        "balance": ["10000"],
        "orders": [
            order(12, **exits, parent_order_id=7, trigger_type="ORACLE_PRICE"), order(9, symbol=ETH, side="SELL"),
            order(7, filled=Decimal(filled), remaining=left),
        ],
    }  # fmt: skip
    with follow(upstream) as venue, toolkit.connect(venue=venue) as session:
        venue.following.fork(session, "0xthem")
        known = [
            "live", "the order SELL 0.5 ETHUSDC was not copied: ETHUSDC is not followed",
            *(["the order SELL 0.5 BTCUSDC was copied without the order that it belongs to"] if left < 1 / 2 else []),
        ]  # fmt: skip
        rows = session.orders(open=True, exact=True).sort_values("order_id")
        assert venue.following.notes[: len(known)] == known
        assert rows[["type", "remaining"]].to_numpy().tolist()[0] == ["LIMIT", left]


def test_the_first_books_may_take_longer_while_one_comes_after_the_other(
    listed: dict[str, Product], monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream, looks = Upstream(listed, BTC, ETH, begun=False), list[View]()
    missing = [(what, symbol) for symbol in (BTC, ETH) for what in BEGINNING]

    def look(view: View) -> str:
        looks.append(view)
        if len(looks) % 6 == 0 and missing:  # with each look at all of them one more has come
            what, symbol = missing.pop()
            upstream.send(what, "snapshot", *BEGINNING[what], symbol=symbol)
        return "live"

    monkeypatch.setattr(View, "state", property(look))
    with follow(upstream, timeout=0.12) as venue:  # three looks
        assert (venue.following.state, missing) == ("live", [])
