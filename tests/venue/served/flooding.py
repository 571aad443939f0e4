"""Clients that flood a served venue, for tests: `python -m tests.venue.served.flooding KIND PORT` runs until killed."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from tests.venue.wallets import MASTER, OTHER, STRANGER, Signer
from toolkit.venue.development import DevelopmentAccount

HOST = "Host: localhost\r\n"
LIMIT_SECONDS = 120.0
"""A flooder that nobody ends ends itself."""


def post(body: bytes) -> bytes:
    """Return an order request."""
    head = f"POST /api/v1/exchange HTTP/1.1\r\n{HOST}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def get(target: str) -> bytes:
    """Return a query request."""
    return f"GET {target} HTTP/1.1\r\n{HOST}\r\n".encode()


def answer(wire: BinaryIO) -> tuple[int, bytes] | None:
    """Return status and body of the next answer, None at the end of the connection."""
    status, length = wire.readline(), 0
    while (line := wire.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return (int(status.split()[1]), wire.read(length)) if status else None


def order(side: str, count: int = 1) -> dict[str, object]:
    """Return a request whose signature is none of anyone's."""
    item = {"symbolCode": 1, "ordPx": "30164", "ordQty": "3", "ordType": "LIMIT", "ordSide": side, "timeInForce": "GTC"}
    signature = {"r": "0x" + "1" * 64, "s": "0x" + "2" * 64, "v": 27}
    action = {"type": "placeOrder", "orders": [item] * count}
    return {"action": action, "signature": signature, "nonce": time.time_ns() // 1_000_000}


@functools.cache
def large_order() -> bytes:
    """Return an order of some 800 kB."""
    return json.dumps(order("BUY", 6_700)).encode()


def frame(opcode: int, data: bytes = b"", *, last: bool = True) -> bytes:
    """Return a WebSocket frame of a client."""
    assert len(data) < 126
    return bytes((opcode | 0x80 * last, 0x80 | len(data))) + bytes(4) + data


def upgrade(wire: socket.socket) -> None:
    """Make the connection a feed."""
    key = base64.b64encode(bytes(16)).decode()
    lines = f"GET /ws/dex HTTP/1.1\r\n{HOST}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    wire.sendall(f"{lines}Sec-WebSocket-Key: {key}\r\n\r\n".encode())
    wire.recv(4_000)


def asking(request: Callable[[], bytes]) -> Callable[[socket.socket], None]:
    """Return a client that sends a request whenever the last one was answered."""

    def client(wire: socket.socket) -> None:
        file = wire.makefile("rb")
        wire.sendall(request())
        while answer(file):
            wire.sendall(request())

    return client


def pouring(first: bytes, more: bytes, *, feed: bool = False, reads: bool = True) -> Callable[[socket.socket], None]:
    """Return a client that sends without end, and reads what comes or nothing."""

    def drain(wire: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while wire.recv(1 << 20):
                pass

    def client(wire: socket.socket) -> None:
        if feed:
            upgrade(wire)
        if reads:
            threading.Thread(target=drain, args=(wire,), daemon=True).start()
        wire.sendall(first)
        while True:
            wire.sendall(more)

    return client


def silent(begin: bytes, more: bytes = b"") -> Callable[[socket.socket], None]:
    """Return a client that begins a request and sends a byte now and then."""

    def client(wire: socket.socket) -> None:
        wire.sendall(begin)
        while True:
            time.sleep(0.1)
            wire.sendall(more)

    return client


def signed(account: DevelopmentAccount) -> Callable[[], bytes]:
    """Return what makes the next signed request."""
    signer, lock = Signer(account), threading.Lock()
    signer.nonce = time.time_ns() // 1_000

    def request() -> bytes:
        action = {"type": "withdraw", "destination": account.address, "amount": "2"}
        with lock:
            return post(json.dumps(signer.request(action)).encode())

    return request


def claims() -> Callable[[], bytes]:
    """Return what makes the next claim with a random signature."""
    chance = random.Random(1)

    def request() -> bytes:
        r, s = (f"0x{chance.getrandbits(254):064x}" for _ in range(2))
        claim = {"action": {"type": "faucetClaim"}, "signature": {"r": r, "s": s, "v": 27}, "nonce": 1}
        return post(json.dumps(claim).encode())

    return request


def subscriptions() -> bytes:
    """Return frames that subscribe to the dearest channels and end that again."""
    told = []
    for number in range(200):
        for method in ("subscribe", "unsubscribe"):
            candle = {"type": "candle", "symbol": "BTCUSDC", "interval": ("60", "180", "300")[number % 3]}
            told.append(
                frame(1, json.dumps({"method": method, "subscription": candle}, separators=(",", ":")).encode())
            )
    return b"".join(told)


KLINES = "/info/kline/list?symbol_name=BTCUSDC&interval=60&startTime={}&endTime={}"
NOW = time.time_ns() // 60_000_000_000 * 60_000
HEAD = f"POST /api/v1/exchange HTTP/1.1\r\n{HOST}Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
FLOODS: dict[str, tuple[int, Callable[[], Callable[[socket.socket], None]]]] = {
    "forged large orders": (16, lambda: asking(lambda: post(large_order()))),
    "forged orders": (32, lambda: asking(lambda: post(json.dumps(order("SELL")).encode()))),
    "signed orders": (16, lambda: asking(signed(OTHER))),
    "strangers": (32, lambda: asking(signed(STRANGER))),
    "claims": (32, lambda: asking(claims())),
    "candles": (40, lambda: asking(lambda: get(KLINES.format(NOW - 99_000 * 60_000, NOW)))),
    "health": (50, lambda: asking(lambda: get("/health"))),
    "empty fragments": (1, lambda: pouring(frame(1, last=False), frame(0, last=False) * 20_000, feed=True)),
    "pings": (5, lambda: pouring(b"", frame(9) * 20_000, feed=True)),
    "unread pings": (5, lambda: pouring(b"", frame(9, b"x" * 100) * 2_000, feed=True, reads=False)),
    "messages": (8, lambda: pouring(b"", frame(1, b'{"method":"ping"}') * 5_000, feed=True)),
    "subscriptions": (8, lambda: pouring(b"", subscriptions(), feed=True)),
    "endless small headers": (1, lambda: pouring(get("/health")[:-2], b"a:b\r\n" * 5_000)),
    "an endless header": (4, lambda: pouring(get("/health")[:-2] + b"x:", b"a" * 65_536)),
    "pipelined": (2, lambda: pouring(b"", get("/health") * 2_000)),
    "unread answers": (8, lambda: pouring(b"", get("/info/public/product-meta") * 2_000, reads=False)),
    "half bodies": (60, lambda: silent(HEAD.encode() + b" " * 900_000)),
    "slow bodies": (60, lambda: silent(HEAD.encode(), b" ")),
    "idle connections": (300, lambda: silent(b"")),
}
"""Kind → number of clients, and what makes one of them."""


def run(kind: str, port: int) -> None:
    """Flood the venue at a port; a client whose connection was closed comes again."""
    count, make = FLOODS[kind]
    client, end = make(), time.monotonic() + LIMIT_SECONDS

    def again() -> None:
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
                client(wire)
            time.sleep(0.01)

    threads = [threading.Thread(target=again, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    print("flooding", flush=True)
    time.sleep(LIMIT_SECONDS)


def latencies(port: int, count: int) -> Iterator[float]:
    """Send signed orders one after the other; yield how long each took, in seconds."""
    request = signed(MASTER)
    with contextlib.ExitStack() as held:
        file: BinaryIO | None = None
        for _ in range(count):
            body, began, said = request(), time.perf_counter(), None
            while said is None or said[0] == 429:  # a busy address is told to come again
                assert time.perf_counter() < began + 60, "the venue never answered"
                if file is None:
                    wire = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
                    file = held.enter_context(wire.makefile("rwb"))  # type: ignore[call-overload]
                file.write(body)
                file.flush()
                said = answer(file)
                if said is None or said[0] == 429:
                    file = None
                    time.sleep(0.02)
            assert json.loads(said[1])["code"] == 0, said
            yield time.perf_counter() - began
            time.sleep(0.01)


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
