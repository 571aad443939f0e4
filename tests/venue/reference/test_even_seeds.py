"""Seeds of the reference that count in seconds, at usual prices: half of the long runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.venue.reference import long_runs


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(0, long_runs.PIECES, 2))
def test_long_runs_leave_both_in_the_same_state_and_meet_every_rule(
    piece: int, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    met = long_runs.run(piece, shared)
    with capsys.disabled():
        print(f"\n{met}" if met else "", end="")
