"""The steps by which kinds of orders check a draft: the rules it breaks, the values that would pass, its preview.

Pure functions: no I/O, no widget. The rules are those of `toolkit.checks`. Those that need the account are in
`buying_power`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from ...checks import SLIPPAGE_UNIT, Failure, check_order, default_slippage, slippage_bound, slippage_width
from ...numerals import plain_decimal, plain_text
from ...orders import Bracket, Order
from ...products import Product
from ..base_panel.number_format import WIDE, money, trimmed
from .buying_power import cover, max_affordable_steps
from .draft import MAX_CLIENT_ID, Choice, Draft, Holdings, Problem, TicketInputs, TicketMarket, meant
from .exits import EXITS

FIELDS = {
    "ordPx": "price",
    "ordQty": "quantity",
    "ordType": "order_type",
    "ordSide": "side",
    "timeInForce": "tif",
    "slippagePct": "slippage",
    "clOrdId": "client_id",
    "reduceOnly": "reduce_only",
    "reduceOnlyOption": "reduce_only",
    "symbolCode": "symbol",
    "triggerPx": "trigger_price",
    "tpslTriggerType": "trigger_by",
}
"""Wire name → field of the ticket."""


def largest_quantity(inputs: TicketInputs) -> Decimal | None:
    """Return the largest quantity in whole steps that the margin (reduce-only: the position) allows.

    None without a price or the account's data.
    """
    worst = inputs.draft.kind.worst_price(inputs.draft, inputs.product, inputs.market)
    if worst is None or worst <= 0 or not inputs.holdings.known:
        return None
    return _max_quantity(inputs, worst)


def make_order(draft: Draft, product: Product, quantity: str, holdings: Holdings) -> Order | Bracket:
    """Return the order of a draft, with its take-profit and stop-loss."""
    close = draft.reduce_only and holdings.hedge
    side: Any = draft.side + ("_CLOSE_HEDGE" if close else "")
    tif: Any = draft.effective_tif
    reduce_only: Any = "REDUCE_ONLY" if draft.reduce_only and not holdings.hedge else None
    client_id = _client_number(draft.client_id) or None
    entry = Order(
        symbol=product.symbol,
        side=side,
        quantity=quantity,
        price=None if draft.market else draft.price,
        tif=tif,
        reduce_only=reduce_only,
        cl_ord_id=client_id,
        slippage=(draft.slippage or None) if draft.market else None,
    )
    closing = "SELL" if draft.side == "BUY" else "BUY"
    take_profit, stop_loss = (
        exit_order(draft, product, quantity, trigger, kind, holdings, closing) if trigger else None
        for trigger, kind in ((draft.take_profit, "TP_FROM_POSITION"), (draft.stop_loss, "SL_FROM_POSITION"))
    )
    return Bracket(entry, take_profit, stop_loss) if take_profit or stop_loss else entry


def exit_order(
    draft: Draft, product: Product, quantity: str, trigger: str, kind: Any, holdings: Holdings, closing: str
) -> Order:
    """Return a take-profit or stop-loss whose side is `closing`."""
    side: Any = closing + ("_CLOSE_HEDGE" if holdings.hedge else "")
    by: Any = draft.trigger_by
    return Order(product.symbol, side, quantity, None, "IOC", reduce_only=kind, trigger_price=trigger, trigger_by=by)


def rule_problems(inputs: TicketInputs, order: Order | Bracket) -> list[Problem]:
    """Return a problem for every pre-trade rule that the order or its children break."""
    draft, product, covered = inputs.draft, inputs.product, cover(inputs.holdings, inputs.draft.sign)
    prices = {name: getattr(inputs.market, name) for name in ("mark", "last", "index", "bid", "ask")}
    entry = plain_decimal(draft.price) if not draft.market else None
    problems: list[Problem] = []
    for failure in check_order(product, order.to_items(product)[0], **prices, cover=covered):
        if failure.field == "ordPx" and not draft.price:
            continue  # reported as missing
        problems.append(_problem(failure, FIELDS, draft))
    # The triggers are compared with the entry price only if that is valid itself.
    if any(one.field == "price" for one in problems):
        entry = None
    for leg in order.legs[1:]:
        name = "take_profit" if leg.reduce_only == "TP_FROM_POSITION" else "stop_loss"
        fields = {"triggerPx": name, "tpslTriggerType": "trigger_by"}
        for failure in check_order(product, leg.to_item(product, reduce_field="reduceOnly"), **prices, entry=entry):
            if failure.field in fields:
                problems.append(_problem(failure, fields, draft))
    if isinstance(order, Bracket) and draft.reduce_only:
        message = "an order with take profit or stop loss opens a position, so it can't be reduce-only"
        choice = Choice("without reduce-only", {"reduce_only": False})
        problems.append(Problem("reduce_only", "bracket", message, (choice,)))
    return problems


def _problem(failure: Failure, fields: Mapping[str, str], draft: Draft) -> Problem:
    name = fields.get(failure.field, failure.field)
    choices = [Choice(value, {name: value}) for value in failure.nearest]
    if name in EXITS:
        choices = [Choice(value, {name: value, "exit_as": "price"}) for value in failure.nearest]
    if name == "quantity":
        choices = [Choice(value, {"quantity": value, "quantity_as": "base"}) for value in failure.nearest]
    if failure.rule == "decimal text":
        choices += meant(name, draft.text(name))
    return Problem(name, failure.rule, failure.message, tuple(choices))


def client_id_problems(inputs: TicketInputs) -> list[Problem]:
    """Return the problem of a client id that is not a number, or not free."""
    text, holdings = inputs.draft.client_id, inputs.holdings
    if not text:
        return []
    number = _client_number(text)
    if not 0 < number <= MAX_CLIENT_ID:
        return [Problem("client_id", "int64", f"client id {text!r} must be a whole number from 1 to 2^63 - 1")]
    if number in holdings.client_ids:
        message = f"client id {text} is in use by an open order"
        free = number + 1
        while free in holdings.client_ids:
            free += 1
        return [Problem("client_id", "unique", message, (Choice(str(free), {"client_id": str(free)}),))]
    return []


def _client_number(text: str) -> int:
    """Return the number of a client id, 0 for text that is not one."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else 0


def read_quantity(inputs: TicketInputs, worst: Decimal | None) -> str | Problem | None:
    """Return the quantity in base units as text, its problem, or None while it lacks a price; nothing is rounded."""
    draft, product = inputs.draft, inputs.product
    text, unit = draft.quantity, draft.quantity_as
    if not text:
        what = {"base": "a quantity", "notional": "an amount in USDC", "share": "a share in percent"}[unit]
        return missing("quantity", f"{what} is needed")
    if unit == "base":
        return text
    number = plain_decimal(text)
    if number is None or number <= 0:
        what = "amount" if unit == "notional" else "share"
        return Problem("quantity", "decimal text", f"{what} {text!r} is not a number above 0", meant("quantity", text))
    if unit == "share" and number > 100:
        message = f"share {text} % is above 100 %"
        return Problem("quantity", "share", message, (Choice("100 %", {"quantity": "100"}),))
    price = reference_price(draft, inputs.market)
    if price is None or worst is None or price <= 0 or worst <= 0:
        # An empty price field is reported as such.
        if not draft.market and not draft.price:
            return None
        return Problem("quantity", "price", f"{text} can't be converted to a quantity without a price")
    if unit == "notional":
        return _whole_steps(number / price, f"{text} USDC at {trimmed(price)}", product, price)
    if not inputs.holdings.known:
        return Problem("quantity", "account", "a share needs the account's data, which has not arrived yet")
    most = _max_quantity(inputs, worst)
    what = "position" if draft.reduce_only else "available margin"
    return _whole_steps(most * number / 100, f"{text} % of the {what}", product, price)


def _whole_steps(exact: Decimal, what: str, product: Product, price: Decimal) -> str | Problem:
    steps = exact / product.step_size
    if steps == int(steps) and steps > 0:
        return product.quantity_text(int(steps))
    ends = sorted({int(steps.to_integral_value(rounding)) for rounding in (ROUND_FLOOR, ROUND_CEILING)} - {0})
    choices = tuple(_amount_choice(product, end, price) for end in ends)
    nearest = " or ".join(product.quantity_text(end) for end in ends)
    shown = trimmed(exact.quantize(Decimal("1e-8"), context=WIDE))
    message = f"{what} is {shown}, not a multiple of stepSize {product.step_size:f}; nearest {nearest}"
    return Problem("quantity", "stepSize", message, choices)


def _amount_choice(product: Product, steps: int, price: Decimal) -> Choice:
    text = product.quantity_text(steps)
    return Choice(f"{text} = {money(Decimal(text) * price)} USDC", {"quantity": text, "quantity_as": "base"})


def _max_quantity(inputs: TicketInputs, worst: Decimal) -> Decimal:
    """Return the largest quantity that the position (reduce-only) or the available margin allows."""
    product = inputs.product
    if inputs.draft.reduce_only:
        return inputs.holdings.reducible(inputs.draft.sign)
    return product.step_size * max_affordable_steps(inputs, product.max_steps + 1, worst)


def reference_price(draft: Draft, market: TicketMarket) -> Decimal | None:
    """Return the price a quantity is valued at: the limit, or the best price for a market order."""
    if not draft.market:
        return plain_decimal(draft.price)
    return (market.ask if draft.sign > 0 else market.bid) or market.last or market.mark


def worst_price(draft: Draft, product: Product, market: TicketMarket) -> Decimal | None:
    """Return the worst price the order may trade at: its limit, or a market order's slippage bound."""
    if not draft.market:
        return plain_decimal(draft.price)
    last = market.last or market.mark
    slippage = plain_decimal(draft.slippage) if draft.slippage else Decimal(default_slippage(product)) / SLIPPAGE_UNIT
    if last is None or slippage is None or not 0 < slippage < 1:
        return None
    width = slippage_width(slippage)
    return product.tick_size * slippage_bound(product, draft.sign, int(last / product.tick_size), width)


def best_prices(market: TicketMarket) -> tuple[Choice, ...]:
    """Return the best bid and ask as choices for the price."""
    quotes = [("bid", market.bid), ("ask", market.ask)]
    return tuple(
        Choice(f"{name} {plain_text(price)}", {"price": plain_text(price)})
        for name, price in quotes
        if price is not None
    )


def missing(name: str, message: str, choices: tuple[Choice, ...] = ()) -> Problem:
    """Return the problem of an empty field."""
    return Problem(name, "required", message, choices, missing=True)
