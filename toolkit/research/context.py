"""The context through which a strategy acts: the same calls in a backtest, on the local venue and live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import inf, nan
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import msgspec

from ..errors import InputError
from ..numerals import read_positive
from ..products import Amount, Product, decimal_text
from ..sides import Change, change_of, closes_leg, leg_of, side_of, sign_of
from .account_data import FundingRates, OrderHandle
from .client_orders import KINDS, ClientOrder, Entry, Exit, Iceberg, IfReached, KeptOrder, TrailingStop
from .market_data import Bar, BarHistory, BookSnapshot, LongerBars, Precomputed, span_ms

if TYPE_CHECKING:
    import pandas as pd

    from ..orders import Bracket, Order

AnyClient = TypeVar("AnyClient", bound=ClientOrder)
AnyExit = TypeVar("AnyExit", bound=Exit)


class Kept(msgspec.Struct, frozen=True):
    """The part of its context that a named run keeps.

    Parameters
    ----------
    timer_ms : float, optional
        How often `on_timer` is called, ms. 0 is the strategy's own value (default: 0).
    groups : tuple of tuple of int, optional
        Client ids of the orders of each group in which one fill cancels the others, and numbers of client-side ones
        (default: none).
    orders : tuple of KeptOrder, optional
        Client-side orders that have not ended (default: none).
    day : tuple of (int, float), optional
        Number of the day (UTC) since 1970, and the run's profit in USDC when that day began (default: none).
    """

    timer_ms: float = 0
    groups: tuple[tuple[int, ...], ...] = ()
    orders: tuple[KeptOrder, ...] = ()
    day: tuple[int, float] = (-1, 0.0)


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
        self._clients: list[ClientOrder] = []
        """Client-side orders. The list is never replaced: the broker of a backtest reads it, too."""
        self._sender: ClientOrder | None = None
        """The client-side order that is sending its order."""
        self._last_client = 0
        self._groups: list[tuple[OrderHandle | ClientOrder, ...]] = []
        self._shares: dict[str, tuple[float, int]] = {}
        """Share and number of the span of the last target of each symbol that is rebalanced once per span."""
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
        made = self._made(symbol, side, quantity, price, options)
        if made.entry.trigger_price is not None and made.entry.reduce_only in (None, "REDUCE_ONLY"):
            text = f"trigger_price {made.entry.trigger_price}: the venue has no order that opens at a trigger. Use"
            advice = "ctx.stop_entry or ctx.if_touched, and ctx.stop_loss or ctx.take_profit to close a position"
            return self._reject(OrderHandle(made), f"{text} {advice}")
        return self.place(made)

    def target(
        self, symbol: str, quantity: Amount, price: Amount | None = None, **options: object
    ) -> OrderHandle | None:
        """Adjust a position to a signed size with one order.

        In hedge mode the position is the long less the short. The other leg is closed first, with a separate order,
        before anything is opened. Then the last order is returned.

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
        hedged = self._is_hedged(symbol)
        change = change_of(missing, *self._closable(symbol, step)) if hedged else Change(0, abs(missing))
        if hedged and not change.opens:
            return self._change(symbol, missing, change, price, options)
        if self._only_shrinks(symbol, missing):
            options.setdefault("reduce_only", True)
        else:
            # Where it is open what is held, no more is sent than would be right either way.
            other = missing - self._doubtful(symbol)
            missing = min(missing, max(other, 0)) if missing > 0 else max(missing, min(other, 0))
            if not missing:
                return None
            change = Change(min(change.closes, abs(missing)), max(abs(missing) - change.closes, 0))
        return self._change(symbol, missing, change, price, options)

    def _change(
        self, symbol: str, steps: int, change: Change, price: Amount | None, options: dict[str, Any]
    ) -> OrderHandle | None:
        """Place the order that closes a leg, then the one that opens. Return the last, or the first that is refused."""
        placed = None
        for count, closes in ((change.closes, {"reduce_only": True}), (change.opens, {})):
            if count and (placed is None or placed):
                amount = self.product(symbol).quantity_text(count)
                placed = self._place_new(symbol, side_of(steps), amount, price, {**options, **closes})
        return placed

    def _closable(self, symbol: str, step: float) -> tuple[int, int]:
        """Return the steps of both legs that no order at market closes already, in hedge mode."""
        long, short = self.legs(symbol)
        left = {"LONG": round(long / step), "SHORT": round(-short / step)}
        for placed in self.orders():
            one = placed.order
            if one.symbol == symbol and one.is_market and one.trigger_price is None and closes_leg(one.side):
                left[leg_of(one.side)] -= round((float(one.quantity) - placed.filled) / step)
        return left["LONG"], left["SHORT"]

    def _only_shrinks(self, symbol: str, steps: int) -> bool:
        """Return whether an order of so many signed steps is sent as one that only reduces."""
        return False  # nobody else trades on the account of a backtest

    def _doubtful(self, symbol: str) -> int:
        """Return the signed steps that positions show beyond orders and fills."""
        return 0

    def target_share(
        self,
        symbol: str,
        share: float,
        tolerance: float = 0.0,
        price: Amount | None = None,
        *,
        rebalance: str | None = None,
        **options: object,
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
        rebalance : str, optional
            Span such as "1D": while the share stays the same, only the first call of each span sends an order (default:
            each call does).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        OrderHandle or None
            The order, None within `tolerance`, within the span of `rebalance`, before the first price, and without
            equity. It is rejected if the share is less than a step.

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
        if rebalance is not None:
            asked = share, self.now // span_ms(rebalance, "rebalance")
            if self._shares.get(symbol) == asked:
                return None
            self._shares[symbol] = asked
        present = (self.position(symbol) + self.underway(symbol)) * last / equity
        if abs(present - share) <= tolerance:
            return None
        # Towards zero, so that a share is never exceeded by rounding.
        quantity = self.product(symbol).round_quantity(f"{abs(share) * equity / last:.12f}", "down")
        if share and not present and not quantity:
            return self._reject_below_step(
                symbol, share * equity / last, float(self.product(symbol).step_size), "a step"
            )
        size = quantity if share >= 0 else -quantity
        if why := self._doubt_of_price(symbol, size):
            return self._reject_target(symbol, size, f"{quantity:f}", why)
        return self.target(symbol, size, price, **options)

    def _doubt_of_price(self, symbol: str, size: Decimal) -> str:
        """Return why nothing may be opened by the last price, "" where nothing speaks against that."""
        return ""  # the prices of a backtest have one source

    def bracket(
        self,
        symbol: str,
        quantity: Amount,
        *,
        take_profit: Amount | Order | None = None,
        stop_loss: Amount | Order | None = None,
        price: Amount | None = None,
        if_reached: IfReached = "refuse",
        **options: object,
    ) -> OrderHandle:
        """Buy, or sell with a negative quantity, with a take-profit, a stop-loss or both.

        The exits wait until the entry fills and close what it opened. One cancels the other. The venue refuses the
        whole bracket if the price has passed one of its triggers, such as after a gap.

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
        if_reached : {"refuse", "close"}, optional
            Policy if the price has passed a trigger when an entry at market arrives (default: "refuse", nothing
            is placed). With "close" the entry and its exits are separate orders, as `stop_loss` and `take_profit` place
            them for the whole position. Then it is entered and closed at market, as many backtests assume.
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
        side, size = _signed(quantity)
        exits = {**options, "tp": take_profit, "sl": stop_loss}
        # The triggers are compared with a limit price, which no gap changes.
        if _policy(if_reached) == "refuse" or price is not None:
            return self._place_new(symbol, side, size, price, exits)
        whole = self._made(symbol, side, size, price, exits)
        placed = self.place(whole.entry)
        for leg in whole.legs[1:]:
            profit = leg.reduce_only == "TP_FROM_POSITION"
            opened, trigger = "LONG" if side == "BUY" else "SHORT", float(leg.trigger_price or 0)
            self._exit(Exit, symbol, opened, trigger=trigger, profit=profit, if_reached="close")
        return placed

    def one_cancels_other(self, *orders: OrderHandle | ClientOrder) -> tuple[OrderHandle | ClientOrder, ...]:
        """Cancel the other orders as soon as one of them is filled, even partially.

        A client-side order cancels the others when it sends its order.

        Parameters
        ----------
        *orders : OrderHandle or ClientOrder
            The orders, at least two, as the context returned them.

        Returns
        -------
        tuple of OrderHandle or ClientOrder
            The same orders.

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

    def stop_entry(
        self, symbol: str, quantity: Amount, trigger: Amount, price: Amount | None = None, **options: object
    ) -> ClientOrder:
        """Buy when the price has risen to a trigger, or sell, with a negative quantity, when it has fallen to it.

        The venue has no such order, so the run watches the price (`ctx.price`) and sends the order when it sees the
        trigger reached: on bars along the path inside each bar, on events and live with each price that it receives.
        A trigger that is reached already sends it with the next price. The order is not protected while the run is
        down. After a restart it is watched again.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Base units, negative to sell.
        trigger : str, int, float or Decimal
            Price at which it is sent, USDC.
        price : str, int, float or Decimal, optional
            Limit price of the order that is sent, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tp` and `sl` for a bracket.

        Returns
        -------
        ClientOrder
            The order, with `state`, `filled`, `handle` and `cancel`. A wrong order is rejected immediately.

        Raises
        ------
        InputError
            If an argument breaks a rule.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.waiting() and not ctx.position(bar.symbol):
        ...         ctx.stop_entry(bar.symbol, "0.1", "64000")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].values.tolist()
        [['BUY', 64000.0]]
        """
        return self._entry(symbol, quantity, price, options, trigger, 1)

    def if_touched(
        self, symbol: str, quantity: Amount, trigger: Amount, price: Amount | None = None, **options: object
    ) -> ClientOrder:
        """Buy when the price has fallen to a trigger, or sell, with a negative quantity, when it has risen to it.

        The run watches the price, as `stop_entry` says.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Base units, negative to sell.
        trigger : str, int, float or Decimal
            Price at which it is sent, USDC.
        price : str, int, float or Decimal, optional
            Limit price of the order that is sent, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tp` and `sl` for a bracket.

        Returns
        -------
        ClientOrder
            The order, as `stop_entry` returns it.

        Raises
        ------
        InputError
            If an argument breaks a rule.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.waiting() and not ctx.position(bar.symbol):
        ...         ctx.if_touched(bar.symbol, "0.1", "62000")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].values.tolist()
        [['BUY', 62000.0]]
        """
        return self._entry(symbol, quantity, price, options, trigger, -1)

    def scheduled(
        self,
        symbol: str,
        quantity: Amount,
        at: str | int | pd.Timestamp,
        price: Amount | None = None,
        **options: object,
    ) -> ClientOrder:
        """Buy, or sell with a negative quantity, at a time: with the first price or bar that the run sees from then on.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Base units, negative to sell.
        at : str, int or Timestamp
            Time at which it is sent, a UTC time or Unix ms.
        price : str, int, float or Decimal, optional
            Limit price of the order that is sent, USDC (default: none, a market order).
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        ClientOrder
            The order, as `stop_entry` returns it.

        Raises
        ------
        InputError
            If an argument breaks a rule.

        Examples
        --------
        >>> def on_start(ctx):
        ...     ctx.scheduled("BTCUSDC", "0.1", "2025-12-24 08:00")
        >>> research.backtest({"on_start": on_start}, bars).fills["time"].dt.hour.tolist()
        [8]
        """
        import pandas as pd

        time = pd.Timestamp(at) if isinstance(at, str | pd.Timestamp) else pd.Timestamp(int(at), unit="ms")
        time = time.tz_localize("UTC") if time.tz is None else time
        return self._entry(symbol, quantity, price, options, None, 1, at=int(time.timestamp() * 1000))

    def iceberg(self, symbol: str, quantity: Amount, price: Amount, shown: Amount, **options: object) -> ClientOrder:
        """Buy, or sell with a negative quantity, at a limit price of which the venue sees one part at a time.

        The next part is sent when the one before it is filled, and waits behind the orders that rest at its price.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quantity : str, int, float or Decimal
            Base units, negative to sell.
        price : str, int, float or Decimal
            Limit price, USDC.
        shown : str, int, float or Decimal
            Quantity of a part, base units.
        **options : object
            Further arguments of `toolkit.orders.order`, such as `tif` or `reduce_only`.

        Returns
        -------
        ClientOrder
            The order, as `stop_entry` returns it.

        Raises
        ------
        InputError
            If an argument breaks a rule.

        Examples
        --------
        >>> def on_start(ctx):
        ...     ctx.iceberg("BTCUSDC", "0.1", "62000", shown="0.04")
        >>> research.backtest({"on_start": on_start}, bars).fills["quantity"].tolist()
        [0.04, 0.04, 0.02]
        """
        side, size = _signed(quantity)
        made = self._made(symbol, side, size, price, options)
        text = read_positive(shown, "shown")
        found = self._client(Iceberg, symbol, legs=made.legs, shown=f"{text:f}", start=False)
        if not self._refuses(found, made, self._made(symbol, side, found.kept.shown, price, options)):
            found.start()
        return found

    def stop_loss(
        self,
        symbol: str,
        trigger: Amount,
        *,
        leg: Literal["LONG", "SHORT"] | None = None,
        if_reached: IfReached = "close",
    ) -> Exit:
        """Protect a position with a stop that stays with it.

        The stop is an order of the venue for the whole position. A position whose order is underway can be protected,
        too. A stop that the venue has cancelled is placed again with the next bar.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        trigger : str, int, float or Decimal
            Price that triggers it, USDC.
        leg : {"LONG", "SHORT"}, optional
            Leg that it protects in hedge mode (default: the only one that is open, or the one that is being opened).
        if_reached : {"close", "refuse"}, optional
            Policy if the price has passed the trigger, such as after a gap (default: "close"). With "close"
            the position is closed at market, with "refuse" it is left, as at the venue.

        Returns
        -------
        Exit
            The stop, with `stop`, `handle` and `cancel`.

        Raises
        ------
        InputError
            If an argument breaks a rule.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.position(bar.symbol):
        ...         ctx.buy(bar.symbol, "0.1")
        ...         ctx.stop_loss(bar.symbol, "62000")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2], ['SELL', 62000.0]]
        """
        return self._exit(Exit, symbol, leg, trigger=float(read_positive(trigger, "trigger")), if_reached=if_reached)

    def take_profit(
        self,
        symbol: str,
        trigger: Amount,
        *,
        leg: Literal["LONG", "SHORT"] | None = None,
        if_reached: IfReached = "close",
    ) -> Exit:
        """Close a position with a profit at a price, as `stop_loss` does with a loss.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        trigger : str, int, float or Decimal
            Price that triggers it, USDC.
        leg : {"LONG", "SHORT"}, optional
            Leg that it closes in hedge mode (default: the only one that is open, or the one that is being opened).
        if_reached : {"close", "refuse"}, optional
            Policy if the price has passed the trigger, see `stop_loss` (default: "close").

        Returns
        -------
        Exit
            The take-profit, with `stop`, `handle` and `cancel`.

        Raises
        ------
        InputError
            If an argument breaks a rule.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.position(bar.symbol):
        ...         ctx.buy(bar.symbol, "0.1")
        ...         ctx.take_profit(bar.symbol, "64000")
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2], ['SELL', 64000.0]]
        """
        found = float(read_positive(trigger, "trigger"))
        return self._exit(Exit, symbol, leg, trigger=found, profit=True, if_reached=if_reached)

    def trailing_stop(
        self,
        symbol: str,
        ratio: float | None = None,
        *,
        amount: float | None = None,
        atr: float | None = None,
        window: int = 14,
        leg: Literal["LONG", "SHORT"] | None = None,
        if_reached: IfReached = "close",
    ) -> TrailingStop:
        """Protect a position with a stop that follows its best price.

        The stop is an order of the venue, which is amended at a close that has moved it, and never cancelled before
        another one is there. It never moves back. A position whose order is underway can be protected, too. Give one of
        `ratio`, `amount` and `atr`.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        ratio : float, optional
            Distance from the best price, between 0 and 1 (0.02 is 2 %) (default: none).
        amount : float, optional
            Distance from the best price, USDC (default: none).
        atr : float, optional
            Distance from the best price in average true ranges. The first stop is placed once there are `window` bars
            (default: none).
        window : int, optional
            Bars of the average true range (default: 14).
        leg : {"LONG", "SHORT"}, optional
            Leg that it protects in hedge mode (default: the only one that is open, or the one that is being opened).
        if_reached : {"close", "refuse"}, optional
            Policy if the price has passed the trigger, such as after a gap (default: "close"). With "close"
            the position is closed at market, with "refuse" the present stop is left, as at the venue.

        Returns
        -------
        TrailingStop
            The stop, with its trigger price `stop` and a `cancel` method.

        Raises
        ------
        InputError
            If an argument breaks a rule.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.position(bar.symbol):
        ...         ctx.buy(bar.symbol, "0.1")
        ...         ctx.trailing_stop(bar.symbol, 0.01)
        >>> research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()
        [['BUY', 63423.2], ['SELL', 64388.0]]
        """
        named = {"ratio": ratio, "amount": amount, "atr": atr}
        given = [(name, float(value)) for name, value in named.items() if value is not None]
        [(unit, distance), *more] = given or [("ratio", nan)]
        if more or not 0 < distance < (1 if unit == "ratio" else inf):
            rule = "between 0 and 1" if unit == "ratio" else "above 0"
            text = f"{unit} is {distance}, but must be {rule}. Give one of ratio, amount and atr, such as ratio=0.02"
            raise InputError(text, field=unit, rule=rule, value=str(distance))
        settings = {"distance": distance, "unit": unit, "window": window, "if_reached": if_reached}
        return self._exit(TrailingStop, symbol, leg, **settings)

    def waiting(self, symbol: str | None = None) -> list[ClientOrder]:
        """Return the client-side orders that have not ended: entries that wait, icebergs, exits.

        Parameters
        ----------
        symbol : str, optional
            Product symbol (default: all products of the run).

        Returns
        -------
        list of ClientOrder
            Oldest first.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     if not ctx.waiting():
        ...         ctx.stop_entry(bar.symbol, "0.1", "90000")
        ...     ctx.record(waiting=len(ctx.waiting()))
        >>> research.backtest(on_bar, bars).records.iloc[-1].to_dict()
        {'waiting': 1}
        """
        return [order for order in self._clients if not order.done and symbol in (None, order.symbol)]

    def _made(
        self, symbol: str, side: str, quantity: Amount, price: Amount | None, options: Mapping[str, Any]
    ) -> Order | Bracket:
        from ..orders import order

        return order(symbol, side, quantity, price, **options)

    def _entry(
        self,
        symbol: str,
        quantity: Amount,
        price: Amount | None,
        options: Mapping[str, Any],
        trigger: Amount | None,
        way: int,
        at: int = 0,
    ) -> ClientOrder:
        side, size = _signed(quantity)
        made = self._made(symbol, side, size, price, options)
        level = 0.0 if trigger is None else float(read_positive(trigger, "trigger"))
        sign = way * sign_of(side)
        found = self._client(Entry, symbol, legs=made.legs, trigger=level, sign=sign, at=at, start=False)
        self._refuses(found, made)
        return found

    def _refuses(self, found: ClientOrder, *orders: Order | Bracket) -> bool:
        """Reject a client-side order immediately if one of its orders breaks a rule of the product."""
        product = self.product(found.symbol)
        for made in orders:
            # Triggers are compared with the price of the time at which it is sent.
            if failures := [failure for failure in made.failures(product) if failure.rule != "trigger met"]:
                found.handle = self._reject(OrderHandle(made), failures[0].message)
                found.cancel(failures[0].message)
                return True
        return False

    def _exit(self, kind: type[AnyExit], symbol: str, leg: str | None = None, **settings: Any) -> AnyExit:
        _policy(settings["if_reached"])
        long, short = self.legs(symbol)
        if self._is_hedged(symbol) and leg is None and long and short:
            text = f"{symbol} has two legs. Give leg='LONG' or leg='SHORT'"
            raise InputError(text, field="leg", rule="one leg", value=None, nearest=("LONG", "SHORT"))
        one = long or short or self.underway(symbol)  # without a position it is for the one that is underway
        sign = {"LONG": 1, "SHORT": -1}.get(leg or "", -1 if one < 0 else 1)
        return self._client(kind, symbol, sign=sign, **settings)

    def _client(self, kind: type[AnyClient], symbol: str, *, start: bool = True, **state: Any) -> AnyClient:
        symbol = symbol if symbol in self.symbols else self.product(symbol).symbol
        self._last_client -= 1
        found = kind(self, KeptOrder(kind.__name__, symbol, self._last_client, **state))
        self._clients.append(found)
        if start:
            found.start()
        self._keep()
        return found

    @abstractmethod
    def _note(self, kind: str, symbol: str, text: str) -> None:
        """Add a row to `Results.events`."""

    def _keep(self) -> None:  # noqa: B027 - nothing to do in a backtest on events
        """Note what changed in timers, groups and client-side orders. Only a run with a name does so."""

    def _kept(self, day: tuple[int, float]) -> Kept:
        groups = tuple(
            tuple(one.kept.number if isinstance(one, ClientOrder) else one.cl_ord_id for one in group)
            for group in self._groups
        )
        return Kept(self.timer_ms, groups, tuple(order.kept for order in self._clients if not order.done), day)

    def _take_up(self, kept: Kept, handles: Mapping[int, OrderHandle]) -> None:
        """Continue with what a run has kept. The order of an exit is at the venue, or is placed again."""
        self.timer_ms = kept.timer_ms or self.timer_ms
        for state in kept.orders:
            order = KINDS[state.kind](self, state)
            self._clients.append(order)
            order.take_up(handles)
            self._last_client = min(self._last_client, state.number)
        known: dict[int, OrderHandle | ClientOrder] = {order.kept.number: order for order in self._clients}
        known |= handles
        self._groups = [tuple(known[number] for number in group if number in known) for group in kept.groups]

    def _watch(self, symbol: str, price: float) -> None:
        """Show a price to the client-side orders of its product."""
        for order in list(self._clients):
            if order.symbol == symbol and not order.done:
                order.watch(price)
        if self._groups:
            self._follow_fills()  # one that has sent its order cancels the others before they see another price

    def _follow_bar(self, bar: Bar) -> None:
        """Show a bar that has closed to the client-side orders of its product, before the strategy sees it."""
        for order in list(self._clients):
            if order.symbol == bar.symbol and not order.done:
                order.follow(bar)
        self._clients[:] = [order for order in self._clients if not order.over]

    def _refused(self, placed: OrderHandle, reason: str) -> bool:
        """Return whether a client-side order deals with a refusal, so that the strategy need not know of it."""
        if self._sender is not None:
            return self._sender.refused(None, reason)
        owner = next((order for order in self._clients if order.owns(placed)), None)
        return owner is not None and owner.refused(placed, reason)

    def _cancel_waiting(self, symbol: str | None) -> None:
        for order in self.waiting(symbol):
            order.cancel("cancelled by its owner (all)")

    def _note_cut(self, placed: OrderHandle) -> None:
        """Note an order that was cancelled, if the venue has ended it early."""
        order, symbol = placed.order, str(placed.order.symbol)
        # What is left of a position says why an order that only reduces was not filled: for want of offers, or of it.
        held = self.legs(symbol)[order.side.startswith("BUY")]
        partly = placed.filled and (held or not (order.reduce_only or closes_leg(order.side)))
        found_too_little = partly or (order.is_market and not placed.filled)
        # No cancel reaches an order at market in time. A venue without reasons does not say who cancelled another one.
        by_venue = order.is_market or (placed.reason and not placed.asked)
        if found_too_little and by_venue and order.trigger_price is None:
            why = f": {placed.reason}" if placed.reason else ""
            self._note("CUT", symbol, f"{order.describe()}, filled {placed.filled:g}{why}")

    def _follow_fills(self) -> None:
        """Show the venue's answers to the client-side orders. Cancel the rest of each group of which one was filled."""
        for order in list(self._clients):
            if not order.done:
                order.settle()
        for group in list(self._groups):
            left = [one for one in group if not (one.acted or one.done)]
            if not left:
                self._groups.remove(group)
            for one in left if any(one.acted for one in group) else ():
                if isinstance(one, ClientOrder):
                    one.cancel()
                elif not one.asked:  # a cancel that did not reach the venue is sent again
                    self.cancel(one)

    def _reject_below_step(
        self, symbol: str, quantity: Amount, step: float, least: str = "half a step"
    ) -> OrderHandle | None:
        """Reject a target that is nothing in whole steps, None for a target of 0."""
        size = float(quantity)
        if abs(size) < 1e-12:  # nothing, or what adding floats has left of it
            return None
        text = f"{abs(size):.{8 if abs(size) >= 5e-9 else 15}f}".rstrip("0")
        reason = f"a target of {text} {symbol} is less than {least} of {step:g}. The smallest is {step:g}"
        return self._reject_target(symbol, size, text, reason)

    def _reject_target(self, symbol: str, size: float | Decimal, text: str, reason: str) -> OrderHandle:
        from ..orders import Order

        return self._reject(OrderHandle(Order(symbol, side_of(size), text, tif="IOC")), reason)

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
        """Cancel all open orders, untriggered ones too, and end the client-side ones.

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
            placed = self.place(close_position(symbol, signed))
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

        Raises
        ------
        InputError
            In a backtest without rates: with funding="interest", the default, or None.

        Examples
        --------
        >>> def on_bar(ctx, bar):
        ...     ctx.record(predicted=ctx.funding(bar.symbol).predicted)
        >>> research.backtest(on_bar, bars, funding=0.0001).records.iloc[-1].to_dict()
        {'predicted': 0.0001}
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


def _signed(quantity: Amount) -> tuple[str, str]:
    """Return side and size of a signed quantity."""
    text = str(quantity)
    return side_of(-1 if text.startswith("-") else 1), text.removeprefix("-")


def _policy(if_reached: str) -> str:
    if if_reached not in get_args(IfReached):
        text = f"if_reached is {if_reached!r}, not 'close' or 'refuse'"
        raise InputError(text, field="if_reached", value=if_reached, nearest=get_args(IfReached))
    return if_reached


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
