"""What is shown of a book is what the next order meets, whenever one looks."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

import toolkit
from toolkit.session import Session

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
