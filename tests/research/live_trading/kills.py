"""Runs of strategies that kill themselves with SIGKILL at a chosen point: a process that forks one for each job.

Each line of standard input is a job; one line of JSON answers it. A point is reached before a request leaves, after its
answer, and after each line of the run's journal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from typing import Any

import toolkit
from toolkit.client.io.transport import HttpTransport
from toolkit.limits import Limits
from toolkit.research import Strategy, live
from toolkit.research.live_trading.run_journal import RunJournal

BTC = "BTCUSDC"
MOST = 0.05
LIMITS = Limits(max_position=MOST, max_notional=10_000, max_stale=None, max_orders_per_minute=None)


class Grid(Strategy):
    """Rests an order on each side; one cancels the other."""

    def on_bar(self, ctx: Any, bar: Any) -> None:
        if abs(ctx.position(BTC)) > 0.02:
            ctx.target(BTC, 0)
        elif not ctx.orders():
            down, up = (ctx.product(BTC).round_price(bar.close * (1 + way * 0.0003), "nearest") for way in (-1, 1))
            ctx.one_cancels_other(ctx.buy(BTC, "0.02", down), ctx.sell(BTC, "0.02", up))


class Brackets(Strategy):
    """Buys with a take-profit and a stop whenever it holds nothing; closes what neither has closed after six bars."""

    bars = 0

    def on_bar(self, ctx: Any, bar: Any) -> None:
        self.bars += 1
        if self.bars % 6 == 0:
            ctx.close_position(BTC)
        elif not ctx.position(BTC) and not ctx.orders():
            product = ctx.product(BTC)
            take, stop = (product.round_price(bar.close * ratio, "nearest") for ratio in (1.0008, 0.9992))
            ctx.bracket(BTC, "0.01", take_profit=take, stop_loss=stop)


class Carry(Strategy):
    """Changes the side that it holds with the minute, by a share of its equity."""

    def on_bar(self, ctx: Any, bar: Any) -> None:
        ctx.target_share(BTC, (bar.closed // 60_000 % 3 - 1) * 0.1)


KINDS = {"grid": Grid, "bracket": Brackets, "carry": Carry}


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a strategy, and kill this process at a point (0: never)."""
    points = [0]

    def reach() -> None:
        points[0] += 1
        if points[0] == job["kill_at"]:
            os.kill(os.getpid(), signal.SIGKILL)

    send, append = HttpTransport.send, RunJournal.append

    def sent(self: Any, fetch: Any) -> Any:
        signed = fetch.method == "POST"
        if signed:
            reach()
        reply = send(self, fetch)
        if signed:
            reach()
        return reply

    def appended(self: Any, *args: Any, **fields: Any) -> None:
        append(self, *args, **fields)
        reach()

    HttpTransport.send, RunJournal.append = sent, appended  # type: ignore[method-assign, assignment]
    with toolkit.connect(base_url=job["url"], account=job["account"], expiry_ms=3_600_000) as session:
        strategy, options = KINDS[job["kind"]](), {"poll": "20ms", "run": job["kind"]}
        made: Any = live(strategy, session, [BTC], limits=LIMITS, duration=job["duration"], **options)
    held = float(made.positions[BTC].iloc[-1])
    return {"events": made.events["kind"].tolist(), "texts": made.events["text"].tolist(), "held": held}


if __name__ == "__main__":
    for text in sys.stdin:
        reading, writing = os.pipe()
        if not (child := os.fork()):
            os.dup2(2, 1)  # what a run prints is no answer
            try:
                found = run(json.loads(text))
            except BaseException:
                found = {"error": traceback.format_exc()}
            os.write(writing, json.dumps(found).encode())
            os._exit(0)
        os.close(writing)
        answer = b"".join(iter(lambda fd=reading: os.read(fd, 65_536), b""))  # type: ignore[misc]
        os.close(reading)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"killed": killed, **(json.loads(answer) if answer else {})}), flush=True)
