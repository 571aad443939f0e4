"""Every action of the exchange, declared once.

A declaration states the fields and their rules, who signs, which envelope fields it may carry, and what is signed:
a protobuf message (agents) or typed data (masters). Parsing, encoding, signing, client methods, the venue's
registry and the documentation are made from it. Sources: specification, "Endpoints" and "Request envelope";
venue-facts, "Protobuf", "Master-signed typed data" and "Request details".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

from ..errors import MalformedRequest, UnknownAction
from .enums import MarginMode, OrderSide, OrderType, ReduceOnly, TimeInForce, TriggerType
from .fields import (
    INT64_MAX,
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
)

Signer = Literal["Agent", "Master", "Builder master", "Trader master", "Builder agent"]
Layout = Literal["plain", "bracket", "builder", "builder bracket"]

MAX_VALIDITY_SECONDS = 365 * 24 * 3600

_DISPLAY_ONLY = "is display-only and must not be sent"
_STOPS = (
    "is for builder orders; here a TP/SL is LIMIT or MARKET with triggerPx and TP_FROM_POSITION or SL_FROM_POSITION"
)
_NEVER_SENT = dict.fromkeys(("NONE", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "ADL", "LIQUIDATION"), _DISPLAY_ONLY)
_STOP_TYPES = ("STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET")


def _sent(enum: type[IntEnum], *names: str, refused: Mapping[str, str] | None = None) -> EnumName:
    """Return the rule of an enum field: the given names may be sent, by default all but NONE."""
    numbers = {member.name: member.value for member in enum if member.value}
    return EnumName({name: numbers[name] for name in names or numbers}, {"NONE": _DISPLAY_ONLY} | dict(refused or {}))


ORDER_TYPE = _sent(OrderType, "LIMIT", "MARKET", refused=_NEVER_SENT | dict.fromkeys(_STOP_TYPES, _STOPS))
BUILDER_ORDER_TYPE = _sent(OrderType, "LIMIT", "MARKET", *_STOP_TYPES, refused=_NEVER_SENT)

SYMBOL_CODE = Int(1)
ORDER_ID = Int(0)
CLIENT_ID = Int()
AMOUNT = DecimalText("above zero")
SECONDS = Int(0)
CHAIN_NAME = EnumName({"Mainnet": 0, "Testnet": 0})  # travels as text only, never as a number
CURRENCY = Int(1)


# --- checks of whole objects ------------------------------------------------------------------------------------------


def _price_fits_type(item: dict[str, Any]) -> None:
    """Refuse a limit order without a price, and a market order with one."""
    price, kind = item["ordPx"], item["ordType"]
    if kind.endswith("MARKET"):
        if price != "0":
            raise Broken(
                'a market order has ordPx "0"',
                f'must be "0" for a {kind} order, got {shown(price)}',
                price,
                ("0",),
                ("ordPx",),
            )
    elif not price.strip("0."):
        raise Broken(
            "a limit order has ordPx above 0",
            f"must be decimal text above 0 for a {kind} order, got {shown(price)}",
            price,
            (),
            ("ordPx",),
        )


def _names_an_order(item: dict[str, Any]) -> None:
    """Refuse an item with neither id; 0 is how the wire says that there is none."""
    if not (item.get("ordId") or item.get("clOrdId")):
        raise Broken("clOrdId or ordId", "clOrdId or ordId is missing; give one of them", None, (), ("ordId",))


def _is_bracket(action: dict[str, Any]) -> None:
    """Refuse a bracket that is not one main order with a take-profit, a stop-loss or both."""
    seen: set[str] = set()
    for index, item in enumerate(action["orders"]):
        kind = item.get("reduceOnly")
        closing = kind in ("TP_FROM_POSITION", "SL_FROM_POSITION")
        path = ("orders", f"[{index}]", "reduceOnly")
        if index == 0 and closing:
            raise Broken(
                "the first order is the main order",
                f"must not be {kind}: the first order of a bracket is the main order",
                kind,
                ("REDUCE_ONLY",),
                path,
            )
        if index and not closing:
            raise Broken(
                "the others are TP or SL",
                "must be TP_FROM_POSITION or SL_FROM_POSITION in the orders after the first, "
                f"got {shown(kind) if kind else 'nothing'}",
                kind,
                ("TP_FROM_POSITION", "SL_FROM_POSITION"),
                path,
            )
        if closing and kind in seen:
            raise Broken("one TP and one SL", f"{kind} stands twice; a bracket has one of each", kind, (), path)
        seen.add(kind or "")


# --- order items ------------------------------------------------------------------------------------------------------


def _order_fields(reduce_name: str, types: EnumName, alias: str = "") -> tuple[Field, ...]:
    """Return the fields of an order item; only the name of the reduce-only field and the types differ."""
    return (
        Field("symbolCode", SYMBOL_CODE, 2, required=True, note="numeric product code"),
        Field("ordPx", DecimalText(), 3, required=True, note='limit price; "0" for a market order'),
        Field("ordQty", DecimalText(), 4, required=True, note='quantity; "0" in a TP/SL means the whole position'),
        Field("ordType", types, 6, required=True),
        Field("ordSide", _sent(OrderSide), 7, required=True),
        Field("timeInForce", _sent(TimeInForce), 8, required=True),
        Field("clOrdId", CLIENT_ID, 1, note="client order id"),
        Field("parentOrdId", ORDER_ID, 10),
        Field(reduce_name, _sent(ReduceOnly), 9, proto="reduce_only_option", alias=alias),
        Field("triggerPx", DecimalText(), 5),
        Field("tpslTriggerType", _sent(TriggerType), 11),
        Field("slippagePct", DecimalText(), 12, note='a ratio: "0.01" is 1 %'),
    )


_SAY_OPTION = {"reduceOnly": "is named reduceOnlyOption in placeOrder"}
_SAY_REDUCE = {"reduceOnlyOption": "is named reduceOnly in this action; reduceOnlyOption is for placeOrder"}

PLACE_ITEM = Object(_order_fields("reduceOnlyOption", ORDER_TYPE), "MsgPlaceOrder", (_price_fits_type,), _SAY_OPTION)
BRACKET_ITEM = Object(_order_fields("reduceOnly", ORDER_TYPE), "MsgPlaceOrder", (_price_fits_type,), _SAY_REDUCE)
BUILDER_ITEM = Object(
    _order_fields("reduceOnly", BUILDER_ORDER_TYPE, alias="reduceOnlyOption"),
    "MsgPlaceBuilderOrder",
    (_price_fits_type,),
)
CANCEL_ITEM = Object(
    (
        Field("symbolCode", Int(1, or_text=True), 1, required=True),
        Field("clOrdId", Int(or_text=True), 2, note="clOrdId or ordId is required"),
        Field("ordId", Int(0, or_text=True), 3, note="clOrdId or ordId is required"),
    ),
    "MsgCancelOrder",
    (_names_an_order,),
)


# --- declarations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TypedData:
    """Typed data a master signs: primary type and ordered (name, type) pairs.

    Values come from the action, the envelope (nonce, expiryAfter) or the chain (dexChain). A name in `optional`
    is part of the type only when the action carries it.
    """

    primary_type: str
    fields: tuple[tuple[str, str], ...]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its type, signer, fields, envelope fields, and what is signed."""

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
        object.__setattr__(self, "fields", self.shape.fields[1:])
        object.__setattr__(self, "message", self.shape.message)
        object.__setattr__(self, "method", re.sub(r"([A-Z])", lambda found: "_" + found.group(1).lower(), self.type))

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
"""Action type → its declaration, in the order of the specification."""


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
    *_order_fields("reduceOnly", ORDER_TYPE),
    Field("ordId", ORDER_ID, 13, note="clOrdId or ordId is required"),
    message="MsgReplaceOrder",
    checks=(_price_fits_type, _names_an_order),
    advice=_SAY_REDUCE,
    expiry=True,
    vault=True,
)
_declare(
    "placeBracketOrder",
    "Agent",
    "Place a main order together with its take-profit, its stop-loss or both.",
    Field("orders", Items(BRACKET_ITEM, 2, 3), 1, required=True),
    message="MsgPlaceBracketOrder",
    checks=(_is_bracket,),
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
    Field("marginMode", _sent(MarginMode), 2, required=True),
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
    checks=(_is_bracket,),
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


# --- use --------------------------------------------------------------------------------------------------------------


def declaration(payload: Any, prefix: str = "") -> Action:
    """Return the declaration of a payload's type.

    Raises MalformedRequest when there is no type, UnknownAction (wire code 40201) when nobody knows it.
    """
    usual = payload.get("type") if type(payload) is dict else None
    if type(usual) is str and usual in ACTIONS:
        return ACTIONS[usual]
    at = f"{prefix}.type" if prefix else "type"
    if not isinstance(payload, Mapping):
        said = f"must be an object with a type, got {shown(payload)}"
        raise MalformedRequest(f"{prefix or 'action'}: {said}", field=prefix or "action", rule="an object")
    kind = payload.get("type")
    if type(kind) is not str:
        said = "is missing" if "type" not in payload else f"must be text, got {shown(kind)}"
        raise MalformedRequest(
            f"{at}: {said}; use one of {', '.join(ACTIONS)}", field=at, rule="required", value=kind, nearest=(*ACTIONS,)
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

    Decimal text stays as written. Raises MalformedRequest with the field's path, or UnknownAction.

    >>> parse({"type": "cancelOrder", "cancels": [{"symbolCode": "1", "ordId": "12"}]})
    {'type': 'cancelOrder', 'cancels': [{'symbolCode': 1, 'ordId': 12}]}
    """
    return declaration(payload, prefix).check(payload, prefix)


def _rule_text(rule: Rule) -> str:
    return rule.accepts.replace("|", "\\|")


def reference_table() -> str:
    """Return all actions as a Markdown page: signer, envelope fields, what is signed, fields and rules."""
    lines = []
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
    "INT64_MAX",
    "Action",
    "TypedData",
    "declaration",
    "parse",
    "reference_table",
]
