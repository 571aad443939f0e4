"""Order builders: exact amounts, readable reprs, and never a silent rounding."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.fake import META
from toolkit import orders
from toolkit.errors import CheckFailed, InputError
from toolkit.products import Product, ProductTable, decimal_text, exact
from toolkit.protocol import actions

PRODUCT = ProductTable.from_meta(META)["BTCUSDC"]


def test_a_limit_order_becomes_the_item_of_the_interface() -> None:
    made = orders.buy("BTCUSDC", "0.010", price="60000", tif="post_only", reduce_only=True, cl_ord_id=7)
    assert made.to_item(PRODUCT) == {
        "symbolCode": 1,
        "ordPx": "60000",
        "ordQty": "0.010",
        "ordType": "LIMIT",
        "ordSide": "BUY",
        "timeInForce": "POST_ONLY",
        "clOrdId": 7,
        "reduceOnlyOption": "REDUCE_ONLY",
    }
    assert repr(made) == "<Order BUY 0.010 BTCUSDC at 60000 POST_ONLY reduce-only clOrdId 7>"


def test_a_market_order_is_ioc_and_has_no_price() -> None:
    made = orders.sell("BTCUSDC", Decimal("0.5"), slippage="0.01")
    item = made.to_item(PRODUCT)
    assert (item["ordPx"], item["ordType"], item["timeInForce"], item["slippagePct"]) == ("0", "MARKET", "IOC", "0.01")
    assert repr(made) == "<Order SELL 0.5 BTCUSDC at market slippage 0.01>"
    assert orders.market("BTCUSDC", "sell", "0.5", slippage="0.01") == made
    assert orders.limit("BTCUSDC", "BUY", 1, 5) == orders.buy("BTCUSDC", "1", "5", type="LIMIT")


def test_a_stop_closes_the_whole_position_by_default() -> None:
    made = orders.stop("BTCUSDC", "SELL", "55000")
    item = made.to_item(PRODUCT)
    assert (item["ordQty"], item["triggerPx"], item["tpslTriggerType"]) == ("0", "55000", "MARK_PRICE")
    assert item["reduceOnlyOption"] == "SL_FROM_POSITION"
    assert repr(made) == ("<Order SELL all of BTCUSDC at market when mark reaches 55000 as stop-loss of the position>")
    assert orders.take_profit("BTCUSDC", "SELL", 70000).reduce_only == "TP_FROM_POSITION"


def test_a_bracket_has_two_or_three_legs_that_close_the_entry() -> None:
    made = orders.bracket(orders.buy("BTCUSDC", "0.01", "60000"), take_profit="66000", stop_loss="57000")
    items = made.to_items(PRODUCT)
    assert [item["ordSide"] for item in items] == ["BUY", "SELL", "SELL"]
    assert [item.get("reduceOnly") for item in items] == [None, "TP_FROM_POSITION", "SL_FROM_POSITION"]
    assert actions.parse({"type": "placeBracketOrder", "orders": items})
    assert repr(made) == "<Bracket BUY 0.01 BTCUSDC at 60000 | take profit 66000 | stop loss 57000>"
    assert orders.buy("BTCUSDC", "0.01", "60000", tp="66000", sl="57000") == made
    assert len(orders.buy("BTCUSDC", "0.01", sl="57000").legs) == 2


def test_a_bracket_refuses_legs_that_do_not_close() -> None:
    entry = orders.buy("BTCUSDC", "0.01")
    with pytest.raises(InputError, match="needs a take_profit"):
        orders.bracket(entry)
    with pytest.raises(InputError, match="must be SELL, not BUY"):
        orders.bracket(entry, take_profit=orders.take_profit("BTCUSDC", "BUY", "66000"))
    with pytest.raises(InputError, match="must have reduce_only SL_FROM_POSITION"):
        orders.bracket(entry, stop_loss=orders.take_profit("BTCUSDC", "SELL", "66000"))


def test_closing_a_position_takes_the_other_side() -> None:
    assert orders.close_position("BTCUSDC", "0.3").describe() == "SELL 0.3 BTCUSDC at market reduce-only"
    assert orders.close_position("BTCUSDC", "-0.3").side == "BUY"
    assert orders.close_position("BTCUSDC", -2, hedge=True).side == "BUY_CLOSE_HEDGE"
    with pytest.raises(InputError, match="no position"):
        orders.close_position("BTCUSDC", 0)


def test_a_ladder_adds_up_exactly() -> None:
    ladder = orders.scale(PRODUCT, "BUY", "0.1", first=60000, last=59000, count=3, tif="POST_ONLY")
    assert [made.price for made in ladder] == ["60000.0", "59500.0", "59000.0"]
    assert [made.quantity for made in ladder] == ["0.034", "0.033", "0.033"]
    assert {made.tif for made in ladder} == {"POST_ONLY"}
    weighted = orders.scale(PRODUCT, "BUY", "0.1", first=60000, last=59000, count=2, weights=[1, 4])
    assert [made.quantity for made in weighted] == ["0.020", "0.080"]


def test_a_ladder_between_ticks_is_an_error_unless_rounding_is_chosen() -> None:
    with pytest.raises(InputError, match="not a multiple of tickSize") as caught:
        orders.scale(PRODUCT, "BUY", "0.1", first=60000, last=60001, count=4)
    assert caught.value.nearest == ("60000.3", "60000.4")
    ladder = orders.scale(PRODUCT, "BUY", "0.1", first=60000, last=60001, count=4, rounding="down")
    assert [made.price for made in ladder] == ["60000.0", "60000.3", "60000.6", "60001.0"]


@pytest.mark.parametrize("arguments", [{"quantity": "0.0015"}, {"weights": [1]}, {"weights": [1, 0]}, {"count": 1}])
def test_a_ladder_refuses_what_can_not_be_shared(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        orders.scale(PRODUCT, "BUY", **{"quantity": "0.1", "first": 1, "last": 2, "count": 2, **arguments})


@given(
    steps=st.integers(10, 10**6),
    count=st.integers(2, 10),
    seed=st.lists(st.integers(1, 1000), min_size=10, max_size=10),
)
def test_shares_of_a_ladder_always_add_up(steps: int, count: int, seed: list[int]) -> None:
    total = PRODUCT.step_size * steps
    ladder = orders.scale(PRODUCT, "SELL", total, first=100, last=200, count=count, weights=seed[:count], rounding="up")
    quantities = [Decimal(made.quantity) for made in ladder]
    assert sum(quantities) == total
    assert all(quantity % PRODUCT.step_size == 0 for quantity in quantities)


def test_checks_come_before_anything_else_and_all_failures_are_reported() -> None:
    made = orders.buy("BTCUSDC", "0.0105", price="60000.05")
    with pytest.raises(CheckFailed) as caught:
        made.check(PRODUCT)
    assert {failure.rule for failure in caught.value.failures} >= {"tickSize", "stepSize"}
    assert "60000.05" in str(caught.value)
    fine = orders.buy("BTCUSDC", "0.01", price="60000")
    assert fine.check(PRODUCT) is fine
    wrong_way = orders.buy("BTCUSDC", "0.01", price="60000", tp="50000")
    assert wrong_way.failures(PRODUCT)
    assert not orders.buy("BTCUSDC", "0.01", price="60000", tp="66000", sl="57000").failures(PRODUCT)
    broken_leg = replace(orders.buy("BTCUSDC", "0.01", price="60000", sl="57000.01"))
    assert broken_leg.failures(PRODUCT)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"side": "LONG"}, "side"),
        ({"tif": "DAY"}, "tif"),
        ({"price": "sixty"}, "price"),
        ({"quantity": True}, "quantity"),
        ({"quantity": None}, "quantity"),
        ({"quantity": 0.1 + 0.2}, "quantity"),
        ({"quantity": float("nan")}, "quantity"),
        ({"price": "inf"}, "price"),
        ({"reduce_only": "YES"}, "reduce_only"),
        ({"trigger_by": "MID"}, "trigger_by"),
        ({"cl_ord_id": 0}, "cl_ord_id"),
        ({"cl_ord_id": 2**63}, "cl_ord_id"),
        ({"cl_ord_id": "seven"}, "cl_ord_id"),
        ({"cl_ord_id": True}, "cl_ord_id"),
        ({"cl_ord_id": 7.5}, "cl_ord_id"),
        ({"type": "STOP"}, "type"),
        ({"type": "MARKET"}, "price"),
        ({"type": "LIMIT", "price": None}, "price"),
    ],
)
def test_the_error_for_an_unknown_name_has_its_field(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as caught:
        orders.order(**{"symbol": "BTCUSDC", "side": "BUY", "quantity": "0.01", "price": "60000", **arguments})
    assert caught.value.field == field
    assert str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.010", "0.010"),
        (" 1 ", "1"),
        ("1e-3", "0.001"),
        (5, "5"),
        (0.1, "0.1"),
        (1e-7, "0.0000001"),
        (60000.5, "60000.5"),
        ("0e99999999", "0"),
        ("9" * 40, "9" * 40),
    ],
)
def test_amounts_are_taken_as_written(value: Any, text: str) -> None:
    assert decimal_text(value, "x") == text


@pytest.mark.parametrize("value", ["1e40", "1e99999999", "1e-99999999", "-1e41", 10**41, Decimal("1e999999"), 1e300])
def test_amounts_with_too_many_digits_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="at most 40 digits before and after the point") as caught:
        decimal_text(value, "x")
    assert len(str(caught.value)) < 250


@given(st.decimals(min_value=0, max_value=10**7, places=6))
def test_a_float_of_up_to_fifteen_digits_is_the_number_that_was_written(number: Decimal) -> None:
    assert exact(float(number), "x") == number


@given(st.decimals(min_value=0, max_value=10**6, places=5), st.sampled_from(["down", "up", "nearest"]))
def test_rounding_goes_the_way_it_says(price: Decimal, way: Any) -> None:
    rounded = PRODUCT.round_price(price, way)
    assert rounded % PRODUCT.tick_size == 0
    assert abs(rounded - price) < PRODUCT.tick_size
    assert way != "down" or rounded <= price
    assert way != "up" or rounded >= price
    assert PRODUCT.round_price(rounded, way) == rounded


def test_rounding_takes_floats_that_were_computed() -> None:
    assert PRODUCT.round_quantity(5000 / 53_249.1, "down") == Decimal("0.093")
    assert PRODUCT.round_price(3 * 0.1, "up") == Decimal("0.3")
    assert PRODUCT.round_price(0.3 - 1e-17, "down") == Decimal("0.3")
    with pytest.raises(InputError, match="price"):
        PRODUCT.round_price(float("nan"), "down")


def test_rounding_asks_for_a_known_direction() -> None:
    with pytest.raises(InputError, match="down, up or nearest"):
        PRODUCT.round_quantity("1", "half")  # type: ignore[arg-type]
    assert PRODUCT.round_quantity("0.0015", "down") == Decimal("0.001")


def test_products_are_found_by_symbol_code_and_in_any_case() -> None:
    table = ProductTable.from_meta(META)
    assert table.find("btcusdc") is table.find(1) is table.find(table["BTCUSDC"]) is table["BTCUSDC"]
    with pytest.raises(InputError, match=r"no product 'DOGEUSDC'\. The venue lists BTCUSDC"):
        table.find("DOGEUSDC")
    with pytest.raises(InputError, match="none at the moment"):
        ProductTable([]).find(5)
    assert isinstance(table.find(1), Product)
    assert repr(table) == "<ProductTable: BTCUSDC>"
    said = "<Product BTCUSDC (code 1): tick 0.1, step 0.001, at least 10 USDC, up to 40x>"
    assert repr(table["BTCUSDC"]) == said
    assert "delisted" in repr(replace(table["BTCUSDC"], list_status="delisted"))


def test_a_kind_that_contradicts_its_fields_is_no_order() -> None:
    with pytest.raises(InputError, match="a STOP_LIMIT order: give a price"):
        orders.order("BTCUSDC", "BUY", "1", type="STOP_LIMIT", trigger_price="5")
    with pytest.raises(InputError, match="a STOP_MARKET order: leave price out"):
        orders.order("BTCUSDC", "BUY", "1", "5", type="STOP_MARKET", trigger_price="5")
    with pytest.raises(InputError, match="a TAKE_PROFIT_MARKET order: give a trigger_price"):
        orders.order("BTCUSDC", "BUY", "1", type="TAKE_PROFIT_MARKET")
    with pytest.raises(InputError, match="type 'ADL' is not known"):
        orders.order("BTCUSDC", "BUY", "1", type="ADL")
