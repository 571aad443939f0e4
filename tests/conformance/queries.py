"""Statements on the Info API beyond its shapes: pages, filters, times, numbers and candles."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from .requests import malformed
from .shapes import PARAMETER, QUERIES, found, rows_of, shapes
from .signing import development_key
from .statements import NotTried, each, expect, for_all, states
from .venue import Venue, accepted, refused
from .world import ask, stop_of, traded


def pages(venue: Venue, operation: object) -> None:
    size = "size" if "size" in shapes(str(operation), PARAMETER) else "pageSize"

    def page(number: int, rows: int) -> list[Any]:
        data = accepted(ask(venue, str(operation), page=number, **{size: rows})).data
        return list(data["agents"]) if "agents" in data else rows_of(data)

    whole = page(1, 9)
    if len(whole) < 2:
        raise NotTried(f"it has {len(whole)} rows")
    three = -(-len(whole) // 3)
    expect([row for number in (1, 2, 3) for row in page(number, three)] == whole, "three pages are not the first rows")
    expect(page(10_000, 20) == [], "rows beyond the end")


PAGED = [operation for operation in QUERIES if "page" in shapes(operation, PARAMETER)]
each("P Info API: {} pages: from 1, in one order, and has no rows beyond the end", PAGED, pages)


# --- products
SPECIFIED = ["code", "symbol", "maxLeverage", "pricePrecision", "qtyPrecision", "tickSize", "stepSize",
             "minOrderValue", "maxSlippagePct"]  # fmt: skip


def specified(venue: Venue, name: object) -> None:
    expect(all(row.get(str(name)) not in (None, "") for row in venue.meta["perpProducts"]), "not every one has it")


each("S Product metadata: every product has {}", SPECIFIED, specified)


@states(
    "P Info API: listStatus of product-meta is a number: one of 0 to 9 chooses the listed products, another does not"
)
def _(venue: Venue) -> None:
    answers = [venue.info("/info/public/product-meta", listStatus=number) for number in range(10)]
    chosen = [len(found(one.body, "data.perpProducts[]")) for one in answers]
    listed = sum(row["listStatus"] == "listed" for row in venue.meta["perpProducts"])
    expect(listed in chosen and set(chosen) != {listed}, f"{listed} are listed, and 0 to 9 choose {chosen}")


@states("P Info API: /info/single answers one product by its code")
def _(venue: Venue) -> None:
    for row in venue.meta["perpProducts"]:
        data = accepted(venue.info("/info/single", symbol=row["code"])).data
        here = [each["symbol"] for each in data.get("perpProducts", [data])]
        expect(here == [row["symbol"]], f"{row['code']}: {here}")
    refused(venue.info("/info/single", symbol=987_654))


# --- orders, fills and positions
def states_of(venue: Venue, **wanted: Any) -> list[dict[str, Any]]:
    """Return states of account 0's orders, after some trading."""
    traded(venue)
    return venue.rows("/info/order/states", userAddr=venue.trader(0).address, pageSize=100, **wanted)


@states("O Info API: a waiting trigger has status ORDER_STATUS_UNTRIGGERED and is not in status=NEW")
def _(venue: Venue) -> None:
    traded(venue)
    trader = venue.trader(0)
    order = stop_of(venue, trader)
    accepted(trader.place(order))
    state = trader.order(order["clOrdId"])
    expect(state["status"] == "ORDER_STATUS_UNTRIGGERED", state["status"])
    expect(all(row["ordId"] != state["ordId"] for row in states_of(venue, status="NEW")), "it is in status=NEW")
    waiting = states_of(venue, status="ORDER_STATUS_UNTRIGGERED")
    expect(any(row["ordId"] == state["ordId"] for row in waiting), "it is not in its own status")


@states("P Info API: times of records are in ms, and startTime and endTime bound a query, both")
def _(venue: Venue) -> None:
    traded(venue)
    wanted = {"userAddr": venue.trader(0).address, "pageSize": 100}
    times = sorted({int(row["blockTime"]) for row in venue.rows("/info/order/events", **wanted)})
    middle = times[len(times) // 2]
    expect(abs(middle - venue.nonce()) < 86_400_000 * 400, f"blockTime {middle}")
    for bound, sign in (("startTime", 1), ("endTime", -1)):
        here = venue.rows("/info/order/events", **wanted, **{bound: middle})
        expect(here and all((int(row["blockTime"]) - middle) * sign >= 0 for row in here), f"{bound} {middle}")


@states("P Info API: the numbers of side and type: 1 BUY, 2 SELL; 1 LIMIT, 2 MARKET")
def _(venue: Venue) -> None:
    trader = venue.trader(0)
    for order, side, kind in ((venue.resting("SELL"), 2, 1), (venue.resting(), 1, 1), (venue.market(), 1, 2)):
        accepted(trader.place(order))
        state = trader.order(order["clOrdId"])
        expect((int(state["side"]), int(state["type"])) == (side, kind), f"side {state['side']}, type {state['type']}")


@states("P Info API: the quantities of an order add up: filled and left make the quantity until it ends")
def _(venue: Venue) -> None:
    rows = states_of(venue, status="NEW")
    expect(rows, "no open order")
    for row in rows:
        expect(Decimal(row["filledQty"]) + Decimal(row["leaveQty"]) == Decimal(row["qty"]), row)


def nobody(venue: Venue, path: object) -> None:
    expect(venue.rows(str(path), userAddr=venue.stranger().address) == [], "rows of nobody")


def no_address(venue: Venue, path: object) -> None:
    nobody(venue, path)
    refused(venue.info(str(path), userAddr="0x12"))


def no_page(venue: Venue, given: tuple[str, str]) -> None:
    address = development_key(0).address
    malformed(venue.info("/info/trade/page", **{"userAddr": address, given[0]: given[1]}), given[0])


OF_ACCOUNTS = ["/info/order/states", "/info/trade/page", "/info/position/list"]
NO_PAGES = [(name, value) for name in ("page", "pageSize") for value in ("0", "-1", "text", "1.5")]
for_all("L Info API: an unknown userAddr has no rows", OF_ACCOUNTS, nobody)
for_all("L Info API: a userAddr that is no address is refused", OF_ACCOUNTS, no_address)
for_all("L Info API: page and pageSize are integers from 1: others are malformed", NO_PAGES, no_page)


# --- candles
def candles(venue: Venue, path: str, **parameters: Any) -> list[dict[str, Any]]:
    return venue.rows(f"/info/kline/{path}", symbol_name=venue.product["symbol"], interval=60, **parameters)


@states("P Info API: /info/kline/last is newest first, /info/kline/list oldest first within its times, in seconds")
def _(venue: Venue) -> None:
    times = [int(row["timestamp"]) for row in candles(venue, "last")]
    expect(times and times == sorted(times, reverse=True), f"{len(times)} rows")
    expect(abs(times[0] - venue.nonce() // 1000) < 86_400 * 400 and times[0] % 60 == 0, f"timestamp {times[0]}")
    first, last = times[0] - 3_600, times[0]
    times = [int(row["timestamp"]) for row in candles(venue, "list", startTime=first * 1000, endTime=last * 1000)]
    expect(times and times == sorted(times), "not oldest first")
    expect(first <= times[0] and times[-1] <= last, f"{times[0]} to {times[-1]}")


@states("P Info API: /info/kline/before has candles before its timestamp only")
def _(venue: Venue) -> None:
    before = int(candles(venue, "last", limit=1)[0]["timestamp"]) * 1000 - 600_000
    rows = candles(venue, "before", timestamp=before, limit=5)
    expect(len(rows) == 5, f"{len(rows)} rows")
    expect(all(int(row["timestamp"]) * 1000 <= before for row in rows), "one of later")


@states("P Info API: a candle's low and high enclose its open and close")
def _(venue: Venue) -> None:
    for row in candles(venue, "last"):
        low, high = Decimal(row["low"]), Decimal(row["high"])
        expect(all(low <= Decimal(row[name]) <= high for name in ("open", "close")), row)


@states("L Info API: an unknown symbol_name is refused, and an interval that does not exist")
def _(venue: Venue) -> None:
    symbol = venue.product["symbol"]
    candles(venue, "last", limit=1)
    for name, interval in (("NONESUCH", "60"), (symbol, "7"), (symbol, "0"), (symbol, "text")):
        refused(venue.info("/info/kline/last", symbol_name=name, interval=interval))


@states("P Info API: the funding rate of every product is current, and one may be chosen")
def _(venue: Venue) -> None:
    current = rows_of(accepted(venue.info("/info/fundingRate/current")).data)
    expect(len(current) == len(venue.meta["perpProducts"]), f"{len(current)} rows")
    one = rows_of(accepted(venue.info("/info/fundingRate/current", symbol=venue.code)).data)
    expect(len(one) == 1, f"{len(one)} rows of one product")
