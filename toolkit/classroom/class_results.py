"""What came of a class: the leaderboard from the venue's own records, and everything as parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..extras import need
from ..session import Session, connect
from ..venue.engine.core import Core
from ..venue.risk import account_margin
from ..venue.risk.equity_curve import curve
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
}
"""Columns of the leaderboard: equity and fees in USDC; return and drawdown as ratios, 0.1 is 10 %."""


def standing(core: Core, student: Student) -> dict[str, Any]:
    """Return the row of a student, without the rank. Values are numbers, ready for JSON."""
    account = core.state.accounts.get(student.address.lower())
    if account is None:
        return {"name": student.name, "equity": 0.0, "return": 0.0, "drawdown": 0.0, "fees": 0.0, "trades": 0}
    points = curve(core, account, 0, core.state.time + 1)
    fills = core.state.history.fills_of(account.address)
    paid_in = max((point.net_deposits for point in points), default=0)
    profits = [point.equity - point.net_deposits for point in points]
    fees = sum(fill.open_fee + fill.close_fee + fill.builder_fee for fill in fills)
    return {
        "name": student.name,
        "equity": account_margin.wallet(core, account).equity / MICRO,
        "return": profits[-1] / paid_in if profits and paid_in > 0 else 0.0,
        "drawdown": _drawdown(paid_in, profits),
        "fees": fees / MICRO,
        "trades": len(fills),
    }


def _drawdown(paid_in: int, profits: Iterable[int]) -> float:
    """Return the largest fall from a high, as a share of it; deposits and withdrawals don't count."""
    high = worst = 0.0
    for profit in profits:
        value = paid_in + profit
        high = max(high, value)
        if high > 0:
            worst = max(worst, (high - value) / high)
    return worst


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return the leaderboard as a DataFrame with COLUMNS, and "seen" where the rows have it."""
    import pandas as pd

    rows = list(rows)
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in COLUMNS.items()})


TABLES: dict[str, Callable[[Session], pd.DataFrame]] = {
    "orders": lambda session: session.orders(),
    "fills": lambda session: session.fills(),
    "positions": lambda session: session.positions(),
    "balances": lambda session: session.wallet_balances(),
    "ledger": lambda session: session.info.ledger(),
    "funding": lambda session: session.info.funding_payments(),
}
"""File → the table of one student; each gets the column `student`."""


def write_tables(
    roster: Roster, venues: Mapping[int, LocalVenue], summaries: Mapping[str, pd.DataFrame], folder: Path
) -> list[str]:
    """Write TABLES of all students, and `summaries`, into a folder, made if missing; return the paths.

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
