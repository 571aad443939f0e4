"""What a session reads: long reads over a failing wire, candles in windows and from the cache, the product list."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit.errors import DataWarning, InputError, MalformedRequest
from toolkit.numerals import moment
from toolkit.session import Session
from toolkit.venue.local import LocalVenue


@pytest.fixture(scope="module")
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual") as made, toolkit.connect(venue=made) as session:
        made.advance("3m")
        for number in range(12):
            session.buy("BTCUSDC" if number % 2 else "ETHUSDC", "0.02")
            made.advance("20s")
        session.buy("BTCUSDC", "0.01", price="50000")
        made.advance("40s")
        yield made


@pytest.fixture
def session(venue: LocalVenue) -> Iterator[Session]:
    with toolkit.connect(venue=venue) as made:
        yield made


# Long reads.


def test_the_awaited_twin_reads_the_same(venue: LocalVenue) -> None:
    session = toolkit.connect(venue=venue)

    async def read() -> list[pd.DataFrame]:
        aio = session.aio
        return [await aio.fills(), await aio.orders(open=True), await aio.klines("BTCUSDC", "1m", limit=5)]

    fills, orders, klines = asyncio.run(read())
    pd.testing.assert_frame_equal(fills, session.fills())
    pd.testing.assert_frame_equal(orders, session.orders(open=True))
    pd.testing.assert_frame_equal(klines, session.klines("BTCUSDC", "1m", limit=5))


# Rate limits.


# Candles.


@pytest.mark.parametrize("interval", ["1M", "12M"])
def test_months_are_refused_and_never_minutes(session: Session, interval: str) -> None:
    with pytest.raises(InputError, match=r"M would be months, which differ in length\. Minutes are m"):
        session.klines("BTCUSDC", interval)
    assert len(session.klines("BTCUSDC", "1H", limit=2)) == 2


def test_a_damaged_cache_file_counts_as_empty_and_is_named(session: Session, tmp_path: Path) -> None:
    window = ("2025-12-31T00:00", "2025-12-31T01:00")
    whole = session.klines("BTCUSDC", "5m", *window, cache=tmp_path)
    (file,) = tmp_path.glob("*.parquet")
    flipped = bytearray(file.read_bytes())
    flipped[len(flipped) // 3] ^= 1
    for damage in (b"", b"not parquet", file.read_bytes()[:-20], bytes(flipped)):
        file.write_bytes(damage)
        with pytest.warns(DataWarning, match=re.escape(str(file))) as caught:
            pd.testing.assert_frame_equal(session.klines("BTCUSDC", "5m", *window, cache=tmp_path), whole)
        assert [one.filename for one in caught] == [__file__], "it names the user's line"


@pytest.mark.parametrize("other", [{"market": "stressed"}, {"seed": 7}])
def test_a_cache_never_gives_the_candles_of_another_market(tmp_path: Path, other: dict[str, Any]) -> None:
    """The last case has the same genesis, and another price by hand."""

    def read(cache: Path | None, jump: str | None, **options: Any) -> pd.DataFrame:
        with LocalVenue(clock="manual", **options) as venue, toolkit.connect(venue=venue) as session:
            if jump is not None:
                venue.control.set_oracle("BTCUSDC", jump)
            venue.advance("20m")
            return session.klines("BTCUSDC", "1m", limit=15, cache=cache)

    read(tmp_path, None, seed=7)
    jump = "70000" if other == {"seed": 7} else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        cached = read(tmp_path, jump, **other)
    pd.testing.assert_frame_equal(cached, read(None, jump, **other))


def test_candles_are_complete_where_the_cache_cannot_be_written(session: Session, tmp_path: Path) -> None:
    window = ("2025-12-31T00:00", "2025-12-31T01:00")
    (tmp_path / "taken").write_text("a file where the directory should be")
    with pytest.warns(DataWarning, match="can't be written"):
        read = session.klines("BTCUSDC", "5m", *window, cache=tmp_path / "taken")
    pd.testing.assert_frame_equal(read, session.klines("BTCUSDC", "5m", *window))


# Products.


# What users write.


@pytest.mark.parametrize(
    "value",
    [
        1_767_225_600_000,
        "1767225600000",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T01:00:00+01:00",
        date(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC),
        pd.Timestamp("2026-01-01"),
        pd.Timestamp("2026-01-01T01:00", tz="Europe/Paris"),
        pd.Timestamp("2026-01-01").to_datetime64().astype("M8[ms]").astype("int64"),
        *(pd.Timestamp("2026-01-01").to_datetime64().astype(f"M8[{unit}]") for unit in ("D", "s", "ms", "us", "ns")),
        *(1_767_225_600 * scale for scale in (1, 10**3, 10**6, 10**9)),
        pd.Timestamp("2026-01-01").value,
        1_767_225_600.0,
        "1767225600",
        "20260101",
        "2026-01-01 UTC",
        "2d",
        "1d 24h",
        timedelta(days=2),
        pd.Timedelta(days=2),
    ],
    ids=repr,
)
def test_times_are_read_in_every_usual_form(value: Any) -> None:
    assert moment(value, "start", 1_767_398_400_000) == 1_767_225_600_000


@pytest.mark.parametrize(
    "value",
    [
        *("tomorrow", 1.5, True, None, "", [1], -5, -1_767_225_600_000, "-5", "nan", float("nan"), float("inf")),
        *(pd.NaT, pd.NA, pd.Timestamp("NaT").to_datetime64(), pd.Series([1, 2]), 10**40, "9" * 5000),
    ],
)
def test_what_is_no_time_is_named(value: Any) -> None:
    with pytest.raises(MalformedRequest, match=r"(?s)^start .* is not a time. Use milliseconds, ISO text"):
        moment(value, "start", 1_767_398_400_000)


def test_words_for_times_follow_the_clock_they_are_given() -> None:
    now_ms = 1_767_398_400_000 + 5
    assert moment("now", "start", now_ms) == now_ms
    assert moment("today", "start", now_ms) == now_ms - 5
    assert moment("yesterday", "start", now_ms) == now_ms - 5 - 86_400_000
    with pytest.raises(MalformedRequest, match="is not a time"):
        moment("7d", "start")
