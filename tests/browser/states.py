"""Fixed states of the panels, as Python sends them to the page."""

from __future__ import annotations

from typing import Any

SIGN = {
    "signer": "0xab",
    "nonce": "7",
    "expiry": "1767225930000",
    "digest": "0x01",
    "connectionId": "0x02",
    "proto": "0x03",
    "action": "{}",
    "typedData": "[]",
    "real": False,
    "question": "BUY 0.01 BTCUSDC at 50000",
    "verb": "buy",
    "symbol": "BTCUSDC",
}
NEWS = ["12:00:01", "filled", "order 7 filled: buy 0.01 BTCUSDC at 50,000.0"]
BOOK = {
    "symbol": "BTCUSDC",
    "depth": 3,
    "mid": "100.15",
    "spread": "0.1",
    "spreadPct": "0.1 %",
    "mark": "100.12",
    "asks": [["100.2", "1", "1", 0.25, "100.20"], ["100.3", "2", "3", 0.75, "100.30"]],
    "bids": [["100.1", "1", "1", 0.2, "100.10"], ["100.0", "2", "3", 0.6, "100.00"], ["99.9", "2", "5", 1, "99.90"]],
    "groups": [[1, "0.1"], [10, "1"], [100, "10"]],
    "pick": True,
    "loaded": True,
}
AGENT = {
    "kind": "agent",
    "name": "bot",
    "full": "0xabcd",
    "address": "0xab…cd",
    "may": "trade",
    "until": "2026-02-01",
    "cap": "",
    "own": True,
    "of": "",
    "revocable": True,
}
BUILDER = {
    **AGENT,
    "kind": "builder",
    "name": "shop",
    "full": "0xef",
    "address": "0xef",
    "own": False,
    "of": "Ann",
    "cap": "0.1 %",
}
OTHER = {**AGENT, "name": "old", "full": "0x99", "address": "0x99", "own": False, "revocable": False}
POSITION = {
    "symbol": "BTCUSDC",
    "side": "▲ long",
    "size": "0.1",
    "entry": "60,000.0",
    "mark": "61,000.0",
    "liquidation": "50,000.0",
    "margin": "300.00",
    "pnl": "+100.00",
    "roi": "▲ 33 %",
    "funding": "−1.00",
    "leverage": "20x cross",
    "exits": "65,000.0 / –",
    "take_profit": "65000",
    "stop_loss": "",
    "one": True,
}
SHORT = {
    **POSITION,
    "symbol": "ETHUSDC",
    "side": "▼ short",
    "size": "−2",
    "pnl": "−1,250.50",
    "mark": "3,000.00",
    "roi": "▼ 5 %",
    "one": False,
}
ORDER = {
    "id": "7",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "limit gtc",
    "price": "50,000.0",
    "quantity": "0.1 / 0.2",
    "move": "50000.0",
    "total": "0.2",
}
STOP = {
    **ORDER,
    "id": "8",
    "side": "▼ sell",
    "kind": 'stop loss, "all"',
    "price": "when 49,000.0",
    "quantity": "whole position",
    "move": "49000",
    "total": "",
}
PARENT = {
    "id": "p1",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "twap",
    "filled": "0.1 / 1",
    "average": "60,000.0000",
    "orders": "1 / 10",
    "next": "12:01:00",
    "status": "running",
    "message": "",
    "open": True,
    "idle": False,
}
FILL = {
    "id": "1/7",
    "time": "01-01 12:00:00",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "limit",
    "price": "60,000.0",
    "quantity": "0.1",
    "fee": "1.2000",
    "pnl": "",
}
EVENT = {
    "id": "3/7",
    "time": "01-01 12:00:00",
    "symbol": "BTCUSDC",
    "side": "▲ buy",
    "kind": "limit",
    "order": "7",
    "status": "filled",
    "price": "60,000.0",
    "quantity": "0.1",
    "what": "0.1 at 60,000.0",
}
FUNDING = {
    "id": "1/BTCUSDC",
    "time": "01-01 08:00",
    "symbol": "BTCUSDC",
    "side": "long",
    "size": "0.1",
    "rate": "0.0100 %",
    "amount": "−0.6000",
}
BLOTTER: dict[str, Any] = {
    "symbol": "",
    "loaded": True,
    "positions": [POSITION, SHORT],
    "orders": [ORDER, STOP],
    "parents": [],
    "history": "fills",
    "fills": [FILL, {**FILL, "id": "0/6", "kind": "–"}],
    "events": [],
    "funding": [],
    "mainnet": False,
    "readOnly": False,
    "notice": "",
    "review": None,
}
STATE = {"phase": "edit", "tab": "all", "history": "fills", "sound": False}


def field(name: str, label: str, **more: Any) -> dict[str, Any]:
    empty = {"placeholder": "", "keyboard": "decimal", "options": [], "control": "text", "title": "", "spoken": ""}
    return {"name": name, "label": label, **empty, **more}


PRICE = field("price", "Price (USDC)", placeholder="price", title="tick size 0.1")
QUANTITY = field(
    "quantity",
    "Quantity",
    control="quantity",
    options=[["base", "BTC"], ["notional", "USDC"]],
    spoken="Quantity, in BTC",
)
TIF = field("tif", "Time in force", control="select", options=[["", "GTC (default)"], ["IOC", "IOC"]])
REDUCE = field("reduce_only", "Reduce only", control="check")
EXITS = [
    [field("take_profit", "Take profit at"), field("stop_loss", "Stop loss at")],
    [field("client_id", "Client id", keyboard="numeric")],
]
FORM = {
    "kinds": [["LIMIT", "Limit"], ["MARKET", "Market"]],
    "rows": [[PRICE], [QUANTITY], [TIF, REDUCE]],
    "more": EXITS,
    "picksPrice": True,
}
TICKET: dict[str, Any] = {
    "symbol": "BTCUSDC",
    "environment": "local",
    "mainnet": False,
    "account": "0x12…ab",
    "readOnly": "",
    "loaded": True,
    "market": {"bid": "60,000.0", "ask": "60,000.1", "mark": "60,000.0"},
    "leverage": "20",
    "isolated": False,
    "typed": {"price": "", "quantity": "", "take_profit": "", "stop_loss": "", "client_id": ""},
    "problems": [],
    "valid": True,
    "preview": [["Cost", "30.00 USDC", "with fees"], ["PnL", "+1.00", ""]],
    "review": None,
    "following": None,
}
DRAFT = {
    "form": FORM,
    "side": "BUY",
    "order_type": "LIMIT",
    "quantity_as": "base",
    "price": "",
    "quantity": "",
    "tif": "",
    "reduce_only": False,
    "take_profit": "",
    "stop_loss": "",
    "client_id": "",
    "phase": "edit",
}
FOLLOWED = {
    "summary": "BUY 0.01 BTCUSDC",
    "status": "SENT",
    "words": "sent",
    "steps": [["sent", "done"], ["accepted", "now"], ["filled", "later"]],
    "children": [],
}
START = 1_767_225_600
CANDLES = [[START + 60 * at, 100 + at, 103 + at, 98 + at, 100 + at + (2 if at % 3 else -1), 5 + at] for at in range(30)]
HISTORY: dict[str, Any] = {
    "interval": "1m",
    "rows": CANDLES[:28],
    "complete": False,
    "studies": {"SMA 20": [None, *range(100, 127)], "RSI 14": [None, None, *range(30, 56)]},
    "prices": {"mark": [*[None] * 25, 124.5, 125.5, 126.5], "index": [*[None] * 26, 125, 126]},
}
CHART: dict[str, Any] = {
    "symbol": "BTCUSDC",
    "interval": "1m",
    "intervals": ["1m", "5m"],
    "places": 1,
    "last": "131.0",
    "change": "▲ 3 %",
    "window": "30 min",
    "rows": CANDLES[27:],
    "studies": {"SMA 20": [127, 128, 129], "RSI 14": [56, 57, None]},
    "prices": {"mark": [127.5, 128.5, 129.5], "index": [None, 128, 129]},
    "readOnly": False,
    "review": None,
    "loaded": True,
    "lines": [],
    "fills": [],
}
LINES = [
    {"id": "entry", "kind": "entry", "price": 120.0, "text": "long 1", "shown": "120.0", "up": True, "moves": False},
    {
        "id": "liq",
        "kind": "liquidation",
        "price": 60.0,
        "text": "liquidation",
        "shown": "60.0",
        "up": False,
        "moves": False,
    },
    {"id": "7", "kind": "order", "price": 110.0, "text": "buy 1", "shown": "110.0", "up": True, "moves": True},
    {"id": "8", "kind": "order", "price": 110.2, "text": "buy 2", "shown": "110.2", "up": True, "moves": True},
    {"id": "9", "kind": "order", "price": 110.4, "text": "sell 3", "shown": "110.4", "up": False, "moves": True},
    *(
        {
            "id": f"a{at}",
            "kind": "order",
            "price": 200.0 + at,
            "text": f"sell {at}",
            "shown": f"{200 + at}.0",
            "up": False,
            "moves": True,
        }
        for at in (4, 1, 0, 3, 2)
    ),
]
FILLS = [
    [START + 300, True, 104.0, "buy 1 at 104.0"],
    [START + 300, False, 105.0, "sell 1"],
    [START + 1_680, False, 126.0, "sell 2 at 126.0"],
    [START - 60, True, 99.0, "before the first candle"],
]
