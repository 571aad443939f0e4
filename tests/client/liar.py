"""A lying proxy on real sockets, in front of a served venue: the venue knows what really happened.

It answers in the published form (no `results`). It desynchronises connections, and repeats, swaps, cuts and alters
answers. It gives those of other requests, accounts and transactions. It can't make up a proof: a row or transaction
that names this request.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

EXCHANGE = "/api/v1/exchange"
REFUSALS = (40003, 40201, 40204, 40207, 40208, 40220, 40230, 40231, 40280, 50000)


class Answer(NamedTuple):
    """A whole HTTP answer, as it goes over the wire."""

    status: int
    body: bytes
    kind: str
    """"write", or the path of a query."""

    def wire(self) -> bytes:
        head = f"HTTP/1.1 {self.status} X\r\ncontent-type: application/json\r\ncontent-length: {len(self.body)}\r\n\r\n"
        return head.encode() + self.body

    def chunked(self) -> bytes:
        head = f"HTTP/1.1 {self.status} X\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        pieces = [self.body[at : at + 50] for at in range(0, len(self.body), 50)]
        return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])


def enveloped(code: int, message: str, data: Any = None, status: int = 200, kind: str = "write") -> Answer:
    return Answer(status, json.dumps({"code": code, "message": message, "data": data}).encode(), kind)


class Liar:
    """`rate`: how many of the answers are tampered with; `faults` counts how. `honest` ends it all."""

    def __init__(self, host: str, port: int) -> None:
        self.venue = host, port
        self.rng = random.Random(0)
        self.rate = 0.0
        self.honest = True
        self.faults: Counter[str] = Counter()
        self.earlier: list[Answer] = []
        self.late: list[threading.Timer] = []
        self.delayed: list[Callable[[], Any]] = []
        self.posts = self.gets = 0
        self.server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()
        self.threads: list[threading.Thread] = []
        self.stopped = False

    def __enter__(self) -> Liar:
        self._start(self.accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped = True
        self.settle()
        socket.create_connection(self.server.getsockname()).close()
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(5)
            assert not thread.is_alive()
        self.server.close()

    def settle(self) -> None:
        """Deliver what is late, and wait for it."""
        self.deliver()
        for timer in self.late:
            timer.join(5)
        self.late.clear()

    def deliver(self) -> None:
        """Let what is late arrive."""
        while self.delayed:
            with suppress(OSError, http.client.HTTPException):
                self.delayed.pop()()

    def _start(self, target: Any, *args: Any) -> None:
        self.threads = [one for one in self.threads if one.is_alive()]
        thread = threading.Thread(target=target, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def accept(self) -> None:
        while not self.stopped:
            connection, _ = self.server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open.add(connection)
            self._start(self.serve, connection)

    def serve(self, connection: socket.socket) -> None:
        buffer, held = b"", []  # type: ignore[var-annotated]
        try:
            while not self.stopped:
                while b"\r\n\r\n" not in buffer:
                    if not (piece := connection.recv(65536)):
                        return
                    buffer += piece
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                found = re.search(rb"(?i)content-length: *(\d+)", head)
                while len(buffer) < (size := int(found[1]) if found else 0):
                    if not (piece := connection.recv(65536)):
                        return
                    buffer += piece
                body, buffer = buffer[:size], buffer[size:]
                method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
                stays = self.answer(connection, method, target, body, held)
                if method == "GET":
                    self.deliver()
                if not stays:
                    return
        except OSError:
            pass
        finally:
            self.open.discard(connection)
            connection.close()

    # -------------------------------------------------------------------------------------------------- the venue
    def forward(self, method: str, target: str, body: bytes) -> Answer:
        upstream = http.client.HTTPConnection(*self.venue, timeout=10)
        upstream.request(method, target, body or None, {"content-type": "application/json"} if body else {})
        reply = upstream.getresponse()
        kind = "write" if target == EXCHANGE else target.partition("?")[0]
        answer = Answer(reply.status, reply.read(), kind)
        upstream.close()
        if kind == "write":
            self.posts += 1
            envelope = json.loads(answer.body)
            data = envelope.get("data")
            if isinstance(data, dict):
                envelope["data"] = {name: data.get(name) for name in ("txHash", "txCode", "txMsg")}
            answer = answer._replace(body=json.dumps(envelope).encode())
        else:
            self.gets += 1
        with self.lock:
            self.earlier.append(answer)
            del self.earlier[:-400]
        return answer

    # ---------------------------------------------------------------------------------------------------- the lies
    def answer(self, connection: socket.socket, method: str, target: str, body: bytes, held: list[Answer]) -> bool:
        """Answer one request; return whether the connection stays open. `held`: what is sent one request later."""
        writes = target == EXCHANGE
        lies = (
            not self.honest and "product-meta" not in target and self.rng.random() < self.rate * (1 if writes else 0.6)
        )
        if not lies:
            own = self.forward(method, target, body)
            if held and not self.honest:
                held.append(own)
                own = held.pop(0)
            connection.sendall(own.chunked() if self.rng.random() < 0.2 else own.wire())
            return True
        name = self.rng.choice(WRITE_LIES if writes else READ_LIES)
        with self.lock:
            self.faults[f"{'write' if writes else 'read'} {name}"] += 1
        return bool(getattr(self, name)(connection, lambda: self.forward(method, target, body), held, target))

    def twice(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """The answer and a copy in one segment, either framing."""
        answer = own()
        connection.sendall((answer.wire() if self.rng.random() < 0.5 else answer.chunked()) * 2)
        return True

    def refused_twice(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """A refusal of some other request behind the answer, for the next request to find."""
        connection.sendall(own().wire() + self.refusal().wire())
        return True

    def copied_later(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        answer = own()
        connection.sendall(answer.wire())
        self._later(0.005, lambda: connection.sendall(answer.wire()))
        return True

    def extra(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        connection.sendall(own().wire() + b"HTTP/1.1 200 OK\r\n"[: self.rng.randrange(1, 17)])
        return True

    def truncated(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        whole = own().wire()
        connection.sendall(whole[: self.rng.randrange(1, len(whole))])
        return False

    def reset_before(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def reset_after(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        own()
        return self.reset_before(connection, own, held, target)

    def stale(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """The answer of another request of the same kind; this one arrives, or doesn't."""
        answer = own() if self.rng.random() < 0.7 else None
        kind = "write" if target == EXCHANGE else target.partition("?")[0]
        connection.sendall(self.some(kind, answer).wire())
        return True

    def swapped(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """The answer of a request of any kind."""
        own()
        connection.sendall(self.some(None, None).wire())
        return True

    def off_by_one(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """From here on, each answer of the connection is that of the request before."""
        answer = self.some("write" if target == EXCHANGE else target.partition("?")[0], None)
        held.append(own())
        connection.sendall(answer.wire())
        return True

    def refused(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """A refusal without a transaction; the request arrives, or doesn't."""
        if self.rng.random() < 0.7:
            own()
        connection.sendall(self.refusal().wire())
        return True

    def refused_early(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """A refusal of another request; this one arrives after the next query."""
        self.delayed.append(own)
        connection.sendall(self.refusal().wire())
        return True

    def other_hash(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """The outcome of the transaction of another request, or of none."""
        own()
        hashes = re.findall(rb'"txHash": ?"(0x[0-9a-f]{64})"', b"".join(one.body for one in self.earlier))
        shown = self.rng.choice([*(one.decode() for one in hashes), f"0x{self.rng.randrange(16**64):064x}"])
        code, message = self.rng.choice([(0, "success"), (40230, "insufficient margin")])
        data = {"txHash": shown, "txCode": 7 if code else 0, "txMsg": message}
        connection.sendall(enveloped(code, message, data).wire())
        return True

    def altered(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        """Rows of others: another owner, client id, signer or nonce, or no row at all."""
        answer = own()
        envelope = json.loads(answer.body)
        data = envelope.get("data")
        listed = data.get("items") if isinstance(data, dict) and "items" in data else data
        kind = self.rng.choice(["ids", "owner", "size", "nothing", "shape"])
        rows = (
            [dict(row) for row in listed if isinstance(row, dict)] if isinstance(listed, list) else [dict(listed or {})]
        )
        rows = rows or [row for row in self.rows(target) if row]
        for row in rows:
            self._alter(row, kind)
        shown: Any = rows if isinstance(listed, list) else rows[0]
        if kind == "shape":
            envelope["data"] = self.rng.choice([{"rows": rows}, "none", 7, {"items": None}, [["a"]]])
        else:
            envelope["data"] = {**data, "items": shown} if isinstance(data, dict) and "items" in data else shown
        connection.sendall(answer._replace(body=json.dumps(envelope).encode()).wire())
        return True

    def _alter(self, row: dict[str, Any], kind: str) -> None:
        if kind == "ids":
            # Those of another request, whatever else stays.
            for name in ("clOrdId", "nonce"):
                if name in row:
                    row[name] = str(int(row[name] or 0) + 1)
            if "signer" in row:
                row["nonce"] = str(self.rng.randrange(10**12))
        elif kind == "owner":
            for name in ("userAddr", "signer"):
                if name in row:
                    row[name] = "0x" + "ab" * 20
        elif kind == "size":
            for name in ("price", "ordPx", "qty", "ordQty"):
                if name in row:
                    row[name] = "1.5"
            if "signer" in row:
                row["signer"] = ""
        elif kind == "nothing":
            row.clear()
            row["a"] = 1

    def html(self, connection: socket.socket, own: Any, held: list[Answer], target: str) -> bool:
        status = self.rng.choice([200, 403, 429, 502, 503])
        if self.rng.random() < 0.5:
            own()
        connection.sendall(Answer(status, b"<html>maintenance</html>", "").wire())
        return True

    # ------------------------------------------------------------------------------------------------- the material
    def some(self, kind: str | None, besides: Answer | None) -> Answer:
        with self.lock:
            found = [one for one in self.earlier if kind in (None, one.kind) and one is not besides]
        return self.rng.choice(found) if found else self.refusal()

    def rows(self, target: str) -> list[dict[str, Any]]:
        """Rows of other answers of this query."""
        answer = self.some(target.partition("?")[0], None)
        data = json.loads(answer.body).get("data")
        listed = data.get("items") if isinstance(data, dict) and "items" in data else data
        found = (
            [dict(row) for row in listed if isinstance(row, dict)] if isinstance(listed, list) else [dict(data or {})]
        )
        return found or [{"a": 1}]

    def refusal(self) -> Answer:
        code = self.rng.choice(REFUSALS)
        return enveloped(code, "refused", None, self.rng.choice([200, 200, 400]))

    def _later(self, seconds: float, work: Any) -> None:
        def run() -> None:
            with suppress(OSError, http.client.HTTPException):
                work()

        timer = threading.Timer(seconds, run)
        timer.start()
        self.late.append(timer)


WRITE_LIES = (
    *("twice", "refused_twice", "refused_twice", "copied_later", "extra", "truncated", "reset_before", "reset_after"),
    *(
        "stale",
        "stale",
        "swapped",
        "off_by_one",
        "refused",
        "refused",
        "refused_early",
        "other_hash",
        "other_hash",
        "html",
    ),
)
READ_LIES = (
    *("twice", "refused_twice", "copied_later", "extra", "truncated", "reset_after", "stale", "off_by_one"),
    *("altered", "altered", "altered", "html"),
)
