"""What people write without looking, and what they get: `python -m tests.calls` writes tests/calls.md again.

The page has the calls, which are invented: questions of research and trading, and mistakes with words, units and habits
of other libraries. A call is added as a line of its own there, and gets its answer below it. One session answers the
calls of a section in turn.
"""

from __future__ import annotations

import re
import tempfile
import warnings
from contextlib import ExitStack
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import toolkit
from toolkit import orders, report, research
from toolkit.errors import DataWarning

PAGE = Path(__file__).with_name("calls.md")
CALL = re.compile(r"- `(.*)`\s*")
NAMES = {
    **{"toolkit": toolkit, "orders": orders, "research": research, "report": report},
    **{"pd": pd, "np": np, "timedelta": timedelta, "Decimal": Decimal},
}


def answer(session: toolkit.Session, folder: Path, call: str) -> str:
    """Return what a call gives, in one line: an error's class and sentence, the shape of a frame, else the repr."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", DataWarning)
        try:
            found: Any = eval(call, {**NAMES, "s": session, "folder": folder})
        except Exception as error:
            return f"**{type(error).__name__}** {error}"
    said = "".join(f" ({one.category.__name__}: {one.message})" for one in warned)
    if isinstance(found, pd.DataFrame):
        shown = ", ".join(map(str, found.columns[:8])) + " …" * (found.shape[1] > 8)
        by = " and ".join(map(str, found.index.names))
        return f"{len(found)} rows by {by}: {shown}{said}"
    if isinstance(found, pd.Series):
        found = found.to_dict()
    text = re.sub(r"\s+", " ", repr(found))
    return (text if len(text) <= 200 else f"{text[:199]}…") + said


def page() -> str:
    """Return the page with today's answers: headings and calls stay as they are."""
    lines: list[str] = []
    with ExitStack() as stack:
        for line in PAGE.read_text(encoding="utf-8").splitlines():
            if line.startswith("### "):
                stack.close()
                session = stack.enter_context(toolkit.connect(clock="manual", seed=5))
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            if call := CALL.fullmatch(line):
                text = re.sub(r"0x[0-9a-f]{8}…", "0x…", answer(session, folder, call[1]))
                lines += [f"- `{call[1]}`  ", f"  {re.sub(r'clOrdId [0-9]+', 'clOrdId …', text)}"]
            elif not line.startswith("  "):
                lines.append(line)
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
