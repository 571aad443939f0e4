"""The state as bytes: dump, load, hash.

The format is a checksum and the MessagePack of the typed state. Dictionaries keep their insertion order, because rules
iterate over them: two states that differ in it would continue differently. Nothing depends on a process's hash seed.

A state is encoded in slices. Nearly all of a large one is its history, which only grows, so `slices` captures the rest
immediately and encodes the records afterwards, while the venue continues. It is decoded in slices too: each holds
the interpreter, and with it a server's other threads and its signals, until it is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, get_args, get_origin

import msgspec

from ...errors import VenueError
from ..model.history import History, Log
from ..model.state import State

MAGIC = b"toolkit venue state 5\n"
"""First bytes of a dump; the number changes with the shape of the state."""
SCHEMA = "295c69e3c91b46c7"
"""Hash of the state's fields (names, order, types); tests/test_persisted_formats.py says what to do on a change."""

RECORDS = 16_384
"""Records of one slice: a few milliseconds of encoding."""
WHOLE = 1 << 20
"""A part of the history with fewer bytes is decoded together."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode
_decoder = msgspec.msgpack.Decoder(State)
_Growing = tuple[list[Any], int]
"""A list of records, and how many of them were there when the state was captured."""

_START = len(MAGIC) + hashlib.sha256().digest_size
"""Where the state begins, behind its checksum."""


def joined(parts: Iterable[bytes]) -> bytes:
    """Return the dump that consists of these slices."""
    whole = b"".join(parts)
    return b"".join((MAGIC, hashlib.sha256(whole).digest(), memoryview(whole)[len(MAGIC) :]))


def slices(state: State) -> Iterator[bytes]:
    """Capture a state, and return what encodes it slice by slice, MAGIC first; the state may change meanwhile."""
    parts: list[bytes | _Growing] = [MAGIC, _head(0x80, 0xDE, len(fields(state)))]
    for field in fields(state):
        parts.append(_encode(field.name))
        value = getattr(state, field.name)
        if field.name == "history":
            _capture(value, parts)
        else:
            parts.append(_encode(value))
    return _encoded(parts)


def _capture(value: Any, parts: list[bytes | _Growing]) -> None:
    """Add the history, or a part of it. Records are never changed, except for the last of a list (a candle)."""
    if isinstance(value, History | Log):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, dict):
        parts.append(_head(0x80, 0xDE, len(value)))
        for key, inner in value.items():
            parts.append(_encode(key))
            _capture(inner, parts)
    elif len(value) <= 1:
        parts.append(_encode(value))
    else:
        parts += _head(0x90, 0xDC, len(value)), (value, len(value) - 1), _encode(value[-1])


def _encoded(parts: Iterable[bytes | _Growing]) -> Iterator[bytes]:
    gathered, records = [], 0
    for part in parts:
        if isinstance(part, bytes):
            gathered.append(part)
            continue
        held, count = part
        at = 0
        while at < count:
            end = min(count, at + RECORDS - records)
            gathered.append(_encode(held[at:end])[len(_head(0x90, 0xDC, end - at)) :])
            records, at = records + end - at, end
            if records >= RECORDS:
                yield b"".join(gathered)
                gathered, records = [], 0
    yield b"".join(gathered)


def _head(short: int, long: int, count: int) -> bytes:
    """Return the head of a MessagePack map (0x80, 0xDE) or array (0x90, 0xDC) of so many items."""
    if count < 16:
        return bytes((short | count,))
    return bytes((long,)) + count.to_bytes(2) if count < 1 << 16 else bytes((long + 1,)) + count.to_bytes(4)


def load(data: bytes) -> State:
    """Return the dumped state. Raises VenueError for other bytes, and for damaged or edited ones."""
    if not data.startswith(MAGIC):
        raise VenueError(f"these bytes are no dump of this version: they begin with {data[:24]!r}, not {MAGIC!r}")
    body = memoryview(data)[_START:]
    digest = hashlib.sha256(MAGIC)
    digest.update(body)
    if data[len(MAGIC) : _START] != digest.digest():
        raise VenueError("the dump is damaged: its checksum is that of other bytes")
    try:
        parts = _decode(body, type=dict[str, msgspec.Raw])
        history = _decoded(History, parts.pop("history"))
        others = (part for name, raw in parts.items() for part in (_encode(name), raw))
        state = _decoder.decode(b"".join((_head(0x80, 0xDE, len(parts)), *others)))
        state.history = history
    except Exception as error:  # what another program wrote can break anything, UTF-8 included
        raise VenueError(f"the dump is damaged: {type(error).__name__}: {error}") from error
    _check_fields(state, parts)
    return state


def _check_fields(state: State, parts: dict[str, msgspec.Raw]) -> None:
    """Raise VenueError for a dump whose fields are not those of this version.

    The decoder drops the fields that it does not know, and fills in the missing ones, so the state is encoded again.
    That is quick, because the history is left out: its types refuse unknown fields themselves.
    """
    names = {field.name for field in fields(state)} - {"history"}
    wrong = names ^ parts.keys()
    wrong |= {name for name in names & parts.keys() if _encode(getattr(state, name)) != bytes(parts[name])}
    if wrong:
        where = ", ".join(f"State.{name}" for name in sorted(wrong))
        raise VenueError(f"the dump is of another version: the fields of {where} are not those of this one")


def _decoded(kind: Any, raw: msgspec.Raw) -> Any:
    """Return the history, or a part of it, of this type."""
    if len(raw) < WHOLE:
        return _decode(raw, type=kind)
    origin = get_origin(kind) or kind
    if origin is list:
        items, records = _decode(raw, type=list[msgspec.Raw]), []
        for at in range(0, len(items), RECORDS):
            some = items[at : at + RECORDS]
            records += _decode(b"".join((_head(0x90, 0xDC, len(some)), *some)), type=kind)
        return records
    if origin is dict:
        inner = get_args(kind)[1]
        return {key: _decoded(inner, one) for key, one in _decode(raw, type=dict[Any, msgspec.Raw]).items()}
    parts = _decode(raw, type=dict[str, msgspec.Raw])
    return origin(**{each.name: _decoded(each.type, parts[each.encode_name]) for each in msgspec.structs.fields(kind)})


def hash_of(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 that the dump of these slices carries, as 64 hex digits."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
