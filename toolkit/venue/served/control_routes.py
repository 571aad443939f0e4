"""The controls over HTTP: POST /control/<name> with the arguments as a JSON object, and GET /control, which lists them.

Never on the wire by default: a venue answers these paths only after `open_routes`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from ...errors import InputError, VenueError
from ..api.gateway import Answer, Gateway, Incoming, enveloped

PATH = "/control"
Function = Callable[..., Any]


class ControlledVenue(Protocol):
    """What the routes need of the venue."""

    @property
    def gateway(self) -> Gateway: ...
    @property
    def control(self) -> object: ...
    @property
    def faults(self) -> Any: ...
    @property
    def advance(self) -> Function: ...
    def snapshot(self) -> int: ...
    def revert(self, snapshot: int) -> None: ...
    def state_hash(self) -> str: ...


def functions(venue: ControlledVenue) -> dict[str, Function]:
    """Return the functions that can be called over HTTP: the controls, time, snapshots and faults."""
    controls = {name: getattr(venue.control, name) for name in dir(venue.control) if not name.startswith("_")}
    return {
        **controls,
        "advance": venue.advance,
        "snapshot": venue.snapshot,
        "revert": venue.revert,
        "state_hash": venue.state_hash,
        "add_fault": venue.faults.arm,
        "clear_faults": venue.faults.clear,
    }


def open_routes(venue: ControlledVenue, more: Mapping[str, Function] | None = None) -> None:
    """Make the venue's gateway answer GET /control and POST /control/<name>, for the functions in `more` as well."""
    known = {**functions(venue), **(more or {})}
    venue.gateway.routes[PATH] = lambda incoming: _list(known)
    for name, function in known.items():
        venue.gateway.routes[f"{PATH}/{name}"] = _route(name, function)


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
