"""Every channel of the feed, read for a while over one connection."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ...protocol import jsontext
from ...protocol.reads import feed as wire
from ..stream.connections import ConnectionEnded, SocketConnection
from .comparison import Difference, compare_messages

KEPT = 5
"""Messages of a channel that are kept as fixtures: the first ones."""
_PING_SECONDS = 15.0
_NUMBER = re.compile("[0-9]{1,20}")


@dataclass(slots=True)
class ChannelCapture:
    """One subscription: its answer, its messages, and how they differ from the declaration."""

    channel: str
    subject: str
    answer: Mapping[str, Any] | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    first_type: str = ""
    gaps: int = 0
    differences: list[Difference] = field(default_factory=list)


@dataclass(slots=True)
class FeedCapture:
    """All subscriptions, by channel. `refusal` is the answer to a subscription that does not exist."""

    by_channel: dict[str, ChannelCapture]
    error: str = ""
    refusal: Mapping[str, Any] | None = None
    unknown: list[Any] = field(default_factory=list)

    @property
    def channels(self) -> list[ChannelCapture]:
        """The subscriptions, in the order of their declarations."""
        return list(self.by_channel.values())

    async def read(self, url: str, requests: Iterable[str], seconds: float, timeout: float) -> None:
        """Send requests, and take what comes for `seconds`."""
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
        """Put a message where it belongs."""
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
    """Subscribe to every channel at `url` and read for `seconds`. Never raises: `error` says what went wrong."""
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
