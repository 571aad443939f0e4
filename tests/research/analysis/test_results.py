"""Results: frames with fixed columns, parts that add up, saving and loading, one page to look at."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest

from toolkit.errors import InputError
from toolkit.research.analysis import results as module
from toolkit.research.analysis.results import EVENTS, FILLS, FUNDING, ORDERS, TRANSFERS, Results, compare, frame


@pytest.mark.parametrize("schema", [FILLS, ORDERS, FUNDING, EVENTS, TRANSFERS])
def test_an_empty_frame_has_the_columns_and_dtypes_of_a_full_one(schema: dict[str, str]) -> None:
    empty = frame([], schema)
    assert {name: str(dtype) for name, dtype in empty.dtypes.items()} == {
        name: str(pd.Series(dtype=dtype).dtype) for name, dtype in schema.items()
    }


def test_attribution_adds_up_to_the_change_of_equity(sample_results: Results) -> None:
    table = sample_results.attribution
    equity = sample_results.equity["equity"]
    assert table.loc["TOTAL", "net"] == pytest.approx(equity.iloc[-1] - equity.iloc[0])
    assert table.loc["TOTAL", "fees"] == pytest.approx(-sample_results.fills["fee"].sum())
    assert table.loc["TOTAL", "funding"] == pytest.approx(sample_results.funding["payment"].sum())
    assert table.loc["TOTAL", "funding"] != 0


def test_exposure_is_position_times_mark(sample_results: Results) -> None:
    exposure = sample_results.exposure
    expected = sample_results.positions["BTCUSDC"] * sample_results.marks["BTCUSDC"]
    pd.testing.assert_series_equal(exposure["net"], expected, check_names=False)
    assert (exposure["gross"] == expected.abs()).all()


def test_round_trips_carry_the_realised_profit(sample_results: Results) -> None:
    assert sample_results.round_trips["gross"].sum() == pytest.approx(sample_results.fills["realized_pnl"].sum())


def test_what_was_saved_is_loaded(sample_results: Results, tmp_path: Path) -> None:
    folder = sample_results.save(tmp_path / "run")
    loaded = Results.load(folder)
    for name in module.FRAMES:
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(sample_results, name), check_freq=False)
    assert loaded.params == sample_results.params
    with pytest.raises(InputError, match=r"meta\.json is missing"):
        Results.load(tmp_path)


def test_runs_stand_side_by_side(sample_results: Results) -> None:
    table = compare([sample_results, sample_results])
    assert list(table.columns) == ["Sample(n=20)", "Sample(n=20) #2"]
    assert table.loc["profit", "Sample(n=20)"] == sample_results.metrics()["profit"]
    assert list(compare({"mine": sample_results}).columns) == ["mine"]
    assert compare([]).empty


def test_the_repr_says_what_came_of_it(sample_results: Results) -> None:
    text = repr(sample_results)
    assert text.startswith("Results('Sample', 2026-01-01 00:00 to 2026-01-26 00:00, 10,000.00 → ")
    assert text.endswith(f"{len(sample_results.fills)} fills)")


@pytest.mark.parametrize("dark", [False, True])
def test_the_report_is_a_page_with_all_panels(sample_results: Results, dark: bool) -> None:
    page = sample_results.report(dark=dark)
    titles = {axes.get_title(loc="left") for axes in page.axes}
    assert {"Equity, USDC", "Drawdown", "Position notional, USDC", "Profit by origin, USDC"} <= titles
    image = BytesIO()
    page.savefig(image)
    assert image.getvalue().startswith(b"\x89PNG")


def test_a_run_without_a_trade_can_be_reported(sample_results: Results) -> None:
    index = sample_results.equity.index[:2]
    flat = pd.DataFrame({"equity": 100.0, "balance": 100.0, "unrealized": 0.0}, index=index)
    many = pd.DataFrame(0.0, index=index, columns=list("ABCDE"))
    Results("Idle", flat, many, many + 1).report().savefig(BytesIO())
