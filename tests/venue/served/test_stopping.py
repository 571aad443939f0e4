"""SIGINT and SIGTERM end a served venue within a second, whatever it is doing."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from tests.cli.test_venue_command import command
from toolkit.venue.development import master
from toolkit.venue.engine.commands import Advance, Control
from toolkit.venue.lab.journal import Journal
from toolkit.venue.lab.journal_file import first_entries, write_file
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import GENESIS_TIME, Genesis
from toolkit.venue.model.market import saved

LIMIT = 1.3
"""Seconds until the process has ended: a second, and what starting to end and looking for it takes."""
SLOW_DUMPS = """
import sys, time
from toolkit.venue.engine import dump_format
from toolkit.__main__ import main
encoded, dump_format.RECORDS = dump_format._encoded, 1
def slowly(parts):
    for part in encoded(parts):
        time.sleep(0.01)
        yield part
dump_format._encoded = slowly
sys.exit(main(sys.argv[1:]))
"""
"""A state so large that its dump takes long, in short."""


def ended(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> None:
    """Send a signal, and assert that the process ends in time, and cleanly.

    The time is what this process, busy waiting, gets of a processor meanwhile: on a crowded machine the venue gets no
    more than that either.
    """
    began, used = time.monotonic(), time.process_time()
    process.send_signal(number)
    while process.poll() is None:
        spent = time.process_time() - used
        assert spent < LIMIT, f"it takes {spent:.2f} s of {time.monotonic() - began:.2f} s"
    assert process.returncode == 0


class Running:
    """A served venue, and threads that use it until it is gone."""

    def __init__(self, address: str, lines: Sequence[str], threads: ExitStack) -> None:
        self.address = address
        tokens = [line.split()[-1] for line in lines if line.startswith("control token")]
        self._headers = {"authorization": f"Bearer {tokens[0]}"}
        self._threads = threads

    def meanwhile(self, work: Callable[[], object]) -> None:
        """Do something on a thread until the venue no longer answers."""

        def run() -> None:
            with contextlib.suppress(httpx.HTTPError):
                work()

        thread = threading.Thread(target=run)
        thread.start()
        self._threads.callback(thread.join, 20)

    def control(self, name: str, **arguments: object) -> httpx.Response:
        """Call a control."""
        url = f"{self.address}/control/{name}"
        return httpx.post(url, json=arguments, headers=self._headers, timeout=60)

    def query(self, path: str = "/health") -> httpx.Response:
        """Ask something."""
        return httpx.get(self.address + path, timeout=60)


def idle(venue: Running) -> None:
    """Do nothing."""


def advancing(venue: Running) -> None:
    """Be in the middle of a long advance."""
    first = venue.query().json()["data"]["time"]
    venue.meanwhile(lambda: venue.control("advance", span="900d"))
    while venue.query().json()["data"]["time"] == first:
        pass


def dumping(venue: Running) -> None:
    """Be in the middle of a dump, with another one to come at the end."""
    assert venue.control("advance", span="2h").json()["code"] == 0
    venue.meanwhile(lambda: venue.control("snapshot"))
    for _ in range(3):
        venue.query()


def loaded(venue: Running) -> None:
    """Have as many requests as it can answer, short ones and long ones."""

    def forever(path: str) -> None:
        with httpx.Client(base_url=venue.address, timeout=60) as client:
            while True:
                client.get(path)

    query = f"/info/account/wallet?userAddr={master(0).address}"
    for path in (*[query] * 6, "/info/kline/list?symbol_name=ETHUSDC&interval=60", "/health"):
        venue.meanwhile(lambda path=path: forever(path))
    for _ in range(20):
        venue.query(query)


MANUAL = ("--clock", "manual")


@pytest.mark.parametrize(
    ("reach", "options", "number"),
    [
        (idle, (), "SIGINT"),
        (advancing, MANUAL, "SIGTERM"),
        pytest.param(idle, (), "SIGTERM", marks=pytest.mark.slow),
        pytest.param(advancing, MANUAL, "SIGINT", marks=pytest.mark.slow),
        pytest.param(idle, ("--speed", "1000000"), "SIGTERM", marks=pytest.mark.slow, id="lagging"),
        pytest.param(loaded, (), "SIGTERM", marks=pytest.mark.slow),
        pytest.param(loaded, (), "SIGINT", marks=pytest.mark.slow),
    ],
)
def test_it_stops_within_a_second_in_every_state(
    reach: Callable[[Running], None], options: tuple[str, ...], number: str
) -> None:
    with (
        ExitStack() as threads,
        command("--port", "0", "--accounts", "1", "--control", *options) as (process, address, lines),
        httpx.Client(base_url=address) as held,
    ):
        held.get("/health")  # a connection that stays open
        reach(Running(address, lines, threads))
        ended(process, getattr(signal, number))


@pytest.mark.slow
def test_it_stops_within_a_second_while_dumps_take_long(tmp_path: Path) -> None:
    path = tmp_path / "j"
    options = ("--port", "0", "--accounts", "1", "--control", "--journal", str(path), *MANUAL)
    with (
        ExitStack() as threads,
        command(*options, program=("-c", SLOW_DUMPS)) as (process, address, lines),
    ):
        dumping(Running(address, lines, threads))
        ended(process)
    with LocalVenue(clock="manual", journal=path) as again:  # what it gave up is made good by the entries
        assert again.host.now_ms() == GENESIS_TIME + 7_200_000


@contextlib.contextmanager
def opening(path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command until it has begun with a journal; yield the process."""
    line = [sys.executable, "-m", "toolkit", "venue", "--port", "0", "--journal", str(path), "--sync", "os"]
    line += options
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == f"opening journal {path}\n"
            yield process
            assert process.stdout.read().endswith("stopped\n")
            assert process.stderr.read() == ""
        finally:
            process.kill()


def work_until(process: subprocess.Popen[str], seconds: float) -> None:
    """Wait until a process has used this much more processor time."""
    watched = psutil.Process(process.pid)
    begun = watched.cpu_times().user
    while watched.cpu_times().user < begun + seconds:
        pass


def test_it_stops_within_a_second_while_it_catches_up(tmp_path: Path) -> None:
    path, fund = tmp_path / "j", {"address": master(0).address.lower(), "amount": "1"}
    genesis = Genesis(time=GENESIS_TIME, settings={"permissions": True, "market": saved("usual")})
    Journal.create(path, genesis, [Control(GENESIS_TIME, "fund", fund)]).close()
    with opening(path) as process:
        assert process.stdout is not None
        assert "hours behind" in process.stdout.readline()  # months
        ended(process)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_it_stops_within_a_second_while_it_replays(tmp_path: Path, number: str) -> None:
    path = tmp_path / "j"
    genesis = Genesis(time=GENESIS_TIME, settings={"permissions": True, "market": saved("usual")})
    Journal.create(path, genesis, [Advance(GENESIS_TIME + 90 * 86_400_000)]).close()
    with opening(path) as process:
        work_until(process, 0.7)
        ended(process, getattr(signal, number))


@pytest.mark.slow
def test_it_stops_within_a_second_while_it_checks_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "j"
    fund = Control(GENESIS_TIME, "fund", {"address": master(0).address.lower(), "amount": "1"})
    write_file(path, first_entries(Genesis(time=GENESIS_TIME), [fund] * 400_000))
    with opening(path) as process:
        work_until(process, 0.2)
        ended(process)
