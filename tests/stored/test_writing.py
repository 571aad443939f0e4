"""Where a file is written: in place of the one that a name or a link means, and never in place of a device."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
