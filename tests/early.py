"""What pytest loads before its other plugins, as `-p tests.early` in pyproject.toml: settings that save its time."""

from __future__ import annotations

import gc
import sys
import types
from collections import Counter
from collections.abc import Iterator

import pytest

# nbval imports jsonschema, which makes 38 grammars of internationalised addresses if it can: more than a second in each
# process, and no test checks such an address. An empty module makes it do without.
sys.modules.setdefault("rfc3987_syntax", types.ModuleType("rfc3987_syntax"))


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
