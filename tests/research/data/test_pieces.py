"""A long file of events is read in pieces: the same run, in memory that does not grow with the file."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import toolkit
from tests.research.backtesting.events.recorded import MS, random_market
from tests.research.data.formats.samples import FIELDS, SAMPLES, table, zipped
from toolkit.errors import InputError, StoredFileError
from toolkit.research import Strategy, backtest, data
from toolkit.research.data import event_files, events, loading
from toolkit.research.data.event_array import Kind, from_columns
from toolkit.research.data.event_files import EventFiles
from toolkit.research.data.events import Events
from toolkit.research.data.formats import text_files
from toolkit.research.data.recorder import record
from toolkit.venue.local import LocalVenue


class Quotes(Strategy):
    timer_ms = 500

    def on_timer(self, ctx: Any) -> None:
        book = ctx.book("BTCUSDC")
        if book.bids and book.asks and not ctx.orders():
            side, levels = ("BUY", book.bids) if ctx.position("BTCUSDC") <= 0 else ("SELL", book.asks)
            order = ctx.buy if side == "BUY" else ctx.sell
            order("BTCUSDC", "0.01", price=f"{levels[0][0]:.1f}", tif="POST_ONLY")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make parts so small that short files have several."""
    for module, size in ((event_files, 300), (events, 70), (loading, 70)):
        monkeypatch.setattr(module, "PIECE", size)
    for name, size in (("CHUNK", 3_000), ("PART", 40_000)):
        monkeypatch.setattr(text_files, name, size)


def tardis_csv(market: Events, product: str = "BTCUSDC") -> bytes:
    """Return its book as a file of Tardis: updates before a snapshot, the snapshot, and updates."""
    rows = market.array[market.array["kind"] == Kind.DEPTH]
    table = pd.DataFrame(
        {
            "exchange": "x", "symbol": product, "timestamp": rows["exchange_ns"] // 1000,
            "local_timestamp": rows["local_ns"] // 1000 + 5,
            "is_snapshot": (np.arange(len(rows)) >= 3) & (np.arange(len(rows)) < 250),
            "side": np.where(rows["side"] > 0, "bid", "ask"), "price": rows["price"], "amount": rows["quantity"],
        }
    )  # fmt: skip
    return table.to_csv(index=False).encode()


def trades_of(market: Events) -> pd.DataFrame:
    rows = market.array[market.array["kind"] == Kind.TRADE]
    side = np.where(rows["side"] > 0, "buy", "sell")
    return pd.DataFrame(
        {"time": rows["exchange_ns"] // MS, "side": side, "price": rows["price"], "quantity": rows["quantity"]}
    )


def messages(market: Events) -> bytes:
    """Return it as messages of Bybit after the time of receipt: a line for each level and trade."""
    lines = []
    for time, local, kind, side, price, quantity, *_ in market.array.tolist():
        name, level = "orderbook.50" if kind == Kind.DEPTH else "publicTrade", [[str(price), str(quantity)]]
        book = {"s": "BTCUSDC", "b": level if side > 0 else [], "a": level if side < 0 else [], "u": 7}
        trade = {"T": time // MS, "s": "BTCUSDC", "S": "Buy" if side > 0 else "Sell", "v": quantity, "p": price}
        told = {"topic": f"{name}.BTCUSDC", "ts": time // MS, "data": book if kind == Kind.DEPTH else [trade]}
        lines.append(f"{local} {json.dumps(told)}\n")
    return "".join(lines).encode()


def npz(market: Events) -> bytes:
    rows, buy, both = market.array, 1 << 29, 3 << 30
    made = np.zeros(len(rows), dtype=FIELDS)
    made["ev"] = rows["kind"].astype("i8") | both | np.where(rows["side"] > 0, buy, buy >> 1)
    for name, ours in (("exch_ts", "exchange_ns"), ("local_ts", "local_ns"), ("px", "price"), ("qty", "quantity")):
        made[name] = rows[ours]
    out = io.BytesIO()
    np.savez_compressed(out, data=made)
    return out.getvalue()


def feather(market: Events) -> bytes:
    out = io.BytesIO()
    pyarrow.feather.write_feather(market.arrow().replace_schema_metadata(None), out, chunksize=500)
    return out.getvalue()


def parquet(market: Events, group: int = 7) -> bytes:
    out = io.BytesIO()
    pq.write_table(market.arrow(), out, row_group_size=group)
    return out.getvalue()


def zst(text: bytes) -> bytes:
    return bytes(pyarrow.compress(text, "zstd", asbytes=True))


ROWS = {"orient": "records", "lines": True}
FORMS: dict[str, tuple[str, Callable[[Events], bytes]]] = {
    "Parquet of small groups": ("a.parquet", parquet),
    "Parquet of one group": ("a.parquet", partial(parquet, group=100_000)),
    "Feather": ("a.feather", feather),
    "Tardis, gz": ("a.csv.gz", lambda market: gzip.compress(tardis_csv(market))),
    "Tardis of two products": (
        "a.csv", lambda market: tardis_csv(market, "ETHUSDC") + after_header(tardis_csv(market))),
    "messages, gz": ("a.data.gz", lambda market: gzip.compress(messages(market))),
    "messages, zip": ("a.data.zip", lambda market: zipped("a.data", messages(market))),
    "trades, zst": ("a.csv.zst", lambda market: zst(b"A title\n" + trades_of(market).to_csv(index=False).encode())),
    "trades without names": ("a.csv", lambda market: trades_of(market)[["time", "price", "quantity"]].to_csv(
        index=False, header=False).encode()),
    "trades, JSON lines": ("a.jsonl", lambda market: trades_of(market).to_json(**ROWS).encode()),
    "trades, JSON document": ("a.json", lambda market: trades_of(market).to_json(orient="records").encode()),
    "trades, JSON over lines": (
        "a.json", lambda market: trades_of(market).to_json(orient="records", indent=1).encode()),
    "trades, Parquet": ("t.parquet", lambda market: table(trades_of(market), "parquet")),
    "events, CSV": ("e.csv", lambda market: market.frame().to_csv(index=False).encode()),
    "npz": ("a.npz", npz),
}  # fmt: skip


def after_header(text: bytes) -> bytes:
    return text.partition(b"\n")[2]


SHORT = {
    name: (file, lambda _, make=make: make())
    for name, (format, file, make) in SAMPLES.items()
    if format in ("binance-usdm", "bybit", "tardis", "hftbacktest") or name in ("candles", "freqtrade trades")
    if name != "tardis snapshots"  # those of 5 levels are the same
}
"""Small files of every kind of events, which are read as one part, and one of candles, which is refused."""


@pytest.mark.parametrize("name", [*FORMS, *SHORT])
def test_a_file_in_parts_has_the_events_of_the_whole_file(
    name: str, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in SHORT:
        monkeypatch.setattr(event_files, "PIECE", 50_000)
    if "trades" in name:  # shorter files
        monkeypatch.setattr(text_files, "PART", 6_000)
    file, make = {**FORMS, **SHORT}[name]
    path = tmp_path / file
    path.write_bytes(make(random_market(3, seconds=20)))
    whole = data.load(path, progress=False)
    if isinstance(whole, dict):
        whole = whole[next((one for one in whole if one.startswith("BTC")), next(iter(whole)))]
    if not isinstance(whole, Events):
        with pytest.raises(InputError, match=r"expected events of BTCUSDC\. Give data\.load\('"):
            EventFiles("BTCUSDC", [path])
        return
    files = EventFiles(whole.symbol, [path])
    assert name in SHORT or len(files.summaries) > 2
    order = np.argsort(np.maximum.accumulate(whole.array["local_ns"]), kind="stable")
    assert np.array_equal(np.concatenate([part.array for part in files]), whole.array[order])
    summary = event_files.summary_of(whole)
    assert files.summary[:-2] == summary[:-2]
    assert files.summary.late == pytest.approx(summary.late)


def test_a_run_on_files_in_parts_is_the_run_on_its_events(small: None, tmp_path: Path) -> None:
    market = random_market(3, seconds=20)
    whole = backtest(Quotes(), {"BTCUSDC": market}, funding=None)
    assert len(whole.fills) > 2
    for name in ("Parquet of small groups", "messages, gz"):
        path = tmp_path / FORMS[name][0]
        path.write_bytes(FORMS[name][1](market))
        parts = backtest(Quotes(), {"BTCUSDC": [path]}, funding=None)
        assert parts.fills.equals(whole.fills)
        assert parts.equity["equity"].tolist()[-1] == whole.equity["equity"].tolist()[-1]


def test_a_long_file_of_trades_beside_one_of_books_adds_nothing_to_a_window(small: None, tmp_path: Path) -> None:
    market, files = random_market(3, seconds=20), []
    for name, kind in (("trades", Kind.TRADE), ("book", Kind.DEPTH)):
        files.append(tmp_path / f"{name}.parquet")
        kept = market.array[market.array["kind"] == kind]
        Events(kept, symbol="BTCUSDC").save(files[-1])
    found = list(EventFiles("BTCUSDC", files))
    assert max(map(len, found)) < 320
    assert sum(map(len, found)) == len(market)


def recorded(path: Path) -> None:
    """Record two products twice into one directory, in parts of a few seconds, over midnight."""
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as session:
        venue.advance("23h59m")
        for _ in range(2):
            with record(session, path, ["BTCUSDC", "ETHUSDC"]) as recorder:
                for _ in range(8):
                    venue.advance("10s")
                    recorder.flush()
            venue.advance("20s")


def test_a_directory_of_a_recording_is_read_part_by_part_with_the_same_events(small: None, tmp_path: Path) -> None:
    recorded(tmp_path / "tape")
    whole = data.load(tmp_path / "tape", symbol="ETHUSDC", progress=False)
    files = EventFiles("ETHUSDC", [tmp_path / "tape"])
    assert len(files.summaries) > 2
    assert np.array_equal(np.concatenate([part.array for part in files]), whole.array)
    bought = {"on_bar": lambda ctx, bar: ctx.buy("ETHUSDC", "0.1")}
    runs = [backtest(bought, {"ETHUSDC": each}, funding=None, interval="1m") for each in (whole, [tmp_path / "tape"])]
    assert runs[0].fills.equals(runs[1].fills)
    assert len(runs[0].fills) > 1
    with pytest.raises(InputError, match=r"SOLUSDC: .*tape is a recording of BTCUSDC, ETHUSDC"):
        EventFiles("SOLUSDC", [tmp_path / "tape"])


def test_a_conversion_has_the_events_of_its_sources_and_leaves_nothing_half_done(small: None, tmp_path: Path) -> None:
    market, target = random_market(3, seconds=20), tmp_path / "all.parquet"
    path = tmp_path / "a.data.gz"
    path.write_bytes(gzip.compress(messages(market)))
    whole = data.load(path, progress=False)
    data.convert(path, target)
    made = data.load(target, progress=False)
    assert np.array_equal(made.array, whole.array)
    assert (made.symbol, made.exchange, made.tick_size, made.step_size) == (
        whole.symbol, whole.exchange, whole.tick_size, whole.step_size
    )  # fmt: skip
    path.write_bytes(gzip.compress(messages(market))[:-400])
    with pytest.raises(InputError):
        data.convert(path, target)
    assert np.array_equal(data.load(target, progress=False).array, whole.array)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.data.gz", "all.parquet"]
    other = tmp_path / "b.csv"
    other.write_bytes(tardis_csv(market) + after_header(tardis_csv(market, "ETHUSDC")))
    with pytest.raises(InputError, match="expected events of one product, but it has BTCUSDC, ETHUSDC"):
        data.convert(other, tmp_path / "b.parquet")
    data.convert([other], tmp_path / "b.parquet", symbol="ETHUSDC")
    assert data.load(tmp_path / "b.parquet", progress=False).symbol == "ETHUSDC"


def document(market: Events) -> tuple[str, bytes]:
    return "a.json", trades_of(market).to_json(orient="records").encode()


def twice_aggregated(market: Events) -> tuple[str, bytes]:
    rows = []
    for at, (time, _, _, side, price, quantity, *_) in enumerate(market.of(Kind.TRADE).tolist()):
        common = {"E": time // MS, "T": time // MS, "s": "BTCUSDC", "p": str(price), "q": str(quantity), "m": side < 0}
        rows += [{"e": "trade", "t": at + 1, **common}, {"e": "aggTrade", "a": at, "f": at + 1, "l": at + 1, **common}]
    return "raw.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode()


def late_snapshot(market: Events) -> tuple[str, bytes]:
    text = tardis_csv(market)
    return "a.csv", text.replace(b"True", b"False") + after_header(text)


def ambiguous_dates(market: Events) -> tuple[str, bytes]:
    table = trades_of(market)
    days = pd.date_range("2024-01-01", periods=12).append(pd.date_range("2024-01-13", periods=19)).strftime("%d/%m/%Y")
    return "d.csv", table.assign(time=np.repeat(days, len(table) // 31 + 1)[: len(table)]).to_csv(index=False).encode()


@pytest.mark.parametrize("make", [document, twice_aggregated, late_snapshot, ambiguous_dates])
def test_what_can_not_be_read_in_parts_names_the_way_that_works(
    make: Callable[[Events], tuple[str, bytes]], small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "LONGEST", 9_000)
    if make is ambiguous_dates:
        monkeypatch.setattr(text_files, "PART", 4_000)
    name, text = make(random_market(3, seconds=20))
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(text)
    with pytest.raises(InputError) as raised:
        EventFiles("BTCUSDC", [name])
    (call,) = re.findall(r"events = (data\.load\('[^']*'\)) reads it whole", str(raised.value))
    loaded = eval(call, {"data": data})
    loaded.save("once.parquet")
    assert "write them once with events.save, and give that file" in str(raised.value)
    assert (
        EventFiles("BTCUSDC", ["once.parquet"]).summary.exchange_ns
        == EventFiles("BTCUSDC", [loaded]).summary.exchange_ns
    )


def test_a_damaged_line_of_a_later_part_is_named_by_its_number(small: None, tmp_path: Path) -> None:
    path, lines = tmp_path / "a.csv", tardis_csv(random_market(3, seconds=20)).splitlines(keepends=True)
    lines[700] = lines[700].replace(b"False", b"Fool")
    path.write_bytes(b"".join(lines))
    with pytest.raises(
        InputError, match=r"a\.csv, line 701: expected true or false in the column is_snapshot, not 'fool'"
    ):
        EventFiles("BTCUSDC", [path])


def test_parts_keep_the_seal_and_the_grid_of_a_saved_file(small: None, tmp_path: Path) -> None:
    market = random_market(3, seconds=20)
    path = tmp_path / "market.parquet"
    market.save(path)
    summary = EventFiles("BTCUSDC", [path]).summary
    assert (summary.tick_size, summary.step_size) == (market.tick_size, market.step_size)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 1
    path.write_bytes(raw)
    with pytest.raises(StoredFileError, match="its seal does not match its content"):
        EventFiles("BTCUSDC", [path])


PEAK = """
import sys
from pathlib import Path
from toolkit.research import Strategy, backtest, data
if sys.argv[2:]:
    data.convert(sys.argv[1], sys.argv[2])
else:
    backtest(Strategy(), {"BTCUSDC": [sys.argv[1]]}, funding=None)
# Not ru_maxrss, which begins with the memory of the process that started this one.
print(next(int(line.split()[1]) // 1024 for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
"""


def dense_market(count: int) -> NDArray[Any]:
    """Return an event each ms around a price that moves: levels of both sides, and trades between them."""
    rng = np.random.default_rng(1)
    mids, side = 600_000 + rng.integers(-1, 2, count).cumsum() // 9, rng.choice([1, -1], count)
    traded = rng.random(count) < 0.2
    ticks = np.where(traded, mids + side, mids - side * rng.integers(1, 20, count))
    times = 1_767_225_600 * 10**9 + np.arange(count) * 10**6
    columns = {"exchange_ns": times, "local_ns": times + 3 * 10**6, "kind": np.where(traded, Kind.TRADE, Kind.DEPTH)}
    columns |= {"side": side, "price": ticks / 10, "quantity": rng.integers(1, 50, count) / 1000}
    return from_columns(columns, count)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in kB on Linux only")
@pytest.mark.parametrize("form", ["parquet", "csv.gz", "data.gz", "csv.gz to parquet"])
def test_the_memory_of_a_run_does_not_grow_with_the_file(form: str, tmp_path: Path) -> None:
    peaks, form, converts = [], form.partition(" ")[0], " to " in form
    for count in (200_000, 800_000) if form == "parquet" else (100_000, 300_000):
        path, market = tmp_path / f"{count}.{form}", Events(dense_market(count), symbol="BTCUSDC")
        if form == "parquet":
            market.save(path)
        else:
            path.write_bytes(gzip.compress({"csv.gz": tardis_csv, "data.gz": messages}[form](market), 1))
        command = [sys.executable, "-c", PEAK, path, *([tmp_path / "made.parquet"] if converts else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        peaks.append(int(done.stdout.split()[-1]))
    assert max(peaks) < 300
    assert peaks[1] - peaks[0] < 50, peaks
