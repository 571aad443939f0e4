"""Every query of the Info API and every error envelope, asked once, and every channel of the feed, read for a while."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from toolkit.client.io.flow import Fetch, Flow, Now, Reply, Sleep
from toolkit.client.io.transport import NOT_FOUND
from toolkit.client.stream.connections import ConnectionEnded, SocketConnection
from toolkit.environments import Environment
from toolkit.errors import TransportError
from toolkit.protocol import jsontext
from toolkit.protocol.reads import feed as wire
from toolkit.protocol.reads.endpoint import Endpoint
from toolkit.protocol.reads.info_queries import ENDPOINTS

from .comparison import Difference, compare_answer, compare_envelope, compare_messages

NOBODY = "0x" + "0" * 40
"""Address in queries where no account is known. The shapes of empty answers are compared then."""
PAUSE_SECONDS = 0.1
_HOUR_MS = 3_600_000
_FROM_ROWS = ("vaultAddress", "txHash", "blockHeight", "agentName")
"""Parameters whose values come from earlier answers."""


@dataclass(slots=True)
class Answered:
    """One request and its answer.

    Parameters
    ----------
    name : str
        Name of the query or action.
    method : str
        HTTP method, such as "GET".
    path : str
        Path of the address.
    query : tuple of pairs of str, optional
        Pairs of name and value (default: none).
    status : int, optional
        Status of the answer (default: 0, there is none).
    body : object, optional
        The decoded answer (default: None).
    error : str, optional
        Why there is no answer, or why it was not asked (default: "").
    rows : int, optional
        Number of rows of the answer (default: 0).
    published : bool, optional
        Whether the exchange publishes the request (default: True).
    served : bool, optional
        Whether the venue has the query (default: True).
    differences : list of Difference, optional
        How the answer differs from its declaration (default: none).
    """

    name: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    status: int = 0
    body: Any = None
    error: str = ""
    rows: int = 0
    published: bool = True
    served: bool = True
    differences: list[Difference] = field(default_factory=list)


def ask_all(account: str | None) -> Flow[list[Answered]]:
    """Return the answers of all queries. Those that need a value of another answer come after it.

    Parameters
    ----------
    account : str or None
        Address of the account, None for the zero address.
    """
    now: int = yield Now()
    address = account or NOBODY
    facts = {"userAddr": address, "userAddress": address, "user": address, "builder": address, "interval": "60"}
    facts |= {"startTime": str(now - _HOUR_MS), "endTime": str(now)}
    waiting, answers = list(ENDPOINTS.values()), []
    while waiting:
        ready = next((endpoint for endpoint in waiting if not _unknown(endpoint, facts)), None)
        if ready is None:
            break
        waiting.remove(ready)
        answered, rows = yield from _ask(ready, facts)
        answers.append(answered)
        _learn(facts, ready, rows)
        yield Sleep(PAUSE_SECONDS)
    for endpoint in waiting:
        error = f"not asked: no {', '.join(_unknown(endpoint, facts))} is known"
        answers.append(Answered(endpoint.name, "GET", endpoint.path, error=error))
    return answers


def _unknown(endpoint: Endpoint[Any], facts: Mapping[str, str]) -> list[str]:
    return [name for name, one in endpoint.params.items() if (one.required or one.leading) and name not in facts]


def _ask(endpoint: Endpoint[Any], facts: Mapping[str, str]) -> Flow[tuple[Answered, list[Any]]]:
    needed = [name for name, one in endpoint.params.items() if one.required or one.leading or one.unless]
    query = tuple((name, facts[name]) for name in needed)
    answered = Answered(endpoint.name, "GET", endpoint.path, query, published=endpoint.published)
    yield from _fetch(answered)
    if answered.error:
        return answered, []
    answered.served = answered.status != NOT_FOUND
    if not answered.served:
        return answered, []
    answered.differences, rows = compare_answer(endpoint, answered.status, answered.body)
    answered.rows = len(rows)
    return answered, [row for row in rows if isinstance(row, Mapping)]


def _learn(facts: dict[str, str], endpoint: Endpoint[Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep values of an answer that other queries need."""
    for row in rows[:1]:
        if endpoint.name == "products":
            facts |= {"symbol": str(row.get("code")), "symbol_name": str(row.get("symbol"))}
        for name in _FROM_ROWS:
            if name == "txHash" and endpoint.name != "transactions":
                continue  # not every change of a balance is a transaction's
            if row.get(name) not in (None, "", 0):
                facts.setdefault(name, str(row[name]))


def _fetch(answered: Answered, body: bytes = b"") -> Flow[None]:
    try:
        reply: Reply = yield Fetch(answered.method, answered.path, answered.query, body=body)
    except TransportError as error:
        answered.error = str(error)
        return
    answered.status = reply.status
    try:
        answered.body = jsontext.decode(reply.body)
    except (ValueError, RecursionError):
        answered.error = f"HTTP {reply.status} with {len(reply.body)} bytes that are not JSON"


def ask_for_errors(environment: Environment) -> Flow[list[Answered]]:
    """Return the answers to requests that a venue refuses. None of them can do anything. On Mainnet none is posted.

    Parameters
    ----------
    environment : Environment
        Environment of the venue.
    """
    now: int = yield Now()
    answers = []
    for probe, body, status, code in _probes(environment, now):
        yield from _fetch(probe, body)
        if not probe.error:
            probe.differences = compare_envelope(probe.name, probe.body, probe.status, status, code)
        answers.append(probe)
        yield Sleep(PAUSE_SECONDS)
    return answers


def _probes(environment: Environment, now: int) -> Iterator[tuple[Answered, bytes, int, int | None]]:
    """Yield requests with their bodies, and the status and code that the local venue answers (None: any code but 0)."""
    exchange = "/api/v1/exchange"
    yield Answered("an unknown path", "GET", "/info/no/such/path"), b"", 404, None
    yield Answered("a missing parameter", "GET", "/info/account/wallet"), b"", 400, None
    wrong = (("symbol_name", "NOPE"), ("interval", "60"))
    yield Answered("an unknown symbol", "GET", "/info/kline/last", wrong), b"", 400, None
    yield Answered("a wrong method", "GET", exchange), b"", 405, None
    if environment.is_mainnet:
        return
    yield Answered("a body that is not JSON", "POST", exchange), b"{", 400, None
    request = _signed_by_nobody(environment, now, now + 60_000)
    action = {**request, "action": {"type": "noSuchAction"}}
    yield Answered("an unknown action", "POST", exchange), json.dumps(action).encode(), 200, 40201
    yield Answered("an unknown signer", "POST", exchange), json.dumps(request).encode(), 200, 40204
    late = _signed_by_nobody(environment, now - 7_200_000, now - 3_600_000)
    yield Answered("an expired request", "POST", exchange), json.dumps(late).encode(), 200, None


def _signed_by_nobody(environment: Environment, nonce: int, expiry: int) -> dict[str, Any]:
    """Return an order that is signed by a key made for it, which no account has approved."""
    from toolkit.protocol import signing
    from toolkit.wallet import Wallet

    order = {"symbolCode": 1, "ordPx": "1", "ordQty": "1", "ordType": "LIMIT", "ordSide": "BUY", "timeInForce": "GTC"}
    payload = {"type": "placeOrder", "orders": [order]}
    key = Wallet.create().key("agent")
    return signing.sign(payload, key=key, chain=environment.chain, nonce=nonce, expiry_after=expiry)


KEPT = 5
"""Messages of a channel that are kept as fixtures: the first ones."""
_PING_SECONDS = 15.0
_NUMBER = re.compile("[0-9]{1,20}")


@dataclass(slots=True)
class ChannelCapture:
    """One subscription: its answer, its messages, and how they differ from the declaration.

    Parameters
    ----------
    channel : str
        Name of the channel.
    subject : str
        The venue's name of the subscription.
    answer : mapping, optional
        Answer to the subscription, None while there is none (default: None).
    messages : list of dict, optional
        Its messages, oldest first (default: none).
    first_type : str, optional
        Type of the first message (default: "").
    gaps : int, optional
        Number of missing sequences (default: 0).
    differences : list of Difference, optional
        How the messages differ from the declaration (default: none).
    """

    channel: str
    subject: str
    answer: Mapping[str, Any] | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    first_type: str = ""
    gaps: int = 0
    differences: list[Difference] = field(default_factory=list)


@dataclass(slots=True)
class FeedCapture:
    """All subscriptions.

    Parameters
    ----------
    by_channel : dict
        Subscription by channel.
    error : str, optional
        Why nothing came, "" if all went well (default: "").
    refusal : mapping, optional
        Answer to a subscription that does not exist (default: None).
    unknown : list, optional
        Messages that belong to no subscription (default: none).
    """

    by_channel: dict[str, ChannelCapture]
    error: str = ""
    refusal: Mapping[str, Any] | None = None
    unknown: list[Any] = field(default_factory=list)

    @property
    def channels(self) -> list[ChannelCapture]:
        """The subscriptions, in the order of their declarations."""
        return list(self.by_channel.values())

    async def read(self, url: str, requests: Iterable[str], seconds: float, timeout: float) -> None:
        """Send requests, and take what comes.

        Parameters
        ----------
        url : str
            Address of the feed.
        requests : iterable of str
            Texts to send.
        seconds : float
            How long to read, in seconds.
        timeout : float
            Longest time to connect, in seconds.
        """
        connection = await SocketConnection.connect(url, timeout)
        pinging = asyncio.create_task(_ping(connection))
        try:
            for request in requests:
                await connection.send(request)
            # Only the time is bounded: a venue may send thousands of messages a second, or none.
            async with asyncio.timeout(seconds):
                while True:
                    self.take(await connection.receive())
        except TimeoutError:
            pass
        except ConnectionEnded as ended:
            self.error = f"the connection ended: {ended}"
        finally:
            pinging.cancel()
            await connection.close()

    def take(self, text: str | bytes) -> None:
        """Put a message where it belongs.

        Parameters
        ----------
        text : str or bytes
            Message of the venue, JSON text.
        """
        try:
            message = jsontext.decode(text)
        except (ValueError, RecursionError):
            self.unknown.append(str(text)[:200])
            return
        if not isinstance(message, dict):
            self.unknown.append(message)
        elif message.get("method") == "subscribe":
            subject = str(message.get("subject", "")).casefold()
            for one in self.channels:
                if one.subject.casefold() == subject:
                    one.answer = message
                    return
            self.refusal = message
        elif (named := self.by_channel.get(str(message.get("channel")))) is not None:
            named.messages.append(message)
        elif message.get("channel") != "pong":
            self.unknown.append(message)


def read_channels(url: str, symbol: str, address: str, seconds: float, timeout: float) -> FeedCapture:
    """Subscribe to every channel and read. Never raises: `error` says what went wrong.

    Parameters
    ----------
    url : str
        Address of the feed.
    symbol : str
        Product of the channels that need one.
    address : str
        Account of the channels that need one.
    seconds : float
        How long to read, in seconds.
    timeout : float
        Longest time to connect, in seconds.
    """
    fields = {"symbol": symbol, "depth": 5, "interval": "60", "userAddress": address}
    capture, requests = FeedCapture({}), []
    for channel in wire.CHANNELS.values():
        given = {one.name: fields[one.name] for one in channel.fields}
        capture.by_channel[channel.type] = ChannelCapture(channel.type, channel.subject(given))
        requests.append(wire.subscribe(channel, given))
    requests.append('{"method":"subscribe","subscription":{"type":"noSuchChannel"}}')
    try:
        asyncio.run(capture.read(url, requests, seconds, timeout))
    except Exception as error:  # a venue's feed may break in any way, and the capture is to say how
        capture.error = f"{type(error).__name__}: {error}"
    for one in capture.channels:
        data = [message["data"] for message in one.messages if isinstance(message.get("data"), dict)]
        one.differences = compare_messages(wire.CHANNELS[one.channel], data)
        one.first_type = str(data[0].get("type", "")) if data else ""
        numbers = [int(number) for each in data if _NUMBER.fullmatch(number := str(each.get("sequence")))]
        one.gaps = sum(later != earlier + 1 for earlier, later in pairwise(numbers))
    return capture


async def _ping(connection: SocketConnection) -> None:
    with contextlib.suppress(ConnectionEnded):
        while True:
            await asyncio.sleep(_PING_SECONDS)
            await connection.send(wire.PING)
