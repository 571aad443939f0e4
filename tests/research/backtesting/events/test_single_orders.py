"""Where single orders are known, ours is filled when one that came after it at its price is."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.research.backtesting.events.recorded import MS, START, events_of, random_market
from toolkit.errors import InputError
from toolkit.research import Strategy, backtest, data
from toolkit.research.data.event_array import EVENT, Kind
from toolkit.research.data.events import Events
from toolkit.research.data.order_books import BookUpdates, has_single_orders, with_levels

MAKER = {"tif": "POST_ONLY"}


class Flow:
    """A book of single orders with a random flow; with `ours` (side, ticks, when in ms) one of them is ours."""

    def __init__(self, seed: int, ours: tuple[int, int, int] | None = None) -> None:
        self.rng = Random(seed)
        self.ours = ours
        self.queues: dict[tuple[int, int], list[list[int]]] = {}
        """Side and ticks → [id, steps] of each order, first come first; ours has the id 0."""
        self.rows: list[tuple[int, int, int, int, int, int]] = []
        self.levels: list[dict[tuple[int, int], int]] = []
        self.filled_ms = 0
        self.ids = 0
        for side in (1, -1):
            for distance in range(1, 6):
                for _ in range(3):
                    self.add(0, side, 600_000 - side * distance)
        for ms in range(1, 1500):
            if ours and ms == ours[2]:
                self.queues.setdefault(ours[:2], []).append([0, 10])
            self.step(ms)

    def best(self, side: int) -> int:
        """Return the best price of the recorded orders, 0 for none."""
        there = (key[1] * side for key, queue in self.queues.items() if key[0] == side and any(one[0] for one in queue))
        return max(there, default=0) * side

    def reach(self, ms: int, side: int, ticks: int) -> None:
        """Fill ours when one of `side` comes to a price that reaches it."""
        if self.ours and ms >= self.ours[2] and self.ours[0] == -side and (ticks - self.ours[1]) * side >= 0:
            self.filled_ms = self.filled_ms or ms

    def row(self, ms: int, kind: int, side: int, ticks: int, steps: int, identity: int) -> None:
        self.rows.append((ms, kind, side, ticks, steps, identity))
        self.levels.append({key: sum(one[1] for one in queue if one[0]) for key, queue in self.queues.items() if queue})

    def add(self, ms: int, side: int, ticks: int) -> None:
        self.ids += 1
        self.reach(ms, side, ticks)
        steps = self.rng.randint(1, 30)
        self.queues.setdefault((side, ticks), []).append([self.ids, steps])
        self.row(ms, Kind.ADD, side, ticks, steps, self.ids)

    def step(self, ms: int) -> None:
        draw = self.rng.random()
        side = self.rng.choice((1, -1))
        there = [key for key, queue in self.queues.items() if key[0] == side and any(one[0] for one in queue)]
        ticks = sorted((key[1] for key in there), key=lambda one: -one * side)
        if draw < 0.45 or len(ticks) < 4:
            best = {of: self.best(of) for of in (1, -1)}
            price = self.rng.choice([*ticks[:3], (ticks or [600_000 - side])[0] + side])
            if (price - best[-side]) * side < 0 or not best[-side]:
                self.add(ms, side, price)
        elif draw < 0.75:
            queue = self.queues[side, self.rng.choice(ticks[:4])]
            order = self.rng.choice([one for one in queue if one[0]])
            key = next(key for key, orders in self.queues.items() if orders is queue)
            if self.rng.random() < 0.5 or order[1] == 1:
                queue.remove(order)
                self.row(ms, Kind.CANCEL, side, key[1], 0, order[0])
            else:
                less = self.rng.random() < 0.5
                order[1] = self.rng.randint(1, order[1] - 1) if less else order[1] + 5
                if not less:  # a larger order goes to the end of its queue
                    queue.remove(order)
                    queue.append(order)
                self.row(ms, Kind.MODIFY, side, key[1], order[1], order[0])
        else:
            self.take(ms, side, ticks, self.rng.randint(1, 60))

    def take(self, ms: int, side: int, ticks: list[int], steps: int) -> None:
        """Let a taker meet the queue; an order of ours that it reaches is filled, and takes nothing from the others."""
        queue = self.queues[side, ticks[0]]
        steps = min(steps, sum(one[1] for one in queue if one[0]))
        self.row(ms, Kind.TRADE, -side, ticks[0], steps, 0)
        self.reach(ms, -side, ticks[0] + side)  # through a better price of ours
        for order in list(queue):
            if not order[0]:
                self.filled_ms = self.filled_ms or ms
                continue
            part = min(steps, order[1])
            steps -= part
            self.row(ms, Kind.FILL, side, ticks[0], part, order[0])
            order[1] -= part
            if not order[1]:
                queue.remove(order)
            self.row(ms, Kind.CANCEL, side, ticks[0], part, order[0])
            if not steps:
                return

    def events(self) -> Events:
        array = np.zeros(len(self.rows), dtype=EVENT)
        for number, (ms, kind, side, ticks, steps, identity) in enumerate(self.rows):
            time = START + ms * MS
            array[number] = (time, time, kind, side, ticks / 10, steps / 1000, identity, 0)
        return Events(array, symbol="BTCUSDC", tick_size=Decimal("0.1"), step_size=Decimal("0.001"))


class Once(Strategy):
    ticks, side, at_ms = 0, 1, 0

    def on_start(self, ctx: Any) -> None:
        ctx.set_timer(self.at_ms)

    def on_timer(self, ctx: Any) -> None:
        ctx.set_timer(1e9)
        (ctx.buy if self.side > 0 else ctx.sell)("BTCUSDC", "0.01", f"{self.ticks / 10:.1f}", **MAKER)


def test_the_levels_are_those_of_the_orders_after_each_event() -> None:
    flow = Flow(3)
    made, fills = with_levels(flow.events())
    updates = BookUpdates(made, made.array["exchange_ns"])
    assert len(fills.rows) > 50
    book: dict[int, dict[int, int]] = {1: {}, -1: {}}
    changes = np.isin([row[1] for row in flow.rows], (Kind.ADD, Kind.CANCEL, Kind.MODIFY, Kind.FILL))
    wanted = [levels for levels, changed in zip(flow.levels, changes, strict=True) if changed]
    seen = []
    for number in range(len(updates)):
        updates.apply(number, book[1], book[-1])
        seen.append({(side, ticks): total for side in (1, -1) for ticks, total in book[side].items() if total})
    # a larger order is taken away and put at the end, in two changes
    assert [one for one in wanted if one not in seen] == []
    assert seen[-1] == wanted[-1]


@pytest.mark.parametrize("seed", range(3))
def test_an_order_is_filled_when_its_turn_comes(seed: int) -> None:
    rng = Random(seed)
    side, at_ms = rng.choice((1, -1)), rng.randint(20, 400)
    # where the book is then, as a plain recording says
    first = Flow(seed)
    count = sum(1 for row in first.rows if row[0] < at_ms)
    best = max(ticks * side for (of, ticks), total in first.levels[count - 1].items() if of == side and total) * side
    ticks = best - side * rng.randint(0, 1)
    expected = Flow(seed, (side, ticks, at_ms)).filled_ms
    strategy = Once(ticks=ticks, side=side, at_ms=at_ms - 0.5)
    run = backtest(strategy, {"BTCUSDC": first.events()}, queue="exact", funding=None)
    found = [stamp.value // MS - START // MS for stamp in run.fills["time"]]
    assert found == ([expected] if expected else [])


def test_exact_needs_single_orders_which_serve_every_model(tmp_path: Path) -> None:
    events = Flow(1).events()
    assert has_single_orders(events)
    for queue in ("risk-averse", "log"):
        run = backtest(Once(ticks=599_999, at_ms=50), {"BTCUSDC": events}, queue=queue, funding=None)
        assert len(run.orders) == 1
    with pytest.raises(InputError, match='queue "exact" needs events of single orders'):
        backtest(Once(ticks=599_999, at_ms=50), {"BTCUSDC": random_market(1)}, queue="exact")
    untraded = Events(events.array[events.array["kind"] != Kind.TRADE], symbol="BTCUSDC")
    made, fills = with_levels(untraded)
    assert (made.array["kind"] == Kind.TRADE).sum() == len(fills.rows)
    events.save(tmp_path / "orders.parquet")
    assert has_single_orders(data.load(tmp_path / "orders.parquet", format="parquet"))
    assert not has_single_orders(events_of((0, Kind.DEPTH, 1, 60000.0, 1.0)))
