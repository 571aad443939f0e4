"""One market: what nobody reaches changes nothing in it, and a place in a queue is kept as the venue's rules say."""

from __future__ import annotations

import random

import msgspec
import pytest

from toolkit.venue.engine.commands import Advance, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.simulation import participants

USERS = ("0x" + "7" * 40, "0x" + "8" * 40)


def simulated(seed: int, regime: str = "usual") -> Core:
    core = Core(Genesis(seed=seed, settings={"market": regime}))
    core.record_events(False)
    core.events.clear()
    for user in USERS:
        ledger.deposit(core, core.account(user), 10**13)
    core.apply(Advance(GENESIS_TIME + 60_000))
    return core


def send(core: Core, user: str, **action: object) -> int:
    nonce = core.state.transactions + 1
    return core.apply(Submit(core.state.time, dict(action), user, nonce)).code


def place(core: Core, user: str, side: int, price: int, steps: int, tif: str = "GTC", code: int = 1) -> int:
    """Place an order and return its id, 0 if it did not rest."""
    product = core.products[code]
    item = {"symbolCode": code, "ordPx": product.price_text(price), "ordQty": str(product.quantity_text(steps))}
    item |= {"ordType": "LIMIT", "ordSide": "BUY" if side > 0 else "SELL", "timeInForce": tif}
    assert send(core, user, type="placeOrder", orders=[item]) in (0, 40230)
    last = core.state.last_order
    return last if last in core.account(user).orders else 0


def scatter(core: Core, rng: random.Random) -> None:
    """Let users place orders around the market, from inside of the spread to far away, and cancel some again."""
    for _ in range(rng.randrange(1, 12)):
        code, side, user = rng.choice((1, 1, 1, 2, 3, 4)), rng.choice((1, -1)), rng.choice(USERS)
        bid, ask = core.books.top(code)
        away = rng.choice((-1, 0, 0, 1, 2, rng.randrange(40), rng.randrange(1_000), bid // 3))
        price = max((bid if side > 0 else ask) - side * away, 1)
        steps = max(10 * 1_000_000 // (price * core.products[code].unit) + 1, 1) * rng.choice((1, 5, 400))
        place(core, user, side, price, steps, "POST_ONLY", code)
        if rng.random() < 0.2:
            send(core, user, type="cancelAll", symbolCode=code)


def others(core: Core) -> bytes:
    """Return what the market is without its users, as bytes: tape, candles, index, makers, what waits to be booked."""
    assert core.state.simulation is not None
    core.books.settle()
    products = core.state.simulation.products
    history, kept = core.state.history, {code: sim.fronts for code, sim in products.items()}
    for sim in products.values():
        sim.fronts = {}
    found = msgspec.msgpack.encode((history.trades, history.candles, products))
    for code, sim in products.items():
        sim.fronts = kept[code]
    return found + b"".join(trade.hash.encode() for trades in history.trades.values() for trade in trades[-3:])


def reached(core: Core, alone: Core, end: int) -> bool:
    """Return whether an order traded until `end`, or the makers wanted to quote at its price or beyond."""
    if any(core.state.history.fills_of(user) for user in USERS):
        return True
    resting = [order for user in USERS for order in core.account(user).orders.values()]
    quotes = participants.quotes_of(alone)
    assert quotes is not None
    while alone.state.time < end:
        alone.apply(Advance(alone.state.time + 1))
        for order in resting:
            price = quotes.best_prices(quotes.products[order.product], alone.state.time)[order.side > 0]
            if (order.price - price) * order.side >= 0:
                return True
    return False


def compare(seed: int, cases: int) -> int:
    """Return how many cases of orders that nobody reached left the market as it was; it must be in each of them."""
    rng, same = random.Random(seed), 0
    core = simulated(seed, rng.choice(("usual", "stressed")))
    for _ in range(cases):
        dump, end = core.dump(), core.state.time + rng.choice((40, 900, 5_000, 20_000, 90_000))
        with_orders = Core.load(dump)
        with_orders.record_events(rng.random() < 0.5)
        scatter(with_orders, rng)
        for each in (core, with_orders):
            each.apply(Advance(end))
        if others(with_orders) == others(core):
            same += 1
        else:
            assert reached(with_orders, Core.load(dump), end), f"seed {seed}, at {end}"
        assert not with_orders.violations(history=False)
    return same


def test_orders_that_nobody_reaches_leave_tape_and_makers_as_they_were() -> None:
    assert compare(0, 12) > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 103))
def test_thousands_of_orders_that_nobody_reaches_leave_tape_and_makers_as_they_were(seed: int) -> None:
    assert compare(seed, 60) > 25


@pytest.mark.parametrize("side", [1, -1])
def test_an_order_waits_until_the_makers_ahead_of_it_are_taken(side: int) -> None:
    core = simulated(3)
    first, taker = USERS
    best, steps = next(iter(core.books[1].depth(side, 1)))
    mine = place(core, first, side, best, 100)
    assert core.books[1].depth(side, 1) == [(best, steps + 100)]
    place(core, taker, -side, best, steps - 7, "IOC")
    assert not core.state.history.fills_of(first)
    place(core, taker, -side, best, 7, "IOC")
    assert not core.state.history.fills_of(first)
    place(core, taker, -side, best, 40, "IOC")
    assert [fill.fill_quantity for fill in core.state.history.fills_of(first)] == [40]
    core.apply(Advance(core.state.time + 60_000))  # the makers have refilled
    assert mine in core.account(first).orders or core.state.history.fills_of(first)[-1].leaves == 0
