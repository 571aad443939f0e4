"""All that the report of one small run shows, worked out by hand: lines, marks, tables, texts and where they stand."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from tests.research.analysis.small import EQUITY, HOURS, MARKS, MINUTE, A, B, lost, ms, small_run
from toolkit.pictures.panes import HorizontalLine, Line, Marks, Pane
from toolkit.research import Results
from toolkit.research.analysis import run_report
from toolkit.research.analysis.results import EVENTS, FUNDING, TRANSFERS, frame
from toolkit.research.analysis.run_report import MONTH, THEME


def settings_of(part: Line | Marks | HorizontalLine | Pane) -> dict[str, Any]:
    """Return what differs from the defaults, without the values."""
    found = {}
    for item in dataclasses.fields(part):
        value = getattr(part, item.name)
        if item.name not in ("values", "parts", "text", "sizes") and not (isinstance(value, float) and value != value):
            given = item.default is dataclasses.MISSING or value != item.default
            given = given and not (item.name == "lanes" and not value)
            found |= {item.name: value} if given else {}
    return found


def test_the_lines_and_marks_of_a_run_are_at_these_times_and_values() -> None:
    price, equity, fall, exposure = run_report.panes_of(small_run())
    shown = {part.name: part.values for part in price.parts if isinstance(part, Line | Marks)}
    for symbol in (A, B):
        assert shown[symbol].to_dict() == dict(zip(HOURS, MARKS[symbol], strict=True))
    places = {
        name: [((time - HOURS[0]) / pd.Timedelta(hours=1), value) for time, value in shown[name].items()]
        for name in shown
        if name not in (A, B)
    }
    gap = pytest.approx(math.nan, nan_ok=True)
    assert places == {
        "AAA stop prices": [(5.25, 105), (5.5, 105), (5.5, gap), (4, 98), (11, 98), (11, gap)],
        "AAA take-profit prices": [(1, 100.5), (9.5, 100.5), (9.5, gap), (6, 110), (8, 110), (8, gap)],
        "AAA entries": [(0.5, 100), (1.5, 101)],
        "AAA exits": [(3.5, 103)],
        "AAA changes of side": [(4.5, 104)],
        "AAA stops": [(5.5, 105)],
        "AAA take-profits": [(9.5, 101)],
        "AAA liquidations": [(6.5, 104)],
        "BBB stop prices": [(-1, 9), (-1, 9), (-1, gap)],
        "BBB entries": [(2.5, 11)],
        "BBB liquidations": [(7.5, 12)],
    }
    texts = {part.name: list(part.text) for part in price.parts if isinstance(part, Marks)}
    assert texts["AAA changes of side"] == ["SELL 4 at 104<br>fee 0.25, realised 3.00"]
    assert texts["AAA entries"][0] == "BUY 2 at 100<br>fee 0.25, realised 1.00"
    own, held, _, forced = equity.parts
    assert isinstance(own, Line)
    assert isinstance(held, Line)
    assert isinstance(forced, Marks)
    assert own.values.tolist() == EQUITY
    halves = [500 * a / 100 + 500 * b / 10 for a, b in zip(MARKS[A], MARKS[B], strict=True)]
    assert held.values.tolist() == pytest.approx(halves)
    # The liquidation of 06:30 stands at the equity of 06:00, and one before the first point at that.
    assert list(forced.values.items()) == [(HOURS[6] + 30 * MINUTE, 980.0), (HOURS[0] - 120 * MINUTE, 1_000.0)]
    (depth,) = fall.parts
    assert isinstance(depth, Line)
    assert depth.values.tolist() == pytest.approx([v / max(EQUITY[: at + 1]) - 1 for at, v in enumerate(EQUITY)])
    first = exposure.parts[0]
    assert isinstance(first, Line)
    assert first.values.tolist()[:6] == [0, 202, 306, 309, 208, -210]


def test_a_benchmark_liquidations_and_many_symbols_change_the_panes() -> None:
    run = small_run(events=frame([(ms(3), "REJECTED", A, "no")], EVENTS))
    plain = run_report.panes_of(run, benchmark=False)[1]
    assert [settings_of(part).get("name") for part in plain.parts] == ["equity", None]
    assert plain.parts[1] == HorizontalLine(1_000.0, dashed=True)
    assert run_report.panes_of(small_run(**lost(EQUITY[:4])))[2].limits[0] == pytest.approx((1_005 / 1_010 - 1) * 1.08)
    flat = run_report.panes_of(small_run(**lost([5.0] * 4)))[2]
    assert flat.limits == (-1e-4, 0)
    for count, names in ((1, ["S0"]), (4, ["S0", "S1", "S2", "S3"]), (5, ["gross", "net"])):
        held = pd.DataFrame({f"S{number}": 1.0 + number for number in range(count)}, HOURS)
        pane = run_report.panes_of(small_run(positions=held, marks=held))[3]
        lines = [part for part in pane.parts if isinstance(part, Line)]
        assert [line.name for line in lines] == [f"{name} notional" for name in names]
        assert [line.role for line in lines] == ["up", "down", 3, 2][: len(names)]
        assert {(line.area, line.opacity) for line in lines} == {(0.0, 0.3) if count == 1 else (None, 0.12)}
    assert run_report.ROLES == ("up", "down", 3, 2, 1, 5, "faint")


@pytest.mark.parametrize(("points", "window"), [(12, 3), (40, 13), (300, 30), (5, 2)])
def test_rolling_measures_are_those_of_the_last_returns(points: int, window: int) -> None:
    """A third of the returns, from 2 to 30. The year has 8,760 hours."""
    dice = np.random.default_rng(points)
    index = pd.date_range("2026-01-01", periods=points, freq="20min", tz="UTC")
    curve = pd.Series(1_000 * np.exp(np.cumsum(dice.normal(0, 0.01, points))), index)
    curve.iloc[1:3] = curve.iloc[0]  # no variation: no ratio
    curve.iloc[3:] = np.where(points == 5, curve.iloc[0], curve.iloc[3:])
    table = curve.to_frame("equity").assign(balance=curve, unrealized=0.0)
    step = 3 if points == 300 else 1  # of two days or more the returns are hourly, and the end is an edge
    returns = curve.iloc[sorted({*range(0, points, step), points - 1})].pct_change().dropna().to_numpy()
    year = 365 * 24 * 3 / step
    found = run_report.rolling(small_run(equity=table))
    assert len(found) == len(returns)
    for row in range(len(returns)):
        part = returns[row + 1 - window : row + 1] if row + 1 >= window else np.array([])
        spread = float(np.std(part, ddof=1)) if len(part) else math.nan
        sharpe = part.mean() / spread * math.sqrt(year) if spread > 0 else math.nan
        expected = [sharpe, spread * math.sqrt(year)]
        assert found.iloc[row].tolist() == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)


def test_months_and_years_multiply_to_the_whole() -> None:
    """A bar that closes at the first instant of a month belongs to the month before."""
    index = pd.to_datetime(["2025-11-30", "2025-12-31", "2026-01-31", "2026-03-01", "2026-12-31"], utc=True)
    curve = pd.Series([100.0, 110.0, 99.0, 198.0, 148.5], index)
    table = run_report.monthly(small_run(equity=curve.to_frame("equity").assign(balance=0.0, unrealized=0.0)))
    assert " ".join(table.columns) == "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec year"
    assert table.columns.name == "month"
    rows = {year: {name: value for name, value in row.items() if value == value} for year, row in table.iterrows()}
    assert rows == {
        2025: {"Dec": pytest.approx(0.1), "year": pytest.approx(0.1)},
        2026: {
            "Jan": pytest.approx(-0.1),
            "Feb": pytest.approx(1.0),
            "Dec": pytest.approx(-0.25),
            "year": pytest.approx(0.35),
        },
    }


def test_round_trips_carry_the_funding_of_their_symbol_while_they_were_open() -> None:
    """AAA is long from 00:30 to 04:30 and short after; of BBB the sale of 02:30 is closed at 07:30."""
    run = small_run()
    trips = run_report.with_funding(run)
    shown = trips[["symbol", "side", "hours", "funding"]].itertuples(index=False, name=None)
    assert list(shown) == [(A, "LONG", 4.0, -1.0), (B, "SHORT", 5.0, 7.0)]
    assert trips["value"].tolist() == pytest.approx((run.round_trips["net"] + [-1.0, 7.0]).tolist())
    assert trips["net"].tolist() == pytest.approx([103 + 2 * 104 - 301 - 0.25 * 3.5, 55 - 60 - 0.5])
    assert trips["text"].tolist() == [
        "LONG AAA<br>net 9.12, funding -1.00",
        "SHORT BBB<br>net -5.50, funding 7.00",
    ]


def figures(html: str) -> dict[str, tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Return traces and layout of each figure of a page, by its id."""
    found, decoder = {}, json.JSONDecoder()
    for at in re.finditer(r'Plotly\.newPlot\(\s*"([\w-]+)",\s*', html):
        traces, end = decoder.raw_decode(html, at.end())
        layout, _ = decoder.raw_decode(html, html.index("{", end))
        found[at.group(1)] = traces, layout
    return found


def numbers(values: Any) -> list[float]:
    """Return the numbers of a trace, which Plotly may write as bytes."""
    if isinstance(values, Mapping):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return list(values)


def body(page: Any) -> str:
    """Return a page without Plotly's own script."""
    html: str = page.html
    return html[html.index("<body>") :]


def test_the_page_has_its_figures_and_tables_in_this_order() -> None:
    run = small_run(transfers=frame([(ms(2), "LIQUIDATION_FEE", A, -0.5)], TRANSFERS))
    page = run_report.page_of(run, {})
    assert page.title == "Small (n = 2, m = x)"
    html = body(page)
    assert ("<h1>Small (n = 2, m = x)</h1><p>AAA, BBB · 01 Jan 2026 00:00 – 01 Jan 2026 11:00 UTC</p>") in html
    assert re.findall(r"<h2>([^<]*)</h2>", html) == [
        "Return", "Sharpe ratio, yearly", "Largest drawdown", "Costs", "Not luck", "Audit",
        "Measures", "How likely it is luck", "Beside buying and holding", "Worst drawdowns", "Profit by origin, USDC",
        "Events",
    ]  # fmt: skip
    drawn = figures(html)
    assert list(drawn) == ["run-time", "run-costs", "run-trips"], "no months of a short run"
    traces, layout = drawn["run-time"]
    assert layout["height"] == 1_000
    assert len(traces) == 13 + 3 + 1 + 2, "no rolling measures of a run that is too short for yearly ones"
    traces, layout = drawn["run-costs"]
    assert [(trace["name"], numbers(trace["y"]), trace["marker"]["color"]) for trace in traces] == [
        (name, pytest.approx(values := run.attribution.loc[[A, B], name].tolist()),
         [THEME.up if value >= 0 else THEME.down for value in values])
        for name in ("price", "fees", "funding", "other")
    ]  # fmt: skip
    traces, _ = drawn["run-trips"]
    assert [(t["type"], t.get("name"), t["marker"]["color"], len(numbers(t["x"]))) for t in traces] == [
        ("histogram", "winners", THEME.up, 2), ("scatter", None, THEME.up, 2),
        ("histogram", "losers", THEME.down, 0), ("scatter", None, THEME.down, 0),
    ]  # fmt: skip
    events = html[html.index("<h2>Events</h2><table") :]
    assert "&lt;x&gt;" in events
    assert "<th>seed</th>\n      <td>7</td>" in events


def test_a_page_leaves_out_events_and_months_where_there_are_none() -> None:
    """A month is 28 days. Of the events the last 30 are shown, and a trip that gains nothing counts as lost."""
    many = frame([(ms(0.001 * number), "NOTE", A, f"number {number};") for number in range(31)], EVENTS)
    for span, shown in ((MONTH, True), (MONTH - MINUTE, False)):
        index = pd.DatetimeIndex([HOURS[0], HOURS[0] + span])
        equity = pd.DataFrame({"equity": [5.0, 6.0], "balance": 0.0, "unrealized": 0.0}, index)
        held = pd.DataFrame({A: [1.0, 1.0]}, index)
        fills = small_run().fills.iloc[[0, 0]].assign(side=["BUY", "SELL"], fee=0.0)
        changed = {"equity": equity, "positions": held, "marks": held, "fills": fills, "funding": frame([], FUNDING)}
        html = body(run_report.page_of(small_run(**changed, events=many), {}))
        drawn = figures(html)
        assert ("run-months" in drawn) is shown
        assert [len(numbers(trace["x"])) for trace in drawn["run-trips"][0]] == [0, 0, 1, 1]
        assert "number 1;" in html
        assert "Events, the last 30 of 31" in html
        assert "number 0;" not in html
    assert pd.Timedelta(days=28) == MONTH
    calm = body(run_report.page_of(small_run(events=frame([], EVENTS)), {}))
    assert "<h2>Events" not in calm


def test_runs_are_compared_by_their_growth_and_drawdown() -> None:
    other = small_run(**lost([500.0, 250.0, 1_000.0]), params={}, name="Other")
    more = {f"run {number}": other for number in range(8)}
    html = body(run_report.page_of(small_run(), more))
    traces, layout = figures(html)["compared"]
    assert layout["height"] == 520
    names = ["Small", *more]
    growth, falls = traces[:9], traces[9:]
    assert [trace["name"] for trace in growth] == names
    assert [trace["legendgroup"] for trace in falls] == names
    assert numbers(growth[0]["y"]) == pytest.approx([value / 1_000 for value in EQUITY])
    assert numbers(growth[1]["y"]) == [1.0, 0.5, 2.0]
    assert numbers(falls[1]["y"]) == [0.0, -0.5, 0.0]
    colours = [THEME.colour(run_report.ROLES[number % 7]) for number in range(9)]
    assert [trace["line"]["color"] for trace in growth] == [trace["line"]["color"] for trace in falls] == colours
    assert layout["yaxis2"]["tickformat"] == ".1%"
    assert "tickformat" not in layout["yaxis"]
    assert "compared" not in figures(body(run_report.page_of(small_run(), {})))


def points(names: str) -> pd.DataFrame:
    """Return a table of eight points with two values of each name, and a score."""
    rows = [{name: (number >> at % 3) & 1 for at, name in enumerate(names)} for number in range(8)]
    return pd.DataFrame(rows).assign(same=4, score=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, math.nan])


@pytest.mark.parametrize(("names", "maps"), [("a", 0), ("ab", 1), ("abcde", 6)])
def test_a_page_of_points_has_six_heat_maps_at_most_of_what_was_varied(names: str, maps: int) -> None:
    page = run_report.page_of_points(
        points(names), [*names, "same"], "score", pd.Series({"points": 8}, name="Sum"), None
    )
    html = body(page)
    drawn = figures(html)
    assert list(drawn) == [f"points-{number}" for number in range(1 + maps)]
    assert [axis["label"] for axis in drawn["points-0"][0][0]["dimensions"]] == [*names, "score"]
    titles = [layout["title"]["text"] for _, layout in drawn.values()][1:]
    pairs = [f"score by {x} and {y}" for at, x in enumerate(names) for y in names[at + 1 :]]
    assert titles == pairs[:6]
    assert page.title == "Sum"
    assert "<h2>The best run</h2>" not in html
    if names == "ab":
        # Of the points that share a cell the best: 5 and 1 have a = b = 0, and a point without a score counts nowhere.
        assert [numbers(row) for row in cells(drawn["points-1"][0][0]["z"])] == [[5.0, 6.0], [7.0, 4.0]]


def cells(z: Any) -> Iterator[Any]:
    if isinstance(z, Mapping):
        yield from np.array(numbers(z)).reshape([int(size) for size in z["shape"].split(",")]).tolist()
    else:
        yield from z


def test_a_page_of_points_ends_with_the_best_run_and_needs_something_known() -> None:
    summary = pd.Series({"points": 8}, name="<Sum>")
    html = body(run_report.page_of_points(points("ab"), ["a", "b"], "score", summary, small_run()))
    assert "<h1>&lt;Sum&gt;</h1>" in html
    assert html.index("points-1") < html.index("<h2>The best run</h2><h1>Small (n = 2, m = x)</h1>")
    for table, names in ((points("ab").assign(score=math.nan), ["a", "b"]), (points("ab"), ["same"])):
        assert not figures(body(run_report.page_of_points(table, names, "score", summary, None)))


def texts(axes: Axes) -> list[tuple[float, float, str]]:
    return [
        (round(text.get_position()[0], 3), round(text.get_position()[1], 3), text.get_text()) for text in axes.texts
    ]


def test_the_static_page_names_six_symbols_at_most_and_leaves_out_what_is_not_there() -> None:
    held = pd.DataFrame(1.0, HOURS, list("STUVWXYZ"))
    page = run_report.draw_page(small_run(positions=held, marks=held, params={}))
    assert page.texts[1].get_text() == "S, T, U, V, W, X   ·   01 Jan 2026 00:00 – 01 Jan 2026 11:00 UTC"
    none = {name: getattr(small_run(), name).iloc[:0] for name in ("equity", "positions", "marks")}
    empty = run_report.draw_page(Results("None", **none))
    assert [text.get_text() for text in empty.texts] == ["None", "AAA, BBB   ·   no data"]


def test_the_table_of_the_static_page_is_this_one() -> None:
    table = run_report.draw_page(small_run()).axes[3]
    rows: dict[float, list[str]] = {}
    for x, y, text in texts(table):
        assert x in (0.06, 1)
        rows.setdefault(y, []).append(text)
    heights = [0.915 - number * 0.915 / 19 for number in range(19)]
    shown = small_run().metrics()
    expected: dict[float, list[str]] = {0.985: ["+50.00 USDC"]}
    written = run_report.readable(shown)
    for height, name in zip(heights, run_report.TABLE, strict=True):
        if name:
            label = run_report.MEASURES[name][0]
            expected[round(height, 3)] = [label, written[label].removesuffix(" to annualise")]
    assert rows == expected
    rules = [line.get_xydata().round(3).tolist() for line in table.get_lines()]
    assert rules == [[[0.06, round(heights[at], 3)], [1.0, round(heights[at], 3)]] for at in (0, 8, 14)]
    assert [text.get_fontsize() for text in table.texts][:3] == [15, 9.5, 9.5]
    assert [text.get_ha() for text in table.texts][1:3] == ["left", "right"]
