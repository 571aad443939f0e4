"""Settings shared by all tests: deterministic property tests, no colour, no display."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "agg")

settings.register_profile(
    "default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
