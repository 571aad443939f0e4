"""What a teacher may do: each default, each bound and one step beyond it, and what each control leaves in the state."""

from __future__ import annotations

from typing import Any

import pytest

from toolkit.venue.engine.commands import Advance, Control, Outcome
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.market import Maker, Market
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
