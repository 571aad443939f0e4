"""The feed as published: one message of each channel, with and without the members that not every venue sends."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

import toolkit
from tests.client.stream.test_protocol import Peer
from tests.venue.traders import Trader
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.shell import ThreadShell
from toolkit.client.stream.stream import Stream
from toolkit.client.stream.updates import Settings
from toolkit.errors import MalformedRequest
from toolkit.orders import buy
from toolkit.protocol.fields import L
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.feed import RECORDS
from toolkit.venue.local import LocalVenue

CHANNELS = {name: one for name, one in wire.CHANNELS.items() if one.source is not L}
"""The channels that the exchange publishes."""

LINES = (Path(__file__).parents[2] / "vectors" / "published-feed.jsonl").read_text(encoding="utf-8").splitlines()
PUBLISHED: dict[str, dict[str, Any]] = {one["channel"]: one["message"] for one in map(json.loads, LINES)}
USER = PUBLISHED["userFilled"]["data"]["userFills"][0]["userAddr"]
FIELDS = {"symbol": "BTCUSDC", "depth": 5, "interval": "60", "userAddress": USER}


def subscribed(kind: str) -> tuple[Peer, Any]:
    """Return a peer with an acknowledged subscription of a channel."""
    peer = Peer(rate=None)
    topic = peer.subscribe(kind, **{one.name: FIELDS[one.name] for one in CHANNELS[kind].fields})
    peer.open()
    peer.client.received(wire.acknowledgement("subscribe", topic.subject), peer.now)
    return peer, topic


def message(kind: str, step: int = 0, *, leave_out: tuple[str, ...] = (), **members: Any) -> str:
    """Return the published message, `step` messages later, without some members or with others."""
    whole = copy.deepcopy(PUBLISHED[kind])
    data = whole["data"]
    for name in ("sequence", "blockHeight", "timestamp"):
        if name in data:
            data[name] += 60 * step if kind == "candle" else step
    for items in data.values():
        for item in items if isinstance(items, list) else ():
            if "transactionTime" in item:
                item["transactionTime"] += step
    data.update(members)
    return json.dumps({**whole, "data": {name: value for name, value in data.items() if name not in leave_out}})


def test_every_channel_has_a_published_message() -> None:
    assert set(PUBLISHED) == set(CHANNELS)


@pytest.mark.parametrize("kind", CHANNELS)
def test_declarations_say_what_is_published(kind: str) -> None:
    channel, data = CHANNELS[kind], PUBLISHED[kind]["data"]
    assert ("type" in data, "sequence" in data) == (channel.typed, channel.sequenced)
    items = {channel.key} if channel.key else set(RECORDS[kind].published)
    assert set(data) - {"type", "sequence"} == set(channel.also) | items


@pytest.mark.parametrize("kind", CHANNELS)
@pytest.mark.parametrize("leave_out", [("type",), ("sequence",), ("type", "sequence")])
def test_every_channel_is_read_without_type_and_sequence(kind: str, leave_out: tuple[str, ...]) -> None:
    peer, topic = subscribed(kind)
    for step in range(3):
        peer.client.received(message(kind, step, leave_out=leave_out), peer.now)
    has_sequence = CHANNELS[kind].sequenced and "sequence" not in leave_out
    assert topic.state == ("live" if has_sequence else "live-unsequenced")
    assert (topic.gaps, topic.resyncs, topic.duplicates) == (0, 0, 0)
    assert topic.data.records()


@pytest.mark.parametrize("kind", CHANNELS)
@pytest.mark.parametrize("form", ["snapshot", "incremental"])
def test_every_channel_is_read_with_type_and_sequence(kind: str, form: str) -> None:
    peer, topic = subscribed(kind)
    peer.client.received(message(kind, 0, type=form, sequence=5), peer.now)
    peer.client.received(message(kind, 1, type="incremental", sequence="6"), peer.now)
    if CHANNELS[kind].opens_with_snapshot and form == "incremental":
        assert topic.state == "subscribing", "an increment of a book or account means nothing without its snapshot"
    else:
        assert (topic.state, topic.sequence, topic.gaps) == ("live", 6, 0)


@pytest.mark.parametrize("kind", CHANNELS)
def test_the_same_message_again_and_again_says_that_nothing_changed(kind: str) -> None:
    peer, topic = subscribed(kind)
    for _ in range(90):
        peer.client.received(json.dumps(PUBLISHED[kind]), peer.now)
        assert peer.wait(1_000) in ([], ["ping"])
    assert topic.is_live
    assert len(topic.data.records()) <= 4


@pytest.mark.parametrize("kind", CHANNELS)
def test_unknown_fields_and_fewer_fields_are_read(kind: str) -> None:
    peer, topic = subscribed(kind)
    channel = CHANNELS[kind]
    peer.client.received(message(kind, 0, new={"x": [1]}), peer.now)
    assert topic.is_live
    rows = topic.data.records()
    fewer = {name: rows[0][name] for name in (*channel.identity, *list(rows[0])[:1]) if name in rows[0]}
    if channel.key and channel.style in ("append", "keyed") and kind != "aopState":
        peer.client.received(message(kind, 1, **{channel.key: [fewer]}), peer.now)
        assert topic.is_live


class PublishedVenue:
    """A WebSocket server that acknowledges subscriptions and sends the published messages, each again and again."""

    def __init__(self, every_seconds: float) -> None:
        self.every_seconds = every_seconds
        self.received: list[dict[str, Any]] = []
        self.port = 0
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> PublishedVenue:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with serve(self._answer, "127.0.0.1", 0) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    async def _answer(self, connection: ServerConnection) -> None:
        senders = []
        try:
            async for text in connection:
                asked = json.loads(text)
                self.received.append(asked)
                if asked["method"] == "ping":
                    await connection.send(wire.PONG)
                    continue
                try:
                    checked = wire.parse(text)
                except MalformedRequest as error:
                    await connection.send(wire.refusal("subscribe", error.code, str(error)))
                    continue
                await connection.send(wire.acknowledgement(checked.method, checked.subject))
                senders.append(asyncio.create_task(self._send(connection, checked.channel.type, checked.fields)))
        finally:
            for sender in senders:
                sender.cancel()

    async def _send(self, connection: ServerConnection, kind: str, fields: dict[str, Any]) -> None:
        step = 0
        while True:
            # The published book is a snapshot; what follows it are increments.
            more: dict[str, Any] = {"type": "incremental"} if kind == "orderBook" and step else {}
            if "depth" in fields:
                more["depth"] = fields["depth"]
            await connection.send(message(kind, step, **more).replace(USER, fields.get("userAddress", USER)))
            step += 1
            await asyncio.sleep(self.every_seconds)


@pytest.fixture
def published() -> Iterator[PublishedVenue]:
    with PublishedVenue(0.02) as made:
        yield made


def test_all_channels_are_live_on_a_socket_that_sends_what_is_published(
    published: PublishedVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of virtual time: the stream's time-outs are a sixtieth of its own, for a second.

    The feed's clock advances with the blocks that are received, so a slow computer changes nothing.
    """
    received, clock = FeedProtocol.received, [1_000]

    def counted(protocol: FeedProtocol, text: str | bytes, now_ms: int) -> None:
        received(protocol, text, now_ms)
        clock[0] += 20 * (json.loads(text).get("channel") == "block")

    monkeypatch.setattr(FeedProtocol, "received", counted)
    monkeypatch.setattr(ThreadShell, "now_ms", lambda _: clock[0])
    settings = Settings(
        heartbeat_ms=250,
        answer_ms=300,
        silence_ms={kind: max(250, one.silence_ms // 60) for kind, one in CHANNELS.items()},
        rate=None,
    )
    url = f"ws://127.0.0.1:{published.port}/ws/dex"
    session = SimpleNamespace(_local=None, environment=SimpleNamespace(feed_url=url), account=USER)
    with Stream(session, settings=settings, rng=random.Random(1)) as stream:
        lives = [
            *(stream.order_book("BTCUSDC", 5), stream.candles("BTCUSDC"), stream.trades("BTCUSDC")),
            *(stream.ticker("BTCUSDC"), stream.tickers(), stream.blocks(), stream.block_height()),
            *(stream.transactions(), stream.account(), stream.order_history(), stream.fills()),
            *(stream.closed_positions(), stream.funding(), stream.events(), stream.leverages()),
        ]
        for one in lives:
            one.wait(lambda live: live.updates >= 1)
        blocks = stream.blocks()
        blocks.wait(lambda live: live.updates >= 50)
        for one in lives:
            assert one.is_live, one
            assert not one.stale, one
            assert (one.resyncs, one.gaps) == (0, 0), one
            one.assert_healthy()
            assert len(one.frame())
        asked = [one["subscription"]["type"] for one in published.received if one["method"] != "ping"]
        assert sorted(asked) == sorted(CHANNELS)
        assert stream.health.reconnects == 0
        (leverage,) = stream.leverages().rows()
        assert (leverage.position_mode, str(leverage.leverage)) == ("ONE_WAY", "15")


def test_the_ticket_signs_on_a_socket_that_sends_what_is_published(
    published: PublishedVenue, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalVenue(clock="manual", accounts=1) as venue, toolkit.connect(venue=venue) as session:
        url = f"ws://127.0.0.1:{published.port}/ws/dex"
        feed = SimpleNamespace(_local=None, environment=SimpleNamespace(feed_url=url), account=session.account)
        with Stream(feed, rng=random.Random(1)) as stream:
            monkeypatch.setitem(session.__dict__, "stream", stream)
            ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
            end = time.monotonic() + 10
            while ticket.lock and time.monotonic() < end:
                ticket.refresh()
            assert (ticket.lock, ticket.problems) == ("", ())
            assert ticket.preview()["leverage"] == 15, "the published list, not the default"
            ticket.submit()
            assert ticket.confirm().state == "ACCEPTED"
            ticket.close()


def test_history_and_what_a_break_cost_come_from_the_info_api() -> None:
    with LocalVenue(clock="manual", market=False, accounts=2) as venue, toolkit.connect(venue=venue) as session:
        bob = Trader(venue, 1)

        def trade() -> None:
            session.place(buy("BTCUSDC", "0.01", "62000"))
            bob.place("SELL", "62000", "0.01")

        trade()
        fills, history = session.stream.fills(), session.stream.order_history()
        candles = session.stream.candles("BTCUSDC")
        assert (fills.state, len(fills), len(history)) == ("live-unsequenced", 1, 2)
        trade()
        assert (len(fills), len(history)) == (2, 4)
        venue.host.feed.faults.cut()
        trade()
        venue.advance("1m")
        assert fills.is_live
        info = session.info.fills()
        assert list(fills.frame()["exec_id"]) == list(info["exec_id"])
        assert list(fills.frame()["tx_hash"]) == list(info["tx_hash"])
        assert len(history) == 6
        assert len(candles) == len(session.klines("BTCUSDC", "1m"))
