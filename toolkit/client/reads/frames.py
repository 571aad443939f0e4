"""Responses of Info queries as DataFrames with stable columns and dtypes, also when empty or only partly as declared.

`frame` converts the JSON text of a response as its declaration says. Times are UTC, product codes
become symbols, enum numbers become names. Amounts are floats, or Decimal objects with `exact=True`. Undeclared fields
follow at the end under their wire names. Missing ones are NA. The response itself is in `frame.attrs["raw"]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import BadAnswer, warn
from ...numerals import printable
from ...protocol import jsontext
from ...protocol.reads import door, ties, wire_values
from ...protocol.reads.endpoint import MAX_TIME, Endpoint
from ...protocol.reads.info.candles import KLINES, Kline
from ...protocol.reads.rows import AMOUNTS, Record, RecordField, Row
from ...suggestions import check_known
from .conversion import Query

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
    endpoint: Endpoint[Row],
    answer: bytes | Sequence[bytes],
    query: Query = (),
    *,
    symbols: Symbols | None = None,
    exact: bool = False,
    entrance: door.Door | None = None,
    now_ms: int | None = None,
) -> pd.DataFrame:
    """Return the response of a query as a DataFrame with the columns and dtypes of its record.

    It warns with DataWarning where a value does not fit.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    answer : bytes or sequence of bytes
        JSON text of the envelope, or several such pages.
    query : tuple of pairs of str, optional
        The query that they answer, which their rows must agree with (default: none).
    symbols : str, int or iterable of these, optional
        Product code → symbol (default: none). An unknown code stays as text.
    exact : bool, optional
        True gives Decimal objects (default: False, float64).
    entrance : Door, optional
        The session's door, through which rows come only with what their record needs (default: none).
    now_ms : int, optional
        The present on the venue's clock, Unix ms, which no row is later than (default: None, not known).

    Raises
    ------
    BadAnswer
        For JSON text that is not the envelope, for rows that the door refuses, and for those of another question.
    """
    pages = [answer] if isinstance(answer, bytes) else answer
    if endpoint.record is Kline.declared and not exact:
        # All or none: two ways of reading in one frame could differ in dtypes.
        fast = [part for part in (decode_page(page, query, now_ms) for page in pages) if part is not None]
        if len(fast) == len(pages):
            candles = joined(fast)
            candles.attrs["raw"] = InfoAnswer(pages)
            return candles
    rows: list[Any] = []
    for page in pages:
        data = data_of(page, exact=exact)
        rows.extend(door.rows_of(endpoint, data, query, now_ms))
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
        jsontext.refuse_repeated(body, decoded)
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
    if entrance is not None:
        entrance.name(record, objects)
    columns, extra = _read_columns(record, objects, symbols or {}, exact=exact, entrance=entrance, where=where)
    # All columns together: adding them one by one would copy the frame each time.
    frame = _made(columns, len(objects))
    for wire, values in (extra | _undeclared(record, objects)).items():
        # A venue may name a new field as we name another column.
        name = wire if wire not in frame.columns else f"{wire} (wire)"
        frame[name] = pd.Series(values, dtype=object, index=frame.index).astype(_inferred_dtype(values))
    return frame


def _read_columns(
    record: Record,
    rows: Sequence[Mapping[str, Any]],
    symbols: Symbols,
    *,
    exact: bool,
    entrance: door.Door | None,
    where: str,
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the columns, and as answered those with values that did not fit."""
    needed = record.needed if entrance is not None else ()
    columns: dict[str, Any] = {}
    extra: dict[str, list[Any]] = {}
    for field in record.fields:
        values = [row.get(field.wire) for row in rows]
        columns[field.column], bad = column(field, values, symbols, exact=exact)
        if field in needed and ("" in values or _has_missing(columns[field.column])):
            door.admit(where, record, rows)
        if entrance is not None and field.wire in record.expected and None in values:
            entrance.look(record, rows)
        if bad:
            extra[field.wire] = values
            warn(f"{unreadable(record, field, values, bad)}, as answered in the last columns")
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
            columns[name] = _amounts(list(map(_amount, values)), exact=exact)
        elif dtype == "string":
            columns[name] = values
        elif dtype.startswith("datetime64") and all(value is None or type(value) is int for value in values):
            columns[name] = _times(values)
        else:
            columns[name] = pd.Series(values, dtype=dtype)
    return _made(columns, len(rows))


def _amount(value: object) -> Decimal | None:
    try:
        return wire_values.amount(value)
    except ValueError:
        return None


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
    columns = {printable(name): [row.get(name) for row in rows] for name in names}
    return {name: [printable(one) if type(one) is str else one for one in values] for name, values in columns.items()}


def _inferred_dtype(values: Sequence[Any]) -> Any:
    """Return the dtype of an undeclared column: by its values, object where they are mixed."""
    kinds = {type(value) for value in values if value is not None}
    fits = all(type(value) is not int or value in wire_values.INT64 for value in values)
    if kinds == {int} and fits:
        return "Int64"
    if kinds and kinds <= {int, float} and fits:
        return "float64"
    # Mixed kinds have no dtype of their own, and whole numbers beyond 64 bits stay as they came.
    return {frozenset({str}): "string", frozenset({bool}): "boolean"}.get(frozenset(kinds), object)


def unreadable(record: Record, field: RecordField, values: Sequence[Any], count: int) -> str:
    """Return that values of a field can't be read, as the beginning of a sentence.

    Parameters
    ----------
    record : Record
        Declaration of the record.
    field : RecordField
        Declaration of the field.
    values : sequence
        Its values on the wire.
    count : int
        How many of them can't be read.
    """
    sample = next((value for value in values if wire_values.column(field, [value])[1]), None)
    said = f"{record.name}.{field.wire}: {count} values such as {sample!r} are not {field.kind}"
    return f"{said}. NA in {field.column!r}"


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
    if field.kind in AMOUNTS and not exact and (numbers := _floats(values, field.signed)) is not None:
        return numbers, 0
    found, bad = wire_values.column(field, values)
    if field.kind in AMOUNTS:
        return _amounts(found, exact=exact), bad
    if field.kind in ("integer", "id"):
        return pd.arrays.IntegerArray(*_int64s(found)), bad
    if field.kind in ("ms", "s"):
        return _times(found), bad
    if field.kind == "bool":
        return pd.array(found, dtype="boolean"), bad
    if field.kind == "object":
        return pd.Series(found, dtype=object).to_numpy(), 0
    if field.kind == "code":
        by_code = {str(code): symbol for code, symbol in symbols.items()}
        found = [by_code.get(code, code) for code in found]
    return found, bad


def _floats(values: list[Any], signed: bool) -> Any:
    """Return plain numbers as float64, None for a column that has others: most columns have nothing else."""
    try:
        numbers = np.fromiter(map(float, values), np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        return None
    # No truths among numbers, and no digits that only Python reads (1_000).
    kinds = set(map(type, values))
    texts = "".join([value for value in values if type(value) is str]) if str in kinds else ""
    plain = bool not in kinds and texts.isascii() and "_" not in texts and np.isfinite(numbers).all()
    return numbers if plain and (signed or (numbers >= 0).all()) else None


def _amounts(found: Sequence[Decimal | None], *, exact: bool) -> Any:
    """Return amounts as objects of Decimal and NA if `exact`, else as float64."""
    if not exact:
        return np.fromiter((np.nan if one is None else float(one) for one in found), np.float64, len(found))
    made = np.empty(len(found), dtype=object)
    made[:] = [pd.NA if one is None else one for one in found] if _lacks(found) else found
    return made


def _lacks(found: Sequence[object]) -> bool:
    return type(None) in set(map(type, found))  # quicker than to compare each with None


def _int64s(found: Sequence[int | None]) -> tuple[Any, Any]:
    """Return int64 numbers, and a mask of the missing ones."""
    if not _lacks(found):  # nearly always
        return np.array(found, np.int64), np.zeros(len(found), bool)
    mask = np.fromiter((number is None for number in found), bool, len(found))
    return np.fromiter((number or 0 for number in found), np.int64, len(found)), mask


def _times(found: Sequence[int | None]) -> Any:
    """Return ms as UTC times. The venue writes 0 where a time is not set, e.g. for an agent that was not revoked."""
    numbers, mask = _int64s(found)
    times = numbers.astype("M8[ms]")
    times[mask | (numbers == 0)] = np.datetime64("NaT", "ms")
    return pd.DatetimeIndex(times, tz="UTC")


_CHUNK = 1 << 17
"""Bytes of JSON that are decoded together."""
_PREFIX = re.compile(rb'\s*\{"code":0,"message":"[^"\\]*","data":\[(?=\{)')
_FLOATS = ("open", "high", "low", "close", "volume", "turnover")
_NUMBERS = Kline.declared.wires("time", *_FLOATS, "trades")
_SYMBOL, _INTERVAL = Kline.declared.wires("symbol", "interval")


def decode_page(body: bytes, query: Query = (), now_ms: int | None = None) -> pd.DataFrame | None:
    """Return a page of uniform candles as a frame, or None where the page is not uniform.

    It is when all rows are of one product and interval, have every field and break no rule. Candles are read by the
    hundred thousand, so such pages are decoded in pieces that fit the processor's cache. All other pages are read row
    by row.

    Parameters
    ----------
    body : bytes
        JSON text of the envelope.
    query : tuple of pairs of str, optional
        The query that it answers (default: none).
    now_ms : int, optional
        The present on the venue's clock, Unix ms (default: None, not known).

    Raises
    ------
    BadAnswer
        For candles of another product or interval than were asked for.
    """
    # An escape in the message, or members in another order, may hide a brace: such pages take the other way.
    head = _PREFIX.match(body)
    text = body.rstrip()
    if head is None or not text.endswith(b"]}"):
        return None
    begin, end = head.end(), len(text) - 2
    try:
        first = msgspec.json.decode(body[begin : body.index(b"}", begin) + 1])
        if type(first[_SYMBOL]) is not str or type(first[_INTERVAL]) is not int:
            return None
        # Its literals refuse a row of another product or interval, so that both can be repeated instead of read.
        decoder = _kline_decoder(first[_SYMBOL], first[_INTERVAL])
        table = _decode_pieces(decoder, body, begin, end)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    # Times and trade counts were decoded as floats; only whole numbers convert to int64 without a change.
    integers = table[[0, -1]]
    if not np.isfinite(table).all() or (integers != np.floor(integers)).any():
        return None
    if np.abs(integers).max() > MAX_TIME // 1000:
        return None
    # An object with a key twice is read by neither of its values.
    if body.count(b":") != table.shape[1] * (len(_NUMBERS) + 2) + 3:
        return None
    if table.min() < 0 or not table[0].all():
        return None
    columns = {"time": table[0] * 1000, **dict(zip(_FLOATS, table[1:], strict=False)), "interval": first[_INTERVAL]}
    if now_ms is not None and columns["time"].max() > now_ms + ties.AHEAD_MS:
        return None
    if not all(np.all(rule.holds(*map(columns.__getitem__, rule.columns))) for rule in Kline.declared.rules):
        return None
    door.tie(KLINES, [first], query)  # all of them are of its product and interval
    return _kline_frame(table, first[_SYMBOL], first[_INTERVAL])


@lru_cache(maxsize=64)
def _kline_decoder(symbol: str, interval: int) -> msgspec.json.Decoder[Any]:
    row = msgspec.defstruct(
        "KlineRow",
        [(_SYMBOL, Literal[symbol]), (_INTERVAL, Literal[interval]), *((name, float) for name in _NUMBERS)],
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


def _kline_frame(table: NDArray[np.float64], symbol: str, interval: int) -> pd.DataFrame:
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
