"""The environments keep Gymnasium's and PettingZoo's promises, and pay what the venue's books say."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import toolkit
from tests.research.backtesting.events.recorded import MS, START, random_market
from toolkit.errors import InputError, MissingPackage
from toolkit.limits import Limits
from toolkit.research import backtest, live, paper
from toolkit.research.data.events import Events
from toolkit.venue.local import LocalVenue

pytest.importorskip("gymnasium", reason="the extra gym is not installed")
pytest.importorskip("pettingzoo", reason="the extra gym is not installed")

from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

from toolkit.gym import PolicyStrategy, TradersEnv, TradingEnv
from toolkit.gym.policies import Observer, order_of

FIRST_MS = START // MS
"""Time at which the recording begins, and from which the timers of a run count."""


def recording() -> Events:
    """Return a random recorded market of some seconds, which begins at `FIRST_MS`; nothing later happens at a step."""
    array = random_market(1).array.copy()
    for name in ("exchange_ns", "local_ns"):
        times = (array[name] - array[name][0]) // MS
        times += (times % 100 == 0) & (times > 0)
        array[name] = times * MS + START
    return Events(array, symbol="BTCUSDC")


def played(env: Any, seed: int, steps: int = 40) -> list[Any]:
    """Return all that an environment says to random actions."""
    random = np.random.default_rng(seed)
    seen, info = env.reset(seed=seed)
    said = [(seen.tolist(), info)]
    for _ in range(steps):
        seen, reward, ruined, over, info = env.step(random.uniform(-1, 1, 1))
        said.append((seen.tolist(), reward, ruined, over, info))
    return said


@pytest.mark.parametrize("replay", [False, True])
def test_gymnasiums_checker_finds_nothing(replay: bool) -> None:
    env = TradingEnv(replay=recording() if replay else None, step="100ms", episode=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("replay", [False, True])
def test_pettingzoos_tests_pass(replay: bool, capsys: pytest.CaptureFixture[str]) -> None:
    settings: dict[str, Any] = {"replay": recording() if replay else None, "step": "100ms", "episode": 20}
    parallel_api_test(TradersEnv(traders=3, **settings), num_cycles=25)
    parallel_seed_test(lambda: TradersEnv(traders=3, **settings), num_cycles=12)
    assert "Passed" in capsys.readouterr().out


def test_stable_baselines_checker_finds_nothing() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker", reason="stable-baselines3 is not installed")
    checker.check_env(TradingEnv(episode=20), warn=True, skip_render_check=True)


@pytest.mark.parametrize("replay", [False, True])
def test_the_seed_decides_about_everything(replay: bool) -> None:
    events = recording() if replay else None
    first, second, third = (TradingEnv(replay=events, step="50ms", episode=30) for _ in range(3))
    one = played(first, 4, 20)
    assert one == played(second, 4, 20)
    assert one == played(second, 4, 20)  # again, in an environment that has been used
    assert one != played(third, 5, 20)


@pytest.mark.parametrize("action", [1.0, -1.0])
def test_rewards_are_the_change_of_equity_net_of_fees_and_funding(action: float) -> None:
    env = TradingEnv(step="15m", episode=17, max_position="0.1")  # over a settlement of funding
    _, before = env.reset(seed=3)
    rewards, said = 0.0, before
    for _ in range(17):
        _, reward, ruined, over, said = env.step([action])
        rewards += reward
    assert (ruined, over, said["position"]) == (False, True, pytest.approx(0.1 * action))
    assert said["fees"] > 0
    assert said["funding"] != 0
    assert rewards == pytest.approx(said["profit"] / before["equity"] * 10_000)
    venue = env._venue
    assert venue is not None
    with toolkit.connect(venue=venue) as session:
        wallet = session.wallet_balances()
        assert float(wallet["equity"].iloc[0]) == pytest.approx(said["equity"])
        position = session.positions().iloc[0]
        gross = position["unrealized_pnl"]
        assert said["profit"] == pytest.approx(gross - said["fees"] + said["funding"], abs=1e-5)
    assert venue.host.core.violations() == []


def test_a_snapshot_is_continued_as_the_first_time_by_another_environment_too() -> None:
    env, other = TradingEnv(episode=100), TradingEnv(episode=100)
    env.reset(seed=1)
    for action in (0.5, -0.3, 1.0):
        env.step([action])
    kept = env.snapshot()
    actions = np.random.default_rng(1).uniform(-1, 1, (20, 1))
    expected = [env.step(action)[:2] for action in actions]
    for one in (env, other):
        _, info = one.reset(options={"snapshot": kept})
        assert info["profit"] == 0
        found = [one.step(action)[0] for action in actions]
        assert np.array_equal(found, [seen for seen, _ in expected])


def test_a_recording_begins_in_its_middle_with_its_book() -> None:
    events = recording()
    moment = START // MS + 2_000
    whole, late = (LocalVenue(replay=events, clock="manual", start=start) for start in (None, moment))
    whole.advance(until=moment)
    late.host.catch_up()
    books = [[venue.host.core.books[1].depth(side, 1_000) for side in (1, -1)] for venue in (whole, late)]
    assert books[0] == books[1]
    assert all(books[0])
    env = TradingEnv(replay=events, step="100ms", episode=5)
    starts = {env.reset(seed=seed)[0][2] for seed in range(8)}
    assert len(starts) > 1
    seen, _ = env.reset(options={"start": moment})
    bid, ask = books[0][0][0][0], books[0][1][0][0]
    assert seen[0] == pytest.approx((ask - bid) / (ask + bid) * 1_000, rel=1e-4)


def test_an_episode_ends_with_its_recording_and_with_its_money() -> None:
    env = TradingEnv(replay=recording(), step="1s", episode=10_000)
    env.reset(seed=1)
    steps = 0
    while not env.step([0.0])[3]:
        steps += 1
    assert 0 < steps < 100
    poor = TradingEnv(step="1s", episode=100_000, max_position="1", balance="20000", ruin=0.97)
    poor.reset(seed=1)
    signs = (1.0, -1.0)
    lost = next(at for at in range(5_000) if poor.step([signs[at % 2]])[2])
    assert lost > 0
    traders = TradersEnv(traders=2, max_position="1", balance="20000", ruin=0.97)
    traders.reset(seed=1)
    for at in range(5_000):
        traders.step({"trader_0": [signs[at % 2]], "trader_1": [0.0]})
        if traders.agents == ["trader_1"]:
            break
    assert traders.agents == ["trader_1"]
    assert list(traders.step({"trader_1": [0.0]})[0]) == ["trader_1"]


class Momentum:
    """A policy that is an object with `predict`: it holds the sign of the last return, and counts what it saw."""

    def __init__(self) -> None:
        self.seen: list[list[float]] = []

    def predict(self, observation: Any, deterministic: bool) -> tuple[list[float], None]:
        assert deterministic
        self.seen.append(observation.tolist())
        return [float(np.sign(observation[-5]))], None


def test_one_policy_object_sees_and_trades_the_same_in_an_environment_and_in_a_run() -> None:
    events, policy = recording(), Momentum()
    env = TradingEnv(replay=events, step="100ms", episode=60, max_position="0.05", depth=3)
    seen, _ = env.reset(options={"start": FIRST_MS + 100})
    for _ in range(28):
        seen, *_ = env.step(policy.predict(seen, True)[0])
    in_environment, policy.seen = policy.seen, []
    assert len({one[-1] for one in in_environment}) > 2
    with LocalVenue(replay=events, clock="manual") as venue, toolkit.connect(venue=venue) as session:
        limits = Limits(max_orders_per_minute=None)
        run = paper(env.strategy(policy), ["BTCUSDC"], session=session, duration="3s", step="1s", limits=limits)
    assert len(run.fills) > 5
    assert np.array(policy.seen[:28]) == pytest.approx(np.array(in_environment), abs=1e-6)


def test_a_policy_sees_the_books_of_a_backtest_as_those_of_the_replay() -> None:
    events, seen = recording(), []
    env = TradingEnv(replay=events, step="100ms", episode=60, max_position="0.05", depth=3)
    first, _ = env.reset(options={"start": FIRST_MS + 100})
    in_environment = [first.tolist(), *(env.step([0.0])[0].tolist() for _ in range(27))]

    def idle(observation: Any) -> list[float]:
        seen.append(observation.tolist())
        return [0.0]

    run = backtest(env.strategy(idle), {"BTCUSDC": events}, funding=None)
    assert np.array(seen[:28]) == pytest.approx(np.array(in_environment), abs=1e-6)
    assert run.fills.empty


def test_a_session_is_traded_by_signed_orders_within_its_account() -> None:
    with toolkit.connect(clock="manual", seed=11) as session:
        assert session.venue is not None
        session.venue.advance("1m")
        session.buy("BTCUSDC", "0.02")
        env = TradingEnv(session=session, episode=10, max_position="0.05")
        with pytest.raises(InputError, match="snapshots"):
            env.snapshot()
        _, info = env.reset()
        assert info["position"] == 0
        for action in (1.0, -1.0, 0.0):
            seen, _, _, _, info = env.step([action])
            assert (info["position"], info["refused"]) == (pytest.approx(action * 0.05), "")
            assert seen[-1] == pytest.approx(action)
        equity = float(session.wallet_balances()["equity"].iloc[0])
        assert info["equity"] == pytest.approx(equity)
        assert len(session.fills()) >= 4
        env.close()
        session.venue.advance("1s")  # it stays
        assert session.positions().empty


@pytest.mark.parametrize("flat", [False, True])
def test_an_account_in_hedge_mode_is_refused(flat: bool) -> None:
    with toolkit.connect(clock="manual", seed=11) as session:
        assert session.venue is not None
        session.venue.advance("1m")
        session.venue.control.set_position_mode(str(session.account), "HEDGE")
        session.buy("BTCUSDC", "0.02")
        if flat:
            session.close_position("BTCUSDC")
        with pytest.raises(InputError, match=r"hedge mode\. Use an account in one-way mode"):
            TradingEnv(session=session, max_position="0.05").reset()


def test_a_policy_runs_live_on_a_served_venue() -> None:
    strategy = PolicyStrategy(policy=lambda seen: [0.5], step="100ms", max_position="0.02")
    with (
        LocalVenue(seed=3, speed=20) as venue,
        venue.serve() as served,
        toolkit.connect(base_url=served.base_url, account=1) as session,
    ):
        session.exchange.approve_agent(validity_seconds=86400)
        run = live(strategy, session, ["BTCUSDC"], limits=Limits(), duration="30s", poll="10s")
        assert session.positions()["size"].tolist() == [pytest.approx(0.01)]
    assert run.fills["quantity"].sum() == pytest.approx(0.01)


@pytest.mark.parametrize("held", [-30, 0, 30])
@pytest.mark.parametrize("action", [-2.0, -1.0, -0.31, 0.0, 0.31, 1.0, 7.0])
def test_an_action_is_the_wanted_part_of_the_largest_position(action: float, held: int) -> None:
    product = LocalVenue(clock="manual").host.core.products[1]
    order = order_of(np.array([action], dtype=np.float32), product, 100, held, 60_000.0)
    target = round(max(-1.0, min(1.0, action)) * 100)
    traded = 0 if order is None else round(float(order.quantity) / 0.001) * (1 if order.side == "BUY" else -1)
    small = abs(target - held) * 60 < float(product.min_order_value)
    assert traded == (0 if small and target else target - held)
    assert order is None or (order.reduce_only == "REDUCE_ONLY") == (target == 0)


@pytest.mark.parametrize("wrong", [[float("nan")], [0.1, 0.2], [float("inf")]])
def test_an_action_that_is_no_number_is_refused_with_what_would_pass(wrong: list[float]) -> None:
    env = TradingEnv(episode=5)
    with pytest.raises(InputError, match=r"reset\(\) begins an episode"):
        env.step([0.0])
    env.reset(seed=1)
    with pytest.raises(InputError, match="one finite number from -1 to 1"):
        env.step(wrong)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"episode": 0}, "episode"),
        ({"ruin": 1.0}, "ruin is a ratio"),
        ({"depth": 0}, "depth 0"),
        ({"symbol": "DOGE"}, "DOGE is not listed"),
        ({"max_position": "0.0001"}, "below one step"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        TradingEnv(**settings).reset(seed=1)


def test_observations_stay_within_their_space_whatever_the_book_is() -> None:
    random = np.random.default_rng(1)
    observer = Observer(3)
    for _ in range(1_000):
        mid = float(np.exp(random.normal(0, 3)))
        sides = [
            [
                (mid * (1 + sign * gap), float(random.exponential(100)))
                for gap in sorted(random.exponential(0.001, size))
            ]
            for sign, size in ((-1, random.integers(0, 4)), (1, random.integers(0, 4)))
        ]
        seen = observer.observe(sides[0], sides[1], float(random.uniform(-2, 2)))
        assert seen.shape == (len(observer.names),)
        assert seen.dtype == np.float32
        assert np.abs(seen).max() <= 10


def test_without_the_extra_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.extras.find_spec", lambda name: None)
    monkeypatch.delitem(vars(toolkit.gym), "TradersEnv", raising=False)
    with pytest.raises(MissingPackage, match=r"afx-toolkit\[gym\]"):
        _ = toolkit.gym.TradersEnv
