"""Pages that anybody may read from a served venue: the accounts it names."""

from __future__ import annotations

from typing import Protocol

from ..api.gateway import Answer, Gateway, Incoming, enveloped

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
    """Make the venue's gateway answer GET /accounts: number, name, address, and whether the keys are public."""

    def accounts(incoming: Incoming) -> Answer:
        if incoming.method != "GET":
            return enveloped(405, 405, f"{incoming.path} takes GET, not {incoming.method[:20]}")
        rows = [
            {"number": number, "name": account_name(number), "address": address, "public": venue.keys_are_public}
            for number, address in enumerate(venue.masters)
        ]
        return enveloped(200, 0, "success", rows)

    venue.gateway.routes[ACCOUNTS_PATH] = accounts


def account_name(number: int) -> str:
    """Return the name of a development account."""
    return f"account-{number}"
