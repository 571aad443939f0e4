"""Statements on the feed: requests and their answers, which channel carries what, and sequences that can be checked."""

from __future__ import annotations

import contextlib
import json
import time
from decimal import Decimal
from typing import Any

from websockets.exceptions import WebSocketException

from .shapes import ANSWER, CHANNELS, shapes
from .signing import development_key
from .statements import Differs, NotServed, NotTried, each, expect, for_all, states
from .venue import Feed, Venue, accepted
from .world import traded

OF_SYMBOL: dict[str, Any] = {"orderBook": {"depth": 5}, "candle": {"interval": "60"}, "trades": {}, "ticker": {}}
"""Channels of one product → further fields of a subscription."""
ACCOUNT = ("aopState", "orderHist", "userFilled", "closedPosition", "userFunding", "userEvent")


def subscription(venue: Venue, channel: str) -> dict[str, Any]:
    """Return a subscription to a channel, of the suite's product or of account 0."""
    if channel in OF_SYMBOL:
        return {"type": channel, "symbol": venue.product["symbol"], **OF_SYMBOL[channel]}
    return {"type": channel, **({"userAddress": development_key(0).address} if channel in ACCOUNT else {})}


def messages(venue: Venue, channel: str) -> list[dict[str, Any]]:
    """Return the messages of a channel, which one connection heard while account 0 traded."""
    answers, heard = venue.once("messages", lambda: _heard(venue))
    if not answers[channel].get("success"):
        if "unsupported" in json.dumps(answers[channel]).lower():
            raise NotServed(str(answers[channel]))
        raise Differs(f"the subscription is refused: {answers[channel]}")
    rows: list[dict[str, Any]] = [one for one in heard if one.get("channel") == channel]
    if not rows and channel == "userFunding":
        raise NotTried("it speaks at a settlement of funding only")
    expect(rows, f"no message within {venue.seconds:g} s")
    return rows


def _heard(venue: Venue) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Subscribe to all channels, do what makes them speak, and return acknowledgements and messages."""
    with contextlib.suppress(NotServed):
        traded(venue)
    with venue.feed() as feed:
        answers = {channel: feed.subscribe(subscription(venue, channel)) for channel in CHANNELS}
        with contextlib.suppress(NotServed):
            trade(venue)
        with contextlib.suppress(NotTried):
            venue.control("advance", span="4h")  # to the next settlement of funding
        awaited = {channel for channel in CHANNELS if answers[channel].get("success")} - {"userFunding"}
        end = time.monotonic() + venue.seconds
        while awaited - {one.get("channel") for one in feed.seen} and time.monotonic() < end:
            feed.listen(0.1)
        feed.listen(0.5)
        return answers, feed.seen


def trade(venue: Venue) -> None:
    """Let account 0 open or grow a position, close it, and open it again."""
    trader = venue.trader(0)
    if size := trader.size(venue.code):
        accepted(trader.place(venue.market("SELL" if size > 0 else "BUY", f"{abs(size):f}")))
    accepted(trader.place(venue.market()))


def form(venue: Venue, channel: object) -> None:
    """Compare `type` and `sequence` with those of the published messages."""
    fields = shapes(f"POST /ws/subscribe/{channel}", ANSWER)
    numbered = "data.sequence" in fields
    kinds = (["snapshot", "incremental"] if numbered else ["incremental"]) if "data.type" in fields else [None]
    for message in messages(venue, str(channel)):
        here = (message["data"].get("type"), "sequence" in message["data"])
        expect(here[0] in kinds and here[1] == numbered, f"type and sequence: {here}")


each("P WebSocket: {} has type and sequence only as published", CHANNELS, form)


def pong(feed: Feed) -> None:
    feed.send({"method": "ping"})
    expect(feed.next() == {"channel": "pong"}, feed.seen)


def acknowledged(venue: Venue, method: object) -> None:
    wanted = {**subscription(venue, "orderBook"), "depth": 50}
    with venue.feed() as feed:
        answer = [feed.subscribe(wanted, one) for one in ("subscribe", str(method))][1]
        expect(answer["success"] is True and answer.get("subject") == f"orderBook.{wanted['symbol']}.50", answer)


def no_subject(venue: Venue, wanted: dict[str, Any]) -> None:
    with venue.feed() as feed:
        answer = feed.subscribe(wanted)
        expect(answer.get("success") is False and answer.get("code") and answer.get("message"), answer)


NO_SUBJECTS = [
    {"type": "nothing"}, {"type": "orderBook", "symbol": "NONESUCH"}, {"type": "ticker"}, {"type": "orderHist"}, {},
]  # fmt: skip
each("P WebSocket: {} is acknowledged with its subject", ["subscribe", "unsubscribe"], acknowledged)
for_all("L WebSocket: what can't be subscribed to is answered with a code and a message", NO_SUBJECTS, no_subject)


@states("P WebSocket: ping is answered pong, and the depth of orderBook is 5 by default")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        pong(feed)
        depth = feed.first({"type": "orderBook", "symbol": venue.product["symbol"]})["data"]["depth"]
        expect(depth == 5, f"the depth is {depth}")


@states("L WebSocket: what is no request is answered with an error, and the connection stays")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        for text in ("{", "[]", '"ping"', '{"method":"dance"}'):
            feed.send(text)
            answer = feed.next()
            expect(answer.get("success") is False, f"{text}: {answer}")
        pong(feed)


def book(message: dict[str, Any]) -> dict[str, dict[Decimal, Decimal]]:
    """Return the levels of a message, by side and price."""
    sides = message["book"]
    return {side: {Decimal(price): Decimal(size) for price, size in sides[side]} for side in ("bids", "asks")}


@states("P WebSocket: orderBook: a snapshot first, sorted and not crossed, then incrementals numbered by one")
def _(venue: Venue) -> None:
    trader = venue.trader(0)
    with venue.feed() as feed:
        first = feed.first({**subscription(venue, "orderBook"), "depth": 50})["data"]
        expect(first["type"] == "snapshot", first["type"])
        bids, asks = ([*book(first)[side]] for side in ("bids", "asks"))
        expect(bids == sorted(bids, reverse=True) and asks == sorted(asks) and bids[0] < asks[0], first["book"])
        accepted(trader.place(venue.resting(of_last="0.999")))
        last = int(first["sequence"])
        for _ in range(3):
            data = feed.data("orderBook")["data"]
            expect(data["type"] == "incremental" and int(data["sequence"]) == last + 1, f"{last}, then {data}")
            last = int(data["sequence"])


@states("L WebSocket: a snapshot with its incrementals equals a new snapshot of the same block")
def _(venue: Venue) -> None:
    wanted = subscription(venue, "orderBook")
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


@states('L WebSocket: in an incremental, quantity "0" removes a level')
def _(venue: Venue) -> None:
    trader, order = venue.trader(0), venue.resting(of_last="0.995")
    price = Decimal(order["ordPx"])
    with venue.feed() as feed:
        feed.first({**subscription(venue, "orderBook"), "depth": 200})
        accepted(trader.place(order))
        feed.data("orderBook", lambda data: book(data)["bids"].get(price, 0) > 0)
        cancel = {"symbolCode": str(venue.code), "clOrdId": str(order["clOrdId"])}
        accepted(trader.act("cancelOrder", cancels=[cancel]))
        feed.data("orderBook", lambda data: price in book(data)["bids"])


@states("P WebSocket: the leverage of a setting is a list of mode and number")
def _(venue: Venue) -> None:
    for message in messages(venue, "aopState"):
        for row in message["data"]["aop"].get("settings", []):
            mode, leverage = row["leverage"]
            expect(mode in ("ONE_WAY", "HEDGE") and Decimal(leverage) >= 1, row)


@states("P WebSocket: a fill is in userFilled, orderHist and the trades of all, at one price")
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
        rested = venue.resting()
        accepted(trader.place(rested))
        feed.data("orderHist", lambda data: any(int(r["clOrdId"]) == rested["clOrdId"] for r in data["orderHists"]))


@states("S Limits: an address may have 10 connections; an eleventh is refused")
def _(venue: Venue) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(11):
            try:
                pong(stack.enter_context(venue.feed()))
            except (WebSocketException, OSError, EOFError, Differs) as error:
                expect(number == 10, f"connection {number + 1} is refused: {error}")
                return
    raise Differs("an eleventh is taken")


@states("S Limits: a connection may have 50 subscriptions; one more is refused")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        for number in range(50):
            answer = feed.subscribe({**subscription(venue, "orderBook"), "depth": number + 1})
            if number == 40:
                feed.listen(1.1)  # 50 messages a second are another limit
            if not answer["success"] and "depth" in str(answer):
                raise NotTried(f"this venue has no fifty subjects of one product: {answer}")
            expect(answer["success"], f"subscription {number + 1}: {answer}")
        expect(feed.subscribe(subscription(venue, "ticker"))["success"] is False, "the 51st is taken")


@states("S Limits: more than 50 messages a second are refused, or the connection is closed")
def _(venue: Venue) -> None:
    with venue.feed() as feed, contextlib.suppress(WebSocketException, OSError, EOFError):
        for _ in range(200):
            feed.send({"method": "ping"})
        answers = [feed.next() for _ in range(200)]
        expect(any(answer.get("success") is False for answer in answers), "200 at once are answered")


@states("P WebSocket: an idle connection is closed after 60 s")
def _(venue: Venue) -> None:
    raise NotTried("it takes a minute in which nothing else is tried")
