"""Docstrings of methods that are made from declarations, in the form of the others: numpydoc."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

WIDTH = 112
"""Longest line: with the indent of a method, as in the rest of the code."""


def section(title: str, entries: Iterable[list[str]]) -> list[str]:
    """Return the lines of a section, after an empty one.

    Parameters
    ----------
    title : str
        Title, such as "Parameters".
    entries : iterable of list of str
        Lines of its entries.
    """
    return ["", title, "-" * len(title), *(line for entry in entries for line in entry)]


def described(head: str, text: str, items: Iterable[str] = ()) -> list[str]:
    """Return the lines of an entry.

    Parameters
    ----------
    head : str
        First line: a type, or a name and its type.
    text : str
        Description. It gets a capital and a full stop here.
    items : iterable of str, optional
        List below the description (default: none).
    """
    text = f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', ':')) else '.'}"
    lines = [head, *_wrapped(text, "    ")]
    listed = [line for item in items for line in _wrapped(f"- {item}", "    ", "      ")]
    return [*lines, "", *listed] if listed else lines


def parameter(name: str, annotation: str, text: str, *, optional: bool, items: Iterable[str] = ()) -> list[str]:
    """Return the lines of a parameter.

    Parameters
    ----------
    name : str
        Name of the parameter.
    annotation : str
        Its annotation, such as 'Literal["BUY", "SELL"] | int | None'.
    text : str
        Description, see `described`.
    optional : bool
        Whether it has a default.
    items : iterable of str, optional
        List below the description (default: none).

    Examples
    --------
    >>> parameter("side", 'Literal["BUY", "SELL"] | int | None', "side of the order", optional=True)
    ['side : {"BUY", "SELL"} or int, optional', '    Side of the order.']
    """
    words = re.sub(r"Literal\[([^]]*)\]", r"{\1}", annotation)
    words = re.sub(r" \| Sequence\[.*\]", " | sequence of these", words).replace("Mapping[str, Any]", "mapping")
    kinds = [kind for kind in words.split(" | ") if kind != "None"]
    said = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
    return described(f"{name} : {said}{', optional' if optional else ''}", text, items)


def _wrapped(text: str, first: str, further: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=further or first,
        break_long_words=False,
        break_on_hyphens=False,
    )
