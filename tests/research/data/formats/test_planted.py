"""A problem planted anywhere in a file is found, and a file without one has none."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.research.data.formats.samples import MS
from toolkit.research import data

Rows = list[tuple[int, dict[str, Any]]]
"""Lines of a file: local time in ms, message."""


def levels(rng: random.Random, bid: int) -> dict[str, list[list[str]]]:
    """Return an update after which the best bid is `bid` and the best ask one tick above it."""
    near = [(bid - n, bid + 1 + n) for n in range(8)]
    set_ = {"b": [[f"{one / 10}", str(rng.randint(1, 9))] for one, _ in near[:3]],
            "a": [[f"{one / 10}", str(rng.randint(1, 9))] for _, one in near[:3]]}  # fmt: skip
    void = {"b": [[f"{one / 10}", "0"] for _, one in near], "a": [[f"{one / 10}", "0"] for one, _ in near]}
    return {side: set_[side] + void[side] for side in ("b", "a")}


def clean(rng: random.Random, format: str) -> Rows:
    rows: Rows = []
    bid, update, trade, time = 1000, rng.randrange(1, 10**12), rng.randrange(1, 10**10), MS
    for _ in range(rng.randint(10, 30)):
        time += rng.randint(1, 900)
        bid += rng.randint(-2, 2)
        book: dict[str, Any] = {"s": "AUSDT", **levels(rng, bid)}
        if format == "bybit":
            update += 1
            kind = "delta" if rows else "snapshot"
            rows.append((time, {"topic": "orderbook.500.AUSDT", "type": kind, "ts": time, "cts": time,
                                "data": {**book, "u": update}}))  # fmt: skip
            continue
        times, last, trade = {"E": time, "T": time}, update + rng.randint(1, 50), trade + 1
        rows.append((time, {"e": "depthUpdate", **times, **book, "U": update + 1, "u": last, "pu": update}))
        rows.append((time, {"e": "trade", **times, "s": "AUSDT", "t": trade, "p": f"{bid / 10}", "q": "1", "m": True}))
        update = last
    return rows


def exchanged(rows: Rows, at: int, other: int) -> None:
    rows[at], rows[other] = (rows[at][0], rows[other][1]), (rows[other][0], rows[at][1])


def crossed(rows: Rows, at: int, other: int) -> None:
    book = rows[at][1].get("data", rows[at][1])
    book["b"] = [[book["a"][1][0], "1"], *(level for level in book["b"] if level[0] != book["a"][1][0])]


def silent(rows: Rows, at: int, other: int) -> None:
    for number, (time, message) in enumerate(rows):
        later = 11_000 * (number >= at)
        rows[number] = (
            time + later,
            {name: value + later if name in ("E", "T", "ts", "cts") else value for name, value in message.items()},
        )


def negative(rows: Rows, at: int, other: int) -> None:
    rows[at][1].get("data", rows[at][1])["b"][0][1] = "-1"


PLANTED: list[tuple[str, Callable[[Rows, int, int], object]]] = [
    ("gap", lambda rows, at, other: rows.pop(at)),
    ("repeat", lambda rows, at, other: rows.insert(at, rows[at])),
    ("backwards", exchanged),
    ("silence", silent),
    ("crossed", crossed),
    ("value", negative),
]
"""Problem, and what plants it at a row; `other` is the next row of the same stream. The last two are a book's."""


def find_planted(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    format = rng.choice(["binance-usdm", "bybit"])

    def found(rows: Rows) -> set[str]:
        stamp = "{0}000000 {1}\n" if format == "binance-usdm" else "{1}\n"
        path.write_text("".join(stamp.format(time, json.dumps(message)) for time, message in rows))
        return set(data.check(data.load(path, format=format, progress=False))["problem"])

    rows = clean(rng, format)
    assert found(rows) == set(), seed
    of_trades = format == "binance-usdm" and rng.random() < 0.3
    places = [at for at, (_, message) in enumerate(rows) if (message.get("e") == "trade") == of_trades]
    problem, plant = rng.choice(PLANTED[:4] if of_trades else PLANTED)
    place = rng.randrange(2, len(places) - 2)
    changed = copy.deepcopy(rows)
    plant(changed, places[place], places[place + 1])
    assert problem in found(changed), f"seed {seed}: {problem} at line {places[place] + 1}"


def test_a_planted_problem_is_found(tmp_path: Path) -> None:
    for seed in range(50):
        find_planted(tmp_path / "file", seed)


@pytest.mark.slow
def test_a_thousand_planted_problems_are_found(tmp_path: Path) -> None:
    for seed in range(1000):
        find_planted(tmp_path / "file", seed)
