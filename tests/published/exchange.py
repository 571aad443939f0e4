"""The signed actions of a published server: their signatures, their checks, and what they do to the world."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from decimal import Decimal

from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_keys.exceptions import BadSignature

from tests.conformance import signing
from tests.published import shapes
from tests.published.variations import Form, Variation
from tests.published.world import LAST, MASTER, Row, World

KNOWN = {*signing.TYPED, *signing.MESSAGES, "placeOrder", "cancelOrder", "placeBracketOrder"}
RENAMED = ("reduceOnlyOption", "reduceOnly", "withdrawSequence")
"""Names of the specification and the SDK that the files of April write in another way, or lack."""


class Refused(Exception):
    """The code and message of a refusal."""


def signer(request: Row, contract: str) -> str:
    """Return the address that signed a request, by the documents alone, "" if none did."""
    action, domain, expiry = request["action"], signing.Domain(contract=contract), request.get("expiryAfter") or 0
    if action["type"] in signing.TYPED:
        name, members = signing.TYPED[action["type"]]
        if "withdrawSequence" not in action:
            members = members.replace("withdrawSequence uint64, ", "")
        bound = domain.of(domain.master)
        given = {"dexChain": domain.dex_chain, **action, "nonce": request["nonce"], "expiryAfter": expiry}
    else:
        name, members, bound = "Agent", "source string, connectionId bytes32", domain.of(domain.agent)
        content, vault = signing.message(action), request.get("vaultAddress")
        given = {
            "source": domain.source,
            "connectionId": signing.connection_id(content, vault, request["nonce"], expiry),
        }
    typed = [dict(zip(("name", "type"), each.split(), strict=True)) for each in members.split(", ")]
    encoded = encode_typed_data(bound, {name: typed}, {each["name"]: given[each["name"]] for each in typed})
    made = request["signature"]
    try:
        return str(Account.recover_message(encoded, vrs=(made["v"], int(made["r"], 16), int(made["s"], 16))))
    except BadSignature:
        return ""


@dataclass
class Actions:
    """Takes signed actions. An order shows in the world only after some reads."""

    world: World
    form: Form
    variation: Variation
    requests: list[Row] = field(default_factory=list)
    """Every request that arrived."""
    faults: list[str] = field(default_factory=list)
    """Where a request differs from the published files."""
    nonces: set[int] = field(default_factory=set)
    waiting: list[tuple[int, Row]] = field(default_factory=list)
    """Reads until an order shows, and the order."""

    def answer(self, body: bytes) -> tuple[int, Row]:
        """Take a request, and return HTTP status and answer."""
        request = json.loads(body)
        self.requests.append(request)
        try:
            self.check(request)
        except Refused as refused:
            return 200, dict(zip(("code", "message", "data"), (*refused.args, None), strict=True))
        self.act(request["action"])
        receipt = {"txHash": self.form.hash_prefix + hashlib.sha256(body).hexdigest().upper(), "txCode": 0, "txMsg": ""}
        return 200, {"code": 0, "message": "success", "data": receipt if self.variation.receipt else None}

    def check(self, request: Row) -> None:
        """Raise Refused for an action that is unknown, badly signed, repeated or late."""
        kind = request["action"]["type"]
        if kind not in KNOWN:
            raise Refused(40201, "Unsupported action type")
        published = shapes.PUBLISHED.get((f"POST /exchange/{kind}", "request"))
        if published:
            faults = shapes.faults_of(request, published)
            self.faults += [f"{kind}: {one}" for one in faults if not one.split()[0].endswith(RENAMED)]
        wanted = [MASTER.address] if kind in signing.TYPED else [row["agentAddress"] for row in self.world.agents]
        if signer(request, self.form.contract).lower() not in [each.lower() for each in wanted]:
            raise Refused(40204, "Signature verification failed")
        if request["nonce"] in self.nonces:
            raise Refused(40207, "Invalid nonce")
        self.nonces.add(request["nonce"])
        if 0 < (request.get("expiryAfter") or 0) < self.world.now:
            raise Refused(40208, "Request expired")

    def act(self, action: Row) -> None:
        """Do what orders, cancellations and approvals say. The other actions change nothing that is read."""
        if action["type"] == "approveAgent":
            self.world.agents.append(self.world.agent(action["agentAddress"], action["agentName"], 813))
        for item in action.get("orders", ()):
            self.waiting.append((self.variation.hidden_reads, self.placed(item)))
        for item in action.get("cancels", ()):
            self.show(after=0)
            for order in self.world.orders:
                if item.get("ordId") == order["ordId"] or item.get("clOrdId") == order["clOrdId"]:
                    order |= {"status": "CANCELED", "leaveQty": "0"}
                    self.world.events.insert(0, self.world.event(order, 2 * int(order["ordId"]) + 1))

    def placed(self, item: Row) -> Row:
        """Return the order of an item. A market order without a trigger is filled."""
        option, trigger = item.get("reduceOnlyOption") or item.get("reduceOnly", ""), item.get("triggerPx", "0")
        kind, done = signing.ORD_TYPE[item["ordType"]], {}
        if kind == signing.ORD_TYPE["MARKET"] and trigger == "0":
            value = Decimal(item["ordQty"]) * Decimal(LAST)
            done = {"status": "FILLED", "filledQty": item["ordQty"], "leaveQty": "0", "cumFilledValue": str(value)}
        number = 700_100 + len(self.nonces) + 1_000 * len(self.waiting)
        return self.world.order(
            str(number), str(item.get("clOrdId", 0)), symbol=item["symbolCode"], side=signing.ORD_SIDE[item["ordSide"]],
            type=kind, price=item["ordPx"], qty=item["ordQty"], timeInForce=item["timeInForce"], triggerPx=trigger,
            reduceOnly=signing.REDUCE_ONLY.get(option, 0), **done,
        )  # fmt: skip

    def show(self, after: int = 1) -> None:
        """Let a read pass. What has waited long enough is in the world for the next one."""
        ready = [order for reads, order in self.waiting if reads <= 0 or not after]
        self.waiting = [(reads - after, order) for reads, order in self.waiting if reads > 0 and after]
        for order in ready:
            self.world.orders.insert(0, order)
            self.world.events.insert(0, self.world.event(order, 2 * int(order["ordId"])))
