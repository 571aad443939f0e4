"""Limits are exact: an order passes up to each limit and not a step beyond, on every side, in every mode."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from toolkit import Limits, orders
from toolkit.errors import LimitReached
from toolkit.limits import Book
from toolkit.orders import Order

BTC, ETH = "BTCUSDC", "ETHUSDC"
STEP = Decimal("0.001")
PRICES = {BTC: Decimal(60_000), ETH: Decimal(2_000)}
SIDES = ["BUY", "SELL"]
MODES = [False, True, None]
"""One-way, hedge, and an account whose mode is not known yet."""


def check(limits: Limits, order: Order, books: dict[str, Book], **resting: list[tuple[Order, float]]) -> None:
    every = {name: resting.get(name, []) for name in books}
    limits.check_order(order, books, every, PRICES.__getitem__)


def held(side: str, steps: int, hedge: bool | None, *, covers: bool = False) -> Book:
    """Return a position that an order of this side adds to."""
    longs, shorts = (steps, 0) if side == "BUY" else (0, steps)
    return Book(STEP, hedge, longs, shorts, covers)


@pytest.mark.parametrize("covers", [False, True], ids=["session", "run"])
@pytest.mark.parametrize("hedge", MODES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("limit", "most", "passes"),
    [
        ("max_position", 0.05, "0.020"),
        ("max_position", {BTC: 0.05, ETH: 9}, "0.020"),
        ("max_notional", 5_000, "0.020"),  # 0.03 BTC and 1 ETH are 3,800
        ("max_order_notional", 1_200, "0.020"),
    ],
)
def test_an_order_passes_up_to_exactly_each_limit(
    limit: str, most: Any, passes: str, side: str, hedge: bool | None, covers: bool
) -> None:
    limits = Limits(**{limit: most})
    books = {BTC: held(side, 10, hedge, covers=covers), ETH: held(side, 1_000, hedge, covers=covers)}
    resting = {BTC: [(orders.order(BTC, side, "0.03", price="1000"), 0.01)]}  # of which 0.02 is left
    check(limits, orders.order(BTC, side, passes), books, **resting)
    with pytest.raises(LimitReached, match=rf"{side} BTCUSDC .*. At most {passes} passes") as caught:
        check(limits, orders.order(BTC, side, Decimal(passes) + STEP), books, **resting)
    assert caught.value.limit == limit
    reduces = orders.order(BTC, "SELL" if side == "BUY" else "BUY", "0.010", reduce_only=True)
    check(Limits(max_position=0.001, max_notional=1, max_order_notional=1, symbols=(ETH,)), reduces, books)


@pytest.mark.parametrize("hedge", MODES)
@pytest.mark.parametrize("side", SIDES)
def test_a_position_covers_an_order_of_the_other_side_in_a_run_only(side: str, hedge: bool | None) -> None:
    """0.02 held and 0.04 of the other side: 0.02 net in a run, 0.04 in a session, both legs in hedge mode."""
    other = "SELL" if side == "BUY" else "BUY"
    for covers in (False, True):
        passes = {False: "0.04" if covers else "0.02", True: None, None: None}[hedge]
        books = {BTC: held(side, 20, hedge, covers=covers)}
        for quantity in ("0.001", "0.020", "0.040", "0.041"):
            allowed = passes is not None and Decimal(quantity) <= Decimal(passes)
            try:
                check(Limits(max_position=0.02), orders.order(BTC, other, quantity), books)
            except LimitReached:
                assert not allowed, quantity
            else:
                assert allowed, quantity


def test_only_orders_within_the_limit_go_out_in_any_minute() -> None:
    """Ten thousand random calls against a count of all times; the wait that a refusal names is the shortest."""
    random, now, most = Random(1), 0, 5
    limits, sent, every = Limits(max_orders_per_minute=most), deque[int](), list[int]()
    for _ in range(10_000):
        now += random.choice([0, 1, 900, 5_999, 6_000, 20_000, 59_999, 60_000])
        many = random.choice([1, 1, 2, 5, 6])
        recent = sum(time > now - 60_000 for time in every)
        if recent + many <= most:
            limits.check_rate(sent, now, many)
            sent.extend([now] * many)
            every += [now] * many
            continue
        with pytest.raises(LimitReached) as caught:
            limits.check_rate(sent, now, many)
        assert caught.value.limit == "max_orders_per_minute"
        if many > most:
            assert "At most 5 together pass" in str(caught.value)
            continue
        seconds = int(str(caught.value).rpartition(" in ")[2].removesuffix(" s"))
        limits.check_rate(deque(sent), now + seconds * 1_000, many)
        with pytest.raises(LimitReached):
            limits.check_rate(deque(sent), now + (seconds - 1) * 1_000, many)
    assert len(every) > 3_000


@pytest.mark.parametrize(("limit", "says"), [("max_loss", "by 100.01"), ("max_daily_loss", "since the day began")])
def test_a_loss_stops_beyond_its_limit_and_not_at_it(limit: str, says: str) -> None:
    limits = Limits(**{limit: 100})
    at, beyond = ((100.0, 0.0), (100.01, 0.0)) if limit == "max_loss" else ((0.0, 100.0), (0.0, 100.01))
    limits.check_loss(*at)
    limits.check_loss(float("nan"), float("nan"))
    with pytest.raises(LimitReached, match=says) as caught:
        limits.check_loss(*beyond)
    assert caught.value.limit == limit
