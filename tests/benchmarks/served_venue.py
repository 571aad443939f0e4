"""The served venue with its journal at `full`: thirty simultaneous clients compared with one, and a class of thirty."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolkit.environments import LOCAL, environment
from toolkit.session import connect
from toolkit.venue import development
from toolkit.wallet import Wallet

from . import Measurement
from .signed_orders import approval, order, order_item

if TYPE_CHECKING:
    from toolkit.venue.engine.commands import Command

CLIENTS = 30
ORDERS = 40
"""Orders of each client when all send simultaneously."""
TARGET = 10.0
SLOWER_MS = 5
"""The additional time of a sync on the other disk."""
SYNCS = 4
"""Syncs of one write of the journal: SQLite's rollback journal twice, the file, and the end of the rollback journal."""
STUDENT_ORDERS = 10


def measure_served() -> list[Measurement]:
    """Measure orders per second of thirty clients and of one, each waiting for its answer before it sends the next."""
    return [_together(0), _together(SLOWER_MS), _class_of_thirty()]


def _together(slower_ms: int) -> Measurement:
    """Measure thirty clients next to one, on this disk or on one whose syncs take so much longer."""
    with tempfile.TemporaryDirectory() as folder:
        with _server(Path(folder), "--clock", "manual", "--no-market", slower_ms=slower_ms) as (process, port):
            for number in range(CLIENTS):
                asyncio.run(_client(port, [approval(number)]))
            alone, alone_us, _ = _load(process, port, 1, ORDERS * 5, first=2)
            together, together_us, own_us = _load(process, port, CLIENTS, ORDERS, first=10_000)
        synced = _sync_ms(Path(folder))
    pace, pace_alone = _pace(together), _pace(alone)
    disk = f", as if a sync of this disk took {slower_ms} ms more" if slower_ms else ""
    name = f"served venue, journal at full, {CLIENTS} clients{disk}"
    note = (
        f"{_quantiles(together)}. Alone {pace_alone:,.0f}/s, {_quantiles(alone)}. One sync of this disk {synced:.2f} ms"
        f" (a write has {SYNCS}). The server's processor time {together_us:.0f} µs per order, {alone_us:.0f} µs alone,"
        f" the clients' {own_us:.0f} µs"
    )
    ratio = pace / pace_alone
    return Measurement(name, pace, "orders/s", TARGET, "higher", "ratio", "one client alone", ratio, note=note)


def _class_of_thirty() -> Measurement:
    """Measure orders of thirty clients with their feeds open, one of them asking for a whole history, in a process
    apart from the server's."""
    one_host = "--connections-per-ip", str(2 * CLIENTS)  # the exchange's limit is below a class behind one address
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder), *one_host) as (process, port):
        before = _memory_mb(process.pid)
        moments, asked = asyncio.run(_students(port))
        memory = _memory_mb(process.pid)
        where = environment(LOCAL, base_url=f"http://127.0.0.1:{port}", variables={})
        resting = 0
        for number in range(CLIENTS):
            with connect(where, wallet=Wallet(account=development.master(number).address)) as session:
                resting += len(session.orders(open=True))
    lost = CLIENTS * STUDENT_ORDERS - resting
    note = (
        f"{CLIENTS} feeds open, {STUDENT_ORDERS} orders each simultaneously, {_quantiles(moments)}. A query over all"
        f" weeks meanwhile {asked:.1f} s. The server's memory {before:.0f} MB, then {memory:.0f} MB"
    )
    return Measurement(f"class of {CLIENTS}: orders lost", lost, "orders", target=0, better="lower", note=note)


@contextmanager
def _server(folder: Path, *options: str, slower_ms: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield the process of a served venue with a journal, and its port."""
    program = [__name__, str(slower_ms)] if slower_ms else ["toolkit"]
    line = [sys.executable, "-m", *program, "venue", "--port", "0", "--accounts", str(CLIENTS)]
    line += ["--journal", str(folder / "journal"), *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said = list(iter(process.stdout.readline, "ready\n"))
            yield process, int(said[0].rpartition(":")[2])
        finally:
            process.terminate()


def _memory_mb(pid: int) -> float:
    import psutil

    return float(psutil.Process(pid).memory_info().rss / 2**20)


async def _students(port: int) -> tuple[list[tuple[float, float]], float]:
    """Return the moments of all orders, and the seconds of the long query."""
    ready, go = asyncio.Semaphore(0), asyncio.Event()
    students = [asyncio.create_task(_student(port, number, ready, go)) for number in range(CLIENTS)]
    for _ in students:
        await ready.acquire()
    go.set()
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    query = "GET /info/kline/list?symbol_name=ETHUSDC&interval=604800&startTime=0&endTime=4102444800000 HTTP/1.1"
    writer.write(f"{query}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    asked = time.perf_counter() - began
    assert answer.startswith(b"HTTP/1.1 200"), answer
    writer.close()
    return [moment for own in await asyncio.gather(*students) for moment in own], asked


async def _student(port: int, number: int, ready: asyncio.Semaphore, go: asyncio.Event) -> list[tuple[float, float]]:
    """Open the feed, send orders that rest, and keep reading the feed meanwhile."""
    from websockets.asyncio.client import connect as open_feed

    await _client(port, [approval(number)])
    async with open_feed(f"ws://127.0.0.1:{port}/ws/dex", proxy=None) as feed:
        await feed.send('{"method":"subscribe","subscription":{"type":"orderBook","symbol":"BTCUSDC","depth":20}}')
        await feed.recv()
        reading = asyncio.create_task(_read(feed))
        bodies = [_order(number, 2 * nonce, price="50000") for nonce in range(1, 1 + STUDENT_ORDERS)]
        ready.release()
        await go.wait()
        moments = await _client(port, bodies)
        reading.cancel()
    return moments


async def _read(feed: Any) -> None:
    async for _ in feed:
        pass


def _load(
    process: subprocess.Popen[str], port: int, clients: int, orders: int, *, first: int
) -> tuple[list[tuple[float, float]], float, float]:
    """Return the moments at which each order was sent and answered, in seconds, and the processor time that an order
    took of the server and of the clients, in µs. Everything is signed before."""
    bodies = [[_order(number, first + index) for index in range(orders)] for number in range(clients)]

    async def all_clients() -> list[tuple[float, float]]:
        found = await asyncio.gather(*(_client(port, own) for own in bodies))
        return [moments for own in found for moments in own]

    used, own = _processor_seconds(process.pid), time.process_time()
    moments = asyncio.run(all_clients())
    spent = _processor_seconds(process.pid) - used, time.process_time() - own
    return moments, spent[0] / len(moments) * 1e6, spent[1] / len(moments) * 1e6


def _processor_seconds(pid: int) -> float:
    import psutil

    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _order(number: int, nonce: int, price: str = "62500") -> bytes:
    """Return a signed limit order of one account's agent, a purchase when the nonce is even."""
    return order(number, nonce, order_item(-1 if nonce % 2 else 1, price, clOrdId=nonce))


async def _client(port: int, bodies: list[bytes]) -> list[tuple[float, float]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    moments = []
    for body in bodies:
        sent = time.perf_counter()
        writer.write(
            b"POST /api/v1/exchange HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        answer = await reader.readexactly(length)
        moments.append((sent, time.perf_counter()))
        assert answer.startswith(b'{"code":0,'), answer
    writer.close()
    await writer.wait_closed()
    return moments


def _pace(moments: list[tuple[float, float]]) -> float:
    return len(moments) / (max(end for _, end in moments) - min(begin for begin, _ in moments))


def _quantiles(moments: list[tuple[float, float]]) -> str:
    """Return the median and the 99th percentile of the latencies, as text."""
    spent = sorted(end - begin for begin, end in moments)
    half, most = (spent[min(len(spent) - 1, int(share * len(spent)))] * 1000 for share in (0.5, 0.99))
    return f"p50 {half:.1f} ms, p99 {most:.1f} ms"


def _sync_ms(folder: Path) -> float:
    """Return the ms that one sync of the disk takes, for comparison."""
    with open(folder / "sync", "wb") as file:
        began = time.perf_counter()
        for _ in range(20):
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
        return (time.perf_counter() - began) * 50


def _main(slower_ms: str, *arguments: str) -> int:
    """Run a command of the toolkit as on a disk whose syncs take so much longer."""
    from toolkit.__main__ import main
    from toolkit.venue.lab.journal import Journal

    append = Journal.append

    def append_slowly(self: Journal, commands: Sequence[Command]) -> None:
        append(self, commands)
        time.sleep(SYNCS * int(slower_ms) / 1000)

    Journal.append = append_slowly  # type: ignore[method-assign]
    return main(list(arguments))


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
