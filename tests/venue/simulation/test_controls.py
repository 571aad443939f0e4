"""What a teacher may do: each default, each bound and one step beyond it, and what each control leaves in the state."""

from __future__ import annotations

from typing import Any

import pytest

from toolkit.venue.engine.commands import Advance, Control, Outcome
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.market import Maker, Market
from toolkit.venue.model.state import Limit
from toolkit.venue.risk import ledger
from toolkit.venue.simulation.replay import ENDLESS, House

USER = "0x" + "7" * 40


def opened(market: Any = "usual") -> Core:
    prices = {1: "60000.0", 2: "3000.00", 3: "150.000", 4: "0.5000"}
    core = Core(Genesis(prices=prices, settings={"market": market}))
    ledger.deposit(core, core.account(USER), 10**12)
    core.apply(Advance(GENESIS_TIME + 10_000))
    return core


def control(core: Core, name: str, **arguments: Any) -> Outcome:
    return core.apply(Control(core.state.time, name, arguments))


def done(core: Core, name: str, **arguments: Any) -> Any:
    outcome = control(core, name, **arguments)
    assert outcome.code == 0, outcome
    return outcome.data


@pytest.mark.parametrize(
    ("name", "needed", "defaults"),
    [
        ("market", {"regime": "stressed"}, {"product": 0, "after": 0, "lasting": 0}),
        (
            "add_liquidity",
            {"product": 1, "side": "BUY", "price": "50000", "quantity": "1"},
            {"levels": 1, "gap": ""},
        ),
        ("script_oracle", {"product": 1, "points": [[GENESIS_TIME + 60_000, "61000"]]}, {"release": False}),
        ("close_location", {}, {"peer": ""}),
        ("set_oracle", {"product": 1, "price": "61000"}, {"hold": True}),
    ],
)
def test_a_default_that_is_left_out_is_the_documented_one(
    name: str, needed: dict[str, Any], defaults: dict[str, Any]
) -> None:
    one, two = opened(), opened()
    assert done(one, name, **needed) == done(two, name, **needed, **defaults)
    for core in (one, two):
        core.apply(Advance(GENESIS_TIME + 120_000))
    assert one.state_hash() == two.state_hash()


@pytest.mark.parametrize(
    ("after", "lasting", "plan"),
    [(0, 0, []), (5_000, 0, [(5_000, "stressed")]), (0, 7_000, [(7_000, "usual")]),
     (5_000, 7_000, [(5_000, "stressed"), (12_000, "usual")])],
)  # fmt: skip
@pytest.mark.parametrize("product", [0, 2])
def test_a_regime_is_planned_for_its_products_and_its_time(
    after: int, lasting: int, plan: list[tuple[int, str]], product: int
) -> None:
    core = opened()
    done(core, "market", regime="calm", product=3, after=1)
    now = core.state.time
    done(core, "market", regime="stressed", product=product, after=after, lasting=lasting)
    simulation = core.state.simulation
    assert simulation is not None
    for code, sim in simulation.products.items():
        earlier = [(now + 1, "calm")] if code == 3 and (product or after) else []
        planned = [(now + at, name) for at, name in plan] if product in (0, code) else []
        assert sim.plan == earlier + planned
        assert sim.regime == ("stressed" if product in (0, code) and not after else "usual")


@pytest.mark.parametrize(
    "arguments",
    [
        {"regime": "wild"},
        {"regime": "calm", "after": -1},
        {"regime": "calm", "lasting": -1},
        {"regime": "calm", "product": 9},
    ],
)
def test_a_regime_that_is_none_is_refused(arguments: dict[str, Any]) -> None:
    core = opened()
    assert control(core, "market", **arguments).code == 40230
    assert core.state.simulation is not None
    assert {(sim.regime, len(sim.plan)) for sim in core.state.simulation.products.values()} == {("usual", 0)}
    assert control(opened(None), "market", regime="calm").code == 40230


def test_a_ladder_ends_above_a_price_of_zero_and_takes_what_it_meets() -> None:
    core = opened(None)
    data = done(core, "add_liquidity", product=1, side="BUY", price="2", quantity="10", levels=9, gap="0.5")
    assert [price for price, _ in core.books[1].depth(1, 9)] == [20, 15, 10, 5]
    assert len(data["ordIds"]) == 4
    order = {"symbolCode": 1, "ordPx": "60000", "ordQty": "0.15", "ordType": "LIMIT", "ordSide": "BUY"}
    action = {"type": "placeOrder", "orders": [order | {"timeInForce": "GTC"}]}
    assert done(core, "act", address=USER, action=action)["code"] == 0
    data = done(core, "add_liquidity", product=1, side="SELL", price="59990", quantity="0.2", levels=2)
    assert (data["filled"], len(data["ordIds"])) == ("0.150", 2)
    assert core.books[1].depth(-1, 9) == [(599_900, 50), (599_901, 200)]


@pytest.mark.parametrize(
    ("changed", "right"),
    [
        ({"levels": 1}, True),
        ({"levels": 200}, True),
        ({"levels": 0}, False),
        ({"levels": 201}, False),
        ({"side": "buy"}, False),
        ({"gap": "0"}, False),
        ({"price": "50000", "quantity": "20000"}, True),
        ({"price": "50000", "quantity": "20000.001"}, False),
        ({"price": "1000000"}, False),
        ({"price": "50000", "gap": "1000000"}, False),
    ],
)
def test_liquidity_has_bounds(changed: dict[str, Any], right: bool) -> None:
    core = opened(None)
    arguments = {"product": 1, "side": "BUY", "price": "50000", "quantity": "0.01", "levels": 2, "gap": "0.1"}
    outcome = control(core, "add_liquidity", **(arguments | changed))
    assert (outcome.code == 0) == right, outcome
    assert bool(core.books[1].depth(1, 1)) == right


@pytest.mark.parametrize(
    ("percent", "ticks"), [("1000", 6_600_000), ("-99.9999", 1), ("-50", 300_000), ("0", 600_000), ("0.001", 600_006)]
)
def test_a_jump_is_in_percent_and_ends_a_script(percent: str, ticks: int) -> None:
    core = opened(None)
    done(core, "script_oracle", product=1, points=[[core.state.time + 1_000, "1000"]])
    done(core, "jump", product=1, percent=percent)
    assert (core.state.markets[1].oracle, core.state.markets[1].pinned) == (ticks, True)
    assert core.state.laboratory.scripts == {}
    for beyond in ("-100", "1000.1"):
        assert control(core, "jump", product=1, percent=beyond).code == 40230


def test_a_script_sets_each_price_at_its_time_and_gives_the_oracle_back_a_millisecond_later() -> None:
    core = opened(None)
    now = core.state.time
    done(core, "script_oracle", product=2, points=[[now + 3_000, "100"]])
    points = [[now + 500, "61000"], [now + 900, "62000"]]
    assert done(core, "script_oracle", product=1, points=points, release=True) == {"points": 2}
    assert core.state.schedule["script"] == now + 500
    seen = []
    for at in (499, 500, 899, 900, 901):
        core.apply(Advance(now + at))
        seen.append((core.state.markets[1].oracle, core.state.markets[1].pinned))
    held = [(610_000, True)] * 2
    assert seen == [(600_000, False), *held, (620_000, True), (620_000, False)]
    assert core.state.laboratory.scripts == {2: [(now + 3_000, 10_000)]}
    core.apply(Advance(now + 3_000))
    assert core.state.laboratory.scripts == {}
    done(core, "script_oracle", product=1, points=[[core.state.time + 5, "61000"]])
    assert done(core, "script_oracle", product=1, points=[], release=True) == {"points": 0}
    assert core.state.laboratory.scripts == {}


@pytest.mark.parametrize(
    "points",
    [[[0, "1"]], [["0", "1"]], [[1]], [[1, "1", 1]], [[5, "1"], [5, "2"]], [[5, "1"], [4, "2"]], [[True, "1"]]],
)
def test_points_of_a_script_are_times_ahead_in_order(points: list[list[Any]]) -> None:
    core = opened(None)
    given = [[core.state.time + each[0] if type(each[0]) is int else each[0], *each[1:]] for each in points]
    assert control(core, "script_oracle", product=1, points=given).code == 40230
    assert control(core, "script_oracle", product=1, points=[[core.state.time + 1, "1"]]).code == 0


@pytest.mark.parametrize("until", [0, 1, 2_999, 3_000, 8_000])
def test_standing_still_changes_no_price_and_no_trade_before_its_end(until: int) -> None:
    core = opened()
    now = GENESIS_TIME + 12_000
    core.apply(Advance(now))
    done(core, "stand_still", until=now + until)
    following = now + (until // 3_000 + 1) * 3_000
    assert core.state.schedule["prices"] == following
    assert core.state.schedule["market"] >= following
    before = {
        code: (len(core.state.history.trades.get(code, ())), each.oracle) for code, each in core.state.markets.items()
    }
    core.apply(Advance(following - 1))
    for code, market in core.state.markets.items():
        assert (len(core.state.history.trades.get(code, ())), market.oracle) == before[code]
    core.apply(Advance(following + 60_000))
    assert all(len(core.state.history.trades.get(code, ())) > before[code][0] for code in before)
    core.check()


def test_emergencies_are_switched_once_each_and_calm_ends_them_all() -> None:
    core = opened(None)
    laboratory = core.state.laboratory
    for _ in range(2):
        done(core, "disable", action="placeOrder")
        done(core, "ban", address=USER)
        done(core, "close_location", peer="10.0.0.1")
        done(core, "close_location")
        done(core, "limit", action="placeOrder", count=0, span=1)
        done(core, "limit", action="", count=5, span=1_000)
        done(core, "limit", action="info", count=3, span=9)
    done(core, "pause", product=3)
    assert (laboratory.disabled, laboratory.banned, laboratory.closed) == (["placeOrder"], [USER], ["10.0.0.1", ""])
    assert laboratory.limits == {"placeOrder": Limit(0, 1), "": Limit(5, 1_000), "info": Limit(3, 9)}
    for _ in range(2):
        done(core, "enable", action="placeOrder")
        done(core, "unban", address=USER)
        done(core, "open_location")
        done(core, "unlimit", action="info")
    assert (laboratory.disabled, laboratory.banned, laboratory.closed) == ([], [], ["10.0.0.1"])
    assert list(laboratory.limits) == ["placeOrder", ""]
    done(core, "disable", action="withdraw")
    done(core, "ban", address=USER)
    done(core, "calm")
    assert (laboratory.disabled, laboratory.banned, laboratory.closed, laboratory.limits) == ([], [], [], {})
    assert not core.state.markets[3].paused


def test_an_action_of_another_account_is_done_without_a_signature() -> None:
    core = opened(None)
    order = {"symbolCode": 1, "ordPx": "59000", "ordQty": "0.1", "ordType": "LIMIT", "ordSide": "BUY"}
    action = {"type": "placeOrder", "orders": [order | {"timeInForce": "GTC"}]}
    data = done(core, "act", address=USER.upper().replace("0X", "0x"), action=action)
    assert (data["code"], data["message"]) == (0, "success")
    assert core.books[1].depth(1, 1) == [(590_000, 100)]
    transaction = core.state.history.transactions.records[-1]
    assert (transaction.signer, transaction.address, transaction.nonce) == (USER, USER, 0)
    refused = control(core, "act", address=USER, action={"type": "placeOrder"})
    assert refused.code == 40230
    assert control(core, "act", address="0x" + "9" * 40, action=action).code == 40230


def test_the_venues_own_accounts_have_their_addresses_and_never_run_out() -> None:
    """Journals and dumps name these accounts, so that another address would be another venue."""
    market = Market().vary(makers=(Maker(150, 150, 90, 300, 2, 900, 4_000),) * 8)
    core = Core(Genesis(settings={"market": market}))
    done(core, "add_liquidity", product=1, side="BUY", price="1000", quantity="1")
    names = [*(f"a{number}" for number in range(1, 9)), *(f"b{number}" for number in range(1, 6)), "b9"]
    own = {address: account for address, account in core.state.accounts.items() if account.kind != "user"}
    billion = {f"0x{name:0>40}": 10**15 for name in names}
    assert {address: own[address].balance for address in billion} == billion
    done(core, "open_recorded", products=[1])
    House(core)
    endless = [f"0x{name:040x}" for name in (0xB0, 0xBA)]
    assert [core.state.accounts[address].balance for address in endless] == [10**17] * 2
    assert ENDLESS == 10**12


@pytest.mark.parametrize("end", ["resume", "calm"])
@pytest.mark.parametrize("side", [1, -1], ids=["long", "short"])
def test_a_liquidation_waits_while_its_product_is_paused_and_comes_with_its_end(side: int, end: str) -> None:
    core = opened(None)
    poor = "0x" + "8" * 40
    ledger.deposit(core, core.account(poor), 1_000_000_000)
    way, other = ("BUY", "SELL")[::side]
    done(core, "add_liquidity", product=1, side=other, price="60000", quantity="0.1")
    order = {"symbolCode": 1, "ordPx": "60000", "ordQty": "0.1", "ordType": "LIMIT", "ordSide": way}
    answer = done(core, "act", address=poor, action={"type": "placeOrder", "orders": [order | {"timeInForce": "IOC"}]})
    assert answer["code"] == 0
    position = core.account(poor).positions[1]
    assert (position.long.size, position.short.size) == ((100, 0) if side > 0 else (0, 100))
    done(core, "pause", product=1)
    done(core, "set_oracle", product=1, price="50500" if side > 0 else "69500")
    core.apply(Advance(core.state.time + 600_000))
    assert position.long.size + position.short.size == 100, "it waits"
    done(core, end, **({"product": 1} if end == "resume" else {}))
    assert position.long.size + position.short.size == 0, "no price has to move for it"
    core.check()


@pytest.mark.parametrize("code", [1, 4])
def test_the_participants_do_not_trade_in_a_paused_product_and_catch_up_on_nothing(code: int) -> None:
    core, free = opened(), opened()
    done(core, "pause", product=code)
    begin = core.state.time
    for each in (core, free):
        each.apply(Advance(begin + 120_000))
    fresh = {each: [trade for trade in core.state.history.trades[each] if trade.time > begin] for each in core.products}
    assert [each for each, trades in fresh.items() if not trades] == [code]
    done(core, "resume", product=code)
    for each in (core, free):
        each.apply(Advance(begin + 180_000))
    times = [[trade.time for trade in each.state.history.trades[code] if trade.time > begin] for each in (core, free)]
    assert times[0]
    assert min(times[0]) > begin + 120_000
    assert len(times[0]) < len(times[1])
    core.check()
