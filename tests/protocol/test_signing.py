"""Signing and recovering: equal to eth-account, sensitive to every byte, silent about keys."""

from __future__ import annotations

import copy
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


def changed_text(text: str, at: int) -> str:
    """Return text with one digit changed to another."""
    digits = [index for index, letter in enumerate(text) if letter.isdigit()]
    index = digits[at % len(digits)]
    return text[:index] + str((int(text[index]) + 1) % 10) + text[index + 1 :]


def changed(request: dict[str, Any], what: str, at: int) -> dict[str, Any]:
    """Return the request with one thing changed."""
    other = copy.deepcopy(request)
    if what in ("nonce", "expiryAfter"):
        other[what] = request.get(what, 0) ^ (1 << at % 62)
    elif what == "vaultAddress":
        vault = request.get(what, "0x" + "00" * 20)
        other[what] = "0x" + f"{int(vault, 16) ^ (1 << at % 160):040x}"
    elif what == "v":
        other["signature"]["v"] = 55 - request["signature"]["v"]
    elif what in ("r", "s"):
        other["signature"][what] = "0x" + f"{int(request['signature'][what], 16) ^ (1 << at % 256):064x}"
    else:
        unsigned = {"type", "referralCode"} if request["action"]["type"] == "approveAgent" else {"type"}
        leaves = [(holder, name) for holder, name in walk(other["action"]) if name not in unsigned]
        if leaves:  # faucetClaim has no field to change
            holder, name = leaves[at % len(leaves)]
            holder[name] = other_value(name, holder[name], at)
    return other


def walk(node: Any) -> list[tuple[dict[str, Any], str]]:
    """Return (object, name) of every value in an action."""
    if isinstance(node, list):
        return [leaf for inner in node for leaf in walk(inner)]
    found = []
    for name, value in node.items():
        if isinstance(value, dict | list):
            found += walk(value)
        else:
            found.append((node, name))
    return found


def other_value(name: str, value: Any, at: int) -> Any:
    """Return another value that the field's rule passes."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    pairs = {"BUY": "SELL", "GTC": "FOK", "IOC": "FOK", "FOK": "IOC", "CROSS": "ISOLATED", "ISOLATED": "CROSS"}
    pairs |= {"POST_ONLY": "GTC", "SELL": "BUY", "BUY_CLOSE_HEDGE": "BUY", "SELL_CLOSE_HEDGE": "SELL"}
    pairs |= {"Testnet": "Mainnet", "Mainnet": "Testnet", "REDUCE_ONLY": "TP_FROM_POSITION"}
    pairs |= {"LAST_PRICE": "MARK_PRICE", "MARK_PRICE": "INDEX_PRICE", "INDEX_PRICE": "LAST_PRICE"}
    if value in pairs:
        return pairs[value]
    if name in ("ordType", "reduceOnly", "reduceOnlyOption") or value == "0":
        return value
    return changed_text(value, at) if any(letter.isdigit() for letter in value) else value + "x"


WHAT = st.sampled_from(["action", "nonce", "expiryAfter", "vaultAddress", "r", "s", "v"])


@given(st.sampled_from(vectors()), WHAT, st.integers(0, 10_000))
def test_a_change_of_any_part_gives_another_address(vector: dict[str, Any], what: str, at: int) -> None:
    chain = CHAINS[vector["environment"]]
    request = vector["request"]
    other = changed(request, what, at)
    unsigned = request["action"]["type"] == "faucetClaim" and what == "nonce"
    if other == request or unsigned:
        return
    try:
        signer = signing.recover(other, chain)
    except (BadSignature, MalformedRequest):
        return
    assert signer != vector["signerAddress"]


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


def test_the_malleable_twin_of_a_signature_is_refused() -> None:
    signed = signing.sign(PLACE, key=PrivateKey.from_hex(SECRET), chain=TESTNET_CHAIN, nonce=1)
    twin = copy.deepcopy(signed)
    twin["signature"]["s"] = f"0x{ORDER - int(signed['signature']['s'], 16):064x}"
    twin["signature"]["v"] = 55 - signed["signature"]["v"]
    with pytest.raises(BadSignature, match="malleable"):
        signing.recover(twin, TESTNET_CHAIN)


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
    assert signer != "x"
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


def test_keccak_is_ethereums() -> None:
    assert hexbytes.keccak(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


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


def test_the_signature_is_the_curves() -> None:
    digest = hexbytes.keccak(b"x")
    secret = curve.hold(bytes.fromhex(SECRET))
    assert secret is not None
    compact, recovery_id = curve.sign(secret, digest)
    assert PrivateKey.from_hex(SECRET).sign(digest) == (compact, 27 + recovery_id)
    with pytest.raises(ValueError, match="32 bytes"):
        PrivateKey.from_hex(SECRET).sign(b"short")


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
