"""The strategies that an agent can backtest: named, with bounded numbers, so that no code of an agent is ever run."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign

from ...errors import InputError
from ...research.context import Context
from ...research.indicators import EMA, SMA
from ...research.market_data import Bar
from ...research.strategy import Strategy

RULES: dict[str, Callable[[float, float, list[float]], float]] = {
    "sma-cross": lambda fast, slow, closes: fast - slow,
    "ema-cross": lambda fast, slow, closes: fast - slow,
    "breakout": lambda fast, slow, closes: (closes[-1] > max(closes[:-1])) - (closes[-1] < min(closes[:-1])),
    "reversion": lambda fast, slow, closes: slow - closes[-1],
    "hold": lambda fast, slow, closes: 1,
}
"""Name → rule: long where it is above 0, short below, as before at 0."""


class Named(Strategy):
    """A strategy by its rule.

    Attributes
    ----------
    rule : str
        Name of the rule, a key of RULES (default: "sma-cross").
    fast : int
        Bars of the fast average (default: 10).
    slow : int
        Bars of the slow average, or of the range (default: 30).
    share : float
        Part of equity in the position, above 0, at most 1 (default: 0.5).
    """

    rule = "sma-cross"
    fast = 10
    slow = 30
    share = 0.5

    def checked(self) -> Named:
        """Return itself, if its numbers are within their bounds.

        Raises
        ------
        InputError
            For an unknown rule, and for numbers out of bounds.
        """
        if self.rule not in RULES:
            what = f"rule {self.rule!r} is not known. There are {', '.join(RULES)}"
            raise InputError(what, field="rule", rule="known", nearest=tuple(RULES))
        if not 1 <= self.fast < self.slow <= 500:
            what = f"fast {self.fast} and slow {self.slow} must be 1 <= fast < slow <= 500 bars"
            raise InputError(what, field="fast", rule="range")
        if not 0 < self.share <= 1:
            raise InputError(f"share {self.share} must be above 0 and at most 1", field="share", rule="range")
        return self

    def on_start(self, ctx: object) -> None:
        """Begin the averages of the rule.

        Parameters
        ----------
        ctx : object
            Context of the strategy.
        """
        kind = EMA if self.rule == "ema-cross" else SMA
        self._averages, self._closes = (kind(self.fast), kind(self.slow)), list[float]()

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        """Set the position by the rule, once there are enough bars.

        Parameters
        ----------
        ctx : object
            Context of the strategy.
        bar : object
            Closed bar.
        """
        fast, slow = (average.update(bar.close) for average in self._averages)
        self._closes = [*self._closes[-self.slow :], bar.close]
        if len(self._closes) > self.slow and (side := RULES[self.rule](fast, slow, self._closes)):
            ctx.target_share(bar.symbol, copysign(self.share, side), tolerance=self.share / 5)
