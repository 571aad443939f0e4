"""A venue with a coalition of accounts and with others, whose money the coalition is after.

Everybody acts by actions whose signers have been recovered, as after the gateway. Wealth is counted at the mark of the
beginning, moved as the oracle price has moved since then, so that a mark that somebody pushes makes nobody rich.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from toolkit.errors import MalformedRequest
from toolkit.protocol import actions
from toolkit.venue.engine.commands import Advance, Command, Control, Outcome, Submit
from toolkit.venue.engine.core import Core
from toolkit.venue.model.accounts import VenueAccount
from toolkit.venue.model.constants import HEDGE
from toolkit.venue.model.genesis import GENESIS_TIME, Config, Genesis
from toolkit.venue.model.market import saved
from toolkit.venue.risk import ledger

BTC, ETH, SOL, XRP = 1, 2, 3, 4
START = GENESIS_TIME + 4 * 3_600_000 - 600_000
"""Ten minutes before a funding settlement."""
DEPOSIT = 10_000
"""What each account of the coalition begins with, USDC."""
OTHERS = ("maker", "saver", "leader", "investor", "hodler", "guarded")
YEAR = 365 * 86_400


class Wealth(NamedTuple):
    """Who has what, micro-USDC at fair prices; of the coalition what it has withdrawn more than paid in is included."""

    coalition: int
    others: int
    lp: int
    """What the venue has in the LP vault."""
    insurance: int
    participants: int
    fees: int


def master(number: int) -> str:
    """Return the address of an account of the coalition."""
    return f"0x{0xC0A0 + number:040x}"


def other(name: str) -> str:
    """Return the address of one of the others."""
    return f"0x{0xB0B0 + OTHERS.index(name):040x}"


def agent(address: str) -> str:
    """Return the address of an account's agent."""
    return f"0x{int(address, 16) + 0xA0000:040x}"


class World:
    """A core, its coalition of `count` accounts and the others. `kind` is "empty" (no participants) or a regime."""

    def __init__(self, kind: str, count: int, *, seed: int = 7, settle_delay: int = 0, **config: Any) -> None:
        self.kind, self.count = kind, count
        self.members = [master(number) for number in range(count)]
        self.core = Core.load(_prepared(kind, count, seed, settle_delay, tuple(config.items())))
        self.core.record_events(False)
        self.nonce = 1_000_000
        self.placed: list[tuple[int, int, int, str]] = []
        """Orders of the coalition that rested: (product, side, price in ticks, quantity as text), latest last."""
        self.frozen = True
        """Whether no price changes and no participant acts while time passes."""
        state = self.core.state
        self._paid_in = state.deposits - state.withdrawals
        self._premium = {code: (market.mark, market.oracle) for code, market in state.markets.items()}
        self.first = self.wealth()

    # commands

    @property
    def now(self) -> int:
        return self.core.state.time

    @property
    def led(self) -> list[str]:
        """Return the vaults and sub-vaults that the coalition leads, the oldest first."""
        return [address for address, vault in self.core.state.vaults.items() if vault.owner in self.members]

    def apply(self, command: Command) -> Outcome:
        return self.core.apply(command)

    def submit(self, signer: str, action: dict[str, Any], inside: str | None = None) -> Outcome:
        """Submit an action; one that is malformed does not get past the gateway."""
        self.nonce += 1
        try:
            action = actions.parse(action)
        except MalformedRequest as error:
            return Outcome(40003, str(error))
        return self.apply(Submit(self.now, action, signer, self.nonce, vault=inside))

    def act(self, address: str, kind: str, inside: str | None = None, **fields: Any) -> Outcome:
        """Submit an action that the account's agent signs, in the context of a vault if one is given."""
        return self.submit(agent(address), {"type": kind, **fields}, inside)

    def sign(self, address: str, kind: str, **fields: Any) -> Outcome:
        """Submit an action that the account's master signs."""
        return self.submit(address, {"type": kind, **fields})

    def order(self, address: str, side: str, quantity: Any, price: Any = None, code: int = BTC, **more: Any) -> Outcome:
        """Place an order; without a price it is a market order."""
        inside = more.pop("inside", None)
        item = order_item(side, quantity, price, code, **more)
        return self.act(address, "placeOrder", inside, orders=[item])

    def trade(self, buyer: str, seller: str, quantity: Any, price: Any, code: int = BTC) -> None:
        """Let two accounts trade; both orders must be accepted."""
        for address, side in ((seller, "SELL"), (buyer, "BUY")):
            outcome = self.order(address, side, quantity, price, code)
            assert outcome.code == 0, outcome.message

    def advance(self, span: int) -> None:
        """Let time pass."""
        if self.frozen:
            self.control("stand_still", until=self.now + span)
        self.apply(Advance(self.now + span))

    def control(self, name: str, **args: Any) -> Outcome:
        outcome = self.apply(Control(self.now, name, args))
        assert outcome.code == 0, outcome.message
        return outcome

    # figures

    def account(self, address: str) -> VenueAccount:
        return self.core.state.accounts[address]

    def fair(self, code: int) -> int:
        """Return the first mark price of a product, moved as its oracle price has moved, in ticks."""
        mark, oracle = self._premium[code]
        return self.core.state.markets[code].oracle * mark // oracle

    def equity(self, address: str) -> int:
        """Return cash and positions of an account at fair prices."""
        account = self.core.state.accounts[address]
        total, tables = account.balance, self.core.risk_index.tables
        for code, held in account.positions.items():
            long, short = held.long, held.short
            if long.size or short.size:
                step = self.fair(code) * tables[code].unit
                total += (long.size - short.size) * step - long.value + short.value
            total += held.assigned
        return total

    def gap(self) -> float:
        """Return how far the best price of the emptiest book is from the fair one, up to 1."""
        away = [0.0]
        for code in self.core.products:
            fair, tops = self.fair(code), self.core.books.top(code)
            away += [abs(top / fair - 1) if top else 1.0 for top in tops]
        return min(1.0, max(away))

    def sizes(self, address: str) -> dict[int, int]:
        """Return the net position of an account by product, in steps."""
        held = self.core.state.accounts[address].positions
        return {code: each.long.size - each.short.size for code, each in held.items()}

    def wealth(self) -> Wealth:
        """Return who has what."""
        state, equity = self.core.state, self.equity
        members, referrals = set(self.members), state.referrals.accounts
        rich = dict.fromkeys((*self.members, *map(other, OTHERS)), 0)
        for address in rich:
            rich[address] = equity(address)
        lp = 0
        for vault in state.vaults.values():
            worth = equity(vault.address) + vault.reserve
            top = state.vaults[vault.parent] if vault.parent else vault
            if not top.shares:
                lp += worth if top.is_lp else 0
                continue
            held = 0
            for address, holding in top.holders.items():
                part = worth * holding.shares // top.shares
                if address in rich:
                    rich[address] += part
                    held += part
            lp += worth - held
        for address in rich:
            if address in referrals:
                rich[address] += sum(referrals[address].due.values())
        coalition = sum(rich[address] for address in members) - (state.deposits - state.withdrawals - self._paid_in)
        participants = sum(equity(a) for a, each in state.accounts.items() if each.kind == "market")
        rest = sum(value for address, value in rich.items() if address not in members)
        insurance, fees = state.accounts[ledger.INSURANCE].balance, state.accounts[ledger.FEES].balance
        return Wealth(coalition, rest, lp, insurance, participants, fees)

    def gain(self) -> int:
        """Return what the coalition has made, in micro-USDC."""
        return self.wealth().coalition - self.first.coalition

    def loss(self, now: Wealth) -> int:
        """Return what the others, the LP vault and INSURANCE have lost together, in micro-USDC."""
        first = self.first
        return first.others + first.lp + first.insurance - now.others - now.lp - now.insurance

    def funding(self, address: str) -> int:
        """Return the funding that an account has received since its beginning, in micro-USDC."""
        return sum(held.funding for held in self.account(address).positions.values())

    def leveraged_vault(self) -> int:
        """Let the leader's vault take a position of about ten times its worth; return its worth."""
        leader = other("leader")
        vault = next(each.address for each in self.core.state.vaults.values() if each.owner == leader)
        self.act(leader, "setLeverage", vault, symbolCode=BTC, leverage="40")
        quantity = self.equity(vault) * 10 // (self.fair(BTC) * self.core.risk_index.tables[BTC].unit)
        outcome = self.order(leader, "BUY", self.core.products[BTC].quantity_text(quantity), inside=vault)
        assert outcome.code == 0, outcome.message
        self.first = self.wealth()
        return self.equity(vault)


def order_item(side: str, quantity: Any, price: Any = None, code: int = BTC, **more: Any) -> dict[str, Any]:
    """Return an order as on the wire; without a price it is a market order."""
    return {
        "symbolCode": code,
        "ordPx": "0" if price is None else str(price),
        "ordQty": str(quantity),
        "ordType": "MARKET" if price is None else "LIMIT",
        "ordSide": side,
        "timeInForce": "IOC" if price is None else "GTC",
        **more,
    }


@functools.lru_cache(maxsize=64)
def _prepared(kind: str, count: int, seed: int, settle_delay: int, config: tuple[tuple[str, Any], ...]) -> bytes:
    """Return the dump of a venue on which everybody has money, and the others have positions, shares and orders."""
    market = None if kind == "empty" else saved(kind)
    settings = {"market": market, "permissions": True, "settleDelay": 0}
    core = Core(Genesis(seed=seed, time=START, config=Config(**dict(config)), settings=settings))
    setup = _Setup(core)
    for number in range(count):
        setup.open(master(number), DEPOSIT)
    money = {"maker": 2_000_000, "saver": 50_000, "leader": 30_000, "investor": 30_000, "hodler": 200_000}
    for name in OTHERS:
        setup.open(other(name), money.get(name, 30_000))
    setup.others()
    core.state.settings["settleDelay"] = settle_delay
    return core.dump()


class _Setup:
    """How the venue is made ready."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.nonce = 0

    def submit(self, signer: str, action: dict[str, Any], vault: str | None = None) -> Outcome:
        self.nonce += 1
        outcome = self.core.apply(Submit(self.core.state.time, action, signer, self.nonce, vault=vault))
        assert outcome.code == 0, (action, outcome.message)
        return outcome

    def open(self, address: str, amount: int) -> None:
        """Fund an account and give it an agent."""
        outcome = self.core.apply(Control(self.core.state.time, "fund", {"address": address, "amount": str(amount)}))
        assert outcome.code == 0, outcome.message
        approval = {
            "agentAddress": agent(address),
            "agentName": "tests",
            "validitySeconds": YEAR,
            "dexChain": "Testnet",
        }
        self.submit(address, {"type": "approveAgent", **approval})

    def place(self, name: str, *args: Any, vault: str | None = None, **more: Any) -> None:
        self.submit(agent(other(name)), {"type": "placeOrder", "orders": [order_item(*args, **more)]}, vault)

    def others(self) -> None:
        """Give the others shares, positions of little leverage, and a protected position.

        Where there are no participants, the maker quotes ETH; the books of BTC and XRP are empty.
        """
        lp = {"vault": ledger.LP_VAULT, "amount": "20000", "currencyCode": 1}
        self.submit(agent(other("saver")), {"type": "vaultDeposit", **lp})
        made = {"name": "v", "description": "", "amount": "5000", "currencyCode": 1}
        answer = self.submit(agent(other("leader")), {"type": "vaultCreate", **made})
        vault = str((answer.data or {})["vault"]).lower()
        joined = {"vault": vault, "amount": "20000", "currencyCode": 1}
        self.submit(agent(other("investor")), {"type": "vaultDeposit", **joined})
        prices = {code: self.core.state.markets[code].oracle for code in (BTC, ETH, XRP)}
        for code, quantity in ((BTC, "0.5"), (ETH, "6"), (XRP, "20000")):
            price = self.core.products[code].price_text(prices[code])
            self.place("hodler", "SELL", quantity, price, code)
            self.place("leader", "BUY", quantity, price, code, vault=vault)
            self.place("hodler", "SELL", quantity, price, code)
            self.place("guarded", "BUY", quantity, price, code)
            stop = {"triggerPx": self.core.products[code].price_text(prices[code] * 9 // 10)}
            kind = {"reduceOnlyOption": "SL_FROM_POSITION", "tpslTriggerType": "MARK_PRICE"}
            self.place("guarded", "SELL", "0", None, code, **stop, **kind)
        if self.core.state.simulation is None:
            for side, ratio in (("BUY", 999), ("SELL", 1001), ("BUY", 995), ("SELL", 1005)):
                self.place("maker", side, "50", self.core.products[ETH].price_text(prices[ETH] * ratio // 1000), ETH)


def hedge(world: World, address: str) -> bool:
    """Return whether an account trades in hedge mode."""
    return world.account(address).position_mode == HEDGE
