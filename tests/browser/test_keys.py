"""Keys act on what has the focus, and never on the notebook around it; each table is one Tab stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import toolkit
from tests.browser.conftest import Open
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page


SHORTCUTS = [
    *"abcdfhijklmnoprtuvxyz0123456", *"ABCDFHIJKLMOPRVXYZ", "ArrowUp", "ArrowDown", "ArrowLeft",
    "ArrowRight", "Home", "End", "PageUp", "PageDown", "Enter", " ", "Escape", "Delete", "Backspace", "Tab",
]  # fmt: skip
"""Keys that JupyterLab and Notebook 7 have bound in command mode, alone or with Ctrl, Shift and Alt."""
CONTROLS = ".tk :is(button, input, select, summary, [tabindex])"
FOCUSABLE = f"[...document.querySelectorAll('{CONTROLS}')].filter((one) => one.offsetParent)"


@pytest.fixture
def full(show: Open, session: Session, venue: LocalVenue) -> Page:
    """A page with every panel that has something to press."""
    venue.advance("10m")
    for price in ("50000", "50001"):
        session.buy("BTCUSDC", "0.01", price=price)
    session.buy("BTCUSDC", "0.05")
    widgets = toolkit.widgets
    page = show(session.dashboard("BTCUSDC"), widgets.Permissions(session), widgets.Funding(session, "BTCUSDC"))
    page.locator(".tk-status", has_text="live").first.wait_for()
    page.get_by_role("button", name="Close the BTCUSDC position").wait_for()
    page.get_by_role("button", name="Edit the BTCUSDC position").click()
    return page


def stops(page: Page) -> list[str]:
    """Return what Tab leads to, from the first to the last."""
    page.evaluate("document.activeElement.blur()")
    found: list[str] = []
    for _ in range(120):
        page.keyboard.press("Tab")
        here = page.evaluate(
            "document.activeElement.closest('.tk') ? document.activeElement.outerHTML.slice(0, 90) : ''"
        )
        if not here:
            break
        found.append(here)
    return found


def test_each_table_and_group_of_buttons_is_one_tab_stop(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("10m")
    session.buy("BTCUSDC", "0.05")
    session.buy("BTCUSDC", "0.01", price="50000")
    page = show(session.dashboard("BTCUSDC"))
    page.get_by_role("button", name="Cancel order").wait_for()
    assert len(stops(page)) <= 36
    lists = (
        "[...document.querySelectorAll('[data-rove]')].map((one) => one.querySelectorAll('[tabindex=\"0\"]').length)"
    )
    assert max(page.evaluate(lists)) == 1
    # None is in front of what stands before it.
    assert page.evaluate("Math.max(...[...document.querySelectorAll('.tk *')].map((one) => one.tabIndex))") == 0


def test_whatever_has_the_focus_has_a_visible_ring(full: Page) -> None:
    full.keyboard.press("Tab")
    bare = full.evaluate(
        """FOCUSABLE.filter((one) => {
          one.focus();
          if (document.activeElement !== one) return false;
          const shown = one.type === 'radio' ? one.nextElementSibling : one;
          const { outlineStyle, outlineWidth } = getComputedStyle(shown);
          return outlineStyle === 'none' || parseFloat(outlineWidth) < 2;
        }).map((one) => one.outerHTML.slice(0, 80))""".replace("FOCUSABLE", FOCUSABLE)
    )
    assert bare == []
