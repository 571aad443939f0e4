"""What if: an account's margin under a price that has not come."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...errors import InputError
from ...products import MICRO
from ..engine.core import Core
from ..model.accounts import VenueAccount
from ..model.constants import ISOLATED, RATE
from ..risk import account_margin


def what_if(core: Core, address: str, code: int, shock: Decimal) -> list[dict[str, Any]]:
    """Return an account's figures at the present mark of a product, and with the mark moved by a ratio.

    Nothing changes. Raises InputError for a ratio of −1 or less.
    """
    if not shock.is_finite() or shock <= -1:
        raise InputError(
            f"a shock of {shock} leaves no price; give a ratio above -1, such as -0.2 for a fall of 20 %",
            field="shock",
            rule="above -1",
            value=str(shock),
        )
    account, market = core.account(address), core.state.markets[code]
    present = market.mark
    rows = [_figures(core, account, code)]
    try:
        market.mark = max(1, round(present * (1 + shock)))
        rows.append(_figures(core, account, code))
    finally:
        market.mark = present
    return rows


def _figures(core: Core, account: VenueAccount, code: int) -> dict[str, Any]:
    position, product = account.positions.get(code), core.products[code]
    wallet = account_margin.wallet(core, account)
    figures = account_margin.cross_margin(core, account)
    size = pnl = 0
    if position is not None:
        size = position.long.size - position.short.size
        pnl = account_margin.unrealized(position, account_margin.mark_step(core, code))
        if position.mode == ISOLATED:
            figures = account_margin.isolated_margin(core, position)
    price = account_margin.liquidation_price(core, account, code) if size else None
    return {
        "mark_price": float(product.tick_size * core.state.markets[code].mark),
        "position": float(product.step_size * size),
        "unrealized_pnl": pnl / MICRO,
        "equity": wallet.equity / MICRO,
        "available": wallet.available / MICRO,
        "initial_margin": figures.initial / MICRO,
        "maintenance_margin": figures.maintenance / MICRO,
        "margin_ratio": float("inf") if figures.ratio is None else figures.ratio / RATE,
        "liquidation_price": float("nan") if price is None else float(price),
        "liquidated": figures.unhealthy,
    }
