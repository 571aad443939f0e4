"""Each trouble of the feed does what it says to its channel, and to no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from toolkit.venue.feed.hub import FeedConnection
from toolkit.venue.local import LocalVenue
from toolkit.venue.trouble import (
    CandleGrid,
    FeedDoor,
    LargeMessages,
    LateMessages,
    LostMessages,
    MessageLimit,
    Phase,
    RepeatedMessages,
    Trouble,
)

DAY = 86_400


class Reader:
    """A client of the feed that reads the book and the trades of BTCUSDC."""

    def __init__(self, venue: LocalVenue) -> None:
        self.venue = venue
        self.connection: FeedConnection = venue.host.feed.open()
        self.price = 50_000

    def subscribe(self, **subscription: Any) -> None:
        self.connection.send(json.dumps({"method": "subscribe", "subscription": subscription}))

    def trade(self) -> None:
        """Change the book twice: by an order, and by the trade that takes it."""
        self.price += 10
        self.venue.control.add_liquidity("BTCUSDC", "SELL", str(self.price), "0.001")
        order = {"symbolCode": 1, "ordPx": str(self.price), "ordQty": "0.001", "ordType": "LIMIT", "ordSide": "BUY"}
        action = {"type": "placeOrder", "orders": [{**order, "timeInForce": "IOC"}]}
        assert self.venue.control.act(self.venue.host.masters[0], action)["code"] == 0

    def take(self) -> list[str]:
        """Return the channels of the data messages that came, in order."""
        return [message["channel"] for message in map(json.loads, self.connection.drain()) if "data" in message]


@pytest.fixture
def reader() -> Iterator[Reader]:
    with LocalVenue(clock="manual", market=False, accounts=2) as venue:
        made = Reader(venue)
        made.subscribe(type="orderBook", symbol="BTCUSDC", depth=5)
        made.subscribe(type="trades", symbol="BTCUSDC")
        made.connection.drain()
        yield made


BOOK, TRADES = "orderBook", "trades"


@pytest.mark.parametrize(
    ("phase", "came", "applied"),
    [
        (LostMessages(channel=TRADES), [BOOK, BOOK], 1),
        (LostMessages(), [], 3),
        (LostMessages(channel="order*"), [TRADES], 2),
        (RepeatedMessages(channel=TRADES), [BOOK, BOOK, TRADES, TRADES], 1),
        (MessageLimit(size=10, then="lose", channel=TRADES), [BOOK, BOOK], 1),
        (MessageLimit(size=100_000), [BOOK, BOOK, TRADES], 0),
        (LargeMessages(channel=TRADES, size=100_000), [BOOK, BOOK, TRADES], 1),
        (LostMessages(start="1s"), [BOOK, BOOK, TRADES], 0),
    ],
    ids=str,
)
def test_messages_of_a_channel_are_lost_repeated_or_filled(
    reader: Reader, phase: Phase, came: list[str], applied: int
) -> None:
    reader.venue.control.set_trouble([phase])
    reader.trade()
    assert sorted(reader.take()) == came
    assert reader.venue.control.trouble_counts() == {type(phase).__name__: applied}
    reader.venue.control.clear_trouble()
    reader.trade()
    assert sorted(reader.take()) == [BOOK, BOOK, TRADES]


def test_a_large_message_says_the_same(reader: Reader) -> None:
    reader.venue.control.set_trouble([LargeMessages(channel=TRADES, size=70_000)])
    reader.trade()
    [text] = [text for text in reader.connection.drain() if TRADES in text]
    assert len(text) == 70_000
    assert json.loads(text)["data"]["trades"][0]["filledPx"] == "50010.0"


def test_a_connection_is_closed_at_a_message_above_the_limit(reader: Reader) -> None:
    reader.venue.control.set_trouble([MessageLimit(size=10)])
    reader.trade()
    assert (reader.connection.closed, reader.connection.close_code) == (True, 1009)
    assert reader.venue.control.trouble_counts() == {"MessageLimit": 1}


def test_late_messages_come_in_order_also_after_the_phase(reader: Reader) -> None:
    reader.venue.control.set_trouble([LateMessages(channel=TRADES, by="3s", end="2s")])
    came = []
    for _ in range(6):
        reader.trade()
        came.append(reader.take().count(TRADES))
        reader.venue.advance("1s")
    # Those of seconds 0 and 1 come 3 s late. The ones of seconds 2 and 3 wait behind them, and the rest come in time.
    assert came == [0, 0, 0, 1, 4, 1]


def test_late_messages_arrive_when_the_trouble_is_cleared_and_keep_their_sequence(reader: Reader) -> None:
    reader.venue.control.set_trouble([LateMessages(by="1h")])
    for _ in range(3):
        reader.trade()
    assert reader.take() == []
    reader.venue.control.clear_trouble()
    messages = [json.loads(text)["data"] for text in reader.connection.drain()]
    sequences = [message["sequence"] for message in messages if "book" in message]
    assert sequences == list(range(sequences[0], sequences[0] + 6))


def test_after_a_revert_only_its_snapshot_is_late(reader: Reader) -> None:
    number = reader.venue.snapshot()
    reader.venue.control.set_trouble([LateMessages(channel=TRADES, by="2s")])
    reader.trade()
    reader.venue.revert(number)
    assert TRADES not in reader.take()
    reader.venue.advance("2s")
    [late] = [json.loads(text)["data"] for text in reader.connection.drain() if TRADES in text]
    assert (late["type"], late["trades"]) == ("snapshot", [])


def test_the_feed_has_the_same_candles_as_the_queries() -> None:
    with LocalVenue(clock="manual", market="calm") as venue:
        venue.control.set_trouble([CandleGrid(day="16h", week="monday")])
        reader = Reader(venue)
        for interval in (DAY, 7 * DAY, 60):
            reader.subscribe(type="candle", symbol="BTCUSDC", interval=str(interval))
        venue.advance("1m")
        messages = [json.loads(text) for text in reader.connection.drain()]
        newest = {one["data"]["intrvl"]: one["data"] for one in messages if one.get("channel") == "candle"}
        with httpx.Client(transport=venue.transport(), base_url="http://venue") as http:
            for interval, candle in newest.items():
                asked = {"symbol_name": "BTCUSDC", "interval": interval, "limit": 1}
                assert http.get("/info/kline/last", params=asked).json()["data"] == [candle]
        assert (newest[DAY]["timestamp"] % DAY, newest[7 * DAY]["timestamp"] // DAY % 7) == (16 * 3600, 4)


def test_a_feed_behind_another_door_is_not_at_the_address_of_the_requests() -> None:
    with (
        LocalVenue(clock="manual", market=False, trouble=Trouble(FeedDoor(end="1h"))) as venue,
        venue.serve() as served,
    ):
        wrong = f"{served.base_url.replace('http', 'ws')}/ws/dex"
        assert not wrong.startswith(served.ws_url)
        with pytest.raises(InvalidStatus) as refused, connect(wrong, open_timeout=20):
            pass
        assert refused.value.response.status_code == 404
        with connect(f"{served.environment.ws_url}/ws/dex", open_timeout=20) as feed:
            feed.send('{"method":"ping"}')
            assert json.loads(feed.recv(timeout=20)) == {"channel": "pong"}
        assert venue.control.trouble_counts() == {"FeedDoor": 1}
        venue.advance("1h")
        with connect(wrong, open_timeout=20):
            pass
