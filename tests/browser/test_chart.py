"""The candle chart in a real browser: history, indicators, themes, and orders that are moved by their lines."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.host import expect, until
from tests.browser.test_widgets import Open, bid, host, session, show, venue
from toolkit.errors import CheckFailed
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["host", "session", "show", "venue"]


def lines(page: Page) -> dict[str, tuple[str, int]]:
    """Return kind and height in pixels of each line by its id."""
    shown = json.loads(page.locator(".tk-chart").get_attribute("data-lines") or "[]")
    return {name: (kind, height) for name, kind, height in shown}


def near(session: Session, factor: str) -> str:
    return str(session.product("BTCUSDC").round_price(bid(session) * Decimal(factor), "nearest"))


def box(page: Page) -> dict[str, Any]:
    place = page.locator(".tk-chart").bounding_box()
    assert place is not None
    return dict(place)


def test_orders_fills_entry_and_exits_are_lines_and_marks(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    session.buy("BTCUSDC", "2.5", tp=near(session, "1.003"), sl=near(session, "0.997"))
    session.buy("BTCUSDC", "0.01", price=near(session, "0.999"))
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    page.wait_for_function("JSON.parse(document.querySelector('.tk-chart').dataset.lines || '[]').length === 5")
    assert sorted(kind for kind, _ in lines(page).values()) == ["entry", "liquidation", "order", "sl", "tp"]
    liquidation = session.positions("BTCUSDC", exact=True)["liquidation_price"].iloc[0]
    shown = next(one["shown"] for one in chart.view["lines"] if one["kind"] == "liquidation")
    assert abs(Decimal(shown.replace(",", "")) / liquidation - 1) < Decimal("0.001")
    assert [mark[1] for mark in chart.view["fills"]] == [True] * len(session.fills("BTCUSDC"))
    chart.refresh()
    assert chart.view["prices"]["mark"][-1] == float(chart._ticker.value["mark_price"])
    assert chart.view["prices"]["index"][-1] == float(chart._ticker.value["oracle_price"])


def test_an_order_is_moved_by_its_line_after_a_review(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    receipt = session.buy("BTCUSDC", "0.01", price=near(session, "0.999"))
    page = show(toolkit.widgets.Candles(session, "BTCUSDC"))
    order = str(receipt.order_id)
    page.wait_for_function(f"""JSON.parse(document.querySelector('.tk-chart').dataset.lines || '[]')
        .some(([id, kind, height]) => id === '{order}' && height > 0)""")
    before = session.orders("BTCUSDC", open=True, exact=True)["price"].iloc[0]
    sent = len(session.intents())
    place, height = box(page), lines(page)[order][1]
    page.mouse.move(place["x"] + 80, place["y"] + height)
    page.mouse.down()
    page.mouse.move(place["x"] + 80, place["y"] + height + 20, steps=5)
    page.mouse.up()
    sign = page.get_by_role("button", name="Sign and change")
    sign.wait_for()
    page.get_by_text(f"Change order {order}, BUY 0.010 BTCUSDC: price {before}").wait_for()
    assert len(session.intents()) == sent
    sign.click()
    sign.wait_for(state="hidden")
    until(page, lambda: session.orders("BTCUSDC", open=True, exact=True)["price"].iloc[0] < before)
    assert session.orders("BTCUSDC", open=True)["order_id"].astype(str).tolist() == [order]
    assert len(session.intents()) == sent + 1


def test_a_dragged_line_goes_back_when_the_review_is_left(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    receipt = session.buy("BTCUSDC", "0.01", price=near(session, "0.999"))
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    order = str(receipt.order_id)
    sent = len(session.intents())
    chart.move(order, near(session, "0.998"))
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Sign and change").wait_for(state="hidden")
    assert chart.review is None
    assert len(session.intents()) == sent
    with pytest.raises(CheckFailed, match="minOrderValue"):
        chart.move(order, "1")


def test_history_comes_with_scrolling_and_what_is_shown_stays(show: Open, session: Session) -> None:
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    before = len(chart.history["rows"])
    place = box(page)
    for _ in range(12):
        if len(chart.history["rows"]) > before:
            break
        page.mouse.move(place["x"] + 50, place["y"] + 100)
        page.mouse.down()
        page.mouse.move(place["x"] + place["width"] - 120, place["y"] + 100, steps=4)
        page.mouse.up()
        page.wait_for_timeout(50)
    until(page, lambda: len(chart.history["rows"]) > before)
    times = [row[0] for row in chart.history["rows"]]
    assert times == sorted(set(times))
    page.get_by_text("Candles as a table").click()
    expect(page.locator(".tk-candles tbody tr")).to_have_count(60)


def test_mark_and_index_lines_have_the_history_that_the_venue_publishes(
    show: Open, session: Session, venue: LocalVenue
) -> None:
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    for _ in range(3):
        venue.advance("1m")
        chart.refresh()
    known = [*chart.history["prices"]["mark"], *chart.view["prices"]["mark"]]
    assert len(known) == len(chart.history["rows"]) + len(chart.view["rows"])
    assert [one is not None for one in known[-3:]] == [True] * 3
    assert known[-5] is None
    page = show(chart)
    page.get_by_role("button", name="4h", exact=True).click()
    page.get_by_role("region", name="BTCUSDC · 4h").wait_for()
    settled = session.info.funding_rate_history("BTCUSDC", exact=True)
    marks = {int(row["time"].timestamp()): row for row in settled.reset_index().to_dict("records")}
    rows, prices = chart.history["rows"], chart.history["prices"]
    shown = [
        (row[0] + 4 * 3600, mark, index) for row, mark, index in zip(rows, prices["mark"], prices["index"], strict=True)
    ]
    compared = [(mark, index) for time, mark, index in shown if time in marks]
    assert len(compared) > 20
    assert compared == [
        (float(marks[time]["mark_price"]), float(marks[time]["oracle_price"])) for time, *_ in shown if time in marks
    ]
    page.get_by_role("button", name="1m", exact=True).click()
    page.get_by_role("region", name="BTCUSDC · 1m").wait_for()
    assert [one is not None for one in chart.view["prices"]["mark"][-1:]] == [True]


def test_intervals_and_indicators_are_switched_on_the_page(show: Open, session: Session, venue: LocalVenue) -> None:
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    page.get_by_role("button", name="15m", exact=True).click()
    page.get_by_role("region", name="BTCUSDC · 15m").wait_for()
    starts = [row[0] for row in chart.history["rows"]]
    assert {start % 900 for start in starts} == {0}
    page.get_by_role("button", name="SMA 20").click()
    page.get_by_role("button", name="RSI 14").click()
    page.wait_for_function("document.querySelectorAll('.tk-switch [aria-pressed=true]').length === 3")
    until(page, lambda: set(chart.history["studies"]) == {"SMA 20", "RSI 14"})
    page.get_by_role("button", name="RSI 14").click()
    until(page, lambda: chart.indicators == ["SMA 20"])
    closes = [row[4] for row in chart.history["rows"]]
    assert abs(chart.history["studies"]["SMA 20"][-1] - sum(closes[-20:]) / 20) < 1e-6
    venue.advance("1h")
    chart.refresh()
    rows = [*chart.history["rows"], *chart.view["rows"]]
    values = [*chart.history["studies"]["SMA 20"], *chart.view["studies"]["SMA 20"]]
    assert len(rows) == len(values)
    assert abs(values[-1] - sum(row[4] for row in rows[-20:]) / 20) < 1e-6


def test_candles_follow_the_theme_of_the_page(show: Open, session: Session) -> None:
    page = show(toolkit.widgets.Candles(session, "BTCUSDC"))
    ink = page.locator(".tk-chart").get_attribute("data-ink")
    page.evaluate("document.body.className = 'dark'; document.body.dataset.jpThemeLight = 'false'")
    page.wait_for_function(f"document.querySelector('.tk-chart').dataset.ink !== '{ink}'")
    expect(page.locator(".tk-chart")).to_have_attribute("data-ink", "rgb(111, 183, 255)")
