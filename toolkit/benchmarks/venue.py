"""What the venue does with signed orders in this process: parse, verify, check, match, answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from ..environments import LOCAL
from ..protocol import envelope, signing
from ..venue import development
from ..venue.local import LocalVenue
from . import Measurement

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
        recover = min(recover, _spent(lambda: [signing.recover_bytes(*each) for each in digests]))
        answer = min(answer, _answer())
        verify = min(verify, _spent(lambda: [_verify(body) for body in bodies]))
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


def _spent(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _verify(body: bytes) -> signing.Verified:
    return signing.verify(envelope.parse(body), LOCAL.chain)


def _answer() -> float:
    """Return the seconds in which a fresh venue answers all orders."""
    venue = _venue()
    bodies = _bodies(ORDERS)
    start = time.process_time()
    answers = [venue.host.gateway.handle("POST", "/api/v1/exchange", (), body) for body in bodies]
    spent = time.process_time() - start
    refused = [answer for answer in answers if not answer.body.startswith(b'{"code":0,')]
    if refused:
        raise AssertionError(f"{len(refused)} orders were refused: {refused[0].body.decode()}")
    venue.close()
    return spent


def _venue() -> LocalVenue:
    venue = LocalVenue(clock="manual", market=False, accounts=2)
    for index in (0, 1):
        action = {
            "type": "approveAgent",
            "agentAddress": development.account(10 + index).address,
            "agentName": "bench",
            "validitySeconds": 0,
            "dexChain": LOCAL.chain.dex_chain,
        }
        venue.host.gateway.handle("POST", "/api/v1/exchange", (), _signed(index, action, 1))
    return venue


def _bodies(count: int) -> list[bytes]:
    """Return signed orders of two agents in turns: one rests, the next one takes it, at moving prices."""
    bodies = []
    for number in range(count):
        taker = number % 2
        item = {
            "symbolCode": 1,
            "ordPx": f"{62_500 + number // 2 % 50 - 25}",
            "ordQty": "0.001",
            "ordType": "LIMIT",
            "ordSide": "SELL" if (number // 2 + taker) % 2 else "BUY",
            "timeInForce": "GTC",
            "clOrdId": number + 1,
        }
        bodies.append(_signed(10 + taker, {"type": "placeOrder", "orders": [item]}, number + 10))
    return bodies


def _signed(index: int, action: dict[str, Any], nonce: int) -> bytes:
    key = signing.PrivateKey(development.account(index).key)
    return msgspec.json.encode(signing.sign(action, key=key, chain=LOCAL.chain, nonce=nonce))
