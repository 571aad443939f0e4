"""Addresses of environments: taken with and without the venue's paths, and never one venue's with another's feed."""

from __future__ import annotations

import pytest

from toolkit.environments import FURTHER_ADDRESSES, LOCAL, MAINNET, TESTNET, Environment, environment
from toolkit.errors import InputError

BASE, FEED = "http://127.0.0.1:9000", "ws://127.0.0.1:9000"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"base_url": BASE}, (BASE, FEED)),
        ({"base_url": f"{BASE}/"}, (BASE, FEED)),
        ({"base_url": f"{BASE}/api/v1/exchange"}, (BASE, FEED)),
        ({"base_url": f"{FEED}/ws/dex"}, (BASE, FEED)),
        ({"ws_url": f"{FEED}/ws/dex"}, (BASE, FEED)),
        ({"ws_url": f"{FEED}/ws/dex/"}, (BASE, FEED)),
        ({"base_url": "https://x.example/venue"}, ("https://x.example/venue", "wss://x.example/venue")),
        ({"base_url": BASE, "ws_url": "ws://[::1]:1"}, (BASE, "ws://[::1]:1")),
        ({}, (LOCAL.base_url, LOCAL.ws_url)),
    ],
)
def test_a_local_venue_has_both_at_one_address(given: dict[str, str], expected: tuple[str, str]) -> None:
    found = environment("local", **given, variables={})
    assert (found.base_url, found.ws_url) == expected
    assert found.feed_url == f"{expected[1]}/ws/dex"


def test_variables_give_addresses_and_arguments_come_first() -> None:
    variables = {"TOOLKIT_BASE_URL": f"{BASE}/info"}
    assert environment("local", variables=variables).ws_url == FEED
    assert environment("local", base_url="http://localhost:1", variables=variables).ws_url == "ws://localhost:1"


@pytest.mark.parametrize("missing", ["ws_url", "base_url"])
def test_elsewhere_one_address_without_the_other_is_refused(missing: str) -> None:
    given = {"base_url": "https://a.example", "ws_url": "wss://a.example"}
    assert environment("testnet", **given, variables={}).feed_url == "wss://a.example/ws/dex"
    del given[missing]
    for name in ("testnet", Environment("mine", TESTNET.chain, "https://b.example", "wss://b.example")):
        with pytest.raises(InputError, match="Give both") as caught:
            environment(name, **given, variables={})
        assert caught.value.field == missing


@pytest.mark.parametrize("address", ["127.0.0.1:8645", "ftp://127.0.0.1", "http://", "localhost"])
def test_a_text_that_is_no_address_is_explained(address: str) -> None:
    with pytest.raises(InputError, match=r"is not an address. Give one like http://127\.0\.0\.1:8645"):
        environment("local", base_url=address, variables={})


def test_presets_are_the_published_ones() -> None:
    """docs/published.md, "Environments"."""
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
