"""The rules of money as plain code: the definition that the venue is held against, with which it shares no code.

Read it in this order: `money` (records and formulas), `margin` (cash, margin, fees), `trading` (orders and fills),
`liquidation`, `venue` (settings, time, triggers). It is written to be read, not to be fast, and it is as long as the
rules: hedge and one-way, cross and isolated, brackets and waiting exits each change what an order may do, and the venue
agrees with all of it to the last digit. `wire` reads signed actions into calls of it; `steps`, `driver` and the tests
are no part of it.

Integers are ticks, steps, micro-USDC and milliseconds, everything else is a fraction; a side is 1 (long, buy) or −1.
Who pays is rounded up, who receives is rounded down (Numbers). Comments name the sections of the rules: Numbers,
Prices, Funding, Margin, Liquidation 1 to 5, Order rules, Bracket, and C1 to C9, their clarifications: C1
`check_increase`, `drop_uncovered`; C2 `triggered_bound`, `give_up`; C3 `liquidate`; C4 `need`, `check_increase`; C5
`check_terms`, `holds_less`; C6 `match`, `run_triggers`; C7 `charge`; C8 `unwind`, `follow_mark`; C9 `check_terms`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from statistics import median
from types import SimpleNamespace

DAY_MS = 86_400_000


class Refused(Exception):
    """The rules refuse an action."""


class Market(SimpleNamespace):
    """A product (`code`, `tick`, `step`, limits, fees), its `tiers` (floor, maintenance rate, leverage), its prices.

    `unit` is the micro-USDC of one tick times one step; `oracle`, `mark` and `last` are the prices in ticks.
    """

    trades = 0
    basis = middles = premiums = ()  # samples, the newest last

    @property
    def step_value(self) -> int:
        return self.mark * self.unit

    def maintenance(self, notional: int) -> int:
        """Margin: N·MMR_n − d_n: what lies above a tier's floor needs the more of its rate than the tier's below."""
        need = below = Fraction(0)
        for start, rate, _ in self.tiers:
            if notional > start:
                need, below = need + (notional - start) * (rate - below), rate
        return ceil(need)

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
        both, (basis, middles) = bool(bid and ask), lengths
        self.basis = [*self.basis, bid + ask - 2 * self.oracle if both else None][-basis:]
        self.middles = [*self.middles, median((bid, ask, self.last)) if both else None][-middles:]

    def set_mark(self, bid: int, ask: int) -> None:
        """Prices: median of oracle + average basis, the book's median and its average; in half ticks, halves up."""
        basis, middles = ([each for each in kept if each is not None] for kept in (self.basis, self.middles))
        found = [2 * self.oracle + (sum(basis) // len(basis) if basis else 0)]
        if bid and ask:
            found.append(2 * median((bid, ask, self.last)))
            found += [2 * sum(middles) // len(middles)] if middles else []
        self.mark = max(1, (floor(median(map(Fraction, found))) + 1) // 2)

    def premium(self, bids: list[tuple[int, int]], asks: list[tuple[int, int]], margin: int) -> int:
        """Funding: [max(0, impactBid − oracle) − max(0, oracle − impactAsk)] / oracle, in 1e-12."""
        bid, ask = (self.impact(levels, margin * self.tiers[0][2]) for levels in (bids, asks))
        above, below = max(bid - self.oracle, Fraction(0)), max(self.oracle - (ask or self.oracle), Fraction(0))
        return floor(above * 10**12 / self.oracle) - floor(below * 10**12 / self.oracle)

    def impact(self, levels: list[tuple[int, int]], notional: int) -> Fraction:
        """Average price of trading a notional, in ticks to 1e-6; 0 when the book has less."""
        left, steps = Fraction(notional), Fraction(0)
        for price, there in levels:
            part = min(left, Fraction(price * there * self.unit))
            steps, left = steps + part / (price * self.unit), left - part
            if not left:
                return Fraction(floor(notional / (steps * self.unit) * 10**6), 10**6)
        return Fraction(0)

    def funding_rate(self, mean: int) -> Fraction:
        """Funding: {P + clamp(I − P, ±0.05 %)} / (8/N), to the nearest 1e-8, halves up, at most ±2 %."""
        premium, edge, most = Fraction(mean, 10**12), Fraction(5, 10**4), Fraction(2, 100)
        rate = premium + max(-edge, min(edge, Fraction(1, 10**4) - premium))
        exact = floor(rate * self.funding_ms / (8 * 3_600_000) * 10**8 + Fraction(1, 2))
        return max(-most, min(most, Fraction(exact, 10**8)))


@dataclass
class Leg:
    """The long or the short of a position: steps and entry value (Numbers: the value is kept, not the price)."""

    size: int = 0
    value: int = 0
    opened: int = 0  # number of the trade that opened it
    pnl: int = 0
    fees: int = 0
    funding: int = 0

    def close(self, steps: int, value: int, side: int) -> int:
        """Numbers: reducing by q of Q realises entryValue·q/Q (floor; the remainder stays)."""
        entry = self.value * steps // self.size
        self.size, self.value, pnl = self.size - steps, self.value - entry, side * (value - entry)
        self.pnl += pnl
        return pnl

    def open(self, steps: int, value: int, trade: int) -> None:
        if not self.size:
            self.opened, self.pnl, self.fees, self.funding = trade, 0, 0, 0
        self.size, self.value = self.size + steps, self.value + value


@dataclass
class Holding:
    """One account in one product; `assigned` is its isolated margin."""

    market: Market
    leverage: Fraction
    isolated: bool = False
    assigned: int = 0
    legs: dict[int, Leg] = field(default_factory=lambda: {1: Leg(), -1: Leg()})

    @property
    def size(self) -> int:
        return self.legs[1].size + self.legs[-1].size

    @property
    def notional(self) -> int:
        return self.size * self.market.step_value

    @property
    def unrealized(self) -> int:
        return sum(side * (leg.size * self.market.step_value - leg.value) for side, leg in self.legs.items())

    @property
    def equity(self) -> int:
        """Margin: isolated equity = assigned margin + its unrealised PnL."""
        return self.assigned + self.unrealized

    def maintenance(self, side: int = 0, more: int = 0) -> int:
        """Maintenance margin of both legs, with so many steps more of a side."""
        steps = [leg.size + more * (way == side) for way, leg in self.legs.items()]
        return sum(self.market.maintenance(each * self.market.step_value) for each in steps)

    def initial(self, notional: int) -> int:
        """Margin: notional / leverage, rounded up."""
        return ceil(notional / self.leverage)

    def need(self, side: int, steps: int, value: int) -> tuple[int, int]:
        """C4: what opening takes from the balance, initial margin and loss against mark; and that loss."""
        at_mark = steps * self.market.step_value
        loss = max(0, side * (value - at_mark))
        return self.initial(value if side > 0 else at_mark) + loss, loss


@dataclass
class Account:
    """One account; `balance` without isolated margins, which are in the holdings."""

    name: str
    balance: int = 0
    hedge: bool = False
    holdings: dict[int, Holding] = field(default_factory=dict)
    volumes: dict[int, int] = field(default_factory=dict)  # by day
    inviter: str = ""
    invited: list[str] = field(default_factory=list)
    due: dict[str, int] = field(default_factory=dict)  # rebates of today, by who paid the fee

    def traded(self, time: int) -> int:
        """Value traded on the 30 complete days before today."""
        today = time // DAY_MS
        return sum(value for day, value in self.volumes.items() if today - 30 <= day < today)

    def cover(self, held: Holding, side: int) -> int:
        """C1: how many steps an order without reduce-only closes before it opens anything."""
        return 0 if self.hedge else held.legs[-side].size


class Order(SimpleNamespace):
    """An order, `place` its place in time while it rests in the book; one with a `group` is of that order's bracket."""

    id = place = leaves = filled = value = fee = group = cover = trigger = client_id = parent = 0
    by = builder = ""
    slippage = builder_rate = exact_fee = Fraction(0)
    status, armed, triggered = "NEW", True, False
    seen = tried = ()

    @property
    def reducing(self) -> bool:
        return bool(self.reduce) or self.closing

    @property
    def exit(self) -> bool:
        return bool(self.reduce.endswith("FROM_POSITION"))

    @property
    def waiting(self) -> bool:
        return self.status == "ORDER_STATUS_UNTRIGGERED"

    @property
    def grouped(self) -> bool:
        """Whether it is an exit of a bracket."""
        return self.group not in (0, self.id)
