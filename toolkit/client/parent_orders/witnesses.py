"""What child orders have filled, and what their owner has closed of that meanwhile, by the account's book."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

from ...products import Product
from ...protocol.reads.door import typed_rows
from ...protocol.reads.info.orders import FILLS, Trade
from ...protocol.reads.info.positions import POSITIONS
from ...sides import closes_leg
from ..account.account_book import AccountBook, in_words, run_of
from ..io.flow import Flow
from ..orders.order_calls import OrderCalls
from ..orders.receipts import Receipt, fills_of
from ..reads.reading import is_hedged
from .plan import Child, Plan


def filled(calls: OrderCalls, product: Product, plan: Plan, child: Child, made: Receipt) -> Flow[Child]:
    """Return a child order that has ended with what it filled: the most that its state and its fills show.

    Parameters
    ----------
    calls : OrderCalls
        Calls of the session.
    product : Product
        Product of the parent order.
    plan : Plan
        The parent order.
    child : Child
        The child order.
    made : Receipt
        Its receipt, as last read.
    """
    size, value = fills_of(made)
    # What an order did not fill is traded again, so its state alone does not prove that.
    if made.order_id and size < child.quantity:
        fills = yield from _fills(calls, {"account": plan.vault or plan.account, "order_id": made.order_id})
        symbol, side = product.symbol, plan.twap.side
        book = AccountBook({symbol: product.step_size})
        book.order(made.order_id, symbol, side, "own", quantity=product.steps(child.quantity))
        book.state(made.order_id, product.steps(size))
        for at, fill in enumerate(fills):
            book.fill(str(at), made.order_id, symbol, side, product.steps(fill.quantity), "own")
        most = product.step_size * abs(book.own[symbol].longs or book.own[symbol].shorts)
        if most > size:
            listed = sum((fill.quantity for fill in fills), Decimal(0))
            size, value = most, sum((fill.quantity * fill.price for fill in fills), Decimal(0)) * most / listed
    return replace(child, filled=size, value=value)


def closed_by_hand(
    calls: OrderCalls, product: Product, plan: Plan, since_ms: int, own: Collection[int | None]
) -> Flow[str]:
    """Return in words what orders that no program placed have closed of what a parent order opened, "" for nothing.

    Parameters
    ----------
    calls : OrderCalls
        Calls of the session.
    product : Product
        Product of the parent order.
    plan : Plan
        The parent order.
    since_ms : int
        Time after which such orders count, Unix ms.
    own : collection of int or None
        Client ids of the child orders of all parent orders.
    """
    twap, symbol = plan.twap, product.symbol
    if twap.reduce_only or closes_leg(twap.side) or not plan.filled:
        return ""
    asked = {"account": plan.vault or plan.account, "symbol": product.code}
    rows = (yield from calls.reader.typed(POSITIONS, asked))[0]
    fills = yield from _fills(calls, asked, since_ms + 1)  # on a clock that is moved by hand many share a millisecond
    book = AccountBook({symbol: product.step_size}, any(map(is_hedged, rows)))
    held = [(product.steps(row.long_size), product.steps(abs(row.short_size))) for row in rows]
    bought, steps = twap.side == "BUY", product.steps(plan.filled)
    book.begin(symbol, own=(steps, 0) if bought else (0, steps), account=held[0] if held else (0, 0))
    for fill in fills:
        number = fill.client_order_id or 0
        if number not in own and run_of(number) is None:
            book.take_by_hand(symbol, fill.side, product.steps(fill.quantity))
    if not (gone := sum(book.missing(symbol))):
        return ""
    there = in_words(product.step_size, (book.account[symbol].longs, book.account[symbol].shorts))
    return (
        f"{gone * product.step_size:f} of what it has opened was closed by hand, and there is {there}. Nothing more is "
        "opened until resume()"
    )


def _fills(calls: OrderCalls, asked: dict[str, object], since_ms: int | None = None) -> Flow[list[Trade]]:
    rows = (yield from calls.reader.all_rows(FILLS.name, asked, since_ms)).rows.values()
    return typed_rows(Trade, list(rows), FILLS.path)
