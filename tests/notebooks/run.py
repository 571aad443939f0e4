"""Runs notebooks again: `python -m tests.notebooks.run notebooks/02-precision.ipynb …`.

Only outputs change. Metadata and the ids of widgets would differ in every run, so they are left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

os.environ["TQDM_DISABLE"] = "1"  # whether a bar appears depends on the machine


def run(path: Path) -> None:
    """Execute a notebook in its folder and write its outputs."""
    book = nbformat.read(path, as_version=4)
    metadata = dict(book.metadata)
    NotebookClient(
        book,
        timeout=120,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    book.metadata = nbformat.from_dict(metadata)  # running adds the version of Python
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    nbformat.write(book, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(Path(name))
