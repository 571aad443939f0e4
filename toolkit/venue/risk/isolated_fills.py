"""Margin of isolated positions when orders fill: what moves between the balance and the position.

Amounts are in micro-USDC where no other unit is named; `step_micro` is the value of one step at mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...exposure import margin_to_open, required
from ..model.accounts import Position, VenueAccount
from ..model.constants import RATE
from .account_margin import cross_margin, mark_step, reducible, unrealized
from .fees import worst_cost
from .ledger import assign

if TYPE_CHECKING:
    from ..engine.core import Core


def settle_isolated(
    core: Core,
    account: VenueAccount,
    position: Position,
    side: int,
    *,
    opened: int,
    opened_value: int,
    closed_value: int,
    gained: int,
) -> None:
    """Move margin between balance and an isolated position after a fill was booked.

    A trade of `side` added `opened` steps worth `opened_value`; `closed_value` is the entry value that was closed;
    `gained` is what the closing added to the balance (realised PnL less fees). What opens takes its initial margin and
    its loss against mark from the balance, as far as the cross positions can spare it. What closes gives its share of
    the margin back, but the rest of the position keeps its initial margin as far as there is any; a loss is paid by the
    position's margin and unrealised profit before the balance.
    """
    step_micro = mark_step(core, position.product)
    if closed_value:
        assign(core, account, position, -released(position, closed_value, gained, step_micro, opened))
    if opened:
        assign(core, account, position, margin_of_opened(core, account, position, side, opened, opened_value))


def margin_of_opened(
    core: Core, account: VenueAccount, position: Position, side: int, opened: int, opened_value: int, freed: int = 0
) -> int:
    """Return what opening takes from the balance, to which fills before bring `freed`."""
    step_micro = mark_step(core, position.product)
    need, _ = margin_to_open(side, opened, opened_value, step_micro, position.leverage)
    return min(need, _spare(core, account, freed))


def _spare(core: Core, account: VenueAccount, freed: int = 0) -> int:
    """Return what may leave the balance while the margin ratio of the cross positions stays where liquidation stops.

    `freed` is what closing the position before brings to the balance (negative: what it takes).
    """
    figures = cross_margin(core, account)
    return max(0, figures.equity + freed - -(-figures.maintenance * RATE // core.state.config.liquidation_stop))


def released(position: Position, closed_value: int, gained: int, step_micro: int, opened: int) -> int:
    """Return the margin that closing gives back; the position is as the fill has left it.

    While a part of the position is left, the balance pays none of its loss: assigned margin may become negative, if the
    unrealised profit of the rest covers it.
    """
    size = position.long.size + position.short.size
    if size == 0 or (opened and size == opened):  # closed, or flipped: nothing of the old position is left
        return position.assigned
    left_value = position.long.value + position.short.value
    share = position.assigned * closed_value // (closed_value + left_value)
    spare = position.assigned + unrealized(position, step_micro) - required(size * step_micro, position.leverage)
    return max(min(share, spare), -gained)


def _freed(core: Core, account: VenueAccount, position: Position, side: int, price_micro: int, step_micro: int) -> int:
    """Return what the balance gets from closing what stands against an order of `side`, at a price of one step."""
    steps = reducible(account, position, side)
    if not steps:
        return 0
    product = core.products[position.product]
    beyond_mark = min(0, side * (step_micro - price_micro)) * steps
    fee = worst_cost(core, account, product, steps * price_micro)
    return position.assigned + unrealized(position, step_micro) + beyond_mark - fee


def has_margin_for(
    core: Core,
    account: VenueAccount,
    position: Position,
    side: int,
    opened_steps: int,
    value_micro: int,
    brought_micro: int = 0,
) -> bool:
    """Return whether the balance can still give an isolated position the margin for opening so many steps.

    Its orders held that margin when they were placed, but losses of the cross positions may have used it up since. What
    those can spare, with what an order that flips the position sets free, must cover the maintenance margin of what
    opens. `brought_micro` is what fills before, which are not booked yet, bring to the balance.
    """
    if opened_steps <= 0:
        return True
    table, config = core.risk_index.table(position.product), core.state.config
    step_micro = mark_step(core, position.product)
    need, loss = margin_to_open(side, opened_steps, value_micro, step_micro, position.leverage)
    own_steps = (position.long if side > 0 else position.short).size
    more = table.maintenance((own_steps + opened_steps) * step_micro) - table.maintenance(own_steps * step_micro)
    freed = brought_micro + _freed(core, account, position, side, value_micro // opened_steps, step_micro)
    return (min(need, _spare(core, account, freed)) - loss) * config.liquidation_stop > more * RATE
