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

collect_ignore_glob = ["notebooks/solutions/*"]
"""Their cells are those of the lessons and an answer: they run as programs, in tests/notebooks/test_runs.py."""
SLOW_LESSONS = {"09", *map(str, range(11, 25))} - {"12", "14"}
"""Numbers of the lessons whose outputs are compared in the slow part: most of the time of all is theirs."""

# Some tests run a second time, with a settlement delay ("1s").
_DELAY = os.environ.get("TOOLKIT_TEST_SETTLE_DELAY")
_GIVEN = {"settle_delay": _DELAY} if _DELAY else {}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Let `-n auto` start one worker more than there are cores: they wait for pages and kernels a fifth of their time.

    Not for the slow part, whose tests measure times.
    """
    cores = os.cpu_count()
    return cores + 1 if cores and "not slow" in config.option.markexpr else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cells of slow lessons."""
    for item in items:
        if item.path.suffix == ".ipynb" and item.path.name[:2] in SLOW_LESSONS:
            item.add_marker(pytest.mark.slow)


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment, which kernels and processes of the tests inherit."""
    folder = os.environ["TOOLKIT_STATE"] = tempfile.mkdtemp(prefix="toolkit-state-")
    os.environ["TOOLKIT_TRIALS"] = "off"  # else the tests and notebooks of a process count each other's runs
    os.environ["TQDM_DISABLE"] = "1"  # whether a progress bar appears in a notebook depends on the machine
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    if _GIVEN:
        # The kernels of notebooks are processes of their own, so they get the settings from a start-up file.
        text = f"from toolkit.venue.local import LocalVenue\nLocalVenue.__init__.__kwdefaults__.update({_GIVEN!r})\n"
        exec(text, {})
        startup = Path(folder, "ipython", "profile_default", "startup")
        startup.mkdir(parents=True)
        (startup / "00-venue.py").write_text(text, encoding="utf-8")
        os.environ["IPYTHONDIR"] = str(Path(folder, "ipython"))
