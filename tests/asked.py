"""Questions of research and trading, as people write them without looking. The calls are invented."""

from __future__ import annotations

QUESTIONS: dict[str, str] = {
    "A first day": """
s.products()
s.products().loc["BTCUSDC", "max_leverage"]
s.products()["tick_size"].astype(float).idxmin()
s.products.margin_tables()
s.products.currencies()
s.product("btcusdc").step_size
s.product(2).symbol
s.ticker("BTCUSDC")
s.ticker("BTCUSDC")["mark_price"].item() > 0
s.tickers()
s.tickers().index.tolist()
s.order_book("BTCUSDC", depth=5)
s.order_book("BTCUSDC").groupby("side")["quantity"].sum()
s.trades("BTCUSDC")
s.trades("BTCUSDC")["side"].value_counts()
s.klines("BTCUSDC")
s.klines("BTCUSDC", "1m", limit=10)
s.klines("BTCUSDC", "1H", start="7d")
s.klines("BTCUSDC", "4h", start="2025-12-01", end="2025-12-08")
s.klines("BTCUSDC", timedelta(minutes=15), limit=4)
s.klines("BTCUSDC", pd.offsets.Hour(4), limit=4)
s.klines("BTCUSDC", pd.Timedelta("1D"), limit=4)
s.klines("BTCUSDC", "30min", limit=4)
s.klines("ETHUSDC", "1d", start="yesterday")
s.klines("ETHUSDC", "1w", limit=2)
s.klines("SOLUSDC", "5m", limit=3, closed=True)
s.klines("SOLUSDC", "5m", limit=3, fill=True)
s.klines("XRPUSDC", "1h", limit=3, index=None)
s.klines("BTCUSDC", "1h", limit=3, exact=True)["close"].iloc[0].__class__.__name__
s.klines("BTCUSDC", "1h", limit=25)["close"].pct_change().std() > 0
s.klines("BTCUSDC", "1h", limit=25)["close"].rolling("6h").mean().iloc[-1] > 0
s.klines("BTCUSDC", "1h", limit=25)["high"].max() >= s.klines("BTCUSDC", "1h", limit=25)["low"].min()
s.klines("BTCUSDC", "15m", limit=8).resample("1h")["volume"].sum()
s.funding_rates()
s.funding_rates("BTCUSDC")["annualised"]
s.info.funding_rate_history("BTCUSDC", start="7d")
s.info.funding_payments()
s.fee_rates()
s.fee_rates().loc["BTCUSDC", "taker_fee_rate"]
s.wallet_balances()
s.wallet_balances()["equity"].sum()
s.positions()
s.positions("BTCUSDC")
s.orders()
s.orders(open=True)
s.orders(status="open")
s.orders(status="untriggered")
s.orders(status="cancelled")
s.orders("BTCUSDC", start="1d")
s.orders(side="buy")
s.orders(type="limit")
s.fills()
s.fills("BTCUSDC", start="1d")
s.fills(index="time")
s.info.ledger()
s.intents()
s.parent_orders()
s.account
s.clock.now_ms()
s.buy("BTCUSDC", "0.01")
s.buy("BTCUSDC", "0.01", "50000")
s.buy("BTCUSDC", 0.01, 50000)
s.buy("BTCUSDC", "0.01", price="50000", tif="post_only")
s.buy("BTCUSDC", value="1000")
s.buy("BTCUSDC", value=1000, price="50000")
s.sell("BTCUSDC", value="500")
s.sell("BTCUSDC", "0.01", reduce_only=True)
s.sell("ETHUSDC", "0.1", "3500", tif="GTC")
s.buy("SOLUSDC", "1", tp="400", sl="50")
s.buy("BTCUSDC", "0.01", "90000", tif="IOC").filled
s.buy("BTCUSDC", "0.01", "50000").wait("open", timeout="5s").status
s.buy("BTCUSDC", "0.01", "50000").wait("open", timeout=timedelta(seconds=5)).remaining
s.buy("BTCUSDC", "0.01", "50000").cancel()
s.buy("BTCUSDC", "0.01", "50000").replace(orders.buy("BTCUSDC", "0.02", "50100"))
s.place([orders.buy("BTCUSDC", "0.01", "50000"), orders.sell("BTCUSDC", "0.01", "90000")])
s.intents.prepare(orders.buy("BTCUSDC", "0.01", "50000"))
s.twap("BTCUSDC", "BUY", "0.1", "30m")
s.twap("BTCUSDC", "sell", "0.1", timedelta(minutes=30), slices=10)
s.twap("BTCUSDC", "BUY", "0.1", "1h 30m", price="70000")
s.twap("BTCUSDC", "BUY", "0.1", np.timedelta64(30, "m"))
s.venue.advance("2 min") > 0
s.venue.advance("90s") > 0
s.venue.advance(timedelta(seconds=30)) > 0
s.venue.advance(pd.Timedelta("30s")) > 0
s.positions()[["side", "size"]]
s.positions()["liquidation_price"]
s.close_position("BTCUSDC")
s.cancel_all("BTCUSDC")
s.cancel_all()
s.exchange.set_leverage("BTCUSDC", 5)
s.exchange.set_leverage("BTCUSDC", "10")
s.exchange.set_margin_mode("ETHUSDC", "isolated")
s.exchange.set_margin_mode("ETHUSDC", "cross")
s.what_if("SOLUSDC", -0.2)
s.stream.order_book("BTCUSDC").frame()
s.stream.candles("BTCUSDC", "5m").frame(timeout="1s")
s.stream.ticker("BTCUSDC").frame(timeout=1)
orders.bracket(orders.buy("BTCUSDC", "0.01", "60000"), take_profit="66000", stop_loss="57000")
orders.limit("BTCUSDC", "BUY", "0.01", "60000")
orders.market("BTCUSDC", "SELL", "0.01")
orders.twap("BTCUSDC", "BUY", "0.1", "2h")
toolkit.Limits(max_orders_per_minute=5)
""",
    "A study of the market": """
s.tickers()["funding_rate"].idxmax()
s.tickers().loc["ETHUSDC", "open_interest"]
s.tickers()[["last", "mark_price", "oracle_price"]].notna().all().all()
s.tickers().sort_values("turnover", ascending=False).index[0]
s.tickers().eval("(mark_price / oracle_price - 1) * 1e4").round(1)
s.ticker(["BTCUSDC", "ETHUSDC"])["last"]
s.klines(["BTCUSDC", "ETHUSDC"], "1h", limit=24)
s.klines(["BTCUSDC", "ETHUSDC"], "1h", limit=24)["close"].unstack("symbol").corr().shape
s.klines(["BTCUSDC", "ETHUSDC"], "1h", limit=24).loc["ETHUSDC"]
s.klines(s.products().index, "1d", limit=3)
s.klines(["BTCUSDC", "ETHUSDC"], "1h", limit=2, index=None)
s.klines(["BTCUSDC"], "1h", limit=5).groupby("symbol")["volume"].mean()
s.klines("BTCUSDC", "1d", start="30d")["close"].pct_change().std() * 365 ** 0.5 > 0
s.klines("BTCUSDC", "1h", end="2025-12-01", limit=5).index[-1]
s.klines("BTCUSDC", "1h", start=pd.Timestamp("2025-12-30"), end=pd.Timestamp("2025-12-31"))
s.klines("BTCUSDC", "1h", "2025-12-30", "2025-12-31")
s.klines("BTCUSDC", "1h", start=1767139200)
s.klines("BTCUSDC", "1h", limit=5)[::-1]
s.klines(1, "1h", limit=5)["symbol"].iloc[0]
s.klines("btcusdc", "1h", limit=1)
s.klines("BTCUSDC", "1h", limit=100)["close"].ewm(span=20).mean().iloc[-1] > 0
s.klines("BTCUSDC", "1h", limit=48)["turnover"].sum() / s.klines("BTCUSDC", "1h", limit=48)["volume"].sum() > 0
s.klines("BTCUSDC", "1h", limit=48).between_time("08:00", "16:00")
s.trades("BTCUSDC", limit=20)
s.trades(["BTCUSDC", "ETHUSDC"], limit=5)
s.trades("BTCUSDC", start="1m")
s.trades("BTCUSDC", index="time")["price"].resample("10s").ohlc().shape[1]
s.trades("BTCUSDC").groupby("side")["quantity"].sum().index.tolist()
(s.trades("BTCUSDC")["price"] * s.trades("BTCUSDC")["quantity"]).sum() > 0
s.order_book("BTCUSDC", 50)["level"].max()
s.order_book("BTCUSDC", depth=1)["price"].diff().iloc[-1] > 0
s.order_book("BTCUSDC", index="price").index[0] > 0
s.product("BTCUSDC").max_leverage
s.product("BTCUSDC").tiers[0].maintenance_rate
s.products()[["tick_size", "step_size", "min_order_value"]]
s.products().query("max_leverage >= 40").index.tolist()
s.fee_rates()["taker_fee_rate"].max() * 1e4
toolkit.margin.liquidation_price(1, "0.1", "60000", "600", s.product("BTCUSDC").tiers)
""",
    "Looking after an account": """
s.buy("BTCUSDC", "0.02")
s.sell("ETHUSDC", "0.5")
s.buy("SOLUSDC", "1", "100")
s.sell("BTCUSDC", "0.01", "90000")
s.positions().loc["BTCUSDC", "size"]
s.positions()["unrealized_pnl"].sum()
s.positions()["notional"].abs().sum() / s.wallet_balances()["equity"].item()
s.positions(["BTCUSDC", "ETHUSDC"])
s.positions("BTCUSDC")["liquidation_price"]
s.positions(index=None)["symbol"].tolist()
s.positions(exact=True)["entry_price"].iloc[0].__class__.__name__
"BTCUSDC" in s.positions().index
s.positions().empty
s.fills(["BTCUSDC", "ETHUSDC"])["value"].sum()
s.fills()["fee"].sum()
s.fills(start="today")
s.fills(side="buy", role="taker")
s.fills(order_id=1)
s.orders(["BTCUSDC", "ETHUSDC"], open=True)
s.orders(status="filled")["filled"].sum()
s.orders(status="rejected")
s.orders(open=True)["order_id"].tolist()
s.info.ledger(kind="TRADING_FEE")["amount"].sum()
s.info.ledger(start="1d")
s.info.order_events()["status"].unique().tolist()
s.info.funding_rate_history("BTCUSDC", start="30d")["mark_price"]
s.info.wallet_balances()
s.info.agents()
s.wallet_balances(exact=True)["available"].iloc[0] > 0
s.wallet_balances().iloc[0]["balance"] > 0
""",
    "A day of trading": """
s.buy("BTCUSDC", Decimal("0.01"))
s.buy("BTCUSDC", quantity=np.float64(0.01))
s.buy("BTCUSDC", np.int64(1), "50000")
s.buy(1, "0.01")
s.buy("btcusdc", "0.01")
s.buy("BTCUSDC", "0.010", "50000.0")
s.buy("BTCUSDC", value=Decimal("250")).note
s.buy("BTCUSDC", "0.01", slippage="0.01")
s.buy("BTCUSDC", "0.01", "90000", tif="FOK").status
s.buy("BTCUSDC", "0.01", "50000", cl_ord_id=77).status
s.order(77, by="cl_ord_id").status
s.order(1).status
s.sell("BTCUSDC", "0.001", reduce_only=True).average_price > 0
s.place(orders.bracket(orders.buy("BTCUSDC", "0.01", "60000"), take_profit="66000", stop_loss="57000"))
s.cancel(s.orders(open=True))
s.twap("ETHUSDC", "SELL", "1", "45min", slices=9)
s.parent_orders()[["side", "quantity"]]
s.venue.advance("0.5h") > 0
s.venue.advance(pd.offsets.Minute(10)) > 0
s.venue.control.set_oracle("BTCUSDC", "63000")
s.exchange.set_leverage(1, 7.5)
s.exchange.set_leverage(symbol="ETHUSDC", leverage=3)
s.exchange.approve_agent()
s.resolve()
s.buy("BTCUSDC", "1e-2")
s.buy("BTCUSDC", ".01")
s.buy("BTCUSDC", "0.01", type="market")
s.buy("BTCUSDC", "0.01", "60000", type="limit")
s.buy("BTCUSDC", "0.01", "60000", tif="gtc")
s.buy("BTCUSDC", "0.01", "60000", tif=None)
s.buy("BTCUSDC", "0.01", "60000", cl_ord_id="7")
research.backtest(research.Strategy, s.klines("BTCUSDC", "1h"))
research.backtest(research.Strategy(), s.klines(["BTCUSDC", "ETHUSDC"], "1h"))
""",
    "Taking tables along": """
s.buy("BTCUSDC", "0.02")
report.to_excel(s.positions(), folder / "positions.xlsx").name
report.to_excel({"candles": s.klines(["BTCUSDC", "ETHUSDC"], "1h", limit=3)}, folder / "all.xlsx").name
s.fills().to_csv(folder / "fills.csv")
s.fills().to_parquet(folder / "fills.parquet")
len(pd.read_excel(folder / "all.xlsx", sheet_name="candles"))
""",
}
"""Title → calls, which one session answers in turn."""
