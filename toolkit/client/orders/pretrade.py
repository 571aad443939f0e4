"""Every action is checked by the venue's rules before it gets a nonce and a signature, whichever call it came from.

The rules are those of `toolkit.checks`. Values that they need and an action does not have (the product, the last
price, the position) are read from the venue. A rule whose figure can't be read is left to the venue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from ...checks import Failure, check_leverage, check_order, check_withdrawal
from ...errors import CheckFailed, ExchangeError, TransportError, UnknownProduct, WalletError
from ...products import Product
from ...protocol.enums import ENUMS, OrderSide
from ..io.flow import Flow, Now
from ..io.transport import Retry
from ..reads.reading import Catalogue, Row, fetch_rows, is_hedged

if TYPE_CHECKING:
    from ...protocol.actions import Action

ORDER_ACTIONS = frozenset(
    ("placeOrder", "placeBracketOrder", "replaceOrder", "placeBuilderOrder", "placeBuilderBracketOrder")
)
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
    _prices: dict[int, tuple[int, Decimal]] = field(default_factory=dict)
    """Product code → (the venue's time of the read in ms, last price)."""

    def check(self, action: Action, payload: Mapping[str, Any], vault: str | None) -> Flow[None]:
        """Raise CheckFailed for every rule that the action breaks, MalformedRequest for a broken field.

        Parameters
        ----------
        action : Action
            Declaration of the action.
        payload : mapping
            The action in wire names.
        vault : str or None
            Address of the vault, None for the account.

        Raises
        ------
        CheckFailed
            For every rule that the action breaks.
        MalformedRequest
            For a broken field.
        """
        failures: list[Failure] = []
        if action.type == "setLeverage":
            failures = yield from self._leverage(action.check(payload, "action"), vault)
        elif action.type == "withdraw":
            failures = check_withdrawal(Decimal(action.check(payload, "action")["amount"]))
        elif action.type in ORDER_ACTIONS:
            checked = action.check(payload, "action")
            items = checked.get("orders") or [checked.get("order") or checked]
            entry = None
            for item in items:
                failures += yield from self._order(action, item, entry, vault)
                if action.layout.endswith("bracket"):
                    # The triggers of the exits are compared with the price at which the first order opens.
                    entry = Decimal(items[0]["ordPx"]) or None
        self.catalogue.tell_unchecked()
        if failures:
            raise CheckFailed(failures)

    def _order(self, action: Action, item: Row, entry: Decimal | None, vault: str | None) -> Flow[list[Failure]]:
        product = yield from self._product(item)
        if product is None:
            return []
        replaced = action.type == "replaceOrder"
        facts: dict[str, Any] = {
            "entry": entry,
            "builder": action.layout.startswith("builder"),
            # An exit whose trigger was met is replaced by an order without one.
            "triggered": replaced and item.get("triggerPx") is None,
        }
        if item["ordPx"] == "0" and not item.get("triggerPx") and not reduces(item):
            facts["last"] = yield from self.last_price(product, Decimal(item["ordQty"]))
        failures = check_order(product, item, **facts)
        if any(failure.rule == "minOrderValue" for failure in failures) and not facts["builder"]:
            # An order that closes a whole small position passes, so only now its size matters. A builder's order is
            # for a trader whom it does not name.
            facts["cover"] = yield from self._covered(product, str(item["ordSide"]), vault)
            failures = check_order(product, item, **facts)
        return failures

    def _product(self, item: Row) -> Flow[Product | None]:
        """Return the product of an item, None where the venue does not list it or the query fails."""
        try:
            found = yield from self.catalogue.find(int(item["symbolCode"]))
            if not found.listed:  # trading may have been paused when the list was fetched, and go on since
                self.catalogue.forget()
                found = yield from self.catalogue.find(found.code)
            return found
        except (UnknownProduct, ExchangeError, TransportError):
            return None

    def last_price(self, product: Product, quantity: Decimal) -> Flow[Decimal | None]:
        """Return the price of the last trade in USDC. An older one serves where the order is far above the minimum.

        Parameters
        ----------
        product : Product
            Product whose last trade is read.
        quantity : Decimal
            Quantity of the order in base units.
        """
        now: int = yield Now()
        known = self._prices.get(product.code)
        if known and 0 <= now - known[0] < PRICE_MS and known[1] * quantity >= 2 * product.min_order_value:
            return known[1]
        candle = {"symbol_name": product.symbol, "interval": "60", "limit": "1"}
        # Without a trade yet, the venue takes the mark price.
        sources = (("klines_last", candle, "close"), ("funding_rates", {"symbol": str(product.code)}, "markPx"))
        for query, values, member in sources:
            rows = yield from self._rows(query, **values)
            price = _number(rows[0].get(member)) if rows else Decimal(0)
            if price > 0:
                self._prices[product.code] = (now, price)
                return price
        return None

    def _covered(self, product: Product, side: str, vault: str | None) -> Flow[Decimal]:
        """Return the size of the position that an order of this side closes."""
        for row in (yield from self._owned("positions", product, vault)):
            if is_hedged(row):
                break
            return abs(_number(row.get("shortSize" if side == OrderSide.BUY.name else "longSize")))
        return Decimal(0)

    def _leverage(self, action: Row, vault: str | None) -> Flow[list[Failure]]:
        product = yield from self._product(action)
        if product is None:
            return []
        leverage = Decimal(action["leverage"])
        failures = check_leverage(product, leverage)
        if failures or all(leverage <= (tier.max_leverage or leverage) for tier in product.tiers or ()):
            return failures
        # Between the limits of the tiers it depends on what the position and its orders could reach in one direction.
        sides = {"BUY": Decimal(0), "SELL": Decimal(0)}
        for row in (yield from self._owned("positions", product, vault)):
            mark = _number(row.get("curMarkPx"))
            sides = {"BUY": _number(row.get("longSize")) * mark, "SELL": abs(_number(row.get("shortSize"))) * mark}
        for status in _OPEN:
            for row in (yield from self._owned("order_states", product, vault, status=status, pageSize="500")):
                side = ENUMS["order_side"].text(row.get("side"))
                if side in sides and str(row.get("reduceOnly") or "0") in ("0", "NONE"):
                    sides[side] += _number(row.get("leaveQty")) * _number(row.get("price"))
        return check_leverage(product, leverage, max(sides.values()))

    def _owned(self, name: str, product: Product, vault: str | None, **query: str) -> Flow[list[Row]]:
        try:
            owner = vault or (yield from self.account())
        except WalletError:
            return []
        return (yield from self._rows(name, userAddr=owner, symbol=str(product.code), **query))

    def _rows(self, name: str, **query: str) -> Flow[list[Row]]:
        try:
            return (yield from fetch_rows(name, self.retry, **query))
        except (ExchangeError, TransportError):
            return []


def reduces(item: Row) -> bool:
    """Return whether an order can only reduce a position, by its own fields.

    Parameters
    ----------
    item : mapping
        Item of an order in wire names.
    """
    return bool(item.get("reduceOnlyOption") or item.get("reduceOnly")) or str(item["ordSide"]).endswith("_HEDGE")


def _number(value: Any) -> Decimal:
    """Return an amount of an answer, 0 where it is none."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return Decimal(0)
    return number if number.is_finite() else Decimal(0)
