"""Random valid actions, made from the declarations themselves."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from toolkit.protocol.actions import ACTIONS, Action
from toolkit.protocol.fields import INT64_MAX, Address, Bool, DecimalText, EnumName, Int, Items, Object, Rule, Text

ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())
WHOLE = st.integers(0, 10**12)


def _decimals(rule: DecimalText) -> st.SearchStrategy[str]:
    places = 8 if rule.places is None else rule.places
    least = rule.minimum if rule.minimum is not None else (0 if rule.sign == "zero or more" else 1)
    fraction = st.text("0123456789", max_size=places).map(lambda digits: f".{digits}" if digits else "")
    text = st.builds(lambda whole, part: f"{whole}{part}", st.integers(least, 10**9), fraction)
    if rule.sign == "not zero":
        return st.builds(lambda minus, rest: minus + rest, st.sampled_from(["", "-"]), text)
    return text


def values(rule: Rule) -> st.SearchStrategy[Any]:
    """Return values that pass a rule."""
    if isinstance(rule, Int):
        numbers = st.integers(rule.minimum, rule.maximum)
        return st.one_of(numbers, numbers.map(str)) if rule.or_text else numbers
    if isinstance(rule, DecimalText):
        return _decimals(rule)
    if isinstance(rule, EnumName):
        return st.sampled_from(sorted(rule.numbers))
    if isinstance(rule, Text):
        return st.text(st.characters(exclude_categories=["Cs"]), min_size=rule.minimum, max_size=min(rule.maximum, 140))
    if isinstance(rule, Address):
        return ADDRESSES
    if isinstance(rule, Bool):
        return st.booleans()
    if isinstance(rule, Object):
        return objects(rule)
    assert isinstance(rule, Items)
    return st.lists(objects(rule.item), min_size=rule.minimum, max_size=rule.maximum or 3)


def objects(shape: Object) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects that pass a shape; its whole-object checks are met by construction."""
    required = {entry.name: values(entry.rule) for entry in shape.fields if entry.required}
    optional = {entry.name: values(entry.rule) for entry in shape.fields if not entry.required}
    return st.fixed_dictionaries(required, optional=optional).map(_made_whole)


def _made_whole(item: dict[str, Any]) -> dict[str, Any]:
    if "ordType" in item:
        market = item["ordType"].endswith("MARKET")
        item["ordPx"] = "0" if market else item["ordPx"] if item["ordPx"].strip("0.") else "1"
    names = set(item)
    if names == {"symbolCode"}:
        item["ordId"] = 1
    if item.get("ordId") in (0, "0"):
        item["ordId"] = 1
    if item.get("clOrdId") in (0, "0", "-0"):
        item["clOrdId"] = 7
    if "orders" in item and len(item["orders"]) > 1 and item["type"].endswith("BracketOrder"):
        _make_bracket(item["orders"])
    if item.get("type") == "replaceOrder" and not names & {"ordId", "clOrdId"}:
        item["clOrdId"] = 9
    return item


def _make_bracket(orders: list[dict[str, Any]]) -> None:
    orders[0].pop("reduceOnly", None)
    kinds = ["TP_FROM_POSITION", "SL_FROM_POSITION"]
    if orders[1].get("reduceOnly") == "SL_FROM_POSITION":
        kinds.reverse()
    for item, kind in zip(orders[1:], kinds, strict=False):
        item["reduceOnly"] = kind


def payloads(action: Action) -> st.SearchStrategy[dict[str, Any]]:
    """Return valid payloads of an action."""
    return objects(action.shape)


@st.composite
def requests(draw: st.DrawFn, kinds: tuple[str, ...] = tuple(ACTIONS)) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a payload and keyword arguments (nonce, expiry_after, vault_address) that fit its action."""
    action = ACTIONS[draw(st.sampled_from(kinds))]
    payload = draw(payloads(action))
    if "dexChain" in payload:
        payload["dexChain"] = "Testnet"
    return payload, {
        "nonce": draw(st.integers(0, INT64_MAX)),
        "expiry_after": draw(st.none() | st.integers(1, INT64_MAX)) if action.expiry else None,
        "vault_address": draw(ADDRESSES if action.vault_required else st.none() | ADDRESSES) if action.vault else None,
    }
