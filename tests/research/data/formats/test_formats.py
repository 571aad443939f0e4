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
from toolkit.research.data.event_array import EVENT, Kind
from toolkit.research.data.events import Events

FILES = Path(__file__).resolve().parents[1] / "excerpts"
EXPECTED = {
    "binance-usdm.gz": ("binance-usdm", "BTCUSDT"),
    "bybit-ob500.data.zip": ("bybit", "XRPUSDT"),
    "tardis-trades.csv": ("tardis", "XBTUSD"),
    "tardis-incremental.csv": ("tardis", "BTC-PERPETUAL"),
    "tardis-snapshots.csv": ("tardis", "BTCUSDT"),
}


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_a_format_is_guessed_and_said(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    format, symbol = EXPECTED[name]
    guessed = data.load(FILES / name)
    assert capsys.readouterr().out == f"{name}: read as {format} (guessed)\n"
    stated = data.load(FILES / name, format=format)
    assert capsys.readouterr().out == ""
    assert guessed.symbol == stated.symbol == symbol
    assert np.array_equal(guessed.array, stated.array)


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
        ("csv", ["time,open,high,low,close", "1,2,3,1,2", "2,2,3,x,2"], "line 3: expected a number in the column low"),
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


def test_damaged_lines_are_left_out_only_on_request_and_counted(tmp_path: Path) -> None:
    good = '1700000000000000000 {"e":"trade","s":"A","t":1,"p":"1","q":"1","T":1700000000000,"X":"MARKET","m":true}'
    path = write(tmp_path / "raw", good, "{half a line", good)
    events = data.load(path, format="binance-usdm", damaged="skip")
    assert len(events) == 2
    assert "1 damaged line was left out, the first: " in events.notes[0]
    assert "line 2" in data.check(events)["detail"][0]
    packed = tmp_path / "cut.gz"
    packed.write_bytes(gzip.compress("\n".join([good] * 500).encode())[:-20])
    with pytest.raises(InputError, match="damaged or cut off"):
        data.load(packed, format="binance-usdm")


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


def test_tardis_quotes_and_derivative_tickers(tmp_path: Path) -> None:
    times = "1700000000000000,1700000000000001"
    quotes = write(
        tmp_path / "q.csv",
        "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount",
        f"x,A,{times},2,11,10,1",
        f"x,A,{times},,,10,1",
    )
    assert data.load(quotes, format="tardis").array[["kind", "side", "price"]].tolist() == [
        (Kind.QUOTE, 1, 10.0), (Kind.QUOTE, -1, 11.0), (Kind.QUOTE, 1, 10.0)
    ]  # fmt: skip
    ticker = write(
        tmp_path / "d.csv",
        "exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,predicted_funding_rate,open_interest,"
        "last_price,index_price,mark_price",
        f"x,A,{times},,0.0001,,5,10,9.5,9.6",
    )
    both = data.load([quotes, ticker], format="tardis")
    assert both.counts() == {"quote": 3, "mark": 1, "index": 1, "funding": 1}


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


def test_files_of_freqtrade_are_candles_and_rates() -> None:
    feather = data.load(FILES / "XRP_USDT_USDT-1h-futures.feather")
    listed = data.load(FILES / "XRP_USDT_USDT-1h-futures.json")
    assert list(feather.columns) == ["time", "symbol", "open", "high", "low", "close", "volume"]
    assert str(feather["time"].dtype) == "datetime64[ms, UTC]"
    pd.testing.assert_frame_equal(feather, listed)
    rates = data.load(FILES / "XRP_USDT_USDT-8h-funding_rate.feather", format="freqtrade")
    assert list(rates.columns) == ["time", "symbol", "rate"]
    assert rates["rate"].tolist()[:2] == [0.0001, 0.0001]


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


def test_unknown_formats_files_and_contents_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Known are binance-usdm, tardis"):
        data.load(FILES / "tardis-trades.csv", format="tardus")
    with pytest.raises(InputError, match="there is no file"):
        data.load(FILES / "missing.csv")
    with pytest.raises(InputError, match="expected the beginning of one of the formats"):
        data.load(write(tmp_path / "x", "hello"))
    with pytest.raises(InputError, match="no file matches"):
        data.load(tmp_path / "*.csv")


def test_an_empty_array_is_events_too() -> None:
    events = Events(np.zeros(0, dtype=EVENT))
    assert len(events) == 0
    assert data.check(events).empty
    assert events.frame().dtypes["kind"] == "string"


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


def test_a_directory_of_files_is_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    row = "binance,AUSDT,1700000{}000000,1700000{}000500,{},buy,9,1"
    head = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
    folder = tmp_path / "days"
    folder.mkdir()
    write(folder / "b.csv", head, row.format(100, 100, 1), row.format(102, 101, 3), row.format(101, 100, 2))
    write(folder / "a.csv", head, row.format(200, 200, 4))
    events = data.load(folder, format="tardis")
    assert events.array["id"].tolist() == [1, 3, 2, 4], "in the order of the days, and of the rows of each file"
    assert "the local time runs back" in data.check(events)["detail"].tolist()
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="expected a recording or files, but the directory is empty"):
        data.load(tmp_path / "none")
    write(folder / "c.csv", "time,open,high,low,close", "1700000300,1,1,1,1")
    with pytest.raises(InputError, match=r"the files hold candles and rates\. Load each kind separately"):
        data.load([folder / "c.csv", write(tmp_path / "d.csv", "time,rate", "1700000300,0.1")], format="csv")


@pytest.mark.parametrize(
    ("lines", "columns"),
    [
        (["<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<VOL>", "2024.01.01\t00:01:00\t1\t2\t0.5\t1.5\t9"], None),
        (["20240101 000100;1;2;0.5;1.5;9"], None),
        ([",open,high,low,close,volume", "2024-01-01 01:01:00+01:00,1,2,0.5,1.5,9"], None),
        (["date,open,high,low,close,volume", "20240101,1,2,0.5,1.5,9"], None),
        (["date,time,open,high,low,close,volume", "2023-12-31,1704067260,1,2,0.5,1.5,9"], {"time": "time"}),
    ],
)
def test_candles_as_programs_write_them(tmp_path: Path, lines: list[str], columns: dict[str, str] | None) -> None:
    frame = data.load(write(tmp_path / "c.csv", *lines), format="csv", columns=columns)
    day = lines[0].startswith("date,open")
    assert str(frame["time"][0]) == f"2024-01-01 00:0{0 if day else 1}:00+00:00"
    assert frame[["open", "high", "low", "close", "volume"]].iloc[0].tolist() == [1.0, 2.0, 0.5, 1.5, 9.0]


def test_candles_without_a_volume_have_none_and_those_of_one_product_can_be_asked_for(tmp_path: Path) -> None:
    listed = tmp_path / "A_USDT_USDT-1h-mark.json"
    listed.write_text(json.dumps([[1700000000000, 1, 2, 0.5, 1.5, None]]))
    assert np.isnan(data.load(listed, format="freqtrade")["volume"][0])
    path = write(tmp_path / "c.csv", "time,symbol,open,high,low,close,volume", "1700000000,A,1,2,0.5,1.5,",
                 "1700000000,B,1,2,0.5,1.5,3")  # fmt: skip
    assert data.load(path, format="csv")["volume"].isna().tolist() == [True, False]
    assert data.load(path, format="csv", symbol="B")["volume"].tolist() == [3.0]
    with pytest.raises(InputError, match="C is not in the data, which has A, B"):
        data.load(path, format="csv", symbol="C")


def test_events_without_a_name_take_the_one_that_is_asked_for(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([(2, 1.7e15, 1.7e15, 1, 100.0, 2.0)]))
    assert data.load(tmp_path / "a.npy", format="hftbacktest", symbol="BTCUSDT").symbol == "BTCUSDT"
