"""Texts of amounts, candles with their indicators, and the lines of orders and positions, at each bound."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from tests.widgets.order_ticket.test_effects import BTC
from toolkit.errors import InputError
from toolkit.widgets.base_panel import number_format as texts
from toolkit.widgets.panels import candle_chart as chart

D = Decimal


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: texts.money(D("1234.505")), "1,234.50"),
        (lambda: texts.money(D("-0.31")), "−0.31"),
        (lambda: texts.money(None), "–"),
        (lambda: texts.money(D("0.004")), "0.004"),
        (lambda: texts.money(D("0.01")), "0.01"),
        (lambda: texts.money(D("-0.0000004")), "−0.000000"),
        (lambda: texts.money(D("0.00001")), "0.00001"),
        (lambda: texts.money(D(0)), "0.00"),
        (lambda: texts.money(D("12.7"), 0), "13"),
        (lambda: texts.signed(D(12)), "+12.00"),
        (lambda: texts.signed(D("-3.1")), "−3.10"),
        (lambda: texts.signed(D(0)), "0.00"),
        (lambda: texts.signed(None), "–"),
        (lambda: texts.grouped(D("12345.60")), "12,345.60"),
        (lambda: texts.grouped(None), "–"),
        (lambda: texts.grouped(D("-1E+3")), "−1,000"),
        (lambda: texts.mean_text(D("60000.00"), 2), "60,000"),
        (lambda: texts.mean_text(D("60000.126"), 2), "60,000.13"),
        (lambda: texts.in_units(D("1.25"), D("0.1")), "1.2"),
        (lambda: texts.in_units(D("1234"), D("0.01")), "1,234.00"),
        (lambda: texts.in_units(None, D(1)), "–"),
        (lambda: texts.trimmed(D("1.500")), "1.5"),
        (lambda: texts.trimmed(D("-1E+2")), "−100"),
        (lambda: texts.trimmed(None), "–"),
        (lambda: texts.percent(D("0.0123")), "1.23 %"),
        (lambda: texts.percent(D("-12.345"), 1), "−1,234.5 %"),
        (lambda: texts.percent(None), "–"),
        (lambda: texts.change(D("0.0123")), "▲ 1.23 %"),
        (lambda: texts.change(D("-0.004")), "▼ 0.40 %"),
        (lambda: texts.change(D(0)), "0.00 %"),
        (lambda: texts.change(None), "–"),
        (lambda: texts.change(D("0.5"), 0), "▲ 50 %"),
        (lambda: texts.arrow(None), ""),
        (lambda: texts.arrow(-1), "▼"),
        (lambda: texts.side_text("BUY_CLOSE_HEDGE"), "▲ buy"),
        (lambda: texts.side_text("SELL"), "▼ sell"),
        (lambda: texts.short("0x1234567890abcdef"), "0x1234…cdef"),
        (lambda: texts.short("123456789012"), "123456789012"),
        (lambda: texts.short("1234567890123"), "123456…0123"),
        (lambda: chart.span_text(59), "1 min"),
        (lambda: chart.span_text(3_599), "60 min"),
        (lambda: chart.span_text(3_600), "1 h"),
        (lambda: chart.span_text(86_399), "24 h"),
        (lambda: chart.span_text(86_400), "1 d"),
        (lambda: chart.span_text(5 * 86_400), "5 d"),
    ],
)
def test_an_amount_has_its_text(made: Callable[[], str], text: str) -> None:
    assert made() == text


@pytest.mark.parametrize("text", ["SMA 2", "EMA 1000", "RSI 14", "ATR 5"])
def test_an_indicator_is_a_name_and_a_window(text: str) -> None:
    assert chart.make_study(text) is not None


@pytest.mark.parametrize("text", ["SMA 1", "SMA 1001", "SMA", "SMA x", "WMA 5", "SMA -5", ""])
def test_an_unknown_indicator_says_what_would_pass(text: str) -> None:
    with pytest.raises(InputError, match="with a window of 2 to 1000, such as 'SMA 20'") as raised:
        chart.make_study(text)
    assert (raised.value.field, raised.value.value) == ("indicators", text)


def candle(time: int, close: float, high: float = 0.0) -> list[Any]:
    return [time, close, high or close, close, close, 1.0]


def test_the_last_candle_changes_and_its_indicator_is_that_of_its_present_close() -> None:
    data = chart.ChartData()
    data.reset([candle(0, 1.0), candle(60, 3.0), candle(120, 5.0)], ["SMA 2", "ATR 2"])
    assert data.studies(0) == {"SMA 2": [None, 2.0, 4.0], "ATR 2": data.studies(0)["ATR 2"]}
    data.merge([candle(60, 9.0), candle(120, 7.0)])  # an older one is settled
    assert [row[0] for row in data.rows] == [0, 60, 120]
    assert data.studies(0)["SMA 2"] == [None, 2.0, 5.0]
    assert data.studies(0)["SMA 2"] == [None, 2.0, 5.0]  # to look changes nothing
    data.merge([candle(180, 9.0)])
    assert data.studies(0)["SMA 2"] == [None, 2.0, 5.0, 8.0]
    assert data.studies(1, 3)["SMA 2"] == [2.0, 5.0]
    data.merge([candle(0, 4.0)])
    assert len(data.rows) == 4
    empty = chart.ChartData()
    empty.reset([], ["SMA 2"])
    assert empty.studies(0) == {"SMA 2": []}
    empty.merge([candle(0, 1.0), candle(60, 2.0)])
    assert (len(empty.rows), empty.studies(0)) == (2, {"SMA 2": [None, 1.5]})


def test_true_ranges_use_high_low_and_the_close_before() -> None:
    data = chart.ChartData()
    data.reset([candle(0, 10.0, 12.0), candle(60, 10.0, 14.0), candle(120, 20.0, 20.0)], ["ATR 2"])
    values = data.studies(0)["ATR 2"]
    assert values[0] is None
    assert values[-1] is not None
    assert values[-1] > (values[-2] or 0)


def test_marks_and_indices_are_the_last_within_each_candle() -> None:
    trail = chart.PriceTrail()
    for time, mark in ((130, 3), (0, 1), (59, 2), (60, 9), (130, 4)):
        trail.add(time, D(mark), None if mark == 2 else D(mark * 10))
    rows = [candle(time, 1.0) for time in (0, 60, 120, 180)]
    assert trail.closes(rows, 60, 0) == {"mark": [2.0, 9.0, 4.0, None], "index": [None, 90.0, 40.0, None]}
    assert trail.closes(rows, 60, 1, 2) == {"mark": [9.0], "index": [90.0]}
    assert trail.closes(rows, 30, 0)["mark"] == [1.0, 9.0, 4.0, None]
    assert chart.PriceTrail().closes(rows, 60, 0)["mark"] == [None] * 4


def order(**changes: Any) -> dict[str, Any]:
    row = {
        "order_id": 5,
        "status": "NEW",
        "side": "BUY",
        "price": D(60_000),
        "trigger_price": D(0),
        "remaining": D("0.50"),
    }
    return {**row, "reduce_only": "NONE", **changes}


LINES: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "a buy": ({}, ("order", True, 60_000.0, "▲ buy 0.5")),
    "a sell": ({"side": "SELL_CLOSE_HEDGE"}, ("order", False, 60_000.0, "▼ sell 0.5")),
    "a take profit": (
        {"status": "ORDER_STATUS_UNTRIGGERED", "trigger_price": D(65_000), "reduce_only": "TP_FROM_POSITION",
         "side": "SELL"},
        ("tp", False, 65_000.0, "take profit 0.5"),
    ),
    "a stop": (
        {"status": "ORDER_STATUS_UNTRIGGERED", "trigger_price": D(55_000), "reduce_only": "SL_FROM_POSITION",
         "remaining": D(0)},
        ("sl", True, 55_000.0, "stop loss all"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_an_open_order_is_a_line_at_its_price_or_trigger(name: str) -> None:
    changed, (kind, up, price, text) = LINES[name]
    [line] = chart.order_lines(BTC, [order(**changed)])
    shown = f"{price:,.1f}"
    assert line == {"id": "5", "kind": kind, "up": up, "price": price, "text": text, "shown": shown, "moves": True}
    assert chart.order_lines(BTC, [order(price=None), order(price=D(0))]) == []


@pytest.mark.parametrize(
    ("long", "short", "pnl"),
    [("0.3", "0", "+3,000.00"), ("0", "-0.3", "−3,000.00"), ("0.3", "-0.1", "+2,000.00"), ("0.3", "-0.3", "0.00")],
)
def test_a_position_has_lines_of_its_entry_and_its_liquidation(long: str, short: str, pnl: str) -> None:
    row = {
        "long_size": D(long), "short_size": D(short), "long_entry_value": D(long) * 50_000,
        "short_entry_value": D(short) * 50_000, "unrealized_pnl": D("1.5"),
    }  # fmt: skip
    size = D(long) + D(short)
    lines = chart.position_lines(BTC, row, D(40_000), D(60_000))
    assert [(line["id"], line["price"], line["up"], line["moves"]) for line in lines] == [
        ("entry", 50_000.0, size > 0, False), ("liquidation", 40_000.0, size > 0, False),
    ]  # fmt: skip
    assert lines[0]["text"] == f"entry {texts.trimmed(size)} {pnl}"
    [alone] = chart.position_lines(BTC, row, None, None)
    assert alone["text"].endswith(" +1.50")
    flat = {**row, "long_size": D(0), "short_size": D(0)}
    assert chart.position_lines(BTC, None, None, None) == chart.position_lines(BTC, flat, D(1), D(1)) == []


def test_fills_stand_at_the_start_of_their_candles_in_the_order_of_time() -> None:
    def fill(second: int, side: str) -> dict[str, Any]:
        time = pd.Timestamp(second, unit="s", tz="UTC")
        return {"time": time, "side": side, "quantity": D("0.10"), "price": D("60000.0")}

    assert chart.fill_marks([fill(119, "SELL"), fill(59, "BUY_CLOSE_HEDGE"), fill(60, "BUY")], 60) == [
        [0, True, 60_000.0, "▲ buy 0.1 at 60,000.0"], [60, False, 60_000.0, "▼ sell 0.1 at 60,000.0"],
        [60, True, 60_000.0, "▲ buy 0.1 at 60,000.0"],
    ]  # fmt: skip
    time = pd.Timestamp(7, unit="s", tz="UTC")
    row = {"time": time, "open": "1", "high": D(2), "low": 0.5, "close": 1, "volume": 3}
    assert chart.candle_of(row) == [7, 1.0, 2.0, 0.5, 1.0, 3.0]
    for missing in ({}, {"volume": None}, {"volume": float("nan")}):
        assert chart.candle_of({**{k: v for k, v in row.items() if k != "volume"}, **missing})[-1] is None
