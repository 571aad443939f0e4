"""The shipped front end with its real Python model, in a real browser."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.host import Host, expect, hosting, pass_time, until
from toolkit.session import Session
from toolkit.testing import session, venue  # fixtures
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["session", "venue"]

Open = Callable[..., "Page"]


@pytest.fixture
def host() -> Iterator[Host]:
    """A page for the widgets that the test makes."""
    with hosting() as made:
        yield made


@pytest.fixture
def show(host: Host, page: Page) -> Open:
    """Open the page with these widgets."""

    def opened(*widgets: Any, theme: str = "light") -> Page:
        host.show(*widgets)
        page.goto(f"{host.url}?theme={theme}")
        page.wait_for_selector("body[data-ready]")
        return page

    return opened


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=False)


def bid(session: Session) -> Decimal:
    price = session.stream.order_book("BTCUSDC").best_bid
    assert price is not None
    return price


def test_an_invalid_price_is_shown_corrected_submitted_and_filled(
    show: Open, session: Session, venue: LocalVenue, signed_nothing: Callable[[], None], tmp_path: Path
) -> None:
    venue.advance("30m")
    ask = session.stream.order_book("BTCUSDC").best_ask
    assert ask is not None
    dashboard = session.dashboard("BTCUSDC")
    page = show(dashboard)
    ticket, blotter = panel(page, "Order · BTCUSDC"), panel(page, "Positions and orders")
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
    signed_nothing()
    ticket.get_by_text("What will be signed").click()
    expect(ticket).to_contain_text(dashboard.ticket.view["review"]["digest"])
    page.screenshot(path=tmp_path / "review.png")
    sign.click()
    ticket.get_by_text(f"filled: 0.02 at {ask:,}").wait_for()
    blotter.get_by_role("cell", name="▲ long").wait_for()
    expect(blotter.get_by_role("cell", name=f"{ask:,}").first).to_be_visible()
    page.screenshot(path=tmp_path / "filled.png")
    assert session.positions(exact=True)["size"].tolist() == [Decimal("0.02")]


@pytest.fixture
def signed_nothing(session: Session) -> Callable[[], None]:
    """Hold that this session sent nothing since the test began."""
    before = len(session.intents())

    def check() -> None:
        assert len(session.intents()) == before

    return check


def test_the_keyboard_alone_places_an_order(show: Open, session: Session) -> None:
    ticket = session.ticket("BTCUSDC")
    page = show(ticket)
    page.get_by_label("Price (USDC)").focus()
    page.keyboard.type("50000")
    page.keyboard.press("Tab")
    page.keyboard.type("0.01")
    page.get_by_role("button", name="Review buy order").and_(page.locator(":enabled")).wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign and buy").wait_for()
    focused = "document.activeElement.textContent"
    page.wait_for_function(f"{focused}.includes('BUY 0.01 BTCUSDC at 50000')")
    page.keyboard.press("Tab")
    for _ in range(12):
        if page.evaluate(focused) == "Sign and buy":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("rests in the book").first.wait_for()
    assert ticket.status == "RESTING"


def test_escape_leaves_the_review_and_nothing_is_signed(
    show: Open, session: Session, signed_nothing: Callable[[], None]
) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket)
    page.get_by_role("button", name="Review buy order").click()
    page.get_by_role("button", name="Sign and buy").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Review buy order").wait_for()
    signed_nothing()
    assert ticket.phase == "edit"


def test_what_python_sets_is_shown_and_what_is_being_typed_stays(show: Open, session: Session) -> None:
    ticket = session.ticket("BTCUSDC")
    page = show(ticket, ticket)
    first, second = page.get_by_label("Price (USDC)").all()
    ticket.price = "61000"
    page.wait_for_function("[...document.querySelectorAll('input[id$=-price]')].every((one) => one.value === '61000')")
    first.fill("61234.5")
    page.wait_for_function(
        "[...document.querySelectorAll('input[id$=-price]')].every((one) => one.value === '61234.5')"
    )
    until(page, lambda: ticket.price == "61234.5")
    expect(second).to_have_value("61234.5")


def test_a_button_of_the_blotter_asks_for_confirmation(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    session.buy("BTCUSDC", "0.01", price="50000")
    page = show(toolkit.widgets.Blotter(session))
    before = len(session.intents())
    page.get_by_role("button", name="Cancel order").click()
    armed = page.get_by_role("button", name="Press again to confirm")
    armed.wait_for()
    pass_time(page, 4_900)
    expect(armed).to_be_visible()
    pass_time(page, 100)
    expect(armed).to_be_hidden()
    assert len(session.intents()) == before
    page.get_by_role("button", name="Cancel order").click()
    armed.click()
    page.get_by_text("No open orders.").wait_for()
    page.get_by_role("button", name="Close the BTCUSDC position").click()
    page.get_by_role("button", name="Press again to confirm").click()
    page.get_by_text("No positions.").wait_for()
    assert session.positions().empty


def test_a_click_on_the_book_puts_the_price_into_the_ticket(show: Open, session: Session) -> None:
    dashboard = session.dashboard("BTCUSDC")
    page = show(dashboard)
    price = dashboard.order_book.view["bids"][2][4]
    page.locator(".tk-bid").nth(2).click()
    page.wait_for_function(f"document.querySelector('input[id$=-price]').value === '{price}'")
    assert dashboard.ticket.price == price


def test_stale_data_locks_the_page(show: Open, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket)
    go = page.get_by_role("button", name="Review buy order")
    expect(go).to_be_enabled()
    monkeypatch.setattr(type(ticket._book), "stale", property(lambda live: True))
    page.get_by_text("has been quiet for longer than usual").wait_for()
    expect(go).to_be_disabled()
    monkeypatch.undo()
    page.locator(".tk-lock").wait_for(state="hidden")
    expect(go).to_be_enabled()


def test_a_closed_widget_says_so(show: Open, session: Session) -> None:
    widget = toolkit.widgets.Trades(session, "BTCUSDC")
    page = show(widget)
    widget.stop()
    page.get_by_text("closed", exact=True).wait_for()


def test_many_updates_a_second_leave_the_page_at_its_rate(show: Open, session: Session, venue: LocalVenue) -> None:
    dashboard = session.dashboard("BTCUSDC")
    page = show(dashboard)
    before = dashboard.order_book.live.updates + dashboard.trades.live.updates
    start = page.evaluate("(window.countFrames(), { ...window.counts, at: performance.now() })")
    begun = time.monotonic()
    while time.monotonic() - begun < 2:
        venue.advance("3s")
    end = page.evaluate("({ ...window.counts, at: performance.now() })")
    seconds = (end["at"] - start["at"]) / 1000
    updates = dashboard.order_book.live.updates + dashboard.trades.live.updates - before
    messages, frames = end["messages"] - start["messages"], end["frames"] - start["frames"]
    assert updates / seconds > 50
    assert messages / seconds < len(dashboard.panels) * 26
    assert frames / seconds > 15


def test_no_secret_goes_to_the_page(show: Open, host: Host, session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket, toolkit.widgets.Permissions(session), toolkit.widgets.Account(session))
    page.get_by_role("button", name="Review buy order").click()
    page.get_by_role("button", name="Sign and buy").click()
    page.get_by_text("rests in the book").first.wait_for()
    everything = (json.dumps(host.sent) + page.content()).lower()
    for number in range(20):
        assert development.account(number).key.hex() not in everything


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_on_its_background(show: Open, session: Session, theme: str) -> None:
    page = show(session.dashboard("BTCUSDC"), theme=theme)
    page.locator(".tk-book-row").first.wait_for()
    ratios = page.evaluate(CONTRAST)
    assert ratios
    assert min(ratio for _, ratio in ratios) >= 4.5, sorted(ratios, key=lambda one: one[1])[:5]


VSCODE = (
    "editor-background",
    "input-background",
    "editorWidget-background",
    "editor-foreground",
    "descriptionForeground",
)
HOSTS = {
    "vscode-dark": ("#1e1e1e", "#3c3c3c", "#252526", "#d4d4d4", "#b0b0b0"),
    "vscode-high-contrast": ("#000000", "#000000", "#0c141f", "#ffffff", "#ffffff"),
    "vscode-high-contrast vscode-high-contrast-light": ("#ffffff", "#ffffff", "#ffffff", "#292929", "#292929"),
    "colab": (),
}
"""Class of the body in VS Code, and its colours; Colab sets an attribute instead."""


@pytest.mark.parametrize("kind", HOSTS)
def test_text_is_readable_in_hosts_with_other_themes(show: Open, page: Page, session: Session, kind: str) -> None:
    page.emulate_media(color_scheme="dark" if kind.endswith("light") else "light")  # the host decides, not the system
    page = show(
        session.ticket("BTCUSDC", price="50000", quantity="0.01"), toolkit.widgets.OrderBook(session, "BTCUSDC", 3)
    )
    page.evaluate(
        """([kind, colours]) => {
          document.body.className = kind;
          if (kind === 'colab') document.documentElement.setAttribute('theme', 'dark');
          document.documentElement.style.cssText = colours;
        }""",
        [kind, "; ".join(f"--vscode-{name}: {color}" for name, color in zip(VSCODE, HOSTS[kind], strict=False))],
    )
    ratios = page.evaluate(CONTRAST)
    assert min(ratio for _, ratio in ratios) >= 4.5, sorted(ratios, key=lambda one: one[1])[:5]


@pytest.mark.parametrize("colors", ["#fff; color: #000", "#131416; color: #ced6dd", "#111; color: #fff"])
def test_a_saved_panel_is_readable_on_light_and_dark_pages(page: Page, session: Session, colors: str) -> None:
    session.buy("BTCUSDC", "0.05")
    saved = session.dashboard("BTCUSDC").snapshot()
    page.set_content(f'<!doctype html><main class="tk" style="background: {colors}">{saved}</main>')
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) > 100
    assert min(ratio for _, ratio in ratios) >= 4.5, sorted(ratios, key=lambda one: one[1])[:5]


def test_every_control_has_a_name_and_every_status_is_announced(show: Open, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    page = show(session.dashboard("BTCUSDC"), toolkit.widgets.Permissions(session))
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, input, select')]
        .filter((one) => !one.ariaLabel && !one.textContent.trim() && !(one.labels && one.labels.length))
        .map((one) => one.outerHTML)"""
    )
    assert unnamed == []
    until(page, lambda: page.locator("[aria-live=polite]").count() > 6)
    assert page.locator("table caption").count() == page.locator("table").count()


CONTRAST = """(() => {
  const rgb = (text) => (text.match(/[0-9.]+/g) || []).map((one) => one * (text.startsWith('color(') ? 255 : 1));
  const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const back = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('.tk *')]
    .filter((one) => one.offsetParent && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((one) => !one.disabled && one.tagName !== 'OPTION')
    .map((one) => {
      const [front, behind] = [light(rgb(getComputedStyle(one).color)), light(back(one))];
      const ratio = (Math.max(front, behind) + 0.05) / (Math.min(front, behind) + 0.05);
      return [one.className + ': ' + one.textContent.slice(0, 30), ratio];
    });
})()"""
