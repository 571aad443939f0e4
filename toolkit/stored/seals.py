"""The header of a stored file, and the detection of damage to the file.

A file, or a line of one, contains a header: JSON with its format, version, writer (version of the toolkit), identity
(of the market that it is of) and seal. The seal is a hash of all bytes of the file with the seal itself zeroed, so any
changed, missing or added byte shows. It guards against accidents, not against people: anyone can seal a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from ..errors import StoredFileError, capital

MARK = b'"seal":"'
DIGITS = 32
_OPEN = "0" * DIGITS


class Header(msgspec.Struct, frozen=True):
    """The header of a file.

    Parameters
    ----------
    format : str
        Name of the kind of file.
    version : int
        Version of its form.
    writer : str
        Version of the toolkit that wrote it.
    identity : str, optional
        Identity of the market or other subject of the file (default: "").
    python : str, optional
        Version of Python that wrote code into it, "" where there is none (default: "").
    seal : str, optional
        SHA-256 of the file with an open seal (default: open).
    """

    format: str
    version: int
    writer: str
    identity: str = ""
    python: str = ""
    seal: str = _OPEN


@dataclass(frozen=True)
class FileKind:
    """A kind of file.

    Parameters
    ----------
    format : str
        Its name in messages.
    version : int
        Version of its form.
    advice : str
        Advice on a damaged file, a sentence.
    """

    format: str
    version: int
    advice: str

    def header(self, identity: str = "", python: str = "") -> bytes:
        """Return the header of a new file, not yet sealed.

        Parameters
        ----------
        identity : str, optional
            Identity of the market or other subject of the file (default: "").
        python : str, optional
            Version of Python whose code it holds (default: "", none).
        """
        from .. import __version__

        return msgspec.json.encode(Header(self.format, self.version, __version__, identity, python))

    def error(self, path: object, what: str, advice: str = "") -> StoredFileError:
        """Return the error for a file of this kind: path, what is wrong, what to do.

        Parameters
        ----------
        path : object
            Path of the file.
        what : str
            What is wrong.
        advice : str, optional
            Advice, a sentence (default: that of the kind).
        """
        return StoredFileError(
            f"{path} ({self.format}): {what}. {capital(advice or self.advice)}", field="path", value=str(path)
        )

    def damaged(self, path: object, why: object) -> StoredFileError:
        """Return the error for a file whose content can't be read.

        Parameters
        ----------
        path : object
            Path of the file.
        why : object
            Error or text that says what is damaged.
        """
        return self.error(path, f"it is damaged: {why}")

    def check(self, path: object, raw: bytes, identity: str | None = None, *, whole: bool | None = None) -> Header:
        """Return the header of a file after checking its seal, format, version and identity.

        Parameters
        ----------
        path : object
            Path of the file.
        raw : bytes
            Bytes of the file.
        identity : str, optional
            Identity that the file must have (default: any).
        whole : bool, optional
            Whether the seal matches, where `raw` is only the end of the file (default: it is checked).

        Raises
        ------
        StoredFileError
            If one of them is wrong.
        """
        header = header_in(raw)
        if header is None:
            raise self.error(path, "it has no header: it is damaged, or another program wrote it")
        if not (is_whole(raw) if whole is None else whole):
            raise self.damaged(path, "its seal does not match its content")
        if header.format != self.format:
            raise self.error(path, f"it is a file of another kind, {header.format}", "choose another file")
        self.check_version(path, header)
        if identity is not None and header.identity != identity:
            said = f"it is of market {header.identity or 'unknown'}, and this is market {identity or 'unknown'}"
            raise self.error(path, said, "choose another file for this market")
        return header

    def check_version(self, path: object, header: Header) -> None:
        """Raise StoredFileError for a file that another version wrote.

        Parameters
        ----------
        path : object
            Path of the file.
        header : Header
            Header of the file.

        Raises
        ------
        StoredFileError
            For a file that another version wrote.
        """
        if header.version != self.version:
            age = "a later" if header.version > self.version else "an earlier"
            said = f"{age} version of the toolkit wrote it ({header.writer}, format {header.version})"
            raise self.error(path, f"{said}. This version reads format {self.version}", "open it with that version")


def sealed(raw: bytes | bytearray) -> bytes:
    """Return the bytes of a file with its seal. They contain an open header, the last one is sealed.

    Parameters
    ----------
    raw : bytes or bytearray
        Bytes of the file.
    """
    at, whole = raw.rindex(MARK) + len(MARK), memoryview(raw)
    return b"".join((whole[:at], _seal(raw, at), whole[at + DIGITS :]))


def is_whole(raw: bytes | bytearray) -> bool:
    """Return whether the bytes are those that were sealed.

    Parameters
    ----------
    raw : bytes or bytearray
        Bytes of the file.
    """
    at = raw.rfind(MARK) + len(MARK)
    return at >= len(MARK) and raw[at : at + DIGITS] == _seal(raw, at)


def header_in(raw: bytes) -> Header | None:
    """Return the header that the bytes contain, None without a readable one.

    Parameters
    ----------
    raw : bytes
        Bytes of the file.
    """
    begin, end = _place(raw)
    try:
        return msgspec.json.decode(raw[begin:end], type=Header) if begin >= 0 else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def before_header(raw: bytes) -> memoryview:
    """Return the bytes before the header, in a file that was checked and ends with it.

    Parameters
    ----------
    raw : bytes
        Bytes of the file.
    """
    return memoryview(raw)[: _place(raw)[0]]


def _place(raw: bytes) -> tuple[int, int]:
    at = raw.rfind(MARK)
    return raw.rfind(b'{"format":', 0, max(at, 0)), at + len(MARK) + DIGITS + 2


def checksum(parts: Iterable[bytes | memoryview]) -> bytes:
    """Return the SHA-256 of parts in their order: the checksum of everything that is stored.

    Parameters
    ----------
    parts : iterable of bytes or memoryview
        Parts of the data, in the order in which they count.
    """
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.digest()


def _seal(raw: bytes | bytearray, at: int) -> bytes:
    whole = memoryview(raw)
    return checksum((whole[:at], _OPEN.encode(), whole[at + DIGITS :])).hex()[:DIGITS].encode()
