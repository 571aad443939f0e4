"""Names that orders are written with: types of actions, values of fields, and the fields in both vocabularies.

Source: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

Side = Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"]
TimeInForce = Literal["GTC", "IOC", "FOK", "POST_ONLY"]
ReduceOnly = Literal["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"]
TriggerBy = Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"]
ConditionalType = Literal["STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET"]
Kind = Literal["LIMIT", "MARKET"] | ConditionalType

Words = Literal["call", "wire"]
"""Whose names of fields an error uses: those of the arguments of `session.buy`, or those of the wire."""


class ActionType(StrEnum):
    """Types of the actions that code outside `protocol` treats differently from others."""

    PLACE = "placeOrder"
    REPLACE = "replaceOrder"
    BRACKET = "placeBracketOrder"
    BUILDER = "placeBuilderOrder"
    BUILDER_BRACKET = "placeBuilderBracketOrder"
    CANCEL = "cancelOrder"
    CANCEL_ALL = "cancelAll"
    SET_LEVERAGE = "setLeverage"
    SET_MARGIN_MODE = "setMarginMode"
    WITHDRAW = "withdraw"
    CLAIM = "faucetClaim"
    APPROVE_AGENT = "approveAgent"
    REGISTER_BUILDER = "registerBuilder"
    APPROVE_BUILDER = "approveAgentToBuilder"
    REVOKE_BUILDER = "revokeAgentToBuilder"
    BIND_REFERRAL = "bindReferral"
    SEND = "usdSend"
    VAULT_CREATE = "vaultCreate"
    VAULT_DEPOSIT = "vaultDeposit"
    VAULT_OWNER = "vaultUpdateOwner"
    VAULT_PART = "vaultCreateSubVault"
    VAULT_REBALANCE = "vaultRebalance"

    # As other text, as in `OrderField`.
    __repr__ = str.__repr__


ORDER_ACTIONS: frozenset[str] = frozenset(
    (ActionType.PLACE, ActionType.BRACKET, ActionType.REPLACE, ActionType.BUILDER, ActionType.BUILDER_BRACKET)
)
"""Types of the actions that carry orders."""
BRACKET_ACTIONS: frozenset[str] = frozenset((ActionType.BRACKET, ActionType.BUILDER_BRACKET))
"""Types of those that carry one main order with its exits."""
BUILDER_ACTIONS: frozenset[str] = frozenset((ActionType.BUILDER, ActionType.BUILDER_BRACKET))
"""Types of those that a builder's agent signs."""


class ActionField(StrEnum):
    """Fields of actions and requests that code outside `protocol` fills in or reads."""

    CHAIN = "dexChain"
    AGENT = "agentAddress"
    MARGIN_MODE = "marginMode"
    EXPIRY = "expiryAfter"
    VAULT = "vaultAddress"


PLACED_REDUCE_ONLY = "reduceOnlyOption"
"""Name of `OrderField.REDUCE_ONLY` in placeOrder, and an alias of it in the orders of builders."""


class OrderField(StrEnum):
    """A field of an order. The value is its name on the wire, `argument` its name in the calls that place orders."""

    argument: str

    PRODUCT = "symbolCode", "symbol"
    PRICE = "ordPx", "price"
    QUANTITY = "ordQty", "quantity"
    TYPE = "ordType", "type"
    SIDE = "ordSide", "side"
    TIF = "timeInForce", "tif"
    REDUCE_ONLY = "reduceOnly", "reduce_only"
    PARENT = "parentOrdId", "parent_ord_id"
    TRIGGER_PRICE = "triggerPx", "trigger_price"
    TRIGGER_BY = "tpslTriggerType", "trigger_by"
    SLIPPAGE = "slippagePct", "slippage"
    CLIENT_ID = "clOrdId", "cl_ord_id"
    ORDER_ID = "ordId", "order_id"

    def __new__(cls, wire: str, argument: str) -> OrderField:
        member = str.__new__(cls, wire)
        member._value_ = wire
        member.argument = argument
        return member

    # As other text: a failure shows 'ordPx', and not how the toolkit declares it.
    __repr__ = str.__repr__

    def named(self, words: Words) -> str:
        """Return the field's name in the words of the call or of the wire.

        Parameters
        ----------
        words : Words
            Whose names are used.
        """
        return self.argument if words == "call" else self.value
