"""Limits on orders and losses: one class for a strategy's run and a session, and the book that they are checked on."""

from __future__ import annotations

from bisect import bisect_right as bisect
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from math import ceil
from typing import TYPE_CHECKING

from .errors import InputError, LimitReached
from .exposure import exposed
from .sides import closes_leg, leg_of, sign_of

if TYPE_CHECKING:
    from .orders import Order

    Orders = Sequence[tuple[Order, float]]
    """Orders, each with the quantity that is filled."""
    Price = Callable[[str], float | Decimal]
    """Returns the last price of a symbol."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a session, or on a strategy's run. They refuse an order before it is signed, and stop a run.

    Amounts are in USDC, and may be texts, such as "0.02". None is no limit. Positions are counted with the open orders
    filled, those whose outcome is unknown too, at the last price: in one-way mode those of one side of each symbol, in
    hedge mode both legs together. Orders that only reduce pass every limit. They count as orders of a minute.

    A run counts what its symbols hold. A session counts everything on the account, and a position may be closed before
    an order of the other side fills: with 0.02 long and a `max_position` of 0.02, at most 0.02 can be sold at a time.
    The start of a session is its first checked order.

    Parameters
    ----------
    max_notional : float, optional
        Largest sum of position notionals that an order could lead to, in USDC (default: None). Without a price nothing
        is sent.
    max_loss : float, optional
        Largest fall of equity below its value at the start, without transfers, in USDC (default: None).
    max_daily_loss : float, optional
        Largest fall of equity below its last value of the day before (UTC), or at the start, in USDC (default: None).
    max_orders_per_minute : int, optional
        Orders sent in any 60 s (default: 60).
    max_stale : float, optional
        Seconds without a complete answer of the venue, for runs (default: 30). Bars without trades are flat, not stale.
        A session reads the account before each order, and refuses the order if it can't.
    max_position : float or mapping, optional
        Largest position of a symbol that an order could lead to, in base units: for all, or by symbol (default: None).
    max_order_notional : float, optional
        Largest notional of one order, in USDC (default: None).
    symbols : tuple of str, optional
        The only ones in which an order may open a position (default: all).

    Raises
    ------
    InputError
        For a limit that is no number above 0, and for symbols that are one text.

    Examples
    --------
    >>> limits = toolkit.Limits(max_notional=5_000, max_daily_loss=200, symbols=("BTCUSDC",))
    >>> with toolkit.connect(clock="manual", limits=limits) as limited:
    ...     limited.limits.values.max_notional
    5000
    """

    max_notional: float | None = None
    max_loss: float | None = None
    max_daily_loss: float | None = None
    max_orders_per_minute: int | None = 60
    max_stale: float | None = 30.0
    max_position: float | Mapping[str, float] | None = None
    max_order_notional: float | None = None
    symbols: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in (item.name for item in fields(self) if item.name != "symbols"):
            given = getattr(self, name)
            if isinstance(given, Mapping):
                object.__setattr__(self, name, {symbol: _number(name, value) for symbol, value in given.items()})
            elif given is not None:
                object.__setattr__(self, name, _number(name, given))
        symbols: object = self.symbols
        if isinstance(symbols, str):
            text = f"symbols is {symbols!r}. Give several, such as ({symbols!r},), or None for all"
            raise InputError(text, field="symbols", rule="a tuple", value=symbols)

    def check_rate(self, sent_ms: deque[int], now: int, orders: int = 1) -> None:
        """Raise LimitReached where so many more orders are too many.

        Parameters
        ----------
        sent_ms : deque of int
            Times in Unix ms of the orders sent so far, oldest first. It loses those of over 60 s.
        now : int
            The present in Unix ms.
        orders : int, optional
            Number of orders to be sent (default: 1).

        Raises
        ------
        LimitReached
            If they exceed `max_orders_per_minute`.
        """
        while sent_ms and sent_ms[0] <= now - 60_000:
            sent_ms.popleft()
        most = self.max_orders_per_minute
        if most is None or len(sent_ms) + orders <= most:
            return
        more = f", and there are {orders} more" if orders > 1 else ""
        text = f"{len(sent_ms)} orders in the last minute{more}. The limit is {most}. "
        if orders > most:
            raise LimitReached(f"{text}At most {most:g} together pass", limit="max_orders_per_minute")
        wait_ms = sent_ms[ceil(len(sent_ms) + orders - most) - 1] + 60_000 - now
        text += f"{'They pass' if more else 'The next passes'} in {-(-wait_ms // 1000)} s"
        raise LimitReached(text, limit="max_orders_per_minute")

    def check_order(self, order: Order, books: Mapping[str, Book], resting: Mapping[str, Orders], price: Price) -> None:
        """Raise LimitReached for an order that could lead too far.

        Parameters
        ----------
        order : Order
            Order to be sent.
        books : mapping
            Position by symbol.
        resting : mapping
            All other open orders, by symbol.
        price : callable
            Function that returns the last price of a symbol in USDC.

        Raises
        ------
        LimitReached
            If the order exceeds a limit.
        """
        symbol = str(order.symbol)
        if books[symbol].only_reduces(order):
            return
        if self.symbols is not None and symbol not in self.symbols:
            text = f"{symbol} is not among the allowed symbols: {', '.join(self.symbols)}"
            raise LimitReached(text, limit="symbols")
        step = books[symbol].step_size

        def exceeded(quantity: Decimal) -> tuple[str, str] | None:
            """Return the limit that this quantity would exceed, and how, None where it exceeds none."""
            orders = {**resting, symbol: [*resting[symbol], (replace(order, quantity=f"{quantity:f}"), 0.0)]}
            size = {name: book.reach(orders[name]) for name, book in books.items()}
            of_symbol = self.max_position.get(symbol) if isinstance(self.max_position, Mapping) else self.max_position
            found = [("max_position", of_symbol, size[symbol], "would increase the position to {:f}")]
            if (most := self.max_order_notional) is not None:
                found.append(("max_order_notional", most, quantity * exact(price(symbol)), "is worth {:,.2f} USDC"))
            if (most := self.max_notional) is not None:
                total = sum((held * exact(price(name)) for name, held in size.items() if held), Decimal(0))
                others = " with open orders filled" if any(resting.values()) else ""
                found.append(("max_notional", most, total, "would increase positions to {:,.2f} USDC" + others))
            for name, most, amount, says in found:
                if most is not None and amount > exact(most):
                    limit = format(most, "" if name == "max_position" else ",.2f")
                    return name, f"{says.format(amount)}. The limit is {limit}"
            return None

        if (broken := exceeded(Decimal(order.quantity))) is not None:
            # What an order leads to never falls with its quantity, so the largest that passes is found by halving.
            wanted = min(int(Decimal(order.quantity) / step), 1 << 62)
            steps = bisect(range(wanted), 0, key=lambda many: exceeded(many * step) is not None)
            most = f"At most {(steps - 1) * step:f} passes" if steps > 1 else "Only orders that reduce pass"
            raise LimitReached(f"{order.side} {symbol} {broken[1]}. {most}", limit=broken[0])

    def check_loss(self, fall: float, fall_of_day: float) -> None:
        """Raise LimitReached when equity fell too far. NaN, for an equity that is not known yet, passes.

        Parameters
        ----------
        fall : float
            Fall since the start, in USDC.
        fall_of_day : float
            Fall since the end of the day before, in USDC.

        Raises
        ------
        LimitReached
            If a fall exceeds its limit.
        """
        for name, loss, since in (("max_loss", fall, ""), ("max_daily_loss", fall_of_day, " since the day began")):
            most = getattr(self, name)
            if most is not None and loss > most:
                text = f"equity fell by {loss:,.2f} USDC{since}. The limit is {most:,.2f}. Only orders that reduce pass"
                raise LimitReached(text, limit=name)


@dataclass(slots=True)
class Book:
    """The position in one product, in whole steps.

    Parameters
    ----------
    step_size : Decimal
        Size of a step in base units.
    hedge : bool, optional
        Whether both legs can be held (default: False). None: the account's mode is not known yet, and positions are
        counted as if both legs could be opened.
    longs : int, optional
        Steps of the long (default: 0).
    shorts : int, optional
        Steps of the short (default: 0).
    covers : bool, optional
        Whether the position counts against orders of the other side (default: True). Where others may close it before
        these fill, as on a session, it does not.
    """

    step_size: Decimal
    hedge: bool | None = False
    longs: int = 0
    shorts: int = 0
    covers: bool = True

    @property
    def net(self) -> int:
        """The signed position, steps."""
        return self.longs - self.shorts

    def take(self, side: str, steps: int) -> None:
        """Book a fill: in hedge mode on the leg that its side names.

        Parameters
        ----------
        side : str
            Side of the order that filled.
        steps : int
            Filled quantity in steps.
        """
        sign, closes = sign_of(side), closes_leg(side)
        if self.hedge is not False or closes:
            self.hedge = True if closes else self.hedge
            if leg_of(side) == "SHORT":
                self.shorts -= sign * steps
            else:
                self.longs += sign * steps
            return
        net = self.net + sign * steps
        self.longs, self.shorts = max(net, 0), max(-net, 0)

    def add(self, longs: int, shorts: int) -> None:
        """Add steps to both legs. In one-way mode the first is the signed size.

        Parameters
        ----------
        longs : int
            Steps of the long, in one-way mode the signed size.
        shorts : int
            Steps of the short.
        """
        self.longs, self.shorts = max(self.longs + longs, 0), max(self.shorts + shorts, 0)
        if self.hedge is False:
            self.set_mode(False)

    def set_mode(self, hedge: bool) -> None:
        """Note the account's position mode: in one-way mode the legs are one net position.

        Parameters
        ----------
        hedge : bool
            Whether it is hedge mode.
        """
        self.hedge = hedge
        if not hedge:
            self.longs, self.shorts = max(self.net, 0), max(-self.net, 0)

    def only_reduces(self, order: Order) -> bool:
        """Return whether an order can't open anything.

        Parameters
        ----------
        order : Order
            Order to be sent.
        """
        return bool(order.reduce_only) or (self.hedge is not False and closes_leg(order.side))

    def reach(self, orders: Orders) -> Decimal:
        """Return the largest position that it could become with some orders, in base units.

        Parameters
        ----------
        orders : Orders
            Open orders of the product, all filled.
        """
        steps = {True: 0, False: 0}
        for order, filled in orders:
            if not self.only_reduces(order):
                left = Decimal(order.quantity) - exact(filled)
                steps[sign_of(order.side) > 0] += round(left / self.step_size)
        if self.hedge is False and not self.covers:
            return max(self.longs + steps[True], self.shorts + steps[False]) * self.step_size
        return exposed(self.longs, self.shorts, steps[True], steps[False], self.hedge is not False) * self.step_size


def _number(name: str, value: object) -> float | Decimal:
    """Return a limit as a number. It may be a text, as quantities of orders may."""
    number = None
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str):
        with suppress(InvalidOperation):
            number = Decimal(value)
    # NaN is not equal to itself. A Decimal refuses to compare it with 0.
    if number is None or number != number or not number > 0:
        text = f"{name} is {value!r}. Give a number above 0, or None for no limit"
        raise InputError(text, field=name, rule="above 0", value=value)
    return number


def exact(value: float | Decimal) -> Decimal:
    """Return a number as it is written.

    Parameters
    ----------
    value : float or Decimal
        Number that a caller gave.
    """
    return value if isinstance(value, Decimal) else Decimal(str(value))
