"""The ticket's larger plans: scale orders, exits by percent or PnL, shares of what is available, product settings."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.widgets.order_ticket.test_ticket import problem
from tests.widgets.page import press
from toolkit.errors import CheckFailed
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets import OrderTicket


def ladder(session: Session, **fields: Any) -> OrderTicket:
    given = {"order_type": "SCALE", "price": "50000", "last_price": "49000", "count": "5", "quantity": "0.01"}
    return session.ticket("BTCUSDC", **{**given, **fields})


def test_a_scale_is_one_request_of_orders_that_add_up(session: Session) -> None:
    before = len(session.intents())
    ticket = ladder(session, quantity="0.013")
    assert ticket.problems == ()
    prepared = ticket.submit()
    items = prepared.payload["orders"]
    assert [one["ordPx"] for one in items] == ["50000.0", "49750.0", "49500.0", "49250.0", "49000.0"]
    assert sum(Decimal(one["ordQty"]) for one in items) == Decimal("0.013")
    assert len(session.intents()) == before
    ticket.confirm()
    assert ticket.status == "RESTING"
    assert len(session.orders("BTCUSDC", open=True)) == 5
    assert len(session.intents()) == before + 1
    session.cancel(ticket.receipt)
    assert session.orders("BTCUSDC", open=True).empty


@pytest.mark.parametrize(
    ("side", "price", "exit_as", "take_profit", "stop_loss", "prices"),
    [
        ("BUY", "50000", "price", "66000", "47000", ("66000", "47000")),
        ("BUY", "50000", "percent", "10", "5", ("55000.0", "47500.0")),
        ("BUY", "50000", "pnl", "100", "50", ("60000.0", "45000.0")),
        ("SELL", "70000", "price", "47000", "71000", ("47000", "71000")),
        ("SELL", "70000", "percent", "10", "5", ("63000.0", "73500.0")),
        ("SELL", "70000", "pnl", "100", "50", ("60000.0", "75000.0")),
    ],
)
def test_exits_are_trigger_prices_with_their_expected_result(
    session: Session, side: str, price: str, exit_as: str, take_profit: str, stop_loss: str, prices: tuple[str, str]
) -> None:
    fields = {"exit_as": exit_as, "take_profit": take_profit, "stop_loss": stop_loss}
    ticket = session.ticket("BTCUSDC", side=side, price=price, quantity="0.01", **fields)
    assert ticket.problems == ()
    order = ticket.order
    assert order is not None
    assert tuple(leg.trigger_price for leg in order.legs[1:]) == prices
    exits, preview = ticket.preview()["exits"], ticket.preview()
    sign = 1 if side == "BUY" else -1
    for name, expected in zip(("take_profit", "stop_loss"), map(Decimal, prices), strict=True):
        trigger, pnl = exits[name]
        fees = preview["fee"] + Decimal("0.0006") * expected * Decimal("0.01")
        assert trigger == expected
        assert pnl == sign * (expected - Decimal(price)) * Decimal("0.01") - fees


def test_a_share_sets_whole_steps_that_pass(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="50000")
    press(ticket, "share", percent=100)
    assert ticket.valid
    whole = Decimal(ticket.quantity)
    press(ticket, "share", percent=50)
    assert Decimal(ticket.quantity) == session.product("BTCUSDC").round_quantity(whole / 2, "down")
    ticket.quantity = format(whole + session.product("BTCUSDC").step_size, "f")
    assert problem(ticket, "quantity").rule == "available margin"
    empty = session.ticket("BTCUSDC")
    press(empty, "share", percent=50)
    assert empty.problem == "a share needs a price and the account's data"


def test_a_setting_is_reviewed_and_signed_like_an_order(session: Session) -> None:
    before = len(session.intents())
    ticket = session.ticket("BTCUSDC", price="50000", quantity="0.01")
    margin = ticket.preview()["margin"]
    press(ticket, "leverage", leverage="10")
    assert ticket.phase == "review"
    assert ticket.view["review"]["question"] == "Set the leverage of BTCUSDC to 10x"
    assert len(session.intents()) == before
    press(ticket, "confirm", token=ticket.view["review"]["token"])
    ticket.refresh()
    assert ticket.view["leverage"] == "10"
    assert ticket.preview()["margin"] == margin * 2
    assert ticket.status == ""
    press(ticket, "leverage", leverage="1000")
    assert ticket.phase == "edit"
    assert "leverage" in ticket.problem


def test_the_preview_shows_liquidation_before_and_after_and_the_next_funding(session: Session) -> None:
    session.buy("BTCUSDC", "2")
    ticket = session.ticket("BTCUSDC", order_type="MARKET", quantity="0.5")
    preview = ticket.preview()
    known = session.positions("BTCUSDC", exact=True)["liquidation_price"].iloc[0]
    assert abs(preview["liquidation_before"] / known - 1) < Decimal("0.001")
    assert preview["liquidation_price"] > preview["liquidation_before"]
    rate, mark = ticket._ticker.value["funding_rate"], ticket._ticker.value["mark_price"]
    assert preview["funding"] == -Decimal("2.5") * mark * rate
    names = [row[0] for row in ticket.view["preview"]]
    assert "Next funding (est.)" in names
    assert "→" in next(row[1] for row in ticket.view["preview"] if row[0] == "Liquidation (est.)")


def test_a_twap_signs_its_first_order_after_the_review_and_shows_its_progress(
    session: Session, venue: LocalVenue
) -> None:
    before = len(session.intents())
    fields = {"order_type": "TWAP", "quantity": "0.1", "duration": "10m", "count": "11"}
    ticket = session.ticket("BTCUSDC", **fields)
    assert ticket.problems == ()
    prepared = ticket.submit()
    assert prepared.payload["orders"][0]["ordQty"] == "0.009"
    assert "in 11 orders over 0:10:00. The first order, of 0.009, is sent now" in ticket.view["review"]["question"]
    assert len(session.intents()) == before
    parent = ticket.confirm()
    assert session.intents().index[-1].endswith(str(prepared.nonce))
    assert (parent.status, parent.plan.done, ticket.status) == ("RUNNING", 1, "RUNNING")
    venue.advance("10m")
    ticket.refresh()
    assert ticket.view["following"]["words"].startswith("finished: 11 of 11 orders, 0.1 filled at")
    assert session.positions("BTCUSDC", exact=True)["size"].tolist() == [Decimal("0.1")]
    assert ticket.submit() is not None
    ticket.back()


def test_a_stop_closes_the_position_as_its_trigger_says(session: Session) -> None:
    session.buy("BTCUSDC", "0.05")
    mark = session.positions("BTCUSDC", exact=True)["mark_price"].iloc[0]
    trigger = format(session.product("BTCUSDC").round_price(mark * Decimal("0.98"), "nearest"), "f")
    ticket = session.ticket("BTCUSDC", order_type="STOP", side="SELL", trigger_price=trigger)
    assert ticket.problems == ()
    assert ticket.preview()["size_after"] == 0
    item = ticket.submit().payload["orders"][0]
    assert (item["reduceOnlyOption"], item["ordQty"], item["triggerPx"]) == ("SL_FROM_POSITION", "0", trigger)
    ticket.confirm()
    assert ticket.status == "WAITING"
    assert session.orders("BTCUSDC", open=True)["reduce_only"].tolist() == ["SL_FROM_POSITION"]


def test_a_stop_that_would_open_a_position_says_what_the_venue_takes(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", order_type="STOP", trigger_price="70000", quantity="0.01")
    found = problem(ticket, "order_type")
    assert found.rule == "position"
    assert "only as take-profit or stop-loss of a position" in found.message
    with pytest.raises(CheckFailed):
        ticket.submit()
    session.sell("BTCUSDC", "0.05")
    assert ticket.valid
    ticket.quantity = "0.06"
    ticket.take(problem(ticket, "quantity").choices[0])
    assert (Decimal(ticket.quantity), ticket.valid) == (Decimal("0.05"), True)
    ticket.trigger_price = ""
    assert problem(ticket, "trigger_price").missing


def test_the_slider_of_a_stop_takes_a_share_of_the_position(session: Session) -> None:
    session.sell("BTCUSDC", "0.05")
    ticket = session.ticket("BTCUSDC", order_type="STOP", trigger_price="70000")
    ticket.take_share(40)
    assert Decimal(ticket.quantity) == Decimal("0.02")
    assert ticket.valid
    ticket.quantity_as = "share"
    [quantity] = [one for row in ticket.form["rows"] for one in row if one and one["name"] == "quantity"]
    assert quantity["spoken"] == "Quantity, in percent of the position"


def test_a_twap_with_a_limit_previews_the_fees_of_a_taker(session: Session) -> None:
    fields = {"order_type": "TWAP", "quantity": "0.1", "duration": "10m", "count": "11", "price": "30000"}
    preview = session.ticket("BTCUSDC", **fields).preview()
    assert (preview["fills"], preview["notional"]) == (Decimal("0.1"), 3000)
    assert preview["fee"] == 3000 * preview["taker"] > 3000 * preview["maker"]
