"""Environments: where an exchange is and which chain its signatures belong to.

An environment is a frozen value. Nothing is inferred from a URL. Its addresses can be overridden by arguments, or by
the variables TOOLKIT_BASE_URL and TOOLKIT_WS_URL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from .errors import InputError

DexChain = Literal["Mainnet", "Testnet"]

FEED_PATH, EXCHANGE_PATH = "/ws/dex", "/api/v1/exchange"
VENUE_PATHS = (FEED_PATH, EXCHANGE_PATH, "/info")
"""Paths that an address may end in. They are added again for each request."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The chain of signatures.

    Parameters
    ----------
    chain_id : int
        Chain id of the EIP-712 domain.
    source : {"a", "b"}
        Source of agent signatures.
    dex_chain : {"Mainnet", "Testnet"}
        dexChain of master signatures.
    """

    chain_id: int
    source: Literal["a", "b"]
    dex_chain: DexChain


VERIFYING_CONTRACT = "0x0100000000000000000000000000000000000001"
"""verifyingContract of every signature, on both chains."""
ZERO_CONTRACT = "0x" + "0" * 40
"""The one that documents of April 2026 show. A venue recovers another signer from what is signed for it."""
MAINNET_CHAIN = Chain(42161, "a", "Mainnet")
TESTNET_CHAIN = Chain(421614, "b", "Testnet")


@dataclass(frozen=True, slots=True)
class Environment:
    """One venue. Source: docs/published.md, "Environments".

    Parameters
    ----------
    name : str
        Name, such as "testnet".
    chain : Chain
        Chain of its signatures.
    base_url : str
        Address of requests.
    ws_url : str
        Address of the feed.
    venue : str, optional
        Name that distinguishes local venues, of which there can be many (default: "", as for the others).
    """

    name: str
    chain: Chain
    base_url: str
    ws_url: str
    venue: str = ""

    @property
    def label(self) -> str:
        """Name of the venue in the ledger of orders: bytes for one venue never go to another one."""
        return f"{self.name}:{self.venue}" if self.venue else self.name

    @property
    def is_mainnet(self) -> bool:
        """True if orders trade real money."""
        return self.chain.dex_chain == "Mainnet"

    @property
    def feed_url(self) -> str:
        """Address of the WebSocket feed."""
        return f"{self.ws_url.rstrip('/')}{FEED_PATH}"


MAINNET = Environment("mainnet", MAINNET_CHAIN, "https://api.afx.xyz", "wss://ws.afx.xyz")
TESTNET = Environment("testnet", TESTNET_CHAIN, "https://api-testnet.afx.xyz", "wss://ws-testnet.afx.xyz")
LOCAL = Environment("local", TESTNET_CHAIN, "http://127.0.0.1:8645", "ws://127.0.0.1:8645")

FURTHER_ADDRESSES = {
    MAINNET.base_url: ("https://api10.afx.xyz", "wss://ws10.afx.xyz"),
    TESTNET.base_url: ("https://api10-testnet.afx.xyz", "wss://ws10-testnet.afx.xyz"),
}
"""base_url of a preset → the second pair of addresses (base_url, ws_url) that the venue has published."""

PRESETS: dict[str, Environment] = {env.name: env for env in (MAINNET, TESTNET, LOCAL)}


def chain_of(label: str) -> Chain | None:
    """Return the chain of a preset, None for an environment of the user's own.

    Parameters
    ----------
    label : str
        `Environment.label` of the preset or of one of its venues.
    """
    preset = PRESETS.get(label.partition(":")[0])
    return None if preset is None else preset.chain


def environment(
    name: str | Environment,
    *,
    base_url: str | None = None,
    ws_url: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Environment:
    """Return a preset, or an Environment, with other addresses where they are given.

    Addresses may be given with or without the venue's paths (`ws://…/ws/dex`). A local venue serves both at one
    address, so either of the two is enough there.

    Parameters
    ----------
    name : str or Environment
        "local", "testnet", "mainnet" or an Environment.
    base_url : str, optional
        Address of requests (default: TOOLKIT_BASE_URL, else that of the preset).
    ws_url : str, optional
        Address of the feed (default: TOOLKIT_WS_URL, else that of the preset).
    variables : mapping, optional
        Environment variables (default: those of the process).

    Returns
    -------
    Environment

    Raises
    ------
    InputError
        For an unknown name or an invalid address. Away from the local venue also for one address without the other,
        which would stay that of the preset.

    Examples
    --------
    >>> from toolkit.environments import environment
    >>> environment("testnet").is_mainnet
    False
    """
    if not isinstance(name, Environment) and name not in PRESETS:
        known = tuple(sorted(PRESETS))
        said = f"environment {name!r} is not known. Use one of {', '.join(known)}, or your Environment"
        raise InputError(said, field="environment", rule="known", value=name, nearest=known)
    chosen = name if isinstance(name, Environment) else PRESETS[name]
    for field, url in (("base_url", chosen.base_url), ("ws_url", chosen.ws_url)):
        _address(field, url, "http")  # of an Environment that was made by hand
    given = os.environ if variables is None else variables
    base = _address("base_url", base_url or given.get("TOOLKIT_BASE_URL") or "", "http")
    feed = _address("ws_url", ws_url or given.get("TOOLKIT_WS_URL") or "", "ws")
    if chosen.name == LOCAL.name:
        feed = feed or _address("base_url", base, "ws")
        base = base or _address("ws_url", feed, "http")
    elif bool(base) != bool(feed):
        missing, present = ("ws_url", "base_url") if base else ("base_url", "ws_url")
        message = (
            f"{present} is given without {missing}. Orders would go to one venue and the feed would come from "
            f"another, {chosen.ws_url if base else chosen.base_url}. Give both"
        )
        raise InputError(message, field=missing, rule="both addresses")
    return replace(chosen, base_url=base or chosen.base_url.rstrip("/"), ws_url=feed or chosen.ws_url.rstrip("/"))


def _address(field: str, url: str, kind: Literal["http", "ws"]) -> str:
    """Return an address as http(s) or ws(s), without the paths of the venue. "" stays "".

    Raises InputError for a text that is no such address.
    """
    if not url:
        return ""
    try:
        parts = urlsplit(url.strip())
        has_port = parts.port != 0
    except ValueError:
        has_port = False
    if has_port and parts.username is not None:
        said = f"{field} holds a user or a password, which are not shown here. Give {field} without them"
        raise InputError(said, field=field, rule="no credentials")
    if not has_port or parts.scheme not in ("http", "https", "ws", "wss") or not parts.netloc:
        said = f"{field} {url!r} is not an address. Give one like {kind}://127.0.0.1:8645"
        raise InputError(said, field=field, rule="address", value=url, nearest=(f"{kind}://127.0.0.1:8645",))
    path = parts.path.rstrip("/")
    for known in VENUE_PATHS:
        path = path.removesuffix(known)
    secure = "s" if parts.scheme in ("https", "wss") else ""
    return f"{kind}{secure}://{parts.netloc}{path.rstrip('/')}"
