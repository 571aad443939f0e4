"""Mistakes that the front end must not make; each of these was planted once, and nothing noticed."""

from __future__ import annotations

from typing import Any

import pytest

import toolkit
from tests.browser.host import Host, expect, pass_time, settle, until
from tests.browser.test_widgets import Open, host, session, show, venue
from toolkit.environments import Environment
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

__all__ = ["host", "session", "show", "venue"]


@pytest.mark.parametrize("kind", ["LIMIT", "STOP", "SCALE", "TWAP", "MARKET"])
def test_a_quote_is_a_price_to_take_only_where_the_order_has_one(show: Open, session: Session, kind: str) -> None:
    ticket = session.ticket("BTCUSDC", order_type=kind)
    page = show(ticket)
    page.locator(".tk-status", has_text="live").wait_for()
    quote = page.locator(".tk-quote").first
    quote.evaluate("(one) => one.click()")
    if kind == "MARKET":
        expect(quote).to_be_disabled()
        settle(page)
        assert ticket.price == ""
    else:
        until(page, lambda: bool(ticket.price))


def test_what_was_typed_to_confirm_real_money_does_not_confirm_another_review(
    show: Open, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket)
    sign = page.locator(".tk-sign")
    ticket.submit()
    expect(sign).to_have_attribute("aria-disabled", "false")
    expect(page.get_by_label("Type BTCUSDC to confirm")).to_be_hidden()
    monkeypatch.setattr(Environment, "is_mainnet", property(lambda self: True))
    for price in ("50000", "50001"):
        ticket.price = price
        ticket.submit()
        page.get_by_text(f"BUY 0.01 BTCUSDC at {price}").first.wait_for()
        typed = page.get_by_label("Type BTCUSDC to confirm")
        expect(typed).to_have_value("")
        expect(sign).to_have_attribute("aria-disabled", "true")
        typed.fill("BTCUSDC")
        expect(sign).to_have_attribute("aria-disabled", "false")
    ticket.submit()  # directly after another one
    expect(page.get_by_label("Type BTCUSDC to confirm")).to_have_value("")
    expect(sign).to_have_attribute("aria-disabled", "true")
    typed.fill("ETHUSDC")
    page.wait_for_function("!document.querySelector('.tk-sign').offFor.has('guard')")
    expect(sign).to_have_attribute("aria-disabled", "true")


def test_a_key_that_is_held_since_before_confirms_nothing(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    ticket, before = session.ticket("BTCUSDC", price="50000", quantity="0.01"), len(session.intents())
    page = show(ticket, toolkit.widgets.Blotter(session))
    review = page.get_by_role("button", name="Review buy order")
    expect(review).to_have_attribute("aria-disabled", "false")
    review.focus()
    page.keyboard.down("Enter")
    sign = page.get_by_role("button", name="Sign and buy").and_(page.locator("[aria-disabled=false]"))
    sign.wait_for()
    sign.focus()
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    page.get_by_role("button", name="Close the BTCUSDC position").focus()
    page.keyboard.down("Enter")
    page.locator(".tk-armed[aria-disabled=false]").wait_for()
    page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    settle(page)
    assert len(session.intents()) == before


def test_the_best_prices_are_next_to_the_middle(show: Open, session: Session) -> None:
    book = toolkit.widgets.OrderBook(session, "BTCUSDC", 6)
    page = show(book)
    page.locator(".tk-ask .tk-price").first.wait_for()
    prices = [float(one[2:].replace(",", "")) for one in page.locator(".tk-price").all_inner_texts()]
    assert len(prices) == 12
    assert prices == sorted(prices, reverse=True)
    sides = page.locator(".tk-book-row:not(.tk-book-head)").evaluate_all("(all) => all.map((one) => one.className)")
    assert ["tk-ask" in one for one in sides] == [True] * 6 + [False] * 6
    totals = [float(one) for one in page.locator(".tk-bid > span:nth-child(3)").all_inner_texts()]
    assert totals == sorted(totals)


def test_a_column_is_sorted_by_its_numbers_with_their_signs(
    show: Open, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.buy("BTCUSDC", "0.05")
    blotter = toolkit.widgets.Blotter(session)
    values = ["+12.00", "−3.10", "−1,250.00", "0.00", "+1,000.00", "−20.00"]
    rows = [{**blotter.view["positions"][0], "symbol": f"P{at}", "pnl": pnl} for at, pnl in enumerate(values)]
    monkeypatch.setattr(blotter, "_make_view", lambda: {**type(blotter)._make_view(blotter), "positions": rows})
    page = show(blotter)
    head = page.get_by_role("button", name="PnL").first
    cells = page.locator("tbody").first.locator("tr td:nth-child(8)")
    ordered = ["−1,250.00", "−20.00", "−3.10", "0.00", "+12.00", "+1,000.00"]
    for expected in (ordered, ordered[::-1], values):
        head.click()
        expect(cells).to_have_text(expected)


@pytest.mark.parametrize(("side", "kind"), [("buy", "tk-fall"), ("sell", "tk-rise")])
def test_a_bar_of_the_liquidation_map_lies_on_its_side_of_the_mark_price(
    show: Open, session: Session, venue: LocalVenue, side: str, kind: str
) -> None:
    getattr(session, side)("BTCUSDC", "2.5")
    panel: Any = toolkit.widgets.LiquidationMap(session)
    page = show(panel)
    bar = page.locator(".tk-map b")
    bar.wait_for()
    move = panel.view["bars"][0]["move"]
    assert (move < 0) == (side == "buy")
    assert bar.get_attribute("class") == kind
    left, width = (float(bar.evaluate(f"(one) => parseFloat(one.style.{name})")) for name in ("left", "width"))
    assert width == pytest.approx(min(50, abs(move) * 50), abs=0.01)
    assert (left + width if side == "buy" else left) == pytest.approx(50, abs=0.01)


def test_a_page_made_from_a_fresh_state_is_live_before_the_next_sign_of_life(
    show: Open, host: Host, session: Session
) -> None:
    ticket = session.ticket("BTCUSDC")
    ticket.stop()
    ticket.lock = ""
    ticket.set_trait("beat", {**ticket.beat, "at": host.wall_ms, "age": 0})
    host.silent = True
    page = show(ticket)
    expect(page.locator(".tk-status")).to_have_text("live")


def test_a_banner_warns_of_real_money_and_of_a_session_that_only_reads(
    show: Open, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = show(session.ticket("BTCUSDC"))
    expect(page.locator(".tk-banner")).to_be_hidden()
    with monkeypatch.context() as without:
        without.setattr("toolkit.widgets.order_ticket.ticket.can_sign", lambda session: False)
        page = show(session.ticket("BTCUSDC"))
        expect(page.locator(".tk-banner")).to_have_text("read-only session: no agent key to sign with")
        expect(page.locator(".tk-banner")).to_be_visible()
    for real in (False, True):
        monkeypatch.setattr(Environment, "is_mainnet", property(lambda self, real=real: real))
        page = show(session.ticket("BTCUSDC"), toolkit.widgets.Blotter(session))
        expect(page.locator(".tk-banner")).to_be_visible(visible=real)
        expect(page.locator(".tk-banner")).to_have_text("⚠ MAINNET: real money" if real else "")
        note = page.locator(".tk-blotter .tk-note").first
        expect(note).to_have_text("real money" if real else "")
        assert ("tk-danger" in (note.get_attribute("class") or "")) == real


def test_only_the_master_is_named_where_no_agent_is_approved(show: Open, session: Session) -> None:
    permissions = toolkit.widgets.Permissions(session)
    page = show(permissions)
    empty = page.get_by_text("Only the master wallet.")
    page.get_by_role("button", name="Revoke agent").wait_for()
    expect(empty).to_be_hidden()
    permissions.revoke(permissions.view["rows"][0]["full"])
    expect(empty).to_be_visible()
    expect(page.locator("table")).to_be_hidden()


def test_earlier_candles_are_asked_for_once_until_they_have_come(show: Open, session: Session) -> None:
    chart: Any = toolkit.widgets.Candles(session, "BTCUSDC")
    asked: list[int] = []
    chart._commands = lambda: {"older": lambda: asked.append(1)}
    page = show(chart)
    page.locator(".tk-readout", has_text=" O ").wait_for()
    for _ in range(12):
        page.get_by_role("button", name="Zoom out").click()
        settle(page)
    assert asked == [1]
    pass_time(page, 5_000)  # they have not come: asked for again
    page.get_by_role("button", name="Zoom in").click()
    until(page, lambda: asked == [1, 1])


def test_the_margin_mode_is_named_as_it_is(show: Open, session: Session) -> None:
    session.exchange.set_margin_mode("ETHUSDC", "ISOLATED")
    session.buy("ETHUSDC", "1")
    page = show(session.ticket("BTCUSDC"), session.ticket("ETHUSDC"))
    modes = page.locator(".tk-settings button:last-child")
    expect(modes).to_have_text(["cross", "isolated"])


@pytest.mark.parametrize("off_ms", [-60_000, 60_000, -4_000, 4_000])
def test_a_sign_of_life_of_another_time_is_none(show: Open, host: Host, session: Session, off_ms: int) -> None:
    ticket = session.ticket("BTCUSDC")
    ticket.set_trait("beat", {**ticket.beat, "at": host.wall_ms + off_ms})
    ticket.stop()
    ticket.lock = ""
    host.silent = True
    page = show(ticket)
    expect(page.locator(".tk-status")).to_have_text("connecting")
    pass_time(page, 3_000)
    page.get_by_text("Saved view as of").wait_for()
    assert page.locator("fieldset.tk-body").evaluate("(one) => one.disabled")
