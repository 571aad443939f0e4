"""Orders from acceptance to their end, on the money rules of `books`: checks, the book, matching, brackets."""

from __future__ import annotations

import pickle
from fractions import Fraction

from tests.venue.reference.books import CLEARING, Books, Item, require
from tests.venue.reference.money import Account, Holding, Leg, Market, Order, RefusedByRules

RESTS, CLOSERS = ("GTC", "POST_ONLY"), ("LIQUIDATION", "ADL")


class Orders(Books):
    """What accounts order, and what becomes of it."""

    def reference_price(self, market: Market, by: str) -> int:
        return {"LAST_PRICE": market.last, "MARK_PRICE": market.mark, "INDEX_PRICE": market.oracle}[by]

    def is_met(self, order: Order) -> bool:
        market = self.markets[order.product]
        price = self.reference_price(market, order.by)
        return price >= order.trigger if order.up else price <= order.trigger

    # Order rules: acceptance

    def log(self, order: Order, *fill: int) -> None:
        numbers = fill or (0,) * 8
        self.events.append((
            order.address, order.id, order.status, order.kind, order.price, order.quantity, order.leaves, order.trigger,
            *numbers,
        ))  # fmt: skip

    def read(self, account: Account, item: Item, entry: int = 0, triggered: bool = False, filled: int = 0) -> Order:
        """Return an order with every rule applied that needs no account; `entry` is its main order's price."""
        order = self.parse(account, item)
        market = self.markets[order.product]
        bid, ask = self.quotes(market.code)
        kind, conditional = order.kind, order.exit or order.kind not in ("LIMIT", "MARKET")
        if triggered:
            order.trigger = 0
        elif conditional:
            require(order.trigger > 0, "a conditional order needs a trigger")
            now = entry or self.reference_price(market, order.by)
            require(now < order.trigger if order.up else now > order.trigger, "the trigger is met already")
        else:
            require(not order.trigger, "a trigger needs TP or SL from position")
        if kind.endswith("MARKET"):
            require(order.price == 0, "price of a market order")
            require(order.tif in ("IOC", "FOK") or (kind != "MARKET" and order.tif == "GTC"), "market timeInForce")
        else:
            require(order.price * 10 >= market.mark and order.price > 0, "price band")
            best = ask if order.side > 0 else bid
            if order.tif == "POST_ONLY" and not order.trigger and best:
                require((order.price - best) * order.side < 0, "POST_ONLY would match")
        require(order.quantity <= market.max_steps and (order.quantity > 0 or order.exit), "quantity")
        require(order.slippage <= market.max_slippage, "maxSlippagePct")  # C9: an upper bound only
        if 0 < order.slippage < Fraction(5, 1000):
            self.used.add(9)
        price = order.price or order.trigger or market.last or market.mark
        if not order.reducing:  # C5: the value that counts is that of what is left to fill
            total, left = (price * steps * market.unit for steps in (order.quantity, order.quantity - filled))
            if filled and left < market.min_value:
                self.used.add(5)
            require((left if filled else total) >= market.min_value, "minOrderValue")
        return order

    def parse(self, account: Account, item: Item) -> Order:
        market = self.markets[int(item["symbolCode"])]
        side, reduce = (
            1 if item["ordSide"].startswith("BUY") else -1,
            item.get("reduceOnlyOption") or item.get("reduceOnly"),
        )
        kind, steps = item["ordType"], int(Fraction(item["ordQty"]) / market.step)
        stop = kind.startswith("STOP") if kind not in ("LIMIT", "MARKET") else reduce == "SL_FROM_POSITION"
        conditional = "triggerPx" in item
        return Order(
            account.address, market.code, side, "CLOSE" in item["ordSide"], kind, item["timeInForce"], reduce or "",
            int(Fraction(item["ordPx"]) / market.tick), steps, steps,
            trigger=int(Fraction(item.get("triggerPx", 0)) / market.tick),
            by=item.get("tpslTriggerType", "LAST_PRICE") if conditional else "", up=conditional and (side > 0) == stop,
            slippage=Fraction(item.get("slippagePct", 0)),
            client_id=int(item.get("clOrdId", 0)), parent=int(item.get("parentOrdId", 0)),
        )  # fmt: skip

    def admit(self, account: Account, order: Order, main: Order | None) -> int:
        """Apply the rules that need the account; return the worst price that the order may trade at."""
        held, market = self.holding(account, order.product), self.markets[order.product]
        taken = {each.client_id for each in self.orders.values() if each.address == account.address}
        require(not order.client_id or order.client_id not in taken, "clOrdId in use")
        price = order.price or market.last or market.mark
        limit = order.price or market.bound(order.side, price, order.slippage)
        require(account.hedge or not order.closing, "close sides are for hedge mode")
        if order.reducing:
            if main is None:
                self.fit(account, held, order, order.trigger or price)
        elif not order.trigger:  # Margin: a waiting trigger holds no margin
            self.check_increase(account, held, order, order.leaves, limit)
        return limit

    def fit(self, account: Account, held: Holding, order: Order, price: int, besides: Order | None = None) -> None:
        """Reduce-only: never opens or flips; exempt from minOrderValue if it closes the whole rest."""
        require(not account.hedge or order.closing, "BUY and SELL can't reduce in hedge mode")
        free = held.legs[-order.side].size
        require(free > 0, "no position to reduce")
        worth = price * held.market.unit
        if order.trigger:
            whole = not order.quantity or order.quantity >= free
            require(whole or worth * order.quantity >= held.market.min_value, "minOrderValue")
            return
        if order.tif in RESTS:
            others = self.resting(account.address, order.product, order.side, True)
            free -= sum(each.leaves for each in others if each is not besides)
            require(free > 0, "covered already")
        require(order.tif != "FOK" or order.leaves <= free, "FOK above the position")
        order.leaves = min(order.leaves, free)
        require(order.leaves == free or worth * order.leaves >= held.market.min_value, "minOrderValue")

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
            main = self.orders.get(int(item.get("parentOrdId", 0)))
            if main is not None and (main.address != account.address or main.reducing):
                main = None
            exit_ = (item.get("reduceOnlyOption") or item.get("reduceOnly") or "").endswith("POSITION")
            entry = 0
            if main is not None and exit_ and not self.opened(account, main):
                entry = main.price or main.trigger
            order = self.read(account, item, entry)
            order.builder, order.builder_rate = builder, rate
            if main is not None and exit_:
                self.check_children(account, main, [*self.bracket(main.id), order])
            else:
                main = None
            limit = self.admit(account, order, main)
        except RefusedByRules:
            self.reject(account, item)
            return False
        if main is not None:
            self.join(account, main, order)
        self.accept(order)
        if not order.trigger:
            self.process(account, order, limit)
        return True

    def place_bracket(
        self, account: Account, items: list[Item], builder: str = "", rate: Fraction = Fraction(0)
    ) -> bool:
        """Bracket: all or nothing; the children wait for the main order."""
        try:
            main = self.read(account, items[0])
            require(not main.reducing, "the main order opens")
            main.builder, main.builder_rate = builder, rate
            limit, children = self.admit(account, main, None), []
            for item in items[1:]:
                child = self.read(account, item, main.price or main.trigger)
                self.check_children(account, main, [child])
                worth = child.trigger * child.quantity * self.markets[main.product].unit
                whole = not child.quantity or child.quantity == main.quantity
                require(whole or worth >= self.markets[main.product].min_value, "minOrderValue")
                self.admit(account, child, main)
                children.append(child)
            self.check_children(account, main, children)
        except RefusedByRules:
            for item in items:
                self.reject(account, item)
            return False
        self.accept(main)
        for child in children:
            child.builder, child.builder_rate = builder, rate
            self.join(account, main, child)
            self.accept(child)
        main.group = main.id
        if not main.trigger:
            self.process(account, main, limit)
        return True

    def bracket(self, group: int) -> list[Order]:
        return [each for each in self.orders.values() if each.group == group and each.id != group]

    def opened(self, account: Account, main: Order) -> int:
        return min(main.filled, self.holding(account, main.product).legs[main.side].size)

    def check_children(self, account: Account, main: Order, children: list[Order]) -> None:
        for child in children:
            require(
                child.exit and child.side == -main.side and child.product == main.product, "an exit of the main order"
            )
            require(child.quantity <= main.quantity, "not larger than the main order")
            require(child.closing == account.hedge, "side of the exit")
        require(len({child.reduce for child in children}) == len(children), "one TP and one SL")
        ids = [each.client_id for each in (main, *children) if each.client_id]
        require(len(set(ids)) == len(ids), "clOrdId of its own")

    def join(self, account: Account, main: Order, child: Order) -> None:
        main.group = child.group = child.parent = main.id
        child.cover = self.opened(account, main)
        child.armed = child.cover > 0

    # Order rules: cancel and replace

    def find(self, account: Account, item: Item) -> Order:
        order = self.orders.get(int(item.get("ordId") or 0))
        require(order is not None and order.address == account.address, "unknown order")
        assert order is not None
        require(order.product == int(item["symbolCode"]), "unknown order")
        return order

    def cancel(self, order: Order) -> None:
        order.leaves = order.place = 0
        self.end(order, "CANCELED")

    def end(self, order: Order, status: str) -> None:
        order.status, order.place = status, 0
        del self.orders[order.id]
        if status != "FILLED":  # the last fill was recorded already
            self.log(order)
        if order.group == order.id:  # Bracket: children that no fill has armed go with the parent
            for child in self.bracket(order.id):
                if not child.armed:
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
        held, waiting = self.holding(account, order.product), order.status == "ORDER_STATUS_UNTRIGGERED"
        main = self.orders.get(order.group) if waiting and order.group != order.id else None
        entry = (main.price or main.trigger) if main is not None and not order.armed else 0
        new = self.read(account, item, entry, order.triggered, order.filled)
        same = (order.side, order.closing, order.kind, order.reduce, order.by if waiting else "")
        require(same == (new.side, new.closing, new.kind, new.reduce, new.by if waiting else ""), "can't be replaced")
        if waiting:
            require(main is None or new.quantity <= main.quantity, "not larger than the main order")
            whole = main.quantity if main is not None else held.legs[-order.side].size if order.reducing else 0
            if account.hedge and not order.closing and main is None:
                whole = 0
            worth = new.trigger * new.quantity * held.market.unit
            require(not 0 < new.quantity < whole or worth >= held.market.min_value, "minOrderValue")
            order.trigger, order.up, order.price, order.tif = new.trigger, new.up, new.price, new.tif
            order.quantity = order.leaves = new.quantity
            order.slippage, order.tried = new.slippage, -1
            self.log(order)
            return
        require(new.tif in RESTS, "timeInForce of an open order")
        left = new.quantity - order.filled
        require(left > 0, "not above what has filled")
        new.leaves, new.builder_rate = left, order.builder_rate
        if new.price == order.price and left <= order.leaves:
            if order.reducing and left < order.leaves and new.price * left * held.market.unit < held.market.min_value:
                self.used.add(5)  # C5: an exit of the whole rest is exempt as a placed one is
                self.fit(account, held, new, new.price, order)
            order.quantity, order.leaves, order.tif = new.quantity, left, new.tif
            self.log(order)
            return
        place, order.place = order.place, 0  # it must not count against itself
        try:
            if order.reducing:
                self.fit(account, held, new, new.price, order)
            else:
                self.check_increase(account, held, new, left, new.price)
        except RefusedByRules:
            away = (order.price - new.price) * order.side >= 0 and left <= order.leaves
            order.place = place
            if order.reducing or not away:
                raise
            self.used.add(5)  # C5: moving away or shrinking is never refused for margin
        order.price, order.quantity, order.tif, order.leaves = new.price, new.quantity, new.tif, new.leaves
        order.place = 0
        self.log(order)
        self.process(account, order, new.price)

    # Order rules: matching

    def process(self, account: Account, order: Order, limit: int) -> None:
        """Price-time priority; GTC and POST_ONLY rest, the others end; FOK fills whole or not at all."""
        if order.tif == "FOK":
            trial: Orders = pickle.loads(pickle.dumps(self))
            trial.match(trial.accounts[account.address], trial.orders[order.id], limit)
            self.used |= trial.used
            if order.id in trial.orders and trial.orders[order.id].leaves:
                self.cancel(order)
                return
        self.match(account, order, limit)
        if not order.leaves:
            self.end(order, "FILLED" if order.filled == order.quantity else "CANCELED")
        elif order.price and order.tif in RESTS:
            self.last_place = order.place = self.last_place + 1
            if order.reducing:
                self.shrink(account, order.product, order.side)
        elif order.exit and order.kind.endswith("MARKET") and 2 not in self.pending:
            order.status = "ORDER_STATUS_UNTRIGGERED"  # C2: it stays armed, and tries at the next trade or price
            order.tried = self.markets[order.product].changes
            self.log(order)
        else:
            self.cancel(order)

    def match(self, account: Account, order: Order, limit: int) -> None:
        market = self.markets[order.product]
        while order.leaves:
            book = self.levels(order.product, -order.side)
            if not book or (book[0].price - limit) * order.side > 0:
                break
            maker = book[0]
            if maker.address == account.address:  # self-trade: the maker is cancelled, the taker goes on
                self.cancel(maker)
                continue
            other = self.accounts[maker.address]
            steps = min(order.leaves, maker.leaves)
            if not maker.reducing and self.holding(other, order.product).isolated:
                cover = 0 if other.hedge else other.holdings[order.product].legs[order.side].size
                if not self.isolated_fits(other, maker, steps - cover):
                    if order.tif == "FOK":
                        self.used.add(0)
                    self.cut(maker, maker.leaves - cover)
                    continue
            for each in (order, maker):
                each.leaves -= steps
            if not maker.leaves:
                maker.place = 0
            self.last_trade += 1
            market.last, market.traded, market.changes = maker.price, True, market.changes + 1
            for each in self.orders.values():  # C6: every trade is seen by triggers of the last price
                if each.by == "LAST_PRICE" and self.is_met(each):
                    self.seen[each.id] = each.trigger
            self.settle(other, maker, maker.price, steps, maker=True)
            self.settle(account, order, maker.price, steps, maker=False)
            if not maker.leaves and maker.id in self.orders:
                self.end(maker, "FILLED" if maker.filled == maker.quantity else "CANCELED")
        self.drop_uncovered()

    def drop_uncovered(self) -> None:
        """C1: resting orders that lose their cover are cut, last placed first, until margin covers the rest."""
        loose, self.uncovered = self.uncovered, []
        for name, code, side in loose:
            account = self.accounts[name]
            for order in reversed(self.resting(name, code, side, False)):
                excess = sum(each.leaves for each in self.resting(name, code, side, False))
                excess -= account.holdings[code].legs[-side].size
                if excess > 0 and self.available(account) < 0:
                    self.cut(order, excess)

    def shrink(self, account: Account, code: int, side: int) -> None:
        """Reduce-only orders beyond the position are cut, last placed first."""
        found = self.resting(account.address, code, side, True)
        excess = sum(each.leaves for each in found) - account.holdings[code].legs[-side].size
        for order in reversed(found):
            if excess > 0:
                excess -= self.cut(order, excess)

    # Money of a fill

    def settle(self, account: Account, order: Order, price: int, steps: int, maker: bool) -> None:
        """Close what the order closes, open the rest, charge the fees, move isolated margin."""
        held, side, code = self.holding(account, order.product), order.side, order.product
        against, into, unit = held.legs[-side], held.legs[side], held.market.unit
        closed = min(steps, against.size) if order.closing or not account.hedge else 0
        opened, before, pnl = steps - closed, against.value, 0
        if closed:
            pnl = against.close(closed, closed * price * unit, -side)
            self.move(CLEARING, account.address, pnl, "REALIZED_PNL", code, str(order.id))
        if opened:
            into.open(opened, opened * price * unit, self.time)
        fees = self.charge(account, order, opened * price * unit, closed * price * unit, maker)
        if held.isolated:
            if closed:
                self.release(account, held, before - against.value, pnl - fees[1], opened)
            if opened:
                need, _ = self.isolated_need(held, side, opened, price)
                self.assign(account, held, min(need, self.spare(account)))
        into.fees, against.fees = into.fees + fees[0], against.fees + fees[1]
        order.filled, order.value, order.fee = (
            order.filled + steps,
            order.value + steps * price * unit,
            order.fee + sum(fees[:2]),
        )
        order.status = "FILLED" if order.filled == order.quantity else "PARTIALLY_FILLED"
        self.log(order, price, steps, self.last_trade, 1 if maker else 2, pnl, *fees)
        if order.group == order.id and opened:
            for child in self.bracket(order.id):  # Bracket: a fill in part arms the exits for that part
                child.cover, child.armed = child.cover + opened, True
        elif order.group and order.group != order.id:
            for other in self.bracket(order.group):  # one cancels the other
                if other is not order:
                    self.cancel(other)
        if closed:
            self.after_closing(account, held, order, against, maker)

    def after_closing(self, account: Account, held: Holding, order: Order, leg: Leg, maker: bool) -> None:
        code, side = order.product, order.side
        if leg.size:
            self.shrink(account, code, side)
        else:
            for other in list(self.orders.values()):  # TP/SL: cancelled when the position is gone
                mine = (other.address, other.product, other.side) == (account.address, code, side)
                if not mine or not other.reducing or other is order or not other.armed or other.id not in self.orders:
                    continue
                if other.group in self.orders and other.status == "ORDER_STATUS_UNTRIGGERED":
                    other.armed, other.cover = False, 0  # its main order may open again
                else:
                    self.cancel(other)
        plain = sum(each.leaves for each in self.resting(account.address, code, side, False))
        if plain > leg.size and not account.hedge and (not maker or order.reduce or order.kind in CLOSERS):
            self.uncovered.append((account.address, code, side))
