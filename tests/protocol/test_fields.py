"""Every branch of every rule: what passes, what does not, and how the error reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.errors import MalformedRequest
from toolkit.protocol.fields import (
    INT64_MAX,
    INT64_MIN,
    Address,
    Bool,
    Broken,
    DecimalText,
    EnumName,
    Field,
    Int,
    Items,
    Object,
    Rule,
    Text,
    key_text,
    shown,
)

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
NAMES = EnumName({"BUY": 1, "SELL": 2}, {"ADL": "is display-only and must not be sent"})

PASSES: list[tuple[Rule, Any, Any]] = [
    (Int(), 0, 0),
    (Int(), INT64_MIN, INT64_MIN),
    (Int(), INT64_MAX, INT64_MAX),
    (Int(3, 9), 3, 3),
    (Int(3, 9), 9, 9),
    (Int(or_text=True), "-12", -12),
    (Int(or_text=True), "007", 7),
    (DecimalText(), "0", "0"),
    (DecimalText(), "60000.10", "60000.10"),
    (DecimalText(), "007.5", "007.5"),
    (DecimalText("above zero"), "0.0001", "0.0001"),
    (DecimalText("not zero"), "-25.5", "-25.5"),
    (DecimalText(places=2, minimum=1), "12.50", "12.50"),
    (NAMES, "SELL", "SELL"),
    (Text(), "", ""),
    (Text(1, 3), "建建建", "建建建"),
    (Address(), ADDRESS, ADDRESS),
    (Address(), ADDRESS.lower(), ADDRESS.lower()),
    (Bool(), True, True),
    (Bool(), False, False),
]


@pytest.mark.parametrize(("rule", "value", "canonical"), PASSES, ids=repr)
def test_what_passes_comes_back_canonical(rule: Rule, value: Any, canonical: Any) -> None:
    assert rule.check(value) == canonical
    assert type(rule.check(value)) is type(canonical)


WHOLE = "must be a 64-bit whole number, got "
DECIMAL = "must be decimal text, 0 or more, got "
LEVERAGE = "must be decimal text of at least 1 with at most 2 decimal places, got "
NO_ADDRESS = "must be an address: 0x and 40 hex digits, got "
FAILS: list[tuple[Rule, Any, str]] = [
    (Int(), "5", WHOLE + 'the text "5". 5 would pass'),
    (Int(), 5.0, WHOLE + "the number 5.0. 5 would pass"),
    (Int(), 5.5, WHOLE + "the number 5.5"),
    (Int(), float("nan"), WHOLE + "the number nan"),
    (Int(), True, WHOLE + "true"),
    (Int(), None, WHOLE + "null"),
    (Int(), [], WHOLE + "a list of 0"),
    (Int(), {}, WHOLE + "an object"),
    (Int(), INT64_MAX + 1, WHOLE + "the number 9223372036854775808"),
    (Int(), INT64_MIN - 1, WHOLE + "the number -9223372036854775809"),
    (Int(), 10**5000, WHOLE + "a huge number"),
    (Int(), b"5", WHOLE + "a value of type bytes"),
    (Int(1), 0, "must be a 64-bit whole number of 1 or more, got the number 0"),
    (Int(0), -1, "must be a 64-bit whole number of 0 or more, got the number -1"),
    (Int(0, 9), 10, "must be a whole number from 0 to 9, got the number 10"),
    (Int(or_text=True), "1e3", 'must be a 64-bit whole number (as number or text), got the text "1e3"'),
    (Int(or_text=True), "9223372036854775808", "must be a 64-bit whole number (as number or text)"),
    (Int(or_text=True), "٣", "must be a 64-bit whole number (as number or text)"),
    (DecimalText(), 60000, DECIMAL + 'the number 60000. "60000" would pass'),
    (DecimalText(), 0.001, DECIMAL + 'the number 0.001. "0.001" would pass'),
    (DecimalText(), 1e300, DECIMAL + "the number 1e+300"),
    (DecimalText(), -3, DECIMAL + "the number -3"),
    (DecimalText(), float("inf"), DECIMAL + "the number inf"),
    (DecimalText(), False, DECIMAL + "false"),
    (DecimalText(), "", DECIMAL + 'the text ""'),
    (DecimalText(), "1e5", DECIMAL + 'the text "1e5"'),
    (DecimalText(), "+1", DECIMAL + 'the text "+1"'),
    (DecimalText(), "-1", DECIMAL + 'the text "-1"'),
    (DecimalText(), ".5", DECIMAL + 'the text ".5"'),
    (DecimalText(), "5.", DECIMAL + 'the text "5."'),
    (DecimalText(), " 5", DECIMAL + 'the text " 5"'),
    (DecimalText(), "5\n", DECIMAL + 'the text "5\\n"'),
    (DecimalText(), "1_000", DECIMAL + 'the text "1_000"'),
    (DecimalText(), "٣", DECIMAL),
    (DecimalText(), "NaN", DECIMAL),
    (DecimalText(), "1" * 41, DECIMAL),
    (DecimalText("above zero"), "0.00", 'must be decimal text above 0, got the text "0.00"'),
    (DecimalText("not zero"), "-0", 'must be decimal text other than 0, got the text "-0"'),
    (DecimalText(places=2, minimum=1), "0.5", LEVERAGE + 'the text "0.5". "1" would pass'),
    (DecimalText(places=2, minimum=1), "1.255", LEVERAGE + 'the text "1.255". "1.25" would pass'),
    (NAMES, "buy", 'must be one of BUY, SELL, got the text "buy". BUY would pass'),
    (NAMES, "HOLD", 'must be one of BUY, SELL, got the text "HOLD"'),
    (NAMES, 1, "must be one of BUY, SELL, got the number 1"),
    (NAMES, "ADL", "ADL is display-only and must not be sent. Use one of BUY, SELL"),
    (Text(1), "", 'must be text of 1 to 256 characters, got the text ""'),
    (Text(maximum=2), "abc", 'must be text of at most 2 characters, got the text "abc"'),
    (Text(), 5, "must be text of at most 256 characters, got the number 5"),
    (Text(), "\ud800", 'must be valid Unicode, got the text "\\ud800"'),
    (Address(), ADDRESS[2:], NO_ADDRESS),
    (Address(), ADDRESS + "0", NO_ADDRESS),
    (Address(), "0x" + "g" * 40, NO_ADDRESS),
    (Address(), 5, NO_ADDRESS + "the number 5"),
    (Bool(), 1, "must be true or false, got the number 1"),
    (Bool(), "true", 'must be true or false, got the text "true"'),
    (Rule(), 1, "no rule accepts the number 1"),
]


@pytest.mark.parametrize(
    ("rule", "value", "words"), FAILS, ids=lambda part: part.accepts if isinstance(part, Rule) else shown(part)[:40]
)
def test_what_fails_says_rule_value_and_what_would_pass(rule: Rule, value: Any, words: str) -> None:
    with pytest.raises(Broken) as caught:
        rule.check(value)
    assert caught.value.reason.startswith(words)
    assert caught.value.rule
    if words[-1] not in " )":
        assert caught.value.reason == words


ITEM = Object(
    (
        Field("code", Int(1), 1, required=True),
        Field("side", NAMES, 2, alias="direction"),
        Field("inner", Object((Field("inner", Int(), 1),)), 3),
    ),
    advice={"price": "is named code here"},
)
OUTER = Object((Field("items", Items(ITEM, 1, 2), 1, required=True),))


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        (5, "", "must be an object, got the number 5"),
        ({}, "items", "is missing. It must be a list of 1 to 2 objects"),
        ({"items": {}}, "items", "must be a list of 1 to 2 objects, got an object"),
        ({"items": {"code": 1}}, "items", "must be a list of 1 to 2 objects, got an object"),
        ({"items": []}, "items", "must be a list of 1 to 2 objects, got a list of 0"),
        ({"items": [{"code": 1}] * 3}, "items", "must be a list of 1 to 2 objects, got a list of 3"),
        ({"items": [1]}, "items[0]", "must be an object, got the number 1"),
        ({"items": [{"code": 1}, {}]}, "items[1].code", "is missing. It must be a 64-bit whole number of 1 or more"),
        ({"items": [{"code": 1, "x": 2}]}, "items[0].x", "is not a field here. The fields are code, side, inner"),
        ({"items": [{"code": 1, "price": 2}]}, "items[0].price", "is named code here"),
        ({"items": [{"code": 1, "inner": {"inner": "a"}}]}, "items[0].inner.inner", WHOLE + 'the text "a"'),
        (
            {"items": [{"code": 1, "inner": {"zz": 1}}]},
            "items[0].inner.zz",
            "is not a field here. The fields are inner",
        ),
        (
            {"items": [{"code": 1, "side": "BUY", "direction": "SELL"}]},
            "items[0].direction",
            'side and its alias direction differ (the text "BUY" and the text "SELL"). Give one of them',
        ),
        (
            {"items": [{"code": 1, "direction": "SELL", "side": "BUY"}]},
            "items[0].side",
            'side and its alias direction differ (the text "SELL" and the text "BUY"). Give one of them',
        ),
        ({"items": [{"code": 1, "a b": 2}]}, 'items[0].the text "a b"', "is not a field here"),
        ({"items": [{"code": 1, 7: 2}]}, "items[0].the number 7", "is not a field here"),
    ],
)
def test_errors_carry_the_whole_path(value: Any, path: str, words: str) -> None:
    with pytest.raises(Broken) as caught:
        OUTER.check(value)
    error = caught.value.error()
    assert isinstance(error, MalformedRequest)
    assert error.field == path
    assert str(error).startswith(f"{path}: {words}" if path else words)
    prefixed = caught.value.error(prefix="action")
    assert prefixed.field == (f"action.{path}" if path else "action")


def test_an_alias_gets_its_first_name_and_may_repeat_the_same_value() -> None:
    assert ITEM.check({"code": 1, "direction": "BUY"}) == {"code": 1, "side": "BUY"}
    assert ITEM.check({"code": 1, "direction": "BUY", "side": "BUY"}) == {"code": 1, "side": "BUY"}


def test_a_list_may_be_a_tuple_and_may_have_no_upper_bound() -> None:
    assert Items(ITEM).check(({"code": 1},)) == [{"code": 1}]
    assert Items(ITEM).accepts == "a list of at least 1 objects"


def test_protobuf_names_follow_the_json_names() -> None:
    assert Field("symbolCode", Int()).proto_name == "symbol_code"
    assert Field("tpslTriggerType", NAMES).proto_name == "tpsl_trigger_type"
    assert Field("cancels", Int(), proto="orders").proto_name == "orders"


def test_shown_values_are_short_and_printable() -> None:
    assert shown("x" * 60) == 'the text "' + "x" * 60 + '"'
    assert shown("x" * 61) == 'the text "' + "x" * 57 + '..."'
    assert (shown(10**40 - 1), shown(10**40)) == (f"the number {10**40 - 1}", "a huge number")
    assert shown(2.5) == "the number 2.5"
    assert key_text("ordPx") == "ordPx"
    assert key_text("\ud800") == 'the text "\\ud800"'


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=5), inner),
    max_leaves=8,
)


@given(st.sampled_from([rule for rule, *_ in FAILS] + [OUTER]), ANYTHING)
def test_a_rule_accepts_a_value_or_explains_in_printable_text(rule: Rule, value: Any) -> None:
    message = ""
    canonical = None
    try:
        canonical = rule.check(value)
    except Broken as broken:
        message = str(broken.error(prefix="action"))
    assert message.isascii()
    assert message or rule.check(canonical) == canonical
