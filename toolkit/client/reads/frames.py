"""Responses of Info queries as DataFrames with stable columns and dtypes, also when empty or only partly as declared.

`frame` converts the JSON text of a response as its declaration says. Times are UTC, product codes
become symbols, enum numbers become names; amounts are floats, or Decimal objects with `exact=True`. Undeclared fields
follow at the end under their wire names; missing ones are NA. The response itself is in `frame.attrs["raw"]`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from ...errors import BadAnswer
from ...protocol import jsontext
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import hash_text
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info_records import KLINE
from ...protocol.reads.rows import CURRENCIES, Record, RecordField
from ...suggestions import check_known
from .kline_pages import MAX_TIME_MS, decode_page

Symbols = Mapping[int, str]
"""Product code → symbol."""


class DataWarning(UserWarning):
    """A value of a response does not fit its declaration; it is NA in the frame and stays in `frame.attrs["raw"]`."""


class InfoAnswer(dict[str, Any]):
    """The responses that a frame was made from: `frame.attrs["raw"]`.

    `pages` has the JSON text of each response, `json()` decodes them. To pandas it is an empty dict, compared by
    identity: pandas copies and compares attrs in most operations, which would cost more than the operation itself.
    """

    __slots__ = ("pages",)

    def __init__(self, pages: Iterable[bytes] = ()) -> None:
        super().__init__()
        self.pages = tuple(pages)

    def json(self) -> list[Any]:
        """Return the decoded pages."""
        return [msgspec.json.decode(page) for page in self.pages]

    def __deepcopy__(self, memo: object) -> InfoAnswer:
        return self

    def __copy__(self) -> InfoAnswer:
        return self

    def __reduce__(self) -> tuple[type[InfoAnswer], tuple[tuple[bytes, ...]]]:
        return InfoAnswer, (self.pages,)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self.pages)} answers, {sum(map(len, self.pages)):,} bytes; .json() decodes them>"


def frame(
    endpoint: Endpoint, answer: bytes | Sequence[bytes], *, symbols: Symbols | None = None, exact: bool = False
) -> pd.DataFrame:
    """Return the response of a query as a DataFrame with the columns and dtypes of `endpoint.record`.

    `answer` is JSON text of the envelope, or several such pages. `symbols` has the symbol of each product code; an
    unknown code stays as text. With `exact` amounts are Decimal objects. Raises BadAnswer for JSON text that
    is not the envelope; warns with DataWarning where a value does not fit.
    """
    pages = [answer] if isinstance(answer, bytes) else answer
    if endpoint.record is KLINE and not exact:
        fast = [part for part in map(decode_page, pages) if part is not None]
        if len(fast) == len(pages):
            candles = fast[0] if len(fast) == 1 else pd.concat(fast, ignore_index=True)
            candles.attrs["raw"] = InfoAnswer(pages)
            return candles
    rows: list[Any] = []
    for page in pages:
        rows.extend(endpoint.rows(data_of(page, exact=exact)))
    combined = from_rows(endpoint.record, rows, symbols=symbols, exact=exact)
    combined.attrs["raw"] = InfoAnswer(pages)
    return combined


def data_of(body: bytes, *, exact: bool = False) -> Any:
    """Return `data` of an envelope's JSON text; numbers with a fraction become Decimal when `exact`."""
    try:
        jsontext.guard(body)
        decoded = _EXACT.decode(body) if exact else msgspec.json.decode(body)
    except ValueError as error:
        raise BadAnswer(f"the answer is not JSON: {error}", body=body[:500].decode(errors="replace")) from None
    if not isinstance(decoded, dict) or "data" not in decoded:
        raise BadAnswer("the answer is not the venue's envelope", body=body[:500].decode(errors="replace"))
    return decoded["data"]


_EXACT = msgspec.json.Decoder(float_hook=Decimal)


def empty(record: Record, *, exact: bool = False) -> pd.DataFrame:
    """Return an empty frame with the columns and dtypes of a record."""
    return from_rows(record, [], exact=exact)


def from_rows(
    record: Record, rows: Sequence[Any], *, symbols: Symbols | None = None, exact: bool = False
) -> pd.DataFrame:
    """Return decoded rows (objects by wire name) as a frame. Rows that are not objects are left out with a warning."""
    objects = [row for row in rows if isinstance(row, Mapping)]
    if len(objects) < len(rows):
        warnings.warn(f"{record.name}: {len(rows) - len(objects)} rows are not objects and are left out", DataWarning)
    columns: dict[str, Any] = {}
    extra: dict[str, list[Any]] = {}
    for field in record.fields:
        values = [row.get(field.wire) for row in objects]
        columns[field.column], bad = column(field, values, symbols or {}, exact=exact)
        if bad:
            extra[field.wire] = values
            warnings.warn(
                f"{record.name}.{field.wire}: {bad} values such as {_sample(field, values)!r} are not {field.kind}; "
                f"NA in {field.column!r}, as answered in the last columns",
                DataWarning,
            )
    extra |= _undeclared(record, objects)
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(objects)))
    for wire, values in extra.items():
        name = wire if wire not in frame.columns else f"{wire} (wire)"
        frame[name] = pd.Series(values, dtype=object, index=frame.index).astype(_inferred_dtype(values))
    return frame


def typed(rows: Sequence[Mapping[str, Any]], dtypes: Mapping[str, str], *, exact: bool = False) -> pd.DataFrame:
    """Return rows by column as a frame with these dtypes, also when empty. Times are ms or datetimes; None, and
    a column that a row lacks, is NA."""
    columns: dict[str, Any] = {}
    for name, dtype in dtypes.items():
        values = [None if (value := row.get(name)) is pd.NA else value for row in rows]
        if dtype == "float64":
            columns[name] = _decimals(values)[0] if exact else _floats(values)[0]
            continue
        if dtype.startswith("datetime64"):
            values = [pd.Timestamp(value, unit="ms", tz="UTC") if isinstance(value, int) else value for value in values]
        columns[name] = pd.Series(values, dtype=dtype)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))


def indexed(frame: pd.DataFrame, index: str | None) -> pd.DataFrame:
    """Return a frame with one of its columns as the index; None keeps the key as a column, as Arrow and polars need it.

    Raises InputError for anything but a column's name.
    """
    if frame.index.name is not None:
        if frame.index.name == index:
            return frame
        frame = frame.reset_index()
    if index is None:
        return frame
    check_known([index], map(str, frame.columns), "index", "column of this table")
    return frame.set_index(index)


def _undeclared(record: Record, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    known = record.by_wire.keys()
    names: dict[str, None] = {}
    for row in rows:
        if row.keys() - known:
            names.update(dict.fromkeys(name for name in row if name not in known))
    return {name: [row.get(name) for row in rows] for name in names}


def _inferred_dtype(values: Sequence[Any]) -> Any:
    """Return the dtype of an undeclared column: by its values, object where they are mixed."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int} and all(value is None or value in _INT64 for value in values):
        return "Int64"
    if kinds and kinds <= {int, float}:
        return "float64"
    return {frozenset({str}): "string", frozenset({bool}): "boolean"}.get(frozenset(kinds), object)


def _sample(field: RecordField, values: Sequence[Any]) -> Any:
    def fits(value: Any) -> bool:
        return column(field, [value], {}, exact=False)[1] == 0

    return next((value for value in values if not fits(value)), None)


def column(field: RecordField, values: list[Any], symbols: Symbols, *, exact: bool) -> tuple[Any, int]:
    """Return the column for a field's wire values, and the number of values that did not fit and are NA."""
    if field.enum:
        return _texts(values, ENUMS[field.enum].text)
    if field.kind in ("price", "quantity", "money", "ratio"):
        return _decimals(values) if exact else _floats(values)
    if field.kind in ("integer", "id"):
        return _integers(values)
    if field.kind in ("ms", "s"):
        return _times(values, 1000 if field.kind == "s" else 1)
    if field.kind == "code":
        by_text = {str(code): symbol for code, symbol in symbols.items()}
        return _texts(values, lambda value: by_text.get(str(value), str(value)) if _is_present(value) else None)
    if field.kind == "currency":
        return _texts(values, lambda value: CURRENCIES.get(str(value), str(value)) if _is_present(value) else None)
    if field.kind == "hash":
        return _texts(values, lambda value: hash_text(str(value)) if _is_present(value) else None)
    if field.kind in ("address", "key"):
        return _texts(values, lambda value: str(value) if _is_present(value) else None)
    if field.kind == "bool":
        return _booleans(values)
    if field.kind == "object":
        return pd.Series(values, dtype=object).to_numpy(), 0
    return _texts(values, lambda value: None if value is None else str(value))


def _is_present(value: Any) -> bool:
    return value is not None and value != ""


def _texts(values: list[Any], read: Callable[[Any], str | None]) -> tuple[Any, int]:
    # Columns repeat few values, so each one is read once.
    cache: dict[Any, str | None] = {}
    out: list[str | None] = []
    bad = 0
    for value in values:
        if isinstance(value, list | dict):
            out.append(None)
            bad += 1
            continue
        text = cache.get(value)
        if text is None and value not in cache:
            text = cache[value] = read(value)
        out.append(text)
    return pd.array(out, dtype="string"), bad


def _floats(values: list[Any]) -> tuple[Any, int]:
    try:
        return np.fromiter(map(float, values), np.float64, len(values)), 0
    except (TypeError, ValueError):
        pass
    numbers = np.full(len(values), np.nan)
    bad = 0
    for at, value in enumerate(values):
        if not _is_present(value):
            continue
        try:
            numbers[at] = float(value)
        except (TypeError, ValueError):
            bad += 1
    return numbers, bad


def _decimals(values: list[Any]) -> tuple[Any, int]:
    out = np.full(len(values), pd.NA, dtype=object)
    bad = 0
    for at, value in enumerate(values):
        if not _is_present(value):
            continue
        try:
            out[at] = value if isinstance(value, Decimal) else Decimal(str(value))
        except InvalidOperation:
            bad += 1
    return out, bad


_INT64 = range(-(2**63), 2**63)


def _int64s(values: list[Any]) -> tuple[Any, Any, int]:
    """Return int64 numbers, a mask of the missing ones, and how many did not fit."""
    count = len(values)
    try:
        if set(map(type, values)) <= {int, str}:
            return np.fromiter(map(int, values), np.int64, count), np.zeros(count, bool), 0
    except (ValueError, OverflowError):
        pass
    numbers, mask, bad = np.zeros(count, np.int64), np.ones(count, bool), 0
    for at, value in enumerate(values):
        if not _is_present(value):
            continue
        number = _as_integer(value)
        if number is None:
            bad += 1
        else:
            numbers[at], mask[at] = number, False
    return numbers, mask, bad


def _as_integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    is_whole = not isinstance(value, float | Decimal) or value == number
    return number if is_whole and number in _INT64 else None


def _integers(values: list[Any]) -> tuple[Any, int]:
    numbers, mask, bad = _int64s(values)
    return pd.arrays.IntegerArray(numbers, mask), bad


def _times(values: list[Any], scale: int) -> tuple[Any, int]:
    """Return UTC times; `scale` is the number of ms in a unit of the values."""
    numbers, mask, bad = _int64s(values)
    out_of_range = np.abs(numbers) > MAX_TIME_MS // scale
    bad += int((out_of_range & ~mask).sum())
    times = (np.where(out_of_range, 0, numbers) * scale).astype("M8[ms]")
    # The venue writes 0 where a time is not set, e.g. for an agent that was not revoked.
    times[mask | out_of_range | (numbers == 0)] = np.datetime64("NaT", "ms")
    return pd.DatetimeIndex(times, tz="UTC"), bad


_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def _booleans(values: list[Any]) -> tuple[Any, int]:
    out = [_TRUTH.get(str(value).lower()) if _is_present(value) else None for value in values]
    bad = sum(1 for value, read in zip(values, out, strict=True) if read is None and _is_present(value))
    return pd.array(out, dtype="boolean"), bad
