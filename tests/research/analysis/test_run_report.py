"""The interactive report: one file without a network, with every panel, for runs, comparisons and optimisations."""

from __future__ import annotations

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
from toolkit.research.analysis import run_report
from toolkit.research.context import Context
from toolkit.research.market_data import Bar


def body(html: str) -> str:
    """Return a page without Plotly's own script."""
    return html[html.index("<body>") :]


def test_the_report_is_one_file_that_names_no_host(sample_results: Results, tmp_path: Path) -> None:
    path = sample_results.report(tmp_path / "new" / "report.html")
    html = path.read_text(encoding="utf-8")
    assert not re.search(r"""<(script|link|img|iframe)[^>]+(src|href)=""", html)
    assert not re.search(r"https?://", body(html)), "the page itself names no address"
    for panel in ("run-time", "run-months", "run-costs", "run-trips"):
        assert f'id="{panel}"' in html
    for text in ("Price and trades", "buy and hold", "deflated_sharpe", "Rolling Sharpe", "Monthly returns", "funding"):
        assert text in html
    assert sample_results.report(tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")


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
