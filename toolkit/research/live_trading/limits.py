"""Limits of a run: on its orders, its loss, and the age of its data."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InputError, LimitReached
from ...orders import Order
from .run_state import NAN, RunState, utc


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that refuse an order or stop a run. Amounts in USDC; None = no limit.

    Attributes:
        max_notional: largest sum of position notionals that an order could lead to, with the run's other open orders
            filled too (those of one side of each symbol), at the last price. Without any price nothing is sent.
        max_loss: largest fall of equity below its value at the start.
        max_orders_per_minute: orders sent in any 60 s.
        max_stale: seconds without a complete answer of the venue. Bars without trades are flat ones, not stale.
    """

    max_notional: float | None = None
    max_loss: float | None = None
    max_orders_per_minute: int | None = 60
    max_stale: float | None = 30.0


def check_order(limits: Limits, state: RunState, order: Order) -> None:
    """Raise LimitReached for an order beyond a limit, InputError for one of a symbol that is not in the run."""
    now = state.now()
    while state.sent_ms and state.sent_ms[0] <= now - 60_000:
        state.sent_ms.popleft()
    if limits.max_orders_per_minute is not None and len(state.sent_ms) >= limits.max_orders_per_minute:
        text = f"{len(state.sent_ms)} orders in the last minute; the limit is {limits.max_orders_per_minute}"
        raise LimitReached(text, limit="max_orders_per_minute")
    symbol = str(order.symbol)
    if symbol not in state.products:
        known = ", ".join(state.symbols)
        raise InputError(f"{symbol} is not in this run; it has {known}", field="symbol", value=symbol)
    if limits.max_notional is not None and not order.reduce_only:
        _check_notional(limits.max_notional, state, order)


def _check_notional(max_notional: float, state: RunState, order: Order) -> None:
    open_orders = [(each.order, each.filled) for each in state.placed if not (each.done or each.order.reduce_only)]
    total, others = 0.0, ""
    for name, steps in state.position_steps.items():
        held, filled = steps * float(state.products[name].step_size), {"BUY": 0.0, "SELL": 0.0}
        for each, done in [*open_orders, (order, 0.0)]:
            if each.symbol == name:
                filled[each.side.partition("_")[0]] += float(each.quantity) - done
                others = others if each is order else " with open orders filled"
        largest = max(abs(held + filled["BUY"]), abs(held - filled["SELL"]))
        if largest:
            total += largest * _price(state, name, order)
    if total > max_notional:
        message = (
            f"{order.side} {order.symbol} would bring positions to {total:,.2f} USDC{others}; "
            f"the limit is {max_notional:,.2f}"
        )
        raise LimitReached(message, limit="max_notional")


def _price(state: RunState, symbol: str, order: Order) -> float:
    """Return the last price of a symbol: known to the run, else the order's own, else the close of its last bar."""
    price = state.prices.get(symbol, NAN)
    if price == price:
        return price
    if symbol == order.symbol and order.price:
        return float(order.price)
    now = state.now()
    table = state.session.klines(symbol, "1m", utc(now - 3_600_000), utc(now), progress=False)
    price = float(table["close"].iloc[-1]) if len(table) else NAN
    if price != price:
        text = f"{symbol} has no price, so {order.side} {order.symbol} can't be checked against max_notional"
        raise LimitReached(text, limit="max_notional")
    return price


def check_run(limits: Limits, state: RunState) -> None:
    """Raise LimitReached when the run has lost too much, or its data is too old."""
    loss = state.first_equity - state.equity
    if limits.max_loss is not None and loss > limits.max_loss:  # False while the equity is NaN
        raise LimitReached(f"equity fell by {loss:,.2f} USDC; the limit is {limits.max_loss:,.2f}", limit="max_loss")
    if limits.max_stale is None:
        return
    without_answer = (state.now() - state.answered_ms) / 1000
    if without_answer > limits.max_stale:
        message = f"no answer for {without_answer:,.0f} s; the limit is {limits.max_stale:,.0f} s"
        raise LimitReached(message, limit="max_stale")
