"""Statements on trading: what orders do in the book, fees, margin, exits, leverage and published prices."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

from .feeds import subscription
from .orders import off_grid
from .programs import accepted, free
from .requests import FACTS, refused
from .statements import Differs, NotTried, each, expect, states
from .venue import Trader, Venue

RULES = "risk rules"
CENT_OF_A_CENT = Decimal("0.0001")


def flat(venue: Venue, number: int) -> Trader:
    """Return an account without orders or position in the suite's product."""
    trader = venue.trader(number)
    accepted(trader.act("cancelAll", symbolCode=venue.code))
    accepted(trader.act("cancelAll", symbolCode=venue.code, conditionalOrder=True))
    size = trader.size(venue.code)
    if size:
        accepted(trader.place(venue.market("SELL" if size > 0 else "BUY", f"{abs(size):f}", slippagePct="0.05")))
        venue.until(lambda: not trader.size(venue.code), "a closed position")
    return trader


def held(venue: Venue, number: int, side: str = "BUY") -> tuple[Trader, Decimal]:
    """Return an account with a small position, and its size."""
    trader = flat(venue, number)
    accepted(trader.place(venue.market(side)))
    return trader, venue.until(lambda: trader.size(venue.code), "a position")


def exit_of(venue: Venue, size: Decimal, kind: str, of_last: str, **fields: Any) -> dict[str, Any]:
    option = {"reduceOnlyOption": kind, "triggerPx": venue.price(of_last), "tpslTriggerType": "MARK_PRICE"}
    return venue.market("SELL" if size > 0 else "BUY", "0", **option, **fields)


def status(trader: Trader, order: dict[str, Any]) -> str:
    return str(trader.order(order["clOrdId"])["status"])


# --- the book
def offers(venue: Venue, side: str, of_price: str) -> str:
    """Return a price within which an order of a side would trade ("cross") or just not ("behind")."""
    bid, ask = venue.best()
    far = {"BUY": ask, "SELL": bid}[side]
    sign = (1 if side == "BUY" else -1) * (1 if of_price == "cross" else -1)
    tick = Decimal(venue.product["tickSize"])
    return f"{far + sign * max(50, far // tick // 500) * tick:f}"


def post_only(venue: Venue, side: object) -> None:
    trader = flat(venue, 1)
    refused(trader.place(venue.resting(str(side), ordPx=offers(venue, str(side), "cross"), timeInForce="POST_ONLY")))
    expect(trader.size(venue.code) == 0, "it traded")


def ioc(venue: Venue, side: object) -> None:
    trader = flat(venue, 1)
    order = venue.resting(str(side), ordPx=offers(venue, str(side), "cross"), timeInForce="IOC")
    accepted(trader.place(order))
    expect(status(trader, order) == "FILLED", f"within the book it is {status(trader, order)}")
    away = venue.resting(str(side), timeInForce="IOC")
    trader.place(away)
    expect(status(trader, away) == "CANCELED", f"away from the book it is {status(trader, away)}")


def fok(venue: Venue, side: object) -> None:
    trader = flat(venue, 1)
    order = venue.resting(str(side), ordPx=offers(venue, str(side), "cross"), timeInForce="FOK")
    accepted(trader.place(order))
    expect(status(trader, order) == "FILLED", f"within the book it is {status(trader, order)}")
    size = trader.size(venue.code)
    away = venue.resting(str(side), timeInForce="FOK")
    trader.place(away)
    expect(trader.size(venue.code) == size, "away from the book it traded")


each(f"{RULES}: Order rules", "a POST_ONLY {} that would match is refused", ["BUY", "SELL"], post_only)
each(f"{RULES}: Order rules", "an IOC {} takes what is there and never rests", ["BUY", "SELL"], ioc)
each(f"{RULES}: Order rules", "a FOK {} fills whole or not at all", ["BUY", "SELL"], fok)


def self_trade(venue: Venue, side: object) -> None:
    """One's own best order is cancelled, and the taker goes on to the next."""
    trader = flat(venue, 1)
    bid, ask = venue.best()
    tick = Decimal(venue.product["tickSize"])
    if ask - bid <= tick:
        raise NotTried("the spread is one tick")
    other = "SELL" if side == "BUY" else "BUY"
    price = f"{(ask - tick) if side == 'BUY' else (bid + tick):f}"
    maker = venue.resting(other, ordPx=price, timeInForce="POST_ONLY")
    if trader.place(maker).code:
        raise NotTried("the book moved")
    trader.place(venue.resting(str(side), ordPx=price, timeInForce="IOC"))
    state = trader.order(maker["clOrdId"])
    if state["status"] in ("FILLED", "NEW"):
        raise NotTried("others took the order first, or were ahead of it")
    expect(state["status"] == "CANCELED" and Decimal(state["filledQty"]) == 0, f"the resting one: {state}")


each(f"{RULES}: Order rules", "a {} never trades with its own account", ["BUY", "SELL"], self_trade)


@states(f"{RULES}: Order rules", "a fill beyond the limit never happens, and a maker keeps its price")
def _(venue: Venue) -> None:
    buyer, seller = flat(venue, 0), flat(venue, 1)
    venue.pair(buyer, seller)
    for trader in (buyer, seller):
        rows = venue.rows("/info/trade/page", userAddr=trader.address, pageSize=10)
        expect(rows, "no fill")
        for row in rows:
            if row["orderPx"] not in ("0", "") and Decimal(row["orderPx"]):
                ahead = Decimal(row["filledPx"]) - Decimal(row["orderPx"])
                expect(ahead * (1 if int(row["side"]) == 1 else -1) <= 0, row)


@states(f"{FACTS}: Trading rules", "a market order is bounded by its slippage: what lies beyond is cancelled")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    last = venue.last_price()
    order = venue.market(slippagePct="0.005")
    accepted(trader.place(order))
    for row in venue.rows("/info/trade/page", userAddr=trader.address, orderId=trader.order(order["clOrdId"])["ordId"]):
        expect(Decimal(row["filledPx"]) <= last * Decimal("1.01"), f"{row['filledPx']} with the last price at {last}")


# --- fees and money
def charged(venue: Venue, role: str) -> tuple[Decimal, Decimal]:
    """Let account 0 trade as maker or taker; return the fee and the value of its newest fill."""
    trader, other = flat(venue, 0), flat(venue, 1)
    for _ in range(5):
        order = venue.market() if role == "taker" else None
        if order:
            accepted(trader.place(order))
        else:
            venue.pair(other, trader)
            own = venue.rows("/info/order/states", userAddr=trader.address, pageSize=1)[0]
            if own["status"] != "FILLED":
                accepted(trader.act("cancelAll", symbolCode=venue.code))
                continue
        row = venue.rows("/info/trade/page", userAddr=trader.address, pageSize=1)[0]
        fee = Decimal(row["openFee"]) + Decimal(row["closeFee"])
        return fee, Decimal(row["filledPx"]) * Decimal(row["execQty"])
    raise NotTried("others took the order first every time")


@states(f"{FACTS}: Trading rules", "a taker pays the taker's rate of the value it trades, rounded up to 1e-6")
def _(venue: Venue) -> None:
    fee, value = charged(venue, "taker")
    rate = Decimal(venue.product["defaultTakerFeeRate"])
    expect(abs(abs(fee) - value * rate) <= Decimal("0.000002"), f"{fee} of {value} at {rate}")


@states(f"{FACTS}: Trading rules", "a maker pays the maker's rate of the value it trades, rounded up to 1e-6")
def _(venue: Venue) -> None:
    fee, value = charged(venue, "maker")
    rate = Decimal(venue.product["defaultMakerFeeRate"])
    expect(abs(abs(fee) - value * rate) <= Decimal("0.000002"), f"{fee} of {value} at {rate}")


@states(f"{FACTS}: Trading rules", "the default rates are 0.01 % for makers and 0.06 % for takers")
def _(venue: Venue) -> None:
    for row in venue.meta["perpProducts"]:
        rates = (Decimal(row["defaultMakerFeeRate"]), Decimal(row["defaultTakerFeeRate"]))
        expect(rates == (Decimal("0.0001"), Decimal("0.0006")), f"{row['symbol']}: {rates}")


@states(
    f"{FACTS}: Trading rules", "unrealised profit and margin can't be withdrawn: an order reduces what is available"
)
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    before = Decimal(venue.rows("/info/account/wallet", userAddr=trader.address)[0]["availableBalance"])
    order = venue.resting(ordQty=venue.quantity("500", venue.price("0.8")))
    accepted(trader.place(order))
    after = Decimal(venue.rows("/info/account/wallet", userAddr=trader.address)[0]["availableBalance"])
    expect(after < before, f"{before}, then {after}")
    accepted(trader.act("cancelAll", symbolCode=venue.code))
    again = Decimal(venue.rows("/info/account/wallet", userAddr=trader.address)[0]["availableBalance"])
    expect(again == before, f"{before}, then {again} without the order")


@states(f"{RULES}: Margin", "an order beyond what the margin covers is refused")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    price = venue.price("0.8")
    value = free(venue, trader) * Decimal(venue.product["maxLeverage"]) * 2
    quantity = min(Decimal(venue.quantity(value, price)), Decimal(venue.product["maxOrderQty"]))
    refused(trader.place(venue.resting(ordPx=price, ordQty=f"{quantity:f}")), 40230)


# --- exits
def reduce_only(venue: Venue, side: object) -> None:
    trader, size = held(venue, 1, str(side))
    other = "SELL" if side == "BUY" else "BUY"
    trader.place(venue.market(other, f"{abs(size) * 2:f}", reduceOnlyOption="REDUCE_ONLY", slippagePct="0.05"))
    expect(trader.size(venue.code) == 0, f"a position of {trader.size(venue.code)} is left")


each(f"{RULES}: Order rules", "reduce-only never flips a position that began with a {}", ["BUY", "SELL"], reduce_only)


@states(f"{RULES}: Order rules", "reduce-only on the position's own side is refused")
def _(venue: Venue) -> None:
    for side in ("BUY", "SELL"):
        trader, _ = held(venue, 1, side)
        refused(trader.place(venue.resting(side, reduceOnlyOption="REDUCE_ONLY")))


def waits(venue: Venue, kind: object) -> None:
    for side in ("BUY", "SELL"):
        trader, size = held(venue, 1, side)
        gain = (size > 0) == (kind == "TP_FROM_POSITION")
        order = exit_of(venue, size, str(kind), "1.3" if gain else "0.7")
        accepted(trader.place(order))
        expect(status(trader, order) == "ORDER_STATUS_UNTRIGGERED", f"{side}: {status(trader, order)}")
        met = exit_of(venue, size, str(kind), "0.7" if gain else "1.3")
        refused(trader.place(met))


each(
    f"{RULES}: Order rules",
    "{} waits for its trigger; one that is met already is refused",
    ["TP_FROM_POSITION", "SL_FROM_POSITION"],
    waits,
)


@states(f"{RULES}: Order rules", "an exit is cancelled when the position is gone")
def _(venue: Venue) -> None:
    trader, size = held(venue, 1)
    order = exit_of(venue, size, "SL_FROM_POSITION", "0.7")
    accepted(trader.place(order))
    side = "SELL" if size > 0 else "BUY"
    accepted(trader.place(venue.market(side, f"{abs(size):f}", reduceOnlyOption="REDUCE_ONLY", slippagePct="0.05")))
    venue.until(lambda: status(trader, order) == "CANCELED", "the cancelled exit")


@states(f"{RULES}: Order rules", "the exits of a bracket wait for its main order, and go with it when it is cancelled")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    main = venue.resting()
    exits = [
        venue.market("SELL", main["ordQty"], reduceOnly=kind, triggerPx=venue.price(at), tpslTriggerType="MARK_PRICE")
        for kind, at in (("TP_FROM_POSITION", "1.3"), ("SL_FROM_POSITION", "0.6"))
    ]
    accepted(trader.act("placeBracketOrder", orders=[main, *exits]))
    expect(status(trader, main) == "NEW", status(trader, main))
    cancel = {"symbolCode": str(venue.code), "clOrdId": str(main["clOrdId"])}
    accepted(trader.act("cancelOrder", cancels=[cancel]))
    left = venue.rows("/info/order/states", userAddr=trader.address, status="ORDER_STATUS_UNTRIGGERED")
    expect(not left, f"{len(left)} exits are left")


@states(f"{RULES}: Order rules", "a bracket is all or nothing")
def _(venue: Venue) -> None:
    trader = flat(venue, 1)
    main = venue.resting()
    bad = venue.market("SELL", off_grid(main["ordQty"], venue.product["stepSize"]), reduceOnly="SL_FROM_POSITION")
    bad |= {"triggerPx": venue.price("0.6"), "tpslTriggerType": "MARK_PRICE"}
    refused(trader.act("placeBracketOrder", orders=[main, bad]))
    rows = venue.rows("/info/order/states", userAddr=trader.address, status="NEW")
    expect(not any(int(row["clOrdId"]) == main["clOrdId"] for row in rows), "the main order stands")


@states(f"{RULES}: Order rules", "closing a whole position is exempt from minOrderValue")
def _(venue: Venue) -> None:
    trader, size = held(venue, 1)
    step = Decimal(venue.product["stepSize"])
    if abs(size) <= step:
        raise NotTried("the position is one step")
    side = "SELL" if size > 0 else "BUY"
    accepted(trader.place(venue.market(side, f"{abs(size) - step:f}", reduceOnlyOption="REDUCE_ONLY")))
    expect(abs(trader.size(venue.code)) == step, f"{trader.size(venue.code)} is left")
    accepted(trader.place(venue.market(side, f"{step:f}", reduceOnlyOption="REDUCE_ONLY")))
    expect(trader.size(venue.code) == 0, "it is not closed")


# --- margin modes and leverage
@states(f"{FACTS}: Trading rules", "the position mode is one-way by default")
def _(venue: Venue) -> None:
    trader, _ = held(venue, 1)
    expect(trader.position(venue.code)["positionMode"] == "ONE_WAY", trader.position(venue.code))


@states(
    f"{FACTS}: Trading rules", "margin is cross by default, may become isolated with a position open, and be moved then"
)
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


@states(f"{FACTS}: Trading rules", "leverage that is set is that of the position")
def _(venue: Venue) -> None:
    trader, _ = held(venue, 1)
    for leverage in ("7", "20"):
        accepted(trader.act("setLeverage", symbolCode=venue.code, leverage=leverage))
        row = trader.position(venue.code)
        expect(Decimal(row["leverage"]) == Decimal(leverage), f"{leverage}: {row['leverage']}")


@states(f"{RULES}: Margin", "a position's entry value is its size times the price of its fill")
def _(venue: Venue) -> None:
    trader, size = held(venue, 1)
    rows = venue.rows("/info/trade/page", userAddr=trader.address, pageSize=20)
    newest = [row for row in rows if row["txHash"] == rows[0]["txHash"]]
    value = sum(Decimal(row["filledPx"]) * Decimal(row["execQty"]) for row in newest)
    entry = Decimal(trader.position(venue.code)["longEntryValue"])
    expect(abs(entry - value) < CENT_OF_A_CENT, f"{entry} with fills of {value} for {size}")


# --- published prices
@states(f"{FACTS}: Trading rules", "oracle and mark price come every 3 s")
def _(venue: Venue) -> None:
    with venue.feed() as feed:
        feed.first(subscription(venue, "ticker"))
        times: list[int] = []
        held_price = None
        while len(times) < 4:
            data = feed.data("ticker")["data"]
            now = data["ticker"].get("op")
            if now is not None and now != held_price:
                held_price = now
                times.append(int(data["timestamp"]))
    gaps = [after - before for before, after in itertools.pairwise(times[1:])]
    late = [abs(gap - 3_000 * round(gap / 3_000)) for gap in gaps]
    expect(min(gaps) > 2_000 and max(late) < 1_000, f"the oracle price changed after {gaps} ms")


@states(f"{FACTS}: Trading rules", "funding is every 4 h by default")
def _(venue: Venue) -> None:
    intervals = {row["symbol"]: int(row["fundingInterval"]) for row in venue.meta["perpProducts"]}
    expect(set(intervals.values()) == {14_400}, intervals)


@states(f"{RULES}: Prices", "settled funding rates are within 2 % of 0, at multiples of the interval")
def _(venue: Venue) -> None:
    rows = venue.rows("/info/fundingRate/history", symbol=venue.code)
    if not rows:
        raise NotTried("no funding was settled yet")
    for row in rows:
        rate = next((Decimal(str(value)) for key, value in row.items() if "rate" in key.lower()), None)
        if rate is None or abs(rate) > Decimal("0.02"):
            raise Differs(str(row))
