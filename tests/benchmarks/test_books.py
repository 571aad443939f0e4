"""The benchmark of backtests on books runs on any events, and compares only with what it knows of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.research.backtesting.events.recorded import random_market
from toolkit.benchmarks import event_backtests as books


def test_every_queue_and_latency_is_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    random_market(1, seconds=2).save(tmp_path / "events.parquet")
    monkeypatch.setenv("TOOLKIT_BENCH_EVENTS", str(tmp_path / "events.parquet"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    speed, *fills = books.measure_books()
    assert speed.unit == "s"
    assert speed.target is None
    assert [row.name for row in fills][:2] == [f"fills of the maker, risk-averse, {ms} ms each way" for ms in (10, 50)]
    assert len(fills) == len(books.QUEUES) * len(books.LATENCIES_MS) == len(books.KNOWN_FILLS)
    assert all(row.met is None for row in fills)
    assert fills[0].value == books.ours(books.given_events(), "risk-averse", 10) > 0
