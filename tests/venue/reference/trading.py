"""Orders from acceptance to their end: the order rules, matching, fills, brackets."""

from __future__ import annotations

import pickle
from typing import Any

from tests.venue.reference.margin import CLEARING, Margin, steps_of
from tests.venue.reference.money import Account, Holding, Leg, Market, Order, Refused

RESTS = ("GTC", "POST_ONLY")


class Trading(Margin):
    """What accounts order, and what becomes of it."""

    def is_met(self, order: Order) -> bool:
        price = self.markets[order.code].price(order.by)
        return order.waiting and order.armed and bool(price >= order.trigger if order.up else price <= order.trigger)

    def would_match(self, order: Order) -> bool:
        best = self.best(order.code, -order.side)
        return bool(best and (order.price - best) * order.side >= 0)

    def triggered_bound(self, order: Order, price: int) -> int:
        """C2: from the price that triggered it or the last trade, whichever is further in its direction."""
        market = self.markets[order.code]
        return market.bound(order.side, (max if order.side > 0 else min)(price, market.last or price), order.slippage)

    def prospects(self, order: Order) -> tuple[int, ...]:
        """C2: it tries again at every trade and new price, and when somebody offers within its bound."""
        market, book = self.markets[order.code], self.books[order.code, -order.side]
        limit = self.triggered_bound(order, market.price(order.by))
        offered = [each for each in book if (each.price - limit) * order.side <= 0]
        return market.trades, market.mark, market.oracle, steps_of(offered)

    def log(self, order: Order, *fill: int) -> None:
        """Record an order event, with the numbers of a fill."""
        terms = (order.status, order.kind, order.price, order.quantity, order.leaves, order.trigger)
        self.events.append((order.name, order.id, *terms, *(fill or (0,) * 8)))

    # Order rules: acceptance

    def check_terms(self, account: Account, order: Order, entry: int = 0, old: Order | None = None) -> None:
        """Apply the rules of its product; its trigger is held against `entry` or the market; it may replace `old`."""
        market, require = self.markets[order.code], self.require
        if order.by:
            now = entry or market.price(order.by)
            require(now < order.trigger if order.up else now > order.trigger, "the trigger is met already")
        if order.kind.endswith("MARKET"):
            require(order.tif != "POST_ONLY" and (order.tif != "GTC" or order.kind != "MARKET"), "market timeInForce")
        else:
            require(order.price * 10 >= market.mark, "price band")
            meets = order.tif == "POST_ONLY" and not order.trigger and self.would_match(order)
            require(not meets, "POST_ONLY would match")
        require(order.quantity <= market.max_steps, "maxOrderQty")
        require(order.quantity > 0 or order.exit, "quantity 0 is for TP and SL from position")
        require(order.slippage <= market.max_slippage, "C9: maxSlippagePct")
        if not order.reducing:  # C5: what counts is what is left to fill; an exit of the whole position is exempt
            left = order.quantity - (old.filled if old is not None else 0)
            worth = (order.price or order.trigger or market.last or market.mark) * left * market.unit
            whole = left == account.cover(self.holding(account, order.code), order.side)
            require(whole or not 0 < worth < market.min_value, "minOrderValue")

    def require_value(self, market: Market, price: int, steps: int, whole: bool) -> None:
        """Reduce-only is exempt from minOrderValue if it closes the whole rest."""
        self.require(whole or price * steps * market.unit >= market.min_value, "minOrderValue of an exit")

    def fit(self, account: Account, held: Holding, order: Order, price: int) -> None:
        """Reduce-only: never opens or flips."""
        self.require(not account.hedge or order.closing, "BUY and SELL can't reduce in hedge mode")
        free = held.legs[-order.side].size
        self.require(free > 0, "no position to reduce")
        steps = order.quantity or free
        if not order.trigger:
            if order.tif in RESTS:
                free -= steps_of(self.resting(account.name, order.code, order.side, True))
                self.require(free > 0, "reduce-only orders cover the position already")
            self.require(order.tif != "FOK" or order.leaves <= free, "FOK above the position")
            steps = order.leaves = min(order.leaves, free)
        self.require_value(held.market, price, steps, whole=steps >= free)

    def record(self, order: Order, status: str) -> None:
        self.last_order = order.id = self.last_order + 1
        order.status = status
        if status != "REJECTED":
            self.orders[order.id] = order
        self.log(order)

    def accept(self, order: Order) -> Order:
        self.record(order, "ORDER_STATUS_UNTRIGGERED" if order.trigger else "NEW")
        return order

    def place(self, account: Account, order: Order, *exits: Order) -> bool:
        """Place an order, with its exits or as an exit of one that is open; a refused one changes nothing."""
        main = self.orders.get(order.parent)
        joins = main is not None and main.name == account.name and not main.reducing and order.exit
        main, children = (main, (order,)) if main is not None and joins else (order, exits)
        price = order.price or self.markets[order.code].last or self.markets[order.code].mark
        limit = order.price or self.markets[order.code].bound(order.side, price, order.slippage)
        try:
            if main is order:
                self.check_terms(account, order)
                self.require(not (exits and order.reducing), "the main order of a bracket opens")
                if order.reducing:
                    self.fit(account, self.holding(account, order.code), order, order.trigger or price)
                elif not order.trigger:  # Margin: a waiting trigger holds no margin
                    self.check_increase(account, order, order.leaves, limit)
            for child in children:
                self.check_child(account, main, child)
            family = [*(self.bracket(main.id) if joins else ()), *children]
            self.require(len({child.reduce for child in family}) == len(family), "one TP and one SL")
            self.require(account.hedge or not order.closing, "close sides are for hedge mode")
            ids = [each.client_id for each in self.orders.values() if each.name == account.name]
            ids = [each for each in (*ids, order.client_id, *(child.client_id for child in exits)) if each]
            self.require(len(set(ids)) == len(ids), "clOrdId in use")
        except Refused:
            for each in (order, *exits):
                each.leaves = 0
                self.record(each, "REJECTED")
            return False
        if main is order:
            self.accept(order)
        for child in children:
            main.group = child.group = child.parent = main.id
            child.cover = self.opened(account, main)
            child.armed = child.cover > 0
            self.accept(child)
        if main is order and not order.trigger:
            self.process(account, order, limit)
        return True

    def check_child(self, account: Account, main: Order, child: Order) -> None:
        """Bracket: the exits are against their main order, and wait for it."""
        self.check_terms(account, child, 0 if self.opened(account, main) else main.price or main.trigger)
        against = child.exit and child.side == -main.side and child.code == main.code
        self.require(against, "an exit is against its main order")
        self.require(child.quantity <= main.quantity, "an exit larger than its main order")
        self.require(child.closing == account.hedge, "side of an exit")
        whole = bool(child.parent) or not 0 < child.quantity < main.quantity
        self.require_value(self.markets[main.code], child.trigger, child.quantity, whole)

    def bracket(self, group: int) -> list[Order]:
        return [each for each in self.orders.values() if each.group == group and each.id != group]

    def opened(self, account: Account, main: Order) -> int:
        return min(main.filled, self.holding(account, main.code).legs[main.side].size)

    # Order rules: cancel and replace

    def find(self, account: Account, code: int, number: int) -> Order:
        order = self.orders.get(number)
        self.require(order is not None and (order.name, order.code) == (account.name, code), "unknown order")
        return self.orders[number]

    def cancel(self, order: Order) -> None:
        order.leaves = 0
        self.end(order, "CANCELED")

    def end(self, order: Order, status: str = "") -> None:
        self.leave(order)
        order.status = status or ("FILLED" if order.filled == order.quantity else "CANCELED")
        del self.orders[order.id]
        if order.status != "FILLED":  # the last fill was recorded already
            self.log(order)
        for child in self.bracket(order.id):
            if not child.armed:  # Bracket: children that no fill has armed go with the parent
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

    def replace(self, account: Account, order: Order, new: Order) -> None:
        """Replace: side, kind and option stay, the quantity is the new total; a refusal leaves the order as it is."""
        held, main = self.holding(account, order.code), None
        if order.waiting:
            self.require(not order.triggered, "an exit that tries again can't be replaced")
            main = self.orders.get(order.group) if order.grouped else None
        elif order.triggered:
            new.trigger, new.by = 0, ""
        entry = (main.price or main.trigger) if main is not None and not order.armed else 0
        self.check_terms(account, new, entry, order)
        kinds = [(o.side, o.closing, o.kind, o.reduce, o.by if order.waiting else "") for o in (order, new)]
        self.require(kinds[0] == kinds[1], "the same kind")
        if order.waiting:
            self.require(main is None or new.quantity <= main.quantity, "an exit larger than its main order")
            free = held.legs[-order.side].size if order.reducing and account.hedge == order.closing else 0
            part = 0 < new.quantity < (free if main is None else main.quantity)
            self.require_value(held.market, new.trigger, new.quantity, not part)
            order.trigger, order.up, order.slippage = new.trigger, new.up, new.slippage
            self.amend(order, new, new.quantity)
            return
        left = new.quantity - order.filled
        self.require(new.tif in RESTS, "timeInForce of an open order")
        self.require(left > 0, "above what has filled")
        if new.price == order.price and left <= order.leaves:  # only so it keeps its place
            self.require_value(held.market, new.price, left, not order.reducing or left == order.leaves)
            self.amend(order, new, left)
            return
        less, before = self.holds_less(order, new, left), order.leaves
        new.leaves, new.builder_rate, order.leaves = left, order.builder_rate, 0  # it doesn't count against itself
        try:
            if order.reducing:
                self.fit(account, held, new, new.price)
            else:
                self.check_increase(account, new, left, new.price, only_size=less)
        finally:
            order.leaves = before
        self.leave(order)
        self.amend(order, new, new.leaves)
        if less:
            self.rest(order)
        else:
            self.process(account, order, new.price)

    def amend(self, order: Order, new: Order, left: int) -> None:
        order.price, order.quantity, order.tif, order.leaves = new.price, new.quantity, new.tif, left
        self.log(order)

    def holds_less(self, order: Order, new: Order, left: int) -> bool:
        """C5: moving an opening order away from the market, or shrinking it, is never refused for margin."""
        away, smaller = (new.price - order.price) * order.side <= 0, left * new.price <= order.leaves * order.price
        less = away or (smaller and not self.would_match(new))
        return bool(less and left <= order.leaves and not order.reducing)

    # Order rules: matching

    def process(self, account: Account, order: Order, limit: int) -> None:
        """Price-time priority; GTC and POST_ONLY rest, the others end; FOK fills whole or not at all."""
        if order.tif == "FOK":
            trial: Any = pickle.loads(pickle.dumps(self))
            trimmed = trial.match(trial.accounts[account.name], trial.orders[order.id], limit)
            if trial.orders[order.id].leaves:
                self.give_up(order)
                return
            for maker, steps in trimmed:
                self.cut(self.orders[maker], steps)
        covered = account.cover(self.holding(account, order.code), order.side)
        self.match(account, order, limit)
        if not order.leaves:
            self.end(order)
        elif order.price and order.tif in RESTS:
            self.rest(order)
            if order.reducing:
                self.shrink(account, order.code, order.side)
            elif covered:  # C1: older ones may have lost their cover to it
                self.drop_uncovered(account, order.code, order.side, order)
        else:
            self.give_up(order)

    def give_up(self, order: Order) -> None:
        """IOC and MARKET cancel the rest; C2: a triggered market exit stays armed, and tries at the next price."""
        if order.triggered and order.reducing and not order.price:
            order.status, order.tried = "ORDER_STATUS_UNTRIGGERED", self.prospects(order)
            self.log(order)
        else:
            self.cancel(order)

    def match(self, account: Account, order: Order, limit: int) -> list[tuple[int, int]]:
        """Trade at `limit` or better; return the orders that were cut because their margin is gone."""
        market, trimmed, book = self.markets[order.code], [], self.books[order.code, -order.side]
        while order.leaves and book and (book[0].price - limit) * order.side <= 0:
            maker = book[0]
            if maker.name == account.name:  # self-trade: the maker is cancelled
                self.cancel(maker)
                continue
            other, steps = self.accounts[maker.name], min(order.leaves, maker.leaves)
            cover = other.cover(self.holding(other, order.code), maker.side)
            if not self.isolated_fits(other, maker, steps - cover):
                trimmed.append((maker.id, maker.leaves - cover))
                self.cut(maker, maker.leaves - cover)
                continue
            order.leaves, maker.leaves = order.leaves - steps, maker.leaves - steps
            if not maker.leaves:
                self.leave(maker)
            self.last_trade += 1
            market.last, market.trades = maker.price, market.trades + 1
            for each in self.orders.values():  # C6: every trade is seen by triggers of the last price
                if each.code == order.code and each.by == "LAST_PRICE" and self.is_met(each):
                    each.seen = each.seen or (each.trigger, maker.price)
            self.settle(other, maker, maker.price, steps, maker=True)
            self.settle(account, order, maker.price, steps, maker=False)
            if not maker.leaves and maker.id in self.orders:
                self.end(maker)
        self.drop_loose()
        return trimmed

    def drop_loose(self) -> None:
        loose, self.loose = self.loose, []
        for account, code, side in loose:
            self.drop_uncovered(account, code, side)

    def drop_uncovered(self, account: Account, code: int, side: int, besides: Order | None = None) -> None:
        """C1: resting orders that lose their cover are cut, last placed first, until margin covers the rest."""
        held = self.holding(account, code)
        for order in self.resting(account.name, code, side, False):
            excess = steps_of(self.resting(account.name, code, side, False)) - held.legs[-side].size
            if excess > 0 and order is not besides and not self.fits(account, held, side):
                self.cut(order, excess)

    def shrink(self, account: Account, code: int, side: int) -> None:
        """Reduce-only orders beyond the position are cut, last placed first."""
        found = self.resting(account.name, code, side, True)
        excess = steps_of(found) - self.holding(account, code).legs[-side].size
        for order in found:
            excess -= self.cut(order, excess) if excess > 0 else 0

    # Money of a fill

    def settle(self, account: Account, order: Order, price: int, steps: int, maker: bool) -> None:
        """Close what the order closes, open the rest, charge the fees."""
        held, side, code = self.holding(account, order.code), order.side, order.code
        against, into, worth, pnl = held.legs[-side], held.legs[side], price * held.market.unit, 0
        closed, before = min(steps, against.size) if order.closing or not account.hedge else 0, against.value
        opened = steps - closed
        if closed:
            pnl = against.close(closed, closed * worth, -side)
            self.pay(CLEARING, account.name, pnl, "REALIZED_PNL", code, str(order.id))
        if opened:
            into.open(opened, opened * worth, self.last_trade)
        fees = self.charge(account, order, opened * worth, closed * worth, maker)
        if held.isolated and closed:
            self.release(account, held, before - against.value, pnl - fees[1], opened)
        if held.isolated and opened:
            self.assign(account, held, min(held.need(side, opened, opened * worth)[0], self.spare(account)))
        into.fees, against.fees = into.fees + fees[0], against.fees + fees[1]
        order.filled, order.value = order.filled + steps, order.value + steps * worth
        order.fee += fees[0] + fees[1]
        order.status = "FILLED" if order.filled == order.quantity else "PARTIALLY_FILLED"
        self.log(order, price, steps, self.last_trade, 1 if maker else 2, pnl, *fees)
        for other in self.bracket(order.group) if order.group else ():
            if other.group == order.id and opened:  # Bracket: a fill in part arms the exits for that part
                other.cover, other.armed = other.cover + opened, True
            elif order.grouped and other is not order:  # one cancels the other
                self.cancel(other)
        if closed:
            self.after_closing(account, order, against, maker)

    def after_closing(self, account: Account, order: Order, leg: Leg, maker: bool) -> None:
        """Cut what the position no longer covers."""
        if leg.size:
            self.shrink(account, order.code, order.side)
        for other in [] if leg.size else list(self.orders.values()):  # TP/SL: cancelled when the position is gone
            mine = (other.name, other.code, other.side) == (account.name, order.code, order.side)
            if mine and other.id in self.orders and other.reducing and other is not order and other.armed:
                if other.group in self.orders and other.waiting:
                    other.armed, other.cover = False, 0  # its main order may open again
                else:
                    self.cancel(other)
        if not account.hedge and (not maker or order.reduce or order.kind in ("ADL", "LIQUIDATION")):
            self.loose.append((account, order.code, order.side))
