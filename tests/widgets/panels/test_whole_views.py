"""Every panel whole, at a small market of fixed prices: each text and number that a reader sees, worked out by hand.

The account bought 0.5 BTC at 60,010 and sold 4 ETH at 2,999, both as a taker for 0.06 %. At the settlement the long
paid 0.5 × 60,010 × 0.005 % = 1.50025 USDC, and the short received 4 × 2,999 × 0.005 % = 0.5998. It sold 0.1 BTC again
at 59,990, a loss of 2 USDC. ETH's mark price is 3,100 then, so that the short has lost 404 USDC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import toolkit
from toolkit import orders, widgets
from toolkit.venue.local import LocalVenue
from toolkit.widgets.panels.header import Header

BTC, ETH = "BTCUSDC", "ETHUSDC"
BOOKS = {
    BTC: ("60000", ("BUY", "59990", "2"), ("BUY", "59980", "3"), ("SELL", "60010", "1"), ("SELL", "60030", "4")),
    ETH: ("3000", ("BUY", "2999", "50"), ("SELL", "3001", "50")),
}
"""Oracle price, and the levels of each book."""
said: dict[str, list[str]] = {}
saved: dict[str, str] = {}


@contextmanager
def scene() -> Iterator[dict[str, Any]]:
    """The views of all panels, by name."""
    with (
        LocalVenue(clock="manual", market=None, balance="10000", start="2026-01-01T00:00:00Z") as venue,
        toolkit.connect(venue=venue) as session,
    ):
        for symbol, (oracle, *levels) in BOOKS.items():
            venue.control.set_oracle(symbol, str(oracle))
            for side, price, size in levels:
                venue.control.add_liquidity(symbol, side, price, size)
        session.buy(BTC, "0.5")
        session.sell(ETH, "4")
        venue.advance("90s")
        session.buy(BTC, "0.25", price="59000")
        session.place(orders.stop(BTC, "SELL", "55000"))
        session.place(orders.take_profit(ETH, "BUY", "2500"))
        venue.advance(until="2026-01-01T04:00:30Z")
        session.sell(BTC, "0.1")
        venue.control.remove_liquidity(ETH)
        venue.control.set_oracle(ETH, "3100")
        venue.advance("3s")
        histories = {name: widgets.Blotter(session, BTC) for name in ("orders", "funding")}
        for name, blotter in histories.items():
            blotter.history = name
            blotter.refresh()
        panels: dict[str, Any] = {
            "account": widgets.Account(session), "funding": widgets.Funding(session, BTC),
            "liquidation map": widgets.LiquidationMap(session), "header": Header(session, ETH),
            "blotter": widgets.Blotter(session), **{f"blotter of {name}": one for name, one in histories.items()},
            "order book": widgets.OrderBook(session, BTC), "trades": widgets.Trades(session, BTC),
            "depth": widgets.Depth(session, BTC), "candles": widgets.Candles(session, BTC, "1m"),
        }  # fmt: skip
        said.update({name: list(panel._lines()) for name, panel in panels.items()})
        saved.update({name: panel._snapshot() for name, panel in panels.items()})
        shown = {name: dict(panel.view) for name, panel in panels.items()}
        for name in histories:  # the rest is that of the whole blotter
            del shown[f"blotter of {name}"]["positions"], shown[f"blotter of {name}"]["orders"]
        yield shown


@pytest.fixture(scope="module")
def views() -> Iterator[dict[str, Any]]:
    with scene() as made:
        yield made


SHOWN: dict[str, Any] = {
    "account": {"title": "Account",
    "note": "0xf39F…2266 · local",
    "danger": False,
    "meter": {"name": "Margin in use", "share": 0.2675, "words": "26.8 % of equity is in use as margin"},
    "rows": [["Equity", "9,560.30", "balance, isolated margins and unrealised PnL"],
    ["Unrealised PnL", "−408.00", "of open positions, at mark price"],
    ["Balance", "9,968.30", "cash, excluding isolated margins"],
    ["Margin in use", "2,557.50", "used by positions and orders"],
    ["Available", "7,002.80", "for new positions and orders"],
    ["Withdrawable", "7,002.80", "excluding unrealised PnL"],
    ["Fees", "0.010 % / 0.060 %", "maker / taker"]],
    "loaded": True},
    "funding": {"title": "BTCUSDC funding",
    "rows": [["Running rate", "0.0050 %", "settles at the end of the interval"],
    ["A year at this rate", "11.0 %", ""], ["Settles in", "3:59:27", "2026-01-01 08:00 UTC"],
    ["Position", "0.4 BTC", ""], ["Next payment (est.)", "−1.2000 USDC", "negative is paid"]],
    "tables": [{"title": "Settled rates",
    "columns": ["Time", "Rate"],
    "rows": [["01-01 04:00", "0.0050 %"]]},
    {"title": "My payments",
    "columns": ["Time", "Size", "Rate", "Amount"],
    "rows": [["01-01 04:00", "0.5", "0.0050 %", "−1.5002"]]}],
    "loaded": True},
    "liquidation map": {"title": "Liquidation map",
    "rows": [["Cross positions", "2", ""]],
    "bars": [{"name": "BTCUSDC", "move": -0.3842, "text": "36,948.6"},
    {"name": "ETHUSDC", "move": 0.7252, "text": "5,348.22"}],
    "tables": [{"title": "Positions",
    "columns": ["Product", "Size", "Mark", "Liq. price", "Distance", "Result there"],
    "rows": [["BTCUSDC", "0.4", "60,000.0", "36,948.6", "▼ 38.4 %", "−9,220.56"],
    ["ETHUSDC", "−4", "3,100.00", "5,348.22", "▲ 72.5 %", "−8,992.89"]]},
    {"title": "If all prices move",
    "columns": ["Move", "Equity", "Maintenance margin", "In use", ""],
    "rows": [["▼ 50 %", "3,760.30", "227.50", "6.1 %", ""],
    ["▼ 30 %", "6,080.30", "318.50", "5.2 %", ""],
    ["▼ 20 %", "7,240.30", "364.00", "5.0 %", ""],
    ["▼ 10 %", "8,400.30", "409.50", "4.9 %", ""],
    ["▼ 5 %", "8,980.30", "432.25", "4.8 %", ""],
    ["▲ 5 %", "10,140.30", "477.75", "4.7 %", ""],
    ["▲ 10 %", "10,720.30", "500.50", "4.7 %", ""],
    ["▲ 20 %", "11,880.30", "546.00", "4.6 %", ""],
    ["▲ 30 %", "13,040.30", "591.50", "4.5 %", ""],
    ["▲ 50 %", "15,360.30", "682.50", "4.4 %", ""]]}],
    "loaded": True},
    "header": {"title": "ETHUSDC",
    "symbol": "ETHUSDC",
    "symbols": ["ETHUSDC"],
    "change": "0.00 %",
    "note": "2,999.00 0.00 % in 24 h",
    "rows": [["24 h change", "0.00 %"], ["24 h high / low", "2,999.00 / 2,999.00"],
    ["24 h volume", "11,996 USDC"], ["Mark", "3,100.00"], ["Oracle", "3,100.00"],
    ["Open interest", "4 ETH"], ["Funding", "0.0050 % in 3:59:27"]],
    "loaded": True},
    "blotter": {"symbol": "",
    "positions": [{"symbol": "BTCUSDC",
    "side": "▲ long",
    "size": "0.4",
    "entry": "60,010.0",
    "mark": "60,000.0",
    "liquidation": "36,948.6",
    "margin": "1,200.20",
    "pnl": "−4.00",
    "roi": "▼ 0.33 %",
    "funding": "−1.50",
    "leverage": "20x cross",
    "exits": "– / 55,000.0",
    "take_profit": "",
    "stop_loss": "55000.0",
    "one": True},
    {"symbol": "ETHUSDC",
    "side": "▼ short",
    "size": "−4",
    "entry": "2,999.00",
    "mark": "3,100.00",
    "liquidation": "5,348.22",
    "margin": "599.80",
    "pnl": "−404.00",
    "roi": "▼ 67.36 %",
    "funding": "+0.60",
    "leverage": "20x cross",
    "exits": "2,500.00 / –",
    "take_profit": "2500.00",
    "stop_loss": "",
    "one": True}],
    "orders": [{"id": "9",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "limit gtc",
    "price": "59,000.0",
    "quantity": "0.25 / 0.25",
    "move": "59000.0",
    "total": "0.250"},
    {"id": "10",
    "symbol": "BTCUSDC",
    "side": "▼ sell",
    "kind": "stop loss",
    "price": "when 55,000.0",
    "quantity": "whole position",
    "move": "55000.0",
    "total": ""},
    {"id": "11",
    "symbol": "ETHUSDC",
    "side": "▲ buy",
    "kind": "take profit",
    "price": "when 2,500.00",
    "quantity": "whole position",
    "move": "2500.00",
    "total": ""}],
    "parents": [],
    "history": "fills",
    "fills": [{"time": "01-01 04:00:30",
    "symbol": "BTCUSDC",
    "side": "▼ sell",
    "kind": "market",
    "price": "59,990.0",
    "quantity": "0.1",
    "fee": "3.5994",
    "pnl": "−2.00",
    "id": "3/12"},
    {"time": "01-01 00:00:00",
    "symbol": "ETHUSDC",
    "side": "▼ sell",
    "kind": "market",
    "price": "2,999.00",
    "quantity": "4",
    "fee": "7.1976",
    "pnl": "",
    "id": "2/8"},
    {"time": "01-01 00:00:00",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "market",
    "price": "60,010.0",
    "quantity": "0.5",
    "fee": "18.0030",
    "pnl": "",
    "id": "1/7"}],
    "events": [],
    "funding": [],
    "mainnet": False,
    "readOnly": False,
    "notice": "",
    "review": None,
    "loaded": True},
    "blotter of orders": {"symbol": "BTCUSDC",
    "parents": [],
    "history": "orders",
    "fills": [],
    "events": [{"time": "01-01 04:00:30",
    "symbol": "BTCUSDC",
    "side": "▼ sell",
    "kind": "market",
    "order": "12",
    "status": "filled",
    "price": "market",
    "quantity": "0.1",
    "what": "0.1 at 59,990.0",
    "id": "6/12"},
    {"time": "01-01 04:00:30",
    "symbol": "BTCUSDC",
    "side": "▼ sell",
    "kind": "market",
    "order": "12",
    "status": "new",
    "price": "market",
    "quantity": "0.1",
    "what": "",
    "id": "5/12"},
    {"time": "01-01 00:01:30",
    "symbol": "BTCUSDC",
    "side": "▼ sell",
    "kind": "market",
    "order": "10",
    "status": "untriggered",
    "price": "market",
    "quantity": "0",
    "what": "",
    "id": "4/10"},
    {"time": "01-01 00:01:30",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "limit",
    "order": "9",
    "status": "new",
    "price": "59,000.0",
    "quantity": "0.25",
    "what": "",
    "id": "3/9"},
    {"time": "01-01 00:00:00",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "market",
    "order": "7",
    "status": "filled",
    "price": "market",
    "quantity": "0.5",
    "what": "0.5 at 60,010.0",
    "id": "2/7"},
    {"time": "01-01 00:00:00",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "market",
    "order": "7",
    "status": "new",
    "price": "market",
    "quantity": "0.5",
    "what": "",
    "id": "1/7"}],
    "funding": [],
    "mainnet": False,
    "readOnly": False,
    "notice": "",
    "review": None,
    "loaded": True},
    "blotter of funding": {"symbol": "BTCUSDC",
    "parents": [],
    "history": "funding",
    "fills": [],
    "events": [],
    "funding": [{"time": "01-01 04:00",
    "symbol": "BTCUSDC",
    "side": "long",
    "size": "0.5",
    "rate": "0.0050 %",
    "amount": "−1.5002",
    "id": "1/BTCUSDC"}],
    "mainnet": False,
    "readOnly": False,
    "notice": "",
    "review": None,
    "loaded": True},
    "order book": {"symbol": "BTCUSDC",
    "depth": 12,
    "pick": False,
    "groups": [[1, "0.1"], [10, "1.0"], [100, "10.0"], [1000, "100.0"]],
    "bids": [["59,990.0", "1.900", "1.900", 0.3689, "59990.0"],
    ["59,980.0", "3.000", "4.900", 0.9515, "59980.0"],
    ["59,000.0", "0.250", "5.150", 1.0, "59000.0"]],
    "asks": [["60,010.0", "0.500", "0.500", 0.0971, "60010.0"],
    ["60,030.0", "4.000", "4.500", 0.8738, "60030.0"]],
    "mid": "60,000.0",
    "spread": "20",
    "spreadPct": "0.033 %",
    "mark": "60,000.0",
    "loaded": True},
    "trades": {"symbol": "BTCUSDC",
    "rows": [["04:00:30", "▼ sell", "59,990.0", "0.100"], ["00:00:00", "▲ buy", "60,010.0", "0.500"]],
    "loaded": True},
    "depth": {"symbol": "BTCUSDC",
    "mid": "60,000.0",
    "most": 5.15,
    "bids": [[0.495, 1.9], [0.49, 4.9], [0.0, 5.15]],
    "asks": [[0.505, 0.5], [0.515, 4.5]],
    "scale": ["5.150 BTC", "2.575 BTC"],
    "edges": ["59,000.0", "60,000.0", "61,000.0"],
    "words": "5.150 BTC (308,671 USDC) bid down to 59,000.0, 4.500 BTC (270,125 USDC) asked up to 60,030.0",
    "loaded": True},
    "candles": {"symbol": "BTCUSDC",
    "interval": "1m",
    "intervals": ["1m", "5m", "15m", "1h", "4h", "1d"],
    "places": 1,
    "last": "59,990.0",
    "change": "▼ 0.03 %",
    "window": "2 min",
    "rows": [[1767240000, 59990.0, 59990.0, 59990.0, 59990.0, 0.1]],
    "studies": {},
    "prices": {"mark": [60000.0], "index": [60000.0]},
    "lines": [{"id": "9",
    "kind": "order",
    "up": True,
    "price": 59000.0,
    "text": "▲ buy 0.25",
    "shown": "59,000.0",
    "moves": True},
    {"id": "10",
    "kind": "sl",
    "up": False,
    "price": 55000.0,
    "text": "stop loss all",
    "shown": "55,000.0",
    "moves": True},
    {"id": "entry",
    "kind": "entry",
    "up": True,
    "price": 60010.0,
    "text": "entry 0.4 −4.00",
    "shown": "60,010.0",
    "moves": False},
    {"id": "liquidation",
    "kind": "liquidation",
    "up": True,
    "price": 36948.608734177215,
    "text": "liquidation",
    "shown": "36,948.6",
    "moves": False}],
    "fills": [[1767225600, True, 60010.0, "▲ buy 0.5 at 60,010.0"],
    [1767240000, False, 59990.0, "▼ sell 0.1 at 59,990.0"]],
    "readOnly": False,
    "review": None,
    "loaded": True},
}  # fmt: skip

SAID = {
    "account": ["0xf39F…2266: equity 9,560.30, available 7,002.80 USDC"],
    "funding": ["BTCUSDC: funding 0.0050 %"],
    "liquidation map": ["2 positions"],
    "header": ["ETHUSDC: last 2,999.00 0.00 % in 24 h"],
    "blotter": ["all products: 0.4 BTCUSDC, −4 ETHUSDC, 3 open orders"],
    "blotter of orders": ["BTCUSDC: 0.4 BTCUSDC, 2 open orders"],
    "blotter of funding": ["BTCUSDC: 0.4 BTCUSDC, 2 open orders"],
    "order book": ["BTCUSDC: bid 59990.0, ask 60010.0"],
    "trades": ["BTCUSDC: last SELL 0.100 at 59990.0"],
    "depth": ["BTCUSDC: 5.150 BTC (308,671 USDC) bid down to 59,000.0, 4.500 BTC (270,125 USDC) asked up to 60,030.0"],
    "candles": ["BTCUSDC 1m: close 59990.0"],
}  # fmt: skip


SAVED: dict[str, tuple[str, list[list[str]]]] = {
    "account": ("Account 0xf39F…2266 · local", [list(row[:2]) for row in SHOWN["account"]["rows"]]),
    "liquidation map": ("Liquidation map", SHOWN["liquidation map"]["tables"][0]["rows"]),
    "blotter": ("Positions Open orders", [
        ["BTCUSDC", "▲ long", "0.4", "60,010.0", "60,000.0", "−4.00"],
        ["ETHUSDC", "▼ short", "−4", "2,999.00", "3,100.00", "−404.00"],
        ["BTCUSDC", "▲ buy", "limit gtc", "59,000.0", "0.25 / 0.25"],
        ["BTCUSDC", "▼ sell", "stop loss", "when 55,000.0", "whole position"],
        ["ETHUSDC", "▲ buy", "take profit", "when 2,500.00", "whole position"],
    ]),
    "order book": ("BTCUSDC mid 60,000.0, spread 20", [
        ["▼ ask", "60,030.0", "4.000"], ["▼ ask", "60,010.0", "0.500"], ["▲ bid", "59,990.0", "1.900"],
        ["▲ bid", "59,980.0", "3.000"], ["▲ bid", "59,000.0", "0.250"],
    ]),
    "trades": ("BTCUSDC trades", SHOWN["trades"]["rows"]),
    "depth": (f"BTCUSDC depth {SHOWN['depth']['words']}", []),
    "candles": ("BTCUSDC 1m 59,990.0 ▼ 0.03 % in 2 min", [
        ["01-01 04:00", *["59,990.0"] * 4], ["01-01 00:00", *["60,010.0"] * 4],
    ]),
}  # fmt: skip
"""What a saved page has of a panel: its headings, and the rows of its tables."""


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_page_has_the_numbers_of_the_panel(views: dict[str, Any], name: str) -> None:
    heads = re.findall(r"<div><b>(.*?)</b>(?: <span[^>]*>(.*?)</span>)?</div>", saved[name])
    rows = [re.findall(r"<t[hd](?: scope='row')? style=[^>]*>(.*?)</t[hd]>", row) for row in saved[name].split("<tr>")]
    assert (" ".join(filter(None, sum(heads, ()))), list(filter(None, rows))) == SAVED[name]


@pytest.mark.parametrize("name", SHOWN)
def test_a_panel_shows_each_of_its_numbers(views: dict[str, Any], name: str) -> None:
    assert views[name] == SHOWN[name]


def test_a_line_says_each_panel_in_words(views: dict[str, Any]) -> None:
    assert {name: lines for name, lines in said.items() if name in views} == SAID
