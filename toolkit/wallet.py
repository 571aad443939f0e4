"""Wallets: the keys of a session, from encrypted key files, the system's keyring, environment variables, or new.

A wallet has up to two keys. The agent key trades and can't withdraw. The master key controls funds and permissions
and is only needed to approve, claim and withdraw. Keys never appear in reprs, errors, logs, pickles or `vars()`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from .errors import WalletError
from .ethereum import decrypt, encrypt
from .extras import need
from .guards import BROKEN_CHECKSUM, no_keys, takes_secrets
from .protocol.hexbytes import has_wrong_checksum, is_address
from .secrecy import Secret, sealed
from .stored.writing import write_private

if TYPE_CHECKING:
    from .protocol.signing import PrivateKey

Role = Literal["agent", "master"]
NO_ADDRESS = "not an address (0x and 40 hex digits). The value is not shown, as it may be a key"

AGENT_VARIABLE = "TOOLKIT_AGENT_KEY"
MASTER_VARIABLE = "TOOLKIT_MASTER_KEY"
KEYRING_NAME = "toolkit"
"""Name under which the system's keyring keeps keys by default."""


class Wallet:
    """The keys of one account: the agent trades, the master approves and withdraws. Either may be missing.

    Keys are 32 bytes, or 64 hex digits with or without 0x.

    Parameters
    ----------
    agent : str, bytes or Secret, optional
        Key of the agent (default: None).
    master : str, bytes or Secret, optional
        Key of the master (default: None).
    account : str, optional
        Address of the master (default: that of the master key, else it is read from the venue when it is needed).

    Raises
    ------
    WalletError
        For an invalid key. The message never contains it.

    Examples
    --------
    >>> wallet = toolkit.Wallet.create("agent")
    >>> wallet.agent is None, wallet.master is None
    (False, True)
    """

    __slots__ = ("_agent", "_master", "account")

    account: str | None

    # Functions that take secrets get them as `Secret` (see `takes_secrets`). An account is one of them, as people paste
    # their key there.
    @takes_secrets("agent", "master", "account")
    def __init__(
        self,
        agent: str | bytes | Secret | None = None,
        master: str | bytes | Secret | None = None,
        *,
        account: str | None = None,
    ) -> None:
        self._agent = self._master = self.account = None
        self.account = _address(account)
        self._agent = _parsed(Secret(agent), "the agent key")
        self._master = _parsed(Secret(master), "the master key")
        self._take_account(self.account)

    @classmethod
    @takes_secrets("password", "account")
    def from_keyfile(
        cls,
        path: str | os.PathLike[str],
        password: str | Secret | None = None,
        *,
        role: Role = "agent",
        account: str | None = None,
    ) -> Wallet:
        """Read one key from an encrypted key file (Web3 Secret Storage, the format of Ethereum wallets).

        `save_keyfile` writes such a file.

        Parameters
        ----------
        path : str or PathLike
            Path of the file.
        password : str or Secret, optional
            Its password (default: you type it at a prompt, unseen).
        role : {"agent", "master"}, optional
            Which key it is (default: "agent").
        account : str, optional
            Address of the master (default: that of the master key, else it is read from the venue when it is needed).

        Returns
        -------
        Wallet

        Raises
        ------
        WalletError
            For a missing or invalid file, or a wrong password.
        """
        _check_role(role)
        address = _address(account)
        key, fault = _read_keyfile(path, password)
        if fault:
            raise WalletError(f"key file {path}: {fault}")
        return cls._of(key if role == "agent" else None, key if role == "master" else None, address)

    @classmethod
    @takes_secrets("account")
    def from_keyring(cls, name: str = KEYRING_NAME, *, role: Role = "agent", account: str | None = None) -> Wallet:
        """Read one key from the system's keyring, where `save_keyring` put it. Needs the package `keyring`.

        Parameters
        ----------
        name : str, optional
            Name that the key is stored under (default: "toolkit").
        role : {"agent", "master"}, optional
            Which key it is (default: "agent").
        account : str, optional
            Address of the master (default: that of the master key, else it is read from the venue when it is needed).

        Returns
        -------
        Wallet

        Raises
        ------
        WalletError
            If there is no such key, or no keyring.
        """
        _check_role(role)
        address, store = _address(account), _keyring()
        stored, fault = sealed(lambda: Secret(store.get_password(name, role)))
        if fault:
            raise WalletError(f"the system's keyring can't be read ({fault and fault.__name__})")
        if stored is None or not stored:
            what = f"the system's keyring has no {role} key named {name}"
            raise WalletError(f"{what}. Store one with wallet.save_keyring()")
        key = _parsed(stored, f"the {role} key in the keyring")
        return cls._of(key if role == "agent" else None, key if role == "master" else None, address)

    @classmethod
    @takes_secrets("variables", "account")
    def from_env(
        cls,
        agent: str = AGENT_VARIABLE,
        master: str = MASTER_VARIABLE,
        *,
        account: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Wallet:
        """Read the keys from environment variables, and the account from TOOLKIT_ACCOUNT.

        Other programs of the same user can read a process's environment. A key file or the keyring is safer.

        Parameters
        ----------
        agent : str, optional
            Name of the variable with the agent's key (default: "TOOLKIT_AGENT_KEY").
        master : str, optional
            Name of the variable with the master's key (default: "TOOLKIT_MASTER_KEY").
        account : str, optional
            Address of the master (default: that of TOOLKIT_ACCOUNT, else of the master key).
        variables : mapping, optional
            Environment variables (default: those of the process).

        Returns
        -------
        Wallet

        Raises
        ------
        WalletError
            If neither variable is set, or a variable has no valid key.
        """
        values = Secret(os.environ) if variables is None else Secret(variables)
        keys = [_parsed(Secret(values.reveal().get(name) or None), f"the key in {name}") for name in (agent, master)]
        if keys == [None, None]:
            raise WalletError(f"no key found. Set the environment variable {agent} (and {master} to approve)")
        stated = account or Secret(values.reveal().get("TOOLKIT_ACCOUNT"))
        return cls._of(keys[0], keys[1], _address(stated, "the account (TOOLKIT_ACCOUNT)"))

    @classmethod
    @no_keys
    def from_keys_file(cls, path: str | os.PathLike[str], account: int | str = 0) -> Wallet:
        """Read both keys of one account from a file that `toolkit venue --keys-file` wrote.

        Parameters
        ----------
        path : str or PathLike
            Path of the file.
        account : int or str, optional
            Number or name of the account (default: 0).

        Returns
        -------
        Wallet

        Raises
        ------
        WalletError
            For a missing or invalid file, and for an account that is not in it.
        """
        found, broken = sealed(lambda: _parse_keys_file(path, account))
        agent, master, fault = found or (None, None, f"can't be read ({broken and broken.__name__})")
        if fault:
            raise WalletError(f"keys file {os.fspath(path)}: {fault}")
        return cls._of(agent, master, None)

    @classmethod
    @takes_secrets("account")
    def create(cls, role: Role = "agent", *, account: str | None = None) -> Wallet:
        """Create a key from the system's randomness. `save_keyfile` stores it.

        Parameters
        ----------
        role : {"agent", "master"}, optional
            Which key it is (default: "agent").
        account : str, optional
            Address of the master (default: that of the master key, else it is read from the venue when it is needed).

        Returns
        -------
        Wallet
        """
        _check_role(role)
        key = _parsed(Secret(_random_secret()), "the new key")
        return cls._of(key if role == "agent" else None, key if role == "master" else None, _address(account))

    @classmethod
    def _of(cls, agent: PrivateKey | None, master: PrivateKey | None, account: str | None) -> Wallet:
        wallet = cls(account=account)
        wallet._agent, wallet._master = agent, master
        wallet._take_account(wallet.account)
        return wallet

    def _take_account(self, account: str | None) -> None:
        """Set the account to the address of the master key, if there is one. A given account must be the same."""
        if self._master is None:
            return
        if account and account.lower() != self._master.address.lower():
            raise WalletError(f"account {account} is not the address of the master key, {self._master.address}")
        self.account = self._master.address

    @takes_secrets("password")
    def save_keyfile(
        self, path: str | os.PathLike[str], password: str | Secret | None = None, *, role: Role = "agent"
    ) -> None:
        """Write one key to an encrypted file that only its owner can read. Never overwrites a file.

        The file is written whole or not at all.

        Parameters
        ----------
        path : str or PathLike
            Path of the new file.
        password : str or Secret, optional
            Password of the file (default: you type it twice at a prompt, unseen).
        role : {"agent", "master"}, optional
            Which key it is (default: "agent").

        Raises
        ------
        WalletError
            If the wallet has no such key, the file exists, or it can't be written.
        """
        _check_role(role)
        key = self.key(role)
        secret = _password(password, "Password for the key file: ", "The same password again: ")
        if not secret:
            raise WalletError("a key file needs a password that is not empty")
        text, fault = sealed(lambda: _encrypted(key, secret))
        if text is None:
            raise WalletError(f"the key can't be encrypted with this password ({fault and fault.__name__})")
        try:
            write_private(path, text)
        except OSError as error:
            raise WalletError(f"key file {os.fspath(path)} can't be written: {error.strerror}") from None

    @no_keys
    def save_keyring(self, name: str = KEYRING_NAME, *, role: Role = "agent") -> None:
        """Store one key in the system's keyring. Needs the package `keyring`.

        That is macOS Keychain, Windows Credential Locker, Secret Service or KWallet.

        Parameters
        ----------
        name : str, optional
            Name to store the key under (default: "toolkit").
        role : {"agent", "master"}, optional
            Which key it is (default: "agent").

        Raises
        ------
        WalletError
            If the wallet has no such key, another is stored under this name, or there is no keyring.
        """
        _check_role(role)
        key, store = self.key(role), _keyring()

        def put() -> bool:
            stored = store.get_password(name, role)
            if not stored:
                store.set_password(name, role, key.reveal().hex())
            return not stored or stored == key.reveal().hex()

        done, fault = sealed(put)
        if fault:
            raise WalletError(f"the system's keyring can't be written ({fault and fault.__name__})")
        if not done:
            raise WalletError(f"the system's keyring has another {role} key named {name}. Give this one another name")

    @property
    def agent(self) -> str | None:
        """Address of the agent key, None without one."""
        return self._agent.address if self._agent else None

    @property
    def master(self) -> str | None:
        """Address of the master key, None without one."""
        return self._master.address if self._master else None

    def key(self, role: Role, purpose: str = "this") -> PrivateKey:
        """Return the key of a role.

        Parameters
        ----------
        role : {"agent", "master"}
            Which key it is (default: "agent").
        purpose : str, optional
            Its purpose in words, for the error (default: "this").

        Raises
        ------
        WalletError
            For a missing key. It says how to provide one.
        """
        key = self._agent if role == "agent" else self._master
        if key is None:
            variable = AGENT_VARIABLE if role == "agent" else MASTER_VARIABLE
            raise WalletError(
                f"{purpose} is signed by the {role} key, and this wallet has none. "
                f"Read one with Wallet.from_keyfile(path, role={role!r}) or Wallet.from_keyring(role={role!r}), "
                f"or set {variable} and use Wallet.from_env()"
            )
        return key

    def joined(self, other: Wallet) -> Wallet:
        """Return a wallet with the keys of both.

        Parameters
        ----------
        other : Wallet
            The other wallet.

        Raises
        ------
        WalletError
            If two keys of a role differ.
        """
        for role, mine, theirs in (("agent", self._agent, other._agent), ("master", self._master, other._master)):
            if mine and theirs and mine.address != theirs.address:
                raise WalletError(f"both wallets have their own {role} key, {mine.address} and {theirs.address}")
        return Wallet._of(self._agent or other._agent, self._master or other._master, self.account or other.account)

    def __repr__(self) -> str:
        if not hasattr(self, "_agent"):  # a traceback shows it while it is being made
            return "<Wallet: being made>"
        parts = [f"{role} {address}" for role, address in (("agent", self.agent), ("master", self.master)) if address]
        if self.account and not self.master:
            parts.append(f"account {self.account}")
        return f"<Wallet: {', '.join(parts) or 'no keys'}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise WalletError("a wallet is never pickled or copied. Make it where it is used, e.g. with Wallet.from_env()")

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(2)


def _check_role(role: str) -> None:
    if role not in ("agent", "master"):
        raise WalletError(f"role {role!r} is not known. It is agent or master")


def _address(given: str | Secret | None, what: str = "the account") -> str | None:
    account = Secret(given)
    if account and not is_address(account.reveal()):
        raise WalletError(f"{what} is {NO_ADDRESS}")
    if account and has_wrong_checksum(account.reveal()):
        raise WalletError(f"{what} {account.reveal()} {BROKEN_CHECKSUM}")
    return account.reveal() or None


def _password(given: str | Secret | None, *questions: str) -> Secret:
    """Return the password. If none is given, ask for it, unseen. Raises WalletError if two answers differ."""
    import warnings
    from getpass import GetPassWarning, getpass

    if (secret := Secret(given)).reveal() is not None:
        return secret
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)  # without a terminal it would show what is typed
            answers = [Secret(getpass(question)) for question in questions]
    except (EOFError, GetPassWarning):
        raise WalletError("there is no terminal to ask for the password. Run this in one") from None
    if len({answer.reveal() for answer in answers}) != 1:
        raise WalletError("the two passwords differ. Nothing was written")
    return answers[0]


def _keyring() -> Any:
    need("keyring")
    import keyring

    return keyring


def _parsed(secret: Secret, what: str) -> PrivateKey | None:
    """Return the key of a secret, None for none. Raises WalletError that says what is wrong, never the value."""
    result, fault = sealed(lambda: _parse(secret.reveal()))
    key, reason = result or (None, f"can't be used ({fault and fault.__name__})")
    if reason:
        raise WalletError(f"{what} {reason}")
    return key


def _parse(text: object) -> tuple[PrivateKey | None, str]:
    """Return the key and "", or None and what is wrong. Called through `sealed`, as its frames hold the key."""
    from .protocol.curve import hold
    from .protocol.signing import PrivateKey

    if text is None:
        return None, ""
    if isinstance(text, str):
        digits = text.strip().removeprefix("0x").removeprefix("0X")
        if len(digits) != 64:
            return None, f"has {len(digits)} characters. A private key has 64 hex digits, with or without 0x"
        try:
            secret = bytes.fromhex(digits)
        except ValueError:
            return None, "has characters that are not hex digits"
    elif isinstance(text, bytes):
        secret = text
    else:
        return None, f"is {type(text).__name__}. Give 64 hex digits or 32 bytes"
    if len(secret) != 32:
        return None, f"has {len(secret)} bytes. A private key has 32"
    if hold(secret) is None:
        return None, "is outside the range of secp256k1"
    return PrivateKey(secret), ""


def _random_secret() -> bytes:
    import secrets

    from .protocol.curve import ORDER

    return (secrets.randbelow(ORDER - 1) + 1).to_bytes(32, "big")


def _read_keyfile(path: str | os.PathLike[str], given: str | Secret | None) -> tuple[PrivateKey | None, str]:
    """Do as `_parse` for a key file. It prompts for a missing password when the file can be read."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except OSError as error:
        return None, f"can't be read ({error.strerror})"
    except TypeError:
        return None, "its name is not a path"
    except ValueError:
        return None, "is not JSON, so it is not a key file"
    password = _password(given, f"Password of {path}: ")
    result, fault = sealed(lambda: _parse(decrypt(stored, password.reveal())))
    if fault is not None and issubclass(fault, ValueError):
        return None, "the password does not open it"
    if result is None or result[0] is None:
        return result or (None, f"is not a readable key file ({fault and fault.__name__})")
    return _matching(result[0], stored.get("address"))


def _matching(key: PrivateKey, stated: object) -> tuple[PrivateKey | None, str]:
    """Return a key and "", or None and what is wrong where its file states the address of another one.

    The checksum of a key file does not cover all of it: one changed digit can decrypt to another key.
    """
    address = key.address.lower()
    if stated is None or str(stated).lower().removeprefix("0x") == address.removeprefix("0x"):
        return key, ""
    return None, f"is damaged: it states the address {stated}, and its key is that of {key.address}. Restore a copy"


def _parse_keys_file(
    path: str | os.PathLike[str], account: int | str
) -> tuple[PrivateKey | None, PrivateKey | None, str]:
    """Return the agent and master key of an account and "", or None twice and what is wrong, as `_parse` does."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            rows = {str(row["name"]): row for row in json.load(file)["accounts"]}
        row = next((row for row in rows.values() if account in (row["number"], str(row["number"]), row["name"])), None)
        if row is None:
            return None, None, f"has no account {account!r}. It has {', '.join(list(rows)[:20])}"
        agent, agent_fault = _parse_row(row["agent"])
        master, master_fault = _parse_row(row["master"])
    except OSError as error:
        return None, None, f"can't be read ({error.strerror})"
    except (ValueError, KeyError, TypeError):
        return None, None, "is not a keys file of `toolkit venue --keys-file`"
    fault = agent_fault or master_fault
    return (None, None, f"a key of {account!r} {fault}") if fault else (agent, master, "")


def _parse_row(row: Mapping[str, Any]) -> tuple[PrivateKey | None, str]:
    key, fault = _parse(row["private_key"])
    return (None, fault) if key is None else _matching(key, row.get("address"))


def _encrypted(key: PrivateKey, password: Secret) -> str:
    """Return the text of a key file. Called through `sealed`, as its frames hold key and password."""
    import json

    return json.dumps(encrypt(key.reveal(), password.reveal()))
