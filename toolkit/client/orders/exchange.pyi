# Written by `python -m tests.stubs` from toolkit.client.orders.exchange; change declarations or flows instead.
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from toolkit.client.io.flow import AsyncDriver, Asynchronous, Driver, Synchronous
from toolkit.client.orders.delivery import Delivery
from toolkit.client.orders.receipts import AsyncReceipt, Receipt, Unset
from toolkit.client.reads.catalogue import Catalogue
from toolkit.environments import Environment
from toolkit.orders import Bracket, Order

class Exchange(Synchronous):
    """The interface's actions, one method each; see `help(session.exchange.place_order)`."""
    def __init__(
        self, driver: Driver | AsyncDriver, environment: Environment, delivery: Delivery, catalogue: Catalogue
    ) -> None: ...
    def send(
        self, payload: Mapping[str, Any], *, expiry_after: int | Unset | None = ..., vault_address: str | None = None
    ) -> Receipt:
        """Sign and send an action given in wire names, as it is published. Returns the Receipt.

        `expiry_after` is Unix ms; by default a minute from now where the action carries it, None for no expiry.
        Raises as the methods of the actions do.
        """
    def revoke_agent(self, agent_name: str = "toolkit", *, expiry_after: int | Unset | None = ...) -> Receipt:
        """Revoke the agent approved under this name: approveAgent with the zero address and validitySeconds 0.

        Signed by: Master. Raises as `approve_agent` does. Source: docs/published.md, "Signatures".
        """
    def place_order(
        self,
        orders: Order | Mapping[str, Any] | Sequence[Order | Mapping[str, Any]],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Place one or more orders.

        orders: a list of at least 1 objects
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnlyOption: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Agent (MsgPlaceOrders). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def replace_order(
        self,
        symbol: str | int,
        ord_px: str | int | Decimal,
        ord_qty: str | int | Decimal,
        ord_type: Literal["LIMIT", "MARKET"],
        ord_side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
        time_in_force: Literal["GTC", "IOC", "FOK", "POST_ONLY"],
        cl_ord_id: int | None = None,
        parent_ord_id: int | None = None,
        reduce_only: Literal["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"] | None = None,
        trigger_px: str | int | Decimal | None = None,
        tpsl_trigger_type: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        slippage_pct: str | int | Decimal | None = None,
        ord_id: int | None = None,
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Replace an open order by another.

        symbol: a product's symbol or code; numeric product code
        ord_px: decimal text, 0 or more; limit price; "0" for a market order
        ord_qty: decimal text, 0 or more; quantity; "0" in a TP/SL means the whole position
        ord_type: one of LIMIT, MARKET
        ord_side: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE
        time_in_force: one of GTC, IOC, FOK, POST_ONLY
        cl_ord_id: a 64-bit whole number; client order id
        parent_ord_id: a 64-bit whole number of 0 or more
        reduce_only: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
        trigger_px: decimal text, 0 or more
        tpsl_trigger_type: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
        slippage_pct: decimal text, 0 or more; a ratio: "0.01" is 1 %
        ord_id: a 64-bit whole number of 0 or more; clOrdId or ordId is required
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Agent (MsgReplaceOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def place_bracket_order(
        self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Place a main order together with its take-profit, its stop-loss or both.

        orders: a list of 2 to 3 objects
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnly: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Agent (MsgPlaceBracketOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def cancel_order(
        self, cancels: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, vault_address: str | None = None
    ) -> Receipt:
        """Cancel orders by ordId or clOrdId.

        cancels: a list of at least 1 objects
            symbolCode: a 64-bit whole number of 1 or more (as number or text) (required)
            clOrdId: a 64-bit whole number (as number or text)
            ordId: a 64-bit whole number of 0 or more (as number or text)
        vault_address: act for this vault

        Signed by: Agent (MsgCancelOrders). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def cancel_all(
        self, symbol: str | int, conditional_order: bool | None = None, *, vault_address: str | None = None
    ) -> Receipt:
        """Cancel all open orders of a product, or all its waiting triggers.

        symbol: a product's symbol or code
        conditional_order: true or false; true: waiting triggers; default false
        vault_address: act for this vault

        Signed by: Agent (MsgCancelAll). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def set_leverage(
        self, symbol: str | int, leverage: str | int | Decimal, *, vault_address: str | None = None
    ) -> Receipt:
        """Set the leverage of a product.

        symbol: a product's symbol or code
        leverage: decimal text of at least 1 with at most 2 decimal places
        vault_address: act for this vault

        Signed by: Agent (MsgSetLeverage). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def set_margin_mode(
        self, symbol: str | int, margin_mode: Literal["CROSS", "ISOLATED"], *, vault_address: str | None = None
    ) -> Receipt:
        """Set a product's margin mode.

        symbol: a product's symbol or code
        margin_mode: one of CROSS, ISOLATED
        vault_address: act for this vault

        Signed by: Agent (MsgSetMarginMode). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def assign_pos_margin(
        self, symbol: str | int, assigned_pos_margin: str | int | Decimal, *, vault_address: str | None = None
    ) -> Receipt:
        """Add margin to an isolated position, or take it from there (negative).

        symbol: a product's symbol or code
        assigned_pos_margin: decimal text other than 0
        vault_address: act for this vault

        Signed by: Agent (MsgAssignPosMargin). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def approve_agent(
        self,
        agent_address: str | None = None,
        agent_name: str = "toolkit",
        validity_seconds: int = 0,
        referral_code: str | None = None,
        *,
        expiry_after: int | Unset | None = ...,
    ) -> Receipt:
        """Authorise an agent wallet; with the zero address and validitySeconds 0 revoke the one of that name.

        agent_address: an address: 0x and 40 hex digits (default: this wallet's agent)
        agent_name: text of at most 128 characters
        validity_seconds: a whole number from 0 to 31536000; 0 means 7 days; at most 365 days
        referral_code: text of at most 128 characters; not signed; counts on the first approval only
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Master (typed data ApproveAgent). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def withdraw(
        self,
        destination: str,
        amount: str | int | Decimal,
        withdraw_sequence: int | None = None,
        *,
        expiry_after: int | Unset | None = ...,
    ) -> Receipt:
        """Withdraw funds to an address.

        destination: an address: 0x and 40 hex digits
        amount: decimal text above 0; USDC
        withdraw_sequence: a 64-bit whole number of 0 or more; usually the nonce in whole seconds; older requests have none
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Master (typed data Withdraw). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def faucet_claim(self) -> Receipt:
        """Claim test funds (Testnet and the local venue only).


        Signed by: Master (typed data TestnetFaucetClaim). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def bind_referral(self, referral_code: str) -> Receipt:
        """Bind the account to an inviter, once.

        referral_code: text of 1 to 128 characters

        Signed by: Agent (MsgBindReferral). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def register_builder(self, name: str, *, expiry_after: int | Unset | None = ...) -> Receipt:
        """Register a builder.

        name: text of 1 to 128 characters
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Builder master (typed data RegisterBuilder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def approve_agent_to_builder(
        self,
        agent_address: str,
        builder_address: str,
        max_fee_rate: str | int | Decimal,
        validity_seconds: int = 0,
        *,
        expiry_after: int | Unset | None = ...,
    ) -> Receipt:
        """Let a builder's agent place orders for this account, with a cap on its fee.

        agent_address: an address: 0x and 40 hex digits; the builder's agent
        builder_address: an address: 0x and 40 hex digits; the builder's master
        max_fee_rate: decimal text above 0; a ratio
        validity_seconds: a 64-bit whole number of 0 or more
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Trader master (typed data ApproveAgentToBuilder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def revoke_agent_to_builder(self, *, expiry_after: int | Unset | None = ...) -> Receipt:
        """End the builder's authorisation.

        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Trader master (typed data RevokeAgentToBuilder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def place_builder_order(
        self,
        order: Order | Mapping[str, Any],
        builder: str,
        builder_fee_rate: str | int | Decimal,
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Place an order for the trader who authorised this builder agent.

        order: an object
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnly: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        builder: an address: 0x and 40 hex digits; builder master address
        builder_fee_rate: decimal text, 0 or more; a ratio: "0.0002" is 2 basis points
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Builder agent (MsgPlaceBuilderOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def place_builder_bracket_order(
        self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]],
        builder: str,
        builder_fee_rate: str | int | Decimal,
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> Receipt:
        """Place a bracket for the trader who authorised this builder agent.

        orders: a list of 2 to 3 objects
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnly: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        builder: an address: 0x and 40 hex digits; builder master address
        builder_fee_rate: decimal text, 0 or more; a ratio: "0.0002" is 2 basis points
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Builder agent (MsgPlaceBuilderBracketOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_deposit(
        self, vault: str, amount: str | int | Decimal, currency_code: int = 1, *, vault_address: str | None = None
    ) -> Receipt:
        """Deposit into a vault.

        vault: an address: 0x and 40 hex digits
        amount: decimal text above 0; USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultDeposit). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_withdraw(
        self, vault: str, share: str | int | Decimal, currency_code: int = 1, *, vault_address: str | None = None
    ) -> Receipt:
        """Give back shares of a vault.

        vault: an address: 0x and 40 hex digits
        share: decimal text above 0; vault shares, not USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultWithdraw). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_create(
        self,
        name: str,
        amount: str | int | Decimal,
        description: str = "",
        currency_code: int = 1,
        *,
        vault_address: str | None = None,
    ) -> Receipt:
        """Create a vault; the answer's data carries its address.

        name: text of 1 to 128 characters
        description: text of at most 2000 characters
        amount: decimal text above 0; first deposit, USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultCreate). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_update_owner(self, owner: str, *, vault_address: str) -> Receipt:
        """Hand the vault of vaultAddress to another owner.

        owner: an address: 0x and 40 hex digits
        vault_address: act for this vault

        Signed by: Agent (MsgVaultUpdateOwner). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_close(self, *, vault_address: str) -> Receipt:
        """Close the vault of vaultAddress.

        vault_address: act for this vault

        Signed by: Agent (MsgVaultClose). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_pre_withdraw(self, amount: str | int | Decimal, currency_code: int = 1, *, vault_address: str) -> Receipt:
        """Set funds of the vault of vaultAddress aside for withdrawals.

        amount: decimal text above 0; USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultPreWithdraw). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_create_sub_vault(self, *, vault_address: str) -> Receipt:
        """Create a sub-vault of the vault of vaultAddress.

        vault_address: act for this vault

        Signed by: Agent (MsgVaultCreateSubVault). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def vault_rebalance(
        self,
        from_vault: str,
        to_vault: str,
        amount: str | int | Decimal,
        currency_code: int = 1,
        *,
        vault_address: str | None = None,
    ) -> Receipt:
        """Move funds between a vault and its sub-vaults.

        from_vault: an address: 0x and 40 hex digits
        to_vault: an address: 0x and 40 hex digits
        amount: decimal text above 0; USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultRebalance). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def __repr__(self) -> str: ...

class AsyncExchange(Asynchronous):
    """The asynchronous twin of Exchange: the same methods as coroutine functions."""
    def __init__(
        self, driver: Driver | AsyncDriver, environment: Environment, delivery: Delivery, catalogue: Catalogue
    ) -> None: ...
    async def send(
        self, payload: Mapping[str, Any], *, expiry_after: int | Unset | None = ..., vault_address: str | None = None
    ) -> AsyncReceipt:
        """Sign and send an action given in wire names, as it is published. Returns the Receipt.

        `expiry_after` is Unix ms; by default a minute from now where the action carries it, None for no expiry.
        Raises as the methods of the actions do.
        """
    async def revoke_agent(
        self, agent_name: str = "toolkit", *, expiry_after: int | Unset | None = ...
    ) -> AsyncReceipt:
        """Revoke the agent approved under this name: approveAgent with the zero address and validitySeconds 0.

        Signed by: Master. Raises as `approve_agent` does. Source: docs/published.md, "Signatures".
        """
    async def place_order(
        self,
        orders: Order | Mapping[str, Any] | Sequence[Order | Mapping[str, Any]],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Place one or more orders.

        orders: a list of at least 1 objects
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnlyOption: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Agent (MsgPlaceOrders). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def replace_order(
        self,
        symbol: str | int,
        ord_px: str | int | Decimal,
        ord_qty: str | int | Decimal,
        ord_type: Literal["LIMIT", "MARKET"],
        ord_side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
        time_in_force: Literal["GTC", "IOC", "FOK", "POST_ONLY"],
        cl_ord_id: int | None = None,
        parent_ord_id: int | None = None,
        reduce_only: Literal["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"] | None = None,
        trigger_px: str | int | Decimal | None = None,
        tpsl_trigger_type: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        slippage_pct: str | int | Decimal | None = None,
        ord_id: int | None = None,
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Replace an open order by another.

        symbol: a product's symbol or code; numeric product code
        ord_px: decimal text, 0 or more; limit price; "0" for a market order
        ord_qty: decimal text, 0 or more; quantity; "0" in a TP/SL means the whole position
        ord_type: one of LIMIT, MARKET
        ord_side: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE
        time_in_force: one of GTC, IOC, FOK, POST_ONLY
        cl_ord_id: a 64-bit whole number; client order id
        parent_ord_id: a 64-bit whole number of 0 or more
        reduce_only: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
        trigger_px: decimal text, 0 or more
        tpsl_trigger_type: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
        slippage_pct: decimal text, 0 or more; a ratio: "0.01" is 1 %
        ord_id: a 64-bit whole number of 0 or more; clOrdId or ordId is required
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Agent (MsgReplaceOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def place_bracket_order(
        self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]],
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Place a main order together with its take-profit, its stop-loss or both.

        orders: a list of 2 to 3 objects
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnly: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Agent (MsgPlaceBracketOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def cancel_order(
        self, cancels: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Cancel orders by ordId or clOrdId.

        cancels: a list of at least 1 objects
            symbolCode: a 64-bit whole number of 1 or more (as number or text) (required)
            clOrdId: a 64-bit whole number (as number or text)
            ordId: a 64-bit whole number of 0 or more (as number or text)
        vault_address: act for this vault

        Signed by: Agent (MsgCancelOrders). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def cancel_all(
        self, symbol: str | int, conditional_order: bool | None = None, *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Cancel all open orders of a product, or all its waiting triggers.

        symbol: a product's symbol or code
        conditional_order: true or false; true: waiting triggers; default false
        vault_address: act for this vault

        Signed by: Agent (MsgCancelAll). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def set_leverage(
        self, symbol: str | int, leverage: str | int | Decimal, *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Set the leverage of a product.

        symbol: a product's symbol or code
        leverage: decimal text of at least 1 with at most 2 decimal places
        vault_address: act for this vault

        Signed by: Agent (MsgSetLeverage). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def set_margin_mode(
        self, symbol: str | int, margin_mode: Literal["CROSS", "ISOLATED"], *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Set a product's margin mode.

        symbol: a product's symbol or code
        margin_mode: one of CROSS, ISOLATED
        vault_address: act for this vault

        Signed by: Agent (MsgSetMarginMode). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def assign_pos_margin(
        self, symbol: str | int, assigned_pos_margin: str | int | Decimal, *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Add margin to an isolated position, or take it from there (negative).

        symbol: a product's symbol or code
        assigned_pos_margin: decimal text other than 0
        vault_address: act for this vault

        Signed by: Agent (MsgAssignPosMargin). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def approve_agent(
        self,
        agent_address: str | None = None,
        agent_name: str = "toolkit",
        validity_seconds: int = 0,
        referral_code: str | None = None,
        *,
        expiry_after: int | Unset | None = ...,
    ) -> AsyncReceipt:
        """Authorise an agent wallet; with the zero address and validitySeconds 0 revoke the one of that name.

        agent_address: an address: 0x and 40 hex digits (default: this wallet's agent)
        agent_name: text of at most 128 characters
        validity_seconds: a whole number from 0 to 31536000; 0 means 7 days; at most 365 days
        referral_code: text of at most 128 characters; not signed; counts on the first approval only
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Master (typed data ApproveAgent). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def withdraw(
        self,
        destination: str,
        amount: str | int | Decimal,
        withdraw_sequence: int | None = None,
        *,
        expiry_after: int | Unset | None = ...,
    ) -> AsyncReceipt:
        """Withdraw funds to an address.

        destination: an address: 0x and 40 hex digits
        amount: decimal text above 0; USDC
        withdraw_sequence: a 64-bit whole number of 0 or more; usually the nonce in whole seconds; older requests have none
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Master (typed data Withdraw). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def faucet_claim(self) -> AsyncReceipt:
        """Claim test funds (Testnet and the local venue only).


        Signed by: Master (typed data TestnetFaucetClaim). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def bind_referral(self, referral_code: str) -> AsyncReceipt:
        """Bind the account to an inviter, once.

        referral_code: text of 1 to 128 characters

        Signed by: Agent (MsgBindReferral). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def register_builder(self, name: str, *, expiry_after: int | Unset | None = ...) -> AsyncReceipt:
        """Register a builder.

        name: text of 1 to 128 characters
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Builder master (typed data RegisterBuilder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def approve_agent_to_builder(
        self,
        agent_address: str,
        builder_address: str,
        max_fee_rate: str | int | Decimal,
        validity_seconds: int = 0,
        *,
        expiry_after: int | Unset | None = ...,
    ) -> AsyncReceipt:
        """Let a builder's agent place orders for this account, with a cap on its fee.

        agent_address: an address: 0x and 40 hex digits; the builder's agent
        builder_address: an address: 0x and 40 hex digits; the builder's master
        max_fee_rate: decimal text above 0; a ratio
        validity_seconds: a 64-bit whole number of 0 or more
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Trader master (typed data ApproveAgentToBuilder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def revoke_agent_to_builder(self, *, expiry_after: int | Unset | None = ...) -> AsyncReceipt:
        """End the builder's authorisation.

        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never

        Signed by: Trader master (typed data RevokeAgentToBuilder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def place_builder_order(
        self,
        order: Order | Mapping[str, Any],
        builder: str,
        builder_fee_rate: str | int | Decimal,
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Place an order for the trader who authorised this builder agent.

        order: an object
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnly: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        builder: an address: 0x and 40 hex digits; builder master address
        builder_fee_rate: decimal text, 0 or more; a ratio: "0.0002" is 2 basis points
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Builder agent (MsgPlaceBuilderOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def place_builder_bracket_order(
        self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]],
        builder: str,
        builder_fee_rate: str | int | Decimal,
        *,
        expiry_after: int | Unset | None = ...,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Place a bracket for the trader who authorised this builder agent.

        orders: a list of 2 to 3 objects
            symbolCode: a 64-bit whole number of 1 or more (required)
            ordPx: decimal text, 0 or more (required)
            ordQty: decimal text, 0 or more (required)
            ordType: one of LIMIT, MARKET, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET (required)
            ordSide: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            timeInForce: one of GTC, IOC, FOK, POST_ONLY (required)
            clOrdId: a 64-bit whole number
            parentOrdId: a 64-bit whole number of 0 or more
            reduceOnly: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            triggerPx: decimal text, 0 or more
            tpslTriggerType: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            slippagePct: decimal text, 0 or more
        builder: an address: 0x and 40 hex digits; builder master address
        builder_fee_rate: decimal text, 0 or more; a ratio: "0.0002" is 2 basis points
        expiry_after: Unix ms after which the venue refuses it; default in a minute, None: never
        vault_address: act for this vault

        Signed by: Builder agent (MsgPlaceBuilderBracketOrder). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_deposit(
        self, vault: str, amount: str | int | Decimal, currency_code: int = 1, *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Deposit into a vault.

        vault: an address: 0x and 40 hex digits
        amount: decimal text above 0; USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultDeposit). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_withdraw(
        self, vault: str, share: str | int | Decimal, currency_code: int = 1, *, vault_address: str | None = None
    ) -> AsyncReceipt:
        """Give back shares of a vault.

        vault: an address: 0x and 40 hex digits
        share: decimal text above 0; vault shares, not USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultWithdraw). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_create(
        self,
        name: str,
        amount: str | int | Decimal,
        description: str = "",
        currency_code: int = 1,
        *,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Create a vault; the answer's data carries its address.

        name: text of 1 to 128 characters
        description: text of at most 2000 characters
        amount: decimal text above 0; first deposit, USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultCreate). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_update_owner(self, owner: str, *, vault_address: str) -> AsyncReceipt:
        """Hand the vault of vaultAddress to another owner.

        owner: an address: 0x and 40 hex digits
        vault_address: act for this vault

        Signed by: Agent (MsgVaultUpdateOwner). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_close(self, *, vault_address: str) -> AsyncReceipt:
        """Close the vault of vaultAddress.

        vault_address: act for this vault

        Signed by: Agent (MsgVaultClose). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_pre_withdraw(
        self, amount: str | int | Decimal, currency_code: int = 1, *, vault_address: str
    ) -> AsyncReceipt:
        """Set funds of the vault of vaultAddress aside for withdrawals.

        amount: decimal text above 0; USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultPreWithdraw). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_create_sub_vault(self, *, vault_address: str) -> AsyncReceipt:
        """Create a sub-vault of the vault of vaultAddress.

        vault_address: act for this vault

        Signed by: Agent (MsgVaultCreateSubVault). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    async def vault_rebalance(
        self,
        from_vault: str,
        to_vault: str,
        amount: str | int | Decimal,
        currency_code: int = 1,
        *,
        vault_address: str | None = None,
    ) -> AsyncReceipt:
        """Move funds between a vault and its sub-vaults.

        from_vault: an address: 0x and 40 hex digits
        to_vault: an address: 0x and 40 hex digits
        amount: decimal text above 0; USDC
        currency_code: a 64-bit whole number of 1 or more; 1 is USDC
        vault_address: act for this vault

        Signed by: Agent (MsgVaultRebalance). Returns a Receipt.
        Raises WalletError without that key, MalformedRequest for a broken field, ExchangeError when the venue
        refuses, NotSent when it did not leave, OutcomeUnknown when no answer came.
        Source: docs/published.md, "Exchange API".
        """
    def __repr__(self) -> str: ...
