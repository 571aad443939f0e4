"""Keeps what sessions remember between runs (nonces, ledgers) out of the home of whoever runs tests and notebooks."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Name a temporary folder in the environment, which kernels and processes of the tests inherit."""
    folder = os.environ["TOOLKIT_STATE"] = tempfile.mkdtemp(prefix="toolkit-state-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
