"""Every error the toolkit raises, in one tree.

ToolkitError
├── InputError                  an argument is wrong; nothing was signed or sent               (also a ValueError)
│   ├── MalformedRequest        a field of an action, query or subscription breaks its rule    (code 40003)
│   │   └── UnknownAction       no such action type                                            (code 40201)
│   ├── UnknownKeyword          a function does not take this keyword                  (also a TypeError)
│   ├── BadSignature            a signature without a signer, or a malleable one               (code 40204)
│   ├── CheckFailed             an order breaks pre-trade rules; has every failure
│   ├── StoredFileError         a stored file is damaged, or of another kind, version or market
│   └── UnknownProduct          no such symbol or code in the product list
├── WalletError                 a key is missing, unreadable or of another role
├── ExchangeError               the venue responded with a non-zero code
│   ├── LocationNotSupported    40006
│   ├── UnsupportedAction       40201
│   ├── SignatureRejected       40204
│   ├── InvalidNonce            40207
│   ├── RequestExpired          40208
│   ├── RateLimited             40220
│   ├── ActionRejected          40230  a business rule rejected it ("Blockchain call failed")
│   ├── BroadcastFailed         40231
│   ├── ActionDisabled          40280
│   ├── AddressBanned           40281
│   ├── BadRequest              40003  the request is malformed
│   ├── NotServed               the venue has no such query (HTTP 404)
│   └── UnknownCode             any other code, kept with its message
├── TransportError              no usable response arrived
│   ├── NotSent                 the request was certainly not sent (refused connection, failed look-up)
│   ├── TimedOut                no response in time; whether the request arrived is unknown
│   ├── Disconnected            the connection broke after sending; whether the request arrived is unknown
│   ├── HttpStatus              an HTTP error without the venue's envelope
│   └── BadAnswer               a response that is not the envelope (HTML, truncated or other JSON)
├── MissingPackage              an optional package is not installed; names the extra        (also an ImportError)
├── SessionClosed               a closed session was asked to trade; nothing was signed or sent
├── WaitFailed                  an order ended otherwise than was waited for
│   └── WaitTimeout             it did not happen in time                                      (also a TimeoutError)
├── OutcomeUnknown              a write with an unknown result; session.resolve() finds it out
├── FeedError                   the live feed
│   ├── StaleData               a live object is older than allowed, or is being resynchronised
│   └── SubscriptionRefused     the venue refused a subscription
├── LimitReached                a limit of the strategy or the client was reached
└── VenueError                  tools of the local venue: snapshots, journals, control

Each error has attributes for programs, and a message for people: what is wrong, which rule, which value, and what
would pass.
"""

from __future__ import annotations

import linecache
import reprlib
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from .secrecy import blanked, safe
from .tracebacks import own_steps

_HOME = __file__.removesuffix("errors.py")


class ToolkitError(Exception):
    """Root of every error raised by the toolkit. Its message blanks everything that looks like a private key.

    Parameters
    ----------
    *args : object
        Arguments of an exception: the message.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(blanked(arg) if isinstance(arg, str) else arg for arg in args))

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: your own lines of code and the message. `%tb` shows every frame."""
        import IPython

        if sys.exc_info()[1] is not self:  # not being raised now, so that `%tb` shows it
            shell: Any = IPython.get_ipython()
            return list(shell.InteractiveTB.structured_traceback(type(self), self, self.__traceback__, tb_offset=1))
        own = []
        for step in own_steps(self.__traceback__):
            file, number = step.tb_frame.f_code.co_filename, step.tb_lineno
            if "site-packages" not in file:  # the shell's own frames
                own.append(f"line {number}: {linecache.getline(file, number).strip()}")
        return [*own, f"{type(self).__name__}: {self}", "(%tb shows every frame)"]


class InputError(ToolkitError, ValueError):
    """An argument is wrong. Nothing was signed or sent.

    The parameters are its attributes as well.

    Parameters
    ----------
    message : str
        Message that says what is wrong, and what would pass.
    field : str, optional
        Path of the field or argument that is wrong (default: "").
    rule : str, optional
        Name of the broken rule (default: "").
    value : object, optional
        Value as given. It is blanked if it looks like a private key (default: None).
    nearest : sequence of str, optional
        Values that would pass, as text (default: none).
    """

    code = 40003

    def __init__(
        self, message: str, *, field: str = "", rule: str = "", value: object = None, nearest: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.field = field
        self.rule = rule
        self.value = safe(value)
        self.nearest = tuple(safe(near) for near in nearest)


class MalformedRequest(InputError):
    """A field of an action, query or subscription breaks its rule (wire code 40003)."""

    def renamed(self, field: str) -> MalformedRequest:
        """Return the error for a field by its name in the call: action.marginMode is margin_mode.

        Parameters
        ----------
        field : str
            Name in the call.
        """
        said = str(self).replace(self.field, field, 1)
        return type(self)(said, field=field, rule=self.rule, value=self.value, nearest=self.nearest)


class UnknownKeyword(InputError, TypeError):
    """A function does not take this keyword. The message says which one is meant."""


class UnknownAction(MalformedRequest):
    """No such action type (wire code 40201)."""

    code = 40201


class BadSignature(InputError):
    """A signature from which no signer can be recovered, or a malleable (high-s) one (wire code 40204)."""

    code = 40204


class CheckFailed(InputError):
    """An order breaks pre-trade rules. The first one is the message.

    Parameters
    ----------
    failures : sequence of Failure
        Every broken rule, at least one. An attribute as well.
    """

    def __init__(self, failures: Sequence[Any]) -> None:
        first = failures[0]
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        message = f"{first.message}{more}"
        super().__init__(message, field=first.field, rule=first.rule, value=first.value, nearest=first.nearest)
        self.failures = tuple(failures)


class StoredFileError(InputError):
    """A stored file is damaged, or of another kind, version or market. Nothing of it was used. `value` is its path."""


class UnknownProduct(InputError):
    """No such symbol or code in the product list."""


class WalletError(ToolkitError):
    """A key is missing, unreadable, or of another role than needed. Never contains key material."""


class ExchangeError(ToolkitError):
    """The venue responded with a non-zero code.

    The parameters are its attributes as well. A write's error also has its `receipt`, with the result of each item of a
    batch.

    Parameters
    ----------
    message : str
        The venue's message.
    code : int, optional
        The venue's code (default: that of the class).
    data : mapping, optional
        `data` of the response (default: None).
    action : str, optional
        Type of the action (default: "", a query).
    http_status : int, optional
        Status of the HTTP answer (default: 200).
    """

    code: int = 0
    receipt: Any = None

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        data: Mapping[str, Any] | None = None,
        action: str = "",
        http_status: int = 200,
    ) -> None:
        self.code = type(self).code if code is None else code
        self.message = blanked(message)
        self.data = dict(data) if data else None
        self.action = action
        self.http_status = http_status
        what = f"{action}: " if action else ""
        super().__init__(f"{what}{message} (code {self.code})")

    def __init_subclass__(cls, code: int = 0) -> None:
        cls.code = code


class BadRequest(ExchangeError, code=40003):
    """The venue rejected the request as malformed. `message` names the field."""


class LocationNotSupported(ExchangeError, code=40006):
    """The venue does not serve this location."""


class UnsupportedAction(ExchangeError, code=40201):
    """The venue does not know this action type."""


_WHY_REJECTED = (
    "The agent may not be approved, or the venue verifies another chain, source or verifyingContract than was signed. "
    "The exchange's documents of April 2026 show the contract 0x0…0, its specification shows 0x0100…01"
)


class SignatureRejected(ExchangeError, code=40204):
    """The recovered signer is not authorised: wrong key, chain, domain or payload, or an agent without approval."""

    def __init__(self, message: str, **more: Any) -> None:
        super().__init__(message, **more)
        if "verifyingContract" not in message:  # the venue does not say why
            self.args = (f"{self.args[0]}. {_WHY_REJECTED}",)


class InvalidNonce(ExchangeError, code=40207):
    """The nonce was used before or is too old. After sending identical bytes again: the first request counted."""


class RequestExpired(ExchangeError, code=40208):
    """expiryAfter had passed when the request arrived. `clock_skew_ms`: local clock minus the venue's, if known."""

    clock_skew_ms: int | None = None


LIMITED_STATUSES = (429, 418)
"""HTTP statuses that ask to wait: too many requests, and banned for having gone on."""


class RateLimited(ExchangeError, code=40220):
    """The venue asks to wait: code 40220, HTTP 429 or 418, or HTTP 503 with Retry-After.

    Parameters
    ----------
    message : str
        The venue's message.
    retry_after : float, optional
        Seconds until the next request may be sent. An attribute as well (default: None, not known).
    sent : bool, optional
        False if the toolkit held the request back, so that nothing was sent. An attribute as well (default: True).
    **more : object
        Further arguments of an ExchangeError.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, sent: bool = True, **more: Any) -> None:
        super().__init__(message, **more)
        self.retry_after = retry_after
        self.sent = sent
        said = str(self) if sent else self.message  # the venue has given no code for what it did not see
        self.args = (said if retry_after is None else f"{said}. The next request may be sent in {retry_after:.1f} s",)


class ActionRejected(ExchangeError, code=40230):
    """A business rule rejected the action. `message` is the venue's reason, `data["txCode"]` its code."""


class BroadcastFailed(ExchangeError, code=40231):
    """The transaction could not be broadcast."""


class ActionDisabled(ExchangeError, code=40280):
    """The venue has disabled this action (emergency)."""


class AddressBanned(ExchangeError, code=40281):
    """The venue banned this address."""


class UnknownCode(ExchangeError):
    """An undocumented code. Number and message are kept."""


class NotServed(ExchangeError):
    """The venue has no such query: it answered HTTP 404. Its message names the path."""


EXCHANGE_ERRORS: dict[int, type[ExchangeError]] = {
    kind.code: kind for kind in ExchangeError.__subclasses__() if kind.code
}
"""Documented code → its error."""


def exchange_error(
    code: int,
    message: str,
    *,
    data: Mapping[str, Any] | None = None,
    action: str = "",
    http_status: int = 200,
    retry_after: float | None = None,
) -> ExchangeError:
    """Return the error of an answer, of the class that its code has.

    Parameters
    ----------
    code : int
        The venue's code.
    message : str
        The venue's message.
    data : mapping, optional
        `data` of the response (default: None).
    action : str, optional
        Type of the action (default: "", a query).
    http_status : int, optional
        Status of the HTTP answer (default: 200).
    retry_after : float, optional
        Seconds that the answer asks to wait (default: None, it asks for none).

    Returns
    -------
    ExchangeError
        UnknownCode for an undocumented code, RateLimited for any code with a status that asks to wait.
    """
    # Of a proxy, too, whose body may have a code of its own.
    if code == RateLimited.code or http_status in LIMITED_STATUSES:
        return RateLimited(
            message, code=code, data=data, action=action, http_status=http_status, retry_after=retry_after
        )
    kind = EXCHANGE_ERRORS.get(code, UnknownCode)
    return kind(message, code=code, data=data, action=action, http_status=http_status)


class TransportError(ToolkitError):
    """No usable response arrived. `sent` is False if the request was certainly not sent, True or None otherwise."""

    sent: bool | None = None


class NotSent(TransportError):
    """The request certainly did not leave this machine. Sending it again is safe."""

    sent = False


class TimedOut(TransportError):
    """No response in time. Whether the request arrived is unknown."""


class Disconnected(TransportError):
    """The connection broke after the request was written. Whether it arrived is unknown."""


class HttpStatus(TransportError):
    """An HTTP error status without the venue's envelope.

    Parameters
    ----------
    message : str
        Message that says what is wrong.
    status : int
        The status. An attribute as well.
    body : str, optional
        Body of the answer, of which the attribute has the first 500 characters (default: "").
    """

    def __init__(self, message: str, *, status: int, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = blanked(body[:500])


class BadAnswer(TransportError):
    """A response that is not the venue's envelope, has rows that can't be used, or does not answer the question.

    Parameters
    ----------
    message : str
        Message that says what is wrong.
    status : int, optional
        Status of the HTTP answer. An attribute as well (default: 200).
    body : str, optional
        Body of the answer, of which the attribute has the first 500 characters (default: "").
    """

    contradicts = False
    """True where rows contradict the question, or themselves."""

    def __init__(self, message: str, *, status: int = 200, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = blanked(body[:500])


class DataWarning(UserWarning):
    """Something of an answer, message or file is missing or unfit, and is left out. The text says what and how much."""


class MissingPackage(ToolkitError, ImportError):
    """An optional package is not installed. The message has the command that installs it.

    Parameters
    ----------
    message : str
        Message that says what is wrong.
    name : str, optional
        The package. An attribute as well (default: "").
    """

    def __init__(self, message: str, *, name: str = "") -> None:
        super().__init__(message)
        self.name = name


class SessionClosed(ToolkitError):
    """A call tried to trade on a closed session. Nothing was signed or sent."""


class OutcomeUnknown(ToolkitError):
    """The result of a write is unknown. `session.resolve()` finds it out.

    Parameters
    ----------
    message : str
        Message that says what is wrong.
    intent : Intent, optional
        The recorded intent. An attribute as well (default: None).
    receipt : Receipt, optional
        Handle of the write. An attribute as well (default: None).
    """

    def __init__(self, message: str, *, intent: object = None, receipt: object = None) -> None:
        super().__init__(message)
        self.intent = intent
        self.receipt = receipt


class WaitFailed(ToolkitError):
    """The awaited event will not happen: the order has ended otherwise.

    Parameters
    ----------
    message : str
        Message that says what is wrong.
    receipt : Receipt, optional
        Handle of the order. An attribute as well (default: None).
    """

    def __init__(self, message: str, *, receipt: object = None) -> None:
        super().__init__(message)
        self.receipt = receipt


class WaitTimeout(WaitFailed, TimeoutError):
    """The awaited event did not happen in time. It still may. `receipt` is the order's handle."""


class FeedError(ToolkitError):
    """An error of the live feed."""


class StaleData(FeedError):
    """A live object is older than allowed or is being resynchronised."""


class SubscriptionRefused(FeedError):
    """The venue refused a subscription.

    Parameters
    ----------
    message : str
        Message that says what is wrong.
    code : int, optional
        The venue's code. An attribute as well (default: 0).
    """

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class LimitReached(ToolkitError):
    """A limit of the strategy or the client was reached.

    Parameters
    ----------
    message : str
        Message that says what is wrong.
    limit : str, optional
        Name of the limit. An attribute as well (default: "").
    """

    def __init__(self, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class VenueError(ToolkitError):
    """An error of the local venue's tools: snapshots, journals, control."""


def require(value: object, kinds: Any, field: str, wanted: str) -> None:
    """Raise InputError unless an argument is of some classes.

    Parameters
    ----------
    value : object
        Argument as the caller gave it.
    kinds : type or tuple of type
        Classes that pass.
    field : str
        Name of the argument.
    wanted : str
        The right value in words.

    Raises
    ------
    InputError
        For a value of another class. The message says what is wanted.
    """
    if not isinstance(value, kinds):
        message = f"{field} is {reprlib.repr(safe(value))}. Give {wanted}"
        raise InputError(message, field=field, rule="type", value=value)


def warn(message: str, category: Any = DataWarning) -> None:
    """Warn in the name of the line outside of the toolkit that led here: that is the user's, however deep this is.

    Parameters
    ----------
    message : str
        The message, a sentence.
    category : type, optional
        Class of the warning (default: DataWarning).
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def capital(text: str) -> str:
    """Return advice as a sentence with a capital, after the one that says what is wrong.

    Parameters
    ----------
    text : str
        Advice that begins in lower case.
    """
    return text[:1].upper() + text[1:]
