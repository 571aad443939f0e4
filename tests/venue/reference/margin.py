"""Cash, margin and fees: where every micro-USDC goes, who may open what, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.venue.reference.money import DAY_MS, Account, Group, Holding, Leg, Market, Order, parts, require

FEES, ROUNDING, CLEARING, INSURANCE, REFERRALS, LP = "fees", "rounding", "clearing", "insurance", "referrals", "lp"
OWN = (FEES, ROUNDING, CLEARING, INSURANCE, REFERRALS, LP)
NETWORK = ((0, 10), (1_000_000, 15), (5_000_000, 20), (25_000_000, 25), (100_000_000, 30), (500_000_000, 35))
"""Volume of a network in USDC → the inviter's part of the fees, per cent."""


class Margin:
    """Accounts, orders and prices; `rows` and `events` are those of the present step."""

    def __init__(self, markets: Iterable[Market], config: Mapping[str, Any], time: int) -> None:
        self.markets, self.config, self.time = {each.code: each for each in markets}, config, time
        self.accounts, self.orders, self.rows, self.events = dict[str, Account](), dict[int, Order](), [], []
        self.network: list[str] = []  # who gets rebates
        self.loose: list[tuple[Holding, int]] = []  # C1: whose resting orders of which side lost their cover
        self.healthy = self.before = dict[int, int]()  # the marks at which all were judged last
        self.last_order = self.last_place = self.last_trade = self.unwind_at = 0
        for name in OWN:
            self.open_account(name)

    def open_account(self, name: str, balance: int = 0, hedge: bool = False) -> Account:
        records = {"holdings": {}, "volumes": Counter(), "invited": [], "due": Counter()}
        account = self.accounts[name] = Account(name=name, balance=balance, hedge=hedge, **records)
        for code, market in self.markets.items():
            terms = {"leverage": Fraction(min(20, market.tiers[0][2])), "legs": {1: Leg(), -1: Leg()}}
            account.holdings[code] = Holding(account=account, market=market, **terms)
        return account

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

    def assign(self, held: Holding, amount: int) -> None:
        """Move an amount from the balance to the margin of an isolated position, or back."""
        if held.isolated or held.assigned:
            held.assigned += amount
            self.pay(held.account.name, "", amount, "ISOLATED_MARGIN", held.market.code)

    def flagged(self) -> list[Group]:
        """The margin groups that are being liquidated."""
        groups = [group for account in self.accounts.values() for group in (account, *account.holdings.values())]
        return [group for group in groups if group.next_slice]

    # The book

    def book(self, market: Market, side: int) -> list[Order]:
        """Order rules: price-time priority."""
        found = [each for each in self.orders.values() if each.place and each.market is market and each.side == side]
        return sorted(found, key=lambda each: (-side * each.price, each.place))

    def quotes(self, market: Market) -> tuple[int, int]:
        """The best bid and the best ask, 0 where there is none."""
        bid, ask = (found[0].price if (found := self.book(market, side)) else 0 for side in (1, -1))
        return bid, ask

    def offers(self, order: Order, limit: int) -> list[Order]:
        """What an order could trade with at `limit` or better."""
        return [each for each in self.book(order.market, -order.side) if (each.price - limit) * order.side <= 0]

    def resting(self, held: Holding, side: int, reducing: bool = False) -> list[Order]:
        """The orders of an account in the book, last placed first."""
        own = [each for each in self.orders.values() if each.held is held and each.place and each.side == side]
        return [each for each in reversed(own) if each.reducing == reducing]

    # Margin

    def initial(self, held: Holding, side: int = 0, value: int = 0) -> int:
        """Initial margin on the cross balance, with so much `value` of `side` more: whichever orders could fill."""
        buys, sells = (self.resting_value(held, way) + value * (way == side) for way in (1, -1))
        if held.account.hedge:
            return held.initial(buys + sells + (0 if held.isolated else held.notional))
        if not held.isolated:
            net = held.net * held.market.step_value
            return held.initial(max(net + buys, sells - net))
        grows, flips = (sells, buys) if held.net < 0 else (buys, sells)
        beyond = flips - held.notional  # C4: a flip is a close, which sets margin free, and an open
        return max(held.initial(grows), held.initial(beyond) - max(0, held.equity) if beyond > 0 else 0)

    def resting_value(self, held: Holding, side: int) -> int:
        return sum(each.value_left for each in self.resting(held, side))

    def available(self, account: Account) -> int:
        """Equity less the initial margin of the cross positions and of all orders."""
        return account.equity - sum(self.initial(held) for held in account.holdings.values())

    def withdrawable(self, account: Account) -> int:
        """Available to withdraw leaves out positive unrealised PnL."""
        profits = sum(max(0, held.unrealized) for held in account.positions)
        return max(0, self.available(account) - profits)

    def reach(self, held: Holding, side: int) -> int:
        """The notional that a position could reach by its resting orders of `side`."""
        own = held.legs[side].size - held.cover(side)
        return own * held.market.step_value + self.resting_value(held, side)

    def fits(self, held: Holding, side: int) -> bool:
        """Whether equity covers the margin, and position and orders are within the limits of size."""
        reach, market = self.reach(held, side), held.market
        small = reach <= market.max_notional and held.leverage <= market.highest_leverage(reach)
        return small and self.available(held.account) >= 0

    def check_increase(self, order: Order, limit: int, only_size: bool = False) -> None:
        """Margin: a risk-increasing order is accepted only if equity covers initial margin after it."""
        held, side, steps, market, unit = order.held, order.side, order.leaves, order.market, order.market.unit
        cover = held.cover(side)
        if steps <= cover:  # C1: what closes is always accepted
            return
        require(not held.group.next_slice, "in liquidation")
        met = [each for each in self.offers(order, limit) if each.account is not order.account]
        fills = [(part, maker.price) for part, maker in parts(met, steps) if part]
        taken, paid = sum(part for part, _ in fills), sum(part * price for part, price in fills)
        # what trades below mark counts at mark; what would close but rests above mark holds the difference
        resting, gain = (
            max(0, cover - taken) * max(0, limit - market.mark),
            max(0, taken - cover) * (market.mark - limit),
        )
        value, gain = ((steps - cover) * limit + resting) * unit, max(0, gain) * unit
        # C1: resting orders lose their cover when the position is closed, last placed first
        lost = sum(part * each.price for part, each in parts(self.resting(held, side), cover)) * unit
        reach = (self.resting_value(held, side) - lost if cover else self.reach(held, side)) + value + gain
        require(reach <= market.max_notional, "maxPositionNtnl")
        require(held.leverage <= market.highest_leverage(reach), "leverage of the tier")
        if only_size:
            return
        value += gain if side < 0 else 0
        free = self.available(held.account) + self.initial(held)
        more = self.initial(held, side, value)
        if cover:  # C1: a flip is judged as if everything before were closed
            same, other = (self.resting_value(held, way) for way in (side, -side))
            more = held.initial(max(same - lost + value, other))
            free += held.equity if held.isolated else 0
        elif taken and held.isolated and held.size:  # C4: it takes its own margin, and is above maintenance after it
            own = held.equity + held.need(side, taken, paid * unit)[0] + side * (market.mark * taken - paid) * unit
            require(own > held.maintenance(side, taken), "C4: isolated maintenance margin")
        if taken:  # fees, and what it loses against mark; isolated margin and builder fees are rounded at every fill
            free -= max(0, side * (paid - market.mark * taken)) * unit + self.fee(held, paid * unit)
            free -= ceil(paid * unit * order.builder_rate) + (len(fills) - 1) * (
                bool(order.builder_rate) + held.isolated
            )
        require(free >= more, "initial margin")

    # Isolated margin

    def spare(self, account: Account, freed: int = 0) -> int:
        """What the cross positions can give while their ratio stays where liquidation stops."""
        return max(0, account.equity + freed - ceil(account.maintenance() / self.config["stop"]))

    def isolated_fits(self, order: Order, opens: int) -> bool:
        """Whether the balance still has the margin for what a resting order of an isolated product opens."""
        held, side, price, unit, freed = order.held, order.side, order.price, order.market.unit, 0
        if opens <= 0 or not held.isolated or order.reducing:
            return True
        if cover := held.cover(side):  # what it closes before sets margin free
            beyond = min(0, side * (held.market.mark - price)) * unit * cover
            freed = held.equity + beyond - self.fee(held, cover * price * unit)
        need, loss = held.need(side, opens, opens * price * unit)
        given = min(need, self.spare(held.account, freed)) - loss
        return bool(given * self.config["stop"] > held.maintenance(side, opens) - held.maintenance())

    def release(self, held: Holding, entry: int, gained: int, opened: int) -> None:
        """What closes gives its share of the margin back; the rest keeps its initial margin; losses are paid first."""
        share = held.assigned * entry // (entry + sum(leg.value for leg in held.legs.values()))
        back = max(min(share, held.equity - held.initial(held.notional)), -gained)
        self.assign(held, -held.assigned if held.size == opened else -back)

    # Fees

    def rates(self, held: Holding) -> tuple[Fraction, Fraction]:
        """Maker and taker rate, by the volume of 30 days; a tier never costs more than the product's own."""
        traded, own = held.account.traded(self.time), (held.market.maker, held.market.taker)
        reached = [own, *(rates for volume, *rates in self.config["fee_tiers"] if traded >= volume)]
        return min(own[0], reached[-1][0]), min(own[1], reached[-1][1])

    def fee(self, held: Holding, value: int) -> int:
        return ceil(value * max(self.rates(held)))

    def charge(self, order: Order, opened: int, closed: int, maker: bool) -> tuple[int, int, int]:
        """The fills of one order are rounded together; returns the opening, closing and builder's fee."""
        account, code, about, day = order.account, order.market.code, str(order.id), self.time // DAY_MS
        value = opened + closed
        account.volumes[day] += value
        rate = self.rates(order.held)[0 if maker else 1]
        if order.kind == "ADL" or (order.kind == "LIQUIDATION" and not order.reduce):
            rate = Fraction(0)  # C7: only what the book takes of a liquidated position pays the taker fee
        before, order.exact_fee = order.exact_fee, order.exact_fee + value * rate
        paid = ceil(order.exact_fee) - ceil(before)
        self.pay(account.name, FEES, paid, "TRADING_FEE", code, about, floor(value * rate))
        if paid > 0 and account.inviter:
            self.rebate(account, paid)
        extra = ceil(value * order.builder_rate)
        self.pay(account.name, order.builder, extra, "BUILDER_FEE", code, about, floor(value * order.builder_rate))
        close_fee = (min if rate >= 0 else max)(paid, ceil(closed * rate)) if opened else paid
        return paid - close_fee, close_fee, extra

    def rebate(self, payer: Account, fee: int) -> None:
        """Referral: the inviter's 10–35 % by the volume of its network, the second tier's 5 %; paid once a day."""
        inviter = self.accounts[payer.inviter]
        volume = sum(self.accounts[each].traded(self.time) for each in inviter.invited)
        parts = {inviter.name: fee * max(part for start, part in NETWORK if volume >= start * 10**6) // 100}
        if inviter.inviter:
            parts[inviter.inviter] = fee * 5 // 100
        self.pay(FEES, REFERRALS, sum(parts.values()), "REFERRAL_REBATE", 0, payer.name)
        for name, part in parts.items():
            self.accounts[name].due[payer.name] += part
