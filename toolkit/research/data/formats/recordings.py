"""Recordings of a session's feed (`record`), as events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError
from ..events import MS, Events, Kind, empty, from_columns, merge
from ..recording import Recording
from ..recording_store import JOURNAL


def read(path: Path) -> dict[str, Events]:
    """Return the events of a recording by symbol: its order books, trades, and the prices of its ticker.

    What a crash left in the journal is written first. Each interruption of a feed that the recording knows of stands in
    the notes. Raises InputError for a directory without market data, and for a damaged part.
    """
    recording = Recording(path)
    left = _recover(recording)
    try:
        return _read(path, recording, left)
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: expected the parts of a recording; {error}", field="path", value=str(path)) from None


def _recover(recording: Recording) -> list[str]:
    """Write the rows of a recording that was broken off; return a note when they can't be had."""
    if not (recording.path / JOURNAL).exists():
        return []
    try:
        recording.recover()
    except InputError:
        return ["it is still being recorded: the newest rows are not in its files yet"]
    return []


def _read(path: Path, recording: Recording, left: list[str]) -> dict[str, Events]:
    found = {}
    states = recording.frame("status")
    for symbol in recording.symbols:
        parts = [_book(recording, symbol), _trades(recording, symbol), _prices(recording, symbol)]
        made = merge([part for part in parts if len(part)] or parts[:1])
        if not len(made):
            continue
        notes = left + _interruptions(states[states["subject"].str.contains(symbol, regex=False, na=False)])
        found[symbol] = Events(made.array, symbol=symbol, source=f"{path} (recording)", notes=notes)
    if not found:
        there = ", ".join(recording.channels) or "nothing"
        raise InputError(
            f"{path}: expected a recording with order_book or trades; it has {there}", field="path", value=str(path)
        )
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
    levels = from_columns(
        {
            **_times(frame),
            "kind": np.where(snapshot, Kind.SNAPSHOT, Kind.DEPTH),
            "side": np.where(frame["side"] == "BUY", 1, -1),
            "price": frame["price"].to_numpy(dtype="f8"),
            "quantity": frame["quantity"].to_numpy(dtype="f8"),
            "id": identity,
        },
        len(frame),
    )
    changed = np.ones(len(frame), dtype=bool)
    # a feed without sequences has only its times to tell two messages apart
    parts = (identity, snapshot, *_times(frame).values())
    changed[1:] = np.logical_or.reduce([values[1:] != values[:-1] for values in parts])
    starts = np.flatnonzero(snapshot & changed)
    clears = empty(len(starts))
    for name in ("exchange_ns", "local_ns", "id"):
        clears[name] = levels[name][starts]
    clears["kind"] = Kind.CLEAR
    order = np.argsort(np.concatenate([starts, np.arange(len(frame))]), kind="stable")
    return Events(np.concatenate([clears, levels])[order], symbol=symbol)


def _trades(recording: Recording, symbol: str) -> Events:
    """Return the trades, without those of before the recording, with which a subscription begins."""
    frame = recording.frame("trades", symbol)
    frame = frame[(frame["kind"] != "snapshot") | (frame["time"] >= frame["received"].min())]
    columns = {
        **_times(frame),
        "kind": Kind.TRADE,
        "side": np.where(frame["side"] == "BUY", 1, -1),
        "price": frame["price"].to_numpy(dtype="f8"),
        "quantity": frame["quantity"].to_numpy(dtype="f8"),
    }
    return Events(from_columns(columns, len(frame)), symbol=symbol)


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
