"""Drives the venue's byte gateway and the reference with the same signed actions, and compares everything after each.

A run is a list of steps (see `steps`). When one differs, `shrink` deletes steps as long as the rest still differs.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from typing import Any

from tests.venue.reference import wire
from tests.venue.reference.margin import CLEARING, FEES, INSURANCE, LP, REFERRALS, ROUNDING
from tests.venue.reference.money import Account, Group, Market
from tests.venue.reference.steps import BUILDERS_TRADER, HEDGED, MIDDLE, Step, Steps, is_coarse
from tests.venue.reference.venue import ReferenceVenue
from tests.venue.wallets import Signer
from toolkit.protocol.enums import OrderStatus, OrderType, TimeInForce, TriggerType
from toolkit.protocol.enums import ReduceOnly as Reduce
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.model import genesis
from toolkit.venue.model.constants import ISOLATED, USDC
from toolkit.venue.programs.referrals import code_of
from toolkit.venue.risk import account_margin, ledger

OWN = {
    FEES: ledger.FEES, ROUNDING: ledger.ROUNDING, CLEARING: ledger.CLEARING, INSURANCE: ledger.INSURANCE,
    REFERRALS: ledger.REFERRALS, LP: ledger.LP_VAULT,
}  # fmt: skip
NAMES = {address: name for name, address in OWN.items()}
INVITED, BUILDER, BUILDERS_AGENT = {1: 0, 2: 1}, 5, 25
BALANCES = (10_000, 2_500, 2_500, 5_000, 2_500, 10_000)
RATE = 10**8


def market_of(row: dict[str, Any], table: list[dict[str, str]], price: str) -> Market:
    """Return the market of a product-meta row and its margin table."""
    tick, step, most = Fraction(row["tickSize"]), Fraction(row["stepSize"]), int(row["maxLeverage"])
    tiers = [
        (int(tier["minimumValue"]) * 10**6, Fraction(tier["maintainMarginRatio"]), min(int(tier["maxLeverage"]), most))
        for tier in table
    ]
    return Market(
        code=int(row["code"]), tick=tick, step=step, unit=int(tick * step * 10**6), tiers=tiers,
        max_notional=int(row["maxPositionNtnl"]) * 10**6, min_value=int(row["minOrderValue"]) * 10**6,
        max_steps=int(Fraction(row["maxOrderQty"]) / step), max_slippage=Fraction(row["maxSlippagePct"]),
        maker=Fraction(row["defaultMakerFeeRate"]), taker=Fraction(row["defaultTakerFeeRate"]),
        funding_ms=row["fundingInterval"] * 1000,
        **dict.fromkeys(("oracle", "mark", "last"), int(Fraction(price) / tick)),
    )  # fmt: skip


def group_of(group: Group) -> tuple[str, int]:
    """Return the names of a margin group: its account, and its product or 0 for all cross positions."""
    return (group.name, 0) if isinstance(group, Account) else (group.account.name, group.market.code)


def venue_name(name: str) -> str:
    return OWN.get(name, name)


def settings_of(config: genesis.Config) -> dict[str, Any]:
    """Return the numbers of a venue that are a choice, as the reference takes them."""
    tiers = config.fee_tiers
    return {
        "price_ms": config.price_interval,
        "samples": (config.basis_samples, config.book_samples),
        "impact_margin": config.impact_margin,
        "stop": Fraction(config.liquidation_stop, RATE),
        "whole": config.liquidation_whole,
        "slice": Fraction(config.liquidation_slice, RATE),
        "pause": config.liquidation_pause,
        "lp_leverage": Fraction(config.lp_leverage, 100),
        "lp_fee": Fraction(config.takeover_fee, RATE),
        "unwind": config.lp_slice,
        "unwind_ms": config.lp_pause,
        "fee_tiers": [(tier.volume, Fraction(tier.maker, RATE), Fraction(tier.taker, RATE)) for tier in tiers],
        "order_of": venue_name,
    }


def first(coarse: bool) -> genesis.Genesis:
    """Return a small venue: two products with low tiers and limits, a poor LP vault, small slices, makers' rebates."""
    products = [dict(row) for row in genesis.default_products()[:2]]
    limits = {"maxPositionNtnl": "250000", "minOrderValue": "100", "fundingInterval": 3_600 if coarse else 300}
    rows = [row | limits | {"maxOrderQty": "3.9" if row["code"] == "1" else "99"} for row in products]
    table = genesis.default_margin_tables()[1]
    table = [table[0], table[1] | {"minimumValue": "60000"}]
    tiers = [genesis.FeeTier(each.volume // 50, each.maker - 8_001, each.taker) for each in genesis.default_fee_tiers()]
    config = genesis.Config(
        price_interval=600_000 if coarse else 3_000, fee_tiers=tiers,
        lp_capital=3_000 * USDC, liquidation_whole=25_000 * USDC,
    )  # fmt: skip
    prices = {code: f"{price}.00" for code, price in MIDDLE.items()}
    return genesis.Genesis(products=rows, margin_tables={1: table}, prices=prices, config=config)


class Pair:
    """One venue and one reference, taken through the same steps."""

    def __init__(self, coarse: bool = False) -> None:
        begin = first(coarse)
        self.venue = LocalVenue(config=begin, clock="manual", market=False, accounts=6)
        self.masters = [Signer(development.account(index)) for index in range(6)]
        self.agents = [Signer(development.account(index + 10)) for index in range(6)]
        self.names = [each.address.lower() for each in self.masters]
        self.builders_agent = Signer(development.account(BUILDERS_AGENT))
        self.sent: Counter[str] = Counter()
        self._open_accounts()
        markets = [market_of(row, begin.margin_tables[1], begin.prices[int(row["code"])]) for row in begin.products]
        self.reference = ReferenceVenue(markets, settings_of(begin.config), self.venue.host.now_ms())
        self.reference.accounts[LP].balance = begin.config.lp_capital
        for index, name in enumerate(self.names):
            self.reference.open_account(name, BALANCES[index] * 10**6, index in HEDGED)
        for invited, inviter in INVITED.items():
            wire.bind(self.reference, self.reference.accounts[self.names[invited]], self.names[inviter])
        self._mark()

    def _open_accounts(self) -> None:
        approval = {"agentName": "r", "validitySeconds": 10**7, "dexChain": "Testnet"}
        for index, (master, agent) in enumerate(zip(self.masters, self.agents, strict=True)):
            self._accepted(master, {"type": "approveAgent", "agentAddress": agent.address, **approval})
            if amount := 10_000 - BALANCES[index]:
                destination = {"destination": master.address, "amount": str(amount)}
                self._accepted(master, {"type": "withdraw", **destination})
            if index in HEDGED:
                self.venue.control.set_position_mode(master.address, "HEDGE")
        for invited, inviter in INVITED.items():
            code = code_of(self.names[inviter])
            self._accepted(self.agents[invited], {"type": "bindReferral", "referralCode": code})
        self._accepted(self.masters[BUILDER], {"type": "registerBuilder", "name": "reference", "dexChain": "Testnet"})
        self._accepted(self.masters[BUILDERS_TRADER], {
            "type": "approveAgentToBuilder", "agentAddress": self.builders_agent.address, "dexChain": "Testnet",
            "builderAddress": self.masters[BUILDER].address, "maxFeeRate": "0.001", "validitySeconds": 10**7,
        })  # fmt: skip

    def _accepted(self, signer: Signer, action: dict[str, Any]) -> None:
        answer = signer.do(self.venue, action)
        assert answer["code"] == 0, answer

    def step(self, step: Step) -> str:
        """Take both through a step; return how they differ, "" when they agree."""
        wire.begin_step(self.reference)
        self._mark()
        self.sent[step[0] if step[0] != "act" else step[2]["type"]] += 1
        answered, expected = self._send(*step), self.refer(*step)
        if answered != expected:
            return f"accepted: venue {answered}, reference {expected}"
        return self.difference()

    def refer(self, kind: str, *rest: Any) -> list[bool]:
        if kind == "oracle":
            self.reference.set_oracle(*rest)
        elif kind == "advance":
            self.reference.advance(self.reference.time + rest[0])
        elif kind == "fund":
            wire.deposit(self.reference, self.names[rest[0]], int(rest[1]) * 10**6)
        elif kind == "lose":
            wire.deposit(self.reference, self.names[rest[0]], -self._lost(*rest))
        else:
            return wire.act(self.reference, self.names[rest[0]], rest[1])
        return []

    def _send(self, kind: str, *rest: Any) -> list[bool]:
        if kind == "oracle":
            self.venue.control.set_oracle(*rest)
        elif kind == "advance":
            self.venue.advance(f"{rest[0]}ms")
        elif kind == "fund":
            self.venue.control.fund(self.names[rest[0]], rest[1])
        elif kind == "lose":
            core = self.venue.host.core
            core.open_step()
            ledger.deposit(core, core.state.accounts[self.names[rest[0]]], -self._lost(*rest))
            core.run_hooks()
        else:
            index, action = rest
            signer = self.masters[index] if action["type"] == "withdraw" else self.agents[index]
            signer = self.builders_agent if action["type"] == "placeBuilderOrder" else signer
            answer = json.loads(signer.post(self.venue, action).body)
            assert answer["code"] in (0, 40230), (action, answer)
            results = (answer["data"] or {}).get("results")
            if action["type"] in ("placeBracketOrder", "replaceOrder") or results is None:
                return [answer["code"] == 0]
            return [result["txCode"] == 0 for result in results]
        return []

    def _lost(self, index: int, amount: int) -> int:
        """Return what a trader loses: never more than its balance, also when steps before were deleted."""
        return max(0, min(amount, self.reference.accounts[self.names[index]].balance))

    # what is compared

    def _mark(self) -> None:
        history = self.venue.host.core.state.history
        self._events, self._rows = len(history.order_events.records), len(history.ledger.records)

    def difference(self) -> str:
        """Return the first thing in which the two differ, with both sides; "" when they agree."""
        for compare in (self._prices, self._log, self._ledger, self._orders, self._positions, self._money):
            venue, reference = compare()
            if venue != reference:
                pairs = [(a, b) for a, b in zip(venue, reference, strict=False) if a != b]
                shown = pairs[:2] or [*venue[len(reference) :], *reference[len(venue) :]][:3]
                counts = f"{len(venue)} and {len(reference)}"
                return f"{compare.__name__[1:]} ({counts}): " + "; ".join(map(str, shown))
        return ""

    def _prices(self) -> tuple[list[Any], list[Any]]:
        found = self.venue.host.core.state.markets.values()
        accounts = [account.holdings for account in self.reference.accounts.values()]
        longs = {code: sum(held[code].legs[1].size for held in accounts) for code in MIDDLE}
        return (
            [(each.product, each.oracle, each.mark, each.last, each.open_interest) for each in found],
            [(m.code, m.oracle, m.mark, m.last, longs[m.code]) for m in self.reference.markets.values()],
        )

    def _log(self) -> tuple[list[Any], list[Any]]:
        venue = [
            (
                NAMES.get(e.address, e.address), e.order_id, OrderStatus(e.status).name, OrderType(e.type).name,
                e.price, e.quantity, e.leaves, e.trigger, e.fill_price, e.fill_quantity, e.exec_id, e.role, e.pnl,
                e.open_fee, e.close_fee, e.builder_fee,
            )
            for e in self.venue.host.core.state.history.order_events.records[self._events:]
        ]  # fmt: skip
        return venue, self.reference.events

    def _ledger(self) -> tuple[list[Any], list[Any]]:
        venue = [
            (r.kind, NAMES.get(r.payer, r.payer), r.paid, NAMES.get(r.receiver, r.receiver), r.received, r.product,
             r.reference.partition(" ")[0])
            for r in self.venue.host.core.state.history.ledger.records[self._rows:]
        ]  # fmt: skip
        return venue, self.reference.rows

    def _orders(self) -> tuple[list[Any], list[Any]]:
        venue = [
            (
                o.id, NAMES.get(o.address, o.address), o.product, o.side, o.closing, OrderType(o.type).name,
                TimeInForce(o.tif).name, Reduce(o.reduce).name if o.reduce else "", o.price, o.quantity, o.leaves,
                o.filled, o.value, o.fee, OrderStatus(o.status).name, o.trigger,
                TriggerType(o.trigger_by).name if o.trigger_by else "", o.armed, o.triggered, o.group, o.cover,
                o.priority,
            )
            for account in self.venue.host.core.state.accounts.values() for o in account.orders.values()
        ]  # fmt: skip
        reference = [
            (
                o.id, o.account.name, o.market.code, o.side, o.closing, o.kind, o.tif, o.reduce, o.price, o.quantity,
                o.leaves, o.filled, o.value, o.fee, o.status, o.trigger, o.by, o.armed, o.triggered, o.group, o.cover,
                o.place,
            )
            for o in self.reference.orders.values()
        ]  # fmt: skip
        return sorted(venue), reference

    def _positions(self) -> tuple[list[Any], list[Any]]:
        venue, reference = [], []
        for name, account in self.reference.accounts.items():
            real = self.venue.host.core.state.accounts[venue_name(name)]
            for code in self.reference.markets:
                p, held = real.positions.get(code), account.holdings[code]
                own = [(leg.size, leg.value, leg.pnl, leg.fees, leg.funding) for leg in held.legs.values()]
                reference.append((held.leverage * 100, held.isolated, held.assigned, *own))
                if p is None:
                    venue.append((2000, False, 0, (0,) * 5, (0,) * 5))
                else:
                    legs = [(leg.size, leg.value, leg.pnl, leg.fees, leg.funding) for leg in (p.long, p.short)]
                    venue.append((p.leverage, p.mode == ISOLATED, p.assigned, *legs))
        return venue, reference

    def _money(self) -> tuple[list[Any], list[Any]]:
        """Balances, what is available and withdrawable, and who is being liquidated."""
        core, reference = self.venue.host.core, self.reference
        accounts = [(core.state.accounts[venue_name(name)], each) for name, each in reference.accounts.items()]
        venue: list[Any] = [real.balance for real, _ in accounts]
        own: list[Any] = [account.balance for _, account in accounts]
        for name in self.names:
            real, account = core.state.accounts[name], reference.accounts[name]
            free = account_margin.available(core, real), account_margin.withdrawable(core, real)
            venue.append((*free, account_margin.healthy(core, real)))
            own.append((reference.available(account), reference.withdrawable(account), healthy(account)))
        venue += sorted((each.address, each.product, each.next) for each in core.state.liquidations.values())
        return venue, own + sorted((*group_of(each), each.next_slice) for each in reference.flagged())

    def wallets(self) -> tuple[list[Any], list[Any]]:
        """Return what each trader has as the venue shows it, and as it is by the reference."""
        core, venue, own = self.venue.host.core, [], []
        for account in map(self.reference.accounts.__getitem__, self.names):
            held, free = list(account.holdings.values()), self.reference.available(account)
            assigned, pnl = sum(each.assigned for each in held), sum(each.unrealized for each in held)
            cash, need = account.balance + assigned, sum(each.maintenance() for each in held)
            venue.append(tuple(account_margin.wallet(core, core.state.accounts[account.name])))
            own.append((
                cash, cash + pnl, free, self.reference.withdrawable(account), account.equity - free + assigned, need,
                pnl, assigned,
            ))  # fmt: skip
        return venue, own


def healthy(account: Account) -> bool:
    """Liquidation 1: whether no margin group of an account is to be flagged, and nothing is owed."""
    groups = [account, *(held for held in account.holdings.values() if held.isolated and held.size)]
    sound = all(group.equity > group.maintenance() or not group.maintenance() for group in groups)
    return sound and (bool(account.maintenance()) or account.equity >= 0)


def storm(seed: int, count: int) -> tuple[Pair, list[Step], str]:
    """Return the pair after a seed's steps, the steps, and the difference of the last one ("" = none)."""
    pair, steps, difference = Pair(is_coarse(seed)), list[Step](), ""
    made = Steps(seed, pair.reference, pair.names, pair.masters[BUILDER].address)
    while len(steps) < count and not difference:
        steps.append(made.next())
        difference = _take(pair, steps[-1])
    return pair, steps, difference


def replay(steps: list[Step], coarse: bool) -> tuple[int, str]:
    """Return after how many of these steps venue and reference differ, and how; ("" = they never do)."""
    pair = Pair(coarse)
    for number, step in enumerate(steps, 1):
        if difference := _take(pair, step):
            return number, difference
    return len(steps), ""


def _take(pair: Pair, step: Step) -> str:
    try:
        return pair.step(step)
    except AssertionError as error:  # an invariant of the venue, which is as good as a difference
        return f"AssertionError: {error}"


def shrink(steps: list[Step], coarse: bool) -> tuple[list[Step], str]:
    """Return a short list of steps that still differs, and how, when steps and items of batches are deleted."""
    number, difference = replay(steps, coarse)
    steps, before = steps[:number], 0
    while before != (before := sum(map(_items, steps))):
        size = max(1, len(steps) // 2)
        while size:
            at = 0
            while at < len(steps):
                fewer = steps[:at] + steps[at + size :]
                number, found = replay(fewer, coarse)
                if found:
                    steps, difference = fewer[:number], found
                else:
                    at += size
            size //= 2
        for at in range(len(steps)):
            item = _items(steps[at]) - 1
            while item >= 0 and _items(steps[at]) > 1:
                fewer = [*steps[:at], _without(steps[at], item), *steps[at + 1 :]]
                if found := replay(fewer, coarse)[1]:
                    steps, difference = fewer, found
                item -= 1
    return steps, difference


def _items(step: Step) -> int:
    return len(step[2]["orders"]) if step[0] == "act" and step[2]["type"] == "placeOrder" else 1


def _without(step: Step, item: int) -> Step:
    kind, index, action = step
    return kind, index, action | {"orders": action["orders"][:item] + action["orders"][item + 1 :]}


def check(seed: int, count: int) -> Pair:
    """Run a seed's steps; AssertionError with the seed and a short list of steps when the two differ."""
    pair, steps, difference = storm(seed, count)
    if difference:
        short, difference = shrink(steps, is_coarse(seed))
        listed = "\n".join(map(repr, short))
        raise AssertionError(f"seed {seed}, {len(steps)} steps, shrunk to {len(short)}:\n{listed}\n{difference}")
    return pair
