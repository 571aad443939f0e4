"""Keeps keys and passwords out of reprs, errors, tracebacks and pickles.

People paste a key where an address, a symbol or a name belongs. So a value that looks like a private key, 64 hex digits
or 32 bytes, is never repeated. Public functions refuse it before they do anything (`guards`). Every error of the
toolkit blanks it in its text (`blanked`). An intended secret is passed as a `Secret` and used by `sealed`, so that not
even a traceback of an interrupted call, with local variables, shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

T = TypeVar("T")

BLANK: Final = "[not shown, as it may be a private key]"
# Bounded on both sides: signatures and calldata have longer runs of digits, addresses shorter ones.
_KEY_TEXT = re.compile(r"(?<![0-9a-fA-F])(?:0[xX])?[0-9a-fA-F]{64}(?![0-9a-fA-F])")
# In a message a key may also stand as an integer, which may end a sentence, or as the repr of 32 bytes.
_KEY_NUMBER = re.compile(r"(?<![0-9.])[0-9]{59,78}(?![0-9]|\.[0-9])")
_KEY_BYTES = re.compile(r"""b(['"])(?:\\x[0-9a-f]{2}|\\[^x]|[^\\]){32}\1""")
_KEY_BITS = range(193, 257)  # no amount, id or time is an integer of this size


def is_like_key(value: object) -> bool:
    """Return whether a value is or contains what looks like a private key: text, bytes, an integer, or a list.

    Parameters
    ----------
    value : object
        Any value.
    """
    if isinstance(value, str):
        return len(value) >= 64 and _KEY_TEXT.search(value) is not None
    if isinstance(value, bytes | bytearray):
        return len(value) == 32
    if type(value) is int:
        return value.bit_length() in _KEY_BITS
    return isinstance(value, list | tuple) and any(map(is_like_key, value))


def blanked(text: str) -> str:
    """Return a text with everything in it that looks like a private key replaced.

    Parameters
    ----------
    text : str
        Text that may hold a key, such as a message.
    """
    if len(text) < 35:  # the shortest form: b'' with 32 printable characters
        return text
    return _KEY_BYTES.sub(BLANK, _KEY_NUMBER.sub(BLANK, _KEY_TEXT.sub(BLANK, text)))


def safe(value: object) -> Any:
    """Return a value as it may be shown and kept: itself, or BLANK if it looks like a private key.

    Parameters
    ----------
    value : object
        Any value, such as an argument that an error repeats.
    """
    if isinstance(value, str):
        return blanked(value)
    return BLANK if is_like_key(value) else value


class Secret:
    """A password or key on its way: never in a repr, format, pickle or copy. `reveal()` returns it.

    Parameters
    ----------
    value : object
        The password or key.
    """

    __slots__ = ("__value",)

    def __init__(self, value: object) -> None:
        self.__value = value.reveal() if isinstance(value, Secret) else value

    def reveal(self) -> Any:
        """Return the secret itself."""
        return self.__value

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __repr__(self) -> str:
        return "<secret>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret is never pickled or copied")

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(2)


def sealed(work: Callable[[], T]) -> tuple[T | None, type[Exception] | None]:
    """Return the result of `work` and None, or None and the type of its error.

    The frames of `work` hold secrets, so its error is dropped with its traceback. An interrupt (KeyboardInterrupt,
    SystemExit) is raised again, new, without the frames that it came through.

    Parameters
    ----------
    work : callable
        Function without arguments that uses secrets.
    """
    kind: type[BaseException] | None = None
    try:
        return work(), None
    except BaseException as error:
        kind = type(error)
    # Outside the handler, so that the new error has no __context__ with the frames of the old one.
    if not issubclass(kind, Exception):
        raise kind()
    return None, kind
