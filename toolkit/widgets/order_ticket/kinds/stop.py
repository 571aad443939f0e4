"""Stop: an order that waits for its trigger, and closes a position or a part of it."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import traitlets

from ....numerals import plain_decimal
from ...base_panel.number_format import trimmed
from ..draft import Choice, Draft, Problem, TicketInputs, Validation
from ..fields import Amount, Field, Row, TicketFields
from ..preview import preview_order
from ..validation import exit_order, missing, read_quantity, rule_problems
from .kind import OrderKind


class StopFields(traitlets.HasTraits):
    """The field that only a stop has."""

    trigger_price = Amount("").tag(sync=True)
    """Trigger of a STOP: a stop-loss or a take-profit of the position, by the side of the market on which it lies."""


class Stop(OrderKind):
    """A stop-loss or take-profit of a position. The venue takes trigger orders of traders only as exits."""

    name, label, price, exits = "STOP", "Stop", "optional", False

    def rows(self, draft: Draft, fields: TicketFields) -> list[Row]:
        """Return the trigger, the limit that counts from then, and the part of the position to close."""
        trigger = Field("trigger_price", "Trigger at (USDC)", "trigger price")
        return [
            (trigger, fields.trigger_by),
            (fields.price.but(label="Limit price (USDC)", placeholder="none: at market"),),
            (fields.quantity.but(placeholder="whole position"),),
            *([(fields.slippage,)] if draft.market else []),
            (fields.tif, None),
        ]

    def validate(self, inputs: TicketInputs) -> Validation:
        """Check the order by the rules of an exit, and against the position."""
        draft = dataclasses.replace(inputs.draft, reduce_only=True)
        inputs = inputs._replace(draft=draft)
        product, market, holdings = inputs.product, inputs.market, inputs.holdings
        text = draft.own["trigger_price"]
        trigger = plain_decimal(text)
        worst = plain_decimal(draft.price) or trigger
        quantity = read_quantity(inputs, worst) if draft.quantity else "0"
        problems = [quantity] if isinstance(quantity, Problem) else []
        size = "0" if isinstance(quantity, Problem) else quantity or "0"
        if not text:
            problems.append(missing("trigger_price", "a trigger price is needed"))
        now = {"MARK_PRICE": market.mark, "LAST_PRICE": market.last, "INDEX_PRICE": market.index}[draft.trigger_by]
        # A stop triggers where the market moves against the position, a take-profit where it moves with it.
        stops = trigger is None or now is None or (trigger > now) == (draft.sign > 0)
        kind = "SL_FROM_POSITION" if stops else "TP_FROM_POSITION"
        tif: Any = draft.effective_tif
        order = dataclasses.replace(
            exit_order(draft, product, size, text or "0", kind, holdings, draft.side),
            price=draft.price or None, tif=tif, slippage=(draft.slippage or None) if draft.market else None,
        )  # fmt: skip
        if text:
            problems += rule_problems(inputs, order)
        problems += self._position_problems(inputs, plain_decimal(size))
        amount = plain_decimal(size) or holdings.reducible(draft.sign)
        if problems or worst is None or not amount:
            return Validation(tuple(problems), order)
        # As if it fills at its trigger: the book of today says nothing about the book there.
        then = inputs._replace(market=dataclasses.replace(market, bids=(), asks=()))
        return Validation((), order, {**preview_order(then, amount, worst), "worst_price": None})

    def _position_problems(self, inputs: TicketInputs, amount: Decimal | None) -> list[Problem]:
        draft, holdings = inputs.draft, inputs.holdings
        held = holdings.reducible(draft.sign)
        if holdings.known and not held:
            name = "long" if draft.sign < 0 else "short"
            message = (
                f"there is no {name} position in {inputs.product.symbol} to close: the venue takes a trader's trigger"
                " orders only as take-profit or stop-loss of a position; STOP_LIMIT and the like are for builder orders"
            )
            return [Problem("order_type", "position", message)]
        if holdings.known and amount and amount > held:
            choice = Choice(trimmed(held), {"quantity": format(held, "f"), "quantity_as": "base"})
            message = f"{trimmed(amount)} exceeds the position of {trimmed(held)}"
            return [Problem("quantity", "position", message, (choice,))]
        return []

    def price_words(self, draft: Draft) -> str:
        """Return price and trigger in words."""
        return f"{super().price_words(draft)} when {draft.own['trigger_price'] or '…'} is reached"
