"""Rows of the blotter, the leaderboard and the permissions, news, and snapshots: each text of a row, both sides."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from toolkit.session import Session
from toolkit.widgets import Blotter
from toolkit.widgets.base_panel import static_view, watch
from toolkit.widgets.base_panel.panel import REFRESHER, stale_reason
from toolkit.widgets.panels import blotter

D = Decimal
WHEN = pd.Timestamp("2026-03-04T05:06:07Z")
ORDER = {
    "order_id": 9, "symbol": "BTCUSDC", "side": "BUY", "type": "LIMIT", "tif": "GTC", "status": "NEW",
    "reduce_only": "NONE", "price": D("59000.0"), "trigger_price": D(0), "remaining": D("0.250"),
    "quantity": D("0.500"),
}  # fmt: skip
SHOWN = {
    "id": "9", "symbol": "BTCUSDC", "side": "▲ buy", "kind": "limit gtc", "price": "59,000.0",
    "quantity": "0.25 / 0.5", "move": "59000.0", "total": "0.500",
}  # fmt: skip
STOP = {"status": "ORDER_STATUS_UNTRIGGERED", "reduce_only": "SL_FROM_POSITION", "type": "MARKET", "tif": "IOC"}


@pytest.mark.parametrize(
    ("order", "shown"),
    [
        ({}, {}),
        ({"side": "SELL_CLOSE_HEDGE"}, {"side": "▼ sell"}),
        ({"reduce_only": "REDUCE_ONLY", "tif": "POST_ONLY"}, {"kind": "limit post only reduce-only"}),
        ({"type": "MARKET", "tif": "IOC", "price": None}, {"kind": "market ioc", "price": "market", "move": ""}),
        (
            {**STOP, "price": None, "trigger_price": D("55000.0"), "quantity": D(0), "remaining": D(0)},
            {"kind": "stop loss", "price": "when 55,000.0", "quantity": "whole position", "move": "55000.0",
             "total": ""},
        ),
        (
            {**STOP, "reduce_only": "TP_FROM_POSITION", "trigger_price": D(70_000)},
            {"kind": "take profit limit", "price": "59,000.0 when 70,000", "move": "70000"},
        ),
    ],
)  # fmt: skip
def test_an_open_order_is_this_row(order: dict[str, Any], shown: dict[str, Any]) -> None:
    assert blotter.open_order_row({**ORDER, **order}) == {**SHOWN, **shown}


FILL = {
    "time": WHEN, "symbol": "BTCUSDC", "side": "SELL", "type": "LIQUIDATION", "price": D("60000.0"),
    "quantity": D("0.50"), "open_fee": D("1.5"), "close_fee": D("0.25005"), "realized_pnl": D("-12.345"),
    "exec_id": 3, "order_id": 9,
}  # fmt: skip


def test_a_fill_is_this_row() -> None:
    shown = {
        "time": "03-04 05:06:07", "symbol": "BTCUSDC", "side": "▼ sell", "kind": "liquidation", "price": "60,000.0",
        "quantity": "0.5", "fee": "1.7500", "pnl": "−12.34", "id": "3/9",
    }  # fmt: skip
    assert blotter.fill_row(1, FILL) == shown
    bare = {**FILL, "side": "BUY", "type": None, "open_fee": None, "close_fee": None, "realized_pnl": None}
    assert blotter.fill_row(2, bare) == {**shown, "side": "▲ buy", "kind": "–", "fee": "0.0000", "pnl": "", "id": "3/9"}
    assert blotter.fill_row(2, {**FILL, "realized_pnl": D(12)})["pnl"] == "+12.00"
    assert blotter.kind_text("MARKET_LIQ_SELLOFF") == "market liq selloff"


@pytest.mark.parametrize(
    ("status", "done", "due", "opened", "idle"),
    [("RUNNING", 2, "05:06:07", True, False), ("RUNNING", 5, "", True, False),
     ("INTERRUPTED", 2, "", True, True), ("FINISHED", 5, "", False, False), ("CANCELED", 2, "", False, False)],
)  # fmt: skip
def test_a_parent_order_is_this_row(status: str, done: int, due: str, opened: bool, idle: bool) -> None:
    twap = SimpleNamespace(symbol="BTCUSDC", side="SELL", reduce_only=True, quantity="0.50", slices=5)
    plan = SimpleNamespace(
        id="p1", twap=twap, filled=D("0.20"), average_price=D("60000.123456"), done=done, why="slow",
        due_ms=int(WHEN.timestamp() * 1000),
    )  # fmt: skip
    shown = {
        "id": "p1", "symbol": "BTCUSDC", "side": "▼ sell", "kind": "twap reduce-only", "filled": "0.2 / 0.5",
        "average": "60,000.1235", "orders": f"{done} / 5", "next": due, "status": status.lower(), "message": "slow",
        "open": opened, "idle": idle,
    }  # fmt: skip
    assert blotter.parent_row(plan, status) == shown
    twap.reduce_only, twap.side, plan.average_price = False, "BUY", None
    assert blotter.parent_row(plan, status) == {**shown, "side": "▲ buy", "kind": "twap", "average": "–"}


HEDGED = {
    "symbol": "BTCUSDC", "mark_price": D(60_000), "long_size": D("0.50"), "short_size": D("-0.2"), "leverage": D(20),
    "long_entry_value": D(29_000), "short_entry_value": D(12_200), "unrealized_pnl": D("1.5"),
    "margin_mode": "ISOLATED", "assigned_margin": D(700), "position_mode": "HEDGE",
}  # fmt: skip
"""Long 0.5 from 58,000 and short 0.2 from 61,000, which have gained 1,000 and 200. At 20x they take 2,060 USDC."""
HELD = {
    "symbol": "BTCUSDC", "side": "▲ long", "size": "0.5 / −0.2", "entry": "58,857.1", "mark": "60,000.0",
    "margin": "700.00", "pnl": "+1,200.00", "roi": "▲ 58.25 %", "funding": "−1.50", "leverage": "20x isolated",
    "exits": "– / –", "take_profit": "", "stop_loss": "", "one": False,
}  # fmt: skip
NO_MARK = {"mark": "–", "pnl": "+1.50", "roi": "▲ 0.07 %", "liquidation": "–"}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({}, {}),
        ({"margin_mode": "CROSS"}, {"margin": "2,060.00", "leverage": "20x cross"}),
        ({"mark_price": None}, NO_MARK),
        ({"leverage": None, "margin_mode": "CROSS"}, {"margin": "–", "roi": "", "leverage": "–x cross"}),
        ({"symbol": "NEWUSDC", "mark_price": None},
         {**NO_MARK, "symbol": "NEWUSDC", "entry": "58,857.1429", "funding": "–"}),
        ({"short_size": D("-0.5"), "short_entry_value": D(30_500)},
         {"side": "▲▼ hedged", "size": "0.5 / −0.5", "entry": "59,500.0", "pnl": "+1,500.00", "roi": "▲ 50.42 %"}),
        ({"long_size": D(0), "long_entry_value": D(0)},
         {"side": "▼ short", "size": "−0.2", "entry": "61,000.0", "pnl": "+200.00", "roi": "▲ 32.79 %", "one": True}),
    ],
)  # fmt: skip
def test_a_position_is_this_row(session: Session, row: dict[str, Any], shown: dict[str, Any]) -> None:
    panel: Any = Blotter(session)
    REFRESHER.remove(panel)
    paid = (("BTCUSDC", D("-2")), ("BTCUSDC", None), ("BTCUSDC", D("0.5")), ("ETHUSDC", D(9)))
    followed = panel._funding
    panel._funding = SimpleNamespace(rows=lambda: [{"symbol": symbol, "amount": amount} for symbol, amount in paid])
    found = panel._position_row({**HEDGED, **row}, [{**HEDGED, **row}], [])
    panel._funding = followed
    assert {name: found[name] for name in {**HELD, **shown}} == {**HELD, **shown}


def test_the_exits_of_a_position_are_its_waiting_triggers() -> None:
    take = {**ORDER, **STOP, "order_id": 4, "reduce_only": "TP_FROM_POSITION", "trigger_price": D("7E+4")}
    rows = [
        take, {**ORDER, **STOP, "trigger_price": D("55000.0")}, {**take, "symbol": "ETHUSDC", "order_id": 5},
        {**take, "status": "NEW", "order_id": 6}, {**take, "reduce_only": "NONE", "order_id": 7},
    ]  # fmt: skip
    assert blotter.exits_of("BTCUSDC", rows) == {"take_profit": ("4", "70000"), "stop_loss": ("9", "55000.0")}


# news


@pytest.mark.parametrize(
    ("kind", "symbol", "ends"),
    [("paused", "BTCUSDC", True), ("paused", "ETHUSDC", False), ("paused", "ALL", True), ("filled", "BTCUSDC", False),
     ("cancelled", "BTCUSDC", False), ("funding", "ALL", False), ("liquidation", "BTCUSDC", True)],
)  # fmt: skip
def test_news_of_a_product_end_its_reviews_and_of_an_order_those_of_the_order(
    kind: str, symbol: str, ends: bool
) -> None:
    news = watch.News(int(WHEN.timestamp() * 1000), kind, "BTCUSDC", "words", "9")
    assert news.ends(symbol, set()) is ends
    assert news.ends("ETHUSDC", {"9"}) is True
    assert news.ends("ETHUSDC", {"8"}) is False
    assert news.line() == ["05:06:07", kind, "words"]


@pytest.mark.parametrize(
    ("state", "damaged", "age", "reason", "words"),
    [
        ("live", False, None, "", "orderBook has had no data yet"),
        ("live", False, 5, "", "orderBook has been quiet for longer than usual"),
        ("live", True, 5, "a gap", "orderBook is live: a gap"),
        ("reconnecting", False, 5, "reconnecting", "orderBook is reconnecting"),
        ("reconnecting", False, None, "", "orderBook is reconnecting"),
        ("closed", False, 5, "the end", "orderBook is closed: the end"),
    ],
)  # fmt: skip
def test_the_reason_of_a_lock_is_said(state: str, damaged: bool, age: int | None, reason: str, words: str) -> None:
    live = SimpleNamespace(subject="orderBook.BTCUSDC", state=state, damaged=damaged, age_ms=age, reason=reason)
    assert stale_reason(live) == words


# snapshots


def test_a_table_of_a_snapshot_has_a_title_or_the_name_of_each_column() -> None:
    html = static_view.records({"x": "", "y": "Y<"}, [{"x": "▲ 1", "y": "−1", "z": 0}])
    assert all(one in html for one in (">x</th>", ">Y&lt;</th>", ">▲ 1</td>", ">−1</td>"))
    assert ">none</td>" in static_view.records({"x": ""}, [])
