"""What a subscriber of the live feed has been shown, compared with the reference's state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from toolkit.venue.local import LocalVenue

from .shown import Json, Shown, fixed

LOGS = {
    "orderHist": ("orderHists", {"slippagePct", "reason"}), "userFilled": ("userFills", {"txHash"}),
    "closedPosition": ("closedPositions", {"ordPx", "closePx", "roi"}), "userFunding": ("funding", set[str]()),
}  # fmt: skip
"""Channel of an account's rows → their name in its messages, and the members that are not compared."""


class Reader:
    """Subscribes to everything and keeps what it is told."""

    def __init__(self, venue: LocalVenue, symbols: Sequence[str], names: Sequence[str]) -> None:
        self.connection = venue.host.feed.open("reference")
        self.logs: dict[str, list[Json]] = {}
        self.books: dict[str, dict[str, dict[str, str]]] = {s: {"bids": {}, "asks": {}} for s in symbols}
        self.tickers: dict[str, Json] = {}
        self.wallets: dict[str, Json] = {}
        self.orders: dict[str, dict[int, Json]] = {name: {} for name in names}
        for symbol in symbols:
            self.subscribe({"type": "orderBook", "depth": 200, "symbol": symbol})
            self.subscribe({"type": "ticker", "symbol": symbol})
        for name in names:
            for kind in ("aopState", *LOGS):
                self.subscribe({"type": kind, "userAddress": name})
        self.take()

    def subscribe(self, subscription: Json) -> None:
        self.connection.send(json.dumps({"method": "subscribe", "subscription": subscription}))

    def take(self) -> None:
        """Read what has come; logs hold what came since the last call."""
        self.logs = {kind: [] for kind in LOGS}
        for text in self.connection.drain():
            message = json.loads(text)
            if "data" in message:
                self.hear(message["channel"], message["data"])

    def hear(self, channel: str, data: Json) -> None:
        if channel in LOGS:
            name, without = LOGS[channel]
            self.logs[channel] += [cleaned(row, without) for row in data[name]]
        elif channel == "ticker":
            self.tickers[data["symbol"]] = data["ticker"]
        elif channel == "orderBook":
            for side, book in self.books[data["symbol"]].items():
                if data["type"] == "snapshot":
                    book.clear()
                book.update(map(tuple, data["book"][side]))
                for price in [price for price, quantity in book.items() if quantity == "0"]:
                    del book[price]
        elif channel == "aopState":
            name, told = data["userAddr"].lower(), data["aop"]
            for row in told.get("accounts", ()):
                self.wallets[name] = row
            for row in told.get("orders", ()):
                self.orders[name][row["ordId"]] = row
                if row["ordStatus"] in ("FILLED", "CANCELED", "REJECTED"):
                    del self.orders[name][row["ordId"]]


def cleaned(row: Json, without: set[str]) -> Json:
    """Return a row with addresses in lower case, without some of its members."""
    addresses = ("userAddr", "counterparty")
    return {n: v.lower() if n in addresses and v else v for n, v in row.items() if n not in without}


def by_account(rows: list[Json], names: Sequence[str]) -> list[Json]:
    """Return the rows of some accounts: the feed tells each account's in their order."""
    return sorted((row for row in rows if row["userAddr"] in names), key=lambda row: str(row["userAddr"]))


def compare(
    reader: Reader, shown: Shown, logged: int, closed: int, paid: int
) -> Iterator[tuple[str, Any, Any]]:  # fmt: skip
    """Return by channel what the feed has told since a step began, and what the reference has it to be."""
    venue, names = shown.reference, list(reader.orders)
    mine = {
        "orderHist": map(shown.order_hist, venue.events[logged:]),
        "userFilled": map(shown.user_fill, (event for event in venue.events[logged:] if event.steps)),
        "closedPosition": map(shown.closed_position, venue.closings[closed:]),
        "userFunding": map(shown.funding, venue.payments[paid:]),
    }
    for kind, rows in mine.items():
        yield kind, by_account(reader.logs[kind], names), by_account(list(rows), names)
    for product in venue.products.values():
        own_book = {"bids": shown.levels(product, 1), "asks": shown.levels(product, -1)}
        yield f"orderBook.{product.symbol}", reader.books[product.symbol], own_book
        own, told = shown.ticker(product), reader.tickers.get(product.symbol, {})
        yield f"ticker.{product.symbol}", {name: told.get(name) for name in own}, own
    for name in names:
        account = shown.account(name)
        own = shown.wallet(account)
        del own["status"]
        yield f"wallet.{name}", {member: reader.wallets[name][member] for member in own}, own
        own_orders = {
            o.id: (o.status, fixed(o.product.step, o.leaves), fixed(o.product.tick, o.price))
            for o in account.orders.values()
        }
        told_orders = {n: (o["ordStatus"], o["leavesQty"], o["ordPx"]) for n, o in reader.orders[name].items()}
        yield f"orders.{name}", told_orders, own_orders
