"""Recordings of a session's feed (`record`), as events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ....stored.tables import read_table
from ..event_array import MS, Kind, empty, from_columns, with_clears
from ..events import Events, merge
from ..recording import Recording, frame_of, without_earlier
from ..recording_store import JOURNAL, PART, parts_of
from .text_files import TextFile


def read(source: TextFile) -> dict[str, Events]:
    """Return the events of a recording by symbol: its order books, trades, and the prices of its ticker.

    Rows that a crash left in the journal are written first. The notes have each interruption of a feed that the
    recording knows of.

    Parameters
    ----------
    source : TextFile
        Directory of the recording.

    Raises
    ------
    InputError
        For a directory without market data, and for a damaged part.
    """
    path, recording = source.path, Recording(source.path)
    left = [] if _recovered(recording) else ["it is still being recorded: the newest rows are not in its files yet"]
    found = {}
    states = recording.frame("status")
    for symbol in recording.symbols:
        channels = [np.concatenate([each.array for each in channel]) for channel in channels_of(path, symbol)]
        if not any(map(len, channels)):
            continue
        made = merge(map(Events, channels))
        notes = left + _interruptions(states[states["subject"].str.contains(symbol, regex=False, na=False)])
        found[symbol] = Events(made.array, symbol=symbol, source=f"{path} (recording)", notes=notes)
    if not found:
        there = ", ".join(recording.channels) or "nothing"
        text = f"{path}: expected a recording with order_book or trades, but it has {there}"
        raise InputError(text, field="path", value=str(path))
    return found


def _recovered(recording: Recording) -> bool:
    """Write what a crash left in the journal; return whether it could be, as no recorder is at work."""
    if (recording.path / JOURNAL).exists():
        try:
            recording.recover()
        except InputError:
            return False
    return True


@dataclass(frozen=True)
class RecordedChannel:
    """One channel of a product in a recording, whose events are read part by part.

    Parts are files that never change, so equal channels have equal events.

    Attributes
    ----------
    path : Path
        Directory of the recording.
    symbol : str
        Product symbol.
    channel : str
        Name of the channel, a key of `MARKET`.
    parts : tuple of Path
        Its files, in the order of their receipt.
    """

    path: Path
    symbol: str
    channel: str
    parts: tuple[Path, ...]

    def __iter__(self) -> Iterator[Events]:
        """Yield the events of each part."""
        memory: dict[str, Any] = {}
        for part in self.parts:
            try:
                frame = frame_of(read_table(part, PART)[0])
                yield Events(MARKET[self.channel](frame, memory), symbol=self.symbol)
            except (OSError, ValueError, KeyError) as error:
                if isinstance(error, InputError):
                    raise
                text = f"{self.path}: expected the parts of a recording: {error}"
                raise InputError(text, field="path", value=str(self.path)) from None


def channels_of(path: Path, symbol: str) -> list[RecordedChannel]:
    """Return the channels of a product in a recording that say how its market was. Their events are read together.

    Parameters
    ----------
    path : Path
        Directory of the recording.
    symbol : str
        Product symbol.

    """
    _recovered(Recording(path))
    # By name, which begins with the time: around midnight, rows of two days come by turns.
    parts = {name: tuple(sorted(parts_of(path, name, symbol), key=lambda part: part.name)) for name in MARKET}
    return [RecordedChannel(path, symbol, name, files) for name, files in parts.items() if files]


def _interruptions(states: pd.DataFrame) -> list[str]:
    """Return a sentence for each time the feed was interrupted, or its recording."""
    usual = states["state"].str.startswith("live") | states["state"].isin(["connecting", "subscribing", "closed"])
    broken = states[~usual]
    rows = zip(broken["subject"], broken["state"], broken["received"], broken["reason"].fillna(""), strict=True)
    return [f"{subject} was {state} at {at}{f': {why}' if why else ''}" for subject, state, at, why in rows]


def _times(frame: pd.DataFrame) -> dict[str, NDArray[np.int64]]:
    columns = {"exchange_ns": "time", "local_ns": "received"}
    return {
        name: np.asarray(frame[column].astype("datetime64[ms, UTC]").astype("int64"), dtype=np.int64) * MS
        for name, column in columns.items()
    }


def _book(frame: pd.DataFrame, memory: dict[str, Any]) -> NDArray[Any]:
    snapshot = (frame["kind"] == "snapshot").to_numpy(dtype=bool)
    identity = frame["sequence"].fillna(0).to_numpy(dtype="i8")
    levels = _rows(frame, kind=np.where(snapshot, Kind.SNAPSHOT, Kind.DEPTH), id=identity)
    changed = np.ones(len(frame), dtype=bool)
    # a feed without sequences has only its times to tell two messages apart
    parts = (identity, snapshot, *_times(frame).values())
    changed[1:] = np.logical_or.reduce([values[1:] != values[:-1] for values in parts])
    return with_clears(levels, np.flatnonzero(snapshot & changed))


def _trades(frame: pd.DataFrame, memory: dict[str, Any]) -> NDArray[Any]:
    began = memory.setdefault("began", frame["received"].min())
    return _rows(without_earlier(frame, began), kind=Kind.TRADE)


def _rows(frame: pd.DataFrame, **more: object) -> NDArray[Any]:
    amounts = {name: frame[name].to_numpy(dtype="f8") for name in ("price", "quantity")}
    sides = np.where(frame["side"] == "BUY", 1, -1)
    return from_columns({**_times(frame), **amounts, "side": sides, **more}, len(frame))


def _prices(frame: pd.DataFrame, memory: dict[str, Any]) -> NDArray[Any]:
    parts = [empty()]
    for column, kind in (("mark_price", Kind.MARK), ("index_price", Kind.INDEX), ("oracle_price", Kind.INDEX)):
        if column in frame:
            price = frame[column].to_numpy(dtype="f8", na_value=np.nan)
            before = np.append(memory.get(column, np.nan), price)
            memory[column] = before[-1]
            there = np.isfinite(price) & (price != before[:-1])
            values = {**_times(frame[there]), "kind": kind, "price": price[there]}
            parts.append(from_columns(values, int(there.sum())))
    return merge(map(Events, parts)).array


MARKET = {"order_book": _book, "trades": _trades, "ticker": _prices}
"""Channel → what makes events of the rows of a part, given what the parts before it left to remember."""
