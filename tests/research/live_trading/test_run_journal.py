"""A run with a name survives kill -9: its book is the venue's, nothing is orphaned or doubled, its limits are kept."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.research.live_trading.kills import MOST
from tests.research.markets import Scripted
from toolkit.errors import InputError, ToolkitError
from toolkit.limits import Limits
from toolkit.research import live
from toolkit.research.live_trading.run_journal import RunJournal
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
ROOT = Path(__file__).resolve().parents[3]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def session() -> Iterator[Any]:
    with toolkit.connect(clock="manual") as made:
        made.venue.advance("5m")
        yield made


def ask(script: dict[int, Any], session: Any, run: str = "one", duration: str = "3m", **options: Any) -> Any:
    return live(Scripted(script), session, [BTC], duration=duration, limits=Limits(), run=run, **options)


class Killer:
    """A process that forks runs and lets them kill themselves."""

    def __init__(self, folder: Path, url: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOOLKIT_STATE": str(folder)}
        command = [sys.executable, "-m", "tests.research.live_trading.kills"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.url = url

    def run(self, kind: str, account: int, kill_at: int, duration: str) -> dict[str, Any]:
        job = {"kind": kind, "account": account, "kill_at": kill_at, "duration": duration, "url": self.url}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(self.process.communicate()[1])
        found: dict[str, Any] = json.loads(answer)
        assert "error" not in found, found["error"]
        return found


@contextmanager
def killer(folder: Path, speed: float, market: Any = "usual") -> Iterator[tuple[Killer, Any]]:
    with LocalVenue(seed=3, speed=speed, market=market) as venue, venue.serve() as served:
        made = Killer(folder, served.base_url)
        try:
            yield made, venue
        finally:
            made.process.communicate()


def check(venue: Any, account: int, kind: str, last: dict[str, Any]) -> int:
    """Compare what the venue has of an account with its run's own book; return the number of orders."""
    with toolkit.connect(venue=venue, account=account) as session:
        assert len(session.orders(open=True)) == 0
        orders, fills = session.orders(), session.fills()
        assert orders["client_order_id"].is_unique
        signed = [0.0, *fills["quantity"].where(fills["side"] == "BUY", -fills["quantity"]).cumsum().round(6)]
        assert max(map(abs, signed)) <= MOST
        held = session.positions()
        sizes = held["size"].where(held["side"] == "LONG", -held["size"])
        assert float(sizes.sum()) == pytest.approx(signed[-1]) == pytest.approx(last["held"])
        assert last["events"][0] == "RESUME"
        if kind == "bracket":
            assert len(held) <= 1
            assert held["size"].sum() <= 0.01
        return len(orders)


def approve(venue: Any, account: int) -> None:
    with toolkit.connect(venue=venue, account=account) as session:
        session.exchange.approve_agent(validity_seconds=30 * 86_400)


@pytest.mark.slow
@needs_fork
def test_runs_that_are_killed_a_few_times_lose_nothing(tmp_path: Path) -> None:
    with killer(tmp_path, 300, market=False) as (killing, venue):
        venue.control.set_oracle(BTC, "62500")
        for side, price in (("BUY", "62490"), ("SELL", "62510")):
            venue.control.add_liquidity(BTC, side, price, "5")
        with toolkit.connect(venue=venue, account=3) as third:
            third.buy(BTC, "0.001")  # the first price
        for number, (kind, points) in enumerate({"grid": (4,), "carry": (8,)}.items(), 1):
            approve(venue, number)
            for kill_at in points:  # before the answer to the first order, and after its fill
                assert killing.run(kind, number, kill_at, "90m")["killed"]
            orders = check(venue, number, kind, killing.run(kind, number, 0, "2m"))
        assert orders >= 1  # the last kill came after an order's answer


@needs_fork
@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_runs_that_are_killed_two_hundred_times_lose_nothing(tmp_path: Path) -> None:
    rng, kills, orders = random.Random(1), dict.fromkeys(("grid", "bracket", "carry"), 0), 0
    with killer(tmp_path, 120) as (killing, venue):
        for number, kind in enumerate(kills, 1):
            approve(venue, number)
            while kills[kind] < 67:
                kills[kind] += killing.run(kind, number, rng.randint(2, 25), "20m")["killed"]
            orders += check(venue, number, kind, killing.run(kind, number, 0, "2m"))
    print(f"\n{kills} kills, {orders} orders")


def test_a_second_start_and_a_changed_one_are_refused_in_words(session: Any) -> None:
    journal = RunJournal(session, "one")
    with pytest.raises(ToolkitError, match=r"run 'one' of account 0x\w+ is running already. Stop it there, or choose"):
        ask({}, session)
    journal.close()
    with pytest.raises(InputError, match=r"run '\.\./x' is not a name. Use up to 40 letters"):
        ask({}, session, run="../x")
    ask({0: lambda ctx: ctx.buy(BTC, "0.01", "30000")}, session)
    with pytest.raises(InputError, match=r"the run has traded BTCUSDC, which its symbols leave out now\. Add them"):
        live(Scripted({}), session, ["ETHUSDC"], duration="1m", limits=Limits(), run="one")


def test_a_run_leaves_orders_and_positions_of_others_alone(session: Any) -> None:
    by_hand = session.buy(BTC, "0.01", "30000")
    session.buy(BTC, "0.03")
    other = RunJournal(session, "other")
    [theirs] = [session.place(other.record(toolkit.orders.buy(BTC, "0.01", "31000"), session.clock.now_ms()))]
    other.close()
    seen: list[Any] = []
    script = {
        0: lambda ctx: (ctx.buy(BTC, "0.02"), ctx.buy(BTC, "0.01", "32000")),
        1: lambda ctx: seen.append((ctx.position(BTC), len(ctx.orders()), ctx.cancel_all())),
        2: lambda ctx: seen.append(len(ctx.orders())),
    }
    run = ask(script, session, close_at_end=True)
    assert [seen[0][0], seen[0][1], seen[1]] == [0.02, 1, 0]
    assert (by_hand.status, theirs.status) == ("NEW", "NEW")
    assert session.positions()["size"].tolist() == [0.03]
    assert run.fills["quantity"].tolist() == [0.02, 0.02]


def test_the_end_of_a_run_cancels_its_own_exits_too(session: Any) -> None:
    by_hand = session.buy(BTC, "0.01", "30000")
    ask({0: lambda ctx: (ctx.buy(BTC, "0.02"), ctx.trailing_stop(BTC, 0.2))}, session)
    assert session.positions()["size"].tolist() == [0.02]
    assert session.orders(open=True)["order_id"].tolist() == [by_hand.order_id]


def test_a_continued_run_has_its_orders_groups_and_stops_and_the_fills_it_missed(
    session: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def vanish(self: Any, kind: str, reason: str) -> Any:
        self.state.journal.close()  # as a crash does: nothing is cancelled

    def begin(ctx: Any) -> None:
        ctx.buy(BTC, "0.02")
        price = ctx.price(BTC)
        below, above = (ctx.product(BTC).round_price(price * ratio, "nearest") for ratio in (0.97, 1.03))
        ctx.one_cancels_other(ctx.buy(BTC, "0.01", below), ctx.sell(BTC, "0.01", above))
        ctx.trailing_stop(BTC, 0.2)

    with monkeypatch.context() as crash:
        crash.setattr("toolkit.research.live_trading.runner.Runner._end", vanish)
        ask({0: begin}, session)
    assert len(session.orders(open=True)) == 3
    last = session.klines(BTC, "1m")["close"].iloc[-1]
    session.venue.control.set_oracle(BTC, f"{last * 0.94:.1f}")
    session.venue.advance("1m")
    seen: list[Any] = []
    strategy = {
        "on_fill": lambda ctx, fill: seen.append((fill.side, fill.quantity)),
        "on_bar": lambda ctx, bar: seen.append((ctx.position(BTC), [one.order.quantity for one in ctx.orders()])),
    }
    live(strategy, session, [BTC], duration="1m", limits=Limits(), run="one")
    assert seen == [("BUY", 0.01), (pytest.approx(0.03), ["0"])]
    assert "0.02              0.01   0.03           0.03        2" in capsys.readouterr().out


def test_what_may_open_is_cancelled_where_it_is_not_adopted(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as crash:
        crash.setattr("toolkit.research.live_trading.runner.Runner._end", lambda self, *_: self.state.journal.close())
        ask(
            {0: lambda ctx: (ctx.buy(BTC, "0.02"), ctx.trailing_stop(BTC, 0.2), ctx.buy(BTC, "0.01", "30000"))}, session
        )
    seen: list[Any] = []
    ask({0: lambda ctx: seen.extend(one.order.reduce_only for one in ctx.orders())}, session, adopt=False)
    assert seen == ["SL_FROM_POSITION"]
