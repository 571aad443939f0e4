"""Random calls over all paths of a session with limits, and what the venue's own state says they could lead to.

The reference shares nothing with the toolkit: it plays every order that rests in the venue's state as filled or not.
Flows of several callers are interleaved at their requests; requests are lost, arrive late, and callers are cancelled.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any

import toolkit
from toolkit import Limits, orders
from toolkit.client.io.flow import Fetch, subflow
from toolkit.errors import TimedOut, ToolkitError
from toolkit.venue.local import LocalVenue

BTC, ETH = "BTCUSDC", "ETHUSDC"
MODES = ("ONE_WAY", "HEDGE")
MARGINS = ("CROSS", "ISOLATED")
MOST = {BTC: 50, ETH: 400}
"""Steps of 0.001 that a position may reach."""
NOTIONAL = 3_000
RATE = 30
STEP = Decimal("0.001")


class World:
    """A venue where only these callers trade, a session with limits, and a tally of what happened."""

    def __init__(self, seed: int, mode: str, margin: str, **limits: Any) -> None:
        self.rng, self.tally = Random(seed), Counter[str]()
        self.venue = LocalVenue(clock="manual", market=False, seed=seed)
        given = {"max_position": {name: steps / 1000 for name, steps in MOST.items()}, "max_orders_per_minute": None}
        self.s = toolkit.connect(venue=self.venue, limits=Limits(**given | limits))
        self.account = self.venue.host.core.state.accounts[str(self.s.account).lower()]
        self.venue.control.set_position_mode(str(self.s.account), mode)
        self.codes = {name: self.s.product(name).code for name in MOST}
        for name in MOST:
            self.s.exchange.set_margin_mode(name, margin)
        self.hedge = mode == "HEDGE"
        self.late: list[Fetch] = []
        self.refill()

    def refill(self) -> None:
        """Put offers on both sides that take a few orders."""
        for name, low, high in ((BTC, "62400", "62600"), (ETH, "2440", "2460")):
            for side, price in (("BUY", low), ("SELL", high)):
                self.venue.control.add_liquidity(name, side, price, "0.2")

    # -- what the venue's state says

    def reach(self, symbol: str) -> int:
        """Return the largest position, in steps, that fills of any open orders lead to, also after it was closed."""
        code = self.codes[symbol]
        position = self.account.positions.get(code)
        longs, shorts = (position.long.size, position.short.size) if position is not None else (0, 0)
        opening = [one for one in self.account.orders.values()
                   if one.product == code and not one.reduce and not one.closing]  # fmt: skip
        if self.hedge:
            return int(longs + shorts + sum(one.leaves or one.quantity for one in opening))
        reachable = {longs - shorts, 0}
        for one in opening:
            reachable |= {size + one.side * one.leaves for size in reachable}
        return max(map(abs, reachable))

    def sizes(self) -> dict[str, int]:
        """Return what each product could reach."""
        return {name: self.reach(name) for name in MOST}

    def price(self, symbol: str) -> Decimal:
        """Return the last price, of the venue's own books."""
        market = self.venue.host.core.state.markets[self.codes[symbol]]
        return Decimal(market.last or market.mark) * self.venue.host.core.products[self.codes[symbol]].tick_size

    def notional(self, sizes: dict[str, int], prices: dict[str, Decimal]) -> Decimal:
        """Return what these sizes are worth."""
        return sum((steps * STEP * prices[name] for name, steps in sizes.items()), Decimal(0))

    # -- random calls

    def quantity(self, symbol: str) -> str:
        """Return a random quantity; one in ten is a fat finger."""
        most = MOST[symbol] * (20 if self.rng.random() < 0.1 else 0.4)
        return f"{max(1, round(self.rng.random() * most)) * STEP}"

    def order(self, symbol: str | None = None) -> Any:
        """Return a random order that can be placed."""
        rng, symbol = self.rng, symbol or self.rng.choice((BTC, ETH))
        side = rng.choice(("BUY", "SELL"))
        far = {(BTC, "BUY"): 60_000, (BTC, "SELL"): 65_000, (ETH, "BUY"): 2_300, (ETH, "SELL"): 2_600}[symbol, side]
        price = rng.choice((None, str(far + rng.randrange(100))))
        reduce_only = rng.random() < 0.1 or None
        if reduce_only and self.hedge:
            side, reduce_only = f"{side}_CLOSE_HEDGE", None
        return orders.order(symbol, side, self.quantity(symbol), price, reduce_only=reduce_only)

    def call(self) -> tuple[str, Any]:
        """Return the name of a random path, and its flow."""
        rng, s = self.rng, self.s
        one = self.order()
        path = rng.choice(("buy", "place", "batch", "bracket", "exchange", "wire", "prepared", "replace", "replace",
                           "cancel", "cancel_all", "close", "trigger"))  # fmt: skip
        opened = [order for order in self.account.orders.values() if not order.reduce and not order.closing]
        picked = rng.choice(opened) if opened else None
        if path in ("replace", "cancel") and picked is None:
            path = "place"
        if path == "buy":
            call = s.buy if one.side.startswith("BUY") else s.sell
            return path, subflow(call, one.symbol, one.quantity, one.price)
        if path == "batch":
            return path, subflow(s.place, [self.order() for _ in range(rng.randrange(2, 5))])
        if path == "bracket" and not one.reduce_only and not one.side.endswith("HEDGE"):
            up, down = ("70000", "50000") if one.symbol == BTC else ("3000", "2000")
            exits = (up, down) if one.side == "BUY" else (down, up)
            return path, subflow(s.place, orders.bracket(one, take_profit=exits[0], stop_loss=exits[1]))
        if path == "exchange":
            return path, subflow(s.exchange.place_order, [one])
        if path == "wire":
            item = one.to_item(s.product(one.symbol))
            return path, subflow(s.exchange.send, {"type": "placeOrder", "orders": [item]})
        if path == "prepared":
            return path, self._prepared(one)
        if path == "replace":
            symbol = next(name for name, code in self.codes.items() if code == picked.product)
            price = str(picked.price * s.product(symbol).tick_size)
            new = orders.order(symbol, "BUY" if picked.side > 0 else "SELL", self.quantity(symbol), price)
            return path, subflow(s.replace, picked.id, new)
        if path == "cancel":
            symbol = next(name for name, code in self.codes.items() if code == picked.product)
            return path, subflow(s.cancel, picked.id, symbol=symbol)
        if path == "cancel_all" and rng.random() < 0.3:
            return path, subflow(s.cancel_all, one.symbol)
        if path == "close":
            return path, subflow(s.close_position, one.symbol)
        return "place", subflow(s.place, one)

    def _prepared(self, one: Any) -> Any:
        prepared = yield from subflow(self.s.intents.prepare, one)
        return (yield from subflow(self.s.intents.send, prepared))

    # -- callers that are interleaved, and a network that loses requests

    def perform(self, request: Any, faulty: bool) -> Any:
        """Perform a request of a flow; a faulty network loses orders, their answers, or delivers them later."""
        kind = self.rng.random() if faulty and isinstance(request, Fetch) and request.method == "POST" else 1.0
        if kind < 0.1:
            raise TimedOut("lost on the way")
        if kind < 0.2:
            self.late.append(request)
            raise TimedOut("on its way for long")
        answer = self.s._driver._perform(request)
        if kind < 0.3:
            raise TimedOut("the answer was lost")
        return answer

    def deliver(self) -> None:
        """Let one of the late requests arrive."""
        if self.late:
            self.s._driver._send(self.late.pop(self.rng.randrange(len(self.late))))
            self.tally["late"] += 1

    def step(self, flows: list[tuple[str, Any, Any]], faulty: bool) -> None:
        """Take one random flow to its next request; one in sixty is cancelled or dropped there."""
        at = self.rng.randrange(len(flows))
        path, made, request = flows.pop(at)
        try:
            if request is not None and self.rng.random() < 1 / 60:
                if self.rng.random() < 0.5:
                    self.tally["dropped"] += 1
                    made.close()
                    return
                self.tally["cancelled"] += 1
                following = made.throw(asyncio.CancelledError())
            elif request is None:
                following = next(made)
            else:
                try:
                    answer = self.perform(request, faulty)
                except ToolkitError as error:
                    following = made.throw(error)
                else:
                    following = made.send(answer)
        except StopIteration:
            self.tally[f"{path} accepted"] += 1
        except ToolkitError as error:
            self.tally[type(error).__name__] += 1
        except asyncio.CancelledError:
            pass
        else:
            flows.append((path, made, following))

    def close(self) -> None:
        """Close session and venue."""
        self.s.close()
        self.venue.close()
