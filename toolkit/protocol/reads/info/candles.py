"""Candles: queries and record.

Source: docs/published.md, "Info API".
"""

from dataclasses import replace
from decimal import Decimal

from ..endpoint import Endpoint, Param
from ..rows import Money, Price, Quantity, Row, Rule, Seconds, Symbol, Whole, above_0, optional, required
from .parameters import END, INTERVAL, LIMIT, START, SYMBOL_NAME

HOUR_S = 3_600


# Both also take the columns of a page as arrays.
def _between(low: Decimal, price: Decimal, high: Decimal) -> bool:
    return (low <= price) & (price <= high)


def _on_grid(time_ms: int, interval_s: int) -> bool:
    # Weeks start on Mondays at some venues, and days at 16:00, but both at a full hour.
    step_s = min(interval_s, HOUR_S)
    return interval_s > 0 and time_ms % (1000 * step_s) == 0


class Kline(
    Row,
    identity=("timestamp",),
    time="timestamp",
    unique=False,
    rules=(
        Rule(("low", "open", "high"), _between, "the open is outside of low and high"),
        Rule(("low", "close", "high"), _between, "the close is outside of low and high"),
        *above_0("low"),
        Rule(("time", "interval"), _on_grid, "no candle of that length starts there"),
    ),
    drops=True,
):
    """A candle."""

    time: Seconds = required("timestamp", "start of the candle")
    open: Price = required("open", "price of the first trade")
    high: Price = required("high", "highest price traded")
    low: Price = required("low", "lowest price traded")
    close: Price = required("close", "price of the last trade")
    volume: Quantity | None = optional("volume", "traded quantity")
    turnover: Money | None = optional("turnover", "traded value: sum of price × quantity")
    trades: Whole | None = optional("tradeCount", "number of trades")
    interval: Whole | None = optional("intrvl", "length of the candle", unit="seconds")
    symbol: Symbol | None = optional("symbolName", "product symbol")


KLINES_LAST = Endpoint(
    "klines_last",
    "/info/kline/last",
    "The latest candles of a product",
    Kline,
    params=(SYMBOL_NAME, INTERVAL, LIMIT),
    order="newest first",
)


KLINES_BEFORE = Endpoint(
    "klines_before",
    "/info/kline/before",
    "Candles that started before a time",
    Kline,
    params=(
        SYMBOL_NAME,
        INTERVAL,
        Param("timestamp", "before", "time", "candles that start before this time (default: now)"),
        LIMIT,
    ),
    order="newest first",
)


KLINES = Endpoint(
    "klines",
    "/info/kline/list",
    "Candles of a product that start in a time window",
    Kline,
    params=(
        SYMBOL_NAME,
        INTERVAL,
        # Not tied: a complete read goes on where an answer has other candles, and says which it did not get.
        replace(START, required=True, ties=""),
        replace(END, required=True, ties=""),
    ),
    order="oldest first",
)
