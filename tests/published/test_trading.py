"""Orders at published servers: placed, confirmed by a read, cancelled, or refused before anything is signed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.published import variations as vary
from tests.published.feed import feed
from tests.published.reads import connected, forms, unlocked
from tests.published.server import PublishedServer
from toolkit import errors
from toolkit.session import Session

BOTH = forms(vary.APRIL_SIGNED, vary.SDK)
ALL = forms(vary.SPECIFICATION, vary.APRIL_SIGNED, vary.SDK)
ANSWERS = [
    *vary.SAME, vary.ONLY_REQUIRED, vary.UNKNOWN_FIELDS, vary.Variation("no data in a receipt", receipt=False),
    vary.Variation("shown at once", hidden_reads=0), vary.Variation("shown late", hidden_reads=3),
    vary.Variation("empty lists are null", empty_is_null=True),
]  # fmt: skip
SOON = 0.05
"""Seconds to wait for an outcome that no query can show."""
KNOWN = {"leverage": Decimal(8), "size_before": Decimal("0.3"), "available": Decimal("4200.5"),
         "maker": Decimal("0.00013"), "taker": Decimal("0.00057")}  # fmt: skip
"""What the world says of the account, in the names of a ticket's preview."""
pytestmark = pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")


def placed(s: Session) -> list[Any]:
    """Return side, type, price, quantity and status of the open orders that were not there before."""
    rows = s.orders("BTCUSDC", open=True, exact=True)
    rows = rows[rows["order_id"] > 700_100]
    return rows[["side", "type", "price", "quantity", "status"]].values.tolist()


@BOTH
@pytest.mark.parametrize("variation", ANSWERS, ids=lambda one: one.name)
def test_an_order_is_placed_confirmed_and_cancelled(form: vary.Form, variation: vary.Variation) -> None:
    server = PublishedServer(form, variation)
    with connected(server) as s:
        receipt = s.buy("BTCUSDC", "0.012", price="59000.5", tif="POST_ONLY")
        assert (receipt.state, receipt.status) == ("ACCEPTED", "NEW")
        assert placed(s) == [["BUY", "LIMIT", Decimal("59000.5"), Decimal("0.012"), "NEW"]]
    # No published query shows what a cancellation did, only its order does. So the request is not waited for.
    with connected(server, settle_timeout=0) as s:
        assert s.cancel(receipt).state in ("ACCEPTED", "SUBMITTED")
        assert placed(s) == []
        assert s.order(receipt).status == "CANCELED"
    assert [request["action"]["type"] for request in server.actions.requests] == ["placeOrder", "cancelOrder"]
    assert server.faults == []


@BOTH
def test_a_market_order_is_filled_and_a_position_closed_with_published_requests(form: vary.Form) -> None:
    server = PublishedServer(form)
    with connected(server) as s:
        bought = s.buy("BTCUSDC", "0.01")
        assert (bought.status, bought.filled, bought.average_price) == ("FILLED", Decimal("0.01"), Decimal("62401.5"))
        assert s.close_position("BTCUSDC").status == "FILLED"
    sent = [request["action"]["orders"][0] for request in server.actions.requests]
    assert [(one["ordSide"], one["ordQty"]) for one in sent] == [("BUY", "0.01"), ("SELL", "0.3")]
    assert server.faults == []


@ALL
@pytest.mark.parametrize(
    ("quantity", "price", "rule", "nearest"),
    [
        ("0.01", "59000.3", "tickSize", "59000.5"),
        ("0.0015", "59000.5", "stepSize", "0.002"),
        ("0.001", "1000", "minOrderValue", "15"),
    ],
)
def test_a_bad_order_is_refused_before_it_is_signed(
    form: vary.Form, quantity: str, price: str, rule: str, nearest: str
) -> None:
    server = PublishedServer(form)
    with connected(server) as s, pytest.raises(errors.CheckFailed) as caught:
        s.buy("BTCUSDC", quantity, price=price)
    assert rule in {failure.rule for failure in caught.value.failures}
    assert nearest in str(caught.value)
    assert server.actions.requests == []


def test_an_order_that_no_query_can_show_is_submitted_and_never_called_accepted() -> None:
    server = PublishedServer(vary.SPECIFICATION)
    with connected(server, settle_timeout=SOON) as s:
        receipt = s.buy("BTCUSDC", "0.012", price="59000.5")
        assert (receipt.state, receipt.status) == ("SUBMITTED", "SUBMITTED")
        assert "ACCEPTED" not in repr(receipt)
        assert s.intents()["state"].tolist() == ["SUBMITTED"]
    assert server.faults == []


def test_a_signature_of_the_other_contract_is_refused_with_its_likely_cause() -> None:
    with connected(PublishedServer(vary.APRIL), settle_timeout=SOON) as s:
        with pytest.raises(errors.SignatureRejected) as caught:
            s.buy("BTCUSDC", "0.012", price="59000.5")
        assert s.intents()["state"].tolist() == ["REJECTED"]
    assert "contract" in str(caught.value)


@ALL
def test_a_ticket_refuses_corrects_reviews_and_sends(form: vary.Form) -> None:
    server = PublishedServer(form)
    with feed(server.world) as address, connected(server, ws_url=address, settle_timeout=1) as s:
        ticket = s.ticket("BTCUSDC", side="BUY", price="59000.3", quantity="0.0105")
        try:
            assert unlocked(ticket) == ""
            assert {problem.field for problem in ticket.problems} == {"price", "quantity"}
            with pytest.raises(errors.CheckFailed, match=r"tickSize 0\.5"):
                ticket.submit()
            while ticket.problems:
                ticket.take(ticket.problems[0].choices[0])
            assert (ticket.price, ticket.quantity, ticket.valid) == ("59000.0", "0.010", True)
            preview = ticket.preview()
            assert {name: preview[name] for name in KNOWN} == KNOWN
            prepared = ticket.submit()
            assert (ticket.phase, server.actions.requests) == ("review", [])
            state = ticket.confirm().state
            assert state == ("SUBMITTED" if form is vary.SPECIFICATION else "ACCEPTED")
            assert ticket.status == state
        finally:
            ticket.close()
    assert [request["action"] for request in server.actions.requests] == [prepared.payload]
    assert server.faults == []


@ALL
def test_a_ticket_without_a_feed_sends_nothing_and_makes_up_nothing(form: vary.Form) -> None:
    with connected(PublishedServer(form)) as s:
        ticket = s.ticket("BTCUSDC", side="BUY", price="59000", quantity="0.01")
        try:
            with pytest.raises(errors.ToolkitError, match="orderBook"):
                ticket.submit()
            preview = ticket.preview()
        finally:
            ticket.close()
    assert {name: preview[name] for name in KNOWN if preview[name] not in (None, KNOWN[name])} == {}


@BOTH
def test_permissions_are_read_or_what_is_not_served_is_named(form: vary.Form) -> None:
    server, said = PublishedServer(form), ""
    with connected(server) as s:
        try:
            names = s.permissions()["name"].tolist()
        except errors.ToolkitError as error:
            names, said = [], str(error)
    named = "/info/builder/agents" in said and "not served" in said and vary.BUILDERS not in form.served
    assert named or "desk" in names, said
    assert server.faults == []


def test_the_first_steps_of_lesson_15_go_from_approval_to_a_cancelled_order() -> None:
    """The lesson takes its price from the book of the feed. Here the book is read once, as `order_book`."""
    server = PublishedServer(vary.SDK)
    with feed(server.world) as address, connected(server, ws_url=address, settle_timeout=SOON) as s:
        s.exchange.approve_agent(validity_seconds=7 * 24 * 3600)
        s.exchange.faucet_claim()
        best = s.order_book("BTCUSDC", exact=True).iloc[0]["price"]
        price = s.product("BTCUSDC").round_price(best * 9 / 10, "down")
        receipt = s.buy("BTCUSDC", "0.001", price=price, tif="POST_ONLY")
        s.cancel(receipt)
        assert s.info.order_events(order_id=receipt.order_id)["status"].tolist() == ["NEW", "CANCELED"]
    assert server.faults == []
