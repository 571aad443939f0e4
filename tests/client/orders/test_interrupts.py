"""Interrupts and kills at any point: the ledger then agrees with the venue, or `resolve` settles it."""

from __future__ import annotations

import gc
import linecache
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import toolkit
from tests.client.fake import FakeVenue, session
from toolkit.client.orders.intents import OPEN, IntentState, Ledger, MemoryLedger
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.venue.local import LocalVenue

CLIENT = str(Path(toolkit.__file__).parent / "client")
ROOT = Path(__file__).resolve().parents[3]
LOCKED = re.compile(r"with [\w.]*(mutex|lock):", re.IGNORECASE)


class InterruptAt:
    """Raises KeyboardInterrupt at the n-th line that runs in toolkit.client, as Ctrl-C may."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.fired = False

    def __enter__(self) -> InterruptAt:
        gc.disable()  # a flow that somebody dropped would be closed at any line: an interrupt there could reach nobody
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        gc.enable()

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CLIENT):
            return None
        # Signals are handled at calls and jumps, never at a bare `try:`, which from CPython 3.12 on no handler covers,
        # and never between the block of a lock and its release, for which the line of its `with` is visited again.
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and line != "try:" and not LOCKED.fullmatch(line):
            self.left -= 1
            if self.left == 0:
                self.fired = True
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._trace


def unsynchronised(empty: Path, path: Path) -> SqliteLedger:
    """Return a ledger that never waits for the disk: an interrupt loses nothing of what the system has taken."""
    shutil.copy(empty, path)
    ledger = SqliteLedger(path)
    ledger._database.execute("PRAGMA synchronous=OFF")
    return ledger


@pytest.mark.parametrize("stride", [41, pytest.param(7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("script", [[], ["answer lost"]])
def test_an_interrupt_at_any_line_leaves_nothing_in_doubt(
    durable: bool, script: list[str], stride: int, tmp_path: Path
) -> None:
    assert session(FakeVenue()).buy("BTCUSDC", "0.01", price="60000")  # imports what is imported on first use
    gc.collect()  # what earlier tests have dropped
    empty = tmp_path / "empty.db"
    SqliteLedger(empty).close()
    count, interrupted = 0, 0
    while True:
        count += stride
        fake = FakeVenue(list(script))
        ledger: Ledger = unsynchronised(empty, tmp_path / f"{count}.db") if durable else MemoryLedger()
        s = session(fake, ledger=ledger)
        s.product("BTCUSDC")
        guard = InterruptAt(count)
        try:
            with guard:
                s.buy("BTCUSDC", "0.01", price="60000")
        except KeyboardInterrupt:
            interrupted += 1
        if not guard.fired:
            break
        for _ in range(2):
            s.resolve()
        placed = set(fake.orders)
        accepted = set()
        for name in s.intents().index if ledger.all() else []:
            intent = s.intents.get(name)
            assert intent.settled, (count, intent)
            if intent.state is IntentState.ACCEPTED:
                accepted |= set(intent.client_ids)
        assert accepted == placed, count
        assert fake.placed <= 1, count
        assert len(set(fake.bodies)) <= 1
        if durable:
            ledger.close()
    assert interrupted > 300 // stride


CHILD = """
import os, sys
import toolkit
from toolkit.client.orders.ledger_file import SqliteLedger

path, url, deadly = sys.argv[1], sys.argv[2], int(sys.argv[3])
calls = 0

def deadly_step(step):
    def wrapped(*args, **keywords):
        global calls
        result = step(*args, **keywords)
        calls += 1
        if calls == deadly:
            os._exit(9)
        return result
    return wrapped

SqliteLedger.record = deadly_step(SqliteLedger.record)
SqliteLedger.update = deadly_step(SqliteLedger.update)
session = toolkit.connect("local", base_url=url, intents=path)
session.buy("BTCUSDC", "0.001", price="50000")
"""


def test_a_killed_process_leaves_a_ledger_that_the_next_one_settles(tmp_path: Path) -> None:
    with LocalVenue(market=False) as venue, venue.serve(0) as served:
        with toolkit.connect(served.environment) as s:
            s.exchange.approve_agent()
        places = {**os.environ, "PYTHONPATH": str(ROOT), "TOOLKIT_STATE": str(tmp_path)}
        for deadly in (2, 3):
            path = tmp_path / f"{deadly}.db"
            words = [sys.executable, "-c", CHILD, str(path), served.base_url, str(deadly)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=places)
            assert done.returncode == 9, done.stderr
            with toolkit.connect(served.environment, intents=path) as s:
                for receipt in s.resolve():
                    receipt.wait(lambda made: made.state not in OPEN)
                (name,) = s.intents().index
                intent = s.intents.get(name)
                assert intent.settled
                known = s.info.order_states(client_order_id=intent.client_ids[0])
                assert len(known) == (1 if intent.state is IntentState.ACCEPTED else 0), deadly
                assert (intent.state is IntentState.ACCEPTED) == (deadly >= 3)


def test_resolving_what_is_being_sent_by_another_thread_leaves_it_alone() -> None:
    import threading

    inside, go = threading.Event(), threading.Event()
    fake = FakeVenue()

    def slow(request: Any) -> Any:
        if request.url.path == "/api/v1/exchange":
            inside.set()
            assert go.wait(10)
        return fake(request)

    s = session(slow)
    thread = threading.Thread(target=lambda: s.buy("BTCUSDC", "0.01", price="60000"))
    thread.start()
    assert inside.wait(10)
    assert list(s.intents()["state"]) == ["SENT"]
    assert s.resolve() == []
    go.set()
    thread.join(10)
    assert list(s.intents()["state"]) == ["ACCEPTED"]


def test_many_threads_share_a_session_and_every_nonce_is_used_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    fake = FakeVenue()
    s = session(fake)
    s.product("BTCUSDC")
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda number: s.buy("BTCUSDC", "0.01", price=60000 + number), range(64)))
    assert len({receipt.cl_ord_id for receipt in receipts}) == 64
    assert fake.placed == len(fake.nonces) == 64
    assert set(s.intents()["state"]) == {"ACCEPTED"}
