"""An episode begins in the market and at the moment that the seed draws, and is lost at its bound of ruin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="the extra gym is not installed")
pytest.importorskip("pettingzoo", reason="the extra gym is not installed")

from gymnasium.utils.seeding import np_random

import toolkit
from tests.gym.test_environments import FIRST_MS, recording
from toolkit.errors import FeedError, InputError
from toolkit.gym import TradersEnv, TradingEnv
from toolkit.gym.floor import Floor, FloorSettings, Snapshot
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


@pytest.mark.parametrize(("seed", "market"), [(1, "usual"), (2, "calm"), (2, "stressed")])
def test_a_simulated_market_is_that_of_a_drawn_seed_after_its_first_minute(seed: int, market: str) -> None:
    env = TradingEnv(step="1s", market=market, max_position="0.02", balance="5000")
    seen, _ = env.reset(seed=seed)
    drawn = int(np_random(seed)[0].integers(2**31))
    with LocalVenue(seed=drawn, market=market, clock="manual", accounts=1, balance="5000") as same:
        began = same.host.now_ms()
        same.host.advance_to(began + 60_000)
        assert env._venue is not None
        assert env._venue.host.now_ms() == began + 60_000
        assert env._venue.control.state_hash() == same.control.state_hash()
        env.step([0.0])
        same.host.advance_to(began + 61_000)
        assert env._venue.control.state_hash() == same.control.state_hash()
        assert len(seen) == 25
    env.close()


@pytest.mark.parametrize("episode", [5, 20, 10_000])
def test_a_recording_begins_at_a_drawn_moment_with_room_for_the_episode(episode: int) -> None:
    events = recording()
    begin, end = (int(events.array["exchange_ns"][at]) // 1_000_000 for at in (0, -1))
    latest = max(begin, end - episode * 100)
    for seed in range(3):
        env = TradingEnv(replay=events, step="100ms", episode=episode)
        env.reset(seed=seed)
        moment = int(np_random(seed)[0].integers(begin, latest + 1))
        assert env._venue is not None
        waited = env._venue.host.now_ms() - moment
        assert waited in ((0, 100) if episode == 10_000 else (0,))  # at its first moment a recording has no book yet
        assert env._end_ms == end
        env.close()


def test_a_recording_that_ends_without_a_book_of_two_sides_is_refused() -> None:
    events = recording()
    bids = events._with(events.array[(events.array["side"] == 1) & (events.array["kind"] != 2)])
    env = TradingEnv(replay=bids, step="100ms", episode=5)
    with pytest.raises(InputError, match="no book with two sides comes before the recording ends") as raised:
        env.reset(options={"start": FIRST_MS})
    assert raised.value.field == "replay"
    env.close()


@pytest.mark.parametrize("names", [["trader_0", "trader_1", "trader_2"], ["trader_2", "trader_0"]])
def test_traders_act_in_an_order_that_is_drawn_for_each_step(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    env, acted = TradersEnv(traders=3, replay=recording(), step="100ms", episode=8), list[int]()
    act = env._act

    def noted(number: int, action: Any) -> str:
        acted.append(number)
        return act(number, action)

    monkeypatch.setattr(env, "_act", noted)
    env.reset(seed=4, options={"start": FIRST_MS + 500})
    random, expected = np.random.default_rng(4), list[int]()
    for _ in range(5):
        env.step({name: [0.0] for name in names})
        expected += random.permutation(sorted(int(name[-1]) for name in names)).tolist()
        env.agents = list(env.possible_agents)
    assert acted == expected
    seen, *_ = env.step({"trader_1": [0.0], "trader_0": [0.0]})
    assert list(seen) == ["trader_0", "trader_1"]
    env.reset(options={"start": FIRST_MS + 500})  # without a seed the draws go on
    assert env._random.bit_generator.state != np.random.default_rng(4).bit_generator.state
    env.close()


@pytest.mark.parametrize(("first", "ruined"), [(10_000.0, True), (9_999.0, False), (10_001.0, True)])
def test_an_episode_is_lost_at_the_given_part_of_its_first_equity(first: float, ruined: bool) -> None:
    env = TradingEnv(replay=recording(), step="100ms", episode=9, balance="5000", ruin=0.5)
    env.reset(options={"start": FIRST_MS + 500})
    env._first = [first]  # what it had before it lost the rest
    _, reward, lost, over, info = env.step([0.0])
    assert (lost, over, reward, info["profit"]) == (ruined, False, 0.0, 5_000 - first)
    env.close()


def test_a_largest_position_is_given_where_there_is_no_price_to_measure_it() -> None:
    with LocalVenue(clock="manual", market=None) as venue, toolkit.connect(venue=venue) as session:
        venue.control.set_oracle(BTC, "60000")
        venue.control.add_liquidity(BTC, "SELL", "60010", "5")
        with pytest.raises(InputError, match=r"max_position 0 is below one step of 0\.001"):
            TradingEnv(session=session).reset()
        env = TradingEnv(session=session, max_position="0.01", depth=2)
        seen, info = env.reset()
        sizes = [np.log10(1 + 60_010 * 5), 0.0]  # the gaps are not known without a price in the middle
        assert seen.tolist() == pytest.approx([10.0, 10.0, 0.0, 0.0, 10.0, 10.0, *sizes, *[0.0] * 5])
        assert (info["position"], info["refused"]) == (0.0, "")
        env.close()


@pytest.mark.parametrize(("speed", "seconds"), [(30.0, 0.05), (1.0, 1.5), (None, 1.5)])
def test_a_step_of_a_session_whose_clock_runs_is_waited_for(
    speed: float | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("toolkit.gym.floor.time.sleep", slept.append)
    session: Any = SimpleNamespace(clock=SimpleNamespace(speed=speed))
    alone = Floor(FloorSettings(session=session, step="1500ms"))
    alone._pass_time()
    alone._venue = SimpleNamespace(host=SimpleNamespace(clock=SimpleNamespace(runs=True)))  # type: ignore[assignment]
    alone._pass_time()
    assert slept == [pytest.approx(seconds)] * 2


def test_a_session_is_joined_without_orders_and_position_once_and_its_market_goes_on() -> None:
    with toolkit.connect(clock="manual", seed=11) as session:
        assert isinstance(session.venue, LocalVenue)
        session.venue.advance("1m")
        session.buy(BTC, "0.02")
        session.buy(BTC, "0.02", price="50000")
        env, began = TradingEnv(session=session, max_position="0.05", step="2s"), session.venue.host.now_ms()
        _, info = env.reset()
        assert (session.positions().empty, session.orders(open=True).empty, info["position"]) == (True, True, 0.0)
        assert session.venue.host.now_ms() == began + 2_000  # it had something to close
        desks = env._desks
        env.reset()
        assert session.venue.host.now_ms() == began + 2_000
        assert env._desks is desks
        with pytest.raises(InputError, match="the market of a session can't be restored from a snapshot"):
            env.reset(options={"snapshot": Snapshot(b"", ())})
        book = desks[0]._book  # type: ignore[union-attr]
        env.close()
        assert (book.state, env._venue) == ("closed", None)
        session.venue.advance("1s")  # it stays


def test_while_the_feed_of_a_session_is_lost_there_is_no_observation() -> None:
    with toolkit.connect(clock="manual", seed=11) as session:
        assert isinstance(session.venue, LocalVenue)
        session.venue.advance("1m")
        env = TradingEnv(session=session, max_position="0.05")
        env.reset()
        session.venue.host.feed.faults.cut("maintenance")  # type: ignore[attr-defined]
        assert session.stream.health.state == "waiting"
        with pytest.raises(FeedError, match="maintenance"):
            env._desks[0].book(1)
        env.close()


def test_a_snapshot_has_the_mids_of_every_trader() -> None:
    env = TradersEnv(traders=2, replay=recording(), step="100ms", episode=9)
    env.reset(options={"start": FIRST_MS + 500})
    env.step({"trader_0": [0.0], "trader_1": [0.0]})
    kept = env.snapshot()
    assert [len(mids) for mids in kept.mids] == [2, 2]
    env.step({"trader_0": [0.0], "trader_1": [0.0]})
    env.reset(options={"snapshot": kept})
    assert env.snapshot().mids == kept.mids
    assert env.over is False
    made, now = env._venue, kept.venue
    for traders, given, rule, passes in (
        (2, kept._replace(mids=kept.mids[:1]), "traders", ("2",)),
        (2, kept._replace(mids=kept.mids * 2), "traders", ("2",)),
        (2, tuple(kept), "type", ()),
        (1, kept, "traders", ("1",)),
    ):
        other = env if traders == 2 else TradersEnv(traders=1, replay=recording(), step="100ms", episode=9)
        with pytest.raises(InputError, match=r"^snapshot is ") as caught:
            other.reset(options={"snapshot": given})
        assert (caught.value.field, caught.value.rule, caught.value.nearest) == ("snapshot", rule, passes)
    assert "of 2 traders, and this environment has 1. Restore it in one of 2" in str(caught.value)
    assert (env._venue, env.snapshot().venue) == (made, now), "a refused snapshot changes nothing"
    env.close()
