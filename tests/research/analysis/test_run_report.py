"""The interactive report: a page without a network, with every panel, for runs, comparisons and optimisations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.research.markets import Wandering, walk
from toolkit import extras
from toolkit.errors import MissingPackage
from toolkit.pictures import interactive
from toolkit.research import Results, backtest, optimise, vectorised
from toolkit.research.analysis import run_report


def body(html: str) -> str:
    """Return a page without Plotly's own script."""
    return html[html.index("<body>") :]


@pytest.mark.slow
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


def test_without_plotly_the_error_names_it(sample_results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"plotly is not installed.*toolkit\[notebook\]"):
        sample_results.page()
    with pytest.raises(MissingPackage, match=r"optuna is not installed.*toolkit\[optimise\]"):
        optimise(Wandering, {"every": [5]}, walk(1, 40), method="bayes", workers=0, progress=False)
