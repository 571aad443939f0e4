"""How far the equity of an account, a vault or a trader fell: since its first check, and since the day (UTC) began."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from ...protocol.reads.door import typed_rows
from ...protocol.reads.info.accounts import WALLET_BALANCES, LedgerEntry
from ...returns import CAPITAL_FLOWS
from ..io.flow import Flow
from ..orders.intents import Ledger
from ..orders.pretrade import PreTradeChecks
from ..reads.reading import Reader, known, read_typed

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Base:
    """Equity at a time.

    Parameters
    ----------
    time_ms : int
        Time in Unix ms.
    equity : Decimal
        Equity in USDC.
    moved : Decimal
        Transfers of that millisecond in USDC, which the equity holds already.
    """

    time_ms: int
    equity: Decimal
    moved: Decimal

    def dump(self) -> str:
        """Return it as text for the ledger's notes."""
        return f"{self.time_ms} {self.equity} {self.moved}"

    @classmethod
    def load(cls, text: str) -> Base:
        """Return what `dump` wrote.

        Parameters
        ----------
        text : str
            Text of a note of the ledger.
        """
        time_ms, equity, moved = text.split()
        return cls(int(time_ms), Decimal(equity), Decimal(moved))


@dataclass(eq=False)
class Losses:
    """Reads equity and transfers by owner. How the day began is kept in the ledger, so that a restart forgets nothing.

    A day begins with the equity of the last check before it, or with its own first check.

    Parameters
    ----------
    key : str
        Name of the note in the ledger.
    ledger : Ledger
        Ledger of the session.
    checks : PreTradeChecks
        Pre-trade checks of the session, which know the account.
    reader : callable
        Function that returns the session's reader.
    """

    key: str
    ledger: Ledger
    checks: PreTradeChecks
    reader: Callable[[], Reader]
    _first: dict[str, Base] = field(default_factory=dict)
    """Owner → equity at the first check. `_latest` has that of the last one."""
    _latest: dict[str, Base] = field(default_factory=dict)

    def read(self, now: int, owner: str) -> Flow[tuple[float, float]]:
        """Return how far equity fell below that of the first check, and below that of the day's begin, in USDC.

        Parameters
        ----------
        now : int
            The present in Unix ms.
        owner : str
            Address whose orders are checked: the account, a vault, or a builder's trader.
        """
        whose = owner.lower()
        own = (yield from self.checks.account()).lower()
        key = self.key if whose == own else f"{self.key} {whose}"
        # Read before the equity: another program that begins the day meanwhile is noticed by `note` below.
        stored = self.ledger.notes().get(key)
        day, _, kept = (stored or "").partition(" ")
        begun = Base.load(kept) if kept and int(day) == now // DAY_MS else None
        wallets = yield from read_typed(WALLET_BALANCES, self.checks.retry, account=owner)
        equity = sum((known(row.equity, row, "equity") for row in wallets), Decimal(0))
        # One read of transfers for both bases, from the earlier of them on.
        since = min(base.time_ms if base else now for base in (self._first.get(whose), begun))
        read = yield from self.reader().all_rows("ledger", {"account": owner}, since)
        entries = typed_rows(LedgerEntry, list(read.rows.values()), read.endpoint.path)
        flows = [row for row in entries if row.kind in CAPITAL_FLOWS]

        def moved(from_ms: int) -> Decimal:
            # From that millisecond on, as its own transfers are subtracted again as `base.moved`.
            later = (row for row in flows if known(row.time, row, "time") >= from_ms)
            return sum((known(row.amount, row, "amount") for row in later), Decimal(0))

        present = Base(now, equity, moved(now))
        first = self._first.setdefault(whose, present)
        if begun is None:
            # The equity of the last check before midnight. Without one the day begins now, which hides an earlier fall.
            begun = self._latest.get(whose, present)
            # Only if no other program has begun the day: the first one decides for all.
            self.ledger.note(key, stored, f"{now // DAY_MS} {begun.dump()}")
        self._latest[whose] = present
        # A deposit is no profit and a withdrawal no loss.
        fall, of_day = (base.equity - equity + moved(base.time_ms) - base.moved for base in (first, begun))
        return float(fall), float(of_day)
