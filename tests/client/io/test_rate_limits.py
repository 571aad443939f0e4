"""A venue that asks to wait: every session of the process waits, exits have their share, and no order comes late."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import AGENT_KEY, MASTER, NOW, FakeVenue, enveloped
from toolkit import errors, orders
from toolkit.client.io.rate_limits import Rate
from toolkit.client.io.transport import NO_RETRY, Retry


class World:
    """A simulated clock, and the server of a venue that asks to wait. `sent` has second and path of each request."""

    def __init__(self) -> None:
        self.ms, self.sent, self.venue = 0.0, list[tuple[float, str]](), FakeVenue()
        self.answer: Callable[[str], httpx.Response | None] = lambda path: None
        self.transport = httpx.MockTransport(self)

    def now_ms(self) -> int:
        return NOW + int(self.ms)

    def elapsed_ms(self) -> int:
        return int(self.ms)

    def random(self) -> float:
        return 0.5

    def sleep(self, seconds: float) -> None:
        self.ms += seconds * 1000 + 1

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.ms += 20
        self.sent.append((self.ms / 1000, request.url.path))
        given = self.answer(request.url.path)
        return self.venue(request) if given is None else given

    def session(self, **options: Any) -> toolkit.Session:
        given = {"wallet": toolkit.Wallet(agent=AGENT_KEY, account=MASTER), "clock": self, "intents": ":memory:"}
        made = toolkit.connect("testnet", transport=self.transport, **(given | options))
        made.products()
        self.sent.clear()
        return made

    def paths(self) -> list[str]:
        return [path for _, path in self.sent]


def limited(status: int = 429, text: str = "<html>slow down</html>", **headers: str) -> Callable[[str], httpx.Response]:
    return lambda path: httpx.Response(status, text=text, headers={k.replace("_", "-"): v for k, v in headers.items()})


def coded(path: str) -> httpx.Response:
    return enveloped(40220, "too many", headers={"retry-after": "120"})


DATED = {"retry_after": formatdate(NOW / 1000 + 120, usegmt=True)}
ASKING: dict[str, Callable[[str], httpx.Response]] = {
    "429, seconds": limited(retry_after="120"),
    "429, a date by the server's clock": limited(
        date=formatdate(5, usegmt=True), retry_after=formatdate(125, usegmt=True)
    ),
    "429, a date": limited(**DATED),
    "418": limited(418, retry_after="120"),
    "503 with a time": limited(503, retry_after="120"),
    "the venue's code": coded,
}


def test_a_wait_above_a_day_is_shown_as_it_was_said() -> None:
    world = World()
    session, world.answer = world.session(), limited(retry_after="1000000")
    with pytest.raises(errors.RateLimited, match=r"in 1000000\.0 s") as caught:
        session.info.products()
    assert caught.value.retry_after == 1_000_000


@pytest.mark.parametrize("name", ASKING)
def test_a_wait_is_kept_in_full_by_every_session_of_the_process(name: str) -> None:
    world = World()
    sessions = [world.session() for _ in range(4)]
    world.answer = ASKING[name]
    with pytest.raises(errors.RateLimited) as caught:
        sessions[0].info.klines("BTCUSDC", "1m", NOW - 60_000, NOW)
    assert caught.value.retry_after == pytest.approx(120, abs=1)
    assert len(world.sent) == 1
    world.answer = lambda path: None
    while world.ms < 85_000:  # from then on a call sits out what is left
        for session in sessions:
            for call in (lambda s=session: s.info.products(), lambda s=session: asyncio.run(s.aio.info.products())):
                with pytest.raises(errors.RateLimited, match="was not sent: the venue asked to wait") as held:
                    call()
                assert held.value.sent is False
        world.sleep(7)
    assert len(world.sent) == 1
    assert len(sessions[1].info.products()) == 1
    assert world.ms > 120_000


@pytest.mark.parametrize(("count", "most"), [(1, 8), (4, 10)])
def test_refusals_that_name_no_time_are_followed_by_ever_longer_waits(count: int, most: int) -> None:
    """A live run polls several times a second."""
    world = World()
    sessions = [world.session() for _ in range(count)]
    world.answer = limited()
    while world.ms < 60_000:
        for session in sessions:
            with contextlib.suppress(errors.ToolkitError):
                session.info.products()
        world.sleep(0.25)
    assert 5 <= len(world.sent) <= most
    world.answer = lambda path: None
    world.sleep(70)
    for session in sessions * 5:
        session.info.products()
    assert world.ms < 150_000, "after a success nothing waits"


def test_a_short_wait_is_sat_out_by_the_call() -> None:
    world = World()
    session = world.session()
    world.answer = lambda path: limited(retry_after="7")(path) if len(world.sent) == 1 else None
    began = world.ms
    assert len(session.info.products()) == 1
    assert 7_000 <= world.ms - began < 7_200


MOMENT: dict[str, Callable[[toolkit.Session], Any]] = {
    "market": lambda s: s.buy("BTCUSDC", "0.01"),
    "IOC": lambda s: s.sell("BTCUSDC", "0.01", "60000", tif="IOC"),
    "FOK": lambda s: s.place(orders.limit("BTCUSDC", "BUY", "0.01", "60000", tif="FOK")),
    "prepared": lambda s: s.intents.send(s.intents.prepare(orders.market("BTCUSDC", "BUY", "0.01"))),
    "awaited": lambda s: asyncio.run(s.aio.buy("BTCUSDC", "0.01")),
}


@pytest.mark.parametrize("name", MOMENT)
@pytest.mark.parametrize("where", ["queries", "orders", "before"])
def test_an_order_of_the_moment_fails_instead_of_coming_late(name: str, where: str) -> None:
    world = World()
    session = world.session()
    trading = "/api/v1/exchange"
    asks = limited(retry_after="20")
    world.answer = lambda path: asks(path) if (path == trading) == (where == "orders") else None
    if where == "before":
        with contextlib.suppress(errors.RateLimited):
            session.info.klines("BTCUSDC", "1m", NOW - 60_000, NOW)
        world.sent.clear()
        world.answer = lambda path: None
    began = world.ms
    with contextlib.suppress(errors.RateLimited, errors.OutcomeUnknown):
        session_call = MOMENT[name](session)
        assert where == "queries", session_call  # all that the order needed was known
    if where != "queries":
        assert world.paths().count(trading) == (where == "orders")
    assert (world.ms - began) < 8_000
    assert not world.venue.orders or where == "queries"
    world.sleep(30)
    world.answer = lambda path: None
    assert session.buy("BTCUSDC", "0.01", "50000")


def test_an_order_that_rests_waits_its_turn() -> None:
    world = World()
    session = world.session()
    world.answer = lambda path: limited(retry_after="20")(path) if len(world.sent) == 1 else None
    began = world.ms
    session.buy("BTCUSDC", "0.01", "50000")
    assert 20_000 <= world.ms - began < 25_000


def test_this_clients_own_queue_does_not_delay_an_order_of_the_moment() -> None:
    world = World()
    session = world.session(rates=Rate(per_second=0.1, burst=1), retry=NO_RETRY)
    session.buy("BTCUSDC", "0.01", "50000")
    with pytest.raises(errors.RateLimited, match=r"it would wait \d+\.\d s, and its price is of this moment") as caught:
        session.buy("BTCUSDC", "0.01")
    assert caught.value.sent is False
    assert len(world.venue.orders) == 1


EXITS: dict[str, Callable[[toolkit.Session], Any]] = {
    "cancel": lambda s: s.cancel(7, symbol="BTCUSDC"),
    "cancel all": lambda s: s.exchange.cancel_all("BTCUSDC"),
    "reduce-only": lambda s: s.sell("BTCUSDC", "0.01", "70000", reduce_only=True),
    "reduce-only at market": lambda s: s.sell("BTCUSDC", "0.01", reduce_only=True),
}


@pytest.mark.parametrize("name", EXITS)
def test_an_exit_leaves_while_everything_else_waits(name: str) -> None:
    world = World()
    session = world.session(settle_timeout=0)
    session.sell("BTCUSDC", "0.01")  # what the checks read is known
    world.answer = lambda path: limited(retry_after="120")(path) if path.startswith("/info") else None
    with pytest.raises(errors.RateLimited):
        session.info.klines("BTCUSDC", "1m", NOW - 60_000, NOW)
    for _ in range(3):
        with contextlib.suppress(errors.RateLimited):
            session.info.klines("BTCUSDC", "1m", NOW - 60_000, NOW)
    world.sent.clear()
    began = world.ms
    with contextlib.suppress(errors.ActionRejected, errors.OutcomeUnknown):
        EXITS[name](session)
    assert "/api/v1/exchange" in world.paths()
    assert world.ms - began < 5_000


def test_exits_have_a_small_share_and_keep_a_wait_of_their_own() -> None:
    world = World()
    session = world.session(settle_timeout=0, retry=Retry(attempts=1))
    world.answer = limited(retry_after="120")
    with pytest.raises(errors.RateLimited):
        session.info.klines("BTCUSDC", "1m", NOW - 60_000, NOW)
    world.answer = lambda path: None
    world.sent.clear()
    for _ in range(20):
        with contextlib.suppress(errors.ToolkitError):
            session.exchange.cancel_all(1)
    assert world.paths().count("/api/v1/exchange") == 20
    assert 5_000 < world.ms < 20_000
    world.answer = limited(retry_after="120")
    for _ in range(5):
        with pytest.raises(errors.ToolkitError):
            session.exchange.cancel_all(1)
    assert world.paths().count("/api/v1/exchange") == 21, "an exit that was refused waits as the venue asks"


def test_a_limit_of_one_action_of_one_account_stops_no_other() -> None:
    world = World()
    mine, other = world.session(), world.session(wallet=toolkit.Wallet(agent=AGENT_KEY, account="0x" + "7" * 40))
    world.answer = lambda path: coded(path) if path == "/api/v1/exchange" else None
    with pytest.raises(errors.ToolkitError):
        mine.exchange.set_leverage("BTCUSDC", 3)
    world.answer = lambda path: None
    with pytest.raises(errors.RateLimited, match="was not sent"):
        mine.exchange.set_leverage("BTCUSDC", 3)
    mine.info.products()
    assert mine.buy("BTCUSDC", "0.01", "50000")
    assert other.exchange.set_leverage("BTCUSDC", 3)


def test_threads_that_waited_do_not_come_back_together() -> None:
    lock, world = threading.Lock(), World()
    refused, passed = [0], [0]

    def answer(request: httpx.Request) -> httpx.Response:
        with lock:
            refused[0] += refused[0] < 1
            passed[0] += 1
            first = passed[0] == 1
        return httpx.Response(429, headers={"retry-after": "0.3"}) if first else world.venue(request)

    session = toolkit.connect("testnet", transport=httpx.MockTransport(answer), retry=Retry(attempts=6))
    threads = [threading.Thread(target=session.info.products, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
