"""The development accounts: well-known keys that make the local venue usable without any setup.

They are derived from the mnemonic that development networks share (BIP-39, BIP-32). For tests only: anyone can sign for
them.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Container
from dataclasses import dataclass, field
from functools import cache

from ..errors import InputError
from ..ethereum import mnemonic_words
from ..protocol import curve
from ..protocol.signing import PrivateKey

MNEMONIC = "test test test test test test test test test test test junk"
MASTERS = range(0, 10)
AGENTS = range(10, 20)
"""Places of the first ten masters and their agents in the mnemonic. Each further ten follow in the same way."""
MOST = 1_000
"""Largest number of accounts of one venue."""
FUNDING = "10000"
"""Balance of each master account at the start, in USDC."""

_HARDENED = 1 << 31
"""Added to the index of a child whose derivation needs the private key (BIP-32)."""
_PATH = (44 | _HARDENED, 60 | _HARDENED, 0 | _HARDENED, 0)


@dataclass(frozen=True, slots=True)
class DevelopmentAccount:
    """One account of the mnemonic: `index`, checksummed `address`, private `key` (32 bytes, kept out of reprs)."""

    index: int
    address: str
    key: bytes = field(repr=False)


@cache
def account(index: int, mnemonic: str = MNEMONIC) -> DevelopmentAccount:
    """Return the account at place `index` of a mnemonic: the path m/44'/60'/0'/0/index."""
    key, chain_code = _parent(mnemonic)
    key, _ = _child(key, chain_code, index)
    return DevelopmentAccount(index, PrivateKey(key).address, key)


def master(number: int, mnemonic: str = MNEMONIC) -> DevelopmentAccount:
    """Return master `number` of a `mnemonic`. Numbers 0–9 are the places 0–9, 10–19 the places 20–29, and so on."""
    return account(number // 10 * 20 + number % 10, mnemonic)


def agent(number: int, mnemonic: str = MNEMONIC) -> DevelopmentAccount:
    """Return the agent wallet of a `mnemonic` for master `number`, ten places after it."""
    return account(number // 10 * 20 + number % 10 + 10, mnemonic)


def masters(count: int = 10, mnemonic: str = MNEMONIC) -> list[DevelopmentAccount]:
    """Return the first `count` master accounts of a `mnemonic`."""
    return [master(number, mnemonic) for number in range(count)]


def agents(count: int = 10, mnemonic: str = MNEMONIC) -> list[DevelopmentAccount]:
    """Return the agent wallets of the first `count` masters of a `mnemonic`."""
    return [agent(number, mnemonic) for number in range(count)]


def opened(mnemonic: str, accounts: Container[str]) -> tuple[str, ...]:
    """Return the first masters of a `mnemonic` among `accounts` (in lower case), up to the first that is not.

    A journal may have others than those that a command line asks for.
    """
    found: list[str] = []
    while len(found) < MOST and (address := master(len(found), mnemonic).address).lower() in accounts:
        found.append(address)
    return tuple(found)


def check_mnemonic(mnemonic: str) -> str:
    """Return a `mnemonic` with single spaces. Raises InputError, without the words, when it is none (BIP-39)."""
    plain = " ".join(unicodedata.normalize("NFKD", mnemonic).split())
    if not mnemonic_words("check_mnemonic").is_mnemonic_valid(plain):
        count = len(plain.split())
        del mnemonic, plain
        text = (
            f"the mnemonic ({count} words) is not valid: it has 12 to 24 words of the list of BIP-39, the last of "
            "which is a checksum. It is not shown here"
        )
        raise InputError(text, field="mnemonic", rule="BIP-39")
    return plain


def new_mnemonic() -> str:
    """Return a new mnemonic of twelve words from the system's randomness."""
    return str(mnemonic_words("new_mnemonic").generate(12))


@cache
def _parent(mnemonic: str) -> tuple[bytes, bytes]:
    seed = hashlib.pbkdf2_hmac("sha512", mnemonic.encode(), b"mnemonic", 2048)
    node = hmac.digest(b"Bitcoin seed", seed, "sha512")
    key, chain_code = node[:32], node[32:]
    for step in _PATH:
        key, chain_code = _child(key, chain_code, step)
    return key, chain_code


def _child(key: bytes, chain_code: bytes, index: int) -> tuple[bytes, bytes]:
    if index >= _HARDENED:
        head = b"\0" + key
    else:
        held = curve.hold(key)
        assert held is not None
        public = curve.public_key(held)
        head = bytes([2 + public[-1] % 2]) + public[:32]  # the compressed form: whether y is odd, and x
    node = hmac.digest(chain_code, head + index.to_bytes(4, "big"), "sha512")
    child = (int.from_bytes(node[:32], "big") + int.from_bytes(key, "big")) % curve.ORDER
    return child.to_bytes(32, "big"), node[32:]
