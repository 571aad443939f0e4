"""Recordings: what was heard is on disk, once, whatever happens to the process; other tools can read it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import toolkit
from toolkit.errors import FeedError, InputError
from toolkit.research import data
from toolkit.research.data.recorder import record
from toolkit.research.data.recording import Recording
from toolkit.research.data.recording_store import RECORDED, Store, table
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parents[3]
BEGIN = "2026-01-01"
"""The venue's genesis; the feed begins with trades of before."""


@pytest.fixture
def session() -> Iterator[toolkit.Session]:
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as made:
        yield made


def venue_of(session: toolkit.Session) -> LocalVenue:
    assert session.venue is not None
    return session.venue


def advance(session: toolkit.Session, steps: int = 40, span: str = "5s") -> None:
    for _ in range(steps):
        venue_of(session).advance(span)


def test_a_recording_holds_what_the_venue_did(session: toolkit.Session, tmp_path: Path) -> None:
    with record(session, tmp_path / "data", ["BTCUSDC", "ETHUSDC"]) as recorder:
        advance(session)
        recorder.assert_healthy()
        assert recorder.rows["trades"] > 5
    recording = Recording(tmp_path / "data")
    assert recording.channels == ["candles", "order_book", "ticker", "trades"]
    assert recording.symbols == ["BTCUSDC", "ETHUSDC"]
    for code, symbol in ((1, "BTCUSDC"), (2, "ETHUSDC")):
        product = venue_of(session).host.core.products[code]
        done = venue_of(session).host.core.state.history.trades[code]
        trades = recording.frame("trades", symbol, start=BEGIN)
        assert trades["price"].tolist() == [float(product.price_text(one.price)) for one in done]
        assert trades["tx_hash"].tolist() == [one.hash for one in done]
    assert not list((tmp_path / "data").glob(".journal")), "nothing is left but parts"


def test_frames_have_the_same_columns_when_empty(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for channel in RECORDED:
        frame = recording.frame(channel)
        assert (list(frame.columns), len(frame)) == (list(table(channel)), 0)
    assert list(recording.tops("BTCUSDC").columns) == ["time", "bid", "bid_quantity", "ask", "ask_quantity", "mid"]
    assert len(recording.bars("BTCUSDC")) == 0
    assert repr(recording) == f"<Recording {tmp_path}: empty>"


def test_amounts_can_be_exact(session: toolkit.Session, tmp_path: Path) -> None:
    with record(session, tmp_path, "XRPUSDC", channels=["trades", "order_book"], exact=True) as recorder:
        advance(session)
    done = venue_of(session).host.core.state.history.trades[4][0]
    product = venue_of(session).host.core.products[4]
    first = recorder.recording.frame("trades", start=BEGIN)["price"].iloc[0]
    assert isinstance(first, Decimal)
    assert first == product.tick_size * done.price
    assert len(recorder.recording.tops("XRPUSDC"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")
def test_other_tools_read_it(session: toolkit.Session, tmp_path: Path) -> None:
    import dask.dataframe  # here, as it takes a second, which each worker would spend when it collects

    with record(session, tmp_path, ["BTCUSDC", "SOLUSDC"], channels=["trades"], rows_per_file=5) as recorder:
        advance(session)
        assert len(recorder.files) > 2
    ours = recorder.recording.frame("trades")
    root = tmp_path / "channel=trades"
    by_pandas = pd.read_parquet(root)
    assert (len(by_pandas), set(by_pandas["product"])) == (len(ours), {"BTCUSDC", "SOLUSDC"})
    by_dask = dask.dataframe.read_parquet(root).compute()
    assert by_dask["price"].sum() == pytest.approx(ours["price"].sum())
    query = (
        "select product, count(*), sum(quantity) from read_parquet(?, hive_partitioning = true) group by 1 order by 1"
    )
    found = duckdb.execute(query, [f"{root}/**/*.parquet"]).fetchall()
    assert [(name, count) for name, count, _ in found] == list(ours.groupby("symbol").size().items())


def test_when_the_feed_was_not_live_is_part_of_the_recording(session: toolkit.Session, tmp_path: Path) -> None:
    with record(session, tmp_path, "BTCUSDC", channels=["trades"]) as recorder:
        venue_of(session).host.feed.faults.cut("maintenance")
        assert session.stream.health.state == "waiting"
        with pytest.raises(FeedError, match="maintenance"):
            recorder.assert_healthy()
        advance(session)
        recorder.assert_healthy()
    status = recorder.recording.frame("status")
    assert status["state"].tolist()[:2] == ["reconnecting", "subscribing"]
    assert "maintenance" in status["reason"].iloc[0]
    done = venue_of(session).host.core.state.history.trades[1]
    assert len(recorder.recording.frame("trades", start=BEGIN)) == len(done)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"channels": ["trades", "rumours"]},
            "channels \\['rumours'\\] can't be recorded. Known are trades, order_book",
        ),
        ({"channels": ["trades"]}, "symbols are needed"),
        ({"symbols": ["BTCUSDC"], "depth": 0}, "depth 0 is not valid"),
    ],
)
def test_what_can_not_be_recorded_is_refused(
    session: toolkit.Session, tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        record(session, tmp_path, **arguments)
    Store(tmp_path).close()
    with pytest.raises(InputError, match="channel 'rumours' is not known"):
        Recording(tmp_path).frame("rumours")


CRASH = """
import os, sys
from datetime import datetime, UTC
from toolkit.research.data.recording_store import Store
store = Store(__import__("pathlib").Path(sys.argv[1]), rows_per_file=7)
if sys.argv[2] == "torn":
    replace = os.replace
    def torn(source, target):
        os._exit(9)
    os.replace = torn
elif sys.argv[2] == "renamed":
    replace = os.replace
    def renamed(source, target):
        replace(source, target)
        os._exit(9)
    os.replace = renamed
for number in range(10_000):
    now = datetime.fromtimestamp(1_767_225_600 + number, UTC)
    print(number, flush=True)
    store.append("trades", "BTCUSDC", [{"time": now, "price": number}], now, "incremental", number)
    if sys.argv[2] == "plain" and number == 17:
        os._exit(9)
"""


@pytest.mark.parametrize("how", ["plain", "torn", "renamed"])
def test_a_crash_loses_nothing_and_doubles_nothing(tmp_path: Path, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRASH, str(tmp_path), how], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.returncode == 9, done.stderr
    said = [int(line) for line in done.stdout.split()]
    recording = Recording(tmp_path)
    before = len(recording.frame("trades"))
    recording.recover()
    assert recording.frame("trades")["sequence"].tolist() == said
    assert before < len(said) or how == "renamed"
    assert recording.recover() == []
    assert not list(tmp_path.rglob("*.tmp"))
    assert not (tmp_path / ".journal").exists()


def test_rows_from_several_threads_are_all_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, rows_per_file=50)
    now = pd.Timestamp("2026-01-01", tz="UTC").to_pydatetime()

    def write(number: int) -> None:
        for at in range(100):
            store.append("trades", f"P{number}", [{"time": now, "price": at}], now, "incremental", at)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    for number in range(4):
        assert Recording(tmp_path).frame("trades", f"P{number}")["sequence"].tolist() == list(range(100))


def test_loading_finds_what_a_crash_left_in_the_journal_and_says_what_is_still_being_recorded(tmp_path: Path) -> None:
    now = pd.Timestamp("2026-01-01", tz="UTC").to_pydatetime()
    rows = [{"time": now, "side": "BUY", "price": Decimal(at + 1), "quantity": Decimal(1)} for at in range(9)]
    store = Store(tmp_path / "tape", rows_per_file=6)
    for at, row in enumerate(rows[:-1]):
        store.append("trades", "BTCUSDC", [row], now, "incremental", at)
    shutil.copytree(tmp_path / "tape", tmp_path / "broken off")
    growing = data.load(tmp_path / "tape", format="recording")
    assert len(growing) == 6
    assert "still being recorded" in data.check(growing)["detail"].iloc[0]
    found = data.load(tmp_path / "broken off", format="recording")
    assert (found.array["price"].tolist(), found.notes) == ([float(at + 1) for at in range(8)], ())
    store.close()
    part = next((tmp_path / "broken off").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(InputError, match=re.escape(f"{part} (part of a recording): it has no header: it is damaged")):
        data.load(tmp_path / "broken off", format="recording")


@pytest.mark.parametrize("span", ["1s", "30m"])
def test_where_time_is_moved_by_hand_rows_were_received_when_they_were_published(
    session: toolkit.Session, tmp_path: Path, span: str
) -> None:
    with record(session, tmp_path, "BTCUSDC"):
        advance(session, 1 if span == "30m" else 300, span)
    events = data.load(tmp_path, format="recording")
    assert isinstance(events, data.Events)
    assert len(events) > 150
    assert (events.array["local_ns"] == events.array["exchange_ns"]).all()
    assert set(data.check(events)["problem"]) <= {"silence"}
    bars = Recording(tmp_path).bars("BTCUSDC")
    pd.testing.assert_frame_equal(bars, events.bars())


def test_bars_are_those_of_the_venue_from_candles_or_from_trades(session: toolkit.Session, tmp_path: Path) -> None:
    start = pd.Timestamp(venue_of(session).host.now_ms(), unit="ms", tz="UTC")
    with (
        record(session, tmp_path / "candles", "BTCUSDC", channels=["candles"]),
        record(session, tmp_path / "trades", "BTCUSDC", channels=["trades"]),
    ):
        advance(session, 60)
    wanted = session.klines("BTCUSDC", "1m", start=start, end=start + pd.Timedelta(minutes=5))
    for name in ("candles", "trades"):
        bars = Recording(tmp_path / name).bars("BTCUSDC", "1m", start=start, end=start + pd.Timedelta(minutes=5))
        assert bars["time"].tolist() == wanted.index.tolist()
        for column in ("open", "high", "low", "close", "volume"):
            assert bars[column].tolist() == pytest.approx(wanted[column].tolist()), (name, column)
