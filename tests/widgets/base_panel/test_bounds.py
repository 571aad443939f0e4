"""Bounds of what panels show: the meter of an account, the orders over time, and a panel that was replaced."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import toolkit
from toolkit.session import Session
from toolkit.widgets import Account
from toolkit.widgets.base_panel.panel import REFRESHER
from toolkit.widgets.panels import blotter as blotters

D = Decimal


WHEN = pd.Timestamp("2026-03-04T05:06:07.891Z")


WHEN_MS = 1_772_600_767_891


@pytest.fixture
def panel(session: Session) -> Account:
    """A panel that only the test refreshes."""
    made = Account(session)
    REFRESHER.remove(made)
    return made


def update(kind: str, *items: dict[str, Any]) -> Any:
    return SimpleNamespace(kind=kind, items=items)


def test_only_what_happens_while_a_panel_is_open_is_news(panel: Account) -> None:
    followed = panel._watch
    base = {"time": WHEN, "symbol": "BTCUSDC", "side": "SELL", "quantity": D("0.50"), "price": D(60_000), "order_id": 9}
    order = {**base, "status": "FILLED", "type": "LIMIT", "reason": None}
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (followed._on_orders, order, "order 9 filled: sell 0.5 BTCUSDC at 60,000"),
        (
            followed._on_orders, {**order, "status": "CANCELED", "reason": "no margin"},
            "order 9 cancelled by the venue (no margin): sell 0.5 BTCUSDC at 60,000",
        ),
        (followed._on_funding, {**base, "amount": D("-1.50025")}, "funding BTCUSDC: −1.5002 USDC"),
        (
            followed._on_fills, {**base, "type": "ADL", "exec_id": 5, "realized_pnl": D("12.5")},
            "adl: sell 0.5 BTCUSDC at 60,000, +12.50 USDC",
        ),
        (
            followed._on_fills, {**base, "type": "LIQUIDATION", "exec_id": 6, "realized_pnl": None},
            "liquidation: sell 0.5 BTCUSDC at 60,000",
        ),
    ]  # fmt: skip
    for call, item, text in cases:
        before = list(followed.news)
        call(update("snapshot", item))
        assert followed.news == before
        call(update("incremental", item))
        assert [one.text for one in followed.news[len(before) :]] == [text]
    count = len(followed.news)
    followed._on_fills(update("incremental", {**base, "type": "MARKET", "exec_id": 7, "realized_pnl": D(1)}))
    for status, kind in (("NEW", "LIMIT"), ("FILLED", "LIQUIDATION"), ("CANCELED", "ADL")):
        followed._on_orders(update("incremental", {**order, "status": status, "type": kind}))
    assert len(followed.news) == count
    assert followed.results == {}


@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
def test_a_forced_fill_realises_the_difference_to_the_entry(panel: Account, side: str, sign: int) -> None:
    followed = panel._watch
    followed._entries["BTCUSDC"] = D(61_000)
    fill = {"time": WHEN, "symbol": "BTCUSDC", "side": side, "quantity": D("0.5"), "price": D(60_000), "order_id": 9}
    followed._on_fills(update("incremental", {**fill, "type": "LIQUIDATION", "exec_id": 6, "realized_pnl": None}))
    assert followed.results == {6: sign * D(500)}
    verb, amount = ("buy", "+500.00") if sign > 0 else ("sell", "−500.00")
    assert followed.news[-1].text == f"liquidation: {verb} 0.5 BTCUSDC at 60,000, {amount} USDC"


def test_an_approval_of_an_agent_is_read_again_when_it_happens(panel: Account) -> None:
    followed = panel._watch
    for kind, named, read in (
        ("incremental", {"kind": "approveAgent", "event": None}, True),
        ("incremental", {"kind": "batch", "event": [{"actionType": "approveAgent"}]}, True),
        ("incremental", {"kind": "other", "event": [{"actionType": "other"}]}, False),
        ("snapshot", {"kind": "approveAgent", "event": None}, False),
    ):
        followed._read_at = 7.0
        followed._on_events(update(kind, named))
        assert followed._read_at == (0.0 if read else 7.0)


def test_an_agent_may_sign_while_one_of_its_approvals_lasts(panel: Account, session: Session) -> None:
    followed, now = panel._watch, session._runtime.now()
    assert session.wallet is not None
    agent = str(session.wallet.agent)
    name = f"agent {agent[:6]}…{agent[-4:]}"
    text = pd.Timestamp(now + 60_000, unit="ms").strftime("%Y-%m-%d %H:%M")
    for approvals, words in (
        (None, name), ([(True, None, None)], name), ([(True, now + 60_000, None)], f"{name} until {text}"),
        ([(True, now + 60_000, None), (True, now + 1, None), (False, now + 10**9, 5)], f"{name} until {text}"),
        ([(True, now + 60_000, None), (True, None, None)], name),
    ):  # fmt: skip
        followed._approvals = approvals
        assert (followed.agent_trouble(), followed.agent) == ("", words)
    advice = "Approve it with session.exchange.approve_agent, or connect again"
    followed._approvals = []
    assert followed.agent_trouble() == f"{name} is not approved. {advice}"
    followed._approvals = [(True, now, None), (False, WHEN_MS + 10**9, WHEN_MS - 10**9)]
    later = max(now, WHEN_MS - 10**9)
    lost = pd.Timestamp(later // 1000, unit="s").strftime("%Y-%m-%d %H:%M:%S")
    assert followed.agent_trouble() == f"{name} lost its approval at {lost} UTC. {advice}"
    assert followed.agent == f"{name} may not sign"


@pytest.mark.parametrize(
    ("wallet", "positions", "share", "note", "rows"),
    [
        (
            {"equity": D(100), "available": D(-50), "balance": D(90), "status": "LIQUIDATING", "withdrawable": D(0),
             "maker_fee_rate": D("0.0001"), "taker_fee_rate": D("0.0006")},
            [{"unrealized_pnl": D(-7), "assigned_margin": D(5)}, {"unrealized_pnl": None, "assigned_margin": None}],
            (1.0, "150.0 % of equity is in use as margin"), "LIQUIDATING",
            ["100.00", "−7.00", "90.00", "5.00", "150.00", "−50.00", "0.00", "0.010 % / 0.060 %"],
        ),
        (
            {"equity": D(-10), "available": D(0), "status": "NORMAL"}, [], (0.0, "0.0 % of equity is in use as margin"),
            "", ["−10.00", "0.00", "–", "−10.00", "0.00", "–", "– / –"],
        ),
        (
            {"equity": D(100), "available": D(120)}, [], (0.0, "−20.0 % of equity is in use as margin"), "",
            ["100.00", "0.00", "–", "−20.00", "120.00", "–", "– / –"],
        ),
        (
            {"equity": D(100)}, [], (0.0, "0.0 % of equity is in use as margin"), "",
            ["100.00", "0.00", "–", "–", "–", "–", "– / –"],
        ),
        ({}, [], (0.0, "0.0 % of equity is in use as margin"), "", ["–", "0.00", "–", "–", "–", "–", "– / –"]),
    ],
)  # fmt: skip
def test_the_meter_of_the_account_is_from_0_to_1(
    session: Session, wallet: dict[str, Any], positions: list[Any], share: Any, note: str, rows: list[str]
) -> None:
    panel: Any = toolkit.widgets.Account(session)
    lives = panel.live, panel.positions
    panel.live, panel.positions = SimpleNamespace(value=wallet), SimpleNamespace(rows=lambda: positions)
    view = panel._make_view()
    panel.live, panel.positions = lives
    assert (view["meter"]["share"], view["meter"]["words"]) == share
    assert view["note"].split(" · ")[2:] == ([note] if note else [])
    assert view["danger"] is bool(note)
    assert [row[1] for row in view["rows"]] == rows


def test_open_parent_orders_and_the_last_five_that_ended_are_shown_newest_first_and_read_once_a_second(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blotters, "time", SimpleNamespace(monotonic=lambda: 100.0))

    def plan(number: int) -> Any:
        twap = SimpleNamespace(
            symbol="ETHUSDC" if number == 2 else "BTCUSDC", side="BUY", reduce_only=False, quantity="1", slices=5
        )
        return SimpleNamespace(id=str(number), twap=twap, filled=D(0), average_price=None, done=0, message="", due_ms=0)

    runner = SimpleNamespace(
        plans=lambda: [plan(number) for number in range(10)],
        status=lambda one: "INTERRUPTED" if one.id in "12" else "FINISHED",
    )
    for symbol, shown in ((None, "987652 1"), ("BTCUSDC", "98765 1"), ("ETHUSDC", "2")):
        blotter: Any = toolkit.widgets.Blotter(session, symbol)
        REFRESHER.remove(blotter)
        blotter._session, blotter._parents = SimpleNamespace(_parents=runner), (99.0, [])
        assert blotter._parent_rows() == [], "those of a second ago"
        blotter._parents = (98.9, [])
        found = blotter._parent_rows()
        blotter._session = session
        assert [one["id"] for one in found] == list(shown.replace(" ", ""))


def test_a_replaced_panel_stops_with_its_last_view(panel: Account) -> None:
    panel._replaced = True
    for change, lock in ((2, ""), (-1, ""), (-1, "closed")):
        panel._count_views(change)
        assert panel.lock == lock
