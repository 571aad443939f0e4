"""Random vaults, agents, builders, referrals, claims and withdrawals, by the venue and by the stranger's reference."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

from tests.venue.wallets import Signer
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.model import genesis

from . import feeds
from .books import Refused
from .money import LP
from .shown import Shown, money, plain
from .trio import OWN, cleaned, differing_all, products_of, settings_of
from .wire import Reference, micro

Json = dict[str, Any]
USDC = {"currencyCode": 1}


class Duo:
    """One venue with vaults, agents and builders, and the reference."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.said: tuple[Any, ...] = ()
        begin = genesis.Genesis(config=genesis.Config(price_interval=600_000, faucet_pause=3_600_000))
        self.venue = LocalVenue(clock="manual", market=None, accounts=5, config=begin)
        self.masters = [Signer(development.account(index)) for index in range(5)]
        self.agents = [Signer(development.account(index + 10)) for index in range(8)]
        self.names = [master.address.lower() for master in self.masters]
        self.mine = Reference(products_of(begin), settings_of(begin.config), self.venue.host.now_ms())
        self.mine.addresses = OWN
        self.shown = Shown(self.mine, OWN)
        for name in self.names:
            self.mine.deposit(name, 10_000 * 10**6)
        for index in range(5):
            self.approve(index, index, "a", 0)
        self.reader = feeds.Reader(self.venue, ["BTCUSDC"], self.names)

    # steps

    def step(self) -> str:
        """Take both through a random step; return how they differ, "" when they agree."""
        chance = self.chance
        self.logged, self.booked = len(self.mine.events), len(self.mine.rows)
        self.closed, self.paid, self.told = (
            len(self.mine.closings),
            len(self.mine.payments),
            len(self.mine.vault_events),
        )
        kind = chance.random()
        who = chance.randrange(5)
        if kind < 0.08:
            price = f"{62_500 * (1 + chance.uniform(-0.02, 0.02)):.1f}"
            self.said = ("oracle", price)
            self.venue.control.set_oracle(1, price)
            self.mine.set_oracle(1, int(Fraction(price) * 10))
            return self.difference()
        if kind < 0.14:
            span = chance.choice((1_000, 61_000, 600_000, 14_400_000, 86_400_000))
            self.said = ("advance", span)
            self.venue.advance(f"{span}ms", progress=False)
            self.mine.advance(self.mine.time + span)
            return self.difference()
        if kind < 0.22:
            return self.authority(who)
        return self.action(who)

    def approve(self, who: int, agent: int, name: str, seconds: int, zero: bool = False) -> tuple[bool, bool]:
        address = "0x" + "0" * 40 if zero else self.agents[agent].address
        action = {"type": "approveAgent", "agentAddress": address, "agentName": name, "dexChain": "Testnet"}
        answer = self.masters[who].do(self.venue, action | {"validitySeconds": seconds})
        own = self.mine.attempt(lambda: self.mine.approve(self.names[who], address.lower(), name, seconds))
        return answer["code"] == 0, own

    def authority(self, who: int) -> str:
        chance, kind = self.chance, self.chance.random()
        if kind < 0.45:
            agent, name, seconds, zero = (
                chance.randrange(8), chance.choice("aab"), chance.choice((0, 60, 100_000)), chance.random() < 0.1,
            )  # fmt: skip
            self.said = ("approve", who, agent, name, seconds, zero)
            told, own = self.approve(who, agent, name, seconds, zero)
        elif kind < 0.6:
            self.said = ("registerBuilder", who)
            told = self.master(who, {"type": "registerBuilder", "name": "b", "dexChain": "Testnet"})
            own = self.mine.attempt(lambda: self.mine.register_builder(self.names[who]))
        elif kind < 0.85:
            agent, builder = chance.randrange(8), chance.randrange(5)
            rate, seconds = chance.choice(("0.0005", "0.001", "0.0011")), chance.choice((0, 60, 100_000))
            self.said = ("approveBuilder", who, agent, builder, rate, seconds)
            told = self.master(who, {
                "type": "approveAgentToBuilder", "agentAddress": self.agents[agent].address, "dexChain": "Testnet",
                "builderAddress": self.masters[builder].address, "maxFeeRate": rate, "validitySeconds": seconds,
            })  # fmt: skip
            agent_name = self.agents[agent].address.lower()
            own = self.mine.attempt(
                lambda: self.mine.approve_builder(
                    self.names[who], agent_name, self.names[builder], Fraction(rate), seconds
                )
            )
        else:
            self.said = ("revokeBuilder", who)
            told = self.master(who, {"type": "revokeAgentToBuilder", "dexChain": "Testnet"})
            own = self.mine.attempt(lambda: self.mine.revoke_builder(self.names[who]))
        return f"{self.said}: venue {told}, mine {own}" if told != own else self.difference()

    def master(self, who: int, action: Json) -> bool:
        self.answer = self.masters[who].do(self.venue, action)
        return bool(self.answer["code"] == 0)

    def user_vaults(self) -> list[str]:
        return [address for address in self.mine.vaults if address != LP]

    def action(self, who: int) -> str:
        """Send an action with some agent's signature; the reference finds out for whom it acts."""
        chance, kind = self.chance, self.chance.random()
        if kind < 0.06:
            return self.by_master(who)
        agent = self.agents[chance.choice((who, who, who, who, who, chance.randrange(8)))]
        vaults = self.user_vaults()
        vault = chance.choice(vaults) if vaults and kind < 0.62 else ""
        action = self.random_action(vault, vaults)
        envelope = {"vault": vault} if vault else {}
        self.said = (who, agent.address[:6], action, vault[:8])
        answer = agent.do(self.venue, action, **envelope)
        self.answer = answer
        address = self.mine.master_of(agent.address.lower())
        if action["type"] == "placeBuilderOrder":
            mine = self.mine
            address = next(
                (t for t, e in mine.builder_agents.items() if e[0] == agent.address.lower() and e[3] >= mine.time), ""
            )
        if not address:
            return "" if answer["code"] == 40204 else f"{self.said}: an unknown agent was answered {answer}"
        if answer["code"] == 40204:
            return f"{self.said}: a known agent was answered {answer['message']}"
        made = str((answer["data"] or {}).get("vault", "")).lower()
        own = self.mine_does(address, action, vault, made)
        results = (answer["data"] or {}).get("results")
        told = [answer["code"] == 0] if results is None else [result["txCode"] == 0 for result in results]
        if told != own and action["type"] != "cancelAll":
            return f"{self.said}: venue {told} {answer['message']}, mine {own}"
        return self.difference()

    def mine_does(self, address: str, action: Json, vault: str, made: str) -> list[bool]:
        mine = self.mine
        if action["type"] == "vaultCreateSubVault":
            parent = mine.vaults[vault]
            done = mine.attempt(
                lambda: self.owned(address, vault, lambda: mine.create_sub_vault(parent, made or "none"))
            )
            return [done]
        if vault:
            try:
                self.owned(address, vault, lambda: None)
            except Refused:
                return [False] * len(action.get("orders", [1]))
        return mine.command(address, action, vault, made)

    def owned(self, address: str, vault: str, rule: Any) -> None:
        if self.mine.vaults[vault].owner != address or not self.mine.vaults[vault].open:
            raise Refused("the owner of an open vault")
        rule()

    def by_master(self, who: int) -> str:
        amount = self.chance.choice(("1", "2", "50", "100000"))
        action: Json = {"type": "withdraw", "destination": self.masters[who].address, "amount": amount}
        if self.chance.random() < 0.4:
            action = {"type": "faucetClaim"}
        self.said = (who, action)
        told = self.master(who, action)
        own = self.mine.command(self.names[who], action)[0]
        return f"{self.said}: venue {told} {self.answer['message']}, mine {own}" if told != own else self.difference()

    def random_action(self, vault: str, vaults: list[str]) -> Json:
        chance, kind = self.chance, self.chance.random()
        amount = chance.choice(("100", "250.5", "1000", "33.333333", "9000"))
        if vault:
            if kind < 0.5:
                return self.order()
            if kind < 0.6:
                return {"type": "vaultPreWithdraw", "amount": amount} | USDC
            if kind < 0.7:
                return {"type": "vaultCreateSubVault"}
            if kind < 0.8:
                return {"type": "vaultUpdateOwner", "owner": chance.choice(self.names)}
            if kind < 0.9:
                return {"type": "cancelAll", "symbolCode": 1}
            return {"type": "vaultClose"}
        some = [*vaults, OWN[LP]]
        if kind < 0.35:
            return self.order()
        if kind < 0.4:
            return {"type": "cancelAll", "symbolCode": 1}
        if kind < 0.46:
            rate = chance.choice(("0", "0.0004", "0.001"))
            order = self.order()["orders"][0]
            builder = chance.choice(self.masters).address
            return {"type": "placeBuilderOrder", "order": order, "builder": builder, "builderFeeRate": rate}
        if kind < 0.54:
            return {"type": "vaultCreate", "name": "v", "description": "d", "amount": amount} | USDC
        if kind < 0.7:
            return {"type": "vaultDeposit", "vault": chance.choice(some), "amount": amount} | USDC
        if kind < 0.85:
            return {"type": "vaultWithdraw", "vault": chance.choice(some), "share": amount} | USDC
        return {
            "type": "vaultRebalance",
            "from": chance.choice(some),
            "to": chance.choice(some),
            "amount": amount,
        } | USDC

    def order(self) -> Json:
        chance, product = self.chance, self.mine.products[1]
        price = product.mark + chance.randint(-30, 30)
        quantity = chance.choice((1, 5, 20, 60, 100))
        return {"type": "placeOrder", "orders": [{
            "symbolCode": 1, "ordPx": f"{price // 10}.{price % 10}", "ordQty": f"{quantity / 1000:.3f}",
            "ordType": "LIMIT", "ordSide": chance.choice(("BUY", "SELL")),
            "timeInForce": chance.choice(("GTC", "GTC", "IOC")),
        }]}  # fmt: skip

    # what is compared

    def ask(self, path: str, **values: Any) -> Any:
        query = "&".join(f"{name}={value}" for name, value in values.items())
        answer = json.loads(self.venue.host.gateway.handle("GET", path, query, b"", "t").body)
        assert answer["code"] == 0, answer
        data = answer["data"]
        return data["items"] if isinstance(data, dict) and "items" in data else data

    def difference(self) -> str:
        for compare in (self.ledger, self.wallets, self.vaults, self.events):
            told, own = compare()
            if told != own:
                return f"{self.said} {compare.__name__}: {differing_all(told, own)}"
        self.reader.take()
        found = feeds.compare(self.reader, self.shown, self.logged, self.closed, self.paid)
        for channel, (heard, expected) in found.items():
            if heard != expected:
                return f"{self.said} feed {channel}: {differing_all(heard, expected)}"
        return ""

    def ledger(self) -> tuple[list[Any], list[Any]]:
        mine = self.shown.ledger(self.booked)
        told = []
        for name in (*self.names, *self.user_vaults(), *OWN.values()):
            count = sum(row["userAddr"] == name for row in mine)
            rows = self.ask("/info/account/ledger", userAddr=name, pageSize=min(500, count + 3))
            rows = [row for row in rows if row["id"] > self.booked]
            told += [cleaned(row, ("blockHeight", "txHash", "currency", "balance")) for row in rows]

        def order(row: Json) -> tuple[int, str]:
            return row["id"], row["userAddr"]

        return sorted(told, key=order), sorted(mine, key=order)

    def wallets(self) -> tuple[list[Any], list[Any]]:
        told, mine = [], []
        for name in (*self.names, *self.user_vaults(), OWN[LP]):
            row = self.ask("/info/account/wallet", userAddr=name, includeZero="true")[0]
            told.append(cleaned(row, ("blockHeight", "currency", "blockTime")))
            account = self.mine.accounts[self.shown.back.get(name, name)]
            mine.append(self.shown.wallet(account) | {"userAddr": name})
        return told, mine

    def vaults(self) -> tuple[list[Any], list[Any]]:
        told, mine = [], []
        for address, vault in self.mine.vaults.items():
            user = self.chance.choice(self.names)
            row = self.ask("/info/vault/detail", vaultAddress=self.shown.name(address), userAddress=user)
            told.append({n: row[n] for n in ("tvl", "price", "status", "yourDeposits", "userCurrentValue")})
            stake, price = vault.stakes.get(user), self.mine.price(vault)
            value = int(Fraction(self.mine.withdraw_value(vault) * stake.shares, vault.shares)) if stake else 0
            mine.append({
                "tvl": money(self.mine.worth(vault) if vault.open else 0), "price": plain(round_down(price)),
                "status": 1 if vault.open else 2, "yourDeposits": money(stake.cost if stake else 0),
                "userCurrentValue": money(value),
            })  # fmt: skip
        return told, mine

    def events(self) -> tuple[list[Any], list[Any]]:
        told, mine = [], []
        for address in self.mine.vaults:
            own = [e for e in self.mine.vault_events if e.vault == address]
            new = sum(e.vault == address for e in self.mine.vault_events[self.told :])
            rows = self.ask("/info/vault/events", vaultAddress=self.shown.name(address), pageSize=new + 2)
            found = [
                (row["id"], row["type"], row["userAddress"].lower(), row["amount"], row["shares"], row["leaderFee"])
                for row in rows if row["id"] > len(own) - new
            ]  # fmt: skip
            told += sorted(found)
            mine += [
                (number, e.kind, e.user, money(e.amount), money(e.shares), money(e.leader_fee))
                for number, e in enumerate(own, 1) if number > len(own) - new
            ]  # fmt: skip
        return told, mine


def round_down(price: Fraction) -> Fraction:
    return Fraction(int(price * 10**6), 10**6)


def storm(seed: int, count: int) -> tuple[int, str]:
    """Return after how many steps the two differ, and how; "" when they never do."""
    duo = Duo(seed)
    for number in range(1, count + 1):
        if said := duo.step():
            return number, said
    return count, ""


__all__ = ["Duo", "micro", "storm"]
