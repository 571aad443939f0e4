"""The equity of accounts over time: samples, and what the ledger says exactly while an account was flat.

Accounts that hold positions are sampled every minute. The equity of a flat account is its balance, which the ledger
knows at any time. While an account holds a position, its equity is known where it was sampled, and now.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from ..engine.core import Core
from ..engine.registry import process
from ..model.accounts import VenueAccount
from ..model.constants import ISOLATED, OWN, RATE
from ..model.history import EquityPoint, LedgerEntry
from . import account_margin, ledger

_SAMPLED_BEFORE, _BOOKED, _SAMPLED_AFTER = range(3)
"""Order of rows of one instant: a sample taken before anything was booked, the bookings, a sample after them."""


@process("samples")
def sample_holders(core: Core, time: int) -> int:
    """Sample every account that holds a position, or held one at its last sample.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    time : int
        Instant of the sample, Unix ms.
    """
    for address in sorted(to_sample(core)):
        sample_account(core, core.state.accounts[address])
    return time + core.state.config.sample_interval


def to_sample(core: Core) -> set[str]:
    """Return who holds a position or held one at the last sample, without the venue's own accounts.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    """
    found = {address for clients in core.risk_index.clients.values() for address in clients}
    # An account that has just become flat gets one more sample, so that its curve ends at ratio 0.
    found.update(address for address, points in core.state.history.equity.items() if points[-1].ratio)
    return found


def sample_account(core: Core, account: VenueAccount) -> None:
    """Sample an account now (also called when a liquidation begins and ends).

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that is sampled.
    """
    if account.kind not in OWN:
        core.state.history.equity.setdefault(account.address, []).append(equity_point(core, account))


def equity_point(core: Core, account: VenueAccount) -> EquityPoint:
    """Return the equity of an account now.

    Its ratio is the worst of its margin groups.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account that is sampled.
    """
    wallet = account_margin.wallet(core, account)
    ratios = [account_margin.cross_margin(core, account).ratio]
    for position in account.positions.values():
        if position.mode == ISOLATED and (position.long.size or position.short.size):
            ratios.append(account_margin.isolated_margin(core, position).ratio)
    worst = max(10 * RATE if ratio is None else min(ratio, 10 * RATE) for ratio in ratios)
    return EquityPoint(core.state.time, wallet.equity, wallet.balance, worst)


class CurvePoint(NamedTuple):
    """The equity of an account at one moment, in micro-USDC.

    Attributes
    ----------
    time : int
        Time of the point, Unix ms.
    equity : int
        Equity with unrealised profit.
    ratio : int
        Worst margin ratio of its positions, in parts of RATE. See `EquityPoint.ratio`.
    """

    time: int
    equity: int
    balance: int
    """Cash, isolated margins included."""
    ratio: int
    net_deposits: int
    """Deposits less withdrawals so far, moves to and from vaults included."""


class _Row(NamedTuple):
    time: int
    order: int
    point: CurvePoint


def is_capital_flow(entry: LedgerEntry) -> bool:
    """Return whether its owner moved the money of an entry in or out.

    Parameters
    ----------
    entry : LedgerEntry
        Entry of the account's ledger.
    """
    return entry.kind in ledger.CAPITAL_FLOWS


def curve(
    core: Core, account: VenueAccount, start: int, end: int, brought: Callable[[LedgerEntry], bool] = is_capital_flow
) -> list[CurvePoint]:
    """Return everything known of an account's equity over a time, oldest first.

    It begins at `start`, or with the account's first deposit if that is later. It ends at `end`, or now if that is
    sooner. The profit in between is the last point less the first.

    Where the balance of a flat account jumps there are two points of one time. There are none before the account's
    first deposit and after the venue's present time.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    account : VenueAccount
        Account whose equity is read.
    start : int
        First time, Unix ms.
    end : int
        Time after the last one, Unix ms.
    brought : callable, optional
        Returns whether an entry is a deposit or withdrawal, for `net_deposits` (default: `is_capital_flow`).
    """
    now = core.state.time
    spells = _Spells(core, account)
    rows = _rows(core, account, spells, brought)
    if start > now or not rows or rows[0].time >= end:
        return []
    opening, closing = _boundary(rows, spells, start), _boundary(rows, spells, end)
    inside = [row.point for row in rows if start <= row.time < end]
    if end > now:
        deposited = sum(entry.amount for entry in ledger.entries(core, account.address) if brought(entry))
        closing = _curve_point(equity_point(core, account), deposited)
    found = [point for point in (opening, *inside, closing) if point is not None]
    return [point for at, point in enumerate(found) if not at or point != found[at - 1]]


def _curve_point(sample: EquityPoint, deposited: int) -> CurvePoint:
    return CurvePoint(sample.time, sample.equity, sample.balance, sample.ratio, deposited)


def _boundary(rows: list[_Row], spells: _Spells, time: int) -> CurvePoint | None:
    """Return the equity before anything was booked at `time`, if known, None before the first deposit."""
    at = bisect_left(rows, time, key=lambda row: row.time)
    here = rows[at] if at < len(rows) and rows[at].time == time else None
    if here is not None and (here.order == _SAMPLED_BEFORE or not spells.before(time)):
        return here.point
    return rows[at - 1].point._replace(time=time) if at else None


def _rows(core: Core, account: VenueAccount, spells: _Spells, brought: Callable[[LedgerEntry], bool]) -> list[_Row]:
    """Return all that is known of an account's equity, oldest first."""
    entries = ledger.entries(core, account.address)
    times = [entry.time for entry in entries]
    deposited = [0, *accumulate(entry.amount if brought(entry) else 0 for entry in entries)]
    rows = []
    for time in sorted({*times, *spells.edges}):
        for at in _flat_counts(entries, bisect_left(times, time), bisect_right(times, time), spells, time):
            balance = entries[at - 1].balance
            rows.append(_Row(time, _BOOKED, CurvePoint(time, balance, balance, 0, deposited[at])))
    for sample in core.state.history.equity.get(account.address, ()):
        # the sample of a minute precedes what is booked in its instant, the sample of a liquidation may follow it
        after = spells.before(sample.time) != bool(sample.ratio)
        at = bisect_right(times, sample.time) if after else bisect_left(times, sample.time)
        order = _SAMPLED_AFTER if after else _SAMPLED_BEFORE
        rows.append(_Row(sample.time, order, _curve_point(sample, deposited[at])))
    return sorted(rows, key=lambda row: row[:2])


def _flat_counts(entries: list[LedgerEntry], first: int, last: int, spells: _Spells, time: int) -> list[int]:
    """Return after how many entries the balance is the equity, of those before and in one instant [first, last)."""
    counts = []
    if not spells.before(time):  # deposits that open the instant come before its first trade, while still flat
        traded = next((at for at in range(first, last) if not is_capital_flow(entries[at])), last)
        counts += [first, traded]
    if not spells.after(time):
        counts.append(last)
    return [at for at in counts if at]


class _Spells:
    """The times from flat to flat in which an account held a position."""

    def __init__(self, core: Core, account: VenueAccount) -> None:
        legs = [leg for position in account.positions.values() for leg in (position.long, position.short) if leg.size]
        spells = [(closed.opened, closed.time) for closed in core.state.history.closed_positions.of(account.address)]
        spells += [(leg.opened, core.state.time + 1) for leg in legs]
        if account.kind == "market":  # keeps no record of closed positions: assumed to hold one since its first trade
            entries = ledger.entries(core, account.address)
            booked = [entry.time for entry in entries if not is_capital_flow(entry)]
            spells += [(time, core.state.time + 1) for time in booked[:1]]
        self._opened: list[int] = []
        self._closed: list[int] = []
        for opened, closed_at in sorted(spells):
            if self._closed and opened <= self._closed[-1]:
                self._closed[-1] = max(self._closed[-1], closed_at)
            elif opened < closed_at:
                self._opened.append(opened)
                self._closed.append(closed_at)
        self.edges = [time for time in (*self._opened, *self._closed) if time <= core.state.time]

    def before(self, time: int) -> bool:
        """Return whether a position was held just before what happened at `time`.

        Parameters
        ----------
        time : int
            Time of the venue (Unix ms).
        """
        at = bisect_left(self._opened, time) - 1
        return at >= 0 and time <= self._closed[at]

    def after(self, time: int) -> bool:
        """Return whether a position was held after what happened at `time`.

        Parameters
        ----------
        time : int
            Time of the venue (Unix ms).
        """
        at = bisect_right(self._opened, time) - 1
        return at >= 0 and time < self._closed[at]
