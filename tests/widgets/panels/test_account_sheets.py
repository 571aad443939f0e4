"""Funding, depth and the liquidation map agree with the venue's own figures."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit
from tests.widgets.order_ticket.test_effects import PRODUCTS
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets.base_panel.panel import REFRESHER
from toolkit.widgets.panels import account_sheets
from toolkit.widgets.panels.account_sheets import stress_rows

D = Decimal


def number(text: str) -> Decimal:
    return Decimal(text.split()[0].replace(",", "").replace("−", "-").replace("+", ""))


def test_the_next_funding_payment_is_what_the_venue_settles() -> None:
    with LocalVenue(clock="manual", market=None) as venue, toolkit.connect(venue=venue) as session:
        for side, price in (("BUY", "59990"), ("SELL", "60010")):
            venue.control.add_liquidity("BTCUSDC", side, price, "5")
        venue.control.set_oracle("BTCUSDC", "60000")
        session.sell("BTCUSDC", "1")
        widget = toolkit.widgets.Funding(session, "BTCUSDC")
        rows = {row[0]: row[1] for row in widget.view["rows"]}
        assert (rows["Settles in"], rows["Position"]) == ("4:00:00", "−1 BTC")
        venue.advance("14399s")
        widget.refresh()
        rows = {row[0]: row[1] for row in widget.view["rows"]}
        assert rows["Settles in"] == "0:00:01"
        venue.advance("1s")
        widget.refresh()
        assert widget.problem == ""
        settled, own = (one["rows"] for one in widget.view["tables"])
        assert [f"{row[3]} USDC" for row in own] == [rows["Next payment (est.)"]]
        assert number(own[0][3]) == round(session.info.funding_payments(symbol="BTCUSDC", exact=True)["amount"][0], 4)
        assert [row[1] for row in settled] == [rows["Running rate"]]


def test_the_latest_settlements_and_payments_are_listed_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_sheets, "SETTLED", 2)
    with (
        LocalVenue(clock="manual", market=None, start="2026-01-01T00:00:00Z") as venue,
        toolkit.connect(venue=venue) as session,
    ):
        venue.control.set_oracle("BTCUSDC", "60000")
        for side, price in (("BUY", "59990"), ("SELL", "60010")):
            venue.control.add_liquidity("BTCUSDC", side, price, "5")
        session.buy("BTCUSDC", "1")
        for settled in ([], ["04:00"], ["08:00", "04:00"], ["12:00", "08:00"], ["16:00", "12:00"]):
            widget = toolkit.widgets.Funding(session, "BTCUSDC")
            rates, own = (one["rows"] for one in widget.view["tables"])
            assert [row[0] for row in rates] == [f"01-01 {one}" for one in settled]
            assert [row[0] for row in own] == [row[0] for row in rates]
            widget.stop()
            venue.advance("4h")


@pytest.mark.parametrize(("left_out", "rate"), [("funding_rate", "–"), ("mark_price", "0.0100 %")])
def test_without_a_rate_or_a_mark_price_the_next_payment_is_not_known(
    session: Session, left_out: str, rate: str
) -> None:
    session.buy("BTCUSDC", "0.5")
    widget: Any = toolkit.widgets.Funding(session, "BTCUSDC")
    REFRESHER.remove(widget)
    widget.live = SimpleNamespace(
        value={"funding_rate": Decimal("0.0001"), "mark_price": Decimal(60_000), left_out: None}
    )
    rows = {row[0]: row[1] for row in widget._make_view()["rows"]}
    assert (rows["Running rate"], rows["Next payment (est.)"]) == (rate, "– USDC")


def position(**changes: Any) -> dict[str, Any]:
    row = {
        "symbol": "BTCUSDC", "margin_mode": "CROSS", "mark_price": D(60_000), "assigned_margin": None,
        "long_size": D(1), "long_entry_value": D(50_000), "short_size": D(0), "short_entry_value": D(0),
        "unrealized_pnl": D(10_000), "notional": D(60_000), "size": D(1),
    }  # fmt: skip
    return {**row, **changes}


def test_a_move_of_all_prices_leaves_isolated_positions_out() -> None:
    isolated = position(symbol="ETHUSDC", margin_mode="ISOLATED", assigned_margin=D(500), mark_price=D(3_000),
                        long_entry_value=D(2_900), unrealized_pnl=D(100), notional=D(3_000))  # fmt: skip
    wallet = {"equity": D(7_600)}
    rows = stress_rows([position(), isolated], PRODUCTS, wallet)
    # Equity without the isolated 500 + 100 is 7,000. Each percent moves it by 600. 1.25 % of the value is maintained.
    assert rows[4:7] == [
        ["▼ 5 %", "4,000.00", "712.50", "17.8 %", ""], ["▲ 5 %", "10,000.00", "787.50", "7.9 %", ""],
        ["▲ 10 %", "13,000.00", "825.00", "6.3 %", ""],
    ]  # fmt: skip
    assert rows[3] == ["▼ 10 %", "1,000.00", "675.00", "67.5 %", ""]
    assert rows[2] == ["▼ 20 %", "−5,000.00", "600.00", "–", "✖ liquidated"]
    short = position(long_size=D(0), short_size=D(-1), long_entry_value=D(0), short_entry_value=D(-50_000),
                     size=D(-1), unrealized_pnl=D(-10_000))  # fmt: skip
    rows = stress_rows([short], PRODUCTS, {"equity": D("3787.5")})
    assert rows[5] == ["▲ 5 %", "787.50", "787.50", "100.0 %", "✖ liquidated"]
    assert rows[4] == ["▼ 5 %", "6,787.50", "712.50", "10.5 %", ""]
    assert stress_rows([short], PRODUCTS, {}) == stress_rows([isolated], PRODUCTS, wallet) == []
    assert stress_rows([position(mark_price=None)], PRODUCTS, wallet) == []
