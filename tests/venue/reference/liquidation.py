"""Replacements, margin actions, and liquidation: who is judged, what the book, the LP vault and others take."""

from __future__ import annotations

from fractions import Fraction

from .books import Order, Position, down, need, up
from .money import INSURANCE, LP, OWN
from .rules import TOP_PRICE, Rules

Group = tuple[str, int]
"""Address of the account, and the product of an isolated position or 0 for all cross positions."""


class Liquidation(Rules):
    """What margin does to accounts."""

    flagged: dict[Group, int]
    """Group that is being liquidated → time of its next slice."""
    marks: dict[Group, tuple[int, dict[int, int]]]
    """Group that is being liquidated → since when, and the marks of the check before."""
    checked: dict[int, int]
    """The marks at which all were judged last."""
    unwinding: int
    """When the LP vault replaces its offers, 0 while it has no positions."""

    # settings of a position

    def settled(self, position: Position) -> None:
        """Assumptions, Liquidation: settings stay, in isolated products also while the cross group is liquidated."""
        address = position.account.address
        need(not {(address, 0), (address, position.product.code)} & self.flagged.keys(), "not during a liquidation")

    def set_leverage(self, position: Position, leverage: Fraction) -> None:
        """Assumptions, Money: less leverage needs covered initial margin; more gives nothing back."""
        product, account = position.product, position.account
        need(1 <= leverage <= product.max_leverage, "leverage of the product")
        self.settled(position)
        for side in (1, -1):
            need(leverage <= product.leverage_limit(self.reach(position, side)), "leverage of the tier")
        before, position.leverage = position.leverage, leverage
        lack = 0
        if position.isolated and position.size:
            lack = max(0, position.initial(position.notional(1) + position.notional(-1)) - position.equity)
        if leverage < before and self.available(account) < lack:
            position.leverage = before
            need(False, "initial margin")
        if leverage < before:
            self.assign(position, lack)

    def set_margin_mode(self, position: Position, isolated: bool) -> None:
        """Assumptions, Money: switching to isolated takes the initial margin and the unrealised loss along."""
        account = position.account
        if position.isolated == isolated:
            return
        self.settled(position)
        taken = position.initial(position.notional(1) + position.notional(-1)) + max(0, -position.gain)
        before, taken = (account.balance, position.assigned), taken if isolated else -position.assigned
        account.balance, position.assigned, position.isolated = before[0] - taken, before[1] + taken, isolated
        fits = self.available(account) >= 0
        (account.balance, position.assigned), position.isolated = before, isolated if fits else not isolated
        need(fits, "what stays on cross must cover its initial margin")
        self.assign(position, taken)

    def assign_margin(self, position: Position, amount: int) -> None:
        """Assumptions, Money: adds from what may be withdrawn, and takes what initial margin and loss leave."""
        need(position.isolated and position.size, "an isolated position")
        self.settled(position)
        if amount > 0:
            need(amount <= self.withdrawable(position.account), "withdrawable")
        else:
            kept = position.initial(position.notional(1) + position.notional(-1)) + max(0, -position.gain)
            need(position.assigned + amount >= kept, "initial margin of the position")
        self.assign(position, amount)

    # replacements

    def check_replacement(self, order: Order, new: Order, left: int) -> bool:
        """Clarification 5: moving an order away from the market, or shrinking it, is never refused for margin.

        Return whether it is one of these: it takes no one's cover.
        """
        product, position, side = order.product, order.position, order.side
        need(0 < new.price * product.tick <= 999_999 and new.price * 10 >= product.mark, "price range")
        need(new.quantity <= product.max_steps, "quantity")
        whole = position.leg(-side).size if order.closing or not order.account.hedge else 0
        closes = whole and (left >= whole if order.reducing else left == whole)
        need(closes or product.value(new.price, left) >= product.min_value, "minimum value")
        place, order.place = order.place, 0
        try:
            matches = self.would_match(new)
            if new.tif == "POST_ONLY":
                need(not matches, "POST_ONLY would match")
            if order.reducing:
                self.fit_reducing(new, new.price)
                return False
            away = side * (order.price - new.price) >= 0 and left <= order.leaves and not matches
            shrinks = left <= order.leaves and left * new.price <= order.leaves * order.price and not matches
            self.check_increase(new, new.price, margin=not (away or shrinks))
            return away or shrinks
        finally:
            order.place = place

    # who is judged

    def positions_of(self, group: Group) -> list[Position]:
        account = self.accounts[group[0]]
        if group[1]:
            position = account.positions[group[1]]
            return [position] if position.size and position.isolated else []
        return account.cross

    def equity_of(self, group: Group) -> int:
        account = self.accounts[group[0]]
        return account.positions[group[1]].equity if group[1] else account.equity

    def maintenance_of(self, group: Group) -> int:
        return sum(position.maintenance for position in self.positions_of(group))

    def is_liquidating(self, position: Position) -> bool:
        return (position.account.address, position.product.code if position.isolated else 0) in self.flagged

    def groups(self) -> list[Group]:
        """Assumptions, Liquidation: in order of address, an account's isolated positions before its cross group."""
        found: list[Group] = []
        for account in sorted(self.accounts.values(), key=lambda each: each.address):
            if account.address not in OWN:
                found += [(account.address, p.product.code) for p in account.held if p.isolated]
                if account.cross or (account.address, 0) in self.flagged:
                    found.append((account.address, 0))
        return found

    def judge(self) -> list[Group]:
        """Clarification 3: all groups at 100 % or more are flagged and lose their opening orders first.

        Return those of which something is to be closed now.
        """
        for group in list(self.flagged):
            if not self.positions_of(group):
                del self.flagged[group]
        due = []
        for group in self.groups():
            equity = self.equity_of(group)
            if group in self.flagged:
                if self.recovered(group):
                    del self.flagged[group]
                elif equity <= 0 or self.flagged[group] <= self.time:
                    due.append(group)
            elif equity <= self.maintenance_of(group):
                self.flagged[group] = self.time
                self.marks[group] = self.time, self.checked
                self.cancel_opening(group)
                due.append(group)
        return due

    def cancel_opening(self, group: Group) -> None:
        account = self.accounts[group[0]]
        for order in sorted(account.orders.values(), key=lambda o: o.id):
            if order.resting and not order.reducing and group[1] in (0, order.product.code):
                covered = 0 if account.hedge else order.position.leg(-order.side).size
                if order.leaves > covered:
                    self.end(order)

    def recovered(self, group: Group) -> bool:
        """Liquidation 1: it ends below a ratio of 95 %."""
        return self.maintenance_of(group) < self.settings.stop * self.equity_of(group)

    def urgency(self, group: Group) -> tuple[Fraction, int, int]:
        """The worst ratio first; without equity the largest lack in maintenance margins; then the older position."""
        age = min((p.leg(s).by, -s) for p in self.positions_of(group) for s in (1, -1) if p.leg(s).size)
        return Fraction(self.equity_of(group), self.maintenance_of(group)), *age

    def liquidate(self) -> bool:
        """Judge, close what is due and settle debts until nothing is due; return whether anything was closed."""
        acted = False
        while due := self.judge():
            for group in sorted(due, key=self.urgency):
                acted |= self.close_group(group)
            self.settle_debts()
        self.settle_debts()
        self.checked = {code: product.mark for code, product in self.products.items()}
        return acted

    # closing

    def bankruptcy(self, group: Group, position: Position, side: int) -> int:
        """Margin: the mark at which equity = 0, rounded to the tick away from the trader."""
        leg, equity = position.leg(side), self.equity_of(group)
        if equity < 0:
            equity = -self.lacking(group, position, side)
        price = position.product.mark - side * Fraction(equity, leg.size * position.product.unit)
        return up(price) if side > 0 else down(price)

    def close_group(self, group: Group) -> bool:
        """Liquidation 2: the largest position first; above 100,000 USDC a fifth of what is left each 30 s."""
        closed = False
        self.lend(group)
        while (legs := [(p, s) for p in self.positions_of(group) for s in (1, -1) if p.leg(s).size]) and not (
            self.recovered(group)
        ):
            if closed and self.flagged[group] > self.time and self.equity_of(group) > 0:
                return True
            closed = True
            position, side = max(legs, key=lambda leg: (leg[0].notional(leg[1]), -leg[0].product.code, leg[1]))
            if position.long.size and position.short.size:
                self.net_legs(position)
                continue
            size = steps = position.leg(side).size
            if position.notional(side) > self.settings.whole and self.equity_of(group) > 0:
                steps = up(size * self.settings.slice)
                self.flagged[group] = self.time + self.settings.pause
            self.close_slice(group, position, side, steps)
        del self.flagged[group]
        return closed

    def own_order(self, position: Position, side: int, steps: int, price: int, kind: str) -> Order:
        hedge = position.account.hedge
        order = Order(0, position.account, position.product, side, hedge, kind, "IOC", price, steps, "REDUCE_ONLY")
        self.number(order)
        return order

    def close_slice(self, group: Group, position: Position, side: int, steps: int) -> None:
        price, left = self.bankruptcy(group, position, side), steps
        if self.takers(position, side, price):
            order = self.own_order(position, -side, steps, price, "LIQUIDATION")
            self.enter(order)
            self.log(order)
            self.match(order, price)
            left = steps - order.filled
            self.end(order)
        if left:
            left -= self.take_over(group, position, side, left)
        if left:
            self.deleverage(group, position, side, left)

    def lend(self, group: Group) -> None:
        """Assumptions, Liquidation: what the balance can spare covers an isolated position's loss first."""
        account = self.accounts[group[0]]
        if group[1] and self.equity_of(group) < 0:
            self.assign(account.positions[group[1]], min(-self.equity_of(group), self.spare(account)))

    def takers(self, position: Position, side: int, price: int) -> bool:
        """Return whether the book has a price within the bound, and the bound is a price."""
        book, product = self.book(position.product, side), position.product
        return bool(book) and side * (book[0].price - price) >= 0 and 0 < price * product.tick <= TOP_PRICE

    def net_legs(self, position: Position) -> None:
        """Assumptions, Liquidation: the long and the short of a hedge are closed against each other at mark."""
        steps = min(position.long.size, position.short.size)
        self.off_book([(position, -1), (position, 1)], position.product.mark, steps, "LIQUIDATION")

    def off_book(
        self, sides: list[tuple[Position, int]], price: int, steps: int, kind: str, fee: tuple[int, int] = (0, 0),
        lack: int = 0,
    ) -> None:  # fmt: skip
        """Trade without the book: no trading fees, no public trade; the last price stays."""
        closing = sides[-1][0]
        if lack:
            self.grant(LP, closing, lack)
        if fee[0]:
            if closing.isolated:
                self.assign(closing, -fee[0])
            self.pay("LIQUIDATION_FEE", closing.account.address, LP, *fee, product=closing.product.code)
        orders = [self.own_order(p, side, steps, price, kind) for p, side in sorted(sides, key=lambda s: -s[1])]
        for order in orders:
            order.reduce = ""
            self.orders[order.id] = order
            self.log(order)
        self.execs += 1
        for order in orders:
            self.settle(order, price, steps, self.execs, "TAKER" if order.position is closing else "MAKER", free=True)
        self.drop_loose()

    def grant(self, payer: str, position: Position, amount: int) -> None:
        """Pay for the loss of a position; isolated margin receives it."""
        self.pay("BANKRUPTCY", payer, position.account.address, amount, product=position.product.code)
        if position.isolated:
            self.assign(position, amount)

    def gained(self, group: Group, position: Position, side: int) -> int:
        """Return what a leg has gained since the marks of the check before a liquidation."""
        product = position.product
        before = self.marks[group][1].get(product.code, product.mark)
        return product.value(side * (product.mark - before), position.leg(side).size)

    def lacking(self, group: Group, position: Position, side: int) -> int:
        """Return what is lacking for a leg.

        Assumptions, Liquidation: a group that has less than nothing charges it to its legs in proportion to what each
        has lost since the group was last healthy; if no mark has moved, a leg that is closed brings in all of it.
        """
        legs = [(p, s) for p in self.positions_of(group) for s in (1, -1) if p.leg(s).size]
        total = sum(max(0, -self.gained(group, *leg)) for leg in legs)
        share = Fraction(max(0, -self.gained(group, position, side)), total) if total else Fraction(1)
        return down(max(0, -self.equity_of(group)) * share)

    def take_over(self, group: Group, position: Position, side: int, steps: int) -> int:
        """Liquidation 3: the LP vault takes the rest at mark, for a fee of 0.5 % of its maintenance margin."""
        product, vault, size = position.product, self.accounts[LP], position.leg(side).size
        lack = self.lacking(group, position, side)
        each, own = up(Fraction(lack, size)), vault.position(product)
        used = sum(p.notional(1) + p.notional(-1) for p in vault.held if p is not own)

        def bears(taken: int) -> bool:
            """Assumptions, Liquidation: five times its equity in notional, all its positions, when it has paid."""
            after = product.value(product.mark, side * own.net + taken)
            left = vault.worth - each * taken
            # ruling 20: with what it pays for the deficit, within the band
            if side * product.value(product.mark - product.oracle, 1) + each > product.value(self.band(product), 1):
                return False
            return left >= 0 and used + after <= self.settings.lp_leverage * left

        taken = self.most(steps, bears) if vault.worth > 0 else 0
        if taken:
            fee = position.maintenance * self.settings.takeover_fee * Fraction(taken, size)
            most = down(max(0, self.equity_of(group)) * Fraction(taken, size))
            fees = min(up(fee), most), min(down(fee), most)
            self.off_book(
                [(own, side), (position, -side)], product.mark, taken, "LIQUIDATION", fees, min(each * taken, lack)
            )
            self.unwinding = self.unwinding or self.time + self.settings.lp_pause
        return taken

    def score(self, position: Position, side: int) -> Fraction:
        """Liquidation 4: PnL % × effective leverage for profits (÷ for losses).

        A bankruptcy price is at least 0; at or beyond it leverage has no end.
        """
        leg, value = position.leg(side), position.notional(side)
        percent = Fraction(position.gain_of(side), max(1, leg.value))
        equity = position.equity if position.isolated else position.account.equity
        cushion = min(value, equity) if side > 0 else equity
        leverage = Fraction(value, cushion) if cushion > 0 else Fraction(10**40)
        return percent * leverage if percent > 0 else percent / leverage

    def deleverage(self, group: Group, position: Position, side: int, steps: int) -> None:
        """Clarification 15: auto-deleveraging takes gains, not capital; opposite positions in order of score."""
        product, left = position.product, steps
        found = [
            p for account in self.accounts.values()
            if (p := account.positions.get(product.code)) and p.leg(-side).size and p is not position
        ]  # fmt: skip
        found.sort(key=lambda p: (-self.score(p, -side), p.leg(-side).by))
        chosen: list[tuple[Position, int]] = []
        for other in found:
            taken = min(left, other.leg(-side).size)
            if taken:
                chosen.append((other, taken))
            left -= taken
        top = down(TOP_PRICE / product.tick)
        lack, pays = self.lacking(group, position, side), list[int]()
        if lack:
            room = top - product.mark if side > 0 else product.mark - 1
            means = [min(room, self.means(group, p, -side, n) // (n * product.unit)) for p, n in chosen]
            pays = ticks_paid([n for _, n in chosen], means, up(Fraction(lack, product.unit)))
            paid = sum(product.value(ticks, n) for ticks, (_, n) in zip(pays, chosen, strict=True))
            self.grant(INSURANCE, position, max(0, lack - paid))
        for at, (other, taken) in enumerate(chosen):
            price = product.mark + side * pays[at] if pays else self.bankruptcy(group, position, side)
            self.off_book([(other, side), (position, -side)], max(1, min(price, top)), taken, "ADL")

    def means(self, group: Group, position: Position, side: int, steps: int) -> int:
        """Return what a counterpart may pay: its gain since the marks, on all its positions, and its equity."""
        account, size = position.account, position.leg(side).size
        own = self.gained(group, position, side)
        if position.changed >= self.marks[group][0]:  # it may not have had the position at those marks
            own = min(own, position.gain_of(side))
        every = sum(self.gained(group, p, s) for p in account.held for s in (1, -1))
        equity = position.equity if position.isolated else account.equity
        return max(0, min(down(Fraction(own * steps, size)), every, equity))

    def settle_debts(self) -> None:
        """Assumptions, Liquidation: isolated positions pay first, at last INSURANCE; the largest debt goes first."""
        owing = [a for a in self.accounts.values() if a.address not in OWN and a.balance < 0 and not a.cross]
        for account in sorted(owing, key=lambda a: a.balance):
            for position in account.held:
                if position.isolated and account.balance < 0:
                    self.assign(position, -min(-account.balance, max(0, position.equity)))
            if account.balance < 0:
                self.pay("BANKRUPTCY", INSURANCE, account.address, -account.balance)


def ticks_paid(steps: list[int], means: list[int], lack: int) -> list[int]:
    """Return the ticks that each pays for a step: whoever can pay least goes first, with an even part of the rest."""
    pays, left, open_ = [0] * len(steps), lack, sum(steps)
    for at in sorted(range(len(steps)), key=lambda at: means[at]):
        pays[at] = max(0, min(means[at], up(Fraction(left, open_))))
        left, open_ = left - pays[at] * steps[at], open_ - steps[at]
    return pays
