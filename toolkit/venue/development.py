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
    """One account of the mnemonic.

    Attributes
    ----------
    index : int
        Place in the mnemonic.
    address : str
        Address with its EIP-55 checksum.
    key : bytes
        Private key, 32 bytes. It is not part of the repr.
    """

    index: int
    address: str
    key: bytes = field(repr=False)


@cache
def account(index: int, mnemonic: str = MNEMONIC) -> DevelopmentAccount:
    """Return the account at a place of a mnemonic: the path m/44'/60'/0'/0/index.

    Parameters
    ----------
    index : int
        Place, from 0.
    mnemonic : str, optional
        Words that the keys are derived from (default: those of development networks).

    Returns
    -------
    DevelopmentAccount
        Address and key.
    """
    key, chain_code = _parent(mnemonic)
    key, _ = _child(key, chain_code, index)
    return DevelopmentAccount(index, PrivateKey(key).address, key)


def master(number: int, mnemonic: str = MNEMONIC) -> DevelopmentAccount:
    """Return a master account.

    Numbers 0–9 are the places 0–9, 10–19 the places 20–29, and so on.

    Parameters
    ----------
    number : int
        Number of the account, from 0.
    mnemonic : str, optional
        Words that the keys are derived from (default: those of development networks).

    Returns
    -------
    DevelopmentAccount
        Address and key.

    Examples
    --------
    >>> master(0).address
    '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
    """
    return account(number // 10 * 20 + number % 10, mnemonic)


def agent(number: int, mnemonic: str = MNEMONIC) -> DevelopmentAccount:
    """Return the agent wallet of a master, ten places after it.

    Parameters
    ----------
    number : int
        Number of the master, from 0.
    mnemonic : str, optional
        Words that the keys are derived from (default: those of development networks).

    Returns
    -------
    DevelopmentAccount
        Address and key.
    """
    return account(number // 10 * 20 + number % 10 + 10, mnemonic)


def masters(count: int = 10, mnemonic: str = MNEMONIC) -> list[DevelopmentAccount]:
    """Return the first master accounts of a mnemonic.

    Parameters
    ----------
    count : int, optional
        Number of accounts, from the first on (default: 10).
    mnemonic : str, optional
        Words that the keys are derived from (default: those of development networks).

    Returns
    -------
    list of DevelopmentAccount
        Addresses and keys.
    """
    return [master(number, mnemonic) for number in range(count)]


def agents(count: int = 10, mnemonic: str = MNEMONIC) -> list[DevelopmentAccount]:
    """Return the agent wallets of the first masters of a mnemonic.

    Parameters
    ----------
    count : int, optional
        Number of accounts, from the first on (default: 10).
    mnemonic : str, optional
        Words that the keys are derived from (default: those of development networks).

    Returns
    -------
    list of DevelopmentAccount
        Addresses and keys.
    """
    return [agent(number, mnemonic) for number in range(count)]


def opened(mnemonic: str, accounts: Container[str]) -> tuple[str, ...]:
    """Return the first masters of a mnemonic that have an account, up to the first that has none.

    A journal may have others than those that a command line asks for.

    Parameters
    ----------
    mnemonic : str
        Words that the keys are derived from.
    accounts : Container of str
        Addresses of accounts, in lower case.

    Returns
    -------
    tuple of str
        Addresses with their checksums.
    """
    found: list[str] = []
    while len(found) < MOST and (address := master(len(found), mnemonic).address).lower() in accounts:
        found.append(address)
    return tuple(found)


def check_mnemonic(mnemonic: str) -> str:
    """Return a mnemonic with single spaces.

    Parameters
    ----------
    mnemonic : str
        Words of BIP-39.

    Returns
    -------
    str
        The words.

    Raises
    ------
    InputError
        If it is none. The error does not show the words.
    """
    plain = " ".join(unicodedata.normalize("NFKD", mnemonic).split())
    if not mnemonic_words("check_mnemonic").is_mnemonic_valid(plain):
        count = len(plain.split())
        # A traceback with local variables would show the words.
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
    # The key of BIP-32, whatever the chain.
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
