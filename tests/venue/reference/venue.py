"""The reference as a venue: actions of accounts, the passing of time, triggers, funding and liquidation."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.venue.reference.books import CLEARING, INSURANCE, LP, OWN, REFERRALS, ROUNDING, Item, require
from tests.venue.reference.money import DAY_MS, Account, Holding, Market, Order, RefusedByRules
from tests.venue.reference.orders import Orders


class ReferenceVenue(Orders):
    """What `act`, `set_oracle` and `advance` do is a step; `begin_step` forgets what the step before recorded."""

    def begin_step(self) -> None:
        self.rows, self.events, self.used = [], [], set()

    def act(self, name: str, action: Item) -> list[bool]:
        """Do an action of an account; return for each of its items whether it was accepted."""
        account, kind = self.accounts[name], action["type"]
        try:
            if kind == "placeOrder":
                return [self.place(account, item) for item in action["orders"]]
            if kind == "placeBracketOrder":
                return [self.place_bracket(account, action["orders"])]
            if kind == "placeBuilderOrder":
                return [
                    self.place(account, action["order"], action["builder"].lower(), Fraction(action["builderFeeRate"]))
                ]
            if kind == "cancelOrder":
                return [
                    self.attempt(lambda item=item: self.cancel(self.find(account, item))) for item in action["cancels"]
                ]
            if kind == "cancelAll":
                found = self.orders_of(account, action["symbolCode"], action["conditionalOrder"])
                for order in found:
                    if order.id in self.orders:
                        self.cancel(order)
                return [True for _ in found]
            rules: dict[str, Any] = {
                "replaceOrder": self.replace, "setLeverage": self.set_leverage, "setMarginMode": self.set_margin_mode,
                "assignPosMargin": self.assign_margin, "withdraw": self.withdraw,
            }  # fmt: skip
            return [self.attempt(lambda: rules[kind](account, action))]
        finally:
            self.hooks()

    def attempt(self, rule: Any) -> bool:
        try:
            rule()
        except RefusedByRules:
            return False
        return True

    def orders_of(self, account: Account, code: int, conditional: bool) -> list[Order]:
        return [
            each for each in self.orders.values() if (each.address, each.product) == (account.address, code)
            and (each.status == "ORDER_STATUS_UNTRIGGERED") == conditional
        ]  # fmt: skip

    # Margin: settings of a position

    def not_in_liquidation(self, account: Account, code: int) -> None:
        require(all((account.address, each) not in self.liquidations for each in (0, code)), "being liquidated")

    def set_leverage(self, account: Account, action: Item) -> None:
        """Equity must cover what lower leverage needs; an isolated position takes it from the balance."""
        held, leverage = self.holding(account, action["symbolCode"]), Fraction(action["leverage"])
        self.not_in_liquidation(account, held.market.code)
        reach = self.exposure(account, held)
        if account.hedge:
            reach = max(
                held.legs[side].size * held.market.mark_value
                + sum(o.price * o.leaves for o in self.resting(account.address, held.market.code, side, False))
                * held.market.unit
                for side in (1, -1)
            )
        require(leverage <= held.market.highest_leverage(reach), "the tier's leverage")
        before, held.leverage = held.leverage, leverage
        if leverage < before:
            need = max(0, held.initial(held.held) - held.assigned - held.unrealized) if held.isolated else 0
            if self.available(account) < need:
                held.leverage = before
                require(False, "initial margin")
            self.assign(account, held, need)

    def set_margin_mode(self, account: Account, action: Item) -> None:
        """To isolated: initial margin and unrealised loss leave the balance; to cross: all of it returns."""
        held, isolated = self.holding(account, action["symbolCode"]), action["marginMode"] == "ISOLATED"
        if isolated == held.isolated:
            return
        self.not_in_liquidation(account, held.market.code)
        amount = held.initial(held.held) + max(0, -held.unrealized - held.assigned) if isolated else -held.assigned
        held.isolated, account.balance = isolated, account.balance - amount
        free = self.available(account)
        account.balance += amount
        if free < 0:
            held.isolated = not isolated
            require(False, "initial margin")
        self.assign(account, held, amount)

    def assign_margin(self, account: Account, action: Item) -> None:
        held, amount = self.holding(account, action["symbolCode"]), int(Fraction(action["assignedPosMargin"]) * 10**6)
        require(held.isolated and held.open, "an open isolated position")
        self.not_in_liquidation(account, held.market.code)
        spare = max(0, min(held.assigned + held.unrealized, held.assigned) - held.initial(held.held))
        require(abs(amount) <= (self.withdrawable(account) if amount > 0 else spare), "free margin")
        self.assign(account, held, amount)

    def withdraw(self, account: Account, action: Item) -> None:
        amount = int(Fraction(action["amount"]) * 10**6)
        require(2 * 10**6 <= amount <= self.withdrawable(account), "withdrawable")
        self.move(account.address, "", amount, "WITHDRAW", 0, action["destination"].lower())

    # Prices and time

    def set_oracle(self, code: int, price: str) -> None:
        market = self.markets[code]
        self.new_oracle(market, int(Fraction(price) / market.tick))
        self.hooks()

    def new_oracle(self, market: Market, ticks: int) -> None:
        market.oracle, market.changes = ticks, market.changes + 1
        if not market.traded:
            market.last = ticks
        market.set_mark(*self.quotes(market.code))

    def advance(self, until: int) -> None:
        """Prices every 3 s, funding at UTC multiples of its interval, slices of liquidations, rebates once a day."""
        every = self.config["price_ms"]
        while True:
            moments = [(self.time // each + 1) * each for each in (every, 60_000, DAY_MS)]
            due = min([*moments, *(next_ for next_ in self.liquidations.values() if next_ > self.time)])
            if due > until:
                break
            self.time = due
            if due % every == 0:
                for market in self.markets.values():
                    bid, ask = self.quotes(market.code)
                    market.sample(bid, ask, self.config["samples"])
                    market.set_mark(bid, ask)
                    market.changes += 1
                for market in self.markets.values():
                    self.sample_premium(market)
            if due % 60_000 == 0 and 8 not in self.pending:
                self.unwind()
            if due % DAY_MS == 0:
                self.pay_rebates()
            self.hooks()
        self.time = until

    def unwind(self) -> None:
        """C8: each minute the LP vault closes a slice of what it took over, reduce-only, at or better than mark."""
        vault = self.accounts[LP]
        for held, side in self.legs_of(vault, 0):
            steps, price = ceil(held.legs[side].size * self.config["unwind"]), held.market.mark
            order = Order(LP, held.market.code, -side, False, "LIMIT", "IOC", "REDUCE_ONLY", price, steps, steps)
            self.accept(order)
            self.process(vault, order, price)

    def pay_rebates(self) -> None:
        for name in self.network:
            account = self.accounts[name]
            for source, amount in account.due.items():
                self.move(REFERRALS, name, amount, "REFERRAL_REBATE", 0, source)
            account.due = {}

    def sample_premium(self, market: Market) -> None:
        bids, asks = ([(each.price, each.leaves) for each in self.levels(market.code, side)] for side in (1, -1))
        market.premiums.append(market.premium(bids, asks, self.config["impact_margin"]))
        if self.time % (market.funding_seconds * 1000) == 0:
            rate = market.funding_rate(floor(Fraction(sum(market.premiums), len(market.premiums))))
            market.premiums = []
            self.settle_funding(market, rate)

    def settle_funding(self, market: Market, rate: Fraction) -> None:
        """Funding: payment = size·mark·rate, longs pay a positive rate; payers up, receivers down."""
        left = 0
        for name in sorted(self.accounts, key=self.config["order_of"]):
            account = self.accounts[name]
            held = account.holdings.get(market.code)
            for side, leg in held.legs.items() if held and rate else ():
                if leg.size and held:
                    amount = floor(-side * leg.size * market.mark_value * rate)
                    left -= amount
                    self.move(CLEARING, name, amount, "FUNDING", market.code)
                    if held.isolated:
                        self.assign(account, held, amount)
                    leg.funding += amount
        self.move(CLEARING, ROUNDING, left, "FUNDING", market.code)

    # After every command and instant: triggers, then liquidations, until nothing trades

    def hooks(self) -> None:
        self.run_triggers()
        while self.liquidate():
            self.run_triggers()

    def due(self, order: Order) -> bool:
        if order.status != "ORDER_STATUS_UNTRIGGERED" or not order.armed:
            return False
        if order.tried >= 0:  # C2: triggered before, and nothing was there
            return order.tried != self.markets[order.product].changes
        return self.is_met(order) or self.seen.get(order.id) == order.trigger

    def run_triggers(self) -> None:
        """Triggers met at the same instant go by age; a triggered order may meet others."""
        again = True
        while again:
            again = False
            for code in self.markets:
                for order in [each for each in self.orders.values() if each.product == code and self.due(each)]:
                    if order.id in self.orders and self.due(order):
                        if order.tried < 0 and not self.is_met(order):
                            self.used.add(6)
                            if 6 in self.pending:
                                continue
                        self.fire(order)
                        again = True
        self.seen = {}

    def fire(self, order: Order) -> None:
        account, market = self.accounts[order.address], self.markets[order.product]
        held, trigger_price = self.holding(account, order.product), self.reference_price(market, order.by)
        if order.group:  # the twin that was triggered before, and the rest of the main order
            twins = [each for each in self.bracket(order.group) if each is not order and each.triggered]
            main = self.orders.get(order.group)
            for other in [*twins, *([main] if main is not None and main is not order else [])]:
                if other.id in self.orders:
                    self.cancel(other)
        order.triggered, order.status = True, "NEW"
        if order.reducing:  # closes at most the position; quantity 0 means all of it
            can = account.hedge == order.closing
            size = held.legs[-order.side].size if can else 0
            most = min(size, order.cover) if order.group and order.quantity else size
            if not order.quantity:
                order.quantity = order.leaves = size
            order.leaves = min(order.leaves, most)
            if not order.leaves:
                self.cancel(order)
                return
        by_last = market.bound(order.side, market.last or market.mark, order.slippage)
        furthest = (max if order.side > 0 else min)(trigger_price, market.last or trigger_price)
        limit = order.price or market.bound(order.side, furthest, order.slippage)  # C2
        self.log(order)
        bid, ask = self.quotes(order.product)
        best = ask if order.side > 0 else bid
        if order.tif == "POST_ONLY" and best and (order.price - best) * order.side >= 0:
            self.cancel(order)
            return
        asked = order.leaves
        self.process(account, order, limit)
        if order.exit and not order.price:
            beyond = order.filled and (market.last - by_last) * order.side > 0
            if beyond or order.filled < asked:
                self.used.add(2)

    # Liquidation

    def groups(self, account: Account) -> list[int]:
        """The margin groups with positions: each isolated one by its product, 0 = the cross positions."""
        isolated = [code for code, held in account.holdings.items() if held.isolated and held.open]
        crossed = any(held.open and not held.isolated for held in account.holdings.values())
        return [*isolated, *([0] if crossed or (account.address, 0) in self.liquidations else [])]

    def legs_of(self, account: Account, group: int) -> list[tuple[Holding, int]]:
        found = [held for code, held in account.holdings.items() if (code == group if group else not held.isolated)]
        return [(held, side) for held in found for side in (1, -1) if held.legs[side].size]

    def recovered(self, account: Account, group: int) -> bool:
        equity, maintenance = self.figures(account, group)
        return equity > 0 and Fraction(maintenance, equity) < self.config["stop"] if maintenance else True

    def liquidate(self) -> bool:
        """C3: everyone is judged at the same mark before anything is closed; the worst ratio goes first."""
        closed, acted = False, set()
        idle: set[tuple[str, int]] = set()
        while True:
            todo = []
            for account in [each for each in self.accounts.values() if each.address not in OWN]:
                for group in self.groups(account):
                    equity, need = self.figures(account, group)
                    key = (account.address, group)
                    if key not in self.liquidations and need and equity <= need:
                        self.flag(account, group)
                    if key in self.liquidations and key not in idle:
                        ratio = Fraction(need, equity) if equity > 0 else Fraction(10**9 - equity)
                        age = min((held.legs[side].opened for held, side in self.legs_of(account, group)), default=0)
                        todo.append((-ratio, age, key))
            if not todo:
                break
            name, group = key = min(todo)[2]
            account = self.accounts[name]
            equity, _ = self.figures(account, group)
            if self.recovered(account, group):
                del self.liquidations[key]
            elif equity > 0 and self.time < self.liquidations[key]:
                idle.add(key)  # between two slices
            else:
                acted.add(key)
                closed, done = True, self.close_group(account, group)
                if not done:
                    idle.add(key)
        if len(acted) > 1:
            self.used.add(3)
        for account in [each for each in self.accounts.values() if each.address not in OWN]:
            if account.balance < 0 and not self.legs_of(account, 0):
                self.settle_debt(account)
        return closed

    def flag(self, account: Account, group: int) -> None:
        """1: the group is flagged; its orders in the position's direction are cancelled."""
        self.liquidations[account.address, group] = self.time
        for order in [each for each in self.orders.values() if each.address == account.address and each.place]:
            if (not group or order.product == group) and not order.reducing and order.id in self.orders:
                if account.hedge or order.leaves > account.holdings[order.product].legs[-order.side].size:
                    self.cancel(order)

    def close_group(self, account: Account, group: int) -> bool:
        """2: at once up to 100,000 USDC, above it 20 % at a time with 30 s between; True when it is over."""
        key = (account.address, group)
        while True:
            legs = self.legs_of(account, group)
            if not legs or self.recovered(account, group):
                del self.liquidations[key]
                return True
            held, side = max(legs, key=lambda each: (
                each[0].legs[each[1]].size * each[0].market.mark_value, -each[0].market.code, each[1]
            ))  # fmt: skip
            size, equity = held.legs[side].size, self.figures(account, group)[0]
            if account.hedge and all(leg.size for leg in held.legs.values()):
                steps = min(leg.size for leg in held.legs.values())
                self.off_book(account, account, held.market, steps, held.market.mark, "LIQUIDATION", account)
            elif equity <= 0 or size * held.market.mark_value <= self.config["whole"]:
                self.close_leg(account, group, held, side, size)
            else:
                self.close_leg(account, group, held, side, ceil(size * self.config["slice"]))
                self.liquidations[key] = self.time + self.config["pause"]
            equity = self.figures(account, group)[0]
            if self.liquidations[key] > self.time and self.legs_of(account, group):
                if equity > 0 and not self.recovered(account, group):
                    return False

    def bankruptcy(self, account: Account, group: int, held: Holding, side: int) -> tuple[int, int]:
        """The mark at which equity is 0, rounded away from the trader; and the equity that the leg may use up."""
        equity = self.figures(account, group)[0]
        if equity < 0:  # a leg owes its part of what is missing, in proportion to the losses
            losses = {
                (h.market.code, s): max(0, s * (h.legs[s].value - h.legs[s].size * h.market.mark_value))
                for h, s in self.legs_of(account, group)
            }
            if total := sum(losses.values()):
                equity = -floor(Fraction(-equity * losses[held.market.code, side], total))
        ticks = floor(Fraction(equity, held.legs[side].size * held.market.unit))
        return held.market.mark - side * ticks, equity

    def close_leg(self, account: Account, group: int, held: Holding, side: int, steps: int) -> None:
        """2–4: in the book up to the bankruptcy price, then the LP vault at mark, then auto-deleveraging."""
        market, code = held.market, held.market.code
        bound, _ = self.bankruptcy(account, group, held, side)
        best = self.quotes(code)[0 if side > 0 else 1]
        if best and (best - bound) * side >= 0 and 0 < bound <= floor(999_999 / market.tick):
            kind, reduce = "LIQUIDATION", "REDUCE_ONLY"
            order = Order(account.address, code, -side, account.hedge, kind, "IOC", reduce, bound, steps, steps)
            self.accept(order)
            self.process(account, order, bound)
            steps -= order.filled
        if steps:
            steps = self.take_over(account, group, held, side, steps)
        if steps:
            self.deleverage(account, group, held, side, steps)

    def take_over(self, account: Account, group: int, held: Holding, side: int, steps: int) -> int:
        """3: the LP vault takes over at mark, for 0.5 % of the maintenance margin, up to its limit."""
        market, vault, leg = held.market, self.accounts[LP], held.legs[side]
        _, equity = self.bankruptcy(account, group, held, side)
        lack, own = max(0, -floor(Fraction(equity, leg.size))), self.holding(vault, market.code)
        worth, others = self.cross(vault)[0], sum(each.held for each in vault.holdings.values() if each is not own)
        net = side * (own.legs[1].size - own.legs[-1].size) * market.mark_value
        room = (worth * self.config["lp_leverage"] - others - net) / (
            market.mark_value + lack * self.config["lp_leverage"]
        )
        taken = min(steps, floor(min(room, Fraction(worth, lack)) if lack else room)) if worth > 0 else 0
        if taken <= 0:
            return steps
        fee = Fraction(market.maintenance(leg.size * market.mark_value) * taken, leg.size) * self.config["lp_fee"]
        most = floor(Fraction(max(0, equity) * taken, leg.size))
        charged, received = min(ceil(fee), most), min(floor(fee), most)
        self.grant(LP, account, held, min(lack * taken, max(0, -equity)))
        if charged:
            if held.isolated:
                self.assign(account, held, -charged)
            self.transfer(account.address, LP, charged, received, "LIQUIDATION_FEE", market.code)
        buyer, seller = (vault, account) if side > 0 else (account, vault)
        self.off_book(buyer, seller, market, taken, market.mark, "LIQUIDATION", account)
        return steps - taken

    def deleverage(self, account: Account, group: int, held: Holding, side: int, steps: int) -> None:
        """4: opposite positions in order of score, at the bankruptcy price; nobody gives more than it has."""
        market, found = held.market, []
        for name in sorted(self.accounts, key=self.config["order_of"]):
            other = self.accounts[name]
            theirs = other.holdings.get(market.code)
            if theirs is None or other is account or not theirs.legs[-side].size:
                continue
            equity = self.figures(other, market.code if theirs.isolated else 0)[0]
            leg = theirs.legs[-side]
            a_tick = Fraction(equity, leg.size * market.unit)
            cushion = side * (max(Fraction(0), market.mark + side * a_tick) - market.mark)
            entry = max(Fraction(leg.value, leg.size * market.unit), Fraction(1))
            gain = -side * (market.mark - entry) / entry
            leverage = market.mark / cushion if cushion > 0 else Fraction(10**30)
            found.append((gain * leverage if gain >= 0 else gain / leverage, other, leg.size))
        for _, other, size in sorted(found, key=lambda each: -each[0]):
            part = min(steps, size)
            if not part:
                break
            steps -= part
            bound, _ = self.bankruptcy(account, group, held, side)
            theirs = other.holdings[market.code]
            means = max(0, self.figures(other, market.code if theirs.isolated else 0)[0])
            price = market.mark + side * min(side * (bound - market.mark), means // (part * market.unit))
            price = max(1, min(price, floor(999_999 / market.tick)))
            self.cover(account, held, max(0, side * (bound - price) * part * market.unit))
            buyer, seller = (other, account) if side > 0 else (account, other)
            self.off_book(buyer, seller, market, part, price, "ADL", account)

    def off_book(
        self, buyer: Account, seller: Account, market: Market, steps: int, price: int, kind: str, closing: Account
    ) -> None:
        """5: orders and fills of these steps carry LIQUIDATION and ADL; they are no public trade."""
        sides = []
        for account, side in ((buyer, 1), (seller, -1)):
            closes = account.hedge and self.holding(account, market.code).legs[-side].size >= steps
            order = Order(account.address, market.code, side, closes, kind, "IOC", "", price, steps, steps)
            self.accept(order)
            sides.append((account, order))
        self.last_trade += 1
        for account, order in sides:
            order.leaves = 0
            self.settle(account, order, price, steps, maker=account is not closing)
            self.end(order, "FILLED")
        self.drop_uncovered()

    def grant(self, payer: str, account: Account, held: Holding | None, amount: int) -> None:
        self.move(payer, account.address, amount, "BANKRUPTCY", held.market.code if held else 0)
        if held is not None and held.isolated and amount:
            self.assign(account, held, amount)

    def cover(self, account: Account, held: Holding | None, amount: int) -> None:
        """What a group lacks is paid by the LP vault as far as it can, the rest by the insurance account."""
        part = min(amount, max(0, self.accounts[LP].balance))
        self.grant(LP, account, held, part)
        self.grant(INSURANCE, account, held, amount - part)

    def settle_debt(self, account: Account) -> None:
        for held in account.holdings.values():
            if held.isolated and account.balance < 0:
                self.assign(account, held, -min(max(0, held.assigned + held.unrealized), -account.balance))
        if account.balance < 0:
            self.cover(account, None, -account.balance)
