"""Every error the toolkit raises, in one tree.

ToolkitError
├── InputError                  something a user wrote is wrong; nothing was signed or sent   (also a ValueError)
│   ├── MalformedRequest        a field of an action, query or subscription breaks its rule    (code 40003)
│   │   └── UnknownAction       no such action type                                            (code 40201)
│   ├── BadSignature            a signature that can't name a signer, or a malleable one       (code 40204)
│   ├── CheckFailed             an order breaks pre-trade rules; carries every failure
│   └── UnknownProduct          no such symbol or code in the product list
├── WalletError                 a key is missing, unreadable or not of the role that is asked
├── ExchangeError               the venue answered with a non-zero code
│   ├── LocationNotSupported    40006
│   ├── UnsupportedAction       40201
│   ├── SignatureRejected       40204
│   ├── InvalidNonce            40207
│   ├── RequestExpired          40208
│   ├── RateLimited             40220
│   ├── ActionRejected          40230  a business rule refused it ("Blockchain call failed")
│   ├── BroadcastFailed         40231
│   ├── ActionDisabled          40280
│   ├── AddressBanned           40281
│   ├── BadRequest              40003  the venue calls the request malformed
│   └── UnknownCode             any other number; kept with its message
├── TransportError              no usable answer came
│   ├── NotSent                 the request certainly did not leave (refused connection, failed look-up)
│   ├── TimedOut                no answer in time; whether it arrived is unknown
│   ├── Disconnected            the connection broke after sending; whether it arrived is unknown
│   ├── HttpStatus              an HTTP error without the venue's envelope
│   └── BadAnswer               an answer that is not the envelope (HTML, half a JSON, another shape)
├── OutcomeUnknown              a write without a known result; ask with session.resolve()
├── FeedError                   the live feed
│   ├── StaleData               a live object is older than allowed, or is being resynchronised
│   └── SubscriptionRefused     the venue refused a subscription
├── LimitReached                a strategy's or client's own limit stopped it
└── VenueError                  the local venue as a laboratory: snapshots, journals, control
    └── JournalDamaged          a command log is torn, truncated or altered

Each carries what a program needs as attributes and says in one sentence what is wrong, which rule,
which value, and what would pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class ToolkitError(Exception):
    """Root of every error raised by the toolkit."""


class InputError(ToolkitError, ValueError):
    """Something a user wrote is wrong; nothing was signed or sent.

    Attributes: `field` (path of the field, or ""), `rule`, `value` (as given), `nearest` (values that would pass).
    """

    code = 40003

    def __init__(
        self, message: str, *, field: str = "", rule: str = "", value: Any = None, nearest: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.field = field
        self.rule = rule
        self.value = value
        self.nearest = tuple(nearest)


class MalformedRequest(InputError):
    """A field of an action, query or subscription breaks its rule (wire code 40003)."""


class UnknownAction(MalformedRequest):
    """No such action type (wire code 40201)."""

    code = 40201


class BadSignature(InputError):
    """A signature that can't name a signer, or a malleable (high-s) one (wire code 40204)."""

    code = 40204


class CheckFailed(InputError):
    """An order breaks pre-trade rules. `failures` holds every broken rule, the first one is the message."""

    def __init__(self, failures: Sequence[Any]) -> None:
        first = failures[0]
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        super().__init__(
            f"{first.message}{more}",
            field=first.field,
            rule=first.rule,
            value=first.value,
            nearest=first.nearest,
        )
        self.failures = tuple(failures)


class UnknownProduct(InputError):
    """No such symbol or code in the product list."""


class WalletError(ToolkitError):
    """A key is missing, unreadable, or not of the role that is asked. Never carries key material."""


class ExchangeError(ToolkitError):
    """The venue answered with a non-zero code.

    Attributes: `code`, `message` (the venue's words), `data` (as answered), `action` (its type), `http_status`,
    `receipt` (of a write: with the results of each item of a batch).
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
        self.message = message
        self.data = dict(data) if data else None
        self.action = action
        self.http_status = http_status
        what = f"{action}: " if action else ""
        super().__init__(f"{what}{message} (code {self.code})")


class BadRequest(ExchangeError):
    """The venue calls the request malformed; `message` names the field."""

    code = 40003


class LocationNotSupported(ExchangeError):
    """The venue does not serve this location."""

    code = 40006


class UnsupportedAction(ExchangeError):
    """The venue does not know this action type."""

    code = 40201


class SignatureRejected(ExchangeError):
    """The recovered signer may not do this: wrong key, chain, domain or payload, or an agent that is not approved."""

    code = 40204


class InvalidNonce(ExchangeError):
    """The nonce was used before or is too old. After a re-send of identical bytes: the first one counted."""

    code = 40207


class RequestExpired(ExchangeError):
    """expiryAfter had passed when the venue looked at it. `clock_skew_ms`: local clock minus the venue's, if known."""

    code = 40208
    clock_skew_ms: int | None = None


class RateLimited(ExchangeError):
    """Too many requests of this action by this address."""

    code = 40220


class ActionRejected(ExchangeError):
    """A business rule refused the action; `message` is the venue's reason, `data["txCode"]` its number."""

    code = 40230


class BroadcastFailed(ExchangeError):
    """The transaction could not be broadcast."""

    code = 40231


class ActionDisabled(ExchangeError):
    """The venue switched this action off (emergency)."""

    code = 40280


class AddressBanned(ExchangeError):
    """The venue banned this address."""

    code = 40281


class UnknownCode(ExchangeError):
    """A code that no document names; number and message are kept."""


EXCHANGE_ERRORS: dict[int, type[ExchangeError]] = {
    kind.code: kind
    for kind in (
        BadRequest,
        LocationNotSupported,
        UnsupportedAction,
        SignatureRejected,
        InvalidNonce,
        RequestExpired,
        RateLimited,
        ActionRejected,
        BroadcastFailed,
        ActionDisabled,
        AddressBanned,
    )
}


def exchange_error(
    code: int,
    message: str,
    *,
    data: Mapping[str, Any] | None = None,
    action: str = "",
    http_status: int = 200,
) -> ExchangeError:
    """Return the error of the class that belongs to `code` (UnknownCode for a number nobody documents)."""
    kind = EXCHANGE_ERRORS.get(code, UnknownCode)
    return kind(message, code=code, data=data, action=action, http_status=http_status)


class TransportError(ToolkitError):
    """No usable answer came. `sent` is False when the request certainly did not leave, True or None otherwise."""

    sent: bool | None = None


class NotSent(TransportError):
    """The request certainly did not leave this machine; it can be sent again freely."""

    sent = False


class TimedOut(TransportError):
    """No answer in time. Whether the request arrived is unknown."""


class Disconnected(TransportError):
    """The connection broke after the request was written. Whether it arrived is unknown."""


class HttpStatus(TransportError):
    """An HTTP error status without the venue's envelope. Attributes: `status`, `body` (first 500 characters)."""

    def __init__(self, message: str, *, status: int, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = body[:500]


class BadAnswer(TransportError):
    """An answer that is not the venue's envelope. Attributes: `status`, `body` (first 500 characters)."""

    def __init__(self, message: str, *, status: int = 200, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = body[:500]


class OutcomeUnknown(ToolkitError):
    """A write whose result is not known. `intent` names the recorded intent; `session.resolve()` settles it."""

    def __init__(self, message: str, *, intent: Any = None, receipt: Any = None) -> None:
        super().__init__(message)
        self.intent = intent
        self.receipt = receipt


class FeedError(ToolkitError):
    """Something about the live feed."""


class StaleData(FeedError):
    """A live object is older than allowed or is being resynchronised."""


class SubscriptionRefused(FeedError):
    """The venue refused a subscription; carries its `code`."""

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class LimitReached(ToolkitError):
    """A strategy's or client's own limit stopped it. `limit` names it."""

    def __init__(self, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class VenueError(ToolkitError):
    """The local venue as a laboratory: snapshots, journals, control."""


class JournalDamaged(VenueError):
    """A command log is torn, truncated or altered. `whole` is the number of commands that are intact."""

    def __init__(self, message: str, *, whole: int = 0) -> None:
        super().__init__(message)
        self.whole = whole
