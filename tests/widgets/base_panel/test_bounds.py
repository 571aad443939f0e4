"""Bounds of what panels watch: how much news is kept, when an agent may sign, when the venue counts as silent."""

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
from toolkit.widgets.panels.account_sheets import stress_rows

D = Decimal
WHEN = pd.Timestamp("2026-03-04T05:06:07.891Z")
WHEN_MS = 1_772_600_767_891


@pytest.fixture
def panel(session: Session) -> Account:
    """A panel that only the test refreshes."""
    made = Account(session)
    REFRESHER.remove(made)
    return made


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


# the kernel's loop and the refresher


# the account


def position(**changes: Any) -> dict[str, Any]:
    row = {
        "symbol": "BTCUSDC", "margin_mode": "CROSS", "mark_price": D(60_000), "assigned_margin": None,
        "long_size": D(1), "long_entry_value": D(50_000), "short_size": D(0), "short_entry_value": D(0),
        "unrealized_pnl": D(10_000), "notional": D(60_000), "size": D(1),
    }  # fmt: skip
    return {**row, **changes}


def test_a_move_of_all_prices_leaves_isolated_positions_out(session: Session) -> None:
    products = session._product_table()
    isolated = position(symbol="ETHUSDC", margin_mode="ISOLATED", assigned_margin=D(500), mark_price=D(3_000),
                        long_entry_value=D(2_900), unrealized_pnl=D(100), notional=D(3_000))  # fmt: skip
    wallet = {"equity": D(7_600)}
    rows = stress_rows([position(), isolated], products, wallet)
    # Equity without the isolated 500 + 100 is 7,000. Each percent moves it by 600. 1.25 % of the value is maintained.
    assert rows[4:7] == [
        ["▼ 5 %", "4,000.00", "712.50", "17.8 %", ""], ["▲ 5 %", "10,000.00", "787.50", "7.9 %", ""],
        ["▲ 10 %", "13,000.00", "825.00", "6.3 %", ""],
    ]  # fmt: skip
    assert rows[3] == ["▼ 10 %", "1,000.00", "675.00", "67.5 %", ""]
    assert rows[2] == ["▼ 20 %", "−5,000.00", "600.00", "–", "✖ liquidated"]
    short = position(long_size=D(0), short_size=D(-1), long_entry_value=D(0), short_entry_value=D(-50_000),
                     size=D(-1), unrealized_pnl=D(-10_000))  # fmt: skip
    rows = stress_rows([short], products, {"equity": D("3787.5")})
    assert rows[5] == ["▲ 5 %", "787.50", "787.50", "100.0 %", "✖ liquidated"]
    assert rows[4] == ["▼ 5 %", "6,787.50", "712.50", "10.5 %", ""]
    assert stress_rows([short], products, {}) == stress_rows([isolated], products, wallet) == []
    assert stress_rows([position(mark_price=None)], products, wallet) == []


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
