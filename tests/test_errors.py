"""A value of another type than is meant is refused in words, wherever it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit import plots, research
from toolkit.errors import InputError, require
from toolkit.orders import twap
from toolkit.session import Session
from toolkit.testing import session, venue  # fixtures

__all__ = ["session", "venue"]

WRONG: tuple[tuple[str, Callable[[Session], Any]], ...] = (
    ("klines is 5. Give a DataFrame, as session.klines returns it", lambda s: plots.candles(5)),
    ("klines has no column open, high, low, close", lambda s: plots.candles(pd.DataFrame())),
    (
        "book has no column side, price. Give a frame as session.order_book",
        lambda s: plots.depth(pd.DataFrame({"quantity": []})),
    ),
    ("curve is None. Give a Series by time", lambda s: plots.equity(None)),
    ("curve has no column equity or balance. It has open", lambda s: plots.equity(pd.DataFrame({"open": []}))),
    ("rates is 'BTCUSDC'. Give", lambda s: plots.funding("BTCUSDC")),
    ("rates has no column funding_rate", lambda s: plots.funding(pd.DataFrame({"price": []}))),
    ("held is []. Give", lambda s: plots.positions([])),
    ("runs is 'x'. Give the Results", lambda s: research.compare(iter(["x"]))),
    ("space is 'fast'. Give a dict", lambda s: research.optimise(None, "fast", pd.DataFrame())),
    ("prepared is 5. Give what session.prepare returned", lambda s: s.intents.send(5)),
    ("made is 5. Give a TWAP", lambda s: s.parent_orders.start_twap(5, 5)),
    ("first is 5. Give what", lambda s: s.parent_orders.start_twap(twap("BTCUSDC", "BUY", "1", "10m"), 5)),
    ("margin_mode: must be one of CROSS, ISOLATED", lambda s: s.exchange.set_margin_mode("BTCUSDC", 5)),
    ("shock 'deep' is not an exact amount", lambda s: s.what_if("BTCUSDC", "deep")),
    ("choice is 0. Give one of a problem's choices", lambda s: s.ticket("BTCUSDC").take(0)),
    ("price None is not an exact amount", lambda s: s.ticket("BTCUSDC", price=None)),
    ("quantity 0.30000000000000004 is not an exact", lambda s: s.ticket("BTCUSDC", quantity=0.1 + 0.2)),
)


@pytest.mark.parametrize(("words", "call"), WRONG, ids=[words for words, _ in WRONG])
def test_it_names_the_argument_the_value_and_what_would_pass(
    session: Session, words: str, call: Callable[[Session], Any]
) -> None:
    with pytest.raises(InputError) as caught:
        call(session)
    assert words in str(caught.value)
    assert caught.value.field == words.partition(" ")[0].rstrip(":")


def test_a_key_in_the_place_of_a_frame_is_not_repeated() -> None:
    key = "0x" + "ab" * 32
    with pytest.raises(InputError) as caught:
        require(key, pd.DataFrame, "klines", "a DataFrame")
    assert "abab" not in f"{caught.value} {caught.value.value}"


def test_a_ticket_takes_numbers_that_are_exact(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price=50_000.5, quantity=toolkit.products.Decimal("0.010"))
    assert (ticket.price, ticket.quantity) == ("50000.5", "0.010")
    assert ticket.valid
