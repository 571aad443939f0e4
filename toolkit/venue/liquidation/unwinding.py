"""The LP vault closes what it has taken over: a slice of each position a minute, reduce-only at mark or better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.registry import process
from ..model.constants import GTC, LIMIT, REDUCE_ONLY
from ..risk import account_margin, ledger
from ..trading import lifecycle, orders

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
    held = any(position.long.size or position.short.size for position in vault.positions.values())
    return time + config.lp_pause if held else None
