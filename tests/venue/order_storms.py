"""Random orders of every kind, decided by a seed: what the order rules meet in a storm.

`python -m tests.venue.order_storms SEED STEPS` prints the state hash after such a storm.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from tests.venue.floor import PRICES
from tests.venue.invariants import OrderWatch
from toolkit.protocol.orders.items import OrderItem
from toolkit.protocol.orders.order_actions import OrderAction
from toolkit.venue.engine.commands import ActionContext, Advance, Command, Control, Outcome, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.engine.registry import controls
from toolkit.venue.model.constants import HEDGE
from toolkit.venue.model.genesis import Genesis
from toolkit.venue.risk import ledger
from toolkit.venue.trading.placing import place, place_bracket

NAMES = tuple(f"0x{number:040x}" for number in range(0xE1, 0xE8))
BUILDER = "0x" + "bb" * 20
MIDDLE = {1: 600_000, 2: 300_000}


@controls("storm_place")
def storm_place(core: Core, address: str, items: list[dict[str, Any]]) -> None:
    """Place builder orders without their permission side; only storms do this."""
    context = ActionContext(core.account(address), "", 0, core.state.time, core.tx_hash())
    context.builder, context.builder_rate = BUILDER, 50_000
    if len(items) > 1:
        place_bracket(core, context, OrderAction.recall({"type": "placeBracketOrder", "orders": items}))
    else:
        place(core, context, OrderItem.recall(items[0]))


@controls("storm_prices")
def storm_prices(core: Core, code: int, mark: int, index: int) -> None:
    """Put mark and index where a storm wants them."""
    core.risk_index.moved.setdefault(code, core.state.markets[code].mark)
    core.state.markets[code].mark = mark
    core.state.markets[code].oracle = index


class OrderStorm:
    """A core in a storm. `command()` makes the next command out of the seed and the present state."""

    def __init__(self, seed: int, core: Core | None = None) -> None:
        self.random = random.Random(seed)
        self.nonce = 0
        self.core = core or self._fresh(seed)

    def _fresh(self, seed: int) -> Core:
        core = Core(Genesis(seed=seed, prices=PRICES, settings={"market": False}))
        core.account(BUILDER)
        for number, name in enumerate(NAMES):
            account = core.account(name)
            ledger.deposit(core, account, self.random.choice((3 * 10**8, 10**11, 10**13)))
            if number % 3 == 2:
                account.position_mode = HEDGE
        return core

    def command(self) -> Command:
        """Return the next command."""
        chance, core = self.random, self.core
        time = core.state.time + chance.choice((0, 1, 250))
        who, code = chance.choice(NAMES), chance.choice((1, 1, 2))
        hedge = core.state.accounts[who].position_mode == HEDGE
        kind = chance.random()
        if kind < 0.5:
            orders = [self._plain(who, code, hedge) for _ in range(chance.choice((1, 1, 1, 3)))]
            return self._submit(time, who, {"type": "placeOrder", "orders": orders})
        if kind < 0.6:
            return self._submit(time, who, {"type": "placeBracketOrder", "orders": self._bracket(code, hedge)})
        if kind < 0.65:
            stop = self._plain(who, code, hedge) | {
                "ordType": chance.choice(("STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT", "TAKE_PROFIT_MARKET")),
                "triggerPx": self._price(code, 60),
            }
            if stop["ordType"].endswith("MARKET"):
                stop["ordPx"] = "0"
            elif stop["ordPx"] == "0":
                stop["ordPx"] = self._price(code, 30)
            return Control(time, "storm_place", {"address": who, "items": [stop]})
        if kind < 0.75:
            return self._submit(time, who, self._replacement(who))
        if kind < 0.85:
            return self._submit(time, who, self._cancel(who, code))
        if kind < 0.88:
            return self._submit(
                time, who, {"type": "cancelAll", "symbolCode": code, "conditionalOrder": chance.random() < 0.5}
            )
        if kind < 0.98:
            ends = (MIDDLE[code] + chance.randint(-60, 60) for _ in range(2))
            return Control(time, "storm_prices", dict(zip(("mark", "index"), ends, strict=True), code=code))
        return Advance(time + chance.choice((1_000, 4_000)))

    def _submit(self, time: int, who: str, action: dict[str, Any]) -> Submit:
        self.nonce += 1
        return Submit(time, action, who, self.nonce, digest=self.nonce.to_bytes(8, "big"))

    def _price(self, code: int, away: int) -> str:
        product = self.core.products[code]
        return product.price_text(MIDDLE[code] + self.random.randint(-away, away))

    def _quantity(self, code: int) -> str:
        return self.core.products[code].quantity_text(self.random.randint(1, 30) * (1 if code == 1 else 20))

    def _plain(self, who: str, code: int, hedge: bool) -> dict[str, Any]:
        chance = self.random
        market = chance.random() < 0.2
        item: dict[str, Any] = {
            "symbolCode": code,
            "ordPx": "0" if market else self._price(code, 30),
            "ordQty": self._quantity(code),
            "ordType": "MARKET" if market else "LIMIT",
            "ordSide": chance.choice(("BUY", "SELL")),
            "timeInForce": chance.choice(
                ("IOC", "FOK") if market else ("GTC", "GTC", "GTC", "IOC", "FOK", "POST_ONLY")
            ),
        }
        if hedge and chance.random() < 0.5:
            item["ordSide"] += "_CLOSE_HEDGE"
        elif chance.random() < 0.25:
            item["reduceOnlyOption"] = "REDUCE_ONLY"
        if chance.random() < 0.3:
            item |= self._trigger(code, chance.choice(("TP", "SL")), "reduceOnlyOption")
            item["ordQty"] = chance.choice(("0", item["ordQty"]))
            mine = [order.id for order in self.core.state.accounts[who].orders.values()]
            if mine and chance.random() < 0.3:
                item["parentOrdId"] = chance.choice(mine)
        if chance.random() < 0.2:
            item["clOrdId"] = chance.randint(1, 40)
        return item

    def _trigger(self, code: int, kind: str, field: str) -> dict[str, Any]:
        by = self.random.choice(("LAST_PRICE", "MARK_PRICE", "INDEX_PRICE"))
        return {"triggerPx": self._price(code, 60), "tpslTriggerType": by, field: f"{kind}_FROM_POSITION"}

    def _bracket(self, code: int, hedge: bool) -> list[dict[str, Any]]:
        chance, product = self.random, self.core.products[code]
        side, sign = chance.choice((("BUY", 1), ("SELL", -1)))
        market = chance.random() < 0.3
        entry = MIDDLE[code] + chance.randint(-15, 15)
        quantity = self._quantity(code)
        other = ("SELL" if sign > 0 else "BUY") + ("_CLOSE_HEDGE" if hedge else "")
        main = {
            "symbolCode": code,
            "ordPx": "0" if market else product.price_text(entry),
            "ordQty": quantity,
            "ordType": "MARKET" if market else "LIMIT",
            "ordSide": side,
            "timeInForce": "IOC" if market else "GTC",
        }
        legs = []
        for kind, way in (("TP", sign), ("SL", -sign)):
            limit = chance.random() < 0.4
            trigger = entry + way * chance.randint(1, 50)
            leg = {
                "symbolCode": code,
                "ordPx": product.price_text(trigger + chance.randint(-3, 3)) if limit else "0",
                "ordQty": chance.choice((quantity, quantity, "0")),
                "ordType": "LIMIT" if limit else "MARKET",
                "ordSide": other,
                "timeInForce": "GTC" if limit else "IOC",
            }
            more = self._trigger(code, kind, "reduceOnly") | {"triggerPx": product.price_text(trigger)}
            legs.append(leg | more)
        return [main, *legs[: chance.choice((1, 2, 2))]]

    def _replacement(self, who: str) -> dict[str, Any]:
        chance = self.random
        orders = list(self.core.state.accounts[who].orders.values())
        if not orders:
            return {"type": "cancelOrder", "cancels": [{"symbolCode": 1, "ordId": "1"}]}
        order = chance.choice(orders)
        names = {(1, False): "BUY", (-1, False): "SELL", (1, True): "BUY_CLOSE_HEDGE", (-1, True): "SELL_CLOSE_HEDGE"}
        action: dict[str, Any] = {
            "type": "replaceOrder",
            "symbolCode": order.product,
            "ordId": order.id,
            "ordPx": self._price(order.product, 30) if order.price else "0",
            "ordQty": self._quantity(order.product),
            "ordType": ["", "LIMIT", "MARKET", "", "", "STOP_LIMIT", "STOP_MARKET", "TAKE_PROFIT_LIMIT"][
                order.type % 8
            ],
            "ordSide": names[order.side, order.closing],
            "timeInForce": chance.choice(("GTC", "GTC", "POST_ONLY")) if order.price else "IOC",
        }
        if order.reduce:
            action["reduceOnly"] = ("", "REDUCE_ONLY", "TP_FROM_POSITION", "SL_FROM_POSITION")[order.reduce]
        if order.trigger and (order.waiting or chance.random() < 0.5):
            by = ("", "LAST_PRICE", "MARK_PRICE", "INDEX_PRICE")[order.trigger_by]
            action |= {"triggerPx": self._price(order.product, 60), "tpslTriggerType": by}
        return action

    def _cancel(self, who: str, code: int) -> dict[str, Any]:
        orders = list(self.core.state.accounts[who].orders.values())
        picked = self.random.sample(orders, min(len(orders), 2))
        cancels = [{"symbolCode": order.product, "ordId": str(order.id)} for order in picked]
        return {"type": "cancelOrder", "cancels": [*cancels, {"symbolCode": code, "clOrdId": "7"}]}


def weather(seed: int, steps: int) -> OrderStorm:
    """Let a storm run, every command watched."""
    storm = OrderStorm(seed)
    watch = OrderWatch(storm.core)
    for _ in range(steps):
        apply(storm.core, storm.command())
        watch.check()
    return storm


def apply(core: Core, command: Command) -> Outcome:
    """Apply a command of a storm; it may be refused, never fail."""
    outcome = core.apply(command)
    core.events.clear()
    assert outcome.code in (0, 40230), outcome
    return outcome


if __name__ == "__main__":
    sys.stdout.write(weather(int(sys.argv[1]), int(sys.argv[2])).core.state_hash() + "\n")
