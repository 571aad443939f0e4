"""Panes: what is drawn looks like what was given."""

from __future__ import annotations

import pandas as pd

from toolkit.pictures.panes import thin_line


def test_thinning_keeps_ends_and_extremes() -> None:
    line = pd.Series(range(50_000), dtype="float64") % 997
    line.iloc[12_345] = 5000.0
    thin = thin_line(line)
    assert len(thin) <= 4100
    assert thin.max() == 5000.0
    assert thin.index[0] == 0
    assert thin.index[-1] == 49_999
