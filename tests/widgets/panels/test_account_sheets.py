"""Funding, depth and the liquidation map agree with the venue's own figures."""

from __future__ import annotations

from decimal import Decimal

import pytest

import toolkit
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets.panels import account_sheets
from toolkit.widgets.panels.account_sheets import SHOCKS


def number(text: str) -> Decimal:
    return Decimal(text.split()[0].replace(",", "").replace("−", "-").replace("+", ""))


@pytest.mark.parametrize(("trade", "size"), [("buy", "1"), ("sell", "−1")])
def test_the_next_funding_payment_is_what_the_venue_settles(trade: str, size: str) -> None:
    with LocalVenue(clock="manual", market=None) as venue, toolkit.connect(venue=venue) as session:
        for side, price in (("BUY", "59990"), ("SELL", "60010")):
            venue.control.add_liquidity("BTCUSDC", side, price, "5")
        venue.control.set_oracle("BTCUSDC", "60000")
        getattr(session, trade)("BTCUSDC", "1")
        widget = toolkit.widgets.Funding(session, "BTCUSDC")
        rows = {row[0]: row[1] for row in widget.view["rows"]}
        assert (rows["Settles in"], rows["Position"]) == ("4:00:00", f"{size} BTC")
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


@pytest.mark.parametrize(("shock", "gone"), [("-0.2", True), ("0.2", False)])
def test_a_move_that_liquidates_says_so(session: Session, shock: str, gone: bool) -> None:
    session.buy("BTCUSDC", "2.4")
    stress = toolkit.widgets.LiquidationMap(session).view["tables"][1]["rows"]
    assert (stress[SHOCKS.index(Decimal(shock))][4] == "✖ liquidated") is gone
