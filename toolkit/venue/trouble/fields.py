"""Checks of the fields of troubles. Each raises InputError with the field, its value and what would pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from ...errors import InputError
from ...guards import check_address
from ...numerals import milliseconds
from ...protocol.hexbytes import is_address

Check = Callable[[Any, str], None]
"""Raises InputError for a value of a field with this name that would not pass."""


def refuse(value: object, name: str, rule: str, wanted: str, *nearest: str) -> InputError:
    """Return the error for a field: its name, its value, and what would pass.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    rule : str
        Name of the broken rule.
    wanted : str
        What would pass, in words.
    *nearest : str
        Values that would pass.
    """
    return InputError(f"{name} is {value!r}. Give {wanted}", field=name, rule=rule, value=value, nearest=nearest)


def span(value: Any, name: str) -> None:
    """Check a span of time of 1 ms or more.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    """
    if milliseconds(value, name) < 1:
        raise refuse(value, name, "above 0", 'a span above 0, such as "2s"', "2s")


def moment(value: Any, name: str) -> None:
    """Check a span of time from 0 on.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    """
    milliseconds(value, name)


def ratio(value: Any, name: str) -> None:
    """Check a share above 0 and at most 1.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise refuse(value, name, "0 to 1", "a share above 0 and at most 1, such as 0.2", "0.2", "1")


def text(value: Any, name: str) -> None:
    """Check a text that is not empty.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    """
    if not isinstance(value, str) or not value or not value.isprintable():
        raise refuse(value, name, "text", "a text that is not empty")


def named(value: Any, name: str) -> None:
    """Check a text, which may be empty.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    """
    if value != "":
        text(value, name)


def flag(value: Any, name: str) -> None:
    """Check a truth value.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    """
    if not isinstance(value, bool):
        raise refuse(value, name, "flag", "true or false (True or False in Python)", "true", "false")


def address(value: Any, name: str) -> None:
    """Check an address.

    Parameters
    ----------
    value : object
        Value as given.
    name : str
        Name of the field.
    """
    if not isinstance(value, str) or not is_address(value):
        raise refuse(value, name, "address", "an address: 0x and 40 hex digits")
    check_address(value, name)


def pattern_of(known: Iterable[str], what: str) -> Check:
    """Return a check of a pattern with * and ?, which matches at least one of the names that there are.

    Parameters
    ----------
    known : iterable of str
        The names.
    what : str
        What they name, in words.
    """
    names = tuple(known)

    def check(value: Any, name: str) -> None:
        text(value, name)
        if not any(fnmatchcase(each, value) for each in names):
            near = get_close_matches(value, names, 3)
            wanted = f"{what}, or a pattern with * and ?, such as {', '.join(near or names[:3])}"
            raise refuse(value, name, "known name", wanted, *near)

    return check


def count(lowest: int, highest: int) -> Check:
    """Return a check of a whole number.

    Parameters
    ----------
    lowest : int
        Smallest number that passes.
    highest : int
        Largest number that passes.
    """

    def check(value: Any, name: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise refuse(value, name, f"{lowest} to {highest}", f"a whole number from {lowest} to {highest}")

    return check


def one_of(*choices: object) -> Check:
    """Return a check of a choice.

    Parameters
    ----------
    *choices : object
        Values that pass.
    """

    def check(value: Any, name: str) -> None:
        if isinstance(value, bool) or value not in choices:
            shown = tuple(map(str, choices))
            raise refuse(value, name, "choice", f"one of {', '.join(shown)}", *shown)

    return check


def optional(check: Check) -> Check:
    """Return a check that passes `None` as well.

    Parameters
    ----------
    check : callable
        Check of any other value.
    """

    def checked(value: Any, name: str) -> None:
        if value is not None:
            check(value, name)

    return checked
