"""Events: trades and changes of an order book, as recorded, in one form for every source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
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
from ...stored.tables import open_table, write_table
from .event_array import EventArray, Kind, bars_of_trades, from_columns

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from numpy.typing import NDArray

    from .replaying import Tape

METADATA = b"toolkit.events"
"""Key of the description in a Parquet file's metadata."""
COLUMNS = ("exchange_time", "local_time", "kind", "price", "quantity")
"""Columns by which a table of events is known."""
DESCRIPTION = ("symbol", "exchange", "source", "notes")
ROW_GROUP = 100_000
PIECE = 50_000
"""Events that a run reads at a time. A market of them takes about 2 kB each while it is made."""
FORMAT = 1
"""Number of the format. A file without a header is read as one of another program."""
KIND = FileKind("events", FORMAT, "load the source again and save it")


class Events(EventArray):
    """The events of one product in the order in which they were received.

    Parameters
    ----------
    array : array
        Structured NumPy array of dtype `EVENT`.
    symbol : str, optional
        Product as the source names it, "" if it does not (default: "").
    exchange : str, optional
        Exchange as the source names it, "" if it does not (default: "").
    source : str, optional
        File and format it was read from (default: "").
    notes : sequence of str, optional
        Notes on what the reader left out or repaired, one sentence each. `check` lists them (default: none).
    tick_size : Decimal, optional
        Multiple of all prices (default: the finest power of ten that they are multiples of).
    step_size : Decimal, optional
        Multiple of all quantities (default: the finest power of ten that they are multiples of).

    Attributes
    ----------
    array : array of EVENT
        Structured NumPy array, read-only.
    symbol : str
        Product as the source names it, "" if it does not.
    exchange : str
        Exchange as the source names it, "" if it does not.
    tick_size : Decimal
        Multiple of all prices.
    step_size : Decimal
        Multiple of all quantities.
    source : str
        File and format it was read from.
    notes : tuple of str
        Notes on what the reader left out or repaired, one sentence each.
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
        """Return the events of a span of local time.

        Parameters
        ----------
        start : str or datetime, optional
            First local time, such as "2026-01-01 00:01" (UTC), included (default: the first event).
        end : str or datetime, optional
            Local time at which to stop (UTC), not included (default: after the last event).

        Returns
        -------
        Events
            The events from `start` on and before `end`.

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> events = data.load("recorded", format="recording", progress=False)
        >>> len(events.between("2026-01-01 00:01", "2026-01-01 00:02"))
        87
        """
        local = self.array["local_ns"]
        kept = np.ones(len(local), dtype=bool)
        if start is not None:
            kept &= local >= moment_ns(start, "start")
        if end is not None:
            kept &= local < moment_ns(end, "end")
        return self._with(self.array[kept])

    def counts(self) -> dict[str, int]:
        """Return how many events there are of each kind that occurs.

        Returns
        -------
        dict of str to int
            Number of events by the name of the kind in lower case.

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> events = data.load("recorded", format="recording", progress=False)
        >>> events.counts()
        {'depth': 137, 'trade': 22, 'clear': 1, 'snapshot': 36, 'mark': 3, 'index': 3}
        """
        kinds, numbers = np.unique(self.array["kind"], return_counts=True)
        return {Kind(kind).name.lower(): int(number) for kind, number in zip(kinds, numbers, strict=True)}

    def frame(self) -> pd.DataFrame:
        """Return the events as a DataFrame.

        Returns
        -------
        DataFrame
            One row an event:

            - exchange_time, local_time: datetime64[ns, UTC]
            - kind: string, name of the kind in lower case
            - side: string, "buy", "sell" or NA
            - price: float64, USDC
            - quantity: float64, base units
            - id, previous: Int64, NA for none

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> events = data.load("recorded", format="recording", progress=False)
        >>> events.frame()[["kind", "price"]].tail(2).values.tolist()
        [['mark', 62653.3], ['index', 62614.5]]
        """
        text = pd.StringDtype()
        made: pd.DataFrame = self.arrow().to_pandas()
        return made.astype({"kind": text, "side": text, "id": "Int64", "previous": "Int64"})

    def arrow(self) -> pa.Table:
        """Return the events as an Arrow table, as `save` writes them.

        Returns
        -------
        pyarrow.Table
            One row an event:

            - exchange_time, local_time: timestamp[ns, UTC]
            - kind: dictionary of text
            - side: dictionary of text, null if there is none
            - price: double, USDC
            - quantity: double, base units
            - id, previous: int64, null for none

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> events = data.load("recorded", format="recording", progress=False)
        >>> events.arrow().column_names[:4]
        ['exchange_time', 'local_time', 'kind', 'side']
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
        """Write a Parquet file, which `load`, pandas, DuckDB and others read. An existing one is replaced.

        Parameters
        ----------
        path : str or PathLike
            File to write.

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> events = data.load("recorded", format="recording", progress=False)
        >>> events.save("events.parquet")
        >>> len(data.load("events.parquet", format="parquet", progress=False)) == len(events)
        True
        """
        write_table(Path(path), self.arrow(), KIND, row_group=ROW_GROUP)

    def tape(self, tick_size: Decimal, step_size: Decimal) -> Tape:
        """Return the tape that a venue replays.

        Parameters
        ----------
        tick_size : Decimal
            Tick of the venue's product, USDC.
        step_size : Decimal
            Step of the venue's product, base units.

        Raises
        ------
        InputError
            For prices that are no multiples of the tick.
        """
        from .replaying import Tape

        key = ("tape", tick_size, step_size)
        # The array is read-only, so what is computed from it stays true.
        if key not in self.cache:  # every episode of an environment replays it again
            self.cache[key] = Tape(self, tick_size, step_size)
        tape: Tape = self.cache[key]
        return tape

    def bars(self, interval: str = "1m") -> pd.DataFrame:
        """Return OHLCV bars of the trades by exchange time. Intervals without trades have none.

        Parameters
        ----------
        interval : str, optional
            Length of a bar (default: "1m").

        Returns
        -------
        DataFrame
            One row a bar:

            - time: datetime64[ms, UTC], start of the bar
            - symbol: string
            - open, high, low, close: float64, USDC
            - volume: float64, base units

        Examples
        --------
        >>> recorder = research.record(session, "recorded", ["BTCUSDC"])
        >>> _ = session.venue.advance("2m")
        >>> recorder.close()
        >>> kept = research.Recording("recorded")
        >>> events = data.load("recorded", format="recording", progress=False)
        >>> events.bars("1m")[["open", "close"]].values.tolist()
        [[62595.1, 62611.9], [62577.7, 62655.6]]
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


def merge(parts: Iterable[Events]) -> Events:
    """Return the events of several files of one product as one, in the order they were received.

    Each file's events stay in its order, so that a local time that runs back is still found.

    Parameters
    ----------
    parts : iterable of Events
        Events of the files, at least one.
    """
    parts = list(parts)
    first = parts[0]
    if len(parts) == 1:
        return first
    # Sorted by the latest time so far: a file whose clock runs back keeps its order, and `check` still finds it.
    latest = [np.maximum.accumulate(part.array["local_ns"]) for part in parts]
    array = np.concatenate([part.array for part in parts])[np.argsort(np.concatenate(latest), kind="stable")]
    source = "; ".join(dict.fromkeys(part.source for part in parts))
    notes = [note for part in parts for note in part.notes]
    exchange = next((part.exchange for part in parts if part.exchange), "")
    return Events(array, symbol=first.symbol, exchange=exchange, source=source, notes=notes)


def holds_events(path: Path) -> bool:
    """Return whether a file has the columns of events.

    Parameters
    ----------
    path : Path
        Parquet file.

    Raises
    ------
    InputError
        When it is no Parquet file.
    """
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return set(COLUMNS) <= set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: expected a Parquet file: {error}", field="path", value=str(path)) from None


def read_events(path: Path) -> Events:
    """Read a file for which `holds_events` is true, of `Events.save` or another program.

    Parameters
    ----------
    path : Path
        Parquet file.

    Raises
    ------
    StoredFileError
        For a damaged file.
    InputError
        For kinds and sides that are not known.
    """
    import pyarrow as pa

    return events_of_table(path, pa.concat_tables(batches_of(path)))


def batches_of(path: Path) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet or Feather file, at most `PIECE` in a table.

    Parameters
    ----------
    path : Path
        File of any columns.

    Raises
    ------
    StoredFileError
        For a damaged file of `Events.save`.
    InputError
        For a file of another kind.
    """
    need("pyarrow")
    import pyarrow as pa

    try:
        if path.suffix == ".feather":
            with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
                for number in range(file.num_record_batches):
                    yield pa.Table.from_batches([file.get_batch(number)])
        else:
            with open_table(path, KIND) as file:
                if not file.metadata.num_rows:  # and so no batch
                    yield file.schema_arrow.empty_table()
                for batch in file.iter_batches(PIECE, use_threads=False):
                    yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: expected a Parquet or Feather file: {error}", field="path") from None


def events_of_table(path: Path, table: pa.Table) -> Events:
    """Return the events of a table of the columns of `Events.arrow`.

    Parameters
    ----------
    path : Path
        File that it is from, for the error.
    table : Table
        Table of pyarrow.

    Raises
    ------
    InputError
        For kinds and sides that are not known, and for missing values.
    """
    import pyarrow as pa

    unreadable = (pa.ArrowException, msgspec.MsgspecError, ArithmeticError, ValueError, TypeError, KeyError)
    try:
        return _events_of(path, table)
    except InputError:
        raise
    except unreadable as error:
        text = f"{path}: expected a table of events, as Events.save writes it: {error}"
        raise InputError(text, field="path", value=str(path)) from None


def _events_of(path: Path, table: pa.Table) -> Events:
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
