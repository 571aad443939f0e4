"""The simulated market: the same for the same seed however one looks at it, sound in every book, and it answers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import msgspec
import pytest

from toolkit.errors import InputError
from toolkit.venue.engine.commands import Advance, Control, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.constants import MAKER
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.market import Market, ProductFlow, market_of
from toolkit.venue.risk import ledger
from toolkit.venue.simulation import order_flow, participants
from toolkit.venue.simulation.quoting import MAKERS

HOUR = 3_600_000
SPAN = HOUR // 4
USER = "0x" + "7" * 40


def simulated(seed: int = 7, until: int = SPAN, market: object = True) -> Core:
    core = Core(Genesis(seed=seed, settings={"market": market}))
    core.apply(Advance(GENESIS_TIME + until))
    return core


@pytest.fixture(scope="module")
def after_a_while() -> Core:
    return simulated()


def test_the_same_seed_gives_the_same_state_and_another_seed_another(after_a_while: Core) -> None:
    assert simulated().state_hash() == after_a_while.state_hash()
    assert simulated(seed=8).state_hash() != after_a_while.state_hash()
    assert simulated(market={"seed": 1}).state_hash() != after_a_while.state_hash()


def look(core: Core) -> Core:
    for code in core.products:
        core.books[code].depth(1, 5)
    return core


def reload(core: Core) -> Core:
    return Core.load(core.dump())


@pytest.mark.parametrize("between", [lambda core: core, look, reload], ids=["steps", "looks", "loads"])
def test_steps_looks_and_loads_on_the_way_change_nothing(between: Callable[[Core], Core], after_a_while: Core) -> None:
    core, rng = Core(Genesis(settings={"market": True})), random.Random(3)
    while core.state.time < GENESIS_TIME + SPAN:
        span = rng.choice((1, 777, 3_000, 60_000, 123_456))
        core.apply(Advance(min(core.state.time + span, GENESIS_TIME + SPAN)))
        core = between(core)
    assert core.state_hash() == after_a_while.state_hash()


class Trader:
    """An account that places, takes and cancels orders by its seed; `between` runs while time passes."""

    def __init__(self, seed: int, between: Callable[[Core, random.Random], Core]) -> None:
        self.core = Core(Genesis(settings={"market": True}))
        self.rng, self.chops, self.between, self.nonce = random.Random(seed), random.Random(-seed), between, 0
        ledger.deposit(self.core, self.core.account(USER), 10**12)

    def act(self, **action: object) -> int:
        self.nonce += 1
        outcome = self.core.apply(Submit(self.core.state.time, dict(action), USER, self.nonce))
        assert outcome.code in (0, 40230), outcome
        return outcome.code

    def play(self, rounds: int) -> Core:
        for number in range(rounds):
            end = self.core.state.time + self.rng.randrange(1, 40_000)
            self.core = self.between(self.core, self.chops)
            self.core.apply(Advance(end))
            price = self.core.state.markets[1].mark + self.rng.randrange(-80, 80)
            order = {"symbolCode": 1, "ordPx": f"{price // 10}.{price % 10}", "ordType": "LIMIT"}
            order |= {"ordQty": f"0.{self.rng.randrange(1, 900):03d}", "ordSide": self.rng.choice(("BUY", "SELL"))}
            self.act(type="placeOrder", orders=[order | {"timeInForce": self.rng.choice(("GTC", "GTC", "IOC"))}])
            if number % 12 == 11:
                self.act(type="cancelAll", symbolCode=1)
            self.core.check()
        self.core.apply(Advance(self.core.state.time + HOUR // 4))
        self.core.check()
        return self.core


def chopped(core: Core, rng: random.Random) -> Core:
    core.apply(Advance(core.state.time))
    for _ in range(rng.randrange(4)):
        core = rng.choice((look, reload, look))(core)
    return core


def test_orders_meet_the_same_market_whoever_looks() -> None:
    plain = Trader(1, lambda core, rng: core).play(24)
    watched = Trader(1, chopped).play(24)
    assert plain.state_hash() == watched.state_hash()
    assert len(plain.state.history.fills_of(USER)) > 10


def test_makers_never_take_and_takers_never_rest() -> None:
    core = Trader(11, lambda core, rng: core).play(36)
    takers = set(participants.TAKERS.values())
    assert not any(core.state.accounts[address].orders for address in takers)
    made = [fill for fill in core.state.history.fills_of(USER) if fill.role == MAKER]
    assert made, "nobody took what the account offered"
    assert not any(core.state.accounts[address].volumes for address in MAKERS[:4])


def test_every_product_has_a_tight_and_deep_book_around_its_index(after_a_while: Core) -> None:
    for code, product in after_a_while.products.items():
        book, market = after_a_while.books[code], after_a_while.state.markets[code]
        bid, ask = book.bids.best, book.asks.best
        assert 0 < bid < ask
        assert (bid, ask) == after_a_while.books.top(code)
        assert (ask - bid) / market.oracle < 0.001
        assert abs((bid + ask) / 2 / market.oracle - 1) < 0.004
        for side in (1, -1):
            depth = sum(price * total * product.unit for price, total in book.depth(side, 20))
            assert depth > 1_000_000 * 1_000_000, "a million USDC on each side"


def test_participants_trades_are_in_their_positions_and_in_the_open_interest(after_a_while: Core) -> None:
    after_a_while.check()
    assert all(market.open_interest > 0 for market in after_a_while.state.markets.values())
    assert all(not sim.pending for sim in after_a_while.state.simulation.products.values())  # type: ignore[union-attr]


def test_both_sides_trade_at_any_millisecond(after_a_while: Core) -> None:
    for trades in after_a_while.state.history.trades.values():
        assert 25 < len(trades) < 750
        buys = sum(trade.side > 0 for trade in trades)
        assert 0.2 < buys / len(trades) < 0.8
        assert len({trade.time % 1_000 for trade in trades}) > 60
        assert all(one.time <= two.time and one.id < two.id for one, two in itertools.pairwise(trades))


def test_there_is_no_market_unless_it_is_asked_for() -> None:
    core = Core(Genesis())
    core.apply(Advance(GENESIS_TIME + SPAN))
    assert core.state.simulation is None
    assert not any(core.state.history.trades.values())
    assert participants.past_of(core, 1) is None


def take(core: Core, side: int, steps: int) -> None:
    """Take so much of the book at once, as an account that pays what all pay."""
    best = core.books.top(1)[side > 0]
    price = best + side * best // 50
    order = {
        "symbolCode": 1,
        "ordPx": f"{price // 10}.{price % 10}",
        "ordQty": f"{steps // 1000}.{steps % 1000:03d}",
        "ordType": "LIMIT",
        "ordSide": "BUY" if side > 0 else "SELL",
        "timeInForce": "IOC",
    }
    action, nonce = {"type": "placeOrder", "orders": [order]}, core.state.transactions + 1
    assert core.apply(Submit(core.state.time, action, USER, nonce)).code == 0


@pytest.mark.parametrize("parts", [40])
def test_an_order_in_parts_moves_the_index_as_far_as_in_one_piece_and_back(parts: int) -> None:
    def index_after(orders: list[int]) -> int:
        for steps in orders:
            take(core, 1 if steps > 0 else -1, abs(steps))
        assert core.state.simulation is not None
        return core.state.simulation.products[1].index

    steps, found = 1_200, []
    for count in (1, parts):
        core = simulated(until=SPAN)
        ledger.deposit(core, core.account(USER), 10**13)
        found.append(index_after([]))
        found.append(index_after([steps // count] * count))
        found.append(index_after([-steps]))
    before, one, back = found[:3]
    assert found[3] == before
    assert one > before
    assert found[4] - before == pytest.approx(one - before, rel=0.02)
    assert abs(back - before) < (one - before) // 50
    assert abs(found[5] - before) < (one - before) // 50


@pytest.mark.slow
def test_pushing_the_price_up_with_small_orders_and_selling_at_once_earns_nothing() -> None:
    """With a root for each order of its own, this earned 7 basis points of the value before fees, and 15 with 3,000."""
    profit = value = 0
    for seed in (1, 2, 3):
        core = simulated(seed, HOUR // 2)
        account = core.account(USER)
        account.taker_rate = 0
        ledger.deposit(core, account, 10**13)
        for _ in range(500):
            core.apply(Advance(core.state.time + 1_000))
            take(core, 1, 200 * 10_000 // core.books.top(1)[1])
        position = account.positions[1]
        value += position.long.value
        take(core, -1, position.long.size)
        assert not position.long.size
        profit += position.pnl
    assert profit < value // 10_000


def test_a_pinned_oracle_and_its_release_move_the_quotes_at_once() -> None:
    core = simulated(until=10_000)
    core.apply(Control(core.state.time, "set_oracle", {"product": 1, "price": "70000"}))
    assert abs(sum(core.books.top(1)) - 1_400_000) < 400
    assert core.books[1].bids.best == core.books.top(1)[0]
    core.apply(Advance(core.state.time + 60_000))
    assert abs(sum(core.books.top(1)) - 1_400_000) < 800
    core.apply(Control(core.state.time, "release_oracle", {"product": 1}))
    core.apply(Advance(core.state.time + 6_000))
    assert core.books.top(1)[1] < 640_000
    core.check()


@pytest.mark.parametrize(("percent", "resting"), [(-8, False), (12, True)])
def test_after_a_jump_the_market_goes_on_from_there(percent: int, resting: bool) -> None:
    core = simulated(2, 600_000)
    if resting:  # an order of somebody else rests in the book, so that the makers' quotes are orders too
        order = {"product": 1, "side": "BUY", "price": "30000", "quantity": "1"}
        assert core.apply(Control(core.state.time, "add_liquidity", order)).code == 0
    core.apply(Control(core.state.time, "set_oracle", {"product": 1, "price": "60000"}))  # held, until the jump
    assert core.apply(Control(core.state.time, "jump", {"product": 1, "percent": str(percent)})).data is not None
    target = 600_000 * (100 + percent) // 100
    market = core.state.markets[1]
    assert (market.oracle, market.pinned) == (target, False)
    core.apply(Advance(core.state.time + 6_000))
    assert abs(sum(core.books.top(1)) / 2 / target - 1) < 0.01
    assert abs(market.mark / target - 1) < 0.01
    later = set()
    for _ in range(10):
        core.apply(Advance(core.state.time + 60_000))
        later.add(market.oracle)
        assert abs(market.oracle / target - 1) < 0.04
    assert len(later) > 7  # it moves on its own
    assert Core.load(core.dump()).state_hash() == core.state_hash()
    core.check()


def width(core: Core, minutes: int) -> float:
    """Return the mean spread of the next minutes in bp."""
    found = []
    for _ in range(minutes * 4):
        core.apply(Advance(core.state.time + 15_000))
        bid, ask = core.books.top(1)
        found.append((ask - bid) / ask * 1e4)
    return sum(found) / len(found)


@pytest.mark.parametrize(("seed", "side"), [(7, 1), (8, -1)])
def test_a_limit_exit_that_was_triggered_rests_among_the_makers_until_it_is_cancelled(seed: int, side: int) -> None:
    core, nonces = Core(Genesis(seed=seed, settings={"market": "usual"})), itertools.count(1)
    core.apply(Control(core.state.time, "fund", {"address": USER, "amount": "10000"}))
    core.apply(Advance(core.state.time + 9_000))

    def act(**action: object) -> None:
        assert core.apply(Submit(core.state.time, action, USER, next(nonces))).code == 0

    product, mark = core.products[1], core.state.markets[1].mark
    names = ("BUY", "SELL")[::side]
    order = {"symbolCode": 1, "ordQty": "0.01", "ordSide": names[0], "ordType": "MARKET", "timeInForce": "IOC"}
    act(type="placeOrder", orders=[{**order, "ordPx": "0"}])
    order |= {"ordSide": names[1], "ordType": "LIMIT", "timeInForce": "GTC", "tpslTriggerType": "MARK_PRICE"}
    limit, trigger = product.price_text(mark + side * 4_000), product.price_text(mark + side * 20)
    act(
        type="placeOrder",
        orders=[{**order, "ordPx": limit, "triggerPx": trigger, "reduceOnlyOption": "TP_FROM_POSITION"}],
    )
    core.apply(Control(core.state.time, "jump", {"product": 1, "percent": str(side * 0.1)}))
    for _ in range(100):
        core.apply(Advance(core.state.time + 3_000))
        assert not list(core.violations())
        exits = core.account(USER).orders.values()
        if any(order.triggered for order in exits):
            break
    assert [order.triggered for order in exits] == [True]
    core.apply(Advance(core.state.time + 60_000))
    assert not list(core.violations())
    act(type="cancelAll", symbolCode=1, conditionalOrder=False)
    assert not core.account(USER).orders
    assert not list(core.violations())


def test_a_teacher_sets_the_regime_of_one_product_for_a_while() -> None:
    with LocalVenue(clock="manual", accounts=0) as venue:
        venue.advance("10m")
        usual = width(venue.host.core, 12)
        venue.control.market(regime="stressed", product="BTCUSDC", after="1m", lasting="30m")
        regimes = venue.host.core.state.simulation.products  # type: ignore[union-attr]
        assert regimes[1].regime == "usual"
        venue.advance("2m")
        assert (regimes[1].regime, regimes[2].regime) == ("stressed", "usual")
        assert width(venue.host.core, 12) > 1.5 * usual
        venue.advance("20m")
        assert regimes[1].regime == "usual"
        venue.control.market("calm")
        assert {sim.regime for sim in regimes.values()} == {"calm"}
        with pytest.raises(InputError, match=r"market 'wild' is not known\. There are calm, usual, stressed"):
            venue.control.market("wild")
        again = Core.load(venue.host.core.dump())
        assert again.state_hash() == venue.control.state_hash()


def test_a_market_is_a_value_that_is_varied_and_saved_with_the_venue() -> None:
    wide = Market().vary(premium_ppm=0, products={"BTCUSDC": ProductFlow(daily_volatility_ppm=1_000)})
    with LocalVenue(clock="manual", accounts=0, market=wide) as venue:
        venue.advance("1m")
        simulation = Core.load(venue.host.core.dump()).state.simulation
        assert simulation is not None
        assert simulation.market == wide
    assert market_of(msgspec.to_builtins(wide)) == wide
    assert market_of(None) is None
    for bad, reason in (
        ({"jump_ppm": -1}, "Market.jump_ppm -1 is outside of its bounds"),
        ({"makers": []}, "Market.makers"),
        ({"premium_ppm": "much"}, "this is no Market"),
        ("wild", "market 'wild' is not known"),
    ):
        with pytest.raises(InputError, match=reason):
            market_of(bad)
    with pytest.raises(InputError, match="a Market has no colour"):
        Market().vary(colour="red")


def test_blocks_of_the_flow_join_and_hold_their_events_by_time() -> None:
    source = order_flow.source_of(Market(), 7, 1, "BTCUSDC")
    first = GENESIS_TIME // order_flow.BLOCK_MS
    blocks = [order_flow.block(source, Market.scales("usual"), first + number) for number in range(3)]
    for number, block in enumerate(blocks):
        for times in (block.news_times, block.order_times):
            assert times == sorted(times)
            assert all(time // order_flow.BLOCK_MS == first + number for time in times)
        assert (len(block.news), len(block.orders)) == (len(block.news_times), len(block.order_times))
    stressed = order_flow.block(source, Market.scales("stressed"), first)
    assert len(stressed.orders) > len(blocks[0].orders)


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_what_users_trade_with_each_other_moves_no_index(side: str) -> None:
    core = simulated(until=60_000)
    ann, bob = USER, "0x" + "8" * 40
    for address in (ann, bob):
        ledger.deposit(core, core.account(address), 10**13)
    sim = core.state.simulation.products[1]
    index, pressure = sim.index, sim.pressure
    bid, ask = core.books.top(1)
    price = core.products[1].price_text((bid + ask) // 2)
    assert bid < (bid + ask) // 2 < ask

    def place(nonce: int, who: str, way: str, **more: str) -> None:
        item = {"symbolCode": 1, "ordQty": "20", "ordSide": way, "ordPx": price, "ordType": "LIMIT", **more}
        answer = core.apply(
            Submit(core.state.time, {"type": "placeOrder", "orders": [{"timeInForce": "GTC", **item}]}, who, nonce)
        )
        assert answer.code == 0, answer.message

    for nonce in range(1, 11):
        place(nonce, ann, "SELL" if side == "BUY" else "BUY")
        place(nonce, bob, side)
    traded = [trade for trade in core.state.history.trades[1] if trade.quantity == 20_000]
    assert len(traded) == 10
    assert (sim.index, sim.pressure, sim.flow) == (index, pressure, 0)
    # what is taken of the participants does move it
    place(11, bob, side, ordPx=core.products[1].price_text(ask * 101 // 100 if side == "BUY" else bid * 99 // 100))
    assert (sim.index - index) * (1 if side == "BUY" else -1) > 0
