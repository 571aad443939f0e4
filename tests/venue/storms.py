"""Random runs of a core: many accounts, violent prices, jumps, empty books, every money action; decided by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from toolkit.venue.engine.commands import Advance, Command, Control, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import GENESIS_TIME, Config, Genesis

START = GENESIS_TIME + 4 * 3_600_000 - 240_000
"""Four minutes before a funding settlement."""


def address(number: int) -> str:
    return f"0x{number:040x}"


def storm_core(seed: int, *, market: bool = False, **config: Any) -> Core:
    return Core(Genesis(seed=seed, time=START, config=Config(**config), settings={"market": market}))


class Storm:
    """Commands that know the core they are for, so that they are mostly sensible."""

    def __init__(self, core: Core, seed: int, accounts: int = 8, hedge: bool = True) -> None:
        self.core = core
        self.random = random.Random(seed)
        self.names = [address(0xA00 + number) for number in range(accounts)]
        self.hedge = hedge
        self.nonce = 0

    def opening(self) -> Iterator[Command]:
        """Fund the accounts; every third one trades in hedge mode."""
        time = self.core.state.time
        for number, name in enumerate(self.names):
            yield Control(time, "fund", {"address": name, "amount": str(self.random.choice((300, 5_000, 40_000)))})
            if self.hedge and number % 3 == 2:
                yield Control(time, "set_position_mode", {"address": name, "mode": "HEDGE"})

    def commands(self, count: int) -> Iterator[Command]:
        """Yield the opening and `count` random commands."""
        yield from self.opening()
        for _ in range(count):
            yield self.command()

    def command(self) -> Command:
        pick = self.random.random()
        if pick < 0.55:
            name = self.random.choice(self.names)
            return self.act(name, self.order(name))
        if pick < 0.62:
            return self.act(self.random.choice(self.names), self.settings())
        if pick < 0.68:
            return self.act(self.random.choice(self.names), self.cancel())
        if pick < 0.80:
            return self.move()
        if pick < 0.81:
            code = self.random.choice((1, 2, 4))
            return Control(self.core.state.time, self.random.choice(("pause", "resume", "resume")), {"product": code})
        if pick < 0.83:
            return Control(self.core.state.time, "fund", {"address": self.random.choice(self.names), "amount": "250"})
        return Advance(self.core.state.time + self.random.choice((0, 1, 500, 3_000, 3_000, 9_000, 30_000, 61_000)))

    def act(self, name: str, action: dict[str, Any]) -> Submit:
        self.nonce += 1
        return Submit(self.core.state.time, action, name, self.nonce, digest=b"%d" % self.nonce)

    def order(self, name: str) -> dict[str, Any]:
        """Return a placeOrder near the mark (sometimes far), of any kind."""
        pick = self.random
        account = self.core.account(name)
        code = pick.choice((1, 1, 2, 4))
        product, market = self.core.products[code], self.core.state.markets[code]
        away = pick.choice((0.0, 0.0, 0.0005, 0.002, 0.01, -0.002, -0.004, -0.02))
        closing = account.position_mode == 2 and pick.random() < 0.4
        side = pick.choice(("BUY_CLOSE_HEDGE", "SELL_CLOSE_HEDGE") if closing else ("BUY", "SELL"))
        sign = 1 if side.startswith("BUY") else -1
        price = max(1, round(market.mark * (1 - sign * away)))
        value = pick.choice((30_000_000, account.balance, 5 * account.balance, 15 * account.balance))
        quantity = max(1, min(abs(value), product.max_notional // 2) // (market.mark * product.unit))
        kind = pick.choice(("LIMIT", "LIMIT", "LIMIT", "MARKET"))
        item = {
            "symbolCode": code,
            "ordPx": product.price_text(price) if kind == "LIMIT" else "0",
            "ordQty": product.quantity_text(quantity),
            "ordType": kind,
            "ordSide": side,
            "timeInForce": pick.choice(("GTC", "GTC", "GTC", "IOC", "POST_ONLY", "FOK")) if kind == "LIMIT" else "IOC",
        }
        if pick.random() < 0.1 and account.position_mode == 1:
            item["reduceOnlyOption"] = "REDUCE_ONLY"
        elif pick.random() < 0.1:
            up = pick.random() < 0.5
            item |= {
                "reduceOnlyOption": pick.choice(("TP_FROM_POSITION", "SL_FROM_POSITION")),
                "triggerPx": product.price_text(max(1, round(market.mark * (1.02 if up else 0.98)))),
                "tpslTriggerType": pick.choice(("LAST_PRICE", "MARK_PRICE", "INDEX_PRICE")),
            }
        return {"type": "placeOrder", "orders": [item]}

    def settings(self) -> dict[str, Any]:
        pick, code = self.random, self.random.choice((1, 2, 4))
        return pick.choice(
            (
                {"type": "setLeverage", "symbolCode": code, "leverage": str(pick.choice((1, 3, 10, 25, 40)))},
                {"type": "setMarginMode", "symbolCode": code, "marginMode": pick.choice(("CROSS", "ISOLATED"))},
                {
                    "type": "assignPosMargin",
                    "symbolCode": code,
                    "assignedPosMargin": pick.choice(("5", "50", "0.000001", "-5", "-0.5")),
                },
                {"type": "withdraw", "destination": address(0xDE), "amount": pick.choice(("2", "20.5", "9999"))},
            )
        )

    def cancel(self) -> dict[str, Any]:
        conditional = self.random.random() < 0.3
        return {"type": "cancelAll", "symbolCode": self.random.choice((1, 2, 4)), "conditionalOrder": conditional}

    def move(self) -> Control:
        """Move an oracle price: mostly a little, sometimes a jump."""
        pick = self.random
        code = pick.choice((1, 1, 2, 4))
        size = pick.choice((0.001, 0.004, 0.01, 0.03, 0.12, 0.35))
        market = self.core.state.markets[code]
        ticks = max(20, round(market.oracle * (1 + pick.uniform(-size, size))))
        if not 300 < ticks * self.core.products[code].unit < 3_000_000:
            ticks = market.oracle
        product = self.core.products[code]
        return Control(self.core.state.time, "set_oracle", {"product": code, "price": product.price_text(ticks)})

    def crash(self) -> Iterator[Control]:
        """Yield jumps of every price, down and up again, that nobody with leverage survives."""
        for code in (1, 2, 4):
            yield Control(self.core.state.time, "resume", {"product": code})
        for factor in (0.55, 1.9, 0.5):
            for code in (1, 2, 4):
                product, market = self.core.products[code], self.core.state.markets[code]
                price = product.price_text(max(20, round(market.oracle * factor)))
                yield Control(self.core.state.time, "set_oracle", {"product": code, "price": price})
