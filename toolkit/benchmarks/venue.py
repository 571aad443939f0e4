"""What the venue does with signed orders in this process: parse, verify, check, match, answer."""

from __future__ import annotations

from typing import Any

import msgspec

from ..environments import LOCAL
from ..protocol import envelope, signing
from ..venue import development
from ..venue.api.gateway import Answer
from ..venue.local import LocalVenue
from . import Measurement, processor_seconds

ORDERS = 1_500
ROUNDS = 5
TARGET = 5_000 / 15_000
"""5,000 orders a second where recovering the signer alone allows 15,000, as a ratio that holds on a busy machine."""


def rows() -> list[Measurement]:
    """Measure signed limit orders, half of which trade, in turns with recovering their signers; in processor time."""
    bodies = _bodies(1_000)
    requests = [envelope.parse(body) for body in bodies]
    digests = [(signing.content_digest(request, LOCAL.chain), request.signature) for request in requests]
    answer = verify = recover = float("inf")
    for _ in range(ROUNDS):
        recover = min(recover, processor_seconds(lambda: [signing.recover_bytes(*each) for each in digests]))
        answer = min(answer, _answer())
        verify = min(verify, processor_seconds(lambda: [_verify(body) for body in bodies]))
    pace, alone = ORDERS / answer, len(bodies) / recover
    return [
        Measurement(
            "signed orders answered in process",
            pace,
            "orders/s",
            target=TARGET,
            measure="ratio",
            peer="recovering the signers alone",
            ratio=pace / alone,
            note=f"recovering alone {alone:,.0f}/s, parsing and verifying {len(bodies) / verify:,.0f}/s",
        )
    ]


def _verify(body: bytes) -> signing.Verified:
    return signing.verify(envelope.parse(body), LOCAL.chain)


def _answer() -> float:
    """Return the seconds in which a fresh venue answers all orders."""
    venue = _venue()
    bodies = _bodies(ORDERS)
    answers: list[Answer] = []
    spent = processor_seconds(
        lambda: answers.extend(venue.host.gateway.handle("POST", "/api/v1/exchange", (), body) for body in bodies)
    )
    refused = [answer for answer in answers if not answer.body.startswith(b'{"code":0,')]
    if refused:
        raise AssertionError(f"{len(refused)} orders were refused: {refused[0].body.decode()}")
    venue.close()
    return spent


def _venue() -> LocalVenue:
    venue = LocalVenue(clock="manual", market=False, accounts=2)
    for index in (0, 1):
        venue.host.gateway.handle("POST", "/api/v1/exchange", (), approval(index))
    return venue


def _bodies(count: int) -> list[bytes]:
    """Return signed orders of two agents in turns: one rests, the next one takes it, at moving prices."""
    bodies = []
    for number in range(count):
        taker = number % 2
        side, price = -1 if (number // 2 + taker) % 2 else 1, f"{62_500 + number // 2 % 50 - 25}"
        bodies.append(order(taker, number + 10, order_item(side, price, clOrdId=number + 1)))
    return bodies


def order_item(side: int, price: str, quantity: str = "0.001", **more: Any) -> dict[str, Any]:
    """Return the item of a limit order in BTCUSDC; `more` replaces its fields."""
    item = {"symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": "LIMIT"}
    return {**item, "ordSide": "BUY" if side > 0 else "SELL", "timeInForce": "GTC", **more}


def order(number: int, nonce: int, item: dict[str, Any]) -> bytes:
    """Return the request for an order, signed by the agent of a development account."""
    return _signed(development.agent(number).key, {"type": "placeOrder", "orders": [item]}, nonce)


def approval(number: int) -> bytes:
    """Return the request in which the master of a development account approves its agent."""
    action = {
        "type": "approveAgent",
        "agentAddress": development.agent(number).address,
        "agentName": "bench",
        "validitySeconds": 0,
        "dexChain": LOCAL.chain.dex_chain,
    }
    return _signed(development.master(number).key, action, 1)


def _signed(key: bytes, action: dict[str, Any], nonce: int) -> bytes:
    return msgspec.json.encode(signing.sign(action, key=signing.PrivateKey(key), chain=LOCAL.chain, nonce=nonce))
