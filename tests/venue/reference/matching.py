"""Matching and what follows from a fill: positions, reduce-only orders, brackets."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from fractions import Fraction

from .books import DAY, Account, Event, Leg, Order, Position, Product, down, ladder, up
from .money import CLEARING, FEES, Money


class Matching(Money):
    """The book of each product, and the settlement of trades."""

    trimmed: list[tuple[Order, int]]
    """Resting orders that were cut because they could not trade more, with the steps that they kept."""
    queue = 0
    execs = 0

    live: dict[int, Order]
    """Orders that wait or rest, by id."""

    def enter(self, order: Order) -> None:
        self.orders[order.id] = self.live[order.id] = order.account.orders[order.id] = order

    def leave(self, order: Order) -> None:
        self.live.pop(order.id, None)
        order.account.orders.pop(order.id, None)

    # the book

    def book(self, product: Product, side: int) -> list[Order]:
        found = (o for o in self.live.values() if o.product is product and o.resting)
        return ladder(found, side)

    def best(self, product: Product, side: int) -> int:
        orders = self.book(product, side)
        return orders[0].price if orders else 0

    def offers(self, order: Order, limit: int) -> list[Order]:
        """Return what an order meets within its limit, best first."""
        return [o for o in self.book(order.product, -order.side) if order.side * (limit - o.price) >= 0]

    # events

    def log(
        self, order: Order, price: int = 0, steps: int = 0, number: int = 0, pnl: int = 0,
        fees: tuple[int, int, int] = (0, 0, 0), role: str = "",
    ) -> None:  # fmt: skip
        order.changed = self.time
        terms = order.position.long.term, order.position.short.term
        self.events.append(Event(copy(order), self.time, price, steps, number, pnl, fees, role, terms))

    def end(self, order: Order, status: str = "CANCELED") -> None:
        """Take an order out. Order rules: children go with the parent if it is cancelled unfilled."""
        if order.open:
            order.status, order.leaves, order.place = status, 0, 0
            self.leave(order)
            self.log(order)
            self.main_ended(order)

    def cut(self, order: Order, steps: int) -> None:
        """Cut an order to so many open steps; the rest counts as cancelled."""
        if steps <= 0:
            self.end(order)
        elif steps < order.leaves:
            order.leaves = steps
            self.log(order)

    # matching

    def match(self, order: Order, limit: int) -> None:
        """Trade an order with the book up to its limit, in price-time order. A maker keeps its price."""
        while order.leaves and (offers := self.offers(order, limit)):
            maker = offers[0]
            if self.owner(maker.account) == self.owner(order.account):  # the maker is cancelled, the taker goes on
                self.end(maker)
                continue
            # assumptions, Money: the taker's means are looked at first, the maker's for what the taker can trade
            steps = self.bearable(order, maker.price, min(order.leaves, maker.leaves), taker=True)
            if not steps:
                order.stopped = True
                break
            can = self.bearable(maker, maker.price, steps)
            if can < steps:
                self.trimmed.append((maker, can))
                self.cut(maker, can)
            if can:
                self.trade(order, maker, can)
        self.drop_loose()

    def trade(self, taker: Order, maker: Order, steps: int) -> None:
        self.execs += 1
        product, price, number = taker.product, maker.price, self.execs
        product.trades.append((self.time, taker.side, price, steps))
        self.settle(maker, price, steps, number, "MAKER")
        self.settle(taker, price, steps, number, "TAKER")
        self.finish(maker)

    def finish(self, order: Order) -> None:
        """End an order that has nothing left. What was cut before counts as cancelled."""
        if order.status == "FILLED":
            self.main_ended(order)
        elif not order.leaves:
            self.end(order)

    def settle(self, order: Order, price: int, steps: int, number: int, role: str, free: bool = False) -> None:
        """Book one side of a trade: position, fees, cash, events, and what follows from them; `free`: off the book."""
        position, product = order.position, order.product
        against = position.leg(-order.side)
        closed = min(steps, against.size) if order.closing or not position.account.hedge else 0
        opened, pnl = steps - closed, 0
        value = product.value(price, steps)
        order.filled, order.leaves, order.value = order.filled + steps, order.leaves - steps, order.value + value
        order.account.volumes[self.time // DAY] += value
        total, held = position.long.value + position.short.value, against.value
        if closed:
            pnl = self.close_leg(order, closed, product.value(price, closed))
        entry = held - against.value
        if opened:
            self.open_leg(position, order.side, opened, product.value(price, opened))
        before, fees = (entry, total, position.assigned), (0, 0, 0)
        if not free:
            position.changed, exact = self.time, order.exact_fee
            fees = self.charge(order, product.value(price, closed), product.value(price, opened), role == "MAKER")
            self.book_fees(order, fees, closed and -order.side, opened and order.side, exact, value)
        if position.isolated:
            self.isolated_after(position, order, closed, opened, price, pnl - fees[0] - fees[2], before)
        order.status = "FILLED" if order.filled == order.quantity else "PARTIALLY_FILLED"
        if order.status == "FILLED":
            order.place = 0
            self.leave(order)
        self.log(order, price, steps, number, pnl, fees, role)
        self.followed(order, closed, opened, role == "TAKER")

    def close_leg(self, order: Order, steps: int, value: int) -> int:
        """Numbers: reducing by q of Q realises entryValue·q/Q (floor; the remainder stays with the position)."""
        position, side = order.position, -order.side
        leg = position.leg(side)
        entry = down(Fraction(leg.value * steps, leg.size))
        pnl = side * (value - entry)
        leg.size, leg.value, leg.pnl = leg.size - steps, leg.value - entry, leg.pnl + pnl
        leg.closed, position.pnl = leg.closed + steps, position.pnl + pnl
        code, address = position.product.code, position.account.address
        self.pay("REALIZED_PNL", CLEARING, address, pnl, product=code, reference=order.id)
        return pnl

    def open_leg(self, position: Position, side: int, steps: int, value: int) -> None:
        leg = position.leg(side)
        if not leg.size:
            leg = Leg(term=leg.term + 1, opened=self.time, by=self.execs)
            setattr(position, "long" if side > 0 else "short", leg)
        leg.size, leg.value = leg.size + steps, leg.value + value

    def book_fees(
        self, order: Order, fees: tuple[int, int, int], closing: int, opening: int, before: Fraction, value: int
    ) -> None:  # fmt: skip
        position, address = order.position, order.account.address
        for part, side in ((fees[0], closing), (fees[1], opening)):
            if side:
                position.leg(side).fees += part
            position.fees += part
        code, number = order.product.code, order.id
        received = down(order.exact_fee - before)
        self.pay("TRADING_FEE", address, FEES, fees[0] + fees[1], received, product=code, reference=number)
        self.rebate(order.account, fees[0] + fees[1], order)
        if order.builder:
            received = down(value * order.builder_rate)
            self.pay("BUILDER_FEE", address, order.builder, fees[2], received, product=code, reference=number)

    # isolated margin

    def spare(self, account: Account, brought: int = 0) -> int:
        """Assumptions, Money: what the balance can spare keeps the cross positions at a ratio of 95 %."""
        return max(0, account.equity + brought - up(Fraction(account.maintenance) / self.settings.stop))

    def taken_along(self, position: Position, side: int, steps: int, price: int) -> int:
        """Assumptions, Money: what opens takes its initial margin, and its loss against mark, along."""
        product = position.product
        at_mark, at_price = product.value(product.mark, steps), product.value(price, steps)
        margin = at_price if side > 0 else at_mark
        return position.initial(margin) + max(0, side * (at_price - at_mark))

    def isolated_after(
        self, position: Position, order: Order, closed: int, opened: int, price: int, gained: int,
        before: tuple[int, int, int],
    ) -> None:  # fmt: skip
        """Move isolated margin after a fill.

        Assumptions, Money: what closes gives its share back as far as the rest keeps its initial margin; while
        something is left losses are paid by the position's margin alone; when all is closed the balance pays.
        """
        amount = 0
        if closed:
            entry, total, assigned = before
            if position.size == opened:
                amount -= position.assigned
            else:
                # the share follows the entry value; a loss with its fee comes out of it, or of the margin, and a gain
                # stays as far as the rest lacks initial margin
                kept = position.initial(position.notional(1) + position.notional(-1))
                share = down(Fraction(assigned * entry, total))
                amount -= max(-gained, min(share, assigned + position.gain - kept))
        self.assign(position, amount)
        if opened:
            need = self.taken_along(position, order.side, opened, price)
            self.assign(position, min(need, self.spare(order.account)))

    @abstractmethod
    def owner(self, account: Account) -> str:
        """Return the account whose orders never trade with each other: ruling 21, the leader of a vault."""

    @abstractmethod
    def bearable(self, order: Order, price: int, steps: int, taker: bool = False) -> int:
        """Return how many steps of a fill the account can bear (see the rules in `rules`)."""

    # what follows from a fill

    @abstractmethod
    def followed(self, order: Order, closed: int, opened: int, taker: bool) -> None:
        """Do what follows from a fill: closed positions, exits of brackets."""

    @abstractmethod
    def drop_loose(self) -> None:
        """End orders that have lost what they need."""

    @abstractmethod
    def main_ended(self, order: Order) -> None:
        """End or release the exits of a main order that has ended."""
