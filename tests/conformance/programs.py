"""Statements on permissions and money that leaves: agents, withdrawals, the faucet, builders, vaults and referrals.

Each statement uses accounts of its own where it changes what others need: 4 trades by a builder, and 6 is that builder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import world
from .signing import Key
from .statements import Check, NotTried, each, expect, for_all, states, table
from .venue import Answer, Venue, accepted, refused, unsigned
from .world import BUILDER, BUILT_FOR, MONTH_MS, action_of, authorised, changed, exchanged, order_of, varied, vault

NO_AMOUNT = ["0", "-5", "", "text", "NaN", None]
YEAR = 365 * 86_400


def moves(venue: Venue, number: int, amount: int, act: Callable[[], object]) -> None:
    """See that something moves an amount in USDC into an account, or out of it."""
    trader = venue.trader(number)
    before = venue.free(trader)
    act()
    venue.until(lambda: venue.free(trader) == before + amount, f"{before + amount} USDC")


def expires(venue: Venue, name: object) -> None:
    """See that an action is taken with an expiry that is to come, and refused after a past one."""
    accepted(venue.act(*action_of(venue, str(name)), expiry=venue.nonce() + MONTH_MS))
    refused(venue.act(*action_of(venue, str(name)), expiry=venue.nonce() - MONTH_MS), 40208)


each("S Request envelope: {} takes expiryAfter; a past one is 40208", ["approveAgent", "withdraw"], expires)
each("P Request envelope: {} takes expiryAfter; a past one is 40208", ["usdSend"], expires)


# --- agents
def approved(venue: Venue, seconds: object) -> Answer:
    return venue.approve(venue.trader(7).master, venue.stranger(), name="t", seconds=int(str(seconds)))


for_all("S Limits: validitySeconds of approveAgent: 0 to 365 days", [0, 1, YEAR], approved, accepted)
for_all("S Limits: validitySeconds beyond 365 days is refused", [YEAR + 1, 1 << 63], approved, refused)
varied("L Endpoints: approveAgent for the other dexChain is refused", "approveAgent", "action.dexChain", ["Mainnet"])


@states("K Signed data: approveAgent with the zero address revokes the agent of that name")
def _(venue: Venue) -> None:
    trader, agent = venue.trader(7), venue.stranger()
    accepted(venue.approve(trader.master, agent, name="short-lived"))
    accepted(venue.act(agent, order_of(venue)))
    accepted(venue.approve(trader.master, world.ZERO, name="short-lived"))
    unsigned(venue.act(agent, order_of(venue)))


@states("K Info API: an approved agent is in /info/account/agent and /agent/active, with status ACTIVE")
def _(venue: Venue) -> None:
    trader, agent = venue.trader(7), venue.stranger()
    accepted(venue.approve(trader.master, agent, name="listed"))
    rows = venue.rows("/info/account/agent", userAddr=trader.address, agentAddress=agent.address)
    active = venue.info("/info/account/agent/active", userAddr=trader.address, agentName="listed").data
    for row in (*rows, active):
        expect(row["agentAddress"].lower() == agent.address.lower() and row["status"] == "ACTIVE", row)
    expect(rows, "it is not in /info/account/agent")


# --- withdraw, faucet and usdSend, which not every venue takes
def too_much(venue: Venue, kind: object) -> Answer:
    """Withdraw or send more than account 8 can pay."""
    return changed(venue, str(kind), "action.amount", f"{venue.free(venue.trader(8)) + 1:f}")


def claimed(venue: Venue, again: bool = False) -> Answer:
    """Return the answer to the first claim of account 9, or to another. Raises NotTried if it has claimed before."""
    master = venue.trader(9).master
    answer = venue.once("claim", lambda: venue.act(master, {"type": "faucetClaim"}))
    if answer.code == 40230:
        raise NotTried(f"account 9 has claimed already: {answer}")
    return venue.act(master, {"type": "faucetClaim"}) if again else accepted(answer)


varied("S Endpoints: a withdrawal is of text above 0", "withdraw", "action.amount", NO_AMOUNT)
varied("S Limits: 2 USDC can be withdrawn", "withdraw", "action.amount", ["2"], accepted)
varied("S Limits: less than 2 USDC can't be withdrawn", "withdraw", "action.amount", ["1.999999"])
varied("L Endpoints: it has no exponent and at most 6 decimals", "withdraw", "action.amount", ["1e3", "2.0000001"])
varied("P usdSend: its amount is text above 0", "usdSend", "action.amount", NO_AMOUNT)
for_all("S Limits: more than the balance can't be withdrawn", ["withdraw"], too_much, refused)
for_all("P usdSend: more than the balance can't be sent", ["usdSend"], too_much, refused)
table(
    {
        "L Trading rules: a withdrawal leaves the balance": lambda venue: moves(
            venue, 8, -2, lambda: accepted(venue.act(*action_of(venue, "withdraw")))
        ),
        "P Signed data: faucetClaim gives 500 USDC": lambda venue: moves(venue, 9, 500, lambda: claimed(venue)),
        "L Signed data: faucetClaim gives nothing twice a day": lambda venue: refused(claimed(venue, again=True)),
        "L Signed data: withdraw is also accepted without withdrawSequence": lambda venue: accepted(
            changed(venue, "withdraw", "action.withdrawSequence")
        ),
        "P Trading rules: a vault costs a fee of 100 USDC": lambda venue: moves(
            venue, 2, -250, lambda: accepted(created(venue, 2, "150"))
        ),
        "P usdSend: a master signs it as UsdTransfer, and the amount moves": lambda venue: moves(
            venue, 9, 1, lambda: accepted(venue.act(*action_of(venue, "usdSend")))
        ),
    }
)


# --- builders
def builder_agent(venue: Venue) -> Key:
    return venue.named_key("builder agent")


def revoked(venue: Venue) -> Answer:
    action = {"type": "revokeAgentToBuilder", "dexChain": venue.domain.dex_chain}
    return venue.act(venue.trader(BUILT_FOR).master, action)


def register(venue: Venue, number: int, name: str) -> Answer:
    action = {"type": "registerBuilder", "name": name, "dexChain": venue.domain.dex_chain}
    return venue.act(venue.trader(number).master, action)


def builder_order(
    venue: Venue, rate: object = "0.0002", builder: int = BUILDER, signer: Key | None = None, **fields: Any
) -> Answer:
    action = {"type": "placeBuilderOrder", "order": {**venue.resting(), **fields}, "builderFeeRate": rate}
    return venue.act(signer or builder_agent(venue), {**action, "builder": venue.trader(builder).address})


def with_approval(check: Check) -> Check:
    """Return a check that begins with an approval of the builder's agent, of at most 0.0005."""

    def checked(venue: Venue, *value: object) -> object:
        accepted(authorised(venue))
        return check(venue, *value)

    return checked


def ended(venue: Venue) -> Answer:
    accepted(revoked(venue))
    return builder_order(venue)


def stop_limit(venue: Venue) -> None:
    number = venue.nonce()
    fields = {"clOrdId": number, "triggerPx": venue.price("1.2"), "ordPx": venue.price("1.2")}
    accepted(builder_order(venue, ordType="STOP_LIMIT", tpslTriggerType="LAST_PRICE", **fields))
    state = venue.trader(BUILT_FOR).order(number)
    expect(state["status"] == "ORDER_STATUS_UNTRIGGERED", f"its status is {state['status']}")


def builder_bracket(venue: Venue) -> None:
    builder = {"builder": venue.trader(BUILDER).address, "builderFeeRate": "0.0001"}
    action = {**action_of(venue, "placeBracketOrder")[1], "type": "placeBuilderBracketOrder", **builder}
    accepted(venue.act(builder_agent(venue), action))
    refused(venue.act(builder_agent(venue), {**action, "orders": action["orders"][:1]}))


@states("S States and transitions: a builder registers once; the answer carries the transaction")
def _(venue: Venue) -> None:
    first = world.registered(venue)
    if first.code == 40230:
        raise NotTried(f"account {BUILDER} was registered in an earlier run: {first}")
    expect(accepted(first).data["txHash"], first)
    refused(register(venue, BUILDER, "Again"))


@states("S States and transitions: a trader approves a builder's agent, which then places for the trader")
def _(venue: Venue) -> None:
    accepted(authorised(venue))
    order = venue.resting()
    accepted(builder_order(venue, **order))
    expect(venue.trader(BUILT_FOR).order(order["clOrdId"])["status"] == "NEW", "the trader has no such order")


def builds(said: str, values: Iterable[object], then: Check, name: str = "rate") -> None:
    """Register one statement on builder orders that have each of some values, under an approval of at most 0.0005."""
    for_all(said, values, with_approval(lambda venue, value: builder_order(venue, **{name: value})), then)


NEVER = ["NONE", "ADL", "LIQUIDATION"]
for_all("S States and transitions: maxFeeRate is positive", ["0", "-0.0001", "", "text"], authorised, refused)
builds("S States and transitions: a builderFeeRate of 0 and of maxFeeRate is taken", ["0", "0.0005"], accepted)
builds("S States and transitions: one above maxFeeRate or below 0 is refused", ["0.0006", "-0.0001"], refused)
builds("S Versioning: reduceOnly is read in a builder order", ["REDUCE_ONLY"], refused, "reduceOnly")
builds("S Versioning: reduceOnlyOption is read in a builder order", ["REDUCE_ONLY"], refused, "reduceOnlyOption")
builds(
    "S BuilderOrder: ordType NONE, ADL and LIQUIDATION are refused", ["NONE", "ADL", "LIQUIDATION"], refused, "ordType"
)
builds("S Endpoints: a builder order for another builder than the approval's is refused", [7], refused, "builder")
table(
    {
        "S States and transitions: a revocation without an approval is refused": lambda venue: (
            revoked(venue), revoked(venue))[1],
        "S Endpoints: a builder without a name is refused": lambda venue: register(venue, 7, ""),
        "L Trading rules: maxFeeRate is at most the environment's cap of 0.001": lambda venue: (
            accepted(authorised(venue, "0.001")), authorised(venue, "0.0011"))[1],
        "L Trading rules: an agent is authorised for one trader at a time": with_approval(
            lambda venue: authorised(venue, number=5)),
    },
    refused,
)  # fmt: skip
table(
    {
        "S States and transitions: revokeAgentToBuilder ends the approval": with_approval(ended),
        "S Authentication: only the trader's master approves a builder": lambda venue: authorised(
            venue, signer=venue.trader(BUILT_FOR).agent
        ),
        "S States and transitions: the trader's own agent places no builder order": with_approval(
            lambda venue: builder_order(venue, "0", signer=venue.trader(BUILT_FOR).agent)
        ),
    },
    unsigned,
)
table(
    {
        "S BuilderOrder: ordType STOP_LIMIT waits as an untriggered order": with_approval(stop_limit),
        "S Endpoints: placeBuilderBracketOrder takes 2 or 3 orders": with_approval(builder_bracket),
    }
)


@states("P Info API: expiresAt of /info/builder/agents is in seconds: 7 days from now for validitySeconds 0")
def _(venue: Venue) -> None:
    week, longer = expiry_of(venue, 0), expiry_of(venue, 7 * 86_400 + 5_000)
    expect(abs(longer - week - 5_000) < 60, f"it is {week}, and {longer} for 5,000 s more")


def expiry_of(venue: Venue, seconds: int) -> int:
    """Return when the approval of the builder's agent ends that was made for some seconds."""
    accepted(authorised(venue, seconds=seconds))
    data = venue.info("/info/builder/agents", builder=venue.trader(BUILDER).address).data
    rows = [row for row in data["agents"] if row["agent"].lower() == builder_agent(venue).address.lower()]
    return int(rows[0]["expiresAt"])


# --- vaults
def of_vault(venue: Venue, kind: str, **fields: Any) -> Answer:
    return venue.trader(5).act(kind, **{"vault": vault(venue), "currencyCode": 1, **fields})


def created(venue: Venue, number: int, amount: str = "100") -> Answer:
    return venue.trader(number).act("vaultCreate", name="Made", description="", amount=amount, currencyCode=1)


def in_vault(venue: Venue, number: int, action: dict[str, Any], address: str = "") -> Answer:
    return venue.act(venue.trader(number).agent, action, vault=address or vault(venue))


@states("K Protobuf: vaultCreate answers the address of the new vault, which /info/vault/detail shows")
def _(venue: Venue) -> None:
    data = venue.info("/info/vault/detail", vaultAddress=vault(venue)).data
    expect(data["ownerAddress"].lower() == venue.trader(3).address.lower(), data)


@states("K Protobuf: vaultDeposit gives shares, vaultWithdraw takes shares and returns USDC")
def _(venue: Venue) -> None:
    trader = venue.trader(5)
    moves(venue, 5, -50, lambda: accepted(of_vault(venue, "vaultDeposit", amount="50")))
    rows = venue.rows("/info/vault/depositors", vaultAddress=vault(venue))
    expect(any(trader.address.lower() in str(row).lower() for row in rows), f"no such depositor: {rows}")
    before = venue.free(trader)
    accepted(of_vault(venue, "vaultWithdraw", share="10"))
    venue.until(lambda: venue.free(trader) > before, "the withdrawal")


@states("S Authentication: an agent places orders for its master's vault, in its vaultAddress")
def _(venue: Venue) -> None:
    action = order_of(venue)
    accepted(in_vault(venue, 3, action))
    number = action["orders"][0]["clOrdId"]
    rows = venue.rows("/info/order/states", userAddr=vault(venue), clientOrderId=number)
    expect(rows and rows[0]["status"] == "NEW", "the vault has no such order")


@states("K Protobuf: vaultCreateSubVault and vaultRebalance: the parent stands in vaultAddress")
def _(venue: Venue) -> None:
    made = accepted(in_vault(venue, 3, {"type": "vaultCreateSubVault"})).data
    to = made.get("vault") or made.get("subVault")
    expect(to, f"the answer names no vault: {made}")
    moved = {"type": "vaultRebalance", "from": vault(venue), "to": to, "amount": "10", "currencyCode": 1}
    accepted(in_vault(venue, 3, moved))


@states("K Protobuf: vaultClose closes a vault, which then takes no deposit")
def _(venue: Venue) -> None:
    made = accepted(created(venue, 3)).data["vault"]
    accepted(in_vault(venue, 3, {"type": "vaultClose"}, made))
    refused(of_vault(venue, "vaultDeposit", vault=made, amount="10"))


def sixth_vault(venue: Venue) -> Answer:
    listed = venue.rows("/info/vault/user-list", userAddress=venue.trader(9).address)
    for _ in range(len(listed), 5):
        accepted(created(venue, 9))
    return created(venue, 9)


# --- referrals
def bound_twice(venue: Venue) -> Answer:
    exchanged(venue, "bindReferral")
    return venue.act(*action_of(venue, "bindReferral"))


table(
    {
        "P Trading rules: a vault is created with at least 100 USDC": lambda venue: created(venue, 3, "99.999999"),
        "P Trading rules: an account has at most five vaults": sixth_vault,
        "S Authentication: another's agent can't trade for a vault": lambda venue: in_vault(venue, 5, order_of(venue)),
        "P Trading rules: an account is bound to an inviter once": bound_twice,
    },
    refused,
)
varied("L Endpoints: an unknown referral code is refused", "bindReferral", "action.referralCode", ["", "none such"])
