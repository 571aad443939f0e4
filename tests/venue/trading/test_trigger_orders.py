"""Conditional orders: triggers by last, mark and index; TP/SL from position; brackets; builder stops."""

from __future__ import annotations

import pytest

from tests.venue.floor import ADA, BOB, CYD, Floor, item
from toolkit.protocol.orders.items import OrderItem
from toolkit.protocol.orders.order_actions import OrderAction
from toolkit.venue.engine.commands import ActionContext, Refused, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.book import FEW
from toolkit.venue.risk import ledger
from toolkit.venue.trading.placing import place, place_bracket

BUILDER = "0x" + "bb" * 20


@pytest.fixture
def floor() -> Floor:
    """ADA is long 0.005 and BOB short 0.005, entered at 60,000; CYD bids and asks deep and far away."""
    floor = Floor()
    floor.order(BOB, "SELL 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.005 at 60000.0")
    floor.order(CYD, "BUY 1 at 55000.0")
    floor.order(CYD, "SELL 1 at 65000.0")
    return floor


# what a trigger is


@pytest.mark.parametrize(
    ("who", "text", "quiet", "loud"),
    [
        (ADA, "SELL 0 TP when 61000", "60999.9", "61000.0"),
        (ADA, "SELL 0 SL when 59000", "59000.1", "59000.0"),
        (BOB, "BUY 0 TP when 59000", "59000.1", "59000.0"),
        (BOB, "BUY 0 SL when 61000", "60999.9", "61000.0"),
    ],
)
@pytest.mark.parametrize("by", ["LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"])
def test_take_profit_and_stop_loss_trigger_on_their_side(
    floor: Floor, who: str, text: str, quiet: str, loud: str, by: str
) -> None:
    order = floor.order(who, f"{text} by {by} slip 0.05")
    floor.order(CYD, "BUY 0.010 at 58500.0")
    floor.order(CYD, "SELL 0.010 at 61500.0")
    move = floor.trade if by == "LAST_PRICE" else floor.mark
    move(quiet)
    assert floor.status(order.id) == "ORDER_STATUS_UNTRIGGERED"
    move(loud)
    assert floor.status(order.id) == "FILLED"
    assert floor.legs(who) == (0, 0)
    assert floor.statuses(order.id)[:2] == ["ORDER_STATUS_UNTRIGGERED", "NEW"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELL 0 TP when 60000", "a take profit that sells triggers at LAST_PRICE ≥ 60000, which is 60000.0"),
        ("SELL 0 SL when 60000", "a stop that sells triggers at LAST_PRICE ≤ 60000, which is 60000.0"),
    ],
)
def test_a_trigger_that_is_met_already_is_rejected(floor: Floor, text: str, words: str) -> None:
    assert words in floor.refused(ADA, text)


@pytest.mark.parametrize(
    ("who", "text", "words"),
    [
        (CYD, "SELL 0 TP when 61000", "there is no long position in BTCUSDC to reduce"),
        (ADA, "BUY 0 TP when 59000", "there is no short position in BTCUSDC to reduce"),
        (ADA, "SELL 0 TP", "TP/SL from position needs a triggerPx"),
        (
            ADA,
            "SELL 0.001 when 61000",
            "triggerPx and tpslTriggerType need reduceOnly TP_FROM_POSITION or SL_FROM_POSI",
        ),
        (ADA, "SELL 0 at 61000", "quantity 0 is not above 0. The nearest is 0.001"),
        (ADA, "SELL 0.001 STOP_MARKET when 59000", "ordType STOP_MARKET is for builder orders"),
        (ADA, "SELL 0 SL when 59000.05", "trigger price 59000.05 is not a multiple of tickSize 0.1"),
        (
            ADA,
            "SELL 0 SL when 59000 by OTHER",
            "tpslTriggerType 'OTHER' is not one of LAST_PRICE, MARK_PRICE, INDEX_PRICE",
        ),
    ],
)
def test_what_a_conditional_order_needs(floor: Floor, who: str, text: str, words: str) -> None:
    assert words in floor.refused(who, text)


# what happens then


def test_while_a_product_is_paused_its_triggers_wait(floor: Floor) -> None:
    order = floor.order(ADA, "SELL 0 SL when 59000 by MARK_PRICE")
    market = floor.core.state.markets[1]
    market.paused = True
    floor.mark("58900.0")
    assert floor.status(order.id) == "ORDER_STATUS_UNTRIGGERED"
    market.paused = False
    floor.core.run_hooks()
    assert floor.find(order.id).triggered


@pytest.mark.parametrize(("side", "trigger", "other"), [("BUY", 61_000, "SELL"), ("SELL", 59_000, "BUY")])
@pytest.mark.parametrize(("distance", "rests"), [(None, True), (1, True), (0, False), (-1, False)])
def test_post_only_rests_when_triggered_unless_an_offer_meets_it(
    side: str, trigger: int, other: str, distance: int | None, rests: bool
) -> None:
    """The other side of the book is empty, or its best price is so many ticks beyond the order's."""
    floor = Floor()
    made = item(f"{side} 0.002 at {trigger} POST_ONLY when {trigger}") | {"ordType": "STOP_LIMIT"}
    order = place(floor.core, context(floor, CYD, BUILDER), OrderItem.recall(made))
    if distance is not None:
        beyond = trigger * 10 + distance * (1 if side == "BUY" else -1)
        floor.order(BOB, f"{other} 0.002 at {floor.product.price_text(beyond)}")
    floor.mark(str(trigger))
    floor.core.state.markets[1].last = trigger * 10
    floor.core.run_hooks()
    assert floor.status(order.id) == ("NEW" if rests else "CANCELED")
    assert rests or order.reason == "POST_ONLY would match when triggered"


def test_a_waiting_trigger_goes_with_its_position(floor: Floor) -> None:
    waiting = floor.order(ADA, "SELL 0 SL when 59000")
    floor.order(CYD, "BUY 0.005 at 59900.0")
    floor.order(ADA, "SELL 0.005")
    assert floor.status(waiting.id) == "CANCELED"
    assert floor.find(waiting.id).reason == "the position it would reduce is gone"


@pytest.mark.parametrize("tif", ["IOC", "FOK"])
def test_a_market_exit_that_finds_nothing_stays_armed_until_somebody_buys(floor: Floor, tif: str) -> None:
    order = floor.order(ADA, f"SELL 0 SL when 59000 slip 0.005 {tif}")
    floor.trade("59000.0")
    assert floor.status(order.id) == "ORDER_STATUS_UNTRIGGERED"
    assert floor.legs(ADA) == (5, 0)
    assert "it has triggered" in floor.replace(ADA, order.id, "SELL 0 SL when 58000").message

    def tries() -> list[str]:
        events = floor.core.state.history.order_events.records
        return [event.reason for event in events if event.order_id == order.id]

    assert tries()[1] == "triggered"
    assert "58705.0 or better" in tries()[2]
    assert tries()[2].endswith("It stays armed and tries again at the next trade, price or offer within it")
    floor.core.run_hooks()
    assert len(tries()) == 3, "nothing has changed"
    floor.core = Core.load(floor.core.dump())
    floor.mark("58000.0")  # it triggers by last price, so its bound stays
    assert len(tries()) == 4
    floor.order(CYD, "BUY 0.004 at 58704.9")
    assert len(tries()) == 4, "nobody offers within its bound"
    floor.order(CYD, "BUY 0.002 at 59100.0")
    assert floor.find(order.id).filled == (2 if tif == "IOC" else 0)
    assert len(tries()) == (6 if tif == "IOC" else 5)
    floor.trade("59200.0")  # the bound rises with the last trade, to 58,904
    floor.order(CYD, "BUY 0.005 at 58903.9")
    assert floor.find(order.id).filled == (2 if tif == "IOC" else 0)
    floor.order(CYD, "BUY 0.005 at 58904.0")
    assert (floor.status(order.id), floor.legs(ADA)) == ("FILLED", (0, 0))


def test_an_exit_whose_offer_was_gone_before_its_turn_keeps_trying(floor: Floor) -> None:
    floor.order(CYD, "SELL 0.008 at 60100.0")
    floor.order(BOB, "BUY 0.008")
    first, second = (floor.order(who, "SELL 0 SL when 59000 slip 0.005") for who in (ADA, BOB))
    floor.trade("59000.0")
    own = floor.order(ADA, "BUY 0.001 at 59100.0")  # within the bound of both, but no offer to her own exit
    assert (floor.status(own.id), floor.find(second.id).filled) == ("FILLED", 1)
    floor.order(CYD, "BUY 0.009 at 58900.0")
    assert [floor.status(each.id) for each in (first, second)] == ["FILLED", "FILLED"]


@pytest.mark.parametrize("hedged", [False, True])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("bracketed", [False, True])
def test_an_exit_of_the_whole_position_closes_what_it_then_is_at_every_try(
    hedged: bool, side: int, bracketed: bool
) -> None:
    floor = Floor(*((ADA,) if hedged else ()))
    opens, closes = ("BUY", "SELL") if side > 0 else ("SELL", "BUY")
    exits = f"{closes}_CLOSE_HEDGE" if hedged else closes

    def trade(quantity: str) -> None:
        floor.order(CYD, f"{closes} {quantity} at 60000.0")
        floor.order(ADA, f"{opens} {quantity} at 60000.0")

    trade("1")
    stop = f"{exits} 0 SL when {60_000 - side * 600} by MARK_PRICE slip 0.005"
    if bracketed:
        floor.order(CYD, f"{closes} 0.1 at 60000.0")
        exit_id = floor.ids(floor.bracket(ADA, f"{opens} 0.1 at 60000.0", stop))[1]
    else:
        trade("0.1")
        exit_id = floor.order(ADA, stop).id
    first, second, last = (str(60_000 - side * off) for off in (700, 701, 702))
    floor.order(CYD, f"{opens} 0.4 at {first}")
    floor.mark(first)
    assert floor.find(exit_id).filled == 400
    # the position grows while the exit waits for somebody
    floor.order(CYD, f"{closes} 0.2 at {60_000 - side * 500}")
    floor.order(ADA, f"{opens} 0.2 at {60_000 - side * 500}")
    floor.order(CYD, f"{opens} 0.3 at {second}")
    assert (floor.find(exit_id).filled, max(floor.legs(ADA))) == (700, 600)
    floor.order(CYD, f"{opens} 2 at {last}")
    done = floor.find(exit_id)
    assert (floor.legs(ADA), done.filled, done.quantity, floor.status(exit_id)) == ((0, 0), 1_300, 1_300, "FILLED")


def test_an_exit_that_tries_again_can_be_cancelled_and_goes_with_its_position(floor: Floor) -> None:
    first, second = (floor.order(ADA, f"SELL 0.003 SL when {price} slip 0.005") for price in (59_000, 59_001))
    floor.trade("59000.0")
    floor.cancel(ADA, {"ordId": first.id})
    assert floor.status(first.id) == "CANCELED"
    floor.order(CYD, "BUY 0.005 at 57500")
    floor.order(ADA, "SELL 0.005 at 57100")
    assert (floor.status(second.id), floor.legs(ADA)) == ("CANCELED", (0, 0))


@pytest.mark.parametrize("by", ["MARK_PRICE", "INDEX_PRICE"])
def test_the_bound_of_a_triggered_exit_is_the_further_of_trigger_and_last_price(floor: Floor, by: str) -> None:
    order = floor.order(ADA, f"SELL 0 SL when 59000 by {by} slip 0.01")
    floor.mark("52000.0")
    assert (floor.status(order.id), order.value) == ("FILLED", 5 * 55_000_000)


def test_triggers_of_the_same_instant_go_by_age_and_may_set_off_others(floor: Floor) -> None:
    second = floor.order(ADA, "SELL 0.003 SL when 59000 slip 0.05")
    third = floor.order(ADA, "SELL 0.002 SL when 58000 slip 0.05")
    floor.order(CYD, "BUY 0.003 at 57950.0")
    floor.order(CYD, "BUY 0.010 at 57900.0")
    floor.trade("59000.0")
    assert (second.filled, third.filled) == (3, 2), "the first one's fill at 57,950 set off the second"
    prices = [trade.price for trade in floor.core.state.history.trades[1]][-2:]
    assert prices == [579_500, 579_000]


@pytest.mark.parametrize("trigger", ["when 61000", "", "when 70000 by MARK_PRICE"])
def test_one_that_has_triggered_is_replaced_whatever_is_said_of_its_trigger(floor: Floor, trigger: str) -> None:
    order = floor.order(ADA, "SELL 0 at 61500.0 TP when 61000")
    floor.trade("61000.0")
    assert floor.replace(ADA, order.id, f"SELL 0.004 at 61400.0 TP {trigger}").code == 0
    assert (order.price, order.leaves, order.trigger, order.trigger_by) == (614_000, 4, 610_000, 1)


def test_one_that_has_triggered_can_not_be_replaced_by_a_post_only_that_takes(floor: Floor) -> None:
    order = floor.order(ADA, "SELL 0 at 61500.0 TP when 61000")
    floor.trade("61000.0")
    floor.order(CYD, "BUY 0.001 at 60900.0")
    answer = floor.replace(ADA, order.id, "SELL 0.005 at 60900.0 TP when 70000 POST_ONLY")
    assert "POST_ONLY at 60900.0 would match the best bid 60900.0" in answer.message
    assert (order.filled, order.price) == (0, 615_000)


def test_triggers_that_were_cancelled_or_moved_do_not_pile_up(floor: Floor) -> None:
    waiting = floor.order(ADA, "SELL 0 SL when 59000 slip 0.05")
    other = floor.order(BOB, "BUY 0 TP when 58000 slip 0.05")
    core, triggers = floor.core, floor.core.triggers[1]
    for round in range(3 * FEW):
        command = {"type": "replaceOrder", **item(f"SELL 0 SL when {58_000 + round % 2}", "reduceOnly")}
        core.apply(Submit(core.state.time, command | {"ordId": waiting.id}, ADA, 10_000 + round))
        assert triggers.entries <= FEW + 10
    floor.order(CYD, "BUY 0.010 at 57900.0")
    floor.trade("58001.0")
    assert (waiting.filled, other.filled) == (5, 0)


@pytest.mark.parametrize(("low", "loud"), [("59000", True), ("59000.1", False)])
def test_a_trade_in_the_middle_of_a_request_triggers(floor: Floor, low: str, loud: bool) -> None:
    stop = floor.order(ADA, "SELL 0 SL when 59000 slip 0.05")
    floor.order(CYD, f"BUY 0.001 at {low}")
    floor.order(CYD, "SELL 0.001 at 60100")
    orders = [item(f"SELL 0.001 at {low}"), item("BUY 0.001 at 60100")]
    assert floor.act(BOB, {"type": "placeOrder", "orders": orders}).code == 0
    trades = [trade.price for trade in floor.core.state.history.trades[1]]
    assert trades[1:3] == [floor.product.ticks(low), 601_000]
    assert stop.triggered == loud


# brackets


def bracket(floor: Floor, *texts: str) -> tuple[int, ...]:
    answer = floor.bracket(CYD, *texts)
    assert answer.code == 0, answer.message
    return tuple(floor.ids(answer))


MAIN = "BUY 0.010 at 59900.0"
TAKE = "SELL 0.010 TP when 61000 slip 0.05"
STOP = "SELL 0.010 SL when 59000 slip 0.05"


def test_a_part_that_filled_is_what_the_children_close_and_the_rest_of_the_main_order_goes(floor: Floor) -> None:
    main, take, stop = bracket(floor, MAIN, TAKE, STOP)
    floor.order(BOB, "SELL 0.004 at 59900.0")
    assert floor.find(stop).armed
    floor.order(ADA, "BUY 0.050 at 58900.0")
    floor.core.state.markets[1].last = 590_000
    floor.core.run_hooks()
    assert (floor.find(stop).filled, floor.status(main), floor.status(take)) == (4, "CANCELED", "CANCELED")
    assert floor.legs(CYD) == (0, 0)


@pytest.mark.parametrize(("loud", "which"), [("61000.0", 1), ("59000.0", 2)])
def test_one_cancels_the_other(floor: Floor, loud: str, which: int) -> None:
    ids = bracket(floor, "BUY 0.010 at 60000.0", TAKE, STOP)
    floor.order(BOB, "SELL 0.010 at 60000.0")
    floor.order(ADA, "BUY 0.010 at 58500.0")
    floor.order(BOB, "BUY 0.010 at 60900.0")
    floor.core.state.markets[1].last = floor.product.ticks(loud)
    floor.core.run_hooks()
    assert floor.status(ids[which]) == "FILLED"
    other = floor.find(ids[3 - which])
    assert (floor.status(other.id), other.reason) == (
        "CANCELED",
        f"one cancels the other: order {ids[which]} was filled",
    )
    assert floor.legs(CYD) == (0, 0)


def test_children_go_with_a_main_order_that_is_cancelled_unfilled(floor: Floor) -> None:
    main, take, stop = bracket(floor, MAIN, TAKE, STOP)
    floor.cancel(CYD, {"ordId": main})
    assert [floor.status(each) for each in (main, take, stop)] == ["CANCELED"] * 3
    assert floor.find(take).reason == "its main order was cancelled unfilled"


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (
            (MAIN, TAKE, "SELL 0.010 SL when 59900.05"),
            "orders[2]: trigger price 59900.05 is not a multiple of tickSize",
        ),
        ((MAIN, "BUY 0.010 TP when 59000"), "orders[1]: take profit and stop loss must be on the other side"),
        ((MAIN, "SELL 0.011 TP when 61000"), "orders[1]: take profit and stop loss may not be larger than the main"),
        ((MAIN, TAKE, TAKE), "a bracket has at most one take profit and one stop loss"),
        ((MAIN, "SELL 0.010 at 61000 REDUCE_ONLY"), "need reduceOnly TP_FROM_POSITION or SL_FROM_POSITION"),
        ((MAIN, "SELL 0.010 TP when 59900"), "triggers at the main order's price ≥ 59900, which is 59900.0"),
        ((MAIN, "SELL 0.010 SL when 60000"), "triggers at the main order's price ≤ 60000, which is 59900.0"),
        (("SELL 0 SL when 59000", TAKE), "the main order of a bracket may not be reduce-only or close a position"),
        ((f"{MAIN} id 5", f"{TAKE} id 5"), "each order of a bracket needs another clOrdId"),
        (("BUY 900 at 59900.0", TAKE), "orders[0]: "),
        ((MAIN, "SELL_CLOSE_HEDGE 0.010 TP when 61000"), "needs hedge mode"),
    ],
)
def test_a_bracket_is_all_or_nothing(floor: Floor, texts: tuple[str, ...], words: str) -> None:
    ledger.withdraw(floor.core, floor.account(CYD), floor.account(CYD).balance - 10**10)
    before = dict(floor.account(CYD).orders)
    answer = floor.bracket(CYD, *texts)
    assert answer.code == 40230
    assert words in answer.message
    assert answer.message.endswith(". Nothing of the bracket was placed")
    assert floor.account(CYD).orders == before
    rejected = [floor.find(floor.core.state.last_order - back) for back in range(len(texts))]
    assert all(order.status == 6 for order in rejected)


def test_a_single_tp_may_hang_on_an_open_order_by_parent_id(floor: Floor) -> None:
    main = floor.order(CYD, "BUY 0.010 at 59900.0")
    take = floor.order(CYD, f"SELL 0.010 TP when 61000 parent {main.id}")
    assert not take.armed
    assert "at most one take profit" in floor.refused(CYD, f"SELL 0.010 TP when 61500 parent {main.id}")
    floor.order(BOB, "SELL 0.004 at 59900.0")
    assert (take.armed, take.cover) == (True, 4)
    floor.cancel(CYD, {"ordId": main.id})
    assert floor.status(take.id) == "ORDER_STATUS_UNTRIGGERED"


def test_an_exit_that_joins_is_held_against_its_main_order_not_against_what_joined_before(floor: Floor) -> None:
    main, _ = bracket(floor, MAIN, STOP)
    assert floor.replace(CYD, main, MAIN.replace("0.010", "0.005")).code == 0
    assert "larger than the main order" in floor.refused(CYD, f"SELL 0.006 TP when 61000 parent {main}")
    assert floor.order(CYD, f"SELL 0.005 TP when 61000 parent {main}").group == main


FAR = "BUY 0.010 at 50000.0"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELL 0 TP when 55000", ""),
        ("SELL 0 SL when 49000", ""),
        (
            "SELL 0 TP when 50000",
            "already reached: a take profit that sells triggers at the main order's price ≥ 50000",
        ),
        ("SELL 0 SL when 55000", "is already reached: a stop that sells triggers at the main order's price ≤ 55000"),
    ],
)
def test_triggers_are_held_against_the_price_of_the_main_order_they_wait_for(
    floor: Floor, text: str, words: str
) -> None:
    hung = floor.order(CYD, FAR)
    answer = floor.place(CYD, f"{text} parent {hung.id}")
    assert (answer.code, words in answer.message) == (40230 if words else 0, True)
    ids = dict(
        zip(("main", "TP", "SL"), bracket(floor, FAR, "SELL 0 TP when 56000", "SELL 0 SL when 48000"), strict=True)
    )
    answer = floor.replace(CYD, ids[text.split()[2]], text)
    assert (answer.code, words in answer.message) == (40230 if words else 0, True)


def test_an_armed_exit_is_held_against_the_present_price_when_it_is_replaced(floor: Floor) -> None:
    _, take, _ = bracket(floor, MAIN, TAKE, STOP)
    floor.order(BOB, "SELL 0.004 at 59900.0")
    words = "is already reached: a take profit that sells triggers at LAST_PRICE ≥ 59900, which is 59900.0"
    assert words in floor.replace(CYD, take, "SELL 0.010 TP when 59900").message


def test_a_replaced_exit_of_a_part_keeps_the_smallest_value(floor: Floor) -> None:
    order = floor.order(ADA, "SELL 0.002 SL when 6100")
    answer = floor.replace(ADA, order.id, "SELL 0.001 SL when 6100")
    assert answer.code == 40230, answer
    assert "order value 6.1 (0.001 at 6100.0) is below minOrderValue 10" in answer.message
    assert (order.quantity, order.trigger) == (2, 61_000)


# builder types


def context(floor: Floor, who: str, builder: str | None = None, rate: int = 0) -> ActionContext:
    now = floor.core.state.time
    return ActionContext(floor.account(who), who, 0, now, "0x", builder=builder, builder_rate=rate)


@pytest.mark.parametrize(
    ("text", "loud"),
    [
        ("BUY 0.002 at 61500.0 STOP_LIMIT when 61000", "61000.0"),
        ("SELL 0.002 at 58500.0 STOP_LIMIT when 59000", "59000.0"),
        ("BUY 0.002 GTC STOP_MARKET when 61000", "61000.0"),
        ("BUY 0.002 at 59000.0 TAKE_PROFIT_LIMIT when 59000", "59000.0"),
        ("SELL 0.002 TAKE_PROFIT_MARKET when 61000", "61000.0"),
    ],
)
def test_builder_stops_open_positions_when_triggered(floor: Floor, text: str, loud: str) -> None:
    words = text.split()
    made = item(text)
    made["ordType"] = next(word for word in words if "STOP" in word or "TAKE" in word)
    floor.core.account("0x" + "bb" * 20)
    order = place(floor.core, context(floor, CYD, BUILDER, 100_000), OrderItem.recall(made))
    assert floor.status(order.id) == "ORDER_STATUS_UNTRIGGERED"
    floor.order(ADA, "SELL 0.003 at 61001.0")
    floor.order(ADA, "BUY 0.003 at 59500.0")
    floor.core.state.markets[1].last = floor.product.ticks(loud)
    floor.core.run_hooks()
    assert floor.find(order.id).triggered
    if "TAKE_PROFIT_LIMIT" not in text:
        assert order.filled == 2
        assert order.builder_fee == order.value // 1_000


def test_a_builder_stop_that_does_not_fit_when_triggered_is_cancelled_with_the_reason(floor: Floor) -> None:
    made = item("BUY 20 GTC when 61000") | {"ordType": "STOP_MARKET"}
    ledger.withdraw(floor.core, floor.account(CYD), floor.account(CYD).balance - 10**9)
    order = place(floor.core, context(floor, CYD, BUILDER), OrderItem.recall(made))
    assert floor.status(order.id) == "ORDER_STATUS_UNTRIGGERED", "a waiting trigger holds no margin"
    floor.core.state.markets[1].last = 610_000
    floor.core.run_hooks()
    assert floor.status(order.id) == "CANCELED"
    assert order.reason.startswith("triggered, but margin: ")


@pytest.mark.parametrize(("exit", "met"), [("TP when 61500", False), ("SL when 60500", False), ("TP when 60500", True)])
@pytest.mark.parametrize("way", ["together", "later", "replaced"])
def test_the_exit_of_a_stop_market_order_is_held_against_its_trigger(
    floor: Floor, exit: str, met: bool, way: str
) -> None:
    main = item("BUY 0.002 GTC when 61000", "reduceOnly") | {"ordType": "STOP_MARKET"}
    first = exit if way == "together" else f"{exit[:2]} when {65_000 if exit[0] == 'T' else 57_000}"
    items = [main, *([item(f"SELL 0.002 {first}", "reduceOnly")] if way != "later" else [])]
    words = "is already reached: a take profit that sells triggers at the main order's price" if met else ""
    if way == "together" and met:
        with pytest.raises(Refused, match=words):
            place_bracket(
                floor.core,
                context(floor, CYD, BUILDER),
                OrderAction.recall({"type": "placeBracketOrder", "orders": items}),
            )
        return
    ids = Floor.ids(
        place_bracket(
            floor.core, context(floor, CYD, BUILDER), OrderAction.recall({"type": "placeBracketOrder", "orders": items})
        )
    )
    if way == "later":
        answer = floor.place(CYD, f"SELL 0.002 {exit} parent {ids[0]}")
        assert (answer.code, words in answer.message) == (40230 if met else 0, True)
    elif way == "replaced":
        answer = floor.replace(CYD, ids[1], f"SELL 0.002 {exit}")
        assert (answer.code, words in answer.message) == (40230 if met else 0, True)


@pytest.mark.parametrize(("quantity", "accepted"), [("0.002", True), ("0", True), ("0.001", False)])
def test_an_exit_of_a_part_of_its_main_order_has_the_smallest_value(
    floor: Floor, quantity: str, accepted: bool
) -> None:
    answer = floor.bracket(CYD, "BUY 0.002 at 6000.0", f"SELL {quantity} SL when 4500")
    assert (answer.code == 0) is accepted
    assert accepted or "order value 4.5 (0.001 at 4500.0) is below minOrderValue 10" in answer.message


def test_a_stop_type_contradicting_its_option_is_refused(floor: Floor) -> None:
    made = item("SELL 0 SL when 61000") | {"ordType": "TAKE_PROFIT_MARKET"}
    with pytest.raises(Refused, match="ordType TAKE_PROFIT_MARKET contradicts SL_FROM_POSITION"):
        place(floor.core, context(floor, ADA, BUILDER), OrderItem.recall(made))


@pytest.mark.parametrize(("trigger", "met"), [("55000", True), ("61000", False)])
def test_an_opening_stop_is_held_against_the_present_price_whatever_order_it_names(
    floor: Floor, trigger: str, met: bool
) -> None:
    main = floor.order(CYD, FAR)
    made = item(f"BUY 0.002 GTC when {trigger} parent {main.id}") | {"ordType": "STOP_MARKET"}
    if met:
        with pytest.raises(Refused, match="triggers at LAST_PRICE ≥ 55000, which is 60000"):
            place(floor.core, context(floor, CYD, BUILDER), OrderItem.recall(made))
    else:
        order = place(floor.core, context(floor, CYD, BUILDER), OrderItem.recall(made))
        assert (order.armed, order.group) == (True, 0)


def test_exits_of_a_main_order_that_only_reduced_go_with_it(floor: Floor) -> None:
    floor.order(BOB, "BUY 0.010 at 59900.0")
    floor.order(CYD, "SELL 0.010 at 59900.0")
    main, take = bracket(floor, MAIN, TAKE)
    floor.order(BOB, "SELL 0.010 at 59900.0")
    assert (floor.status(main), floor.status(take)) == ("FILLED", "CANCELED")
    assert floor.find(take).reason == "its main order ended without a position to protect"


@pytest.mark.parametrize(
    ("side", "other", "exit"), [("BUY", "SELL", "SL when 55000"), ("SELL", "BUY", "SL when 65000")]
)
def test_an_exit_that_joins_a_partly_filled_order_is_armed_for_what_that_still_holds(
    floor: Floor, side: str, other: str, exit: str
) -> None:
    main = floor.order(CYD, f"{side} 0.010 at 60000.0")
    floor.order(BOB, f"{other} 0.004 at 60000.0")
    order = floor.order(CYD, f"{other} 0.010 {exit} parent {main.id}")
    assert (order.armed, order.cover, order.group, order.parent) == (True, 4, main.id, main.id)
    floor.order(BOB, f"{other} 0.006 at 60000.0")
    assert (floor.status(main.id), order.armed, order.cover) == ("FILLED", True, 10)
