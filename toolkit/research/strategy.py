"""Strategy: what a researcher writes once; backtest, paper and live run the same object unchanged.

    class SmaCross(Strategy):
        fast, slow, size = 10, 50, "0.1"

        def on_start(self, ctx):
            self.short, self.long = SMA(self.fast), SMA(self.slow)

        def on_bar(self, ctx, bar):
            short, long = self.short.update(bar.close), self.long.update(bar.close)
            ctx.target(bar.symbol, self.size if short > long else 0)

A strategy sees only what has happened: bars when they are complete, its own fills, the book and trades of the moment.
It acts through `ctx`, which has the calls of a session.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import InputError
from ..products import Amount, Product

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ..orders import Order


class Bar(msgspec.Struct, frozen=True, gc=False):
    """One complete bar. Times in Unix ms: it covers [time, closed); prices in USDC, volume in base units."""

    symbol: str
    time: int
    closed: int
    open: float
    high: float
    low: float
    close: float
    volume: float


class Trade(msgspec.Struct, frozen=True, gc=False):
    """One public trade: `side` is the taker's, BUY or SELL; time in Unix ms."""

    symbol: str
    time: int
    side: str
    price: float
    quantity: float


class BookSnapshot(msgspec.Struct, frozen=True):
    """The top of a book at `time` (Unix ms): (price, quantity) from the best level on."""

    symbol: str
    time: int
    bids: tuple[tuple[float, float], ...]
    asks: tuple[tuple[float, float], ...]

    @property
    def mid(self) -> float:
        """Middle of best bid and best ask; NaN when a side is empty."""
        return (self.bids[0][0] + self.asks[0][0]) / 2 if self.bids and self.asks else float("nan")


class Fill(msgspec.Struct, frozen=True):
    """One fill of the strategy. Amounts in USDC; fee > 0 was paid; `role` is MAKER or TAKER, `type` as on the wire."""

    symbol: str
    time: int
    side: str
    price: float
    quantity: float
    value: float
    fee: float
    realized_pnl: float
    role: str
    type: str
    order_id: int
    cl_ord_id: int


class Payment(msgspec.Struct, frozen=True):
    """One funding settlement of a position; payment > 0 was received. `price` is the mark it was valued at."""

    symbol: str
    time: int
    position: float
    price: float
    rate: float
    payment: float


class Placed:
    """An order on its way: what `ctx.buy` and the others return, kept up to date.

    Attributes: `order` (as written), `cl_ord_id`, `order_id` (0 until the venue has told it), `state` (SENT, NEW,
    PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED or UNKNOWN), `filled` (quantity),
    `reason` (why it was refused or cancelled). True in a condition unless it was refused.
    """

    __slots__ = ("cl_ord_id", "filled", "order", "order_id", "reason", "state")

    def __init__(self, order: Order, cl_ord_id: int) -> None:
        self.order = order
        self.cl_ord_id = cl_ord_id
        self.order_id = 0
        self.state = "SENT"
        self.filled = 0.0
        self.reason = ""

    @property
    def done(self) -> bool:
        """True when nothing more can happen to it."""
        return self.state in ("FILLED", "CANCELED", "REJECTED")

    def __bool__(self) -> bool:
        return self.state != "REJECTED"

    def __repr__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return f"<Placed {self.order.describe()}: {self.state}{why}>"


class BarHistory:
    """The bars of one symbol up to now, as read-only float64 arrays: open, high, low, close, volume, and time (ms).

    The arrays hold the past and nothing else: rows of the future do not exist yet, also not in what the views look
    into. `history[-5:]` is not offered; write `history.close[-5:]`.
    """

    __slots__ = ("_fresh", "_length", "_rows", "_times", "append", "symbol")

    COLUMNS = ("open", "high", "low", "close", "volume")

    def __init__(self, symbol: str) -> None:
        import numpy as np

        self.symbol = symbol
        self._fresh: list[Bar] = []
        self.append = self._fresh.append
        """append(bar) adds a complete bar."""
        self._length = 0
        self._rows = np.full((1024, 5), np.nan)
        self._times = np.zeros(1024, dtype="int64")

    @property
    def length(self) -> int:
        """Number of bars so far."""
        return self._length + len(self._fresh)

    def _settle(self) -> None:
        """Write the bars that came since the last look into the arrays."""
        fresh, at = self._fresh, self._length
        while at + len(fresh) > len(self._times):
            self._grow()
        self._length = end = at + len(fresh)
        self._rows[at:end] = [(bar.open, bar.high, bar.low, bar.close, bar.volume) for bar in fresh]
        self._times[at:end] = [bar.time for bar in fresh]
        fresh.clear()

    def _grow(self) -> None:
        import numpy as np

        more = len(self._times)
        self._rows = np.concatenate([self._rows, np.full((more, 5), np.nan)])
        self._times = np.concatenate([self._times, np.zeros(more, dtype="int64")])

    def __len__(self) -> int:
        return self.length

    @property
    def time(self) -> NDArray[np.int64]:
        """When each bar opened, Unix ms."""
        if self._fresh:
            self._settle()
        view = self._times[: self._length]
        view.flags.writeable = False
        return view

    def _column(self, number: int) -> NDArray[np.float64]:
        if self._fresh:
            self._settle()
        view = self._rows[: self._length, number]
        view.flags.writeable = False
        return view

    @property
    def open(self) -> NDArray[np.float64]:
        """Open prices."""
        return self._column(0)

    @property
    def high(self) -> NDArray[np.float64]:
        """Highest prices."""
        return self._column(1)

    @property
    def low(self) -> NDArray[np.float64]:
        """Lowest prices."""
        return self._column(2)

    @property
    def close(self) -> NDArray[np.float64]:
        """Close prices."""
        return self._column(3)

    @property
    def volume(self) -> NDArray[np.float64]:
        """Volumes in base units."""
        return self._column(4)

    def frame(self) -> pd.DataFrame:
        """Return the bars as a DataFrame on a UTC index (a copy)."""
        import pandas as pd

        index = pd.DatetimeIndex(pd.to_datetime(self.time, unit="ms", utc=True).as_unit("ms"), name="time")
        return pd.DataFrame(self._rows[: self._length].copy(), columns=list(self.COLUMNS), index=index)


class Context(ABC):
    """What a strategy acts through and looks at: the same calls as a session, in every kind of run.

    Attributes: `symbols` (what the run is about), `now` (Unix ms), `interval` (length of a bar, ms), `mode`
    ("backtest", "paper" or "live").
    """

    mode: str = ""

    def __init__(self, symbols: Sequence[str], interval: int) -> None:
        self.symbols = tuple(symbols)
        self.interval = interval
        self.now = 0
        self.records: list[tuple[int, dict[str, float]]] = []
        self.stopped = ""

    # orders

    def buy(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> Placed:
        """Buy at `price`, or at market without one. Options as in `toolkit.orders.order` (tif, reduce_only, tp, sl …).

        Never raises for a business reason: an order that is refused comes back (or turns) REJECTED with its reason,
        and `on_reject` is called.
        """
        return self._make(symbol, "BUY", quantity, price, options)

    def sell(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> Placed:
        """Sell; as `buy`."""
        return self._make(symbol, "SELL", quantity, price, options)

    def _make(self, symbol: str, side: str, quantity: Amount, price: Amount | None, options: dict[str, Any]) -> Placed:
        from ..orders import order

        return self.place(order(symbol, side, quantity, price, **options))

    def target(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> Placed | None:
        """Bring the position to a signed quantity with one order; None when it is there (orders under way count)."""
        product = self.product(symbol)
        missing = whole_steps(quantity, float(product.step_size)) - round(
            (self.position(symbol) + self.underway(symbol)) / float(product.step_size)
        )
        if not missing:
            return None
        amount = product.quantity_text(abs(missing))
        return self._make(symbol, "BUY" if missing > 0 else "SELL", amount, price, options)

    @abstractmethod
    def place(self, order: Order) -> Placed:
        """Place an order made with `toolkit.orders`."""

    @abstractmethod
    def cancel(self, placed: Placed) -> None:
        """Cancel an order; nothing happens when it has ended."""

    @abstractmethod
    def cancel_all(self, symbol: str | None = None) -> None:
        """Cancel all open orders, waiting triggers too, of a symbol or of all."""

    def close_position(self, symbol: str) -> Placed | None:
        """Close a position at market, reduce-only; None when there is none."""
        size = self.position(symbol)
        if not size:
            return None
        product = self.product(symbol)
        amount = product.quantity_text(abs(round(size / float(product.step_size))))
        return self._make(symbol, "SELL" if size > 0 else "BUY", amount, None, {"reduce_only": True})

    @abstractmethod
    def set_leverage(self, symbol: str, leverage: Amount) -> None:
        """Set the leverage of a symbol. Raises InputError or ActionRejected when the venue does not allow it."""

    # what is

    @abstractmethod
    def product(self, symbol: str) -> Product:
        """Return the product: steps, limits, rounding. Raises UnknownProduct."""

    @abstractmethod
    def position(self, symbol: str) -> float:
        """Return the signed position, base units."""

    @abstractmethod
    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders that were sent and have no answer yet."""

    @abstractmethod
    def price(self, symbol: str) -> float:
        """Return the last known price; NaN before the first."""

    @property
    @abstractmethod
    def equity(self) -> float:
        """Balance plus unrealised PnL, USDC."""

    @property
    @abstractmethod
    def balance(self) -> float:
        """Cash, USDC."""

    @abstractmethod
    def positions(self) -> pd.DataFrame:
        """Return open positions: index symbol; columns quantity, entry_price, price, unrealized, notional."""

    @abstractmethod
    def orders(self) -> list[Placed]:
        """Return the strategy's orders that have not ended, oldest first."""

    @abstractmethod
    def bars(self, symbol: str | None = None) -> BarHistory:
        """Return the bars up to now (of the first symbol, or of `symbol`)."""

    @property
    def time(self) -> pd.Timestamp:
        """Now, UTC."""
        import pandas as pd

        return pd.Timestamp(self.now, unit="ms", tz="UTC")

    # notes

    def record(self, **values: float) -> None:
        """Keep values of the moment; they come out as `results.records`."""
        self.records.append((self.now, values))

    def stop(self, reason: str = "the strategy asked") -> None:
        """End the run after this call: nothing more is sent, `on_stop` is called."""
        self.stopped = reason


def whole_steps(quantity: Amount, step: float) -> int:
    """Return a target in steps, to the nearest. Raises InputError for what is no finite number."""
    try:
        return round(float(quantity) / step)
    except (ValueError, TypeError, OverflowError):
        raise InputError(
            f"a target of {quantity!r} is no quantity; give a finite number, such as '0.1' or '-0.1'",
            field="quantity",
            value=str(quantity),
        ) from None


class Strategy:
    """Base of strategies. Class attributes are parameters with their defaults: `SmaCross(fast=5)` changes one.

    Override what you need; each takes the Context first. `symbols` (optional) names what the strategy trades, for paper
    and live runs that are not told.
    """

    symbols: Sequence[str] = ()

    def __init__(self, **params: Any) -> None:
        known = self._names()
        for name, value in params.items():
            if name not in known:
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(sorted(known)) or 'none'}",
                    field=name,
                    rule="known",
                    value=value,
                    nearest=tuple(sorted(known)),
                )
            setattr(self, name, value)

    @classmethod
    def _names(cls) -> dict[str, Any]:
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
        """Parameters with their present values (class attributes, or arguments of an own constructor)."""
        if type(self).__init__ is Strategy.__init__:
            return {name: getattr(self, name) for name in self._names()}
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def on_start(self, ctx: Context) -> None:
        """Before the first bar."""

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        """A bar is complete. With several symbols: once for each, after all bars of that instant are known."""

    def on_trade(self, ctx: Context, trade: Trade) -> None:
        """A public trade (recordings, paper and live)."""

    def on_book(self, ctx: Context, book: BookSnapshot) -> None:
        """The top of a book changed (recordings, paper and live; in bar replays the modelled quotes at each close)."""

    def on_fill(self, ctx: Context, fill: Fill) -> None:
        """An order of this account was filled, in whole or in part."""

    def on_reject(self, ctx: Context, placed: Placed) -> None:
        """An order was refused; `placed.reason` says why."""

    def on_funding(self, ctx: Context, payment: Payment) -> None:
        """Funding was settled on a position."""

    def on_stop(self, ctx: Context) -> None:
        """After the last bar, or when the run is stopped."""


CALLBACKS = ("on_start", "on_bar", "on_trade", "on_book", "on_fill", "on_reject", "on_funding", "on_stop")


class FunctionStrategy(Strategy):
    """A strategy made of plain functions, each taking what the method of that name takes after self."""

    def __init__(self, name: str = "strategy", **functions: Callable[..., None]) -> None:
        wrong = sorted(set(functions) - set(CALLBACKS))
        if wrong:
            raise InputError(
                f"{wrong[0]!r} is no callback; they are {', '.join(CALLBACKS)}", field=wrong[0], nearest=CALLBACKS
            )
        self._name = name
        for key, function in functions.items():
            setattr(self, key, function)

    @property
    def name(self) -> str:
        """Name in results and reports."""
        return self._name

    @property
    def params(self) -> dict[str, Any]:
        """Functions have none."""
        return {}


StrategyLike = Strategy | Callable[..., None] | Mapping[str, Callable[..., None]]


def as_strategy(given: StrategyLike) -> Strategy:
    """Return a fresh Strategy to run: a copy of an instance, an instance of a class, or plain functions wrapped.

    A single function is on_bar(ctx, bar); a mapping names several. Runs never change the object they were given.
    """
    if isinstance(given, type):
        given = given()
    if isinstance(given, Strategy):
        return _own_state(copy.deepcopy(given))
    if isinstance(given, Mapping):
        return FunctionStrategy("strategy", **given)
    if callable(given):
        return FunctionStrategy(getattr(given, "__name__", "strategy"), on_bar=given)
    raise InputError(
        f"a strategy is a Strategy, a function on_bar(ctx, bar) or a mapping of functions, not {type(given).__name__}",
        field="strategy",
    )


def _own_state(strategy: Strategy) -> Strategy:
    """Give a strategy its own copies of the lists, indicators and the like that stand in its class.

    They would be one for all runs otherwise, and the second run would begin with what the first one left.
    """
    for base in type(strategy).__mro__:
        if base in (object, Strategy):
            continue
        for name, value in vars(base).items():
            shared = not (
                name.startswith("__") or name in vars(strategy) or callable(value) or isinstance(value, FIXED)
            )
            if shared:
                with contextlib.suppress(Exception):  # what can't be copied stays shared
                    setattr(strategy, name, copy.deepcopy(value))
    return strategy


FIXED = (str, bytes, int, float, Decimal, tuple, frozenset, type(None), property, classmethod, staticmethod)
"""Types of class attributes that no run can change."""


def overrides(strategy: Strategy, callback: str) -> bool:
    """Return whether a strategy does anything in a callback."""
    if callback in vars(strategy):
        return True
    return getattr(type(strategy), callback) is not getattr(Strategy, callback)
