"""Keys, protobuf bytes, typed data and signatures of requests, from the documents: nothing of the toolkit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak

CONTRACT = "0x0100000000000000000000000000000000000001"
OLD_CONTRACT = "0x" + "0" * 40
"""What documents of April 2026 sign with."""
WORDS = "test test test test test test test test test test test junk"
"""The mnemonic of the development accounts, public and for tests only."""
ORD_TYPE = {
    "LIMIT": 1, "MARKET": 2, "MARKET_LIQ_SELLOFF": 3, "LIMIT_LIQ_SELLOFF": 4, "STOP_LIMIT": 5, "STOP_MARKET": 6,
    "TAKE_PROFIT_LIMIT": 7, "TAKE_PROFIT_MARKET": 8, "ADL": 50, "LIQUIDATION": 51,
}  # fmt: skip
ORD_SIDE = {"BUY": 1, "SELL": 2, "BUY_CLOSE_HEDGE": 3, "SELL_CLOSE_HEDGE": 4}
ORD_TIF = {"GTC": 1, "IOC": 2, "FOK": 3, "POST_ONLY": 4}
REDUCE_ONLY = {"REDUCE_ONLY": 1, "TP_FROM_POSITION": 2, "SL_FROM_POSITION": 3}
TRIGGER = {"LAST_PRICE": 1, "MARK_PRICE": 2, "INDEX_PRICE": 3}
MARGIN_MODE = {"CROSS": 1, "ISOLATED": 2}

Kind = str | Mapping[str, int]
ORDER: dict[str, tuple[int, Kind]] = {
    "clOrdId": (1, "int"), "symbolCode": (2, "int"), "ordPx": (3, "text"), "ordQty": (4, "text"),
    "triggerPx": (5, "text"), "ordType": (6, ORD_TYPE), "ordSide": (7, ORD_SIDE), "timeInForce": (8, ORD_TIF),
    "reduceOnlyOption": (9, REDUCE_ONLY), "reduceOnly": (9, REDUCE_ONLY), "parentOrdId": (10, "int"),
    "tpslTriggerType": (11, TRIGGER), "slippagePct": (12, "text"),
}  # fmt: skip
CANCEL: dict[str, tuple[int, Kind]] = {"symbolCode": (1, "int"), "clOrdId": (2, "int"), "ordId": (3, "int")}
_AMOUNT: dict[str, tuple[int, Kind]] = {"amount": (1, "text"), "currencyCode": (2, "int")}
MESSAGES: dict[str, dict[str, tuple[int, Kind]]] = {
    "replaceOrder": {**ORDER, "ordId": (13, "int")},
    "cancelAll": {"symbolCode": (1, "int"), "conditionalOrder": (2, "bool")},
    "setLeverage": {"symbolCode": (1, "int"), "leverage": (2, "text")},
    "setMarginMode": {"symbolCode": (1, "int"), "marginMode": (2, MARGIN_MODE)},
    "assignPosMargin": {"symbolCode": (1, "int"), "assignedPosMargin": (2, "text")},
    "bindReferral": {"referralCode": (1, "text")},
    "vaultDeposit": {"vault": (1, "text"), "amount": (2, "text"), "currencyCode": (3, "int")},
    "vaultWithdraw": {"vault": (1, "text"), "share": (2, "text"), "currencyCode": (3, "int")},
    "vaultCreate": {
        "name": (1, "text"), "description": (2, "text"), "amount": (3, "text"), "currencyCode": (4, "int")
    },
    "vaultUpdateOwner": {"owner": (1, "text")},
    "vaultClose": {},
    "vaultPreWithdraw": _AMOUNT,
    "vaultCreateSubVault": {},
    "vaultRebalance": {"from": (1, "text"), "to": (2, "text"), "amount": (3, "text"), "currencyCode": (4, "int")},
}  # fmt: skip
"""Agent-signed actions whose message is flat. The others, of lists, are in `message`."""

_END = "nonce uint64, expiryAfter uint64"
_AGENT = "dexChain string, agentAddress address"
TYPED: dict[str, tuple[str, str]] = {
    "approveAgent": ("ApproveAgent", f"{_AGENT}, agentName string, validitySeconds uint64, {_END}"),
    "withdraw": (
        "Withdraw", f"dexChain string, destination address, amount string, withdrawSequence uint64, {_END}"),
    "usdSend": ("UsdTransfer", f"dexChain string, to address, amount string, {_END}"),
    "faucetClaim": ("TestnetFaucetClaim", "dexChain string"),
    "registerBuilder": ("RegisterBuilder", f"dexChain string, name string, {_END}"),
    "approveAgentToBuilder": (
        "ApproveAgentToBuilder",
        f"{_AGENT}, builderAddress address, maxFeeRate string, validitySeconds uint64, {_END}"),
    "revokeAgentToBuilder": ("RevokeAgentToBuilder", f"dexChain string, {_END}"),
}  # fmt: skip
"""Master-signed action → primary type and its fields, in order."""


@dataclass(frozen=True)
class Key:
    """A private key, which its repr does not show, and its address."""

    secret: bytes = field(repr=False)

    @property
    def address(self) -> str:
        return str(Account.from_key(self.secret).address)


def development_key(number: int) -> Key:
    """Return the key of a development account by its number."""
    Account.enable_unaudited_hdwallet_features()
    return Key(bytes(Account.from_mnemonic(WORDS, account_path=f"m/44'/60'/0'/0/{number}").key))


def new_key() -> Key:
    """Return a key that nobody has used."""
    return Key(os.urandom(32))


def varint(value: int) -> bytes:
    """Return an integer as protobuf's base-128 varint; negative ones as their 64-bit complement."""
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def encode(values: Mapping[str, Any], fields: Mapping[str, tuple[int, Kind]]) -> bytes:
    """Return the proto3 bytes of a flat message: fields in the order of their numbers, without zero values."""
    found = sorted((fields[name], value) for name, value in values.items() if name in fields and value is not None)
    parts = []
    for (number, kind), value in found:
        if kind == "text":
            parts.append(block(number, str(value).encode()))
            continue
        if isinstance(kind, Mapping):
            whole = kind.get(str(value), 0)
        else:  # what is no number is refused before its signer is asked
            whole = int(value) if str(value).lstrip("-").isdigit() or value is True else 0
        if whole:
            parts.append(varint(number << 3) + varint(whole))
    return b"".join(parts)


def block(number: int, content: bytes, *, empty: bool = False) -> bytes:
    """Return a length-delimited field; an empty text is left out, an empty message of a list is not."""
    return varint(number << 3 | 2) + varint(len(content)) + content if content or empty else b""


def message(action: Mapping[str, Any]) -> bytes:
    """Return the protobuf bytes that an agent signs for an action."""
    kind = action["type"]
    builder = {"builderAddr": (13, "text"), "builderFeeRate": (14, "text")}
    own = {"builderAddr": action.get("builder"), "builderFeeRate": action.get("builderFeeRate")}
    if kind == "placeOrder":
        return b"".join(block(1, encode(each, ORDER), empty=True) for each in action.get("orders", ()))
    if kind == "cancelOrder":
        return b"".join(block(1, encode(each, CANCEL), empty=True) for each in action.get("cancels", ()))
    if kind == "placeBracketOrder":
        return bracket(action["orders"], ORDER, {})
    if kind == "placeBuilderOrder":
        return encode({**action["order"], **own}, {**ORDER, **builder})
    if kind == "placeBuilderBracketOrder":
        return bracket(action["orders"], {**ORDER, **builder}, own)
    return encode(action, MESSAGES[kind])


def bracket(
    orders: Sequence[Mapping[str, Any]], fields: Mapping[str, tuple[int, Kind]], own: Mapping[str, Any]
) -> bytes:
    """Return a bracket's bytes: the main order, then the take-profit as field 2 and the stop-loss as field 3."""
    numbers = {"TP_FROM_POSITION": 2, "SL_FROM_POSITION": 3}
    option = [each.get("reduceOnly") or each.get("reduceOnlyOption") for each in orders]
    placed = [(numbers.get(str(kind), 1), {**each, **own}) for each, kind in zip(orders, option, strict=True)]
    return b"".join(
        block(number, encode(each, fields), empty=True) for number, each in sorted(placed, key=lambda p: p[0])
    )


@dataclass(frozen=True)
class Domain:
    """What a signature is bound to. Wrong ones are made by `dataclasses.replace`."""

    dex_chain: str = "Testnet"
    chain_id: int = 421614
    source: str = "b"
    version: str = "1"
    contract: str = CONTRACT
    agent: str = "Exchange"
    master: str = "SignTransaction"

    def of(self, name: str) -> dict[str, Any]:
        return {"name": name, "version": self.version, "chainId": self.chain_id, "verifyingContract": self.contract}


def connection_id(content: bytes, vault: str | None, nonce: int, expiry: int) -> bytes:
    """Return the hash of the protobuf bytes, the vault's 20 bytes, nonce and expiry as little-endian uint64."""
    raw = bytes.fromhex(vault[2:]) if vault else b""
    return bytes(keccak(content + raw + nonce.to_bytes(8, "little") + expiry.to_bytes(8, "little")))


def signed_data(
    action: Mapping[str, Any], nonce: int, domain: Domain, expiry: int | None, vault: str | None
) -> tuple[dict[str, Any], dict[str, list[dict[str, str]]], dict[str, Any]]:
    """Return the typed data of a request: domain, types and message. `expiry` None is signed as 0."""
    kind = action["type"]
    if kind in TYPED:
        name, fields = TYPED[kind]
        if kind == "withdraw" and "withdrawSequence" not in action:
            fields = fields.replace("withdrawSequence uint64, ", "")
        own = domain.master
        values = {"dexChain": domain.dex_chain, **action, "nonce": nonce, "expiryAfter": expiry or 0}
    else:
        own, name, fields = domain.agent, "Agent", "source string, connectionId bytes32"
        hashed = connection_id(message(action), vault, nonce, expiry or 0)
        values = {"source": domain.source, "connectionId": hashed}
    pairs = [each.split() for each in fields.split(", ")]
    types = {name: [{"name": each, "type": of} for each, of in pairs]}
    return domain.of(own), types, {each: values[each] for each, _ in pairs}


def envelope(
    key: Key,
    action: Mapping[str, Any],
    nonce: int,
    *,
    domain: Domain = Domain(),
    expiry: int | None = None,
    vault: str | None = None,
) -> dict[str, Any]:
    """Return a signed request. `expiry` None is left out of the request and signed as 0."""
    signable = encode_typed_data(*signed_data(action, nonce, domain, expiry, vault))
    made = Account.sign_message(signable, key.secret)
    optional = {"expiryAfter": expiry, "vaultAddress": vault}
    given = {name: value for name, value in optional.items() if value is not None}
    signature = {"r": f"0x{made.r:064x}", "s": f"0x{made.s:064x}", "v": made.v}
    return {"action": dict(action), "signature": signature, "nonce": nonce, **given}


def signer_of(body: Mapping[str, Any], domain: Domain) -> str:
    """Return the address that a venue of a domain recovers from a request."""
    optional = body.get("expiryAfter"), body.get("vaultAddress")
    signable = encode_typed_data(*signed_data(body["action"], body["nonce"], domain, *optional))
    return str(Account.recover_message(signable, [body["signature"][part] for part in "vrs"]))
