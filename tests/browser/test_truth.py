"""What the page claims is true: without a kernel, in a saved view, under quick fingers, with any separator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.host import Host, expect, pass_time, settle, until
from tests.browser.test_widgets import Open, host, panel, session, show, signed_nothing, venue
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["host", "session", "show", "signed_nothing", "venue"]

ENABLED = ".tk button:enabled, .tk input:enabled, .tk select:enabled"


def test_a_dead_kernel_veils_every_panel_and_disables_every_button_until_it_is_back(
    show: Open, host: Host, session: Session
) -> None:
    page = show(session.dashboard("BTCUSDC"))
    page.locator(".tk-status", has_text="live").first.wait_for()
    until(page, lambda: page.locator(ENABLED).count() > 10)
    host.fall_silent(page, 2_000)
    expect(page.locator(".tk-status")).to_have_text(["quiet"] * page.locator(".tk").count())
    pass_time(page, 1_000)
    page.wait_for_function("document.querySelectorAll('.tk-veiled').length === document.querySelectorAll('.tk').length")
    expect(page.locator(ENABLED)).to_have_count(0)
    words = page.locator(".tk-lock").all_inner_texts()
    assert all("No kernel since" in one and "as of 2026-01-01 00:" in one for one in words)
    host.silent = False
    page.wait_for_function("!document.querySelector('.tk-veiled')")
    until(page, lambda: page.locator(ENABLED).count() > 10)


def test_the_focus_waits_at_the_reason_and_returns_with_the_kernel(show: Open, host: Host, session: Session) -> None:
    page = show(session.ticket("BTCUSDC"))
    page.get_by_label("Price (USDC)").focus()
    host.fall_silent(page, 3_000)
    page.wait_for_function("document.activeElement.className === 'tk-lock'")
    host.silent = False
    page.wait_for_function("document.activeElement.id.endsWith('-price')")


def test_a_saved_view_says_as_of_when(show: Open, host: Host, session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    ticket.beat = {**ticket.beat, "at": 0}
    host.silent = True
    page = show(ticket)
    go = page.get_by_role("button", name="Review buy order")
    expect(go).to_be_disabled()
    expect(page.locator(".tk-status")).to_have_text("connecting")
    pass_time(page, 3_000)
    page.get_by_text("Saved view as of 2026-01-01 00:").wait_for()
    expect(go).to_be_disabled()


def test_a_busy_kernel_takes_no_presses(show: Open, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.widgets.base_panel.panel import KERNEL_LOOP

    page = show(toolkit.widgets.Blotter(session))
    monkeypatch.setattr(KERNEL_LOOP, "busy_seconds", lambda: 4.0)
    page.get_by_text("The kernel is busy with a cell").wait_for()
    expect(page.locator(ENABLED)).to_have_count(0)
    monkeypatch.undo()
    page.get_by_text("live", exact=True).wait_for()


@pytest.mark.parametrize("clicks", [2, 5])
def test_a_series_of_quick_clicks_only_asks(
    show: Open, session: Session, signed_nothing: Callable[[], None], clicks: int
) -> None:
    session.buy("BTCUSDC", "0.05")
    for price in ("50000", "50001"):
        session.buy("BTCUSDC", "0.01", price=price)
    before = len(session.intents())
    page = show(toolkit.widgets.Blotter(session))
    for name in ("Close the BTCUSDC position", "Cancel all"):
        place = page.get_by_role("button", name=name).bounding_box()
        assert place is not None
        page.evaluate("holdTimers(100)")  # however long a loaded machine takes for them, the clicks are quick
        page.mouse.click(place["x"] + 8, place["y"] + 8, click_count=clicks, delay=10)
        armed = page.locator(".tk-armed")
        armed.wait_for()
        assert armed.evaluate("(one) => one === document.activeElement")
        settle(page)
        assert len(session.intents()) == before
        pass_time(page, 500)
    page.locator(".tk-armed").click()
    page.get_by_text("No open orders.").wait_for()


def test_a_held_enter_key_only_asks(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    before = len(session.intents())
    page = show(toolkit.widgets.Blotter(session))
    page.get_by_role("button", name="Close the BTCUSDC position").focus()
    for _ in range(20):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    page.locator(".tk-armed").wait_for()
    assert len(session.intents()) == before


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("0,03", ["0.03"]),
        ("60.000,50", ["60000.50"]),
        ("60,000.5", ["60000.5"]),
        ("60000.", ["60000"]),
        ("1'234.5", ["1234.5"]),
        ("1,500", ["1500", "1.500"]),
        ("1,2,3", []),
        ("12e3", ["12000"]),
        ("$60000", ["60000"]),
        ("+60000", ["60000"]),
        ("60\u202f000 USDC", ["60000"]),
        ("1e-3", ["0.001"]),
        ("12e", []),
    ],
)
def test_a_separator_is_read_as_it_was_meant_or_not_at_all(
    show: Open, session: Session, typed: str, meant: list[str]
) -> None:
    ticket = session.ticket("BTCUSDC", price="50000")
    page = show(ticket)
    page.get_by_label("Quantity, in BTC").fill(typed)
    page.get_by_text(f"'{typed}' is not a plain decimal text").wait_for()
    expect(page.locator(".tk-field-quantity .tk-chip")).to_have_text(meant)
    assert "BUY" in repr(ticket.order)
    if meant:
        page.locator(".tk-field-quantity .tk-chip").last.click()
        page.wait_for_function(f"document.querySelector('input[id$=-quantity]').value === '{meant[-1]}'")


def test_a_chip_is_pressed_however_fast_the_market_moves(show: Open, session: Session, venue: LocalVenue) -> None:
    ticket = session.ticket("BTCUSDC", quantity="0.01")
    page = show(ticket)
    page.evaluate("window.chip = document.querySelector('.tk-chip')")
    for _ in range(12):
        ticket.price = ""
        chip = page.locator(".tk-field-price .tk-chip").first
        chip.wait_for()
        place = chip.bounding_box()
        assert place is not None
        page.mouse.move(place["x"] + 10, place["y"] + 8)
        page.mouse.down()
        before, label = ticket._ticker.updates, chip.inner_text()
        while ticket._ticker.updates < before + 5 or ticket.view["problems"][0]["choices"][0] == label:
            venue.advance("1s")
        page.mouse.up()
        page.wait_for_function("document.querySelector('input[id$=-price]').value !== ''")


def test_a_static_view_without_data_says_so(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolkit.widgets.base_panel import panel as module

    monkeypatch.setattr(module, "_awaits_data", lambda live: True)
    monkeypatch.setattr(module, "FIRST_DATA_SECONDS", 0.0)
    dashboard = session.dashboard("BTCUSDC")
    html = dashboard._repr_mimebundle_()[0]["text/html"]
    assert html.count("not loaded") == len(dashboard.panels)
    assert "no positions" not in html
    assert repr(dashboard.blotter) == "<Blotter all products: not loaded>"
    monkeypatch.undo()
    html = dashboard._repr_mimebundle_()[0]["text/html"]
    assert "not loaded" not in html
    assert "no positions" in html
    assert "as of 2026-01-01 00:" in html


def test_a_lone_ticket_keeps_its_width(show: Open, session: Session) -> None:
    page = show(session.ticket("BTCUSDC"))
    box = page.locator(".tk").bounding_box()
    assert box is not None
    assert box["width"] <= 430
    assert page.viewport_size == {"width": 1320, "height": 900}


def decimals(page: Page, selector: str) -> set[int]:
    texts: list[Any] = page.locator(selector).all_inner_texts()
    return {len(one.partition(".")[2]) for one in texts if one.strip()}


def test_numbers_below_each_other_have_the_same_decimals(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    page = show(toolkit.widgets.OrderBook(session, "BTCUSDC"), toolkit.widgets.Trades(session, "BTCUSDC"))
    panel(page, "BTCUSDC trades").locator("td").first.wait_for()
    for column in (1, 2, 3):
        assert len(decimals(page, f".tk-bid > span:nth-child({column})")) == 1
    assert len(decimals(page, ".tk-table td:nth-child(4)")) == 1
