"""A small exchange whose answers agree: two products, an account with an agent, a position, three orders, two fills.

Rows have the published names and types. Their values are unlike what a reader might put in for a missing field, so that
a value that was made up is seen.
"""

from __future__ import annotations

from typing import Any

from tests.conformance.signing import development_key

Row = dict[str, Any]
MASTER, AGENT = development_key(0), development_key(10)
STRANGER = development_key(9).address
"""An account without anything."""
NOW = 1_784_203_205_123
BTC, SOL = 17, 5
SYMBOLS = {BTC: "BTCUSDC", SOL: "SOLUSDC"}
VAULT = "0xc3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3"
NINE = (
    "code", "symbol", "maxLeverage", "pricePrecision", "qtyPrecision", "tickSize", "stepSize", "minOrderValue",
    "maxSlippagePct",
)  # fmt: skip
"""The fields of a product that the specification has."""
LAST = "62401.5"
"""The price of the last trade of BTCUSDC, at which market orders are filled."""
CURRENT_ORDER, FILLED_ORDER, STOP_ORDER = "700031", "700012", "700032"
LOWEST = {"BTCUSDC": 62_000, "SOLUSDC": 140}
EVENT_NUMBERS = (
    "filledPx", "execQty", "leavesQty", "execId", "realizedPnl", "openFee", "closeFee", "blockTime", "txHash",
    "execStatus",
)  # fmt: skip
"""What an event of a fill has of the fill."""


def tx(number: int) -> str:
    """Return a transaction hash in the form of the published examples: capitals, without 0x."""
    return f"{0xA1B2C3D4 + number:08X}" * 8


def product(code: int, name: str, tick: str, step: str, **more: Any) -> Row:
    """Return a product with the 22 published fields."""
    return {
        "name": f"{name} Perpetual", "symbol": SYMBOLS[code], "code": str(code), "currencyCode": 1, "maxLeverage": 30,
        "pricePrecision": 1, "qtyPrecision": 3, "tickSize": tick, "stepSize": step, "maxOrderQty": 250,
        "maxSlippagePct": "0.04", "maxPositionNtnl": 7_000_000, "fundingInterval": 7_200, "productType": "LINEAR_PERP",
        "listStatus": "listed", "onlyIsolated": True, "baseCurrency": SYMBOLS[code][:3], "quoteCurrency": "USDC",
        "settleCurrency": "USDC", "minOrderValue": "15", "defaultMakerFeeRate": "0.00013",
        "defaultTakerFeeRate": "0.00057", **more,
    }  # fmt: skip


PRODUCTS = [
    product(BTC, "Bitcoin", "0.5", "0.001"),
    product(SOL, "Solana", "0.05", "0.01", pricePrecision=2, qtyPrecision=2, maxLeverage=25, maxOrderQty=4_000),
]
MARGIN_TIERS = [
    {"minimumValue": "0", "maintainMarginRatio": "0.0125", "maxLeverage": 30},
    {"minimumValue": "900000", "maintainMarginRatio": "0.03", "maxLeverage": 12},
]
CURRENCIES = [{"name": "USD Coin", "currency": "USDC", "code": 1, "walletPrecision": 6, "displayPrecision": 2}]


def meta(*codes: int) -> Row:
    """Return the meta data of the products with these codes."""
    tables = [{"tableId": 4, "riskLimitVo": MARGIN_TIERS}]
    listed = [row for row in PRODUCTS if int(row["code"]) in codes]
    return {"md5Checksum": "5d41402abc4b", "perpProducts": listed, "marginTables": tables, "currencies": CURRENCIES}


def candle(symbol: str, start: int, interval: int) -> Row:
    """Return the candle of a product that starts at a time (s): the same one for every query."""
    low, trades = LOWEST[symbol] + start // interval % 89, 7 + start // interval % 5
    prices = {"open": f"{low}.5", "high": f"{low + 3}.25", "low": str(low), "close": f"{low + 1}.75"}
    return {"symbolName": symbol, "timestamp": start, "intrvl": interval, **prices, "volume": "12.625",
            "turnover": "757575.5", "tradeCount": trades}  # fmt: skip


class World:
    """The rows of the account at a time, in Unix ms."""

    def __init__(self, now: int = NOW) -> None:
        self.now, self.height = now, 16_170_233
        self.agents = [self.agent(AGENT.address, "desk", 812)]
        self.orders = [
            self.order(STOP_ORDER, "41003", side=2, type=2, qty="0.3", triggerPx="58000.5", timeInForce="IOC",
                       status="ORDER_STATUS_UNTRIGGERED", reduceOnly=3, conditionalOrderTriggerType=2, age=60_000,
                       parentOrdId=FILLED_ORDER),
            self.order(CURRENT_ORDER, "41002", price="59000.5", qty="0.25", age=90_000),
            self.order(FILLED_ORDER, "41001", type=2, qty="0.3", timeInForce="IOC", status="FILLED", filledQty="0.3",
                       leaveQty="0", cumFilledValue="18720.3", cumFee="10.795571", age=3_600_000),
        ]  # fmt: skip
        self.fills = [
            self.fill(5_502, "0.2", LAST, leavesQty="0", execStatus="FILLED", openFee="7.113771", age=3_600_000),
            self.fill(5_501, "0.1", "62400", leavesQty="0.2", execStatus="PARTIALLY_FILLED", openFee="3.5568",
                      age=3_601_000),
        ]  # fmt: skip
        stop, current, filled = self.orders
        shown = [(stop, None), (current, None), (filled, self.fills[0]), (filled, self.fills[1])]
        self.events = [self.event(order, 9_004 - number, fill) for number, (order, fill) in enumerate(shown)]
        self.wallet = {
            "blockHeight": self.height, "userAddr": MASTER.address, "currency": 1, "balance": "5000.25",
            "availableBalance": "4200.5", "availableTransferBalance": "4100.75", "equity": "5035.125",
            "status": "NORMAL", "blockTime": now - 1_000,
        }  # fmt: skip
        self.position = {
            "userAddr": MASTER.address, "symbolCode": BTC, "leverage": "8", "longSize": "0.3", "shortSize": "0",
            "longEntryValue": "18720.3", "shortEntryValue": "0", "positionMode": "ONE_WAY",
            "positionMarginMode": "ISOLATED", "assignedPosBalance": "2300.5", "unrealizedPnl": "30.15",
            "cumRealizedPnl": "-2.5", "curMarkPx": "62501.5", "cumTransactionFee": "10.795571",
            "createTime": now - 3_601_000, "blockTime": now - 1_000,
        }  # fmt: skip

    def agent(self, address: str, name: str, number: int) -> Row:
        """Return an agent of the account."""
        return {
            "id": number, "masterAddress": MASTER.address, "agentAddress": address, "agentName": name,
            "status": "ACTIVE", "permission": "TRADE", "approvedAt": self.now - 172_800_000,
            "approvedBlock": 16_100_417, "approvalTx": tx(number), "revokedAt": self.now + 86_400_000,
            "revokedBlock": 16_100_418, "revokeTx": tx(3),
        }  # fmt: skip

    def order(self, number: str, client: str, *, age: int = 0, **given: Any) -> Row:
        """Return an order of the account, by default an open limit order to buy BTCUSDC."""
        return {
            "id": int(number) + 90_000, "blockHeight": self.height, "ordId": number, "clOrdId": client,
            "parentOrdId": "0", "userAddr": MASTER.address, "symbol": BTC, "side": 1, "type": 1, "price": "0",
            "qty": "0", "filledQty": "0", "leaveQty": given["qty"], "cumFilledValue": "0", "cumFee": "0",
            "triggerPx": "0", "status": "NEW", "timeInForce": "GTC", "reduceOnly": 0,
            "conditionalOrderTriggerType": 0, "blockTime": self.now - age, **given,
        }  # fmt: skip

    def fill(self, number: int, quantity: str, price: str, *, age: int, **given: Any) -> Row:
        """Return a fill of the filled order."""
        return {
            "id": number, "blockHeight": self.height - number, "userAddr": MASTER.address, "symbol": BTC,
            "orderId": FILLED_ORDER, "clientOrderId": "41001", "side": "BUY", "orderPx": "0", "filledPx": price,
            "execQty": quantity, "execId": str(number), "realizedPnl": "-1.25", "closeFee": "0.0625",
            "blockTime": self.now - age, "txHash": tx(number), **given,
        }  # fmt: skip

    def event(self, order: Row, number: int, fill: Row | None = None) -> Row:
        """Return an event of an order: a fill, or that it has the state that it has."""
        done = fill or dict.fromkeys(EVENT_NUMBERS, "0") | {
            "leavesQty": order["leaveQty"], "blockTime": order["blockTime"], "txHash": tx(number),
            "execStatus": order["status"],
        }  # fmt: skip
        return {
            "id": number, "blockHeight": order["blockHeight"], "userAddr": MASTER.address, "ordId": order["ordId"],
            "clOrdId": order["clOrdId"], "symbol": order["symbol"], "side": "BUY" if order["side"] == 1 else "SELL",
            "ordPx": order["price"], "ordType": order["type"], "timeInForce": order["timeInForce"],
            "ordQty": order["qty"], "triggerPx": order["triggerPx"], **{name: done[name] for name in EVENT_NUMBERS},
        }  # fmt: skip
