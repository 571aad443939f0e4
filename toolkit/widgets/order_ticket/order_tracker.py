"""An order after it was signed: what the venue answered and what the feed tells, as one story."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..base_panel.number_format import grouped, trimmed

if TYPE_CHECKING:
    from ...client.orders.delivery import Prepared
    from ...client.orders.receipts import Receipt

SENT, ACCEPTED, RESTING, WAITING = "SENT", "ACCEPTED", "RESTING", "WAITING"
PARTIALLY_FILLED, FILLED, CANCELED = "PARTIALLY_FILLED", "FILLED", "CANCELED"
REJECTED, UNKNOWN, NOT_SENT = "REJECTED", "UNKNOWN", "NOT_SENT"

_STATUS = {"NEW": RESTING, "ORDER_STATUS_UNTRIGGERED": WAITING}
_WORDS = {
    SENT: "sent, no answer yet",
    ACCEPTED: "accepted",
    RESTING: "rests in the book",
    WAITING: "waits for its trigger",
    PARTIALLY_FILLED: "partly filled",
    FILLED: "filled",
    CANCELED: "cancelled",
    REJECTED: "rejected",
    UNKNOWN: "outcome unknown",
    NOT_SENT: "not sent",
}
FINAL = (FILLED, CANCELED, REJECTED, NOT_SENT)


@dataclass(slots=True)
class Following:
    """One order that was confirmed. `events` may be appended to by another thread."""

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

        prepared = self.prepared
        return intent_id(prepared.environment.name, prepared.signer, prepared.nonce)

    def note(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Take what the feed tells, if it is about this order."""
        wanted = {str(one) for one in self.prepared.client_ids}
        for item in items:
            if str(item.get("client_order_id")) in wanted and item not in self.events:
                self.events.append(item)

    def of(self, place: int) -> list[Mapping[str, Any]]:
        """Return the events of the order at this place of the request (0 is the main order)."""
        wanted = str(self.prepared.client_ids[place])
        return [one for one in list(self.events) if str(one.get("client_order_id")) == wanted]

    @property
    def status(self) -> str:
        """Where the (main) order stands: one of the names above."""
        events = self.of(0)
        if events:
            told = str(events[-1].get("status"))
            return _STATUS.get(told, told)
        if self.failed:
            return self.failed
        return SENT if self.receipt is None else ACCEPTED

    @property
    def filled(self) -> Decimal:
        """Quantity that was filled."""
        return sum((one.get("fill_quantity") or Decimal(0) for one in self.of(0)), Decimal(0))

    @property
    def average_price(self) -> Decimal | None:
        """Mean price of its fills, None without one."""
        fills = [(one["fill_price"], one["fill_quantity"]) for one in self.of(0) if one.get("fill_quantity")]
        quantity = sum((size for _, size in fills), Decimal(0))
        return sum((price * size for price, size in fills), Decimal(0)) / quantity if quantity else None

    def words(self) -> str:
        """Return the story in one sentence."""
        status, events = self.status, self.of(0)
        told = _WORDS.get(status, status.lower())
        if self.filled and self.average_price is not None:
            average = self.average_price.quantize(Decimal("0.000001")).normalize() + Decimal(0)
            told += f": {trimmed(self.filled)} at {grouped(average)}"
            left = events[-1].get("remaining")
            if status in (PARTIALLY_FILLED, RESTING) and left:
                told += f", {trimmed(left)} open"
        reason = str(events[-1].get("reason") or "") if events else ""
        if status in (CANCELED, REJECTED) and reason:
            told += f": {reason}"
        elif self.failure and status in (REJECTED, UNKNOWN, NOT_SENT):
            told += f": {self.failure}"
        return told

    def view(self) -> dict[str, Any]:
        """Return what the front end draws."""
        status = self.status
        last = {FILLED, PARTIALLY_FILLED, CANCELED, REJECTED, UNKNOWN, NOT_SENT, RESTING, WAITING}
        steps = [
            ["sent", "bad" if status == NOT_SENT else "done"],
            ["accepted", "bad" if status in (REJECTED, UNKNOWN, NOT_SENT) else "now" if status == SENT else "done"],
        ]
        if status in last and status not in (REJECTED, UNKNOWN, NOT_SENT):
            name = _WORDS[status]
            steps.append([name, "done" if status == FILLED else "bad" if status == CANCELED else "now"])
        elif status in (REJECTED, UNKNOWN, NOT_SENT):
            steps[1][0] = _WORDS[status]
        else:
            steps.append(["filled", "later"])
        ids = [str(one) for one in self.prepared.client_ids]
        order_id = self.receipt.order_id if self.receipt is not None else None
        return {
            "summary": self.summary,
            "status": status,
            "words": self.words(),
            "steps": steps,
            "clientIds": ids,
            "orderId": str(order_id or ""),
            "txHash": self.receipt.tx_hash if self.receipt is not None else "",
            "children": [self._child(place) for place in range(1, len(ids))],
            "final": status in FINAL,
        }

    def _child(self, place: int) -> str:
        item = self.prepared.payload["orders"][place]
        name = "take profit" if item.get("reduceOnly") == "TP_FROM_POSITION" else "stop loss"
        events = self.of(place)
        told = str(events[-1].get("status")) if events else ""
        status = _STATUS.get(told, told)
        return f"{name} at {item.get('triggerPx')}: {_WORDS.get(status, 'sent')}"
