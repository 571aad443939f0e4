"""Fixtures of the research tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from toolkit.research.analysis.results import Results
from toolkit.research.backtesting.arrays import vectorised


@pytest.fixture(scope="session")
def sample_results() -> Results:
    """A run with flips, funding and a flat end."""
    rng = np.random.default_rng(5)
    rows = 600
    index = pd.date_range("2026-01-01", periods=rows, freq="h", tz="UTC")
    close = 60_000 * np.exp(np.cumsum(rng.normal(0, 0.004, rows)))
    data = pd.DataFrame({"close": close}, index=index)
    targets = np.repeat(rng.integers(-1, 2, rows // 20) * 0.1, 20)
    targets[-20:] = 0.0
    return vectorised({"BTCUSDC": data}, targets, funding=0.0001, name="Sample", params={"n": 20})
