"""Environments have the published addresses and chains."""

from __future__ import annotations

from toolkit.environments import FURTHER_ADDRESSES, LOCAL, MAINNET, TESTNET, environment


def test_presets_are_the_published_ones() -> None:
    """venue-facts, "Environments"."""
    shown = {one.name: (one.base_url, one.feed_url) for one in (MAINNET, TESTNET, LOCAL)}
    assert shown == {
        "mainnet": ("https://api.afx.xyz", "wss://ws.afx.xyz/ws/dex"),
        "testnet": ("https://api-testnet.afx.xyz", "wss://ws-testnet.afx.xyz/ws/dex"),
        "local": ("http://127.0.0.1:8645", "ws://127.0.0.1:8645/ws/dex"),
    }
    chains = [(one.chain.chain_id, one.chain.source, one.chain.dex_chain) for one in (MAINNET, TESTNET, LOCAL)]
    assert chains == [(42161, "a", "Mainnet"), (421614, "b", "Testnet"), (421614, "b", "Testnet")]
    assert FURTHER_ADDRESSES == {
        "https://api.afx.xyz": ("https://api10.afx.xyz", "wss://ws10.afx.xyz"),
        "https://api-testnet.afx.xyz": ("https://api10-testnet.afx.xyz", "wss://ws10-testnet.afx.xyz"),
    }


def test_every_address_can_be_overridden() -> None:
    variables = {"TOOLKIT_BASE_URL": "http://a/", "TOOLKIT_WS_URL": "ws://b/"}
    assert environment("testnet", variables=variables).feed_url == "ws://b/ws/dex"
    assert environment("testnet", base_url="http://c", variables=variables).base_url == "http://c"
    assert environment("mainnet", variables={}) == MAINNET
