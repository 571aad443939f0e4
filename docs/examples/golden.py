"""Writes golden-requests.json: every agent and master action with the bytes of each step, for tests in any language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolkit.environments import LOCAL
from toolkit.protocol import signing
from toolkit.venue import development

PATH = Path(__file__).with_name("golden-requests.json")
NONCE, EXPIRY = 1_767_225_600_000, 1_767_225_660_000
VAULT = "0x00000000000000000000000000000000000000a5"
_ORDER = {"symbolCode": 1, "ordPx": "62500.5", "ordQty": "0.01", "ordType": "LIMIT", "ordSide": "BUY"}

REQUESTS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"type": "placeOrder", "orders": [{**_ORDER, "timeInForce": "GTC", "clOrdId": 7}]}, {}),
    ({"type": "placeOrder", "orders": [{**_ORDER, "timeInForce": "IOC"}] * 2}, {"expiry_after": EXPIRY}),
    ({"type": "placeOrder", "orders": [{**_ORDER, "timeInForce": "GTC"}]}, {"vault_address": VAULT}),
    ({"type": "cancelOrder", "cancels": [{"symbolCode": 1, "clOrdId": 7}]}, {}),
    ({"type": "cancelAll", "symbolCode": 1}, {}),
    ({"type": "setLeverage", "symbolCode": 1, "leverage": "10"}, {}),
    ({"type": "setMarginMode", "symbolCode": 1, "marginMode": "ISOLATED"}, {}),
    (
        {
            "type": "approveAgent",
            "agentAddress": development.agent(0).address,
            "agentName": "bot",
            "validitySeconds": 86_400,
            "dexChain": LOCAL.chain.dex_chain,
        },
        {},
    ),
)


def golden() -> list[dict[str, Any]]:
    """Return the requests with the bytes of each step, as hex."""
    found = []
    for action, options in REQUESTS:
        steps = signing.explain(action, LOCAL.chain, NONCE, options.get("expiry_after"), options.get("vault_address"))
        by_agent = steps.proto is not None
        signer = development.agent(0) if by_agent else development.master(0)
        key = signing.PrivateKey(signer.key)
        found.append(
            {
                "signer": "agent" if by_agent else "master",
                "private_key": f"0x{signer.key.hex()}",
                "address": signer.address,
                "protobuf": _hex(steps.proto),
                "connection_id": _hex(steps.connection_id),
                "domain_separator": _hex(steps.domain_separator),
                "struct_hash": _hex(steps.struct_hash),
                "digest": _hex(steps.digest),
                "body": signing.sign(action, key=key, chain=LOCAL.chain, nonce=NONCE, **options),
            }
        )
    return found


def _hex(raw: bytes | None) -> str | None:
    return None if raw is None else f"0x{raw.hex()}"


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), indent=1) + "\n", encoding="utf-8")
