"""Statements on orders: the fields of an order item, their limits, replacing and cancelling."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from .requests import FACTS, SPEC, accepted, malformed, refused, trading_actions, without
from .statements import Differs, each, expect, for_all, states
from .venue import Answer, Trader, Venue

# --- order items
REQUIRED = ("symbolCode", "ordPx", "ordQty", "ordType", "ordSide", "timeInForce")


def one(venue: Venue, **fields: Any) -> Answer:
    return venue.trader(0).place(venue.resting(**fields))


each(
    f"{SPEC}: Order item",
    "{} is required in placeOrder",
    REQUIRED,
    lambda venue, name: malformed(venue.trader(0).place(without(venue.resting(), str(name))), str(name)),
)
each(
    f"{SPEC}: Order item",
    "{} is required in replaceOrder",
    REQUIRED,
    lambda venue, name: malformed(
        venue.trader(0).act("replaceOrder", **without(venue.resting(), str(name))), str(name)
    ),
)
each(
    f"{SPEC}: Order item",
    "ordType {} must not be sent",
    ["NONE", "MARKET_LIQ_SELLOFF", "LIMIT_LIQ_SELLOFF", "ADL", "LIQUIDATION", "limit", "", None, 1],
    lambda venue, kind: refused(one(venue, ordType=kind)),
)
each(
    f"{FACTS}: Request details",
    "placeOrder refuses ordType {}",
    ["STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET"],
    lambda venue, kind: refused(one(venue, ordType=kind, triggerPx=venue.price("0.9"))),
)
for_all(
    f"{SPEC}: Order item",
    "another ordSide is refused",
    ["NONE", "LONG", "buy", "", None, 1],
    lambda venue, side: malformed(one(venue, ordSide=side), "ordSide"),
)
each(
    f"{SPEC}: Order item",
    "ordSide {} is taken",
    ["BUY", "SELL"],
    lambda venue, side: accepted(venue.trader(0).place(venue.resting(str(side)))),
)
each(
    "risk rules: Order rules",
    "ordSide {} is refused in one-way mode",
    ["BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE"],
    lambda venue, side: refused(one(venue, ordSide=side)),
)
each(
    f"{SPEC}: Order item",
    "timeInForce {} is taken for a limit order",
    ["GTC", "POST_ONLY"],
    lambda venue, tif: accepted(one(venue, timeInForce=tif)),
)
for_all(
    f"{SPEC}: Order item",
    "another timeInForce is refused",
    ["NONE", "GTD", "DAY", "", None, 1],
    lambda venue, tif: malformed(one(venue, timeInForce=tif), "timeInForce"),
)
each(
    f"{FACTS}: Request details",
    "a market order with timeInForce {} is refused",
    ["GTC", "POST_ONLY"],
    lambda venue, tif: refused(venue.trader(0).place(venue.market(timeInForce=tif))),
)


def market_order(venue: Venue, tif: object) -> None:
    trader = venue.trader(0)
    for side in ("BUY", "SELL"):
        order = venue.market(side, timeInForce=tif)
        accepted(trader.place(order))
        state = trader.order(order["clOrdId"])
        expect(state["status"] in ("FILLED", "CANCELED"), f"it is {state['status']}")


each(
    f"{FACTS}: Request details",
    "a market order with timeInForce {} is taken, and rests never",
    ["IOC", "FOK"],
    market_order,
)


@states(f"{SPEC}: Order item", 'the price of a market order is "0": another is refused')
def _(venue: Venue) -> None:
    refused(venue.trader(0).place(venue.market(ordPx=venue.price("1"))))


for_all(
    f"{SPEC}: Order item",
    "the price of a limit order is text above 0",
    ["0", "-1", "", "text", "1e5", "NaN", "Infinity", None, 60000, " 60000"],
    lambda venue, price: refused(one(venue, ordPx=price)),
)
for_all(
    f"{SPEC}: Order item",
    "the quantity is text above 0",
    ["0", "-1", "", "text", "1e-3", "NaN", None, 1, "0x1"],
    lambda venue, quantity: refused(one(venue, ordQty=quantity)),
)
for_all(
    f"{SPEC}: Order item",
    "symbolCode is the number of a product",
    [0, 999_999, -1, "BTCUSDC", None, 1.5],
    lambda venue, code: refused(one(venue, symbolCode=code)),
)


@states(f"{SPEC}: Order item", "clOrdId is optional")
def _(venue: Venue) -> None:
    accepted(venue.trader(0).place(without(venue.resting(), "clOrdId")))


@states(f"{SPEC}: Order item", "clOrdId comes back in the order's state")
def _(venue: Venue) -> None:
    order = venue.resting()
    accepted(venue.trader(0).place(order))
    expect(int(venue.trader(0).order(order["clOrdId"])["clOrdId"]) == order["clOrdId"], "it is another")


for_all(
    f"{SPEC}: Order item",
    "clOrdId is an int64",
    ["text", 1.5, True, 1 << 63],
    lambda venue, value: malformed(one(venue, clOrdId=value), "clOrdId"),
)
for_all(
    f"{SPEC}: Order item",
    "another reduceOnlyOption is refused",
    ["NONE_SUCH", "reduce_only", 1, True],
    lambda venue, value: malformed(one(venue, reduceOnlyOption=value), "reduceOnlyOption"),
)
for_all(
    f"{SPEC}: Order item",
    "another tpslTriggerType is refused",
    ["OTHER", "mark_price", 1],
    lambda venue, value: malformed(
        one(venue, tpslTriggerType=value, triggerPx=venue.price("0.9"), reduceOnlyOption="TP_FROM_POSITION"),
        "tpslTriggerType",
    ),
)


@states(f"{SPEC}: Order item", "a reduce-only order without a position to reduce is refused")
def _(venue: Venue) -> None:
    refused(venue.trader(3).place(venue.resting(reduceOnlyOption="REDUCE_ONLY")))


@states("risk rules: Order rules", "TP/SL from position needs a position")
def _(venue: Venue) -> None:
    fields = {"reduceOnlyOption": "SL_FROM_POSITION", "triggerPx": venue.price("0.5"), "tpslTriggerType": "MARK_PRICE"}
    refused(venue.trader(3).place(venue.market("SELL", "0", **fields)))


# --- limits
def off_grid(text: str, step: str) -> str:
    return f"{Decimal(text) + Decimal(step) / 2:f}"


@states(f"{SPEC}: Limits", "a price that is not a multiple of tickSize is refused")
def _(venue: Venue) -> None:
    refused(one(venue, ordPx=off_grid(venue.price("0.8"), venue.product["tickSize"])))


@states(f"{SPEC}: Limits", "a quantity that is not a multiple of stepSize is refused")
def _(venue: Venue) -> None:
    refused(one(venue, ordQty=off_grid(venue.resting()["ordQty"], venue.product["stepSize"])))


def at_value(venue: Venue, part: str) -> Answer:
    price = venue.price("0.8")
    step = Decimal(venue.product["stepSize"])
    fewest = Decimal(venue.quantity(venue.product["minOrderValue"], price))
    return one(venue, ordPx=price, ordQty=f"{fewest if part == 'least' else fewest - step:f}")


@states(f"{SPEC}: Limits", "an order worth minOrderValue is taken")
def _(venue: Venue) -> None:
    accepted(at_value(venue, "least"))


@states(f"{SPEC}: Limits", "an order worth less than minOrderValue is refused")
def _(venue: Venue) -> None:
    refused(at_value(venue, "less"))


@states(f"{FACTS}: Info API", "an order above maxOrderQty is refused")
def _(venue: Venue) -> None:
    most, step = Decimal(venue.product["maxOrderQty"]), Decimal(venue.product["stepSize"])
    refused(one(venue, ordQty=f"{most + step:f}"))


def slippage(venue: Venue, part: str) -> Answer:
    most = Decimal(venue.product["maxSlippagePct"])
    return venue.trader(0).place(venue.market(slippagePct=f"{most * Decimal(part):f}"))


@states(f"{SPEC}: Limits", "slippagePct of a market order may be maxSlippagePct")
def _(venue: Venue) -> None:
    accepted(slippage(venue, "1"))


@states(f"{SPEC}: Limits", "slippagePct above maxSlippagePct is refused")
def _(venue: Venue) -> None:
    refused(slippage(venue, "1.01"))


for_all(
    f"{SPEC}: Limits",
    "slippagePct is text above 0",
    ["-0.01", "0", "text", 0.01],
    lambda venue, value: refused(venue.trader(0).place(venue.market(slippagePct=value))),
)


@states(f"{FACTS}: Trading rules", "a limit price of less than a tenth of the mark price is refused")
def _(venue: Venue) -> None:
    price = venue.price("0.05")
    refused(one(venue, ordPx=price, ordQty=venue.quantity("50", price)))


@states(f"{FACTS}: Trading rules", "a limit price above 999,999 is refused")
def _(venue: Venue) -> None:
    refused(one(venue, ordSide="SELL", ordPx="1000000"))


def counted(kind: str, name: str, few: int, many: int | None) -> Callable[[Venue, object], None]:
    def check(venue: Venue, count: object) -> None:
        trader = venue.trader(0)
        items = trading_actions(venue, trader)[kind][name]
        answer = trader.act(kind, **{name: [*items, *items][: int(str(count))]})
        good = few <= int(str(count)) and (many is None or int(str(count)) <= many)
        accepted(answer) if good else malformed(answer, name)

    return check


each(f"{SPEC}: Limits", "placeOrder with {} orders", [0, 1], counted("placeOrder", "orders", 1, None))
each(f"{SPEC}: Limits", "cancelOrder with {} cancels", [0, 1], counted("cancelOrder", "cancels", 1, None))
each(f"{SPEC}: Limits", "placeBracketOrder with {} orders", [1, 2, 3, 4], counted("placeBracketOrder", "orders", 2, 3))


def leverage(venue: Venue, value: object) -> None:
    most = Decimal(venue.other["maxLeverage"])
    text = {"max": f"{most:f}", "max + 1": f"{most + 1:f}"}.get(str(value), value)
    answer = venue.trader(0).act("setLeverage", symbolCode=int(venue.other["code"]), leverage=text)
    accepted(answer) if value in ("1", "2.5", "2.55", "max") else refused(answer)


for_all(
    f"{SPEC}: Limits",
    "leverage is at least 1, has at most two decimals, and is at most maxLeverage",
    ["1", "2.5", "2.55", "max", "0.99", "0", "-1", "2.555", "max + 1", "text", 3, None],
    leverage,
)
for_all(
    f"{SPEC}: Endpoints",
    "marginMode is CROSS or ISOLATED",
    ["ISOLATED", "CROSS", "NONE", "cross", None],
    lambda venue, mode: (accepted if mode in ("ISOLATED", "CROSS") else refused)(
        venue.trader(0).act("setMarginMode", symbolCode=int(venue.other["code"]), marginMode=mode)
    ),
)
for_all(
    f"{SPEC}: Endpoints",
    "assignedPosMargin is a number other than 0",
    ["0", "text", "", None],
    lambda venue, amount: refused(
        venue.trader(0).act("assignPosMargin", symbolCode=venue.code, assignedPosMargin=amount)
    ),
)


# --- replace and cancel
def placed(venue: Venue, trader: Trader) -> dict[str, Any]:
    order = venue.resting()
    accepted(trader.place(order))
    return trader.order(order["clOrdId"])


@states(f"{SPEC}: Order item", "replaceOrder needs clOrdId or ordId")
def _(venue: Venue) -> None:
    refused(venue.trader(0).act("replaceOrder", **without(venue.resting(), "clOrdId")))


each(
    f"{SPEC}: Order item",
    "replaceOrder finds the order by {}",
    ["clOrdId", "ordId"],
    lambda venue, name: _replaced(venue, str(name)),
)


def _replaced(venue: Venue, name: str) -> None:
    trader = venue.trader(0)
    state = placed(venue, trader)
    price = venue.price("0.7")
    fields = {**without(venue.resting(), "clOrdId"), "ordPx": price, name: int(state[name])}
    accepted(trader.act("replaceOrder", **fields))
    now = venue.until(
        lambda: [row for row in venue.rows("/info/order/states", userAddr=trader.address, status="NEW")
                 if Decimal(row["price"]) == Decimal(price)], "the moved order",
    )  # fmt: skip
    expect(now, "no order has the new price")


@states(f"{SPEC}: Order item", "replaceOrder of an order that is not there is refused")
def _(venue: Venue) -> None:
    refused(venue.trader(0).act("replaceOrder", **venue.resting()))


CANCELS: dict[str, Callable[[dict[str, Any], int], dict[str, Any]]] = {
    "ordId as text": lambda state, code: {"symbolCode": str(code), "ordId": str(state["ordId"])},
    "clOrdId as text": lambda state, code: {"symbolCode": str(code), "clOrdId": str(state["clOrdId"])},
    "symbolCode as a number": lambda state, code: {"symbolCode": code, "ordId": str(state["ordId"])},
    "ordId as a number": lambda state, code: {"symbolCode": code, "ordId": int(state["ordId"])},
    "clOrdId as a number": lambda state, code: {"symbolCode": code, "clOrdId": int(state["clOrdId"])},
}


def cancelled(venue: Venue, name: object) -> None:
    trader = venue.trader(0)
    state = placed(venue, trader)
    accepted(trader.act("cancelOrder", cancels=[CANCELS[str(name)](state, venue.code)]))
    venue.until(lambda: trader.order(int(state["clOrdId"]))["status"] == "CANCELED", "status CANCELED")


each(f"{FACTS}: Request details", "cancelOrder takes {}", CANCELS, cancelled)


@states(f"{SPEC}: Endpoints", "a cancel needs clOrdId or ordId")
def _(venue: Venue) -> None:
    refused(venue.trader(0).act("cancelOrder", cancels=[{"symbolCode": str(venue.code)}]))


@states(f"{SPEC}: Endpoints", "a cancel of an order that is not there is refused")
def _(venue: Venue) -> None:
    refused(venue.trader(0).act("cancelOrder", cancels=[{"symbolCode": str(venue.code), "ordId": "987654321"}]))


@states(f"{SPEC}: Endpoints", "nobody cancels another account's order")
def _(venue: Venue) -> None:
    state = placed(venue, venue.trader(0))
    cancels = [{"symbolCode": str(venue.code), "ordId": str(state["ordId"])}]
    refused(venue.trader(1).act("cancelOrder", cancels=cancels))
    if venue.trader(0).order(int(state["clOrdId"]))["status"] != "NEW":
        raise Differs("the order is gone")


@states(f"{SPEC}: Endpoints", "cancelAll cancels the open orders of a product")
def _(venue: Venue) -> None:
    trader = venue.trader(0)
    placed(venue, trader)
    accepted(trader.act("cancelAll", symbolCode=venue.code))
    path, wanted = "/info/order/states", {"userAddr": trader.address, "symbol": venue.code, "status": "NEW"}
    venue.until(lambda: not venue.rows(path, **wanted), "no open order")


@states(f"{SPEC}: Endpoints", "cancelAll without symbolCode is malformed")
def _(venue: Venue) -> None:
    malformed(venue.trader(0).act("cancelAll"), "symbolCode")
