"""The files of a recording: a journal that survives crashes, and Parquet parts made from it. All have seals.

Rows are kept in storage form: amounts as decimal text, times as Unix ms, everything else as it is.
"""

from __future__ import annotations

import contextlib
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
from ...protocol.reads.channels import account, market
from ...protocol.reads.info.candles import Kline
from ...protocol.reads.rows import AMOUNTS, Record
from ...stored.databases import hold
from ...stored.lines import LineFile
from ...stored.seals import FileKind, header_in
from ...stored.tables import read_table, write_table

if TYPE_CHECKING:
    import pyarrow as pa

JOURNAL, LOCK = ".journal", "lock"
ROW_GROUP = 10_000
"""Rows in a Parquet row group. Smaller groups let readers skip more."""

_FORMS = {
    **dict.fromkeys(AMOUNTS, "amount"),
    **dict.fromkeys(("integer", "id"), "integer"),
    **dict.fromkeys(("ms", "s"), "time"),
    "bool": "bool",
    "object": "object",
}


def _columns(record: Record, *without: str) -> dict[str, str]:
    return {f.column: _FORMS.get(f.kind, "text") for f in record.fields if f.column not in without}


RECORDED: dict[str, dict[str, str]] = {
    "trades": _columns(market.PublicTrade.declared),
    "order_book": _columns(market.OrderBook.declared, "level"),
    "ticker": _columns(market.Ticker.declared),
    "candles": _columns(Kline.declared),
    "fills": _columns(account.FeedFill.declared),
    "order_history": _columns(account.FeedOrderEvent.declared),
    "closed_positions": _columns(account.FeedClosedPosition.declared),
    "funding": _columns(account.FeedFunding.declared),
    "positions": _columns(account.FeedPosition.declared),
    "account": _columns(account.FeedWallet.declared),
    "status": {"subject": "text", "state": "text", "reason": "text"},
}
"""Channel → column → form (amount, integer, time, bool, text, object)."""

FORMAT = 1
"""Number of the format."""
PART = FileKind("part of a recording", FORMAT, "delete it or restore a copy. The other parts can be read without it")
_JOURNAL = FileKind("journal of a recording", FORMAT, "delete it. The rows in it are lost")
SCHEMA = "2a1ca8e5c72f40dd"
"""Hash of channels and columns. tests/test_persisted_formats.py says what to do on a change."""

LOGS = ("trades", "fills", "order_history", "closed_positions", "funding")
"""Channels whose rows are events, each of which occurs once."""


def table(channel: str) -> dict[str, str]:
    """Return the columns of a channel's table and their forms: first `time`, last received, sequence and kind.

    Parameters
    ----------
    channel : str
        Name of the channel, a key of `RECORDED`.
    """
    columns = dict(RECORDED[channel])
    time = {"time": columns.pop("time", "time")}
    return {**time, **columns, "received": "time", "sequence": "integer", "kind": "text"}


def stored(form: str, value: object) -> Any:
    """Return a value in storage form: amounts as text, times as Unix ms, objects as JSON.

    Parameters
    ----------
    form : str
        Form of the column: amount, integer, time, bool, text or object.
    value : object
        Value as the feed delivers it, None for none.
    """
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
    """Return a value in a form that is equal for the same row on disk and in an update, exact or not.

    Parameters
    ----------
    form : str
        Form of the column: amount, integer, time, bool, text or object.
    value : object
        Value from the disk or the feed, None for none.
    """
    if form == "amount" and value is not None:
        return float(value)
    return stored(form, value)


def arrow_schema(channel: str, *, exact: bool) -> pa.Schema:
    """Return the Arrow schema of a channel's parts.

    Parameters
    ----------
    channel : str
        Name of the channel, a key of `RECORDED`.
    exact : bool
        True for amounts as decimal128(38, 12), False for float64.
    """
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
    """Writes one recording. Safe for use from several threads, one at a time per directory.

    Opening it writes what an earlier, interrupted recording left in the journal. It raises InputError when another
    recorder holds the directory, and StoredFileError for a recording of another market.

    Parameters
    ----------
    path : Path
        Directory of the recording.
    exact : bool, optional
        True writes amounts as decimal128(38, 12), False as float64 (default: False).
    rows_per_file : int, optional
        Number of rows with which a part is written (default: 50,000).
    flush_ms : int, optional
        Age of the oldest row at which a part is written, ms (default: 300,000).
    identity : str, optional
        Identity of the market (default: that of the recording in the directory).

    Attributes
    ----------
    written : list of Path
        Parts written so far.
    failed : OSError or None
        Why the last write failed, None while they succeed.
    lost : int
        Number of rows that could not be kept.
    """

    def __init__(
        self,
        path: Path,
        *,
        exact: bool = False,
        rows_per_file: int = 50_000,
        flush_ms: int = 300_000,
        identity: str | None = None,
    ) -> None:
        self.path = path
        self.written: list[Path] = []
        self.failed: OSError | None = None
        self.lost = 0
        self._exact = exact
        self._rows_per_file = rows_per_file
        self._flush_ms = flush_ms
        # Part names of two recordings in one directory must never be equal. The later part would replace the earlier
        # one.
        self._run = secrets.token_hex(4)
        self._parts = 0
        # The feed's thread appends while the user's thread flushes or closes.
        self._lock = threading.RLock()
        self._open: dict[str, _Segment] = {}
        self._identity = self._identity_of(identity)
        self._held: sqlite3.Connection | None = _lock_of(path)
        weakref.finalize(self, self._held.close)
        self._recover()

    def _identity_of(self, given: str | None) -> str:
        """Return the identity to write: what is given, or that of the recording. Raises StoredFileError on another."""
        # The last part is enough: every recorder checks this before it writes, so all parts are of one market.
        found = {
            header.identity for part in parts_of(self.path, "*", "*")[-1:] if (header := header_in(part.read_bytes()))
        }
        if given is not None and found - {given}:
            text = f"it is of market {found.pop()}, and this is market {given}"
            raise PART.error(self.path, text, "record to another directory")
        return given or next(iter(found), "")

    def append(
        self, channel: str, product: str, items: Sequence[Mapping[str, Any]], now: datetime, kind: str, sequence: int
    ) -> None:
        """Append rows.

        Parameters
        ----------
        channel : str
            Name of the channel, a key of `RECORDED`.
        product : str
            Product symbol, "all" for rows without one.
        items : sequence of mapping of str to object
            Rows by column name.
        now : datetime
            Time of arrival of the rows, and the time of rows that have none.
        kind : str
            "snapshot", "incremental", or "state" for the table `status`.
        sequence : int
            Number of the message, by which rows of one message are known.
        """
        columns, received = table(channel), stored("time", now)
        days: dict[str, list[list[Any]]] = {}
        for item in items:
            line = [stored(form, item.get(name)) for name, form in columns.items()]
            # Rows without a time are filed under their arrival, because parts are sorted by day.
            line[0] = received if line[0] is None else line[0]
            line[-3:] = [received, sequence, kind]
            days.setdefault(_day(line[0]), []).append(line)
        with self._lock:
            if self._held is None:  # closed while this update was on its way
                self.lost += len(items)
                return
            for day, lines in days.items():
                self._keep((channel, product, day), lines, received)
            # All segments, not only this one: a quiet channel, which has no updates that would start the write, would
            # be late otherwise.
            for segment in list(self._open.values()):
                if len(segment.rows) >= segment.due or received - segment.began >= self._flush_ms:
                    self._write_or_keep(segment, received)

    def last(self, channel: str, product: str, count: int) -> list[dict[str, Any]]:
        """Return the last rows on disk by column name, without received, sequence and kind.

        Parameters
        ----------
        channel : str
            Name of the channel, a key of `RECORDED`.
        product : str
            Product symbol, "all" for rows without one.
        count : int
            Most rows.
        """
        names = list(table(channel))[:-3]
        rows: list[dict[str, Any]] = []
        for part in reversed(parts_of(self.path, channel, product)):
            kept, _ = read_table(part, PART, columns=names)
            rows = kept.slice(max(0, len(kept) - count)).to_pylist() + rows
            if len(rows) >= count:
                break
        return rows[-count:]

    def ended(self, channel: str, product: str) -> datetime | None:
        """Return when the last row on disk was received, None without one.

        Parameters
        ----------
        channel : str
            Name of the channel, a key of `RECORDED`.
        product : str
            Product symbol, "" for any.
        """
        import pyarrow.compute as pc

        parts = parts_of(self.path, channel, product or "*")
        if not parts:
            return None
        last, _ = read_table(parts[-1], PART, columns=["received"])
        found: datetime = pc.max(last["received"]).as_py()
        return found

    def flush(self) -> None:
        """Write all rows as parts. Rows that could not be written stay in the journal.

        Raises
        ------
        OSError
            If a part can't be written.
        """
        with self._lock:
            for segment in list(self._open.values()):
                self._write(segment)

    def close(self) -> None:
        """Write all rows as parts and release the directory. Closing again does nothing.

        Raises
        ------
        OSError
            If a part can't be written.
        """
        with self._lock:
            if self._held is None:
                return
            try:
                self.flush()
            finally:
                for segment in self._open.values():
                    segment.journal.close()
                self._held.close()
                self._held = None
                # Only an empty directory can go: first the lock, and not while a journal is left.
                with contextlib.suppress(OSError):  # rows that could not be written are in there
                    (self.path / JOURNAL / LOCK).unlink()
                    (self.path / JOURNAL).rmdir()

    def _keep(self, key: tuple[str, str, str], lines: list[list[Any]], now: int) -> None:
        """Add rows to the open segment of a channel, product and day, once the journal has them."""
        channel, product, day = key
        place = f"channel={channel}/product={product}/day={day}"
        segment = self._open.get(place)
        if segment is None:
            self._parts += 1
            # Time first, so that names sort in the order of writing. The run keeps two recorders of one ms apart.
            name = f"part-{now:013d}-{self._run}-{self._parts:06d}"
            journal = LineFile(self.path / JOURNAL / f"{name}.jsonl", _JOURNAL, self._identity)
            segment = self._open[place] = _Segment(f"{place}/{name}.parquet", now, journal, self._rows_per_file)
        try:
            # The journal first: rows in memory alone would be lost in a crash.
            segment.journal.append({"place": segment.place, "rows": lines})
        except OSError as error:
            self.failed, self.lost = error, self.lost + len(lines)
        else:
            segment.rows += lines

    def _write_or_keep(self, segment: _Segment, now: int) -> None:
        """Write a part. Where that fails, its rows stay in the journal until more of them have come, or time passed."""
        try:
            self._write(segment)
        except OSError as error:
            self.failed = error
            # Not at each update: a full disk would otherwise be tried again thousands of times.
            segment.began, segment.due = now, len(segment.rows) + self._rows_per_file

    def _write(self, segment: _Segment) -> None:
        """Write a part, and only then delete its rows from the journal."""
        target = self.path / segment.place
        target.parent.mkdir(parents=True, exist_ok=True)
        channel = segment.place.partition("/")[0].partition("=")[2]
        arrow = _arrow(channel, segment.rows, exact=self._exact)
        # The part is complete on the disk before its journal goes. A crash in between leaves both, which `_recover`
        # sees.
        write_table(target, arrow, PART, identity=segment.journal.identity, row_group=ROW_GROUP)
        segment.journal.close()
        segment.journal.path.unlink()
        # The part is complete by now. An error before leaves the rows in the segment, for the next attempt.
        self._open.pop(segment.place.rpartition("/")[0], None)
        self.written.append(target)

    def _recover(self) -> None:
        """Write what a crash left in the journal, unless its part was already complete."""
        for path in sorted((self.path / JOURNAL).glob("*.jsonl")):
            journal = LineFile(path, _JOURNAL, None)
            rows = [row for line in journal.lines for row in line["rows"]]
            place = next((line["place"] for line in journal.lines), "")
            # A part that exists is complete, because it was renamed into place. Its journal is only left over.
            if not place or (self.path / place).exists():
                path.unlink()
            else:
                self._write(_Segment(place, 0, journal, 0, rows))
        # A crash while a part was written leaves it under its temporary name. The journal still has its rows.
        for incomplete in self.path.glob("channel=*/product=*/day=*/.part-*.part"):
            incomplete.unlink()


@dataclass
class _Segment:
    """Rows that will become the part at `place`, a path in the recording. It is due when it has so many rows."""

    place: str
    began: int
    journal: LineFile
    due: int
    rows: list[list[Any]] = field(default_factory=list)


def _lock_of(path: Path) -> sqlite3.Connection:
    """Return the lock of a recording's directory. Raises InputError."""
    try:
        # The lock is the operating system's, so that a crash of the process releases it.
        held = hold(path / JOURNAL / LOCK)
        why = "another recorder is writing there"
    except OSError as error:
        held, why = None, str(error.strerror)
    if held is None:
        text = f"can't record to {path}: {why}. Use another directory"
        raise InputError(text, field="path", rule="one recorder", value=str(path))
    return held


def _day(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%d")


def parts_of(path: Path, channel: str, product: str) -> list[Path]:
    """Return the parts of a recording in order of their days and names.

    Parameters
    ----------
    path : Path
        Directory of the recording.
    channel : str
        Name of the channel, "*" for any.
    product : str
        Product symbol, "*" for any.
    """
    found = path.glob(f"channel={channel}/product={product}/day=*/part-*.parquet")
    return sorted(found, key=lambda part: (part.parent.name, part.name))
