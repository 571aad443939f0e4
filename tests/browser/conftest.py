"""Debian's chromium through Playwright; without it these tests are skipped, but never in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page; whatever it writes to its console as an error fails the test."""
    context = browser.new_context(viewport={"width": 1320, "height": 900})
    made = context.new_page()
    made.set_default_timeout(30_000)
    wrong: list[Any] = []
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    yield made
    context.close()
    assert not wrong
