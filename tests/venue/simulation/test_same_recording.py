"""A recorded market: the same changes and orders lead to the same fills and queues, and accounts are copied exactly."""

from __future__ import annotations

from typing import Any

import pytest

from toolkit.venue.engine.commands import Advance, Control, Outcome, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.constants import HEDGE, ISOLATED, ONE_WAY
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.simulation import recorded
from toolkit.venue.simulation.recorded import INDEX, LEVEL, MARK, RECORDED, TRADE

USER, OTHER = "0x" + "7" * 40, "0x" + "8" * 40


def opened(queue: str = "risk-averse", products: tuple[int, ...] = (2, 1)) -> Core:
    core = Core(Genesis(prices={1: "60000.0", 2: "3000.00", 3: "150.000", 4: "0.5000"}, settings={"market": False}))
    for user in (USER, OTHER):
        ledger.deposit(core, core.account(user), 10**12)
    control(core, "open_recorded", products=list(products), queue=queue)
    return core


def control(core: Core, name: str, **arguments: Any) -> Any:
    outcome = core.apply(Control(core.state.time, name, arguments))
    assert outcome.code == 0, outcome
    return outcome.data


def play(core: Core, *changes: list[int], product: int = 1, whole: bool = False) -> None:
    control(core, "play_recorded", product=product, changes=list(changes), whole=whole)


def place(core: Core, user: str, side: int, price: int, steps: int, tif: str = "GTC", code: int = 1) -> Outcome:
    product = core.products[code]
    item = {"symbolCode": code, "ordPx": product.price_text(price), "ordQty": str(product.quantity_text(steps))}
    item |= {"ordType": "LIMIT", "ordSide": "BUY" if side > 0 else "SELL", "timeInForce": tif}
    action = {"type": "placeOrder", "orders": [item]}
    return core.apply(Submit(core.state.time, action, user, core.state.transactions + 1))


def test_places_of_orders_that_ended_are_dropped_when_there_are_more_than_256() -> None:
    core = opened()
    play(core, [LEVEL, 1, 599_990, 1_000], [LEVEL, -1, 600_010, 1_000])
    held = core.state.recorded
    assert held is not None
    for number in range(256):
        place(core, USER, 1, 599_990, 2 + number % 3)
    play(core, [LEVEL, 1, 599_990, 900])
    assert len(held.fronts) == 256
    cancel = {"type": "cancelAll", "symbolCode": 1}
    core.apply(Submit(core.state.time, cancel, USER, core.state.transactions + 1))
    play(core, [LEVEL, 1, 599_990, 800])
    assert len(held.fronts) == 256, "so few are not worth a search"
    place(core, USER, 1, 599_990, 5)
    play(core, [LEVEL, 1, 599_990, 700])
    assert len(held.fronts) == 257
    play(core, [LEVEL, 1, 599_990, 600])
    live = set(core.account(USER).orders)
    assert set(held.fronts) == live
    assert len(live) == 1


def test_a_recorded_market_is_opened_again_without_the_levels_of_the_one_before() -> None:
    core = opened()
    assert core.state.recorded is not None
    assert (core.state.recorded.products, core.state.recorded.queue) == ([1, 2], "risk-averse")
    account = core.state.accounts[RECORDED]
    assert (account.balance, account.maker_rate, account.taker_rate) == (recorded.CAPITAL, 0, 0)
    play(core, [LEVEL, 1, 599_990, 10], [MARK, 0, 600_100, 0])
    control(core, "open_recorded", products=[1])
    assert not core.books[1].depth(1, 5)
    assert (core.state.recorded.products, core.state.recorded.marks) == ([1], {})


def test_marks_stay_and_the_oracle_is_the_index_or_the_mid_of_the_recording() -> None:
    core = opened()
    play(core, [LEVEL, 1, 600_100, 10], [LEVEL, -1, 600_111, 10], [MARK, 0, 600_400, 0])
    core.apply(Advance(core.state.time + 9_000))
    assert (core.state.markets[1].oracle, core.state.markets[1].mark) == (600_105, 600_400)
    play(core, [INDEX, 0, 600_777, 0])
    assert core.state.markets[1].oracle == 600_777
    core.apply(Advance(core.state.time + 9_000))
    assert (core.state.markets[1].oracle, core.state.markets[1].mark) == (600_777, 600_400)
    play(core, [LEVEL, -1, 300_500, 10], product=2)  # one side alone has no mid
    before = core.state.markets[2].oracle
    core.apply(Advance(core.state.time + 9_000))
    assert core.state.markets[2].oracle == before
    assert core.price_source(core, 3, core.state.time) == (0, 0)


def position(
    code: int, side: int, steps: int, value: int, *, leverage: int = 0, isolated: int = 0, margin: int = 0
) -> Any:
    return [code, side, steps, value, leverage, isolated, margin]


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("isolated", [0, 1])
def test_a_copied_position_has_size_value_leverage_and_margin_and_cost_nothing(side: int, isolated: int) -> None:
    core = opened()
    unit = core.products[1].unit
    value = 600_000 * 300 * unit + 7 * unit  # an entry between two ticks: 293 steps at one price, 7 a tick above
    margin = isolated * 3_000_000_000
    held = position(1, side, 300, value, leverage=700, isolated=isolated, margin=margin)
    account = core.state.accounts[USER]
    account.maker_rate, account.taker_rate = usual_rates = (7, 9)
    control(core, "copy_account", address=USER, balance=5_000_000_000, positions=[held], leverages=[[2, 300]])
    found = account.positions[1]
    leg, opposite = (found.long, found.short) if side > 0 else (found.short, found.long)
    assert (leg.size, leg.value, opposite.size) == (300, value, 0)
    assert (found.leverage, found.mode == ISOLATED, found.assigned) == (700, bool(isolated), margin)
    assert account.positions[2].leverage == 300
    assert account.balance == 5_000_000_000
    assert account.position_mode == ONE_WAY
    assert (account.maker_rate, account.taker_rate) == usual_rates
    prices = {trade.price for trade in core.state.history.trades.get(1, ())}
    assert prices <= {600_000, 600_001}
    assert not core.violations()


@pytest.mark.parametrize(
    ("hedge", "sides", "mode"), [(False, [1], ONE_WAY), (False, [1, -1], HEDGE), (True, [1], HEDGE), (True, [], HEDGE)]
)
def test_a_copy_with_both_legs_or_on_demand_is_in_hedge_mode(hedge: bool, sides: list[int], mode: int) -> None:
    core = opened()
    unit = core.products[1].unit
    rows = [position(1, side, 100, 600_000 * 100 * unit) for side in sides]
    control(core, "copy_account", address=USER, balance=10**11, positions=rows, hedge=hedge)
    account = core.state.accounts[USER]
    assert account.position_mode == mode
    held = account.positions.get(1)
    assert ((held.long.size, held.short.size) if held else (0, 0)) == (100 * (1 in sides), 100 * (-1 in sides))
    assert account.balance == 10**11


@pytest.mark.parametrize("balance", [0, 10**12 - 5, 10**12, 10**12 + 5])
def test_a_copy_sets_the_balance_up_or_down(balance: int) -> None:
    core = opened()
    control(core, "copy_account", address=USER, balance=balance, positions=[])
    assert core.state.accounts[USER].balance == balance
    assert not core.violations()


GOOD = position(1, 1, 5, 300_000_000)


@pytest.mark.parametrize(
    ("address", "balance", "row", "words"),
    [
        (USER, -1, GOOD, "a position is seven whole numbers, and no amount is below 0"),
        (USER, 0, GOOD[:6], "a position is seven whole numbers"),
        (USER, 0, [1, 0, *GOOD[2:]], "a position is seven whole numbers"),
        (USER, 0, [1, 1, 0, *GOOD[3:]], "a position is seven whole numbers"),
        (USER, 0, [*GOOD[:6], -1], "no amount is below 0"),
        (USER, 0, [1, 1, -5, *GOOD[3:]], "no amount is below 0"),
        (RECORDED, 0, GOOD, "has positions already"),
        (USER, 0, [9, *GOOD[1:]], "product"),
    ],
)
def test_what_is_no_copy_is_refused_and_changes_nothing(address: str, balance: int, row: list[int], words: str) -> None:
    core = opened()
    before = core.state.accounts[USER].balance
    arguments = {"address": address, "balance": balance, "positions": [row]}
    outcome = core.apply(Control(core.state.time, "copy_account", arguments))
    assert outcome.code
    assert words in outcome.message
    assert core.state.accounts[USER].balance == before


def test_a_copy_needs_a_recorded_market_and_an_account_without_positions() -> None:
    core = opened()
    control(core, "copy_account", address=USER, balance=10**11, positions=[position(1, -1, 100, 6 * 10**9)])
    again = core.apply(Control(core.state.time, "copy_account", {"address": USER, "balance": 0, "positions": []}))
    assert "has positions already" in again.message
    plain = Core(Genesis(settings={"market": False}))
    ledger.deposit(plain, plain.account(USER), 1)
    found = plain.apply(Control(plain.state.time, "copy_account", {"address": USER, "balance": 0, "positions": []}))
    assert "there is no recorded market" in found.message


def test_copied_orders_keep_their_order_and_parents_and_tell_why_one_was_refused() -> None:
    core = opened()
    unit = core.products[1].unit
    control(core, "copy_account", address=USER, balance=10**11,
            positions=[position(1, 1, 100, 600_000 * 100 * unit)])  # fmt: skip
    plain = {"symbolCode": 1, "ordPx": "59000", "ordQty": "0.05", "ordType": "LIMIT", "ordSide": "BUY",
             "timeInForce": "GTC", "ordId": "70"}  # fmt: skip
    stop = plain | {"ordPx": "0", "ordQty": "0.1", "ordType": "MARKET", "ordSide": "SELL", "timeInForce": "IOC"}
    stop |= {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": "58000", "tpslTriggerType": "MARK_PRICE"}
    orders = [plain, stop | {"ordId": "71"}, plain | {"ordQty": "0.0001", "ordId": "72"}]
    data = control(core, "copy_orders", address=USER, orders=orders)
    assert [bool(refusal) for refusal in data["refusals"]] == [False, False, True]
    live = list(core.account(USER).orders.values())
    assert [(order.price, order.quantity, order.trigger) for order in live] == [(590_000, 50, 0), (0, 100, 580_000)]


@pytest.mark.parametrize("parent", ["1", "72", "2", "", 0, None])
def test_a_copied_exit_names_the_copy_of_its_main_order(parent: object) -> None:
    core = opened()
    control(core, "copy_account", address=USER, balance=10**11, positions=[])
    entry = {"symbolCode": 1, "ordPx": "59000", "ordQty": "0.05", "ordType": "LIMIT", "ordSide": "BUY",
             "timeInForce": "GTC", "ordId": "1"}  # fmt: skip
    stop = entry | {"ordId": "71", "ordPx": "0", "ordType": "MARKET", "ordSide": "SELL", "timeInForce": "IOC"}
    stop |= {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": "58000", "tpslTriggerType": "MARK_PRICE"}
    stop |= {} if parent is None else {"parentOrdId": parent}
    refused = entry | {"ordQty": "0.0001", "ordId": "72"}
    data = control(core, "copy_orders", address=USER, orders=[entry | {"ordId": "9"}, entry, refused, stop])
    live = list(core.account(USER).orders.values())
    alone = "there is no long position in BTCUSDC to reduce"
    assert [data["refusals"][at] for at in (0, 1, 3)] == ["", "", "" if parent == "1" else alone]
    assert data["refusals"][2].startswith("quantity 0.0001 is not a multiple of stepSize 0.001")
    main = live[1].id
    assert main == 2, "the ids of the followed venue are others"
    assert [order.parent for order in live] == ([0, 0, main] if parent == "1" else [0, 0])


@pytest.mark.parametrize("bad", [[LEVEL, 1, 600_000], [LEVEL, 1, 600_000, -1], [TRADE, 0, 600_000, 5]])
def test_a_wrong_change_is_refused_with_all_of_its_command(bad: list[int]) -> None:
    core = opened()
    changes = [[LEVEL, 1, 599_000, 5], bad]
    outcome = core.apply(Control(core.state.time, "play_recorded", {"product": 1, "changes": changes}))
    assert f"steps], not {bad}" in outcome.message
    assert not core.books[1].depth(1, 5)
    found = core.apply(Control(core.state.time, "play_recorded", {"product": 3, "changes": []}))
    assert "product 3 has no recorded market" in found.message
    assert core.state.time == GENESIS_TIME
