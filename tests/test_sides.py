"""A wish becomes the same order of an account everywhere: by its mode, and never more than the other leg is closed."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from toolkit import orders
from toolkit.limits import Book
from toolkit.sides import change_of, closes_leg, in_mode, leg_of, side_of, sign_of

STEPS = st.integers(0, 50)


def test_sides_by_mode() -> None:
    assert [side_of(sign, closes=closes) for sign in (1, -1) for closes in (False, True)] == [
        *("BUY", "BUY_CLOSE_HEDGE", "SELL", "SELL_CLOSE_HEDGE")
    ]
    assert [(sign_of(one), closes_leg(one), leg_of(one)) for one in orders.SIDES] == [
        *((1, False, "LONG"), (-1, False, "SHORT"), (1, True, "SHORT"), (-1, True, "LONG"))
    ]
    assert in_mode("SELL", "REDUCE_ONLY", True) == ("SELL_CLOSE_HEDGE", None)
    assert in_mode("BUY", "SL_FROM_POSITION", True) == ("BUY_CLOSE_HEDGE", "SL_FROM_POSITION")
    assert in_mode("BUY", "REDUCE_ONLY", False) == ("BUY", "REDUCE_ONLY")
    assert in_mode("BUY", None, True) == ("BUY", None)
    assert in_mode("BUY_CLOSE_HEDGE", None, True) == ("BUY_CLOSE_HEDGE", None)


@given(longs=STEPS, shorts=STEPS, steps=st.integers(-120, 120))
def test_a_change_of_the_net_size_closes_first_and_ends_at_the_same_net_size(
    longs: int, shorts: int, steps: int
) -> None:
    book, change = Book(Decimal("0.001"), True, longs, shorts), change_of(steps, longs, shorts)
    for count, closes in ((change.closes, True), (change.opens, False)):
        book.take(side_of(steps, closes=closes), count)
    assert book.net == longs - shorts + steps
    assert min(book.longs, book.shorts) >= 0
    assert min(book.longs, book.shorts) <= min(longs, shorts), "no leg grows against the other one"
