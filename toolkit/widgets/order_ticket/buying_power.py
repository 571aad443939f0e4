"""The rules of the account: margin, limits and positions, as the venue checks them before an order adds risk.

Source: risk-rules, "Margin"; docs/assumptions.md, "Widgets".
"""

from __future__ import annotations

from decimal import Decimal

from ... import margin
from ..base_panel.number_format import money, trimmed
from .draft import MICRO, ZERO, Choice, Holdings, Problem, TicketInputs, rounded_up, walk


def account_rules(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> list[Problem]:
    """Return a problem for every account rule that an order breaks; `worst` is the worst price it may trade at."""
    draft, market, holdings = inputs.draft, inputs.market, inputs.holdings
    if draft.reduce_only:
        # The venue values a market order at the last price for minOrderValue, not at its slippage bound.
        valued = (market.last or market.mark or worst) if draft.market else worst
        return _reduce_only_rules(inputs, quantity, valued)
    if quantity <= cover(holdings, draft.sign):
        return []
    if holdings.liquidating:
        return [Problem("side", "liquidation", "the account is being liquidated; only reducing orders are accepted")]
    mark = market.mark or worst
    problems = _position_limits(inputs, quantity * worst, mark)
    need = margin_needed(inputs, quantity, worst)
    if need > holdings.available:
        problems.append(_margin_problem(inputs, quantity, worst, need))
    return problems


def _reduce_only_rules(inputs: TicketInputs, quantity: Decimal, price: Decimal) -> list[Problem]:
    draft, product, holdings = inputs.draft, inputs.product, inputs.holdings
    held = holdings.reducible(draft.sign)
    name = "long" if draft.sign < 0 else "short"
    if held <= 0:
        other = "SELL" if draft.sign > 0 else "BUY"
        choices = [Choice("not reduce-only", {"reduce_only": False})]
        if holdings.size * draft.sign > 0:
            choices.insert(0, Choice(other.lower(), {"side": other}))
        message = f"reduce-only: there is no {name} position in {product.symbol} to reduce"
        return [Problem("reduce_only", "position", message, tuple(choices))]
    # Only an order that may rest shares the position with the reduce-only orders already in the book.
    free = held
    if draft.effective_tif in ("GTC", "POST_ONLY"):
        free -= holdings.reducing_buys if draft.sign > 0 else holdings.reducing_sells
    if free <= 0:
        message = f"open reduce-only orders already cover the {name} position of {trimmed(held)}"
        return [Problem("reduce_only", "covered", message)]
    choice = Choice(trimmed(free), {"quantity": format(free, "f"), "quantity_as": "base"})
    if quantity > free:
        message = f"reduce-only: {trimmed(quantity)} exceeds the reducible {name} position of {trimmed(free)}"
        return [Problem("quantity", "position", message, (choice,))]
    if quantity < free and price * quantity < product.min_order_value:
        message = (
            f"order value {trimmed(price * quantity)} is below minOrderValue {trimmed(product.min_order_value)},"
            f" and does not close the whole position"
        )
        return [Problem("quantity", "minOrderValue", message, (choice,))]
    return []


def cover(holdings: Holdings, sign: int) -> Decimal:
    """Return how much an order without reduce-only closes before it opens anything."""
    return ZERO if holdings.hedge else max(ZERO, -sign * holdings.size)


def _uncovered_value(holdings: Holdings, sign: int) -> Decimal:
    """Return the value of the resting orders of a side that lose their cover when an order closes the position."""
    resting, value = (holdings.buys, holdings.buys_value) if sign > 0 else (holdings.sells, holdings.sells_value)
    return value * min(cover(holdings, sign), resting) / resting if resting else ZERO


def _position_limits(inputs: TicketInputs, value: Decimal, mark: Decimal) -> list[Problem]:
    draft, product, holdings = inputs.draft, inputs.product, inputs.holdings
    own, other = (holdings.long, holdings.short) if draft.sign > 0 else (holdings.short, holdings.long)
    resting = holdings.buys_value if draft.sign > 0 else holdings.sells_value
    notional = own * mark + resting + value - _uncovered_value(holdings, draft.sign)
    if not holdings.hedge:
        notional -= other * mark
    if notional > product.max_position_notional:
        message = (
            f"position and orders would reach {money(notional)} USDC, above maxPositionNtnl"
            f" {money(product.max_position_notional)} of {product.symbol}"
        )
        return [Problem("quantity", "maxPositionNtnl", message)]
    if not product.tiers or notional <= 0:
        return []
    limit = margin.tier_of(notional, product.tiers).max_leverage
    if limit is not None and holdings.leverage > limit:
        message = (
            f"at a notional of {money(notional)} USDC {product.symbol} allows leverage {trimmed(limit)}x,"
            f" yours is {trimmed(holdings.leverage)}x"
        )
        return [Problem("quantity", "maxLeverage", message)]
    return []


def exposure(holdings: Holdings, mark: Decimal, buys: Decimal = ZERO, sells: Decimal = ZERO) -> Decimal:
    """Return the notional in USDC that needs margin, with buy and sell orders of these values added.

    One-way: the larger of what filling all buys or all sells would leave; hedge: both legs and all opening orders.
    """
    long, short = holdings.long * mark, holdings.short * mark
    buys, sells = holdings.buys_value + buys, holdings.sells_value + sells
    if holdings.hedge:
        return long + short + buys + sells
    net = long - short
    return max(net + buys, sells - net, net, -net)


def _initial_margin(holdings: Holdings, mark: Decimal, buys: Decimal = ZERO, sells: Decimal = ZERO) -> Decimal:
    """Return the initial margin in USDC that is held outside isolated positions, with orders of these values added.

    What flips an isolated position closes it first, which sets its equity free.
    """
    if not holdings.isolated or holdings.hedge:
        base = (holdings.long + holdings.short) * mark if holdings.isolated else ZERO
        return rounded_up((exposure(holdings, mark, buys, sells) - base) / holdings.leverage)
    buys, sells = holdings.buys_value + buys, holdings.sells_value + sells
    grows, flips = (sells, buys) if holdings.short else (buys, sells)
    grown = rounded_up(grows / holdings.leverage)
    flipped = flips - (holdings.long + holdings.short) * mark
    if flipped <= 0:
        return grown
    freed = max(ZERO, holdings.assigned + holdings.pnl(mark))
    return max(grown, rounded_up(flipped / holdings.leverage) - freed)


def _margin_after_close(holdings: Holdings, sign: int, value: Decimal, mark: Decimal) -> Decimal:
    """Return the margin in USDC that is held when an order worth `value` has closed the position and opened the rest.

    Less what the closing of an isolated position sets free.
    """
    buys, sells = holdings.buys_value, holdings.sells_value
    same, other = (buys, sells) if sign > 0 else (sells, buys)
    flipped = same + value - _uncovered_value(holdings, sign) - (holdings.long + holdings.short) * mark
    freed = holdings.assigned + holdings.pnl(mark) if holdings.isolated else ZERO
    return rounded_up(max(flipped, other) / holdings.leverage) - freed


def margin_needed(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> Decimal:
    """Return the available margin in USDC that an order takes, rounded up.

    That is its initial margin and, for the quantity that fills immediately, the fees and the loss against mark price.
    """
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    mark = market.mark or worst
    value = quantity * worst
    # What trades below mark counts at mark, where the position will be valued.
    counted = max(value, mark * quantity) if draft.sign < 0 else value
    if cover(holdings, draft.sign):
        initial = _margin_after_close(holdings, draft.sign, counted, mark) - _initial_margin(holdings, mark)
    else:
        added = (counted, ZERO) if draft.sign > 0 else (ZERO, counted)
        initial = _initial_margin(holdings, mark, *added) - _initial_margin(holdings, mark)
    if quantity <= cover(holdings, draft.sign):
        return ZERO
    taken, paid = walk(market.opposite(draft.sign), quantity, worst, draft.sign)
    if not taken:
        return initial
    steps = taken / product.step_size
    # The venue rounds the fee, and isolated margin, up for every fill; there is at most one fill a step.
    rounding = (steps + 1) * MICRO + (steps * MICRO if holdings.isolated else ZERO)
    loss = max(ZERO, draft.sign * (paid - mark * taken))
    return initial + loss + rounded_up(paid * max(holdings.maker, holdings.taker, ZERO)) + rounding


def _margin_problem(inputs: TicketInputs, quantity: Decimal, worst: Decimal, need: Decimal) -> Problem:
    product, holdings = inputs.product, inputs.holdings
    steps = max_affordable_steps(inputs, int(quantity / product.step_size), worst)
    choices: tuple[Choice, ...] = ()
    message = (
        f"margin: the order needs {money(need)} USDC, {money(holdings.available)} USDC is available"
        f" at {trimmed(holdings.leverage)}x"
    )
    text = product.quantity_text(steps)
    if steps > 0 and Decimal(text) * worst >= product.min_order_value:
        choices = (Choice(f"at most {text}", {"quantity": text, "quantity_as": "base"}),)
        message += f"; at most {text}"
    return Problem("quantity", "available margin", message, choices)


def max_affordable_steps(inputs: TicketInputs, limit: int, worst: Decimal) -> int:
    """Return the largest number of steps below `limit` whose margin is available, by bisection."""
    low, high = 0, limit
    while low < high - 1:
        middle = (low + high) // 2
        fits = margin_needed(inputs, inputs.product.step_size * middle, worst) <= inputs.holdings.available
        low, high = (middle, high) if fits else (low, middle)
    return low
