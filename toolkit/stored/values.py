"""Values of a notebook as JSON with their kinds: the notebook's process writes them, and that of the checks reads them.

What comes from a notebook may be anything. Reading it makes numbers, texts, times, lists, dictionaries, arrays and
frames, and none that are larger than their text.
"""

from __future__ import annotations

import importlib
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any

LARGEST_EXPONENT = 400
"""No number of a notebook has more digits before or after its point: int() of it might not end."""
DEEPEST = 8
_MICRO = timedelta(microseconds=1)
_COLUMN = re.compile(
    r"bool|boolean|[Uu]?[Ii]nt\d{1,2}|[Ff]loat\d{2}|complex\d{2,3}|object|category|"
    r"(datetime|timedelta)64\[[a-z]{1,2}(, [\w/+:-]{1,40})?\]"
)
"""Types of columns and arrays that are restored. A text's length may be part of others, and be huge."""


class Unread(TypeError):
    """A value has no form that checks can read. The text says why, if its type does not."""


def _number(kind: Any) -> Callable[[str], Any]:
    """Return what reads a number, if it has no more digits than LARGEST_EXPONENT."""

    def read(text: str) -> Any:
        number = kind(text)
        # 0 for NaN and Infinity
        size = abs(number.adjusted()) if isinstance(number, Decimal) else len(text) // 2
        if size > LARGEST_EXPONENT:
            raise ValueError(f"the number has more than {LARGEST_EXPONENT} digits")
        return number

    return read


def _pandas(name: str) -> Callable[[str], Any]:
    return lambda text: getattr(importlib.import_module("pandas"), name)(text)


_SCALARS: tuple[tuple[str, str, Callable[[Any], str], Callable[[str], Any]], ...] = (
    ("decimal", "Decimal", str, _number(Decimal)),
    ("fraction", "Fraction", str, _number(Fraction)),
    ("complex", "complex", str, complex),
    ("bytes", "bytes bytearray", lambda value: bytes(value).hex(), bytes.fromhex),
    ("timestamp", "Timestamp NaTType datetime64", str, _pandas("Timestamp")),
    ("pandas timedelta", "Timedelta", lambda value: f"{value.value} ns", _pandas("Timedelta")),
    ("numpy timedelta", "timedelta64", lambda value: f"{value.astype('m8[ns]').astype(int)} ns", _pandas("Timedelta")),
    ("datetime", "datetime", datetime.isoformat, datetime.fromisoformat),
    ("date", "date", date.isoformat, date.fromisoformat),
    ("time", "time", time.isoformat, time.fromisoformat),
    ("timedelta", "timedelta", lambda value: str(value // _MICRO), lambda text: int(text) * _MICRO),
)
"""Kind, names of the types, how one is written as text, and how it is read."""
_WRITERS = {name: (kind, write) for kind, names, write, _ in _SCALARS for name in names.split()}
_READERS = {kind: read for kind, _, _, read in _SCALARS}


def written(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON with its kind, such as {"decimal": "1.5"}.

    Parameters
    ----------
    value : object
        Any value.
    depth : int, optional
        How deep it lies in others (default: 0).

    Raises
    ------
    Unread
        For a value that has no such form.
    """
    if depth > DEEPEST:
        raise Unread("it is nested too deeply")
    if isinstance(value, Enum):
        return written(value.value, depth + 1)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    name = type(value).__name__
    if name in _WRITERS:
        kind, write = _WRITERS[name]
        return {kind: write(value)}
    if isinstance(value, Mapping):
        return {"dict": [[written(key, depth + 1), written(inner, depth + 1)] for key, inner in value.items()]}
    if isinstance(value, list | tuple | set | frozenset | range | deque) or name in ("dict_keys", "dict_values"):
        return {"list": [written(inner, depth + 1) for inner in value]}
    if isinstance(value, PurePath):
        return str(value)
    if name == "NAType":
        return None
    if hasattr(value, "to_frame") and hasattr(value, "nunique"):  # a Series, or an index
        table = value.to_frame() if name == "Series" else value.to_frame(index=False)
        if name == "Series":
            return {"series": _table(table, depth, reset=True)}
        return {"index": {**_table(table, depth, reset=False), "names": [written(each) for each in value.names]}}
    if name == "DataFrame" and hasattr(value, "dtypes"):
        return {"dataframe": _table(value, depth, reset=True)}
    if name in ("ndarray", "matrix", "memmap") and hasattr(value, "ravel"):
        plain = value.dtype.kind in "biuf"
        flat = value.ravel().tolist() if plain else [written(each, depth + 1) for each in value.ravel()]
        return {"array": [str(value.dtype), list(value.shape), flat]}
    if hasattr(value, "item") and not hasattr(value, "__len__"):  # numbers of numpy
        return written(value.item(), depth + 1)
    if is_dataclass(value) and not isinstance(value, type):
        named = {each.name: getattr(value, each.name) for each in fields(value)}
        return written(named, depth + 1)
    raise Unread


def _table(table: Any, depth: int, *, reset: bool) -> dict[str, Any]:
    """Return a frame as columns, their types, and rows. Its index is among its columns."""
    table = table.reset_index() if reset else table
    columns = [
        column.tolist() if kind == kind.lower() and kind[:3] in ("int", "uin", "flo", "boo") and kind != "boolean"
        else [written(each, depth + 1) for each in column]
        for kind, column in ((str(dtype), table.iloc[:, at]) for at, dtype in enumerate(table.dtypes))
    ]  # fmt: skip
    names = [list(name) if isinstance(name, tuple) else written(name) for name in table.columns]
    return {
        "columns": names,
        "dtypes": [str(dtype) for dtype in table.dtypes],
        "data": list(zip(*columns, strict=True)),
    }


def restored(value: object) -> Any:
    """Return a value that `written` made, read from JSON.

    Parameters
    ----------
    value : object
        The JSON.

    Raises
    ------
    ValueError
        For a number out of all bounds, and what has another form.
    """
    if not isinstance(value, dict):
        return value
    [(kind, inner)] = value.items()
    if kind in _READERS:
        return _READERS[kind](inner)
    if kind == "list":
        return [restored(each) for each in inner]
    if kind == "dict":
        return {restored(key): restored(each) for key, each in inner}
    if kind == "array":
        return _array(*inner)
    import pandas as pd

    rows = [[restored(each) for each in row] for row in inner["data"]]
    columns = [tuple(name) if isinstance(name, list) else restored(name) for name in inner["columns"]]
    frame = pd.DataFrame(rows, columns=columns)
    for at, dtype in enumerate(inner.get("dtypes", ())):
        if _COLUMN.fullmatch(dtype) and str(frame.dtypes.iloc[at]) != dtype:
            frame.isetitem(at, frame.iloc[:, at].astype(dtype).array)
    if kind == "index":
        made = pd.MultiIndex.from_frame(frame) if len(columns) > 1 else pd.Index(frame.iloc[:, -1])
        return made.set_names(inner["names"])
    return frame.iloc[:, -1] if kind == "series" else frame


def _array(dtype: str, shape: list[int], flat: list[object]) -> Any:
    """Return an array of numpy. Its elements decide its type, where the type's name could demand any memory."""
    import numpy as np

    elements = [restored(each) for each in flat]
    if dtype.startswith(("datetime64", "timedelta64")):
        elements = [each.to_numpy() for each in elements]
    return np.array(elements, dtype=dtype if _COLUMN.fullmatch(dtype) else None).reshape(shape)
