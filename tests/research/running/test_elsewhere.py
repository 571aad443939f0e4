"""`stop_all` ends the runs of other processes, too, those without a name as well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit.research import live
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parents[3]
BTC = "BTCUSDC"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    with LocalVenue() as venue, venue.serve(0) as served, toolkit.connect(base_url=served.base_url) as made:
        made.exchange.approve_agent()
        yield made


def start(session: Any, folder: Path) -> subprocess.Popen[str]:
    """Start the program, and wait until both of its runs have traded."""
    command = [sys.executable, "-m", "tests.research.running.trading_program", session.environment.base_url]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "said").open("w") as said:
        started = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said, text=True)
    wait_until(lambda: len(session.fills()["client_order_id"].dropna().unique()) > 6, folder)
    return started


def wait_until(holds: Callable[[], bool], folder: Path) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until, (folder / "said").read_text()
        time.sleep(0.1)


def runs_of(found: Any) -> list[tuple[str, str]]:
    rows = found[found["kind"] == "run"]
    return sorted((row.outcome, row.message.partition(";")[0].partition(" on ")[0]) for row in rows.itertuples())


def test_stop_all_ends_the_runs_of_another_process(session: Any, tmp_path: Path) -> None:
    started = start(session, tmp_path)
    found = session.stop_all(flatten=True)
    assert runs_of(found) == [("ENDED", f"process {started.pid}")] * 2, (tmp_path / "said").read_text()
    assert started.wait(30) == 0
    assert session.orders(open=True).empty
    assert session.positions().empty
    assert runs_of(session.stop_all()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_frozen_process_is_named_and_places_nothing_when_it_wakes(session: Any, tmp_path: Path) -> None:
    started = start(session, tmp_path)
    started.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    found = session.stop_all(flatten=True)
    assert time.monotonic() - began < 25
    assert runs_of(found) == [("UNKNOWN", f"process {started.pid}")] * 2
    assert found["message"].str.contains("did not end within 10 s. It places nothing more").sum() == 2
    before = len(session.fills())
    started.send_signal(signal.SIGCONT)
    assert started.wait(30) == 0
    assert session.orders(open=True).empty
    assert session.positions().empty, (tmp_path / "said").read_text()
    assert len(session.fills()) == before


def test_what_was_asked_of_an_earlier_start_does_not_end_the_next(session: Any, tmp_path: Path) -> None:
    def stops(ctx: Any) -> None:
        [status] = tmp_path.rglob("again.status.json")
        status.with_name("again.ask.json").write_text('{"what":"stop"}')
        raise ValueError("before it reads that")

    limits, options = toolkit.Limits(max_position=1), {"name": "again", "poll": "100ms", "duration": "300ms"}
    with pytest.raises(ValueError, match="before it reads that"):
        live({"on_bar": lambda ctx, bar: None, "on_start": stops}, session, [BTC], limits=limits, **options)
    again = live(lambda ctx, bar: None, session, [BTC], limits=limits, **options)
    assert again.events["kind"].tolist()[-1] == "END"
