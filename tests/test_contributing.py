"""The recipes of CONTRIBUTING.md: what they name is there, and applied from their text they end green."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests import recipes

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
    assert "tests.generated" in modules
    for module in modules:
        assert importlib.util.find_spec(module), module


def test_every_test_that_is_named_exists() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", PROSE))
    assert named
    for name in named:
        assert f"def {name}(" in sources, name


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a copy of the source in which each recipe was followed, and the commands of their tests."""
    folder = recipes.copied(tmp_path_factory.mktemp("recipes") / "source")
    commands = list(dict.fromkeys(command for name in recipes.NAMES for command in recipes.applied(name, folder)))
    tests = [command for command in commands if " pytest " in command]
    for command in ("python -m ruff format -q toolkit tests", "python -m ruff check -q --fix toolkit tests"):
        recipes.run(command, folder)
    for command in commands:
        if command not in tests:
            recipes.run(command, folder)
    return folder, tests


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_recipes_end_with_the_tests_that_they_add(copy: tuple[Path, list[str]]) -> None:
    folder, tests = copy
    assert len(tests) >= 6
    added = [test for name in recipes.NAMES for test in recipes.added(name)]
    assert len(added) >= len(recipes.NAMES)
    recipes.run(f"python -m pytest -q -n 0 -p no:cacheprovider {' '.join(added)}", folder)
    recipes.run("python -m pytest -q -n 0 -p no:cacheprovider tests/test_surface.py tests/test_architecture.py", folder)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_after_the_recipes_their_own_commands_and_the_quick_part_are_green(copy: tuple[Path, list[str]]) -> None:
    folder, tests = copy
    for command in tests:
        recipes.run(f"{command} -p no:cacheprovider", folder)
    # What reads declarations, panels, commands and pages, and so may miss one that was added.
    readers = "tests/capture tests/conformance tests/published tests/mutation tests/widgets/panels tests/client/stream"
    for part in (f"--first-cases {readers}", "tests/test_info_contract.py tests/protocol tests/frozen"):
        recipes.run(f"python -m pytest -q -n auto --dist loadfile -p no:cacheprovider {part}", folder)
