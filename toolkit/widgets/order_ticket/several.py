"""What a ticket sends as several orders: a scale, in one request, and a TWAP, whose orders follow each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...numerals import plain_decimal
from ...orders import MAX_SLICES, Order, Twap, scale, twap
from ...products import Product
from ..base_panel.number_format import grouped, trimmed
from .draft import Draft, Problem

if TYPE_CHECKING:
    from ...client.parent_orders.parents import ParentOrder

MAX_ORDERS = 20
_COLORS = {"RUNNING": "now", "FINISHED": "done"}


@dataclass(frozen=True, slots=True)
class ScaleOrders:
    """The orders of a scale, from the first to the last price."""

    orders: tuple[Order, ...]

    @property
    def entry(self) -> Order:
        """The first order."""
        return self.orders[0]

    @property
    def legs(self) -> tuple[Order, ...]:
        """All orders."""
        return self.orders

    @property
    def total(self) -> Decimal:
        """Quantity of all orders."""
        return sum((Decimal(one.quantity) for one in self.orders), Decimal(0))

    @property
    def request(self) -> list[Order]:
        """What is signed."""
        return list(self.orders)

    def describe(self) -> str:
        """Return the ladder in words, e.g. "BUY 0.05 BTCUSDC in 5 orders from 60000.0 to 59000.0"."""
        first, last = self.orders[0], self.orders[-1]
        words = f"{first.side} {self.total} {first.symbol} in {len(self.orders)} orders"
        words += f" from {first.price} to {last.price}"
        return words if first.tif == "GTC" else f"{words} {first.tif}"


@dataclass(frozen=True, slots=True)
class TwapOrders:
    """A TWAP with its first child order, which is signed at once; the others are signed when they are due."""

    twap: Twap
    entry: Order

    @property
    def legs(self) -> tuple[Order, ...]:
        """The first child order; the others are like it."""
        return (self.entry,)

    @property
    def total(self) -> Decimal:
        """Quantity of all child orders."""
        return Decimal(self.twap.quantity)

    @property
    def request(self) -> Order:
        """What is signed now."""
        return self.entry

    def describe(self) -> str:
        """Return the TWAP in words."""
        return f"{self.twap.describe()}; the first of {self.entry.quantity} now"


def make_several(draft: Draft, product: Product, quantity: str, entry: Order) -> ScaleOrders | TwapOrders | Problem:
    """Return the orders of a scale or TWAP of orders like `entry`, or the problem."""
    count = int(draft.count) if draft.count.isdecimal() and draft.count.isascii() and len(draft.count) < 5 else 0
    most = MAX_SLICES if draft.timed else MAX_ORDERS
    if not 2 <= count <= most:
        return Problem("count", "orders", f"the number of orders {draft.count!r} must be 2 to {most}")
    for name in ("take_profit", "stop_loss"):
        if getattr(draft, name):
            return Problem(
                name, "bracket", f"a {draft.order_type.lower()} has no {name.replace('_', ' ')}; leave it empty"
            )
    try:
        return (_twap if draft.timed else _scale)(draft, product, quantity, entry, count)
    except InputError as error:
        name = {"duration": "duration", "slices": "count"}.get(error.field or "", "quantity")
        return Problem(name, error.rule or draft.order_type, str(error))


def _scale(draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> ScaleOrders | Problem:
    if not draft.last_price:
        return Problem("last_price", "required", "a last price is needed", missing=True)
    if plain_decimal(draft.last_price) is None:
        return Problem("last_price", "decimal text", f"last price {draft.last_price!r} is not a plain decimal text")
    orders = scale(
        product, draft.side, quantity, first=draft.price, last=draft.last_price, count=count, rounding="nearest",
        tif=entry.tif, reduce_only=entry.reduce_only,
    )  # fmt: skip
    return ScaleOrders(tuple(orders))


def _twap(draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> TwapOrders:
    made = twap(
        product.symbol, entry.side, quantity, draft.duration, slices=count, price=entry.price, slippage=entry.slippage,
        reduce_only=entry.reduce_only is not None,
    )  # fmt: skip
    first = made.due(product, 1)
    # Where there are more orders than steps, the rule is named by `check`.
    return TwapOrders(made, (made if first else made.check(product)).child(first))


@dataclass(slots=True)
class TwapTracker:
    """Follows a TWAP that a ticket has started, as `OrderTracker` does an order."""

    parent: ParentOrder
    receipt: None = None

    @property
    def status(self) -> str:
        """Status of the parent order."""
        return self.parent.status

    def add_events(self, items: Any) -> None:
        """Ignore the events of the feed: the parent order knows its fills."""

    def words(self) -> str:
        """Return the progress in one sentence."""
        plan = self.parent.plan
        text = f"{self.status.lower()}: {plan.done} of {plan.twap.slices} orders, {trimmed(plan.filled)} filled"
        if plan.average_price is not None:
            text += f" at {grouped(plan.average_price.quantize(Decimal('0.000001')).normalize() + Decimal(0))}"
        return f"{text}; {plan.message}" if plan.message else text

    def view(self) -> Mapping[str, Any]:
        """Return what the front end draws."""
        status = self.status
        steps = [["sent", "done"], [status.lower(), _COLORS.get(status, "bad")]]
        return {
            "summary": self.parent.plan.twap.describe(), "status": status, "words": self.words(), "steps": steps,
            "clientIds": [], "orderId": self.parent.id, "txHash": "", "children": [],
        }  # fmt: skip
