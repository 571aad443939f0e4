"""Bounds of what panels show: the meter of an account, the orders over time, and a panel that was replaced."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit
from toolkit.session import Session
from toolkit.widgets import Account
from toolkit.widgets.base_panel.panel import REFRESHER
from toolkit.widgets.panels import blotter as blotters

D = Decimal


@pytest.fixture
def panel(session: Session) -> Account:
    """A panel that only the test refreshes."""
    made = Account(session)
    REFRESHER.remove(made)
    return made


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
        return SimpleNamespace(id=str(number), twap=twap, filled=D(0), average_price=None, done=0, why="", due_ms=0)

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
