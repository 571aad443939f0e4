"""Access to a served venue: the checks of Host, Origin, content type and token, before a request is read.

A browser sends requests on behalf of any page, also to this machine. Three things distinguish them from a client's: the
name in Host (a rebound name is not the venue's), the origin of the page, and the content type. A page of another origin
can't send that content type without a preflight request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..api.admission import CLAIMED_ACCOUNTS
from ..api.gateway import Answer, http_error

LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARDS = ("0.0.0.0", "::", "")
PROTECTED = ("/control", "/teacher/")
"""Paths that demand the token."""
_JSON = "application/json"
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:/@\s]+))(?::[0-9]*)?")


def host_name(value: str) -> str:
    """Return the name in a Host header, in lower case, without port and brackets.

    It is "" for a header that is malformed.

    Parameters
    ----------
    value : str
        The header.
    """
    found = _HOST.fullmatch(value.strip().lower())
    return (found[1] or found[2].rstrip(".")) if found else ""


class Boundary:
    """The checks of one server.

    Parameters
    ----------
    settings : ServeSettings
        Names, origins and token that it accepts.
    host : str
        Address that it listens at.
    """

    def __init__(self, settings: ServeSettings, host: str) -> None:
        self._settings = settings
        self._names = {*LOOPBACK, *map(str.lower, settings.hosts)}
        self._wildcard = host in WILDCARDS
        if not self._wildcard:
            self._names.add(host.lower())

    def refuse(self, scope: Mapping[str, Any]) -> Answer | None:
        """Return the answer to a request or WebSocket that is not allowed, `None` for one that is.

        Parameters
        ----------
        scope : mapping of str to object
            ASGI scope of the request or WebSocket.
        """
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        found = (
            self._wrong_host(headers.get("host", []), scope)
            or self._wrong_origin(headers)
            or self._wrong_type(scope, headers)
            or self._wrong_token(scope, headers)
        )
        # The body of a refused request is not read, so the connection can't be used again.
        return None if found is None else found._replace(headers={**found.headers, "connection": "close"})

    def origin(self, scope: Mapping[str, Any]) -> str:
        """Return the origin of a request that an `--allow-origin` lets in, else "".

        Parameters
        ----------
        scope : mapping of str to object
            ASGI scope of the request or WebSocket.
        """
        for name, value in scope["headers"]:
            if name == b"origin":
                origin = str(value.decode("latin-1"))
                return origin if origin in self._settings.origins or "*" in self._settings.origins else ""
        return ""

    def preflight(self, scope: Mapping[str, Any]) -> Answer | None:
        """Return the answer to a browser that asks for a page of another origin, `None` for any other request.

        Parameters
        ----------
        scope : mapping of str to object
            ASGI scope of the request or WebSocket.
        """
        if scope.get("method") != "OPTIONS" or not self.origin(scope):
            return None
        allow = {"access-control-allow-methods": "GET, POST", "access-control-max-age": "600"}
        return Answer(204, b"", {**allow, "access-control-allow-headers": "content-type, authorization"})

    def _wrong_host(self, hosts: list[str], scope: Mapping[str, Any]) -> Answer | None:
        name = host_name(hosts[0]) if len(hosts) == 1 else ""
        local = scope.get("server") or ("",)
        # A wildcard has no own name: then the address that the client reached is as good as a name.
        if name in self._names or (self._wildcard and name and name == local[0]):
            return None
        given = f"Host {hosts[0][:100]!r} is" if hosts else "no Host is"
        known = ", ".join(sorted(self._names))
        return http_error(403, f"{given} not a name of this venue. It answers to {known} (--allow-host adds one)")

    def _wrong_origin(self, headers: Mapping[str, list[str]]) -> Answer | None:
        own = {f"http://{host.strip().lower()}" for host in headers["host"]}
        allowed = own | set(self._settings.origins)
        for origin in headers.get("origin", []):
            if origin.strip().lower() not in allowed and "*" not in self._settings.origins:
                return http_error(
                    403, f"Origin {origin[:100]!r} may not use this venue. --allow-origin allows the origin of a page"
                )
        # A page can fetch without an Origin header too (as an image, say). Following a link is no such fetch.
        site, mode = headers.get("sec-fetch-site", [""])[0], headers.get("sec-fetch-mode", [""])[0]
        if site in ("cross-site", "same-site") and mode not in ("navigate", "cors", "websocket"):
            return http_error(403, f"a page of another origin may not use this venue (Sec-Fetch-Site {site})")
        return None

    def _wrong_type(self, scope: Mapping[str, Any], headers: Mapping[str, list[str]]) -> Answer | None:
        if scope.get("method") != "POST":
            return None
        given = headers.get("content-type", [""])[0]
        if given.partition(";")[0].strip().lower() == _JSON:
            return None
        return http_error(415, f"a POST carries JSON: send Content-Type {_JSON}, not {given[:60]!r}")

    def _wrong_token(self, scope: Mapping[str, Any], headers: Mapping[str, list[str]]) -> Answer | None:
        if not is_protected(str(scope["path"])):
            return None
        given = headers.get("authorization", [""])[0]
        kind, _, token = given.partition(" ")
        right = self._settings.control_token
        if right and kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), right.encode()):
            return None
        answer = http_error(
            401,
            "the controls need this venue's token, which it printed at its start: send Authorization: Bearer …, or "
            "connect(control_token=…)",
        )
        return answer._replace(headers={**answer.headers, "www-authenticate": "Bearer"})


def is_protected(path: str) -> bool:
    """Return whether a path demands the token.

    Parameters
    ----------
    path : str
        Path of the request.
    """
    return any(path == each.rstrip("/") or path.startswith(each.rstrip("/") + "/") for each in PROTECTED)


HTTP_CONNECTIONS = 64
"""HTTP connections that an address may have open, unless `connections_per_ip` says otherwise."""
HEAD_SECONDS = 10.0
BODY_SECONDS = 10.0
IDLE_SECONDS = 60.0


def new_token() -> str:
    """Return a new token from the system's randomness."""
    return secrets.token_urlsafe(24)


def new_seed() -> str:
    """Return a new secret seed of 128 bits from the system's randomness, as 32 hexadecimal digits."""
    return secrets.token_hex(16)


def seed_hash(seed: int | str) -> str:
    """Return the SHA-256 of a seed's text, which is announced before the seed itself may be known.

    Parameters
    ----------
    seed : int or str
        Seed of a venue.
    """
    return hashlib.sha256(str(seed).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Settings of a server.

    Attributes
    ----------
    hosts : tuple of str
        Names it may be called by, in addition to loopback names and the host it listens at.
    origins : tuple of str
        Origins of other pages that may call it (CORS).
    control_token : str
        Token that opens the controls, which are closed to everyone without it. A new one by default.
    connections_per_ip : int or None
        Largest number of feeds and, counted apart, of HTTP connections of one address. `None` is the usual number of
        each.
    claims_per_ip : int or None
        Largest number of faucetClaim requests of one address per hour of the venue's time (default: 60).
    claimed_accounts : int
        Largest number of accounts that have done nothing but claim (default: 10,000).
    head_seconds : float
        Seconds that a client has for the head of a request.
    body_seconds : float
        Seconds that a client has for the body of a request.
    idle_seconds : float
        Seconds without a request after which a client is disconnected.
    seat_of : callable or None
        Takes path and Authorization of a request. Returns the seat that they name, "" for none, and the path without
        it. Each seat has separate places. The requests of an address that name none share a pool, in which new
        connections displace old ones (default: there are no seats).
    log : callable or None
        Takes a line for each request. `None` logs nothing.
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    control_token: str = field(default_factory=new_token, repr=False)
    connections_per_ip: int | None = None
    claims_per_ip: int | None = None
    claimed_accounts: int = CLAIMED_ACCOUNTS
    head_seconds: float = HEAD_SECONDS
    body_seconds: float = BODY_SECONDS
    idle_seconds: float = IDLE_SECONDS
    seat_of: Callable[[str, str], tuple[str, str]] | None = None
    log: Callable[[str], None] | None = None
