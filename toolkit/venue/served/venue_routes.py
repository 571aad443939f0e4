"""Paths of a served venue other than its queries: the accounts it names, its interface as documents, and its controls.

GET /control lists the controls, POST /control/<name> takes the arguments of one as a JSON object. These are never on
the wire by default: a venue answers them only after `open_routes`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Mapping
from typing import Any, Protocol

import msgspec

from ... import __version__
from ...errors import InputError, VenueError
from ...protocol.documents import asyncapi, keys_schema, openapi, proto
from ..api.gateway import JSON_HEADERS, Answer, Incoming, Route, enveloped, taking
from ..host import VenueHost

ACCOUNTS_PATH, PATH = "/accounts", "/control"
Function = Callable[..., Any]


class ControlledVenue(Protocol):
    """The interface of the venue that the routes need."""

    @property
    def host(self) -> VenueHost: ...
    @property
    def control(self) -> object: ...
    @property
    def advance(self) -> Function: ...
    def snapshot(self) -> int:
        """Keep the whole state, and return the number of the snapshot."""

    def revert(self, snapshot: int) -> None:
        """Restore a snapshot, clock included.

        Parameters
        ----------
        snapshot : int
            Number that `snapshot` returned.
        """


def open_state_routes(host: VenueHost) -> None:
    """Make the venue's gateway answer GET /accounts and the paths of `DOCUMENTS`.

    An account has its number, name, address, and whether its keys are public.

    Parameters
    ----------
    host : VenueHost
        Host of the venue.
    """

    def accounts(incoming: Incoming) -> Answer:
        rows = [
            {"number": number, "name": account_name(number), "address": address, "public": host.keys_are_public}
            for number, address in enumerate(host.masters)
        ]
        return enveloped(200, 0, "success", rows)

    routes = host.gateway.routes
    routes[ACCOUNTS_PATH] = taking("GET", accounts)
    for path in DOCUMENTS:
        routes[path] = taking("GET", functools.partial(_document, path))


DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "/openapi.json": lambda: msgspec.json.encode(openapi(__version__)),
    "/asyncapi.json": lambda: msgspec.json.encode(asyncapi(__version__)),
    "/keys.schema.json": lambda: msgspec.json.encode(keys_schema()),
    "/exchange.proto": lambda: proto(),
}
"""Path → function that returns the document."""
_written = functools.cache(lambda path: DOCUMENTS[path]())


def _document(path: str, incoming: Incoming) -> Answer:
    headers = JSON_HEADERS if path.endswith(".json") else {"content-type": "text/plain; charset=utf-8"}
    return Answer(200, _written(path), headers)


def account_name(number: int) -> str:
    """Return the name of a development account.

    Parameters
    ----------
    number : int
        Number of the account, from 0.
    """
    return f"account-{number}"


def functions(venue: ControlledVenue) -> dict[str, Function]:
    """Return the functions that can be called over HTTP: the controls, time and snapshots.

    Parameters
    ----------
    venue : ControlledVenue
        The venue, with its host and controls.
    """
    controls = {name: getattr(venue.control, name) for name in dir(venue.control) if not name.startswith("_")}
    add_fault = controls["add_fault"]

    @functools.wraps(add_fault)
    def described(*args: object, **keywords: object) -> str:
        return repr(add_fault(*args, **keywords))  # its text, because an armed fault can't leave this process

    return {
        **controls,
        "add_fault": described,
        "advance": venue.advance,
        "snapshot": venue.snapshot,
        "revert": venue.revert,
    }


def open_routes(
    venue: ControlledVenue, more: Mapping[str, Function] | None = None, *, only: Container[str] | None = None
) -> None:
    """Make the venue's gateway answer GET /control and POST /control/<name>.

    Parameters
    ----------
    venue : ControlledVenue
        The venue, with its host and controls.
    more : mapping of str to Function or None, optional
        Name → further function that can be called (default: none).
    only : container of str or None, optional
        Names of those that are opened (default: all).
    """
    known = {**functions(venue), **(more or {})}
    known = {name: function for name, function in known.items() if only is None or name in only}
    listed = [
        {
            "name": name,
            "arguments": list(inspect.signature(function).parameters),
            "does": (inspect.getdoc(function) or "").partition("\n")[0],
        }
        for name, function in sorted(known.items())
    ]
    routes = venue.host.gateway.routes
    routes[PATH] = lambda incoming: enveloped(200, 0, "success", listed)
    for name, function in known.items():
        routes[f"{PATH}/{name}"] = taking("POST", _calling(name, function))


def _calling(name: str, function: Function) -> Route:
    """Return the route that calls a function with the arguments in the body."""
    signature = inspect.signature(function)

    def answer(incoming: Incoming) -> Answer:
        try:
            args = msgspec.json.decode(incoming.body or b"{}", type=dict[str, Any])
            signature.bind(**args)
        except (msgspec.DecodeError, TypeError) as error:
            return enveloped(400, 40003, f"{name} takes a JSON object with {', '.join(signature.parameters)}: {error}")
        try:
            return enveloped(200, 0, "success", function(**args))
        except InputError as error:
            return enveloped(400, 40003, str(error))
        except VenueError as error:
            return enveloped(200, 40230, str(error))

    return answer
