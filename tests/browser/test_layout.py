"""Any layout: each panel has its width and shows its text, in any container, a narrow column, and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets
import pytest

import toolkit
from tests.browser.conftest import Open
from tests.browser.host import every_panel
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page


LEAST = 240
CUT = """[...document.querySelectorAll('.tk-head, .tk-truth, .tk-quote, .tk-radios label, .tk-go, dt, dd')]
  .filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.className + ': ' + one.textContent)"""
"""Texts that do not fit into their place."""


def widths(page: Page) -> list[float]:
    """Return the widths of all panels that are shown; each of them shows more than its title."""
    page.locator(".tk-status", has_text="live").first.wait_for()
    shown = page.locator(".tk:visible")
    assert all(len(one.strip().splitlines()) > 3 for one in shown.all_inner_texts())
    assert page.evaluate(CUT) == []
    return [box["width"] for one in shown.all() if (box := one.bounding_box()) is not None]


@pytest.mark.parametrize("width", [1400, 320])
def test_every_panel_has_the_width_of_a_narrow_page(
    show: Open, page: Page, session: Session, venue: LocalVenue, width: int
) -> None:
    venue.advance("10m")
    session.buy("BTCUSDC", "0.05")
    page.set_viewport_size({"width": width, "height": 900})
    show(*every_panel(session), session.dashboard("BTCUSDC"))
    assert min(widths(page)) >= min(LEAST, width - 50)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("box", [ipywidgets.HBox, ipywidgets.VBox])
def test_a_panel_in_a_box_is_as_wide_as_it_needs(show: Open, session: Session, box: Any) -> None:
    page = show(
        box([session.ticket("BTCUSDC"), session.ticket("BTCUSDC")]), *(box([one]) for one in every_panel(session))
    )
    assert min(widths(page)) >= LEAST


def test_one_screen_shows_chart_book_ticket_and_blotter(show: Open, page: Page, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    page.set_viewport_size({"width": 1400, "height": 900})
    show(session.dashboard("BTCUSDC"))
    page.get_by_role("button", name="Close the BTCUSDC position").wait_for()
    for name in ("Review buy order", "Close the BTCUSDC position", "Latest candle"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 900
    last = page.locator(".tk-bid").last.bounding_box()
    assert last is not None
    assert last["y"] <= 900


def test_buttons_on_a_phone_are_large_enough_and_every_form_has_a_name_of_its_own(
    show: Open, page: Page, session: Session
) -> None:
    session.buy("BTCUSDC", "0.05")
    session.buy("BTCUSDC", "0.01", price="50000")
    page.set_viewport_size({"width": 390, "height": 844})
    show(session.dashboard("BTCUSDC"), session.ticket("ETHUSDC", price="1,5"), toolkit.widgets.Permissions(session))
    page.get_by_role("button", name="Cancel order").first.wait_for()
    small = page.evaluate(
        """[...document.querySelectorAll('.tk :is(button, select, summary)')].filter((one) => one.offsetParent)
        .filter((one) => Math.min(one.offsetHeight, one.offsetWidth) < 24).map((one) => one.outerHTML.slice(0, 90))"""
    )
    assert small == []
    names = page.get_by_role("form").evaluate_all(
        "(all) => all.map((one) => document.getElementById(one.getAttribute('aria-labelledby')).textContent)"
    )
    assert names == ["Order · BTCUSDC", "Order · ETHUSDC"]
