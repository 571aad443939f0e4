"""Decoding of untrusted JSON: no nesting crashes the process, and no key is there twice.

Decoders recurse and rely on the interpreter's recursion limit. Where that limit was raised (py_ecc does so when
eth-account reads a key file), a few kilobytes of brackets overflow the stack. Depth is therefore checked before
decoding, in linear time, without recursion.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import chain
from typing import Any

import msgspec

MAX_DEPTH = 64
"""Deepest nesting that is decoded. Messages of the exchange need 6."""

_SAFE_LIMIT = 3_000
"""Up to this recursion limit a decoder raises RecursionError before the stack overflows."""

_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""Matches JSON strings. It also matches an unterminated one, which keeps the search linear for any bytes."""

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
        self.key = key


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
        If it is no JSON (msgspec.DecodeError), too deep (TooDeep), not UTF-8 (UnicodeError), or if an object has a key
        twice (RepeatedKey).
    RecursionError
        If the interpreter's limit is lower than its depth.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    guard(raw)
    document = msgspec.json.decode(raw)
    refuse_repeated(raw, document)
    return document


def refuse_repeated(raw: bytes, document: object) -> None:
    """Refuse JSON of which an object has a key twice, at any depth.

    Parameters
    ----------
    raw : bytes
        JSON that was decoded.
    document : object
        What it was decoded to.

    Raises
    ------
    RepeatedKey
        For a key that is there twice.
    """
    # Decoders keep the last of two. More colons than keys can mean a second one, or colons inside texts: only then the
    # slower parser of the standard library looks.
    if raw.count(b":") != _count_keys(document, raw.count(b"{")):
        json.loads(raw, object_pairs_hook=_unique)


def _count_keys(document: object, most: int) -> int:
    """Return the number of keys in the objects of a document, of which there are at most so many."""
    found, level = 0, [document]
    while level:
        objects = [one for one in level if type(one) is dict]
        found += sum(map(len, objects))
        most -= len(objects)
        if most <= 0:  # the values of all others are plain
            break
        inner = chain(chain.from_iterable(map(dict.values, objects)), *(one for one in level if type(one) is list))
        level = [one for one in inner if type(one) in (dict, list)]
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return found


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
