"""`toolkit record` as a process: what it wrote is there, whole, also when it is killed, and goes on where it was."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.__main__ import main
from toolkit.research import data
from toolkit.research.data.event_array import Kind
from toolkit.venue.local import LocalVenue


def journal_size(out: Path) -> int:
    """Return the bytes in the journal of a recording."""
    return sum(path.stat().st_size for path in (out / ".journal").glob("*.jsonl"))


def recorded_until(url: str, out: Path, rows: int, number: int) -> None:
    """Record until the venue has traded `rows` times more, then send the process a signal."""
    line = [sys.executable, "-m", "toolkit", "record", url, "--out", str(out), "--symbols", "BTCUSDC"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            if re.match(r".*trades.*: live", text):
                break
        before = journal_size(out)
        while journal_size(out) < before + rows and process.poll() is None:
            pass
        process.send_signal(number)
        process.wait(timeout=30)
        if number == signal.SIGTERM:
            assert process.returncode == 0
            assert "stopped: " in process.stdout.read()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_a_killed_recording_loses_nothing_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "tape"
    with LocalVenue(speed=60) as venue, venue.serve() as served:
        recorded_until(served.base_url, out, 40_000, signal.SIGKILL)
        recorded_until(served.base_url, out, 40_000, signal.SIGTERM)
        done = {(one.time, one.price) for one in venue.host.core.state.history.trades[1]}
        product = venue.host.core.products[1]
    events = data.load(out, format="recording")
    assert events.symbol == "BTCUSDC"
    trades = events.of(Kind.TRADE)
    assert len(trades)
    found = {
        (int(time) // 10**6, round(price / float(product.tick_size)))
        for time, price in trades[["exchange_ns", "price"]]
    }
    assert found <= done
    assert events.counts()["clear"] >= 2, "each start of the recording begins with a snapshot"
    assert "crossed" not in set(data.check(events)["problem"])


def test_a_venue_that_is_not_there_is_an_error_of_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["record", "http://127.0.0.1:9", "--out", str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err.startswith("toolkit record: ")
