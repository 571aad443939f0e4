"""A local venue that is served elsewhere, as its owner controls it: time, snapshots and controls, with a token."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import msgspec

from ...errors import InputError, exchange_error
from ...numerals import Span, moment, span_ns, unit_text
from ...secrecy import Secret
from ...suggestions import Suggesting, no_attribute
from .flow import Fetch
from .transport import HttpTransport, check_encrypted, read_envelope

CONTROL_PATH = "/control"
CONTROL_SECONDS = 600.0
"""How long a control may take: an advance over weeks is simulated while its caller waits."""

TOKEN_VARIABLE = "TOOLKIT_CONTROL_TOKEN"

TIME = ("advance", "snapshot", "revert")
"""Functions of the venue itself, not of its `control`, as on a venue in this process."""


class ServedVenue(Suggesting):
    """The local venue that a session trades on over HTTP. The venue must serve its controls.

    `control` has the controls of `LocalVenue.control`. Everything here raises ExchangeError for what the venue refuses,
    and InputError without the token of `connect(control_token=…)`.

    Parameters
    ----------
    transport : HttpTransport
        Transport of the session.
    token : str, Secret or None
        Token of the venue's owner, None without one.
    plain_http : bool, optional
        Whether the token may go to another machine without encryption (default: False).
    """

    _path = "session.venue"
    _parts = ("control",)

    def __init__(self, transport: HttpTransport, token: str | Secret | None, plain_http: bool = False) -> None:
        self._http = transport
        self._plain_http = plain_http
        self._token = Secret(token)

    @cached_property
    def control(self) -> ServedControls:
        """The controls of the venue's owner, such as `control.fund("0x…", "500")`. `dir()` lists them."""
        return ServedControls(self)

    def advance(self, span: Span | None = None, *, until: str | int | datetime | None = None) -> int:
        """Let time pass by a span or until a moment, and return the new time in Unix ms. See `LocalVenue.advance`.

        Parameters
        ----------
        span : str or timedelta, optional
            Length of time, such as "1h" (default: see `until`).
        until : str, int or datetime, optional
            Time to reach instead (default: None).
        """
        if until is not None and not isinstance(until, str):
            until = moment(until, "until")
        span = None if span is None else unit_text(span_ns(span))
        given = {name: value for name, value in (("span", span), ("until", until)) if value is not None}
        moved: int = self._call("advance", **given)
        return moved

    def snapshot(self) -> int:
        """Keep the whole state, and return the number to `revert` to."""
        number: int = self._call("snapshot")
        return number

    def revert(self, snapshot: int) -> None:
        """Restore the state of a snapshot, clock included. Later snapshots are dropped.

        Parameters
        ----------
        snapshot : int
            Number that `snapshot` returned.
        """
        self._call("revert", snapshot=snapshot)

    def _call(self, name: str, **arguments: object) -> Any:
        return self._data("POST", f"{CONTROL_PATH}/{name}", msgspec.json.encode(arguments))

    def _data(self, method: str, path: str, body: bytes = b"") -> Any:
        token = self._token or Secret(os.environ.get(TOKEN_VARIABLE))
        if not token:
            message = (
                "the controls of a served venue need its token, which it printed at its start. Give "
                "connect(control_token=…) or set TOOLKIT_CONTROL_TOKEN"
            )
            raise InputError(message, field="control_token", rule="required")
        check_encrypted(self._http.base_url, self._plain_http)
        headers = {"authorization": Secret(f"Bearer {token.reveal()}")}
        reply = self._http.send(Fetch(method, path, (), body, CONTROL_SECONDS, headers))
        envelope = read_envelope(reply, f"{method} {path}")
        if envelope.code != 0:
            raise exchange_error(envelope.code, envelope.message, action=f"{method} {path}", http_status=reply.status)
        return envelope.data

    def __repr__(self) -> str:
        return f"<ServedVenue at {self._http.base_url}>"


class ServedControls:
    """The controls of a served venue: each is a method. Their names are read from the venue on first use.

    Parameters
    ----------
    venue : ServedVenue
        The served venue.
    """

    def __init__(self, venue: ServedVenue) -> None:
        self._venue = venue

    @cached_property
    def _methods(self) -> Mapping[str, Callable[..., Any]]:
        rows = self._venue._data("GET", CONTROL_PATH)
        return {row["name"]: partial(self._call, row["name"], row["arguments"]) for row in rows}

    def _call(self, name: str, parameters: list[str], *values: object, **named: object) -> Any:
        if len(values) > len(parameters):
            raise InputError(f"{name} takes {', '.join(parameters) or 'no arguments'}", field=name, rule="arguments")
        return self._venue._call(name, **dict(zip(parameters, values, strict=False)), **named)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # a look-up by a tool, such as that for a notebook's representation
            raise AttributeError(name)
        if name in TIME or name not in self._methods:
            better = f"session.venue.{name}" if name in TIME else ""
            raise no_attribute("session.venue.control", name, dir(self), better)
        return self._methods[name]

    def __dir__(self) -> list[str]:
        return sorted(self._methods.keys() - set(TIME))

    def __repr__(self) -> str:
        return "<ServedControls: the controls of a venue. dir() names them>"
