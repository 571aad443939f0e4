"""Runs a walkthrough against venues with a settlement delay: `python -m tests.notebooks.delayed FILE…`."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

DELAY_MS = 1_000
FIRST = f"""
from toolkit.venue.local import LocalVenue
LocalVenue.__init__.__kwdefaults__["settle_delay"] = {DELAY_MS}
"""


def run(path: Path) -> None:
    """Execute a notebook whose venues execute actions a second after they answered. Raises the error of a cell."""
    book = nbformat.read(path, as_version=4)
    book.cells.insert(0, nbformat.v4.new_code_cell(FIRST))
    places = {"metadata": {"path": str(path.parent)}}
    NotebookClient(book, timeout=120, kernel_name="python3", store_widget_state=False, resources=places).execute()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(Path(name))
