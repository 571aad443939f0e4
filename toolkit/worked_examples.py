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
    "held": 'def on_bar(ctx, bar): ‖ ctx.target(bar.symbol, "0.1")',
    "resting": 'def on_bar(ctx, bar): ‖ placed = ctx.buy(bar.symbol, "0.01", "50000")',
    "fills": 'research.backtest(on_bar, bars).fills[["side", "price"]].head(2).values.tolist()',
    "states": 'research.backtest(on_bar, bars).orders["status"].unique().tolist()',
    "last": "research.backtest(on_bar, bars).records.iloc[-1].to_dict()",
    "recorded": 'recorder = research.record(session, "recorded", ["BTCUSDC"]) ; _ = session.venue.advance("2m")'
    ' ; recorder.close() ; kept = research.Recording("recorded")',
    "events": '{recorded} ; events = data.load("recorded", format="recording")',
    "tried": 'research.trials.clear() ; research.trials.add("one", 1.5) ; research.trials.add("other", 0.5)',
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
[ProductFlows]
margin_tables: session.products.margin_tables().loc[1, "max_leverage"].tolist() → [40.0, 20.0]
currencies: session.products.currencies().index.tolist() → ['USDC']
[TableFlows]
ticker: session.ticker("BTCUSDC")[["last", "mark_price", "funding_rate"]].values.tolist()
    → [[62500.0, 62500.0, 5e-05]]
trades: session.trades("BTCUSDC", limit=2)[["side", "price", "quantity"]].values.tolist()
    → [['SELL', 62503.4, 0.009], ['SELL', 62500.0, 0.025]]
wallet_balances: session.wallet_balances()[["currency", "balance"]].values.tolist() → [['USDC', 10000.0]]
tickers: session.tickers()["mark_price"].idxmax() → 'BTCUSDC'
fee_rates: session.fee_rates().loc["BTCUSDC"].to_dict() → {'maker_fee_rate': 0.0001, 'taker_fee_rate': 0.0006}
funding_rates: session.funding_rates("BTCUSDC")["annualised"].item() → 0.1095
[ExchangeFlows]
send: session.exchange.send({"type": "setLeverage", "symbolCode": 1, "leverage": "5"}).status → 'ACCEPTED'
revoke_agent: session.exchange.revoke_agent("toolkit").status → 'ACCEPTED'
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
[plots]
candles: prices, volumes = plots.candles(bars) ; prices.get_ylabel() → 'price (USDC)'
depth: plots.depth(session.order_book("BTCUSDC")).get_xlabel() → 'price (USDC)'
equity: above, below = plots.equity(run.equity) ; above.get_ylabel() → 'equity (USDC)'
funding: rates, total = plots.funding(session.info.funding_rate_history("BTCUSDC", start="1d")) ;
    rates.get_ylabel() → 'funding (% an interval)'
positions: {trade} ; plots.positions(session.fills()).get_ylabel() → 'size (base units, short below 0)'
theme_named: plots.theme_named("dark").paper → '#14181f'
use: plots.use("light").paper → '#ffffff'
[report]
account_frames: {trade} ; report.account_frames(session)["fills"][["side", "price", "fee"]].values.tolist()
    → [['BUY', 62506.6, 0.37504]]
account_day: {trade} ; [panel.get_ylabel() for panel in report.account_day(session).axes]
    → ['USDC', '%', '', 'USDC']
to_excel: {trade} ; report.to_excel({"fills": session.fills()}, "account.xlsx").name → 'account.xlsx'
[metrics]
total_return: round(metrics.total_return(run.growth), 4) → 0.0258
annual_return: round(metrics.annual_return(run.growth), 4) → 2.051
sampling_period: metrics.sampling_period(run.growth) → Timedelta('0 days 01:00:00')
sampled_returns: metrics.sampled_returns(run.growth, "1D").round(4).tolist()[:3] → [-0.0067, 0.0185, 0.0049]
volatility: round(metrics.volatility(run.growth), 3) → 0.287
sharpe: round(metrics.sharpe(run.growth), 2) → 4.03
sortino: round(metrics.sortino(run.growth), 2) → 5.93
drawdown: metrics.drawdown(run.growth).round(4).tolist()[-3:] → [-0.0187, -0.0204, -0.0096]
max_drawdown: round(metrics.max_drawdown(run.growth), 4) → -0.0204
longest_drawdown: metrics.longest_drawdown(run.growth) → Timedelta('2 days 04:00:00')
calmar: round(metrics.calmar(run.growth), 2) → 100.68
turnover: round(metrics.turnover(run.fills, run.equity["equity"]), 2) → 15.69
time_in_market: metrics.time_in_market(run.exposure["gross"]) → 0.895
time_weighted: round(metrics.time_weighted(run.exposure["gross"]), 2) → 5589.85
round_trips: metrics.round_trips(run.fills)["side"].value_counts().to_dict() → {'LONG': 6, 'SHORT': 6}
hit_rate: round(metrics.hit_rate(run.round_trips), 3) → 0.583
profit_factor: round(metrics.profit_factor(run.round_trips), 3) → 1.983
fee_share: metrics.fee_share(net_profit=300.0, fees=100.0) → 0.25
summary: metrics.summary(run.growth, run.fills, run.funding, run.exposure["gross"])["round_trips"] → 12
[luck]
moments: [round(each, 2) for each in luck.moments(run.fine_returns())] → [0.04, -0.08, 7.33]
overfitting: round(luck.overfitting(luck.bootstrap(run.fine_returns(), draws=8).T), 3) → 0.862
bootstrap: luck.bootstrap(run.fine_returns(), draws=100).shape → (100, 200)
interval: [round(each, 5) for each in luck.interval(luck.bootstrap(run.fine_returns()).mean(axis=1))]
    → [-0.00013, 0.00043]
[research]
backtest: research.backtest(Cross(fast=3), bars, fees=("0", "0"))
    → Results('Cross', 2025-12-23 16:00 to 2026-01-01 00:00, 10,000.00 → 10,354.35 USDC (+3.54%), 9 fills)
sweep: found = research.sweep(Cross, {"fast": [3, 5]}, bars, workers=0, progress=False) ;
    found[["fast", "sharpe"]].round(2).values.tolist() → [[3.0, 4.52], [5.0, 4.03]]
optimise: found = research.optimise(Cross, {"fast": [3, 5]}, bars, workers=0, progress=False) ; found.best
    → {'fast': 3}
paper: run = research.paper(Cross, ["BTCUSDC"], duration="30m")
    → Cross ended (the time is over). Still open: LONG 0.1 BTCUSDC
live: research.live(Cross, session, ["BTCUSDC"], limits=toolkit.Limits(max_notional=10_000), duration="10m")
    → Results('Cross', 2026-01-01 00:00 to 2026-01-01 00:10, 10,000.00 → 10,000.00 USDC (+0.00%), 0 fills)
watch: research.watch(session, "grid-btc", duration="10ms")
    → watching run 'grid-btc' of 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
vectorised: research.vectorised(bars, (bars["close"].diff() > 0) * 0.1)
    → Results('vectorised', 2025-12-23 16:00 to 2026-01-01 00:00, 10,000.00 → 9,663.75 USDC (-3.36%), 90 fills)
vectorised_many: many = {days: (bars["close"].diff(days * 24) > 0) * 0.1 for days in (1, 2)} ;
    research.vectorised_many(bars, many, measures=["sharpe"]).round(2)["sharpe"].tolist() → [-4.76, -8.54]
record: recorder = research.record(session, "recorded", ["BTCUSDC"]) ; _ = session.venue.advance("5s") ;
    recorder.close() ; research.Recording("recorded").channels → ['candles', 'order_book', 'ticker', 'trades']
replay: research.replay(session, bars).symbols → ('BTCUSDC',)
compare: other = run.rerun(strategy=Cross(fast=3)) ;
    research.compare({"5": run, "3": other}).loc["sharpe"].astype(float).round(2).to_dict() → {'5': 4.03, '3': 4.52}
[data]
load: bars.to_csv("bars.csv") ; data.load("bars.csv", format="csv").shape → (200, 7)
check: data.check(bars.drop(bars.index[5:8]).reset_index())[["problem", "count"]].values.tolist() → [['gap', 3]]
[Results]
rerun: float(run.rerun(fees=("0", "0")).fills["fee"].sum()) → 0.0
audit: run.audit().loc["look-ahead", "detail"] → 'none at 11 orders'
metrics: run.metrics()[["sharpe", "max_drawdown"]].astype(float).round(3).to_dict()
    → {'sharpe': 4.03, 'max_drawdown': -0.02}
measures: round(run.measures()["total_return"], 4) → 0.0258
fine_returns: len(run.fine_returns()) → 200
luck: run.luck(trials=10)[["probabilistic_sharpe", "observations"]].astype(float).round(3).to_dict()
    → {'probabilistic_sharpe': 0.728, 'observations': 200.0}
report: run.report().axes[0].get_title(loc="left") → 'Equity, USDC'
page: run.page() → <Page 'Cross (fast = 5, slow = 20)'>
save: run.save("my-run").name → 'my-run'
load: _ = run.save("my-run") ; research.Results.load("my-run").name → 'Cross'
[Context]
buy: def on_bar(ctx, bar): ‖ if not ctx.position(bar.symbol): ‖     ctx.buy(bar.symbol, "0.01") ; {fills}
    → [['BUY', 63423.2]]
sell: def on_bar(ctx, bar): ‖ if not ctx.legs(bar.symbol)[1]: ‖
        ctx.sell(bar.symbol, "0.01", "62000", tif="POST_ONLY") ; {fills} → [['SELL', 62000.0], ['SELL', 62000.0]]
target: {held} ; {fills} → [['BUY', 63423.2]]
target_share: def on_bar(ctx, bar): ‖ ctx.target_share(bar.symbol, 0.5, tolerance=0.02) ; {fills} → [['BUY', 63423.2]]
bracket: def on_bar(ctx, bar): ‖ if not ctx.orders(): ‖
        ctx.bracket(bar.symbol, "0.1", take_profit="63500", stop_loss="60500") ; {fills}
    → [['BUY', 63423.2], ['SELL', 63500.0]]
one_cancels_other: def on_bar(ctx, bar): ‖ if not ctx.orders(): ‖
        exits = ctx.buy(bar.symbol, "0.01", "62000"), ctx.sell(bar.symbol, "0.01", "64000") ‖
        ctx.one_cancels_other(*exits) ; {fills} → [['SELL', 64000.0], ['SELL', 64798.1]]
trailing_stop: def on_bar(ctx, bar): ‖ if not ctx.position(bar.symbol): ‖     ctx.buy(bar.symbol, "0.1") ‖
        ctx.trailing_stop(bar.symbol, 0.01) ; {fills} → [['BUY', 63423.2], ['SELL', 64388.0]]
place: def on_bar(ctx, bar): ‖ if not ctx.orders(): ‖
        ctx.place(orders.limit(bar.symbol, "BUY", "0.01", "61000")) ; {fills} → [['BUY', 61000.0], ['BUY', 60632.8]]
cancel: {resting} ‖ ctx.cancel(placed) ; {states} → ['CANCELED']
modify: {resting} ‖ ctx.modify(placed, price="51000") ;
    research.backtest(on_bar, bars).orders["price"].iloc[0].item() → 51000.0
cancel_all: {resting} ‖ ctx.cancel_all(bar.symbol) ; {states} → ['CANCELED']
close_position: {held} ‖ if ctx.position(bar.symbol): ‖     ctx.close_position(bar.symbol) ; {fills}
    → [['BUY', 63423.2], ['SELL', 63244.1]]
set_leverage: {held} ‖ ctx.set_leverage(bar.symbol, "5") ‖ ctx.record(ratio=round(ctx.margin_ratio, 4)) ; {last}
    → {'ratio': 0.0079}
product: def on_bar(ctx, bar): ‖ ctx.record(step=float(ctx.product(bar.symbol).step_size)) ; {last} → {'step': 0.001}
position: {held} ‖ ctx.record(size=ctx.position(bar.symbol)) ; {last} → {'size': 0.1}
legs: {held} ‖ ctx.record(long=ctx.legs(bar.symbol)[0], short=ctx.legs(bar.symbol)[1]) ; {last}
    → {'long': 0.1, 'short': 0.0}
underway: {held} ‖ ctx.record(sent=ctx.underway(bar.symbol)) ;
    research.backtest(on_bar, bars).records["sent"].head(2).tolist() → [0.1, 0.0]
price: def on_bar(ctx, bar): ‖ ctx.record(price=ctx.price(bar.symbol)) ; {last} → {'price': 62500.0}
funding: def on_bar(ctx, bar): ‖ ctx.record(predicted=ctx.funding(bar.symbol).predicted) ; {last} → {'predicted': 5e-05}
liquidation_price: def on_bar(ctx, bar): ‖ ctx.target(bar.symbol, "1") ‖
    ctx.record(price=round(ctx.liquidation_price(bar.symbol), 1)) ; {last} → {'price': 54293.4}
positions: {held} ‖ ctx.record(unrealized=ctx.positions()["unrealized"].sum()) ; {last} → {'unrealized': -92.32}
orders: {resting} ‖ ctx.record(open=len(ctx.orders())) ; {last} → {'open': 200}
bars: def on_bar(ctx, bar): ‖ ctx.record(bars=len(ctx.bars(bar.symbol, "4h").close)) ; {last} → {'bars': 50}
book: def on_book(ctx, book): ‖
    ctx.record(spread=ctx.book(book.symbol).asks[0][0] - ctx.book(book.symbol).bids[0][0]) ;
    research.paper({"on_book": on_book}, ["BTCUSDC"], duration="1m").records["spread"].round(1).tail(2).tolist()
    → [19.5]
set_timer: def on_start(ctx): ‖ ctx.set_timer(30_000) ; def on_timer(ctx): ‖ ctx.record(price=ctx.price("BTCUSDC")) ;
    len(research.paper({"on_start": on_start, "on_timer": on_timer}, ["BTCUSDC"], duration="2m").records) → 3
record: def on_bar(ctx, bar): ‖ ctx.record(range=round(bar.high - bar.low, 1)) ; {last} → {'range': 1643.3}
stop: def on_bar(ctx, bar): ‖ ctx.record(close=bar.close) ‖ if bar.close < 61_000: ‖     ctx.stop("below 61,000") ;
    len(research.backtest(on_bar, bars).records) → 88
[Strategy]
I: class Slow(research.Strategy): ‖ def on_start(self, ctx): ‖     self.mean = self.I(indicators.SMA, 10) ‖
    def on_bar(self, ctx, bar): ‖     ctx.record(mean=round(self.mean[-1], 1)) ;
    research.backtest(Slow, bars).records["mean"].iloc[-1].item() → 61655.7
on_start: def on_start(ctx): ‖ ctx.set_leverage("BTCUSDC", "5") ; {held} ;
    research.backtest({"on_start": on_start, "on_bar": on_bar}, bars).fills["side"].tolist() → ['BUY']
on_bar: def on_bar(ctx, bar): ‖ ctx.target(bar.symbol, "0.1" if bar.close > bar.open else 0) ; {fills}
    → [['BUY', 63376.9], ['SELL', 64396.2]]
on_bars: def on_bars(ctx, latest): ‖ ctx.record(dearest=max(bar.close for bar in latest.values())) ;
    research.backtest({"on_bars": on_bars}, bars).records["dearest"].iloc[-1].item() → 62500.0
on_trade: def on_trade(ctx, trade): ‖ ctx.record(price=trade.price) ;
    research.paper({"on_trade": on_trade}, ["BTCUSDC"], duration="1m").records["price"].tail(2).tolist() → [62611.9]
on_book: def on_book(ctx, book): ‖ ctx.record(spread=book.asks[0][0] - book.bids[0][0]) ;
    research.paper({"on_book": on_book}, ["BTCUSDC"], duration="1m").records["spread"].round(1).tail(2).tolist()
    → [19.5]
on_timer: def on_timer(ctx): ‖ ctx.record(price=ctx.price("BTCUSDC")) ;
    len(research.paper({"on_timer": on_timer}, ["BTCUSDC"], duration="10s").records) → 99
on_fill: def on_fill(ctx, fill): ‖ ctx.record(fee=round(fill.fee, 4)) ; {held} ;
    research.backtest({"on_bar": on_bar, "on_fill": on_fill}, bars).records["fee"].tolist() → [3.8054]
on_reject: def on_bar(ctx, bar): ‖ ctx.target(bar.symbol, "1000") ; def on_reject(ctx, placed): ‖
    print(placed.reason) ‖ ctx.stop() ; _ = research.backtest({"on_bar": on_bar, "on_reject": on_reject}, bars)
    → margin: the order needs initial margin 3266290 USDC ...
on_funding: def on_funding(ctx, payment): ‖ ctx.record(paid=round(payment.payment, 4)) ; {held} ;
    research.backtest({"on_bar": on_bar, "on_funding": on_funding}, bars).records["paid"].head(2).tolist()
    → [-0.3169, -0.3202]
on_stop: def on_stop(ctx): ‖ ctx.record(left=ctx.position("BTCUSDC")) ; {held} ;
    research.backtest({"on_bar": on_bar, "on_stop": on_stop}, bars).records["left"].tolist() → [0.1]
[Recording]
frame: {recorded} ; kept.frame("ticker", "BTCUSDC", columns=["last"])["last"].tail(2).tolist() → [62611.9, 62655.6]
tops: {recorded} ; kept.tops("BTCUSDC")["mid"].tail(2).tolist() → [62606.65, 62660.5]
trades: {recorded} ; kept.trades("BTCUSDC")[["side", "price", "quantity"]].tail(1).values.tolist()
    → [['SELL', 62655.6, 0.016]]
bars: {recorded} ; kept.bars("BTCUSDC")[["open", "close"]].tail(1).values.tolist() → [[62577.7, 62655.6]]
recover: {recorded} ; kept.recover()  # it was closed → []
[Events]
between: {events} ; len(events.between("2026-01-01 00:01", "2026-01-01 00:02")) → 87
counts: {events} ; events.counts() → {'depth': 137, 'trade': 22, 'clear': 1, 'snapshot': 36, 'mark': 3, 'index': 3}
frame: {events} ; events.frame()[["kind", "price"]].tail(2).values.tolist() → [['mark', 62653.3], ['index', 62614.5]]
arrow: {events} ; events.arrow().column_names[:4] → ['exchange_time', 'local_time', 'kind', 'side']
save: {events} ; events.save("events.parquet") ; len(data.load("events.parquet", format="parquet")) == len(events)
    → True
bars: {events} ; events.bars("1m")[["open", "close"]].values.tolist() → [[62595.1, 62611.9], [62577.7, 62655.6]]
[Trials]
add: {tried} ; len(research.trials) → 2
paused: research.trials.clear() ; with research.trials.paused(): ‖ _ = research.backtest(Cross(fast=4), bars) ;
    len(research.trials) → 0
variance: {tried} ; research.trials.variance() → 0.5
frame: {tried} ; research.trials.frame().values.tolist() → [['one', 1.5], ['other', 0.5]]
clear: research.trials.clear() ; len(research.trials) → 0
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
[Theme]
with_colours: plots.LIGHT.with_colours(up="navy", down="orange").up → 'navy'
swapped: plots.LIGHT.swapped().up == plots.LIGHT.down → True
colour: plots.LIGHT.colour("up"), plots.LIGHT.colour(0) → ('#009E73', '#0072B2')
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
