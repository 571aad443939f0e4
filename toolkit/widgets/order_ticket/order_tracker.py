"""Tracks what a ticket has signed: the venue's response and the events of the feed, combined to one status."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...errors import ExchangeError, OutcomeUnknown
from ...protocol.orders.order_actions import OrderAction
from ..base_panel.number_format import mean_text, trimmed

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...client.orders.receipts import Receipt
    from ...client.parent_orders.parents import ParentOrder
    from ...orders import Twap
    from ...plain_session import Session

SENT, SUBMITTED, ACCEPTED, RESTING, WAITING = "SENT", "SUBMITTED", "ACCEPTED", "RESTING", "WAITING"
PARTIALLY_FILLED, FILLED, CANCELED = "PARTIALLY_FILLED", "FILLED", "CANCELED"
REJECTED, UNKNOWN, NOT_SENT = "REJECTED", "UNKNOWN", "NOT_SENT"

_FAILED = (REJECTED, UNKNOWN, NOT_SENT)
_STATUS = {"NEW": RESTING, "ORDER_STATUS_UNTRIGGERED": WAITING}
_WORDS = {
    SENT: "sent, no response yet",
    SUBMITTED: "submitted, not confirmed yet",
    ACCEPTED: "accepted",
    RESTING: "rests in the book",
    WAITING: "waits for its trigger",
    PARTIALLY_FILLED: "partially filled",
    FILLED: "filled",
    CANCELED: "cancelled",
    REJECTED: "rejected",
    UNKNOWN: "outcome unknown",
    NOT_SENT: "not sent",
}


@dataclass
class OrderTracker:
    """One confirmed order.

    Another thread may append to `events`.

    Attributes
    ----------
    prepared : Prepared
        What is signed.
    summary : str
        The order in words.
    receipt : Receipt or None
        Answer of the venue (default: none yet).
    failure : str
        Why sending failed, "" if it didn't.
    events : deque of mapping of str to object
        Events of the order and its exits, oldest first (default: none).
    """

    prepared: Prepared
    summary: str
    receipt: Receipt | None = None
    failure: str = ""
    failed: str = ""
    """REJECTED, UNKNOWN or NOT_SENT when sending raised."""
    events: deque[Mapping[str, Any]] = field(default_factory=deque)

    @property
    def intent(self) -> str:
        """Name of its entry in `session.intents()`."""
        from ...client.orders.intents import intent_id

        return intent_id(self.prepared.environment.label, self.prepared.signer, self.prepared.nonce)

    def send(self, session: Session, prepared: Prepared) -> Receipt:
        """Send the request.

        Parameters
        ----------
        session : object
            Session that prepared it.
        prepared : Prepared
            What `session.prepare` returned for it.
        """
        receipt: Receipt = session.intents.send(prepared, confirmed=True)
        self.receipt = receipt
        return receipt

    def record_failure(self, error: BaseException) -> bool:
        """Take the error of sending.

        Return `True`, because the tracker shows it.

        Without an answer, or after an interrupt, the outcome is unknown.

        Parameters
        ----------
        error : BaseException
            Error that sending raised.
        """
        self.failure = str(error)
        if isinstance(error, ExchangeError):
            # Only an answer of the venue is a rejection. It carries the receipt.
            self.failed, self.receipt, self.failure = REJECTED, error.receipt, error.message
        # An interrupt may come after the bytes were sent, so nothing is known.
        elif isinstance(error, OutcomeUnknown) or not isinstance(error, Exception):
            self.failed = UNKNOWN
        else:
            self.failed = NOT_SENT
        return True

    def add_events(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Add the events of the feed that belong to this order.

        Parameters
        ----------
        items : sequence of mapping of str to object
            Events of the order history.
        """
        client_ids = {str(one) for one in self.prepared.client_ids}
        for item in items:
            # After a reconnect the feed sends recent events again.
            if str(item.get("client_order_id")) in client_ids and item not in self.events:
                self.events.append(item)

    def events_of(self, position: int) -> list[Mapping[str, Any]]:
        """Return the events of one order of the request.

        Parameters
        ----------
        position : int
            Place in the request. 0 is the main order.
        """
        client_id = str(self.prepared.client_ids[position])
        # Copied first: iterating over a deque fails while the feed's thread appends to it.
        return [one for one in list(self.events) if str(one.get("client_order_id")) == client_id]

    @property
    def status(self) -> str:
        """Status of the main order: one of the names above."""
        # An event says more than the error of sending: a lost answer may belong to an order that was filled.
        if known := _last_status(self.events_of(0)) or self.failed:
            return known
        # A venue that shows no orders leaves a request SUBMITTED, which is not accepted.
        return SENT if self.receipt is None else ACCEPTED if self.receipt else str(self.receipt.state)

    @property
    def filled(self) -> Decimal:
        """Filled quantity in base units."""
        return sum((one.get("fill_quantity") or Decimal(0) for one in self.events_of(0)), Decimal(0))

    @property
    def average_price(self) -> Decimal | None:
        """Average price of its fills, None without one."""
        fills = [one for one in self.events_of(0) if one.get("fill_quantity")]
        value = sum((one["fill_price"] * one["fill_quantity"] for one in fills), Decimal(0))
        return value / sum(one["fill_quantity"] for one in fills) if fills else None

    def words(self) -> str:
        """Return the status in one sentence."""
        status, events = self.status, self.events_of(0)
        text = _WORDS.get(status, status.lower())
        if self.filled and self.average_price is not None:
            text += f": {trimmed(self.filled)} at {mean_text(self.average_price, 6)}"
            remaining = events[-1].get("remaining")
            if remaining is None and events[-1].get("quantity") is not None:
                remaining = events[-1]["quantity"] - self.filled  # the feed as published leaves it out
            if status in (PARTIALLY_FILLED, RESTING) and remaining:
                text += f", {trimmed(remaining)} open"
        reason = str(events[-1].get("reason") or "") if events else ""
        if status in (CANCELED, REJECTED) and reason:
            text += f": {reason}"
        elif self.failure and status in _FAILED:
            text += f": {self.failure}"
        return text

    def view(self) -> dict[str, Any]:
        """Return what the front end draws."""
        status, client_ids = self.status, self.prepared.client_ids
        return {
            "summary": self.summary,
            "status": status,
            "words": self.words(),
            "steps": _steps(status),
            "children": [self._child(position) for position in range(1, len(client_ids))],
        }

    def _child(self, position: int) -> str:
        assert isinstance(self.prepared.action, OrderAction)
        item = self.prepared.action.orders[position]
        what, price = item.quantity, item.price
        if item.trigger_price:  # otherwise an order of a ladder
            what = "take profit" if item.reduce_only == "TP_FROM_POSITION" else "stop loss"
            price = item.trigger_price
        return f"{what} at {price}: {_WORDS.get(_last_status(self.events_of(position)), 'sent')}"


def _last_status(events: Sequence[Mapping[str, Any]]) -> str:
    """Return the status after these events, "" without any."""
    return shown_status(str(events[-1].get("status")) if events else "")


def shown_status(status: str) -> str:
    """Return the status of a ticket's order for one of the venue.

    Parameters
    ----------
    status : str
        Status at the venue.
    """
    return _STATUS.get(status, status)


def _steps(status: str) -> list[list[str]]:
    """Return the steps of an order as [name, done | now | bad | later]."""
    sent = ["sent", "bad" if status == NOT_SENT else "done"]
    if status in _FAILED:
        return [sent, [_WORDS[status], "bad"]]
    accepted = ["accepted", "now" if status in (SENT, SUBMITTED) else "done"]
    if status in (SENT, SUBMITTED, ACCEPTED) or status not in _WORDS:
        return [sent, accepted, ["filled", "later"]]
    return [sent, accepted, [_WORDS[status], {FILLED: "done", CANCELED: "bad"}.get(status, "now")]]


@dataclass
class TwapTracker:
    """Starts a TWAP, and follows it.

    The parent order knows its fills, so the feed's events are not needed.

    Attributes
    ----------
    twap : Twap
        The TWAP to start.
    parent : ParentOrder or None
        Its parent order (default: none before it has started).
    receipt : None
        Always `None`: the parent order has the receipts.
    """

    twap: Twap
    parent: ParentOrder | None = None
    receipt: None = None

    @property
    def status(self) -> str:
        """Status of the parent order, "" before it has started."""
        return "" if self.parent is None else self.parent.status

    def send(self, session: Session, prepared: Prepared) -> ParentOrder:
        """Send the first child order.

        The parent order sends the others.

        Parameters
        ----------
        session : object
            Session that prepared it.
        prepared : Prepared
            Request of the first child order.
        """
        parent: ParentOrder = session.parent_orders.start_twap(self.twap, prepared)
        self.parent = parent
        return parent

    def record_failure(self, error: BaseException) -> bool:
        """Leave the error of sending to the ticket.

        Return `False`.

        There is no parent order to show it.

        Parameters
        ----------
        error : BaseException
            Error that sending raised.
        """
        return False

    def add_events(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Do nothing with the events of the feed.

        Parameters
        ----------
        items : sequence of mapping of str to object
            Events of the order history.
        """

    def words(self) -> str:
        """Return the progress in one sentence."""
        if self.parent is None:
            return ""
        plan = self.parent.plan
        text = f"{self.status.lower()}: {plan.done} of {plan.twap.slices} orders, {trimmed(plan.filled)} filled"
        if plan.average_price is not None:
            text += f" at {mean_text(plan.average_price, 6)}"
        return f"{text}. {plan.message}" if plan.message else text

    def view(self) -> dict[str, Any] | None:
        """Return what the front end draws, None before it has started."""
        if self.parent is None:
            return None
        status = self.status
        steps = [["sent", "done"], [status.lower(), {"RUNNING": "now", "FINISHED": "done"}.get(status, "bad")]]
        shown = {"summary": self.twap.describe(), "status": status, "words": self.words(), "steps": steps}
        return {**shown, "children": []}
