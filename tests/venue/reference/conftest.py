"""Fixtures of the reference's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory that all workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if base.name.startswith("popen-") else base
    (base / "reference").mkdir(exist_ok=True)
    return base / "reference"
