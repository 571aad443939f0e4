"""The steps by which kinds of orders check a draft: the rules it breaks, the values that would pass, its preview.

Pure functions: no I/O, no widget. The rules are those of `toolkit.checks`, and those of the account: margin, limits and
positions, as the venue checks them before an order adds risk.
Source: docs/assumptions.md, "Money on the venue" and "Widgets".
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ... import margin
from ...checks import Failure, check_order, check_prices
from ...exposure import Need, Standing, grown_equity, need_of, uncovered_value
from ...numerals import plain_decimal, plain_text
from ...orders import Bracket, Order
from ...products import Product
from ...protocol.orders.names import OrderField
from ...protocol.reads.product_rows import ProductRule
from ...sides import side_of
from ..base_panel.number_format import WIDE, money, trimmed
from .draft import ZERO, Choice, Draft, Holdings, Problem, TicketInputs, TicketMarket, in_base, meant, quoted, walk

if TYPE_CHECKING:
    from ...protocol.orders.names import ReduceOnly

FIELDS: dict[str, str] = {place.value: place.argument for place in OrderField} | {
    OrderField.TYPE: "order_type",
    OrderField.CLIENT_ID: "client_id",
}
"""Wire name → field of the ticket."""
MICRO = Decimal("0.000001")
# The wire has the client id as int64.
MAX_CLIENT_ID = 2**63 - 1
MOST_STEPS = 2**63 - 1
"""Where the search for what the margin allows ends in a product without a largest quantity."""
NO_LEVERAGE = "a share needs your leverage, which is not known: none is set, and the venue sends no maxLeverage"
EXITS = {"take_profit": 1, "stop_loss": -1}
"""Field → +1 if it lies in the direction of the position's profit."""


def make_order(inputs: TicketInputs, quantity: str) -> Order | Bracket:
    """Return the order of a draft, with its take-profit and stop-loss.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    quantity : str
        Quantity in base units, as text.
    """
    draft = inputs.draft
    side: Any = draft.side
    tif: Any = draft.effective_tif
    entry = Order(
        symbol=inputs.product.symbol,
        side=side,
        quantity=quantity,
        price=None if draft.market else draft.price,
        tif=tif,
        reduce_only="REDUCE_ONLY" if draft.reduce_only else None,
        cl_ord_id=_client_number(draft.client_id) or None,
        slippage=(draft.slippage or None) if draft.market else None,
    ).in_mode(inputs.holdings.hedge)
    closing = side_of(-draft.sign)
    exits: tuple[tuple[str, ReduceOnly], ...]
    exits = (draft.take_profit, "TP_FROM_POSITION"), (draft.stop_loss, "SL_FROM_POSITION")
    take_profit, stop_loss = (
        exit_order(inputs, quantity, trigger, kind, closing) if trigger else None for trigger, kind in exits
    )
    return Bracket(entry, take_profit, stop_loss) if take_profit or stop_loss else entry


def exit_order(inputs: TicketInputs, quantity: str, trigger: str, kind: ReduceOnly, closing: str) -> Order:
    """Return a take-profit or stop-loss.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    quantity : str
        Quantity in base units as text, "0" for the whole position.
    trigger : str
        Trigger price in USDC, as text.
    kind : {"TP_FROM_POSITION", "SL_FROM_POSITION"}
        Which exit.
    closing : {"BUY", "SELL"}
        Side that closes the position.
    """
    side, by, symbol = cast(Any, closing), cast(Any, inputs.draft.trigger_by), inputs.product.symbol
    made = Order(symbol, side, quantity, None, "IOC", reduce_only=kind, trigger_price=trigger, trigger_by=by)
    return made.in_mode(inputs.holdings.hedge)


def rule_problems(inputs: TicketInputs, order: Order | Bracket) -> list[Problem]:
    """Return a problem for every pre-trade rule that an order breaks.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    order : Order or Bracket
        An order, or one with exits, which are checked too.
    """
    draft, product, covered = inputs.draft, inputs.product, cover(inputs.holdings, inputs.draft.sign)
    prices = {name: getattr(inputs.market, name) for name in ("mark", "last", "index", "bid", "ask")}
    entry = plain_decimal(draft.price) if not draft.market else None
    # The rules see the item as it would be signed, not the fields of the form.
    failures = check_order(product, order.entry.item(product.code), **prices, cover=covered)
    # An empty price is reported as missing.
    problems = [_problem(one, FIELDS, draft) for one in failures if one.field != OrderField.PRICE or draft.price]
    # The triggers are compared with the entry price only if that is valid itself.
    if any(one.field == "price" for one in problems):
        entry = None
    # Of an exit only the trigger is reported. Its quantity is that of the order, whose problem is listed already.
    for leg in order.legs[1:]:
        name = "take_profit" if leg.reduce_only == "TP_FROM_POSITION" else "stop_loss"
        fields: dict[str, str] = {OrderField.TRIGGER_PRICE: name, OrderField.TRIGGER_BY: "trigger_by"}
        failures = check_order(product, leg.item(product.code), **prices, entry=entry)
        problems += [_problem(one, fields, draft) for one in failures if one.field in fields]
    if isinstance(order, Bracket) and draft.reduce_only:
        message = "an order with take profit or stop loss opens a position, so it can't be reduce-only"
        choice = Choice("without reduce-only", {"reduce_only": False})
        problems.append(Problem("reduce_only", "bracket", message, (choice,)))
    return problems


def price_problems(inputs: TicketInputs) -> list[Problem]:
    """Return the problem of prices that contradict each other, where the order is sized or traded by them.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    """
    draft, market, holdings = inputs.draft, inputs.market, inputs.holdings
    # What is sold at a limit far below the market trades at the market: for a multiple of its value.
    limit = None if draft.market or draft.is_buy or draft.quantity_as == "base" else plain_decimal(draft.price)
    if draft.reduce_only or not (draft.market or draft.quantity_as == "share" or limit):
        return []
    quantity = plain_decimal(draft.quantity) if draft.quantity_as == "base" else None
    if quantity is not None and not holdings.hedge and quantity <= -holdings.size * draft.sign:
        return []  # it closes the position or a part of it
    book = market.ask if draft.is_buy else market.bid
    prices = {"book": book, "mark": market.mark, "last": market.last}
    if limit and all(limit < one for one in prices.values() if one):
        prices["limit"] = limit
    slippage = plain_decimal(draft.slippage) if draft.slippage else None
    return [_problem(one, FIELDS, draft) for one in check_prices(inputs.product, prices, slippage)]


def _problem(failure: Failure, fields: Mapping[str, str], draft: Draft) -> Problem:
    name = fields.get(failure.field, failure.field)
    unit = {"quantity_as": "base"} if name == "quantity" else {"exit_as": "price"} if name in EXITS else {}
    choices = [Choice(value, {name: value, **unit}) for value in failure.nearest]
    if failure.rule == "decimal text":
        # A number in the notation of another country is read in both ways. The user decides which was meant.
        choices += meant(name, str(getattr(draft, name, "")))
    typed = str(getattr(draft, name, ""))
    return Problem(name, failure.rule, failure.message.replace(repr(typed), quoted(typed)), tuple(choices))


def client_id_problems(inputs: TicketInputs) -> list[Problem]:
    """Return the problem of a client id that is not a number, or not free.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    """
    text, holdings = inputs.draft.client_id, inputs.holdings
    if not text:
        return []
    number = _client_number(text)
    if not 0 < number <= MAX_CLIENT_ID:
        return [Problem("client_id", "int64", f"client id {quoted(text)} must be a whole number from 1 to 2^63 - 1")]
    if number not in holdings.client_ids:
        return []
    free = str(next(one for one in itertools.count(number) if one not in holdings.client_ids))
    message = f"client id {text} is in use by an open order"
    return [Problem("client_id", "unique", message, (Choice(free, {"client_id": free}),))]


def _client_number(text: str) -> int:
    """Return the number of a client id, 0 for text that is not one."""
    # `int` would take "1_000" and digits of other scripts too. They would be signed as another text than was typed.
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else 0


def read_quantity(inputs: TicketInputs, worst: Decimal | None) -> str | Problem | None:
    """Return the quantity in base units as text, or its problem.

    Nothing is rounded.

    Without a price for an amount in USDC it returns `None`.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    worst : Decimal or None
        Worst price at which it may trade, in USDC.
    """
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
        return Problem(
            "quantity", "decimal text", f"{what} {quoted(text)} is not a number above 0", meant("quantity", text)
        )
    # More than everything is always a mistake of the unit, so it is not left to the margin rule.
    if unit == "share" and number > 100:
        message = f"share {text} % is above 100 %"
        return Problem("quantity", "share", message, (Choice("100 %", {"quantity": "100"}),))
    price = reference_price(draft, inputs.market)
    # A slippage that can't be read leaves no worst price.
    if price is None or worst is None or price <= 0 or worst <= 0:
        if not draft.market and not draft.price:
            return None  # an empty price field is reported as such
        return Problem("quantity", "price", f"{text} can't be converted to a quantity without a price")
    if unit == "notional":
        return _whole_steps(number / price, f"{text} USDC at {trimmed(price)}", product, price)
    if not inputs.holdings.known:
        return Problem("quantity", "account", f"a share needs the account's data, which {inputs.holdings.why_unknown}")
    most = max_quantity(inputs, worst)
    if most is None:
        return Problem("quantity", "leverage", f"{NO_LEVERAGE}. Give a quantity or an amount in USDC")
    what = "position" if draft.reduce_only else "available margin"
    return _whole_steps(most * number / 100, f"{text} % of the {what}", product, price)


def _whole_steps(exact: Decimal, what: str, product: Product, price: Decimal) -> str | Problem:
    steps = exact / product.step_size
    # An amount that is no whole number of steps is refused with both neighbours. Rounding would sign another size than
    # was typed.
    if steps == int(steps) and steps > 0:
        return product.quantity_text(int(steps))
    # Zero steps are no choice.
    ends = sorted({int(steps.to_integral_value(rounding)) for rounding in (ROUND_FLOOR, ROUND_CEILING)} - {0})
    texts = [product.quantity_text(end) for end in ends]
    choices = tuple(in_base(text, f"{text} = {money(Decimal(text) * price)} USDC") for text in texts)
    shown = trimmed(exact.quantize(Decimal("1e-8"), context=WIDE))
    message = (
        f"{what} is {shown}, not a multiple of stepSize {product.step_size:f}. The nearest is {' or '.join(texts)}"
    )
    return Problem("quantity", ProductRule.STEP_SIZE, message, choices)


def max_quantity(inputs: TicketInputs, worst: Decimal) -> Decimal | None:
    """Return the largest quantity that the position (reduce-only) or the available margin allows.

    None where that takes the leverage, which is not known.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    worst : Decimal
        Worst price at which it may trade, in USDC.
    """
    product = inputs.product
    if inputs.draft.reduce_only:
        return inputs.holdings.reducible(inputs.draft.sign)
    if inputs.holdings.leverage is None:
        return None
    most = MOST_STEPS if product.max_steps is None else product.max_steps
    # The limit is left out of the search, so it is one above the product's largest order.
    return product.step_size * max_affordable_steps(inputs, most + 1, worst)


def reference_price(draft: Draft, market: TicketMarket) -> Decimal | None:
    """Return the price a quantity is valued at: the limit, or the best price for a market order.

    Parameters
    ----------
    draft : Draft
        Fields of the ticket.
    market : TicketMarket
        Prices of the product.
    """
    if not draft.market:
        return plain_decimal(draft.price)
    # Without a book the last trade is the best that is known.
    return (market.ask if draft.is_buy else market.bid) or market.last or market.mark


def best_prices(market: TicketMarket) -> tuple[Choice, ...]:
    """Return the best bid and ask as choices for the price.

    Parameters
    ----------
    market : TicketMarket
        Prices of the product.
    """
    quotes = [("bid", market.bid), ("ask", market.ask)]
    texts = [(name, plain_text(price)) for name, price in quotes if price is not None]
    return tuple(Choice(f"{name} {text}", {"price": text}) for name, text in texts)


def missing(name: str, message: str, choices: tuple[Choice, ...] = ()) -> Problem:
    """Return the problem of an empty field.

    Parameters
    ----------
    name : str
        Field of the ticket.
    message : str
        What is needed.
    choices : tuple of Choice, optional
        Values that would pass (default: none).
    """
    return Problem(name, "required", message, choices, missing=True)


def with_exit_prices(inputs: TicketInputs, quantity: Decimal | None) -> tuple[TicketInputs, list[Problem]]:
    """Return the inputs with exits as trigger prices in place of percent or PnL.

    Prices are rounded to the nearest tick. Percent is the distance from the price, PnL an amount in USDC for the
    quantity. A stop-loss is given above 0 too.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    quantity : Decimal or None
        Quantity in base units, `None` while it is not known.
    """
    draft, reference = inputs.draft, reference_price(inputs.draft, inputs.market)
    if draft.exit_as == "price":
        return inputs, []
    problems: list[Problem] = []
    prices: dict[str, Any] = {}
    for name, way in EXITS.items():
        text = getattr(draft, name)
        if not text:
            continue
        # A percent that can't be converted must not remain in the field of a price.
        prices[name] = ""
        number = plain_decimal(text)
        what = f"{name.replace('_', ' ')} {quoted(text)}"
        if number is None or number <= 0:
            problems.append(Problem(name, "decimal text", f"{what} is not a number above 0", meant(name, text)))
        elif not reference or (draft.exit_as == "pnl" and not quantity):
            problems.append(Problem(name, "price", f"{what} needs the order's price and quantity first", missing=True))
        else:
            width = reference * number / 100 if draft.exit_as == "percent" else number / (quantity or Decimal(1))
            price = inputs.product.round_price(reference + draft.sign * way * width, "nearest")
            if price <= 0:
                problems.append(Problem(name, "price above 0", f"{what} lies beyond a price of 0"))
            else:
                prices[name] = format(price, "f")
    return inputs._replace(draft=dataclasses.replace(draft, **prices)), problems


def exit_results(draft: Draft, preview: Mapping[str, Any], taker: Decimal | None) -> dict[str, tuple[Decimal, Decimal]]:
    """Return trigger price and expected PnL for each exit of the draft.

    The PnL is after the fees of both fills, or before fees where these are not known.

    Parameters
    ----------
    draft : Draft
        Fields of the ticket.
    preview : mapping of str to object
        Expected effect of the order.
    taker : Decimal or None
        Fee of the fill at the exit, as a ratio, `None` if not known.
    """
    found, fee = {}, preview["fee"]
    if fee is None or taker is None:
        fee = taker = ZERO
    for name in EXITS:
        trigger = plain_decimal(getattr(draft, name))
        if trigger is not None:
            # From the mean price expected, not from the limit: part of the order may fill better.
            moved = draft.sign * (trigger - preview["price"]) * preview["fills"]
            found[name] = (trigger, moved - fee - taker * trigger * preview["fills"])
    return found


def account_rules(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> list[Problem]:
    """Return a problem for every account rule that an order breaks.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    quantity : Decimal
        Quantity in base units.
    worst : Decimal
        Worst price at which it may trade, in USDC.
    """
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    if draft.reduce_only:
        # The venue values a market order at the last price for minOrderValue, not at its slippage bound.
        valued = (market.last or market.mark or worst) if draft.market else worst
        return _reduce_only_rules(inputs, quantity, valued)
    # What only closes takes no margin, and must pass while an account is short of it.
    if quantity <= cover(holdings, draft.sign):
        return []
    # After the cover: closing is allowed during a liquidation.
    if holdings.liquidating:
        return [Problem("side", "liquidation", "the account is being liquidated, so only reducing orders are accepted")]
    need = _need_of(inputs, quantity, worst)
    problems = _position_limits(inputs, need) + _growth_problems(inputs, need)
    margin_parts = need.margin_parts(inputs)
    # Compared in whole parts as on the venue. A Decimal may differ in the last digit.
    if margin_parts is not None and margin_parts > _parts(product, holdings.available):
        problems.append(_margin_problem(inputs, quantity, worst, Decimal(margin_parts) / product.money_scale))
    return problems


def _reduce_only_rules(inputs: TicketInputs, quantity: Decimal, price: Decimal) -> list[Problem]:
    draft, product, holdings = inputs.draft, inputs.product, inputs.holdings
    held = holdings.reducible(draft.sign)
    name = "short" if draft.is_buy else "long"
    if held <= 0:
        other = "SELL" if draft.is_buy else "BUY"
        choices = [Choice("not reduce-only", {"reduce_only": False})]
        # The position lies on the other side: the wrong button was probably pressed.
        if holdings.size * draft.sign > 0:
            choices.insert(0, Choice(other.lower(), {"side": other}))
        message = f"reduce-only: there is no {name} position in {product.symbol} to reduce"
        return [Problem("reduce_only", "position", message, tuple(choices))]
    # Only an order that may rest shares the position with the reduce-only orders already in the book.
    free = held
    if draft.effective_tif in ("GTC", "POST_ONLY"):
        free -= holdings.reducing_buys if draft.is_buy else holdings.reducing_sells
    if free <= 0:
        message = f"open reduce-only orders already cover the {name} position of {trimmed(held)}"
        return [Problem("reduce_only", "covered", message)]
    choice = in_base(format(free, "f"), trimmed(free))
    if quantity > free:
        message = f"reduce-only: {trimmed(quantity)} exceeds the reducible {name} position of {trimmed(free)}"
        return [Problem("quantity", "position", message, (choice,))]
    # The smallest value does not hold for closing everything, or a rest could never be closed.
    if quantity < free and price * quantity < product.min_order_value:
        below = f"is below minOrderValue {trimmed(product.min_order_value)}, and does not close the whole position"
        message = f"order value {trimmed(price * quantity)} {below}"
        return [Problem("quantity", ProductRule.MIN_VALUE, message, (choice,))]
    return []


def rounded_up(amount: Decimal) -> Decimal:
    """Return an amount in USDC rounded up to a micro-USDC.

    Parameters
    ----------
    amount : Decimal
        Amount in USDC.
    """
    return amount.quantize(MICRO, ROUND_CEILING, WIDE)


def cover(holdings: Holdings, sign: int) -> Decimal:
    """Return how much an order without reduce-only closes before it opens anything.

    Parameters
    ----------
    holdings : Holdings
        What the account holds in the product.
    sign : int
        +1 for a buy, −1 for a sell.
    """
    # In hedge mode an order that does not close a leg always opens.
    return ZERO if holdings.hedge else max(ZERO, -sign * holdings.size)


def _parts(product: Product, amount: Decimal) -> int:
    """Return an amount of USDC in the parts in which the product's values are counted."""
    return round(amount * product.money_scale)


class _Need(NamedTuple):
    """Margin that an order needs by the venue's rule. `taken` (steps) and `paid` (ticks × steps) trade immediately."""

    standing: Standing
    rule: Need
    taken: int
    paid: int

    def margin_parts(self, inputs: TicketInputs) -> int | None:
        """Return the available margin that the order takes, in parts: initial margin, fees, immediate losses.

        It is `None` where the leverage is not known. Fees are left out where their rates are not known.

        Parameters
        ----------
        inputs : TicketInputs
            A draft and what it is checked against.
        """
        rule, holdings, product = self.rule, inputs.holdings, inputs.product
        if holdings.leverage is None:
            return None
        # Only the growth counts, because the margin of what is held is not available any more.
        need = rule.margin - self.standing.initial() - rule.freed + rule.loss
        if not self.taken:
            return need
        # The higher of both rates: which part will rest is not known before the order is there.
        rate = max(holdings.maker or ZERO, holdings.taker or ZERO, ZERO)
        fee = rounded_up(Decimal(self.paid * product.unit) * rate / product.money_scale)
        # The venue rounds the fee, and isolated margin, up for every fill; there is at most one fill a step.
        micro = (self.taken + 1) + (self.taken if holdings.isolated else 0)
        return need + _parts(product, fee + micro * MICRO)


def _standing(inputs: TicketInputs, mark: int) -> Standing:
    """Return what the account holds in the ticket's product, in the integers of the venue's rule."""
    holdings, product = inputs.holdings, inputs.product
    step_value, parts = mark * product.unit, partial(_parts, product)
    longs, shorts = (round(size / product.step_size) for size in (holdings.long, holdings.short))
    buys, sells = (sum(parts(price * size) for price, size in one) for one in (holdings.buys, holdings.sells))
    pnl = (longs - shorts) * step_value - parts(holdings.long_value) + parts(holdings.short_value)
    equity = parts(holdings.assigned) + pnl if holdings.isolated else None
    # Without a known leverage only the rule's `reach` is used, which does not depend on it.
    leverage = int((holdings.leverage or Decimal(1)) * 100)
    return Standing(longs, shorts, buys, sells, step_value, leverage, holdings.hedge, equity)


def _need_of(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> _Need:
    """Return what an order needs, by the venue's own rule."""
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    tick, step, sign = product.tick_size, product.step_size, draft.sign
    steps, limit, mark = round(quantity / step), round(worst / tick), round((market.mark or worst) / tick)
    standing = _standing(inputs, mark)
    taken, paid = walk(market.opposite(sign), quantity, worst, sign)
    orders = holdings.buys if sign > 0 else holdings.sells
    resting = ((round(size / step), round(price / tick)) for price, size in orders)
    # Closing the position leaves resting orders without their cover, so their value counts too.
    uncovered = uncovered_value(resting, standing.cover(sign)) * product.unit
    taken_steps, paid_ticks = round(taken / step), round(paid / tick / step)
    rule = need_of(standing, sign, steps, limit, mark, product.unit, taken_steps, paid_ticks, uncovered)
    return _Need(standing, rule, taken_steps, paid_ticks)


def _position_limits(inputs: TicketInputs, need: _Need) -> list[Problem]:
    product, holdings = inputs.product, inputs.holdings
    notional, largest = Decimal(need.rule.reach) / product.money_scale, product.max_position_notional
    if largest is not None and notional > largest:
        most = f"maxPositionNtnl {money(largest)} of {product.symbol}"
        message = f"position and orders would reach {money(notional)} USDC, above {most}"
        return [Problem("quantity", ProductRule.MAX_NOTIONAL, message)]
    # Larger positions allow less leverage. The tier is that of position and orders together.
    limit = margin.tier_of(notional, product.tiers).max_leverage if product.tiers else None
    if limit is None or holdings.leverage is None or holdings.leverage <= limit:
        return []
    allowed = f"{product.symbol} allows leverage {trimmed(limit)}x, yours is {trimmed(holdings.leverage)}x"
    return [Problem("quantity", ProductRule.MAX_LEVERAGE, f"at a notional of {money(notional)} USDC {allowed}")]


def _growth_problems(inputs: TicketInputs, need: _Need) -> list[Problem]:
    """Report an isolated position that would be below its maintenance margin after it has grown."""
    product, standing, sign = inputs.product, need.standing, inputs.draft.sign
    equity = grown_equity(standing, sign, need.taken, need.paid * product.unit)
    if equity is None or not product.tiers or inputs.holdings.leverage is None:
        return []
    legs = (standing.longs + (need.taken if sign > 0 else 0), standing.shorts + (need.taken if sign < 0 else 0))
    values = (Decimal(size * standing.step_value) / product.money_scale for size in legs)
    # Each leg has its own tier.
    maintenance = sum((rounded_up(margin.maintenance_margin(value, product.tiers)) for value in values), ZERO)
    # Equal is too little: a liquidation starts there.
    if equity > _parts(product, maintenance):
        return []
    have, advice = money(Decimal(equity) / product.money_scale), "Add margin to it before it grows"
    message = (
        f"the isolated position would have {have} USDC and need {money(maintenance)} of maintenance margin. {advice}"
    )
    return [Problem("quantity", "maintenance margin", message)]


def margin_needed(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> Decimal | None:
    """Return the available margin in USDC that an order takes, 0 for what the position covers.

    That is its initial margin and, for the quantity that fills immediately, the fees and the loss against mark price.
    None where the leverage is not known.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    quantity : Decimal
        Quantity in base units.
    worst : Decimal
        Worst price at which it may trade, in USDC.
    """
    if quantity <= cover(inputs.holdings, inputs.draft.sign):
        return ZERO
    parts = _need_of(inputs, quantity, worst).margin_parts(inputs)
    return None if parts is None else Decimal(parts) / inputs.product.money_scale


def _margin_problem(inputs: TicketInputs, quantity: Decimal, worst: Decimal, need: Decimal) -> Problem:
    product, holdings = inputs.product, inputs.holdings
    steps = max_affordable_steps(inputs, int(quantity / product.step_size), worst)
    choices: tuple[Choice, ...] = ()
    available = f"{money(holdings.available)} USDC is available at {trimmed(holdings.leverage)}x"
    message = f"margin: the order needs {money(need)} USDC, {available}"
    text = product.quantity_text(steps)
    if steps > 0 and Decimal(text) * worst >= product.min_order_value:
        choices = (in_base(text, f"at most {text}"),)
        message += f". At most {text}"
    return Problem("quantity", "available margin", message, choices)


def max_affordable_steps(inputs: TicketInputs, limit: int, worst: Decimal) -> int:
    """Return the largest number of steps whose margin is available.

    It is found by bisection.

    Parameters
    ----------
    inputs : TicketInputs
        A draft and what it is checked against.
    limit : int
        The number is below this one.
    worst : Decimal
        Worst price at which it may trade, in USDC.
    """
    low, high = 0, limit
    # The margin grows with the quantity, so bisection finds the edge.
    while low < high - 1:
        middle = (low + high) // 2
        needed = margin_needed(inputs, inputs.product.step_size * middle, worst)
        fits = needed is not None and needed <= inputs.holdings.available
        low, high = (middle, high) if fits else (low, middle)
    return low
