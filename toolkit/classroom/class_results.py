"""The results of a class: the leaderboard from the venue's own records, and everything as parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..extras import need
from ..returns import growth
from ..session import Session, connect
from ..venue.engine.core import Core
from ..venue.model.accounts import VenueAccount
from ..venue.model.history import LedgerEntry
from ..venue.risk import account_margin, ledger
from ..venue.risk.equity_curve import CurvePoint, curve, is_capital_flow
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
    """Where a student's return begins: with nothing at first, and with what was there at a reset.

    Attributes
    ----------
    time : int
        Time of the beginning, Unix ms (default: 0).
    equity : int
        Equity at the beginning, in micro-USDC (default: 0).
    """

    time: int = 0
    equity: int = 0
    brought: int = 0
    """Money received other than by trading."""


def beginning(core: Core, student: Student) -> Beginning:
    """Return where the return begins that is counted from now.

    Parameters
    ----------
    core : Core
        State machine of the student's venue.
    student : Student
        The student.
    """
    last = _points(core, core.state.accounts[student.address.lower()])[-1]
    return Beginning(core.state.time, last.equity, last.net_deposits)


def standing(core: Core, student: Student, begun: Beginning) -> dict[str, Any]:
    """Return the row of a student, without the rank.

    Values are numbers, ready for JSON.

    Parameters
    ----------
    core : Core
        State machine of the student's venue.
    student : Student
        The student.
    begun : Beginning
        Where the return begins.
    """
    account = core.state.accounts.get(student.address.lower())
    if account is None:
        return {"name": student.name, **dict.fromkeys(list(COLUMNS)[2:], 0)}
    points = _points(core, account)
    since = [point for point in points if point.time > begun.time] or points[-1:]
    fills = core.state.history.fills_of(account.address)
    grown = growth(
        [begun.equity, *(point.equity for point in since)], [begun.brought, *(point.net_deposits for point in since)]
    )
    earned = sum(entry.amount for entry in ledger.entries(core, account.address) if _is_earned_otherwise(entry))
    fees = sum(fill.open_fee + fill.close_fee + fill.builder_fee for fill in fills)
    return {
        "name": student.name,
        "equity": account_margin.wallet(core, account).equity / MICRO,
        "return": grown[-1] - 1,
        "drawdown": max(1 - value / high for value, high in zip(grown, accumulate(grown, max), strict=True)),
        "fees": fees / MICRO,
        "trades": len(fills),
        "left_out": earned / MICRO,
    }


def _points(core: Core, account: VenueAccount) -> list[CurvePoint]:
    """Return the points of an account's equity, with all money received other than by trading as net deposits."""
    return curve(
        core, account, 0, core.state.time + 1, lambda each: is_capital_flow(each) or _is_earned_otherwise(each)
    )


def _is_earned_otherwise(entry: LedgerEntry) -> bool:
    """Return whether others paid an entry, not for a trade."""
    return entry.kind in OTHER_INCOME and entry.amount > 0


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return the leaderboard as a DataFrame with COLUMNS.

    Parameters
    ----------
    rows : iterable of mapping of str to object
        Rows of the leaderboard, each with the names of COLUMNS.
    """
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
    """Write the tables of all students, and summaries, as parquet files.

    Return the paths.

    `venues` maps a student's number to the venue. Raises InputError for a folder that can't be written.

    Parameters
    ----------
    roster : Roster
        The students.
    venues : mapping of int to LocalVenue
        Number of the student → venue.
    summaries : mapping of str to DataFrame
        Name of the file → frame.
    folder : Path
        Folder to write to, made if missing.

    Raises
    ------
    InputError
        If the folder can't be written.
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
        # All tables are read before the first file is written, so that the files are of one time.
        paths = [folder / f"{name}.parquet" for name in frames]
        for path, table in zip(paths, frames.values(), strict=True):
            table.to_parquet(path, index=False)
        return [str(path) for path in paths]
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error}", field="folder", value=str(folder)) from None
