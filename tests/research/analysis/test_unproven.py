"""What nothing proves of a run's data is said wherever its result is shown, or refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit.errors import InputError
from toolkit.research import History, backtest, data, paper, vectorised, walk_forward
from toolkit.research.strategy import Strategy


class Once(Strategy):
    def __init__(self, size: float = 0.01) -> None:
        self.size = size

    def on_bar(self, ctx: Any, bar: Any) -> None:
        if not ctx.position(bar.symbol):
            ctx.buy(bar.symbol, self.size)


@pytest.fixture(scope="module")
def candles() -> pd.DataFrame:
    with toolkit.connect(clock="manual", market="calm") as session:
        session.venue.advance("90s")
        return session.klines("BTCUSDC", "1m", start="2h")


def from_file(frame: pd.DataFrame) -> pd.DataFrame:
    frame.drop(frame.index[20:23]).drop(columns="symbol").to_csv("gap.csv")
    loaded: pd.DataFrame = data.load("gap.csv", progress=False)
    return loaded


def two_symbols(frame: pd.DataFrame) -> pd.DataFrame:
    other = frame.drop(frame.index[40:42]).assign(symbol="ETHUSDC")
    both = pd.concat([frame.iloc[:-1], other.iloc[:-1]])
    both.attrs = dict(frame.attrs)
    return both


FORMING = ["BTCUSDC", "forming", 1]
CASES: dict[str, tuple[Callable[[pd.DataFrame], Any], list[list[Any]]]] = {
    "proven": (lambda frame: frame.iloc[:-1], []),
    "a slice": (lambda frame: frame.iloc[5:50], []),
    "still changing": (lambda frame: frame, [FORMING]),
    "dropped since": (lambda frame: frame.drop(frame.index[[5, 6, 30]]),
                      [["BTCUSDC", "missing", 2], ["BTCUSDC", "missing", 1], FORMING]),
    "a file": (from_file, [["ASSET", "missing", 3]]),
    "one of two symbols": (two_symbols, [["ETHUSDC", "missing", 2]]),
    "nothing known": (lambda frame: pd.DataFrame(frame.drop(frame.index[5]).to_dict("series")), []),
    "a history": (lambda frame: History({"BTCUSDC": frame.iloc[:-1].drop(frame.index[7])}),
                  [["BTCUSDC", "missing", 1]]),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_bars_that_nothing_proves_are_named(
    case: str, candles: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, expected = CASES[case]
    given = make(candles)
    run = backtest(Once, given)
    assert run.unproven[["symbol", "what", "count"]].to_numpy().tolist() == expected
    total = sum(row[2] for row in expected)
    assert run.metrics().get("unproven", 0) == total
    shown = [repr(run), run._repr_html_(), run.unproven_in_short()]
    words = {"missing": r"bar(s are| is) missing, the first from", "forming": r"bars? may still change, the first from"}
    for text in shown:
        said = {name for name, pattern in words.items() if re.search(pattern, text)}
        assert said == {row[1] for row in expected} & set(words)
    if not expected:
        assert backtest(Once, given, unproven="refuse").fills.equals(run.fills)
        return
    refused = r"unproven='refuse' was given\. Load what is missing, cut the data, or pass unproven='mark'"
    with pytest.raises(InputError, match=refused):
        backtest(Once, given, unproven="refuse")
    assert backtest(Once, given, unproven="mark").fills.equals(run.fills)


def test_what_is_not_proven_is_in_the_audit_the_report_and_what_is_saved(candles: pd.DataFrame, tmp_path: Path) -> None:
    run = backtest(Once, candles)
    assert bool(run.audit().loc["gaps", "found"])
    assert "not all proven" in run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    run.save(tmp_path / "kept")
    assert type(run).load(tmp_path / "kept").unproven.equals(run.unproven)


def test_settlements_without_a_rate_and_folds_of_a_walk_forward_are_named_too(candles: pd.DataFrame) -> None:
    rates = pd.Series(1e-5, candles.index[0].ceil("10min") + pd.Timedelta("10min") * pd.Index([0, 1, 2, 6, 7, 8, 9]))
    with pytest.warns(UserWarning, match="5 funding settlements have no rate"):
        run = backtest(Once, candles.iloc[:-1], funding={"BTCUSDC": rates})
    assert run.unproven[["what", "count"]].to_numpy().tolist() == [["funding", 3], ["funding", 2]]
    assert vectorised(candles, pd.Series(0.01, candles.index)).unproven["what"].tolist() == ["forming"]
    found = walk_forward(Once, {"size": [0.01]}, candles.drop(candles.index[[70, 71]]), train=40, test=20, workers=1)
    assert found.results.unproven[["what", "count"]].to_numpy().tolist() == [["missing", 2]]


def test_dropped_rows_are_no_quiet_ones(candles: pd.DataFrame) -> None:
    kept = candles.drop(candles.index[[5, 6, 30]])
    assert data.check(kept)[["problem", "count"]].to_numpy().tolist() == [["gap", 2], ["gap", 1], ["forming", 1]]


def test_a_run_on_a_venue_has_all_its_bars() -> None:
    assert paper(Once, ["BTCUSDC"], duration="20m").unproven.empty
    with pytest.raises(InputError, match="unproven is 'ignore', not mark or refuse"):
        backtest(Once, pd.DataFrame(), unproven="ignore")  # type: ignore[arg-type]
