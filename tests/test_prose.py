"""The gate of language: no long sentence, few words of a dialect, few semicolons; and the counter counts right."""

from __future__ import annotations

import ast

import pytest

from tests import prose

GATED = prose.GROUPS
"""The groups that are held below the limits."""


@pytest.mark.parametrize("group", GATED)
def test_a_group_is_written_in_plain_english(group: str) -> None:
    *counts, (_, whole) = prose.table(group)
    assert counts
    long = [f"{name}: {text}" for name, one in counts for kind, text in one.hits if kind.endswith(" words")]
    assert long == []
    assert whole.faults() == []


@pytest.mark.parametrize(
    ("text", "dialect", "semicolons", "long"),
    [
        ("The order is rejected. The venue retries it after every trade.", 0, 0, 0),
        ("It goes on by itself; nobody is told.", 4, 1, 0),
        ("What opens takes its margin.", 1, 0, 0),
        ("What does it cost?", 0, 0, 0),
        ("Only then it is signed.", 1, 0, 0),
        ("By default it takes 20 requests a second.", 1, 0, 0),
        ("The strike price stands for the option's own price.", 0, 0, 0),
        (" ".join(["word"] * 30) + ". End.", 0, 0, 0),
        (" ".join(["word"] * 31) + ".", 0, 0, 1),
        ("`a; b at once` [told](besides.md) <https://nobody.org>", 1, 0, 0),
    ],
    ids=str,
)
def test_words_marks_and_long_sentences_are_counted(text: str, dialect: int, semicolons: int, long: int) -> None:
    counts = prose.Counts()
    for part in prose.of_markdown(text):
        counts.add(part)
    assert (counts.dialect, counts.semicolons, counts.long) == (dialect, semicolons, long)


def test_code_tables_items_and_comments_of_a_page_are_separate_texts() -> None:
    page = "# Head\n\n<!-- told -->\n```python\ntold\n```\n| a | `b` |\n|---|---|\n- one\n  more\n- two\n\nEnd\nhere."
    assert [part.strip() for part in prose.of_markdown(page)] == [
        "Head",
        "a",
        "Code",
        "one\n  more",
        "two",
        "End\nhere.",
    ]


def test_docstrings_and_messages_of_a_module_are_separated() -> None:
    code = '''"""Module words.

>>> told; told
1

price: in USDC
"""
raise ValueError(f"price {price} is not a multiple of {size}")
style = "{color: red; margin: 0 auto 1px}"
'''
    tree = ast.parse(code)
    assert prose.of_module(tree) == {
        "docstrings": ["Module words.", "price: in USDC"],
        "messages": ["price Code is not a multiple of Code"],
    }


def test_types_of_parameters_are_no_prose() -> None:
    text = """Buy it.

    Parameters
    ----------
    price : str; told
        Limit price.
    size, other : {"one"}
        Base units. All
        of it.

    Returns
    -------
    dict
        What was done.

    Notes
    -----
    Words.

    Examples
    --------
    >>> told
    """
    texts = [" ".join(part.split()) for part in prose.of_docstring(text)]
    assert texts == ["Buy it.", "Limit price.", "Base units. All of it.", "What was done.", "Words."]
