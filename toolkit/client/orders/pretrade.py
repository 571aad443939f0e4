"""Every action is checked by the venue's rules before it gets a nonce and a signature, whichever call it came from.

The rules are those of `toolkit.checks`. Values that they need and an action does not have (the product, the last
price, the position) are read from the venue. A rule whose figure can't be read is left to the venue.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ...checks import Failure, check_leverage, check_order, check_prices, check_withdrawal
from ...errors import BadAnswer, CheckFailed, ExchangeError, TransportError, UnknownProduct, WalletError
from ...numerals import plain_decimal
from ...products import Product
from ...protocol.enums import OrderSide, ReduceOnly
from ...protocol.orders.items import OrderItem
from ...protocol.orders.names import BRACKET_ACTIONS, ActionType, OrderField
from ...protocol.orders.order_actions import AnyAction, OrderAction, OtherAction
from ...protocol.reads.door import R, legible
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info.candles import KLINES_LAST
from ...protocol.reads.info.funding import FUNDING_RATES
from ...protocol.reads.info.orders import ORDER_STATES
from ...protocol.reads.info.positions import POSITIONS
from ...protocol.reads.product_rows import ProductRule
from ..io.flow import Flow, Now, within
from ..io.transport import NO_RETRY, Retry
from ..reads.catalogue import Catalogue
from ..reads.reading import fetch_rows, is_hedged, read_in_part

MODE_MS = 60_000
"""How long a position mode counts without another look. It can't change while there are positions or orders."""
PRICE_MS = 60_000
"""How long a last price is used for an order that is worth at least twice the minimum at it."""
_OPEN = ("NEW", "PARTIALLY_FILLED")


@dataclass(slots=True)
class PreTradeChecks:
    """Checks of the actions of one session.

    Parameters
    ----------
    catalogue : Catalogue
        The venue's products.
    account : callable
        Flow that finds the address that owns positions and orders.
    retry : Retry
        How often and when a query is repeated.
    """

    catalogue: Catalogue
    account: Callable[[], Flow[str]]
    retry: Retry
    book: Callable[[str, str], Decimal | None] = lambda symbol, side: None
    """Returns the price at which an order of a side would trade by an open live book, None without one."""
    _modes: dict[str, tuple[int, bool]] = field(default_factory=dict)
    """Owner → (the venue's time of the read in ms, whether it is in hedge mode)."""
    _prices: dict[tuple[int, str], tuple[int, Decimal]] = field(default_factory=dict)
    """Product code and name of the price → (the venue's time of the read in ms, the price)."""

    def check(self, action: AnyAction, vault: str | None) -> Flow[None]:
        """Raise CheckFailed for every rule that the action breaks.

        Parameters
        ----------
        action : AnyAction
            The action. Its fields are checked already.
        vault : str or None
            Address of the vault, None for the account.

        Raises
        ------
        CheckFailed
            For every rule that the action breaks.
        """
        failures: list[Failure] = []
        if isinstance(action, OrderAction):
            entry = None
            for item in action.orders:
                failures += yield from self._order(action, item, entry, vault)
                if action.type in BRACKET_ACTIONS:
                    # The triggers of the exits are compared with the price at which the first order opens.
                    entry = Decimal(action.orders[0].price) or None
        elif isinstance(action, OtherAction) and action.type == ActionType.SET_LEVERAGE:
            failures = yield from self._leverage(action.product, Decimal(action.values["leverage"]), vault)
        elif isinstance(action, OtherAction) and action.type == ActionType.WITHDRAW:
            failures = check_withdrawal(Decimal(action.values["amount"]))
        self.catalogue.tell_unchecked()
        if failures:
            raise CheckFailed(failures)

    def _order(
        self, action: OrderAction, item: OrderItem, entry: Decimal | None, vault: str | None
    ) -> Flow[list[Failure]]:
        if item.reduces:
            # Nothing stands between a user and a smaller position: without a list the venue checks the numbers.
            product = (yield from self.catalogue.exit(item.product)).listed
        else:
            product = yield from self._product(item.product)
        if product is None:
            return []
        if not item.reduces and (doubt := self.catalogue.doubt(product)):
            return [_bound(product, doubt)]
        facts: dict[str, Any] = {
            "entry": entry,
            "builder": action.builder is not None,
            # An exit whose trigger was met is replaced by an order without one.
            "triggered": action.type == ActionType.REPLACE and item.trigger_price is None,
            "words": action.words,
        }
        apart: list[Failure] = []
        if item.price == "0" and not item.trigger_price and not item.reduces:
            slippage = plain_decimal(item.slippage)
            facts["last"], apart = yield from self.prices(product, item.side, Decimal(item.quantity), slippage)
        if apart and (yield from self.closes(product, item.side, Decimal(item.quantity), vault)):
            apart = []
        failures = check_order(product, item, **facts)
        if failures and all(each.reduces for each in action.orders):
            failures = yield from self._undisputed(failures, product, item, facts, vault)
        if any(failure.rule == ProductRule.MIN_VALUE for failure in failures) and action.builder is None:
            # An order that closes a whole small position passes, so only now its size matters. A builder's order is
            # for a trader whom it does not name.
            try:
                facts["cover"] = yield from self._covered(product, item.side, vault)
            except BadAnswer:  # the venue knows the position
                return [failure for failure in failures if failure.rule != ProductRule.MIN_VALUE]
            failures = check_order(product, item, **facts)
        return failures + apart

    def prices(
        self, product: Product, side: str, quantity: Decimal, slippage: Decimal | None = None, **seen: Decimal
    ) -> Flow[tuple[Decimal | None, list[Failure]]]:
        """Return the price of the last trade, and why nothing may be sized by it: book, last and mark price differ.

        Parameters
        ----------
        product : Product
            The product.
        side : str
            Side of the order.
        quantity : Decimal
            Quantity of the order in base units, 0 where it is not known.
        slippage : Decimal, optional
            How far they may be apart, a ratio (default: that of a market order that names none).
        **seen : Decimal
            Further prices by name, such as the one by which the quantity was found.

        Returns
        -------
        last : Decimal or None
            Price in USDC, without a trade yet the mark price, None where neither is known.
        failures : list of Failure
            Empty where all that are known agree.
        """
        found: dict[str, Decimal | None] = {}
        failures: list[Failure] = []
        for _ in range(2):
            found["book"] = self.book(product.symbol, side)
            for name, read in self._reads.items():
                found[name] = yield from self._price(product, quantity, name, read)
            if not (failures := check_prices(product, found | seen, slippage)):
                break
            # Prices that were read earlier may only be older, so they are read once more.
            self._prices = {key: one for key, one in self._prices.items() if key[0] != product.code}
        # Without a trade yet, the venue takes the mark price.
        return found["last"] or found["mark"], failures

    def _undisputed(
        self, failures: list[Failure], product: Product, item: OrderItem, facts: dict[str, Any], vault: str | None
    ) -> Flow[list[Failure]]:
        """Return the failures of an order that leaves, without those that the list of products may be wrong about.

        A wrong number in the list must not stand between a user and a smaller position.
        """
        if (before := (yield from self.catalogue.exit(product.code)).before) is not None:
            also = {(each.rule, each.field) for each in check_order(before, item, **facts)}
            failures = [each for each in failures if (each.rule, each.field) in also]
        doubted = {ProductRule.STEP_SIZE, ProductRule.MAX_QUANTITY}
        if any(each.rule in doubted for each in failures):
            sizes: list[Decimal] = []
            with suppress(BadAnswer):
                for row in (yield from self._owned(POSITIONS, product, vault)):
                    sizes += (abs(size) for size in (row.long_size, row.short_size) if size)
            # A whole position can be closed. Where it can't be read, only the venue knows.
            if sizes and Decimal(item.quantity) not in sizes:
                doubted.discard(ProductRule.MAX_QUANTITY)
                if not any(size % product.step_size for size in sizes):  # else the venue has other steps
                    doubted.clear()
            failures = [each for each in failures if each.rule not in doubted]
        return failures

    def _product(self, code: int) -> Flow[Product | None]:
        """Return the product of a code, None where the venue does not list it or the query fails."""
        try:
            found = yield from self.catalogue.find(code)
            if not found.listed:  # trading may have been paused when the list was fetched, and go on since
                self.catalogue.forget()
                found = yield from self.catalogue.find(found.code)
            return found
        except (UnknownProduct, ExchangeError, TransportError):
            return None

    def highest_price(self, product: Product) -> Flow[Decimal | None]:
        """Return the higher of last and mark price in USDC, None where neither is known. Limits count the worst case.

        Parameters
        ----------
        product : Product
            The product.
        """
        found = []
        for name, read in self._reads.items():
            found.append((yield from self._price(product, Decimal(0), name, read)))
        return max(filter(None, found), default=None)

    @property
    def _reads(self) -> dict[str, Callable[[Product], Flow[Decimal | None]]]:
        return {"last": self._last_close, "mark": self._mark_price}

    def _price(
        self, product: Product, quantity: Decimal, name: str, read: Callable[[Product], Flow[Decimal | None]]
    ) -> Flow[Decimal | None]:
        """Return a price of a product, None where it can't be read. An earlier one serves far above the minimum."""
        now: int = yield Now()
        known = self._prices.get((product.code, name))
        if known and 0 <= now - known[0] < PRICE_MS and known[1] * quantity >= 2 * product.min_order_value:
            return known[1]
        with suppress(BadAnswer):
            if price := (yield from read(product)):
                self._prices[product.code, name] = (now, price)
                return price
        return None

    def _last_close(self, product: Product) -> Flow[Decimal | None]:
        query = {"symbol": product.symbol, "interval": "60", "limit": "1"}
        return next((row.close for row in (yield from self._rows(KLINES_LAST, **query))), None)

    def _mark_price(self, product: Product) -> Flow[Decimal | None]:
        rows = yield from self._rows(FUNDING_RATES, symbol=str(product.code))
        return next((row.mark_price for row in rows), None)

    def hedged(self, vault: str | None, anew: bool = False) -> Flow[bool | None]:
        """Return whether the account or a vault is in hedge mode, None where no position of it shows that yet.

        Parameters
        ----------
        vault : str or None
            Address of the vault, None for the account.
        anew : bool, optional
            Whether the mode is read again, because the venue has refused an order (default: False).
        """
        owner, now = vault or (yield from self.account()), (yield Now())
        read, mode = self._modes.get(owner, (None, None))
        if read is not None and not anew and 0 <= now - read < MODE_MS:
            return mode
        # An order that leaves waits for this only a moment, and is sent by what was known before.
        with suppress(ExchangeError, TransportError):
            reading = read_in_part(POSITIONS, NO_RETRY, account=owner, include_zero="true")
            rows, _ = yield from within(reading, self.retry.moment)
            if modes := {is_hedged(row) for row in rows if row.position_mode}:
                mode = True in modes
                self._modes[owner] = now, mode
        return mode

    def closes(self, product: Product, side: str, quantity: Decimal, vault: str | None = None) -> Flow[bool]:
        """Return whether an order closes the position or a part of it. No price may stand in the way of that.

        Parameters
        ----------
        product : Product
            The product.
        side : str
            Side of the order.
        quantity : Decimal
            Quantity of the order in base units.
        vault : str, optional
            Address of the vault that trades (default: the account trades).
        """
        try:
            return bool(quantity <= (yield from self._covered(product, side, vault)))
        except BadAnswer:
            return False

    def _covered(self, product: Product, side: str, vault: str | None) -> Flow[Decimal]:
        """Return the size of the position that an order of this side closes."""
        for row in (yield from self._owned(POSITIONS, product, vault)):
            if is_hedged(row):
                break
            size = row.short_size if side == OrderSide.BUY.name else row.long_size
            return abs(size or Decimal(0))
        return Decimal(0)

    def _leverage(self, code: int, leverage: Decimal, vault: str | None) -> Flow[list[Failure]]:
        product = yield from self._product(code)
        if product is None:
            return []
        if doubt := self.catalogue.doubt(product):
            return [_bound(product, doubt)]
        failures = check_leverage(product, leverage)
        if failures or all(leverage <= (tier.max_leverage or leverage) for tier in product.tiers or ()):
            return failures
        # Between the limits of the tiers it depends on what the position and its orders could reach in one direction.
        try:
            return check_leverage(product, leverage, (yield from self._reach(product, vault)))
        except BadAnswer:
            return []

    def _reach(self, product: Product, vault: str | None) -> Flow[Decimal]:
        """Return the larger notional in USDC that the position and its open orders could reach in one direction."""
        sides = {"BUY": Decimal(0), "SELL": Decimal(0)}
        for row in (yield from self._owned(POSITIONS, product, vault)):
            mark, zero = row.mark_price or Decimal(0), Decimal(0)
            sides = {"BUY": (row.long_size or zero) * mark, "SELL": abs(row.short_size or zero) * mark}
        for status in _OPEN:
            orders = yield from self._owned(ORDER_STATES, product, vault, status=status, page_size="500")
            for each in orders:
                if each.side in sides and each.reduce_only in (None, ReduceOnly.NONE.name):
                    sides[each.side] += (each.remaining or Decimal(0)) * (each.price or Decimal(0))
        return max(sides.values())

    def _owned(self, endpoint: Endpoint[R], product: Product, vault: str | None, **query: str) -> Flow[list[R]]:
        try:
            owner = vault or (yield from self.account())
        except WalletError:
            return []
        return (yield from self._rows(endpoint, account=owner, symbol=str(product.code), **query))

    def _rows(self, endpoint: Endpoint[R], **query: str) -> Flow[list[R]]:
        """Return what the venue shows, as far as it does. Raises BadAnswer for a value that can't be read."""
        try:
            given = yield from fetch_rows(endpoint.name, self.retry, **query)
        except (ExchangeError, TransportError):
            return []
        return legible(endpoint.row, given, endpoint.path)


def _bound(product: Product, doubt: str) -> Failure:
    return Failure("binding", OrderField.PRODUCT, str(product.code), product.symbol, doubt)
