"""Cash and margin: the double-entry ledger, fees and rebates, what accounts hold and what is free."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from .books import DAY, Account, Event, Order, Position, Product, Row, need, up

OWN = FEES, ROUNDING, CLEARING, INSURANCE, REFERRALS, RESERVES, LP = (
    "fees", "rounding", "clearing", "insurance", "referrals", "reserves", "lp",
)  # fmt: skip
REBATES = ((500, 35), (100, 30), (25, 25), (5, 20), (1, 15), (0, 10))
"""Assumptions, Referrals: 30-day network volume in million USDC → per cent."""


@dataclass(frozen=True)
class Settings:
    """The numbers of a venue that are a choice (fields of its genesis)."""

    price_ms: int = 3_000
    basis_samples: int = 50
    book_samples: int = 10
    band: Fraction = Fraction(1, 2)
    depth: int = 650_000 * 10**6
    depths: int = 30
    impact_margin: int = 200 * 10**6
    impact_share: Fraction = Fraction(1, 100)
    premium_bound: Fraction = Fraction(5, 1000)
    interest: Fraction = Fraction(1, 10_000)
    clamp: Fraction = Fraction(5, 10_000)
    cap: Fraction = Fraction(2, 100)
    fee_tiers: tuple[tuple[int, Fraction, Fraction], ...] = ()
    volume_days: int = 30
    stop: Fraction = Fraction(95, 100)
    whole: int = 100_000 * 10**6
    slice: Fraction = Fraction(1, 5)
    pause: int = 30_000
    takeover_fee: Fraction = Fraction(5, 1000)
    lp_capital: int = 1_000_000 * 10**6
    lp_leverage: Fraction = Fraction(5)
    lp_slice: int = 20_000 * 10**6
    lp_pause: int = 60_000
    withdrawal_minimum: int = 2 * 10**6
    faucet_amount: int = 500 * 10**6
    faucet_pause: int = DAY


class Money(ABC):
    """Accounts, the ledger, and what margins ask for."""

    def __init__(self, products: Iterable[Product], settings: Settings, time: int) -> None:
        self.products = {product.code: product for product in products}
        self.settings, self.time = settings, time
        self.accounts: dict[str, Account] = {}
        self.rows: list[Row] = []
        self.events: list[Event] = []
        self.orders: dict[int, Order] = {}
        for name in OWN:
            self.open(name)

    def open(self, address: str) -> Account:
        if address not in self.accounts:
            self.accounts[address] = Account(address)
        return self.accounts[address]

    # the ledger

    def pay(
        self, kind: str, payer: str, receiver: str, paid: int, received: int | None = None, product: int = 0,
        reference: object = "",
    ) -> None:  # fmt: skip
        """Move cash; "" is the outside world. The difference is booked to `rounding`, so that the books close."""
        received = paid if received is None else received
        if not paid and not received:
            return
        if paid < 0 or received < 0:
            payer, receiver, paid, received = receiver, payer, -received, -paid
        for name, amount in ((payer, -paid), (receiver, received), (ROUNDING, paid - received)):
            if name and amount and not (name == ROUNDING and "" in (payer, receiver)):
                self.accounts[name].balance += amount
        self.rows.append(Row(kind, payer, paid, receiver, received, product, str(reference), self.time))

    def assign(self, position: Position, amount: int) -> None:
        """Assumptions, Money: an isolated position's margin leaves the balance and belongs to the product."""
        if amount:
            position.assigned += amount
            self.pay("ISOLATED_MARGIN", position.account.address, "", amount, product=position.product.code)

    # fees

    def volume(self, account: Account) -> int:
        """Assumptions, Money: fee tiers go by the complete UTC days before today."""
        today = self.time // DAY
        return sum(v for day, v in account.volumes.items() if today - self.settings.volume_days <= day < today)

    def rates(self, account: Account, product: Product) -> tuple[Fraction, Fraction]:
        """Return maker and taker rate: a tier never costs more than the product's standard rate."""
        maker, taker, volume = product.maker, product.taker, self.volume(account)
        for floor, tier_maker, tier_taker in self.settings.fee_tiers:
            if volume >= floor:
                maker, taker = min(product.maker, tier_maker), min(product.taker, tier_taker)
        return maker, taker

    def charge(self, order: Order, closed: int, opened: int, maker: bool) -> tuple[int, int, int]:
        """Return the fees for closing, for opening and of the builder.

        Assumptions, Money: the fills of one order are rounded together, the builder's fee at each.
        """
        rate = self.rates(order.account, order.product)[0 if maker else 1]
        order.exact_fee += (closed + opened) * rate
        total = up(order.exact_fee) - order.fee
        order.fee += total
        closing = up(closed * rate) if opened else total
        return closing, total - closing, up((closed + opened) * order.builder_rate)

    def rebate(self, account: Account, fee: int, order: Order) -> None:
        """Assumptions, Referrals: rebates are set aside with each fee; the second tier is 5 % of the same fee."""
        if fee <= 0 or not account.inviter:
            return
        inviter = self.accounts[account.inviter]
        network = sum(self.volume(each) for each in self.accounts.values() if each.inviter == inviter.address)
        rate = next(rate for floor, rate in REBATES if network >= floor * 10**12)
        owed = [(name, share) for name, share in ((inviter.address, rate), (inviter.inviter, 5)) if name]
        amounts = [(name, account.address, fee * share // 100) for name, share in owed]
        self.pay("REFERRAL_REBATE", FEES, REFERRALS, sum(each[2] for each in amounts), reference=account.address)
        self.owed_rebates += [each for each in amounts if each[2]]

    owed_rebates: list[tuple[str, str, int]]
    """(inviter, who paid the fee, amount)."""
    joined: list[str]
    """Accounts of the referral network, in the order in which they joined it."""

    # margin

    def resting(self, position: Position, side: int) -> list[Order]:
        """Return the orders in the book that may open or close without a reduce-only mark, oldest first."""
        return [
            o for o in position.account.orders.values()
            if o.product is position.product and o.side == side and o.resting and not o.reducing
        ]  # fmt: skip

    def uncovered(self, position: Position, side: int) -> list[tuple[Order, int]]:
        """Return the resting orders of a side and the steps of each that the position does not cover.

        Assumptions, Money: orders lose their cover to newer ones, so the newest are covered first.
        """
        cover = 0 if position.account.hedge else max(0, -side * position.net)
        parts = []
        for order in reversed(self.resting(position, side)):
            covered = min(cover, order.leaves)
            cover -= covered
            parts.append((order, order.leaves - covered))
        return parts[::-1]

    def orders_value(self, position: Position, side: int, gone: bool = False) -> int:
        """Return the value of what a side's orders would open; what they close is taken off at mark.

        Assumptions, Money: once the position is `gone`, so are the orders that lose their cover by that.
        """
        product = position.product
        if gone:
            return sum(product.value(order.price, steps) for order, steps in self.uncovered(position, side))
        value = sum(product.value(order.price, order.leaves) for order in self.resting(position, side))
        return max(0, value - (0 if position.account.hedge else position.notional(-side)))

    def held(self, position: Position, side: int = 0, more: int = 0, gone: bool = False) -> int:
        """Return the margin that a cross position and its orders, or the orders of an isolated one, hold.

        Assumptions, Money: orders hold for the worse of "all buys fill" and "all sells fill"; in hedge mode for all
        opening orders. `more` is value that would be opened on `side`; `gone`: as if the position had been closed.
        """
        own = {s: 0 if gone else position.notional(s) for s in (1, -1)}
        asked = {s: self.orders_value(position, s, gone) + (more if s == side else 0) for s in (1, -1)}
        if position.account.hedge:
            return position.initial(sum(asked.values()) + (0 if position.isolated else sum(own.values())))
        if not position.isolated:
            return position.initial(max(own[s] + asked[s] for s in (1, -1)))
        # a flip is a close and an open: what it opens may use what the closing sets free, at mark
        freed = {s: max(0, position.equity) if own[-s] and asked[s] else 0 for s in (1, -1)}
        return max(0, *(position.initial(asked[s]) - freed[s] for s in (1, -1)))

    def initial(self, account: Account, besides: Position | None = None) -> int:
        return sum(self.held(position) for position in account.positions.values() if position is not besides)

    def available(self, account: Account) -> int:
        """Margin: balance − initial margin of cross positions and orders + cross unrealised PnL."""
        return account.equity - self.initial(account)

    def withdrawable(self, account: Account) -> int:
        """Assumptions, Money: leaves out the positive unrealised PnL of each product."""
        return account.balance + sum(min(0, p.gain) for p in account.cross) - self.initial(account)

    def reach(self, position: Position, side: int, more: int = 0, gone: bool = False) -> int:
        """Return the notional of a position with its open orders in a direction."""
        return (0 if gone else position.notional(side)) + self.orders_value(position, side, gone) + more

    def within(self, position: Position, notional: int) -> bool:
        product = position.product
        return notional <= product.max_notional and position.leverage <= product.leverage_limit(notional)

    # actions

    def deposit(self, address: str, amount: int) -> None:
        self.pay("DEPOSIT", "", self.open(address).address, amount)

    def withdraw(self, account: Account, amount: int, destination: str) -> None:
        """Venue facts: at least 2 USDC. Margin: available to withdraw."""
        need(amount >= self.settings.withdrawal_minimum, "withdrawal minimum")
        need(amount <= self.withdrawable(account), "withdrawable")
        self.pay("WITHDRAW", account.address, "", amount, reference=destination.lower())
