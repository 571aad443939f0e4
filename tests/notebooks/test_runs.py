"""Each lesson and each solution as a program: fast enough, figures labelled, nothing lost in a thread or a task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
LIMIT = 15.0
"""Seconds that a lesson may take, of the machine that budgets were set on."""
OWN_LIMITS = {"16-market.ipynb": 60.0}
"""That lesson watches a market for two hours, second by second, and for four more to see what orders did to it."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="notebooks are run in forks of one process"),
]


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Path], dict[str, Any]]]:
    """Run notebooks in forks of one process, which has imported what all of them need."""
    words = [sys.executable, "-m", "tests.notebooks.running"]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        words, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        reader, writer = process.stdout, process.stdin

        def asked(path: Path) -> dict[str, Any]:
            print(path, file=writer, flush=True)
            found: dict[str, Any] = json.loads(reader.readline())
            return found

        yield asked


@pytest.mark.parametrize(
    "path", sorted(FOLDER.rglob("[0-9i]*.ipynb")), ids=lambda path: path.relative_to(FOLDER).as_posix()
)
def test_a_notebook_runs_in_time_with_labelled_figures_and_no_hidden_failure(
    run: Callable[[Path], dict[str, Any]], path: Path
) -> None:
    found = run(path)
    assert "error" not in found, found["error"]
    assert found["seconds"] < OWN_LIMITS.get(path.name, LIMIT)
    assert found["failures"] == []
    assert found["pending"] == 0
    assert all(found["figures"])
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    drawn = sum("image/png" in out.get("data", {}) for cell in cells for out in cell.get("outputs", ()))
    assert len(found["figures"]) == drawn
