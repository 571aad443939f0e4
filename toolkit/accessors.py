"""Methods that packages above the session add to it, as accessors are added to a DataFrame: `session.ticket(symbol)`.

The session must not import what is built on it. Such a package registers a function, which becomes a method of every
class that is open to accessors. This module's stub declares the types of these methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Accessors:
    """Base of the classes that have every registered function as a method."""


def register(name: str, method: Callable[..., Any]) -> None:
    """Make a function a method of the session.

    Parameters
    ----------
    name : str
        Name of the method.
    method : callable
        Function whose first argument is the session.
    """
    setattr(Accessors, name, method)
