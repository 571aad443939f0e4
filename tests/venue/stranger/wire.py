"""The reference as a venue: takes actions in wire names, and shows its state in the rows of the Info API."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from .books import Account, Order, Product, Refused, down, need
from .money import LP, Settings
from .programs import Programs, Stake, Vault

Json = dict[str, Any]


class Reference(Programs):
    """The stranger's venue."""

    def __init__(self, products: Iterable[Product], settings: Settings, time: int) -> None:
        self.flagged, self.owed_rebates, self.loose, self.live, self.trimmed = {}, [], [], {}, []
        self.addresses: dict[str, str] = {}
        self.unwinding, self.marks, self.checked = 0, {}, {}
        self.closings, self.payments, self.joined = [], [], []
        self.vaults, self.vault_events, self.agents, self.builders = {}, [], [], set()
        self.builder_agents, self.claims = {}, {}
        super().__init__(products, settings, time)
        for product in self.products.values():
            product.mark = product.oracle
            product.basis, product.books = deque(), deque()
        self.vaults[LP] = Vault(self.accounts[LP], "", "LP vault", created=time)
        self.pay("DEPOSIT", "", LP, settings.lp_capital)
        self.vaults[LP].stakes[LP] = Stake(settings.lp_capital, settings.lp_capital)

    # orders from the wire

    def read(self, account: Account, item: Mapping[str, Any]) -> Order:
        product = self.products[int(item["symbolCode"])]
        side = item["ordSide"]

        def ticks(name: str) -> int:
            return down(Fraction(item.get(name) or "0") / product.tick)

        reduce = item.get("reduceOnlyOption") or item.get("reduceOnly") or ""
        trigger = ticks("triggerPx")
        return Order(
            0, account, product, 1 if side.startswith("BUY") else -1, side.endswith("CLOSE_HEDGE"), item["ordType"],
            item["timeInForce"], ticks("ordPx"), down(Fraction(item["ordQty"]) / product.step), reduce,
            int(item.get("clOrdId") or 0), int(item.get("parentOrdId") or 0), trigger,
            item.get("tpslTriggerType", "LAST_PRICE") if trigger else "", Fraction(item.get("slippagePct") or "0"),
        )  # fmt: skip

    def attempt(self, rule: Callable[[], object]) -> bool:
        """Apply an action; return whether it was accepted."""
        try:
            return rule() is not False
        except Refused:
            return False

    def command(self, address: str, action: Mapping[str, Any], vault: str = "", made: str = "") -> list[bool]:
        """Apply an action of an account; return what was accepted, for each item of a batch.

        `made` is the address of a vault that the venue has created by this action: addresses are its own choice.
        """
        kind, account = action["type"], self.accounts[vault or address]
        if kind == "placeOrder":
            done = [self.attempt(lambda item=item: self.place(self.read(account, item))) for item in action["orders"]]  # type: ignore[misc]
        elif kind == "cancelOrder":
            done = [self.attempt(lambda item=item: self.cancel_item(account, item)) for item in action["cancels"]]  # type: ignore[misc]
        else:
            done = [self.attempt(lambda: getattr(self, f"do_{kind}")(account, action, address, vault or made))]
        self.after()
        return done

    def cancel_item(self, account: Account, item: Mapping[str, Any]) -> None:
        self.cancel(account, int(item["symbolCode"]), int(item.get("ordId") or 0), int(item.get("clOrdId") or 0))

    def do_placeBracketOrder(self, account: Account, action: Json, _: str, __: str) -> bool:
        return self.bracket([self.read(account, item) for item in action["orders"]])

    def do_placeBuilderOrder(self, account: Account, action: Json, _: str, __: str) -> bool:
        return self.place(self.built(account, action["order"], action))

    def do_placeBuilderBracketOrder(self, account: Account, action: Json, _: str, __: str) -> bool:
        return self.bracket([self.built(account, item, action) for item in action["orders"]])

    def built(self, account: Account, item: Json, action: Json) -> Order:
        order = self.read(account, item)
        _, builder, cap, _ = self.builder_agents[account.address]
        order.builder, order.builder_rate = builder, Fraction(action["builderFeeRate"])
        order.unbuilt = action["builder"].lower() != builder or order.builder_rate > cap
        return order

    def do_replaceOrder(self, account: Account, action: Json, _: str, __: str) -> None:
        number, client = int(action.get("ordId") or 0), int(action.get("clOrdId") or 0)
        found = [o for o in account.orders.values() if (o.id == number if number else o.client == client)]
        need(found and found[0].product.code == action["symbolCode"], "no open order of that id")
        self.replace(found[0], self.read(account, action))

    def do_cancelAll(self, account: Account, action: Json, _: str, __: str) -> None:
        self.cancel_all(account, action["symbolCode"], bool(action.get("conditionalOrder")))

    def do_setLeverage(self, account: Account, action: Json, _: str, __: str) -> None:
        self.set_leverage(account.position(self.products[action["symbolCode"]]), Fraction(action["leverage"]))

    def do_setMarginMode(self, account: Account, action: Json, _: str, __: str) -> None:
        isolated = action["marginMode"] == "ISOLATED"
        self.set_margin_mode(account.position(self.products[action["symbolCode"]]), isolated)

    def do_assignPosMargin(self, account: Account, action: Json, _: str, __: str) -> None:
        amount = micro(action["assignedPosMargin"])
        self.assign_margin(account.position(self.products[action["symbolCode"]]), amount)

    def do_withdraw(self, account: Account, action: Json, _: str, __: str) -> None:
        self.withdraw(account, micro(action["amount"]), action["destination"])

    def do_faucetClaim(self, account: Account, _: Json, __: str, ___: str) -> None:
        self.claim(account)

    def do_vaultCreate(self, account: Account, action: Json, _: str, made: str) -> None:
        self.create_vault(account, made or "none", action["name"], micro(action["amount"]))

    def do_vaultCreateSubVault(self, account: Account, _: Json, address: str, made: str) -> None:
        raise NotImplementedError

    def vault_of(self, address: str) -> Vault:
        names = {shown: name for name, shown in self.addresses.items()}
        name = names.get(address.lower(), address.lower())
        need(name in self.vaults, "a vault")
        return self.vaults[name]

    def do_vaultDeposit(self, account: Account, action: Json, _: str, __: str) -> None:
        self.vault_deposit(account, self.vault_of(action["vault"]), micro(action["amount"]))

    def do_vaultWithdraw(self, account: Account, action: Json, _: str, __: str) -> None:
        self.vault_withdraw(account, self.vault_of(action["vault"]), micro(action["share"]))

    def do_vaultPreWithdraw(self, account: Account, action: Json, _: str, vault: str) -> None:
        self.pre_withdraw(self.vaults[vault], micro(action["amount"]))

    def do_vaultRebalance(self, account: Account, action: Json, address: str, _: str) -> None:
        source, target = self.vault_of(action["from"]), self.vault_of(action["to"])
        self.rebalance(address, source, target, micro(action["amount"]))

    def do_vaultUpdateOwner(self, account: Account, action: Json, _: str, vault: str) -> None:
        self.update_owner(self.vaults[vault], action["owner"].lower())

    def do_vaultClose(self, account: Account, action: Json, _: str, vault: str) -> None:
        self.close_vault(self.vaults[vault])


def micro(text: str) -> int:
    """Return micro-USDC of decimal text; finer text is refused."""
    amount = Fraction(text) * 10**6
    need(amount.denominator == 1, "micro-USDC")
    return int(amount)
