"""Settings shared by all tests: deterministic property tests, no colour, no display."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "agg")

# Some tests run a second time: with another form of the feed ("extended"), or with a settlement delay ("1s").
# The kernels of notebooks are processes of their own, so they get the settings from a start-up file.
_SETTINGS = {"wire": os.environ.get("TOOLKIT_TEST_WIRE"), "settle_delay": os.environ.get("TOOLKIT_TEST_SETTLE_DELAY")}
_GIVEN = {name: value for name, value in _SETTINGS.items() if value}

if _GIVEN:
    from toolkit.venue.local import LocalVenue

    LocalVenue.__init__.__kwdefaults__.update(_GIVEN)
    _folder = Path(tempfile.mkdtemp(prefix="toolkit-tests-"))
    (_folder / "profile_default" / "startup").mkdir(parents=True)
    (_folder / "profile_default" / "startup" / "00-venue.py").write_text(
        f"from toolkit.venue.local import LocalVenue\nLocalVenue.__init__.__kwdefaults__.update({_GIVEN!r})\n",
        encoding="utf-8",
    )
    os.environ["IPYTHONDIR"] = str(_folder)

settings.register_profile(
    "default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
