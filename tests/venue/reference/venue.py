"""The reference as a venue: settings of positions, the passing of time, funding, triggers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from tests.venue.reference.liquidation import Liquidation, own_order
from tests.venue.reference.margin import CLEARING, LP, REFERRALS, ROUNDING
from tests.venue.reference.money import DAY_MS, Holding, Market, Order, Refused, require


class ReferenceVenue(Liquidation):
    """What an account sets, what time and prices do, and what follows from it."""

    # Margin: settings of a position

    def check_settings(self, held: Holding) -> None:
        require(not held.account.next_slice and not held.next_slice, "settings in liquidation")

    def set_leverage(self, held: Holding, leverage: Fraction) -> None:
        """Equity must cover what lower leverage needs; an isolated position takes it from the balance."""
        self.check_settings(held)
        reach = max(self.reach(held, side) for side in (1, -1))
        require(leverage <= held.market.highest_leverage(reach), "setLeverage: the tier's")
        before, held.leverage = held.leverage, leverage
        if leverage < before:
            need = max(0, held.initial(held.notional) - held.equity) if held.isolated else 0
            require(self.available(held.account) >= need, "setLeverage: initial margin")
            self.assign(held, need)

    def set_margin_mode(self, held: Holding, isolated: bool) -> None:
        """To isolated: initial margin and unrealised loss leave the balance; to cross: all of it returns."""
        if isolated != held.isolated:
            self.check_settings(held)
            amount = held.initial(held.notional) + max(0, -held.equity) if isolated else -held.assigned
            held.isolated = isolated
            self.assign(held, amount)
            require(self.available(held.account) >= 0, "setMarginMode: initial margin")

    def assign_margin(self, held: Holding, amount: int) -> None:
        self.check_settings(held)
        require(held.isolated and held.size > 0, "assignPosMargin: an open isolated position")
        spare = max(0, min(held.equity, held.assigned) - held.initial(held.notional))
        most = self.withdrawable(held.account) if amount > 0 else spare
        require(abs(amount) <= most, "assignPosMargin: free margin")
        self.assign(held, amount)

    def withdraw(self, name: str, amount: int, destination: str) -> None:
        require(amount >= 2 * 10**6, "smallest withdrawal")
        require(amount <= self.withdrawable(self.accounts[name]), "withdrawable")
        self.pay(name, "", amount, "WITHDRAW", 0, destination)

    # Prices and time

    def set_oracle(self, code: int, price: str) -> None:
        market = self.markets[code]
        market.oracle = int(Fraction(price) / market.tick)
        market.last = market.last if market.trades else market.oracle
        market.set_mark(*self.quotes(market))
        self.after_command()

    def advance(self, until: int) -> None:
        """Prices every 3 s, funding at UTC multiples of its interval, slices of liquidations, rebates once a day."""
        every = self.config["price_ms"]
        while True:
            pauses = [end for end in (*(each.next_slice for each in self.flagged()), self.unwind_at) if end > self.time]
            due = min([(self.time // each + 1) * each for each in (every, DAY_MS)] + pauses)
            if due > until:
                break
            self.time, sampled = due, self.markets.values() if due % every == 0 else ()
            for market in sampled:
                quotes = self.quotes(market)
                market.sample(*quotes, self.config["samples"])
                market.set_mark(*quotes)
            self.follow_mark()
            if due == self.unwind_at:
                self.unwind()
            for market in sampled:
                self.sample_premium(market)
            if due % DAY_MS == 0:
                self.pay_rebates()
            self.after_command()
        self.time = until

    def unwind(self) -> None:
        """C8: the LP vault offers a slice of what it took over, reduce-only at mark, replaced each minute."""
        for order in [each for each in self.orders.values() if each.account.name == LP]:
            self.cancel(order)
        for held, side in self.accounts[LP].open_legs:
            size, market = held.legs[side].size, held.market
            steps = min(ceil(Fraction(self.config["unwind"], market.step_value)), size, market.max_steps)
            self.place(own_order(held, -side, market.mark, steps, "LIMIT", "GTC", "REDUCE_ONLY"))
        self.unwind_at = self.time + self.config["unwind_ms"] if self.accounts[LP].open_legs else 0

    def follow_mark(self) -> bool:
        """C8: never worse than mark; when the mark passes an order of the vault, the order follows."""
        own = [each for each in self.orders.values() if each.account.name == LP]
        passed = [each for each in own if (each.price - each.market.mark) * each.side > 0]
        for order in passed:
            order.place, order.price = 0, order.market.mark
            self.log(order)
            self.process(order, order.price)
        return bool(passed)

    def pay_rebates(self) -> None:
        for name in self.network:
            for source, amount in self.accounts[name].due.items():
                self.pay(REFERRALS, name, amount, "REFERRAL_REBATE", 0, source)
            self.accounts[name].due.clear()

    def sample_premium(self, market: Market) -> None:
        """Funding: payment = size·mark·rate, longs pay a positive rate; payers up, receivers down."""
        found = market.premium(self.book(market, 1), self.book(market, -1), self.config["impact_margin"])
        market.premiums = [*market.premiums, found]
        if self.time % market.funding_ms == 0:
            rate, left = market.funding_rate(sum(market.premiums) // len(market.premiums)), 0
            for held in self.holders(market):
                for side, leg in held.legs.items():
                    amount = floor(-side * leg.size * market.step_value * rate)
                    self.pay(CLEARING, held.account.name, amount, "FUNDING", market.code)
                    self.assign(held, amount)
                    leg.funding, left = leg.funding + amount, left - amount
            self.pay(CLEARING, ROUNDING, left, "FUNDING", market.code)
            market.premiums = []

    # After every command and instant: quotes of the LP vault, triggers, liquidations, until nothing trades

    def after_command(self) -> None:
        again = True
        while again:
            again = self.follow_mark()
            while [market for market in self.markets.values() if self.fire_due(market)]:
                pass
            again = self.liquidate() or again

    def fire_due(self, market: Market) -> bool:
        """C6: triggers met by a trade or met now go by age; a triggered order may meet others."""
        due, fired = [], False
        for order in self.orders.values():
            if order.market is market and order.waiting:
                price, order.seen = order.seen or market.price(order.by), 0
                if order.armed and (self.may_try(order) if order.triggered else order.met_at(price)):
                    due.append((order, price))
        for order, price in due:
            still = order.id in self.orders and order.waiting and order.armed
            if still and (not order.triggered or self.may_try(order)):
                self.fire(order, price)
                fired = True
        return fired

    def may_try(self, order: Order) -> bool:
        return order.tried != self.prospects(order)

    def fire(self, order: Order, price: int) -> None:
        """Trigger an order, or let an exit try again: it closes at most the position; quantity 0 means all of it."""
        retry, main = order.triggered, self.orders.get(order.group)  # the rest of the main order goes
        for other in [*(each for each in self.bracket(order.group) if each.triggered), *([main] if main else [])]:
            if other is not order:
                self.cancel(other)
        order.triggered, order.status = True, "NEW"
        if order.reducing:
            size = order.closable
            order.whole = order.whole or not order.quantity
            if order.whole:  # C12: all of what the position is now
                order.quantity, order.leaves = order.filled + size, size
            order.leaves = min(order.leaves, min(size, order.cover) if order.grouped and not order.whole else size)
        limit = order.price or self.triggered_bound(order, price)
        if not retry:
            self.log(order)
        try:
            meets = order.tif == "POST_ONLY" and self.would_match(order)
            require(not meets, "POST_ONLY would match when triggered")
            if not order.reducing:
                self.check_increase(order, limit)
        except Refused:
            self.cancel(order)
            return
        self.process(order, limit)
