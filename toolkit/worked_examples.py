"""Examples of public functions and methods, one a line: `name: code → what it gives`. They become doctests, which run.

A section is a class or a module. Words in braces stand for the lines of `_BEFORE`. A ` ; ` ends a line of code, a
` ‖ ` one within a block, and an indented line continues an entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from inspect import cleandoc
from typing import Any

_BEFORE = {
    "trade": '_ = session.buy("BTCUSDC", "0.01")',
    "done": 'receipt = session.buy("BTCUSDC", "0.01")',
    "bracket": 'made = orders.bracket(orders.market("BTCUSDC", "BUY", "0.01"), stop_loss="60000")',
    "invited": '{other} ; _ = other.exchange.bind_referral(session.info.referral_code()["code"].item())',
    "twap": 'parent = session.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5)',
    "live": 'live = session.stream.trades("BTCUSDC") ; _ = live.frame()',
    "rest": 'made = session.buy("BTCUSDC", "0.01", "50000")',
    "vault": 'vault = session.exchange.vault_create("Fund", "500").data["vault"]',
    "other": "other = toolkit.connect(venue=session.venue, account=1)",
    "builder": '{other} ; _ = other.exchange.register_builder("builders")',
    "allowed": "{builder} ; wallet, builder = other.wallet.agent, other.account"
    ' ; _ = session.exchange.approve_agent_to_builder(wallet, builder, "0.0005")',
}
"""The code that examples share."""

_EXAMPLES = """
[session]
connect: toolkit.connect(clock="manual", seed=3, market="calm")
    → <Session local in this process, account 0xf39F…2266, signs as agent and master>
[Session]
what_if: _ = session.buy("BTCUSDC", "0.1") ;
    session.what_if("BTCUSDC", "-0.2")["unrealized_pnl"].round().tolist() → [-1.0, -1251.0]
close: short = toolkit.connect(clock="manual") ; short.close() ; short.stream.health.state → 'idle'
[session_methods]
SessionPermissions: session.permissions()[["kind", "name", "status"]].values.tolist()
    → [['agent', 'toolkit', 'ACTIVE']]
ParentOrders: {twap} ; session.parent_orders()[["status", "done", "slices"]].values.tolist() → [['RUNNING', 1, 5]]
SessionLimits: session.limits → <SessionLimits trading, no limits>
Intents: {trade} ; session.intents()[["action", "state"]].values.tolist()
    → [['approveAgent', 'ACCEPTED'], ['placeOrder', 'ACCEPTED']]
Products: session.products()["tick_size"].head(2).to_dict() → {'BTCUSDC': 0.1, 'ETHUSDC': 0.01}
Builder: toolkit.Builder(session).register("builders").status → 'ACCEPTED'
[TradingFlows]
product: session.product("BTCUSDC").tick_size → Decimal('0.1')
buy: session.buy("BTCUSDC", "0.01") → <Receipt placeOrder ACCEPTED, order 1 filled 0.01 at 62506.6, tx 0x6590137d…>
sell: session.sell("BTCUSDC", "0.01", "70000", tif="POST_ONLY").status → 'NEW'
order: {rest} ; session.order(made.order_id).status → 'NEW'
replace: {rest} ; session.replace(made, orders.limit("BTCUSDC", "BUY", "0.01", "51000")).status → 'NEW'
place: ladder = [orders.limit("BTCUSDC", "BUY", "0.01", price) for price in ("50000", "51000")] ;
    [each.status for each in session.place(ladder).orders] → ['NEW', 'NEW']
cancel: {rest} ; _ = session.cancel(made) ; made.status → 'CANCELED'
cancel_all: {rest} ; _ = session.cancel_all("BTCUSDC") ; made.status → 'CANCELED'
close_position: {trade} ; session.close_position("BTCUSDC").filled, len(session.positions()) → (Decimal('0.010'), 0)
resolve: session.resolve()  # nothing is unknown → []
[IntentFlows]
get: session.intents.get(session.buy("BTCUSDC", "0.01").intent).state → <IntentState.ACCEPTED: 'ACCEPTED'>
send: session.intents.send(session.intents.prepare(orders.market("BTCUSDC", "BUY", "0.01"))).status → 'FILLED'
prepare: session.intents.prepare(orders.limit("BTCUSDC", "BUY", "0.01", "50000")).payload["type"] → 'placeOrder'
[LimitFlows]
stop: _ = session.limits.stop("lost the feed") ; session.limits.stopped → 'lost the feed'
resume: _ = session.limits.stop("lost the feed") ; session.limits.resume() ; session.limits.stopped → ''
[ParentOrderFlows]
twap: {twap} ; _ = session.venue.advance("10m") ; parent.status, parent.filled → ('FINISHED', Decimal('0.050'))
[ParentOrderPartFlows]
get: {twap} ; session.parent_orders.get(parent.id).status → 'RUNNING'
start_twap: made = orders.twap("BTCUSDC", "BUY", "0.05", "10m", slices=5) ;
    first = session.intents.prepare(orders.market("BTCUSDC", "BUY", "0.01")) ;
    session.parent_orders.start_twap(made, first).describe()
    → 'BUY 0.05 BTCUSDC at market in 5 orders over 0:10:00: 1 of 5, 0.010 filled at 62506.6'
[PermissionFlows]
revoke: session.permissions.revoke("toolkit").status → 'ACCEPTED'
allow_builder: {builder} ; session.permissions.allow_builder(other.account, other.wallet.agent, "0.0005").status
    → 'ACCEPTED'
end_builder: {allowed} ; session.permissions.end_builder().status → 'ACCEPTED'
[BuilderFlows]
register: toolkit.Builder(session).register("builders").status → 'ACCEPTED'
traders: _ = toolkit.Builder(session).register("builders") ; len(toolkit.Builder(session).traders()) → 0
place: {allowed} ; toolkit.Builder(other).place(orders.market("BTCUSDC", "BUY", "0.01"), "0.0005").status → 'FILLED'
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
[Stream]
order_book: session.stream.order_book("BTCUSDC", depth=1).frame().values.tolist()
    → [['BUY', 1, 62493.4, 0.344], ['SELL', 1, 62506.6, 0.359]]
trades: session.stream.trades("BTCUSDC").frame()["price"].tail(2).tolist() → [62503.4, 62500.0]
ticker: live = session.stream.ticker("BTCUSDC") ; _ = live.frame() ; live.value.last → Decimal('62500.0')
tickers: session.stream.tickers().frame()["mark_price"].head(2).tolist() → [62500.0, 2450.0]
candles: session.stream.candles("BTCUSDC", "1h").frame()["close"].tail(2).tolist() → [61387.8, 62500.0]
account: session.stream.account().frame()["balance"].tolist() → [10000.0]
orders: {rest} ; session.stream.orders().frame()["status"].tolist() → ['NEW']
positions: {trade} ; session.stream.positions().frame()["long_size"].tolist() → [0.01]
leverages: _ = session.exchange.set_leverage("BTCUSDC", "5") ;
    session.stream.leverages().frame()["leverage"].tolist() → [5.0]
fills: {trade} ; session.stream.fills().frame()["quantity"].tolist() → [0.01]
order_history: {trade} ; session.stream.order_history().frame()["status"].tolist() → ['NEW', 'FILLED']
closed_positions: live = session.stream.closed_positions() ; {trade} ; _ = session.close_position("BTCUSDC") ;
    live.frame()["pnl"].tolist() → [-0.132]
funding: session.stream.funding().frame().columns[:4].tolist() → ['time', 'symbol', 'side', 'size']
events: live = session.stream.events() ; {trade} ; live.frame()["kind"].tolist()
    → ['perpOrder', 'perpOrder', 'actionAck']
blocks: live = session.stream.blocks() ; _ = session.venue.advance("2s") ; live.frame()["block"].tolist() → [1, 2]
block_height: _ = session.venue.advance("2s") ; int(session.stream.block_height().frame()["block"].item()) → 2
transactions: live = session.stream.transactions() ; {trade} ; live.frame()["action"].tolist() → ['placeOrder']
assert_healthy: {live} ; session.stream.assert_healthy(max_age_ms=1_000) ; session.stream.health.state → 'open'
close: {live} ; session.stream.close() ; live.state → 'closed'
[Live]
frame: session.stream.ticker("BTCUSDC").frame()[["last", "mark_price"]].values.tolist() → [[62500.0, 62500.0]]
rows: {live} ; [row.price for row in live.rows(2)] → [Decimal('62503.4'), Decimal('62500.0')]
wait: session.stream.ticker("BTCUSDC").wait(lambda live: live.value.last > 0).state → 'live'
on_update: seen = [] ; {live} ; _ = live.on_update(seen.append) ; {trade} ; [each.kind for each in seen]
    → ['incremental']
on_state: seen = [] ; live = session.stream.trades("BTCUSDC") ; _ = live.on_state(seen.append) ;
    _ = live.frame() ; [each.kind for each in seen] → []
off: seen = [] ; {live} ; live.off(live.on_update(seen.append)) ; {trade} ; seen → []
assert_healthy: {live} ; live.assert_healthy(max_age_ms=1_000) ; live.age_ms → 0
close: {live} ; live.close() ; live.state → 'closed'
[Receipt]
refresh: {rest} ; _ = session.cancel_all() ; made.refresh() ; made.status → 'CANCELED'
wait: session.buy("BTCUSDC", "0.01").wait("filled", timeout="5s").average_price → Decimal('62506.6')
cancel: {rest} ; _ = made.cancel() ; made.status → 'CANCELED'
replace: {rest} ; made.replace(orders.limit("BTCUSDC", "BUY", "0.01", "51000")).status → 'NEW'
events: {done} ; receipt.events()["status"].tolist() → ['NEW', 'FILLED']
[ParentOrder]
cancel: {twap} ; parent.cancel().status → 'CANCELED'
resume: {twap} ; _ = session.venue.advance("5m") ; parent.resume().status → 'RUNNING'
wait: {twap} ; _ = session.venue.advance("10m") ; parent.status → 'FINISHED'
children: {twap} ; parent.children()[["quantity", "average_price"]].values.tolist() → [[0.01, 62506.6]]
describe: {twap} ; parent.describe()
    → 'BUY 0.05 BTCUSDC at market in 5 orders over 0:10:00: 1 of 5, 0.010 filled at 62506.6'
[orders]
order: orders.order("BTCUSDC", "BUY", "0.01", "60000", tif="POST_ONLY")
    → <Order BUY 0.01 BTCUSDC at 60000 POST_ONLY>
buy: orders.buy("BTCUSDC", "0.01", "60000") → <Order BUY 0.01 BTCUSDC at 60000>
sell: orders.sell("BTCUSDC", "0.01", "60000", tp="55000") → <Bracket SELL 0.01 BTCUSDC at 60000 | take profit 55000>
limit: orders.limit("BTCUSDC", "BUY", "0.01", "60000") → <Order BUY 0.01 BTCUSDC at 60000>
market: orders.market("BTCUSDC", "SELL", "0.01", slippage="0.01")
    → <Order SELL 0.01 BTCUSDC at market slippage 0.01>
stop: orders.stop("BTCUSDC", "SELL", "57000")
    → <Order SELL all of BTCUSDC at market when mark reaches 57000 as stop-loss of the position>
take_profit: orders.take_profit("BTCUSDC", "SELL", "66000", "0.01")
    → <Order SELL 0.01 BTCUSDC at market when mark reaches 66000 as take-profit of the position>
bracket: orders.bracket(orders.buy("BTCUSDC", "0.01"), take_profit="66000", stop_loss="57000")
    → <Bracket BUY 0.01 BTCUSDC at market | take profit 66000 | stop loss 57000>
close_position: orders.close_position("BTCUSDC", "-0.01") → <Order BUY 0.01 BTCUSDC at market reduce-only>
scale: orders.scale(session.product("BTCUSDC"), "BUY", "0.03", first="60000", last="58000", count=3)
    → [<Order BUY 0.010 BTCUSDC at 60000.0>, <Order BUY 0.010 BTCUSDC at 59000.0>, <Order BUY 0.010 BTCUSDC at 58000.0>]
twap: orders.twap("BTCUSDC", "BUY", "1", "30m", slices=10)
    → <Twap BUY 1 BTCUSDC at market in 10 orders over 0:30:00>
[Shape]
check: order = orders.limit("BTCUSDC", "BUY", "0.01", "60000") ; order.check(session.product("BTCUSDC")) is order → True
failures: wrong = orders.limit("BTCUSDC", "BUY", "0.01", "60000.05") ;
    [each.field for each in wrong.failures(session.product("BTCUSDC"))] → ['ordPx']
describe: orders.market("BTCUSDC", "BUY", "0.01").describe() → 'BUY 0.01 BTCUSDC at market'
[Order]
failures: stop = orders.stop("BTCUSDC", "SELL", "61000") ; product = session.product("BTCUSDC") ;
    [each.field for each in stop.failures(product, entry=product.round_price("60000", "down"))] → ['triggerPx']
describe: orders.limit("BTCUSDC", "BUY", "0.01", "60000", tif="POST_ONLY").describe()
    → 'BUY 0.01 BTCUSDC at 60000 POST_ONLY'
to_item: orders.market("BTCUSDC", "BUY", "0.01").to_item(session.product("BTCUSDC"))["timeInForce"] → 'IOC'
to_items: len(orders.market("BTCUSDC", "BUY", "0.01").to_items(session.product("BTCUSDC"))) → 1
[Bracket]
to_items: {bracket} ; [item["ordSide"] for item in made.to_items(session.product("BTCUSDC"))] → ['BUY', 'SELL']
"""


@cache
def examples_of(section: str) -> Mapping[str, list[str]]:
    """Return the lines of the doctest of each function of a section, after an empty one."""
    table = _EXAMPLES.partition(f"\n[{section}]\n")[2].partition("\n[")[0]
    made = {}
    for line in table.replace("\n    ", " ").splitlines():
        name, _, rest = line.partition(": ")
        code, _, gives = rest.partition(" → ")
        while (filled := re.sub(r"\{(\w+)\}", lambda found: _BEFORE.get(found[1], found[0]), code)) != code:
            code = filled
        made[name] = ["", *(f">>> {one}" for one in code.replace(" ‖ ", "\n...     ").split(" ; ")), gives]
    return made


def add_examples(holder: type | Mapping[str, Any], section: str) -> None:
    """Add the examples of a section to the docstrings of functions of a class, or of those of the names."""
    for name, lines in examples_of(section).items():
        found = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name)
        if found is None:
            continue
        function = getattr(found, "generator", None) or getattr(found, "__func__", found)
        function.__doc__ = "\n".join([cleandoc(function.__doc__ or ""), *lines])
