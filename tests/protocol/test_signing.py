"""Signing and recovering: equal to eth-account, sensitive to every byte, silent about keys."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import traceback
from types import MappingProxyType
from typing import Any

import pytest
from Crypto.Hash import keccak
from hypothesis import given
from hypothesis import strategies as st

from tests.protocol import strategies
from tests.protocol.golden import CHAINS, key, vectors
from toolkit import ethereum
from toolkit.environments import MAINNET_CHAIN, TESTNET_CHAIN, Chain
from toolkit.errors import BadSignature, MalformedRequest, WalletError
from toolkit.protocol import curve, envelope, hexbytes, signing
from toolkit.protocol.signing import PrivateKey

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SECRET = "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
PLACE = {
    "type": "placeOrder",
    "orders": [
        {
            "symbolCode": 1,
            "ordPx": "60000",
            "ordQty": "0.01",
            "ordType": "LIMIT",
            "ordSide": "BUY",
            "timeInForce": "GTC",
        }
    ],
}


def by_eth_account(explained: signing.Explained, secret: bytes) -> Any:
    """Return what eth-account signs for the explained typed data."""
    eth_account = pytest.importorskip("eth_account", reason=ethereum.MISSING)
    document = eth_account.messages.encode_typed_data(full_message=explained.typed_data)
    return eth_account.Account.sign_message(document, secret)


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["name"])
def test_golden_requests_are_what_eth_account_signs(vector: dict[str, Any]) -> None:
    request = vector["request"]
    chain = CHAINS[vector["environment"]]
    explained = signing.explain(
        request["action"], chain, request["nonce"], request.get("expiryAfter"), request.get("vaultAddress")
    )
    reference = by_eth_account(explained, key(vector["signer"]).reveal())
    assert bytes(reference.message_hash) == explained.digest
    assert f"0x{reference.r:064x}" == request["signature"]["r"]
    assert f"0x{reference.s:064x}" == request["signature"]["s"]
    assert reference.v == request["signature"]["v"]


@given(strategies.requests(), st.integers(1, ORDER - 1), st.integers(1, 2**31), st.sampled_from("ab"))
def test_any_request_is_what_eth_account_signs(
    request: tuple[dict[str, Any], dict[str, Any]], secret: int, chain_id: int, source: Any
) -> None:
    payload, fields = request
    chain = Chain(chain_id, source, "Testnet")
    signer = PrivateKey(secret.to_bytes(32, "big"))
    signed = signing.sign(payload, key=signer, chain=chain, **fields)
    reference = by_eth_account(signing.explain(payload, chain, **fields), signer.reveal())
    assert signed["signature"] == {"r": f"0x{reference.r:064x}", "s": f"0x{reference.s:064x}", "v": reference.v}
    assert signing.recover(json.loads(envelope.dump(signed)), chain) == signer.address
    assert signer.address == pytest.importorskip("eth_account").Account.from_key(signer.reveal()).address


@pytest.mark.parametrize(
    ("r", "s", "field"),
    [
        (1, ORDER - 1, "signature.s"),
        (1, curve.HALF_ORDER + 1, "signature.s"),
        (1, 2**256 - 1, "signature.s"),
        (0, 1, "signature"),
        (1, 0, "signature"),
        (ORDER, 1, "signature"),
        (2**256 - 1, 1, "signature"),
        (5, 1, "signature"),
    ],
)
def test_signatures_without_a_signer_are_refused(r: int, s: int, field: str) -> None:
    request = {
        "action": PLACE,
        "signature": {"r": f"0x{r:064x}", "s": f"0x{s:064x}", "v": 27},
        "nonce": 1,
    }
    with pytest.raises(BadSignature) as caught:
        signing.recover(request, TESTNET_CHAIN)
    assert caught.value.code == 40204
    assert caught.value.field == field


def test_signing_refuses_obvious_mistakes() -> None:
    signer = PrivateKey.from_hex(SECRET)
    with pytest.raises(MalformedRequest, match=r"action\.dexChain: must be Testnet for this environment"):
        signing.sign({"type": "revokeAgentToBuilder", "dexChain": "Mainnet"}, key=signer, chain=TESTNET_CHAIN, nonce=1)
    with pytest.raises(MalformedRequest, match="faucetClaim exists on Testnet only"):
        signing.sign({"type": "faucetClaim"}, key=signer, chain=MAINNET_CHAIN, nonce=1)
    mistyped = ADDRESS.replace("C7d0", "c7d0")
    with pytest.raises(MalformedRequest, match="break the EIP-55 checksum") as caught:
        signing.sign(
            {"type": "withdraw", "destination": mistyped, "amount": "5"}, key=signer, chain=TESTNET_CHAIN, nonce=1
        )
    assert caught.value.field == "action.destination"


def test_withdraw_signs_both_forms_and_they_differ() -> None:
    old = {"type": "withdraw", "destination": ADDRESS, "amount": "5"}
    new = {**old, "withdrawSequence": 7}
    explained = [signing.explain(payload, TESTNET_CHAIN, 1) for payload in (old, new)]
    names = [[entry["name"] for entry in one.typed_data["types"]["Withdraw"]] for one in explained]
    assert names[0] == ["dexChain", "destination", "amount", "nonce", "expiryAfter"]
    assert names[1] == ["dexChain", "destination", "amount", "withdrawSequence", "nonce", "expiryAfter"]
    assert explained[0].digest != explained[1].digest
    for payload in (old, new):
        signer = PrivateKey.from_hex(SECRET)
        signed = signing.sign(payload, key=signer, chain=TESTNET_CHAIN, nonce=1)
        assert signing.recover(signed, TESTNET_CHAIN) == signer.address


def test_eth_account_serves_the_typed_data_of_masters_and_is_not_loaded_for_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages = pytest.importorskip("eth_account.messages", reason=ethereum.MISSING)
    encode_typed_data = messages.encode_typed_data
    served: list[str] = []

    def encode(*, full_message: dict[str, Any]) -> Any:
        served.append(full_message["primaryType"])
        return encode_typed_data(full_message=full_message)

    monkeypatch.setattr(messages, "encode_typed_data", encode)
    signing.explain({"type": "withdraw", "destination": ADDRESS, "amount": "5"}, TESTNET_CHAIN, 1)
    signing.explain(PLACE, TESTNET_CHAIN, 1)
    assert served == ["Withdraw"]


def test_an_expiry_of_zero_is_none() -> None:
    signer = PrivateKey.from_hex(SECRET)
    signed = [signing.sign(PLACE, key=signer, chain=TESTNET_CHAIN, nonce=1, expiry_after=at) for at in (None, 0)]
    assert signed[0] == signed[1]
    assert "expiryAfter" not in signed[0]


def test_a_cancel_signs_the_same_bytes_with_numbers_and_text() -> None:
    forms = [{"symbolCode": code, "ordId": number} for code in (1, "1") for number in (12, "12")]
    digests = {
        signing.digest(TESTNET_CHAIN, {"type": "cancelOrder", "cancels": [form]}, nonce=1, vault=None) for form in forms
    }
    assert len(digests) == 1


ZERO = "0x" + "0" * 40
MASTERS = {"type": "withdraw", "destination": ADDRESS, "amount": "5"}


@pytest.mark.parametrize("payload", [PLACE, MASTERS], ids=["agent", "master"])
def test_each_usual_mistake_of_a_client_is_named_by_what_differs(payload: dict[str, Any]) -> None:
    agents = payload is PLACE
    explained = signing.explain(payload, TESTNET_CHAIN, 5)
    domains = {name: signing.explain(each, TESTNET_CHAIN, 5).typed_data["domain"]["name"] for name, each in (
        (True, PLACE), (False, MASTERS))}  # fmt: skip
    contract = explained.typed_data["domain"]["verifyingContract"]
    source = {"source": "a"} if agents else {"dexChain": "Mainnet"}
    changes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"chainId": 42161}, {}), ({"verifyingContract": ZERO}, {}), ({"name": domains[not agents]}, {}),
        ({"verifyingContract": ZERO, "chainId": 42161}, {}),
        ({"verifyingContract": ZERO, "name": domains[not agents]}, {}),
    ]  # fmt: skip
    changes += [({}, source), ({"chainId": 42161}, source), ({"verifyingContract": ZERO}, source)]
    body = signing.sign(payload, key=PrivateKey.from_hex(SECRET), chain=TESTNET_CHAIN, nonce=5)
    for domain, message in changes:
        typed = copy.deepcopy(explained.typed_data)
        typed["domain"] |= domain
        typed["message"] |= message
        signed = by_eth_account(dataclasses.replace(explained, typed_data=typed), bytes.fromhex(SECRET))
        fields = {"r": f"0x{signed.r:064x}", "s": f"0x{signed.s:064x}", "v": signed.v}
        request = envelope.parse(json.dumps({**body, "signature": fields}))
        verified = signing.verify(request, TESTNET_CHAIN)
        signer = PrivateKey.from_hex(SECRET).address.lower()
        assert verified.signer != signer
        (found,) = [each for each in signing.alternatives(request, verified, TESTNET_CHAIN) if each.signer == signer]
        usual = {
            "verifyingContract": contract,
            "chainId": TESTNET_CHAIN.chain_id,
            "source": "b",
            "dexChain": "Testnet",
            "domain": domains[agents],
        }
        names = [name for name in usual if name in {"domain" if name == "name" else name for name in domain | message}]
        named = {("domain" if name == "name" else name): value for name, value in (domain | message).items()}
        assert found.theirs == ", ".join(f"{name} {named[name]}" for name in names)
        assert found.own == ", ".join(f"{name} {usual[name]}" for name in names)


def test_a_key_never_shows_itself() -> None:
    secret = bytes.fromhex(SECRET)
    signer = PrivateKey(secret)
    shows = [repr(signer), str(signer), f"{signer}", f"{signer!r}", str([signer]), str({"k": signer})]
    assert all(SECRET not in text and signer.address in text for text in shows)
    for attempt in (
        lambda: pickle.dumps(signer),
        lambda: json.dumps(signer),
        lambda: vars(signer),
        lambda: signer.__getstate__(),
        lambda: signer.__reduce__(),
    ):
        with pytest.raises(TypeError) as caught:
            attempt()
        assert SECRET not in str(caught.value)
    assert copy.copy(signer) is signer
    assert copy.deepcopy(signer) is signer
    assert signer == PrivateKey(secret)
    assert signer not in ("x", PrivateKey(bytes(31) + b"\1"))
    assert len({signer, PrivateKey(secret)}) == 1
    assert signer.reveal() == secret


@pytest.mark.parametrize(
    "text", ["", "xyz", "0x12", SECRET + "00", "0x" + "00" * 32, f"{ORDER:064x}", "f" * 64, "建" * 64]
)
def test_the_error_for_a_bad_key_does_not_contain_it(text: str) -> None:
    with pytest.raises(WalletError) as caught:
        PrivateKey.from_hex(text)
    whole = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    frames = [frame for frame in whole.stack if frame.filename == signing.__file__]
    assert frames
    for frame in frames:
        assert not text or all(text not in value for value in (frame.locals or {}).values())
    assert caught.value.__context__ is None


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", f"  0x{SECRET}\n")
    assert PrivateKey.from_env("SOME_KEY").reveal().hex() == SECRET
    monkeypatch.setenv("SOME_KEY", SECRET[:-1])
    with pytest.raises(WalletError, match="SOME_KEY holds no usable key") as caught:
        PrivateKey.from_env("SOME_KEY")
    assert SECRET[:-1] not in str(caught.value)
    monkeypatch.delenv("SOME_KEY")
    with pytest.raises(WalletError, match="SOME_KEY is not set"):
        PrivateKey.from_env("SOME_KEY")
    with pytest.raises(WalletError, match="the name of an environment variable") as caught:
        PrivateKey.from_env(f"0x{SECRET}")
    assert SECRET not in str(caught.value)


@given(st.binary(max_size=300))
def test_both_keccaks_agree(data: bytes) -> None:
    assert hexbytes.keccak(data) == keccak.new(digest_bits=256, data=data).digest()


@given(st.binary(min_size=20, max_size=20))
def test_checksums_are_those_of_eth_account(raw: bytes) -> None:
    from eth_utils import to_checksum_address

    text = hexbytes.checksummed(raw)
    assert text == to_checksum_address(raw)
    assert hexbytes.to_checksummed(text.lower()) == text
    assert not hexbytes.has_wrong_checksum(text)
    assert not hexbytes.has_wrong_checksum(text.lower())
    flipped = text[:2] + text[2:].swapcase()
    assert hexbytes.has_wrong_checksum(flipped) == (flipped[2:] not in (text[2:].lower(), text[2:].upper()))


def test_address_bytes_need_an_address() -> None:
    for bad in ("", "0x12", ADDRESS + "0", ADDRESS[2:]):
        with pytest.raises(ValueError, match="40 hex digits"):
            hexbytes.to_checksummed(bad)


def test_an_envelope_does_not_change_with_its_payload() -> None:
    signer = PrivateKey.from_hex(SECRET)
    cancel = {"type": "cancelOrder", "cancels": ({"ordId": "12", "symbolCode": "1"},)}
    for payload in (copy.deepcopy(PLACE), cancel, MappingProxyType(copy.deepcopy(PLACE))):
        signed = signing.sign(payload, key=signer, chain=TESTNET_CHAIN, nonce=1)
        before = envelope.dump(signed)
        items = payload.get("orders") or payload["cancels"]
        items[0]["symbolCode"] = 9
        assert envelope.dump(signed) == before
        assert signing.recover(json.loads(before), TESTNET_CHAIN) == signer.address


def test_the_constructor_takes_32_bytes_only() -> None:
    for secret in (b"", b"1" * 31, b"1" * 33, "1" * 32, None):
        with pytest.raises(WalletError, match="32 bytes"):
            PrivateKey(secret)  # type: ignore[arg-type]


def test_s_at_half_of_the_order_is_still_low() -> None:
    for s, low in ((curve.HALF_ORDER, True), (curve.HALF_ORDER + 1, False)):
        signature = {"r": f"0x{1:064x}", "s": f"0x{s:064x}", "v": 27}
        request = {"action": PLACE, "signature": signature, "nonce": 1}
        if low:
            assert signing.recover(request, TESTNET_CHAIN).startswith("0x")
        else:
            with pytest.raises(BadSignature, match="malleable"):
                signing.recover(request, TESTNET_CHAIN)
    assert 2 * curve.HALF_ORDER + 1 == curve.ORDER == ORDER


@pytest.mark.parametrize(
    ("chain", "r"),
    [
        (TESTNET_CHAIN, "0xd7ec2533ffc4cd2ad68448d7db4fe644083f1f0ab76e6e88c5f4eafd137acbf0"),
        (MAINNET_CHAIN, "0x9579a33a1ac478a622032338bba7822dfb7794817c14125234f9704ab3c28fef"),
    ],
    ids=["testnet", "mainnet"],
)
@pytest.mark.parametrize("expiry", [None, 1_760_476_260_000])
def test_a_transfer_is_signed_as_it_is_published(chain: Chain, r: str, expiry: int | None) -> None:
    """The document is written by hand, and eth-account encodes and signs it."""
    messages = pytest.importorskip("eth_account.messages", reason=ethereum.MISSING)
    fields = (("dexChain", "string"), ("to", "address"), ("amount", "string"), ("nonce", "uint64"))
    domain = (("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address"))
    types = {"EIP712Domain": domain, "UsdTransfer": (*fields, ("expiryAfter", "uint64"))}
    nonce = 1_760_476_200_123
    document = {
        "types": {kind: [{"name": name, "type": of} for name, of in pairs] for kind, pairs in types.items()},
        "primaryType": "UsdTransfer",
        "domain": {
            "name": "SignTransaction",
            "version": "1",
            "chainId": chain.chain_id,
            "verifyingContract": "0x0100000000000000000000000000000000000001",
        },
        "message": {
            "dexChain": chain.dex_chain, "to": ADDRESS, "amount": "12.50", "nonce": nonce, "expiryAfter": expiry or 0,
        },
    }  # fmt: skip
    reference = pytest.importorskip("eth_account").Account.sign_message(
        messages.encode_typed_data(full_message=document), SECRET
    )
    payload = {"type": "usdSend", "to": ADDRESS, "amount": "12.50"}
    signer = PrivateKey.from_hex(SECRET)
    signed = signing.sign(payload, key=signer, chain=chain, nonce=nonce, expiry_after=expiry)
    assert signed["signature"] == {"r": f"0x{reference.r:064x}", "s": f"0x{reference.s:064x}", "v": reference.v}
    assert signing.recover(signed, chain) == signer.address
    if expiry:
        assert signed["signature"]["r"] == r
    mistyped = ADDRESS.replace("C7d0", "c7d0")
    with pytest.raises(MalformedRequest, match=r"action\.to: .*break the EIP-55 checksum"):
        signing.sign({**payload, "to": mistyped}, key=signer, chain=chain, nonce=nonce)
