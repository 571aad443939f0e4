"""Recordings of a session's feed (`record`), as events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ..event_array import MS, Kind, empty, from_columns, with_clears
from ..events import Events, merge
from ..recording import Recording
from ..recording_store import JOURNAL
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
    path, recording, left = source.path, Recording(source.path), list[str]()
    if (path / JOURNAL).exists():
        try:
            recording.recover()
        except InputError:
            left.append("it is still being recorded: the newest rows are not in its files yet")
    try:
        return _read(path, recording, left)
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: expected the parts of a recording: {error}", field="path", value=str(path)) from None


def _read(path: Path, recording: Recording, left: list[str]) -> dict[str, Events]:
    found = {}
    states = recording.frame("status")
    for symbol in recording.symbols:
        parts = [_book(recording, symbol), _trades(recording.trades(symbol), symbol), _prices(recording, symbol)]
        made = merge([part for part in parts if len(part)] or parts[:1])
        if not len(made):
            continue
        notes = left + _interruptions(states[states["subject"].str.contains(symbol, regex=False, na=False)])
        found[symbol] = Events(made.array, symbol=symbol, source=f"{path} (recording)", notes=notes)
    if not found:
        there = ", ".join(recording.channels) or "nothing"
        text = f"{path}: expected a recording with order_book or trades, but it has {there}"
        raise InputError(text, field="path", value=str(path))
    return found


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


def _book(recording: Recording, symbol: str) -> Events:
    frame = recording.frame("order_book", symbol)
    snapshot = (frame["kind"] == "snapshot").to_numpy(dtype=bool)
    identity = frame["sequence"].fillna(0).to_numpy(dtype="i8")
    levels = _rows(frame, kind=np.where(snapshot, Kind.SNAPSHOT, Kind.DEPTH), id=identity)
    changed = np.ones(len(frame), dtype=bool)
    # a feed without sequences has only its times to tell two messages apart
    parts = (identity, snapshot, *_times(frame).values())
    changed[1:] = np.logical_or.reduce([values[1:] != values[:-1] for values in parts])
    return Events(with_clears(levels, np.flatnonzero(snapshot & changed)), symbol=symbol)


def _trades(frame: pd.DataFrame, symbol: str) -> Events:
    return Events(_rows(frame, kind=Kind.TRADE), symbol=symbol)


def _rows(frame: pd.DataFrame, **more: object) -> NDArray[Any]:
    amounts = {name: frame[name].to_numpy(dtype="f8") for name in ("price", "quantity")}
    sides = np.where(frame["side"] == "BUY", 1, -1)
    return from_columns({**_times(frame), **amounts, "side": sides, **more}, len(frame))


def _prices(recording: Recording, symbol: str) -> Events:
    frame = recording.frame("ticker", symbol)
    parts = [empty()]
    for column, kind in (("mark_price", Kind.MARK), ("index_price", Kind.INDEX), ("oracle_price", Kind.INDEX)):
        if column in frame:
            price = frame[column].to_numpy(dtype="f8", na_value=np.nan)
            there = np.isfinite(price) & np.concatenate([[True], price[1:] != price[:-1]])[: len(price)]
            values = {**_times(frame[there]), "kind": kind, "price": price[there]}
            parts.append(from_columns(values, int(there.sum())))
    return merge(Events(part, symbol=symbol) for part in parts)
