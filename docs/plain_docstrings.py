"""Keeps the lines of docstrings that are not numpydoc yet: `name: words` lines stay lines, and code stays code.

It goes with the last of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any

_CODE = re.compile(r"(`[^`]+`)")
_ENTRY = re.compile(r"\s*[A-Za-z_*][\w, *./-]*( \([^)]*\))?: ")
_NEW_FORM = re.compile(r"^-{3,}$|^::$|::$", re.MULTILINE)


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc."""
    app.connect("autodoc-process-docstring", _process, priority=300)
    return {"parallel_read_safe": True}


def _process(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    if not _NEW_FORM.search("\n".join(lines)):
        lines[:] = list(_markup(lines))


def _markup(lines: Iterable[str]) -> Iterable[str]:
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield from _paragraph(list(group))
            yield ""


def _paragraph(lines: list[str]) -> Iterable[str]:
    if lines[0].lstrip().startswith((">>>", "- ")):
        yield from lines
    elif any(_ENTRY.match(line) or line.startswith("  ") for line in lines[1:]):
        for line in lines:
            yield "| " + " " * (len(line) - len(line.lstrip())) + _escaped(line.strip())
    else:
        yield from map(_escaped, lines)


def _escaped(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(part if at % 2 else re.sub(r"([\\*|_])", r"\\\1", part) for at, part in enumerate(parts))
