"""A venue on which nothing happens by itself, as a fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue with a manual clock, three accounts and no participants."""
    with LocalVenue(clock="manual", market=False, accounts=3) as made:
        yield made
