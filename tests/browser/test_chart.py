"""Trading on the chart in a real browser: a drag and a click end in a review, and the chart fills the screen."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import toolkit
from tests.browser.conftest import Open
from tests.browser.host import expect, settle, until
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page


def lines(page: Page) -> dict[str, tuple[str, int]]:
    """Return kind and height in pixels of each line by its id."""
    shown = json.loads(page.locator(".tk-chart").get_attribute("data-lines") or "[]")
    return {name: (kind, height) for name, kind, height in shown}


def near(session: Session, factor: str) -> str:
    """Return a price near the best bid, in whole ticks."""
    bid = session.stream.order_book("BTCUSDC").best_bid
    assert bid is not None
    return str(session.product("BTCUSDC").round_price(bid * Decimal(factor), "nearest"))


def box(page: Page) -> dict[str, Any]:
    place = page.locator(".tk-chart").bounding_box()
    assert place is not None
    return dict(place)


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


def test_a_click_on_the_chart_places_an_order_only_through_the_review(
    show: Open, session: Session, venue: LocalVenue
) -> None:
    venue.advance("5m")
    share, side = 0.75, "BUY"
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


def test_a_click_sets_the_exit_of_its_side_of_the_mark_price(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    session.buy("BTCUSDC", "0.05")
    chart = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    drawn(page, 1)
    before = len(session.intents())
    page.get_by_role("button", name="TP / SL").click()
    click(page, 0.75)
    page.get_by_role("button", name="Sign and place").and_(page.locator("[aria-disabled=false]")).wait_for()
    assert len(session.intents()) == before
    page.get_by_role("button", name="Sign and place").click()
    until(page, lambda: "stop loss" in [one["text"].rpartition(" ")[0] for one in chart.view["lines"]])


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
