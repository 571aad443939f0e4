"""The engine against a naive model: same trades, same open orders, same positions, whatever comes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.venue.floor import PRICES
from tests.venue.invariants import OrderWatch
from tests.venue.naive import FOK, GTC, IOC, POST_ONLY, Naive, Plain
from tests.venue.reference import driver
from tests.venue.reference import steps as reference_steps
from toolkit.venue.engine.commands import Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model import constants
from toolkit.venue.model.accounts import VenueOrder
from toolkit.venue.model.constants import HEDGE, STATUS_NAMES
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.trading import lifecycle, matching, positions

ACCOUNTS = tuple(f"0x{number:040x}" for number in range(0xA1, 0xA6))
HEDGED = frozenset(ACCOUNTS[3:])
BASE = 600_000

Step = tuple[Any, ...]
SIDES = {(1, False): "BUY", (-1, False): "SELL", (1, True): "BUY_CLOSE_HEDGE", (-1, True): "SELL_CLOSE_HEDGE"}

placing = st.tuples(
    st.just("place"),
    st.sampled_from(ACCOUNTS),
    st.sampled_from((1, -1)),
    st.booleans(),
    st.one_of(st.none(), st.integers(BASE - 6, BASE + 6)),
    st.integers(1, 9),
    st.sampled_from((GTC, GTC, IOC, FOK, POST_ONLY)),
    st.booleans(),
)
picking = st.integers(0, 1_000)
cancelling = st.tuples(st.just("cancel"), picking)
replacing = st.tuples(
    st.just("replace"),
    picking,
    st.integers(BASE - 6, BASE + 6),
    st.integers(1, 12),
    st.sampled_from((GTC, POST_ONLY)),
)
sweeping = st.tuples(st.just("all"), st.sampled_from(ACCOUNTS))
steps = st.lists(st.one_of(placing, placing, placing, cancelling, replacing, sweeping), max_size=60)


class Pair:
    """The engine and the model, side by side."""

    def __init__(self) -> None:
        self.core = Core(Genesis(prices=PRICES, settings={"market": False}))
        for address in ACCOUNTS:
            account = self.core.account(address)
            ledger.deposit(self.core, account, 10**14)
            if address in HEDGED:
                account.position_mode = HEDGE
        self.model = Naive(HEDGED, self.core.state.markets[1].last)
        self.watch = OrderWatch(self.core)
        self.nonce = 0

    def run(self, step: Step) -> None:
        """Give both the same step and compare everything."""
        getattr(self, f"_{step[0]}")(*step[1:])
        self.core.events.clear()
        self.watch.check()
        self.compare()

    def _submit(self, address: str, action: dict[str, Any]) -> bool:
        self.nonce += 1
        answer = self.core.apply(Submit(self.core.state.time + 1, action, address, self.nonce))
        assert answer.code in (0, 40230), answer
        return answer.code == 0

    def _place(
        self, address: str, side: int, closing: bool, price: int | None, quantity: int, tif: str, reduce: bool
    ) -> None:
        if price is None and tif not in (IOC, FOK):
            tif = IOC
        closing = closing and address in HEDGED
        item = self._item(side, closing, price, quantity, tif, reduce, "reduceOnlyOption")
        accepted = self._submit(address, {"type": "placeOrder", "orders": [item]})
        order_id = self.core.state.last_order
        order = Plain(order_id, address, side, closing, price, quantity, tif, reduce)
        assert self.model.place(order) == accepted, (order, self.core.state.history.order_events.records[-1])

    def _open(self, pick: int) -> Plain | None:
        found = [order for order in self.model.orders if order.place]
        return found[pick % len(found)] if found else None

    def _cancel(self, pick: int) -> None:
        order = self._open(pick)
        if order is not None:
            cancel = {"symbolCode": 1, "ordId": str(order.id)}
            assert self._submit(order.account, {"type": "cancelOrder", "cancels": [cancel]})
            self.model.cancel(order)

    def _all(self, address: str) -> None:
        assert self._submit(address, {"type": "cancelAll", "symbolCode": 1, "conditionalOrder": False})
        for order in self.model.orders:
            if order.place and order.account == address:
                self.model.cancel(order)

    def _replace(self, pick: int, price: int, quantity: int, tif: str) -> None:
        order = self._open(pick)
        if order is None:
            return
        item = self._item(order.side, order.closing, price, quantity, tif, order.reduce, "reduceOnly")
        accepted = self._submit(order.account, {"type": "replaceOrder", **item, "ordId": order.id})
        assert self.model.replace(order, price, quantity, tif) == accepted

    @staticmethod
    def _item(
        side: int, closing: bool, price: int | None, quantity: int, tif: str, reduce: bool, field: str
    ) -> dict[str, Any]:
        item = {
            "symbolCode": 1,
            "ordPx": "0" if price is None else f"{price // 10}.{price % 10}",
            "ordQty": f"0.{quantity:03d}",
            "ordType": "MARKET" if price is None else "LIMIT",
            "ordSide": SIDES[side, closing],
            "timeInForce": tif,
        }
        return item | ({field: "REDUCE_ONLY"} if reduce else {})

    def compare(self) -> None:
        """Open orders with their places, what became of all others, trades, positions."""
        state, model = self.core.state, self.model
        mine = {
            order.id: (order.side, order.price, order.leaves, order.filled, order.quantity)
            for account in state.accounts.values()
            for order in account.orders.values()
        }
        theirs = {o.id: (o.side, o.price, o.leaves, o.filled, o.quantity) for o in model.orders if o.place}
        assert mine == theirs
        for side in (1, -1):
            levels = self.core.books[1].side(side)
            queue = [order.id for level in levels for order in level.orders.values()]
            assert queue == [order.id for order in model.resting(side)]
        ended = {order.id: (STATUS_NAMES[order.status], order.filled) for order in state.history.orders.records}
        assert ended == {o.id: (o.status, o.filled) for o in model.orders if not o.place}
        trades = [(trade.price, trade.quantity) for trade in state.history.trades[1]]
        assert trades == [trade[2:] for trade in model.trades]
        for address in ACCOUNTS:
            position = state.accounts[address].positions.get(1)
            legs = {1: position.long.size, -1: position.short.size} if position else {1: 0, -1: 0}
            assert legs == model.legs.get(address, {1: 0, -1: 0})


@settings(max_examples=150)
@given(steps)
def test_engine_and_naive_model_agree(script: list[Step]) -> None:
    pair = Pair()
    for step in script:
        pair.run(step)


def random_step(chance: random.Random) -> Step:
    """Return one step of a long run."""
    kind = chance.random()
    if kind < 0.7:
        price = None if chance.random() < 0.1 else BASE + chance.randint(-12, 12)
        tif = chance.choice((GTC, GTC, GTC, IOC, FOK, POST_ONLY))
        who, side, closing = chance.choice(ACCOUNTS), chance.choice((1, -1)), chance.random() < 0.5
        return ("place", who, side, closing, price, chance.randint(1, 30), tif, chance.random() < 0.3)
    if kind < 0.8:
        return ("cancel", chance.randint(0, 1000))
    if kind < 0.99:
        price, quantity = BASE + chance.randint(-12, 12), chance.randint(1, 40)
        return ("replace", chance.randint(0, 1000), price, quantity, chance.choice((GTC, POST_ONLY)))
    return ("all", chance.choice(ACCOUNTS))


def run_for_long(seed: int, count: int) -> Pair:
    chance, pair = random.Random(seed), Pair()
    for _ in range(count):
        pair.run(random_step(chance))
    return pair


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_engine_and_naive_model_agree_for_thousands_of_steps(seed: int) -> None:
    pair = run_for_long(seed, 1_000)
    assert len(pair.model.trades) > 150
    reasons = {order.reason.partition(":")[0] for order in pair.core.state.history.orders.records}
    assert {"reduce-only", "FOK", "self-trade prevented"} <= reasons


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 108))
def test_engine_and_naive_model_agree_on_many_seeds(seed: int) -> None:
    run_for_long(seed, 2_000)


# a counterparty that knows which order it meets


TAKER = "0x" + "5a" * 20


def met(dump: bytes, order_id: int, quantity_steps: int, known: bool) -> Core:
    """Return a core in which an order was met by a participant: chosen by its id, or as the first one of the book."""
    core = Core.load(dump)
    taker = core.account(TAKER)
    taker.kind = "market"
    maker = next(account.orders[order_id] for account in core.state.accounts.values() if order_id in account.orders)
    position = positions.position_of(core, taker, core.products[maker.product])
    order = VenueOrder(
        0, TAKER, maker.product, -maker.side, False, constants.LIMIT, constants.IOC, 0, maker.price, quantity_steps,
        quantity_steps,
    )  # fmt: skip
    lifecycle.accept(core, taker, position, order)
    if known:
        matching.fill_maker(core, taker, position, order, maker, quantity_steps)
    else:
        matching.match(core, taker, position, order, maker.price)
    lifecycle.cancel(core, taker, order)
    core.run_hooks()
    core.check(history=False)
    return core


@pytest.mark.parametrize(("seed", "count"), [(5, 300), (43, 150)])
def test_a_fill_by_a_known_counterparty_books_what_matching_books(seed: int, count: int) -> None:
    seed, reasons, compared = reference_steps.LEAN + seed, set[str](), 0
    pair = driver.Pair(reference_steps.is_coarse(seed))
    made = reference_steps.Steps(seed, pair.reference, pair.names, pair.masters[driver.BUILDER].address)
    for number in range(count):
        pair.step(made.next())
        core = pair.venue.core
        ladders = [book.side(side) for book in core.books.values() for side in (1, -1)] if number % 10 == 0 else []
        for orders in (ladder.levels[ladder.best].orders for ladder in ladders if ladder.best):
            (order_id, order), *others = orders.items()
            for quantity_steps in {1, order.leaves // 2 or 1, order.leaves} if not others else ():
                chosen, matched = (met(core.dump(), order_id, quantity_steps, known) for known in (True, False))
                assert chosen.state_hash() == matched.state_hash(), (number, order)
                reasons |= {event.reason for event in matched.state.history.order_events.records[-6:]}
                compared += 1
    assert compared > 50
    assert "margin: losses have used up what it held" in reasons
