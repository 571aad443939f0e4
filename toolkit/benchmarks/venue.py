"""What the venue does with signed orders in this process: parse, verify, check, match, answer."""

from __future__ import annotations

from typing import Any

import msgspec

from ..environments import LOCAL
from ..protocol import envelope, signing
from ..venue import development
from ..venue.local import LocalVenue
from . import Row, seconds

ORDERS = 1_500


def rows() -> list[Row]:
    """Measure signed limit orders, half of which trade, beside recovering their signers alone."""
    pace = ORDERS / min(_answer() for _ in range(5))
    bodies = _bodies(200)
    alone = len(bodies) / seconds(lambda: [signing.verify(envelope.parse(body), LOCAL.chain) for body in bodies])
    parsed = [envelope.parse(body) for body in bodies]
    digests = [(signing.content_digest(request, LOCAL.chain), request.signature) for request in parsed]
    recover = len(digests) / seconds(lambda: [signing.recover_bytes(*each) for each in digests])
    return [
        Row(
            "signed orders answered in process",
            pace,
            "orders/s",
            target=5_000,
            peer="recovering the signers alone",
            ratio=pace / recover,
            note=f"recovering alone {recover:,.0f}/s, parsing and verifying {alone:,.0f}/s",
        )
    ]


def _answer() -> float:
    """Return the seconds in which a fresh venue answers all orders."""
    import time

    venue = _venue()
    bodies = _bodies(ORDERS)
    start = time.perf_counter()
    answers = [venue.handle("POST", "/api/v1/exchange", (), body) for body in bodies]
    spent = time.perf_counter() - start
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
        venue.handle("POST", "/api/v1/exchange", (), _signed(index, action, 1))
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
