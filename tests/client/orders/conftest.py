"""A quiet venue, and two traders on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import toolkit
from toolkit.venue.local import LocalVenue


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue with a manual clock and no participants."""
    with LocalVenue(clock="manual", market=False) as made:
        yield made


@pytest.fixture
def alice(venue: LocalVenue) -> Iterator[toolkit.Session]:
    """A session of account 0, whose agent is approved."""
    with toolkit.connect(venue=venue) as made:
        yield made


@pytest.fixture
def bob(venue: LocalVenue) -> Iterator[toolkit.Session]:
    """A session of account 1, whose agent is approved."""
    with toolkit.connect(venue=venue, account=1) as made:
        yield made
