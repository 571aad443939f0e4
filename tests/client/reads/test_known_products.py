"""A code belongs to its symbol: where a later list differs, nothing opens before it is confirmed, and all is left."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import toolkit
from tests.client.fake import BTC, META, FakeVenue, enveloped, session
from tests.support.broken import CHANGES, Broken, with_status
from toolkit import orders
from toolkit.errors import ActionRejected, DataWarning, InputError, UnknownProduct
from toolkit.venue.local import LocalVenue

ETH = {**BTC, "symbol": "ETHUSDC", "code": "2", "tickSize": "0.01"}
OLD = {**BTC, "symbol": "OLDUSDC", "listStatus": "delisted"}


class Listing(FakeVenue):
    """A venue whose list of products a test changes."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] | None = list(rows)
        self.genesis = "0x01"

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/info/public/product-meta":
            if self.rows is None:
                return httpx.Response(503, text="<html>maintenance</html>")
            return enveloped(0, "success", {**META, "perpProducts": self.rows})
        if request.url.path == "/info/explore/block/detail":
            return enveloped(0, "success", {"blockHash": self.genesis})
        return super().__call__(request)


@pytest.fixture
def venue() -> Iterator[LocalVenue]:
    """Account 0 is long 0.05 BTC, and knows the list."""
    with LocalVenue(clock="manual", market=False) as made:
        made.control.add_liquidity("BTCUSDC", "SELL", "62600", "5")
        made.control.add_liquidity("BTCUSDC", "BUY", "62400", "5")
        with toolkit.connect(venue=made) as first:
            first.buy("BTCUSDC", "0.05")
        yield made


def changed(venue: LocalVenue, name: str) -> toolkit.Session:
    """Return a session of a venue whose list is changed."""
    broken = Broken(venue)
    broken.part = name
    return toolkit.connect(venue=venue, transport=broken)


OPENING: dict[str, Callable[[toolkit.Session, Any], Any]] = {
    "buy": lambda s, name: s.buy(name, "0.01"),
    "place": lambda s, name: s.place(orders.limit(name, "BUY", "0.01", "50000")),
    "exchange": lambda s, name: s.exchange.place_order([orders.buy(name, "0.01")]),
    "prepare": lambda s, name: s.intents.prepare(orders.buy(name, "0.01")),
    "replace": lambda s, name: s.replace(1, orders.buy(name, "0.01", "50000")),
    "leverage": lambda s, name: s.exchange.set_leverage(name, "5"),
}


@pytest.mark.parametrize("how", OPENING)
@pytest.mark.parametrize("change", ["swapped", "doubled"])
def test_nothing_opens_in_either_product_of_a_changed_code(venue: LocalVenue, change: str, how: str) -> None:
    with changed(venue, change) as s:
        for name in ("BTCUSDC", "ETHUSDC", 1, *((2,) if change == "swapped" else ())):
            with pytest.raises(InputError, match=r"session\.products\.confirm\('[A-Z]+', [12]\)"):
                OPENING[how](s, name)
        assert s.intents()["action"].tolist() == ["approveAgent"]


@pytest.mark.parametrize(("change", "closes"), [("doubled", True), ("swapped", False)])
def test_of_two_positions_that_a_name_may_mean_that_without_another_name_is_closed(
    venue: LocalVenue, change: str, closes: bool
) -> None:
    with toolkit.connect(venue=venue) as first:
        venue.control.add_liquidity("ETHUSDC", "SELL", "2460", "5")
        venue.control.add_liquidity("ETHUSDC", "BUY", "2440", "5")
        first.buy("ETHUSDC", "0.5")
    with changed(venue, change) as s, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        if not closes:
            with pytest.raises(InputError, match="Give the code, 1 or 2"):
                s.close_position("ETHUSDC")
        else:
            s.close_position("ETHUSDC")
        assert len(s.info.positions()) == (1 if closes else 2)


@pytest.mark.parametrize("change", ["swapped", "doubled"])
def test_a_position_of_a_changed_code_is_left_by_its_code(venue: LocalVenue, change: str) -> None:
    with changed(venue, change) as s:
        with pytest.raises(InputError, match=r"may mean another product than before.*Give the code, 1 or 2"):
            s.sell("ETHUSDC", "0.05", reduce_only=True)
        with pytest.warns(DataWarning, match="may be product 1 or 2.*The position of product 1 is the only"):
            assert s.close_position("ETHUSDC").filled
        with pytest.raises(ActionRejected, match="no long position"):
            s.sell(1, "0.05", reduce_only=True)


def test_the_call_that_the_error_names_confirms_a_change(venue: LocalVenue) -> None:
    with changed(venue, "swapped") as s, changed(venue, "swapped") as other:
        with pytest.raises(InputError, match="the venue does not list BTCUSDC as product 1"):
            s.products.confirm("BTCUSDC", 1)
        assert s.products.confirm("ETHUSDC", 1).code == 1
        with pytest.raises(InputError, match="confirm"):
            s.buy("BTCUSDC", "0.01")
        s.products.confirm("BTCUSDC", 2)
        assert s.intents.prepare(orders.buy("ETHUSDC", "0.01", "2400")).action.orders[0].product == 1  # type: ignore[union-attr]
        assert other.intents.prepare(orders.buy("BTCUSDC", "0.01", "60000")).action.orders[0].product == 2  # type: ignore[union-attr]


def test_of_two_products_with_one_code_the_confirmed_one_trades(venue: LocalVenue) -> None:
    with changed(venue, "doubled") as s:
        s.products.confirm("BTCUSDC", 1)
        assert s.buy("BTCUSDC", "0.01").filled
        assert s.buy(1, "0.01").filled
        with pytest.raises(InputError, match="confirm"):
            s.buy("ETHUSDC", "0.01")


@pytest.mark.parametrize("name", ["BTCUSDC", 1])
def test_a_listed_row_wins_over_one_that_is_no_longer_traded(venue: LocalVenue, name: Any) -> None:
    with changed(venue, "old row last") as s:
        assert s.product(name).listed
        assert s.positions().index.tolist() == ["BTCUSDC"]
        assert s.buy(name, "0.01").filled
        assert s.close_position(name).filled
        with pytest.raises(InputError, match="OLDUSDC"):
            s.buy("OLDUSDC", "0.01")
        assert s.intents()["action"].tolist()[1:] == ["placeOrder"] * 2


@pytest.mark.filterwarnings("ignore:the venue sends no listStatus")
@pytest.mark.parametrize("status", ["Listed", "LISTED", 1, 0, "TRADING", "suspended", "", None])
def test_no_status_of_a_product_stops_what_only_reduces(
    venue: LocalVenue, status: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CHANGES, "status", with_status(status))
    with changed(venue, "status") as s:
        item = orders.order("BTCUSDC", "SELL", "0.01", reduce_only=True).item(1).to_wire("reduceOnlyOption")
        assert s.exchange.send({"type": "placeOrder", "orders": [item]}).filled
        assert s.sell("BTCUSDC", "0.01", reduce_only=True).filled
        assert s.sell("BTCUSDC", "0.01", reduce_only="SL_FROM_POSITION", trigger_price="50000")
        assert s.close_position("BTCUSDC").filled


def test_without_a_list_a_code_is_enough_and_a_name_that_was_never_known_is_not() -> None:
    venue = Listing(BTC)
    venue.rows = None
    with session(venue, attempts=1) as s:
        assert s.cancel(1, symbol=1).state == "SUBMITTED"
        with pytest.raises(UnknownProduct, match=r"the list of products can't be read now. Give its code"):
            s.cancel(1, symbol="BTCUSDC")
    assert len(venue.bodies) == 1


def test_a_list_that_is_back_is_asked_for_a_name_that_nothing_else_explains() -> None:
    venue = Listing(BTC)
    venue.rows = None
    with session(venue, attempts=1) as s:
        with pytest.raises(UnknownProduct):
            s.cancel(1, symbol="BTCUSDC")
        venue.rows = [BTC]
        assert s.cancel(1, symbol="BTCUSDC").state == "SUBMITTED"


def test_what_a_session_knew_the_next_one_knows(tmp_path: Path) -> None:
    venue = Listing(BTC, ETH)
    with session(venue) as s:
        s.product("BTCUSDC")
    venue.rows = None
    with session(venue) as s:
        assert s.cancel(1, symbol="btcusdc").state == "SUBMITTED"
    venue.rows = [{**BTC, "code": "2"}, {**ETH, "code": "1"}]
    with session(venue) as s, pytest.raises(InputError, match="ETHUSDC was product 2"):
        s.buy("ETHUSDC", "0.5", "2000")
    with session(venue) as s:
        s.products.confirm("ETHUSDC", 1)
    with session(venue) as s:
        assert s.buy("ETHUSDC", "0.5", "2000")


def test_a_new_local_venue_is_not_an_old_one() -> None:
    venue = Listing(BTC)
    given: dict[str, Any] = {"environment": "local", "base_url": "http://127.0.0.1:1"}
    with session(venue, **given) as s:
        s.product(1)
    venue.rows = [{**BTC, "symbol": "ETHUSDC"}]
    with session(venue, **given) as s, pytest.raises(InputError, match="confirm"):
        s.buy("ETHUSDC", "0.5", "2000")
    venue.genesis = "0x02"
    with session(venue, **given) as s:
        assert s.buy("ETHUSDC", "0.5", "2000")
