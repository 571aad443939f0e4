"""Long random runs: the books close after every command, whatever prices do."""

from __future__ import annotations

import pytest

from .invariants import Watch, check_ledger
from .storms import Storm, storm_core


@pytest.mark.parametrize("seed", range(6))
def test_the_books_close_after_every_command_of_a_storm(seed: int) -> None:
    core = storm_core(seed)
    watch = Watch(core)
    for command in Storm(core, seed).commands(500):
        watch.apply(command)
    check_ledger(core)
