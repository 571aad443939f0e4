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

from ...extras import need
from .event_array import (
    BOOK_KINDS,
    EVENT,
    MS,
    ORDER_KINDS,
    PRICED,
    EventArray,
    Kind,
    bars_of_trades,
    empty,
    from_columns,
    grid_of,
    whole_units_of,
)

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa
    from numpy.typing import NDArray

    from .replaying import Tape

__all__ = [
    "BOOK_KINDS", "EVENT", "METADATA", "MS", "ORDER_KINDS", "PRICED", "Events", "Kind", "empty", "from_columns",
    "grid_of", "merge", "to_arrow", "whole_units_of",
]  # fmt: skip

METADATA = b"toolkit.events"
"""Key of the description in a Parquet file's metadata."""
ROW_GROUP = 100_000
_SIDES = {1: "buy", -1: "sell"}


class Events(EventArray):
    """The events of one product in the order in which they were received.

    Attributes:
        array: structured NumPy array of dtype `EVENT`, read-only.
        symbol, exchange: as the source names them ("" where it does not).
        tick_size, step_size: the finest powers of ten (Decimal) that all prices and quantities are multiples of.
        source: file and format it was read from.
        notes: what the reader left out or repaired, one sentence each; `check` lists them.
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
        return Events(
            array,
            symbol=self.symbol,
            exchange=self.exchange,
            source=self.source,
            notes=self.notes,
            tick_size=self.tick_size,
            step_size=self.step_size,
        )

    def between(self, start: str | datetime | None = None, end: str | datetime | None = None) -> Events:
        """Return the events whose local time is from `start` on and before `end` (UTC)."""
        local = self.array["local_ns"]
        kept = np.ones(len(local), dtype=bool)
        if start is not None:
            kept &= local >= _utc_ns(start)
        if end is not None:
            kept &= local < _utc_ns(end)
        return self._with(self.array[kept])

    def counts(self) -> dict[str, int]:
        """Return how many events there are of each kind that occurs, by its name in lower case."""
        kinds, numbers = np.unique(self.array["kind"], return_counts=True)
        return {Kind(kind).name.lower(): int(number) for kind, number in zip(kinds, numbers, strict=True)}

    def frame(self) -> pd.DataFrame:
        """Return the events as a DataFrame.

        Columns: exchange_time and local_time (datetime64[ns, UTC]), kind and side (string; side "buy", "sell" or NA),
        price and quantity (float64), id and previous (Int64).
        """
        text = pd.StringDtype()
        made: pd.DataFrame = to_arrow(self).to_pandas()
        return made.astype({"kind": text, "side": text, "id": "Int64", "previous": "Int64"})

    def arrow(self) -> pa.Table:
        """Return the events as an Arrow table, as `save` writes them."""
        return to_arrow(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, which `load`, pandas, DuckDB and others read; an existing file is replaced."""
        need("pyarrow")
        import pyarrow.parquet as pq

        target = Path(path)
        temporary = target.with_name(f"{target.name}.tmp")  # a crash leaves no half of a file under its name
        pq.write_table(to_arrow(self), temporary, row_group_size=ROW_GROUP, compression="zstd")
        os.replace(temporary, target)

    def tape(self, tick_size: Decimal, step_size: Decimal) -> Tape:
        """Return the `Tape` that a venue replays, in ticks and steps of its product."""
        from .replaying import Tape

        return Tape(self, tick_size, step_size)

    def bars(self, interval: str = "1m") -> pd.DataFrame:
        """Return OHLCV bars of the trades by exchange time; intervals without trades have none.

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


def to_arrow(events: Events) -> pa.Table:
    """Return events as an Arrow table.

    Columns: exchange_time, local_time (timestamp[ns, UTC]), kind and side (dictionaries of text; side is null where
    there is none), price, quantity (double), id, previous (int64; null for none).
    """
    need("pyarrow")
    import pyarrow as pa

    array = events.array
    kinds = [kind.name.lower() for kind in Kind]
    places = np.zeros(256, dtype="int8")
    for number, kind in enumerate(Kind):
        places[kind] = number
    unknown_id = np.ascontiguousarray(array["id"]) == 0
    columns = {
        "exchange_time": pa.array(np.ascontiguousarray(array["exchange_ns"]), pa.timestamp("ns", "UTC")),
        "local_time": pa.array(np.ascontiguousarray(array["local_ns"]), pa.timestamp("ns", "UTC")),
        "kind": pa.DictionaryArray.from_arrays(places[array["kind"]], kinds),
        "side": pa.DictionaryArray.from_arrays(
            pa.array((array["side"] < 0).astype("int8"), mask=array["side"] == 0), list(_SIDES.values())
        ),
        "price": pa.array(np.ascontiguousarray(array["price"])),
        "quantity": pa.array(np.ascontiguousarray(array["quantity"])),
        "id": pa.array(np.ascontiguousarray(array["id"]), mask=unknown_id),
        "previous": pa.array(np.ascontiguousarray(array["previous"]), mask=array["previous"] == 0),
    }
    about = {
        "symbol": events.symbol,
        "exchange": events.exchange,
        "source": events.source,
        "notes": list(events.notes),
        "tick_size": str(events.tick_size),
        "step_size": str(events.step_size),
    }
    return pa.table(columns).replace_schema_metadata({METADATA: msgspec.json.encode(about)})


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


def _utc_ns(when: str | datetime) -> int:
    stamp = pd.Timestamp(when)
    stamp = stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp.tz_convert("UTC")
    return int(stamp.as_unit("ns").value)
