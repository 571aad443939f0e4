"""All golden requests come out byte for byte, and recovery gives their signer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocol.golden import CHAINS, document, envelope_fields, key, vectors
from toolkit.protocol import actions, codec, envelope, signing

pytestmark = pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["name"])


def test_every_step_is_the_golden_one(vector: dict[str, Any]) -> None:
    request = vector["request"]
    action = request["action"]
    explained = signing.explain(action, CHAINS[vector["environment"]], **envelope_fields(request))
    typed = explained.typed_data
    assert {name: typed[name] for name in ("primaryType", "domain", "message")} == vector["typedData"]
    assert "0x" + explained.domain_separator.hex() == vector["domainSeparator"]
    assert "0x" + explained.struct_hash.hex() == vector["structHash"]
    assert "0x" + explained.digest.hex() == vector["digest"]
    if "proto" in vector:
        assert explained.proto is not None
        assert explained.connection_id is not None
        assert "0x" + explained.proto.hex() == vector["proto"]
        assert "0x" + explained.connection_id.hex() == vector["connectionId"]
        assert codec.WRITERS[action["type"]](actions.parse(action)) == explained.proto
    else:
        assert explained.proto is None
        assert explained.connection_id is None


def test_the_quick_digest_is_the_golden_one(vector: dict[str, Any]) -> None:
    request = vector["request"]
    quick = signing.digest(
        CHAINS[vector["environment"]],
        request["action"],
        request["nonce"],
        request.get("expiryAfter"),
        request.get("vaultAddress"),
    )
    assert "0x" + quick.hex() == vector["digest"]


def test_the_request_body_is_the_golden_one(vector: dict[str, Any]) -> None:
    request = vector["request"]
    signed = signing.sign(
        request["action"],
        key=key(vector["signer"]),
        chain=CHAINS[vector["environment"]],
        **envelope_fields(request),
    )
    assert json.dumps(signed) == json.dumps(request)
    assert envelope.dump(signed) == json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()


def test_recovery_gives_the_signer(vector: dict[str, Any]) -> None:
    chain = CHAINS[vector["environment"]]
    request = vector["request"]
    parsed = envelope.parse(json.dumps(request).encode())
    assert parsed.type == request["action"]["type"]
    assert signing.recover(parsed, chain) == vector["signerAddress"]
    assert signing.recover(request, chain) == vector["signerAddress"]
    verified = signing.verify(parsed, chain)
    assert (verified.signer, verified.digest.hex()) == (vector["signerAddress"].lower(), vector["digest"][2:])


def test_the_other_chain_gives_another_signer(vector: dict[str, Any]) -> None:
    other = CHAINS["mainnet" if vector["environment"] == "testnet" else "testnet"]
    assert signing.recover(vector["request"], other) != vector["signerAddress"]


def test_the_signer_role_is_the_declared_one(vector: dict[str, Any]) -> None:
    declared = actions.ACTIONS[vector["request"]["action"]["type"]]
    role = {
        "Agent": "agent",
        "Master": "master",
        "Trader master": "master",
        "Builder master": "builderMaster",
        "Builder agent": "builderAgent",
    }[declared.signer]
    assert role == vector["signer"]
    assert key(role).address == document()["addresses"][role] == vector["signerAddress"]
