"""`session.widgets`: every widget of a session, one method each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..extras import need
from ..guards import without_keys

if TYPE_CHECKING:
    from ..session import Session
    from .order_ticket.ticket import OrderTicket
    from .panels.candles import Candles
    from .panels.dashboard import Dashboard
    from .panels.exposure import Funding, LiquidationMap
    from .panels.leaderboard import Leaderboard
    from .panels.market import Depth, OrderBook, Trades
    from .panels.permissions import Permissions
    from .panels.portfolio import Account, Blotter


@without_keys
class Widgets:
    """Makes widgets for one session. Each follows the live feed until its `close()`."""

    def __init__(self, session: Session) -> None:
        need("ipywidgets", "anywidget")
        self._session = session

    def ticket(self, symbol: str | int, **fields: Any) -> OrderTicket:
        """Return an order ticket with these `fields` filled in, e.g. side="SELL", price="70000" (see `OrderTicket`)."""
        from .order_ticket.ticket import OrderTicket

        return OrderTicket(self._session, symbol, **fields)

    def order_book(self, symbol: str | int, depth: int = 12) -> OrderBook:
        """Return the live order book of a product, `depth` levels a side."""
        from .panels.market import OrderBook

        return OrderBook(self._session, symbol, depth)

    def trades(self, symbol: str | int) -> Trades:
        """Return the live public trades of a product."""
        from .panels.market import Trades

        return Trades(self._session, symbol)

    def candles(self, symbol: str | int, interval: str | int = "1m", *, indicators: Iterable[str] = ()) -> Candles:
        """Return a live candle chart of a product; `interval` is "1m", "15m", "4h", "1d" or seconds.

        `indicators` are drawn, such as ["SMA 20", "RSI 14"]. An open order's line can be dragged to another price.
        """
        from .panels.candles import Candles

        return Candles(self._session, symbol, interval, indicators=indicators)

    def depth(self, symbol: str | int, levels: int = 200) -> Depth:
        """Return a live depth chart of a product: cumulative quantity of up to `levels` levels a side."""
        from .panels.market import Depth

        return Depth(self._session, symbol, levels)

    def funding(self, symbol: str | int) -> Funding:
        """Return the funding of a product: running rate, next settlement, one's own payments, settled rates."""
        from .panels.exposure import Funding

        return Funding(self._session, symbol)

    def leaderboard(self) -> Leaderboard:
        """Return the live leaderboard of a class, for its teacher and its students.

        Raises InputError where no class is served.
        """
        from .panels.leaderboard import Leaderboard

        return Leaderboard(self._session)

    def liquidation_map(self) -> LiquidationMap:
        """Return where the account would be liquidated: each position's price, and what a move of all prices leaves."""
        from .panels.exposure import LiquidationMap

        return LiquidationMap(self._session)

    def blotter(self, symbol: str | int | None = None) -> Blotter:
        """Return the account's positions, open orders and fills (of one product, or all)."""
        from .panels.portfolio import Blotter

        return Blotter(self._session, symbol)

    def account(self) -> Account:
        """Return the account's wallet."""
        from .panels.portfolio import Account

        return Account(self._session)

    def permissions(self) -> Permissions:
        """Return the table of agents, builders and vaults that may act for the account, with buttons to revoke."""
        from .panels.permissions import Permissions

        return Permissions(self._session)

    def dashboard(self, symbol: str | int, interval: str | int = "1m") -> Dashboard:
        """Return ticket, order book, trades, candles, account and blotter of one product in one layout."""
        from .panels.dashboard import Dashboard

        return Dashboard(self._session, symbol, interval)

    def __repr__(self) -> str:
        return (
            "<Widgets: ticket, order_book, trades, candles, depth, funding, blotter, account, liquidation_map,"
            " permissions, leaderboard, dashboard>"
        )
