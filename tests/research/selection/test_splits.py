"""Walk-forward splits never let a test row into its own training part."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.research.markets import walk
from toolkit.errors import InputError
from toolkit.research import walk_forward

INDEX = pd.date_range("2026-01-01", periods=100, freq="D", tz="UTC")


@given(
    train=st.integers(1, 12),
    test=st.integers(1, 7),
    step=st.none() | st.integers(1, 10),
    gap=st.integers(0, 5),
    anchored=st.booleans(),
)
def test_training_always_ends_before_the_test_begins(
    train: int, test: int, step: int | None, gap: int, anchored: bool
) -> None:
    frame = pd.DataFrame({"row": range(24)}, index=INDEX[:24])
    splits = walk_forward(frame, train=train, test=test, step=step, gap=gap, anchored=anchored)
    for number, split in enumerate(splits):
        past, future = split.train(frame)["row"], split.test(frame)["row"]
        assert split.number == number
        assert past.iloc[-1] + gap + 1 == future.iloc[0]
        assert len(future) == test
        assert len(past) == (train if not anchored else train + number * (test if step is None else step))
    if step is None:
        judged = [row for split in splits for row in split.test(frame)["row"]]
        assert len(judged) == len(set(judged))


def test_lengths_of_time_and_rows_agree_on_even_bars() -> None:
    assert walk_forward(INDEX, train="30D", test="10D") == walk_forward(INDEX, train=30, test=10)
    assert walk_forward(INDEX, train="30D", test="10D", gap="2D", step="20D") == walk_forward(
        INDEX, train=30, test=10, gap=2, step=20
    )


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
