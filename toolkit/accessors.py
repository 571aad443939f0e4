"""Methods that rooms above the session add to it, as accessors are added to a DataFrame: `session.ticket(symbol)`.

The session must not import what is built on it. Such a room registers a function, and the classes that are open to
accessors have it as a method, whether they were defined before or after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K", bound=type)

METHODS: dict[str, Callable[..., Any]] = {}
"""Name → function; `self` is the session."""
_OPEN: list[type] = []


def register(name: str, method: Callable[..., Any]) -> None:
    """Make `method` a method of the session by this name."""
    METHODS[name] = method
    for kind in _OPEN:
        setattr(kind, name, method)


def accessible(kind: K) -> K:
    """Decorate a class: it has every registered function as a method."""
    _OPEN.append(kind)
    for name, method in METHODS.items():
        setattr(kind, name, method)
    return kind
