"""Fixtures for tests of programs that use the toolkit: a whole venue and a session on it.

One line in your conftest.py, and every test that asks for `venue` or `session` has its own:

    pytest_plugins = ["toolkit.testing"]

The clock is manual (it starts 2026-01-01T00:00:00Z and moves by `venue.advance` only), the seed is fixed, nothing
touches the network, and everything is closed when the test ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .session import Session
    from .venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A local venue with a manual clock, a simulated market, and ten funded development accounts."""
    from .venue.local import LocalVenue

    with LocalVenue(clock="manual") as made:
        yield made


@pytest.fixture
def session(venue: LocalVenue) -> Iterator[Session]:
    """A session of development account 0 on `venue`: 10,000 USDC and an approved agent.

    More traders: `toolkit.connect(venue=venue, account=1)`.

    Parameters
    ----------
    venue : LocalVenue
        Venue of the same test, which the session is on.
    """
    from .session import connect

    with connect(venue=venue) as made:
        yield made
