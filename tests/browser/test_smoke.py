"""What the default run opens in a browser: every panel once, and one order that is corrected, reviewed and signed.

A script that breaks anywhere fails these tests: whatever a page writes to its console as an error does.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from tests.browser.conftest import Open
from tests.browser.host import every_panel, expect, panel_of
from toolkit.session import Session
from toolkit.venue.local import LocalVenue


def test_every_panel_is_drawn_and_live(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    shown = every_panel(session)
    page = show(*shown)
    expect(page.locator(".tk-status")).to_have_text(["live"] * len(shown))
    assert all(len(one.strip().splitlines()) > 3 for one in page.locator(".tk").all_inner_texts())


def test_an_invalid_price_is_shown_corrected_submitted_and_filled(
    show: Open, session: Session, venue: LocalVenue, tmp_path: Path
) -> None:
    venue.advance("30m")
    ask = session.stream.order_book("BTCUSDC").best_ask
    assert ask is not None
    dashboard, before = session.dashboard("BTCUSDC"), len(session.intents())
    page = show(dashboard)
    ticket, blotter = panel_of(page, "Order · BTCUSDC"), panel_of(page, "Positions and orders")
    review = ticket.get_by_role("button", name="Review buy order")
    expect(review).to_be_disabled()

    ticket.get_by_label("Price (USDC)").fill(f"{ask}5")
    ticket.get_by_label("Quantity, in BTC").fill("0.02")
    message = ticket.get_by_text("is not a multiple of tickSize 0.1")
    message.wait_for()
    expect(ticket.get_by_label("Price (USDC)")).to_have_attribute("aria-invalid", "true")
    expect(review).to_be_disabled()
    page.screenshot(path=tmp_path / "invalid.png")

    ticket.get_by_role("button", name=f"Use {ask} for price").click()
    message.wait_for(state="detached")
    expect(ticket.get_by_label("Price (USDC)")).to_have_value(str(ask))
    expect(ticket.get_by_text("opens a long of 0.02")).to_be_visible()

    review.click()
    sign = ticket.get_by_role("button", name="Sign and buy")
    sign.wait_for()
    assert len(session.intents()) == before
    ticket.get_by_text("What will be signed").click()
    expect(ticket).to_contain_text(dashboard.ticket.view["review"]["digest"])
    page.screenshot(path=tmp_path / "review.png")
    sign.click()
    ticket.get_by_text(f"filled: 0.02 at {ask:,}").wait_for()
    blotter.get_by_role("cell", name="▲ long").wait_for()
    expect(blotter.get_by_role("cell", name=f"{ask:,}").first).to_be_visible()
    page.screenshot(path=tmp_path / "filled.png")
    assert session.positions(exact=True)["size"].tolist() == [Decimal("0.02")]
