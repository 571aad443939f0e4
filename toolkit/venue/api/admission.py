"""What is refused before authority is even looked at: closed locations, banned addresses, actions switched off, limits.

What is in force stands in the state (`interventions`); how much was asked lately does not: it is the shell's, and
forgotten with it.
"""

from __future__ import annotations

from collections import deque

from ..engine.codes import BANNED, DISABLED, LOCATION, RATE_LIMITED
from ..engine.commands import WireError
from ..engine.core import Core
from ..programs import permissions


class Guard:
    """Refuses requests by the emergencies and limits of the state. Used under the venue's lock."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], deque[int]] = {}

    def admit(self, core: Core, peer: str, action: str, signer: str, vault: str = "") -> None:
        """Raise WireError 40006, 40281, 40280 or 40220 for what may not pass. `action` is "" for a query, `vault` what
        vaultAddress names."""
        lab = core.state.laboratory
        if lab.closed and ("" in lab.closed or peer in lab.closed):
            raise WireError(LOCATION, "location is not supported")
        if lab.banned and signer:
            for each in (signer, *permissions.acts_for(core, action, signer), vault):
                if each in lab.banned:
                    raise WireError(BANNED, f"address {each} is banned")
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
        account = (*permissions.acts_for(core, action, signer), signer)[0] if signer else peer
        asked = self._asked.setdefault((name, account), deque())
        while asked and (asked[0] <= now - limit.span or asked[0] > now):  # later than now: before a revert
            asked.popleft()
        if len(asked) >= limit.count:
            wait = asked[0] + limit.span - now if asked else limit.span
            raise WireError(
                RATE_LIMITED,
                f"more than {limit.count} {name} requests in {limit.span} ms; the next is taken in {wait} ms",
            )
        asked.append(now)
