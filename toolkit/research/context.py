"""The context through which a strategy acts: the same calls in a backtest, on the local venue and live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import InputError
from ..products import Amount, Product, decimal_text
from ..worked_examples import add_examples
from .account_data import FundingRates, OrderHandle
from .market_data import Bar, BarHistory, BookSnapshot, LongerBars, Precomputed, span_ms

if TYPE_CHECKING:
    import pandas as pd

    from ..orders import Bracket, Order


class Kept(msgspec.Struct, frozen=True):
    """The part of its context that a named run keeps: `groups` of client ids, `trailing` as (symbol, ratio, sign).

    `day` is the number of the day (UTC) and what the run had earned when that day began.
    """

    timer_ms: float = 0
    groups: tuple[tuple[int, ...], ...] = ()
    trailing: tuple[tuple[str, float, int], ...] = ()
    day: tuple[int, float] = (-1, 0.0)


class TrailingStop:
    """A stop that follows the best price of its position at a distance, and never moves back.

    At each close it is placed again when the bar's extreme has moved it. Within a bar it stays. Where the close itself
    is beyond the new stop, the position is closed at market. It ends with its position, or by `cancel`.

    Attributes: `symbol`, `ratio` (distance from the best price), `stop` (the trigger price, NaN before the first),
    `handle` (the present order, None before), `done`.
    """

    def __init__(self, ctx: Context, symbol: str, ratio: float) -> None:
        self.symbol = symbol
        self.ratio = ratio
        self.stop = float("nan")
        self.handle: OrderHandle | None = None
        self.done = False
        self._ctx = ctx
        self._sign = 1
        """+1 while it protects a long position, −1 for a short one."""

    def update(self, bar: Bar | None = None) -> None:
        """Follow the bar that has closed. Without one: place the first stop at the present price."""
        from ..orders import Order

        ctx = self._ctx
        size = ctx.position(self.symbol)
        expected = size + ctx.underway(self.symbol)
        if not expected or (self.handle is not None and (self.handle.state == "FILLED" or size * self._sign < 0)):
            if self.handle is not None:
                self.cancel()
            return
        if self.handle is not None and self.handle.state == "REJECTED":  # a jump has passed it, for example
            self.handle, self.stop = None, float("nan")
        if self.handle is None:
            self._sign = 1 if expected > 0 else -1
        long = self._sign > 0
        best = ctx.price(self.symbol) if bar is None else (bar.high if long else bar.low)
        wanted = best * (1 - self._sign * self.ratio)
        price = ctx.product(self.symbol).round_price(f"{wanted:.12f}", "down" if long else "up")
        # NaN compares false: the first stop is always placed.
        if (float(price) - self.stop) * self._sign <= 0:
            return
        if bar is not None and size and (ctx.price(self.symbol) - float(price)) * self._sign <= 0:
            # The close is beyond the stop that the extreme has moved: the venue would refuse it as already reached.
            self.cancel()
            ctx.close_position(self.symbol)
            return
        if self.handle is not None:
            ctx.cancel(self.handle)
        self.stop, trigger = float(price), format(price, "f")
        close_all = Order(
            self.symbol,
            "SELL" if long else "BUY",
            "0",
            tif="IOC",
            reduce_only="SL_FROM_POSITION",
            trigger_price=trigger,
        )
        self.handle = ctx.place(close_all)

    def cancel(self) -> None:
        """End it, and cancel its order."""
        self.done = True
        if self.handle is not None:
            self._ctx.cancel(self.handle)


class Context(ABC):
    """The object through which a strategy reads and acts: the calls of a session, the same in every kind of run.

    Attributes: `symbols` (of the run), `now` (Unix ms), `interval` (length of a bar, ms), `mode` ("backtest", "paper"
    or "live"), `timer_ms` (how often `on_timer` is called). `records` has what `record` kept, as (Unix ms, values).
    `stopped` is the reason given to `stop`, else "".
    """

    mode: str = ""
    timer_ms: float = 100

    def __init__(self, symbols: Sequence[str], interval: int) -> None:
        self.symbols = tuple(symbols)
        self.interval = interval
        self.now = 0
        self.records: list[tuple[int, dict[str, float]]] = []
        self.stopped = ""
        self._precomputed: list[Precomputed] = []
        self._trailing: list[TrailingStop] = []
        self._groups: list[tuple[OrderHandle, ...]] = []
        self._longer: dict[tuple[str, int], LongerBars] = {}

    def buy(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> OrderHandle:
        """Buy `quantity` base units of `symbol` at `price`, or at market. `options` as in `toolkit.orders.order`.

        Never raises for a business reason: a refused order has the state REJECTED and its reason, now or once the
        venue has answered, and `on_reject` is called.
        """
        return self._place_new(symbol, "BUY", quantity, price, options)

    def sell(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> OrderHandle:
        """Sell `quantity` base units of `symbol` at `price`, or at market. `options` as in `buy`."""
        return self._place_new(symbol, "SELL", quantity, price, options)

    def _place_new(
        self, symbol: str, side: str, quantity: Amount, price: Amount | None, options: dict[str, Any]
    ) -> OrderHandle:
        from ..orders import order

        return self.place(order(symbol, side, quantity, price, **options))

    def target(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: Any) -> OrderHandle | None:
        """Adjust the position of `symbol` to a signed `quantity` with one order. None if position + `underway` is that.

        The order is at `price`, or at market, and `options` are as in `buy`. A target is rounded to the nearest step.
        One that rounds to nothing is rejected, as an order below one step is.
        """
        product = self.product(symbol)
        step = float(product.step_size)
        expected = round((self.position(symbol) + self.underway(symbol)) / step)
        missing = whole_steps(quantity, step) - expected
        if not missing:
            return None if expected else self._reject_below_step(symbol, quantity, step)
        amount = product.quantity_text(abs(missing))
        return self._place_new(symbol, "BUY" if missing > 0 else "SELL", amount, price, options)

    def target_share(
        self, symbol: str, share: float, tolerance: float = 0.0, price: Amount | None = None, **options: Any
    ) -> OrderHandle | None:
        """Adjust the position of `symbol` to `share` of equity (−0.5: short for half of it), at the last price.

        `price` and `options` are as in `target`. Nothing is sent while the position's share, with what is underway, is
        within `tolerance` of it. Returns None then, and before the first price.
        """
        equity, last = self.equity, self.price(symbol)
        if not (equity > 0 and last > 0):
            return None
        present = (self.position(symbol) + self.underway(symbol)) * last / equity
        if abs(present - share) <= tolerance:
            return None
        # Towards zero, so that a share is never exceeded by rounding.
        quantity = self.product(symbol).round_quantity(f"{abs(share) * equity / last:.12f}", "down")
        return self.target(symbol, quantity if share >= 0 else -quantity, price, **options)

    def bracket(
        self,
        symbol: str,
        quantity: Amount,
        *,
        take_profit: Amount | Order | None = None,
        stop_loss: Amount | Order | None = None,
        price: Amount | None = None,
        **options: Any,
    ) -> OrderHandle:
        """Buy (or sell, with a negative quantity) with a take-profit, a stop-loss or both.

        symbol, quantity, price: as in `buy`.
        take_profit, stop_loss: trigger prices in USDC, or orders (default: none). An order, such as
            `toolkit.orders.take_profit(…, price=…, tif="POST_ONLY")`, can rest as a maker once it is triggered.
        options: as in `toolkit.orders.order`.

        The exits wait until the entry fills, close what it opened, and one cancels the other.
        """
        text = str(quantity)
        side, size = ("SELL", text.removeprefix("-")) if text.startswith("-") else ("BUY", text)
        return self._place_new(symbol, side, size, price, {**options, "tp": take_profit, "sl": stop_loss})

    def one_cancels_other(self, *orders: OrderHandle) -> tuple[OrderHandle, ...]:
        """Cancel the rest of these `orders` as soon as one of them is filled, if only in part, and return them."""
        self._groups.append(orders)
        self._keep()
        return orders

    def trailing_stop(self, symbol: str, ratio: float) -> TrailingStop:
        """Protect the position of `symbol` with a stop at a distance of `ratio` (0.02 is 2 %) from its best price.

        The stop is an order of the venue, placed again at a close that has moved it. Works for a position whose order
        is underway, too. Raises InputError unless 0 < ratio < 1.
        """
        if not 0 < ratio < 1:
            raise InputError(f"ratio is {ratio}, but must be between 0 and 1", field="ratio", value=ratio)
        stop = TrailingStop(self, symbol, ratio)
        stop.update()
        self._trailing.append(stop)
        self._keep()
        return stop

    def _keep(self) -> None:  # noqa: B027 - nothing to do in a backtest
        """Note what changed in timers, groups and trailing stops. Only a run with a name does so."""

    def _kept(self, day: tuple[int, float]) -> Kept:
        groups = tuple(tuple(placed.cl_ord_id for placed in group) for group in self._groups)
        trailing = tuple((stop.symbol, stop.ratio, stop._sign) for stop in self._trailing if not stop.done)
        return Kept(self.timer_ms, groups, trailing, day)

    def _take_up(self, kept: Kept, handles: Mapping[int, OrderHandle]) -> None:
        """Continue with what a run has kept. The stop of a position is an order at the venue, or is placed again."""
        self.timer_ms = kept.timer_ms or self.timer_ms
        self._groups = [tuple(handles[number] for number in group if number in handles) for group in kept.groups]
        for symbol, ratio, sign in kept.trailing:
            stop = TrailingStop(self, symbol, ratio)
            stop._sign = sign
            for placed in handles.values():
                order = placed.order
                whole = order.reduce_only == "SL_FROM_POSITION" and float(order.quantity) == 0
                if order.symbol == symbol and whole and not placed.done:
                    stop.handle, stop.stop = placed, float(order.trigger_price or "nan")
            self._trailing.append(stop)

    def _follow_bar(self, bar: Bar) -> None:
        """Move the trailing stops of a bar that has closed, before the strategy sees it."""
        for stop in self._trailing:
            if stop.symbol == bar.symbol and not stop.done:
                stop.update(bar)
        self._trailing = [stop for stop in self._trailing if not stop.done]

    def _follow_fills(self) -> None:
        """Cancel the rest of each group of which one order was filled. Keep the groups that still wait."""
        for group in list(self._groups):
            filled = any(placed.filled for placed in group)
            if filled or all(placed.done for placed in group):
                self._groups.remove(group)
            for placed in group if filled else ():
                if not placed.filled and not placed.done:
                    self.cancel(placed)

    def _reject_below_step(self, symbol: str, quantity: Amount, step: float) -> OrderHandle | None:
        """Reject a target that is nothing in whole steps, None for a target of 0."""
        size = float(quantity)
        if not size:
            return None
        from ..orders import Order

        text = f"{abs(size):.8f}".rstrip("0")
        placed = OrderHandle(Order(symbol, "BUY" if size > 0 else "SELL", text, tif="IOC"))
        reason = f"a target of {text} {symbol} is less than half a step of {step:g}. The smallest is {step:g}"
        return self._reject(placed, reason)

    @abstractmethod
    def _reject(self, placed: OrderHandle, reason: str) -> OrderHandle:
        """Give an order the state REJECTED without sending it, note it, and call `on_reject`."""

    @abstractmethod
    def place(self, order: Order | Bracket) -> OrderHandle:
        """Place an `order` made with `toolkit.orders`."""

    @abstractmethod
    def cancel(self, placed: OrderHandle) -> None:
        """Cancel the order `placed`. It does nothing when the order is in a final state."""

    def modify(self, placed: OrderHandle, *, price: Amount | None = None, quantity: Amount | None = None) -> None:
        """Change `price` (USDC), total `quantity` (filled part included) or both of the open order `placed`.

        As at the venue the order keeps its place in the queue only at the same price and with no more quantity. `order`
        of the handle shows the change once it is answered. A refused one leaves the order, and is noted in `events`.
        Nothing happens to an order in a final state.
        """
        changes = {"price": price, "quantity": quantity}
        given = {name: decimal_text(value, name) for name, value in changes.items() if value is not None}
        if given and not placed.done:
            self._replace(placed, replace(placed.order, **given))  # type: ignore[arg-type]

    @abstractmethod
    def _replace(self, placed: OrderHandle, changed: Order) -> None:
        """Send the change of an open order."""

    @abstractmethod
    def cancel_all(self, symbol: str | None = None) -> None:
        """Cancel all open orders of a `symbol`, or of all symbols, untriggered ones too."""

    def close_position(self, symbol: str) -> OrderHandle | None:
        """Close the position of `symbol` at market, reduce-only. Returns None when there is none.

        In hedge mode both legs are closed, and the last order is returned.
        """
        from ..orders import close_position

        product, sizes = self.product(symbol), [size for size in self.legs(symbol) if size]
        placed = None
        for size in sizes:
            amount = product.quantity_text(abs(round(size / float(product.step_size))))
            signed = amount if size > 0 else f"-{amount}"
            placed = self.place(close_position(symbol, signed, hedge=self._is_hedged(symbol)))
        return placed

    def _is_hedged(self, symbol: str) -> bool:
        """Return whether the account is in hedge mode."""
        return False

    @abstractmethod
    def set_leverage(self, symbol: str, leverage: Amount) -> None:
        """Set the `leverage` of `symbol`. Raises InputError or ActionRejected when the venue does not allow it."""

    @abstractmethod
    def product(self, symbol: str) -> Product:
        """Return the product `symbol`: steps, limits, rounding. Raises UnknownProduct."""

    @abstractmethod
    def position(self, symbol: str) -> float:
        """Return the signed position of `symbol`, base units. In hedge mode it is the long leg less the short one."""

    def legs(self, symbol: str) -> tuple[float, float]:
        """Return the long leg of `symbol` (0 or above) and the short one (0 or below), base units."""
        size = self.position(symbol)
        return max(size, 0.0), min(size, 0.0)

    @abstractmethod
    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders for `symbol` sent but not yet answered, base units."""

    @abstractmethod
    def price(self, symbol: str) -> float:
        """Return the last known price of `symbol`, NaN before the first."""

    @property
    @abstractmethod
    def equity(self) -> float:
        """Balance plus unrealised PnL, USDC."""

    @property
    @abstractmethod
    def balance(self) -> float:
        """Cash, USDC."""

    @abstractmethod
    def funding(self, symbol: str) -> FundingRates:
        """Return the funding rates of `symbol`: settled last, predicted, and when it is settled next."""

    @property
    @abstractmethod
    def fees(self) -> float:
        """Fees paid since the run began, USDC."""

    @property
    @abstractmethod
    def margin_ratio(self) -> float:
        """Maintenance margin over equity, of all positions. At 1 they are liquidated. 0 without positions."""

    @abstractmethod
    def liquidation_price(self, symbol: str) -> float:
        """Return the mark price at which the position of `symbol` would be liquidated, USDC, NaN where none does it."""

    @abstractmethod
    def positions(self) -> pd.DataFrame:
        """Return open positions: index symbol, float64 quantity, entry_price, price, unrealized, notional."""

    @abstractmethod
    def orders(self) -> list[OrderHandle]:
        """Return the strategy's orders that are not in a final state, oldest first."""

    def bars(self, symbol: str | None = None, interval: str | pd.Timedelta | None = None) -> BarHistory:
        """Return the bars up to now of `symbol` (default: the first one), or complete longer ones of `interval` ("1h").

        Longer bars begin at multiples of their interval since 1970 (UTC). Raises InputError for an interval that is no
        multiple of the run's own.
        """
        name = symbol or self.symbols[0]
        history = self._history(name)
        if interval is None:
            return history
        length = span_ms(interval)
        if length % self.interval:
            text = f"bars of {interval} can't be made of bars of {self.interval / 1000:g} s"
            raise InputError(text, field="interval", value=length)
        if (name, length) not in self._longer:
            self._longer[name, length] = LongerBars(history, length)
        return self._longer[name, length].update(self.now)

    @abstractmethod
    def book(self, symbol: str | None = None, depth: int = 1) -> BookSnapshot:
        """Return the book of `symbol` (default: the first one) as received: `depth` levels a side, best first.

        Sides are empty before the first message, and in a live run while the feed is lost. Raises InputError in a
        backtest on bars.
        """

    def set_timer(self, ms: float) -> None:
        """Call `on_timer` every `ms` from the next call on. Raises InputError unless it is above 0."""
        if not ms > 0:
            raise InputError(f"a timer of {ms} ms is not above 0", field="timer_ms", rule="above 0", value=ms)
        self.timer_ms = ms

    @abstractmethod
    def _history(self, symbol: str) -> BarHistory:
        """Return the bars up to now of a symbol."""

    @property
    def time(self) -> pd.Timestamp:
        """Current time, UTC."""
        import pandas as pd

        return pd.Timestamp(self.now, unit="ms", tz="UTC")

    def record(self, **values: float) -> None:
        """Keep `values` by name under the current time. `results.records` holds them."""
        self.records.append((self.now, values))

    def stop(self, reason: str = "the strategy asked") -> None:
        """End the run, for a `reason`, after the current callback: nothing more is sent, and `on_stop` is called."""
        self.stopped = reason


add_examples(Context, "Context")


def whole_steps(quantity: Amount, step: float) -> int:
    """Return a target in steps, rounded to the nearest. Raises InputError unless it is a finite number."""
    try:
        return round(float(quantity) / step)
    except (ValueError, TypeError, OverflowError):
        text = f"a target of {quantity!r} is not a quantity. Give a finite number, such as '0.1' or '-0.1'"
        raise InputError(text, field="quantity", value=str(quantity)) from None


def ratio_of(maintenance: float, equity: float) -> float:
    """Return maintenance margin over equity: 0 without a position, infinite without equity."""
    if not maintenance:
        return 0.0
    return maintenance / equity if equity > 0 else float("inf")
