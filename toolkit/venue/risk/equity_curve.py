"""What an account was worth over a span of time: its samples, and exactly from the ledger while it held no position.

A flat account is worth its balance, and every change of that is an entry. While it holds something, its equity is known
where it was sampled, and now.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ..programs.vaults import VAULT_DEPOSIT, VAULT_MOVE, VAULT_WITHDRAW
from . import equity_samples, ledger

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..model.accounts import VenueAccount
    from ..model.history import EquityPoint, LedgerEntry

BROUGHT = frozenset({ledger.DEPOSIT, ledger.FAUCET, ledger.WITHDRAW, VAULT_DEPOSIT, VAULT_WITHDRAW, VAULT_MOVE})
"""Business types of money that was brought or taken away, and so neither won nor lost."""
_FIRST, _BOOKED, _LAST = range(3)
"""Order of rows of one instant: a sample taken before anything was booked, the bookings, a sample after them."""


class Worth(NamedTuple):
    """What an account was worth at one moment, micro-USDC; `ratio` as in EquityPoint."""

    time: int
    equity: int
    balance: int
    """Cash, isolated margins included."""
    ratio: int
    brought: int
    """Deposits less withdrawals so far, moves to and from vaults included."""


class _Row(NamedTuple):
    time: int
    order: int
    worth: Worth


def curve(core: Core, account: VenueAccount, start: int, end: int) -> list[Worth]:
    """Return everything known of an account's worth from `start` to `end` (Unix ms), oldest first.

    It begins at `start`, or with the account's first money if that is later, and ends at `end`, or now if that is
    sooner: what was booked in between is the last less the first. Where the balance of a flat account jumps there are
    two points of one time. Before and after the account's time, and the venue's, there are none.
    """
    now = core.state.time
    held = _Spells(core, account)
    rows = _rows(core, account, held)
    if start > now or not rows or rows[0].time >= end:
        return []
    opening, closing = _boundary(rows, held, start), _boundary(rows, held, end)
    inside = [row.worth for row in rows if start <= row.time < end]
    if end > now:
        moment = equity_samples.point(core, account)
        brought = sum(entry.amount for entry in ledger.entries(core, account.address) if entry.kind in BROUGHT)
        closing = Worth(*_figures(moment), brought)
    found = [worth for worth in (opening, *inside, closing) if worth is not None]
    return [worth for at, worth in enumerate(found) if not at or worth != found[at - 1]]


def _figures(moment: EquityPoint) -> tuple[int, int, int, int]:
    return moment.time, moment.equity, moment.balance, moment.ratio


def _boundary(rows: list[_Row], held: _Spells, time: int) -> Worth | None:
    """Return what the account was worth before anything was booked at `time`, as far as known; None before its time."""
    at = bisect_left(rows, time, key=lambda row: row.time)
    here = rows[at] if at < len(rows) and rows[at].time == time else None
    if here is not None and (here.order == _FIRST or not held.before(time)):
        return here.worth
    return rows[at - 1].worth._replace(time=time) if at else None


def _rows(core: Core, account: VenueAccount, held: _Spells) -> list[_Row]:
    """Return all that is known of an account's life, oldest first."""
    entries = ledger.entries(core, account.address)
    times = [entry.time for entry in entries]
    brought = [0, *accumulate(entry.amount if entry.kind in BROUGHT else 0 for entry in entries)]
    rows = []
    for time in sorted({*times, *held.edges}):
        for at in _known(entries, bisect_left(times, time), bisect_right(times, time), held, time):
            balance = entries[at - 1].balance
            rows.append(_Row(time, _BOOKED, Worth(time, balance, balance, 0, brought[at])))
    for point in core.state.history.equity.get(account.address, ()):
        # one that was taken with the clock comes before what is booked in its instant, one of a liquidation may not
        after = held.before(point.time) != bool(point.ratio)
        at = bisect_right(times, point.time) if after else bisect_left(times, point.time)
        rows.append(_Row(point.time, _LAST if after else _FIRST, Worth(*_figures(point), brought[at])))
    return sorted(rows, key=lambda row: row[:2])


def _known(entries: list[LedgerEntry], first: int, last: int, held: _Spells, time: int) -> list[int]:
    """Return after how many entries the balance is the equity, of those before and in one instant [first, last)."""
    known = []
    if not held.before(time):  # nothing was held yet when what was brought first of all came
        traded = next((at for at in range(first, last) if entries[at].kind not in BROUGHT), last)
        known += [first, traded]
    if not held.after(time):
        known.append(last)
    return [at for at in known if at]


class _Spells:
    """When an account held anything, from flat to flat."""

    def __init__(self, core: Core, account: VenueAccount) -> None:
        legs = [leg for position in account.positions.values() for leg in (position.long, position.short) if leg.size]
        lives = [(life.opened, life.time) for life in core.state.history.closed_positions.of(account.address)]
        lives += [(leg.opened, core.state.time + 1) for leg in legs]
        if account.kind == "market":  # keeps no record of closed positions
            booked = (entry.time for entry in ledger.entries(core, account.address) if entry.kind not in BROUGHT)
            lives = [(time, core.state.time + 1) for time in booked][:1]
        self._opened: list[int] = []
        self._closed: list[int] = []
        for opened, closed in sorted(lives):
            if self._closed and opened <= self._closed[-1]:
                self._closed[-1] = max(self._closed[-1], closed)
            elif opened < closed:
                self._opened.append(opened)
                self._closed.append(closed)
        self.edges = [time for time in (*self._opened, *self._closed) if time <= core.state.time]

    def before(self, time: int) -> bool:
        """Tell whether anything was held just before what happened at `time`."""
        at = bisect_left(self._opened, time) - 1
        return at >= 0 and time <= self._closed[at]

    def after(self, time: int) -> bool:
        """Tell whether anything was held after what happened at `time`."""
        at = bisect_right(self._opened, time) - 1
        return at >= 0 and time < self._closed[at]
