"""Keccak-256, addresses and hex text. No other module depends on which Keccak implementation is used."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{40}")
_WORD = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")


def _load_keccak() -> Callable[[bytes], bytes]:
    """Return the fastest Keccak-256 that is installed.

    tiny-keccak takes half the time of safe-pysha3 and a tenth of pycryptodome's. pyproject.toml names pycryptodome for
    the platforms where tiny-keccak has no wheel.
    """
    try:
        from tiny_keccak import keccak256
    except ImportError:  # a platform without a wheel
        return _pycryptodome_keccak
    quick: Callable[[bytes], bytes] = keccak256
    return quick


def _pycryptodome_keccak(data: bytes) -> bytes:
    from Crypto.Hash import keccak as hashes

    return bytes(hashes.new(digest_bits=256, data=data).digest())


keccak: Callable[[bytes], bytes] = _load_keccak()
"""Keccak-256 (Ethereum's, not SHA3-256): bytes to 32 bytes."""


def hash_text(text: str) -> str:
    """Return a hash as 0x and lower-case digits.

    It may come with or without 0x. Other texts stay unchanged.

    Parameters
    ----------
    text : str
        Hash, 64 hex digits.
    """
    found = _WORD.fullmatch(text)
    return text if found is None else "0x" + found[1].lower()


def is_address(value: object) -> bool:
    """Return whether a value is text of 0x and 40 hex digits, in any case.

    Parameters
    ----------
    value : object
        Any value.
    """
    return type(value) is str and _ADDRESS.fullmatch(value) is not None


def address_bytes(address: str) -> bytes:
    """Return the 20 bytes of an address.

    Parameters
    ----------
    address : str
        Address with 0x, in any case.

    Raises
    ------
    ValueError
        For anything else.
    """
    if not is_address(address):
        raise ValueError("an address is 0x and 40 hex digits")
    return bytes.fromhex(address[2:])


@lru_cache(maxsize=4096)
def checksummed(raw: bytes) -> str:
    """Return the EIP-55 text of a 20-byte address.

    Parameters
    ----------
    raw : bytes
        The 20 bytes.
    """
    digits = raw.hex()
    nibbles = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble >= "8" else digit for digit, nibble in zip(digits, nibbles, strict=False)
    )


def to_checksummed(address: str) -> str:
    """Return an address with its EIP-55 checksum.

    Parameters
    ----------
    address : str
        Address with 0x, in any case.

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> to_checksummed("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
    '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
    """
    return checksummed(address_bytes(address))


def has_wrong_checksum(address: str) -> bool:
    """Return whether an address has letters of both cases that break EIP-55, which usually means a typing error.

    Parameters
    ----------
    address : str
        Address with 0x.
    """
    digits = address[2:]
    if digits in (digits.lower(), digits.upper()):
        return False
    return checksummed(bytes.fromhex(digits))[2:] != digits


def word_bytes(text: str) -> bytes | None:
    """Return the 32 bytes of 64 hex digits, `None` for anything else.

    Parameters
    ----------
    text : str
        The digits, with or without 0x.
    """
    found = _WORD.fullmatch(text)
    return bytes.fromhex(found.group(1)) if found else None
