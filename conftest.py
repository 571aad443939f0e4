"""Settings for tests and notebooks alike: state outside the home of whoever runs them, no progress bars."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

# tqdm reads its settings when it is imported, which is now: the variable set below is for kernels and other processes.
os.environ.pop("TQDM_DISABLE", None)
import tqdm.auto  # noqa: F401


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment, which kernels and processes of the tests inherit."""
    folder = os.environ["TOOLKIT_STATE"] = tempfile.mkdtemp(prefix="toolkit-state-")
    os.environ["TQDM_DISABLE"] = "1"  # whether a progress bar appears in a notebook depends on the machine
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
