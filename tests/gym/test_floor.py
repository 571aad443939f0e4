"""The parts of the environments by hand: observations, orders, desks, rewards, and the bounds of the settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra gym is not installed")
pytest.importorskip("pettingzoo", reason="the extra gym is not installed")

import toolkit
from tests.gym.test_environments import FIRST_MS, recording
from toolkit.errors import InputError
from toolkit.gym import PolicyStrategy, TradersEnv, TradingEnv
from toolkit.gym.desks import Standing, VenueDesk
from toolkit.gym.floor import Floor, FloorSettings
from toolkit.gym.policies import Observer
from toolkit.orders import Order
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
SIDES = [(99.9, 2.0), (99.8, 9.99)], [(100.1, 0.0), (100.3, 100.0)]


def test_an_observation_has_gaps_sizes_returns_and_the_position() -> None:
    observer = Observer(3)
    assert observer.names == (
        "bid_gap_0", "bid_gap_1", "bid_gap_2", "bid_size_0", "bid_size_1", "bid_size_2",
        "ask_gap_0", "ask_gap_1", "ask_gap_2", "ask_size_0", "ask_size_1", "ask_size_2",
        "return_1", "return_5", "return_20", "return_60", "position",
    )  # fmt: skip
    book = [
        1.0, 2.0, 10.0, np.log10(1 + 199.8), np.log10(1 + 99.8 * 9.99), 0.0,
        1.0, 3.0, 10.0, 0.0, np.log10(1 + 10_030), 0.0,
    ]  # fmt: skip
    seen = observer.observe(*SIDES, 0.25)
    assert seen.tolist() == pytest.approx([*book, 0.0, 0.0, 0.0, 0.0, 0.25], rel=1e-5)
    assert seen.dtype == np.float32
    for mid in (100.5, 101.0):
        seen = observer.observe([(mid, 1.0)], [(mid, 1.0)], -1.0)
    assert seen[-5:].tolist() == pytest.approx([(101 / 100.5 - 1) * 1_000, 10.0, 10.0, 10.0, -1.0], rel=1e-4)
    assert list(observer.mids) == [100.0, 100.5, 101.0]
    empty = observer.observe([], SIDES[1], 0.0)
    assert list(observer.mids) == [100.0, 100.5, 101.0, 101.0]
    assert empty[:3].tolist() == [10.0] * 3
    assert empty[12] == 0.0


def test_returns_reach_back_over_as_many_steps_as_their_names_say() -> None:
    observer = Observer(1)
    mids = [100 + number * 0.001 for number in range(70)]
    for mid in mids:
        seen = observer.observe([(mid, 1.0)], [(mid, 1.0)], 0.0)
    returns = [(mids[-1] / mids[-1 - lag] - 1) * 1_000 for lag in (1, 5, 20, 60)]
    assert seen[-5:-1].tolist() == pytest.approx(returns, rel=1e-4)
    assert len(observer.mids) == 61
    nothing = Observer(1).observe([], [], 0.5)
    assert nothing.tolist() == [10.0, 0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]


@pytest.mark.parametrize(("depth", "good"), [(0, False), (1, True), (200, True), (201, False)])
def test_one_to_two_hundred_levels_are_observed(depth: int, good: bool) -> None:
    if good:
        assert len(Observer(depth).names) == 4 * depth + 5
        return
    with pytest.raises(InputError, match=f"depth {depth} is not 1 to 200 levels a side"):
        Observer(depth)


WRONG: dict[str, dict[str, Any]] = {
    "episode": {"episode": 0}, "step": {"step": "0s"}, "ruin": {"ruin": 1.0}, "below": {"ruin": -0.01},
    "traders": {"traders": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_settings_out_of_their_bounds_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="step is at least 1 ms, episode and traders are 1 or more"):
        Floor(FloorSettings(**WRONG[name]))


def test_settings_at_their_bounds_and_by_default_are_taken() -> None:
    Floor(FloorSettings(episode=1, step="1ms", traders=1, ruin=0.0))
    floor = Floor(FloorSettings())
    assert floor.settings == FloorSettings(BTC, 1, None, None, "usual", "1s", 3_600, 5, "10000", None, 0.5)
    assert (floor.step_ms, len(floor.observers), floor.observers[0].depth, floor.most_steps) == (1_000, 1, 5, 0)
    assert TradersEnv().possible_agents == ["trader_0", "trader_1"]
    with pytest.raises(InputError, match=r"max_position is not known before the first reset\(\)"):
        _ = floor.max_position
    with pytest.raises(InputError, match="only an environment's own venue has snapshots"):
        floor.snapshot()
    for settings in ({"traders": 2}, {"replay": recording()}):
        with pytest.raises(InputError, match="a session has its own market and one account"):
            Floor(FloorSettings(session=object(), **settings))  # type: ignore[arg-type]


@pytest.fixture
def venue() -> Any:
    with LocalVenue(clock="manual", market=None, accounts=2, balance="1000") as made:
        made.control.set_oracle(BTC, "60000")
        for side, prices in (("SELL", ("60010", "60020")), ("BUY", ("59990", "59980"))):
            for price in prices:
                made.control.add_liquidity(BTC, side, price, "5")
        yield made


@pytest.mark.parametrize(("side", "trader"), [("BUY", 0), ("SELL", 1)])
def test_a_desk_reads_the_book_trades_and_stands_as_the_venue_says(venue: LocalVenue, side: str, trader: int) -> None:
    desk, sign = VenueDesk(venue, BTC, trader), 1 if side == "BUY" else -1
    assert desk.standing() == Standing(1000.0, 0, 0.0, 0.0)
    [bids, asks] = desk.book(2)
    assert [[price for price, _ in levels] for levels in (bids, asks)] == [
        pytest.approx([59_990, 59_980]), pytest.approx([60_010, 60_020]),
    ]  # fmt: skip
    assert [quantity for _, quantity in asks] == pytest.approx([5.0, 5.0])
    assert [len(levels) for levels in desk.book(1)] == [1, 1]
    assert desk.trade(Order(BTC, side, "0.01", tif="IOC")) == ""  # type: ignore[arg-type]
    fee = 0.01 * (60_010 if sign > 0 else 59_990) * 0.0006
    now = desk.standing()
    assert (now.steps, now.fees, now.funding) == (10 * sign, pytest.approx(fee), 0.0)
    with toolkit.connect(venue=venue, account=trader) as session:
        assert now.equity == pytest.approx(session.wallet_balances()["equity"].iloc[0])
    assert "initial margin" in desk.trade(Order(BTC, side, "3", tif="IOC"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"DOGE is not listed\. There are BTCUSDC"):
        VenueDesk(venue, "DOGE", 0)


def test_a_step_pays_the_change_of_equity_and_says_what_stands() -> None:
    env = TradingEnv(replay=recording(), step="100ms", episode=3, max_position="0.02", depth=2, balance="5000")
    seen, info = env.reset(options={"start": FIRST_MS + 500})
    assert (len(seen), seen[-1]) == (13, 0.0)
    assert info == {"equity": 5000.0, "fees": 0.0, "funding": 0.0, "profit": 0.0, "refused": "", "position": 0.0}
    assert (env.max_position, env.most_steps) == ("0.020", 20)
    before = info
    for number, action in enumerate((1.0, -0.5, 0.0), 1):
        seen, reward, ruined, over, info = env.step([action])
        assert reward == pytest.approx((info["equity"] - before["equity"]) / 5000 * 10_000)
        assert info["profit"] == pytest.approx(info["equity"] - 5000)
        assert (info["position"], seen[-1]) == (pytest.approx(0.02 * action), pytest.approx(action))
        assert (ruined, over, info["refused"]) == (False, number == 3, "")
        before = info
    assert info["fees"] > 0
    env.reset(options={"start": FIRST_MS + 700})
    assert env.over is False
    strategy = env.strategy("policy")
    assert isinstance(strategy, PolicyStrategy)
    given = (strategy.policy, strategy.symbol, strategy.max_position, strategy.step, strategy.depth)
    assert given == ("policy", BTC, "0.020", "100ms", 2)
    env.close()
    env.close()
    with pytest.raises(InputError, match=r"reset\(\) begins an episode"):
        env.step([0.0])


def test_the_largest_position_is_what_the_balance_buys_and_stays() -> None:
    env = TradingEnv(replay=recording(), step="100ms", balance="5000", depth=1)
    env.reset(options={"start": FIRST_MS + 500})
    assert env.most_steps == int(5000 / 60_000 / 0.001)
    kept = env.most_steps
    env.reset(options={"start": FIRST_MS + 2_500})
    assert env.most_steps == kept
    below = TradingEnv(replay=recording(), max_position="0.0009")
    with pytest.raises(InputError, match=r"max_position 0\.0009 is below one step of 0\.001") as raised:
        below.reset(options={"start": FIRST_MS + 500})
    assert raised.value.field == "max_position"
    exact = TradingEnv(replay=recording(), max_position="0.001")
    exact.reset(options={"start": FIRST_MS + 500})
    assert exact.most_steps == 1


def test_a_strategy_waits_for_a_book_with_two_sides_and_counts_what_is_underway() -> None:
    seen: list[Any] = []
    placed: list[Any] = []
    strategy = PolicyStrategy(policy=lambda one: seen.append(one.tolist()) or [1.0], max_position="0.02", depth=1)
    with LocalVenue(clock="manual", market=None) as venue:
        product = venue.host.core.products[1]
    state: dict[str, Any] = {"position": 0.005, "underway": 0.005, "bids": (), "asks": ()}
    timers: list[int] = []

    def book(symbol: str, depth: int) -> Any:
        assert (symbol, depth) == (BTC, 1)
        return SimpleNamespace(bids=state["bids"], asks=state["asks"], mid=60_000.0)

    ctx: Any = SimpleNamespace(
        product=lambda symbol: product, set_timer=timers.append, book=book, position=lambda symbol: state["position"],
        underway=lambda symbol: state["underway"], place=placed.append,
    )  # fmt: skip
    strategy.on_start(ctx)
    assert timers == [1_000]
    for bids, asks in (((), ()), (((59_990.0, 1.0),), ()), ((), ((60_010.0, 1.0),))):
        state.update(bids=bids, asks=asks)
        strategy.on_timer(ctx)
    assert (seen, placed) == ([], [])
    state.update(bids=((59_990.0, 1.0),))
    strategy.on_timer(ctx)
    assert seen[0][-1] == 0.5
    assert [(order.side, order.quantity) for order in placed] == [("BUY", "0.010")]
    state.update(position=0.02, underway=0.0)
    strategy.on_timer(ctx)
    assert len(placed) == 1
    fresh = PolicyStrategy()
    assert (fresh.policy, fresh.symbol, fresh.max_position, fresh.step, fresh.depth) == (None, BTC, "0.01", "1s", 5)
