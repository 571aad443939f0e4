"""Settings shared by all tests: deterministic property tests, no colour, no display."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "agg")

_EXTENDED = """from toolkit.venue.local import LocalVenue
LocalVenue.__init__.__kwdefaults__["wire"] = "extended"
"""

if os.environ.get("TOOLKIT_TEST_WIRE") == "extended":
    # The slow part of CI runs the tests of everything that reads the feed a second time with this form of it. The
    # kernels of notebooks are processes of their own, so they get it from a start-up file.
    from toolkit.venue.local import LocalVenue

    LocalVenue.__init__.__kwdefaults__["wire"] = "extended"
    _folder = Path(tempfile.mkdtemp(prefix="toolkit-tests-"))
    (_folder / "profile_default" / "startup").mkdir(parents=True)
    (_folder / "profile_default" / "startup" / "00-wire.py").write_text(_EXTENDED, encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(_folder)

settings.register_profile(
    "default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
