"""The context through which a strategy acts: the same calls in a backtest, on the local venue and live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import InputError
from ..products import Amount, Product, decimal_text
from .account_data import FundingRates, OrderHandle
from .market_data import Bar, BarHistory, BookSnapshot, LongerBars, Precomputed, span_ms

if TYPE_CHECKING:
    import pandas as pd

    from ..orders import Bracket, Order


class Kept(msgspec.Struct, frozen=True):
    """The part of its context that a named run keeps.

    Parameters
    ----------
    timer_ms : float, optional
        How often `on_timer` is called, ms. 0 is the strategy's own value (default: 0).
    groups : tuple of tuple of int, optional
        Client ids of the orders of each group in which one fill cancels the others (default: none).
    trailing : tuple of (str, float, int), optional
        Trailing stops as (symbol, ratio, sign): +1 protects a long position, −1 a short one (default: none).
    day : tuple of (int, float), optional
        Number of the day (UTC) since 1970, and the run's profit in USDC when that day began (default: none).
    """

    timer_ms: float = 0
    groups: tuple[tuple[int, ...], ...] = ()
    trailing: tuple[tuple[str, float, int], ...] = ()
    day: tuple[int, float] = (-1, 0.0)


class TrailingStop:
    """A stop that follows the best price of its position at a distance, and never moves back.

    At each close it is placed again if the bar's extreme has moved it. Within a bar it stays. If the close itself is
    beyond the new stop, the position is closed at market. The stop ends with its position, or by `cancel`.

    Parameters
    ----------
    ctx : Context
        Context that places and cancels the stop's order.
    symbol : str
        Product whose position it protects.
    ratio : float
        Distance from the best price, a ratio (0.02 is 2 %).

    Attributes
    ----------
    symbol : str
        Product whose position it protects.
    ratio : float
        Distance from the best price, a ratio.
    stop : float
        Trigger price in USDC, NaN before the first.
    handle : OrderHandle or None
        Its present order, None before the first.
    done : bool
        True once it has ended.
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
        """Follow the bar that has closed, or place the first stop at the present price.

        Parameters
        ----------
        bar : Bar, optional
            Bar that has closed (default: none, which places the first stop).
        """
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

    Parameters
    ----------
    symbols : sequence of str
        Products of the run.
    interval : int
        Length of a bar, ms.

    Attributes
    ----------
    symbols : tuple of str
        Products of the run.
    now : int
        Current time, Unix ms.
    interval : int
        Length of a bar, ms.
    mode : {"backtest", "paper", "live"}
        Kind of run.
    timer_ms : float
        How often `on_timer` is called, ms (default: 100).
    records : list of (int, dict)
        Values kept by `record`, each with its time in Unix ms.
    stopped : str
        The reason given to `stop`, "" while the run continues.
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

    def buy(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: object) -> OrderHandle:
        """Buy at a limit price, or at market.

        The call never raises for a business reason. A refused order has the state REJECTED and its reason, immediately
        or after the venue's answer. Then `on_reject` is called.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Base units, above 0.
        price : str, int, float or Decimal, optional
            Limit price, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        OrderHandle
            The order, kept up to date. It is false once the order is rejected.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.position(bar.symbol):
        ...         ctx.buy(bar.symbol, "0.01")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2]]
        """
        return self._place_new(symbol, "BUY", quantity, price, options)

    def sell(self, symbol: str, quantity: Amount, price: Amount | None = None, **options: object) -> OrderHandle:
        """Sell at a limit price, or at market.

        A refused order is rejected as `buy` says.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Base units, above 0.
        price : str, int, float or Decimal, optional
            Limit price, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        OrderHandle
            The order, kept up to date. It is false once the order is rejected.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.legs(bar.symbol)[1]:
        ...         ctx.sell(bar.symbol, "0.01", "62000", tif="POST_ONLY")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['SELL', 62000.0], ['SELL', 62000.0]]
        """
        return self._place_new(symbol, "SELL", quantity, price, options)

    def _place_new(
        self, symbol: str, side: str, quantity: Amount, price: Amount | None, options: dict[str, Any]
    ) -> OrderHandle:
        from ..orders import order

        return self.place(order(symbol, side, quantity, price, **options))

    def target(
        self, symbol: str, quantity: Amount, price: Amount | None = None, **options: object
    ) -> OrderHandle | None:
        """Adjust a position to a signed size with one order.

        A target is rounded to the nearest step. One that rounds to nothing is rejected, like an order below one step.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Size that the position shall have, base units, negative for a short.
        price : str, int, float or Decimal, optional
            Limit price, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        OrderHandle or None
            The order for the difference, None if the position plus `underway` is the target already.

        Raises
        ------
        InputError
            If `quantity` is not a finite number.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2]]
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
        self, symbol: str, share: float, tolerance: float = 0.0, price: Amount | None = None, **options: object
    ) -> OrderHandle | None:
        """Adjust a position to a share of equity, at the last price.

        The size is rounded towards 0, so that rounding never exceeds the share.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        share : float
            Notional of the position over equity, a ratio. −0.5 is short for half of the equity.
        tolerance : float, optional
            Nothing is sent while the position's share, with `underway`, is within this ratio of `share` (default: 0).
        price : str, int, float or Decimal, optional
            Limit price, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        OrderHandle or None
            The order, None within `tolerance`, before the first price, and without equity.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target_share(bar.symbol, 0.5, tolerance=0.02)
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2]]
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
        **options: object,
    ) -> OrderHandle:
        """Buy, or sell with a negative quantity, with a take-profit, a stop-loss or both.

        The exits wait until the entry fills and close what it opened. One cancels the other.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Base units, negative to sell.
        take_profit : str, int, float, Decimal or Order, optional
            Trigger price in USDC, or an order (default: none). An order, such as
            `toolkit.orders.take_profit(…, price=…, tif="POST_ONLY")`, can rest as a maker once it is triggered.
        stop_loss : str, int, float, Decimal or Order, optional
            Trigger price in USDC, or an order (default: none).
        price : str, int, float or Decimal, optional
            Limit price of the entry, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        OrderHandle
            The entry. Its `request` is the bracket.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.orders():
        ...         ctx.bracket(bar.symbol, "0.1", take_profit="63500", stop_loss="60500")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2], ['SELL', 63500.0]]
        """
        text = str(quantity)
        side, size = ("SELL", text.removeprefix("-")) if text.startswith("-") else ("BUY", text)
        return self._place_new(symbol, side, size, price, {**options, "tp": take_profit, "sl": stop_loss})

    def one_cancels_other(self, *orders: OrderHandle) -> tuple[OrderHandle, ...]:
        """Cancel the other orders as soon as one of them is filled, even partially.

        Parameters
        ----------
        *orders : OrderHandle
            Handles of the orders, at least two.

        Returns
        -------
        tuple of OrderHandle
            The same handles.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.orders():
        ...         exits = ctx.buy(bar.symbol, "0.01", "62000"), ctx.sell(bar.symbol, "0.01", "64000")
        ...         ctx.one_cancels_other(*exits)
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['SELL', 64000.0], ['SELL', 64798.1]]
        """
        self._groups.append(orders)
        self._keep()
        return orders

    def trailing_stop(self, symbol: str, ratio: float) -> TrailingStop:
        """Protect a position with a stop that follows its best price.

        The stop is an order of the venue. It is placed again at a close that has moved it. A position whose order is
        underway can be protected, too.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        ratio : float
            Distance from the best price, between 0 and 1 (0.02 is 2 %).

        Returns
        -------
        TrailingStop
            The stop, with its trigger price and a `cancel` method.

        Raises
        ------
        InputError
            If `ratio` is not between 0 and 1.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.position(bar.symbol):
        ...         ctx.buy(bar.symbol, "0.1")
        ...         ctx.trailing_stop(bar.symbol, 0.01)
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2], ['SELL', 64388.0]]
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
        """Place an order made with `toolkit.orders`.

        Parameters
        ----------
        order : Order or Bracket
            Order or bracket.

        Returns
        -------
        OrderHandle
            The order, kept up to date. It is false once the order is rejected.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.orders():
        ...         ctx.place(orders.limit(bar.symbol, "BUY", "0.01", "61000"))
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 61000.0], ['BUY', 60632.8]]
        """

    @abstractmethod
    def cancel(self, placed: OrderHandle) -> None:
        """Cancel an order. Nothing happens if it is in a final state.

        Parameters
        ----------
        placed : OrderHandle
            Handle of the order, as the context returned it.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     placed = ctx.buy(bar.symbol, "0.01", "50000")
        ...     ctx.cancel(placed)
        >>> research.backtest(on_bar, bars).orders["status"].unique().tolist()
        ['CANCELED']
        """

    def modify(self, placed: OrderHandle, *, price: Amount | None = None, quantity: Amount | None = None) -> None:
        """Change the price of an open order, its quantity, or both.

        As at the venue, the order keeps its place in the queue only at the same price and with no more quantity. The
        handle's `order` shows the change once it is answered. A refused change leaves the order, and is noted in
        `events`. Nothing happens to an order in a final state.

        Parameters
        ----------
        placed : OrderHandle
            Handle of the order, as the context returned it.
        price : str, int, float or Decimal, optional
            New limit price, USDC (default: unchanged).
        quantity : str, int, float or Decimal, optional
            New total quantity in base units, the filled part included (default: unchanged).

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     placed = ctx.buy(bar.symbol, "0.01", "50000")
        ...     ctx.modify(placed, price="51000")
        >>> research.backtest(on_bar, bars).orders["price"].iloc[0].item()
        51000.0
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
        """Cancel all open orders, untriggered ones too.

        Parameters
        ----------
        symbol : str, optional
            Product whose orders are cancelled (default: all products of the run).

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     placed = ctx.buy(bar.symbol, "0.01", "50000")
        ...     ctx.cancel_all(bar.symbol)
        >>> research.backtest(on_bar, bars).orders["status"].unique().tolist()
        ['CANCELED']
        """

    def close_position(self, symbol: str) -> OrderHandle | None:
        """Close a position at market, reduce-only.

        In hedge mode both legs are closed, and the last order is returned.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        OrderHandle or None
            The closing order, None without a position.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        ...     if ctx.position(bar.symbol):
        ...         ctx.close_position(bar.symbol)
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2], ['SELL', 63244.1]]
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
        """Set the leverage of a product.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        leverage : str, int, float or Decimal
            Notional over margin, from 1 to the product's maximum.

        Raises
        ------
        InputError
            If `leverage` is not a number.
        ActionRejected
            If the venue does not allow it.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        ...     ctx.set_leverage(bar.symbol, "5")
        ...     ctx.record(ratio=round(ctx.margin_ratio, 4))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'ratio': 0.0079}
        """

    @abstractmethod
    def product(self, symbol: str) -> Product:
        """Return a product: its steps, limits and rounding.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        Product
            The product as the venue lists it.

        Raises
        ------
        UnknownProduct
            If the venue does not list it.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.record(step=float(ctx.product(bar.symbol).step_size))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'step': 0.001}
        """

    @abstractmethod
    def position(self, symbol: str) -> float:
        """Return the signed size of a position.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        float
            Base units, negative for a short. In hedge mode it is the long leg less the short one.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        ...     ctx.record(size=ctx.position(bar.symbol))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'size': 0.1}
        """

    def legs(self, symbol: str) -> tuple[float, float]:
        """Return both legs of a position. In one-way mode one of them is 0.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        tuple of (float, float)
            The long leg (0 or above) and the short one (0 or below), base units.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        ...     ctx.record(long=ctx.legs(bar.symbol)[0], short=ctx.legs(bar.symbol)[1])
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'long': 0.1, 'short': 0.0}
        """
        size = self.position(symbol)
        return max(size, 0.0), min(size, 0.0)

    @abstractmethod
    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders that were sent and are not yet answered.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        float
            Base units, negative for sales.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        ...     ctx.record(sent=ctx.underway(bar.symbol))
        >>> research.backtest(on_bar, bars).records["sent"].head(2).tolist()
        [0.1, 0.0]
        """

    @abstractmethod
    def price(self, symbol: str) -> float:
        """Return the last known price of a product.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        float
            USDC, NaN before the first.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.record(price=ctx.price(bar.symbol))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'price': 62500.0}
        """

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
        """Return the funding rates of a product.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        FundingRates
            The rate that was settled last, the predicted one, and when it is settled.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.record(predicted=ctx.funding(bar.symbol).predicted)
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'predicted': 5e-05}
        """

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
        """Return the mark price at which a position would be liquidated.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".

        Returns
        -------
        float
            USDC, NaN if no price would liquidate it.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "1")
        ...     ctx.record(price=round(ctx.liquidation_price(bar.symbol), 1))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'price': 54293.4}
        """

    @abstractmethod
    def positions(self) -> pd.DataFrame:
        """Return the open positions.

        Returns
        -------
        DataFrame
            One row a position, with the index `symbol` and float64 columns:

            - quantity: base units, negative for a short
            - entry_price: mean price at which it was opened, USDC
            - price: last known price, USDC
            - unrealized: unrealised PnL, USDC
            - notional: size times price, USDC

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.target(bar.symbol, "0.1")
        ...     ctx.record(unrealized=ctx.positions()["unrealized"].sum())
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'unrealized': -92.32}
        """

    @abstractmethod
    def orders(self) -> list[OrderHandle]:
        """Return the strategy's orders that are not in a final state.

        Returns
        -------
        list of OrderHandle
            Oldest first.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     placed = ctx.buy(bar.symbol, "0.01", "50000")
        ...     ctx.record(open=len(ctx.orders()))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'open': 200}
        """

    def bars(self, symbol: str | None = None, interval: str | pd.Timedelta | None = None) -> BarHistory:
        """Return the bars up to now, or complete longer bars that are made of them.

        Longer bars begin at multiples of their interval since 1970 (UTC).

        Parameters
        ----------
        symbol : str, optional
            Product symbol (default: the first of the run).
        interval : str or Timedelta, optional
            Length of longer bars, such as "1h" (default: that of the run).

        Returns
        -------
        BarHistory
            The bars, as read-only arrays.

        Raises
        ------
        InputError
            If `interval` is not a multiple of the run's own.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.record(bars=len(ctx.bars(bar.symbol, "4h").close))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'bars': 50}
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
        """Return the book of a product as received.

        Both sides are empty before the first message, and in a live run while the feed is lost.

        Parameters
        ----------
        symbol : str, optional
            Product symbol (default: the first of the run).
        depth : int, optional
            Levels of each side (default: 1).

        Returns
        -------
        BookSnapshot
            Best level first.

        Raises
        ------
        InputError
            In a backtest on bars, which have no book.

        Examples
        --------
        >>> def on_book(ctx, book):
        ...     ctx.record(spread=ctx.book(book.symbol).asks[0][0] - ctx.book(book.symbol).bids[0][0])
        >>> run = research.paper({"on_book": on_book}, ["BTCUSDC"], duration="1m")
        >>> run.records["spread"].round(1).tail(2).tolist()
        [19.5]
        """

    def set_timer(self, ms: float) -> None:
        """Change how often `on_timer` is called, from the next call on.

        Parameters
        ----------
        ms : float
            Time between two calls, ms.

        Raises
        ------
        InputError
            If `ms` is not above 0.

        Examples
        --------
        >>> def on_start(ctx):
        ...     ctx.set_timer(30_000)
        >>> def on_timer(ctx):
        ...     ctx.record(price=ctx.price("BTCUSDC"))
        >>> len(research.paper({"on_start": on_start, "on_timer": on_timer}, ["BTCUSDC"], duration="2m").records)
        3
        """
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
        """Keep values under the current time. `Results.records` holds them.

        Parameters
        ----------
        **values : float
            Values by name, one column each.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.record(range=round(bar.high - bar.low, 1))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'range': 1643.3}
        """
        self.records.append((self.now, values))

    def stop(self, reason: str = "the strategy asked") -> None:
        """End the run after the current callback.

        Nothing more is sent. `on_stop` is called.

        Parameters
        ----------
        reason : str, optional
            Text for the events of the run (default: "the strategy asked").

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.record(close=bar.close)
        ...     if bar.close < 61_000:
        ...         ctx.stop("below 61,000")
        >>> len(research.backtest(on_bar, bars).records)
        88
        """
        self.stopped = reason


def whole_steps(quantity: Amount, step: float) -> int:
    """Return a target in whole steps, rounded to the nearest.

    Parameters
    ----------
    quantity : str, int, float or Decimal
        Signed target, base units.
    step : float
        Step size of the product, base units.

    Returns
    -------
    int
        Signed number of steps.

    Raises
    ------
    InputError
        If `quantity` is not a finite number.
    """
    try:
        return round(float(quantity) / step)
    except (ValueError, TypeError, OverflowError):
        text = f"a target of {quantity!r} is not a quantity. Give a finite number, such as '0.1' or '-0.1'"
        raise InputError(text, field="quantity", value=str(quantity)) from None


def ratio_of(maintenance: float, equity: float) -> float:
    """Return the margin ratio: 0 without a position, infinite without equity.

    Parameters
    ----------
    maintenance : float
        Maintenance margin of all positions, USDC.
    equity : float
        Balance plus unrealised PnL, USDC.
    """
    if not maintenance:
        return 0.0
    return maintenance / equity if equity > 0 else float("inf")
