"""Queries for an outcome: how often, how long, and what they believe; driven by hand, so that no time passes."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.client.orders.test_ledgers import INTENT
from toolkit.client.io.flow import Elapsed, Fetch, Flow, RandomFloat, Reply, Settle
from toolkit.client.io.transport import Retry
from toolkit.client.orders.outcome import FIRST_WAIT, LONGEST_WAIT, Missing, poll_execution, poll_outcome

HALF = 0.5
ONE = replace(INTENT, client_ids=(5000,))


def waits(flow: Flow[Any], elapsed_ms: float) -> tuple[list[float], Any]:
    """Run a flow against a venue that shows nothing; return what it waits between its queries, and its result.

    `elapsed_ms` is what the clock shows more with each second that is waited.
    """
    waited: list[float] = []
    answer: Any = None
    asked = True
    body = json.dumps({"code": 0, "message": "success", "data": {"total": 0, "items": []}}).encode()
    while True:
        try:
            request = flow.send(answer)
        except StopIteration as done:
            return waited, done.value
        if isinstance(request, Settle):
            waited[len(waited) - (not asked) :] = [request.seconds + (0 if asked else waited[-1])]
        asked = isinstance(request, Fetch) or (asked and not isinstance(request, Settle))
        answer = {
            Fetch: Reply(200, body), Elapsed: 5_000 + int(sum(waited) * elapsed_ms), RandomFloat: HALF,
        }.get(type(request))  # fmt: skip


@pytest.mark.parametrize("elapsed_ms", [0, 1_000], ids=["a clock that stands still", "a clock that runs"])
@pytest.mark.parametrize("timeout", [0.0, 0.05, 0.4, 7.0])
def test_an_execution_is_asked_for_less_and_less_often_until_the_time_is_over(timeout: float, elapsed_ms: int) -> None:
    waited, found = waits(poll_execution(ONE, timeout, lambda: False), elapsed_ms)
    assert isinstance(found, Missing)
    assert sum(waited) == pytest.approx(timeout)
    doubled = [min(LONGEST_WAIT, FIRST_WAIT * 2**at) for at in range(len(waited))]
    assert waited[:-1] == pytest.approx(doubled[:-1])
    assert all(wait <= most for wait, most in zip(waited, doubled, strict=True))


def test_a_slow_venue_uses_up_the_time_as_well() -> None:
    waited, _ = waits(poll_execution(ONE, 7.0, lambda: False), 10_000)
    assert 0.5 < sum(waited) < 1.5, "each second of waiting took ten"


def test_it_ends_when_somebody_else_knows() -> None:
    known = iter([False] * 9 + [True])
    waited, found = waits(poll_execution(ONE, 7.0, lambda: next(known)), 0)
    assert isinstance(found, Missing)
    assert sum(waited) <= 10 * FIRST_WAIT + 1e-9, "it looks at least every FIRST_WAIT"


@pytest.mark.parametrize("timeout", [0.0, 3.0])
@pytest.mark.parametrize("attempts", [1, 4])
def test_an_outcome_is_asked_for_as_often_and_as_long_as_was_asked(attempts: int, timeout: float) -> None:
    retry = Retry(attempts=attempts)
    waited, found = waits(poll_outcome(ONE, retry, timeout), 0)
    assert isinstance(found, Missing)
    # Three quarters of the longest: half of the jitter is left out, and the random number is a half.
    assert waited[:attempts] == pytest.approx([0.75 * 0.2 * 2**at for at in range(attempts)])
    more = waited[attempts:]
    assert more == pytest.approx([min(LONGEST_WAIT, FIRST_WAIT * 2 ** (at + 1)) for at in range(len(more))])
    assert sum(waited) >= timeout > sum(waited) - LONGEST_WAIT or not more


@pytest.mark.parametrize(("elapsed_ms", "pauses"), [(999, 1), (1_000, 0), (1_001, 0)])
def test_no_pause_begins_once_the_time_is_over(elapsed_ms: int, pauses: int) -> None:
    flow = poll_execution(ONE, 1.0, lambda: True)
    waited: list[Any] = []
    assert flow.send(None) == Elapsed()
    answer: Any = 0
    body = json.dumps({"code": 0, "message": "success", "data": []}).encode()
    with suppress(StopIteration):
        while True:
            request = flow.send(answer)
            if isinstance(request, Settle):
                waited.append(round(request.seconds, 9))
            answer = elapsed_ms if isinstance(request, Elapsed) else Reply(200, body)
    assert waited == [0.001] * pauses
