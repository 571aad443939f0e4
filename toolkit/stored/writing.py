"""Files that are there whole or not at all. Private ones only their owner can read."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write_file(
    path: str | os.PathLike[str], data: bytes | bytearray, *, private: bool = False, replace: bool = True
) -> None:
    """Write a file under a temporary name, sync it, and give it its name.

    A full disk or an interrupt leaves an existing file unchanged, and no other file.

    Parameters
    ----------
    path : str or PathLike
        Path of the file.
    data : bytes or bytearray
        Content of the file.
    private : bool, optional
        Whether only its owner can read it: mode 0600, on Windows the folder decides (default: False).
    replace : bool, optional
        Whether it may replace an existing file (default: True).

    Raises
    ------
    FileExistsError
        For an existing file that may not be replaced.
    OSError
        If it can't be written.
    """
    new_file(path, lambda file: file.write(data), private=private, replace=replace)


def new_file(
    path: str | os.PathLike[str],
    write: Callable[[BinaryIO], object],
    *,
    private: bool = False,
    replace: bool = True,
) -> None:
    """Let a function write a file, as `write_file` writes its bytes.

    Parameters
    ----------
    path : str or PathLike
        Path of the file.
    write : callable
        Function that takes the open file, which can be read as well.
    private : bool, optional
        As in `write_file` (default: False).
    replace : bool, optional
        As in `write_file` (default: True).

    Raises
    ------
    FileExistsError
        For an existing file that may not be replaced.
    OSError
        If it can't be written.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    if target.exists() and not replace:
        raise FileExistsError(17, "the file exists, and is never overwritten", str(target))
    if target.exists() and not target.is_file():  # a device or a pipe, which a rename would replace
        write(held := io.BytesIO())
        target.write_bytes(held.getvalue())
        return
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600 if private else 0o666)
            with os.fdopen(handle, "w+b") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                os.replace(part, target)
            else:
                _give_name(part, target)
        finally:
            part.unlink(missing_ok=True)
    except BaseException:
        part.unlink(missing_ok=True)  # the interrupt may have come in the clean-up
        raise


_BINARY = getattr(os, "O_BINARY", 0)
"""On Windows, a file opened without it has its line ends changed."""


def write_private(path: str | os.PathLike[str], text: str, *, replace: bool = False) -> None:
    """Write a text file that only its owner can read, as `write_file` does.

    Parameters
    ----------
    path : str or PathLike
        Path of the file.
    text : str
        Content of the file.
    replace : bool, optional
        Whether it may replace an existing file (default: False).
    """
    write_file(path, text.encode(), private=True, replace=replace)


def _give_name(part: Path, target: Path) -> None:
    """Rename a file to a name that is free. A rename alone would replace a file that came meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links; on Windows a rename never replaces
        os.rename(part, target)
