"""Transfers are neither profit nor loss, whenever they come."""

from __future__ import annotations

import random

import pytest

from toolkit.returns import growth


def test_any_transfers_leave_the_return_as_it_is_without_them() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        rates = [rng.uniform(-0.1, 0.1) for _ in range(20)]
        kept, equity, deposited = [1.0], [1_000.0], [0.0]
        for rate in rates:
            moved = rng.choice((0.0, 0.0, 500.0, -0.5 * equity[-1]))
            equity.append((equity[-1] + moved) * (1 + rate))
            deposited.append(deposited[-1] + moved)
            kept.append(kept[-1] * (1 + rate))
        assert growth(equity, deposited) == pytest.approx(kept)


def test_a_first_deposit_is_no_profit_and_nothing_grows_out_of_nothing() -> None:
    assert growth([0, 10_000, 9_000, 0, 0, 500, 550], [0, 10_000, 10_000, 10_000, 10_000, 10_500, 10_500]) == [
        1.0, 1.0, 0.9, 0.0, 0.0, 0.0, 0.0,
    ]  # fmt: skip
    assert growth([], []) == []
    assert growth([0, 500, 550], [0, 500, 500]) == [1.0, 1.0, 1.1]
