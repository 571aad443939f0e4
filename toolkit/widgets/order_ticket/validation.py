"""The steps by which kinds of orders check a draft: the rules it breaks, the values that would pass, its preview.

Pure functions: no I/O, no widget. The rules are those of `toolkit.checks`. Those that need the account are in
`buying_power`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from ...checks import Failure, check_order
from ...numerals import plain_decimal, plain_text
from ...orders import Bracket, Order
from ...products import Product
from ..base_panel.number_format import WIDE, money, trimmed
from .buying_power import cover, max_affordable_steps
from .draft import MAX_CLIENT_ID, Choice, Draft, Problem, TicketInputs, TicketMarket, in_base, meant

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
EXITS = {"take_profit": 1, "stop_loss": -1}
"""Field → +1 if it lies in the direction of the position's profit."""


def make_order(inputs: TicketInputs, quantity: str) -> Order | Bracket:
    """Return the order of a draft, with its take-profit and stop-loss."""
    draft, hedge = inputs.draft, inputs.holdings.hedge
    side: Any = draft.side + ("_CLOSE_HEDGE" if draft.reduce_only and hedge else "")
    tif: Any = draft.effective_tif
    entry = Order(
        symbol=inputs.product.symbol,
        side=side,
        quantity=quantity,
        price=None if draft.market else draft.price,
        tif=tif,
        reduce_only="REDUCE_ONLY" if draft.reduce_only and not hedge else None,
        cl_ord_id=_client_number(draft.client_id) or None,
        slippage=(draft.slippage or None) if draft.market else None,
    )
    closing = "SELL" if draft.side == "BUY" else "BUY"
    take_profit, stop_loss = (
        exit_order(inputs, quantity, trigger, kind, closing) if trigger else None
        for trigger, kind in ((draft.take_profit, "TP_FROM_POSITION"), (draft.stop_loss, "SL_FROM_POSITION"))
    )
    return Bracket(entry, take_profit, stop_loss) if take_profit or stop_loss else entry


def exit_order(inputs: TicketInputs, quantity: str, trigger: str, kind: Any, closing: str) -> Order:
    """Return a take-profit or stop-loss whose side is `closing`."""
    side: Any = closing + ("_CLOSE_HEDGE" if inputs.holdings.hedge else "")
    by: Any = inputs.draft.trigger_by
    symbol = inputs.product.symbol
    return Order(symbol, side, quantity, None, "IOC", reduce_only=kind, trigger_price=trigger, trigger_by=by)


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
        choices = [in_base(value) for value in failure.nearest]
    if failure.rule == "decimal text":
        choices += meant(name, str(getattr(draft, name, "")))
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
    most = max_quantity(inputs, worst)
    what = "position" if draft.reduce_only else "available margin"
    return _whole_steps(most * number / 100, f"{text} % of the {what}", product, price)


def _whole_steps(exact: Decimal, what: str, product: Product, price: Decimal) -> str | Problem:
    steps = exact / product.step_size
    if steps == int(steps) and steps > 0:
        return product.quantity_text(int(steps))
    ends = sorted({int(steps.to_integral_value(rounding)) for rounding in (ROUND_FLOOR, ROUND_CEILING)} - {0})
    texts = [product.quantity_text(end) for end in ends]
    choices = tuple(in_base(text, f"{text} = {money(Decimal(text) * price)} USDC") for text in texts)
    shown = trimmed(exact.quantize(Decimal("1e-8"), context=WIDE))
    message = f"{what} is {shown}, not a multiple of stepSize {product.step_size:f}; nearest {' or '.join(texts)}"
    return Problem("quantity", "stepSize", message, choices)


def max_quantity(inputs: TicketInputs, worst: Decimal) -> Decimal:
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


def best_prices(market: TicketMarket) -> tuple[Choice, ...]:
    """Return the best bid and ask as choices for the price."""
    quotes = [("bid", market.bid), ("ask", market.ask)]
    texts = [(name, plain_text(price)) for name, price in quotes if price is not None]
    return tuple(Choice(f"{name} {text}", {"price": text}) for name, text in texts)


def missing(name: str, message: str, choices: tuple[Choice, ...] = ()) -> Problem:
    """Return the problem of an empty field."""
    return Problem(name, "required", message, choices, missing=True)


def with_exit_prices(
    draft: Draft, product: Product, reference: Decimal | None, quantity: Decimal | None
) -> tuple[Draft, list[Problem]]:
    """Return the draft with trigger prices, rounded to the nearest tick, in place of percent or PnL.

    Percent is the distance from `reference`, PnL an amount in USDC for `quantity`; a stop-loss is given above 0 too.
    """
    if draft.exit_as == "price":
        return draft, []
    problems: list[Problem] = []
    prices: dict[str, Any] = {}
    for name, way in EXITS.items():
        text = getattr(draft, name)
        if not text:
            continue
        prices[name] = ""
        number = plain_decimal(text)
        what = f"{name.replace('_', ' ')} {text!r}"
        if number is None or number <= 0:
            problems.append(Problem(name, "decimal text", f"{what} is not a number above 0", meant(name, text)))
        elif not reference or (draft.exit_as == "pnl" and not quantity):
            problems.append(Problem(name, "price", f"{what} needs the order's price and quantity first", missing=True))
        else:
            width = reference * number / 100 if draft.exit_as == "percent" else number / (quantity or Decimal(1))
            price = product.round_price(reference + draft.sign * way * width, "nearest")
            if price <= 0:
                problems.append(Problem(name, "price above 0", f"{what} lies beyond a price of 0"))
            else:
                prices[name] = format(price, "f")
    return dataclasses.replace(draft, **prices), problems


def exit_results(draft: Draft, preview: Mapping[str, Any], taker: Decimal) -> dict[str, tuple[Decimal, Decimal]]:
    """Return (trigger price, PnL expected there after the fees of both fills) for each exit of the draft."""
    found = {}
    for name in EXITS:
        trigger = plain_decimal(getattr(draft, name))
        if trigger is not None:
            moved = draft.sign * (trigger - preview["price"]) * preview["fills"]
            found[name] = (trigger, moved - preview["fee"] - taker * trigger * preview["fills"])
    return found
