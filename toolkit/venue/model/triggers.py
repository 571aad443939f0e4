"""Waiting triggers of one product, ordered by trigger price. Kept beside the state and rebuilt from its orders."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from .accounts import VenueOrder

FEW = 1_000
"""Up to so many entries it is not worth looking for stale ones."""


class Triggers:
    """Six heaps: rising and falling triggers by last, mark and index price.

    Entries of orders that ended or changed stay until they come up or there are more than `limit`; whoever takes them
    looks at the order.
    """

    __slots__ = ("_heaps", "entries", "limit")

    def __init__(self) -> None:
        self.entries = 0
        """Number of entries, waiting or stale."""
        self.limit = FEW
        """With more entries than this it is time to `rebuild`."""
        self._heaps: dict[tuple[int, bool], list[tuple[int, int, str]]] = {}

    def add(self, order: VenueOrder) -> None:
        """Let an order wait for its trigger."""
        heap = self._heaps.setdefault((order.trigger_by, order.trigger_up), [])
        self.entries += 1
        heappush(heap, (order.trigger if order.trigger_up else -order.trigger, order.id, order.address))

    def due(self, by: int, price: int) -> list[tuple[int, str, int]]:
        """Take out and return (id, address, trigger) of every entry that `price` meets. Some may be stale."""
        found: list[tuple[int, str, int]] = []
        for up in (True, False):
            heap = self._heaps.get((by, up))
            if heap and price:
                while heap and (heap[0][0] <= price if up else -heap[0][0] >= price):
                    key, order_id, address = heappop(heap)
                    found.append((order_id, address, abs(key)))
        self.entries -= len(found)
        return found

    def queued(self) -> list[tuple[int, int, int]]:
        """Return (order id, TriggerType, trigger price in ticks) of every entry, in no order. Some may be stale."""
        return [(order_id, by, abs(key)) for (by, _), heap in self._heaps.items() for key, order_id, _ in heap]

    def rebuild(self, orders: list[VenueOrder]) -> None:
        """Keep exactly these orders."""
        self._heaps.clear()
        self.entries = len(orders)
        self.limit = FEW + 4 * len(orders)
        for order in orders:
            key = (order.trigger if order.trigger_up else -order.trigger, order.id, order.address)
            self._heaps.setdefault((order.trigger_by, order.trigger_up), []).append(key)
        for heap in self._heaps.values():
            heapify(heap)
