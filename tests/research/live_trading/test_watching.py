"""The dead man's switch: what may open is cancelled where a run no longer renews its lease, and its exits stay."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolkit
from tests.research.markets import Scripted
from toolkit.errors import InputError, NotSent, WalletError
from toolkit.limits import Limits
from toolkit.research import live, watch
from toolkit.research.live_trading.run_journal import RunJournal, RunName
from toolkit.research.live_trading.run_state import RunState
from toolkit.research.live_trading.watching import Watcher
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"


@pytest.fixture
def session() -> Iterator[Any]:
    with toolkit.connect(clock="manual") as made:
        made.venue.advance("5m")
        yield made


def crash(session: Any, script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a script as "one" and let it vanish at its end, so that nothing is cancelled."""
    with monkeypatch.context() as patch:
        patch.setattr("toolkit.research.live_trading.runner.Runner._end", lambda self, *_: self.state.journal.close())
        live(Scripted({0: script}), session, [BTC], duration="2m", limits=Limits(), run="one")


@pytest.mark.parametrize(("side", "far"), [("buy", "30000"), ("sell", "90000")])
def test_without_renewal_what_may_open_is_cancelled_and_exits_and_orders_of_others_stay(
    session: Any, monkeypatch: pytest.MonkeyPatch, side: str, far: str
) -> None:
    def begin(ctx: Any) -> None:
        enter = getattr(ctx, side)
        enter(BTC, "0.02")
        enter(BTC, "0.01", far)
        ctx.trailing_stop(BTC, 0.2)
        other = ctx.sell if side == "buy" else ctx.buy
        other(BTC, "0.02", "90001" if side == "buy" else "30001", reduce_only=True)

    by_hand = session.buy(BTC, "0.01", "30002")
    crash(session, begin, monkeypatch)
    seconds = [0.0]
    watcher = Watcher(session, "one", after="60s", elapsed=lambda: seconds[0])
    seconds[0] = 59.9
    assert watcher.check() == 0
    os.utime(RunName(session, "one").lease, ns=(1, 1))  # a renewal, by another clock
    assert watcher.check() == 0
    seconds[0] += 60
    assert watcher.check() == 1
    assert watcher.check() == 0
    left = session.orders(open=True)
    assert sorted(left["reduce_only"]) == ["NONE", "REDUCE_ONLY", "SL_FROM_POSITION"]
    assert by_hand.status == "NEW"
    late = RunJournal(session, "one")  # an order that was on its way
    session.place(late.record(toolkit.orders.buy(BTC, "0.01", "31000"), session.clock.now_ms()))
    late.close()
    assert watcher.check() == 0  # a start is a renewal
    seconds[0] += 60
    assert watcher.check() == 1


@pytest.mark.parametrize("leg", ["BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"])
def test_in_hedge_mode_orders_that_close_a_leg_stay(session: Any, leg: str) -> None:
    session.venue.control.set_position_mode(session.account, "HEDGE")
    opening, far = ("SELL", "90000") if leg == "BUY_CLOSE_HEDGE" else ("BUY", "30000")
    journal = RunJournal(session, "one")
    place, now = session.place, session.clock.now_ms()
    place(journal.record(toolkit.orders.Order(BTC, opening, "0.02", tif="IOC"), now))
    place(journal.record(toolkit.orders.Order(BTC, opening, "0.01", far), now))
    place(journal.record(toolkit.orders.Order(BTC, leg, "0.02", "30000" if opening == "SELL" else "90000"), now))
    journal.close()
    watcher = Watcher(session, "one", after="1s", elapsed=iter((0.0, 9.0)).__next__)
    assert watcher.check() == 1
    assert session.orders(open=True)["side"].tolist() == [leg]


def test_a_run_renews_its_lease_only_while_the_venue_answers(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: list[int] = []
    monkeypatch.setattr(RunJournal, "renew", lambda self: renewed.append(session.clock.now_ms() // 60_000 % 60))
    query = RunState._read_balance

    def answer(self: RunState) -> Any:
        if session.clock.now_ms() // 60_000 % 60 in (7, 8):
            raise NotSent("no connection")
        return query(self)

    monkeypatch.setattr(RunState, "_read_balance", answer)
    live(Scripted({}), session, [BTC], duration="5m", limits=Limits(max_stale=None), run="one")
    assert renewed == [5, 6, 9, 10]


def test_a_watcher_cancels_over_the_wire_and_says_so_without_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    sent = io.BytesIO()  # a file or a pipe, which gets what was flushed
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(sent))
    with (
        LocalVenue(clock="manual") as venue,
        venue.serve() as served,
        toolkit.connect(base_url=served.base_url, account=1) as session,
    ):
        session.exchange.approve_agent(validity_seconds=86_400)
        journal = RunJournal(session, "one")
        session.place(journal.record(toolkit.orders.buy(BTC, "0.01", "30000"), session.clock.now_ms()))
        journal.close()
        watch(session, "one", after="1h", every="10ms", duration="10ms")
        assert sent.getvalue().decode().split(" of ")[0] == "watching run 'one'"
        watch(session, "one", after="10ms", every="20ms", duration="40ms")
        assert len(session.orders(open=True)) == 0
        assert "not renewed for 0 s, so 1 orders are cancelled" in sent.getvalue().decode()
        session.exchange.revoke_agent()
        with pytest.raises(WalletError, match=r"agent 0x\w+ is n"):
            watch(session, "one", duration="1s")


def test_a_span_that_is_none_is_refused(session: Any) -> None:
    with pytest.raises(InputError, match="after is"):
        Watcher(session, "one", after="0s")
