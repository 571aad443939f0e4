"""Responses of Info queries as DataFrames with stable columns and dtypes, also when empty or only partly as declared.

`frame` converts the JSON text of a response as its declaration says. Times are UTC, product codes
become symbols, enum numbers become names; amounts are floats, or Decimal objects with `exact=True`. Undeclared fields
follow at the end under their wire names; missing ones are NA. The response itself is in `frame.attrs["raw"]`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd

from ...errors import BadAnswer
from ...protocol import jsontext
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import hash_text
from ...protocol.reads.endpoint import MAX_TIME, Endpoint
from ...protocol.reads.info_records import KLINE
from ...protocol.reads.rows import CURRENCIES, Record, RecordField
from ...suggestions import check_known

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

    def __deepcopy__(self, memo: object = None) -> InfoAnswer:
        return self

    __copy__ = __deepcopy__

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
    a column that is missing from a row is NA."""
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
        numbers, mask, bad = _int64s(values)
        return pd.arrays.IntegerArray(numbers, mask), bad
    if field.kind in ("ms", "s"):
        return _times(values, 1000 if field.kind == "s" else 1)
    if field.kind == "bool":
        truths, bad = _each(values, [None] * len(values), lambda value: _TRUTH[str(value).lower()])
        return pd.array(truths, dtype="boolean"), bad
    if field.kind == "object":
        return pd.Series(values, dtype=object).to_numpy(), 0
    if field.kind in ("text", "symbol"):
        return _texts(values, lambda value: None if value is None else str(value))
    by_code = {str(code): symbol for code, symbol in symbols.items()}
    names = {"code": by_code, "currency": CURRENCIES}.get(field.kind, {})
    if field.kind == "hash":
        return _texts(values, lambda value: hash_text(str(value)) if _is_present(value) else None)
    # An address or a key has no name and stays as it is.
    return _texts(values, lambda value: names.get(str(value), str(value)) if _is_present(value) else None)


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


def _each(values: list[Any], out: Any, read: Callable[[Any], Any]) -> tuple[Any, int]:
    """Put what `read` makes of each value that is there into `out`; return it and the number of those it refused."""
    bad = 0
    for at, value in enumerate(values):
        if _is_present(value):
            try:
                out[at] = read(value)
            except (TypeError, ValueError, ArithmeticError, LookupError):
                bad += 1
    return out, bad


def _floats(values: list[Any]) -> tuple[Any, int]:
    try:
        return np.fromiter(map(float, values), np.float64, len(values)), 0
    except (TypeError, ValueError):
        return _each(values, np.full(len(values), np.nan), float)


def _decimals(values: list[Any]) -> tuple[Any, int]:
    out = np.full(len(values), pd.NA, dtype=object)
    try:
        if set(map(type, values)) <= {str, Decimal}:
            out[:] = list(map(Decimal, values))
            return out, 0
    except InvalidOperation:
        pass
    return _each(values, out, lambda value: Decimal(str(value)))


_INT64 = range(-(2**63), 2**63)
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def _int64s(values: list[Any]) -> tuple[Any, Any, int]:
    """Return int64 numbers, a mask of the missing ones, and how many did not fit."""
    count = len(values)
    try:
        if set(map(type, values)) <= {int, str}:
            return np.fromiter(map(int, values), np.int64, count), np.zeros(count, bool), 0
    except (ValueError, OverflowError):
        pass
    found, bad = _each(values, [None] * count, _as_integer)
    mask = np.fromiter((number is None for number in found), bool, count)
    return np.fromiter((number or 0 for number in found), np.int64, count), mask, bad


def _as_integer(value: Any) -> int:
    """Return a value as an int64. Raises ValueError for one that is no such number, or has a fraction."""
    number = int(value)
    if isinstance(value, bool) or number not in _INT64 or (isinstance(value, float | Decimal) and value != number):
        raise ValueError
    return number


def _times(values: list[Any], scale: int) -> tuple[Any, int]:
    """Return UTC times; `scale` is the number of ms in a unit of the values."""
    numbers, mask, bad = _int64s(values)
    out_of_range = np.abs(numbers) > MAX_TIME // scale
    bad += int((out_of_range & ~mask).sum())
    times = (np.where(out_of_range, 0, numbers) * scale).astype("M8[ms]")
    # The venue writes 0 where a time is not set, e.g. for an agent that was not revoked.
    times[mask | out_of_range | (numbers == 0)] = np.datetime64("NaT", "ms")
    return pd.DatetimeIndex(times, tz="UTC"), bad


_CHUNK = 1 << 17
"""Bytes of JSON that are decoded together."""
_PREFIX = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":\[(?=\{)')
_FLOATS = ("open", "high", "low", "close", "volume", "turnover")
_NUMBERS = ("timestamp", *_FLOATS, "tradeCount")


def decode_page(body: bytes) -> pd.DataFrame | None:
    """Return a page of uniform candles as a frame, or None where the page is not uniform.

    It is when all rows are of one product and interval and have every field. Candles are read by the hundred thousand,
    so such pages are decoded in pieces that fit the processor's cache; all other pages are read row by row.
    """
    head = _PREFIX.match(body)
    text = body.rstrip()
    if head is None or not text.endswith(b"]}"):
        return None
    begin, end = head.end(), len(text) - 2
    try:
        first = msgspec.json.decode(body[begin : body.index(b"}", begin) + 1])
        decoder = _kline_decoder(first["symbolName"], first["intrvl"])
        table = _decode_pieces(decoder, body, begin, end)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    # Times and trade counts were decoded as floats; only whole numbers convert to int64 without a change.
    integers = table[[0, -1]]
    if not np.isfinite(integers).all() or (integers != np.floor(integers)).any():
        return None
    if np.abs(integers).max() > MAX_TIME // 1000:
        return None
    if table[0].min() <= 0:
        return None
    return _kline_frame(table, first["symbolName"], first["intrvl"])


@lru_cache(maxsize=64)
def _kline_decoder(symbol: str, interval: int) -> msgspec.json.Decoder[Any]:
    row = msgspec.defstruct(
        "KlineRow",
        [("symbolName", Literal[symbol]), ("intrvl", Literal[interval]), *((name, float) for name in _NUMBERS)],
        gc=False,
        forbid_unknown_fields=True,
    )
    return msgspec.json.Decoder(list[row], strict=False)  # type: ignore[valid-type]


def _decode_pieces(decoder: msgspec.json.Decoder[Any], body: bytes, begin: int, end: int) -> Any:
    """Return the candles in body[begin:end] as float64, one row for each of _NUMBERS."""
    parts = []
    while begin < end:
        cut = body.find(b"},{", begin + _CHUNK, end)
        stop = end if cut < 0 else cut + 1
        parts.append(_columns(decoder.decode(b"[" + body[begin:stop] + b"]")))
        begin = stop + 1
    return np.concatenate(parts, axis=1)


def _columns(rows: list[Any]) -> Any:
    """Return the numbers of typed rows as columns, without creating Python objects for them.

    In MessagePack a float is a marker and eight bytes, and everything else in a row is the same in all rows. So all
    rows have one length, and a number is at the same offset in each.
    """
    packed = msgspec.msgpack.encode(rows)
    width = len(msgspec.msgpack.encode(rows[0]))
    table = np.frombuffer(packed, np.uint8)[len(packed) - width * len(rows) :].reshape(len(rows), width)
    found = np.empty((len(_NUMBERS), len(rows)))
    end = width
    for at in range(len(_NUMBERS) - 1, -1, -1):
        found[at] = np.ascontiguousarray(table[:, end - 8 : end]).view(">f8")[:, 0]
        end -= 8 + 1 + 1 + len(_NUMBERS[at])  # the number, its marker, and the field's name with its length byte
    return found


def _kline_frame(table: Any, symbol: str, interval: int) -> pd.DataFrame:
    count = table.shape[1]
    none = np.zeros(count, bool)
    times = (table[0].astype(np.int64) * 1000).astype("M8[ms]")
    columns: dict[str, Any] = {"time": pd.DatetimeIndex(times, tz="UTC")}
    for at, name in enumerate(_FLOATS, start=1):
        columns[name] = table[at]
    columns["trades"] = pd.arrays.IntegerArray(table[-1].astype(np.int64), none)
    columns["interval"] = pd.arrays.IntegerArray(np.full(count, interval, np.int64), none.copy())
    columns["symbol"] = pd.array([symbol], dtype="string").repeat(count)
    return pd.DataFrame(columns, index=pd.RangeIndex(count))
