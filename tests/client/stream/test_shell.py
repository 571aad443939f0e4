"""The feed's thread over connections that a test gives: when it connects, sends, reads, pauses and ends."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolkit.client.stream import shell as shells
from toolkit.client.stream.client import FeedClient
from toolkit.client.stream.connections import ConnectionEnded, HubConnection
from toolkit.client.stream.kinds import LiveLog, LiveValue
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.client.stream.shell import ThreadShell
from toolkit.client.stream.updates import Settings
from toolkit.errors import FeedError
from toolkit.protocol.reads import feed as wire

BTC = {"symbol": "BTCUSDC"}
USER = "0x" + "ab" * 20


def has_update(live: Any) -> bool:
    """Return whether there was an update."""
    return bool(live.updates)


class Line:
    """A connection in the test's hands. `say` sends a text to the client, `end` ends it."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.closed = 0
        self.takes = True
        self.news = threading.Condition()
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    async def send(self, text: str) -> None:
        if not self.takes:
            await asyncio.sleep(60)
        with self.news:
            self.sent.append(text)
            self.news.notify_all()

    async def receive(self) -> str:
        text = await self._texts.get()
        if text is None:
            raise ConnectionEnded("the line was cut")
        return text

    async def close(self) -> None:
        with self.news:
            self.closed += 1
            self.news.notify_all()

    def say(self, text: str | None) -> None:
        self._loop.call_soon_threadsafe(self._texts.put_nowait, text)

    def ticker(self, sequence: int, form: str = "snapshot") -> None:
        data = {"type": form, "sequence": sequence, **BTC, "ticker": {"s": "BTCUSDC", "p": str(sequence)}}
        self.say(json.dumps({"channel": "ticker", "data": data}))

    def wait_sent(self, count: int) -> list[str]:
        """Wait for so many texts, and return the methods with their channels."""
        with self.news:
            assert self.news.wait_for(lambda: len(self.sent) >= count, 10), self.sent
        parsed = [wire.parse(text) for text in self.sent]
        return [f"{one.method} {one.channel.type if one.channel else ''}".strip() for one in parsed]


class Lines:
    """Makes connections, or fails as `plan` says, and counts the attempts."""

    def __init__(self) -> None:
        self.plan: list[BaseException | None] = []
        self.made: list[Line] = []
        self.attempts = 0
        self.news = threading.Condition()

    async def connect(self) -> Any:
        self.attempts += 1
        failure = self.plan.pop(0) if self.plan else None
        if isinstance(failure, TimeoutError):
            await asyncio.sleep(60)
        if failure is not None:
            raise failure
        with self.news:
            self.made.append(Line())
            self.news.notify_all()
        return self.made[-1]

    def wait(self, count: int = 1) -> Line:
        with self.news:
            assert self.news.wait_for(lambda: len(self.made) >= count, 10), self.attempts
        return self.made[count - 1]


Open = Callable[..., tuple[FeedClient, Lines]]


@pytest.fixture
def feed() -> Iterator[Open]:
    made: list[FeedClient] = []

    def open_feed(history: Any = None, **settings: Any) -> tuple[FeedClient, Lines]:
        lines = Lines()
        options = {"rate": None, "backoff_ms": 1, **settings}
        client = FeedClient(FeedProtocol(Settings(**options), random.Random(1)), history)
        client.shell = ThreadShell(client, lines.connect)
        made.append(client)
        return client, lines

    yield open_feed
    for client in made:
        client.close()
    assert not [one for one in threading.enumerate() if one.name in ("toolkit-feed", "toolkit-history")]


def ticker(client: FeedClient) -> LiveValue:
    return LiveValue(client, wire.CHANNELS["ticker"], BTC)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (OSError("refused"), "could not connect: refused"),
        (OSError(), "could not connect: OSError"),
        (TimeoutError(), "could not connect: TimeoutError"),
        (RuntimeError("odd"), "could not connect: odd"),
    ],
)
def test_a_connection_that_can_not_be_made_is_tried_again(feed: Open, failure: Exception, reason: str) -> None:
    client, lines = feed(connect_ms=20)
    lines.plan = [failure, failure]
    reasons: list[str] = []
    client.observe = lambda event: reasons.append(event.topic.reason)
    live = ticker(client)
    lines.wait().ticker(1)
    live.wait(has_update, timeout=10)
    assert lines.attempts == 3
    assert reasons[0] == reason
    assert client.protocol.reconnects == 0, "there was no connection to lose"


def test_a_line_that_takes_no_more_messages_is_given_up(feed: Open) -> None:
    client, lines = feed(answer_ms=50)
    live = ticker(client)
    line = lines.wait()
    line.ticker(1)
    live.wait(has_update, timeout=10)
    line.takes = False
    line.ticker(3, "incremental")  # a gap, so that something is to be sent
    lines.wait(2)
    assert line.closed == 1
    assert client.protocol.reason == "the connection takes no more messages"


def test_an_unused_connection_is_closed_after_its_time_and_made_again_for_the_next_use(feed: Open) -> None:
    client, lines = feed(linger_ms=1)
    live = ticker(client)
    line = lines.wait()
    live.close()
    with line.news:
        assert line.news.wait_for(lambda: line.closed, 10)
    again = ticker(client)
    lines.wait(2).ticker(1)
    again.wait(has_update, timeout=10)
    assert client.protocol.phase == "open"


def test_a_history_is_read_next_to_the_feed_and_joined_with_what_came_meanwhile(feed: Open) -> None:
    asked, go = threading.Event(), threading.Event()
    fill = {"userAddr": USER, "symbol": "BTCUSDC", "ordSide": "BUY", "filledPx": "1", "execQty": "1", "ordId": 1}

    def history(topic: Any) -> dict[str, Any]:
        asked.set()
        assert go.wait(10)
        return {"userFills": [{**fill, "execId": at, "transactionTime": at} for at in (1, 2)]}

    client, lines = feed(history)
    live = LiveLog(client, wire.CHANNELS["userFilled"], {"userAddress": USER})
    line = lines.wait()
    line.wait_sent(1)
    line.say(wire.acknowledgement("subscribe", live.subject))
    assert asked.wait(10)
    data = {"type": "incremental", "userFills": [{**fill, "execId": 3, "transactionTime": 3}]}
    line.say(json.dumps({"channel": "userFilled", "data": data}))
    live.wait(lambda one: len(one) == 1, timeout=10)
    go.set()
    live.wait(lambda one: len(one) == 3, timeout=10)
    assert [one.exec_id for one in live.rows()] == [1, 2, 3]


def test_a_callback_may_close_the_stream_and_does_not_wait_for_itself(feed: Open) -> None:
    client, lines = feed()
    live, ended = ticker(client), threading.Event()

    @live.on_update
    def stop(_: Any) -> None:
        client.close()
        ended.set()

    line = lines.wait()
    line.ticker(1)
    assert ended.wait(10)
    with line.news:
        assert line.news.wait_for(lambda: line.closed, 10)
    assert live.errors == []


def test_a_live_object_that_is_opened_during_a_close_is_closed_or_refused(feed: Open) -> None:
    client, lines = feed()
    wake, shell = client.shell.wake, client.shell

    def close_meanwhile() -> None:
        shell.wake = wake  # type: ignore[method-assign]
        closing = threading.Thread(target=client.close)
        closing.start()
        closing.join(10)
        wake()

    shell.wake = close_meanwhile  # type: ignore[method-assign]
    assert ticker(client).state == "closed"
    with pytest.raises(FeedError, match="ticker: the stream was closed meanwhile"):
        ticker(client)
    assert (lines.attempts, client.protocol.phase) == (0, "idle")


def test_a_history_that_fails_is_the_reason_and_not_the_end(feed: Open) -> None:
    def history(_: Any) -> dict[str, Any]:
        raise RuntimeError("no route")

    client, lines = feed(history)
    live = LiveLog(client, wire.CHANNELS["userFilled"], {"userAddress": USER})
    line = lines.wait()
    line.wait_sent(1)
    line.say(wire.acknowledgement("subscribe", live.subject))
    live.wait(lambda one: one.reason.endswith("earlier records are not known: no route"), timeout=10)
    assert live.is_live


class Hub:
    """The feed of a venue in this process, as a connection sees it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.sent: list[str] = []
        self.closed, self.reason, self.on_wake = False, "", None
        self.names: list[str] = []

    def open(self, name: str, clock: Any) -> Hub:
        self.names.append(name)
        assert clock() > 0
        return self

    def send(self, text: str) -> None:
        self.sent.append(text)

    def drain(self) -> list[str]:
        texts, self.texts = self.texts, []
        return texts

    def close(self) -> None:
        self.closed = True


def test_a_connection_in_this_process_gives_every_text_before_its_end() -> None:
    async def use() -> None:
        hub = Hub()
        hub.texts = ["1"]
        connection = await HubConnection.connect(hub)
        other = await HubConnection.connect(Hub())
        assert await connection.receive() == "1"
        waiting = asyncio.create_task(connection.receive())
        await asyncio.sleep(0)
        hub.texts = ["2", "3"]
        assert hub.on_wake is not None
        threading.Thread(target=hub.on_wake).start()
        assert await asyncio.wait_for(waiting, 10) == "2"
        hub.closed, hub.reason = True, "maintenance"
        assert await connection.receive() == "3"
        for _ in range(2):
            with pytest.raises(ConnectionEnded, match="the venue closed the connection: maintenance"):
                await asyncio.wait_for(connection.receive(), 10)
        await connection.send("hello")
        await connection.close()
        assert (hub.sent, hub.on_wake, len(hub.names)) == (["hello"], None, 1)
        assert other is not connection

    asyncio.run(use())


@pytest.mark.parametrize("restarted", [False, True])
def test_threads_that_are_left_running_end_with_the_program(
    feed: Open, restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the next live object comes after the thread's last look for work, and before it is gone."""
    client, lines = feed(linger_ms=1)
    run, later = asyncio.run, list[LiveValue]()

    def run_and_restart(main: Any) -> None:
        run(main)
        if not later:
            later.append(ticker(client))

    if restarted:
        monkeypatch.setattr(asyncio, "run", run_and_restart)
    live = ticker(client)
    [first] = [one for one in threading.enumerate() if one.name == "toolkit-feed"]
    line = lines.wait()
    line.wait_sent(1)
    if restarted:
        live.close()
        first.join(10)
        assert not first.is_alive()
        live, line = later[0], lines.wait(2)
    line.ticker(1)
    live.wait(has_update, timeout=10)
    assert first.daemon
    shells._stop_all()
    assert line.closed == 1
    assert not [one for one in threading.enumerate() if one.name == "toolkit-feed"]
