"""Runs notebooks as programs, with venues that execute actions a second after they have answered them.

`python -m tests.notebooks.running` reads paths, one a line, runs each in a fork of its own and answers with a line of
JSON. What all of them import is imported once.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import sys
import threading
import time
import traceback
import types
from pathlib import Path
from typing import Any

import ipywidgets  # noqa: F401
import matplotlib

import toolkit.research  # noqa: F401
from tests.budgets import UNIT_SECONDS, _work
from toolkit.venue.local import LocalVenue

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

DELAY = "1s"


def named(figure: Any) -> bool:
    """Return whether a figure has a title, words below it, and words at each of its axes."""
    titles = [ax.get_title(loc=loc) for ax in figure.axes for loc in ("left", "center", "right")]
    ticks = [any(text.get_text().isalpha() for text in ax.get_yticklabels()) for ax in figure.axes]
    pairs = zip(figure.axes, ticks, strict=True)
    labelled = [bool(ax.get_ylabel() or ax.get_xlabel() or words) for ax, words in pairs]
    below = any(ax.get_xlabel() for ax in figure.axes)
    return bool(figure.get_suptitle() or any(titles)) and below and all(labelled)


def run(path: Path) -> dict[str, Any]:
    """Run the cells of a notebook, and return its processor seconds, figures, hidden failures and unfinished tasks.

    The seconds are those of the machine that budgets were set on.
    """
    figures: list[bool] = []
    failures: list[str] = []

    def look() -> None:
        figures.extend(named(plt.figure(number)) for number in plt.get_fignums())
        plt.close("all")

    def show(*things: object) -> None:
        figures.extend(named(thing) for thing in things if isinstance(thing, Figure))

    plt.show = look
    threading.excepthook = lambda given: failures.append(repr(given.exc_value))
    sys.unraisablehook = lambda given: failures.append(repr(given.exc_value))
    LocalVenue.__init__.__kwdefaults__["settle_delay"] = DELAY
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: failures.append(context["message"]))
    space = {"__name__": "__main__", "__builtins__": __builtins__, "display": show}
    unit, began = _work(), time.process_time()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        text = "\n".join("" if line.startswith("%") else line for line in "".join(cell["source"]).splitlines())
        code = compile(text, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        made = types.FunctionType(code, space)()
        if inspect.iscoroutine(made):
            loop.run_until_complete(made)
    seconds = (time.process_time() - began) * UNIT_SECONDS / unit
    pending = len(asyncio.all_tasks(loop))
    loop.close()
    return {"seconds": seconds, "figures": figures, "failures": failures, "pending": pending}


def answer(path: Path) -> dict[str, Any]:
    """Return what `run` does, or the traceback of the cell that failed. Nothing that cells print gets out."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    os.chdir(path.parent)
    try:
        return run(path)
    except BaseException:
        return {"error": traceback.format_exc()}


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        pipe = os.dup(1)
        if child := os.fork():
            os.close(pipe)
            os.waitpid(child, 0)
            continue
        os.write(pipe, json.dumps(answer(Path(line.strip()))).encode() + b"\n")
        os._exit(0)


if __name__ == "__main__":
    main()
