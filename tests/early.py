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


LONGEST = (
    *("tests/test_contributing.py", "tests/research/data/formats/test_damaged.py", "tests/venue/reference"),
    *("tests/client/orders/test_identity.py", "tests/test_typing.py", "tests/venue/simulation/test_interventions.py"),
    *("tests/classroom/test_killed.py", "tests/conformance", "tests/browser/test_soak.py"),
)
"""Files of the tests that take longest in the slow part, which are begun first."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures the rooms."""
    parser.addoption("--processor-time", metavar="FILE", help="print processor time by room, and write it as JSON")
    parser.addoption("--first-cases", action="store_true", help="of each test its first case; no notebook, no browser")


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the processes that run tests, and report in the one that the command started."""
    if file := config.getoption("--processor-time"):
        from tests.budgets import Clock, Table

        config.pluginmanager.register(Clock())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Table(Path(file)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first case of each test, if asked to: that covers every room, on one more Python, in two minutes.

    Notebooks and browsers are left out: they are the same programs under every Python. Whatever markers deselect is
    gone by now, so a slow first case doesn't hide a quick second one.
    """
    # Stable: the rest keeps its order. What takes minutes must not be what one process still does when the others end.
    places = {path: place for place, path in enumerate(LONGEST)}
    items.sort(key=lambda item: min((n for path, n in places.items() if item.nodeid.startswith(path)), default=99))
    if not config.getoption("--first-cases"):
        return
    kept: dict[tuple[Path, str], pytest.Item] = {}
    for item in items:
        if isinstance(item, pytest.Function) and not item.get_closest_marker("browser"):
            kept.setdefault((item.path, item.nodeid.partition("[")[0]), item)
    chosen = {item.nodeid for item in kept.values()}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
    items[:] = kept.values()


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
