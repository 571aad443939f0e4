"""Debian's chromium through Playwright; without it these tests are skipped, but never in CI.

The default run has only the smoke part, whose file is named in `SMOKE`: all others here are slow.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolkit.testing import session, venue  # fixtures

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, ConsoleMessage, Error, Page

    from tests.browser.bench import Bench
    from tests.browser.host import Host

__all__ = ["session", "venue"]

Open = Callable[..., "Page"]

# Before the widgets are imported, which read their front end then; so fixtures import what imports widgets.
if os.environ.get("TOOLKIT_TEST_MISTAKE"):  # planted by tests/mutation/javascript.py
    from toolkit.widgets.base_panel import panel

    planted = json.loads(Path(os.environ["TOOLKIT_TEST_MISTAKE"]).read_text(encoding="utf-8"))
    as_shipped = panel.module
    panel.module = lambda *names: as_shipped(*names).replace(*planted) if planted else as_shipped(*names)

LINES = os.environ.get("TOOLKIT_TEST_LINES")
"""The file that takes which lines of the front end each test runs: tests/mutation/javascript.py --record."""
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WAIT_SECONDS = float(os.environ.get("TOOLKIT_TEST_WAIT", "30"))
HERE = Path(__file__).parent
SMOKE = "test_smoke.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            if item.path.name != SMOKE and not item.get_closest_marker("long"):
                item.add_marker(pytest.mark.slow)


def chromium() -> str:
    """Return the path of chromium; skips where there is none, fails in CI."""
    found = os.environ.get("TOOLKIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found:
        return found
    message = "no chromium: install Debian's package chromium, or name one in TOOLKIT_CHROMIUM"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


# Not of the whole run: while Playwright is open its thread has a running event loop, which other tests may not have.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless chromium for the tests of this folder."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Page:
    """The tab of all tests: to start one takes longer than most tests do on its page.

    It has a time zone of its own: what a page shows in local time does not depend on the machine.
    """
    return browser.new_context(timezone_id="Asia/Tokyo").new_page()


def run_lines(page: Page, profiler: CDPSession) -> list[str]:
    """Return the lines of the widgets' front end that the page has run."""
    found: set[str] = set()
    for script in profiler.send("Profiler.takePreciseCoverage")["result"]:
        if not script["url"].startswith("blob:"):
            continue
        source = page.evaluate("(url) => fetch(url).then((one) => one.text())", script["url"])
        # Ranges come from the outside to the inside: the last one around a place says whether it ran.
        ran = bytearray(len(source))
        for part in script["functions"]:
            for one in part["ranges"]:
                start, end = one["startOffset"], one["endOffset"]
                ran[start:end] = (b"\1" if one["count"] else b"\0") * (end - start)
        at = 0
        for line in source.split("\n"):
            if any(ran[at : at + len(line)]) and line.strip() and len(line) < 1000:
                found.add(line)
            at += len(line) + 1
    return sorted(found)


@pytest.fixture
def page(tab: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page as of a new tab; whatever it writes to its console as an error fails the test."""
    tab.context.clear_permissions()
    tab.context.clear_cookies()
    tab.context.set_offline(False)
    tab.emulate_media(color_scheme="null", forced_colors="null")
    tab.set_viewport_size({"width": 1320, "height": 900})
    tab.set_default_timeout(WAIT_SECONDS * 1000)
    tab.mouse.move(0, 0)
    wrong: list[str] = []

    def failed(error: Error) -> None:
        wrong.append(str(error))

    def wrote(message: ConsoleMessage) -> None:
        if message.type == "error":
            wrong.append(message.text)

    tab.on("pageerror", failed)
    tab.on("console", wrote)
    profiler, began = LINES and tab.context.new_cdp_session(tab), time.monotonic()
    if profiler:
        profiler.send("Profiler.enable")
        profiler.send("Profiler.startPreciseCoverage", {"callCount": False, "detailed": True})
    yield tab
    if profiler:
        note = {"test": request.node.nodeid, "seconds": time.monotonic() - began, "lines": run_lines(tab, profiler)}
        with Path(str(LINES)).open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")
        profiler.detach()
    tab.goto("about:blank")
    tab.remove_listener("pageerror", failed)
    tab.remove_listener("console", wrote)
    assert not wrong


@pytest.fixture
def bench(page: Page) -> Bench:
    """A page for one panel with a fixed state, and its transcript."""
    from tests.browser.bench import Bench

    return Bench(page)


@pytest.fixture
def host() -> Iterator[Host]:
    """A page for the widgets that the test makes."""
    from tests.browser.host import hosting

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
