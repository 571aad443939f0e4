"""Statements on orders: what an item may hold beyond its shape, its limits, replacing and cancelling."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from .shapes import MISSING, edited
from .statements import Check, each, expect, for_all, states, table
from .venue import Answer, Venue, accepted, refused
from .world import action_of, changed, placed, stop_of, varied


def one(venue: Venue, **fields: Any) -> Answer:
    """Place a limit order that rests, with some fields."""
    return venue.trader(0).place(venue.resting(**fields))


def market(venue: Venue, **fields: Any) -> Answer:
    return venue.trader(0).place(venue.market(**fields))


def beyond(text: object, step: object, steps: int | str) -> str:
    """Return a number that is some steps, or a part of one, above another."""
    return f"{Decimal(str(text)) + Decimal(str(step)) * Decimal(steps):f}"


def item(said: str, name: str, values: Iterable[object], then: Check = refused) -> None:
    """Register one statement on limit orders that have each of some values in a field."""
    varied(said, "placeOrder", f"action.orders[].{name}", values, then)


# --- order items
NEVER_SENT = ["NONE", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "ADL", "LIQUIDATION", "", None, 1]
NOT_ITS_OWN = ["STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET"]
HEDGES = ["BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"]
REQUIRED = ["symbolCode", "ordPx", "ordQty", "ordType", "ordSide", "timeInForce"]
NO_AMOUNT = ["0", "-1", "", "text", "NaN", "Infinity", None]
RESTING = ["GTC", "POST_ONLY"]
NOT_PLAIN = ["1e5", " 60000", "0x1", 60000]


def stop_type(venue: Venue, kind: object) -> Answer:
    return one(venue, ordType=kind, triggerPx=venue.price("0.9"))


def market_for(venue: Venue, tif: object) -> Answer:
    return market(venue, timeInForce=tif)


def required(venue: Venue, name: object) -> Answer:
    return changed(venue, "replaceOrder", f"action.{name}")


def market_order(venue: Venue, tif: object) -> None:
    trader = venue.trader(0)
    for side in ("BUY", "SELL"):
        order = venue.market(side, timeInForce=tif)
        accepted(trader.place(order))
        state = trader.order(order["clOrdId"])
        expect(state["status"] in ("FILLED", "CANCELED"), f"it is {state['status']}")


@states("P Order item: clOrdId comes back in the order's state")
def _(venue: Venue) -> None:
    order = venue.resting()
    accepted(venue.trader(0).place(order))
    expect(int(venue.trader(0).order(order["clOrdId"])["clOrdId"]) == order["clOrdId"], "it is another")


each("S Order item: {} is required in replaceOrder", REQUIRED, required, refused)
item("S Order item: some texts of ordType must not be sent", "ordType", NEVER_SENT)
item("P Order rules: sides that close a hedge are refused in one-way mode", "ordSide", HEDGES)
item("S Order item: a limit order may be GTC or POST_ONLY", "timeInForce", RESTING, accepted)
item("S Order item: the price of a limit order is text above 0", "ordPx", NO_AMOUNT)
item("P Order rules: the quantity is text above 0", "ordQty", NO_AMOUNT)
item("L Order rules: a price is plain decimal text, without exponent, space or another base", "ordPx", NOT_PLAIN)
item("L Order rules: a quantity is plain decimal text, without exponent, space or another base", "ordQty", NOT_PLAIN)
item("S Order item: symbolCode is the number of a product", "symbolCode", [0, 999_999, -1, "BTCUSDC", None, 1.5])
item("P Order rules: reduce-only needs a position on the other side", "reduceOnlyOption", ["REDUCE_ONLY"])
for_all("O Request details: placeOrder refuses the types of stops", NOT_ITS_OWN, stop_type, refused)
for_all("O Request details: a market order is neither GTC nor POST_ONLY", RESTING, market_for, refused)
each("O Request details: a market order with timeInForce {} is taken, and never rests", ["IOC", "FOK"], market_order)
table(
    {
        'S Order item: the price of a market order is "0"': lambda venue: market(venue, ordPx=venue.price("1")),
        "P Order rules: a limit price is at most 999,999": lambda venue: one(venue, ordSide="SELL", ordPx="1000000"),
        "L Order rules: slippagePct is above 0": lambda venue: market(venue, slippagePct="0"),
        "S Order item: replaceOrder needs clOrdId or ordId": lambda venue: required(venue, "clOrdId"),
        "S Order item: replaceOrder needs an order that is there": lambda venue: venue.trader(0).act(
            "replaceOrder", **venue.resting()
        ),
        "P Order rules: TP/SL from position needs a position": lambda venue: venue.trader(3).place(
            stop_of(venue, venue.trader(3))
        ),
        "P Order rules: an order is at most maxOrderQty": lambda venue: one(
            venue, ordQty=beyond(venue.product["maxOrderQty"], venue.product["stepSize"], 1)
        ),
        "P Order rules: a limit price is at least a tenth of the mark price": lambda venue: one(
            venue, ordPx=(price := venue.price("0.05")), ordQty=venue.quantity("50", price)
        ),
    },
    refused,
)


# --- limits
def at_value(venue: Venue, steps: int) -> Answer:
    """Place the smallest order that is worth minOrderValue, or one that is some steps larger."""
    price = venue.price("0.8")
    fewest = venue.quantity(venue.product["minOrderValue"], price)
    return one(venue, ordPx=price, ordQty=beyond(fewest, venue.product["stepSize"], steps))


def slippage(venue: Venue, part: str) -> Answer:
    return market(venue, slippagePct=f"{Decimal(venue.product['maxSlippagePct']) * Decimal(part):f}")


def bracket(venue: Venue, count: object) -> None:
    key, action = action_of(venue, "placeBracketOrder")
    orders = [*action["orders"], *action["orders"]][: int(str(count))]
    (accepted if count in (2, 3) else refused)(venue.act(key, {**action, "orders": orders}))


def most_leverage(venue: Venue) -> None:
    most = Decimal(venue.other["maxLeverage"])
    accepted(changed(venue, "setLeverage", "action.leverage", f"{most:f}"))
    refused(changed(venue, "setLeverage", "action.leverage", f"{most + 1:f}"))


NO_LEVERAGE = ["0.99", "0", "-1", "2.555", "text", None]
varied("S Limits: leverage may have two decimals", "setLeverage", "action.leverage", ["1", "2.5", "2.55"], accepted)
varied("S Limits: leverage is not below 1, nor of three decimals", "setLeverage", "action.leverage", NO_LEVERAGE)
table({"S Limits: leverage is at most maxLeverage": most_leverage})
table(
    {
        "S Limits: an order worth minOrderValue is taken": lambda venue: at_value(venue, 0),
        "S Limits: slippagePct of a market order may be maxSlippagePct": lambda venue: slippage(venue, "1"),
    },
    accepted,
)
table(
    {
        "S Limits: a price that is not a multiple of tickSize is refused": lambda venue: one(
            venue, ordPx=beyond(venue.price("0.8"), venue.product["tickSize"], "0.5")
        ),
        "S Limits: a quantity that is not a multiple of stepSize is refused": lambda venue: one(
            venue, ordQty=beyond(venue.resting()["ordQty"], venue.product["stepSize"], "0.5")
        ),
        "S Limits: an order worth less than minOrderValue is refused": lambda venue: at_value(venue, -1),
        "S Limits: slippagePct above maxSlippagePct is refused": lambda venue: slippage(venue, "1.01"),
    },
    refused,
)
each("S Limits: placeBracketOrder with {} orders: 2 or 3 are taken", [1, 2, 3, 4], bracket)
NO_MARGIN = ["0", "text", "", None]
varied("S Endpoints: assignedPosMargin is not 0", "assignPosMargin", "action.assignedPosMargin", NO_MARGIN)


# --- replace and cancel
def replaced(venue: Venue, name: object) -> None:
    trader = venue.trader(0)
    state, price = placed(venue, trader), venue.price("0.7")
    fields = {**edited(venue.resting(), "clOrdId"), "ordPx": price, str(name): int(state[str(name)])}
    accepted(trader.act("replaceOrder", **fields))
    wanted = {"userAddr": trader.address, "status": "NEW"}
    venue.until(
        lambda: any(Decimal(row["price"]) == Decimal(price) for row in venue.rows("/info/order/states", **wanted)),
        "an order with the new price",
    )


def cancelled(venue: Venue, said: object) -> None:
    """Cancel an order by a field that is text or a number."""
    name, _, kind = str(said).partition(" as ")
    trader = venue.trader(0)
    state = placed(venue, trader)
    ids = {"symbolCode": str(venue.code), **({name: state[name]} if name in state else {"ordId": state["ordId"]})}
    ids[name] = str(ids[name]) if kind == "text" else int(ids[name])
    accepted(trader.act("cancelOrder", cancels=[ids]))
    venue.until(lambda: trader.order(int(state["clOrdId"]))["status"] == "CANCELED", "status CANCELED")


def cancel_by_another(venue: Venue) -> None:
    state = placed(venue, venue.trader(0))
    cancels = [{"symbolCode": str(venue.code), "ordId": str(state["ordId"])}]
    refused(venue.trader(1).act("cancelOrder", cancels=cancels))
    expect(venue.trader(0).order(int(state["clOrdId"]))["status"] == "NEW", "the order is gone")


def cancel_all(venue: Venue) -> None:
    trader = venue.trader(0)
    placed(venue, trader)
    accepted(trader.act("cancelAll", symbolCode=venue.code))
    wanted = {"userAddr": trader.address, "symbol": venue.code, "status": "NEW"}
    venue.until(lambda: not venue.rows("/info/order/states", **wanted), "no open order")


each("S Order item: replaceOrder finds the order by {}", ["clOrdId", "ordId"], replaced)
each("P Request details: cancelOrder takes {}", ["clOrdId as text", "symbolCode as a number"], cancelled)
each("L Request details: cancelOrder takes {}", ["ordId as a number", "clOrdId as a number"], cancelled)
varied("S Endpoints: a cancel needs clOrdId or ordId", "cancelOrder", "action.cancels[].ordId", [MISSING])
varied("S Endpoints: a cancel needs an order that is there", "cancelOrder", "action.cancels[].ordId", ["987654321"])
table(
    {
        "S Endpoints: nobody cancels another account's order": cancel_by_another,
        "S Endpoints: cancelAll cancels the open orders of a product": cancel_all,
    }
)
