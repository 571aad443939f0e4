"""The LP vault closes what it has taken over: a slice of each position a minute, reduce-only at mark or better.

Its orders rest at the mark of the moment; when the mark passes one, it follows before anybody can trade with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.registry import post_command, process
from ..model.constants import GTC, LIMIT, REDUCE_ONLY
from ..risk import account_margin, ledger
from ..trading import lifecycle, matching, orders

if TYPE_CHECKING:
    from ..engine.core import Core


@process("unwind")
def unwind(core: Core, time: int) -> int | None:
    """Replace the vault's orders by the next slices; it sleeps once the vault is flat."""
    config, vault = core.state.config, core.state.accounts[ledger.LP_VAULT]
    for order in list(vault.orders.values()):
        lifecycle.cancel(core, vault, order, "its minute is over")
    for code, position in sorted(vault.positions.items()):
        market, product = core.state.markets[code], core.products[code]
        size_steps = position.long.size or position.short.size
        if not size_steps or market.paused:
            continue
        slice_steps = min(-(-config.lp_slice // account_margin.mark_step(core, code)), size_steps, product.max_steps)
        side = -1 if position.long.size else 1
        orders.submit(core, vault, product, side, slice_steps, market.mark, kind=LIMIT, tif=GTC, reduce=REDUCE_ONLY)
    if vault.orders:
        interval = config.price_interval
        core.wake("quotes", (time // interval + 1) * interval)
    held = any(position.long.size or position.short.size for position in vault.positions.values())
    return time + config.lp_pause if held else None


@process("quotes")
def quote(core: Core, time: int) -> int | None:
    """Move the vault's orders with the new prices; it sleeps while there are none."""
    follow_mark(core)
    return time + core.state.config.price_interval if core.state.accounts[ledger.LP_VAULT].orders else None


@post_command("unwind")
def follow_mark(core: Core) -> bool:
    """Move the vault's orders that the mark has passed to the mark; True when there were any."""
    vault, moved = core.state.accounts[ledger.LP_VAULT], False
    if not vault.orders:
        return False
    for order in list(vault.orders.values()):
        market, position = core.state.markets[order.product], vault.positions[order.product]
        if (order.price - market.mark) * order.side <= 0 or market.paused:
            continue
        lifecycle.remove_from_book(core, position, order)
        order.price = market.mark
        lifecycle.record(core, vault, order, "it follows the mark")
        matching.process_order(core, vault, position, order, order.price)
        moved = True
    return moved
