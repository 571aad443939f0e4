"""The development accounts: well-known keys that make the local venue usable without any setup.

They are derived from the mnemonic that development networks share (BIP-39, BIP-32). For tests only: anyone can sign for
them.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from functools import cache

MNEMONIC = "test test test test test test test test test test test junk"
MASTERS = range(0, 10)
AGENTS = range(10, 20)
FUNDING = "10000"
"""Balance of each master account at the start, in USDC."""

_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
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
def account(index: int) -> DevelopmentAccount:
    """Return account `index` of the mnemonic, at the path m/44'/60'/0'/0/index."""
    key, chain_code = _parent()
    key, _ = _child(key, chain_code, index)
    return DevelopmentAccount(index, _address(key), key)


def masters(count: int = 10) -> list[DevelopmentAccount]:
    """Return the first `count` master accounts (0–9)."""
    return [account(index) for index in MASTERS[:count]]


def agents(count: int = 10) -> list[DevelopmentAccount]:
    """Return the first `count` agent wallets (10–19); agent 10 + n belongs to master n once it is approved."""
    return [account(index) for index in AGENTS[:count]]


@cache
def _parent() -> tuple[bytes, bytes]:
    seed = hashlib.pbkdf2_hmac("sha512", MNEMONIC.encode(), b"mnemonic", 2048)
    node = hmac.digest(b"Bitcoin seed", seed, "sha512")
    key, chain_code = node[:32], node[32:]
    for step in _PATH:
        key, chain_code = _child(key, chain_code, step)
    return key, chain_code


def _child(key: bytes, chain_code: bytes, index: int) -> tuple[bytes, bytes]:
    from coincurve import PrivateKey

    public = PrivateKey(key).public_key.format(compressed=True)
    head = b"\0" + key if index >= _HARDENED else public
    node = hmac.digest(chain_code, head + index.to_bytes(4, "big"), "sha512")
    child = (int.from_bytes(node[:32], "big") + int.from_bytes(key, "big")) % _CURVE_ORDER
    return child.to_bytes(32, "big"), node[32:]


def _address(key: bytes) -> str:
    from coincurve import PrivateKey

    from ..protocol.hexbytes import checksummed, keccak

    return checksummed(keccak(PrivateKey(key).public_key.format(compressed=False)[1:])[-20:])
