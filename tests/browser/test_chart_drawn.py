"""What the chart's library is given: each candle, indicator, price, line and mark, and what moves through them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import toolkit
from tests.browser.host import Host, expect, settle, until
from tests.browser.test_chart import box, near
from tests.browser.test_chart_trading import click, drawn
from tests.browser.test_widgets import Open, host, session, show, venue
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["host", "session", "show", "venue"]

DRAWN = """() => {
  const series = chart.panes().map((pane) => pane.getSeries().map((one) => {
    const names = ['title', 'color', 'lastValueVisible', 'lineStyle', 'priceLineVisible', 'crosshairMarkerVisible'];
    return { data: one.data(), options: Object.fromEntries(names.map((name) => [name, one.options()[name]])) };
  }));
  const candles = chart.panes()[0].getSeries()[0];
  const pick = (one, names) => names.split(' ').map((name) => one[name]);
  const parts = 'price color lineStyle lineWidth title axisLabelVisible';
  const lines = candles.priceLines().map((one) => pick(one.options(), parts));
  const shown = marks.markers().map((one) => pick(one, 'time price position shape color'));
  const time = chart.timeScale();
  return { series, lines, marks: shown, range: time.getVisibleLogicalRange(), spacing: time.options().barSpacing,
           format: candles.options().priceFormat };
}"""
UP, DOWN, TEXT, BAD = "rgb(20, 100, 165)", "rgb(152, 62, 0)", "rgb(27, 31, 36)", "rgb(179, 38, 30)"
SOFT, FOCUS, BACK, LINE = "rgb(89, 98, 112)", "rgb(31, 111, 181)", "rgb(255, 255, 255)", "rgb(220, 223, 228)"
PAINTED = """() => {
  const one = chart.panes()[0].getSeries()[0].options();
  const { layout, grid, timeScale, rightPriceScale } = chart.options();
  const parts = 'upColor borderUpColor wickUpColor downColor borderDownColor wickDownColor';
  return { candles: parts.split(' ').map((name) => one[name]),
           lines: [layout.panes.separatorColor, timeScale.borderColor, rightPriceScale.borderColor],
           grid: [grid.vertLines.color, grid.horzLines.color], text: layout.textColor, font: layout.fontFamily };
}"""
AT = "(y) => chart.panes()[0].getSeries()[0].coordinateToPrice(y)"
"""The price at a height of the chart in pixels."""


def drawing(page: Page) -> Any:
    """Return what the chart shows, once the page has drawn what it knows and the library the next frame."""
    settle(page)
    return page.evaluate(DRAWN)


def rows_of(chart: Any) -> list[Any]:
    return [*chart.history["rows"], *chart.view["rows"]]


def values_of(chart: Any, group: str, name: str) -> list[float | None]:
    return [*chart.history[group][name], *chart.view[group][name]]


def holds(page: Page, chart: Any) -> Any:
    """Wait until each series has what Python knows, and return what is drawn."""
    names = ["SMA 20", "RSI 14", "ATR 14"]
    until(page, lambda: len(drawing(page)["series"][0][0]["data"]) == len(rows_of(chart)))
    until(page, lambda: drawing(page)["series"][0][0]["data"][-1]["close"] == rows_of(chart)[-1][4])
    found = drawing(page)
    rows, inks = rows_of(chart), {True: UP, False: DOWN}
    candles, volume, *prices = found["series"][0]
    assert candles["data"] == [
        dict(zip(("time", "open", "high", "low", "close"), row[:5], strict=True)) for row in rows
    ]
    assert volume["data"] == [
        {"time": row[0], "value": row[5], "color": inks[row[4] >= row[1]].replace("rgb", "rgba")[:-1] + ", 0.3)"}
        for row in rows
    ]
    for name, series in zip(("mark", "index"), prices[:2], strict=True):
        known = zip(rows, values_of(chart, "prices", name), strict=True)
        assert series["data"] == [{"time": row[0], "value": value} for row, value in known if value is not None]
        assert series["options"]["title"] == name
    studies = {"SMA 20": prices[2:], "RSI 14": found["series"][1], "ATR 14": found["series"][2]}
    for name in names:
        (series,) = studies[name]
        expected = [
            {"time": row[0], "value": value}
            for row, value in zip(rows, values_of(chart, "studies", name), strict=True)
            if value is not None
        ]
        assert series["data"] == expected
        assert (series["options"]["title"], series["options"]["lastValueVisible"]) == (
            ("", False) if name == "SMA 20" else (name, True)
        )
    return found


def test_every_series_has_the_candles_indicators_and_prices_of_the_panel(
    show: Open, session: Session, venue: LocalVenue
) -> None:
    venue.advance("5m")
    chart: Any = toolkit.widgets.Candles(session, "BTCUSDC", indicators=["SMA 20", "RSI 14", "ATR 14"])
    page = show(chart)
    drawn(page)
    found = holds(page, chart)
    assert found["spacing"] == 6
    assert found["range"]["to"] == pytest.approx(len(rows_of(chart)) - 1 + 14, abs=1)
    assert found["format"] == {"type": "price", "precision": 1, "minMove": 0.1}
    assert [one["options"]["lineStyle"] for one in found["series"][0][2:4]] == [0, 1]
    below = [one["options"]["color"] for part in found["series"][1:] for one in part]
    assert [one["options"]["color"] for one in found["series"][0][2:]] + below == [TEXT, SOFT, FOCUS, BAD, TEXT]
    assert (
        page.evaluate(PAINTED)
        == {
            "candles": [BACK, UP, UP, DOWN, DOWN, DOWN],  # up is hollow
            "lines": [LINE] * 3,
            "grid": [LINE.replace("rgb", "rgba")[:-1] + ", 0.5)"] * 2,
            "text": SOFT,
            "font": page.locator(".tk-candles").evaluate("(one) => getComputedStyle(one).fontFamily"),
        }
    )
    for one in [*found["series"][0][1:], *found["series"][1], *found["series"][2]]:
        assert not one["options"]["priceLineVisible"]
        assert not one["options"]["crosshairMarkerVisible"]
    assert not found["series"][0][1]["options"]["lastValueVisible"]
    # The latest candle changes, and others follow it.
    for span in ("20s", "1m", "1s", "3m"):
        venue.advance(span)
        chart.refresh()
        holds(page, chart)
    # Earlier ones come: what is shown stays where it is.
    before = drawing(page)
    added = chart.older()
    assert added > 0
    after = holds(page, chart)
    for end in ("from", "to"):
        assert after["range"][end] == pytest.approx(before["range"][end] + added, abs=0.01)
    page.get_by_role("button", name="RSI 14").click()
    until(page, lambda: [len(one) for one in drawing(page)["series"]] == [5, 1])
    assert drawing(page)["series"][1][0]["options"]["title"] == "ATR 14"
    page.get_by_role("button", name="Zoom in").click()
    page.get_by_role("button", name="15m", exact=True).click()
    until(page, lambda: drawing(page)["series"][0][0]["data"] and drawing(page)["spacing"] == 6)
    until(
        page, lambda: [one["time"] for one in drawing(page)["series"][0][0]["data"]] == [r[0] for r in rows_of(chart)]
    )
    assert drawing(page)["range"]["to"] == pytest.approx(len(rows_of(chart)) - 1 + 14, abs=1)


@pytest.mark.parametrize(("side", "factor"), [("buy", "0.998"), ("sell", "1.002")])
def test_lines_and_marks_have_the_colour_style_and_place_of_what_they_stand_for(
    show: Open, session: Session, venue: LocalVenue, side: str, factor: str
) -> None:
    venue.advance("5m")
    getattr(session, side)("BTCUSDC", "2.5")
    order = getattr(session, side)("BTCUSDC", "0.01", price=near(session, factor))
    chart: Any = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    drawn(page, 3)
    ink = UP if side == "buy" else DOWN
    known = {one["kind"]: one for one in chart.view["lines"]}
    until(page, lambda: len(drawing(page)["lines"]) == 3)
    expected = {
        "entry": [known["entry"]["price"], TEXT, 0, 1, known["entry"]["text"], True],
        "liquidation": [known["liquidation"]["price"], BAD, 2, 1, "liquidation", True],
        "order": [known["order"]["price"], ink, 2, 1, known["order"]["text"], True],
    }
    assert sorted(drawing(page)["lines"]) == sorted(expected.values())
    words = ("belowBar", "arrowUp", UP) if side == "buy" else ("aboveBar", "arrowDown", DOWN)
    assert drawing(page)["marks"] == [[one[0], one[2], *words] for one in chart.view["fills"]]
    before = len(chart.view["fills"])
    getattr(session, side)("BTCUSDC", "0.01")
    until(page, lambda: len(drawing(page)["marks"]) == len(chart.view["fills"]) > before)
    # What moved or ended is drawn so.
    moved = near(session, "0.997" if side == "buy" else "1.003")
    session.replace(order, toolkit.Order("BTCUSDC", side.upper(), "0.01", moved))
    until(page, lambda: known["order"]["price"] not in [one[0] for one in drawing(page)["lines"]])
    assert len(drawing(page)["lines"]) == 3
    session.cancel(order)
    until(page, lambda: len(drawing(page)["lines"]) == 2)
    page.evaluate("document.body.className = 'dark'; document.body.dataset.jpThemeLight = 'false'")
    until(page, lambda: drawing(page)["marks"][0][4] not in (UP, DOWN))
    assert not {one[1] for one in drawing(page)["lines"]} & {UP, DOWN, TEXT, BAD}


def test_candles_are_read_and_moved_through_by_keys_and_pointer(
    show: Open, session: Session, venue: LocalVenue
) -> None:
    venue.advance("5m")
    session.buy("BTCUSDC", "0.02")
    chart: Any = toolkit.widgets.Candles(session, "BTCUSDC")
    page = show(chart)
    drawn(page)
    rows, fill = rows_of(chart), chart.view["fills"][0][3]

    def words(row: list[Any]) -> str:
        prices = [f"{name} {value:,.1f}" for name, value in zip("OHLC", row[1:5], strict=True)]
        own = f"  {fill}" if row[0] == chart.view["fills"][0][0] else ""
        return "  ".join([f"{datetime.fromtimestamp(row[0], UTC):%m-%d %H:%M}", *prices, f"V {row[5]:g}"]) + own

    readout, host_part = page.locator(".tk-readout"), page.locator(".tk-chart")
    page.evaluate(
        """() => {
          const [set, clear] = [chart.setCrosshairPosition.bind(chart), chart.clearCrosshairPosition.bind(chart)];
          chart.setCrosshairPosition = (...given) => { window.at = given.slice(0, 2); set(...given); };
          chart.clearCrosshairPosition = () => { window.at = null; clear(); };
        }"""
    )
    expect(readout).to_have_attribute("aria-live", "off")
    host_part.focus()
    place = len(rows) - 1
    for key, step in (("ArrowLeft", 0), ("ArrowLeft", -1), ("ArrowLeft", -1), ("ArrowRight", 1)):
        page.keyboard.press(key)
        place += step
        expect(readout).to_have_text(words(rows[place]))
    assert page.evaluate("window.at") == [rows[place][4], rows[place][0]]
    expect(readout).to_have_attribute("aria-live", "polite")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(readout).to_have_text(words(rows[-1]))
    page.keyboard.press("x")
    before = drawing(page)["range"]
    page.keyboard.press("-")
    wide = drawing(page)["range"]
    assert wide["to"] == pytest.approx(before["to"], abs=0.01)
    assert wide["to"] - wide["from"] == pytest.approx(1.5 * (before["to"] - before["from"]), rel=0.01)
    page.keyboard.press("+")
    assert drawing(page)["range"]["from"] == pytest.approx(before["from"], abs=0.01)
    for name, factor in (("Zoom in", 1 / 1.5), ("Zoom out", 1)):
        page.get_by_role("button", name=name).click()
        now = drawing(page)["range"]
        assert now["to"] - now["from"] == pytest.approx(factor * (before["to"] - before["from"]), rel=0.01)
    for latest in (lambda: page.get_by_role("button", name="Latest candle").click(),
                   lambda: (host_part.focus(), page.keyboard.press("End"))):  # fmt: skip
        page.evaluate("chart.timeScale().scrollToPosition(-40, false)")
        assert drawing(page)["range"]["to"] < len(rows) - 30
        latest()
        until(page, lambda: drawing(page)["range"]["to"] == pytest.approx(len(rows) - 1 + 14, abs=1))
    page.get_by_role("button", name="Zoom in").focus()
    expect(readout).to_have_attribute("aria-live", "off")
    expect(readout).to_have_text(words(rows[-1]))
    assert page.evaluate("window.at") is None
    area = box(page)
    x = page.evaluate("(index) => chart.timeScale().logicalToCoordinate(index)", len(rows) - 30)
    page.mouse.move(area["x"] + x, area["y"] + 100)
    expect(readout).to_have_text(words(rows[-30]))


def test_what_is_around_the_chart_says_what_is_in_it(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    chart: Any = toolkit.widgets.Candles(session, "BTCUSDC", indicators=["SMA 20", "Highest 5"])
    page = show(chart)
    drawn(page)
    view, rows = chart.view, rows_of(chart)
    note = page.locator(".tk-note").first
    expect(note).to_have_text(f"{view['last']} {view['change']} in {view['window']}")
    assert ("tk-up" in (note.get_attribute("class") or "")) == view["change"].startswith("▲")
    assert ("tk-down" in (note.get_attribute("class") or "")) == view["change"].startswith("▼")
    label = page.locator(".tk-chart").get_attribute("aria-label") or ""
    assert label.startswith(
        f"{len(rows)} candles of BTCUSDC, 1m each. Last close {view['last']}, {view['change']}. Arrow keys"
    )
    pressed = page.locator("[aria-pressed=true]")
    expect(pressed).to_have_text(["1m", "SMA 20", "Highest 5"])
    assert page.locator(".tk-candles tbody tr").count() == 0
    page.get_by_text("Candles as a table").click()
    shown = page.locator(".tk-candles tbody tr")
    expect(shown).to_have_count(60)
    times = shown.locator("th").all_inner_texts()
    assert times == [f"{datetime.fromtimestamp(row[0], UTC):%m-%d %H:%M}" for row in rows[:-61:-1]]
    cells = shown.first.locator("td")
    expect(cells).to_have_text([*(f"{value:,.1f}" for value in rows[-1][1:5]), f"{rows[-1][5]:g}"])
    assert cells.first.get_attribute("class") == "tk-num"
    heads = page.locator(".tk-candles thead th")
    expect(heads).to_have_text(["Time (UTC)", "Open", "High", "Low", "Close", "Volume"])
    order = page.get_by_role("button", name="Order", exact=True)
    exits = page.get_by_role("button", name="TP / SL")
    quantity = page.get_by_label("Quantity of the order")
    order.click()
    expect(quantity).to_be_focused()
    exits.click()
    expect(pressed).to_have_text(["1m", "SMA 20", "Highest 5", "TP / SL"])
    expect(quantity).to_be_hidden()
    exits.click()
    expect(pressed).to_have_text(["1m", "SMA 20", "Highest 5"])
    for name, left in (("SMA 20", ["Highest 5"]), ("SMA 50", ["Highest 5", "SMA 50"])):
        page.get_by_role("button", name=name).click()
        until(page, lambda left=left: chart.indicators == left)


def sent_of(chart: Any) -> list[Any]:
    """Note what the page asks for instead of doing it."""
    sent: list[Any] = []
    own = chart._commands()
    names = {name: (lambda name=name, **given: sent.append((name, given))) for name in ("move", "place", "exit")}
    chart._commands = lambda: {**own, **names}
    return sent


def test_a_line_is_dragged_only_as_it_is_meant(show: Open, session: Session, venue: LocalVenue) -> None:
    venue.advance("5m")
    session.buy("BTCUSDC", "0.05")
    chart: Any = toolkit.widgets.Candles(session, "BTCUSDC")
    sent = sent_of(chart)
    page = show(chart)
    drawn(page, 1)
    settle(page)
    product = session.product("BTCUSDC")
    for height in (200, 208):  # so near that both can be grabbed between them
        price = product.round_price(Decimal(page.evaluate(AT, height)), "nearest")
        session.buy("BTCUSDC", "0.01", price=str(price))
    drawn(page, 3)
    settle(page)
    area, part = box(page), page.locator(".tk-chart")
    heights = {
        one["id"]: page.evaluate("(at) => chart.panes()[0].getSeries()[0].priceToCoordinate(at)", one["price"])
        for one in chart.view["lines"]
    }
    upper, lower = sorted((one for one in chart.view["lines"] if one["moves"]), key=lambda one: -one["price"])
    entry = next(one for one in chart.view["lines"] if one["kind"] == "entry")

    def at(one: Any, off: float = 0) -> tuple[float, float]:
        return area["x"] + 80, area["y"] + heights[one["id"]] + off

    def cursor(*place: float) -> Any:
        page.mouse.move(*place)
        return part.evaluate("(one) => one.style.cursor")

    assert [cursor(*at(lower, off)) for off in (0, 5, 8)] == ["ns-resize", "ns-resize", ""]
    assert cursor(*at(entry)) == "" or abs(heights[entry["id"]] - heights[upper["id"]]) < 7
    fixed = "[chart.options().handleScroll, chart.options().handleScale].flatMap((one) => Object.values(one))"

    def drag(one: Any, by: float, *, button: Any = "left", before: str = "") -> None:
        page.mouse.move(*at(one, 3 if one is upper else -3))
        page.mouse.down(button=button)
        page.mouse.move(*at(one, by / 2))
        page.mouse.move(*at(one, by))
        settle(page)
        if before:
            part.evaluate(before)
        page.mouse.up(button=button)
        settle(page)

    drag(lower, 30)
    pixel = Decimal(page.evaluate(AT, 200)) - Decimal(page.evaluate(AT, 201))
    price = page.evaluate(AT, heights[lower["id"]] + 30)
    (command, given), *rest = sent
    assert not rest
    assert (command, given["order"]) == ("move", lower["id"])
    assert Decimal(given["price"]) == pytest.approx(Decimal(price), abs=pixel)
    assert len(given["price"].partition(".")[2]) == 1
    drag(upper, 30)
    assert sent[1][1]["order"] == upper["id"]
    drag(lower, 30, button="right")
    drag(lower, 30, before="(one) => one.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))")
    drag(lower, 30, before="(one) => one.dispatchEvent(new PointerEvent('pointercancel'))")
    drag(entry, 60)
    assert len(sent) == 2
    assert all(page.evaluate(fixed))
    page.mouse.move(*at(lower))
    page.mouse.down()
    page.mouse.move(*at(lower, 40))
    settle(page)
    shown = page.evaluate("chart.panes()[0].getSeries()[0].priceLines().map((one) => one.options().price)")
    assert lower["price"] not in shown
    assert not any(one is True for one in page.evaluate(fixed))
    page.mouse.up()
    page.mouse.move(*at(lower))  # pressed and let go where it is
    page.mouse.down()
    page.mouse.up()
    settle(page)
    assert len(sent) == 3
    # While the panel is locked nothing moves, and nothing is placed.
    chart._lock_reason = lambda: "for a test"
    chart.refresh()
    settle(page)
    assert cursor(*at(lower, 1)) == ""
    drag(lower, 30)
    page.get_by_role("button", name="TP / SL").click()
    click(page, 0.5)
    settle(page)
    assert len(sent) == 3


def test_a_click_places_at_the_price_under_the_pointer(
    show: Open, host: Host, session: Session, venue: LocalVenue
) -> None:
    venue.advance("5m")
    chart: Any = toolkit.widgets.Candles(session, "BTCUSDC", indicators=["RSI 14"])
    sent = sent_of(chart)
    page = show(chart)
    drawn(page)
    settle(page)
    area = box(page)
    for name, share in (("Order", 0.3), ("TP / SL", 0.4)):
        page.get_by_role("button", name=name, exact=True).click()
        if name == "Order":
            page.get_by_label("Quantity of the order").fill("0.03")
        page.mouse.move(area["x"] + 60, area["y"] + area["height"] * share)
        assert page.locator(".tk-chart").evaluate("(one) => one.style.cursor") == "copy"
        click(page, share)
        until(page, lambda: bool(sent))
        (command, given), *rest = sent
        most, least = (Decimal(page.evaluate(AT, area["height"] * share + off)) for off in (-1, 1))
        assert not rest
        assert least <= Decimal(given.pop("price")) <= most
        assert (command, given) == (("place", {"quantity": "0.03"}) if name == "Order" else ("exit", {}))
        expect(page.get_by_role("button", name=name, exact=True)).to_have_attribute("aria-pressed", "false")
        click(page, share)  # once only
        settle(page)
        assert len(sent) == 1
        sent.clear()
    page.get_by_role("button", name="TP / SL").click()
    click(page, 0.85)  # in the pane of the indicator
    settle(page)
    assert sent == []
