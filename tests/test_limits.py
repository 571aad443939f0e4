"""Limits are exact: an order passes up to each limit and not a step beyond, on every side, in every mode."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from toolkit import Limits, orders
from toolkit.errors import InputError, LimitReached
from toolkit.limits import Book, exact
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
    """Two thousand random calls against a count of all times; the wait that a refusal names is the shortest."""
    random, now, most = Random(1), 0, 5
    limits, sent, every = Limits(max_orders_per_minute=most), deque[int](), list[int]()
    for _ in range(2_000):
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
    assert len(every) > 600


@pytest.mark.parametrize(("limit", "says"), [("max_loss", "by 100.01"), ("max_daily_loss", "since the day began")])
def test_a_loss_stops_beyond_its_limit_and_not_at_it(limit: str, says: str) -> None:
    limits = Limits(**{limit: 100})
    at, beyond = ((100.0, 0.0), (100.01, 0.0)) if limit == "max_loss" else ((0.0, 100.0), (0.0, 100.01))
    limits.check_loss(*at)
    limits.check_loss(float("nan"), float("nan"))
    with pytest.raises(LimitReached, match=says) as caught:
        limits.check_loss(*beyond)
    assert caught.value.limit == limit


@pytest.mark.parametrize("hedge", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_fills_are_booked_as_a_plain_count_of_both_legs_has_them(seed: int, hedge: bool) -> None:
    """One-way: one signed number. Hedge: opening sides add to their leg, closing sides take from the other one's."""
    random, book, net, legs = Random(seed), Book(STEP, hedge), 0, {"BUY": 0, "SELL": 0}
    for _ in range(200):
        side, steps = random.choice(SIDES), random.randrange(1, 9)
        other = "SELL" if side == "BUY" else "BUY"
        net += steps if side == "BUY" else -steps
        if hedge and random.random() < 0.5 and legs[other] >= steps:
            book.take(f"{side}_CLOSE_HEDGE", steps)
            legs[other] -= steps
        else:
            book.take(side, steps)
            legs[side] += steps
        expected = (legs["BUY"], legs["SELL"]) if hedge else (max(net, 0), max(-net, 0))
        assert (book.longs, book.shorts, book.net, book.hedge) == (*expected, net, hedge)


@pytest.mark.parametrize("side", SIDES)
def test_a_fill_that_closes_a_leg_shows_that_the_account_is_in_hedge_mode(side: str) -> None:
    book = held("SELL" if side == "BUY" else "BUY", 5, None)
    book.take(f"{side}_CLOSE_HEDGE", 2)
    assert (book.hedge, abs(book.net)) == (True, 3)
    book.take(side, 4)
    assert (min(book.longs, book.shorts), max(book.longs, book.shorts)) == (3, 4)


def test_a_new_book_is_flat_in_one_way_mode_and_covers() -> None:
    assert Book(STEP) == Book(STEP, False, 0, 0, True)


@pytest.mark.parametrize("covers", [False, True], ids=["session", "run"])
@pytest.mark.parametrize("hedge", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_a_position_reaches_what_any_fills_of_its_orders_lead_to(seed: int, hedge: bool | None, covers: bool) -> None:
    """Every set of the orders is filled, from the position, and on a session also from none. In hedge mode both legs
    grow. Orders that only reduce lead to nothing, and of an order that is filled in part the rest counts."""
    random = Random(seed)
    for _ in range(20):
        longs, shorts = random.choice([(0, 0), (random.randrange(9), 0), (0, random.randrange(9))])
        resting: list[tuple[Order, float]] = []
        signed = []
        for _ in range(random.randrange(5)):
            side, steps, done = random.choice(SIDES), random.randrange(1, 9), random.choice([0, 0, 1])
            reduces = random.random() < 0.2
            closes = hedge is not False and not reduces and random.random() < 0.2
            side_given = f"{side}_CLOSE_HEDGE" if closes else side
            order = orders.order(BTC, side_given, steps * STEP, "1000", reduce_only=reduces or None)
            resting.append((order, float(done * STEP)))
            if not reduces and not closes:
                signed.append((1 if side == "BUY" else -1) * (steps - done))
        if hedge is False:
            reached = {longs - shorts} if covers else {longs - shorts, 0}
            for change in signed:
                reached |= {size + change for size in reached}
            expected = max(map(abs, reached))
        else:
            expected = longs + shorts + sum(map(abs, signed))
        assert Book(STEP, hedge, longs, shorts, covers).reach(resting) == expected * STEP


def test_a_refusal_says_how_many_orders_there_were_and_when_they_pass() -> None:
    limits, sent = Limits(max_orders_per_minute=3), deque([1_000, 2_000])
    limits.check_rate(sent, 30_000)
    for many, words in (
        (2, ("2 orders in the last minute", "the limit is 3", "and there are 2 more", "they pass in 31 s")),
        (3, ("and there are 3 more", "they pass in 32 s")),
        (4, ("and there are 4 more", "at most 3 together pass")),
    ):
        with pytest.raises(LimitReached) as caught:
            limits.check_rate(sent, 30_000, many)
        assert all(word in str(caught.value).lower() for word in words), caught.value
    sent.append(30_000)
    with pytest.raises(LimitReached, match=r"(?i)the limit is 3\W+the next passes in 31 s") as caught:
        limits.check_rate(sent, 30_000)
    assert "more" not in str(caught.value)
    limits.check_rate(sent, 61_000)
    assert sent == deque([2_000, 30_000])
    Limits(max_orders_per_minute=None).check_rate(deque(range(1_000)), 1_000, 500)
    assert Limits() == Limits(max_orders_per_minute=60, max_stale=30.0)


@pytest.mark.parametrize("side", SIDES)
def test_a_refusal_names_what_would_pass_and_counts_other_orders_only_where_there_are_any(side: str) -> None:
    books = {BTC: Book(STEP), ETH: Book(STEP)}
    with pytest.raises(
        LimitReached, match=r"(?i)positions to 600\.00 USDC.* the limit is 500\.00.* at most 0\.008"
    ) as caught:
        check(Limits(max_notional=500), orders.order(BTC, side, "0.01"), books)
    assert "open orders" not in str(caught.value)
    resting = {ETH: [(orders.order(ETH, side, "0.1", price="1000"), 0.0)]}
    with pytest.raises(LimitReached, match=r"(?i)800\.00 USDC with open orders filled.* at most 0\.005"):
        check(Limits(max_notional=500), orders.order(BTC, side, "0.01"), books, **resting)
    with pytest.raises(LimitReached, match=r"(?i)0\.010.* the limit is 0\.0005\b.* only orders that reduce pass"):
        check(Limits(max_position=0.0005), orders.order(BTC, side, "0.01"), books)
    with pytest.raises(LimitReached, match=r"(?i)is worth 600\.00 USDC.* the limit is 60\.00.* at most 0\.001 passes"):
        check(Limits(max_order_notional=60), orders.order(BTC, side, "0.01"), books)
    check(Limits(max_position={ETH: 0.001}), orders.order(BTC, side, "5"), books)
    check(Limits(symbols=(BTC,)), orders.order(BTC, side, "5"), books)


@pytest.mark.parametrize(
    "value", [0, -1, True, "five", "nan", float("nan"), {BTC: 0}, {BTC: True}, {BTC: 1, ETH: None}]
)
def test_a_limit_is_a_number_above_0(value: Any) -> None:
    with pytest.raises(InputError, match=r"max_position is .*number above 0"):
        Limits(max_position=value)
    for name in ("max_notional", "max_loss", "max_daily_loss", "max_orders_per_minute", "max_stale"):
        with pytest.raises(InputError, match=f"{name} is "):
            Limits(**{name: value if not isinstance(value, dict) else 0})
    assert Limits(max_position={BTC: 1, ETH: Decimal("0.5")}, max_notional=Decimal(1)).symbols is None


def test_a_number_is_taken_as_it_is_written() -> None:
    assert (exact(0.1), exact(Decimal("0.1")), exact(3)) == (Decimal("0.1"), Decimal("0.1"), 3)


def test_of_an_absurd_quantity_the_largest_that_passes_is_still_found() -> None:
    with pytest.raises(LimitReached, match=r"(?i)at most 0\.050 passes"):
        check(Limits(max_position=0.05), Order(BTC, "BUY", "9" * 30), {BTC: Book(STEP)})
