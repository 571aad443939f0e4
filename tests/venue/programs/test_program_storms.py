"""Long random runs of builders, vaults, referrals, funding and liquidations at once: the books always close.

No action moves money of an account that it does not concern, and who handed a vault on can do nothing with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from toolkit.venue import development
from toolkit.venue.engine.commands import Advance, Control, Outcome, Submit, TxCode
from toolkit.venue.engine.core import Core
from toolkit.venue.model.genesis import Config, Genesis
from toolkit.venue.programs import referrals
from toolkit.venue.risk.ledger import FEES, LP_VAULT, REFERRALS, RESERVES, ROUNDING

MASTERS = [development.account(index).address.lower() for index in range(5)]
AGENTS = [development.account(10 + index).address.lower() for index in range(5)]
BUILDERS_AGENT = development.account(20).address.lower()
USDC = 1_000_000
PRODUCTS = (1, 2)


Money = dict[str, int]
"""What each account has, micro-USDC: its balance and the margin of its isolated positions."""


def money(core: Core) -> Money:
    accounts = core.state.accounts.values()
    return {
        one.address: one.balance + sum(position.assigned for position in one.positions.values()) for one in accounts
    }


def family(core: Core, action: dict[str, Any], signer: str, vault: str | None) -> set[str]:
    """Return the accounts whose money a program's action may move, besides those that it creates."""
    match action["type"]:
        case "vaultCreate":
            return {signer, FEES}
        case "vaultDeposit":
            return {signer, action["vault"]}
        case "vaultWithdraw":
            return {signer, action["vault"], RESERVES, core.state.vaults[action["vault"]].owner}
        case "vaultRebalance":
            return {action["from"], action["to"]} | ({RESERVES} if action["from"] == action["to"] else set())
        case "vaultPreWithdraw":
            return {str(vault), RESERVES}
        case "vaultClose":
            led = core.state.vaults[str(vault)]
            everyone = {str(vault), led.owner, RESERVES, ROUNDING, *led.children, *led.holders}
            return everyone | ({led.parent} if led.parent else set())
        case "withdraw" | "faucetClaim":
            return {signer}
        case "usdSend":
            return {signer, action["to"]}
    return set()


PROGRAMS = frozenset(
    (
        *("vaultCreate", "vaultDeposit", "vaultWithdraw", "vaultRebalance", "vaultPreWithdraw", "vaultClose"),
        *("vaultUpdateOwner", "vaultCreateSubVault", "withdraw", "faucetClaim", "bindReferral", "registerBuilder"),
        *("approveAgent", "approveAgentToBuilder", "revokeAgentToBuilder", "usdSend"),
    )
)
"""Actions of vaults, builders, referrals, agents and deposits: all that do not trade."""


def owners_actions(vault: str, former: str, item: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield what the owner of a vault may do with it, each with the vaultAddress of its request."""
    amount = {"amount": "1", "currencyCode": 1}
    yield {"type": "vaultRebalance", "from": vault, "to": vault, **amount}, None
    for action in (
        {"type": "vaultRebalance", "from": vault, "to": vault, **amount},
        {"type": "vaultPreWithdraw", **amount},
        {"type": "vaultUpdateOwner", "owner": former},
        {"type": "vaultCreateSubVault"},
        {"type": "vaultClose"},
        {"type": "placeOrder", "orders": [item]},
        {"type": "placeBracketOrder", "orders": [item, item]},
        {"type": "replaceOrder", **item, "ordId": 1},
        {"type": "cancelOrder", "cancels": [{"symbolCode": "1", "ordId": "1"}]},
        {"type": "cancelAll", "symbolCode": 1, "conditionalOrder": False},
        {"type": "setLeverage", "symbolCode": 1, "leverage": "2"},
        {"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"},
        {"type": "assignPosMargin", "symbolCode": 1, "assignedPosMargin": "1"},
    ):
        yield action, vault


class Storm:
    """Random signed actions of five accounts on one core; everything is checked after each."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        config = Config(price_interval=60_000, lp_capital=20_000 * USDC)
        settings = {"permissions": True, "market": False}
        self.core = Core(Genesis(seed=seed, config=config, settings=settings))
        self.now = self.core.state.time
        self.nonce = 0
        self.vaults: list[str] = []
        self.accepted: dict[str, int] = {}
        for master, agent in zip(MASTERS, AGENTS, strict=True):
            self.core.apply(Control(self.now, "fund", {"address": master, "amount": "20000"}))
            approve = {"agentAddress": agent, "agentName": "a", "validitySeconds": 365 * 86_400}
            assert self.submit(master, "approveAgent", **approve, dexChain="Testnet").code == 0
        self.submit(MASTERS[4], "registerBuilder", name="Acme", dexChain="Testnet")
        permit = {"agentAddress": BUILDERS_AGENT, "builderAddress": MASTERS[4], "maxFeeRate": "0.001"}
        grant = self.submit(MASTERS[0], "approveAgentToBuilder", **permit, validitySeconds=86_400, dexChain="Testnet")
        assert grant.code == 0
        for upper, lower in ((0, 1), (1, 2), (1, 3)):
            code = referrals.code_of(MASTERS[upper])
            assert self.submit(AGENTS[lower], "bindReferral", referralCode=code).code == 0

    def submit(self, signer: str, kind: str, vault: str | None = None, **fields: Any) -> Outcome:
        return self.act(signer, {"type": kind, **fields}, vault)

    def act(self, signer: str, action: dict[str, Any], vault: str | None = None) -> Outcome:
        self.nonce += 1
        self.core.apply(Advance(self.now))  # what time brings comes first, so that the rest is the action's
        before, kind = money(self.core), action["type"]
        master = MASTERS[AGENTS.index(signer)] if signer in AGENTS else signer
        concerned = family(self.core, action, master, vault) if kind in PROGRAMS else set[str]()
        outcome = self.core.apply(Submit(self.now, action, signer, self.nonce, vault=vault))
        after = money(self.core)
        if outcome.code == 0:
            self.accepted[kind] = self.accepted.get(kind, 0) + 1
        elif outcome.data and "results" not in outcome.data:
            assert after == before, (kind, "was refused, and money moved")
        if kind in PROGRAMS:
            moved = {each: after[each] - before.get(each, 0) for each in after if after[each] != before.get(each, 0)}
            assert moved.keys() <= concerned | (after.keys() - before.keys()), (kind, moved)
            gift = {"faucetClaim": 500 * USDC, "withdraw": -int(action.get("amount", 0)) * USDC}.get(kind, 0)
            assert sum(moved.values()) == (gift if outcome.code == 0 else 0), (kind, moved)
        return outcome

    def hand_over(self, who: int, vault: str) -> None:
        """Hand a vault to another master; the former owner's agent then tries everything that an owner may do."""
        new = self.random.choice([each for each in range(5) if each != who])
        if self.act(AGENTS[who], {"type": "vaultUpdateOwner", "owner": MASTERS[new]}, vault).code:
            return
        state = self.core.state
        for each in (vault, *state.vaults[vault].children):
            was = repr((state.vaults[each], state.accounts[each]))
            for action, inside in owners_actions(each, MASTERS[who], self.item()):
                outcome = self.act(AGENTS[who], action, inside)
                assert outcome.data is not None
                assert outcome.data["txCode"] == TxCode.NOT_VAULT_OWNER, (action, outcome)
            assert state.vaults[each].owner == MASTERS[new]
            assert repr((state.vaults[each], state.accounts[each])) == was

    def item(self) -> dict[str, Any]:
        code = self.random.choice(PRODUCTS)
        product, market = self.core.products[code], self.core.state.markets[code]
        price = market.mark * self.random.randint(980, 1_020) // 1_000
        return {
            "symbolCode": code,
            "ordPx": product.price_text(price),
            "ordQty": product.quantity_text(self.random.randint(10, 4_000)),
            "ordType": "LIMIT",
            "ordSide": self.random.choice(["BUY", "SELL"]),
            "timeInForce": self.random.choice(["GTC", "GTC", "IOC"]),
        }

    def step(self) -> None:
        self.now += self.random.choice([0, 1, 500, 20_000, 600_000])
        who = self.random.randrange(5)
        agent, amount = AGENTS[who], str(self.random.randint(1, 3_000))
        vault = self.random.choice([*self.vaults, LP_VAULT])
        led = [each for each in self.vaults if self.core.state.vaults[each].owner == MASTERS[who]]
        inside = self.random.choice(led) if led else None
        match self.random.randrange(15):
            case 0 | 1 | 2 | 3:
                self.submit(agent, "placeOrder", orders=[self.item()])
            case 4 | 5:
                self.submit(agent, "placeOrder", vault=inside, orders=[self.item()])
            case 6:
                fee = self.random.choice(["0", "0.0003", "0.001"])
                named = {"builder": MASTERS[4], "builderFeeRate": fee}
                self.submit(BUILDERS_AGENT, "placeBuilderOrder", order=self.item(), **named)
            case 7:
                self.act(agent, {"type": "vaultDeposit", "vault": vault, "amount": amount, "currencyCode": 1})
            case 8:
                held = self.core.state.vaults[vault].holders.get(MASTERS[who])
                share = self.random.randint(1, held.shares) if held else 1
                text = f"{share // USDC}.{share % USDC:06d}"
                self.act(agent, {"type": "vaultWithdraw", "vault": vault, "share": text, "currencyCode": 1})
            case 9:
                self.lead(agent, inside)
            case 10:
                self.move_prices()
            case 11:
                self.submit(agent, "cancelAll", symbolCode=self.random.choice(PRODUCTS), conditionalOrder=False)
            case 12:
                self.submit(MASTERS[who], "withdraw", destination=MASTERS[0], amount=amount)
            case 13:
                self.submit(MASTERS[who], "faucetClaim")
            case 14:
                to = self.random.choice([*MASTERS, vault, AGENTS[who]])
                self.submit(MASTERS[who], "usdSend", to=to, amount=amount)
        self.check()

    def lead(self, agent: str, inside: str | None) -> None:
        create = {"type": "vaultCreate", "name": "v", "description": "", "amount": "500", "currencyCode": 1}
        if inside is None:
            made = self.act(agent, create)
            if made.code == 0 and made.data:
                self.vaults.append(made.data["vault"].lower())
            return
        children = self.core.state.vaults[inside].children
        if self.random.random() < 0.2:
            made = self.act(agent, {"type": "vaultCreateSubVault"}, inside)
            if made.code == 0 and made.data:
                self.vaults.append(made.data["vault"].lower())
        elif children:
            ends = self.random.sample([inside, *children], 2)
            amount = str(self.random.randint(1, 200))
            move = {"type": "vaultRebalance", "from": ends[0], "to": ends[1], "amount": amount, "currencyCode": 1}
            self.act(agent, move)
        amount = str(self.random.randint(1, 100))
        self.act(agent, {"type": "vaultPreWithdraw", "amount": amount, "currencyCode": 1}, inside)
        if self.random.random() < 0.1:
            self.act(agent, {"type": "vaultClose"}, inside)
        elif self.random.random() < 0.3:
            self.hand_over(AGENTS.index(agent), inside)

    def move_prices(self) -> None:
        code = self.random.choice(PRODUCTS)
        product, market = self.core.products[code], self.core.state.markets[code]
        price = max(1, market.oracle * self.random.randint(900, 1_110) // 1_000)
        args = {"product": code, "price": product.price_text(price), "hold": True}
        self.core.apply(Control(self.now, "set_oracle", args))

    def check(self) -> None:
        core = self.core
        core.events.clear()
        core.check(history=False)
        state = core.state
        assert state.accounts[RESERVES].balance == sum(vault.reserve for vault in state.vaults.values())
        due = sum(sum(each.due.values()) for each in state.referrals.accounts.values())
        assert state.accounts[REFERRALS].balance == due
        for vault in state.vaults.values():
            assert vault.reserve >= 0
            assert vault.shares == sum(holding.shares for holding in vault.holders.values())
            assert all(holding.shares > 0 and holding.cost >= 0 for holding in vault.holders.values())


@pytest.mark.parametrize("seed", range(2))
def test_the_books_close_whatever_builders_vaults_and_referrals_do(seed: int) -> None:
    storm = Storm(seed)
    for _ in range(900):
        storm.step()
    storm.core.check()
    core = storm.core
    again = Core.load(core.dump())
    assert again.state_hash() == core.state_hash()
    kinds = {entry.kind for entry in core.state.history.ledger.records}
    assert {"TRADING_FEE", "BUILDER_FEE", "REFERRAL_REBATE", "VAULT_DEPOSIT", "VAULT_WITHDRAW", "TRANSFER"} <= kinds
    assert storm.accepted["placeOrder"] > 50
    assert storm.accepted["vaultUpdateOwner"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_the_books_close_in_long_storms(seed: int) -> None:
    storm = Storm(seed)
    for _ in range(1_500):
        storm.step()
    storm.core.check()
