"""Frames of other libraries are taken like those of pandas: by backtests, sweeps, splits, arrays, checks and `load`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.research.markets import Wandering, walk
from toolkit.errors import InputError
from toolkit.interchange import to_pandas
from toolkit.research import backtest, data, optimise, sweep, vectorised, walk_forward
from toolkit.research.data.bars import read_bars

BARS = walk(3, 60)
TABLE = BARS.rename_axis("time").reset_index()


def of_polars(frame: pd.DataFrame) -> Any:
    return pl.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


def of_duckdb(frame: pd.DataFrame) -> Any:
    return duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))


LIBRARIES: list[Callable[[pd.DataFrame], Any]] = [of_polars, of_duckdb, pa.Table.from_pandas]


@pytest.mark.parametrize("made", LIBRARIES, ids=["polars", "duckdb", "pyarrow"])
def test_a_backtest_takes_frames_of_any_library(made: Callable[[pd.DataFrame], Any]) -> None:
    expected = backtest(Wandering(), {"BTCUSDC": BARS})
    run = backtest(Wandering(), {"BTCUSDC": made(TABLE)})
    assert len(run.fills) > 3
    pd.testing.assert_frame_equal(run.fills, expected.fills)
    pd.testing.assert_frame_equal(run.equity, expected.equity)
    pd.testing.assert_frame_equal(run.rerun().equity, expected.equity)
    assert list(read_bars(made(TABLE.assign(symbol="XYZ")))) == ["XYZ"]
    for name, values in read_bars(made(TABLE[["time", "close"]].rename(columns={"close": "XYZ"}))).items():
        assert name == "XYZ"
        np.testing.assert_array_equal(values.close, BARS["close"])


def test_arrays_sweeps_splits_and_checks_take_frames_of_polars() -> None:
    frame = of_polars(TABLE)
    targets = pd.DataFrame({"time": BARS.index, "BTCUSDC": np.where(np.arange(60) % 7 < 3, 0.1, 0.0)})
    expected = vectorised({"BTCUSDC": BARS}, targets.set_index("time"))
    run = vectorised({"BTCUSDC": frame}, of_polars(targets))
    pd.testing.assert_frame_equal(run.equity, expected.equity)
    pd.testing.assert_frame_equal(vectorised({"BTCUSDC": frame}, of_polars(targets)["BTCUSDC"]).equity, expected.equity)
    with pytest.raises(InputError, match="Reindex them to the bars' times"):
        vectorised({"BTCUSDC": frame}, of_polars(targets[::-1]))
    grid = {"every": [5, 7]}
    tables = [sweep(Wandering, grid, {"BTCUSDC": part}, workers=0, progress=False) for part in (BARS, frame)]
    pd.testing.assert_frame_equal(*tables)
    assert optimise(Wandering, grid, {"BTCUSDC": frame}, workers=0, progress=False).best in ({"every": 5}, {"every": 7})
    (split, *_) = walk_forward(frame, train=30, test=10)
    pd.testing.assert_frame_equal(split.train(frame), TABLE[:30])
    assert data.check(of_polars(TABLE)).empty


def test_rates_of_funding_may_be_a_frame_of_polars() -> None:
    rates = pd.DataFrame({"time": pd.date_range("2026-01-01", periods=8, freq="8h", tz="UTC"), "rate": 0.0002})
    runs = [
        backtest(lambda ctx, bar: ctx.target(bar.symbol, "0.1"), {"BTCUSDC": BARS}, funding=given)
        for given in (rates, of_polars(rates), {"BTCUSDC": of_polars(rates)})
    ]
    assert len(runs[0].funding) == 7
    for run in runs[1:]:
        pd.testing.assert_frame_equal(run.funding, runs[0].funding)


def test_load_takes_frames_and_parquet_of_an_unnamed_index(tmp_path: Path) -> None:
    expected = data.load(BARS.rename_axis("time"))
    assert list(expected) == ["time", "open", "high", "low", "close", "volume"]
    unnamed = BARS.rename_axis(None)
    unnamed.to_parquet(tmp_path / "bars.parquet")
    pl.read_parquet(tmp_path / "bars.parquet").write_parquet(tmp_path / "again.parquet")
    for given in (unnamed, of_polars(TABLE), tmp_path / "bars.parquet", tmp_path / "again.parquet"):
        found = data.load(given, None if not isinstance(given, Path) else "parquet")
        pd.testing.assert_frame_equal(found, expected)
    again = backtest(Wandering(), {"BTCUSDC": pl.read_parquet(tmp_path / "bars.parquet")})
    pd.testing.assert_frame_equal(again.equity, backtest(Wandering(), {"BTCUSDC": BARS}).equity)


def test_a_frame_that_cannot_be_taken_says_what_would_pass() -> None:
    with pytest.raises(InputError, match=r"data is a LazyFrame, which is not computed yet. Pass data\.collect\(\)"):
        backtest(Wandering(), of_polars(TABLE).lazy())
    with pytest.raises(InputError, match=r"the index has no times\. Use a DatetimeIndex or a column 'time'"):
        backtest(Wandering(), {"BTCUSDC": of_polars(TABLE.drop(columns="time"))})
    with pytest.raises(InputError, match="close holds values that are not numbers"):
        backtest(Wandering(), {"BTCUSDC": of_polars(TABLE.assign(close="x"))})
    with pytest.raises(InputError, match=r"data is list\. Pass an OHLCV frame"):
        backtest(Wandering(), {"BTCUSDC": [1, 2]})


def test_what_is_no_table_of_another_library_stays_as_it_is() -> None:
    for given in (None, 3, "text", BARS, BARS["close"], np.zeros(3)):
        assert to_pandas(given) is given
