# ruff: noqa: E501  (rows of files)
"""Files as exchanges, vendors and programs write them: the true rows, or a refusal whose remedy gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.research.data.tables.test_doors import loads
from toolkit.errors import InputError
from toolkit.research import data
from toolkit.research.data.events import Events

HOURS = pd.date_range("2024-01-30", periods=4, freq="h", tz="UTC")
MS = HOURS.as_unit("ms").asi8.tolist()
OHLC = [
    (100.5, 103.0, 99.5, 101.25),
    (101.25, 104.5, 100.0, 102.0),
    (102.0, 102.5, 98.0, 99.0),
    (99.0, 99.5, 97.5, 98.5),
]
BASE = [2.5, 4.0, 1.5, 8.0]
QUOTE = [250.0, 408.0, 150.0, 784.0]


def rows(form: str, times: list[Any] | None = None) -> list[str]:
    """Return a line for each hour: {t} time, {o} {h} {l} {c} prices, {v} volume, {q} its value."""
    made = []
    for at, time in enumerate(times or MS):
        o, h, low, c = OHLC[at]
        made.append(form.format(t=time, o=o, h=h, l=low, c=c, v=BASE[at], q=QUOTE[at]))
    return made


def stamped(form: str) -> list[str]:
    return HOURS.strftime(form).tolist()


def european(lines: list[str]) -> list[str]:
    return [line.replace(".", ",") for line in lines]


PEOPLE: dict[str, tuple[str, list[str]]] = {
    "Binance, new unit in the middle": ("BTCUSDT-1h-2025-01.csv", rows("{t},{o},{h},{l},{c},{v},0,{q},5,1,1,0",
                                        [MS[0], MS[1], MS[2] * 1000, MS[3] * 1000])),
    "Binance coin-margined": ("a.csv", ["open_time,open,high,low,close,volume,close_time,base_asset_volume,count",
                              *rows("{t},{o},{h},{l},{c},77,0,{v},3")]),
    "Bybit": ("a.csv", ["startTime,openPrice,highPrice,lowPrice,closePrice,volume,turnover", *rows("{t},{o},{h},{l},{c},{v},{q}")]),
    "OKX swap": ("a.csv", ["instrument_name,open,high,low,close,vol,vol_ccy,vol_quote,open_time,confirm",
                 *rows("BTC-USDT-SWAP,{o},{h},{l},{c},900,{v},{q},{t},1")]),
    "OKX spot": ("a.csv", ["instrument_name,open,high,low,close,vol,vol_ccy,vol_quote,open_time,confirm",
                 *rows("BTC-USDT,{o},{h},{l},{c},{v},{q},{q},{t},1")]),
    "Bitget": ("a.csv", ["timestamp,open,high,low,close,baseVolume,usdtVolume,quoteVolume", *rows("{t},{o},{h},{l},{c},{v},{q},{q}")]),
    "Kraken": ("XBTUSD_60.csv", rows("{t},{o},{h},{l},{c},{v},12", [one // 1000 for one in MS])),
    "Coinbase": ("a.csv", rows("{t},{l},{h},{o},{c},{v}", [one // 1000 for one in MS])),
    "Bitfinex": ("a.csv", rows("{t},{o},{c},{h},{l},{v}")),
    "CryptoDataDownload, old": ("a.csv", ["https://www.CryptoDataDownload.com", "Date,Symbol,Open,High,Low,Close,Volume BTC,Volume USD",
                                *rows("{t},BTCUSD,{o},{h},{l},{c},{v},{q}", stamped("%Y-%m-%d %I-%p"))]),
    "CryptoDataDownload, new": ("a.csv", ["https://www.CryptoDataDownload.com", "unix,date,symbol,open,high,low,close,Volume BTC,Volume USD",
                                *rows("1,{t},BTC/USD,{o},{h},{l},{c},{v},{q}", stamped("%Y-%m-%d %H:%M:%S"))]),
    "quote volume first": ("a.csv", ["time,open,high,low,close,volume_usd,volume", *rows("{t},{o},{h},{l},{c},{q},{v}")]),
    "base by its coin, quote bare": ("a.csv", ["time,open,high,low,close,volume_btc,volume", *rows("{t},{o},{h},{l},{c},{v},{q}")]),
    "Bitstamp of Kaggle": ("a.csv", ["Timestamp,Open,High,Low,Close,Volume_(BTC),Volume_(Currency),Weighted_Price",
                           *rows("{t},{o},{h},{l},{c},{v},{q},100", [one // 1000 for one in MS])]),
    "TradingView": ("BINANCE_BTCUSDT, 60.csv", ["time,open,high,low,close,Volume", *rows("{t},{o},{h},{l},{c},{v}", stamped("%Y-%m-%dT%H:%M:%SZ"))]),
    "TradingView of New York": ("a.csv", ["time,open,high,low,close,Volume", *rows("{t},{o},{h},{l},{c},{v}",
                                [one.isoformat() for one in HOURS.tz_convert("America/New_York")])]),
    "MetaTrader 5": ("BTCUSD_H1.csv", ["<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>",
                     *rows("{t}\t{o}\t{h}\t{l}\t{c}\t{v}\t0\t7", stamped("%Y.%m.%d\t%H:%M:%S"))]),
    "MetaTrader 4": ("BTCUSD60.csv", rows("{t},{o},{h},{l},{c},{v}", stamped("%Y.%m.%d,%H:%M"))),
    "Stooq": ("a.txt", ["<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>",
              *rows("BTC,60,{t},{o},{h},{l},{c},{v},0", stamped("%Y%m%d,%H%M%S"))]),
    "yfinance, two levels": ("a.csv", ["Price,Close,High,Low,Open,Volume", "Ticker,BTC-USD,BTC-USD,BTC-USD,BTC-USD,BTC-USD", "Datetime,,,,,",
                             *rows("{t},{c},{h},{l},{o},{v}", stamped("%Y-%m-%d %H:%M:%S+00:00"))]),
    "yfinance, flat": ("a.csv", ["Datetime,Open,High,Low,Close,Adj Close,Volume", *rows("{t},{o},{h},{l},{c},{c},{v}", stamped("%Y-%m-%d %H:%M:%S+00:00"))]),
    "European": ("a.csv", ["Datum;Open;High;Low;Close;Volume".replace("Datum", "Date"),
                 *european(rows("{t};{o};{h};{l};{c};{v}", stamped("%d/%m/%Y %H:%M")))]),
    "European without names": ("a.csv", european(rows("{t};{o};{h};{l};{c};{v}", stamped("%Y-%m-%d %H:%M")))),
    "a title above the header": ("a.csv", ["Bitcoin, hourly, by me", "", "time,open,high,low,close,volume", *rows("{t},{o},{h},{l},{c},{v}")]),
    "index_label=False": ("a.csv", ["open,high,low,close,volume", *rows("{t},{o},{h},{l},{c},{v}", stamped("%Y-%m-%d %H:%M:%S"))]),
    "repeated headers": ("a.csv", ["time,open,high,low,close,volume", *rows("{t},{o},{h},{l},{c},{v}")[:2],
                         "time,open,high,low,close,volume", *rows("{t},{o},{h},{l},{c},{v}")[2:]]),
    "a number of the row first": ("a.csv", [",time,open,high,low,close,volume", *[f"{at},{row}" for at, row in enumerate(rows("{t},{o},{h},{l},{c},{v}"))]]),
    "quoted, with dollars": ("a.csv", ["Date,Open,High,Low,Close,Volume", *rows('"{t}","${o}","${h}","${l}","${c}",{v}', stamped("%b %d, %Y %H:%M"))]),
    "delimiter at the end": ("a.csv", ["time;open;high;low;close;volume;", *rows("{t};{o};{h};{l};{c};{v};")]),
    "wrong column named time": ("a.csv", ["time,when,open,high,low,close,volume", *rows("{{0}},{t},{o},{h},{l},{c},{v}".replace("{{0}}", "7"))]),
    "strange names": ("a.csv", ["when,a,b,c,d,e", *rows("{t},{o},{h},{l},{c},{v}", stamped("%Y-%m-%d %H:%M"))]),
    "one damaged line": ("a.csv", ["time,open,high,low,close,volume", *rows("{t},{o},{h},{l},{c},{v}"), "garbage,1,x,1,1,1"]),
    "JSON of Hyperliquid": ("a.json", [json.dumps([{"t": t, "T": t + 9, "s": "BTC", "i": "1h", "o": str(o), "c": str(c), "h": str(h), "l": str(low), "v": str(v), "n": 3}
                            for t, (o, h, low, c), v in zip(MS, OHLC, BASE, strict=True)])]),
    "JSON of Deribit": ("a.json", [json.dumps({"jsonrpc": "2.0", "result": {"ticks": MS, "status": "ok", "volume": BASE, "cost": QUOTE,
                        **{name: [row[at] for row in OHLC] for at, name in enumerate(("open", "high", "low", "close"))}}})]),
    "JSON of Bybit": ("a.json", [json.dumps({"retCode": 0, "result": {"list": [[str(t), *map(str, row), str(v), str(q)]
                      for t, row, v, q in zip(MS, OHLC, BASE, QUOTE, strict=True)]}})]),
    "JSON of Kraken": ("a.json", [json.dumps({"error": [], "result": {"XXBTZUSD": [[t // 1000, *map(str, row), str((row[0] + row[3]) / 2), str(v), 7]
                       for t, row, v in zip(MS, OHLC, BASE, strict=True)], "last": 5}})]),
    "JSON of pandas": ("a.json", [pd.DataFrame(OHLC, MS, ["open", "high", "low", "close"]).assign(volume=BASE).to_json()]),
    "JSON of pandas, split": ("a.json", [pd.DataFrame(OHLC, HOURS, ["open", "high", "low", "close"]).assign(volume=BASE).to_json(orient="split", date_format="iso")]),
    "JSON of pandas, by index": ("a.json", [pd.DataFrame(OHLC, MS, ["open", "high", "low", "close"]).assign(volume=BASE).to_json(orient="index")]),
}  # fmt: skip


@pytest.mark.parametrize("name", PEOPLE)
def test_candles_of_a_form_are_the_true_rows_or_the_named_remedy_gives_them(name: str, tmp_path: Path) -> None:
    file, lines = PEOPLE[name]
    encoding = ("utf-8", "utf-8-sig", "utf-16")[list(PEOPLE).index(name) % 3]
    path = tmp_path / file
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    found = [each for _, each in loads(path)]
    expected = [(time, *prices, volume) for time, prices, volume in zip(HOURS, OHLC, BASE, strict=True)]
    columns = ["time", "open", "high", "low", "close", "volume"]
    assert expected in [list(one[columns].itertuples(index=False, name=None)) for one in found], str(found)


TRADE_ROWS = [("buy", 100.5, 0.25), ("sell", 100.0, 1.5), ("sell", 99.5, 0.75), ("buy", 101.0, 2.0)]
TRADES: dict[str, tuple[str, list[str], bool]] = {
    "OKX": ("a.csv", ["instrument_name,trade_id,side,price,size,created_time", *[f"BTC-USDT,{at},{side},{price},{size},{MS[at]}"
            for at, (side, price, size) in enumerate(TRADE_ROWS)]], True),
    "Bitget": ("a.csv", ["trade_id,timestamp,price,side,volume(quote),size(base)", *[f"{at},{MS[at]},{price},{side},{price * size},{size}"
               for at, (side, price, size) in enumerate(TRADE_ROWS)]], True),
    "Kraken": ("XBTUSD.csv", [f"{MS[at] / 1000},{price},{size}" for at, (_, price, size) in enumerate(TRADE_ROWS)], False),
    "Binance's interface": ("a.json", [json.dumps([{"a": at, "p": str(price), "q": str(size), "f": 1, "l": 2, "T": MS[at], "m": side == "sell", "M": True}
                            for at, (side, price, size) in enumerate(TRADE_ROWS)])], True),
    "Deribit": ("a.json", [json.dumps({"result": {"trades": [{"timestamp": MS[at], "price": price, "amount": size, "direction": side, "trade_id": f"T{at}",
                "instrument_name": "BTC_USDC-PERPETUAL"} for at, (side, price, size) in enumerate(TRADE_ROWS)], "has_more": False}})], True),
    "Hyperliquid": ("a.json", [json.dumps([{"coin": "BTC", "side": "B" if side == "buy" else "A", "px": str(price), "sz": str(size), "time": MS[at], "tid": at}
                    for at, (side, price, size) in enumerate(TRADE_ROWS)])], True),
}  # fmt: skip


@pytest.mark.parametrize("name", TRADES)
def test_trades_of_a_form_are_events_with_their_sides(name: str, tmp_path: Path) -> None:
    file, lines, sided = TRADES[name]
    (tmp_path / file).write_text("\n".join(lines) + "\n")
    events = data.load(tmp_path / file, progress=False)
    assert isinstance(events, Events)
    signs = {"buy": 1, "sell": -1} if sided else {"buy": 0, "sell": 0}
    rows = events.array[["exchange_ns", "side", "price", "quantity"]].tolist()
    assert rows == [(MS[at] * 10**6, signs[side], *one) for at, (side, *one) in enumerate(TRADE_ROWS)]


def test_what_another_library_reads_names_it_and_its_frame_is_taken(tmp_path: Path) -> None:
    for ending in ("h5", "xlsx", "pkl"):
        (tmp_path / f"BTC_USDT-1h.{ending}").write_bytes(b"x")
        with pytest.raises(InputError, match=r"Pass its frame: data\.load\(pandas\.read_\w+\('"):
            data.load(tmp_path / f"BTC_USDT-1h.{ending}")
    frame = pd.DataFrame(OHLC, HOURS, ["Open", "High", "Low", "Close"])
    wide = pd.concat({"BTC": frame, "ETH": frame.iloc[1:]}, axis=1)
    for given in (wide, wide.swaplevel(axis=1)):
        found = data.load(given, progress=False)
        assert found["symbol"].tolist() == ["BTC"] * 4 + ["ETH"] * 3
        assert found["time"].tolist() == [*HOURS, *HOURS[1:]]


def test_what_was_understood_is_said_in_a_line_and_in_the_frame(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, lines = PEOPLE["Binance, new unit in the middle"]
    (tmp_path / file).write_text("\n".join([*lines[:2], *lines[3:]]))
    frame = data.load(tmp_path / file)
    said = "4 rows, 2024-01-30 00:00 to 2024-01-30 03:00 UTC, times in ms and µs, volume in volume"
    assert capsys.readouterr().out == f"{file}: read as csv (guessed), {said.replace('4 rows', '3 rows')}\n"
    understood = frame.attrs["understood"]
    assert (understood["unit"], understood["zone"], understood["rows"]) == ("ms and µs", "UTC", 3)
    missing = frame.attrs["coverage"]["missing"]
    assert missing == [(HOURS[2], HOURS[3])]
    assert data.check(frame)[["problem", "count"]].values.tolist()[-1] == ["gap", 1]
    frame.to_parquet(tmp_path / "kept.parquet")
    assert data.load(tmp_path / "kept.parquet").attrs["coverage"]["missing"] == missing


def test_a_remedy_that_drops_every_row_is_no_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,open,high,low,close\n" + "soon,1,2,1,2\n" * 4)
    with pytest.raises(InputError) as raised:
        data.load(path)
    assert "skip" not in str(raised.value)
    with pytest.raises(InputError, match="would leave none of its 4 rows"):
        data.load(path, damaged="skip")
