"""The balance sheet of a venue: where all money is, and who covered the losses of bankrupt accounts."""

from __future__ import annotations

from dataclasses import dataclass

from toolkit.numerals import micro_text
from toolkit.venue.engine.core import Core
from toolkit.venue.risk import ledger
from toolkit.venue.risk.audit import COUNTERPARTY

ACCOUNT_NAMES = {
    **ledger.VENUE_ACCOUNTS,
    ledger.LP_VAULT: "LP vault",
    ledger.RESERVES: "vault reserves",
    ledger.REFERRALS: "referrals",
}


@dataclass(frozen=True, slots=True)
class Burden:
    """A part of one account's loss that another account paid; `amount` in micro-USDC."""

    time: int
    """Unix ms."""
    bankrupt: str
    """Account that lost more than it had."""
    product: int
    """Product of the loss, 0 when several products lost together."""
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
    """(name of the group or venue account, its money)."""
    burdens: tuple[Burden, ...]

    @property
    def difference(self) -> int:
        """Holdings less deposits plus withdrawals; 0 when the books close."""
        return sum(amount for _, amount in self.holdings) - self.deposits + self.withdrawals

    @property
    def closed(self) -> bool:
        """True when every micro-USDC is accounted for."""
        return self.difference == 0

    @property
    def paid_by(self) -> dict[str, int]:
        """How much of others' losses each kind of payer covered."""
        found: dict[str, int] = {}
        for burden in self.burdens:
            found[burden.by] = found.get(burden.by, 0) + burden.amount
        return found

    def __str__(self) -> str:
        lines = [_line("deposits", self.deposits), _line("withdrawals", -self.withdrawals), ""]
        lines += [_line(name, amount) for name, amount in self.holdings]
        lines += [_line("difference", self.difference), ""]
        if not self.burdens:
            lines.append("no account lost more than it had")
        for burden in self.burdens:
            who = burden.payer if burden.by == "ADL" else burden.by
            lines.append(f"{micro_text(burden.amount)} USDC of the loss of {burden.bankrupt} was paid by {who}")
        lines += [_line(f"paid by {by}", amount) for by, amount in self.paid_by.items()]
        return "\n".join(lines)


def audit(core: Core) -> Audit:
    """Return the balance sheet of a venue: all balances and isolated margins, and who covered whose loss."""
    groups = {"users": 0, "isolated margins": 0, "vaults": 0, "simulated participants": 0}
    kinds = {"user": "users", "vault": "vaults", "market": "simulated participants"}
    own: dict[str, int] = {}
    for address, account in core.state.accounts.items():
        if address in ACCOUNT_NAMES:
            own[ACCOUNT_NAMES[address]] = account.balance
        else:
            groups[kinds[account.kind]] += account.balance
        groups["isolated margins"] += sum(position.assigned for position in account.positions.values())
    holdings = (*groups.items(), *own.items())
    return Audit(core.state.deposits, core.state.withdrawals, holdings, tuple(burdens(core)))


def burdens(core: Core) -> list[Burden]:
    """Return every payment for a loss that the loser could not cover, in order of time."""
    found = [
        Burden(paid.time, paid.receiver, paid.product, paid.payer, ACCOUNT_NAMES[paid.payer], paid.paid)
        for paid in core.state.history.ledger.records
        if paid.kind == ledger.BANKRUPTCY
    ]
    for step in core.state.history.liquidations.records:
        # a deleveraged counterparty loses what the bankruptcy price is worse than mark; at or better than mark, nothing
        cost = step.side * (step.price - step.mark) * step.quantity * core.products[step.product].unit
        if step.where == COUNTERPARTY and cost > 0:
            found.append(Burden(step.time, step.address, step.product, step.counterpart, "ADL", cost))
    return sorted(found, key=lambda burden: burden.time)


def _line(name: str, amount: int) -> str:
    sign, units = ("-" if amount < 0 else ""), abs(amount)
    return f"{name:<28}{f'{sign}{units // 1_000_000:,}.{units % 1_000_000:06d}':>28}"
