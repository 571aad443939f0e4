"""A venue where only the test trades."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.limits.world import BTC, ETH
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """Up to 5 BTC, or ETH, are filled. The day has 90 minutes left."""
    with LocalVenue(clock="manual", market=False, start="2026-01-01T22:30:00Z") as made:
        for name, bid, ask in ((BTC, "62400", "62600"), (ETH, "2440", "2460")):
            made.control.add_liquidity(name, "SELL", ask, "5")
            made.control.add_liquidity(name, "BUY", bid, "5")
        yield made
