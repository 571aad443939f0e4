"""Cores whose every command is checked: by `Core.check`, and by comparing the state before a command and after it."""

from __future__ import annotations

from toolkit.venue.engine.commands import Advance, Command, Outcome, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.constants import HEDGE, ISOLATED
from toolkit.venue.risk import account_margin, ledger
from toolkit.venue.risk.witness import watched


def exposures(core: Core, command: Command) -> dict[int, int]:
    """Return what needs margin by product, of the account that places orders with this command."""
    if not isinstance(command, Submit) or command.action["type"] != "placeOrder":
        return {}
    account = core.account(command.signer)
    core.apply(Advance(command.time))
    hedge = account.position_mode == HEDGE
    found = {}
    for code in {int(item["symbolCode"]) for item in command.action["orders"] if "reduceOnlyOption" not in item}:
        price = core.state.markets[code].mark * core.risk_index.tables[code].unit
        position = account.positions.get(code)
        found[code] = account_margin.exposure(position, price, hedge) if position else 0
    return found


def check_increase(core: Core, command: Command, before: dict[int, int]) -> None:
    """An account that took more risk (and was not deleveraged at once) has equity for all initial margins."""
    if not isinstance(command, Submit):
        return
    account = core.account(command.signer)
    after = exposures(core, command)
    if any(after[code] > before.get(code, 0) for code in after):
        figures = account_margin.cross_margin(core, account)
        assert figures.equity >= figures.initial, f"{account.address}: {figures}"
        for code in after:
            position, table = account.positions[code], core.risk_index.tables[code]
            notional = max(position.long.size, position.short.size) * core.state.markets[code].mark * table.unit
            if after[code] > before.get(code, 0):
                assert notional <= table.max_notional, f"{account.address} in {code}: {notional}"
                assert position.leverage <= table.leverage_limit(notional), f"{account.address} in {code}: {notional}"
            if position.mode == ISOLATED and (position.long.size or position.short.size):
                if position.buy_quantity == position.sell_quantity == 0:
                    own = account_margin.isolated_margin(core, position)
                    assert own.equity > own.maintenance, f"{account.address} in {code}: {own}"


def check_gifts(core: Core, first: int) -> None:
    """No loss was paid by others while the loser had anything left that could pay it."""
    for paid in core.state.history.ledger.records[first:]:
        if paid.kind == ledger.BANKRUPTCY and not paid.product:
            worth = account_margin.wallet(core, core.state.accounts[paid.receiver]).equity
            assert worth == 0, f"{paid.receiver} got {paid.received} and has {worth}"


class Watch:
    """A core whose every command is checked; its whole history every `history_every` commands."""

    def __init__(self, core: Core, history_every: int = 50) -> None:
        self.core = core
        self.history_every = history_every
        self.count = 0

    def apply(self, command: Command) -> Outcome:
        before = exposures(self.core, command)
        steps = len(self.core.state.history.liquidations.records)
        transfers = len(self.core.state.history.ledger.records)
        with watched(self.core, command.time):
            outcome = self.core.apply(command)
        self.core.events.clear()
        self.count += 1
        if self.count % self.history_every == 0:
            self.core.check()
        check_gifts(self.core, transfers)
        if steps == len(self.core.state.history.liquidations.records):
            check_increase(self.core, command, before)
        return outcome
