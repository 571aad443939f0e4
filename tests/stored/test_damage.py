"""Damage to a stored file never becomes a value: what is read is what was written, or the file is refused in words.

Each kind of file is written once, then damaged at random: bits, bytes, blocks of zeros, cut off, repeated, lengthened.
"""

from __future__ import annotations

import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import toolkit
from tests import persisted_formats
from toolkit.classroom.roster import Roster
from toolkit.client.orders.ledger_file import SqliteLedger
from toolkit.client.reads.candle_cache import CandleCache
from toolkit.errors import DataWarning, ToolkitError
from toolkit.research import Strategy, backtest
from toolkit.research.analysis.results import FRAMES, Results
from toolkit.research.data.event_array import Kind, from_columns
from toolkit.research.data.events import Events, read_events
from toolkit.research.data.recording import Recording
from toolkit.research.data.recording_store import Store
from toolkit.research.selection.points import Point, RecordFile, make_record
from toolkit.venue.engine.core import Core
from toolkit.venue.lab.journal import Journal
from toolkit.venue.local import LocalVenue
from toolkit.wallet import Wallet

NOW = 1_767_225_600_000


@dataclass(frozen=True)
class Stored:
    """A kind of file: `write` makes it in a folder, `read` returns what it holds, `partial` allows fewer rows of it."""

    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    partial: bool = False


class Buy(Strategy):
    """Buys once."""

    def on_bar(self, ctx: Any, bar: Any) -> None:
        if not ctx.position("BTCUSDC"):
            ctx.buy("BTCUSDC", "0.01")


def bars() -> pd.DataFrame:
    times = pd.date_range("2026-01-01", periods=60, freq="1min", tz="UTC")
    prices = 60_000 + np.arange(60.0)
    columns = dict.fromkeys(("open", "high", "low", "close"), prices)
    return pd.DataFrame({"time": times, "symbol": "BTCUSDC", **columns, "volume": 1.0})


def frames(run: Results) -> list[str]:
    """Return the frames of a run as text, in which NaN is equal to NaN."""
    return [json.dumps(getattr(run, name).reset_index().to_dict("list"), default=str) for name in FRAMES] + [run.name]


def candles(folder: Path) -> list[Any]:
    kept, covered = CandleCache(folder, "local 0x1").load("BTCUSDC", 60)
    return [kept.to_dict("list"), covered] if len(kept) else []


def write_candles(folder: Path) -> None:
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as session:
        kept = session.klines("BTCUSDC", "1m", limit=300, index=None)
    CandleCache(folder, "local 0x1").store("BTCUSDC", 60, kept, [(NOW - 18_000_000, NOW)])


def events() -> Events:
    count, random_state = 400, np.random.default_rng(7)
    numbers = np.arange(count)
    columns = {
        "exchange_ns": numbers * 1_000_000, "local_ns": numbers * 1_000_000 + 5, "id": numbers,
        "kind": np.full(count, Kind.TRADE), "side": random_state.choice([-1, 1], count),
        "price": 60_000 + random_state.integers(0, 99, count) / 10, "quantity": random_state.integers(1, 99, count) / 8,
    }  # fmt: skip
    return Events(from_columns(columns, count), symbol="BTCUSDC", source="made up")


def write_recording(folder: Path, *, close: bool = True) -> None:
    store = Store(folder, identity="local 0x1")
    now = pd.Timestamp(NOW, unit="ms", tz="UTC").to_pydatetime()
    for at in range(60):
        row = {"time": now, "symbol": "BTCUSDC", "side": "BUY", "price": Decimal(60_000 + at), "quantity": Decimal(1)}
        store.append("trades", "BTCUSDC", [row], now, "incremental", at)
    if close:
        store.close()
    else:  # as a killed process leaves it
        for segment in store._open.values():
            segment.journal.close()
        assert store._held is not None
        store._held.close()


def recovered(folder: Path) -> list[Any]:
    recording = Recording(folder)
    recording.recover()
    return recording.frame("trades")[["price", "quantity", "sequence"]].to_dict("records")


def write_sweep(folder: Path) -> None:
    with RecordFile(folder / "sweep.jsonl", retry_failed=False) as file:
        for number in range(20):
            point = Point(f"k{number}", {"fast": number}, 7)
            file.add(dict(make_record(point, {"sharpe": number / 3}, "", "", 0.5)))


def intents(folder: Path) -> list[Any]:
    ledger = SqliteLedger(folder / "intents.sqlite")
    try:
        return [*ledger.all(), *ledger.notes().items()]
    finally:
        ledger.close()


def replayed(folder: Path) -> str:
    journal = Journal.open(folder / "venue.journal", sync="os")
    try:
        return journal.replay().state_hash()
    finally:
        journal.close()


PASSWORD = "correct horse"
KEY = "0x" + "11" * 32

KINDS = {
    "candle cache": Stored(write_candles, candles, partial=True),
    "events": Stored(
        lambda folder: events().save(folder / "events.parquet"),
        lambda folder: read_events(folder / "events.parquet").array.tolist(),
    ),
    "recording": Stored(
        write_recording, lambda folder: Recording(folder).frame("trades").astype(str).to_dict("records")
    ),
    "journal of a recording": Stored(lambda folder: write_recording(folder, close=False), recovered, partial=True),
    "results": Stored(
        lambda folder: backtest(Buy(), bars()).save(folder) and None, lambda folder: frames(Results.load(folder))
    ),
    "sweep": Stored(
        write_sweep,
        lambda folder: list(RecordFile(folder / "sweep.jsonl", retry_failed=False).known.values()),
        partial=True,
    ),
    "class": Stored(
        lambda folder: persisted_formats.roster().save(folder / "class.json"),
        lambda folder: list(Roster.load(folder / "class.json").students),
    ),
    "ledger": Stored(lambda folder: persisted_formats._write_ledger(folder / "intents.sqlite"), intents, partial=True),
    "venue journal": Stored(lambda folder: persisted_formats._write_journal(folder / "venue.journal"), replayed),
    "venue dump": Stored(
        lambda folder: persisted_formats._write_dump(folder / "venue.dump"),
        lambda folder: Core.load((folder / "venue.dump").read_bytes()).state_hash(),
    ),
    "key file": Stored(
        lambda folder: Wallet(agent=KEY).save_keyfile(folder / "key.json", PASSWORD) and None,
        lambda folder: Wallet.from_keyfile(folder / "key.json", PASSWORD).agent,
    ),
}  # fmt: skip


def damaged(raw: bytes, draw: random.Random) -> bytes:
    """Return the bytes with one kind of damage."""
    made, at = bytearray(raw), draw.randrange(len(raw))
    span = draw.choice((1, 16, 512))
    match draw.choice(("bit", "bit", "bit", "byte", "zeros", "cut", "repeat", "longer", "swap")):
        case "bit":
            made[at] ^= 1 << draw.randrange(8)
        case "byte":
            made[at] = draw.randrange(256)
        case "zeros":
            made[at : at + span] = bytes(len(made[at : at + span]))
        case "cut":
            del made[at:]
        case "repeat":
            made[at:at] = made[at : at + span]
        case "longer":
            made += bytes(draw.randrange(256) for _ in range(span))
        case "swap":
            del made[at : at + span]
    return bytes(made)


def read(kind: Stored, folder: Path) -> Any:
    """Return what a damaged file gives: its content, or None where it is refused in words. Other errors are faults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        warnings.filterwarnings("ignore", "the dump kept in", RuntimeWarning)
        try:
            return kind.read(folder)
        except ToolkitError:
            return None


def outcomes(name: str, folder: Path, cases: int, seed: int) -> Iterator[str]:
    kind, source = KINDS[name], folder / "whole"
    source.mkdir()
    kind.write(source)
    files = sorted(path for path in source.rglob("*") if path.is_file() and path.stat().st_size)
    shutil.copytree(source, folder / "read")
    whole = kind.read(folder / "read")
    assert whole
    draw = random.Random(seed)
    for _ in range(cases):
        shutil.rmtree(folder / "read")
        shutil.copytree(source, folder / "read")
        target = folder / "read" / draw.choice(files).relative_to(source)
        target.write_bytes(damaged(target.read_bytes(), draw))
        found = read(kind, folder / "read")
        if found is None or (not found and name == "candle cache"):  # it says so in a warning, and reads the venue
            yield "refused"
        elif found == whole:
            yield "same"
        else:
            assert kind.partial, f"{target.name} was read as something else"
            assert all(one in whole for one in found), f"{target.name} was read with other rows"
            yield "fewer rows"


CASES = {"key file": 6, "results": 30}


@pytest.mark.parametrize("name", KINDS)
def test_damage_never_becomes_a_value(name: str, tmp_path: Path) -> None:
    found = list(outcomes(name, tmp_path, CASES.get(name, 100), 1))
    assert "refused" in found or KINDS[name].partial


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(1_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
        pytest.param(5_000, marks=[pytest.mark.long, pytest.mark.timeout(3_600)]),
    ],
)
@pytest.mark.parametrize("name", KINDS)
def test_damage_never_becomes_a_value_in_thousands_of_cases(name: str, cases: int, tmp_path: Path) -> None:
    # Opening a key file takes most of a second, and results are fifteen files.
    found = list(outcomes(name, tmp_path, cases // {"key file": 25, "results": 3}.get(name, 1), cases))
    print(name, {word: found.count(word) for word in sorted(set(found))})
