"""Packages for Node.js, installed for a test."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def installed(source: Path, target: Path) -> Path:
    """Copy a folder with a package.json and install what its lock names; skip where there is no Node, fail in CI."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules"))
    npm, message = shutil.which("npm"), "no Node.js: install it to run this test"
    if npm and shutil.which("node"):
        done = subprocess.run(
            [npm, "ci", "--no-audit", "--no-fund"], cwd=target, capture_output=True, text=True, timeout=110, check=False
        )
        if done.returncode == 0:
            return target
        message = f"the packages of {source.name} can't be installed: {done.stderr[-500:]}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
