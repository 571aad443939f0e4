"""What pytest loads before its other plugins, as `-p tests.early` in pyproject.toml: settings that save its time."""

from __future__ import annotations

import gc
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

# nbval imports jsonschema, which makes 38 grammars of internationalised addresses if it can: more than a second in each
# process, and no test checks such an address. An empty module makes it do without.
sys.modules.setdefault("rfc3987_syntax", types.ModuleType("rfc3987_syntax"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures the rooms."""
    parser.addoption("--processor-time", metavar="FILE", help="print processor time by room, and write it as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the processes that run tests, and report in the one that the command started."""
    if file := config.getoption("--processor-time"):
        from tests.budgets import Clock, Table

        config.pluginmanager.register(Clock())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Table(Path(file)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line for each reason what was not run: without a browser that is two hundred tests."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"NOT RUN [{count}] {reason}")
