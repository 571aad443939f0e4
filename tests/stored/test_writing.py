"""Where a file is written: in place of the one that a name or a link means, and never in place of a device."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from toolkit.stored.seals import FileKind
from toolkit.stored.tables import read_table, write_table
from toolkit.stored.writing import write_file


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are those of POSIX")
def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_file(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"after"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_file(tmp_path / "pipe", b"through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_table_in_parts_is_the_table_and_a_failure_leaves_the_file_of_before(tmp_path: Path) -> None:
    table = pa.table({"number": range(10)})
    kind = FileKind("numbers", 1, "write it again")
    write_table(tmp_path / "whole", table, kind, row_group=5)
    write_table(tmp_path / "parts", (table[at : at + 5] for at in (0, 5)), kind)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()

    def broken() -> Iterator[pa.Table]:
        yield table
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_table(tmp_path / "parts", broken(), kind)
    assert read_table(tmp_path / "parts", kind)[0].equals(table)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "whole"]
