"""The context of paper and live runs: orders go to a session, within the limits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import (
    ActionDisabled,
    ActionRejected,
    AddressBanned,
    ExchangeError,
    InputError,
    LimitReached,
    LocationNotSupported,
    OutcomeUnknown,
    RateLimited,
    SignatureRejected,
    TransportError,
)
from ...limits import Limits
from ...margin import maintenance_margin
from ...orders import Bracket, Order
from ...products import Amount, Product, decimal_text
from ...sides import side_of, sign_of
from ..account_data import FundingRates, OrderHandle
from ..client_orders import ANY_PRICE
from ..context import Context, ratio_of
from ..market_data import BarHistory, BookSnapshot, Trade
from .limits import check_order
from .run_state import NAN, RunState, rows_of, unix_ms

if TYPE_CHECKING:
    from ...client.stream.live import Live, Update
    from ...plain_session import Session
    from ..strategy import Strategy

DEPTHS = (20, 200)
"""Depths of the books that are subscribed to."""


PAUSE_MS = 10_000
"""How long nothing that may open is sent after a rate limit or a disabled action."""
PAUSING = (RateLimited, ActionDisabled)
ENDING = (SignatureRejected, AddressBanned, LocationNotSupported)
"""Errors that remain until the user acts: the agent is not approved, or the venue does not serve the account."""


class FeedQueue:
    """Trades and books of the live feed until the run's next poll or timer. Callbacks run on the feed's thread.

    Parameters
    ----------
    session : Session
        Session whose feed is read.
    now : callable
        Function that returns the venue's time, Unix ms.

    Attributes
    ----------
    items : deque of Trade or BookSnapshot
        Trades and books that are not delivered yet, oldest first.
    sources : list of Live
        The live objects.
    filled : bool or None
        Whether orders or fills may have changed since it was set to False. None: nothing notes that.
    """

    def __init__(self, session: Session, now: Callable[[], int]) -> None:
        self.items: deque[Trade | BookSnapshot] = deque()
        self.sources: list[Any] = []
        self.filled: bool | None = None
        self._books: dict[tuple[str, int], Any] = {}
        self._traded: set[str] = set()
        self._stream = session.stream
        self._now = now

    def add_trades(self, symbol: str) -> None:
        """Subscribe to the trades of a symbol. Those of the first snapshot are past and left out.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """

        self._traded.add(symbol)

        def collect(update: Update) -> None:
            # A strategy would take the trades of the snapshot for new ones.
            for item in update.items if update.kind != "snapshot" else ():
                price, quantity = float(item.price), float(item.quantity)
                self.items.append(Trade(symbol, unix_ms(item.time), str(item.side), price, quantity))

        self._subscribe(self._stream.trades(symbol), collect)

    def watch_trades(self, symbol: str) -> None:
        """Subscribe to the trades of a symbol, unless that was done before.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        if symbol not in self._traded:
            self.add_trades(symbol)

    def add_books(self, symbol: str) -> None:
        """Subscribe to the order book of a symbol.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """

        def collect(update: Update) -> None:
            sides = [_levels(levels) for levels in (update.live.bids(), update.live.asks())]
            self.items.append(BookSnapshot(symbol, self._now(), *sides))

        self._subscribe(self._stream.order_book(symbol), collect)

    def add_fills(self) -> None:
        """Subscribe to the fills of the account."""

        def note(update: object) -> None:
            self.filled = True

        self._subscribe(self._stream.fills(), note)

    def _subscribe(self, source: Live, callback: Callable[[Update], None]) -> None:
        source.on_update(callback)
        self.sources.append(source)

    def book(self, symbol: str, depth: int) -> BookSnapshot:
        """Return the present book of a symbol, with empty sides while it is not live.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        depth : int
            Levels of each side.
        """
        # Few depths, so that a strategy that asks for 3 and 5 levels shares one subscription.
        steps = next((steps for steps in DEPTHS if steps >= depth), depth)
        live = self._books.get((symbol, steps))
        if live is None:
            live = self._books[symbol, steps] = self._stream.order_book(symbol, depth=steps)
            self.sources.append(live)
        sides = [_levels(levels) for levels in (live.bids(depth), live.asks(depth))] if live.is_live else [(), ()]
        return BookSnapshot(symbol, self._now(), *sides)

    def raise_errors(self) -> None:
        """Raise the first error of a callback, which the feed's thread has only kept."""
        for source in self.sources:
            if source.errors:
                raise source.errors[0]


def _levels(levels: Iterable[tuple[Any, Any]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(price), float(quantity)) for price, quantity in levels)


class SessionContext(Context):
    """The context of paper and live runs.

    All calls treat the venue's refusals alike. Each is noted in the events as REJECTED, and `on_reject` is called for a
    new order. After a rate limit, or if an action is disabled, the run pauses (PAUSE): for 10 s it sends nothing that
    may open. It pauses until it is started again when it sees an order of its name that it did not send: another copy
    of it is running. A refused signature or account ends it (REFUSED).

    Parameters
    ----------
    state : RunState
        State of the run's account.
    strategy : Strategy
        Strategy that receives rejections.
    limits : Limits
        Limits that are checked before every order.
    feed : FeedQueue
        Trades and books of the live feed.

    Attributes
    ----------
    stopped_by : str
        Kind of the event that ends the run once `stopped` is set.
    """

    def __init__(self, state: RunState, strategy: Strategy, limits: Limits, feed: FeedQueue) -> None:
        super().__init__(state.symbols, state.interval_ms)
        self.timer_ms = strategy.timer_ms
        self._feed = feed
        self.mode = state.mode
        self.history = {symbol: BarHistory(symbol) for symbol in state.symbols}
        self._state = state
        self._session = state.session
        self._strategy = strategy
        self._limits = limits
        self._paused = 0, ""
        """Until when (Unix ms) nothing that may open is sent, and why."""
        self.stopped_by = "STOP"

    def place(self, order: Order | Bracket) -> OrderHandle:
        """Check the limits and send an order. The handle shows its state after the answer.

        Parameters
        ----------
        order : Order or Bracket
            Order or bracket.
        """
        state, journal = self._state, self._state.journal
        if str(order.symbol) in state.books:
            order = order.in_mode(self._is_hedged(str(order.symbol)))
        placed = OrderHandle(order)
        # Neither noted nor reported: during warm-up each bar may place an order.
        if why := self._blocked(order.entry):
            placed.state, placed.reason = "REJECTED", f"{why}. Nothing is sent"
            return placed
        try:
            check_order(self._limits, state, order.entry)
        # An unchecked order is not sent. Sending it would make the limits worthless in the moments that need them.
        except TransportError as failure:
            return self._reject(placed, f"not sent, its limits can't be checked: {failure}")
        if state.dry_run:
            failures = placed.request.failures(state.products[str(order.symbol)])
            placed.state = "REJECTED" if failures else "CANCELED"
            placed.reason = failures[0].message if failures else "dry run: not sent"
            text = order.describe() + (f": {placed.reason}" if failures else "")
            state.note("DRY_RUN", str(order.symbol), text)
            return placed
        if why := self._blocked(order.entry):  # the limits may have taken long to check
            placed.state, placed.reason = "REJECTED", f"{why}. Nothing is sent"
            return placed
        # Before the answer: an order whose outcome is unknown counts as well.
        state.sent_ms.append(state.now())
        if journal is not None:
            # Written down with its client id first. After a crash the run can then query its outcome.
            try:
                order = journal.record(order, state.now(), self._session._runtime.random_float)
                placed = OrderHandle(order)
            except OSError as error:
                if not state.books[str(order.symbol)].only_reduces(order.entry):
                    raise
                state.note("PROBLEM", str(order.symbol), f"an exit is sent without the journal: {error}")
        # Known before it is sent: the feed may report its fill before the answer arrives.
        state.placed.append(placed)
        try:
            sent = order
            if isinstance(order, Order) and state.books[str(order.symbol)].only_reduces(order):
                sent = replace(order, symbol=state.products[str(order.symbol)].code)  # the code suffices to leave
            receipt = self._session.place(sent)
            placed.cl_ord_id = receipt.cl_ord_id or placed.cl_ord_id
            placed.order_id = receipt.order_id or 0
            placed.state = "NEW" if receipt else "SENT"  # submitted: the next poll shows its outcome
            state.say_order(state.now(), str(order.symbol), f"{order.describe()}: {placed.state}")
        # Not a rejection: a strategy that sent again could hold twice the size.
        except OutcomeUnknown as unknown:
            # The order may be at the venue. Its client id lets the next poll find it.
            placed.cl_ord_id = getattr(unknown.receipt, "cl_ord_id", None) or placed.cl_ord_id
            placed.state, placed.reason = "UNKNOWN", str(unknown)
            state.note("UNKNOWN", str(order.symbol), f"{order.describe()}: {unknown}")
        except (InputError, ExchangeError, TransportError) as refused:
            return self._reject(placed, str(refused), refused)
        except LimitReached as refused:  # by the limits of the session: it ends the run, as one of the run's own does
            placed.state, placed.reason = "REJECTED", str(refused)
            raise
        self._refresh()
        return placed

    def _blocked(self, order: Order) -> str:
        """Return why an order is not sent now, "" for one that is."""
        state = self._state
        if not state.ending and (state.killed or state.is_told_to_end()):
            return "the run was told to end"
        if not state.trading:
            return "the run is warming up or has ended"
        if state.stale:
            return "the bar is older than max_bar_age"
        book = state.books.get(str(order.symbol))  # `check_order` names the symbols that there are
        why = state.another_copy or state.paused or (self._paused[1] if state.now() < self._paused[0] else "")
        return f"the run is paused: {why}" if why and book is not None and not book.only_reduces(order) else ""

    def _reject(self, placed: OrderHandle, reason: str, refused: Exception | None = None) -> OrderHandle:
        placed.state, placed.reason = "REJECTED", reason
        handled = self._refused(placed, reason)
        if not handled:
            self._state.note("REJECTED", str(placed.order.symbol), f"{placed.request.describe()}: {reason}")
        self._pause_or_end(refused)  # before `on_reject`, which may place another
        if not handled:
            self._strategy.on_reject(self, placed)
        return placed

    def _send(
        self,
        what: str,
        symbol: str,
        request: Callable[[], object],
        placed: OrderHandle | None = None,
        changed: OrderHandle | None = None,
        raised: tuple[type[Exception], ...] = (),
    ) -> bool:
        """Send what is no new order. Return whether the venue took it. Refusals are noted, those in `raised` raised."""
        taken = False
        try:
            if not self._state.dry_run:
                request()
                taken = True
        except raised:
            raise
        except (InputError, ExchangeError) as refused:
            if placed is not None:
                placed.reason = str(refused)
            if changed is None or not self._refused(changed, str(refused)):
                self._state.note("REJECTED", symbol, f"{what}: {refused}")
            self._pause_or_end(refused)
        except (TransportError, OutcomeUnknown) as failure:
            self._state.note("TRANSPORT", symbol, f"{what}: {failure}")
        if not self._state.dry_run:
            self._refresh()
        return taken

    def _pause_or_end(self, refused: Exception | None) -> None:
        # Orders that only reduce still pass: a run must be able to leave its positions at any time.
        if isinstance(refused, PAUSING):
            if self._state.now() >= self._paused[0]:
                self._state.note("PAUSE", "", f"{PAUSE_MS / 1000:g} s: {refused}")
            self._paused = self._state.now() + PAUSE_MS, str(refused)
        if isinstance(refused, ENDING):
            self.end("REFUSED", str(refused))

    def end(self, kind: str, reason: str) -> None:
        """End the run after the present callback, with an event. Nothing more is sent.

        Parameters
        ----------
        kind : str
            Kind of the event, such as "REFUSED".
        reason : str
            Text of the event.
        """
        if not self.stopped:
            self.stopped, self.stopped_by = reason, kind
        self._state.trading = False

    def _refresh(self) -> None:
        """Read orders and fills. After a failure the next poll does so.

        A strategy with a timer would spend most of its time here, so its next timer reads them once for all its orders.
        A failure here must not reach the strategy: the order was sent, and a strategy that caught it would send again.
        """
        # The next timer reads fills once for all orders of this callback.
        if self._feed.filled is not None:
            self._feed.filled = True
            return
        try:
            self._state.read_orders()
        except (TransportError, RateLimited) as failure:
            self._state.note("TRANSPORT", "", str(failure))

    def _note(self, kind: str, symbol: str, text: str) -> None:
        self._state.note(kind, symbol, text)

    def _keep(self) -> None:
        for order in self._clients:
            if order.bounds != ANY_PRICE:  # bars alone would show its trigger too late
                self._feed.watch_trades(order.symbol)
        if (journal := self._state.journal) is not None:
            journal.keep(self._state.now(), self._kept(self._state.day_begun))

    def cancel(self, placed: OrderHandle) -> None:
        """Cancel an order by its id, or by its client id while the venue's answer is not known.

        Parameters
        ----------
        placed : OrderHandle
            Handle of the order, as the context returned it.
        """
        # An order that was refused before it was sent has no client id, and nothing at the venue to cancel.
        if placed.done or not placed.cl_ord_id:
            return
        symbol = str(placed.order.symbol)
        order_id, client_id = (placed.order_id, None) if placed.order_id else (None, placed.cl_ord_id)
        cancel = partial(self._session.cancel, order_id, symbol=symbol, cl_ord_id=client_id)
        placed.asked |= self._send(f"cancelling {placed.order.describe()}", symbol, cancel, placed)

    def _replace(self, placed: OrderHandle, changed: Order) -> None:
        if not placed.cl_ord_id:
            return

        def request() -> None:
            if why := self._blocked(changed):
                raise InputError(f"{why}. Nothing is sent", field="order")
            check_order(self._limits, self._state, changed)
            self._state.sent_ms.append(self._state.now())
            self._session.replace(None, changed, cl_ord_id=placed.cl_ord_id)

        # The handle changes only after the venue took the change. After a refusal the order is unchanged.
        if self._send(f"replacing by {changed.describe()}", str(changed.symbol), request, changed=placed):
            placed.order = changed
            self._follow_fills()

    def cancel_all(self, symbol: str | None = None) -> None:
        """Cancel all open orders of this run.

        Parameters
        ----------
        symbol : str, optional
            Product whose orders are cancelled (default: all of the run's).
        """
        self._cancel_waiting(symbol)
        # Symbol by symbol: other orders on the account are not this run's.
        for name in self.symbols if symbol is None else (symbol,):
            self._send("cancelling all", name, partial(self._state.cancel_open, name))

    def set_leverage(self, symbol: str, leverage: Amount) -> None:
        """Set the leverage of a product at the venue.

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
        """
        amount = decimal_text(leverage, "leverage")
        send = partial(self._session.exchange.set_leverage, symbol, amount)
        self._send(f"leverage {amount}", symbol, send, raised=(InputError, ActionRejected))

    def product(self, symbol: str) -> Product:
        return self._state.products.get(symbol) or self._session.product(symbol)

    def position(self, symbol: str) -> float:
        """Return the signed position, base units, from all fills known so far.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        return self._state.books[symbol].net * float(self.product(symbol).step_size)

    def legs(self, symbol: str) -> tuple[float, float]:
        """Return both legs of the position, base units, from all fills known so far.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        book, step = self._state.books[symbol], float(self.product(symbol).step_size)
        return book.longs * step, -book.shorts * step

    def _is_hedged(self, symbol: str) -> bool:
        state = self._state
        if state.books[symbol].hedge is None and state.placed:
            state.read_mode()  # the venue shows it from the first order on
        return bool(state.books[symbol].hedge)

    def _only_shrinks(self, symbol: str, steps: int) -> bool:
        book, own = self._state.witnesses.book, self._state.books[symbol]
        sign = -1 if steps > 0 else 1
        if own.hedge is not False or own.net * sign < abs(steps):
            return False
        # A fill alone, which neither its order nor the positions show, is no reason to sell.
        if book.difference(symbol) != (0, 0) and not book.is_proven(symbol):
            return False
        # Where other runs stand against this one, the account holds less, and an order that only reduces is refused.
        # Where a hand has closed it, an order that could open must not be sent.
        return book.account[symbol].net * sign >= abs(steps) or book.missing(symbol) != (0, 0)

    def _doubt_of_price(self, symbol: str, size: Decimal) -> str:
        held = self.position(symbol)
        if abs(size) <= abs(held) and float(size) * held >= 0:
            return ""  # nothing stands between a run and a smaller position
        seen = {"bar": Decimal(repr(self.price(symbol)))}
        side = side_of(1 if size > held else -1)
        checks = self._session._checks
        _, failures = self._session._driver.run(checks.prices(self.product(symbol), side, abs(size), **seen))
        return failures[0].message if failures else ""

    def _doubtful(self, symbol: str) -> int:
        longs, shorts = self._state.witnesses.book.difference(symbol)
        return longs - shorts

    def underway(self, symbol: str) -> float:
        """Return the signed quantity of market orders that are neither filled nor in another final state.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        total = 0.0
        for placed in self._state.placed:
            order = placed.order
            # An order whose outcome is unknown counts as underway, so that `target` does not send it twice.
            if order.symbol == symbol and order.is_market and order.trigger_price is None and not placed.done:
                total += (float(order.quantity) - placed.filled) * sign_of(order.side)
        return total

    def price(self, symbol: str) -> float:
        return self._state.prices.get(symbol, NAN)

    @property
    def equity(self) -> float:
        """Equity of the last wallet query, USDC."""
        return self._state.equity

    @property
    def balance(self) -> float:
        """Balance of the last wallet query, USDC."""
        return self._state.balance

    def positions(self) -> pd.DataFrame:
        """Return the open positions, by a query."""
        table = self._session.positions()
        sign = table["side"].map({"LONG": 1.0, "SHORT": -1.0}).astype("float64")
        columns = {
            "quantity": table["size"] * sign,
            "entry_price": table["entry_price"],
            "price": table["mark_price"],
            "unrealized": table["unrealized_pnl"],
            "notional": table["notional"].abs() * sign,
        }
        shown = pd.DataFrame(columns)
        return shown[shown.index.isin(self.symbols)]

    def orders(self) -> list[OrderHandle]:
        return [placed for placed in self._state.placed if not placed.done]

    def book(self, symbol: str | None = None, depth: int = 1) -> BookSnapshot:
        """Return the book of the live feed.

        Parameters
        ----------
        symbol : str, optional
            Product symbol (default: the first of the run).
        depth : int, optional
            Levels of each side (default: 1).
        """
        return self._feed.book(symbol or self.symbols[0], depth)

    def _history(self, symbol: str) -> BarHistory:
        return self.history[symbol]

    def funding(self, symbol: str) -> FundingRates:
        """Return the venue's funding rates, by a query.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        row: Any = self._session.funding_rates().loc[symbol]
        rates = float(row["last_funding_rate"]), float(row["funding_rate"])
        return FundingRates(*rates, unix_ms(row["next_funding_time"]))

    @property
    def fees(self) -> float:
        """Fees of the fills of this run so far, USDC."""
        return self._state.fees

    @property
    def margin_ratio(self) -> float:
        """Maintenance margin of the open positions over the wallet's equity, by a query of the positions.

        NaN where the venue does not say which margin tiers a position has.
        """
        needed = 0.0
        for row in rows_of(self._session.positions(index=None)):
            tiers = self._session.product(str(row.symbol)).tiers
            needed += float(maintenance_margin(str(abs(row.notional)), tiers)) if tiers else NAN
        return ratio_of(needed, self._state.equity)

    def liquidation_price(self, symbol: str) -> float:
        """Return the liquidation price that the venue shows, by a query of the positions.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        held = self._session.positions()
        prices = held.loc[held.index == symbol, "liquidation_price"].dropna()
        return float(prices.iloc[0]) if len(prices) else NAN
