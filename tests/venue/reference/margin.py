"""Cash, margin and fees of the reference: who may open what, what it costs, and where every micro-USDC goes."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.venue.reference.money import DAY_MS, NETWORK, Account, Holding, Market, Order, Refused

Item = Mapping[str, Any]
FEES, ROUNDING, CLEARING, INSURANCE, REFERRALS, LP = OWN = (
    "fees", "rounding", "clearing", "insurance", "referrals", "lp",
)  # fmt: skip


def steps_of(orders: Iterable[Order]) -> int:
    return sum(each.leaves for each in orders)


class Money:
    """Accounts, orders and prices; `rows` and `events` are those of the present step, `paths` counts rules met."""

    def __init__(self, markets: Iterable[Market], config: Mapping[str, Any], time: int) -> None:
        self.markets, self.config, self.time = {each.code: each for each in markets}, config, time
        self.accounts: dict[str, Account] = {name: Account(name) for name in OWN}
        self.orders: dict[int, Order] = {}
        self.books: dict[tuple[int, int], list[Order]] = {(code, side): [] for code in self.markets for side in (1, -1)}
        self.liquidations: dict[tuple[str, int], int] = {}
        """(account, product; 0 = its cross positions) → when the next slice is closed."""
        self.seen: dict[int, tuple[int, int]] = {}
        """C6: order → its trigger price, and the price of the trade that met it."""
        self.network: list[str] = []
        self.last_order = self.last_place = self.last_trade = 0
        self.rows: list[tuple[Any, ...]] = []
        self.events: list[tuple[Any, ...]] = []
        self.paths: Counter[str] = Counter()

    def hit(self, path: str) -> None:
        self.paths[path] += 1

    def require(self, condition: bool, rule: str) -> None:
        if not condition:
            self.hit(f"refused: {rule}")
            raise Refused(rule)

    def transfer(
        self, payer: str, receiver: str, paid: int, received: int, kind: str, code: int = 0, about: str = ""
    ) -> None:
        """Numbers: cash moves between two accounts ("" = outside, isolated margin); rounding keeps the difference."""
        if received < 0:
            payer, receiver, paid, received = receiver, payer, -received, -paid
        if paid and payer != receiver:
            for name, amount in ((payer, -paid), (receiver, received), (ROUNDING, paid - received)):
                if name:
                    self.accounts[name].balance += amount
            self.rows.append((kind, payer, paid, receiver, received, code, about))

    def move(self, payer: str, receiver: str, amount: int, kind: str, code: int = 0, about: str = "") -> None:
        self.transfer(payer, receiver, amount, amount, kind, code, about)

    def assign(self, account: Account, held: Holding, amount: int) -> None:
        held.assigned += amount
        self.move(account.name, "", amount, "ISOLATED_MARGIN", held.market.code)

    def holding(self, account: Account, code: int) -> Holding:
        market = self.markets[code]
        return account.holdings.setdefault(code, Holding(market, Fraction(min(20, market.tiers[0][2]))))

    def rest(self, order: Order, place: int = 0) -> None:
        """Order rules: price-time priority; `place` puts an order back where it was."""
        order.place = place or self.last_place + 1
        self.last_place = max(self.last_place, order.place)
        insort(self.books[order.code, order.side], order, key=lambda each: (-each.side * each.price, each.place))

    def leave(self, order: Order) -> None:
        if order.place:
            self.books[order.code, order.side].remove(order)
            order.place = 0

    def quotes(self, code: int) -> tuple[int, int]:
        bids, asks = self.books[code, 1], self.books[code, -1]
        return (bids[0].price if bids else 0), (asks[0].price if asks else 0)

    def resting(self, name: str, code: int, side: int, reducing: bool) -> list[Order]:
        """The orders of an account in the book, last placed first."""
        found = [each for each in self.books[code, side] if each.name == name and each.reducing == reducing]
        return sorted(found, key=lambda each: -each.id)

    def resting_value(self, name: str, held: Holding, side: int) -> int:
        found = self.resting(name, held.market.code, side, False)
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
        flip = held.initial(beyond) - max(0, held.equity) if beyond > 0 else 0
        return max(held.initial(grows), flip)

    def cross(
        self, account: Account, own: Holding | None = None, side: int = 0, value: int = 0
    ) -> tuple[int, int, int]:
        """Equity, initial and maintenance margin of the cross positions and of all orders."""
        equity, initial, maintenance = account.balance, 0, 0
        for held in account.holdings.values():
            initial += self.initial(account, held, *((side, value) if held is own else (0, 0)))
            if not held.isolated:
                equity, maintenance = equity + held.unrealized, maintenance + held.maintenance
        return equity, initial, maintenance

    def available(self, account: Account) -> int:
        equity, initial, _ = self.cross(account)
        return equity - initial

    def withdrawable(self, account: Account) -> int:
        """Available to withdraw leaves out positive unrealised PnL."""
        profits = sum(max(0, held.unrealized) for held in account.holdings.values() if not held.isolated)
        return max(0, self.available(account) - profits)

    def figures(self, account: Account, group: int) -> tuple[int, int]:
        """Equity and maintenance margin of the isolated position in a product, or (0) of the cross positions."""
        if group:
            return account.holdings[group].equity, account.holdings[group].maintenance
        equity, _, maintenance = self.cross(account)
        return equity, maintenance

    def reach(self, account: Account, held: Holding, side: int) -> int:
        """The notional that a position could reach by its resting orders of `side`."""
        own = held.legs[side].size - account.cover(held, side)
        return own * held.market.step_value + self.resting_value(account.name, held, side)

    def taking(self, name: str, code: int, side: int, steps: int, limit: int) -> tuple[int, int, int]:
        """What an order would trade at once: steps, the sum of ticks × steps, and how many orders of others."""
        taken = paid = met = 0
        for maker in self.books[code, -side]:
            if taken == steps or (maker.price - limit) * side > 0:
                break
            if maker.name != name:
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
        """Margin: a risk-increasing order is accepted only if equity covers initial margin after it.

        C1: what the position covers is always accepted; beyond it, as if everything before were closed.
        """
        held, side = self.holding(account, order.code), order.side
        market, unit, cover = held.market, held.market.unit, account.cover(held, side)
        if steps <= cover:
            self.hit("C1: an exit is accepted without a look at margin")
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
        if cover:
            self.hit("C1: a flip")
            equity, initial, _ = self.cross(account)
            same, other = (self.resting_value(account.name, held, way) for way in (side, -side))
            initial += held.initial(max(same - lost + value - held.notional, other)) - self.initial(account, held)
            equity += held.equity if held.isolated else 0
        else:
            equity, initial, _ = self.cross(account, held, side, value)
        if taken and held.isolated and held.size and not cover:
            need, _ = held.need(side, taken, paid * unit)
            own = held.equity + need + side * (market.mark * taken - paid) * unit
            self.hit("C4: an isolated position grows")
            self.require(own > held.maintenance + held.more_maintenance(side, taken), "C4: isolated maintenance margin")
        if taken:  # fees, and what it loses against mark; isolated margin and builder fees are rounded at every fill
            equity -= max(0, side * (paid - market.mark * taken)) * unit + self.fee(account, market, paid * unit)
            equity -= ceil(paid * unit * order.builder_rate) + (met - 1) * (bool(order.builder_rate) + held.isolated)
        self.require(equity >= initial, "initial margin")

    def fits(self, account: Account, held: Holding, side: int) -> bool:
        """Whether equity covers the margin, and position and orders are within the limits of size."""
        reach, market = self.reach(account, held, side), held.market
        small = reach <= market.max_notional and held.leverage <= market.highest_leverage(reach)
        return small and self.available(account) >= 0

    # Fees

    def rates(self, account: Account, market: Market) -> tuple[Fraction, Fraction]:
        """Maker and taker rate, by the volume of 30 days; a tier never costs more than the product's own."""
        traded, found = account.traded(self.time), (market.maker, market.taker)
        for volume, maker, taker in self.config["fee_tiers"]:
            if traded >= volume:
                self.hit("fees by volume")
                found = min(market.maker, maker), min(market.taker, taker)
        return found

    def fee(self, account: Account, market: Market, value: int) -> int:
        return ceil(value * max(self.rates(account, market)))

    def charge(self, account: Account, order: Order, opened: int, closed: int, maker: bool) -> tuple[int, int, int]:
        """The fills of one order are rounded together; returns the opening, closing and builder's fee."""
        market, value, day = self.markets[order.code], opened + closed, self.time // DAY_MS
        account.volumes[day] = account.volumes.get(day, 0) + value
        rate = self.rates(account, market)[0 if maker else 1]
        if order.kind == "ADL" or (order.kind == "LIQUIDATION" and not order.reduce):
            rate = Fraction(0)  # C7: only what the book takes of a liquidated position pays the taker fee
        before, order.exact_fee = order.exact_fee, order.exact_fee + value * rate
        paid = ceil(order.exact_fee) - ceil(before)
        self.transfer(account.name, FEES, paid, floor(value * rate), "TRADING_FEE", market.code, str(order.id))
        if paid and account.inviter:
            self.rebate(account, paid)
        extra, part = ceil(value * order.builder_rate), floor(value * order.builder_rate)
        if extra:
            self.transfer(account.name, order.builder, extra, part, "BUILDER_FEE", market.code, str(order.id))
        close_fee = min(paid, ceil(closed * rate)) if opened else paid
        return paid - close_fee, close_fee, extra

    def rebate(self, payer: Account, fee: int) -> None:
        """Referral: the inviter's 10–35 % by the volume of its network, the second tier's 5 %; paid once a day."""
        inviter = self.accounts[payer.inviter]
        volume = sum(self.accounts[each].traded(self.time) for each in inviter.invited)
        per_cent = max(part for start, part in NETWORK if volume >= start * 10**6)
        first, second = fee * per_cent // 100, fee * 5 // 100 if inviter.inviter else 0
        self.hit("rebate above 10 %" if per_cent > 10 else "rebate of 10 %")
        self.move(FEES, REFERRALS, first + second, "REFERRAL_REBATE", 0, payer.name)
        for name, part in ((inviter.name, first), (inviter.inviter, second)):
            if part:
                due = self.accounts[name].due
                due[payer.name] = due.get(payer.name, 0) + part

    def bind(self, account: Account, inviter: str) -> None:
        chain = [account.name, inviter]
        while self.accounts[chain[-1]].inviter:
            chain.append(self.accounts[chain[-1]].inviter)
        self.network += [name for name in chain if name not in self.network]
        account.inviter = inviter
        self.accounts[inviter].invited.append(account.name)

    # Isolated margin

    def spare(self, account: Account, freed: int = 0) -> int:
        """What the cross positions can give while their ratio stays where liquidation stops."""
        equity, _, maintenance = self.cross(account)
        return max(0, equity + freed - ceil(maintenance / self.config["stop"]))

    def isolated_fits(self, account: Account, order: Order, opens: int) -> bool:
        """Whether the balance still has the margin for what a resting order of an isolated product opens."""
        held, side = account.holdings[order.code], order.side
        if opens <= 0 or not held.isolated or order.reducing:
            return True
        unit, mark, freed = held.market.unit, held.market.mark, 0
        if cover := account.cover(held, side):  # what it closes before sets margin free
            beyond = min(0, side * (mark - order.price)) * unit * cover
            freed = held.equity + beyond - self.fee(account, held.market, cover * order.price * unit)
        need, loss = held.need(side, opens, opens * order.price * unit)
        given = min(need, self.spare(account, freed)) - loss
        return given * self.config["stop"] > held.more_maintenance(side, opens)

    def release(self, account: Account, held: Holding, entry: int, gained: int, opened: int) -> None:
        """What closes gives its share of the margin back; the rest keeps its initial margin; losses are paid first."""
        if held.size == opened:
            self.assign(account, held, -held.assigned)
            return
        share = held.assigned * entry // (entry + sum(leg.value for leg in held.legs.values()))
        spare = held.equity - held.initial(held.notional)
        self.assign(account, held, -max(min(share, spare), -gained))
