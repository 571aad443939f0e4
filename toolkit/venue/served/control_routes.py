"""The controls over HTTP: POST /control/<name> with the arguments as a JSON object, and GET /control, which lists them.

Never on the wire by default: a venue answers these paths only after `open_routes`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from ...errors import InputError, VenueError
from ..api.gateway import Answer, Gateway, Incoming, enveloped

PATH = "/control"
Function = Callable[..., Any]


class Hosted(Protocol):
    """What answers the requests."""

    @property
    def gateway(self) -> Gateway: ...


class ControlledVenue(Protocol):
    """What the routes need of the venue."""

    @property
    def host(self) -> Hosted: ...
    @property
    def control(self) -> object: ...
    @property
    def advance(self) -> Function: ...
    def snapshot(self) -> int: ...
    def revert(self, snapshot: int) -> None: ...


def functions(venue: ControlledVenue) -> dict[str, Function]:
    """Return the functions that can be called over HTTP: the controls, time and snapshots."""
    controls = {name: getattr(venue.control, name) for name in dir(venue.control) if not name.startswith("_")}
    controls["add_fault"] = _described(controls["add_fault"])
    return {**controls, "advance": venue.advance, "snapshot": venue.snapshot, "revert": venue.revert}


def _described(function: Function) -> Function:
    """Return a function with the text of what another returns: an armed fault can't leave this process."""

    @functools.wraps(function)
    def described(*args: Any, **keywords: Any) -> str:
        return repr(function(*args, **keywords))

    return described


def open_routes(venue: ControlledVenue, more: Mapping[str, Function] | None = None) -> None:
    """Make the venue's gateway answer GET /control and POST /control/<name>, for the functions in `more` as well."""
    known = {**functions(venue), **(more or {})}
    routes = venue.host.gateway.routes
    routes[PATH] = lambda incoming: _list(known)
    for name, function in known.items():
        routes[f"{PATH}/{name}"] = _route(name, function)


def _list(known: Mapping[str, Function]) -> Answer:
    listed = [
        {"name": name, "arguments": list(inspect.signature(function).parameters), "does": _first_line(function)}
        for name, function in sorted(known.items())
    ]
    return enveloped(200, 0, "success", listed)


def _first_line(function: Function) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _route(name: str, function: Function) -> Callable[[Incoming], Answer]:
    signature = inspect.signature(function)

    def answer(incoming: Incoming) -> Answer:
        if incoming.method != "POST":
            return enveloped(405, 405, f"{incoming.path} takes POST, not {incoming.method[:20]}")
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
