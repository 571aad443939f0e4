"""Orders of the reference, from acceptance to their end: checks, matching, fills, brackets."""

from __future__ import annotations

import pickle
from fractions import Fraction

from tests.venue.reference.margin import CLEARING, Item, Money, steps_of
from tests.venue.reference.money import Account, Holding, Leg, Order, Refused

RESTS = ("GTC", "POST_ONLY")


class Trading(Money):
    """What accounts order, and what becomes of it."""

    def is_met(self, order: Order) -> bool:
        price = self.markets[order.code].price(order.by)
        return order.waiting and order.armed and (price >= order.trigger if order.up else price <= order.trigger)

    def triggered_bound(self, order: Order, price: int) -> int:
        """C2: from the price that triggered it or the last trade, whichever is further in its direction."""
        market = self.markets[order.code]
        furthest = (max if order.side > 0 else min)(price, market.last or price)
        return market.bound(order.side, furthest, order.slippage)

    def prospects(self, order: Order) -> tuple[int, ...]:
        """C2: it tries again at every trade and new price, and when somebody offers within its bound."""
        market, book = self.markets[order.code], self.books[order.code, -order.side]
        limit = self.triggered_bound(order, market.price(order.by))
        offered = sum(each.leaves for each in book if (each.price - limit) * order.side <= 0)
        return market.trades, market.mark, market.oracle, offered

    def log(self, order: Order, *fill: int) -> None:
        """Record an order event, with the numbers of a fill."""
        terms = (order.status, order.kind, order.price, order.quantity, order.leaves, order.trigger)
        self.events.append((order.name, order.id, *terms, *(fill or (0,) * 8)))

    def parse(self, account: Account, item: Item) -> Order:
        market, kind = self.markets[int(item["symbolCode"])], item["ordType"]
        side, steps = (1 if item["ordSide"].startswith("BUY") else -1), int(Fraction(item["ordQty"]) / market.step)
        reduce = item.get("reduceOnlyOption") or item.get("reduceOnly") or ""
        stop = kind.startswith("STOP") if kind not in ("LIMIT", "MARKET") else reduce == "SL_FROM_POSITION"
        conditional = "triggerPx" in item
        return Order(
            account.name, market.code, side, "CLOSE" in item["ordSide"], kind, item["timeInForce"], reduce,
            int(Fraction(item["ordPx"]) / market.tick), steps, steps,
            trigger=int(Fraction(item.get("triggerPx", 0)) / market.tick),
            by=item.get("tpslTriggerType", "LAST_PRICE") if conditional else "",
            up=conditional and (side > 0) == stop,
            slippage=Fraction(item.get("slippagePct", 0)),
            client_id=int(item.get("clOrdId", 0)), parent=int(item.get("parentOrdId", 0)),
        )  # fmt: skip

    # Order rules: acceptance

    def read(self, account: Account, item: Item, entry: int = 0, replaced: Order | None = None) -> Order:
        """Return an order after the rules of its product; `entry` is the price that its trigger is held against."""
        order = self.parse(account, item)
        market, kind, require = self.markets[order.code], order.kind, self.require
        if replaced is not None and replaced.triggered:
            order.trigger, order.by = 0, ""
        elif order.by:
            now = entry or market.price(order.by)
            require(now < order.trigger if order.up else now > order.trigger, "the trigger is met already")
        if kind.endswith("MARKET"):
            require(order.tif != "POST_ONLY" and (order.tif != "GTC" or kind != "MARKET"), "market timeInForce")
        else:
            require(order.price * 10 >= market.mark, "price band")
            best = self.quotes(order.code)[1 if order.side > 0 else 0]
            meets = order.tif == "POST_ONLY" and not order.trigger and best and (order.price - best) * order.side >= 0
            require(not meets, "POST_ONLY would match")
        require(order.quantity <= market.max_steps, "maxOrderQty")
        require(order.quantity > 0 or order.exit, "quantity 0 is for TP and SL from position")
        require(order.slippage <= market.max_slippage, "C9: maxSlippagePct")
        if 0 < order.slippage < Fraction(1, 1000):
            self.hit("C9: a small slippage")
        if not order.reducing:  # C5: what counts is what is left to fill
            left = order.quantity - (replaced.filled if replaced is not None else 0)
            worth = (order.price or order.trigger or market.last or market.mark) * left * market.unit
            whole = left == account.cover(self.holding(account, order.code), order.side)
            if whole and 0 < worth < market.min_value:
                self.hit("C5: an exit of the whole position below minOrderValue")
            require(whole or not 0 < worth < market.min_value, "minOrderValue")
        return order

    def admit(self, account: Account, order: Order, main: Order | None) -> int:
        """Apply the rules that need the account; return the worst price that the order may trade at."""
        held, market = self.holding(account, order.code), self.markets[order.code]
        ids = {each.client_id for each in self.orders.values() if each.name == account.name}
        self.require(not order.client_id or order.client_id not in ids, "clOrdId in use")
        price = order.price or market.last or market.mark
        limit = order.price or market.bound(order.side, price, order.slippage)
        self.require(account.hedge or not order.closing, "close sides are for hedge mode")
        if order.reducing:
            if main is None:
                self.fit(account, held, order, order.trigger or price)
        elif not order.trigger:  # Margin: a waiting trigger holds no margin
            self.check_increase(account, order, order.leaves, limit)
        return limit

    def fit(self, account: Account, held: Holding, order: Order, price: int) -> None:
        """Reduce-only: never opens or flips; exempt from minOrderValue if it closes the whole rest."""
        self.require(not account.hedge or order.closing, "BUY and SELL can't reduce in hedge mode")
        free, least = held.legs[-order.side].size, held.market.min_value
        self.require(free > 0, "no position to reduce")
        if order.trigger:
            whole = not order.quantity or order.quantity >= free
            self.require(whole or price * order.quantity * held.market.unit >= least, "minOrderValue of an exit")
            return
        if order.tif in RESTS:
            free -= steps_of(self.resting(account.name, order.code, order.side, True))
            self.require(free > 0, "reduce-only orders cover the position already")
        self.require(order.tif != "FOK" or order.leaves <= free, "FOK above the position")
        order.leaves = min(order.leaves, free)
        whole = order.leaves == free
        self.require(whole or price * order.leaves * held.market.unit >= least, "minOrderValue of an exit")

    def accept(self, order: Order) -> None:
        self.last_order = order.id = self.last_order + 1
        self.orders[order.id] = order
        if order.trigger:
            order.status = "ORDER_STATUS_UNTRIGGERED"
        self.log(order)

    def reject(self, account: Account, item: Item) -> None:
        order = self.parse(account, item)
        self.last_order = order.id = self.last_order + 1
        order.status, order.leaves = "REJECTED", 0
        self.log(order)

    def place(self, account: Account, item: Item, builder: str = "", rate: Fraction = Fraction(0)) -> bool:
        """Place one order; a refused one is recorded and changes nothing."""
        try:
            main, probe = self.orders.get(int(item.get("parentOrdId", 0))), self.parse(account, item)
            if main is not None and (main.name != account.name or main.reducing or not probe.exit):
                main = None
            entry = 0 if main is None or self.opened(account, main) else main.price or main.trigger
            order = self.read(account, item, entry)
            order.builder, order.builder_rate = builder, rate
            if main is not None:
                self.check_children(account, main, [*self.bracket(main.id), order])
            limit = self.admit(account, order, main)
        except Refused:
            self.reject(account, item)
            return False
        if main is not None:
            self.join(account, main, order)
        self.accept(order)
        if not order.trigger:
            self.process(account, order, limit)
        return True

    def place_bracket(self, account: Account, items: list[Item]) -> bool:
        """Bracket: all or nothing; the children wait for the main order."""
        try:
            main, children = self.read(account, items[0]), []
            self.require(not main.reducing, "the main order of a bracket opens")
            limit = self.admit(account, main, None)
            for item in items[1:]:
                child = self.read(account, item, main.price or main.trigger)
                worth = child.trigger * child.quantity * self.markets[main.code].unit
                part = 0 < child.quantity < main.quantity
                self.require(not part or worth >= self.markets[main.code].min_value, "minOrderValue of an exit")
                self.admit(account, child, main)
                children.append(child)
            self.check_children(account, main, children)
        except Refused:
            for item in items:
                self.reject(account, item)
            return False
        self.accept(main)
        main.group = main.id
        for child in children:
            self.join(account, main, child)
            self.accept(child)
        if not main.trigger:
            self.process(account, main, limit)
        return True

    def bracket(self, group: int) -> list[Order]:
        return [each for each in self.orders.values() if each.group == group and each.id != group]

    def opened(self, account: Account, main: Order) -> int:
        return min(main.filled, self.holding(account, main.code).legs[main.side].size)

    def check_children(self, account: Account, main: Order, children: list[Order]) -> None:
        for child in children:
            against = child.exit and child.side == -main.side and child.code == main.code
            self.require(against, "an exit is against its main order")
            self.require(child.quantity <= main.quantity, "an exit is not larger than its main order")
            self.require(child.closing == account.hedge, "side of an exit")
        self.require(len({child.reduce for child in children}) == len(children), "one TP and one SL")
        ids = [each.client_id for each in (main, *children) if each.client_id]
        self.require(len(set(ids)) == len(ids), "clOrdId of its own")

    def join(self, account: Account, main: Order, child: Order) -> None:
        main.group = child.group = child.parent = main.id
        child.cover = self.opened(account, main)
        child.armed = child.cover > 0

    # Order rules: cancel and replace

    def find(self, account: Account, item: Item) -> Order:
        order = self.orders.get(int(item["ordId"]))
        known = order is not None and order.name == account.name and order.code == int(item["symbolCode"])
        self.require(known, "unknown order")
        assert order is not None
        return order

    def cancel(self, order: Order) -> None:
        self.leave(order)
        order.leaves = 0
        self.end(order, "CANCELED")

    def end(self, order: Order, status: str = "") -> None:
        self.leave(order)
        order.status = status or ("FILLED" if order.filled == order.quantity else "CANCELED")
        del self.orders[order.id]
        if order.status != "FILLED":  # the last fill was recorded already
            self.log(order)
        if order.group == order.id:  # Bracket: children that no fill has armed go with the parent
            for child in self.bracket(order.id):
                if not child.armed:
                    self.hit("a bracket goes with its main order")
                    self.cancel(child)

    def cut(self, order: Order, steps: int) -> int:
        """Take steps from a resting order, which keeps its place, or cancel it; return what it lost."""
        lost = min(order.leaves, steps)
        if lost == order.leaves:
            self.cancel(order)
        else:
            order.leaves -= lost
            self.log(order)
        return lost

    def replace(self, account: Account, item: Item) -> None:
        """Replace keeps priority only if the price is unchanged and the quantity falls; ordQty is the new total."""
        order = self.find(account, item)
        held, waiting = self.holding(account, order.code), order.waiting
        self.require(not (waiting and order.triggered), "an exit that tries again can't be replaced")
        main = self.orders.get(order.group) if waiting and order.grouped else None
        entry = (main.price or main.trigger) if main is not None and not order.armed else 0
        new = self.read(account, item, entry, order)
        same = (order.side, order.closing, order.kind, order.reduce, order.by if waiting else "")
        self.require(same == (new.side, new.closing, new.kind, new.reduce, new.by if waiting else ""), "the same kind")
        if waiting:
            self.require(main is None or new.quantity <= main.quantity, "an exit is not larger than its main order")
            free = held.legs[-order.side].size if order.reducing and account.hedge == order.closing else 0
            part = 0 < new.quantity < (free if main is None else main.quantity)
            worth = new.trigger * new.quantity * held.market.unit
            self.require(not part or worth >= held.market.min_value, "minOrderValue of an exit")
            order.trigger, order.up, order.price, order.tif = new.trigger, new.up, new.price, new.tif
            order.quantity = order.leaves = new.quantity
            order.slippage = new.slippage
            self.log(order)
            return
        self.require(new.tif in RESTS, "timeInForce of an open order")
        left = new.quantity - order.filled
        self.require(left > 0, "above what has filled")
        if new.price == order.price and left <= order.leaves:
            worth = new.price * left * held.market.unit
            short = order.reducing and left < order.leaves and worth < held.market.min_value
            self.require(not short, "minOrderValue of an exit")
            self.hit("replaced in its place")
            order.quantity, order.leaves, order.tif = new.quantity, left, new.tif
            self.log(order)
            return
        less = self.holds_less(order, new.price, left)
        place = order.place
        self.leave(order)  # it must not count against itself
        try:
            new.leaves, new.builder_rate = left, order.builder_rate
            if order.reducing:
                self.fit(account, held, new, new.price)
            else:
                self.check_increase(account, new, left, new.price, only_size=less)
        except Refused:
            self.rest(order, place)
            raise
        order.price, order.quantity, order.tif, order.leaves = new.price, new.quantity, new.tif, new.leaves
        self.log(order)
        if less:
            self.hit("C5: moved away or shrunk without a look at margin")
            self.rest(order)
        else:
            self.process(account, order, new.price)

    def holds_less(self, order: Order, price: int, left: int) -> bool:
        """C5: moving an opening order away from the market, or shrinking it."""
        if order.reducing or left > order.leaves:
            return False
        best = self.quotes(order.code)[1 if order.side > 0 else 0]
        meets = best and (price - best) * order.side >= 0
        return (price - order.price) * order.side <= 0 or (not meets and left * price <= order.leaves * order.price)

    # Order rules: matching

    def process(self, account: Account, order: Order, limit: int) -> None:
        """Price-time priority; GTC and POST_ONLY rest, the others end; FOK fills whole or not at all."""
        if order.tif == "FOK":
            trial: Trading = pickle.loads(pickle.dumps(self))
            trimmed = trial.match(trial.accounts[account.name], trial.orders[order.id], limit)
            if trial.orders[order.id].leaves:
                self.hit("FOK not at all")
                self.give_up(order)
                return
            for maker, steps in trimmed:
                self.cut(self.orders[maker], steps)
        self.match(account, order, limit)
        if not order.leaves:
            self.end(order)
        elif order.price and order.tif in RESTS:
            self.rest(order)
            if order.reducing:
                self.shrink(account, order.code, order.side)
            elif account.cover(self.holding(account, order.code), order.side):
                self.drop_uncovered(account, order.code, order.side, order)
        else:
            self.give_up(order)

    def give_up(self, order: Order) -> None:
        """IOC and MARKET cancel the rest; C2: a triggered market exit stays armed, and tries at the next price."""
        if order.triggered and order.reducing and not order.price:
            self.hit("C2: an exit stays armed")
            order.status, order.tried = "ORDER_STATUS_UNTRIGGERED", self.prospects(order)
            self.log(order)
        else:
            self.cancel(order)

    def match(self, account: Account, order: Order, limit: int) -> list[tuple[int, int]]:
        """Trade at `limit` or better; return the orders that were cut because their margin is gone."""
        market, trimmed, loose = self.markets[order.code], [], list[tuple[Account, int, int]]()
        book = self.books[order.code, -order.side]
        while order.leaves and book and (book[0].price - limit) * order.side <= 0:
            maker = book[0]
            if maker.name == account.name:
                self.hit("self-trade: the maker is cancelled")
                self.cancel(maker)
                continue
            other, steps = self.accounts[maker.name], min(order.leaves, maker.leaves)
            cover = other.cover(self.holding(other, order.code), maker.side)
            if not self.isolated_fits(other, maker, steps - cover):
                self.hit("a maker on isolated margin has none left")
                trimmed.append((maker.id, maker.leaves - cover))
                self.cut(maker, maker.leaves - cover)
                continue
            order.leaves, maker.leaves = order.leaves - steps, maker.leaves - steps
            if not maker.leaves:
                self.leave(maker)
            self.last_trade += 1
            market.last, market.trades = maker.price, market.trades + 1
            for each in self.orders.values():  # C6: every trade is seen by triggers of the last price
                if each.by == "LAST_PRICE" and each.code == order.code and self.is_met(each):
                    self.seen.setdefault(each.id, (each.trigger, maker.price))
            loose += self.settle(other, maker, maker.price, steps, maker=True)
            loose += self.settle(account, order, maker.price, steps, maker=False)
            if not maker.leaves and maker.id in self.orders:
                self.end(maker)
        for name, code, side in loose:
            self.drop_uncovered(name, code, side)
        return trimmed

    def drop_uncovered(self, account: Account, code: int, side: int, besides: Order | None = None) -> None:
        """C1: resting orders that lose their cover are cut, last placed first, until margin covers the rest."""
        held = self.holding(account, code)
        for order in self.resting(account.name, code, side, False):
            found = self.resting(account.name, code, side, False)
            excess = steps_of(found) - held.legs[-side].size
            if excess <= 0 or self.fits(account, held, side):
                return
            if order is not besides:
                self.hit("C1: a resting order that lost its cover is cut")
                self.cut(order, excess)

    def shrink(self, account: Account, code: int, side: int) -> None:
        """Reduce-only orders beyond the position are cut, last placed first."""
        found = self.resting(account.name, code, side, True)
        excess = steps_of(found) - self.holding(account, code).legs[-side].size
        for order in found:
            if excess > 0:
                self.hit("a reduce-only order is cut")
                excess -= self.cut(order, excess)

    # Money of a fill

    def settle(
        self, account: Account, order: Order, price: int, steps: int, maker: bool
    ) -> list[tuple[Account, int, int]]:
        """Close what the order closes, open the rest, charge the fees; return whose resting orders lost their cover."""
        held, side, code = self.holding(account, order.code), order.side, order.code
        against, into, unit = held.legs[-side], held.legs[side], held.market.unit
        closed = min(steps, against.size) if order.closing or not account.hedge else 0
        opened, before, pnl = steps - closed, against.value, 0
        if closed:
            pnl = against.close(closed, closed * price * unit, -side)
            self.move(CLEARING, account.name, pnl, "REALIZED_PNL", code, str(order.id))
        if opened:
            into.open(opened, opened * price * unit, self.last_trade)
        fees = self.charge(account, order, opened * price * unit, closed * price * unit, maker)
        if held.isolated and closed:
            self.release(account, held, before - against.value, pnl - fees[1], opened)
        if held.isolated and opened:
            need, _ = held.need(side, opened, opened * price * unit)
            self.assign(account, held, min(need, self.spare(account)))
        into.fees, against.fees = into.fees + fees[0], against.fees + fees[1]
        order.filled, order.value = order.filled + steps, order.value + steps * price * unit
        order.fee += fees[0] + fees[1]
        order.status = "FILLED" if order.filled == order.quantity else "PARTIALLY_FILLED"
        self.log(order, price, steps, self.last_trade, 1 if maker else 2, pnl, *fees)
        if order.grouped:  # one cancels the other
            for other in self.bracket(order.group):
                if other is not order:
                    self.hit("one cancels the other")
                    self.cancel(other)
        elif order.group and opened:  # Bracket: a fill in part arms the exits for that part
            for child in self.bracket(order.id):
                child.cover, child.armed = child.cover + opened, True
        return self.after_closing(account, order, against, maker) if closed else []

    def after_closing(self, account: Account, order: Order, leg: Leg, maker: bool) -> list[tuple[Account, int, int]]:
        """Cut what the position no longer covers."""
        code, side = order.code, order.side
        if leg.size:
            self.shrink(account, code, side)
        else:
            for other in list(self.orders.values()):  # TP/SL: cancelled when the position is gone
                mine = (other.name, other.code, other.side) == (account.name, code, side) and other.id in self.orders
                if not mine or not other.reducing or other is order or not other.armed:
                    continue
                if other.group in self.orders and other.waiting:
                    other.armed, other.cover = False, 0  # its main order may open again
                else:
                    self.cancel(other)
        plain = steps_of(self.resting(account.name, code, side, False)) > leg.size
        not_its_own = not maker or order.reduce or order.kind in ("ADL", "LIQUIDATION")
        return [(account, code, side)] if plain and not account.hedge and not_its_own else []
