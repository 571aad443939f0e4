"""The client's product list: fetched when first needed, kept for a short time, refreshed for unknown symbols."""

from __future__ import annotations

from ...errors import BadAnswer, UnknownProduct
from ...products import Product, ProductTable
from ...protocol.reads.info_queries import ENDPOINTS
from ..io.flow import Fetch, Flow, Now
from ..io.transport import read

PATH = ENDPOINTS["products"].path
KEEP_MS = 60_000
"""How long a product list is used before it is fetched again."""
REFRESH_MS = 1_000
"""Least time between two refreshes for unknown symbols."""


class Catalogue:
    """Products of one venue. Listings and risk limits change, so the list is kept for `keep_ms` only."""

    def __init__(self, keep_ms: int = KEEP_MS) -> None:
        self._keep_ms = keep_ms
        self._table: ProductTable | None = None
        self._fetched_ms = 0

    @property
    def known(self) -> ProductTable | None:
        """The list that was fetched last, however old; None before the first time."""
        return self._table

    def forget(self) -> None:
        """Fetch the list again on next use, e.g. after the venue refused an order for a changed limit."""
        self._table = None

    def table(self) -> Flow[ProductTable]:
        """Return the product list, fetched again when it is older than `keep_ms`."""
        now: int = yield Now()
        # Below 0: the local venue's clock was set back, so the list's age is unknown.
        if self._table is None or not 0 <= now - self._fetched_ms < self._keep_ms:
            yield from self._fetch()
        assert self._table is not None
        return self._table

    def find(self, symbol: str | int | Product) -> Flow[Product]:
        """Return a product by symbol or code. Refreshes the list before it raises UnknownProduct."""
        table = yield from self.table()
        try:
            return table.find(symbol)
        except UnknownProduct:
            now: int = yield Now()
            if 0 <= now - self._fetched_ms < REFRESH_MS:
                raise
        table = yield from self._fetch()
        return table.find(symbol)

    def _fetch(self) -> Flow[ProductTable]:
        envelope = yield from read(Fetch("GET", PATH))
        if not isinstance(envelope.data, dict):
            raise BadAnswer(f"GET {PATH}: the data is not an object with perpProducts", status=envelope.reply.status)
        table = ProductTable.from_meta(envelope.data)
        self._table = table
        self._fetched_ms = yield Now()
        return table
