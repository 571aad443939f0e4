"""Records and formulas of the reference. Integers are ticks, steps, micro-USDC and ms; everything else is a fraction.

It is the definition that the engine is held against, and shares no code with it. Comments name the sections of the risk
rules; C1 to C9 are their clarifications. Rounding (Numbers): who pays is rounded up, who receives is rounded down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

DAY_MS = 86_400_000
NETWORK = ((0, 10), (1_000_000, 15), (5_000_000, 20), (25_000_000, 25), (100_000_000, 30), (500_000_000, 35))
"""Volume of a network in USDC → the inviter's part of the fees, per cent."""


class Refused(Exception):
    """The rules refuse an action."""


@dataclass
class Market:
    """One product with its prices."""

    code: int
    tick: Fraction
    step: Fraction
    unit: int
    """Micro-USDC of one tick times one step."""
    tiers: list[tuple[int, Fraction, int]]
    """(floor, maintenance rate, highest leverage)"""
    max_notional: int
    min_value: int
    max_steps: int
    max_slippage: Fraction
    maker: Fraction
    taker: Fraction
    funding_ms: int
    oracle: int
    mark: int
    last: int
    trades: int = 0
    basis: list[int | None] = field(default_factory=list)
    middles: list[int | None] = field(default_factory=list)
    premiums: list[int] = field(default_factory=list)

    @property
    def step_value(self) -> int:
        return self.mark * self.unit

    def maintenance(self, notional: int) -> int:
        """Margin: N·MMR_n − d_n, d_n = d_(n−1) + floor_n·(MMR_n − MMR_(n−1)), rounded up."""
        need, deduction, below = Fraction(0), Fraction(0), self.tiers[0][1]
        for start, rate, _ in self.tiers:
            if notional > start:
                deduction, below = deduction + start * (rate - below), rate
                need = notional * rate - deduction
        return ceil(need)

    def highest_leverage(self, notional: int) -> int:
        return next((most for start, _, most in reversed(self.tiers) if notional > start), self.tiers[0][2])

    def bound(self, side: int, price: int, slippage: Fraction) -> int:
        """Worst price of a market order: price × (1 ± slippage), rounded towards the price; 3 % when it names none."""
        edge = price * (1 + side * (slippage or min(Fraction(3, 100), self.max_slippage)))
        return floor(edge) if side > 0 else ceil(edge)

    def price(self, by: str) -> int:
        return {"LAST_PRICE": self.last, "MARK_PRICE": self.mark, "INDEX_PRICE": self.oracle}[by]

    def sample(self, bid: int, ask: int, lengths: tuple[int, int]) -> None:
        """Prices: the samples of mid − oracle (half ticks) and of the book's median."""
        both, half = bool(bid and ask), bid + ask - 2 * self.oracle
        samples = ((self.basis, half), (self.middles, sorted((bid, ask, self.last))[1]))
        for (kept, value), length in zip(samples, lengths, strict=True):
            kept.append(value if both else None)
            del kept[:-length]

    def set_mark(self, bid: int, ask: int) -> None:
        """Prices: median of oracle + average basis, and of the book's median; that one's average joins the two.

        In half ticks, averages rounded down; the mark to the nearest tick, halves up.
        """
        basis, middles = ([each for each in kept if each is not None] for kept in (self.basis, self.middles))
        found = [2 * self.oracle + (sum(basis) // len(basis) if basis else 0)]
        if bid and ask:
            found.append(2 * sorted((bid, ask, self.last))[1])
            if middles:
                found.append(2 * sum(middles) // len(middles))
        found.sort()
        half = found[len(found) // 2] if len(found) % 2 else (found[0] + found[1]) // 2
        self.mark = max(1, (half + 1) // 2)

    def premium(self, bids: list[tuple[int, int]], asks: list[tuple[int, int]], margin: int) -> int:
        """Funding: [max(0, impactBid − oracle) − max(0, oracle − impactAsk)] / oracle, in 1e-12."""
        bid, ask = (self.impact(levels, margin * self.tiers[0][2]) for levels in (bids, asks))
        above = max(Fraction(0), bid - self.oracle) if bid else Fraction(0)
        below = max(Fraction(0), self.oracle - ask) if ask else Fraction(0)
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
        premium, edge = Fraction(mean, 10**12), Fraction(5, 10**4)
        rate = premium + max(-edge, min(edge, Fraction(1, 10**4) - premium))
        exact = floor(rate * self.funding_ms / (8 * 3_600_000) * 10**8 + Fraction(1, 2))
        return max(-Fraction(2, 100), min(Fraction(2, 100), Fraction(exact, 10**8)))


@dataclass
class Leg:
    """The long or the short of a position: steps and entry value (Numbers: the value is kept, not the price)."""

    size: int = 0
    value: int = 0
    opened: int = 0
    """Number of the trade that opened it."""
    pnl: int = 0
    fees: int = 0
    funding: int = 0

    def close(self, steps: int, value: int, side: int) -> int:
        """Numbers: reducing by q of Q realises entryValue·q/Q (floor; the remainder stays)."""
        entry = self.value * steps // self.size
        self.size, self.value = self.size - steps, self.value - entry
        self.pnl += (pnl := side * (value - entry))
        return pnl

    def open(self, steps: int, value: int, trade: int) -> None:
        if not self.size:
            self.opened, self.pnl, self.fees, self.funding = trade, 0, 0, 0
        self.size, self.value = self.size + steps, self.value + value


@dataclass
class Holding:
    """One account in one product."""

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

    @property
    def maintenance(self) -> int:
        return sum(self.market.maintenance(leg.size * self.market.step_value) for leg in self.legs.values())

    def initial(self, notional: int) -> int:
        """Margin: notional / leverage, rounded up."""
        return ceil(notional / self.leverage)

    def need(self, side: int, steps: int, value: int) -> tuple[int, int]:
        """C4: what opening takes from the balance, initial margin and loss against mark; and that loss."""
        at_mark = steps * self.market.step_value
        loss = max(0, side * (value - at_mark))
        return self.initial(value if side > 0 else at_mark) + loss, loss

    def more_maintenance(self, side: int, steps: int) -> int:
        value, of = self.market.step_value, self.market.maintenance
        return of((self.legs[side].size + steps) * value) - of(self.legs[side].size * value)


@dataclass
class Account:
    """One account; `balance` without isolated margins, which are in the holdings."""

    name: str
    balance: int = 0
    hedge: bool = False
    holdings: dict[int, Holding] = field(default_factory=dict)
    volumes: dict[int, int] = field(default_factory=dict)
    inviter: str = ""
    invited: list[str] = field(default_factory=list)
    due: dict[str, int] = field(default_factory=dict)

    def traded(self, time: int) -> int:
        """Value traded on the 30 complete days before today."""
        today = time // DAY_MS
        return sum(value for day, value in self.volumes.items() if today - 30 <= day < today)

    def cover(self, held: Holding, side: int) -> int:
        """C1: how many steps an order without reduce-only closes before it opens anything."""
        return 0 if self.hedge else held.legs[-side].size


@dataclass
class Order:
    """One order. `place` is its place in time while it rests in the book, 0 otherwise."""

    name: str
    code: int
    side: int
    closing: bool
    kind: str
    tif: str
    reduce: str
    price: int
    quantity: int
    leaves: int
    trigger: int = 0
    by: str = ""
    up: bool = False
    slippage: Fraction = Fraction(0)
    client_id: int = 0
    parent: int = 0
    id: int = 0
    builder: str = ""
    builder_rate: Fraction = Fraction(0)
    status: str = "NEW"
    place: int = 0
    filled: int = 0
    value: int = 0
    fee: int = 0
    exact_fee: Fraction = Fraction(0)
    armed: bool = True
    triggered: bool = False
    group: int = 0
    cover: int = 0
    tried: tuple[int, ...] = ()

    @property
    def reducing(self) -> bool:
        return bool(self.reduce) or self.closing

    @property
    def exit(self) -> bool:
        return self.reduce.endswith("FROM_POSITION")

    @property
    def waiting(self) -> bool:
        return self.status == "ORDER_STATUS_UNTRIGGERED"

    @property
    def grouped(self) -> bool:
        """An exit of a bracket."""
        return self.group not in (0, self.id)
