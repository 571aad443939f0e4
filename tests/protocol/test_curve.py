"""The curve: known keys and signatures, everything that is refused, and a secret that nothing shows."""

from __future__ import annotations

import copy
import gc
import hashlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.protocol import curve

DIGEST = hashlib.sha256(b"Satoshi Nakamoto").digest()
SECRET = bytes.fromhex("5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a")
FIELD = 2**256 - 2**32 - 977
"""Coordinates of points are below this prime."""
SECRETS = st.integers(1, curve.ORDER - 1).map(lambda number: number.to_bytes(32, "big"))


def held(secret: bytes | int) -> curve.HeldSecret:
    """Return the holder of a valid key."""
    found = curve.hold(secret if isinstance(secret, bytes) else secret.to_bytes(32, "big"))
    assert found is not None
    return found


def words(*numbers: int) -> bytes:
    """Return numbers as 32 bytes each."""
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def test_public_keys_are_multiples_of_the_generator() -> None:
    x = 0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798
    y = 0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8
    assert curve.public_key(held(1)) == words(x, y)
    assert curve.public_key(held(curve.ORDER - 1)) == words(x, FIELD - y)
    slope = 3 * x * x * pow(2 * y, -1, FIELD)
    double = (slope * slope - 2 * x) % FIELD
    assert curve.public_key(held(2)) == words(double, (slope * (x - double) - y) % FIELD)


@pytest.mark.parametrize(
    ("secret", "message", "r", "s"),
    [
        (
            1,
            b"Satoshi Nakamoto",
            0x934B1EA10A4B3C1757E2B0C017D0B6143CE3C9A7E6A4A49860D7A6AB210EE3D8,
            0x2442CE9D2B916064108014783E923EC36B49743E2FFA1C4496F01A512AAFD9E5,
        ),
    ],
)
def test_signatures_are_those_of_rfc_6979(secret: int, message: bytes, r: int, s: int) -> None:
    compact, recovery_id = curve.sign(held(secret), hashlib.sha256(message).digest())
    assert compact == words(r, s)
    assert recovery_id in (0, 1)


@given(SECRETS, st.binary(min_size=32, max_size=32))
def test_recovery_finds_the_key_that_signed_and_s_is_low(secret: bytes, digest: bytes) -> None:
    signer = held(secret)
    compact, recovery_id = curve.sign(signer, digest)
    assert curve.recover(digest, compact, recovery_id) == curve.public_key(signer)
    assert 0 < int.from_bytes(compact[32:], "big") <= curve.HALF_ORDER
    twin = compact[:32] + words(curve.ORDER - int.from_bytes(compact[32:], "big"))
    assert curve.recover(digest, twin, recovery_id ^ 1) == curve.public_key(signer)


@given(SECRETS)
def test_a_held_secret_is_revealed_unchanged(secret: bytes) -> None:
    assert curve.reveal(held(secret)) == secret


NO_KEYS: list[Any] = [words(number) for number in (0, curve.ORDER, curve.ORDER + 1, 2**256 - 1)]
NO_KEYS += [b"", SECRET[:31], SECRET + b"\0", SECRET.hex(), bytearray(SECRET), memoryview(SECRET), 1, None]


@pytest.mark.parametrize("secret", NO_KEYS, ids=range(len(NO_KEYS)))
def test_what_is_no_key_is_not_held(secret: Any) -> None:
    assert curve.hold(secret) is None


@pytest.mark.parametrize(
    ("compact", "recovery_id"),
    [
        (words(0, 1), 0),
        (words(1, 0), 0),
        (words(0, 0), 0),
        (words(curve.ORDER, 1), 0),
        (words(1, curve.ORDER), 0),
        (words(curve.ORDER + 1, 1), 1),
        (words(2**256 - 1, 1), 0),
        (words(5, 1), 0),
        (words(FIELD - curve.ORDER, 1), 2),
        (words(1, 1), 4),
        (words(1, 1), -1),
        (words(1, 1)[:63], 0),
        (words(1, 1) + b"\0", 0),
        (b"", 0),
    ],
)
def test_what_is_no_signature_has_no_signer(compact: bytes, recovery_id: int) -> None:
    with pytest.raises(ValueError, match=r"no key|has 32 bytes"):
        curve.recover(DIGEST, compact, recovery_id)


@pytest.mark.parametrize("digest", [b"", DIGEST[:31], DIGEST + b"\0"])
def test_a_digest_of_another_length_is_neither_signed_nor_recovered(digest: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        curve.sign(held(SECRET), digest)
    with pytest.raises(ValueError, match="32 bytes"):
        curve.recover(digest, *curve.sign(held(SECRET), DIGEST))


@pytest.mark.parametrize(
    "way", [bytes, list, tuple, len, iter, vars, memoryview, copy.copy, copy.deepcopy, pickle.dumps]
)
def test_a_held_secret_can_not_be_read_copied_or_pickled(way: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        way(held(SECRET))


def test_a_held_secret_shows_an_address_in_memory_only() -> None:
    holder: Any = held(SECRET)
    for shown in (repr(holder), str(holder), f"{holder}", str([getattr(holder, name, "") for name in dir(holder)])):
        assert SECRET.hex() not in shown
        assert repr(SECRET)[2:-1] not in shown
    for part in (slice(0, 32), 0):
        with pytest.raises((TypeError, ValueError), match=r"void|unknown size"):
            holder[part]


def test_the_memory_of_a_secret_is_overwritten_when_it_is_dropped() -> None:
    holder = held(SECRET)
    owner = next(
        cell.cell_contents
        for function in gc.get_referents(holder)
        for cell in getattr(function, "__closure__", ())
    )  # fmt: skip
    assert bytes(owner) == SECRET
    del holder
    assert bytes(owner) == bytes(32)


def test_a_secret_that_lives_until_the_interpreter_ends_causes_no_error() -> None:
    code = "from toolkit.protocol import curve; kept = curve.hold(bytes([1] * 32)); loop = [kept]; loop.append(loop)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")
