"""`TradingEnv`, Gymnasium's environment for one trader, and `TradersEnv`, PettingZoo's for several in one market."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv

from .floor import Floor, FloorSettings
from .policies import BOUND

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _spaces(floor: Floor) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Return the spaces of observations (see `Observer`) and of actions, −1 (short) to 1 (long)."""
    seen = gymnasium.spaces.Box(-BOUND, BOUND, (len(floor.observers[0].names),), np.float32)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)


class TradingEnv(Floor, gymnasium.Env):
    """One trader in one market: it sees the book, sets a position, and is paid what its equity changes by.

    An action is the wanted part of `max_position`. The difference is bought or sold at market. `Observer` explains the
    observation. The reward is the change of equity at the mark price, net of fees and funding, in bp of the episode's
    first equity. `info` has equity, profit, fees (paid so far), funding (received), position, and why an order was
    refused. `reset(seed=…)` decides about all that follows.

    Parameters
    ----------
    symbol : str, optional
        Product that is traded (default: "BTCUSDC").
    **settings : object
        The other settings, see below.

    Other Parameters
    ----------------
    replay : Events, path or mapping, optional
        A recording as the market (`toolkit.research.data.load(…)`), else a simulated one (default: none).
    session : Session, optional
        Trade the account of a session instead, in its market and its time (default: none). `reset()` closes its
        position.
    market : str or Market, optional
        Regime of the simulated market, "usual", "calm" or "stressed", or a Market (default: "usual").
    step : str or timedelta, optional
        Time that passes with each step (default: "1s").
    episode : int, optional
        Steps of an episode (default: 3,600).
    depth : int, optional
        Levels of each side that are observed, 1 to 200 (default: 5).
    balance : str, int, float or Decimal, optional
        USDC at the beginning (default: "10000").
    max_position : str, int, float or Decimal, optional
        Base units that an action of 1 means (default: what the balance buys at the first reset).
    ruin : float, optional
        The episode is lost at this part of its first equity, a ratio from 0 to below 1 (default: 0.5).
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, symbol: str = "BTCUSDC", **settings: Any) -> None:
        super().__init__(FloorSettings(symbol, **settings))
        self.observation_space, self.action_space = _spaces(self)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode, and return its first observation and `info`.

        Parameters
        ----------
        seed : int, optional
            Seed that decides about all that follows (default: not set again).
        options : mapping of str to object, optional
            Options of the episode: `snapshot` continues from `env.snapshot()`, `start` (Unix ms) begins a recording
            there (default: none).

        Returns
        -------
        tuple of (array of float32, dict)
            The observation, see `Observer`, and `info`.
        """
        super().reset(seed=seed)
        [result] = self.begin(self.np_random, options)
        return result.observation, result.info

    def step(self, action: object) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take an action, let a step of time pass, and return what came of it.

        Parameters
        ----------
        action : float or array
            The wanted part of `max_position`, −1 (short) to 1 (long).

        Returns
        -------
        tuple of (array of float32, float, bool, bool, dict)
            Observation, reward (bp of the first equity), terminated (ruined), truncated (the episode is over) and
            `info`.
        """
        result = self.let_act({0: action}, (0,))[0]
        return result.observation, result.reward, result.ruined, self.over, result.info


class TradersEnv(Floor, ParallelEnv):  # type: ignore[misc]
    """Several traders in one market, each with its account: "trader_0", "trader_1" and so on.

    They act at the same instant, in an order that is drawn for each step. A ruined trader leaves the episode, and its
    position stays in the market. Actions, observations and rewards are those of `TradingEnv`.

    Parameters
    ----------
    symbol : str, optional
        Product that is traded (default: "BTCUSDC").
    traders : int, optional
        Number of traders (default: 2).
    **settings : object
        Other settings, those of `TradingEnv`.
    """

    metadata: dict[str, Any] = {"name": "toolkit_traders_v0", "render_modes": []}

    def __init__(self, symbol: str = "BTCUSDC", traders: int = 2, **settings: Any) -> None:
        super().__init__(FloorSettings(symbol, traders, **settings))
        self.possible_agents = [f"trader_{number}" for number in range(traders)]
        self.agents: list[str] = []
        spaces = {name: _spaces(self) for name in self.possible_agents}
        self.observation_spaces = {name: seen for name, (seen, _) in spaces.items()}
        self.action_spaces = {name: acted for name, (_, acted) in spaces.items()}
        self.observation_space, self.action_space = self.observation_spaces.__getitem__, self.action_spaces.__getitem__
        self._random = np.random.default_rng()

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin an episode, and return each trader's observation and `info`.

        Parameters
        ----------
        seed : int, optional
            Seed that decides about all that follows (default: not set again).
        options : mapping of str to object, optional
            Options of the episode: `snapshot` continues from `env.snapshot()`, `start` (Unix ms) begins a recording
            there (default: none).

        Returns
        -------
        tuple of (dict, dict)
            Observations and infos by the name of the trader.
        """
        if seed is not None:
            self._random = np.random.default_rng(seed)
        results = dict(zip(self.possible_agents, self.begin(self._random, options), strict=True))
        self.agents = list(results)
        return {name: one.observation for name, one in results.items()}, {n: one.info for n, one in results.items()}

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Take the traders' actions, let a step of time pass, and return what came of it.

        Parameters
        ----------
        actions : mapping of str to float or array
            The wanted part of `max_position` of each trader, −1 (short) to 1 (long).

        Returns
        -------
        tuple of five dict
            Observations, rewards, terminations, truncations and infos by the name of the trader.
        """
        given = {self.possible_agents.index(name): action for name, action in actions.items() if name in self.agents}
        done = self.let_act(given, self._random.permutation(sorted(given)).tolist())
        results = {self.possible_agents[number]: done[number] for number in sorted(done)}
        ruined, over = {name: one.ruined for name, one in results.items()}, self.over
        self.agents = [] if over else [name for name in results if not ruined[name]]
        seen, rewards, infos = ({name: one[at] for name, one in results.items()} for at in (0, 1, 3))
        return seen, rewards, ruined, dict.fromkeys(results, over), infos
