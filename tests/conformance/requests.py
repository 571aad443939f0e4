"""Statements on requests and answers: envelope, signatures, nonces, expiry and the codes of errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .shapes import MISSING, edited, found
from .signing import CONTRACT, OLD_CONTRACT, development_key, signer_of
from .statements import Check, each, expect, for_all, states, table
from .venue import EXCHANGE, Answer, Venue, accepted, refused, unsigned
from .world import ACTIONS, MONTH_MS, OF_MASTERS, action_of, changed, order_of, varied

ORDER_OF_SECP256K1 = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def request_of(venue: Venue, number: int = 0, **options: Any) -> dict[str, Any]:
    """Return a signed request of an account's agent for an order that rests."""
    return venue.envelope(venue.trader(number).agent, order_of(venue), **options)


# --- answers
@states("P ExchangeResponse: a success has HTTP 200, code 0, message success and data with txHash, txCode 0 and txMsg")
def _(venue: Venue) -> None:
    answer = accepted(venue.trader(0).place(venue.resting()))
    expect(answer.message == "success", f"its message is not the published one: {answer}")
    expect(isinstance(answer.data["txHash"], str) and answer.data["txHash"], answer)
    expect(answer.data["txCode"] == 0 and isinstance(answer.data["txMsg"], str), answer)


@states("L Request details: a refused business rule: HTTP 200, 40230, txHash, a txCode, and the reason in txMsg")
def _(venue: Venue) -> None:
    answer = refused(venue.trader(0).place(venue.resting(ordQty="100000000")), 40230)
    data = answer.data or {}
    expect(answer.status == 200 and data.get("txHash") and data.get("txCode") and data.get("txMsg"), answer)


@states("L Request details: a refused order leaves an order event with execStatus REJECTED")
def _(venue: Venue) -> None:
    trader, order = venue.trader(0), venue.resting(timeInForce="POST_ONLY", of_last="1.3")
    trader.place(order)
    wanted = {"userAddr": trader.address, "clientOrderId": order["clOrdId"]}
    rows = venue.until(lambda: venue.rows("/info/order/events", **wanted), "an event")
    expect(any(row["execStatus"] == "REJECTED" for row in rows), f"its events: {[row['execStatus'] for row in rows]}")


@states("L Request details: a batch is applied item by item: the accepted ones stand, and the answer is 40230")
def _(venue: Venue) -> None:
    trader = venue.trader(0)
    good, bad = venue.resting(), venue.resting(timeInForce="POST_ONLY", of_last="1.3")
    refused(trader.place(good, bad), 40230)
    expect(trader.order(good["clOrdId"])["status"] == "NEW", "the accepted one does not stand")


# --- paths and bodies
NOWHERE: dict[str, tuple[int, Callable[[Venue], Answer]]] = {
    "an unknown path": (404, lambda venue: venue.request("GET", "/info/nothing/of/the/kind")),
    "a wrong method": (405, lambda venue: venue.request("GET", EXCHANGE)),
    "a body of more than 1 MiB": (413, lambda venue: venue.send(b" " * (1 << 20) + b"{}")),
}


def in_envelope(venue: Venue, said: object) -> None:
    status, ask = NOWHERE[str(said)]
    answer = ask(venue)
    answer.served()
    expect(answer.status == status and isinstance(answer.body, dict) and answer.code, answer)


each("L Request details: {} is answered in the envelope, with HTTP 404, 405 or 413", NOWHERE, in_envelope)


def malformed(answer: Answer, names: str = "") -> None:
    refused(answer, 40003, names=names)
    expect(answer.status == 400, f"its HTTP status is not 400: {answer}")


BODIES = [b"", b"{", b"[]", b"1", b'"text"', b"null", b"\xff"]
FIELDS: list[tuple[str, object]] = [
    *((name, MISSING) for name in ("nonce", "signature", "signature.v", "action.orders", "action.orders[].ordPx")),
    *((f"action.orders[].{name}", 1) for name in ("ordType", "ordSide", "timeInForce", "reduceOnlyOption")),
    *(("nonce", value) for value in ("text", -1, True)), ("expiryAfter", "text"),
    *(("action.orders[].clOrdId", value) for value in ("text", 1.5, True, 1 << 63)),
]  # fmt: skip
for_all("S Request envelope: a body is a JSON object", BODIES, lambda venue, body: venue.send(body), refused)
for_all(
    "L Request details: what is malformed is answered HTTP 400, 40003, and the name of the field",
    FIELDS,
    lambda venue, wrong: malformed(changed(venue, "placeOrder", *wrong), wrong[0].split(".")[-1]),
)


# --- signatures
HEX = ["0x", "0x12", "0x" + "0" * 63, "0x" + "g" * 64, "0x" + "1" * 66, 5, None, "", f"0x{ORDER_OF_SECP256K1:064x}"]
varied("S Signature: v is the integer 27 or 28", "placeOrder", "signature.v", [0, 1, 26, 29, -1, "27", 27.5, None])
varied("S Signature: r is 32 bytes of hex, of 64 digits, below the curve's order", "placeOrder", "signature.r", HEX)
varied("S Signature: s is 32 bytes of hex, of 64 digits, below the curve's order", "placeOrder", "signature.s", HEX)


def altered(said: str, path: str, change: Callable[[Any], Any], then: Check = unsigned, **options: Any) -> None:
    """Register one statement on a signed request in which what a path leads to is changed afterwards."""

    @states(said)
    def _(venue: Venue) -> None:
        body = request_of(venue, **options)
        then(venue.send(edited(body, path, change(found(body, path)[0]))))


def high_s(made: dict[str, Any]) -> dict[str, Any]:
    """Return the other signature of the same key for the same data."""
    return {**made, "s": f"0x{ORDER_OF_SECP256K1 - int(made['s'], 16):064x}", "v": 55 - made["v"]}


def old_claim(venue: Venue) -> None:
    domain = replace(venue.domain, contract=OLD_CONTRACT)
    body = venue.envelope(venue.trader(9).master, {"type": "faucetClaim"}, domain=domain)
    answer = refused(venue.send(body), 40204, names=signer_of(body, venue.domain))
    expect("verifyingContract" in answer.message, f"it does not name verifyingContract: {answer}")


def of_nobody(venue: Venue, names: str = "") -> None:
    refused(venue.act(venue.named_key("nobody"), order_of(venue)), 40204, names=names)


WRONG: dict[str, dict[str, Any]] = {
    "chainId": {"chain_id": 1}, "version": {"version": "2"}, "verifyingContract": {"contract": CONTRACT[:-1] + "2"},
    "domain name": {"agent": "SignTransaction", "master": "Exchange"},
}  # fmt: skip


def signed_for(kind: str, wrong: dict[str, Any]) -> Check:
    return lambda venue: venue.act(*action_of(venue, kind), domain=replace(venue.domain, **wrong))


for _name, _wrong in WRONG.items():
    for _kind in ("placeOrder", "approveAgent"):
        table({f"S Authentication: {_kind} signed with another {_name} is 40204": signed_for(_kind, _wrong)}, unsigned)
_SOURCE = signed_for("placeOrder", {"source": "c"})
table({"S Authentication: placeOrder signed with another source is 40204": _SOURCE}, unsigned)
altered("S Authentication: a changed action no longer has its signer", "action.orders[].ordQty", lambda _: "1")
altered("S Authentication: the nonce is signed", "nonce", lambda nonce: nonce + 1)
altered("S Authentication: the expiry is signed", "expiryAfter", lambda last: last + 1, expiry=1 << 42)
altered("L Signature: r is also accepted without 0x", "signature.r", lambda text: text[2:], accepted)
altered("L Signature: s is also accepted without 0x", "signature.s", lambda text: text[2:], accepted)
altered("L Signature: a high-s signature is refused", "signature", high_s, refused)
table(
    {
        "S Authentication: a signer that nobody approved is answered 40204": of_nobody,
        "L Signature: the answer to it names its address": lambda venue: of_nobody(
            venue, venue.named_key("nobody").address
        ),
        "L Signature: a claim for verifyingContract 0x00…00 is 40204, and names that and the signer": old_claim,
    }
)


# --- nonce and expiry
@states("S Request envelope: a nonce is used once: 40207 for another request and for the identical one")
def _(venue: Venue) -> None:
    body = request_of(venue)
    accepted(venue.send(body))
    refused(venue.send(request_of(venue, nonce=body["nonce"])), 40207)
    refused(venue.send(body), 40207)


@states("L Request details: nonces are counted for each signer, and may be smaller than the last one")
def _(venue: Venue) -> None:
    later, earlier = venue.nonce() + 50, venue.nonce()
    for number, nonce in ((0, later), (0, earlier), (1, later)):
        accepted(venue.send(request_of(venue, number, nonce=nonce)))


def no_action(answer: Answer) -> None:
    refused(answer, 40201, 40003)


NO_INT64 = ["text", 1.5, True, []]
varied("S Request envelope: nonce is an int64", "placeOrder", "nonce", [*NO_INT64, None, -1, 1 << 64])
varied("S Request envelope: expiryAfter is an int64 or null", "placeOrder", "expiryAfter", NO_INT64)
NO_ACTION: list[object] = [None, 5, "", [], "PLACEORDER"]
varied("S Endpoints: action.type is the name of an action", "placeOrder", "action.type", NO_ACTION, no_action)


table(
    {
        "S Errors: a request whose expiryAfter is past is refused as 40208": lambda venue: refused(
            venue.send(request_of(venue, expiry=venue.nonce() - MONTH_MS)), 40208
        ),
        "S Errors: an unknown action is refused as 40201": lambda venue: refused(
            venue.send({**request_of(venue), "action": {"type": "becomeRich"}}), 40201
        ),
    }
)


# --- codes that only an operator provokes
Control = tuple[str, dict[str, Any]]
ACTION, ADDRESS = {"action": "setMarginMode"}, {"address": development_key(2).address}
PROVOKED: dict[str, tuple[Control, Control]] = {
    "40006: location is not supported": (("close_location", {}), ("open_location", {})),
    "40220: rate limit exceeded": (("limit", {**ACTION, "count": 1, "span": "1h"}), ("unlimit", ACTION)),
    "40231: transaction broadcast failed": (("add_fault", {"text": "code action=setMarginMode count=all code=40231"}),
                                            ("clear_faults", {})),
    "40280: action disabled (emergency)": (("disable", ACTION), ("enable", ACTION)),
    "40281: address banned": (("ban", ADDRESS), ("unban", ADDRESS)),
}  # fmt: skip
"""Code and meaning → the controls that begin and end it for an action of account 2."""


def provoked(venue: Venue, said: object) -> None:
    """See that an action is answered with a code between two controls, and is taken before and after them."""
    code, (begin, end) = int(str(said)[:5]), PROVOKED[str(said)]
    key, action = action_of(venue, "setMarginMode")
    accepted(venue.act(key, action))
    venue.control(begin[0], **begin[1])
    try:
        answers = [venue.act(key, action) for _ in range(2)]
    finally:
        venue.control(end[0], **end[1])
    refused(answers[1], code)
    accepted(venue.act(key, action))


each("S Errors: {}", PROVOKED, provoked)


# --- who signs what
TRADING = (
    "placeOrder", "replaceOrder", "placeBracketOrder", "cancelOrder", "cancelAll", "setLeverage", "setMarginMode",
)  # fmt: skip


def other_key(venue: Venue, kind: object) -> Answer:
    """Sign with the agent what a master signs, and the other way round."""
    trader = venue.trader(ACTIONS[str(kind)][0])
    return venue.act(trader.agent if kind in OF_MASTERS else trader.master, action_of(venue, str(kind))[1])


def with_a_vault(venue: Venue, kind: object) -> None:
    """A vault that isn't there: the field is read, so that the signer has no right to it."""
    refused(venue.act(*action_of(venue, str(kind), 2), vault=venue.stranger().address))


def with_an_expiry(venue: Venue, kind: object) -> None:
    accepted(venue.act(*action_of(venue, str(kind), 2), expiry=venue.nonce() + MONTH_MS))


each("S Endpoints: a master may not sign {}", TRADING, other_key, unsigned)
each("S Authentication: an agent may not sign {}", ["approveAgent", "withdraw"], other_key, unsigned)
each("P Authentication: an agent may not sign {}", ["usdSend"], other_key, unsigned)
each("S Request envelope: {} takes vaultAddress", TRADING, with_a_vault)
each("S Request envelope: {} takes expiryAfter", TRADING[:3], with_an_expiry)
