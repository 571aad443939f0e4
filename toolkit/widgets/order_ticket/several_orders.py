"""Kinds of several orders, which split a quantity: scale at once over prices, TWAP one after another over a time."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import InputError
from ...numerals import plain_decimal
from ...orders import MAX_SLICES, Order, Twap, scale, twap
from ...products import Product
from ..base_panel.number_format import WIDE
from .buying_power import account_rules
from .draft import ZERO, Draft, Problem, TicketInputs, Validation
from .form import FormField, FormRow, TicketFields
from .order_kinds import LimitKind, MarketKind, OrderKind, ReadDraft, StopKind
from .order_tracker import TwapTracker
from .validation import missing, rule_problems

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared


@dataclass(frozen=True, slots=True)
class SeveralOrders:
    """The orders to check: of a scale all of them, of a TWAP the first one, because the others are like it."""

    legs: tuple[Order, ...]
    words: str
    twap: Twap | None = None

    @property
    def entry(self) -> Order:
        """The first order."""
        return self.legs[0]

    @property
    def total(self) -> Decimal:
        """Quantity of all orders."""
        if self.twap is not None:
            return Decimal(self.twap.quantity)
        return sum((Decimal(one.quantity) for one in self.legs), ZERO)

    def describe(self) -> str:
        """Return the orders in words."""
        return self.words


class Several(OrderKind):
    """A kind of several orders. Each of them keeps the rules of a single one."""

    exits = False
    most: ClassVar[int]
    """Largest number of orders."""

    def count_field(self) -> FormField:
        """Return the field of the number of orders."""
        return FormField("count", "Orders", f"2 to {self.most}", "numeric")

    @abstractmethod
    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> SeveralOrders | Problem:
        """Return the orders, which are like `entry`. Raises InputError."""

    def validate(self, inputs: TicketInputs) -> Validation:
        """Check each order alone, and the account's rules for all of them together."""
        read = self.read(inputs)
        draft = read.inputs.draft
        if plain_decimal(read.quantity) is None or not (draft.market or plain_decimal(draft.price) is not None):
            return self.check_one(read)
        made = self._made(read)
        if isinstance(made, Problem):
            read.problems.append(made)
            return self.check_one(read)
        inputs, problems, worst = read.inputs, read.problems, read.worst
        for leg in made.legs:
            found = rule_problems(inputs, leg)
            if found:
                words = [(one, f"each order: {one.message}") for one in found]
                problems += [dataclasses.replace(one, choices=(), message=text) for one, text in words]
                break
        if problems or worst is None:
            return Validation(tuple(problems), made)
        if inputs.holdings.known:
            problems += account_rules(inputs, made.total, worst)
        preview = self.preview(inputs, made.total, worst)
        if made.twap is not None:
            slices, step = made.twap.slices, inputs.product.step_size
            even = (made.total / slices).quantize(step / 10, context=WIDE)
            preview["slices"] = (slices, even, made.twap.interval_ms)
        return Validation(tuple(problems), made, preview)

    def _made(self, read: ReadDraft) -> SeveralOrders | Problem:
        draft = read.inputs.draft
        text = draft.count
        count = int(text) if text.isdecimal() and text.isascii() and len(text) < 5 else 0
        if not 2 <= count <= self.most:
            return Problem("count", "orders", f"the number of orders {text!r} must be 2 to {self.most}")
        for name in ("take_profit", "stop_loss"):
            if getattr(draft, name):
                words = f"a {self.name.lower()} has no {name.replace('_', ' ')}; leave it empty"
                return Problem(name, "bracket", words)
        try:
            return self.make(draft, read.inputs.product, read.quantity or "", read.order.entry, count)
        except InputError as error:
            name = {"duration": "duration", "slices": "count"}.get(error.field or "", "quantity")
            return Problem(name, error.rule or self.name, str(error))


class ScaleKind(Several):
    """`count` limit orders at evenly spaced prices from `price` to `last_price`, in one request."""

    name, label, most = "SCALE", "Scale", 20

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return both ends, the number of orders, and what a limit order has."""
        first = fields.price.but(label="First price (USDC)")
        last = FormField("last_price", "Last price", "last price")
        return [(first,), (last, self.count_field()), (fields.quantity,), (fields.tif, fields.reduce_only)]

    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> SeveralOrders | Problem:
        """Return the orders of the ladder, e.g. "BUY 0.05 BTCUSDC in 5 orders from 60000.0 to 59000.0"."""
        last = draft.last_price
        if not last:
            return missing("last_price", "a last price is needed")
        if plain_decimal(last) is None:
            return Problem("last_price", "decimal text", f"last price {last!r} is not a plain decimal text")
        legs = scale(
            product, draft.side, quantity, first=draft.price, last=last, count=count, rounding="nearest",
            tif=entry.tif, reduce_only=entry.reduce_only,
        )  # fmt: skip
        total = sum(Decimal(one.quantity) for one in legs)
        words = f"{entry.side} {total} {product.symbol} in {count} orders from {legs[0].price} to {legs[-1].price}"
        return SeveralOrders(tuple(legs), words if entry.tif == "GTC" else f"{words} {entry.tif}")

    def worst_price(self, inputs: TicketInputs) -> Decimal | None:
        """Return the end of the ladder that is worse for the trader."""
        draft = inputs.draft
        ends = [one for one in map(plain_decimal, (draft.price, draft.last_price)) if one is not None]
        return (max(ends) if draft.sign > 0 else min(ends)) if ends else None

    def request(self, order: Any) -> list[Order]:
        """Return all orders: they are one request."""
        return list(order.legs)

    def price_words(self, draft: Draft) -> str:
        """Return both ends in words."""
        return f"{super().price_words(draft)} to {draft.last_price or '…'}"


class TwapKind(Several):
    """`count` equal orders evenly over `duration`. The first one is signed now, the others when they are due."""

    name, label, price, tif, most = "TWAP", "TWAP", "optional", "IOC", MAX_SLICES

    def rows(self, draft: Draft, fields: TicketFields) -> list[FormRow]:
        """Return the limit of each order, the time, the number of orders, and what a market order has."""
        duration = FormField("duration", "Over (30m, 4h, …)", "30m", keyboard="")
        rows: list[FormRow] = [(fields.optional_price,), (duration, self.count_field()), (fields.quantity,)]
        return [*rows, *fields.slippage_row(draft), (fields.reduce_only, None)]

    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> SeveralOrders:
        """Return the TWAP with its first child order."""
        made = twap(
            product.symbol, entry.side, quantity, draft.duration, slices=count, price=entry.price,
            slippage=entry.slippage, reduce_only=entry.reduce_only is not None,
        )  # fmt: skip
        first = made.due(product, 1)
        # Where there are more orders than steps, the rule is named by `check`.
        child = (made if first else made.check(product)).child(first)
        return SeveralOrders((child,), f"{made.describe()}; the first of {child.quantity} now", made)

    def preview(self, inputs: TicketInputs, amount: Decimal, worst: Decimal) -> dict[str, Any]:
        """Return the effect of all child orders. Little of it fills now, so none is shown."""
        return {**super().preview(inputs, amount, worst), "fills_now": ZERO}

    def request(self, order: Any) -> Order:
        """Return the first child order, which is signed now."""
        entry: Order = order.entry
        return entry

    def track(self, order: Any, prepared: Prepared) -> TwapTracker:
        """Return the tracker of the TWAP."""
        return TwapTracker(order.twap)


_ALL: tuple[OrderKind, ...] = (LimitKind(), MarketKind(), StopKind(), ScaleKind(), TwapKind())
KINDS = {kind.name: kind for kind in _ALL}
"""`order_type` → its kind, in the order of the buttons."""
