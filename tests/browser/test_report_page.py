"""The interactive report in a real browser: drawn without a network, its time axes linked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.host import expect
from tests.research.markets import Wandering, walk
from toolkit.research import backtest

if TYPE_CHECKING:
    from playwright.sync_api import Page

RANGES = "() => { const l = document.getElementById('run-time')._fullLayout; return [l.xaxis.range, l.xaxis5.range] }"


def test_the_report_draws_itself_without_a_network_and_its_panels_move_together(page: Page, tmp_path: Path) -> None:
    run = backtest(Wandering(every=9), {"BTCUSDC": walk(3, 900), "ETHUSDC": walk(4, 900, start=3_000)})
    path = run.report(tmp_path / "report.html", against={"slower": backtest(Wandering(every=30), walk(3, 900))})
    asked: list[Any] = []
    page.context.set_offline(True)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#compared .main-svg")
    script = next(path.parent.glob("plotly-*.min.js"))
    assert asked == [path.as_uri(), script.as_uri()]
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    assert page.locator("#run-time .subplot .scatterlayer .points path").count() == len(
        run.fills[run.fills["symbol"] == "BTCUSDC"]
    )
    expect(page.locator("h1")).to_have_text("Wandering (every = 9)")
    expect(page.locator("body")).to_contain_text("as the best of the trials")
    expect(page.locator(".cards section")).to_have_count(6)
    expect(page.locator(".missing")).to_be_hidden()
    for width in (390, 1300):  # nothing but its tables scrolls sideways
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"
    assert "invert" in page.evaluate("() => getComputedStyle(document.getElementById('run-time')).filter")
    window = ["2026-01-05 00:00", "2026-01-09 00:00"]
    page.evaluate("window => Plotly.relayout('run-time', {'xaxis.range': window})", window)
    first, last = page.evaluate(RANGES)
    assert first == last
    assert str(first[0]).startswith("2026-01-05")


def test_it_is_printed_dark_on_white_at_the_width_of_the_paper(page: Page, tmp_path: Path) -> None:
    path = backtest(Wandering(every=9), walk(3, 200)).report(tmp_path / "report.html")
    page.goto(path.as_uri())
    page.wait_for_selector("#run-time .main-svg")
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("() => getComputedStyle(document.getElementById('run-time')).filter") == "none"
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("() => document.getElementById('run-time')._fullLayout.width === 680")


def test_without_the_script_the_page_says_so_and_its_first_screen_stays(page: Page, tmp_path: Path) -> None:
    path = backtest(Wandering(every=9), walk(3, 200)).report(tmp_path / "report.html")
    next(tmp_path.glob("plotly-*.min.js")).unlink()
    tab = page.context.new_page()  # whose errors are no failure of the test
    tab.goto(path.as_uri())
    expect(tab.locator(".missing")).to_be_visible()
    expect(tab.locator(".cards section")).to_have_count(6)
    tab.close()
