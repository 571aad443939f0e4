"""Files of the user that are there whole or not at all, and that only their owner can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private(path: str | os.PathLike[str], text: str, *, replace: bool = False) -> None:
    """Write a file that only its owner can read (mode 0600; on Windows as the folder says).

    `replace` says whether it may take the place of one that is there. A full disk or an interrupt leaves nothing of it
    behind, and the file that was there as it was. Raises OSError: FileExistsError for a file that is there and stays.
    """
    target = Path(path)
    if target.exists() and not replace:
        raise FileExistsError(17, "the file exists, and is never overwritten", str(target))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
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


def _give_name(part: Path, target: Path) -> None:
    """Rename a file to a name that is free; a rename alone would replace a file that came meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links; on Windows a rename never replaces
        os.rename(part, target)
