"""Every call that trades ends in bounded time, however many questions it asks and however slowly they are answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import toolkit
from tests.client.fake import Clock, FakeVenue, session
from toolkit import errors
from toolkit.client.io.flow import Fetch, Reply, Runtime, monotonic_ms
from toolkit.client.io.transport import RETRY, TOTAL
from toolkit.client.orders.intents import IntentState

BOUND_MS = 2 * RETRY.total * 1000


class Slow:
    """A network that uses up the time of every request; while `silent`, nothing comes back then."""

    def __init__(self, s: toolkit.Session) -> None:
        self.elapsed_ms, self.requests, self.silent = monotonic_ms(), 0, True
        self.driver, self.inner, self.timeout = s._driver, s._driver._send, s._timeout
        s._driver._send = self.send
        s._driver._sleep = s._driver._settle = self.sleep
        s._driver._runtime = Runtime(Clock().now_ms, elapsed=lambda: self.elapsed_ms)
        s._delivery.retry = RETRY
        s._catalogue.__init__()  # type: ignore[misc]

    def end(self) -> None:
        """Let requests take no time any more."""
        self.driver._send = self.inner

    def sleep(self, seconds: float) -> None:
        self.elapsed_ms += round(seconds * 1000)

    def send(self, fetch: Fetch) -> Reply:
        self.requests += 1
        seconds = min(TOTAL * self.timeout, fetch.within or float("inf"))
        assert seconds > 0
        self.elapsed_ms += round(seconds * 1000)
        if self.silent:
            raise errors.TimedOut("no answer")
        return self.inner(fetch)

    def took(self, call: Callable[[], Any]) -> int:
        began = self.elapsed_ms
        with suppress(errors.ToolkitError):
            call()
        return self.elapsed_ms - began


def in_doubt(count: int) -> tuple[toolkit.Session, FakeVenue]:
    """Return a session with orders of an unknown outcome."""
    fake = FakeVenue(["lost"] * 3 * count)
    s = session(fake)
    for _ in range(count):
        with pytest.raises(errors.OutcomeUnknown):
            s.buy("BTCUSDC", "0.01", price="60000")
    return s, fake


CALLS: dict[str, Callable[[toolkit.Session], Any]] = {
    "buy": lambda s: s.buy("BTCUSDC", "0.01", price="60000"),
    "leverage": lambda s: s.exchange.set_leverage("BTCUSDC", 5),
    "exchange": lambda s: s.exchange.cancel_all("BTCUSDC", False),
    "cancel_all": lambda s: s.cancel_all(),
    "close_position": lambda s: s.close_position("BTCUSDC"),
    "resolve": lambda s: s.resolve(),
    "order": lambda s: s.order(77),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("silent", [True, False])
def test_a_call_ends_in_its_time(name: str, silent: bool) -> None:
    s, _ = in_doubt(12)
    slow = Slow(s)
    slow.silent = silent
    assert slow.took(lambda: CALLS[name](s)) <= BOUND_MS
    assert 0 < slow.requests < 40


def test_what_time_did_not_suffice_for_stays_open_and_is_settled_later() -> None:
    s, fake = in_doubt(12)
    slow = Slow(s)
    assert slow.took(s.resolve) <= BOUND_MS
    assert list(s.intents()["state"]) == ["UNKNOWN"] * 12
    slow.end()
    assert [receipt.state for receipt in s.resolve()] == [IntentState.ACCEPTED] * 12
    assert fake.placed == 12


def test_a_wait_ends_in_the_time_that_it_was_given() -> None:
    s = session(FakeVenue())
    receipt = s.buy("BTCUSDC", "0.01", price="60000")
    slow = Slow(s)

    def wait() -> None:
        with pytest.raises(errors.WaitTimeout):
            receipt.wait("filled", timeout=3)

    assert slow.took(wait) <= 4_000
