"""The margin that an order needs: one rule for the venue that checks it and the ticket that previews it.

Integers: values in micro-USDC, sizes in steps, prices in ticks, leverage in hundredths. Sides are +1 (buys) and −1
(sells). Requirements are rounded up. Source: docs/assumptions.md, "Money on the venue", docs/assumptions.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


def required(value: int, leverage: int) -> int:
    """Return the initial margin of a notional, micro-USDC.

    Parameters
    ----------
    value : int
        Notional, micro-USDC.
    leverage : int
        Leverage of the position, hundredths (500 is 5).
    """
    return -(-value * 100 // leverage)


def exposed(longs: int, shorts: int, buys: int, sells: int, hedge: bool) -> int:
    """Return the notional that needs margin: the position with whichever of its orders could fill.

    One-way: the larger of what all buys or all sells would leave. Hedge: both legs and all opening orders.

    Parameters
    ----------
    longs : int
        Notional of the long, micro-USDC.
    shorts : int
        Notional of the short, micro-USDC, 0 or above.
    buys : int
        Value of the resting buys that may open a position, micro-USDC.
    sells : int
        Value of the resting sells that may open a position, micro-USDC.
    hedge : bool
        Whether the account is in hedge mode.
    """
    if hedge:
        return longs + shorts + buys + sells
    # Only one side can fill in the end: buys reduce a short before they open a long.
    net = longs - shorts
    return max(net + buys, sells - net, net, -net)


def margin_to_open(side: int, steps: int, value: int, step_value: int, leverage: int) -> tuple[int, int]:
    """Return what opening takes into an isolated position: margin with the loss against mark, and that loss alone.

    Parameters
    ----------
    side : int
        +1 buys, −1 sells.
    steps : int
        Opened quantity, steps.
    value : int
        Value at the traded prices, micro-USDC.
    step_value : int
        Value of one step at mark, micro-USDC.
    leverage : int
        Leverage of the position, hundredths (500 is 5).
    """
    at_mark = steps * step_value
    # A fill worse than mark is an immediate loss, which the margin must cover. A better one is no margin.
    loss = max(0, side * (value - at_mark))
    return required(value if side > 0 else at_mark, leverage) + loss, loss


def uncovered_value(orders: Iterable[tuple[int, int]], cover_steps: int) -> int:
    """Return the value, in ticks × steps, of the orders that lose their cover when a part of a position is closed.

    Parameters
    ----------
    orders : iterable of (int, int)
        (steps, price in ticks) of the resting orders of the closing side, last placed first.
    cover_steps : int
        Closed quantity, steps.
    """
    value = 0
    for steps, price in orders:
        lost = min(cover_steps, steps)
        value += lost * price
        cover_steps -= lost
        if not cover_steps:
            break
    return value


class Standing(NamedTuple):
    """One account in one product, at one mark price.

    Attributes
    ----------
    shorts : int
        Steps of the short.
    sells : int
        Value of the resting sells that may open a position, micro-USDC.
    leverage : int
        Leverage of the position, hundredths.
    hedge : bool
        Whether the account is in hedge mode.
    """

    longs: int
    """Steps of the long, `shorts` likewise."""
    shorts: int
    buys: int
    """Value of the resting buys that may open a position, `sells` likewise."""
    sells: int
    step_value: int
    """Value of one step at mark."""
    leverage: int
    hedge: bool
    equity: int | None
    """That of an isolated position, None on cross margin."""

    def cover(self, side: int) -> int:
        """Return the number of steps that an order without reduce-only closes before it opens anything.

        Parameters
        ----------
        side : int
            +1 buys, −1 sells.
        """
        return 0 if self.hedge else self.shorts if side > 0 else self.longs

    def reach(self, side: int) -> int:
        """Return the notional that the position could reach by its resting orders of a side, micro-USDC.

        Parameters
        ----------
        side : int
            +1 buys, −1 sells.
        """
        own, other, resting = (
            (self.longs, self.shorts, self.buys) if side > 0 else (self.shorts, self.longs, self.sells)
        )
        return (own if self.hedge else own - other) * self.step_value + resting

    def initial(self, side: int = 0, value: int = 0) -> int:
        """Return the initial margin held on the cross balance, micro-USDC, with further orders of a side.

        For an isolated position only orders hold any. An order that grows it takes its own margin. An order that flips
        it closes it first, which releases its equity.

        Parameters
        ----------
        side : int, optional
            Side of the further orders: +1 buys, −1 sells (default: 0, none).
        value : int, optional
            Value of the further orders, micro-USDC (default: 0).
        """
        buys, sells = self.buys + (value if side > 0 else 0), self.sells + (value if side < 0 else 0)
        longs, shorts = self.longs * self.step_value, self.shorts * self.step_value
        if self.equity is None:
            return required(exposed(longs, shorts, buys, sells, self.hedge), self.leverage)
        if self.hedge:
            return required(buys + sells, self.leverage)
        grows, flips = (sells, buys) if self.shorts else (buys, sells)
        grown, flipped = required(grows, self.leverage), flips - longs - shorts
        if flipped <= 0:
            return grown
        return max(grown, required(flipped, self.leverage) - max(0, self.equity))


class Need(NamedTuple):
    """The need of an order: equity + freed − loss must cover the initial margin with `margin` for the product."""

    reach: int
    """Notional that position and orders could reach on the order's side."""
    margin: int
    """Initial margin that is held for the product with the order."""
    freed: int
    """Equity of an isolated position that the order closes before it opens the other side."""
    loss: int
    """Loss against mark of the part that trades immediately. Fees are added."""


def need_of(
    standing: Standing, side: int, steps: int, price: int, mark: int, unit: int, taken: int, paid: int, uncovered: int
) -> Need:
    """Return the need of an order beyond what its position covers.

    It is judged as if it had closed the position, and the resting orders that lose their cover by that were gone. A
    part that trades below mark counts at mark. A closing part that waits above mark holds the difference, as a resting
    order does.

    Parameters
    ----------
    standing : Standing
        The account in the product, at the mark price.
    side : int
        +1 buys, −1 sells.
    steps : int
        Quantity of the order, steps.
    price : int
        Limit price, or a market order's bound, ticks.
    mark : int
        Mark price, ticks.
    unit : int
        Value of one tick × one step, micro-USDC.
    taken : int
        Quantity that it trades immediately, steps.
    paid : int
        Value that it trades immediately, ticks × steps.
    uncovered : int
        Value of the resting orders that lose their cover, ticks × steps.
    """
    cover = standing.cover(side)
    waiting, gain = max(0, cover - taken) * max(0, price - mark), max(0, taken - cover) * max(0, mark - price)
    value, loss = ((steps - cover) * price + waiting) * unit, max(0, side * (paid - mark * taken)) * unit
    more = value + gain * unit if side < 0 else value
    if not cover:
        return Need(standing.reach(side) + value + gain * unit, standing.initial(side, more), 0, loss)
    same, other = (standing.buys, standing.sells) if side > 0 else (standing.sells, standing.buys)
    same -= uncovered
    margin = required(max(same + more, other), standing.leverage)
    return Need(same + value + gain * unit, margin, standing.equity or 0, loss)


def grown_equity(standing: Standing, side: int, taken: int, paid_value: int) -> int | None:
    """Return the equity of an isolated position after an order that grows it has taken its own margin along.

    It must be above the maintenance margin. None on cross margin, and if the order does not grow a position.

    Parameters
    ----------
    standing : Standing
        The account in the product, at the mark price.
    side : int
        +1 buys, −1 sells.
    taken : int
        Quantity that it trades immediately, steps.
    paid_value : int
        Value that it trades immediately, micro-USDC.
    """
    if standing.equity is None or not taken or not (standing.longs or standing.shorts) or standing.cover(side):
        return None
    margin, _ = margin_to_open(side, taken, paid_value, standing.step_value, standing.leverage)
    return standing.equity + margin + side * (taken * standing.step_value - paid_value)


RATE = 100_000_000
"""Fee rates are whole numbers of 1/RATE."""


def bearable(side: int, steps: int, price: int, mark: int, unit: int, rate: int, equity: int) -> int:
    """Return how many of so many steps trade at a price without a debt: equity at mark, less fees, stays at 0 or above.

    A fill that costs nothing against mark always does.

    Parameters
    ----------
    side : int
        +1 buys, −1 sells.
    steps : int
        Quantity of the order, steps.
    price : int
        Price, ticks.
    mark : int
        Mark price, ticks.
    unit : int
        Value of one tick × one step, micro-USDC.
    rate : int
        Rate of all its fees, in parts of RATE.
    equity : int
        Equity that may be lost, micro-USDC.
    """
    # Times RATE throughout, so that the division comes last and nothing is rounded before it.
    cost = (side * (price - mark) * RATE + price * rate) * unit
    return steps if cost <= 0 else min(steps, max(equity, 0) * RATE // cost)


def shared(steps: Sequence[int], most: Sequence[int], amount: int) -> list[int]:
    """Return the payment of each per step so that all together pay an amount, each at most its own limit.

    All pay the same, rounded up. The others pay for those at their limit, up to their own limits.

    Parameters
    ----------
    steps : sequence of int
        Quantity of each, steps.
    most : sequence of int
        Limit of each, micro-USDC per step.
    amount : int
        Payment of all together, micro-USDC.
    """
    paid, left, left_steps = [0] * len(steps), amount, sum(steps)
    # Those with the lowest limits first: what they cannot pay is then shared by all that remain.
    for at in sorted(range(len(steps)), key=most.__getitem__):
        paid[at] = max(0, min(most[at], -(-left // left_steps)))
        left, left_steps = left - paid[at] * steps[at], left_steps - steps[at]
    return paid


def bankruptcy_ticks(side: int, steps: int, mark: int, unit: int, equity: int) -> int:
    """Return the worst price in ticks at which an order may trade so many steps before equity is used up.

    That is `margin.bankruptcy_price`, seen from mark, rounded away from the trader. It may lie below 1.

    Parameters
    ----------
    side : int
        +1 buys, −1 sells.
    steps : int
        Quantity of the order, steps.
    mark : int
        Mark price, ticks.
    unit : int
        Value of one tick × one step, micro-USDC.
    equity : int
        Equity that may be lost, micro-USDC.
    """
    return mark + side * (max(equity, 0) // (steps * unit))
