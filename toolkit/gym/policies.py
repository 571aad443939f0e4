"""The observations and actions of a policy, the same in an environment and in a strategy."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..numerals import milliseconds
from ..orders import Order
from ..products import Product
from ..research.context import Context
from ..research.strategy import Strategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

Side = Sequence[tuple[float, float]]
"""Levels of a side of a book as (price in USDC, quantity in base units), best first."""
LAGS = (1, 5, 20, 60)
"""Steps over which the observed returns reach back."""
BOUND = 10.0
"""Largest absolute value in an observation."""


class Observer:
    """Makes observations of one trader: float32 values from −10 to 10, named by `names`.

    Gaps and returns are in units of 10 bp of the mid price, sizes are log10(1 + value in USDC). The position is its
    part of the largest one (−1 to 1). A missing level has gap 10, size 0. With no mid, gaps are 10.

    Parameters
    ----------
    depth : int
        Levels of each side, 1 to 200.

    Attributes
    ----------
    names : tuple of str
        Names of the values, in order.
    """

    def __init__(self, depth: int) -> None:
        if not 1 <= depth <= 200:
            raise InputError(f"depth {depth} is not 1 to 200 levels a side", field="depth", value=depth)
        self.depth = depth
        sided = [
            f"{side}_{what}_{level}" for side in ("bid", "ask") for what in ("gap", "size") for level in range(depth)
        ]
        self.names = (*sided, *(f"return_{lag}" for lag in LAGS), "position")
        self.mids: deque[float] = deque(maxlen=LAGS[-1] + 1)
        """Mid prices of the latest steps, oldest first. They are all that an observer remembers."""

    def observe(self, bids: Side, asks: Side, part: float) -> NDArray[np.float32]:
        """Return the observation of a step: the book, the returns up to now, and the position.

        Parameters
        ----------
        bids : Side
            Levels of buyers as (USDC, base units), best first.
        asks : Side
            Levels of sellers as (USDC, base units), best first.
        part : float
            Position as a part of the largest one, −1 to 1.

        Returns
        -------
        array of float32, shape (n,)
            The values that `names` names.
        """
        if bids and asks:
            # rounded, because a price that came another way would make a return of 1e-16, whose sign is not 0
            self.mids.append(round((bids[0][0] + asks[0][0]) / 2, 9))
        elif self.mids:
            self.mids.append(self.mids[-1])  # a side is empty: the last price is all that is known
        values: list[float] = []
        mid = self.mids[-1] if self.mids else 0.0
        for side in (bids, asks):
            missing = self.depth - len(side)
            values += [abs(price / mid - 1) * 1_000 if mid else BOUND for price, _ in side] + [BOUND] * missing
            values += [log10(1 + price * quantity) for price, quantity in side] + [0.0] * missing
        for lag in LAGS:
            earlier = self.mids[-1 - min(lag, len(self.mids) - 1)] if self.mids else 0.0
            values.append((mid / earlier - 1) * 1_000 if earlier else 0.0)
        return np.clip(np.array([*values, part], dtype=np.float32), -BOUND, BOUND)


def action_of(policy: Any, observation: NDArray[np.float32]) -> Any:
    """Return the action of a policy.

    Parameters
    ----------
    policy : callable or model
        Function of the observation, or a model with `predict` (Stable-Baselines3).
    observation : array of float32
        Values that `Observer` has made.
    """
    if hasattr(policy, "predict"):
        return policy.predict(observation, deterministic=True)[0]
    return policy(observation)


def order_of(action: object, product: Product, most_steps: int, held_steps: int, price: float) -> Order | None:
    """Return the market order that an action asks for, None if it keeps the position.

    A change below the product's smallest value is left out, unless it closes the position.

    Parameters
    ----------
    action : float or array
        The wanted part of the largest position, one number from −1 to 1. Outside of that it counts as the nearest
        bound.
    product : Product
        Product that is traded.
    most_steps : int
        The largest position, steps.
    held_steps : int
        Signed position now, steps.
    price : float
        Price that values the change, USDC.

    Raises
    ------
    InputError
        For an action that is not one finite number.
    """
    wanted = np.asarray(action, dtype=np.float64).reshape(-1)
    if wanted.shape != (1,) or not np.isfinite(wanted[0]):
        text = f"action {action!r} is not one finite number from -1 to 1, the wanted part of max_position"
        raise InputError(text, field="action", rule="-1 to 1", value=str(action))
    target = round(min(1.0, max(-1.0, float(wanted[0]))) * most_steps)
    missing = target - held_steps
    # The venue would refuse it. A policy that trembles would collect refusals in place of rewards.
    small = abs(missing) * price * float(product.step_size) * product.money_scale < product.min_value
    if not missing or (small and target):
        return None
    quantity = product.quantity_text(abs(missing))
    made = Order(product.symbol, "BUY" if missing > 0 else "SELL", quantity, tif="IOC")
    return made if target else replace(made, reduce_only="REDUCE_ONLY")


class PolicyStrategy(Strategy):
    """A policy as a strategy: the object that was trained in an environment, in `backtest`, `paper` and `live`.

    `env.strategy(policy)` makes one with the settings of the environment. Backtests need recordings, which have books.

    Parameters
    ----------
    **params : object
        The attributes below, by name, and those of a Strategy.

    Attributes
    ----------
    policy : callable or model
        Function of the observation, or a model with `predict`.
    symbol : str
        Product that is traded (default: "BTCUSDC").
    max_position : str, int, float or Decimal
        Base units that an action of 1 means (default: "0.01").
    step : str or timedelta
        Time between two actions (default: "1s"). It must be that of the environment.
    depth : int
        Levels of each side that are observed (default: 5). It must be that of the environment.
    """

    policy: Any = None
    symbol = "BTCUSDC"
    max_position: Any = "0.01"
    step: Any = "1s"
    depth = 5

    def __deepcopy__(self, memo: object) -> PolicyStrategy:
        """Return a copy for a run, with the same policy, because a model may hold its environment."""
        return copy(self)

    def on_start(self, ctx: Context) -> None:
        """Set the timer, and begin with no remembered prices.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        """
        product = ctx.product(self.symbol)
        self._observer, self._size = Observer(self.depth), float(product.step_size)
        self._most_steps = round(float(self.max_position) / self._size)
        ctx.set_timer(milliseconds(self.step, "step"))

    def on_timer(self, ctx: Context) -> None:
        """Observe the book, and place the order that the policy asks for.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        """
        book = ctx.book(self.symbol, self.depth)
        if not (book.bids and book.asks):
            return
        held = round((ctx.position(self.symbol) + ctx.underway(self.symbol)) / self._size)
        seen = self._observer.observe(book.bids, book.asks, held / self._most_steps)
        order = order_of(action_of(self.policy, seen), ctx.product(self.symbol), self._most_steps, held, book.mid)
        if order is not None:
            ctx.place(order)
