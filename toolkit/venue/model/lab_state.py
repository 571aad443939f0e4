"""What interventions leave behind in the state: emergencies that are on, and oracle prices that are still to come."""

from __future__ import annotations

import msgspec


class Limit(msgspec.Struct, frozen=True):
    """At most `count` requests in `span` ms."""

    count: int
    span: int


class Laboratory(msgspec.Struct):
    """Interventions that last."""

    disabled: list[str] = []
    """Action types that are switched off (code 40280)."""
    banned: list[str] = []
    """Addresses that may do nothing (code 40281)."""
    closed: list[str] = []
    """Peers (addresses of callers, "" for everybody) that are not served (code 40006)."""
    limits: dict[str, Limit] = {}
    """Action type, "info" or "" (each action without its own) → how much one address may ask (code 40220)."""
    scripts: dict[int, list[tuple[int, int]]] = {}
    """Product → (time, oracle price in ticks) that are still to come, in order; price 0 lets go of the oracle."""
