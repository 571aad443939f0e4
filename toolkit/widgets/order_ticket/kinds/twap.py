"""TWAP: a quantity traded in equal orders over a time. The first one is signed now, the others when they are due."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import traitlets

from ....orders import MAX_SLICES, Order, Twap, twap
from ....products import Product
from ...base_panel.number_format import WIDE, grouped, trimmed
from ..draft import ZERO, Draft, TicketInputs
from ..fields import Field, Row, TicketFields
from ..order_tracker import Tracker
from .several import Several

if TYPE_CHECKING:
    from ....client.orders.delivery import Prepared
    from ....client.parent_orders.parents import ParentOrder

_COLORS = {"RUNNING": "now", "FINISHED": "done"}


class TwapFields(traitlets.HasTraits):
    """The field that only a TWAP has."""

    duration = traitlets.Unicode("30m").tag(sync=True)
    """Time from the first to the last order of a TWAP, such as "30m" or "4h"."""


@dataclass(frozen=True, slots=True)
class TwapOrders:
    """A TWAP with its first child order."""

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

    def describe(self) -> str:
        """Return the TWAP in words."""
        return f"{self.twap.describe()}; the first of {self.entry.quantity} now"


class TwapKind(Several):
    """`count` orders evenly over `duration`."""

    name, label, price, tif, most = "TWAP", "TWAP", "optional", "IOC", MAX_SLICES

    def rows(self, draft: Draft, fields: TicketFields) -> list[Row]:
        """Return the limit of each order, the time, the number of orders, and what a market order has."""
        duration = Field("duration", "Over (30m, 4h, …)", "30m", keyboard="")
        return [
            (fields.price.but(label="Limit price (USDC)", placeholder="none: at market"),),
            (duration, self.count_field()), (fields.quantity,), *([(fields.slippage,)] if draft.market else []),
            (fields.reduce_only, None),
        ]  # fmt: skip

    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> TwapOrders:
        """Return the TWAP with its first child order."""
        made = twap(
            product.symbol, entry.side, quantity, draft.own["duration"], slices=count, price=entry.price,
            slippage=entry.slippage, reduce_only=entry.reduce_only is not None,
        )  # fmt: skip
        first = made.due(product, 1)
        # Where there are more orders than steps, the rule is named by `check`.
        return TwapOrders(made, (made if first else made.check(product)).child(first))

    def preview(self, inputs: TicketInputs, amount: Decimal, worst: Decimal) -> dict[str, Any]:
        """Return the effect of all child orders. Little of it fills now, so none is shown."""
        return {**super().preview(inputs, amount, worst), "fills_now": ZERO}

    def split_view(self, made: TwapOrders, product: Product) -> dict[str, Any]:
        """Return number, size and distance in time of the child orders."""
        even = (made.total / made.twap.slices).quantize(product.step_size / 10, context=WIDE)
        return {"slices": (made.twap.slices, even, made.twap.interval_ms)}

    def request(self, order: Any) -> Order:
        """Return the first child order, which is signed now."""
        entry: Order = order.entry
        return entry

    def track(self, order: Any, prepared: Prepared) -> Tracker:
        """Return the tracker of the TWAP."""
        return TwapTracker(order.twap)


@dataclass
class TwapTracker(Tracker):
    """Starts a TWAP, and follows it. The parent order knows its fills, so the feed's events are not needed."""

    twap: Twap
    parent: ParentOrder | None = None

    @property
    def status(self) -> str:
        """Status of the parent order."""
        return "" if self.parent is None else self.parent.status

    def send(self, session: Any, prepared: Prepared) -> ParentOrder:
        """Send the first child order; the parent order sends the others."""
        parent: ParentOrder = session.parent_orders.start_twap(self.twap, prepared)
        self.parent = parent
        return parent

    def words(self) -> str:
        """Return the progress in one sentence."""
        if self.parent is None:
            return ""
        plan = self.parent.plan
        text = f"{self.status.lower()}: {plan.done} of {plan.twap.slices} orders, {trimmed(plan.filled)} filled"
        if plan.average_price is not None:
            text += f" at {grouped(plan.average_price.quantize(Decimal('0.000001')).normalize() + Decimal(0))}"
        return f"{text}; {plan.message}" if plan.message else text

    def view(self) -> dict[str, Any] | None:
        """Return what the front end draws, None before it has started."""
        if self.parent is None:
            return None
        status = self.status
        return {
            "summary": self.twap.describe(), "status": status, "words": self.words(),
            "steps": [["sent", "done"], [status.lower(), _COLORS.get(status, "bad")]],
            "clientIds": [], "orderId": self.parent.id, "txHash": "", "children": [],
        }  # fmt: skip
