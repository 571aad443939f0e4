"""A trading floor for tests: a bare core (no market, no permissions) and orders in few words."""

from __future__ import annotations

from typing import Any

from toolkit.products import Product
from toolkit.venue.engine.commands import Advance, Outcome, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import Position, VenueAccount, VenueOrder
from toolkit.venue.model.constants import HEDGE, STATUS_NAMES
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger

PRICES = {1: "60000.0", 2: "3000.00", 3: "150.000", 4: "0.5000"}
ADA, BOB, CYD = ("0x" + letters * 20 for letters in ("ad", "b0", "c1"))


class Floor:
    """Three funded accounts in BTCUSDC at 60,000, where every command is checked (`conftest`)."""

    def __init__(self, *hedged: str, money: int = 10**13, core: Core | None = None) -> None:
        self.core = core or Core(Genesis(prices=PRICES, settings={"market": False}))
        for address in (ADA, BOB, CYD):
            account = self.core.account(address)
            ledger.deposit(self.core, account, money)
            if address in hedged:
                account.position_mode = HEDGE
        self.nonce = 0

    @property
    def product(self) -> Product:
        return self.core.products[1]

    def account(self, who: str) -> VenueAccount:
        return self.core.state.accounts[who]

    def position(self, who: str) -> Position:
        return self.account(who).positions[1]

    def act(self, who: str, action: dict[str, Any]) -> Outcome:
        """Submit one action."""
        self.nonce += 1
        return self.core.apply(Submit(self.core.state.time + 1, action, who, self.nonce))

    def place(self, who: str, text: str, **more: Any) -> Outcome:
        """Place one order, written as `item` reads it."""
        return self.act(who, {"type": "placeOrder", "orders": [item(text, **more)]})

    def order(self, who: str, text: str, **more: Any) -> VenueOrder:
        """Place one order that must be accepted, and return it as it is now."""
        answer = self.place(who, text, **more)
        assert answer.code == 0, answer.message
        return self.find(self.ids(answer)[0])

    def bracket(self, who: str, *texts: str) -> Outcome:
        return self.act(who, {"type": "placeBracketOrder", "orders": [item(text, "reduceOnly") for text in texts]})

    def replace(self, who: str, order_id: int, text: str, **more: Any) -> Outcome:
        return self.act(who, {"type": "replaceOrder", **item(text, "reduceOnly", **more), "ordId": order_id})

    def cancel(self, who: str, *cancels: dict[str, Any]) -> Outcome:
        return self.act(who, {"type": "cancelOrder", "cancels": [{"symbolCode": 1, **each} for each in cancels]})

    def refused(self, who: str, text: str, **more: Any) -> str:
        """Place one order that must be refused, and return the words."""
        answer = self.place(who, text, **more)
        assert answer.code == 40230, answer
        return answer.message

    def trade(self, price: str, quantity: str = "0.001") -> None:
        """Make a price: ADA's and BOB's opposite is CYD with a helper account, so that no position of theirs moves."""
        helper = self.core.account("0x" + "ee" * 20)
        if not helper.balance:
            ledger.deposit(self.core, helper, 10**13)
        self.order(CYD, f"SELL {quantity} at {price}")
        self.order(helper.address, f"BUY {quantity} at {price}")

    def mark(self, price: str) -> None:
        """Set mark and index, and let what waits for them happen."""
        market = self.core.state.markets[1]
        market.mark = market.oracle = self.product.ticks(price)
        self.core.apply(Advance(self.core.state.time + 1))
        self.core.run_hooks()

    def find(self, order_id: int) -> VenueOrder:
        for account in self.core.state.accounts.values():
            if order_id in account.orders:
                return account.orders[order_id]
        return next(order for order in self.core.state.history.orders.records if order.id == order_id)

    def status(self, order_id: int) -> str:
        return STATUS_NAMES[self.find(order_id).status]

    def statuses(self, order_id: int) -> list[str]:
        """Return the statuses that an order went through."""
        events = self.core.state.history.order_events.records
        return [STATUS_NAMES[event.status] for event in events if event.order_id == order_id]

    @staticmethod
    def ids(answer: Outcome) -> list[int]:
        assert answer.data is not None
        return [int(result["ordId"]) for result in answer.data["results"]]

    def legs(self, who: str) -> tuple[int, int]:
        position = self.account(who).positions.get(1)
        return (position.long.size, position.short.size) if position else (0, 0)


def item(text: str, reduce_field: str = "reduceOnlyOption", **more: Any) -> dict[str, Any]:
    """Return an order item from words: "BUY 0.010 at 60000.0 POST_ONLY REDUCE_ONLY when 61000 by MARK_PRICE id 5"."""
    words = text.split()
    found: dict[str, Any] = {
        "symbolCode": 1,
        "ordPx": "0",
        "ordQty": words[1],
        "ordType": "MARKET",
        "ordSide": words[0],
        "timeInForce": "IOC",
    }
    names = {"when": "triggerPx", "by": "tpslTriggerType", "slip": "slippagePct"}
    rest = iter(words[2:])
    for word in rest:
        if word == "at":
            found |= {"ordPx": next(rest), "ordType": "LIMIT", "timeInForce": "GTC"}
        elif word in names:
            found[names[word]] = next(rest)
        elif word in ("id", "parent"):
            found["clOrdId" if word == "id" else "parentOrdId"] = int(next(rest))
        elif word in ("GTC", "IOC", "FOK", "POST_ONLY"):
            found["timeInForce"] = word
        elif word in ("TP", "SL"):
            found[reduce_field] = f"{word}_FROM_POSITION"
        elif word == "REDUCE_ONLY":
            found[reduce_field] = word
        else:
            found["ordType"] = word
    return found | more
