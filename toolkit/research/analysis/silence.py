"""What a run leaves unsaid: why it has no orders, orders without a value, orders that wait in vain, its funding."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..data.bars import read_bars
from ..strategy import CALLBACKS, FunctionStrategy, Strategy, as_strategy, overrides

Finding = tuple[str, bool | None, str]
"""Name of the check, whether something was found (None: not known), and what."""
DONE = ("FILLED", "CANCELED", "REJECTED", "EXPIRED")
"""Statuses of orders that have ended."""


def silent(run: Any, given: Mapping[str, Any], again: Callable[[Mapping[str, Any]], Any], events: bool) -> Finding:
    """Return why a run has no orders, which of them lacked a value, and which wait for bars that have ended.

    Parameters
    ----------
    run : Results
        Results of the run.
    given : mapping of str to object
        Arguments of the run by name.
    again : callable
        Function of changed arguments that makes the run again.
    events : bool
        Whether the data is events.
    """
    missing, repeated = _without_value(given, again) if "strategy" in given and not events else ({}, None)
    found = []
    if not len(run.orders) and not len(run.fills):
        found.append(f"0 orders, because {_why_none(run, given, missing)}")
    if repeated is not None and missing:
        times = pd.DatetimeIndex(repeated.orders["time"]).as_unit("ms").asi8.tolist()
        lacking = [missing[time] for time in times if time in missing]
        if lacking:
            names = ", ".join(sorted(set().union(*lacking)))
            text = f"{len(lacking)} of {len(times)} orders were sent while an indicator had no value ({names})"
            found.append(f"{text}. A comparison with NaN is False")
    if not events:
        found += _waiting(run, given)
    return "silence", bool(found), "; ".join(found) or "none"


def _why_none(run: Any, given: Mapping[str, Any], missing: Mapping[int, set[str]]) -> str:
    refused = run.events[run.events["kind"] == "REJECTED"]
    if len(refused):
        return f"all {len(refused)} were rejected, the first: {refused['text'].iloc[0]}"
    if "strategy" not in given:
        return "no target ever changed"
    strategy = as_strategy(given["strategy"])
    if not any(overrides(strategy, name) for name in CALLBACKS):
        return f"the strategy has none of the callbacks {', '.join(CALLBACKS[1:4])} and so on"
    bars = sum(map(len, read_bars(given["data"]).values())) if missing else 0
    if bars and len(missing) >= len(run.equity) - 1:
        names = ", ".join(sorted(set.intersection(*missing.values())))
        return f"indicators had no value in any of {len(missing)} closes{f': {names}' if names else ''}"
    return "the strategy asked for none"


def _without_value(
    given: Mapping[str, Any], again: Callable[[Mapping[str, Any]], Any]
) -> tuple[dict[int, set[str]], Any]:
    """Return which indicators had no value at each close (Unix ms), and the run that was watched, None without one."""
    kind = given["strategy"] if isinstance(given["strategy"], type) else type(given["strategy"])
    if not issubclass(kind, Strategy) or issubclass(kind, FunctionStrategy):
        return {}, None
    missing: dict[int, set[str]] = {}

    class Watched(kind):  # type: ignore[misc, valid-type]
        def on_bar(self, ctx: Any, bar: Any) -> None:
            super().on_bar(ctx, bar)
            for name, held in vars(self).items():
                value = getattr(held, "value", None)
                if isinstance(value, float) and value != value:
                    missing.setdefault(ctx.now, set()).add(name)

    watched: Any = Watched
    if not isinstance(given["strategy"], type):
        watched = copy.copy(given["strategy"])
        watched.__class__ = Watched
    return missing, again({"strategy": watched})


def _waiting(run: Any, given: Mapping[str, Any]) -> list[str]:
    """Return the orders that are still open though the bars of their symbol have ended."""
    bars = read_bars(given["data"])
    end = max(int(part.closed[-1]) for part in bars.values())
    found = []
    for symbol, part in bars.items():
        ended = int(part.closed[-1])
        if ended >= end:
            continue
        orders = run.orders[(run.orders["symbol"] == symbol) & ~run.orders["status"].isin(DONE)]
        held = float(run.positions[symbol].iloc[-1]) if symbol in run.positions and len(run.positions) else 0.0
        if len(orders) or held:
            left = f"{len(orders)} orders wait for a price" if len(orders) else f"a position of {held:g} stays"
            found.append(f"{left} of {symbol}, whose bars ended at {pd.Timestamp(ended, unit='ms'):%Y-%m-%d %H:%M}")
    return found


def funded(run: Any, given: Mapping[str, Any], received: bool) -> Finding:
    """Return what the funding of a run was.

    Parameters
    ----------
    run : Results
        Results of the run.
    given : mapping of str to object
        Arguments of the run by name.
    received : bool
        Whether it ran on a venue, which settled the funding itself.
    """
    name, funding = "funding", given.get("funding", "interest")
    if received:
        return name, False, "the venue's own"
    if not len(run.positions) or not np.any(run.positions.to_numpy()):
        return name, False, "no position that could pay any"
    symbols = [str(symbol) for symbol in run.positions.columns[run.positions.any(axis=0)]]
    each = {symbol: funding.get(symbol) if isinstance(funding, Mapping) else funding for symbol in symbols}
    off = [symbol for symbol, value in each.items() if value is None]
    assumed = [symbol for symbol, value in each.items() if isinstance(value, str)]
    constant = [symbol for symbol, value in each.items() if isinstance(value, int | float)]
    said = [
        f"{text} of {', '.join(names)}"
        for names, text in (
            (off, "off: none is charged on the positions"),
            (assumed, "the interest is assumed as a constant rate, not what the market paid,"),
            (constant, "the constant rate that was given is charged on the positions"),
        )
        if names
    ]
    if said:
        return name, None, "; ".join(said)
    return name, False, f"{len(run.funding)} settlements with the rates that were given"
