"""A program with two runs that trade ten times a second, one of them without a name.

trading_program URL
"""

from __future__ import annotations

import sys
from typing import Any

import toolkit
from toolkit.research import Strategy, live

BTC = "BTCUSDC"
session = toolkit.connect(base_url=sys.argv[1])


class Flips(Strategy):
    """Holds now more and now less, and rests an order."""

    timer_ms = 100

    def on_timer(self, ctx: Any) -> None:
        ctx.target(BTC, "0.01" if ctx.position(BTC) > 0.01 else "0.02")
        if not ctx.orders():
            ctx.buy(BTC, "0.01", "50000")


limits = toolkit.Limits(max_position=1)
options: Any = {"limits": limits, "background": True, "poll": "200ms"}
runs: Any = [live(Flips, session, [BTC], name=name, **options) for name in ("flips", None)]
for run in runs:
    while not run.wait(0.5):
        pass
    print(len(run.results().fills), run.still_open, flush=True)
