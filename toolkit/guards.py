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
from .numerals import shown as shown_value
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


def flags_of(function: Callable[..., Any]) -> Mapping[str, frozenset[str]]:
    """Return the parameters of a function that are True or False, each with the names of its types.

    Parameters
    ----------
    function : callable
        Function, method or class, with annotations that are not evaluated.
    """
    found: dict[str, frozenset[str]] = {}
    if getattr(function, "judges_flags", False):
        return found
    for name, parameter in inspect.signature(function).parameters.items():
        kinds = frozenset(str(parameter.annotation).replace(" ", "").split("|"))
        if "bool" in kinds <= _FLAGS.keys():
            found[name] = kinds
    return found


def judges_flags(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that takes any value of its flags, because it has to act before it can refuse one.

    Parameters
    ----------
    function : callable
        Function that calls `checked` itself.
    """
    function.judges_flags = True  # type: ignore[attr-defined]
    return function


_FLAGS: dict[str, type] = {"bool": bool, "str": str, "None": type(None)}


BROKEN_CHECKSUM = "has letters that break the EIP-55 checksum. Compare it with its source, or write it in lower case"


def check_address(value: object, field: str) -> None:
    """Raise InputError for an address in letters of both cases that are not its EIP-55 checksum: a typing error.

    Parameters
    ----------
    value : object
        Argument. What is no address passes, as others check that.
    field : str
        Name of the argument.

    Raises
    ------
    InputError
        For a broken checksum.
    """
    if isinstance(value, str) and len(value) == 42:
        from .protocol.hexbytes import has_wrong_checksum, is_address

        if is_address(value) and has_wrong_checksum(value):
            message = f"{field} {value} {BROKEN_CHECKSUM}"
            raise InputError(message, field=field, rule="EIP-55", value=value, nearest=(value.lower(),))


def checked(
    what: str,
    flags: Mapping[str, frozenset[str]],
    names: Sequence[str],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> tuple[Any, ...]:
    """Return the positional arguments, with NumPy's True and False as Python's. Those of `keywords` are replaced.

    Python takes each value for one of the two: NaN for True, and a missing value of a table becomes NaN.

    Parameters
    ----------
    what : str
        Name of the function.
    flags : mapping of str to frozenset of str
        What `flags_of` returned.
    names : sequence of str
        Names of the parameters, in order.
    args : tuple
        Positional arguments of the call, without `self`.
    keywords : dict
        Arguments by keyword.

    Raises
    ------
    InputError
        For the first flag that is neither True nor False, and for an address that is mistyped.
    """
    taken = list(args)
    for at, (name, value) in enumerate((*zip(names, args, strict=False), *keywords.items())):
        if type(value) is str:
            check_address(value, name)
        kinds = flags.get(name)
        # By identity of the class: that of NumPy's flags is named bool, too.
        if kinds is None or isinstance(value, bool) or any(type(value) is _FLAGS[kind] for kind in kinds):
            continue
        if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):  # of a table's column
            if at < len(args):
                taken[at] = bool(value)
            else:
                keywords[name] = bool(value)
            continue
        shown = f"{name} is {shown_value(value)} ({type(value).__name__})"
        message = f"{what.removesuffix('.__init__')}: {shown}. Give True or False, which bool(…) makes of a flag"
        raise InputError(message, field=name, rule="bool", value=value, nearest=("True", "False"))
    return tuple(taken)


def no_keys(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a public function or method: raise InputError for an argument that looks like a private key.

    For a function that takes a secret see `takes_secrets`.

    Parameters
    ----------
    function : callable
        Function that takes no secret.
    """
    names = parameter_names(function)
    flags = flags_of(function)
    is_method = next(iter(inspect.signature(function).parameters), "") in ("self", "cls")

    @functools.wraps(function)
    def guarded(*args: P.args, **keywords: P.kwargs) -> T:
        try:
            if name := key_argument(names, args[1:] if is_method else args, keywords):
                del args, keywords  # a traceback that shows local variables must not show the key
                raise InputError(refusal(function.__qualname__, name), field=name, rule="no key")
            own = args[: int(is_method)]
            given = checked(function.__qualname__, flags, names, args[len(own) :], keywords)
            try:
                return function(*own, *given, **keywords)  # type: ignore[arg-type]
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
