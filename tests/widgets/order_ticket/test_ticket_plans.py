"""The ticket's larger plans: scale orders, exits by percent or PnL, shares of what is available, product settings."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.widgets.page import press
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


def test_the_slider_of_a_stop_takes_a_share_of_the_position(session: Session) -> None:
    session.sell("BTCUSDC", "0.05")
    ticket = session.ticket("BTCUSDC", order_type="STOP", trigger_price="70000")
    ticket.take_share(40)
    assert Decimal(ticket.quantity) == Decimal("0.02")
    assert ticket.valid
    ticket.quantity_as = "share"
    [quantity] = [one for row in ticket.form["rows"] for one in row if one and one["name"] == "quantity"]
    assert quantity["spoken"] == "Quantity, in percent of the position"
