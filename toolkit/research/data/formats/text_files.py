"""Files of market data: opened by their compression, read by lines or as tables. Errors name file and line."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ....extras import need
from ....numerals import epoch_ns
from ....progress import Progress
from ..tables.times import TimeForm, time_form

SHOWN = 80
"""Characters of a damaged line in its error."""
CHUNK = 1 << 20
PART = 1 << 21
"""Bytes that a run reads of a file of lines at a time."""
LONGEST = 1 << 23
"""Bytes of a line of a file that a run reads in parts. Decoded, a document of this length takes ten times as much."""
BOM = b"\xef\xbb\xbf"
DAMAGE = (EOFError, OSError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""Errors of reading a compressed file that is damaged, cut off or encrypted."""
COMMENT = re.compile(rb"\s*(#|//|https?:)")

CUT = "the last line has no line end. If the file is incomplete, its last value may be too"


class Hints(NamedTuple):
    """What the reader of a table can't know.

    Attributes
    ----------
    columns : mapping of str to str or None
        Our name → the table's, of columns that can't be guessed (default: all are guessed).
    times : TimeForm
        Form of the times (default: recognised, of any year).
    decimal : str or None
        "." or ",", the sign before the decimals of a number (default: recognised).
    """

    columns: Mapping[str, str] | None = None
    times: TimeForm = TimeForm()
    decimal: str | None = None


class TextFile:
    """One source of data: a file of lines, plain or compressed, a table in a file of another kind, or a frame.

    Files may be compressed as .gz, .bz2, .xz, .zst, .lz4 or .zip with one member.

    Parameters
    ----------
    path : Path
        File to read, or the name of a frame in errors.
    hints : Hints, optional
        What the reader of a table can't know (default: nothing).
    skips : bool, optional
        True leaves damaged lines out, counted in `notes`. False raises InputError at the first one (default: False).
    progress : bool, optional
        True shows a progress bar immediately, False never (default: when reading takes long).

    Attributes
    ----------
    notes : list of str
        Notes on what was left out, one sentence each.
    understood : dict of str to str
        What the reader of a table took its columns for: unit of the times, their zone, the column of the volume.
    left_out : int
        Number of damaged lines or rows that were left out.
    """

    def __init__(
        self, path: Path, hints: Hints | None = None, *, skips: bool = False, progress: bool | None = None
    ) -> None:
        self.path = path
        self.hints = hints or Hints(times=time_form())
        self.skips = skips
        self.notes: list[str] = []
        self.understood: dict[str, str] = {}
        self.begins = 0
        """Line of the first row of a table of lines, 0 for tables of other kinds, whose rows are counted from 1."""
        self.left_out = 0
        self.rows: Any = None
        """Rows of a part that are no text: an Arrow table or an array."""
        self.before: dict[str, Any] = {}
        """Facts of the parts before that the reader of a later part needs, by the reader's names."""
        self._shown = progress
        self._first = ""
        self._broken = False

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number from 1, line without its end). Blank lines are left out."""
        for first, block in self.blocks():
            for number, line in enumerate(block.split(b"\n"), first):
                if line and not line.isspace():
                    yield number, line.rstrip(b"\r")

    def blocks(self, *, lined: bool = True, longest: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line from 1, whole lines) of about CHUNK bytes, so that memory stays bounded.

        Parameters
        ----------
        lined : bool, optional
            False yields the whole text in one block (default: True).
        longest : int, optional
            Most bytes of a line or of the whole text, which is an InputError beyond (default: any).
        """
        number, rest = 1, b""
        for part in self._parts():
            whole, end, rest = (rest + part).rpartition(b"\n") if lined else (b"", b"", rest + part)
            if end:
                yield number, whole
                number += whole.count(b"\n") + 1
            if longest is not None and len(rest) > longest:
                text = f"{self.path}: its rows are not on separate lines, so a run can't read it in parts"
                raise InputError(text, field="data", rule="lines", value=str(self.path))
        if rest and not rest.isspace() and not self._broken:
            self._note_cut(cut=number > 1)
            yield number, rest

    def parts(self, head_lines: int = 0, *, lined: bool = True) -> Iterator[TextPart]:
        """Yield the file in parts of about PART bytes. Each part is read as a separate file.

        Parameters
        ----------
        head_lines : int, optional
            Number of lines at the beginning that each part repeats, such as the names of columns (default: 0).
        lined : bool, optional
            Whether the rows are on separate lines. Otherwise the file is one part (default: True).

        Raises
        ------
        InputError
            For a line or a part of more than `LONGEST` bytes.
        """
        head, begins, texts = b"", 1, list[bytes]()
        # Compressed files come in small blocks, of which each would be read as a table.
        for first, text in chain(self.blocks(lined=lined, longest=LONGEST), ((0, b""),)):
            if first == 1 and head_lines:
                *lines, text = (text + b"\n").split(b"\n", head_lines)
                head, first = b"".join(line + b"\n" for line in lines), head_lines + 1
            if texts and (not first or sum(map(len, texts)) + len(text) > PART):
                yield TextPart(self, head, begins, b"\n".join(texts))
                texts.clear()
            if texts or (text and not text.isspace()):
                begins = begins if texts else first
                texts.append(text)

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
        number, self.begins = 1, self.begins or 1
        try:
            with self.open() as stream:
                decode: Any = None
                while part := stream.read1(CHUNK):  # type: ignore[attr-defined]  # what there is, of a file cut off
                    if decode is None:  # "Unicode text" of spreadsheets and of MetaTrader is UTF-16
                        wide = part.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
                        decode = codecs.getincrementaldecoder("utf-16")("replace").decode if wide else bytes
                        part = part.removeprefix(BOM)
                    part = decode(part) if decode is bytes else decode(part).encode()
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
        if self._first:
            lines = "1 damaged line was" if self.left_out == 1 else f"{self.left_out} damaged lines were"
            self.notes.append(f"{lines} left out, the first: {self._first}")
            self._first = ""

    def damaged(
        self, number: int, line: bytes, expected: str, field: str = "path", nearest: tuple[str, ...] = ()
    ) -> None:
        """Raise InputError that names the line and what was expected there, or count it.

        Parameters
        ----------
        number : int
            Number of the line, from 1.
        line : bytes
            The line, empty if it is not known.
        expected : str
            Description of a correct line, as part of the error's sentence.
        field : str, optional
            Argument of `load` that would read the line (default: "path", none).
        nearest : tuple of str, optional
            Values of that argument (default: none).
        """
        got = line[:SHOWN].decode(errors="replace") + ("…" if len(line) > SHOWN else "")
        place = "line" if self.begins else "row"
        text = f"{self.path}, {place} {number}: expected {expected}" + (f", but got {got!r}" if got else "")
        if not self.skips:
            raise InputError(text, field=field, rule=expected, value=str(self.path), nearest=nearest)
        self.left_out += 1
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


class TextPart(TextFile):
    """Some lines of a file, after those that each part repeats. Its lines are counted from 1, errors name the file's.

    Parameters
    ----------
    whole : TextFile
        The file.
    head : bytes
        Lines at the beginning of the file with their ends, empty for none.
    first : int
        Number of the first line of the part in the file, from 1.
    text : bytes
        Lines of the part.
    """

    def __init__(self, whole: TextFile, head: bytes, first: int, text: bytes) -> None:
        super().__init__(whole.path, whole.hints, skips=whole.skips, progress=False)
        self.before = whole.before
        self._text = head + text
        self._above = first - 1 - head.count(b"\n")

    def _parts(self) -> Iterator[bytes]:
        self.begins = self.begins or 1
        yield self._text

    def damaged(
        self, number: int, line: bytes, expected: str, field: str = "path", nearest: tuple[str, ...] = ()
    ) -> None:
        """Raise InputError that names the line and what was expected there, or count it.

        Parameters
        ----------
        number : int
            Number of the line in the part, from 1.
        line : bytes
            The line, empty if it is not known.
        expected : str
            Description of a correct line, as part of the error's sentence.
        field : str, optional
            Argument of `load` that would read the line (default: "path", none).
        nearest : tuple of str, optional
            Values of that argument (default: none).
        """
        super().damaged(number + self._above, line, expected, field, nearest)


@contextmanager
def _zip_member(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """Open the one file of a zip archive. Raises InputError when it has another number of them."""
    with zipfile.ZipFile(raw) as archive:
        named = [item for item in archive.infolist() if not item.is_dir()]
        members = [item for item in named if not item.filename.startswith("__MACOSX/")]
        if len(members) != 1:
            found = ", ".join(item.filename for item in members) or "none"
            text = f"{raw.name}: expected one file in the archive, but found {found}. Unpack it, and load its folder"
            raise InputError(text, field="path", rule="known form")
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
