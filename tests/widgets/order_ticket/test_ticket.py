"""The order ticket: rules are shown with what would pass; nothing is signed that was not checked and confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import toolkit
from tests.support.network import Network, cut, nothing
from tests.widgets.page import edit, press
from toolkit.client.stream.stream import Stream
from toolkit.environments import MAINNET
from toolkit.errors import CheckFailed, LimitReached, OutcomeUnknown, WalletError
from toolkit.protocol import envelope, signing
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.wallet import Wallet
from toolkit.widgets import OrderTicket
from toolkit.widgets.order_ticket.draft import Problem


@pytest.fixture
def network(venue: LocalVenue) -> Network:
    return Network(venue)


@pytest.fixture
def reached(venue: LocalVenue, network: Network) -> Iterator[Session]:
    """A session whose requests a test may lose."""
    with toolkit.connect(venue=venue, transport=network) as made:
        yield made


def problem(ticket: OrderTicket, field: str) -> Problem:
    return next(one for one in ticket.problems if one.field == field)


def best(session: Session, symbol: str = "BTCUSDC") -> tuple[Decimal, Decimal]:
    book = session.stream.order_book(symbol)
    bid, ask = book.best_bid, book.best_ask
    book.close()
    assert bid is not None
    assert ask is not None
    return bid, ask


def test_a_price_between_ticks_is_shown_with_its_neighbours_and_never_rounded(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="60000.05", quantity="0.01")
    found = problem(ticket, "price")
    assert found.message == "price 60000.05 is not a multiple of tickSize 0.1. The nearest is 60000.0 or 60000.1"
    assert found.nearest == ("60000.0", "60000.1")
    assert ticket.price == "60000.05"
    press(ticket, "take", field="price", label="60000.0")
    assert ticket.price == "60000.0"
    assert ticket.valid


BROKEN: list[tuple[dict[str, Any], str, str]] = [
    ({"quantity": "0.0105"}, "quantity", "stepSize"),
    ({"quantity": "0"}, "quantity", "quantity above 0"),
    ({"quantity": "0.001", "price": "9000"}, "quantity", "minOrderValue"),
    ({"quantity": "1e3"}, "quantity", "decimal text"),
    ({"quantity": "50"}, "quantity", "available margin"),
    ({"price": "0"}, "price", "price above 0"),
    ({"price": "1000000"}, "price", "price band"),
    ({"price": "1000"}, "price", "price band"),
    ({"price": "70000", "tif": "POST_ONLY"}, "price", "POST_ONLY"),
    ({"order_type": "MARKET", "tif": "GTC"}, "tif", "market timeInForce"),
    ({"order_type": "MARKET", "slippage": "0.2"}, "slippage", "maxSlippagePct"),
    ({"order_type": "MARKET", "slippage": "0"}, "slippage", "slippage above 0"),
    ({"take_profit": "59000"}, "take_profit", "trigger met"),
    ({"stop_loss": "61000"}, "stop_loss", "trigger met"),
    ({"stop_loss": "59000.05"}, "stop_loss", "tickSize"),
    ({"take_profit": "65000", "reduce_only": True}, "reduce_only", "bracket"),
    ({"reduce_only": True}, "reduce_only", "position"),
    ({"client_id": "abc"}, "client_id", "int64"),
    ({"client_id": str(2**63)}, "client_id", "int64"),
    ({"client_id": "9" * 5000}, "client_id", "int64"),
    ({"quantity": "9" * 40}, "quantity", "maxOrderQty"),
    ({"quantity": "9" * 5000}, "quantity", "decimal text"),
    ({"quantity": "0.1", "price": "9" * 40, "quantity_as": "notional"}, "quantity", "stepSize"),
    ({"quantity": "9" * 40, "price": "0.1", "quantity_as": "notional"}, "price", "price band"),
    ({"quantity": "9" * 41, "quantity_as": "notional"}, "quantity", "decimal text"),
    ({"quantity": "120", "quantity_as": "share"}, "quantity", "share"),
    ({"quantity": "x", "quantity_as": "notional"}, "quantity", "decimal text"),
    ({"order_type": "SCALE", "last_price": "59000", "quantity": "0.003"}, "quantity", "stepSize"),
    ({"order_type": "TWAP", "duration": "5s", "count": "11", "quantity": "0.1"}, "duration", "minimum"),
    ({"order_type": "TWAP", "quantity": "90"}, "quantity", "available margin"),
]
"""Fields of a ticket, and the field and the rule of its problem."""


def test_every_broken_rule_is_shown_at_its_field_and_nothing_is_signed(session: Session, signed: list[bytes]) -> None:
    for fields, field, rule in BROKEN:
        ticket = session.ticket("BTCUSDC", **{"price": "60000", "quantity": "0.01", **fields})
        found = problem(ticket, field)
        assert (found.rule, bool(found.message)) == (rule, True), fields
        with pytest.raises(CheckFailed):
            ticket.submit()
        ticket.close()
    assert signed == []


SEPARATORS = {
    "0,03": ["0.03"], "60.000,50": ["60000.50"], "60,000.5": ["60000.5"], "60000.": ["60000"], "1'234.5": ["1234.5"],
    "1,500": ["1500", "1.500"], "1,2,3": [], "12e3": ["12000"], "$60000": ["60000"], "+60000": ["60000"],
    "60\u202f000 USDC": ["60000"], "1e-3": ["0.001"], "12e": [],
}  # fmt: skip


def test_a_separator_is_read_as_it_was_meant_or_not_at_all(session: Session) -> None:
    for typed, meant in SEPARATORS.items():
        ticket = session.ticket("BTCUSDC", price="50000", quantity=typed)
        found = problem(ticket, "quantity")
        assert f"'{typed}' is not a plain decimal text" in found.message
        assert [one.label for one in found.choices] == meant, typed
        if meant:
            ticket.take(found.choices[-1])
            assert ticket.quantity == meant[-1]
        ticket.close()


SOLVABLE: list[dict[str, Any]] = [
    {"price": "60000.05"},
    {"quantity": "0.0105"},
    {"quantity": "0.001", "price": "9000"},
    {"price": "60,000"},
    {"price": "1000"},
    {"price": "70000", "tif": "POST_ONLY"},
    {"order_type": "MARKET", "tif": "GTC"},
    {"order_type": "MARKET", "slippage": "0.2"},
    {"quantity": "50"},
    {"quantity": "700", "quantity_as": "notional"},
    {"quantity": "33", "quantity_as": "share"},
    {"take_profit": "59000"},
    {"take_profit": "65000", "reduce_only": True},
    {"reduce_only": True},
]


def test_every_choice_solves_its_problem(session: Session) -> None:
    for fields in SOLVABLE:
        given = {"price": "60000", "quantity": "0.01", **fields}
        first, count = session.ticket("BTCUSDC", **given), 0
        for place in range(len(first.problems[0].choices)):
            ticket = session.ticket("BTCUSDC", **given)
            solved = ticket.problems[0]
            ticket.take(solved.choices[place])
            assert solved.rule not in {one.rule for one in ticket.problems if one.field == solved.field}, fields
            ticket.close()
            count += 1
        first.close()
        assert count, fields


def test_a_share_of_a_short_is_of_the_short(session: Session, venue: LocalVenue) -> None:
    session.sell("BTCUSDC", "0.04")
    close: dict[str, Any] = {"order_type": "MARKET", "reduce_only": True, "quantity_as": "share"}
    ticket = session.ticket("BTCUSDC", side="BUY", quantity="25", **close)
    assert ticket.order is not None
    assert ticket.order.quantity == "0.010"
    assert session.ticket("BTCUSDC", side="SELL", quantity="25", **close).order is None, "there is no long"
    session.close_position("BTCUSDC")
    venue.control.set_position_mode(session.account, "HEDGE")
    session.buy("BTCUSDC", "0.08")
    session.sell("BTCUSDC", "0.02")
    for side, quantity in (("BUY", "0.010"), ("SELL", "0.040")):
        ticket = session.ticket("BTCUSDC", side=side, quantity="50", **close)
        assert ticket.order is not None, ticket.problems
        assert ticket.order.quantity == quantity


def test_the_liquidation_price_leaves_the_other_positions_their_maintenance(session: Session) -> None:
    session.buy("ETHUSDC", "20")
    ticket = session.ticket("BTCUSDC", order_type="MARKET", quantity="1")
    preview = ticket.preview()
    ticket.submit()
    ticket.confirm()
    position = session.positions("BTCUSDC", exact=True).iloc[0]
    assert position["liquidation_price"] == pytest.approx(preview["liquidation_price"], abs=Decimal(40))
    maintenance = Decimal("0.0125") * 20 * session.positions("ETHUSDC", exact=True).iloc[0]["mark_price"]
    assert maintenance > 500, "without it the price would be lower by more than the tolerance"


def test_what_the_front_end_may_not_send_is_shown(session: Session) -> None:
    ticket = session.ticket("BTCUSDC")
    edit(ticket, side="HOLD")
    assert "side" in ticket.problem
    assert ticket.side == "BUY"


def test_the_preview_matches_the_outcome(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", order_type="MARKET", quantity="2.5")
    preview = ticket.preview()
    before = session.wallet_balances(exact=True)["available"][0]
    ticket.submit()
    ticket.confirm()
    position = session.positions(exact=True).iloc[0]
    assert preview["effect"] == "opens a long of 2.5"
    assert position["size"] == preview["size_after"]
    assert position["entry_price"] == preview["entry_after"]
    assert session.fills(exact=True)["fee"].sum() == pytest.approx(preview["fee"])
    assert position["liquidation_price"] == pytest.approx(preview["liquidation_price"], rel=Decimal("0.0005"))
    used = before - session.wallet_balances(exact=True)["available"][0]
    assert used <= preview["margin"] < used * Decimal("1.25")


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_the_preview_of_an_exit_beyond_its_bankruptcy_price_stops_there(session: Session, side: str) -> None:
    session.exchange.set_leverage(1, "40")
    (session.sell if side == "BUY" else session.buy)("BTCUSDC", "5")
    beyond, sign = ("66000", 1) if side == "BUY" else ("57000", -1)
    ticket = session.ticket("BTCUSDC", side=side, quantity="5", price=beyond, tif="IOC")
    bound, equity = ticket.preview()["bankruptcy_price"], session.wallet_balances(exact=True)["equity"][0]
    mark = session.positions(exact=True)["mark_price"].iloc[0]
    assert bound == pytest.approx(mark + sign * equity / 5, abs=Decimal("0.2"))
    assert ["Bankruptcy price", f"{bound:,}", "nothing closes beyond it"] in ticket.view["preview"]
    ticket.submit()
    ticket.confirm()
    assert session.fills(exact=True)["price"].iloc[-1] * sign <= bound * sign
    near = session.ticket("BTCUSDC", side=side, quantity="1", price=str(round(mark)))
    assert near.preview()["bankruptcy_price"] is None


def test_nothing_is_signed_while_typing_and_reviewing(session: Session, signed: list[bytes]) -> None:
    ticket = session.ticket("BTCUSDC", price="60000.05", quantity="0.01")
    with pytest.raises(CheckFailed, match="tickSize"):
        ticket.submit()
    press(ticket, "submit")
    assert "tickSize" in ticket.problem
    with pytest.raises(LimitReached, match="nothing is under review"):
        ticket.confirm()
    ticket.price = "60000"
    ticket.preview()
    ticket.submit()
    assert ticket.phase == "review"
    ticket.back()
    with pytest.raises(LimitReached, match="nothing is under review"):
        ticket.confirm()
    press(ticket, "confirm", token=1)
    assert signed == []
    assert session.orders(open=True).empty


def test_what_is_shown_is_what_is_signed(session: Session, signed: list[bytes]) -> None:
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01", take_profit="66000", stop_loss="57000")
    ticket.submit()
    shown = ticket.view["review"]
    receipt = ticket.confirm()
    assert ["0x" + digest.hex() for digest in signed] == [shown["digest"]]
    body = session.intents.get(receipt.intent).body
    assert body is not None
    request = envelope.parse(body)
    assert "0x" + signing.content_digest(request, session.environment.chain).hex() == shown["digest"]
    assert str(request.nonce) == shown["nonce"]


def test_an_edit_cancels_the_review(session: Session, signed: list[bytes]) -> None:
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    ticket.submit()
    edit(ticket, quantity="0.1")
    assert ticket.phase == "edit"
    assert ticket.review is None
    press(ticket, "confirm", token=1)
    assert signed == []


def test_a_second_press_signs_nothing_more(session: Session, signed: list[bytes]) -> None:
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    press(ticket, "submit")
    press(ticket, "confirm", token=1)
    press(ticket, "confirm", token=1)
    press(ticket, "submit")
    press(ticket, "confirm", token=1)
    assert len(signed) == 1
    assert ticket.phase == "review"


def test_an_order_that_no_longer_passes_is_not_signed(session: Session, venue: LocalVenue, signed: list[bytes]) -> None:
    _, ask = best(session)
    ticket = session.ticket("BTCUSDC", price=str(ask - Decimal("0.1")), quantity="0.01", tif="POST_ONLY")
    ticket.submit()
    venue.control.set_oracle(product=1, price=str(round(ask * Decimal("0.9"))))
    venue.advance("20s")
    with pytest.raises((CheckFailed, LimitReached)):
        ticket.confirm()
    assert ticket.phase == "edit"
    assert "nothing was signed" in ticket.problem
    assert signed == []


def test_an_expired_review_is_not_signed(session: Session, venue: LocalVenue, signed: list[bytes]) -> None:
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    ticket.submit()
    venue.advance("59s")
    ticket.refresh()
    with pytest.raises(LimitReached, match="nothing is under review"):
        ticket.confirm()
    assert "expired" in ticket.problem
    assert signed == []


@pytest.mark.parametrize(("opening", "side", "name"), [("buy", "SELL", "long"), ("sell", "BUY", "short")])
def test_a_review_whose_order_no_longer_passes_ends_unsigned(
    session: Session, signed: list[bytes], opening: str, side: str, name: str
) -> None:
    getattr(session, opening)("BTCUSDC", "0.1")
    ticket = session.ticket("BTCUSDC", side=side, order_type="MARKET", quantity="0.1", reduce_only=True)
    ticket.submit()
    getattr(session, side.lower())("BTCUSDC", "0.1")
    signed.clear()
    ticket.refresh()
    assert (ticket.phase, ticket.review, signed) == ("edit", None, [])
    assert ticket.problem == (
        f"the review was cancelled, nothing was signed: reduce-only: there is no {name} position in BTCUSDC to reduce"
    )


def test_a_read_only_session_has_a_ticket_that_can_only_look(venue: LocalVenue, session: Session) -> None:
    assert session.account is not None
    with toolkit.connect(venue=venue, wallet=Wallet(), account=session.account) as reader:
        ticket = reader.ticket("BTCUSDC", price="60000", quantity="0.01")
        assert ticket.valid
        assert "no agent key" in ticket.view["readOnly"]
        with pytest.raises(WalletError, match="read-only"):
            ticket.submit()
        ticket.close()


@pytest.fixture
def real(venue: LocalVenue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session that believes it is on Mainnet; its bytes go to the local venue."""
    monkeypatch.setenv("TOOLKIT_STATE", str(tmp_path))
    development = toolkit.connect(venue=venue)
    made = toolkit.connect(
        MAINNET,
        wallet=development.wallet,
        account=development.account,
        transport=venue.transport(),
        clock=venue.host.clock,
    )
    here = SimpleNamespace(_local=venue, environment=MAINNET, account=development.account)
    made.__dict__["stream"] = Stream(here)
    yield made
    made.close()
    development.close()


def test_mainnet_is_marked_and_asks_for_the_symbol(real: Session, signed: list[bytes]) -> None:
    ticket = real.ticket("BTCUSDC", price="60000", quantity="0.01")
    assert ticket.view["mainnet"] is True
    ticket.submit()
    for typed in ("", "btcusdc", "ETHUSDC"):
        with pytest.raises(LimitReached, match="real money: type BTCUSDC"):
            ticket.confirm(typed)
        press(ticket, "confirm", token=1, typed=typed)
    assert signed == []
    press(ticket, "confirm", token=1, typed="BTCUSDC")
    assert len(signed) == 1
    assert ticket.status == "REJECTED"
    assert "40204" not in ticket.problem


def test_a_resting_order_is_followed_until_it_is_cancelled(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    assert ticket.status == ""
    ticket.submit()
    receipt = ticket.confirm()
    assert ticket.receipt is receipt
    assert ticket.status == "RESTING"
    session.cancel(receipt)
    ticket.refresh()
    assert ticket.status == "CANCELED"
    assert "cancelled" in ticket.view["following"]["words"]


def test_a_refusal_is_shown_as_the_venue_says_it(session: Session, venue: LocalVenue) -> None:
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    ticket.submit()
    venue.host.core.state.markets[1].paused = True
    press(ticket, "confirm", token=1)
    assert ticket.status == "REJECTED"
    assert "paused" in ticket.view["following"]["words"]
    assert ticket.phase == "edit"


def test_an_unknown_outcome_locks_the_ticket_until_it_is_resolved(reached: Session, network: Network) -> None:
    session = reached
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    ticket.submit()
    network.after = cut
    with pytest.raises(OutcomeUnknown):
        ticket.confirm()
    network.after = nothing
    ticket.following.events.clear()  # type: ignore[union-attr]  # as if the feed were silent, too
    assert ticket.status == "UNKNOWN"
    with pytest.raises(LimitReached, match="unknown"):
        ticket.submit()
    assert ticket.ask_venue() == "ACCEPTED"
    assert len(session.orders(open=True)) == 1
    ticket.submit()


def test_asking_resolves_only_the_tickets_own_order(reached: Session, network: Network) -> None:
    session = reached

    def forgotten(payload: dict[str, Any]) -> None:
        with pytest.raises(OutcomeUnknown):
            session.exchange.send(payload)

    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    ticket.submit()
    network.before = cut
    with pytest.raises(OutcomeUnknown):
        ticket.confirm()
    forgotten({"type": "setLeverage", "symbolCode": 1, "leverage": "7"})
    forgotten({"type": "assignPosMargin", "symbolCode": 1, "assignedPosMargin": "5"})  # not isolated: refused
    network.before = nothing
    assert session.venue is not None
    session.venue.advance("5m")  # the ticket's request has expired; the others are asked for, at most
    assert ticket.ask_venue() == "REJECTED"
    assert ticket.receipt is not None
    assert ticket.receipt.action == "placeOrder"
    assert sorted(session.intents("UNKNOWN")["action"]) == ["assignPosMargin", "setLeverage"]
    assert session.orders(open=True).empty


def test_an_order_resolved_elsewhere_is_updated_by_asking(reached: Session, network: Network) -> None:
    session = reached
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    ticket.submit()
    network.before = cut
    with pytest.raises(OutcomeUnknown):
        ticket.confirm()
    network.before = nothing
    assert session.venue is not None
    session.venue.advance("5m")
    session.resolve()
    assert ticket.status == "UNKNOWN"
    assert ticket.ask_venue() == "REJECTED"
    ticket.submit()


def test_an_interrupt_before_the_intent_was_recorded_does_not_lock_the_ticket(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket = session.ticket("BTCUSDC", price="60000", quantity="0.01")
    ticket.submit()

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session.intents, "send", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ticket.confirm()
    assert ticket.status == "UNKNOWN"
    assert ticket.ask_venue() == "NOT_SENT"
    ticket.submit()


def test_clear_empties_the_fields_and_forgets_a_settled_order(session: Session) -> None:
    ticket = session.ticket("BTCUSDC", order_type="MARKET", quantity="0.02")
    ticket.submit()
    ticket.confirm()
    ticket.clear()
    assert ticket.quantity == ""
    assert ticket.following is None
    assert ticket.status == ""
