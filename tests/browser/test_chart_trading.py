"""Trading on the chart: a click places an order or an exit through the review, lines off the pane are named."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.host import expect, settle, until
from tests.browser.test_chart import box, near
from tests.browser.test_widgets import Open, host, session, show, venue
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["host", "session", "show", "venue"]

SCALE = "() => JSON.parse(document.querySelector('.tk-chart').dataset.lines || '[]').length"


def drawn(page: Page, lines: int = 0) -> None:
    """Wait until the chart has drawn its candles and so many lines."""
    page.wait_for_function(f"({SCALE})() >= {lines}")
    page.locator(".tk-status", has_text="live").first.wait_for()
    expect(page.locator(".tk-readout")).to_contain_text(" O ")


def click(page: Page, share: float) -> None:
    """Click on the chart at a share of its height from the top."""
    place = box(page)
    page.mouse.click(place["x"] + 60, place["y"] + place["height"] * share)
    # The chart takes the next click within half a second for a double click. Timers of a page fire in their order.
    page.evaluate("new Promise((done) => setTimeout(done, 550))")


@pytest.mark.parametrize(("share", "side"), [(0.02, "SELL"), (0.75, "BUY")])
def test_a_click_on_the_chart_places_an_order_only_through_the_review(
    show: Open, session: Session, venue: LocalVenue, share: float, side: str
) -> None:
    venue.advance("5m")
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    drawn(page)
    before = len(session.intents())
    click(page, share)  # nothing is armed
    quantity, order = page.get_by_label("Quantity of the order"), page.get_by_role("button", name="Order", exact=True)
    expect(quantity).to_be_hidden()
    order.click()
    expect(order).to_have_attribute("aria-pressed", "true")
    quantity.fill("0.01")
    page.keyboard.press("Escape")
    expect(quantity).to_be_hidden()
    click(page, share)
    settle(page)
    assert chart.review is None
    order.click()
    page.locator(".tk-status", has_text="live").first.wait_for()  # a panel that has heard nothing takes no click
    click(page, share)
    sign = page.get_by_role("button", name=f"Sign and {side.lower()}")
    sign.and_(page.locator("[aria-disabled=false]")).wait_for()
    expect(order).to_have_attribute("aria-pressed", "false")
    assert len(session.intents()) == before
    action = chart.view["review"]["action"]
    item = json.loads(action)["orders"][0]
    assert (item["ordSide"], item["ordQty"], item["ordType"]) == (side, "0.01", "LIMIT")
    last = Decimal(chart.view["last"].replace(",", ""))
    assert (Decimal(item["ordPx"]) < last) == (side == "BUY")
    assert Decimal(item["ordPx"]) % session.product("BTCUSDC").tick_size == 0
    sign.click()
    until(page, lambda: len(session.orders("BTCUSDC", open=True)) == 1)
    assert len(session.intents()) == before + 1


@pytest.mark.parametrize(("share", "kind"), [(0.02, "take profit"), (0.75, "stop loss")])
def test_a_click_sets_the_exit_of_its_side_of_the_mark_price(
    show: Open, session: Session, venue: LocalVenue, share: float, kind: str
) -> None:
    venue.advance("5m")
    session.buy("BTCUSDC", "0.05")
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    drawn(page, 1)
    before = len(session.intents())
    page.get_by_role("button", name="TP / SL").click()
    click(page, share)
    page.get_by_role("button", name="Sign and place").and_(page.locator("[aria-disabled=false]")).wait_for()
    assert len(session.intents()) == before
    page.get_by_role("button", name="Sign and place").click()
    until(page, lambda: kind in [one["text"].rpartition(" ")[0] for one in chart.view["lines"]])


def test_without_a_quantity_the_chart_says_what_is_missing(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    drawn(page)
    page.get_by_role("button", name="Order", exact=True).click()
    click(page, 0.75)
    page.get_by_role("alert").get_by_text("quantity").wait_for()
    assert chart.review is None


def test_lines_off_the_chart_are_named_at_its_edge(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    for factor in ("0.5", "0.6", "0.7", "0.8"):
        session.buy("BTCUSDC", "0.01", price=near(session, factor))
    session.buy("BTCUSDC", "0.02", tp=near(session, "1.5"))
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    above, below = page.locator(".tk-edges p").all()
    shown = {one["text"]: one["shown"] for one in chart.view["lines"]}
    expect(above).to_have_text(f"↑ take profit 0.02 at {shown['take profit 0.02']}")
    prices = [f"{Decimal(near(session, one)):,}" for one in ("0.8", "0.7", "0.6")]
    expect(below).to_have_text("   ".join(f"↓ ▲ buy 0.01 at {one}" for one in prices) + " and 1 more")
    place, last = box(page), below.bounding_box()
    assert last is not None
    assert place["y"] + place["height"] / 2 < last["y"] < place["y"] + place["height"] - 20


def test_orders_that_lie_close_share_one_label(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    for factor in ("0.9990", "0.99899", "0.99898", "0.995"):
        session.buy("BTCUSDC", "0.01", price=near(session, factor))
    session.sell("BTCUSDC", "0.02", price=near(session, "1.0005"))
    page = show(toolkit.widgets.Candles(session, "BTCUSDC"))
    found = '["▼ sell 0.02","▲ buy 0.01 +2","▲ buy 0.01"]'
    expect(page.locator(".tk-chart")).to_have_attribute("data-labels", found)


def test_the_fills_of_a_candle_are_read_with_it(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    session.buy("BTCUSDC", "0.02")
    page = show(toolkit.widgets.Candles(session, "BTCUSDC"))
    expect(page.locator(".tk-readout")).to_contain_text("▲ buy 0.02 at ")
    session.sell("BTCUSDC", "0.01")
    expect(page.locator(".tk-readout")).to_contain_text(" 2 fills")


def test_the_chart_fills_the_screen_and_takes_the_height_that_is_chosen(show: Open, session: Session) -> None:
    page = show(toolkit.widgets.Candles(session, "BTCUSDC"))
    drawn(page)
    pane: Any = page.locator(".tk-chart")
    assert pane.evaluate("(one) => getComputedStyle(one).resize") == "vertical"
    pane.evaluate("(one) => (one.style.height = '500px')")  # what dragging the corner does
    expect(page.locator(".tk-edges")).to_have_css("height", "472px")
    pane.evaluate("(one) => (one.style.height = '')")
    full = page.get_by_role("button", name="Full screen")
    full.click()
    page.wait_for_function("document.fullscreenElement && document.fullscreenElement.matches('.tk-candles')")
    page.wait_for_function("document.querySelector('.tk-chart').clientHeight > 600")
    full.click()
    page.wait_for_function("!document.fullscreenElement")
    page.wait_for_function("document.querySelector('.tk-chart').clientHeight === 320")
