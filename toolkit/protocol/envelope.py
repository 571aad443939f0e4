"""The request envelope: from the bytes of a POST body to a checked request, and back.

Parsing is strict: unknown fields, wrong types, fields that the action does not carry, duplicate keys and invalid JSON
raise MalformedRequest, which names the path (such as action.orders[0].ordPx). No bytes raise any other error.
Source: docs/published.md, "Exchange API" and "Signatures".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import msgspec

from ..errors import MalformedRequest
from . import jsontext
from .actions import ACTIONS, Action, declaration
from .fields import INT64_MAX, key_text, shown
from .hexbytes import is_address, word_bytes


class Signature(NamedTuple):
    """A recoverable signature.

    Attributes
    ----------
    compact : bytes
        R and s, 64 bytes.
    v : int
        Recovery value, 27 or 28.
    """

    compact: bytes
    v: int

    def to_wire(self) -> dict[str, Any]:
        """Return {r, s, v} as the wire has it: 0x, 64 digits each."""
        return {"r": "0x" + self.compact[:32].hex(), "s": "0x" + self.compact[32:].hex(), "v": self.v}


class Unsigned(NamedTuple):
    """What is signed.

    Attributes
    ----------
    declaration : Action
        Declaration of the action.
    action : dict of str to object
        The action in canonical form.
    nonce : int
        Nonce in Unix ms.
    expiry_after : int or None
        Last time of execution, Unix ms, `None` without end.
    vault_address : str or None
        Vault that it acts for, `None` for none.
    """

    declaration: Action
    action: dict[str, Any]
    nonce: int
    expiry_after: int | None
    vault_address: str | None


class Request(NamedTuple):
    """A well-formed signed request.

    An expiryAfter of 0 is read as `None`, because "no expiry" is signed as 0.

    Attributes
    ----------
    action : dict of str to object
        The action in canonical form.
    type : str
        Type of the action.
    signature : Signature
        Signature of the request.
    nonce : int
        Nonce in Unix ms.
    expiry_after : int or None
        Last time of execution, Unix ms, `None` without end.
    vault_address : str or None
        Vault that it acts for, `None` for none.
    declaration : Action
        Declaration of the action.
    """

    action: dict[str, Any]
    type: str
    signature: Signature
    nonce: int
    expiry_after: int | None
    vault_address: str | None
    declaration: Action


_FIELDS = ("action", "signature", "nonce", "expiryAfter", "vaultAddress")
_KNOWN = frozenset(_FIELDS)
_UNSIGNED_KNOWN = _KNOWN - {"signature"}
_SIGNATURE_FIELDS = frozenset(("r", "s", "v"))
_TIME_MS = "must be Unix milliseconds, a 64-bit whole number of 0 or more"


def parse(body: bytes | str) -> Request:
    """Return the request in a POST body.

    Parameters
    ----------
    body : bytes or str
        JSON in UTF-8.

    Raises
    ------
    MalformedRequest
        If the body is no request. The error names the path, such as action.orders[0].ordPx.
    UnknownAction
        If the type of the action is unknown.
    """
    return read(decode(body))


def read(document: object) -> Request:
    """Return the request in a decoded envelope.

    Parameters
    ----------
    document : object
        Decoded JSON.

    Raises
    ------
    MalformedRequest
        As `parse`.
    UnknownAction
        As `parse`.
    """
    envelope = _known_fields(document, _KNOWN)
    declared, action, nonce, expiry, vault = _content(envelope)
    signature = _signature(envelope)
    return Request(action, declared.type, signature, nonce, expiry, vault, declared)


def read_unsigned(document: object) -> Unsigned:
    """Return the content of an unsigned envelope, the input of `toolkit sign`.

    Parameters
    ----------
    document : object
        Decoded JSON without a signature.

    Raises
    ------
    MalformedRequest
        As `parse`.
    UnknownAction
        As `parse`.
    """
    return _content(_known_fields(document, _UNSIGNED_KNOWN))


def unsigned(action: dict[str, Any], nonce: object, expiry_after: object, vault_address: object) -> Unsigned:
    """Return the content of a request for an action that was checked before, after the rules of the other fields.

    Parameters
    ----------
    action : dict of str to object
        The action on the wire.
    nonce : int
        Nonce in Unix ms.
    expiry_after : int or None
        Last time of execution, Unix ms, `None` without end.
    vault_address : str or None
        Vault that it acts for, `None` for none.

    Raises
    ------
    MalformedRequest
        As `parse`.
    """
    declared = ACTIONS[action["type"]]
    # `type` and not `isinstance`: True is an int in Python, but not in JSON.
    if type(nonce) is not int or not 0 <= nonce <= INT64_MAX:
        _refuse("nonce", f"{_TIME_MS}, got {shown(nonce)}", nonce, "64-bit whole number")
    expiry: int | None = None
    if expiry_after is not None:
        if not declared.expiry:
            said = f"is not carried by {declared.type}. Leave it out"
            _refuse("expiryAfter", said, expiry_after, "carried by the action")
        if type(expiry_after) is not int or not 0 <= expiry_after <= INT64_MAX:
            said = f"{_TIME_MS}, or null, got {shown(expiry_after)}"
            _refuse("expiryAfter", said, expiry_after, "64-bit whole number or null")
        # Signed bytes have 0 for "no expiry", so an expiry of 0 and none at all are one request.
        expiry = expiry_after or None
    if vault_address is None:
        if declared.vault_required:
            _refuse("vaultAddress", f"is missing: {declared.type} acts on the vault named there", rule="required")
        return Unsigned(declared, action, nonce, expiry, None)
    if not declared.vault:
        said = f"is not carried by {declared.type}. Leave it out"
        _refuse("vaultAddress", said, vault_address, "carried by the action")
    if not is_address(vault_address):
        said = f"must be an address: 0x and 40 hex digits, got {shown(vault_address)}"
        _refuse("vaultAddress", said, vault_address, "an address")
    return Unsigned(declared, action, nonce, expiry, str(vault_address))


def dump(envelope: Mapping[str, Any]) -> bytes:
    """Return the request bytes of a signed envelope: compact JSON in UTF-8.

    Parameters
    ----------
    envelope : mapping of str to object
        Envelope with its signature, ready for JSON.
    """
    return msgspec.json.encode(envelope)


def decode(body: bytes | str) -> Any:
    """Return the JSON document in a body, refusing duplicate keys.

    Parameters
    ----------
    body : bytes or str
        JSON in UTF-8.

    Raises
    ------
    MalformedRequest
        If it is no JSON, too deep, or has a key twice.
    """
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    if jsontext.is_deep(raw):
        raise MalformedRequest(str(jsontext.TooDeep()), rule="JSON")
    try:
        document = msgspec.json.decode(raw)
        jsontext.refuse_repeated(raw, document)
    except jsontext.RepeatedKey as error:
        name = key_text(error.key)
        raise MalformedRequest(f"{name}: occurs twice in one object", field=name, rule="unique keys") from None
    except (ValueError, msgspec.MsgspecError) as error:
        said = str(error).encode("ascii", "backslashreplace").decode()
        raise MalformedRequest(f"the body is not valid JSON in UTF-8: {said}", rule="JSON") from None
    return document


def _refuse(field: str, reason: str, value: object = None, rule: str = "", nearest: tuple[str, ...] = ()) -> NoReturn:
    raise MalformedRequest(f"{field}: {reason}", field=field, rule=rule or reason, value=value, nearest=nearest)


def _known_fields(document: object, known: frozenset[str]) -> Mapping[str, Any]:
    """Return a document that is an object without other fields."""
    # Nearly all requests pass here without a loop over their fields.
    if type(document) is dict and document.keys() <= known:
        return document
    if not isinstance(document, Mapping):
        raise MalformedRequest(f"the request must be a JSON object, got {shown(document)}", rule="an object")
    for key in document:
        if key not in known:
            names = tuple(name for name in _FIELDS if name in known)
            said = f"is not a field of the request. The fields are {', '.join(names)}"
            _refuse(key_text(key), said, rule="known field", nearest=names)
    return document


def _content(document: Mapping[str, Any]) -> Unsigned:
    if "action" not in document:
        _refuse("action", "is missing. It must be an object with a type", rule="required")
    payload = document["action"]
    action = declaration(payload, "action").check(payload, "action")
    if "nonce" not in document:
        _refuse("nonce", f"is missing. It {_TIME_MS}", rule="64-bit whole number")
    return unsigned(action, document["nonce"], document.get("expiryAfter"), document.get("vaultAddress"))


def _signature(document: Mapping[str, Any]) -> Signature:
    given = document.get("signature")
    if type(given) is not dict and not isinstance(given, Mapping):
        said = "is missing. It" if "signature" not in document else ""
        wanted = f"{said} must be an object with r, s and v".strip()
        _refuse("signature", wanted if said else f"{wanted}, got {shown(given)}", None, "an object")
    if given.keys() != _SIGNATURE_FIELDS:
        for key in given:
            if key not in _SIGNATURE_FIELDS:
                said = "is not a field of a signature. The fields are r, s, v"
                _refuse(f"signature.{key_text(key)}", said, rule="known field", nearest=("r", "s", "v"))
    return Signature(_word(given, "r") + _word(given, "s"), _recovery_value(given))


def _word(given: Mapping[str, Any], name: str) -> bytes:
    text = given.get(name)
    raw = word_bytes(text) if type(text) is str else None
    if raw is None:
        said = f"got {shown(text)}" if name in given else "and it is missing"
        _refuse(f"signature.{name}", f"must be 32 bytes as 0x and 64 hex digits, {said}", text, "32-byte hex")
    return raw


def _recovery_value(given: Mapping[str, Any]) -> int:
    value = given.get("v")
    if type(value) is not int or value not in (27, 28):
        said = f"got {shown(value)}" if "v" in given else "and it is missing"
        _refuse("signature.v", f"must be 27 or 28, {said}", value, "27 or 28", ("27", "28"))
    return value
