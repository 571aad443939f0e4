"""Settings shared by all tests: deterministic property tests, no colour, no display."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "agg")

# Some hundred processes start in these tests: without bytecode each compiles the toolkit again, a third of their time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A background job of a shell, nohup and some CI systems ignore SIGINT, and what is started there inherits that. A
# handler is not inherited: processes of tests that are interrupted start as in a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "default", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

SLOW_SECONDS = 600
"""A slow test that takes longer hangs; the limit of the others is in pyproject.toml."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow tests more time: a machine may have other work as well."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


@pytest.fixture(scope="module", autouse=True)
def no_panel_outlives_its_tests() -> Iterator[None]:
    """Find the tests that leave a panel open: its refresher would go on in the tests after them."""
    yield
    panels = sys.modules.get("toolkit.widgets.base_panel.panel")
    assert panels is None or not panels.REFRESHER.running, list(panels.Panel.open_panels)


@pytest.fixture
def own_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Count the trials of a test in a file of its own, from none: those of a process go where its first one went."""
    from toolkit.research import trials

    len(trials)  # opens those of this process where they belong, before the variable changes
    monkeypatch.setenv("TOOLKIT_TRIALS", str(tmp_path / "trials.sqlite"))
    monkeypatch.setattr(trials, "_opened", None)
    yield
    if trials._opened is not None:
        trials._opened[2].close()
