"""What one version of Python writes, another reads; the code of a saved run is run by the version that saved it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import across_pythons
from toolkit.errors import ToolkitError
from toolkit.research.analysis.recipes import PackedRecipe


def test_files_hold_what_was_written(tmp_path: Path) -> None:
    across_pythons.write(tmp_path / "written")
    across_pythons.read(tmp_path / "written")


def test_the_code_of_a_saved_run_is_refused_by_another_version_of_python() -> None:
    with pytest.raises(ToolkitError, match=r"saved by Python 3\.9, and its code runs in no other"):
        PackedRecipe(b"not even a pickle", "3.9").run({})
