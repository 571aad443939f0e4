"""Receipts: the outcome of a request, and the orders that it placed, as live handles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as changed
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...errors import InputError, ToolkitError
from ...numerals import Timeout, plain_text
from ...orders import Order
from ...protocol.enums import ENUMS
from ...protocol.hexbytes import hash_text
from ...protocol.orders.items import OrderItem
from ...protocol.orders.names import BRACKET_ACTIONS, ORDER_ACTIONS
from ...protocol.orders.order_actions import placed_items
from ...protocol.reads.action_results import ActionAnswer
from ...protocol.reads.info.orders import OrderState
from ..io.flow import Asynchronous, Driver, Fetch, Flow, HasTwin, Reply, Synchronous, flow, urgently
from ..reads.reading import amount
from .intents import OPEN, Intent, IntentState

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AsyncReceipt", "ItemResult", "Receipt", "Unset"]


class Unset:
    """Type of `UNSET`, the default of arguments for which None has its own meaning."""

    def __repr__(self) -> str:
        return "default"


UNSET = Unset()
WAIT_SECONDS = 10.0
"""How long `wait` waits by default."""
FILLED, CANCELED, REJECTED = "FILLED", "CANCELED", "REJECTED"
ENDED = (FILLED, CANCELED, REJECTED)
"""Statuses of orders that nothing happens to any more."""
WAITING = "ORDER_STATUS_UNTRIGGERED"
_AT_ONCE = ("IOC", "FOK")
_FILLED_QTY, _LEFT, _VALUE, _FEE, _QUANTITY, _TIF = OrderState.declared.wires(
    "filled", "remaining", "filled_value", "fee", "quantity", "tif"
)
"""Wire names of the amounts in `Receipt.rows`."""
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One order or cancel of a request, and its outcome.

    Parameters
    ----------
    cl_ord_id : int or None
        Client id, None where it has none.
    order_id : int or None
        The venue's id, None where the venue does not name it.
    code : int
        The venue's code. 0 is accepted.
    message : str
        The venue's message.
    """

    cl_ord_id: int | None
    order_id: int | None
    code: int
    message: str

    @property
    def accepted(self) -> bool:
        """True when the venue accepted this item."""
        return self.code == 0


def _no_request(request: Fetch) -> Reply:
    raise ToolkitError(f"{request.path}: this receipt belongs to no session")


@dataclass(repr=False)
class Receipt(Synchronous, HasTwin["AsyncReceipt"]):
    """Outcome of one request, and a live handle of the order that it placed. Made by `session.buy` and its like.

    It is true in a condition when the request was accepted.

    `status`, `filled`, `remaining`, `average_price`, `fee` and `reason` are those of the order (of a bracket, its
    entry): each reads it from the venue, until it has ended. `orders` has a receipt for each order of a request.

    Attributes
    ----------
    action : str
        Type of the action.
    state : IntentState
        SUBMITTED, ACCEPTED, REJECTED (by the answer), FAILED (when it was executed) or UNKNOWN.
    code : int or None
        The venue's code, None if no response came.
    message : str
        The venue's message.
    intent : str
        Id in `session.intents()`.
    tx_hash : str
        Hash of the transaction, "" while it is not known.
    tx_code : int
        Code of the transaction, None while it is not known.
    results : tuple of ItemResult
        One entry per order or cancel.
    data : mapping
        `data` of the response.
    """

    _driver = Driver(_no_request)

    action: str
    state: IntentState
    code: int | None
    message: str
    intent: str
    tx_hash: str = ""
    tx_code: int | None = None
    results: tuple[ItemResult, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    items: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    """The orders that the request placed, in wire names."""
    owner: str | None = field(default=None, compare=False)
    """The vault that owns the orders, None for the session's account."""
    rows: dict[int, Mapping[str, Any]] = field(default_factory=dict, compare=False)
    """Position → the order's state at the last read, in wire names, with `reason` where it ended unfilled."""
    note: str = field(default="", compare=False)
    """How the quantity of an order by value was rounded, or what could not be checked of a claim."""
    calls: Any = field(default=None, compare=False)
    """The calls of its session (`order_calls`), None for a receipt that belongs to none."""

    def __post_init__(self) -> None:
        if self.calls is not None:
            self._driver = self.calls.driver

    def __bool__(self) -> bool:
        return self.state is IntentState.ACCEPTED

    def __getstate__(self) -> dict[str, Any]:
        # A session has keys, and those are never pickled.
        return {name: value for name, value in vars(self).items() if name != "_driver"} | {"calls": None}

    @property
    def order_id(self) -> int | None:
        """The venue's id of the (first) order, None where it does not name one."""
        return self.results[0].order_id if self.results else None

    @property
    def cl_ord_id(self) -> int | None:
        """The client id of the (first) order."""
        return self.results[0].cl_ord_id if self.results else None

    @property
    def symbol(self) -> int | None:
        """Product code of the (first) order, None where the request placed none."""
        return int(OrderItem.recall(self.items[0]).product) if self.items else None

    @property
    def status(self) -> str:
        """NEW, PARTIALLY_FILLED, FILLED, CANCELED, REJECTED or ORDER_STATUS_UNTRIGGERED, as in `session.orders()`.

        Before the venue shows the order, and of a request that placed none, it is the request's `state`.
        """
        if self.items:
            self._row()
        return self.known_status

    @property
    def known_status(self) -> str:
        """`status` at the last read."""
        if 0 in self.rows:
            return str(self.rows[0].get("status"))
        single_refused = self.results and self.state not in OPEN and not self.results[0].accepted
        refused = IntentState.REJECTED if self.state is IntentState.ACCEPTED else self.state
        return str(refused if single_refused else self.state)

    @property
    def filled(self) -> Decimal:
        """Filled quantity in base units."""
        return self._amount(_FILLED_QTY)

    @property
    def remaining(self) -> Decimal:
        """Quantity that may still fill, in base units. 0 once the order has ended."""
        row = self._row()
        if row is None:
            return Decimal(OrderItem.recall(self._single()).quantity) if self.state in OPEN else Decimal(0)
        return Decimal(0) if str(row.get("status")) in ENDED else self._amount(_LEFT)

    @property
    def average_price(self) -> Decimal | None:
        """Average price of the fills in USDC, None without one."""
        filled, value = self._amount(_FILLED_QTY), self._amount(_VALUE)
        return Decimal(plain_text(value / filled)) if filled else None  # not 6.0E+4

    @property
    def fee(self) -> Decimal:
        """Sum of the fees paid so far in USDC, negative if received."""
        return self._amount(_FEE)

    @property
    def reason(self) -> str:
        """Why the order was refused or cancelled, in words, "" while it lives and once it is filled."""
        row = self._row() if self.items else None
        if row is not None:
            return str(row.get("reason") or "")
        if self.results and not self.results[0].accepted:
            return self.results[0].message
        return "" if self.state is IntentState.ACCEPTED else self.message

    @property
    def orders(self) -> tuple[Receipt, ...]:
        """A receipt for each order of the request."""
        return tuple(
            changed(self, results=(result,), items=(item,), rows={0: self.rows[at]} if at in self.rows else {})
            for at, (result, item) in enumerate(zip(self.results, self.items, strict=False))
        )

    @flow
    def refresh(self) -> Flow[None]:
        """Read the request's outcome, where that is open, and the state of its order.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> _ = session.cancel_all()
        >>> made.refresh()
        >>> made.status
        'CANCELED'
        """
        yield from self._calls().refresh(self)

    @flow
    def wait(self, until: str | Callable[[Any], object] = "filled", timeout: Timeout = WAIT_SECONDS) -> Flow[Receipt]:
        """Wait until something has happened to the order, and return the receipt itself.

        Parameters
        ----------
        until : str or callable, optional
            "accepted", "open" (in the book, or waiting for its trigger), "untriggered", "filled", "cancelled", "ended"
            (filled, cancelled or refused), or a function of the receipt (default: "filled").
        timeout : float, str or timedelta, optional
            Longest time to wait: a number of seconds, or a span (default: 10 s).

        Returns
        -------
        Receipt

        Raises
        ------
        WaitTimeout
            After that time.
        WaitFailed
            When the order has ended otherwise.

        Examples
        --------
        >>> session.buy("BTCUSDC", "0.01").wait("filled", timeout="5s").average_price
        Decimal('62506.6')
        """
        yield from self._calls().wait(self, until, timeout)
        return self

    @flow
    def cancel(self) -> Flow[Receipt]:
        """Cancel what is open of the request's orders, and return that request's receipt. Errors are those of
        `session.cancel`.

        Returns
        -------
        Receipt

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> _ = made.cancel()
        >>> made.status
        'CANCELED'
        """
        made: Receipt = yield from urgently(self._calls().cancel_receipt(self))
        return made

    @flow
    def replace(self, new: Order, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Replace the order, and return that request's receipt. Errors are those of `session.replace`.

        Parameters
        ----------
        new : Order
            The Order to place instead.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> made.replace(orders.limit("BTCUSDC", "BUY", "0.01", "51000")).status
        'NEW'
        """
        made: Receipt = yield from self._calls().replace(self, new, expiry_after, self.owner)
        return made

    @flow
    def events(self, *, exact: bool = False, index: str | None = None) -> Flow[pd.DataFrame]:
        """Return every event of the order, oldest first.

        Parameters
        ----------
        exact : bool, optional
            True gives Decimal (default: False, float64).
        index : str, optional
            Column that becomes the index (default: none).

        Returns
        -------
        DataFrame
            Columns as in `session.info.order_events`.

        Examples
        --------
        >>> session.buy("BTCUSDC", "0.01").events()["status"].tolist()
        ['NEW', 'FILLED']
        """
        frame: pd.DataFrame = yield from self._calls().events(self, exact, index)
        return frame

    def _calls(self) -> Any:
        if self.calls is None:
            raise ToolkitError("this receipt belongs to no session. session.order(id) returns one that does")
        return self.calls

    def _row(self) -> Mapping[str, Any] | None:
        """Return the state of the order, read again unless it has ended, None before the venue shows it."""
        self._single()
        if self.calls is not None and not self.is_final:
            self._driver.run(self.calls.refresh(self, (0,)))
        return self.rows.get(0)

    def _single(self) -> Mapping[str, Any]:
        """Return the order that the request placed (of a bracket, its entry). Raises InputError unless it is one."""
        if len(self.items) > 1 and self.action not in BRACKET_ACTIONS:
            what = f"this receipt has {len(self.items)} orders. Name one of them, e.g. receipt.orders[0]"
            raise InputError(what, field="receipt", rule="one", value=self)
        if not self.items:
            raise InputError(f"{self.action} placed no order", field="receipt", rule="order", value=self)
        return self.items[0]

    def _amount(self, name: str) -> Decimal:
        return amount(self._row() or {}, name)

    @property
    def is_final(self) -> bool:
        """True when nothing of the request or its orders can change any more. Not asked, but as last read."""
        if self.state in OPEN:
            return False
        accepted = [at for at, result in enumerate(self.results) if result.accepted and at < len(self.items)]
        return all(map(self.has_ended, accepted))

    def has_ended(self, at: int) -> bool:
        """Return whether nothing happens any more to the order at a position, as last read.

        Parameters
        ----------
        at : int
            Position of the order in the request, from 0 on.
        """
        return str(self.rows.get(at, {}).get("status")) in ENDED

    def __repr__(self) -> str:
        parts = [f"{self.action} {self.state}"]
        if self.code:
            parts.append(f"code {self.code}")
        if self.message and self.message != "success":
            parts.append(self.message)
        parts += [self._described(at, result) for at, result in enumerate(self.results[:_SHOWN])]
        if len(self.results) > _SHOWN:
            parts.append(f"and {len(self.results) - _SHOWN} more")
        parts += [self.note] if self.note else []
        if self.tx_hash:
            parts.append(f"tx {self.tx_hash[:10]}…")
        return f"<Receipt {', '.join(parts)}>"

    def _described(self, at: int, result: ItemResult) -> str:
        name = f"order {result.order_id}" if result.order_id else f"clOrdId {result.cl_ord_id}"
        if not result.accepted and self.state not in OPEN:
            return f"{name} refused: {result.message}"
        row = self.rows.get(at)
        return f"{name} {words(row)}".rstrip() if row else name


class AsyncReceipt(Asynchronous, Receipt):
    """The asynchronous twin of Receipt. Made by `session.aio`. Attributes show what `refresh` or `wait` read last."""

    _driver: Any
    _run: Any

    def _row(self) -> Mapping[str, Any] | None:
        self._single()
        return self.rows.get(0)


def words(row: Mapping[str, Any]) -> str:
    """Return the outcome of an order, such as "filled 0.01 at 60000" or "IOC not filled: no price within its limit".

    Parameters
    ----------
    row : mapping
        State of the order, in wire names.
    """
    status, tif = str(row.get("status")), ENUMS["tif"].text(row.get(_TIF))
    filled, quantity = amount(row, _FILLED_QTY), amount(row, _QUANTITY)
    reason = f": {str(row['reason']).removeprefix(f'{tif}: ')}" if row.get("reason") else ""
    if not filled:
        unfilled = f"{tif if tif in _AT_ONCE else ''} not filled{reason}".lstrip()
        return {CANCELED: unfilled, REJECTED: f"rejected{reason}", WAITING: "waits for its trigger"}.get(status, "open")
    price = (amount(row, _VALUE) / filled).quantize(Decimal("1e-8")).normalize()
    part = "" if status == FILLED else f" of {quantity.normalize():f}"
    return f"filled {filled.normalize():f}{part} at {price:f}" + (reason if status == CANCELED else "")


def receipt(intent: Intent) -> Receipt:
    """Return the receipt of an intent, from its entry in the ledger.

    Parameters
    ----------
    intent : Intent
        Intent of the request.
    """
    answer = ActionAnswer.read(intent.data)
    return Receipt(
        action=intent.action,
        state=IntentState.UNKNOWN if intent.state in (IntentState.SENT, IntentState.PREPARED) else intent.state,
        code=intent.code,
        message=intent.message,
        intent=intent.id,
        tx_hash=hash_text(answer.tx_hash),
        tx_code=answer.action.code,
        results=_item_results(intent, answer),
        data=dict(intent.data or {}),
        items=placed_items(intent.payload) if intent.action in ORDER_ACTIONS else (),
        owner=intent.vault_address,
    )


def expects_immediate_end(made: Receipt) -> bool:
    """Return whether an order of an accepted request is filled or cancelled by now.

    Parameters
    ----------
    made : Receipt
        Receipt of an accepted request.
    """
    placed = map(OrderItem.recall, made.items)
    return bool(made) and any(item.tif in _AT_ONCE and not item.trigger_price for item in placed)


def _item_results(intent: Intent, answer: ActionAnswer) -> tuple[ItemResult, ...]:
    if answer.results is not None:
        return tuple(ItemResult(one.cl_ord_id, one.order_id, one.code or 0, one.message) for one in answer.results)
    # Actions other than placements and cancels, and refusals before the items were looked at, have no results.
    code = 0 if intent.state is IntentState.ACCEPTED else (intent.code or -1)
    ids = intent.client_ids
    order_id = answer.action.order_id if len(ids) == 1 else None
    return tuple(ItemResult(cl_ord_id, order_id, code, intent.message) for cl_ord_id in ids)


def fills_of(made: Receipt) -> tuple[Decimal, Decimal]:
    """Return the filled quantity of a receipt's first order, and the value of its fills, as last read.

    Parameters
    ----------
    made : Receipt
        Receipt of a request.
    """
    row = made.rows.get(0, {})
    return amount(row, _FILLED_QTY), amount(row, _VALUE)
