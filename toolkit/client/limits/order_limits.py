"""The limits and the kill switch of a session: every order passes here before it is recorded, whichever call made it.

    reserve ──→ read: reservations, open intents, open orders, positions, prices ──→ check ──→ record as an intent

Another order that is being sent moves on in the same direction: from reservation to intent, open order and position. It
is read in this order, so that it is found at least once. It may be found twice, and is then counted twice. No lock is
held across a request. If two orders are checked simultaneously, the one that was reserved later counts the other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import count
from typing import cast

from ...errors import ExchangeError, LimitReached, NotSent, ToolkitError, TransportError, warn
from ...limits import Book, Limits
from ...orders import Order
from ...protocol.enums import ReduceOnly
from ...protocol.orders.items import OrderItem
from ...protocol.orders.names import BRACKET_ACTIONS, ORDER_ACTIONS, ActionType, Side
from ...protocol.orders.order_actions import AnyAction, OrderAction
from ...protocol.reads.info.orders import OrderState
from ...protocol.reads.info.positions import POSITIONS
from ..account.by_orders import OrdersFilled
from ..io.flow import Flow, Now
from ..orders.intents import OPEN, Intent, IntentState, Ledger
from ..orders.outcome import is_same_order, owner_of
from ..orders.pretrade import PreTradeChecks
from ..reads.reading import Reader, is_hedged, read_typed
from .losses import Losses


@dataclass(eq=False)
class OrderLimits:
    """The limits and the kill switch of one session.

    Parameters
    ----------
    limits : Limits or None
        The limits, None without any.
    name : str
        Environment and signer, which distinguish the switches and the days of a shared ledger.
    ledger : Ledger
        Ledger of the session.
    checks : PreTradeChecks
        Pre-trade checks of the session.
    reader : callable
        Function that returns the session's reader.
    vault : str or None, optional
        Address of the vault that the session trades for (default: none).
    """

    limits: Limits | None
    name: str
    ledger: Ledger
    checks: PreTradeChecks
    reader: Callable[[], Reader]
    vault: str | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _numbers: count[int] = field(default_factory=count)
    _reserved: dict[int, tuple[str, list[Order]]] = field(default_factory=dict)
    """Number of a reservation → whose orders are being checked, and the orders."""
    _sent_ms: deque[int] = field(default_factory=deque)
    _losses: Losses = field(init=False)
    _filled: OrdersFilled = field(init=False)
    _switch: str = field(init=False)
    """Name of the ledger's text that holds why the kill switch is on."""
    _held: str = ""
    """Why it is on in this session alone, because the ledger could not be written."""

    def __post_init__(self) -> None:
        self._filled = OrdersFilled(self.reader, self.checks.catalogue, self.checks.retry)
        # The losses are the owner's. The switch is the signer's, whoever it trades for.
        self._losses = Losses(
            " ".join(filter(None, ["day", self.name, self.vault])), self.ledger, self.checks, self.reader
        )
        self._switch = f"stop {self.name}"

    @property
    def stopped(self) -> str:
        """Why the kill switch is on, "" while it is off. It is kept in the ledger, for every session that has it."""
        return self._held or self.ledger.notes().get(self._switch, "")

    def switch(self, reason: str, expected: str | None = None) -> str:
        """Turn the kill switch on or off, and return the reason of before. No order is being recorded then.

        Parameters
        ----------
        reason : str
            Why it is turned on, "" to turn it off.
        expected : str, optional
            Reason that must be given still. Where another one was given meanwhile, the switch stays as it is (default:
            any).

        Returns
        -------
        str
            The reason of before, "" if it was off.
        """
        with self._lock:
            while True:
                # Another process may hold the same ledger, so the lock alone does not suffice: compare and set.
                before = self._held
                try:
                    kept = self.ledger.notes().get(self._switch)
                    before = before or kept or ""
                    if before == reason or (expected is not None and before != expected):
                        return before
                    if kept == (reason or None) or self.ledger.note(self._switch, kept, reason or None):
                        self._held = ""
                        return before
                except ToolkitError as error:  # a disk that can't be written must not keep it off
                    if not reason and not self._held:
                        raise
                    self._held = reason
                    if reason:
                        warn(f"the kill switch is on in this session only, because it can't be kept: {error}")
                    return before

    def check_running(self, what: str) -> None:
        """Raise LimitReached while the kill switch is on.

        Parameters
        ----------
        what : str
            The attempted call in words, for the error.

        Raises
        ------
        LimitReached
            While it is on.
        """
        if reason := self.stopped:
            text = f"{what} is refused, because trading was stopped: {reason}. Orders that only reduce pass, and "
            raise LimitReached(f"{text}session.limits.resume() allows the others", limit="stop")

    def admit(self, intent: Intent, action: AnyAction, record: bool) -> Flow[None]:
        """Record an intent, if its orders may be sent.

        Parameters
        ----------
        intent : Intent
            Intent of the request.
        action : AnyAction
            Action of the request.
        record : bool
            False only raises, and records nothing.

        Raises
        ------
        LimitReached
            If a limit or the kill switch refuses them.
        NotSent
            If that can't be found out.
        """
        # Orders that only reduce pass the switch and every limit: a position must always be closable. They count
        # towards the orders of a minute.
        placed = action.orders if isinstance(action, OrderAction) else ()
        opens = [item for item in placed if not item.reduces]
        number, sent, now = -1, 0, 0
        try:
            if self.limits is not None and placed and not opens:
                now = yield Now()
                sent = len(placed)
                with self._lock:
                    self._sent_ms.extend([now] * sent)
            elif self.limits is not None and opens and not self.stopped:
                now = yield Now()
                orders = yield from self._orders(opens)
                with self._lock:
                    # A bracket is one order with its exits.
                    many = 1 if intent.action in BRACKET_ACTIONS else len(placed)
                    self.limits.check_rate(self._sent_ms, now, many)
                    # Counted before they are sent: two threads that check simultaneously must not both pass.
                    self._sent_ms.extend([now] * many)
                    sent = many
                    # From here on the orders of other threads are checked together with these. The number is taken in
                    # the same moment, so that numbers follow the order of reservations. Of two simultaneous orders,
                    # neither would count the other if the one with the lower number reserved later.
                    number = next(self._numbers)
                    self._reserved[number] = (_owned_by(intent), orders)
                yield from self._check_orders(self.limits, intent, action, number, now)
            with self._lock:
                # Under the lock: an order is recorded before the switch is on, and then stopped by it, or refused.
                if opens:
                    self.check_running(intent.action)
                if record:
                    self.ledger.record(intent)
                    sent = 0
        # A limit that can't be checked is not passed.
        except (TransportError, ExchangeError) as error:
            raise NotSent(f"{intent.action}: not sent, its limits can't be checked: {error}") from error
        finally:
            with self._lock:
                self._reserved.pop(number, None)
                with suppress(ValueError):  # over a minute old by now, and counted no more
                    for _ in range(sent):  # it was not sent
                        self._sent_ms.remove(now)

    def _check_orders(self, limits: Limits, intent: Intent, action: AnyAction, number: int, now: int) -> Flow[None]:
        for name in limits.max_position if isinstance(limits.max_position, Mapping) else ():
            yield from self.checks.catalogue.find(name)  # a name that is misspelled would limit nothing
        owner = yield from owner_of(intent)
        if owner is None:
            raise LimitReached(f"{intent.action}: the account that it trades for is not known", limit="max_position")
        # It costs two queries, so it is asked only where a limit needs it.
        if limits.max_loss is not None or limits.max_daily_loss is not None:
            limits.check_loss(*(yield from self._losses.read(now, owner)))
        whose, orders = self._reserved[number]
        # Only those before this one: each pair of simultaneous orders is counted by the later, so that not both are
        # refused.
        reserved = [each for key, (own, made) in list(self._reserved.items()) if key < number and own == whose
                    for each in made]  # fmt: skip
        # Requests on their way, and those of unknown outcome, may become positions.
        intents = [one for one in self.ledger.all(OPEN) if one.environment == intent.environment
                   and one.action in ORDER_ACTIONS and _owned_by(one) == whose]  # fmt: skip
        # The ledger is read before the venue: an order that lands in between is counted twice, never not at all.
        rows = [row for _, row in (yield from self.reader().open_orders(owner)).values()]
        books = yield from self._books(owner)
        by_orders = yield from self._filled.books(owner, now, books, rows)
        resting: dict[str, list[tuple[Order, float]]] = {}

        def rest(entries: Iterable[Order]) -> None:
            for each in entries:
                resting.setdefault(str(each.symbol), []).append((each, 0.0))

        rest(reserved)
        # An order that is open as it was requested, or replaced, counts with what is left of it.
        known = {row.client_order_id: row for row in rows}

        def is_open(item: OrderItem) -> bool:
            row = known.get(item.cl_ord_id)
            return row is not None and is_same_order(row, item) and row.quantity == Decimal(item.quantity)

        sending = [item for one in intents for item in _items(one) if not item.reduces and not is_open(item)]
        rest((yield from self._orders(sending)))
        replaced = action if isinstance(action, OrderAction) and action.type == ActionType.REPLACE else None
        for row in rows:
            if replaced is not None and _names(replaced, row):
                # The new quantity holds what is filled already; that is in the position.
                left = Decimal(orders[0].quantity) - row.filled
                orders = [replace(orders[0], quantity=f"{max(left, Decimal(0)):f}")]
            elif row.reduce_only in (None, ReduceOnly.NONE.name):
                product = yield from self.checks.catalogue.find(int(row.symbol))
                rest([Order(product.symbol, cast(Side, row.side), f"{row.remaining:f}")])
        prices: dict[str, Decimal] = {}
        # A product without a row takes the account's mode, which is one for all products.
        hedge = next((book.hedge for book in books.values()), None)  # the account's mode, of any of its rows
        placed = {str(each.symbol) for each in orders}
        for symbol in sorted(placed | resting.keys() | books.keys()):
            product = yield from self.checks.catalogue.find(symbol)
            book = books.setdefault(symbol, Book(product.step_size, hedge, covers=False))
            held = resting.setdefault(symbol, []) or symbol in placed or book.longs or book.shorts
            if (limits.max_notional and held) or (limits.max_order_notional and symbol in placed):
                if (price := (yield from self.checks.highest_price(product))) is not None:
                    prices[symbol] = price
        try:
            for order in orders:
                limits.check_order(order, books, resting, lambda symbol: _price(prices, symbol))
                if by_orders != books:
                    # The positions are late: what the orders have filled counts.
                    limits.check_order(order, {**books, **by_orders}, resting, lambda symbol: _price(prices, symbol))
                # Orders of one request fill together in the worst case.
                rest([order])
        except LimitReached as error:
            if unknown := sum(one.state is IntentState.UNKNOWN for one in intents):
                text = f"{error}. Requests of unknown outcome count too ({unknown}). session.resolve() settles them"
                raise LimitReached(text, limit=error.limit) from None
            raise

    def _books(self, owner: str) -> Flow[dict[str, Book]]:
        """Return the positions by symbol. Without a row the account has traded nothing, so its mode is not known."""
        books: dict[str, Book] = {}
        for row in (yield from read_typed(POSITIONS, self.checks.retry, account=owner, include_zero="true")):
            product = yield from self.checks.catalogue.find(int(row.symbol))
            longs, shorts = (product.steps(abs(size)) for size in (row.long_size, row.short_size))
            books[product.symbol] = Book(product.step_size, is_hedged(row), longs, shorts, covers=False)
        return books

    def _orders(self, items: Iterable[OrderItem]) -> Flow[list[Order]]:
        made = []
        for item in items:
            product = yield from self.checks.catalogue.find(item.product)
            made.append(Order(product.symbol, item.side, item.quantity))
        return made


def _items(intent: Intent) -> tuple[OrderItem, ...]:
    """Return the orders that an action places."""
    asked = intent.asked
    return asked.orders if isinstance(asked, OrderAction) else ()


def _owned_by(intent: Intent) -> str:
    """Return whose orders an action places: the account's, a vault's, or those of the trader of a builder's agent."""
    agent = None if intent.builder is None else intent.signer
    return (intent.vault_address or agent or intent.account).lower()


def _names(replaced: OrderAction, row: OrderState) -> bool:
    """Return whether a replacement names this order: by the venue's id, else by the client id."""
    if replaced.order_id:
        return replaced.order_id == row.order_id
    client_id = replaced.orders[0].cl_ord_id
    return bool(client_id) and client_id == row.client_order_id


def _price(prices: Mapping[str, Decimal], symbol: str) -> Decimal:
    if symbol not in prices:
        raise LimitReached(f"{symbol} has no price, so its notional can't be checked", limit="max_notional")
    return prices[symbol]
