"""Key files, mnemonics and wallets' typed data: the only module that calls eth-account, or does without it.

eth-account depends on ckzg, which has no wheel for CPython 3.15. There, eth-keyfile reads and writes key files, which
eth-account itself uses for them.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from .errors import MissingPackage

MISSING = "eth-account is not installed: its dependency ckzg has no wheel for Python 3.15"
ADVICE = "Use the toolkit with Python 3.11 to 3.14 for that"


def has_eth_account() -> bool:
    """Return whether eth-account is installed."""
    return find_spec("eth_account") is not None


def encrypt(secret: bytes, password: str) -> dict[str, Any]:
    """Return the content of a key file (Web3 Secret Storage, with scrypt) for a private key.

    Parameters
    ----------
    secret : bytes
        Private key of 32 bytes.
    password : str
        Password of the key file.
    """
    if has_eth_account():
        from eth_account import Account

        return dict(Account.encrypt(secret, password))
    from eth_keyfile.keyfile import create_keyfile_json

    return dict(create_keyfile_json(secret, password.encode(), kdf="scrypt"))


def decrypt(stored: dict[str, Any], password: str) -> bytes:
    """Return the private key in the content of a key file.

    Parameters
    ----------
    stored : dict
        Content of the key file.
    password : str
        Password of the key file.

    Raises
    ------
    ValueError
        For a wrong password.
    """
    if has_eth_account():
        from eth_account import Account

        return bytes(Account.decrypt(stored, password))
    from eth_keyfile.keyfile import decode_keyfile_json

    return bytes(decode_keyfile_json(stored, password.encode()))


def mnemonic_words(function: str) -> Any:
    """Return eth-account's word list (BIP-39).

    Parameters
    ----------
    function : str
        Name of the function that needs it, for the error.

    Raises
    ------
    MissingPackage
        Without eth-account.
    """
    if not has_eth_account():
        raise MissingPackage(f"{function} can't be used, as {MISSING}. {ADVICE}", name="eth_account")
    from eth_account.hdaccount.mnemonic import Mnemonic

    return Mnemonic()


def typed_data_hashes(document: dict[str, Any]) -> tuple[bytes, bytes] | None:
    """Return a wallet's domain separator and struct hash of typed data (EIP-712), None without eth-account.

    Parameters
    ----------
    document : dict
        Typed data as a wallet takes it.
    """
    if not has_eth_account():
        return None
    from eth_account.messages import encode_typed_data

    encoded = encode_typed_data(full_message=document)
    return encoded.header, encoded.body
