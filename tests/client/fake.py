"""A fake venue for client tests: accepts each nonce once, keeps orders, and fails as scripted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import httpx

import toolkit
from toolkit.client.io.transport import Retry
from toolkit.client.orders.intents import Ledger, MemoryLedger
from toolkit.venue.local import LocalVenue

NOW = 1_767_225_600_000
MASTER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
MASTER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
AGENT_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
BTC = {
    "name": "Bitcoin",
    "symbol": "BTCUSDC",
    "code": "1",
    "currencyCode": 1,
    "maxLeverage": "40",
    "pricePrecision": 1,
    "qtyPrecision": 3,
    "tickSize": "0.1",
    "stepSize": "0.001",
    "maxOrderQty": "1000",
    "maxSlippagePct": "0.05",
    "maxPositionNtnl": "20000000",
    "fundingInterval": 14400,
    "productType": "perpetual",
    "listStatus": "listed",
    "onlyIsolated": False,
    "baseCurrency": "BTC",
    "quoteCurrency": "USDC",
    "settleCurrency": "USDC",
    "minOrderValue": "10",
    "defaultMakerFeeRate": "0.0001",
    "defaultTakerFeeRate": "0.0006",
    "marginTableId": 1,
}
META = {
    "md5Checksum": "abc",
    "perpProducts": [BTC],
    "marginTables": [
        {
            "tableId": 1,
            "riskLimitVo": [{"minimumValue": "0", "maintainMarginRatio": "0.0125", "maxLeverage": "40"}],
        }
    ],
    "currencies": [],
}


class FakeVenue:
    """`script` has one word for each coming exchange request; when it is empty, requests succeed.

    ok · refused (never left) · lost (request lost, time-out) · answer lost (committed, time-out) · cut (not
    committed, disconnected) · cut after (committed, disconnected) · 429 · 503 · 503 after · html · 403 ·
    twice (committed, the response is that of a duplicate) · code:N (refused with code N, not committed) ·
    interrupt · interrupt after
    """

    def __init__(self, script: Iterable[str] = ()) -> None:
        self.script = list(script)
        self.bodies: list[bytes] = []
        self.nonces: set[int] = set()
        self.orders: dict[int, dict[str, Any]] = {}
        self.placed = 0
        self.balance = 0
        self.reads: list[str] = []
        self.read_script: list[str] = []
        self.transactions: list[dict[str, Any]] = []
        self.show_transactions = True
        self.refuse_business = False
        self.headers: dict[str, str] = {}

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/exchange":
            self.bodies.append(request.content)
            return self._exchange(request)
        self.reads.append(f"{request.url.path}?{request.url.query.decode()}")
        word = self.read_script.pop(0) if self.read_script else "ok"
        if word != "ok":
            return self._fail(word, request)
        return self._info(request)

    def _exchange(self, request: httpx.Request) -> httpx.Response:
        word = self.script.pop(0) if self.script else "ok"
        if word.endswith(" after") or word in ("ok", "answer lost", "twice"):
            answer = self._commit(json.loads(request.content))
            if word == "ok":
                return answer
            if word == "twice":
                return self._commit(json.loads(request.content))
        return self._fail(word.removesuffix(" after"), request)

    def _fail(self, word: str, request: httpx.Request) -> httpx.Response:
        if word == "refused":
            raise httpx.ConnectError("connection refused", request=request)
        if word in ("lost", "answer lost"):
            raise httpx.ReadTimeout("no answer", request=request)
        if word == "cut":
            raise httpx.RemoteProtocolError("server disconnected", request=request)
        if word == "interrupt":
            raise KeyboardInterrupt
        if word.startswith("code:"):
            return enveloped(int(word[5:]), "refused", None, headers=self.headers)
        if word == "html":
            return httpx.Response(200, text="<html>maintenance</html>")
        return httpx.Response(int(word), text="<html>error</html>", headers=self.headers)

    def _commit(self, body: dict[str, Any]) -> httpx.Response:
        if body["nonce"] in self.nonces:
            return enveloped(40207, "nonce was used before")
        self.nonces.add(body["nonce"])
        action = body["action"]
        items = action.get("orders") or ([action["order"]] if "order" in action else [])
        data: dict[str, Any] = {"txHash": f"0x{len(self.nonces):064x}", "txCode": 0, "txMsg": "success"}
        code, message = 0, "success"
        if self.refuse_business:
            code, message = 40230, "insufficient margin"
            data |= {"txCode": 7, "txMsg": message}
        else:
            self.balance += 500 * (action["type"] == "faucetClaim")
            results = []
            for item in items:
                self.placed += 1
                self.orders[int(item["clOrdId"])] = {**item, "ordId": 500 + self.placed}
                results.append({"clOrdId": item["clOrdId"], "ordId": 500 + self.placed, "txCode": 0, "txMsg": "ok"})
            if results:
                data["results"] = results
        self.transactions.insert(
            0, {"nonce": body["nonce"], "signer": "?", "txHash": data["txHash"], "txCode": data["txCode"],
                "txMsg": data["txMsg"]}
        )  # fmt: skip
        return enveloped(code, message, data)

    def _info(self, request: httpx.Request) -> httpx.Response:
        path, query = request.url.path, request.url.params
        if path == "/info/public/product-meta":
            return enveloped(0, "success", META)
        if path == "/info/order/states":
            found = self.orders.get(int(query.get("clientOrderId", 0)))
            rows = [] if found is None else [self._state(found)]
            return enveloped(0, "success", {"total": len(rows), "items": rows})
        if path == "/info/account/wallet" and self.balance:
            return enveloped(0, "success", [{"userAddr": MASTER, "balance": str(self.balance)}])
        if path == "/info/explore/transaction/page" and self.show_transactions:
            agent = toolkit.Wallet(agent=AGENT_KEY).agent
            rows = [{**row, "signer": agent} for row in self.transactions]
            return enveloped(0, "success", {"total": len(rows), "items": rows})
        if path == "/info/explore/transaction/detail" and self.show_transactions:
            done = [row for row in self.transactions if row["txHash"] == query["txHash"]]
            return enveloped(0, "success", {**done[0], "signer": ""} if done else None)
        if path == "/info/explore/transaction/page":
            return enveloped(0, "success", {"items": []})  # which does not say that there is none
        return enveloped(0, "success", {"total": 0, "items": []})

    @staticmethod
    def _state(order: dict[str, Any]) -> dict[str, Any]:
        side = 1 if order["ordSide"].startswith("BUY") else 2
        return {
            "userAddr": MASTER,
            "ordId": order["ordId"],
            "clOrdId": order["clOrdId"],
            "symbol": order["symbolCode"],
            "side": side,
            "status": "NEW",
        }


class Executed(httpx.BaseTransport):
    """The transport of a venue with a manual clock, at which all that was answered is executed before each read."""

    def __init__(self, venue: LocalVenue) -> None:
        self.venue, self.inner = venue, venue.transport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and not self.venue.host.clock.runs:
            self.venue.advance(until=self.venue.host.settled_ms())
        return self.inner.handle_request(request)


def enveloped(
    code: int, message: str, data: Any = None, status: int = 200, headers: dict[str, str] | None = None
) -> httpx.Response:
    """Return a response with the venue's envelope."""
    return httpx.Response(status, json={"code": code, "message": message, "data": data}, headers=headers)


class Clock:
    """A clock that does not move."""

    runs = False

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def now_ms(self) -> int:
        """Return the time in Unix ms."""
        return self.now


def session(
    fake: Callable[[httpx.Request], httpx.Response],
    *,
    ledger: Ledger | str | Path | None = None,
    environment: str = "testnet",
    attempts: int = 3,
    **options: Any,
) -> toolkit.Session:
    """Return a session that talks to the fake venue, never waits, and writes nothing to the user's folders."""
    options.setdefault("wallet", toolkit.Wallet(agent=AGENT_KEY, account=MASTER))
    options.setdefault("clock", Clock())
    options.setdefault("settle_timeout", 0.01)
    return toolkit.connect(
        environment,
        transport=httpx.MockTransport(fake),
        intents=MemoryLedger() if ledger is None else ledger,
        retry=Retry(attempts=attempts, base=0.0, longest=0.0),
        **options,
    )
