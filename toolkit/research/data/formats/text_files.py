"""Files of market data: opened by their compression, read by lines or as tables. Errors name file and line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ....extras import need
from ....numerals import epoch_ns
from ....progress import Progress

SHOWN = 80
"""Characters of a damaged line in its error."""
CHUNK = 1 << 20
BOM = b"\xef\xbb\xbf"
DAMAGE = (EOFError, OSError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""Errors of reading a compressed file that is damaged, cut off or encrypted."""
DELIMITERS = (",", ";", "\t", "|")
COMMENT = re.compile(rb"\s*(#|//|https?:)")
A_TIME = "a time, as ISO text or a number since 1970"
LAST_NS = 2**63 - 1
DAY = r"(19|20)\d\d[01]\d[0-3]\d"
"""A day without separators. As s since 1970 it would be one of that year."""


CUT = "the last line has no line end. If the file is incomplete, its last value may be too"


class TextFile:
    """One file of lines, plain or compressed (.gz, .bz2, .xz, .zst, .lz4, .zip with one member).

    Parameters
    ----------
    path : Path
        File to read.
    columns : mapping of str to str, optional
        Our name → the file's, of a table's columns that can't be guessed (default: all are guessed).
    skips : bool, optional
        True leaves damaged lines out, counted in `notes`. False raises InputError at the first one (default: False).
    progress : bool, optional
        True shows a progress bar immediately, False never (default: when reading takes long).

    Attributes
    ----------
    notes : list of str
        Notes on what was left out, one sentence each.
    """

    def __init__(
        self, path: Path, columns: Mapping[str, str] | None = None, *, skips: bool = False, progress: bool | None = None
    ) -> None:
        self.path = path
        self.columns = columns
        """Our name → the file's, of a table's columns that can't be guessed."""
        self.skips = skips
        self.notes: list[str] = []
        self.begins = 1
        """Line of the first row of a table."""
        self._shown = progress
        self._damaged = 0
        self._first = ""
        self._broken = False

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number from 1, line without its end). Blank lines are left out."""
        for first, block in self.blocks():
            for number, line in enumerate(block.split(b"\n"), first):
                if line and not line.isspace():
                    yield number, line.rstrip(b"\r")
        self.close_notes()

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line from 1, whole lines) of about CHUNK bytes, so that memory stays bounded."""
        number, rest = 1, b""
        for part in self._parts():
            if number == 1 and not rest:
                part = part.removeprefix(BOM)
            whole, end, rest = (rest + part).rpartition(b"\n")
            if end:
                yield number, whole
                number += whole.count(b"\n") + 1
        if rest and not rest.isspace() and not self._broken:
            self._note_cut(cut=number > 1)
            yield number, rest

    def read(self) -> bytes:
        """Return the whole text, decompressed. If damage may be skipped, return the lines before it."""
        text = b"".join(self._parts())
        whole = text.rfind(b"\n") + 1
        self._note_cut(cut=0 < whole < len(text) and not self._broken)
        return text[:whole] if self._broken else text

    def _note_cut(self, *, cut: bool) -> None:
        """Say in `notes` that the last line has no end: a file that was cut off there shows it in no other way."""
        if cut and CUT not in self.notes:
            self.notes.append(CUT)

    def _parts(self) -> Iterator[bytes]:
        """Yield the decompressed text in parts, up to where the file is damaged."""
        bar = Progress(f"reading {self.path.name}", self._shown)
        number = 1
        try:
            with self.open() as stream:
                while part := stream.read1(CHUNK):  # type: ignore[attr-defined]  # what there is, of a file cut off
                    yield part
                    count = part.count(b"\n")
                    number += count
                    bar.add(count)
        except DAMAGE as error:
            if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
                raise
            if not self._broken:  # a file that is read twice is damaged once
                self._broken = True
                self.damaged(number, b"", f"more data, but the compressed file is damaged or cut off ({error})")
        finally:
            bar.close()

    def close_notes(self) -> None:
        """Say in `notes` how many lines were left out, at the end of reading."""
        if self._damaged:
            lines = "1 damaged line was" if self._damaged == 1 else f"{self._damaged} damaged lines were"
            self.notes.append(f"{lines} left out, the first: {self._first}")
            self._damaged = 0

    def damaged(self, number: int, line: bytes, expected: str) -> None:
        """Raise InputError that names the line and what was expected there, or count it.

        Parameters
        ----------
        number : int
            Number of the line, from 1.
        line : bytes
            The line, empty if it is not known.
        expected : str
            Description of a correct line, as part of the error's sentence.
        """
        got = line[:SHOWN].decode(errors="replace") + ("…" if len(line) > SHOWN else "")
        text = f"{self.path}, line {number}: expected {expected}" + (f", but got {got!r}" if got else "")
        if not self.skips:
            hint = '. damaged="skip" leaves out what is damaged, and says so'
            raise InputError(text + hint, field="path", rule=expected, value=str(self.path))
        self._damaged += 1
        self._first = self._first or text

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file for reading, decompressed."""
        with self.path.open("rb") as raw:
            start = raw.read(6)
            raw.seek(0)
            opened = next((each for begins, each in OPENERS.items() if start.startswith(begins)), nullcontext)
            with opened(raw) as stream:
                yield stream

    def head(self, size: int = 4096) -> bytes:
        """Return the first bytes of the decompressed file.

        Parameters
        ----------
        size : int, optional
            Number of bytes (default: 4,096).

        Raises
        ------
        InputError
            If there are none because the file is damaged.
        """
        text = b""
        for part in self._parts():
            text += part
            if len(text) >= size:
                break
        return text[:size]


@contextmanager
def _zip_member(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """Open the one file of a zip archive. Raises InputError when it has another number of them."""
    with zipfile.ZipFile(raw) as archive:
        named = [item for item in archive.infolist() if not item.is_dir()]
        members = [item for item in named if not item.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            found = ", ".join(item.filename for item in members) or "none"
            raise InputError(f"{raw.name}: expected one file in the archive, but found {found}", field="path")
        with archive.open(members[0]) as stream:
            yield stream


@contextmanager
def _by_arrow(codec: str, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    need("pyarrow")
    import pyarrow as pa

    with pa.CompressedInputStream(raw, codec) as packed, io.BufferedReader(packed) as stream:
        yield stream


OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"PK\x03\x04": _zip_member,
    b"\x28\xb5\x2f\xfd": partial(_by_arrow, "zstd"),
    b"\x04\x22\x4d\x18": partial(_by_arrow, "lz4"),
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
"""First bytes of a compressed file → what opens it. Other files are plain."""


def first_line(source: TextFile) -> tuple[bytes, int]:
    """Return the first line that is no comment, and its number (nothing and 0 for an empty file).

    Parameters
    ----------
    source : TextFile
        File to read.
    """
    for number, line in source.lines():
        if not COMMENT.match(line):
            return line, number
    return b"", 0


def delimiter_of(line: bytes) -> str:
    """Return what separates the fields of a line: the delimiter that occurs most often in it.

    Parameters
    ----------
    line : bytes
        Header, or first row.
    """
    text = line.decode(errors="replace")
    return max(DELIMITERS, key=text.count)


def read_table(source: TextFile, *, header: bool = True) -> pd.DataFrame:
    """Return a CSV file as columns of text, indexed by the number of the row in the file.

    Lines with another number of fields are damaged (see `TextFile`).

    Parameters
    ----------
    source : TextFile
        File to read.
    header : bool, optional
        Whether the first line has the names of the columns (default: True).

    Raises
    ------
    InputError
        For a file without a table.
    """
    first, number = first_line(source)
    if not first:
        text = f"{source.path}, line 1: expected a header line, but the file is empty"
        raise InputError(text, field="path", value=str(source.path))
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            # All columns as text: pandas would guess types from the values, and a single damaged value would change its
            # whole column.
            table = pd.read_csv(
                io.BytesIO(source.read()), dtype="str", keep_default_na=False, header=0 if header else None,
                skipinitialspace=True, encoding="utf-8-sig", encoding_errors="replace", sep=delimiter_of(first),
                skiprows=number - 1, on_bad_lines="warn" if source.skips else "error",
            )  # fmt: skip
        except ValueError as error:  # also the parser's errors
            wanted = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
            if wanted:
                source.damaged(int(wanted[2]), b"", f"{wanted[1]} fields as in the first line, not {wanted[3]}")
            text = f"{source.path}: expected a CSV file with the same fields on each line: {str(error).strip()}"
            raise InputError(text, field="path", value=str(source.path)) from None
    for line in re.findall(r"Skipping line (\d+)", " ".join(str(one.message) for one in raised)):
        source.damaged(int(line), b"", "as many fields as in the first line")
    if not isinstance(table.index, pd.RangeIndex):  # lines with more fields: pandas takes the first for an index
        if table.index.nlevels > 1 or (table.iloc[:, -1] != "").any():
            fields = table.shape[1]
            more = f"{fields} fields as in the first line, not {fields + table.index.nlevels}"
            text = f"{source.path}, line {number + 1}: expected {more}"
            raise InputError(text, field="path", rule="columns")
        table = table.reset_index().iloc[:, :-1].set_axis(table.columns, axis=1)  # the lines end with a delimiter
    table.columns = pd.Index([str(name).strip() for name in table.columns])
    table.index = pd.RangeIndex(len(table))
    source.begins = number + 1 if header else number
    short = _too_short(source, table, delimiter_of(first).encode())
    return _without(source, table, short, lambda row: f"{table.shape[1]} fields as in the first line, not fewer")


def _too_short(source: TextFile, table: pd.DataFrame, delimiter: bytes) -> NDArray[np.bool_]:
    """Return which rows are of lines with too few fields. Pandas gives them empty ones."""
    short = (table.iloc[:, -1].fillna("") == "").to_numpy(dtype=bool, copy=True)
    if short.any():
        lines = (line for number, line in source.lines() if number >= source.begins)
        for row, line in zip(range(len(table)), lines, strict=False):
            short[row] &= line.count(delimiter) < table.shape[1] - 1
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
    """Return a table of `read_table` with some of its columns as values.

    Rows with other texts are damaged, see `TextFile`.

    Parameters
    ----------
    source : TextFile
        File to read.
    table : DataFrame
        Columns of text.
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
    wrong: dict[str, tuple[NDArray[np.bool_], str]] = {}
    for name in times:
        made[name], bad = times_of(table[name])
        wrong[name] = bad, A_TIME
    for name in (*numbers, *optional):
        made[name] = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype="float64")
        may_be = (table[name] == "").to_numpy() if name in optional else np.zeros(len(table), dtype=bool)
        wrong[name] = ~np.isfinite(made[name]) & ~may_be, "a number"
    for name, codes in (choices or {}).items():
        found = table[name].map(dict(codes))
        wrong[name] = found.isna().to_numpy(), " or ".join(codes)
        made[name] = found.fillna(0).to_numpy(dtype="int64")

    def describe(row: int) -> str:
        name, expected = next((name, expected) for name, (rows, expected) in wrong.items() if rows[row])
        return f"{expected} in the column {name}, not {str(table[name].iloc[row])[:SHOWN]!r}"

    bad = np.logical_or.reduce([rows for rows, _ in wrong.values()])
    left = _without(source, table.assign(**made), bad, describe)
    source.close_notes()
    return left


def _without(
    source: TextFile, table: pd.DataFrame, bad: NDArray[np.bool_], describe: Callable[[int], str]
) -> pd.DataFrame:
    """Return a table without its damaged rows, of which the first one is looked up in the file."""
    rows = np.flatnonzero(bad)
    if not len(rows):
        return table
    first = int(rows[0])
    lines = (pair for pair in source.lines() if pair[0] >= source.begins)
    number, line = next(islice(lines, int(table.index[first]), None), (source.begins + first, b""))
    for _ in rows:
        source.damaged(number, line, describe(first))
    return table[~bad]


def times_of(texts: pd.Series) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return times as int64 ns, and which ones are none.

    Parameters
    ----------
    texts : Series
        Numbers since 1970 (s, ms, µs, ns), or ISO text, UTC.

    Returns
    -------
    tuple of (array of int64, array of bool)
        Unix ns, 0 for what is no time, and whether it is none.
    """
    texts = texts.astype("str").str.strip()
    # Bounded: a longer number is no time, and one damaged exponent could ask for a text of gigabytes.
    numeric = texts.str.fullmatch(r"\d{1,30}(\.\d+)?([eE]\+?\d{1,2})?").to_numpy(dtype=bool)
    # 20260131 is a day of 2026, not a second of 1970.
    numeric = numeric & ~texts.str.fullmatch(DAY).to_numpy(dtype=bool)
    if numeric.sum() * 2 > len(texts):
        return _numeric_times(texts, numeric)
    plain = texts.str.replace(r"\s*(UTC|GMT)$", "", regex=True)
    dotted = plain.str.fullmatch(r"\d{4}[./]\d.*").to_numpy(dtype=bool)
    plain = plain.mask(dotted, plain.str.replace(r"[./]", "-", n=2, regex=True))
    stamps = pd.to_datetime(plain, utc=True, errors="coerce", format="ISO8601")
    wrong = (stamps.isna() | ~stamps.dt.year.between(1678, 2261)).to_numpy(dtype=bool)
    stamps = stamps.mask(wrong, pd.Timestamp(0, tz="UTC"))
    return np.asarray(stamps.astype("datetime64[ns, UTC]").astype("int64"), dtype=np.int64), wrong


def _numeric_times(texts: pd.Series, numeric: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    texts = texts.where(numeric, "0")
    if texts.str.contains("[eE]").any():
        texts = texts.map(lambda text: format(Decimal(text), "f"))
    # One unit for the whole column: the median is not moved by a few damaged values.
    size = float(np.median(texts.to_numpy(dtype="str")[numeric].astype("f8")))
    power = next((power for power in (9, 6, 3, 0) if size * 10**power < 10**19), 0)
    parts = texts.str.partition(".")  # as text, because float64 can't hold ns since 1970
    digits = (parts[0] + parts[2].str.slice(0, power).str.pad(power, "right", "0")).str.lstrip("0")
    length, last = digits.str.len(), str(LAST_NS)
    wrong = ~numeric | ((length > len(last)) | ((length == len(last)) & (digits > last))).to_numpy(dtype=bool)
    return np.where(wrong | (length == 0), "0", digits.to_numpy(dtype=object)).astype("i8"), wrong


def hashed(texts: pd.Series) -> NDArray[np.int64]:
    """Return ids as integers: numbers as they are, other text as 63 bits of its hash, 0 for none.

    Parameters
    ----------
    texts : Series
        Ids.
    """
    texts = texts.astype("str")
    if texts.str.fullmatch(r"\d{1,18}").all():
        return texts.to_numpy().astype("i8")
    return np.array([hash_of(text) for text in texts], dtype="i8")


def hash_of(text: str) -> int:
    """Return 63 bits of the hash of an id, 0 for none.

    Parameters
    ----------
    text : str
        Id, "" for none.
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1 if text else 0


def to_ns(text: int | str) -> int:
    """Return a time in ns.

    Parameters
    ----------
    text : int or str
        Time in s, ms, µs or ns since 1970, recognised by its size, or ISO text (UTC).

    Raises
    ------
    ValueError
        For other text, and for times before 1973 or after 2262.
    """
    if isinstance(text, str) and not text.isdigit():
        whole, _, rest = text.partition(".")
        if whole.isdigit() and rest.isdigit():
            scale = to_ns(whole) // int(whole)
            return int(whole) * scale + round(float(f"0.{rest}") * scale)
        return int(pd.Timestamp(text, tz="UTC").as_unit("ns").value)
    return epoch_ns(int(text))
