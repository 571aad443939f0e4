"""The made stream of single orders is a book that could be: never crossed, first come first, the same each time."""

from __future__ import annotations

import numpy as np
import pytest

from toolkit.research import data
from toolkit.research.data.event_array import Kind
from toolkit.research.data.made_orders import single_orders
from toolkit.research.data.order_books import BookUpdates, has_single_orders, with_levels


@pytest.mark.parametrize("speed", [0.0, 0.9, 3.0])
def test_the_book_has_both_sides_and_is_never_crossed(speed: float) -> None:
    events = single_orders(seed=3, seconds=60, speed=speed)
    assert has_single_orders(events)
    updates = BookUpdates(with_levels(events)[0], events.array["exchange_ns"])
    bids, asks = (np.asarray(best)[200:] for best in (updates.bids, updates.asks))  # with its first orders in it
    assert len(bids) > 1000
    assert ((bids > 0) & (bids < asks)).all()
    assert not set(data.check(events)["problem"]) - {"silence"}


def test_each_taker_meets_the_best_price_and_there_the_oldest_order() -> None:
    book: dict[int, tuple[int, float, float]] = {}
    fills = 0
    for row in single_orders(seed=4, seconds=60).array:
        kind, side, identity = int(row["kind"]), int(row["side"]), int(row["id"])
        if kind == Kind.ADD:
            assert identity not in book
            book[identity] = side, float(row["price"]), float(row["quantity"])
        elif kind == Kind.FILL:
            fills += 1
            best = max(of * price for of, price, _ in book.values() if of == side)
            assert best == side * row["price"]
            assert identity == min(number for number, order in book.items() if order[:2] == (side, side * best))
        else:
            left = book[identity][2] - float(row["quantity"])
            book[identity] = *book[identity][:2], left
            if left < 5e-4:
                del book[identity]
    assert fills > 50


def test_a_seed_gives_the_same_events_everywhere_and_always() -> None:
    array = single_orders(seed=4, seconds=60).array
    assert array["local_ns"][0] == 1_767_225_600_000_000_000, "from 2026-01-01 UTC on"
    assert array["local_ns"][-1] == 1_767_225_660_048_104_754
    found = [
        (len(rows), round(rows["price"].sum(), 1), round(rows["quantity"].sum(), 3), rows["id"].sum())
        for kind in (Kind.ADD, Kind.CANCEL, Kind.FILL)
        for rows in [array[array["kind"] == kind]]
    ]
    wanted = [(731, 45_687_327.3, 20.681, 267_546), (694, 43_374_819.1, 17.845, 246_407)]
    assert found == [*wanted, (167, 10_437_454.2, 2.827, 60_457)]
