"""Each walkthrough as a program of its own: fast enough, figures labelled, nothing lost in a thread or a task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
DELAYED = """
from toolkit.venue.local import LocalVenue
LocalVenue.__init__.__kwdefaults__["settle_delay"] = "1s"
"""
"""Makes every venue execute actions a second after it has answered them."""
LIMIT = 15.0
"""Seconds that a walkthrough may take."""

RUNNER = r"""
import ast, asyncio, inspect, json, sys, threading, time, types
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt

figures, failures = [], []
threading.excepthook = lambda args: failures.append(repr(args.exc_value))
sys.unraisablehook = lambda args: failures.append(repr(args.exc_value))

def look():
    for number in plt.get_fignums():
        figure = plt.figure(number)
        axes = figure.axes
        titles = [ax.get_title(loc=loc) for ax in axes for loc in ("left", "center", "right")]
        named = [any(text.get_text().isalpha() for text in ax.get_yticklabels()) for ax in axes]
        labelled = [bool(ax.get_ylabel() or ax.get_xlabel() or words) for ax, words in zip(axes, named)]
        below = any(ax.get_xlabel() for ax in axes)
        figures.append([bool(figure.get_suptitle() or any(titles)), below, all(labelled)])
    plt.close("all")

plt.show = look
loop = asyncio.new_event_loop()
loop.set_exception_handler(lambda loop, context: failures.append(context["message"]))
space = {"__name__": "__main__", "__builtins__": __builtins__, "display": lambda *things: None}
begin = time.process_time()
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] != "code":
        continue
    text = "\n".join("" if line.startswith("%") else line for line in "".join(cell["source"]).splitlines())
    code = compile(text, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = types.FunctionType(code, space)()
    if inspect.iscoroutine(made):
        loop.run_until_complete(made)
pending = len(asyncio.all_tasks(loop))
loop.close()
seconds = time.process_time() - begin
print(json.dumps({"seconds": seconds, "figures": figures, "failures": failures, "pending": pending}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", DELAYED], ids=["at once", "after 1 s"])
@pytest.mark.parametrize(
    "path", sorted(FOLDER.rglob("[0-9i]*.ipynb")), ids=lambda path: path.relative_to(FOLDER).as_posix()
)
def test_a_notebook_runs_in_time_with_labelled_figures_and_no_hidden_failure(path: Path, before: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", before + RUNNER, str(path)],
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["seconds"] < LIMIT
    assert found["failures"] == []
    assert found["pending"] == 0
    assert all(all(figure) for figure in found["figures"]), found["figures"]
    drawn = sum("image/png" in out.get("data", {}) for cell in _code(path) for out in cell["outputs"])
    assert len(found["figures"]) == drawn


def _code(path: Path) -> list[dict[str, object]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]
