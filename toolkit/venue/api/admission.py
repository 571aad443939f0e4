"""Refusals that come before the check of authority: closed locations, banned addresses, disabled actions, rate limits.

The rules are part of the state (`simulation.interventions`). The request counters are not: they belong to the process
and start from zero with it.
"""

from __future__ import annotations

from collections import deque

from ..engine.codes import BANNED, DISABLED, LOCATION, RATE_LIMITED
from ..engine.commands import WireError
from ..engine.core import Core
from ..programs import permissions


class Admission:
    """Refuses requests by the emergencies and limits of the state. Used under the venue's lock."""

    def __init__(self) -> None:
        self._requests_ms: dict[tuple[str, str], deque[int]] = {}
        """Times of the last requests, by action and account."""

    def check(self, core: Core, peer: str, action: str, signer: str, vault: str = "") -> None:
        """Raise WireError 40006, 40281, 40280 or 40220 for a request that is refused.

        `action` is "" for a query; `vault` is the address in vaultAddress.
        """
        lab = core.state.laboratory
        if lab.closed and ("" in lab.closed or peer in lab.closed):
            raise WireError(LOCATION, "location is not supported")
        if lab.banned and signer:
            for address in (signer, *permissions.acts_for(core, action, signer), vault):
                if address in lab.banned:
                    raise WireError(BANNED, f"address {address} is banned")
        if action in lab.disabled:
            raise WireError(DISABLED, f"{action} is switched off for now")
        if lab.limits:
            self._count(core, peer, action, signer)

    def _count(self, core: Core, peer: str, action: str, signer: str) -> None:
        limits, name = core.state.laboratory.limits, action or "info"
        limit = limits.get(name) or (limits.get("") if action else None)
        if limit is None:
            return
        now = core.state.time
        # an agent counts towards its master's limit, a query towards its peer's
        account = (*permissions.acts_for(core, action, signer), signer)[0] if signer else peer
        requests_ms = self._requests_ms.setdefault((name, account), deque())
        # a time after now was counted before a revert set the clock back
        while requests_ms and (requests_ms[0] <= now - limit.span or requests_ms[0] > now):
            requests_ms.popleft()
        if len(requests_ms) >= limit.count:
            wait_ms = requests_ms[0] + limit.span - now if requests_ms else limit.span
            raise WireError(
                RATE_LIMITED,
                f"more than {limit.count} {name} requests in {limit.span} ms; the next is taken in {wait_ms} ms",
            )
        requests_ms.append(now)
