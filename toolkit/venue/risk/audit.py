"""The venue's books as a sheet: where all money is, and who paid for accounts that lost more than they had.

>>> from toolkit.venue.engine.core import Core
>>> books = audit(Core())
>>> books.closed, books.burdens
(True, ())
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...numerals import micro_text
from ..liquidation.liquidation import COUNTERPARTY
from ..programs.referrals import REFERRALS
from ..programs.vaults import RESERVES
from . import ledger

if TYPE_CHECKING:
    from ..engine.core import Core

_NAMES = {**ledger.VENUE_ACCOUNTS, ledger.LP_VAULT: "LP vault", RESERVES: "vault reserves", REFERRALS: "referrals"}


@dataclass(frozen=True, slots=True)
class Burden:
    """A part of somebody's loss that somebody else paid; `amount` in micro-USDC."""

    time: int
    """Unix ms."""
    bankrupt: str
    """Account that lost more than it had."""
    product: int
    """Its product, 0 when several lost together."""
    payer: str
    """Account that paid: the LP vault, INSURANCE, or the deleveraged counterpart (what it lost against mark)."""
    by: str
    """"LP vault", "insurance" or "ADL"."""
    amount: int


@dataclass(frozen=True, slots=True)
class Audit:
    """All money at one moment, micro-USDC. Its text is a table."""

    deposits: int
    withdrawals: int
    holdings: tuple[tuple[str, int], ...]
    """Who holds it: name of the group or venue account, and how much."""
    burdens: tuple[Burden, ...]

    @property
    def difference(self) -> int:
        """What is held less what came in and did not leave; 0 when the books close."""
        return sum(amount for _, amount in self.holdings) - self.deposits + self.withdrawals

    @property
    def closed(self) -> bool:
        """True when every micro-USDC is accounted for."""
        return self.difference == 0

    @property
    def paid_by(self) -> dict[str, int]:
        """How much of others' losses each kind of payer carried."""
        found: dict[str, int] = {}
        for burden in self.burdens:
            found[burden.by] = found.get(burden.by, 0) + burden.amount
        return found

    def __str__(self) -> str:
        lines = [_line("deposits", self.deposits), _line("withdrawals", -self.withdrawals), ""]
        lines += [_line(name, amount) for name, amount in self.holdings]
        lines += [_line("difference", self.difference), ""]
        if not self.burdens:
            lines.append("nobody lost more than they had")
        for burden in self.burdens:
            who = burden.payer if burden.by == "ADL" else burden.by
            lines.append(f"{micro_text(burden.amount)} USDC of the loss of {burden.bankrupt} was paid by {who}")
        lines += [_line(f"paid by {by}", amount) for by, amount in self.paid_by.items()]
        return "\n".join(lines)


def audit(core: Core) -> Audit:
    """Return the books of a venue as they stand: all balances and isolated margins, and who paid for whom."""
    groups = {"users": 0, "isolated margins": 0, "vaults": 0, "simulated participants": 0}
    kinds = {"user": "users", "vault": "vaults", "market": "simulated participants"}
    own: dict[str, int] = {}
    for address, account in core.state.accounts.items():
        if address in _NAMES or account.kind == "venue":
            own[_NAMES.get(address, address)] = account.balance
        else:
            groups[kinds[account.kind]] += account.balance
        groups["isolated margins"] += sum(position.assigned for position in account.positions.values())
    holdings = (*groups.items(), *own.items())
    return Audit(core.state.deposits, core.state.withdrawals, holdings, tuple(burdens(core)))


def burdens(core: Core) -> list[Burden]:
    """Return every payment for a loss that the loser could not carry, in order of time."""
    found = [
        Burden(paid.time, paid.receiver, paid.product, paid.payer, _NAMES[paid.payer], paid.paid)
        for paid in core.state.history.ledger.records
        if paid.kind == ledger.BANKRUPTCY
    ]
    for step in core.state.history.liquidations.records:
        cost = step.side * (step.price - step.mark) * step.quantity * core.products[step.product].unit
        if step.where == COUNTERPARTY and cost > 0:
            found.append(Burden(step.time, step.address, step.product, step.counterpart, "ADL", cost))
    return sorted(found, key=lambda burden: burden.time)


def _line(name: str, amount: int) -> str:
    sign, units = ("-" if amount < 0 else ""), abs(amount)
    return f"{name:<28}{f'{sign}{units // 1_000_000:,}.{units % 1_000_000:06d}':>28}"
