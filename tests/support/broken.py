"""A session to a local venue of which one part is broken, chosen by its name: a query, a list, a disk, the time."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import httpx

from toolkit.client.orders.intents import Intent, MemoryLedger
from toolkit.errors import ToolkitError
from toolkit.venue.local import LocalVenue

PRODUCTS, ORDERS, POSITIONS = "/info/public/product-meta", "/info/order/", "/info/position/"
TICKER = ("/info/market/", "/info/funding/", "/info/public/kline")


class Broken(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Passes requests on to a venue, one of whose parts is broken while `part` names it.

    Time is the venue's: with a latency each request moves its clock, and `between` runs at each moment that passes.
    """

    def __init__(self, venue: LocalVenue) -> None:
        self.venue, self.inner = venue, venue.transport()
        self.part = ""
        self.latency_ms = 0
        self.between: Callable[[], None] = lambda: None
        self.seen: list[str] = []
        """Paths of the requests, those of orders with their action."""
        self.refusals = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self.handle_request(request)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path, body = request.url.path, request.read()
        self.seen.append(path if request.method == "GET" else json.loads(body)["action"]["type"])
        self._wait(request)
        if (answer := self._answered(request, path)) is not None:
            return answer
        response: httpx.Response = self.inner.handle_request(request)
        return self._changed(response) if path == PRODUCTS and self.part else response

    def _wait(self, request: httpx.Request) -> None:
        latency_ms = self.latency_ms
        if self.part == "slow products" and request.url.path == PRODUCTS:
            latency_ms = 60_000
        longest_ms = (request.extensions.get("timeout", {}).get("read") or 60) * 1000
        if latency_ms:
            self.venue.advance(f"{min(latency_ms, int(longest_ms))}ms")
            self.between()
        if latency_ms > longest_ms:
            raise httpx.ReadTimeout("no answer", request=request)

    def _answered(self, request: httpx.Request, path: str) -> httpx.Response | None:
        down = {"products down": (PRODUCTS,), "orders query": (ORDERS,), "positions query": (POSITIONS,),
                "lists down": (PRODUCTS, POSITIONS)}  # fmt: skip
        if path.startswith(down.get(self.part, TICKER if self.part == "ticker" else ("nothing",))):
            return httpx.Response(503, text="<html>maintenance</html>")
        if self.part in EMPTY and path.startswith(POSITIONS):
            return httpx.Response(200, json={"code": 0, "message": "success", "data": EMPTY[self.part]})
        if self.part == "rate limited" and request.method == "POST" and self.refusals < 2:
            self.refusals += 1
            return httpx.Response(200, json={"code": 40220, "message": "too many requests", "data": None})
        return None

    def _changed(self, response: httpx.Response) -> httpx.Response:
        if self.part not in CHANGES:
            return response
        body = json.loads(response.content)
        body["data"]["perpProducts"] = CHANGES[self.part](body["data"]["perpProducts"])
        return httpx.Response(200, json=body)


EMPTY: dict[str, Any] = {"positions empty": [], "positions null": None}


def with_status(status: Any) -> Callable[[list[Any]], list[Any]]:
    """Return a change of a product list that gives each row another status."""
    return lambda rows: [{**row, "listStatus": status} for row in rows]


def swapped(rows: list[Any]) -> list[Any]:
    """Give the first two products each other's code."""
    first, second, *others = rows
    return [{**first, "code": second["code"]}, {**second, "code": first["code"]}, *others]


def doubled(rows: list[Any]) -> list[Any]:
    """Give the second product the code of the first."""
    first, second, *others = rows
    return [first, {**second, "code": first["code"]}, *others]


CHANGES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "products empty": lambda rows: [],
    "odd status": with_status("TRADING"),
    "delisted": with_status("delisted"),
    "symbol gone": lambda rows: [row for row in rows if row["symbol"] != "BTCUSDC"],
    "swapped": swapped,
    "doubled": doubled,
    "other numbers": lambda rows: [{**row, "stepSize": "1", "tickSize": "0.7", "maxOrderQty": "0.01"} for row in rows],
    "old row last": lambda rows: [*rows, {**rows[0], "symbol": "OLDUSDC", "listStatus": "delisted"}],
}


class FailingLedger(MemoryLedger):
    """A ledger on a disk that is full, or can't be written, while `why` says so."""

    why = ""

    def _check(self) -> None:
        if self.why:
            raise ToolkitError(f"the ledger of intents can't be used: {self.why}")

    def record(self, intent: Intent) -> None:
        self._check()
        super().record(intent)

    def update(self, id: str, now: int, **changes: Any) -> Intent:
        self._check()
        return super().update(id, now, **changes)

    def note(self, name: str, before: str | None, after: str | None) -> bool:
        self._check()
        return super().note(name, before, after)


class Moment:
    """A clock object whose durations are the venue's, for a venue that only moves with its requests."""

    def __init__(self, venue: LocalVenue) -> None:
        self._venue = venue
        self.random = Random(7).random

    runs = False

    def now_ms(self) -> int:
        """Return the venue's time in Unix ms."""
        return self._venue.host.now_ms()

    elapsed_ms = now_ms

    def sleep(self, seconds: float) -> None:
        """Let the venue's time pass."""
        self._venue.advance(f"{round(seconds * 1000)}ms")
