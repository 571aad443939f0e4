"""What stops a run before worse happens: limits on its orders, its loss and its silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError, LimitReached
from ...orders import Order
from .adapter import utc

if TYPE_CHECKING:
    from .runner import Runner


@dataclass(frozen=True, slots=True)
class Limits:
    """What stops a run before worse happens. Amounts in USDC; None = no limit.

    Attributes:
        max_notional: largest sum of position notionals that an order could bring about, with the run's other open
            orders filled too (those of one side of each symbol), at the last price. Without any price nothing is sent.
        max_loss: largest fall of equity below its value at the start.
        max_orders_per_minute: orders sent in any 60 s.
        max_stale: seconds without a new bar beyond the bar's own length, or without any answer of the venue.
    """

    max_notional: float | None = None
    max_loss: float | None = None
    max_orders_per_minute: int | None = 60
    max_stale: float | None = 30.0


def check_order(run: Runner, order: Order) -> None:
    """Refuse an order that a limit stands against, or that is of a symbol of another run."""
    limits, now = run.limits, run.now()
    while run.sent and run.sent[0] <= now - 60_000:
        run.sent.popleft()
    if limits.max_orders_per_minute is not None and len(run.sent) >= limits.max_orders_per_minute:
        raise LimitReached(
            f"{len(run.sent)} orders in the last minute; the limit is {limits.max_orders_per_minute}",
            limit="max_orders_per_minute",
        )
    symbol = str(order.symbol)
    if symbol not in run.products:
        raise InputError(f"{symbol} is not in this run; it has {', '.join(run.symbols)}", field="symbol", value=symbol)
    if limits.max_notional is None or order.reduce_only:
        return
    reach, others = 0.0, ""
    for name, steps in run.sizes.items():
        held = steps * float(run.products[name].step_size)
        buys, sells = _open_quantities(run, name)
        others = " with open orders filled" if buys or sells else others
        price = run.ctx.prices.get(name, float("nan"))
        if name == symbol:
            buys += float(order.quantity) if order.side.startswith("BUY") else 0.0
            sells += float(order.quantity) if order.side.startswith("SELL") else 0.0
        size = max(abs(held + buys), abs(held - sells))
        if size and price != price:
            price = float(order.price) if name == symbol and order.price else _last_price(run, name)
            if price != price:
                raise LimitReached(
                    f"{name} has no price, so that {order.side} {symbol} can't be held against max_notional",
                    limit="max_notional",
                )
        reach += size * price if size else 0.0
    if reach > limits.max_notional:
        raise LimitReached(
            f"{order.side} {symbol} would bring positions to {reach:,.2f} USDC{others}; "
            f"the limit is {limits.max_notional:,.2f}",
            limit="max_notional",
        )


def _open_quantities(run: Runner, symbol: str) -> tuple[float, float]:
    """Return what this run's open orders may still buy and sell, but for those that only reduce."""
    buys = sells = 0.0
    for placed in run.placed:
        order = placed.order
        if order.symbol == symbol and not placed.done and not order.reduce_only:
            left = float(order.quantity) - placed.filled
            buys += left if order.side.startswith("BUY") else 0.0
            sells += left if order.side.startswith("SELL") else 0.0
    return buys, sells


def _last_price(run: Runner, symbol: str) -> float:
    end = run.now()
    table = run.session.klines(symbol, "1m", utc(end - 3_600_000), utc(end), progress=False)
    return float(table["close"].iloc[-1]) if len(table) else float("nan")


def check_run(run: Runner) -> None:
    """Stop a run that has lost too much, or hears too little."""
    limits = run.limits
    equity = run.wallet[0]
    if limits.max_loss is not None and equity == equity and run.first_equity - equity > limits.max_loss:
        raise LimitReached(
            f"equity fell by {run.first_equity - equity:,.2f} USDC; the limit is {limits.max_loss:,.2f}",
            limit="max_loss",
        )
    if limits.max_stale is None:
        return
    newest = min(run._opened.values())
    quiet = (run.now() - max(newest + run.interval, run._started)) / 1000
    silent = (run.now() - run._answered) / 1000
    if max(quiet, silent) > limits.max_stale:
        what = f"no new bar for {quiet:,.0f} s" if quiet > limits.max_stale else f"no answer for {silent:,.0f} s"
        raise LimitReached(f"{what}; the limit is {limits.max_stale:,.0f} s", limit="max_stale")
