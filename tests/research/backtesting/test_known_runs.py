"""The same seed gives the same run, to the last unit, in runs in which a strategy does everything it can.

A change of these numbers is a change of what a backtest does: of order rules, matching, models, funding or the order of
events. Compare the story before and after (`known_runs.story_of(name, seed)[0]`), and renew the row only if each
difference is meant. The last numbers are `known_runs.Work`: where only they change, the run is quicker or slower.
"""

from __future__ import annotations

import hashlib
import math

import pandas as pd
import pytest

from tests.research.backtesting.known_runs import CASES, story_of
from toolkit.research import metrics

KNOWN = {
    ("defaults", 1): (1858, 29, 0, "10250.125957", "e85355efc918", (45, 134, 315, 10, 167, 60, 9, 9, 567)),
    ("defaults", 2): (1964, 44, 0, "10600.111476", "de4eda47dbe4", (52, 202, 449, 8, 251, 79, 10, 10, 679)),
    ("shares of the volume", 1): (1969, 38, 0, "10848.720562", "e8ae523a8043", (48, 291, 601, 10, 365, 97, 0, 0, 790)),
    ("shares of the volume", 2): (1982, 44, 0, "9937.650545", "62093d2490ac", (57, 350, 661, 10, 426, 112, 0, 0, 860)),
    ("touched, far first, late", 1): (
        2051,
        32,
        0,
        "10327.553672",
        "51669fd3bcd9",
        (57, 382, 716, 8, 462, 123, 7, 7, 855),
    ),
    ("touched, far first, late", 2): (
        1943,
        39,
        0,
        "10498.371271",
        "f9cf0ef12b5b",
        (60, 331, 532, 5, 395, 115, 15, 15, 817),
    ),
    ("little money", 1): (1920, 25, 0, "2642.667375", "da0e11238717", (73, 16, 114, 0, 4, 76, 9, 9, 455)),
    ("little money", 2): (1840, 22, 1, "40.114598", "33ff3cec3480", (67, 18, 102, 0, 5, 67, 5, 5, 407)),
    ("nearly no money", 1): (783, 7, 1, "76.843051", "bd9bf377dcdf", (30, 2, 43, 0, 1, 31, 3, 3, 185)),
    ("nearly no money", 2): (796, 11, 0, "167.847430", "f30b4d92beee", (28, 9, 48, 0, 2, 28, 2, 2, 174)),
    ("little money, two symbols", 1): (
        1841,
        30,
        0,
        "1566.106571",
        "5f12c7f288a7",
        (46, 187, 320, 13, 241, 72, 15, 15, 642),
    ),
    ("little money, two symbols", 2): (
        1841,
        28,
        0,
        "854.157633",
        "08432252b82e",
        (48, 184, 316, 11, 223, 69, 12, 12, 654),
    ),
    ("gaps, own fees and rates", 1): (
        1251,
        18,
        0,
        "10678.204082",
        "f59380c9505c",
        (43, 80, 173, 5, 102, 60, 9, 9, 350),
    ),
    ("gaps, own fees and rates", 2): (
        1229,
        16,
        0,
        "10528.443061",
        "838181a21fd5",
        (42, 80, 185, 12, 99, 64, 0, 0, 331),
    ),
    ("own product, no funding", 1): (
        1869,
        37,
        0,
        "10455.792125",
        "07154d7cd495",
        (39, 159, 323, 18, 188, 58, 10, 10, 613),
    ),
    ("own product, no funding", 2): (
        1912,
        43,
        0,
        "10527.717351",
        "b122d02b7634",
        (47, 185, 392, 9, 217, 71, 10, 10, 635),
    ),
    ("orders wait for a price", 1): (
        1357,
        19,
        0,
        "10286.980288",
        "587d90a379bf",
        (34, 95, 217, 20, 135, 63, 0, 0, 435),
    ),
    ("orders wait for a price", 2): (
        1376,
        22,
        0,
        "10119.407146",
        "9d704924ed09",
        (41, 132, 303, 12, 171, 71, 0, 0, 418),
    ),
}
"""Case and seed → lines of the story, fills, liquidations, equity at the end, begin of the story's SHA-256, work."""

FIRST_FILLS = """
fills (0 2026-01-01 02:00:00+00:00 BTCUSDC BUY 60577.5 0.05 3028.875 1.817325 0 TAKER MARKET 1)
fills (1 2026-01-01 04:00:00+00:00 AAA BUY 20.03 5 100.15 0.06009 0 TAKER MARKET 2)
fills (2 2026-01-01 08:00:00+00:00 BTCUSDC SELL 61073.8 0.05 3053.69 1.832214 24.815 TAKER MARKET 4)
fills (3 2026-01-01 13:00:00+00:00 BTCUSDC BUY 60247.1 0.133 8012.8643 4.807719 0 TAKER MARKET 5)
fills (4 2026-01-01 17:00:00+00:00 AAA SELL 20.77 75.5 1568.135 0.940881 3.7 TAKER MARKET 8)
fills (5 2026-01-01 20:00:00+00:00 AAA BUY 20.75 70.5 1462.875 0.877725 1.41 TAKER LIMIT 11)
"""
"""The first fills of "defaults", seed 1: time, symbol, side, price, quantity, value, fee, profit, role, type, order."""


@pytest.mark.parametrize(("name", "seed"), list(KNOWN))
def test_a_run_tells_the_same_story_as_ever(name: str, seed: int) -> None:
    lines, run, work = story_of(name, seed)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    liquidated = int((run.events["kind"] == "LIQUIDATION").sum())
    end = f"{run.equity['equity'].iloc[-1]:.6f}"
    assert (len(lines), len(run.fills), liquidated, end, digest, work) == KNOWN[name, seed]
    if (name, seed) == ("defaults", 1):
        fills = [line for line in lines if line.startswith("fills ")]
        assert fills[:6] == FIRST_FILLS.strip().splitlines()
    # The measures come from the arrays of the run, which must be those of its frames.
    own = run.measures()
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
    assert sum(found[2] for found in KNOWN.values()) > 1, "some are liquidated"
