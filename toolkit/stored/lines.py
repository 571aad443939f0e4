"""Files that grow by a line at a time, each sealed: what a crash or a flipped bit spoils is one line."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import msgspec

from ..errors import warn
from .seals import FileKind, Header, is_whole, sealed

_OPEN_SEAL = b',"seal":"' + b"0" * 32 + b'"}'


class LineFile:
    """Appends JSON objects to a file and reads them again. The first two lines are the header, in case one is damaged.

    Opening reads the lines that are there. One that is damaged, or cut off by a crash, is left out, with a DataWarning
    that counts them.

    Parameters
    ----------
    path : Path
        Path of the file, which is made if it is missing.
    kind : FileKind
        Kind of the file.
    identity : str, optional
        Identity of the market or other subject of the file (default: ""). None takes that of the file.

    Raises
    ------
    StoredFileError
        For a file of another kind, version or market.
    """

    def __init__(self, path: Path, kind: FileKind, identity: str | None = "") -> None:
        self.path = path
        self._kind, self.identity = kind, identity or ""
        self.lines: list[dict[str, Any]] = []
        self._file: Any = None
        self._ends_whole = True
        if path.exists() and path.stat().st_size:
            self._read(path.read_bytes(), identity)

    def _read(self, raw: bytes, identity: str | None) -> None:
        lines = raw.split(b"\n")
        decoded = [_decoded(line) for line in lines]
        header = decoded[0] or (decoded[1] if len(decoded) > 1 else None)
        if header is None or "format" not in header:
            raise self._kind.error(self.path, "its first line is no header: it is damaged, or another program wrote it")
        found = msgspec.convert(header, Header)
        self._kind.check_version(self.path, found)
        if found.format != self._kind.format or found.identity != (found.identity if identity is None else identity):
            said = f"it is a {found.format} of {found.identity or 'no market'}, not of {identity or 'no market'}"
            raise self._kind.error(self.path, said, "choose another file")
        self.identity = found.identity
        self._ends_whole = not lines[-1]
        self.lines = [line for line in decoded if line is not None and "format" not in line]
        lost = sum(found is None and bool(line) for line, found in zip(lines, decoded, strict=True))
        if lost:
            cut = "" if self._ends_whole else ", the last one cut off"
            text = f"{lost} of {lost + len(self.lines)} lines are damaged{cut}, and left out"
            warn(f"{self.path} ({self._kind.format}): {text}")

    def append(self, value: dict[str, Any]) -> None:
        """Append an object and hand it to the operating system, so that a crash of this process doesn't lose it.

        Parameters
        ----------
        value : dict
            Object that JSON can hold.

        Raises
        ------
        OSError
            For example for a full disk. The file then is as before.
        """
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
        size: int = self._file.tell()
        text = b"" if size else 2 * (sealed(self._kind.header(self.identity)) + b"\n")
        try:
            self._file.write(text + (b"" if self._ends_whole else b"\n") + _line(value))
            self._file.flush()
            self._ends_whole = True
        except OSError:
            with contextlib.suppress(OSError):
                self.close()
            with contextlib.suppress(OSError):
                os.truncate(self.path, size)
            raise

    def close(self) -> None:
        """Close the file. Closing again does nothing."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _line(value: dict[str, Any]) -> bytes:
    return sealed(msgspec.json.encode(value)[:-1] + _OPEN_SEAL) + b"\n"


def _decoded(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line without its seal, None for a damaged one."""
    if not is_whole(line) or not line.endswith(b'"}'):
        return None
    value: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    value.pop("seal")
    return value
