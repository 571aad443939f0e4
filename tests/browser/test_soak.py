"""A dashboard on a fast market: the page keeps its rate and its size, and loses no click."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

import toolkit
from tests.browser.conftest import Open
from toolkit.venue.local import LocalVenue

SPEED = 20
QUIET_MS = 10_000
WORST_CPU = 0.27
"""Share of a core that a page may use; in processor time, as others share the computer."""


def metrics(client: Any) -> dict[str, float]:
    client.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in client.send("Performance.getMetrics")["metrics"]}
    return {
        name: found[name] for name in ("TaskDuration", "ScriptDuration", "JSHeapUsedSize", "Nodes", "JSEventListeners")
    }


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "length_s", [pytest.param(45, marks=pytest.mark.slow), pytest.param(600, marks=pytest.mark.long)]
)
def test_a_fast_market_does_not_wear_the_page_out(show: Open, length_s: int) -> None:
    from playwright.sync_api import Error

    with LocalVenue(clock="real", speed=SPEED) as venue, toolkit.connect(venue=venue) as session:
        session.buy("BTCUSDC", "0.05")
        session.buy("BTCUSDC", "0.01", price="50000")
        dashboard = session.dashboard("BTCUSDC")
        page = show(dashboard)
        client = page.context.new_cdp_session(page)
        client.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU time: others share the computer
        page.wait_for_timeout(5_000)  # what is made once, is made
        before, begun, clicks, taken = metrics(client), time.monotonic(), 0, 0
        chip = page.locator(".tk-field-price .tk-chip").first
        while time.monotonic() - begun < length_s:
            dashboard.ticket.price = ""
            chip.wait_for()
            place = chip.bounding_box()
            if place is None:
                continue
            press = (place["x"] + 12, place["y"] + 8)
            page.mouse.move(*press)
            page.mouse.down()
            page.wait_for_timeout(120)  # as a person presses: the market moves meanwhile
            page.mouse.up()
            clicks += 1
            with contextlib.suppress(Error):
                page.wait_for_function("document.querySelector('input[id$=-price]').value !== ''", timeout=5_000)
                taken += 1
            if taken != clicks:  # say why: what was under the pointer, and whether the panel was off
                at = page.evaluate("([x, y]) => document.elementFromPoint(x, y).outerHTML.slice(0, 200)", list(press))
                state = page.locator(".tk-ticket .tk-status").inner_text()
                raise AssertionError(f"click {clicks} was lost at {press}, on {at}; the panel was {state}")
            page.wait_for_timeout(400)
        seconds = time.monotonic() - begun
        after = metrics(client)
        # While nothing looks at the page: Playwright's waiting evaluates in every frame.
        page.wait_for_timeout(QUIET_MS)
        cpu = (metrics(client)["TaskDuration"] - after["TaskDuration"]) / (QUIET_MS / 1000)
        print(f"{seconds:.0f} s: page {cpu:.1%} of a core, {taken}/{clicks} clicks, {before} → {after}")
        assert taken == clicks > length_s / 5
        assert after["Nodes"] < before["Nodes"] * 1.25 + 200
        assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] * 1.3 + 3e6
        assert cpu < WORST_CPU
