"""Signing and recovering, for both domains and both chains.

Agents sign `Agent{source, connectionId}` in the domain Exchange, where connectionId is the Keccak hash of protobuf
bytes, vault, nonce and expiry. Masters sign their action's typed data in the domain SignTransaction. The hashes of
types and domains are computed once. Tests compare the result with eth-account's typed data for every golden request.
Source: docs/published.md, "Signatures".
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple, NoReturn, TypeAlias

from ..environments import MAINNET_CHAIN, TESTNET_CHAIN, VERIFYING_CONTRACT, ZERO_CONTRACT, Chain
from ..errors import BadSignature, MalformedRequest, WalletError
from ..ethereum import typed_data_hashes
from . import curve, envelope
from .actions import Action, TypedData
from .codec import WRITERS
from .envelope import Request, Signature, Unsigned
from .fields import shown
from .hexbytes import address_bytes, checksummed, has_wrong_checksum, keccak

AGENT_DOMAIN, MASTER_DOMAIN = "Exchange", "SignTransaction"

_HALF_ORDER_BYTES = curve.HALF_ORDER.to_bytes(32, "big")
_DOMAIN_FIELDS = (("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address"))
_AGENT_FIELDS = (("source", "string"), ("connectionId", "bytes32"))


class PrivateKey:
    """A secp256k1 key that signs digests and never shows its secret.

    Its repr shows the address. It can't be pickled, and a copy is the same object. Only `reveal` returns the secret, to
    encrypt it into a key file.

    Parameters
    ----------
    secret : bytes
        The secret, 32 bytes.

    Raises
    ------
    WalletError
        If the bytes are no key.
    """

    __slots__ = ("__address", "__secret")

    def __init__(self, secret: bytes) -> None:
        held = curve.hold(secret)
        del secret  # a traceback that shows local variables must not show the secret
        if held is None:
            raise WalletError("a private key is 32 bytes, and a number from 1 to the order of the curve")
        self._hold(held)

    def _hold(self, held: curve.HeldSecret) -> None:
        # Two underscores: a subclass or a `vars()` of the object does not find it by its name.
        self.__secret = held
        self.__address = checksummed(keccak(curve.public_key(held))[12:])

    @classmethod
    def from_hex(cls, text: str) -> PrivateKey:
        """Return the key written as hex digits.

        Parameters
        ----------
        text : str
            64 hex digits, with or without 0x.

        Returns
        -------
        PrivateKey
            The key. Its repr shows the address.

        Raises
        ------
        WalletError
            If the text is no key. The error does not show it.
        """
        held = curve.hold(_hex_bytes(text))
        del text
        if held is None:
            raise WalletError("a private key is 64 hex digits, with or without 0x, and below the order of the curve")
        made = cls.__new__(cls)
        made._hold(held)
        return made

    @classmethod
    def from_env(cls, name: str) -> PrivateKey:
        """Return the key in an environment variable.

        Parameters
        ----------
        name : str
            Name of the variable.

        Returns
        -------
        PrivateKey
            The key. Its repr shows the address.

        Raises
        ------
        WalletError
            If the variable is not set or holds no key. The error names the variable only.
        """
        # A key in the place of a name is a usual mistake, and the error must not repeat it.
        if curve.hold(_hex_bytes(name)) is not None:
            del name
            raise WalletError("give the name of an environment variable, not a key")
        if not os.environ.get(name):
            raise WalletError(f"the environment variable {name} is not set. Put the private key there (64 hex digits)")
        try:
            return cls.from_hex(os.environ[name])
        except WalletError as error:
            reason = str(error)
        # Raised outside the except block, so that the traceback of from_hex is not chained to it.
        raise WalletError(f"the environment variable {name} holds no usable key: {reason}")

    @property
    def address(self) -> str:
        """Address of the key, with EIP-55 checksum."""
        return self.__address

    def sign(self, digest: bytes) -> Signature:
        """Return the signature of a digest: deterministic (RFC 6979), low s.

        Parameters
        ----------
        digest : bytes
            32 bytes.

        Returns
        -------
        Signature
            r and s as 64 bytes, and v.

        Raises
        ------
        ValueError
            If the digest is not 32 bytes.
        """
        compact, recovery_id = curve.sign(self.__secret, digest)
        return Signature(compact, 27 + recovery_id)

    def reveal(self) -> bytes:
        """Return the 32 secret bytes, only to encrypt them.

        Returns
        -------
        bytes
            The secret.
        """
        return curve.reveal(self.__secret)

    def __repr__(self) -> str:
        return f"PrivateKey(address={self.__address!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivateKey) and other.__address == self.__address

    def __hash__(self) -> int:
        return hash(self.__address)

    def __copy__(self) -> PrivateKey:
        return self

    def __deepcopy__(self, memo: object) -> PrivateKey:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a private key is not pickled. Pass the name of an environment variable or a key file instead")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a private key has no state to save")


def _hex_bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text.strip().removeprefix("0x").removeprefix("0X"))
    except (ValueError, AttributeError):
        return b""


def _encode_value(kind: str, value: Any) -> bytes:
    """Return the 32 bytes of a value inside a struct hash."""
    if kind == "string":
        return keccak(value.encode())
    if kind == "address":
        return address_bytes(value).rjust(32, b"\0")
    if kind == "bytes32":
        return bytes(value)
    return int(value).to_bytes(32, "big")


def _struct_hash(name: str, fields: tuple[tuple[str, str], ...], values: Mapping[str, Any]) -> bytes:
    return keccak(_type_hash(name, fields) + b"".join([_encode_value(kind, values[field]) for field, kind in fields]))


@lru_cache(maxsize=64)
def _type_hash(name: str, fields: tuple[tuple[str, str], ...]) -> bytes:
    return keccak(f"{name}({','.join(f'{kind} {field}' for field, kind in fields)})".encode())


def _domain(name: str, chain: Chain, contract: str = VERIFYING_CONTRACT) -> dict[str, Any]:
    return {"name": name, "version": "1", "chainId": chain.chain_id, "verifyingContract": contract}


@lru_cache(maxsize=64)
def _domain_separator(name: str, chain: Chain, contract: str = VERIFYING_CONTRACT) -> bytes:
    return _struct_hash("EIP712Domain", _DOMAIN_FIELDS, _domain(name, chain, contract))


@lru_cache(maxsize=16)
def _agent_struct(source: str) -> bytes:
    """Return the constant first part of the struct that agents sign."""
    return _type_hash("Agent", _AGENT_FIELDS) + keccak(source.encode())


class Variant(NamedTuple):
    """What a signature may be for.

    Every other variant than that of a chain itself is a mistake that clients make.

    Attributes
    ----------
    chain : Chain
        The chain's chainId, source and dexChain.
    contract : str
        The verifyingContract (default: `VERIFYING_CONTRACT`).
    swapped : bool
        True where agents sign for the domain of masters, and masters for that of agents (default: `False`).
    """

    chain: Chain
    contract: str = VERIFYING_CONTRACT
    swapped: bool = False

    def domain(self, is_agent: bool) -> str:
        """Return the name of the domain.

        Parameters
        ----------
        is_agent : bool
            Whether an agent signs.
        """
        return AGENT_DOMAIN if is_agent is not self.swapped else MASTER_DOMAIN


def _typed_fields(typed: TypedData, action: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the fields of the type, without the optional ones that the action does not carry."""
    if not typed.optional:
        return typed.fields
    return tuple(entry for entry in typed.fields if entry[0] not in typed.optional or entry[0] in action)


def _typed_values(content: Unsigned | Request, chain: Chain, fields: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    available = {
        "dexChain": chain.dex_chain,
        **content.action,
        "nonce": content.nonce,
        "expiryAfter": content.expiry_after or 0,
    }
    return {name: available[name] for name, _ in fields}


def content_digest(content: Unsigned | Request, chain: Chain) -> bytes:
    """Return the 32 bytes that are signed for the checked request `content` on a `chain`.

    Parameters
    ----------
    content : Unsigned or Request
        Checked request.
    chain : Chain
        Chain that is signed for: chainId, source and dexChain of an environment.

    Returns
    -------
    bytes
        The digest.
    """
    return _digest(content, _content_connection(content), Variant(chain))


def _content_connection(content: Unsigned | Request) -> bytes:
    """Return the connectionId of what an agent signs, b"" for what a master signs."""
    if content.declaration.typed is not None:
        return b""
    proto = WRITERS[content.declaration.type](content.action)
    vault = b"" if content.vault_address is None else address_bytes(content.vault_address)
    nonce = content.nonce.to_bytes(8, "little")
    return keccak(proto + vault + nonce + (content.expiry_after or 0).to_bytes(8, "little"))


def _digest(content: Unsigned | Request, connection: bytes, variant: Variant) -> bytes:
    chain, typed = variant.chain, content.declaration.typed
    if typed is None:
        struct = keccak(_agent_struct(chain.source) + connection)
    else:
        fields = _typed_fields(typed, content.action)
        struct = _struct_hash(typed.primary_type, fields, _typed_values(content, chain, fields))
    return keccak(b"\x19\x01" + _domain_separator(variant.domain(typed is None), chain, variant.contract) + struct)


def _checked(payload: Mapping[str, Any], nonce: int, expiry_after: int | None, vault_address: str | None) -> Unsigned:
    """Return the checked content of a request. Paths in errors start at the envelope."""
    return envelope.read_unsigned(
        {"action": payload, "nonce": nonce, "expiryAfter": expiry_after, "vaultAddress": vault_address}
    )


def digest(
    chain: Chain, payload: Mapping[str, Any], nonce: int, expiry_after: int | None = None, vault: str | None = None
) -> bytes:
    """Return the 32 bytes that are signed for an action.

    Parameters
    ----------
    chain : Chain
        Chain that is signed for: chainId, source and dexChain of an environment.
    payload : mapping of str to object
        The action as on the wire, with its `type`.
    nonce : int
        Nonce in Unix ms, used once by a signer.
    expiry_after : int or None, optional
        Last time at which it may be executed, Unix ms (default: none, without end).
    vault : str or None, optional
        Vault that the request acts for (default: none).

    Returns
    -------
    bytes
        The digest.

    Raises
    ------
    MalformedRequest
        If the action breaks a rule. The error names the field and what would pass.
    """
    return content_digest(_checked(payload, nonce, expiry_after, vault), chain)


@dataclass(frozen=True, slots=True)
class Explained:
    """Every step from action to digest.

    `proto` and `connection_id` are None for actions that masters sign. `typed_data` is a complete EIP-712 document
    (types, primaryType, domain, message), the input of wallets.

    Attributes
    ----------
    proto : bytes or None
        Protobuf bytes of the action. `None` for actions that masters sign.
    connection_id : bytes or None
        Hash of these bytes, vault, nonce and expiry. `None` for actions that masters sign.
    typed_data : dict of str to object
        Complete EIP-712 document (types, primaryType, domain, message), the input of wallets.
    domain_separator : bytes
        First part of the digest.
    struct_hash : bytes
        Second part of the digest.
    digest : bytes
        The 32 bytes that are signed.
    """

    proto: bytes | None
    connection_id: bytes | None
    typed_data: dict[str, Any]
    domain_separator: bytes
    struct_hash: bytes
    digest: bytes


def explain(
    payload: Mapping[str, Any],
    chain: Chain,
    nonce: int,
    expiry_after: int | None = None,
    vault_address: str | None = None,
) -> Explained:
    """Return the steps of `digest`, computed without its shortcuts.

    eth-account computes those of master actions.

    Parameters
    ----------
    payload : mapping of str to object
        The action as on the wire, with its `type`.
    chain : Chain
        Chain that is signed for: chainId, source and dexChain of an environment.
    nonce : int
        Nonce in Unix ms, used once by a signer.
    expiry_after : int or None, optional
        Last time at which it may be executed, Unix ms (default: none, without end).
    vault_address : str or None, optional
        Vault that the request acts for (default: none).

    Returns
    -------
    Explained
        The steps.

    Raises
    ------
    MalformedRequest
        If the action breaks a rule.
    """
    return explain_content(_checked(payload, nonce, expiry_after, vault_address), chain)


def explain_content(content: Unsigned, chain: Chain) -> Explained:
    """Return the steps of the digest of a request that was checked before.

    Parameters
    ----------
    content : Unsigned
        Checked request.
    chain : Chain
        Chain that is signed for.

    Returns
    -------
    Explained
        The steps.
    """
    typed = content.declaration.typed
    proto = connection = None
    fields: tuple[tuple[str, str], ...]
    if typed is None:
        proto = WRITERS[content.declaration.type](content.action)
        connection = _content_connection(content)
        domain, primary, fields = AGENT_DOMAIN, "Agent", _AGENT_FIELDS
        message: dict[str, Any] = {"source": chain.source, "connectionId": connection}
    else:
        domain, primary, fields = MASTER_DOMAIN, typed.primary_type, _typed_fields(typed, content.action)
        message = _typed_values(content, chain, fields)
    document = {
        "types": {"EIP712Domain": _type_entries(_DOMAIN_FIELDS), primary: _type_entries(fields)},
        "primaryType": primary,
        "domain": _domain(domain, chain),
        "message": message if connection is None else {**message, "connectionId": "0x" + connection.hex()},
    }
    # What a wallet makes of the document. Signing has its own shorter way to the same digest, because loading
    # eth-account takes longer than everything else that connecting does.
    of_wallets = typed_data_hashes(document) if typed is not None else None
    separator, struct = of_wallets or (_domain_separator(domain, chain), _struct_hash(primary, fields, message))
    return Explained(proto, connection, document, separator, struct, keccak(b"\x19\x01" + separator + struct))


def _type_entries(fields: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in fields]


def sign(
    payload: Mapping[str, Any],
    *,
    key: PrivateKey,
    chain: Chain,
    nonce: int,
    expiry_after: int | None = None,
    vault_address: str | None = None,
) -> dict[str, Any]:
    """Return the signed envelope of an action, the input of `envelope.dump`.

    The action is a copy, as written.

    Parameters
    ----------
    payload : mapping of str to object
        The action as on the wire, with its `type`.
    key : PrivateKey
        Key of the agent or the master, by the action.
    chain : Chain
        Chain that is signed for: chainId, source and dexChain of an environment.
    nonce : int
        Nonce in Unix ms, used once by a signer.
    expiry_after : int or None, optional
        Last time at which it may be executed, Unix ms (default: none, without end).
    vault_address : str or None, optional
        Vault that the request acts for (default: none).

    Returns
    -------
    dict
        `action`, `signature`, `nonce`, and `expiryAfter` and `vaultAddress` where they are given.

    Raises
    ------
    MalformedRequest
        For a broken rule, and for what a master signs only by mistake. These are the dexChain of another chain, a
        faucet claim on Mainnet, and an address that breaks its EIP-55 checksum.
    """
    content = _checked(payload, nonce, expiry_after, vault_address)
    # The canonical form is signed, and the action is sent as it was written: both give the same bytes.
    return sign_content(content, key, chain) | ({} if content.action == payload else {"action": _plain(payload)})


def sign_content(content: Unsigned, key: PrivateKey, chain: Chain) -> dict[str, Any]:
    """Return the signed envelope of a request that was checked before, the input of `envelope.dump`.

    Parameters
    ----------
    content : Unsigned
        Checked request.
    key : PrivateKey
        Key of the signer.
    chain : Chain
        Chain that is signed for: chainId, source and dexChain of an environment.

    Returns
    -------
    dict
        The envelope.

    Raises
    ------
    MalformedRequest
        For what a master never means to sign, such as an action of another chain.
    """
    if content.declaration.typed is not None:
        _refuse_mistakes(content.declaration, content.action, chain)
    signature = key.sign(content_digest(content, chain)).to_wire()
    signed: dict[str, Any] = {"action": content.action, "signature": signature, "nonce": content.nonce}
    if content.expiry_after is not None:
        signed["expiryAfter"] = content.expiry_after
    if content.vault_address is not None:
        signed["vaultAddress"] = content.vault_address
    return signed


def _plain(value: object) -> Any:
    """Return a copy in plain dicts and lists, so that a later change of the payload doesn't change the envelope."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _refuse_mistakes(declared: Action, action: Mapping[str, Any], chain: Chain) -> None:
    """Refuse what a master never means to sign."""

    def refuse(name: str, reason: str, rule: str, value: object, nearest: tuple[str, ...] = ()) -> NoReturn:
        message = f"action.{name}: {reason}"
        raise MalformedRequest(message, field=f"action.{name}", rule=rule, value=value, nearest=nearest)

    if declared.testnet_only and chain.dex_chain != "Testnet":
        refuse("type", f"{declared.type} exists on Testnet only", "Testnet only", declared.type)
    named = action.get("dexChain", chain.dex_chain)
    if named != chain.dex_chain:
        said = f"must be {chain.dex_chain} for this environment, got {shown(named)}"
        refuse("dexChain", said, "the environment's chain", named, (chain.dex_chain,))
    for name in ("destination", "to", "agentAddress", "builderAddress"):
        address = action.get(name)
        if address is not None and has_wrong_checksum(address):
            said = "has letters that break the EIP-55 checksum. Compare it with its source, or write it in lower case"
            refuse(name, f"{shown(address)} {said}", "EIP-55", address, (address.lower(),))


def recover_bytes(digest: bytes, signature: Signature) -> bytes:
    """Return the 20 bytes of the address that signed a digest.

    Raises BadSignature for a signature of no key (r or s out of range) or a malleable one (high s).

    Parameters
    ----------
    digest : bytes
        The 32 bytes that were signed.
    signature : Signature
        Signature of the digest.

    Returns
    -------
    bytes
        The address.

    Raises
    ------
    BadSignature
        For a signature of no key (r or s out of range) or a malleable one (high s).
    """
    compact = signature.compact
    # For every signature with low s there is one with high s. Accepting both would give a request two identities.
    if compact[32:] > _HALF_ORDER_BYTES:
        said = "signature.s is in the upper half of the curve's order (malleable). Sign with low s"
        raise BadSignature(said, field="signature.s", rule="low s")
    try:
        public = curve.recover(digest, compact, signature.v - 27)
    except ValueError:
        said = "signature: r, s and v belong to no key. r and s must be from 1 to the order of the curve"
        raise BadSignature(said, field="signature", rule="recoverable") from None
    return keccak(public)[12:]


class Verified(NamedTuple):
    """The result of a verification.

    `connection` is b"" for what a master signs.

    Attributes
    ----------
    signer : str
        Address of the signer, in lower case.
    digest : bytes
        The 32 bytes that were signed.
    connection : bytes
        The connectionId of what an agent signed, empty for what a master signed.
    """

    signer: str
    digest: bytes
    connection: bytes = b""


def verify(request: Request, chain: Chain) -> Verified:
    """Return the signer of a parsed request, and its digest.

    Parameters
    ----------
    request : Request
        Parsed request with its signature.
    chain : Chain
        Chain that is signed for: chainId, source and dexChain of an environment.

    Returns
    -------
    Verified
        Signer in lower case, and digest.

    Raises
    ------
    BadSignature
        For a signature of no key.
    """
    connection = _content_connection(request)
    signed = _digest(request, connection, Variant(chain))
    return Verified("0x" + recover_bytes(signed, request.signature).hex(), signed, connection)


class Alternative(NamedTuple):
    """The signer that a signature has under another variant.

    Attributes
    ----------
    signer : str
        Address in lower case.
    theirs : str
        In words, what of that variant differs from the chain's.
    own : str
        The variant of the chain in words.
    """

    signer: str
    theirs: str
    own: str


@lru_cache(maxsize=16)
def _usual_mistakes(chain: Chain) -> tuple[Variant, ...]:
    """Return the variants that clients confuse with a chain's own, those with the fewest differences first.

    Each has one difference, or one and the zero contract. They are nine for a chain of the exchange, which bounds what
    a refused request costs.
    """
    chains = [chain]
    for other in (MAINNET_CHAIN, TESTNET_CHAIN):
        if other != chain:  # all of another chain, its source and dexChain only, its chainId only
            chains += other, Chain(chain.chain_id, other.source, other.dex_chain)
            chains.append(Chain(other.chain_id, chain.source, chain.dex_chain))
    own = Variant(chain)
    found = (Variant(*each) for each in product(chains, (ZERO_CONTRACT, VERIFYING_CONTRACT), (False, True)))

    def differences(one: Variant) -> int:
        return sum(a != b for a, b in zip(one, own, strict=True))

    usual = (one for one in found if 0 < differences(one) <= 1 + (one.contract == ZERO_CONTRACT))
    return tuple(sorted(usual, key=differences))


def alternatives(request: Request, verified: Verified, chain: Chain) -> Iterator[Alternative]:
    """Yield the signers of a request under the mistakes that clients usually make.

    The likeliest mistake comes first.

    Parameters
    ----------
    request : Request
        Parsed request with its signature.
    verified : Verified
        What `verify` returned for the request and the chain.
    chain : Chain
        Chain whose variant was verified.
    """
    for one in _usual_mistakes(chain):
        digest = _digest(request, verified.connection, one)
        if digest == verified.digest:  # it differs only in what the action does not sign, or names itself
            continue
        try:
            signer = recover_bytes(digest, request.signature)
        except BadSignature:  # no key has this signature of this digest
            continue
        yield Alternative("0x" + signer.hex(), *_differences(one, Variant(chain), request))


def _differences(one: Variant, own: Variant, request: Request) -> tuple[str, str]:
    """Return in words what differs between two variants for a request: of the first, and of the second."""
    typed = request.declaration.typed
    pairs = [("verifyingContract", one.contract, own.contract), ("chainId", one.chain.chain_id, own.chain.chain_id)]
    if typed is None:
        pairs.append(("source", one.chain.source, own.chain.source))
    else:
        signed = request.action.get("dexChain", one.chain.dex_chain)
        pairs.append(("dexChain", signed, own.chain.dex_chain))
    pairs.append(("domain", one.domain(typed is None), own.domain(typed is None)))
    differing = [pair for pair in pairs if pair[1] != pair[2]]
    first, second = (", ".join(f"{pair[0]} {pair[at]}" for pair in differing) for at in (1, 2))
    return first, second


Envelope: TypeAlias = Mapping[str, Any]


def recover(request: Request | Envelope, chain: Chain) -> str:
    """Return the checksummed address that signed a request.

    Any change of action, nonce, expiry, vault, chain or signature gives another address.

    Parameters
    ----------
    request : Request or Envelope
        Request, parsed or as a dict.
    chain : Chain
        Chain that is signed for: chainId, source and dexChain of an environment.

    Returns
    -------
    str
        The address.

    Raises
    ------
    MalformedRequest
        For a dict that is not a request.
    BadSignature
        For a signature of no key.
    """
    parsed = request if isinstance(request, Request) else envelope.read(request)
    return checksummed(recover_bytes(content_digest(parsed, chain), parsed.signature))
