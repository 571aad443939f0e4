"""A trader's header and what belongs to it: another product, grouping, reversing, closing all, tabs, files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

import toolkit
from tests.browser.host import Host, expect, until
from tests.browser.test_widgets import Open, host, panel, session, show, venue
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

__all__ = ["host", "session", "show", "venue"]


def test_the_header_states_each_windows_length_and_counts_down_to_the_funding(
    show: Open, session: Session, venue: LocalVenue
) -> None:
    venue.advance("1h")
    page = show(toolkit.widgets.Header(session, "BTCUSDC"))
    terms = page.locator("dt")
    expect(terms).to_have_text(
        ["24 h change", "24 h high / low", "24 h volume", "Mark", "Oracle", "Open interest", "Funding"]
    )
    values = page.locator("dd")
    assert len({one["y"] for term in terms.all() if (one := term.bounding_box()) is not None}) == 1  # all in one row
    expect(values.nth(6)).to_contain_text(" % in 3:00:00")
    venue.advance("61s")
    expect(values.nth(6)).to_contain_text(" % in 2:58:59")
    ticker = session.stream.ticker("BTCUSDC").value
    expect(values.nth(3)).to_have_text(f"{ticker['mark_price']:,}")
    assert page.locator(".tk-note").inner_text().endswith(" in 24 h")
    assert toolkit.widgets.Candles(session, "BTCUSDC", "1h").view["window"].endswith(" d")


def test_another_product_is_shown_in_every_panel_of_one_product(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    dashboard = session.dashboard("BTCUSDC", "5m")
    before, old = len(dashboard.panels), dashboard.ticket
    page = show(dashboard)
    page.get_by_label("Product", exact=True).select_option("ETHUSDC")
    for title in ("Order · ETHUSDC", "ETHUSDC order book", "ETHUSDC · 5m", "ETHUSDC trades"):
        panel(page, title).locator(".tk-status", has_text="live").wait_for()
    assert page.locator(".tk").count() == before
    assert (dashboard.symbol, dashboard.ticket.symbol, old.lock) == ("ETHUSDC", "ETHUSDC", "closed")
    price = dashboard.order_book.view["bids"][1][4]
    page.locator(".tk-bid").nth(1).click()
    until(page, lambda: dashboard.ticket.price == price)
    ticket = panel(page, "Order · ETHUSDC")
    ticket.get_by_label("Quantity, in ETH").fill("0.5")
    ticket.get_by_role("button", name="Review buy order").and_(page.locator("[aria-disabled=false]")).click()
    ticket.get_by_role("button", name="Sign and buy").and_(page.locator("[aria-disabled=false]")).click()
    ticket.get_by_text("rests in the book").first.wait_for()
    page.get_by_role("button", name="Close the BTCUSDC position").wait_for()


@pytest.mark.parametrize("ticks", [10, 100])
def test_a_grouped_book_keeps_every_quantity_and_shows_no_row_as_better_than_it_is(
    show: Open, session: Session, ticks: int
) -> None:
    book = toolkit.widgets.OrderBook(session, "BTCUSDC", 50)
    page = show(book)
    page.get_by_role("button", name=f"{Decimal('0.1') * ticks:f}", exact=True).click()
    until(page, lambda: book.group == ticks and book.live.best_bid is not None)
    book.refresh()
    width = Decimal("0.1") * ticks
    levels = {"bids": book.live.bids(200), "asks": book.live.asks(200)}
    for side, rows in (("bids", book.view["bids"]), ("asks", book.view["asks"])):
        prices = [Decimal(one[4]) for one in rows]
        assert all(price % width == 0 for price in prices)
        assert prices == sorted(prices, reverse=side == "bids")
        if len(rows) < 50:
            assert Decimal(rows[-1][2].replace(",", "")) == sum(quantity for _, quantity in levels[side])
    assert Decimal(book.view["bids"][0][4]) <= levels["bids"][0][0]
    assert Decimal(book.view["asks"][0][4]) >= levels["asks"][0][0]


@pytest.mark.parametrize(("side", "after"), [("buy", "−0.05"), ("sell", "0.05")])
def test_a_position_is_reversed_through_the_review(show: Open, session: Session, side: str, after: str) -> None:
    getattr(session, side)("BTCUSDC", "0.05")
    blotter = toolkit.widgets.Blotter(session)
    page = show(blotter)
    page.get_by_role("button", name="Edit the BTCUSDC position").click()
    page.get_by_role("button", name="Reverse").click()
    page.get_by_text("Reverse the BTCUSDC position").wait_for()
    page.get_by_role("button", name="Sign and reverse").and_(page.locator("[aria-disabled=false]")).click()
    until(page, lambda: [one["size"] for one in blotter.view["positions"]] == [after])


def test_a_hedged_position_is_not_reversed_by_one_order(session: Session) -> None:
    session.venue.control.set_position_mode(session.account, "HEDGE")
    session.buy("BTCUSDC", "0.05")
    with pytest.raises(toolkit.errors.InputError, match="hedge mode"):
        toolkit.widgets.Blotter(session).reverse("BTCUSDC")


def test_all_positions_are_closed_through_the_review(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    session.sell("ETHUSDC", "1")
    page = show(toolkit.widgets.Blotter(session))
    before = len(session.intents())
    page.get_by_role("button", name="Close all").click()
    page.get_by_text("Close all positions at market: 0.05 BTCUSDC, −1 ETHUSDC").wait_for()
    assert len(session.intents()) == before
    page.get_by_role("button", name="Sign and close").and_(page.locator("[aria-disabled=false]")).click()
    page.get_by_text("No positions.").wait_for()
    assert session.positions().empty


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


def test_the_depth_has_a_scale_and_says_what_it_is_worth(show: Open, session: Session) -> None:
    depth = toolkit.widgets.Depth(session, "BTCUSDC")
    page = show(depth)
    page.locator(".tk-depth-scale").get_by_text(" BTC").first.wait_for()
    expect(page.locator("svg.tk-depth")).to_have_attribute("aria-label", depth.view["words"])
    drawn = [one.bounding_box() for one in page.locator(".tk-depth path").all()]
    room = page.locator(".tk-depth").bounding_box()
    assert room is not None
    # The deeper side uses the height, and stays within it.
    assert 0.9 * room["height"] < max(one["height"] for one in drawn if one) <= room["height"]
    most = max(float(one[-1][1]) for one in (depth.view["bids"], depth.view["asks"]))
    assert [float(one.split()[0].replace(",", "")) for one in depth.view["scale"]] == pytest.approx(
        [most, most / 2], abs=1e-3
    )
    page.get_by_text(" USDC) bid down to ").wait_for()


def test_after_a_switch_every_panel_goes_on_with_one_view(show: Open, host: Host, session: Session) -> None:
    dashboard = session.dashboard("BTCUSDC")
    page = show(dashboard)
    until(page, lambda: [one._views for one in dashboard.panels] == [1] * 7)
    page.get_by_label("Product", exact=True).select_option("ETHUSDC")
    panel(page, "Order · ETHUSDC").locator(".tk-status", has_text="live").wait_for()
    until(page, lambda: [one._views for one in dashboard.panels] == [1] * 7)
    host.fall_silent(page, 3_000)
    expect(page.locator(".tk-status")).to_have_text(["no kernel"] * 7)
    host.silent = False  # a panel that rests has no kernel from then on
    expect(page.locator(".tk-status")).to_have_text(["live"] * 7)
