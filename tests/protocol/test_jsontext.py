"""JSON from outside never ends the process, however deep it is and whatever the recursion limit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.protocol import jsontext

HOSTILE = [b"[" * 200_000, b'{"a":' * 100_000, b'[{"a":' * 60_000, b"[" * 200_000 + b"]" * 200_000]


@pytest.mark.parametrize("body", HOSTILE, ids=["lists", "objects", "mixed", "closed"])
def test_deep_nesting_is_refused_even_under_a_high_recursion_limit(body: bytes) -> None:
    code = (
        "import sys; sys.setrecursionlimit(1_000_000)\n"
        "from toolkit.protocol import jsontext\n"
        "try: jsontext.decode(sys.stdin.buffer.read())\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=body, capture_output=True, check=True, timeout=60)
    assert b"nested more than 64 deep" in done.stdout


def test_brackets_inside_texts_do_not_count() -> None:
    document = {"note": "[" * 500, "more": '"[{' * 100}
    assert not jsontext.is_deep(json.dumps(document).encode())
    assert jsontext.decode(json.dumps(document)) == document


@given(st.integers(1, 400))
def test_a_document_is_deep_when_it_nests_clearly_beyond_the_limit(depth: int) -> None:
    raw = b"[" * depth + b"]" * depth
    assert jsontext.is_deep(raw) == (depth > jsontext.MAX_DEPTH + jsontext.MAX_DEPTH // 2)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_what_is_not_deep_decodes_as_json_does(document: object) -> None:
    assert jsontext.decode(json.dumps(document)) == document


def test_only_a_high_recursion_limit_needs_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = b"[" * 200 + b"]" * 200
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: 1_000)
    assert jsontext.decode(raw)
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: 1_000_000)
    for read in (jsontext.decode, jsontext.count_rows):
        with pytest.raises(jsontext.TooDeep):
            read(raw)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"data": null, "data": null}', "data"), ('{"a": 1, "a": 12}', "a"), ('{"a": 12, "a": 1}', "a"),
        ('{"data": {"b": [], "c": 1, "b": []}}', "b"), ('{"a" : 1 ,"b":2, "a" : 1 }', "a"),
        ('[{"b": 1}, {"a": 1, "a": 1}]', "a"), ('{"data": {"items": [[{"c": {"a": 1, "\\u0061": 2}}]]}}', "a"),
        ('{"a": 1, "b": 2}', ""), ('{"data": {"a": 1}, "a": 1}', ""), ('{"data": [{"a": 1, "b": 1}]}', ""),
        ('{"a": "b:c", "d": "{\\":{"}', ""), ('{"a": "{", "b": [{"c": 1}]}', ""),
    ],
)  # fmt: skip
def test_a_key_that_is_there_twice_is_named_also_with_the_same_value(text: str, key: str) -> None:
    if not key:
        assert jsontext.decode(text)
        return
    with pytest.raises(jsontext.RepeatedKey, match=f"'{key}'|{key}"):
        jsontext.decode(text)
