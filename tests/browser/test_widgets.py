"""The shipped front end with its real Python model, in a real browser."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import toolkit
from tests.browser.conftest import Open
from tests.browser.host import Host, expect, until
from toolkit.session import Session
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page


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


def test_many_updates_a_second_come_in_few_messages(show: Open, session: Session, venue: LocalVenue) -> None:
    dashboard = session.dashboard("BTCUSDC")
    page = show(dashboard)
    lives = dashboard.order_book.live, dashboard.trades.live
    before = sum(one.updates for one in lives)
    sent = page.evaluate("window.counts.messages")
    began = time.monotonic()
    while sum(one.updates for one in lives) < before + 150:
        venue.advance("3s")
    messages = page.evaluate("window.counts.messages") - sent
    assert messages < (time.monotonic() - began) * len(dashboard.panels) * 26 + 150


def test_no_secret_goes_to_the_page(show: Open, host: Host, session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    page = show(ticket, toolkit.widgets.Permissions(session), toolkit.widgets.Account(session))
    page.get_by_role("button", name="Review buy order").click()
    page.get_by_role("button", name="Sign and buy").click()
    page.get_by_text("rests in the book").first.wait_for()
    everything = (json.dumps(host.sent) + page.content()).lower()
    for number in range(20):
        assert development.account(number).key.hex() not in everything


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


def test_text_is_readable_in_hosts_with_other_themes(show: Open, session: Session) -> None:
    page = show(
        session.ticket("BTCUSDC", price="50000", quantity="0.01"), toolkit.widgets.OrderBook(session, "BTCUSDC", 3)
    )
    for kind, colours in HOSTS.items():
        # The host decides, not the system.
        page.emulate_media(color_scheme="dark" if kind.endswith("light") else "light")
        page.evaluate(
            """([kind, colours]) => {
              document.body.className = kind;
              if (kind === 'colab') document.documentElement.setAttribute('theme', 'dark');
              document.documentElement.style.cssText = colours;
            }""",
            [kind, "; ".join(f"--vscode-{name}: {color}" for name, color in zip(VSCODE, colours, strict=False))],
        )
        readable(page)


def test_a_saved_panel_is_readable_on_light_and_dark_pages(page: Page, session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    saved = session.dashboard("BTCUSDC").snapshot()
    for colors in ("#fff; color: #000", "#131416; color: #ced6dd", "#111; color: #fff"):
        page.set_content(f'<!doctype html><main class="tk" style="background: {colors}">{saved}</main>')
        readable(page, 100)


def readable(page: Page, least: int = 1) -> None:
    """Hold the contrast of each of at least so many texts with what is behind it."""
    ratios = page.evaluate(CONTRAST)
    assert len(ratios) >= least
    assert min(ratio for _, ratio in ratios) >= 4.5, sorted(ratios, key=lambda one: one[1])[:5]


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
