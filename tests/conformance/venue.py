"""A venue as the suite sees it: an address for requests and one for the feed, accounts with keys, prices and sizes."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cached_property
from typing import Any

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from .signing import Domain, Key, development_key, envelope, new_key
from .statements import NotServed, NotTried, expect

EXCHANGE = "/api/v1/exchange"
SWITCHED_OFF = 40280
AGENTS = 10
"""The agent of development account N is account N + 10."""


@dataclass(frozen=True)
class Answer:
    """HTTP status and decoded body of an answer."""

    status: int
    body: Any
    unserved: bool = False
    """True if the venue says that it has no such operation, and never answered it in another way.

    Also if it says that the operation is switched off, and never accepted it.
    """

    @property
    def code(self) -> Any:
        return self.body.get("code") if isinstance(self.body, dict) else None

    @property
    def data(self) -> Any:
        """The answer's data. Raises NotServed."""
        self.served()
        return self.body.get("data") if isinstance(self.body, dict) else None

    @property
    def message(self) -> str:
        return str(self.body.get("message")) if isinstance(self.body, dict) else ""

    def served(self) -> None:
        """Raise NotServed if the venue has no such operation."""
        if self.unserved:
            raise NotServed(str(self))

    def says_unserved(self) -> bool:
        """Return whether the answer is that of a venue without the operation, or with the operation switched off."""
        coded = self.code in (40201, SWITCHED_OFF) or "unsupported" in self.message.lower()
        return coded or self.status in (404, 405, 501)

    def __str__(self) -> str:
        return f"HTTP {self.status} {json.dumps(self.body)[:240]}"


def accepted(answer: Answer) -> Answer:
    """Raise Differs unless the answer is a success."""
    answer.served()
    expect((answer.status, answer.code) == (200, 0), f"it is refused: {answer}")
    return answer


def refused(answer: Answer, *codes: int, names: str = "") -> Answer:
    """Raise Differs unless the answer is a refusal, in the envelope, with one of the codes and a text that names.

    An operation that the venue does not have refuses nothing: NotServed.
    """
    if answer.code not in codes:
        answer.served()
    expect(isinstance(answer.body, dict) and {"code", "message"} <= set(answer.body), f"no envelope: {answer}")
    expect(answer.code != 0, f"it is accepted: {answer}")
    expect(not codes or answer.code in codes, f"its code is not {' or '.join(map(str, codes))}: {answer}")
    expect(names.lower() in answer.message.lower(), f"its message does not name {names}: {answer}")
    return answer


def unsigned(answer: Answer) -> Answer:
    """Raise Differs unless the answer is that the signer has no right to the action."""
    return refused(answer, 40204)


@dataclass(eq=False)
class Trader:
    """A master, its agent, and the venue at which the agent is approved."""

    venue: Venue
    master: Key
    agent: Key

    @property
    def address(self) -> str:
        return self.master.address

    def act(self, kind: str, **fields: Any) -> Answer:
        """Send an action that the agent signs."""
        return self.venue.act(self.agent, {"type": kind, **fields})

    def place(self, *orders: dict[str, Any]) -> Answer:
        return self.act("placeOrder", orders=list(orders))

    def order(self, client_id: int) -> dict[str, Any]:
        """Return the state of an order, once it is there."""
        wanted = {"userAddr": self.address, "clientOrderId": client_id}
        rows = self.venue.until(lambda: self.venue.rows("/info/order/states", **wanted), f"state of order {client_id}")
        return dict(rows[0])

    def position(self, code: int) -> dict[str, Any]:
        """Return the position in a product; {} without one."""
        found = self.venue.rows("/info/position/list", userAddr=self.address, symbol=code)
        return next((each for each in found if int(each["symbolCode"]) == code), {})

    def size(self, code: int) -> Decimal:
        """Return the signed size of the position in a product."""
        row = self.position(code)
        return Decimal(row.get("longSize", "0")) - Decimal(row.get("shortSize", "0"))


@dataclass(eq=False)
class Venue:
    """The venue under test. Accounts 0 to 9 of the mnemonic are its masters, and must have funds."""

    url: str
    feed_url: str
    token: str = field(default="", repr=False)
    """Opens the controls of a local venue."""
    domain: Domain = field(default_factory=Domain)
    seconds: float = 10.0
    """How long the effect of an action may take to show."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What one statement made and others use, or the exception that it raised."""
    serves: set[str] = field(default_factory=set)
    """Operations that the venue has answered."""
    accepts: set[str] = field(default_factory=set)
    """Operations that it has accepted."""
    _last: int = 0

    @cached_property
    def http(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=self.seconds)

    def nonce(self) -> int:
        """Return the time in ms, or one more than the last nonce."""
        self._last = max(self._last + 1, time.time_ns() // 1_000_000)
        return self._last

    def send(self, body: Any) -> Answer:
        """Post a body (an object, or bytes) to the exchange's path."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        action = body.get("action") if isinstance(body, dict) else None
        kind = action.get("type") if isinstance(action, dict) else None
        return self._noted(str(kind or EXCHANGE), self.request("POST", EXCHANGE, content=content))

    def _noted(self, operation: str, answer: Answer) -> Answer:
        """Return an answer, marked if the venue has no such operation."""
        if not answer.says_unserved():
            self.serves.add(operation)
        if answer.code == 0:
            self.accepts.add(operation)
        # Whoever switched an action off may still refuse a bad form or signature of it.
        known = self.accepts if answer.code == SWITCHED_OFF else self.serves
        return answer if operation in known or not answer.says_unserved() else replace(answer, unserved=True)

    def request(self, method: str, path: str, **options: Any) -> Answer:
        """Send a request. Raises NotTried where something between the suite and the venue answered, or nothing did."""
        headers = {"content-type": "application/json"} if "content" in options else {}
        try:
            answer = self.http.request(method, path, headers=headers, **options)
        except httpx.TransportError as error:
            raise NotTried(f"{method} {path} got no answer ({type(error).__name__}: {error})") from None
        body = None
        with contextlib.suppress(ValueError):
            body = answer.json()
        if answer.status_code in (429, 502, 503, 504) and not (isinstance(body, dict) and "code" in body):
            raise NotTried(f"{method} {path} was answered by HTTP {answer.status_code} without the venue's envelope")
        return Answer(answer.status_code, answer.text if body is None else body)

    def act(self, key: Key, action: dict[str, Any], **options: Any) -> Answer:
        """Sign and send an action."""
        return self.send(self.envelope(key, action, **options))

    def envelope(self, key: Key, action: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Return a signed request that is not sent yet. `options` are those of the signer's `envelope`."""
        return envelope(key, action, options.pop("nonce", None) or self.nonce(), **{"domain": self.domain, **options})

    def info(self, path: str, **parameters: Any) -> Answer:
        return self._noted(path, self.request("GET", path, params=parameters))

    def control(self, name: str, **arguments: Any) -> Any:
        """Use a control of a local venue, and return its data. Raises NotTried without the controls."""
        if not self.token:
            raise NotTried("it needs the controls of a local venue: give its token (--token)")
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.token}"}
        answer = self.http.post(f"/control/{name}", content=json.dumps(arguments), headers=headers, timeout=60)
        if answer.status_code != 200 or answer.json()["code"]:
            raise NotTried(f"the control {name} is refused: HTTP {answer.status_code} {answer.text[:200]}")
        return answer.json()["data"]

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` returned the first time, or raise what it raised."""
        if name not in self.kept:
            try:
                self.kept[name] = make()
            except NotTried:  # a request that was lost may arrive the next time
                raise
            except Exception as error:
                self.kept[name] = error
        if isinstance(self.kept[name], Exception):
            raise self.kept[name]
        return self.kept[name]

    def rows(self, path: str, **parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of a query, whether it answers a bare list or a page."""
        data = accepted(self.info(path, **parameters)).data
        return list(data["items"] if isinstance(data, dict) and "items" in data else data)

    def until(self, look: Callable[[], Any], what: str) -> Any:
        """Look again until something is there, and return it; AssertionError after `seconds`."""
        end = time.monotonic() + self.seconds
        while not (found := look()):
            assert time.monotonic() < end, f"{what}: nothing within {self.seconds:g} s"
            time.sleep(0.05)
        return found

    def trader(self, number: int) -> Trader:
        """Return an account whose agent is approved."""
        master, agent = self.once(f"keys {number}", lambda: [development_key(one) for one in (number, number + AGENTS)])
        self.once(f"trader {number}", lambda: accepted(self.approve(master, agent)))
        return Trader(self, master, agent)

    def approve(
        self, master: Key, agent: Key | str, *, name: str = "conformance", seconds: int = 0, **more: Any
    ) -> Answer:
        """Approve an agent, by its key or address, under a name, for a time in seconds."""
        address = agent if isinstance(agent, str) else agent.address
        action = {"type": "approveAgent", "agentAddress": address, "agentName": name, "validitySeconds": seconds}
        options = {key: more.pop(key) for key in ("expiry", "domain") if key in more}
        return self.act(master, {**action, "dexChain": self.domain.dex_chain, **more}, **options)

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The product list as it was first read."""
        return dict(accepted(self.info("/info/public/product-meta")).data)

    @property
    def product(self) -> dict[str, Any]:
        """The product that the suite trades."""
        return dict(self.meta["perpProducts"][0])

    @property
    def other(self) -> dict[str, Any]:
        """A second product, which only settings are tried on."""
        return dict(self.meta["perpProducts"][-1])

    @property
    def code(self) -> int:
        return int(self.product["code"])

    @property
    def small(self) -> Decimal:
        """What an order of the suite is worth in USDC: twice the minimum."""
        return Decimal(self.product["minOrderValue"]) * 2

    def free(self, trader: Trader) -> Decimal:
        """Return what an account may transfer, in USDC."""
        return Decimal(self.rows("/info/account/wallet", userAddr=trader.address)[0]["availableTransferBalance"])

    def last_price(self) -> Decimal:
        """Return the close of the newest minute."""
        rows = self.rows("/info/kline/last", symbol_name=self.product["symbol"], interval=60, limit=1)
        return Decimal(rows[0]["close"])

    def price(self, of_last: float | str) -> str:
        """Return a price as a part of the last one, on the tick."""
        tick = Decimal(self.product["tickSize"])
        whole = (self.last_price() * Decimal(str(of_last)) / tick).to_integral_value(ROUND_FLOOR)
        return f"{whole * tick:f}"

    def quantity(self, value: Decimal | str, price: Decimal | str) -> str:
        """Return the fewest steps that are worth at least a value in USDC at a price."""
        step = Decimal(self.product["stepSize"])
        steps = (Decimal(value) / Decimal(price) / step).to_integral_value(ROUND_CEILING)
        return f"{max(steps, Decimal(1)) * step:f}"

    def resting(self, side: str = "BUY", of_last: float | str = "", **fields: Any) -> dict[str, Any]:
        """Return a limit order that stays in the book: a fifth away from the last price, worth twice the minimum."""
        price = self.price(of_last or ("0.8" if side == "BUY" else "1.2"))
        order = {"symbolCode": self.code, "ordPx": price, "ordQty": self.quantity(self.small, price), "ordSide": side}
        return {**order, "ordType": "LIMIT", "timeInForce": "GTC", "clOrdId": self.nonce(), **fields}

    def market(self, side: str = "BUY", quantity: str = "", **fields: Any) -> dict[str, Any]:
        """Return a market order worth twice the minimum, or of a quantity."""
        quantity = quantity or self.quantity(self.small, self.last_price())
        order = {"symbolCode": self.code, "ordPx": "0", "ordQty": quantity, "ordType": "MARKET", "ordSide": side}
        return {**order, "timeInForce": "IOC", "clOrdId": self.nonce(), **fields}

    def pair(self, buyer: Trader, seller: Trader) -> None:
        """Let one account buy from another: a POST_ONLY at the inner end of the spread, then an IOC at its price."""
        tick = Decimal(self.product["tickSize"])
        for _ in range(20):  # the market moves meanwhile, so a POST_ONLY may come too late
            bid, ask = self.best()
            price = f"{ask - tick if ask - bid > tick else ask:f}"
            size = self.quantity(self.small, price)
            if seller.place(self.resting("SELL", ordPx=price, ordQty=size, timeInForce="POST_ONLY")).code == 0:
                accepted(buyer.place(self.resting("BUY", ordPx=price, ordQty=size, timeInForce="IOC")))
                return
        raise AssertionError("a POST_ONLY at the best prices was refused twenty times")

    def best(self) -> tuple[Decimal, Decimal]:
        """Return the best bid and ask of the book's first message."""
        with self.feed() as feed:
            book = feed.first({"type": "orderBook", "symbol": self.product["symbol"], "depth": 5})["data"]["book"]
        return Decimal(book["bids"][0][0]), Decimal(book["asks"][0][0])

    @contextlib.contextmanager
    def feed(self) -> Iterator[Feed]:
        """Open a connection to the feed. Raises NotServed if none was ever opened."""
        try:
            socket = connect(f"{self.feed_url}/ws/dex", open_timeout=self.seconds, close_timeout=2, max_size=None)
        except (WebSocketException, OSError, EOFError) as error:
            if "feed" not in self.serves:
                raise NotServed(f"no feed at {self.feed_url}/ws/dex: {error}") from None
            raise
        self.serves.add("feed")
        with socket:
            yield Feed(socket, self.seconds)

    def named_key(self, name: str) -> Key:
        """Return a key of its own for a name, new in each run."""
        return Key(self.once(name, new_key).secret)

    def stranger(self) -> Key:
        """Return a key that the venue has never seen."""
        return new_key()


@dataclass(eq=False)
class Feed:
    """One connection to the feed. Messages that were read while another was awaited are kept in `seen`."""

    socket: ClientConnection
    seconds: float
    seen: list[dict[str, Any]] = field(default_factory=list)

    def send(self, value: Any) -> None:
        self.socket.send(value if isinstance(value, str) else json.dumps(value))

    def next(self, seconds: float | None = None) -> dict[str, Any]:
        """Return the next message. Raises TimeoutError."""
        message = json.loads(self.socket.recv(timeout=self.seconds if seconds is None else seconds))
        self.seen.append(message)
        return dict(message)

    def wait(self, wanted: Callable[[dict[str, Any]], object], what: str) -> dict[str, Any]:
        """Return the next message that is wanted; AssertionError when none comes in time."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                message = self.next(max(0.05, end - time.monotonic()))
                if wanted(message):
                    return message
        raise AssertionError(f"no {what} within {self.seconds:g} s; came: {json.dumps(self.seen[-3:])[:200]}")

    def listen(self, seconds: float) -> None:
        """Read what comes for a time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                self.next(left)

    def subscribe(self, subscription: dict[str, Any], method: str = "subscribe") -> dict[str, Any]:
        """Subscribe and return the acknowledgement, or the error."""
        self.send({"method": method, "subscription": subscription})
        return self.wait(lambda message: message.get("method") == method, f"answer to {method}")

    def data(self, channel: str, wanted: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
        """Return the next message of a channel whose data is wanted."""
        return self.wait(lambda one: one.get("channel") == channel and wanted(one["data"]), f"message of {channel}")

    def first(self, subscription: dict[str, Any]) -> dict[str, Any]:
        """Subscribe and return the first message of the channel, which may come before the acknowledgement."""
        self.send({"method": "subscribe", "subscription": subscription})
        return self.data(str(subscription["type"]))
