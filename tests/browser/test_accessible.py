"""Everyone can use the page: axe-core finds nothing, the focus is never lost, and only what matters is announced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.conftest import Open
from tests.browser.host import until
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page


FOCUSED = "document.activeElement === document.body ? 'body' : document.activeElement.textContent"


@pytest.fixture(params=["light", "dark", "contrast"])
def themed(request: pytest.FixtureRequest, show: Open, page: Page) -> Open:
    """Open widgets in a light page, a dark page, and with the colours of a high-contrast system."""
    page.emulate_media(forced_colors="active" if request.param == "contrast" else "none")

    def opened(*widgets: Any) -> Page:
        show(*widgets, theme="dark" if request.param == "dark" else "light")
        page.locator(".tk-status", has_text="live").first.wait_for()
        return page

    return opened


def violations(page: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    # What the page around the widgets should have (a heading, landmarks) is not theirs.
    found = Axe().run(page, context={"include": [".tk"]}, options={"resultTypes": ["violations"]}).response
    return [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]


def test_axe_finds_nothing(themed: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("10m")
    session.buy("BTCUSDC", "0.05")
    session.buy("BTCUSDC", "0.01", price="50000")
    dashboard = session.dashboard("BTCUSDC")
    page = themed(dashboard, toolkit.widgets.Permissions(session))
    assert violations(page) == []
    dashboard.ticket.price, dashboard.ticket.quantity = "50000.05", "0,5"
    page.get_by_text("is not a multiple of tickSize").wait_for()
    assert violations(page) == []
    dashboard.ticket.price, dashboard.ticket.quantity = "50000", "0.01"
    dashboard.ticket.submit()
    page.get_by_role("button", name="Sign and buy").and_(page.locator("[aria-disabled=false]")).wait_for()
    page.get_by_text("What will be signed").click()
    assert violations(page) == []


def test_an_untouched_page_announces_nothing(show: Open, session: Session, venue: LocalVenue) -> None:
    session.buy("BTCUSDC", "0.05")
    ticket_fields: dict[str, Any] = {"price": "99000", "quantity": "0.01", "tif": "POST_ONLY"}
    page = show(session.dashboard("BTCUSDC"), session.ticket("BTCUSDC", **ticket_fields), session.ticket("BTCUSDC"))
    page.locator(".tk-wrong-line").first.wait_for()
    page.evaluate(
        """() => {
          window.said = [];
          new MutationObserver((list) => list.forEach((one) => {
            const element = one.target.nodeType === 1 ? one.target : one.target.parentElement;
            const region = element && element.closest('[aria-live=polite], [role=alert], [role=log]');
            if (region) window.said.push(region.className + ': ' + region.textContent);
          })).observe(document.body, { subtree: true, childList: true, characterData: true });
        }"""
    )
    before = page.evaluate("window.counts.messages")
    for _ in range(60):
        venue.advance("10s")
        page.wait_for_timeout(20)
    until(page, lambda: page.evaluate("window.counts.messages") - before > 30)
    assert page.evaluate("window.said") == []


def test_the_focus_follows_the_order_and_never_falls_to_the_page(show: Open, session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket)
    review, sign = (page.get_by_role("button", name=name) for name in ("Review buy order", "Sign and buy"))
    for leave in ("Escape", "Back"):
        review.focus()
        page.keyboard.press("Enter")
        sign.wait_for()
        page.wait_for_function(f"({FOCUSED}).includes('BUY 0.01 BTCUSDC')")
        if leave == "Escape":
            page.keyboard.press("Escape")
        else:
            page.get_by_role("button", name="Back").click()
        page.wait_for_function(f"({FOCUSED}) === 'Review buy order'")
    page.keyboard.press("Enter")
    sign.click()
    page.get_by_text("rests in the book").first.wait_for()
    page.wait_for_function(f"({FOCUSED}).includes('rests in the book')")


def test_enter_right_after_typing_reviews_what_was_typed(show: Open, session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="50000")
    page = show(ticket)
    page.get_by_label("Quantity, in BTC").focus()
    page.keyboard.type("0.01")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign and buy").wait_for()
    review = ticket.review
    assert review is not None
    assert review.payload["orders"][0]["ordQty"] == "0.01"


def test_enter_with_a_wrong_number_says_why_and_signs_nothing(show: Open, session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="50000")
    page = show(ticket)
    page.get_by_label("Quantity, in BTC").focus()
    page.keyboard.type("0.0101")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("is not a multiple of stepSize 0.001").wait_for()
    assert ticket.phase == "edit"
    assert page.evaluate("document.activeElement.id.endsWith('-quantity')")
