"""The rules of money as plain code: the definition that the venue is held against, with which it shares no code.

Read it in this order: `money` (records and formulas), `margin` (cash, margin, fees), `trading` (orders and fills),
`liquidation`, `venue` (settings, time, triggers). It is written to be read, not to be fast, and the venue agrees with
all of it to the last digit. `wire` reads signed actions into calls of it; `steps`, `driver` and the tests are no part.

Integers are ticks, steps, micro-USDC and milliseconds, everything else is a fraction; a side is 1 (long, buy) or −1.
Who pays is rounded up, who receives is rounded down (Numbers). Comments name the sections of the rules: Numbers,
Prices, Funding, Margin, Liquidation 1 to 5, Order rules, Bracket, and C1 to C15, their clarifications: C1
`check_increase`, `drop_uncovered`; C2 `triggered_bound`, `give_up`; C3 `liquidate`; C4 `need`, `check_increase`; C5
`check_terms`, `replace`; C6 `match`, `fire_due`; C7 `charge`; C8 `unwind`,
`follow_mark`; C9 `check_terms`; C10 `bears`; C11 `close_group`, `cover_loss`; C12 `fire`; C15 `deleverage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil, floor
from statistics import median
from types import SimpleNamespace as Record

DAY_MS = 86_400_000


class Refused(Exception):
    """The rules refuse an action."""


def require(condition: bool, rule: str) -> None:
    if not condition:
        raise Refused(rule)


class Market(Record):
    """A product (`code`, `tick`, `step`, limits, fees), its `tiers` (floor, maintenance rate, leverage), its prices.

    `unit` is the micro-USDC of one tick times one step; `oracle`, `mark` and `last` are the prices in ticks.
    """

    trades = 0
    basis = middles = premiums = ()  # samples, the newest last

    step_value = property(lambda self: self.mark * self.unit)

    def maintenance(self, notional: int) -> int:
        """Margin: N·MMR_n − d_n: what lies above a tier's floor needs the more of its rate than the tier's below."""
        tiers = zip(self.tiers, [(0, 0, 0), *self.tiers], strict=False)
        needs = ((notional - start) * (rate - below) for (start, rate, _), (_, below, _) in tiers if notional > start)
        return ceil(sum(needs))

    def highest_leverage(self, notional: int) -> int:
        return min(most for start, _, most in self.tiers if notional > start or not start)

    def bound(self, side: int, price: int, slippage: Fraction) -> int:
        """Worst price of a market order: price × (1 ± slippage), rounded towards the price; 3 % when it names none."""
        edge = price * (1 + side * (slippage or min(Fraction(3, 100), self.max_slippage)))
        return floor(edge) if side > 0 else ceil(edge)

    def price(self, by: str) -> int:
        return {"LAST_PRICE": self.last, "MARK_PRICE": self.mark, "INDEX_PRICE": self.oracle}[by]

    def sample(self, bid: int, ask: int, lengths: tuple[int, int]) -> None:
        """Prices: the samples of mid − oracle (half ticks) and of the book's median, while the book has both sides."""
        found = (bid + ask - 2 * self.oracle, median((bid, ask, self.last))) if bid and ask else (None, None)
        self.basis, self.middles = [*self.basis, found[0]][-lengths[0] :], [*self.middles, found[1]][-lengths[1] :]

    def set_mark(self, bid: int, ask: int) -> None:
        """Prices: median of oracle + average basis, the book's median and its average; in half ticks, halves up."""
        basis, middles = ([each for each in kept if each is not None] for kept in (self.basis, self.middles))
        found = [2 * self.oracle + (sum(basis) // len(basis) if basis else 0)]
        if bid and ask:
            found += [2 * median((bid, ask, self.last)), *([2 * sum(middles) // len(middles)] if middles else [])]
        self.mark = max(1, (floor(median(map(Fraction, found))) + 1) // 2)

    def premium(self, bids: list[Order], asks: list[Order], margin: int) -> int:
        """Funding: [max(0, impactBid − oracle) − max(0, oracle − impactAsk)] / oracle, in 1e-12."""
        bid, ask = (self.impact(orders, margin * self.tiers[0][2]) or self.oracle for orders in (bids, asks))
        gaps = max(bid - self.oracle, Fraction(0)), max(self.oracle - ask, Fraction(0))
        return floor(gaps[0] * 10**12 / self.oracle) - floor(gaps[1] * 10**12 / self.oracle)

    def impact(self, orders: list[Order], notional: int) -> Fraction:
        """Average price of trading a notional, in ticks to 1e-6; 0 when the book has less."""
        left, steps = Fraction(notional), Fraction(0)
        for order in orders:
            part = min(left, Fraction(order.value_left))
            steps, left = steps + part / (order.price * self.unit), left - part
        return Fraction(0) if left else Fraction(floor(notional / (steps * self.unit) * 10**6), 10**6)

    def funding_rate(self, mean: int) -> Fraction:
        """Funding: {P + clamp(I − P, ±0.05 %)} / (8/N), to the nearest 1e-8, halves up, at most ±2 %."""
        premium, edge, most = Fraction(mean, 10**12), Fraction(5, 10**4), Fraction(2, 100)
        rate = premium + max(-edge, min(edge, Fraction(1, 10**4) - premium))
        exact = floor(rate * self.funding_ms / (8 * 3_600_000) * 10**8 + Fraction(1, 2))
        return max(-most, min(most, Fraction(exact, 10**8)))


class Leg(Record):
    """The long or the short of a position: steps and entry value (Numbers: the value is kept, not the price)."""

    size = value = pnl = fees = funding = 0
    opened = 0  # number of the trade that opened it

    def close(self, steps: int, value: int, side: int) -> int:
        """Numbers: reducing by q of Q realises entryValue·q/Q (floor; the remainder stays)."""
        entry = self.value * steps // self.size
        pnl = side * (value - entry)
        self.size, self.value, self.pnl = self.size - steps, self.value - entry, self.pnl + pnl
        return pnl

    def open(self, steps: int, value: int, trade: int) -> None:
        if not self.size:
            self.opened, self.pnl, self.fees, self.funding = trade, 0, 0, 0
        self.size, self.value = self.size + steps, self.value + value


class Group(Record):
    """A margin group: an isolated position, or all cross positions of an account."""

    next_slice = started = 0  # while it is being liquidated, when the next slice is closed
    marks: dict[int, int] = {}  # the marks at which it was last healthy
    open_legs = property(
        lambda self: [(each, way) for each in self.positions for way in each.legs if each.legs[way].size]
    )


class Account(Group):
    """One account: `name`, `hedge` or one-way, `holdings` by product, `volumes` by day, who `invited` it and whom.

    `balance` is without isolated margins, which are in the holdings; `due` are rebates of today by who paid the fee.
    """

    inviter = ""

    positions = property(lambda self: [held for held in self.holdings.values() if not held.isolated])
    equity = property(lambda self: self.balance + sum(held.unrealized for held in self.positions))  # Margin: cross

    def maintenance(self) -> int:
        return sum(held.maintenance() for held in self.positions)

    def traded(self, time: int) -> int:
        """Value traded on the 30 complete days before today."""
        today = time // DAY_MS
        return sum(value for day, value in self.volumes.items() if today - 30 <= day < today)


class Holding(Group):
    """One `account` in one `market`: `leverage`, the two `legs` by side; `assigned` is its isolated margin."""

    isolated, assigned, traded = False, 0, 0

    size = property(lambda self: self.legs[1].size + self.legs[-1].size)
    net = property(lambda self: self.legs[1].size - self.legs[-1].size)
    notional = property(lambda self: self.size * self.market.step_value)
    unrealized = property(lambda self: self.gain(1) + self.gain(-1))
    equity = property(lambda self: self.assigned + self.unrealized)  # Margin: isolated
    positions = property(lambda self: [self])
    group = property(lambda self: self if self.isolated else self.account)

    def gain(self, side: int) -> int:
        """Unrealised PnL of a leg."""
        return side * (self.legs[side].size * self.market.step_value - self.legs[side].value)

    def cover(self, side: int) -> int:
        """C1: how many steps an order without reduce-only closes before it opens anything."""
        return 0 if self.account.hedge else self.legs[-side].size

    def maintenance(self, side: int = 0, more: int = 0) -> int:
        """Maintenance margin of both legs, with so many steps more of a side."""
        steps = [leg.size + more * (way == side) for way, leg in self.legs.items()]
        return sum(self.market.maintenance(each * self.market.step_value) for each in steps if each)

    def initial(self, notional: int) -> int:
        """Margin: notional / leverage, rounded up."""
        return ceil(notional / self.leverage)

    def need(self, side: int, steps: int, value: int) -> tuple[int, int]:
        """C4: what opening takes from the balance, initial margin and loss against mark; and that loss."""
        at_mark = steps * self.market.step_value
        loss = max(0, side * (value - at_mark))
        return self.initial(value if side > 0 else at_mark) + loss, loss


class Order(Record):
    """An order, `place` its place in time while it rests in the book; one with a `group` is of that order's bracket."""

    id = place = leaves = filled = value = fee = group = cover = trigger = client_id = parent = price = seen = 0
    by = builder = reduce = tried = ""
    slippage = builder_rate = exact_fee = Fraction(0)
    status, armed, triggered, closing, up, whole, spent = "NEW", True, False, False, False, False, False

    account = property(lambda self: self.held.account)
    market = property(lambda self: self.held.market)
    value_left = property(lambda self: self.price * self.leaves * self.market.unit)
    reducing = property(lambda self: bool(self.reduce) or self.closing)
    exit = property(lambda self: self.reduce.endswith("FROM_POSITION"))
    grouped = property(lambda self: self.group not in (0, self.id))  # an exit of a bracket
    waiting = property(lambda self: self.status == "ORDER_STATUS_UNTRIGGERED")
    closable = property(lambda self: self.held.legs[-self.side].size if self.account.hedge == self.closing else 0)

    def met_at(self, price: int) -> bool:
        return price >= self.trigger if self.up else price <= self.trigger


def parts(orders: Iterable[Order], steps: int) -> Iterator[tuple[int, Order]]:
    """Divide steps among orders, in turn."""
    for order in orders:
        part = max(0, min(order.leaves, steps))
        steps -= part
        yield part, order


def steps_of(orders: Iterable[Order]) -> int:
    return sum(each.leaves for each in orders)
