"""How a stream opens its connection: addresses, settings, clocks and names, without a venue."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import surface
from tests.client.stream import LIVE_NAMES
from toolkit.client.stream.async_stream import AsyncLive, AsyncStream
from toolkit.client.stream.client import FeedClient
from toolkit.client.stream.kinds import LiveAccount, LiveLog
from toolkit.client.stream.protocol import FeedProtocol
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
def client() -> FeedClient:
    made = FeedClient(FeedProtocol(Settings()))
    made.shell = StillShell()  # type: ignore[assignment]
    return made


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch, client: FeedClient) -> Stream:
    monkeypatch.setattr(Stream, "_new_client", lambda _: client)
    return Stream(session())


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


def test_the_health_of_a_stream_is_that_of_its_connection_and_of_all_that_is_open(
    stream: Stream, client: FeedClient
) -> None:
    closed = StreamHealth(None)
    assert (closed.state, closed.reason, closed.reconnects, closed.age_ms, closed.live, closed.dropped) == (
        *("idle", "", 0, None, [], 0),
    )
    closed.assert_healthy()
    assert repr(closed) == "<StreamHealth idle, 0 live objects, 0 reconnects>"
    one, two = stream.trades("BTCUSDC"), stream.ticker("BTCUSDC")
    protocol = client.protocol
    assert (stream.health.state, stream.health.live, stream.health.age_ms) == ("waiting", [one, two], None)
    protocol.connecting()
    protocol.opened(900)
    assert (stream.health.state, stream.health.age_ms) == ("open", 100)
    StillShell.now = 800
    try:
        assert stream.health.age_ms == 0, "a clock that went back"
    finally:
        StillShell.now = 1_000
    for live in (one, two):
        protocol.topics[live.subject].data.drop("x", "y")
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
