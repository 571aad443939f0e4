"""Every action of the exchange, declared once.

A declaration has the fields and their rules, the signer, the envelope fields it may carry, and what is signed: a
protobuf message (agents) or typed data (masters). Parsing, encoding, signing, client methods, the venue's registry
and the documentation are derived from it. `source` says who publishes it.
Sources: docs/published.md, "Exchange API" and "Signatures".
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
    Check,
    DecimalText,
    EnumName,
    Field,
    Int,
    Items,
    K,
    Object,
    P,
    S,
    Source,
    Text,
    shown,
    snake_case,
)
from .orders.item_rules import (
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
from .orders.order_actions import AnyAction, recall

Signer = Literal["Agent", "Master", "Builder master", "Trader master", "Builder agent"]
Layout = Literal["plain", "bracket", "builder", "builder bracket"]
Member = tuple[str, Literal["string", "address", "uint64"]]
"""Name and type of a member of typed data."""

INTERFACE_VERSION = "1.0.0"
"""Version of the interface that the declarations follow. Source: docs/published.md, "Environments"."""

MAX_VALIDITY_SECONDS = 365 * 24 * 3600

AMOUNT = DecimalText("above zero")
CHAIN_NAME = EnumName({"Mainnet": 0, "Testnet": 0})  # travels as text only, never as a number
CURRENCY = Int(1)


@dataclass(frozen=True, slots=True)
class TypedData:
    """Typed data that a master signs.

    Values come from the action, the envelope (nonce, expiryAfter) or the chain (dexChain).

    Attributes
    ----------
    primary_type : str
        Name of the struct.
    fields : tuple of tuple of (str, str)
        Name and type of each member, in order.
    optional : frozenset of str
        Members that are part of the type only when the action carries them (default: none).
    """

    primary_type: str
    fields: tuple[Member, ...]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its type, signer, fields, envelope fields, and what is signed.

    Attributes
    ----------
    type : str
        Type on the wire, such as "placeOrder".
    summary : str
        Description, for the reference.
    fields : tuple of Field
        Its fields, without `type` (default: none).
    signer : Signer
        Who signs it (default: "Agent").
    message : str
        Name of the protobuf message that agents sign, "" for actions of masters (default: "Msg" and the type).
    typed : TypedData or None
        Typed data that masters sign, `None` for actions of agents (default: none).
    vault_required : bool
        Whether the envelope must have vaultAddress (default: `False`).
    layout : Layout
        How orders are placed in the protobuf message. "bracket" has a field for each role. The builder layouts repeat
        the builder's fields in every order (default: "plain").
    checks : tuple of Check
        Examine the whole action after its fields (default: none).
    advice : mapping of str to str
        Name that is a field of a similar action → message (default: none).
    testnet_only : bool
        Whether Mainnet has no such action (default: `False`).
    shape : Object
        Rule of the whole action.
    method : str
        Name of the client method.
    """

    type: str
    summary: str
    fields: tuple[Field, ...] = ()
    signer: Signer = "Agent"
    message: str = ""
    typed: TypedData | None = None
    expiry: bool = False
    """Whether the envelope may have expiryAfter."""
    vault: bool = False
    """Whether the envelope may have vaultAddress."""
    vault_required: bool = False
    layout: Layout = "plain"
    checks: tuple[Check, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict)
    testnet_only: bool = False
    optional: bool = False
    """True for an action that not every venue takes. The local venue refuses it until its operator opens it."""
    source: Source = S
    """Who publishes its payload. The specification names some actions without it."""
    shape: Object = field(init=False)
    method: str = field(init=False)
    role: Literal["agent", "master"] = field(init=False)
    """Which key of a wallet signs it: an agent's for domain `Exchange`, a master's for `SignTransaction`."""

    def __post_init__(self) -> None:
        kind = Field("type", EnumName({self.type: 0}), required=True)
        if self.typed is None and not self.message:
            object.__setattr__(self, "message", f"Msg{self.type[0].upper()}{self.type[1:]}")
        object.__setattr__(self, "shape", Object((kind, *self.fields), self.message, self.checks, self.advice))
        object.__setattr__(self, "method", snake_case(self.type))
        object.__setattr__(self, "role", "agent" if self.typed is None else "master")

    def check(self, payload: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        """Return the canonical payload.

        Parameters
        ----------
        payload : mapping of str to object
            The action as on the wire, with its `type`.
        prefix : str, optional
            Precedes the path of a field in errors, such as "action" (default: none).

        Raises
        ------
        MalformedRequest
            With the path of the field that breaks a rule.
        """
        try:
            return self.shape.check(payload)
        except Broken as broken:
            raise broken.error(prefix=prefix) from None


_DEX_CHAIN = Field("dexChain", CHAIN_NAME, required=True)
_BUILDER = (
    Field("builder", Address(), 13, required=True, proto="builder_addr", note="builder master address"),
    Field("builderFeeRate", DecimalText(), 14, required=True, note='a ratio: "0.0002" is 2 basis points'),
)
_CHAIN: Member = ("dexChain", "string")
_ENDS: tuple[Member, Member] = (("nonce", "uint64"), ("expiryAfter", "uint64"))
"""The last members of typed data, from the envelope."""

_DECLARED = (
    Action(
        "placeOrder",
        "Place one or more orders.",
        (Field("orders", Items(PLACE_ITEM), 1, required=True),),
        message="MsgPlaceOrders",
        expiry=True,
        vault=True,
    ),
    Action(
        "replaceOrder",
        "Replace an open order by another.",
        (
            *order_fields("reduceOnly", ORDER_TYPE),
            Field("ordId", ORDER_ID, 13, note="clOrdId or ordId is required"),
        ),
        expiry=True,
        vault=True,
        checks=(price_fits_type, names_an_order),
        advice=NAMED_REDUCE,
    ),
    Action(
        "placeBracketOrder",
        "Place a main order together with its take-profit, its stop-loss or both.",
        (Field("orders", Items(BRACKET_ITEM, 2, 3), 1, required=True),),
        expiry=True,
        vault=True,
        checks=(is_bracket,),
        layout="bracket",
    ),
    Action(
        "cancelOrder",
        "Cancel orders by ordId or clOrdId.",
        (Field("cancels", Items(CANCEL_ITEM), 1, required=True, proto="orders"),),
        message="MsgCancelOrders",
        vault=True,
    ),
    Action(
        "cancelAll",
        "Cancel all open orders of a product, or all its waiting triggers.",
        (
            Field("symbolCode", SYMBOL_CODE, 1, required=True),
            Field(
                "conditionalOrder",
                Bool(),
                2,
                proto="is_conditional_order",
                note="true for waiting triggers, default false",
            ),
        ),
        vault=True,
    ),
    Action(
        "setLeverage",
        "Set the leverage of a product.",
        (
            Field("symbolCode", SYMBOL_CODE, 1, required=True),
            Field("leverage", DecimalText(places=2, minimum=1), 2, required=True),
        ),
        vault=True,
    ),
    Action(
        "setMarginMode",
        "Set a product's margin mode.",
        (
            Field("symbolCode", SYMBOL_CODE, 1, required=True),
            Field("marginMode", sendable(MarginMode), 2, required=True),
        ),
        vault=True,
    ),
    Action(
        "assignPosMargin",
        "Add margin to an isolated position, or take it from there (negative).",
        (
            Field("symbolCode", SYMBOL_CODE, 1, required=True),
            Field("assignedPosMargin", DecimalText("not zero"), 2, required=True),
        ),
        vault=True,
    ),
    Action(
        "approveAgent",
        "Authorise an agent wallet. The zero address with validitySeconds 0 revokes the agent of that name.",
        (
            Field("agentAddress", Address(), required=True),
            Field("agentName", Text(maximum=128), required=True),
            Field(
                "validitySeconds", Int(0, MAX_VALIDITY_SECONDS), required=True, note="0 means 7 days, at most 365 days"
            ),
            _DEX_CHAIN,
            Field("referralCode", Text(maximum=128), note="not signed, counts on the first approval only"),
        ),
        signer="Master",
        typed=TypedData(
            "ApproveAgent",
            (_CHAIN, ("agentAddress", "address"), ("agentName", "string"), ("validitySeconds", "uint64"), *_ENDS),
        ),
        expiry=True,
    ),
    Action(
        "withdraw",
        "Withdraw funds to an address.",
        (
            Field("destination", Address(), required=True),
            Field("amount", AMOUNT, required=True, note="USDC"),
            Field(
                "withdrawSequence",
                Int(0),
                note="usually the nonce in whole seconds, missing in older requests",
                source=K,
            ),
        ),
        signer="Master",
        typed=TypedData(
            "Withdraw",
            (_CHAIN, ("destination", "address"), ("amount", "string"), ("withdrawSequence", "uint64"), *_ENDS),
            frozenset({"withdrawSequence"}),
        ),
        expiry=True,
    ),
    Action(
        "faucetClaim",
        "Claim test funds (Testnet and the local venue only).",
        signer="Master",
        typed=TypedData("TestnetFaucetClaim", (_CHAIN,)),
        testnet_only=True,
        source=P,
    ),
    Action(
        "usdSend",
        "Send USDC to another account. Not every venue takes it: a local venue refuses it until its operator opens it.",
        (
            Field("to", Address(), required=True, note="an account of the venue, not a vault"),
            Field("amount", AMOUNT, required=True, note="USDC, at most 6 decimals"),
        ),
        signer="Master",
        typed=TypedData("UsdTransfer", (_CHAIN, ("to", "address"), ("amount", "string"), *_ENDS)),
        expiry=True,
        optional=True,
        source=P,
    ),
    Action(
        "bindReferral",
        "Bind the account to an inviter, once.",
        (Field("referralCode", Text(1, 128), 1, required=True),),
    ),
    Action(
        "registerBuilder",
        "Register a builder.",
        (
            Field("name", Text(1, 128), required=True),
            _DEX_CHAIN,
        ),
        signer="Builder master",
        typed=TypedData("RegisterBuilder", (_CHAIN, ("name", "string"), *_ENDS)),
        expiry=True,
    ),
    Action(
        "approveAgentToBuilder",
        "Let a builder's agent place orders for this account, with a cap on its fee.",
        (
            Field("agentAddress", Address(), required=True, note="the builder's agent"),
            Field("builderAddress", Address(), required=True, note="the builder's master"),
            Field("maxFeeRate", AMOUNT, required=True, note="a ratio"),
            Field("validitySeconds", Int(0), required=True),
            _DEX_CHAIN,
        ),
        signer="Trader master",
        typed=TypedData(
            "ApproveAgentToBuilder",
            (
                _CHAIN,
                ("agentAddress", "address"),
                ("builderAddress", "address"),
                ("maxFeeRate", "string"),
                ("validitySeconds", "uint64"),
                *_ENDS,
            ),
        ),
        expiry=True,
    ),
    Action(
        "revokeAgentToBuilder",
        "End the builder's authorisation.",
        (_DEX_CHAIN,),
        signer="Trader master",
        typed=TypedData("RevokeAgentToBuilder", (_CHAIN, *_ENDS)),
        expiry=True,
    ),
    Action(
        "placeBuilderOrder",
        "Place an order for the trader who authorised this builder agent.",
        (
            Field("order", BUILDER_ITEM, required=True),
            *_BUILDER,
        ),
        signer="Builder agent",
        expiry=True,
        vault=True,
        layout="builder",
    ),
    Action(
        "placeBuilderBracketOrder",
        "Place a bracket for the trader who authorised this builder agent.",
        (
            Field("orders", Items(BUILDER_ITEM, 2, 3), required=True),
            *_BUILDER,
        ),
        signer="Builder agent",
        expiry=True,
        vault=True,
        checks=(is_bracket,),
        layout="builder bracket",
    ),
    Action(
        "vaultDeposit",
        "Deposit into a vault.",
        (
            Field("vault", Address(), 1, required=True),
            Field("amount", AMOUNT, 2, required=True, note="USDC"),
            Field("currencyCode", CURRENCY, 3, required=True, note="1 is USDC"),
        ),
        vault=True,
        source=K,
    ),
    Action(
        "vaultWithdraw",
        "Give back shares of a vault.",
        (
            Field("vault", Address(), 1, required=True),
            Field("share", AMOUNT, 2, required=True, note="vault shares, not USDC"),
            Field("currencyCode", CURRENCY, 3, required=True, note="1 is USDC"),
        ),
        vault=True,
        source=K,
    ),
    Action(
        "vaultCreate",
        "Create a vault. The answer's data has its address.",
        (
            Field("name", Text(1, 128), 1, required=True),
            Field("description", Text(maximum=2000), 2, required=True),
            Field("amount", AMOUNT, 3, required=True, note="first deposit, USDC"),
            Field("currencyCode", CURRENCY, 4, required=True, note="1 is USDC"),
        ),
        vault=True,
        source=P,
    ),
    Action(
        "vaultUpdateOwner",
        "Hand the vault of vaultAddress to another owner.",
        (Field("owner", Address(), 1, required=True),),
        vault=True,
        vault_required=True,
        source=P,
    ),
    Action(
        "vaultClose",
        "Close the vault of vaultAddress.",
        vault=True,
        vault_required=True,
        source=P,
    ),
    Action(
        "vaultPreWithdraw",
        "Set funds of the vault of vaultAddress aside for withdrawals.",
        (
            Field("amount", AMOUNT, 1, required=True, note="USDC"),
            Field("currencyCode", CURRENCY, 2, required=True, note="1 is USDC"),
        ),
        vault=True,
        vault_required=True,
        source=P,
    ),
    Action(
        "vaultCreateSubVault",
        "Create a sub-vault of the vault of vaultAddress.",
        vault=True,
        vault_required=True,
        source=P,
    ),
    Action(
        "vaultRebalance",
        "Move funds between a vault and its sub-vaults.",
        (
            Field("from", Address(), 1, required=True),
            Field("to", Address(), 2, required=True),
            Field("amount", AMOUNT, 3, required=True, note="USDC"),
            Field("currencyCode", CURRENCY, 4, required=True, note="1 is USDC"),
        ),
        vault=True,
        source=P,
    ),
)
ACTIONS: dict[str, Action] = {action.type: action for action in _DECLARED}
"""Action type → its declaration, in the order of the interface."""


def declaration(payload: object, prefix: str = "") -> Action:
    """Return the declaration of a payload's type.

    Parameters
    ----------
    payload : object
        The action as read from JSON, with its `type`.
    prefix : str, optional
        Precedes the path of a field in errors, such as "action" (default: none).

    Raises
    ------
    MalformedRequest
        Without a type.
    UnknownAction
        For a type that is not declared (wire code 40201).
    """
    usual = payload.get("type") if type(payload) is dict else None
    # The usual case first: the venue reads every request by this.
    if type(usual) is str and usual in ACTIONS:
        return ACTIONS[usual]
    at, known = (f"{prefix}.type" if prefix else "type"), tuple(ACTIONS)
    if not isinstance(payload, Mapping):
        reason = f"must be an object with a type, got {shown(payload)}"
        raise MalformedRequest(f"{prefix or 'action'}: {reason}", field=prefix or "action", rule="an object")
    kind = payload.get("type")
    if type(kind) is not str:
        reason = "is missing" if "type" not in payload else f"must be text, got {shown(kind)}"
        said = f"{at}: {reason}. Use one of {', '.join(known)}"
        raise MalformedRequest(said, field=at, rule="required", value=kind, nearest=known)
    if kind not in ACTIONS:
        advice = _ADVICE.get(kind, f"Use one of {', '.join(known)}")
        said = f"{at}: {shown(kind)} is not a supported action. {advice}"
        raise UnknownAction(said, field=at, rule="supported action", value=kind, nearest=known)
    return ACTIONS[kind]


_ADVICE = {"revokeAgent": "Revoke with approveAgent, the zero address and validitySeconds 0"}


def parse(payload: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the canonical form of an action: checked, JSON-ready, aliases resolved, ids of cancels as numbers.

    Decimal text stays as written, because it is signed.

    Parameters
    ----------
    payload : mapping of str to object
        The action as on the wire, with its `type`.
    prefix : str, optional
        Precedes the path of a field in errors, such as "action" (default: none).

    Raises
    ------
    MalformedRequest
        With the path of the field that breaks a rule.
    UnknownAction
        For a type that is not declared.

    Examples
    --------
    >>> parse({"type": "cancelOrder", "cancels": [{"symbolCode": "1", "ordId": "12"}]})
    {'type': 'cancelOrder', 'cancels': [{'symbolCode': 1, 'ordId': 12}]}
    """
    return declaration(payload, prefix).check(payload, prefix)


def decode(payload: Mapping[str, Any], prefix: str = "") -> AnyAction:
    """Return an action on the wire as a typed action, after every rule of its fields.

    Parameters
    ----------
    payload : mapping of str to object
        The action as on the wire, with its `type`.
    prefix : str, optional
        Precedes the path of a field in errors, such as "action" (default: none).

    Raises
    ------
    MalformedRequest
        As `parse`.
    UnknownAction
        As `parse`.
    """
    return recall(parse(payload, prefix))
