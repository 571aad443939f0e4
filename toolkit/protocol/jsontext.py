"""Decoding of untrusted JSON that can't crash the process by deep nesting.

Decoders recurse and rely on the interpreter's recursion limit. Where that limit was raised (py_ecc does so when
eth-account reads a key file), a few kilobytes of brackets overflow the stack. Depth is therefore checked before
decoding, in linear time, without recursion.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

MAX_DEPTH = 64
"""Deepest nesting that is decoded. Messages of the exchange need 6."""

_SAFE_LIMIT = 3_000
"""Up to this recursion limit a decoder raises RecursionError before the stack overflows."""

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""Matches JSON strings. It also matches an unterminated one, which keeps the search linear for any bytes."""

_MEMBER = re.compile(rb'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
"""Matches what stands before the value of a member of an object: brace or comma, key, colon."""

_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


class TooDeep(ValueError):
    """JSON nested deeper than MAX_DEPTH."""

    def __init__(self) -> None:
        super().__init__(f"the JSON is nested more than {MAX_DEPTH} deep")


class RepeatedKey(ValueError):
    """An object that has a key twice.

    Decoders keep one of its values silently, and another program the other.

    Parameters
    ----------
    key : str
        The key that is there twice.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the JSON has the key {key!r} twice in one object")


def is_deep(raw: bytes) -> bool:
    """Return whether brackets nest deeper than MAX_DEPTH.

    Each round removes the innermost pairs. Brackets that are left after MAX_DEPTH rounds are too deep, or unbalanced.

    Parameters
    ----------
    raw : bytes
        JSON, which need not be valid.
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
    """Refuse JSON that could overflow the stack.

    It costs nothing at a usual recursion limit.

    Parameters
    ----------
    raw : bytes
        JSON, which need not be valid.

    Raises
    ------
    TooDeep
        If it nests deeper than 64.
    """
    if sys.getrecursionlimit() > _SAFE_LIMIT and is_deep(raw):
        raise TooDeep


def decode(text: bytes | str) -> Any:
    """Return the document in a text.

    Parameters
    ----------
    text : bytes or str
        JSON.

    Raises
    ------
    ValueError
        If it is no JSON (msgspec.DecodeError), too deep (TooDeep) or not UTF-8 (UnicodeError).
    RecursionError
        If the interpreter's limit is lower than its depth.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    guard(raw)
    return msgspec.json.decode(raw)


def members(raw: bytes) -> dict[str, msgspec.Raw]:
    """Return the members of an object, with values that are not decoded yet.

    Parameters
    ----------
    raw : bytes
        JSON of an object.

    Raises
    ------
    RepeatedKey
        For a key that is there twice.
    ValueError
        For text of another shape (msgspec.DecodeError).
    """
    found = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    # Without spaces, each member is a key in quotes, a colon, its value, and the comma or brace after it. A text of
    # just that length has no room for more members, so that the usual answer needs no second look.
    if len(raw) == 1 + sum(len(key) + len(memoryview(value)) + 4 for key, value in found.items()):
        return found
    seen: set[str] = set()
    at = 0
    while match := _MEMBER.match(raw, at):
        key = msgspec.json.decode(match[1], type=str)
        value = bytes(found[key])
        if key in seen or not raw.startswith(value, match.end()):
            raise RepeatedKey(key)
        seen.add(key)
        at = match.end() + len(value)
    if found and raw[at:].strip() != b"}":  # the last value begins as the first one of its key does: 1 and 12
        raise RepeatedKey(key)
    return found


def refuse_repeated(text: bytes) -> None:
    """Refuse an envelope that has a key twice, or whose object in `data` has one.

    Other faults pass.

    Parameters
    ----------
    text : bytes
        JSON of an envelope.

    Raises
    ------
    RepeatedKey
        For a key that is there twice.
    """
    try:
        data = bytes(members(text).get("data", b""))
        if data.startswith(b"{"):
            members(data)
    except RepeatedKey:
        raise
    except (ValueError, RecursionError):
        pass


def count_rows(text: bytes) -> int:
    """Return the length of the longest list in the `data` of an envelope, without decoding it.

    It is 0 for other shapes.

    Parameters
    ----------
    text : bytes
        JSON of an envelope.

    Raises
    ------
    TooDeep
        If it nests deeper than 64.
    """
    guard(text)
    try:
        data = msgspec.json.decode(text, type=dict[str, msgspec.Raw])["data"]
        lists = [data] if bytes(data)[:1] == b"[" else msgspec.json.decode(data, type=dict[str, msgspec.Raw]).values()
        found = [msgspec.json.decode(each, type=list[msgspec.Raw]) for each in lists if bytes(each)[:1] == b"["]
    except (ValueError, RecursionError, KeyError):
        return 0
    return max(map(len, found), default=0)
