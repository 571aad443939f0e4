"""Each of the "Order rules" with its numbers: types, times in force, ids, replacing, reduce-only, hedge mode."""

from __future__ import annotations

from typing import Any

import pytest

from tests.venue.floor import ADA, BOB, CYD, PRICES, Floor, item
from toolkit.venue.engine.commands import Advance
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Genesis, default_products
from toolkit.venue.risk import account_margin, ledger


@pytest.fixture
def floor() -> Floor:
    return Floor()


def fills(floor: Floor, who: str) -> list[tuple[str, str]]:
    """Return (price, quantity) of an account's fills."""
    product = floor.product
    return [
        (product.price_text(fill.fill_price), product.quantity_text(fill.fill_quantity))
        for fill in floor.core.state.history.fills_of(who)
    ]


# price-time priority


def test_a_maker_keeps_its_price_and_the_better_price_goes_first(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.002 at 60002.0")
    floor.order(CYD, "SELL 0.002 at 60001.0")
    taker = floor.order(ADA, "BUY 0.003 at 60010.0")
    assert fills(floor, ADA) == [("60001.0", "0.002"), ("60002.0", "0.001")]
    assert floor.status(taker.id) == "FILLED"


def test_the_same_price_goes_by_time(floor: Floor) -> None:
    first = floor.order(BOB, "SELL 0.002 at 60001.0")
    second = floor.order(CYD, "SELL 0.002 at 60001.0")
    floor.order(ADA, "BUY 0.003 at 60001.0")
    assert (first.filled, second.filled) == (2, 1)


# times in force


def test_what_a_gtc_order_does_not_match_rests(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.002 at 60001.0")
    order = floor.order(ADA, "BUY 0.005 at 60001.0")
    assert (order.filled, order.leaves, floor.status(order.id)) == (2, 3, "PARTIALLY_FILLED")
    assert floor.core.books[1].bids.best == 600_010
    assert floor.statuses(order.id) == ["NEW", "PARTIALLY_FILLED"]


def test_what_an_ioc_order_does_not_match_is_cancelled(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.002 at 60001.0")
    order = floor.order(ADA, "BUY 0.005 at 60001.0 IOC")
    assert (order.filled, order.leaves, floor.status(order.id)) == (2, 0, "CANCELED")
    assert order.reason == "nothing more to take at the limit of 60001.0 or better"


@pytest.mark.parametrize(("quantity", "filled", "status"), [("0.004", 4, "FILLED"), ("0.005", 0, "CANCELED")])
def test_fok_fills_whole_at_its_limit_or_better_or_not_at_all(
    floor: Floor, quantity: str, filled: int, status: str
) -> None:
    floor.order(BOB, "SELL 0.002 at 60001.0")
    floor.order(CYD, "SELL 0.002 at 60002.0")
    floor.order(CYD, "SELL 0.009 at 60002.1")
    order = floor.order(ADA, f"BUY {quantity} at 60002.0 FOK")
    assert (order.filled, floor.status(order.id)) == (filled, status)
    if not filled:
        assert order.reason == "FOK: 0.004 of 0.005 can be filled at 60002.0 or better"


def test_fok_does_not_count_the_orders_of_its_own_account(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.002 at 60001.0")
    own = floor.order(ADA, "SELL 0.002 at 60001.0")
    order = floor.order(ADA, "BUY 0.003 at 60001.0 FOK")
    assert floor.status(order.id) == "CANCELED"
    assert floor.status(own.id) == "NEW", "nothing was cancelled for an order that could not fill"


def test_post_only_that_would_match_is_rejected_with_the_price_that_would_not(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.002 at 60001.0")
    words = floor.refused(ADA, "BUY 0.001 at 60001.0 POST_ONLY")
    assert words == "POST_ONLY at 60001.0 would match the best ask 60001.0. The nearest is 60000.9"
    assert floor.status(floor.core.state.last_order) == "REJECTED"
    order = floor.order(ADA, "BUY 0.001 at 60000.9 POST_ONLY")
    assert floor.status(order.id) == "NEW"


# market orders


@pytest.mark.parametrize(
    ("more", "bound"), [("", "61800.0"), ("slip 0.01", "60600.0"), ("slip 0.001", "60060.0"), ("slip 0.05", "63000.0")]
)
def test_a_market_order_is_bounded_by_the_last_price_and_its_slippage(floor: Floor, more: str, bound: str) -> None:
    ticks = floor.product.ticks(bound)
    floor.order(BOB, f"SELL 0.001 at {floor.product.price_text(ticks)}")
    floor.order(BOB, f"SELL 0.001 at {floor.product.price_text(ticks + 1)}")
    order = floor.order(ADA, f"BUY 0.002 {more}")
    assert (order.filled, order.price, floor.status(order.id)) == (1, 0, "CANCELED")
    assert order.reason == f"nothing more to take at the market order's bound of {bound} or better"


def test_a_market_sell_is_bounded_below(floor: Floor) -> None:
    floor.order(BOB, "BUY 0.001 at 58200.0")
    floor.order(BOB, "BUY 0.001 at 58199.9")
    order = floor.order(ADA, "SELL 0.002")
    assert order.filled == 1


def test_a_market_order_must_be_ioc_or_fok(floor: Floor) -> None:
    words = floor.refused(ADA, "BUY 0.002 GTC")
    assert words.startswith("Invalid order type: timeInForce of a MARKET order must be IOC or FOK, not GTC")


# limits of the product


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("BUY 0.01 at 60000.05", "price 60000.05 is not a multiple of tickSize 0.1. The nearest is 60000.0 or 60000.1"),
        ("BUY 0.0015 at 60000", "quantity 0.0015 is not a multiple of stepSize 0.001. The nearest is 0.001 or 0.002"),
        (
            "BUY 0.001 at 9999.9",
            "order value 9.9999 (0.001 at 9999.9) is below minOrderValue 10. The nearest quantity is 0.002",
        ),
        ("BUY 0.01 at 5999.9", "price 5999.9 is below 10 % of the mark price 60000.0. The nearest is 6000.0"),
        ("SELL 0.01 at 999999.1", "price 999999.1 is above 999999. The nearest is 999999.0"),
        ("BUY 1000.001 at 60000", "quantity 1000.001 is above maxOrderQty 1000.000. The nearest is 1000.000"),
        ("BUY 0.01 slip 0.051", "slippagePct 0.051 is above maxSlippagePct 0.05. The nearest is 0.05"),
        ("BUY 0.01 slip 0", "slippagePct 0 is not above 0. The nearest is 0.05"),
    ],
)
def test_each_limit_of_the_product_is_told_with_what_would_pass(floor: Floor, text: str, words: str) -> None:
    assert floor.refused(ADA, text) == words


@pytest.mark.parametrize("text", ["BUY 0.001 at 10000.0", "BUY 0.002 at 6000.0", "SELL 1000.000 at 999999.0"])
def test_the_limits_themselves_pass(text: str) -> None:
    floor = Floor(money=10**17)
    floor.core.state.products[1]["maxPositionNtnl"] = "10000000000"
    floor.core.rebuild_products()
    floor.order(ADA, text)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ordQty": "9" * 37}, f"quantity {'9' * 37} is above maxOrderQty 1000.000"),
        ({"ordQty": "9" * 40}, f"quantity {'9' * 40} is above maxOrderQty 1000.000"),
        ({"ordPx": "9" * 40}, f"price {'9' * 40} is above 999999"),
        ({"ordPx": "9" * 38 + ".5"}, f"price {'9' * 38}.5 is above 999999"),
        (
            {"reduceOnlyOption": "TP_FROM_POSITION", "triggerPx": "9" * 39},
            f"trigger price {'9' * 39} is above 999999",
        ),
        (
            {"ordPx": "9" * 37 + ".05"},
            f"not a multiple of tickSize 0.1. The nearest is {'9' * 37}.0 or {'9' * 37}.1",
        ),
    ],
)
def test_a_refused_number_of_any_size_leaves_a_state_that_can_be_kept(
    floor: Floor, more: dict[str, Any], words: str
) -> None:
    assert words in floor.refused(ADA, "BUY 0.01 at 60000.0", **more)
    bracket = [item("BUY 0.01 at 59000.0") | {"ordQty": "9" * 40}, item("SELL 0.01 at 61000.0", "reduceOnly")]
    assert floor.act(ADA, {"type": "placeBracketOrder", "orders": bracket}).code == 40230
    assert Core.load(floor.core.dump()).state_hash() == floor.core.state_hash()


def test_a_product_that_is_not_listed_takes_no_orders() -> None:
    rows = default_products()
    rows[0]["listStatus"] = "delisted"
    floor = Floor(core=Core(Genesis(products=rows, prices=PRICES, settings={"market": False})))
    assert floor.refused(ADA, "BUY 0.01 at 60000.0") == "BTCUSDC is delisted, not listed"


def test_an_unknown_product_and_a_paused_one_are_named(floor: Floor) -> None:
    assert "symbolCode 99 is not a product. Known are 1 BTCUSDC" in floor.refused(ADA, "BUY 1 at 1", symbolCode=99)
    floor.core.state.markets[1].paused = True
    assert floor.refused(ADA, "BUY 0.01 at 60000.0") == "trading in BTCUSDC is paused"


def test_orders_beyond_the_largest_position_are_refused() -> None:
    floor = Floor(money=10**16)
    floor.account(ADA)
    words = floor.refused(ADA, "BUY 1000 at 100000.1")
    assert "maxPositionNtnl 100000000" in words


# self-trade


def test_in_a_self_trade_the_maker_is_cancelled_and_the_taker_goes_on(floor: Floor) -> None:
    own = floor.order(ADA, "SELL 0.002 at 60000.0")
    other = floor.order(BOB, "SELL 0.002 at 60001.0")
    taker = floor.order(ADA, "BUY 0.002 at 60001.0")
    assert (floor.status(own.id), own.filled) == ("CANCELED", 0)
    assert own.reason == f"self-trade prevented: order {taker.id} is of the same account"
    assert (taker.filled, other.filled) == (2, 2)


def test_a_self_trade_that_empties_the_book_leaves_the_taker_resting(floor: Floor) -> None:
    floor.order(ADA, "SELL 0.002 at 60000.0")
    taker = floor.order(ADA, "BUY 0.002 at 60001.0")
    assert (floor.status(taker.id), taker.filled) == ("NEW", 0)
    assert floor.core.books[1].asks.best == 0


# ids and batches


def test_client_ids_are_unique_among_open_orders(floor: Floor) -> None:
    first = floor.order(ADA, "BUY 0.001 at 59000.0 id 5")
    assert floor.refused(ADA, "BUY 0.001 at 59000.0 id 5") == f"clOrdId 5 is in use by the open order {first.id}"
    floor.order(BOB, "BUY 0.001 at 59000.0 id 5")
    floor.cancel(ADA, {"clOrdId": "5"})
    floor.order(ADA, "BUY 0.001 at 59000.0 id 5")


def test_each_item_of_a_batch_has_its_own_outcome(floor: Floor) -> None:
    orders = [item("BUY 0.001 at 59000.0 id 1"), item("BUY 0.001 at 59000.05 id 2"), item("BUY 0.001 at 59000.0 id 1")]
    answer = floor.act(ADA, {"type": "placeOrder", "orders": orders})
    assert answer.code == 40230
    assert answer.data is not None
    results = answer.data["results"]
    assert [result["clOrdId"] for result in results] == ["1", "2", "1"]
    assert [result["txCode"] == 0 for result in results] == [True, False, False]
    assert answer.message == (
        "2 of 3 orders refused: orders[1]: price 59000.05 is not a multiple of tickSize 0.1. "
        f"The nearest is 59000.0 or 59000.1; orders[2]: clOrdId 1 is in use by the open order {results[0]['ordId']}"
    )
    assert floor.status(int(results[0]["ordId"])) == "NEW", "the accepted one stands"
    assert floor.status(int(results[1]["ordId"])) == "REJECTED"
    assert floor.find(int(results[1]["ordId"])).reason == results[1]["txMsg"]


def test_cancelling_by_either_id_item_by_item(floor: Floor) -> None:
    one, two = (floor.order(ADA, f"BUY 0.001 at 59000.0 id {number}") for number in (7, 8))
    answer = floor.cancel(ADA, {"ordId": str(one.id)}, {"clOrdId": 8}, {"ordId": str(one.id)}, {"clOrdId": "9"})
    assert answer.data is not None
    results = answer.data["results"]
    assert [result["txCode"] == 0 for result in results] == [True, True, False, False]
    assert results[2]["txMsg"] == f"ordId {one.id} is no open order of {ADA}: order {one.id} is CANCELED"
    assert results[3]["txMsg"] == f"clOrdId 9 is no open order of {ADA}"
    assert [floor.status(order.id) for order in (one, two)] == ["CANCELED", "CANCELED"]


@pytest.mark.parametrize(("since", "known"), [(0, True), (199, True), (200, False)])
def test_an_ended_order_is_named_with_its_end_among_the_last_200(floor: Floor, since: int, known: bool) -> None:
    orders = [floor.order(ADA, f"BUY 0.001 at 59000.0 id {number}") for number in (7, 8)]
    floor.cancel(ADA, *({"ordId": order.id} for order in reversed(orders)))
    for _ in range(since):
        floor.cancel(ADA, {"ordId": floor.order(ADA, "BUY 0.001 at 59000.0").id})
    words = f": order {orders[0].id} is CANCELED" if known else ""
    for name, number in (("ordId", orders[0].id), ("clOrdId", 7)):
        assert floor.cancel(ADA, {name: str(number)}).message == f"{name} {number} is no open order of {ADA}{words}"


@pytest.mark.parametrize(("most", "leverage"), [("10", 1_000), ("20", 2_000), ("20.5", 2_000), ("12.5", 1_250)])
def test_a_position_begins_at_20x_or_what_its_product_allows(most: str, leverage: int) -> None:
    rows = [row | {"maxLeverage": most} for row in default_products()]
    floor = Floor(core=Core(Genesis(products=rows, prices=PRICES, settings={"market": False})))
    floor.order(ADA, "BUY 0.001 at 59000.0")
    assert floor.position(ADA).leverage == leverage


def test_an_order_is_only_found_under_its_product_its_owner_and_ids_that_agree(floor: Floor) -> None:
    order = floor.order(ADA, "BUY 0.001 at 59000.0 id 7")
    assert "is no open order of" in floor.cancel(BOB, {"ordId": order.id}).message
    wrong = floor.cancel(ADA, {"ordId": order.id, "symbolCode": 2}).message
    assert wrong == f"ordId {order.id} is an order in BTCUSDC, not in ETHUSDC"
    assert "has clOrdId 7, not 8" in floor.cancel(ADA, {"ordId": order.id, "clOrdId": 8}).message
    assert floor.cancel(ADA, {"ordId": order.id, "clOrdId": 7}).code == 0


def test_cancel_all_takes_the_normal_or_the_conditional_orders_of_one_product(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.002 at 60000.0")
    floor.order(ADA, "BUY 0.002 at 60000.0")
    plain = [floor.order(ADA, "BUY 0.001 at 59000.0").id for _ in range(2)]
    waiting = floor.order(ADA, "SELL 0 TP when 61000").id
    other = floor.order(ADA, "BUY 0.01 at 2000.0", symbolCode=2).id
    floor.act(ADA, {"type": "cancelAll", "symbolCode": 1, "conditionalOrder": False})
    assert [floor.status(each) for each in (*plain, waiting, other)] == [
        "CANCELED",
        "CANCELED",
        "ORDER_STATUS_UNTRIGGERED",
        "NEW",
    ]
    floor.act(ADA, {"type": "cancelAll", "symbolCode": 1, "conditionalOrder": True})
    assert floor.status(waiting) == "CANCELED"


# replacing


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("SELL 0.003 at 60001.0", True),
        ("SELL 0.004 at 60001.0", True),
        ("SELL 0.005 at 60001.0", False),
        ("SELL 0.003 at 60001.1", False),
    ],
)
def test_replace_keeps_its_place_only_at_the_same_price_with_no_more_quantity(
    floor: Floor, text: str, keeps: bool
) -> None:
    first = floor.order(BOB, "SELL 0.004 at 60001.0")
    second = floor.order(CYD, "SELL 0.004 at 60001.0")
    assert floor.replace(BOB, first.id, text).code == 0
    floor.order(ADA, "BUY 0.001 at 60001.0")
    assert (first.filled, second.filled) == ((1, 0) if keeps else (0, 1))


def test_the_replaced_quantity_counts_what_is_filled(floor: Floor) -> None:
    order = floor.order(BOB, "SELL 0.004 at 60001.0")
    floor.order(ADA, "BUY 0.003 at 60001.0")
    assert floor.replace(BOB, order.id, "SELL 0.003 at 60002.0").message == (
        f"order {order.id} stays as it is: ordQty 0.003 is not above the 0.003 filled already"
    )
    assert (order.price, order.leaves) == (600_010, 1)
    assert floor.replace(BOB, order.id, "SELL 0.006 at 60002.0").code == 0
    assert (order.price, order.leaves, order.quantity) == (600_020, 3, 6)


def test_a_replacement_that_crosses_takes(floor: Floor) -> None:
    order = floor.order(BOB, "SELL 0.004 at 60010.0")
    floor.order(ADA, "BUY 0.003 at 60001.0")
    assert floor.replace(BOB, order.id, "SELL 0.004 at 60001.0").code == 0
    assert (order.filled, order.leaves) == (3, 1)


def test_a_refused_replacement_leaves_the_order_as_it_is() -> None:
    floor = Floor(money=1_000_000_000)
    order = floor.order(ADA, "BUY 0.010 at 59000.0")
    floor.order(BOB, "SELL 0.001 at 60000.0")
    before = floor.core.dump()
    for text in ("BUY 900 at 59000.0", "BUY 0.010 at 59000.05", "BUY 0.010 at 60000.0 POST_ONLY", "SELL 0.01 at 59000"):
        answer = floor.replace(ADA, order.id, text)
        assert answer.code == 40230
        assert answer.message.startswith(f"order {order.id} stays as it is: ")
        assert (order.price, order.quantity, order.leaves, floor.status(order.id)) == (590_000, 10, 10, "NEW")
    assert len(floor.core.dump()) > len(before), "only the refused transactions were added"
    assert "ordSide can't be replaced" in floor.replace(ADA, order.id, "SELL 0.01 at 59000").message
    assert "can only be GTC or POST_ONLY" in floor.replace(ADA, order.id, "BUY 0.01 at 59000 IOC").message


def test_a_reduce_only_order_is_not_replaced_by_a_part_below_the_smallest_value(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.010 at 3000.00", symbolCode=2)
    floor.order(ADA, "BUY 0.010 at 3000.00", symbolCode=2)
    order = floor.order(ADA, "SELL 0.010 at 3100.00 REDUCE_ONLY", symbolCode=2)
    for text in ("SELL 0.003 at 3100.00 REDUCE_ONLY", "SELL 0.003 at 3101.00 REDUCE_ONLY"):
        answer = floor.replace(ADA, order.id, text, symbolCode=2)
        assert answer.code == 40230
        assert "is below minOrderValue 10. The nearest quantity is 0.004, or the whole position" in answer.message
        assert (order.price, order.quantity, order.leaves) == (310_000, 10, 10)
    assert floor.replace(ADA, order.id, "SELL 0.004 at 3100.00 REDUCE_ONLY", symbolCode=2).code == 0


def test_replace_finds_its_order_by_client_id(floor: Floor) -> None:
    order = floor.order(ADA, "BUY 0.010 at 59000.0 id 77")
    action = {"type": "replaceOrder", **item("BUY 0.010 at 59001.0 id 77")}
    assert floor.act(ADA, action).code == 0
    assert order.price == 590_010


# reduce-only


def opened(floor: Floor, who: str = ADA, text: str = "BUY 0.005") -> Floor:
    """Let an account open a position at 60,000."""
    other = "SELL" if text.startswith("BUY") else "BUY"
    floor.order(BOB, f"{other} {text.split()[1]} at 60000.0")
    floor.order(who, f"{text} at 60000.0")
    return floor


@pytest.mark.parametrize("text", ["SELL 0.001 at 61000 REDUCE_ONLY", "SELL 0.001 REDUCE_ONLY"])
def test_reduce_only_without_a_position_is_refused(floor: Floor, text: str) -> None:
    assert floor.refused(ADA, text) == "there is no long position in BTCUSDC to reduce"


def test_reduce_only_in_the_direction_of_the_position_is_refused(floor: Floor) -> None:
    opened(floor)
    assert floor.refused(ADA, "BUY 0.001 at 59000 REDUCE_ONLY") == "there is no short position in BTCUSDC to reduce"


def test_reduce_only_never_flips(floor: Floor) -> None:
    opened(floor)
    floor.order(BOB, "BUY 0.009 at 59900.0")
    order = floor.order(ADA, "SELL 0.009 REDUCE_ONLY")
    assert (order.filled, floor.status(order.id)) == (5, "CANCELED")
    assert order.reason == "reduce-only: reduced to 0.005, the rest of the long position"
    assert floor.legs(ADA) == (0, 0)


def test_reduce_only_orders_are_cut_last_placed_first_when_the_position_shrinks(floor: Floor) -> None:
    opened(floor)
    first = floor.order(ADA, "SELL 0.003 at 61000.0 REDUCE_ONLY")
    second = floor.order(ADA, "SELL 0.002 at 60500.0 REDUCE_ONLY")
    floor.order(BOB, "BUY 0.001 at 59900.0")
    floor.order(ADA, "SELL 0.001")
    assert (first.leaves, second.leaves) == (3, 1)
    assert floor.statuses(second.id) == ["NEW", "NEW"]
    floor.order(BOB, "BUY 0.002 at 59900.0")
    floor.order(ADA, "SELL 0.002")
    assert (first.leaves, floor.status(second.id)) == (2, "CANCELED")
    assert second.reason == "reduce-only: the position is down to 0.002"


def test_reduce_only_orders_cover_a_position_once(floor: Floor) -> None:
    opened(floor)
    floor.order(ADA, "SELL 0.004 at 61000.0 REDUCE_ONLY")
    rest = floor.order(ADA, "SELL 0.004 at 62000.0 REDUCE_ONLY")
    assert rest.leaves == 1
    assert floor.refused(ADA, "SELL 0.001 at 63000.0 REDUCE_ONLY") == (
        "reduce-only orders cover the long position of 0.005 already"
    )
    floor.order(BOB, "BUY 0.005 at 59900.0")
    closing = floor.order(ADA, "SELL 0.005 REDUCE_ONLY")
    assert floor.status(closing.id) == "FILLED", "closing at once is always possible"
    assert floor.status(rest.id) == "CANCELED"


def test_a_fok_that_may_not_reduce_its_whole_is_refused(floor: Floor) -> None:
    opened(floor)
    words = floor.refused(ADA, "SELL 0.009 at 59000 FOK REDUCE_ONLY")
    assert words == "FOK of 0.009 is above the long position of 0.005 that it may reduce"


def test_reduce_only_below_the_minimum_value_must_close_the_whole_rest(floor: Floor) -> None:
    opened(floor, text="BUY 0.002")
    floor.mark("9000.0")
    words = floor.refused(ADA, "SELL 0.001 at 9000.0 REDUCE_ONLY")
    assert words == (
        "order value 9 (0.001 at 9000.0) is below minOrderValue 10. "
        "The nearest quantity is 0.002, or the whole position"
    )
    assert floor.position(ADA).sell_reducing == 0
    floor.mark("4000.0")
    floor.order(ADA, "SELL 0.002 at 4000.0 REDUCE_ONLY")


@pytest.mark.parametrize(("last", "enough"), [("10000.0", True), ("9999.9", False)])
@pytest.mark.parametrize(("opening", "closing"), [("BUY", "SELL"), ("SELL", "BUY")])
def test_a_reduce_only_market_order_is_valued_at_the_last_price(
    floor: Floor, opening: str, closing: str, last: str, enough: bool
) -> None:
    floor.order(BOB, f"{closing} 0.002 at 60000.0")
    floor.order(ADA, f"{opening} 0.002 at 60000.0")
    floor.mark(last)
    floor.trade(last, "0.002")
    assert (floor.place(ADA, f"{closing} 0.001 REDUCE_ONLY").code == 0) is enough


def test_reduce_only_is_accepted_whatever_the_equity() -> None:
    floor = Floor(money=40_000_000)
    opened(floor, text="BUY 0.010")
    assert "margin" in floor.refused(ADA, "BUY 0.010 at 59000.0")
    floor.order(ADA, "SELL 0.010 at 61000.0 REDUCE_ONLY")
    floor.order(ADA, "SELL 0.010 at 62000.0")


# hedge mode


def test_close_sides_need_hedge_mode(floor: Floor) -> None:
    opened(floor)
    assert floor.refused(ADA, "SELL_CLOSE_HEDGE 0.001 at 61000") == (
        "ordSide SELL_CLOSE_HEDGE needs hedge mode, the account is in one-way mode. Use SELL with REDUCE_ONLY"
    )


def test_hedge_mode_holds_both_legs_and_closes_each_by_its_side() -> None:
    floor = Floor(ADA)
    floor.order(BOB, "SELL 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.005 at 60000.0")
    floor.order(BOB, "BUY 0.003 at 60000.0")
    floor.order(ADA, "SELL 0.003 at 60000.0")
    assert floor.legs(ADA) == (5, 3)
    assert floor.legs(BOB) == (0, 2)
    floor.order(BOB, "SELL 0.002 at 60000.0")
    floor.order(ADA, "BUY_CLOSE_HEDGE 0.002")
    assert floor.legs(ADA) == (5, 1)
    floor.order(BOB, "BUY 0.009 at 60000.0")
    order = floor.order(ADA, "SELL_CLOSE_HEDGE 0.009")
    assert floor.legs(ADA) == (0, 1)
    assert (order.filled, floor.status(order.id)) == (5, "CANCELED")
    assert floor.refused(ADA, "SELL_CLOSE_HEDGE 0.001") == "there is no long position in BTCUSDC to reduce"


def test_in_hedge_mode_reducing_needs_the_closing_side() -> None:
    floor = opened(Floor(ADA))
    assert floor.refused(ADA, "SELL 0.001 at 61000 REDUCE_ONLY") == (
        "in hedge mode SELL can't reduce. Use SELL_CLOSE_HEDGE to close the long position"
    )


# positions and money of fills


def test_reducing_realises_in_proportion_and_the_remainder_stays(floor: Floor) -> None:
    floor.order(BOB, "SELL 0.001 at 60000.0")
    floor.order(BOB, "SELL 0.002 at 60000.1")
    floor.order(ADA, "BUY 0.003 at 60001.0")
    position = floor.position(ADA)
    assert position.long.value == 60_000_000 + 2 * 60_000_100
    floor.order(BOB, "BUY 0.001 at 60010.0")
    floor.order(ADA, "SELL 0.001 at 60010.0")
    assert position.long.value == 180_000_200 - 60_000_066
    assert position.pnl == 60_010_000 - 60_000_066


def test_a_flip_closes_first_and_opens_the_rest(floor: Floor) -> None:
    opened(floor)
    floor.order(BOB, "BUY 0.008 at 61000.0")
    floor.order(ADA, "SELL 0.008 at 61000.0")
    fill = floor.core.state.history.fills_of(ADA)[-1]
    assert floor.legs(ADA) == (0, 3)
    assert fill.pnl == 5_000_000
    assert (fill.close_fee, fill.open_fee) == (5 * 61_000_000 * 6 // 10_000, 3 * 61_000_000 * 6 // 10_000)
    [closed] = floor.core.state.history.closed_positions.of(ADA)
    assert (closed.size, closed.entry_value, closed.close_value, closed.side) == (5, 300_000_000, 305_000_000, 1)
    assert (fill.long_term, fill.short_term) == (1, 1)


def test_a_leg_keeps_the_sums_of_its_life(floor: Floor) -> None:
    opened(floor)
    floor.order(BOB, "SELL 0.002 at 60100.0")
    floor.order(ADA, "BUY 0.002 at 60100.0")
    floor.order(CYD, "BUY 0.003 at 60200.0")
    floor.order(ADA, "SELL 0.003 at 60200.0")
    leg = floor.position(ADA).long
    assert (leg.size, leg.entered, leg.closed, leg.term) == (4, 7, 3, 1)
    assert (leg.entered_value, leg.closed_value) == (300_000_000 + 120_200_000, 180_600_000)
    assert leg.fees == (420_200_000 + 180_600_000) * 6 // 10_000
    assert leg.pnl == 180_600_000 - 420_200_000 * 3 // 7
    floor.order(CYD, "BUY 0.004 at 60200.0")
    floor.order(ADA, "SELL 0.004 at 60200.0")
    opened(floor)
    assert (leg.size, leg.entered, leg.closed, leg.pnl, leg.term) == (5, 5, 0, 0, 2)
    assert floor.position(ADA).fees == sum(f.open_fee + f.close_fee for f in floor.core.state.history.fills_of(ADA))


def test_refusals_change_nothing_but_the_record(floor: Floor) -> None:
    opened(floor)
    state = floor.core.state
    before = {address: (a.balance, dict(a.orders)) for address, a in state.accounts.items()}
    actions: list[dict[str, Any]] = [
        {"type": "placeOrder", "orders": [item("BUY 0.001 at 60000.0 FOK REDUCE_ONLY")]},
        {"type": "placeOrder", "orders": [item("BUY 0.01 at 60000.05")]},
        {"type": "cancelOrder", "cancels": [{"symbolCode": 1, "ordId": "99"}]},
        {"type": "cancelAll", "symbolCode": 77},
    ]
    for action in actions:
        assert floor.act(ADA, action).code == 40230
    assert before == {address: (a.balance, dict(a.orders)) for address, a in state.accounts.items()}


# the smallest value, and what is never refused for margin


@pytest.mark.parametrize("price", ["9000", "8999.9"])
def test_the_rest_of_a_replaced_order_must_have_the_smallest_value(floor: Floor, price: str) -> None:
    """By quantity and price the whole of 3 steps is worth 27 USDC, but what is left to fill only 9."""
    order = floor.order(ADA, "BUY 0.004 at 9000")
    floor.order(BOB, "SELL 0.002 at 9000")
    assert order.filled == 2
    words = "is below minOrderValue 10. The nearest quantity is 0.004"
    assert words in floor.replace(ADA, order.id, f"BUY 0.003 at {price}").message
    assert (order.quantity, order.leaves, order.price) == (4, 2, 90_000)
    assert floor.replace(ADA, order.id, "BUY 0.004 at 8999.9").code == 0


def test_a_plain_order_for_the_whole_position_is_exempt_from_the_smallest_value(floor: Floor) -> None:
    opened(floor, text="BUY 0.001")
    floor.mark("9000.0")
    assert "below minOrderValue" in floor.refused(ADA, "BUY 0.001 at 9000")
    assert "below minOrderValue" in floor.refused(ADA, "SELL 0.001 at 9000", symbolCode=2, ordQty="0.001")
    order = floor.order(ADA, "SELL 0.001 at 9500")
    assert floor.replace(ADA, order.id, "SELL 0.001 at 9400").code == 0


@pytest.mark.parametrize("text", ["BUY 3 at 58000", "BUY 2.5 at 59000", "BUY 2.5 at 59100", "BUY 1 at 57000"])
def test_an_order_that_moves_away_or_shrinks_is_never_refused_for_margin(floor: Floor, text: str) -> None:
    account = floor.account(ADA)
    ledger.withdraw(floor.core, account, account.balance - 9_000_000_000)
    order = floor.order(ADA, "BUY 3 at 59000")
    floor.order(CYD, "SELL 1 at 59101")
    ledger.withdraw(floor.core, account, 3_000_000_000)
    assert account_margin.available(floor.core, account) < 0
    assert "margin" in floor.replace(ADA, order.id, "BUY 3 at 59100").message
    assert "margin" in floor.replace(ADA, order.id, "BUY 3.001 at 59000").message
    answer = floor.replace(ADA, order.id, text)
    assert (answer.code, floor.status(order.id)) == (0, "NEW")


def test_reduce_only_orders_of_a_short_position_are_cut_last_placed_first_when_it_shrinks(floor: Floor) -> None:
    opened(floor, text="SELL 0.005")
    first = floor.order(ADA, "BUY 0.003 at 59000.0 REDUCE_ONLY")
    second = floor.order(ADA, "BUY 0.002 at 59500.0 REDUCE_ONLY")
    floor.order(BOB, "SELL 0.001 at 60100.0")
    floor.order(ADA, "BUY 0.001")
    assert (first.leaves, second.leaves) == (3, 1)
    floor.order(BOB, "SELL 0.002 at 60100.0")
    floor.order(ADA, "BUY 0.002")
    assert (first.leaves, floor.status(second.id)) == (2, "CANCELED")
    assert second.reason == "reduce-only: the position is down to 0.002"


def test_reduce_only_orders_cover_a_short_position_once_and_never_flip_it(floor: Floor) -> None:
    opened(floor, text="SELL 0.005")
    assert floor.refused(ADA, "SELL 0.001 REDUCE_ONLY") == "there is no long position in BTCUSDC to reduce"
    words = "FOK of 0.009 is above the short position of 0.005 that it may reduce"
    assert floor.refused(ADA, "BUY 0.009 at 61000 FOK REDUCE_ONLY") == words
    floor.order(ADA, "BUY 0.004 at 59000.0 REDUCE_ONLY")
    rest = floor.order(ADA, "BUY 0.004 at 58000.0 REDUCE_ONLY")
    assert (rest.leaves, rest.reason) == (1, "reduce-only: reduced to 0.001, the rest of the short position")
    assert floor.refused(ADA, "BUY 0.001 at 57000.0 REDUCE_ONLY") == (
        "reduce-only orders cover the short position of 0.005 already"
    )
    floor.order(BOB, "SELL 0.009 at 60100.0")
    floor.order(ADA, "BUY 0.009 REDUCE_ONLY")
    assert (floor.legs(ADA), floor.status(rest.id)) == ((0, 0), "CANCELED")


# what holds for a long position holds for a short one


def test_the_words_for_the_buying_side_of_hedge_mode() -> None:
    floor = opened(Floor(ADA), text="SELL 0.005")
    assert floor.refused(ADA, "BUY 0.001 at 59000 REDUCE_ONLY") == (
        "in hedge mode BUY can't reduce. Use BUY_CLOSE_HEDGE to close the short position"
    )
    assert floor.refused(BOB, "BUY_CLOSE_HEDGE 0.001 at 61000") == (
        "ordSide BUY_CLOSE_HEDGE needs hedge mode, the account is in one-way mode. Use BUY with REDUCE_ONLY"
    )


@pytest.mark.parametrize("text", ["SELL 3 at 61000", "SELL 2.5 at 61000", "SELL 3 at 60899.1", "SELL 1 at 61500"])
def test_a_selling_order_that_moves_away_or_shrinks_is_never_refused_for_margin(floor: Floor, text: str) -> None:
    account = floor.account(ADA)
    ledger.withdraw(floor.core, account, account.balance - 9_200_000_000)
    order = floor.order(ADA, "SELL 3 at 61000")
    floor.order(CYD, "BUY 1 at 60899")
    ledger.withdraw(floor.core, account, 3_000_000_000)
    assert "margin" in floor.replace(ADA, order.id, "SELL 3 at 60899").message
    assert "margin" in floor.replace(ADA, order.id, "SELL 3.001 at 61000").message
    assert "margin" in floor.replace(ADA, order.id, "SELL 2.9 at 60899").message
    answer = floor.replace(ADA, order.id, text)
    assert (answer.code, floor.status(order.id)) == (0, "NEW")


@pytest.mark.parametrize(("side", "price", "bids", "asks"), [("BUY", 600_010, 2, 0), ("SELL", 600_010, 0, 2)])
def test_a_replaced_order_counts_with_its_new_quantity_in_the_book_and_in_the_sums(
    floor: Floor, side: str, price: int, bids: int, asks: int
) -> None:
    order = floor.order(ADA, f"{side} 0.004 at 60001.0")
    assert floor.replace(ADA, order.id, f"{side} 0.002 at 60001.0").code == 0
    book, position = floor.core.books[1], floor.position(ADA)
    assert (dict(book.depth(1, 9)), dict(book.depth(-1, 9))) == (
        {price: bids} if bids else {},
        {price: asks} if asks else {},
    )
    assert (position.buy_quantity, position.sell_quantity) == (bids, asks)
    assert (position.buy_value, position.sell_value) == (bids * 60_001_000, asks * 60_001_000)


@pytest.mark.parametrize("who", [ADA, BOB])
def test_a_fill_is_the_last_change_of_its_order_its_position_and_its_account(floor: Floor, who: str) -> None:
    resting = floor.order(BOB, "SELL 0.002 at 60000.0")
    floor.core.apply(Advance(floor.core.state.time + 70_000))
    taker = floor.order(ADA, "BUY 0.003 at 60000.0")
    time, order = floor.core.state.time, taker if who == ADA else resting
    assert (order.updated, floor.position(who).updated, floor.account(who).updated) == (time, time, time)
    assert resting.created < taker.created == time
    [fill] = floor.core.state.history.fills_of(who)
    assert (fill.time, fill.order_id, fill.fill_quantity, fill.leaves) == (time, order.id, 2, order.leaves)
    assert floor.core.state.markets[1].open_interest == 2


@pytest.mark.parametrize(("text", "found"), [("", None), (" id 7", "7")])
def test_the_answer_names_the_client_id_only_of_an_order_that_has_one(
    floor: Floor, text: str, found: str | None
) -> None:
    answer = floor.place(ADA, f"BUY 0.001 at 59000.0{text}")
    assert answer.data is not None
    [result] = answer.data["results"]
    assert result == {"clOrdId": found, "ordId": "1", "txCode": 0, "txMsg": "success"}
