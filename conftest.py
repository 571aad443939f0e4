"""Settings for tests and notebooks alike: state outside the home of whoever runs them, no progress bars."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

# tqdm reads its settings when it is imported, which is now: the variable set below is for kernels and other processes.
os.environ.pop("TQDM_DISABLE", None)
import tqdm.auto  # noqa: F401

_EXTENDED = """from toolkit.venue.local import LocalVenue
LocalVenue.__init__.__kwdefaults__["wire"] = "extended"
"""


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment, which kernels and processes of the tests inherit."""
    folder = os.environ["TOOLKIT_STATE"] = tempfile.mkdtemp(prefix="toolkit-state-")
    os.environ["TQDM_DISABLE"] = "1"  # whether a progress bar appears in a notebook depends on the machine
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    if os.environ.get("TOOLKIT_TEST_WIRE") == "extended":
        # What reads the venue is tested a second time with this form of it. The kernels of notebooks are processes of
        # their own, so they get it from a start-up file.
        exec(_EXTENDED, {})
        startup = Path(folder, "ipython", "profile_default", "startup")
        startup.mkdir(parents=True)
        (startup / "00-wire.py").write_text(_EXTENDED, encoding="utf-8")
        os.environ["IPYTHONDIR"] = str(Path(folder, "ipython"))
