"""Chart and dashboard with a fixed state, step by step: all that they draw and send, in `transcripts`."""

from __future__ import annotations

from typing import Any

from tests.browser.bench import BEAT, Bench
from tests.browser.states import BOOK, CANDLES, CHART, DRAFT, FILLS, HISTORY, LINES, SIGN, START, STATE, TICKET
from toolkit import widgets


def chart(bench: Bench, part: str = ".tk-body > *", **state: Any) -> None:
    given = {"view": CHART, "history": HISTORY, "interval": "1m", "indicators": ["SMA 20", "RSI 14"], "phase": "edit"}
    bench.show(widgets.Candles, part, part == "section", **{**given, **state})


def test_the_chart_draws_candles_indicators_and_prices(bench: Bench) -> None:
    chart(bench, "section", view={}, history={})
    bench.take("candles", view=CHART, history=HISTORY)
    bench.live(500)
    late = [[START + 1_740, 129, 140, 127, 139, 40], [START + 1_800, 139, 141, 138, 138.5, 3]]
    after = {
        **CHART,
        "rows": [CANDLES[28], *late],
        "studies": {"SMA 20": [128, 130, 131]},
        "change": "",
        "prices": {"mark": [1, 2, 3]},
    }
    bench.take("a new candle, and one that has changed", view=after)
    bench.live(500)
    earlier = [[START - 60 * at, 90, 92, 88, 91, 2] for at in (3, 2, 1)]
    more = {
        **HISTORY,
        "rows": [*earlier, *CANDLES[:29]],
        "studies": {"ATR 14": [1] * 32},
        "prices": {"mark": [], "index": []},
        "complete": True,
    }
    bench.take(
        "earlier ones, other indicators",
        history=more,
        indicators=["ATR 14"],
        view={**after, "studies": {"ATR 14": [2, 3, 4]}, "change": "▼ 1 %"},
    )
    bench.live(500)
    bench.take("another interval, half of it", view={**after, "interval": "5m"}, interval="5m")
    bench.live(500)
    bench.take("all of it", history={**HISTORY, "interval": "5m", "rows": CANDLES[:3], "studies": {}})
    bench.live(500)
    bench.do("a dark theme of the page", "document.documentElement.setAttribute('theme', 'dark')")
    bench.do("a light one", "document.documentElement.removeAttribute('theme')")
    bench.do("a dark one of JupyterLab", "document.body.dataset.jpThemeLight = 'false'")
    bench.take("own colours", colors={"up": "rgb(1, 2, 3)", "down": "rgba(0, 0, 0, 0.5)"})
    bench.live(500)
    bench.do("gone", "ends[0](), document.querySelector('.tk-chart').remove()")
    bench.do("nothing is left", "sent.push({ timers: timers.size, listeners: model.listeners.length })")
    bench.check("chart")


def test_the_chart_shows_orders_and_fills_of_the_account(bench: Bench) -> None:
    chart(bench)
    bench.take("lines and fills", view={**CHART, "lines": LINES, "fills": FILLS})
    bench.live(500)
    bench.take(
        "one has moved, some are gone",
        view={**CHART, "lines": [{**LINES[2], "price": 111.0}, LINES[3], LINES[5]], "fills": FILLS[2:]},
    )
    bench.live(500)
    bench.take("none", view=CHART)
    bench.live(500)
    bench.check("chart-account")


def test_candles_are_read_one_by_one_and_as_a_table(bench: Bench) -> None:
    chart(bench, ".tk-readout, details", view={**CHART, "fills": FILLS})
    host = ".tk-chart"
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight", "x"):
        bench.key(host, key)
    bench.do(
        "to the fills",
        """() => {
      const left = () => new KeyboardEvent('keydown', { key: 'ArrowLeft' });
      for (let at = 0; at < 23; at += 1) find('.tk-chart').dispatchEvent(left());
    }""",
    )
    bench.focus(host)
    bench.do("left", "document.querySelector('.tk-chart').blur()")
    bench.focus(host)
    bench.key(host, "ArrowLeft")
    bench.do("left", "document.querySelector('.tk-chart').blur()")
    bench.mouse((700, 100))
    bench.mouse((900, 500))
    for key in ("+", "-", "-", "End"):
        bench.key(host, key)
    bench.click("summary")
    bench.check("chart-reading")


def test_a_single_candle_is_read_and_drawn(bench: Bench) -> None:
    chart(bench, ".tk-readout", history={**HISTORY, "rows": CANDLES[:1], "complete": True}, view={**CHART, "rows": []})
    bench.key(".tk-chart", "ArrowRight")
    bench.key(".tk-chart", "ArrowLeft")
    studies = {"RSI 14": [1], "ATR 14": [2], "StdDev 9": [3], "EMA 20": [4]}
    bench.take("indicators below each other", history={**HISTORY, "rows": CANDLES[:1], "studies": studies})
    bench.live(500)
    bench.check("chart-single")


def test_the_chart_is_used_by_its_buttons(bench: Bench) -> None:
    chart(bench, ".tk-tools, .tk-readout")
    bench.do(
        "stubs",
        """() => {
      Element.prototype.requestFullscreen = function () { sent.push({ full: this.className }); };
      document.exitFullscreen = () => sent.push('left');
    }""",
    )
    for name in ("5m", "EMA 50", "SMA 20", "Zoom out", "Zoom in", "Zoom in", "Latest candle", "Full screen"):
        bench.click(f".tk-tools button|{name}")
    bench.do("in full screen", "Object.defineProperty(document, 'fullscreenElement', { get: () => document.body })")
    bench.click(".tk-tools button|Full screen")
    bench.take("an indicator of another kind", indicators=["Highest 9", "SMA 20"])
    bench.check("chart-buttons")


def place(bench: Bench, price: float) -> tuple[float, float]:
    """Return where a price stands on the chart."""
    return 200, round(bench.page.evaluate("(price) => chart.panes()[0].getSeries()[0].priceToCoordinate(price)", price))


def test_orders_are_placed_by_a_click_on_the_chart(bench: Bench) -> None:
    chart(bench, ".tk-tools > :nth-child(n + 4), .tk-chart")
    at = place(bench, 115)
    bench.mouse(at, press=True)
    bench.do("not a double click", "pass(600)")
    bench.click(".tk-tools button|Order")
    bench.type(".tk-tools input", "0.5")
    bench.mouse(at, press=True)
    bench.do("not a double click", "pass(600)")
    bench.click(".tk-tools button|TP / SL")
    bench.key(".tk-chart", "Escape")
    bench.click(".tk-tools button|TP / SL")
    bench.click(".tk-tools button|TP / SL")
    bench.click(".tk-tools button|TP / SL")
    bench.take("locked", lock="stale")
    bench.mouse(at, press=True)
    bench.do("not a double click", "pass(600)")
    bench.take("free", lock="")
    bench.mouse(place(bench, 118), press=True)
    bench.take("reviewed", phase="review", view={**CHART, "review": {**SIGN, "token": 1}})
    bench.check("chart-placing")


def test_a_line_is_moved_by_the_mouse(bench: Bench) -> None:
    chart(bench, ".tk-chart", view={**CHART, "lines": LINES})
    bench.live(500)
    line, entry = place(bench, 110.4), place(bench, 120)
    up = (line[0], line[1] - 40)
    bench.mouse(entry)
    bench.mouse(line)
    bench.mouse((line[0], line[1] + 12))
    bench.mouse(line, up, press=True)
    bench.mouse(line, line, press=True)
    bench.do("let go elsewhere", "document.querySelector('.tk-chart').dispatchEvent(new Event('pointercancel'))")
    bench.mouse(line, up)
    bench.mouse(line)
    bench.page.mouse.down()
    bench.mouse(up)
    bench.key(".tk-chart", "Escape")
    bench.page.mouse.up()
    bench.take("read-only", view={**CHART, "lines": LINES, "readOnly": True})
    bench.mouse(line, up, press=True)
    bench.check("chart-moving")


def test_earlier_candles_are_asked_for_at_the_edge_and_again_after_a_while(bench: Bench) -> None:
    chart(bench, ".tk-nothing")
    for span_ms in (0, 4_500, 500):
        bench.live(span_ms)
        bench.click(".tk-tools button|Zoom out")
    bench.take("complete", history={**HISTORY, "complete": True})
    bench.live(5_000)
    bench.click(".tk-tools button|Zoom out")
    bench.check("chart-earlier")


def test_the_dashboard_draws_its_panels_and_gives_each_its_traits(bench: Bench) -> None:
    names = ["header", "candles", "order_book", "ticket", "blotter", "account", "trades"]
    views = {
        "header": {"symbol": "BTCUSDC"},
        "candles": CHART,
        "order_book": BOOK,
        "ticket": TICKET,
        "blotter": {"loaded": True},
        "account": {"title": "Account"},
        "trades": {"symbol": "BTCUSDC", "loaded": True},
    }
    own = {
        "ticket": DRAFT,
        "blotter": STATE,
        "candles": {"history": HISTORY, "interval": "1m", "indicators": []},
        "order_book": {"group": 1},
    }
    common = {"lock": "", "problem": "", "beat": BEAT, "answered": 0, "colors": {}}
    traits = {
        f"{name}__{trait}": value
        for name in names
        for trait, value in {**common, "view": views[name], **own.get(name, {})}.items()
    }
    bench.alive = False
    bench.show(widgets.Dashboard, ".tk-title, .tk-status", parts=names, made=1, **traits)
    cells = "[...document.querySelectorAll('.tk-cell')]"
    where = f"sent.push(...{cells}.map((one) => `${{one.className}} in ${{one.parentElement.className}}`))"
    bench.do("its parts", where)
    bench.click(".tk-cell-order_book .tk-ask")
    bench.type("[id$='-price']", "1", "change")
    bench.take("a part is stale", trades__lock="trades is resyncing")
    bench.take("another product", made=2, parts=names[:3], header__view={"symbol": "ETHUSDC"})
    bench.do("its parts", where)
    bench.do("gone", "ends[0]()")
    bench.do("nothing is left", "sent.push({ timers: timers.size, listeners: model.listeners.length })")
    bench.check("dashboard")
