"""A run of twelve hours with an order of each kind, whose frames are written down, for tests of what is made of it."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from toolkit.research import Results
from toolkit.research.analysis.results import EVENTS, FILLS, FUNDING, ORDERS, frame

HOURS = pd.date_range("2026-01-01", periods=12, freq="h", tz="UTC")
MINUTE = pd.Timedelta(minutes=1)
A, B = "AAA", "BBB"
MARKS = {
    A: [100.0, 101, 102, 103, 104, 105, 104, 103, 102, 101, 100, 99],
    B: [10.0, 10, 11, 11, 12, 12, 12, 12, 12, 12, 12, 12.5],
}
EQUITY = [1_000.0, 1_000, 1_010, 1_005, 1_030, 990, 980, 985, 985, 1_000, 1_040, 1_050]


def ms(hour: float) -> int:
    return int((HOURS[0] + pd.Timedelta(hours=hour)).timestamp() * 1_000)


def small_run(**changed: Any) -> Results:
    """Return a run with an order of each kind: entries, an exit, a flip, a stop, a take-profit, two forced closes."""
    traded = [
        (0.5, A, "BUY", 100.0, 2.0, "MARKET", 1),
        (1.5, A, "BUY", 101.0, 1.0, "MARKET", 2),
        (2.5, B, "SELL", 11.0, 5.0, "LIMIT", 8),
        (3.5, A, "SELL", 103.0, 1.0, "LIMIT", 3),
        (4.5, A, "SELL", 104.0, 4.0, "MARKET", 4),
        (5.5, A, "BUY", 105.0, 0.5, "STOP_MARKET", 5),
        (6.5, A, "BUY", 104.0, 0.5, "LIQUIDATION", 6),
        (7.5, B, "BUY", 12.0, 5.0, "ADL", 9),
        (9.5, A, "BUY", 101.0, 0.5, "TAKE_PROFIT_MARKET", 7),
    ]
    fills = [
        (ms(hour), symbol, side, price, size, price * size, 0.25, size - 1, "TAKER", kind, number)
        for hour, symbol, side, price, size, kind, number in traded
    ]
    asked = [
        (5.25, A, 5, "BUY", math.nan, 105.0, 0.5, "FILLED", 5.5),  # a purchase above the price of 05:00: a stop
        (1.0, A, 7, "BUY", math.nan, 100.5, 0.5, "FILLED", 9.5),  # below that of 01:00: a take-profit
        (4.0, A, 10, "SELL", math.nan, 98.0, 1.0, "UNTRIGGERED", 4.0),  # a sale below: a stop, which still waits
        (6.0, A, 11, "SELL", math.nan, 110.0, 1.0, "CANCELED", 8.0),  # a sale above
        (6.0, A, 12, "SELL", 111.0, math.nan, 1.0, "NEW", 6.0),  # without a trigger
        (-1.0, B, 13, "SELL", math.nan, 9.0, 1.0, "REJECTED", -1.0),  # before the first price, which counts then
    ]
    orders = [
        (ms(at), symbol, number, side, "STOP_MARKET", "GTC", price, trigger, size, 0.0, status, "", ms(until))
        for at, symbol, number, side, price, trigger, size, status, until in asked
    ]
    held = {A: [0.0, 2, 3, 3, 2, -2, -1.5, -1, -1, -1, -0.5, -0.5], B: [0.0, 0, 0, -5, -5, -5, -5, -5, 0, 0, 0, 0]}
    paid = [(ms(1), A, 2.0, 101.0, 0.0001, -3.0), (ms(4), A, 2.0, 104.0, 0.0001, 2.0), (ms(5), B, -5.0, 12.0, 0.0, 7.0)]
    events = [(ms(6.5), "LIQUIDATION", A, "half of it"), (ms(-2), "LIQUIDATION", B, "early"), (ms(3), "NOTE", A, "<x>")]
    given: dict[str, Any] = {
        "name": "Small",
        "equity": pd.DataFrame({"equity": EQUITY, "balance": EQUITY, "unrealized": 0.0}, HOURS),
        "positions": pd.DataFrame(held, HOURS),
        "marks": pd.DataFrame(MARKS, HOURS),
        "fills": frame(fills, FILLS),
        "orders": frame(orders, ORDERS),
        "funding": frame(paid, FUNDING),
        "events": frame(events, EVENTS),
        "params": {"n": 2, "m": "x"},
        "settings": {"seed": 7},
    }
    return Results(**{**given, **changed})


def lost(values: list[float]) -> dict[str, pd.DataFrame]:
    """Return the frames of a run with this equity in place of its own."""
    table = pd.DataFrame({"equity": values, "balance": values, "unrealized": 0.0}, HOURS[: len(values)])
    return {
        "equity": table,
        "positions": pd.DataFrame({A: 0.0}, table.index),
        "marks": small_run().marks[[A]][: len(values)],
    }
