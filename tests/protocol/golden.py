"""The golden requests: each action on both chains, with every step from bytes to signature."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from toolkit.environments import MAINNET_CHAIN, TESTNET_CHAIN, Chain
from toolkit.protocol.signing import PrivateKey

PATH = Path(__file__).resolve().parent.parent / "vectors" / "requests.json"
CHAINS: dict[str, Chain] = {"mainnet": MAINNET_CHAIN, "testnet": TESTNET_CHAIN}


@cache
def document() -> dict[str, Any]:
    """Return the whole file."""
    return dict(json.loads(PATH.read_text(encoding="utf-8")))


def vectors() -> list[dict[str, Any]]:
    """Return all golden requests."""
    return list(document()["vectors"])


@cache
def key(role: str) -> PrivateKey:
    """Return the public development key of a role."""
    return PrivateKey.from_hex(document()["keys"][role])


def envelope_fields(request: dict[str, Any]) -> dict[str, Any]:
    """Return nonce, expiry and vault of a request as keyword arguments of `sign` and `explain`."""
    return {
        "nonce": request["nonce"],
        "expiry_after": request.get("expiryAfter"),
        "vault_address": request.get("vaultAddress"),
    }
