"""Statements on trading: what orders do in the book, fees, margin, exits, leverage and published prices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from .feeds import subscription
from .orders import beyond
from .statements import NotTried, each, expect, states, table
from .venue import Trader, Venue, accepted, refused
from .world import action_of, close, flat

SIDES = ("BUY", "SELL")
CENT_OF_A_CENT = Decimal("0.0001")


def held(venue: Venue, number: int, side: str = "BUY", quantity: str = "") -> tuple[Trader, Decimal]:
    """Return an account with a small position, or one of a quantity, and its size."""
    trader = flat(venue, number)
    accepted(trader.place(venue.market(side, quantity)))
    return trader, venue.until(lambda: trader.size(venue.code), "a position")


def exit_of(venue: Venue, size: Decimal, kind: str, of_last: str) -> dict[str, Any]:
    trigger = {"triggerPx": venue.price(of_last), "tpslTriggerType": "MARK_PRICE"}
    return close(venue, size, ordQty="0", reduceOnlyOption=kind, **trigger)


def status(trader: Trader, order: dict[str, Any]) -> str:
    return str(trader.order(order["clOrdId"])["status"])


# --- the book
def crossing(venue: Venue, side: str, tif: str) -> dict[str, Any]:
    """Return a limit order within the book, which would trade."""
    far, tick = venue.best()[side == "BUY"], Decimal(venue.product["tickSize"])
    away = max(Decimal(50), far // tick // 500) * tick
    return venue.resting(side, ordPx=f"{far + away if side == 'BUY' else far - away:f}", timeInForce=tif)


def post_only(venue: Venue, side: object) -> None:
    trader = flat(venue, 1)
    refused(trader.place(crossing(venue, str(side), "POST_ONLY")))
    expect(trader.size(venue.code) == 0, "it traded")


def immediate(venue: Venue, kind: object) -> None:
    tif, side = str(kind).split()
    trader, order = flat(venue, 1), crossing(venue, side, tif)
    accepted(trader.place(order))
    expect(status(trader, order) == "FILLED", f"within the book it is {status(trader, order)}")
    size, away = trader.size(venue.code), venue.resting(side, timeInForce=tif)
    trader.place(away)
    expect(trader.size(venue.code) == size, "away from the book it traded")
    states_of = venue.rows("/info/order/states", userAddr=trader.address, clientOrderId=away["clOrdId"])
    expect(all(row["status"] in ("CANCELED", "REJECTED") for row in states_of), f"away from the book: {states_of}")


each("P Order rules: a POST_ONLY {} that would match is refused", SIDES, post_only)
KINDS = ["IOC BUY", "IOC SELL", "FOK BUY", "FOK SELL"]
each("P Order rules: {} takes what is there, and never rests", KINDS, immediate)


def self_trade(venue: Venue, side: object) -> None:
    """One's own best order is cancelled, and the taker goes on to the next."""
    trader = flat(venue, 1)
    bid, ask = venue.best()
    tick = Decimal(venue.product["tickSize"])
    price = f"{(ask - tick) if side == 'BUY' else (bid + tick):f}"
    maker = venue.resting("SELL" if side == "BUY" else "BUY", ordPx=price, timeInForce="POST_ONLY")
    if ask - bid <= tick or trader.place(maker).code:
        raise NotTried("the spread is one tick, or the book moved")
    trader.place(venue.resting(str(side), ordPx=price, timeInForce="IOC"))
    state = trader.order(maker["clOrdId"])
    if state["status"] in ("FILLED", "NEW"):
        raise NotTried("others took the order first, or were ahead of it")
    expect(state["status"] == "CANCELED" and Decimal(state["filledQty"]) == 0, f"the resting one: {state}")


each("L Order rules: a {} never trades with its own account", SIDES, self_trade)


@states("P Order rules: a fill beyond the limit never happens, and a maker keeps its price")
def _(venue: Venue) -> None:
    buyer, seller = flat(venue, 0), flat(venue, 1)
    venue.pair(buyer, seller)
    for trader in (buyer, seller):
        rows = venue.rows("/info/trade/page", userAddr=trader.address, pageSize=10)
        expect(rows, "no fill")
        for row in rows:
            if row["orderPx"] not in ("0", "") and Decimal(row["orderPx"]):
                ahead = Decimal(row["filledPx"]) - Decimal(row["orderPx"])
                expect(ahead * (1 if str(row["side"]) in ("1", "BUY") else -1) <= 0, row)


@states("P Trading rules: a market order is bounded by its slippage: what lies beyond is cancelled")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    last, order = venue.last_price(), venue.market(slippagePct="0.005")
    accepted(trader.place(order))
    for row in venue.rows("/info/trade/page", userAddr=trader.address, orderId=trader.order(order["clOrdId"])["ordId"]):
        expect(Decimal(row["filledPx"]) <= last * Decimal("1.01"), f"{row['filledPx']} with the last price at {last}")


# --- fees and money
def charged(venue: Venue, role: object) -> None:
    """Let account 0 trade as maker or taker, and compare the fee of its newest fill with the product's rate."""
    trader, other = flat(venue, 0), flat(venue, 1)
    for _ in range(5):
        if role == "taker":
            accepted(trader.place(venue.market()))
        else:
            venue.pair(other, trader)
        if venue.rows("/info/order/states", userAddr=trader.address, pageSize=1)[0]["status"] == "FILLED":
            break
        accepted(trader.act("cancelAll", symbolCode=venue.code))
    else:
        raise NotTried("others took the order first every time")
    row = venue.rows("/info/trade/page", userAddr=trader.address, pageSize=1)[0]
    fee, value = Decimal(row["openFee"]) + Decimal(row["closeFee"]), Decimal(row["filledPx"]) * Decimal(row["execQty"])
    rate = Decimal(venue.product[f"default{str(role).title()}FeeRate"])
    expect(abs(abs(fee) - value * rate) <= Decimal("0.000002"), f"{fee} of {value} at {rate}")


each("P Trading rules: a {} pays its rate of the value it trades", ["taker", "maker"], charged)


def of_all(venue: Venue, **figures: str) -> None:
    """See that each product has some figures."""
    for row in venue.meta["perpProducts"]:
        expect(all(Decimal(row[name]) == Decimal(one) for name, one in figures.items()), row)


table(
    {
        "P Trading rules: the default rates are 0.01 % for makers and 0.06 % for takers": lambda venue: of_all(
            venue, defaultMakerFeeRate="0.0001", defaultTakerFeeRate="0.0006"
        ),
        "P Trading rules: funding is every 4 h by default": lambda venue: of_all(venue, fundingInterval="14400"),
    }
)


@states("P Trading rules: an order reduces what is available, until it is cancelled")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    before = venue.free(trader)
    accepted(trader.place(venue.resting(ordQty=venue.quantity("500", venue.price("0.8")))))
    expect(venue.free(trader) < before, f"{before}, then {venue.free(trader)}")
    accepted(trader.act("cancelAll", symbolCode=venue.code))
    expect(venue.free(trader) == before, f"{before}, then {venue.free(trader)} without the order")


@states("P Margin: an order beyond what the margin covers is refused")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    price = venue.price("0.8")
    value = venue.free(trader) * Decimal(venue.product["maxLeverage"]) * 2
    quantity = min(Decimal(venue.quantity(value, price)), Decimal(venue.product["maxOrderQty"]))
    refused(trader.place(venue.resting(ordPx=price, ordQty=f"{quantity:f}")))


# --- exits
def reduce_only(venue: Venue, side: object) -> None:
    trader, size = held(venue, 1, str(side))
    refused(trader.place(venue.resting(str(side), reduceOnlyOption="REDUCE_ONLY")))
    trader.place(close(venue, size * 2))
    expect(trader.size(venue.code) == 0, f"a position of {trader.size(venue.code)} is left")


each("P Order rules: reduce-only never enlarges or flips a position that began with a {}", SIDES, reduce_only)


def exits(venue: Venue, kind: object, far: str, near: str) -> Iterator[tuple[Trader, dict[str, Any]]]:
    """Yield an account with a long and with a short, and an exit at a part of the last price, in gain or in loss."""
    for side in SIDES:
        trader, size = held(venue, 1, side)
        yield trader, exit_of(venue, size, str(kind), far if (size > 0) == (kind == "TP_FROM_POSITION") else near)


def waits(venue: Venue, kind: object) -> None:
    for trader, order in exits(venue, kind, "1.3", "0.7"):
        accepted(trader.place(order))
        expect(status(trader, order) == "ORDER_STATUS_UNTRIGGERED", f"it is {status(trader, order)}")


def met(venue: Venue, kind: object) -> None:
    for trader, order in exits(venue, kind, "0.7", "1.3"):
        refused(trader.place(order))


EXITS = ("TP_FROM_POSITION", "SL_FROM_POSITION")
each("P Order rules: {} waits for its trigger", EXITS, waits)
each("L Order rules: {} is refused when its trigger is met already", EXITS, met)


@states("P Order rules: an exit is cancelled when the position is gone")
def _(venue: Venue) -> None:
    trader, size = held(venue, 1)
    order = exit_of(venue, size, "SL_FROM_POSITION", "0.7")
    accepted(trader.place(order))
    accepted(trader.place(close(venue, size)))
    venue.until(lambda: status(trader, order) == "CANCELED", "the cancelled exit")


@states("P Order rules: the exits of a bracket wait for its main order, and go with it when it is cancelled")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    key, action = action_of(venue, "placeBracketOrder", 1)
    accepted(venue.act(key, action))
    main = action["orders"][0]
    expect(status(trader, main) == "NEW", status(trader, main))
    cancel = {"symbolCode": str(venue.code), "clOrdId": str(main["clOrdId"])}
    accepted(trader.act("cancelOrder", cancels=[cancel]))
    left = venue.rows("/info/order/states", userAddr=trader.address, status="ORDER_STATUS_UNTRIGGERED")
    expect(not left, f"{len(left)} exits are left")


@states("L Order rules: a bracket is all or nothing")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    key, action = action_of(venue, "placeBracketOrder", 1)
    main, bad = action["orders"][:2]
    bad["ordQty"] = beyond(main["ordQty"], venue.product["stepSize"], "0.5")
    refused(venue.act(key, {**action, "orders": [main, bad]}))
    rows = venue.rows("/info/order/states", userAddr=trader.address, status="NEW")
    expect(not any(int(row["clOrdId"]) == main["clOrdId"] for row in rows), "the main order stands")


@states("L Order rules: closing a whole position is exempt from minOrderValue")
def _(venue: Venue) -> None:
    step = Decimal(venue.product["stepSize"])
    trader, size = held(venue, 1, "BUY", f"{3 * Decimal(venue.market()['ordQty']):f}")
    accepted(trader.place(close(venue, size - step)))
    expect(trader.size(venue.code) == step, f"{trader.size(venue.code)} is left")
    accepted(trader.place(close(venue, step)))
    expect(trader.size(venue.code) == 0, "it is not closed")


# --- margin modes and leverage
@states("P Trading rules: margin is cross by default, may become isolated with a position open, and be moved then")
def _(venue: Venue) -> None:
    trader, _ = held(venue, 5)
    expect(trader.position(venue.code)["positionMarginMode"] == "CROSS", trader.position(venue.code))
    accepted(trader.act("setMarginMode", symbolCode=venue.code, marginMode="ISOLATED"))
    venue.until(lambda: trader.position(venue.code)["positionMarginMode"] == "ISOLATED", "an isolated position")
    before = Decimal(trader.position(venue.code)["assignedPosBalance"])
    for amount, after in (("10", before + 10), ("-5", before + 5)):
        accepted(trader.act("assignPosMargin", symbolCode=venue.code, assignedPosMargin=amount))
        now = Decimal(trader.position(venue.code)["assignedPosBalance"])
        expect(abs(now - after) < CENT_OF_A_CENT, f"{amount}: {before}, then {now}")
    refused(trader.act("assignPosMargin", symbolCode=venue.code, assignedPosMargin="-100000"))
    flat(venue, 5)
    accepted(trader.act("setMarginMode", symbolCode=venue.code, marginMode="CROSS"))


@states("P Trading rules: a position is one-way by default, and has the leverage that is set")
def _(venue: Venue) -> None:
    trader, _ = held(venue, 1)
    expect(trader.position(venue.code)["positionMode"] == "ONE_WAY", trader.position(venue.code))
    for leverage in ("7", "20"):
        accepted(trader.act("setLeverage", symbolCode=venue.code, leverage=leverage))
        found = trader.position(venue.code)["leverage"]
        expect(Decimal(found) == Decimal(leverage), f"{leverage}: {found}")


@states("P Margin: a position's entry value is its size times the price of its fill")
def _(venue: Venue) -> None:
    trader, size = held(venue, 1)
    rows = venue.rows("/info/trade/page", userAddr=trader.address, pageSize=20)
    newest = [row for row in rows if row["txHash"] == rows[0]["txHash"]]
    value = sum(Decimal(row["filledPx"]) * Decimal(row["execQty"]) for row in newest)
    entry = Decimal(trader.position(venue.code)["longEntryValue"])
    expect(abs(entry - value) < CENT_OF_A_CENT, f"{entry} with fills of {value} for {size}")


# --- published prices
@states("P Trading rules: oracle and mark price come every 3 s")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        feed.first(subscription(venue, "ticker"))
        times: dict[str, int] = {}
        while len(times) < 5:
            data = feed.data("ticker")["data"]
            if price := data["ticker"].get("op"):
                times.setdefault(price, int(data["timestamp"]))
    gaps = [after - before for before, after in itertools.pairwise([*times.values()][1:])]
    late = [abs(gap - 3_000 * round(gap / 3_000)) for gap in gaps]
    expect(min(gaps) > 2_000 and max(late) < 1_000, f"the oracle price changed after {gaps} ms")


@states("P Prices: settled funding rates are within 2 % of 0, at multiples of the interval")
def _(venue: Venue) -> None:
    rows = venue.rows("/info/fundingRate/history", symbol=venue.code)
    if not rows:
        raise NotTried("no funding was settled yet")
    for row in rows:
        rate = next((Decimal(str(value)) for key, value in row.items() if "rate" in key.lower()), None)
        expect(rate is not None and abs(rate) <= Decimal("0.02"), row)
