"""Responses of Info queries as DataFrames with stable columns and dtypes, also when empty or only partly as declared.

`frame` converts the JSON text of a response as its declaration says. Times are UTC, product codes
become symbols, enum numbers become names. Amounts are floats, or Decimal objects with `exact=True`. Undeclared fields
follow at the end under their wire names. Missing ones are NA. The response itself is in `frame.attrs["raw"]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd

from ...errors import BadAnswer, warn
from ...protocol import jsontext
from ...protocol.reads import door
from ...protocol.reads.endpoint import MAX_TIME, Endpoint
from ...protocol.reads.info.candles import Kline
from ...protocol.reads.rows import AMOUNTS, Record, RecordField
from ...suggestions import check_known

Symbols = Mapping[int, str]
"""Product code → symbol."""


class InfoAnswer(dict[str, Any]):
    """The responses that a frame was made from: `frame.attrs["raw"]`.

    To pandas it is an empty dict, compared by identity: pandas copies and compares attrs in most operations, which
    would cost more than the operation itself.

    Parameters
    ----------
    pages : iterable of bytes, optional
        JSON text of each response (default: none).
    """

    __slots__ = ("pages",)

    def __init__(self, pages: Iterable[bytes] = ()) -> None:
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
    endpoint: Endpoint,
    answer: bytes | Sequence[bytes],
    *,
    symbols: Symbols | None = None,
    exact: bool = False,
    entrance: door.Door | None = None,
) -> pd.DataFrame:
    """Return the response of a query as a DataFrame with the columns and dtypes of its record.

    It warns with DataWarning where a value does not fit.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    answer : bytes or sequence of bytes
        JSON text of the envelope, or several such pages.
    symbols : str, int or iterable of these, optional
        Product code → symbol (default: none). An unknown code stays as text.
    exact : bool, optional
        True gives Decimal objects (default: False, float64).
    entrance : Door, optional
        The session's door, through which rows come only with what their record needs (default: none).

    Raises
    ------
    BadAnswer
        For JSON text that is not the envelope, and for rows that the door refuses.
    """
    pages = [answer] if isinstance(answer, bytes) else answer
    if endpoint.record is Kline.declared and not exact:
        # All or none: two ways of reading in one frame could differ in dtypes.
        fast = [part for part in map(decode_page, pages) if part is not None]
        if len(fast) == len(pages):
            candles = joined(fast)
            candles.attrs["raw"] = InfoAnswer(pages)
            return candles
    rows: list[Any] = []
    for page in pages:
        data = data_of(page, exact=exact)
        rows.extend(door.rows_of(endpoint, data))
    combined = from_rows(endpoint.record, rows, symbols=symbols, exact=exact, entrance=entrance, where=endpoint.path)
    combined.attrs["raw"] = InfoAnswer(pages)
    return combined


def data_of(body: bytes, *, exact: bool = False) -> Any:
    """Return `data` of an envelope's JSON text.

    Parameters
    ----------
    body : bytes
        JSON text of the envelope.
    exact : bool, optional
        True gives numbers with a fraction as Decimal (default: False, float).
    """
    try:
        jsontext.guard(body)
        decoded = _EXACT.decode(body) if exact else msgspec.json.decode(body)
        jsontext.refuse_repeated(body)
    except ValueError as error:
        said = error if isinstance(error, jsontext.RepeatedKey) else f"the answer is not JSON: {error}"
        raise BadAnswer(str(said), body=body[:500].decode(errors="replace")) from None
    if not isinstance(decoded, dict) or "data" not in decoded:
        raise BadAnswer("the answer is not the venue's envelope", body=body[:500].decode(errors="replace"))
    return decoded["data"]


_EXACT = msgspec.json.Decoder(float_hook=Decimal)


def empty(record: Record, *, exact: bool = False) -> pd.DataFrame:
    """Return an empty frame with the columns and dtypes of a record.

    Parameters
    ----------
    record : Record
        Declaration of the record.
    exact : bool, optional
        True gives Decimal objects (default: False, float64).
    """
    return from_rows(record, [], exact=exact)


def from_rows(
    record: Record,
    rows: Sequence[Any],
    *,
    symbols: Symbols | None = None,
    exact: bool = False,
    entrance: door.Door | None = None,
    where: str = "",
) -> pd.DataFrame:
    """Return decoded rows as a frame. Rows that are not objects are left out with a warning.

    A door says once which other published fields are absent.

    Parameters
    ----------
    record : Record
        Declaration of the record.
    rows : sequence
        Objects by wire name.
    symbols : str, int or iterable of these, optional
        Product code → symbol (default: none). An unknown code stays as text.
    exact : bool, optional
        True gives Decimal objects (default: False, float64).
    entrance : Door, optional
        The session's door, through which rows come only with what their record needs (default: none).
    where : str, optional
        Path of the query, for the error (default: "").

    Raises
    ------
    BadAnswer
        For rows that the door refuses. It names the path.
    """
    needed = record.needed if entrance is not None else ()
    if needed and not all(isinstance(row, Mapping) for row in rows):
        door.admit(where, record, rows)
    objects = [row for row in rows if isinstance(row, Mapping)]
    if len(objects) < len(rows):
        warn(f"{record.name}: {len(rows) - len(objects)} rows are not objects and are left out")
    make = partial(column, symbols=symbols or {}, exact=exact)
    columns, extra = _read_columns(record, objects, make, entrance=entrance, where=where)
    # All columns together: adding them one by one would copy the frame each time.
    frame = _made(columns, len(objects))
    for wire, values in (extra | _undeclared(record, objects)).items():
        # A venue may name a new field as we name another column.
        name = wire if wire not in frame.columns else f"{wire} (wire)"
        frame[name] = pd.Series(values, dtype=object, index=frame.index).astype(_inferred_dtype(values))
    return frame


def values_of(
    endpoint: Endpoint, body: bytes, *, symbols: Symbols | None = None, entrance: door.Door
) -> list[dict[str, Any]]:
    """Return the rows of a response by column, as `frame` reads them but without a frame, for what is derived of them.

    Amounts are Decimal, times are ms, what is missing is None. Raises and warns as `frame` does.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    body : bytes
        JSON text of the envelope.
    symbols : str, int or iterable of these, optional
        Product code → symbol (default: none). An unknown code stays as text.
    entrance : Door
        The session's door, through which rows come only with what their record needs (default: none).
    """
    rows = door.rows_of(endpoint, data_of(body, exact=True))
    if not all(isinstance(row, Mapping) for row in rows):
        door.admit(endpoint.path, endpoint.record, rows)
    make = partial(_plain, symbols=symbols or {})
    columns, _ = _read_columns(endpoint.record, rows, make, entrance=entrance, where=endpoint.path)
    return [{name: values[at] for name, values in columns.items()} for at in range(len(rows))]


def _plain(field: RecordField, values: list[Any], symbols: Symbols) -> tuple[list[Any], int]:
    """As `column`, with the values as a list of Decimal, int and text, and None for what is missing."""
    if field.kind == "code":
        return column(field, values, symbols, exact=True)
    found, bad = _each(values, [None] * len(values), partial(door.read, field))
    # The venue writes 0 where a time is not set.
    return [one or None for one in found] if field.kind in ("ms", "s") else found, bad


def _read_columns(
    record: Record,
    rows: Sequence[Mapping[str, Any]],
    make: Callable[[RecordField, list[Any]], tuple[Any, int]],
    *,
    entrance: door.Door | None,
    where: str,
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the columns that `make` made, and as answered those with values that did not fit."""
    needed = record.needed if entrance is not None else ()
    columns: dict[str, Any] = {}
    extra: dict[str, list[Any]] = {}
    for field in record.fields:
        values = [row.get(field.wire) for row in rows]
        columns[field.column], bad = make(field, values)
        if field in needed and ("" in values or _has_missing(columns[field.column])):
            door.admit(where, record, rows)
        if entrance is not None and field.wire in record.expected and None in values:
            entrance.look(record, rows)
        if bad:
            extra[field.wire] = values
            warn(
                f"{record.name}.{field.wire}: {bad} values such as {_sample(field, values)!r} are not {field.kind}. "
                f"NA in {field.column!r}, as answered in the last columns"
            )
    return columns, extra


def _has_missing(values: Any) -> bool:
    return None in values if isinstance(values, list) else bool(pd.isna(values).any())


def _made(columns: Mapping[str, Any], count: int) -> pd.DataFrame:
    """Return columns as a frame. Texts are lists, which become one array that they share: making each costs more."""
    texts = [values for values in columns.values() if isinstance(values, list)]
    shared = pd.array(list(chain.from_iterable(texts)), dtype="string")
    parts = (shared[at : at + count] for at in range(0, count * len(texts), count or 1))
    empty = shared[:0]
    made = {name: next(parts, empty) if isinstance(values, list) else values for name, values in columns.items()}
    # The columns are new, so that nothing else holds them: a copy would only cost time.
    return pd.DataFrame(made, index=pd.RangeIndex(count), copy=False)


def typed(rows: Sequence[Mapping[str, Any]], dtypes: Mapping[str, str], *, exact: bool = False) -> pd.DataFrame:
    """Return rows by column as a frame with these dtypes, also when empty. Times are ms or datetimes. None, and a
    column that is missing from a row is NA.

    Parameters
    ----------
    rows : sequence of mapping
        Rows by column.
    dtypes : mapping
        Column → dtype.
    exact : bool, optional
        True gives Decimal objects (default: False, float64).
    """
    columns: dict[str, Any] = {}
    for name, dtype in dtypes.items():
        values = [None if (value := row.get(name)) is pd.NA else value for row in rows]
        if dtype == "float64":
            columns[name] = _decimals(values)[0] if exact else _floats(values)[0]
        elif dtype == "string":
            columns[name] = values
        elif dtype.startswith("datetime64") and all(value is None or type(value) is int for value in values):
            columns[name] = _times(values, 1)[0]
        else:
            columns[name] = pd.Series(values, dtype=dtype)
    return _made(columns, len(rows))


def indexed(frame: pd.DataFrame, index: str | None) -> pd.DataFrame:
    """Return a frame with one of its columns as the index.

    Parameters
    ----------
    frame : DataFrame
        Frame with a fresh index.
    index : str or None
        Name of the column. None keeps the key as a column, as Arrow and polars need it.

    Raises
    ------
    InputError
        For anything but a column's name.
    """
    # A frame that was indexed before gets its column back first.
    if frame.index.name is not None:
        if frame.index.name == index:
            return frame
        frame = frame.reset_index()
    if index is None:
        return frame
    check_known([index], map(str, frame.columns), "index", "column of this table")
    return frame.set_index(index)


def joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return frames with the same columns one after the other, without an index, with the answers of all.

    Parameters
    ----------
    parts : sequence of DataFrame
        Frames with the same columns.
    """
    if len(parts) == 1:
        return indexed(parts[0], None)
    # Empty frames are left out because pd.concat warns about their dtypes.
    whole = [indexed(part, None) for part in parts]
    frame = pd.concat([part for part in whole if len(part)] or whole[:1], ignore_index=True)
    pages = [page for part in parts if "raw" in part.attrs for page in part.attrs["raw"].pages]
    frame.attrs = {"raw": InfoAnswer(pages)} if pages else {}
    return frame


def _undeclared(record: Record, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    known = record.by_wire.keys()
    if known >= set().union(*rows):
        return {}
    names = dict.fromkeys(name for row in rows for name in row if name not in known)
    return {name: [row.get(name) for row in rows] for name in names}


def _inferred_dtype(values: Sequence[Any]) -> Any:
    """Return the dtype of an undeclared column: by its values, object where they are mixed."""
    kinds = {type(value) for value in values if value is not None}
    fits = all(type(value) is not int or value in door.INT64 for value in values)
    if kinds == {int} and fits:
        return "Int64"
    if kinds and kinds <= {int, float} and fits:
        return "float64"
    # Mixed kinds have no dtype of their own, and whole numbers beyond 64 bits stay as they came.
    return {frozenset({str}): "string", frozenset({bool}): "boolean"}.get(frozenset(kinds), object)


def _sample(field: RecordField, values: Sequence[Any]) -> Any:
    def fits(value: Any) -> bool:
        return column(field, [value], {}, exact=False)[1] == 0

    return next((value for value in values if not fits(value)), None)


def column(field: RecordField, values: list[Any], symbols: Symbols, *, exact: bool) -> tuple[Any, int]:
    """Return the column for a field's wire values, and the number of values that did not fit and are NA.

    Parameters
    ----------
    field : RecordField
        Declaration of the field.
    values : list
        Its values on the wire.
    symbols : str, int or iterable of these
        Product code → symbol. An unknown code stays as text.
    exact : bool
        True gives Decimal objects.
    """
    read = partial(door.read, field)
    if field.kind in AMOUNTS:
        return (_decimals if exact else _floats)(values, read, field.signed)
    if field.kind in ("integer", "id"):
        numbers, mask, bad = _int64s(values)
        return pd.arrays.IntegerArray(numbers, mask), bad
    if field.kind in ("ms", "s"):
        return _times(values, 1000 if field.kind == "s" else 1)
    if field.kind == "bool":
        truths, bad = _each(values, [None] * len(values), read)
        return pd.array(truths, dtype="boolean"), bad
    if field.kind == "object":
        return pd.Series(values, dtype=object).to_numpy(), 0
    if field.kind == "code":
        by_code = {str(code): symbol for code, symbol in symbols.items()}
        return _texts(values, lambda value: by_code.get(read(value), read(value)))
    return _texts(values, read)


def _texts(values: list[Any], read: Callable[[Any], Any]) -> tuple[list[str | None], int]:
    # Columns repeat few values, so each one is read once. True and 1 are one key of a dict, so the type is in it.
    kinds = set(map(type, values))
    keys = values if kinds <= {str, int} else [(type(value), repr(value)) for value in values]
    cache: dict[Any, str | None] = {}
    refused = set()
    for key, value in dict(zip(keys, values, strict=True)).items():
        try:
            text = read(value)
            cache[key] = None if text is None else str(text)
        except ValueError:
            cache[key] = None
            refused.add(key)
    return list(map(cache.__getitem__, keys)), sum(key in refused for key in keys) if refused else 0


def _each(values: list[Any], out: Any, read: Callable[[Any], Any]) -> tuple[Any, int]:
    """Put what `read` makes of each value that is there into `out`. Return it and the number of those it refused."""
    bad = 0
    for at, value in enumerate(values):
        try:
            found = read(value)
        except ValueError:
            bad += 1
            continue
        if found is not None:
            out[at] = found
    return out, bad


def _floats(values: list[Any], read: Callable[[Any], Any] = door.amount, signed: bool = True) -> tuple[Any, int]:
    try:
        # Most columns hold nothing but plain numbers. Others are read one by one below.
        numbers = np.fromiter(map(float, values), np.float64, len(values))
        # Whatever is not plain is read one by one: a price is not negative.
        if _are_plain(values) and np.isfinite(numbers).all() and (signed or (numbers >= 0).all()):
            return numbers, 0
    except (TypeError, ValueError, OverflowError):
        pass
    return _each(values, np.full(len(values), np.nan), read)


def _are_plain(values: list[Any]) -> bool:
    """Return whether there are no truths among numbers, and no digits that only Python reads (1_000)."""
    kinds = set(map(type, values))
    texts = "".join([value for value in values if type(value) is str]) if str in kinds else ""
    return bool not in kinds and texts.isascii() and "_" not in texts


_PLAIN, _SIGNED = frozenset("0123456789."), frozenset("0123456789.-")


def _decimals(values: list[Any], read: Callable[[Any], Any] = door.amount, signed: bool = True) -> tuple[Any, int]:
    out = np.full(len(values), pd.NA, dtype=object)
    try:
        if (_SIGNED if signed else _PLAIN).issuperset("".join(values)):
            # Digits and points alone: Decimal would also take "NaN", "1e5" and digits of other scripts.
            out[:] = list(map(Decimal, values))
            return out, 0
    except (TypeError, InvalidOperation):  # a number, none, or no number
        pass
    return _each(values, out, read)


def _int64s(values: list[Any]) -> tuple[Any, Any, int]:
    """Return int64 numbers, a mask of the missing ones, and how many did not fit."""
    count = len(values)
    try:
        if set(map(type, values)) <= {int, str} and _are_plain(values):
            return np.fromiter(map(int, values), np.int64, count), np.zeros(count, bool), 0
    except (ValueError, OverflowError):
        pass
    found, bad = _each(values, [None] * count, lambda value: None if value in (None, "") else door.whole(value))
    mask = np.fromiter((number is None for number in found), bool, count)
    return np.fromiter((number or 0 for number in found), np.int64, count), mask, bad


def _times(values: list[Any], scale: int) -> tuple[Any, int]:
    """Return UTC times. `scale` is the number of ms in a unit of the values."""
    numbers, mask, bad = _int64s(values)
    # Beyond it pandas would overflow without an error.
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
    so such pages are decoded in pieces that fit the processor's cache. All other pages are read row by row.

    Parameters
    ----------
    body : bytes
        JSON text of the envelope.
    """
    # An escape in the message, or members in another order, may hide a brace: such pages take the other way.
    head = _PREFIX.match(body)
    text = body.rstrip()
    if head is None or not text.endswith(b"]}"):
        return None
    begin, end = head.end(), len(text) - 2
    try:
        first = msgspec.json.decode(body[begin : body.index(b"}", begin) + 1])
        if type(first["symbolName"]) is not str or type(first["intrvl"]) is not int:
            return None
        # Its literals refuse a row of another product or interval, so that both can be repeated instead of read.
        decoder = _kline_decoder(first["symbolName"], first["intrvl"])
        table = _decode_pieces(decoder, body, begin, end)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    # Times and trade counts were decoded as floats; only whole numbers convert to int64 without a change.
    integers = table[[0, -1]]
    if not np.isfinite(table).all() or (integers != np.floor(integers)).any():
        return None
    if np.abs(integers).max() > MAX_TIME // 1000:
        return None
    if table.min() < 0 or not table[0].all():
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
        # Inside a text these bytes would break a piece, which can't be decoded then: the page takes the other way.
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
    # As MessagePack every row has the same width, so that numpy cuts out a column without a loop in Python.
    packed = msgspec.msgpack.encode(rows)
    # The head that says how many rows follow is of a varying length, so the rows are counted from the end.
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
