"""The reference: each public function names its parameters in a list, and has an example, which runs."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests import reference
from tests.reference import Documented, Surroundings
from toolkit.worked_examples import _EXAMPLES, add_examples

SHOWN = [one for one in reference.documented() if one.example]
OBJECTS = [one for one in reference.documented() if one.page in reference.WITH_EXAMPLES and one.is_called]
LISTED = list(reference.documented())


@pytest.fixture(scope="module")
def surroundings() -> Iterator[Surroundings]:
    with ExitStack() as stack:
        yield Surroundings(stack)


def modules() -> Iterator[str]:
    """Yield the modules with examples that need no session; those of the others are run by object."""
    for path in sorted((reference.ROOT / "toolkit").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if re.search(r"^\s*>>> ", source, flags=re.MULTILINE) and not re.search(
            r"add_examples|>>> .*session\.", source
        ):
            yield ".".join(path.relative_to(reference.ROOT).with_suffix("").parts)


def named(text: str, **about: Any) -> Documented:
    """Return a documented function with these parameters and this docstring."""
    made: dict[str, Any] = {}
    exec(f"def function({', '.join(about.get('parameters', ()))}): pass", made)
    made["function"].__doc__ = text
    one = Documented("page", "module.function")
    vars(one)["value"] = made["function"]
    return one


def test_every_parameter_is_named_with_its_meaning() -> None:
    assert len(LISTED) > 640
    assert {one.name: one.unnamed for one in LISTED if one.unnamed} == {}


def test_every_function_has_an_example() -> None:
    assert len(OBJECTS) > 260
    assert [one.name for one in OBJECTS if not one.example] == []


@pytest.mark.parametrize("one", SHOWN, ids=lambda one: one.name)
def test_an_example_gives_what_it_says(
    one: Documented, surroundings: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reference.run(one, surroundings) == ""


@pytest.mark.parametrize("module", list(modules()))
def test_the_examples_of_a_module_give_what_they_say(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module))
    assert done.attempted
    assert not done.failed


@pytest.mark.parametrize(
    ("parameters", "text", "unnamed"),
    [
        (["price"], "Return it at `price`.", []),
        (["price"], "Return it at a price.", ["price"]),
        (["price", "size"], "Do it.\n\nprice, size: USDC and base units.", []),
        (["price", "size"], "Do it.\n\nprice: USDC.", ["size"]),
        (["a", "b", "c", "d", "e", "f"], "Do it with `a`, `b`, `c`, `d`, `e` and `f`.", ["a", "b", "c", "d", "e", "f"]),
        (["a", "b", "c", "d", "e", "f"], "Do it.\n\na, b, c: one.\nd, e: two\n    lines: more.\n**f: three.", []),
        (["**options"], "Do it with `**options`.", []),
    ],
)
def test_more_than_five_parameters_are_a_list(parameters: list[str], text: str, unnamed: list[str]) -> None:
    assert named(text, parameters=parameters).unnamed == unnamed


def test_an_example_that_gives_something_else_is_found(surroundings: Surroundings) -> None:
    assert reference.run(named(">>> 1 + 1\n2"), surroundings) == ""
    assert "Expected:\n    3\nGot:\n    2" in reference.run(named(">>> 1 + 1\n3"), surroundings)


def test_examples_of_the_table_are_those_of_functions() -> None:
    """A line whose function is gone would never run."""
    names = {one.name.rpartition(".")[2] for one in SHOWN}
    lines = re.findall(r"^(\w+): ", _EXAMPLES, flags=re.MULTILINE)
    assert set(lines) <= names


def test_an_example_is_added_once_and_with_its_output() -> None:
    def refresh() -> None:
        """Read it."""

    add_examples({"refresh": refresh, "other": None}, "Receipt")
    assert refresh.__doc__ is not None
    assert refresh.__doc__.splitlines()[:3] == ["Read it.", "", '>>> made = session.buy("BTCUSDC", "0.01", "50000")']
    assert refresh.__doc__.endswith("\n>>> made.status\n'CANCELED'")
