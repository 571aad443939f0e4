"""An HTTP server made of the published files: it answers as they allow, and notes what a client asks beyond them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.published import shapes, world
from tests.published.exchange import Actions
from tests.published.variations import ACTIVE, AS_PUBLISHED, BUILDERS, META, SINGLE, Form, Variation, name_of
from tests.published.world import NINE, Row, World

EXCHANGE = "/api/v1/exchange"
FILTERS = {
    "symbol": ("symbol", "symbolCode"), "status": ("status",), "execStatus": ("execStatus",), "side": ("side",),
    "type": ("type",), "orderId": ("ordId", "orderId"), "clientOrderId": ("clOrdId", "clientOrderId"),
    "parentOrderId": ("parentOrdId",), "execId": ("execId",), "currency": ("currency",),
    "agentAddress": ("agentAddress",), "masterAddress": ("masterAddress",), "agentName": ("agentName",),
}  # fmt: skip
"""Parameter → the fields of a row that it may name."""
SIDES = {"BUY": "1", "SELL": "2"}
"""Queries filter by the number of a side, and some rows have its name."""
UNPUBLISHED_ROW = {"notInTheFiles": "17.5", "notInTheFilesEither": 4}
"""A row of an answer whose fields are not published: a client knows none of them."""


class PublishedServer:
    """Answers as a form and a variation say. It is a handler for `httpx.MockTransport`, and can be `served`."""

    def __init__(self, form: Form, variation: Variation = AS_PUBLISHED, now: int = world.NOW) -> None:
        self.form, self.variation, self.world = form, variation, World(now)
        self.actions = Actions(self.world, form, variation)
        self.asked: list[tuple[str, dict[str, str]]] = []
        """Path and parameters of every query."""
        self.faults = self.actions.faults

    def __call__(self, request: httpx.Request) -> httpx.Response:
        status, body = self.answer(request.method, str(request.url), request.content)
        return httpx.Response(status, json=body, headers={"date": formatdate(self.world.now / 1000, usegmt=True)})

    def answer(self, method: str, url: str, body: bytes) -> tuple[int, Row]:
        """Return HTTP status and answer to a request."""
        parts = urlsplit(url)
        path, query = parts.path, dict(parse_qsl(parts.query, keep_blank_values=True))
        try:
            return self.actions.answer(body) if (method, path) == ("POST", EXCHANGE) else self.read(method, path, query)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as malformed:
            return 400, {"code": 400, "message": f"the request is malformed: {malformed!r}", "data": None}

    def read(self, method: str, path: str, query: dict[str, str]) -> tuple[int, Row]:
        """Return HTTP status and answer to a query."""
        self.asked.append((path, query))
        if method != "GET" or path not in self.form.served:
            return 404, {"code": 404, "message": "Not Found", "data": None}
        missing = self.note(path, query)
        if missing:
            return 400, {"code": 400, "message": f"{missing} is required", "data": None}
        data = shapes.changed(self.data(path, query), lambda field, value: self.sent(path, field, value))
        answer = {"code": 0, "message": "success", "data": self.listed(path, data)}
        if not self.variation.message and "message" not in shapes.fields(path):
            del answer["message"]
        return 200, answer

    def note(self, path: str, query: Mapping[str, str]) -> str:
        """Note what differs from the published parameters, and return the name of a required one that is missing."""
        known = shapes.parameters(path) if path != BUILDERS else {"builder": shapes.Shape("string", required=True)}
        for name, value in query.items():
            shape = known.get(name, shapes.Shape("string" if path == BUILDERS else "unknown"))
            whole = value.lstrip("-").isdigit() or shape.type != "integer"
            if shape.type == "unknown" or not whole or (shape.enum and value not in shape.enum):
                self.faults.append(f"{path}: {name}={value}, published as {shape.type} {' '.join(shape.enum)}".rstrip())
        return next((name for name, shape in known.items() if shape.required and name not in query), "")

    # ---------------------------------------------------------------------------------------------------- the answers
    def data(self, path: str, query: Mapping[str, str]) -> Any:
        """Return the data of an answer as the files have it."""
        if path in (META, SINGLE):
            found = world.meta(*([int(query["symbol"])] if path == SINGLE else world.SYMBOLS))
            nine = [{name: row[name] for name in NINE} for row in found["perpProducts"]]
            return {"perpProducts": nine} if self.form.only_nine else found
        if path.startswith("/info/kline"):
            return self.candles(path, query) if query["symbol_name"] in world.SYMBOLS.values() else []
        if path == BUILDERS:
            row = {"wallet": world.STRANGER, "agent": world.AGENT.address, "builder": query["builder"],
                   "maxFeeRate": "0.00045", "expiresAt": 1_799_000_000, "approveState": "APPROVED",
                   "expired": False}  # fmt: skip
            return {"builder": query["builder"], "page": 1, "pageSize": 20, "total": 1, "agents": [row]}
        if path == "/info/vault/detail":
            return {"vaultAddress": query["vaultAddress"], "ownerAddress": world.STRANGER, "vaultName": "Carry",
                    "tvl": "81250.4", "price": "1.0825", "apr": None, "status": 1, "yourDeposits": "500.5",
                    "userCurrentValue": "541.25"}  # fmt: skip
        rows = self.rows(path, query)
        return next(iter(rows), None) if path == ACTIVE else self.page(rows, path, query)

    def candles(self, path: str, query: Mapping[str, str]) -> list[Row]:
        """Return the candles of a window, oldest first, or the latest ones, newest first."""
        interval, limit = int(query["interval"]), int(query.get("limit", 100))
        last = self.world.now // 1000 // interval
        if path.endswith("list"):
            first, end = (int(query[each]) // 1000 for each in ("startTime", "endTime"))
            starts = range(-(-first // interval), min(end // interval, last) + 1)
        else:
            before = int(query.get("timestamp", self.world.now)) // 1000
            end = min(last, -(-before // interval) - 1) if path.endswith("before") else last
            starts = range(end, end - limit, -1)
        name = query["symbol_name"]
        return [world.candle(name, each * interval, interval) for each in starts[: self.variation.candle_limit]]

    def rows(self, path: str, query: Mapping[str, str]) -> list[Row]:
        """Return the rows that a query asks for, newest first."""
        if path.startswith("/info/order"):
            self.actions.show()
        known = {
            "/info/account/wallet": [self.world.wallet], "/info/position/list": [self.world.position],
            "/info/account/agent": self.world.agents, ACTIVE: self.world.agents, "/info/trade/page": self.world.fills,
            "/info/order/states": self.world.orders, "/info/order/events": self.world.events,
        }  # fmt: skip
        return [row for row in known[path] if self.matches(row, query)] if path in known else [UNPUBLISHED_ROW]

    @staticmethod
    def matches(row: Row, query: Mapping[str, str]) -> bool:
        """Return whether a row is what the parameters ask for. All fills are those of a taker."""
        owners = [str(row.get(name)).lower() for name in ("userAddr", "masterAddress", "agentAddress")]
        wanted = [
            (query[name], row[each]) for name, of in FILTERS.items() for each in of if name in query and each in row
        ]
        named = all(value.lower() in (str(held).lower(), SIDES.get(held)) for value, held in wanted)
        maker = query.get("role") == "MAKER" and "execId" in row
        in_time = int(query.get("startTime", 0)) <= row.get("blockTime", 0) <= int(query.get("endTime", 1 << 62))
        return query["userAddr"].lower() in owners and named and in_time and not maker

    def page(self, rows: list[Row], path: str, query: Mapping[str, str]) -> list[Row]:
        """Return the rows of the page that was asked for."""
        self.total = len(rows)
        if "page" not in shapes.parameters(path):
            return rows
        size = min(int(query.get("pageSize", query.get("size", 20))), self.variation.page_limit)
        start = (int(query.get("page", 1)) - 1) * size
        return (rows[::-1] if self.variation.oldest_first else rows)[start : start + size]

    # ------------------------------------------------------------------------------------------------- how it is sent
    def sent(self, path: str, field: str, value: Any) -> Any:
        """Return a value as form and variation send it."""
        if self.form.hash_prefix and "tx" in name_of(field).lower() and isinstance(value, str):
            value = self.form.hash_prefix + value
        return self.variation.sent(path, field, value)

    def listed(self, path: str, data: Any) -> Any:
        """Return a list as form and variation send it."""
        if not isinstance(data, list):
            return data
        paged = self.form.paged and "page" in shapes.parameters(path)
        form = self.variation.lists.replace("as the form", "items" if paged else "bare")
        rows = None if self.variation.empty_is_null and not data else data
        total = len(data) if path.startswith("/info/kline") else self.total
        return {"bare": rows, "items without total": {"items": rows}, "items": {"total": total, "items": rows}}[form]

    @contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """Serve on 127.0.0.1 in a thread, and give the address."""
        published, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                with lock:
                    status, answer = published.answer(self.command, self.path, body)
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = respond

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing."""

        with ThreadingHTTPServer(("127.0.0.1", port), Handler) as http:
            thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{http.server_port}"
            finally:
                http.shutdown()
                thread.join(5)
