"""What a chart shows: candles with their history, indicators computed once a candle, and the account's price lines."""

from __future__ import annotations

import copy
import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ...errors import InputError
from ..base_panel.number_format import grouped, in_units, side_text, signed, trimmed
from ..order_ticket.holdings import net_size, pnl_of
from .blotter_rows import EXITS, is_untriggered

Candle = list[Any]
"""[start in Unix s, open, high, low, close, volume]: numbers to draw, never to compute money with."""
STUDIES = {"SMA": 0, "EMA": 0, "Highest": 0, "Lowest": 0, "StdDev": 1, "ATR": 1, "RSI": 1}
"""Indicator of `toolkit.research` → 0 if drawn over the prices, 1 below them."""


def make_study(text: str) -> Any:
    """Return the indicator of a text such as "SMA 20". Raises InputError for another."""
    from ...research import indicators

    name, _, window = text.partition(" ")
    if name not in STUDIES or not window.isdecimal() or not 1 < int(window) <= 1000:
        known = ", ".join(STUDIES)
        words = f"indicator {text!r} is not known; use one of {known} with a window of 2 to 1000, such as 'SMA 20'"
        raise InputError(words, field="indicators", rule="known", value=text, nearest=("SMA 20", "EMA 20", "RSI 14"))
    return getattr(indicators, name)(int(window))


class Study:
    """An indicator over candles; the value of the last one, which still changes, is computed on a copy."""

    def __init__(self, text: str, candles: Sequence[Candle]) -> None:
        self._indicator = make_study(text)
        self._ranged = text.startswith("ATR")
        self.values: list[float | None] = []
        """One for each closed candle, None until the window is full."""
        self.close(candles)

    def close(self, candles: Sequence[Candle]) -> None:
        """Take closed candles."""
        self.values += [self._next(self._indicator, one) for one in candles]

    def peek(self, candle: Candle) -> float | None:
        """Return the value that the candle would have if it closed now."""
        return self._next(copy.deepcopy(self._indicator), candle)

    def _next(self, indicator: Any, candle: Candle) -> float | None:
        _, _, high, low, close, _ = candle
        value = indicator.update(high, low, close) if self._ranged else indicator.update(close)
        return None if math.isnan(value) else value


class ChartData:
    """Candles by time with their indicators: `rows[:-1]` are closed, the last one still changes."""

    def __init__(self) -> None:
        self.rows: list[Candle] = []
        self._studies: dict[str, Study] = {}

    def reset(self, rows: Iterable[Candle], studies: Sequence[str]) -> None:
        """Replace all candles, and compute these indicators again."""
        self.rows = list(rows)
        self._studies = {text: Study(text, self.rows[:-1]) for text in studies}

    def merge(self, tail: Iterable[Candle]) -> None:
        """Take the latest candles, oldest first; one with a known time replaces it if it is the last."""
        for candle in tail:
            if self.rows and candle[0] == self.rows[-1][0]:
                self.rows[-1] = candle
            elif not self.rows or candle[0] > self.rows[-1][0]:
                if self.rows:
                    for study in self._studies.values():
                        study.close(self.rows[-1:])
                self.rows.append(candle)

    def studies(self, start: int, end: int | None = None) -> dict[str, list[float | None]]:
        """Return the values of each indicator for `rows[start:end]`."""
        latest = self.rows[-1:]
        return {text: [*study.values, *map(study.peek, latest)][start:end] for text, study in self._studies.items()}


class PriceTrail:
    """Mark and index prices by time: those seen since the chart was made, and those of the settlements of funding.

    The venue publishes no other history of them.
    """

    def __init__(self) -> None:
        self._times: list[int] = []
        self._prices: dict[int, tuple[Decimal | None, Decimal | None]] = {}

    def add(self, time_s: int, mark: Decimal | None, index: Decimal | None) -> None:
        """Take the prices at a time (Unix s); later ones of the same time replace them."""
        if time_s not in self._prices:
            insort(self._times, time_s)
        self._prices[time_s] = (mark, index)

    def closes(self, rows: Sequence[Candle], start: int, end: int | None = None) -> dict[str, list[float | None]]:
        """Return the last mark and index price within each candle of `rows[start:end]`, None without one."""
        found: dict[str, list[float | None]] = {"mark": [], "index": []}
        for place in range(start, len(rows) if end is None else end):
            next_start = rows[place + 1][0] if place + 1 < len(rows) else math.inf
            last = bisect_left(self._times, next_start) - 1
            known = last >= 0 and self._times[last] >= rows[place][0]
            prices = self._prices[self._times[last]] if known else (None, None)
            for name, price in zip(found, prices, strict=True):
                found[name].append(None if price is None else float(price))
        return found


def candle_of(row: Mapping[Any, Any], time_s: int) -> Candle:
    """Return a row of the feed or of `session.klines` as a candle."""
    return [time_s, *(float(row[name]) for name in ("open", "high", "low", "close", "volume"))]


def order_lines(product: Any, orders: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a price line for each open order, which can be moved to another price."""
    lines = []
    for row in orders:
        price: Decimal | None = row["trigger_price"] if is_untriggered(row) else row["price"]
        if not price:
            continue
        name = EXITS.get(str(row["reduce_only"]), "").replace("_", " ")
        kind = "tp" if name == "take profit" else "sl" if name else "order"
        text = f"{name or side_text(row['side'])} {trimmed(row['remaining']) if row['remaining'] else 'all'}"
        buys = str(row["side"]).startswith("BUY")
        lines.append({**_line(product, str(row["order_id"]), price, buys, text), "kind": kind, "moves": True})
    return lines


def _line(product: Any, name: str, price: Decimal, up: bool, text: str) -> dict[str, Any]:
    shown = in_units(price, product.tick_size)
    return {"id": name, "kind": name, "up": up, "price": float(price), "text": text, "shown": shown, "moves": False}


def position_lines(
    product: Any, row: Mapping[str, Any] | None, liquidation: Decimal | None, mark: Decimal | None
) -> list[dict[str, Any]]:
    """Return the price lines of a position: entry with its PnL, and liquidation."""
    held = row["long_size"] + abs(row["short_size"]) if row is not None else None
    if row is None or not held:
        return []
    entry = (row["long_entry_value"] + abs(row["short_entry_value"])) / held
    size = net_size(row)
    pnl = pnl_of(row, mark) if mark else row["unrealized_pnl"]
    lines = [_line(product, "entry", entry, size > 0, f"entry {trimmed(size)} {signed(pnl)}")]
    if liquidation is not None:
        lines.append(_line(product, "liquidation", liquidation, size > 0, "liquidation"))
    return lines


def fill_marks(fills: Iterable[Mapping[str, Any]], seconds: int) -> list[list[Any]]:
    """Return [start of its candle in Unix s, buy?, price, text] for each fill."""
    marks = []
    for row in fills:
        start = int(row["time"].timestamp()) // seconds * seconds
        buy = str(row["side"]).startswith("BUY")
        text = f"{side_text(row['side'])} {trimmed(row['quantity'])} at {grouped(row['price'])}"
        marks.append([start, buy, float(row["price"]), text])
    return sorted(marks, key=lambda one: one[0])
