"""Statements on the Info API: each path with its parameters, its envelope, its pages, and the fields of its records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from .orders import placed
from .programs import accepted, authorised, vault
from .requests import FACTS, SPEC, malformed, refused
from .statements import Differs, NotTried, each, expect, states
from .venue import Venue

TEXT, NUMBER, AMOUNT, ANY = "text", "an integer", "an amount as text", "anything"
WALLET = {"blockHeight": NUMBER, "userAddr": TEXT, "currency": NUMBER, "balance": AMOUNT, "availableBalance": AMOUNT,
          "availableTransferBalance": AMOUNT, "equity": AMOUNT, "status": ANY, "blockTime": NUMBER}  # fmt: skip
AGENT = {"id": ANY, "masterAddress": TEXT, "agentAddress": TEXT, "agentName": TEXT, "status": ANY, "permission": ANY,
         "approvedAt": ANY, "approvedBlock": ANY, "approvalTx": TEXT, "revokedAt": ANY, "revokedBlock": ANY,
         "revokeTx": ANY}  # fmt: skip
STATE = {"id": ANY, "blockHeight": NUMBER, "ordId": ANY, "clOrdId": ANY, "parentOrdId": ANY, "userAddr": TEXT,
         "symbol": ANY, "side": ANY, "type": ANY, "price": AMOUNT, "qty": AMOUNT, "filledQty": AMOUNT,
         "leaveQty": AMOUNT, "cumFilledValue": AMOUNT, "cumFee": AMOUNT, "triggerPx": AMOUNT, "status": TEXT,
         "timeInForce": ANY, "reduceOnly": ANY, "conditionalOrderTriggerType": ANY, "blockTime": NUMBER}  # fmt: skip
EVENT = {"id": ANY, "blockHeight": NUMBER, "userAddr": TEXT, "ordId": ANY, "clOrdId": ANY, "symbol": ANY, "side": ANY,
         "execStatus": TEXT, "ordPx": AMOUNT, "filledPx": AMOUNT, "execQty": AMOUNT, "leavesQty": AMOUNT,
         "execId": ANY, "realizedPnl": AMOUNT, "openFee": AMOUNT, "closeFee": AMOUNT, "blockTime": NUMBER,
         "txHash": TEXT, "ordType": ANY, "timeInForce": ANY, "ordQty": AMOUNT, "triggerPx": AMOUNT}  # fmt: skip
POSITION = {"userAddr": TEXT, "symbolCode": ANY, "leverage": AMOUNT, "longSize": AMOUNT, "shortSize": AMOUNT,
            "longEntryValue": AMOUNT, "shortEntryValue": AMOUNT, "positionMode": TEXT, "positionMarginMode": TEXT,
            "assignedPosBalance": AMOUNT, "unrealizedPnl": AMOUNT, "cumRealizedPnl": AMOUNT, "curMarkPx": AMOUNT,
            "cumTransactionFee": AMOUNT, "createTime": NUMBER, "blockTime": NUMBER}  # fmt: skip
TRADE = {"id": ANY, "blockHeight": NUMBER, "userAddr": TEXT, "symbol": ANY, "orderId": ANY, "clientOrderId": ANY,
         "side": ANY, "execStatus": TEXT, "orderPx": AMOUNT, "filledPx": AMOUNT, "execQty": AMOUNT,
         "leavesQty": AMOUNT, "execId": ANY, "realizedPnl": AMOUNT, "openFee": AMOUNT, "closeFee": AMOUNT,
         "blockTime": NUMBER, "txHash": TEXT}  # fmt: skip
KLINE = {"symbolName": TEXT, "timestamp": NUMBER, "intrvl": NUMBER, "open": AMOUNT, "high": AMOUNT, "low": AMOUNT,
         "close": AMOUNT, "volume": AMOUNT, "turnover": AMOUNT, "tradeCount": NUMBER}  # fmt: skip
PRODUCT = {"name": TEXT, "symbol": TEXT, "code": TEXT, "currencyCode": ANY, "maxLeverage": AMOUNT,
           "pricePrecision": NUMBER, "qtyPrecision": NUMBER, "tickSize": AMOUNT, "stepSize": AMOUNT,
           "maxOrderQty": AMOUNT, "maxSlippagePct": AMOUNT, "maxPositionNtnl": AMOUNT, "fundingInterval": NUMBER,
           "productType": ANY, "listStatus": TEXT, "onlyIsolated": ANY, "baseCurrency": TEXT, "quoteCurrency": TEXT,
           "settleCurrency": TEXT, "minOrderValue": AMOUNT, "defaultMakerFeeRate": AMOUNT,
           "defaultTakerFeeRate": AMOUNT, "marginTableId": ANY}  # fmt: skip
CURRENCY = {"name": TEXT, "currency": ANY, "code": ANY, "walletPrecision": NUMBER, "displayPrecision": NUMBER}
LIMIT = {"minimumValue": AMOUNT, "maintainMarginRatio": AMOUNT, "maxLeverage": AMOUNT}
VAULT = {"vaultAddress": TEXT, "ownerAddress": TEXT, "vaultName": TEXT, "tvl": AMOUNT, "price": AMOUNT, "apr": ANY,
         "status": ANY}  # fmt: skip


@dataclass(frozen=True)
class Path:
    """A path of the Info API: required and optional parameters, whether it pages, and the fields of its rows."""

    path: str
    required: str = ""
    optional: str = ""
    paged: bool = False
    record: dict[str, str] | None = None


TIMES = "page pageSize startTime endTime"
PATHS = (
    Path("/info/public/product-meta", "", "listStatus"),
    Path("/info/single", "symbol"),
    Path("/info/account/wallet", "userAddr", "currency includeZero", record=WALLET),
    Path("/info/account/ledger", "userAddr", f"currency bizType txHash {TIMES}", True),
    Path("/info/account/agent", "userAddr", "role status agentAddress masterAddress page pageSize", True, AGENT),
    Path("/info/account/agent/active", "userAddr agentName", record=AGENT),
    Path("/info/order/states", "userAddr", f"symbol status side type orderId clientOrderId parentOrderId {TIMES}",
         True, STATE),
    Path("/info/order/events", "userAddr", f"orderId clientOrderId symbol execStatus side {TIMES}", True, EVENT),
    Path("/info/position/list", "userAddr", "symbol posMode includeZero", record=POSITION),
    Path("/info/trade/page", "userAddr", f"symbol orderId execId side role {TIMES}", True, TRADE),
    Path("/info/kline/last", "symbol_name interval", "limit", record=KLINE),
    Path("/info/kline/before", "symbol_name interval", "timestamp limit", record=KLINE),
    Path("/info/kline/list", "symbol_name interval startTime endTime", record=KLINE),
    Path("/info/fundingRate/current", "", "symbol"),
    Path("/info/fundingRate/history", "symbol", TIMES, True),
    Path("/info/funding/history", "userAddr", f"symbol {TIMES}", True),
    Path("/info/vault/detail", "vaultAddress", "userAddress", record=VAULT),
    Path("/info/vault/list", "", "userAddress"),
    Path("/info/vault/user-list", "userAddress"),
    Path("/info/vault/user", "vaultAddress userAddress"),
    Path("/info/vault/history", "vaultAddress", "type interval"),
    Path("/info/vault/events", "vaultAddress", "page pageSize", True),
    Path("/info/vault/depositors", "vaultAddress"),
    Path("/info/referral/code", "userAddr"),
    Path("/info/referral/summary", "userAddr", "period startTime endTime"),
    Path("/info/referral/referrals", "userAddr", "page size sortBy sortOrder search", True),
    Path("/info/referral/payouts", "userAddr", "page size", True),
    Path("/info/referral/tiers"),
    Path("/info/builder/agents", "builder", "wallet agent approveState includeExpired page pageSize"),
    Path("/info/explore/transaction/page", "user", "page pageSize", True),
    Path("/info/explore/transaction/detail", "txHash"),
    Path("/info/explore/block/detail", "blockHeight", "page pageSize"),
)  # fmt: skip
NAMES = {each.path: each for each in PATHS}


def traded(venue: Venue) -> None:
    """See that account 0 has a position, a fill, an open order and an agent."""
    if not venue.done("traded"):
        venue.pair(venue.trader(0), venue.trader(1))
        accepted(venue.approve(venue.trader(0).master, venue.stranger(), name="listed"))
        placed(venue, venue.trader(0))


def values(venue: Venue) -> dict[str, Any]:
    """Return a value for each parameter of the paths, by the first time that they are asked for."""
    if venue.done("values"):
        known: dict[str, Any] = venue.kept["known values"]
        return known
    traded(venue)
    trader, now = venue.trader(0), venue.nonce()
    transaction = accepted(trader.place(venue.resting())).data["txHash"]
    authorised(venue)
    trade = venue.rows("/info/trade/page", userAddr=trader.address)[0]
    venue.kept["known values"] = {
        "userAddr": trader.address, "user": trader.address, "userAddress": venue.trader(3).address,
        "agentName": "listed", "agentAddress": trader.agent.address, "masterAddress": trader.address,
        "symbol": venue.code, "symbol_name": venue.product["symbol"], "interval": 60, "limit": 5,
        "startTime": now - 600_000, "endTime": now, "timestamp": now, "page": 1, "pageSize": 5, "size": 5,
        "vaultAddress": vault(venue), "type": "tvl", "builder": venue.trader(6).address, "blockHeight": 1,
        "txHash": transaction, "orderId": trade["orderId"], "execId": trade["execId"],
        "clientOrderId": trade["clientOrderId"], "parentOrderId": 0, "side": 1, "currency": 1, "includeZero": "false",
        "includeExpired": "false", "listStatus": "listed", "posMode": 1, "approveState": "APPROVED",
    }  # fmt: skip
    return values(venue)


def asked(venue: Venue, path: Path, *optional: str, **other: Any) -> Any:
    """Return the data of a path, asked with its required parameters and some optional ones."""
    known = values(venue)
    given = {name: known[name] for name in (*path.required.split(), *optional)}
    return accepted(venue.info(path.path, **{**given, **other})).data


def rows_of(data: Any) -> list[dict[str, Any]]:
    rows = data.get("items", [data]) if isinstance(data, dict) else data
    return list(rows)


def kind_of(value: Any, kind: str) -> bool:
    if kind == TEXT:
        return isinstance(value, str)
    if kind == NUMBER:
        return type(value) is int or (isinstance(value, str) and value.isdigit())
    if kind == AMOUNT:
        try:
            return isinstance(value, str) and Decimal(value).is_finite()
        except InvalidOperation:
            return False
    return True


def has_fields(row: dict[str, Any], record: dict[str, str], name: str) -> None:
    missing = sorted(set(record) - set(row))
    expect(not missing, f"{name} lacks {', '.join(missing)}")
    wrong = [f"{key} is {row[key]!r}, not {kind}" for key, kind in record.items() if not kind_of(row[key], kind)]
    expect(not wrong, f"{name}: {'; '.join(wrong)}")


def answers(venue: Venue, path: object) -> None:
    here = NAMES[str(path)]
    given = {name: values(venue)[name] for name in here.required.split()}
    answer = accepted(venue.info(here.path, **given))
    expect(answer.message == "success" and answer.data is not None, answer)


def requires(path: Path, name: str) -> Callable[[Venue, object], None]:
    def check(venue: Venue, _: object) -> None:
        known = values(venue)
        refused(venue.info(path.path, **{each: known[each] for each in path.required.split() if each != name}))

    return check


FILTERS = {
    "symbol": ("symbol", "symbolCode"), "side": ("side",), "orderId": ("ordId", "orderId"), "execId": ("execId",),
    "clientOrderId": ("clOrdId", "clientOrderId"), "agentAddress": ("agentAddress",), "txHash": ("txHash",),
}  # fmt: skip
"""Parameter → the fields of which each row has its value."""
SIZES = ("pageSize", "size", "limit")


def takes(venue: Venue, path: object) -> None:
    """Ask with each optional parameter: its rows are those that it chooses, and no more than it allows."""
    here = NAMES[str(path)]
    other = {"/info/order/states": {"type": 1}, "/info/vault/history": {"interval": "24h"}}.get(here.path, {})
    for name in here.optional.split():
        if name not in values(venue):
            continue
        value = other.get(name, values(venue)[name])
        rows = rows_of(asked(venue, here, name, **{name: value}))
        expect(name not in SIZES or len(rows) <= value, f"{len(rows)} rows with {name} {value}")
        for row in rows if here.record else ():
            found = [str(row[field]) for field in FILTERS.get(name, ()) if field in row]
            expect(all(each.lower() == str(value).lower() for each in found), f"{name} {value} answers {found}")


def shaped(venue: Venue, path: object) -> None:
    here = NAMES[str(path)]
    rows = rows_of(asked(venue, here))
    expect(rows, "no row")
    for row in rows:
        has_fields(row, here.record or {}, here.path)


def pages(venue: Venue, path: object) -> None:
    here = NAMES[str(path)]
    size = "size" if " size" in here.optional else "pageSize"
    whole = asked(venue, here)
    if isinstance(whole, list):
        raise NotTried("it answers a bare list, which the document allows")
    expect(isinstance(whole.get("total"), int) and isinstance(whole.get("items"), list), f"no page: {sorted(whole)}")
    expect(len(whole["items"]) == min(20, whole["total"]), f"{len(whole['items'])} of {whole['total']} by default")
    found: list[Any] = []
    for page in range(1, 4):
        found += asked(venue, here, page=page, **{size: 3})["items"]
    expect(found == whole["items"][:9][: len(found)], "three pages of three are not the first nine rows")
    expect(asked(venue, here, page=10_000, **{size: 20})["items"] == [], "rows beyond the end")


each(f"{FACTS}: Info API", "{} answers in the envelope", [here.path for here in PATHS], answers)
for _path in PATHS:
    for _name in _path.required.split():
        each(f"{FACTS}: Info API", f"{_path.path} requires {_name}{{}}", [""], requires(_path, _name))
each(f"{FACTS}: Info API", "{} takes its optional parameters", [p.path for p in PATHS if p.optional], takes)
each(f"{FACTS}: Info API", "each row of {} has its fields", [p.path for p in PATHS if p.record], shaped)
each(
    f"{FACTS}: Info API",
    "{} pages: from 1, 20 rows by default, none beyond the end",
    [p.path for p in PATHS if p.paged],
    pages,
)


# --- products
for _name in ("code", "symbol", "maxLeverage", "pricePrecision", "qtyPrecision", "tickSize", "stepSize",
              "minOrderValue", "maxSlippagePct"):  # fmt: skip
    each(
        f"{SPEC}: Product metadata",
        "every product has {}",
        [_name],
        lambda venue, name: expect(
            all(row.get(str(name)) not in (None, "") for row in venue.meta["perpProducts"]), "not every one"
        ),
    )


@states(
    f"{FACTS}: Info API", "product-meta has md5Checksum, perpProducts, marginTables and currencies with their fields"
)
def _(venue: Venue) -> None:
    expect(isinstance(venue.meta.get("md5Checksum"), str), "no md5Checksum")
    for row in venue.meta["perpProducts"]:
        has_fields(row, PRODUCT, "a product")
    for table in venue.meta["marginTables"]:
        expect(table.get("tableId") is not None and table.get("riskLimitVo"), table)
        for row in table["riskLimitVo"]:
            has_fields(row, LIMIT, "a risk limit")
    for row in venue.meta["currencies"]:
        has_fields(row, CURRENCY, "a currency")


@states(f"{FACTS}: Info API", "/info/single answers one product by its code")
def _(venue: Venue) -> None:
    for row in venue.meta["perpProducts"]:
        data = accepted(venue.info("/info/single", symbol=row["code"])).data
        found = [each["symbol"] for each in data.get("perpProducts", [data])]
        expect(found == [row["symbol"]], f"{row['code']}: {found}")
    refused(venue.info("/info/single", symbol=987_654))


@states(f"{FACTS}: Info API", "the first risk limit of each margin table begins at 0, and leverage falls with each")
def _(venue: Venue) -> None:
    for table in venue.meta["marginTables"]:
        floors = [Decimal(row["minimumValue"]) for row in table["riskLimitVo"]]
        most = [Decimal(row["maxLeverage"]) for row in table["riskLimitVo"]]
        expect(floors[0] == 0 and floors == sorted(floors) and most == sorted(most, reverse=True), table)


# --- orders, fills and positions
def untriggered(venue: Venue) -> dict[str, Any]:
    """Give account 0 a stop, and return its state."""
    traded(venue)
    trader = venue.trader(0)
    order = venue.market("SELL", "0", reduceOnlyOption="SL_FROM_POSITION", triggerPx=venue.price("0.5"))
    if trader.size(venue.code) < 0:
        order |= {"ordSide": "BUY", "triggerPx": venue.price("1.5")}
    accepted(trader.place({**order, "tpslTriggerType": "MARK_PRICE"}))
    return trader.order(order["clOrdId"])


@states(f"{FACTS}: Info API", "a waiting trigger has status ORDER_STATUS_UNTRIGGERED and is not in status=NEW")
def _(venue: Venue) -> None:
    state = untriggered(venue)
    expect(state["status"] == "ORDER_STATUS_UNTRIGGERED", state["status"])
    new = venue.rows("/info/order/states", userAddr=venue.trader(0).address, status="NEW", pageSize=100)
    expect(all(row["ordId"] != state["ordId"] for row in new), "it is in status=NEW")
    waiting = venue.rows("/info/order/states", userAddr=venue.trader(0).address, status="ORDER_STATUS_UNTRIGGERED")
    expect(any(row["ordId"] == state["ordId"] for row in waiting), "it is not in its own status")


def filtered(venue: Venue, name: object) -> None:
    traded(venue)
    trader, state = venue.trader(0), placed(venue, venue.trader(0))
    wanted: dict[str, tuple[str, Any]] = {
        "symbol": ("symbol", venue.code), "status": ("status", "NEW"), "side": ("side", 1), "type": ("type", 1),
        "orderId": ("ordId", state["ordId"]), "clientOrderId": ("clOrdId", state["clOrdId"]),
    }  # fmt: skip
    field, value = wanted[str(name)]
    rows = venue.rows("/info/order/states", userAddr=trader.address, pageSize=100, **{str(name): value})
    expect(rows, "no row")
    expect(all(str(row[field]) == str(value) for row in rows), f"{field}: {sorted({str(row[field]) for row in rows})}")


each(
    f"{FACTS}: Info API",
    "/info/order/states filters by {}",
    ["symbol", "status", "side", "type", "orderId", "clientOrderId"],
    filtered,
)


@states(f"{FACTS}: Info API", "startTime and endTime bound a query in ms, both")
def _(venue: Venue) -> None:
    traded(venue)
    address = venue.trader(0).address
    rows = venue.rows("/info/order/events", userAddr=address, pageSize=100)
    times = sorted({int(row["blockTime"]) for row in rows})
    middle = times[len(times) // 2]
    for bound, good in (("startTime", lambda t: t >= middle), ("endTime", lambda t: t <= middle)):
        found = venue.rows("/info/order/events", userAddr=address, pageSize=100, **{bound: middle})
        expect(found and all(good(int(row["blockTime"])) for row in found), f"{bound} {middle}")


@states(f"{FACTS}: Info API", "times of records are in ms")
def _(venue: Venue) -> None:
    traded(venue)
    row = venue.rows("/info/order/states", userAddr=venue.trader(0).address)[0]
    expect(abs(int(row["blockTime"]) - venue.nonce()) < 86_400_000 * 400, f"blockTime {row['blockTime']}")


@states(f"{FACTS}: Info API", "the numbers of side and type: 1 BUY, 2 SELL; 1 LIMIT, 2 MARKET")
def _(venue: Venue) -> None:
    trader = venue.trader(0)
    for order, side, kind in ((venue.resting("SELL"), 2, 1), (venue.resting(), 1, 1), (venue.market(), 1, 2)):
        accepted(trader.place(order))
        state = trader.order(order["clOrdId"])
        expect((int(state["side"]), int(state["type"])) == (side, kind), f"side {state['side']}, type {state['type']}")


@states(f"{FACTS}: Info API", "the quantities of an order add up: filled and left make the quantity until it ends")
def _(venue: Venue) -> None:
    traded(venue)
    rows = venue.rows("/info/order/states", userAddr=venue.trader(0).address, pageSize=100, status="NEW")
    expect(rows, "no open order")
    for row in rows:
        expect(Decimal(row["filledQty"]) + Decimal(row["leaveQty"]) == Decimal(row["qty"]), row)


@states(f"{FACTS}: Info API", "an unknown userAddr has no rows; one that is no address is refused")
def _(venue: Venue) -> None:
    for path in ("/info/order/states", "/info/trade/page", "/info/position/list"):
        expect(venue.rows(path, userAddr=venue.stranger().address) == [], f"{path}: rows of nobody")
        refused(venue.info(path, userAddr="0x12"))


# --- candles
def candles(venue: Venue, path: str, **parameters: Any) -> list[dict[str, Any]]:
    return venue.rows(f"/info/kline/{path}", symbol_name=venue.product["symbol"], interval=60, **parameters)


@states(f"{FACTS}: Info API", "/info/kline/last is newest first, 100 by default, timestamps in seconds")
def _(venue: Venue) -> None:
    rows = candles(venue, "last")
    times = [int(row["timestamp"]) for row in rows]
    expect(len(rows) == 100 and times == sorted(times, reverse=True), f"{len(rows)} rows")
    expect(abs(times[0] - venue.nonce() // 1000) < 86_400 * 400 and times[0] % 60 == 0, f"timestamp {times[0]}")


@states(f"{FACTS}: Info API", "/info/kline/list is oldest first, within its times")
def _(venue: Venue) -> None:
    last = int(candles(venue, "last", limit=1)[0]["timestamp"]) * 1000
    rows = candles(venue, "list", startTime=last - 3_600_000, endTime=last)
    times = [int(row["timestamp"]) * 1000 for row in rows]
    expect(times and times == sorted(times), "not oldest first")
    expect(last - 3_600_000 <= times[0] and times[-1] <= last, f"{times[0]} to {times[-1]}")


@states(f"{FACTS}: Info API", "/info/kline/before has candles before its timestamp only")
def _(venue: Venue) -> None:
    last = int(candles(venue, "last", limit=1)[0]["timestamp"]) * 1000
    rows = candles(venue, "before", timestamp=last - 600_000, limit=5)
    expect(len(rows) == 5, f"{len(rows)} rows")
    expect(all(int(row["timestamp"]) * 1000 <= last - 600_000 for row in rows), "one of later")


@states(f"{FACTS}: Info API", "a candle's low and high enclose its open and close")
def _(venue: Venue) -> None:
    for row in candles(venue, "last"):
        low, high = Decimal(row["low"]), Decimal(row["high"])
        if not all(low <= Decimal(row[name]) <= high for name in ("open", "close")):
            raise Differs(str(row))


@states(f"{FACTS}: Info API", "an unknown symbol_name is refused, and so is an interval that does not exist")
def _(venue: Venue) -> None:
    refused(venue.info("/info/kline/last", symbol_name="NONESUCH", interval=60))
    for interval in ("7", "0", "text"):
        refused(venue.info("/info/kline/last", symbol_name=venue.product["symbol"], interval=interval))


each(
    f"{FACTS}: Info API",
    "page and pageSize are integers from 1: {} is malformed",
    ["0", "-1", "text", "1.5"],
    lambda venue, value: (
        malformed(venue.info("/info/trade/page", userAddr=venue.trader(0).address, page=value), "page"),
        malformed(venue.info("/info/trade/page", userAddr=venue.trader(0).address, pageSize=value), "pageSize"),
    ),
)


@states(f"{FACTS}: Info API", "the funding rate of every product is current, and its history is of one product")
def _(venue: Venue) -> None:
    current = rows_of(accepted(venue.info("/info/fundingRate/current")).data)
    expect(len(current) == len(venue.meta["perpProducts"]), f"{len(current)} rows")
    one = rows_of(accepted(venue.info("/info/fundingRate/current", symbol=venue.code)).data)
    expect(len(one) == 1, f"{len(one)} rows of one product")
