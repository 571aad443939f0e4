"""`session.stream`: live objects over one connection that reconnects automatically.

The connection opens with the first live object and closes some seconds after the last one. It runs on its own thread
and event loop. With a venue in this process and a manual clock there is no thread and no socket: the updates caused by
a command have arrived when the command returns.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

from ...environments import Environment
from ...errors import InputError, SessionClosed
from ...guards import without_keys
from ...numerals import Span
from ...protocol.reads.channel import ACCOUNT, INTERVALS, Channel
from ...protocol.reads.channels import account, chain, market
from ...suggestions import Suggesting
from ..io.flow import Runtime
from ..io.rate_limits import VenueGate
from ..reads.conversion import seconds
from .channel_state import BookState
from .client import FeedClient, history_reader
from .connections import HubConnection, SocketConnector
from .kinds import LiveAccount, LiveBook, LiveCandles, LiveLog, LiveTable, LiveValue
from .live import Live
from .protocol import FeedProtocol
from .shell import DirectShell, ThreadShell
from .updates import FeedEvent, Settings


class SessionLike(Protocol):
    """The part of its session that a stream uses: addresses of feed and account, the venue in this process or None."""

    _local: Any

    @property
    def environment(self) -> Environment: ...
    @property
    def account(self) -> str | None: ...


@without_keys
class Stream(Suggesting):
    """Live objects of one session, at which it is found. Made by `connect`.

    Parameters
    ----------
    session : Session
        The session.
    settings : Settings, optional
        The connection's time-outs and limits, see `Settings`. Set them before the first live object.
    rng : random.Random, optional
        Randomness of its back-off.
    observe : callable, optional
        Is given every update.
    speed : callable, optional
        Function that returns the speed of the venue's time.
    is_over : callable, optional
        Function that returns whether the session is closed.
    gate : VenueGate, optional
        When requests to the venue may leave (default: a new one).
    runtime : Runtime, optional
        Clocks and random numbers of the session (default: this machine's).
    """

    _path = "session.stream"
    _parts = ("health",)

    def __init__(
        self,
        session: SessionLike,
        *,
        settings: Settings | None = None,
        rng: random.Random | None = None,
        observe: Callable[[FeedEvent], None] | None = None,
        speed: Callable[[], float] = lambda: 1.0,
        is_over: Callable[[], bool] = lambda: False,
        gate: VenueGate | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self._session = session
        self._gate, self._runtime = gate or VenueGate(), runtime or Runtime()
        self._observe, self._speed, self._is_over = observe, speed, is_over
        self._settings = settings
        self._rng = rng
        self._client: FeedClient | None = None
        self._lock = threading.Lock()

    def order_book(self, symbol: str, depth: int = 20) -> LiveBook:
        """Return the live order book of a product.

        Parameters
        ----------
        symbol : str
            Product, by symbol.
        depth : int, optional
            Levels a side, 1 to 200 (default: 20).

        Returns
        -------
        LiveBook

        Examples
        --------
        >>> session.stream.order_book("BTCUSDC", depth=1).frame().values.tolist()
        [['BUY', 1, 62493.4, 0.344], ['SELL', 1, 62506.6, 0.359]]
        """
        return LiveBook(self._open(), market.ORDER_BOOK, {"symbol": symbol, "depth": depth})

    def trades(self, symbol: str) -> LiveLog:
        """Return the public trades of a product as they happen, starting with the last ones.

        Parameters
        ----------
        symbol : str
            Product, by symbol.

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> session.stream.trades("BTCUSDC").frame()["price"].tail(2).tolist()
        [62503.4, 62500.0]
        """
        return LiveLog(self._open(), market.TRADES, {"symbol": symbol})

    def ticker(self, symbol: str) -> LiveValue:
        """Return prices, open interest, funding and 24 h statistics of a product.

        Parameters
        ----------
        symbol : str
            Product, by symbol.

        Returns
        -------
        LiveValue

        Examples
        --------
        >>> live = session.stream.ticker("BTCUSDC")
        >>> _ = live.frame()
        >>> live.value.last
        Decimal('62500.0')
        """
        return LiveValue(self._open(), market.TICKER, {"symbol": symbol})

    def tickers(self) -> LiveTable:
        """Return the tickers of all products, by symbol.

        Returns
        -------
        LiveTable

        Examples
        --------
        >>> session.stream.tickers().frame()["mark_price"].head(2).tolist()
        [62500.0, 2450.0]
        """
        return LiveTable(self._open(), market.ALL_TICKERS, {})

    def candles(self, symbol: str, interval: Span = "1m") -> LiveCandles:
        """Return the candles of a product: the last ones and the one still forming.

        Parameters
        ----------
        symbol : str
            Product, by symbol.
        interval : str or timedelta, optional
            Length of a candle, a span such as "4h" or "1d", or a timedelta (default: "1m").

        Returns
        -------
        LiveCandles

        Examples
        --------
        >>> session.stream.candles("BTCUSDC", "1h").frame()["close"].tail(2).tolist()
        [61387.8, 62500.0]
        """
        fields = {"symbol": symbol, "interval": str(seconds(interval, INTERVALS))}
        return LiveCandles(self._open(), market.CANDLE, fields)

    def account(self, address: str | None = None) -> LiveAccount:
        """Return the wallet of an account: balance, equity, available margin, fee rates.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveAccount

        Examples
        --------
        >>> session.stream.account().frame()["balance"].tolist()
        [10000.0]
        """
        return self._part("accounts", address)

    def orders(self, address: str | None = None) -> LiveAccount:
        """Return the open orders of an account, including untriggered ones.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveAccount

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> session.stream.orders().frame()["status"].tolist()
        ['NEW']
        """
        return self._part("orders", address)

    def positions(self, address: str | None = None) -> LiveAccount:
        """Return the positions of an account, by symbol.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveAccount

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.stream.positions().frame()["long_size"].tolist()
        [0.01]
        """
        return self._part("positions", address)

    def leverages(self, address: str | None = None) -> LiveAccount:
        """Return the leverage settings of an account, by symbol.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveAccount

        Examples
        --------
        >>> _ = session.exchange.set_leverage("BTCUSDC", "5")
        >>> session.stream.leverages().frame()["leverage"].tolist()
        [5.0]
        """
        return self._part("settings", address)

    def fills(self, address: str | None = None) -> LiveLog:
        """Return fills of an account as they happen, and the last ones first.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.stream.fills().frame()["quantity"].tolist()
        [0.01]
        """
        return self._log(account.USER_FILLED, address)

    def order_history(self, address: str | None = None) -> LiveLog:
        """Return every status change of an account's orders as it happens.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.stream.order_history().frame()["status"].tolist()
        ['NEW', 'FILLED']
        """
        return self._log(account.ORDER_HIST, address)

    def closed_positions(self, address: str | None = None) -> LiveLog:
        """Return closed positions of an account as they happen.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> live = session.stream.closed_positions()
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> _ = session.close_position("BTCUSDC")
        >>> live.frame()["pnl"].tolist()
        [-0.132]
        """
        return self._log(account.CLOSED_POSITION, address)

    def funding(self, address: str | None = None) -> LiveLog:
        """Return funding payments of an account as they happen.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> session.stream.funding().frame().columns[:4].tolist()
        ['time', 'symbol', 'side', 'size']
        """
        return self._log(account.USER_FUNDING, address)

    def events(self, address: str | None = None) -> LiveLog:
        """Return events of an account as they happen: orders, actions, approvals, vaults.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> live = session.stream.events()
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> live.frame()["kind"].tolist()
        ['perpOrder', 'perpOrder', 'actionAck']
        """
        return self._log(account.USER_EVENT, address)

    def blocks(self) -> LiveLog:
        """Return blocks as they are made.

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> live = session.stream.blocks()
        >>> _ = session.venue.advance("2s")
        >>> live.frame()["block"].tolist()
        [1, 2]
        """
        return LiveLog(self._open(), chain.BLOCK, {})

    def block_height(self) -> LiveValue:
        """Return the height of the newest block.

        Returns
        -------
        LiveValue

        Examples
        --------
        >>> _ = session.venue.advance("2s")
        >>> int(session.stream.block_height().frame()["block"].item())
        2
        """
        return LiveValue(self._open(), chain.BLOCK_HEIGHT, {})

    def transactions(self) -> LiveLog:
        """Return the transactions of all accounts as they happen.

        Returns
        -------
        LiveLog

        Examples
        --------
        >>> live = session.stream.transactions()
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> live.frame()["action"].tolist()
        ['placeOrder']
        """
        return LiveLog(self._open(), chain.TX, {})

    @property
    def settings(self) -> Settings:
        """The connection's time-outs and limits. Can be set before the first live object."""
        return self._settings or Settings()

    @settings.setter
    def settings(self, settings: Settings) -> None:
        if self._client is not None:
            raise InputError("the stream is open. Set settings before the first live object, or after close()")
        self._settings = settings

    @property
    def health(self) -> StreamHealth:
        """How the connection and its live objects are: `state`, `reason`, `reconnects`, `live`, `assert_healthy()`."""
        return StreamHealth(self._client)

    def assert_healthy(self, max_age_ms: int | None = None) -> None:
        """Raise unless the connection and its open live objects are healthy, see `Live.assert_healthy`.

        Parameters
        ----------
        max_age_ms : int, optional
            Highest age in ms (default: as long as the feed may be silent).

        Examples
        --------
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.frame()
        >>> session.stream.assert_healthy(max_age_ms=1_000)
        >>> session.stream.health.state
        'open'
        """
        self.health.assert_healthy(max_age_ms)

    def close(self) -> None:
        """Close all live objects, the connection and its thread. The stream can be used again.

        Examples
        --------
        >>> live = session.stream.trades("BTCUSDC")
        >>> _ = live.frame()
        >>> session.stream.close()
        >>> live.state
        'closed'
        """
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        health = self.health
        names = ", ".join(one.subject for one in health.live)
        return f"<Stream {health.state}{': ' + names if names else ''}>"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "assert_healthy"]  # its place is `health`

    def _best(self, symbol: str, side: str) -> Decimal | None:
        """Return the best price that an order would trade at by an open book, None without a healthy one."""
        with self._lock:
            client = self._client
        for topic in () if client is None else list(client.protocol.topics.values()):
            if isinstance(topic.data, BookState) and topic.is_live and topic.fields["symbol"] == symbol:
                book = topic.data.book
                best = (book.asks if side.startswith("BUY") else book.bids).best()
                if best is not None and not topic.repeats:
                    return Decimal(best[0])
        return None

    def _open(self) -> FeedClient:
        with self._lock:  # two threads that open the first live objects get one connection
            if self._is_over():
                raise SessionClosed("session.stream: this session is closed. toolkit.connect(…) opens another")
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> FeedClient:
        host = None if self._session._local is None else self._session._local.host
        manual = host is not None and not host.clock.runs
        # On a manual clock no time passes while messages are sent, so a rate limit would hold them back for ever.
        settings = self._settings or Settings(rate=None if manual else Settings().rate)
        client = FeedClient(FeedProtocol(settings, self._rng), history_reader(self._session))
        client.observe = self._observe
        client.door = getattr(getattr(getattr(self._session, "info", None), "_reader", None), "door", client.door)
        client.protocol.present = self._runtime.now
        if not manual:  # whose messages are dated by the venue's clock itself
            client.protocol.speed = self._speed
        if host is None:
            url = self._session.environment.feed_url
            connector = SocketConnector(url, settings.connect_ms / 1000, self._gate, self._runtime)
            client.shell = ThreadShell(client, connector)
        elif manual:
            client.shell = DirectShell(client, host.feed, host.now_ms)
        else:
            client.shell = ThreadShell(client, lambda: HubConnection.connect(host.feed))
        return client

    def _account(self, address: str | None) -> str:
        found = address or self._session.account
        if found is None:
            raise InputError("whose account? give an address, or connect(account=…)", field="address", rule="required")
        return found

    def _part(self, part: str, address: str | None) -> LiveAccount:
        fields = {ACCOUNT.name: self._account(address)}
        return LiveAccount(self._open(), account.AOP_STATE, fields, part=part)

    def _log(self, channel: Channel, address: str | None) -> LiveLog:
        return LiveLog(self._open(), channel, {ACCOUNT.name: self._account(address)})


class StreamHealth(Suggesting):
    """How a stream's connection and its live objects are at the moment of each question.

    Parameters
    ----------
    client : FeedClient or None
        Client of the feed, None before the first live object.
    """

    _path = "session.stream.health"

    def __init__(self, client: FeedClient | None) -> None:
        self._client = client

    @property
    def state(self) -> str:
        """idle (no subscriptions, not connected), waiting (to connect), connecting or open."""
        if self._client is None:
            return "idle"
        self._client.shell.pump()
        return self._client.protocol.phase

    @property
    def reason(self) -> str:
        """Why the last connection ended, in words."""
        return "" if self._client is None else self._client.protocol.reason

    @property
    def reconnects(self) -> int:
        """Connections that were lost so far."""
        return 0 if self._client is None else self._client.protocol.reconnects

    @property
    def age_ms(self) -> int | None:
        """Milliseconds since the last message of any kind, answers to pings included, None while not connected."""
        if self._client is None:
            return None
        self._client.shell.pump()
        heard_ms = self._client.protocol.heard_ms
        return None if heard_ms is None else max(0, self._client.shell.now_ms() - heard_ms)

    def _watch(self, span_ms: int) -> None:
        """Have a ping sent after so long without a message, so that `age_ms` shows whether a quiet venue is lost."""
        if self._client is not None and self._client.protocol.watch_ms != span_ms:
            self._client.protocol.watch_ms = span_ms
            self._client.shell.wake()

    @property
    def live(self) -> list[Live]:
        """All open live objects."""
        listeners = [] if self._client is None else self._client.listeners()
        return [one for one in listeners if isinstance(one, Live)]

    @property
    def dropped(self) -> int:
        """Rows and messages of the open live objects that were left out because they could not be read."""
        if self._client is not None:
            self._client.shell.pump()
        return sum(one.dropped for one in self.live)

    def assert_healthy(self, max_age_ms: int | None = None) -> None:
        """Raise as `Live.assert_healthy` does if an open live object is not healthy.

        Parameters
        ----------
        max_age_ms : int, optional
            Highest age in ms (default: as long as the feed may be silent).
        """
        for one in self.live:
            one.assert_healthy(max_age_ms)

    def __repr__(self) -> str:
        out = f", {self.dropped} left out" if self.dropped else ""
        return f"<StreamHealth {self.state}, {len(self.live)} live objects, {self.reconnects} reconnects{out}>"
