"""Receipts: the outcome of a request, as the ledger has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .intents import OPEN, Intent, IntentState


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One order or cancel of a request. `order_id` is None where the venue does not name it; `code` 0 is accepted."""

    cl_ord_id: int | None
    order_id: int | None
    code: int
    message: str

    @property
    def accepted(self) -> bool:
        """True when the venue accepted this item."""
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of one request.

    `state` is SUBMITTED, ACCEPTED, REJECTED (by the answer), FAILED (when it was executed) or UNKNOWN; `code` and
    `message` are the venue's (code None: no response came); `tx_hash` is the transaction; `results` has one entry per order or cancel; `intent` is the id in
    `session.intents()`. A receipt is true in a condition when the request was accepted.
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
        """The venue's id of the (first) order, None where it does not name one."""
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
        is_open = self.state in OPEN
        parts += [_describe(result, is_open) for result in self.results[:8]]
        if len(self.results) > 8:
            parts.append(f"and {len(self.results) - 8} more")
        if self.tx_hash:
            parts.append(f"tx {self.tx_hash[:10]}…")
        return f"<Receipt {', '.join(parts)}>"


def _describe(result: ItemResult, is_open: bool) -> str:
    name = f"order {result.order_id}" if result.order_id else f"clOrdId {result.cl_ord_id}"
    return name if result.accepted or is_open else f"{name} refused: {result.message}"


def receipt(intent: Intent) -> Receipt:
    """Return the receipt of an intent as it stands in the ledger."""
    data = intent.data or {}
    return Receipt(
        action=intent.action,
        state=IntentState.UNKNOWN if intent.state in (IntentState.SENT, IntentState.PREPARED) else intent.state,
        code=intent.code,
        message=intent.message,
        intent=intent.id,
        tx_hash=str(data.get("txHash") or ""),
        tx_code=parse_tx_code(data["txCode"]) if data.get("txCode") is not None else None,
        results=_item_results(intent, data),
        data=dict(data),
    )


def _item_results(intent: Intent, data: Mapping[str, Any]) -> tuple[ItemResult, ...]:
    results = data.get("results")
    if isinstance(results, list):
        return tuple(_item_result(item) for item in results if isinstance(item, Mapping))
    # Actions other than placements and cancels, and refusals before the items were looked at, have no results.
    code = 0 if intent.state is IntentState.ACCEPTED else (intent.code or -1)
    order_id = parse_id(data.get("ordId"))
    ids = intent.client_ids
    return tuple(ItemResult(cl_ord_id, order_id if len(ids) == 1 else None, code, intent.message) for cl_ord_id in ids)


def _item_result(item: Mapping[str, Any]) -> ItemResult:
    return ItemResult(
        cl_ord_id=parse_id(item.get("clOrdId")),
        order_id=parse_id(item.get("ordId")),
        code=parse_tx_code(item.get("txCode")),
        message=str(item.get("txMsg") or ""),
    )


def parse_tx_code(value: Any) -> int:
    """Return a txCode that is a number or its text, 0 where there is none, −1 for what is no number: not accepted."""
    try:
        return int(value) if value is not None else 0
    except (TypeError, ValueError):
        return -1


def parse_id(value: Any) -> int | None:
    """Return an id that is a number or its text, None for anything else and for 0, which is no order's id."""
    try:
        return int(value) or None
    except (TypeError, ValueError):
        return None
