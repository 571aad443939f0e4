"""Every core of the venue's tests checks its invariants after its commands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from toolkit.venue.engine.commands import Command, Outcome
from toolkit.venue.engine.core import Core
from toolkit.venue.local import LocalVenue
from toolkit.venue.risk.witness import watched

EACH, SOME = 200, 25
"""The first so many commands of a test are checked, and of the others one in so many: storms have thousands."""


@pytest.fixture(autouse=True)
def checked_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check commands as a venue that is served with --check does: without what reads the whole history."""
    apply, count = Core.apply, itertools.count()

    def checked(core: Core, command: Command) -> Outcome:
        number = next(count)
        if not (number < EACH or number % SOME == 0):
            return apply(core, command)
        with watched(core, command.time):
            return apply(core, command)

    monkeypatch.setattr(Core, "apply", checked)


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """A venue with a manual clock, three accounts and no participants, on which nothing happens by itself."""
    with LocalVenue(clock="manual", market=False, accounts=3) as made:
        yield made


@pytest.fixture(scope="module")
def shared_venue() -> Iterator[LocalVenue]:
    """A venue without accounts and market, for the examples of a property that leave it as it was."""
    with LocalVenue(clock="manual", market=False, accounts=0) as made:
        yield made
