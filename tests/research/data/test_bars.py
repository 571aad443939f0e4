"""Bars of any common shape come out the same, and broken ones are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from toolkit.errors import InputError
from toolkit.research.data.bars import read_bars

INDEX = pd.date_range("2026-01-01", periods=4, freq="h", tz="UTC")
FRAME = pd.DataFrame(
    {"open": [1.0, 2, 3, 4], "high": [2.0, 3, 4, 5], "low": [0.5, 1, 2, 3], "close": [2.0, 3, 4, 5], "volume": 9.0},
    index=INDEX,
)


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        FRAME.set_axis([name.upper() for name in FRAME], axis=1),
        FRAME.tz_localize(None),
        FRAME.tz_convert("Asia/Tokyo"),
        FRAME.reset_index(names="time"),
        FRAME.assign(time=[f"2026-01-01T0{at + at // 2}:00+0{at // 2}:00" for at in range(4)]),
        FRAME.assign(timestamp=INDEX.as_unit("s").asi8).reset_index(drop=True),
        FRAME.assign(timestamp=INDEX.as_unit("ms").asi8).reset_index(drop=True),
        {"ASSET": FRAME},
        FRAME.assign(symbol="ASSET"),
    ],
    ids=[
        "plain",
        "upper case",
        "naive",
        "other zone",
        "column",
        "texts of two zones",
        "seconds",
        "milliseconds",
        "mapping",
        "long",
    ],
)
def test_every_shape_gives_the_same_bars(data: Any) -> None:
    bars = read_bars(data)["ASSET"]
    assert bars.interval == 3_600_000
    assert bars.opened.tolist() == INDEX.as_unit("ms").asi8.tolist()
    assert bars.closed[0] == bars.opened[1]
    for name in FRAME:
        assert getattr(bars, name).tolist() == FRAME[name].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"close": np.nan}, "ASSET: close at 2026-01-01 02:00:00[+]00:00 is nan, but must be a positive number"),
        ({"low": -1.0}, "low at 2026-01-01 02:00:00[+]00:00 is -1.0"),
        ({"close": 50.0}, "close at 2026-01-01 02:00:00[+]00:00 is 50.0, but must be within low and high"),
    ],
)
def test_broken_prices_are_named_with_their_time(change: dict[str, float], message: str) -> None:
    broken = FRAME.copy()
    broken.loc[INDEX[2], list(change)] = list(change.values())
    with pytest.raises(InputError, match=message):
        read_bars(broken)


def test_times_must_run_forward() -> None:
    with pytest.raises(InputError, match=r"2026-01-01 01:00:00.*is not after the previous one"):
        read_bars(FRAME.iloc[[0, 2, 1]])
    with pytest.raises(InputError, match="Pass interval="):
        read_bars(FRAME.iloc[:1])
    assert read_bars(FRAME.iloc[:1], interval="1h")["ASSET"].interval == 3_600_000
    with pytest.raises(InputError, match="index has no times"):
        read_bars(FRAME.reset_index(drop=True))
    with pytest.raises(InputError, match="data is int"):
        read_bars(5)


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        (FRAME.set_axis([*INDEX[:3], pd.NaT], axis=0), {}, "a time is missing"),
        (FRAME.reset_index(drop=True).assign(time=[1.0, 2.0, np.nan, 4.0]), {}, "a time is missing"),
        (FRAME.assign(Close=1.0), {}, "the column 'close' occurs twice"),
        ({"A": FRAME.assign(Close=1.0)}, {}, "A: a frame of bars has one column 'close'"),
        ({"A": FRAME.drop(columns="close")}, {}, "A: a frame of bars has one column 'close'"),
        (pd.concat({"BTC": pd.concat({"x": FRAME}, axis=1)}, axis=1), {}, "several levels"),
        (FRAME.astype(object).replace(5.0, "many"), {}, "close holds values that are not numbers"),
        (FRAME.assign(volume=np.inf), {}, "volume at .* must be a number that is not negative"),
        (FRAME.assign(volume=-1.0), {}, "volume at .* must be a number that is not negative"),
        (FRAME, {"interval": "4h"}, "apart can't be 0 days 04:00:00 long"),
    ],
)
def test_what_can_not_be_bars_is_said_in_words(data: Any, options: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        read_bars(data, **options)
