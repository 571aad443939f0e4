"""Whatever call of a strategy the venue refuses, an event says so; the run continues, pauses or ends by one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import toolkit
from tests.support.cases import of_all
from toolkit import orders
from toolkit.limits import Limits
from toolkit.research import Strategy, live
from toolkit.research.live_trading.run_journal import RunName

BTC = "BTCUSDC"


@pytest.fixture
def session() -> Iterator[Any]:
    with toolkit.connect(clock="manual") as made:
        made.venue.advance("5m")
        yield made


class Asking(Strategy):
    """Rests an order, then makes a call at the third bar; counts bars, what came after the call, and rejections."""

    def __init__(
        self, call: Callable[[Any, Any], object], break_it: Callable[[], object], mend: Callable[[], object]
    ) -> None:
        self.call, self.break_it, self.mend = call, break_it, mend
        self.bars, self.after, self.rejected = 0, 0, list[str]()
        self.later: Any = None

    def on_bar(self, ctx: Any, bar: Any) -> None:
        self.bars += 1
        if self.bars == 1:
            self.order = ctx.buy(BTC, "0.01", "30000")
        if self.bars == 3:
            self.break_it()
            self.call(ctx, self.order)
            self.after += 1
            self.later = ctx.buy(BTC, "0.01", "30001")

    def on_reject(self, ctx: Any, placed: Any) -> None:
        self.rejected.append(placed.reason)

    def on_stop(self, ctx: Any) -> None:
        self.mend()
        RAN.append(self)


RAN: list[Asking] = []
CALLS: dict[str, tuple[str, Callable[[Any, Any], object]]] = {
    "buy": ("placeOrder", lambda ctx, order: ctx.buy(BTC, "0.01", "30002")),
    "sell": ("placeOrder", lambda ctx, order: ctx.sell(BTC, "0.01", "90000")),
    "cancel": ("cancelOrder", lambda ctx, order: ctx.cancel(order)),
    "cancel_all": ("cancelAll", lambda ctx, order: ctx.cancel_all()),
    "modify": ("replaceOrder", lambda ctx, order: ctx.modify(order, price="30005")),
    "set_leverage": ("setLeverage", lambda ctx, order: ctx.set_leverage(BTC, 5)),
}


def ask(session: Any, name: str, break_it: Callable[[], object]) -> tuple[Asking, Any]:
    RAN.clear()
    strategy = Asking(CALLS[name][1], break_it, lambda: session.venue.control.clear_faults())
    run: Any = live(strategy, session, [BTC], duration="6m", limits=Limits())
    return RAN[0], run


@pytest.mark.parametrize(
    ("how", "name"),
    of_all(["agent revoked", "account banned"], CALLS, quick=[("agent revoked", "buy"), ("account banned", "cancel")]),
)
def test_a_refused_agent_or_account_ends_the_run_by_an_event(session: Any, name: str, how: str) -> None:
    ways: dict[str, Callable[[], object]] = {
        "agent revoked": lambda: session.exchange.revoke_agent(),
        "account banned": lambda: session.venue.control.ban(session.account),
    }
    strategy, run = ask(session, name, ways[how])
    kinds = run.events["kind"].tolist()
    assert (strategy.bars, strategy.after) == (3, 1)  # the callback ran to its end, and was the last
    assert kinds[:2] == ["REJECTED", "REFUSED"]
    assert strategy.later.reason == "the run is warming up or has ended. Nothing is sent"
    assert len(strategy.rejected) == (name in ("buy", "sell"))


@pytest.mark.parametrize(("code", "name"), of_all([40220, 40280], CALLS, quick=[(40220, "buy"), (40280, "cancel")]))
def test_after_a_rate_limit_or_a_disabled_action_nothing_that_opens_is_sent_for_a_while(
    session: Any, name: str, code: int
) -> None:
    settings = {"action": CALLS[name][0], "code": code, "count": None}
    strategy, run = ask(session, name, lambda: session.venue.control.add_fault("code", **settings))
    assert (strategy.bars, strategy.after) == (6, 1)
    assert run.events["kind"].tolist() == ["REJECTED", "PAUSE", "END"]
    assert strategy.later.reason.startswith("the run is paused: ")
    assert len(strategy.rejected) == (name in ("buy", "sell"))
    assert len(session.orders(open=True)) == 0


def test_a_run_pauses_when_it_sees_an_order_of_another_copy(session: Any, capsys: pytest.CaptureFixture[str]) -> None:
    theirs, reasons, sizes = RunName(session, "one").first_id + 5, [], []

    def on_bar(ctx: Any, bar: Any) -> None:
        if len(reasons) == 2:  # another machine, which has another journal
            session.place(
                [orders.buy(BTC, "0.02", price, cl_ord_id=theirs + at) for at, price in ((0, None), (1, "30000"))]
            )
        if len(reasons) == 4:
            ctx.sell(BTC, "0.01", reduce_only=True)
        reasons.append(ctx.buy(BTC, "0.01").reason)
        sizes.append(ctx.position(BTC))

    run: Any = live({"on_bar": on_bar}, session, [BTC], run="one", duration="6m", limits=Limits())
    assert [bool(reason) for reason in reasons] == [False, False, False, True, True, True]
    said = "has the name of run 'one', and this copy did not send it. Another copy runs with this name"
    assert said in reasons[3]
    assert "To continue, stop the other copy" in reasons[3]
    assert said in capsys.readouterr().out
    assert run.events["kind"].tolist().count("PAUSE") == 1
    assert sizes == pytest.approx([0.01, 0.02, 0.03, 0.03, 0.02, 0.02]), "what reduces passes, and only its own counts"
    left = session.orders(open=True)
    assert left["client_order_id"].tolist() == [theirs + 1], "the orders of the other copy are left to it"
    again: Any = live({"on_bar": on_bar}, session, [BTC], run="one", duration="1m", limits=Limits())
    assert again.events["kind"].tolist()[0] == "PAUSE", "also where it finds one at its start"


def test_a_liquidation_ends_the_run_and_is_an_event(session: Any) -> None:
    session.exchange.set_leverage(BTC, "40")
    seen: list[str] = []

    def on_bar(ctx: Any, bar: Any) -> None:
        ctx.target_share(BTC, 30)
        session.venue.control.set_oracle(BTC, f"{bar.close * 0.975:.1f}")

    strategy = {"on_bar": on_bar, "on_fill": lambda ctx, fill: seen.append(fill.type)}
    run: Any = live(strategy, session, [BTC], duration="9m", limits=Limits())
    assert "LIQUIDATION" in seen
    assert run.events["kind"].tolist()[:2] == ["LIQUIDATION", "LIQUIDATION"]
    assert run.events["text"].iloc[-1].startswith("the account was liquidated in BTCUSDC: SELL ")
