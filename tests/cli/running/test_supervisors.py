"""The unit, the compose file and the cron line of "Leave it running", read from the page and done as they say."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit.venue.local import LocalVenue

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="systemd, Docker and cron as on Linux"),
]
ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "leave-it-running.md").read_text(encoding="utf-8")
STRATEGY = """
from pathlib import Path
from toolkit.research import Strategy


class Carry(Strategy):
    timer_ms = 200

    def on_start(self, ctx):
        if not ctx.orders():
            ctx.buy("BTCUSDC", "0.001", "50000")

    def on_timer(self, ctx):
        if Path(__file__).with_name("too much").exists():
            ctx.buy("BTCUSDC", "5")
"""
TOOLKIT = """#!{python}
import sys
words = " ".join(sys.argv[1:]).replace("--env testnet", "--env local --url {url}").split()
sys.argv = ["toolkit", *words]
from toolkit.__main__ import main
raise SystemExit(main(words))
"""
"""The program of the page, on a local venue instead of Testnet."""


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, kind
    return found[1]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home with the program, the strategy and its limits, beside a venue."""
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HOME", str(tmp_path))
    tools = tmp_path / "venv" / "bin"
    tools.mkdir(parents=True)
    (tmp_path / "carry.py").write_text(STRATEGY)
    (tmp_path / "limits.toml").write_text("max_order_notional = 1000\n")
    with LocalVenue() as venue, venue.serve(0) as served:
        (tools / "toolkit").write_text(TOOLKIT.format(python=sys.executable, url=served.base_url))
        (tools / "pip").write_text("#!/bin/sh\n")
        for each in tools.iterdir():
            each.chmod(0o700)
        monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
        monkeypatch.setenv("VENUE", served.base_url)
        yield tmp_path


class Supervisor:
    """Starts a command, and again where its rule says so."""

    def __init__(self, command: list[str], again: Callable[[int], bool]) -> None:
        self._command, self._again = command, again
        self.codes: list[int] = []
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        # A group of its own, as a supervisor has for each service.
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0)

    def wait_running(self) -> None:
        """Wait until the run that it started rests its order."""
        self._wait(lambda: self._state() == "RUNNING" and len(orders()) == 1)

    def _state(self) -> str:
        table = toolkit.runs()
        return str(table["state"].iloc[0]) if len(table) else ""

    def _wait(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        while not holds():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until, self._state()
            time.sleep(0.1)

    def end(self, how: Callable[[], object], seconds: float = 60) -> bool:
        """Let the process end, and return whether it is started again."""
        how()
        self.process.communicate(timeout=seconds)
        self.codes.append(self.process.returncode)
        if again := self._again(self.process.returncode):
            self.process = self._start()
        return again


def orders() -> Any:
    with toolkit.connect(base_url=os.environ["VENUE"]) as session:
        return session.orders(open=True)


def seconds_of(text: str) -> float:
    return float(text.removesuffix("s"))


def live_through(supervisor: Supervisor, home: Path, patience: float, restarts_limits: bool) -> None:
    """Kill the run, stop it as the supervisor does, and let a limit end it."""
    supervisor.wait_running()
    assert supervisor.end(lambda: supervisor.process.send_signal(signal.SIGKILL))
    supervisor.wait_running()
    (home / "too much").touch()
    assert supervisor.end(lambda: None) is restarts_limits
    (home / "too much").unlink()
    assert orders().empty
    if restarts_limits:
        supervisor.wait_running()
        assert not supervisor.end(supervisor.process.terminate, patience)
    assert supervisor.codes[:2] == [-signal.SIGKILL, 3]
    assert orders().empty


def test_the_unit_of_systemd_restarts_what_failed_and_not_what_a_limit_ended(home: Path) -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(block("ini"))
    service = unit["Service"]
    assert service["Restart"] == "on-failure"
    never = {int(code) for code in service["RestartPreventExitStatus"].split()}
    command = shlex.split(service["ExecStart"].replace("%h", str(home)))
    # Of systemd: on-failure is any code but 0, and any signal but those of a regular stop.
    supervisor = Supervisor(
        command, lambda code: code not in (0, -signal.SIGTERM, -signal.SIGINT) and code not in never
    )
    live_through(supervisor, home, seconds_of(service["TimeoutStopSec"]), restarts_limits=False)
    again = Supervisor(command, lambda code: code != 0)
    again.wait_running()
    assert not again.end(again.process.terminate, seconds_of(service["TimeoutStopSec"]))
    assert orders().empty


def test_the_container_of_the_compose_file_hands_its_stop_to_the_run(home: Path) -> None:
    yaml = pytest.importorskip("yaml")
    [service] = yaml.safe_load(block("yaml"))["services"].values()
    assert service["restart"] == "on-failure"
    assert service["environment"] == {"TOOLKIT_STATE": "/state"}
    assert {volume.partition(":")[2] for volume in service["volumes"]} == {"/app:ro", "/state"}
    command = shlex.split(service["command"].replace("/app", str(home)))
    # Docker's restart policy counts every code but 0, and none after `docker stop`.
    supervisor = Supervisor(command, lambda code: code != 0)
    live_through(supervisor, home, seconds_of(service["stop_grace_period"]), restarts_limits=True)


def test_the_line_of_cron_starts_one_copy_and_starts_it_again(home: Path) -> None:
    *times, command = block("text").strip().split(maxsplit=5)
    assert times == ["*/5", "*", "*", "*", "*"]
    command = command.replace("/tmp/", f"{home}/")
    first = Supervisor(["sh", "-c", command], lambda code: False)
    first.wait_running()
    second = Supervisor(["sh", "-c", command], lambda code: False)
    assert not second.end(lambda: None)
    assert second.codes == [1]  # flock's: another one has the lock
    [pid] = toolkit.runs()["pid"]
    assert not first.end(lambda: os.kill(pid, signal.SIGTERM))
    assert orders().empty
    third = Supervisor(["sh", "-c", command], lambda code: False)
    third.wait_running()
    [pid] = toolkit.runs()["pid"]
    third.end(lambda: os.kill(pid, signal.SIGTERM))
    assert orders().empty
