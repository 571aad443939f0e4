"""AttributeErrors that name what was meant."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

import toolkit
from toolkit.protocol.actions import ACTIONS
from toolkit.suggestions import OURS, Suggesting


@pytest.fixture(scope="module")
def session() -> Iterator[toolkit.Session]:
    with toolkit.connect(clock="manual") as made:
        yield made


def message(thing: Any, name: str) -> str:
    with pytest.raises(AttributeError) as caught:
        getattr(thing, name)
    assert not hasattr(thing, name)
    return str(caught.value)


@pytest.mark.parametrize("ours", OURS)
def test_what_the_table_recommends_is_there(session: toolkit.Session, ours: str) -> None:
    for path in re.findall(r"(?:session|toolkit)(?:\.\w+)+", ours):
        root, *names = path.split(".")
        if root == "toolkit" and names[0] == "venue":
            importlib.import_module("toolkit.venue.local")
        found: Any = {"session": session, "toolkit": toolkit}[root]
        for name in names:
            found = getattr(found, name)


def test_no_name_of_another_library_stands_twice() -> None:
    names = [name for theirs in OURS.values() for name in theirs]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("path", "name", "end"),
    [
        ("", "postions", "Did you mean 'positions'?"),
        ("", "fetch_balance", "Use session.wallet_balances()"),
        ("", "place_order", "Use session.exchange.place_order"),
        ("", "advance", "Use session.venue.advance"),
        ("", "xyzzy", "'Session' object has no attribute 'xyzzy'"),
        ("aio", "place_order", "Use session.aio.exchange.place_order"),
        ("stream", "l2_snapshot", "Use session.stream.order_book(symbol)"),
        ("aio.stream", "tickerz", "Did you mean 'ticker' or 'tickers'?"),
        ("venue", "set_oracle", "Use venue.control.set_oracle"),
        ("", "control", "Use session.venue.control"),
        ("venue.control", "set_orcle", "Did you mean 'set_oracle' or 'script_oracle'?"),
    ],
)
def test_a_missing_attribute_names_what_was_meant(session: toolkit.Session, path: str, name: str, end: str) -> None:
    thing: Any = session
    for part in filter(None, path.split(".")):
        thing = getattr(thing, part)
    assert message(thing, name).endswith(end)


def test_the_package_suggests_too() -> None:
    assert message(toolkit, "conect") == "module 'toolkit' has no attribute 'conect'. Did you mean 'connect'?"
    assert message(toolkit, "Exchange").endswith(". Use toolkit.connect()")


@pytest.mark.parametrize("name", ["_repr_png_", "_ipython_display_", "_ipython_canary_method_", "__deepcopy__", "_x"])
def test_names_with_an_underscore_get_no_suggestion(session: toolkit.Session, name: str) -> None:
    for thing in (session, session.exchange, session.info, session.stream, session.venue):
        assert message(thing, name) == f"{type(thing).__name__!r} object has no attribute {name!r}"


class Thing(Suggesting):
    size = 1

    def __init__(self) -> None:
        self.count = 2

    @property
    def broken(self) -> int:
        return self.count.nonsense  # type: ignore[attr-defined, no-any-return]


def test_an_error_inside_a_property_is_not_hidden() -> None:
    assert message(Thing(), "broken") == "'int' object has no attribute 'nonsense'"


def test_attributes_of_instances_are_suggested_and_copies_work() -> None:
    thing = Thing()
    assert message(thing, "counts").endswith("Did you mean 'count'?")
    for made in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert vars(made) == {"count": 2}


def test_python_adds_no_second_suggestion() -> None:
    try:
        Thing().counts  # type: ignore[attr-defined]  # noqa: B018
    except AttributeError as error:
        shown = "".join(traceback.format_exception(error))
    assert shown.lower().count("did you mean") == 1


def test_dir_and_repr_name_what_there_is(session: toolkit.Session) -> None:
    assert {"buy", "exchange", "info", "stream", "ticket", "venue", "dashboard"} <= set(dir(session))
    assert {"place_order", "cancel_all", "send"} <= set(dir(session.exchange))
    assert f"{len(ACTIONS)} actions" in repr(session.exchange)
    assert "fills" in repr(session.info)
    assert repr(toolkit.Builder(session)) == "<Builder on local: place, register, traders>"
    assert session.venue is not None
    assert "set_oracle, set_position_mode" in repr(session.venue.control)


def test_live_objects_can_be_copied(session: toolkit.Session) -> None:
    for thing in (session, session.aio, session.exchange, session.info, session.stream, session.aio.stream):
        assert type(copy.copy(thing)) is type(thing)
