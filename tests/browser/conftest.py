"""Debian's chromium through Playwright; without it these tests are skipped, but never in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here."""
    for item in items:
        if HERE in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


def chromium() -> str:
    """Return the path of chromium; skips where there is none, fails in CI."""
    found = os.environ.get("TOOLKIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found:
        return found
    message = "no chromium: install Debian's package chromium, or name one in TOOLKIT_CHROMIUM"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless chromium for the tests of one module."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Page:
    """The tab of one module: to start one takes longer than most tests do on its page."""
    return browser.new_context().new_page()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """An empty page as of a new tab; whatever it writes to its console as an error fails the test."""
    tab.context.clear_permissions()
    tab.context.clear_cookies()
    tab.context.set_offline(False)
    tab.emulate_media(color_scheme="null", forced_colors="null")
    tab.set_viewport_size({"width": 1320, "height": 900})
    tab.set_default_timeout(30_000)
    tab.mouse.move(0, 0)
    wrong: list[str] = []

    def failed(error: Error) -> None:
        wrong.append(str(error))

    def wrote(message: ConsoleMessage) -> None:
        if message.type == "error":
            wrong.append(message.text)

    tab.on("pageerror", failed)
    tab.on("console", wrote)
    yield tab
    tab.goto("about:blank")
    tab.remove_listener("pageerror", failed)
    tab.remove_listener("console", wrote)
    assert not wrong
