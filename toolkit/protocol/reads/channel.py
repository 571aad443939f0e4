"""The declaration of a channel of the feed: its subscription, the record of its items, and how messages are applied.

How the messages of a channel are applied (`Channel.style`):

- ``levels``: the snapshot is a window of a book. An increment lists changed levels. Quantity "0" removes a level.
- ``latest``: each message is a complete value and replaces the one before.
- ``keyed``: items by key. An increment replaces the items it names and leaves the others.
- ``append``: items in the order they happened. An increment adds to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import MalformedRequest
from ..fields import P, Source
from ..hexbytes import is_address
from .endpoint import Tie
from .rows import Record, RowType

Style = Literal["levels", "latest", "keyed", "append"]

MAX_DEPTH = 200
"""Deepest order book window [L]."""
INTERVALS = (60, 180, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 604800)
"""Candle intervals in seconds [L]."""

_SYMBOL = re.compile(r"[A-Z0-9][A-Z0-9._-]{0,31}")


def _symbol(value: object) -> str:
    if not isinstance(value, str) or not _SYMBOL.fullmatch(value):
        raise _wrong("symbol", "product symbol as text", value, ("BTCUSDC",))
    return value


def _depth(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DEPTH:
        raise _wrong("depth", f"whole number from 1 to {MAX_DEPTH}", value, ("5", "20", "50"))
    return value


def _interval(value: object) -> str:
    if not isinstance(value, str) or value not in _INTERVAL_TEXTS:
        raise _wrong("interval", f"seconds as text, one of {', '.join(_INTERVAL_TEXTS)}", value, _INTERVAL_TEXTS)
    return value


def _address(value: object) -> str:
    if not is_address(value):
        raise _wrong("userAddress", "0x and 40 hex digits", value, ())
    return str(value).lower()


_INTERVAL_TEXTS = tuple(str(seconds) for seconds in INTERVALS)


def _wrong(name: str, rule: str, value: object, nearest: tuple[str, ...]) -> MalformedRequest:
    path = f"subscription.{name}"
    shown = "is missing" if value is None else f"{value!r} is not valid"
    example = f", for example {nearest[0]}" if nearest else ""
    return MalformedRequest(f"{path} {shown}: {rule}{example}", field=path, rule=rule, value=value, nearest=nearest)


@dataclass(frozen=True, slots=True)
class SubscriptionField:
    """One field of a subscription.

    Attributes
    ----------
    name : str
        Name on the wire.
    check : callable
        Returns the canonical value, or raises MalformedRequest.
    rule : str
        The accepted values in words.
    default : object
        Value of a subscription without it (default: none).
    ties : Tie
        Column of the rows that must have its value (default: none).
    aliases : tuple of str
        Further names that it has in data messages (default: none).
    """

    name: str
    check: Callable[[Any], Any]
    rule: str
    default: Any = None
    ties: Tie = ""
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names that it has in data messages."""
        return (*self.aliases, self.name)


SYMBOL = SubscriptionField("symbol", _symbol, "product symbol, text", ties="symbol", aliases=("symbolName", "s"))
DEPTH = SubscriptionField("depth", _depth, f"levels per side, 1 to {MAX_DEPTH}", 5)
INTERVAL = SubscriptionField("interval", _interval, "seconds, as text", ties="interval", aliases=("intrvl",))
ACCOUNT = SubscriptionField("userAddress", _address, "0x address of the account", ties="account", aliases=("userAddr",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One channel of the feed.

    Attributes
    ----------
    type : str
        Name of the subscription and of the channel.
    about : str
        A sentence for the reference.
    row : RowType or None
        Record of an item. The channel of an account's state has none.
    parts : mapping of str to RowType
        Records of the parts of an account's state. Their identities name the items (default: none).
    fields : tuple of SubscriptionField
        Fields of the subscription (default: none).
    style : Style
        How messages are applied, see the module.
    key : str
        Member of `data` with the items, "" if `data` is the item.
    identity : tuple of str
        Wire names that identify an item (default: none).
    conflate : bool
        True if a slow reader may get one newer message instead of many (default: `False`).
    silence_ms : int
        A client subscribes again after a longer silence (default: 60,000).
    quiet : bool
        True if silence does not make the data stale (default: `False`).
    also : tuple of str
        Further members of `data` (default: none).
    typed : bool
        True if published messages have `type` (default: `False`).
    sequenced : bool
        True if published messages have `sequence` (default: `False`).
    columns : tuple of str
        Wire names of an item as published, where they are fewer than those of the record (default: none).
    source : Source
        Who says that the channel exists (default: published).
    """

    type: str
    about: str
    row: RowType | None = None
    parts: Mapping[str, RowType] = field(default_factory=dict)
    fields: tuple[SubscriptionField, ...] = ()
    style: Style
    key: str = ""
    identity: tuple[str, ...] = ()
    conflate: bool = False
    silence_ms: int = 60_000
    quiet: bool = False
    also: tuple[str, ...] = ()
    typed: bool = False
    sequenced: bool = False
    columns: tuple[str, ...] = ()
    source: Source = P

    @property
    def record(self) -> Record:
        """The declaration of an item."""
        assert self.row is not None, f"{self.type} has parts"
        return self.row.declared

    @property
    def opens_with_snapshot(self) -> bool:
        """True where increments mean nothing without a snapshot: a book, and the state of an account."""
        return self.style == "levels" or bool(self.parts)

    @property
    def begins_with_snapshot(self) -> bool:
        """True if the first message of a subscription is a snapshot, as published."""
        return self.typed and self.sequenced

    @property
    def needs_no_data(self) -> bool:
        """True where a subscription is of use before its first message: records come when something happens."""
        return self.style == "append" or not self.sequenced

    @property
    def private(self) -> bool:
        """True for channels of one account (subscribed by userAddress)."""
        return ACCOUNT in self.fields

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked, canonical subscription fields.

        Parameters
        ----------
        given : mapping of str to object
            Fields of the client's subscription.

        Raises
        ------
        MalformedRequest
            With the field that is wrong.
        """
        known = {"type", *(one.name for one in self.fields)}
        for name in given:
            if name not in known:
                path, allowed = f"subscription.{name}", tuple(sorted(known))
                said = f"{path} is not a field of {self.type}. It takes {', '.join(allowed)}"
                raise MalformedRequest(said, field=path, rule="known field", value=given[name], nearest=allowed)
        return {one.name: one.check(given.get(one.name, one.default)) for one in self.fields}

    def subject(self, fields: Mapping[str, Any]) -> str:
        """Return the subject text, such as "orderBook.BTCUSDC.50".

        Parameters
        ----------
        fields : mapping of str to object
            Checked fields of the subscription.
        """
        return ".".join([self.type, *(str(fields[one.name]) for one in self.fields)])

    def subscription(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `subscription` object of a client message.

        Parameters
        ----------
        fields : mapping of str to object
            Checked fields of the subscription.
        """
        return {"type": self.type, **{one.name: fields[one.name] for one in self.fields}}
