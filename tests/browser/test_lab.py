"""The widgets in true JupyterLab, Notebook 7 and Voilà: their kernel, widget manager and themes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.host import expect, until
from tests.browser.lab import lab, notebook, voila
from tests.browser.test_keys import FOCUSABLE, SHORTCUTS
from tests.browser.test_layout import widths

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

CELL = """
import toolkit
session = toolkit.connect(clock="manual")
session.venue.advance("30m")
dashboard = session.dashboard("BTCUSDC")
dashboard
"""


@contextmanager
def _opened(browser: Browser, address: str, width: int = 1500, run: bool = True) -> Iterator[Page]:
    """Open a notebook, run its first cell, and hold that the modules of the widgets raise nothing."""
    context = browser.new_context(viewport={"width": width, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(60_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error.stack)) if "blob:" in str(error.stack) else None)
    page.goto(address.format(name="first.ipynb"))
    if run:
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for()
        _run_first_cell(page)
    yield page
    assert not wrong
    context.close()


def _run_first_cell(page: Page) -> None:
    """Run the first cell by keyboard, again until it has run: JupyterLab is there before it listens to keys.

    What it may ask meanwhile (which kernel to take) is answered with its own proposal.
    """
    from playwright.sync_api import Error

    prompt = page.locator(".jp-Cell .jp-InputArea-prompt").first
    proposal = page.locator(".jp-Dialog .jp-mod-accept")
    for _ in range(20):
        try:
            if proposal.count():
                proposal.first.click(timeout=2_000)
            page.locator(".jp-Cell .cm-content").first.click(timeout=2_000)
            page.keyboard.press("Control+Enter")
            expect(prompt).not_to_have_text("[ ]:", timeout=3_000)
        except (AssertionError, Error):
            continue
        return
    raise AssertionError(f"the cell does not run; asked: {page.locator('.jp-Dialog').all_inner_texts()}")


def _press(page: Page, button: Locator, key: str) -> None:
    """Press a key on a button, once the ticket lets it be pressed."""
    expect(button).to_be_enabled(timeout=30_000)
    button.focus()
    page.keyboard.press(key)


def _fill_an_order(page: Page) -> None:
    """Correct a price, review a market order by keyboard, sign it, and see its position."""
    ticket = page.get_by_role("region", name="Order · BTCUSDC")
    ticket.get_by_label("Price (USDC)").fill("62000.05")
    ticket.get_by_label("Quantity, in BTC").fill("0.02")
    ticket.get_by_text("is not a multiple of tickSize 0.1").wait_for()
    ticket.get_by_text("Market", exact=True).click()
    _press(page, ticket.get_by_role("button", name="Review buy order"), "Enter")
    _press(page, ticket.get_by_role("button", name="Sign and buy"), "Space")
    ticket.get_by_text("filled: 0.02 at").wait_for()
    blotter = page.get_by_role("region", name="Positions and orders")
    blotter.get_by_role("cell", name="▲ long").wait_for()


def _press_the_hosts_shortcuts(page: Page) -> None:
    """Press the notebook's shortcuts while the focus is in a panel: its cells stay as they are, the controls change."""
    ticket = page.get_by_role("region", name="Order · BTCUSDC")
    notebook_before = page.evaluate(CELLS)
    bid, blotter = ticket.get_by_role("button", name="bid"), page.get_by_role("region", name="Positions and orders")
    for button in (bid, blotter.get_by_role("button", name="Product").first, ticket.get_by_label("▼ Sell")):
        for key in ("d", "d", "x", "m", "y", "a", "b", "c", "v", "l", "o", "0", "0", "k", "j", "ArrowUp", "ArrowDown"):
            button.focus()
            page.keyboard.press(key)
    ticket.get_by_label("▲ Buy").focus()
    page.keyboard.press("ArrowRight")
    ticket.get_by_role("button", name="Review sell order").wait_for()
    ticket.get_by_label("Limit", exact=True).focus()
    for kind in ("Market", "Stop"):
        page.keyboard.press("ArrowRight")
        expect(ticket.get_by_label(kind, exact=True)).to_be_checked()
    tried = page.evaluate(PRESS_ALL.replace("FOCUSABLE", FOCUSABLE), SHORTCUTS)
    assert tried > 60
    assert page.evaluate(CELLS) == notebook_before
    # The same keys, pressed in the same way outside of a panel, do act on the notebook.
    until(page, lambda: page.evaluate(INSERT) or page.evaluate(CELLS) != notebook_before)


INSERT = """() => {
  const cell = document.querySelector('.jp-Notebook .jp-Cell');
  cell.focus();
  cell.dispatchEvent(new KeyboardEvent('keydown', { key: 'b', keyCode: 66, bubbles: true, cancelable: true }));
}"""
"""Press B on a cell: a new one below. Nothing is returned."""
PRESS_ALL = """(keys) => {
  const all = FOCUSABLE;
  const codes = { ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, Home: 36, End: 35, PageUp: 33,
                  PageDown: 34, Escape: 27, Delete: 46, Backspace: 8, Tab: 9 };
  const modifiers = [{}, { ctrlKey: true }, { shiftKey: true }, { altKey: true }];
  for (const one of all) for (const key of keys) for (const held of modifiers) {
    if (!one.isConnected || key === 'Enter' || key === ' ' || (key.toLowerCase() === 's' && held.ctrlKey)) continue;
    const keyCode = codes[key] || key.toUpperCase().charCodeAt(0);
    one.focus();
    one.dispatchEvent(new KeyboardEvent('keydown', { key, keyCode, ...held, bubbles: true, cancelable: true }));
  }
  return all.length;
}"""
CELLS = "[...document.querySelectorAll('.jp-Notebook .jp-Cell')].map((one) => one.className.match(/jp-\\w+Cell/)[0])"


@pytest.mark.timeout(180)
def test_a_dashboard_in_jupyterlab_fills_an_order(browser: Browser, tmp_path: Path) -> None:
    notebook(tmp_path / "first.ipynb", CELL.strip())
    with lab(tmp_path, "JupyterLab Dark") as address, _opened(browser, address) as page:
        _fill_an_order(page)
        assert page.evaluate("getComputedStyle(document.querySelector('.tk')).backgroundColor") != "rgb(255, 255, 255)"
        expect(page.locator(".tk-chart")).to_have_attribute("data-ink", "rgb(111, 183, 255)")
        _press_the_hosts_shortcuts(page)


@pytest.mark.timeout(180)
def test_a_busy_and_a_dead_kernel_are_shown_in_jupyterlab(browser: Browser, tmp_path: Path) -> None:
    blotter = (
        'import toolkit\nsession = toolkit.connect(clock="manual")\nwidget = toolkit.widgets.Blotter(session)\nwidget'
    )
    notebook(tmp_path / "first.ipynb", blotter, "import time; time.sleep(8)", "import os; os._exit(1)")
    with lab(tmp_path) as address, _opened(browser, address, 1300) as page:
        status = page.locator(".tk-status")
        expect(status).to_have_text("live", timeout=30_000)
        cells = page.locator(".jp-Cell .cm-content")
        cells.nth(1).click()
        page.keyboard.press("Control+Enter")
        expect(status).to_have_text("busy", timeout=20_000)
        expect(page.locator(".tk button:enabled")).to_have_count(0)
        expect(status).to_have_text("live", timeout=30_000)
        cells.nth(2).click()
        page.keyboard.press("Control+Enter")
        expect(status).to_have_text("no kernel", timeout=30_000)
        expect(page.locator(".tk-lock")).to_contain_text("No kernel since")
        expect(page.locator(".tk button:enabled")).to_have_count(0)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("app", ["notebook", "voila"])
def test_a_dashboard_in_notebook_and_voila_fills_an_order(browser: Browser, tmp_path: Path, app: str) -> None:
    pytest.importorskip(app)
    notebook(tmp_path / "first.ipynb", CELL.strip())
    serving = voila(tmp_path, "first.ipynb") if app == "voila" else lab(tmp_path, app=app)
    with serving as address, _opened(browser, address, run=app == "notebook") as page:
        _fill_an_order(page)
        expect(page.locator(".tk-chart")).to_have_attribute("data-ink", "rgb(20, 100, 165)")
        if app == "notebook":
            _press_the_hosts_shortcuts(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1500


CONTAINERS = """
import ipywidgets as w
import toolkit
session = toolkit.connect(clock="manual")
session.venue.advance("30m")
made = lambda: session.ticket("BTCUSDC")
out = w.Output()
with out:
    display(made())
grid = w.GridBox([made(), made()], layout=w.Layout(grid_template_columns="1fr 1fr"))
tabs, folds = w.Tab([made()], titles=["one"]), w.Accordion([made()], titles=["one"], selected_index=0)
column = w.VBox([made()], layout=w.Layout(width="500px"))
w.VBox([w.HBox([made(), made()]), grid, tabs, folds, out, column, session.dashboard("BTCUSDC")])
"""


@pytest.mark.timeout(180)
def test_in_jupyterlab_every_container_gives_its_panels_room(browser: Browser, tmp_path: Path) -> None:
    notebook(tmp_path / "first.ipynb", CONTAINERS.strip())
    with lab(tmp_path) as address, _opened(browser, address) as page:
        page.get_by_role("region", name="Positions and orders").wait_for()
        assert len(found := widths(page)) == 15
        assert min(found) >= 240
