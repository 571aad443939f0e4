"""The controls of a venue as methods, with a token over HTTP or directly in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import msgspec

from ...errors import InputError, exchange_error
from ...suggestions import no_attribute
from .flow import Fetch
from .transport import HttpTransport, read_envelope

CONTROL_PATH = "/control"
CONTROL_SECONDS = 600.0
"""How long a control may take: an advance over weeks is simulated while its caller waits."""

Functions = Callable[[], Mapping[str, Callable[..., Any]]]


class VenueControl:
    """The controls of one venue: each is a method, and `dir()` names them. They are read on first use."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions

    @cached_property
    def _table(self) -> Mapping[str, Callable[..., Any]]:
        return self._functions()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # a look-up by a tool, such as that for a notebook's representation
            raise AttributeError(name)
        if name not in self._table:
            raise no_attribute("session.control", name, list(self._table))
        return self._table[name]

    def __dir__(self) -> list[str]:
        return sorted(self._table)

    def __repr__(self) -> str:
        return "<VenueControl: the controls of a venue; dir() names them>"


def served_functions(transport: HttpTransport, token: str | None) -> Functions:
    """Return what reads the controls of a served venue; each takes its arguments by place or by name.

    They raise ExchangeError for what the venue refuses. Raises InputError without a token.
    """
    if not token:
        raise InputError(
            "the controls of a served venue need its token, which it printed at its start; give "
            "connect(control_token=…) or set TOOLKIT_CONTROL_TOKEN",
            field="control_token",
            rule="required",
        )
    headers = {"authorization": f"Bearer {token}"}

    def call(name: str, arguments: list[str], *values: Any, **named: Any) -> Any:
        if len(values) > len(arguments):
            raise InputError(f"{name} takes {', '.join(arguments) or 'no arguments'}", field=name, rule="arguments")
        body = msgspec.json.encode({**dict(zip(arguments, values, strict=False)), **named})
        return _data(transport, Fetch("POST", f"{CONTROL_PATH}/{name}", (), body, CONTROL_SECONDS, headers))

    def read() -> Mapping[str, Callable[..., Any]]:
        rows = _data(transport, Fetch("GET", CONTROL_PATH, headers=headers))
        return {row["name"]: partial(call, row["name"], row["arguments"]) for row in rows}

    return read


def _data(transport: HttpTransport, fetch: Fetch) -> Any:
    what = f"{fetch.method} {fetch.path}"
    reply = transport.send(fetch)
    envelope = read_envelope(reply, what)
    if envelope.code != 0:
        raise exchange_error(envelope.code, envelope.message, action=what, http_status=reply.status)
    return envelope.data
