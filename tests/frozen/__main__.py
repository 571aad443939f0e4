"""Writes what is frozen: `python -m tests.frozen`. Give each difference with its reason in the commit."""

from __future__ import annotations

from tests.frozen.files import FOLDER, api_file, venue_files

for name, text in {**api_file(), **venue_files()}.items():
    (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
