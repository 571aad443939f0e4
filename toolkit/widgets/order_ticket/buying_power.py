"""The rules of the account: margin, limits and positions, as the venue checks them before an order adds risk.

Source: docs/assumptions.md, "Money on the venue"; docs/assumptions.md, "Widgets".
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from ... import margin
from ...exposure import Need, Standing, grown_equity, need_of, uncovered_value
from ..base_panel.number_format import money, trimmed
from .draft import ZERO, Choice, Holdings, Problem, TicketInputs, in_base, rounded_up, walk


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
    need = _need_of(inputs, quantity, worst)
    problems = _position_limits(inputs, need) + _growth_problems(inputs, need)
    margin_micro = need.margin_micro(inputs)
    if margin_micro > _micro(holdings.available):
        problems.append(_margin_problem(inputs, quantity, worst, Decimal(margin_micro) / 10**6))
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
    choice = in_base(format(free, "f"), trimmed(free))
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


def _micro(amount: Decimal) -> int:
    """Return an amount of USDC in micro-USDC."""
    return round(amount * 10**6)


class _Need(NamedTuple):
    """What an order needs by the rule of the venue; `taken` (steps) and `paid` (ticks × steps) trade immediately."""

    standing: Standing
    rule: Need
    taken: int
    paid: int

    def margin_micro(self, inputs: TicketInputs) -> int:
        """Return the available margin that the order takes, micro-USDC: initial margin, fees, immediate losses."""
        rule, holdings, unit = self.rule, inputs.holdings, inputs.product.unit
        need = rule.margin - self.standing.initial() - rule.freed + rule.loss
        if not self.taken:
            return need
        fee = rounded_up(Decimal(self.paid * unit) * max(holdings.maker, holdings.taker, ZERO) / 10**6)
        # The venue rounds the fee, and isolated margin, up for every fill; there is at most one fill a step.
        return need + _micro(fee) + (self.taken + 1) + (self.taken if holdings.isolated else 0)


def _standing(inputs: TicketInputs, mark: int) -> Standing:
    """Return what the account holds in the ticket's product, in the integers of the venue's rule."""
    holdings, product = inputs.holdings, inputs.product
    step_value = mark * product.unit
    longs, shorts = (round(size / product.step_size) for size in (holdings.long, holdings.short))
    buys, sells = (
        sum(_micro(price * quantity) for price, quantity in orders) for orders in (holdings.buys, holdings.sells)
    )
    pnl = (longs - shorts) * step_value - _micro(holdings.long_value) + _micro(holdings.short_value)
    equity = _micro(holdings.assigned) + pnl if holdings.isolated else None
    leverage = int(holdings.leverage * 100)
    return Standing(longs, shorts, buys, sells, step_value, leverage, holdings.hedge, equity)


def _need_of(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> _Need:
    """Return what an order needs, by the venue's own rule."""
    draft, product, market, holdings = inputs.draft, inputs.product, inputs.market, inputs.holdings
    tick, step, sign = product.tick_size, product.step_size, draft.sign
    steps, limit, mark = round(quantity / step), round(worst / tick), round((market.mark or worst) / tick)
    standing = _standing(inputs, mark)
    taken, paid = walk(market.opposite(sign), quantity, worst, sign)
    resting = (
        (round(size / step), round(price / tick)) for price, size in (holdings.buys if sign > 0 else holdings.sells)
    )
    uncovered = uncovered_value(resting, standing.cover(sign)) * product.unit
    taken_steps, paid_ticks = round(taken / step), round(paid / tick / step)
    rule = need_of(standing, sign, steps, limit, mark, product.unit, taken_steps, paid_ticks, uncovered)
    return _Need(standing, rule, taken_steps, paid_ticks)


def _position_limits(inputs: TicketInputs, need: _Need) -> list[Problem]:
    product, holdings = inputs.product, inputs.holdings
    notional = Decimal(need.rule.reach) / 10**6
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


def _growth_problems(inputs: TicketInputs, need: _Need) -> list[Problem]:
    """Report an isolated position that would be below its maintenance margin after it has grown."""
    product, standing, sign = inputs.product, need.standing, inputs.draft.sign
    equity = grown_equity(standing, sign, need.taken, need.paid * product.unit)
    if equity is None or not product.tiers:
        return []
    legs = (standing.longs + (need.taken if sign > 0 else 0), standing.shorts + (need.taken if sign < 0 else 0))
    values = (Decimal(size * standing.step_value) / 10**6 for size in legs)
    maintenance = sum((rounded_up(margin.maintenance_margin(value, product.tiers)) for value in values), ZERO)
    if equity > _micro(maintenance):
        return []
    message = (
        f"the isolated position would have {money(Decimal(equity) / 10**6)} USDC and need {money(maintenance)} of"
        " maintenance margin; add margin to it before it grows"
    )
    return [Problem("quantity", "maintenance margin", message)]


def margin_needed(inputs: TicketInputs, quantity: Decimal, worst: Decimal) -> Decimal:
    """Return the available margin in USDC that an order takes, 0 for what the position covers.

    That is its initial margin and, for the quantity that fills immediately, the fees and the loss against mark price.
    """
    if quantity <= cover(inputs.holdings, inputs.draft.sign):
        return ZERO
    return Decimal(_need_of(inputs, quantity, worst).margin_micro(inputs)) / 10**6


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
        choices = (in_base(text, f"at most {text}"),)
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
