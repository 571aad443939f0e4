"""Liquidation, step by step: flagging, the book, the LP vault, auto-deleveraging, and who pays what is lacking."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from tests.venue.reference.margin import INSURANCE, LP, OWN
from tests.venue.reference.money import Account, Group, Holding, Market, Order
from tests.venue.reference.trading import Trading

HIGHEST_PRICE = 999_999


def own_order(held: Holding, side: int, price: int, steps: int, kind: str, tif: str, reduce: str = "") -> Order:
    """Return an order that the venue places for an account."""
    closing = held.account.hedge and held.legs[-side].size >= steps
    terms = {"closing": closing, "kind": kind, "tif": tif, "reduce": reduce}
    return Order(held=held, side=side, price=price, quantity=steps, leaves=steps, **terms)


class Liquidation(Trading):
    """Who can't keep a position is liquidated; a margin group is judged and closed as one."""

    def by_address(self) -> list[Account]:
        return [self.accounts[name] for name in sorted(self.accounts, key=self.config["order_of"])]

    def recovered(self, group: Group) -> bool:
        return group.maintenance() == 0 or group.maintenance() < self.config["stop"] * group.equity

    def liquidate(self) -> bool:
        """C3: everyone is judged at the same mark before anything is closed; the worst ratio goes first."""
        people, closed = [each for each in self.by_address() if each.name not in OWN], False
        before, self.healthy = self.healthy, {code: market.mark for code, market in self.markets.items()}
        self.before = before or self.healthy
        while due := [group for each in people for group in self.judge(each)]:
            for group in sorted(due, key=self.urgency):
                closed = self.close_group(group) or closed
        for account in sorted(people, key=lambda each: each.balance):
            if account.balance < 0 and not account.open_legs:
                self.settle_debt(account)
        return closed

    def judge(self, account: Account) -> list[Group]:
        """1: flag the unhealthy groups and cancel their opening orders; return the ones to close now."""
        due = []
        for group in [*(held for held in account.holdings.values() if held.isolated), account]:
            if not group.next_slice:
                if group.equity > group.maintenance() or not group.maintenance():
                    continue
                group.next_slice, group.started, group.marks = self.time, self.time, self.before
                for order in [each for each in self.orders.values() if each.account is account and each.place]:
                    opens = order.leaves > order.held.cover(order.side) and not order.reducing
                    if opens and (group is account or group is order.held):
                        self.cancel(order)
            elif self.recovered(group):
                group.next_slice = 0
                continue
            if group.equity <= 0 or self.time >= group.next_slice:  # not between two slices
                due.append(group)
        return due

    def urgency(self, group: Group) -> tuple[Fraction, int, int]:
        """C3: the worst margin ratio first, then the oldest position."""
        ages = [(held.legs[side].opened, -side) for held, side in group.open_legs]
        ratio = Fraction(group.equity, group.maintenance()) if group.maintenance() else Fraction(0)
        return ratio, *min(ages, default=(0, 0))

    def close_group(self, group: Group) -> bool:
        """2: at once up to 100,000 USDC, above it 20 % at a time with 30 s between; True when it closed anything."""
        closed = False
        if group is not group.positions[0].account if group.positions else False:  # C11: its own other margin first
            self.assign(group, max(0, min(-group.equity, self.spare(group.account))))
        while True:
            legs = group.open_legs
            if not legs or self.recovered(group):
                group.next_slice = 0
                return closed
            if closed and group.next_slice > self.time and group.equity > 0:
                return True
            closed, sizes = True, {(h.legs[s].size * h.market.step_value, -h.market.code, s): (h, s) for h, s in legs}
            (notional, *_), (held, side) = max(sizes.items())
            steps = held.legs[side].size
            if held.account.hedge and held.legs[-side].size:  # the legs of a hedge close each other
                steps = min(steps, held.legs[-side].size)
                self.off_book(held, held, side, steps, held.market.mark, "LIQUIDATION")
                continue
            if group.equity > 0 and notional > self.config["whole"]:
                steps = ceil(steps * self.config["slice"])
                group.next_slice = self.time + self.config["pause"]
            self.close_leg(held, side, steps)

    def since(self, held: Holding, side: int, marks: dict[int, int]) -> int:
        """C15: what a leg has gained since the marks at which a group was last healthy."""
        return side * (held.market.mark - marks[held.market.code]) * held.legs[side].size * held.market.unit

    def means(self, held: Holding, side: int) -> int:
        """The equity that a leg may use up; of a lack it owes its part, in proportion to the losses of the gap."""
        equity, marks = held.group.equity, held.group.marks or self.healthy
        total = sum(max(0, -self.since(each, way, marks)) for each, way in held.group.open_legs)
        return -(-equity * max(0, -self.since(held, side, marks)) // total) if equity < 0 < total else equity

    def bankruptcy(self, held: Holding, side: int) -> int:
        """The mark at which equity is 0, rounded away from the trader."""
        return held.market.mark - side * (self.means(held, side) // (held.legs[side].size * held.market.unit))

    def close_leg(self, held: Holding, side: int, steps: int) -> None:
        """2–4: in the book up to the bankruptcy price, then the LP vault at mark, then auto-deleveraging."""
        bound = self.bankruptcy(held, side)
        order = own_order(held, -side, bound, steps, "LIQUIDATION", "IOC", "REDUCE_ONLY")
        if self.would_match(order) and 0 < bound <= floor(HIGHEST_PRICE / held.market.tick):
            self.process(self.accept(order), bound)
            steps -= order.filled
        if steps and (steps := self.take_over(held, side, steps)):
            self.deleverage(held, side, steps)

    def take_over(self, held: Holding, side: int, steps: int) -> int:
        """3: the LP vault takes over at mark, for 0.5 % of the maintenance margin, up to its limit; what is left."""
        market, vault, leg, times = held.market, self.accounts[LP], held.legs[side], self.config["lp_leverage"]
        equity, worth, own = self.means(held, side), vault.equity, vault.holdings[held.market.code]
        lack, others = max(0, -(equity // leg.size)), sum(h.notional for h in vault.holdings.values())
        room = worth * times - others + own.notional - side * own.net * market.step_value
        taken = min(steps, floor(room / (market.step_value + lack * times)), worth // lack if lack else steps)
        if worth <= 0 or taken <= 0:
            return steps
        fee = Fraction(market.maintenance(leg.size * market.step_value) * taken, leg.size) * self.config["lp_fee"]
        most = max(0, equity) * taken // leg.size
        self.grant(LP, held.account, min(lack * taken, max(0, -equity)), held)
        self.assign(held, -min(ceil(fee), most))
        self.pay(held.account.name, LP, min(ceil(fee), most), "LIQUIDATION_FEE", market.code, got=min(floor(fee), most))
        self.off_book(held, own, side, taken, market.mark, "LIQUIDATION")
        self.unwind_at = self.unwind_at or self.time + self.config["unwind_ms"]
        return steps - taken

    def score(self, held: Holding, side: int) -> Fraction:
        """4: PnL % × effective leverage for profits (÷ for losses), |mark value| / (mark value − bankruptcy value)."""
        leg, mark, unit = held.legs[side], held.market.mark, held.market.unit
        bankrupt = max(Fraction(0), mark - side * Fraction(held.group.equity, leg.size * unit))
        entry = max(Fraction(leg.value, leg.size * unit), Fraction(1))
        gain, cushion = side * (mark - entry) / entry, side * (mark - bankrupt)
        leverage = mark / cushion if cushion > 0 else Fraction(10**30)
        return gain * leverage if gain >= 0 else gain / leverage

    def deleverage(self, held: Holding, side: int, steps: int) -> None:
        """4: opposite positions in order of score, at the bankruptcy price; C15: a lack is paid by gains of the gap."""
        market, chosen, lack = held.market, list[tuple[Holding, int]](), -self.means(held, side)
        highest = floor(HIGHEST_PRICE / market.tick)
        found = [each for each in self.holders(market) if each is not held and each.legs[-side].size]
        for other in sorted(found, key=lambda each: (-self.score(each, -side), each.legs[-side].opened)):
            chosen.append((other, min(steps - sum(part for _, part in chosen), other.legs[-side].size)))
        chosen, paid = [(other, part) for other, part in chosen if part], dict[int, int]()
        if lack > 0:
            room = highest - market.mark if side > 0 else market.mark - 1
            left, open_steps = ceil(Fraction(lack, market.unit)), steps
            most = [min(room, self.gap_gain(held, *each, -side) // (each[1] * market.unit)) for each in chosen]
            for at in sorted(range(len(chosen)), key=lambda at: most[at]):  # who can pay less than its part goes first
                paid[at] = max(0, min(most[at], ceil(Fraction(left, open_steps))))
                left, open_steps = left - paid[at] * chosen[at][1], open_steps - chosen[at][1]
            given = sum(paid[at] * part * market.unit for at, (_, part) in enumerate(chosen))
            self.cover_loss(held.account, max(0, lack - given), held)
        for at, (other, part) in enumerate(chosen):
            price = market.mark + side * paid[at] if paid else self.bankruptcy(held, side)
            self.off_book(held, other, side, part, max(1, min(price, highest)), "ADL")

    def gap_gain(self, held: Holding, other: Holding, part: int, side: int) -> int:
        """C15: what a counterparty has gained from the gap with a part of its position, with all its positions."""
        marks, own = held.group.marks, self.since(other, side, held.group.marks)
        if other.traded >= held.group.started:  # it may not have had the position before the gap
            own = min(own, other.gain(side))
        own = own * part // other.legs[side].size
        every = [(each, way) for each in other.account.holdings.values() for way in each.legs]
        together = sum(self.since(each, way, marks) for each, way in every)
        return max(0, min(own, together, other.group.equity))

    def off_book(self, taker: Holding, maker: Holding, way: int, steps: int, price: int, kind: str) -> None:
        """5: orders and fills of these steps carry LIQUIDATION and ADL; they are no public trade."""
        sides = sorted(((taker, -way), (maker, way)), key=lambda each: -each[1])
        orders = [self.accept(own_order(held, side, price, steps, kind, "IOC")) for held, side in sides]
        self.last_trade += 1
        for order in orders:
            order.leaves = 0
            self.settle(order, price, steps, maker=order.account is not taker.account)
            self.end(order)
        self.drop_loose()

    def holders(self, market: Market) -> list[Holding]:
        found = [account.holdings[market.code] for account in self.by_address()]
        return [held for held in found if held.size]

    def grant(self, payer: str, account: Account, amount: int, held: Holding | None = None) -> None:
        self.pay(payer, account.name, amount, "BANKRUPTCY", held.market.code if held is not None else 0)
        if held is not None:
            self.assign(held, amount)

    def cover_loss(self, account: Account, amount: int, held: Holding | None = None) -> None:
        """C11: what a group still lacks is paid by the insurance account."""
        self.grant(INSURANCE, account, amount, held)

    def settle_debt(self, account: Account) -> None:
        """Who owes pays with what its isolated positions are worth, before others do."""
        for pledged in account.holdings.values():
            if pledged.isolated and account.balance < 0:
                self.assign(pledged, -min(max(0, pledged.equity), -account.balance))
        self.cover_loss(account, max(0, -account.balance))
