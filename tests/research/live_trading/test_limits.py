"""The limits of a run count both sides: an order is refused by where it could lead, whichever way that is."""

from __future__ import annotations

import random
from collections import deque
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from toolkit import orders
from toolkit.errors import InputError, LimitReached
from toolkit.limits import Book, Limits
from toolkit.research.account_data import OrderHandle
from toolkit.research.live_trading.limits import check_order, check_run

BTC, PRICE = "BTCUSDC", 50_000.0
SIDES = ("BUY", "SELL")
OTHER = {"BUY": "SELL", "SELL": "BUY"}


def state(held: float = 0.0, *placed: tuple[str, str], **more: Any) -> Any:
    """Return the state of a run with a position and open orders; BTC is in steps of 0.001."""
    handles = [OrderHandle(orders.order(BTC, side, quantity, price="50000")) for side, quantity in placed]
    book = Book(Decimal("0.001"), longs=round(max(held, 0) * 1000), shorts=round(max(-held, 0) * 1000))
    given = {
        "now": lambda: 1_000_000, "sent_ms": deque(), "symbols": (BTC,), "placed": handles, "books": {BTC: book},
        "prices": {BTC: PRICE},
        "witnesses": SimpleNamespace(book=SimpleNamespace(agrees=True), doubts_money=lambda now: False),
    }  # fmt: skip
    return SimpleNamespace(**given | {"equity_of_day": lambda: float("nan")} | more)


def signed(side: str, quantity: float) -> float:
    return quantity if side.startswith("BUY") else -quantity


@pytest.mark.parametrize("mode", ["", "_CLOSE_HEDGE"], ids=["one-way", "hedge"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("held", "open_same", "open_other", "quantity", "total"),
    [
        (0.0, None, None, "0.02", 0.02),
        (0.0, None, None, "0.021", 0.021),
        (0.015, None, None, "0.005", 0.02),
        (0.015, None, None, "0.006", 0.021),
        (-0.015, None, None, "0.034", 0.019),  # it turns the position round
        (-0.015, None, None, "0.036", 0.021),
        (0.0, "0.015", None, "0.005", 0.02),
        (0.0, "0.015", None, "0.006", 0.021),
        (0.0, None, "0.015", "0.005", 0.015),  # not both sides together
        (0.0, None, "0.021", "0.005", 0.021),  # the other side alone is too much
        (0.01, "0.005", "0.02", "0.005", 0.02),
        (0.01, "0.006", "0.02", "0.005", 0.021),
    ],
)
def test_an_order_of_either_side_is_refused_where_it_could_lead_too_far(
    side: str, mode: str, held: float, open_same: str | None, open_other: str | None, quantity: str, total: float
) -> None:
    """Quantities in BTC, of `held` those on the side of the order; the limit is that of 0.02 BTC."""
    placed = [(side, open_same)] * bool(open_same) + [(OTHER[side], open_other)] * bool(open_other)
    made = orders.order(BTC, side + mode, quantity, price="50000")
    limits, run = Limits(max_notional=0.02 * PRICE), state(signed(side, held), *placed)
    if total <= 0.02:
        check_order(limits, run, made)
        return
    with pytest.raises(LimitReached, match=f"{side}.* would increase positions to {total * PRICE:,.2f} USDC") as caught:
        check_order(limits, run, made)
    assert caught.value.limit == "max_notional"
    assert ("with open orders filled" in str(caught.value)) is bool(placed)


@pytest.mark.parametrize("side", SIDES)
def test_what_only_reduces_passes_and_what_has_ended_does_not_count(side: str) -> None:
    limits = Limits(max_notional=0.02 * PRICE)
    check_order(limits, state(signed(side, -0.5)), orders.order(BTC, side, "0.4", price="50000", reduce_only=True))
    run = state(0.0, (side, "0.02"), (side, "0.02"))
    run.placed[0].state, run.placed[1].filled = "CANCELED", 0.01
    run.placed.append(OrderHandle(orders.order(BTC, side, "0.5", price="50000", reduce_only=True)))
    check_order(limits, run, orders.order(BTC, side, "0.01", price="50000"))
    with pytest.raises(LimitReached):
        check_order(limits, run, orders.order(BTC, side, "0.011", price="50000"))


@pytest.mark.parametrize("side", SIDES)
def test_orders_of_either_side_are_counted(side: str) -> None:
    limits = Limits(max_orders_per_minute=2)
    made = orders.order(BTC, side, "0.01", price="50000")
    check_order(limits, state(sent_ms=deque([940_000, 940_001])), made)  # the first is a minute old
    with pytest.raises(LimitReached, match="2 orders in the last minute"):
        check_order(limits, state(sent_ms=deque([940_001, 999_999])), made)


@pytest.mark.parametrize(("fall", "stops"), [(100.0, False), (100.01, True), (-500.0, False), (float("nan"), False)])
def test_a_loss_stops_the_run_whichever_side_lost_it(fall: float, stops: bool) -> None:
    run = state(first_equity=1_000.0, earned=1_000.0 - fall, answered_ms=1_000_000)
    if stops:
        with pytest.raises(LimitReached, match="equity fell by"):
            check_run(Limits(max_loss=100.0), run)
    else:
        check_run(Limits(max_loss=100.0), run)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (Limits(max_position=0.02), "BUY BTCUSDC would increase the position to 0.021. The limit is 0.02"),
        (Limits(max_position={BTC: 0.02}), "would increase the position to 0.021"),
        (Limits(max_order_notional=300), "BUY BTCUSDC is worth 350.00 USDC. The limit is 300.00"),
        (Limits(symbols=("ETHUSDC",)), "BTCUSDC is not among the allowed symbols: ETHUSDC"),
    ],
)
def test_each_further_limit_says_what_it_counts(limits: Limits, says: str) -> None:
    with pytest.raises(LimitReached, match=says):
        check_order(limits, state(0.014), orders.order(BTC, "BUY", "0.007", price="50000"))
    check_order(limits, state(0.014), orders.order(BTC, "SELL", "0.007", price="50000", reduce_only=True))


def test_a_limit_that_limits_nothing_is_refused() -> None:
    for wrong in (0, -1, float("nan"), "a hundred", True):
        with pytest.raises(InputError, match=r"max_notional is .*. Give a number above 0, or None"):
            Limits(max_notional=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"symbols is 'BTCUSDC'. Give several, such as \('BTCUSDC',\)"):
        Limits(symbols="BTCUSDC")  # type: ignore[arg-type]


def test_hedged_legs_are_counted_apart_and_with_all_that_is_open() -> None:
    run = state(0.0, ("BUY", "0.01"), ("SELL", "0.005"))
    book = run.books[BTC]
    book.hedge = True
    for side, steps in (("BUY", 30), ("SELL", 20), ("SELL_CLOSE_HEDGE", 10), ("BUY_CLOSE_HEDGE", 5)):
        book.take(side, steps)
    assert (book.longs, book.shorts, book.net) == (20, 15, 5)
    run.placed[1].state = "UNKNOWN"
    limits, made = Limits(max_notional=0.06 * PRICE), orders.order(BTC, "SELL", "0.01", price="50000")
    check_order(limits, run, made)  # 0.02 + 0.015 + 0.01 + 0.005 + 0.01
    with pytest.raises(LimitReached, match=r"positions to 3,050.00 USDC with open orders filled"):
        check_order(limits, run, orders.order(BTC, "SELL", "0.011", price="50000"))
    check_order(limits, run, orders.order(BTC, "SELL_CLOSE_HEDGE", "0.02", price="50000"))


@pytest.mark.slow
@pytest.mark.parametrize("hedge", [False, True], ids=["one-way", "hedge"])
def test_whatever_the_sequence_no_limit_is_exceeded(hedge: bool) -> None:
    """Orders rest, fill in part, vanish or stay unknown; the legs are kept here a second time, by hand."""
    refused = 0
    for seed in range(200):
        rng = random.Random(seed)
        most = rng.randint(5, 60) / 1000
        limits, run = Limits(max_notional=most * PRICE, max_position=most, max_orders_per_minute=None), state()
        run.books[BTC].hedge = hedge
        longs, shorts = 0.0, 0.0
        for _ in range(30):
            side = rng.choice(SIDES) + ("_CLOSE_HEDGE" if hedge and rng.random() < 0.3 else "")
            handle = OrderHandle(orders.order(BTC, side, str(rng.randint(1, 30) / 1000), price="50000"))
            try:
                check_order(limits, run, handle.order)
                run.placed.append(handle)
            except LimitReached:
                refused += 1
            for open_order in [each for each in run.placed if not each.done]:
                event = rng.choice(("rest", "fill", "part", "cancel", "unknown"))
                left = float(open_order.order.quantity) - open_order.filled
                if event in ("fill", "part"):
                    traded = left if event == "fill" else round(left * 500) / 1000
                    buys, closes = open_order.order.side.startswith("BUY"), "CLOSE" in open_order.order.side
                    if closes:
                        traded = min(traded, shorts if buys else longs)
                    run.books[BTC].take(open_order.order.side, round(traded * 1000))
                    if buys is closes:
                        shorts += -traded if buys else traded
                    else:
                        longs += traded if buys else -traded
                    if not hedge:
                        longs, shorts = max(longs - shorts, 0.0), max(shorts - longs, 0.0)
                    open_order.filled += traded
                    open_order.state = "FILLED" if event == "fill" else open_order.state
                elif event != "rest":
                    open_order.state = {"cancel": "CANCELED", "unknown": "UNKNOWN"}[event]
                assert longs + shorts <= most + 1e-9
                assert run.books[BTC].longs == round(longs * 1000)
                assert run.books[BTC].shorts == round(shorts * 1000)
    assert refused > 800
