"""The state as bytes: dump, load, hash.

The format is the MessagePack of the typed state, and a header with a seal. Dictionaries keep their insertion order,
because rules iterate over them: two states that differ in it would continue differently. Nothing depends on a process's
hash seed.

A state is encoded in slices. Nearly all of a large one is its history, which only grows, so `slices` captures the rest
immediately and encodes the records afterwards, while the venue continues. It is decoded in slices too: each holds
the interpreter, and with it a server's other threads and its signals, until it is done.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, get_args, get_origin

import msgspec

from ...stored.seals import FileKind, before_header, checksum, sealed
from ..model.history import History, Log, Records
from ..model.state import State

FORMAT = 3
"""Number of the format. It changes with the shape of the state."""
KIND = FileKind("venue dump", FORMAT, "load another one, or one that the same version of the toolkit wrote")
SCHEMA = "2c0213e5f3b7f22d"
"""Hash of the state's fields (names, order, types). tests/test_persisted_formats.py says what to do on a change."""

RECORDS = 16_384
"""Records of one slice: a few milliseconds of encoding."""
WHOLE = 1 << 20
"""A part of the history with fewer bytes is decoded together."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode
_decoder = msgspec.msgpack.Decoder(State)
_NAMES = "kept"
Fetch = Callable[[bytes], bytes]
_Growing = tuple[list[Any], int]
"""A list of records, and how many of them were there when the state was captured."""


def joined(parts: Iterable[bytes]) -> bytes:
    """Return the dump that consists of these slices.

    Parameters
    ----------
    parts : iterable of bytes
        Slices of a state, in order.
    """
    return sealed(b"".join((*parts, KIND.header())))


def slices(state: State, *, whole: bool = True) -> Iterator[bytes]:
    """Capture a state, and return what encodes it slice by slice.

    The state may change meanwhile.

    With `whole` False, chunks of the history that lie elsewhere are only named, `load` fetches them.

    Parameters
    ----------
    state : State
        State to encode.
    whole : bool, optional
        False only names the chunks of the history that lie elsewhere (default: `True`).
    """
    parts: list[bytes | _Growing] = [_head(0x80, 0xDE, len(fields(state)))]
    for field in fields(state):
        parts.append(_encode(field.name))
        value = getattr(state, field.name)
        if field.name == "history":
            _capture(value, parts, whole)
        else:
            parts.append(_encode(value))
    return _encoded(parts)


def _capture(value: Any, parts: list[bytes | _Growing], whole: bool) -> None:
    """Add the history, or a part of it. Records are never changed, except for the last of a list (a candle)."""
    if isinstance(value, History | Log):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    elif isinstance(value, Records) and not whole:
        value = dict(zip((_NAMES, "recent"), value.parts, strict=True))
    if isinstance(value, dict):
        parts.append(_head(0x80, 0xDE, len(value)))
        for key, inner in value.items():
            parts.append(_encode(key))
            _capture(inner, parts, whole)
    elif len(value) <= 1:
        parts.append(_encode(list(value)))
    else:
        # The last record may still change (an open candle), so it is encoded now. Those before it never change, and are
        # encoded while the venue continues.
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
            # Slices have equal numbers of records, so that none holds the interpreter for long. The head of each
            # partial array is cut off: the whole array got its own above.
            end = min(count, at + RECORDS - records)
            gathered.append(_encode(list(held[at:end]))[len(_head(0x90, 0xDC, end - at)) :])
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


def load(data: bytes, name: object, fetch: Fetch | None = None) -> State:
    """Return the state of a dump, or of slices that a journal kept and checked.

    Parameters
    ----------
    data : bytes
        Bytes of the dump, or of the slices without a seal.
    name : object
        Name of the file or source, for errors.
    fetch : Fetch or None, optional
        Returns the chunk of the history with a name, for slices that only name them (default: none, the dump is whole
        and sealed).

    Raises
    ------
    StoredFileError
        If the bytes are damaged, edited or of another version. The error has `name`.
    """
    if fetch is None:
        KIND.check(name, data)
    try:
        parts = _decode(data if fetch else before_header(data), type=dict[str, msgspec.Raw])
        # The history is decoded apart, in pieces, because it is nearly all of a large dump.
        history = _decoded(History, parts.pop("history"), fetch)
        others = (part for name, raw in parts.items() for part in (_encode(name), raw))
        state = _decoder.decode(b"".join((_head(0x80, 0xDE, len(parts)), *others)))
        state.history = history
    except Exception as error:  # what another program wrote can break anything, UTF-8 included
        raise KIND.damaged(name, f"{type(error).__name__}: {error}") from error
    if wrong := _wrong_fields(state, parts):
        raise KIND.error(name, f"it is of another version: the fields of {wrong} are not those of this one")
    return state


def _wrong_fields(state: State, parts: dict[str, msgspec.Raw]) -> str:
    """Return the fields of a dump that are not those of this version, "" if they are.

    The decoder drops the fields that it does not know, and fills in the missing ones, so the state is encoded again.
    That is quick, because the history is left out: its types refuse unknown fields themselves.
    """
    names = {field.name for field in fields(state)} - {"history"}
    wrong = names ^ parts.keys()
    wrong |= {name for name in names & parts.keys() if _encode(getattr(state, name)) != bytes(parts[name])}
    return ", ".join(f"State.{name}" for name in sorted(wrong))


def reader(kind: object, fetch: Fetch) -> Callable[[bytes], list[Any]]:
    """Return what fetches and decodes a chunk of records.

    Parameters
    ----------
    kind : object
        Type of a chunk, such as `list[Transaction]`.
    fetch : Fetch
        Returns the bytes of a chunk by its name.
    """
    decode = msgspec.msgpack.Decoder(kind).decode
    return lambda name: decode(fetch(name))


def _decoded(kind: Any, raw: msgspec.Raw, fetch: Fetch | None) -> Any:
    """Return the history, or a part of it, of this type."""
    origin = get_origin(kind) or kind
    named = fetch is not None and origin is list and bytes(memoryview(raw)[:1]) < b"\x90"  # a map, not an array
    if fetch is not None and named:
        names, recent = _decode(raw, type=dict[str, msgspec.Raw]).values()
        return Records(_decode(names, type=list[bytes]), _decoded(kind, recent, None), reader(kind, fetch))
    if len(raw) < WHOLE and (fetch is None or origin is list):
        return _decode(raw, type=kind)
    if kind == list[int]:  # positions: as objects they would take nine times as much
        return array("I", _decode(raw, type=kind))
    if origin is list:
        items, records = _decode(raw, type=list[msgspec.Raw]), []
        for at in range(0, len(items), RECORDS):
            some = items[at : at + RECORDS]
            records += _decode(b"".join((_head(0x90, 0xDC, len(some)), *some)), type=kind)
        return records
    if origin is dict:
        inner = get_args(kind)[1]
        return {key: _decoded(inner, one, fetch) for key, one in _decode(raw, type=dict[Any, msgspec.Raw]).items()}
    parts = _decode(raw, type=dict[str, msgspec.Raw])
    return origin(
        **{each.name: _decoded(each.type, parts[each.encode_name], fetch) for each in msgspec.structs.fields(kind)}
    )


def hash_of(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of the state in these slices, as 64 hex digits.

    Parameters
    ----------
    parts : iterable of bytes
        Slices of the state, in order.
    """
    return checksum(parts).hex()
