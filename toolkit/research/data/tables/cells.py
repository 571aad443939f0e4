"""Tables of market data: where one begins in a file of lines, and its cells as values, in text and in typed columns."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ..formats.text_files import COMMENT, SHOWN, TextFile
from .shapes import NAMES, plain_name
from .times import Times, expected_time, read_times

KNOWN = frozenset(name for names in NAMES.values() for name in names.split())
DELIMITERS = ("\t", ";", "|", ",", " ")
"""Commas come late: with another delimiter they are the decimal signs of Europe. Spaces also stand within times."""
HEAD = 25
"""Lines in which a table begins: titles and licences stand above some."""
CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?"
"""A time of day."""
VALUE = re.compile(rf"\s*(?:[+-]?[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?|{CLOCK})\s*")
"""A cell that is no name of a column."""
LETTERS = {"K": 1e3, "M": 1e6, "B": 1e9}
"""Last letter of a rounded number → its factor."""


class Layout(NamedTuple):
    """Where the table of a file begins.

    Attributes
    ----------
    line : int
        Number of the line of the names, or of the first row without names, from 1.
    rows : int
        Number of the line of the first row.
    delimiter : str
        Character between two fields.
    names : list of list of str
        Lines of names: none, one, or two of which one has the symbols.
    above : int
        Number of lines above that are no comments.
    """

    line: int
    rows: int
    delimiter: str
    names: list[list[str]]
    above: int


def layout_of(source: TextFile) -> Layout:
    """Return where the table of a file begins: at the line with the most names that are known.

    Parameters
    ----------
    source : TextFile
        File to read.

    Raises
    ------
    InputError
        For an empty file.
    """
    lines = list(islice(((number, line) for number, line in source.lines() if not COMMENT.match(line)), HEAD))
    if not lines:
        text = f"{source.path}, line 1: expected a header line, but the file is empty"
        raise InputError(text, field="path", value=str(source.path))
    texts = [line.decode(errors="replace") for _, line in lines]
    stated = {plain_name(name) for name in (source.hints.columns or {}).values()}
    best: tuple[tuple[int, bool, int], str, list[list[str]], int] | None = None
    for delimiter in DELIMITERS:
        # A carriage return within a line is no end of it.
        plain = (text.replace("\r", " ") for text in texts)
        cells = [next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), []) for text in plain]
        scores = [len({plain_name(cell) for cell in row} & (KNOWN | stated)) for row in cells]
        lengths = [len(row) for row in cells]
        usual = max(set(lengths), key=lengths.count)
        score = max(scores) if max(scores) > 1 else 0
        ranked = (score, usual > 2 and lengths.count(usual) * 2 > len(lengths), usual if delimiter == "," else 0)
        if usual > 1 and (best is None or ranked[:2] > best[0][:2]):
            best = ranked, delimiter, cells, scores.index(score) if score else lengths.index(usual)
    _, delimiter, cells, at = best or ((0, False, 0), ",", [text.split(",") for text in texts], 0)
    row = cells[at]
    following = cells[at + 1 : at + 3]
    if not set(map(plain_name, row)) & KNOWN and len(row) > 1 and all(VALUE.fullmatch(cell) for cell in row[1:5]):
        return Layout(lines[at][0], lines[at][0], delimiter, [], at)
    for after, pair in ((2, (at, at + 1)), (1, (at - 1, at))):  # yfinance: prices and tickers, then "Date" alone
        alone = following[after - 1] if len(following) >= after else []
        if len(alone) > 2 and alone[0] and not any(alone[1:]) and pair[0] >= 0 and len(cells[pair[0]]) == len(row):
            rows = lines[at + after + 1][0] if len(lines) > at + after + 1 else lines[-1][0] + 1
            return Layout(lines[pair[0]][0], rows, delimiter, [cells[each] for each in pair], pair[0])
    return Layout(lines[at][0], lines[at][0] + 1, delimiter, [row], at)


def read_table(source: TextFile, layout: Layout | None = None) -> pd.DataFrame:
    """Return a CSV file as columns of text, indexed by the number of the row in the file.

    Lines with another number of fields are damaged (see `TextFile`). A table without names has the columns 0, 1, …

    Parameters
    ----------
    source : TextFile
        File to read.
    layout : Layout, optional
        Where the table begins (default: looked for).

    Raises
    ------
    InputError
        For a file without a table.
    """
    layout = layout or layout_of(source)
    if layout.above:
        source.notes.append(f"{layout.above} lines above the header were left out")
    one = len(layout.names) == 1
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            # All columns as text: pandas would guess types from the values, and a single damaged value would change its
            # whole column.
            table = pd.read_csv(
                io.BytesIO(source.read()), dtype="str", keep_default_na=False, header=0 if one else None,
                skipinitialspace=True, encoding_errors="replace", sep=layout.delimiter,
                skiprows=(layout.line if one else layout.rows) - 1, on_bad_lines="warn" if source.skips else "error",
            )  # fmt: skip
        except ValueError as error:  # also the parser's errors
            wanted = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
            if wanted:
                source.damaged(int(wanted[2]), b"", f"{wanted[1]} fields as in the first line, not {wanted[3]}")
            text = f"{source.path}: expected a CSV file with the same fields on each line: {str(error).strip()}"
            raise InputError(text, field="path", value=str(source.path)) from None
    for line in re.findall(r"Skipping line (\d+)", " ".join(str(one.message) for one in raised)):
        source.damaged(int(line), b"", "as many fields as in the first line")
    if not isinstance(table.index, pd.RangeIndex):
        table = _without_index(source, table, layout)
    if len(layout.names) == 2:
        table.columns = pd.MultiIndex.from_arrays([[*names][: table.shape[1]] for names in layout.names])
    else:
        table.columns = pd.Index([str(name).strip() for name in table.columns])
    table.index = pd.RangeIndex(len(table))
    source.begins = layout.rows
    if one and len(table.columns) > 1:  # files that were written one after the other into one
        again = (table == list(table.columns)).all(axis=1)
        if again.any():
            source.notes.append(f"{int(again.sum())} repeated header lines were left out")
            table = table[~again]
    short = _too_short(source, table, layout.delimiter.encode())
    return _without(source, table, short, lambda row: f"{table.shape[1]} fields as in the first line, not fewer")


def _without_index(source: TextFile, table: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Return a table whose rows have one field more than its names, of which pandas made an index."""
    if table.index.nlevels == 1:
        if (table.iloc[:, -1] == "").all():  # the lines end with a delimiter
            return table.reset_index().iloc[:, :-1].set_axis(table.columns, axis=1)
        if not read_times(table.index, source.hints.times).wrong.any():  # to_csv(index_label=False)
            return table.reset_index(names="time" if "time" not in table else "unnamed_0")
    fields = table.shape[1]
    more = f"{fields} fields as in the first line, not {fields + table.index.nlevels}"
    raise InputError(f"{source.path}, line {layout.rows}: expected {more}", field="path", rule="columns")


def _too_short(source: TextFile, table: pd.DataFrame, delimiter: bytes) -> NDArray[np.bool_]:
    """Return which rows are of lines with too few fields. Pandas gives them empty ones."""
    short = (table.iloc[:, -1].fillna("") == "").to_numpy(dtype=bool, copy=True)
    if short.any():
        lines = [line for number, line in source.lines() if number >= source.begins]
        for row in np.flatnonzero(short).tolist():
            at = table.index[row]
            # Damaged bytes may look like further ends of lines to pandas.
            short[row] = at >= len(lines) or lines[at].count(delimiter) < table.shape[1] - 1
    return short


def convert(
    source: TextFile,
    table: pd.DataFrame,
    *,
    times: Sequence[str] = (),
    numbers: Sequence[str] = (),
    optional: Sequence[str] = (),
    choices: Mapping[str, Mapping[str, int]] | None = None,
) -> pd.DataFrame:
    """Return a table, of text or of typed columns, with some of its columns as values.

    Rows with other cells are damaged, see `TextFile`.

    Parameters
    ----------
    source : TextFile
        File to read.
    table : DataFrame
        Columns of text or of values.
    times : sequence of str, optional
        Columns that become int64, Unix ns (default: none).
    numbers : sequence of str, optional
        Columns that become float64 (default: none).
    optional : sequence of str, optional
        Columns that become float64, NaN where they are empty (default: none).
    choices : mapping of str to mapping of str to int, optional
        Column → the integers that its texts stand for (default: none).
    """
    made: dict[str, NDArray[Any]] = {}
    wrong: dict[str, NDArray[np.bool_]] = {}
    expected: dict[str, str] = {}
    field, nearest = "path", tuple[str, ...]()
    form = source.hints.times
    try:
        read: dict[str, Times] = {name: read_times(table[name], form) for name in times}
        values = {name: table[name] for name in (*numbers, *optional)}
        decimal = source.hints.decimal or decimal_of(values)
    except InputError as error:
        raise InputError(
            f"{source.path}: {error}", field=error.field, value=error.value, nearest=error.nearest
        ) from None
    for name, one in read.items():
        made[name], wrong[name] = one.ns, one.wrong
        if one.wrong.any():
            expected[name], field, nearest = expected_time(table[name][one.wrong], form)
    if read:
        source.understood |= {"unit": read[times[0]].unit, "zone": form.zone or "UTC"}
    for name, column in values.items():
        made[name], empty = read_numbers(column, decimal)
        wrong[name] = ~np.isfinite(made[name]) & ~(empty if name in optional else np.zeros(len(table), dtype=bool))
        expected[name] = "a number"
    for name, codes in (choices or {}).items():
        found = table[name].map(dict(codes))
        wrong[name] = found.isna().to_numpy()
        made[name] = found.fillna(0).to_numpy(dtype="int64")
        expected[name] = " or ".join(map(str, codes))

    def describe(row: int) -> str:
        name = next(name for name, rows in wrong.items() if rows[row])
        return f"{expected[name]} in the column {name}, not {str(table[name].iloc[row])[:SHOWN]!r}"

    bad = np.logical_or.reduce([np.zeros(len(table), dtype=bool), *wrong.values()])
    left = _without(source, table.assign(**made), bad, describe, field, nearest)
    source.close_notes()
    return left


def decimal_of(columns: Mapping[str, pd.Series]) -> str:
    """Return the sign before the decimals in columns of numbers: "." or ",".

    Parameters
    ----------
    columns : mapping of str to Series
        Columns of text or numbers.

    Raises
    ------
    InputError
        If both are possible, or if the numbers contradict each other.
    """
    signs, unclear = set(), ""
    for column in columns.values():
        if not pd.api.types.is_numeric_dtype(column.dtype):
            texts = column.astype("str")
            texts = texts[texts.str.contains(",", regex=False) | (texts.str.count(r"\.") > 1)].str.strip()
            comma = texts.str.contains(r"\..*,\d*\D*$|^\D?0,\d|,\d{0,2}\D*$|,\d{4,}|\..*\.", regex=True)
            point = texts.str.contains(r",.*\.\d*\D*$|,\d{3},|^\D?0\.\d", regex=True)
            signs |= ({","} if (comma & ~point).any() else set()) | ({"."} if (point & ~comma).any() else set())
            neither = texts[~comma & ~point]
            unclear = unclear or (str(neither.iloc[0]) if len(neither) else "")
    if len(signs) > 1 or (unclear and not signs):
        text = "some numbers have a decimal comma and others one of thousands"
        if unclear:
            text = f"the number {unclear!r} could be {unclear.replace(',', '')} or {unclear.replace(',', '.')}"
        raise InputError(text, field="decimal", rule="one reading", value=unclear, nearest=(".", ","))
    return signs.pop() if signs else "."


def read_numbers(column: pd.Series, decimal: str = ".") -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return a column as float64, NaN for what is no number, and which cells are empty.

    Parameters
    ----------
    column : Series
        Numbers, or texts of them: with separators of thousands, a currency sign, or a K, M or B for a rounded one.
    decimal : str, optional
        Sign before the decimals (default: ".").
    """
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        values = column.to_numpy(dtype="float64", na_value=np.nan)
        return values, np.isnan(values)
    texts = column.astype(object).where(column.notna(), "").astype("str").str.strip()
    empty = texts.str.lower().isin(["", "-", "nan", "none", "null", "na", "n/a"]).to_numpy(dtype=bool)
    if decimal == ",":
        texts = texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(texts, errors="coerce")
    # Only what is no plain number: millions of cells are read here.
    rest = (numbers.isna() & ~empty).to_numpy()
    if rest.any():
        plain = texts[rest].str.replace(r"(?<=\d)[,\s'’_](?=\d{3})|^[$€£]\s*", "", regex=True)
        letter = plain.str.slice(-1).str.upper().map(LETTERS)
        plain = plain.where(letter.isna(), plain.str.slice(0, -1))
        numbers = numbers.astype("float64")
        numbers[rest] = pd.to_numeric(plain, errors="coerce") * letter.fillna(1.0)
    return numbers.to_numpy(dtype="float64"), empty


def _without(
    source: TextFile,
    table: pd.DataFrame,
    bad: NDArray[np.bool_],
    describe: Callable[[int], str],
    field: str = "path",
    nearest: tuple[str, ...] = (),
) -> pd.DataFrame:
    """Return a table without its damaged rows, of which the first one is looked up in the file."""
    rows = np.flatnonzero(bad)
    if not len(rows):
        return table
    first = int(rows[0])
    number, line = int(table.index[first]) + 1, b""
    if source.begins:
        lines = (pair for pair in source.lines() if pair[0] >= source.begins)
        number, line = next(islice(lines, int(table.index[first]), None), (source.begins + first, b""))
    if source.skips and bad.all():
        text = f'{source.path}: damaged="skip" would leave none of its {len(bad):,} rows. The first: '
        raise InputError(f"{text}expected {describe(first)}", field=field, value=str(source.path), nearest=nearest)
    for _ in rows:
        source.damaged(number, line, describe(first), field, nearest)
    return table[~bad]
