"""Changes of an open order: the action that replaces it, as the order stands at the venue, and what it says."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...orders import Order

if TYPE_CHECKING:
    from ...products import Product
    from ...session import Session


def open_order(session: Session, symbol: str, order_id: int | str) -> tuple[Order, bool]:
    """Return an open order as the venue has it, and whether it waits for a trigger. Raises InputError without one."""
    rows = session.orders(symbol, open=True, exact=True).reset_index().to_dict("records")
    row: dict[Any, Any] | None = next((one for one in rows if str(one["order_id"]) == str(order_id)), None)
    if row is None:
        raise InputError(f"there is no open order {order_id}", field="order_id", rule="open order", value=str(order_id))
    trigger, reduce = row["trigger_price"], row["reduce_only"]
    order = Order(
        symbol=symbol,
        side=row["side"],
        quantity=format(row["quantity"], "f"),
        price=format(row["price"], "f") if row["price"] else None,
        tif=row["tif"],
        reduce_only=None if reduce == "NONE" else reduce,
        trigger_price=format(trigger, "f") if trigger else None,
        trigger_by=row["trigger_type"] if trigger else None,
    )
    return order, bool(trigger)


def replacement(
    session: Session, product: Product, order_id: int | str, *, price: str = "", quantity: str = ""
) -> tuple[dict[str, Any], str]:
    """Return the action that moves an open order to `price` (of a trigger order: its trigger), or to `quantity`.

    Also returns the change in words. Raises InputError without the order, CheckFailed when the new one breaks a rule.
    """
    old, waits = open_order(session, product.symbol, order_id)
    changes: dict[str, Any] = {}
    if price:
        changes["trigger_price" if waits else "price"] = price
    if quantity:
        changes["quantity"] = quantity
    new = dataclasses.replace(old, **changes).check(product)
    payload = {"type": "replaceOrder", **new.to_item(product, reduce_field="reduceOnly"), "ordId": int(order_id)}
    was = {"trigger_price": old.trigger_price, "price": old.price, "quantity": old.quantity}
    words = ", ".join(f"{name.replace('_', ' ')} {was[name]} → {value}" for name, value in changes.items())
    return payload, f"Change order {order_id}, {new.side} {new.quantity} {new.symbol}: {words}"


def rounded_price(product: Product, text: str) -> str:
    """Return a price picked on a chart, rounded to the nearest tick, as text."""
    return format(max(product.round_price(Decimal(text), "nearest"), product.tick_size), "f")
