"""Every panel whole, at a small market of fixed prices: each text and number that a reader sees, worked out by hand.

The account bought 0.5 BTC at 60,010 and sold 4 ETH at 2,999, both as a taker for 0.06 %. At the settlement the long
paid 0.5 × 60,010 × 0.005 % = 1.50025 USDC, and the short received 4 × 2,999 × 0.005 % = 0.5998. It sold 0.1 BTC again
at 59,990, a loss of 2 USDC. ETH's mark price is 3,100 then, so that the short has lost 404 USDC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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


SHOWN: dict[str, Any] = json.loads(Path(__file__).with_name("whole_views.json").read_text(encoding="utf-8"))
"""Panel → its view."""

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
