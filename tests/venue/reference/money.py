"""The records and formulas of the reference: integers for ticks, steps and micro-USDC, fractions for everything else.

Section names are those of the risk rules. Nothing here is shared with the venue's engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

DAY_MS = 86_400_000
SLIPPAGE = Fraction(3, 100)
"""Default slippage of a market order."""


class RefusedByRules(Exception):
    """The rules refuse an action."""


@dataclass
class Market:
    """One product with its prices. Prices in ticks, rates as fractions."""

    code: int
    tick: Fraction
    step: Fraction
    unit: int
    """Micro-USDC of one tick times one step."""
    tiers: list[tuple[int, Fraction, int]]
    """(floor in micro-USDC, maintenance rate, highest leverage)"""
    max_notional: int
    min_value: int
    max_steps: int
    max_slippage: Fraction
    maker: Fraction
    taker: Fraction
    funding_seconds: int
    oracle: int
    mark: int
    last: int
    traded: bool = False
    changes: int = 0
    """Trades and new prices so far."""
    basis: list[int | None] = field(default_factory=list)
    middles: list[int | None] = field(default_factory=list)
    premiums: list[int] = field(default_factory=list)

    @property
    def mark_value(self) -> int:
        """Micro-USDC of one step at mark."""
        return self.mark * self.unit

    def maintenance(self, notional: int) -> int:
        """Margin: N·MMR_n − d_n, d_n = d_(n−1) + floor_n·(MMR_n − MMR_(n−1)), rounded up."""
        need, deduction, below = Fraction(0), Fraction(0), self.tiers[0][1]
        for start, rate, _ in self.tiers:
            if notional <= start:
                break
            deduction, below = deduction + start * (rate - below), rate
            need = notional * rate - deduction
        return ceil(need)

    def highest_leverage(self, notional: int) -> int:
        """Leverage limit of the tier that a notional belongs to."""
        return next((most for start, _, most in reversed(self.tiers) if notional > start), self.tiers[0][2])

    def bound(self, side: int, price: int, slippage: Fraction) -> int:
        """Worst price of a market order: price × (1 ± slippage), rounded towards the price."""
        edge = price * (1 + side * (slippage or min(SLIPPAGE, self.max_slippage)))
        return floor(edge) if side > 0 else ceil(edge)

    def sample(self, bid: int, ask: int, lengths: tuple[int, int]) -> None:
        """Prices: keep the samples of mid − oracle and of the book's median of bid, ask and last."""
        both = bool(bid and ask)
        for samples, value, length in (
            (self.basis, bid + ask - 2 * self.oracle, lengths[0]),
            (self.middles, sorted((bid, ask, self.last))[1], lengths[1]),
        ):
            samples.append(value if both else None)
            del samples[:-length]

    def set_mark(self, bid: int, ask: int) -> None:
        """Prices: mark = median of oracle + average basis, and median(bid, ask, last); its average joins the two.

        Averages are taken in half ticks, rounded down; the mark to the nearest tick, halves up.
        """
        basis: list[int] = [each for each in self.basis if each is not None]
        found: list[int] = [2 * self.oracle + (sum(basis) // len(basis) if basis else 0)]
        if bid and ask:
            found.append(2 * sorted((bid, ask, self.last))[1])
            middles = [each for each in self.middles if each is not None]
            if middles:
                found.append(2 * sum(middles) // len(middles))
        found.sort()
        half = found[len(found) // 2] if len(found) % 2 else (found[0] + found[1]) // 2
        self.mark = max(1, (half + 1) // 2)

    def premium(self, bids: list[tuple[int, int]], asks: list[tuple[int, int]], margin: int) -> int:
        """Funding: [max(0, impactBid − oracle) − max(0, oracle − impactAsk)] / oracle, in 1e-12."""
        notional = margin * self.tiers[0][2]
        bid, ask = (self._impact(levels, notional) for levels in (bids, asks))
        above = max(Fraction(0), bid - self.oracle) if bid else Fraction(0)
        below = max(Fraction(0), self.oracle - ask) if ask else Fraction(0)
        return floor(above * 10**12 / self.oracle) - floor(below * 10**12 / self.oracle)

    def _impact(self, levels: list[tuple[int, int]], notional: int) -> Fraction:
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
        exact = rate * self.funding_seconds / (8 * 3600)
        return max(-Fraction(2, 100), min(Fraction(2, 100), Fraction(floor(exact * 10**8 + Fraction(1, 2)), 10**8)))


def market_of(row: dict[str, Any], tiers: Iterable[dict[str, str]], price: str) -> Market:
    """Return the market of a product-meta row and its margin table."""
    tick = Fraction(row["tickSize"])
    step, first, most = Fraction(row["stepSize"]), int(Fraction(price) / tick), int(row["maxLeverage"])
    table = [
        (int(Fraction(tier["minimumValue"]) * 10**6), Fraction(tier["maintainMarginRatio"]), int(tier["maxLeverage"]))
        for tier in tiers
    ]
    return Market(
        code=int(row["code"]),
        tick=tick,
        step=step,
        unit=int(tick * step * 10**6),
        tiers=[(start, rate, min(leverage, most)) for start, rate, leverage in table],
        max_notional=int(Fraction(row["maxPositionNtnl"]) * 10**6),
        min_value=int(Fraction(row["minOrderValue"]) * 10**6),
        max_steps=int(Fraction(row["maxOrderQty"]) / step),
        max_slippage=Fraction(row["maxSlippagePct"]),
        maker=Fraction(row["defaultMakerFeeRate"]),
        taker=Fraction(row["defaultTakerFeeRate"]),
        funding_seconds=row["fundingInterval"],
        oracle=first,
        mark=first,
        last=first,
    )


@dataclass
class Leg:
    """The long or the short of a position: steps and entry value (Numbers: the value is kept, not the price)."""

    size: int = 0
    value: int = 0
    pnl: int = 0
    fees: int = 0
    funding: int = 0
    opened: int = 0

    def close(self, steps: int, value: int, side: int) -> int:
        """Numbers: reducing by q of Q realises entryValue·q/Q (floor; the remainder stays)."""
        entry = floor(Fraction(self.value * steps, self.size))
        self.size, self.value = self.size - steps, self.value - entry
        self.pnl += (pnl := side * (value - entry))
        return pnl

    def open(self, steps: int, value: int, time: int) -> None:
        """Add to the leg; a leg that was flat begins a new life."""
        if not self.size:
            self.pnl = self.fees = self.funding = 0
            self.opened = time
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
    def open(self) -> bool:
        return any(leg.size for leg in self.legs.values())

    @property
    def held(self) -> int:
        """Notional of the legs at mark."""
        return sum(leg.size for leg in self.legs.values()) * self.market.mark_value

    @property
    def unrealized(self) -> int:
        return sum(side * (leg.size * self.market.mark_value - leg.value) for side, leg in self.legs.items())

    @property
    def maintenance(self) -> int:
        return sum(self.market.maintenance(leg.size * self.market.mark_value) for leg in self.legs.values())

    def initial(self, notional: int) -> int:
        """Margin: notional / leverage, rounded up."""
        return ceil(notional / self.leverage)


@dataclass
class Account:
    """One account; `balance` without isolated margins, which are in the holdings."""

    address: str
    balance: int = 0
    hedge: bool = False
    holdings: dict[int, Holding] = field(default_factory=dict)
    volumes: dict[int, int] = field(default_factory=dict)
    inviter: str = ""
    invited: list[str] = field(default_factory=list)
    due: dict[str, int] = field(default_factory=dict)

    def traded(self, time: int, days: int = 30) -> int:
        """Traded value of the last complete days."""
        today = time // DAY_MS
        return sum(value for day, value in self.volumes.items() if today - days <= day < today)


@dataclass
class Order:
    """One order. `place` is its place in time while it rests in the book, 0 otherwise."""

    address: str
    product: int
    side: int
    closing: bool
    kind: str
    tif: str
    reduce: str
    price: int
    quantity: int
    leaves: int
    id: int = 0
    trigger: int = 0
    by: str = ""
    up: bool = False
    slippage: Fraction = Fraction(0)
    client_id: int = 0
    parent: int = 0
    builder: str = ""
    builder_rate: Fraction = Fraction(0)
    filled: int = 0
    value: int = 0
    fee: int = 0
    exact_fee: Fraction = Fraction(0)
    status: str = "NEW"
    place: int = 0
    armed: bool = True
    triggered: bool = False
    group: int = 0
    cover: int = 0
    tried: int = -1
    """Changes of the market at its last try, −1 = none yet."""

    @property
    def reducing(self) -> bool:
        return bool(self.reduce) or self.closing

    @property
    def exit(self) -> bool:
        return self.reduce in ("TP_FROM_POSITION", "SL_FROM_POSITION")
