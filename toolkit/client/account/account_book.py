"""What an account holds, by several witnesses: the states of its orders, its fills and its positions.

    order states ──┐
                   ├──→ executed of each order: the most that either shows ──→ expected position ──┐
    fills ─────────┘                                                                               ├──→ difference
    positions ─────────────────────────────────────────────────────────────────────────────────────┘

A venue lists each of them at its own pace, so what one proves counts at once, before the others show it. What the
positions show beyond that is of unknown origin until the witnesses agree, and limits count it in the worst case.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

from ...limits import Book

RUN_BITS, RANDOM_BITS = 22, 30
"""Bits of a client id of a run with a name: those of the run, and below them random ones. The bit above both is set.
Ids that sessions make stay below it."""
Part = Literal["own", "run", "hand"]
Legs = tuple[int, int]
"""Steps of the long and of the short."""


class Listed(NamedTuple):
    """A fill that the venue lists: its order (0 for a forced one), and how many steps are whose."""

    order_id: int
    symbol: str
    side: str
    steps: int
    part: Part
    of_others: int


@dataclass(slots=True)
class Execution:
    """What is known of the execution of one order, in steps.

    Attributes
    ----------
    symbol : str
        Product symbol.
    side : str
        BUY, SELL, BUY_CLOSE_HEDGE or SELL_CLOSE_HEDGE.
    part : {"own", "run", "hand"}
        Whose order it is: the caller's, another run's, or the rest's.
    before : int
        Filled before the book began (default: 0).
    by_state : int or None
        Filled in all by the order's last shown state, None before it was shown (default: None).
    by_fills : int
        Filled by the listed fills since the book began (default: 0).
    quantity : int or None
        Ordered quantity, beyond which nothing can be filled. None where it is not known (default: None).
    """

    symbol: str
    side: str
    part: Part
    before: int = 0
    by_state: int | None = None
    by_fills: int = 0
    quantity: int | None = None

    @property
    def filled(self) -> int:
        """Filled since the book began: the most that a witness shows, and no more than was ordered."""
        shown = max(self.by_state_now, self.by_fills)
        return shown if self.quantity is None else max(min(shown, self.quantity - self.before), 0)

    @property
    def by_state_now(self) -> int:
        """Filled since the book began by the order's last shown state."""
        return 0 if self.by_state is None else self.by_state - self.before


class AccountBook:
    """The positions of an account in some products, and of a part of it that is the caller's own.

    Parameters
    ----------
    steps : mapping of str to Decimal
        Step size by symbol.
    hedge : bool, optional
        Whether the account is in hedge mode, None while that is not known (default: None).

    Attributes
    ----------
    own : dict of str to Book
        Position of the own part by symbol, as far as any witness proves it.
    account : dict of str to Book
        Position of the whole account by symbol, likewise.
    by_hand : dict of str to (int, int)
        What orders of neither the caller nor another run bought and sold since the book began, by symbol, in steps: in
        hedge mode the changes of both legs.
    """

    def __init__(self, steps: Mapping[str, Decimal], hedge: bool | None = None) -> None:
        self.own: dict[str, Book] = {}
        self.account: dict[str, Book] = {}
        self.by_hand: dict[str, Legs] = {}
        self._orders: dict[int, Execution] = {}
        self._fills: dict[str, Listed] = {}
        """Fills that were taken, by id."""
        self._apart = set[int]()
        """Orders whose state and fills don't agree."""
        self.add(steps, hedge)
        self._shown: dict[str, Legs] = {}
        """The positions as they were last shown, by symbol."""

    def add(self, steps: Mapping[str, Decimal], hedge: bool | None = None) -> None:
        """Add products without a position, where they are not in the book.

        Parameters
        ----------
        steps : mapping of str to Decimal
            Step size by symbol.
        hedge : bool, optional
            Whether the account is in hedge mode, None while that is not known (default: None).
        """
        for symbol, size in steps.items():
            if symbol not in self.account:
                self.own[symbol], self.account[symbol] = Book(size, hedge), Book(size, hedge)
                self.by_hand[symbol] = (0, 0)

    def set_mode(self, hedge: bool) -> None:
        """Note the account's position mode.

        Parameters
        ----------
        hedge : bool
            Whether it is in hedge mode.
        """
        for book in (*self.own.values(), *self.account.values()):
            book.set_mode(hedge)

    def begin(self, symbol: str, *, own: Legs | None = None, account: Legs | None = None) -> None:
        """Set the positions with which the book begins.

        Parameters
        ----------
        symbol : str
            Product symbol.
        own : tuple of (int, int), optional
            Long and short of the own part, steps (default: as they are).
        account : tuple of (int, int), optional
            Those of the account (default: as they are).
        """
        for book, legs in ((self.own[symbol], own), (self.account[symbol], account)):
            book.longs, book.shorts = legs or (book.longs, book.shorts)
        if account is not None:
            self._shown[symbol], self.by_hand[symbol] = account, (0, 0)

    def order(
        self, order_id: int, symbol: str, side: str, part: Part, *, quantity: int | None = None, before: int = 0
    ) -> None:
        """Note an order. What is known of one already stays, but for its quantity, which a replacement changes.

        Parameters
        ----------
        order_id : int
            The venue's id.
        symbol : str
            Product symbol.
        side : str
            Side of the order.
        part : {"own", "run", "hand"}
            Whose it is.
        quantity : int, optional
            Ordered quantity, steps (default: not known).
        before : int, optional
            Filled before the book began, steps (default: 0).
        """
        known = self._orders.setdefault(order_id, Execution(symbol, side, part, before))
        booked = known.filled
        known.quantity = known.quantity if quantity is None else quantity
        self._take(order_id, booked)

    def knows(self, order_id: int) -> bool:
        """Return whether an order is noted.

        Parameters
        ----------
        order_id : int
            The venue's id.
        """
        return order_id in self._orders

    def state(self, order_id: int, filled: int) -> None:
        """Take what the state of an order that is noted shows now. A later state corrects an earlier one.

        Parameters
        ----------
        order_id : int
            The venue's id.
        filled : int
            Filled quantity in all, steps.
        """
        known = self._orders[order_id]
        booked, known.by_state = known.filled, filled
        self._take(order_id, booked)

    def fill(
        self, id: str, order_id: int, symbol: str, side: str, steps: int, part: Part, *, of_others: int = 0
    ) -> None:
        """Take a listed fill, once.

        Parameters
        ----------
        id : str
            The venue's id of the fill.
        order_id : int
            The venue's id of its order, 0 for a forced fill, which has none.
        symbol : str
            Product symbol.
        side : str
            Side of the fill.
        steps : int
            Filled quantity.
        part : {"own", "run", "hand"}
            Whose it is.
        of_others : int, optional
            Steps beyond it that a forced fill took of others on the account (default: 0).
        """
        self._fills[id] = taken = Listed(order_id, symbol, side, steps, part, of_others)
        self._add(taken, 1)

    def retract(self, id: str) -> bool:
        """Take back a fill that is listed no longer, and return whether it was one of the book's.

        Parameters
        ----------
        id : str
            The venue's id of the fill.
        """
        if id not in self._fills:
            return False
        self._add(self._fills.pop(id), -1)
        return True

    @property
    def fills(self) -> dict[str, int]:
        """Steps of the fills that were taken, those of others with them, by id."""
        return {id: taken.steps + taken.of_others for id, taken in self._fills.items()}

    def _add(self, taken: Listed, sign: int) -> None:
        """Book a fill, or with a sign of −1 take it back."""
        if not taken.order_id:
            self._book(taken.symbol, taken.side, sign * taken.steps, taken.part)
            self._book(taken.symbol, taken.side, sign * taken.of_others, "run")
            return
        known = self._orders.setdefault(taken.order_id, Execution(taken.symbol, taken.side, taken.part))
        booked, known.by_fills = known.filled, known.by_fills + sign * taken.steps
        self._take(taken.order_id, booked)

    def positions(self, shown: Mapping[str, Legs]) -> None:
        """Take the positions as they are shown now.

        Parameters
        ----------
        shown : mapping of str to (int, int)
            Long and short by symbol, steps. One that is left out is flat.
        """
        self._shown = {symbol: shown.get(symbol, (0, 0)) for symbol in self.account}

    def shown(self, symbol: str) -> Legs:
        """Return the legs that the positions show now, steps.

        Parameters
        ----------
        symbol : str
            Product symbol.
        """
        return self._shown.get(symbol, (0, 0))

    def difference(self, symbol: str) -> Legs:
        """Return what the positions show beyond orders and fills: of both legs, in one-way mode the net size and 0.

        While the mode is not known, the legs count.

        Parameters
        ----------
        symbol : str
            Product symbol.
        """
        book, (longs, shorts) = self.account[symbol], self.shown(symbol)
        if book.hedge is False:
            return longs - shorts - book.net, 0
        return longs - book.longs, shorts - book.shorts

    @property
    def agrees(self) -> bool:
        """Whether the positions agree with orders and fills, as they were last shown."""
        return all(self.difference(symbol) == (0, 0) for symbol in self.account)

    def take_by_hand(self, symbol: str, side: str, steps: int) -> None:
        """Count a fill of neither the caller nor another run, also one that the positions of the begin hold already.

        Parameters
        ----------
        symbol : str
            Product symbol.
        side : str
            Side of the fill.
        steps : int
            Filled quantity.
        """
        change = Book(self.account[symbol].step_size, self.account[symbol].hedge)
        change.take(side, steps)
        longs, shorts = self.by_hand[symbol]
        self.by_hand[symbol] = longs + change.longs, shorts + change.shorts

    def missing(self, symbol: str) -> Legs:
        """Return how much less than the own position the account holds because of orders by hand, in steps of each leg.

        In one-way mode the orders of other runs may stand against the own position, which is no loss of it. So only
        what was traded by hand counts, as far as nothing else on the account covers it.

        Parameters
        ----------
        symbol : str
            Product symbol.
        """
        own, account, (bought, sold) = self.own[symbol], self.account[symbol], self.by_hand[symbol]
        if own.hedge is not False:
            return _missing(own.longs, account.longs, bought), _missing(own.shorts, account.shorts, sold)
        net = bought - sold
        return _missing(own.longs, account.net, net), _missing(own.shorts, -account.net, -net)

    def adopt(self, symbol: str) -> None:
        """Take what the account holds less by hand as gone from the own position.

        Parameters
        ----------
        symbol : str
            Product symbol.
        """
        own, (longs, shorts) = self.own[symbol], self.missing(symbol)
        own.longs, own.shorts, self.by_hand[symbol] = own.longs - longs, own.shorts - shorts, (0, 0)

    def possible(self) -> dict[str, Book]:
        """Return the own positions if what the positions show beyond orders and fills is of the own part."""
        found = {}
        for symbol, book in self.own.items():
            longs, shorts = self.difference(symbol)
            found[symbol] = copy(book)
            found[symbol].add(longs, shorts)
        return found

    def is_proven(self, symbol: str) -> bool:
        """Return whether the state of each order with a listed fill was shown as well: a fill alone may be wrong.

        Parameters
        ----------
        symbol : str
            Product symbol.
        """
        return not any(each.by_fills and each.by_state is None and each.symbol == symbol
                       for each in self._orders.values())  # fmt: skip

    def unlisted(self) -> dict[str, int]:
        """Return what order states show as filled and no listed fill does yet, by symbol, in steps."""
        found: dict[str, int] = {}
        for order_id in self._apart:
            each = self._orders[order_id]
            found[each.symbol] = found.get(each.symbol, 0) + each.by_state_now - each.by_fills
        return found

    def _take(self, order_id: int, booked: int) -> None:
        """Book what an order has filled beyond what was booked, and note whether its witnesses agree."""
        known = self._orders[order_id]
        if known.filled != booked:
            self._book(known.symbol, known.side, known.filled - booked, known.part)
        # Fills that a state does not show yet are no doubt: a state is read only while its order is open.
        (self._apart.add if known.by_state_now > known.by_fills else self._apart.discard)(order_id)

    def _book(self, symbol: str, side: str, steps: int, part: Part) -> None:
        if symbol not in self.account:
            return
        self.account[symbol].take(side, steps)
        if part == "own":
            self.own[symbol].take(side, steps)
        elif part == "hand":
            self.take_by_hand(symbol, side, steps)


def _missing(held: int, there: int, change: int) -> int:
    """Return how much of a held leg is not there, as far as a change by hand explains it."""
    return min(max(held - max(there, 0), 0), max(-change, 0))


def in_words(step_size: Decimal, legs: Legs) -> str:
    """Return legs in words, such as "LONG 0.05".

    Parameters
    ----------
    step_size : Decimal
        Size of a step in base units.
    legs : tuple of (int, int)
        Long and short in steps, in one-way mode the net size and 0.
    """
    longs, shorts = (steps * step_size for steps in legs)
    if longs and shorts:
        return f"LONG {longs:f} and SHORT {shorts:f}"
    size = longs - shorts
    return "nothing" if not size else f"{'LONG' if size > 0 else 'SHORT'} {abs(size):f}"


def first_id_of(run: int) -> int:
    """Return the first client id of a run with a name.

    Parameters
    ----------
    run : int
        Number of the run, of `RUN_BITS` bits.
    """
    return (1 << RUN_BITS | run) << RANDOM_BITS


def run_of(client_id: int | float | None) -> int | None:
    """Return the number of the run with a name that a client id is of, None for any other order.

    Parameters
    ----------
    client_id : int or float
        Client id, NaN for none.
    """
    if client_id is None or client_id != client_id or int(client_id) >> RANDOM_BITS + RUN_BITS != 1:
        return None
    return int(client_id) >> RANDOM_BITS & (1 << RUN_BITS) - 1
