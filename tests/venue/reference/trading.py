"""Orders from acceptance to their end: the order rules, matching, fills, brackets."""

from __future__ import annotations

import pickle
from math import ceil, floor
from typing import Any

from tests.venue.reference.margin import CLEARING, Margin
from tests.venue.reference.money import Holding, Market, Order, Refused, parts, require, steps_of

RESTS = ("GTC", "POST_ONLY")


class Trading(Margin):
    """What accounts order, and what becomes of it."""

    def would_match(self, order: Order) -> bool:
        return bool(self.offers(order, order.price))

    def triggered_bound(self, order: Order, price: int) -> int:
        """C2: from the price that triggered it or the last trade, whichever is further in its direction."""
        furthest = (max if order.side > 0 else min)(price, order.market.last)
        return order.market.bound(order.side, furthest, order.slippage)

    def prospects(self, order: Order) -> tuple[int, ...]:
        """C2: it tries again at every trade and new price, and when somebody offers within its bound."""
        market = order.market
        offered = self.offers(order, self.triggered_bound(order, market.price(order.by)))
        others = [each for each in offered if each.account is not order.account]  # C12: its own is no offer
        return market.trades, market.mark, market.oracle, steps_of(others)

    def log(self, order: Order, *fill: int) -> None:
        """Record an order event, with the numbers of a fill."""
        terms = (order.status, order.kind, order.price, order.quantity, order.leaves, order.trigger)
        self.events.append((order.account.name, order.id, *terms, *(fill or (0,) * 8)))

    # Order rules: acceptance

    def check_terms(self, order: Order, entry: int = 0, filled: int = 0) -> None:
        """Apply the rules of its product; its trigger is held against `entry` or the market; `filled` is done."""
        market = order.market
        require(not order.by or not order.met_at(entry or market.price(order.by)), "the trigger is met already")
        if order.kind.endswith("MARKET"):
            require(order.tif != "POST_ONLY" and (order.tif != "GTC" or order.kind != "MARKET"), "market timeInForce")
        else:
            require(order.price * 10 >= market.mark, "price band")
            meets = order.tif == "POST_ONLY" and not order.trigger and self.would_match(order)
            require(not meets, "POST_ONLY would match")
        require(order.quantity <= market.max_steps, "maxOrderQty")
        require(order.quantity > 0 or order.exit, "quantity 0 is for TP and SL from position")
        require(order.slippage <= market.max_slippage, "C9: maxSlippagePct")
        left = order.quantity - filled  # C5: what is left to fill counts; an exit of the whole position is exempt
        exempt = order.reducing or left <= 0 or left == order.held.cover(order.side)
        value = (order.price or order.trigger or market.last) * left * market.unit
        require(exempt or value >= market.min_value, "minOrderValue")

    def require_value(self, market: Market, price: int, steps: int, exempt: bool) -> None:
        """Reduce-only is exempt from minOrderValue if it closes the whole rest."""
        require(exempt or price * steps * market.unit >= market.min_value, "minOrderValue of an exit")

    def fit(self, order: Order, price: int) -> None:
        """Reduce-only: never opens or flips."""
        free = order.closable
        require(not order.account.hedge or order.closing, "BUY and SELL can't reduce in hedge mode")
        require(free > 0, "no position to reduce")
        if not order.trigger:
            if order.tif in RESTS and (order.tif == "POST_ONLY" or not self.would_match(order)):
                free -= steps_of(self.resting(order.held, order.side, True))
                require(free > 0, "reduce-only orders cover the position already")
            require(order.tif != "FOK" or order.leaves <= free, "FOK above the position")
            order.leaves = min(order.leaves, free)
        self.require_value(order.market, price, order.leaves, exempt=not 0 < order.leaves < free)

    def accept(self, order: Order, refused: bool = False) -> Order:
        self.last_order = order.id = self.last_order + 1
        order.status = "REJECTED" if refused else "ORDER_STATUS_UNTRIGGERED" if order.trigger else "NEW"
        if not refused:
            self.orders[order.id] = order
        self.log(order)
        return order

    def place(self, order: Order, *exits: Order) -> bool:
        """Place an order, with its exits or as an exit of one that is open; a refused one changes nothing."""
        main = self.orders.get(order.parent, order)
        if main is order or main.account is not order.account or main.reducing or not order.exit:
            main, placed = order, (order, *exits)
        else:
            exits = placed = (order,)
        price = order.price or order.market.last
        limit = order.price or order.market.bound(order.side, price, order.slippage)
        try:
            require(order.account.hedge or not order.closing, "close sides are for hedge mode")
            if main is order:
                self.check_terms(order)
                require(not (exits and order.reducing), "the main order of a bracket opens")
                if order.reducing:
                    self.fit(order, order.trigger or price)
                elif not order.trigger:  # Margin: a waiting trigger holds no margin
                    self.check_increase(order, limit)
            for child in exits:
                self.check_child(main, child)
            kinds = [each.reduce for each in (*self.bracket(main.id), *exits)]
            require(len(set(kinds)) == len(kinds), "one TP and one SL")
            own = [each for each in (*self.orders.values(), *placed) if each.account is order.account]
            ids = [each.client_id for each in own if each.client_id]
            require(len(set(ids)) == len(ids), "clOrdId in use")
        except Refused:
            for each in placed:
                each.leaves = 0
                self.accept(each, refused=True)
            return False
        for each in placed:
            if each is not main:
                main.group = each.group = each.parent = main.id
                each.cover = self.opened(main)
                each.armed = each.cover > 0
            self.accept(each)
        if main is order and not order.trigger:
            self.process(order, limit)
        return True

    def check_child(self, main: Order, child: Order) -> None:
        """Bracket: the exits are against their main order, and wait for it."""
        self.check_terms(child, 0 if self.opened(main) else main.price or main.trigger)
        against = child.side == -main.side and child.market is main.market
        require(child.exit and against, "an exit is against its main order")
        require(child.quantity <= main.quantity, "an exit larger than its main order")
        require(child.closing == main.account.hedge, "side of an exit")
        whole = not 0 < child.quantity < main.quantity
        self.require_value(main.market, child.trigger, child.quantity, whole)

    def bracket(self, group: int) -> list[Order]:
        return [each for each in self.orders.values() if each.group == group and each.grouped]

    def opened(self, main: Order) -> int:
        return min(main.filled, main.held.legs[main.side].size)

    # Order rules: cancel and replace

    def find(self, held: Holding, number: int) -> Order:
        require(number in self.orders and self.orders[number].held is held, "unknown order")
        return self.orders[number]

    def cancel(self, order: Order) -> None:
        order.leaves = 0
        self.end(order, "CANCELED")

    def end(self, order: Order, status: str = "") -> None:
        order.status = status or ("FILLED" if order.filled == order.quantity else "CANCELED")
        del self.orders[order.id]
        if order.status != "FILLED":  # the last fill was recorded already
            self.log(order)
        for child in self.bracket(order.id):
            if not child.armed:  # Bracket: children that no fill has armed go with the parent
                self.cancel(child)

    def cut(self, order: Order, steps: int) -> None:
        """Take steps from a resting order, which keeps its place, or cancel it."""
        if steps >= order.leaves:
            self.cancel(order)
        elif steps > 0:
            order.leaves -= steps
            self.log(order)

    def replace(self, order: Order, new: Order) -> None:
        """Replace: side, kind and option stay, the quantity is the new total, of which `left` is still to fill."""
        market, main = order.market, self.orders.get(order.group) if order.grouped else None
        if order.triggered:
            require(not order.waiting, "an exit that tries again can't be replaced")
            new.trigger, new.by, main = 0, "", None
        waits_for = main if main is not None and not order.armed else None
        self.check_terms(new, (waits_for.price or waits_for.trigger) if waits_for is not None else 0, order.filled)
        kinds = [(each.side, each.closing, each.kind, each.reduce, each.by) for each in (order, new)]
        require(kinds[0][:4] == kinds[1][:4] and (not order.waiting or order.by == new.by), "the same kind")
        left, moved = new.quantity - order.filled, new.price != order.price
        if order.waiting:
            require(main is None or new.quantity <= main.quantity, "an exit larger than its main order")
            whole = main.quantity if main is not None else order.closable if order.reducing else 0
            self.require_value(market, new.trigger, new.quantity, exempt=not 0 < new.quantity < whole)
            order.trigger, order.up, order.slippage = new.trigger, new.up, new.slippage
            self.amend(order, new, left)
            return
        require(new.tif in RESTS, "timeInForce of an open order")
        require(left > 0, "above what has filled")
        if not moved and left <= order.leaves:  # only so it keeps its place
            self.require_value(market, new.price, left, not order.reducing or left == order.leaves)
            self.amend(order, new, left)
            return
        # C5: moving an opening order away from the market, or shrinking it, is never refused for margin
        away, smaller = (new.price - order.price) * order.side <= 0, left * new.price <= order.leaves * order.price
        less = left <= order.leaves and not order.reducing and (away or (smaller and not self.would_match(new)))
        order.place, new.leaves, new.builder_rate = 0, left, order.builder_rate  # it doesn't count against itself
        if order.reducing:
            self.fit(new, new.price)
        else:
            self.check_increase(new, new.price, only_size=less)
        self.amend(order, new, new.leaves)
        if less:
            self.rest(order)
        else:
            self.process(order, new.price)

    def amend(self, order: Order, new: Order, left: int) -> None:
        order.price, order.quantity, order.tif, order.leaves = new.price, new.quantity, new.tif, left
        self.log(order)

    # Order rules: matching

    def process(self, order: Order, limit: int) -> None:
        """Price-time priority; GTC and POST_ONLY rest, the others end; FOK fills whole or not at all."""
        if order.tif == "FOK":
            trial: Any = pickle.loads(pickle.dumps(self))
            trimmed = trial.match(trial.orders[order.id], limit)
            if trial.orders[order.id].leaves:
                self.give_up(order)
                return
            for maker, steps in trimmed:
                self.cut(self.orders[maker], steps)
        covered, order.spent = order.held.cover(order.side), False
        self.match(order, limit)
        if not order.leaves:
            self.end(order)
        elif order.price and order.tif in RESTS and not order.spent:
            self.rest(order)
            if order.reducing:
                self.shrink(order.held, order.side)
            elif covered:  # C1: older ones may have lost their cover to it
                self.drop_uncovered(order.held, order.side, order)
        else:
            self.give_up(order)

    def rest(self, order: Order) -> None:
        self.last_place = order.place = self.last_place + 1

    def give_up(self, order: Order) -> None:
        """IOC and MARKET cancel the rest; C2: a triggered market exit stays armed, and tries at the next price."""
        if order.triggered and order.reducing and not order.price:
            order.status, order.tried = "ORDER_STATUS_UNTRIGGERED", self.prospects(order)
            self.log(order)
        else:
            self.cancel(order)

    def match(self, order: Order, limit: int) -> list[tuple[int, int]]:
        """Trade at `limit` or better; cut what would open without margin, and return these orders and their steps."""
        market, trimmed = order.market, []
        while order.leaves and (offers := self.offers(order, limit)):
            maker, steps = offers[0], min(order.leaves, offers[0].leaves)
            cover = maker.held.cover(maker.side)
            if maker.account is order.account:  # self-trade: the maker is cancelled
                self.cancel(maker)
                continue
            steps = self.bears(order, steps, maker.price, maker=False)
            order.spent = not steps
            if order.spent:
                break
            fits = steps if self.isolated_fits(maker, steps - cover) else cover
            fits = self.bears(maker, fits, maker.price, maker=True)
            if fits < steps:
                trimmed.append((maker.id, maker.leaves - fits))
                self.cut(maker, maker.leaves - fits)
                continue
            order.leaves, maker.leaves = order.leaves - steps, maker.leaves - steps
            if not maker.leaves:
                maker.place = 0
            self.last_trade += 1
            market.last, market.trades = maker.price, market.trades + 1
            for each in self.orders.values():  # C6: every trade is seen by triggers of the last price
                mine = each.market is market and each.by == "LAST_PRICE" and each.waiting and each.armed
                if mine and not each.triggered and not each.seen and each.met_at(maker.price):
                    each.seen = maker.price
            self.settle(maker, maker.price, steps, maker=True)
            self.settle(order, maker.price, steps, maker=False)
            if not maker.leaves and maker.id in self.orders:
                self.end(maker)
        self.drop_loose()
        return trimmed

    def bears(self, order: Order, steps: int, price: int, maker: bool) -> int:
        """C10: no fill makes a debt; what closes trades at the leg's bankruptcy price or better."""
        held, side, market, account = order.held, order.side, order.market, order.account
        closes = order.held.legs[-side].size if order.closing or not account.hedge else 0
        rate = self.rates(held)[0 if maker else 1] + order.builder_rate
        lost = side * (price - market.mark) * market.unit
        each = lost + price * market.unit * rate
        means = account.equity if not held.isolated else held.equity if closes else self.spare(account)
        means -= bool(order.builder_rate)  # each of the two fees is rounded up
        if closes and lost * closes > max(0, means):
            return 0

        def most(number: int, means: int) -> int:
            return number if each <= 0 else min(number, floor(max(0, means) / each))

        if not held.isolated or not closes or steps <= closes:
            return most(steps, means)
        if most(closes, means) < closes:
            return most(closes, means)
        freed = means - lost * closes - ceil(closes * price * market.unit * rate)
        return closes + most(steps - closes, self.spare(account, freed))

    def drop_loose(self) -> None:
        loose, self.loose = self.loose, []
        for held, side in loose:
            self.drop_uncovered(held, side)

    def drop_uncovered(self, held: Holding, side: int, besides: Order | None = None) -> None:
        """C1: resting orders that lose their cover are cut, last placed first, until margin covers the rest."""
        for order in self.resting(held, side):
            if order is not besides and not self.fits(held, side):
                self.cut(order, steps_of(self.resting(held, side)) - held.legs[-side].size)

    def shrink(self, held: Holding, side: int) -> None:
        """Reduce-only orders beyond the position are cut, last placed first."""
        found = self.resting(held, side, True)
        for part, order in parts(found, steps_of(found) - held.legs[-side].size):
            self.cut(order, part)

    # Money of a fill

    def settle(self, order: Order, price: int, steps: int, maker: bool) -> None:
        """Close what the order closes, open the rest, charge the fees."""
        account, held, side, code = order.account, order.held, order.side, order.market.code
        against, into, worth, pnl = held.legs[-side], held.legs[side], price * order.market.unit, 0
        closed, before = min(steps, against.size) if order.closing or not account.hedge else 0, against.value
        opened = steps - closed
        if closed:
            pnl = against.close(closed, closed * worth, -side)
            self.pay(CLEARING, account.name, pnl, "REALIZED_PNL", code, str(order.id))
        if opened:
            into.open(opened, opened * worth, self.last_trade)
        fees = self.charge(order, opened * worth, closed * worth, maker)
        if held.isolated and closed:
            self.release(held, before - against.value, pnl - fees[1] - fees[2], opened)
        if held.isolated and opened:
            self.assign(held, min(held.need(side, opened, opened * worth)[0], self.spare(account)))
        into.fees, against.fees = into.fees + fees[0], against.fees + fees[1]
        order.filled, order.value = order.filled + steps, order.value + steps * worth
        order.fee += fees[0] + fees[1]
        if order.kind not in ("ADL", "LIQUIDATION"):
            held.traded = self.time
        order.status = "FILLED" if order.filled == order.quantity else "PARTIALLY_FILLED"
        self.log(order, price, steps, self.last_trade, 1 if maker else 2, pnl, *fees)
        for other in self.bracket(order.group):
            if other.group == order.id and opened:  # Bracket: a fill in part arms the exits for that part
                other.cover, other.armed = other.cover + opened, True
            elif order.grouped and other is not order:  # one cancels the other
                self.cancel(other)
        if closed:
            self.after_closing(order, maker)

    def after_closing(self, order: Order, maker: bool) -> None:
        """Cut what the position no longer covers; TP/SL: cancelled when the position is gone."""
        held, side = order.held, order.side
        if held.legs[-side].size:
            self.shrink(held, side)
        for other in [] if held.legs[-side].size else list(self.orders.values()):
            if other.held is held and other.side == side and other.reducing and other is not order and other.armed:
                if other.group in self.orders and other.waiting:
                    other.armed, other.cover = False, 0  # its main order may open again
                else:
                    self.cancel(other)
        if not order.account.hedge and (not maker or order.reduce or order.kind in ("ADL", "LIQUIDATION")):
            self.loose.append((held, side))
