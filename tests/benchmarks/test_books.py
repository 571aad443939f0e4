"""Fills on recorded books equal those of hftbacktest in time, price, side and size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import equal_fills, event_backtests
from tests.research.backtesting.events.recorded import random_market
from toolkit.research.data.events import Events

KNOWN = Path(__file__).with_name("hftbacktest_fills.json")
"""What hftbacktest 2.4.4 fills in `market()`: setup → (Unix ms, signed steps, ticks); `write_known` wrote it."""


def market() -> tuple[Events, dict[str, equal_fills.Quoting]]:
    events = random_market(1, seconds=20)
    return events, equal_fills.setups(events, inside=0, market=0.01)


def write_known() -> None:
    """Run hftbacktest, which must be installed."""
    events, setups = market()
    theirs = equal_fills.peer(events)
    found = {}
    for name, setup in setups.items():
        rows, _, ended = theirs(setup)
        found[name] = [ended, [row for row in rows if row[0] < ended]]
    KNOWN.write_text(json.dumps(found, separators=(",", ":")) + "\n")


@pytest.mark.parametrize("name", json.loads(KNOWN.read_text()))
def test_every_fill_equals_the_known_one_of_hftbacktest(name: str) -> None:
    events, setups = market()
    ended, known = json.loads(KNOWN.read_text())[name]
    rows = [list(row) for row in equal_fills.ours(events, setups[name])[0] if row[0] < ended]
    assert rows == known
    assert len(rows) >= 9


@pytest.mark.slow
def test_every_fill_equals_that_of_the_installed_hftbacktest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("hftbacktest")
    random_market(2, seconds=20).save(tmp_path / "events.parquet")
    monkeypatch.setenv("TOOLKIT_BENCH_EVENTS", str(tmp_path / "events.parquet"))
    chosen = equal_fills.setups(event_backtests.given_events(), inside=0, market=0.01)
    monkeypatch.setattr(event_backtests, "setups", lambda events: chosen)
    rows = event_backtests.measure_books()
    assert len(rows) == 2 + len(chosen)
    assert [row.name for row in rows[2:] if not row.met] == []


def test_without_hftbacktest_only_the_time_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    random_market(1, seconds=3).save(tmp_path / "events.parquet")
    monkeypatch.setenv("TOOLKIT_BENCH_EVENTS", str(tmp_path / "events.parquet"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    [row] = event_backtests.measure_books()
    assert (row.unit, row.met) == ("s", None)
    assert row.value > 0
