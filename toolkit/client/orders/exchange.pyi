# Written by `python -m tests.stubs` from toolkit.client.orders.exchange; change declarations or flows instead.
# fmt: off
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from toolkit.client.io.flow import AsyncDriver, Asynchronous, Driver, Synchronous, awaited
from toolkit.client.orders.delivery import Delivery
from toolkit.client.orders.receipts import Receipt, Unset
from toolkit.client.reads.reading import Catalogue
from toolkit.environments import Environment
from toolkit.orders import Bracket, Order

class Exchange(Synchronous):
    def __init__(self, driver: Driver | AsyncDriver, environment: Environment, delivery: Delivery,
        catalogue: Catalogue) -> None: ...
    def send(self, payload: Mapping[str, Any], *, expiry_after: int | Unset | None = ...,
        vault_address: str | None = None) -> Receipt: ...
    def revoke_agent(self, agent_name: str = 'toolkit', *, expiry_after: int | Unset | None = ...) -> Receipt: ...
    def place_order(self, orders: Order | Mapping[str, Any] | Sequence[Order | Mapping[str, Any]], *,
        expiry_after: int | Unset | None = ..., vault_address: str | None = None) -> Receipt: ...
    def replace_order(self, symbol: str | int, ord_px: str | int | Decimal, ord_qty: str | int | Decimal,
        ord_type: Literal["LIMIT", "MARKET"], ord_side: Literal["BUY", "SELL", "BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
        time_in_force: Literal["GTC", "IOC", "FOK", "POST_ONLY"], cl_ord_id: int | None = None,
        parent_ord_id: int | None = None,
        reduce_only: Literal["REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION"] | None = None,
        trigger_px: str | int | Decimal | None = None,
        tpsl_trigger_type: Literal["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"] | None = None,
        slippage_pct: str | int | Decimal | None = None, ord_id: int | None = None, *,
        expiry_after: int | Unset | None = ..., vault_address: str | None = None) -> Receipt: ...
    def place_bracket_order(self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]], *,
        expiry_after: int | Unset | None = ..., vault_address: str | None = None) -> Receipt: ...
    def cancel_order(self, cancels: Mapping[str, Any] | Sequence[Mapping[str, Any]], *,
        vault_address: str | None = None) -> Receipt: ...
    def cancel_all(self, symbol: str | int, conditional_order: bool | None = None, *,
        vault_address: str | None = None) -> Receipt: ...
    def set_leverage(self, symbol: str | int, leverage: str | int | Decimal, *,
        vault_address: str | None = None) -> Receipt: ...
    def set_margin_mode(self, symbol: str | int, margin_mode: Literal["CROSS", "ISOLATED"], *,
        vault_address: str | None = None) -> Receipt: ...
    def assign_pos_margin(self, symbol: str | int, assigned_pos_margin: str | int | Decimal, *,
        vault_address: str | None = None) -> Receipt: ...
    def approve_agent(self, agent_address: str | None = None, agent_name: str = 'toolkit', validity_seconds: int = 0,
        referral_code: str | None = None, *, expiry_after: int | Unset | None = ...) -> Receipt: ...
    def withdraw(self, destination: str, amount: str | int | Decimal, withdraw_sequence: int | None = None, *,
        expiry_after: int | Unset | None = ...) -> Receipt: ...
    def faucet_claim(self) -> Receipt: ...
    def bind_referral(self, referral_code: str) -> Receipt: ...
    def register_builder(self, name: str, *, expiry_after: int | Unset | None = ...) -> Receipt: ...
    def approve_agent_to_builder(self, agent_address: str, builder_address: str, max_fee_rate: str | int | Decimal,
        validity_seconds: int = 0, *, expiry_after: int | Unset | None = ...) -> Receipt: ...
    def revoke_agent_to_builder(self, *, expiry_after: int | Unset | None = ...) -> Receipt: ...
    def place_builder_order(self, order: Order | Mapping[str, Any], builder: str, builder_fee_rate: str | int | Decimal,
        *, expiry_after: int | Unset | None = ..., vault_address: str | None = None) -> Receipt: ...
    def place_builder_bracket_order(self,
        orders: Order | Bracket | Mapping[str, Any] | Sequence[Order | Bracket | Mapping[str, Any]], builder: str,
        builder_fee_rate: str | int | Decimal, *, expiry_after: int | Unset | None = ...,
        vault_address: str | None = None) -> Receipt: ...
    def vault_deposit(self, vault: str, amount: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str | None = None) -> Receipt: ...
    def vault_withdraw(self, vault: str, share: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str | None = None) -> Receipt: ...
    def vault_create(self, name: str, amount: str | int | Decimal, description: str = '', currency_code: int = 1, *,
        vault_address: str | None = None) -> Receipt: ...
    def vault_update_owner(self, owner: str, *, vault_address: str) -> Receipt: ...
    def vault_close(self, *, vault_address: str) -> Receipt: ...
    def vault_pre_withdraw(self, amount: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str) -> Receipt: ...
    def vault_create_sub_vault(self, *, vault_address: str) -> Receipt: ...
    def vault_rebalance(self, from_vault: str, to_vault: str, amount: str | int | Decimal, currency_code: int = 1, *,
        vault_address: str | None = None) -> Receipt: ...

class AsyncExchange(Asynchronous):
    def __init__(self, driver: Driver | AsyncDriver, environment: Environment, delivery: Delivery,
        catalogue: Catalogue) -> None: ...
    send = awaited(Exchange.send)
    revoke_agent = awaited(Exchange.revoke_agent)
    place_order = awaited(Exchange.place_order)
    replace_order = awaited(Exchange.replace_order)
    place_bracket_order = awaited(Exchange.place_bracket_order)
    cancel_order = awaited(Exchange.cancel_order)
    cancel_all = awaited(Exchange.cancel_all)
    set_leverage = awaited(Exchange.set_leverage)
    set_margin_mode = awaited(Exchange.set_margin_mode)
    assign_pos_margin = awaited(Exchange.assign_pos_margin)
    approve_agent = awaited(Exchange.approve_agent)
    withdraw = awaited(Exchange.withdraw)
    faucet_claim = awaited(Exchange.faucet_claim)
    bind_referral = awaited(Exchange.bind_referral)
    register_builder = awaited(Exchange.register_builder)
    approve_agent_to_builder = awaited(Exchange.approve_agent_to_builder)
    revoke_agent_to_builder = awaited(Exchange.revoke_agent_to_builder)
    place_builder_order = awaited(Exchange.place_builder_order)
    place_builder_bracket_order = awaited(Exchange.place_builder_bracket_order)
    vault_deposit = awaited(Exchange.vault_deposit)
    vault_withdraw = awaited(Exchange.vault_withdraw)
    vault_create = awaited(Exchange.vault_create)
    vault_update_owner = awaited(Exchange.vault_update_owner)
    vault_close = awaited(Exchange.vault_close)
    vault_pre_withdraw = awaited(Exchange.vault_pre_withdraw)
    vault_create_sub_vault = awaited(Exchange.vault_create_sub_vault)
    vault_rebalance = awaited(Exchange.vault_rebalance)
