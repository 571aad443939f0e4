"""Queue models: how much is in front of a resting order at its price, as the level changes and trades.

A recording shows the total of a level, not which of its orders was cancelled. Each model is one answer to that: none in
front of ours (risk-averse), or in front with a probability that grows with what is there (power, log). Source:
hftbacktest's documentation, "Probability Queue Models".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ...errors import InputError

EXAMPLES = ("risk-averse", "power:2", "log")


@dataclass(slots=True)
class QueueEntry:
    """An order in its queue.

    Attributes
    ----------
    front : float
        Quantity ahead of it, in steps.
    traded : float
        Quantity traded since the last update of its level, in steps (default: 0.0).
    """

    front: float
    traded: float = 0.0


class QueueModel(Protocol):
    """How the quantity ahead of an order changes, quantities in steps."""

    def on_trade(self, entry: QueueEntry, quantity: float) -> None:
        """Process a trade at the order's price.

        A negative `front` is the part that reached the order.

        Parameters
        ----------
        entry : QueueEntry
            Place of the order. Its `front` is changed.
        quantity : float
            Traded quantity in steps.
        """

    def on_level(self, entry: QueueEntry, before: float, after: float) -> None:
        """Process a change of the level's total.

        Parameters
        ----------
        entry : QueueEntry
            Place of the order. Its `front` is changed.
        before : float
            Total of the level before the change, in steps.
        after : float
            Total of the level after the change, in steps.
        """


@dataclass(frozen=True)
class RiskAverse:
    """An order moves forward only by trades. Cancelled quantity was behind it, as long as there was any."""

    def on_trade(self, entry: QueueEntry, quantity: float) -> None:
        """Subtract the trade.

        Parameters
        ----------
        entry : QueueEntry
            Place of the order. Its `front` is changed.
        quantity : float
            Traded quantity in steps.
        """
        entry.front -= quantity

    def on_level(self, entry: QueueEntry, before: float, after: float) -> None:
        """Limit the quantity ahead to the level's total.

        Parameters
        ----------
        entry : QueueEntry
            Place of the order. Its `front` is changed.
        before : float
            Total of the level before the change, in steps.
        after : float
            Total of the level after the change, in steps.
        """
        entry.front = min(entry.front, after)


@dataclass(frozen=True)
class Probability:
    """Cancelled quantity was behind an order with probability weight(behind) / (weight(behind) + weight(ahead)).

    Attributes
    ----------
    weight : callable
        Returns the weight of a quantity in steps. It grows with the quantity: a power, or the logarithm of 1 +
        quantity.
    name : str
        Name of the model, as it is given to `queue_model`.
    """

    weight: Callable[[float], float]
    name: str

    def on_trade(self, entry: QueueEntry, quantity: float) -> None:
        """Subtract the trade, and remember it: the next update of the level contains it.

        Parameters
        ----------
        entry : QueueEntry
            Place of the order. Its `front` is changed.
        quantity : float
            Traded quantity in steps.
        """
        entry.front -= quantity
        entry.traded += quantity

    def on_level(self, entry: QueueEntry, before: float, after: float) -> None:
        """Divide the cancelled quantity between ahead and behind.

        Parameters
        ----------
        entry : QueueEntry
            Place of the order. Its `front` is changed.
        before : float
            Total of the level before the change, in steps.
        after : float
            Total of the level after the change, in steps.
        """
        cancelled = before - after - entry.traded
        entry.traded = 0.0
        if cancelled > 0:
            front = entry.front
            behind = before - front
            ahead_weight, behind_weight = self.weight(max(front, 0.0)), self.weight(max(behind, 0.0))
            total = ahead_weight + behind_weight
            probability = behind_weight / total if total else 1.0
            entry.front = front - (1.0 - probability) * cancelled + min(behind - probability * cancelled, 0.0)
        # A share can be larger than what is there: the rest was cancelled behind, and gives no place to a later trade.
        entry.front = max(min(entry.front, after), 0.0)


def reached_steps(model: QueueModel, entry: QueueEntry, quantity: int) -> int:
    """Return how many steps of a trade at an order's price reach the order.

    Its place is at least 0 afterwards. Half a step counts as one. No model lets more through than was traded.

    Parameters
    ----------
    model : QueueModel
        Queue model.
    entry : QueueEntry
        Place of the order. Its `front` is changed.
    quantity : int
        Traded quantity in steps.
    """
    model.on_trade(entry, quantity)
    reached, entry.front = math.floor(0.5 - entry.front), max(entry.front, 0.0)
    return min(max(reached, 0), quantity)


def queue_model(given: str | QueueModel, step: float) -> QueueModel:
    """Return the model that a name stands for.

    Parameters
    ----------
    given : str or QueueModel
        "risk-averse", "power", "power:N" or "log". An object is returned as it is.
    step : float
        Size of a quantity step in base units. The logarithm is of quantities in base units.

    Returns
    -------
    QueueModel
        The model. It has no state, so one model serves all orders.

    Raises
    ------
    InputError
        For another name, or a power that is not above 0.

    Examples
    --------
    >>> queue_model("power:3", 0.001).name
    'power:3'
    """
    if hasattr(given, "on_level") and hasattr(given, "on_trade"):
        return given
    given = str(given)
    name, _, argument = given.partition(":")
    if given == "risk-averse":
        return RiskAverse()
    if given == "log":
        return Probability(lambda quantity: math.log1p(quantity * step), given)
    if name == "power":
        try:
            power = float(argument or 2)
        except ValueError:
            power = 0.0
        if power > 0:
            return Probability(lambda quantity: quantity**power, given)
    reason = f"queue {given!r} is not a model. Give {', '.join(EXAMPLES)}"
    raise InputError(reason, field="queue", rule="known", value=given, nearest=EXAMPLES)
