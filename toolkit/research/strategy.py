"""Strategy: written once, and run unchanged by backtest, paper and live.

    class SmaCross(Strategy):
        fast, slow, size = 10, 50, "0.1"

        def on_start(self, ctx):
            self.short, self.long = SMA(self.fast), SMA(self.slow)

        def on_bar(self, ctx, bar):
            short, long = self.short.update(bar.close), self.long.update(bar.close)
            ctx.target(bar.symbol, self.size if short > long else 0)

A strategy receives only the past: complete bars, its own fills, current books and trades. It acts through `ctx`, which
has the calls of a session.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from ..errors import InputError
from ..suggestions import no_attribute
from ..worked_examples import add_examples
from .account_data import Fill, FundingFee, OrderHandle
from .context import Context
from .market_data import Bar, BarHistory, BookSnapshot, Indicator, Precomputed, Trade

__all__ = [
    "Bar",
    "BarHistory",
    "BookSnapshot",
    "Context",
    "Fill",
    "FunctionStrategy",
    "FundingFee",
    "Indicator",
    "OrderHandle",
    "Strategy",
    "StrategyLike",
    "Trade",
    "as_strategy",
    "overrides",
]


class Strategy:
    """Base class of strategies. Class attributes are `**params` with defaults: `SmaCross(fast=5)` changes one.

    Override the callbacks you need. Each takes the Context first. `symbols` (optional) names what the strategy trades
    in paper and live runs that name no symbols.
    """

    symbols: Sequence[str] = ()
    timer_ms: float = 100
    """How often `on_timer` is called. `ctx.set_timer` changes it."""
    ctx: Context
    """The context of the run. Set before on_start."""

    def __init__(self, **params: Any) -> None:
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                text = f"{type(self).__name__} has no parameter {name!r}, only {', '.join(sorted(known)) or 'none'}"
                raise InputError(text, field=name, rule="known", value=value, nearest=tuple(sorted(known)))
            setattr(self, name, value)

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            if base not in (object, Strategy):
                found |= {
                    name: value
                    for name, value in vars(base).items()
                    if not name.startswith("_")
                    and name != "symbols"
                    and not callable(value)
                    and not isinstance(value, property | classmethod | staticmethod)
                }
        return found

    @property
    def name(self) -> str:
        """Name in results and reports."""
        return type(self).__name__

    @property
    def params(self) -> dict[str, Any]:
        """Parameters with their current values: class attributes, or the arguments of its constructor."""
        if type(self).__init__ is Strategy.__init__:
            return {name: getattr(self, name) for name in self._parameters()}
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def I(  # noqa: E743 - the name that strategies know from other libraries
        self, function: Callable[..., Any], *inputs: Any, symbol: str | None = None, outputs: int = 1, **options: Any
    ) -> Any:
        """Return an Indicator with the values of `function` over arrays, of any library. Call it in on_start.

        `inputs` are columns ("close", the default, open, high, low, volume, time: float64 arrays), "bars" (a DataFrame)
        or values that are passed as they are, as `options` are: `self.I(talib.SMA, "close", timeperiod=20)`. With
        `outputs` > 1 the function returns so many arrays, and a tuple of indicators is returned. `symbol` is the first
        of the run by default.

        A class of `indicators` is given its numbers, after its columns if any: `self.I(indicators.SMA, 10)`.

        A backtest computes once, live runs at each bar over the bars so far. Raises InputError, when the run begins,
        for a function that looks ahead.
        """
        if isinstance(function, type) and hasattr(function, "update"):
            function = streamed(function, [each for each in inputs if not isinstance(each, str)], options)
            inputs, options = tuple(each for each in inputs if isinstance(each, str)), {}
        computed = Precomputed(function, inputs, options, symbol or self.ctx.symbols[0], outputs)
        self.ctx._precomputed.append(computed)
        return computed.indicators if outputs > 1 else computed.indicators[0]

    def on_start(self, ctx: Context) -> None:
        """Called before the first bar."""

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        """A `bar` is complete. With several symbols: once for each, when all bars of that closing time are known."""

    def on_bars(self, ctx: Context, bars: Mapping[str, Bar]) -> None:
        """Called after the on_bar calls of a closing time: `bars` has the latest bar of each symbol."""

    def on_trade(self, ctx: Context, trade: Trade) -> None:
        """A public `trade` (recordings, paper and live)."""

    def on_book(self, ctx: Context, book: BookSnapshot) -> None:
        """The top of a `book` changed (recordings, paper and live). A bar replay models it at each close."""

    def on_timer(self, ctx: Context) -> None:
        """`timer_ms` have passed (not in backtests on bars). A second parameter receives the time, Unix ms.

        In a live run a call that comes too late for the next one replaces it.
        """

    def on_fill(self, ctx: Context, fill: Fill) -> None:
        """An order of this account was filled, fully or partially: `fill` is the part."""

    def on_reject(self, ctx: Context, placed: OrderHandle) -> None:
        """An order was rejected. `placed.reason` says why."""

    def on_funding(self, ctx: Context, payment: FundingFee) -> None:
        """Funding was settled on a position: `payment` is above 0 if the account received it."""

    def on_stop(self, ctx: Context) -> None:
        """Called after the last bar, or when the run is stopped."""


add_examples(Strategy, "Strategy")
CALLBACKS = (
    "on_start", "on_bar", "on_bars", "on_trade", "on_book", "on_timer", "on_fill", "on_reject", "on_funding", "on_stop",
)  # fmt: skip


class FunctionStrategy(Strategy):
    """A strategy with this `name`, of plain `**functions` that are named after callbacks and take their parameters."""

    def __init__(self, name: str = "strategy", **functions: Callable[..., None]) -> None:
        wrong = sorted(set(functions) - set(CALLBACKS))
        if wrong:
            message = f"{wrong[0]!r} is not a callback. The callbacks are {', '.join(CALLBACKS)}"
            raise InputError(message, field=wrong[0], nearest=CALLBACKS)
        self._name = name
        for key, function in functions.items():
            setattr(self, key, function)

    @property
    def name(self) -> str:
        return self._name

    @property
    def params(self) -> dict[str, Any]:
        """Empty: functions have no parameters."""
        return {}


StrategyLike = Strategy | Callable[..., None] | Mapping[str, Callable[..., None]]


def as_strategy(given: StrategyLike) -> Strategy:
    """Return a fresh Strategy: `given` is an instance (copied), a class (of which one is made) or plain functions.

    A single function is on_bar(ctx, bar). A mapping names several. The given object is never changed by a run.
    """
    if isinstance(given, type):
        given = given()
    if isinstance(given, Strategy):
        plain = all(type(value) in PLAIN for value in vars(given).values()) and not hasattr(given, "__deepcopy__")
        return _copy_class_state(copy.copy(given) if plain else copy.deepcopy(given))
    if isinstance(given, Mapping):
        return FunctionStrategy("strategy", **given)
    if callable(given):
        return FunctionStrategy(getattr(given, "__name__", "strategy"), on_bar=given)
    raise InputError(
        f"a strategy is a Strategy, a function on_bar(ctx, bar) or a mapping of functions, not {type(given).__name__}",
        field="strategy",
    )


def _copy_class_state(strategy: Strategy) -> Strategy:
    """Give a strategy its own copies of mutable class attributes, such as lists and indicators.

    Shared ones would carry state from one run into the next.
    """
    for base in type(strategy).__mro__:
        if base in (object, Strategy):
            continue
        for name, value in vars(base).items():
            shared = not (
                name.startswith("__") or name in vars(strategy) or callable(value) or isinstance(value, IMMUTABLE)
            )
            if shared:
                with contextlib.suppress(Exception):  # an attribute that can't be copied stays shared
                    setattr(strategy, name, copy.deepcopy(value))
    return strategy


IMMUTABLE = (str, bytes, int, float, Decimal, tuple, frozenset, type(None), property, classmethod, staticmethod)
"""Types of class attributes that a run can't change."""
PLAIN = {str, bytes, int, float, bool, Decimal, type(None)}
"""Types of parameters of which a copy needs no copies."""


def timer_call(strategy: Strategy, ctx: Context) -> Callable[[], None]:
    """Return a call of a strategy's on_timer(ctx), or of on_timer(ctx, now) when it takes the time."""
    on_timer: Callable[..., None] = strategy.on_timer
    if len(inspect.signature(on_timer).parameters) > 1:
        return lambda: on_timer(ctx, ctx.now)
    return partial(on_timer, ctx)


def __getattr__(name: str) -> Any:
    raise no_attribute(f"module {__name__!r}", name, __all__)


def streamed(indicator: type, numbers: Sequence[Any], options: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """Return a function over arrays that updates a fresh streaming indicator with one value of each at a time."""

    def values(*columns: Any) -> list[Any]:
        made: Any = indicator(*numbers, **options)
        return [made.update(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    values.__name__ = indicator.__name__
    return values


def overrides(strategy: Strategy, callback: str) -> bool:
    """Return whether a `strategy` implements the `callback` of this name."""
    if callback in vars(strategy):
        return True
    return getattr(type(strategy), callback) is not getattr(Strategy, callback)
