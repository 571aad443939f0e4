"""Exercises: right answers in every form pass, nonsense never does, and what is off is said without the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit import learn
from toolkit.errors import InputError
from toolkit.learn.checking import _added
from toolkit.learn.questions import QUESTIONS


@pytest.fixture(autouse=True)
def _own_questions() -> Iterator[None]:
    yield
    _added.clear()


def said(capsys: pytest.CaptureFixture[str], name: str, answer: Any, **given: Any) -> str:
    learn.check(name, answer, **given)
    return capsys.readouterr().out.removeprefix(f"{name}: ").rstrip("\n")


@pytest.mark.parametrize("answer", [20, "20", " 20 ", 20.0, Decimal("20.00"), np.int64(20), np.float64(20)])
def test_a_number_is_right_in_every_form(answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    learn.add("mine.exact", learn.Question("count", digest=learn.digest("mine.exact", 20)))
    learn.add("mine.true", learn.Question("count", truth=lambda: Decimal(20)))
    assert said(capsys, "mine.exact", answer) == said(capsys, "mine.true", answer) == "right"


@pytest.mark.parametrize(
    "answer", [0, 21, -1, "", "twenty", True, False, math.nan, math.inf, [], {}, object(), b"20", [20], "20 apples"]
)
def test_nonsense_is_never_right(answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    learn.add("mine.exact", learn.Question("count", digest=learn.digest("mine.exact", 20)))
    learn.add("mine.near", learn.Question("count", digest=learn.digest("mine.near", 20, "0.01"), step="0.01"))
    learn.add("mine.true", learn.Question("count", truth=lambda: 20, step="0.5"))
    for name in ("mine.exact", "mine.near", "mine.true"):
        assert said(capsys, name, answer).startswith("not yet. ")


@pytest.mark.parametrize(("answer", "off"), [(6.55, 0), (6.56, 0), (6.5649, 0), (6.59, 1), (6.5, 1)])
def test_a_step_says_how_far_off_a_number_may_be(answer: float, off: int, capsys: pytest.CaptureFixture[str]) -> None:
    digest = learn.digest("mine.near", 6.56, "0.01")
    learn.add("mine.near", learn.Question("look", digest=digest, step="0.01"))
    assert (said(capsys, "mine.near", answer) != "right") == bool(off)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (-0.25, "the sign"),
        (25, "a hundred times too large"),
        (0.0025, "a hundred times too small"),
        (0.75, "the other share"),
        (4, "upside down"),
        (7, "7 is not it"),
        ("a quarter", "is not it"),
    ],
)
def test_what_is_off_is_said_with_a_hint_and_without_the_answer(
    answer: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for question in (
        learn.Question("divide", digest=learn.digest("mine.share", "0.25")),
        learn.Question("divide", truth=lambda: Decimal("0.25")),
    ):
        learn.add("mine.share", question)
        text = said(capsys, "mine.share", answer)
        assert words.casefold() in text.casefold()
        assert text.endswith("Hint: divide.")
        assert " 0.25 " not in text


def test_texts_and_times_are_compared_as_they_are_meant(capsys: pytest.CaptureFixture[str]) -> None:
    learn.add("mine.prices", learn.Question("two", digest=learn.digest("mine.prices", ("2500.00", "2500.01"))))
    assert said(capsys, "mine.prices", ["2500.01", Decimal("2500")]) == "right"
    assert said(capsys, "mine.prices", "2500.01") != "right"
    moment = pd.Timestamp("2026-01-05", tz="UTC")
    learn.add("mine.until", learn.Question("look", truth=lambda: moment))
    assert said(capsys, "mine.until", moment.to_pydatetime()) == "right"
    assert said(capsys, "mine.until", moment + pd.Timedelta(1, "s")) != "right"


def test_no_answer_waits_and_what_is_missing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for name in QUESTIONS:
        assert said(capsys, name, None) == "waits for your answer"
    with pytest.raises(InputError, match=r"did you mean 'first-trade\.profit'"):
        learn.check("first-trade.profits", 1)
    with pytest.raises(InputError, match="compares the answer with session"):
        learn.check("first-trade.profit", 1)
    with pytest.raises(InputError, match="nothing else"):
        learn.check("first-trade.passes", 1, session=None)
    with pytest.raises(InputError, match="one of digest, truth and judge"):
        learn.Question("no way to judge")


def test_an_exercise_that_was_not_done_yet_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    empty = SimpleNamespace(fills=lambda **_: pd.DataFrame({"realized_pnl": []}))
    assert "do the exercise first" in said(capsys, "first-trade.profit", 1, session=empty)


def test_traded_accepts_five_minutes_of_the_log_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    times = pd.to_datetime(["2026-01-01T00:00", "2026-01-01T00:04", "2026-01-01T00:06", "2026-01-01T00:20"], utc=True)
    frame = pd.DataFrame({"time": times, "quantity": [Decimal(1), Decimal(2), Decimal(4), Decimal(8)]})
    trades = SimpleNamespace(frame=lambda **_: frame)
    assert said(capsys, "live-feed.traded", Decimal(6), trades=trades) == "right"
    assert said(capsys, "live-feed.traded", Decimal(7), trades=trades) != "right"
    assert said(capsys, "live-feed.traded", Decimal("0.5"), trades=trades) != "right"
