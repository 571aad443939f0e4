"""Each table of measurements in README and docs is a record of docs/measured, so that no number is changed by hand.

A comment `<!-- measured: NAME -->` stands above such a table, and docs/measured/NAME.json has its numbers: what
`python -m tests.benchmarks NAME --json` wrote, or "how" they were measured with "columns" and "rows" of text.
`python -m tests.test_measured` writes the tables again from the records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import Measurement
from tests.benchmarks.tables import number, peer, target

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "docs" / "measured"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
TABLE = re.compile(r"(?:<!-- measured: ([\w-]+) -->\n\n)?((?:^\|.*\n)+)", re.MULTILINE)
MEASURED = re.compile(r"\d ×( \||,)|\d times \||\d orders/s|\d s, [\d,]+ MB|\| (Fills here|Measured|ratio|Cases) \|")
"""What only tables of measurements have."""


def cells_of(record: dict[str, Any]) -> list[list[str]]:
    """Return the rows of a record's table, the head first."""
    if "columns" in record:
        return [record["columns"], *record["rows"]]
    names = {field.name for field in fields(Measurement)}
    rows = [Measurement(**{name: value for name, value in row.items() if name in names}) for row in record["rows"]]
    return [["What", "Measured", "Target", "Real, and by seed or product"], *map(_cells, rows)]


def _cells(row: Measurement) -> list[str]:
    value = number(row.value, row.unit) if row.ratio is None else peer(row)
    return [row.name, value + (" (missed)" if row.met is False else ""), target(row), row.note]


def text_of(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as a page has it."""
    head, *body = ["| " + " | ".join(row) + " |\n" for row in rows]
    return "".join([head, "|" + "---|" * len(rows[0]) + "\n", *body])


def tables() -> Iterator[tuple[Path, str, str]]:
    """Yield page, name of the record or "", and text of each table."""
    for page in PAGES:
        for name, text in TABLE.findall(page.read_text(encoding="utf-8")):
            yield page, name, text


def record_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDS.glob("*.json")))
def test_a_table_on_one_page_has_the_numbers_of_its_record(name: str) -> None:
    record = record_of(name)
    assert record.get("how") or record["machine"]
    assert [text for _, named, text in tables() if named == name] == [text_of(cells_of(record))]


def test_a_table_of_measurements_names_its_record() -> None:
    assert {name for _, name, _ in tables() if name} == {path.stem for path in RECORDS.glob("*.json")}
    assert [text for _, name, text in tables() if not name and MEASURED.search(text)] == []


def test_a_record_of_the_benchmarks_becomes_a_table() -> None:
    row = {"name": "spread", "value": 1.4, "unit": "bp", "target": 1.5, "better": "higher", "met": False, "distance": 1}
    assert text_of(cells_of({"machine": {}, "rows": [{**row, "note": "seeds 1 to 2"}]})) == (
        "| What | Measured | Target | Real, and by seed or product |\n|---|---|---|---|\n"
        "| spread | 1.4 bp (missed) | ≥ 1.5 bp | seeds 1 to 2 |\n"
    )


def main() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(TABLE.sub(_renewed, text), encoding="utf-8")


def _renewed(found: re.Match[str]) -> str:
    if not found[1]:
        return found[0]
    return f"<!-- measured: {found[1]} -->\n\n{text_of(cells_of(record_of(found[1])))}"


if __name__ == "__main__":
    main()
