"""A trader's header and what belongs to it: another product, grouping, reversing, closing all, tabs, files."""

from __future__ import annotations

from pathlib import Path

import toolkit
from tests.browser.conftest import Open
from tests.browser.host import Host, expect, panel_of, until
from toolkit.session import Session


def test_another_product_is_shown_in_every_panel_of_one_product(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    dashboard = session.dashboard("BTCUSDC", "5m")
    before, old = len(dashboard.panels), dashboard.ticket
    page = show(dashboard)
    page.get_by_label("Product", exact=True).select_option("ETHUSDC")
    for title in ("Order · ETHUSDC", "ETHUSDC order book", "ETHUSDC · 5m", "ETHUSDC trades"):
        panel_of(page, title).locator(".tk-status", has_text="live").wait_for()
    assert page.locator(".tk").count() == before
    assert (dashboard.symbol, dashboard.ticket.symbol, old.lock) == ("ETHUSDC", "ETHUSDC", "closed")
    price = dashboard.order_book.view["bids"][1][4]
    page.locator(".tk-bid").nth(1).click()
    until(page, lambda: dashboard.ticket.price == price)
    ticket = panel_of(page, "Order · ETHUSDC")
    ticket.get_by_label("Quantity, in ETH").fill("0.5")
    ticket.get_by_role("button", name="Review buy order").and_(page.locator("[aria-disabled=false]")).click()
    ticket.get_by_role("button", name="Sign and buy").and_(page.locator("[aria-disabled=false]")).click()
    ticket.get_by_text("rests in the book").first.wait_for()
    page.get_by_role("button", name="Close the BTCUSDC position").wait_for()


def test_tabs_have_counts_and_a_table_is_saved_as_a_file(show: Open, session: Session, tmp_path: Path) -> None:
    session.buy("BTCUSDC", "0.05")
    session.buy("BTCUSDC", "0.01", price="50000")
    page = show(toolkit.widgets.Blotter(session))
    tabs = page.get_by_role("group", name="Tables")
    expect(tabs.locator("button")).to_have_text(
        ["All", "Positions 1", "Orders 1", "Fills 1", "Order history", "Funding"]
    )
    close, cancel = (page.get_by_role("button", name=name) for name in ("Close the BTCUSDC position", "Cancel order"))
    for tab, shown in (("Positions", (True, False)), ("Orders", (False, True)), ("Fills", (False, False))):
        tabs.get_by_role("button", name=tab).click()
        expect(close).to_be_visible(visible=shown[0])
        expect(cancel).to_be_visible(visible=shown[1])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save fills as a CSV file").click()
    assert saved.value.suggested_filename == "fills.csv"
    saved.value.save_as(tmp_path / "fills.csv")
    lines = (tmp_path / "fills.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "Time,Product,Side,Kind,Price,Quantity,Fee,PnL"
    assert lines[1].startswith("01-01 00:00:00,BTCUSDC,buy,")
    page.get_by_label("Filter all tables").fill("01-02")  # a day
    page.locator(".tk-empty:visible", has_text="Nothing matches the filter.").wait_for()


def test_after_a_switch_every_panel_goes_on_with_one_view(show: Open, host: Host, session: Session) -> None:
    dashboard = session.dashboard("BTCUSDC")
    page = show(dashboard)
    until(page, lambda: [one._views for one in dashboard.panels] == [1] * 7)
    page.get_by_label("Product", exact=True).select_option("ETHUSDC")
    panel_of(page, "Order · ETHUSDC").locator(".tk-status", has_text="live").wait_for()
    until(page, lambda: [one._views for one in dashboard.panels] == [1] * 7)
    host.fall_silent(page, 3_000)
    expect(page.locator(".tk-status")).to_have_text(["no kernel"] * 7)
    host.silent = False  # a panel that rests has no kernel from then on
    expect(page.locator(".tk-status")).to_have_text(["live"] * 7)
