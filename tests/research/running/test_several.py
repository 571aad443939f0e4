"""Several runs on an account, and its owner: each has its profit, and the rest is a row, so that the sum is right."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolkit
from toolkit import research
from toolkit.research import Strategy
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


class Flips(Strategy):
    """Holds a position every other second."""

    size = "0.02"
    timer_ms = 1_000

    def on_timer(self, ctx: Any) -> None:
        ctx.target(BTC, "0" if ctx.position(BTC) else self.size)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_profits_of_runs_and_the_rest_are_the_accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    limits = toolkit.Limits(max_position=1, max_orders_per_minute=None)
    options: dict[str, Any] = {"limits": limits, "background": True, "poll": "1s", "by_hand": "continue"}
    options |= {"close_at_end": True}
    served = LocalVenue(speed=4)
    with served as venue, venue.serve(0) as shell, toolkit.connect(base_url=shell.base_url) as session:
        session.exchange.approve_agent()
        began = float(session.wallet_balances()["equity"].iloc[0])
        longs = research.live(Flips, session, [BTC], name="longs", **options)
        wait_until(lambda: len(session.fills()) >= 2)  # the account's profit is that since its start
        shorts = research.live(Flips(size="-0.01"), session, [BTC], name="shorts", **options)
        session.buy(BTC, "0.05")
        session.sell(BTC, "0.05")
        for run in (shorts, longs):
            wait_until(lambda run=run: len(run.state.taken) >= 2)
            run.kill()
        ended = float(session.wallet_balances()["equity"].iloc[0])
        assert session.positions().empty
        own = {"longs": longs.results(), "shorts": shorts.results()}
    table = toolkit.runs()
    assert table["pnl"].sum() == pytest.approx(ended - began, abs=0.02)
    for name, run in own.items():
        sign = run.fills["side"].map({"BUY": 1, "SELL": -1}).astype(float)
        cash = -(sign * run.fills["quantity"] * run.fills["price"]).sum() - run.fills["fee"].sum()
        assert table["pnl"][name] == pytest.approx(cash, abs=1e-6)
        assert len(run.fills) >= 2
    assert table["pnl"]["by hand"] < -1
    assert "NET" in {*own["longs"].events["kind"], *own["shorts"].events["kind"]}
