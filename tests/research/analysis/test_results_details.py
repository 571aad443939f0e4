"""The frames, texts and files of results at their bounds: what people read, and what comes back from a folder."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.research.analysis.small import HOURS, MARKS, A, B, ms, small_run
from toolkit.errors import InputError, StoredFileError
from toolkit.research import trials, vectorised
from toolkit.research.analysis import report_text
from toolkit.research.analysis.recipes import NotRepeatable, PackedRecipe, Recipe
from toolkit.research.analysis.results import EVENTS, TRANSFERS, Results, compare, frame, records_frame


@pytest.mark.parametrize(
    ("write", "shown"),
    [
        (
            report_text.percent,
            {
                0.0: "0.00%", 0.1234: "12.34%", -0.1234: "−12.34%", 5e-5: "0.01%", 4.99e-5: "0.005%", 1e-6: "0.0001%",
                9.9e-7: "0.00%", -2e-6: "−0.0002%", 99.999: "9,999.90%", 100.0: "1.0e+02", 12345.0: "1.2e+04",
            },
        ),
        (report_text.number, {1.0: "1.00", -1234.567: "−1,234.57", 0.0: "0.00"}),
        (
            report_text.usdc,
            {
                0.01: "0.01 USDC", 0.0099: "0.009900 USDC", 1e-6: "0.000001 USDC", 9e-7: "0.00 USDC",
                -0.005: "−0.005000 USDC", 1234.5: "1,234.50 USDC", 0.0: "0.00 USDC",
            },
        ),
    ],
)  # fmt: skip
def test_numbers_of_a_report_keep_what_matters_of_small_ones(
    write: Callable[[float], str], shown: dict[float, str]
) -> None:
    assert {value: write(value) for value in shown} == shown
    assert write(math.nan) == "–"


def test_lengths_of_time_are_in_the_unit_that_they_fill() -> None:
    shown = {
        "1000D": "2.7 years", "999D 23h": "1,000.0 days", "1D": "1.0 days", "23h 59min": "24.0 hours",
        "1h": "1.0 hours", "59min 54s": "59.9 minutes", "1s": "1 seconds", "20ms": "0.02 seconds",
        "36500D": "100.0 years",
    }  # fmt: skip
    assert {text: report_text.duration(pd.Timedelta(text)) for text in shown} == shown
    assert report_text.duration(pd.NaT) == "–"


def screen(monkeypatch: pytest.MonkeyPatch, run: Results, **luck: Any) -> dict[str, tuple[str, str]]:
    """Return the cards of the first screen, with some numbers of luck in place of the run's own, and the verdict."""
    found = run.luck()
    for name, value in luck.items():
        found[name] = value
    monkeypatch.setattr(Results, "luck", lambda self: found)
    html = report_text.first_screen(run)
    verdict, _, cards = html.partition('</p><div class="cards"><section><h2>')
    shown = {"verdict": (verdict.removeprefix('<p class="verdict">'), "")}
    for card in cards.removesuffix("</p></section></div>").split("</p></section><section><h2>"):
        title, _, rest = card.partition("</h2><strong>")
        value, _, text = rest.partition("</strong><p>")
        shown[title] = value, text
    return shown


def test_the_first_screen_of_a_profit_is_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equity grew by 50. Fees are 9 × 0.25 and funding received 6, so that costs are −3.75 of 46.25."""
    given = {"sharpe_low": 0.5, "sharpe_high": 2.0, "deflated_sharpe": 0.97, "trials": 1_234}
    shown = screen(monkeypatch, small_run(), **given, min_track_record=pd.Timedelta(days=12))
    assert shown == {
        "verdict": ("Luck alone hardly explains this result, if the audit finds nothing.", ""),
        "Return": ("5.00%", "50.00 USDC in 11.0 hours"),
        "Sharpe ratio, yearly": ("too short to annualise", "11 returns, each over 1.0 hours"),
        "Largest drawdown": ("−4.85%", "the longest took 6.0 hours"),
        "Costs": ("−8.11% of gross", "−3.75 USDC: fees 2.25 USDC, funding received 6.00 USDC"),
        "Not luck": (
            "97.00%",
            "chance of a true Sharpe ratio above 0, as the best of 1,234 trials, and 95 % needs 12.0 days",
        ),
        "Audit": ("not run", "Not audited: call run.audit() before the report."),
    }


@pytest.mark.parametrize(
    ("low", "high", "deflated", "said"),
    [
        (
            math.nan,
            1.0,
            0.5,
            "Too short to annualise, and to distinguish this result from luck: 7 days with 10 returns are needed.",
        ),
        (0.5, 1.0, math.nan, "Too few returns to distinguish this result from luck."),
        (
            -2.0,
            -0.01,
            0.5,
            "A loss that luck alone hardly explains: the whole interval of the Sharpe ratio is below 0.",
        ),
        (-2.0, 0.0, 0.5, "This may be luck: the interval of the Sharpe ratio contains 0."),
        (0.0, 0.0, 0.99, "This may be luck: the interval of the Sharpe ratio contains 0."),
        (0.01, 2.0, 0.9499, "This may be luck: the best of 7 trials can look as good without skill."),
        (0.01, 2.0, 0.95, "Luck alone hardly explains this result, if the audit finds nothing."),
        (1.5, 2.0, 0.99, "Luck alone hardly explains this result, if the audit finds nothing."),
    ],
)
def test_the_verdict_changes_at_these_bounds(
    monkeypatch: pytest.MonkeyPatch, low: float, high: float, deflated: float, said: str
) -> None:
    given = {"sharpe_low": low, "sharpe_high": high, "deflated_sharpe": deflated, "trials": 7}
    assert screen(monkeypatch, small_run(), **given)["verdict"][0] == said


def test_exposure_and_attribution_are_these_numbers() -> None:
    """AAA: sold 103 + 416, bought 200 + 101 + 52.5 + 52 + 50.5; 0.5 is held short at 99. BBB: 55 sold, 60 bought."""
    moved = [(ms(1), "LIQUIDATION_FEE", A, -0.5), (ms(2), "VAULT_FEE", "", 7.0), (ms(3), "REBATE", "CCC", 1.0)]
    run = small_run(transfers=frame(moved, TRANSFERS))
    rows = {A: [63.0 - 49.5, -1.75, -1.0, -0.5], B: [-5.0, -0.5, 7.0, 0.0], "ACCOUNT": [0.0, 0.0, 0.0, 8.0]}
    expected = pd.DataFrame.from_dict(rows, orient="index", columns=["price", "fees", "funding", "other"])
    expected = expected.assign(net=expected.sum(axis=1)).rename_axis("symbol")
    expected.loc["TOTAL"] = expected.sum()
    pd.testing.assert_frame_equal(run.attribution, expected)
    assert list(small_run().attribution.index) == [A, B, "TOTAL"], "no row of the account without its transfers"
    exposure = run.exposure
    assert list(exposure.columns) == [A, B, "net", "gross"]
    assert exposure.iloc[5].tolist() == [-210.0, -60.0, -270.0, 270.0]
    assert exposure.iloc[3].tolist() == [309.0, -55.0, 254.0, 364.0]
    empty = Results("None", *(getattr(run, name).iloc[:0] for name in ("equity", "positions", "marks")))
    assert empty.attribution.loc["TOTAL"].tolist() == [0.0] * 5
    begun_held = small_run(positions=run.positions.assign(BBB=-5.0))
    assert begun_held.attribution.loc[B, "price"] == pytest.approx(-5 - 62.5 + 50)


def test_growth_leaves_out_what_was_paid_in_and_withdrawn() -> None:
    """Two deposits at 02:00 and one between 03:00 and 04:00; a fee is no deposit."""
    moved = [
        (ms(2), "DEPOSIT", "", 600.0), (ms(2), "FAUCET", "", 400.0), (ms(3.5), "WITHDRAW", "", -500.0),
        (ms(5), "LIQUIDATION_FEE", A, -100.0),
    ]  # fmt: skip
    equity = [1_000.0, 1_100, 2_100, 4_200, 3_700, 1_850]
    table = pd.DataFrame({"equity": equity, "balance": equity, "unrealized": 0.0}, HOURS[:6])
    still = pd.DataFrame(1.0, HOURS[:6], [A])
    run = small_run(equity=table, positions=still, marks=still, transfers=frame(moved, TRANSFERS))
    assert run.growth.tolist() == pytest.approx([1_000.0, 1_100, 1_100, 2_200, 2_200, 1_100])
    assert run.drawdown.iloc[-1] == pytest.approx(-0.5)
    assert run.measures()["total_return"] == pytest.approx(0.1)
    pd.testing.assert_series_equal(small_run().growth, small_run().equity["equity"])


def test_records_are_the_last_values_of_each_time() -> None:
    assert records_frame([]).empty
    found = records_frame([(ms(2), {"a": 1.0}), (ms(1), {"b": 5.0}), (ms(2), {"a": 2.0, "b": 3.0})])
    assert found.index.tolist() == [HOURS[1], HOURS[2]]
    assert found["a"].tolist() == [pytest.approx(math.nan, nan_ok=True), 2.0]
    assert found["b"].tolist() == [5.0, 3.0]


def test_a_run_is_written_in_one_line() -> None:
    run = small_run(events=frame([], EVENTS))
    assert (
        repr(run)
        == "Results('Small', 2026-01-01 00:00 to 2026-01-01 11:00, 1,000.00 → 1,050.00 USDC (+5.00%), 9 fills)"
    )
    refused = small_run(events=frame([(ms(1), "REJECTED", A, "no")], EVENTS))
    assert repr(refused).endswith("9 fills; rejected: 1 of 6 orders, the first: no)")
    empty = Results("Void", *(getattr(run, name).iloc[:0] for name in ("equity", "positions", "marks")))
    assert repr(empty) == "Results('Void', empty)"
    with pytest.raises(AttributeError, match="'Results' object has no attribute 'equty'"):
        run.equty  # noqa: B018


def test_runs_are_compared_under_the_names_of_their_parameters() -> None:
    run, plain = small_run(), small_run(params={})
    table = compare([run, plain, run, run, plain])
    names = ["Small(n=2, m=x)", "Small", "Small(n=2, m=x) #2", "Small(n=2, m=x) #3", "Small #2"]
    assert list(table.columns) == names
    assert (table.index.name, table.columns.name) == ("measure", "run")
    pd.testing.assert_series_equal(table["Small"], run.metrics(), check_names=False)
    assert list(compare({"x": run}).columns) == ["x"]
    for nothing in ([], {}):
        none = compare(nothing)
        assert (none.shape, none.index.name, none.columns.name) == ((0, 0), "measure", "run")
    for wrong in ([5], {"x": 5}):
        with pytest.raises(InputError, match="runs is 5"):
            compare(wrong)


def test_the_trial_of_a_run_is_measured_once_and_only_with_the_usual_settings() -> None:
    trials.clear()
    days = pd.date_range("2026-01-01", periods=12, freq="D", tz="UTC")
    run = vectorised({A: pd.DataFrame({"close": MARKS[A]}, days)}, [1.0, -1.0] * 6)
    assert (len(trials), trials.frame()["sharpe"].isna().all()) == (1, True)
    run.measures("2h")
    run.measures(risk_free=0.5)
    run.measures("2h", 0.5)
    assert trials.frame()["sharpe"].isna().all()
    found = run.metrics()
    assert trials.frame()["sharpe"].tolist() == [found["sharpe"]]
    assert (found.name, found.dtype) == ("metrics", "object")
    pd.testing.assert_series_equal(found[:-5], pd.Series(run.measures()), check_names=False)
    assert list(found.index[-5:]) == ["rejected", "cut", "found_nothing", "unprotected", "shortfall"]
    assert run.metrics("2h")["sharpe"] != found["sharpe"] != run.metrics(risk_free=0.5)["sharpe"]
    trials.clear()
    vectorised({A: pd.DataFrame({"close": MARKS[A]}, days)}, [1.0, -1.0] * 6).luck()
    assert trials.frame()["sharpe"].notna().all(), "luck measures the run first"
    trials.clear()


class Told:
    """A recipe that notes what it is asked for, and makes what it was given."""

    def __init__(self, made: Results) -> None:
        self.made, self.asked = made, list[Any]()

    def __call__(self, **given: Any) -> Results:
        self.asked.append(given)
        return self.made


def test_a_run_that_is_made_again_warns_only_where_the_same_run_has_other_fills() -> None:
    told = Told(small_run())
    run = small_run()
    run.keep_recipe(Recipe(told, {"a": 1, "b": 2}), {"seed": 1, "a": 1})
    assert run.settings == {"seed": 7, "a": 1}, "what the run says of itself comes before its arguments"
    told.made.keep_recipe(NotRepeatable("never"), {"a": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run.rerun() is told.made
        told.made = small_run(fills=run.fills.iloc[:3], settings=run.settings)
        assert run.rerun(b=3, c=4) is told.made
        told.made = small_run(fills=run.fills.iloc[:3], settings={"other": 1})
        run.rerun()
    assert told.asked == [{"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}, {"a": 1, "b": 2}]
    told.made = small_run(fills=run.fills.iloc[:3], settings=run.settings)
    with pytest.warns(UserWarning, match="is not deterministic") as seen:
        run.rerun()
    assert str(seen[0].message) == (
        "Small is not deterministic: the same run has 3 fills after 9, or others. "
        "Look for randomness without a seed, times and sets"
    )
    assert seen[0].filename == __file__, "it names the line that asked"


def test_a_folder_has_these_files_and_a_second_run_replaces_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    run = small_run()
    run.keep_recipe(Recipe(Results, {"name": "x"}), {})
    assert run.save(str(folder)) == folder
    names = ["equity", "positions", "marks", "fills", "orders", "funding", "transfers", "events", "records"]
    assert sorted(os.listdir(folder)) == sorted([*(f"{name}.parquet" for name in names), "meta.json", "recipe.pickle"])
    first = json.loads((folder / "meta.json").read_bytes())
    assert first["run"] == {"name": "Small", "params": {"n": 2, "m": "x"}, "settings": {"seed": 7}}
    assert len(first["header"]["identity"]) == 16
    loaded = Results.load(str(folder))
    assert isinstance(loaded.recipe, PackedRecipe)
    loaded.save(tmp_path / "again")
    again = Results.load(tmp_path / "again")
    assert isinstance(again.recipe, PackedRecipe)
    assert again.recipe.python == loaded.recipe.python
    small_run().save(folder)
    assert not (folder / "recipe.pickle").exists(), "a run without a recipe leaves none of another run"
    assert isinstance(Results.load(folder).recipe, NotRepeatable)
    (folder / "fills.parquet").unlink()
    with pytest.raises(StoredFileError, match=r"fills\.parquet \(results\): it is missing"):
        Results.load(folder)
    with pytest.raises(InputError, match=r"nowhere has no saved results \(meta\.json is missing\)"):
        Results.load(tmp_path / "nowhere")


def test_a_report_is_written_in_the_form_that_the_name_ends_with(tmp_path: Path) -> None:
    run = small_run()
    for name, begins in (("a.HTML", "<!doctype html>"), ("c.svg", "<?xml")):
        path = run.report(str(tmp_path / name))
        assert path == tmp_path / name
        assert path.read_text(encoding="utf-8").startswith(begins)
    assert "#14181f" not in (tmp_path / "c.svg").read_text()
    assert "#14181f" in run.report(tmp_path / "d.svg", dark=True).read_text()


@pytest.mark.parametrize("given", [[small_run(name="Other")], {"Other(n=2, m=x)": small_run()}])
def test_a_page_compares_runs_of_a_list_by_their_own_names(given: Any) -> None:
    assert "<th>Other(n=2, m=x)</th>" in small_run().page(against=given).html[-200_000:]


def test_a_run_without_a_trade_can_be_reported(sample_results: Results) -> None:
    index = sample_results.equity.index[:2]
    flat = pd.DataFrame({"equity": 100.0, "balance": 100.0, "unrealized": 0.0}, index=index)
    many = pd.DataFrame(0.0, index=index, columns=list("ABCDE"))
    Results("Idle", flat, many, many + 1).report().savefig(BytesIO())


@pytest.mark.parametrize(
    ("name", "ours"),
    [("stats", "run.metrics()"), ("plot", "run.page()"), ("trades", "run.round_trips"), ("returns", "sampled_returns")],
)
def test_names_of_other_libraries_answer_with_ours(name: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'\. Use .*{re.escape(ours)}"):
        getattr(small_run(), name)


def test_a_run_is_one_card_in_a_notebook() -> None:
    html = small_run()._repr_html_()
    for text in ("<svg", "5.00%", "−4.85%", "too short to annualise: 11 returns, each over 1.0 hours", "not audited"):
        assert text in html
    assert small_run(equity=small_run().equity[:1])._repr_html_().startswith("<code>Results(")
