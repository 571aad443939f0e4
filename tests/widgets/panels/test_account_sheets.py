"""Funding, depth and the liquidation map agree with the venue's own figures."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets.base_panel.panel import REFRESHER
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


def test_depth_is_the_cumulative_book(session: Session) -> None:
    widget = toolkit.widgets.Depth(session, "BTCUSDC", levels=20)
    view, book = widget.view, widget.live
    assert view["bids"][-1][1] == float(sum(quantity for _, quantity in book.bids(20)))
    assert view["most"] == max(view["bids"][-1][1], view["asks"][-1][1])
    places = [at for at, _ in view["bids"][::-1] + view["asks"]]
    assert places == sorted(places)
    assert min(places) == 0 or max(places) == 1


def test_the_liquidation_map_agrees_with_the_positions(session: Session) -> None:
    session.buy("BTCUSDC", "1")
    session.sell("ETHUSDC", "5")
    widget = toolkit.widgets.LiquidationMap(session)
    known = session.positions(exact=True)
    rows = {row[0]: row for row in widget.view["tables"][0]["rows"]}
    for symbol, row in rows.items():
        price = known.loc[symbol, "liquidation_price"]
        assert abs(number(row[3]) / price - 1) < Decimal("0.005")
    stress = widget.view["tables"][1]["rows"]
    assert len(stress) == len(SHOCKS)
    wallet, size = widget._account.wallet.value, known["size"]
    worst = stress[SHOCKS.index(Decimal("-0.1"))]
    moved = sum(
        (size[one["symbol"]] if one["symbol"] == "BTCUSDC" else -abs(size[one["symbol"]])) * one["mark_price"]
        for one in widget._account.marked_positions(widget._tickers)
    )
    assert abs(number(worst[1]) - (wallet["equity"] - moved / 10)) < Decimal("0.01")


@pytest.mark.parametrize(("shock", "gone"), [("-0.2", True), ("0.2", False)])
def test_a_move_that_liquidates_says_so(session: Session, shock: str, gone: bool) -> None:
    session.buy("BTCUSDC", "2.4")
    stress = toolkit.widgets.LiquidationMap(session).view["tables"][1]["rows"]
    assert (stress[SHOCKS.index(Decimal(shock))][4] == "✖ liquidated") is gone
