"""Candles of a session by hand: which windows are asked for at which time, and a bar that is always closed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest

from tests.client.fake import BTC, META
from tests.client.reads.test_reading import ETH, NOW, World
from tests.client.reads.test_table_flows import Tables, asked
from toolkit.errors import InputError
from toolkit.protocol.reads.info_queries import ENDPOINTS

MINUTE = 60_000


class Market(World):
    """Candles of every interval from 1970 to now. Each request for candles passes `passing_ms`."""

    passing_ms = 0

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW + MINUTE // 2
        self.answers |= {"klines": self.inside, "klines_before": self.before}

    def inside(self, query: dict[str, str]) -> list[dict[str, Any]]:
        found = self.rows(int(query["interval"]), int(query["startTime"]), min(int(query["endTime"]), self.now))
        self.now += self.passing_ms
        return found

    def before(self, query: dict[str, str]) -> list[dict[str, Any]]:
        last_ms = min(int(query["timestamp"]) - 1, self.now)
        return self.rows(int(query["interval"]), 0, last_ms, int(query["limit"]))

    def rows(self, interval_s: int, first_ms: int, last_ms: int, limit: int = 1_000) -> list[dict[str, Any]]:
        last = last_ms // 1000 // interval_s
        first = max(-(-first_ms // 1000 // interval_s), last - limit + 1)
        prices = dict.fromkeys(("open", "high", "low", "close", "volume", "turnover"), "1")
        return [
            {"symbolName": "BTCUSDC", "timestamp": at * interval_s, "intrvl": interval_s, **prices, "tradeCount": 1}
            for at in range(max(1, first), last + 1)
        ]


def minutes(frame: pd.DataFrame) -> list[int]:
    return [round((at.timestamp() * 1000 - NOW) / MINUTE) for at in frame.index]


def window(first: int, stop: int) -> tuple[str, dict[str, str]]:
    return "klines", {"startTime": str(NOW + first * MINUTE), "endTime": str(NOW + stop * MINUTE - 1)}


@pytest.mark.parametrize(
    ("given", "queries", "expected"),
    [
        ({"limit": 2}, [window(-2, 1)], [-1, 0]),
        ({"limit": 2, "closed": True}, [window(-2, 1)], [-2, -1]),
        ({"limit": 2, "end": NOW - 10 * MINUTE}, [window(-12, -9)], [-11, -10]),
        ({"limit": 1, "start": NOW - 2 * MINUTE}, [window(-2, 1)], [-2, -1, 0]),
        ({"start": NOW - 2 * MINUTE, "closed": True}, [window(-2, 1)], [-2, -1]),
        ({"start": NOW - 2 * MINUTE, "end": NOW - MINUTE}, [window(-2, 0)], [-2, -1]),
        ({"start": NOW - 2 * MINUTE, "end": NOW - MINUTE - 1}, [window(-2, -1)], [-2]),
        ({"start": NOW - MINUTE, "end": NOW - MINUTE}, [window(-1, 0)], [-1]),
        ({"start": NOW, "end": NOW + 9 * MINUTE}, [window(0, 1)], [0]),
        ({"start": NOW + MINUTE // 2}, [], []),
        (
            {"limit": 2, "end": NOW + 9 * MINUTE},
            [("klines_before", {"timestamp": str(NOW + MINUTE // 2 + 1), "limit": "3"})],
            [-1, 0],
        ),
    ],
)
def test_candles_are_those_that_start_in_the_window_or_the_last_ones(
    given: dict[str, Any], queries: list[Any], expected: list[int]
) -> None:
    world = Market()
    made = Tables(world).klines("BTCUSDC", "1m", **given)
    assert (asked(world, "klines", "klines_before"), minutes(made)) == (queries, expected)


@pytest.mark.parametrize(
    ("interval", "given", "queries"),
    [
        ("1w", {"start": -1}, ["0"]),
        ("1h", {"end": datetime(1970, 1, 1, 2, tzinfo=UTC), "limit": 5}, ["0"]),
        ("1h", {"end": datetime(1970, 1, 1, 2, tzinfo=UTC), "limit": 1}, ["3600000"]),
        ("1w", {"start": 86_400_000, "end": 86_400_001}, []),
    ],
)
def test_candles_begin_in_1970_at_the_earliest(interval: str, given: dict[str, Any], queries: list[str]) -> None:
    world = Market()
    Tables(world).klines("BTCUSDC", interval, **given)
    assert [query["startTime"] for _, query in asked(world, "klines")][:1] == queries


def test_a_start_below_a_day_is_a_number_of_candles_and_a_day_is_a_time() -> None:
    tables = Tables(Market())
    with pytest.raises(InputError, match="A number of candles is limit=86399999"):
        tables.klines("BTCUSDC", "1w", 86_399_999)
    assert len(tables.klines("BTCUSDC", "1w", 86_400_000)) > 1_000
    assert len(tables.klines("BTCUSDC", "1w", 0)) > 2_900


@pytest.mark.parametrize("from_start", [True, False])
@pytest.mark.parametrize(("end_ms", "reads"), [(None, 3), (0, 1), (MINUTE * 3 // 2, 2), (MINUTE * 10, 3)])
def test_candles_are_read_again_where_another_began_meanwhile_three_times_at_most(
    from_start: bool, end_ms: int | None, reads: int
) -> None:
    world = Market()
    world.passing_ms = MINUTE
    end = None if end_ms is None else NOW + end_ms
    given: dict[str, Any] = {"start": NOW - MINUTE} if from_start else {"limit": 20}
    made = Tables(world).klines("BTCUSDC", "1m", end=end, **given)
    assert [int(query["endTime"]) for _, query in asked(world, "klines")] == [
        NOW + (number + 1) * MINUTE - 1 for number in range(reads)
    ]
    assert minutes(made)[-1] == reads - 1


def test_a_start_after_now_is_compared_with_the_time_of_an_answer_once() -> None:
    world = Market()
    tables = Tables(world)
    tables.klines("BTCUSDC", "1m", limit=1)
    later = {**META, "perpProducts": [BTC, ETH]}

    def products(query: dict[str, str]) -> dict[str, Any]:
        world.now = NOW + 2 * MINUTE
        return later

    world.answers["products"] = products
    world.sent.clear()
    with pytest.raises(InputError, match=f"^start {NOW + MINUTE} is after end {NOW}$"):
        tables.klines("BTCUSDC", "1m", NOW + MINUTE, NOW)
    assert world.sent == [], "the end decides"
    assert minutes(tables.klines("BTCUSDC", "1m", NOW + MINUTE)) == [1, 2]
    assert [one.path for one in world.sent].count(ENDPOINTS["products"].path) == 1
    with pytest.raises(InputError, match=f"^start {NOW + 9 * MINUTE} is after now$"):
        tables.klines("BTCUSDC", "1m", NOW + 9 * MINUTE)
