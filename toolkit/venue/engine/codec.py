"""The state as bytes: dump, load, hash.

The format is a checksum and the MessagePack of the typed state. Dictionaries keep their insertion order, because rules
iterate over them: two states that differ in it would go on differently. Nothing depends on a process's hash seed.
"""

from __future__ import annotations

import hashlib

import msgspec

from ...errors import VenueError
from ..model.state import State

MAGIC = b"toolkit venue state 4\n"
"""First bytes of a dump; the number changes with the shape of the state."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(State)


_START = len(MAGIC) + hashlib.sha256().digest_size
"""Where the state begins, behind its checksum."""


def dump(state: State) -> bytes:
    """Return a whole state as bytes, with a checksum."""
    body = _encoder.encode(state)
    return MAGIC + _checksum(body) + body


def load(data: bytes) -> State:
    """Return the dumped state. Raises VenueError for other bytes, and for damaged or edited ones."""
    if not data.startswith(MAGIC):
        raise VenueError(f"these bytes are no dump of this version: they begin with {data[:24]!r}, not {MAGIC!r}")
    body = data[_START:]
    if data[len(MAGIC) : _START] != _checksum(body):
        raise VenueError("the dump is damaged: its checksum is that of other bytes")
    try:
        return _decoder.decode(body)
    except Exception as error:  # what another program wrote can break anything, UTF-8 included
        raise VenueError(f"the dump is damaged: {type(error).__name__}: {error}") from error


def state_hash(state: State) -> str:
    """Return the SHA-256 that its dump carries, as 64 hex digits."""
    return _checksum(_encoder.encode(state)).hex()


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(MAGIC + body).digest()
