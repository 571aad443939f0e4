"""What a ticket shows of the order that it follows: status, words and steps after each event and each failure."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from toolkit.errors import ActionRejected, OutcomeUnknown, TimedOut
from toolkit.protocol.orders.order_actions import OrderAction
from toolkit.widgets.order_ticket.order_tracker import OrderTracker, TwapTracker

D = Decimal
ORDERS = [
    {"ordQty": "2", "ordPx": "60000"},
    {"ordQty": "2", "triggerPx": "70000", "reduceOnly": "TP_FROM_POSITION"},
    {"ordQty": "2", "triggerPx": "50000", "reduceOnly": "SL_FROM_POSITION"},
    {"ordQty": "3", "ordPx": "59000"},
]


def tracker() -> OrderTracker:
    action = OrderAction.recall({"type": "placeOrder", "orders": ORDERS})
    prepared: Any = SimpleNamespace(client_ids=(7, 8, 9, 10), action=action)
    return OrderTracker(prepared, "BUY 2")


def event(status: str, client_id: Any = 7, **changes: Any) -> dict[str, Any]:
    return {"client_order_id": client_id, "status": status, "quantity": D(2), **changes}


def fill(status: str, price: str, quantity: str, **changes: Any) -> dict[str, Any]:
    return event(status, fill_price=D(price), fill_quantity=D(quantity), **changes)


FIRST = fill("PARTIALLY_FILLED", "60000", "0.50")
SECOND = fill("FILLED", "60002", "1.5")


@pytest.mark.parametrize(
    ("events", "status", "words", "last"),
    [
        ([event("NEW")], "RESTING", "rests in the book", ["rests in the book", "now"]),
        ([event("ORDER_STATUS_UNTRIGGERED")], "WAITING", "waits for its trigger", ["waits for its trigger", "now"]),
        ([FIRST], "PARTIALLY_FILLED", "partially filled: 0.5 at 60,000, 1.5 open", ["partially filled", "now"]),
        (
            [{**FIRST, "remaining": D("1.25")}], "PARTIALLY_FILLED", "partially filled: 0.5 at 60,000, 1.25 open",
            ["partially filled", "now"],
        ),
        (
            [{**FIRST, "remaining": D(0)}], "PARTIALLY_FILLED", "partially filled: 0.5 at 60,000",
            ["partially filled", "now"],
        ),
        (
            [{**FIRST, "quantity": None}], "PARTIALLY_FILLED", "partially filled: 0.5 at 60,000",
            ["partially filled", "now"],
        ),
        ([FIRST, event("NEW")], "RESTING", "rests in the book: 0.5 at 60,000, 1.5 open", ["rests in the book", "now"]),
        ([FIRST, SECOND], "FILLED", "filled: 2 at 60,001.5", ["filled", "done"]),
        ([fill("FILLED", "0.12345678", "2")], "FILLED", "filled: 2 at 0.123457", ["filled", "done"]),
        ([event("CANCELED", reason="by the user")], "CANCELED", "cancelled: by the user", ["cancelled", "bad"]),
        (
            [FIRST, event("CANCELED", remaining=D("1.5"))], "CANCELED", "cancelled: 0.5 at 60,000",
            ["cancelled", "bad"],
        ),
        ([event("FILLED", reason="unseen")], "FILLED", "filled", ["filled", "done"]),
        ([event("LOST")], "LOST", "lost", ["filled", "later"]),
    ],
)  # fmt: skip
def test_events_become_a_status_with_its_words_and_steps(
    events: list[dict[str, Any]], status: str, words: str, last: list[str]
) -> None:
    followed = tracker()
    followed.add_events(events)
    assert followed.view() == {
        "summary": "BUY 2", "status": status, "words": words, "steps": [["sent", "done"], ["accepted", "done"], last],
        "children": ["take profit at 70000: sent", "stop loss at 50000: sent", "3 at 59000: sent"],
    }  # fmt: skip


def test_an_order_is_sent_then_accepted_before_its_first_event() -> None:
    followed = tracker()
    assert (followed.status, followed.words(), followed.filled, followed.average_price) == (
        "SENT", "sent, no response yet", D(0), None,
    )  # fmt: skip
    assert followed.view()["steps"] == [["sent", "done"], ["accepted", "now"], ["filled", "later"]]
    followed.receipt = SimpleNamespace()  # type: ignore[assignment]
    assert (followed.status, followed.words()) == ("ACCEPTED", "accepted")
    assert followed.view()["steps"] == [["sent", "done"], ["accepted", "done"], ["filled", "later"]]


def test_only_new_events_of_its_own_orders_count() -> None:
    followed = tracker()
    followed.add_events([FIRST, FIRST, event("CANCELED", client_id=11), event("NEW", client_id=None)])
    followed.add_events([FIRST])  # again after a reconnect
    assert list(followed.events) == [FIRST]
    assert followed.filled == D("0.5")
    followed.add_events([event("NEW", client_id="8"), event("FILLED", client_id=9), event("CANCELED", client_id=10)])
    assert followed.status == "PARTIALLY_FILLED"
    assert followed.view()["children"] == [
        "take profit at 70000: rests in the book", "stop loss at 50000: filled", "3 at 59000: cancelled",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "status", "words", "steps"),
    [
        (
            ActionRejected("no margin", action="placeOrder"),
            "REJECTED", "rejected: no margin", [["sent", "done"], ["rejected", "bad"]],
        ),
        (
            OutcomeUnknown("no answer"), "UNKNOWN", "outcome unknown: no answer",
            [["sent", "done"], ["outcome unknown", "bad"]],
        ),
        (KeyboardInterrupt(), "UNKNOWN", "outcome unknown", [["sent", "done"], ["outcome unknown", "bad"]]),
        (TimedOut("no route"), "NOT_SENT", "not sent: no route", [["sent", "bad"], ["not sent", "bad"]]),
        (ValueError("bad"), "NOT_SENT", "not sent: bad", [["sent", "bad"], ["not sent", "bad"]]),
    ],
)  # fmt: skip
def test_a_failure_is_rejected_unknown_or_not_sent(
    error: BaseException, status: str, words: str, steps: list[list[str]]
) -> None:
    followed: Any = tracker()
    if isinstance(error, ActionRejected):
        error.receipt = "the receipt"
    assert followed.record_failure(error)
    view = followed.view()
    assert (view["status"], view["words"], view["steps"]) == (status, words, steps)
    assert followed.receipt == ("the receipt" if status == "REJECTED" else None)
    followed.add_events([event("NEW")])  # the feed knows better
    assert (followed.status, followed.words()) == ("RESTING", "rests in the book")


def test_a_rejection_by_the_feed_has_its_reason() -> None:
    followed = tracker()
    followed.add_events([event("REJECTED", reason="post only")])
    view = followed.view()
    assert (view["words"], view["steps"]) == ("rejected: post only", [["sent", "done"], ["rejected", "bad"]])


class StartedTwap:
    """The parent orders of a session, which start one TWAP."""

    def __init__(self, status: str, message: str, filled: str, average: str | None) -> None:
        self.plan = SimpleNamespace(
            done=2, filled=D(filled), message=message, average_price=None if average is None else D(average)
        )
        self.status = status

    def start_twap(self, twap: Any, prepared: Any) -> Any:
        self.plan.twap, self.prepared = twap, prepared
        return self


@pytest.mark.parametrize(
    ("status", "message", "filled", "average", "words", "step"),
    [
        ("RUNNING", "", "0", None, "running: 2 of 5 orders, 0 filled", ["running", "now"]),
        ("FINISHED", "", "0.20", "60000.12345678", "finished: 2 of 5 orders, 0.2 filled at 60,000.123457",
         ["finished", "done"]),
        ("STOPPED", "no margin", "0.1", "60000", "stopped: 2 of 5 orders, 0.1 filled at 60,000. no margin",
         ["stopped", "bad"]),
    ],
)  # fmt: skip
def test_a_twap_shows_the_progress_of_its_parent_order(
    status: str, message: str, filled: str, average: str | None, words: str, step: list[str]
) -> None:
    twap: Any = SimpleNamespace(slices=5, describe=lambda: "TWAP of 1")
    followed: Any = TwapTracker(twap)
    assert (followed.status, followed.words(), followed.view(), followed.receipt) == ("", "", None, None)
    assert followed.record_failure(ValueError("bad")) is False
    parent = StartedTwap(status, message, filled, average)
    prepared: Any = "the request"
    assert followed.send(SimpleNamespace(parent_orders=parent), prepared) is parent
    assert (parent.plan.twap, parent.prepared, followed.status) == (twap, "the request", status)
    assert followed.view() == {
        "summary": "TWAP of 1", "status": status, "words": words, "steps": [["sent", "done"], step], "children": [],
    }  # fmt: skip
