"""What must hold of margins, liquidations and the ledger after every command; `Core.check` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..engine.registry import invariant
from ..model.constants import ISOLATED, LIQUIDATING
from . import account_margin, ledger

if TYPE_CHECKING:
    from ..engine.core import Core


@invariant()
def clearing(core: Core) -> Iterator[str]:
    """The clearing account holds what entry values leave, so that equity at one mark sums to cash."""
    entry = sum(
        position.short.value - position.long.value
        for account in core.state.accounts.values()
        for position in account.positions.values()
    )
    balance = core.state.accounts[ledger.CLEARING].balance
    if balance != entry:
        yield f"clearing holds {balance}, the entry values leave {entry}"


@invariant()
def liquidations(core: Core) -> Iterator[str]:
    """A margin group whose ratio reached 100 % is being liquidated, a flat account owes nothing, and accounts that are
    being liquidated have that status. Venue accounts, simulated participants and the LP vault are never liquidated."""
    state, unhealthy = core.state, set()
    for address, account in state.accounts.items():
        if account.kind not in ("user", "vault") or address == ledger.LP_VAULT:
            continue
        isolated = {code: position for code, position in account.positions.items() if position.mode == ISOLATED}
        for code, position in account.positions.items():
            if code in isolated and (position.long.size or position.short.size):
                if account_margin.isolated_margin(core, position).unhealthy:
                    unhealthy.add(f"{address}:{code}")
            elif position.assigned:
                yield f"{address} has margin on product {code}, which is not isolated or not open"
        figures = account_margin.cross_margin(core, account)
        # `cross_margin` writes the formula of `Standing.initial` out for speed
        steps = {code: account_margin.mark_step(core, code) for code in account.positions}
        by_product = (account_margin.standing(account, p, steps[code]) for code, p in account.positions.items())
        if figures.initial != sum(each.initial() for each in by_product):
            yield f"{address}: the initial margin {figures.initial} is not the sum of what its products need"
        if any((p.long.size or p.short.size) and code not in isolated for code, p in account.positions.items()):
            if figures.unhealthy:
                unhealthy.add(f"{address}:0")
        elif account.balance < 0:
            yield f"{address} is flat on cross and owes {-account.balance} micro-USDC"
    missing = unhealthy - state.liquidations.keys()
    if missing:
        yield f"not being liquidated at a margin ratio of 100 % or more: {sorted(missing)}"
    listed = {entry.address for entry in state.liquidations.values()}
    marked = {address for address, account in state.accounts.items() if account.status == LIQUIDATING}
    if listed != marked:
        yield f"accounts whose status and liquidations differ: {sorted(listed ^ marked)}"


@invariant(history=True)
def transfers(core: Core) -> Iterator[str]:
    """Transfers are numbered without a gap, and each has a sender, a receiver and a transaction."""
    for number, transfer in enumerate(core.state.history.ledger.records, 1):
        sound = 0 <= transfer.received <= transfer.paid > 0 and transfer.payer != transfer.receiver
        if transfer.id != number or not sound or not transfer.tx_hash.startswith("0x"):
            yield f"transfer {number} is not sound: {transfer}"


@invariant(history=True)
def entries(core: Core) -> Iterator[str]:
    """Every balance follows from the one before, the last is the account's, and no side of a transfer is lost."""
    found = 0
    for address, account in core.state.accounts.items():
        balance = isolated = 0
        for entry in ledger.entries(core, address):
            balance += entry.amount
            if entry.balance != balance or not entry.amount:
                yield f"{address}: the entry does not follow from the one before: {entry}"
            if entry.kind == ledger.ISOLATED_MARGIN:
                isolated -= entry.amount
            found += 1
        assigned = sum(position.assigned for position in account.positions.values())
        if balance != account.balance:
            yield f"{address}: the entries sum to {balance}, the balance is {account.balance}"
        if isolated != assigned:
            yield f"{address}: the entries say {isolated} of isolated margin, the positions have {assigned}"
    records = core.state.history.ledger.records
    sides = sum((t.payer != "") + (t.receiver != "" and t.received > 0) + (t.paid != t.received) for t in records)
    if found != sides:
        yield f"{found} entries of accounts for {sides} sides of transfers"
