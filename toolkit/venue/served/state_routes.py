"""What anybody may read of a served venue besides its queries: the accounts it names, its interface as documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Protocol

import msgspec

from ... import __version__
from ...protocol.documents import asyncapi, openapi
from ..api.gateway import JSON_HEADERS, Answer, Gateway, Incoming, enveloped

ACCOUNTS_PATH = "/accounts"


class ListedVenue(Protocol):
    """What the routes need of the venue."""

    @property
    def masters(self) -> tuple[str, ...]: ...
    @property
    def keys_are_public(self) -> bool: ...
    @property
    def gateway(self) -> Gateway: ...


def open_state_routes(venue: ListedVenue) -> None:
    """Make the venue's gateway answer GET /accounts, /openapi.json and /asyncapi.json.

    An account has its number, name, address, and whether its keys are public.
    """

    def accounts(incoming: Incoming) -> Answer:
        rows = [
            {"number": number, "name": account_name(number), "address": address, "public": venue.keys_are_public}
            for number, address in enumerate(venue.masters)
        ]
        return enveloped(200, 0, "success", rows)

    routes = venue.gateway.routes
    routes[ACCOUNTS_PATH] = _readable(accounts)
    for path, write in (("/openapi.json", openapi), ("/asyncapi.json", asyncapi)):
        routes[path] = _readable(partial(_described, write))


def _readable(answer: Callable[[Incoming], Answer]) -> Callable[[Incoming], Answer]:
    def checked(incoming: Incoming) -> Answer:
        if incoming.method != "GET":
            return enveloped(405, 405, f"{incoming.path} takes GET, not {incoming.method[:20]}")
        return answer(incoming)

    return checked


def _described(write: Callable[[str], dict[str, Any]], incoming: Incoming) -> Answer:
    return Answer(200, _document(write), JSON_HEADERS)


@cache
def _document(write: Callable[[str], dict[str, Any]]) -> bytes:
    return msgspec.json.encode(write(__version__))


def account_name(number: int) -> str:
    """Return the name of a development account."""
    return f"account-{number}"
