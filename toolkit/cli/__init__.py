"""The commands behind `python -m toolkit`, one module each, and the text that they share."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..environments import PRESETS
from ..errors import InputError


def add_environment(parser: argparse.ArgumentParser) -> None:
    """Add --env, which says whose chain the signatures belong to.

    Parameters
    ----------
    parser : ArgumentParser
        Parser of the command.
    """
    parser.add_argument(
        "--env", required=True, choices=sorted(PRESETS), help="environment whose chain the signatures belong to"
    )


def answer_lines(answer: Callable[[bytes], Mapping[str, Any]]) -> int:
    """Answer each line of standard input with one line of JSON before the next is read.

    Return the exit code.

    Blank lines are skipped. A line that can't be answered gives {"error": …, "field": …}, and the others still go
    through. The exit code is 1 if there was such a line, else 0.

    Parameters
    ----------
    answer : callable
        Returns the answer to a line. It raises InputError for one that can't be answered.
    """
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
        return iter(binary.readline, b"")
    return (line.encode("utf-8", "surrogatepass") for line in iter(sys.stdin.readline, ""))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[str]:
    """Return rows of cells as lines with columns.

    Parameters
    ----------
    rows : sequence of sequence of str
        Cells of each row, equally many.
    right : sequence of bool, optional
        Whether each column is aligned to the right (default: none is).
    """
    columns = []
    for cells, numeric in zip(zip(*rows, strict=True), right or [False] * len(rows[0]), strict=True):
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if numeric else cell.ljust(width) for cell in cells])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def wrapped(text: str, head: str = "   ", *, least: int = 80, margin: int = 0) -> None:
    """Print text after its head, within the width of the terminal.

    Parameters
    ----------
    text : str
        Text to print.
    head : str, optional
        Beginning of the first line. The others are indented by its length (default: " ").
    least : int, optional
        Smallest width in characters (default: 80).
    margin : int, optional
        Characters to leave free at the end of a line (default: 0).
    """
    width = max(least, min(120, shutil.get_terminal_size((100, 24)).columns)) - margin
    print(textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * len(head)), flush=True)


def _write_line(line: bytes) -> None:
    binary = getattr(sys.stdout, "buffer", None)
    if binary is not None:
        binary.write(line + b"\n")
        binary.flush()
    else:
        print(line.decode(), flush=True)
