"""Exercises: right answers in every form pass, nonsense never does, and what is off is said without the answer."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import toolkit
from toolkit import learn, orders
from toolkit.environments import TESTNET
from toolkit.errors import InputError
from toolkit.learn.checking import _added
from toolkit.learn.questions import QUESTIONS
from toolkit.protocol import signing
from toolkit.research import Strategy, backtest
from toolkit.venue import development
from toolkit.venue.local import LocalVenue


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
    with pytest.raises(InputError, match=r"Did you mean 'first-trade\.profit'"):
        learn.check("first-trade.profits", 1)
    with pytest.raises(InputError, match="compares the answer with session"):
        learn.check("first-trade.profit", 1)
    with pytest.raises(InputError, match="nothing else"):
        learn.check("first-trade.passes", 1, session=None)
    with pytest.raises(InputError, match="one of digest, truth and judge"):
        learn.Question("no way to judge")


def test_an_exercise_that_was_not_done_yet_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    empty = SimpleNamespace(fills=lambda **_: pd.DataFrame({"realized_pnl": []}))
    assert "Do the exercise first" in said(capsys, "first-trade.profit", 1, session=empty)


def test_traded_accepts_five_whole_minutes_of_the_log_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    start = pd.Timestamp("2026-01-01", tz="UTC")
    minutes = [0, 4, 6, 7, 20]
    quantities = [Decimal(1), Decimal(2), Decimal(4), Decimal(8), Decimal(16)]
    frame = pd.DataFrame({"time": [start + pd.Timedelta(at, "min") for at in minutes], "quantity": quantities})
    shown = [frame]
    session = SimpleNamespace(
        stream=SimpleNamespace(trades=lambda symbol: SimpleNamespace(frame=lambda **_: shown[0])),
        clock=SimpleNamespace(now_ms=lambda: round(start.timestamp() * 1000) + 21 * 60_000),
    )
    # After 0:00 to 0:05: 2. From 0:02 on 2 + 4 (+ 8), from 0:04 on 4 + 8, from 0:06 on 8; then nothing; at the end 16.
    right = {value for value in range(32) if said(capsys, "live-feed.traded", value, session=session) == "right"}
    assert right == {0, 2, 6, 14, 12, 8, 16}
    assert said(capsys, "live-feed.traded", "14.0", session=session) == "right"
    shown[0] = frame.iloc[:0]
    assert "Do the exercise first" in said(capsys, "live-feed.traded", 1, session=session)


NONSENSE: list[Any] = [
    *(0, -1, 10**60, "", " ", "?", "1e999999", True, False, math.nan, -math.inf, b"1", object(), Decimal("sNaN")),
    *([], {}, (None,), {"signature": 5}, {"signature": {"r": "0x", "s": None, "v": "x"}}, [0] * 3, int, print),
    *(np.zeros(2), pd.DataFrame(), pd.DataFrame({"side": ["BUY"]}), pd.Series([1.5, 2]), pd.NaT, pd.NA),
    SimpleNamespace(results=[], fills=pd.DataFrame(), metrics=dict),
]


def wants(question: learn.Question) -> set[str]:
    """Return the names of what a question compares an answer with."""
    function = question.truth or question.judge
    return set(inspect.signature(function).parameters) - {"answer"} if function else set()


@pytest.fixture(scope="module")
def given() -> Iterator[dict[str, dict[str, Any]]]:
    """What each question of the walkthroughs is compared with, from sessions in which something has happened."""
    agent = signing.PrivateKey(development.account(10).key)
    action = {"type": "setLeverage", "symbolCode": 1, "leverage": 5}
    order = {"symbolCode": 1, "ordPx": "60000", "ordQty": "0.01", "ordType": "LIMIT", "ordSide": "BUY"}
    order["timeInForce"] = "GTC"
    placed = {"type": "placeOrder", "orders": [order]}
    venue = LocalVenue(clock="manual", seed=7, start="2026-01-01 03:58")  # two minutes before a settlement
    with venue, toolkit.connect(venue=venue) as session, toolkit.connect(venue=venue, account=1) as other:
        toolkit.Builder(other).register("Ladder House")
        session.permissions.allow_builder(other.account, other.wallet.agent, max_fee_rate="0.0005")
        toolkit.Builder(other).place(orders.buy("BTCUSDC", "0.1"), fee_rate="0.0004")
        best = session.stream.order_book("BTCUSDC", 1).best_ask - session.product("BTCUSDC").tick_size
        session.buy("BTCUSDC", "0.1", price=best)
        other.sell("BTCUSDC", "0.1", price=best)
        vault = other.exchange.vault_create("Slow", "500").data["vault"]
        lp = session.info.vaults().set_index("name").loc["LP vault", "vault"]
        session.exchange.vault_deposit(lp, "500")
        session.sell("ETHUSDC", "0.5")
        session.venue.advance("3m")
        session.close_position("ETHUSDC")
        closes = [60_000, 60_100, 60_200, 60_100, 60_000, 59_900, 60_000, 60_200]
        index = pd.date_range("2026-01-01", periods=len(closes), freq="1h", tz="UTC", name="time")
        bars = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), closes), index=index).assign(volume=9.0)
        run, free = (backtest(Flips(), {"BTCUSDC": bars}, fees=fees, funding=None) for fees in (None, (0, 0)))
        by_name = {"run": run, "free": free, "session": session, "trader": session, "vault": vault, "agent": agent}
        by_name |= {"equity": Decimal(9000), "spread": pd.Series([1.0, 1.0, 1.0, 5.0]), "chain": TESTNET.chain}
        queues = {"exact": pd.DataFrame({"ahead": [0.1, 0.2, 0.3, 0.4], "filled": [True, True, False, False]})}
        by_name |= {"queues": queues, "worth": lambda results: 0.5}
        by_name |= {"own": pd.DataFrame({"after a minute": [1.4, 2.8]}), "nonce": 1_767_225_600_000}
        other.sell("ETHUSDC", "2")
        joined = pd.DataFrame({"ahead": [0.1, 0.2, 0.3, 0.4, 0.5], "filled": [True, True, False, False, False]})
        both = pd.DataFrame({"bp": [0.16, -0.25, math.nan]}, index=["BTCUSDC", "BTCUSDC", "ETHUSDC"])
        by_name["both"] = both.set_index(pd.MultiIndex.from_arrays([both.index, range(3)]))
        by_name |= {"queues": {"exact": joined}, "worth": lambda run: [1.0, 1.0], "owner": other, "copied": other}
        found = {}
        for name, question in QUESTIONS.items():
            wanted = wants(question)
            values = {key: by_name[key] for key in wanted & set(by_name)}
            if "action" in wanted:
                values["action"] = placed if "steps" in wanted else action
            if "steps" in wanted:
                values["steps"] = signing.explain(placed, TESTNET.chain, by_name["nonce"])
            found[name] = values
        yield found


class Flips(Strategy):
    def on_bar(self, ctx: Any, bar: Any) -> None:
        ctx.target(bar.symbol, "0.05" if bar.close > 60_050 else "-0.05")


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_takes_nonsense_or_fails_on_it(
    name: str, given: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    values, question, off = given[name], QUESTIONS[name], list[Any]()
    if wants(question) != set(values):
        pytest.skip(f"{wants(question) - set(values)} is made in the lesson alone")
    if question.truth is not None:
        truth = question.truth(**values)
        assert said(capsys, name, truth, **values) == "right"
        learn.add(name, replace(question, truth=lambda: truth))  # asked of the session once, not for each answer
        values = {}
        if isinstance(truth, Decimal | float):
            off = [-truth, truth * 100, [truth], f"{truth} USDC"]
            off += [float(truth) + sign * max(float(question.step), 0.000_001) for sign in (-1, 1)]
    accepted = [one for one in [*NONSENSE, *off] if said(capsys, name, one, **values) == "right"]
    assert accepted == ([False] if name == "testnet.shown" else [])


@pytest.mark.parametrize(("answer", "words"), [(None, "waits for your answer"), ("1", "not yet")])
def test_a_strict_check_raises_what_it_would_print_so_that_nbgrader_counts_it(
    answer: str | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    learn.add("strict.two", learn.Question("one and one", digest=learn.digest("strict.two", 2)))
    with pytest.raises(AssertionError, match=words):
        learn.check("strict.two", answer, strict=True)
    assert capsys.readouterr().out == ""
    learn.check("strict.two", answer)
    assert words in capsys.readouterr().out
    learn.check("strict.two", 2, strict=True)
    assert capsys.readouterr().out == "strict.two: right\n"
