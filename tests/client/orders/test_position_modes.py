"""What only reduces is written once, and reduces in both position modes: the venue shows which one an account has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.support.cases import of_all
from toolkit import orders
from toolkit.errors import ActionRejected
from toolkit.session import Session
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
MODES = ("ONE_WAY", "HEDGE")


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False) as made:
        made.control.add_liquidity(BTC, "SELL", "62600", "5")
        made.control.add_liquidity(BTC, "BUY", "62400", "5")
        yield made


@pytest.fixture(params=MODES)
def session(venue: LocalVenue, request: pytest.FixtureRequest) -> Iterator[Session]:
    with toolkit.connect(venue=venue) as made:
        venue.control.set_position_mode(str(made.account), request.param)
        yield made


def sizes(session: Session) -> dict[str, Decimal]:
    """Return the size of each leg at the venue."""
    table = session.positions(exact=True, index=None)
    return dict(zip(table["side"], table["size"], strict=True))


def closes(session: Session) -> set[str]:
    """Return the sides of the open orders."""
    return set(session.orders(open=True)["side"])


CALLS: dict[str, Callable[[Session], object]] = {
    "sell": lambda s: s.sell(BTC, "0.05", reduce_only=True),
    "place": lambda s: s.place(orders.sell(BTC, "0.05", reduce_only=True)),
    "two": lambda s: s.place([orders.sell(BTC, each, reduce_only=True) for each in ("0.02", "0.03")]),
    "prepared": lambda s: s.intents.send(s.intents.prepare(orders.close_position(BTC, "0.05"))),
    "ladder": lambda s: s.place(
        orders.scale(BTC, "SELL", "0.05", first="62300", last="62350", count=2, reduce_only=True)
    ),
    "value": lambda s: s.sell(BTC, value="3130", slippage="0.01", reduce_only=True),
    "twap": lambda s: (s.twap(BTC, "SELL", "0.05", "1m", slices=2, reduce_only=True), s.venue.advance("2m")),
    "close_position": lambda s: s.close_position(BTC),
}


@pytest.mark.parametrize("call", of_all(CALLS, quick=["sell", "prepared", "ladder", "twap"]))
def test_what_only_reduces_closes_the_long_and_opens_nothing(session: Session, call: str) -> None:
    session.buy(BTC, "0.05")
    CALLS[call](session)
    assert sum(sizes(session).values()) <= Decimal("0.001")


def test_a_bracket_protects_what_it_opens_also_as_the_first_order_of_an_account(session: Session) -> None:
    made = session.buy(BTC, "0.05", tp="70000", sl="55000")
    assert made.status == "FILLED"
    assert sizes(session) == {"LONG": Decimal("0.05")}
    for price in ("54900", "54800"):
        session.venue.control.add_liquidity(BTC, "BUY", price, "5")
    session.venue.control.remove_liquidity(BTC)
    session.venue.control.add_liquidity(BTC, "BUY", "54900", "5")
    session.venue.control.set_oracle(BTC, "54900")
    session.venue.advance("1m")
    assert sizes(session) == {}
    assert closes(session) == set()


def test_a_stop_is_placed_and_replaced_for_the_leg_that_it_protects(session: Session) -> None:
    session.sell(BTC, "0.05")
    made = session.place(orders.stop(BTC, "BUY", "66000"))
    assert session.replace(made, orders.stop(BTC, "BUY", "65000")).status == "ORDER_STATUS_UNTRIGGERED"
    hedged = session.positions()["position_mode"].iloc[0] == "HEDGE"
    assert closes(session) == {"BUY_CLOSE_HEDGE" if hedged else "BUY"}


def test_a_mode_that_has_changed_is_read_again_and_a_refusal_for_another_reason_stays(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as session:
        for mode in (*MODES, *MODES):
            venue.control.set_position_mode(str(session.account), mode)
            session.buy(BTC, "0.05")
            session.sell(BTC, "0.05", reduce_only=True)
            assert sizes(session) == {}
        count = len(session.intents())
        with pytest.raises(ActionRejected, match="no long position"):
            session.sell(BTC, "0.05", reduce_only=True)
        assert len(session.intents()) == count + 1


@pytest.mark.parametrize("mode", MODES)
def test_orders_of_a_vault_follow_the_mode_of_the_vault(venue: LocalVenue, mode: str) -> None:
    with toolkit.connect(venue=venue) as session:
        vault = session.exchange.vault_create("Ours", "2000").data["vault"]
        venue.control.set_position_mode(str(vault), mode)
        session.buy(BTC, "0.005", vault_address=vault)
        made: Any = session.sell(BTC, "0.005", reduce_only=True, vault_address=vault)
        assert made.filled == Decimal("0.005")


@pytest.mark.parametrize("margin", ["ISOLATED", pytest.param("CROSS", marks=pytest.mark.slow)])
def test_the_legs_of_a_position_share_what_the_venue_shows_once(venue: LocalVenue, margin: str) -> None:
    with toolkit.connect(venue=venue) as session:
        venue.control.set_position_mode(str(session.account), "HEDGE")
        session.exchange.set_margin_mode(BTC, margin)
        session.buy(BTC, "0.05")
        session.sell(BTC, "0.02")
        session.sell(BTC, "0.01", reduce_only=True)
        [whole] = session.info.positions(exact=True).to_dict("records")
        table = session.positions(exact=True)
        assert table["side"].tolist() == ["LONG", "SHORT"]
        for name in ("realized_pnl", "fees"):
            assert table[name].sum() == whole[name]
            assert (table[name].abs() < abs(whole[name])).all()
        assert table["unrealized_pnl"].sum() == whole["unrealized_pnl"]
        if margin == "ISOLATED":
            assert table["margin"].sum() == whole["assigned_margin"]
