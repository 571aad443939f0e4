"""Every kind of file is read; changed at random it is read or refused with its name, never with a raw traceback."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.research.data.formats.samples import MS, SAMPLES, zipped
from toolkit.errors import InputError
from toolkit.research import data
from toolkit.research.data.events import Events

TEXTS = [
    b"",
    b"x",
    b"NaN",
    b"inf",
    b"-1",
    b"1e400",
    b"9" * 30,
    b"null",
    b'"',
    b"{}",
    b"[]",
    b"\x00",
    b"\xff\xfe",
    b"true",
]
FIELD = re.compile(rb"[^,;:\[\]{}\"\s]+")


def plain(packed: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """Return what is in a file, and how to pack it again."""
    if packed[:2] == b"\x1f\x8b":
        return gzip.decompress(packed), gzip.compress
    if packed[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(BytesIO(packed)) as archive:
            name = archive.namelist()[0]
            return archive.read(name), lambda text: zipped(name, text)
    return packed, bytes


def mutated(packed: bytes, rng: random.Random) -> bytes:
    """Return a file with one to three changes: to its bytes, its lines or its fields."""
    for _ in range(rng.randint(1, 3)):
        text, pack = packed, bytes
        if rng.random() < 0.75:
            with suppress(
                OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile
            ):  # what an earlier change has damaged
                text, pack = plain(packed)
        rows = text.split(b"\n")
        at = rng.randrange(len(text) + 1)
        change = rng.randrange(8)
        if change == 0:
            text = text[:at]
        elif change == 1 and text:
            place = min(at, len(text) - 1)
            text = text[:place] + bytes([text[place] ^ 1 << rng.randrange(8)]) + text[place + 1 :]
        elif change == 2:
            text = text[:at] + text[at + rng.randint(1, 40) :]
        elif change == 3:
            text = text[:at] + rng.randbytes(rng.randint(1, 6)) + text[at:]
        elif change == 4:
            rows.insert(rng.randrange(len(rows)), rng.choice(rows))
            text = b"\n".join(rows)
        elif change == 5:
            rng.shuffle(rows)
            text = b"\n".join(rows)
        elif change == 6:
            fields = rows[0].split(b",")
            rng.shuffle(fields)
            text = b"\n".join([b",".join(fields), *rows[1:]])
        elif found := list(FIELD.finditer(text)):
            field = rng.choice(found)
            text = text[: field.start()] + rng.choice(TEXTS) + text[field.end() :]
        packed = pack(text)
    return packed


def loaded(path: Path, format: str | None, **options: Any) -> Any:
    """Return what is loaded, after checking it, or None when it was refused in the right way."""
    try:
        found = data.load(path, format=format, progress=False, **options)
    except InputError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the file is not named: {error}") from error
        return None
    for part in found.values() if isinstance(found, dict) else [found]:
        data.check(part)
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_every_variant_is_guessed_and_read_whole(name: str, tmp_path: Path) -> None:
    format, file, make = SAMPLES[name]
    path = tmp_path / file
    path.write_bytes(make())
    found = data.load(path)
    pd.testing.assert_frame_equal(*(shown(one) for one in (found, data.load(path, format=format))))
    frame = shown(found)
    assert len(frame)
    stamps = frame["exchange_time" if "exchange_time" in frame else "time"]
    assert stamps.between(pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2025-01-01", tz="UTC")).all()
    assert "value" not in set(data.check(next(iter(found.values())) if isinstance(found, dict) else found)["problem"])


def shown(found: Any) -> pd.DataFrame:
    if isinstance(found, dict):
        found = next(iter(found.values()))
    return found.frame() if isinstance(found, Events) else found


def test_what_the_variants_hold(tmp_path: Path) -> None:
    def events(name: str) -> Any:
        format, file, make = SAMPLES[name]
        path = tmp_path / file
        path.write_bytes(make())
        return data.load(path, format=format)

    combined = events("combined")
    assert list(combined) == ["BTCUSDT", "ETHUSDT"]
    counts = {"depth": 3, "trade": 2, "clear": 2, "snapshot": 40, "quote": 2, "mark": 1, "index": 1, "funding": 1}
    assert combined["BTCUSDT"].counts() == counts
    assert combined["ETHUSDT"].array["exchange_ns"].tolist() == [(MS + 1) * 10**6] * 3
    assert events("stamped in s")["BTCUSDT"].array["local_ns"][0] == 1_700_000_000_250_000_000
    assert events("stamped in ISO")["BTCUSDT"].array["local_ns"][0] == 1_700_000_000_500_000_000
    spot = events("spot in µs")
    assert spot.array["exchange_ns"].tolist()[3:5] == [MS * 10**6] * 2
    assert spot.counts() == {"depth": 3, "trade": 2, "quote": 2}
    best = events("depth20")
    assert best.counts() == {"clear": 8, "snapshot": 160}
    assert best.array["price"][best.array["kind"] == 3].tolist()[:2] == [81.0, 120.0]
    assert "20 levels a side, so they were read as the best levels" in best.notes[0]
    stream = events("bybit stream")
    assert stream.counts() == {"depth": 2, "trade": 1, "clear": 2, "snapshot": 4, "mark": 1, "index": 1, "funding": 1}
    assert (events("bybit spot trades").symbol, events("bybit trades").symbol) == ("BTCUSDT", "BTCUSDT")
    assert events("bybit trades").array["exchange_ns"].tolist() == [1_704_067_200_012_300_000]
    assert events("tardis snapshots of 5").counts() == {"clear": 4, "snapshot": 19}
    assert events("npz of version 1").array["local_ns"].tolist() == [MS * 10**6 + 5000]
    assert list(events("freqtrade funding").columns) == ["time", "symbol", "rate"]
    for name in ("candles", "candles with semicolons", "candles under a comment", "candles with spaces"):
        row = events(name)[["open", "high", "low", "close", "volume"]].iloc[0].tolist()
        assert row == [1.5, 2.0, 1.0, 1.7, 9.0], name
        assert str(events(name)["time"].iloc[0]) == "2024-01-01 00:00:00+00:00"


@pytest.mark.parametrize("ending", ["gz", "bz2", "zip", "xz", "zst"])
def test_files_may_be_packed_and_are_refused_when_they_are_cut_off(ending: str, tmp_path: Path) -> None:
    rows = b"\n".join([b"time,open,high,low,close,volume", *(b"%d,1,2,1,2,%d" % (MS + n, n) for n in range(2000))])
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(rows)
    packed = {"gz": gzip.compress(rows), "bz2": bz2.compress(rows), "xz": lzma.compress(rows),
              "zip": zipped("a.csv", rows), "zst": sink.getvalue().to_pybytes()}[ending]  # fmt: skip
    path = tmp_path / f"candles.csv.{ending}"
    path.write_bytes(packed)
    assert len(data.load(path, format="csv")) == 2000
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"candles.csv.\w+, line \d+: expected more data, but the compressed file"):
        data.load(path, format="csv")


@pytest.mark.parametrize("time", ["9" * 400, "1e999999999", "9e99"])
def test_a_number_that_no_time_can_be_is_refused_by_its_line(time: str, tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    rows = [f"{MS + n},1,2,1,2,{n}" for n in range(5)]
    path.write_text("\n".join(["time,open,high,low,close,volume", *rows, f"{time},1,2,1,2,9"]))
    with pytest.raises(InputError, match=r"c\.csv, line 7"):
        data.load(path, format="csv")


def storm(tmp_path: Path, seeds: range) -> int:
    """Load files changed at random; return how many of them were read."""
    read = 0
    for seed in seeds:
        rng = random.Random(seed)
        name = rng.choice(list(SAMPLES))
        format, file, make = SAMPLES[name]
        path = tmp_path / file
        path.write_bytes(mutated(make(), rng))
        for skip in ("raise", "skip"):
            try:
                read += loaded(path, rng.choice([format, format, None]), damaged=skip) is not None
            except Exception as error:
                error.add_note(f"seed {seed}: {name}, damaged={skip}")
                raise
    return read


def test_changed_files_are_read_or_refused(tmp_path: Path) -> None:
    assert storm(tmp_path, range(20)) > 4


@pytest.mark.slow
def test_a_thousand_changed_files_are_read_or_refused(tmp_path: Path) -> None:
    assert storm(tmp_path, range(1000, 2000)) > 250


def test_damaged_rows_of_tables_are_left_out_on_request_and_the_first_is_named(tmp_path: Path) -> None:
    head = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
    good = f"bitmex,XBTUSD,{MS}000,{MS}001,1,sell,8531.5,2152"
    rows = [head, "", good, good.replace("sell", "sold"), good, "", good.replace("8531.5", "x"), good + ",9", good[:40]]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n")
    expected = {
        4: "buy or sell or unknown in the column side", 7: "a number in the column price",
        8: "8 fields as in the first line, not 9", 9: "8 fields as in the first line, not fewer",
    }  # fmt: skip
    for line, words in expected.items():
        path.write_text("\n".join([head, "", good, *([""] * (line - 4)), rows[line - 1]]) + "\n")
        with pytest.raises(InputError, match=rf"t\.csv, line {line}: expected {words}"):
            data.load(path, format="tardis")
    path.write_text("\n".join(rows) + "\n")
    events = data.load(path, format="tardis", damaged="skip")
    assert len(events) == 2
    assert events.notes[0].startswith("4 damaged lines were left out, the first: ")
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress("\n".join([head, *[good] * 5000]).encode())[:-30])
    with pytest.raises(InputError, match=r"cut.csv.gz, line \d+: expected more data"):
        data.load(cut, format="tardis")
    assert "cut off" in data.load(cut, format="tardis", damaged="skip").notes[0]


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_last_line_without_an_end_is_said(tmp_path: Path, end: str) -> None:
    path = tmp_path / "candles.csv"
    path.write_text(f"time,open,high,low,close,volume\n{MS},1,2,1,2,30\n{MS + 60_000},1,2,1,2,300{end}")
    notes = data.check(data.load(path, format="csv"))["detail"].tolist()
    assert any("has no line end" in note for note in notes) is (end == "")
