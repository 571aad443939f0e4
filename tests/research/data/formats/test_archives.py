"""The free archives of Binance and Hyperliquid load as they are downloaded, and a damaged row is named."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from toolkit.errors import InputError
from toolkit.research import Strategy, backtest, data
from toolkit.research.data.event_array import Kind
from toolkit.research.data.formats import text_files

MS = 1_700_000_000_000
HEADERS = {
    "trades": "id,price,qty,quote_qty,time,is_buyer_maker",
    "aggTrades": "agg_trade_id,price,quantity,first_trade_id,last_trade_id,transact_time,is_buyer_maker",
    "bookTicker": "update_id,best_bid_price,best_bid_qty,best_ask_price,best_ask_qty,transaction_time,event_time",
}


def rows_of(kind: str, count: int, *, scale: int = 1, spot: bool = False) -> list[str]:
    """Return rows as the archives have them; prices and sides differ from row to row."""
    made = []
    for at in range(count):
        time, price, flag = (MS + at * 7) * scale, f"{42_000 + at % 50 / 10:.1f}", ("true", "false")[at % 3 == 0]
        flag = flag.title() if spot else flag
        if kind == "bookTicker":
            made.append(f"{9_000 + at},{price},1.50{at % 10},{float(price) + 0.1:.1f},2.001,{time},{time + 3 * scale}")
        elif kind == "trades":
            made.append(f"{5_000 + at},{price},0.00{1 + at % 9},84.0,{time},{flag}{',True' * spot}")
        else:
            made.append(f"{500 + at},{price},0.00{1 + at % 9},{at * 3},{at * 3 + 2},{time},{flag}{',True' * spot}")
    return made


def packed(path: Path, lines: list[str], *, end: str = "\n") -> Path:
    text = end.join(lines) + end
    if path.suffix != ".zip":
        path.write_bytes(text.encode())
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(path.stem + ".csv", text)
    return path


@pytest.mark.parametrize(
    ("suffix", "end", "scale", "spot", "header"),
    [(".zip", "\n", 1, False, True), (".csv", "\r\n", 1, True, False), (".csv", "\n", 1_000, True, True)],
)
@pytest.mark.parametrize("kind", list(HEADERS))
def test_archives_load_with_and_without_header_of_futures_and_spot_in_ms_and_microseconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, header: bool, scale: int, spot: bool, end: str,
    suffix: str,
) -> None:  # fmt: skip
    rows = rows_of(kind, 40, scale=scale, spot=spot and kind != "bookTicker")
    named = HEADERS[kind] + (",is_best_match" if spot and kind != "bookTicker" else "")
    path = packed(tmp_path / f"BTCUSDT-{kind}-2023-11-14{suffix}", [named, *rows] if header else rows, end=end)
    events = data.load(path)
    assert "read as binance-usdm (guessed)" in capsys.readouterr().out
    assert events.symbol == "BTCUSDT"
    assert str(events.tick_size) == "0.1"
    fields = [row.split(",") for row in rows]
    times = [(MS + at * 7) * 1_000_000 for at in range(40)]
    if kind == "bookTicker":
        bids, asks = events.array[0::2], events.array[1::2]
        assert events.counts() == {"quote": 80}
        for side, first, part in ((1, 1, bids), (-1, 3, asks)):
            assert (part["side"] == side).all()
            assert part["price"].tolist() == [float(row[first]) for row in fields]
            assert part["quantity"].tolist() == [float(row[first + 1]) for row in fields]
            assert part["id"].tolist() == [int(row[0]) for row in fields]
            assert part["exchange_ns"].tolist() == times
            assert part["local_ns"].tolist() == [time + 3_000_000 for time in times]
        return
    array = events.array
    assert events.counts() == {"trade": 40}
    flags = [row[5 if kind == "trades" else 6].lower() for row in fields]
    assert array["side"].tolist() == [-1 if flag == "true" else 1 for flag in flags]
    assert array["price"].tolist() == [float(row[1]) for row in fields]
    assert array["quantity"].tolist() == [float(row[2]) for row in fields]
    assert array["id"].tolist() == [int(row[0]) for row in fields]
    assert array["exchange_ns"].tolist() == array["local_ns"].tolist() == times


@pytest.mark.parametrize("kind", list(HEADERS))
def test_a_long_archive_is_read_in_blocks_to_the_same_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = packed(tmp_path / f"ETHUSDT-{kind}-2023-11.zip", [HEADERS[kind], *rows_of(kind, 3_000)])
    whole = data.load(path, format="binance-usdm")
    monkeypatch.setattr(text_files, "CHUNK", 997)
    assert np.array_equal(data.load(path, format="binance-usdm").array, whole.array)


DAMAGE = {
    "a word for a price": lambda row: row.replace(row.split(",")[1], "4200x"),
    "no number": lambda row: row.replace(row.split(",")[1], "nan"),
    "too few columns": lambda row: row.rpartition(",")[0],
    "too many columns": lambda row: row + ",1",
    "half a line": lambda row: row[: len(row) // 2],
    "a negative quantity": lambda row: row.replace(row.split(",")[2], "-1"),
    "a time in seconds": lambda row: row.replace(str(MS + 700), "1700000000"),
    "an empty price": lambda row: row.replace(row.split(",")[1], ""),
}


@pytest.mark.parametrize("kind", list(HEADERS))
@pytest.mark.parametrize("what", list(DAMAGE))
def test_a_damaged_row_is_named_by_its_line_and_the_others_can_be_read(tmp_path: Path, kind: str, what: str) -> None:
    rows = rows_of(kind, 300)
    spoiled = [*rows[:100], DAMAGE[what](rows[100]), *rows[101:]]
    assert spoiled != rows
    path = packed(tmp_path / f"BTCUSDT-{kind}-2023-11-14.csv", [HEADERS[kind], *spoiled])
    with pytest.raises(InputError, match="line 102: expected"):
        data.load(path, format="binance-usdm")
    left = data.load(path, format="binance-usdm", damaged="skip")
    packed(path, [*rows[:100], *rows[101:]])
    assert np.array_equal(left.array, data.load(path, format="binance-usdm").array)
    assert "1 damaged line was left out, the first:" in " ".join(left.notes)
    assert "line 102" in " ".join(left.notes)


def test_trades_are_not_counted_twice(tmp_path: Path) -> None:
    single = packed(tmp_path / "BTCUSDT-trades-2023-11-14.csv", rows_of("trades", 9))
    together = packed(tmp_path / "BTCUSDT-aggTrades-2023-11-14.csv", rows_of("aggTrades", 3))
    with pytest.raises(InputError, match=r"one by one and aggregated\. Load one of the two"):
        data.load([single, together], format="binance-usdm")


def test_best_prices_and_trades_of_the_archives_are_a_market(tmp_path: Path) -> None:
    for kind in ("trades", "bookTicker"):
        packed(tmp_path / f"BTCUSDT-{kind}-2023-11-14.zip", [HEADERS[kind], *rows_of(kind, 500)])
    events = data.load(tmp_path, format="binance-usdm")
    assert events.counts() == {"trade": 500, "quote": 1_000}

    class Joins(Strategy):
        def on_book(self, ctx: Any, book: Any) -> None:
            if not ctx.orders() and book.bids and book.asks:
                ctx.buy("BTCUSDT", "0.001", price=f"{book.bids[0][0]:.1f}", tif="POST_ONLY")

    assert len(backtest(Joins(), {"BTCUSDT": events}).fills) > 3


CONTEXTS = """time,coin,funding,open_interest,prev_day_px,day_ntl_vlm,premium,oracle_px,mark_px,mid_px,impact_bid_px
2023-11-14T00:00:00Z,BTC,0.0000125,1234.5,36000.0,1000000.5,0.0004,36500.0,36510.0,36511.0,36509.0
2023-11-14T00:00:00Z,ETH,-0.0000125,2234.5,2000.0,1000000.5,-0.0004,2050.0,2051.0,,
"""


def test_asset_contexts_are_a_history_of_mark_index_and_open_interest(tmp_path: Path) -> None:
    with pa.CompressedOutputStream(str(tmp_path / "20231114.csv.lz4"), "lz4") as stream:
        stream.write(CONTEXTS.encode())
    frame = data.load(tmp_path / "20231114.csv.lz4", format="csv")
    assert list(frame) == ["time", "symbol", "rate", "mark", "index", "open_interest", "premium"]
    eth = data.load(tmp_path / "20231114.csv.lz4", format="csv", symbol="ETH")
    assert eth[["mark", "index", "open_interest"]].values.tolist() == [[2051.0, 2050.0, 2234.5]]


def book(time: int, mid: float, levels: int = 20) -> dict[str, Any]:
    sides = [
        [{"px": f"{mid - side * (1 + at)}", "sz": f"{1 + at}", "n": 1} for at in range(levels)] for side in (1, -1)
    ]
    return {"channel": "l2Book", "data": {"coin": "BTC", "time": time, "levels": sides}}


def in_archive(message: Any, time: str) -> str:
    return json.dumps({"time": time, "ver_num": 1, "raw": message})


@pytest.mark.parametrize("frames", [1, 3])
def test_the_archive_of_books_is_read_as_it_is_downloaded(tmp_path: Path, frames: int) -> None:
    lines = [
        in_archive(book(MS + at * 500, 36_000 + at % 7), f"2023-11-14T22:13:2{at % 10}.123456789") for at in range(30)
    ]
    raw = b""
    for part in np.array_split(lines, frames):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "lz4") as stream:
            stream.write("".join(f"{line}\n" for line in part).encode())
        raw += sink.getvalue().to_pybytes()
    (tmp_path / "BTC.lz4").write_bytes(raw)
    events = data.load(tmp_path / "BTC.lz4", format="hyperliquid")
    assert events.counts() == {"clear": 60, "snapshot": 30 * 40}
    assert events.array["local_ns"][0] == pd.Timestamp("2023-11-14T22:13:20.123456789").value


def test_raw_messages_of_every_channel_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trade = {"coin": "BTC", "side": "B", "px": "36001.5", "sz": "0.25", "hash": "0x", "time": MS + 1, "tid": 7}
    best = {"coin": "BTC", "time": MS + 2, "bbo": [{"px": "35999", "sz": "1", "n": 1}, None]}
    context = {"coin": "BTC", "ctx": {"funding": "-0.00001", "markPx": "36000.5", "oraclePx": "36000.0", "midPx": None}}
    messages = [
        {"channel": "subscriptionResponse", "data": {}},
        book(MS, 36_000, 3),
        {"channel": "trades", "data": [trade, {**trade, "side": "A", "coin": "ETH"}]},
        {"channel": "bbo", "data": best},
        {"channel": "activeAssetCtx", "data": context},
    ]
    path = tmp_path / "feed.jsonl"
    path.write_text("".join(f"{(MS + 5) * 1_000_000} {json.dumps(message)}\n" for message in messages))
    found = data.load(path)
    assert "hyperliquid" in capsys.readouterr().out
    assert list(found) == ["BTC", "ETH"]
    btc = found["BTC"]
    assert btc.counts() == {"trade": 1, "clear": 2, "snapshot": 6, "quote": 2, "mark": 1, "index": 1, "funding": 1}
    assert found["ETH"].array["side"].tolist() == [-1]
    assert btc.of(Kind.TRADE)["side"].tolist() == [1]
    assert btc.of(Kind.CLEAR)["price"].tolist() == [0.0, 0.0]  # three levels are the whole side
    assert btc.of(Kind.FUNDING)["price"].tolist() == [-0.00001]
    assert "1 messages subscriptionResponse were left out" in btc.notes


def test_a_book_without_a_side_is_named(tmp_path: Path) -> None:
    message = book(MS, 36_000)
    del message["data"]["levels"][1]
    path = tmp_path / "feed.jsonl"
    path.write_text(json.dumps(book(MS, 36_000)) + "\n" + json.dumps(message) + "\n")
    with pytest.raises(InputError, match=r"line 2: expected a message such as .*l2Book"):
        data.load(path, format="hyperliquid")
