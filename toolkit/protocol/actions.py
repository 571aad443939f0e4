"""Every action of the exchange, declared once.

A declaration has the fields and their rules, the signer, the envelope fields it may carry, and what is signed: a
protobuf message (agents) or typed data (masters). Parsing, encoding, signing, client methods, the venue's registry
and the documentation are derived from it. Sources: docs/published.md, "Exchange API" and "Signatures".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import MalformedRequest, UnknownAction
from .enums import MarginMode
from .fields import (
    Address,
    Bool,
    Broken,
    DecimalText,
    EnumName,
    Field,
    Int,
    Items,
    Object,
    Rule,
    Text,
    shown,
    snake_case,
)
from .order_items import (
    BRACKET_ITEM,
    BUILDER_ITEM,
    CANCEL_ITEM,
    NAMED_REDUCE,
    ORDER_ID,
    ORDER_TYPE,
    PLACE_ITEM,
    SYMBOL_CODE,
    is_bracket,
    names_an_order,
    order_fields,
    price_fits_type,
    sendable,
)

Signer = Literal["Agent", "Master", "Builder master", "Trader master", "Builder agent"]
Layout = Literal["plain", "bracket", "builder", "builder bracket"]

INTERFACE_VERSION = "1.0.0"
"""Version of the interface that the declarations follow. Source: docs/published.md, "Environments"."""

MAX_VALIDITY_SECONDS = 365 * 24 * 3600

AMOUNT = DecimalText("above zero")
SECONDS = Int(0)
CHAIN_NAME = EnumName({"Mainnet": 0, "Testnet": 0})  # travels as text only, never as a number
CURRENCY = Int(1)


@dataclass(frozen=True, slots=True)
class TypedData:
    """Typed data that a master signs: primary type and ordered (name, type) pairs.

    Values come from the action, the envelope (nonce, expiryAfter) or the chain (dexChain). A name in `optional`
    is part of the type only when the action carries it.
    """

    primary_type: str
    fields: tuple[tuple[str, str], ...]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its type, signer, fields, envelope fields, and what is signed.

    `layout` says how orders are placed in the protobuf message: "bracket" has a field for each role, and the builder
    layouts repeat the builder's fields in every order. `method` is the name of the client method.
    """

    type: str
    signer: Signer
    summary: str
    shape: Object
    expiry: bool = False
    vault: bool = False
    vault_required: bool = False
    layout: Layout = "plain"
    typed: TypedData | None = None
    testnet_only: bool = False
    fields: tuple[Field, ...] = field(init=False)
    message: str = field(init=False)
    method: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", self.shape.fields[1:])  # without `type`
        object.__setattr__(self, "message", self.shape.message)
        object.__setattr__(self, "method", snake_case(self.type))

    @property
    def signed_by_agent(self) -> bool:
        """True for domain `Exchange` (agents), False for `SignTransaction` (masters)."""
        return self.typed is None

    def check(self, payload: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        """Return the canonical payload, or raise MalformedRequest with the field's path under `prefix`."""
        try:
            return self.shape.check(payload)
        except Broken as broken:
            raise broken.error(prefix=prefix) from None


ACTIONS: dict[str, Action] = {}
"""Action type → its declaration, in the order of the interface."""


def _declare(
    name: str,
    signer: Signer,
    summary: str,
    *fields: Field,
    message: str = "",
    checks: tuple[Any, ...] = (),
    advice: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    shape = Object((Field("type", EnumName({name: 0}), required=True), *fields), message, checks, advice or {})
    ACTIONS[name] = Action(name, signer, summary, shape, **more)


_DEX_CHAIN = Field("dexChain", CHAIN_NAME, required=True)
_BUILDER = (
    Field("builder", Address(), 13, required=True, proto="builder_addr", note="builder master address"),
    Field("builderFeeRate", DecimalText(), 14, required=True, note='a ratio: "0.0002" is 2 basis points'),
)
_NONCE_EXPIRY = (("nonce", "uint64"), ("expiryAfter", "uint64"))

_declare(
    "placeOrder",
    "Agent",
    "Place one or more orders.",
    Field("orders", Items(PLACE_ITEM), 1, required=True),
    message="MsgPlaceOrders",
    expiry=True,
    vault=True,
)
_declare(
    "replaceOrder",
    "Agent",
    "Replace an open order by another.",
    *order_fields("reduceOnly", ORDER_TYPE),
    Field("ordId", ORDER_ID, 13, note="clOrdId or ordId is required"),
    message="MsgReplaceOrder",
    checks=(price_fits_type, names_an_order),
    advice=NAMED_REDUCE,
    expiry=True,
    vault=True,
)
_declare(
    "placeBracketOrder",
    "Agent",
    "Place a main order together with its take-profit, its stop-loss or both.",
    Field("orders", Items(BRACKET_ITEM, 2, 3), 1, required=True),
    message="MsgPlaceBracketOrder",
    checks=(is_bracket,),
    layout="bracket",
    expiry=True,
    vault=True,
)
_declare(
    "cancelOrder",
    "Agent",
    "Cancel orders by ordId or clOrdId.",
    Field("cancels", Items(CANCEL_ITEM), 1, required=True, proto="orders"),
    message="MsgCancelOrders",
    vault=True,
)
_declare(
    "cancelAll",
    "Agent",
    "Cancel all open orders of a product, or all its waiting triggers.",
    Field("symbolCode", SYMBOL_CODE, 1, required=True),
    Field("conditionalOrder", Bool(), 2, proto="is_conditional_order", note="true: waiting triggers; default false"),
    message="MsgCancelAll",
    vault=True,
)
_declare(
    "setLeverage",
    "Agent",
    "Set the leverage of a product.",
    Field("symbolCode", SYMBOL_CODE, 1, required=True),
    Field("leverage", DecimalText(places=2, minimum=1), 2, required=True),
    message="MsgSetLeverage",
    vault=True,
)
_declare(
    "setMarginMode",
    "Agent",
    "Set a product's margin mode.",
    Field("symbolCode", SYMBOL_CODE, 1, required=True),
    Field("marginMode", sendable(MarginMode), 2, required=True),
    message="MsgSetMarginMode",
    vault=True,
)
_declare(
    "assignPosMargin",
    "Agent",
    "Add margin to an isolated position, or take it from there (negative).",
    Field("symbolCode", SYMBOL_CODE, 1, required=True),
    Field("assignedPosMargin", DecimalText("not zero"), 2, required=True),
    message="MsgAssignPosMargin",
    vault=True,
)
_declare(
    "approveAgent",
    "Master",
    "Authorise an agent wallet; with the zero address and validitySeconds 0 revoke the one of that name.",
    Field("agentAddress", Address(), required=True),
    Field("agentName", Text(maximum=128), required=True),
    Field("validitySeconds", Int(0, MAX_VALIDITY_SECONDS), required=True, note="0 means 7 days; at most 365 days"),
    _DEX_CHAIN,
    Field("referralCode", Text(maximum=128), note="not signed; counts on the first approval only"),
    typed=TypedData(
        "ApproveAgent",
        (
            ("dexChain", "string"),
            ("agentAddress", "address"),
            ("agentName", "string"),
            ("validitySeconds", "uint64"),
            *_NONCE_EXPIRY,
        ),
    ),
    expiry=True,
)
_declare(
    "withdraw",
    "Master",
    "Withdraw funds to an address.",
    Field("destination", Address(), required=True),
    Field("amount", AMOUNT, required=True, note="USDC"),
    Field("withdrawSequence", Int(0), note="usually the nonce in whole seconds; older requests have none"),
    typed=TypedData(
        "Withdraw",
        (
            ("dexChain", "string"),
            ("destination", "address"),
            ("amount", "string"),
            ("withdrawSequence", "uint64"),
            *_NONCE_EXPIRY,
        ),
        frozenset({"withdrawSequence"}),
    ),
    expiry=True,
)
_declare(
    "faucetClaim",
    "Master",
    "Claim test funds (Testnet and the local venue only).",
    typed=TypedData("TestnetFaucetClaim", (("dexChain", "string"),)),
    testnet_only=True,
)
_declare(
    "bindReferral",
    "Agent",
    "Bind the account to an inviter, once.",
    Field("referralCode", Text(1, 128), 1, required=True),
    message="MsgBindReferral",
)
_declare(
    "registerBuilder",
    "Builder master",
    "Register a builder.",
    Field("name", Text(1, 128), required=True),
    _DEX_CHAIN,
    typed=TypedData("RegisterBuilder", (("dexChain", "string"), ("name", "string"), *_NONCE_EXPIRY)),
    expiry=True,
)
_declare(
    "approveAgentToBuilder",
    "Trader master",
    "Let a builder's agent place orders for this account, with a cap on its fee.",
    Field("agentAddress", Address(), required=True, note="the builder's agent"),
    Field("builderAddress", Address(), required=True, note="the builder's master"),
    Field("maxFeeRate", AMOUNT, required=True, note="a ratio"),
    Field("validitySeconds", SECONDS, required=True),
    _DEX_CHAIN,
    typed=TypedData(
        "ApproveAgentToBuilder",
        (
            ("dexChain", "string"),
            ("agentAddress", "address"),
            ("builderAddress", "address"),
            ("maxFeeRate", "string"),
            ("validitySeconds", "uint64"),
            *_NONCE_EXPIRY,
        ),
    ),
    expiry=True,
)
_declare(
    "revokeAgentToBuilder",
    "Trader master",
    "End the builder's authorisation.",
    _DEX_CHAIN,
    typed=TypedData("RevokeAgentToBuilder", (("dexChain", "string"), *_NONCE_EXPIRY)),
    expiry=True,
)
_declare(
    "placeBuilderOrder",
    "Builder agent",
    "Place an order for the trader who authorised this builder agent.",
    Field("order", BUILDER_ITEM, required=True),
    *_BUILDER,
    message="MsgPlaceBuilderOrder",
    layout="builder",
    expiry=True,
    vault=True,
)
_declare(
    "placeBuilderBracketOrder",
    "Builder agent",
    "Place a bracket for the trader who authorised this builder agent.",
    Field("orders", Items(BUILDER_ITEM, 2, 3), required=True),
    *_BUILDER,
    message="MsgPlaceBuilderBracketOrder",
    checks=(is_bracket,),
    layout="builder bracket",
    expiry=True,
    vault=True,
)
_declare(
    "vaultDeposit",
    "Agent",
    "Deposit into a vault.",
    Field("vault", Address(), 1, required=True),
    Field("amount", AMOUNT, 2, required=True, note="USDC"),
    Field("currencyCode", CURRENCY, 3, required=True, note="1 is USDC"),
    message="MsgVaultDeposit",
    vault=True,
)
_declare(
    "vaultWithdraw",
    "Agent",
    "Give back shares of a vault.",
    Field("vault", Address(), 1, required=True),
    Field("share", AMOUNT, 2, required=True, note="vault shares, not USDC"),
    Field("currencyCode", CURRENCY, 3, required=True, note="1 is USDC"),
    message="MsgVaultWithdraw",
    vault=True,
)
_declare(
    "vaultCreate",
    "Agent",
    "Create a vault; the answer's data carries its address.",
    Field("name", Text(1, 128), 1, required=True),
    Field("description", Text(maximum=2000), 2, required=True),
    Field("amount", AMOUNT, 3, required=True, note="first deposit, USDC"),
    Field("currencyCode", CURRENCY, 4, required=True, note="1 is USDC"),
    message="MsgVaultCreate",
    vault=True,
)
_declare(
    "vaultUpdateOwner",
    "Agent",
    "Hand the vault of vaultAddress to another owner.",
    Field("owner", Address(), 1, required=True),
    message="MsgVaultUpdateOwner",
    vault=True,
    vault_required=True,
)
_declare(
    "vaultClose",
    "Agent",
    "Close the vault of vaultAddress.",
    message="MsgVaultClose",
    vault=True,
    vault_required=True,
)
_declare(
    "vaultPreWithdraw",
    "Agent",
    "Set funds of the vault of vaultAddress aside for withdrawals.",
    Field("amount", AMOUNT, 1, required=True, note="USDC"),
    Field("currencyCode", CURRENCY, 2, required=True, note="1 is USDC"),
    message="MsgVaultPreWithdraw",
    vault=True,
    vault_required=True,
)
_declare(
    "vaultCreateSubVault",
    "Agent",
    "Create a sub-vault of the vault of vaultAddress.",
    message="MsgVaultCreateSubVault",
    vault=True,
    vault_required=True,
)
_declare(
    "vaultRebalance",
    "Agent",
    "Move funds between a vault and its sub-vaults.",
    Field("from", Address(), 1, required=True),
    Field("to", Address(), 2, required=True),
    Field("amount", AMOUNT, 3, required=True, note="USDC"),
    Field("currencyCode", CURRENCY, 4, required=True, note="1 is USDC"),
    message="MsgVaultRebalance",
    vault=True,
)


def declaration(payload: Any, prefix: str = "") -> Action:
    """Return the declaration of a payload's type.

    Raises MalformedRequest without a type, and UnknownAction (wire code 40201) for a type that is not declared.
    """
    usual = payload.get("type") if type(payload) is dict else None
    if type(usual) is str and usual in ACTIONS:
        return ACTIONS[usual]
    at = f"{prefix}.type" if prefix else "type"
    if not isinstance(payload, Mapping):
        reason = f"must be an object with a type, got {shown(payload)}"
        raise MalformedRequest(f"{prefix or 'action'}: {reason}", field=prefix or "action", rule="an object")
    kind = payload.get("type")
    if type(kind) is not str:
        reason = "is missing" if "type" not in payload else f"must be text, got {shown(kind)}"
        raise MalformedRequest(
            f"{at}: {reason}; use one of {', '.join(ACTIONS)}",
            field=at,
            rule="required",
            value=kind,
            nearest=(*ACTIONS,),
        )
    found = ACTIONS.get(kind)
    if found is None:
        advice = _ADVICE.get(kind, f"use one of {', '.join(ACTIONS)}")
        raise UnknownAction(
            f"{at}: {shown(kind)} is not a supported action; {advice}",
            field=at,
            rule="supported action",
            value=kind,
            nearest=(*ACTIONS,),
        )
    return found


_ADVICE = {"revokeAgent": "revoke with approveAgent, the zero address and validitySeconds 0"}


def parse(payload: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the canonical form of an action: checked, JSON-ready, aliases resolved, ids of cancels as numbers.

    Decimal text stays as written, because it is signed. Raises MalformedRequest (with the field's path), UnknownAction.

    >>> parse({"type": "cancelOrder", "cancels": [{"symbolCode": "1", "ordId": "12"}]})
    {'type': 'cancelOrder', 'cancels': [{'symbolCode': 1, 'ordId': 12}]}
    """
    return declaration(payload, prefix).check(payload, prefix)


def _rule_text(rule: Rule) -> str:
    return rule.accepts.replace("|", "\\|")


def reference_table() -> str:
    """Return all actions as a Markdown page: signer, envelope fields, what is signed, fields and rules."""
    lines = [f"Version {INTERFACE_VERSION} of the interface.", ""]
    for action in ACTIONS.values():
        signed = action.message if action.typed is None else f"typed data {action.typed.primary_type}"
        carried = [name for name, on in (("expiryAfter", action.expiry), ("vaultAddress", action.vault)) if on]
        needed = " (vaultAddress required)" if action.vault_required else ""
        lines += [
            f"### {action.type}",
            "",
            action.summary,
            "",
            f"Signed by: {action.signer} ({signed}). Envelope: {', '.join(carried) or 'no optional fields'}{needed}.",
            "",
        ]
        rows = _field_rows(action.fields)
        if rows:
            lines += ["| Field | Required | Rule | Note |", "|---|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _field_rows(fields: tuple[Field, ...], parent: str = "") -> list[str]:
    rows = []
    for entry in fields:
        name = parent + entry.name
        note = entry.note + (f" Alias: {entry.alias}." if entry.alias else "")
        required = "yes" if entry.required else "no"
        rows.append(f"| {name} | {required} | {_rule_text(entry.rule)} | {note} |")
        if isinstance(entry.rule, Items):
            rows += _field_rows(entry.rule.item.fields, f"{name}[].")
        elif isinstance(entry.rule, Object):
            rows += _field_rows(entry.rule.fields, f"{name}.")
    return rows


__all__ = [
    "ACTIONS",
    "INTERFACE_VERSION",
    "Action",
    "TypedData",
    "declaration",
    "parse",
    "reference_table",
]
