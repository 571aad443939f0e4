"""All golden requests come out byte for byte, and recovery gives their signer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocol.golden import CHAINS, envelope_fields, vectors
from toolkit.protocol import actions, codec, signing

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


def test_the_other_chain_gives_another_signer(vector: dict[str, Any]) -> None:
    other = CHAINS["mainnet" if vector["environment"] == "testnet" else "testnet"]
    assert signing.recover(vector["request"], other) != vector["signerAddress"]
