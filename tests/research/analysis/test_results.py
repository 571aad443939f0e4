"""Results: frames with fixed columns, parts that add up, saving and loading, one page to look at."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest

from toolkit.errors import InputError
from toolkit.research.analysis import results as module
from toolkit.research.analysis.results import EVENTS, FILLS, FUNDING, ORDERS, TRANSFERS, Results, frame


@pytest.mark.parametrize("schema", [FILLS, ORDERS, FUNDING, EVENTS, TRANSFERS])
def test_an_empty_frame_has_the_columns_and_dtypes_of_a_full_one(schema: dict[str, str]) -> None:
    empty = frame([], schema)
    assert {name: str(dtype) for name, dtype in empty.dtypes.items()} == {
        name: str(pd.Series(dtype=dtype).dtype) for name, dtype in schema.items()
    }


def test_what_was_saved_is_loaded(sample_results: Results, tmp_path: Path) -> None:
    folder = sample_results.save(tmp_path / "run")
    loaded = Results.load(folder)
    for name in module.FRAMES:
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(sample_results, name), check_freq=False)
    assert loaded.params == sample_results.params
    with pytest.raises(InputError, match=r"meta\.json is missing"):
        Results.load(tmp_path)


def test_a_run_without_a_trade_can_be_reported(sample_results: Results) -> None:
    index = sample_results.equity.index[:2]
    flat = pd.DataFrame({"equity": 100.0, "balance": 100.0, "unrealized": 0.0}, index=index)
    many = pd.DataFrame(0.0, index=index, columns=list("ABCDE"))
    Results("Idle", flat, many, many + 1).report().savefig(BytesIO())
