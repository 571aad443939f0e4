"""One client's flood: it is read in slices, waits in its own queue, and costs the others little."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.venue.served import flooding
from tests.venue.served.flooding import answer, frame, order, post, signed, upgrade
from tests.venue.wallets import MASTER
from toolkit.venue.api.gateway import Incoming
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.bounded_feed import Share
from toolkit.venue.served.lanes import FairQueue, Places


def told(port: int, sent: bytes, count: int = 1) -> list[tuple[int, bytes] | None]:
    """Send bytes on one connection and return the first answers to them."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as wire:
        file = wire.makefile("rb")
        with contextlib.suppress(OSError):  # refused before all was sent
            wire.sendall(sent)
        return [answer(file) for _ in range(count)]


def test_jobs_are_taken_in_turn_from_each_address_and_account() -> None:
    jobs = FairQueue()
    for name in ["a1", "a1", "a1", "a2", "b1", "a1", "c9", "c9"]:
        jobs.put(name[0], name[1], name)  # type: ignore[arg-type]
    taken = [jobs.get(0) for _ in range(8)]
    assert taken == ["a1", "b1", "c9", "a2", "c9", "a1", "a1", "a1"]
    assert (jobs.count, jobs.get(0)) == (0, None)


def test_places_are_given_by_key_and_in_order() -> None:
    done: list[str] = []

    async def client(places: Places, name: str) -> None:
        async with places.of(name[0]):
            await asyncio.sleep(0)
            done.append(name)

    async def run() -> None:
        places = Places(1)
        await asyncio.gather(*(client(places, name) for name in ("a1", "a2", "a3", "b1")))

    asyncio.run(run())
    assert done == ["a1", "b1", "a2", "a3"]


@pytest.mark.parametrize("connections", [1, 10, 100])
def test_a_connection_pays_back_the_time_that_it_took(connections: int) -> None:
    share, now, busy = Share(burst=0.01), 0.0, 0.0
    while now < 1_000:
        now, busy = now + 0.002, busy + 0.002
        now += share.spend(0.002, now, connections)
    assert busy / now == pytest.approx(0.3 / max(10, connections), rel=0.05)
    assert share.spend(0.002, now + 1_000, connections) == 0


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(1 << 20, 400), ((1 << 20) + 1, 413)])
def test_a_body_of_one_mebibyte_is_taken_and_no_larger_one(
    venue: LocalVenue, size: int, status: int, chunked: bool
) -> None:
    sent = post(b" " * size)
    if chunked:
        head, _, body = sent.partition(b"\r\n\r\n")
        length = head.rindex(b"Content-Length")
        sent = head[:length] + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % size + body + b"\r\n0\r\n\r\n"
    with venue.serve() as served:
        [found] = told(served.port, sent)
        assert found is not None
        assert found[0] == status


def test_a_burst_of_messages_is_answered_whole_and_refused_as_published(venue: LocalVenue) -> None:
    with venue.serve() as served, socket.create_connection(("127.0.0.1", served.port), timeout=20) as wire:
        upgrade(wire)
        wire.sendall(frame(1, b'{"method":"ping"}') * 60)
        said = b""
        while said.count(b"}\x81") + 1 < 60:
            said += wire.recv(65_536)
        assert (said.count(b"pong"), said.count(b"40220")) == (50, 10)


def test_what_is_signed_by_nobody_is_refused_before_the_journal(tmp_path: Path) -> None:
    with LocalVenue(clock="manual", market=None, accounts=2, journal=tmp_path / "j", sync="os") as venue:
        journal, handle = venue.host.journal, venue.host.gateway.handle
        assert journal is not None
        begun = journal.count
        forged = handle("POST", "/api/v1/exchange", "", json.dumps(order("BUY")).encode())
        assert (forged.code, journal.count) == (40204, begun)
        own = signed(MASTER)().partition(b"\r\n\r\n")[2]
        assert (handle("POST", "/api/v1/exchange", "", own).code, journal.count) == (0, begun + 1)


def test_an_agent_that_is_let_in_by_its_own_group_may_act(venue: LocalVenue) -> None:
    from tests.venue.wallets import Signer
    from toolkit.venue import development

    master, agent = Signer(MASTER), development.agent(0)
    named = {"agentAddress": agent.address, "agentName": "bot", "validitySeconds": 0}
    approve = {"type": "approveAgent", "dexChain": "Testnet", **named}
    cancel = Signer(agent).request({"type": "cancelAll", "symbolCode": 1})
    bodies = [json.dumps(one).encode() for one in (cancel, master.request(approve))]
    group = [Incoming("POST", "/api/v1/exchange", "", body) for body in bodies]
    assert [found.code for found in venue.host.gateway.handle_many(group)] == [0, 0]


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, int]]:
    """A venue in a process of its own: its port and process id."""
    command = [sys.executable, "-m", "toolkit", "venue", "--port", "0", "--accounts", "2", "--balance", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = list(iter(process.stdout.readline, "ready\n"))
            address = next(line for line in lines if line.startswith("Exchange"))
            yield int(address.rpartition(":")[2]), process.pid
        finally:
            process.terminate()
            process.wait(30)


def megabytes(process: int) -> float:
    """Return the memory of a process, 0 where that can't be read."""
    status = Path(f"/proc/{process}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1_000 for line in lines if line.startswith("VmHWM")), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", flooding.FLOODS)
def test_a_neighbours_order_takes_at_most_ten_times_as_long_under_a_flood(kind: str, server: tuple[int, int]) -> None:
    port, process = server
    quiet = statistics.median(flooding.latencies(port, 30))
    command = [sys.executable, "-m", "tests.venue.served.flooding", kind, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as flood:
        try:
            assert flood.stdout is not None
            assert flood.stdout.readline() == "flooding\n"
            under = statistics.median(flooding.latencies(port, 50))
        finally:
            flood.kill()
            flood.wait(30)
    assert under <= 10 * quiet, f"{under * 1000:.1f} ms instead of {quiet * 1000:.1f} ms"
    assert megabytes(process) < 400
