"""Signed orders: from plain values to request bytes and back to their signers, and what the venue does with them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from toolkit.checks import read_order
from toolkit.client.io.nonce_sources import NonceSource
from toolkit.environments import LOCAL, TESTNET_CHAIN
from toolkit.products import Product
from toolkit.protocol import curve, envelope, signing
from toolkit.protocol.orders.items import OrderItem
from toolkit.protocol.orders.names import ActionType
from toolkit.protocol.orders.order_actions import OrderAction
from toolkit.venue import development
from toolkit.venue.local import LocalVenue
from toolkit.venue.model.genesis import default_margin_tables, default_products

from . import Measurement, seconds

ORDERS = 1_500
TARGET = 5_000 / 15_000
"""5,000 orders per second where recovering the signer alone allows 15,000, as a ratio that holds on a busy machine."""
_NOW = 1_767_225_600_000
_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
"""A public development key."""


def measure_signing() -> list[Measurement]:
    """Measure signing and verifying of one limit order, against the bare curve operations."""
    key = signing.PrivateKey.from_hex(_KEY)
    secret = curve.hold(key.reveal())
    assert secret is not None
    digest = b"\x07" * 32
    signed_order = _order_signer(key)
    body, signature = signed_order(), curve.sign(secret, digest)
    ours, peer = seconds(signed_order, lambda: curve.sign(secret, digest), repeat=7, number=500)
    back, back_peer = seconds(
        lambda: signing.verify(envelope.parse(body), TESTNET_CHAIN),
        lambda: curve.recover(digest, *signature),
        repeat=7,
        number=500,
    )
    [parsing] = seconds(lambda: envelope.parse(body), number=1000)
    name, bare = "build, check and sign one order to request bytes", "one bare libsecp256k1 recoverable signature"
    recovering = ("one bare libsecp256k1 recovery", back / back_peer)
    return [
        Measurement(name, ours * 1e6, "µs", 2.0, "lower", "ratio", bare, ours / peer, aim=1.0),
        Measurement(
            "parse a signed order and recover its signer", back * 1e6, "µs", None, "lower", "value", *recovering
        ),
        Measurement("parse and check a signed order", parsing * 1e6, "µs", better="lower"),
    ]


def _order_signer(key: signing.PrivateKey) -> Callable[[], bytes]:
    """Return a function that builds, checks and signs one order, and returns the bytes of its request."""
    product = Product.from_row(default_products()[0], default_margin_tables()[1])
    nonces = NonceSource(key.address)
    reference_ticks = (600_100, 600_090, 600_080, 600_070, 600_100)  # mark, last, index, bid and ask

    def signed_order() -> bytes:
        item = OrderItem(1, "60000.5", "0.01", "LIMIT", "BUY", "GTC", cl_ord_id=123456789)
        action = OrderAction.made(ActionType.PLACE, [item])
        if read_order(product, item, *reference_ticks).failures:
            raise AssertionError("the order must pass its checks")
        content = envelope.unsigned(action.to_wire(), nonces.next(_NOW), None, None)
        return envelope.dump(signing.sign_content(content, key, TESTNET_CHAIN))

    return signed_order


def measure_venue() -> list[Measurement]:
    """Measure signed limit orders, half of which trade, in turns with recovering their signers, in processor time.

    The venue parses, verifies, checks, matches and answers in this process. Each round has a fresh one.
    """
    bodies, every = _bodies(1_000), _bodies(ORDERS)
    requests = [envelope.parse(body) for body in bodies]
    digests = [(signing.content_digest(request, LOCAL.chain), request.signature) for request in requests]
    venues = [_venue() for _ in range(5)]
    fresh = iter(venues)
    recover, answer, verify = seconds(
        lambda: [signing.recover_bytes(*each) for each in digests],
        lambda: _answer(next(fresh), every),
        lambda: [signing.verify(envelope.parse(body), LOCAL.chain) for body in bodies],
        repeat=len(venues),
        clock=time.process_time,
    )
    for venue in venues:
        venue.close()
    pace, alone = ORDERS / answer, len(bodies) / recover
    note = f"recovering alone {alone:,.0f}/s, parsing and verifying {len(bodies) / verify:,.0f}/s"
    name, compared = "signed orders answered in process", ("recovering the signers alone", pace / alone)
    return [Measurement(name, pace, "orders/s", TARGET, "higher", "ratio", *compared, note=note)]


def _answer(venue: LocalVenue, bodies: list[bytes]) -> None:
    answers = [venue.host.gateway.handle("POST", "/api/v1/exchange", (), body).body for body in bodies]
    if refused := [answer for answer in answers if not answer.startswith(b'{"code":0,')]:
        raise AssertionError(f"{len(refused)} orders were refused: {refused[0].decode()}")


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
    """Return the item of a limit order in BTCUSDC.

    Parameters
    ----------
    side : int
        BUY or SELL.
    price : str
        Price in USDC, decimal text.
    quantity : str, optional
        Quantity in base units, decimal text (default: "0.001").
    **more : object
        Fields that replace its own.
    """
    item = {"symbolCode": 1, "ordPx": price, "ordQty": quantity, "ordType": "LIMIT"}
    return {**item, "ordSide": "BUY" if side > 0 else "SELL", "timeInForce": "GTC", **more}


def order(number: int, nonce: int, item: dict[str, Any]) -> bytes:
    """Return the request for an order, signed by the agent of a development account.

    Parameters
    ----------
    number : int
        Number of the development account.
    nonce : int
        Nonce of the request.
    item : dict
        Item of the order.
    """
    return _signed(development.agent(number).key, {"type": "placeOrder", "orders": [item]}, nonce)


def approval(number: int) -> bytes:
    """Return the request in which the master of a development account approves its agent.

    Parameters
    ----------
    number : int
        Number of the development account.
    """
    agent = development.agent(number).address
    action = {"type": "approveAgent", "agentAddress": agent, "agentName": "bench", "validitySeconds": 0}
    return _signed(development.master(number).key, {**action, "dexChain": LOCAL.chain.dex_chain}, 1)


def _signed(key: bytes, action: dict[str, Any], nonce: int) -> bytes:
    return msgspec.json.encode(signing.sign(action, key=signing.PrivateKey(key), chain=LOCAL.chain, nonce=nonce))
