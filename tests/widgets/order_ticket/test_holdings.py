"""What the ticket knows of the account counts for longs and shorts, one-way and hedged, on the right side."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.widgets.order_ticket.test_ticket import best, problem
from toolkit.client.reads.derived_columns import net_size, pnl_of
from toolkit.session import Session
from toolkit.venue.local import LocalVenue


@pytest.mark.parametrize(("long", "short"), [("0.3", "0"), ("0", "-0.2"), ("0", "0.2"), ("0.3", "-0.2")])
def test_a_position_of_both_legs_earns_what_its_net_size_does(long: str, short: str) -> None:
    entry, mark, sizes = Decimal(50_000), Decimal(60_000), (Decimal(long), Decimal(short))
    row = {"long_size": sizes[0], "short_size": sizes[1]}
    row |= {"long_entry_value": sizes[0] * entry, "short_entry_value": sizes[1] * entry}
    assert net_size(row) == sizes[0] - abs(sizes[1])
    assert pnl_of(row, mark) == net_size(row) * (mark - entry)


@pytest.mark.parametrize(("side", "closing", "far"), [("BUY", "SELL", "70000"), ("SELL", "BUY", "50000")])
def test_what_may_be_reduced_is_the_position_less_the_resting_orders_of_that_side(
    session: Session, side: str, closing: str, far: str
) -> None:
    place = {"BUY": session.buy, "SELL": session.sell}
    place[side]("BTCUSDC", "0.5")
    place[closing]("BTCUSDC", "0.3", price=far, reduce_only=True)
    for tif, free in (("GTC", "0.2"), ("POST_ONLY", "0.2"), ("IOC", "0.5")):  # what can't rest shares with none
        ticket = session.ticket("BTCUSDC", side=closing, price=far, quantity="0.501", reduce_only=True, tif=tif)
        found = problem(ticket, "quantity")
        assert (found.rule, found.choices[0].label) == ("position", free)
        ticket.take(found.choices[0])
        assert ticket.valid
    wrong = session.ticket("BTCUSDC", side=side, order_type="MARKET", quantity="0.1", reduce_only=True)
    found = problem(wrong, "reduce_only")
    assert found.rule == "position"
    wrong.take(found.choices[0])
    assert wrong.side == closing
    assert wrong.valid


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_value_in_usdc_is_that_of_the_price_which_a_market_order_takes_first(session: Session, side: str) -> None:
    ticket = session.ticket("BTCUSDC", side=side, order_type="MARKET", quantity_as="notional", quantity="10000")
    bid, ask = best(session)
    assert bid < ask
    shown = problem(ticket, "quantity").message
    assert shown.startswith(f"10000 USDC at {ask if side == 'BUY' else bid:f} is 0.1")


@pytest.mark.parametrize(("held", "closing", "sign"), [("BUY", "SELL", 1), ("SELL", "BUY", -1)])
def test_the_preview_of_a_part_that_closes_keeps_the_entry_and_realises_the_rest(
    session: Session, held: str, closing: str, sign: int
) -> None:
    {"BUY": session.buy, "SELL": session.sell}[held]("BTCUSDC", "0.2")
    entry = session.positions(exact=True)["entry_price"].iloc[0]
    preview = session.ticket("BTCUSDC", side=closing, order_type="MARKET", quantity="0.05").preview()
    assert (preview["size_before"], preview["size_after"]) == (sign * Decimal("0.2"), sign * Decimal("0.15"))
    assert preview["entry_after"] == pytest.approx(entry, abs=Decimal("0.01"))
    assert preview["realized_pnl"] == pytest.approx(
        sign * (preview["price"] - entry) * Decimal("0.05"), abs=Decimal("0.01")
    )
    assert preview["realized_pnl"] < 0, "the spread"


@pytest.mark.parametrize(
    ("side", "reduce_only", "before", "after"),
    [("BUY", False, "0.3", "0.35"), ("SELL", True, "0.3", "0.25"), ("SELL", False, "-0.2", "-0.25"),
     ("BUY", True, "-0.2", "-0.15")],
)  # fmt: skip
def test_in_hedge_mode_the_preview_is_of_the_leg_that_the_order_changes(
    session: Session, venue: LocalVenue, side: str, reduce_only: bool, before: str, after: str
) -> None:
    venue.control.set_position_mode(session.account, "HEDGE")
    session.buy("BTCUSDC", "0.3")
    session.sell("BTCUSDC", "0.2")
    ticket = session.ticket("BTCUSDC", side=side, order_type="MARKET", quantity="0.05", reduce_only=reduce_only)
    preview = ticket.preview()
    assert (preview["size_before"], preview["size_after"]) == (Decimal(before), Decimal(after))
