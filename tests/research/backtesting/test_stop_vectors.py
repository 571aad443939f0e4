"""Stops, trailing stops and targets against the numbers in vectorbt's tests: a row of `stops.jsonl` is one of them.

A row has its source, the bars, side and ratio, and bar and price of the exit, none where it is never left. There the
position is opened at the close of the first bar, so here that bar stands still: an order fills at the next open.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.research.markets import Scripted, bars
from toolkit.errors import InputError
from toolkit.research import Results, backtest
from toolkit.research.context import Context

ROWS = [json.loads(line) for line in Path(__file__).with_name("stops.jsonl").read_text("utf-8").splitlines()]
GRID = {"X": {"tick_size": "0.001", "step_size": "1", "min_order_value": "0"}}


def run_of(row: dict[str, Any], **options: Any) -> Results:
    entry, *rest = row["bars"]
    sign, stop, entered = (1 if row["side"] == "long" else -1), float(row["stop"]), entry[3]

    def enter(ctx: Context) -> None:
        (ctx.buy if sign > 0 else ctx.sell)("X", "10")
        level = f"{entered * (1 + sign * stop * (1 if row['kind'] == 'tp' else -1)):.6f}"
        if row["kind"] == "ts" and stop < float("inf"):
            ctx.trailing_stop("X", stop)
        elif row["kind"] == "tp" and 0 < float(level) < float("inf"):
            ctx.take_profit("X", level)
        elif row["kind"] == "sl" and 0 < float(level) < float("inf"):
            ctx.stop_loss("X", level)

    data = bars((entered,) * 4, (entered,) * 4, *map(tuple, rest), rest[-1][3:] * 4)
    free: dict[str, Any] = {"capital": 1_000_000, "products": GRID, "fees": ("0", "0"), "funding": None}
    return backtest(Scripted({0: enter}), {"X": data}, **free, **options)


def left(found: Results) -> list[Any] | None:
    """Return bar and price of the exit."""
    assert len(found.fills) <= 2
    if len(found.fills) == 1:
        return None
    last = found.fills.iloc[1]
    passed = last["time"] - found.equity.index[0].floor("h")
    return [int(passed.total_seconds() // 3600) - 1, last["price"]]


@pytest.mark.parametrize("every_point", [False, True])
@pytest.mark.parametrize("kind", ["sl", "ts", "tp"])
def test_exits_are_those_that_vectorbt_prints(kind: str, every_point: bool) -> None:
    rows = [row for row in ROWS if row["kind"] == kind]
    assert len(rows) == 28
    for row in rows:
        if kind == "ts" and 1 <= float(row["stop"]) < float("inf"):
            # More than the whole price. Here a ratio of 2 is taken for a mistyped 2 %, and refused in words.
            with pytest.raises(InputError, match="between 0 and 1"):
                run_of(row)
            continue
        assert left(run_of(row, every_point=every_point)) == row["exit"], row
