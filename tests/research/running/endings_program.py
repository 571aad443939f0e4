"""A program whose run holds a position and rests an order, and that then ends in a way that its words choose.

endings_program URL WAY WHERE NAME      WHERE is front or back, NAME "" for a run without a name
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import toolkit
from toolkit.research import Strategy, live

# As in a terminal: what nohup or a job in the background ignores, this program would ignore too.
signal.signal(signal.SIGINT, signal.default_int_handler)
for each in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_DFL)
BTC = "BTCUSDC"
LIMITS = toolkit.Limits(max_notional=10_000, max_stale=None)
url, way, where, name = sys.argv[1:]
session = toolkit.connect(base_url=url)
session.exchange.approve_agent()


def signals(*names: str) -> None:
    """Send signals to this process, a moment apart."""
    for each in names:
        os.kill(os.getpid(), getattr(signal, each))
        time.sleep(0.02)


class Holder(Strategy):
    """Buys, rests an order, and lets the program end."""

    def on_start(self, ctx: Any) -> None:
        ctx.buy(BTC, "0.01", "50000")
        ctx.buy(BTC, "0.01")

    def on_fill(self, ctx: Any, fill: Any) -> None:
        ready.set()
        if way == "error":
            raise ValueError("of the strategy")
        if way.startswith("hangs"):
            threading.Thread(target=signals, args=("SIGTERM",)).start()
            time.sleep(60)


ready = threading.Event()
options: Any = {"limits": LIMITS, "poll": "100ms", "close_at_end": True, "run": name or None}


def end() -> None:
    """Do what ends the program, once the run holds its position."""
    ready.wait(30)
    if way.startswith("SIG"):
        signals(*way.split("+"))
    elif way == "stop_all":
        toolkit.connect(base_url=url).stop_all(flatten=True)
    elif way == "close":
        session.close()


if where == "front":
    threading.Thread(target=end, daemon=True).start()
    live(Holder, session, [BTC], **options)
else:
    run: Any = live(Holder, session, [BTC], background=True, **options)
    assert ready.wait(30)
    if way == "kill":
        run.kill()
    elif way == "raises":
        raise ValueError("of the script")
    elif way == "sys.exit":
        sys.exit(3)
    elif way == "dropped":
        del run
    else:
        end()
        time.sleep(0.5)
Path("ended").touch()
