"""An unkind venue: what goes wrong at a real one, one thing at a time, for a phase of time, the same each time."""

from __future__ import annotations

from .active import ActiveTrouble
from .answers import CachedAnswer, LateAnswer, LostAnswer, ProxyPage, TooManyRequests, TruncatedAnswer
from .messages import FeedDoor, LargeMessages, LateMessages, LostMessages, MessageLimit, RepeatedMessages
from .phases import Phase
from .rows import MissingRows, OtherAccount, RepeatedRows, WrongTotal
from .states import CandleGrid, Lag, Listing, NonceWindow
from .trouble import KINDS, Trouble, Troubles, read

__all__ = [
    "KINDS",
    "ActiveTrouble",
    "CachedAnswer",
    "CandleGrid",
    "FeedDoor",
    "Lag",
    "LargeMessages",
    "LateAnswer",
    "LateMessages",
    "Listing",
    "LostAnswer",
    "LostMessages",
    "MessageLimit",
    "MissingRows",
    "NonceWindow",
    "OtherAccount",
    "Phase",
    "ProxyPage",
    "RepeatedMessages",
    "RepeatedRows",
    "TooManyRequests",
    "Trouble",
    "Troubles",
    "TruncatedAnswer",
    "WrongTotal",
    "read",
]
