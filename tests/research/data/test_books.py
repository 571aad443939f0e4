"""Books made of events, against books of plain dictionaries: best prices, levels, changes, single orders, tapes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from toolkit.errors import InputError
from toolkit.research.data import order_books
from toolkit.research.data.event_array import MS, Kind, empty, from_columns, whole_units_of
from toolkit.research.data.events import Events
from toolkit.research.data.order_books import BookCursor, BookUpdates, as_levels, feed_times, with_levels
from toolkit.research.data.replaying import Tape
from toolkit.venue.simulation.recorded import INDEX, LEVEL, MARK, TRADE

ONE = {"tick_size": Decimal(1), "step_size": Decimal(1)}
FIELDS = ("exchange_ns", "local_ns", "kind", "side", "price", "quantity", "id", "previous")


def made(*rows: tuple[float, ...], **about: Any) -> Events:
    columns = zip(*rows, strict=True)
    return Events(from_columns(dict(zip(FIELDS, columns, strict=True)), len(rows)), **{**ONE, **about})


def random_book(seed: int, *, crossing: bool, count: int = 300) -> Events:
    """Rows in runs of the same times and id, with clears of one side up to a price, and some far levels."""
    rng = np.random.default_rng(seed)
    array = empty(count)
    run = np.cumsum(rng.random(count) < 0.4)
    array["exchange_ns"] = 1_000 + run * 10 + rng.integers(0, 30, run[-1] + 1)[run]
    array["local_ns"] = array["exchange_ns"] + rng.integers(0, 40, run[-1] + 1)[run]
    array["id"] = run
    array["kind"] = rng.choice([Kind.DEPTH, Kind.DEPTH, Kind.SNAPSHOT], count)
    array["side"] = rng.choice([1, -1], count)
    inside = rng.integers(95, 106, count) if crossing else np.where(array["side"] > 0, 100, 101)
    away = rng.integers(0, 8, count) * np.where(rng.random(count) < 0.05, 600, 1)
    array["price"] = np.maximum(inside - array["side"] * away, 1)
    array["quantity"] = rng.integers(0, 3, count)
    cleared = rng.random(count) < 0.06
    array["kind"][cleared] = Kind.CLEAR
    array["side"][cleared] = rng.choice([0, 1, -1], cleared.sum())
    array["price"][cleared] = np.where(rng.random(cleared.sum()) < 0.5, 0, rng.integers(95, 106, cleared.sum()))
    # within a message the clears come first, as in every snapshot
    return Events(array[np.lexsort((array["kind"] != Kind.CLEAR, run))], **ONE)


def plain_books(events: Events, clock: str) -> list[tuple[int, int, int, int, bool, dict[int, int], dict[int, int]]]:
    """Return of each message time, first row, best bid, best ask, whether it came out crossed, and both sides."""
    messages: list[tuple[int, list[int]]] = []
    for row, event in enumerate(events.array):
        key = tuple(event[name] for name in ("exchange_ns", "local_ns", "id"))
        if row and key == tuple(events.array[row - 1][name] for name in ("exchange_ns", "local_ns", "id")):
            messages[-1][1].append(row)
        else:
            messages.append((int(event[clock]), [row]))
    sides: dict[int, dict[int, int]] = {1: {}, -1: {}}
    found = []
    for time, rows in sorted(messages, key=lambda message: message[0]):
        asked = [99_999]
        for row in rows:
            event = events.array[row]
            price, side = int(event["price"]), int(event["side"])
            if event["kind"] == Kind.CLEAR:
                for of in (1, -1):
                    if side in (0, of):
                        sides[of] = {p: q for p, q in sides[of].items() if price and (p - price) * of < 0}
            else:
                sides[side][price] = int(event["quantity"])
                if side < 0 and event["quantity"]:
                    asked.append(price)
        bids, asks = ([p for p, q in sides[of].items() if q] for of in (1, -1))
        bid, ask = max(bids, default=0), min(asks, default=0)
        crossed = bool(bid and ask and bid >= ask)
        if crossed and min(asked) <= bid:
            sides[1] = {p: q for p, q in sides[1].items() if p < ask}
        elif crossed:
            sides[-1] = {p: q for p, q in sides[-1].items() if p > bid}
        bids, asks = ([p for p, q in sides[of].items() if q] for of in (1, -1))
        found.append(
            (time, rows[0], max(bids, default=0), min(asks, default=0), crossed, dict(sides[1]), dict(sides[-1]))
        )
    return found


@pytest.mark.parametrize("crossing", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_books_are_those_of_plain_dictionaries_by_either_clock(seed: int, crossing: bool) -> None:
    events = random_book(seed, crossing=crossing)
    updates = BookUpdates(events, events.array["local_ns"])
    for clock, read in (("local_ns", updates), ("exchange_ns", updates.by_clock(events.array["exchange_ns"]))):
        plain = plain_books(events, clock)
        assert len(read) == len(plain)
        columns = (read.times, read.rows, read.bids, read.asks, read.crossed)
        assert list(zip(*(column.tolist() for column in columns), strict=True)) == [each[:5] for each in plain]
        assert read.crossed.any() == crossing
        if crossing:
            continue
        cursor = BookCursor(read)
        assert (cursor.best, cursor.levels(1, 5)) == ((0, 0), ())
        for number in range(0, len(plain), 11):
            cursor.move(number + 1)
            cursor.move(number)  # never back
            *_, bid, ask, _, bids, asks = plain[number]
            assert cursor.best == (bid, ask)
            for side, levels in ((1, bids), (-1, asks)):
                there = sorted(((p, q) for p, q in levels.items() if q), reverse=side > 0)
                assert [cursor.levels(side, depth) for depth in (1, 3, 99)] == [
                    tuple(there[:depth]) for depth in (1, 3, 99)
                ]
        again: dict[int, dict[int, int]] = {1: {}, -1: {}}
        changes = list(zip(*(column.tolist() for column in read.changes()), strict=True))
        assert [each[0] for each in changes] == sorted(each[0] for each in changes)
        at = 0
        for number, (*_, bids, asks) in enumerate(plain):
            while at < len(changes) and changes[at][0] == number:
                again[changes[at][1]][changes[at][2]] = changes[at][3]
                at += 1
            for side, levels in ((1, bids), (-1, asks)):
                assert {p: q for p, q in again[side].items() if q} == {p: q for p, q in levels.items() if q}
    same = updates.by_clock(events.array["local_ns"])
    assert same.bids is updates.bids


def random_orders(seed: int, count: int = 250) -> Events:
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        kind = rng.choice([Kind.ADD, Kind.ADD, Kind.MODIFY, Kind.CANCEL, Kind.FILL, Kind.TRADE, Kind.CLEAR],
                          p=[0.3, 0.1, 0.2, 0.15, 0.15, 0.07, 0.03])  # fmt: skip
        side = int(rng.choice([1, -1]))
        price = int(rng.integers(95, 100)) if side > 0 else int(rng.integers(101, 106))
        identity, quantity = int(rng.integers(1, 25)), int(rng.integers(0, 6))
        if kind == Kind.CLEAR:
            side, price = int(rng.choice([0, 1, -1])), int(rng.choice([0, 97, 103]))
        if kind == Kind.MODIFY:
            side = 0
        rows.append(
            (1_000 + number * 5 + int(rng.integers(0, 9)), 2_000 + number, kind, side, price, quantity, identity, 0)
        )
    return made(*rows)


@pytest.mark.parametrize("seed", range(8))
def test_single_orders_make_levels_fills_and_places_in_the_queue(seed: int) -> None:
    """An order's place is that of the event which moved it to its price, or raised its quantity there."""
    events = random_orders(seed)
    array = events.array
    orders: dict[int, list[int]] = {}
    """Id → side, price, quantity, row of its place."""
    expected: dict[int, list[tuple[int, int, int]]] = {}
    filled: list[tuple[int, int, int, int, int]] = []

    def total(side: int, price: int) -> int:
        return sum(order[2] for order in orders.values() if order[:2] == [side, price])

    for row in np.argsort(array["exchange_ns"], kind="stable").tolist():
        event = array[row]
        kind, side, price = int(event["kind"]), int(event["side"]), int(event["price"])
        quantity, identity = int(event["quantity"]), int(event["id"])
        told, known = expected.setdefault(row, []), orders.get(identity)
        if kind == Kind.CLEAR:
            for key, (of, at, _, _) in list(orders.items()):
                if side in (0, of) and (not price or (at - price) * of >= 0):
                    del orders[key]
        elif kind == Kind.FILL and known is not None:
            told.append((known[0], known[1], total(known[0], known[1])))
            filled.append((row, known[0], known[1], quantity, known[3]))
        elif kind == Kind.CANCEL and known is not None:
            known[2] = max(known[2] - quantity, 0) if quantity else 0
            told.append((known[0], known[1], total(known[0], known[1])))
            if not known[2]:
                del orders[identity]
        elif kind in (Kind.ADD, Kind.MODIFY):
            if kind == Kind.MODIFY and known is not None and known[1] == price and quantity <= known[2]:
                known[2] = quantity
                told.append((known[0], known[1], total(known[0], known[1])))
                if not quantity:
                    del orders[identity]
                continue
            if known is not None:
                del orders[identity]
                told.append((known[0], known[1], total(known[0], known[1])))
                side = side or known[0]
            if quantity and side:
                orders[identity] = [side, price, quantity, row]
                told.append((side, price, total(side, price)))
    levels, fills = with_levels(events)
    made_rows = levels.array
    depth = made_rows["kind"] == Kind.DEPTH
    found: dict[int, list[tuple[int, int, int]]] = {}
    for place in np.flatnonzero(depth).tolist():
        event = made_rows[place]
        key = int(fills.sources[place])
        found.setdefault(key, []).append((int(event["side"]), int(event["price"]), int(event["quantity"])))
        assert (event["exchange_ns"], event["local_ns"]) == (array[key]["exchange_ns"], array[key]["local_ns"])
    assert found == {row: told for row, told in expected.items() if told}
    assert fills.sources.tolist() == sorted(fills.sources.tolist())
    others = array[np.isin(array["kind"], (Kind.TRADE, Kind.CLEAR))]
    assert np.array_equal(made_rows[~depth], others)
    shown = zip(
        fills.sources[fills.rows],
        fills.sides,
        fills.ticks,
        fills.steps,
        fills.sources[fills.priority_rows],
        strict=True,
    )
    assert [tuple(map(int, each)) for each in shown] == [each for each in filled if each[3]]
    assert [made_rows[row]["kind"] for row in fills.priority_rows] == [Kind.DEPTH] * len(fills.rows)
    assert order_books.has_single_orders(events)
    assert not order_books.has_single_orders(levels)


# the tape that a venue replays


def test_a_tape_has_the_changes_of_each_millisecond_in_the_order_of_the_exchange() -> None:
    rows = [
        (5 * MS + 1, 1, Kind.DEPTH, 1, 99.0, 2.0, 1, 0), (5 * MS + 1, 1, Kind.DEPTH, -1, 101.0, 3.0, 1, 0),
        (5 * MS + 900_000, 2, Kind.TRADE, -1, 99.0, 1.0, 1, 0), (6 * MS, 3, Kind.TRADE, 1, 101.0, 1.0, 2, 0),
        (6 * MS, 3, Kind.TRADE, 0, 101.0, 2.0, 3, 0), (6 * MS, 4, Kind.MARK, 0, 100.0, 0.0, 0, 0),
        (6 * MS + 1, 5, Kind.INDEX, 0, 100.5, 0.0, 0, 0), (6 * MS + 2, 5, Kind.TRADE, 1, 101.0, 0.0, 4, 0),
        (6 * MS + 3, 5, Kind.MARK, 0, 0.0, 0.0, 0, 0), (6 * MS + 4, 5, Kind.FUNDING, 0, 0.1, 0.0, 0, 0),
        (9 * MS, 6, Kind.DEPTH, 1, 99.0, 0.0, 2, 1), (9 * MS, 6, Kind.DEPTH, 1, 98.0, 4.0, 2, 1),
    ]  # fmt: skip
    events = made(*rows, tick_size=Decimal("0.5"))
    level, trade, mark, index = LEVEL, TRADE, MARK, INDEX
    tape = Tape(events, Decimal("0.5"), Decimal(1))
    assert tape.times == [5, 6, 9]
    assert tape.changes(0) == [[level, 1, 198, 2], [level, -1, 202, 3], [trade, -1, 198, 1]]
    assert tape.changes(1) == [[trade, 1, 202, 1], [trade, 1, 202, 2], [mark, 0, 200, 0], [index, 0, 201, 0]]
    assert tape.changes(2) == [[level, 1, 198, 0], [level, 1, 196, 4]]
    assert [sorted(tape.book(number)) for number in range(4)] == [
        [], [[level, -1, 202, 3], [level, 1, 198, 2]], [[level, -1, 202, 3], [level, 1, 198, 2]],
        [[level, -1, 202, 3], [level, 1, 196, 4]],
    ]  # fmt: skip
    assert events.tape(Decimal("0.5"), Decimal(1)) is events.tape(Decimal("0.5"), Decimal(1))
    with pytest.raises(InputError, match=r"prices are multiples of 0\.5, not of the tick 1") as raised:
        Tape(events, Decimal(1), Decimal(1))
    assert (raised.value.field, raised.value.value) == ("replay", "0.5")
    nothing = Tape(events[:0], Decimal("0.5"), Decimal(1))
    assert (nothing.times, nothing.book(0)) == ([], [])


@pytest.mark.parametrize(("side", "away"), [(1, -1), (-1, 1)])
@pytest.mark.parametrize("distance", [1, 63, 64, 65, 1_999, 2_000, 5_000])
def test_the_next_level_is_found_however_far_it_is(side: int, away: int, distance: int) -> None:
    best, far = 10_000, 10_000 + away * distance
    events = made(
        (1, 1, Kind.DEPTH, side, best, 1.0, 1, 0), (1, 1, Kind.DEPTH, side, far, 2.0, 1, 0),
        (1, 1, Kind.DEPTH, side, far + away, 3.0, 1, 0), (2, 2, Kind.DEPTH, side, best, 0.0, 2, 1),
    )  # fmt: skip
    updates = BookUpdates(events, events.array["local_ns"])
    cursor = BookCursor(updates)
    cursor.move(1)
    assert cursor.levels(side, 9) == ((best, 1), (far, 2), (far + away, 3))
    assert cursor.levels(side, 2) == ((best, 1), (far, 2))
    cursor.move(2)
    assert cursor.levels(side, 9) == ((far, 2), (far + away, 3))
    assert cursor.levels(-side, 9) == ()
    shown = (updates.bids if side > 0 else updates.asks).tolist()
    assert shown == [best, far]


def test_local_times_are_put_forward_where_the_recorders_clock_was_behind() -> None:
    late = made((10, 15, Kind.DEPTH, 1, 1.0, 1.0, 1, 0), (20, 22, Kind.DEPTH, 1, 1.0, 1.0, 2, 0))
    assert feed_times(late).tolist() == [15, 22]
    behind = made((10, 4, Kind.DEPTH, 1, 1.0, 1.0, 1, 0), (20, 19, Kind.DEPTH, 1, 1.0, 1.0, 2, 0))
    assert feed_times(behind).tolist() == [10, 25]
    assert feed_times(behind[:0]).tolist() == []


def test_best_prices_become_a_book_of_one_level_and_levels_stay_as_they_are() -> None:
    quotes = made(
        (1, 2, Kind.QUOTE, 1, 100.0, 1.0, 7, 0), (1, 2, Kind.QUOTE, -1, 101.0, 2.0, 7, 0),
        (3, 4, Kind.TRADE, 1, 101.0, 1.0, 1, 0), (5, 6, Kind.QUOTE, 1, 99.0, 3.0, 8, 0), symbol="BTC",
    )  # fmt: skip
    levels = as_levels(quotes)
    shown = [
        tuple(row.item()[FIELDS.index(name)] for name in ("kind", "side", "price"))
        for row in levels.array[list(FIELDS)]
    ]
    assert shown == [
        (Kind.CLEAR, 1, 0.0), (Kind.SNAPSHOT, 1, 100.0), (Kind.CLEAR, -1, 0.0), (Kind.SNAPSHOT, -1, 101.0),
        (Kind.TRADE, 1, 101.0), (Kind.CLEAR, 1, 0.0), (Kind.SNAPSHOT, 1, 99.0),
    ]  # fmt: skip
    assert levels.symbol == "BTC"
    updates = BookUpdates(levels, levels.array["exchange_ns"])
    assert (updates.bids.tolist(), updates.asks.tolist()) == ([100, 99], [101, 101])
    depth = made((1, 2, Kind.DEPTH, 1, 100.0, 1.0, 7, 0))
    assert as_levels(depth) is depth
    orders = made((1, 2, Kind.ADD, 1, 100.0, 1.0, 7, 0), (3, 4, Kind.FILL, 1, 100.0, 1.0, 7, 0))
    assert [Kind(row["kind"]) for row in as_levels(orders).array] == [Kind.DEPTH, Kind.TRADE]


def test_values_become_whole_units_within_bounds() -> None:
    values = np.array([0.30000000000000004, -0.3, np.nan, np.inf, -np.inf, 1e300])
    assert whole_units_of(values, 0.1).tolist() == [3, -3, 0, 2**52, -(2**52), 2**52]
