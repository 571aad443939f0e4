"""Arrow tables as Parquet files with a header and a seal. Other programs read them as any other Parquet file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..extras import need
from .seals import FileKind, Header, header_in, sealed
from .writing import write_file

if TYPE_CHECKING:
    import pyarrow as pa

KEY = b"toolkit"
"""Key of the header in the file's metadata."""


def write_table(
    path: Path,
    table: pa.Table,
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
    table : Table
        Table of pyarrow.
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

    # The header comes last: the seal is looked for from the end.
    metadata = {**(table.schema.metadata or {}), **(about or {}), KEY: kind.header(identity)}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(metadata),
        sink,
        row_group_size=row_group,
        compression="zstd",
        write_page_checksum=True,  # for the other programs
    )
    write_file(path, sealed(sink.getvalue().to_pybytes()))


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
