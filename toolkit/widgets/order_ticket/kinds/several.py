"""What kinds of several orders share: they split a quantity, and each order keeps the rules of a single one."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from decimal import Decimal
from typing import Any, ClassVar

import traitlets

from ....errors import InputError
from ....numerals import plain_decimal
from ....orders import Order
from ....products import Product
from ..buying_power import account_rules
from ..draft import Draft, Problem, TicketInputs, Validation
from ..fields import Field
from ..validation import rule_problems
from .kind import OrderKind, read_entry


class SeveralFields(traitlets.HasTraits):
    """The field of every kind of several orders."""

    count = traitlets.Unicode("5").tag(sync=True)
    """Number of orders: 2 to 20 of a SCALE, 2 to 500 of a TWAP."""


class Several(OrderKind):
    """A kind of several orders."""

    exits = False
    most: ClassVar[int]
    """Largest number of orders."""

    def count_field(self) -> Field:
        """Return the field of the number of orders."""
        return Field("count", "Orders", f"2 to {self.most}", "numeric")

    @abstractmethod
    def make(self, draft: Draft, product: Product, quantity: str, entry: Order, count: int) -> Any:
        """Return the orders, which are like `entry`, or a Problem. Raises InputError.

        `legs` are the orders to check (one stands for all that are like it), `total` is the quantity of all.
        """

    def split_view(self, made: Any, product: Product) -> dict[str, Any]:
        """Return what the preview says of the single orders."""
        return {}

    def validate(self, inputs: TicketInputs) -> Validation:
        """Check each order alone, and the account's rules for all of them together."""
        entry = read_entry(inputs)
        draft = entry.inputs.draft
        if plain_decimal(entry.quantity) is None or not (draft.market or plain_decimal(draft.price) is not None):
            return self._check_entry(entry)
        made = self._made(entry.inputs, entry.quantity or "", entry.order.entry)
        if isinstance(made, Problem):
            entry.problems.append(made)
            return self._check_entry(entry)
        return self._check(entry.inputs, made, entry.problems, entry.worst)

    def _made(self, inputs: TicketInputs, quantity: str, entry: Order) -> Any:
        draft = inputs.draft
        text = draft.own["count"]
        count = int(text) if text.isdecimal() and text.isascii() and len(text) < 5 else 0
        if not 2 <= count <= self.most:
            return Problem("count", "orders", f"the number of orders {text!r} must be 2 to {self.most}")
        for name in ("take_profit", "stop_loss"):
            if getattr(draft, name):
                words = f"a {self.name.lower()} has no {name.replace('_', ' ')}; leave it empty"
                return Problem(name, "bracket", words)
        try:
            return self.make(draft, inputs.product, quantity, entry, count)
        except InputError as error:
            name = {"duration": "duration", "slices": "count"}.get(error.field or "", "quantity")
            return Problem(name, error.rule or self.name, str(error))

    def _check(self, inputs: TicketInputs, made: Any, problems: list[Problem], worst: Decimal | None) -> Validation:
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
        preview = self.preview(inputs, made.total, worst) | self.split_view(made, inputs.product)
        return Validation(tuple(problems), made, preview)
