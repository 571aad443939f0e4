"""What a user has to learn stays small: the names of a session, the parameters of connect, one page that lists them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

import toolkit
from tests import surface
from toolkit.connecting import CONNECT, Sending


@pytest.fixture(scope="module")
def session() -> Iterator[toolkit.Session]:
    with toolkit.connect(clock="manual") as made:
        yield made


def test_a_session_and_its_venue_have_at_most_54_names(session: toolkit.Session) -> None:
    """The names of exchange, info and stream are the interface's, which may grow."""
    names = surface.walk(session)
    assert len(names[""]) + len(names["venue"]) <= 54


def test_connect_has_at_most_15_parameters_and_says_which_keyword_was_meant() -> None:
    parameters = inspect.signature(toolkit.connect).parameters
    assert len(parameters) <= 15
    assert [*CONNECT, "sending"] == list(parameters)
    for name in Sending.__annotations__:
        with pytest.raises(TypeError, match=rf"unexpected keyword argument '{name}x'. Did you mean '{name}'"):
            toolkit.connect(**{f"{name}x": 1})  # type: ignore[arg-type]


def test_the_page_lists_what_there_is(session: toolkit.Session) -> None:
    assert surface.PAGE.read_text(encoding="utf-8") == surface.page(session), "run python -m tests.surface"


def test_the_page_has_each_name_of_a_session_once_and_says_what_it_is(session: toolkit.Session) -> None:
    names = " ".join(surface.KINDS.values()).split()
    assert sorted(names) == surface.public(session)
    assert [row for row in surface.page(session).splitlines() if row.startswith("- ") and ": " not in row] == []


def test_a_contract_that_is_not_listed_stays_callable(session: toolkit.Session) -> None:
    assert "assert_healthy" not in dir(session.stream)
    session.stream.assert_healthy()
