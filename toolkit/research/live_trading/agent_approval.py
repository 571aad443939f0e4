"""Until when the agent of a run may trade, and what happens where that is before the run's end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pandas as pd

from ...errors import WalletError, warn
from ..market_data import span_ms
from .run_state import utc

if TYPE_CHECKING:
    from ...plain_session import Session

AgentEnds = Literal["refuse", "warn"]
"""What happens where a run is longer than the approval of its agent."""
RENEW = (
    "`toolkit agent renew`, or session.exchange.approve_agent(validity_seconds=7 * 86400) in a session that has the "
    "master key"
)


def check_agent(session: Session) -> pd.Timestamp | None:
    """Return until when the session's agent may trade for its account, None where that is not known.

    Parameters
    ----------
    session : Session
        Session of the account.

    Raises
    ------
    WalletError
        Unless the venue lists it as active now.
    """
    agent = session.wallet.agent if session.wallet is not None else None
    if agent is None:
        raise WalletError("a live run needs a session with an agent key, which signs its orders. Or use dry_run=True")
    approvals = session.info.agents(account=agent, role="AGENT")
    # Addresses are the same in any case of their letters.
    account = session.permissions.account()  # a vault's agent is that of its leader
    own = approvals[approvals["master"].astype(str).str.lower() == account.lower()]
    now = utc(session.clock.now_ms())
    signed = session.permissions.signed_until()  # the exchange lists no end
    here = [signed.get((agent.lower(), str(name))) for name in own["name"]]
    known = pd.Series([utc(at) if at else pd.NaT for at in here], own.index, dtype=own["expires_at"].dtype)
    ends = own["expires_at"].fillna(known)
    active = (own["status"] == "ACTIVE") & (ends.isna() | (ends > now))
    if not active.any():
        was = "is not approved" if own.empty else f"is no longer approved (until {ends.max()})"
        raise WalletError(f"agent {agent} {was} by account {account}. Approve it with {RENEW}")
    last = ends[active]
    return None if last.isna().any() else last.max()


def check_until(session: Session, until: pd.Timestamp, duration: str | pd.Timedelta | None, choice: AgentEnds) -> None:
    """Refuse a run that is longer than its agent's approval, or warn.

    Parameters
    ----------
    session : Session
        Session of the account.
    until : Timestamp
        When the approval ends.
    duration : str, Timedelta or None
        Length of the run, None until it is stopped.
    choice : {"refuse", "warn"}
        What happens where the run is longer.

    Raises
    ------
    WalletError
        Where it is longer, and that is refused.
    """
    end = None if duration is None else utc(session.clock.now_ms() + span_ms(duration, "duration"))
    said = f"the approval of the run's agent ends {until:%Y-%m-%d %H:%M} UTC"
    if end is None:
        print(f"{said}. Renew it before that with {RENEW}")
    elif end > until:
        text = f"{said}, before the run does ({end:%Y-%m-%d %H:%M} UTC). What is open then only the master can close"
        if choice == "refuse":
            raise WalletError(f'{text}. Renew it with {RENEW}, or begin with agent_ends="warn"')
        warn(f"{text}. Renew it with {RENEW}")
