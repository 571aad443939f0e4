"""Events read from Parquet files that `Events.save` wrote."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ....errors import InputError
from ....extras import need
from ..events import METADATA, Events, Kind, from_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def holds_events(path: Path) -> bool:
    """Return whether a file has the columns of events. Raises InputError when it is no Parquet file."""
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return {"exchange_time", "local_time", "kind", "price", "quantity"} <= set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: expected a Parquet file; {error}", field="path", value=str(path)) from None


def read(path: Path) -> Events:
    """Read a file for which `holds_events` is true. Raises InputError for kinds and sides that are not known."""
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return _events(path, pq.read_table(path, partitioning=None))
    except InputError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        msgspec.MsgspecError,
        ArithmeticError,
    ) as error:
        raise InputError(
            f"{path}: expected a Parquet file of events, as Events.save writes it; {error}",
            field="path",
            value=str(path),
        ) from None


def _events(path: Path, table: pa.Table) -> Events:
    need("pyarrow")
    import pyarrow as pa

    about = msgspec.json.decode((table.schema.metadata or {}).get(METADATA, b"{}"))
    kinds = _numbers_of(path, table, "kind", {kind.name.lower(): kind.value for kind in Kind}, pa.scalar("trade"))
    no_side = pa.nulls(table.num_rows, pa.string())
    sided = table if "side" in table.column_names else table.append_column("side", no_side)
    sides = _numbers_of(path, sided, "side", {"buy": 1, "sell": -1, "": 0}, pa.scalar(""))
    values = {name: table[name].fill_null(0).to_numpy() for name in ("id", "previous") if name in table.column_names}
    for name in ("exchange_time", "local_time", "price", "quantity"):
        if table[name].null_count:
            row = int(np.argmax(table[name].is_null().to_numpy()))
            raise InputError(f"{path}, row {row + 1}: expected a {name}; it has none", field=name, rule="a value")
    array = from_columns(
        {
            "exchange_ns": table["exchange_time"].cast(pa.timestamp("ns", "UTC")).cast(pa.int64()).to_numpy(),
            "local_ns": table["local_time"].cast(pa.timestamp("ns", "UTC")).cast(pa.int64()).to_numpy(),
            "kind": kinds,
            "side": sides,
            "price": table["price"].to_numpy(),
            "quantity": table["quantity"].to_numpy(),
            **values,
        },
        table.num_rows,
    )
    return Events(
        array,
        symbol=about.get("symbol", ""),
        exchange=about.get("exchange", ""),
        source=about.get("source", ""),
        notes=about.get("notes", ()),
        tick_size=Decimal(about["tick_size"]) if "tick_size" in about else None,
        step_size=Decimal(about["step_size"]) if "step_size" in about else None,
    )


def _numbers_of(path: Path, table: pa.Table, column: str, codes: dict[str, int], null: pa.Scalar) -> NDArray[np.int64]:
    """Return a column of names as their numbers; `null` is the name of a missing one."""
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.compute as pc

    names = table[column].cast(pa.string()).fill_null(null)
    places = pc.index_in(names, pa.array(list(codes)))
    if places.null_count:
        row = int(np.argmax(places.is_null().to_numpy()))
        got, known = names[row].as_py(), ", ".join(filter(None, codes))
        raise InputError(
            f"{path}, row {row + 1}: expected a {column} of {known}, not {got!r}",
            field=column,
            value=got,
            nearest=tuple(codes),
        )
    found: NDArray[np.int64] = np.array(list(codes.values()), dtype=np.int64)[places.to_numpy()]
    return found
