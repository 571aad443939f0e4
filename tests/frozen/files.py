"""The files of this folder, as the toolkit of today would write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.frozen import api, story, tables, venue

FOLDER = Path(__file__).parent


def api_file() -> dict[str, str]:
    """Return the public interface, by the name of its file."""
    return {"api.txt": api.text()}


def venue_files() -> dict[str, str]:
    """Return what comes from the story, by the names of the files."""
    with story.told() as told:
        found = {
            "requests.jsonl": "".join(f"{body}\n" for body in venue.requests(told)),
            "state.json": _lines(venue.state(told)),
        }
        return {**found, "tables.json": _lines(tables.tables(told))}


def _lines(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return JSON with a line for each part of each entry, so that a difference is a line."""
    entries = []
    for name, parts in found.items():
        lines = ",\n".join(f"  {json.dumps(part)}: {json.dumps(of)}" for part, of in parts.items())
        entries.append(f" {json.dumps(name)}: {{\n{lines}")
    return "{\n" + "\n },\n".join(entries) + "\n }\n}\n"
