"""Arguments of interventions: exact amounts, real addresses, and each of the type that its rule declares."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from toolkit.errors import InputError
from toolkit.venue.engine.arguments import address, amount, check_types, positive

LOWER = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
CHECKSUMMED = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def rule(core: object, name: str, count: int = 1) -> None:
    """A control's rule: the first argument is the core's."""


@pytest.mark.parametrize("args", [{"name": "x"}, {"name": "x", "count": 2}])
def test_arguments_that_the_rule_declares_pass(args: dict[str, Any]) -> None:
    check_types(rule, args)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "missing the argument `name`. It takes name: str, count: int"),
        ({"count": 2}, "missing the argument `name`"),
        ({"name": "x", "core": 1}, "there is no argument `core`"),
        ({"name": "x", "more": 1}, "there is no argument `more`"),
        ({"name": "x", "count": "2"}, "count: Expected `int`, got `str`"),
        ({"name": 5}, "name: Expected `str`, got `int`"),
    ],
)
def test_other_arguments_are_named_with_what_the_rule_takes(args: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_types(rule, args)
    assert words in str(caught.value)


def test_a_refused_argument_is_told_with_rule_and_value() -> None:
    with pytest.raises(InputError) as caught:
        check_types(rule, {"name": 5})
    assert (caught.value.rule, caught.value.value) == ("type", {"name": 5})


def test_amounts_are_exact() -> None:
    assert [amount(value, "amount") for value in ("100.5", 7, Decimal("0.1"))] == ["100.5", "7", "0.1"]
    for value, near in ((0.1, "0.1"), (1e22, "1e+22"), (float("nan"), "100.5"), (float("inf"), "100.5")):
        with pytest.raises(InputError, match="a float is not exact") as caught:
            amount(value, "amount")
        assert caught.value.nearest == (near,)
    assert positive("0.000001", "amount") == "0.000001"
    for wrong in ("0", 0, "-1"):
        with pytest.raises(InputError, match="must be above 0"):
            positive(wrong, "amount")


def test_addresses_are_forty_digits_with_their_checksum_if_they_have_one() -> None:
    assert address(LOWER) == address(CHECKSUMMED) == LOWER
    for wrong in (LOWER[2:], LOWER[:-1], LOWER + "0", "0x" + "g" * 40, 5, None):
        with pytest.raises(InputError, match="is not an address"):
            address(wrong)
    with pytest.raises(InputError, match="break the EIP-55 checksum") as caught:
        address(CHECKSUMMED.replace("C7d", "c7d"), "who")
    assert (caught.value.field, caught.value.nearest) == ("who", (LOWER,))
