"""The blotter in a real browser: rows are edited with a review, tables are sorted and copied, and fit the page."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import toolkit
from tests.browser.conftest import Open
from tests.browser.host import until
from tests.browser.test_chart import near
from toolkit.session import Session

if TYPE_CHECKING:
    from playwright.sync_api import Page


def sign(page: Page, verb: str) -> None:
    button = page.get_by_role("button", name=f"Sign and {verb}")
    button.click()
    button.wait_for(state="detached")


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
