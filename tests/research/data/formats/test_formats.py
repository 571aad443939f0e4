"""Files of every format become events or candles as they stand, and a wrong line is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from toolkit.errors import InputError
from toolkit.research import data
from toolkit.research.data.event_array import Kind

T = 1_704_067_200
FILES = Path(__file__).resolve().parents[1] / "excerpts"


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_binance_streams_keep_both_times_every_level_and_every_trade() -> None:
    events = data.load(FILES / "binance-usdm.gz", format="binance-usdm")
    text = gzip.decompress((FILES / "binance-usdm.gz").read_bytes())
    lines = [line.partition(b" ") for line in text.splitlines()]
    messages = [(int(stamp), json.loads(text)) for stamp, _, text in lines]
    bodies = [(stamp, message.get("data", message)) for stamp, message in messages]
    trades = [(stamp, body) for stamp, body in bodies if body.get("e") == "trade"]
    found = events.of(Kind.TRADE)
    assert found["local_ns"].tolist() == [stamp for stamp, _ in trades]
    assert found["exchange_ns"].tolist() == [body["T"] * 1_000_000 for _, body in trades]
    assert found["price"].tolist() == [float(body["p"]) for _, body in trades]
    assert found["side"].tolist() == [-1 if body["m"] else 1 for _, body in trades]
    levels = sum(len(body["b"]) + len(body["a"]) for _, body in bodies if body.get("e") == "depthUpdate")
    books = [body for _, body in bodies if "lastUpdateId" in body]
    assert events.counts()["depth"] == levels
    assert events.counts()["snapshot"] == sum(len(book["bids"]) + len(book["asks"]) for book in books) > 0
    assert (str(events.tick_size), str(events.step_size)) == ("0.1", "0.001")


def test_binance_bare_streams_without_local_times_of_several_symbols(tmp_path: Path) -> None:
    mark = {
        "e": "markPriceUpdate",
        "E": 1700000000500,
        "s": "AAAUSDT",
        "p": "10.123",
        "i": "10.1",
        "r": "0.0001",
        "T": 5,
    }
    depth = {"e": "depthUpdate", "E": 1700000000000, "T": 1699999999999, "s": "AAAUSDT", "U": 1, "u": 2, "pu": 0}
    trade = {
        "e": "aggTrade",
        "E": 1700000001000,
        "s": "BBBUSDT",
        "a": 7,
        "p": "3",
        "q": "2",
        "T": 1700000000999,
        "m": True,
    }
    fund = {"e": "trade", "E": 1700000001000, "s": "BBBUSDT", "p": "3", "q": "2", "T": 1700000001000, "X": "ADL"}
    texts = [json.dumps(one) for one in (mark, {**depth, "b": [["9.9", "1"]], "a": []}, trade, fund)]
    found = data.load(write(tmp_path / "raw", *texts), format="binance-usdm")
    assert list(found) == ["AAAUSDT", "BBBUSDT"]
    assert found["AAAUSDT"].counts() == {"depth": 1, "mark": 1, "index": 1, "funding": 1}
    assert found["AAAUSDT"].array["exchange_ns"][0] == 1700000000500 * 10**6, "its T is the next funding"
    assert found["BBBUSDT"].array[["kind", "side", "id"]].tolist() == [(Kind.TRADE, -1, 7)]
    assert found["BBBUSDT"].notes == ("1 messages trade of type ADL were left out",)
    assert data.load(tmp_path / "raw", format="binance-usdm", symbol="BBBUSDT").symbol == "BBBUSDT"
    with pytest.raises(InputError, match="CCC is not in the data, which has AAAUSDT, BBBUSDT"):
        data.load(tmp_path / "raw", format="binance-usdm", symbol="CCC")


@pytest.mark.parametrize(
    ("format", "lines", "expected"),
    [
        ("binance-usdm", ["1700000000000000000 {}", "17000 {"], "line 2: expected a local time and a JSON message"),
        ("binance-usdm", ['1700000000000000000 {"e":"trade","p":"x","q":"1","T":1}'], "line 1: expected a local time"),
        ("bybit", ['{"topic":"orderbook.1.A","ts":1,"data":{}}'], "line 1: expected a message such as"),
        ("tardis", ["exchange,symbol", "a,b"], "line 1: expected the columns of a Tardis file"),
        (
            "csv",
            ["time,open,high,low,close", f"{T},2,3,1,2", f"{T},2,3,x,2"],
            "line 3: expected a number in the column low",
        ),
        ("csv", ["time,open,high,low,close", "soon,2,3,1,2"], "line 2: expected a time"),
        ("csv", ["x,y,z", "1,2,3"], "expected a column for time, open, high, low, close, but it has x, y, z"),
        ("freqtrade", ["[[1,2,3,4,5]]"], "expected a .feather, .parquet, .json"),
        ("hftbacktest", ["no archive"], "expected a NumPy archive"),
        ("parquet", ["no parquet"], "expected a Parquet"),
    ],
)
def test_a_wrong_line_is_named_with_what_was_expected(
    tmp_path: Path, format: str, lines: list[str], expected: str
) -> None:
    path = write(tmp_path / "file", *lines)
    with pytest.raises(InputError, match=expected) as raised:
        data.load(path, format=format)
    assert str(path) in str(raised.value)


def test_a_snapshot_of_bybit_replaces_the_book_and_a_restart_is_one(tmp_path: Path) -> None:
    def line(kind: str, update: int, bids: list[list[str]]) -> str:
        body = {"s": "A", "b": bids, "a": [], "u": update, "seq": 1}
        return json.dumps({"topic": "orderbook.500.A", "type": kind, "ts": 1700000000000, "data": body})

    texts = line("snapshot", 5, [["1", "1"]]), line("delta", 6, [["2", "1"]]), line("delta", 7, [["3", "1"]])
    path = write(tmp_path / "book", *texts, line("delta", 1, [["0.5", "3"]]))
    events = data.load(path, format="bybit")
    assert events.counts() == {"depth": 2, "clear": 4, "snapshot": 2}
    assert data.check(events).empty


def test_tardis_updates_before_the_first_snapshot_are_left_out_with_a_note(tmp_path: Path) -> None:
    head = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount"
    rows = [f"x,A,{time},{time},{snapshot},bid,{price},1" for time, snapshot, price in (
        (1700000000000000, "false", 9), (1700000001000000, "true", 10), (1700000001000000, "true", 11),
        (1700000002000000, "false", 12), (1700000003000000, "true", 8),
    )]  # fmt: skip
    events = data.load(write(tmp_path / "t.csv", head, *rows), format="tardis")
    assert events.array["kind"].tolist() == [Kind.CLEAR, 4, 4, Kind.DEPTH, Kind.CLEAR, 4]
    assert events.notes == ("1 updates before the first snapshot were left out",)


def test_hftbacktest_arrays_are_one_event_for_each_pair_of_rows(tmp_path: Path) -> None:
    fields = [("ev", "u8"), ("exch_ts", "i8"), ("local_ts", "i8"), ("px", "f8"), ("qty", "f8"), ("order_id", "u8")]
    exchange, local, buy = 1 << 31, 1 << 30, 1 << 29
    rows = [
        (1 | exchange | local | buy, 10, 20, 5.0, 1.0, 0),
        (2 | exchange | buy, 11, 30, 5.5, 2.0, 0),
        (1 | local | buy, 12, 25, 5.0, 0.0, 0),
        (2 | local | buy, 11, 30, 5.5, 2.0, 0),
        (1 | exchange | buy, 12, 25, 5.0, 0.0, 0),
    ]
    np.savez(tmp_path / "a.npz", data=np.array(rows, dtype=fields))
    events = data.load(tmp_path / "a.npz", format="hftbacktest")
    assert events.array[["local_ns", "kind", "side", "price", "quantity"]].tolist() == [
        (20, 1, 1, 5.0, 1.0), (25, 1, 1, 5.0, 0.0), (30, 2, 1, 5.5, 2.0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "columns"),
    [
        (["Date,Open,High,Low,Close,Volume", "2024-01-01,1,2,0.5,1.5,9", "2024-01-02,1,2,0.5,1.5,9"], None),
        (["1704067200000,1,2,0.5,1.5,9,1704153599999,5,3,4,5,0", "1704153600000,1,2,0.5,1.5,9,0,5,3,4,5,0"], None),
        (["open_time,open,high,low,close,volume", "1704067200,1,2,0.5,1.5,9", "1704153600,1,2,0.5,1.5,9"], None),
        (["when,a,b,c,d,e", "2024-01-01T00:00:00Z,1,2,0.5,1.5,9", "2024-01-02T00:00:00Z,1,2,0.5,1.5,9"],
         {"time": "when", "open": "a", "high": "b", "low": "c", "close": "d", "volume": "e"}),
    ],
)  # fmt: skip
def test_candles_by_guessed_and_stated_columns(
    tmp_path: Path, lines: list[str], columns: dict[str, str] | None
) -> None:
    frame = data.load(write(tmp_path / "c.csv", *lines), format="csv", columns=columns)
    assert frame["time"].astype(str).tolist() == ["2024-01-01 00:00:00+00:00", "2024-01-02 00:00:00+00:00"]
    assert frame[["open", "high", "low", "close", "volume"]].iloc[0].tolist() == [1.0, 2.0, 0.5, 1.5, 9.0]
    frame.to_parquet(tmp_path / "c.parquet")
    pd.testing.assert_frame_equal(data.load(tmp_path / "c.parquet", format="parquet"), frame)


def test_a_snapshot_without_a_symbol_is_the_only_product_s_and_left_out_among_several(tmp_path: Path) -> None:
    book = {"lastUpdateId": 4, "E": 1700000000000, "T": 1700000000000, "bids": [["9", "1"]], "asks": [["10", "1"]]}
    trade = {"e": "trade", "E": 1700000000000, "T": 1700000000000, "t": 1, "p": "9", "q": "1", "s": "AUSDT"}
    other = trade | {"s": "BUSDT"}
    one = data.load(write(tmp_path / "one", *map(json.dumps, (book, trade, book))), format="binance-usdm")
    assert [one.symbol, *one.array["kind"].tolist()] == ["AUSDT", 3, 3, 4, 4, 2, 3, 3, 4, 4]
    two = data.load(write(tmp_path / "two", *map(json.dumps, (trade, other, book))), format="binance-usdm")
    assert {symbol: part.counts() for symbol, part in two.items()} == {"AUSDT": {"trade": 1}, "BUSDT": {"trade": 1}}
    assert two["AUSDT"].notes == ("4 events without a symbol, among those of several, were left out",)


def test_trades_that_are_there_aggregated_too_are_not_counted_twice(tmp_path: Path) -> None:
    part = {"E": 1700000000000, "T": 1700000000000, "s": "AUSDT", "p": "9", "q": "1", "m": False}
    trades = [{"e": "trade", "t": number, **part} for number in (11, 12)]
    whole = {"e": "aggTrade", "a": 5, "f": 11, "l": 12, **part}
    missed = {"e": "aggTrade", "a": 6, "f": 13, "l": 13, **part}
    events = data.load(write(tmp_path / "raw", *map(json.dumps, (*trades, whole, missed))), format="binance-usdm")
    assert events.array[["kind", "id", "previous"]].tolist() == [(2, 11, 0), (2, 12, 0), (2, 6, 0)]
    assert events.notes == ("1 aggregated trades were left out, as their trades are there one by one",)
