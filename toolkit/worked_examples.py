"""Examples of methods that are made from declarations, one a line: `name: code → what it gives`. They become doctests.

A section is a class. Words in braces stand for the lines of `_BEFORE`. A ` ; ` ends a line of code, a
` ‖ ` one within a block, and an indented line continues an entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

_BEFORE = {
    "trade": '_ = session.buy("BTCUSDC", "0.01")',
    "done": 'receipt = session.buy("BTCUSDC", "0.01")',
    "bracket": 'made = orders.bracket(orders.market("BTCUSDC", "BUY", "0.01"), stop_loss="60000")',
    "invited": '{other} ; _ = other.exchange.bind_referral(session.info.referral_code()["code"].item())',
    "rest": 'made = session.buy("BTCUSDC", "0.01", "50000")',
    "vault": 'vault = session.exchange.vault_create("Fund", "500").data["vault"]',
    "other": "other = toolkit.connect(venue=session.venue, account=1)",
    "builder": '{other} ; _ = other.exchange.register_builder("builders")',
    "allowed": "{builder} ; wallet, builder = other.wallet.agent, other.account"
    ' ; _ = session.exchange.approve_agent_to_builder(wallet, builder, "0.0005")',
}
"""The code that examples share."""

_EXAMPLES = """
[Info]
products: session.info.products()["symbol"].head(2).tolist() → ['BTCUSDC', 'ETHUSDC']
product: session.info.product("BTCUSDC")["tick_size"].item() → 0.1
wallet_balances: session.info.wallet_balances()[["currency", "balance"]].values.tolist() → [['USDC', 10000.0]]
ledger: {trade} ; session.info.ledger()["kind"].tolist() → ['DEPOSIT', 'TRADING_FEE']
agents: session.info.agents()["name"].tolist() → ['toolkit']
agent: session.info.agent("toolkit")["status"].item() → 'ACTIVE'
order_states: {rest} ; session.info.order_states(symbol="BTCUSDC")["status"].tolist() → ['NEW']
order_events: {trade} ; session.info.order_events()["status"].tolist() → ['NEW', 'FILLED']
positions: {trade} ; session.info.positions()[["symbol", "long_size"]].values.tolist() → [['BTCUSDC', 0.01]]
fills: {trade} ; session.info.fills(role="TAKER")[["price", "quantity"]].values.tolist() → [[62506.6, 0.01]]
klines_last: session.info.klines_last("BTCUSDC", "1h", limit=2)["close"].tolist() → [62500.0, 61387.8]
klines_before: session.info.klines_before("BTCUSDC", "1h", limit=2)["close"].tolist() → [62500.0, 61387.8]
klines: session.info.klines("BTCUSDC", "1h", "2025-12-31 20:00", "2025-12-31 22:00")["close"].tolist()
    → [61929.3, 61563.4, 61387.8]
funding_rates: session.info.funding_rates(symbol="BTCUSDC")["funding_rate"].item() → 5e-05
funding_rate_history: session.info.funding_rate_history("BTCUSDC", start="1d")["funding_rate"].tolist()
    → [5e-05, 5e-05, 5e-05, 5e-05, -3.45e-05, 5e-05]
funding_payments: session.info.funding_payments(start="7d").columns[:4].tolist() → ['id', 'time', 'symbol', 'side']
vault: {vault} ; session.info.vault(vault)["name"].item() → 'Fund'
vaults: {vault} ; session.info.vaults()[["name", "status"]].values.tolist()
    → [['LP vault', 'OPEN'], ['Fund', 'OPEN']]
user_vaults: {vault} ; session.info.user_vaults()["shares"].tolist() → [500.0]
vault_user: {vault} ; session.info.vault_user(vault)["shares"].item() → 500.0
vault_history: {vault} ; session.info.vault_history(vault, kind="tvl")["value"].tolist() → [500.0]
vault_events: {vault} ; session.info.vault_events(vault)["amount"].tolist() → [500.0]
vault_depositors: {vault} ; session.info.vault_depositors(vault)["share"].tolist() → [1.0]
referral_code: session.info.referral_code()["code"].item() → 'A46573D78C'
referral_summary: {invited} ; int(session.info.referral_summary(period="7d")["invitees"].item()) → 1
referrals: {invited} ; session.info.referrals(sort_by="volume")["volume"].tolist() → [0.0]
referral_payouts: session.info.referral_payouts().columns.tolist()
    → ['id', 'time', 'amount', 'tier', 'account', 'source', 'tx_hash']
referral_tiers: session.info.referral_tiers()["reward_rate"].tolist() → [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]
builder_agents: {allowed} ; session.info.builder_agents(builder=builder)["max_fee_rate"].tolist() → [0.0005]
transactions: {trade} ; session.info.transactions()["action"].tolist() → ['placeOrder', 'approveAgent']
transaction: {done} ; session.info.transaction(receipt.tx_hash)["action"].item() → 'placeOrder'
block: {trade} ; session.info.block(1)["action"].tolist() → ['approveAgent', 'placeOrder']
[Exchange]
place_order: session.exchange.place_order(orders.market("BTCUSDC", "BUY", "0.01")).status → 'FILLED'
replace_order: {rest} ;
    better = {"ord_px": "51000", "ord_qty": "0.01", "ord_type": "LIMIT", "ord_side": "BUY", "time_in_force": "GTC"} ;
    session.exchange.replace_order("BTCUSDC", **better, ord_id=made.order_id).status → 'NEW'
place_bracket_order: {bracket} ; session.exchange.place_bracket_order(made).status → 'FILLED'
cancel_order: {rest} ; session.exchange.cancel_order({"symbolCode": "BTCUSDC", "ordId": made.order_id}).status
    → 'ACCEPTED'
cancel_all: {rest} ; session.exchange.cancel_all("BTCUSDC").status → 'ACCEPTED'
set_leverage: session.exchange.set_leverage("BTCUSDC", "5").status → 'ACCEPTED'
set_margin_mode: session.exchange.set_margin_mode("BTCUSDC", "ISOLATED").status → 'ACCEPTED'
assign_pos_margin: _ = session.exchange.set_margin_mode("BTCUSDC", "ISOLATED") ; {trade} ;
    session.exchange.assign_pos_margin("BTCUSDC", "50").status → 'ACCEPTED'
approve_agent: session.exchange.approve_agent(validity_seconds=86_400).status → 'ACCEPTED'
withdraw: session.exchange.withdraw(session.account, "100").status → 'ACCEPTED'
faucet_claim: session.exchange.faucet_claim().status → 'ACCEPTED'
usd_send: {other} ; session.venue.control.enable("usdSend") ;
    session.exchange.usd_send(other.account, "25").status → 'ACCEPTED'
bind_referral: {other} ; session.exchange.bind_referral(other.info.referral_code()["code"].item()).status
    → 'ACCEPTED'
register_builder: session.exchange.register_builder("builders").status → 'ACCEPTED'
approve_agent_to_builder: {allowed} ; session.permissions()["kind"].tolist() → ['agent', 'builder']
revoke_agent_to_builder: {allowed} ; session.exchange.revoke_agent_to_builder().status → 'ACCEPTED'
place_builder_order: {allowed} ;
    other.exchange.place_builder_order(orders.market("BTCUSDC", "BUY", "0.01"), builder, "0.0005").status → 'FILLED'
place_builder_bracket_order: {allowed} ; {bracket} ;
    other.exchange.place_builder_bracket_order(made, builder, "0.0005").status → 'FILLED'
vault_deposit: {vault} ; {other} ; other.exchange.vault_deposit(vault, "50").status → 'ACCEPTED'
vault_withdraw: {vault} ; session.exchange.vault_withdraw(vault, "100").status → 'ACCEPTED'
vault_create: session.exchange.vault_create("Fund", "500").status → 'ACCEPTED'
vault_update_owner: {vault} ; {other} ;
    session.exchange.vault_update_owner(other.account, vault_address=vault).status → 'ACCEPTED'
vault_close: {vault} ; session.exchange.vault_close(vault_address=vault).status → 'ACCEPTED'
vault_pre_withdraw: {vault} ; session.exchange.vault_pre_withdraw("100", vault_address=vault).status → 'ACCEPTED'
vault_create_sub_vault: {vault} ; session.exchange.vault_create_sub_vault(vault_address=vault).status → 'ACCEPTED'
vault_rebalance: {vault} ; sub = session.exchange.vault_create_sub_vault(vault_address=vault).data["vault"] ;
    session.exchange.vault_rebalance(vault, sub, "100").status → 'ACCEPTED'
"""


@cache
def examples_of(section: str) -> Mapping[str, list[str]]:
    """Return the lines of the doctest of each function of a section, after an empty one.

    Parameters
    ----------
    section : str
        Name of the section: a class.
    """
    table = _EXAMPLES.partition(f"\n[{section}]\n")[2].partition("\n[")[0]
    made = {}
    for line in table.replace("\n    ", " ").splitlines():
        name, _, rest = line.partition(": ")
        code, _, gives = rest.partition(" → ")
        while (filled := re.sub(r"\{(\w+)\}", lambda found: _BEFORE.get(found[1], found[0]), code)) != code:
            code = filled
        made[name] = ["", *(f">>> {one}" for one in code.replace(" ‖ ", "\n...     ").split(" ; ")), gives]
    return made
