"""The results of a class: the leaderboard from the venue's own records, and everything as parquet files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..extras import need
from ..returns import growth
from ..session import Session, connect
from ..venue.engine.core import Core
from ..venue.model.accounts import VenueAccount
from ..venue.risk import account_margin, ledger
from ..venue.risk.equity_curve import CurvePoint, curve
from ..wallet import Wallet
from .roster import Roster, Student

if TYPE_CHECKING:
    import pandas as pd

    from ..venue.local import LocalVenue


MICRO = 1_000_000
COLUMNS = {
    "rank": "int64",
    "name": "string",
    "equity": "float64",
    "return": "float64",
    "drawdown": "float64",
    "fees": "float64",
    "trades": "int64",
    "left_out": "float64",
}
"""Columns of the leaderboard: equity, fees and left_out in USDC. Return (time-weighted) and drawdown as ratios."""
OTHER_INCOME = {ledger.BUILDER_FEE, ledger.REFERRAL_REBATE, ledger.VAULT_FEE, ledger.VAULT_LEADER_SHARE}
"""Kinds of payments that an account receives from others, without trading. The return leaves them out."""


class Beginning(NamedTuple):
    """Where a student's return begins, in micro-USDC: with nothing at first, and with what was there at a reset."""

    time: int = 0
    equity: int = 0
    brought: int = 0
    """Money received other than by trading."""


def beginning(core: Core, student: Student) -> Beginning:
    """Return where the return begins that is counted from now."""
    points, brought = _trading(core, student)
    return Beginning(core.state.time, points[-1].equity, brought[-1])


def standing(core: Core, student: Student, begun: Beginning) -> dict[str, Any]:
    """Return the row of a student, without the rank. Values are numbers, ready for JSON."""
    account = core.state.accounts.get(student.address.lower())
    points, brought = _trading(core, student)
    if account is None or not points:
        return {"name": student.name, **dict.fromkeys(list(COLUMNS)[2:], 0)}
    since = [at for at, point in enumerate(points) if point.time > begun.time] or [-1]
    fills = core.state.history.fills_of(account.address)
    grown = growth(
        [begun.equity, *(points[at].equity for at in since)], [begun.brought, *(brought[at] for at in since)]
    )
    fees = sum(fill.open_fee + fill.close_fee + fill.builder_fee for fill in fills)
    return {
        "name": student.name,
        "equity": account_margin.wallet(core, account).equity / MICRO,
        "return": grown[-1] - 1,
        "drawdown": max(1 - value / high for value, high in zip(grown, accumulate(grown, max), strict=True)),
        "fees": fees / MICRO,
        "trades": len(fills),
        "left_out": _earned_otherwise(core, account)[-1][1] / MICRO,
    }


def _trading(core: Core, student: Student) -> tuple[list[CurvePoint], list[int]]:
    """Return the points of a student's equity, and the money received up to each point other than by trading."""
    account = core.state.accounts.get(student.address.lower())
    if account is None:
        return [], []
    points = curve(core, account, 0, core.state.time + 1)
    other = _earned_otherwise(core, account)
    left_out = (other[bisect_right(other, point.time, key=itemgetter(0)) - 1][1] for point in points)
    return points, [point.net_deposits + out for point, out in zip(points, left_out, strict=True)]


def _earned_otherwise(core: Core, account: VenueAccount) -> list[tuple[int, int]]:
    """Return times and sums so far of what an account was paid by others, not by trading, (0, 0) first."""
    sums = [(0, 0)]
    for entry in ledger.entries(core, account.address):
        if entry.kind in OTHER_INCOME and entry.amount > 0:
            sums.append((entry.time, sums[-1][1] + entry.amount))
    return sums


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return the leaderboard as a DataFrame with COLUMNS, and "seen" where the rows have it."""
    import pandas as pd

    rows = list(rows)
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in COLUMNS.items()})


TABLES: dict[str, Callable[[Session], pd.DataFrame]] = {
    "orders": lambda session: session.orders(),
    "fills": lambda session: session.fills(),
    "positions": lambda session: session.positions(index=None),
    "balances": lambda session: session.wallet_balances(),
    "ledger": lambda session: session.info.ledger(),
    "funding": lambda session: session.info.funding_payments(),
}
"""File → the table of one student. Each gets the column `student`."""


def write_tables(
    roster: Roster, venues: Mapping[int, LocalVenue], summaries: Mapping[str, pd.DataFrame], folder: Path
) -> list[str]:
    """Write TABLES of all students, and `summaries`, into a folder, made if missing. Return the paths.

    `venues` maps a student's number to the venue. Raises InputError for a folder that can't be written.
    """
    import pandas as pd

    need("pyarrow")

    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
        for student in roster.students:
            with connect(venue=venues[student.number], wallet=Wallet(account=student.address)) as session:
                for name, read in TABLES.items():
                    table = read(session).reset_index()
                    table.insert(0, "student", student.name)
                    parts[name].append(table)
        frames = {**summaries, **{name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}}
        paths = [folder / f"{name}.parquet" for name in frames]
        for path, table in zip(paths, frames.values(), strict=True):
            table.to_parquet(path, index=False)
        return [str(path) for path in paths]
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error}", field="folder", value=str(folder)) from None
