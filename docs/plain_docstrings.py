"""Docstrings of the toolkit are plain text for `help()`; here they become reStructuredText.

Single backticks are code, indented or `name: words` lines keep their lines, drawings and doctests stay as they are, and
nothing else in them is markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

_CODE = re.compile(r"`([^`]+)`")
_ENTRY = re.compile(r"\s*[A-Za-z_][\w, *./-]*( \([^)]*\))?: ")
_DRAWN = ("├", "└", "│")


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", signature_of)
    return {"parallel_read_safe": True}


def _process(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    lines[:] = list(as_rst(lines))


def signature_of(app: Any, what: str, name: str, obj: object, *others: object) -> tuple[str, None] | None:
    """Leave out the parameters of a class of which no caller makes an object. Its docstring says "Made by"."""
    return ("", None) if what == "class" and "Made by" in (obj.__doc__ or "") else None


def as_rst(lines: Iterable[str]) -> Iterable[str]:
    """Yield the lines of a plain docstring as reStructuredText."""
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield from _paragraph(list(group))
            yield ""


def _paragraph(lines: list[str]) -> Iterable[str]:
    if lines[0].lstrip().startswith(">>>"):
        yield from lines
    elif any(mark in line for line in lines for mark in _DRAWN) or all(line.startswith("    ") for line in lines):
        yield "::"
        yield ""
        yield from (f"    {line}" for line in lines)
    elif lines[0].lstrip().startswith("- "):
        yield from map(_escaped, lines)
    elif any(_ENTRY.match(line) or line.startswith("  ") for line in lines[1:]):
        yield from (f"| {_indent(line)}{_escaped(line.strip())}" for line in lines)
    else:
        yield " ".join(_escaped(line.strip()) for line in lines)


def _indent(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()))


def _escaped(text: str) -> str:
    """Return a line with its code in double backticks and everything else free of markup."""
    parts = _CODE.split(text)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"([\\*|_])", r"\\\1", parts[at])
    for at in range(1, len(parts), 2):
        before = parts[at - 1][-1:]
        joined = "" if not before or before in " (-/'\"[{<" else "\\ "
        after = parts[at + 1][:1]
        ended = "" if not after or after in " -/'\").,:;!?]}>" else "\\ "
        parts[at] = f"{joined}``{parts[at]}``{ended}"
    return "".join(parts)
