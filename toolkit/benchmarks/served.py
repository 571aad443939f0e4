"""The served venue with its journal at `full`: thirty clients at once beside one alone, with latencies."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from ..environments import LOCAL
from ..protocol import signing
from ..venue import development
from ..venue.local import LocalVenue
from . import Measurement

CLIENTS = 30
ORDERS = 40
"""Orders of each client when all send at once."""
TARGET = 10.0


def rows() -> list[Measurement]:
    """Measure orders a second of thirty clients and of one, each waiting for its answer before it sends the next."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        with LocalVenue(clock="manual", market=False, accounts=CLIENTS, journal=path) as venue, venue.serve() as served:
            for number in range(CLIENTS):
                venue.handle("POST", "/api/v1/exchange", (), _approval(number))
            alone = asyncio.run(_load(served.port, 1, ORDERS * 5, first=2))
            together = asyncio.run(_load(served.port, CLIENTS, ORDERS, first=10_000))
        synced = _sync_ms(Path(folder))
    pace, pace_alone = _pace(together), _pace(alone)
    return [
        Measurement(
            f"served venue, journal at full, {CLIENTS} clients",
            pace,
            "orders/s",
            target=TARGET,
            measure="ratio",
            peer="one client alone",
            ratio=pace / pace_alone,
            note=f"p50 {_at(together, 0.5):.1f} ms, p99 {_at(together, 0.99):.1f} ms; alone {pace_alone:,.0f}/s, p99 "
            f"{_at(alone, 0.99):.1f} ms; one sync of this disk {synced:.2f} ms",
        )
    ]


async def _load(port: int, clients: int, orders: int, *, first: int) -> list[tuple[float, float]]:
    """Return the moments at which each order was sent and answered, in seconds."""
    bodies = [[_order(number, first + index) for index in range(orders)] for number in range(clients)]
    found = await asyncio.gather(*(_client(port, own) for own in bodies))
    return [moments for own in found for moments in own]


def _order(number: int, nonce: int) -> bytes:
    """Return a signed limit order of one account's agent; half of them trade."""
    item = {
        "symbolCode": 1,
        "ordPx": "62500",
        "ordQty": "0.001",
        "ordType": "LIMIT",
        "ordSide": "SELL" if nonce % 2 else "BUY",
        "timeInForce": "GTC",
        "clOrdId": nonce,
    }
    return _signed(development.agent(number).key, {"type": "placeOrder", "orders": [item]}, nonce)


def _approval(number: int) -> bytes:
    action = {
        "type": "approveAgent",
        "agentAddress": development.agent(number).address,
        "agentName": "bench",
        "validitySeconds": 0,
        "dexChain": LOCAL.chain.dex_chain,
    }
    return _signed(development.master(number).key, action, 1)


def _signed(key: bytes, action: dict[str, Any], nonce: int) -> bytes:
    signed = signing.sign(action, key=signing.PrivateKey(key), chain=LOCAL.chain, nonce=nonce)
    return msgspec.json.encode(signed)


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


def _at(moments: list[tuple[float, float]], share: float) -> float:
    """Return a quantile of the latencies, in ms."""
    spent = sorted(end - begin for begin, end in moments)
    return spent[min(len(spent) - 1, int(share * len(spent)))] * 1000


def _sync_ms(folder: Path) -> float:
    """Return the ms that one sync of the disk takes, for comparison."""
    with open(folder / "sync", "wb") as file:
        began = time.perf_counter()
        for _ in range(20):
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
        return (time.perf_counter() - began) * 50
