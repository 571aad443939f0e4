"""Statements on requests and answers: envelope, signatures, nonces, expiry, errors, order items and their limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .signing import CONTRACT, envelope
from .statements import NotTried, each, expect, for_all, states
from .venue import EXCHANGE, Answer, Trader, Venue

SPEC = "specification"
FACTS = "venue facts"
DAY_MS = 86_400_000
ORDER_OF_SECP256K1 = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def accepted(answer: Answer) -> Answer:
    expect((answer.status, answer.code) == (200, 0), f"it is refused: {answer}")
    return answer


def refused(answer: Answer, *codes: int, names: str = "") -> Answer:
    """Raise Differs unless the answer is a refusal, in the envelope, with one of the codes and a text that names."""
    expect(isinstance(answer.body, dict) and {"code", "message"} <= set(answer.body), f"no envelope: {answer}")
    expect(answer.code != 0, f"it is accepted: {answer}")
    expect(not codes or answer.code in codes, f"its code is not {' or '.join(map(str, codes))}: {answer}")
    expect(names in answer.message, f"its message does not name {names}: {answer}")
    return answer


def malformed(answer: Answer, names: str) -> None:
    refused(answer, 40003, names=names)
    expect(answer.status == 400, f"its HTTP status is not 400: {answer}")


def ruled_out(answer: Answer) -> None:
    """Raise Differs unless a business rule refused it: HTTP 200, 40230, a transaction with its code and reason."""
    refused(answer, 40230)
    data = answer.data or {}
    expect(answer.status == 200 and data.get("txHash") and data.get("txCode"), f"no refused transaction: {answer}")
    expect(data.get("txMsg"), f"no reason in txMsg: {answer}")


def request_of(venue: Venue, **options: Any) -> dict[str, Any]:
    """Return a signed request of account 0's agent for an order that rests."""
    trader = venue.trader(0)
    action = {"type": "placeOrder", "orders": [venue.resting()]}
    return envelope(trader.agent, action, options.pop("nonce", 0) or venue.nonce(), domain=venue.domain, **options)


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in names}


# --- answers
@states(
    f"{SPEC}: ExchangeResponse", "a success has HTTP 200, code 0, a message and data with txHash, txCode 0 and txMsg"
)
def _(venue: Venue) -> None:
    answer = accepted(venue.trader(0).place(venue.resting()))
    data = answer.data
    expect(isinstance(answer.body["message"], str), answer)
    expect(isinstance(data["txHash"], str) and data["txHash"], answer)
    expect(data["txCode"] == 0 and isinstance(data["txMsg"], str), answer)


@states(f"{FACTS}: Request details", 'the message of a success is "success"')
def _(venue: Venue) -> None:
    expect(accepted(venue.trader(0).place(venue.resting())).message == "success", "another message")


@states(
    f"{FACTS}: Request details", "a refused business rule: HTTP 200, 40230, the reason, txHash and txCode other than 0"
)
def _(venue: Venue) -> None:
    ruled_out(venue.trader(0).place(venue.resting(ordQty="100000000")))


@states(f"{FACTS}: Request details", "a refused order leaves an order event with execStatus REJECTED")
def _(venue: Venue) -> None:
    trader, order = venue.trader(0), venue.market(ordQty="0.000")
    order = venue.resting(timeInForce="POST_ONLY", of_last="1.3")
    trader.place(order)
    rows = venue.until(
        lambda: venue.rows("/info/order/events", userAddr=trader.address, clientOrderId=order["clOrdId"]), "an event"
    )
    expect(any(row["execStatus"] == "REJECTED" for row in rows), f"its events: {[row['execStatus'] for row in rows]}")


@states(
    f"{FACTS}: Request details", "a batch is applied item by item: accepted ones stand, results names each in order"
)
def _(venue: Venue) -> None:
    trader = venue.trader(0)
    good, bad = venue.resting(), venue.resting(timeInForce="POST_ONLY", of_last="1.3")
    answer = refused(trader.place(good, bad), 40230)
    expect(trader.order(good["clOrdId"])["status"] == "NEW", "the accepted one does not stand")
    results = (answer.data or {}).get("results")
    if results is None:
        raise NotTried("the venue answers in the published form, without results")
    expect([str(row["clOrdId"]) for row in results] == [str(good["clOrdId"]), str(bad["clOrdId"])], results)
    expect([row["txCode"] == 0 for row in results] == [True, False], results)


# --- paths and bodies
@states(f"{FACTS}: Request details", "an unknown path is answered 404 in the envelope")
def _(venue: Venue) -> None:
    answer = venue.info("/info/nothing/of/the/kind")
    expect(answer.status == 404 and isinstance(answer.body, dict) and answer.code, answer)


@states(f"{FACTS}: Request details", "a wrong method is answered 405 in the envelope")
def _(venue: Venue) -> None:
    answer = venue.request("GET", EXCHANGE)
    expect(answer.status == 405 and isinstance(answer.body, dict) and answer.code, answer)


@states(f"{FACTS}: Request details", "a body of more than 1 MiB is answered 413 in the envelope")
def _(venue: Venue) -> None:
    answer = venue.send(b" " * (1 << 20) + b"{}")
    expect(answer.status == 413 and isinstance(answer.body, dict) and answer.code, answer)


@states(f"{SPEC}: Versioning", "the exchange's path carries v1; the same path with v2 does not exist")
def _(venue: Venue) -> None:
    expect(venue.request("POST", "/api/v2/exchange", content=b"{}").status == 404, "it exists")


for_all(
    f"{FACTS}: Request details",
    "a body that is no JSON object is malformed: HTTP 400, 40003",
    [b"", b"{", b"[]", b"1", b'"text"', b"null", b"\xff"],
    lambda venue, body: malformed(venue.send(body), ""),
)
for _name in ("action", "signature", "nonce"):
    each(
        f"{SPEC}: Request envelope",
        "{} is required",
        [_name],
        lambda venue, name: malformed(venue.send(without(request_of(venue), str(name))), str(name)),
    )
for _name in ("r", "s", "v"):
    each(
        f"{SPEC}: Signature",
        "signature.{} is required",
        [_name],
        lambda venue, name: malformed(
            venue.send({**(body := request_of(venue)), "signature": without(body["signature"], str(name))}), str(name)
        ),
    )


# --- signatures
def resigned(venue: Venue, **parts: Any) -> Answer:
    body = request_of(venue)
    return venue.send({**body, "signature": {**body["signature"], **parts}})


for_all(
    f"{SPEC}: Signature",
    "v is the integer 27 or 28",
    [0, 1, 26, 29, -1, "27", 27.5, None],
    lambda venue, v: refused(resigned(venue, v=v)),
)
for_all(
    f"{SPEC}: Signature",
    "r and s are 32 bytes of hex, padded to 64 digits",
    ["0x", "0x12", "0x" + "0" * 63, "0x" + "g" * 64, "0x" + "1" * 66, 5, None, ""],
    lambda venue, r: (refused(resigned(venue, r=r)), refused(resigned(venue, s=r))),
)
for_all(
    f"{SPEC}: Signature",
    "r and s outside the curve's order are refused",
    [{"r": "0x" + "0" * 64, "s": "0x" + "0" * 64}, {"r": f"0x{ORDER_OF_SECP256K1:064x}"}, {"s": "0x" + "f" * 64}],
    lambda venue, parts: refused(resigned(venue, **parts)),  # type: ignore[arg-type]
)


@states(f"{FACTS}: Master-signed typed data", "r and s are also accepted without 0x")
def _(venue: Venue) -> None:
    body = request_of(venue)
    plain = {"r": body["signature"]["r"][2:], "s": body["signature"]["s"][2:]}
    accepted(venue.send({**body, "signature": {**body["signature"], **plain}}))


@states(f"{FACTS}: Master-signed typed data", "a high-s signature is refused")
def _(venue: Venue) -> None:
    made = request_of(venue)["signature"]
    high = {"s": f"0x{ORDER_OF_SECP256K1 - int(made['s'], 16):064x}", "v": 55 - made["v"]}
    body = request_of(venue)
    refused(venue.send({**body, "signature": {**body["signature"], **high}}), 40204, 40003)


WRONG: dict[str, dict[str, Any]] = {
    "chainId": {"chain_id": 1},
    "the other environment's source": {"source": "c"},
    "version": {"version": "2"},
    "verifyingContract": {"contract": CONTRACT[:-1] + "2"},
    "domain name": {"agent": "SignTransaction"},
}


def signed_for(venue: Venue, name: object) -> None:
    trader = venue.trader(0)
    wrong = replace(venue.domain, **WRONG[str(name)])
    answer = venue.act(trader.agent, {"type": "placeOrder", "orders": [venue.resting()]}, domain=wrong)
    refused(answer, 40204)


each(f"{SPEC}: Authentication", "an agent's signature with another {} is refused as 40204", WRONG, signed_for)
each(
    f"{SPEC}: Authentication",
    "a master's signature with another {} is refused as 40204",
    ["chainId", "version", "verifyingContract"],
    lambda venue, name: refused(
        venue.approve(venue.trader(0).master, venue.trader(0).agent, domain=replace(venue.domain, **WRONG[str(name)])),
        40204,
    ),
)


@states(f"{SPEC}: Authentication", "a master signs for the domain SignTransaction, not Exchange")
def _(venue: Venue) -> None:
    trader = venue.trader(0)
    refused(venue.approve(trader.master, trader.agent, domain=replace(venue.domain, master="Exchange")), 40204)


@states(f"{FACTS}: Request details", "a signer that nobody approved is answered 40204 with the recovered address")
def _(venue: Venue) -> None:
    key = venue.stranger()
    answer = refused(venue.act(key, {"type": "placeOrder", "orders": [venue.resting()]}), 40204)
    expect(key.address.lower() in answer.message.lower(), f"it does not name {key.address}: {answer}")


@states(f"{SPEC}: Authentication", "a changed action no longer has its signer")
def _(venue: Venue) -> None:
    body = request_of(venue)
    changed = {**body["action"]["orders"][0], "ordQty": "1"}
    refused(venue.send({**body, "action": {**body["action"], "orders": [changed]}}), 40204)


@states(f"{SPEC}: Authentication", "the nonce is signed")
def _(venue: Venue) -> None:
    refused(venue.send({**request_of(venue), "nonce": venue.nonce()}), 40204)


@states(f"{SPEC}: Authentication", "the expiry is signed")
def _(venue: Venue) -> None:
    body = request_of(venue, expiry=venue.nonce() + DAY_MS)
    refused(venue.send({**body, "expiryAfter": body["expiryAfter"] + 1}), 40204)


@states(f"{SPEC}: Authentication", "expiryAfter null is signed as 0, as when it is left out")
def _(venue: Venue) -> None:
    accepted(venue.send({**request_of(venue), "expiryAfter": None}))


# --- nonce and expiry
@states(f"{SPEC}: Request envelope", "a nonce is used once: 40207")
def _(venue: Venue) -> None:
    nonce = venue.nonce()
    accepted(venue.send(request_of(venue, nonce=nonce)))
    refused(venue.send(request_of(venue, nonce=nonce)), 40207)


@states(f"{SPEC}: Request envelope", "the identical request again is refused as 40207")
def _(venue: Venue) -> None:
    body = request_of(venue)
    accepted(venue.send(body))
    refused(venue.send(body), 40207)


@states(f"{FACTS}: Request details", "nonces are counted for each signer: two signers may use the same")
def _(venue: Venue) -> None:
    nonce = venue.nonce()
    for number in (0, 1):
        trader = venue.trader(number)
        accepted(venue.act(trader.agent, {"type": "placeOrder", "orders": [venue.resting()]}, nonce=nonce))


@states(f"{FACTS}: Request details", "a nonce may be smaller than the last one")
def _(venue: Venue) -> None:
    later, earlier = venue.nonce() + 50, venue.nonce()
    accepted(venue.send(request_of(venue, nonce=later)))
    accepted(venue.send(request_of(venue, nonce=earlier)))


for_all(
    f"{SPEC}: Request envelope",
    "nonce is an int64",
    ["text", 1.5, None, True, -1, 1 << 64, []],
    lambda venue, nonce: malformed(venue.send({**request_of(venue), "nonce": nonce}), "nonce"),
)
for_all(
    f"{SPEC}: Request envelope",
    "expiryAfter is an int64 or null",
    ["text", 1.5, True, []],
    lambda venue, expiry: malformed(venue.send({**request_of(venue), "expiryAfter": expiry}), "expiryAfter"),
)


@states(f"{SPEC}: Errors", "a request whose expiryAfter is past is refused as 40208")
def _(venue: Venue) -> None:
    refused(venue.send(request_of(venue, expiry=venue.nonce() - DAY_MS)), 40208)


@states(f"{SPEC}: Request envelope", "a request whose expiryAfter is to come is taken")
def _(venue: Venue) -> None:
    accepted(venue.send(request_of(venue, expiry=venue.nonce() + DAY_MS)))


# --- actions and errors
@states(f"{SPEC}: Errors", "an unknown action is refused as 40201")
def _(venue: Venue) -> None:
    body = request_of(venue)
    refused(venue.send({**body, "action": {"type": "becomeRich"}}), 40201)


for_all(
    f"{SPEC}: Endpoints",
    "action.type is required, text, and the name of an action",
    [None, 5, "", [], "PLACEORDER"],
    lambda venue, kind: refused(venue.send({**request_of(venue), "action": {"type": kind}}), 40201, 40003),
)
for _code, _meaning, _needs in (
    (40220, "rate limit exceeded", "per-action limits, which are not published"),
    (40231, "transaction broadcast failed", "a broken chain"),
    (40006, "location is not supported", "an address in a closed country"),
    (40280, "action disabled (emergency)", "an emergency"),
    (40281, "address banned", "a banned address"),
):
    for_all(f"{SPEC}: Errors", f"{_code}: {_meaning}", [""], lambda venue, _, needs=_needs: _not_tried(needs))


def _not_tried(needs: str) -> None:
    raise NotTried(f"it needs {needs}")


def trading_actions(venue: Venue, trader: Trader) -> dict[str, dict[str, Any]]:
    """Return a valid action of each kind that an agent signs for its own account."""
    bracket = [venue.resting()]
    for kind, of_last in (("TP_FROM_POSITION", "1.3"), ("SL_FROM_POSITION", "0.6")):
        exit_order = venue.market("SELL", bracket[0]["ordQty"], reduceOnly=kind, triggerPx=venue.price(of_last))
        bracket.append({**exit_order, "tpslTriggerType": "MARK_PRICE"})
    held = venue.resting()
    accepted(trader.place(held))
    moved = {**venue.resting(of_last="0.79"), "clOrdId": held["clOrdId"]}
    code = venue.code
    return {
        "placeOrder": {"orders": [venue.resting()]},
        "replaceOrder": moved,
        "placeBracketOrder": {"orders": bracket},
        "cancelOrder": {"cancels": [{"symbolCode": str(code), "clOrdId": str(held["clOrdId"])}]},
        "cancelAll": {"symbolCode": code},
        "setLeverage": {"symbolCode": int(venue.other["code"]), "leverage": "3"},
        "setMarginMode": {"symbolCode": int(venue.other["code"]), "marginMode": "CROSS"},
    }


TRADING = (
    "placeOrder", "replaceOrder", "placeBracketOrder", "cancelOrder", "cancelAll", "setLeverage", "setMarginMode",
)  # fmt: skip


def agent_signs(venue: Venue, kind: object) -> None:
    trader = venue.trader(2)
    accepted(trader.act(str(kind), **trading_actions(venue, trader)[str(kind)]))


def master_does_not(venue: Venue, kind: object) -> None:
    trader = venue.trader(2)
    action = {"type": str(kind), **trading_actions(venue, trader)[str(kind)]}
    refused(venue.act(trader.master, action), 40204)


def with_a_vault(venue: Venue, kind: object) -> None:
    """A vault that isn't there: the field is read, so that the signer has no right to it."""
    trader = venue.trader(2)
    action = {"type": str(kind), **trading_actions(venue, trader)[str(kind)]}
    refused(venue.act(trader.agent, action, vault=venue.stranger().address))


each(f"{SPEC}: Endpoints", "an agent may sign {}", TRADING, agent_signs)
each(f"{SPEC}: Endpoints", "a master may not sign {}", TRADING, master_does_not)
each(f"{SPEC}: Request envelope", "{} takes vaultAddress", TRADING, with_a_vault)
each(
    f"{SPEC}: Request envelope",
    "{} takes expiryAfter",
    TRADING[:3],
    lambda venue, kind: accepted(
        venue.act(
            (trader := venue.trader(2)).agent,
            {"type": kind, **trading_actions(venue, trader)[str(kind)]},
            expiry=venue.nonce() + DAY_MS,
        )
    ),
)
