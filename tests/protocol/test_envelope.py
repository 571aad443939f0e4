"""Reading requests: strict, and never anything but MalformedRequest, whatever the bytes are."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol import strategies
from tests.protocol.golden import CHAINS, key, vectors
from toolkit.environments import TESTNET_CHAIN
from toolkit.errors import MalformedRequest, UnknownAction
from toolkit.protocol import envelope, signing
from toolkit.protocol.actions import ACTIONS

REQUEST: dict[str, Any] = vectors()[0]["request"]
VAULT = "0xb80469b84b2d451c62f746b484e61ceb95bd447e"


def refusal(body: Any) -> MalformedRequest:
    """Return the error that parsing raises."""
    with pytest.raises(MalformedRequest) as caught:
        envelope.parse(body if isinstance(body, bytes | str) else json.dumps(body).encode())
    assert str(caught.value).isascii()
    return caught.value


def with_changes(path: str, value: Any) -> dict[str, Any]:
    """Return the request with one place set; `...` takes it out."""
    changed = copy.deepcopy(REQUEST)
    *parents, last = path.split(".")
    holder: Any = changed
    for step in parents:
        holder = holder[int(step)] if step.isdigit() else holder[step]
    at = int(last) if last.isdigit() else last
    if value is ...:
        del holder[at]
    else:
        holder[at] = value
    return changed


CASES: list[tuple[str, Any, str, str]] = [
    ("action", ..., "action", "is missing. It must be an object with a type"),
    ("action", [], "action", "must be an object with a type, got a list of 0"),
    ("action.type", ..., "action.type", "is missing. Use one of placeOrder"),
    ("action.type", 5, "action.type", "must be text, got the number 5"),
    ("action.orders.0.ordPx", 60000, "action.orders[0].ordPx", 'got the number 60000. "60000" would pass'),
    ("action.orders.0.note", 1, "action.orders[0].note", "is not a field here"),
    ("nonce", ..., "nonce", "is missing. It must be Unix milliseconds"),
    ("nonce", None, "nonce", "must be Unix milliseconds, a 64-bit whole number of 0 or more, got null"),
    ("nonce", "5", "nonce", 'got the text "5"'),
    ("nonce", 1.0, "nonce", "got the number 1.0"),
    ("nonce", True, "nonce", "got true"),
    ("nonce", -1, "nonce", "got the number -1"),
    ("nonce", 2**63, "nonce", "got the number 9223372036854775808"),
    ("nonce", 2**70, "nonce", "got the number"),
    ("expiryAfter", "5", "expiryAfter", 'or null, got the text "5"'),
    ("expiryAfter", -5, "expiryAfter", "got the number -5"),
    ("vaultAddress", "0x12", "vaultAddress", 'must be an address: 0x and 40 hex digits, got the text "0x12"'),
    ("vaultAddress", 5, "vaultAddress", "got the number 5"),
    ("extra", 5, "extra", "is not a field of the request. The fields are action, signature, nonce, expiryAfter"),
    ("signature", ..., "signature", "is missing. It must be an object with r, s and v"),
    ("signature", "0x", "signature", 'must be an object with r, s and v, got the text "0x"'),
    ("signature.r", ..., "signature.r", "must be 32 bytes as 0x and 64 hex digits, and it is missing"),
    ("signature.r", "0x12", "signature.r", 'got the text "0x12"'),
    ("signature.s", 5, "signature.s", "got the number 5"),
    ("signature.s", "0x" + "g" * 64, "signature.s", "must be 32 bytes"),
    ("signature.v", ..., "signature.v", "must be 27 or 28, and it is missing"),
    ("signature.v", 0, "signature.v", "must be 27 or 28, got the number 0"),
    ("signature.v", "27", "signature.v", 'got the text "27"'),
    ("signature.v", 27.0, "signature.v", "got the number 27.0"),
    ("signature.w", 5, "signature.w", "is not a field of a signature. The fields are r, s, v"),
]


@pytest.mark.parametrize(("path", "value", "field", "words"), CASES)
def test_the_path_of_an_invalid_field_is_named(path: str, value: Any, field: str, words: str) -> None:
    error = refusal(with_changes(path, value))
    assert error.field == field
    assert words in str(error)
    assert str(error).startswith(f"{field}: ")


def test_null_means_the_same_as_a_missing_field() -> None:
    plain = envelope.parse(json.dumps(REQUEST).encode())
    assert envelope.read({**REQUEST, "expiryAfter": None, "vaultAddress": None}) == plain
    assert envelope.read({**REQUEST, "expiryAfter": 0}) == plain
    assert plain.expiry_after is None


def test_hex_of_signatures_may_come_without_0x() -> None:
    signature = {**REQUEST["signature"]}
    for name in ("r", "s"):
        signature[name] = signature[name][2:].upper()
    assert envelope.read({**REQUEST, "signature": signature}) == envelope.read(REQUEST)
    assert envelope.read(REQUEST).signature.to_wire() == REQUEST["signature"]


@pytest.mark.parametrize("name", sorted(ACTIONS))
@settings(max_examples=5)
@given(data=st.data())
def test_an_envelope_field_that_an_action_does_not_carry_is_refused(name: str, data: st.DataObject) -> None:
    action = ACTIONS[name]
    payload, _ = data.draw(strategies.requests((name,)))
    base = {"action": payload, "signature": REQUEST["signature"], "nonce": 1}
    for field, value, carried in (("expiryAfter", 5, action.expiry), ("vaultAddress", VAULT, action.vault)):
        request = {**base, field: value}
        if action.vault_required:
            request.setdefault("vaultAddress", VAULT)
        if carried:
            assert envelope.read(request).type == name
        else:
            error = refusal(request)
            assert error.field == field
            assert f"is not carried by {name}. Leave it out" in str(error)
    if action.vault_required:
        assert "vaultAddress: is missing" in str(refusal(base))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is not valid JSON"),
        (b"{} {}", "is not valid JSON"),
        (b'{"nonce": NaN}', "is not valid JSON"),
        (b'{"nonce": ' + b"9" * 5000 + b"}", "is not valid JSON"),
        (b'{"a": "\xff"}', "is not valid JSON"),
        (b'{"a": "\\ud800"}', "is not valid JSON"),
        (b"\xef\xbb\xbf{}", "is not valid JSON"),
        ("{}".encode("utf-16"), "is not valid JSON"),
        (b"[" * 100_000, "nested more than 64 deep"),
        (b'{"a":' * 100_000, "nested more than 64 deep"),
        (b'{"action":' + b"[" * 900 + b"]" * 900 + b"}", "nested more than 64 deep"),
        (b'{"a": "' + b"[" * 900 + b'"}', "a: is not a field of the request"),
        (b'{"a": "\\" [[' + b"[" * 900 + b'"}', "a: is not a field of the request"),
        (b'{"a": "' + b'\\"[' * 50_000, "is not valid JSON"),
        (b'{"a": [' + b"[]," * 900 + b"[]]}", "a: is not a field of the request"),
        (b"null", "must be a JSON object, got null"),
        (b"[1]", "must be a JSON object, got a list of 1"),
        (b'"text"', "must be a JSON object"),
        (b'{"nonce": 1, "nonce": 2}', "nonce: occurs twice in one object"),
        (b'{"nonce": 1, "n\\u006fnce": 2}', "nonce: occurs twice in one object"),
        (b'{"a": {"x:y": ":", "b": [{"c": 1, "c": 1}]}}', "c: occurs twice in one object"),
    ],
)
def test_a_body_that_is_not_a_json_object_is_refused(body: bytes, words: str) -> None:
    assert words in str(refusal(body))


def test_duplicate_keys_are_refused_at_every_depth() -> None:
    text = json.dumps(REQUEST)
    for name, value in (("ordPx", '"1"'), ("r", '"0x"'), ("type", '"placeOrder"'), ("nonce", "1")):
        doubled = text.replace(f'"{name}":', f'"{name}": {value}, "{name}":', 1)
        assert f"{name}: occurs twice" in str(refusal(doubled.encode()))


def test_colons_in_texts_are_not_mistaken_for_duplicate_keys() -> None:
    action = {"type": "registerBuilder", "name": 'a:b:"c": ', "dexChain": "Testnet"}
    assert envelope.read({**REQUEST, "action": action}) == envelope.parse(json.dumps({**REQUEST, "action": action}))


def test_an_unknown_action_has_its_own_error() -> None:
    error = refusal(with_changes("action.type", "placeOrders"))
    assert isinstance(error, UnknownAction)
    assert (error.code, error.field) == (40201, "action.type")


def test_unsigned_requests_have_no_signature() -> None:
    with pytest.raises(MalformedRequest) as caught:
        envelope.read_unsigned(REQUEST)
    assert caught.value.field == "signature"
    unsigned = {name: value for name, value in REQUEST.items() if name != "signature"}
    assert envelope.read_unsigned(unsigned).nonce == REQUEST["nonce"]


@given(strategies.requests())
def test_what_is_signed_is_what_is_read(request: tuple[dict[str, Any], dict[str, Any]]) -> None:
    payload, fields = request
    signed = signing.sign(payload, key=key("agent"), chain=TESTNET_CHAIN, **fields)
    parsed = envelope.parse(envelope.dump(signed))
    assert parsed == envelope.read(signed)
    assert (parsed.nonce, parsed.expiry_after, parsed.vault_address) == tuple(fields.values())
    assert parsed.declaration is ACTIONS[payload["type"]]
    assert parsed.action == ACTIONS[payload["type"]].check(payload)
    assert signing.recover(parsed, TESTNET_CHAIN) == key("agent").address


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
PLACES = sorted({path for path, *_ in CASES} | {"action.orders", "action.orders.0", "action.orders.0.clOrdId"})


@given(st.sampled_from(PLACES), JUNK)
def test_junk_in_any_field_is_accepted_or_a_malformed_request(path: str, junk: Any) -> None:
    document = with_changes(path, junk)
    for attempt in (lambda: envelope.read(document), lambda: envelope.parse(json.dumps(document))):
        try:
            assert attempt().type in ACTIONS
        except MalformedRequest as error:
            assert str(error).isascii()  # noqa: PT017


@given(st.binary(max_size=200) | st.text(st.characters(exclude_categories=["Cs"])))
def test_any_bytes_are_a_malformed_request(body: Any) -> None:
    assert refusal(body).code in (40003, 40201)


SIGNED = [one for one in vectors() if one["request"]["action"]["type"] not in ("approveAgent", "faucetClaim")]
"""All of these is signed. A referral code is not, nor the nonce of a claim."""


@settings(max_examples=300)
@given(st.sampled_from(SIGNED), st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_of_a_body_never_keeps_the_signer(vector: dict[str, Any], at: int, mask: int) -> None:
    whole = envelope.dump(vector["request"])
    body = bytearray(whole)
    body[at % len(body)] ^= mask
    try:
        signer = signing.recover(envelope.parse(bytes(body)), CHAINS[vector["environment"]])
    except ValueError:
        return
    only_letter_case_of_hex = bytes(body).lower() == whole.lower()
    assert signer != vector["signerAddress"] or only_letter_case_of_hex
