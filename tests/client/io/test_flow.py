"""Flows: both drivers run the same logic; every result and error arrives at the `yield` that waits for it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from toolkit.client.io.flow import (
    AsyncDriver,
    Asynchronous,
    Driver,
    Elapsed,
    Fetch,
    Flow,
    Now,
    RandomFloat,
    Reply,
    Runtime,
    Settle,
    Sleep,
    Synchronous,
    flow,
    subflow,
    together,
    within,
)
from toolkit.errors import NotSent

RUNTIME = Runtime(now=lambda: 1000, random_float=lambda: 0.25)


class Shop:
    @flow
    def price(self, name: str, *, twice: bool = False) -> Flow[str]:
        """Return a price."""
        reply: Reply = yield Fetch("GET", f"/{name}")
        now: int = yield Now()
        draw: float = yield RandomFloat()
        yield Sleep(0.5)
        return f"{reply.body.decode()} {now} {draw}{' twice' if twice else ''}"

    @flow
    def both(self) -> Flow[list[str]]:
        """Return two prices."""
        return (yield from together([subflow(self.price, "a"), subflow(self.price, "b", twice=True)]))

    @flow
    def patient(self) -> Flow[str]:
        """Try again once."""
        try:
            reply: Reply = yield Fetch("GET", "/broken")
        except NotSent:
            reply = yield Fetch("GET", "/fine")
        return reply.body.decode()


class SyncShop(Shop, Synchronous):
    def __init__(self, send: Callable[[Fetch], Reply], slept: list[float]) -> None:
        self._driver = Driver(send, RUNTIME, slept.append)


class AsyncShop(Shop, Asynchronous):
    def __init__(self, send: Callable[[Fetch], Reply], slept: list[float]) -> None:
        async def fetch(request: Fetch) -> Reply:
            await asyncio.sleep(0)
            return send(request)

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        self._driver = AsyncDriver(fetch, RUNTIME, sleep)


def send(request: Fetch) -> Reply:
    if request.path == "/broken":
        raise NotSent("refused")
    if request.path == "/interrupt":
        raise KeyboardInterrupt
    return Reply(200, request.path.encode())


def test_both_drivers_give_a_flow_the_same_answers() -> None:
    slept: list[float] = []
    shop, later = SyncShop(send, slept), AsyncShop(send, slept)
    assert shop.price("x") == "/x 1000 0.25" == asyncio.run(later.price("x"))
    assert shop.both() == ["/a 1000 0.25", "/b 1000 0.25 twice"] == asyncio.run(later.both())
    assert shop.patient() == "/fine" == asyncio.run(later.patient())
    assert slept == [0.5] * 6


def test_methods_show_their_signature_and_docstring() -> None:
    assert inspect.signature(SyncShop.price) == inspect.signature(AsyncShop.price)
    assert str(inspect.signature(SyncShop.price)).endswith("twice: 'bool' = False) -> 'str'")
    assert SyncShop.price.__doc__ == "Return a price."
    assert inspect.iscoroutinefunction(AsyncShop.price)
    assert not inspect.iscoroutinefunction(SyncShop.price)


def test_an_interrupt_is_raised_inside_the_flow() -> None:
    seen: list[Any] = []

    def waiting() -> Flow[None]:
        try:
            yield Fetch("GET", "/interrupt")
        except KeyboardInterrupt as error:
            seen.append(error)
            raise

    with pytest.raises(KeyboardInterrupt):
        Driver(send).run(waiting())
    assert len(seen) == 1


def test_a_flow_is_closed_when_its_driver_fails() -> None:
    closed: list[bool] = []

    def ignoring() -> Flow[None]:
        try:
            yield Now()
            raise ValueError("from the flow")
        finally:
            closed.append(True)

    with pytest.raises(ValueError, match="from the flow"):
        Driver(send).run(ignoring())
    assert closed == [True]


def test_neither_a_person_nor_the_own_queue_uses_up_the_time() -> None:
    now = [0]

    def work() -> Flow[int]:
        yield Sleep(500, queued=True)
        now[0] += 900_000  # somebody is asked for a confirmation
        yield Settle(4)
        yield Fetch("GET", "/")
        yield Sleep(1_000)
        with pytest.raises(NotSent, match="the time for this call is over"):
            yield Fetch("GET", "/")
        return now[0]

    def wait(seconds: float) -> None:
        now[0] += round(seconds * 1000)

    asked: list[float | None] = []

    def send(fetch: Fetch) -> Reply:
        asked.append(fetch.within)
        return Reply(200, b"")

    driver = Driver(send, Runtime(elapsed=lambda: now[0]), wait)
    assert driver.run(within(work(), 10)) == 500_000 + 900_000 + 10_000
    assert asked == [6]


def test_errors_reach_the_flow_and_its_end_is_clean() -> None:
    seen: list[str] = []

    def work() -> Flow[str]:
        try:
            yield Fetch("GET", "/")
        except KeyboardInterrupt:
            seen.append("interrupted")
        try:
            yield Elapsed()
        finally:
            seen.append("closed")
        return "done"

    def interrupted(fetch: Fetch) -> Reply:
        raise KeyboardInterrupt

    assert Driver(interrupted, Runtime(elapsed=lambda: 0)).run(within(work(), 10)) == "done"
    flow = within(work(), 10)
    next(flow)
    flow.close()
    assert seen == ["interrupted", "closed"]
