"""Rows of the blotter as plain texts: positions, open orders, and the histories of fills, orders and funding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from ...products import Product
from ..base_panel.number_format import MISSING, change, grouped, in_units, mean_text, money, side_text, signed, trimmed
from ..order_ticket.holdings import UNTRIGGERED, net_size, pnl_of

Row = Mapping[str, Any]
EXITS = {"TP_FROM_POSITION": "take_profit", "SL_FROM_POSITION": "stop_loss"}
_ZERO = Decimal(0)
_KINDS = {"TP_FROM_POSITION": "take profit", "SL_FROM_POSITION": "stop loss", "REDUCE_ONLY": "reduce-only"}
_TICK = Decimal("0.0001")


def is_untriggered(row: Row) -> bool:
    """Return whether an order waits for its trigger."""
    return bool(row["status"] == UNTRIGGERED)


def legs(row: Row) -> list[Decimal]:
    """Return the sizes of a position's legs, negative for a short one."""
    return [one for one in (row["long_size"], -abs(row["short_size"])) if one]


def size_text(row: Row) -> str:
    """Return the size of a position, of hedged ones both legs."""
    long, short_size = row["long_size"], abs(row["short_size"])
    if long and short_size:
        return f"{trimmed(long)} / {trimmed(-short_size)}"
    return trimmed(long - short_size)


def exits_of(symbol: str, orders: Iterable[Row]) -> dict[str, tuple[str, str]]:
    """Return order id and trigger price of the waiting take-profit and stop-loss of a position."""
    found = {}
    for one in orders:
        name = EXITS.get(str(one["reduce_only"]))
        if one["symbol"] == symbol and name and is_untriggered(one):
            found[name] = (str(one["order_id"]), format(one["trigger_price"], "f"))
    return found


def position_row(
    row: Row, product: Product | None, mark: Decimal | None, liquidation: Decimal | None, funding: Decimal,
    exits: Mapping[str, tuple[str, str]],
) -> dict[str, Any]:  # fmt: skip
    """Return a position; `funding` is what it received (negative: paid) in the funding history."""
    size = net_size(row)
    value = row["long_entry_value"] + row["short_entry_value"]
    held = row["long_size"] + abs(row["short_size"])
    pnl = pnl_of(row, mark) if mark else row["unrealized_pnl"]
    needed = value / row["leverage"] if row["leverage"] else None
    margin = row["assigned_margin"] if row["margin_mode"] == "ISOLATED" else needed
    tick = product.tick_size if product is not None else _TICK
    return {
        "symbol": row["symbol"],
        "side": "▲ long" if size > 0 else "▼ short" if size < 0 else "▲▼ hedged",
        "size": size_text(row),
        "entry": in_units(value / held, tick) if held else MISSING,
        "mark": in_units(mark, tick),
        "liquidation": in_units(liquidation, tick),
        "margin": money(margin),
        "pnl": signed(pnl),
        "roi": change(pnl / needed) if needed else "",
        "funding": signed(funding) if funding else MISSING,
        "leverage": f"{trimmed(row['leverage'])}x {str(row['margin_mode']).lower()}",
        "exits": " / ".join(grouped(Decimal(exits[one][1])) if one in exits else "–" for one in EXITS.values()),
        "take_profit": exits.get("take_profit", ("", ""))[1],
        "stop_loss": exits.get("stop_loss", ("", ""))[1],
        "one": len(legs(row)) == 1,
    }


def open_order_row(row: Row) -> dict[str, Any]:
    """Return an open order."""
    option = _KINDS.get(str(row["reduce_only"]), "")
    trigger = row.get("trigger_price")
    # A trigger order is known by what it does to the position; its time in force says nothing more.
    if trigger and option:
        words = [option, "limit" if row["price"] else ""]
    else:
        words = [str(row["type"]).lower().replace("_", " "), str(row["tif"] or "").lower().replace("_", " "), option]
    price = grouped(row["price"]) if row["price"] else "market"
    if trigger:
        price = f"{price} when {grouped(trigger)}" if row["price"] else f"when {grouped(trigger)}"
    moves = trigger or row["price"]
    whole = not row["quantity"]
    return {
        "id": str(row["order_id"]),
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "kind": " ".join(word for word in words if word),
        "price": price,
        "quantity": "whole position" if whole else f"{trimmed(row['remaining'])} / {trimmed(row['quantity'])}",
        "move": format(moves, "f") if moves else "",
        "total": "" if whole else format(row["quantity"], "f"),
    }


def parent_row(plan: Any, status: str) -> dict[str, Any]:
    """Return a parent order."""
    twap, price = plan.twap, plan.average_price
    running = status == "RUNNING" and plan.done < twap.slices
    return {
        "id": plan.id,
        "symbol": twap.symbol,
        "side": side_text(twap.side),
        "kind": "twap" + (" reduce-only" if twap.reduce_only else ""),
        "filled": f"{trimmed(plan.filled)} / {trimmed(Decimal(twap.quantity))}",
        "average": MISSING if price is None else mean_text(price, 4),
        "orders": f"{plan.done} / {twap.slices}",
        "next": f"{datetime.fromtimestamp(plan.due_ms / 1000, UTC):%H:%M:%S}" if running else "",
        "status": status.lower(),
        "message": plan.message,
        "open": status in ("RUNNING", "INTERRUPTED"),
        "idle": status == "INTERRUPTED",
    }


def fill_row(row: Row) -> dict[str, Any]:
    """Return a fill."""
    fee = (row["open_fee"] or _ZERO) + (row["close_fee"] or _ZERO)
    return {
        "time": f"{row['time']:%H:%M:%S}",
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "price": grouped(row["price"]),
        "quantity": trimmed(row["quantity"]),
        "fee": money(fee, 4),
        "pnl": signed(row.get("realized_pnl")) if row.get("realized_pnl") else "",
        "id": f"{row['exec_id']}/{row['order_id']}",
    }


def event_row(place: int, row: Row) -> dict[str, Any]:
    """Return an event of an order."""
    filled = row.get("fill_quantity")
    what = f"{trimmed(filled)} at {grouped(row['fill_price'])}" if filled else str(row.get("reason") or "")
    return {
        "time": f"{row['time']:%H:%M:%S}" if row["time"] else "",
        "symbol": row["symbol"],
        "side": side_text(row["side"]),
        "order": str(row["order_id"]),
        "status": str(row["status"]).removeprefix("ORDER_STATUS_").lower().replace("_", " "),
        "price": grouped(row["price"]) if row["price"] else "market",
        "quantity": trimmed(row["quantity"]),
        "what": what,
        "id": f"{place}/{row['order_id']}",
    }


def funding_row(place: int, row: Row) -> dict[str, Any]:
    """Return a funding payment."""
    return {
        "time": f"{row['time']:%m-%d %H:%M}" if row["time"] else "",
        "symbol": row["symbol"],
        "side": str(row["side"] or "").lower(),
        "size": trimmed(row["size"]),
        "rate": MISSING if row["funding_rate"] is None else f"{row['funding_rate'] * 100:.4f} %".replace("-", "−"),
        "amount": signed(row["amount"], 4),
        "id": f"{place}/{row['symbol']}",
    }
