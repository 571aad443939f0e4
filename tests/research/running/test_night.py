"""A night of a run that a supervisor starts again: it is killed, frozen, cut off and limited, and loses nothing.

TOOLKIT_NIGHT_HOURS is how long it lasts, of the venue's time, at 50 times the speed (default: 0.75, about a minute).
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit import research
from toolkit.__main__ import main
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parents[3]
BTC = "BTCUSDC"
SPEED = 50
HOURS = float(os.environ.get("TOOLKIT_NIGHT_HOURS", "0.75"))
STRATEGY = '''
from toolkit.research import Strategy


class Quotes(Strategy):
    """Rests an order on each side near the price, and turns what it holds back to nothing."""

    timer_ms = 60_000

    def on_timer(self, ctx):
        price = ctx.price("BTCUSDC")
        if price != price or len(ctx.orders()) > 4:
            return
        if abs(ctx.position("BTCUSDC")) >= 0.02:
            ctx.target("BTCUSDC", "0")
            return
        for order in ctx.orders():
            ctx.cancel(order)
        product = ctx.product("BTCUSDC")
        ctx.buy("BTCUSDC", "0.005", product.round_price(price * 0.9999, "nearest"))
        ctx.sell("BTCUSDC", "0.005", product.round_price(price * 1.0001, "nearest"))
'''
ENDS = {"SIGTERM": 0, "SIGINT": 130, "SIGKILL": -9}
OFTEN = (*ENDS, "SIGSTOP", "outage", "429")
ONCE = ("outage of half an hour", "by hand", "by hand", "renewal", "full disk")
ALIVE = ("RUNNING", "PAUSED", "ENDING")


@dataclass
class Night:
    """A served venue, and a run on it that is started again whenever it has ended."""

    session: Any
    control: Any
    url: str
    folder: Path
    started: Any = None
    seen: list[str] = field(default_factory=list)

    def start(self) -> None:
        words = ["run", str(self.folder / "night.py"), "--env", "local", "--url", self.url]
        command = [sys.executable, "-m", "toolkit", *words, "--limits", str(self.folder / "limits.toml")]
        with (self.folder / "stderr").open("ab") as said:
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            self.started = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=said, stderr=said)

    def said(self) -> str:
        return (self.folder / "stderr").read_text()

    def status(self) -> Any:
        """Return the row of the run, None before it has told anything."""
        table = toolkit.runs()
        return table.loc["night"] if "night" in table.index else None

    def wait_until(self, holds: Callable[[], bool], seconds: float = 90) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, (self.seen, self.status(), self.said()[-3000:])
            time.sleep(0.1)

    def is_alive(self) -> bool:
        row = self.status()
        if row is None or row["state"] not in ALIVE or row["pid"] != self.started.pid:
            if self.started.poll() is not None:  # as its supervisor would
                self.start()
            return False
        return True

    def own_orders(self) -> int:
        ids = self.session.orders(open=True)["client_order_id"].dropna()
        return sum(int(one) >> 52 == 1 for one in ids)

    def book(self) -> float:
        """Return the position that the fills of the run add up to."""
        fills = self.session.fills()
        own = fills[fills["client_order_id"].fillna(0).astype("int64") // 2**52 == 1]
        return float((own["quantity"] * own["side"].map({"BUY": 1, "SELL": -1}).astype(float)).sum())

    def is_right(self) -> bool:
        """Return whether book and venue agree, and `toolkit runs` shows both, which a fill in between delays."""
        row, book = self.status(), round(self.book(), 9)
        held = self.session.positions()
        venue = float((held["size"] * held["side"].map({"LONG": 1, "SHORT": -1}).astype(float)).get(BTC, 0.0))
        shown = float(row["positions"].split()[0]) if row["positions"] else 0.0
        return shown == book == round(venue, 9)

    def do(self, event: str, rng: random.Random) -> None:
        """Let something happen, and look at the run while and after it."""
        control = self.control
        if event in ENDS:
            self.started.send_signal(getattr(signal, event))
            assert self.started.wait(90) == ENDS[event], self.said()[-3000:]
            row = self.status()
            assert row["state"] == ("DIED" if event == "SIGKILL" else "ENDED")
            assert event == "SIGKILL" or self.own_orders() == 0
            self.start()
        elif event == "SIGSTOP":
            self.started.send_signal(signal.SIGSTOP)
            time.sleep(rng.uniform(0.5, 2))
            self.started.send_signal(signal.SIGCONT)
        elif event.startswith("outage"):
            long = event != "outage"
            with control.add_fault(rng.choice(("status", "cut-request", "cut-answer")), path="/*", count=None):
                time.sleep((1800 if long else rng.uniform(5, 60)) / SPEED)
                if long:
                    assert self.status()["state"] == "PAUSED"
        elif event == "429":
            with control.add_fault("status", status=429, count=rng.randint(3, 12)):
                time.sleep(rng.uniform(0.5, 1.5))
        elif event == "by hand":
            self.session.buy("ETHUSDC", "0.01")
        elif event == "renewal":
            before = self.status()["agent_until"]
            assert main(["agent", "renew", "--env", "local", "--base-url", self.url, "--days", "9"]) == 0
            self.wait_until(lambda: self.status()["agent_until"] != before)
        else:
            resource.prlimit(self.started.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            assert self.started.wait(90) == 1, self.said()[-3000:]  # what can't be recorded is not sent
            assert self.status()["state"] in ("ENDED", "DIED")
            assert self.own_orders() == 0
            self.start()


@pytest.mark.slow
@pytest.mark.timeout(60 + HOURS * 3600 / SPEED * 4)
@pytest.mark.skipif(sys.platform != "linux", reason="signals and limits of files as Linux has them")
def test_a_night_loses_nothing_and_is_told_rightly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))
    (tmp_path / "night.py").write_text(STRATEGY)
    (tmp_path / "limits.toml").write_text("max_position = 0.04\nmax_orders_per_minute = 600\n")
    rng, seconds = random.Random(5), HOURS * 3600 / SPEED
    events = list(ONCE) + [*OFTEN] * (1 if HOURS < 4 else 6)
    rng.shuffle(events)
    began = time.monotonic()
    with LocalVenue(speed=SPEED) as venue, venue.serve(0) as shell, toolkit.connect(base_url=shell.base_url) as session:
        session.exchange.approve_agent(validity_seconds=5 * 86_400)
        night = Night(session, venue.control, shell.base_url, tmp_path)
        night.start()
        for number, event in enumerate(events):
            night.wait_until(night.is_alive)
            while time.monotonic() < began + seconds * number / len(events):
                time.sleep(0.1)
            night.wait_until(night.is_alive)
            night.seen.append(event)
            night.do(event, rng)
            venue.control.clear_faults()
            night.wait_until(night.is_alive)
            night.wait_until(lambda: night.status()["state"] == "RUNNING")
            night.wait_until(night.is_right)
        assert research.attach("night").stop(flatten=True) == []
        night.started.wait(90)
        assert session.orders(open=True).empty
        left = session.positions()["size"].to_dict()
        assert left == {"ETHUSDC": pytest.approx(0.02)}, night.said()
        assert night.book() == pytest.approx(0)
        run, table, statement = toolkit.run_results("night"), toolkit.runs(), session.statement()
        size = run.fills["quantity"] * run.fills["side"].map({"BUY": 1, "SELL": -1}).astype(float)
        assert size.sum() == pytest.approx(0)
        own = float(statement[(statement["run"] == "night") & (statement["kind"] != "FUNDING")]["amount"].sum())
        assert own == pytest.approx((run.fills["realized_pnl"] - run.fills["fee"]).sum(), abs=1e-6)
        equity = float(session.wallet_balances()["equity"].iloc[0])
        assert table["pnl"].sum() == pytest.approx(equity - 10_000, abs=1), table.to_string()
    lines = [json.loads(line) for line in research.attach("night").log_file.read_text().splitlines()]
    story = [line["text"] for line in lines if line["logger"] in ("toolkit.run", "toolkit.limits", "toolkit.feed")]
    print(f"{len(events)} events, {len(run.fills)} fills, {len(lines)} lines of log, {len(story)} of them the story")
    assert len(story) < 200, "\n".join(story)
