"""What the reference keeps: products with their prices, accounts, positions, orders, and the double-entry ledger.

Prices are ticks, quantities steps, money micro-USDC, rates fractions, times ms. Paragraphs are cited from the risk
rules ("Numbers", "Margin", "Liquidation 2", "Clarification 10") and from docs/assumptions.md ("Assumptions: Orders").
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

DAY = 86_400_000


class Refused(Exception):
    """A rule refuses an action or an order."""


def need(condition: object, rule: str) -> None:
    if not condition:
        raise Refused(rule)


def up(value: Fraction | int) -> int:
    """Numbers: what an account pays is rounded up (what it receives, as a negative payment, down)."""
    return -((-value.numerator) // value.denominator)


def down(value: Fraction | int) -> int:
    return value.numerator // value.denominator


def nearest(value: Fraction) -> int:
    """Assumptions, Prices: the mark is in whole ticks, halves go up."""
    return down(value + Fraction(1, 2))


@dataclass
class Product:
    """A product with its limits and its prices of the moment."""

    code: int
    symbol: str
    tick: Fraction
    step: Fraction
    tiers: list[tuple[int, Fraction, Fraction]]
    """(floor of the notional, maintenance rate, highest leverage), as in the margin table."""
    max_steps: int
    max_notional: int
    min_value: int
    max_slippage: Fraction
    max_leverage: Fraction
    maker: Fraction
    taker: Fraction
    interval: int
    oracle: int
    mark: int = 0
    basis: deque[Fraction | None] = field(default_factory=deque)
    books: deque[Fraction | None] = field(default_factory=deque)
    premiums: list[Fraction] = field(default_factory=list)
    trades: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Public trades: time, side of the taker, price, steps."""

    @property
    def last(self) -> int:
        """Assumptions, Prices: until the first trade of a product its last price is the oracle price."""
        return self.trades[-1][2] if self.trades else self.oracle

    @cached_property
    def unit(self) -> int:
        """Micro-USDC of one step at one tick. Numbers: a finer product is refused at listing."""
        return int(self.tick * self.step * 10**6)

    @cached_property
    def gentlest(self) -> Fraction:
        return min(rate for _, rate, _ in self.tiers)

    def tier(self, notional: int) -> int:
        """Assumptions, Formulas: a notional exactly at a tier's floor still belongs to the tier below."""
        return max([0, *(at for at, (floor, _, _) in enumerate(self.tiers) if notional > floor)])

    def maintenance(self, notional: int) -> int:
        """Margin: N·MMR_n − d_n with d_1 = 0 and d_n = d_(n−1) + floor_n·(MMR_n − MMR_(n−1)); rounded up."""
        deduction, at = Fraction(0), self.tier(notional)
        for before, tier in zip(self.tiers[:at], self.tiers[1 : at + 1], strict=True):
            deduction += tier[0] * (tier[1] - before[1])
        return up(notional * self.tiers[at][1] - deduction)

    def leverage_limit(self, notional: int) -> Fraction:
        """Venue facts: the whole position is under its tier's leverage limit."""
        return min(self.max_leverage, self.tiers[self.tier(notional)][2])

    def value(self, price: int, steps: int) -> int:
        return price * steps * self.unit


@dataclass
class Leg:
    """The long or the short of a position. Numbers: entry value is kept, not entry price."""

    size: int = 0
    value: int = 0
    pnl: int = 0
    fees: int = 0
    funding: int = 0
    term: int = 0
    opened: int = 0
    by: int = 0
    """Number of the trade that opened it."""
    closed: int = 0


@dataclass
class Position:
    """What an account has in a product, and its settings there."""

    account: Account
    product: Product
    leverage: Fraction
    isolated: bool = False
    assigned: int = 0
    long: Leg = field(default_factory=Leg)
    short: Leg = field(default_factory=Leg)
    pnl: int = 0
    fees: int = 0
    changed: int = 0
    """Time of its last trade in the book."""

    def leg(self, side: int) -> Leg:
        return self.long if side > 0 else self.short

    @property
    def net(self) -> int:
        return self.long.size - self.short.size

    @property
    def size(self) -> int:
        return self.long.size + self.short.size

    def notional(self, side: int) -> int:
        return self.product.value(self.product.mark, self.leg(side).size)

    def gain_of(self, side: int) -> int:
        """Return the unrealised profit of a leg at mark."""
        return side * (self.notional(side) - self.leg(side).value)

    @property
    def gain(self) -> int:
        return self.gain_of(1) + self.gain_of(-1)

    @property
    def maintenance(self) -> int:
        """Assumptions, Formulas: each leg of a hedge by its own tier."""
        return sum(self.product.maintenance(self.notional(side)) for side in (1, -1) if self.leg(side).size)

    def initial(self, value: int) -> int:
        """Margin: initial margin is notional / leverage."""
        leverage = self.leverage
        return -(-value.numerator * leverage.denominator // (leverage.numerator * value.denominator))

    @property
    def equity(self) -> int:
        """Margin: isolated equity = assigned margin + its unrealised PnL."""
        return self.assigned + self.gain


@dataclass
class Order:
    """One order. `side` is +1 or −1; `closing` marks the *_CLOSE_HEDGE sides."""

    id: int
    account: Account
    product: Product
    side: int
    closing: bool
    kind: str
    tif: str
    price: int
    quantity: int
    reduce: str = ""
    client: int = 0
    parent: int = 0
    trigger: int = 0
    by: str = ""
    slippage: Fraction = Fraction(0)
    builder: str = ""
    builder_rate: Fraction = Fraction(0)
    unbuilt: bool = False
    """Not by the authorised builder, or above its cap."""
    leaves: int = 0
    filled: int = 0
    value: int = 0
    fee: int = 0
    exact_fee: Fraction = Fraction(0)
    status: str = "NEW"
    triggered: bool = False
    whole: bool = False
    """Clarification 12: quantity 0 means all of the position, at every try."""
    group: int = 0
    """Id of the main order of its bracket."""
    waits: bool = False
    """A bracket's exit before its main order has opened anything."""
    place: int = 0
    """Place in the queue of its price."""
    cover: int = 0
    """Steps for which an exit of a bracket is armed."""
    since: int = 0
    """Number of the product's trades before it waits."""
    tried: tuple[int, ...] = ()
    stopped: bool = False
    """Whether its account could bear no more."""
    time: int = 0
    changed: int = 0

    @property
    def market(self) -> bool:
        return self.kind.endswith("MARKET")

    @property
    def exit(self) -> bool:
        return self.reduce in ("TP_FROM_POSITION", "SL_FROM_POSITION")

    @property
    def reducing(self) -> bool:
        return bool(self.reduce) or self.closing

    @property
    def open(self) -> bool:
        return self.status in ("NEW", "PARTIALLY_FILLED", "ORDER_STATUS_UNTRIGGERED")

    @property
    def resting(self) -> bool:
        """Whether it stands in the book: triggers that wait do not."""
        return self.status in ("NEW", "PARTIALLY_FILLED") and self.place > 0

    @property
    def position(self) -> Position:
        return self.account.position(self.product)


@dataclass
class Account:
    """One account: a trader, a vault, or one of the venue's own."""

    address: str
    balance: int = 0
    hedge: bool = False
    positions: dict[int, Position] = field(default_factory=dict)
    orders: dict[int, Order] = field(default_factory=dict)
    volumes: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    inviter: str = ""

    def position(self, product: Product) -> Position:
        """Assumptions, Money: new positions have 20x, or the product's highest leverage if that is less."""
        if product.code not in self.positions:
            self.positions[product.code] = Position(self, product, min(Fraction(20), product.max_leverage))
        return self.positions[product.code]

    @property
    def held(self) -> list[Position]:
        return [position for position in self.positions.values() if position.size]

    @property
    def cross(self) -> list[Position]:
        return [position for position in self.held if not position.isolated]

    @property
    def equity(self) -> int:
        """Margin: cross equity = balance + cross unrealised PnL (isolated margin has left the balance)."""
        return self.balance + sum(position.gain for position in self.cross)

    @property
    def maintenance(self) -> int:
        return sum(position.maintenance for position in self.cross)

    @property
    def worth(self) -> int:
        """Return cash, isolated margins and unrealised PnL: the `equity` that a wallet shows."""
        return self.balance + sum(position.assigned + position.gain for position in self.positions.values())


@dataclass(frozen=True)
class Row:
    """One movement of cash. What the sides do not share went to or came from the rounding account."""

    kind: str
    payer: str
    paid: int
    receiver: str
    received: int
    product: int
    reference: str
    time: int


@dataclass(frozen=True)
class Event:
    """One event of an order: the order as it was then, and the numbers of a fill."""

    order: Order
    time: int
    price: int = 0
    steps: int = 0
    number: int = 0
    """Of the trade."""
    pnl: int = 0
    fees: tuple[int, int, int] = (0, 0, 0)
    """For closing, for opening, of the builder."""
    role: str = ""
    terms: tuple[int, int] = (0, 0)


def ladder(orders: Iterator[Order], side: int) -> list[Order]:
    """Order rules: price-time priority."""
    return sorted((order for order in orders if order.side == side), key=lambda o: (-side * o.price, o.place))
