"""Every core of the venue's tests checks its invariants after its commands."""

from __future__ import annotations

import itertools

import pytest

from toolkit.venue.engine.commands import Command, Outcome
from toolkit.venue.engine.core import Core

EACH, SOME = 200, 25
"""The first so many commands of a test are checked, and of the others one in so many: storms have thousands."""


@pytest.fixture(autouse=True)
def checked_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `Core.check` after commands, without the invariants that read the whole history."""
    apply, count = Core.apply, itertools.count()

    def checked(core: Core, command: Command) -> Outcome:
        outcome = apply(core, command)
        number = next(count)
        if number < EACH or number % SOME == 0:
            core.check(history=False)
        return outcome

    monkeypatch.setattr(Core, "apply", checked)
