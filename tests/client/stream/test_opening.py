"""How a stream opens its connection: addresses, settings, clocks and names, without a venue."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import Any

import pytest

from tests import surface
from tests.client.stream import LIVE_NAMES
from toolkit.client.stream import stream as streams
from toolkit.client.stream.async_stream import AsyncLive, AsyncStream
from toolkit.client.stream.kinds import LiveAccount, LiveLog
from toolkit.client.stream.shell import DirectShell, ThreadShell
from toolkit.client.stream.stream import Stream, StreamHealth
from toolkit.client.stream.updates import Settings
from toolkit.errors import InputError

USER, OTHER = "0x" + "ab" * 20, "0x" + "cd" * 20


def session(*, account: str | None = USER, local: Any = None) -> Any:
    environment = SimpleNamespace(feed_url="ws://127.0.0.1:9")
    return SimpleNamespace(_local=local, environment=environment, account=account)


class StillShell:
    """A shell that connects to nothing."""

    manual = True
    now = 1_000

    def now_ms(self) -> int:
        return self.now

    def wake(self) -> None:
        self.woken = getattr(self, "woken", 0) + 1

    pump = stop = wake

    def is_reader_thread(self) -> bool:
        return False


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> Stream:
    made = Stream(session())
    client = made._new_client()
    client.shell = StillShell()
    monkeypatch.setattr(made, "_new_client", lambda: client)
    return made


@pytest.mark.parametrize(
    ("name", "channel", "part"),
    [
        ("account", "aopState", "accounts"),
        ("orders", "aopState", "orders"),
        ("positions", "aopState", "positions"),
        ("leverages", "aopState", "settings"),
        ("fills", "userFilled", ""),
        ("order_history", "orderHist", ""),
        ("closed_positions", "closedPosition", ""),
        ("funding", "userFunding", ""),
        ("events", "userEvent", ""),
    ],
)
def test_what_is_of_an_account_is_of_the_sessions_or_of_another(
    stream: Stream, name: str, channel: str, part: str
) -> None:
    own, other = getattr(stream, name)(), getattr(stream, name)(OTHER)
    assert (own.subject, other.subject) == (f"{channel}.{USER}", f"{channel}.{OTHER}")
    assert type(own) is (LiveAccount if part else LiveLog)
    assert getattr(own, "_part", "") == part
    with pytest.raises(InputError, match=r"whose account\? give an address, or connect\(account=…\)") as caught:
        getattr(Stream(session(account=None)), name)()
    assert (caught.value.field, caught.value.rule) == ("address", "required")


@pytest.mark.parametrize(
    ("name", "given", "subject"),
    [
        ("order_book", ("BTCUSDC",), "orderBook.BTCUSDC.20"),
        ("order_book", ("BTCUSDC", 200), "orderBook.BTCUSDC.200"),
        ("trades", ("BTCUSDC",), "trades.BTCUSDC"),
        ("ticker", ("BTCUSDC",), "ticker.BTCUSDC"),
        ("tickers", (), "allTickers"),
        ("candles", ("BTCUSDC",), "candle.BTCUSDC.60"),
        ("candles", ("BTCUSDC", "4h"), "candle.BTCUSDC.14400"),
        ("blocks", (), "block"),
        ("block_height", (), "blockHeight"),
        ("transactions", (), "tx"),
    ],
)
def test_each_method_subscribes_to_its_channel(stream: Stream, name: str, given: tuple[Any, ...], subject: str) -> None:
    assert getattr(stream, name)(*given).subject == subject
    twin = getattr(AsyncStream(stream), name)(*given)
    assert type(twin) is AsyncLive
    assert twin.sync.subject == subject


def test_an_exchange_is_read_by_a_thread_within_the_time_and_rate_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reached: list[Any] = []

    async def connect(*given: Any) -> str:
        reached.append(given)
        return "connected"

    monkeypatch.setattr(streams.SocketConnection, "connect", connect)
    for settings in (None, Settings(connect_ms=2_500, rate=7)):
        rng, speed = random.Random(5), lambda: 2.0
        made = Stream(session(), settings=settings, rng=rng, observe=print, speed=speed)
        assert made.settings == (settings or Settings())
        client = made._new_client()
        assert isinstance(client.shell, ThreadShell)
        assert client.protocol.settings == (settings or Settings())
        assert (client.protocol._random, client.protocol.speed, client.observe) == (rng, speed, print)
        assert asyncio.run(client.shell._connector()) == "connected"  # type: ignore[arg-type,comparison-overlap]
        assert client.history is None
    assert reached == [("ws://127.0.0.1:9", 10.0), ("ws://127.0.0.1:9", 2.5)]


@pytest.mark.parametrize("runs", [True, False])
def test_a_manual_clock_has_no_thread_and_no_rate(runs: bool) -> None:
    host = SimpleNamespace(clock=SimpleNamespace(runs=runs), feed=object(), now_ms=lambda: 5)
    local = SimpleNamespace(host=host)
    made = Stream(session(local=local), speed=lambda: 3.0)
    client = made._new_client()
    assert type(client.shell) is (ThreadShell if runs else DirectShell)
    assert client.shell.manual is not runs
    assert client.protocol.settings.rate == (40 if runs else None)
    assert client.protocol.speed() == (3.0 if runs else 1.0)
    given = Stream(session(local=local), settings=Settings(rate=3))
    assert given._new_client().protocol.settings.rate == 3


def test_warnings_of_a_stream_are_those_of_its_session() -> None:
    door = object()
    with_info = session()
    with_info.info = SimpleNamespace(_reader=SimpleNamespace(door=door))
    assert Stream(with_info)._new_client().door is door
    assert Stream(session())._new_client().door is not door


def test_the_health_of_a_stream_is_that_of_its_connection_and_of_all_that_is_open(stream: Stream) -> None:
    closed = StreamHealth(None)
    assert (closed.state, closed.reason, closed.reconnects, closed.age_ms, closed.live, closed.dropped) == (
        *("idle", "", 0, None, [], 0),
    )
    closed.assert_healthy()
    closed._watch(5)
    assert repr(closed) == "<StreamHealth idle, 0 live objects, 0 reconnects>"
    one, two = stream.trades("BTCUSDC"), stream.ticker("BTCUSDC")
    protocol, shell = stream._open().protocol, stream._open().shell
    assert (stream.health.state, stream.health.live, stream.health.age_ms) == ("waiting", [one, two], None)
    protocol.connecting()
    protocol.opened(900)
    assert (stream.health.state, stream.health.age_ms) == ("open", 100)
    StillShell.now = 800
    try:
        assert stream.health.age_ms == 0, "a clock that went back"
    finally:
        StillShell.now = 1_000
    woken = shell.woken  # type: ignore[attr-defined]
    stream.health._watch(500)
    assert (protocol.watch_ms, shell.woken) == (500, woken + 1)  # type: ignore[attr-defined]
    stream.health._watch(500)
    assert shell.woken == woken + 1, "there is nothing new"  # type: ignore[attr-defined]
    one._topic.data.drop("x", "y")
    two._topic.data.drop("x", "y")
    assert stream.health.dropped == 2
    protocol.lost(1_000, "reset")
    assert (stream.health.reason, stream.health.reconnects) == ("reset", 1)
    assert repr(stream.health) == "<StreamHealth waiting, 2 live objects, 1 reconnects, 2 left out>"
    assert repr(stream) == "<Stream waiting: trades.BTCUSDC, ticker.BTCUSDC>"
    assert repr(AsyncStream(stream)) == "<AsyncStream waiting: trades.BTCUSDC, ticker.BTCUSDC>"


def test_names_of_a_stream_are_those_that_a_user_needs(stream: Stream) -> None:
    assert "assert_healthy" not in dir(stream)
    assert {"health", "settings", *LIVE_NAMES} <= set(dir(stream))
    assert surface.public(AsyncStream(stream)) == sorted({*LIVE_NAMES, "close", "health"})
    with stream as same:
        assert same is stream
        live = stream.tickers()
        with pytest.raises(InputError, match=r"the stream is open\. Set settings before the first live object"):
            stream.settings = Settings()
    assert live.state == "closed"
    stream.settings = Settings(heartbeat_ms=5)
    assert stream.settings.heartbeat_ms == 5
