"""`toolkit run` and `toolkit runs`: a strategy from a file, seen, stopped and finished from other programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit import research
from toolkit.__main__ import main
from toolkit.errors import InputError, ToolkitError
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parents[3]
STRATEGY = '''
from toolkit.research import Strategy

class Holder(Strategy):
    """Holds a position, and rests an order."""

    size = "0.01"

    def on_start(self, ctx):
        if not ctx.orders():
            ctx.buy("BTCUSDC", self.size)
            ctx.buy("BTCUSDC", self.size, "50000")
'''


@pytest.fixture
def url() -> Iterator[str]:
    with LocalVenue() as venue, venue.serve(0) as served:
        yield served.base_url


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))
    (tmp_path / "carry.py").write_text(STRATEGY)
    return tmp_path


def start(home: Path, url: str, *words: str) -> subprocess.Popen[str]:
    """Start a run in another program, and wait until it holds its position."""
    command = [sys.executable, "-m", "toolkit", "run", str(home / "carry.py"), "--env", "local", "--url", url, *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (home / "stderr").open("a") as said:
        started = subprocess.Popen(command, cwd=home, env=environment, stderr=said, text=True)
    until = time.monotonic() + 30
    while time.monotonic() < until and started.poll() is None:
        table = toolkit.runs()
        if len(table) and table["positions"].iloc[0] and table["state"].iloc[0] == "RUNNING":
            return started
        time.sleep(0.05)
    started.kill()
    raise AssertionError((home / "stderr").read_text())


def left(url: str) -> tuple[int, float]:
    """Return how many orders are open, and the size of the position."""
    with toolkit.connect(base_url=url) as session:
        return len(session.orders(open=True)), float(session.positions()["size"].sum())


def test_a_run_is_seen_asked_and_stopped_by_another_program(
    home: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    started = start(home, url, "--set", "size=0.02", "--notify", f"{url}/nowhere")
    [row] = toolkit.runs().itertuples()
    assert (row.Index, row.strategy, row.state, row.positions) == ("carry", "Holder", "RUNNING", "0.02 BTCUSDC")
    assert row.environment.startswith("local:")
    assert abs(row.pnl) < 100
    assert row.agent_until.year >= 2026
    attached = research.attach("carry")
    assert attached.results().fills["quantity"].tolist() == [0.02]
    assert main(["runs"]) == main(["runs", "show", "carry"]) == 0
    assert "0.02 BTCUSDC" in capsys.readouterr().out
    assert main(["runs", "stop", "carry", "--flatten"]) == 0
    assert capsys.readouterr().out == "carry has ended. Still open: nothing\n"
    assert started.wait(30) == 0
    assert left(url) == (0, 0.0)
    assert main(["runs", "log", "carry"]) == 0
    shown = capsys.readouterr().out
    for words in ("START Holder on local", "FILL BTCUSDC BUY 0.02", "KILL another program"):
        assert words in shown
    assert main(["runs", "report", "carry", "--out", str(home / "carry.html")]) == 0
    assert len(toolkit.run_results("carry").fills) == 2
    assert "notify failed" in attached.log_file.read_text()
    assert url not in attached.log_file.read_text()


def test_what_a_killed_program_left_is_cancelled_and_closed_by_stop(home: Path, url: str) -> None:
    started = start(home, url)
    started.kill()
    started.wait(30)
    assert left(url) == (1, 0.01)
    assert toolkit.runs()["state"].tolist() == ["DIED"]
    with pytest.raises(ToolkitError, match=r"run 'carry' is not running, as its program is gone\. Give session"):
        research.attach("carry").stop()
    assert main(["runs", "stop", "carry", "--flatten"]) == 0
    assert left(url) == (0, 0.0)
    assert toolkit.runs()["state"].tolist() == ["ENDED"]


@pytest.mark.slow
def test_a_run_that_is_started_again_has_its_whole_life(home: Path, url: str) -> None:
    for ending in (signal.SIGKILL, signal.SIGTERM):
        started = start(home, url)
        started.send_signal(ending)
        assert started.wait(30) == (0 if ending == signal.SIGTERM else -9)
    results = toolkit.run_results("carry")
    assert len(results.fills) == 1
    assert results.equity.index[0] < results.fills["time"].iloc[0]
    with toolkit.connect(base_url=url) as session:
        assert research.attach("carry").stop(flatten=True, session=session) == []
    assert left(url) == (0, 0.0)


def test_log_lines_are_json_and_have_no_key(home: Path, url: str) -> None:
    path = home / "here.log"
    started = start(home, url, "--log", str(path), "--close-at-end", "--name", "mine")
    started.terminate()
    assert started.wait(30) == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["run"] for line in lines} == {"mine"}
    assert {"START", "FILL", "INTERRUPT"} <= {line["kind"] for line in lines}
    assert len(lines) < 12
    assert left(url) == (0, 0.0)


WRONG: dict[str, tuple[list[str], str]] = {
    "no file": (["gone.py"], "there is no file gone.py"),
    "no strategy": (["empty.py"], "empty.py has 0 strategies"),
    "another class": (
        ["carry.py", "--class", "Other"],
        "carry.py has no strategy 'Other'. Choose one with --class: Holder",
    ),
    "a setting": (["carry.py", "--set", "size"], "--set 'size' is not NAME=VALUE"),
    "a parameter": (["carry.py", "--set", "speed=2"], "Holder has no parameter 'speed', only size"),
    "no limits": (["carry.py", "--env", "testnet"], "a run on testnet needs --limits FILE"),
    "an address": (["carry.py", "--notify", "somebody"], "notify is a function, an address"),
    "a name": (["carry.py", "--name", "a b"], "run 'a b' is not a name"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_can_not_run_is_refused_in_words(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(home)
    (home / "empty.py").write_text("x = 1\n")
    words, said = WRONG[name]
    assert main(["run", *words, *([] if "--env" in words else ["--env", "local"]), "--duration", "1m"]) == 2
    assert said in capsys.readouterr().err


def test_a_venue_that_is_not_there_yet_is_tried_again_by_a_supervisor(home: Path) -> None:
    words = ["run", str(home / "carry.py"), "--env", "local", "--url", "http://127.0.0.1:9"]
    assert main(words) == 5  # systemd's unit of the page restarts it, unlike after 2


def test_without_runs_the_list_says_how_to_start_one(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    assert "`toolkit run strategy.py` starts one" in capsys.readouterr().out
    assert toolkit.runs().empty
    with pytest.raises(InputError, match="there is no run 'carry' on this machine"):
        research.attach("carry")


def test_a_callable_is_told_and_one_that_fails_does_no_harm() -> None:
    told: list[str] = []

    def notify(text: str) -> Any:
        told.append(text)
        raise OSError("nobody listens")

    def buys(ctx: Any, bar: Any) -> None:
        ctx.buy("BTCUSDC", "0.01")

    with toolkit.connect(clock="manual") as session:
        limits = toolkit.Limits(max_position=0.05)
        run = research.live(buys, session, ["BTCUSDC"], limits=limits, duration="5m", name="told", notify=notify)
    assert len(run.fills) >= 4
    assert [text.split()[1] for text in told][:2] == ["START", "FILL"]
    assert "fills since the last message" in " ".join(told) or len(told) <= 8
    assert told[-1].startswith("told: ")


ENDS = {
    "raises": ("raise ValueError('of the strategy')", 1),
    "leaves": ("raise SystemExit(3)", 1),
    "is limited": ("ctx.buy('BTCUSDC', '1')", 3),
    "stops": ("ctx.stop('enough')", 0),
    "is interrupted": ("signal.raise_signal(signal.SIGINT)", 130),
    "is terminated": ("signal.raise_signal(signal.SIGTERM)", 0),
}
"""What a strategy does in its `on_start` → the exit code."""


@pytest.mark.parametrize("name", ENDS)
def test_a_supervisor_learns_how_a_run_ended(home: Path, name: str) -> None:
    head = "import signal\nfrom toolkit.research import Strategy\nclass Ends(Strategy):\n    def on_start(self, ctx):\n"
    code = f"{head}        {ENDS[name][0]}\n"
    (home / "ends.py").write_text(code)
    (home / "limits.toml").write_text("max_position = 0.05\n")
    words = ["run", str(home / "ends.py"), "--env", "local", "--limits", str(home / "limits.toml"), "--duration", "2s"]
    assert main(words) == ENDS[name][1]
