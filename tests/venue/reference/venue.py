"""The reference as a venue: actions of accounts, the passing of time, triggers, funding and liquidation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.venue.reference.margin import CLEARING, INSURANCE, LP, OWN, REFERRALS, ROUNDING, Item
from tests.venue.reference.money import DAY_MS, Account, Holding, Market, Order, Refused
from tests.venue.reference.trading import Trading

Found = list[tuple[Holding, int]]


class ReferenceVenue(Trading):
    """What `act`, `set_oracle` and `advance` do is a step; `begin_step` forgets what the step before recorded."""

    unwind_at = 0
    """When the LP vault offers its next slices, 0 = it is flat."""

    def begin_step(self) -> None:
        self.rows, self.events = [], []

    def act(self, name: str, action: Item) -> list[bool]:
        """Do an action of an account; return for each of its items whether it was accepted."""
        account, kind = self.accounts[name], action["type"]
        rules: dict[str, Callable[[Account, Item], Any]] = {
            "replaceOrder": self.replace, "setLeverage": self.set_leverage, "setMarginMode": self.set_margin_mode,
            "assignPosMargin": self.assign_margin, "withdraw": self.withdraw,
            "cancelOrder": lambda account, item: self.cancel(self.find(account, item)),
        }  # fmt: skip
        if kind == "placeOrder":
            results = [self.place(account, item) for item in action["orders"]]
        elif kind == "placeBracketOrder":
            results = [self.place_bracket(account, action["orders"])]
        elif kind == "placeBuilderOrder":
            builder, rate = action["builder"].lower(), Fraction(action["builderFeeRate"])
            results = [self.place(account, action["order"], builder, rate)]
        elif kind == "cancelAll":
            of_kind = [each for each in self.orders.values() if each.waiting == action["conditionalOrder"]]
            found = [each for each in of_kind if (each.name, each.code) == (name, action["symbolCode"])]
            cancelled = [self.cancel(order) for order in found if order.id in self.orders]
            results = [True for _ in cancelled]
        else:
            results = [self.attempt(rules[kind], account, item) for item in action.get("cancels", [action])]
        self.hooks()
        return results

    def attempt(self, rule: Callable[[Account, Item], Any], account: Account, item: Item) -> bool:
        try:
            rule(account, item)
        except Refused:
            return False
        return True

    # Margin: settings of a position

    def settings(self, account: Account, code: int) -> Holding:
        held = self.holding(account, code)
        self.require(not {(account.name, 0), (account.name, code)} & set(self.liquidations), "settings in liquidation")
        return held

    def set_leverage(self, account: Account, action: Item) -> None:
        """Equity must cover what lower leverage needs; an isolated position takes it from the balance."""
        held, leverage = self.settings(account, action["symbolCode"]), Fraction(action["leverage"])
        reach = max(self.reach(account, held, side) for side in (1, -1))
        self.require(leverage <= held.market.highest_leverage(reach), "setLeverage: the tier's")
        before, held.leverage = held.leverage, leverage
        if leverage < before:
            need = max(0, held.initial(held.notional) - held.equity) if held.isolated else 0
            if self.available(account) < need:
                held.leverage = before
                self.require(False, "setLeverage: initial margin")
            self.assign(account, held, need)

    def set_margin_mode(self, account: Account, action: Item) -> None:
        """To isolated: initial margin and unrealised loss leave the balance; to cross: all of it returns."""
        isolated = action["marginMode"] == "ISOLATED"
        if isolated == self.holding(account, action["symbolCode"]).isolated:
            return
        held = self.settings(account, action["symbolCode"])
        amount = held.initial(held.notional) + max(0, -held.equity) if isolated else -held.assigned
        held.isolated, account.balance = isolated, account.balance - amount
        free = self.available(account)
        account.balance += amount
        if free < 0:
            held.isolated = not isolated
            self.require(False, "setMarginMode: initial margin")
        self.hit("an open position changes its margin mode" if held.size else "a margin mode is set")
        self.assign(account, held, amount)

    def assign_margin(self, account: Account, action: Item) -> None:
        held, amount = self.holding(account, action["symbolCode"]), int(Fraction(action["assignedPosMargin"]) * 10**6)
        self.require(held.isolated and held.size > 0, "assignPosMargin: an open isolated position")
        self.settings(account, held.market.code)
        spare = max(0, min(held.equity, held.assigned) - held.initial(held.notional))
        self.require(
            abs(amount) <= (self.withdrawable(account) if amount > 0 else spare), "assignPosMargin: free margin"
        )
        self.assign(account, held, amount)

    def withdraw(self, account: Account, action: Item) -> None:
        amount = int(Fraction(action["amount"]) * 10**6)
        self.require(amount >= 2 * 10**6, "smallest withdrawal")
        self.require(amount <= self.withdrawable(account), "withdrawable")
        self.move(account.name, "", amount, "WITHDRAW", 0, action["destination"].lower())

    def deposit(self, name: str, amount: int) -> None:
        self.move("", name, amount, "DEPOSIT")
        self.hooks()

    # Prices and time

    def set_oracle(self, code: int, price: str) -> None:
        market = self.markets[code]
        market.oracle = int(Fraction(price) / market.tick)
        if not market.trades:
            market.last = market.oracle
        market.set_mark(*self.quotes(code))
        self.hooks()

    def advance(self, until: int) -> None:
        """Prices every 3 s, funding at UTC multiples of its interval, slices of liquidations, rebates once a day."""
        every = self.config["price_ms"]
        while True:
            moments = [(self.time // each + 1) * each for each in (every, DAY_MS)]
            later = [each for each in (*self.liquidations.values(), self.unwind_at) if each > self.time]
            due = min(moments + later)
            if due > until:
                break
            self.time = due
            if due % every == 0:
                for market in self.markets.values():
                    quotes = self.quotes(market.code)
                    market.sample(*quotes, self.config["samples"])
                    market.set_mark(*quotes)
                self.follow_mark()
            if due == self.unwind_at:
                self.unwind()
            if due % every == 0:
                for market in self.markets.values():
                    self.sample_premium(market)
            if due % DAY_MS == 0:
                self.pay_rebates()
            self.hooks()
        self.time = until

    def unwind(self) -> None:
        """C8: the LP vault offers a slice of what it took over, reduce-only at mark, replaced each minute."""
        vault = self.accounts[LP]
        for order in [each for each in self.orders.values() if each.name == LP]:
            self.cancel(order)
        for held, side in sorted(self.legs_of(vault, 0), key=lambda each: each[0].market.code):
            size, market = held.legs[side].size, held.market
            steps = min(ceil(Fraction(self.config["unwind"], market.step_value)), size, market.max_steps)
            self.hit("C8: the LP vault unwinds a slice" if steps < size else "C8: the LP vault unwinds the rest")
            price = Fraction(market.mark * market.tick)
            sizes = {"ordPx": price, "ordQty": steps * market.step, "ordSide": "SELL" if side > 0 else "BUY"}
            kind = {"symbolCode": market.code, "ordType": "LIMIT", "timeInForce": "GTC"}
            self.place(vault, {**sizes, **kind, "reduceOnly": "REDUCE_ONLY"})
        self.unwind_at = self.time + self.config["unwind_ms"] if self.legs_of(vault, 0) else 0

    def follow_mark(self) -> bool:
        """C8: never worse than mark; when the mark passes an order of the vault, the order follows."""
        passed = [
            each for each in self.orders.values()
            if each.name == LP and (each.price - self.markets[each.code].mark) * each.side > 0
        ]  # fmt: skip
        for order in passed:
            self.hit("C8: an order of the LP vault follows the mark")
            self.leave(order)
            order.price = self.markets[order.code].mark
            self.log(order)
            self.process(self.accounts[LP], order, order.price)
        return bool(passed)

    def pay_rebates(self) -> None:
        for name in self.network:
            for source, amount in self.accounts[name].due.items():
                self.move(REFERRALS, name, amount, "REFERRAL_REBATE", 0, source)
            self.accounts[name].due = {}

    def sample_premium(self, market: Market) -> None:
        bids, asks = ([(each.price, each.leaves) for each in self.books[market.code, side]] for side in (1, -1))
        market.premiums.append(market.premium(bids, asks, self.config["impact_margin"]))
        if self.time % market.funding_ms == 0:
            rate = market.funding_rate(sum(market.premiums) // len(market.premiums))
            market.premiums = []
            self.settle_funding(market, rate)

    def settle_funding(self, market: Market, rate: Fraction) -> None:
        """Funding: payment = size·mark·rate, longs pay a positive rate; payers up, receivers down."""
        left = 0
        for account, held in self.holders(market):
            for side, leg in held.legs.items():
                amount = floor(-side * leg.size * market.step_value * rate)
                left -= amount
                self.move(CLEARING, account.name, amount, "FUNDING", market.code)
                if held.isolated:
                    self.assign(account, held, amount)
                leg.funding += amount
        self.hit("longs pay funding" if rate > 0 else "shorts pay funding")
        self.move(CLEARING, ROUNDING, left, "FUNDING", market.code)

    def holders(self, market: Market) -> list[tuple[Account, Holding]]:
        names = sorted(self.accounts, key=self.config["order_of"])
        found = [(self.accounts[name], self.accounts[name].holdings.get(market.code)) for name in names]
        return [(account, held) for account, held in found if held is not None and held.size]

    # After every command and instant: quotes of the LP vault, triggers, liquidations, until nothing trades

    def hooks(self) -> None:
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
                due, seen, self.seen = [], self.seen, {}
                for order in [each for each in self.orders.values() if each.waiting and each.armed]:
                    trigger, price = seen.get(order.id, (0, 0))
                    if order.code != code:
                        if trigger:
                            self.seen[order.id] = trigger, price
                    elif order.triggered:
                        if order.tried != self.prospects(order):
                            due.append((order, market.price(order.by)))
                    elif trigger == order.trigger:
                        due.append((order, price))
                        if not self.is_met(order):
                            self.hit("C6: met by a trade in the middle of a request")
                    elif self.is_met(order):
                        due.append((order, market.price(order.by)))
                for order, price in due:
                    tried = order.triggered and order.tried == self.prospects(order)
                    if order.id in self.orders and order.waiting and order.armed and not tried:
                        self.fire(order, price)
                        again = True

    def fire(self, order: Order, price: int) -> None:
        account, retry = self.accounts[order.name], order.triggered
        held = self.holding(account, order.code)
        if order.group:  # the twin that was triggered before, and the rest of the main order
            others = [each for each in self.bracket(order.group) if each is not order and each.triggered]
            others += [each for each in [self.orders.get(order.group)] if each is not None and each is not order]
            for other in others:
                self.cancel(other)
        order.triggered, order.status = True, "NEW"
        if order.reducing:  # closes at most the position; quantity 0 means all of it
            size = held.legs[-order.side].size if account.hedge == order.closing else 0
            most = min(size, order.cover) if order.grouped and order.quantity else size
            if not order.quantity:
                order.quantity = order.leaves = size
            order.leaves = min(order.leaves, most)
            if not order.leaves:
                self.hit("triggered without a position")
                self.cancel(order)
                return
        limit = order.price or self.triggered_bound(order, price)
        if retry:
            self.hit("C2: an exit tries again")
        else:
            self.log(order)
        best = self.quotes(order.code)[1 if order.side > 0 else 0]
        try:
            meets = order.tif == "POST_ONLY" and best and (order.price - best) * order.side >= 0
            self.require(not meets, "POST_ONLY would match when triggered")
            if not order.reducing:
                self.check_increase(account, order, order.leaves, limit)
        except Refused:
            self.hit("triggered and refused")
            self.cancel(order)
            return
        self.process(account, order, limit)

    # Liquidation

    def groups(self, account: Account) -> list[int]:
        """The margin groups with positions: each isolated one by its product, 0 = the cross positions."""
        isolated = [code for code, held in account.holdings.items() if held.isolated and held.size]
        crossed = self.legs_of(account, 0) or (account.name, 0) in self.liquidations
        return [*isolated, 0] if crossed else isolated

    def legs_of(self, account: Account, group: int) -> Found:
        found = [held for code, held in account.holdings.items() if (code == group if group else not held.isolated)]
        return [(held, side) for held in found for side in (1, -1) if held.legs[side].size]

    def recovered(self, equity: int, maintenance: int) -> bool:
        return not maintenance or (equity > 0 and Fraction(maintenance, equity) < self.config["stop"])

    def liquidate(self) -> bool:
        """C3: everyone is judged at the same mark before anything is closed; the worst ratio goes first."""
        closed, people = False, [self.accounts[n] for n in sorted(self.accounts, key=self.config["order_of"])]
        people = [each for each in people if each.name not in OWN]
        while due := [key for each in people for key in self.judge(each)]:
            if len(due) > 1:
                self.hit("C3: several are liquidated at one instant")
            for name, group in sorted(due, key=lambda key: self.urgency(*key)):
                closed = self.close_group(self.accounts[name], group) or closed
        for account in sorted(people, key=lambda each: each.balance):
            if account.balance < 0 and not self.legs_of(account, 0):
                self.hit("a debt is settled")
                self.settle_debt(account)
        return closed

    def judge(self, account: Account) -> list[tuple[str, int]]:
        """1: flag the unhealthy groups and cancel their opening orders; return the ones to close now."""
        due = []
        for group in self.groups(account):
            (equity, need), key = self.figures(account, group), (account.name, group)
            if key not in self.liquidations:
                if not need or equity > need:
                    continue
                self.hit("Liquidation 1: an isolated group" if group else "Liquidation 1: a cross group")
                self.liquidations[key] = self.time
                for order in [each for each in self.orders.values() if each.name == account.name and each.place]:
                    if (not group or order.code == group) and not order.reducing and order.id in self.orders:
                        if order.leaves > account.cover(account.holdings[order.code], order.side):
                            self.cancel(order)
            elif self.recovered(equity, need):
                self.hit("Liquidation 1: recovered")
                del self.liquidations[key]
                continue
            elif equity > 0 and self.time < self.liquidations[key]:
                continue  # between two slices
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
                return closed
            closed = True
            held, side = max(legs, key=lambda each: (
                each[0].legs[each[1]].size * each[0].market.step_value, -each[0].market.code, each[1]
            ))  # fmt: skip
            size = held.legs[side].size
            if account.hedge and held.legs[-side].size:
                steps = min(size, held.legs[-side].size)
                self.hit("Liquidation: a hedge is netted")
                self.off_book(account, account, held.market, steps, held.market.mark, "LIQUIDATION", account)
            elif equity <= 0 or size * held.market.step_value <= self.config["whole"]:
                self.close_leg(account, group, held, side, size)
            else:
                self.hit("Liquidation 2: a slice")
                self.close_leg(account, group, held, side, ceil(size * self.config["slice"]))
                self.liquidations[key] = self.time + self.config["pause"]

    def bankruptcy(self, account: Account, group: int, held: Holding, side: int) -> tuple[int, int]:
        """The mark at which equity is 0, rounded away from the trader; and the equity that the leg may use up."""
        equity, value = self.figures(account, group)[0], held.market.step_value
        if equity < 0:  # a leg owes its part of what is missing, in proportion to the losses
            legs = {(h.market.code, s): (h.legs[s], h.market.step_value) for h, s in self.legs_of(account, group)}
            losses = {key: max(0, key[1] * (leg.value - leg.size * worth)) for key, (leg, worth) in legs.items()}
            if total := sum(losses.values()):
                equity = -floor(Fraction(-equity * losses[held.market.code, side], total))
        return held.market.mark - side * floor(
            Fraction(equity * held.market.mark, held.legs[side].size * value)
        ), equity

    def close_leg(self, account: Account, group: int, held: Holding, side: int, steps: int) -> None:
        """2–4: in the book up to the bankruptcy price, then the LP vault at mark, then auto-deleveraging."""
        market, code = held.market, held.market.code
        bound, _ = self.bankruptcy(account, group, held, side)
        best = self.quotes(code)[0 if side > 0 else 1]
        if best and (best - bound) * side >= 0 and 0 < bound <= floor(999_999 / market.tick):
            self.hit("Liquidation 2: in the book")
            order = Order(
                account.name, code, -side, account.hedge, "LIQUIDATION", "IOC", "REDUCE_ONLY", bound, steps, steps
            )
            self.accept(order)
            self.process(account, order, bound)
            steps -= order.filled
        steps = self.take_over(account, group, held, side, steps) if steps else 0
        if steps:
            self.deleverage(account, group, held, side, steps)

    def take_over(self, account: Account, group: int, held: Holding, side: int, steps: int) -> int:
        """3: the LP vault takes over at mark, for 0.5 % of the maintenance margin, up to its limit; what is left."""
        market, vault, leg, times = held.market, self.accounts[LP], held.legs[side], self.config["lp_leverage"]
        _, equity = self.bankruptcy(account, group, held, side)
        lack, own = max(0, -floor(Fraction(equity, leg.size))), self.holding(vault, market.code)
        worth, others = self.cross(vault)[0], sum(each.notional for each in vault.holdings.values() if each is not own)
        net = side * (own.legs[1].size - own.legs[-1].size) * market.step_value
        room = (worth * times - others - net) / (market.step_value + lack * times)
        taken = min(steps, floor(min(room, Fraction(worth, lack)) if lack else room)) if worth > 0 else 0
        if taken <= 0:
            return steps
        fee = Fraction(market.maintenance(leg.size * market.step_value) * taken, leg.size) * self.config["lp_fee"]
        most = max(0, equity) * taken // leg.size
        charged, received = min(ceil(fee), most), min(floor(fee), most)
        self.hit(
            "Liquidation 3: the LP vault pays what is lacking" if lack else "Liquidation 3: the LP vault takes over"
        )
        self.grant(LP, account, held, min(lack * taken, max(0, -equity)))
        if charged:
            if held.isolated:
                self.assign(account, held, -charged)
            self.transfer(account.name, LP, charged, received, "LIQUIDATION_FEE", market.code)
        buyer, seller = (vault, account) if side > 0 else (account, vault)
        self.off_book(buyer, seller, market, taken, market.mark, "LIQUIDATION", account)
        self.unwind_at = self.unwind_at or self.time + self.config["unwind_ms"]
        return steps - taken

    def deleverage(self, account: Account, group: int, held: Holding, side: int, steps: int) -> None:
        """4: opposite positions in order of score, at the bankruptcy price; nobody gives more than it has."""
        market, found = held.market, []
        for other, theirs in self.holders(market):
            leg = theirs.legs[-side]
            if other is account or not leg.size:
                continue
            equity = self.figures(other, market.code if theirs.isolated else 0)[0]
            bankrupt = max(Fraction(0), market.mark + side * Fraction(equity, leg.size * market.unit))
            cushion = side * (bankrupt - market.mark)
            entry = max(Fraction(leg.value, leg.size * market.unit), Fraction(1))
            gain, leverage = -side * (market.mark - entry) / entry, Fraction(10**30)
            if cushion > 0:
                leverage = market.mark / cushion
            found.append((gain * leverage if gain >= 0 else gain / leverage, -leg.opened, other, leg.size))
        for _, _, other, size in sorted(found, key=lambda each: each[:2], reverse=True):
            part = min(steps, size)
            if not part:
                break
            steps -= part
            bound, _ = self.bankruptcy(account, group, held, side)
            theirs = other.holdings[market.code]
            means = max(0, self.figures(other, market.code if theirs.isolated else 0)[0])
            price = market.mark + side * min(side * (bound - market.mark), means // (part * market.unit))
            price = max(1, min(price, floor(999_999 / market.tick)))
            self.hit("Liquidation 4: deleveraging")
            self.cover_loss(account, held, max(0, side * (bound - price) * part * market.unit))
            buyer, seller = (other, account) if side > 0 else (account, other)
            self.off_book(buyer, seller, market, part, price, "ADL", account)

    def off_book(
        self, buyer: Account, seller: Account, market: Market, steps: int, price: int, kind: str, closing: Account
    ) -> None:
        """5: orders and fills of these steps carry LIQUIDATION and ADL; they are no public trade."""
        sides, loose = [], list[tuple[Account, int, int]]()
        for account, side in ((buyer, 1), (seller, -1)):
            closes = account.hedge and self.holding(account, market.code).legs[-side].size >= steps
            order = Order(account.name, market.code, side, closes, kind, "IOC", "", price, steps, steps)
            self.accept(order)
            sides.append((account, order))
        self.last_trade += 1
        for account, order in sides:
            order.leaves = 0
            loose += self.settle(account, order, price, steps, maker=account is not closing)
            self.end(order)
        for account, code, side in loose:
            self.drop_uncovered(account, code, side)

    def grant(self, payer: str, account: Account, held: Holding | None, amount: int) -> None:
        self.move(payer, account.name, amount, "BANKRUPTCY", held.market.code if held else 0)
        if held is not None and held.isolated and amount:
            self.assign(account, held, amount)

    def cover_loss(self, account: Account, held: Holding | None, amount: int) -> None:
        """What a group lacks is paid by the LP vault as far as it can, the rest by the insurance account."""
        part = min(amount, max(0, self.accounts[LP].balance))
        self.grant(LP, account, held, part)
        self.grant(INSURANCE, account, held, amount - part)

    def settle_debt(self, account: Account) -> None:
        for held in account.holdings.values():
            if held.isolated and account.balance < 0:
                self.assign(account, held, -min(max(0, held.equity), -account.balance))
        if account.balance < 0:
            self.cover_loss(account, None, -account.balance)
