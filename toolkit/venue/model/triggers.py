"""Waiting triggers of one product, ordered by trigger price. Not part of the state: it is rebuilt from the orders."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from .accounts import VenueOrder
from .constants import LAST_PRICE

FEW = 1_000
"""A queue of up to this many entries is not searched for stale ones."""


class Triggers:
    """Six heaps: rising and falling triggers by last, mark and index price.

    An entry whose order ended or changed stays until its price is reached or there are more than `limit` entries,
    because removing it from the middle of a heap would cost more. The caller of `due` therefore checks each order.
    """

    __slots__ = ("_heaps", "entries", "limit", "met", "retrying")

    def __init__(self) -> None:
        self.entries = 0
        """Number of entries, waiting or stale."""
        self.limit = FEW
        """With more entries than this, the caller should `rebuild`."""
        self.retrying: dict[int, str] = {}
        """id → address of the exits that have triggered and found nothing. Some may have ended."""
        self.met: list[tuple[int, str, int, int]] = []
        """(id, address, trigger, price of the trade) of what trades have reached since the triggers last acted."""
        self._heaps: dict[tuple[int, bool], list[tuple[int, int, str]]] = {}

    def add(self, order: VenueOrder) -> None:
        """Add an order that waits for its trigger, or has triggered and tries again."""
        if order.triggered:
            self.retrying[order.id] = order.address
            return
        heap = self._heaps.setdefault((order.trigger_by, order.trigger_up), [])
        self.entries += 1
        # heapq keeps the smallest entry first; falling triggers are negated, so that the highest one comes first.
        heappush(heap, (order.trigger if order.trigger_up else -order.trigger, order.id, order.address))

    def due(self, by: int, price_ticks: int) -> list[tuple[int, str, int]]:
        """Remove and return (id, address, trigger) of every entry that a price reaches. Some may be stale."""
        found: list[tuple[int, str, int]] = []
        for up in (True, False):
            heap = self._heaps.get((by, up))
            if heap and price_ticks:  # a price of 0 is not known yet
                while heap and (heap[0][0] <= price_ticks if up else -heap[0][0] >= price_ticks):
                    key, order_id, address = heappop(heap)
                    found.append((order_id, address, abs(key)))
        self.entries -= len(found)
        return found

    def see_trade(self, price_ticks: int) -> None:
        """Note the LAST_PRICE triggers that a trade reaches; later ones of the same request may move the price back."""
        if self.entries:
            self.met += [(*entry, price_ticks) for entry in self.due(LAST_PRICE, price_ticks)]

    def queued(self) -> list[tuple[int, int, int]]:
        """Return (order id, TriggerType, trigger price in ticks) of every entry, in no order. Some may be stale."""
        return [(order_id, by, abs(key)) for (by, _), heap in self._heaps.items() for key, order_id, _ in heap]

    def rebuild(self, orders: list[VenueOrder]) -> None:
        """Keep exactly these orders."""
        self.retrying = {order.id: order.address for order in orders if order.triggered}
        orders = [order for order in orders if not order.triggered]
        self._heaps.clear()
        self.entries = len(orders)
        self.limit = FEW + 4 * len(orders)
        for order in orders:
            key = (order.trigger if order.trigger_up else -order.trigger, order.id, order.address)
            self._heaps.setdefault((order.trigger_by, order.trigger_up), []).append(key)
        for heap in self._heaps.values():
            heapify(heap)
