"""What must hold after every command, as checkers over a core: cash, positions, margins, the ledger.

`Watch` is put around a core: `watch.apply(command)` applies it and then checks everything of this list.
"""

from __future__ import annotations

from toolkit.venue.engine.commands import Advance, Command, Outcome, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.constants import HEDGE, ISOLATED, LIQUIDATING
from toolkit.venue.risk import account_margin, ledger


def check_cash(core: Core) -> None:
    """1. What all accounts hold is what came in less what left, to the last micro-USDC."""
    state = core.state
    total = sum(account.balance for account in state.accounts.values())
    total += sum(position.assigned for account in state.accounts.values() for position in account.positions.values())
    assert total == state.deposits - state.withdrawals, f"cash is off by {total - state.deposits + state.withdrawals}"


def check_positions(core: Core) -> None:
    """2. Longs equal shorts in every product, so total equity does not depend on mark."""
    entry = 0
    for code, market in core.state.markets.items():
        positions = [a.positions[code] for a in core.state.accounts.values() if code in a.positions]
        longs, shorts = (sum(p.long.size for p in positions), sum(p.short.size for p in positions))
        assert longs == shorts == market.open_interest, f"{code}: long {longs}, short {shorts}, {market.open_interest}"
        entry += sum(p.short.value - p.long.value for p in positions)
        for position in positions:
            assert position.long.size >= 0, position
            assert position.short.size >= 0, position
            assert (position.long.size > 0) == (position.long.value > 0), position
            assert (position.short.size > 0) == (position.short.value > 0), position
    clearing = core.state.accounts[ledger.CLEARING].balance
    assert clearing == entry, f"clearing holds {clearing}, the entry values leave {entry}"


def check_margins(core: Core) -> None:
    """6. Whoever reached a margin ratio of 100 % is being liquidated; nobody else is; flat accounts owe nothing."""
    state = core.state
    groups = set()
    for address, account in state.accounts.items():
        if account.kind not in ("user", "vault") or address == ledger.LP_VAULT:
            assert account.status != LIQUIDATING, address
            continue
        for code, position in account.positions.items():
            open_ = position.long.size or position.short.size
            if position.mode != ISOLATED or not open_:
                assert position.assigned == 0, f"{address} has margin on a position that is not isolated or not open"
            elif account_margin.isolated_margin(core, position).unhealthy:
                groups.add(f"{address}:{code}")
        figures = account_margin.cross_margin(core, account)
        assert account_margin.available(core, account) == figures.equity - figures.initial, address
        cross = [p for p in account.positions.values() if p.mode != ISOLATED and (p.long.size or p.short.size)]
        if cross and figures.unhealthy:
            groups.add(f"{address}:0")
        if not cross:
            assert account.balance >= 0, f"{address} is flat on cross and owes {-account.balance}"
    missing = groups - set(state.liquidations)
    assert not missing, f"unhealthy and not being liquidated: {sorted(missing)}"
    under = {entry.address for entry in state.liquidations.values()}
    marked = {address for address, account in state.accounts.items() if account.status == LIQUIDATING}
    assert under == marked, f"status and liquidations differ: {sorted(under ^ marked)}"


def exposures(core: Core, command: Command) -> dict[int, int]:
    """Return what needs margin by product, of the account that places orders with this command."""
    if not isinstance(command, Submit) or command.action["type"] != "placeOrder":
        return {}
    account = core.account(command.signer)
    core.apply(Advance(command.time))
    hedge = account.position_mode == HEDGE
    found = {}
    for code in {int(item["symbolCode"]) for item in command.action["orders"] if "reduceOnlyOption" not in item}:
        price = core.state.markets[code].mark * core.risk_index.table(code).unit
        position = account.positions.get(code)
        found[code] = account_margin.exposure(position, price, hedge) if position else 0
    return found


def check_increase(core: Core, command: Command, before: dict[int, int]) -> None:
    """6. Whoever was let take more risk (and was not deleveraged at once) has equity for all initial margins."""
    if not isinstance(command, Submit):
        return
    account = core.account(command.signer)
    after = exposures(core, command)
    if any(after[code] > before.get(code, 0) for code in after):
        figures = account_margin.cross_margin(core, account)
        assert figures.equity >= figures.initial, f"{account.address}: {figures}"
        for code in after:
            position, table = account.positions[code], core.risk_index.table(code)
            notional = max(position.long.size, position.short.size) * core.state.markets[code].mark * table.unit
            if after[code] > before.get(code, 0):
                assert notional <= table.max_notional, f"{account.address} in {code}: {notional}"
                assert position.leverage <= table.leverage_limit(notional), f"{account.address} in {code}: {notional}"
            if position.mode == ISOLATED and (position.long.size or position.short.size):
                if position.buy_quantity == position.sell_quantity == 0:
                    own = account_margin.isolated_margin(core, position)
                    assert own.equity >= own.initial, f"{account.address} in {code}: {own}"


def check_ledger(core: Core) -> None:
    """Every transfer closes, every entry's balance follows from the one before, and the last one is the account's."""
    transfers = core.state.history.ledger.records
    for number, transfer in enumerate(transfers, 1):
        assert transfer.id == number
        assert transfer.tx_hash.startswith("0x"), transfer
        assert 0 <= transfer.received <= transfer.paid > 0, transfer
        assert transfer.payer != transfer.receiver, transfer
    changes = 0
    for address, account in core.state.accounts.items():
        balance = isolated = 0
        for entry in ledger.entries(core, address):
            balance += entry.amount
            assert entry.amount, entry
            assert entry.balance == balance, entry
            if entry.kind == ledger.ISOLATED_MARGIN:
                isolated -= entry.amount
            changes += 1
        assert balance == account.balance, f"{address}: entries say {balance}, the balance is {account.balance}"
        assigned = sum(position.assigned for position in account.positions.values())
        assert isolated == assigned, f"{address}: isolated margin {assigned}, entries say {isolated}"
    sides = sum((t.payer != "") + (t.receiver != "" and t.received > 0) + (t.paid != t.received) for t in transfers)
    assert changes == sides, f"{changes} entries of accounts for {sides} sides of transfers"


def check_gifts(core: Core, first: int) -> None:
    """Nobody's loss was paid by others while the loser had anything left that could pay it."""
    for paid in core.state.history.ledger.records[first:]:
        if paid.kind == ledger.BANKRUPTCY and not paid.product:
            worth = account_margin.wallet(core, core.state.accounts[paid.receiver]).equity
            assert worth == 0, f"{paid.receiver} got {paid.received} and has {worth}"


def check_indexes(core: Core) -> None:
    """The index of holders says what the positions say."""
    for code, holders in core.risk_index.holders.items():
        held = {
            address
            for address, account in core.state.accounts.items()
            if code in account.positions and (account.positions[code].long.size or account.positions[code].short.size)
        }
        assert set(holders) == held


def check_money(core: Core) -> None:
    """Everything of this module but the ledger's whole length."""
    check_cash(core)
    check_positions(core)
    check_margins(core)
    check_indexes(core)


class Watch:
    """A core whose every command is checked; the whole ledger every `ledger_every` commands."""

    def __init__(self, core: Core, ledger_every: int = 50) -> None:
        self.core = core
        self.ledger_every = ledger_every
        self.count = 0

    def apply(self, command: Command) -> Outcome:
        before = exposures(self.core, command)
        steps = len(self.core.state.history.liquidations.records)
        transfers = len(self.core.state.history.ledger.records)
        outcome = self.core.apply(command)
        self.core.events.clear()
        self.count += 1
        check_money(self.core)
        check_gifts(self.core, transfers)
        if steps == len(self.core.state.history.liquidations.records):
            check_increase(self.core, command, before)
        if self.count % self.ledger_every == 0:
            check_ledger(self.core)
        return outcome
