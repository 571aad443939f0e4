"""The tables of the wire in the documentation, whose folder is no package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "wire_tables", Path(__file__).resolve().parent.parent / "docs" / "wire_tables.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = _loaded()

PAGE = Path(__file__).resolve().parent.parent / "docs" / "published.md"
_BEGIN, _END = "<!-- sources -->\n", "<!-- /sources -->"


def page() -> str:
    """Return docs/published.md with the table of the declarations. `python -m tests.wire_tables` writes it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    return f"{before}{_BEGIN}{TABLES.sources_table()}\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
