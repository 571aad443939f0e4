"""The live feed on the wire: one declaration for each channel, and the messages of client and venue.

Subscriptions, acknowledgements, refusals and data messages are derived from CHANNELS. `feed_records` has the fields of
each item and the reference table of the documentation. Source: docs/published.md, "WebSocket". Rules marked [L] are
decisions of the local venue.

How the messages of a channel are applied (`Channel.style`):

- ``levels``: the snapshot is a window of a book. An increment lists changed levels. Quantity "0" removes a level.
- ``latest``: each message is a complete value and replaces the one before.
- ``keyed``: items by key. An increment replaces the items it names and leaves the others.
- ``append``: items in the order they happened. An increment adds to them.

Only six channels number their messages as published, and five name the kind of a message (`Channel.sequenced`,
`Channel.typed`). The others are records that arrive: whether one was lost can't be known from them. A reader takes
every channel with and without both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from ...errors import MalformedRequest
from .. import jsontext
from ..hexbytes import is_address

Style = Literal["levels", "latest", "keyed", "append"]
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
MAX_DEPTH = 200
"""Deepest order book window [L]."""
RECENT = 100
"""Largest number of items in a snapshot of an ``append`` channel, newest last [L]."""
INTERVALS = (60, 180, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 604800)
"""Candle intervals in seconds [L]."""

RATE_LIMITED = 40220
MALFORMED = 40003
NORMAL_CLOSE = 1000
GOING_AWAY = 1001
POLICY_CLOSE = 1008
INTERNAL_CLOSE = 1011
OVERLOAD_CLOSE = 1013

_SYMBOL = re.compile(r"[A-Z0-9][A-Z0-9._-]{0,31}")


def _symbol(value: Any) -> str:
    if not isinstance(value, str) or not _SYMBOL.fullmatch(value):
        raise _wrong("symbol", "product symbol as text", value, ("BTCUSDC",))
    return value


def _depth(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DEPTH:
        raise _wrong("depth", f"whole number from 1 to {MAX_DEPTH}", value, ("5", "20", "50"))
    return value


def _interval(value: Any) -> str:
    if not isinstance(value, str) or value not in _INTERVAL_TEXTS:
        raise _wrong("interval", f"seconds as text, one of {', '.join(_INTERVAL_TEXTS)}", value, _INTERVAL_TEXTS)
    return value


def _address(value: Any) -> str:
    if not is_address(value):
        raise _wrong("userAddress", "0x and 40 hex digits", value, ())
    return str(value).lower()


_INTERVAL_TEXTS = tuple(str(seconds) for seconds in INTERVALS)


def _wrong(name: str, rule: str, value: Any, nearest: tuple[str, ...]) -> MalformedRequest:
    path = f"subscription.{name}"
    shown = "is missing" if value is None else f"{value!r} is not valid"
    example = f", for example {nearest[0]}" if nearest else ""
    return MalformedRequest(f"{path} {shown}: {rule}{example}", field=path, rule=rule, value=value, nearest=nearest)


@dataclass(frozen=True, slots=True)
class SubscriptionField:
    """One field of a subscription: wire name, check (returns the canonical value), rule as text, default."""

    name: str
    check: Callable[[Any], Any]
    rule: str
    default: Any = None


_FIELDS = {
    one.name: one
    for one in (
        SubscriptionField("symbol", _symbol, "product symbol, text"),
        SubscriptionField("depth", _depth, f"levels per side, 1 to {MAX_DEPTH}", 5),
        SubscriptionField("interval", _interval, "seconds, as text"),
        SubscriptionField("userAddress", _address, "0x address of the account"),
    )
}


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel: the fields of its subscription, the contents of its data and how messages are applied.

    `type` is the wire name of subscription and channel. `fields` are those of the subscription. The module explains
    `style`. `key` is the member of `data` with the items, "" if `data` is the item. `also` are further members. `about`
    is a sentence for the reference. `identity` are the fields that identify an item. With `conflate` a slow reader may
    get one newer message instead of many. A client subscribes again after a silence above `silence_ms`. If `quiet`,
    silence does not make the data stale. `typed` and `sequenced` say whether published messages have `type` and
    `sequence`. `columns` are the fields of an item as published, where they are fewer than those of the record.
    """

    type: str
    fields: tuple[SubscriptionField, ...]
    style: Style
    key: str
    about: str
    identity: tuple[str, ...] = ()
    conflate: bool = False
    silence_ms: int = 60_000
    quiet: bool = False
    also: tuple[str, ...] = ()
    typed: bool = False
    sequenced: bool = False
    columns: tuple[str, ...] = ()

    @property
    def opens_with_snapshot(self) -> bool:
        """True where increments mean nothing without a snapshot: a book, and the state of an account."""
        return self.style == "levels" or self.type == "aopState"

    @property
    def needs_no_data(self) -> bool:
        """True where a subscription is of use before its first message: records come when something happens."""
        return self.style == "append" or not self.sequenced

    @property
    def private(self) -> bool:
        """True for channels of one account (subscribed by userAddress)."""
        return _FIELDS["userAddress"] in self.fields

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked, canonical subscription fields. MalformedRequest names the field that is wrong."""
        known = {"type", *(one.name for one in self.fields)}
        for name in given:
            if name not in known:
                allowed = ", ".join(sorted(known))
                raise MalformedRequest(
                    f"subscription.{name} is not a field of {self.type}. It takes {allowed}",
                    field=f"subscription.{name}",
                    rule="known field",
                    value=given[name],
                    nearest=tuple(sorted(known)),
                )
        return {one.name: one.check(given.get(one.name, one.default)) for one in self.fields}

    def subject(self, fields: Mapping[str, Any]) -> str:
        """Return the subject text of checked fields, such as "orderBook.BTCUSDC.50"."""
        return ".".join([self.type, *(str(fields[one.name]) for one in self.fields)])

    def subscription(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `subscription` object of a client message."""
        return {"type": self.type, **{one.name: fields[one.name] for one in self.fields}}


AOP_KEYS: dict[str, tuple[str, ...]] = {
    "accounts": ("userAddr", "currency"),
    "orders": ("ordId",),
    "positions": ("userAddr", "symbolCode"),
    "settings": ("symbol",),
}
"""Part of aopState's `aop` → fields that identify an item of it."""
CLOSED_ORDER_STATES = frozenset({"FILLED", "CANCELED", "REJECTED"})
"""Order states in an aopState increment that remove the order from the open orders."""

_CHANNELS = """
orderBook symbol depth: levels book; also symbolCode symbol block depth timestamp;
    conflate; typed; sequenced; silence 15000 — Best levels of a product's book, best first, as texts `[price, size]`.
candle symbol interval: keyed; identity timestamp; conflate; silence 120000
    — The current candle. A snapshot also has the previous candles in `recent` [L].
trades symbol: append trades; also symbol; typed; sequenced; silence 120000
    — Public trades, oldest first. The side is the taker's.
ticker symbol: latest ticker; also timestamp symbol; conflate; typed; sequenced; silence 15000
    — Prices, open interest, funding and 24 h statistics of a product.
allTickers: keyed tickers; identity s; also timestamp; columns s p mp v; conflate; typed; sequenced; silence 15000
    — Tickers of all products. An increment has those that changed.
block: append; identity blockHeight; silence 120000
    — Each block. A snapshot also has the previous blocks in `recent` [L].
blockHeight: latest; identity blockHeight; conflate; silence 120000
    — Height of the newest block.
tx: append; identity txHash; quiet
    — Each transaction. A snapshot also has the previous transactions in `recent` [L].
aopState userAddress: keyed aop; also userAddr timestamp; conflate; quiet; typed; sequenced
    — Wallets, open orders, positions and leverage settings of an account. An increment has what changed.
orderHist userAddress: append orderHists; identity ordId execId execStatus ordPx ordQty; quiet; typed
    — Order events of an account, oldest first.
userFilled userAddress: append userFills; identity ordId execId; quiet; typed
    — Fills of an account, oldest first.
closedPosition userAddress: append closedPositions; identity symbolCode side term; quiet; typed
    — Closed positions of an account, oldest first.
userFunding userAddress: append funding; identity symbol posSide transactionTime; quiet; typed
    — Funding payments of an account, oldest first. A negative fee was paid by the account.
userEvent userAddress: append events; also userAddr timestamp; quiet; sequenced
    — Events of an account: perpOrder, approveAgent, actionAck, vaultDeposit, vaultWithdraw.
"""
"""A channel is `type fields of the subscription: style [key]; options — about`, see `Channel`."""


def _channel(declared: str) -> Channel:
    text, _, about = " ".join(declared.split()).partition(" — ")
    subscription, _, said = text.partition(": ")
    kind, *fields = subscription.split()
    (style, key), *others = [option.partition(" ")[::2] for option in said.split("; ")]
    options = dict(others)
    given: dict[str, Any] = {name: name in options for name in ("conflate", "quiet", "typed", "sequenced")}
    given |= {name: tuple(options.get(name, "").split()) for name in ("identity", "also", "columns")}
    given["silence_ms"] = int(options.get("silence", 60_000))
    return Channel(kind, tuple(_FIELDS[name] for name in fields), cast(Style, style), key, about, **given)


CHANNELS: dict[str, Channel] = {one.type: one for one in map(_channel, re.split(r"\n(?=\w)", _CHANNELS.strip()))}
"""Every channel by its wire name."""


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A checked message of a client. `channel`, `fields` and `subject` are empty for a ping."""

    method: Method
    channel: Channel | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    subject: str = ""


def parse(text: str | bytes) -> ClientMessage:
    """Return the checked message of a client.

    Raises MalformedRequest whose `field` names what is wrong: "" for no JSON object, "method",
    "subscription", "subscription.type" or "subscription.<field>".
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


def _bad(path: str, message: str, value: Any) -> MalformedRequest:
    return MalformedRequest(message, field=path, rule="feed message", value=value)


def method_of(text: str | bytes) -> str:
    """Return the method that a malformed message names, "" if it can't be read. Refusals show it."""
    try:
        message = jsontext.decode(text)
    except _UNREADABLE:
        return ""
    method = message.get("method") if isinstance(message, dict) else ""
    return method if isinstance(method, str) else ""


def encode(message: Mapping[str, Any]) -> str:
    """Return the JSON text of a message."""
    return msgspec.json.encode(message).decode()


def subscribe(channel: Channel, fields: Mapping[str, Any]) -> str:
    """Return the client's message that subscribes to checked fields."""
    return encode({"method": "subscribe", "subscription": channel.subscription(fields)})


def unsubscribe(channel: Channel, fields: Mapping[str, Any]) -> str:
    """Return the client's message that ends a subscription."""
    return encode({"method": "unsubscribe", "subscription": channel.subscription(fields)})


PING = '{"method":"ping"}'
PONG = '{"channel":"pong"}'


def acknowledgement(method: str, subject: str) -> str:
    """Return the venue's message that a subscription or its end was accepted."""
    return encode({"method": method, "success": True, "subject": subject})


def refusal(method: str, code: int, message: str, subject: str = "", retry_after_ms: int = 0) -> str:
    """Return the venue's message that a request was refused.

    It has the `subject` if known, and `retryAfterMs` if the same request may be accepted later [L].
    """
    answer: dict[str, Any] = {"method": method, "success": False, "code": code, "message": message}
    if subject:
        answer["subject"] = subject
    if retry_after_ms:
        answer["retryAfterMs"] = retry_after_ms
    return encode(answer)


def data_message(channel: str, kind: str, sequence: int, data: Mapping[str, Any]) -> str:
    """Return a data message with `type` and `sequence`. `kind` is "snapshot" or "incremental"."""
    return encode({"channel": channel, "data": {"type": kind, "sequence": sequence, **data}})
