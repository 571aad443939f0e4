"""Everything that happened in a class as parquet files, one table for all students."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..extras import need
from ..session import Session, connect
from ..wallet import Wallet
from .roster import Roster

if TYPE_CHECKING:
    import pandas as pd

    from ..venue.local import LocalVenue

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
        frames = dict(summaries)
        parts: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
        for student in roster.students:
            with connect(venue=venues[student.number], wallet=Wallet(account=student.address)) as session:
                for name, read in TABLES.items():
                    table = read(session).reset_index()
                    table.insert(0, "student", student.name)
                    parts[name].append(table)
        frames |= {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}
        written = []
        for name, table in frames.items():
            path = folder / f"{name}.parquet"
            table.to_parquet(path, index=False)
            written.append(str(path))
        return written
    except OSError as error:
        raise InputError(f"{folder} can't be written: {error}", field="folder", value=str(folder)) from None
