"""Receipts: what became of something that was sent to the venue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .intents import Intent, IntentState


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One order or cancel of a request. `order_id` is None where the venue does not tell it; `code` 0 is accepted."""

    cl_ord_id: int | None
    order_id: int | None
    code: int
    message: str

    @property
    def accepted(self) -> bool:
        """True when the venue took this item."""
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The venue's answer to one request.

    `state` is ACCEPTED, REJECTED or UNKNOWN; `code` and `message` are the venue's (code None: no answer came);
    `tx_hash` names the transaction; `results` has one entry for each order or cancel; `intent` names the entry in
    `session.intents()`. True in a condition when it was accepted.
    """

    action: str
    state: IntentState
    code: int | None
    message: str
    intent: str
    tx_hash: str = ""
    tx_code: int | None = None
    results: tuple[ItemResult, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return self.state is IntentState.ACCEPTED

    @property
    def order_id(self) -> int | None:
        """The venue's id of the (first) order, where it tells it."""
        return self.results[0].order_id if self.results else None

    @property
    def cl_ord_id(self) -> int | None:
        """The client id of the (first) order."""
        return self.results[0].cl_ord_id if self.results else None

    def __repr__(self) -> str:
        parts = [f"{self.action} {self.state}"]
        if self.code:
            parts.append(f"code {self.code}")
        if self.message and self.message != "success":
            parts.append(self.message)
        parts += [_item(result) for result in self.results[:8]]
        if len(self.results) > 8:
            parts.append(f"and {len(self.results) - 8} more")
        if self.tx_hash:
            parts.append(f"tx {self.tx_hash[:10]}…")
        return f"<Receipt {', '.join(parts)}>"


def _item(result: ItemResult) -> str:
    name = f"order {result.order_id}" if result.order_id else f"clOrdId {result.cl_ord_id}"
    return name if result.accepted else f"{name} refused: {result.message}"


def receipt(intent: Intent) -> Receipt:
    """Return the receipt of an intent as it stands in the ledger."""
    data = intent.data or {}
    tx_code = data.get("txCode")
    return Receipt(
        action=intent.action,
        state=IntentState.UNKNOWN if intent.state in (IntentState.SENT, IntentState.PREPARED) else intent.state,
        code=intent.code,
        message=intent.message,
        intent=intent.id,
        tx_hash=str(data.get("txHash") or ""),
        tx_code=tx_code if isinstance(tx_code, int) else None,
        results=_results(intent, data),
        data=dict(data),
    )


def _results(intent: Intent, data: Mapping[str, Any]) -> tuple[ItemResult, ...]:
    given = data.get("results")
    if isinstance(given, list):
        return tuple(
            ItemResult(
                whole(item.get("clOrdId")), whole(item.get("ordId")), whole(item.get("txCode")) or 0, _text(item)
            )
            for item in given
            if isinstance(item, Mapping)
        )
    code = 0 if intent.state is IntentState.ACCEPTED else (intent.code or -1)
    order_id = whole(data.get("ordId"))
    ids = intent.client_ids
    return tuple(ItemResult(cl_ord_id, order_id if len(ids) == 1 else None, code, intent.message) for cl_ord_id in ids)


def _text(item: Mapping[str, Any]) -> str:
    return str(item.get("txMsg") or "")


def whole(value: Any) -> int | None:
    """Return an id that came as a number or as text; None for none (also 0, which names no order)."""
    try:
        return int(value) or None
    except (TypeError, ValueError):
        return None
