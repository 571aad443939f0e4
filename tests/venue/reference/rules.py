"""Rules of orders: what is accepted, how it acts, triggers, brackets, replacements, and what margin asks of a fill."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction

from .books import Account, Order, Position, Product, Refused, down, need, up
from .matching import Matching

TOP_PRICE = 999_999
E8 = 10**8


class Rules(Matching):
    """Orders from placement to their end."""

    next_order = 0

    @abstractmethod
    def is_liquidating(self, position: Position) -> bool:
        """Return whether a position is being liquidated (see `liquidation`)."""

    # margin of a fill

    def bearable(self, order: Order, price: int, steps: int, taker: bool = False) -> int:
        """Return how many steps of a fill the account can bear.

        Assumptions, Money: a resting order of an isolated product whose margin losses of the cross positions have used
        up is cancelled when it is met: cross positions give no more than keeps them below a margin ratio of 95 %.
        """
        position, account = order.position, order.account
        if not taker and not order.reducing and position.isolated:
            closed = 0 if account.hedge else min(steps, position.leg(-order.side).size)
            if closed < steps and not self.spares(order, price, steps, closed):
                steps = closed
        return self.without_debt(order, price, steps, taker)

    def without_debt(self, order: Order, price: int, steps: int, taker: bool) -> int:
        """Clarification 10: a fill executes only as far as the equity after it, at mark and with fees, is not below 0.

        Assumptions, Money: what closes trades at the leg's bankruptcy price or better as well.
        """
        position, product, side = order.position, order.product, order.side
        worse = side * (price - product.mark)
        leg = position.leg(-side)
        closing = order.closing if order.account.hedge else bool(leg.size)
        closes = leg.size if closing else 0
        if not position.isolated:
            equity = order.account.equity
        else:
            equity = position.equity if closes else self.spare(order.account)
        if closes:
            edge = product.mark + side * Fraction(equity, leg.size * product.unit)
            if side * price > (down(edge) if side > 0 else -up(edge)):
                return 0
        rate = self.rates(order.account, product)[1 if taker else 0]

        def cost(n: int) -> int:
            value = product.value(price, n)
            return product.value(worse, n) + up(value * rate) + up(value * order.builder_rate)

        if position.isolated and 0 < closes < steps:
            if cost(closes) > max(0, equity):
                return self.most(closes, lambda n: cost(n) <= max(0, equity))
            left = self.spare(order.account, equity - cost(closes))
            return closes + self.most(steps - closes, lambda n: cost(n) <= left)
        return self.most(steps, lambda n: cost(n) <= max(0, equity))

    @staticmethod
    def most(steps: int, fits: Callable[[int], bool]) -> int:
        """Return the largest number of steps that fits; 0 always does."""
        low, high = 0, steps
        while low < high:
            tried = (low + high + 1) // 2
            low, high = (tried, high) if fits(tried) else (low, tried - 1)
        return low

    def spares(self, order: Order, price: int, steps: int, closed: int) -> bool:
        """Assumptions, Money: what the balance can give must be more than the maintenance margin of what opens."""
        position, account, product, side = order.position, order.account, order.product, order.side
        opens, freed = steps - closed, 0
        if closed:  # a flip may use what the closing sets free, at its own price and after its fee
            worse = max(0, side * (product.value(price, closed) - product.value(product.mark, closed)))
            freed = position.equity - worse - up(product.value(price, closed) * max(self.rates(account, product)))
        loss = max(0, side * (product.value(price, opens) - product.value(product.mark, opens)))
        given = min(self.taken_along(position, side, opens, price), self.spare(account, freed)) - loss
        own = position.leg(side).size
        after, now = (product.maintenance(product.value(product.mark, n)) for n in (own + opens, own))
        return given * self.settings.stop > after - now

    # bounds and prices

    def bound(self, order: Order, base: int) -> int:
        """Assumptions, Orders: slippage counts in 1e-8, rounded down (at least 1e-8), 3 % when none is named."""
        slippage = order.slippage or Fraction(3, 100)
        slippage = Fraction(max(1, down(slippage * E8)), E8)
        edge = base * (1 + order.side * slippage)
        return down(edge) if order.side > 0 else up(edge)

    def limit(self, order: Order) -> int:
        return self.bound(order, order.product.last) if order.market else order.price

    def watched(self, order: Order) -> int:
        product = order.product
        return {"MARK_PRICE": product.mark, "INDEX_PRICE": product.oracle}.get(order.by, product.last)

    @staticmethod
    def met(order: Order, price: int) -> bool:
        """Order rules: TP of a long triggers at price ≥ trigger, SL at ≤; for a short the other way round."""
        take = order.reduce == "TP_FROM_POSITION" or order.kind.startswith("TAKE_PROFIT")
        # a closing or opening order on side s: a take-profit waits for a price that is better for s
        rising = (order.side < 0) == take
        return price >= order.trigger if rising else price <= order.trigger

    def would_match(self, order: Order) -> bool:
        return bool(self.offers(order, self.limit(order)))

    def prospects(self, order: Order, limit: int) -> list[tuple[int, int]]:
        """Return what an order would take at once, (price, steps) in order, not from its own account."""
        left, found = order.leaves, []
        for maker in self.offers(order, limit):
            if maker.account is not order.account and left:
                found.append((maker.price, min(left, maker.leaves)))
                left -= found[-1][1]
        return found

    # placement

    def check_terms(self, order: Order, present: int = 0, main: Order | None = None) -> None:
        """Refuse an order that breaks a rule that needs no margin."""
        need(not order.unbuilt, "the authorised builder and its cap")
        product, position = order.product, order.position
        price = order.price
        if not order.market:
            need(0 < price * product.tick <= TOP_PRICE, "price range")
            need(price * 10 >= product.mark, "price at least 10 % of mark")
        else:
            stop = order.kind not in ("MARKET", "LIMIT")
            need(order.tif in ("IOC", "FOK") or (stop and order.tif == "GTC"), "time in force of a market order")
        need(order.slippage <= product.max_slippage, "slippage")
        need(0 <= order.quantity <= product.max_steps, "quantity")
        need(order.quantity or order.exit, "quantity 0")
        need(order.account.hedge or not order.closing, "closing sides are for hedge mode")
        if order.account.hedge:
            need(order.closing or not order.reduce, "reduce-only needs a closing side in hedge mode")
        need(order.trigger or not order.exit, "TP or SL without trigger")
        need(order.trigger or order.kind in ("LIMIT", "MARKET"), "stop without trigger")
        if order.trigger:
            need(not self.met(order, present or self.watched(order)), "trigger met at placement")
        if main is not None or order.group == 0:
            self.check_value(order, position, main)

    def check_value(self, order: Order, position: Position, main: Order | None, left: int = 0) -> None:
        """Venue facts: minOrderValue; assumptions: unless it closes the whole position (and opens nothing)."""
        if not order.quantity:
            return
        product, steps = order.product, left or order.quantity
        price = order.price or (order.trigger if order.trigger else product.last)
        whole = position.leg(-order.side).size if order.closing or not order.account.hedge else 0
        if main is not None:
            whole = main.quantity  # an exit of an open main order has no position yet (Orders)
        closes = whole and (steps >= whole if main is not None or order.reducing else steps == whole)
        need(closes or product.value(price, steps) >= product.min_value, "minimum value")

    def number(self, order: Order) -> None:
        self.next_order += 1
        order.id = self.next_order
        order.time = order.changed = self.time
        order.leaves = order.quantity
        order.since = len(order.product.trades)

    def place(self, order: Order) -> bool:
        """Place one order; a refused one has an id and an event too."""
        self.number(order)
        try:
            self.accept(order)
        except Refused:
            self.reject(order)
            return False
        self.act(order)
        return True

    @staticmethod
    def opened(main: Order) -> int:
        """Return the steps that a main order has opened and that are still there."""
        return min(main.filled, main.position.leg(main.side).size)

    def reject(self, order: Order) -> None:
        order.status, order.leaves = "REJECTED", 0
        self.orders[order.id] = order
        self.log(order)

    def accept(self, order: Order) -> None:
        position = order.position
        parent = order.account.orders.get(order.parent) if order.exit and order.parent else None
        if parent is not None and (parent.product is not order.product or parent.reducing):
            parent = None
        hangs = parent is not None
        need(parent is None or parent.side == -order.side, "an exit closes its main order")
        if order.client:
            need(all(o.client != order.client for o in order.account.orders.values()), "client id in use")
        present = 0
        if parent is not None and not self.opened(parent):
            present = parent.price or parent.trigger
        self.check_terms(order, present=present, main=parent)
        if order.exit:
            need(position.leg(-order.side).size or hangs, "TP or SL without position")
            if hangs and parent is not None:
                need(order.quantity <= parent.quantity, "an exit is no larger than its main order")
                same = [o for o in self.children(parent.id) if o.reduce == order.reduce]
                need(not same, "one TP and one SL")
                order.group, order.cover = parent.id, self.opened(parent)
                order.waits = not order.cover
        if order.trigger:
            order.status = "ORDER_STATUS_UNTRIGGERED"
            order.whole = not order.quantity
            return
        self.check_fit(order)

    def check_fit(self, order: Order) -> None:
        """Check what depends on the position and on margin, and cut a reduce-only order to its position."""
        limit = self.limit(order)
        if order.reducing:
            self.fit_reducing(order, limit)
        if order.tif == "POST_ONLY":
            need(not self.would_match(order), "POST_ONLY would match")
        if not order.reducing:
            self.check_increase(order, limit)

    def fit_reducing(self, order: Order, limit: int) -> None:
        """Assumptions, Orders: a reduce-only order larger than the position is cut to it, a FOK is refused."""
        leg = order.position.leg(-order.side)
        need(leg.size, "nothing to reduce")
        room = leg.size
        at_once = order.market or order.tif in ("IOC", "FOK") or bool(self.offers(order, limit))
        if not at_once:
            room -= sum(o.leaves for o in self.reducers(order.position, order.side) if o is not order)
        need(room > 0, "other reduce-only orders cover the position")
        if order.leaves > room:
            need(order.tif != "FOK", "FOK larger than the position")
            order.leaves = room

    def open_interest(self, product: Product) -> int:
        held = (account.positions.get(product.code) for account in self.accounts.values())
        return sum(position.long.size for position in held if position)

    @abstractmethod
    def check_stake(self, account: Account) -> None:
        """Ruling 21: refuse what opens in a vault of which the leader has too small a part (see `programs`)."""

    def band(self, product: Product) -> int:
        """Ruling 18: the ticks that the mark may be from the oracle: half of the smallest maintenance rate."""
        return down(product.oracle * self.settings.band * product.gentlest)

    @staticmethod
    def farthest(order: Order, limit: int) -> int:
        """Clarification 10: a limit far beyond the mark doesn't execute there, but up to the largest slippage."""
        edge = order.product.mark * (1 + order.side * order.product.max_slippage)
        within = order.side * (limit - edge) <= 0 or order.kind == "LIQUIDATION"
        return limit if within else (down(edge) if order.side > 0 else up(edge))

    def reducers(self, position: Position, side: int) -> list[Order]:
        """Return the resting orders that reduce the leg against `side`, oldest first."""
        return [
            o for o in position.account.orders.values()
            if o.product is position.product and o.side == side and o.resting and o.reducing
        ]  # fmt: skip

    def check_increase(self, order: Order, limit: int, margin: bool = True) -> None:
        """Clarification 1: a plain order is judged only by the part that opens."""
        position, product, side = order.position, order.product, order.side
        covered = 0 if order.account.hedge else min(order.leaves, position.leg(-side).size)
        opens = order.leaves - covered
        if not opens:
            return
        need(not self.is_liquidating(position), "only reducing while liquidated")
        if margin:
            reached = self.open_interest(product) + opens
            most = self.settings.depth * self.settings.depths
            need(product.value(product.mark, reached) <= most, "the limit of open interest")
            self.check_stake(order.account)
        left, trading, loss, spent = covered, 0, 0, 0
        for price, steps in self.prospects(order, limit):
            closing = min(left, steps)
            left -= closing
            value, at_mark = product.value(price, steps), product.value(product.mark, steps)
            loss += max(0, side * (value - at_mark))
            spent += value
            trading += steps - closing
        # what trades below mark counts at mark in the limits of tier and product, and a sell in its margin too
        value, extra = product.value(limit, opens), product.value(max(0, product.mark - limit), trading)
        value += product.value(max(0, limit - product.mark), left)  # a resting exit is taken off at mark (Money)
        gone, account = covered > 0, order.account
        need(self.within(position, self.reach(position, side, value + extra, gone)), "limits of tier and product")
        if not margin:
            return
        fees = up(spent * (self.rates(account, product)[1] + order.builder_rate))
        freed = position.equity if gone and position.isolated else 0
        held = self.held(position, side, value + (extra if side < 0 else 0), gone)
        need(account.equity + freed - self.initial(account, position) - held >= fees + loss, "initial margin")
        if position.isolated and position.size and not gone:
            after = product.maintenance(position.notional(side) + product.value(product.mark, opens))
            grown = position.equity + position.initial(product.value(product.mark, opens))
            need(grown > after, "isolated maintenance margin")

    def act(self, order: Order) -> None:
        """Let an accepted order act: NEW, then trades, then rest or end."""
        self.enter(order)
        self.log(order)
        if order.status != "ORDER_STATUS_UNTRIGGERED":
            self.process(order, self.limit(order))

    closings: list[dict[str, object]]
    payments: list[dict[str, object]]
    loose: list[tuple[Position, int]]
    """Sides whose orders may have lost their cover by fills: looked at when the taker has done."""

    def drop_loose(self) -> None:
        loose, self.loose = self.loose, []
        for position, side in loose:
            self.drop_uncovered(position, side)

    def process(self, order: Order, limit: int) -> None:
        covered = not order.account.hedge and order.position.leg(-order.side).size
        order.stopped, wished, limit = False, limit, self.farthest(order, limit)
        if order.tif == "FOK":
            cut = self.whole_way(order, limit)
            if cut is None:
                self.give_up(order)
                return
            for maker, steps in cut:
                self.cut(maker, steps)
        self.match(order, limit)
        if not order.leaves:
            self.finish(order)
        elif order.market or order.tif in ("IOC", "FOK") or order.stopped or limit != wished:
            self.give_up(order)
        else:
            self.rest(order, bool(covered))

    def whole_way(self, order: Order, limit: int) -> list[tuple[Order, int]] | None:
        """Return the orders on the way of a FOK that must be cut first, None when it can't fill whole.

        What it could really take is found by letting a copy of everything do it.
        """
        if sum(steps for _, steps in self.prospects(order, limit)) < order.leaves:
            return None
        past = (self.rows, self.events, self.closings, self.payments, self.owed_rebates, self.trimmed)
        memo: dict[int, object] = {id(each): [] for each in past} | {id(self.settings): self.settings}
        memo[id(self.orders)] = {}
        for product in self.products.values():
            memo |= {id(product.trades): product.trades[-1:], id(product.premiums): []}
        there, taker = copy.deepcopy((self, order), memo)
        there.orders = dict(there.live)
        there.match(taker, limit)
        return None if taker.leaves else [(self.orders[maker.id], steps) for maker, steps in there.trimmed]

    def give_up(self, order: Order) -> None:
        """Clarification 2: an exit that finds too little stays armed; everything else is cancelled."""
        if order.exit and order.triggered and order.market and order.position.leg(-order.side).size:
            order.status = "ORDER_STATUS_UNTRIGGERED"
            order.tried = self.try_key(order)
            self.log(order)
        else:
            self.end(order)

    def rest(self, order: Order, covered: bool) -> None:
        self.queue += 1
        order.place = self.queue
        position = order.position
        if order.reducing:
            self.shrink(position, order.side)
        elif covered:
            self.drop_uncovered(position, order.side, order)

    # positions and the orders that depend on them

    def shrink(self, position: Position, side: int) -> None:
        """Order rules: reduce-only orders beyond the position are cut, last placed first, or cancelled."""
        self.cut_newest(self.reducers(position, side), position.leg(-side).size)

    def cut_newest(self, orders: list[Order], kept: int, fits: Callable[[], bool] = lambda: False) -> None:
        excess = sum(order.leaves for order in orders) - kept
        for order in reversed(orders):
            if excess <= 0 or fits():
                return
            lost = min(excess, order.leaves)
            excess -= lost
            self.cut(order, order.leaves - lost)

    def drop_uncovered(self, position: Position, side: int, newest: Order | None = None) -> None:
        """Assumptions, Money: as far as equity or the limits don't cover what the orders of a side hold, they are cut
        to what the position covers, last placed first; never the one that took their cover."""
        kept = position.leg(-side).size - (newest.leaves if newest else 0)
        self.cut_newest(
            [order for order in self.resting(position, side) if order is not newest], kept,
            lambda: self.available(position.account) >= 0 and self.within(position, self.reach(position, side)),
        )  # fmt: skip

    def followed(self, order: Order, closed: int, opened: int, taker: bool) -> None:
        """Do what follows from a fill: first the rest of its bracket, then what could only close what is gone."""
        position = order.position
        if opened:
            for child in self.children(order.id):
                child.cover += opened
                if child.waits:
                    child.waits, child.since = False, len(order.product.trades)
        if order.exit and order.group:
            self.exit_filled(order)
        if closed:
            side = -order.side
            if not position.leg(side).size:
                self.leg_closed(position, side)
            else:
                self.shrink(position, order.side)
            # the fill of a plain maker takes as much from its side's orders as from the position
            if not position.account.hedge and (taker or order.reduce):
                self.loose.append((position, order.side))

    def leg_closed(self, position: Position, side: int) -> None:
        """TP/SL: cancelled when the position is gone; so are reduce-only orders."""
        self.closed_position(position, side)
        for order in list(position.account.orders.values()):
            if order.product is not position.product or order.side != -side or not order.reducing:
                continue
            main = self.orders.get(order.group)
            if order.waits or (main is not None and main.open and order.status == "ORDER_STATUS_UNTRIGGERED"):
                if main is not None and main.open:
                    order.waits, order.cover = True, 0
                continue
            if order.filled and order.leaves == 0:
                continue
            if order.resting or order.status == "ORDER_STATUS_UNTRIGGERED":
                self.end(order)

    @abstractmethod
    def closed_position(self, position: Position, side: int) -> None:
        """Do what follows when a leg is closed (see `clock`)."""

    # brackets

    def children(self, main: int) -> list[Order]:
        return [o for o in self.live.values() if o.group == main and o.id != main] if main else []

    def bracket(self, orders: Sequence[Order]) -> bool:
        """Order rules: children wait until the main order fills. A bracket is all or nothing."""
        main, *exits = orders
        for order in orders:
            self.number(order)
        for child in exits:
            child.group = main.id
        try:
            self.check_terms(main)
            for child in exits:
                self.check_child(main, child)
            self.check_fit(main)
        except Refused:
            for order in orders:
                self.reject(order)
            return False
        for child in exits:
            child.parent = child.group = main.id
            child.status, child.waits = "ORDER_STATUS_UNTRIGGERED", True
            child.whole = not child.quantity
        self.enter(main)
        self.log(main)
        for child in exits:
            self.enter(child)
            self.log(child)
        self.process(main, self.limit(main))
        return True

    def check_child(self, main: Order, child: Order) -> None:
        need(child.product is main.product, "one product in a bracket")
        need(child.side == -main.side, "an exit closes its main order")
        need(not main.reducing, "a bracket's main order opens")
        need(child.quantity <= main.quantity, "an exit is no larger than its main order")
        self.check_terms(child, present=main.price or main.trigger or self.watched(child))
        need(child.quantity in (0, main.quantity) or self.worth_placing(child), "minimum value of an exit")

    def worth_placing(self, order: Order) -> bool:
        price = order.price or order.trigger
        return order.product.value(price, order.quantity) >= order.product.min_value

    def main_ended(self, order: Order) -> None:
        """Assumptions, Orders: exits are cancelled when their main order ends without a position of it."""
        if order.exit:
            return
        for child in self.children(order.id):
            if child.waits:
                self.end(child)

    def exit_filled(self, order: Order) -> None:
        """Assumptions, Orders: the first fill of TP or SL cancels the other."""
        for other in self.children(order.group):
            if other is not order:
                self.end(other)

    # triggers

    def fire_due(self) -> bool:
        """Fire what is due, by order id; return whether anything was.

        Clarification 6: LAST_PRICE triggers see every trade since they wait, also in the middle of a request.
        """
        fired = False
        for product in self.products.values():
            due = [(order, price, order.trigger) for order in self.live.values()
                   if order.product is product and (price := self.due(order))]  # fmt: skip
            for order, price, trigger in sorted(due, key=lambda each: each[0].id):
                if order.status != "ORDER_STATUS_UNTRIGGERED" or order.waits or order.trigger != trigger:
                    continue
                if not order.triggered or order.tried != self.try_key(order):
                    self.fire(order, price)
                    fired = True
        return fired

    def due(self, order: Order) -> int:
        """Return the price at which a waiting order is to act now, 0 for none."""
        if order.status != "ORDER_STATUS_UNTRIGGERED" or order.waits:
            return 0
        if order.triggered:
            return self.watched(order) if order.tried != self.try_key(order) else 0
        prices = [self.watched(order)]
        if order.by == "LAST_PRICE":
            prices = [trade[2] for trade in order.product.trades[order.since :]] + prices
        order.since = len(order.product.trades)
        return next((price for price in prices if self.met(order, price)), 0)

    def exit_bound(self, order: Order, price: int) -> int:
        """Clarification 2: the price that triggered it or the last trade, whichever is further in its direction."""
        further = max if order.side > 0 else min
        return self.bound(order, further(price, order.product.last))

    def fire(self, order: Order, price: int) -> None:
        again, order.triggered = order.triggered, True
        position = order.position
        if order.group and order.exit:
            for other in self.children(order.group):
                if other is not order and other.triggered:
                    self.end(other)
            main = self.orders.get(order.group)
            if main is not None and main.open:
                self.end(main)
        if order.exit:
            size = position.leg(-order.side).size
            if not size:
                self.end(order)
                return
            if order.whole:
                order.quantity, order.leaves = order.filled + size, size
            order.leaves = min(order.leaves, size, order.cover if order.group and not order.whole else size)
        order.status = "PARTIALLY_FILLED" if order.filled else "NEW"
        limit = self.exit_bound(order, price) if order.market else order.price
        if not again:
            self.log(order)
        try:
            if order.tif == "POST_ONLY":
                need(not self.would_match(order), "POST_ONLY would match")
            if not order.reducing:
                self.check_increase(order, limit)
        except Refused:
            self.end(order)
            return
        self.process(order, limit)

    def try_key(self, order: Order) -> tuple[int, ...]:
        """Assumptions, Orders: what must change before an armed exit is tried again."""
        limit = self.exit_bound(order, self.watched(order))
        offered = sum(o.leaves for o in self.offers(order, limit) if o.account is not order.account)
        return order.product.mark, order.product.oracle, len(order.product.trades), offered

    # cancel and replace

    def find(self, account: Account, code: int, number: int, client: int) -> Order:
        for order in account.orders.values():
            if order.product.code == code and (order.id == number if number else order.client == client):
                return order
        raise Refused("no open order of that id")

    def cancel_all(self, account: Account, code: int, conditional: bool) -> None:
        for order in sorted(account.orders.values(), key=lambda o: o.id):
            if order.product.code == code and order.open:
                waits = order.status == "ORDER_STATUS_UNTRIGGERED"
                if waits == conditional:
                    self.end(order)

    def replace(self, order: Order, new: Order) -> None:
        """Assumptions, Orders: replaceOrder states the new total quantity, filled part included."""
        waiting = order.status == "ORDER_STATUS_UNTRIGGERED"
        need(not (waiting and order.triggered), "an armed exit can't be replaced")
        need((order.side, order.closing, order.kind) == (new.side, new.closing, new.kind), "side and type stay")
        need(order.reduce == new.reduce, "reduce-only option stays")
        either = {order.tif, new.tif} == {"GTC", "POST_ONLY"} or waiting
        need(order.tif == new.tif or either, "time in force")
        left = new.quantity - order.filled
        need(left > 0 or (waiting and order.exit and not new.quantity), "nothing left")
        new.filled, new.leaves, new.account = order.filled, max(0, left), order.account
        if waiting:
            need(order.by == new.by, "trigger type stays")
            main = self.live.get(order.group)  # once it has ended, the position is what an exit closes
            if main is not None:
                need(new.quantity <= main.quantity, "an exit is no larger than its main order")
                exempt = new.quantity in (0, main.quantity)
                need(not order.waits or exempt or self.worth_placing(new), "minimum value of an exit")
            self.check_terms(new, present=(main.price or main.trigger if main and order.waits else 0), main=main)
            order.trigger, order.price, order.quantity, order.tif = new.trigger, new.price, new.quantity, new.tif
            order.leaves, order.whole = new.quantity, not new.quantity
            self.log(order)
            return
        new.trigger = 0
        new.id = order.id
        keeps = new.price == order.price and left <= order.leaves
        holds_less = self.check_replacement(order, new, left)
        order.price, order.quantity, order.tif, order.leaves = new.price, new.quantity, new.tif, new.leaves
        self.log(order)
        if keeps:
            return
        order.place = 0
        if holds_less:
            self.rest(order, False)
        else:
            self.process(order, order.price)

    @abstractmethod
    def check_replacement(self, order: Order, new: Order, left: int) -> bool:
        """Return whether a replacement takes part in the checks of margin (see `liquidation`)."""
