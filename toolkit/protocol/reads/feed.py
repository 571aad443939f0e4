"""The live feed on the wire: every channel by name, and the messages of client and venue.

Subscriptions, acknowledgements, refusals and data messages are derived from CHANNELS, whose declarations are in
`channels`. Source: docs/published.md, "WebSocket". Rules marked [L] are decisions of the local venue.

Only six channels number their messages as published, and nine name the kind of a message (`Channel.sequenced`,
`Channel.typed`). The others are records that arrive: whether one was lost can't be known from them. A reader takes
every channel with and without both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from ...errors import MalformedRequest
from .. import jsontext
from .channel import Channel
from .channels import account, chain, market
from .rows import Record

Method = Literal["subscribe", "unsubscribe", "ping"]

MAX_CONNECTIONS = 10
"""Connections per IP address (docs/published.md, "Trading rules")."""
MAX_SUBSCRIPTIONS = 50
"""Subscriptions per connection (docs/published.md, "Trading rules")."""
MAX_MESSAGES_PER_SECOND = 50
"""Messages a client may send within any second (docs/published.md, "Trading rules")."""
IDLE_MS = 60_000
"""The venue closes a connection from which nothing arrived for this long (published)."""
MAX_MESSAGE_BYTES = 4_096
"""Longest message a client may send [L]."""
RECENT = 100
"""Largest number of trades in a snapshot, and of items that a client keeps of a channel [L]."""

RATE_LIMITED = 40220
MALFORMED = 40003
NORMAL_CLOSE = 1000
GOING_AWAY = 1001
POLICY_CLOSE = 1008
INTERNAL_CLOSE = 1011
OVERLOAD_CLOSE = 1013

CHANNELS: dict[str, Channel] = {
    one.type: one
    for one in (
        market.ORDER_BOOK,
        market.CANDLE,
        market.TRADES,
        market.TICKER,
        market.ALL_TICKERS,
        chain.BLOCK,
        chain.BLOCK_HEIGHT,
        chain.TX,
        account.AOP_STATE,
        account.ORDER_HIST,
        account.USER_FILLED,
        account.CLOSED_POSITION,
        account.USER_FUNDING,
        account.USER_EVENT,
    )
}
"""Every channel by its wire name."""

RECORDS: dict[str, Record] = {one.type: one.record for one in CHANNELS.values() if one.row is not None}
"""Channel → record of its items. The channel aopState has a record for each of its parts, see AOP_RECORDS."""

AOP_RECORDS: dict[str, Record] = {part: row.declared for part, row in account.AOP_STATE.parts.items()}
"""Part of aopState's `aop` → record of its items. Its identity names an item."""

RETRY_AFTER = "retryAfterMs"
"""Member of a refusal that says after how many ms a subscription may be tried again."""
CLOSED_ORDER_STATES = frozenset({"FILLED", "CANCELED", "REJECTED"})
"""Order states in an aopState increment that remove the order from the open orders."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A checked message of a client.

    Attributes
    ----------
    method : Method
        "subscribe", "unsubscribe" or "ping".
    channel : Channel or None
        Declaration of the channel, `None` for a ping.
    fields : dict of str to object
        Checked fields of the subscription, empty for a ping.
    subject : str
        Text that names the subscription, "" for a ping.
    """

    method: Method
    channel: Channel | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    subject: str = ""


def parse(text: str | bytes) -> ClientMessage:
    """Return the checked message of a client.

    Parameters
    ----------
    text : str or bytes
        JSON text.

    Raises
    ------
    MalformedRequest
        With what is wrong as `field`: "" for no JSON object, "method", "subscription", "subscription.type" or
        "subscription.<field>".
    """
    if len(text) > MAX_MESSAGE_BYTES:
        raise _bad("", f"a message may have {MAX_MESSAGE_BYTES} bytes, and this message has {len(text)}", len(text))
    try:
        message = jsontext.decode(text)
    except _UNREADABLE as error:
        raise _bad("", f"a message is one JSON object: {error}", None) from None
    if not isinstance(message, dict):
        raise _bad("", "a message is one JSON object", message)
    for name in message:
        if name not in ("method", "subscription"):
            raise _bad(name, f"{name} is not a member of a message. It has method and subscription", message[name])
    method = message.get("method")
    if method == "ping":
        return ClientMessage("ping")
    if method not in ("subscribe", "unsubscribe"):
        raise _bad("method", f"method {method!r} is not known. Use subscribe, unsubscribe or ping", method)
    given = message.get("subscription")
    if not isinstance(given, dict):
        raise _bad("subscription", "subscription must be an object with a type", given)
    channel = CHANNELS.get(given.get("type", "")) if isinstance(given.get("type"), str) else None
    if channel is None:
        known = ", ".join(CHANNELS)
        kind = given.get("type")
        raise _bad("subscription.type", f"subscription.type {kind!r} is none of {known}", kind)
    fields = channel.parse(given)
    return ClientMessage(cast(Method, method), channel, fields, channel.subject(fields))


_UNREADABLE = (ValueError, RecursionError)


def _bad(path: str, message: str, value: object) -> MalformedRequest:
    return MalformedRequest(message, field=path, rule="feed message", value=value)


def method_of(text: str | bytes) -> str:
    """Return the method that a malformed message names, "" if it can't be read.

    Refusals show it.

    Parameters
    ----------
    text : str or bytes
        JSON text.
    """
    try:
        message = jsontext.decode(text)
    except _UNREADABLE:
        return ""
    method = message.get("method") if isinstance(message, dict) else ""
    return method if isinstance(method, str) else ""


def encode(message: Mapping[str, Any]) -> str:
    """Return the JSON text of a message.

    Parameters
    ----------
    message : mapping of str to object
        The message, ready for JSON.
    """
    return msgspec.json.encode(message).decode()


def subscribe(channel: Channel, fields: Mapping[str, Any]) -> str:
    """Return the client's message that subscribes to checked fields.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping of str to object
        Checked fields of the subscription.
    """
    return encode({"method": "subscribe", "subscription": channel.subscription(fields)})


def unsubscribe(channel: Channel, fields: Mapping[str, Any]) -> str:
    """Return the client's message that ends a subscription.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    fields : mapping of str to object
        Checked fields of the subscription.
    """
    return encode({"method": "unsubscribe", "subscription": channel.subscription(fields)})


PING = '{"method":"ping"}'
PONG = '{"channel":"pong"}'


def acknowledgement(method: str, subject: str) -> str:
    """Return the venue's message that a subscription or its end was accepted.

    Parameters
    ----------
    method : str
        "subscribe" or "unsubscribe".
    subject : str
        Text that names the subscription, such as "trades.BTCUSDC".
    """
    return encode({"method": method, "success": True, "subject": subject})


def refusal(method: str, code: int, message: str, subject: str = "", retry_after_ms: int = 0) -> str:
    """Return the venue's message that a request was refused.

    Parameters
    ----------
    method : str
        Method of the request, "" if it can't be read.
    code : int
        Wire code.
    message : str
        Why, in words.
    subject : str, optional
        Subject of the request, "" if not known (default: "").
    retry_after_ms : int, optional
        Milliseconds after which the same request may be accepted, 0 for never [L] (default: 0).
    """
    answer: dict[str, Any] = {"method": method, "success": False, "code": code, "message": message}
    if subject:
        answer["subject"] = subject
    if retry_after_ms:
        answer["retryAfterMs"] = retry_after_ms
    return encode(answer)


def data_message(channel: Channel, kind: str, sequence: int, data: Mapping[str, Any]) -> str:
    """Return a data message.

    It has `type` and `sequence` where the published messages of the channel have them.

    Parameters
    ----------
    channel : Channel
        Declaration of the channel.
    kind : str
        "snapshot" or "incremental".
    sequence : int
        Number of the message.
    data : mapping
        Its contents.
    """
    head: dict[str, Any] = {"type": kind} if channel.typed else {}
    if channel.sequenced:
        head["sequence"] = sequence
    return encode({"channel": channel.type, "data": head | dict(data)})
