"""The curve secp256k1: public keys, recoverable signatures, recovery. No other module calls libsecp256k1.

A secret is held in memory of the C library, behind a pointer that Python can't read, copy or pickle. The functions here
take that pointer.
"""

from __future__ import annotations

from typing import NewType

from btclib_libsecp256k1 import CData, ffi, lib
from btclib_libsecp256k1.context import ctx

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Number of points of the curve. Private keys, r and s are from 1 to ORDER - 1."""
HALF_ORDER = ORDER // 2
"""Largest s that is not malleable."""

HeldSecret = NewType("HeldSecret", object)
"""A private key of the curve, as a pointer to its bytes. They are overwritten when the pointer is dropped."""

_UNCOMPRESSED = 2  # SECP256K1_EC_UNCOMPRESSED


def hold(secret: bytes) -> HeldSecret | None:
    """Return the holder of a private key, `None` for bytes that are no key.

    It never raises, because a traceback shows arguments.

    Parameters
    ----------
    secret : bytes
        Private key, 32 bytes.
    """
    # libsecp256k1 gets bare addresses and would read past the end of shorter bytes, here and in the functions below.
    if type(secret) is not bytes or len(secret) != 32 or not lib.secp256k1_ec_seckey_verify(ctx, secret):
        return None
    owner = ffi.new("unsigned char[32]", secret)
    # A pointer without a type has no length and no items. The closure keeps the memory for as long as the pointer.
    return HeldSecret(ffi.gc(ffi.cast("void *", owner), lambda _: ffi.memmove(owner, bytes(32), 32)))


def reveal(secret: HeldSecret) -> bytes:
    """Return the 32 bytes of a private key.

    Parameters
    ----------
    secret : HeldSecret
        Private key, held by the C library.
    """
    return bytes(ffi.buffer(ffi.cast("unsigned char *", secret), 32))


def public_key(secret: HeldSecret) -> bytes:
    """Return the public key of a private key: x and y, 64 bytes.

    Parameters
    ----------
    secret : HeldSecret
        Private key, held by the C library.
    """
    point = ffi.new("secp256k1_pubkey *")
    lib.secp256k1_ec_pubkey_create(ctx, point, secret)
    return _coordinates(point)


def sign(secret: HeldSecret, digest: bytes) -> tuple[bytes, int]:
    """Return r and s (64 bytes) and the recovery id of the signature of a digest.

    The signature is deterministic (RFC 6979), with low s.

    Parameters
    ----------
    secret : HeldSecret
        Private key, held by the C library.
    digest : bytes
        32 bytes that are signed.

    Raises
    ------
    ValueError
        If the digest is not 32 bytes.
    """
    if len(digest) != 32:
        raise ValueError("a digest has 32 bytes")
    signature = ffi.new("secp256k1_ecdsa_recoverable_signature *")
    lib.secp256k1_ecdsa_sign_recoverable(ctx, signature, digest, secret, ffi.NULL, ffi.NULL)
    compact, recovery_id = ffi.new("unsigned char[64]"), ffi.new("int *")
    lib.secp256k1_ecdsa_recoverable_signature_serialize_compact(ctx, compact, recovery_id, signature)
    return bytes(ffi.buffer(compact)), recovery_id[0]


def recover(digest: bytes, compact: bytes, recovery_id: int) -> bytes:
    """Return the public key (64 bytes) that made a signature.

    A malleable signature (high s) has a signer too.

    Parameters
    ----------
    digest : bytes
        32 bytes that are signed.
    compact : bytes
        R and s, 64 bytes.
    recovery_id : int
        Which of the possible keys it is, 0 to 3.

    Raises
    ------
    ValueError
        For a signature without a signer, and for values of another length.
    """
    if len(digest) != 32 or len(compact) != 64 or recovery_id not in (0, 1, 2, 3):
        raise ValueError("a digest has 32 bytes, a signature 64, and a recovery id is 0 to 3")
    signature, point = ffi.new("secp256k1_ecdsa_recoverable_signature *"), ffi.new("secp256k1_pubkey *")
    is_read = lib.secp256k1_ecdsa_recoverable_signature_parse_compact(ctx, signature, compact, recovery_id)
    if not is_read or not lib.secp256k1_ecdsa_recover(ctx, point, signature, digest):
        raise ValueError("the signature belongs to no key")
    return _coordinates(point)


def _coordinates(point: CData) -> bytes:
    whole, length = ffi.new("unsigned char[65]"), ffi.new("size_t *", 65)
    lib.secp256k1_ec_pubkey_serialize(ctx, whole, length, point, _UNCOMPRESSED)
    return bytes(ffi.buffer(whole))[1:]
