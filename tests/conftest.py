"""Settings shared by all tests: deterministic property tests, no colour, no display."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("TQDM_DISABLE", "1")  # whether a bar appears in a notebook depends on the machine

settings.register_profile(
    "default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session", autouse=True)
def _state_of_sessions(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the nonces that sessions share out of the home of whoever runs the tests."""
    os.environ["TOOLKIT_STATE"] = str(tmp_path_factory.mktemp("state"))
