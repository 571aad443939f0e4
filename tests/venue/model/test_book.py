"""The book by itself: levels in order whatever comes, and the queue of waiting triggers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.venue.model.accounts import VenueOrder
from toolkit.venue.model.book import Book, BookSide
from toolkit.venue.model.constants import LAST_PRICE, MARK_PRICE


def order(number: int, side: int, price: int, leaves: int) -> VenueOrder:
    return VenueOrder(number, "0x1", 1, side, False, 1, 1, 0, price, leaves, leaves)


moves = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 9), st.booleans()), max_size=120)


@settings(max_examples=200)
@given(st.sampled_from([1, -1]), moves)
def test_a_ladder_is_a_sorted_dictionary_of_queues(side: int, script: list[tuple[int, int, bool]]) -> None:
    ladder, model = BookSide(side), dict[int, list[VenueOrder]]()
    for number, (price, leaves, remove) in enumerate(script, 1):
        queue = model.get(price)
        if remove and queue:
            gone = queue.pop(number % len(queue))
            ladder.remove(gone)
            if not queue:
                del model[price]
        else:
            made = order(number, side, price, leaves)
            model.setdefault(price, []).append(made)
            level = ladder.add(made)
            assert level.total == sum(each.leaves for each in model[price])
        prices = sorted(model, reverse=side > 0)
        assert [level.price for level in ladder] == prices
        assert ladder.best == (prices[0] if prices else 0)
        assert len(ladder.levels) == len(prices)
        for level in ladder:
            assert [each.id for each in level.orders.values()] == [each.id for each in model[level.price]]
            assert level.total == sum(each.leaves for each in model[level.price])
        limit = 30
        within = [price for price in prices if price * side >= limit * side]
        assert [level.price for level in ladder.within(limit)] == within


def test_depth_and_mid() -> None:
    book = Book(1)
    assert book.depth(1, 5) == []
    for number, (side, price) in enumerate([(1, 99), (1, 98), (1, 99), (-1, 102), (-1, 103)], 1):
        book.side(side).add(order(number, side, price, number))
    assert book.depth(1, 5) == [(99, 4), (98, 2)]
    assert book.depth(1, 1) == [(99, 4)]
    assert book.depth(-1, 5) == [(102, 4), (103, 5)]


waiting = st.lists(
    st.tuples(st.integers(1, 40), st.booleans(), st.sampled_from([LAST_PRICE, MARK_PRICE])), min_size=1, max_size=30
)
