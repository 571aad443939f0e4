"""Files of market data: opened by their compression, read line by line, with errors that name file and line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import pandas as pd

from ....errors import InputError
from ....extras import need
from ....progress import Progress

Damaged = Literal["raise", "skip"]
Levels = list[tuple[str | float, str | float]]
"""(price, quantity) of each level of one side, as in messages."""
INFINITE = float("inf")
SHOWN = 80
"""Characters of a damaged line in its error."""
CHUNK = 1 << 20
BOM = b"\xef\xbb\xbf"
DAMAGE = (EOFError, OSError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a damaged, cut off or encrypted compressed file raises."""


class TextFile:
    """One file of lines, plain or compressed (.gz, .bz2, .xz, .zst, .zip with one member).

    `skip` leaves damaged lines out, counted in `notes`, in place of raising InputError at the first one.
    """

    def __init__(self, path: Path, *, damaged: Damaged = "raise", progress: bool | None = None) -> None:
        self.path = path
        self.notes: list[str] = []
        self.begins = 1
        """Line of the first row of a table."""
        self.skips = damaged == "skip"
        self._shown = progress
        self._damaged = 0
        self._first = ""
        self._broken = False

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number from 1, line without its end); blank lines are left out."""
        read, rest = 0, b""
        for part in self._parts():
            if not read and not rest:
                part = part.removeprefix(BOM)
            *whole, rest = (rest + part).split(b"\n")
            for number, line in enumerate(whole, read + 1):
                if line and not line.isspace():
                    yield number, line.rstrip(b"\r")
            read += len(whole)
        if rest and not rest.isspace() and not self._broken:
            yield read + 1, rest.rstrip(b"\r")
        self.close_notes()

    def read(self) -> bytes:
        """Return the whole text, decompressed; of a damaged file that may be skipped, its lines up to there."""
        text = b"".join(self._parts())
        return text[: text.rfind(b"\n") + 1] if self._broken else text

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
            self.notes.append(f"{lines} left out; the first: {self._first}")
            self._damaged = 0

    def damaged(self, number: int, line: bytes, expected: str) -> None:
        """Raise InputError that names the line and what was expected there, or count it."""
        got = line[:SHOWN].decode(errors="replace") + ("…" if len(line) > SHOWN else "")
        text = f"{self.path}, line {number}: expected {expected}" + (f"; got {got!r}" if got else "")
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
            if start[:2] == b"\x1f\x8b":
                with gzip.open(raw) as stream:
                    yield stream  # type: ignore[misc]
            elif start[:4] == b"PK\x03\x04":
                with zipfile.ZipFile(raw) as archive:
                    named = [item for item in archive.infolist() if not item.is_dir()]
                    members = [item for item in named if not item.filename.startswith("__MACOSX/")]
                    if len(members) != 1:
                        found = ", ".join(item.filename for item in members) or "none"
                        raise InputError(f"{self.path}: expected one file in the archive; found {found}", field="path")
                    with archive.open(members[0]) as stream:
                        yield stream
            elif start[:4] == b"\x28\xb5\x2f\xfd":
                need("pyarrow")
                import pyarrow as pa

                with pa.CompressedInputStream(raw, "zstd") as packed, io.BufferedReader(packed) as stream:
                    yield stream
            elif start[:3] == b"BZh":
                with bz2.open(raw) as stream:
                    yield stream
            elif start == b"\xfd7zXZ\x00":
                with lzma.open(raw) as stream:
                    yield stream
            else:
                yield raw

    def head(self, size: int = 4096) -> bytes:
        """Return the first bytes of the decompressed file. Raises InputError if there are none for it is damaged."""
        text = b""
        for part in self._parts():
            text += part
            if len(text) >= size:
                break
        return text[:size]


class Columns:
    """Events as they are read: one list for each field, so that appending is cheap."""

    def __init__(self) -> None:
        self.fields: dict[str, list[Any]] = {
            name: [] for name in ("exchange_ns", "local_ns", "kind", "side", "price", "quantity", "id", "previous")
        }

    def add(
        self,
        exchange_ns: int,
        local_ns: int,
        kind: int,
        side: int,
        price: float,
        quantity: float,
        id: int = 0,
        previous: int = 0,
    ) -> None:
        """Append one event. Raises ValueError for a price or quantity that is not finite, and an id beyond 64 bits."""
        if not -INFINITE < price + quantity < INFINITE or id >> 63:
            raise ValueError("a price or quantity is not finite, or an id too large")
        row = (exchange_ns, local_ns, kind, side, price, quantity, id, previous)
        for values, value in zip(self.fields.values(), row, strict=True):
            values.append(value)

    def add_levels(
        self, exchange_ns: int, local_ns: int, kind: int, sides: tuple[Levels, Levels], id: int = 0, previous: int = 0
    ) -> None:
        """Append the levels of one message, bids first. Raises ValueError for what is no finite number."""
        bids, asks = sides
        fields, count = self.fields, len(bids) + len(asks)
        prices = [float(price) for price, _ in bids] + [float(price) for price, _ in asks]
        quantities = [float(quantity) for _, quantity in bids] + [float(quantity) for _, quantity in asks]
        if not -INFINITE < sum(prices) + sum(quantities) < INFINITE:
            raise ValueError("a price or quantity is not finite")
        fields["exchange_ns"] += [exchange_ns] * count
        fields["local_ns"] += [local_ns] * count
        fields["kind"] += [kind] * count
        fields["side"] += [1] * len(bids) + [-1] * len(asks)
        fields["price"] += prices
        fields["quantity"] += quantities
        fields["id"] += [id] * count
        fields["previous"] += [previous] * count

    def truncate(self, length: int) -> None:
        """Forget what was appended after the first `length` events."""
        for values in self.fields.values():
            del values[length:]

    def __len__(self) -> int:
        return len(self.fields["kind"])


def stamped(line: bytes) -> tuple[int, bytes]:
    """Return the local time before a JSON message (ns; 0: none) and the message. Raises ValueError for other text."""
    at = line.find(b"{")
    if line[max(at - 1, 0) : at] == b"[":
        at -= 1
    if at <= 0:
        return 0, line
    return to_ns(line[:at].strip(b" \t,;:|").decode()), line[at:]


def to_ns(text: int | str) -> int:
    """Return a time in s, ms, µs or ns since 1970, recognised by its size, or as ISO text, in ns.

    Raises ValueError for other text, and for times before 1973 or after 2262.
    """
    if isinstance(text, str) and not text.isdigit():
        whole, _, rest = text.partition(".")
        if whole.isdigit() and rest.isdigit():
            scale = to_ns(whole) // int(whole)
            return int(whole) * scale + round(float(f"0.{rest}") * scale)
        return int(pd.Timestamp(text, tz="UTC").as_unit("ns").value)
    number = int(text)
    for scale in (1_000_000_000, 1_000_000, 1_000, 1):
        if 10**17 <= number * scale < 2**63:
            return number * scale
    raise ValueError(f"{number} is no time since 1970")
