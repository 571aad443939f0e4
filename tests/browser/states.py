"""Fixed states of the panels, as Python sends them to the page: those of `states.json`, and a history of candles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_ALL: dict[str, Any] = json.loads(Path(__file__).with_name("states.json").read_text(encoding="utf-8"))

SIGN: dict[str, Any] = _ALL["SIGN"]
NEWS: list[Any] = _ALL["NEWS"]
BOOK: dict[str, Any] = _ALL["BOOK"]
AGENT: dict[str, Any] = _ALL["AGENT"]
BUILDER: dict[str, Any] = _ALL["BUILDER"]
OTHER: dict[str, Any] = _ALL["OTHER"]
POSITION: dict[str, Any] = _ALL["POSITION"]
ORDER: dict[str, Any] = _ALL["ORDER"]
STOP: dict[str, Any] = _ALL["STOP"]
PARENT: dict[str, Any] = _ALL["PARENT"]
EVENT: dict[str, Any] = _ALL["EVENT"]
FUNDING: dict[str, Any] = _ALL["FUNDING"]
BLOTTER: dict[str, Any] = _ALL["BLOTTER"]
STATE: dict[str, Any] = _ALL["STATE"]
PRICE: dict[str, Any] = _ALL["PRICE"]
QUANTITY: dict[str, Any] = _ALL["QUANTITY"]
TIF: dict[str, Any] = _ALL["TIF"]
REDUCE: dict[str, Any] = _ALL["REDUCE"]
FORM: dict[str, Any] = _ALL["FORM"]
TICKET: dict[str, Any] = _ALL["TICKET"]
DRAFT: dict[str, Any] = _ALL["DRAFT"]
FOLLOWED: dict[str, Any] = _ALL["FOLLOWED"]
LINES: list[Any] = _ALL["LINES"]
DEPTH: dict[str, Any] = _ALL["DEPTH"]
HEADER: dict[str, Any] = _ALL["HEADER"]
SHEET: dict[str, Any] = _ALL["SHEET"]
STUDENT: dict[str, Any] = _ALL["STUDENT"]

START = 1_767_225_600
CANDLES = [[START + 60 * at, 100 + at, 103 + at, 98 + at, 100 + at + (2 if at % 3 else -1), 5 + at] for at in range(30)]
HISTORY: dict[str, Any] = {
    "interval": "1m",
    "rows": CANDLES[:28],
    "complete": False,
    "studies": {"SMA 20": [None, *range(100, 127)], "RSI 14": [None, None, *range(30, 56)]},
    "prices": {"mark": [*[None] * 25, 124.5, 125.5, 126.5], "index": [*[None] * 26, 125, 126]},
}
CHART: dict[str, Any] = {**_ALL["CHART"], "rows": CANDLES[27:]}
FILLS = [
    [START + 300, True, 104.0, "buy 1 at 104.0"],
    [START + 300, False, 105.0, "sell 1"],
    [START + 1_680, False, 126.0, "sell 2 at 126.0"],
    [START - 60, True, 99.0, "before the first candle"],
]
