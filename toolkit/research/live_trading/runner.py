"""One run of a strategy on a session.

It polls: complete bars, fills, orders, funding and the wallet come from queries, so that a lost connection
costs time and nothing else; trades and books come from the live feed, if the strategy wants them.
"""

from __future__ import annotations

import threading
import time as clock_time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...errors import ExchangeError, InputError, LimitReached, OutcomeUnknown, RateLimited, ToolkitError, TransportError
from ...orders import Order
from ...products import Product
from ..analysis.results import EQUITY, EVENTS, FILLS, FUNDING, ORDERS, SHOWN_ELSEWHERE, TRANSFERS, Results, frame
from ..strategy import Bar, BookSnapshot, Fill, OrderHandle, Strategy, StrategyLike, Trade, as_strategy
from ..strategy import overrides as does
from .adapter import (
    SessionContext,
    fill_of,
    funding_row,
    order_rows,
    payment_of,
    records_of,
    rows_of,
    span_ms,
    stamp,
    utc,
    whole,
)
from .limits import Limits, check_order, check_run

if TYPE_CHECKING:
    from ...session import Session

GRACE_MS = 300
"""How long after its end a bar is asked for, so that its last trade is in it."""


class Runner:
    """One run of a strategy on a session. Made by `live` and `paper`.

    Attributes: `ctx`, `strategy` (the running copy), `notes` (what happened, as in `Results.events`), `still_open`
    (what was left open at the end, in words), `error` (what a run in the background ended with).
    """

    mode = "live"

    def __init__(
        self,
        session: Session,
        strategy: StrategyLike,
        symbols: Sequence[str] | None,
        interval: str | pd.Timedelta,
        limits: Limits,
        *,
        poll: float = 1.0,
        step: str | pd.Timedelta | None = None,
        warm_up: int = 0,
        dry_run: bool = False,
    ) -> None:
        self.session = session
        self.strategy: Strategy = as_strategy(strategy)
        named = symbols or self.strategy.symbols or ("BTCUSDC",)
        self.symbols = (named,) if isinstance(named, str) else tuple(dict.fromkeys(named))
        self.interval = span_ms(interval)
        self.step = span_ms(step) if step is not None else self.interval
        self.limits = limits
        self.poll = poll
        self.warm_up = warm_up
        self.dry_run = dry_run
        self.notes: list[tuple[int, str, str, str]] = []
        self.still_open: list[str] = []
        self.error: BaseException | None = None
        self.products: dict[str, Product] = {symbol: session.product(symbol) for symbol in self.symbols}
        self.sizes = dict.fromkeys(self.symbols, 0)
        """Signed position of each symbol, steps."""
        self.wallet = (float("nan"), float("nan"))
        """(equity, balance) when last asked."""
        self.placed: list[OrderHandle] = []
        self.sent: deque[int] = deque()
        """When orders were sent in the last minute, ms."""
        self.trading = False
        self.ctx = SessionContext(self)
        self._manual = session.venue is not None and not session.venue.clock.runs
        self._kill = threading.Event()
        self._close = False
        self._thread: threading.Thread | None = None
        self._results: Results | None = None
        self._opened: dict[str, int] = {}
        self._seen_fills: set[str] = set()
        self._seen_funding: set[str] = set()
        self._before: dict[str, set[str]] = {}
        """Ids of fills, payments, ledger entries and ended orders of the first millisecond that came before the run."""
        self._fresh: deque[Fill] = deque()
        self._known: deque[tuple[int, int, Bar]] = deque()
        """Bars that were read and not handed over yet: (closing time, number of the symbol, bar)."""
        self._shown: dict[str, int] = {}
        """When the last bar of each symbol that the strategy can see opened."""
        self._feed: deque[Trade | BookSnapshot] = deque()
        self._lives: list[Any] = []
        self._curve: list[tuple[int, float, float, dict[str, int], dict[str, float]]] = []
        self._answered = 0
        self._warned = ""
        self._funding_due = 0

    # running

    def now(self) -> int:
        """Return the venue's time where it is in this process, else this machine's, Unix ms."""
        venue = self.session.venue
        return venue.now_ms() if venue is not None else clock_time.time_ns() // 1_000_000

    def run(self, duration: str | pd.Timedelta | None, *, close_at_end: bool = False) -> Results:
        """Run until the end and return the Results; see `live`."""
        self._close = close_at_end
        reason, kind = "the time is over", "END"
        try:
            self._begin()
            until = None if duration is None else self._started + span_ms(duration)
            while not self._kill.is_set():
                if self.ctx.stopped:
                    reason, kind = self.ctx.stopped, "STOP"
                    break
                if until is not None and self.now() >= until:
                    break
                self._wait(until)
                self._look()
            else:
                reason, kind = "the kill switch was pulled", "KILL"
        except LimitReached as limit:
            reason, kind = str(limit), "LIMIT"
        except KeyboardInterrupt:
            reason, kind = "interrupted", "INTERRUPT"
        except BaseException as failure:
            failure.add_note(f"in {self.strategy.name} at {pd.Timestamp(self.now(), unit='ms', tz='UTC')}")
            self._end("ERROR", f"{type(failure).__name__}: {failure}")
            raise
        self._results = self._end(kind, reason)
        return self._results

    def start(self, duration: str | pd.Timedelta | None, *, close_at_end: bool = False) -> None:
        """Run in a thread of its own."""

        def work() -> None:
            try:
                self.run(duration, close_at_end=close_at_end)
            except BaseException as failure:
                self.error = failure

        self._thread = threading.Thread(target=work, name=f"toolkit-{self.strategy.name}", daemon=True)
        self._thread.start()

    def kill(self, *, close: bool | None = None, timeout: float = 30.0) -> None:
        """Stop the run: cancel its orders and, with `close`, its positions. Returns when that is done."""
        if close is not None:
            self._close = close
        self._kill.set()
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                raise LimitReached(f"the run did not end within {timeout:g} s", limit="timeout")

    def results(self) -> Results:
        """Return the Results of a run that has ended. Raises what it ended with, or ToolkitError while it runs."""
        if self.error is not None:
            raise self.error
        if self._results is None:
            raise ToolkitError("the run has not ended; kill() it, or wait")
        return self._results

    def _begin(self) -> None:
        self._started = self._answered = self.ctx.now = self.now()
        self._read_positions()
        self._read_wallet()
        self.first_equity = self.wallet[0]
        edge = self._started // self.interval * self.interval
        self._opened = dict.fromkeys(self.symbols, edge)
        self._open_feed()
        if self.warm_up:
            self.strategy.on_start(self.ctx)
            self._opened = dict.fromkeys(self.symbols, edge - self.warm_up * self.interval)
            self._bars(edge)
            self._opened = dict.fromkeys(self.symbols, edge)
            self.ctx.now = self._started
            self.trading = True
        else:
            self.trading = True
            self.strategy.on_start(self.ctx)
        self._sample(self._started)

    def _read_positions(self) -> None:
        """Read the positions, and which fills, payments and ended orders of this millisecond were there before."""
        begun = utc(self._started)
        known, seen = None, self._ids(self.session.fills(start=begun, progress=False))
        while known != seen:  # a fill between the two questions would be in the positions or not
            known = seen
            held = self.session.positions()
            seen = self._ids(self.session.fills(start=begun, progress=False))
        for row in rows_of(held):
            if row.symbol in self.sizes:
                steps = round(float(row.size) / float(self.products[str(row.symbol)].step_size))
                self.sizes[str(row.symbol)] += steps if row.side == "LONG" else -steps
        self._seen_fills |= seen
        self._seen_funding |= self._ids(self.session.funding_payments(start=begun, progress=False))
        orders = self.session.orders(start=begun, progress=False)
        self._before = {
            "fills": set(self._seen_fills),
            "funding": set(self._seen_funding),
            "orders": self._ids(orders[orders["status"].isin(["FILLED", "CANCELED", "REJECTED"])]),
            "ledger": self._ids(self.session.ledger(start=begun, progress=False)),
        }

    @staticmethod
    def _ids(table: pd.DataFrame) -> set[str]:
        return set(table["id"].astype(str))

    def _wait(self, until: int | None) -> None:
        """Let time pass to the next look."""
        if not self._manual:
            self._kill.wait(self.poll)
            return
        venue = self.session.venue
        assert venue is not None
        target = self.now() // self.step * self.step + self.step
        venue.advance(until=min(target, until) if until is not None else target)

    def _look(self) -> None:
        """Ask for everything that is new and tell the strategy, in the order in which it happened."""
        try:
            self.ctx.now = self.now()
            self._deliver_feed()
            self._read_orders()
            self._deliver_fills()
            self._read_wallet()
            if self._funding_due <= self.now():
                self._funding()
                self._funding_due = self._next_funding()
            self._bars(self.now() - (0 if self._manual else GRACE_MS))
            self._answered, self._warned = self.now(), ""
        except (TransportError, RateLimited) as failure:
            self._note("TRANSPORT", "", str(failure))
        check_run(self)

    # what is new

    def _bars(self, until: int) -> None:
        """Hand over every bar that is complete at `until`, by time and symbol; each sees what had closed by then."""
        known: list[tuple[int, int, Bar]] = []
        opened = dict(self._opened)
        for number, symbol in enumerate(self.symbols):
            start = opened[symbol]
            end = until // self.interval * self.interval
            if end <= start:
                continue
            length = pd.Timedelta(self.interval, unit="ms")
            table = self.session.klines(symbol, length, utc(start), utc(end), closed=True, fill=True, progress=False)
            for row in rows_of(table):
                time = stamp(row.Index)
                if start <= time < end and row.close == row.close:
                    values = (float(value) for value in (row.open, row.high, row.low, row.close, row.volume))
                    bar = Bar(symbol, time, time + self.interval, *values)
                    known.append((bar.closed, number, bar))
                    opened[symbol] = bar.closed
        self._opened = opened
        self._known.extend(sorted(known, key=lambda item: item[:2]))
        self._deliver_bars()

    def _deliver_bars(self) -> None:
        """Hand over the bars that were read; those that an error kept back come with the next look."""
        shown = 0
        while self._known:
            closed = self._known[0][0]
            if closed != shown:
                shown = closed
                for when, _, bar in self._known:
                    if when == closed and bar.time > self._shown.get(bar.symbol, -1):
                        self._shown[bar.symbol] = bar.time
                        self.ctx.history[bar.symbol].append(bar)
                        self.ctx.prices[bar.symbol] = bar.close
            _, _, bar = self._known.popleft()
            self.ctx.now = max(self.ctx.now, closed) if self.trading else closed
            self.strategy.on_bar(self.ctx, bar)
            if self.trading:
                self._sample(closed)
            if self.ctx.stopped:
                self._known.clear()

    def _read_orders(self) -> None:
        """Bring the orders that have not ended, the fills and the positions up to date."""
        if any(not placed.done for placed in self.placed):
            table = self.session.orders(start=utc(self._started), progress=False)
            states = {whole(row.client_order_id): row for row in rows_of(table)}
            for placed in self.placed:
                row = states.get(placed.cl_ord_id)
                if row is not None and not placed.done:
                    placed.order_id, placed.state = int(row.order_id), str(row.status)
                    placed.filled = float(row.filled)
        for row in rows_of(self.session.fills(start=utc(self._started), progress=False)):
            if str(row.id) in self._seen_fills:
                continue
            self._seen_fills.add(str(row.id))
            if row.symbol not in self.sizes:
                continue
            steps = round(float(row.quantity) / float(self.products[str(row.symbol)].step_size))
            buys = str(row.side).startswith("BUY")
            self.sizes[str(row.symbol)] += steps if buys else -steps
            self._fresh.append(fill_of(row, buys))

    def _deliver_fills(self) -> None:
        while self._fresh:
            self.strategy.on_fill(self.ctx, self._fresh.popleft())

    def _next_funding(self) -> int:
        """Return the first moment at which a settlement after the last look can be seen."""
        every = [product.funding_interval * 1000 for product in self.products.values()]
        return min(self._answered // length * length + length for length in every)

    def _funding(self) -> None:
        for row in rows_of(self.session.funding_payments(start=utc(self._started), progress=False)):
            if str(row.id) in self._seen_funding or row.symbol not in self.sizes:
                continue
            self._seen_funding.add(str(row.id))
            self.strategy.on_funding(self.ctx, payment_of(row, self.ctx.prices.get(str(row.symbol), float("nan"))))

    def _read_wallet(self) -> None:
        table = self.session.wallet_balances()
        if len(table):
            self.wallet = float(table["equity"].iloc[0]), float(table["balance"].iloc[0])

    def _open_feed(self) -> None:
        for symbol in self.symbols:
            if does(self.strategy, "on_trade"):
                self._listen(self.session.stream.trades(symbol), self._trades_of(symbol))
            if does(self.strategy, "on_book"):
                self._listen(self.session.stream.order_book(symbol), self._book_of(symbol))

    def _listen(self, thing: Any, callback: Callable[[Any], None]) -> None:
        thing.on_update(callback)
        self._lives.append(thing)

    def _trades_of(self, symbol: str) -> Callable[[Any], None]:
        def keep(update: Any) -> None:
            if update.kind != "snapshot":
                for item in update.items:
                    moment = int(item.time.timestamp() * 1000)
                    self._feed.append(Trade(symbol, moment, str(item.side), float(item.price), float(item.quantity)))

        return keep

    def _book_of(self, symbol: str) -> Callable[[Any], None]:
        def keep(update: Any) -> None:
            book = update.live
            bids = tuple((float(price), float(quantity)) for price, quantity in book.bids())
            asks = tuple((float(price), float(quantity)) for price, quantity in book.asks())
            self._feed.append(BookSnapshot(symbol, self.now(), bids, asks))

        return keep

    def _deliver_feed(self) -> None:
        for thing in self._lives:
            if thing.errors:
                raise thing.errors[0]
        while self._feed:
            item = self._feed.popleft()
            if isinstance(item, Trade):
                self.ctx.prices[item.symbol] = item.price
                self.strategy.on_trade(self.ctx, item)
            else:
                self.strategy.on_book(self.ctx, item)
            if self.ctx.stopped:
                self._feed.clear()

    # orders and limits

    def send(self, order: Order) -> OrderHandle:
        """Check the limits, send an order, and return what became of it."""
        placed = OrderHandle(order, order.cl_ord_id or 0)
        if not self.trading:
            placed.state, placed.reason = "REJECTED", "the run is warming up or has ended; nothing is sent"
            return placed
        try:
            check_order(self, order)
        except TransportError as failure:
            return self._refused(placed, f"not sent, its limits can't be held: {failure}")
        if self.dry_run:
            failures = order.failures(self.products[str(order.symbol)])
            placed.state = "REJECTED" if failures else "CANCELED"
            placed.reason = failures[0].message if failures else "dry run: not sent"
            self._note("DRY_RUN", str(order.symbol), order.describe() + (f": {placed.reason}" if failures else ""))
            return placed
        self.sent.append(self.now())
        self.placed.append(placed)
        try:
            receipt = self.session.place(order)
            placed.cl_ord_id = receipt.cl_ord_id or placed.cl_ord_id
            placed.order_id = receipt.order_id or 0
            placed.state = "NEW"
        except OutcomeUnknown as unknown:
            placed.cl_ord_id = getattr(unknown.receipt, "cl_ord_id", None) or placed.cl_ord_id
            placed.state, placed.reason = "UNKNOWN", str(unknown)
            self._note("UNKNOWN", str(order.symbol), f"{order.describe()}: {unknown}")
        except (InputError, ExchangeError, TransportError) as refused:
            return self._refused(placed, str(refused))
        self.refresh()
        return placed

    def _refused(self, placed: OrderHandle, reason: str) -> OrderHandle:
        placed.state, placed.reason = "REJECTED", reason
        self._note("REJECTED", str(placed.order.symbol), f"{placed.order.describe()}: {reason}")
        self.strategy.on_reject(self.ctx, placed)
        return placed

    def refresh(self) -> None:
        """Read what became of the orders; when there is no answer, the next look brings it.

        So a strategy always hears what became of what it sent, and does not send it twice.
        """
        try:
            self._read_orders()
        except (TransportError, RateLimited) as failure:
            self._note("TRANSPORT", "", str(failure))

    def undecided(self, symbol: str, failure: ToolkitError) -> None:
        """Note that a cancel had no answer."""
        self._note("TRANSPORT", symbol, f"cancelling: {failure}")
        self.refresh()

    # the end

    def _end(self, kind: str, reason: str) -> Results:
        """Cancel, perhaps close, say what is open, and gather the results."""
        self._note(kind, "", reason)
        self.trading = self.trading and kind in ("END", "STOP")
        for thing in self._lives:
            self._attempt("closing a feed", thing.close)
        failed = self._attempt("on_stop", lambda: self.strategy.on_stop(self.ctx))
        self.trading = False
        if not self.dry_run:
            for symbol in self.symbols:
                self._attempt(f"cancelling in {symbol}", lambda symbol=symbol: self.session.cancel_all(symbol))  # type: ignore[misc]
            if self._close:
                self._attempt("closing", self._close_positions)
        self._attempt("reading orders", self._read_orders)
        self._attempt("reading the wallet", self._read_wallet)
        self._sample(self.now())
        self._attempt("asking what is open", self._ask_what_is_open)
        if self.still_open or kind not in ("END", "STOP"):
            open_text = "; ".join(self.still_open) or "nothing is open"
            print(f"{self.strategy.name} ended ({reason}). Still open: {open_text}")
        if failed is not None and kind != "ERROR" and not isinstance(failed, ToolkitError | KeyboardInterrupt):
            failed.add_note(f"in on_stop of {self.strategy.name}, after its open orders were cancelled")
            raise failed
        return self._gather()

    def _attempt(self, what: str, act: Callable[[], Any]) -> BaseException | None:
        """Do one step of the end; what goes wrong is noted and returned, and the others still happen."""
        try:
            act()
        except (Exception, KeyboardInterrupt, SystemExit) as failure:
            self._note("PROBLEM", "", f"{what}: {type(failure).__name__}: {failure}")
            if what != "on_stop":
                self.still_open.append(f"unknown, because {what} failed")
            return failure
        return None

    def _close_positions(self) -> None:
        held = self.session.positions()
        for symbol in self.symbols:
            if (held["symbol"] == symbol).any():
                self.session.close_position(symbol)

    def _ask_what_is_open(self) -> None:
        for row in rows_of(self.session.positions()):
            if row.symbol in self.sizes:
                self.still_open.append(f"{row.side} {row.size:g} {row.symbol}")
        for row in rows_of(self.session.orders(open=True)):
            if row.symbol in self.sizes:
                self.still_open.append(f"order {row.order_id} {row.side} {row.remaining:g} {row.symbol}")
        if self.still_open:
            self._note("OPEN", "", "; ".join(self.still_open))

    def _note(self, kind: str, symbol: str, text: str) -> None:
        if kind == "TRANSPORT" and text == self._warned:
            return
        self._warned = text if kind == "TRANSPORT" else ""
        self.notes.append((self.now(), kind, symbol, text))

    def _sample(self, moment: int) -> None:
        self._curve.append((moment, *self.wallet, dict(self.sizes), dict(self.ctx.prices)))

    def _gather(self) -> Results:
        """Return the Results from what the venue says now."""
        begun = utc(self._started)
        by_time = {sample[0]: sample for sample in self._curve}
        index = pd.DatetimeIndex(pd.to_datetime(list(by_time), unit="ms", utc=True).as_unit("ms"), name="time")
        rows = list(by_time.values())
        equity = pd.DataFrame(
            [(value, cash, value - cash) for _, value, cash, _, _ in rows], index=index, columns=list(EQUITY)
        )
        sizes = pd.DataFrame([held for _, _, _, held, _ in rows], index=index, columns=list(self.symbols))
        steps = [float(product.step_size) for product in self.products.values()]
        marks = pd.DataFrame([prices for *_, prices in rows], index=index, columns=list(self.symbols))
        fills = self._own("fills", self.session.fills(start=begun, progress=False))
        orders = self._own("orders", self.session.orders(start=begun, progress=False))
        paid = self._own("funding", self.session.funding_payments(start=begun, progress=False))
        entries = self._own("ledger", self.session.ledger(start=begun, progress=False))
        moved = entries[~entries["kind"].isin(SHOWN_ELSEWHERE)].assign(symbol=lambda table: table["symbol"].fillna(""))
        reasons = {placed.order_id: placed.reason for placed in self.placed}
        return Results(
            self.strategy.name,
            equity.astype(EQUITY),
            sizes * steps,
            marks.astype("float64").ffill().bfill(),
            fills=frame({name: fills[name] for name in FILLS}, FILLS),
            orders=frame(order_rows(orders, reasons), ORDERS),
            funding=frame([funding_row(row) for row in rows_of(paid)], FUNDING),
            transfers=frame({name: moved[name] for name in TRANSFERS}, TRANSFERS),
            events=frame(self.notes, EVENTS),
            records=records_of(self.ctx),
            params=self.strategy.params,
            settings={"mode": self.mode, "environment": self.session.environment.name, "dry_run": self.dry_run},
        )

    def _own(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that did not come before the run."""
        return table[~table["id"].astype(str).isin(self._before.get(name, set()))]
