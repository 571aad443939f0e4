"""The recipes of CONTRIBUTING.md: every file, test and module that they name is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)


def test_every_path_exists() -> None:
    paths = set(re.findall(r"(?<![\w./-])(?:\.ci|docs|notebooks|proto|tests|toolkit)/[\w./*-]*[\w/]", TEXT))
    paths -= {"docs/_build/html"}  # written by the build
    assert len(paths) > 30
    for path in paths:
        assert list(ROOT.glob(path)), path


def test_every_module_that_a_command_runs_exists() -> None:
    modules = set(re.findall(r"python -m ([\w.]+)", TEXT)) - {"sphinx"}  # sphinx comes with the docs extra
    assert "tests.stubs" in modules
    for module in modules:
        assert importlib.util.find_spec(module), module


def test_every_test_that_is_named_exists() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", PROSE))
    assert named
    for name in named:
        assert f"def {name}(" in sources, name
