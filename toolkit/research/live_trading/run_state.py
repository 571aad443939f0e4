"""The state of a run's account: positions, orders and wallet as last read from the session, and its Results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pandas as pd
from msgspec import structs

from ...client.account.account_book import AccountBook, Legs, Part, run_of
from ...client.account.own_ledger import OwnLedger, Traded
from ...client.account.witnesses import Witnesses
from ...client.reads.reading import known, whole
from ...errors import ActionRejected, BadAnswer, ExchangeError, InputError, OutcomeUnknown, TransportError
from ...limits import Book
from ...products import Product
from ...protocol.reads.door import R, admit, typed_rows
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info.accounts import WALLET_BALANCES
from ...protocol.reads.info.candles import KLINES, KLINES_BEFORE
from ...protocol.reads.info.orders import ORDER_STATES, OrderState
from ...protocol.reads.info.positions import POSITIONS
from ...returns import CAPITAL_FLOWS
from ...sides import Leg, sign_of
from ..account_data import Fill, FundingFee, OrderHandle
from ..analysis import results as tables
from .run_journal import OwnFill, RunJournal

if TYPE_CHECKING:
    from ...plain_session import Session

NAN = float("nan")
DAY_MS = 86_400_000
LATE_MS = 60_000
"""Rows that are shown this much later than others of their time are still read."""
MOST_CANDLES, MOST_BEFORE = 100, 1_000
"""Candles that are read as rows, in one request, and those that are looked for in the other list."""
FINAL_STATES = ("FILLED", "CANCELED", "REJECTED")
SAMPLE_MS = 60_000
"""The points of the equity curve that a journal keeps are this far apart at least."""
AGREES = "what the venue shows agrees again"
ByHand = Literal["pause", "adopt", "continue", "end"]
"""What a run does when the account holds less than the run, because of orders that no run placed."""
TRIES = 5
"""How often something is read whose answer is broken."""
T = TypeVar("T")
FORCED = ("LIQUIDATION", "ADL")
"""Types of fills that no order of the account asked for."""


def rows_of(table: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a frame, with the columns as attributes.

    Parameters
    ----------
    table : DataFrame
        Frame of any columns.
    """
    return iter(table.itertuples())


def insist(read: Callable[[], T]) -> T:
    """Read something, again while the answer is broken, as a run can neither begin nor end without it.

    Parameters
    ----------
    read : callable
        Function that reads. It may be called several times.

    Raises
    ------
    TransportError
        After several broken answers, and at once where there is none.
    """
    for _ in range(TRIES - 1):
        with suppress(BadAnswer):
            return read()
    return read()


def utc(time_ms: int) -> pd.Timestamp:
    """Return Unix ms as a UTC time.

    Parameters
    ----------
    time_ms : int
        Unix ms.
    """
    return pd.Timestamp(time_ms, unit="ms", tz="UTC")


def unix_ms(time: pd.Timestamp | str) -> int:
    """Return a time as Unix ms.

    Parameters
    ----------
    time : Timestamp or str
        Time that pandas can read.
    """
    return int(pd.Timestamp(time).timestamp() * 1000)


class RunState:
    """The account of a run, updated by queries. Amounts are in USDC, times in Unix ms.

    Parameters
    ----------
    session : Session
        Session of the account.
    symbols : sequence of str
        Products of the run.
    interval_ms : int
        Length of a bar, ms.
    mode : str
        "paper" or "live".
    dry_run : bool
        Whether no order is sent.
    journal : RunJournal, optional
        Journal of a run with a name (default: none).

    Attributes
    ----------
    trading : bool
        Whether orders may be sent: not while warming up, nor after the end.
    paused : str
        Why nothing may be opened now: what the venue shows disagrees, or positions were closed by hand. "" if not.
    stale : bool
        Whether the bar that is being delivered is too old to trade on.
    killed : bool
        Whether the run was told to end: nothing that a callback places is sent.
    ending : bool
        Whether it has come to its end, and cancels and closes.
    products : dict of str to Product
        Products by symbol.
    witnesses : Witnesses
        Positions of the run and its account, and whether what the venue shows of them agrees.
    prices : dict of str to float
        Last known price by symbol, USDC.
    equity : float
        Equity of the wallet, USDC.
    balance : float
        Balance of the wallet, USDC.
    begun : bool
        Whether `begin` has read everything.
    first_equity : float
        Equity at the start, USDC.
    deposited : float
        Deposits less withdrawals since the start, USDC.
    fees : float
        Fees of the fills of the run, USDC.
    shared : bool
        Whether other orders than the run's have traded, or held a position, in its products.
    taken_up : dict of str to int
        Positions of a continued run as its journal has them, by symbol, steps.
    moved : dict of str to int
        Transfers: id → time of the first sample whose equity has it, 0 before that.
    placed : list of OrderHandle
        Handles of all orders of the run.
    sent_ms : deque of int
        When the orders of the last minute were sent, Unix ms.
    new_cancels : deque of OrderHandle
        Orders whose cancel the strategy has not received yet.
    new_fills : deque of (OwnFill, Fill)
        Fills that the strategy has not received yet.
    next_open_ms : dict of str to int
        Opening time of the first bar not read yet, by symbol, Unix ms.
    started_ms : int
        Start of the run, Unix ms.
    answered_ms : int
        The last poll that the venue answered in full, Unix ms.
    notes : list of tuple
        (Unix ms, kind, symbol, text), as in `Results.events`.
    is_told_to_end : callable
        Whether another process wants the run to end, which its next poll takes.
    say : callable
        What is called with each of them, too.
    say_order : callable
        What is called with time, symbol and text of each order that was sent.
    samples : list of tuple
        (Unix ms, equity, balance, positions in steps, prices) over the run.
    another_copy : str
        Why the run is paused since it saw an order of another copy of it, "" before.
    taken : dict of str to Fill
        Fills of the run that were read, by id.
    paid : list of FundingFee
        Funding payments that were read.
    earlier : dict of str to set of str
        Ids, by table, of the fills, payments, ledger entries and ended orders of the run's first millisecond that came
        before it.
    """

    def __init__(
        self,
        session: Session,
        symbols: Sequence[str],
        interval_ms: int,
        *,
        mode: str,
        dry_run: bool,
        journal: RunJournal | None = None,
    ) -> None:
        self.session = session
        self.symbols = tuple(symbols)
        self.interval_ms = interval_ms
        self.mode = mode
        self.dry_run = dry_run
        self.journal = journal
        self.trading = self.stale = self.killed = self.ending = False
        self.paused = ""
        self.products: dict[str, Product] = {symbol: session.product(symbol) for symbol in symbols}
        self._by_code = {str(product.code): symbol for symbol, product in self.products.items()}
        self.witnesses = Witnesses(AccountBook({name: one.step_size for name, one in self.products.items()}))
        self.prices: dict[str, float] = {}
        self.equity = self.balance = self.first_equity = NAN
        self.deposited = self._traded = 0.0
        self.moved: dict[str, int] = {}
        self._outside = NAN
        """Balance less what fills and funding explain: a change of it may be a transfer."""
        self._unmoved = NAN
        """The same when all until then was read, less the transfers. `_flows` are all transfers that were read."""
        self._flows = self._assigned = self._unrealized = self._notional = 0.0
        self.taken_up: dict[str, int] = {}
        self.placed: list[OrderHandle] = []
        self.sent_ms: deque[int] = deque()
        self.new_fills: deque[tuple[OwnFill, Fill]] = deque()
        self.new_cancels: deque[OrderHandle] = deque()
        self.next_open_ms: dict[str, int] = {}
        self.started_ms = self.answered_ms = 0
        self.begun = False
        self.notes: list[tuple[int, str, str, str]] = []
        self._marks: dict[str, float] = {}
        self.own = OwnLedger()
        self.account_equity = NAN
        """Equity of the account when this start began, beside that of a run with a name."""
        self.at_start: dict[str, tuple[float, float]] = {}
        self.samples: list[tuple[int, float, float, dict[str, int], dict[str, float]]] = []
        self.is_told_to_end: Callable[[], bool] = lambda: False
        self.say: Callable[[int, str, str, str], object] = lambda *_: None
        self.say_order: Callable[[int, str, str], object] = lambda *_: None
        self.earlier: dict[str, set[str]] = {}
        self.taken: dict[str, Fill] = {}
        self.paid: list[FundingFee] = []
        self.fees = 0.0
        self.shared = False
        self._before = set[str]()
        self._netted: set[str] = set()
        self._hidden: dict[str, str] = {}
        """Product → candle that one list leaves out and the other has, in words."""
        self._seen: dict[str, dict[str, int]] = {}
        """Rows that were read and that another read may return again: table → id → time."""
        self._newest_ms = dict.fromkeys(("orders", "fills", "funding_payments", "ledger"), 0)
        """Times of the last order change, fill and payment that were read."""
        self._read_from_ms = 0
        """Start of the run that this one continues, 0 for none."""
        self._last_transport_note = ""
        self.another_copy = ""
        self._kept_ms = -SAMPLE_MS
        """Time of the last point of the equity curve that the journal has."""
        self._day = -1, NAN, NAN
        """Number of the day, the equity with which it began, and the last one known."""

    @property
    def first_ms(self) -> int:
        """When the run was first started, Unix ms."""
        return self._read_from_ms or self.started_ms

    @property
    def books(self) -> dict[str, Book]:
        """The run's position by symbol, in hedge mode both legs, as far as any witness proves it."""
        return self.witnesses.book.own

    def now(self) -> int:
        """Return the venue's time in Unix ms, if the session knows it."""
        return self.session.clock.now_ms()

    def begin(self) -> None:
        """Start the run now: read positions and wallet."""
        self.started_ms = self.answered_ms = self.now()
        insist(self._read_positions)
        if self.journal is not None:
            self._take_up(self.journal)
            insist(self._settle_unknown)
            for row in insist(lambda: rows_of(self.session.orders(open=True, progress=False))):
                self._notice(row.client_order_id, row.order_id)
        insist(self.read_wallet)
        self.first_equity = self.account_equity = self.equity
        self.begun = True

    def _take_up(self, journal: RunJournal) -> None:
        """Replace the account's book by the run's own."""
        traded = {fill.symbol for fill in journal.fills.values()} | {
            str(placed.order.symbol) for placed in journal.handles.values()
        }
        if left := ", ".join(sorted(traded - self.books.keys())):
            text = f"the run has traded {left}, which its symbols leave out now. Add them, or choose another name"
            raise InputError(text, field="symbols", rule="those of the run", value=self.symbols)
        # The position of this run is the sum of its fills. Others may trade on the same account.
        book, self.own = self.witnesses.book, OwnLedger()
        for symbol in self.symbols:
            book.begin(symbol, own=(0, 0))
        for fill in journal.fills.values():
            self._take_own(fill)
            book.fill(fill.id, fill.order, fill.symbol, fill.side, fill.steps, "own")
        self.taken_up = {symbol: own.net for symbol, own in book.own.items()}
        self.samples = list(journal.samples)
        self._read_from_ms = journal.begun.time if journal.begun else self.started_ms
        # Fills of the journal were counted above and must not be counted again when the venue lists them.
        counted = {fill.id: fill.time for fill in journal.fills.values()}
        # At a first start those of its first millisecond came before it, too.
        self._seen["fills"] = counted if journal.begun else self._seen["fills"] | counted
        self._newest_ms["fills"] = max(self._seen["fills"].values(), default=0)
        if journal.begun is not None:
            self._seen["funding_payments"] = {}  # those of the position that it held while it was down are its own, too
            self._before = set(journal.begun.before)
            self._seen["ledger"] |= dict.fromkeys(self._before, journal.begun.time)
        # Orders of the last minute before a crash count for the limit on orders, too.
        self.sent_ms.extend(journal.sent_ms[-1_000:])
        self.placed.extend(placed for placed in journal.handles.values() if not placed.done)
        self._outside, self._day = float("inf"), (*journal.kept.day, NAN)  # reads what was transferred meanwhile

    def _settle_unknown(self) -> None:
        """Query the outcome of orders without an answer: first that of their requests, then that of the orders."""
        unknown = {placed.cl_ord_id: placed for placed in self.placed if placed.state == "UNKNOWN"}
        if not unknown:
            return
        # Requests first: this distinguishes an order that never reached the venue from one that is not listed yet.
        intents = self.session.intents(limit=None, index=None)
        self.session.resolve([row.intent for row in rows_of(intents) if not unknown.keys().isdisjoint(row.client_ids)])
        for number, placed in unknown.items():
            try:
                found = self.session.order(number, by="cl_ord_id")
                if found.order_id:
                    self._update(placed, found.order_id, str(found.status), float(found.filled))
            # The venue has no order with this client id, and its request is settled, so it can no longer arrive.
            except InputError:
                placed.reason = "it never reached the venue"
                self._update(placed, 0, "REJECTED", 0.0)

    def _update(self, placed: OrderHandle, order_id: int, state: str, filled: float) -> None:
        placed.order_id, placed.state, placed.filled = order_id, state, filled
        if state == "CANCELED":
            self.new_cancels.append(placed)
        if order_id:
            order = placed.order
            symbol = str(order.symbol)
            quantity = self._steps(symbol, float(order.quantity))
            self.witnesses.book.order(order_id, symbol, str(order.side), "own", quantity=quantity or None)
            self.witnesses.book.state(order_id, self._steps(symbol, filled))
        if placed.done and self.journal is not None:
            self.journal.append(self.now(), ended={placed.cl_ord_id: filled})

    def cancel_open(self, symbol: str) -> None:
        """Cancel the open orders of a symbol. A run with a name cancels only its orders.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        code = self.products[symbol].code  # a name may mean another product by now
        if self.journal is None:
            self.session.cancel_all(code)
            return
        try:
            self.journal.run.cancel(symbol, owns=self.journal.owns)
        except (TransportError, ExchangeError) as error:
            # Where the open orders can't be read, those that the run knows are cancelled all the same.
            for placed in self.placed:
                if placed.order.symbol == symbol and not placed.done and placed.cl_ord_id:
                    with suppress(ActionRejected, OutcomeUnknown):
                        self.session.cancel(symbol=code, cl_ord_id=placed.cl_ord_id)
            raise error

    @property
    def earned(self) -> float:
        """Equity less what was deposited since the start. That of a run with a name is its own."""
        return self.equity - self.deposited if self.journal is None else self.own_equity

    @property
    def own_equity(self) -> float:
        """Equity as it would be if the run with a name had its account to itself: since its first start."""
        return self.first_equity + self.own_pnl

    @property
    def own_pnl(self) -> float:
        """What the run itself has earned since its first start: its fills, its positions at mark, its funding, USDC."""
        return self.own.cash + self.own.value() + self.own.unrealized(self.prices | self._marks)

    def equity_of_day(self) -> float:
        """Return `earned` as this day (UTC) began: the last one known of the day before, or of the start."""
        day, known = self.now() // DAY_MS, self.earned
        begun_day, begun, last = self._day
        if known == known:
            # A new day begins with the last equity of the day before, since the loss of the night belongs to the new
            # day.
            self._day = (day, begun, known) if day == begun_day else (day, known if last != last else last, known)
        return self._day[1]

    @property
    def day_begun(self) -> tuple[int, float]:
        """The day and what was earned as it began. See `Kept`."""
        return (self._day[0], self._day[1]) if self._day[1] == self._day[1] else (-1, 0.0)

    def mark_answered(self) -> None:
        """Note that the venue has answered every query of a poll."""
        self.answered_ms, self._last_transport_note = self.now(), ""
        if self.journal is not None:
            self.journal.renew()

    def note(self, kind: str, symbol: str, text: str) -> None:
        """Add a row to `Results.events`. A transport error that repeats itself is noted once.

        Parameters
        ----------
        kind : str
            Kind of the event, such as "REJECTED".
        symbol : str
            Product symbol, "" for the whole run.
        text : str
            What happened.
        """
        if kind == "TRANSPORT" and text == self._last_transport_note:
            return
        self._last_transport_note = text if kind == "TRANSPORT" else ""
        self.notes.append(note := (self.now(), kind, symbol, text))
        self.say(*note)

    def sample(self, time_ms: int) -> None:
        """Keep wallet, positions and prices as a point of the equity curve.

        Parameters
        ----------
        time_ms : int
            Time of the point, Unix ms.
        """
        # A transfer appears in the Results at the sample that first contains it, or the curve would jump before it.
        self.moved = {key: known or time_ms for key, known in self.moved.items()}
        held = {symbol: book.net for symbol, book in self.books.items()}
        # The equity holds margins of isolated positions, and values what is held at the mark price.
        marks = self.prices | self._marks
        values = self.equity, self.balance + self._assigned, held, marks
        if self.journal is not None:
            values = self.own_equity, self.own_equity - self.own.unrealized(marks), held, marks
        known = all(value == value for value in values[:2])
        if self.journal is not None and known and time_ms >= self._kept_ms + SAMPLE_MS:
            self._keep_sample(time_ms, self.journal, values[:2])
        self.samples.append((time_ms, *values))

    def _keep_sample(self, time_ms: int, journal: RunJournal, values: tuple[float, float]) -> None:
        held = {symbol: book.net for symbol, book in self.books.items()}
        prices = {symbol: price for symbol, price in self.prices.items() if price == price}
        self._kept_ms = time_ms
        try:
            journal.append(time_ms, sample=(*values, held, prices))
        except OSError as error:  # a curve with a gap is no reason to end
            self.note("PROBLEM", "", f"a point of the equity curve is not kept: {error}")

    def _read_positions(self) -> None:
        """Read the positions, and the ids of what the first millisecond of the run already holds."""
        begun = utc(self.started_ms)
        known, seen = None, _ids(self.session.fills(start=begun, progress=False))
        # A fill between the queries may be in the positions or not, so both are read again until there was none.
        # Neither query alone says whether a fill in between is part of the position.
        while known != seen:
            known = seen
            held = self._legs()
            resting = self.session._driver.run(self.session._reader.open_orders(str(self.session.account)))
            seen = _ids(self.session.fills(start=begun, progress=False))
        self.read_mode()
        for symbol in self.symbols:
            legs = held.get(symbol, (0, 0))
            self.witnesses.book.begin(symbol, own=legs, account=legs)
            if any(legs) and self.journal is None:
                step = float(self.products[symbol].step_size)
                self.at_start[symbol] = (legs[0] * step, legs[1] * step)
        for _, row in resting.values():
            # What a named run has filled of its own orders is in its journal.
            own = self.journal is not None and self.journal.owns(row.client_order_id)
            self._note_order(row, before=None if own else row.filled)
        paid = _ids(self.session.info.funding_payments(start=begun))
        orders = self.session.orders(start=begun, progress=False)
        self.earlier = {
            "fills": seen,
            "funding_payments": paid,
            "orders": _ids(orders[orders["status"].isin(FINAL_STATES)]),
            "ledger": _ids(self.session.info.ledger(start=begun)),
        }
        self._seen = {
            name: dict.fromkeys(self.earlier[name], self.now()) for name in ("fills", "funding_payments", "ledger")
        }

    def read_mode(self) -> None:
        """Read whether the account is in hedge mode. The venue does not show it before the first order."""
        modes = set(self.session.info.positions(include_zero=True)["position_mode"].dropna())
        if modes:
            self.witnesses.book.set_mode("HEDGE" in modes)

    def read_positions(self) -> None:
        """Read the positions as they are shown now, to compare them with orders and fills."""
        self.witnesses.book.positions(self._legs())

    def compare(self, by_hand: ByHand) -> str:
        """Compare the witnesses after a poll: pause, continue, or return why the run must end, "" if it need not.

        Parameters
        ----------
        by_hand : {"pause", "adopt", "continue", "end"}
            What happens where the account holds less than the run, because of orders that no run placed.
        """
        apart = "; ".join(filter(None, [self.witnesses.compare(self.now()), *self._hidden.values()]))
        if self.witnesses.look_again(self.now()):
            self._list_again()
        taken = self.witnesses.taken_by_hand() if by_hand != "continue" else {}
        if taken and by_hand == "end":
            return "; ".join(taken.values())
        if by_hand == "adopt":
            for symbol, text in taken.items():
                self.witnesses.book.adopt(symbol)
                self.note("ADOPT", symbol, text)
        elif taken:
            apart = "; ".join([*taken.values(), *filter(None, [apart])])
        self._tell_netted()
        self.pause(apart)
        return ""

    def _tell_netted(self) -> None:
        """Note where the account holds less than the run, as others hold the other side and positions net."""
        book = self.witnesses.book
        for symbol, own in book.own.items() if self.journal is not None else ():
            others = book.account[symbol].net - own.net
            netted = own.net * others < 0 and not own.hedge
            if netted and symbol not in self._netted:
                unit = float(self.products[symbol].step_size)
                said = f"the run holds {own.net * unit:g}, others on the account {others * unit:g}: they net"
                self.note(
                    "NET", symbol, f"{said}, and margin and liquidation are those of {(own.net + others) * unit:g}"
                )
            self._netted = self._netted | {symbol} if netted else self._netted - {symbol}

    def pause(self, apart: str) -> None:
        """Open nothing while the venue contradicts itself, and say so when that begins and ends.

        Parameters
        ----------
        apart : str
            What contradicts what, "" where all agrees.
        """
        if bool(apart) is not bool(self.paused):
            self.note("PAUSE" if apart else "CONTINUE", "", apart or AGREES)
            name = "the run" if self.journal is None else f"run {self.journal.run.lock.stem!r}"
            words = f"pauses, and opens nothing: {apart}" if apart else f"continues: {AGREES}"
            print(f"{utc(self.now()):%Y-%m-%d %H:%M:%S} {name} {words}")
        self.paused = apart

    def take_account(self) -> None:
        """Begin the book of the account that a named run continues on, after what it missed was read."""
        fills: int | None = None
        # As in `_read_positions`: until no fill came between the queries.
        while fills != len(self.new_fills):
            fills = len(self.new_fills)
            held = self._legs()
            self.read_orders()
        book = self.witnesses.book
        for symbol in self.symbols:
            book.begin(symbol, account=held.get(symbol, (0, 0)))
            self.shared |= book.account[symbol].net != book.own[symbol].net
        if self._read_from_ms == self.started_ms:
            return
        # What its owner closed while it was down, or before, is in these positions.
        for row in rows_of(whole(self.session.fills(start=utc(self._read_from_ms), progress=False))):
            part = self._part(_id_or_zero(row.client_order_id), int(row.order_id))
            if row.symbol in self.books and part == "hand" and str(row.type) not in FORCED:
                book.take_by_hand(str(row.symbol), str(row.side), self._steps(row.symbol, row.quantity))

    def _legs(self) -> dict[str, Legs]:
        """Return both legs of the shown positions, in steps, by symbol."""
        listed = self._rows(POSITIONS, include_zero=True)
        # The margin of isolated positions is not part of the balance.
        self._assigned = sum(float(row.assigned_margin or 0) for row in listed)
        self._unrealized = sum(float(row.unrealized_pnl or 0) for row in listed)
        sizes = (float(row.long_size + abs(row.short_size)) * float(row.mark_price or 0) for row in listed)
        self._notional = sum(sizes)
        rows = [row for row in listed if row.symbol in self.products]
        self._marks = {str(row.symbol): float(row.mark_price) for row in rows if row.mark_price}
        legs = ((row.symbol, row.long_size, abs(row.short_size)) for row in rows)
        return {symbol: (self._steps(symbol, longs), self._steps(symbol, shorts)) for symbol, longs, shorts in legs}

    def _note_order(self, row: OrderState, before: Decimal | None = None) -> None:
        """Note an order that the venue shows, if it is one of the run's products."""
        if symbol := self._by_code.get(row.symbol, ""):
            quantity, filled = self._steps(symbol, row.quantity) or None, self._steps(symbol, before or 0)
            part = self._part(row.client_order_id or 0, row.order_id)
            self.witnesses.book.order(row.order_id, symbol, row.side, part, quantity=quantity, before=filled)

    def _part(self, client_id: int, order_id: int) -> Part:
        """Return whose an order is: all are those of a run without a name, else its client id says it."""
        if self.journal is None:
            return "own"
        if not self.journal.owns(client_id):
            return "hand" if run_of(client_id) is None else "run"
        known = next((each for each in reversed(self.placed) if each.cl_ord_id == client_id), None)
        # The client id of an order whose id is another one proves nothing.
        return "own" if known is None or known.order_id in (0, order_id) else "hand"

    def _steps(self, symbol: str, quantity: float | Decimal) -> int:
        return round(float(quantity) / float(self.products[str(symbol)].step_size))

    def read_wallet(self) -> None:
        """Read equity and balance, and what was deposited and withdrawn."""
        # The ledger is only read when the balance changed by something that trading does not explain: a run polls every
        # second.
        outside = self._read_balance() + self._assigned - self._traded
        # Half a cent: what fills and funding explain is summed as floats.
        if abs(outside - self._outside) >= 0.005:
            for row in self._read_on("ledger", self.session.info.ledger):
                if row.kind not in tables.SHOWN_ELSEWHERE:
                    self._flows += float(row.amount)
                if row.kind in CAPITAL_FLOWS:
                    self.deposited += float(row.amount)
                    self.moved[str(row.id)] = 0
            # A deposit that came between the two queries must not look like a loss.
            outside = self._read_balance() + self._assigned - self._traded
        self._outside = outside
        if self.based:
            self.witnesses.unexplained = outside - self._unmoved - self._flows
        self.witnesses.set_equity(self.equity, self.balance, self._assigned, self._unrealized, self._notional)

    @property
    def based(self) -> bool:
        """Whether it is known with which balance the fills and payments that were read add up."""
        return self._unmoved == self._unmoved

    def base_wallet(self) -> None:
        """Begin to explain the balance, once all that came before this start, or meanwhile, was read."""
        known = NAN
        while known != self._traded:  # a fill between the queries may be in the balance or not
            known = self._traded
            self.read_wallet()
            self._unmoved = self._outside - self._flows
            self.read_orders()

    def _read_balance(self) -> float:
        for row in self._rows(WALLET_BALANCES, include_zero=True)[:1]:
            self.equity = float(known(row.equity, row, "equity"))
            self.balance = float(row.balance)
        return self.balance

    def _rows(self, endpoint: Endpoint[R], **given: object) -> list[R]:
        """Return typed rows: a run asks too often for frames, which take five times as long."""
        # Bars that can't be are noted, and a wallet is compared with the other witnesses: the run judges both itself.
        by_rules = endpoint not in (KLINES, KLINES_BEFORE, WALLET_BALANCES)
        return self.session._driver.run(self.session._reader.typed(endpoint, given, by_rules=by_rules))[0]

    def read_candles(self, symbol: str, start_ms: int, end_ms: int) -> dict[int, tuple[float, ...]]:
        """Return the venue's candles: start (Unix ms) → open, high, low, close (USDC) and volume (base units).

        One that can't be (no number, or a price outside of low and high) is noted as BAD_BAR, and is () instead.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        start_ms : int
            First opening time, Unix ms.
        end_ms : int
            Time before which the candles open, Unix ms.
        """
        length = pd.Timedelta(self.interval_ms, unit="ms")
        rows: Iterable[tuple[int, tuple[Any, ...]]]
        if (end_ms - start_ms) // self.interval_ms <= MOST_CANDLES:
            asked = {"symbol": symbol, "interval": length, "start": start_ms, "end": end_ms - 1}
            candles = self._rows(KLINES, **asked)
            rows = ((one.time, (one.open, one.high, one.low, one.close, one.volume)) for one in candles)
        else:
            table = whole(self.session.klines(symbol, length, utc(start_ms), utc(end_ms - 1), progress=False))
            names = ("open", "high", "low", "close", "volume")
            listed = zip(map(unix_ms, table.index), table.to_dict("records"), strict=True)
            rows = ((time_ms, tuple(row[name] for name in names)) for time_ms, row in listed)
        found: dict[int, tuple[float, ...]] = {}
        for opened, row in rows:
            values = tuple(NAN if value is None else float(value) for value in row)
            open_, high, low, close, volume = values
            # A bad bar is data, not an error: the run continues without it, and the Results say so.
            good = 0 < low <= open_ <= high < float("inf") and low <= close <= high and volume >= 0  # NaN is false
            found[opened] = values if good else ()
            if not good:
                self.note("BAD_BAR", symbol, f"{utc(opened)} left out: open, high, low, close, volume are {values}")
        return found

    def first_hidden_ms(self, symbol: str, quiet: Sequence[int]) -> int:
        """Return the opening time of the first bar that one list of candles leaves out and the other has, 0 for none.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        quiet : sequence of int
            Opening times of the bars that the first list leaves out, Unix ms. Those without trades are in neither.
        """
        self._hidden.pop(symbol, None)
        if not quiet:
            return 0
        length, end_ms = pd.Timedelta(self.interval_ms, unit="ms"), quiet[-1] + self.interval_ms
        count = min((end_ms - quiet[0]) // self.interval_ms, MOST_BEFORE)
        asked = {"symbol": symbol, "interval": length, "before": end_ms, "limit": count}
        shown = {one.time for one in self._rows(KLINES_BEFORE, **asked)}
        if first := min(shown.intersection(quiet), default=0):
            said = f"{symbol}: one list of candles leaves out {utc(first):%Y-%m-%d %H:%M}, and the other has it"
            self._hidden[symbol] = said
        return first

    def read_orders(self) -> None:
        """Read open orders and fills, and update handles and positions."""
        # Without open orders there is nothing to update, which saves a query at each poll. A run with a name looks for
        # orders of another copy of it.
        if any(not placed.done for placed in self.placed) or self.journal is not None:
            self._settle_unknown()
            rows = self._read_order_states()
            for number, (order_id, *_) in rows.items():
                self._notice(number, order_id)
            for placed in self.placed:
                if placed.cl_ord_id in rows and not placed.done:
                    self._update(placed, *rows[placed.cl_ord_id])
        for row in self._read_on("fills", partial(self.session.fills, progress=False)):
            if row.symbol in self.books:
                self._take_fill(row, str(row.symbol), str(row.side))
            else:
                self.shared = True
            self._traded += float(row.realized_pnl) - float(row.fee)

    def _take_fill(self, row: Any, symbol: str, side: str) -> None:
        # The mode is only visible once there was an order. In hedge mode a fill changes one leg, not the net size.
        if self.books[symbol].hedge is None:
            self.read_mode()
        if taken := self._book_fill(row, symbol, side):
            self.taken[taken.id] = _fill_of(row, side.startswith("BUY"))
            self.new_fills.append((taken, self.taken[taken.id]))
            self._take_own(taken)
            self.fees += float(row.fee)
        else:
            self.shared = True

    def _take_own(self, fill: OwnFill) -> None:
        """Take a fill of the run into its ledger."""
        quantity = fill.steps * float(self.products[fill.symbol].step_size)
        made = Traded(fill.time, fill.symbol, fill.side, quantity, fill.price, fill.fee)
        self.own.take(fill.id, made, bool(self.books[fill.symbol].hedge))

    def own_fee(self, row: Any) -> FundingFee:
        """Return a row of info.funding_payments() with the part of it that is the run's.

        Parameters
        ----------
        row : object
            The row.
        """
        paid = funding_fee(row, self.prices.get(str(row.symbol), NAN))
        if self.journal is None:
            return paid
        hedge = bool(self.books[paid.symbol].hedge)
        leg: Leg | None = ("LONG" if paid.position > 0 else "SHORT") if hedge else None
        share = self.own.share(paid.time, paid.symbol, paid.position, leg)
        return structs.replace(paid, position=paid.position * share, payment=paid.payment * share)

    def _book_fill(self, row: Any, symbol: str, side: str) -> OwnFill | None:
        """Take a listed fill, and return what of it is the run's, None for nothing."""
        book, id, steps = self.witnesses.book, str(row.id), self._steps(symbol, row.quantity)
        part = self._part(_id_or_zero(row.client_order_id), int(row.order_id))
        self._notice(_id_or_zero(row.client_order_id), int(row.order_id))
        self.shared |= part != "own"
        if str(row.type) not in FORCED:
            own = steps if part == "own" else 0
            book.fill(id, int(row.order_id), symbol, side, steps, part)
        else:
            # A forced fill has no client id. The part beyond the run's position belonged to others on the account.
            held = self.books[symbol].longs if sign_of(side) < 0 else self.books[symbol].shorts
            own = steps if part == "own" else min(steps, held)
            book.fill(id, 0, symbol, side, own, "own", of_others=steps - own)
        fee = float(row.fee) * own / (steps or 1)
        return (
            OwnFill(id, unix_ms(row.time), symbol, side, own, int(row.order_id), float(row.price), fee) if own else None
        )

    def _list_again(self) -> None:
        """Read all fills again, and take back those that the venue lists no longer, or with another quantity."""
        table = whole(self.session.fills(start=utc(self.first_ms), progress=False))
        book = self.witnesses.book
        listed = {str(row.id): row for row in rows_of(table) if row.symbol in self.books}
        for id, steps in book.fills.items():
            row = listed.get(id)
            if row is None or self._steps(row.symbol, row.quantity) != steps:
                book.retract(id)
                self.taken.pop(id, None)
                self.own.retract(id, any(book.hedge for book in self.books.values()))
                self.note("RETRACTED", "", f"fill {id} is listed no longer, or with another quantity")
                if row is not None and (fill := self._book_fill(row, str(row.symbol), str(row.side))):
                    self._take_own(fill)

    def _notice(self, client_id: int | float | None, order_id: int) -> None:
        """Pause the run if an order has its name that it did not send: two copies would trade twice the size."""
        journal = self.journal
        if journal is None or self.another_copy or not journal.is_of_another_copy(client_id):
            return
        name = journal.run.lock.stem
        self.another_copy = (
            f"order {order_id} has the name of run {name!r}, and this copy did not send it. Another copy runs with "
            "this name, perhaps on another machine, or the run's journal was lost. Nothing is sent that may open a "
            f"position. To continue, stop the other copy, cancel order {order_id} and its other orders if they are "
            "open, and start this run again"
        )
        self.note("PAUSE", "", self.another_copy)
        print(f"paused: {self.another_copy}", flush=True)

    def _read_order_states(self) -> dict[int, tuple[int, str, float]]:
        """Return order id, state and filled quantity of the orders that have changed, by client id."""
        rows = typed_rows(OrderState, self._changed("orders", ORDER_STATES.name), ORDER_STATES.path)
        self._newest_ms["orders"] = max(self._newest_ms["orders"], *(row.time for row in rows), 0)
        for row in rows:
            # One that had ended before the run began is in the positions of its begin. The venue may not show when an
            # order was placed, but the exits of a bracket come after it.
            book, exits = self.witnesses.book, row.parent_order_id or 0
            named = self.journal is not None and self.journal.owns(row.client_order_id)
            if named or book.knows(exits) or (row.created or 0) >= self.started_ms:
                self._note_order(row)
            if book.knows(row.order_id):
                book.state(row.order_id, self._steps(self._by_code[row.symbol], row.filled))
        return {row.client_order_id or 0: (row.order_id, row.status, float(row.filled)) for row in rows}

    def _changed(self, name: str, query: str) -> list[Mapping[str, Any]]:
        """Return the rows since the last ones that were read, and those shortly before, as they came."""
        start_ms = max(self.first_ms, self._newest_ms[name] - LATE_MS)
        read = self.session._driver.run(self.session._reader.all_rows(query, {}, start_ms))
        admit(read.endpoint.path, read.endpoint.record, rows := list(read.rows.values()))
        return rows

    def _read_on(self, name: str, read: Callable[..., pd.DataFrame]) -> Iterator[Any]:
        """Yield the rows since the last ones that were read, and those shortly before, which may have come late.

        Fills and payments that were yielded before are left out.
        """
        seen = self._seen[name]
        # The venue lists a row when it is indexed, not when it happened, so a window before the newest row is read
        # again.
        start_ms = max(self.first_ms, self._newest_ms[name] - LATE_MS)
        # Most polls find nothing new, and making a frame is slow.
        if all(str(row["id"]) in seen for row in self._changed(name, name)):
            return
        table = whole(read(start=utc(start_ms)))
        if len(table):
            self._newest_ms[name] = max(self._newest_ms[name], unix_ms(table["time"].max()))
        self._seen[name] = seen = {key: time for key, time in seen.items() if time >= start_ms}
        for row in rows_of(table):
            if str(row.id) not in seen:
                seen[str(row.id)] = unix_ms(row.time)
                yield row

    def read_funding(self) -> Iterator[FundingFee]:
        """Yield the funding payments that were not read before, neither by an earlier start of the run."""
        told_ms = 0 if self.journal is None else self.journal.last_ms
        for row in self._read_on("funding_payments", self.session.info.funding_payments):
            self._traded += float(row.amount)
            if row.symbol in self.books:
                paid = self.own_fee(row)
                self.own.pay(paid.payment)
                if self.journal is None or paid.position:
                    self.paid.append(paid)
                    if paid.time > told_ms:
                        yield paid

    def next_funding(self) -> int:
        """Return the first settlement time after the last answered poll."""
        # Where the venue does not say how often it settles, payments are looked for once a minute.
        intervals = [(product.funding_interval or 60) * 1000 for product in self.products.values()]
        # From the last answered poll: after an interruption the settlements in it are still read.
        return min(self.answered_ms // length * length + length for length in intervals)

    def own_rows(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that are the run's, and not from before it.

        Parameters
        ----------
        name : str
            Name of the table, as in `earlier`.
        table : DataFrame
            The table, with the column `id`.
        """
        first = self.first_ms == self.started_ms
        if before := self.earlier.get(name, set()) if first else self._before if name == "ledger" else set():
            table = table[~table["id"].astype(str).isin(before)]
        if self.journal is None or "client_order_id" not in table:
            return table
        return table[table["client_order_id"].map(self.journal.owns).astype(bool)]


def _ids(table: pd.DataFrame) -> set[str]:
    return set(whole(table)["id"].astype(str))


def _id_or_zero(value: Any) -> int:
    return 0 if pd.isna(value) else int(value)


def _fill_of(row: Any, buys: bool) -> Fill:
    """Return a row of session.fills() as a Fill."""
    role, kind = ("" if pd.isna(word) else str(word) for word in (row.role, row.type))
    amounts = (float(row.price), float(row.quantity), float(row.value), float(row.fee), float(row.realized_pnl))
    ids = int(row.order_id), _id_or_zero(row.client_order_id)
    return Fill(str(row.symbol), unix_ms(row.time), "BUY" if buys else "SELL", *amounts, role, kind, *ids)


def funding_fee(row: Any, price: float = NAN) -> FundingFee:
    """Return a row of info.funding_payments(). Its amount gives the price.

    Parameters
    ----------
    row : object
        The row.
    price : float, optional
        Price where there is no rate, USDC (default: NaN).
    """
    size = float(row.size) * (1 if row.side in ("LONG", "BUY") else -1)
    rate, paid = float(row.funding_rate), float(row.amount)
    price = abs(paid / (size * rate)) if size and rate else price
    return FundingFee(str(row.symbol), unix_ms(row.time), size, price, rate, paid)
