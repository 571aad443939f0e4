"""Small recorded markets for the tests, and the plainest way to find who is filled in them."""

from __future__ import annotations

import functools
from decimal import Decimal
from typing import Any

import numpy as np

from toolkit.research.data.event_array import EVENT, Kind
from toolkit.research.data.events import Events

MS = 1_000_000
START = 1_700_000_000_000 * MS


def events_of(*rows: tuple[float, int, int, float, float], feed_ms: float = 0) -> Events:
    """Return events of (ms after START, kind, side, price, quantity), received `feed_ms` later."""
    array = np.zeros(len(rows), dtype=EVENT)
    for number, (ms, kind, side, price, quantity) in enumerate(rows):
        time = START + round(ms * MS)
        array[number] = (time, time + round(feed_ms * MS), kind, side, price, quantity, 0, 0)
    return Events(array, symbol="BTCUSDC", tick_size=Decimal("0.1"), step_size=Decimal("0.001"))


@functools.cache
def random_market(seed: int, seconds: int = 8) -> Events:
    """Return a market that moves by ticks: levels change, trades take from the best ones, all at random.

    It is made once for all tests, which therefore leave it as it is.
    """
    rng = np.random.default_rng(seed)
    mid, rows = 600_000, list[tuple[float, int, int, float, float]]()
    levels: dict[int, dict[int, int]] = {1: {}, -1: {}}

    def put(ms: float, side: int, price: int, steps: int) -> None:
        levels[side][price] = steps
        rows.append((ms, Kind.DEPTH, side, price / 10, steps / 1000))

    for side in (1, -1):
        for distance in range(1, 8):
            put(0, side, mid - side * distance, int(rng.integers(1, 60)))
    for ms in np.sort(rng.uniform(1, seconds * 1000, seconds * 60)).round(1).tolist():
        side = int(rng.choice([1, -1]))
        there = sorted((price for price, left in levels[side].items() if left), key=lambda price: -price * side)
        if rng.random() < 0.4:
            steps = int(rng.integers(1, 40))
            rows.append((ms, Kind.TRADE, -side, there[0] / 10, steps / 1000))
            put(ms + 0.1, side, there[0], max(0, levels[side][there[0]] - steps))
        else:
            put(ms, side, int(rng.choice(there[:5])), int(rng.integers(0, 60)))
        there = [price for price, left in levels[side].items() if left]
        if len(there) < 3 or rng.random() < 0.1:
            other = min((price * side for price, left in levels[-side].items() if left), default=mid * side) * side
            best = max((price * side for price in there), default=other * side - side) * side
            put(ms + 0.2, side, best + side if (other - best) * side > 1 else best - side, int(rng.integers(1, 60)))
    rows.sort(key=lambda row: row[0])
    return events_of(*rows)


def naive_fill(events: Events, side: int, price: int, arrives_ns: int, cancelled_ns: int, power: float | None) -> int:
    """Return when an order that does not take is filled (Unix ns, 0: never), looking at every event in turn.

    `power` None is the risk-averse model.
    """
    levels: dict[int, dict[int, int]] = {1: {}, -1: {}}
    front, traded, placed = 0.0, 0.0, False
    for row in events.array:
        time = int(row["exchange_ns"])
        if time > arrives_ns and not placed:
            front, placed = float(levels[side].get(price, 0)), True
        if time > cancelled_ns:
            return 0
        ticks, steps, of = round(float(row["price"]) * 10), round(float(row["quantity"]) * 1000), int(row["side"])
        if row["kind"] == Kind.TRADE:
            if placed and of == -side:
                if (price - ticks) * side > 0:
                    return time
                if ticks == price:
                    front -= steps
                    traded += steps
                    if round(front) < 0:
                        return time
            continue
        before = levels[of].get(ticks, 0)
        levels[of][ticks] = steps
        if placed and of == side and ticks == price:
            front, traded = after_level(front, traded, before, steps, power), 0.0
        best = [level * of for level, left in levels[of].items() if left]
        if placed and of == -side and best and (price - max(best) * of) * side >= 0:
            return time
    return 0


def after_level(front: float, traded: float, before: int, after: int, power: float | None) -> float:
    """Return what is ahead after a level has changed."""
    cancelled = before - after - traded
    if power is not None and cancelled > 0:
        behind = before - front
        weights = [max(part, 0.0) ** power for part in (behind, front)]
        behind_share = weights[0] / sum(weights) if sum(weights) else 1.0
        front = front - (1 - behind_share) * cancelled + min(behind - behind_share * cancelled, 0.0)
    return min(front, after)


def fills_of(results: Any) -> list[tuple[int, str, float, float]]:
    """Return the fills of a run as (ms after START, side, price, quantity)."""
    fills = results.fills
    times = fills["time"].astype("datetime64[ms, UTC]").astype("int64") - START // MS
    return list(zip(times, fills["side"], fills["price"], fills["quantity"], strict=True))
