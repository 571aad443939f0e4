"""The fields of the ticket, as the front end draws them: label, control, hints. Kinds of orders choose among them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import traitlets

from ...products import Product, decimal_text
from ..base_panel.number_format import trimmed
from .draft import Draft

Options = tuple[tuple[str, str], ...]
TIFS = ("GTC", "IOC", "FOK", "POST_ONLY")
TRIGGERS: Options = (("MARK_PRICE", "mark price"), ("LAST_PRICE", "last price"), ("INDEX_PRICE", "index price"))
EXITS_AS: Options = (("price", "price"), ("percent", "% of the entry price"), ("pnl", "PnL in USDC"))


class Amount(traitlets.Unicode[str, Any]):
    """Text as it was typed; a number is taken as its exact text."""

    def validate(self, obj: Any, value: Any) -> str:
        return value if isinstance(value, str) else decimal_text(value, self.name or "")


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the ticket: the trait `name` edited by a text, a drop-down list of `options`, or a check box."""

    name: str
    label: str
    placeholder: str = ""
    keyboard: str = "decimal"
    """Keyboard of a touch screen (`inputmode`)."""
    options: Options = ()
    """Values and their texts; for a quantity those of its unit."""
    control: str = "text"
    """text, select, check or quantity (a text with its unit and a slider)."""
    title: str = ""
    """A hint shown over the field."""
    spoken: str = ""
    """The label for screen readers, where it says more."""

    def but(self, **changes: Any) -> FormField:
        """Return the field with these changes."""
        return dataclasses.replace(self, **changes)


FormRow = Sequence[FormField | None]
"""Fields beside each other; None is an empty place."""


class TicketFields:
    """The fields that most kinds share, with the texts for one product and draft."""

    def __init__(self, product: Product, quantity_as: str, default_tif: str) -> None:
        base, tick, step = product.base_currency or product.symbol, product.tick_size, product.step_size
        units = {"base": base, "notional": "USDC", "share": "percent of available margin"}
        least, most = trimmed(product.min_order_value), trimmed(product.max_order_quantity)
        tifs = (("", f"{default_tif} (default)"), *((one, one) for one in TIFS[:-1]), ("POST_ONLY", "Post only"))
        self.price = FormField("price", "Price (USDC)", "price", title=f"tick size {tick:f}")
        self.quantity = FormField(
            "quantity", "Quantity", "quantity", control="quantity", spoken=f"Quantity, in {units[quantity_as]}",
            options=(("base", base), ("notional", "USDC"), ("share", "%")),
            title=f"step size {step:f}, at least {least} USDC, at most {most}",
        )  # fmt: skip
        self.optional_price = self.price.but(label="Limit price (USDC)", placeholder="none: at market")
        largest = trimmed(product.max_slippage_pct)
        self.slippage = FormField("slippage", "Slippage (ratio)", f"0.03 (at most {largest})")
        self.tif = FormField("tif", "Time in force", control="select", options=tifs)
        self.reduce_only = FormField("reduce_only", "Reduce only", control="check")
        self.trigger_by = FormField("trigger_by", "Trigger by", control="select", options=TRIGGERS)

    def slippage_row(self, draft: Draft) -> list[FormRow]:
        """Return the row of the slippage, which only an order at market has."""
        return [(self.slippage,)] if draft.market else []

    def exits(self, *last: FormField) -> list[FormRow]:
        """Return the rows of take-profit, stop-loss and client id; `last` are fields after those."""
        return [
            (FormField("take_profit", "Take profit at", "none"), FormField("stop_loss", "Stop loss at", "none")),
            (
                FormField("exit_as", "Take profit and stop loss as", control="select", options=EXITS_AS),
                FormField("client_id", "Client id", "automatic", "numeric"),
                *last,
            ),
        ]
