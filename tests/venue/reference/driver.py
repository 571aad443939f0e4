"""Drives the venue's byte gateway and the reference with the same signed actions, and compares what the venue shows.

A run is a list of steps, which are plain data: ("oracle", product, price), ("advance", ms), ("fund", trader, USDC),
("lose", trader, micro-USDC), ("hedge", trader) or ("act", wallet, action[, vault]). Wallets are numbers of development
accounts. When a step differs, `shrink` deletes steps as long as the rest still differs.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.venue.wallets import Signer
from toolkit.venue import development
from toolkit.venue.lab.control import what_if
from toolkit.venue.local import LocalVenue
from toolkit.venue.model import genesis
from toolkit.venue.programs.referrals import code_of
from toolkit.venue.risk import ledger

from . import feeds
from .books import Account, Product
from .feeds import cleaned
from .money import CLEARING, FEES, INSURANCE, LP, REFERRALS, RESERVES, ROUNDING, Settings
from .shown import Json, Shown, money, plain
from .wire import Reference

Step = tuple[Any, ...]
Compared = tuple[str, Any, Any]
"""What is compared, as the venue shows it, and as the reference has it."""

OWN = {
    FEES: ledger.FEES, ROUNDING: ledger.ROUNDING, CLEARING: ledger.CLEARING, INSURANCE: ledger.INSURANCE,
    REFERRALS: ledger.REFERRALS, LP: ledger.LP_VAULT, RESERVES: ledger.RESERVES,
}  # fmt: skip
TRADERS, AGENTS, BUILDER, BUILDERS_AGENT = range(6), range(10, 18), 5, 25
HEDGED, BUILDERS_TRADER = (3, 4), 2
MIDDLE = {1: 62_500, 2: 2_450}
WHOLE = 10
"""Every so many steps, and after the last, all accounts are looked at. Else those that a step has changed."""
RATE, PAGE = 10**8, 500
FALL = Decimal("-0.01")
BRINGS = ("withdraw", "faucetClaim")


def first(coarse: bool) -> genesis.Genesis:
    """Return a small venue: two products with low tiers and limits, a poor LP vault, small slices, makers' rebates."""
    limits = {"maxPositionNtnl": "250000", "minOrderValue": "100", "fundingInterval": 3_600 if coarse else 300}
    rows = [row | limits | {"maxOrderQty": "3.9" if row["code"] == "1" else "99"} for row in genesis.default_products()]
    table = genesis.default_margin_tables()[1]
    tiers = [genesis.FeeTier(each.volume // 50, each.maker - 8_001, each.taker) for each in genesis.default_fee_tiers()]
    config = genesis.Config(
        price_interval=600_000 if coarse else 3_000, fee_tiers=tiers, lp_capital=3_000 * 10**6,
        liquidation_whole=25_000 * 10**6, faucet_pause=3_600_000, usual_depth=100_000 * 10**6, open_interest_depths=2,
        impact_share=10 * genesis.PERCENT,
    )  # fmt: skip
    prices = {code: f"{price}.00" for code, price in MIDDLE.items()}
    tables = {1: [table[0], table[1] | {"minimumValue": "60000"}]}
    return genesis.Genesis(products=rows[:2], margin_tables=tables, prices=prices, config=config)


def products_of(begin: genesis.Genesis) -> list[Product]:
    made = []
    for row in begin.products:
        tick, step = Fraction(row["tickSize"]), Fraction(row["stepSize"])
        tiers = [
            (int(each["minimumValue"]) * 10**6, Fraction(each["maintainMarginRatio"]), Fraction(each["maxLeverage"]))
            for each in begin.margin_tables[row["marginTableId"]]
        ]
        made.append(Product(
            code=int(row["code"]), symbol=row["symbol"], tick=tick, step=step, tiers=tiers,
            max_steps=int(Fraction(row["maxOrderQty"]) / step), max_notional=int(row["maxPositionNtnl"]) * 10**6,
            min_value=int(row["minOrderValue"]) * 10**6, max_slippage=Fraction(row["maxSlippagePct"]),
            max_leverage=Fraction(row["maxLeverage"]), maker=Fraction(row["defaultMakerFeeRate"]),
            taker=Fraction(row["defaultTakerFeeRate"]), interval=row["fundingInterval"] * 1000,
            oracle=int(Fraction(begin.prices[int(row["code"])]) / tick),
        ))  # fmt: skip
    return made


def settings_of(config: genesis.Config) -> Settings:
    """Return the numbers of a venue that are a choice, as the reference takes them."""
    return Settings(
        price_ms=config.price_interval, basis_samples=config.basis_samples, book_samples=config.book_samples,
        band=Fraction(config.mark_band, RATE), depth=config.usual_depth, depths=config.open_interest_depths,
        impact_share=Fraction(config.impact_share, RATE), premium_bound=Fraction(config.premium_bound, RATE),
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


def opening() -> Iterator[Step]:
    """Return the first steps: agents, poor traders, hedge mode, an inviter of an inviter, a builder."""
    for trader in TRADERS:
        approval = {"agentName": "a", "validitySeconds": 0, "dexChain": "Testnet"}
        yield "act", trader, {"type": "approveAgent", "agentAddress": address(AGENTS[trader])} | approval
    for trader, amount in {1: "7500", 2: "7500", 3: "5000", 4: "7500"}.items():
        yield "act", trader, {"type": "withdraw", "destination": address(trader), "amount": amount}
    yield from (("hedge", trader) for trader in HEDGED)
    for invited in (1, 2):
        yield "act", AGENTS[invited], {"type": "bindReferral", "referralCode": code_of(name_of(invited - 1))}
    yield "act", BUILDER, {"type": "registerBuilder", "name": "reference", "dexChain": "Testnet"}
    yield "act", BUILDERS_TRADER, {
        "type": "approveAgentToBuilder", "agentAddress": address(BUILDERS_AGENT), "dexChain": "Testnet",
        "builderAddress": address(BUILDER), "maxFeeRate": "0.001", "validitySeconds": 10**7,
    }  # fmt: skip


def address(number: int) -> str:
    """Return the address of a development account."""
    return str(development.account(number).address)


def name_of(number: int) -> str:
    return address(number).lower()


def reference_of(
    begin: genesis.Genesis, time: int, named: Callable[[int], str] = name_of, own: Mapping[str, str] = OWN
) -> Reference:
    """Return the reference with traders of 10,000 USDC."""
    mine = Reference(products_of(begin), settings_of(begin.config), time, own)
    for number in TRADERS:
        mine.deposit(named(number), 10_000 * 10**6)
        mine.codes[code_of(name_of(number))] = named(number)
    return mine


def take(mine: Reference, step: Step, made: str = "", named: Callable[[int], str] = name_of) -> list[bool] | None:
    """Take the reference alone through a step; return what it accepted."""
    kind, *rest = step
    if kind == "act":
        number, action, *vault = rest
        return mine.command(named(number), action, *vault or ("",), made)
    if kind == "advance":
        mine.advance(mine.time + rest[0])
    elif kind == "oracle":
        mine.set_oracle(rest[0], int(Fraction(rest[1]) / mine.products[rest[0]].tick))
    else:
        account = mine.accounts[named(rest[0])]
        if kind == "hedge":
            account.hedge = True
        else:
            mine.deposit(account.address, int(rest[1]) * 10**6 if kind == "fund" else -lost(account, rest[1]))
            mine.after()
    return []


def lost(account: Account, amount: int) -> int:
    """Return what a trader loses: never more than its balance, also when steps before were deleted."""
    return max(0, min(amount, account.balance))


class World:
    """One venue and one reference, taken through the same steps."""

    def __init__(self, coarse: bool = False) -> None:
        begin = first(coarse)
        self.venue = LocalVenue(config=begin, clock="manual", market=False, accounts=len(TRADERS))
        self.mine = reference_of(begin, self.venue.host.now_ms())
        self.shown, self.names = Shown(self.mine), [name_of(number) for number in TRADERS]
        self.reader = feeds.Reader(self.venue, [each.symbol for each in self.mine.products.values()], self.names)
        self.signers = {n: Signer(development.account(n)) for n in (*TRADERS, *AGENTS, BUILDERS_AGENT)}
        self.sent: Counter[str] = Counter()
        self.said = ""
        for step in opening():
            assert not (difference := self.step(step)), (step, difference)

    def step(self, step: Step, whole: bool = False) -> str:
        """Take both through a step; return how they differ, "" when they agree."""
        mine = self.mine
        self.logged, self.booked = len(mine.events), len(mine.rows)
        self.closed, self.paid = len(mine.closings), len(mine.payments)
        self.sent[step[0] if step[0] != "act" else step[2]["type"]] += 1
        marks, before = [product.mark for product in mine.products.values()], self.equities()
        made, venue = self.send(*step)
        own = take(mine, step, made)
        if venue != own:
            return f"accepted: venue {venue}, reference {own}: {self.said}"
        for what, told, expected in itertools.chain(self.changed(), self.whole() if whole else ()):
            if told != expected:
                return f"{what}: {differing(told, expected)}"
        same = marks == [product.mark for product in mine.products.values()]
        trades = step[0] == "act" and step[2]["type"] not in BRINGS and not step[2]["type"].startswith("vault")
        return broken(before, self.equities()) if trades and same else ""

    def send(self, kind: str, *rest: Any) -> tuple[str, list[bool] | None]:
        """Take the venue through a step; return the vault that was made, and what was accepted."""
        control = self.venue.control
        if kind == "act":
            return self.post(*rest)
        if kind == "oracle":
            control.set_oracle(*rest)
        elif kind == "advance":
            self.venue.advance(f"{rest[0]}ms", progress=False)
        elif kind == "fund":
            control.fund(address(rest[0]), rest[1])
        elif kind == "hedge":
            control.set_position_mode(address(rest[0]), "HEDGE")
        else:  # no command loses cash, so what follows a command is done here
            core, name = self.venue.host.core, self.names[rest[0]]
            core.open_step()
            ledger.deposit(core, core.state.accounts[name], -lost(self.mine.accounts[name], rest[1]))
            core.run_hooks()
            self.venue.host.feed.publish(core.events)
            core.events.clear()
        return "", []

    def post(self, number: int, action: Json, vault: str = "") -> tuple[str, list[bool] | None]:
        answer = self.signers[number].do(self.venue, action, **({"vault": vault} if vault else {}))
        self.said = answer["message"]
        if answer["code"] == 40204:  # an unknown agent
            return "", None
        data = answer["data"] or {}
        if action["type"] in ("placeOrder", "cancelOrder") and "results" in data:
            return "", [result["txCode"] == 0 for result in data["results"]]
        return str(data.get("vault", "")).lower(), [answer["code"] == 0]

    # what is compared

    def ask(self, path: str, **values: Any) -> Any:
        query = "&".join(f"{name}={value}" for name, value in values.items())
        answer = json.loads(self.venue.host.gateway.handle("GET", path, query, b"", "t").body)
        assert answer["code"] == 0, answer
        data = answer["data"]
        return data["items"] if isinstance(data, dict) and "items" in data else data

    def news(self, path: str, name: str, since: int, count: int, without: set[str]) -> list[Json]:
        """Return an account's rows since a number, of which the reference has `count`."""
        rows = self.ask(path, userAddr=name, pageSize=min(PAGE, count + 3))
        return [cleaned(row, without) for row in rows if int(row["id"]) > since]

    def changed(self) -> Iterator[Compared]:
        """What a step has changed: what the feed has told, and rows of events and of the ledger."""
        self.reader.take()
        yield from feeds.compare(self.reader, self.shown, self.logged, self.closed, self.paid)
        own = self.shown.ledger(self.booked)
        count = Counter(row["userAddr"] for row in own)
        ledger, without = list[Json](), {"blockHeight", "txHash", "currency", "balance"}
        for name in count:
            ledger += self.news("/info/account/ledger", name, self.booked, count[name], without)
        if max(count.values(), default=0) < PAGE:
            yield "ledger", sorted(ledger, key=by_id), sorted(own, key=by_id)
        own = [self.shown.event(n, e) for n, e in enumerate(self.mine.events[self.logged :], self.logged + 1)]
        count, events = Counter(row["userAddr"] for row in own), list[Json]()
        without = {"blockHeight", "txHash", "reason"}
        for name in count:
            events += self.news("/info/order/events", name, self.logged, count[name], without)
        if max(count.values(), default=0) < PAGE:
            yield "events", sorted(events, key=by_id), own

    def whole(self) -> Iterator[Compared]:
        """Wallets, positions and orders of all accounts, and vaults."""
        vaults = [name for name, vault in self.mine.vaults.items() if name != LP and vault.open]
        for name in (*self.names, *vaults, *OWN.values()):
            account = self.shown.account(name)
            (row,) = self.ask("/info/account/wallet", userAddr=name, includeZero="true")
            yield (
                f"wallet of {name}",
                cleaned(row, {"blockHeight", "userAddr", "currency", "blockTime"}),
                (self.shown.wallet(account)),
            )
        for name in (*self.names, *vaults, OWN[LP]):
            account = self.shown.account(name)
            rows = self.ask("/info/position/list", userAddr=name, includeZero="true")
            told = {row["symbolCode"]: cleaned(row, {"userAddr", "blockTime"}) for row in rows}
            own = {code: self.shown.position(each) for code, each in sorted(account.positions.items())}
            for row in (row for code, row in told.items() if code not in own or own[code]["createTime"] is None):
                row["createTime"] = None
            yield f"positions of {name}", told, {code: row for code, row in own.items() if code in told}
            rows = self.ask("/info/order/states", userAddr=name, pageSize=PAGE)
            orders = [cleaned(row, {"id", "blockHeight", "userAddr"}) for row in rows if row["status"] in OPEN]
            live = {str(order.id): self.shown.order(order) for order in account.orders.values()}
            yield f"orders of {name}", {row["ordId"]: row for row in orders}, live
        for name, product in itertools.product(self.names, self.mine.products.values()):
            rows = what_if(self.venue.host.core, name, product.code, FALL)
            own_rows, mark = [self.figures(self.shown.account(name), product)], product.mark
            product.mark = max(1, round(mark * (1 + FALL)))
            own_rows.append(self.figures(self.shown.account(name), product))
            product.mark = mark
            yield f"margins of {name}", [{member: row[member] for member in own_rows[0]} for row in rows], own_rows
        for name, vault in self.mine.vaults.items():
            yield from self.vault(self.shown.name(name), vault)

    def figures(self, account: Account, product: Product) -> Json:
        """Return an account's margins, those of the position where it is isolated."""
        position = account.position(product)
        group, initial = account, self.mine.initial(account)
        if position.isolated:
            group, initial = position, position.initial(position.notional(1) + position.notional(-1))
        return {
            "unrealized_pnl": position.gain / 10**6, "equity": account.worth / 10**6,
            "available": self.mine.available(account) / 10**6, "initial_margin": initial / 10**6,
            "maintenance_margin": group.maintenance / 10**6,
            "liquidated": group.equity <= group.maintenance and group.maintenance > 0,
        }  # fmt: skip

    def vault(self, name: str, vault: Any) -> Iterator[Compared]:
        mine, members = self.mine, ("tvl", "price", "status", "yourDeposits", "userCurrentValue")
        for user in [user for user in vault.stakes if user in self.names] or self.names[:1]:
            row = self.ask("/info/vault/detail", vaultAddress=name, userAddress=user)
            stake, price = vault.stakes.get(user), mine.price(vault)
            value = int(Fraction(mine.withdraw_value(vault) * stake.shares, vault.shares)) if stake else 0
            yield f"vault {name} of {user}", [row[member] for member in members], [
                money(mine.worth(vault) if vault.open else 0), plain(Fraction(int(price * 10**6), 10**6)),
                1 if vault.open else 2, money(stake.cost if stake else 0), money(value),
            ]  # fmt: skip
        rows = self.ask("/info/vault/events", vaultAddress=name, pageSize=PAGE)
        told = [(r["type"], r["userAddress"].lower(), r["amount"], r["shares"], r["leaderFee"]) for r in rows]
        own = [
            (each.kind, each.user, money(each.amount), money(each.shares), money(each.leader_fee))
            for each in mine.vault_events if each.vault == vault.account.address
        ]  # fmt: skip
        yield f"events of vault {name}", told[::-1], own[-PAGE:]

    def equities(self) -> dict[str, int]:
        """Return equity of accounts, and of those of the venue's own that cover losses."""
        return {n: each.worth for n, each in self.mine.accounts.items() if n not in OWN or n in (LP, INSURANCE)}


OPEN = ("NEW", "PARTIALLY_FILLED", "ORDER_STATUS_UNTRIGGERED")


def broken(before: dict[str, int], after: dict[str, int]) -> str:
    """Return which of the risk rules 10 and 11 an order has broken at unchanged marks."""
    people = [name for name in before if name.startswith("0x")]
    owing = [f"10: {name} has {after[name]}" for name in people if after[name] < 0 <= before[name]]
    rise = sum(after.values()) - sum(before.values())
    return "; ".join(owing + ([f"11: all together have {rise} more"] if rise > 0 else []))


def by_id(row: Json) -> tuple[int, str]:
    return int(row["id"]), row["userAddr"]


def differing(told: Any, own: Any) -> str:
    """Return the members in which rows differ, with what identifies them."""
    if isinstance(told, list) and isinstance(own, list) and len(told) == len(own):
        return "; ".join(differing(a, b) for a, b in zip(told, own, strict=True) if a != b)
    if isinstance(told, dict) and isinstance(own, dict):
        keep = {n: told[n] for n in ("id", "ordId", "userAddr", "bizType", "symbolCode", "reference") if n in told}
        names = sorted(n for n in told.keys() | own.keys() if told.get(n) != own.get(n))
        return f"{keep} " + ", ".join(f"{n}: venue {told.get(n)}, reference {own.get(n)}" for n in names)
    return f"venue {told}, reference {own}"
