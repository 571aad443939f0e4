"""Closing a position: in parts, at a price, by a list that is wrong, and the errors where nothing can be closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.support.late import POSITIONS, Late, each, held
from toolkit.errors import ActionRejected, CheckFailed, InputError
from toolkit.venue.local import LocalVenue

BTC = "BTCUSDC"
PRODUCTS = "/info/public/product-meta"
HIDDEN: Callable[[Any], None] = lambda rows: rows.clear()  # noqa: E731 - a change of an answer
pytestmark = pytest.mark.filterwarnings("ignore::toolkit.errors.DataWarning")


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    with LocalVenue(clock="manual", market=False, settle_delay=0) as made:
        made.control.add_liquidity(BTC, "SELL", "62600", "50")
        made.control.add_liquidity(BTC, "BUY", "62400", "50")
        yield made


def listed(**given: str) -> Callable[[Any], None]:
    """Return the change of the list of products: each has these values."""

    def change(data: Any) -> None:
        rows = data if isinstance(data, list) else next(one for one in data.values() if isinstance(one, list))
        each(**given)(rows)

    return change


@pytest.mark.parametrize(("size", "most", "count"), [("0.05", "0.02", 3), ("0.1", "0.001", 100), ("0.101", "0.001", 1)])
def test_a_position_is_closed_in_parts_no_larger_than_the_largest_order(
    venue: LocalVenue, size: str, most: str, count: int
) -> None:
    network = Late(venue, {})
    with toolkit.connect(venue=venue, transport=network) as session:
        session.buy(BTC, size)
    network.change = {PRODUCTS: listed(maxOrderQty=most)}
    with toolkit.connect(venue=venue, transport=network) as session:
        session.close_position(BTC)
        sent = [ids for ids in session.intents(index=None)["client_ids"] if ids]
    assert held(venue) == 0
    assert max(len(ids) for ids in sent) >= count


def test_a_price_leaves_one_order_that_rests(venue: LocalVenue) -> None:
    network = Late(venue, {})
    with toolkit.connect(venue=venue, transport=network) as session:
        session.buy(BTC, "0.05")
        assert session.close_position(BTC, price="63000").status == "NEW"
        assert session.orders(open=True)["quantity"].tolist() == [0.05]
        session.cancel_all(BTC)
        network.change = {POSITIONS: HIDDEN}
        session.close_position(BTC, price="63000")
        network.change = {}
        assert len(session.orders(open=True)) == 1
    assert held(venue) == Decimal("0.05")


@pytest.mark.parametrize("step", [None, "0.02"])
def test_a_price_that_breaks_a_rule_is_refused_and_nothing_is_swept(venue: LocalVenue, step: str | None) -> None:
    network = Late(venue, {})
    with toolkit.connect(venue=venue, transport=network) as session:
        session.buy(BTC, "0.05")
    network.change = {} if step is None else {PRODUCTS: listed(stepSize=step)}
    with toolkit.connect(venue=venue, transport=network) as session:
        with pytest.raises(CheckFailed, match="tickSize"):
            session.close_position(BTC, price="63000.05")
        assert session.orders(open=True).empty
    assert held(venue) == Decimal("0.05")


def test_a_largest_order_below_one_step_is_no_bound(venue: LocalVenue) -> None:
    network = Late(venue, {})
    with toolkit.connect(venue=venue, transport=network) as session:
        session.buy(BTC, "0.05")
    network.change = {PRODUCTS: listed(maxOrderQty="0.0001"), POSITIONS: HIDDEN}
    with toolkit.connect(venue=venue, transport=network) as session:
        assert session.close_position(BTC)
    assert held(venue) == 0


def test_what_is_raised_where_there_is_nothing_to_close(venue: LocalVenue) -> None:
    network = Late(venue, {})
    with toolkit.connect(venue=venue, transport=network) as session:
        with pytest.raises(InputError, match="there is no position in BTCUSDC to close"):
            session.close_position(BTC)
        assert "placeOrder" not in set(session.intents()["action"])
        # Where the list can't be read, the venue is asked, and its refusal is what is known.
        session.buy(BTC, "0.01")
        session.sell(BTC, "0.01", reduce_only=True)

        def broken(data: Any) -> None:
            data.append({"userAddr": "0x" + "cd" * 20, "symbolCode": 1})

        network.change = {POSITIONS: broken}
        with pytest.raises(ActionRejected, match="there is no"):
            session.close_position(BTC)


def test_a_vault_is_closed_and_the_account_of_its_leader_is_left(venue: LocalVenue) -> None:
    with toolkit.connect(venue=venue) as session:
        vault = session.exchange.vault_create("Ours", "2000").data["vault"]
        session.buy(BTC, "0.05")
        session.sell(BTC, "0.02", vault_address=vault)
        assert session.close_position(BTC, vault_address=vault).filled == Decimal("0.02")
        with pytest.raises(InputError, match="no position"):
            session.close_position(BTC, vault_address=vault)
    assert held(venue) == Decimal("0.05")
