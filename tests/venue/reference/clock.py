"""Time: prices every 3 s, funding, the LP vault's unwinding, rebates at midnight, and what follows each command."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from .books import DAY, Order, Position, Product, nearest, up
from .liquidation import Liquidation
from .money import CLEARING, LP, REFERRALS, ROUNDING


def average(samples: Iterable[Fraction | None]) -> Fraction | None:
    """Return the mean of the samples of a window (150 s, 30 s) that exist."""
    found = [sample for sample in samples if sample is not None]
    return sum(found, Fraction(0)) / len(found) if found else None


class Clock(Liquidation):
    """The course of time."""

    own: dict[str, str]
    """Name of an account of the venue's own → its address: rows of one instant are in the order of addresses."""

    # prices

    def middle(self, product: Product) -> Fraction | None:
        bid, ask = self.best(product, 1), self.best(product, -1)
        return Fraction(bid + ask, 2) if bid and ask else None

    def book_price(self, product: Product) -> Fraction | None:
        """Prices: P2 = median(best bid, best ask, last); it counts only while the book has both sides."""
        bid, ask = self.best(product, 1), self.best(product, -1)
        return Fraction(sorted((bid, ask, product.last))[1]) if bid and ask else None

    def set_mark(self, product: Product) -> None:
        """Prices: the median of what exists; if only two exist, the 30 s average of P2 joins."""
        book = self.book_price(product)
        prices = [product.oracle + (average(product.basis) or Fraction(0))]
        if book is not None:
            prices.append(book)
            if (before := average(product.books)) is not None:
                prices.append(before)
        prices.sort()
        middle = len(prices) // 2
        median = (prices[middle] + prices[-1 - middle]) / 2
        product.mark = max(1, nearest(median))
        width = self.band(product)  # ruling 18: the published median first, then the band
        product.mark = min(max(product.mark, product.oracle - width), product.oracle + width)

    def sample(self, product: Product) -> None:
        """Take the samples of an instant: mid − oracle, the book's price, the funding premium."""
        middle, book = self.middle(product), self.book_price(product)
        product.basis.append(None if middle is None else middle - product.oracle)
        product.books.append(book)
        while len(product.basis) > self.settings.basis_samples:
            product.basis.popleft()
        while len(product.books) > self.settings.book_samples:
            product.books.popleft()
        self.set_mark(product)

    def impact(self, product: Product, side: int) -> Fraction | None:
        """Prices: average execution price of a notional of 200 / (1/maxLeverage) USDC; ruling 19: and of the depth."""
        settings = self.settings
        notional = max(settings.impact_margin * product.max_leverage, settings.depth * settings.impact_share)
        left, steps = notional, Fraction(0)
        for order in self.book(product, side):
            taken = min(left, Fraction(product.value(order.price, order.leaves)))
            steps += taken / (order.price * product.unit)
            left -= taken
            if not left:
                return notional / (steps * product.unit)
        return None

    def premium(self, product: Product) -> Fraction:
        bid, ask, oracle = self.impact(product, 1), self.impact(product, -1), product.oracle
        above = max(Fraction(0), bid - oracle) if bid is not None else Fraction(0)
        below = max(Fraction(0), oracle - ask) if ask is not None else Fraction(0)
        most = max(self.settings.premium_bound, self.settings.band * product.gentlest)  # ruling 19
        return max(-most, min((above - below) / oracle, most))

    # funding

    def funding_rate(self, product: Product) -> Fraction:
        """Prices: {P + clamp(I − P, ±0.05 %)} / (8/N), capped at ±2 %; 8 decimals, to the nearest."""
        mean, clamp = average(product.premiums) or Fraction(0), self.settings.clamp
        hours = Fraction(product.interval, 3_600_000)
        rate = (mean + max(-clamp, min(clamp, self.settings.interest - mean))) * hours / 8
        rate = max(-self.settings.cap, min(self.settings.cap, rate))
        return Fraction(nearest(rate * 10**8), 10**8)

    def settle_funding(self, product: Product) -> None:
        rate = self.funding_rate(product)
        product.premiums = []
        for account in sorted(self.accounts.values(), key=lambda a: self.own.get(a.address, a.address)):
            position = account.positions.get(product.code)
            for side in (1, -1):
                if position and position.leg(side).size:
                    self.pay_funding(position, side, rate)

    def pay_funding(self, position: Position, side: int, rate: Fraction) -> None:
        """Prices: payment = size·mark·rate; longs pay a positive rate."""
        exact = side * position.notional(side) * rate
        paid = up(exact)
        leg, code, address = position.leg(side), position.product.code, position.account.address
        leg.funding -= paid
        self.payments.append({
            "account": address, "product": position.product, "side": side, "size": leg.size, "rate": rate,
            "amount": -paid, "time": self.time,
        })  # fmt: skip
        self.pay("FUNDING", address, CLEARING, paid, product=code)
        if position.isolated:
            self.assign(position, -paid)

    def balance_clearing(self, code: int) -> None:
        """Assumptions, Money: clearing's balance is the entry value of all shorts less that of all longs."""
        owed = sum(
            p.short.value - p.long.value for account in self.accounts.values() for p in account.positions.values()
        )
        self.pay("FUNDING", CLEARING, ROUNDING, self.accounts[CLEARING].balance - owed, product=code)

    # the LP vault

    def unwind(self) -> None:
        """Clarification 8: reduce-only, at mark, 20,000 USDC of each position, replaced every minute."""
        vault = self.accounts[LP]
        for order in list(vault.orders.values()):
            self.end(order)
        for position in sorted(vault.held, key=lambda each: each.product.code):
            product, side = position.product, 1 if position.long.size else -1
            steps = up(Fraction(self.settings.lp_slice, product.value(product.mark, 1)))
            self.offer(position, -side, min(steps, position.leg(side).size, product.max_steps))
        self.unwinding = self.time + self.settings.lp_pause if vault.held else 0

    def offer(self, position: Position, side: int, steps: int) -> None:
        order = Order(
            0, position.account, position.product, side, False, "LIMIT", "GTC", position.product.mark, steps,
            "REDUCE_ONLY",
        )  # fmt: skip
        self.number(order)
        self.act(order)

    def follow_mark(self) -> bool:
        """Assumptions, Liquidation: an order that the mark has passed follows it before anybody can trade with it."""
        moved = False
        for order in list(self.accounts[LP].orders.values()):
            mark = order.product.mark
            if order.side * (order.price - mark) > 0:
                self.queue += 1
                order.price, order.place, moved = mark, self.queue, True
                self.log(order)
                self.process(order, mark)
        return moved

    # rebates

    def pay_rebates(self) -> None:
        """Assumptions, Referrals: paid at 00:00 UTC, to who joined first, from who owed first."""
        totals: dict[tuple[str, str], int] = {}
        for name, source, amount in self.owed_rebates:
            totals[name, source] = totals.get((name, source), 0) + amount
        self.owed_rebates.clear()
        for (name, source), amount in sorted(totals.items(), key=lambda item: self.joined.index(item[0][0])):
            self.pay("REFERRAL_REBATE", REFERRALS, name, amount, reference=source)

    # the course of time

    def advance(self, until: int) -> None:
        while True:
            due = [self.time + step - self.time % step for step in self.steps()]
            due += [at for at in (*self.flagged.values(), self.unwinding) if at > self.time]
            instant = min(due)
            if instant > until:
                break
            self.time = instant
            self.instant()
        self.time = max(self.time, until)

    def steps(self) -> set[int]:
        periods = {self.settings.price_ms, DAY}
        return periods | {product.interval for product in self.products.values()}

    def instant(self) -> None:
        """Assumptions, Prices: marks, the LP vault's offers, premiums and funding; then triggers and liquidations."""
        sampled = not self.time % self.settings.price_ms
        if sampled:
            for product in self.products.values():
                self.sample(product)
        self.follow_mark()
        if self.unwinding and self.unwinding <= self.time:
            self.unwind()
        for product in self.products.values():
            if sampled:
                product.premiums.append(self.premium(product))
            if not self.time % product.interval:
                self.settle_funding(product)
                self.balance_clearing(product.code)
        if not self.time % DAY:
            self.pay_rebates()
        self.after()

    def set_oracle(self, code: int, price: int) -> None:
        """Assumptions, Prices: an oracle price set by hand moves the mark at once."""
        self.products[code].oracle = price
        self.set_mark(self.products[code])
        self.after()

    def after(self) -> None:
        """Do what follows a command or an instant, until nothing is left to do."""
        acted = True
        self.trimmed.clear()
        while acted:
            acted = self.follow_mark()
            while self.fire_due():
                acted = True
            acted |= self.liquidate()

    def closed_position(self, position: Position, side: int) -> None:
        leg = position.leg(side)
        self.closings.append({
            "account": position.account.address, "product": position.product, "side": side, "term": leg.term,
            "size": leg.closed, "pnl": leg.pnl, "fees": leg.fees, "funding": leg.funding,
            "leverage": position.leverage, "opened": leg.opened, "time": self.time,
        })  # fmt: skip
