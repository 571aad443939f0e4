"""Agents, builders, referrals, the faucet, and vaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from .books import Account, down, need, up
from .clock import Clock
from .money import FEES, LP, RESERVES, ROUNDING

USDC = 10**6
WEEK = 7 * 86_400
LOCK = 4 * 86_400_000
MOST_SHARES = 10**12 * USDC


@dataclass
class Stake:
    """What a depositor has in a vault."""

    shares: int = 0
    cost: int = 0
    locked: int = 0


@dataclass
class Vault:
    """A vault: an account whose value belongs to the holders of its shares (in millionths)."""

    account: Account
    owner: str
    parent: str = ""
    stakes: dict[str, Stake] = field(default_factory=dict)
    aside: int = 0
    open: bool = True
    received: bool = False
    """Clarification 16: one that was handed over doesn't count towards the five of its owner."""
    last_price: Fraction = Fraction(1)

    @property
    def shares(self) -> int:
        return sum(stake.shares for stake in self.stakes.values())


@dataclass(frozen=True)
class VaultEvent:
    """What happened to a vault."""

    vault: str
    kind: str
    user: str
    amount: int
    shares: int
    leader_fee: int


class Programs(Clock):
    """What accounts do besides trading."""

    vaults: dict[str, Vault]
    vault_events: list[VaultEvent]
    agents: list[tuple[str, str, str, int]]
    """(agent, master, name, expires): the active and expired approvals."""
    builders: set[str]
    builder_agents: dict[str, tuple[str, str, Fraction, int]]
    """Trader → (builder's agent, builder, highest rate, expires)."""
    claims: dict[str, int]

    # agents and builders

    def approve(self, master: str, agent: str, name: str, seconds: int) -> None:
        """Assumptions, Agents: another agent under a name ends the one before; the zero address revokes."""
        mine = [entry for entry in self.agents if entry[1] == master and entry[2] == name and entry[3] >= self.time]
        if not int(agent, 16):
            need(mine, "no active agent of that name")
        else:
            need(agent != master, "an account can't be its own agent")
            held = self.master_of(agent)
            need(held in ("", master), "an agent acts for one account at a time")
            # a builder's own agent may act for its trader too
            built = [each[1] for each in self.builder_agents.values() if each[0] == agent and each[3] >= self.time]
            need(held or built in ([], [master]), "a builder's agent acts for its trader")
        self.agents = [entry for entry in self.agents if entry not in mine]
        if int(agent, 16):
            self.agents.append((agent, master, name, self.time + (seconds or WEEK) * 1000))

    def master_of(self, agent: str) -> str:
        """Return the account that an agent acts for, "" for none. An approval counts in the millisecond it ends."""
        return next((master for a, master, _, at in self.agents if a == agent and at >= self.time), "")

    def register_builder(self, master: str) -> None:
        need(master not in self.builders, "a builder registers once")
        self.builders.add(master)

    def approve_builder(self, trader: str, agent: str, builder: str, rate: Fraction, seconds: int) -> None:
        need(builder in self.builders and builder != trader, "a registered builder")
        need(0 < rate <= Fraction(1, 1000), "the environment's fee cap")
        need(agent not in (trader, builder), "an agent of its own")
        need(self.master_of(agent) != trader, "a trader's own agent can't be its builder's agent")
        taken = {t for t, entry in self.builder_agents.items() if entry[0] == agent and entry[3] >= self.time}
        need(not taken - {trader}, "an agent can be authorised for one trader at a time")
        self.builder_agents[trader] = (agent, builder, rate, self.time + (seconds or WEEK) * 1000)

    def revoke_builder(self, trader: str) -> None:
        need(trader in self.builder_agents and self.builder_agents[trader][3] >= self.time, "no authorisation")
        del self.builder_agents[trader]

    # referrals and the faucet

    def bind(self, account: Account, inviter: str) -> None:
        need(not account.inviter and inviter != account.address, "bound once")
        above = inviter
        while above:
            need(above != account.address, "an inviter must not be in the network of the account it invites")
            above = self.accounts[above].inviter
        account.inviter = inviter
        self.joined += [name for name in (account.address, inviter) if name not in self.joined]

    def claim(self, account: Account) -> None:
        last = self.claims.get(account.address)
        need(last is None or self.time - last >= self.settings.faucet_pause, "one claim in 24 h")
        self.claims[account.address] = self.time
        self.pay("FAUCET", "", account.address, self.settings.faucet_amount)

    # vaults

    def children_of(self, vault: Vault) -> list[Vault]:
        return [each for each in self.vaults.values() if each.parent == vault.account.address and each.open]

    def worth(self, vault: Vault) -> int:
        """Assumptions, Vaults: unrealised PnL, sub-vaults and cash set aside count."""
        return vault.account.worth + vault.aside + sum(self.worth(child) for child in self.children_of(vault))

    def price(self, vault: Vault) -> Fraction:
        if not vault.open:
            return vault.last_price
        return Fraction(self.worth(vault), vault.shares) if vault.shares else Fraction(1)

    def at_book(self, vault: Vault) -> int:
        """Return the value of a vault with its positions at what the book would pay for them."""
        return self.worth(vault) + self.book_gain(vault)

    def book_gain(self, vault: Vault) -> int:
        """Return what the book would pay for a vault's positions beyond their value at mark."""
        total = sum(self.book_gain(child) for child in self.children_of(vault))
        for position in vault.account.held:
            for side in (1, -1):
                left, price, value = position.leg(side).size, position.product.mark, 0
                edge = price * (1 - side * position.product.max_slippage)
                worst = up(edge) if side > 0 else down(edge)
                for order in self.book(position.product, side):
                    if order.account is not vault.account and left:
                        price = max(order.price, worst) if side > 0 else min(order.price, worst)
                        taken = min(left, order.leaves)
                        left, value = left - taken, value + position.product.value(price, taken)
                value += position.product.value(price, left)
                total += side * (value - position.notional(side))
        return total

    def deposit_value(self, vault: Vault) -> int:
        """Clarification 13: a deposit is valued at the higher of value at mark and at what the book would pay."""
        return max(self.worth(vault), self.at_book(vault))

    def withdraw_value(self, vault: Vault) -> int:
        """Clarification 13: a withdrawal at the lower."""
        return min(self.worth(vault), self.at_book(vault))

    def told(self, vault: Vault, kind: str, user: str, amount: int = 0, shares: int = 0, fee: int = 0) -> None:
        self.vault_events.append(VaultEvent(vault.account.address, kind, user, amount, shares, fee))

    def owned(self, owner: str) -> list[Vault]:
        led = (each for each in self.vaults.values() if each.owner == owner and each.open)
        return [each for each in led if not each.parent and not each.received]

    def create_vault(self, owner: Account, address: str, amount: int) -> None:
        """Venue facts: created with ≥ 100 USDC and a 100 USDC fee, at most 5 an account."""
        need(owner.address not in self.vaults, "vaults don't join vaults")
        need(amount >= 100 * USDC, "at least 100 USDC")
        need(len(self.owned(owner.address)) < 5, "at most 5 vaults")
        need(self.withdrawable(owner) >= amount + 100 * USDC, "withdrawable")
        vault = self.vaults[address] = Vault(self.open(address), owner.address)
        self.pay("VAULT_FEE", owner.address, FEES, 100 * USDC, reference=address)
        self.pay("VAULT_DEPOSIT", owner.address, address, amount, reference=address)
        vault.stakes[owner.address] = Stake(amount, amount)
        self.told(vault, "CREATE", owner.address, amount, amount)

    def vault_deposit(self, account: Account, vault: Vault, amount: int) -> None:
        """Venue facts: shares at net asset value. The LP vault locks for 4 days."""
        need(vault.open and not vault.parent, "an open vault that takes deposits")
        need(account.address not in self.vaults, "vaults don't join vaults")
        need(self.withdrawable(account) >= amount, "withdrawable")
        total, value = vault.shares, self.deposit_value(vault)
        need(not total or value > 0, "a vault without value")
        need(not total or 100 * value <= 101 * self.worth(vault), "a book that is not far above mark")
        shares = down(Fraction(amount * total, value)) if total else amount
        need(shares > 0, "no share")
        need(total + shares <= MOST_SHARES, "shares of a vault")
        if total:
            given = amount - Fraction(shares * value, total)
            need(given <= max(Fraction(amount, 10_000), Fraction(1)), "what others would get")
        self.pay("VAULT_DEPOSIT", account.address, vault.account.address, amount, reference=vault.account.address)
        stake = vault.stakes.setdefault(account.address, Stake())
        stake.shares, stake.cost = stake.shares + shares, stake.cost + amount
        if vault.account.address == LP:
            stake.locked = self.time + LOCK
        self.told(vault, "DEPOSIT", account.address, amount, shares)

    def vault_withdraw(self, account: Account, vault: Vault, shares: int) -> None:
        stake = vault.stakes.get(account.address)
        need(vault.open and stake is not None, "an open vault with shares")
        assert stake is not None
        need(0 < shares <= stake.shares, "shares held")
        need(self.time >= stake.locked, "locked")
        amount, total = down(Fraction(shares * self.withdraw_value(vault), vault.shares)), vault.shares
        need(amount > 0 and total, "no value")
        need(amount * 20 >= 19 * down(Fraction(shares * self.worth(vault), total)), "a book that is not far below mark")
        free = vault.aside + max(0, self.withdrawable(vault.account))
        need(amount <= free, "free cash of the vault")
        family = [each.account for each in (vault, *self.children_of(vault))]
        if account.address == vault.owner and shares < total and any(each.held or each.orders for each in family):
            self.check_stake(vault.account, shares)
        fee = self.pay_out(vault, account, stake, shares, amount)
        self.told(vault, "WITHDRAW", account.address, amount, shares, fee)

    def pay_out(self, vault: Vault, account: Account, stake: Stake, shares: int, amount: int) -> int:
        """Venue facts: the leader takes 10 % of a depositor's gain at withdrawal (average cost basis)."""
        cost = down(Fraction(stake.cost * shares, stake.shares))
        fee = 0
        if vault.owner and vault.owner != account.address:
            fee = max(0, amount - cost) // 10
        address = vault.account.address
        from_aside = min(vault.aside, amount)
        if from_aside:
            vault.aside -= from_aside
            self.pay("VAULT_REBALANCE", RESERVES, address, from_aside, reference=address)
        self.pay("VAULT_WITHDRAW", address, account.address, amount - fee, reference=address)
        self.pay("VAULT_LEADER_SHARE", address, vault.owner, fee, reference=address)
        stake.shares, stake.cost = stake.shares - shares, stake.cost - cost
        if not stake.shares:
            del vault.stakes[account.address]
        return fee

    def pre_withdraw(self, vault: Vault, amount: int) -> None:
        need(vault.open, "an open vault")
        need(amount <= self.withdrawable(vault.account), "free cash")
        vault.aside += amount
        self.pay("VAULT_REBALANCE", vault.account.address, RESERVES, amount, reference=vault.account.address)
        self.told(vault, "PRE_WITHDRAW", vault.owner, amount)

    def owner(self, account: Account) -> str:
        vault = self.vaults.get(account.address)
        return vault.owner if vault and vault.owner else account.address

    def check_stake(self, account: Account, ended: int = 0) -> None:
        """Ruling 21: a leader has at least 5 % of its vault; below it the vault may only reduce."""
        vault = self.vaults.get(account.address)
        if vault is not None and vault.owner:
            top = self.vaults[self.family(vault)]
            held = top.stakes.get(top.owner, Stake()).shares
            need(20 * (held - ended) >= top.shares - ended, "a leader's part of its vault")

    def create_sub_vault(self, parent: Vault, address: str) -> None:
        need(parent.open and not parent.parent, "a vault that is no sub-vault")
        children = self.children_of(parent)
        need(len(children) < 10, "at most 10 open sub-vaults")
        self.vaults[address] = Vault(self.open(address), parent.owner, parent.account.address)
        self.told(parent, "CREATE_SUB_VAULT", parent.owner)

    def family(self, vault: Vault) -> str:
        return vault.parent or vault.account.address

    def rebalance(self, user: str, source: Vault, target: Vault, amount: int) -> None:
        """Assumptions, Vaults: moves free cash in a family; to itself it brings back what was set aside."""
        need(source.owner == target.owner == user, "the owner's vaults")
        need(source.open and target.open and self.family(source) == self.family(target), "one family")
        if source is target:
            need(amount <= source.aside, "set aside")
            source.aside -= amount
            self.pay("VAULT_REBALANCE", RESERVES, source.account.address, amount, reference=source.account.address)
        else:
            need(amount <= self.withdrawable(source.account), "free cash")
            self.pay(
                "VAULT_REBALANCE", source.account.address, target.account.address, amount,
                reference=target.account.address,
            )  # fmt: skip
        self.told(source, "REBALANCE", user, amount)

    def update_owner(self, vault: Vault, owner: str) -> None:
        """Assumptions, Vaults: needs an account with less than 5 vaults; the shares stay with their holders."""
        need(vault.open and not vault.parent, "a vault that is no sub-vault")
        need(owner in self.accounts and owner not in self.vaults, "another account")
        before, vault.received = vault.owner, True
        for each in (vault, *self.children_of(vault)):
            each.owner = owner
        self.told(vault, "UPDATE_OWNER", before)

    def close_vault(self, vault: Vault, told: bool = True) -> None:
        """Assumptions, Vaults: without positions and open orders; everybody is paid out, with the leader's share."""
        need(vault.open, "an open vault")
        need(not vault.account.held and not vault.account.orders, "positions or open orders")
        for child in self.children_of(vault):
            need(not child.account.held and not child.account.orders, "positions or open orders of a sub-vault")
        for child in self.children_of(vault):
            self.close_vault(child, told=False)
        vault.last_price = self.price(vault)
        address, total, fees = vault.account.address, vault.shares, 0
        value = self.worth(vault)
        if vault.parent:
            self.pay("VAULT_REBALANCE", address, vault.parent, vault.account.balance, reference=vault.parent)
        else:
            whole, value = value, 0
            for holder, stake in list(vault.stakes.items()):
                amount = down(Fraction(stake.shares * whole, total))
                fees += self.pay_out(vault, self.accounts[holder], stake, stake.shares, amount)
                value += amount
            vault.last_price = Fraction(value, total)  # what was paid, without what rounding left
            self.pay("ROUNDING", address, ROUNDING, vault.account.balance, reference=address)
        vault.open = False
        if told:
            self.told(vault, "CLOSE", vault.owner, value, total, fees)
