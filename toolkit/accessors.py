"""Methods that rooms above the session add to it, as accessors are added to a DataFrame: `session.ticket(symbol)`.

The session must not import what is built on it. Such a room registers a function, and it is a method of every class
that is open to accessors. The types of these methods stand in this module's stub.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Accessors:
    """Base of the classes that have every registered function as a method."""


def register(name: str, method: Callable[..., Any]) -> None:
    """Make `method` a method of the session by this name."""
    setattr(Accessors, name, method)
