"""Events: trades and changes of an order book, as recorded, in one form for every source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pandas as pd

from ...errors import InputError
from ...extras import need
from ...numerals import moment_ns
from ...stored.seals import FileKind
from ...stored.tables import read_table, write_table
from ...worked_examples import add_examples
from .event_array import EventArray, Kind, bars_of_trades, from_columns

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from numpy.typing import NDArray

    from .replaying import Tape

METADATA = b"toolkit.events"
"""Key of the description in a Parquet file's metadata."""
DESCRIPTION = ("symbol", "exchange", "source", "notes")
ROW_GROUP = 100_000
FORMAT = 2
"""Number of the format. Files of format 1 have no header and are read as those of other programs."""
_KIND = FileKind("events", FORMAT, "load the source again and save it")


class Events(EventArray):
    """The events of one product in the order in which they were received.

    Attributes:
        array: structured NumPy array of dtype `EVENT`, read-only.
        symbol, exchange: as the source names them ("" where it does not).
        tick_size, step_size: the finest powers of ten (Decimal) that all prices and quantities are multiples of.
        source: file and format it was read from.
        notes: what the reader left out or repaired, one sentence each. `check` lists them.
    """

    def __init__(
        self,
        array: NDArray[Any],
        *,
        symbol: str = "",
        exchange: str = "",
        source: str = "",
        notes: Sequence[str] = (),
        tick_size: Decimal | None = None,
        step_size: Decimal | None = None,
    ) -> None:
        super().__init__(array, symbol=symbol, tick_size=tick_size, step_size=step_size)
        self.exchange = exchange
        self.source = source
        self.notes = tuple(notes)

    def __getitem__(self, rows: slice) -> Events:
        """Return a slice of the events, by row number."""
        return self._with(self.array[rows])

    def _with(self, array: NDArray[Any]) -> Events:
        about: dict[str, Any] = {name: getattr(self, name) for name in (*DESCRIPTION, "tick_size", "step_size")}
        return Events(array, **about)

    def between(self, start: str | datetime | None = None, end: str | datetime | None = None) -> Events:
        """Return the events whose local time is from `start` on and before `end` (UTC)."""
        local = self.array["local_ns"]
        kept = np.ones(len(local), dtype=bool)
        if start is not None:
            kept &= local >= moment_ns(start, "start")
        if end is not None:
            kept &= local < moment_ns(end, "end")
        return self._with(self.array[kept])

    def counts(self) -> dict[str, int]:
        """Return how many events there are of each kind that occurs, by its name in lower case."""
        kinds, numbers = np.unique(self.array["kind"], return_counts=True)
        return {Kind(kind).name.lower(): int(number) for kind, number in zip(kinds, numbers, strict=True)}

    def frame(self) -> pd.DataFrame:
        """Return the events as a DataFrame.

        Columns: exchange_time and local_time (datetime64[ns, UTC]), kind and side (string, side "buy", "sell" or NA),
        price and quantity (float64), id and previous (Int64).
        """
        text = pd.StringDtype()
        made: pd.DataFrame = self.arrow().to_pandas()
        return made.astype({"kind": text, "side": text, "id": "Int64", "previous": "Int64"})

    def arrow(self) -> pa.Table:
        """Return the events as an Arrow table, as `save` writes them.

        Columns: exchange_time, local_time (timestamp[ns, UTC]), kind and side (dictionaries of text, side is null where
        there is none), price, quantity (double), id, previous (int64, null for none).
        """
        need("pyarrow")
        import pyarrow as pa

        fields = {name: np.ascontiguousarray(self.array[name]) for name in self.array.dtype.names or ()}
        places = np.zeros(256, dtype="int8")
        for number, kind in enumerate(Kind):
            places[kind] = number
        sides = pa.array((fields["side"] < 0).astype("int8"), mask=fields["side"] == 0)
        columns = {
            "exchange_time": pa.array(fields["exchange_ns"], pa.timestamp("ns", "UTC")),
            "local_time": pa.array(fields["local_ns"], pa.timestamp("ns", "UTC")),
            "kind": pa.DictionaryArray.from_arrays(places[fields["kind"]], [kind.name.lower() for kind in Kind]),
            "side": pa.DictionaryArray.from_arrays(sides, ["buy", "sell"]),
            "price": pa.array(fields["price"]),
            "quantity": pa.array(fields["quantity"]),
            "id": pa.array(fields["id"], mask=fields["id"] == 0),
            "previous": pa.array(fields["previous"], mask=fields["previous"] == 0),
        }
        about = {name: getattr(self, name) for name in DESCRIPTION}
        grid = {name: str(getattr(self, name)) for name in ("tick_size", "step_size")}
        return pa.table(columns).replace_schema_metadata({METADATA: msgspec.json.encode({**about, **grid})})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file to `path`, which `load`, pandas, DuckDB and others read. An existing one is replaced."""
        write_table(Path(path), self.arrow(), _KIND, row_group=ROW_GROUP)

    def tape(self, tick_size: Decimal, step_size: Decimal) -> Tape:
        """Return the `Tape` that a venue replays, in ticks (`tick_size`) and steps (`step_size`) of its product."""
        from .replaying import Tape

        key = ("tape", tick_size, step_size)
        if key not in self.cache:  # every episode of an environment replays it again
            self.cache[key] = Tape(self, tick_size, step_size)
        tape: Tape = self.cache[key]
        return tape

    def bars(self, interval: str = "1m") -> pd.DataFrame:
        """Return OHLCV bars of the trades by exchange time, of an `interval`. Intervals without trades have none.

        Columns: time (start, datetime64[ms, UTC]), symbol (string), open, high, low, close, volume (float64).
        """
        trades = self.of(Kind.TRADE)
        times = pd.Series(pd.to_datetime(trades["exchange_ns"], unit="ns", utc=True))
        frame = pd.DataFrame({"time": times, "price": trades["price"], "quantity": trades["quantity"]})
        return bars_of_trades(frame, self.symbol, interval)

    def __repr__(self) -> str:
        if not len(self):
            return f"<Events {self.symbol}: none>"
        local = pd.to_datetime(self.array["local_ns"][[0, -1]], unit="ns", utc=True).floor("ms").tz_localize(None)
        counts = ", ".join(f"{count:,} {name}" for name, count in self.counts().items())
        return f"<Events {self.symbol} {local[0]} to {local[1]} UTC: {counts}; tick {self.tick_size}>"


add_examples(Events, "Events")


def merge(parts: Iterable[Events]) -> Events:
    """Return the events of several files of one product as one, in the order they were received.

    Each file's events stay in its order, so that a local time that runs back is still found.
    """
    parts = list(parts)
    first = parts[0]
    if len(parts) == 1:
        return first
    latest = [np.maximum.accumulate(part.array["local_ns"]) for part in parts]
    array = np.concatenate([part.array for part in parts])[np.argsort(np.concatenate(latest), kind="stable")]
    source = "; ".join(dict.fromkeys(part.source for part in parts))
    notes = [note for part in parts for note in part.notes]
    exchange = next((part.exchange for part in parts if part.exchange), "")
    return Events(array, symbol=first.symbol, exchange=exchange, source=source, notes=notes)


def holds_events(path: Path) -> bool:
    """Return whether a file has the columns of events. Raises InputError when it is no Parquet file."""
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return {"exchange_time", "local_time", "kind", "price", "quantity"} <= set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: expected a Parquet file: {error}", field="path", value=str(path)) from None


def read_events(path: Path) -> Events:
    """Read a file for which `holds_events` is true, of `Events.save` or another program.

    Raises StoredFileError for a damaged one, and InputError for kinds and sides that are not known.
    """
    import pyarrow as pa

    unreadable = (pa.ArrowException, msgspec.MsgspecError, ArithmeticError, OSError, ValueError, TypeError, KeyError)
    try:
        return _events(path, read_table(path, _KIND, unsealed=True)[0])
    except InputError:
        raise
    except unreadable as error:
        text = f"{path}: expected a Parquet file of events, as Events.save writes it: {error}"
        raise InputError(text, field="path", value=str(path)) from None


def _events(path: Path, table: pa.Table) -> Events:
    import pyarrow as pa

    about = msgspec.json.decode((table.schema.metadata or {}).get(METADATA, b"{}"))
    kinds = _numbers_of(path, table, "kind", {kind.name.lower(): kind.value for kind in Kind}, "trade")
    if "side" not in table.column_names:
        table = table.append_column("side", pa.nulls(table.num_rows, pa.string()))
    sides = _numbers_of(path, table, "side", {"buy": 1, "sell": -1, "": 0}, "")
    values = {name: table[name].fill_null(0).to_numpy() for name in ("id", "previous") if name in table.column_names}
    for name in ("exchange_time", "local_time", "price", "quantity"):
        if table[name].null_count:
            row = int(np.argmax(table[name].is_null().to_numpy()))
            raise InputError(f"{path}, row {row + 1}: expected a {name}, but it has none", field=name, rule="a value")
        values[name] = table[name].to_numpy()
    for name in ("exchange", "local"):
        stamps = table[f"{name}_time"].cast(pa.timestamp("ns", "UTC")).cast(pa.int64())
        values[f"{name}_ns"] = stamps.to_numpy()
        del values[f"{name}_time"]
    array = from_columns({**values, "kind": kinds, "side": sides}, table.num_rows)
    known = {name: about[name] for name in DESCRIPTION if name in about}
    known |= {name: Decimal(about[name]) for name in ("tick_size", "step_size") if name in about}
    return Events(array, **known)


def _numbers_of(path: Path, table: pa.Table, column: str, codes: dict[str, int], null: str) -> NDArray[np.int64]:
    """Return a column of names as their numbers. `null` is the name of a missing one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = table[column].cast(pa.string()).fill_null(null)
    places = pc.index_in(names, pa.array(list(codes)))
    if places.null_count:
        row = int(np.argmax(places.is_null().to_numpy()))
        got, known = names[row].as_py(), ", ".join(filter(None, codes))
        text = f"{path}, row {row + 1}: expected a {column} of {known}, not {got!r}"
        raise InputError(text, field=column, value=got, nearest=tuple(codes))
    found: NDArray[np.int64] = np.array(list(codes.values()), dtype=np.int64)[places.to_numpy()]
    return found
