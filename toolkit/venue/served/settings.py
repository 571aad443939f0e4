"""What a served venue lets in: names, origins, the control token, and the limits of one client."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

CONNECTIONS_PER_IP = 256
"""Enough for a class of thirty behind one address, each with a notebook, a bot and their feeds."""
HEAD_SECONDS = 10.0
BODY_SECONDS = 10.0
IDLE_SECONDS = 60.0


def new_token() -> str:
    """Return a new token from the system's randomness."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Settings of a server.

    `hosts` are names it may be called by, besides the loopback names and the host it listens on; `origins` the origins
    of other pages that may call it (CORS). `control_token` opens the controls, which are closed to everybody without
    it. `connections_per_ip` is the number of feeds and, counted apart, of HTTP connections of one address. A client has
    `head_seconds` for the head of a request, `body_seconds` for its body, and is disconnected after `idle_seconds`
    without one. `log` takes a line for each request.
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    control_token: str = field(default_factory=new_token, repr=False)
    connections_per_ip: int = CONNECTIONS_PER_IP
    head_seconds: float = HEAD_SECONDS
    body_seconds: float = BODY_SECONDS
    idle_seconds: float = IDLE_SECONDS
    log: Callable[[str], None] | None = None
