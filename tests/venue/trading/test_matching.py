"""The engine against a naive model: same trades, same open orders, same positions, whatever comes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.venue.floor import ADA, BOB, CYD, PRICES, Floor
from tests.venue.invariants import OrderWatch
from tests.venue.naive import FOK, GTC, IOC, POST_ONLY, Naive, Plain
from tests.venue.reference import driver
from tests.venue.reference.steps import LEAN, MoneySteps
from toolkit.venue.engine.commands import Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model import constants
from toolkit.venue.model.accounts import VenueOrder
from toolkit.venue.model.constants import HEDGE, STATUS_NAMES
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.trading import lifecycle, matching

ACCOUNTS = tuple(f"0x{number:040x}" for number in range(0x1A1, 0x1A6))
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
    position = lifecycle.position_of(core, taker, core.products[maker.product])
    order = VenueOrder(
        0, TAKER, maker.product, -maker.side, False, constants.LIMIT, constants.IOC, 0, maker.price, quantity_steps,
        quantity_steps,
    )  # fmt: skip
    lifecycle.accept(core, taker, position, order)
    if known:
        matching.fill_maker(core, taker, position, order, maker)
    else:
        matching.match(core, taker, position, order, maker.price)
    lifecycle.cancel(core, taker, order)
    core.run_hooks()
    core.check(history=False)
    return core


@pytest.mark.parametrize(("seed", "count"), [(LEAN + 5, 200), (LEAN + 1, 140), (0, 111)])
def test_a_fill_by_a_known_counterparty_books_what_matching_books(seed: int, count: int) -> None:
    reasons, compared = set[str](), 0
    world = driver.World(MoneySteps.is_coarse(seed))
    made = MoneySteps(seed, world.mine)
    for number in range(count):
        world.step(made.next())
        core = world.venue.host.core
        ladders = [book.side(side) for book in core.books.values() for side in (1, -1)] if number % 10 == 0 else []
        for orders in (ladder.levels[ladder.best].orders for ladder in ladders if ladder.best):
            (order_id, order), *others = orders.items()
            for quantity_steps in {1, order.leaves // 2 or 1, order.leaves} if not others else ():
                chosen, matched = (met(core.dump(), order_id, quantity_steps, known) for known in (True, False))
                assert chosen.state_hash() == matched.state_hash(), (number, order)
                reasons |= {event.reason for event in matched.state.history.order_events.records[-6:]}
                compared += 1
    assert compared > 15
    assert seed < LEAN or "margin: losses have used up what it held" in reasons


# makers that close before they open, and isolated ones whose margin is gone


@pytest.fixture
def floor() -> Floor:
    return Floor()


@pytest.mark.parametrize(("quantity", "filled"), [("0.005", 5), ("0.006", 0)])
def test_fok_counts_of_a_makers_reduce_only_orders_what_its_own_fills_before_leave(
    floor: Floor, quantity: str, filled: int
) -> None:
    """BOB is long 0.005: a plain sell of 0.003 goes first, so that of the reduce-only one 0.002 is left."""
    for code, price in ((1, "60000.0"), (2, "3000.00")):
        floor.order(CYD, f"SELL 0.005 at {price}", symbolCode=code)
        floor.order(BOB, f"BUY 0.005 at {price}", symbolCode=code)
    floor.order(BOB, "SELL 0.005 at 3001.00 REDUCE_ONLY", symbolCode=2)
    floor.order(BOB, "SELL 0 SL when 50000")
    floor.order(BOB, "BUY 0.004 at 59000.0")
    floor.order(BOB, "SELL 0.003 at 60001.0")
    last = floor.order(BOB, "SELL 0.005 at 60002.0 REDUCE_ONLY")
    order = floor.order(ADA, f"BUY {quantity} at 60002.0 FOK")
    assert (order.filled, floor.legs(BOB)) == (filled, (5 - filled, 0))
    assert last.leaves == 5 - filled
    assert filled or order.reason == "FOK: 0.005 of 0.006 can be filled at 60002.0 or better"


def test_a_fok_order_leaves_isolated_reduce_only_orders_to_the_position(floor: Floor) -> None:
    """They need no margin, and are cut only by what the fills before leave."""
    for who in (BOB, CYD):
        floor.act(who, {"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"})
    floor.order(CYD, "SELL 0.005 at 60000.0")
    floor.order(BOB, "BUY 0.005 at 60000.0")
    floor.order(BOB, "SELL 0.003 at 60001.0")
    last = floor.order(BOB, "SELL 0.005 at 60002.0 REDUCE_ONLY")
    ledger.withdraw(floor.core, floor.account(BOB), floor.account(BOB).balance)
    floor.order(CYD, "SELL 0.001 at 60003.0")
    assert floor.order(ADA, "BUY 0.006 at 60003.0 FOK").filled == 6
    events = floor.core.state.history.order_events.records
    reasons = [event.reason for event in events if event.order_id == last.id and event.reason]
    assert reasons == ["reduce-only: the position is down to 0.002"]
    assert floor.legs(BOB) == (0, 0)


@pytest.mark.parametrize(("cash", "left"), [(0, (0, 0)), (2_000_000, (0, 3))])
@pytest.mark.parametrize("way", ["IOC", "FOK", "known"])
def test_an_isolated_order_without_margin_for_what_it_opens_still_closes(
    floor: Floor, way: str, cash: int, left: tuple[int, int]
) -> None:
    """BOB is long 0.002 and sells 0.005: the 0.003 that open a short need 2.25 USDC of maintenance margin, and 1.6 are
    left of the long's."""
    for who in (BOB, CYD):
        floor.act(who, {"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"})
    floor.order(CYD, "SELL 0.002 at 60000.0")
    floor.order(BOB, "BUY 0.002 at 60000.0")
    order = floor.order(BOB, "SELL 0.005 at 60001.0")
    floor.position(BOB).assigned -= 4_400_000
    floor.core.state.withdrawals += 4_400_000
    ledger.withdraw(floor.core, floor.account(BOB), floor.account(BOB).balance - cash)
    filled = 2 + left[1]
    if way == "known":
        account, position = floor.account(ADA), lifecycle.position_of(floor.core, floor.account(ADA), floor.product)
        taker = VenueOrder(0, ADA, 1, 1, False, constants.LIMIT, constants.IOC, 0, 600_010, 5, 5)
        lifecycle.accept(floor.core, account, position, taker)
        matching.fill_maker(floor.core, account, position, taker, order)
        assert taker.leaves == 5 - filled
        lifecycle.cancel(floor.core, account, taker)
        floor.watch.check()
    else:
        floor.order(CYD, "SELL 0.003 at 60002.0")
        assert floor.order(ADA, f"BUY 0.005 at 60002.0 {way}").filled == 5
    assert (order.filled, floor.legs(BOB)) == (filled, left)
    events = floor.core.state.history.order_events.records
    reasons = [event.reason for event in events if event.order_id == order.id and event.reason]
    assert reasons == ([] if cash else ["margin: losses have used up what it held"])


def isolate(floor: Floor, *names: str) -> None:
    for who in names:
        floor.act(who, {"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"})


def leave(floor: Floor, who: str, cash: int) -> None:
    """Leave an account so many micro-USDC."""
    ledger.withdraw(floor.core, floor.account(who), floor.account(who).balance - cash)


def test_a_fok_order_asks_an_isolated_maker_only_for_the_margin_of_what_it_still_wants(floor: Floor) -> None:
    """0.002 of BOB's need 1.5 USDC of maintenance margin, all 0.005 need 3.75."""
    isolate(floor, BOB)
    floor.order(CYD, "SELL 0.003 at 60001.0")
    order = floor.order(BOB, "SELL 0.005 at 60002.0")
    leave(floor, BOB, 2_500_000)
    assert floor.order(ADA, "BUY 0.005 at 60002.0 FOK").filled == 5
    assert (order.filled, order.leaves) == (2, 3)


@pytest.mark.parametrize(("side", "other"), [("SELL", "BUY"), ("BUY", "SELL")])
@pytest.mark.parametrize(("cash", "sold"), [(0, 0), (20_000_000, 3)])
@pytest.mark.parametrize("short", [False, True])
def test_in_hedge_mode_an_isolated_makers_opposite_leg_covers_none_of_what_it_opens(
    side: str, other: str, cash: int, sold: int, short: bool
) -> None:
    """BOB holds 0.005 on the other side, which his order leaves alone; ADA may count on it only with its margin."""
    floor = Floor(BOB)
    isolate(floor, BOB)
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    floor.order(BOB, f"{side} 0.003 at 60000.0")
    leave(floor, BOB, cash)
    floor.order(CYD, f"{side} 0.003 at 60000.0")
    order = floor.order(ADA, f"{other} 0.00{3 + sold + short} at 60000.0 FOK")
    assert order.filled == (0 if short else 3 + sold)
    assert not short or order.reason.startswith(f"FOK: 0.00{3 + sold} of 0.00{4 + sold} can be filled")
    opened = 0 if short else sold
    assert floor.legs(BOB) == ((5, opened) if side == "SELL" else (opened, 5))


@pytest.mark.parametrize(("wanted", "filled"), [("0.006", 6), ("0.007", 0)])
def test_fok_counts_an_isolated_makers_orders_by_the_margin_that_those_before_leave(
    floor: Floor, wanted: str, filled: int
) -> None:
    """The first 0.003 take 9 of BOB's 10 USDC; the next 0.003 need 2.25 more."""
    isolate(floor, BOB)
    first, second = (floor.order(BOB, f"SELL 0.003 at {price}") for price in ("60001.0", "60002.0"))
    leave(floor, BOB, 10_000_000)
    floor.order(CYD, "SELL 0.003 at 60003.0")
    order = floor.order(ADA, f"BUY {wanted} at 60003.0 FOK")
    assert (order.filled, first.filled, second.filled) == (filled, filled // 2, 0)
    assert filled or order.reason == "FOK: 0.006 of 0.007 can be filled at 60003.0 or better"


@pytest.mark.parametrize(("side", "other"), [("SELL", "BUY"), ("BUY", "SELL")])
@pytest.mark.parametrize(("cash", "more"), [(10_000_000, True), (0, False)])
def test_fok_counts_the_margin_that_an_isolated_maker_gets_back_on_the_way(
    side: str, other: str, cash: int, more: bool
) -> None:
    """BOB's first order takes 9 USDC for the leg it opens, the second closes the other leg and gives 15 back."""
    floor = Floor(BOB)
    isolate(floor, BOB)
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    prices = ["60001.0", "60002.0", "60003.0"] if side == "SELL" else ["59999.0", "59998.0", "59997.0"]
    first = floor.order(BOB, f"{side} 0.003 at {prices[0]}")
    floor.order(BOB, f"{side}_CLOSE_HEDGE 0.005 at {prices[1]}")
    third = floor.order(BOB, f"{side} 0.003 at {prices[2]}")
    leave(floor, BOB, cash)
    wanted = 11 if more else 8
    order = floor.order(ADA, f"{other} 0.0{wanted:02} at {prices[2]} FOK")
    assert order.filled == wanted
    assert (first.filled, third.filled) == ((3, 3) if more else (0, 3))
    assert sorted(floor.legs(BOB)) == ([0, 6] if more else [0, 3])


@pytest.mark.parametrize(("side", "other"), [("SELL", "BUY"), ("BUY", "SELL")])
def test_fok_counts_all_reduce_only_orders_of_a_maker_that_its_position_covers(
    floor: Floor, side: str, other: str
) -> None:
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    orders = [floor.order(BOB, f"{side} 0.00{size} at 60000.0 REDUCE_ONLY") for size in (3, 2)]
    assert floor.order(ADA, f"{other} 0.005 at 60000.0 FOK").filled == 5
    assert [order.filled for order in orders] == [3, 2]


@pytest.mark.parametrize(
    ("side", "other", "prices", "profit"),
    [
        ("SELL", "BUY", ("63000.0", "63000.1"), True),
        ("SELL", "BUY", ("58000.0", "58000.1"), False),
        ("BUY", "SELL", ("57000.0", "56999.9"), True),
        ("BUY", "SELL", ("62000.0", "61999.9"), False),
    ],
)
def test_fok_counts_what_closing_at_its_price_brings_an_isolated_maker(
    floor: Floor, side: str, other: str, prices: tuple[str, str], profit: bool
) -> None:
    """BOB has only the 15 USDC of margin of his 0.005; closing adds 15 USDC, or takes 10 of them."""
    isolate(floor, BOB)
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    orders = [floor.order(BOB, f"{side} 0.005 at {price}") for price in prices]
    leave(floor, BOB, 0)
    order = floor.order(ADA, f"{other} 0.010 at {prices[1]} FOK")
    assert [order.filled, *(each.filled for each in orders)] == ([10, 5, 5] if profit else [0, 0, 0])
    assert profit or order.reason.startswith("FOK: 0.005 of 0.010 can be filled")


def test_a_reduce_only_order_on_the_way_of_a_fok_order_is_cut_to_its_position_not_by_its_margin(floor: Floor) -> None:
    """BOB's loss leaves no margin to open with, but his last order opens nothing."""
    isolate(floor, BOB)
    floor.order(CYD, "SELL 0.005 at 60000.0")
    floor.order(BOB, "BUY 0.005 at 60000.0")
    floor.order(BOB, "SELL 0.004 at 59600.0")
    last = floor.order(BOB, "SELL 0.005 at 59601.0 REDUCE_ONLY")
    floor.position(BOB).assigned -= 11_000_000
    floor.core.state.withdrawals += 11_000_000
    leave(floor, BOB, 0)
    floor.order(CYD, "SELL 0.004 at 59602.0")
    assert floor.order(ADA, "BUY 0.009 at 59602.0 FOK").filled == 9
    events = floor.core.state.history.order_events.records
    reasons = [event.reason for event in events if event.order_id == last.id and event.reason]
    assert reasons == ["reduce-only: the position is down to 0.001"]


@pytest.mark.parametrize(("side", "other", "step"), [("SELL", "BUY", 1), ("BUY", "SELL", -1)])
@pytest.mark.parametrize(("cash", "counted"), [(10_000_000, 3), (20_000_000, 6)])
@pytest.mark.parametrize("short", [False, True])
def test_each_order_of_an_isolated_maker_takes_its_initial_margin_from_what_a_fok_order_counts_on(
    floor: Floor, side: str, other: str, step: int, cash: int, counted: int, short: bool
) -> None:
    """Each 0.003 take 9 USDC; the last may have less, but not less than 2.25."""
    isolate(floor, BOB)
    prices = [f"{60_000 + step * at}.0" for at in (1, 2)]
    orders = [floor.order(BOB, f"{side} 0.003 at {price}") for price in prices]
    leave(floor, BOB, cash)
    order = floor.order(ADA, f"{other} 0.00{counted + 3 * short} at {prices[1]} FOK")
    filled = 0 if short else counted
    assert (order.filled, sum(each.filled for each in orders)) == (filled, filled)


@pytest.mark.parametrize(("side", "other", "step"), [("SELL", "BUY", 1), ("BUY", "SELL", -1)])
@pytest.mark.parametrize(("older", "filled"), [(2, 5), (3, 0)])
def test_fok_counts_the_reduce_only_orders_of_a_maker_as_cut_last_placed_first(
    floor: Floor, side: str, other: str, step: int, older: int, filled: int
) -> None:
    """Of the 0.003 and 0.002 that reduce BOB's 0.005, the fill of a plain 0.003 leaves the older one 0.002."""
    prices = [f"{60_000 + step * at}.0" for at in range(4)]
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    floor.order(BOB, f"{side} 0.003 at {prices[1]}")
    floor.order(BOB, f"{side} 0.003 at {prices[older]} REDUCE_ONLY")
    floor.order(BOB, f"{side} 0.002 at {prices[5 - older]} REDUCE_ONLY")
    order = floor.order(ADA, f"{other} 0.005 at {prices[2]} FOK")
    assert order.filled == filled
    assert filled or order.reason.startswith("FOK: 0.003 of 0.005 can be filled")


@pytest.mark.parametrize(("side", "other", "step"), [("SELL", "BUY", 1), ("BUY", "SELL", -1)])
def test_what_an_isolated_maker_opens_on_the_way_keeps_its_margin_when_it_closes_the_other_leg(
    side: str, other: str, step: int
) -> None:
    """Of 10 USDC the first takes 9, the second gives 15 back; the third needs 18.75: with the 9 it would have them."""
    floor = Floor(BOB)
    isolate(floor, BOB)
    prices = [f"{60_000 + step * at}.0" for at in range(4)]
    floor.order(CYD, f"{side} 0.005 at 60000.0")
    floor.order(BOB, f"{other} 0.005 at 60000.0")
    for words in (f"{side} 0.003 at {prices[1]}", f"{side}_CLOSE_HEDGE 0.005 at {prices[2]}"):
        floor.order(BOB, words)
    floor.order(BOB, f"{side} 0.025 at {prices[3]}")
    leave(floor, BOB, 10_000_000)
    order = floor.order(ADA, f"{other} 0.033 at {prices[3]} FOK")
    assert (order.filled, sorted(floor.legs(BOB))) == (0, [0, 5])
    assert order.reason.startswith("FOK: 0.008 of 0.033 can be filled")
