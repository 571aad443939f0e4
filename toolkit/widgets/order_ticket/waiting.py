"""Orders that wait in this program: a ticket's client-side order, which watches prices while its session is open.

The order itself is one of `research.client_orders`, so that it acts as in a backtest and in a live run. This module
gives it prices, positions and the session that signs. `stop_all` and the closing of the session end it, as a run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from ...client.limits.running import RUNS
from ...client.orders.intents import FINAL, IntentState, intent_id
from ...errors import ExchangeError, InputError, LimitReached, OutcomeUnknown, ToolkitError
from ...orders import Bracket, Order
from ...protocol.orders.names import ActionType
from ...protocol.orders.order_actions import OrderAction
from ...research.running import endings
from ..base_panel.number_format import mean_text, trimmed
from ..base_panel.panel import FIRST_DATA_SECONDS
from .holdings import AccountStreams
from .order_tracker import CANCELED, REJECTED, WAITING, shown_status

if TYPE_CHECKING:
    from ...client.limits.run_status import RunFiles
    from ...client.orders.delivery import Prepared
    from ...plain_session import Session
    from ...products import Product
    from ...research.account_data import OrderHandle
    from ...research.client_orders import ClientOrder, KeptOrder
    from ...research.market_data import BarHistory

BAR = "1m"
"""Bars at whose close a trailing stop is moved, as in a run whose bars have this length."""


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """A client-side order of a ticket, before it is confirmed.

    Attributes
    ----------
    order : Order or Bracket
        The order that it sends, a trailing stop as of now.
    kept : KeptOrder
        Its state at the beginning.
    words : str
        It in words.
    price : float
        Price at which it was made, USDC.
    cancels : str
        Id of the open order that is cancelled by it, and cancels it, "" for none.
    """

    order: Order | Bracket
    kept: KeptOrder
    words: str
    price: float
    cancels: str = ""

    @property
    def entry(self) -> Order:
        """The order itself, of a bracket the one that opens."""
        return self.order.entry

    def describe(self) -> str:
        """Return it in words."""
        return self.words


class WaitingOrder:
    """A client-side order of a ticket while it waits, and after it has sent its order.

    Parameters
    ----------
    plan : ClientPlan
        The order.

    Attributes
    ----------
    receipt : Receipt or None
        Answer of the venue to the order that it has sent last (default: none yet).
    now : int
        The session's time at the last event, Unix ms.
    files : None
        Always `None`: it has no name under which another program could find it.
    still_open : list of str
        The order that it leaves at the venue when it ends, in words.
    """

    def __init__(self, plan: ClientPlan) -> None:
        from ...research.client_orders import KINDS

        self.plan, self.receipt = plan, None
        self.session: Any = None
        self.files: RunFiles | None = None  # it ends with this program, so that no other one has to find it
        self.symbols: tuple[str, ...] = (plan.kept.symbol,)
        self.still_open: list[str] = []
        self.ending = self._cancelled = False
        self.now = 0
        self._price = plan.price
        self._first: Prepared | None = None
        """What was reviewed, while it begins: a first order that is the one that was shown is sent as it was shown."""
        self._sender: Any = None
        self._order: ClientOrder = KINDS[plan.kept.kind](self, plan.kept)
        self._handles: dict[int, OrderHandle] = {}
        self._values: dict[int, Decimal] = {}
        """Client id → the filled value in USDC."""
        self._intent = ""
        self._notes: list[str] = []
        self._bar: Mapping[str, Any] | None = None
        self._other = plan.cancels
        self._lives: list[Any] = []
        self._todo: deque[Callable[[], object]] = deque()
        self._awake = threading.Condition(threading.RLock())
        self._working = False
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    # What a ticket asks of the order that it follows.

    def send(self, session: Session, prepared: Prepared) -> WaitingOrder:
        """Begin to wait, and return itself.

        Parameters
        ----------
        session : Session
            Session that signs.
        prepared : Prepared
            What was reviewed.
        """
        self.session = session
        stream, symbol = session.stream, self.plan.kept.symbol
        self._product: Product = session.product(symbol)
        self._account = AccountStreams(session, session._product_table())
        trades, candles, history = stream.trades(symbol), stream.candles(symbol, BAR), stream.order_history()
        self._lives += [trades, candles, history, *self._account.parts]
        endings.begin(self)
        if not session._is_manual():
            self._thread = threading.Thread(target=self._run, name="toolkit-waiting-order", daemon=True)
            self._thread.start()
        for live, call in ((trades, self._on_trades), (candles, self._on_candles), (history, self._on_orders)):
            live.on_update(lambda update, call=call: self._later(partial(call, update)))
        for each in self._lives:
            if each.age_ms is None:  # the first trades are past, and no later one may count as them
                with suppress(ToolkitError):
                    each.wait(timeout=FIRST_DATA_SECONDS)
        self._later(partial(self._begin, prepared))
        return self

    def _begin(self, prepared: Prepared) -> None:
        self._first = prepared
        self._order.start()
        self._first = None  # what is sent later has a nonce and an expiry of then

    def end(self, reason: str = "cancelled by its owner") -> None:
        """End it, and cancel its order at the venue.

        Parameters
        ----------
        reason : str, optional
            Why (default: "cancelled by its owner").
        """
        self._later(partial(self._cancel, reason))

    def _cancel(self, reason: str) -> None:
        self._cancelled = True
        self._order.cancel(reason)

    def ask(self) -> None:
        """Ask the venue for the outcome of the order that was sent last."""
        self.session.resolve(self._intent)
        state = self.session.intents.get(self._intent).state
        placed = next(reversed(self._handles.values()))
        if state in FINAL and state != IntentState.ACCEPTED:
            placed.state = REJECTED
            self._later(partial(self._refuse, placed, f"the order was not placed: {state.lower()}"))

    def record_failure(self, error: BaseException) -> bool:
        """Leave the error of sending to the ticket. Return `False`.

        Parameters
        ----------
        error : BaseException
            Error that sending raised.
        """
        return False

    def add_events(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Do nothing with the events that the ticket receives: it has its own.

        Parameters
        ----------
        items : sequence of mapping of str to object
            Events of the order history.
        """

    @property
    def waits(self) -> bool:
        """Whether it still watches prices, or follows the order that it has sent."""
        return self.session is not None and not self._over.is_set()

    @property
    def status(self) -> str:
        """WAITING until it has sent an order, then that order's status. CANCELED or REJECTED if it ended before."""
        handle = self._order.handle or next(reversed(self._handles.values()), None)
        if handle is not None:
            return shown_status(handle.state)
        if not self._order.done:
            return WAITING
        return CANCELED if self._cancelled or self.ending else REJECTED

    def words(self) -> str:
        """Return its progress in one sentence."""
        order, status = self._order, self.status
        stop = getattr(order, "stop", None)
        filled = sum((Decimal(str(one.filled)) for one in self._handles.values()), Decimal(0))
        text = "waits here for its price" if status == WAITING and stop is None else status.replace("_", " ").lower()
        if stop is not None and stop == stop and status == WAITING:
            text = f"waits: the venue has a stop at {stop:g}, which is moved here"
        if filled:
            text = f"{text}: {trimmed(filled)} at {mean_text(sum(self._values.values(), Decimal(0)) / filled, 6)}"
        why = order.reason or next(iter(self._notes[-1:]), "")
        return f"{text}: {why}" if why and why != "filled" else text

    def view(self) -> dict[str, Any]:
        """Return what the front end draws."""
        status = self.status
        kind = {"FILLED": "done", CANCELED: "bad", REJECTED: "bad"}.get(status, "now")
        steps = [["waits here" if status == WAITING else status.replace("_", " ").lower(), kind]]
        shown = {"summary": self.plan.words, "status": status, "words": self.words(), "steps": steps}
        return {**shown, "children": [], "cancels": self.waits}

    # What ends a run asks of it.

    @property
    def name(self) -> str:
        """What it is, for the table of `stop_all`."""
        return "an order of a ticket that waits here"

    def request_end(self, why: str = "") -> None:
        """Let it end, and leave the order that it has at the venue. From now on it sends nothing.

        Parameters
        ----------
        why : str, optional
            What ended it, in words.
        """
        self.ending = True
        self._later(partial(self._cancel, f"cancelled by {why or 'stop_all'}"))

    def wait(self, timeout: float) -> bool:
        """Return whether it ends within `timeout` seconds.

        Parameters
        ----------
        timeout : float
            Longest wait, seconds.
        """
        return threading.current_thread() is self._thread or self._over.wait(timeout)

    # What the order asks of its context.

    def place(self, order: Order | Bracket, /) -> OrderHandle:
        """Sign and send an order. It was confirmed with the ticket.

        Parameters
        ----------
        order : Order or Bracket
            Order of the client-side one.
        """
        from ...research.account_data import OrderHandle

        order = order.in_mode(self._is_hedged(str(order.symbol)))  # as it was reviewed
        placed = OrderHandle(order)
        intents, first = self.session.intents, self._first
        try:
            if self.ending:
                raise LimitReached("it was told to end", limit="stopped")
            prepared = first if first is not None and order == self.plan.order else intents.prepare(order)
            self._first, placed.cl_ord_id = None, prepared.client_ids[0]
            self._intent = intent_id(prepared.environment.label, prepared.signer, prepared.nonce)
            self._handles[placed.cl_ord_id] = placed  # before it is sent: the feed may be faster than the answer
            self.receipt = receipt = intents.send(prepared, confirmed=True)
            placed.order_id = receipt.order_id or placed.order_id
            placed.state = "NEW" if placed.state == "SENT" and receipt else placed.state
        except OutcomeUnknown as unknown:  # the events of the feed may tell it
            placed.state, placed.reason = "UNKNOWN", str(unknown)
        except ToolkitError as refused:
            placed.state, placed.reason = "REJECTED", str(refused)
            self._refuse(None if self._sender is not None else placed, placed.reason)
        return placed

    def _refuse(self, placed: OrderHandle | None, reason: str) -> None:
        self._notes.append(reason)
        self._order.refused(placed, reason)

    def cancel(self, placed: OrderHandle, /) -> None:
        """Cancel its order, unless the session or the program ends: a stop at the venue then stays.

        Parameters
        ----------
        placed : OrderHandle
            Order that it has sent.
        """
        if placed.done or not placed.cl_ord_id:
            return
        if self.ending:
            self.still_open.append(placed.order.describe())
            return
        placed.asked = True
        try:
            self.session.cancel(symbol=self._product.symbol, cl_ord_id=placed.cl_ord_id)
        except ToolkitError as error:
            placed.asked = False
            self._notes.append(f"its order may still be at the venue: {error}")

    def _replace(self, placed: OrderHandle, changed: Order, /) -> None:
        try:
            if self.ending or not placed.order_id:
                return
            action = OrderAction.made(
                ActionType.REPLACE,
                [changed.in_mode(self._is_hedged(str(changed.symbol))).item(self._product.code)],
                placed.order_id,
            )
            self.session.intents.send(self.session.intents.prepare(action), confirmed=True)
        except OutcomeUnknown as unknown:
            self._notes.append(str(unknown))
        except ToolkitError as refused:
            self._refuse(placed, str(refused))
        else:
            placed.order = changed

    def product(self, _symbol: str, /) -> Product:
        """Return its product.

        Parameters
        ----------
        _symbol : str
            Its product.
        """
        return self._product

    def price(self, _symbol: str, /) -> float:
        """Return the price of the last trade, USDC.

        Parameters
        ----------
        _symbol : str
            Its product.
        """
        return self._price

    def legs(self, _symbol: str, /) -> tuple[float, float]:
        """Return both legs of the position, base units, the short one negative.

        Parameters
        ----------
        _symbol : str
            Its product.
        """
        held = self._account.holdings(self._product)
        return float(held.long), -float(held.short)

    def position(self, symbol: str, /) -> float:
        """Return the signed size of the position, base units.

        Parameters
        ----------
        symbol : str
            Its product.
        """
        return sum(self.legs(symbol))

    def underway(self, _symbol: str, /) -> float:
        """Return 0: it waits for the answer to each of its orders.

        Parameters
        ----------
        _symbol : str
            Its product.
        """
        return 0.0

    def bars(self, _symbol: str, /) -> BarHistory:
        """Refuse: a ticket has no history of bars.

        Parameters
        ----------
        _symbol : str
            Its product.
        """
        raise InputError("a ticket has no bars, so a stop can't follow by average true ranges", field="distance_as")

    def _is_hedged(self, _symbol: str, /) -> bool:
        return self._account.holdings(self._product).hedge

    def _note(self, _kind: str, _symbol: str, text: str, /) -> None:
        self._notes.append(text)

    def _keep(self) -> None:
        """Keep nothing: it lives in this program only."""

    # The prices and answers that wake it.

    def _later(self, call: Callable[[], object]) -> None:
        """Do one thing after the other: on its own thread, or immediately where time moves by `advance`."""
        with self._awake:
            self._todo.append(call)
            self._awake.notify()
            if self._thread is not None or self._working:
                return
            self._working = True
        try:
            while self._todo:
                self._act(self._todo.popleft())
        finally:
            self._working = False

    def _run(self) -> None:
        while not self._over.is_set():
            with self._awake:
                while not self._todo:
                    self._awake.wait()
                call = self._todo.popleft()
            self._act(call)

    def _act(self, call: Callable[[], object]) -> None:
        order = self._order
        if self._over.is_set():
            return
        self.now = self.session._runtime.now()
        try:
            call()
            order.settle()
            if order.acted and self._other:
                self.session.cancel(self._other, symbol=self._product.symbol)
                self._other = ""
        except ExchangeError as refused:  # the other order is gone
            self._notes.append(str(refused))
            self._other = ""
        except Exception as error:  # no caller waits here: the ticket shows it
            self._notes.append(str(error) or type(error).__name__)
        if order.over and not (order.acted and self._other and not self.ending):
            self._over.set()
            endings.over(self)
            for live in self._lives:
                live.close()

    def _on_trades(self, update: Any) -> None:
        for item in update.items if update.kind != "snapshot" else ():
            self._price = float(item.price)
            self._order.watch(self._price)

    def _on_candles(self, update: Any) -> None:
        from ...research.market_data import Bar

        for item in update.items if update.kind != "snapshot" else update.items[-1:]:
            before, self._bar = self._bar, item
            if before is not None and before["time"] != item["time"]:
                prices = [float(before[name]) for name in ("open", "high", "low", "close", "volume")]
                edges = [int(one["time"].timestamp() * 1000) for one in (before, item)]
                self._order.follow(Bar(self._product.symbol, edges[0], edges[1], *prices))

    def _on_orders(self, update: Any) -> None:
        for item in update.items if update.kind != "snapshot" else ():
            placed = self._handles.get(int(item.get("client_order_id") or 0))
            filled = item.get("fill_quantity") or Decimal(0)
            if placed is not None:
                placed.order_id, placed.state = int(item["order_id"]), str(item["status"])
                placed.reason = str(item.get("reason") or "") or placed.reason
                placed.filled += float(filled)
                if filled:
                    client_id = placed.cl_ord_id
                    self._values[client_id] = self._values.get(client_id, Decimal(0)) + filled * item["fill_price"]
            elif filled and str(item["order_id"]) == self.plan.cancels:
                self._cancel(f"cancelled: order {self.plan.cancels} was filled")


def waiting_on(session: Session, symbol: str) -> WaitingOrder | None:
    """Return the order of a product that waits on a session, None without one.

    Parameters
    ----------
    session : Session
        Session of the ticket.
    symbol : str
        Product symbol.
    """
    runs: list[Any] = RUNS.of(session)
    return next((run for run in runs if isinstance(run, WaitingOrder) and symbol in run.symbols), None)
