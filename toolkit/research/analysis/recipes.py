"""How a run was made, kept with its results so that `Results.rerun` makes it again."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import pandas as pd

from ...errors import ToolkitError
from ...tracebacks import trim
from ..strategy import Strategy
from .fingerprints import describe, idea_of
from .history import History, resolved


class Repeatable(Protocol):
    """The return type of a repeatable function. `Results` is one."""

    @property
    def recipe(self) -> Any:
        """How it was made."""

    def keep_recipe(self, recipe: Recipe, described: Mapping[str, Any]) -> None:
        """Keep how it was made.

        Parameters
        ----------
        recipe : Recipe
            Function and arguments that make it again.
        described : mapping of str to object
            The arguments as JSON can keep them, by name.
        """


COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3
"""Whether a shallow copy of a frame keeps its values when the frame is changed later, as from pandas 3 on."""

P = ParamSpec("P")
R = TypeVar("R", bound=Repeatable)


@dataclass(frozen=True)
class Recipe:
    """A function that makes Results, and its arguments.

    Parameters
    ----------
    function : callable
        Function that returns Results.
    arguments : mapping of str to object
        Arguments by name. Frames among them are copies.
    received : Recipe, optional
        For a run on a venue: the backtest on the bars that it received (default: none).
    reconciler : callable, optional
        Function of the run and of `received` that reconciles the two (default: none).
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    received: Recipe | None = None
    reconciler: Callable[[Any, Any], pd.DataFrame] | None = None

    def run(self, changes: Mapping[str, Any]) -> Any:
        """Call the function again, with some arguments changed.

        Parameters
        ----------
        changes : mapping of str to object
            Arguments to change, by name.
        """
        return self.function(**{**self.arguments, **changes})

    def pack(self) -> bytes:
        """Return it as bytes. Classes and functions of a notebook are kept by value."""
        import cloudpickle  # type: ignore[import-untyped]

        packed: bytes = cloudpickle.dumps(self)
        return packed


@dataclass(frozen=True)
class PackedRecipe:
    """A recipe that was saved. It is unpickled, which runs code, only when it is used.

    Parameters
    ----------
    packed : bytes
        Pickled recipe.
    python : str
        Version of Python that saved it, such as "3.12".
    """

    packed: bytes
    python: str

    def run(self, changes: Mapping[str, Any]) -> Any:
        """Unpack it, and call its function again.

        The bytecode is that of the version that saved it. Another version can crash on it, or behave differently.

        Parameters
        ----------
        changes : mapping of str to object
            Arguments to change, by name.

        Raises
        ------
        ToolkitError
            In another version of Python.
        """
        import cloudpickle

        if self.python != (here := f"{sys.version_info.major}.{sys.version_info.minor}"):
            text = f"this run was saved by Python {self.python}, and its code runs in no other. This is Python {here}"
            raise ToolkitError(f"{text}. Open it with Python {self.python}, or run the strategy's source again")
        recipe: Recipe = cloudpickle.loads(self.packed)
        return recipe.run(changes)

    def pack(self) -> bytes:
        """Return the bytes."""
        return self.packed


@dataclass(frozen=True)
class NotRepeatable:
    """Stands for the recipe of a run that can't be made again.

    Parameters
    ----------
    reason : str
        Why it can't, as part of an error's sentence.
    """

    reason: str

    def run(self, changes: Mapping[str, Any]) -> Any:
        """Raise ToolkitError with the reason.

        Parameters
        ----------
        changes : mapping of str to object
            Arguments to change, by name. They are not used.
        """
        raise ToolkitError(f"this run can't be made again: {self.reason}")

    def pack(self) -> bytes:
        """Return nothing."""
        return b""


def repeatable(function: Callable[P, R]) -> Callable[P, R]:
    """Keep the arguments of each call with its Results, for `rerun`, and describe them in their settings.

    A `session` among them holds keys and the state of a venue. Such a run has its own recipe: a backtest on its bars.

    Parameters
    ----------
    function : callable
        Function that returns Results.

    Returns
    -------
    callable
        Function with the same signature.
    """
    signature = inspect.signature(function)
    further = next((each.name for each in signature.parameters.values() if each.kind is each.VAR_KEYWORD), "")
    call: Callable[..., R] = function

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        arguments |= arguments.pop(further, {})  # further keywords are arguments like the others
        arguments = resolved(arguments, signature.parameters)
        given = {name: value for name, value in arguments.items() if name != "progress"}
        own = given.get("session") is not None
        # The run itself uses the copies, because its results read them later.
        given = given if own else {name: _snapshot(value) for name, value in given.items()}
        try:
            results = call(**{**arguments, **given})
        except ToolkitError as error:
            trim(error)
            raise
        described = {name: describe(value) for name, value in given.items() if name not in ("strategy", "params")}
        described["idea"] = idea_of(given.get("strategy", given.get("targets")), given.get("data"))
        made: Any = results.recipe  # a run on a venue has one: the backtest on what it received
        received = made.received if isinstance(made, Recipe) else None
        results.keep_recipe(made if own else Recipe(run, given, received), described)
        return results

    return run


def _snapshot(value: object) -> Any:
    """Return a copy of what the caller could change before the run is repeated."""
    if isinstance(value, pd.DataFrame | pd.Series):
        return value.copy(deep=not COPY_ON_WRITE)
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, History):
        return History(_snapshot(value.candles), _snapshot(value.funding), value.products)
    if isinstance(value, Mapping):
        return {name: _snapshot(part) for name, part in value.items()}
    return copy.deepcopy(value) if isinstance(value, Strategy) else value
