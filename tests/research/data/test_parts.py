"""Files and frames before a run: which format they are, how parts become one, what their summary says, and bars."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import toolkit
from toolkit.errors import InputError
from toolkit.research.data.bars import ExtremeOrder, read_bars, tick_of
from toolkit.research.data.event_array import Kind, from_columns, grid_of
from toolkit.research.data.event_files import EventFiles, summary_of
from toolkit.research.data.events import Events, merge
from toolkit.research.data.loading import guess_format, load
from toolkit.research.data.replaying import replay
from toolkit.venue.local import LocalVenue
from toolkit.venue.simulation.replay import ReplayBar

S, MINUTE_MS = 1_000_000_000, 60_000
FIELDS = ("exchange_ns", "local_ns", "kind", "side", "price", "quantity", "id", "previous")


def made(*rows: tuple[float, ...], **about: Any) -> Events:
    columns = zip(*rows, strict=True)
    array = from_columns(dict(zip(FIELDS, columns, strict=True)), len(rows))
    return Events(array, **{"symbol": "BTC", "tick_size": Decimal(1), "step_size": Decimal("0.1"), **about})


def row(ns: int, kind: Kind = Kind.TRADE, price: float = 100.0, *, early: int = 0, size: float = 1.0) -> Any:
    return (ns + early, ns, kind, 1, price, size, 0, 0)


# summaries


def test_a_summary_has_the_bounds_of_times_and_prices_and_each_new_rate() -> None:
    events = made(
        row(5 * S, price=100.0), row(3 * S, Kind.DEPTH, 140.0, early=7), row(9 * S, Kind.CANCEL, 999.0, early=-5),
        row(8 * S, Kind.DEPTH, 0.0), row(6 * S, Kind.QUOTE, 90.0), row(2 * S, Kind.MARK, 5.0),
        row(7 * S, Kind.FUNDING, 0.1), row(1 * S, Kind.FUNDING, 0.1), row(8 * S, Kind.FUNDING, 0.2),
        row(9 * S, Kind.FUNDING, 0.1), exchange="binance",
    )  # fmt: skip
    found = summary_of(events)
    assert found[:9] == (
        "BTC", "binance", Decimal(1), Decimal("0.1"), (S, 9 * S), (S, 9 * S), 7, (100.0, 140.0, 90.0, 90.0),
        frozenset((Kind.TRADE, Kind.DEPTH, Kind.CANCEL, Kind.QUOTE, Kind.MARK, Kind.FUNDING)),
    )  # fmt: skip
    assert [values.tolist() for values in found.rates] == [[S, 8 * S, 9 * S], [0.1, 0.2, 0.1]]
    assert found.late == 0.0
    late = made(row(5 * S), row(90 * S, early=-61 * S), row(91 * S), row(92 * S))
    assert summary_of(late).late == 0.25
    assert summary_of(late).behind == 0
    none = summary_of(made(row(S, Kind.MARK, 5.0)))
    assert (none.prices, [len(values) for values in none.rates]) == ((0.0,) * 4, [0, 0])
    with pytest.raises(InputError, match="BTC: there are no events"):
        summary_of(events[:0])


def test_files_of_one_time_are_read_together_and_the_whole_has_the_facts_of_all(tmp_path: Path) -> None:
    parts = [
        made(row(20 * S, price=50.0), row(29 * S, price=70.0), tick_size=Decimal("0.5")),
        made(row(10 * S, Kind.DEPTH, 90.0, early=4), row(19 * S, Kind.DEPTH, 80.0), symbol="", exchange="bybit"),
        made(row(11 * S, Kind.FUNDING, 0.3), row(12 * S, Kind.FUNDING, 0.1), tick_size=Decimal("0.001")),
        made(row(33 * S, Kind.MARK, 1.0), row(40 * S, Kind.FUNDING, 0.1), tick_size=Decimal("0.0001")),
    ]
    files = EventFiles("BTC", parts)
    assert [known.local_ns for known in files.summaries] == [(10 * S, 19 * S), (20 * S, 29 * S), (33 * S, 40 * S)]
    whole = files.summary
    assert whole[:9] == (
        "BTC", "bybit", Decimal("0.5"), Decimal("0.1"), (10 * S + 4, 40 * S), (10 * S, 40 * S), 4,
        (90.0, 90.0, 50.0, 70.0), frozenset((Kind.DEPTH, Kind.FUNDING, Kind.TRADE, Kind.MARK)),
    )  # fmt: skip
    assert [values.tolist() for values in whole.rates] == [[11 * S, 12 * S, 40 * S], [0.3, 0.1, 0.1]]
    slow = made(row(90 * S, early=-61 * S), row(91 * S))
    assert EventFiles("BTC", [parts[0], slow]).summary.late == EventFiles("BTC", [slow]).summary.late == 0.5
    assert [[len(each), each.symbol] for each in files] == [[4, "BTC"], [2, "BTC"], [2, "BTC"]]
    for time, prices in (
        (19 * S, [90.0, 0.3, 0.1, 90.0]), (19 * S + 1, [90.0, 0.3, 0.1, 80.0, 80.0]),
        (21 * S, [90.0, 0.3, 0.1, 80.0, 50.0, 50.0]), (41 * S, [90.0, 0.3, 0.1, 80.0, 50.0, 70.0, 1.0, 0.1]),
    ):  # fmt: skip
        cut = np.concatenate([each.array for each in files.until(time)])
        assert (cut["price"].tolist(), int(cut["local_ns"].max()) <= time) == (prices, True)
    with pytest.raises(InputError, match=r"BTC: the files are of BTC, ETH\. Give the files of one product"):
        EventFiles("BTC", [parts[0], made(row(S), symbol="ETH")])
    with pytest.raises(InputError, match="BTC: there is no file"):
        EventFiles("BTC", [tmp_path / "none"])
    for first, sizes in ((14 * S, [4]), (20 * S, [4]), (21 * S, [2, 2])):  # files of one time
        pair = [made(row(10 * S), row(20 * S)), made(row(first), row(30 * S))]
        assert [len(each) for each in EventFiles("BTC", pair)] == sizes


def test_a_part_of_events_is_chosen_by_local_time_and_counts_its_kinds() -> None:
    events = made(row(S), row(2 * S, Kind.DEPTH), row(3 * S), notes=("n",), source="s", exchange="e")
    start, end = (pd.Timestamp(at, unit="ns", tz="UTC") for at in (2 * S, 3 * S))
    sizes = [len(events.between(*given)) for given in ((None, None), (start, None), (None, end), (start, end))]
    assert sizes == [3, 2, 2, 1]
    part = events.between(start)
    about = [getattr(part, name) for name in ("symbol", "exchange", "source", "notes", "tick_size", "step_size")]
    assert about == ["BTC", "e", "s", ("n",), Decimal(1), Decimal("0.1")]
    assert events.counts() == {"depth": 1, "trade": 2}
    assert not events.array.flags.writeable
    assert repr(events) == "<Events BTC 1970-01-01 00:00:01 to 1970-01-01 00:00:03 UTC: 1 depth, 2 trade; tick 1>"
    assert repr(events[:0]) == "<Events BTC: none>"


@pytest.mark.parametrize(
    ("values", "most", "grid"),
    [([1.0, 2.0], 12, "1"), ([0.1, 0.25], 12, "0.01"), ([3e-8], 12, "1E-8"), ([0.000125], 12, "0.000001"),
     ([1 / 3], 4, "0.0001"), ([0.125], 3, "0.001"), ([0.125], 2, "0.01"),
     ([float("inf"), float("nan"), 0.5], 12, "0.1"), ([1e6 + 0.1], 12, "0.1")],
)  # fmt: skip
def test_the_grid_has_at_most_so_many_places(values: list[float], most: int, grid: str) -> None:
    assert grid_of(np.array(values), most) == Decimal(grid)


# formats


@pytest.mark.parametrize(
    "name", ["BTC-1m-futures.parquet", "BTC-trades.parquet", "BTC-1h-mark.parquet", "plain.parquet"]
)
def test_a_parquet_file_of_events_is_one_whatever_its_name(name: str, tmp_path: Path) -> None:
    pd.DataFrame({"date": [1]}).to_parquet(tmp_path / name)
    assert guess_format(tmp_path / name) == ("parquet" if name.startswith("plain") else "freqtrade")
    made(row(S)).save(tmp_path / name)
    assert guess_format(tmp_path / name) == "parquet"


def test_what_is_no_format_is_said_with_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"hello" + b"x" * 99)
    with pytest.raises(InputError, match=r"a\.txt, line 1: expected the beginning of one of the formats") as raised:
        guess_format(path)
    assert f"got '{'hello' + 'x' * 55}'. Name it" in str(raised.value)


CSV = "time,symbol,open,high,low,close\n{0},A,1,2,1,2\n{0},B,3,4,3,4\n"


def candles(path: Path, *seconds: int) -> Path:
    lines = "".join(f"{1_767_225_600 + second},A,1,2,1,{2 - index / 100}\n" for index, second in enumerate(seconds))
    path.write_text(f"time,symbol,open,high,low,close\n{lines}", encoding="utf-8")
    return path


def test_files_of_candles_are_joined_by_their_first_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late, early = candles(tmp_path / "a.csv", 120, 180), candles(tmp_path / "b.csv", 0, 60)
    joined = load([late, early])
    said = "4 rows, 2026-01-01 00:00 to 2026-01-01 00:03 UTC, times in s"
    assert capsys.readouterr().out == f"2 files: read as csv (guessed), {said}\n"
    stamps = [time.value // S - 1_767_225_600 for time in joined["time"]]
    assert (stamps, joined.index.tolist(), joined.attrs["notes"]) == ([0, 60, 120, 180], [0, 1, 2, 3], [])
    assert load(str(tmp_path / "*.csv"), "csv", progress=False).equals(joined)
    assert capsys.readouterr().out == ""
    assert len(load(candles(tmp_path / "[a].csv", 0), "csv")) == 1, "a name, and no pattern of a.csv"
    (tmp_path / "[a].csv").unlink()
    (tmp_path / ".hidden").write_text("x")
    assert load(tmp_path).equals(joined)
    (tmp_path / "two.csv").write_text(CSV.format(1_767_225_600), encoding="utf-8")
    both = load(tmp_path / "two.csv", "csv")
    assert both["symbol"].tolist() == ["A", "B"]
    chosen = load(tmp_path / "two.csv", "csv", symbol="B")
    assert (chosen["close"].tolist(), chosen.index.tolist()) == ([4.0], [0])
    with pytest.raises(InputError, match="C is not in the data, which has A, B") as raised:
        load(tmp_path / "two.csv", "csv", symbol="C")
    assert raised.value.field == "symbol"


def test_what_can_not_be_loaded_names_the_field_and_what_there_is(tmp_path: Path) -> None:
    csv = candles(tmp_path / "a.csv", 0, 60)
    rates = tmp_path / "rates.csv"
    rates.write_text("time,symbol,rate\n1767225600,A,0.1\n", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    given: list[tuple[Any, dict[str, Any], str]] = [
        (csv, {"format": "xls"}, r"format 'xls' is not known\. Known are binance-usdm"),
        (csv, {"damaged": "fix"}, "damaged is 'fix', not raise or skip"),
        (csv, {"format": "recording"}, "is a file, which the format recording is not"),
        ([], {}, "there are no files to load"),
        (str(tmp_path / "*.nothing"), {}, "no file matches"),
        (tmp_path / "b.csv", {}, r"there is no file .*b\.csv\. .* has a\.csv, empty, rates\.csv"),
        (tmp_path / "no" / "b.csv", {}, r"there is no file .*b\.csv$"),
        (tmp_path / "empty", {}, "expected a recording or files, but the directory is empty"),
        ([csv, rates], {"format": "csv"}, r"the files hold candles and rates\. Load each kind separately"),
    ]
    for path, options, words in given:
        with pytest.raises(InputError, match=words):
            load(path, **options)


# bars


def frame(times: Any, **columns: Any) -> pd.DataFrame:
    values = {"open": 2.0, "high": 3.0, "low": 1.0, "close": 2.5, **columns}
    return pd.DataFrame(values, index=pd.DatetimeIndex(pd.to_datetime(times, unit="ms", utc=True)))


def test_the_length_of_a_bar_is_the_most_frequent_spacing_and_none_reaches_into_the_next() -> None:
    minutes = [0, 1, 2, 5, 6, 8]
    bars = read_bars(frame([at * MINUTE_MS for at in minutes]))["ASSET"]
    assert bars.interval == MINUTE_MS
    assert bars.closed.tolist() == [at * MINUTE_MS for at in (1, 2, 3, 6, 7, 9)]
    assert not bars.closed.flags.writeable
    uneven = read_bars(frame([0, 60_000, 90_000, 150_000]))["ASSET"]
    assert uneven.closed.tolist() == [60_000, 90_000, 150_000, 210_000]
    assert read_bars(frame([0, 180_000, 240_000, 300_000]))["ASSET"].interval == MINUTE_MS
    short = read_bars(frame([0, 60_000]), interval="30s")["ASSET"]
    assert (short.interval, short.closed.tolist()) == (30_000, [30_000, 90_000])
    assert read_bars(frame([0, 60_000]), interval="1m")["ASSET"].interval == 60_000
    for wrong in ("61s", "0s"):
        with pytest.raises(InputError, match="0 days 00:01:00 apart can't be"):
            read_bars(frame([0, 60_000]), interval=wrong)
    table = bars.frame()
    assert (table.index.name, table.columns.tolist()) == ("time", ["open", "high", "low", "close", "volume"])
    assert table.index.tolist() == [pd.Timestamp(at * MINUTE_MS, unit="ms", tz="UTC") for at in minutes]
    assert table["volume"].tolist() == [0.0] * 6
    assert read_bars({"A": bars})["A"] is bars
    assert read_bars(bars)["ASSET"].opened.tolist() == bars.opened.tolist()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"open": 3.0, "close": 1.0}, ""), ({"open": 1.0, "close": 3.0}, ""), ({"volume": float("nan")}, ""),
        ({"close": 3.0 * (1 + 1e-13)}, ""), ({"close": 3.0 * (1 + 1e-11)}, "data.close"),
        ({"open": 1.0 * (1 - 1e-13)}, ""), ({"open": 1.0 * (1 - 1e-11)}, "data.close"), ({"low": 0.0}, "data.low"),
        ({"high": float("inf")}, "data.high"), ({"volume": -1.0}, "data.volume"), ({"open": -1.0}, "data.open"),
        ({"volume": float("inf")}, "data.volume"), ({"open": float("nan")}, "data.open"),
    ],
)  # fmt: skip
def test_prices_lie_within_low_and_high_but_for_rounding(changed: dict[str, float], field: str) -> None:
    columns = {name: [good, changed.get(name, good)] for name, good in
               {"open": 2.0, "high": 3.0, "low": 1.0, "close": 2.5, "volume": 1.0}.items()}  # fmt: skip
    if not field:
        bars = read_bars(frame([0, 60_000], **columns))["ASSET"]
        assert bars.volume.tolist() == [1.0, 0.0 if "volume" in changed else 1.0]
        return
    with pytest.raises(InputError, match="at 1970-01-01 00:01:00") as raised:
        read_bars(frame([0, 60_000], **columns))
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("number", "ms"),
    [(first * scale, first * 1000) for first in (631_152_000, 1_798_761_599) for scale in (1, 10**3, 10**6, 10**9)],
)  # fmt: skip
def test_the_unit_of_an_epoch_is_known_by_its_size_at_each_bound(number: int, ms: int) -> None:
    table = frame([0]).reset_index(drop=True).assign(time=[number])
    assert read_bars(table, interval="1m")["ASSET"].opened.tolist() == [ms]
    for beyond in (631_151_999, 4_102_444_800):
        with pytest.raises(
            InputError, match=r"row 1: expected a time from 1990 to .*Pass data.load\(frame, (old|new)est"
        ):
            read_bars(table.assign(time=[number // (ms // 1000) * beyond]), interval="1m")


def test_shapes_of_bars_that_are_long_wide_or_named() -> None:
    long = pd.concat([frame([0, 60_000]).assign(Symbol="B"), frame([0, 60_000]).assign(Symbol="A")])
    assert list(read_bars(long)) == ["B", "A"]
    levels = long.rename_axis("time").set_index("Symbol", append=True).rename_axis(["time", "symbol"])
    assert list(read_bars(levels)) == ["B", "A"]
    assert list(read_bars(levels.reset_index("time"))) == ["B", "A"]
    assert list(read_bars(frame([0, 60_000]), symbol="X")) == ["X"]
    series = pd.Series([1.0, 2.0], pd.DatetimeIndex(pd.to_datetime([0, 60_000], unit="ms", utc=True)))
    assert read_bars(series)["ASSET"].open.tolist() == [1.0, 1.0]
    wide = pd.DataFrame({"Date": pd.to_datetime([0, 60_000], unit="ms"), "A": [1.0, 2.0], "B": [3.0, 2.0]})
    assert {name: bars.low.tolist() for name, bars in read_bars(wide).items()} == {"A": [1.0, 1.0], "B": [3.0, 2.0]}
    for nothing in ({}, frame([])):
        with pytest.raises(InputError, match="there are no bars in the data"):
            read_bars(nothing)


@pytest.mark.parametrize(
    ("prices", "places", "tick"),
    [
        ([1.0, 2.5], 8, "0.1"), ([60_000.5], 8, "0.1"), ([60_000.125], 8, "0.001"), ([60_000.0625], 8, "0.1"),
        ([1.00001], 8, "0.00001"), ([0.00000001], 8, "1E-8"), ([0.125], 2, "0.01"), ([600_000.0625], 8, "1"),
    ],
)  # fmt: skip
def test_a_tick_is_a_grid_or_a_millionth_of_the_price(prices: list[float], places: int, tick: str) -> None:
    table = pd.DataFrame({"close": prices}, index=frame([0, 60_000][: len(prices)]).index)
    assert tick_of(read_bars(table, interval="1m")["ASSET"], places) == Decimal(tick)


@pytest.mark.parametrize(
    ("first", "close", "extremes"),
    [("near", 12, (5, 20)), ("near", 10, (5, 20)), ("near", 8, (20, 5)), ("far", 12, (20, 5)), ("far", 8, (5, 20)),
     ("low", 8, (5, 20)), ("high", 12, (20, 5))],
)  # fmt: skip
def test_the_path_inside_a_bar_meets_one_extreme_and_then_the_other(
    first: str, close: int, extremes: tuple[int, int]
) -> None:
    points = ExtremeOrder(first).points(ReplayBar(0, 60_000, 10, 20, 5, close, 0))
    assert points == ((0, 10), (20_000, extremes[0]), (40_000, extremes[1]), (59_999, close))
    assert ExtremeOrder().first == "near"
    with pytest.raises(InputError, match="first is 'best', not one of near, far, low, high"):
        ExtremeOrder("best")


def test_a_path_is_given_each_bar_in_ticks_and_steps_of_the_venue() -> None:
    seen: list[ReplayBar] = []

    class Closes:
        def points(self, bar: ReplayBar) -> tuple[tuple[int, int], ...]:
            seen.append(bar)
            return (0, bar.open), (bar.interval - 1, bar.close)

    table = frame(
        [0, 60_000], open=[60_000.06, 0.01], high=[60_001.0, 0.2], low=[59_999.0, 0.01], close=[60_000.5, 0.16],
        volume=[0.0129, 1.001],  # in floats, 1.001 / 0.001 is a little less than 1001
    )  # fmt: skip
    with toolkit.connect(clock="manual") as session:
        now = session.clock.now_ms()
        going = replay(session, {"BTCUSDC": table}, path=Closes())
        assert seen == [
            ReplayBar(0, 60_000, 600_001, 600_010, 599_990, 600_005, 12), ReplayBar(60_000, 60_000, 1, 2, 1, 2, 1_001)
        ]  # fmt: skip
        track = going.source.tracks[1]
        assert [track.at(now + ms) for ms in (0, 59_999, 60_000, 119_999)] == [600_001, 600_005, 1, 2]
        assert list(going.source.tracks) == [1]
    with LocalVenue(clock="manual", market=None) as venue:
        with pytest.raises(InputError, match="the venue was made without its simulated market") as raised:
            replay(venue, {"BTCUSDC": table})
        assert raised.value.field == "venue"


def test_events_of_several_files_are_one_in_the_order_they_were_received() -> None:
    first = made(row(S, price=1.0), row(5 * S, price=2.0), row(4 * S, price=3.0), source="a", notes=("one",))
    second = made(row(3 * S, price=4.0), row(5 * S, price=5.0), source="b", notes=("two",), exchange="x", symbol="")
    both = merge(iter([first, second]))
    assert both.array["price"].tolist() == [1.0, 4.0, 2.0, 3.0, 5.0]  # a time that runs back stays where it was
    assert (both.symbol, both.exchange, both.source, both.notes) == ("BTC", "x", "a; b", ("one", "two"))
    assert merge([first]) is first
    assert merge([first, first]).source == "a"
