"""What a subscriber of the live feed has been shown, compared with the reference's state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from toolkit.venue.local import LocalVenue

from .books import Event, Product
from .shown import Json, Shown, fixed, money, plain, side_of

ACCOUNT_CHANNELS = ("aopState", "orderHist", "userFilled", "closedPosition", "userFunding")


class Reader:
    """Subscribes to everything and keeps what it is told."""

    def __init__(self, venue: LocalVenue, symbols: Sequence[str], names: Sequence[str]) -> None:
        self.connection = venue.host.feed.open("stranger")
        self.symbols, self.names = symbols, names
        self.logs: dict[str, list[Json]] = {}
        self.books: dict[str, dict[str, dict[str, str]]] = {s: {"bids": {}, "asks": {}} for s in symbols}
        self.tickers: dict[str, Json] = {}
        self.wallets: dict[str, Json] = {}
        self.orders: dict[str, dict[int, Json]] = {name: {} for name in names}
        for symbol in symbols:
            for wanted in ({"type": "orderBook", "depth": 200}, {"type": "trades"}, {"type": "ticker"}):
                self.subscribe(wanted | {"symbol": symbol})
        self.add(names)
        self.take()

    def add(self, names: Sequence[str]) -> None:
        for name in names:
            self.orders.setdefault(name, {})
            for kind in ACCOUNT_CHANNELS:
                self.subscribe({"type": kind, "userAddress": name})

    def subscribe(self, subscription: Json) -> None:
        self.connection.send(json.dumps({"method": "subscribe", "subscription": subscription}))

    def take(self) -> None:
        """Read what has come; logs hold what came since the last call."""
        self.logs = {kind: [] for kind in ("orderHist", "userFilled", "closedPosition", "userFunding", "trades")}
        for text in self.connection.drain():
            message = json.loads(text)
            if "data" in message:
                self.hear(message["channel"], message["data"])

    def hear(self, channel: str, data: Json) -> None:
        keys = {"orderHist": "orderHists", "userFilled": "userFills", "closedPosition": "closedPositions",
                "userFunding": "funding", "trades": "trades"}  # fmt: skip
        if channel in keys:
            if channel != "trades" or data["type"] == "incremental":
                self.logs[channel] += data[keys[channel]]
        elif channel == "orderBook":
            book = self.books[data["symbol"]]
            for side in ("bids", "asks"):
                if data["type"] == "snapshot":
                    book[side].clear()
                for price, quantity in data["book"][side]:
                    book[side][price] = quantity
                    if quantity == "0":
                        del book[side][price]
        elif channel == "ticker":
            self.tickers[data["symbol"]] = data["ticker"]
        elif channel == "aopState":
            self.hear_account(data["userAddr"].lower(), data["aop"])

    def hear_account(self, name: str, told: Json) -> None:
        for row in told.get("accounts", ()):
            self.wallets[name] = row
        for row in told.get("orders", ()):
            self.orders[name][row["ordId"]] = row
            if row["ordStatus"] in ("FILLED", "CANCELED", "REJECTED"):
                del self.orders[name][row["ordId"]]


def plain_row(row: Json, without: Sequence[str] = ()) -> Json:
    row = {name: value for name, value in row.items() if name not in without}
    return row | {"userAddr": row["userAddr"].lower()} if "userAddr" in row else row


def order_hist(shown: Shown, event: Event) -> Json:
    product = shown.reference.products[event.product]
    return {
        "transactionTime": event.time, "ordId": event.order, "clOrdId": event.client, "symbol": product.symbol,
        "ordSide": side_of(event), "ordType": event.kind, "execStatus": event.status,
        "ordPx": fixed(product.tick, event.price), "ordQty": fixed(product.step, event.quantity),
        "execPx": fixed(product.tick, event.fill_price), "execQty": fixed(product.step, event.fill),
        "execId": event.exec_id, "triggerPx": fixed(product.tick, event.trigger),
        "reduceOnly": event.reduce or "NONE", "userAddr": shown.name(event.account),
    }  # fmt: skip


def user_fill(shown: Shown, event: Event) -> Json:
    product = shown.reference.products[event.product]
    return {
        "transactionTime": event.time, "symbol": product.symbol, "ordSide": side_of(event),
        "filledPx": fixed(product.tick, event.fill_price), "execQty": fixed(product.step, event.fill),
        "openFee": money(event.open_fee), "closeFee": money(event.close_fee), "ordId": event.order,
        "execId": event.exec_id, "ordType": event.kind, "execStatus": event.status,
        "ordPx": fixed(product.tick, event.price), "ordQty": fixed(product.step, event.quantity),
        "posLongTerm": event.terms[0], "posShortTerm": event.terms[1], "userAddr": shown.name(event.account),
    }  # fmt: skip


def closed_position(shown: Shown, closing: Json) -> Json:
    product = shown.reference.products[closing["product"]]
    made = closing["pnl"] - closing["fees"] + closing["funding"]
    return {
        "closedTime": closing["time"], "symbol": product.symbol, "side": "LONG" if closing["side"] > 0 else "SHORT",
        "size": fixed(product.step, closing["size"]), "closedPnl": money(closing["pnl"]),
        "tradingFees": money(closing["fees"]), "fundingFees": money(closing["funding"]), "realisedPnl": money(made),
        "leverage": plain(closing["leverage"]), "openTime": closing["opened"], "term": closing["term"],
        "symbolCode": product.code, "userAddr": shown.name(closing["account"]),
    }  # fmt: skip


def funding(shown: Shown, payment: Json) -> Json:
    product = shown.reference.products[payment["product"]]
    return {
        "symbol": product.symbol, "posSide": "LONG" if payment["side"] > 0 else "SHORT",
        "posSize": fixed(product.step, payment["size"]), "fundingRate": plain(payment["rate"]),
        "fundingFee": money(payment["amount"]), "transactionTime": payment["time"],
        "userAddr": shown.name(payment["account"]),
    }  # fmt: skip


def levels(shown: Shown, product: Product, side: int) -> dict[str, str]:
    totals: dict[int, int] = {}
    for order in shown.reference.book(product, side):
        totals[order.price] = totals.get(order.price, 0) + order.leaves
    return {fixed(product.tick, price): fixed(product.step, steps) for price, steps in totals.items()}


def ticker(product: Product, bid: int, ask: int, interest: int) -> Json:
    return {
        "s": product.symbol, "p": fixed(product.tick, product.last), "op": fixed(product.tick, product.oracle),
        "mp": fixed(product.tick, product.mark), "oi": fixed(product.step, interest),
        "mid": fixed(product.tick, Fraction(bid + ask, 2), 1) if bid and ask else None,
    }  # fmt: skip


def compare(reader: Reader, shown: Shown, logged: int, closed: int, paid: int) -> dict[str, tuple[Any, Any]]:
    """Return what the feed has told since the last step, and what the reference has it to be, by channel."""
    venue, names = shown.reference, set(reader.orders)
    events = [e for e in venue.events[logged:] if shown.name(e.account) in names]
    mine: dict[str, list[Json]] = {
        "orderHist": [order_hist(shown, e) for e in events],
        "userFilled": [user_fill(shown, e) for e in events if e.fill],
        "closedPosition": [closed_position(shown, c) for c in venue.closings[closed:]],
        "userFunding": [funding(shown, p) for p in venue.payments[paid:]],
    }
    found: dict[str, tuple[Any, Any]] = {}
    drop = {"orderHist": ("slippagePct", "reason"), "userFilled": ("txHash",),
            "closedPosition": ("ordPx", "closePx", "roi"), "userFunding": ()}  # fmt: skip
    for kind, rows in mine.items():
        told = [plain_row(row, drop[kind]) for row in reader.logs[kind]]
        own = [row for row in rows if row["userAddr"] in names]

        def key(row: Json) -> str:
            return str(row["userAddr"])

        found[kind] = (sorted(told, key=key), sorted(own, key=key))
    for symbol in reader.symbols:
        product = next(p for p in venue.products.values() if p.symbol == symbol)
        own_book = {"bids": levels(shown, product, 1), "asks": levels(shown, product, -1)}
        found[f"orderBook.{symbol}"] = (reader.books[symbol], own_book)
        interest = sum(
            a.positions[product.code].long.size for a in venue.accounts.values() if product.code in a.positions
        )
        own_ticker = ticker(product, venue.best(product, 1), venue.best(product, -1), interest)
        told_ticker = reader.tickers.get(symbol, {})
        found[f"ticker.{symbol}"] = ({name: told_ticker.get(name) for name in own_ticker}, own_ticker)
    for name in reader.orders:
        account = venue.accounts[shown.back.get(name, name)]
        own_wallet = shown.wallet(account)
        del own_wallet["status"]
        found[f"wallet.{name}"] = ({n: reader.wallets[name][n] for n in own_wallet}, own_wallet)
        own_orders = {
            o.id: (o.status, fixed(o.product.step, o.leaves), fixed(o.product.tick, o.price))
            for o in account.orders.values()
        }
        told_orders = {n: (o["ordStatus"], o["leavesQty"], o["ordPx"]) for n, o in reader.orders[name].items()}
        found[f"orders.{name}"] = (told_orders, own_orders)
    return found
