"""The local order book: exact order of prices, increments, crossed books."""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolkit
from toolkit.client.stream.local_book import LocalBook
from toolkit.client.stream.protocol import FeedProtocol
from toolkit.errors import FeedError
from toolkit.venue.local import LocalVenue

price = st.integers(1, 40).map(lambda ticks: str(Decimal(ticks) / 4))
quantity = st.sampled_from(["0", "0.000", "1", "2.5", "0.001"])
changes = st.lists(st.tuples(price, quantity), max_size=8)


@settings(max_examples=40)
@given(st.lists(changes, max_size=20))
def test_increments_keep_the_book_a_sorted_map(steps: list[list[tuple[str, str]]]) -> None:
    book, model = LocalBook(), dict[Decimal, tuple[str, str]]()
    for step in steps:
        book.bids.apply(step)
        book.asks.apply(step)
        for px, qty in step:
            model.pop(Decimal(px), None)
            if Decimal(qty):
                model[Decimal(px)] = (px, qty)
        assert book.asks.top() == [model[px] for px in sorted(model)]
        assert book.bids.top(3) == [model[px] for px in sorted(model, reverse=True)[:3]]
        assert len(book.bids) == len(model)


def test_a_crossed_book_is_an_error_that_shows_both_sides() -> None:
    book = LocalBook()
    book.snapshot([("10", "1")], [("11", "1")])
    with pytest.raises(FeedError, match=r"crossed: bid \('11', '2'\) against ask \('11', '1'\)"):
        book.apply([("11", "2")], [])


def test_numbers_in_an_order_book_are_read_like_decimal_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_numbers(self: FeedProtocol, text: str, now_ms: int) -> None:
        message = json.loads(text)
        book = message.get("data", {}).get("book", {})
        for side, levels in book.items():
            book[side] = [[float(px), float(qty)] for px, qty in levels]
            sent.extend(book[side])
        received(self, json.dumps(message), now_ms)

    sent: list[list[float]] = []
    received = FeedProtocol.received
    with LocalVenue(clock="manual", seed=3) as venue:
        tables = []
        for each in (received, as_numbers):
            monkeypatch.setattr(FeedProtocol, "received", each)
            with toolkit.connect(venue=venue) as session:
                book = session.stream.order_book("BTCUSDC", 5)
                assert book.is_live
                tables.append(book.frame())
    assert len(sent) == len(tables[0]) == 10
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.parametrize(
    ("price", "quantity", "fits"),
    [
        ("1" * 18, "1", True),
        ("1" * 19, "1", False),
        ("0." + "1" * 18, "1", True),
        ("0." + "1" * 19, "1", False),
        (".5", "1", True),
        ("5.", "1", True),
        (".", "1", False),
        ("1", "1" * 36, True),
        ("1", "1" * 37, False),
        ("1", "1" * 18 + "." + "1" * 17, True),
        ("1", "1.2.3", False),
        ("1", "", False),
        ("1", ".", False),
        ("1", "+1", False),
        ("1", "١", False),
        ("١", "1", False),
        ("1_0", "1", False),
    ],
)
@pytest.mark.parametrize("how", ["snapshot", "apply"])
def test_prices_have_18_digits_on_each_side_and_quantities_36_signs(
    price: str, quantity: str, fits: bool, how: str
) -> None:
    book = LocalBook()
    if fits:
        getattr(book, how)([(price, quantity)], [])
        assert book.bids.top() == [(price, quantity)]
        assert book.bids.keys == [-int(Decimal(price).scaleb(18))]
    else:
        with pytest.raises(FeedError, match="not a plain decimal number"):
            getattr(book, how)([(price, quantity)], [])


@pytest.mark.parametrize("zero", ["0", "00", "0.0", ".0", "0."])
def test_a_quantity_of_any_spelling_of_nothing_removes_a_level(zero: str) -> None:
    book = LocalBook()
    book.snapshot([("9", "1"), ("8", zero)], [("10", "1"), ("12", "1"), ("13", "2")])
    assert book.bids.top() == [("9", "1")]
    book.apply([("9", zero), ("7", zero)], [("12", zero)])
    assert (book.bids.top(), book.asks.top()) == ([], [("10", "1"), ("13", "2")])
    assert (len(book.bids), len(book.asks)) == (0, 2)
    assert (book.mid, book.spread, book.crossed) == (None, None, False)
    book.apply([("9.5", "10")], [])
    assert (book.mid, book.spread) == (Decimal("9.75"), Decimal("0.5"))
