"""What an order needs: a sum over its single steps, and the books of an isolated position, for both sides."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest

from tests.support.tuples import changed
from toolkit.exposure import Standing, grown_equity, need_of

SIDES = pytest.mark.parametrize("side", [1, -1], ids=["buy", "sell"])
MARK, UNIT = 1_000, 100
LEVERAGE = 500


def ceil_div(value: int, by: int) -> int:
    return -(-value // by)


def standing(random: Random, side: int, held: int, hedge: bool) -> Standing:
    """Return an account that holds so many steps of the other side, and has resting orders."""
    longs, shorts = (0, held) if side > 0 else (held, 0)
    resting = random.randrange(5) * MARK * UNIT, random.randrange(5) * MARK * UNIT
    return Standing(longs, shorts, *resting, MARK * UNIT, LEVERAGE, hedge, equity=None)


@SIDES
@pytest.mark.parametrize("hedge", [False, True], ids=["one-way", "hedge"])
def test_what_an_order_needs_is_the_sum_of_its_steps(side: int, hedge: bool) -> None:
    """A step that closes and trades needs nothing, one that waits above mark the difference, one that opens its price.

    What opens below mark counts at mark: for the reach always, for the margin of a sell.
    """
    random = Random(7)
    for _ in range(3_000):
        held = random.choice([0, 1, 3, 10])
        account = standing(random, side, held, hedge)
        cover = 0 if hedge else held
        steps = cover + random.randrange(1, 8)
        taken, price = random.randrange(steps + 1), MARK + random.randrange(-300, 300)
        paid = taken * (MARK + random.randrange(-300, 300))
        uncovered = random.randrange(2) * account.reach(side) // 2 if cover else 0
        reach = margin = 0
        for step in range(steps):
            trades = step < taken
            if step < cover:
                reach += 0 if trades else max(0, price - MARK)
                margin += 0 if trades else max(0, price - MARK)
            else:
                reach += max(price, MARK) if trades else price
                margin += max(price, MARK) if trades and side < 0 else price
        need = need_of(account, side, steps, price, MARK, UNIT, taken, paid, uncovered)
        same, other = (account.buys, account.sells) if side > 0 else (account.sells, account.buys)
        assert need.loss == max(0, side * (paid - MARK * taken)) * UNIT
        if cover:
            assert need.reach == same - uncovered + reach * UNIT
            assert need.margin == ceil_div(max(same - uncovered + margin * UNIT, other) * 100, LEVERAGE)
        else:
            assert need.reach == account.reach(side) + reach * UNIT
            assert need.margin == account.initial(side, margin * UNIT)


@dataclass
class Books:
    """An isolated position."""

    side: int
    steps: int
    entry: int
    margin: int

    def equity(self) -> int:
        return self.margin + self.side * (self.steps * MARK * UNIT - self.entry)


@SIDES
def test_equity_after_an_order_that_grows_an_isolated_position_is_that_of_its_books(side: int) -> None:
    random = Random(11)
    for _ in range(3_000):
        books = Books(side, random.randrange(1, 9), 0, random.randrange(10**6))
        books.entry = books.steps * UNIT * (MARK + random.randrange(-200, 200))
        held = (books.steps, 0) if side > 0 else (0, books.steps)
        account = Standing(*held, 0, 0, MARK * UNIT, LEVERAGE, random.random() < 0.5, books.equity())
        taken = random.randrange(1, 6)
        paid = taken * UNIT * (MARK + random.randrange(-200, 200))
        at_mark = taken * MARK * UNIT
        books.margin += ceil_div((paid if side > 0 else at_mark) * 100, LEVERAGE) + max(0, side * (paid - at_mark))
        books.steps, books.entry = books.steps + taken, books.entry + paid
        assert grown_equity(account, side, taken, paid) == books.equity()


@SIDES
def test_only_an_order_that_grows_an_isolated_position_has_such_an_equity(side: int) -> None:
    held = (3, 0) if side > 0 else (0, 3)
    isolated = Standing(*held, 0, 0, MARK * UNIT, LEVERAGE, hedge=False, equity=500)
    assert grown_equity(changed(isolated, equity=None), side, 1, MARK * UNIT) is None, "cross margin"
    assert grown_equity(isolated, side, 0, 0) is None, "it takes nothing"
    assert grown_equity(isolated, -side, 1, MARK * UNIT) is None, "it closes"
    assert grown_equity(changed(isolated, longs=0, shorts=0), side, 1, MARK * UNIT) is None, "there is no position"
