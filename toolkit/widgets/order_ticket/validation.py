"""Turns a draft into an order: the rules it breaks, the values that would pass, and its preview.

Pure functions: no I/O, no widget. The rules are those of `toolkit.checks`; those that need the account are in
`buying_power`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from ...checks import SLIPPAGE_UNIT, Failure, check_order, default_slippage, slippage_bound, slippage_width
from ...numerals import meanings, plain_decimal, plain_text
from ...orders import Bracket, Order
from ...products import Product
from ..base_panel.number_format import WIDE, money, trimmed
from .buying_power import account_rules, cover, max_affordable_steps
from .draft import MAX_CLIENT_ID, Choice, Draft, Holdings, Problem, TicketInputs, TicketMarket, Validation
from .exits import EXITS, exit_results, with_exit_prices
from .preview import preview_order
from .several import ScaleOrders, TwapOrders, make_several

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


def validate(inputs: TicketInputs) -> Validation:
    """Return every problem of the draft, its order and its preview."""
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    if draft.waits:
        return _stop_validation(dataclasses.replace(inputs, draft=dataclasses.replace(draft, reduce_only=True)))
    problems: list[Problem] = []
    worst = _worst_price(draft, product, market)
    quantity = _quantity(inputs, worst)
    if isinstance(quantity, Problem):
        problems.append(quantity)
        quantity = None
    if not draft.market and not draft.price:
        problems.append(_missing("price", "a price is needed", _best_prices(draft, market)))
    reference = _reference_price(draft, market)
    draft, unread = with_exit_prices(draft, product, reference, plain_decimal(quantity))
    problems += unread
    inputs = dataclasses.replace(inputs, draft=draft)
    order = _order(draft, product, quantity or "", holdings)
    priced = draft.market or plain_decimal(draft.price) is not None
    if (draft.ladder or draft.timed) and plain_decimal(quantity) is not None and priced:
        made = make_several(draft, product, quantity or "", order.entry)
        if isinstance(made, Problem):
            problems.append(made)
        else:
            return _several_validation(inputs, made, problems)
    broken = _rule_problems(draft, order, product, market, cover(inputs.holdings, draft.sign))
    # An unreadable quantity is reported above; the rules would only repeat it.
    problems += [one for one in broken if quantity is not None or one.field != "quantity"]
    problems += _client_id_problems(draft, holdings)
    if quantity is None or any(problem.field in ("price", "quantity") for problem in problems):
        return Validation(tuple(problems), order)
    amount = Decimal(quantity)
    if worst is not None and holdings.known:
        problems += account_rules(inputs, amount, worst)
    return Validation(tuple(problems), order, _preview(inputs, amount, worst))


def largest_quantity(inputs: TicketInputs) -> Decimal | None:
    """Return the largest quantity in whole steps that the margin (reduce-only: the position) allows; None without a
    price or the account's data."""
    worst = _worst_price(inputs.draft, inputs.product, inputs.market)
    if worst is None or worst <= 0 or not inputs.holdings.known:
        return None
    return _max_quantity(inputs, worst)


def _preview(inputs: TicketInputs, amount: Decimal, worst: Decimal | None) -> dict[str, Any]:
    if worst is None:
        return {}
    preview = preview_order(inputs, amount, worst)
    preview["exits"] = exit_results(inputs.draft, preview, inputs.holdings.taker)
    return preview


def _several_validation(inputs: TicketInputs, made: ScaleOrders | TwapOrders, problems: list[Problem]) -> Validation:
    """Check each order by itself, and the account's rules for all of them together."""
    draft, product, market = inputs.draft, inputs.product, inputs.market
    covered = cover(inputs.holdings, draft.sign)
    for leg in made.legs:
        found = _rule_problems(draft, leg, product, market, covered)
        if found:
            problems += [dataclasses.replace(one, choices=(), message=f"each order: {one.message}") for one in found]
            break
    worst = _worst_price(draft, product, market)
    if problems or worst is None:
        return Validation(tuple(problems), made)
    if inputs.holdings.known:
        problems += account_rules(inputs, made.total, worst)
    preview = _preview(inputs, made.total, worst)
    if isinstance(made, TwapOrders):
        even = (made.total / made.twap.slices).quantize(product.step_size / 10, context=WIDE)
        preview["slices"] = (made.twap.slices, even, made.twap.interval_ms)
    return Validation(tuple(problems), made, preview)


def _stop_validation(inputs: TicketInputs) -> Validation:
    """Check an order that waits for its trigger. The venue takes those of traders as exits of a position only."""
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    trigger = plain_decimal(draft.trigger_price)
    worst = plain_decimal(draft.price) or trigger
    quantity = _quantity(inputs, worst) if draft.quantity else "0"
    problems = [quantity] if isinstance(quantity, Problem) else []
    size = "0" if isinstance(quantity, Problem) else quantity or "0"
    if not draft.trigger_price:
        problems.append(_missing("trigger_price", "a trigger price is needed"))
    now = {"MARK_PRICE": market.mark, "LAST_PRICE": market.last, "INDEX_PRICE": market.index}[draft.trigger_by]
    # A stop triggers where the market moves against the position, a take-profit where it moves with it.
    stops = trigger is None or now is None or (trigger > now) == (draft.sign > 0)
    kind: Any = "SL_FROM_POSITION" if stops else "TP_FROM_POSITION"
    tif: Any = draft.effective_tif
    order = dataclasses.replace(
        _exit(draft, product, size, draft.trigger_price or "0", kind, holdings, draft.side),
        price=draft.price or None, tif=tif, slippage=(draft.slippage or None) if draft.market else None,
    )  # fmt: skip
    if draft.trigger_price:
        problems += _rule_problems(draft, order, product, market, cover(holdings, draft.sign))
    held = holdings.reducible(draft.sign)
    amount = plain_decimal(size) or held
    if holdings.known and not held:
        name = "long" if draft.sign < 0 else "short"
        message = (
            f"there is no {name} position in {product.symbol} to close: the venue takes a trader's trigger orders only"
            " as take-profit or stop-loss of a position; STOP_LIMIT and the like are for builder orders"
        )
        problems.append(Problem("order_type", "position", message))
    elif holdings.known and amount > held:
        choice = Choice(trimmed(held), {"quantity": format(held, "f"), "quantity_as": "base"})
        message = f"{trimmed(amount)} exceeds the position of {trimmed(held)}"
        problems.append(Problem("quantity", "position", message, (choice,)))
    if problems or worst is None or not amount:
        return Validation(tuple(problems), order)
    # As if it fills at its trigger: the book of today says nothing about the book there.
    then = dataclasses.replace(market, bids=(), asks=())
    return Validation((), order, preview_order(dataclasses.replace(inputs, market=then), amount, worst))


def _order(draft: Draft, product: Product, quantity: str, holdings: Holdings) -> Order | Bracket:
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
        _exit(draft, product, quantity, trigger, kind, holdings, closing) if trigger else None
        for trigger, kind in ((draft.take_profit, "TP_FROM_POSITION"), (draft.stop_loss, "SL_FROM_POSITION"))
    )
    return Bracket(entry, take_profit, stop_loss) if take_profit or stop_loss else entry


def _exit(
    draft: Draft, product: Product, quantity: str, trigger: str, kind: Any, holdings: Holdings, closing: str
) -> Order:
    """Return a take-profit or stop-loss whose side is `closing`."""
    side: Any = closing + ("_CLOSE_HEDGE" if holdings.hedge else "")
    by: Any = draft.trigger_by
    return Order(product.symbol, side, quantity, None, "IOC", reduce_only=kind, trigger_price=trigger, trigger_by=by)


def _rule_problems(
    draft: Draft, order: Order | Bracket, product: Product, market: TicketMarket, covered: Decimal
) -> list[Problem]:
    """Return a problem for every pre-trade rule that the order or its children break."""
    prices = {name: getattr(market, name) for name in ("mark", "last", "index", "bid", "ask")}
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
        choices += _meant(name, getattr(draft, name, ""))
    return Problem(name, failure.rule, failure.message, tuple(choices))


def _meant(name: str, text: str) -> tuple[Choice, ...]:
    return tuple(Choice(number, {name: number}) for number in meanings(text))


def _client_id_problems(draft: Draft, holdings: Holdings) -> list[Problem]:
    text = draft.client_id
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


def _quantity(inputs: TicketInputs, worst: Decimal | None) -> str | Problem | None:
    """Return the quantity in base units as text, its problem, or None while it lacks a price; nothing is rounded."""
    draft, product = inputs.draft, inputs.product
    text, unit = draft.quantity, draft.quantity_as
    if not text:
        what = {"base": "a quantity", "notional": "an amount in USDC", "share": "a share in percent"}[unit]
        return _missing("quantity", f"{what} is needed")
    if unit == "base":
        return text
    number = plain_decimal(text)
    if number is None or number <= 0:
        what = "amount" if unit == "notional" else "share"
        return Problem("quantity", "decimal text", f"{what} {text!r} is not a number above 0", _meant("quantity", text))
    if unit == "share" and number > 100:
        message = f"share {text} % is above 100 %"
        return Problem("quantity", "share", message, (Choice("100 %", {"quantity": "100"}),))
    price = _reference_price(draft, inputs.market)
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


def _reference_price(draft: Draft, market: TicketMarket) -> Decimal | None:
    """Return the price a quantity is valued at: the limit, or the best price for a market order."""
    if not draft.market:
        return plain_decimal(draft.price)
    return (market.ask if draft.sign > 0 else market.bid) or market.last or market.mark


def _worst_price(draft: Draft, product: Product, market: TicketMarket) -> Decimal | None:
    """Return the worst price the order may trade at: its limit, or a market order's slippage bound."""
    if draft.ladder:
        ends = [one for one in (plain_decimal(draft.price), plain_decimal(draft.last_price)) if one is not None]
        return (max(ends) if draft.sign > 0 else min(ends)) if ends else None
    if not draft.market:
        return plain_decimal(draft.price)
    last = market.last or market.mark
    slippage = plain_decimal(draft.slippage) if draft.slippage else Decimal(default_slippage(product)) / SLIPPAGE_UNIT
    if last is None or slippage is None or not 0 < slippage < 1:
        return None
    width = slippage_width(slippage)
    return product.tick_size * slippage_bound(product, draft.sign, int(last / product.tick_size), width)


def _best_prices(draft: Draft, market: TicketMarket) -> tuple[Choice, ...]:
    quotes = [("bid", market.bid), ("ask", market.ask)]
    return tuple(
        Choice(f"{name} {plain_text(price)}", {"price": plain_text(price)})
        for name, price in quotes
        if price is not None
    )


def _missing(name: str, message: str, choices: tuple[Choice, ...] = ()) -> Problem:
    return Problem(name, "required", message, choices, missing=True)
