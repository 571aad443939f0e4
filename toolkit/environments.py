"""Environments: where an exchange is and which chain its signatures belong to.

An environment is a frozen value; nothing is inferred from a URL. Its addresses can be overridden by arguments, or by
the variables TOOLKIT_BASE_URL and TOOLKIT_WS_URL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from .errors import InputError

DexChain = Literal["Mainnet", "Testnet"]


@dataclass(frozen=True, slots=True)
class Chain:
    """The chain of signatures: chain id, `source` of agent signatures, `dexChain` of master signatures."""

    chain_id: int
    source: Literal["a", "b"]
    dex_chain: DexChain


MAINNET_CHAIN = Chain(42161, "a", "Mainnet")
TESTNET_CHAIN = Chain(421614, "b", "Testnet")


@dataclass(frozen=True, slots=True)
class Environment:
    """One venue: its name, chain and addresses. Source: venue-facts, "Environments"."""

    name: str
    chain: Chain
    base_url: str
    ws_url: str

    @property
    def is_mainnet(self) -> bool:
        """True if orders trade real money."""
        return self.chain.dex_chain == "Mainnet"

    @property
    def feed_url(self) -> str:
        """Address of the WebSocket feed."""
        return f"{self.ws_url.rstrip('/')}/ws/dex"


MAINNET = Environment("mainnet", MAINNET_CHAIN, "https://api.afx.xyz", "wss://ws.afx.xyz")
TESTNET = Environment("testnet", TESTNET_CHAIN, "https://api-testnet.afx.xyz", "wss://ws-testnet.afx.xyz")
LOCAL = Environment("local", TESTNET_CHAIN, "http://127.0.0.1:8645", "ws://127.0.0.1:8645")

FURTHER_ADDRESSES = {
    MAINNET.base_url: ("https://api10.afx.xyz", "wss://ws10.afx.xyz"),
    TESTNET.base_url: ("https://api10-testnet.afx.xyz", "wss://ws10-testnet.afx.xyz"),
}
"""base_url of a preset → the second pair of addresses (base_url, ws_url) that the venue has published."""

PRESETS: dict[str, Environment] = {env.name: env for env in (MAINNET, TESTNET, LOCAL)}


def environment(
    name: str | Environment,
    *,
    base_url: str | None = None,
    ws_url: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Environment:
    """Return a preset by name, or an Environment, with overrides: arguments, then TOOLKIT_BASE_URL and TOOLKIT_WS_URL.

    Raises InputError for an unknown name.
    """
    if isinstance(name, Environment):
        chosen = name
    elif name in PRESETS:
        chosen = PRESETS[name]
    else:
        known = ", ".join(sorted(PRESETS))
        raise InputError(
            f"environment {name!r} is not known; use one of {known}, or an Environment of your own",
            field="environment",
            rule="known",
            value=name,
            nearest=tuple(sorted(PRESETS)),
        )
    given = os.environ if variables is None else variables
    base = base_url or given.get("TOOLKIT_BASE_URL") or chosen.base_url
    feed = ws_url or given.get("TOOLKIT_WS_URL") or chosen.ws_url
    return replace(chosen, base_url=base.rstrip("/"), ws_url=feed.rstrip("/"))
