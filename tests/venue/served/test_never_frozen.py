"""A served venue answers meanwhile: while time passes, while a query is long, and when it is told to stop."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.venue.wallets import MASTER, Signer
from toolkit.errors import VenueError
from toolkit.venue.api import info_answers as info
from toolkit.venue.api.gateway import Answer, Incoming, enveloped
from toolkit.venue.api.info_pages import Values
from toolkit.venue.clocks import RealClock
from toolkit.venue.engine.core import Core
from toolkit.venue.lab.ticker import Steps
from toolkit.venue.local import LocalVenue
from toolkit.venue.served.server import Served

WALLET = "/info/account/wallet"


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", accounts=2) as made:
        yield made


@pytest.fixture
def served(venue: LocalVenue) -> Iterator[Served]:
    with venue.serve(control=True) as made:
        yield made


def body_of(signer: Signer) -> bytes:
    """Return a signed withdrawal."""
    action = {"type": "withdraw", "destination": MASTER.address, "amount": "2"}
    return json.dumps(signer.request(action)).encode()


def while_it_runs(work: Callable[[], object], meanwhile: Callable[[], object]) -> int:
    """Run `work` on a thread and `meanwhile` until it is done; return how often that was."""
    thread = threading.Thread(target=work)
    thread.start()
    count = 0
    while thread.is_alive():
        meanwhile()
        count += 1
    thread.join()
    return count


def test_requests_are_answered_while_time_passes(venue: LocalVenue, served: Served) -> None:
    started = venue.host.now_ms()
    token = {"authorization": f"Bearer {served.control_token}"}
    signer, seen, codes = Signer(MASTER), set(), set()
    with httpx.Client(base_url=served.base_url, timeout=60) as client:

        def advance() -> None:
            assert client.post("/control/advance", json={"span": "1h"}, headers=token).json()["code"] == 0

        def meanwhile() -> None:
            answer = client.get(WALLET, params={"userAddr": MASTER.address})
            seen.add(answer.headers["x-venue-time"])
            body = signer.request({"type": "withdraw", "destination": MASTER.address, "amount": "2"})
            codes.add(client.post("/api/v1/exchange", json=body).json()["code"])

        assert while_it_runs(advance, meanwhile) >= 2
    assert len(seen) >= 2
    assert codes == {0}
    assert venue.host.now_ms() >= started + 3_600_000


def test_a_journal_replays_what_came_in_while_time_passed(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    with LocalVenue(clock="manual", accounts=2, journal=path, sync="os") as venue:
        signer = Signer(MASTER)

        def meanwhile() -> None:
            assert venue.host.gateway.handle("POST", "/api/v1/exchange", (), body_of(signer)).code == 0

        assert while_it_runs(lambda: venue.advance("1h"), meanwhile) >= 2
        digest = venue.control.state_hash()
    with LocalVenue(clock="manual", journal=path, sync="os") as again:
        assert again.control.state_hash() == digest


def test_steps_grow_until_they_take_long_enough() -> None:
    steps = Steps()
    for _ in range(4):
        steps.pause()
    assert steps.span_ms > 900_000


def test_a_venue_that_lags_behind_its_clock_answers_and_says_so(venue: LocalVenue) -> None:
    fast = LocalVenue(clock=RealClock(speed=1_000_000), accounts=1)
    with fast, fast.serve() as served, httpx.Client(base_url=served.base_url) as client:
        deadline = time.monotonic() + 20
        while (answer := client.get("/ready")).status_code != 503:
            assert time.monotonic() < deadline
        assert "catching up" in answer.json()["message"]
        assert client.get("/health").status_code == 200
        assert client.get(WALLET, params={"userAddr": MASTER.address}).json()["code"] == 0


def test_idle_days_are_skipped_on_request(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    day = 86_400_000
    with LocalVenue(accounts=1, start=1_767_225_600_000, journal=path, sync="os") as venue:
        price = venue.host.core.state.markets[1].oracle
    later = RealClock(start=1_767_225_600_000 + day)
    with LocalVenue(clock=later, journal=path, sync="os", idle="skip") as venue:
        assert venue.host.catch_up() >= 1_767_225_600_000 + day
        assert venue.host.core.state.markets[1].oracle == price  # nobody has traded, and nothing was drawn
        assert venue.host.core.state.history.funding_rates[1]  # all else happened
        venue.advance("1m")
        assert venue.host.core.state.markets[1].oracle != price
        digest = venue.control.state_hash()
    with LocalVenue(clock="manual", journal=path, sync="os") as again:
        assert again.control.state_hash() == digest
        assert again.host.core.violations() == []


class Slow:
    """A query that waits until it is let go."""

    def __init__(self) -> None:
        self.begun, self.let_go = threading.Event(), threading.Event()

    def __call__(self, incoming: Incoming) -> Answer:
        self.begun.set()
        assert self.let_go.wait(30)
        return enveloped(200, 0, "success", "late")


def test_a_long_query_holds_up_neither_orders_nor_other_queries(venue: LocalVenue, served: Served) -> None:
    slow = Slow()
    venue.host.gateway.routes["/info/kline/list/everything"] = slow
    answers: list[httpx.Response] = []
    with httpx.Client(base_url=served.base_url, timeout=60) as client:
        asking = threading.Thread(target=lambda: answers.append(client.get("/info/kline/list/everything")))
        asking.start()
        assert slow.begun.wait(10)
        body = Signer(MASTER).request({"type": "withdraw", "destination": MASTER.address, "amount": "2"})
        assert client.post("/api/v1/exchange", json=body).json()["code"] == 0
        assert client.get(WALLET, params={"userAddr": MASTER.address}).json()["code"] == 0
        assert client.get("/health").status_code == 200
        assert not answers
        slow.let_go.set()
        asking.join(10)
    assert answers[0].json()["data"] == "late"


def test_a_long_history_is_computed_without_the_lock(venue: LocalVenue, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, let_go = threading.Event(), threading.Event()
    venue.advance("3m")
    query = "/info/kline/list", "symbol_name=BTCUSDC&interval=60&startTime=1767225600000&endTime=1767225900000"
    first = venue.host.gateway.handle("GET", *query)
    assert first.code == 0
    klines = info.QUERIES["klines"]

    def slow(core: Core, values: Values) -> Any:
        begun.set()
        assert let_go.wait(30)
        return klines(core, values)

    monkeypatch.setitem(info.QUERIES, "klines", slow)
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(venue.host.gateway.handle("GET", *query)))
    asking.start()
    assert begun.wait(10)
    venue.control.add_liquidity("BTCUSDC", "SELL", "1", "0.001")  # trades, and so changes the last candle
    venue.advance("5m")
    let_go.set()
    asking.join(10)
    assert answers[0].body == first.body  # as of the moment it was asked
    monkeypatch.undo()
    assert venue.host.gateway.handle("GET", *query).body != first.body


def test_orders_of_one_moment_are_written_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    with LocalVenue(clock="manual", market=False, accounts=1, journal=path) as venue:
        signer = Signer(MASTER)
        bodies = [body_of(signer) for _ in range(20)]
        requests = [Incoming("POST", "/api/v1/exchange", (), body) for body in bodies]
        odd = [
            Incoming("POST", "/api/v1/exchange", (), b"{"),
            Incoming("GET", WALLET),
            Incoming("GET", "/nowhere"),
        ]
        assert venue.host.journal is not None
        commits: list[int] = []
        venue.host.journal._db.set_trace_callback(lambda text: commits.append(1) if text.startswith("COMMIT") else None)
        before = venue.host.journal.count
        answers = venue.host.gateway.handle_many([*requests[:10], *odd, *requests[10:], requests[0]])
        assert len(commits) == 1
        assert venue.host.journal.count == before + 21  # the repeated one is an entry as well; its nonce is refused
        assert [answer.code for answer in answers] == [0] * 10 + [40003, 40003, 404] + [0] * 10 + [40207]
        digest = venue.control.state_hash()
    with LocalVenue(clock="manual", journal=path) as again:
        assert again.control.state_hash() == digest


def test_a_group_that_cannot_be_written_is_not_applied(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    with LocalVenue(clock="manual", market=False, accounts=1, journal=path) as venue:
        signer = Signer(MASTER)
        assert venue.host.journal is not None

        def refuse(*_: object) -> None:
            raise VenueError("the disk is full")

        before, write = venue.control.state_hash(), venue.host.journal.append
        venue.host.journal.append = refuse  # type: ignore[method-assign]
        requests = [Incoming("POST", "/api/v1/exchange", (), body_of(signer)) for _ in range(3)]
        assert [answer.status for answer in venue.host.gateway.handle_many(requests)] == [503] * 3
        assert venue.control.state_hash() == before
        venue.host.journal.append = write  # type: ignore[method-assign]
        assert [answer.code for answer in venue.host.gateway.handle_many(requests)] == [0] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of file descriptors")
def test_running_out_of_file_descriptors_is_reported_once_and_survived() -> None:
    program = (
        "import resource, sys; from toolkit.__main__ import main; import uvicorn, starlette.websockets, websockets;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40));"
        "sys.exit(main(['venue', '--port', '0', '--clock', 'manual', '--no-market', '--accounts', '1']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line == "ready\n":
                break
        port = int(lines[0].rpartition(":")[2])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(80)]
        assert "no file descriptors are left" in process.stderr.readline()
        for wire in held:
            wire.close()
        assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=30).status_code == 200
        process.terminate()
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
