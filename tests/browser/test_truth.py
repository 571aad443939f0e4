"""What the page claims is true: without a kernel, in a saved view, under quick fingers, with any separator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.conftest import Open
from tests.browser.host import Host, expect, pass_time, until
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    pass


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
