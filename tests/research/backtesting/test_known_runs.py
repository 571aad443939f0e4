"""The same seed gives the same run, to the last unit, in runs in which a strategy does everything it can.

A change of these numbers is a change of what a backtest does: of order rules, matching, models, funding or the order of
events. Compare the story before and after (`known_runs.story_of(name, seed)[0]`). Only if each difference is meant,
renew the row, and the totals with `python -m tests.research.backtesting.known_runs`.
"""

from __future__ import annotations

import math

import pandas as pd
import pytest

from tests.research.backtesting.known_runs import CASES, read_totals, story_of, totals_of
from toolkit.research import metrics

KNOWN = {
    ("defaults", 1): (29, 0, "10250.125957"),
    ("shares of the volume", 1): (38, 0, "10848.720562"),
    ("touched, far first, late", 1): (38, 0, "9823.641178"),
    ("little money", 1): (25, 0, "2642.667375"),
    ("little money", 2): (22, 1, "40.114598"),
    ("nearly no money", 1): (7, 1, "76.843051"),
    ("little money, two symbols", 1): (30, 0, "1566.106571"),
    ("gaps, own fees and rates", 1): (18, 0, "10678.204082"),
    ("own product, no funding", 1): (37, 0, "10455.792125"),
    ("orders wait for a price", 1): (19, 0, "10286.980288"),
}
"""Case and seed → fills, liquidations and the equity at the end."""

FIRST_FILLS = """
fills (0 2026-01-01 02:00:00+00:00 BTCUSDC BUY 60577.5 0.05 3028.875 1.817325 0 TAKER MARKET 1)
fills (1 2026-01-01 04:00:00+00:00 AAA BUY 20.03 5 100.15 0.06009 0 TAKER MARKET 2)
fills (2 2026-01-01 08:00:00+00:00 BTCUSDC SELL 61073.8 0.05 3053.69 1.832214 24.815 TAKER MARKET 4)
fills (3 2026-01-01 13:00:00+00:00 BTCUSDC BUY 60247.1 0.133 8012.8643 4.807719 0 TAKER MARKET 5)
fills (4 2026-01-01 17:00:00+00:00 AAA SELL 20.77 75.5 1568.135 0.940881 3.7 TAKER MARKET 8)
fills (5 2026-01-01 20:00:00+00:00 AAA BUY 20.75 70.5 1462.875 0.877725 1.41 TAKER LIMIT 11)
"""
"""The first fills of "defaults", seed 1: time, symbol, side, price, quantity, value, fee, profit, role, type, order."""


@pytest.mark.filterwarnings("ignore:BTCUSDC. .* funding settlements have no rate")
@pytest.mark.parametrize(("name", "seed"), list(KNOWN))
def test_a_run_tells_the_same_story_as_ever(name: str, seed: int) -> None:
    lines, run = story_of(name, seed)
    liquidated = int((run.events["kind"] == "LIQUIDATION").sum())
    end = f"{run.equity['equity'].iloc[-1]:.6f}"
    assert (len(run.fills), liquidated, end) == KNOWN[name, seed]
    assert totals_of(lines) == read_totals()[f"{name} {seed}"]
    if (name, seed) == ("defaults", 1):
        fills = [line for line in lines if line.startswith("fills ")]
        assert fills[:6] == FIRST_FILLS.strip().splitlines()
    # The measures come from the arrays of the run, which must be those of its frames.
    own = run.measures()
    own.pop("unproven", None)  # of the data, not of the curve
    framed = metrics.summary(run.growth, run.fills, run.funding, run.exposure["gross"]).to_dict()
    for measure, value in own.items():
        if isinstance(value, float) and math.isfinite(value):
            assert value == pytest.approx(framed[measure], rel=1e-9, abs=1e-9), measure
        else:
            assert value == framed[measure] or (pd.isna(value) and pd.isna(framed[measure])), measure
    net = run.attribution.loc["TOTAL", "net"]
    assert net == pytest.approx(run.equity["equity"].iloc[-1] - run.equity["equity"].iloc[0], abs=1e-6)


def test_every_case_has_its_known_runs() -> None:
    assert {name for name, _ in KNOWN} == set(CASES)
    assert {f"{name} {seed}" for name, seed in KNOWN} == set(read_totals())
    assert sum(found[1] for found in KNOWN.values()) > 1, "some are liquidated"
