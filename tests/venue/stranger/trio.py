"""The venue and both references, taken through the same steps and compared by what the venue shows."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.venue.reference.driver import BALANCES, INVITED, Pair, first
from tests.venue.reference.steps import BUILDERS_TRADER, HEDGED, Step, Steps, is_coarse
from toolkit.venue.model import genesis
from toolkit.venue.risk import ledger

from . import feeds, held
from .books import Product
from .money import CLEARING, FEES, INSURANCE, LP, REFERRALS, RESERVES, ROUNDING, Settings
from .shown import Shown
from .wire import Reference

OWN = {
    FEES: ledger.FEES, ROUNDING: ledger.ROUNDING, CLEARING: ledger.CLEARING, INSURANCE: ledger.INSURANCE,
    REFERRALS: ledger.REFERRALS, LP: ledger.LP_VAULT, RESERVES: ledger.RESERVES,
}  # fmt: skip
RATE = 10**8
HERE = Path(__file__).parent


def products_of(begin: genesis.Genesis) -> list[Product]:
    made = []
    for row in begin.products:
        tick, step = Fraction(row["tickSize"]), Fraction(row["stepSize"])
        table = begin.margin_tables[row["marginTableId"]]
        made.append(Product(
            code=int(row["code"]), symbol=row["symbol"], tick=tick, step=step,
            tiers=[(int(t["minimumValue"]) * 10**6, Fraction(t["maintainMarginRatio"]), Fraction(t["maxLeverage"]))
                   for t in table],
            table=row["marginTableId"], max_steps=int(Fraction(row["maxOrderQty"]) / step),
            max_notional=int(row["maxPositionNtnl"]) * 10**6, min_value=int(row["minOrderValue"]) * 10**6,
            max_slippage=Fraction(row["maxSlippagePct"]), max_leverage=Fraction(row["maxLeverage"]),
            maker=Fraction(row["defaultMakerFeeRate"]), taker=Fraction(row["defaultTakerFeeRate"]),
            interval=row["fundingInterval"] * 1000, oracle=int(Fraction(begin.prices[int(row["code"])]) / tick),
        ))  # fmt: skip
    return made


def settings_of(config: genesis.Config) -> Settings:
    return Settings(
        price_ms=config.price_interval, basis_samples=config.basis_samples, book_samples=config.book_samples,
        impact_margin=config.impact_margin, interest=Fraction(config.interest, RATE),
        clamp=Fraction(config.funding_clamp, RATE), cap=Fraction(config.funding_cap, RATE),
        fee_tiers=tuple((t.volume, Fraction(t.maker, RATE), Fraction(t.taker, RATE)) for t in config.fee_tiers),
        volume_days=config.volume_days, stop=Fraction(config.liquidation_stop, RATE), whole=config.liquidation_whole,
        slice=Fraction(config.liquidation_slice, RATE), pause=config.liquidation_pause,
        takeover_fee=Fraction(config.takeover_fee, RATE), lp_capital=config.lp_capital,
        lp_leverage=Fraction(config.lp_leverage, 100), lp_slice=config.lp_slice, lp_pause=config.lp_pause,
        withdrawal_minimum=config.withdrawal_minimum, faucet_amount=config.faucet_amount,
        faucet_pause=config.faucet_pause,
    )  # fmt: skip


class Trio:
    """One venue with both references."""

    def __init__(self, coarse: bool = False) -> None:
        self.pair, self.reasons = Pair(coarse), dict[str, str]()
        begin = first(coarse)
        self.venue = self.pair.venue
        self.names = self.pair.names
        self.mine = Reference(products_of(begin), settings_of(begin.config), self.venue.host.now_ms())
        self.mine.addresses = OWN
        self.shown = Shown(self.mine, OWN)
        for name in self.names:
            self.mine.deposit(name, 10_000 * 10**6)
        for index, name in enumerate(self.names):
            if BALANCES[index] != 10_000:
                self.mine.withdraw(self.mine.accounts[name], (10_000 - BALANCES[index]) * 10**6, name)
            self.mine.accounts[name].hedge = index in HEDGED
        for invited, inviter in INVITED.items():
            self.mine.bind(self.mine.accounts[self.names[invited]], self.names[inviter])
        self.mine.register_builder(self.names[5])
        agent = self.pair.builders_agent.address.lower()
        self.mine.approve_builder(self.names[BUILDERS_TRADER], agent, self.names[5], Fraction(1, 1000), 10**7)
        self.reader = feeds.Reader(self.venue, [p.symbol for p in self.mine.products.values()], self.names)
        self.mark_step()

    def mark_step(self) -> None:
        self.logged, self.booked = len(self.mine.events), len(self.mine.rows)
        self.closed, self.paid = len(self.mine.closings), len(self.mine.payments)

    def ask(self, path: str, **values: Any) -> Any:
        query = "&".join(f"{name}={value}" for name, value in values.items())
        answer = json.loads(self.venue.host.gateway.handle("GET", path, query, b"", "t").body)
        assert answer["code"] == 0, answer
        data = answer["data"]
        return data["items"] if isinstance(data, dict) and "items" in data else data

    def step(self, step: Step) -> tuple[str, str]:
        """Return how the venue differs from the older reference, and from the stranger's ("" = it does not)."""
        self.mark_step()
        before = self.equities()
        lost = self.pair._lost(*step[1:]) if step[0] == "lose" else 0
        older = self.pair.step(step)
        self.take(step, lost)
        return older, self.difference() or self.broken(step, before)

    def equities(self) -> tuple[list[int], held.Equities, held.Equities]:
        marks = [product.mark for product in self.mine.products.values()]
        names = self.names
        return marks, held.own_equities(self.mine, names), held.shown_equities(self.ask, names, OWN)

    def broken(self, step: Step, before: tuple[list[int], held.Equities, held.Equities]) -> str:
        """Return which invariants a step has broken, by the reference's state and by Info's answers."""
        found, after = held.crossed(self.mine, self.reader.books), self.equities()
        if step[0] == "act" and step[2]["type"] not in held.BRINGS and after[0] == before[0]:
            found += held.broken(before[1], after[1]) + held.broken(before[2], after[2])
        return "; ".join(found)

    def take(self, step: Step, lost: int) -> None:
        kind, *rest = step
        mine = self.mine
        if kind == "oracle":
            product = mine.products[rest[0]]
            mine.set_oracle(rest[0], int(Fraction(rest[1]) / product.tick))
        elif kind == "advance":
            mine.advance(mine.time + rest[0])
        elif kind == "fund":
            mine.deposit(self.names[rest[0]], int(rest[1]) * 10**6)
            mine.after()
        elif kind == "lose":
            mine.deposit(self.names[rest[0]], -lost)
            mine.after()
            host = self.venue.host  # no command has done this, which would tell the feed
            host.feed.publish(host.core.events)
            host.core.events.clear()
        else:
            mine.command(self.names[rest[0]], rest[1])

    # what is compared

    def reason(self, row: Any) -> str:
        """Return why the venue ended an order, by the row of its event."""
        return self.reasons.get(str(row.get("id")), "") if isinstance(row, dict) else ""

    def difference(self) -> str:
        for compare in (self.prices, self.log, self.ledger, self.positions, self.wallets):
            venue, mine = compare()
            if venue != mine:
                pairs = [(a, b) for a, b in zip(venue, mine, strict=False) if a != b]
                shown: list[Any] = [(differing(a, b), self.reason(a)) for a, b in pairs[:2]]
                shown = shown or [*venue[len(mine) :], *mine[len(venue) :]][:3]
                return f"{compare.__name__} ({len(venue)}, mine {len(mine)}): " + "; ".join(map(str, shown))
        self.reader.take()
        for channel, (told, own) in feeds.compare(self.reader, self.shown, self.logged, self.closed, self.paid).items():
            if told != own:
                return f"feed {channel}: {differing_all(told, own)}"
        return ""

    def prices(self) -> tuple[list[Any], list[Any]]:
        found = self.venue.host.core.state.markets.values()
        return (
            [(each.product, each.oracle, each.mark, each.last) for each in found],
            [(p.code, p.oracle, p.mark, p.last) for p in self.mine.products.values()],
        )

    def log(self) -> tuple[list[Any], list[Any]]:
        mine = [self.shown.event(n, e) for n, e in enumerate(self.mine.events[self.logged :], self.logged + 1)]
        venue, count = [], Counter(row["userAddr"] for row in mine)
        unread = len(self.venue.host.core.state.history.order_events.records) - len(self.mine.events)
        for name in (*self.names, OWN[LP]) if unread else count:
            rows = self.ask("/info/order/events", userAddr=name, pageSize=min(500, count[name] + 3))
            rows = [row for row in rows if int(row["id"]) > self.logged]
            self.reasons |= {row["id"]: row["reason"] for row in rows if row["reason"]}
            venue += [cleaned(row, ("blockHeight", "txHash", "reason")) for row in rows]
        if len(mine) > 450:  # more than the pages hold
            return [], []
        return sorted(venue, key=lambda row: int(row["id"])), mine

    def ledger(self) -> tuple[list[Any], list[Any]]:
        mine = self.shown.ledger(self.booked)
        venue, count = [], Counter(row["userAddr"] for row in mine)
        unread = len(self.venue.host.core.state.history.ledger.records) - len(self.mine.rows)
        for name in (*self.names, *OWN.values()) if unread else count:
            rows = self.ask("/info/account/ledger", userAddr=name, pageSize=min(500, count[name] + 3))
            rows = [row for row in rows if row["id"] > self.booked]
            venue += [cleaned(row, ("blockHeight", "txHash", "currency", "balance")) for row in rows]
        if len(mine) > 450:
            return [], []

        def order(row: Any) -> tuple[int, str]:
            return row["id"], row["userAddr"]

        return sorted(venue, key=order), sorted(mine, key=order)

    def positions(self) -> tuple[list[Any], list[Any]]:
        venue, mine = [], []
        for name in (*self.names, OWN[LP]):
            rows = self.ask("/info/position/list", userAddr=name)
            venue += [(name, cleaned(row, ("userAddr", "blockTime", "createTime"))) for row in rows]
            account = self.mine.accounts[LP if name == OWN[LP] else name]
            held = sorted(account.held, key=lambda p: p.product.code)
            mine += [(name, self.shown.position(each)) for each in held]
        return venue, mine

    def wallets(self) -> tuple[list[Any], list[Any]]:
        venue, mine = [], []
        booked = {name for row in self.mine.rows[self.booked :] for name in (row.payer, row.receiver)}
        for name in (*self.names, *(own for name, own in OWN.items() if name == LP or name in booked)):
            rows = self.ask("/info/account/wallet", userAddr=name, includeZero="true")
            account = self.mine.accounts[self.shown.back.get(name, name)]
            for row in rows:
                venue.append((name, cleaned(row, ("blockHeight", "userAddr", "currency", "blockTime"))))
                mine.append((name, self.shown.wallet(account)))
        return venue, mine


def cleaned(row: dict[str, Any], without: tuple[str, ...]) -> dict[str, Any]:
    row = {name: value for name, value in row.items() if name not in without}
    for name in ("userAddr", "counterparty"):
        if row.get(name):
            row[name] = row[name].lower()
    return row


def differing(a: Any, b: Any) -> Any:
    """Return the members in which two rows differ, with what identifies them."""
    if isinstance(a, tuple) and isinstance(b, tuple) and isinstance(a[-1], dict) and isinstance(b[-1], dict):
        return (a[:-1], differing(a[-1], b[-1]))
    if isinstance(a, dict) and isinstance(b, dict):
        keep = {"id", "ordId", "userAddr", "bizType", "symbolCode", "reference"}
        names = [name for name in a.keys() | b.keys() if a.get(name) != b.get(name)]
        return {name: a[name] for name in keep if name in a} | {n: (a.get(n), b.get(n)) for n in sorted(names)}
    return a, b


def differing_all(told: Any, own: Any) -> Any:
    if isinstance(told, list) and isinstance(own, list):
        pairs = [differing(a, b) for a, b in zip(told, own, strict=False) if a != b]
        return pairs[:2] or (len(told), len(own), [*told[len(own) :], *own[len(told) :]][:2])
    return differing(told, own)


def storm(seed: int, count: int) -> tuple[list[Step], str, str]:
    trio, steps = Trio(is_coarse(seed)), list[Step]()
    made = Steps(seed, trio.pair.reference, trio.names, trio.pair.masters[5].address)
    while len(steps) < count:
        steps.append(made.next())
        older, mine = taken(trio, steps[-1])
        if older or mine:
            return steps, older, mine
    return steps, "", ""


def taken(trio: Trio, step: Step) -> tuple[str, str]:
    return trio.step(step)


def replay(steps: list[Step], coarse: bool) -> tuple[int, str, str]:
    trio = Trio(coarse)
    for number, step in enumerate(steps, 1):
        older, mine = taken(trio, step)
        if older or mine:
            return number, older, mine
    return len(steps), "", ""


def shrink(steps: list[Step], coarse: bool, kind: Callable[[str], str] = lambda said: said[:12]) -> list[Step]:
    """Return a short list of steps with a difference of the same kind."""
    number, older, mine = replay(steps, coarse)
    steps, wanted = steps[:number], kind(mine or older)
    size, end = max(1, len(steps) // 2), time.process_time() + 15
    while size and time.process_time() < end:
        at = 0
        while at < len(steps):
            fewer = steps[:at] + steps[at + size :]
            try:
                number, older, mine = replay(fewer, coarse)
            except Exception:
                number, older, mine = 0, "", ""
            if (mine or older) and kind(mine or older) == wanted:
                steps = fewer[:number]
            else:
                at += size
        size //= 2
    return steps
