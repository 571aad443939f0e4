"""The files of a recording at their bounds, the rows that a recorder appends, and the tables made of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from toolkit.errors import InputError, StaleData, StoredFileError
from toolkit.research.data.recorder import Recorder
from toolkit.research.data.recording import Recording
from toolkit.research.data.recording_store import (
    JOURNAL,
    Store,
    comparable,
    parts_of,
    stored,
)

BEGIN_MS = 1_767_225_600_000


def at(ms: int) -> datetime:
    return datetime.fromtimestamp((BEGIN_MS + ms) / 1000, UTC)


def trade(number: int, ms: int | None = None) -> dict[str, Any]:
    return {"time": None if ms is None else at(ms), "price": Decimal(number), "quantity": Decimal("0.5"), "side": "BUY"}


@pytest.mark.parametrize(
    ("form", "value", "kept", "compared"),
    [
        ("time", at(1), BEGIN_MS + 1, BEGIN_MS + 1), ("time", 5, 5, 5), ("amount", Decimal("1.50"), "1.50", 1.5),
        ("amount", None, None, None), ("object", {"a": [1]}, '{"a":[1]}', '{"a":[1]}'), ("text", "x", "x", "x"),
        ("integer", 3, 3, 3), ("bool", True, True, True), ("object", None, None, None),
    ],
)  # fmt: skip
def test_a_value_is_stored_in_a_form_that_files_hold(form: str, value: Any, kept: Any, compared: Any) -> None:
    assert (stored(form, value), comparable(form, value)) == (kept, compared)
    if form == "amount" and value is not None:
        assert comparable(form, 1.5) == comparable(form, "1.5") == 1.5


def test_a_part_is_written_at_its_number_of_rows(tmp_path: Path) -> None:
    store = Store(tmp_path, rows_per_file=3)
    for number in range(7):
        store.append("trades", "BTC", [trade(number, number)], at(number), "incremental", number)
        assert [len(store.written), len(parts_of(tmp_path, "trades", "BTC"))] == [(number + 1) // 3] * 2
    store.append("trades", "ETH", [trade(number, number) for number in range(9)], at(8), "snapshot", 8)
    assert len(store.written) == 3  # all rows of an update are in one part
    store.close()
    store.close()
    frame = Recording(tmp_path).frame("trades", "BTC")
    assert frame["price"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert frame["sequence"].tolist() == list(range(7))
    assert set(frame["kind"]) == {"incremental"}
    assert frame["received"].tolist() == frame["time"].tolist()
    assert Recording(tmp_path).frame("trades")["sequence"].tolist() == [*range(7), *[8] * 9]
    assert not (tmp_path / JOURNAL).exists()
    store.append("trades", "BTC", [trade(9, 9)], at(9), "incremental", 9)  # closed: nothing is kept
    assert len(Recording(tmp_path).frame("trades", "BTC")) == 7


@pytest.mark.parametrize(("late", "parts"), [(999, 0), (1_000, 1)])
def test_a_part_is_written_when_it_is_old_at_the_next_update_of_any_channel(
    tmp_path: Path, late: int, parts: int
) -> None:
    store = Store(tmp_path, flush_ms=1_000)
    store.append("trades", "BTC", [trade(1, 0)], at(0), "incremental", 1)
    store.append("ticker", "ETH", [{"time": at(late)}], at(late), "incremental", 2)
    assert len(parts_of(tmp_path, "trades", "BTC")) == parts
    assert len(parts_of(tmp_path, "ticker", "ETH")) == 0
    store.flush()
    assert [part.parent.parent.name for part in store.written] == [f"product={name}" for name in ("BTC", "ETH")]
    store.close()


def test_a_row_without_a_time_has_that_of_its_arrival_and_a_day_is_a_folder(tmp_path: Path) -> None:
    day = 86_400_000
    store = Store(tmp_path)
    rows = [trade(1), trade(2, day - 1), trade(3, day)]
    store.append("trades", "BTC", rows, at(5), "snapshot", 1)
    store.close()
    assert [part.parent.name for part in parts_of(tmp_path, "*", "*")] == ["day=2026-01-01", "day=2026-01-02"]
    frame = Recording(tmp_path).frame("trades")
    assert frame["time"].tolist() == [at(5), at(day - 1), at(day)]
    for start, end, found in (
        (None, None, [1.0, 2.0, 3.0]), (at(5), None, [1.0, 2.0, 3.0]), (at(6), None, [2.0, 3.0]),
        (None, at(day), [1.0, 2.0]), (at(day), None, [3.0]), (at(day - 1), at(day), [2.0]), (at(2 * day), None, []),
        (None, at(0), []),
    ):  # fmt: skip
        assert Recording(tmp_path).frame("trades", start=start, end=end)["price"].tolist() == found
    assert Recording(tmp_path).frame("trades", columns=["price", "side"]).columns.tolist() == ["price", "side"]


def test_one_market_and_one_recorder_a_directory(tmp_path: Path) -> None:
    store = Store(tmp_path, identity="one")
    with pytest.raises(InputError, match="another recorder is writing there") as raised:
        Store(tmp_path)
    assert (raised.value.field, raised.value.value) == ("path", str(tmp_path))
    store.append("trades", "BTC", [trade(1, 1)], at(1), "incremental", 1)
    store.close()
    with pytest.raises(StoredFileError, match="it is of market one, and this is market two"):
        Store(tmp_path, identity="two")
    for identity in ("one", None):
        again = Store(tmp_path, identity=identity)
        again.append("trades", "BTC", [trade(2, 2)], at(2), "incremental", 2)
        again.close()
    assert len(Recording(tmp_path).frame("trades")) == 3


def test_a_full_disk_is_counted_and_the_rows_come_when_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, full = Store(tmp_path, rows_per_file=2), OSError(28, "No space left on device")

    def fails(*_: Any, **__: Any) -> None:
        raise full

    with monkeypatch.context() as disk:
        disk.setattr("toolkit.research.data.recording_store.write_table", fails)
        for number in range(3):
            store.append("trades", "BTC", [trade(number, number)], at(number), "incremental", number)
        assert (store.failed, store.lost, store.written) == (full, 0, [])
        disk.setattr("toolkit.research.data.recording_store.LineFile.append", fails)
        store.append("trades", "BTC", [trade(3, 3), trade(4, 4)], at(4), "incremental", 3)
        assert store.lost == 2
    store.append("trades", "BTC", [trade(5, 5)], at(5), "incremental", 4)
    assert Recording(tmp_path).frame("trades")["price"].tolist() == [0.0, 1.0, 2.0, 5.0]
    store.close()


# what a recorder appends


class Source:
    """A live object that is told what to say."""

    def __init__(self) -> None:
        self.subject, self.state, self.reason, self.sequence = "trades BTC", "live", "", 7
        self.closed = 0

    def on_state(self, callback: Any) -> None:
        self.says_state = callback

    def on_update(self, callback: Any, *, begin: bool) -> None:
        assert begin
        self.says = callback

    def close(self) -> None:
        self.closed += 1

    def assert_healthy(self, max_age_ms: int | None) -> None:
        if max_age_ms == 1:
            raise StaleData("old")


def update(items: list[dict[str, Any]], kind: str = "incremental", sequence: int = 1, time: Any = None) -> Any:
    return SimpleNamespace(items=items, kind=kind, sequence=sequence, time=time)


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Any]:
    source, clock = Source(), SimpleNamespace(speed=1, now_ms=lambda: BEGIN_MS + clock.ms, ms=1_000)
    store = Store(tmp_path)
    recorder = Recorder(store, [source], clock)  # type: ignore[arg-type, list-item]
    yield SimpleNamespace(source=source, clock=clock, recorder=recorder, path=tmp_path, store=store)
    recorder.close()


def received(path: Path, channel: str, symbol: str | None = None) -> list[int]:
    times = Recording(path).frame(channel, symbol)["received"]
    return [time.value // 1_000_000 - BEGIN_MS for time in times]


@pytest.mark.parametrize("speed", [1, 60])
def test_a_row_arrives_by_the_venues_clock_and_never_earlier_than_the_one_before(recording: Any, speed: int) -> None:
    recording.clock.speed = speed
    recorder, source = recording.recorder, recording.source
    recorder.follow("trades", source, "BTC")
    for ms, published in ((1_000, 900), (1_500, 950), (1_200, 940), (2_000, 1_990)):
        recording.clock.ms = ms
        source.says(update([trade(1, published)]))
    recorder.flush()
    expected = [1_000, 1_500, 1_500, 2_000] if speed == 1 else [900, 950, 950, 1_990]
    assert received(recording.path, "trades") == expected


def test_rows_are_kept_by_symbol_and_take_the_time_of_their_update(recording: Any) -> None:
    recorder, source = recording.recorder, recording.source
    recorder.follow("positions", source, "")
    rows = [{"symbol": "BTC", "size": 1}, {"symbol": "ETH", "size": 2, "time": at(5)}, {"size": 3}]
    source.says(update(rows, sequence=4, time=at(3)))
    source.says(update([], sequence=5))
    assert recorder.rows == {"positions": 3}
    recorder.flush()
    found = Recording(recording.path)
    assert found.symbols == ["BTC", "ETH"]
    times = {name: found.frame("positions", name)["time"].tolist() for name in ("BTC", "ETH", "all")}
    assert times == {"BTC": [at(3)], "ETH": [at(5)], "all": [at(3)]}
    assert found.frame("positions")["sequence"].tolist() == [4, 4, 4]


@pytest.mark.parametrize(("channel", "product", "folder"), [("trades", "BTC", "BTC"), ("account", "", "all")])
def test_the_states_of_a_subscription_are_rows_too(recording: Any, channel: str, product: str, folder: str) -> None:
    recorder, source = recording.recorder, recording.source
    recorder.follow(channel, source, product)
    source.state, source.reason, source.sequence = "stale", "no message for 9 s", 11
    source.says_state(source)
    recorder.flush()
    columns = ["subject", "state", "reason", "sequence", "kind"]
    shown = Recording(recording.path).frame("status")[columns].to_numpy().tolist()
    assert shown == [["trades BTC", "stale", "no message for 9 s", 11, "state"]]
    assert recorder.resumed is None
    assert received(recording.path, "status", folder) == [1_000]


@pytest.mark.parametrize("repeated", [0, 1, 3])
def test_a_recording_that_continues_leaves_out_what_it_ends_with(recording: Any, repeated: int) -> None:
    recorder, source = recording.recorder, recording.source
    recorder.follow("trades", source, "BTC")
    source.says(update([trade(number, number) for number in range(3)], "snapshot"))
    recorder.close()
    again = Recorder(Store(recording.path), [source], recording.clock)  # type: ignore[list-item]
    recording.clock.ms = 5_000
    again.follow("trades", source, "BTC")
    assert again.resumed == at(1_000)
    source.says(update([trade(number, number) for number in range(3 - repeated, 5)], "snapshot"))
    source.says(update([trade(4, 4)]))  # only the first update of a log repeats what is there
    assert again.rows == {"trades": 3}
    again.close()
    prices = Recording(recording.path).frame("trades")["price"].tolist()
    assert prices == [0.0, 1.0, 2.0, 3.0, 4.0, 4.0]
    [row] = Recording(recording.path).frame("status").to_dict("records")
    assert (row["state"], row["reason"]) == ("resumed", f"nothing was recorded since {at(1_000)}")


def test_health_is_that_of_the_live_objects_the_disk_and_the_recorder(recording: Any) -> None:
    recorder = recording.recorder
    recorder.follow("trades", recording.source, "BTC")
    recorder.assert_healthy()
    with pytest.raises(StaleData, match="old"):
        recorder.assert_healthy(1)
    recording.store.failed, recording.store.lost = OSError(28, "No space left on device"), 1_234
    with pytest.raises(StaleData, match=r"can't be written: No space left on device\. 1,234 rows were lost"):
        recorder.assert_healthy()
    assert repr(recorder).endswith("trades 0. No space left on device. 1,234 rows were lost>")
    with pytest.warns(Warning, match=r"1,234 rows were lost\. The rows in its journal become parts"):
        recorder.close()
    recording.store.failed = None
    recorder.close()
    assert recording.source.closed == 1
    with pytest.raises(StaleData, match="is closed"):
        recorder.assert_healthy()


# the tables made of a recording


def test_best_prices_follow_each_update_of_the_book(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def level(side: str, price: int, quantity: int) -> dict[str, Any]:
        return {"side": side, "price": Decimal(price), "quantity": Decimal(quantity)}

    for number, (kind, rows) in enumerate(
        [
            ("snapshot", [level("BUY", 99, 1), level("BUY", 98, 2), level("SELL", 101, 3)]),
            ("incremental", [level("BUY", 99, 0), level("SELL", 100, 4)]),
            ("incremental", [level("SELL", 101, 0), level("SELL", 100, 0), level("SELL", 7, 0)]),
            ("snapshot", [level("SELL", 90, 5)]),
        ]
    ):
        rows = [{"time": at(number), **row} for row in rows]
        store.append("order_book", "BTC", rows, at(number), kind, number)
    store.close()
    tops = Recording(tmp_path).tops("BTC")
    assert tops.columns.tolist() == ["time", "bid", "bid_quantity", "ask", "ask_quantity", "mid"]
    assert tops["time"].tolist() == [at(number) for number in range(4)]
    assert tops.drop(columns="time").fillna(-1).to_numpy().tolist() == [
        [99, 1, 101, 3, 100], [98, 2, 100, 4, 99], [98, 2, -1, -1, -1], [-1, -1, 90, 5, -1],
    ]  # fmt: skip
    assert Recording(tmp_path).tops("BTC", start=at(9)).dtypes.equals(tops.dtypes)


def test_trades_of_a_first_snapshot_are_past_and_bars_are_made_of_the_others(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append("trades", "BTC", [trade(5, 1_000), trade(6, 2_000)], at(2_500), "snapshot", 1)
    store.append("trades", "BTC", [trade(7, 3_000), trade(9, 59_999)], at(3_000), "incremental", 2)
    store.append("trades", "BTC", [trade(8, 60_000)], at(60_000), "snapshot", 3)  # after a lost connection
    store.append("trades", "BTC", [trade(4, 2_000)], at(61_000), "snapshot", 3)
    candle = {"symbol": "ETH", "interval": 60, "open": 1, "high": 2, "low": 1, "close": 2, "volume": 3}
    for ms, close in ((60_000, 5), (0, 2), (60_000, 6)):
        row = {**candle, "time": at(ms), "close": Decimal(close)}
        store.append("candles", "ETH", [row, {**row, "interval": 300}], at(ms), "incremental", 4)
    store.close()
    found = Recording(tmp_path)
    assert found.trades("BTC")["price"].tolist() == [7.0, 9.0, 8.0]
    bars = found.bars("BTC")
    assert bars["time"].tolist() == [at(0), at(60_000)]
    assert bars.drop(columns=["time", "symbol"]).to_numpy().tolist() == [[7, 9, 7, 9, 1.0], [8, 8, 8, 8, 0.5]]
    candles = found.bars("ETH")
    assert [candles["time"].tolist(), candles["close"].tolist()] == [[at(0), at(60_000)], [2.0, 6.0]]
    assert candles.columns.tolist() == ["time", "symbol", "open", "high", "low", "close", "volume"]
    assert found.bars("ETH", "5m")["time"].tolist() == [at(0), at(60_000)]
    assert [found.channels, found.symbols] == [["candles", "trades"], ["BTC", "ETH"]]
    assert repr(found).endswith(": candles, trades>")
    assert isinstance(bars, pd.DataFrame)
