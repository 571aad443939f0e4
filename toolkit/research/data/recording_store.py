"""The files of a recording: a journal that survives crashes, and Parquet parts made from it.

Rows are kept in storage form: amounts as decimal text, times as Unix ms, everything else as it is.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ...errors import InputError
from ...extras import need
from ...protocol.reads import feed_records as feed
from ...protocol.reads.info_records import KLINE
from ...protocol.reads.rows import Record

if TYPE_CHECKING:
    import pyarrow as pa

JOURNAL = "journal.sqlite"
ROW_GROUP = 10_000
"""Rows in a Parquet row group; smaller groups let readers skip more."""

_FORMS = {
    **dict.fromkeys(("price", "quantity", "money", "ratio"), "amount"),
    **dict.fromkeys(("integer", "id"), "integer"),
    **dict.fromkeys(("ms", "s"), "time"),
    "bool": "bool",
    "object": "object",
}


def _columns(record: Record, *without: str) -> dict[str, str]:
    return {f.column: _FORMS.get(f.kind, "text") for f in record.fields if f.column not in without}


RECORDED: dict[str, dict[str, str]] = {
    "trades": _columns(feed.RECORDS["trades"]),
    "order_book": _columns(feed.RECORDS["orderBook"], "level"),
    "ticker": _columns(feed.RECORDS["ticker"]),
    "candles": _columns(KLINE),
    "fills": _columns(feed.RECORDS["userFilled"]),
    "order_history": _columns(feed.RECORDS["orderHist"]),
    "closed_positions": _columns(feed.RECORDS["closedPosition"]),
    "funding": _columns(feed.RECORDS["userFunding"]),
    "positions": _columns(feed.AOP_RECORDS["positions"]),
    "account": _columns(feed.AOP_RECORDS["accounts"]),
    "status": {"subject": "text", "state": "text", "reason": "text"},
}
"""Channel → column → form (amount, integer, time, bool, text, object)."""

FORMAT = 1
"""Number of the format. It is not in the files, because each part carries its own columns."""
SCHEMA = "2a1ca8e5c72f40dd"
"""Hash of channels and columns; tests/test_persisted_formats.py says what to do on a change."""

LOGS = ("trades", "fills", "order_history", "closed_positions", "funding")
"""Channels whose rows are events, each of which occurs once."""


def table(channel: str) -> dict[str, str]:
    """Return the columns of a channel's table and their forms: first `time`, last received, sequence and kind."""
    columns = dict(RECORDED[channel])
    time = {"time": columns.pop("time", "time")}
    return {**time, **columns, "received": "time", "sequence": "integer", "kind": "text"}


def stored(form: str, value: Any) -> Any:
    """Return a value in storage form."""
    if value is None:
        return None
    if form == "time" and isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if form == "amount":
        return str(value)
    if form == "object":
        return msgspec.json.encode(value).decode()
    return value


def comparable(form: str, value: Any) -> Any:
    """Return a value in a form that is equal for the same row on disk and in an update, exact or not."""
    if form == "amount" and value is not None:
        return float(value)
    return stored(form, value)


def arrow_schema(channel: str, *, exact: bool) -> pa.Schema:
    """Return the Arrow schema of a channel's parts."""
    need("pyarrow")
    import pyarrow as pa

    types = {
        "amount": pa.decimal128(38, 12) if exact else pa.float64(),
        "integer": pa.int64(),
        "time": pa.timestamp("ms", "UTC"),
        "bool": pa.bool_(),
        "text": pa.string(),
        "object": pa.string(),
    }
    return pa.schema([(name, types[form]) for name, form in table(channel).items()])


def _arrow(channel: str, rows: Sequence[Sequence[Any]], *, exact: bool) -> pa.Table:
    import pyarrow as pa

    schema = arrow_schema(channel, exact=exact)
    read = Decimal if exact else float
    arrays = []
    for at, form in enumerate(table(channel).values()):
        values = [line[at] for line in rows]
        if form == "amount":
            values = [None if value is None else read(value) for value in values]
        arrays.append(pa.array(values, schema.types[at]))
    return pa.Table.from_arrays(arrays, schema=schema)


class Store:
    """Writes one recording. Safe for use from several threads; one at a time per directory.

    Opening it writes what an earlier, interrupted recording left in the journal. Raises InputError when another
    recorder holds the directory.
    """

    def __init__(
        self, path: Path, *, exact: bool = False, rows_per_file: int = 50_000, flush_ms: int = 300_000
    ) -> None:
        self.path = path
        self.written: list[Path] = []
        self._exact = exact
        self._rows_per_file = rows_per_file
        self._flush_ms = flush_ms
        self._run = secrets.token_hex(4)
        self._parts = 0
        self._lock = threading.RLock()
        self._open: dict[tuple[str, str, str], _Segment] = {}
        path.mkdir(parents=True, exist_ok=True)
        self._journal: sqlite3.Connection | None = _open_journal(path)
        weakref.finalize(self, self._journal.close)
        self._recover()

    def append(
        self, channel: str, product: str, items: Sequence[Mapping[str, Any]], now: datetime, kind: str, sequence: int
    ) -> None:
        """Append rows, mappings by column name. `now` is their time of arrival, and the time of rows that have none."""
        columns, received = table(channel), stored("time", now)
        days: dict[str, list[list[Any]]] = {}
        for item in items:
            line = [stored(form, item.get(name)) for name, form in columns.items()]
            line[0] = received if line[0] is None else line[0]
            line[-3:] = [received, sequence, kind]
            days.setdefault(_day(line[0]), []).append(line)
        with self._lock:
            if self._journal is None:
                return
            for day, lines in days.items():
                self._keep((channel, product, day), lines, received)
            for segment in list(self._open.values()):
                if len(segment.rows) >= self._rows_per_file or received - segment.began >= self._flush_ms:
                    self._write(segment)

    def last(self, channel: str, product: str, count: int) -> list[dict[str, Any]]:
        """Return the last rows on disk by column name, without received, sequence and kind."""
        import pyarrow.parquet as pq

        names = list(table(channel))[:-3]
        rows: list[dict[str, Any]] = []
        for part in reversed(parts_of(self.path, channel, product)):
            kept = pq.read_table(part, columns=names, partitioning=None)
            rows = kept.slice(max(0, len(kept) - count)).to_pylist() + rows
            if len(rows) >= count:
                break
        return rows[-count:]

    def ended(self, channel: str, product: str) -> datetime | None:
        """Return when the last row on disk was received, None without one; product "" means any."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        parts = parts_of(self.path, channel, product or "*")
        if not parts:
            return None
        found: datetime = pc.max(pq.read_table(parts[-1], columns=["received"], partitioning=None)["received"]).as_py()
        return found

    def flush(self) -> None:
        """Write all rows as parts."""
        with self._lock:
            for segment in list(self._open.values()):
                self._write(segment)

    def close(self) -> None:
        """Write all rows as parts and release the directory. Closing again does nothing."""
        with self._lock:
            if self._journal is None:
                return
            self.flush()
            self._journal.close()
            self._journal = None
            for name in (JOURNAL, f"{JOURNAL}-wal", f"{JOURNAL}-shm"):
                with contextlib.suppress(OSError):
                    (self.path / name).unlink()

    def _keep(self, key: tuple[str, str, str], lines: list[list[Any]], now: int) -> None:
        """Add rows to the open segment of a channel, product and day, and commit them to the journal."""
        assert self._journal is not None
        segment = self._open.get(key)
        if segment is None:
            self._parts += 1
            channel, product, day = key
            name = f"part-{now:013d}-{self._run}-{self._parts:06d}"
            place = f"channel={channel}/product={product}/day={day}/{name}.parquet"
            segment = self._open[key] = _Segment(key, place, now)
        segment.rows += lines
        with self._journal:
            self._journal.execute("insert into kept values (?, ?)", (segment.place, msgspec.json.encode(lines)))

    def _write(self, segment: _Segment) -> None:
        """Write a part under a temporary name, rename it, and only then delete its rows from the journal."""
        import pyarrow.parquet as pq

        assert self._journal is not None
        target = self.path / segment.place
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{target.name}.tmp")
        with temporary.open("wb") as out:
            arrow = _arrow(segment.key[0], segment.rows, exact=self._exact)
            pq.write_table(arrow, out, row_group_size=ROW_GROUP, compression="zstd")
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)
        self._forget(segment.place)
        self._open.pop(segment.key, None)
        self.written.append(target)

    def _forget(self, place: str) -> None:
        """Delete the rows of a part from the journal."""
        assert self._journal is not None
        with self._journal:
            self._journal.execute("delete from kept where part = ?", (place,))

    def _recover(self) -> None:
        """Write what a crash left in the journal, unless its part was already complete."""
        assert self._journal is not None
        left: dict[str, list[list[Any]]] = {}
        for place, lines in self._journal.execute("select part, lines from kept order by rowid"):
            left.setdefault(place, []).extend(msgspec.json.decode(lines))
        for place, lines in left.items():
            if (self.path / place).exists():
                self._forget(place)
            else:
                channel, product, day, _ = (each.partition("=")[2] for each in place.split("/"))
                self._write(_Segment((channel, product, day), place, 0, lines))
        for incomplete in self.path.glob("channel=*/product=*/day=*/part-*.parquet.tmp"):
            incomplete.unlink()


@dataclass
class _Segment:
    """Rows that will become one part. `key` is channel, product and day, `place` its path in the recording."""

    key: tuple[str, str, str]
    place: str
    began: int
    rows: list[list[Any]] = field(default_factory=list)


def _open_journal(path: Path) -> sqlite3.Connection:
    journal = sqlite3.connect(path / JOURNAL, timeout=0.5, check_same_thread=False)
    try:
        journal.execute("pragma locking_mode = exclusive")
        journal.execute("pragma journal_mode = wal")
        journal.execute("pragma synchronous = normal")
        with journal:
            journal.execute("create table if not exists kept (part text not null, lines blob not null)")
            # Writing once takes the exclusive lock now, so that a second recorder fails here and not later.
            journal.execute("insert into kept values ('', x'')")
            journal.execute("delete from kept where part = ''")
    except sqlite3.Error as error:
        journal.close()
        text = f"can't record to {path}: {error}; another recorder may be writing there, use another directory"
        raise InputError(text, field="path", rule="one recorder", value=str(path)) from error
    return journal


def _day(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%d")


def parts_of(path: Path, channel: str, product: str) -> list[Path]:
    """Return the parts of a recording in order of their days and names; "*" stands for any channel or product."""
    found = path.glob(f"channel={channel}/product={product}/day=*/part-*.parquet")
    return sorted(found, key=lambda part: (part.parent.name, part.name))
