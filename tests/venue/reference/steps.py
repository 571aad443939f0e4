"""Random steps for a venue and its reference, made from a seed and the reference's present state (see `driver`)."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from .books import Account, Order, Position
from .driver import AGENTS, BUILDER, BUILDERS_AGENT, BUILDERS_TRADER, HEDGED, MIDDLE, Step, address, name_of
from .wire import Reference

ACTING = range(5)
LEAN = 10_000
"""From this seed on traders lose cash at any time, so that orders are met whose margin is gone, and isolate more."""
FINE = (1, 250, 3_000, 3_000, 31_000, 61_000, 299_000)
COARSE = (60_000, 600_000, 600_000, 3_600_000, 3_600_000, 28_800_000)
SPOILING: dict[str, tuple[dict[str, Any], ...]] = {
    "placeOrder": (
        {"ordPx": "1000000"}, {"ordPx": "1"}, {"ordQty": "9000"}, {"timeInForce": "GTC"},
        {"reduceOnlyOption": "TP_FROM_POSITION"},
    ),
    "placeBuilderOrder": ({"builderFeeRate": "0.002"}, {"builder": address(4)}, {"ordType": "STOP_LIMIT"}),
    "replaceOrder": ({"reduceOnly": "REDUCE_ONLY"}, {"tpslTriggerType": "MARK_PRICE"}),
    "setLeverage": ({"leverage": "50"},),
    "assignPosMargin": ({"assignedPosMargin": "0.0000001"},),
    "withdraw": ({"amount": "2.0000001"},),
}  # fmt: skip
"""Type of an action → members that break a rule."""
TYPES = ("STOP_MARKET", "STOP_LIMIT", "TAKE_PROFIT_MARKET", "TAKE_PROFIT_LIMIT")


def text(size: Fraction, count: int) -> str:
    """Return a multiple of a tick or step as decimal text."""
    places = len(str(size.denominator)) - 1
    whole, part = divmod(int(count * size * 10**places), 10**places)
    return f"{whole}.{part:0{places}d}" if places else str(whole)


class MoneySteps:
    """Makes steps of a seed. Of four seeds, one counts in minutes and hours instead of seconds, one has wild prices."""

    def __init__(self, seed: int, reference: Reference) -> None:
        self.chance, self.coarse, self.wild = random.Random(seed), self.is_coarse(seed), seed % 4 == 1
        self.reference, self.lean = reference, seed >= LEAN
        self.names = [name_of(number) for number in ACTING]

    @staticmethod
    def is_coarse(seed: int) -> bool:
        return seed % 4 == 3

    def account(self, index: int) -> Account:
        return self.reference.accounts[self.names[index]]

    def position(self, index: int, code: int) -> Position:
        return self.account(index).position(self.reference.products[code])

    def next(self) -> Step:
        chance = self.chance
        index, code, kind = chance.choice(ACTING), chance.choice((1, 1, 1, 2)), chance.random()
        liquidated = [self.names.index(name) for name, _ in self.reference.flagged if name in self.names]
        if liquidated and chance.random() < 0.3:  # who is being liquidated tries something
            index = chance.choice(liquidated)
        if kind < 0.07 or (self.wild and kind > 0.87):
            width = chance.choice((0.03, 0.1, 0.2) if self.wild else (0.002, 0.01, 0.05, 0.1))
            price = MIDDLE[code] * (1 + chance.uniform(-width, width))
            if chance.random() < 0.6:
                price = self._aimed(index, code) or price
            return ("oracle", code, f"{price:.1f}")
        if kind < 0.14:
            return ("advance", chance.choice(COARSE if self.coarse else FINE))
        account = self.account(index)
        if self.lean and kind < 0.26:
            return self._lean(index, code)
        saved = index in liquidated and kind < 0.25
        if (account.balance < 1_000 * 10**6 and kind < 0.5) or saved:  # who has lost everything does nothing more
            return ("fund", index, "3000")
        settings = index in liquidated and chance.random() < 0.2
        action = self._action(index, code, list(account.orders.values()), least=0.9 if settings else 0.0)
        if chance.random() < 0.02:
            action = self._spoiled(action)
        wallet = {"withdraw": index, "placeBuilderOrder": BUILDERS_AGENT}.get(action["type"], AGENTS[index])
        return ("act", wallet, action)

    def _spoiled(self, action: dict[str, Any]) -> dict[str, Any]:
        """Return an action with a member by which it breaks a rule that other steps keep."""
        change = self.chance.choice(SPOILING.get(action["type"], ({},)))
        orders = action.get("orders", [action.get("order", action)])
        if action.keys() & change.keys():
            return action | change
        order = orders[-1] | change
        malformed = order["ordType"] == "MARKET" and order["ordPx"] != "0" if "ordPx" in order else False
        if not malformed and ("tpslTriggerType" in order) == ("triggerPx" in order):
            orders[-1].update(change)
        return action

    def _lean(self, index: int, code: int) -> Step:
        """Return a loss of some or nearly all that is free, or a change of the margin mode."""
        if self.chance.random() < 0.4:
            mode = self.chance.choice(("CROSS", "ISOLATED", "ISOLATED", "ISOLATED"))
            return ("act", AGENTS[index], {"type": "setMarginMode", "symbolCode": code, "marginMode": mode})
        account = self.account(index)
        free = min(account.balance, account.equity - account.maintenance)
        return ("lose", index, max(0, int(free * self.chance.choice((0.3, 0.8, 0.97, 1)))))

    def _aimed(self, index: int, code: int) -> float:
        """Return a price at which a position is to be liquidated, with or a little without margin left; 0 = none."""
        held = self.position(index, code)
        if not held.net:
            return 0.0
        group, product = held if held.isolated else held.account, held.product
        lost = (group.equity - group.maintenance * self.chance.uniform(-0.4, 1)) / (held.net * product.unit)
        price = float((product.oracle - lost) * product.tick)
        return price if abs(price / MIDDLE[code] - 1) < 0.2 else 0.0

    def _action(self, index: int, code: int, mine: list[Order], least: float) -> dict[str, Any]:
        chance, kind = self.chance, self.chance.uniform(least, 1)
        if kind < 0.20 and index == BUILDERS_TRADER:
            order, rate = self._order(index, code, mine), chance.choice(("0.0001", "0.001", "0"))
            if chance.random() < 0.4:
                named = chance.choice(TYPES)
                order |= {"ordType": named, "triggerPx": self._price(code, 80), "tpslTriggerType": "LAST_PRICE"}
                order |= {"ordPx": "0" if named.endswith("MARKET") else self._price(code, 40)}
                order.pop("reduceOnlyOption", None)
            return {"type": "placeBuilderOrder", "order": order, "builder": address(BUILDER), "builderFeeRate": rate}
        if kind < 0.55:
            orders = [self._order(index, code, mine) for _ in range(chance.choice((1, 1, 1, 3)))]
            return {"type": "placeOrder", "orders": orders}
        if kind < 0.66:
            return {"type": "placeBracketOrder", "orders": self._bracket(index, code)}
        if kind < 0.80 and (known := [order for order in mine if order.kind not in TYPES]):
            return self._replacement(chance.choice(known))
        if kind < 0.88:
            ids = [str(chance.choice(mine).id) if mine and chance.random() < 0.9 else "1" for _ in range(2)]
            return {"type": "cancelOrder", "cancels": [{"symbolCode": str(code), "ordId": each} for each in ids]}
        if kind < 0.90:
            return {"type": "cancelAll", "symbolCode": code, "conditionalOrder": chance.random() < 0.5}
        if kind < 0.94:
            leverage = str(chance.choice((2, 5, 10, 20, 20.5, 40, 40)))
            return {"type": "setLeverage", "symbolCode": code, "leverage": leverage}
        if kind < 0.97:
            return {"type": "setMarginMode", "symbolCode": code, "marginMode": chance.choice(("CROSS", "ISOLATED"))}
        if kind < 0.99:
            amount = chance.choice(("100", "-100", "0.123456", "-2500", "3000"))
            return {"type": "assignPosMargin", "symbolCode": code, "assignedPosMargin": amount}
        amount = chance.choice(("1", "2.5", "500", "9000"))
        return {"type": "withdraw", "destination": "0x" + "d1" * 20, "amount": amount}

    def _price(self, code: int, width: int) -> str:
        product = self.reference.products[code]
        return text(product.tick, product.mark + self.chance.randint(-width, width))

    def _last_resort(self, held: Position) -> dict[str, Any]:
        """Return price and side of an order that takes a liquidated position where nothing is left of its margin."""
        if not held.size:
            return {}
        side, product = 1 if held.long.size else -1, held.product
        equity = held.equity if held.isolated else held.account.equity
        price = product.mark - side * (equity // (held.leg(side).size * product.unit))
        near = abs(price / product.mark - 1) < 0.2
        return {"ordPx": text(product.tick, price), "ordSide": "BUY" if side > 0 else "SELL"} if near else {}

    def _quantity(self, code: int) -> str:
        largest = self.chance.choice((40, 400, 2_000, 4_000)) * (1 if code == 1 else 25)
        return text(Fraction(1, 1000), self.chance.choice((1, *[self.chance.randint(1, largest)] * 9)))

    def _affordable(self, held: Position) -> str:
        product = held.product
        most = self.reference.available(held.account) * held.leverage / (product.mark * product.unit)
        return text(product.step, max(1, int(most * self.chance.randint(30, 98) / 100)))

    def _order(self, index: int, code: int, mine: list[Order]) -> dict[str, Any]:
        chance = self.chance
        market = chance.random() < 0.2
        limits = ("GTC", "GTC", "GTC", "GTC", "IOC", "FOK", "POST_ONLY", *["FOK"] * 3 * self.lean)
        item: dict[str, Any] = {
            "symbolCode": code,
            "ordPx": "0" if market else self._price(code, chance.choice((*[40] * 19, MIDDLE[code] // 4))),
            "ordQty": self._quantity(code),
            "ordType": "MARKET" if market else "LIMIT",
            "ordSide": chance.choice(("BUY", "SELL")),
            "timeInForce": chance.choice(("IOC", "FOK") if market else limits),
        }
        if not market and chance.random() < 0.06:
            item |= self._last_resort(self.position(self.chance.choice(ACTING), code))
        if chance.random() < (0.4 if index in HEDGED else 0.01):
            item["ordSide"] += "_CLOSE_HEDGE"
        elif chance.random() < 0.2:
            item["reduceOnlyOption"] = "REDUCE_ONLY"
        held = self.position(index, code)
        if held.size and chance.random() < 0.3:  # all of a position, or more
            side = 1 if held.long.size else -1
            item["ordSide"] = ("SELL" if side > 0 else "BUY") + ("_CLOSE_HEDGE" if index in HEDGED else "")
            item["ordQty"] = text(held.product.step, held.leg(side).size + chance.choice((0, 0, 1, 500)))
        elif chance.random() < 0.3:  # most of what the account can carry
            item["ordQty"] = self._affordable(held)
        if market and chance.random() < 0.3:
            item["slippagePct"] = chance.choice(("0.005", "0.01", "0.05", "0.0001", "0.0501"))
        if chance.random() < 0.25:
            item |= self._trigger(code, chance.choice(("TP", "SL")), "reduceOnlyOption")
            item["ordQty"] = chance.choice(("0", item["ordQty"]))
            mains = [order for order in mine if order.product.code == code and not order.reducing]
            if mains and chance.random() < 0.5:
                parent = chance.choice(mains)
                item["parentOrdId"] = parent.id
                if chance.random() < 0.8:
                    item["ordSide"] = ("SELL" if parent.side > 0 else "BUY") + item["ordSide"].lstrip("BUYSEL")
                if parent.client and chance.random() < 0.2:
                    item["clOrdId"] = parent.client
        if chance.random() < 0.1 and "clOrdId" not in item:
            item["clOrdId"] = chance.randint(1, 40)
        return item

    def _trigger(self, code: int, kind: str, field: str) -> dict[str, Any]:
        by = self.chance.choice(("LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"))
        return {"triggerPx": self._price(code, 80), "tpslTriggerType": by, field: f"{kind}_FROM_POSITION"}

    def _bracket(self, index: int, code: int) -> list[dict[str, Any]]:
        chance, product = self.chance, self.reference.products[code]
        at_once, (side, sign) = chance.random() < 0.3, chance.choice((("BUY", 1), ("SELL", -1)))
        entry, quantity = product.mark + chance.randint(-20, 20), self._quantity(code)
        main: dict[str, Any] = {
            "symbolCode": code,
            "ordPx": "0" if at_once else text(product.tick, entry),
            "ordQty": quantity,
            "ordSide": side,
            "ordType": "MARKET" if at_once else "LIMIT",
            "timeInForce": "IOC" if at_once else "GTC",
        }
        if chance.random() < 0.03:
            main["reduceOnly"] = "REDUCE_ONLY"
        exits = []
        for kind, way in (("TP", sign), ("SL", -sign)):
            limit, trigger = chance.random() < 0.4, entry + way * chance.randint(1, 60)
            size = chance.choice((quantity, quantity, "0", "0.001", self._quantity(code)))
            exits.append({
                "symbolCode": code,
                "ordPx": text(product.tick, trigger + chance.randint(-3, 3)) if limit else "0",
                "ordQty": size,
                "ordType": "LIMIT" if limit else "MARKET",
                "ordSide": ("SELL" if sign > 0 else "BUY") + ("_CLOSE_HEDGE" if index in HEDGED else ""),
                "timeInForce": chance.choice(("GTC", "GTC", "POST_ONLY")) if limit else "IOC",
                **self._trigger(code, kind, "reduceOnly"),
                "triggerPx": text(product.tick, trigger),
            })  # fmt: skip
        return [main, *exits[: chance.choice((1, 2, 2))]]

    def _replacement(self, order: Order) -> dict[str, Any]:
        chance, product = self.chance, order.product
        price = order.price + chance.choice((0, 0, chance.randint(-15, 15))) if order.price else 0
        less = chance.choice((0, 1, order.leaves // 2, order.leaves - 1, order.leaves, -20))
        side = "BUY" if (order.side > 0) == (chance.random() < 0.98) else "SELL"
        item = {
            "type": "replaceOrder",
            "symbolCode": product.code,
            "ordId": order.id,
            "ordPx": text(product.tick, price) if price else "0",
            "ordQty": text(product.step, max(1, order.quantity - less)),
            "ordType": order.kind,
            "ordSide": side + ("_CLOSE_HEDGE" if order.closing else ""),
            "timeInForce": order.tif if chance.random() < 0.95 else "IOC",
        }
        if order.reduce:
            item["reduceOnly"] = order.reduce
        if order.trigger:
            moved = order.trigger + chance.choice((0, chance.randint(-20, 20)))
            item |= {"triggerPx": text(product.tick, moved), "tpslTriggerType": order.by}
        return item
