"""What the blotter and the chart would sign, whole: question, button and request, on both sides and in both modes.

BTCUSDC has a mark price of 60,000, bids at 59,990 and asks at 60,010.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import toolkit
from tests.widgets.conftest import passes
from tests.widgets.page import press
from toolkit.errors import CheckFailed, InputError, LimitReached
from toolkit.session import Session
from toolkit.widgets import Blotter, Candles, OrderBook
from toolkit.widgets.base_panel.panel import REFRESHER
from toolkit.widgets.base_panel.review import order_row
from toolkit.widgets.panels.header import Header

BTC, ETH = "BTCUSDC", "ETHUSDC"


@pytest.fixture
def thin(thin: Session) -> Session:
    """The session after its prices have come."""
    passes(thin, "3s")
    return thin


def asked(panel: Any, prepared: Any) -> tuple[str, str, dict[str, Any]]:
    """The question and the button of a review, and its only order or its request."""
    assert panel.phase == "review"
    assert prepared is panel.review
    review = panel.view["review"]
    payload = dict(prepared.payload)
    assert json.loads(review["action"]) == payload
    orders = payload.get("orders")
    return review["question"], review["verb"], orders[0] if orders else payload


def hold(session: Session, side: str, mode: str = "ONE_WAY") -> None:
    assert session.venue is not None
    if mode == "HEDGE":
        session.venue.control.set_position_mode(str(session.account), "HEDGE")
    (session.buy if side == "BUY" else session.sell)(BTC, "0.5")


SIDES = pytest.mark.parametrize(("side", "closing", "sign"), [("BUY", "SELL", "−"), ("SELL", "BUY", "")])
MODES = pytest.mark.parametrize("mode", ["ONE_WAY", "HEDGE"])


@SIDES
@MODES
def test_a_part_of_a_position_is_closed_at_market(thin: Session, side: str, closing: str, sign: str, mode: str) -> None:
    hold(thin, side, mode)
    blotter = Blotter(thin)
    for given, quantity in (({"share": 50}, "0.250"), ({"share": 33}, "0.165"), ({"quantity": "0.5"}, "0.5")):
        question, verb, order = asked(blotter, blotter.reduce(BTC, **given))
        assert (question, verb) == (f"Close {quantity} of the 0.5 BTCUSDC", "close")
        assert order["ordSide"] == (f"{closing}_CLOSE_HEDGE" if mode == "HEDGE" else closing)
        assert (Decimal(order["ordQty"]), order["ordType"], order["timeInForce"]) == (
            Decimal(quantity), "MARKET", "IOC",
        )  # fmt: skip
        assert order.get("reduceOnlyOption", order.get("reduceOnly", "NONE")) == (
            "NONE" if mode == "HEDGE" else "REDUCE_ONLY"
        )


def test_a_part_is_above_0_and_at_most_the_position(thin: Session) -> None:
    hold(thin, "SELL")
    blotter = Blotter(thin)
    assert blotter.reduce(BTC, 100).payload["orders"][0]["ordQty"] == "0.500"
    assert blotter.reduce(BTC, 1).payload["orders"][0]["ordQty"] == "0.005"
    for share in (None, 0, 101):
        with pytest.raises(InputError, match=f"^share {share} must be 1 to 100 percent$") as raised:
            blotter.reduce(BTC, share)
        assert (raised.value.field, raised.value.value) == ("share", share)
        assert blotter.phase == "edit", "the review before is over"
    for quantity in ("0", "0.501"):
        words = f"^quantity {quantity} must be above 0 and at most the position's 0.5$"
        with pytest.raises(InputError, match=words) as raised:
            blotter.reduce(BTC, quantity=quantity)
        assert (raised.value.field, raised.value.nearest) == ("quantity", ("0.5",))
    with pytest.raises(InputError, match=r"^there is no position in ETHUSDC$"):
        blotter.reduce(ETH, 50)


@SIDES
def test_a_position_is_reversed_by_twice_its_size(thin: Session, side: str, closing: str, sign: str) -> None:
    hold(thin, side)
    blotter = Blotter(thin)
    question, verb, order = asked(blotter, blotter.reverse(BTC))
    other = "−" if not sign else ""
    assert (question, verb) == (f"Reverse the BTCUSDC position: {other}0.5 → {sign}0.5", "reverse")
    assert (order["ordSide"], Decimal(order["ordQty"]), order["timeInForce"]) == (closing, Decimal(1), "IOC")
    blotter.confirm()
    assert blotter.view["positions"][0]["size"] == f"{sign}0.5"
    assert blotter.notice == "reverse: accepted"


def test_a_hedged_position_is_not_reversed_and_two_legs_have_no_part(thin: Session) -> None:
    hold(thin, "BUY", "HEDGE")
    blotter = Blotter(thin)
    with pytest.raises(InputError, match=r"^BTCUSDC is in hedge mode: close the position and open the other leg$"):
        blotter.reverse(BTC)
    thin.sell(BTC, "0.2")
    blotter.refresh()
    with pytest.raises(InputError, match=r"^there is a long and a short position in BTCUSDC$"):
        blotter.reduce(BTC, 50)
    row = blotter.view["positions"][0]
    assert (row["side"], row["size"], row["one"]) == ("▲ long", "0.5 / −0.2", False)
    orders = blotter.close_all().payload["orders"]
    assert [(one["ordSide"], Decimal(one["ordQty"])) for one in orders] == [
        ("SELL_CLOSE_HEDGE", Decimal("0.5")), ("BUY_CLOSE_HEDGE", Decimal("0.2")),
    ]  # fmt: skip
    assert blotter.view["review"]["question"] == "Close all positions at market: 0.5 BTCUSDC, −0.2 BTCUSDC"
    thin.sell(BTC, "0.3")
    blotter.refresh()
    assert blotter.view["positions"][0]["side"] == "▲▼ hedged"


@SIDES
@MODES
def test_an_exit_is_placed_moved_and_cancelled(thin: Session, side: str, closing: str, sign: str, mode: str) -> None:
    hold(thin, side, mode)
    blotter = Blotter(thin)
    gain, more = ("65000", "66000") if side == "BUY" else ("55000", "54000")
    question, verb, order = asked(blotter, blotter.set_exit(BTC, "take_profit", gain))
    whole = closing + "_CLOSE_HEDGE" * (mode == "HEDGE")
    assert question == (
        f"Place {whole} all of BTCUSDC at market when mark reaches {gain} as take-profit of the position"
    )
    assert (verb, order["ordSide"], order["triggerPx"]) == ("place", whole, gain)
    assert order["reduceOnlyOption"] == "TP_FROM_POSITION"
    with pytest.raises(InputError, match=r"^give the trigger price of the stop loss$"):
        blotter.set_exit(BTC, "stop_loss", "")
    blotter.set_exit(BTC, "take_profit", gain)
    blotter.confirm()
    assert blotter.notice == "place: accepted"
    [row] = blotter.view["orders"]
    question, verb, payload = asked(blotter, blotter.set_exit(BTC, "take_profit", more))
    assert question.startswith(f"Change order {row['id']}, {whole} 0 BTCUSDC: trigger price {gain}")
    assert question.endswith(f" → {more}")
    assert (verb, payload["type"], payload["triggerPx"]) == ("change", "replaceOrder", more)
    question, verb, payload = asked(blotter, blotter.set_exit(BTC, "take_profit", ""))
    assert question.startswith(f"Cancel the take profit of BTCUSDC at {gain}")
    assert (verb, payload) == (
        "cancel", {"type": "cancelOrder", "cancels": [{"symbolCode": "1", "ordId": row["id"]}]},
    )  # fmt: skip
    blotter.confirm()
    assert blotter.view["orders"] == []


@pytest.mark.parametrize(
    ("side", "kind", "where"),
    [("BUY", "take_profit", "above"), ("BUY", "stop_loss", "below"), ("SELL", "take_profit", "below"),
     ("SELL", "stop_loss", "above")],
)  # fmt: skip
def test_an_exit_on_the_wrong_side_of_the_mark_price_is_refused(
    thin: Session, side: str, kind: str, where: str
) -> None:
    hold(thin, side)
    blotter = Blotter(thin)
    price = "59000" if where == "above" else "61000"
    words = f"^a {kind.replace('_', ' ')} at {price} would trigger immediately: it must be {where} the mark price 60000"
    with pytest.raises(InputError, match=words) as raised:
        blotter.set_exit(BTC, kind, price)
    assert (raised.value.field, raised.value.rule, raised.value.value) == (kind, "trigger", price)
    with pytest.raises(InputError, match=r"^kind 'exit' is not known$") as raised:
        blotter.set_exit(BTC, "exit", price)
    assert raised.value.nearest == ("take_profit", "stop_loss")


def test_an_order_is_amended_in_price_and_quantity(thin: Session) -> None:
    order: Any = thin.buy(BTC, "0.5", price="59000", tif="POST_ONLY")
    blotter = Blotter(thin)
    question, verb, payload = asked(blotter, blotter.amend(order.order_id, price="59500", quantity="0.4"))
    assert question == (f"Change order {order.order_id}, BUY 0.4 BTCUSDC: price 59000.0 → 59500, quantity 0.500 → 0.4")
    assert (verb, payload["ordPx"], payload["ordQty"], payload["ordId"], payload["timeInForce"]) == (
        "change", "59500", "0.4", int(order.order_id), "POST_ONLY",
    )  # fmt: skip
    assert blotter.amend(order.order_id, quantity="0.3").payload["ordPx"] == "59000.0"
    with pytest.raises(InputError, match=r"^give a new price or a new quantity$"):
        blotter.amend(order.order_id)
    with pytest.raises(CheckFailed, match="tickSize"):
        blotter.amend(order.order_id, price="59000.05")
    with pytest.raises(InputError, match=r"^there is no open order 999$") as raised:
        blotter.amend(999, price="1")
    assert (raised.value.field, raised.value.rule, raised.value.value) == ("order_id", "open order", "999")
    thin.cancel(order)
    with pytest.raises(InputError, match=f"^there is no open order {order.order_id}$"):
        blotter.amend(order.order_id, price="59500")
    rows: list[dict[str, Any]] = [{"order_id": 7, "at": 1}, {"order_id": "8", "at": 2}]
    assert [order_row(rows, one)["at"] for one in ("7", 8)] == [1, 2]
    assert blotter.phase == "edit"


def test_a_request_is_reviewed_until_2_s_before_it_expires(thin: Session) -> None:
    venue: Any = thin.venue
    order: Any = thin.buy(BTC, "0.5", price="59000")
    blotter = Blotter(thin)
    prepared = blotter.amend(order.order_id, price="59500")
    review = blotter.view["review"]
    assert review["token"] == 1
    assert (review["signer"], review["nonce"], review["expiry"], review["symbol"], review["real"]) == (
        prepared.signer, str(prepared.nonce), str(prepared.expiry_after), BTC, False,
    )  # fmt: skip
    explained = prepared.explain()
    assert explained.connection_id is not None
    assert explained.proto is not None
    for name, part in (
        ("digest", explained.digest), ("connectionId", explained.connection_id), ("proto", explained.proto)
    ):  # fmt: skip
        assert review[name] == "0x" + part.hex()
    assert json.loads(review["typedData"])["primaryType"] == explained.typed_data["primaryType"]
    assert prepared.expiry_after is not None
    left_ms = prepared.expiry_after - thin._runtime.now()
    venue.advance(f"{left_ms - 2_000}ms")
    blotter.refresh()
    assert blotter.phase == "review"
    venue.advance("1ms")
    with pytest.raises(LimitReached, match=r"the review has expired, nothing was signed. Call submit\(\) again"):
        blotter.confirm()
    assert blotter.phase == "edit"
    blotter.amend(order.order_id, price="59500")
    venue.advance(f"{left_ms - 1_999}ms")
    blotter.refresh()
    assert (blotter.phase, blotter.view["review"]) == ("edit", None)
    assert blotter.problem == "the review has expired, nothing was signed. Review the order again"
    blotter.amend(order.order_id, price="59500")
    assert blotter.view["review"]["token"] == 3
    assert blotter.problem == ""
    REFRESHER.remove(blotter)
    blotter.back()
    assert (blotter.review, blotter.phase, blotter.view["review"]) == (None, "edit", None)
    with pytest.raises(LimitReached, match=r"nothing is under review, so nothing was signed. Call submit\(\) first"):
        blotter.confirm()


def test_a_press_confirms_the_review_that_it_was_shown_for_and_not_that_of_a_locked_panel(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: Any = thin.buy(BTC, "0.5", price="59000")
    blotter = Blotter(thin)
    REFRESHER.remove(blotter)

    def pressed(token: int) -> tuple[str, str]:
        press(blotter, "confirm", token=token)
        [price] = thin.orders(open=True, exact=True)["price"]
        return blotter.phase, str(price)

    blotter.amend(order.order_id, price="59500")
    token = blotter.view["review"]["token"]
    blotter.amend(order.order_id, price="59600")
    assert pressed(token) == ("review", "59000.0"), "that review was replaced"
    with monkeypatch.context() as patch:
        patch.setattr(type(blotter._watch), "_age_ms", lambda _: 2_000)
        assert pressed(token + 1) == ("edit", "59000.0")
    assert blotter.problem.startswith("nothing was signed, because the panel is locked: nothing has come")
    blotter.amend(order.order_id, price="59700")
    assert pressed(token + 2) == ("edit", "59700.0")


LOCKED: dict[str, Callable[[Any, Any], Any]] = {
    "place": lambda panel, _: panel.place("59000", "0.1"),
    "move": lambda panel, order: panel.move(order, "59500"),
    "exit_at": lambda panel, _: panel.exit_at("65000"),
    "amend": lambda panel, order: panel.amend(order, price="59500"),
    "reduce": lambda panel, _: panel.reduce(BTC, 50),
    "reverse": lambda panel, _: panel.reverse(BTC),
    "close_all": lambda panel, _: panel.close_all(),
}


@pytest.mark.parametrize("request_of", LOCKED)
def test_a_request_of_a_locked_panel_ends_the_review_before_it_and_begins_none(
    thin: Session, monkeypatch: pytest.MonkeyPatch, request_of: str
) -> None:
    hold(thin, "BUY")
    order: Any = thin.buy(BTC, "0.5", price="59000")
    panel = (Candles(thin, BTC) if request_of in ("place", "move", "exit_at") else Blotter(thin))  # fmt: skip
    REFRESHER.remove(panel)
    LOCKED[request_of](panel, order.order_id)
    assert panel.phase == "review"
    monkeypatch.setattr(type(panel._watch), "_age_ms", lambda _: 2_000)
    with pytest.raises(LimitReached, match="nothing was signed, because the panel is locked"):
        LOCKED[request_of](panel, order.order_id)
    assert (panel.phase, panel.review) == ("edit", None)


def test_the_blotter_limited_to_a_product_acts_on_it_only(thin: Session) -> None:
    hold(thin, "BUY")
    thin.sell(ETH, "2")
    for symbol, price in ((BTC, "59000"), (ETH, "2900")):
        thin.buy(symbol, "0.5", price=price)
    blotter = Blotter(thin, ETH)
    assert (blotter.view["symbol"], [one["symbol"] for one in blotter.view["orders"]]) == (ETH, [ETH])
    assert blotter.close_all().payload["orders"][0]["symbolCode"] in (2, "2")
    [receipt] = blotter.cancel_all()
    assert receipt.action == "cancelAll"
    assert blotter.notice == "cancelled all orders"
    assert thin.orders(open=True)["symbol"].tolist() == [BTC]
    assert list(blotter._lines()) == ["ETHUSDC: −2 ETHUSDC, 0 open orders"]
    assert list(Blotter(thin)._lines()) == ["all products: 0.5 BTCUSDC, −2 ETHUSDC, 1 open order"]
    thin.place(toolkit.orders.stop(ETH, "BUY", "3300"))
    thin.buy(ETH, "0.5", price="2900")
    assert [one.action for one in blotter.cancel_all()] == ["cancelAll"] * 2, "waiting and resting orders apart"
    assert list(Blotter(thin, "SOLUSDC")._lines()) == ["SOLUSDC: no positions, 0 open orders"]
    with pytest.raises(InputError, match="no position to close"):
        Blotter(thin, "SOLUSDC").close_all()
    [closed] = blotter.close_position(ETH, "−2")
    assert (closed.action, blotter.notice) == ("placeOrder", "closed 2 ETHUSDC")


# the chart, the book and the header


@pytest.mark.parametrize(
    ("price", "side", "at"),
    [("60009.94", "BUY", "60009.9"), ("60010", "SELL", "60010.0"), ("60010.06", "SELL", "60010.1")],
)
def test_a_click_on_the_chart_buys_below_the_last_price_and_sells_from_it_on(
    thin: Session, price: str, side: str, at: str
) -> None:
    venue: Any = thin.venue
    thin.buy(BTC, "0.5")  # the last price is 60,010
    venue.advance("1s")
    chart = Candles(thin, BTC)
    question, verb, order = asked(chart, chart.place(price, " 0.1 "))
    assert (question, verb) == (f"{side} 0.1 BTCUSDC at {at}", side.lower())
    assert (order["ordSide"], order["ordPx"], order["ordQty"]) == (side, at, "0.1")
    with pytest.raises(CheckFailed, match=r"\(0\.100 at 0\.1\) is below minOrderValue"):
        chart.place("-5", "0.1")  # at least one tick


def test_a_line_of_the_chart_is_moved_in_whole_ticks(thin: Session) -> None:
    order: Any = thin.buy(BTC, "0.5", price="59000")
    chart = Candles(thin, BTC)
    question, verb, payload = asked(chart, chart.move(order.order_id, "59500.06"))
    assert question == f"Change order {order.order_id}, BUY 0.500 BTCUSDC: price 59000.0 → 59500.1"
    assert (verb, payload["ordPx"]) == ("change", "59500.1")


@pytest.mark.parametrize(
    ("group", "bids", "asks"),
    [
        (1, [["59,990.0", "5.000", "5.000", 0.625, "59990.0"], ["59,986.0", "3.000", "8.000", 1.0, "59986.0"]],
         [["60,010.0", "5.000", "5.000", 0.625, "60010.0"], ["60,014.0", "2.000", "7.000", 0.875, "60014.0"]]),
        (100, [["59,990.0", "5.000", "5.000", 0.625, "59990.0"], ["59,980.0", "3.000", "8.000", 1.0, "59980.0"]],
         [["60,010.0", "5.000", "5.000", 0.625, "60010.0"], ["60,020.0", "2.000", "7.000", 0.875, "60020.0"]]),
        (1000, [["59,900.0", "8.000", "8.000", 1.0, "59900"]], [["60,100.0", "7.000", "7.000", 0.875, "60100"]]),
    ],
)  # fmt: skip
def test_a_row_of_a_grouped_book_is_no_better_than_its_levels(
    thin: Session, group: int, bids: list[Any], asks: list[Any]
) -> None:
    venue: Any = thin.venue
    venue.control.add_liquidity(BTC, "BUY", "59986", "3")
    venue.control.add_liquidity(BTC, "SELL", "60014", "2")
    venue.advance("1s")
    book = OrderBook(thin, BTC)
    book.group = group
    for name, rows in (("bids", bids), ("asks", asks)):
        shown = book.view[name]
        assert [one[:4] for one in shown] == [one[:4] for one in rows]
        assert [Decimal(one[4]) for one in shown] == [Decimal(one[4]) for one in rows]
    assert (book.view["mid"], book.view["spread"], book.view["spreadPct"]) == ("60,000.0", "20", "0.033 %")
    assert book.live.depth == (12 if group == 1 else 200)
    for one, depth in ((2, 200), (1, 12)):
        book.group = one
        assert book.live.depth == depth, "as many levels as the rows need"
    few = OrderBook(thin, BTC, 1)
    few.group = group
    assert [len(few.view[name]) for name in ("bids", "asks")] == [1, 1]


def test_an_empty_book_has_no_middle(thin: Session) -> None:
    venue: Any = thin.venue
    venue.control.remove_liquidity(BTC)
    venue.advance("1s")
    view = OrderBook(thin, BTC).view
    assert [view[name] for name in ("bids", "asks", "mid", "spread", "spreadPct")] == [[], [], "–", "–", ""]


def test_the_header_calls_for_another_product_only(thin: Session) -> None:
    chosen: list[str] = []
    header = Header(thin, BTC, on_symbol=chosen.append)
    assert header.view["symbols"] == sorted(one.symbol for one in thin._product_table().values())
    for symbol in (BTC, ETH):
        header._choose(symbol)
    assert chosen == [ETH]
    Header(thin, BTC)._choose(ETH)
    assert chosen == [ETH]


def test_a_chart_whose_history_can_not_be_read_shows_the_live_candles(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    venue: Any = thin.venue
    for _ in range(5):
        thin.buy(BTC, "0.01")
        venue.advance("1m")

    def fail(*_: Any, **__: Any) -> Any:
        raise InputError("no history", field="symbol")

    monkeypatch.setattr(type(thin), "klines", fail)
    chart: Any = Candles(thin, BTC, indicators=["SMA 2"])
    rows = chart.view["rows"]
    assert [row[4] for row in rows] == [60_010.0] * 5
    assert [later[0] - row[0] for row, later in itertools.pairwise(rows)] == [60] * 4
    assert chart.view["studies"] == {"SMA 2": [None, *[60_010.0] * 4]}
    assert (chart.history["rows"], chart.history["complete"], chart.older(), chart.problem) == (
        [],
        True,
        0,
        "no history",
    )
