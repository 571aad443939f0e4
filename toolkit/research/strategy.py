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
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..suggestions import no_attribute
from .account_data import Fill, FundingFee, OrderHandle
from .context import Context
from .market_data import Bar, BarHistory, BookSnapshot, Indicator, Precomputed, Trade

if TYPE_CHECKING:
    import pandas as pd

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
    """Base class of strategies. Its class attributes are parameters with defaults: `SmaCross(fast=5)` changes one.

    Override the callbacks you need. Each takes the Context first.

    Parameters
    ----------
    **params : object
        Values of class attributes by name (default: those of the class). An unknown name raises InputError.

    Attributes
    ----------
    symbols : sequence of str
        Products that it trades in paper and live runs that name no symbols (default: none).
    timer_ms : float
        How often `on_timer` is called, ms (default: 100). `ctx.set_timer` changes it.
    ctx : Context
        The context of the run, set before `on_start`.
    """

    symbols: Sequence[str] = ()
    timer_ms: float = 100
    """How often `on_timer` is called. `ctx.set_timer` changes it."""
    ctx: Context
    """The context of the run. Set before on_start."""

    def __init__(self, **params: object) -> None:
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
        self,
        function: Callable[..., Any],
        *inputs: object,
        symbol: str | None = None,
        outputs: int = 1,
        **options: object,
    ) -> Any:
        """Return an indicator with the values of a function over arrays, of any library. Call it in `on_start`.

        A backtest computes the values once. Live runs compute them at each bar, over the bars so far.

        Parameters
        ----------
        function : callable
            Function that returns one value a bar, such as `talib.SMA`, or a class of `indicators`, which is given its
            numbers after its columns: `self.I(indicators.SMA, 10)`.
        *inputs : object
            Inputs of the function: columns ("close", the default, "open", "high", "low", "volume", "time": float64
            arrays), "bars" (a DataFrame), or values that are passed unchanged.
        symbol : str, optional
            Product whose bars are read (default: the first of the run).
        outputs : int, optional
            Number of arrays that the function returns (default: 1).
        **options : object
            Keywords that are passed unchanged: `self.I(talib.SMA, "close", timeperiod=20)`.

        Returns
        -------
        Indicator or tuple of Indicator
            The indicator, a tuple of them with more than one output.

        Raises
        ------
        InputError
            If the function looks ahead. The run finds it when it begins.

        Examples
        --------
        >>> class Slow(research.Strategy):
        ...     def on_start(self, ctx):
        ...         self.mean = self.I(indicators.SMA, 10)
        ...     def on_bar(self, ctx, bar):
        ...         ctx.record(mean=round(self.mean[-1], 1))
        >>> research.backtest(Slow, bars).records["mean"].iloc[-1].item()
        61655.7
        """
        if isinstance(function, type) and hasattr(function, "update"):
            function = streamed(function, [each for each in inputs if not isinstance(each, str)], options)
            inputs, options = tuple(each for each in inputs if isinstance(each, str)), {}
        computed = Precomputed(function, inputs, options, symbol or self.ctx.symbols[0], outputs)
        self.ctx._precomputed.append(computed)
        return computed.indicators if outputs > 1 else computed.indicators[0]

    def on_start(self, ctx: Context) -> None:
        """Called before the first bar.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.

        Examples
        --------
        >>> def on_start(ctx):
        ...     ctx.set_leverage("BTCUSDC", "5")
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        >>> research.backtest({"on_start": on_start, "on_bar": on_bar}, bars).fills["side"].tolist()
        ['BUY']
        """

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        """Called with each complete bar.

        With several symbols it is called once for each, after all bars of that closing time are known.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        bar : Bar
            Complete bar.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1" if bar.close > bar.open else 0)
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63376.9], ['SELL', 64396.2]]
        """

    def on_bars(self, ctx: Context, bars: Mapping[str, Bar]) -> None:
        """Called after the `on_bar` calls of a closing time.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        bars : mapping of str to Bar
            The latest bar of each symbol.

        Examples
        --------
        >>> def on_bars(ctx, latest):
        ...     ctx.record(dearest=max(bar.close for bar in latest.values()))
        >>> research.backtest({"on_bars": on_bars}, bars).records["dearest"].iloc[-1].item()
        62500.0
        """

    def on_trade(self, ctx: Context, trade: Trade) -> None:
        """Called with each public trade: in recordings, paper and live runs.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        trade : Trade
            Price in USDC, quantity in base units, and the taker's side.

        Examples
        --------
        >>> def on_trade(ctx, trade):
        ...     ctx.record(price=trade.price)
        >>> research.paper({"on_trade": on_trade}, ["BTCUSDC"], duration="1m").records["price"].tail(2).tolist()
        [62611.9]
        """

    def on_book(self, ctx: Context, book: BookSnapshot) -> None:
        """Called when the top of a book has changed: in recordings, paper and live runs.

        A bar replay models the book at each close.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        book : BookSnapshot
            Book with its best levels first.

        Examples
        --------
        >>> def on_book(ctx, book):
        ...     ctx.record(spread=book.asks[0][0] - book.bids[0][0])
        >>> research.paper({"on_book": on_book}, ["BTCUSDC"], duration="1m").records["spread"].round(1).tail(2).tolist()
        [19.5]
        """

    def on_timer(self, ctx: Context) -> None:
        """Called every `timer_ms`, except in backtests on bars.

        A second parameter receives the time, Unix ms. In a live run a call that comes too late for the next one
        replaces it.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.

        Examples
        --------
        >>> def on_timer(ctx):
        ...     ctx.record(price=ctx.price("BTCUSDC"))
        >>> len(research.paper({"on_timer": on_timer}, ["BTCUSDC"], duration="10s").records)
        99
        """

    def on_fill(self, ctx: Context, fill: Fill) -> None:
        """Called when an order of this account was filled, fully or partially.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        fill : Fill
            The part that was filled.

        Examples
        --------
        >>> def on_fill(ctx, fill):
        ...     ctx.record(fee=round(fill.fee, 4))
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        >>> research.backtest({"on_bar": on_bar, "on_fill": on_fill}, bars).records["fee"].tolist()
        [3.8054]
        """

    def on_reject(self, ctx: Context, placed: OrderHandle) -> None:
        """Called when an order was rejected.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        placed : OrderHandle
            The order. `placed.reason` says why it was rejected.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "1000")
        >>> def on_reject(ctx, placed):
        ...     print(placed.reason)
        ...     ctx.stop()
        >>> _ = research.backtest({"on_bar": on_bar, "on_reject": on_reject}, bars)
        margin: the order needs initial margin 3266290 USDC ...
        """

    def on_cancel(self, ctx: Context, placed: OrderHandle) -> None:
        """Called when an order was cancelled, or the rest of it: by the strategy, by another order or by the venue.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        placed : OrderHandle
            The order. `placed.reason` says why it was cancelled.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.buy(bar.symbol, "0.01", bar.close * 0.9 // 1, tif="IOC")
        >>> def on_cancel(ctx, placed):
        ...     print(placed.reason)
        ...     ctx.stop()
        >>> _ = research.backtest({"on_bar": on_bar, "on_cancel": on_cancel}, bars)
        nothing more to take at the limit of 57080.0 or better
        """

    def on_funding(self, ctx: Context, payment: FundingFee) -> None:
        """Called when funding was settled on a position.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.
        payment : FundingFee
            The settlement. Its amount is above 0 if the account received it.

        Examples
        --------
        >>> def on_funding(ctx, payment):
        ...     ctx.record(paid=round(payment.payment, 4))
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        >>> research.backtest({"on_bar": on_bar, "on_funding": on_funding}, bars).records["paid"].head(2).tolist()
        [-0.3169, -0.3202]
        """

    def on_stop(self, ctx: Context) -> None:
        """Called after the last bar, or when the run is stopped.

        Parameters
        ----------
        ctx : Context
            Context of the run, through which the strategy reads and acts.

        Examples
        --------
        >>> def on_stop(ctx):
        ...     ctx.record(left=ctx.position("BTCUSDC"))
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        >>> research.backtest({"on_bar": on_bar, "on_stop": on_stop}, bars).records["left"].tolist()
        [0.1]
        """


CALLBACKS = (
    "on_start", "on_bar", "on_bars", "on_trade", "on_book", "on_timer", "on_fill", "on_reject", "on_cancel",
    "on_funding", "on_stop",
)  # fmt: skip


class FunctionStrategy(Strategy):
    """A strategy of plain functions that are named after callbacks and take their parameters.

    Parameters
    ----------
    name : str, optional
        Name in results and reports (default: "strategy").
    **functions : callable
        Callbacks by name, such as `on_bar`. Another name raises InputError.
    """

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
    """Return a fresh strategy. The given object is never changed by a run.

    Parameters
    ----------
    given : Strategy, class, callable or mapping
        An instance (copied), a class (of which one is made), a function `on_bar(ctx, bar)`, or a mapping of callback
        names to functions.

    Returns
    -------
    Strategy
        Instance that only one run uses.

    Raises
    ------
    InputError
        If it is none of them.
    """
    if isinstance(given, type):
        given = given()
    if isinstance(given, Strategy):
        foreign = next((name for name in FOREIGN if hasattr(given, name)), None)
        if foreign and not any(overrides(given, name) for name in CALLBACKS[1:]):
            text = f"{type(given).__name__} has {foreign}(), which is never called here"
            raise InputError(f"{text}. A strategy acts in {FOREIGN[foreign]}", field="strategy", rule="a callback")
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


FOREIGN = {
    "next": "on_bar(ctx, bar)", "on_tick": "on_trade(ctx, trade) or on_book(ctx, book)",
    "handle_data": "on_bars(ctx, bars)", "on_data": "on_bar(ctx, bar)",
    "populate_entry_trend": "on_bar(ctx, bar)", "on_quote_tick": "on_book(ctx, book)",
}  # fmt: skip
"""Callbacks of other libraries → those of a Strategy."""


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
    """Return a call of a strategy's `on_timer(ctx)`, or of `on_timer(ctx, now)` if it takes the time.

    Parameters
    ----------
    strategy : Strategy
        Strategy whose callback is called.
    ctx : Context
        Context of the run, through which the strategy reads and acts.
    """
    on_timer: Callable[..., None] = strategy.on_timer
    if len(inspect.signature(on_timer).parameters) > 1:
        return lambda: on_timer(ctx, ctx.now)
    return partial(on_timer, ctx)


def __getattr__(name: str) -> Any:
    raise no_attribute(f"module {__name__!r}", name, __all__)


def streamed(indicator: type, numbers: Sequence[Any], options: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """Return a function over arrays that updates a fresh streaming indicator with one value of each at a time.

    Parameters
    ----------
    indicator : type
        Class of `indicators`.
    numbers : sequence of object
        Positional arguments of its constructor, such as the window.
    options : mapping of str to object
        Keyword arguments of its constructor.
    """

    def values(*columns: pd.Series[Any]) -> list[Any]:
        made: Any = indicator(*numbers, **options)
        return [made.update(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    values.__name__ = indicator.__name__
    return values


def overrides(strategy: Strategy, callback: str) -> bool:
    """Return whether a strategy implements a callback.

    Parameters
    ----------
    strategy : Strategy
        Strategy to look at.
    callback : str
        Name of the callback, such as "on_book".
    """
    if callback in vars(strategy):
        return True
    return getattr(type(strategy), callback) is not getattr(Strategy, callback)
