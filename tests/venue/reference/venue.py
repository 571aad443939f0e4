"""The reference as a venue: settings of positions, the passing of time, funding, triggers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from tests.venue.reference.liquidation import Liquidation, own_order
from tests.venue.reference.margin import CLEARING, LP, REFERRALS, ROUNDING
from tests.venue.reference.money import DAY_MS, Account, Holding, Market, Order, Refused


class ReferenceVenue(Liquidation):
    """An action, `set_oracle` or `advance` is a step; `begin_step` forgets what the step before recorded."""

    def begin_step(self) -> None:
        self.rows, self.events = [], []

    # Margin: settings of a position

    def settings(self, account: Account, code: int) -> Holding:
        held = self.holding(account, code)
        self.require(not {(account.name, 0), (account.name, code)} & set(self.liquidations), "settings in liquidation")
        return held

    def set_leverage(self, account: Account, code: int, leverage: Fraction) -> None:
        """Equity must cover what lower leverage needs; an isolated position takes it from the balance."""
        held = self.settings(account, code)
        reach = max(self.reach(account, held, side) for side in (1, -1))
        self.require(leverage <= held.market.highest_leverage(reach), "setLeverage: the tier's")
        before, held.leverage = held.leverage, leverage
        if leverage < before:
            need = max(0, held.initial(held.notional) - held.equity) if held.isolated else 0
            if self.available(account) < need:
                held.leverage = before
            self.require(held.leverage == leverage, "setLeverage: initial margin")
            self.assign(account, held, need)

    def set_margin_mode(self, account: Account, code: int, isolated: bool) -> None:
        """To isolated: initial margin and unrealised loss leave the balance; to cross: all of it returns."""
        if isolated == self.holding(account, code).isolated:
            return
        held = self.settings(account, code)
        amount = held.initial(held.notional) + max(0, -held.equity) if isolated else -held.assigned
        held.isolated = isolated
        if self.available(account) < amount:
            held.isolated = not isolated
        self.require(held.isolated == isolated, "setMarginMode: initial margin")
        self.assign(account, held, amount)

    def assign_margin(self, account: Account, code: int, amount: int) -> None:
        held = self.settings(account, code)
        self.require(held.isolated and held.size > 0, "assignPosMargin: an open isolated position")
        spare = max(0, min(held.equity, held.assigned) - held.initial(held.notional))
        most = self.withdrawable(account) if amount > 0 else spare
        self.require(abs(amount) <= most, "assignPosMargin: free margin")
        self.assign(account, held, amount)

    def withdraw(self, account: Account, amount: int, destination: str) -> None:
        self.require(amount >= 2 * 10**6, "smallest withdrawal")
        self.require(amount <= self.withdrawable(account), "withdrawable")
        self.pay(account.name, "", amount, "WITHDRAW", 0, destination)

    def deposit(self, name: str, amount: int) -> None:
        self.pay("", name, amount, "DEPOSIT")
        self.after_command()

    # Prices and time

    def set_oracle(self, code: int, price: str) -> None:
        market = self.markets[code]
        market.oracle = int(Fraction(price) / market.tick)
        if not market.trades:
            market.last = market.oracle
        market.set_mark(self.best(code, 1), self.best(code, -1))
        self.after_command()

    def advance(self, until: int) -> None:
        """Prices every 3 s, funding at UTC multiples of its interval, slices of liquidations, rebates once a day."""
        every = self.config["price_ms"]
        while True:
            later = [each for each in (*self.liquidations.values(), self.unwind_at) if each > self.time]
            due = min([(self.time // each + 1) * each for each in (every, DAY_MS)] + later)
            if due > until:
                break
            self.time, sampled = due, self.markets.values() if due % every == 0 else ()
            for market in sampled:
                quotes = self.best(market.code, 1), self.best(market.code, -1)
                market.sample(*quotes, self.config["samples"])
                market.set_mark(*quotes)
            if sampled:
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
        vault = self.accounts[LP]
        for order in [each for each in self.orders.values() if each.name == LP]:
            self.cancel(order)
        for held, side in sorted(self.legs_of(vault, 0), key=lambda each: each[0].market.code):
            size, market = held.legs[side].size, held.market
            steps = min(ceil(Fraction(self.config["unwind"], market.step_value)), size, market.max_steps)
            terms = {"closing": False, "reduce": "REDUCE_ONLY", "kind": "LIMIT", "tif": "GTC"}
            self.place(vault, own_order(vault, market.code, -side, market.mark, steps, **terms))
        self.unwind_at = self.time + self.config["unwind_ms"] if self.legs_of(vault, 0) else 0

    def follow_mark(self) -> bool:
        """C8: never worse than mark; when the mark passes an order of the vault, the order follows."""
        own = [each for each in self.orders.values() if each.name == LP]
        passed = [each for each in own if (each.price - self.markets[each.code].mark) * each.side > 0]
        for order in passed:
            self.leave(order)
            order.price = self.markets[order.code].mark
            self.log(order)
            self.process(self.accounts[LP], order, order.price)
        return bool(passed)

    def pay_rebates(self) -> None:
        for name in self.network:
            for source, amount in self.accounts[name].due.items():
                self.pay(REFERRALS, name, amount, "REFERRAL_REBATE", 0, source)
            self.accounts[name].due = {}

    def sample_premium(self, market: Market) -> None:
        bids, asks = ([(each.price, each.leaves) for each in self.books[market.code, side]] for side in (1, -1))
        market.premiums = [*market.premiums, market.premium(bids, asks, self.config["impact_margin"])]
        if self.time % market.funding_ms == 0:
            self.settle_funding(market, market.funding_rate(sum(market.premiums) // len(market.premiums)))
            market.premiums = []

    def settle_funding(self, market: Market, rate: Fraction) -> None:
        """Funding: payment = size·mark·rate, longs pay a positive rate; payers up, receivers down."""
        left = 0
        for account, held in self.holders(market):
            for side, leg in held.legs.items():
                amount = floor(-side * leg.size * market.step_value * rate)
                self.pay(CLEARING, account.name, amount, "FUNDING", market.code)
                if held.isolated:
                    self.assign(account, held, amount)
                leg.funding, left = leg.funding + amount, left - amount
        self.pay(CLEARING, ROUNDING, left, "FUNDING", market.code)

    # After every command and instant: quotes of the LP vault, triggers, liquidations, until nothing trades

    def after_command(self) -> None:
        again = True
        while again:
            again = self.follow_mark()
            self.run_triggers()
            again = self.liquidate() or again

    def run_triggers(self) -> None:
        """C6: triggers met by a trade or met now go by age; a triggered order may meet others."""
        again = True
        while again:
            again = False
            for code, market in self.markets.items():
                due = []
                for order in [each for each in self.orders.values() if each.code == code and each.waiting]:
                    (trigger, price), order.seen = order.seen or (0, 0), ()
                    in_a_trade = trigger == order.trigger and order.armed and not order.triggered
                    if in_a_trade or (self.may_try(order) if order.triggered else self.is_met(order)):
                        due.append((order, price if in_a_trade else market.price(order.by)))
                for order, price in due:
                    tried = order.triggered and not self.may_try(order)
                    if order.id in self.orders and order.waiting and order.armed and not tried:
                        self.fire(order, price)
                        again = True

    def may_try(self, order: Order) -> bool:
        return bool(order.tried != self.prospects(order))

    def fire(self, order: Order, price: int) -> None:
        """Trigger an order, or let an exit try again: it closes at most the position; quantity 0 means all of it."""
        account, retry = self.accounts[order.name], order.triggered
        twins = [each for each in self.bracket(order.group) if each.triggered] if order.group else []
        main = self.orders.get(order.group)  # the rest of the main order goes
        for other in [*twins, *([main] if main is not None else [])]:
            if other is not order:
                self.cancel(other)
        order.triggered, order.status = True, "NEW"
        if order.reducing:
            held = self.holding(account, order.code)
            size = held.legs[-order.side].size if account.hedge == order.closing else 0
            most = min(size, order.cover) if order.grouped and order.quantity else size
            if not order.quantity:
                order.quantity = order.leaves = size
            order.leaves = min(order.leaves, most)
        limit = order.price or self.triggered_bound(order, price)
        if not retry:
            self.log(order)
        try:
            meets = order.tif == "POST_ONLY" and self.would_match(order)
            self.require(not meets, "POST_ONLY would match when triggered")
            if not order.reducing:
                self.check_increase(account, order, order.leaves, limit)
        except Refused:
            self.cancel(order)
            return
        self.process(account, order, limit)
