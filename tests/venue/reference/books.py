"""The venue's rules of orders and money, in the plainest way: lists scanned from the start, no indexes, no caches.

It is the definition that the engine is held against, and shares no code with it. Comments name the sections of the risk
rules, C1 to C9 their clarifications. `pending` holds the clarifications that the venue under comparison does not have
yet: where a decision depends on one of them, its number is put into `used`, and the comparison leaves the action out.
Units: ticks, steps, micro-USDC, ms. Rounding (Numbers): who pays is rounded up, who receives is rounded down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.venue.reference.money import DAY_MS, Account, Holding, Market, Order, RefusedByRules

Item = Mapping[str, Any]
FEES, ROUNDING, CLEARING, INSURANCE, REFERRALS, LP = "fees", "rounding", "clearing", "insurance", "referrals", "lp"
OWN = (FEES, ROUNDING, CLEARING, INSURANCE, REFERRALS, LP)
NETWORK = ((0, 10), (1_000_000, 15), (5_000_000, 20), (25_000_000, 25), (100_000_000, 30), (500_000_000, 35))


def require(condition: bool, reason: str) -> None:
    """Refuse an action unless the condition holds."""
    if not condition:
        raise RefusedByRules(reason)


class Books:
    """Accounts, orders and prices, with the money rules; `rows` and `events` are those of the present step."""

    def __init__(self, markets: Iterable[Market], config: Mapping[str, Any], time: int, pending: frozenset[int]):
        self.markets, self.config, self.time, self.pending = (
            {each.code: each for each in markets},
            config,
            time,
            pending,
        )
        self.accounts: dict[str, Account] = {name: Account(name) for name in OWN}
        self.orders: dict[int, Order] = {}
        self.liquidations: dict[tuple[str, int], int] = {}
        """(account, product; 0 = its cross positions) → when the next slice is closed."""
        self.seen: dict[int, int] = {}
        """C6: order → trigger price that a trade has met."""
        self.uncovered: list[tuple[str, int, int]] = []
        self.network: list[str] = []
        self.last_order = self.last_place = self.last_trade = 0
        self.rows: list[tuple[Any, ...]] = []
        self.events: list[tuple[Any, ...]] = []
        self.used: set[int] = set()

    # Numbers: cash moves between two accounts, "" is outside or isolated margin; the rest of rounding is booked too

    def transfer(
        self, payer: str, receiver: str, paid: int, received: int, kind: str, product: int = 0, about: str = ""
    ) -> None:
        if received < 0:
            payer, receiver, paid, received = receiver, payer, -received, -paid
        if not paid or payer == receiver:
            return
        for name, amount in ((payer, -paid), (receiver, received), (ROUNDING, paid - received)):
            if name:
                self.accounts[name].balance += amount
        self.rows.append((kind, payer, paid, receiver, received, product, about))

    def move(self, payer: str, receiver: str, amount: int, kind: str, product: int = 0, about: str = "") -> None:
        self.transfer(payer, receiver, amount, amount, kind, product, about)

    def assign(self, account: Account, held: Holding, amount: int) -> None:
        held.assigned += amount
        self.move(account.address, "", amount, "ISOLATED_MARGIN", held.market.code)

    def account(self, name: str) -> Account:
        return self.accounts.setdefault(name, Account(name))

    def holding(self, account: Account, code: int) -> Holding:
        market = self.markets[code]
        return account.holdings.setdefault(code, Holding(market, Fraction(min(20, market.tiers[0][2]))))

    def resting(self, account: str, code: int, side: int, reducing: bool) -> list[Order]:
        return [
            each for each in self.orders.values()
            if each.place and (each.address, each.product, each.side) == (account, code, side)
            and each.reducing == reducing
        ]  # fmt: skip

    def levels(self, code: int, side: int) -> list[Order]:
        """Order rules: the book, best price first, then first come."""
        found = [each for each in self.orders.values() if each.place and each.product == code and each.side == side]
        return sorted(found, key=lambda each: (-side * each.price, each.place))

    def quotes(self, code: int) -> tuple[int, int]:
        bids, asks = self.levels(code, 1), self.levels(code, -1)
        return (bids[0].price if bids else 0), (asks[0].price if asks else 0)

    # Margin

    def exposure(self, account: Account, held: Holding, more: Mapping[int, int] | None = None) -> int:
        """Notional that needs initial margin: the position with whichever of its orders could fill."""
        value = {
            side: sum(o.price * o.leaves for o in self.resting(account.address, held.market.code, side, False))
            * held.market.unit + (more or {}).get(side, 0)
            for side in (1, -1)
        }  # fmt: skip
        if account.hedge:
            return held.held + value[1] + value[-1]
        net = (held.legs[1].size - held.legs[-1].size) * held.market.mark_value
        return max(net + value[1], value[-1] - net, net, -net)

    def cross(
        self, account: Account, own: Holding | None = None, more: Mapping[int, int] | None = None
    ) -> tuple[int, int, int]:
        """Equity, initial and maintenance margin of the cross positions and of all orders."""
        equity, initial, maintenance = account.balance, 0, 0
        for held in account.holdings.values():
            need = self.exposure(account, held, more if held is own else None)
            initial += held.initial(need - held.held if held.isolated else need)
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

    def figures(self, account: Account, product: int) -> tuple[int, int]:
        """Equity and maintenance margin of the isolated position in a product, or (0) of the cross positions."""
        if product:
            held = account.holdings[product]
            return held.assigned + held.unrealized, held.maintenance
        crossed = [held for held in account.holdings.values() if not held.isolated and held.open]
        equity = account.balance + sum(held.unrealized for held in crossed)
        return equity, sum(held.maintenance for held in crossed)

    def rates(self, account: Account) -> tuple[Fraction, Fraction] | None:
        """Trading fees by 30-day volume; None below the first tier."""
        volume = account.traded(self.time)
        return next((tier[1:] for tier in reversed(self.config["fee_tiers"]) if volume >= tier[0]), None)

    def fee_rates(self, account: Account, market: Market) -> tuple[Fraction, Fraction]:
        tier = self.rates(account) or (market.maker, market.taker)
        return min(market.maker, tier[0]), min(market.taker, tier[1])

    def check_increase(self, account: Account, held: Holding, order: Order, steps: int, limit: int) -> None:
        """A risk-increasing order is accepted only if equity covers initial margin after it."""
        market, side, unit = held.market, order.side, held.market.unit
        cover = 0 if account.hedge else held.legs[-side].size
        resting = sum(each.leaves for each in self.resting(account.address, market.code, side, False))
        if resting + steps <= cover:
            return
        if not cover:
            self.check_opening(account, held, order, steps, limit, 0)
            return
        self.used.add(1)  # C1: what closes is accepted; what is beyond is judged as if the rest were closed already
        if steps <= cover:
            return
        leg, loose = held.legs[-side], self.resting(account.address, market.code, side, False)
        kept = leg.size, leg.value, account.balance, held.assigned, [each.place for each in loose]
        cost = ceil(cover * limit * unit * (max(self.fee_rates(account, market)) + order.builder_rate))
        account.balance += side * (leg.value - cover * limit * unit) - cost + held.assigned
        leg.size = leg.value = held.assigned = 0
        for each in loose:  # they lose their cover, and are cut where there is no margin for them
            each.place = 0
        try:
            self.check_opening(account, held, order, steps - cover, limit, cover)
        finally:
            leg.size, leg.value, account.balance, held.assigned, places = kept
            for each, place in zip(loose, places, strict=True):
                each.place = place

    def check_opening(
        self, account: Account, held: Holding, order: Order, steps: int, limit: int, closing: int
    ) -> None:
        """Check the steps that open, after `closing` steps of the order have closed the opposite leg."""
        market, side, unit = held.market, order.side, held.market.unit
        if (account.address, market.code if held.isolated else 0) in self.liquidations:
            raise RefusedByRules("the position is being liquidated")
        taken = paid = met = 0
        for maker in self.levels(market.code, -side):
            if taken == steps or (maker.price - limit) * side > 0:
                break
            if maker.address != account.address:
                skipped = min(maker.leaves, closing)
                part, closing = min(maker.leaves - skipped, steps - taken), closing - skipped
                if not part:
                    continue
                taken, paid, met = taken + part, paid + part * maker.price, met + 1
        worst = limit if side > 0 else max(limit, market.mark)  # what trades below mark counts at mark
        value = worst * steps * unit
        own = held.legs[side].size - (0 if account.hedge else held.legs[-side].size)
        placed = sum(each.price * each.leaves for each in self.resting(account.address, market.code, side, False))
        reach = own * market.mark_value + placed * unit + value + max(0, market.mark - worst) * taken * unit
        require(reach <= market.max_notional, "maxPositionNtnl")
        require(held.leverage <= market.highest_leverage(reach), "the tier's leverage")
        equity, initial, _ = self.cross(account, held, {side: value})
        if taken:
            equity -= max(0, side * (paid - market.mark * taken)) * unit
            equity -= ceil(paid * unit * max(self.fee_rates(account, market)))
            equity -= ceil(paid * unit * order.builder_rate)
            # builder fees and isolated margins are rounded up at every fill
            equity -= (met - 1) * (bool(order.builder_rate) + held.isolated)
        if held.isolated and held.open:
            own_equity = held.assigned + held.unrealized
            if own_equity < held.initial(held.held):  # C4: above its maintenance margin, not its initial margin
                self.used.add(4)
                require(own_equity > held.maintenance, "the isolated position's maintenance margin")
        require(equity >= initial, "initial margin")

    # Fees

    def charge(self, account: Account, order: Order, opened: int, closed: int, maker: bool) -> tuple[int, int, int]:
        """Fees: the fills of one order are rounded together; returns the opening, closing and builder's fee."""
        market, value = self.markets[order.product], opened + closed
        day = self.time // DAY_MS
        account.volumes[day] = account.volumes.get(day, 0) + value
        rate = self.fee_rates(account, market)[0 if maker else 1]
        if order.kind == "ADL" or (order.kind == "LIQUIDATION" and (7 in self.pending or not order.reduce)):
            rate = Fraction(0)  # C7: what the book takes of a liquidated position pays the taker fee
        before, order.exact_fee = order.exact_fee, order.exact_fee + value * rate
        paid = ceil(order.exact_fee) - ceil(before)
        self.transfer(account.address, FEES, paid, floor(value * rate), "TRADING_FEE", market.code, str(order.id))
        if paid > 0:
            self.rebate(account, paid)
        extra = ceil(value * order.builder_rate)
        if extra:
            part = floor(value * order.builder_rate)
            self.account(order.builder)
            self.transfer(account.address, order.builder, extra, part, "BUILDER_FEE", market.code, str(order.id))
        close_fee = min(paid, ceil(closed * rate)) if opened else paid
        return paid - close_fee, close_fee, extra

    def rebate(self, payer: Account, fee: int) -> None:
        """Referral: the inviter's 10–35 % by the volume of its network, the second tier's 5 %; paid once a day."""
        if not payer.inviter:
            return
        inviter = self.accounts[payer.inviter]
        volume = sum(self.accounts[each].traded(self.time) for each in inviter.invited)
        first = floor(fee * Fraction(max(part for start, part in NETWORK if volume >= start * 10**6), 100))
        second = floor(fee * Fraction(5, 100)) if inviter.inviter else 0
        self.move(FEES, REFERRALS, first + second, "REFERRAL_REBATE", 0, payer.address)
        for name, part in ((inviter.address, first), (inviter.inviter, second)):
            if part:
                due = self.accounts[name].due
                due[payer.address] = due.get(payer.address, 0) + part

    def bind(self, account: Account, inviter: str) -> None:
        require(not account.inviter and inviter != account.address, "bound, or its own code")
        chain, above = [account.address], inviter
        while above:
            require(above != account.address, "a circle")
            chain.append(above)
            above = self.accounts[above].inviter
        self.network += [name for name in chain if name not in self.network]
        account.inviter = inviter
        self.accounts[inviter].invited.append(account.address)

    # Isolated margin

    def isolated_need(self, held: Holding, side: int, steps: int, price: int) -> tuple[int, int]:
        """What opening takes from the balance: initial margin and the loss against mark; and that loss."""
        value, at_mark = steps * price * held.market.unit, steps * held.market.mark_value
        loss = max(0, side * (value - at_mark))
        return held.initial(value if side > 0 else at_mark) + loss, loss

    def spare(self, account: Account) -> int:
        """What the cross positions can give while their ratio stays where liquidation stops."""
        equity, _, maintenance = self.cross(account)
        return max(0, equity - ceil(maintenance / Fraction(self.config["stop"])))

    def isolated_fits(self, account: Account, order: Order, opens: int) -> bool:
        if opens <= 0:
            return True
        held, side = account.holdings[order.product], order.side
        need, loss = self.isolated_need(held, side, opens, order.price)
        size, market = held.legs[side].size, held.market
        more = market.maintenance((size + opens) * market.mark_value) - market.maintenance(size * market.mark_value)
        return (min(need, self.spare(account)) - loss) * Fraction(self.config["stop"]) > more

    def release(self, account: Account, held: Holding, entry: int, gained: int, opened: int) -> None:
        """What closes gives its share of the margin back; the rest keeps its initial margin; losses are paid first."""
        if sum(leg.size for leg in held.legs.values()) == opened:
            self.assign(account, held, -held.assigned)
            return
        left = sum(leg.value for leg in held.legs.values())
        share = floor(Fraction(held.assigned * entry, entry + left))
        spare = held.assigned + held.unrealized - held.initial(held.held)
        self.assign(account, held, -max(min(share, spare), -gained))
