"""Statements on permissions and money that leaves: agents, withdrawals, the faucet, builders, vaults and referrals.

Each statement uses accounts of its own where it changes what others need: 4 trades by a builder, and 6 is that builder.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from .requests import DAY_MS, FACTS, SPEC, accepted, malformed, refused, ruled_out, without
from .signing import Key
from .statements import NotTried, each, expect, for_all, states
from .venue import Answer, Trader, Venue

YEAR = 365 * 86_400
ZERO = "0x" + "0" * 40
BUILDER, TRADER = 6, 4


def free(venue: Venue, trader: Trader) -> Decimal:
    """Return what an account may transfer, in USDC."""
    return Decimal(venue.rows("/info/account/wallet", userAddr=trader.address)[0]["availableTransferBalance"])


def master(venue: Venue, number: int, kind: str, /, signer: Key | None = None, **fields: Any) -> Answer:
    """Send an action that a master signs, by account number; `expiry`, `vault` and `nonce` are of the envelope."""
    options = {name: fields.pop(name) for name in ("expiry", "vault", "nonce", "domain") if name in fields}
    return venue.act(signer or venue.trader(number).master, {"type": kind, **fields}, **options)


# --- agents
@states(f"{SPEC}: Authentication", "an approved agent may trade; its own master may not trade with its own key")
def _(venue: Venue) -> None:
    trader = venue.trader(7)
    accepted(trader.place(venue.resting()))
    refused(venue.act(trader.master, {"type": "placeOrder", "orders": [venue.resting()]}), 40204)


for_all(
    f"{SPEC}: Limits",
    "validitySeconds of approveAgent: 0 to 365 days",
    [0, 1, YEAR],
    lambda venue, seconds: accepted(venue.approve(venue.trader(7).master, venue.stranger(), name="t", seconds=seconds)),  # type: ignore[arg-type]
)
for_all(
    f"{SPEC}: Limits",
    "validitySeconds of approveAgent beyond 365 days, or no integer from 0, is refused",
    [YEAR + 1, 1 << 63],
    lambda venue, seconds: refused(venue.approve(venue.trader(7).master, venue.stranger(), name="t", seconds=seconds)),  # type: ignore[arg-type]
)
APPROVE = ("agentAddress", "agentName", "validitySeconds", "dexChain")


def lacks(venue: Venue, name: object) -> None:
    """The signature can't be made without the field, so one over the whole action is sent."""
    trader = venue.trader(7)
    whole = {"type": "approveAgent", "agentAddress": trader.agent.address, "agentName": "x", "validitySeconds": 0}
    body = venue.envelope(trader.master, {**whole, "dexChain": venue.domain.dex_chain})
    malformed(venue.send({**body, "action": without(body["action"], str(name))}), str(name))


each(f"{SPEC}: Endpoints", "approveAgent requires {}", APPROVE, lacks)


@states(f"{SPEC}: Authentication", "an agent can't approve an agent")
def _(venue: Venue) -> None:
    refused(venue.approve(venue.trader(7).agent, venue.stranger()), 40204)


@states(f"{SPEC}: Endpoints", "approveAgent for the other dexChain is refused")
def _(venue: Venue) -> None:
    other = "Mainnet" if venue.domain.dex_chain == "Testnet" else "Testnet"
    trader = venue.trader(7)
    action = {"type": "approveAgent", "agentAddress": trader.agent.address, "agentName": "x", "validitySeconds": 0}
    refused(venue.act(trader.master, {**action, "dexChain": other}))


@states(f"{SPEC}: Request envelope", "approveAgent takes expiryAfter: a past one is refused as 40208")
def _(venue: Venue) -> None:
    trader = venue.trader(7)
    accepted(venue.approve(trader.master, trader.agent, expiry=venue.nonce() + DAY_MS))
    refused(venue.approve(trader.master, trader.agent, expiry=venue.nonce() - DAY_MS), 40208)


@states(f"{FACTS}: Master-signed typed data", "approveAgent with the zero address revokes the agent of that name")
def _(venue: Venue) -> None:
    trader, agent = venue.trader(7), venue.stranger()
    accepted(venue.approve(trader.master, agent, name="short-lived"))
    order = {"type": "placeOrder", "orders": [venue.resting()]}
    accepted(venue.act(agent, order))
    action = {"type": "approveAgent", "agentAddress": ZERO, "agentName": "short-lived", "validitySeconds": 0}
    accepted(venue.act(trader.master, {**action, "dexChain": venue.domain.dex_chain}))
    refused(venue.act(agent, {"type": "placeOrder", "orders": [venue.resting()]}), 40204)


@states(f"{FACTS}: Info API", "an approved agent is in /info/account/agent and /agent/active")
def _(venue: Venue) -> None:
    trader, agent = venue.trader(7), venue.stranger()
    accepted(venue.approve(trader.master, agent, name="listed"))
    rows = venue.rows("/info/account/agent", userAddr=trader.address, agentAddress=agent.address)
    expect(any(row["agentAddress"].lower() == agent.address.lower() for row in rows), rows)
    active = venue.info("/info/account/agent/active", userAddr=trader.address, agentName="listed").data
    expect(active["agentAddress"].lower() == agent.address.lower() and active["status"] in (1, "1", "ACTIVE"), active)


# --- withdraw and faucet
def withdraw(venue: Venue, amount: object = "2", **fields: Any) -> Answer:
    fields.setdefault("destination", venue.trader(8).address)
    fields.setdefault("withdrawSequence", venue.nonce() // 1000)
    return master(venue, 8, "withdraw", amount=amount, **fields)


@states(f"{SPEC}: Limits", "2 USDC can be withdrawn, and are gone from the balance")
def _(venue: Venue) -> None:
    before = free(venue, venue.trader(8))
    accepted(withdraw(venue))
    venue.until(lambda: free(venue, venue.trader(8)) <= before - 2, "the withdrawal")


@states(f"{SPEC}: Limits", "less than 2 USDC can't be withdrawn")
def _(venue: Venue) -> None:
    refused(withdraw(venue, "1.999999"))


@states(f"{SPEC}: Authentication", "more than the balance can't be withdrawn")
def _(venue: Venue) -> None:
    ruled_out(withdraw(venue, f"{free(venue, venue.trader(8)) + 1:f}"))


for_all(
    f"{SPEC}: Endpoints",
    "the amount of a withdrawal is text above 0",
    ["0", "-5", "", "text", "NaN", "1e3", "2.0000001"],
    lambda venue, amount: refused(withdraw(venue, amount)),
)


@states(f"{SPEC}: Authentication", "an agent can't withdraw")
def _(venue: Venue) -> None:
    refused(withdraw(venue, signer=venue.trader(8).agent), 40204)


@states(
    f"{FACTS}: Master-signed typed data", "withdraw is also accepted without withdrawSequence, in action and signature"
)
def _(venue: Venue) -> None:
    action = {"type": "withdraw", "destination": venue.trader(8).address, "amount": "2"}
    accepted(venue.act(venue.trader(8).master, action))


@states(f"{SPEC}: Request envelope", "withdraw takes expiryAfter")
def _(venue: Venue) -> None:
    accepted(withdraw(venue, expiry=venue.nonce() + 3_600_000))
    refused(withdraw(venue, expiry=venue.nonce() - DAY_MS), 40208)


@states(f"{FACTS}: Master-signed typed data", "faucetClaim gives 500 USDC, once a day")
def _(venue: Venue) -> None:
    before = free(venue, venue.trader(9))
    answer = master(venue, 9, "faucetClaim")
    if answer.code:
        raise NotTried(f"account 9 has claimed already: {answer}")
    venue.until(lambda: free(venue, venue.trader(9)) == before + 500, "500 USDC")
    refused(master(venue, 9, "faucetClaim"))


# --- builders
def builder_agent(venue: Venue) -> Key:
    return venue.named_key("builder agent")


def authorised(venue: Venue, rate: object = "0.0005", seconds: object = 0, **fields: Any) -> Answer:
    """Approve the builder's agent for the trader, after ending an earlier approval."""
    registered(venue)
    master(venue, TRADER, "revokeAgentToBuilder", dexChain=venue.domain.dex_chain)
    values = {"agentAddress": builder_agent(venue).address, "builderAddress": venue.trader(BUILDER).address}
    more = {"maxFeeRate": rate, "validitySeconds": seconds, "dexChain": venue.domain.dex_chain}
    return master(venue, TRADER, "approveAgentToBuilder", **{**values, **more, **fields})


def registered(venue: Venue) -> Answer:
    """See that the builder is registered, and return the answer to the first try of this run."""
    if not venue.done("builder"):
        fields = {"name": "Conformance", "dexChain": venue.domain.dex_chain}
        venue.kept["registered"] = master(venue, BUILDER, "registerBuilder", **fields)
    answer: Answer = venue.kept["registered"]
    return answer


def builder_order(venue: Venue, rate: object = "0.0002", **fields: Any) -> Answer:
    order = {**venue.resting(), **fields}
    action = {"type": "placeBuilderOrder", "order": order, "builder": venue.trader(BUILDER).address}
    return venue.act(builder_agent(venue), {**action, "builderFeeRate": rate})


@states(f"{SPEC}: States and transitions", "a builder registers once; the answer carries the transaction")
def _(venue: Venue) -> None:
    first = registered(venue)
    if first.code:
        raise NotTried(f"account {BUILDER} was registered in an earlier run: {first}")
    expect(first.data["txHash"], first)
    refused(master(venue, BUILDER, "registerBuilder", name="Again", dexChain=venue.domain.dex_chain))


@states(f"{SPEC}: Endpoints", "the name of a builder has at least one character")
def _(venue: Venue) -> None:
    refused(master(venue, 7, "registerBuilder", name="", dexChain=venue.domain.dex_chain))


@states(f"{SPEC}: States and transitions", "a trader approves a builder's agent, which then places for the trader")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    order = venue.resting()
    accepted(builder_order(venue, **order))
    expect(venue.trader(TRADER).order(order["clOrdId"])["status"] == "NEW", "the trader has no such order")


for_all(
    f"{SPEC}: States and transitions",
    "maxFeeRate is positive",
    ["0", "-0.0001", "", "text"],
    lambda venue, rate: refused(authorised(venue, rate)),
)


@states(f"{FACTS}: Trading rules", "maxFeeRate above the environment's cap of 0.001 is refused")
def _(venue: Venue) -> None:
    accepted(authorised(venue, "0.001"))
    refused(authorised(venue, "0.0011"))


@states(f"{SPEC}: States and transitions", "a builderFeeRate of 0 up to the approval's cap is taken, above it refused")
def _(venue: Venue) -> None:
    accepted(authorised(venue, "0.0005"))
    for rate in ("0", "0.0005"):
        accepted(builder_order(venue, rate))
    refused(builder_order(venue, "0.0006"))
    refused(builder_order(venue, "-0.0001"))


@states(f"{SPEC}: Endpoints", "a builder order for another builder than the approval's is refused")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    action = {"type": "placeBuilderOrder", "order": venue.resting(), "builder": venue.trader(7).address}
    refused(venue.act(builder_agent(venue), {**action, "builderFeeRate": "0"}))


@states(f"{SPEC}: States and transitions", "revokeAgentToBuilder ends the approval")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    accepted(master(venue, TRADER, "revokeAgentToBuilder", dexChain=venue.domain.dex_chain))
    refused(builder_order(venue), 40204)


@states(f"{SPEC}: States and transitions", "a revocation without an approval is refused")
def _(venue: Venue) -> None:
    master(venue, TRADER, "revokeAgentToBuilder", dexChain=venue.domain.dex_chain)
    refused(master(venue, TRADER, "revokeAgentToBuilder", dexChain=venue.domain.dex_chain))


@states(f"{SPEC}: States and transitions", "the trader's own agent is not the builder's: it places no builder order")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    action = {"type": "placeBuilderOrder", "order": venue.resting(), "builder": venue.trader(BUILDER).address}
    refused(venue.act(venue.trader(TRADER).agent, {**action, "builderFeeRate": "0"}), 40204)


@states(f"{SPEC}: States and transitions", "only the trader's master approves a builder")
def _(venue: Venue) -> None:
    refused(authorised(venue, signer=venue.trader(TRADER).agent), 40204)


@states(f"{FACTS}: Trading rules", "an agent is authorised for one trader at a time")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    values = {"agentAddress": builder_agent(venue).address, "builderAddress": venue.trader(BUILDER).address}
    more = {"maxFeeRate": "0.0005", "validitySeconds": 0, "dexChain": venue.domain.dex_chain}
    refused(master(venue, 5, "approveAgentToBuilder", **values, **more))


each(
    f"{SPEC}: Versioning",
    "{} is read in a builder order",
    ["reduceOnly", "reduceOnlyOption"],
    lambda venue, name: (accepted(authorised(venue)), refused(builder_order(venue, **{str(name): "REDUCE_ONLY"}))),
)


@states(f"{SPEC}: BuilderOrder", "ordType STOP_LIMIT waits as an untriggered order")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    number = venue.nonce()
    fields = {"clOrdId": number, "triggerPx": venue.price("1.2"), "ordPx": venue.price("1.2")}
    accepted(builder_order(venue, ordType="STOP_LIMIT", tpslTriggerType="LAST_PRICE", **fields))
    state = venue.trader(TRADER).order(number)
    expect(state["status"] == "ORDER_STATUS_UNTRIGGERED", f"its status is {state['status']}")


each(
    f"{SPEC}: BuilderOrder",
    "a builder order has no ordType {}",
    ["NONE", "ADL", "LIQUIDATION"],
    lambda venue, kind: (accepted(authorised(venue)), refused(builder_order(venue, ordType=kind))),
)


@states(f"{SPEC}: Endpoints", "placeBuilderBracketOrder takes a main order and its exits")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    main = venue.resting()
    quantity = main["ordQty"]
    stop = venue.market("SELL", quantity, reduceOnly="SL_FROM_POSITION", triggerPx=venue.price("0.6"))
    action = {"type": "placeBuilderBracketOrder", "builder": venue.trader(BUILDER).address, "builderFeeRate": "0.0001"}
    orders = [main, {**stop, "tpslTriggerType": "MARK_PRICE"}]
    accepted(venue.act(builder_agent(venue), {**action, "orders": orders}))
    refused(venue.act(builder_agent(venue), {**action, "orders": orders[:1]}), 40003)


@states(
    f"{FACTS}: Info API", "/info/builder/agents lists the approval, expiresAt in seconds, 7 days for validitySeconds 0"
)
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    data = venue.info("/info/builder/agents", builder=venue.trader(BUILDER).address).data
    rows = [row for row in data["agents"] if row["agent"].lower() == builder_agent(venue).address.lower()]
    fields = {"wallet", "agent", "builder", "maxFeeRate", "expiresAt", "approveState", "expired"}
    expect(rows and fields <= set(rows[0]), data)
    left = int(rows[0]["expiresAt"]) - venue.nonce() / 1000
    expect(abs(left - 7 * 86_400) < 3_600, f"{left:,.0f} s are left")
    expect({"builder", "page", "pageSize", "total"} <= set(data), sorted(data))


# --- vaults
def vault(venue: Venue) -> str:
    """Return the address of account 3's vault."""
    if not venue.done("vault"):
        fields = {"name": "Conformance", "description": "a vault", "amount": "200", "currencyCode": 1}
        venue.kept["vault address"] = accepted(venue.trader(3).act("vaultCreate", **fields)).data["vault"]
    return str(venue.kept["vault address"])


@states(f"{FACTS}: Protobuf", "vaultCreate answers the address of the new vault, which /info/vault/detail shows")
def _(venue: Venue) -> None:
    data = venue.info("/info/vault/detail", vaultAddress=vault(venue)).data
    fields = {"vaultAddress", "ownerAddress", "vaultName", "tvl", "price", "apr", "status"}
    expect(fields <= set(data), f"{sorted(fields - set(data))} are missing")
    expect(data["ownerAddress"].lower() == venue.trader(3).address.lower(), data)


@states(f"{FACTS}: Trading rules", "a vault is created with at least 100 USDC")
def _(venue: Venue) -> None:
    refused(venue.trader(3).act("vaultCreate", name="Small", description="", amount="99.999999", currencyCode=1))


@states(f"{FACTS}: Trading rules", "a vault costs a fee of 100 USDC")
def _(venue: Venue) -> None:
    trader = venue.trader(2)
    before = free(venue, trader)
    accepted(trader.act("vaultCreate", name="Paid", description="", amount="150", currencyCode=1))
    venue.until(lambda: free(venue, trader) == before - 250, f"{before - 250} USDC, has {free(venue, trader)}")


@states(f"{FACTS}: Protobuf", "vaultDeposit gives shares, vaultWithdraw takes shares and returns USDC")
def _(venue: Venue) -> None:
    trader, address = venue.trader(5), vault(venue)
    before = free(venue, trader)
    accepted(trader.act("vaultDeposit", vault=address, amount="50", currencyCode=1))
    venue.until(lambda: free(venue, trader) == before - 50, "the deposit")
    rows = venue.rows("/info/vault/depositors", vaultAddress=address)
    expect(any(trader.address.lower() in str(row).lower() for row in rows), f"no such depositor: {rows}")
    accepted(trader.act("vaultWithdraw", vault=address, share="10", currencyCode=1))
    venue.until(lambda: free(venue, trader) > before - 50, "the withdrawal")


@states(f"{SPEC}: Authentication", "an agent places orders for its master's vault, in its vaultAddress")
def _(venue: Venue) -> None:
    address, order = vault(venue), venue.resting()
    accepted(venue.act(venue.trader(3).agent, {"type": "placeOrder", "orders": [order]}, vault=address))
    rows = venue.rows("/info/order/states", userAddr=address, clientOrderId=order["clOrdId"])
    expect(rows and rows[0]["status"] == "NEW", "the vault has no such order")


@states(f"{SPEC}: Authentication", "another's agent can't trade for a vault")
def _(venue: Venue) -> None:
    action = {"type": "placeOrder", "orders": [venue.resting()]}
    refused(venue.act(venue.trader(5).agent, action, vault=vault(venue)))


@states(f"{FACTS}: Protobuf", "vaultCreateSubVault and vaultRebalance: the parent stands in vaultAddress")
def _(venue: Venue) -> None:
    trader, address = venue.trader(3), vault(venue)
    made = accepted(venue.act(trader.agent, {"type": "vaultCreateSubVault"}, vault=address)).data
    to = made.get("vault") or made.get("subVault")
    expect(to, f"the answer names no vault: {made}")
    moved = {"type": "vaultRebalance", "from": address, "to": to, "amount": "10", "currencyCode": 1}
    accepted(venue.act(trader.agent, moved, vault=address))


@states(f"{FACTS}: Protobuf", "vaultClose closes a vault, which then takes no deposit")
def _(venue: Venue) -> None:
    trader = venue.trader(3)
    made = accepted(trader.act("vaultCreate", name="Brief", description="", amount="100", currencyCode=1)).data["vault"]
    accepted(venue.act(trader.agent, {"type": "vaultClose"}, vault=made))
    refused(venue.trader(5).act("vaultDeposit", vault=made, amount="10", currencyCode=1))


@states(f"{FACTS}: Trading rules", "an account has at most five vaults")
def _(venue: Venue) -> None:
    trader = venue.trader(9)
    listed = venue.rows("/info/vault/user-list", userAddress=trader.address)
    for number in range(len(listed), 5):
        accepted(trader.act("vaultCreate", name=f"Vault {number}", description="", amount="100", currencyCode=1))
    refused(trader.act("vaultCreate", name="Vault 5", description="", amount="100", currencyCode=1))


# --- referrals
@states(f"{FACTS}: Protobuf", "bindReferral is signed by the agent, and binds once")
def _(venue: Venue) -> None:
    code = venue.info("/info/referral/code", userAddr=venue.trader(0).address).data
    text = next((str(value) for key, value in code.items() if "code" in key.lower() and value), "")
    expect(text, f"no code: {code}")
    bound = venue.trader(1).act("bindReferral", referralCode=text)
    if bound.code == 40230:
        raise NotTried(f"account 1 was bound in an earlier run: {bound}")
    accepted(bound)
    refused(venue.trader(1).act("bindReferral", referralCode=text))


for_all(
    f"{SPEC}: Endpoints",
    "an unknown referral code is refused",
    ["", "no such code"],
    lambda venue, code: refused(venue.trader(2).act("bindReferral", referralCode=code)),
)
