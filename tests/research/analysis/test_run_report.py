"""The interactive report: a page without a network, with every panel, for runs, comparisons and optimisations."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import Wandering, bars, walk
from toolkit import extras
from toolkit.errors import MissingPackage
from toolkit.pictures import interactive
from toolkit.pictures.interactive import shown_value
from toolkit.research import Results, backtest, optimise, vectorised
from toolkit.research.analysis import report_text, run_report
from toolkit.research.context import Context
from toolkit.research.market_data import Bar


def body(html: str) -> str:
    """Return a page without Plotly's own script."""
    return html[html.index("<body>") :]


def test_the_report_is_small_and_names_no_host(sample_results: Results, tmp_path: Path) -> None:
    path = sample_results.report(tmp_path / "new" / "report.html")
    html = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 1_000_000
    (script,) = tmp_path.glob("new/plotly-*.min.js")
    assert re.findall(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)="([^"]*)""", html) == [script.name]
    assert not re.search(r"https?://", body(html)), "the page itself names no address"
    for panel in ("run-time", "run-costs", "run-trips"):
        assert f'id="{panel}"' in html
    for text in ("Price and trades", "buy and hold", "best of the trials", "Rolling Sharpe", "funding"):
        assert text in html
    assert sample_results.report(tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_of_twenty_thousand_fills_is_below_a_megabyte_and_says_how_many_it_shows(tmp_path: Path) -> None:
    data = walk(5, 20_100)
    run = vectorised({"S": data}, np.where(np.arange(len(data)) % 2, 1.0, -1.0))
    assert len(run.fills) > 20_000
    page = run.report(tmp_path / "report.html").read_text()
    assert len(page) < 1_000_000
    shown, total = re.findall(r"S changes of side \(([\d,]+) of ([\d,]+)\)", page)[0]
    assert int(total.replace(",", "")) > 20_000
    assert int(shown) <= interactive.MOST_MARKS


def test_the_script_is_written_once_a_folder_and_into_a_page_that_stands_alone(
    sample_results: Results, tmp_path: Path
) -> None:
    sample_results.report(tmp_path / "a.html")
    (script,) = tmp_path.glob("plotly-*.min.js")
    first = script.stat()
    sample_results.report(tmp_path / "b.html")
    assert script.stat().st_ino == first.st_ino, "not written again"
    script.write_bytes(b"cut off")
    sample_results.report(tmp_path / "b.html")
    assert script.stat().st_size == first.st_size
    alone = sample_results.page().save(tmp_path / "alone.html", alone=True).read_text(encoding="utf-8")
    assert "src=" not in alone[alone.index("<style>") : alone.index("</style>")]
    assert len(alone) > first.st_size
    assert f'src="{script.name}"' not in alone


def long_walk(days: int) -> pd.DataFrame:
    return walk(2, days * 24)


def test_months_are_shown_only_where_there_are_months() -> None:
    for days, shown in ((27, False), (40, True)):
        html = body(backtest(Wandering(every=9), long_walk(days)).page().html)
        assert ("Monthly returns" in html) is shown


def card(html: str, title: str) -> str:
    found = re.search(rf"<section><h2>{title}</h2><strong>(.*?)</strong><p>(.*?)</p></section>", html)
    assert found is not None
    return " | ".join(found.groups())


def test_the_first_screen_says_what_came_out_and_how_far_to_trust_it(sample_results: Results) -> None:
    html = body(sample_results.page().html)
    measured, luck = sample_results.metrics(), sample_results.luck()
    assert card(html, "Return").startswith(report_text.percent(measured["total_return"]))
    assert "USDC in 25.0 days" in card(html, "Return")
    low, high = (report_text.number(luck[name]) for name in ("sharpe_low", "sharpe_high"))
    assert card(html, "Sharpe ratio, yearly").endswith(f"90 % interval: {low} to {high}")
    assert card(html, "Largest drawdown").startswith(report_text.percent(measured["max_drawdown"]))
    gross = sample_results.attribution.at["TOTAL", "price"]
    costs = measured["fees"] - measured["funding"]
    share = f"{report_text.percent(costs / gross)} of gross" if gross > 0 else "no gross profit"
    assert card(html, "Costs").startswith(f"{share} | {report_text.usdc(costs)}: fees")
    assert f"the best of {luck['trials']:,} trials" in card(html, "Not luck")
    assert card(html, "Audit") == "not run | Not audited: call run.audit() before the report."
    assert not re.search(r"[a-z]_[a-z]|\de[-+]\d", re.sub(r"<script.*?</script>|<details>.*", "", html, flags=re.S))


def test_the_first_screen_shows_what_the_audit_found() -> None:
    run = backtest(Wandering(every=9), long_walk(9))
    run.audit()
    assert card(body(run.page().html), "Audit") == "nothing found | nothing found"


@pytest.mark.parametrize(
    ("low", "high", "deflated", "said"),
    [
        (math.nan, math.nan, math.nan, "Too few returns"),
        (-3.0, -1.0, 0.01, "A loss that luck alone hardly explains"),
        (-1.0, 2.0, 0.99, "the interval of the Sharpe ratio contains 0"),
        (0.5, 2.0, 0.94, "the best of 7 trials can look as good"),
        (0.5, 2.0, 0.95, "Luck alone hardly explains this result"),
    ],
)
def test_the_verdict_follows_interval_and_trials(
    sample_results: Results, monkeypatch: pytest.MonkeyPatch, low: float, high: float, deflated: float, said: str
) -> None:
    luck = sample_results.luck()
    luck[["sharpe_low", "sharpe_high", "deflated_sharpe", "trials"]] = [low, high, deflated, 7]
    monkeypatch.setattr(Results, "luck", lambda self: luck)
    assert said in report_text.first_screen(sample_results)


def test_numbers_are_in_the_units_that_people_read() -> None:
    values = {"total_return": -1.631e-05, "max_drawdown": -0.1236, "mean_trip": 0.0042, "fills": 12_000, "every": 9}
    shown = report_text.readable(pd.Series(values, dtype="object"))
    assert shown.to_dict() == {
        "total return": "−0.0016%", "max drawdown": "−12.36%", "mean trip": "0.004200 USDC", "fills": "12,000",
        "every": 9,
    }  # fmt: skip
    spans = {"88705 days 20:05:30": "243.0 years", "12 days 12:00:00": "12.5 days", "03:30:00": "3.5 hours"}
    spans |= {"00:12:00": "12.0 minutes", "0s": "0.0 hours"}
    assert {text: report_text.duration(pd.Timedelta(text)) for text in spans} == spans
    assert report_text.duration(pd.NaT) == report_text.percent(math.nan) == report_text.usdc(math.nan) == "–"
    assert set(backtest(Wandering(every=9), long_walk(3)).metrics().index) - set(report_text.MEASURES) == {
        "start", "end",
    }  # fmt: skip


def test_names_of_users_are_texts_and_not_markup(sample_results: Results) -> None:
    run = vectorised(walk(1, 60), np.ones(60), name="<img src=x>", params={"</script>": "<b>"})
    html = body(run.page(against={"<i>other": sample_results}).html)
    for markup in ("<img", "<b>", "<i>other"):
        assert markup not in html
    assert html.count("</script>") == html.count("<script")


def test_a_notebook_shows_it_in_a_frame_of_its_own(sample_results: Results) -> None:
    page = sample_results.page()
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count("<") == 2, "all else is escaped"
    assert repr(page) == "<Page 'Sample (n = 20)'>"


def test_runs_are_compared_beside_each_other(sample_results: Results) -> None:
    other = vectorised(walk(1, 600), np.ones(600), name="Other")
    html = body(sample_results.page(against=[other]).html)
    assert 'id="compared"' in html
    assert "<th>Sample</th>" in html
    assert "<th>Other</th>" in html


def test_an_optimisation_has_heat_maps_and_parallel_coordinates(tmp_path: Path) -> None:
    found = optimise(
        Wandering, {"every": [5, 6, 7]}, walk(1, 100), workers=0, progress=False, fees=("0.0001", "0.0002")
    )
    html = body(found.report(tmp_path / "o.html").read_text(encoding="utf-8"))
    assert "parcoords" in html
    assert "The best run" in html
    two = optimise(
        lambda data, size, kind: vectorised(data, np.full(100, size if kind == "long" else -size)),
        {"size": [0.1, 0.2], "kind": ["long", "short"]},
        walk(1, 100),
        workers=0,
        progress=False,
    )
    html = body(two.page().html)
    assert "score by size and kind" in html
    cells = run_report.best_cells(two.table.assign(score=two.scores), "size", "kind", "score")
    assert cells.shape == (2, 2)
    assert np.nanmax(cells) == np.nanmax(two.scores)


def test_a_run_without_trades_or_bars_can_be_shown(sample_results: Results) -> None:
    assert "run-time" in backtest(lambda ctx, bar: None, walk(1, 40)).page().html
    empty: dict[str, Any] = {
        name: getattr(sample_results, name).iloc[:0] for name in ("equity", "positions", "marks", "fills", "funding")
    }
    assert "no data" in body(Results("Empty", **empty).page().html)


def test_stops_and_take_profits_are_shown_where_they_waited_and_filled() -> None:
    rows = [(60_000.0, 60_000.0, 60_000.0, 60_000.0)] * 3 + [(60_000.0, 60_700.0, 60_000.0, 60_700.0)]
    rows += [(60_700.0, 60_700.0, 60_700.0, 60_700.0)] * 2 + [(60_700.0, 60_700.0, 58_900.0, 58_900.0)] * 2

    def on_bar(ctx: Context, bar: Bar) -> None:
        at = ctx.bars().length
        if at == 1:
            ctx.bracket(bar.symbol, "0.1", take_profit="60600", stop_loss="59000")
        if at == 5:
            ctx.bracket(bar.symbol, "0.1", take_profit="62000", stop_loss="59000")

    run = backtest(on_bar, {"BTCUSDC": bars(*rows)})
    triggers = run_report.with_triggers(run, "BTCUSDC")
    assert triggers["stop"].tolist() == (triggers["trigger_price"] == 59_000).tolist()
    traces = {
        trace.name: trace for trace in interactive.draw_all(run_report.panes_of(run), run_report.THEME, height=900).data
    }
    assert [len(traces[f"BTCUSDC {name}"].x) for name in ("entries", "stops", "take-profits")] == [2, 1, 1]
    assert traces["BTCUSDC take-profits"].y[0] == 60_600
    assert traces["BTCUSDC stops"].y[0] == 59_000
    assert "BTCUSDC exits" not in traces
    levels = traces["BTCUSDC stop prices"]
    assert [price for price in levels.y if price == price] == [59_000] * 4
    assert levels.x[4] == run.fills["time"].iloc[-1], "until it was filled"


def test_lengths_of_time_keep_all_their_days() -> None:
    shown = {
        text: shown_value(pd.Timedelta(text)) for text in ("10 days 01:00:00", "0 days 03:00:00", "530 days 11:33:09")
    }
    assert list(shown.values()) == ["10 days 01:00:00", "03:00:00", "530 days 11:33:09"]


def test_months_and_funding_by_hand() -> None:
    index = pd.to_datetime(["2025-12-30", "2025-12-31", "2026-01-31", "2026-02-01", "2026-02-02"], utc=True)
    data = pd.DataFrame({"close": [100.0, 110.0, 121.0, 121.0, 60.5]}, index=index)
    run = vectorised(data, [1.0, 1.0, 1.0, 0.0, 0.0], fee=0.0, capital=1_000, funding=pd.Series([0.01], index[2:3]))
    table = run_report.monthly(run)
    ends = run.equity["equity"].groupby([run.equity.index.year, run.equity.index.month]).last()
    assert table.loc[2025, "Dec"] == pytest.approx(ends[2025, 12] / 1_000 - 1)
    assert table.loc[2026, "Jan"] == pytest.approx(ends[2026, 1] / ends[2025, 12] - 1)
    whole = (1 + table.loc[2026, "year"]) * (1 + table.loc[2025, "year"])
    assert whole == pytest.approx(run.equity["equity"].iloc[-1] / 1_000)
    trips = run_report.with_funding(run)
    assert trips["funding"].tolist() == pytest.approx([run.funding["payment"].sum()])
    assert trips["value"].iloc[0] == pytest.approx(run.equity["equity"].iloc[-1] - 1_000)


def test_without_plotly_the_error_names_it(sample_results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"plotly is not installed.*toolkit\[notebook\]"):
        sample_results.page()
    with pytest.raises(MissingPackage, match=r"optuna is not installed.*toolkit\[optimise\]"):
        optimise(Wandering, {"every": [5]}, walk(1, 40), method="bayes", workers=0, progress=False)
