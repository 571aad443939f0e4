"""Invariants of the accounts' money. They compare the state before a command with the state after it.

Their cost grows with the accounts and orders. Tests check them after every command, a served venue with `--check`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import VenueError
from ...numerals import micro_text
from ..engine.core import Core
from ..model.constants import ISOLATED, OWN
from . import account_margin, ledger


@contextmanager
def watched(core: Core, time: int) -> Iterator[None]:
    """Let time pass, and check the invariants of the command that is executed within.

    While the marks are unchanged, no account may fall into debt, and neither the LP vault nor INSURANCE may lose more
    than fees. Trades between accounts do not make them richer together.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Time of the command, Unix ms. Events that are due before it are not part of the comparison.

    Raises
    ------
    VenueError
        If the command breaks an invariant. The error names all of them.
    """
    core.advance(time)
    records, marks, owing, kept = core.state.history.ledger.records, _marks(core), _owing(core), _insurers(core)
    first, liquidating = len(records), {entry.address for entry in core.state.liquidations.values()}
    yield
    found = core.violations(history=False)
    if _marks(core) == marks:
        paid = {entry.receiver for entry in records[first:] if entry.kind == ledger.BANKRUPTCY}
        debtors = sorted((_owing(core) | paid) - owing - liquidating)
        found += [f"{each} came to owe money at an unchanged mark" for each in debtors]
        fees = sum(e.paid for e in records[first:] if (e.payer, e.kind) == (ledger.LP_VAULT, ledger.TRADING_FEE))
        lost = kept - fees - _insurers(core)
        if lost > 0 and not owing | liquidating:
            found.append(f"LP vault and INSURANCE lost {micro_text(lost)} USDC at an unchanged mark")
    if found:
        raise VenueError("the command breaks invariants: " + "; ".join(found))


def _marks(core: Core) -> list[int]:
    return [market.mark for market in core.state.markets.values()]


def _insurers(core: Core) -> int:
    """Return what the LP vault has gained in all, and what INSURANCE has, in micro-USDC."""
    accounts, vault = core.state.accounts, core.state.vaults.get(ledger.LP_VAULT)
    worth = account_margin.wallet(core, accounts[ledger.LP_VAULT]).equity + accounts[ledger.INSURANCE].balance
    return worth - vault.paid_in if vault else worth


def _owing(core: Core) -> set[str]:
    """Return the accounts that have less than nothing, on cross margin or in an isolated position."""
    found = set()
    for address, account in core.state.accounts.items():
        if account.kind not in OWN:
            isolated = (each for each in account.positions.values() if each.mode == ISOLATED)
            equities = [account_margin.isolated_margin(core, each).equity for each in isolated]
            if min(equities, default=0) < 0 or account_margin.cross_equity(core, account) < 0:
                found.add(address)
    return found
