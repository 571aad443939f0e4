"""A seeded sample of planted mistakes in each room that holds money or signatures; see the package."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.mutation.rooms import ROOT

COUNT = 12
"""Mutants of each room: with all rooms, some minutes on two cores."""

HELD = ("checks", "margin", "venue/trading", "venue/risk")
"""Rooms whose samples reach the floor; the others of ROOMS are run by hand until they do."""


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are planted in forked processes")
@pytest.mark.parametrize("room", HELD)
def test_the_tests_notice_planted_mistakes(room: str) -> None:
    """The room's tests run in processes that have not imported the toolkit yet."""
    command = [sys.executable, "-m", "tests.mutation", "--room", room, "--sample", str(COUNT), "--jobs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
