"""The reference as a venue: takes signed actions in wire names."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from .books import Account, Order, Product, Refused, down, need
from .money import LP, Settings
from .programs import Programs, Stake, Vault

Json = dict[str, Any]
BY_MASTER = {
    "withdraw", "faucetClaim", "approveAgent", "registerBuilder", "approveAgentToBuilder", "revokeAgentToBuilder",
}  # fmt: skip
"""Actions that an account signs itself."""


class Reference(Programs):
    """The rules as a venue. `own` are the addresses of its own accounts, `codes` the accounts of referral codes."""

    def __init__(
        self, products: Iterable[Product], settings: Settings, time: int, own: Mapping[str, str] | None = None
    ) -> None:
        self.flagged, self.owed_rebates, self.loose, self.live, self.trimmed = {}, [], [], {}, []
        self.own, self.codes = dict(own or {}), dict[str, str]()
        self.unwinding, self.marks, self.checked = 0, {}, {}
        self.closings, self.payments, self.joined = [], [], []
        self.vaults, self.vault_events, self.agents, self.builders = {}, [], [], set()
        self.builder_agents, self.claims = {}, {}
        super().__init__(products, settings, time)
        for product in self.products.values():
            product.mark = product.oracle
            product.basis, product.books = deque(), deque()
        self.vaults[LP] = Vault(self.accounts[LP], "")
        self.pay("DEPOSIT", "", LP, settings.lp_capital)
        self.vaults[LP].stakes[LP] = Stake(settings.lp_capital, settings.lp_capital)

    def read(self, account: Account, item: Mapping[str, Any]) -> Order:
        """Return the order of an item."""
        product, side = self.products[int(item["symbolCode"])], item["ordSide"]
        price, trigger = (down(Fraction(item.get(name) or "0") / product.tick) for name in ("ordPx", "triggerPx"))
        return Order(
            0, account, product, 1 if side.startswith("BUY") else -1, side.endswith("CLOSE_HEDGE"), item["ordType"],
            item["timeInForce"], price, down(Fraction(item["ordQty"]) / product.step),
            item.get("reduceOnlyOption") or item.get("reduceOnly") or "",
            int(item.get("clOrdId") or 0), int(item.get("parentOrdId") or 0), trigger,
            item.get("tpslTriggerType", "LAST_PRICE") if trigger else "", Fraction(item.get("slippagePct") or "0"),
        )  # fmt: skip

    def built(self, account: Account, item: Json, action: Json) -> Order:
        """Return the order of an item that a builder has made."""
        order = self.read(account, item)
        _, builder, cap, _ = self.builder_agents[account.address]
        order.builder, order.builder_rate = builder, Fraction(action["builderFeeRate"])
        order.unbuilt = action["builder"].lower() != builder or order.builder_rate > cap
        return order

    @staticmethod
    def attempt(rule: Callable[..., object], *arguments: object) -> bool:
        """Apply a rule; return whether it accepted."""
        try:
            return rule(*arguments) is not False
        except Refused:
            return False

    def acting(self, signer: str, kind: str) -> str:
        """Return the account that an action acts for, "" if the signer is nobody's agent."""
        if kind in BY_MASTER:
            return signer
        if kind in ("placeBuilderOrder", "placeBuilderBracketOrder"):
            built = self.builder_agents.items()
            return next((t for t, (agent, _, _, ends) in built if agent == signer and ends >= self.time), "")
        return self.master_of(signer)

    def command(self, signer: str, action: Json, vault: str = "", made: str = "") -> list[bool] | None:
        """Apply a signed action; return what was accepted, for each item of a batch; None for an unknown agent.

        `made` is the address of a vault that the venue has created by this action: addresses are its own choice.
        """
        address = self.acting(signer, action["type"])
        if not address:
            return None
        items = action.get("orders", [action]) if action["type"] == "placeOrder" else action.get("cancels", [action])
        if vault and not self.attempt(self.check_owner, address, vault):
            return [False] * len(items)
        account = self.accounts[vault or address]
        done = [self.attempt(self.apply, account, action | item, address, made) for item in items]
        self.after()
        return done

    def check_owner(self, address: str, vault: str) -> None:
        found = self.vaults.get(vault)
        need(found and found.open and found.owner == address, "the owner of an open vault")

    def apply(self, account: Account, action: Json, address: str, made: str) -> bool | None:
        """Apply an action, or one item of a batch, to an account or vault, in the name of `address`."""
        code, number = int(action.get("symbolCode", 1)), int(action.get("ordId") or 0)
        client, product = int(action.get("clOrdId") or 0), self.products[code]
        match action["type"]:
            case "placeOrder":
                return self.place(self.read(account, action))
            case "placeBracketOrder":
                return self.bracket([self.read(account, item) for item in action["orders"]])
            case "placeBuilderOrder":
                return self.place(self.built(account, action["order"], action))
            case "placeBuilderBracketOrder":
                return self.bracket([self.built(account, item, action) for item in action["orders"]])
            case "cancelOrder":
                self.end(self.find(account, code, number, client))
            case "replaceOrder":
                self.replace(self.find(account, code, number, client), self.read(account, action))
            case "cancelAll":
                self.cancel_all(account, code, bool(action.get("conditionalOrder")))
            case "setLeverage":
                self.set_leverage(account.position(product), Fraction(action["leverage"]))
            case "setMarginMode":
                self.set_margin_mode(account.position(product), action["marginMode"] == "ISOLATED")
            case "assignPosMargin":
                self.assign_margin(account.position(product), micro(action["assignedPosMargin"]))
            case "withdraw":
                self.withdraw(account, micro(action["amount"]), action["destination"])
            case "faucetClaim":
                self.claim(account)
            case "approveAgent":
                self.approve(address, action["agentAddress"].lower(), action["agentName"], action["validitySeconds"])
            case "bindReferral":
                self.bind(account, self.codes[action["referralCode"]])
            case "registerBuilder":
                self.register_builder(address)
            case "approveAgentToBuilder":
                agent, builder = action["agentAddress"].lower(), action["builderAddress"].lower()
                self.approve_builder(address, agent, builder, Fraction(action["maxFeeRate"]), action["validitySeconds"])
            case "revokeAgentToBuilder":
                self.revoke_builder(address)
            case "vaultCreate":
                self.create_vault(account, made or "none", micro(action["amount"]))
            case "vaultCreateSubVault":
                self.create_sub_vault(self.vaults[account.address], made or "none")
            case "vaultDeposit":
                self.vault_deposit(account, self.vault_of(action["vault"]), micro(action["amount"]))
            case "vaultWithdraw":
                self.vault_withdraw(account, self.vault_of(action["vault"]), micro(action["share"]))
            case "vaultPreWithdraw":
                self.pre_withdraw(self.vaults[account.address], micro(action["amount"]))
            case "vaultRebalance":
                source, target = self.vault_of(action["from"]), self.vault_of(action["to"])
                self.rebalance(address, source, target, micro(action["amount"]))
            case "vaultUpdateOwner":
                self.update_owner(self.vaults[account.address], action["owner"].lower())
            case "vaultClose":
                self.close_vault(self.vaults[account.address])
            case unknown:
                raise NotImplementedError(unknown)
        return None

    def vault_of(self, address: str) -> Vault:
        names = {shown: name for name, shown in self.own.items()}
        name = names.get(address.lower(), address.lower())
        need(name in self.vaults, "a vault")
        return self.vaults[name]


def micro(text: str) -> int:
    """Return micro-USDC of decimal text; finer text is refused."""
    amount = Fraction(text) * 10**6
    need(amount.denominator == 1, "micro-USDC")
    return int(amount)
