"""Docstrings: tools find each parameter with its type and description, each public call has an example, and it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import reference
from tests.reference import FLOOR, Example, Surroundings

LISTED = list(reference.documented())
EXAMPLES = list(reference.examples())


@pytest.fixture(scope="module")
def surroundings() -> Iterator[Surroundings]:
    with ExitStack() as stack:
        yield Surroundings(stack)


def test_docstring_tools_find_the_parameters_of_each_room() -> None:
    rooms = reference.found_by_room()
    assert sum(count for _, count, _ in rooms.values()) > 4_500
    below = {room: missing for room, (found, count, missing) in rooms.items() if 100 * found < FLOOR * count}
    assert below == {}


def test_every_parameter_of_a_public_call_is_described() -> None:
    assert len(LISTED) > 640
    assert {one.name: one.undescribed for one in LISTED if one.undescribed} == {}


def test_every_public_call_has_an_example_in_the_source() -> None:
    called = [one for one in LISTED if one.page in reference.WITH_EXAMPLES and one.is_called]
    assert len(called) > 260
    assert [one.name for one in called if not one.has_example] == []


@pytest.mark.slow  # each on a venue of its own
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_gives_what_it_says(
    example: Example, surroundings: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reference.run(example, surroundings) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Do it.\n\nParameters\n----------\nprice : str\n    Limit price in USDC.", {"price"}),
        (
            "Do it.\n\nParameters\n----------\na, b : int, optional\n    Both.\n*rest : str\n    More.",
            {"a", "b", "rest"},
        ),
        ("Do it.\n\nParameters\n----------\nprice : str\nsize\n    Base units.", set()),
        ("Do it.\n\nprice: in USDC.", set()),
        ("It has `price`.\n\nAttributes\n----------\nprice : float\n    In USDC.", {"price"}),
    ],
)
def test_a_parameter_counts_with_a_type_and_a_description(text: str, found: set[str]) -> None:
    assert reference.described(text) == found


def test_an_example_that_gives_something_else_is_found(surroundings: Surroundings) -> None:
    assert reference.run(Example("sum", "toolkit", ">>> 1 + 1\n2"), surroundings) == ""
    wrong = reference.run(Example("sum", "toolkit", ">>> 1 + 1\n3"), surroundings)
    assert "Expected:\n    3\nGot:\n    2" in wrong
