"""Every install command that a reader or a user meets names this project, and extras that it has.

The commands are collected from the pages, the notebooks, the sources and the workflows. What they name is looked up in
pyproject.toml: .ci/matrix installs the wheel with its extras.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from toolkit.extras import DISTRIBUTION, EXTRAS, install_line

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OPTIONAL = PROJECT["project"]["optional-dependencies"]

COMMAND = re.compile(
    r"(?:\b(?:uv\s+)?pip3?\s+install|\buv\s+add|\buv\s+tool\s+install|\bpipx\s+(?:install|run)|\bpoetry\s+add"
    r"|\b(?:conda|mamba)\s+install|\beasy_install)(?=\s)(?P<rest>[^\n`;|#&]*)"
)
PLACES = ("*.md", "docs/**/*.md", "docs/**/*.html", "proto/**/*", "toolkit/**/*", "notebooks/**/*.ipynb", ".ci/*",
          ".github/**/*", ".devcontainer/*", ".pre-commit-config.yaml")  # fmt: skip
WHEEL = "file:///dist/afx_toolkit.whl"
"""Stands for the wheel that a workflow has built."""
CI_TOOLS = {"cyclonedx-bom", "pip-audit", "uv"}
"""What .ci/matrix alone uses: they install, or read what is installed, and are not needed to run the tests."""


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file in which a command may stand; of a notebook, its sources and outputs."""
    for pattern in PLACES:
        for path in ROOT.glob(pattern):
            if not path.is_file() or "_build" in path.parts or ".ipynb_checkpoints" in path.parts:
                continue
            name = path.relative_to(ROOT).as_posix()
            if path.suffix == ".ipynb":
                yield name, "\n".join(strings(json.loads(path.read_text(encoding="utf-8"))))
            elif path.suffix not in {".pyc", ".png"}:
                yield name, path.read_text(encoding="utf-8")


def strings(value: object) -> Iterator[str]:
    """Yield the texts inside a notebook's JSON, each list of lines as one text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield "".join(value) if all(isinstance(one, str) for one in value) else "\n".join(strings_of(value))
    elif isinstance(value, dict):
        yield from strings_of(value.values())


def strings_of(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts of several values."""
    for value in values:
        yield from strings(value)


def arguments(rest: str) -> list[str]:
    """Return the arguments of a command without pip's own options. It ends where its text has a quote too many."""
    while True:
        try:
            words = shlex.split(rest)
            break
        except ValueError:
            rest = rest[: max(rest.rfind('"'), rest.rfind("'"))]
    kept, waiting = [], iter(words)
    for word in waiting:
        if word in {"-c", "--constraint", "--python"}:
            next(waiting)
        elif word in {"-e", "--editable"}:
            kept += ["-e", next(waiting)]
        elif not word.startswith("-") and word != "$@":  # a shell's own arguments
            kept.append(
                f"{DISTRIBUTION} @ {WHEEL}"
                if word in {"dist/*.whl", "$wheel"}
                else word.replace("file://$wheel", WHEEL)
            )
    return kept


def commands() -> dict[tuple[str, ...], set[str]]:
    """Return each command's arguments, and where it stands."""
    found: dict[tuple[str, ...], set[str]] = {}
    for name, text in texts():
        if name != "toolkit/extras.py":  # its lines are made with each extra, below
            for match in COMMAND.finditer(text):
                found.setdefault(tuple(arguments(match["rest"])), set()).add(name)
    for extras in [(), ("data", "notebook"), *sorted({(extra,) for extra, _ in EXTRAS.values()})]:
        match = COMMAND.search(install_line(*extras))
        assert match, extras
        found.setdefault(tuple(arguments(match["rest"])), set()).add("toolkit/extras.py")
    return found


COMMANDS = commands()
DEPENDENCIES = {
    canonicalize_name(Requirement(line).name)
    for line in (*PROJECT["project"]["dependencies"], *(line for lines in OPTIONAL.values() for line in lines))
}


def problem(words: Iterable[str]) -> str:
    """Return what is wrong with the names in a command: "" where each is this project, the tree or a dependency."""
    for word in words:
        if word == "-e":
            continue
        if word.partition("[")[0] == ".":
            word = DISTRIBUTION + word[1:]
        requirement = Requirement(word)
        name = canonicalize_name(requirement.name)
        if name == DISTRIBUTION:
            if unknown := requirement.extras - OPTIONAL.keys():
                return f"the extras {sorted(unknown)} do not exist"
        elif name not in DEPENDENCIES | CI_TOOLS:
            return f"{name} is neither this project nor one of its dependencies"
    return ""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_names_this_project_with_extras_that_exist(words: tuple[str, ...]) -> None:
    assert not problem(words), (problem(words), COMMANDS[words])


def test_each_place_is_read() -> None:
    places = set().union(*COMMANDS.values())
    assert {
        *(
            "README.md",
            "CONTRIBUTING.md",
            "docs/index.md",
            "docs/packages.md",
            "docs/course.md",
            ".ci/run",
            ".ci/matrix",
        ),
        *("notebooks/15-testnet.ipynb", "toolkit/extras.py", ".devcontainer/devcontainer.json"),
        *(".github/workflows/tests.yml", ".github/workflows/release.yml"),
    } <= places


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Run `pip install toolkit` first.", "toolkit is neither"),
        ('%pip install "toolkit[lab]"', "toolkit is neither"),
        ("uv add afx-toolkits", "afx-toolkits is neither"),
        ('py -3 -m pip install "afx-toolkit[labs]"', "['labs'] do not exist"),
        ("python -m pip install -q -e .[tests] && python -m toolkit", "['tests'] do not exist"),
        ('pip install --upgrade "afx-toolkit[lab]" stranger', "stranger is neither"),
    ],
)
def test_a_wrong_command_is_found(text: str, why: str) -> None:
    (match,) = COMMAND.finditer(text)
    assert why in problem(arguments(match["rest"]))


def test_messages_take_their_command_from_one_place() -> None:
    for path in sorted((ROOT / "toolkit").rglob("*.py")):
        if "install" not in (text := path.read_text(encoding="utf-8")):
            continue
        tree = ast.parse(text)
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                assert "pip install" not in node.value or path.name == "extras.py", f"{path}:{node.lineno}"


def test_each_package_is_named_with_an_extra_that_brings_it() -> None:
    for package, (extra, _) in EXTRAS.items():
        assert package in {Requirement(line).name for line in OPTIONAL[extra]}, package
