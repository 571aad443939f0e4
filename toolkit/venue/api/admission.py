"""Who is served before authority is checked: emergencies, closed actions, limits of requests and of claims.

The rules are part of the state (`simulation.interventions`), except for those of claims, which belong to the server.
The counters of requests belong to the process and start from zero with it. All of it is used under the venue's lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable

from ...environments import ZERO_CONTRACT
from ...numerals import time_text
from ...protocol.actions import ACTIONS
from ...protocol.hexbytes import to_checksummed
from ...protocol.signing import Alternative
from ..engine.commands import BANNED, CLAIM, DISABLED, LOCATION, RATE_LIMITED, WireError
from ..engine.core import Core
from ..model.accounts import VenueAccount
from ..model.state import Limit
from ..programs import permissions

IN_PROCESS = ("in-process", "")
"""Peers that are no caller's address: sessions of this process, which may do anything to the venue anyway."""
CLAIMS = 60
"""Claims of one address in CLAIM_SPAN. A class of 30 is often behind one address, and each student may claim twice."""
CLAIM_SPAN = 3_600_000
CLAIMED_ACCOUNTS = 10_000
"""Accounts that did nothing but claim. At 60 per hour one address needs a week for them."""
EXAMINED = Limit(30, 1_000)
"""Refused signatures of one address whose mistake is searched for. Each costs as much as several orders."""
KEYS = 4_096
"""Addresses whose requests are counted, the last ones. Each of them can still only have what its limit allows."""
OPTIONAL = tuple(name for name, action in ACTIONS.items() if action.optional)
"""Actions that are refused until the operator opens them."""


class SlidingWindow:
    """Counts requests by key over a span of time.

    Its memory is bounded: see `KEYS`, and `count` of the limits.
    """

    def __init__(self) -> None:
        self._times_ms: dict[Hashable, deque[int]] = {}
        """Times of the last requests. The key that was counted last is the last one."""

    def wait_ms(self, key: Hashable, limit: Limit, now: int) -> int:
        """Count a request, and return how many ms to wait until it is accepted.

        It is 0 for an accepted one. A request beyond the limit is not counted.

        Parameters
        ----------
        key : Hashable
            What is limited, such as an address.
        limit : Limit
            Number of requests, and the span in ms in which they are counted.
        now : int
            Time in ms.
        """
        times = self._times_ms[key] = self._times_ms.pop(key, deque())
        # The key that was counted longest ago is forgotten, or addresses that never return would fill the memory.
        if len(self._times_ms) > KEYS:
            del self._times_ms[next(iter(self._times_ms))]
        while times and times[-1] > now:  # counted before a revert set the clock back
            times.pop()
        while times and times[0] <= now - limit.span:
            times.popleft()
        if len(times) >= limit.count:
            return times[0] + limit.span - now if times else limit.span
        times.append(now)
        return 0


class Admission:
    """Refuses requests before the check of authority.

    `claims` is the limit of faucetClaim for each address. `claimed_accounts` is how many accounts may have done nothing
    but claim. Sessions in the venue's process have neither.
    """

    def __init__(self) -> None:
        self.claims = Limit(CLAIMS, CLAIM_SPAN)
        self.claimed_accounts = CLAIMED_ACCOUNTS
        self._requests, self._claimed, self._examined = SlidingWindow(), SlidingWindow(), SlidingWindow()
        self._admitted = 0, 0
        """The number of transactions at the last claim of a new account, and how many were admitted since."""

    def check(self, core: Core, peer: str, action: str, signer: str, vault: str = "", caller: str = "") -> None:
        """Refuse a request because of an emergency or a limit.

        Parameters
        ----------
        core : Core
            State machine of the venue, with its rules in force.
        peer : str
            Address of the caller.
        action : str
            Type of the action, "" for a query.
        signer : str
            Recovered address in lower case, "" for a query.
        vault : str, optional
            Address in vaultAddress, in lower case (default: "").
        caller : str, optional
            For whom queries are counted, such as a seat of a class (default: `peer`).

        Raises
        ------
        WireError
            With code 40006, 40281, 40280 or 40220, if the request is refused.
        """
        lab = core.state.laboratory
        # First: a closed location gets no other answer, whatever it asks for.
        if lab.closed and ("" in lab.closed or peer in lab.closed):
            raise WireError(LOCATION, "location is not supported")
        if lab.banned and signer:
            # An agent must not trade for a banned master, and a banned agent not for others.
            for address in (signer, *permissions.acts_for(core, action, signer), vault):
                if address in lab.banned:
                    raise WireError(BANNED, f"address {address} is banned")
        if action in lab.disabled:
            raise WireError(DISABLED, f"{action} is switched off for now")
        # Last, so that a refused request uses up no limit.
        if lab.limits:
            self._count(core, caller or peer, action, signer)

    def check_program(self, core: Core, peer: str, action: str, signer: str) -> None:
        """Refuse an action whose program is closed, or a claim beyond its limits.

        Parameters
        ----------
        core : Core
            State machine of the venue, with its rules in force.
        peer : str
            Address of the caller.
        action : str
            Type of the action.
        signer : str
            Recovered address in lower case.

        Raises
        ------
        WireError
            With code 40280 for a closed program or used up accounts, 40220 for an address that claimed too often.
        """
        if action in OPTIONAL and action not in core.state.laboratory.opened:
            how = f'with `toolkit venue --open {action}` or venue.control.enable("{action}")'
            raise WireError(DISABLED, f"{action} is closed here. Who runs this venue opens it, {how}")
        if action == CLAIM and peer not in IN_PROCESS:
            self._check_claim(core, peer, signer)

    def may_examine(self, core: Core, peer: str) -> bool:
        """Return whether the mistake of a refused signature is searched for.

        Parameters
        ----------
        core : Core
            State machine of the venue, with its rules in force.
        peer : str
            Address of the caller.
        """
        return peer in IN_PROCESS or not self._examined.wait_ms(peer, EXAMINED, core.state.time)

    def _check_claim(self, core: Core, peer: str, signer: str) -> None:
        """Raise WireError 40220 for a claim of an address that claimed too often, 40280 where accounts are used up.

        Every claim counts, because a claim that is refused later fills the history too, and anyone can repeat it.
        """
        limit, now = self.claims, core.state.time
        if wait := self._claimed.wait_ms(peer, limit, now):
            text = f"{peer} has sent {limit.count} faucetClaim requests within {limit.span // 60_000} minutes, the most"
            again = f"The next one is accepted in {-(-wait // 1000)} s, at {time_text(now + wait)} of the venue's time"
            raise WireError(RATE_LIMITED, f"{text} that this venue takes from one address. {again}")
        # Only a new account takes space that is never given back.
        if signer in core.state.accounts:
            return
        step, admitted = core.state.transactions, 0
        if self._admitted[0] == step:  # of the same group, whose commands are applied together, later
            admitted = self._admitted[1]
        only_claimed = sum(_has_only_claimed(core, account) for account in core.state.accounts.values())
        if only_claimed + admitted >= self.claimed_accounts:
            text = (
                f"faucetClaim opens no further account: {only_claimed} did nothing but claim, the most that this venue"
            )
            raise WireError(DISABLED, f"{text} keeps. Who runs it opens an account with venue.control.fund")
        self._admitted = step, admitted + 1

    def _count(self, core: Core, peer: str, action: str, signer: str) -> None:
        limits, name = core.state.laboratory.limits, action or "info"
        limit = limits.get(name) or (limits.get("") if action else None)
        if limit is None:
            return
        # an agent counts towards its master's limit, a query towards its peer's
        account = (*permissions.acts_for(core, action, signer), signer)[0] if signer else peer
        if wait := self._requests.wait_ms((name, account), limit, core.state.time):
            text = f"more than {limit.count} {name} requests in {limit.span} ms. The next is accepted in {wait} ms"
            raise WireError(RATE_LIMITED, text)


def _has_only_claimed(core: Core, account: VenueAccount) -> bool:
    """Return whether an account has claimed and done nothing since: no cash moved, and no agent was approved."""
    if account.kind != "user" or account.updated != (account.faucet_time or account.created):
        return False
    has_claim = account.faucet_time or not account.balance  # a first claim that settles later has opened it
    return bool(has_claim) and account.address not in core.state.permissions.by_master


def mistaken(core: Core, signer: str, alternatives: Iterable[Alternative]) -> WireError | None:
    """Return the refusal of a request that was signed for something else than this venue verifies.

    If one of the alternatives is known here, it signed the request: a signature does not give a known address by
    chance. Without such a one it returns `None`.

    Parameters
    ----------
    core : Core
        State machine of the venue, with its rules in force.
    signer : str
        Recovered address in lower case.
    alternatives : iterable of Alternative
        Signers that the request has under the usual mistakes, the likeliest first.
    """
    for each in alternatives:
        if what := permissions.known_as(core, each.signer):
            shown = ", which documents of April 2026 show" if ZERO_CONTRACT in each.theirs else ""
            cause = f"{to_checksummed(each.signer)}, {what}, signed the request with {each.theirs}{shown}"
            return permissions.rejected(signer, cause, f"This venue verifies {each.own}")
    return None
