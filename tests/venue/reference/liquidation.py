"""Liquidation, step by step: flagging, the book, the LP vault, auto-deleveraging, and who pays what is lacking."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.venue.reference.margin import INSURANCE, LP, OWN
from tests.venue.reference.money import Account, Holding, Market, Order
from tests.venue.reference.trading import Trading

HIGHEST_PRICE = 999_999


def own_order(account: Account, code: int, side: int, price: int, steps: int, **terms: Any) -> Order:
    """Return an order that the venue places for an account."""
    return Order(name=account.name, code=code, side=side, price=price, quantity=steps, leaves=steps, **terms)


class Liquidation(Trading):
    """A margin group is an isolated position, named by its product, or all cross positions of an account, named 0."""

    def legs_of(self, account: Account, group: int) -> list[tuple[Holding, int]]:
        found = [held for code, held in account.holdings.items() if (code == group if group else not held.isolated)]
        return [(held, side) for held in found for side in (1, -1) if held.legs[side].size]

    def recovered(self, equity: int, maintenance: int) -> bool:
        return not maintenance or (equity > 0 and Fraction(maintenance, equity) < self.config["stop"])

    def liquidate(self) -> bool:
        """C3: everyone is judged at the same mark before anything is closed; the worst ratio goes first."""
        people = [self.accounts[name] for name in sorted(self.accounts, key=self.config["order_of"]) if name not in OWN]
        closed = False
        while due := [key for each in people for key in self.judge(each)]:
            for name, group in sorted(due, key=lambda key: self.urgency(*key)):
                closed = self.close_group(self.accounts[name], group) or closed
        for account in sorted(people, key=lambda each: each.balance):
            if account.balance < 0 and not self.legs_of(account, 0):
                self.settle_debt(account)
        return closed

    def judge(self, account: Account) -> list[tuple[str, int]]:
        """1: flag the unhealthy groups and cancel their opening orders; return the ones to close now."""
        due = []
        for group in [*(code for code, held in account.holdings.items() if held.isolated and held.size), 0]:
            (equity, need), key = self.figures(account, group), (account.name, group)
            if key not in self.liquidations:
                if not need or equity > need:
                    continue
                self.liquidations[key] = self.time
                for order in [each for each in self.orders.values() if each.name == account.name and each.place]:
                    opens = order.leaves > account.cover(account.holdings[order.code], order.side)
                    if opens and not order.reducing and group in (0, order.code):
                        self.cancel(order)
            elif self.recovered(equity, need):
                del self.liquidations[key]
                continue
            if equity <= 0 or self.time >= self.liquidations[key]:  # not between two slices
                due.append(key)
        return due

    def urgency(self, name: str, group: int) -> tuple[Fraction, int, int]:
        """C3: the worst margin ratio first, then the oldest position."""
        account = self.accounts[name]
        equity, need = self.figures(account, group)
        ages = [(held.legs[side].opened, -side) for held, side in self.legs_of(account, group)]
        return Fraction(equity, need) if need else Fraction(0), *min(ages, default=(0, 0))

    def close_group(self, account: Account, group: int) -> bool:
        """2: at once up to 100,000 USDC, above it 20 % at a time with 30 s between; True when it closed anything."""
        key, closed = (account.name, group), False
        while True:
            legs, (equity, need) = self.legs_of(account, group), self.figures(account, group)
            if not legs or self.recovered(equity, need):
                del self.liquidations[key]
                return closed
            if closed and self.liquidations[key] > self.time and equity > 0:
                return True
            closed, sizes = True, {(h.legs[s].size * h.market.step_value, -h.market.code, s): (h, s) for h, s in legs}
            (notional, *_), (held, side) = max(sizes.items())
            steps = held.legs[side].size
            if account.hedge and held.legs[-side].size:  # the legs of a hedge close each other
                steps = min(steps, held.legs[-side].size)
                self.off_book(account, account, held.market, side, steps, held.market.mark, "LIQUIDATION")
                continue
            if equity > 0 and notional > self.config["whole"]:
                steps = ceil(steps * self.config["slice"])
                self.liquidations[key] = self.time + self.config["pause"]
            self.close_leg(account, group, held, side, steps)

    def means(self, account: Account, group: int, held: Holding, side: int) -> int:
        """The equity that a leg may use up; of a lack it owes its part, in proportion to the losses."""
        equity = self.figures(account, group)[0]
        if equity < 0:
            legs = {(h.market.code, s): (h.legs[s], h.market.step_value) for h, s in self.legs_of(account, group)}
            losses = {key: max(0, key[1] * (leg.value - leg.size * worth)) for key, (leg, worth) in legs.items()}
            if total := sum(losses.values()):
                return -floor(Fraction(-equity * losses[held.market.code, side], total))
        return equity

    def bankruptcy(self, account: Account, group: int, held: Holding, side: int) -> int:
        """The mark at which equity is 0, rounded away from the trader."""
        away = Fraction(self.means(account, group, held, side), held.legs[side].size * held.market.unit)
        return held.market.mark - side * floor(away)

    def close_leg(self, account: Account, group: int, held: Holding, side: int, steps: int) -> None:
        """2–4: in the book up to the bankruptcy price, then the LP vault at mark, then auto-deleveraging."""
        market, code = held.market, held.market.code
        bound, best = self.bankruptcy(account, group, held, side), self.best(code, side)
        if best and (best - bound) * side >= 0 and 0 < bound <= floor(HIGHEST_PRICE / market.tick):
            terms = {"closing": account.hedge, "reduce": "REDUCE_ONLY", "kind": "LIQUIDATION", "tif": "IOC"}
            order = self.accept(own_order(account, code, -side, bound, steps, **terms))
            self.process(account, order, bound)
            steps -= order.filled
        if steps and (steps := self.take_over(account, group, held, side, steps)):
            self.deleverage(account, group, held, side, steps)

    def take_over(self, account: Account, group: int, held: Holding, side: int, steps: int) -> int:
        """3: the LP vault takes over at mark, for 0.5 % of the maintenance margin, up to its limit; what is left."""
        market, vault, leg, times = held.market, self.accounts[LP], held.legs[side], self.config["lp_leverage"]
        equity = self.means(account, group, held, side)
        lack, own = max(0, -floor(Fraction(equity, leg.size))), self.holding(vault, market.code)
        worth, others = self.equity(vault), sum(each.notional for each in vault.holdings.values() if each is not own)
        net = side * (own.legs[1].size - own.legs[-1].size) * market.step_value
        room = (worth * times - others - net) / (market.step_value + lack * times)
        taken = min(steps, floor(min(room, Fraction(worth, lack)) if lack else room)) if worth > 0 else 0
        if taken <= 0:
            return steps
        fee = Fraction(market.maintenance(leg.size * market.step_value) * taken, leg.size) * self.config["lp_fee"]
        most = max(0, equity) * taken // leg.size
        self.grant(LP, account, held, min(lack * taken, max(0, -equity)))
        charged = min(ceil(fee), most)
        if held.isolated and charged:
            self.assign(account, held, -charged)
        self.pay(account.name, LP, charged, "LIQUIDATION_FEE", market.code, got=min(floor(fee), most))
        self.off_book(account, vault, market, side, taken, market.mark, "LIQUIDATION")
        self.unwind_at = self.unwind_at or self.time + self.config["unwind_ms"]
        return steps - taken

    def score(self, account: Account, held: Holding, side: int) -> Fraction:
        """4: PnL % × effective leverage for profits (÷ for losses), |mark value| / (mark value − bankruptcy value)."""
        leg, mark, unit = held.legs[side], held.market.mark, held.market.unit
        equity = self.figures(account, held.market.code if held.isolated else 0)[0]
        bankrupt = max(Fraction(0), mark - side * Fraction(equity, leg.size * unit))
        entry = max(Fraction(leg.value, leg.size * unit), Fraction(1))
        gain, cushion = side * (mark - entry) / entry, side * (mark - bankrupt)
        leverage = mark / cushion if cushion > 0 else Fraction(10**30)
        return gain * leverage if gain >= 0 else gain / leverage

    def deleverage(self, account: Account, group: int, held: Holding, side: int, steps: int) -> None:
        """4: opposite positions in order of score, at the bankruptcy price; nobody gives more than it has."""
        market = held.market
        found = [each for each in self.holders(market) if each[0] is not account and each[1].legs[-side].size]
        ranked = sorted(found, key=lambda each: (-self.score(*each, -side), each[1].legs[-side].opened))
        for other, theirs in ranked:
            part = min(steps, theirs.legs[-side].size)
            if not part:
                break
            steps -= part
            bound = self.bankruptcy(account, group, held, side)
            means = max(0, self.figures(other, market.code if theirs.isolated else 0)[0])
            price = market.mark + side * min(side * (bound - market.mark), means // (part * market.unit))
            price = max(1, min(price, floor(HIGHEST_PRICE / market.tick)))
            self.cover_loss(account, held, max(0, side * (bound - price) * part * market.unit))
            self.off_book(account, other, market, side, part, price, "ADL")

    def off_book(self, who: Account, to: Account, market: Market, way: int, steps: int, price: int, kind: str) -> None:
        """5: orders and fills of these steps carry LIQUIDATION and ADL; they are no public trade."""
        sides = []
        for account, side in sorted(((who, -way), (to, way)), key=lambda each: -each[1]):
            closes = account.hedge and self.holding(account, market.code).legs[-side].size >= steps
            terms = {"closing": closes, "reduce": "", "kind": kind, "tif": "IOC"}
            sides.append((account, self.accept(own_order(account, market.code, side, price, steps, **terms))))
        self.last_trade += 1
        for account, order in sides:
            order.leaves = 0
            self.settle(account, order, price, steps, maker=account is not who)
            self.end(order)
        self.drop_loose()

    def holders(self, market: Market) -> list[tuple[Account, Holding]]:
        accounts = [self.accounts[name] for name in sorted(self.accounts, key=self.config["order_of"])]
        found = [(account, account.holdings.get(market.code)) for account in accounts]
        return [(account, held) for account, held in found if held is not None and held.size]

    def grant(self, payer: str, account: Account, held: Holding | None, amount: int) -> None:
        self.pay(payer, account.name, amount, "BANKRUPTCY", held.market.code if held else 0)
        if held is not None and held.isolated and amount:
            self.assign(account, held, amount)

    def cover_loss(self, account: Account, held: Holding | None, amount: int) -> None:
        """What a group lacks is paid by the LP vault as far as it can, the rest by the insurance account."""
        part = min(amount, max(0, self.accounts[LP].balance))
        self.grant(LP, account, held, part)
        self.grant(INSURANCE, account, held, amount - part)

    def settle_debt(self, account: Account) -> None:
        """Who owes pays with what its isolated positions are worth, before others do."""
        for held in account.holdings.values():
            if held.isolated and account.balance < 0:
                self.assign(account, held, -min(max(0, held.equity), -account.balance))
        self.cover_loss(account, None, max(0, -account.balance))
