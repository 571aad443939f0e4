"""What `record` asks of a stream, when a row arrived, and what the files of a recording and of events hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.research.data.test_store import BEGIN_MS, Source, at, received, trade, update
from toolkit import extras
from toolkit.errors import InputError, MissingPackage, StoredFileError
from toolkit.research.data.event_array import Kind, empty, from_columns
from toolkit.research.data.events import Events, holds_events, read_events
from toolkit.research.data.loading import load
from toolkit.research.data.recorder import Recorder, record
from toolkit.research.data.recording import Recording
from toolkit.research.data.recording_store import Store, parts_of

S, MS = 1_000_000_000, 1_000_000


class Stream:
    """A stream whose channels are sources, which notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.sources: list[Source] = []
        self.lacking = False

    def __getattr__(self, name: str) -> Any:
        def channel(*symbols: str, **options: Any) -> Source:
            self.asked.append((name, *symbols, options))
            self.sources.append(Source())
            return self.sources[-1]

        if name == "candles" and self.lacking:
            raise AttributeError(name)
        return channel


@pytest.fixture
def session() -> Any:
    return SimpleNamespace(stream=Stream(), clock=SimpleNamespace(speed=1, now_ms=lambda: BEGIN_MS), identity="here")


def test_markets_are_recorded_by_default_with_twenty_levels_and_candles_of_a_minute(
    session: Any, tmp_path: Path
) -> None:
    with record(session, tmp_path / "a", "BTC") as recorder:
        assert session.stream.asked == [
            ("trades", "BTC", {}), ("order_book", "BTC", {"depth": 20}), ("ticker", "BTC", {}),
            ("candles", "BTC", {"interval": "1m"}),
        ]  # fmt: skip
        assert recorder.rows == dict.fromkeys(("trades", "order_book", "ticker", "candles"), 0)
        assert list(recorder.live) == session.stream.sources


def test_channels_symbols_and_options_are_those_that_are_given(session: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"depth": 7, "interval": "5m", "rows_per_file": 2, "flush_ms": 9, "exact": True}
    channels = ["order_book", "candles", "account"]
    record(session, tmp_path / "a", ["A", "B"], channels=channels, **options).close()
    assert session.stream.asked == [
        *(("order_book", name, {"depth": 7}) for name in "AB"),
        *(("candles", name, {"interval": "5m"}) for name in "AB"), ("account", {}),
    ]  # fmt: skip
    session.stream = Stream()
    record(session, tmp_path / "b", channels="fills").close()
    assert session.stream.asked == [("fills", {})]  # an account needs no symbols


def test_a_market_without_candles_is_recorded_without_them_unless_they_are_asked_for(
    session: Any, tmp_path: Path
) -> None:
    session.stream.lacking = True
    record(session, tmp_path / "a", "BTC").close()
    assert [each[0] for each in session.stream.asked] == ["trades", "order_book", "ticker"]
    with pytest.raises(AttributeError, match="candles"):
        record(session, tmp_path / "b", "BTC", channels=["candles"])
    Store(tmp_path / "b").close()  # nobody holds it any more
    with pytest.raises(InputError, match=r"channels \['status'\] can't be recorded\. Known are trades") as raised:
        record(session, tmp_path / "c", "BTC", channels="status")
    assert (raised.value.field, raised.value.rule, raised.value.value) == ("channels", "known", ["status"])
    with pytest.raises(InputError, match="symbols are needed to record markets"):
        record(session, tmp_path / "c")
    assert not (tmp_path / "c").exists()


# files of a recording


def test_a_path_that_is_no_directory_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"can't record to .*: (Not a directory|File exists)\. Use another") as raised:
        Store(tmp_path / "file")
    assert (raised.value.field, raised.value.rule) == ("path", "one recorder")


def part_of(folder: Path, identity: str, number: int) -> None:
    store = Store(folder / identity, identity=identity)
    store.append("trades", "BTC", [trade(number, number)], at(number), "incremental", number)
    store.close()
    for part in parts_of(folder / identity, "*", "*"):
        target = folder / "both" / part.relative_to(folder / identity)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(part.read_bytes())


def test_parts_of_two_markets_are_not_read_as_one(tmp_path: Path) -> None:
    part_of(tmp_path, "one", 1)
    assert Recording(tmp_path / "both").frame("trades")["price"].tolist() == [1.0]
    part_of(tmp_path, "two", 2)
    with pytest.raises(StoredFileError, match=r"parts are of 2 markets: .*Put them into a folder each"):
        Recording(tmp_path / "both").frame("trades")


# events as tables


FIELDS = ("exchange_ns", "local_ns", "kind", "side", "price", "quantity", "id", "previous")
ROWS = [
    (1 * S, 2 * S, Kind.DEPTH, 1, 100.5, 2.0, 5, 4), (3 * S, 3 * S, Kind.TRADE, -1, 100.0, 1.0, 9, 0),
    (4 * S, 5 * S, Kind.CLEAR, 0, 0.0, 0.0, 6, 5), (4 * S, 5 * S, Kind.FUNDING, 0, -0.25, 0.0, 0, 0),
]  # fmt: skip


def events(**about: Any) -> Events:
    array = from_columns(dict(zip(FIELDS, zip(*ROWS, strict=True), strict=True)), len(ROWS))
    return Events(array, **about)


def time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_table_has_words_for_kinds_and_sides_and_nothing_where_there_is_none() -> None:
    table = events(symbol="BTC").arrow()
    assert [str(field.type) for field in table.schema] == [
        "timestamp[ns, tz=UTC]", "timestamp[ns, tz=UTC]", "dictionary<values=string, indices=int8, ordered=0>",
        "dictionary<values=string, indices=int8, ordered=0>", "double", "double", "int64", "int64",
    ]  # fmt: skip
    rows = [tuple(row.values()) for row in table.drop_columns(["exchange_time", "local_time"]).to_pylist()]
    assert rows == [
        ("depth", "buy", 100.5, 2.0, 5, 4), ("trade", "sell", 100.0, 1.0, 9, None), ("clear", None, 0.0, 0.0, 6, 5),
        ("funding", None, -0.25, 0.0, None, None),
    ]  # fmt: skip
    frame = events().frame()
    assert frame["exchange_time"].tolist() == [time(1), time(3), time(4), time(4)]
    assert frame["local_time"].tolist() == [time(2), time(3), time(5), time(5)]
    assert [str(kind) for kind in frame.dtypes] == [
        "datetime64[ns, UTC]", "datetime64[ns, UTC]", "string", "string", "float64", "float64", "Int64", "Int64",
    ]  # fmt: skip
    every = empty(len(Kind))
    every["kind"] = list(Kind)
    assert Events(every).arrow()["kind"].to_pylist() == [kind.name.lower() for kind in Kind]


def test_a_file_keeps_what_is_known_of_the_events_in_groups_of_a_hundred_thousand(tmp_path: Path) -> None:
    about: dict[str, Any] = {"symbol": "BTC", "exchange": "x", "source": "s", "notes": ("one", "two")}
    given = events(**about, tick_size=Decimal("0.25"), step_size=Decimal("0.5"))
    given.save(tmp_path / "a.parquet")
    again = read_events(tmp_path / "a.parquet")
    assert np.array_equal(again.array, given.array)
    assert {name: getattr(again, name) for name in about} == about
    assert again.grid == {"tick_size": Decimal("0.25"), "step_size": Decimal("0.5")}
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.num_row_groups == 1
    Events(empty(100_001)).save(tmp_path / "b.parquet")
    groups = pq.ParquetFile(tmp_path / "b.parquet").metadata
    assert [groups.row_group(at).num_rows for at in range(groups.num_row_groups)] == [100_000, 1]


FOREIGN = {
    "exchange_time": pa.array([1_000, 2_000], pa.timestamp("ms")),
    "local_time": pa.array([3_000, 4_000], pa.timestamp("us", "UTC")),
    "kind": pa.array(["depth", None]), "price": pa.array([1.5, 2.0]), "quantity": pa.array([1.0, 2.0]),
}  # fmt: skip


def foreign(path: Path, **changed: Any) -> Path:
    pq.write_table(pa.table({**FOREIGN, **changed}), path)
    return path


def test_tables_of_other_programs_need_neither_sides_nor_ids(tmp_path: Path) -> None:
    path = foreign(tmp_path / "a.parquet")
    found = read_events(path)
    expected = [(1 * S, 3 * MS, Kind.DEPTH, 0, 1.5, 1.0, 0, 0), (2 * S, 4 * MS, Kind.TRADE, 0, 2.0, 2.0, 0, 0)]
    assert [row.item() for row in found.array[list(FIELDS)]] == expected
    assert (found.symbol, found.notes, found.tick_size, found.step_size) == ("", (), Decimal("0.1"), Decimal(1))
    sided = read_events(foreign(path, side=pa.array(["sell", None]), id=pa.array([7, None])))
    assert (sided.array["side"].tolist(), sided.array["id"].tolist()) == ([-1, 0], [7, 0])
    assert load(path, "parquet").array.tolist() == sided.array.tolist()


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"kind": pa.array(["depth", "deep"])}, r"row 2: expected a kind of depth, trade, .* not 'deep'"),
        ({"side": pa.array(["up", "buy"])}, "row 1: expected a side of buy, sell, not 'up'"),
        ({"price": pa.array([1.0, None])}, "row 2: expected a price, but it has none"),
        ({"quantity": pa.array([None, 1.0])}, "row 1: expected a quantity, but it has none"),
        ({"local_time": pa.array([None, 5], pa.timestamp("ms"))}, "row 1: expected a local_time, but it has none"),
        ({"price": pa.array(["a", "b"])}, "expected a table of events, as Events.save writes it"),
    ],
)
def test_a_row_that_is_no_event_is_named_with_what_was_expected(
    changed: dict[str, Any], text: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=text):
        read_events(foreign(tmp_path / "a.parquet", **changed))


def test_without_pyarrow_what_reads_or_writes_parquet_says_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    session: Any = SimpleNamespace(stream=Stream())
    uses: list[Callable[[], object]] = [
        lambda: record(session, tmp_path / "new", "BTC", channels="trades"),
        lambda: Recording(tmp_path).frame("trades"),
        lambda: holds_events(tmp_path / "a.parquet"),
        events().arrow,
    ]
    for use in uses:
        with pytest.raises(MissingPackage, match=r"pyarrow is not installed.*toolkit\[data\]"):
            use()
    assert session.stream.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("speed", "kind", "expected"), [
    (60, "snapshot", [950, 950]), (60, "incremental", [900, 950]), (1, "snapshot", [1_000, 1_000]),
])  # fmt: skip
def test_a_snapshot_was_received_with_its_newest_row_where_time_is_fast(
    speed: int, kind: str, expected: list[int], tmp_path: Path
) -> None:
    clock: Any = SimpleNamespace(speed=speed, now_ms=lambda: BEGIN_MS + 1_000)
    source: Any = Source()
    recorder = Recorder(Store(tmp_path), [source], clock)
    recorder.follow("trades", source, "BTC")
    source.says(update([trade(1, 900), trade(2, 950)], kind))
    recorder.close()
    assert received(tmp_path, "trades") == expected


def test_only_the_parts_of_the_days_that_are_asked_for_are_read(tmp_path: Path) -> None:
    store, day = Store(tmp_path), 86_400_000
    store.append("trades", "BTC", [trade(number, number * day) for number in range(3)], at(0), "incremental", 1)
    store.close()
    first, _, last = parts_of(tmp_path, "*", "*")
    for part in (first, last):
        part.write_bytes(b"damaged")
    assert Recording(tmp_path).frame("trades", start=at(day), end=at(2 * day))["price"].tolist() == [1.0]
    for start, end in ((day - 1, 2 * day), (day, 2 * day + 1)):
        with pytest.raises(StoredFileError, match="it is damaged"):
            Recording(tmp_path).frame("trades", start=at(start), end=at(end))
