"""A night in short: a run that a supervisor starts again is killed, stopped, frozen and cut off, and loses nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toolkit
from toolkit import research
from toolkit.venue.local import LocalVenue

ROOT = Path(__file__).resolve().parents[3]
STRATEGY = '''
from toolkit.research import Strategy


class Quotes(Strategy):
    """Rests an order on each side near the price, and turns what it holds back to nothing."""

    timer_ms = 2_000

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
EVENTS = ("SIGTERM", "SIGKILL", "SIGINT", "SIGSTOP", "outage", "by hand")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_run_that_is_killed_frozen_and_cut_off_all_night_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path / "state"))
    (tmp_path / "night.py").write_text(STRATEGY)
    (tmp_path / "limits.toml").write_text("max_position = 0.04\nmax_orders_per_minute = 600\n")
    rng, told = random.Random(5), list(EVENTS) * 3
    rng.shuffle(told)
    with LocalVenue(speed=5) as venue, venue.serve(0) as served, toolkit.connect(base_url=served.base_url) as session:
        session.exchange.approve_agent()
        words = ["run", str(tmp_path / "night.py"), "--env", "local", "--url", served.base_url]
        command = [sys.executable, "-m", "toolkit", *words, "--limits", str(tmp_path / "limits.toml")]

        def start() -> subprocess.Popen[bytes]:
            with (tmp_path / "stderr").open("ab") as said:
                environment = {**os.environ, "PYTHONPATH": str(ROOT)}
                return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=said, stderr=said)

        started = start()
        for event in told:
            wait_until(lambda: toolkit.runs()["state"].tolist() in (["RUNNING"], ["PAUSED"]), tmp_path)
            time.sleep(rng.uniform(1, 3))
            if event != "outage":
                venue.control.clear_faults()
            if event == "outage":
                venue.control.add_fault(rng.choice(("status", "cut-request", "cut-answer")), count=rng.randint(5, 40))
            elif event == "by hand":
                session.buy("ETHUSDC", "0.01")
            elif event == "SIGSTOP":
                started.send_signal(signal.SIGSTOP)
                time.sleep(rng.uniform(0.5, 2))
                started.send_signal(signal.SIGCONT)
            else:
                started.send_signal(getattr(signal, event))
                started.wait(60)
                if event != "SIGKILL":
                    own = [row for row in session.orders(open=True)["client_order_id"] if row == row]
                    assert not [one for one in own if int(one) >> 52 == 1], (event, (tmp_path / "stderr").read_text())
                started = start()
        venue.control.clear_faults()
        wait_until(lambda: toolkit.runs()["state"].tolist() in (["RUNNING"], ["PAUSED"]), tmp_path)
        assert research.attach("night").stop(flatten=True) == []
        started.wait(60)
        run = toolkit.run_results("night")
        assert session.orders(open=True).empty
        left = session.positions()["size"].to_dict()
        assert left == {"ETHUSDC": pytest.approx(0.01 * told.count("by hand"))}, (tmp_path / "stderr").read_text()
        size = run.fills["quantity"] * run.fills["side"].map({"BUY": 1, "SELL": -1}).astype(float)
        assert size.sum() == pytest.approx(0)
        statement = session.statement()
        own = statement[statement["run"] == "night"]["amount"].sum()
        assert float(own) == pytest.approx((run.fills["realized_pnl"] - run.fills["fee"]).sum(), abs=1e-6)
    log = research.attach("night").log_file.read_text().splitlines()
    assert len([line for line in log if '"ORDER"' not in line]) < 200 + 3 * len(run.fills)


def wait_until(holds: object, folder: Path) -> None:
    until = time.monotonic() + 60
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < until, (folder / "stderr").read_text()
        time.sleep(0.1)
