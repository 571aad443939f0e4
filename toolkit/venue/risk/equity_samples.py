"""What every account was worth: a sample a minute for those that hold positions, for reports and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.registry import process
from ..model.accounts import VenueAccount
from ..model.constants import ISOLATED, RATE
from ..model.history import EquityPoint
from . import account_margin
from .ledger import OWN

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..model.genesis import Genesis


def begin(core: Core, genesis: Genesis) -> None:
    """Take the first sample at the next full interval."""
    interval = core.state.config.sample_interval
    core.wake("samples", (genesis.time // interval + 1) * interval)


@process("samples")
def sample(core: Core, time: int) -> int:
    """Sample every account that holds a position, or held one at its last sample."""
    curves = core.state.history.equity
    wanted = {address for holders in core.risk_index.holders.values() for address in holders}
    wanted.update(address for address, points in curves.items() if points[-1].ratio)
    for address in sorted(wanted):
        keep(core, core.state.accounts[address])
    return time + core.state.config.sample_interval


def keep(core: Core, account: VenueAccount) -> None:
    """Sample an account now (also called where a liquidation begins and ends)."""
    if account.kind not in OWN:
        core.state.history.equity.setdefault(account.address, []).append(point(core, account))


def point(core: Core, account: VenueAccount) -> EquityPoint:
    """Return what an account is worth now; its ratio is the worst of its margin groups."""
    wallet = account_margin.wallet(core, account)
    ratios = [account_margin.cross_margin(core, account).ratio]
    for position in account.positions.values():
        if position.mode == ISOLATED and (position.long.size or position.short.size):
            ratios.append(account_margin.isolated_margin(core, position).ratio)
    worst = max(10 * RATE if ratio is None else min(ratio, 10 * RATE) for ratio in ratios)
    return EquityPoint(core.state.time, wallet.equity, wallet.balance, worst)
