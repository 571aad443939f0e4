"""Orders that live at the client: the run watches prices, and sends or amends orders of the venue for them.

The venue has no order that opens a position at a trigger, follows a price, waits for a time or shows a part of itself.
The context follows each of these orders in every kind of run. It does so at each price that it sees, at each bar that
has closed, and after each answer of the venue. The journal of a run with a name keeps them, so they survive a restart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

import msgspec

from ..checks import ALREADY_REACHED
from ..orders import Bracket, Order, close_position
from ..products import Product
from ..sides import side_of
from .account_data import OrderHandle
from .indicators import ATR
from .market_data import Bar, BarHistory

IfReached = Literal["close", "refuse"]
"""Policy of an exit whose trigger the price has passed: close the position at market, or leave it."""


ANY_PRICE = (0.0, math.inf)
"""The bounds of an order that watches no price."""


class KeptOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state of a client-side order, as the journal of a run keeps it. Prices in USDC, 0 where there is none.

    Parameters
    ----------
    kind : str
        Name of its class.
    symbol : str
        Product symbol.
    number : int
        Its number in the run, below 0.
    legs : tuple of Order, optional
        The order that it sends, a bracket with its exits (default: none).
    trigger : float, optional
        Price at which it acts, for a trailing stop the best one so far (default: 0).
    sign : int, optional
        Exits: +1 protects a long position, −1 a short one. Entries: +1 acts at the trigger and above, −1 at the trigger
        and below (default: 1).
    at : int, optional
        Time at which it acts, Unix ms (default: 0).
    distance : float, optional
        Distance of a trailing stop from the best price, in `unit` (default: 0).
    unit : {"ratio", "amount", "atr"}, optional
        Unit of the distance: a ratio, USDC, or average true ranges of `window` bars (default: "ratio").
    window : int, optional
        Bars of the average true range (default: 14).
    profit : bool, optional
        Whether an exit takes a profit (default: False).
    if_reached : {"close", "refuse"}, optional
        Policy of an exit whose trigger the price has passed (default: "close").
    shown : str, optional
        Quantity that an iceberg shows, base units (default: "", none).
    sent : int, optional
        Client id of the order that it has sent, −1 while that is being sent (default: 0).
    filled : float, optional
        Filled quantity of the earlier parts of an iceberg, base units (default: 0).
    """

    kind: str
    symbol: str
    number: int
    legs: tuple[Order, ...] = ()
    trigger: float = 0.0
    sign: int = 1
    at: int = 0
    distance: float = 0.0
    unit: str = "ratio"
    window: int = 14
    profit: bool = False
    if_reached: IfReached = "close"
    shown: str = ""
    sent: int = 0
    filled: float = 0.0


class _Desk(Protocol):
    """The part of a context that client-side orders use."""

    now: int
    _sender: Any

    def place(self, _order: Order | Bracket, /) -> OrderHandle: ...
    def cancel(self, _placed: OrderHandle, /) -> None: ...
    def product(self, _symbol: str, /) -> Product: ...
    def price(self, _symbol: str, /) -> float: ...
    def position(self, _symbol: str, /) -> float: ...
    def legs(self, _symbol: str, /) -> tuple[float, float]: ...
    def underway(self, _symbol: str, /) -> float: ...
    def bars(self, _symbol: str, /) -> BarHistory: ...
    def _is_hedged(self, _symbol: str, /) -> bool: ...
    def _replace(self, _placed: OrderHandle, _changed: Order, /) -> None: ...
    def _note(self, _kind: str, _symbol: str, _text: str, /) -> None: ...
    def _keep(self) -> None: ...


class ClientOrder:
    """An order that lives at the client until it sends one to the venue.

    Parameters
    ----------
    ctx : _Desk
        Context that sends, amends and cancels its order.
    kept : KeptOrder
        Its state.

    Attributes
    ----------
    kept : KeptOrder
        Its state, as a journal keeps it.
    handle : OrderHandle or None
        The order at the venue, None before it has sent one.
    done : bool
        True once it has ended.
    reason : str
        Why it ended, "" otherwise.
    """

    def __init__(self, ctx: _Desk, kept: KeptOrder) -> None:
        self.kept = kept
        self.handle: OrderHandle | None = None
        self.done = False
        self.reason = ""
        self._ctx = ctx

    @property
    def symbol(self) -> str:
        """Product symbol."""
        return self.kept.symbol

    @property
    def state(self) -> str:
        """WAITING until it has sent an order, then that order's state. CANCELED if it ended before."""
        if self.handle is not None:
            return self.handle.state
        return "CANCELED" if self.done else "WAITING"

    @property
    def filled(self) -> float:
        """Filled quantity, base units."""
        return self.kept.filled + (self.handle.filled if self.handle is not None else 0.0)

    @property
    def acted(self) -> bool:
        """Whether the others of its group are cancelled: it has sent its order."""
        return self.kept.sent != 0 and bool(self.handle)

    @property
    def bounds(self) -> tuple[float, float]:
        """Prices between which it has nothing to do, USDC."""
        return ANY_PRICE

    def cancel(self, reason: str = "cancelled by its owner") -> None:
        """End it, and cancel its order at the venue.

        Parameters
        ----------
        reason : str, optional
            Why it ends (default: "cancelled by its owner").
        """
        if not self.done:
            self._end(reason)
            if self.handle is not None:
                self._ctx.cancel(self.handle)

    @property
    def scheduled(self) -> bool:
        """Whether it waits for a time."""
        return self.kept.at > 0 and not (self.done or self.kept.sent)

    @property
    def over(self) -> bool:
        """Whether nothing about it can follow."""
        return self.done

    def start(self) -> None:
        """Do what it does immediately."""

    def watch(self, price: float) -> None:
        """Act on a price.

        Parameters
        ----------
        price : float
            Last known price, USDC.
        """

    def follow(self, bar: Bar) -> None:
        """Act on a bar that has closed.

        Parameters
        ----------
        bar : Bar
            Bar of its product.
        """
        self.watch(bar.close)

    def settle(self) -> None:
        """Act on an answer of the venue to its order."""
        if self.handle is not None and self.handle.done:
            self._end(self.handle.reason)

    def owns(self, placed: OrderHandle) -> bool:
        """Return whether it has sent an order that it still follows.

        Parameters
        ----------
        placed : OrderHandle
            Order at the venue.
        """
        return self.handle is placed

    def refused(self, placed: OrderHandle | None, reason: str) -> bool:
        """Return whether it deals with a refusal, so that the strategy need not.

        Parameters
        ----------
        placed : OrderHandle or None
            Its order that was refused, or whose change was. None: an order that it is sending.
        reason : str
            The venue's reason.
        """
        self._end(reason)
        return False

    def take_up(self, handles: Mapping[int, OrderHandle]) -> None:
        """Continue after a restart. An order whose sending was interrupted is not sent twice.

        Parameters
        ----------
        handles : mapping of int to OrderHandle
            Orders of the run by client id.
        """
        self.handle = handles.get(self.kept.sent)
        if self.kept.sent < 0:
            self._end("the run stopped while it was sent")

    def _end(self, reason: str) -> None:
        self.done, self.reason = True, reason
        self._ctx._keep()

    def _change(self, **changes: object) -> None:
        self.kept = msgspec.structs.replace(self.kept, **changes)
        self._ctx._keep()

    def _send(self, *legs: Order) -> OrderHandle:
        """Send an order. It is kept as sent before it is, so that a crash in between can't send it twice."""
        self._change(sent=-1)
        self._ctx._sender = self
        try:
            placed = self._ctx.place(order_of(legs))
        finally:
            self._ctx._sender = None
        if not self.done and placed.state != "REJECTED":
            self.handle = placed
        self._change(sent=placed.cl_ord_id)
        return placed


class Entry(ClientOrder):
    """An order that is sent when the price reaches a trigger, or at a time. See `Context.stop_entry`."""

    @property
    def bounds(self) -> tuple[float, float]:
        kept = self.kept
        if self.done or kept.sent or not kept.trigger:
            return ANY_PRICE
        return (0.0, kept.trigger) if kept.sign > 0 else (kept.trigger, math.inf)

    def watch(self, price: float) -> None:
        kept = self.kept
        if self.done or kept.sent:
            return
        if (self._ctx.now >= kept.at) if kept.at else (price - kept.trigger) * kept.sign >= -1e-12 * price:
            self._send(*kept.legs)


class Iceberg(ClientOrder):
    """A limit order of which the venue sees one part at a time. See `Context.iceberg`."""

    def settle(self) -> None:
        placed = self.handle
        if placed is None or self.done or not placed.done:
            return
        self._change(filled=self.filled)
        self.handle = None
        if placed.state == "FILLED":
            self.start()
        else:
            self._end(placed.reason)

    def start(self) -> None:
        [whole] = self.kept.legs
        product = self._ctx.product(self.symbol)
        left = round((float(whole.quantity) - self.kept.filled) / float(product.step_size))
        part = min(left, round(float(self.kept.shown) / float(product.step_size)))
        if part <= 0:
            self._end("")
            return
        self._send(replace(whole, quantity=product.quantity_text(part)))


class Exit(ClientOrder):
    """A stop-loss or take-profit of a whole position, as an order at the venue. See `Context.stop_loss`.

    Its order is amended at the venue, and never cancelled before another one is there. If the price has passed its
    trigger, the venue refuses the order. Then `if_reached` says what happens.

    Attributes
    ----------
    stop : float
        Trigger price of the order at the venue, USDC, NaN before the first.
    """

    def __init__(self, ctx: _Desk, kept: KeptOrder) -> None:
        super().__init__(ctx, kept)
        self.stop = math.nan
        self._asked = math.nan
        """Trigger of the last request, USDC."""
        self._closing: OrderHandle | None = None
        self._early = False
        """Whether its order was refused because it came before the position."""
        self._passed = 0.0
        """The last trigger of which was noted that the price has passed it."""

    @property
    def acted(self) -> bool:
        return self.filled > 0

    @property
    def over(self) -> bool:
        return self.done and (self._closing is None or self._closing.done)

    def follow(self, bar: Bar) -> None:
        """Place or amend the order after a bar, and end with the position.

        Parameters
        ----------
        bar : Bar
            Bar that has closed.
        """
        self.settle()
        if not self.done and self._is_needed():
            self._ask(self._level(bar))

    def settle(self) -> None:
        placed = self.handle
        if placed is None:
            if self._early and self._size():
                self._early = False
                self._ask(math.nan)
        elif placed.state == "FILLED":
            self._end("filled")
        elif placed.done:  # cancelled: it is placed again with the next bar, if there is a position
            self.handle, self._asked = None, math.nan
        else:
            self.stop = float(placed.order.trigger_price or "nan")

    def owns(self, placed: OrderHandle) -> bool:
        return placed in (self.handle, self._closing)

    def refused(self, placed: OrderHandle | None, reason: str) -> bool:
        if placed is not None and placed is self._closing:
            return not self._size()  # the order that stood has closed it meanwhile
        if self.handle is not None and self.handle and not self._size():
            self._asked = self.stop
            return True  # it has triggered before the change arrived
        passed = self._size() > 0 and (ALREADY_REACHED in reason or self._passes(self._asked))
        if self.handle is not None and self.handle:
            self._asked = self.stop  # the change is refused, and the order stands as it was
        else:
            self.handle, self._asked, self._early = None, math.nan, not self._size()
        if passed and self.kept.if_reached == "close":
            self._pass(reason)
            return True
        return False

    def start(self) -> None:
        """Place the first order, for the position or for the one that is underway."""
        if self._is_needed():
            self._ask(self._level(None))

    def take_up(self, handles: Mapping[int, OrderHandle]) -> None:
        super().take_up(handles)
        self.done = False  # an exit may be placed again: it only reduces
        if self.handle is not None:
            self.stop = self._asked = float(self.handle.order.trigger_price or "nan")

    def _size(self) -> float:
        """Return the position that it closes, base units."""
        long, short = self._ctx.legs(self.symbol)
        return long if self.kept.sign > 0 else -short

    def _is_needed(self) -> bool:
        """Return whether there is something to protect. It ends with its position."""
        ctx, kept = self._ctx, self.kept
        hedged = ctx._is_hedged(self.symbol)
        expected = (self._size() * kept.sign if hedged else ctx.position(self.symbol)) + ctx.underway(self.symbol)
        if self.handle is None and not hedged and expected and math.isnan(self.stop):
            self._change(sign=1 if expected > 0 else -1)
        if expected * self.kept.sign > 0 or self._size():
            return True
        if self.handle is not None or self._closing is not None or not math.isnan(self.stop):
            self.cancel("its position is closed")
        return False

    def _level(self, bar: Bar | None) -> float:
        """Return the trigger that it shall have now, USDC."""
        return self.kept.trigger

    @property
    def _way(self) -> int:
        """+1 where it acts at its trigger and below."""
        return -self.kept.sign if self.kept.profit else self.kept.sign

    def _passes(self, trigger: float) -> bool:
        return (self._ctx.price(self.symbol) - trigger) * self._way <= 0

    def _ask(self, level: float) -> None:
        """Let its order have a trigger, unless a better one was wanted before."""
        ctx, kept = self._ctx, self.kept
        if self._closing is not None and not self._closing.done:
            return
        if level == level:
            price = float(ctx.product(self.symbol).round_price(f"{level:.12f}", "down" if self._way > 0 else "up"))
            if not kept.trigger or (price - kept.trigger) * kept.sign > 0:
                self._change(trigger=price)
        trigger = self.kept.trigger
        if not trigger or trigger == self._asked:
            return
        if self._size() and self._passes(trigger):
            if self.kept.if_reached == "close" or self._passed != trigger:
                self._passed = trigger
                self._pass(f"the price has passed the trigger {trigger:g}")
            return
        self._asked = trigger
        text = ctx.product(self.symbol).price_text(round(trigger / float(ctx.product(self.symbol).tick_size)))
        if self.handle is not None:
            ctx._replace(self.handle, replace(self.handle.order, trigger_price=text))
            return
        option = "TP_FROM_POSITION" if kept.profit else "SL_FROM_POSITION"
        self.stop = trigger
        side: Any = side_of(-kept.sign)
        self._send(Order(self.symbol, side, "0", tif="IOC", reduce_only=option, trigger_price=text))  # type: ignore[arg-type]

    def _pass(self, why: str) -> None:
        """Do what `if_reached` says. The order at the venue is left: it may be reached before the close arrives."""
        ctx, size = self._ctx, self._size()
        close = self.kept.if_reached == "close" and size > 0
        ctx._note("PASSED", self.symbol, f"{why}. {'The position is closed at market' if close else 'Nothing is sent'}")
        if close:
            amount = ctx.product(self.symbol).quantity_text(round(size / float(ctx.product(self.symbol).step_size)))
            signed = amount if self.kept.sign > 0 else f"-{amount}"
            self._closing = ctx.place(close_position(self.symbol, signed))


class TrailingStop(Exit):
    """A stop that follows the best price of its position at a distance, and never moves back.

    It is amended at each close whose bar has moved it. Within a bar it stays. It ends with its position, or by
    `cancel`.
    """

    def __init__(self, ctx: _Desk, kept: KeptOrder) -> None:
        super().__init__(ctx, kept)
        self._atr: ATR | None = None
        if kept.unit == "atr":
            self._atr = ATR(kept.window)
            history = ctx.bars(kept.symbol)
            past = slice(-10 * kept.window, None)
            for high, low, close in zip(history.high[past], history.low[past], history.close[past], strict=True):
                self._atr.update(float(high), float(low), float(close))

    @property
    def ratio(self) -> float:
        """Distance from the best price, a ratio, NaN where it has another unit."""
        return self.kept.distance if self.kept.unit == "ratio" else math.nan

    def follow(self, bar: Bar) -> None:
        """Follow the bar that has closed.

        Parameters
        ----------
        bar : Bar
            Bar that has closed.
        """
        if self._atr is not None:
            self._atr.update(bar.high, bar.low, bar.close)
        super().follow(bar)

    def _level(self, bar: Bar | None) -> float:
        kept = self.kept
        best = self._ctx.price(self.symbol) if bar is None else (bar.high if kept.sign > 0 else bar.low)
        unit = {"ratio": best, "amount": 1.0, "atr": self._atr.value if self._atr else math.nan}[kept.unit]
        return best - kept.sign * kept.distance * unit


def order_of(legs: Sequence[Order]) -> Order | Bracket:
    """Return the order, or the bracket, that has these legs.

    Parameters
    ----------
    legs : sequence of Order
        The order, or the entry and then its exits.
    """
    exits = {leg.reduce_only: leg for leg in legs[1:]}
    return Bracket(legs[0], exits.get("TP_FROM_POSITION"), exits.get("SL_FROM_POSITION")) if exits else legs[0]


KINDS: dict[str, type[ClientOrder]] = {kind.__name__: kind for kind in (Entry, Iceberg, Exit, TrailingStop)}
"""Classes of client-side orders by the name that is kept."""
