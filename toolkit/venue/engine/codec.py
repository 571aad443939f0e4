"""The state as bytes: dump, load, hash.

The format is MessagePack of the typed state. Dictionaries keep their insertion order, because rules iterate over them:
two states that differ in it would go on differently. Nothing depends on the hash seed of the process.
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


def dump(state: State) -> bytes:
    """Return a whole state as bytes."""
    return MAGIC + _encoder.encode(state)


def load(data: bytes) -> State:
    """Return the dumped state. Raises VenueError for other bytes, and for damaged ones that decode to no state."""
    if not data.startswith(MAGIC):
        raise VenueError(f"these bytes are no dump of this version: they begin with {data[:24]!r}, not {MAGIC!r}")
    try:
        return _decoder.decode(data[len(MAGIC) :])
    except Exception as error:  # damaged bytes can break anything, UTF-8 included
        raise VenueError(f"the dump is damaged: {type(error).__name__}: {error}") from error


def state_hash(state: State) -> str:
    """Return the SHA-256 of the dump, as 64 hex digits."""
    return hashlib.sha256(dump(state)).hexdigest()
