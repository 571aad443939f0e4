"""Cash, margin and fees: where every micro-USDC goes, who may open what, and what it costs."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.venue.reference.money import DAY_MS, Account, Holding, Market, Order, Refused

FEES, ROUNDING, CLEARING, INSURANCE, REFERRALS, LP = OWN = (
    "fees", "rounding", "clearing", "insurance", "referrals", "lp",
)  # fmt: skip
NETWORK = ((0, 10), (1_000_000, 15), (5_000_000, 20), (25_000_000, 25), (100_000_000, 30), (500_000_000, 35))
"""Volume of a network in USDC → the inviter's part of the fees, per cent."""


def steps_of(orders: Iterable[Order]) -> int:
    return sum(each.leaves for each in orders)


class Margin:
    """Accounts, orders and prices; `rows` and `events` are those of the present step, `refused` counts rules."""

    def __init__(self, markets: Iterable[Market], config: Mapping[str, Any], time: int) -> None:
        self.markets, self.config, self.time = {each.code: each for each in markets}, config, time
        self.accounts: dict[str, Account] = {name: Account(name) for name in OWN}
        self.orders: dict[int, Order] = {}
        self.books: dict[tuple[int, int], list[Order]] = {(code, side): [] for code in self.markets for side in (1, -1)}
        self.liquidations: dict[tuple[str, int], int] = {}  # (account, group) → when the next slice is closed
        self.network: list[str] = []  # who gets rebates
        self.loose: list[tuple[Account, int, int]] = []  # C1: whose resting orders of which side lost their cover
        self.last_order = self.last_place = self.last_trade = self.unwind_at = 0
        self.refused, self.rows, self.events = Counter[str](), list[Any](), list[Any]()

    def require(self, condition: bool, rule: str) -> None:
        if not condition:
            self.refused[rule] += 1
            raise Refused(rule)

    def pay(self, payer: str, to: str, paid: int, kind: str, code: int = 0, about: str = "", got: Any = None) -> None:
        """Numbers: cash moves between two accounts ("" = outside, isolated margin); rounding keeps the difference."""
        received = paid if got is None else got
        if received < 0:
            payer, to, paid, received = to, payer, -received, -paid
        if paid and payer != to:
            for name, amount in ((payer, -paid), (to, received), (ROUNDING, paid - received)):
                if name:
                    self.accounts[name].balance += amount
            self.rows.append((kind, payer, paid, to, received, code, about))

    def assign(self, account: Account, held: Holding, amount: int) -> None:
        held.assigned += amount
        self.pay(account.name, "", amount, "ISOLATED_MARGIN", held.market.code)

    def holding(self, account: Account, code: int) -> Holding:
        market = self.markets[code]
        return account.holdings.setdefault(code, Holding(market, Fraction(min(20, market.tiers[0][2]))))

    def rest(self, order: Order) -> None:
        """Order rules: price-time priority."""
        self.last_place = order.place = self.last_place + 1
        insort(self.books[order.code, order.side], order, key=lambda each: (-each.side * each.price, each.place))

    def leave(self, order: Order) -> None:
        if order.place:
            self.books[order.code, order.side].remove(order)
            order.place = 0

    def best(self, code: int, side: int) -> int:
        return self.books[code, side][0].price if self.books[code, side] else 0

    def resting(self, name: str, code: int, side: int, reducing: bool) -> list[Order]:
        """The orders of an account in the book, last placed first."""
        found = [each for each in self.books[code, side] if each.name == name and each.reducing == reducing]
        return sorted(found, key=lambda each: -each.id)

    def resting_value(self, name: str, held: Holding, side: int) -> int:
        found = [each for each in self.books[held.market.code, side] if each.name == name and not each.reducing]
        return sum(each.price * each.leaves for each in found) * held.market.unit

    # Margin

    def initial(self, account: Account, held: Holding, side: int = 0, value: int = 0) -> int:
        """Initial margin on the cross balance, with so much `value` of `side` more: whichever orders could fill."""
        buys, sells = (self.resting_value(account.name, held, way) + value * (way == side) for way in (1, -1))
        if account.hedge:
            return held.initial(buys + sells + (0 if held.isolated else held.notional))
        if not held.isolated:
            net = (held.legs[1].size - held.legs[-1].size) * held.market.step_value
            return held.initial(max(net + buys, sells - net, net, -net))
        grows, flips = (sells, buys) if held.legs[-1].size else (buys, sells)
        beyond = flips - held.notional  # C4: a flip is a close, which sets margin free, and an open
        return max(held.initial(grows), held.initial(beyond) - max(0, held.equity) if beyond > 0 else 0)

    def equity(self, account: Account) -> int:
        """Cross equity = balance, which isolated margins have left, + cross unrealised PnL."""
        crossed = [held for held in account.holdings.values() if held.size and not held.isolated]
        return account.balance + sum(held.unrealized for held in crossed)

    def available(self, account: Account) -> int:
        """Equity less the initial margin of the cross positions and of all orders."""
        return self.equity(account) - sum(self.initial(account, held) for held in account.holdings.values())

    def withdrawable(self, account: Account) -> int:
        """Available to withdraw leaves out positive unrealised PnL."""
        profits = sum(max(0, held.unrealized) for held in account.holdings.values() if not held.isolated)
        return max(0, self.available(account) - profits)

    def figures(self, account: Account, group: int) -> tuple[int, int]:
        """Equity and maintenance margin of the isolated position in a product, or (0) of the cross positions."""
        if group:
            return account.holdings[group].equity, account.holdings[group].maintenance()
        return self.equity(account), sum(held.maintenance() for held in account.holdings.values() if not held.isolated)

    def reach(self, account: Account, held: Holding, side: int) -> int:
        """The notional that a position could reach by its resting orders of `side`."""
        own = held.legs[side].size - account.cover(held, side)
        return own * held.market.step_value + self.resting_value(account.name, held, side)

    def taking(self, name: str, code: int, side: int, steps: int, limit: int) -> tuple[int, int, int]:
        """What an order would trade at once: steps, the sum of ticks × steps, and how many orders of others."""
        taken = paid = met = 0
        for maker in self.books[code, -side]:
            if taken < steps and (maker.price - limit) * side <= 0 and maker.name != name:
                part = min(maker.leaves, steps - taken)
                taken, paid, met = taken + part, paid + part * maker.price, met + 1
        return taken, paid, met

    def uncovered(self, account: Account, held: Holding, side: int) -> int:
        """C1: value of the resting orders that lose their cover when the position is closed, last placed first."""
        value, left = 0, account.cover(held, side)
        for order in self.resting(account.name, held.market.code, side, False):
            part = min(left, order.leaves)
            value, left = value + part * order.price * held.market.unit, left - part
        return value

    def check_increase(self, account: Account, order: Order, steps: int, limit: int, only_size: bool = False) -> None:
        """Margin: a risk-increasing order is accepted only if equity covers initial margin after it."""
        held, side = self.holding(account, order.code), order.side
        market, unit, cover = held.market, held.market.unit, account.cover(held, side)
        if steps <= cover:  # C1: what closes is always accepted
            return
        self.require((account.name, order.code if held.isolated else 0) not in self.liquidations, "in liquidation")
        taken, paid, met = self.taking(account.name, order.code, side, steps, limit)
        value = (limit if side > 0 else max(limit, market.mark)) * steps * unit  # what sells below mark counts at mark
        gain = max(0, market.mark - limit) * taken * unit if side > 0 else 0
        lost = self.uncovered(account, held, side)
        reach = self.reach(account, held, side) + value + gain - lost
        self.require(reach <= market.max_notional, "maxPositionNtnl")
        self.require(held.leverage <= market.highest_leverage(reach), "leverage of the tier")
        if only_size:
            return
        free = self.available(account) + self.initial(account, held)
        more = self.initial(account, held, side, value)
        if cover:  # C1: a flip is judged as if everything before were closed
            same, other = (self.resting_value(account.name, held, way) for way in (side, -side))
            more = held.initial(max(same - lost + value - held.notional, other))
            free += held.equity if held.isolated else 0
        elif taken and held.isolated and held.size:  # C4: it takes its own margin, and is above maintenance after it
            own = held.equity + held.need(side, taken, paid * unit)[0] + side * (market.mark * taken - paid) * unit
            self.require(own > held.maintenance(side, taken), "C4: isolated maintenance margin")
        if taken:  # fees, and what it loses against mark; isolated margin and builder fees are rounded at every fill
            free -= max(0, side * (paid - market.mark * taken)) * unit + self.fee(account, market, paid * unit)
            free -= ceil(paid * unit * order.builder_rate) + (met - 1) * (bool(order.builder_rate) + held.isolated)
        self.require(free >= more, "initial margin")

    def fits(self, account: Account, held: Holding, side: int) -> bool:
        """Whether equity covers the margin, and position and orders are within the limits of size."""
        reach, market = self.reach(account, held, side), held.market
        small = reach <= market.max_notional and held.leverage <= market.highest_leverage(reach)
        return small and self.available(account) >= 0

    # Isolated margin

    def spare(self, account: Account, freed: int = 0) -> int:
        """What the cross positions can give while their ratio stays where liquidation stops."""
        equity, maintenance = self.figures(account, 0)
        return max(0, equity + freed - ceil(maintenance / self.config["stop"]))

    def isolated_fits(self, account: Account, order: Order, opens: int) -> bool:
        """Whether the balance still has the margin for what a resting order of an isolated product opens."""
        held, side, price = account.holdings[order.code], order.side, order.price
        if opens <= 0 or not held.isolated or order.reducing:
            return True
        unit, freed = held.market.unit, 0
        if cover := account.cover(held, side):  # what it closes before sets margin free
            beyond = min(0, side * (held.market.mark - price)) * unit * cover
            freed = held.equity + beyond - self.fee(account, held.market, cover * price * unit)
        need, loss = held.need(side, opens, opens * price * unit)
        given = min(need, self.spare(account, freed)) - loss
        return bool(given * self.config["stop"] > held.maintenance(side, opens) - held.maintenance())

    def release(self, account: Account, held: Holding, entry: int, gained: int, opened: int) -> None:
        """What closes gives its share of the margin back; the rest keeps its initial margin; losses are paid first."""
        share = held.assigned * entry // (entry + sum(leg.value for leg in held.legs.values()))
        back = max(min(share, held.equity - held.initial(held.notional)), -gained)
        self.assign(account, held, -held.assigned if held.size == opened else -back)

    # Fees

    def rates(self, account: Account, market: Market) -> tuple[Fraction, Fraction]:
        """Maker and taker rate, by the volume of 30 days; a tier never costs more than the product's own."""
        traded, found = account.traded(self.time), (market.maker, market.taker)
        for volume, maker, taker in self.config["fee_tiers"]:
            if traded >= volume:
                found = min(market.maker, maker), min(market.taker, taker)
        return found

    def fee(self, account: Account, market: Market, value: int) -> int:
        return ceil(value * max(self.rates(account, market)))

    def charge(self, account: Account, order: Order, opened: int, closed: int, maker: bool) -> tuple[int, int, int]:
        """The fills of one order are rounded together; returns the opening, closing and builder's fee."""
        code, value, day, about = order.code, opened + closed, self.time // DAY_MS, str(order.id)
        account.volumes[day] = account.volumes.get(day, 0) + value
        rate = self.rates(account, self.markets[code])[0 if maker else 1]
        if order.kind == "ADL" or (order.kind == "LIQUIDATION" and not order.reduce):
            rate = Fraction(0)  # C7: only what the book takes of a liquidated position pays the taker fee
        before, order.exact_fee = order.exact_fee, order.exact_fee + value * rate
        paid = ceil(order.exact_fee) - ceil(before)
        self.pay(account.name, FEES, paid, "TRADING_FEE", code, about, floor(value * rate))
        if paid > 0 and account.inviter:
            self.rebate(account, paid)
        extra, part = ceil(value * order.builder_rate), floor(value * order.builder_rate)
        if extra:
            self.pay(account.name, order.builder, extra, "BUILDER_FEE", code, about, part)
        close_fee = min(paid, ceil(closed * rate)) if opened else paid
        return paid - close_fee, close_fee, extra

    def rebate(self, payer: Account, fee: int) -> None:
        """Referral: the inviter's 10–35 % by the volume of its network, the second tier's 5 %; paid once a day."""
        inviter = self.accounts[payer.inviter]
        volume = sum(self.accounts[each].traded(self.time) for each in inviter.invited)
        first = fee * max(part for start, part in NETWORK if volume >= start * 10**6) // 100
        second = fee * 5 // 100 if inviter.inviter else 0
        self.pay(FEES, REFERRALS, first + second, "REFERRAL_REBATE", 0, payer.name)
        for name, part in ((inviter.name, first), (inviter.inviter, second)):
            if part:
                due = self.accounts[name].due
                due[payer.name] = due.get(payer.name, 0) + part
