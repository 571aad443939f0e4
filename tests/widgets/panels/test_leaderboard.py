"""The leaderboard of a class as a widget: it follows the venue, says when it can't, and ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import toolkit
from toolkit import errors
from toolkit.classroom import class_results
from toolkit.classroom.class_routes import BOARD_DATA_PATH, open_class_routes
from toolkit.classroom.lesson import Lesson
from toolkit.classroom.roster import Roster
from toolkit.session import Session
from toolkit.venue.api.gateway import enveloped
from toolkit.venue.local import LocalVenue
from toolkit.widgets.panels import leaderboard


@pytest.fixture
def lesson(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lesson]:
    monkeypatch.setattr(leaderboard, "POLL_SECONDS", 0.01)
    monkeypatch.setattr("toolkit.classroom.lesson.CACHED_SECONDS", 0.0)
    made = Lesson.create(Roster.create(["Ann", "Bo <b>"]), market=False, clock="manual")
    open_class_routes(made.venues[0], made)
    yield made
    made.close()


@pytest.fixture
def teacher(lesson: Lesson) -> Iterator[Session]:
    wallet = toolkit.Wallet(account=lesson.roster.students[0].address)
    with toolkit.connect(venue=lesson.venues[0], wallet=wallet) as made:
        yield made


def until(widget: Any, done: Any) -> None:
    """Wait until something holds of a widget after one of its refreshes."""
    met = threading.Event()
    widget.live.on_update(lambda _: (widget.refresh(), done(widget) and met.set()))
    assert met.wait(60), widget.view


def test_it_shows_the_class_and_follows_it(lesson: Lesson, teacher: Session) -> None:
    widget = toolkit.widgets.Leaderboard(teacher)
    assert [(row["rank"], row["name"], row["equity"], row["return"]) for row in widget.view["rows"]] == [
        ("–", "Ann", "10,000.00", "0.00 %"),
        ("–", "Bo <b>", "10,000.00", "0.00 %"),
    ]
    venue, bo = lesson.venues[0], lesson.roster.students[1]
    venue.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
    order = {"symbolCode": 1, "ordType": "MARKET", "ordPx": "0", "ordQty": "1", "ordSide": "BUY", "timeInForce": "IOC"}
    venue.control.act(bo.address, {"type": "placeOrder", "orders": [order]})
    venue.control.jump("BTCUSDC", "10")
    lesson.say("Prices rise")
    until(widget, lambda one: one.view["rows"][0]["name"] == "Bo <b>" and one.view["news"])
    assert widget.view["rows"][0]["return"].startswith("▲ ")
    assert widget.view["news"] == [["00:00", "Prices rise"]]
    frame = widget.frame()
    assert frame.dtypes.astype(str).to_dict() == class_results.COLUMNS
    assert frame["trades"].tolist() == [1, 0]
    assert frame["rank"].isna().tolist() == [False, True]
    assert frame["rank"].isna().tolist() == [False, True]
    assert repr(widget).startswith("<Leaderboard 2 students: Bo <b> ▲ ")
    assert "Bo &lt;b&gt;" in widget._repr_mimebundle_()[0]["text/html"]


def test_it_is_locked_while_the_class_does_not_answer_and_goes_on_afterwards(lesson: Lesson, teacher: Session) -> None:
    widget, routes = toolkit.widgets.Leaderboard(teacher), lesson.venues[0].host.gateway.routes
    answer = routes[BOARD_DATA_PATH]
    routes[BOARD_DATA_PATH] = lambda _: enveloped(503, 503, "busy")
    until(widget, lambda one: one.lock == "leaderboard is reconnecting: there is no class here: busy")
    assert len(widget.view["rows"]) == 2  # what was last known stays
    routes[BOARD_DATA_PATH] = lambda _: enveloped(200, 0, "success", {"rows": 5})
    until(widget, lambda one: "reconnecting" in one.lock)
    routes[BOARD_DATA_PATH] = answer
    until(widget, lambda one: one.lock == "" and one.problem == "")


def test_without_a_class_there_is_none_and_its_thread_ends_with_it(lesson: Lesson, teacher: Session) -> None:
    with (
        toolkit.connect(venue=LocalVenue(market=False)) as alone,
        pytest.raises(errors.InputError, match="no class here"),
    ):
        toolkit.widgets.Leaderboard(alone)
    widget = toolkit.widgets.Leaderboard(teacher)
    teacher.close()
    widget.live._thread.join(10)
    assert not widget.live._thread.is_alive()
    assert widget.lock == "closed"
