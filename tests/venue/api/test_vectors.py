"""The golden requests, posted over loopback to a venue that knows their wallets."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.venue.wallets import Signer
from toolkit.environments import TESTNET_CHAIN
from toolkit.errors import BadSignature, MalformedRequest
from toolkit.protocol import signing
from toolkit.venue import development
from toolkit.venue.local import LocalVenue

VECTORS = json.loads(Path(__file__).parents[2].joinpath("vectors", "requests.json").read_text(encoding="utf-8"))
ADDRESSES = VECTORS["addresses"]
REQUESTS = {vector["name"]: vector for vector in VECTORS["vectors"]}
BEFORE = 1_760_476_100_000
"""A moment before any of the requests expires."""
POST = "/api/v1/exchange"


def venue_that_knows_them() -> LocalVenue:
    """Return a venue where the vectors' wallets have accounts, an agent, a builder and its authorisation."""
    venue = LocalVenue(clock="manual", start=BEFORE, market=False, accounts=10)
    master, builder = Signer(development.account(0)), Signer(development.account(2))
    assert (master.address, builder.address) == (ADDRESSES["master"], ADDRESSES["builderMaster"])
    agent = {"type": "approveAgent", "agentAddress": ADDRESSES["agent"], "agentName": "vectors", "validitySeconds": 0}
    assert master.do(venue, {**agent, "dexChain": "Testnet"})["code"] == 0
    assert builder.do(venue, {"type": "registerBuilder", "name": "Acme", "dexChain": "Testnet"})["code"] == 0
    grant = {
        "type": "approveAgentToBuilder",
        "agentAddress": ADDRESSES["builderAgent"],
        "builderAddress": ADDRESSES["builderMaster"],
        "maxFeeRate": "0.001",
        "validitySeconds": 0,
        "dexChain": "Testnet",
    }
    assert master.do(venue, grant)["code"] == 0
    return venue


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[LocalVenue, httpx.Client]]:
    venue = venue_that_knows_them()
    with (
        venue.serve() as place,
        httpx.Client(base_url=place.base_url, headers={"content-type": "application/json"}) as client,
    ):
        yield venue, client


@pytest.mark.parametrize("name", [name for name in REQUESTS if REQUESTS[name]["environment"] == "testnet"])
def test_testnet_requests_are_never_rejected_for_their_signature(
    served: tuple[LocalVenue, httpx.Client], name: str
) -> None:
    venue, client = served
    before = venue.snapshot()
    answer = client.post(POST, content=json.dumps(REQUESTS[name]["request"]).encode()).json()
    assert answer["code"] in (0, 40230), answer
    again = client.post(POST, content=json.dumps(REQUESTS[name]["request"]).encode()).json()
    used = 40230 if REQUESTS[name]["request"]["action"]["type"] == "faucetClaim" and answer["code"] else 40207
    assert again["code"] == used, "the same bytes count once"
    venue.revert(before)


@pytest.mark.parametrize("name", [name for name in REQUESTS if REQUESTS[name]["environment"] == "mainnet"])
def test_mainnet_requests_are_always_rejected_for_their_signature(
    served: tuple[LocalVenue, httpx.Client], name: str
) -> None:
    answer = served[1].post(POST, content=json.dumps(REQUESTS[name]["request"]).encode()).json()
    assert answer["code"] == 40204
    assert "0x" in answer["message"]


def test_the_testnet_requests_one_after_the_other_are_known_too() -> None:
    venue = venue_that_knows_them()
    for name, vector in REQUESTS.items():
        if vector["environment"] != "testnet" or vector["request"]["action"]["type"] == "revokeAgentToBuilder":
            continue
        answer = venue.host.gateway.handle("POST", POST, body=json.dumps(vector["request"]).encode())
        assert json.loads(answer.body)["code"] in (0, 40230), name


SIGNED = [
    vector["request"]
    for vector in REQUESTS.values()
    if vector["environment"] == "testnet" and vector["request"]["action"]["type"] != "faucetClaim"
]
KNOWN = venue_that_knows_them()


@settings(max_examples=100)
@given(request=st.sampled_from(SIGNED), data=st.data())
def test_a_change_of_any_byte_makes_another_signer_who_is_named(request: dict[str, Any], data: st.DataObject) -> None:
    changed = change(request, data)
    answer = json.loads(KNOWN.host.gateway.handle("POST", POST, body=json.dumps(changed).encode()).body)
    try:
        signer = signing.recover(changed, TESTNET_CHAIN)
    except BadSignature:
        assert answer["code"] == 40204
        return
    except MalformedRequest:
        assert answer["code"] in (40003, 40201)
        return
    assert signer != signing.recover(request, TESTNET_CHAIN)
    assert answer["code"] == 40204
    assert signer in answer["message"]
    assert "toolkit verify" in answer["message"] or "dexChain" in answer["message"]


def change(request: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Return the request with one part of what is signed, or of the signature, changed in meaning."""
    changed = copy.deepcopy(request)
    part = data.draw(st.sampled_from(["r", "s", "v", "nonce", "expiryAfter", "vaultAddress", "action"]))
    signature = changed["signature"]
    if part in ("r", "s"):
        at = data.draw(st.integers(2, 65))
        old = signature[part]
        digit = data.draw(st.sampled_from([each for each in "0123456789abcdef" if each != old[at]]))
        signature[part] = old[:at] + digit + old[at + 1 :]
    elif part == "v":
        signature["v"] = 55 - signature["v"]
    elif part == "nonce":
        changed["nonce"] ^= 1 << data.draw(st.integers(0, 50))
    elif part == "expiryAfter":
        changed["expiryAfter"] = (changed.get("expiryAfter") or 0) + data.draw(st.integers(1, 10**9))
    elif part == "vaultAddress":
        changed["vaultAddress"] = "0x" + data.draw(st.binary(min_size=20, max_size=20)).hex()
    else:
        change_action(changed["action"], data)
    return changed


def change_action(action: dict[str, Any], data: st.DataObject) -> None:
    """Change one digit of one text or number of an action that has any."""
    places = list(leaves(action))
    if not places:
        action["type"] = "vaultClose" if action["type"] != "vaultClose" else "vaultCreateSubVault"
        return
    holder, key = data.draw(st.sampled_from(places))
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int):
        holder[key] = value + data.draw(st.integers(1, 9))
    else:
        digits = [at for at, sign in enumerate(value) if sign.isdigit() and (at > 1 or not value.startswith("0x"))]
        if not digits:
            holder[key] = value + "x"
            return
        at = data.draw(st.sampled_from(digits))
        holder[key] = value[:at] + str((int(value[at]) + data.draw(st.integers(1, 9))) % 10) + value[at + 1 :]


def leaves(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where the texts and numbers of an action are."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(value, dict | list):
            yield from leaves(value)
        elif key != "type":
            yield node, key
