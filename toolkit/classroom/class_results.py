"""The results of a class: the leaderboard from the venue's own records, and everything as parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..extras import need
from ..returns import growth
from ..session import Session, connect
from ..venue.engine.core import Core
from ..venue.model.accounts import VenueAccount
from ..venue.model.history import LedgerEntry
from ..venue.risk import ledger
from ..venue.risk.equity_curve import CurvePoint, curve, is_capital_flow
from ..wallet import Wallet
from .class_rules import Beginning
from .feedback import write_points
from .roster import Roster, Student

if TYPE_CHECKING:
    import pandas as pd

    from ..venue.local import LocalVenue


MICRO = 1_000_000
COLUMNS = {
    "rank": "Int64",
    "name": "string",
    "equity": "float64",
    "return": "float64",
    "drawdown": "float64",
    "fees": "float64",
    "trades": "int64",
    "left_out": "float64",
    "market": "float64",
    "classmates": "float64",
}
"""Columns of the leaderboard: money in USDC, return (time-weighted) and drawdown as ratios. No rank is missing."""
OTHER_INCOME = {ledger.BUILDER_FEE, ledger.REFERRAL_REBATE, ledger.VAULT_FEE, ledger.VAULT_LEADER_SHARE}
"""Kinds of payments that an account receives from others, without trading. The return leaves them out."""


def beginning(core: Core, student: Student) -> Beginning:
    """Return where the return begins that is counted from now.

    Parameters
    ----------
    core : Core
        State machine of the student's venue.
    student : Student
        The student.
    """
    last = _points(core, core.state.accounts[student.address.lower()], core.state.time + 1)[-1]
    return Beginning(core.state.time, last.equity, last.net_deposits)


def standing(core: Core, student: Student, begun: Beginning, ends_ms: int | None = None) -> dict[str, Any]:
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
    ends_ms : int or None, optional
        When the class ends, Unix ms (default: never). What comes later does not count.
    """
    account = core.state.accounts.get(student.address.lower())
    if account is None:
        return {"name": student.name, **dict.fromkeys(list(COLUMNS)[2:], 0)}
    end = core.state.time + 1 if ends_ms is None else min(ends_ms, core.state.time + 1)
    points = _points(core, account, end)
    since = [point for point in points if point.time > begun.time] or points[-1:]
    fills = [fill for fill in core.state.history.fills_of(account.address) if fill.time < end]
    equities = [begun.equity, *(point.equity for point in since)]
    brought = [begun.brought, *(point.net_deposits for point in since)]
    profit = equities[-1] - equities[0] - (brought[-1] - brought[0])
    group = core.state.laboratory.group
    gained = group.members.get(account.address, 0) if group else 0
    # What classmates handed over counts as money that was paid in at the end. What was lost to them stays lost.
    brought[-1] += max(gained, 0)
    grown = growth(equities, brought)
    earned = sum(entry.amount for entry in ledger.entries(core, account.address) if _is_earned_otherwise(entry))
    fees = sum(fill.open_fee + fill.close_fee + fill.builder_fee for fill in fills)
    return {
        "name": student.name,
        "equity": equities[-1] / MICRO,
        "return": grown[-1] - 1,
        "drawdown": max(1 - value / high for value, high in zip(grown, accumulate(grown, max), strict=True)),
        "fees": fees / MICRO,
        "trades": len(fills),
        "left_out": earned / MICRO,
        "market": (profit - gained) / MICRO,
        "classmates": gained / MICRO,
    }


def _points(core: Core, account: VenueAccount, end: int) -> list[CurvePoint]:
    """Return the points of an account's equity, with all money received other than by trading as net deposits."""
    return curve(core, account, 0, end, lambda each: is_capital_flow(each) or _is_earned_otherwise(each))


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
        frames["fills"]["counterparty"] = _counterparties(frames["fills"])
        # All tables are read before the first file is written, so that the files are of one time.
        paths = [folder / f"{name}.parquet" for name in frames]
        for path, table in zip(paths, frames.values(), strict=True):
            table.to_parquet(path, index=False)
        return [str(path) for path in paths]
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error}", field="folder", value=str(folder)) from None


def _counterparties(fills: pd.DataFrame) -> pd.Series:
    """Return the classmate on the other side of each fill, missing where the market was on it."""
    import pandas as pd

    students = fills.groupby("exec_id")["student"].agg(list).to_dict()
    others = [
        next((each for each in students[number] if each != student), None)
        for number, student in zip(fills["exec_id"], fills["student"], strict=True)
    ]
    return pd.Series(others, index=fills.index, dtype="string")


def write_marks(rows: Sequence[Mapping[str, Any]], path: Path, form: str, points: float, title: str) -> None:
    """Write marks for the ranks of a leaderboard as CSV that Canvas or Moodle imports.

    Parameters
    ----------
    rows : sequence of mapping of str to object
        Rows of the leaderboard.
    path : Path
        File to write.
    form : {"canvas", "moodle"}
        Who imports it.
    points : float
        Points of the first rank.
    title : str
        Name of the assignment.

    Raises
    ------
    InputError
        If the file can't be written.
    """
    import pandas as pd

    ranked = sum(row["rank"] is not None for row in rows)
    reached = [0.0 if row["rank"] is None else round(points * (ranked + 1 - row["rank"]) / ranked, 2) for row in rows]
    table = pd.DataFrame({"notebook": [row["name"] for row in rows], "points": points, "reached": reached})
    write_points(table, path, form, title)
