"""Random steps of vaults, agents, builders, claims and withdrawals, signed by whoever happens to have the pen."""

from __future__ import annotations

import random

from .driver import AGENTS, MIDDLE, OWN, TRADERS, Step, address, name_of
from .money import LP
from .shown import Json, fixed
from .steps import MoneySteps
from .wire import Reference

USDC = {"currencyCode": 1}
ACTING = range(5)
SECONDS = (0, 60, 100_000)


class ProgramsSteps:
    """Makes steps of a seed."""

    def __init__(self, seed: int, reference: Reference) -> None:
        self.chance, self.reference = random.Random(seed), reference
        self.money = MoneySteps(4 * seed + 3, reference)

    @staticmethod
    def is_coarse(_: int) -> bool:
        return True

    def next(self) -> Step:
        chance = self.chance
        kind, who = chance.random(), chance.choice(ACTING)
        if chance.random() < 0.3:
            return self.money.next()
        if kind < 0.08:
            return "oracle", 1, f"{MIDDLE[1] * (1 + chance.uniform(-0.02, 0.02)):.1f}"
        if kind < 0.14:
            return "advance", chance.choice((1_000, 61_000, 600_000, 600_000, 14_400_000, 86_400_000))
        if kind < 0.27:
            return "act", who, self.authority(who) if kind < 0.22 else self.by_master(who)
        vaults = [name for name in self.reference.vaults if name != LP]
        vault = chance.choice(vaults) if vaults and chance.random() < 0.6 else ""
        if vault and chance.random() < 0.7:
            who = next(index for index in TRADERS if name_of(index) == self.reference.vaults[vault].owner)
        agent = AGENTS[chance.choice((who, who, who, who, who, chance.randrange(8)))]
        return "act", agent, self.of_vault() if vault else self.of_account([*vaults, OWN[LP]]), vault

    def authority(self, who: int) -> Json:
        """Return an approval or a registration; of an agent, that may be revoked, or be another's already."""
        chance, kind, agent = self.chance, self.chance.random(), address(self.chance.choice((*AGENTS, *ACTING[:3])))
        if kind < 0.45:
            return {
                "type": "approveAgent", "agentAddress": "0x" + "0" * 40 if chance.random() < 0.1 else agent,
                "agentName": chance.choice("aab"), "dexChain": "Testnet", "validitySeconds": chance.choice(SECONDS),
            }  # fmt: skip
        if kind < 0.6:
            return {"type": "registerBuilder", "name": "b", "dexChain": "Testnet"}
        if kind < 0.85:
            return {
                "type": "approveAgentToBuilder", "agentAddress": agent, "dexChain": "Testnet",
                "builderAddress": address(chance.choice(ACTING)), "validitySeconds": chance.choice(SECONDS),
                "maxFeeRate": chance.choice(("0.0005", "0.001", "0.0011")),
            }  # fmt: skip
        return {"type": "revokeAgentToBuilder", "dexChain": "Testnet"}

    def by_master(self, who: int) -> Json:
        if self.chance.random() < 0.4:
            return {"type": "faucetClaim"}
        amount = self.chance.choice(("1", "2", "50", "100000"))
        return {"type": "withdraw", "destination": address(who), "amount": amount}

    def amount(self) -> str:
        return self.chance.choice(("100", "250.5", "1000", "33.333333", "9000"))

    def of_vault(self) -> Json:
        """Return an action of a vault, signed by its owner's agent or another's."""
        kind = self.chance.random()
        if kind < 0.4:
            return {"type": "placeOrder", "orders": [self.order()]}
        if kind < 0.5:
            return {"type": "vaultPreWithdraw", "amount": self.amount()} | USDC
        if kind < 0.6:
            return {"type": "vaultCreateSubVault"}
        if kind < 0.65:
            return {"type": "vaultUpdateOwner", "owner": address(self.chance.choice(ACTING))}
        if kind < 0.8:
            return {"type": "cancelAll", "symbolCode": 1}
        return {"type": "vaultClose"} if kind < 0.97 else self.of_account([OWN[LP]])

    def of_account(self, vaults: list[str]) -> Json:
        chance, kind, amount = self.chance, self.chance.random(), self.amount()
        if kind < 0.2:
            return {"type": "placeOrder", "orders": [self.order()]}
        if kind < 0.22:
            return {"type": "cancelAll", "symbolCode": 1}
        if kind < 0.24:
            return {"type": "bindReferral", "referralCode": chance.choice(list(self.reference.codes))}
        if kind < 0.32:
            builder, rate = address(chance.choice(ACTING)), chance.choice(("0", "0.0004", "0.001"))
            return {"type": "placeBuilderOrder", "order": self.order(), "builder": builder, "builderFeeRate": rate}
        if kind < 0.44:
            return {"type": "vaultCreate", "name": "v", "description": "d", "amount": amount} | USDC
        if kind < 0.64:
            return {"type": "vaultDeposit", "vault": chance.choice(vaults), "amount": amount} | USDC
        if kind < 0.85:
            return {"type": "vaultWithdraw", "vault": chance.choice(vaults), "share": amount} | USDC
        both = {"from": chance.choice(vaults), "to": chance.choice(vaults)}
        return {"type": "vaultRebalance", "amount": amount} | both | USDC

    def order(self) -> Json:
        chance, product = self.chance, self.reference.products[1]
        return {
            "symbolCode": 1, "ordPx": fixed(product.tick, product.mark + chance.randint(-30, 30)),
            "ordQty": fixed(product.step, chance.choice((2, 5, 20, 60, 100))), "ordType": "LIMIT",
            "ordSide": chance.choice(("BUY", "SELL")), "timeInForce": chance.choice(("GTC", "GTC", "IOC")),
        }  # fmt: skip
