"""The desk of a trader of an environment: on a venue in this process, or behind a session."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InputError, OutcomeUnknown, ToolkitError
from ..orders import Order
from ..products import MICRO
from ..protocol.orders.order_actions import OrderAction
from ..venue.engine.core import Core
from ..venue.local import LocalVenue
from ..venue.risk import account_margin
from .policies import Side

if TYPE_CHECKING:
    from ..session import Session

ALL = 10**18
"""More value than any side of a book holds, micro-USDC."""


class Standing(NamedTuple):
    """State of a trader.

    Attributes
    ----------
    equity : float
        Equity at the mark price, USDC.
    steps : int
        Signed position, steps, negative for a short.
    fees : float
        Fees paid so far, USDC (default: 0).
    funding : float
        Funding received so far, USDC, below 0 if paid (default: 0).
    """

    equity: float
    steps: int
    fees: float = 0.0
    funding: float = 0.0


class VenueDesk:
    """A trader on a venue in this process: reads the core's state, and acts without signatures or tables.

    It raises InputError for a symbol that is not listed.

    Parameters
    ----------
    venue : LocalVenue
        Venue that the trader is on.
    symbol : str
        Product that is traded.
    trader : int
        Number of the trader's development account.
    """

    def __init__(self, venue: LocalVenue, symbol: str, trader: int) -> None:
        self._venue, self._address = venue, venue.host.masters[trader].lower()
        products = {product.symbol: product for product in venue.host.core.products.values()}
        if symbol not in products:
            text = f"{symbol} is not listed. There are {', '.join(products)}"
            raise InputError(text, field="symbol", value=symbol, nearest=tuple(products))
        self.product = products[symbol]

    def book(self, depth: int) -> list[Side]:
        """Return the best levels of bids and asks, as (price in USDC, quantity in base units).

        Parameters
        ----------
        depth : int
            Most levels of each side.
        """
        product, books = self.product, self._venue.host.core.books
        tick, step = float(product.tick_size), float(product.step_size)
        sides = (islice(books.levels(product.code, side, ALL), depth) for side in (1, -1))
        return [[(price * tick, steps * step) for price, steps in levels] for levels in sides]

    def standing(self) -> Standing:
        """Return what the trader has now."""
        return self._venue.host.query(self._standing)

    def _standing(self, core: Core) -> Standing:
        account = core.state.accounts[self._address]
        equity, held = account_margin.wallet(core, account).equity / MICRO, account.positions.get(self.product.code)
        if held is None:
            return Standing(equity, 0)
        return Standing(equity, held.long.size - held.short.size, held.fees / MICRO, held.funding / MICRO)

    def trade(self, order: Order) -> str:
        """Place an order. Return why it was refused, "" if it was not.

        Parameters
        ----------
        order : Order
            Order of the product.
        """
        action = OrderAction.made(order.action, [order.item(self.product.code)])
        done = self._venue.control.act(self._address, action.to_wire())
        return str(done["message"]) if done["code"] else ""


class SessionDesk:
    """A trader behind a session of any environment: reads the live feed, and sends signed orders within its limits.

    Its fees and funding are part of the equity, and are not listed on their own.

    Parameters
    ----------
    session : Session
        Session of the trader's account.
    symbol : str
        Product that is traded.
    depth : int
        Levels of each side that are subscribed to.
    """

    def __init__(self, session: Session, symbol: str, depth: int) -> None:
        self._session, self.product = session, session.product(symbol)
        self._require_one_way(bool(session._driver.run(session._checks.hedged(None))))
        self._book = session.stream.order_book(symbol, depth)
        self._wallet, self._positions = session.stream.account(), session.stream.positions()
        for live in (self._book, self._wallet, self._positions):
            live.wait(lambda one: one.is_live)

    def book(self, depth: int) -> list[Side]:
        """Return the best levels of bids and asks, as (price in USDC, quantity in base units).

        Parameters
        ----------
        depth : int
            Most levels of each side.

        Raises
        ------
        FeedError
            While the feed is lost.
        """
        self._book.assert_healthy()
        sides = (self._book.bids(depth), self._book.asks(depth))
        return [[(float(price), float(quantity)) for price, quantity in levels] for levels in sides]

    def standing(self) -> Standing:
        """Return what the trader has now.

        Raises
        ------
        InputError
            For an account in hedge mode.
        """
        held = [row for row in self._positions.rows() if row["symbol"] == self.product.symbol]
        self._require_one_way(any(row["position_mode"] == "HEDGE" for row in held))
        net = sum(float(row["long_size"]) - float(row["short_size"]) for row in held)
        return Standing(float(self._wallet.value["equity"]), round(net / float(self.product.step_size)))

    def _require_one_way(self, hedged: bool) -> None:
        if hedged:
            text = "an action is one net position, and this account is in hedge mode. Use an account in one-way mode"
            raise InputError(text, field="session", rule="one-way", value="HEDGE")

    def trade(self, order: Order) -> str:
        """Place an order. Return why it was refused, or that its outcome is unknown, "" if it was accepted.

        Parameters
        ----------
        order : Order
            Order of the product.
        """
        try:
            self._session.place(order)
        except OutcomeUnknown as unknown:
            return f"unknown: {unknown}"
        except ToolkitError as refused:
            return str(refused)
        return ""

    def close(self) -> None:
        """End its live objects. The session stays."""
        for live in (self._book, self._wallet, self._positions):
            live.close()
