"""What the simulated market teaches, within wide bounds; `python -m tests.benchmarks market` measures it closely."""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pytest

import toolkit
from tests.benchmarks import first_seconds, own_orders
from tests.benchmarks import market_realism as measured
from toolkit.session import Session
from toolkit.venue.engine.commands import Advance

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen() -> list[measured.Observed]:
    return [measured.observe(seed, 4) for seed in (1, 2)]


def test_taker_orders_come_in_bursts_and_keep_their_side(seen: list[measured.Observed]) -> None:
    for each in seen:
        gaps = np.diff(each.tape.order_times)
        assert gaps.std() / gaps.mean() > 1.1
        sides = each.tape.order_sides
        near, far = (np.corrcoef(sides[:-lag], sides[lag:])[0, 1] for lag in (1, 10))
        assert near > 0.05
        assert far > 0


def test_the_mid_follows_taker_orders_and_large_ones_more(seen: list[measured.Observed]) -> None:
    for each in seen:
        moved = first_seconds.responses(each.tape)
        large = each.tape.order_values >= np.quantile(each.tape.order_values, 0.9)
        for side in (1, -1):
            assert (np.nanmean(moved[each.tape.order_sides == side, :-1], axis=0) > 0).all()
        assert np.nanmean(moved[large, 1]) > np.nanmean(moved[:, 1])


def test_the_best_queues_say_which_way_the_mid_moves_next(seen: list[measured.Observed]) -> None:
    for each in seen:
        found = first_seconds.figures(each.tape)
        for name, bound in first_seconds.BOUNDS.items():
            if bound.least is not None and bound.most is not None:
                assert bound.least <= found[name] <= bound.most, name


def test_the_spread_varies(seen: list[measured.Observed]) -> None:
    tapes = [each.tape for each in seen]
    spreads = np.concatenate([(tape.asks - tape.bids) / tape.mids * 1e4 for tape in tapes])
    assert 0.5 < np.median(spreads) < 4
    assert np.quantile(spreads, 0.95) > 1.5 * np.median(spreads)


def test_returns_have_fat_tails_and_products_move_together(seen: list[measured.Observed]) -> None:
    moved = np.concatenate([np.diff(np.log(each.minute_mids), axis=0) for each in seen])
    first = moved[:, 0] - moved[:, 0].mean()
    assert (first**4).mean() / (first**2).mean() ** 2 > 4
    assert 0.4 < np.corrcoef(moved[:, 0], moved[:, 1])[0, 1] < 0.97


def test_volatility_lasts_for_an_hour_and_all_seeds_have_one_season() -> None:
    lasting, season = measured.past_rows((1, 2))
    assert 0.1 < lasting.value < 0.3
    assert season.value > 0.2


def test_funding_rates_differ_between_settlements_and_products() -> None:
    core = own_orders.simulated(1)
    core.apply(Advance(core.state.time + 12 * 3_600_000))
    rates = [rate.rate for settled in core.state.history.funding_rates.values() for rate in settled]
    assert len(rates) == 12
    assert len(set(rates)) >= 4


def test_own_orders_move_the_mid_and_larger_ones_move_it_further() -> None:
    rows = own_orders.impact_rows(sizes=(30_000, 1_000_000), seeds=(1,), wait_ms=600_000)
    small, _, large, left, soon, later, parts = (row.value for row in rows)
    assert 0 < small < large
    assert 4 < large / small < 8  # the square root of 33 is 5.8
    assert 0.3 < left < 0.95
    assert min(soon, later) > 0, "a large order there and back costs"
    assert 0.8 < parts < 1.2


def test_quotes_are_filled_by_takers_and_the_naive_one_is_filled_when_it_is_wrong() -> None:
    naive, better = (
        own_orders.run(quote, 3, 0.15, every_ms)
        for quote, every_ms in ((own_orders.naive, 5_000), (own_orders.first, 100))
    )
    assert naive.fills > 10
    assert better.fills > naive.fills
    assert naive.from_takers == better.from_takers == 1
    assert naive.after_bp[1] < better.after_bp[1]


def test_a_sane_quote_neither_always_earns_nor_always_loses() -> None:
    profits = [own_orders.run(own_orders.sane, seed, 0.25, 100).profit_bp for seed in range(1, 9)]
    assert min(profits) < 0 < max(profits)


CODES = {1: "BTCUSDC", 4: "XRPUSDC"}
DEPTH = 20


def act(session: Session, code: int, side: int, price: Decimal, quantity: Decimal, tif: str) -> tuple[Decimal, int]:
    """Send an order; return what it filled, and its id if it rests, else 0."""
    local = session.venue.host
    core, user = local.core, local.masters[0]
    order = {"symbolCode": code, "ordPx": str(price), "ordQty": str(quantity), "ordType": "LIMIT", "timeInForce": tif}
    order["ordSide"] = "BUY" if side > 0 else "SELL"
    answer = session.venue.control.act(user, {"type": "placeOrder", "orders": [order]})
    done, product = int(answer["results"][0]["ordId"]), core.products[code]
    filled = sum(fill.fill_quantity for fill in core.state.history.fills_of(user.lower()) if fill.order_id == done)
    return Decimal(str(product.quantity_text(filled))), done if done in core.state.accounts[user.lower()].orders else 0


def met(session: Session, code: int, side: int) -> list[tuple[Decimal, Decimal]]:
    """Return the levels that the core's matching holds."""
    core = session.venue.host.core
    product, levels = core.products[code], core.books[code].depth(side, DEPTH)
    return [
        (Decimal(str(product.price_text(price))), Decimal(str(product.quantity_text(held)))) for price, held in levels
    ]


def compare(seed: int, steps: int) -> None:
    """Let time pass in random steps: after each, all that shows a book shows what the core has, and orders meet it."""
    rng = random.Random(seed)
    with toolkit.connect(clock="manual", market=rng.choice(("usual", "stressed")), seed=seed) as session:
        live = {code: session.stream.order_book(symbol, depth=DEPTH) for code, symbol in CODES.items()}
        control, host = session.venue.control, session.venue.host
        control.fund(host.masters[0], "900000000")
        for _ in range(steps):
            session.venue.advance(f"{rng.choice((1, 40, 100, 700, 2_999, rng.randrange(1, 30_000)))}ms")
            for code, book in live.items():
                assert [book.bids(), book.asks()] == [met(session, code, 1), met(session, code, -1)]
            code, side = rng.choice(tuple(CODES)), rng.choice((1, -1))
            other, shown = (live[code].bids(), live[code].asks())[::side]
            if rng.random() < 0.2:
                frame = session.order_book(CODES[code], depth=DEPTH)
                rows = frame[frame.side == ("SELL" if side > 0 else "BUY")]
                assert [
                    (Decimal(str(price)), Decimal(str(held))) for price, held in rows[["price", "quantity"]].values
                ] == shown
            inside = shown[0][0] - side * host.core.products[code].tick_size
            match rng.randrange(4):
                case 0:
                    assert act(session, code, side, *shown[0], "IOC") == (shown[0][1], 0)
                case 1 if inside != other[0][0]:
                    assert act(session, code, side, inside, shown[0][1], "POST_ONLY")[1]
                case 2:
                    wanted = sum((held for _, held in shown[:3]), Decimal())
                    assert act(session, code, side, shown[2][0], wanted + 1, "IOC") == (wanted, 0)
            control.act(host.masters[0], {"type": "cancelAll", "symbolCode": code, "conditionalOrder": False})


def test_what_is_shown_is_what_fills() -> None:
    compare(1, 25)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 12))
def test_what_is_shown_is_what_fills_over_thousands_of_instants(seed: int) -> None:
    compare(seed, 250)
