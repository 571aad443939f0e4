"""Decimal text: exact, in plain digits, and the inverse of reading it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import numerals


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1, "0.000001"), (-1_500_000, "-1.5"), (10_000_000, "10"), (123_456_789, "123.456789")],
)
def test_micro_amounts_have_no_trailing_zeros(amount: int, text: str) -> None:
    assert numerals.micro_text(amount) == text


@given(st.integers(), st.integers(0, 12))
def test_both_texts_of_an_integer_are_exact(value: int, places: int) -> None:
    fixed, shortest = numerals.fixed_text(value, places), numerals.shortest_text(value, places)
    number = Decimal(value).as_tuple()
    exact = Decimal((number.sign, number.digits, -places))
    assert fixed == format(exact, "f")
    assert shortest == numerals.plain_text(exact)
