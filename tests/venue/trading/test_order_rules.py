"""Each of the "Order rules" with its numbers: types, times in force, ids, replacing, reduce-only, hedge mode."""

from __future__ import annotations

from typing import Any

import pytest

from tests.venue.floor import ADA, BOB, CYD, PRICES, Floor, item
from toolkit.venue.engine.commands import Advance
from toolkit.venue.engine.core import Core
from toolkit.venue.model.constants import CANCELED
from toolkit.venue.model.genesis import Genesis, default_products
from toolkit.venue.risk import account_margin, ledger

SIDES = pytest.mark.parametrize(("side", "other", "sign"), [("BUY", "SELL", 1), ("SELL", "BUY", -1)])


@pytest.fixture
def floor() -> Floor:
    return Floor()


# price-time priority


# times in force


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


def test_the_replaced_quantity_counts_what_is_filled(floor: Floor) -> None:
    order = floor.order(BOB, "SELL 0.004 at 60001.0")
    floor.order(ADA, "BUY 0.003 at 60001.0")
    assert floor.replace(BOB, order.id, "SELL 0.003 at 60002.0").message == (
        f"order {order.id} stays as it is: ordQty 0.003 is not above the 0.003 filled already"
    )
    assert (order.price, order.leaves) == (600_010, 1)
    assert floor.replace(BOB, order.id, "SELL 0.006 at 60002.0").code == 0
    assert (order.price, order.leaves, order.quantity) == (600_020, 3, 6)


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


@SIDES
def test_reduce_only_orders_are_cut_last_placed_first_when_the_position_shrinks(
    floor: Floor, side: str, other: str, sign: int
) -> None:
    opened(floor, text=f"{side} 0.005")
    first = floor.order(ADA, f"{other} 0.003 at {60_000 + sign * 1_000} REDUCE_ONLY")
    second = floor.order(ADA, f"{other} 0.002 at {60_000 + sign * 500} REDUCE_ONLY")
    for quantity, left in (("0.001", (3, 1)), ("0.002", (2, 0))):
        floor.order(BOB, f"{side} {quantity} at {60_000 - sign * 100}")
        floor.order(ADA, f"{other} {quantity}")
        assert (first.leaves, second.leaves) == left
    assert floor.statuses(second.id) == ["NEW", "NEW", "CANCELED"]
    assert second.reason == "reduce-only: the position is down to 0.002"


@SIDES
def test_reduce_only_orders_cover_a_position_once_and_never_flip_it(
    floor: Floor, side: str, other: str, sign: int
) -> None:
    opened(floor, text=f"{side} 0.005")
    name, wrong = ("long", "short")[::sign]
    far = 60_000 + sign * 2_000
    assert floor.refused(ADA, f"{side} 0.001 REDUCE_ONLY") == f"there is no {wrong} position in BTCUSDC to reduce"
    words = f"FOK of 0.009 is above the {name} position of 0.005 that it may reduce"
    assert floor.refused(ADA, f"{other} 0.009 at {60_000 - sign * 1_000} FOK REDUCE_ONLY") == words
    floor.order(ADA, f"{other} 0.004 at {60_000 + sign * 1_000} REDUCE_ONLY")
    rest = floor.order(ADA, f"{other} 0.004 at {far} REDUCE_ONLY")
    assert (rest.leaves, rest.reason) == (1, f"reduce-only: reduced to 0.001, the rest of the {name} position")
    words = f"reduce-only orders cover the {name} position of 0.005 already"
    assert floor.refused(ADA, f"{other} 0.001 at {far} REDUCE_ONLY") == words
    floor.order(BOB, f"{side} 0.009 at {60_000 - sign * 100}")
    floor.order(ADA, f"{other} 0.009 REDUCE_ONLY")
    assert (floor.legs(ADA), floor.status(rest.id)) == ((0, 0), "CANCELED")


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


@SIDES
def test_reducing_in_hedge_mode_and_closing_sides_need_each_other(
    floor: Floor, side: str, other: str, sign: int
) -> None:
    hedged = opened(Floor(ADA), text=f"{side} 0.005")
    name, price = ("long", "short")[::sign][0], 60_000 + sign * 1_000
    assert hedged.refused(ADA, f"{other} 0.001 at {price} REDUCE_ONLY") == (
        f"in hedge mode {other} can't reduce. Use {other}_CLOSE_HEDGE to close the {name} position"
    )
    assert hedged.refused(BOB, f"{other}_CLOSE_HEDGE 0.001 at {price}") == (
        f"ordSide {other}_CLOSE_HEDGE needs hedge mode, the account is in one-way mode. Use {other} with REDUCE_ONLY"
    )


# positions and money of fills


# the smallest value, and what is never refused for margin


@pytest.mark.parametrize("price", ["9000", "8999.9"])
def test_the_rest_of_a_replaced_order_must_have_the_smallest_value(floor: Floor, price: str) -> None:
    """By quantity and price the whole of 3 steps is worth 27 USDC, but what is left to fill only 9."""
    floor.mark("9000.0")
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


AWAY = {"BUY": (9_000, 59_000, "SELL 1 at 59101", 59_100), "SELL": (9_200, 61_000, "BUY 1 at 60899", 60_899)}
"""Side → the account's USDC, the price of its order, an offer to it, and a price nearer to that."""


@pytest.mark.parametrize(
    "text",
    [
        *("BUY 3 at 58000", "BUY 2.5 at 59000", "BUY 2.5 at 59100", "BUY 1 at 57000"),
        *("SELL 3 at 61000", "SELL 2.5 at 61000", "SELL 3 at 60899.1", "SELL 1 at 61500"),
    ],
)
def test_an_order_that_moves_away_or_shrinks_is_never_refused_for_margin(floor: Floor, text: str) -> None:
    side, account = text.split()[0], floor.account(ADA)
    usdc, price, offer, nearer = AWAY[side]
    ledger.withdraw(floor.core, account, account.balance - usdc * 10**6)
    order = floor.order(ADA, f"{side} 3 at {price}")
    floor.order(CYD, offer)
    ledger.withdraw(floor.core, account, 3_000_000_000)
    assert account_margin.available(floor.core, account) < 0
    for refused in (f"{side} 3 at {nearer}", f"{side} 3.001 at {price}"):
        assert "margin" in floor.replace(ADA, order.id, refused).message
    answer = floor.replace(ADA, order.id, text)
    assert (answer.code, floor.status(order.id)) == (0, "NEW")


# what holds for a long position holds for a short one


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


# limits far beyond the mark


@pytest.mark.parametrize(
    ("side", "limit", "offer", "beyond"), [("BUY", 900_000, 62_900, 600_000), ("SELL", 12_000, 57_100, 12_100)]
)
@pytest.mark.parametrize("tif", ["GTC", "IOC", "FOK"])
def test_a_limit_far_beyond_the_mark_trades_up_to_the_largest_slippage_from_it(
    floor: Floor, side: str, limit: int, offer: int, beyond: int, tif: str
) -> None:
    """A BUY at 15 times the mark traded at 10 times."""
    other = "SELL" if side == "BUY" else "BUY"
    for price in (offer, beyond):
        floor.order(BOB, f"{other} 0.001 at {price}")
    order = floor.order(ADA, f"{side} 0.002 at {limit} {tif}".replace(" GTC", ""))
    assert (order.filled, order.status) == (0 if tif == "FOK" else 1, CANCELED)
    assert order.reason.endswith("or better")


@pytest.mark.parametrize("text", ["BUY 0.002 at 900000", "SELL 0.002 at 6000"])
def test_what_a_limit_far_beyond_the_mark_does_not_fill_does_not_rest(floor: Floor, text: str) -> None:
    """It would be an offer at a price that its owner can't mean."""
    order = floor.order(ADA, text)
    assert (order.filled, order.status) == (0, CANCELED)
    assert "nothing more to take at the largest slippage from mark of" in order.reason
