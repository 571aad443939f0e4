"""Arrow tables as Parquet files with a header and a seal. Other programs read them as any other Parquet file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import SEEK_END
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..extras import need
from .seals import DIGITS, MARK, FileKind, Header, checksum, header_in
from .writing import new_file

if TYPE_CHECKING:
    import pyarrow as pa

END = 1 << 22
"""Bytes of a part, and of the end of a file, in which its header is."""
KEY = b"toolkit"
"""Key of the header in the file's metadata."""


def write_table(
    path: Path,
    table: pa.Table | Iterable[pa.Table],
    kind: FileKind,
    *,
    identity: str = "",
    about: Mapping[bytes, bytes] | None = None,
    row_group: int | None = None,
) -> None:
    """Write a table with its header. An existing file is replaced.

    Parameters
    ----------
    path : Path
        Path of the file.
    table : Table or iterable of Table
        Table of pyarrow, or its rows in parts of one schema, at least one. Few parts are in memory at a time.
    kind : FileKind
        Kind of the file.
    identity : str, optional
        Identity of the market or other subject of the file (default: "").
    about : mapping, optional
        Further metadata (default: none).
    row_group : int, optional
        Rows of a group (default: pyarrow's).

    Raises
    ------
    OSError
        If it can't be written.
    """
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = iter([table] if isinstance(table, pa.Table) else table)
    first = next(parts)
    # The header comes last: the seal is looked for from the end.
    metadata = {**(first.schema.metadata or {}), **(about or {}), KEY: kind.header(identity)}
    schema = first.schema.with_metadata(metadata)

    def write(file: BinaryIO) -> None:
        # The page checksums are for the other programs.
        with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
            for part in chain([first], parts):
                writer.write_table(part.replace_schema_metadata(metadata), row_group)
        _, at, seal = _seal_of(file)
        file.seek(at)
        file.write(seal)

    new_file(path, write)


def read_table(
    path: Path, kind: FileKind, *, identity: str | None = None, unsealed: bool = False, **options: object
) -> tuple[pa.Table, Header]:
    """Return a table and its header.

    Parameters
    ----------
    path : Path
        Path of the file.
    kind : FileKind
        Kind of the file.
    identity : str, optional
        Identity that the file must have (default: any).
    unsealed : bool, optional
        Whether files without a header, which others wrote, are taken as well (default: False).
    **options : object
        Options of `pyarrow.parquet.read_table`, such as `columns` and `filters`.

    Raises
    ------
    StoredFileError
        For a file that is damaged, of another kind, version or market.
    OSError
        For one that can't be opened.
    """
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    raw = path.read_bytes()
    foreign = unsealed and header_in(raw) is None
    header = Header(kind.format, 0, "another program") if foreign else kind.check(path, raw, identity)
    try:
        checked = {} if not foreign else {"page_checksum_verification": True}
        return pq.read_table(pa.BufferReader(raw), partitioning=None, **checked, **options), header
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise kind.damaged(path, error) from None


def open_table(path: Path, kind: FileKind) -> Any:
    """Return a file of pyarrow whose row groups can be read one by one, of another program as well.

    Parameters
    ----------
    path : Path
        Path of the file.
    kind : FileKind
        Kind of the file.

    Raises
    ------
    StoredFileError
        For a file that is damaged, of another kind or version.
    """
    need("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    end, whole = _end_of_file(path)
    if header_in(end) is not None:
        kind.check(path, end, whole=whole)
    try:
        # By default the bytes of all row groups are read in advance.
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise kind.damaged(path, error) from None


def _end_of_file(path: Path) -> tuple[bytes, bool]:
    """Return the end of a file, with its header if it has one, and whether its bytes are those that were sealed.

    The file is read in parts, so that one of any length needs the memory of one.
    """
    with path.open("rb") as file:
        end, at, seal = _seal_of(file)
        file.seek(at)
        return end, bool(seal) and file.read(DIGITS) == seal


def _seal_of(file: BinaryIO) -> tuple[bytes, int, bytes]:
    """Return the end of a file, where its seal is, and what the seal must be, b"" without a header."""
    begin = max(0, file.seek(0, SEEK_END) - END)
    file.seek(begin)
    end = file.read()
    at = end.rfind(MARK) + len(MARK)
    if at < len(MARK):
        return end, 0, b""
    file.seek(0)
    before = (file.read(min(END, begin - done)) for done in range(0, begin, END))
    seal = checksum(chain(before, (end[:at], b"0" * DIGITS, end[at + DIGITS :])))
    return end, begin + at, seal.hex()[:DIGITS].encode()
