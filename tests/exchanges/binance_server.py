"""A local server with Binance's USD-M addresses and raw messages, which a test drives: it sends, skips and cuts."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

EXCERPT = Path(__file__).resolve().parents[1] / "research" / "data" / "excerpts" / "binance-usdm.gz"
MARKET = {
    "symbol": "BTCUSDT",
    "pair": "BTCUSDT",
    "contractType": "PERPETUAL",
    "deliveryDate": 4133404800000,
    "onboardDate": 1569398400000,
    "status": "TRADING",
    "baseAsset": "BTC",
    "quoteAsset": "USDT",
    "marginAsset": "USDT",
    "pricePrecision": 2,
    "quantityPrecision": 3,
    "baseAssetPrecision": 8,
    "quotePrecision": 8,
    "underlyingType": "COIN",
    "filters": [
        {"filterType": "PRICE_FILTER", "minPrice": "556.80", "maxPrice": "4529764", "tickSize": "0.10"},
        {"filterType": "LOT_SIZE", "minQty": "0.001", "maxQty": "1000", "stepSize": "0.001"},
        {"filterType": "MIN_NOTIONAL", "notional": "100"},
    ],
    "orderTypes": ["LIMIT", "MARKET"],
    "timeInForce": ["GTC", "IOC"],
}
FIRST_MS = 1_723_161_600_000
"""Time of the first candle and of the first funding rate."""
CANDLES, RATES, PAGE = 1_100, 30, 1_000


def raw_messages() -> list[dict[str, Any]]:
    """Return the messages of the recorded excerpt, as the exchange sent them."""
    lines = gzip.decompress(EXCERPT.read_bytes()).decode().splitlines()
    found = [json.loads(line.split(" ", 1)[1]) for line in lines]
    return [one["data"] for one in found if "data" in one]


class BinanceServer:
    """Serves the addresses that ccxt's client asks, and keeps the book that its messages make."""

    def __init__(self) -> None:
        self.book: dict[str, dict[str, str]] = {"b": {}, "a": {}}
        self.last = 0
        self.now_ms = time.time_ns() // 1_000_000  # recordings and orders have this machine's time as well
        self.asked: list[str] = []
        self.refused = threading.Event()
        """Set: no connection of the feed is accepted."""
        self.mark: dict[str, Any] = {
            "e": "markPriceUpdate", "s": "BTCUSDT", "E": self.now_ms, "p": "61800.50", "i": "61810.10", "P": "61800.00",
            "r": "0.0001", "T": FIRST_MS + 28_800_000,
        }  # fmt: skip
        self._sockets: dict[WebSocket, set[str]] = {}
        self._changed = threading.Condition()
        routes = [Route(path, self._rest) for path in ("/fapi/v1/{name}", "/fapi/v2/{name}", "/fapi/v3/{name}")]
        app = Starlette(routes=[*routes, WebSocketRoute("/{kind}/ws/{number}", self._feed)])
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        config = uvicorn.Config(app, log_level="error", lifespan="off", ws="websockets-sansio")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._begun = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> BinanceServer:
        self._thread.start()
        assert self._begun.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self._begun.set()
            await self._server.serve(sockets=[self._socket])

        asyncio.run(serve())

    def client(self) -> Any:
        """Return ccxt's own client of the exchange, whose addresses are this server's."""
        import ccxt.pro

        made = ccxt.pro.binance({"options": {"defaultType": "swap", "fetchMarkets": {"types": ["linear"]}}})
        made.options["fetchCurrencies"] = made.has["fetchCurrencies"] = False
        web, live = f"http://127.0.0.1:{self.port}", f"ws://127.0.0.1:{self.port}/ws"
        made.urls["api"] |= {name: f"{web}/fapi/{name[-2:].lower()}" for name in ("fapiPublicV2", "fapiPublicV3")}
        made.urls["api"]["fapiPublic"] = f"{web}/fapi/v1"
        made.urls["api"]["ws"] |= {"linear": live}
        made.enableRateLimit = False
        return made

    async def _rest(self, request: Request) -> JSONResponse:
        name = request.path_params["name"]
        query = request.query_params
        self.asked.append(name)
        if name == "exchangeInfo":
            return JSONResponse({"timezone": "UTC", "serverTime": FIRST_MS, "symbols": [MARKET], "assets": []})
        if name == "depth":
            with self._changed:
                sides = {"bids": [*self.book["b"].items()], "asks": [*self.book["a"].items()]}
                return JSONResponse({"lastUpdateId": self.last, "E": self.now_ms, "T": self.now_ms, **sides})
        start = int(query.get("startTime", FIRST_MS))
        end, count = int(query.get("endTime", 1 << 62)), min(int(query.get("limit", 500)), PAGE)
        if name == "klines":
            rows = [self.candle(FIRST_MS + 60_000 * at) for at in range(CANDLES)]
            return JSONResponse([row for row in rows if start <= row[0] <= end][:count])
        if name == "fundingRate":
            rates = [
                {"symbol": "BTCUSDT", "fundingTime": FIRST_MS + 28_800_000 * at, "fundingRate": f"0.0001{at:04}"}
                for at in range(RATES)
            ]
            return JSONResponse([row for row in rates if start <= row["fundingTime"] <= end][:count])
        return JSONResponse({"code": -1, "msg": f"{name} is not served here"}, status_code=404)

    @staticmethod
    def candle(start: int) -> list[Any]:
        price = 61_000 + start // 60_000 % 500
        texts = [f"{price + move:.2f}" for move in (0, 9, -7, 4)]
        return [start, *texts, "1.500", start + 59_999, "92000.0", 321, "0.7", "43000.0", "0"]

    async def _feed(self, connection: WebSocket) -> None:
        if self.refused.is_set():
            await connection.close()
            return
        await connection.accept()
        try:
            while True:
                message = json.loads(await connection.receive_text())
                if message["method"] == "SUBSCRIBE":
                    await connection.send_json({"result": None, "id": message["id"]})
                    with self._changed:
                        self._sockets.setdefault(connection, set()).update(message["params"])
                        self._changed.notify_all()
                    if any("markPrice" in stream for stream in message["params"]):
                        await connection.send_json(self.mark)
        except (WebSocketDisconnect, RuntimeError):
            with self._changed:
                self._sockets.pop(connection, None)

    def send(self, message: dict[str, Any], *, skip: bool = False) -> None:
        """Send a raw message to those who subscribed to its stream, in order; `skip`: it is lost on the way."""
        with self._changed:
            if message["e"] == "depthUpdate":
                for side in ("b", "a"):
                    for price, size in message[side]:
                        self.book[side].pop(price, None)
                        if float(size):
                            self.book[side][price] = size
                self.last = message["u"]
            if skip:
                return
            word = {"depthUpdate": "@depth", "trade": "@trade", "markPriceUpdate": "@markPrice"}.get(message["e"], "@?")
            there = [one for one, streams in self._sockets.items() if any(word in stream for stream in streams)]
        assert self._loop is not None
        for connection in there:
            asyncio.run_coroutine_threadsafe(connection.send_json(message), self._loop).result(20)

    def await_subscriptions(self) -> None:
        """Return when someone has subscribed to the book, to the trades and to the mark price."""

        def there() -> bool:
            streams = " ".join(stream for each in self._sockets.values() for stream in each)
            return all(word in streams for word in ("@depth", "@trade", "@markPrice"))

        with self._changed:
            assert self._changed.wait_for(there, 60), self._sockets

    def cut(self) -> None:
        """Close all connections of the feed, as a network does that fails."""
        assert self._loop is not None
        with self._changed:
            cut = list(self._sockets)
            self._sockets.clear()  # its own thread hears of the end later, and subscriptions count from here on
        for connection in cut:
            asyncio.run_coroutine_threadsafe(connection.close(1011), self._loop).result(20)

    def levels(self, side: str, count: int) -> list[tuple[float, float]]:
        """Return the best levels of a side ("b" or "a"), best first."""
        found = sorted(((float(price), float(size)) for price, size in self.book[side].items()), reverse=side == "b")
        return found[:count]

    def updates(self, count: int, *, first: int = 61_800, start: int = 10**6) -> Iterator[dict[str, Any]]:
        """Yield depth messages that follow each other: a book of 30 levels a side, then changes of single levels."""
        for at in range(count):
            bids = [[f"{first - 0.1 * (level + 1):.2f}", "0.500"] for level in range(30)]
            asks = [[f"{first + 0.1 * (level + 1):.2f}", "0.500"] for level in range(30)]
            if at:
                size = f"{0.1 * (at % 7 + 1):.3f}"
                bids, asks = [[bids[at % 5][0], size]], [[asks[at % 3][0], size]]
            last = self.last or start
            yield {
                "e": "depthUpdate", "E": self.now_ms + at, "T": self.now_ms + at, "s": "BTCUSDT",
                "U": last + 1, "u": last + 10, "pu": last, "b": bids, "a": asks,
            }  # fmt: skip

    def trade(self, side: str, price: str, size: str, number: int) -> dict[str, Any]:
        """Return a trade message; `side` is the taker's. The exchange's clock is a minute ahead of this machine's.

        So a trade that is sent after an order was placed is later than the order by both clocks.
        """
        times = {"E": self.now_ms + 60_000 + number, "T": self.now_ms + 60_000 + number}
        return {
            "e": "trade",
            "s": "BTCUSDT",
            "t": number,
            "p": price,
            "q": size,
            "X": "MARKET",
            "m": side == "sell",
            **times,
        }
