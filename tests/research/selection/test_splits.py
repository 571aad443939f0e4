"""Walk-forward splits never let a test row into its own training part."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import walk
from toolkit.errors import InputError
from toolkit.research import walk_forward


def test_sizes_may_come_from_numpy_and_must_be_whole() -> None:
    index = pd.date_range("2026-01-01", periods=20, freq="h", tz="UTC")
    assert walk_forward(index, train=np.int64(10), test=np.int64(5)) == walk_forward(index, train=10, test=5)
    for size in (10.0, "ten"):
        with pytest.raises(InputError, match=r"Give rows .* or a length of time"):
            walk_forward(index, train=size, test=5)


def test_times_may_stand_in_a_column_as_in_a_backtest() -> None:
    frame = walk(3, 60, every="D")
    column = frame.rename_axis("time").reset_index()
    long = pd.concat([column.assign(symbol=name) for name in ("A", "B")])
    plain = walk_forward(frame, train=30, test=10)
    for data in (column, long, {"A": column}, column.assign(time=column["time"].astype("int64"))):
        splits = walk_forward(data, train=30, test=10)
        assert [(s.train_from, s.test_from, s.test_until) for s in splits] == [
            (s.train_from, s.test_from, s.test_until) for s in plain
        ]
        part = splits[1].test(data["A"] if isinstance(data, dict) else data, warm_up=5)
        assert len(part) == (30 if data is long else 15)
