"""The blotter in a real browser: rows are edited with a review, tables are sorted and copied, and fit the page."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.host import expect, until
from tests.browser.test_chart import near
from tests.browser.test_widgets import Open, host, session, show, venue
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["host", "session", "show", "venue"]


def sign(page: Page, verb: str) -> None:
    button = page.get_by_role("button", name=f"Sign and {verb}")
    button.click()
    button.wait_for(state="detached")


def test_a_position_shows_liquidation_margin_and_exits(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "2", tp=near(session, "1.1"), sl=near(session, "0.9"))
    blotter = toolkit.widgets.Blotter(session)
    page = show(blotter)
    row, known = blotter.view["positions"][0], session.positions("BTCUSDC", exact=True).iloc[0]
    assert abs(Decimal(row["liquidation"].replace(",", "")) / known["liquidation_price"] - 1) < Decimal("0.001")
    assert abs(Decimal(row["margin"].replace(",", "")) - known["margin"]) < Decimal("0.01")
    assert row["exits"] != "– / –"
    for name in ("Liq. price", "Margin", "Funding", "TP / SL"):
        expect(page.get_by_role("columnheader", name=name)).to_be_visible()


def test_a_part_of_a_position_is_closed_after_a_review(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.1")
    page = show(toolkit.widgets.Blotter(session))
    before = len(session.intents())
    page.get_by_role("button", name="Edit the BTCUSDC position").click()
    page.get_by_role("button", name="Close 25 %").click()
    page.get_by_text("Close 0.025 of the 0.1 BTCUSDC").wait_for()
    assert len(session.intents()) == before
    sign(page, "close")
    page.get_by_role("cell", name="0.075", exact=True).wait_for()
    page.get_by_role("button", name="Edit the BTCUSDC position").click()
    page.get_by_label("Quantity to close").fill("0.2")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("at most the position's 0.075").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("document.activeElement.textContent === 'Edit'")


def exits_are(session: Session, prices: list[str]) -> bool:
    return [str(one) for one in session.orders("BTCUSDC", open=True, exact=True)["trigger_price"]] == prices


def test_take_profit_and_stop_loss_are_set_changed_and_cancelled_in_the_row(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.1")
    blotter = toolkit.widgets.Blotter(session)
    page = show(blotter)
    first, second = near(session, "1.05"), near(session, "1.06")
    for price, verb in ((first, "place"), (second, "change"), ("", "cancel")):
        page.get_by_role("button", name="Edit the BTCUSDC position").click()
        page.get_by_label("Take profit at", exact=True).fill(price)
        page.get_by_role("button", name="Set take profit at").click()
        sign(page, verb)
        # The review closes when the request is sent, a moment before the venue has it.
        until(page, partial(exits_are, session, [price] if price else []))
    assert session.positions("BTCUSDC", exact=True)["size"].tolist() == [Decimal("0.1")]


def test_an_order_is_amended_in_its_row(show: Open, session: Session) -> None:
    receipt = session.buy("BTCUSDC", "0.02", price="50000")
    page = show(toolkit.widgets.Blotter(session))
    page.get_by_role("button", name="Amend order").click()
    page.get_by_label("Price", exact=True).fill("50.000,5")
    page.get_by_role("button", name="Change price").click()
    page.get_by_role("alert").get_by_text("is not a plain decimal text").wait_for()
    page.get_by_label("Price", exact=True).fill("50000.5")
    page.keyboard.press("Enter")
    page.get_by_text("price 50000.0 → 50000.5").wait_for()
    sign(page, "change")
    page.get_by_role("button", name="Amend order").click()
    page.get_by_label("Quantity", exact=True).fill("0.01")
    page.keyboard.press("Enter")
    sign(page, "change")
    until(page, lambda: str(session.orders("BTCUSDC", open=True, exact=True)["quantity"].iloc[0]) == "0.010")
    order = session.orders("BTCUSDC", open=True, exact=True).iloc[0]
    assert (str(order["order_id"]), order["price"], order["quantity"]) == (
        str(receipt.order_id), Decimal("50000.5"), Decimal("0.01")
    )  # fmt: skip


def test_tables_are_sorted_filtered_and_copied(show: Open, session: Session) -> None:
    for symbol, price in (("BTCUSDC", "50000"), ("ETHUSDC", "2000"), ("BTCUSDC", "9000")):
        session.buy(symbol, "1" if symbol == "ETHUSDC" else "0.01", price=price)
    page = show(toolkit.widgets.Blotter(session))
    context = page.context
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    prices = page.get_by_role("region", name="Open orders").locator("tbody td:nth-child(4)")
    page.get_by_role("region", name="Open orders").get_by_role("button", name="Price").click()
    expect(prices).to_have_text(["2,000.00", "9,000.0", "50,000.0"])
    page.get_by_role("region", name="Open orders").get_by_role("button", name="Price").click()
    expect(prices).to_have_text(["50,000.0", "9,000.0", "2,000.00"])
    page.get_by_label("Filter all tables").fill("eth")
    expect(prices).to_have_text(["2,000.00"])
    page.get_by_label("Filter all tables").fill("")
    page.get_by_role("button", name="Copy open orders as CSV").click()
    page.get_by_text("Copied").wait_for()
    rows = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    assert [(row["Product"], row["Price"]) for row in rows] == [
        ("BTCUSDC", "50000.0"), ("BTCUSDC", "9000.0"), ("ETHUSDC", "2000.00")
    ]  # fmt: skip


def test_histories_are_chosen_on_the_page(show: Open, session: Session, venue: LocalVenue) -> None:
    session.buy("BTCUSDC", "0.05")
    session.cancel(session.buy("BTCUSDC", "0.01", price="50000"))
    page = show(toolkit.widgets.Blotter(session))
    page.get_by_role("button", name="Order history").click()
    page.get_by_role("cell", name="canceled").wait_for()
    venue.advance("4h")  # to the first settlement
    page.get_by_role("button", name="Funding", exact=True).last.click()
    page.get_by_role("region", name="Funding").get_by_role("cell", name="BTCUSDC").first.wait_for()


@pytest.mark.parametrize("width", [600, 900, 1600])
def test_a_dashboard_fits_the_width_of_its_page(show: Open, session: Session, width: int) -> None:
    session.buy("BTCUSDC", "0.05")
    session.buy("BTCUSDC", "0.01", price="50000")
    dashboard = session.dashboard("BTCUSDC")
    page = show(dashboard)
    page.set_viewport_size({"width": width, "height": 900})
    page.locator(".tk-book-row").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        """[...document.querySelectorAll('.tk button, .tk input')]
        .filter((one) => one.offsetParent && !one.closest('.tk-wide, .tk-scroll, .tk-hidden, .tk-radios'))
        .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth)
        .map((one) => one.outerHTML)"""
    )
    assert outside == []
    for label in ("Close the BTCUSDC position", "Cancel order"):
        button = page.get_by_role("button", name=label).bounding_box()
        assert button is not None
        assert button["x"] + button["width"] <= width


def test_a_twap_is_followed_continued_after_a_restart_and_cancelled(
    show: Open, session: Session, venue: LocalVenue, tmp_path: Path
) -> None:
    ledger = tmp_path / "intents.sqlite"
    with toolkit.connect(venue=venue, intents=ledger) as first:
        first.twap("BTCUSDC", "BUY", "0.1", "10m", slices=11)
    with toolkit.connect(venue=venue, intents=ledger) as again:
        page = show(toolkit.widgets.Blotter(again))
        table = page.get_by_role("region", name="Orders over time")
        table.get_by_text("interrupted").wait_for()
        table.get_by_role("button", name="Continue the twap").click()
        page.locator(".tk-armed").click()
        table.get_by_text("running").wait_for()
        table.get_by_text("2 / 11").wait_for()
        # A minute at a time: the thread that placed the second one may not wait for the third one yet, and what is
        # late moves all that follow.
        for done in (3, 4):
            venue.advance("1m")
            table.get_by_text(f"{done} / 11").wait_for()
        table.get_by_role("button", name="Cancel the twap").click()
        page.locator(".tk-armed").click()
        table.get_by_text("canceled").wait_for()
        venue.advance("10m")
        assert again.parent_orders()["done"].tolist() == [4]
        expect(table.get_by_role("button", name="Cancel the twap")).to_have_count(0)


def test_a_tone_is_played_for_an_order_that_is_filled_if_that_is_wanted(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.01")
    blotter = toolkit.widgets.Blotter(session)
    page = show(blotter)
    page.evaluate("""() => {
        window.tones = 0;
        const node = { connect() {}, start() { window.tones += 1; }, stop() { this.onended(); } };
        const close = () => { window.silent = true; };
        window.AudioContext = function () { return { currentTime: 0, createOscillator: () => node, close }; };
    }""")  # fmt: skip
    button = page.get_by_role("button", name="Sound at a fill")
    expect(button).to_have_attribute("aria-pressed", "false")
    for wanted in (False, True):
        session.buy("BTCUSDC", "0.01")
        order = session.buy("BTCUSDC", "0.01", price="50000")
        expect(page.locator(".tk-happened")).to_contain_text(" filled: ")
        session.cancel(order)
        expect(page.locator(".tk-happened")).to_contain_text(" cancelled: ")
        assert page.evaluate("window.tones") == int(wanted)
        if not wanted:
            button.click()
            expect(button).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("window.silent")
    assert blotter.sound


def test_an_armed_button_stays_armed_while_other_rows_come_and_go(show: Open, session: Session) -> None:
    orders = [session.buy("BTCUSDC", "0.1", price=price) for price in ("50000", "50001", "50002")]
    blotter = toolkit.widgets.Blotter(session)
    page = show(blotter)
    page.get_by_role("button", name=f"Cancel order {orders[1].order_id}").click()
    armed = page.locator(".tk-armed")
    armed.wait_for()
    session.cancel(orders[0])
    session.buy("BTCUSDC", "0.1", price="50003")
    rows = page.get_by_role("region", name="Open orders").locator("tbody td:nth-child(4)")
    expect(rows).to_have_text(["50,001.0", "50,002.0", "50,003.0"])
    expect(armed).to_be_focused()
    expect(armed).to_have_text("Cancel order?")
    # Orders over time have the newest first.
    session.twap("BTCUSDC", "BUY", "0.1", "10m", slices=11)
    table = page.get_by_role("region", name="Orders over time")
    table.get_by_role("button", name="Cancel the twap").evaluate("(one) => one.click()")  # Safari gives it no focus
    session.twap("ETHUSDC", "BUY", "1", "10m", slices=11)
    expect(table.locator("tbody td:first-child")).to_have_text(["ETHUSDC", "BTCUSDC"])
    expect(armed).to_be_focused()
    expect(armed).to_have_text("Cancel the rest?")


def test_an_empty_table_says_why_it_is_empty(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    blotter = toolkit.widgets.Blotter(session)
    page = show(blotter)
    part = page.locator(".tk-part").first
    note, count, table = part.locator(".tk-empty"), part.locator(".tk-count"), part.locator("table")
    saves = part.get_by_role("button", name="CSV")
    cases: list[tuple[dict[str, Any], str, str, str]] = [
        ({}, "", "", "1"),
        ({}, "eth", "Nothing matches the filter.", "0 of 1"),
        ({"positions": []}, "eth", "No positions.", "0"),
        ({"positions": [], "loaded": False}, "eth", "Not loaded yet.", "0"),
    ]
    for change, typed, words, counted in cases:
        page.get_by_label("Filter all tables").fill(typed)
        if change:
            blotter.stop()  # from here on its state is set by hand
            blotter.lock = ""
            blotter.set_trait("view", {**blotter.view, "loaded": True, **change})
        expect(note).to_have_text(words)
        expect(note).to_be_visible(visible=bool(words))
        expect(table).to_be_visible(visible=not words)
        expect(saves).to_have_count(0 if words else 2)
        expect(count).to_have_text(counted)
