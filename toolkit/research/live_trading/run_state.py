"""The state of a run's account: positions, orders and wallet as last read from the session, and its Results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
from msgspec import structs

from ...client.reads.reading import known, whole
from ...errors import InputError
from ...limits import Book
from ...products import Product
from ...protocol.reads.door import R, admit, typed_rows
from ...protocol.reads.endpoint import Endpoint
from ...protocol.reads.info.accounts import WALLET_BALANCES
from ...protocol.reads.info.candles import KLINES
from ...protocol.reads.info.orders import ORDER_STATES, OrderState
from ...returns import CAPITAL_FLOWS
from ..account_data import Fill, FundingFee, OrderHandle
from ..analysis import results as tables
from ..analysis.recipes import Recipe
from ..analysis.results import Results, frame, records_frame
from ..market_data import time_index
from .run_journal import OwnFill, RunJournal

if TYPE_CHECKING:
    from ...plain_session import Session

NAN = float("nan")
DAY_MS = 86_400_000
LATE_MS = 60_000
"""Rows that are shown this much later than others of their time are still read."""
MOST_CANDLES = 100
"""Candles that are read as rows, in one request."""
FINAL_STATES = ("FILLED", "CANCELED", "REJECTED")


def rows_of(table: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a frame, with the columns as attributes.

    Parameters
    ----------
    table : DataFrame
        Frame of any columns.
    """
    return iter(table.itertuples())


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
    stale : bool
        Whether the bar that is being delivered is too old to trade on.
    products : dict of str to Product
        Products by symbol.
    books : dict of str to Book
        Position by symbol, in hedge mode both legs.
    prices : dict of str to float
        Last known price by symbol, USDC.
    equity : float
        Equity of the wallet, USDC.
    balance : float
        Balance of the wallet, USDC.
    first_equity : float
        Equity at the start, USDC.
    deposited : float
        Deposits less withdrawals since the start, USDC.
    fees : float
        Fees of the fills of the run, USDC.
    placed : list of OrderHandle
        Handles of all orders of the run.
    sent_ms : deque of int
        When the orders of the last minute were sent, Unix ms.
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
    samples : list of tuple
        (Unix ms, equity, balance, positions in steps, prices) over the run.
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
        self.trading = self.stale = False
        self.products: dict[str, Product] = {symbol: session.product(symbol) for symbol in symbols}
        self.books = {symbol: Book(product.step_size, hedge=None) for symbol, product in self.products.items()}
        self.prices: dict[str, float] = {}
        self.equity = self.balance = self.first_equity = NAN
        self.deposited = self._traded = 0.0
        self._moved: dict[str, int] = {}
        """Transfers: id → time of the first sample whose equity has it, 0 before that."""
        self._outside = NAN
        """Balance less what fills and funding explain: a change of it may be a transfer."""
        self.placed: list[OrderHandle] = []
        self.sent_ms: deque[int] = deque()
        self.new_fills: deque[tuple[OwnFill, Fill]] = deque()
        self.next_open_ms: dict[str, int] = {}
        self.started_ms = self.answered_ms = 0
        self.notes: list[tuple[int, str, str, str]] = []
        self.samples: list[tuple[int, float, float, dict[str, int], dict[str, float]]] = []
        self.earlier: dict[str, set[str]] = {}
        self.fees = 0.0
        self._seen: dict[str, dict[str, int]] = {}
        """Rows that were read and that another read may return again: table → id → time."""
        self._newest_ms = dict.fromkeys(("orders", "fills", "funding_payments", "ledger"), 0)
        """Times of the last order change, fill and payment that were read."""
        self._read_from_ms = 0
        """Start of the run that this one continues, 0 for none."""
        self._last_transport_note = ""
        self._day = -1, NAN, NAN
        """Number of the day, the equity with which it began, and the last one known."""

    def now(self) -> int:
        """Return the venue's time in Unix ms, if the session knows it."""
        return self.session.clock.now_ms()

    def begin(self) -> None:
        """Start the run now: read positions and wallet."""
        self.started_ms = self.answered_ms = self.now()
        self._read_positions()
        if self.journal is not None:
            self._take_up(self.journal)
        self.read_wallet()
        self.first_equity = self.equity

    def _take_up(self, journal: RunJournal) -> None:
        """Replace the account's book by the run's own, and settle the orders that it left."""
        traded = {fill.symbol for fill in journal.fills.values()} | {
            str(placed.order.symbol) for placed in journal.handles.values()
        }
        if left := ", ".join(sorted(traded - self.books.keys())):
            text = f"the run has traded {left}, which its symbols leave out now. Add them, or choose another name"
            raise InputError(text, field="symbols", rule="those of the run", value=self.symbols)
        # The position of this run is the sum of its fills. Others may trade on the same account.
        for book in self.books.values():
            book.longs = book.shorts = 0
        for fill in journal.fills.values():
            self.books[fill.symbol].take(fill.side, fill.steps)
        self._read_from_ms = journal.begun.time if journal.begun else self.started_ms
        # Fills of the journal were counted above and must not be counted again when the venue lists them.
        self._seen["fills"] = {fill.id: fill.time for fill in journal.fills.values()}
        self._newest_ms["fills"] = max(self._seen["fills"].values(), default=0)
        # Orders of the last minute before a crash count for the limit on orders, too.
        self.sent_ms.extend(journal.sent_ms[-1_000:])
        self.placed.extend(placed for placed in journal.handles.values() if not placed.done)
        self._outside, self._day = float("inf"), (*journal.kept.day, NAN)  # reads what was transferred meanwhile
        self._settle_unknown()

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
        if placed.done and self.journal is not None:
            self.journal.append(self.now(), ended={placed.cl_ord_id: filled})

    def cancel_open(self, symbol: str) -> None:
        """Cancel the open orders of a symbol. A run with a name cancels only its orders.

        Parameters
        ----------
        symbol : str
            Product symbol, such as "BTCUSDC".
        """
        if self.journal is None:
            self.session.cancel_all(symbol)
        else:
            self.journal.run.cancel(symbol)

    @property
    def earned(self) -> float:
        """Equity less what was deposited since the start."""
        return self.equity - self.deposited

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
        self.notes.append((self.now(), kind, symbol, text))

    def sample(self, time_ms: int) -> None:
        """Keep wallet, positions and prices as a point of the equity curve.

        Parameters
        ----------
        time_ms : int
            Time of the point, Unix ms.
        """
        # A transfer appears in the Results at the sample that first contains it, or the curve would jump before it.
        self._moved = {key: known or time_ms for key, known in self._moved.items()}
        held = {symbol: book.net for symbol, book in self.books.items()}
        self.samples.append((time_ms, self.equity, self.balance, held, dict(self.prices)))

    def _read_positions(self) -> None:
        """Read the positions, and the ids of what the first millisecond of the run already holds."""
        begun = utc(self.started_ms)
        known, seen = None, _ids(self.session.fills(start=begun, progress=False))
        # A fill between the queries may be in the positions or not, so both are read again until there was none.
        # Neither query alone says whether a fill in between is part of the position.
        while known != seen:
            known = seen
            held = self.session.positions(index=None)
            seen = _ids(self.session.fills(start=begun, progress=False))
        self.read_mode()
        for row in rows_of(held):
            if row.symbol in self.books:
                name = "longs" if row.side == "LONG" else "shorts"
                setattr(self.books[str(row.symbol)], name, self._steps(row.symbol, row.size))
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
        for book in self.books.values() if modes else ():
            book.hedge = "HEDGE" in modes

    def _steps(self, symbol: str, quantity: float) -> int:
        return round(float(quantity) / float(self.products[str(symbol)].step_size))

    def read_wallet(self) -> None:
        """Read equity and balance, and what was deposited and withdrawn."""
        # The ledger is only read when the balance changed by something that trading does not explain: a run polls every
        # second.
        outside = self._read_balance() - self._traded
        # Half a cent: what fills and funding explain is summed as floats.
        if abs(outside - self._outside) >= 0.005:
            for row in self._read_on("ledger", self.session.info.ledger):
                if row.kind in CAPITAL_FLOWS:
                    self.deposited += float(row.amount)
                    self._moved[str(row.id)] = 0
            self._read_balance()  # a deposit that came between the two queries must not look like a loss
        self._outside = outside

    def _read_balance(self) -> float:
        for row in self._rows(WALLET_BALANCES, include_zero=True)[:1]:
            self.equity = float(known(row.equity, row, "equity"))
            self.balance = float(row.balance)
        return self.balance

    def _rows(self, endpoint: Endpoint[R], **given: object) -> list[R]:
        """Return typed rows: a run asks too often for frames, which take five times as long."""
        return self.session._driver.run(self.session._reader.typed(endpoint, given))[0]

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

    def read_orders(self) -> None:
        """Read open orders and fills, and update handles and positions."""
        # Without open orders there is nothing to update, which saves a query at each poll.
        if any(not placed.done for placed in self.placed):
            self._settle_unknown()
            rows = self._read_order_states()
            for placed in self.placed:
                if placed.cl_ord_id in rows and not placed.done:
                    self._update(placed, *rows[placed.cl_ord_id])
        for row in self._read_on("fills", partial(self.session.fills, progress=False)):
            steps = self._own_steps(row) if row.symbol in self.books else 0
            if steps:
                # The mode is only visible once there was an order. In hedge mode a fill changes one leg, not the net
                # size.
                if self.books[str(row.symbol)].hedge is None:
                    self.read_mode()
                self.books[str(row.symbol)].take(str(row.side), steps)
                own = OwnFill(str(row.id), unix_ms(row.time), str(row.symbol), str(row.side), steps)
                self.new_fills.append((own, _fill_of(row, str(row.side).startswith("BUY"))))
                self.fees += float(row.fee)
            self._traded += float(row.realized_pnl) - float(row.fee)

    def _read_order_states(self) -> dict[int, tuple[int, str, float]]:
        """Return order id, state and filled quantity of the orders that have changed, by client id."""
        rows = typed_rows(OrderState, self._changed("orders", ORDER_STATES.name), ORDER_STATES.path)
        self._newest_ms["orders"] = max(self._newest_ms["orders"], *(row.time for row in rows), 0)
        return {row.client_order_id or 0: (row.order_id, row.status, float(row.filled)) for row in rows}

    def _changed(self, name: str, query: str) -> list[Mapping[str, Any]]:
        """Return the rows since the last ones that were read, and those shortly before, as they came."""
        start_ms = max(self._read_from_ms or self.started_ms, self._newest_ms[name] - LATE_MS)
        read = self.session._driver.run(self.session._reader.all_rows(query, {}, start_ms))
        admit(read.endpoint.path, read.endpoint.record, rows := list(read.rows.values()))
        return rows

    def _own_steps(self, row: Any) -> int:
        """Return how much of a fill is the run's. A liquidation takes what the run with a name holds, at most."""
        steps, book = self._steps(row.symbol, row.quantity), self.books[str(row.symbol)]
        if self.journal is None or self.journal.run.owns(row.client_order_id):
            return steps
        # A forced fill has no client id. The part beyond the run's position belonged to others on the account.
        held = book.longs if str(row.side).startswith("SELL") else book.shorts
        return min(steps, held) if row.type in ("LIQUIDATION", "ADL") else 0

    def _read_on(self, name: str, read: Callable[..., pd.DataFrame]) -> Iterator[Any]:
        """Yield the rows since the last ones that were read, and those shortly before, which may have come late.

        Fills and payments that were yielded before are left out.
        """
        seen = self._seen[name]
        # The venue lists a row when it is indexed, not when it happened, so a window before the newest row is read
        # again.
        start_ms = max(self._read_from_ms or self.started_ms, self._newest_ms[name] - LATE_MS)
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
        """Yield the funding payments that were not read before."""
        for row in self._read_on("funding_payments", self.session.info.funding_payments):
            self._traded += float(row.amount)
            if row.symbol in self.books:
                yield _funding_fee(row, self.prices.get(str(row.symbol), NAN))

    def next_funding(self) -> int:
        """Return the first settlement time after the last answered poll."""
        # Where the venue does not say how often it settles, payments are looked for once a minute.
        intervals = [(product.funding_interval or 60) * 1000 for product in self.products.values()]
        # From the last answered poll: after an interruption the settlements in it are still read.
        return min(self.answered_ms // length * length + length for length in intervals)

    def results(self, name: str, params: Mapping[str, Any], records: Sequence[Any], recipe: Recipe) -> Results:
        """Return the Results of the run of a strategy, with the tables as the venue answers now.

        Parameters
        ----------
        name : str
            Name of the strategy.
        params : mapping of str to object
            Parameters of the strategy by name.
        records : sequence of (int, dict)
            Values that `ctx.record` kept, each with its time in Unix ms.
        recipe : Recipe
            How the run can be made again.
        """
        session, begun, symbols = self.session, utc(self.started_ms), list(self.symbols)
        samples = {sample[0]: sample[1:] for sample in self.samples}  # the last sample of a time counts
        index, rows = time_index(list(samples)), list(samples.values())
        equity = [(equity, balance, equity - balance) for equity, balance, _, _ in rows]
        sizes = pd.DataFrame([steps for _, _, steps, _ in rows], index=index, columns=symbols)
        marks = pd.DataFrame([prices for *_, prices in rows], index=index, columns=symbols)
        orders = self._own("orders", session.orders(start=begun, progress=False))
        entries = self._own("ledger", session.info.ledger(start=begun))
        seen = entries["id"].astype(str).map(self._moved)
        moved = entries.assign(
            symbol=entries["symbol"].fillna(""),
            time=entries["time"].where(seen.isna(), pd.to_datetime(seen, unit="ms", utc=True)),
        )[~entries["kind"].isin(tables.SHOWN_ELSEWHERE)]
        # Where the table of orders has no creation time, the first event of the order has it.
        first = session.info.order_events(start=begun).groupby("order_id")["time"].min()
        reasons = {placed.order_id: placed.reason for placed in self.placed}
        fees = [
            _funding_fee(row)
            for row in rows_of(self._own("funding_payments", session.info.funding_payments(start=begun)))
        ]
        return Results(
            name,
            pd.DataFrame(equity, index=index, columns=list(tables.EQUITY)).astype(tables.EQUITY),
            sizes * [float(product.step_size) for product in self.products.values()],
            marks.astype("float64").ffill().bfill(),
            fills=frame(dict(self._own("fills", session.fills(start=begun, progress=False))), tables.FILLS),
            orders=order_table(orders, first, reasons),
            funding=frame([(fee.time, fee.symbol, *structs.astuple(fee)[2:]) for fee in fees], tables.FUNDING),
            transfers=frame(dict(moved), tables.TRANSFERS),
            events=frame(self.notes, tables.EVENTS),
            records=records_frame(records),
            params=params,
            settings={"mode": self.mode, "environment": session.environment.name, "dry_run": self.dry_run},
            recipe=recipe,
        )

    def _own(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that are not from before the run."""
        table = table[~table["id"].astype(str).isin(self.earlier.get(name, set()))]
        if self.journal is None or "client_order_id" not in table:
            return table
        return table[table["client_order_id"].map(self.journal.run.owns).astype(bool)]


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


def _funding_fee(row: Any, price: float = NAN) -> FundingFee:
    """Return a row of info.funding_payments(). Its amount gives the price. Without a rate the price is `price`."""
    size = float(row.size) * (1 if row.side in ("LONG", "BUY") else -1)
    rate, paid = float(row.funding_rate), float(row.amount)
    price = abs(paid / (size * rate)) if size and rate else price
    return FundingFee(str(row.symbol), unix_ms(row.time), size, price, rate, paid)


def order_table(table: pd.DataFrame, placed: pd.Series[Any], reasons: Mapping[int, str]) -> pd.DataFrame:
    """Return `session.orders()` in the columns of `ORDERS`, oldest first.

    Parameters
    ----------
    table : DataFrame
        Frame of `session.orders()`.
    placed : Series
        Time of the first event of each order id.
    reasons : mapping of int to str
        Reason of a rejection or cancellation by order id.
    """
    table = table.sort_values("order_id").reset_index(drop=True)
    ids, columns = table["order_id"].tolist(), (table["order_id"], table["created"], table["time"])
    first = [placed.get(key, time) if pd.isna(made) else made for key, made, time in zip(*columns, strict=True)]
    prices = {name: table[name].astype("float64").replace(0.0, NAN) for name in ("price", "trigger_price")}
    further = {"time": first, "reason": [reasons.get(key, "") for key in ids], "updated": table["time"]}
    return frame({**table, **prices, **further}, tables.ORDERS)
