"""A small file of every kind and variant that the loaders read."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.research.backtesting.events.recorded import random_market

MS = 1_700_000_000_000
FILES = Path(__file__).resolve().parents[1] / "excerpts"
FIELDS = [("ev", "u8"), ("exch_ts", "i8"), ("local_ts", "i8"), ("px", "f8"), ("qty", "f8"), ("order_id", "u8"),
          ("ival", "i8"), ("fval", "f8")]  # fmt: skip


def lines(*rows: object) -> bytes:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()


def levels(best: float, step: float, count: int) -> list[list[str]]:
    return [[f"{best + step * number:.1f}", f"{number + 1}"] for number in range(count)]


def binance(stamp: str, *, combined: bool, scale: int = 1, spot: bool = False) -> bytes:
    """Return messages of all streams; times in ms × `scale`."""
    time = {"E": (MS + 1) * scale, "T": MS * scale}
    part = {"s": "BTCUSDT"}
    depth = {"e": "depthUpdate", **time, **part, "U": 5, "u": 6, "pu": 4, "b": levels(100, -1, 3), "a": []}
    trade = {"e": "trade", **time, **part, "t": 7, "p": "100.5", "q": "2", "X": "MARKET", "m": True}
    if spot:
        del depth["T"], depth["pu"], trade["X"]
        trade |= {"b": 88, "a": 50, "M": True}
    found = {
        "btcusdt@depth": depth,
        "btcusdt@trade": trade,
        "btcusdt@aggTrade": {
            "e": "aggTrade",
            **time,
            **part,
            "a": 8,
            "p": "100.5",
            "q": "2",
            "f": 1,
            "l": 2,
            "m": False,
        },
        "btcusdt@bookTicker": {"e": "bookTicker", **time, **part, "u": 9, "b": "100", "B": "1", "a": "101", "A": "2"},
        "btcusdt@kline_1m": {"e": "kline", "E": time["E"], **part, "k": {"t": 1, "o": "1"}},
    }
    if not spot:
        mark = {"e": "markPriceUpdate", "E": time["E"], **part, "p": "100.4", "i": "100.2", "r": "0.0001", "T": 5}
        found |= {"!markPrice@arr": [mark, {**mark, "s": "ETHUSDT"}]}
        found |= {"btcusdt@depth20@100ms": {**depth, "b": levels(100, -1, 20), "a": levels(101, 1, 20)}}
    texts = [{"stream": name, "data": data} if combined else data for name, data in found.items()]
    return b"".join(stamp.encode() + lines(text) for text in texts)


def depth20() -> bytes:
    """Return a bare stream of the best 20 levels, which says nowhere that it is one."""
    return b"".join(
        lines({"e": "depthUpdate", "E": MS + n, "T": MS + n, "s": "BTCUSDT", "U": n, "u": n + 1, "pu": n,
               "b": levels(100 + n, -1, 20), "a": levels(101 + n, 1, 20)})
        for n in range(4)
    )  # fmt: skip


def bybit_stream() -> bytes:
    book: dict[str, Any] = {"s": "BTCUSDT", "b": levels(100, -1, 2), "a": levels(101, 1, 2), "u": 8, "seq": 1}
    trade = {"T": MS, "s": "BTCUSDT", "S": "Buy", "v": "0.1", "p": "100.5", "L": "PlusTick", "i": "ab-1", "BT": False}
    ticker = {"symbol": "BTCUSDT", "markPrice": "100.4", "indexPrice": "100.2", "fundingRate": "0.0001"}
    return lines(
        {"success": True, "op": "subscribe"},
        {"topic": "orderbook.500.BTCUSDT", "type": "snapshot", "ts": MS, "data": book, "cts": MS - 1},
        {"topic": "orderbook.500.BTCUSDT", "type": "delta", "ts": MS, "data": {**book, "u": 9, "a": []}},
        {"topic": "publicTrade.BTCUSDT", "type": "snapshot", "ts": MS, "data": [trade]},
        {"topic": "tickers.BTCUSDT", "type": "delta", "ts": MS, "data": ticker},
        {"topic": "kline.1.BTCUSDT", "type": "snapshot", "ts": MS, "data": []},
    )


def tardis_rows(columns: str, *rows: str) -> bytes:
    times = f"binance-futures,BTCUSDT,{MS}000,{MS}250"
    return lines(f"exchange,symbol,timestamp,local_timestamp,{columns}", *(f"{times},{row}" for row in rows))


def snapshot_5() -> bytes:
    names = [f"{side}[{n}].{field}" for n in range(5) for side in ("asks", "bids") for field in ("price", "amount")]
    row = [f"{value}" for n in range(5) for value in (101 + n, 1, 100 - n, 2)]
    return tardis_rows(",".join(names), ",".join(row), ",".join([*row[:-2], "", ""]))


def npz(array: Any) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, data=array)
    return out.getvalue()


def structured(*, names: int = 8) -> Any:
    both, buy = 3 << 30, 1 << 29
    rows = [(1 | both | buy, MS * 10**6 + n, MS * 10**6 + n + 5, 100.0 + n, 1.0, n, 0, 0.0) for n in range(6)]
    return np.array([row[:names] for row in rows], dtype=FIELDS[:names])


def version_1() -> Any:
    return np.array([(1, MS * 1000.0, MS * 1000.0 + 5, 1, 100.0, 2.0), (2, MS * 1000.0, -1, -1, 100.0, 1.0)])


def candles() -> pd.DataFrame:
    times = pd.date_range("2024-01-01", periods=4, freq="h", tz="UTC")
    return pd.DataFrame({"date": times, "open": 1.5, "high": 2.0, "low": 1.0, "close": 1.7, "volume": 9.0})


def table(frame: pd.DataFrame, form: str) -> bytes:
    out = io.BytesIO()
    frame.to_feather(out) if form == "feather" else frame.to_parquet(out)
    return out.getvalue()


def saved_events() -> bytes:
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(random_market(1, seconds=1).arrow(), out)
    return out.getvalue()


def zipped(name: str, text: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return out.getvalue()


OLD = "timestamp,symbol,side,size,price,tickDirection,trdMatchID,grossValue,homeNotional,foreignNotional"
OHLC = ["2024-01-01 00:00:00,1.5,2,1,1.7,9", "2024-01-01 01:00:00,1.5,2,1,1.7,9"]
LISTED = [[MS + 3_600_000 * n, 1.5, 2.0, 1.0, 1.7, 9.0] for n in range(4)]

SAMPLES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "combined": ("binance-usdm", "raw.gz", lambda: gzip.compress(binance(f"{MS}000000 ", combined=True))),
    "bare": ("binance-usdm", "raw.txt", lambda: binance("", combined=False)),
    "with a byte order mark and CRLF": (
        "binance-usdm", "raw.txt",
        lambda: b"\xef\xbb\xbf" + binance(f"{MS}000000,", combined=False).replace(b"\n", b"\r\n")),
    "stamped in µs": ("binance-usdm", "raw.txt", lambda: binance(f"{MS}000\t", combined=True)),
    "stamped in s": ("binance-usdm", "raw.jsonl", lambda: binance("1700000000.25 ", combined=False)),
    "stamped in ISO": ("binance-usdm", "raw.jsonl", lambda: binance("2023-11-14T22:13:20.5Z ", combined=False)),
    "spot in µs": ("binance-usdm", "spot", lambda: binance("", combined=False, scale=1000, spot=True)),
    "depth20": ("binance-usdm", "depth20.json", depth20),
    "bybit book": ("bybit", "b_ob500.data.zip", lambda: (FILES / "bybit-ob500.data.zip").read_bytes()),
    "bybit stream": ("bybit", "b.data.zip", lambda: zipped("b.data", bybit_stream())),
    "bybit trades": (
        "bybit", "BTCUSDT2024-01-01.csv.gz",
        lambda: gzip.compress(lines(OLD + ",RPI", "1704067200.0123,BTCUSDT,Buy,0.1,100.5,PlusTick,ab-1,1e9,0.1,10,0"))),
    "bybit spot trades": (
        "bybit", "BTCUSDT_2024-01-01.csv.gz",
        lambda: gzip.compress(lines("id,timestamp,price,volume,side", "1,1704067200012,100.5,0.1,sell"))),
    "tardis book": ("tardis", "i.csv", lambda: (FILES / "tardis-incremental.csv").read_bytes()),
    "tardis snapshots": ("tardis", "s25.csv", lambda: (FILES / "tardis-snapshots.csv").read_bytes()),
    "tardis snapshots of 5": ("tardis", "s5.csv.gz", lambda: gzip.compress(snapshot_5())),
    "tardis trades": ("tardis", "t.csv", lambda: (FILES / "tardis-trades.csv").read_bytes()),
    "tardis quotes": (
        "tardis", "q.csv", lambda: tardis_rows("ask_amount,ask_price,bid_price,bid_amount", "1,101,100,2", ",,100,2")),
    "tardis ticker": (
        "tardis", "d.csv", lambda: tardis_rows("funding_rate,index_price,mark_price,last_price", "0.0001,,100.4,1")),
    "npz": ("hftbacktest", "a.npz", lambda: npz(structured())),
    "npz with fewer fields": ("hftbacktest", "a.npz", lambda: npz(structured(names=5))),
    "npz of version 1": ("hftbacktest", "a.npz", lambda: npz(version_1())),
    "freqtrade feather": ("freqtrade", "BTC_USDT_USDT-1h-futures.feather", lambda: table(candles(), "feather")),
    "freqtrade funding": ("freqtrade", "BTC_USDT_USDT-8h-funding_rate.feather", lambda: table(candles(), "feather")),
    "freqtrade Parquet": ("freqtrade", "BTC_USDT-1h-spot.parquet", lambda: table(candles(), "parquet")),
    "freqtrade list": ("freqtrade", "BTC_USDT-1h.json.gz", lambda: gzip.compress(json.dumps(LISTED).encode())),
    "freqtrade trades": (
        "freqtrade", "BTC_USDT-trades.json.gz",
        lambda: gzip.compress(json.dumps([[MS, "1", None, "buy", 100.5, 0.1, 10.05]] * 2).encode())),
    "candles": ("csv", "c.csv", lambda: lines("Date,Open,High,Low,Close,Volume", *OHLC)),
    "candles with semicolons": (
        "csv", "c.csv", lambda: lines("Date,Open,High,Low,Close,Volume", *OHLC).replace(b",", b";")),
    "candles under a comment": (
        "csv", "c.csv",
        lambda: lines("https://www.example.com/data", "Unix,Date,Symbol,Open,High,Low,Close,Volume BTC,Volume USDT",
                      "1704067200000,2024-01-01,BTC/USDT,1.5,2,1,1.7,9,15")),
    "candles of an archive": ("csv", "c.csv", lambda: lines("1704067200000,1.5,2,1,1.7,9,1704070799999,5,3,4,5,0")),
    "candles with spaces": (
        "csv", "c.csv",
        lambda: lines("Open time, Open, High, Low, Close, Volume", "2024/01/01 00:00 UTC,1.5,2,1,1.7,9")),
    "candles in Parquet": ("parquet", "c.parquet", lambda: table(candles(), "parquet")),
    "saved events": ("parquet", "e.parquet", saved_events),
}  # fmt: skip
"""Name → format, name of the file, what is in it."""
