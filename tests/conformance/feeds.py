"""Statements on the feed: requests and their answers, which channel carries what, and sequences that can be checked."""

from __future__ import annotations

import contextlib
import json
from decimal import Decimal
from typing import Any

from websockets.exceptions import WebSocketException

from .programs import accepted
from .queries import AMOUNT, ANY, KLINE, NUMBER, TEXT, has_fields, traded
from .requests import FACTS, SPEC
from .statements import Differs, NotTried, each, expect, for_all, states
from .venue import Feed, Venue

TYPED = ("orderBook", "trades", "ticker", "allTickers", "aopState")
"""Channels with `type` and `sequence`."""
UNNUMBERED = ("orderHist", "userFilled", "closedPosition", "userFunding")
"""Channels whose messages are incremental, without a sequence, where they carry a type."""
RECORDS = ("candle", "block", "blockHeight", "tx")
"""Channels whose data is the record itself."""
WORLD: dict[str, dict[str, Any]] = {
    "orderBook": {"type": "orderBook", "symbol": "", "depth": 5},
    "trades": {"type": "trades", "symbol": ""},
    "ticker": {"type": "ticker", "symbol": ""},
    "candle": {"type": "candle", "symbol": "", "interval": "60"},
    "allTickers": {"type": "allTickers"},
    "block": {"type": "block"},
    "blockHeight": {"type": "blockHeight"},
    "tx": {"type": "tx"},
}
ACCOUNT = ("aopState", "orderHist", "userFilled", "closedPosition", "userFunding", "userEvent")
TICKER = dict.fromkeys(("p", "op", "mp", "mid", "oi", "fr", "lfr", "o", "h", "l", "v", "tv", "P"), AMOUNT) | {"s": TEXT}
PLACED = {"userAddr": TEXT, "symbol": TEXT, "ordId": ANY, "ordPx": AMOUNT, "ordType": TEXT, "ordSide": TEXT}
FIELDS: dict[str, tuple[str, dict[str, str]]] = {
    "orderBook": ("", {"symbolCode": NUMBER, "symbol": TEXT, "block": NUMBER, "sequence": NUMBER, "depth": NUMBER,
                       "timestamp": NUMBER, "book": ANY}),
    "candle": ("", KLINE),
    "trades": ("trades", {"symbol": TEXT, "ordSide": TEXT, "filledPx": AMOUNT, "filledQty": AMOUNT,
                          "transactionTime": NUMBER, "txHash": TEXT}),
    "ticker": ("ticker", TICKER),
    "allTickers": ("tickers", {"s": TEXT, "p": AMOUNT, "mp": AMOUNT}),
    "block": ("", {"blockHeight": NUMBER, "blockTime": NUMBER, "txCount": NUMBER}),
    "blockHeight": ("", {"blockHeight": NUMBER, "timestamp": NUMBER}),
    "tx": ("", {"blockHeight": NUMBER, "txHash": TEXT, "user": TEXT, "actionType": TEXT, "status": ANY}),
    "aopState": ("", {"aop": ANY, "timestamp": NUMBER}),
    "orderHist": ("orderHists", {**PLACED, "execId": ANY, "clOrdId": ANY, "transactionTime": NUMBER,
                                 "execStatus": TEXT, "execPx": AMOUNT, "triggerPx": AMOUNT, "execQty": AMOUNT,
                                 "ordQty": AMOUNT, "reduceOnly": ANY, "slippagePct": AMOUNT}),
    "userFilled": ("userFills", {**PLACED, "execId": ANY, "execStatus": TEXT, "filledPx": AMOUNT, "execQty": AMOUNT,
                                 "ordQty": AMOUNT, "openFee": AMOUNT, "closeFee": AMOUNT, "posLongTerm": ANY,
                                 "posShortTerm": ANY, "txHash": TEXT, "transactionTime": NUMBER}),
    "closedPosition": ("closedPositions", {"userAddr": TEXT, "symbolCode": NUMBER, "symbol": TEXT, "side": TEXT,
                                           "term": ANY, "size": AMOUNT, "ordPx": AMOUNT, "closePx": AMOUNT,
                                           "closedPnl": AMOUNT, "tradingFees": AMOUNT, "fundingFees": AMOUNT,
                                           "realisedPnl": AMOUNT, "roi": AMOUNT, "leverage": AMOUNT,
                                           "openTime": NUMBER, "closedTime": NUMBER}),
    "userEvent": ("events", {"eventType": TEXT, "event": ANY}),
}  # fmt: skip


def subscription(venue: Venue, channel: str) -> dict[str, Any]:
    if channel in ACCOUNT:
        return {"type": channel, "userAddress": venue.trader(0).address}
    wanted = WORLD[channel]
    return {**wanted, "symbol": venue.product["symbol"]} if "symbol" in wanted else dict(wanted)


def provoked(venue: Venue, channel: str) -> dict[str, Any]:
    """Subscribe to a channel, do what makes it speak, and return its first message."""
    traded(venue)
    if channel == "userFunding":
        raise NotTried("it speaks at a settlement of funding only")
    with venue.feed() as feed:
        answer = feed.subscribe(subscription(venue, channel))
        expect(answer.get("success") is True, answer)
        first = next((one for one in feed.seen if one.get("channel") == channel), None)
        if first is None and (channel in ACCOUNT or channel in ("tx", "trades", "candle", "ticker", "allTickers")):
            trade(venue)
        return first or feed.data(channel)


def trade(venue: Venue) -> None:
    """Let account 0 open or grow a position, close it, and open it again."""
    trader = venue.trader(0)
    size = trader.size(venue.code)
    for side, quantity in (("SELL" if size > 0 else "BUY", f"{abs(size):f}"), ("BUY", "")):
        if quantity != "0":
            accepted(trader.place(venue.market(side, quantity)))


def speaks(venue: Venue, channel: object) -> None:
    message = provoked(venue, str(channel))
    expect(set(message) >= {"channel", "data"}, message)
    where, record = FIELDS[str(channel)]
    rows = message["data"] if not where else message["data"][where]
    for row in rows if isinstance(rows, list) else [rows]:
        has_fields(row, record, str(channel))


each(f"{FACTS}: WebSocket", "{} is answered, and its message has its fields", FIELDS, speaks)


def form(venue: Venue, channel: object) -> None:
    data = provoked(venue, str(channel))["data"]
    here = (data.get("type"), "sequence" in data)
    extended = data.get("type") is not None and "sequence" in data
    if channel in TYPED:
        expect(here[0] in ("snapshot", "incremental") and here[1], f"type and sequence: {here}")
    elif channel in UNNUMBERED:
        expect(here == ("incremental", False) or extended, f"type and sequence: {here}")
    elif channel == "userEvent":
        expect(here[1] and (here[0] is None or extended), f"type and sequence: {here}")
    else:
        expect(here == (None, False) or extended, f"type and sequence: {here}")


each(f"{FACTS}: WebSocket", "{} has type and sequence as published", [*WORLD, *ACCOUNT], form)


@states(f"{FACTS}: WebSocket", "ping is answered pong")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        feed.send({"method": "ping"})
        expect(feed.next() == {"channel": "pong"}, feed.seen)


def acknowledged(venue: Venue, method: object) -> None:
    with venue.feed() as feed:
        symbol = venue.product["symbol"]
        for each_method in ("subscribe", method):
            answer = feed.subscribe({"type": "orderBook", "symbol": symbol, "depth": 50}, str(each_method))
        expect(answer["success"] is True and answer.get("subject") == f"orderBook.{symbol}.50", answer)


each(f"{FACTS}: WebSocket", "{} is acknowledged with its subject", ["subscribe", "unsubscribe"], acknowledged)


@states(f"{FACTS}: WebSocket", "the depth of orderBook is 5 by default")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        message = feed.first({"type": "orderBook", "symbol": venue.product["symbol"]})
        expect(message["data"]["depth"] == 5, message["data"]["depth"])


for_all(
    f"{FACTS}: WebSocket",
    "what can't be subscribed to is answered with success false, a code and a message",
    [{"type": "nothing"}, {"type": "orderBook", "symbol": "NONESUCH"}, {"type": "ticker"}, {"type": "orderHist"}, {}],
    lambda venue, wanted: _refused(venue, wanted),  # type: ignore[arg-type]
)


def _refused(venue: Venue, wanted: dict[str, Any]) -> None:
    with venue.feed() as feed:
        answer = feed.subscribe(wanted)
        expect(answer.get("success") is False and answer.get("code") and answer.get("message"), answer)


@states(f"{FACTS}: WebSocket", "what is no request is answered with an error, and the connection stays")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        for text in ("{", "[]", '"ping"', '{"method":"dance"}'):
            feed.send(text)
            answer = feed.next()
            expect(answer.get("success") is False, f"{text}: {answer}")
        feed.send({"method": "ping"})
        expect(feed.next() == {"channel": "pong"}, feed.seen)


def book(message: dict[str, Any]) -> dict[str, dict[Decimal, Decimal]]:
    """Return the levels of a message, by side and price."""
    sides = message["book"]
    return {side: {Decimal(price): Decimal(size) for price, size in sides[side]} for side in ("bids", "asks")}


@states(f"{FACTS}: WebSocket", "orderBook: a snapshot first, sorted and not crossed, then incrementals numbered by one")
def _(venue: Venue) -> None:
    trader, symbol = venue.trader(0), venue.product["symbol"]
    with venue.feed() as feed:
        first = feed.first({"type": "orderBook", "symbol": symbol, "depth": 50})["data"]
        expect(first["type"] == "snapshot", first["type"])
        bids = [Decimal(price) for price, _ in first["book"]["bids"]]
        asks = [Decimal(price) for price, _ in first["book"]["asks"]]
        expect(bids == sorted(bids, reverse=True) and asks == sorted(asks) and bids[0] < asks[0], first["book"])
        accepted(trader.place(venue.resting(of_last="0.999")))
        last = int(first["sequence"])
        for _ in range(3):
            data = feed.data("orderBook")["data"]
            expect(data["type"] == "incremental" and int(data["sequence"]) == last + 1, f"{last}, then {data}")
            last = int(data["sequence"])


@states("risk rules: What must hold", "a snapshot with its incrementals equals a new snapshot of the same block")
def _(venue: Venue) -> None:
    symbol = venue.product["symbol"]
    wanted = {"type": "orderBook", "symbol": symbol, "depth": 5}
    for _ in range(20):
        with venue.feed() as held, venue.feed() as fresh:
            levels = book(held.first(wanted)["data"])
            for _ in range(3):
                change = held.data("orderBook")["data"]
                for side, new in book(change).items():
                    levels[side] = {price: size for price, size in {**levels[side], **new}.items() if size}
            other = fresh.first(wanted)["data"]
            if other["sequence"] != change["sequence"]:
                continue
            for side, pick in (("bids", max), ("asks", min)):
                expect(pick(levels[side]) == pick(book(other)[side]), f"{side}: {levels[side]} and {book(other)[side]}")
            return
    raise NotTried("the book moved between two messages every time")


@states(f"{FACTS}: WebSocket", 'in an incremental, quantity "0" removes a level')
def _(venue: Venue) -> None:
    trader, order = venue.trader(0), venue.resting(of_last="0.995")
    price = Decimal(order["ordPx"])
    with venue.feed() as feed:
        feed.first({"type": "orderBook", "symbol": venue.product["symbol"], "depth": 200})
        accepted(trader.place(order))
        feed.data("orderBook", lambda data: book(data)["bids"].get(price, 0) > 0)
        cancel = {"symbolCode": str(venue.code), "clOrdId": str(order["clOrdId"])}
        accepted(trader.act("cancelOrder", cancels=[cancel]))
        feed.data("orderBook", lambda data: price in book(data)["bids"])


@states(
    f"{FACTS}: WebSocket",
    "aopState has accounts, orders, positions and settings; leverage is a list of mode and number",
)
def _(venue: Venue) -> None:
    aop = provoked(venue, "aopState")["data"]["aop"]
    expect({"accounts", "orders", "positions", "settings"} <= set(aop), sorted(aop))
    for row in aop["settings"]:
        pair = row["leverage"]
        expect(isinstance(pair, list) and pair[0] in ("ONE_WAY", "HEDGE") and Decimal(pair[1]) >= 1, row)
    for row in aop["accounts"]:
        fields = dict.fromkeys(("balance", "availableBalance", "equity", "takerFeeRatio", "makerFeeRatio"), AMOUNT)
        has_fields(row, fields, "an account")


@states(f"{FACTS}: WebSocket", "a fill is in userFilled, orderHist and the trades of all, at one price")
def _(venue: Venue) -> None:
    trader, order = venue.trader(0), venue.market()
    with venue.feed() as feed:
        for channel in ("userFilled", "orderHist", "trades"):
            feed.subscribe(subscription(venue, channel))
        accepted(trader.place(order))
        fill = venue.until(lambda: venue.rows("/info/trade/page", userAddr=trader.address), "a fill")[0]

        def own(row: dict[str, Any]) -> bool:
            return str(row.get("ordId")) == str(fill["orderId"])

        told = feed.data("userFilled", lambda data: any(own(row) for row in data["userFills"]))["data"]["userFills"]
        expect(any(Decimal(row["filledPx"]) == Decimal(fill["filledPx"]) for row in told), (fill, told))
    with venue.feed() as feed:
        feed.subscribe(subscription(venue, "orderHist"))
        order = venue.resting()
        accepted(trader.place(order))
        feed.data("orderHist", lambda data: any(int(r["clOrdId"]) == order["clOrdId"] for r in data["orderHists"]))


@states(f"{SPEC}: Limits", "an address may have 10 connections; an eleventh is refused")
def _(venue: Venue) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(10):
            try:
                pong(stack.enter_context(venue.feed()))
            except (WebSocketException, OSError, EOFError) as error:
                raise Differs(f"connection {number + 1} is refused: {error}") from None
        with contextlib.suppress(WebSocketException, OSError, EOFError, Differs):
            pong(stack.enter_context(venue.feed()))
            raise AssertionError("an eleventh is taken")


def pong(feed: Feed) -> None:
    feed.send({"method": "ping"})
    expect(feed.next() == {"channel": "pong"}, feed.seen)


@states(f"{SPEC}: Limits", "a connection may have 50 subscriptions; one more is refused")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        for number in range(50):
            answer = feed.subscribe({"type": "orderBook", "symbol": venue.product["symbol"], "depth": number + 1})
            if number == 40:
                feed.listen(1.1)  # 50 messages a second are another limit
            if not answer["success"] and "depth" in str(answer):
                raise NotTried(f"this venue has no fifty subjects of one product: {answer}")
            expect(answer["success"], f"subscription {number + 1}: {answer}")
        answer = feed.subscribe({"type": "ticker", "symbol": venue.product["symbol"]})
        expect(answer["success"] is False, "the 51st is taken")


@states(f"{SPEC}: Limits", "more than 50 messages a second are refused, or the connection is closed")
def _(venue: Venue) -> None:
    with venue.feed() as feed, contextlib.suppress(WebSocketException, OSError, EOFError):
        for _ in range(200):
            feed.send({"method": "ping"})
        answers = [feed.next() for _ in range(200)]
        expect(any(answer.get("success") is False for answer in answers), "200 at once are answered")


@states(f"{FACTS}: WebSocket", "an idle connection is closed after 60 s")
def _(venue: Venue) -> None:
    raise NotTried("it takes a minute in which nothing else is tried")


@states(f"{FACTS}: WebSocket", "each message is a JSON object with channel or method")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        feed.subscribe(subscription(venue, "ticker"))
        feed.data("ticker")
        wrong = [one for one in feed.seen if "channel" not in one and "method" not in one]
        expect(not wrong, json.dumps(wrong))
