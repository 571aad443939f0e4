"""`session.exchange`: one method for each action of the interface, synchronous or awaited.

`python -m tests.methods` writes this module from the declarations in `toolkit/protocol/actions.py`. The lines below
`Examples` are written by hand, and are kept.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from ...orders import Bracket, Order
from ..io.flow import Asynchronous, Flow, Synchronous, trading_flow
from .exchange_flows import ExchangeFlows
from .receipts import UNSET, Receipt, Unset


class ActionFlows(ExchangeFlows):
    """The actions of Exchange and AsyncExchange, one method each."""

    @trading_flow
    def place_order(self, orders: Order | Mapping[str, Any] | Sequence[Order | Mapping[str, Any]], *,
        expiry_after: int | Unset | None = UNSET, vault_address: str | None = None) -> Flow[Receipt]:
        """Place one or more orders.

        Signed by: Agent (MsgPlaceOrders). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        orders : Order, mapping or sequence of these
            A list of at least 1 objects.

            - `symbolCode`: a 64-bit whole number of 1 or more (required)
            - `ordPx`: decimal text, 0 or more (required)
            - `ordQty`: decimal text, 0 or more (required)
            - `ordType`: one of LIMIT, MARKET (required)
            - `ordSide`: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            - `timeInForce`: one of GTC, IOC, FOK, POST_ONLY (required)
            - `clOrdId`: a 64-bit whole number
            - `parentOrdId`: a 64-bit whole number of 0 or more
            - `reduceOnlyOption`: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            - `triggerPx`: decimal text, 0 or more
            - `tpslTriggerType`: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            - `slippagePct`: decimal text, 0 or more
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.place_order(orders.market("BTCUSDC", "BUY", "0.01")).status
        'FILLED'
        """
        return (yield from self._act("place_order", orders=orders, expiry_after=expiry_after,
            vault_address=vault_address))

    @trading_flow
    def replace_order(self, symbol: str | int, ord_px: str | int | Decimal, ord_qty: str | int | Decimal,
        ord_type: Literal["LIMIT", "MARKET"], ord_side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
        time_in_force: Literal["GTC", "IOC", "FOK", "POST_ONLY"], cl_ord_id: int | None = None,
        parent_ord_id: int | None = None,
        reduce_only: Literal["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"] | None = None,
        trigger_px: str | int | Decimal | None = None,
        tpsl_trigger_type: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        slippage_pct: str | int | Decimal | None = None, ord_id: int | None = None, *,
        expiry_after: int | Unset | None = UNSET, vault_address: str | None = None) -> Flow[Receipt]:
        """Replace an open order by another.

        Signed by: Agent (MsgReplaceOrder). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        symbol : str or int
            A product's symbol or code.
        ord_px : str, int or Decimal
            Decimal text, 0 or more, limit price ("0" for a market order).
        ord_qty : str, int or Decimal
            Decimal text, 0 or more, quantity ("0" in a TP/SL means the whole position).
        ord_type : {"LIMIT", "MARKET"}
            One of LIMIT, MARKET.
        ord_side : {"BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"}
            One of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE.
        time_in_force : {"GTC", "IOC", "FOK", "POST_ONLY"}
            One of GTC, IOC, FOK, POST_ONLY.
        cl_ord_id : int, optional
            A 64-bit whole number, client order id.
        parent_ord_id : int, optional
            A 64-bit whole number of 0 or more.
        reduce_only : {"REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"}, optional
            One of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION.
        trigger_px : str, int or Decimal, optional
            Decimal text, 0 or more.
        tpsl_trigger_type : {"LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"}, optional
            One of LAST_PRICE, MARK_PRICE, INDEX_PRICE.
        slippage_pct : str, int or Decimal, optional
            Decimal text, 0 or more, a ratio: "0.01" is 1 %.
        ord_id : int, optional
            A 64-bit whole number of 0 or more, clOrdId or ordId is required.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> kind = {"ord_type": "LIMIT", "ord_side": "BUY", "time_in_force": "GTC"}
        >>> session.exchange.replace_order("BTCUSDC", "51000", "0.01", **kind, ord_id=made.order_id).status
        'NEW'
        """
        return (yield from self._act("replace_order", symbol=symbol, ord_px=ord_px, ord_qty=ord_qty, ord_type=ord_type,
            ord_side=ord_side, time_in_force=time_in_force, cl_ord_id=cl_ord_id, parent_ord_id=parent_ord_id,
            reduce_only=reduce_only, trigger_px=trigger_px, tpsl_trigger_type=tpsl_trigger_type,
            slippage_pct=slippage_pct, ord_id=ord_id, expiry_after=expiry_after, vault_address=vault_address))

    @trading_flow
    def place_bracket_order(self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]], *,
        expiry_after: int | Unset | None = UNSET, vault_address: str | None = None) -> Flow[Receipt]:
        """Place a main order together with its take-profit, its stop-loss or both.

        Signed by: Agent (MsgPlaceBracketOrder). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        orders : Order, Bracket, mapping or sequence of these
            A list of 2 to 3 objects.

            - `symbolCode`: a 64-bit whole number of 1 or more (required)
            - `ordPx`: decimal text, 0 or more (required)
            - `ordQty`: decimal text, 0 or more (required)
            - `ordType`: one of LIMIT, MARKET (required)
            - `ordSide`: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            - `timeInForce`: one of GTC, IOC, FOK, POST_ONLY (required)
            - `clOrdId`: a 64-bit whole number
            - `parentOrdId`: a 64-bit whole number of 0 or more
            - `reduceOnly`: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            - `triggerPx`: decimal text, 0 or more
            - `tpslTriggerType`: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            - `slippagePct`: decimal text, 0 or more
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> made = orders.bracket(orders.market("BTCUSDC", "BUY", "0.01"), stop_loss="60000")
        >>> session.exchange.place_bracket_order(made).status
        'FILLED'
        """
        return (yield from self._act("place_bracket_order", orders=orders, expiry_after=expiry_after,
            vault_address=vault_address))

    @trading_flow
    def cancel_order(self, cancels: Mapping[str, Any] | Sequence[Mapping[str, Any]], *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Cancel orders by ordId or clOrdId.

        Signed by: Agent (MsgCancelOrders). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        cancels : mapping or sequence of these
            A list of at least 1 objects.

            - `symbolCode`: a 64-bit whole number of 1 or more (as number or text) (required)
            - `clOrdId`: a 64-bit whole number (as number or text)
            - `ordId`: a 64-bit whole number of 0 or more (as number or text)
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> session.exchange.cancel_order({"symbolCode": "BTCUSDC", "ordId": made.order_id}).status
        'ACCEPTED'
        """
        return (yield from self._act("cancel_order", cancels=cancels, vault_address=vault_address))

    @trading_flow
    def cancel_all(self, symbol: str | int, conditional_order: bool | None = None, *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Cancel all open orders of a product, or all its waiting triggers.

        Signed by: Agent (MsgCancelAll). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        symbol : str or int
            A product's symbol or code.
        conditional_order : bool, optional
            True or false, true for waiting triggers, default false.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> made = session.buy("BTCUSDC", "0.01", "50000")
        >>> session.exchange.cancel_all("BTCUSDC").status
        'ACCEPTED'
        """
        return (yield from self._act("cancel_all", symbol=symbol, conditional_order=conditional_order,
            vault_address=vault_address))

    @trading_flow
    def set_leverage(self, symbol: str | int, leverage: str | int | Decimal, *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Set the leverage of a product.

        Signed by: Agent (MsgSetLeverage). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        symbol : str or int
            A product's symbol or code.
        leverage : str, int or Decimal
            Decimal text of at least 1 with at most 2 decimal places.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.set_leverage("BTCUSDC", "5").status
        'ACCEPTED'
        """
        return (yield from self._act("set_leverage", symbol=symbol, leverage=leverage, vault_address=vault_address))

    @trading_flow
    def set_margin_mode(self, symbol: str | int, margin_mode: Literal["CROSS", "ISOLATED"], *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Set a product's margin mode.

        Signed by: Agent (MsgSetMarginMode). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        symbol : str or int
            A product's symbol or code.
        margin_mode : {"CROSS", "ISOLATED"}
            One of CROSS, ISOLATED.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.set_margin_mode("BTCUSDC", "ISOLATED").status
        'ACCEPTED'
        """
        return (yield from self._act("set_margin_mode", symbol=symbol, margin_mode=margin_mode,
            vault_address=vault_address))

    @trading_flow
    def assign_pos_margin(self, symbol: str | int, assigned_pos_margin: str | int | Decimal, *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Add margin to an isolated position, or take it from there (negative).

        Signed by: Agent (MsgAssignPosMargin). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        symbol : str or int
            A product's symbol or code.
        assigned_pos_margin : str, int or Decimal
            Decimal text other than 0.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> _ = session.exchange.set_margin_mode("BTCUSDC", "ISOLATED")
        >>> _ = session.buy("BTCUSDC", "0.01")
        >>> session.exchange.assign_pos_margin("BTCUSDC", "50").status
        'ACCEPTED'
        """
        return (yield from self._act("assign_pos_margin", symbol=symbol, assigned_pos_margin=assigned_pos_margin,
            vault_address=vault_address))

    @trading_flow
    def approve_agent(self, agent_address: str | None = None, agent_name: str | None = None, validity_seconds: int = 0,
        referral_code: str | None = None, *, replace: bool = False,
        expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Authorise an agent wallet. The zero address with validitySeconds 0 revokes the agent of that name.

        Signed by: Master (typed data ApproveAgent). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        agent_address : str, optional
            An address: 0x and 40 hex digits (default: this wallet's agent).
        agent_name : str, optional
            Text of at most 128 characters (default: 'toolkit-' and the first 8 digits of the address).
        validity_seconds : int, optional
            A whole number from 0 to 31536000, 0 means 7 days, at most 365 days (default: 0).
        referral_code : str, optional
            Text of at most 128 characters, not signed, counts on the first approval only.
        replace : bool, optional
            True ends the approval of another agent that has the name (default: False, that is refused).
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.approve_agent(validity_seconds=86_400).status
        'ACCEPTED'
        """
        return (yield from self._act("approve_agent", agent_address=agent_address, agent_name=agent_name,
            validity_seconds=validity_seconds, referral_code=referral_code, replace=replace, expiry_after=expiry_after))

    @trading_flow
    def withdraw(self, destination: str, amount: str | int | Decimal, withdraw_sequence: int | None = None, *,
        expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Withdraw funds to an address.

        Signed by: Master (typed data Withdraw). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        destination : str
            An address: 0x and 40 hex digits.
        amount : str, int or Decimal
            Decimal text above 0, USDC.
        withdraw_sequence : int, optional
            A 64-bit whole number of 0 or more, usually the nonce in whole seconds, missing in older requests.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.withdraw(session.account, "100").status
        'ACCEPTED'
        """
        return (yield from self._act("withdraw", destination=destination, amount=amount,
            withdraw_sequence=withdraw_sequence, expiry_after=expiry_after))

    @trading_flow
    def faucet_claim(self) -> Flow[Receipt]:
        """Claim test funds (Testnet and the local venue only).

        Signed by: Master (typed data TestnetFaucetClaim). Source: docs/published.md, "Exchange API".

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.faucet_claim().status
        'ACCEPTED'
        """
        return (yield from self._act("faucet_claim"))

    @trading_flow
    def usd_send(self, to: str, amount: str | int | Decimal, *,
        expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Send USDC to another account. Not every venue takes it: a local venue refuses it until its operator opens it.

        Signed by: Master (typed data UsdTransfer). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        to : str
            An address: 0x and 40 hex digits, an account of the venue, not a vault.
        amount : str, int or Decimal
            Decimal text above 0, USDC, at most 6 decimals.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> session.venue.control.enable("usdSend")
        >>> session.exchange.usd_send(other.account, "25").status
        'ACCEPTED'
        """
        return (yield from self._act("usd_send", to=to, amount=amount, expiry_after=expiry_after))

    @trading_flow
    def bind_referral(self, referral_code: str) -> Flow[Receipt]:
        """Bind the account to an inviter, once.

        Signed by: Agent (MsgBindReferral). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        referral_code : str
            Text of 1 to 128 characters.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> session.exchange.bind_referral(other.info.referral_code()["code"].item()).status
        'ACCEPTED'
        """
        return (yield from self._act("bind_referral", referral_code=referral_code))

    @trading_flow
    def register_builder(self, name: str, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Register a builder.

        Signed by: Builder master (typed data RegisterBuilder). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        name : str
            Text of 1 to 128 characters.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.register_builder("builders").status
        'ACCEPTED'
        """
        return (yield from self._act("register_builder", name=name, expiry_after=expiry_after))

    @trading_flow
    def approve_agent_to_builder(self, agent_address: str, builder_address: str, max_fee_rate: str | int | Decimal,
        validity_seconds: int = 0, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """Let a builder's agent place orders for this account, with a cap on its fee.

        Signed by: Trader master (typed data ApproveAgentToBuilder). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        agent_address : str
            An address: 0x and 40 hex digits, the builder's agent.
        builder_address : str
            An address: 0x and 40 hex digits, the builder's master.
        max_fee_rate : str, int or Decimal
            Decimal text above 0, a ratio.
        validity_seconds : int, optional
            A 64-bit whole number of 0 or more (default: 0).
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> wallet, builder = other.wallet.agent, other.account
        >>> _ = session.exchange.approve_agent_to_builder(wallet, builder, "0.0005")
        >>> session.permissions()["kind"].tolist()
        ['agent', 'builder']
        """
        return (yield from self._act("approve_agent_to_builder", agent_address=agent_address,
            builder_address=builder_address, max_fee_rate=max_fee_rate, validity_seconds=validity_seconds,
            expiry_after=expiry_after))

    @trading_flow
    def revoke_agent_to_builder(self, *, expiry_after: int | Unset | None = UNSET) -> Flow[Receipt]:
        """End the builder's authorisation.

        Signed by: Trader master (typed data RevokeAgentToBuilder). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> wallet, builder = other.wallet.agent, other.account
        >>> _ = session.exchange.approve_agent_to_builder(wallet, builder, "0.0005")
        >>> session.exchange.revoke_agent_to_builder().status
        'ACCEPTED'
        """
        return (yield from self._act("revoke_agent_to_builder", expiry_after=expiry_after))

    @trading_flow
    def place_builder_order(self, order: Order | Mapping[str, Any], builder: str, builder_fee_rate: str | int | Decimal,
        *, expiry_after: int | Unset | None = UNSET, vault_address: str | None = None) -> Flow[Receipt]:
        """Place an order for the trader who authorised this builder agent.

        Signed by: Builder agent (MsgPlaceBuilderOrder). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        order : Order or mapping
            An object.

            - `symbolCode`: a 64-bit whole number of 1 or more (required)
            - `ordPx`: decimal text, 0 or more (required)
            - `ordQty`: decimal text, 0 or more (required)
            - `ordType`: one of LIMIT, MARKET, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET (required)
            - `ordSide`: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            - `timeInForce`: one of GTC, IOC, FOK, POST_ONLY (required)
            - `clOrdId`: a 64-bit whole number
            - `parentOrdId`: a 64-bit whole number of 0 or more
            - `reduceOnly`: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            - `triggerPx`: decimal text, 0 or more
            - `tpslTriggerType`: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            - `slippagePct`: decimal text, 0 or more
        builder : str
            An address: 0x and 40 hex digits, builder master address.
        builder_fee_rate : str, int or Decimal
            Decimal text, 0 or more, a ratio: "0.0002" is 2 basis points.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> wallet, builder = other.wallet.agent, other.account
        >>> _ = session.exchange.approve_agent_to_builder(wallet, builder, "0.0005")
        >>> other.exchange.place_builder_order(orders.market("BTCUSDC", "BUY", "0.01"), builder, "0.0005").status
        'FILLED'
        """
        return (yield from self._act("place_builder_order", order=order, builder=builder,
            builder_fee_rate=builder_fee_rate, expiry_after=expiry_after, vault_address=vault_address))

    @trading_flow
    def place_builder_bracket_order(self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]], builder: str,
        builder_fee_rate: str | int | Decimal, *, expiry_after: int | Unset | None = UNSET,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Place a bracket for the trader who authorised this builder agent.

        Signed by: Builder agent (MsgPlaceBuilderBracketOrder). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        orders : Order, Bracket, mapping or sequence of these
            A list of 2 to 3 objects.

            - `symbolCode`: a 64-bit whole number of 1 or more (required)
            - `ordPx`: decimal text, 0 or more (required)
            - `ordQty`: decimal text, 0 or more (required)
            - `ordType`: one of LIMIT, MARKET, STOP_LIMIT, STOP_MARKET, TAKE_PROFIT_LIMIT, TAKE_PROFIT_MARKET (required)
            - `ordSide`: one of BUY, SELL, BUY_CLOSE_HEDGE, SELL_CLOSE_HEDGE (required)
            - `timeInForce`: one of GTC, IOC, FOK, POST_ONLY (required)
            - `clOrdId`: a 64-bit whole number
            - `parentOrdId`: a 64-bit whole number of 0 or more
            - `reduceOnly`: one of REDUCE_ONLY, TP_FROM_POSITION, SL_FROM_POSITION
            - `triggerPx`: decimal text, 0 or more
            - `tpslTriggerType`: one of LAST_PRICE, MARK_PRICE, INDEX_PRICE
            - `slippagePct`: decimal text, 0 or more
        builder : str
            An address: 0x and 40 hex digits, builder master address.
        builder_fee_rate : str, int or Decimal
            Decimal text, 0 or more, a ratio: "0.0002" is 2 basis points.
        expiry_after : int or None, optional
            Unix ms after which the venue refuses it (default: in a minute). None: never.
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> _ = other.exchange.register_builder("builders")
        >>> wallet, builder = other.wallet.agent, other.account
        >>> _ = session.exchange.approve_agent_to_builder(wallet, builder, "0.0005")
        >>> made = orders.bracket(orders.market("BTCUSDC", "BUY", "0.01"), stop_loss="60000")
        >>> other.exchange.place_builder_bracket_order(made, builder, "0.0005").status
        'FILLED'
        """
        return (yield from self._act("place_builder_bracket_order", orders=orders, builder=builder,
            builder_fee_rate=builder_fee_rate, expiry_after=expiry_after, vault_address=vault_address))

    @trading_flow
    def vault_deposit(self, vault: str, amount: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Deposit into a vault.

        Signed by: Agent (MsgVaultDeposit). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        vault : str
            An address: 0x and 40 hex digits.
        amount : str, int or Decimal
            Decimal text above 0, USDC.
        currency_code : int, optional
            A 64-bit whole number of 1 or more, 1 is USDC (default: 1).
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> other.exchange.vault_deposit(vault, "50").status
        'ACCEPTED'
        """
        return (yield from self._act("vault_deposit", vault=vault, amount=amount, currency_code=currency_code,
            vault_address=vault_address))

    @trading_flow
    def vault_withdraw(self, vault: str, share: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Give back shares of a vault.

        Signed by: Agent (MsgVaultWithdraw). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        vault : str
            An address: 0x and 40 hex digits.
        share : str, int or Decimal
            Decimal text above 0, vault shares, not USDC.
        currency_code : int, optional
            A 64-bit whole number of 1 or more, 1 is USDC (default: 1).
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.exchange.vault_withdraw(vault, "100").status
        'ACCEPTED'
        """
        return (yield from self._act("vault_withdraw", vault=vault, share=share, currency_code=currency_code,
            vault_address=vault_address))

    @trading_flow
    def vault_create(self, name: str, amount: str | int | Decimal, description: str = "", currency_code: int = 1, *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Create a vault. The answer's data has its address.

        Signed by: Agent (MsgVaultCreate). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        name : str
            Text of 1 to 128 characters.
        amount : str, int or Decimal
            Decimal text above 0, first deposit, USDC.
        description : str, optional
            Text of at most 2000 characters (default: "").
        currency_code : int, optional
            A 64-bit whole number of 1 or more, 1 is USDC (default: 1).
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> session.exchange.vault_create("Fund", "500").status
        'ACCEPTED'
        """
        return (yield from self._act("vault_create", name=name, amount=amount, description=description,
            currency_code=currency_code, vault_address=vault_address))

    @trading_flow
    def vault_update_owner(self, owner: str, *, vault_address: str) -> Flow[Receipt]:
        """Hand the vault of vaultAddress to another owner.

        Signed by: Agent (MsgVaultUpdateOwner). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        owner : str
            An address: 0x and 40 hex digits.
        vault_address : str
            Address of the vault to act for.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> other = toolkit.connect(venue=session.venue, account=1)
        >>> session.exchange.vault_update_owner(other.account, vault_address=vault).status
        'ACCEPTED'
        """
        return (yield from self._act("vault_update_owner", owner=owner, vault_address=vault_address))

    @trading_flow
    def vault_close(self, *, vault_address: str) -> Flow[Receipt]:
        """Close the vault of vaultAddress.

        Signed by: Agent (MsgVaultClose). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        vault_address : str
            Address of the vault to act for.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.exchange.vault_close(vault_address=vault).status
        'ACCEPTED'
        """
        return (yield from self._act("vault_close", vault_address=vault_address))

    @trading_flow
    def vault_pre_withdraw(self, amount: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str) -> Flow[Receipt]:
        """Set funds of the vault of vaultAddress aside for withdrawals.

        Signed by: Agent (MsgVaultPreWithdraw). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        amount : str, int or Decimal
            Decimal text above 0, USDC.
        currency_code : int, optional
            A 64-bit whole number of 1 or more, 1 is USDC (default: 1).
        vault_address : str
            Address of the vault to act for.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.exchange.vault_pre_withdraw("100", vault_address=vault).status
        'ACCEPTED'
        """
        return (yield from self._act("vault_pre_withdraw", amount=amount, currency_code=currency_code,
            vault_address=vault_address))

    @trading_flow
    def vault_create_sub_vault(self, *, vault_address: str) -> Flow[Receipt]:
        """Create a sub-vault of the vault of vaultAddress.

        Signed by: Agent (MsgVaultCreateSubVault). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        vault_address : str
            Address of the vault to act for.

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> session.exchange.vault_create_sub_vault(vault_address=vault).status
        'ACCEPTED'
        """
        return (yield from self._act("vault_create_sub_vault", vault_address=vault_address))

    @trading_flow
    def vault_rebalance(self, from_vault: str, to_vault: str, amount: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str | None = None) -> Flow[Receipt]:
        """Move funds between a vault and its sub-vaults.

        Signed by: Agent (MsgVaultRebalance). Source: docs/published.md, "Exchange API".

        Parameters
        ----------
        from_vault : str
            An address: 0x and 40 hex digits.
        to_vault : str
            An address: 0x and 40 hex digits.
        amount : str, int or Decimal
            Decimal text above 0, USDC.
        currency_code : int, optional
            A 64-bit whole number of 1 or more, 1 is USDC (default: 1).
        vault_address : str, optional
            Address of the vault to act for (default: the account).

        Returns
        -------
        Receipt

        Raises
        ------
        WalletError
            Without the key that signs it.
        MalformedRequest
            For a broken field.
        ExchangeError
            When the venue refuses.
        NotSent
            When it did not leave this machine.
        OutcomeUnknown
            Without an answer. `session.resolve()` settles it.

        Examples
        --------
        >>> vault = session.exchange.vault_create("Fund", "500").data["vault"]
        >>> sub = session.exchange.vault_create_sub_vault(vault_address=vault).data["vault"]
        >>> session.exchange.vault_rebalance(vault, sub, "100").status
        'ACCEPTED'
        """
        return (yield from self._act("vault_rebalance", from_vault=from_vault, to_vault=to_vault, amount=amount,
            currency_code=currency_code, vault_address=vault_address))


class Exchange(ActionFlows, Synchronous):
    """The interface's actions, one method each. See `help(session.exchange.place_order)`."""


class AsyncExchange(ActionFlows, Asynchronous):
    """The asynchronous twin of Exchange: the same methods as coroutine functions."""
