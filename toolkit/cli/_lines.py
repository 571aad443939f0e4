"""What `sign` and `verify` share: JSON lines in, JSON lines out, one answer for each line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..environments import PRESETS


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add --env, which says whose chain the signatures belong to."""
    parser.add_argument(
        "--env", required=True, choices=sorted(PRESETS), help="environment whose chain the signatures belong to"
    )


def answer_lines(answer: Callable[[bytes], Mapping[str, Any]]) -> int:
    """Answer each line of standard input with one line of JSON before the next is read. Blank lines are skipped.

    A line that can't be answered gives {"error": …, "field": …}; the others still go through. Returns the exit code:
    1 if there was such a line, else 0.
    """
    import msgspec

    from ..errors import InputError

    failed = False
    for line in _lines():
        if not line.strip():
            continue
        try:
            reply = answer(line)
        except InputError as error:
            failed = True
            reply = {"error": str(error), "field": error.field}
        _write_line(msgspec.json.encode(reply))
    return 1 if failed else 0


def _lines() -> Iterator[bytes]:
    binary = getattr(sys.stdin, "buffer", None)
    if binary is not None:
        yield from iter(binary.readline, b"")
        return
    for line in iter(sys.stdin.readline, ""):
        yield line.encode("utf-8", "surrogatepass")


def _write_line(line: bytes) -> None:
    binary = getattr(sys.stdout, "buffer", None)
    if binary is not None:
        binary.write(line + b"\n")
        binary.flush()
    else:
        sys.stdout.write(line.decode() + "\n")
        sys.stdout.flush()
