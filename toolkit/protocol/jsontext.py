"""JSON from outside, decoded without risk to the process: no decoder is safe from any depth of nesting.

Decoders recurse, guarded by the interpreter's recursion limit; where something raised that limit (test tools do), a
few kilobytes of brackets end the process. So depth is looked at before decoding, in linear time and without recursion.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

MAX_DEPTH = 64
"""Deepest nesting that is decoded; the exchange needs 6."""

_SAFE_LIMIT = 3_000
"""Up to this recursion limit a decoder stops by itself before its stack ends."""

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""Texts, also one that never ends, so that looking for them takes linear time whatever the bytes are."""

_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


class TooDeep(ValueError):
    """JSON nested deeper than MAX_DEPTH."""

    def __init__(self) -> None:
        super().__init__(f"the JSON is nested more than {MAX_DEPTH} deep")


def is_deep(raw: bytes) -> bool:
    """Tell whether brackets nest deeper than MAX_DEPTH.

    Each round takes the innermost pairs away; what is still there after MAX_DEPTH rounds, or never was a pair, is deep.
    """
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _TEXTS.sub(b"", raw).translate(None, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        inner = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(inner) == len(brackets):
            break
        brackets = inner
    return len(brackets) > MAX_DEPTH


def guard(raw: bytes) -> None:
    """Raise TooDeep for JSON that could end this process; costs nothing while the recursion limit is a usual one."""
    if sys.getrecursionlimit() > _SAFE_LIMIT and is_deep(raw):
        raise TooDeep


def decode(text: bytes | str) -> Any:
    """Return the document in `text`. Raises ValueError (msgspec.DecodeError, TooDeep, UnicodeError), RecursionError."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    guard(raw)
    return msgspec.json.decode(raw)
