"""Guards at the door of public functions: an argument that looks like a private key is refused, and never repeated.

An error leaves them with the caller's own frames only, see `tracebacks`.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from .errors import InputError, ToolkitError
from .secrecy import Secret, is_like_key
from .suggestions import advised
from .tracebacks import trim

P = ParamSpec("P")
T = TypeVar("T")

HASHES = frozenset({"tx_hash", "payload_hash"})
"""Parameters that take 64 hex digits that are no key."""


def refusal(what: str, name: str) -> str:
    """Return the message for a key in an argument that takes none.

    Parameters
    ----------
    what : str
        Name of the function.
    name : str
        Name of the argument.
    """
    return (
        f"{what.removesuffix('.__init__')}: {name} looks like a private key, which it never takes. Nothing was done. "
        f"Keys go into a wallet: Wallet.from_keyfile(…), Wallet.from_keyring() or Wallet.from_env()"
    )


def key_argument(names: Sequence[str], args: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return the name of the first argument that looks like a private key, or "".

    Parameters
    ----------
    names : sequence of str
        Names of the parameters, in order.
    args : sequence
        Positional arguments of the call, without `self`.
    keywords : mapping
        Arguments by keyword.
    """
    for name, value in (*itertools.zip_longest(names[: len(args)], args), *keywords.items()):
        if is_like_key(value) and not (name in HASHES and isinstance(value, str)):
            return name or "an argument"
    return ""


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters without `self`.

    Parameters
    ----------
    function : callable
        Function, method or class.
    """
    return tuple(name for name in inspect.signature(function).parameters if name not in ("self", "cls"))


def no_keys(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a public function or method: raise InputError for an argument that looks like a private key.

    For a function that takes a secret see `takes_secrets`.

    Parameters
    ----------
    function : callable
        Function that takes no secret.
    """
    names = parameter_names(function)
    is_method = next(iter(inspect.signature(function).parameters), "") in ("self", "cls")

    @functools.wraps(function)
    def guarded(*args: P.args, **keywords: P.kwargs) -> T:
        try:
            if name := key_argument(names, args[1:] if is_method else args, keywords):
                del args, keywords  # a traceback that shows local variables must not show the key
                raise InputError(refusal(function.__qualname__, name), field=name, rule="no key")
            try:
                return function(*args, **keywords)
            except TypeError as error:
                raise advised(error, function) from None
        except ToolkitError as error:
            trim(error)
            raise

    return guarded


def takes_secrets(*secret: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function that takes secrets: it gets these parameters as `Secret`, and refuses keys in the others.

    No frame above the caller's own has the secret in a local variable then, whenever an interrupt comes.

    Parameters
    ----------
    *secret : str
        Names of the parameters that hold secrets.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        names = tuple(inspect.signature(function).parameters)

        @functools.wraps(function)
        def guarded(*args: object, **keywords: object) -> T:
            given = [Secret(arg) if name in secret else arg for name, arg in itertools.zip_longest(names, args)]
            del given[len(args) :], args
            keywords = {name: Secret(arg) if name in secret else arg for name, arg in keywords.items()}
            try:
                if name := key_argument(names, given, keywords):
                    del given, keywords
                    raise InputError(refusal(function.__qualname__, name), field=name, rule="no key")
                return function(*given, **keywords)  # type: ignore[arg-type]
            except ToolkitError as error:
                trim(error)
                raise

        return guarded

    return decorate


def without_keys(cls: type[T]) -> type[T]:
    """Decorate a class: `no_keys` for each public method that it defines.

    Parameters
    ----------
    cls : type
        Class, which is changed.
    """
    for name, member in list(vars(cls).items()):
        if inspect.isfunction(member) and not name.startswith("_"):
            setattr(cls, name, no_keys(member))
    return cls


def check_process(opened_in: int, what: str) -> None:
    """Raise ToolkitError in a process that inherited something by a fork: it would write what is another's.

    Parameters
    ----------
    opened_in : int
        Id of the process that opened it.
    what : str
        Its name in words, for the error.

    Raises
    ------
    ToolkitError
        In any other process.
    """
    if os.getpid() != opened_in:
        advice = "Open one here: connect(…), or LocalVenue(…)"
        raise ToolkitError(f"{what} belongs to process {opened_in}, which this one was forked from. {advice}")
