"""Tables of text: CSV files read as text first, so that an error can name the line."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from .files import TextFile

CHUNK = 1_000_000
"""Rows read at a time."""


def read_table(source: TextFile, *, header: bool = True) -> pd.DataFrame:
    """Return a CSV file as columns of text. Raises InputError, which names the line, for rows of another length."""
    with source.open() as stream:
        try:
            return pd.read_csv(
                stream, dtype="str", keep_default_na=False, header=0 if header else None, skipinitialspace=True
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, EOFError, OSError) as error:
            raise InputError(
                f"{source.path}: expected a CSV file with the same fields on each line; {error}",
                field="path",
                value=str(source.path),
            ) from None


def numbers_of(source: TextFile, table: pd.DataFrame, name: str, *, first_line: int = 2) -> NDArray[np.float64]:
    """Return a column as float64. Raises InputError that names the line of the first value that is no number."""
    values = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype="float64")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        row = int(wrong[0])
        raise _error(source, row + first_line, name, "a number", table[name].iloc[row])
    return values


def times_ns(source: TextFile, table: pd.DataFrame, name: str, *, first_line: int = 2) -> NDArray[np.int64]:
    """Return a column of times (numbers since 1970 in s, ms, µs or ns, or ISO text; UTC) as int64 ns."""
    texts = table[name].astype("str")
    numeric = texts.str.fullmatch(r"-?\d+(\.\d+)?(e\+?\d+)?")
    if numeric.all() and len(texts):
        whole = ~texts.str.contains("[.e]").any()
        values: NDArray[Any] = texts.to_numpy().astype("i8" if whole else "f8")
        largest = float(values.max())
        scale = next((10**power for power in (9, 6, 3, 0) if largest * 10**power < 10**19), 0)
        if not whole:  # s with decimals: whole s first, because float64 can't hold ns since 1970
            seconds = np.floor(values)
            values, rest = seconds.astype("i8"), np.rint((values - seconds) * scale).astype("i8")
            return np.asarray(values * scale + rest, dtype=np.int64)
        return np.asarray(values * scale, dtype=np.int64)
    stamps = pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601")
    wrong = np.flatnonzero(stamps.isna())
    if len(wrong):
        row = int(wrong[0])
        raise _error(source, row + first_line, name, "a time, as ISO text or a number since 1970", texts.iloc[row])
    return np.asarray(stamps.astype("datetime64[ns, UTC]").astype("int64"), dtype=np.int64)


def hashed(texts: pd.Series) -> NDArray[np.int64]:
    """Return ids as integers: numbers as they are, other text as 63 bits of its hash, 0 for none."""
    numeric = texts.str.fullmatch(r"\d{1,18}")
    if numeric.all():
        return texts.to_numpy().astype("i8")
    return np.array([_hash(text) for text in texts], dtype="i8")


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1 if text else 0


def _error(source: TextFile, line: int, name: str, expected: str, got: Any) -> InputError:
    return InputError(
        f"{source.path}, line {line}: expected {expected} in the column {name}; got {str(got)!r}",
        field=name,
        rule=expected,
        value=str(got),
    )
