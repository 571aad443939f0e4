"""Time that nobody watches leads to the same state as the processes, one instant after the other."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from toolkit.protocol.orders.items import OrderItem
from toolkit.venue.engine.commands import ActionContext, Advance, Control
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.trading.placing import place


def unwatched(seed: int, regime: str = "usual") -> Core:
    core = Core(Genesis(seed=seed, time=GENESIS_TIME, settings={"market": regime}))
    core.record_events(False)
    core.events.clear()
    return core


def pair(seed: int, regime: str = "usual") -> tuple[Core, Core]:
    """Return a core and one that knows its processes only."""
    fast, slow = unwatched(seed, regime), unwatched(seed, regime)
    slow.pass_time = None
    return fast, slow


def count(core: Core) -> list[int]:
    """Note the spans, in ms, that a core passes at once."""
    spans: list[int] = []
    inner = core.pass_time
    assert inner is not None

    def counted(core: Core, until: int) -> bool:
        before = core.state.schedule["prices"]
        passed = inner(core, until)
        spans.append(core.state.schedule["prices"] - before)
        return passed

    core.pass_time = counted
    return spans


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("regime", ["usual", "stressed"])
def test_nothing_tells_whether_time_was_passed_at_once(seed: int, regime: str) -> None:
    (fast, slow), chance = pair(seed, regime), random.Random(seed)
    spans, end = count(fast), GENESIS_TIME + 1_800_000
    while fast.state.time < end:
        command = Advance(fast.state.time + chance.choice((1, 700, 3_000, 59_999, 61_000, 400_000)))
        if chance.random() < 0.2:
            args = {"product": chance.choice((1, 2)), "price": str(chance.choice((50_000, 3_000))), "hold": False}
            command = Control(command.time, "set_oracle", args)
        assert fast.apply(command) == slow.apply(command)
        if chance.random() < 0.1:
            fast = Core.load(fast.dump())
            fast.record_events(False)
            spans = count(fast)
        if chance.random() < 0.2:
            assert fast.state_hash() == slow.state_hash()
    assert fast.state_hash() == slow.state_hash()
    assert max(spans) > 60_000


def hold_a_position(core: Core) -> None:
    core.apply(Control(core.state.time, "fund", {"address": "0x" + "aa" * 20, "amount": "5000"}))
    _order(core, ordType="MARKET", ordPx="0", timeInForce="IOC")


def pause_a_product(core: Core) -> None:
    core.apply(Control(core.state.time, "pause", {"product": 1}))


def hold_an_oracle(core: Core) -> None:
    core.apply(Control(core.state.time, "set_oracle", {"product": 1, "price": "61000.0"}))


def read_the_events(core: Core) -> None:
    core.record_events(True)


def _order(core: Core, **item: str) -> None:
    usual = {"symbolCode": 1, "ordQty": "0.002", "ordType": "LIMIT", "ordSide": "BUY", "timeInForce": "GTC"}
    place(core, ActionContext(core.account("0x" + "aa" * 20)), OrderItem.recall(usual | item))
    core.run_hooks()


@pytest.mark.parametrize("concern", [hold_a_position, pause_a_product, hold_an_oracle, read_the_events])
def test_what_concerns_others_goes_instant_by_instant(concern: Callable[[Core], None]) -> None:
    fast, slow = pair(4)
    for core in (fast, slow):
        core.apply(Advance(GENESIS_TIME + 100_000))
        concern(core)
    spans = count(fast)
    for core in (fast, slow):
        core.apply(Advance(GENESIS_TIME + 300_000))
    assert spans
    assert not any(spans)
    assert fast.state_hash() == slow.state_hash()
    assert fast.events == slow.events


def test_a_position_that_was_closed_concerns_nobody_any_more() -> None:
    fast, slow = pair(5)
    for core in (fast, slow):
        core.apply(Advance(GENESIS_TIME + 100_000))
        hold_a_position(core)
        core.apply(Advance(GENESIS_TIME + 120_000))
        _order(core, ordType="MARKET", ordPx="0", timeInForce="IOC", ordSide="SELL")
    spans = count(fast)
    for core in (fast, slow):
        core.apply(Advance(GENESIS_TIME + 300_000))
    assert sum(spans) > 100_000
    assert fast.state_hash() == slow.state_hash()


@pytest.mark.parametrize("away", [1, 20_000])
def test_orders_that_rest_are_passed_until_a_taker_reaches_one(away: int) -> None:
    fast, slow = pair(7)
    for core in (fast, slow):
        core.apply(Control(GENESIS_TIME + 100_000, "fund", {"address": "0x" + "aa" * 20, "amount": "5000"}))
        for side, best in zip((1, -1), core.books.top(1), strict=True):
            price, name = core.products[1].price_text(best - side * away), "BUY" if side > 0 else "SELL"
            _order(core, ordSide=name, ordPx=price)
    spans = count(fast)
    for core in (fast, slow):
        core.apply(Advance(GENESIS_TIME + 900_000))
    assert fast.state_hash() == slow.state_hash()
    assert max(spans) > 1_000
    assert (len(fast.account("0x" + "aa" * 20).orders) < 2) == (away < 20_000)
