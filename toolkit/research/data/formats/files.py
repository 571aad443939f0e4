"""Files of market data: opened by their compression, read line by line, with errors that name file and line."""

from __future__ import annotations

import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from ....client.io.progress import Progress
from ....errors import InputError
from ....extras import need

Damaged = Literal["raise", "skip"]
SHOWN = 80
"""Characters of a damaged line in its error."""


class TextFile:
    """One file of lines, plain or compressed (.gz, .zst, .xz, .zip with one member).

    `skip` leaves damaged lines out, counted in `notes`, in place of raising InputError at the first one.
    """

    def __init__(self, path: Path, *, damaged: Damaged = "raise", progress: bool | None = None) -> None:
        self.path = path
        self.notes: list[str] = []
        self._skip = damaged == "skip"
        self._shown = progress
        self._damaged = 0
        self._first = ""

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number from 1, line without its end); empty lines are left out."""
        bar = Progress(f"reading {self.path.name}", self._shown)
        number = 0
        try:
            with self.open() as stream:
                for number, line in enumerate(stream, 1):
                    if line := line.rstrip(b"\r\n"):
                        yield number, line
                    if number % 10_000 == 0:
                        bar.add(10_000)
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
            if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
                raise
            self.damaged(number + 1, b"", f"more data, but the compressed file is damaged or cut off ({error})")
        finally:
            bar.close()
        if self._damaged:
            self.notes.append(f"{self._damaged} damaged lines were left out; the first: {self._first}")

    def damaged(self, number: int, line: bytes, expected: str) -> None:
        """Raise InputError that names the line and what was expected there, or count it."""
        got = line[:SHOWN].decode(errors="replace") + ("…" if len(line) > SHOWN else "")
        text = f"{self.path}, line {number}: expected {expected}" + (f"; got {got!r}" if got else "")
        if not self._skip:
            raise InputError(text, field="path", rule=expected, value=str(self.path))
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
                    members = [item for item in archive.infolist() if not item.is_dir()]
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
            elif start == b"\xfd7zXZ\x00":
                with lzma.open(raw) as stream:
                    yield stream
            else:
                yield raw

    def head(self, size: int = 4096) -> bytes:
        """Return the first bytes of the decompressed file; none if they can't be read."""
        try:
            with self.open() as stream:
                return stream.read(size)
        except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile):
            return b""


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
        """Append one event."""
        row = (exchange_ns, local_ns, kind, side, price, quantity, id, previous)
        for values, value in zip(self.fields.values(), row, strict=True):
            values.append(value)

    def add_levels(
        self,
        exchange_ns: int,
        local_ns: int,
        kind: int,
        sides: tuple[list[tuple[str, str]], list[tuple[str, str]]],
        id: int = 0,
        previous: int = 0,
    ) -> None:
        """Append the levels of one message, bids first, given as texts. Raises ValueError for what is no number."""
        bids, asks = sides
        fields, count = self.fields, len(bids) + len(asks)
        prices = [float(price) for price, _ in bids] + [float(price) for price, _ in asks]
        quantities = [float(quantity) for _, quantity in bids] + [float(quantity) for _, quantity in asks]
        fields["exchange_ns"] += [exchange_ns] * count
        fields["local_ns"] += [local_ns] * count
        fields["kind"] += [kind] * count
        fields["side"] += [1] * len(bids) + [-1] * len(asks)
        fields["price"] += prices
        fields["quantity"] += quantities
        fields["id"] += [id] * count
        fields["previous"] += [previous] * count

    def __len__(self) -> int:
        return len(self.fields["kind"])
