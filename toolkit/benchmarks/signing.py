"""One order from plain values to signed request bytes, and back to its signer, against the bare curve operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import Measurement, rival_seconds, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..protocol.signing import PrivateKey

_NOW = 1_767_225_600_000
_KEY = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
"""A public development key."""


def rows() -> list[Measurement]:
    """Measure signing and verifying of one limit order."""
    from ..environments import TESTNET_CHAIN
    from ..protocol import curve, envelope, signing

    key = signing.PrivateKey.from_hex(_KEY)
    secret = curve.hold(key.reveal())
    assert secret is not None
    digest = b"\x07" * 32
    order = _order_signer(key)
    body = order()
    signature = curve.sign(secret, digest)

    def bare_sign() -> object:
        return curve.sign(secret, digest)

    def verify() -> object:
        return signing.verify(envelope.parse(body), TESTNET_CHAIN)

    def bare_recover() -> object:
        return curve.recover(digest, *signature)

    ours, peer = rival_seconds(order, bare_sign, number=500)
    back, back_peer = rival_seconds(verify, bare_recover, number=500)
    parsing = seconds(lambda: envelope.parse(body), number=1000)
    recovering = ("one bare libsecp256k1 recovery", back / back_peer)
    return [
        Measurement(
            "build, check and sign one order to request bytes",
            ours * 1e6,
            "µs",
            target=2.0,
            aim=1.0,
            better="lower",
            measure="ratio",
            peer="one bare libsecp256k1 recoverable signature",
            ratio=ours / peer,
        ),
        Measurement(
            "parse a signed order and recover its signer", back * 1e6, "µs", None, "lower", "value", *recovering
        ),
        Measurement("parse and check a signed order", parsing * 1e6, "µs", better="lower"),
    ]


def _order_signer(key: PrivateKey) -> Callable[[], bytes]:
    """Return a function that builds, checks and signs one order, and returns the bytes of its request."""
    from ..checks import read_order
    from ..client.io.nonce_sources import NonceSource
    from ..environments import TESTNET_CHAIN
    from ..products import Product
    from ..protocol import envelope, signing
    from ..venue.model.genesis import default_margin_tables, default_products
    from .venue import order_item

    product = Product.from_row(default_products()[0], default_margin_tables()[1])
    nonces = NonceSource(key.address)
    reference_ticks = (600_100, 600_090, 600_080, 600_070, 600_100)  # mark, last, index, bid and ask

    def order() -> bytes:
        item = order_item(1, "60000.5", "0.01", clOrdId=123456789)
        if read_order(product, item, *reference_ticks).failures:
            raise AssertionError("the order must pass its checks")
        action = {"type": "placeOrder", "orders": [item]}
        return envelope.dump(signing.sign(action, key=key, chain=TESTNET_CHAIN, nonce=nonces.next(_NOW)))

    return order
