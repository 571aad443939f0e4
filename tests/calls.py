"""What people write without looking, and what they get: `python -m tests.calls` writes tests/calls.md again.

The calls are invented: questions of research and trading, and calls with words, units and habits of other libraries.
"""

from __future__ import annotations

import re
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import toolkit
from toolkit import orders, research

PAGE = Path(__file__).with_name("calls.md")

QUESTIONS = """
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
s.positions()[["symbol", "side", "size"]]
s.positions().set_index("symbol")["liquidation_price"]
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
"""

MISTAKES = """
s.klines("BTCUSDC", 3600)
s.klines("BTCUSDC", 60)
s.klines("BTCUSDC", "60")
s.klines("BTCUSDC", "1M")
s.klines("BTCUSDC", "1 month")
s.klines("BTCUSDC", "hourly")
s.klines("BTCUSDC", "1500ms")
s.klines("BTCUSDC", "7m")
s.klines("BTCUSDC", None)
s.klines("BTCUSDC", pd.offsets.MonthEnd())
s.klines("BTC", "1h")
s.klines("BTC-USDC", "1h")
s.klines("BTC/USDC:USDC", "1h")
s.klines("BTCUSDT", "1h")
s.klines("XBTUSD", "1h")
s.klines("BTCUSDC", "1h", start="tomorrow")
s.klines("BTCUSDC", "1h", start="2027-01-01", end="2026-01-01")
s.klines("BTCUSDC", "1h", limit=0)
s.klines("BTCUSDC", "1h", since="2026-01-01")
s.klines("BTCUSDC", timeframe="1h")
s.klines("BTCUSDC", "1h", index="date")
s.candles("BTCUSDC")
s.ohlcv("BTCUSDC")
s.fetch_ohlcv("BTCUSDC")
s.fetch_balance()
s.balance()
s.postions()
s.get_positions()
s.create_order("BTCUSDC")
s.market_open("BTCUSDC")
s.open_orders()
s.my_trades()
s.advance("1h")
s.venue.tick()
s.venue.advance(3600)
s.venue.advance(3600.0)
s.venue.advance("3600")
s.venue.advance(-5)
s.venue.advance("-1h")
s.venue.advance("soon")
s.venue.advance()
s.venue.advance("1h", until="2030-01-01")
s.venue.advance(until="2020-01-01")
s.twap("BTCUSDC", "BUY", "0.1", 1800)
s.twap("BTCUSDC", "BUY", "0.1", 30)
s.twap("BTCUSDC", "BUY", "0.1", "30")
s.twap("BTCUSDC", "BUY", "0.1", "half an hour")
s.twap("BTCUSDC", "LONG", "0.1", "30m")
s.twap("BTCUSDC", "BUY", "0.1", "10s", slices=60)
s.twap("BTCUSDC", "BUY", "0.001", "30m")
s.twap("BTCUSDC", "BUY", "0.1", "30m", interval=60)
s.twap("BTCUSDC", "BUY", "0.1", "30m", slices=1)
s.buy("BTC", "0.01")
s.buy("bitcoin", "0.01")
s.buy(99, "0.01")
s.buy("BTCUSDC")
s.buy("BTCUSDC", "0.01", value="1000")
s.buy("BTCUSDC", value="5")
s.buy("BTCUSDC", value="-1000")
s.buy("BTCUSDC", value="1,000")
s.buy("BTCUSDC", value="$1000")
s.buy("BTCUSDC", "0")
s.buy("BTCUSDC", "-0.1")
s.buy("BTCUSDC", -0.1)
s.buy("BTCUSDC", "1,000")
s.buy("BTCUSDC", "0,01")
s.buy("BTCUSDC", "1e-3 BTC")
s.buy("BTCUSDC", 0.1 + 0.2)
s.buy("BTCUSDC", float("nan"))
s.buy("BTCUSDC", None, "60000")
s.buy("BTCUSDC", "all")
s.buy("BTCUSDC", "10%")
s.buy("BTCUSDC", "0.0001", "60000")
s.buy("BTCUSDC", "0.0015", "60000")
s.buy("BTCUSDC", "99999", "60000")
s.buy("BTCUSDC", "0.01", "60000.05")
s.buy("BTCUSDC", "0.01", "60,000")
s.buy("BTCUSDC", "0.01", "60k")
s.buy("BTCUSDC", "0.01", "-60000")
s.buy("BTCUSDC", "0.01", "0")
s.buy("BTCUSDC", "0.01", 60000.123456789)
s.buy("BTCUSDC", "0.01", "market")
s.buy("BTCUSDC", "0.01", stop="59000")
s.buy("BTCUSDC", "0.01", stop_loss="59000")
s.buy("BTCUSDC", "0.01", stopPrice="59000")
s.buy("BTCUSDC", "0.01", limit="59000")
s.buy("BTCUSDC", "0.01", limit_price="59000")
s.buy("BTCUSDC", "0.01", take_profit="66000")
s.buy("BTCUSDC", notional="1000")
s.buy("BTCUSDC", cost="1000")
s.buy("BTCUSDC", usd=1000)
s.buy("BTCUSDC", qty="0.01")
s.buy("BTCUSDC", size="0.01")
s.buy("BTCUSDC", amount="0.01")
s.buy("BTCUSDC", "0.01", "60000", time_in_force="GTC")
s.buy("BTCUSDC", "0.01", "60000", post_only=True)
s.buy("BTCUSDC", "0.01", "60000", reduceOnly=True)
s.buy("BTCUSDC", "0.01", "60000", client_order_id=5)
s.buy("BTCUSDC", "0.01", "60000", cloid="abc")
s.buy("BTCUSDC", "0.01", "60000", triggerPrice="59000")
s.buy("BTCUSDC", "0.01", "60000", leverage=10)
s.buy("BTCUSDC", "0.01", "60000", slipage="0.01")
s.buy("BTCUSDC", "0.01", "60000", tif="GTX")
s.buy("BTCUSDC", "0.01", "60000", tif="ALO")
s.buy("BTCUSDC", "0.01", "60000", tif="DAY")
s.buy("BTCUSDC", "0.01", "60000", tif="GTCC")
s.buy("BTCUSDC", "0.01", tif="POST_ONLY")
s.buy("BTCUSDC", "0.01", "60000", type="STOP")
s.buy("BTCUSDC", "0.01", type="LIMIT")
s.buy("BTCUSDC", "0.01", "60000", type="MARKET")
s.buy("BTCUSDC", "0.01", "60000", cl_ord_id="my order")
s.buy("BTCUSDC", "0.01", "60000", cl_ord_id=-1)
s.buy("BTCUSDC", "0.01", "50000", sl="51000")
s.buy("BTCUSDC", "0.01", "50000", tp="49000")
s.buy("BTCUSDC", "0.01", "50000", slippage="5%")
s.buy(orders.buy("BTCUSDC", "0.01"))
s.sell("BTCUSDC", "-0.1")
s.sell("BTCUSDC", 1e6)
s.place("BTCUSDC")
s.place([])
s.place({"symbol": "BTCUSDC", "side": "BUY"})
s.order(12345)
s.order("abc")
s.cancel(12345)
s.cancel("all")
s.cancel(symbol="BTCUSDC")
s.cancel_all("BTC")
s.replace(12345, orders.buy("BTCUSDC", "0.01", "60000"))
s.close_position("XRPUSDC")
s.close_position("BTC")
s.orders(status="live")
s.orders(status="expird")
s.orders(side="LONG")
s.orders(type="stop")
s.orders(start="last week")
s.fills(role="market maker")
s.positions(side="LONG")
s.order_book("BTCUSDC", depth=1000)
s.order_book("BTCUSDC", limit=5)
s.ticker()
s.exchange.set_leverage("BTCUSDC", "10x")
s.exchange.set_leverage("BTCUSDC", 1000)
s.exchange.set_leverage("BTCUSDC", -3)
s.exchange.set_leverage("BTCUSDC", 0)
s.exchange.set_leverage(leverage=5)
s.exchange.set_leverage("BTCUSDC", lev=5)
s.exchange.set_margin_mode("BTCUSDC", "crossed")
s.exchange.withdraw("0x1234", "5")
s.exchange.withdraw("0x" + "1" * 40, "1,000")
s.exchange.withdraw("0x" + "1" * 40, -5)
s.set_leverage("BTCUSDC", 5)
s.venue.control.set_price("BTCUSDC", "60000")
s.venue.control.add_fault("late-request", delay=5)
s.venue.control.market("wild")
s.stream.candles("BTCUSDC", 300)
s.stream.book("BTCUSDC")
s.buy("BTCUSDC", "0.01", "50000").wait("done")
s.buy("BTCUSDC", "0.01", "50000").wait("filled", timeout=-1)
s.buy("BTCUSDC", "0.01", "50000").wait("filled", timeout="long")
s.buy("BTCUSDC", "0.01", "50000").wait("filled", timeout=0)
orders.buy("BTCUSDC", "0.01", stop="59000")
orders.order("BTCUSDC", "long", "0.01")
orders.limit("BTCUSDC", "BUY", "0.01")
research.backtest(research.Strategy(), s.klines("BTCUSDC", "1h"), latency=200)
research.backtest(research.Strategy(), s.klines("BTCUSDC", "1h"), commission=0.001)
toolkit.connect(time_out=5)
toolkit.connect("testnett")
toolkit.connect(timeout=0)
toolkit.connect(expiry_ms="60s")
toolkit.LocalVenue
toolkit.Exchange
"""


def answer(session: toolkit.Session, call: str) -> str:
    """Return what a call gives, in one line: an error's class and sentence, the shape of a frame, else the repr."""
    names = {"s": session, "toolkit": toolkit, "orders": orders, "research": research}
    names |= {"pd": pd, "np": np, "timedelta": timedelta}
    try:
        found: Any = eval(call, names)
    except Exception as error:
        return f"**{type(error).__name__}** {error}"
    if isinstance(found, pd.DataFrame):
        shown = ", ".join(map(str, found.columns[:8])) + " …" * (found.shape[1] > 8)
        return f"{len(found)} rows by {found.index.name}: {shown}"
    if isinstance(found, pd.Series):
        found = found.to_dict()
    text = re.sub(r"\s+", " ", repr(found))
    return text if len(text) <= 200 else f"{text[:199]}…"


def page() -> str:
    """Return the page: every call with its answer."""
    lines = ["# Calls as people write them, and their answers", "", "Written by `python -m tests.calls`.", ""]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for title, calls in (("Questions", QUESTIONS), ("Mistakes", MISTAKES)):
            lines += [f"## {title}", ""]
            with toolkit.connect(clock="manual", seed=5) as session:
                for call in calls.strip().splitlines():
                    text = re.sub(r"0x[0-9a-f]{8}…", "0x…", answer(session, call))
                    lines += [f"- `{call}`  ", f"  {re.sub(r'clOrdId [0-9]+', 'clOrdId …', text)}"]
            lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
