"""Answers that are another request's, contradict themselves or leave the outcome open are asked about."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import FakeVenue, enveloped, session
from toolkit import errors
from toolkit.client.orders.intents import IntentState

Change = Callable[[dict[str, Any]], httpx.Response | None]


class Altered:
    """A venue whose answers to exchange requests are altered on their way: the first `times` of them."""

    def __init__(self, change: Change, *, executes: bool = True, times: int = 1) -> None:
        self.inner, self.change, self.executes, self.times = FakeVenue(), change, executes, times

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path != "/api/v1/exchange" or not self.times:
            return self.inner(request)
        self.times -= 1
        answer = {"code": 0, "message": "success", "data": {"txHash": "0x1", "txCode": 0, "txMsg": "success"}}
        if self.executes:
            answer = json.loads(self.inner(request).content)
        return self.change(answer) or httpx.Response(200, json=answer)


def other_id(answer: dict[str, Any]) -> None:
    if answer["data"]:
        answer["data"]["results"] = [{"clOrdId": 99, "ordId": 7, "txCode": 0, "txMsg": "success"}]


def too_many(answer: dict[str, Any]) -> None:
    if answer["data"]:
        answer["data"]["results"] = [{"ordId": number, "txCode": 0} for number in (7, 8)]


def not_found(answer: dict[str, Any]) -> httpx.Response:
    return httpx.Response(404, json={**answer, "code": 0})


def buy(s: toolkit.Session) -> toolkit.Receipt:
    return s.buy("BTCUSDC", "0.01", price="60000")


@pytest.mark.parametrize("change", [other_id, too_many, not_found])
@pytest.mark.parametrize("executes", [True, False])
@pytest.mark.parametrize("times", [1, 3])
def test_an_answer_that_is_another_requests_is_not_believed(change: Change, executes: bool, times: int) -> None:
    venue = Altered(change, executes=executes, times=times)
    s = session(venue)
    if not executes and times == 3:
        # No answer was the request's own, and the venue knows no such order: it may still be on its way.
        with pytest.raises(errors.OutcomeUnknown):
            buy(s)
        (receipt,) = s.resolve()
    else:
        receipt = buy(s)
    assert receipt.state is IntentState.ACCEPTED
    assert receipt.order_id == 501
    assert venue.inner.placed == 1


OPEN_ANSWERS = {
    "40231": lambda _: enveloped(40231, "broadcast failed"),
    "40230 without transaction": lambda _: enveloped(40230, "call failed"),
    "50000": lambda _: enveloped(50000, "internal error"),
    "503 and 40204": lambda _: enveloped(40204, "signature", status=503),
    "500 and 40230": lambda _: enveloped(40230, "call failed", {"txHash": "0x1", "txCode": 3}, status=500),
    "all accepted, and refused": lambda answer: enveloped(40230, "call failed", answer["data"]),
}


@pytest.mark.parametrize("name", OPEN_ANSWERS)
def test_codes_that_leave_the_outcome_open_are_asked_about(name: str) -> None:
    venue = Altered(OPEN_ANSWERS[name])
    s = session(venue)
    receipt = buy(s)
    assert (receipt.state, receipt.order_id) == (IntentState.ACCEPTED, 501)
    assert len(venue.inner.bodies) == 1
