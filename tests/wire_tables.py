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
