"""Wallets: the keys of a session, from environment variables, encrypted key files, or newly created.

A wallet has up to two keys. The agent key trades and can't withdraw; the master key controls funds and permissions
and is only needed to approve, claim and withdraw. Keys never appear in reprs, errors, logs, pickles or `vars()`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from .errors import WalletError
from .protocol.hexbytes import is_address

if TYPE_CHECKING:
    from .protocol.signing import PrivateKey

Role = Literal["agent", "master"]
NO_ADDRESS = "not an address (0x and 40 hex digits); the value is not shown, as it may be a key"

AGENT_VARIABLE = "TOOLKIT_AGENT_KEY"
MASTER_VARIABLE = "TOOLKIT_MASTER_KEY"
_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class Wallet:
    """The keys of one account: `agent` trades, `master` approves and withdraws; either may be missing.

    Keys are 32 bytes, or 64 hex digits with or without 0x. `account` is the master's address: that of the master key,
    else as given, else read from the venue when it is needed.

    Raises WalletError for an invalid key; the message never contains it.
    """

    __slots__ = ("_agent", "_master", "account")

    account: str | None

    def __init__(
        self, agent: str | bytes | None = None, master: str | bytes | None = None, *, account: str | None = None
    ) -> None:
        # The arguments are deleted before anything can raise, so that no traceback with local variables shows them.
        self.account = account if account and is_address(account) else None
        self._agent, agent_fault = _parse(agent)
        self._master, master_fault = _parse(master)
        no_address = bool(account) and self.account is None
        del agent, master, account
        for role, fault in (("agent", agent_fault), ("master", master_fault)):
            if fault:
                raise WalletError(f"the {role} key {fault}")
        if no_address:
            raise WalletError(f"the account is {NO_ADDRESS}")
        self._take_account(self.account)

    @classmethod
    def from_env(
        cls,
        agent: str = AGENT_VARIABLE,
        master: str = MASTER_VARIABLE,
        *,
        account: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Wallet:
        """Read the keys from the environment variables with these names, and the account from TOOLKIT_ACCOUNT.

        Raises WalletError if neither variable is set, or one has no valid key.
        """
        if holds_key(agent) or holds_key(master):
            del agent, master, variables
            raise WalletError("from_env takes the names of environment variables, not keys; keys go to Wallet(agent=…)")
        agent_key, agent_fault = _parse(_variable(agent, variables))
        master_key, master_fault = _parse(_variable(master, variables))
        account = account or _variable("TOOLKIT_ACCOUNT", variables)
        if account and not is_address(account):
            agent_key = master_key = None
            del account, variables
            raise WalletError(f"the account (TOOLKIT_ACCOUNT) is {NO_ADDRESS}")
        del variables  # it contains keys, and a traceback with local variables would show them
        for name, fault in ((agent, agent_fault), (master, master_fault)):
            if fault:
                raise WalletError(f"the key in {name} {fault}")
        if agent_key is None and master_key is None:
            raise WalletError(f"no key found; set the environment variable {agent} (and {master} to approve)")
        return cls._of(agent_key, master_key, account)

    @classmethod
    def from_keyfile(
        cls, path: str | os.PathLike[str], password: str, *, role: Role = "agent", account: str | None = None
    ) -> Wallet:
        """Read one key from an encrypted key file (Web3 Secret Storage, the format of Ethereum wallets).

        Raises WalletError for a missing or invalid file, or a wrong password.
        """
        key, fault = _parse_file(path, password)
        del password
        if account and not is_address(account):
            del account
            raise WalletError(f"the account is {NO_ADDRESS}")
        _check_role(role)
        if fault:
            raise WalletError(f"key file {path}: {fault}")
        return cls._of(key if role == "agent" else None, key if role == "master" else None, account)

    @classmethod
    def from_keys_file(cls, path: str | os.PathLike[str], account: int | str = 0) -> Wallet:
        """Read both keys of one account from a file that `toolkit venue --keys-file` wrote, by number or by name.

        Raises WalletError for a missing or invalid file, and for an account that is not in it.
        """
        agent, master, fault = _parse_keys_file(path, account)
        if fault:
            raise WalletError(f"keys file {os.fspath(path)}: {fault}")
        return cls._of(agent, master, None)

    @classmethod
    def create(cls, role: Role = "agent", *, account: str | None = None) -> Wallet:
        """Create a key from the system's randomness. `save_keyfile` stores it."""
        from .protocol.signing import PrivateKey

        if account and not is_address(account):
            del account
            raise WalletError(f"the account is {NO_ADDRESS}")
        _check_role(role)
        key = PrivateKey(_random_secret())
        return cls._of(key if role == "agent" else None, key if role == "master" else None, account)

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

    def save_keyfile(self, path: str | os.PathLike[str], password: str, *, role: Role = "agent") -> None:
        """Write one key to an encrypted key file that only its owner can read. Never overwrites a file.

        Raises WalletError if the wallet has no such key, or the file exists.
        """
        text, fault = _encrypted(self._agent if role == "agent" else self._master, password)
        del password
        _check_role(role)
        self.key(role)
        if fault:
            raise WalletError(fault)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise WalletError(f"key file {os.fspath(path)} can't be written: {error.strerror}") from None
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)

    @property
    def agent(self) -> str | None:
        """Address of the agent key, None without one."""
        return self._agent.address if self._agent else None

    @property
    def master(self) -> str | None:
        """Address of the master key, None without one."""
        return self._master.address if self._master else None

    def key(self, role: Role, purpose: str = "this") -> PrivateKey:
        """Return the key of a role. Raises WalletError, which says how to provide a missing key."""
        key = self._agent if role == "agent" else self._master
        if key is None:
            variable = AGENT_VARIABLE if role == "agent" else MASTER_VARIABLE
            raise WalletError(
                f"{purpose} is signed by the {role} key, and this wallet has none; "
                f"set {variable} and use Wallet.from_env(), or give Wallet({role}=…)"
            )
        return key

    def joined(self, other: Wallet) -> Wallet:
        """Return a wallet with the keys of both. Raises WalletError if both have different keys of one role."""
        for role, mine, theirs in (("agent", self._agent, other._agent), ("master", self._master, other._master)):
            if mine and theirs and mine.address != theirs.address:
                raise WalletError(f"both wallets have their own {role} key, {mine.address} and {theirs.address}")
        return Wallet._of(self._agent or other._agent, self._master or other._master, self.account or other.account)

    def __repr__(self) -> str:
        parts = [f"{role} {address}" for role, address in (("agent", self.agent), ("master", self.master)) if address]
        if self.account and not self.master:
            parts.append(f"account {self.account}")
        return f"<Wallet: {', '.join(parts) or 'no keys'}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise WalletError("a wallet is never pickled or copied; make it where it is used, e.g. with Wallet.from_env()")

    def __copy__(self) -> NoReturn:
        self.__reduce_ex__(2)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self.__reduce_ex__(2)

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(2)


def _check_role(role: str) -> None:
    if role not in ("agent", "master"):
        raise WalletError(f"role {role!r} is not known; it is agent or master")


def holds_key(value: object) -> bool:
    """Return whether a value looks like a key, so that callers keep it out of messages."""
    return isinstance(value, str | bytes) and _parse(value)[0] is not None


def _variable(name: str, variables: Mapping[str, str] | None) -> str | None:
    return (os.environ if variables is None else variables).get(name) or None


def _parse(text: object) -> tuple[PrivateKey | None, str]:
    """Return the key and "", or None and what is wrong. Never raises, as a traceback could show the key."""
    if text is None:
        return None, ""
    if isinstance(text, str):
        digits = text.strip().removeprefix("0x").removeprefix("0X")
        if len(digits) != 64:
            return None, f"has {len(digits)} characters; a private key has 64 hex digits, with or without 0x"
        try:
            secret = bytes.fromhex(digits)
        except ValueError:
            return None, "has characters that are not hex digits"
    elif isinstance(text, bytes):
        secret = text
    else:
        return None, f"is {type(text).__name__}; give 64 hex digits or 32 bytes"
    if len(secret) != 32:
        return None, f"has {len(secret)} bytes; a private key has 32"
    if not 0 < int.from_bytes(secret, "big") < _CURVE_ORDER:
        return None, "is outside the range of secp256k1"
    return _without_errors(lambda: _key(secret))


def _key(secret: bytes) -> PrivateKey:
    from .protocol.signing import PrivateKey

    return PrivateKey(secret)


def _random_secret() -> bytes:
    import secrets

    return (secrets.randbelow(_CURVE_ORDER - 1) + 1).to_bytes(32, "big")


def _without_errors(make: Callable[[], PrivateKey]) -> tuple[PrivateKey | None, str]:
    try:
        return make(), ""
    except Exception as error:
        return None, f"can't be used ({type(error).__name__})"


def _parse_file(path: str | os.PathLike[str], password: str) -> tuple[PrivateKey | None, str]:
    """Do as `_parse` for a key file."""
    import json

    from eth_account import Account

    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
    except OSError as error:
        return None, f"can't be read ({error.strerror})"
    except TypeError:
        return None, "its name is not a path"
    except ValueError:
        return None, "is not JSON, so it is not a key file"
    try:
        return _parse(bytes(Account.decrypt(stored, password)))
    except ValueError:
        return None, "the password does not open it"
    except Exception as error:
        return None, f"is not a readable key file ({type(error).__name__})"


def _parse_keys_file(
    path: str | os.PathLike[str], account: int | str
) -> tuple[PrivateKey | None, PrivateKey | None, str]:
    """Return the agent and master key of an account and "", or None twice and what is wrong."""
    import json

    try:
        with open(path, encoding="utf-8") as file:
            rows = {str(row["name"]): row for row in json.load(file)["accounts"]}
        row = next((row for row in rows.values() if account in (row["number"], str(row["number"]), row["name"])), None)
        if row is None:
            return None, None, f"has no account {account!r}; it has {', '.join(list(rows)[:20])}"
        agent, agent_fault = _parse(row["agent"]["private_key"])
        master, master_fault = _parse(row["master"]["private_key"])
    except OSError as error:
        return None, None, f"can't be read ({error.strerror})"
    except (ValueError, KeyError, TypeError):
        return None, None, "is not a keys file of `toolkit venue --keys-file`"
    fault = agent_fault or master_fault
    return (None, None, f"a key of {account!r} {fault}") if fault else (agent, master, "")


def _encrypted(key: PrivateKey | None, password: str) -> tuple[str, str]:
    """Return the text of a key file and "", or "" and what is wrong. Never raises, for the reason of `_parse`."""
    import json

    from eth_account import Account

    if not password:
        return "", "a key file needs a password that is not empty"
    if key is None:
        return "", "there is no such key"
    try:
        return json.dumps(Account.encrypt(key.reveal(), password)), ""
    except Exception as error:
        return "", f"the key can't be encrypted with this password ({type(error).__name__})"
