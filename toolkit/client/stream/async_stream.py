"""`session.aio.stream`: the live objects of a stream, on the same connection, with what waits to be awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...numerals import Span, Timeout
from ...suggestions import Suggesting
from .kinds import LiveAccount, LiveBook, LiveCandles, LiveLog, LiveTable, LiveValue
from .live import Live, Until
from .stream import Stream, StreamHealth

if TYPE_CHECKING:
    import pandas as pd

L = TypeVar("L", bound=Live)


class AsyncLive(Generic[L]):
    """A live object whose `wait` and `frame` are awaited. Everything else is delegated to the object itself.

    Parameters
    ----------
    sync : L
        The object itself.
    """

    def __init__(self, sync: L) -> None:
        self.sync = sync

    async def wait(self, until: Until = None, timeout: Timeout | None = None) -> AsyncLive[L]:
        """As `Live.wait`, without blocking the event loop.

        Parameters
        ----------
        until : int, callable or None, optional
            Event to wait for, see `Live.wait` (default: the first or the next data).
        timeout : float, str or timedelta, optional
            Longest time to wait: a number of seconds, or a span (default: 10 s).
        """
        await self.sync._await_update(until, timeout)
        return self

    async def frame(
        self, *, exact: bool = False, index: str | None = None, timeout: Timeout | None = None
    ) -> pd.DataFrame:
        """As `Live.frame`, without blocking the event loop while it waits for the first data.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).
        timeout : float, str or timedelta, optional
            Longest time to wait for the first data: a number of seconds, or a span (default: 10 s).
        """
        if self.sync.age_ms is None:
            await self.sync._await_update(Live._has_answer, timeout)
        return self.sync.frame(exact=exact, index=index)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.sync.__aiter__()

    def __len__(self) -> int:
        return len(self.sync)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: object) -> Any:
        return self.sync[key]  # type: ignore[index]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sync, name)

    async def __aenter__(self) -> AsyncLive[L]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.sync.close()

    def __repr__(self) -> str:
        return repr(self.sync)


class AsyncStream(Suggesting):
    """The asynchronous twin of Stream, on the same connection: the same methods return an AsyncLive.

    Parameters
    ----------
    stream : Stream
        The stream.

    Examples
    --------
    >>> import asyncio
    >>> asyncio.run(session.aio.stream.trades("BTCUSDC").frame())["price"].tail(2).tolist()
    [62503.4, 62500.0]
    """

    _path = "session.aio.stream"
    _parts = ("health",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def order_book(self, symbol: str, depth: int = 20) -> AsyncLive[LiveBook]:
        """Return the live order book of a product.

        Parameters
        ----------
        symbol : str
            Product, by symbol.
        depth : int, optional
            Levels a side, 1 to 200 (default: 20).

        Returns
        -------
        AsyncLive
            Of a LiveBook. See `Stream.order_book`.
        """
        return AsyncLive(self._stream.order_book(symbol, depth))

    def trades(self, symbol: str) -> AsyncLive[LiveLog]:
        """Return the public trades of a product as they happen, starting with the last ones.

        Parameters
        ----------
        symbol : str
            Product, by symbol.

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.trades`.
        """
        return AsyncLive(self._stream.trades(symbol))

    def ticker(self, symbol: str) -> AsyncLive[LiveValue]:
        """Return prices, open interest, funding and 24 h statistics of a product.

        Parameters
        ----------
        symbol : str
            Product, by symbol.

        Returns
        -------
        AsyncLive
            Of a LiveValue. See `Stream.ticker`.
        """
        return AsyncLive(self._stream.ticker(symbol))

    def tickers(self) -> AsyncLive[LiveTable]:
        """Return the tickers of all products, by symbol.

        Returns
        -------
        AsyncLive
            Of a LiveTable. See `Stream.tickers`.
        """
        return AsyncLive(self._stream.tickers())

    def candles(self, symbol: str, interval: Span = "1m") -> AsyncLive[LiveCandles]:
        """Return the candles of a product: the last ones and the one still forming.

        Parameters
        ----------
        symbol : str
            Product, by symbol.
        interval : str or timedelta, optional
            Length of a candle, a span such as "4h" or "1d", or a timedelta (default: "1m").

        Returns
        -------
        AsyncLive
            Of a LiveCandles. See `Stream.candles`.
        """
        return AsyncLive(self._stream.candles(symbol, interval))

    def account(self, address: str | None = None) -> AsyncLive[LiveAccount]:
        """Return the wallet of an account: balance, equity, available margin, fee rates.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveAccount. See `Stream.account`.
        """
        return AsyncLive(self._stream.account(address))

    def orders(self, address: str | None = None) -> AsyncLive[LiveAccount]:
        """Return the open orders of an account, including untriggered ones.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveAccount. See `Stream.orders`.
        """
        return AsyncLive(self._stream.orders(address))

    def positions(self, address: str | None = None) -> AsyncLive[LiveAccount]:
        """Return the positions of an account, by symbol.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveAccount. See `Stream.positions`.
        """
        return AsyncLive(self._stream.positions(address))

    def leverages(self, address: str | None = None) -> AsyncLive[LiveAccount]:
        """Return the leverage settings of an account, by symbol.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveAccount. See `Stream.leverages`.
        """
        return AsyncLive(self._stream.leverages(address))

    def fills(self, address: str | None = None) -> AsyncLive[LiveLog]:
        """Return fills of an account as they happen, and the last ones first.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.fills`.
        """
        return AsyncLive(self._stream.fills(address))

    def order_history(self, address: str | None = None) -> AsyncLive[LiveLog]:
        """Return every status change of an account's orders as it happens.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.order_history`.
        """
        return AsyncLive(self._stream.order_history(address))

    def closed_positions(self, address: str | None = None) -> AsyncLive[LiveLog]:
        """Return closed positions of an account as they happen.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.closed_positions`.
        """
        return AsyncLive(self._stream.closed_positions(address))

    def funding(self, address: str | None = None) -> AsyncLive[LiveLog]:
        """Return funding payments of an account as they happen.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.funding`.
        """
        return AsyncLive(self._stream.funding(address))

    def events(self, address: str | None = None) -> AsyncLive[LiveLog]:
        """Return events of an account as they happen: orders, actions, approvals, vaults.

        Parameters
        ----------
        address : str, optional
            Address of the account (default: the session's account).

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.events`.
        """
        return AsyncLive(self._stream.events(address))

    def blocks(self) -> AsyncLive[LiveLog]:
        """Return blocks as they are made.

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.blocks`.
        """
        return AsyncLive(self._stream.blocks())

    def block_height(self) -> AsyncLive[LiveValue]:
        """Return the height of the newest block.

        Returns
        -------
        AsyncLive
            Of a LiveValue. See `Stream.block_height`.
        """
        return AsyncLive(self._stream.block_height())

    def transactions(self) -> AsyncLive[LiveLog]:
        """Return the transactions of all accounts as they happen.

        Returns
        -------
        AsyncLive
            Of a LiveLog. See `Stream.transactions`.
        """
        return AsyncLive(self._stream.transactions())

    @property
    def health(self) -> StreamHealth:
        """How the connection and its live objects are, see `Stream.health`."""
        return self._stream.health

    def assert_healthy(self, max_age_ms: int | None = None) -> None:
        """Raise unless the connection and its open live objects are healthy, see `Stream.assert_healthy`.

        Parameters
        ----------
        max_age_ms : int, optional
            Highest age in ms (default: as long as the feed may be silent).
        """
        self._stream.assert_healthy(max_age_ms)

    def close(self) -> None:
        """Close all live objects, the connection and its thread. The stream can be used again."""
        self._stream.close()

    def __repr__(self) -> str:
        return repr(self._stream).replace("<Stream", "<AsyncStream")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "assert_healthy"]  # its place is `health`
