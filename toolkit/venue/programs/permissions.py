"""Authority: which account a signature acts for, and the approval of agents.

A request names no account. It acts for the recovered signer (master actions), for the account that approved the
recovered agent (trading), or for the trader who authorised the recovered builder agent. So wrong bytes, a wrong chain
or a wrong domain show up as an unknown signer, and the 40204 texts name the likely causes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ...environments import LOCAL, VERIFYING_CONTRACT
from ...numerals import time_text
from ...protocol.actions import ACTIONS
from ...protocol.enums import AgentStatus
from ...protocol.hexbytes import to_checksummed
from ...protocol.orders.approvals import AGENT_VALIDITY
from ...protocol.reads.endpoint import MAX_TIME
from ..engine import arguments
from ..engine.changes import UserNotice
from ..engine.commands import CLAIM, SIGNATURE, ActionContext, Refused, Submit, TxCode, WireError
from ..engine.core import Core
from ..engine.registry import handles
from ..model.accounts import VenueAccount
from ..model.state import Approval, Grant
from . import referrals

Given = TypeVar("Given", Approval, Grant)

MASTER_ACTIONS = frozenset(action.type for action in ACTIONS.values() if action.role == "master")
BUILDER_ACTIONS = frozenset(action.type for action in ACTIONS.values() if action.signer == "Builder agent")

LONGEST_VALIDITY = 365 * 86_400
ZERO_ADDRESS = "0x" + "0" * 40
_AGENT_SIGNATURE = f"an agent signature is for domain Exchange and source {LOCAL.chain.source}"
_MASTER_SIGNATURE = f"a master signature is for domain SignTransaction and dexChain {LOCAL.chain.dex_chain}"


def attach(core: Core) -> None:
    """Put the rules of this module in force, where the venue's settings ask for them.

    A bare core knows no agents.

    Parameters
    ----------
    core : Core
        State machine whose `authorize` is set.
    """
    if core.state.settings.get("permissions"):
        core.authorize = authorize


def authorize(core: Core, submit: Submit) -> ActionContext:
    """Return whom a request acts for.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    submit : Submit
        Request with the recovered signer.

    Raises
    ------
    WireError
        With code 40204, if the signer may not act. The message has the recovered address, likely causes, and what to
        check.
    """
    action = str(submit.action["type"])
    named = submit.action.get("dexChain", LOCAL.chain.dex_chain)
    if named != LOCAL.chain.dex_chain:
        cause = f"The action names dexChain {named}, and this venue is {LOCAL.chain.dex_chain}"
        raise rejected(submit.signer, cause, "Sign it for this environment")
    builder = None
    if action in MASTER_ACTIONS:
        account = _master(core, submit.signer, action)
    elif action in BUILDER_ACTIONS:
        grant = _builder_grant(core, submit.signer, action)
        account, builder = core.state.accounts[grant.trader], grant.builder
    else:
        account = _agents_master(core, submit.signer, action)
    now, vault = core.state.time, submit.vault or None
    return ActionContext(account, submit.signer, submit.nonce, now, core.tx_hash(), vault, builder)


def agent_of(core: Core, agent: str) -> Approval | None:
    """Return the active approval of an agent, the latest where there are several, `None` without one.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    agent : str
        Address of the agent, in lower case.
    """
    known = core.state.permissions
    return _latest_active(known.approvals, known.by_agent.get(agent, ()), core.state.time)


def grant_of(core: Core, agent: str) -> Grant | None:
    """Return the active authorisation of a builder's agent, `None` without one.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    agent : str
        Address of the agent, in lower case.
    """
    known = core.state.permissions
    return _latest_active(known.grants, known.grants_by_agent.get(agent, ()), core.state.time)


def _latest_active(given: list[Given], positions: Sequence[int], now: int) -> Given | None:
    return next((given[at] for at in reversed(positions) if given[at].active(now)), None)


def acts_for(core: Core, action: str, signer: str) -> tuple[str, ...]:
    """Return the accounts an agent's signature would act for now.

    That is its master, or for a builder's agent the trader and then the builder. It is empty for a signer that is not
    an agent.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    action : str
        Type of the action.
    signer : str
        Recovered address, in lower case.
    """
    if action in BUILDER_ACTIONS:
        grant = grant_of(core, signer)
        return (grant.trader, grant.builder) if grant else ()
    approval = agent_of(core, signer)
    return (approval.master,) if approval else ()


def _agents_master(core: Core, signer: str, action: str) -> VenueAccount:
    approval, past = agent_of(core, signer), core.state.permissions.by_agent.get(signer)
    if approval is not None:
        return core.state.accounts[approval.master]
    if past:
        last = core.state.permissions.approvals[past[-1]]
        cause = f'It was agent "{last.name}" of {to_checksummed(last.master)}, and {_ended(last)}'
        remedy = "Approve an agent again with approveAgent"
    elif grant_of(core, signer):
        cause = f"It is a builder's agent, which may place builder orders and nothing else, not {action}"
        remedy = "Use placeBuilderOrder, or sign with an agent of the trader"
    elif signer in core.state.accounts:
        cause = f"It is a master wallet, and {action} is signed by an agent"
        remedy = "Approve an agent with approveAgent and sign with its key"
    else:
        cause, remedy = "It is no approved agent", _check_bytes(_AGENT_SIGNATURE)
    raise rejected(signer, cause, remedy)


def _builder_grant(core: Core, signer: str, action: str) -> Grant:
    grant, past = grant_of(core, signer), core.state.permissions.grants_by_agent.get(signer)
    if grant is not None:
        return grant
    if past:
        last = core.state.permissions.grants[past[-1]]
        trader, builder = to_checksummed(last.trader), to_checksummed(last.builder)
        cause = f"It was authorised by {trader} for builder {builder}, and that {_ended(last)}"
        remedy = "The trader signs approveAgentToBuilder again"
    elif agent_of(core, signer):
        cause = f"It is a trader's own agent, and {action} is signed by the builder's agent"
        remedy = "The trader authorises the builder's agent with approveAgentToBuilder"
    elif signer in core.state.accounts:
        cause = f"It is a master wallet, and {action} is signed by the builder's agent"
        remedy = "Sign with the agent that the trader authorised with approveAgentToBuilder"
    else:
        cause, remedy = "It is no builder agent that a trader authorised", _check_bytes(_AGENT_SIGNATURE)
    raise rejected(signer, cause, remedy)


def _master(core: Core, signer: str, action: str) -> VenueAccount:
    account, approval = core.state.accounts.get(signer), agent_of(core, signer)
    if account is not None and account.kind == "user":
        return account
    remedy = "Sign with the master wallet"
    if approval is not None:
        whose = f'agent "{approval.name}" of {to_checksummed(approval.master)}'
        cause = f"It is {whose}. Agents trade, and {action} is signed by the master"
    elif grant_of(core, signer):
        cause = f"It is a builder's agent, and {action} is signed by the master"
    elif action == CLAIM and account is None:
        return VenueAccount(signer, created=core.state.time, updated=core.state.time)
    else:
        cause, remedy = "It has no account here, faucetClaim opens one", _check_bytes(_MASTER_SIGNATURE)
    raise rejected(signer, cause, remedy)


def _ended(given: Approval | Grant) -> str:
    if given.ended:
        return f"{'was replaced' if given.replaced else 'was revoked'} at {time_text(given.ended)}"
    return f"expired at {time_text(given.expires)}"


def rejected(signer: str, cause: str, remedy: str) -> WireError:
    """Return the refusal of a signer (40204), with its address.

    Parameters
    ----------
    signer : str
        Recovered address.
    cause : str
        Why it may not act, in words.
    remedy : str
        What to do, in words.
    """
    who = to_checksummed(signer)
    return WireError(SIGNATURE, f"signature verification failed: the recovered signer is {who}. {cause}. {remedy}")


def known_as(core: Core, address: str) -> str:
    """Return what an address is here, in words, "" if it is unknown.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Address in lower case.
    """
    known, account = core.state.permissions, core.state.accounts.get(address)
    if account is not None and account.kind == "user":
        return "an account of this venue"
    if address in known.by_agent or address in known.grants_by_agent:
        return "an agent of this venue"
    return ""


def _check_bytes(note: str) -> str:
    """Return what to check where nothing is known of a signer. `note` says what a right signature is for."""
    return (
        "The signed bytes may differ from the sent ones (action, nonce, expiryAfter, vaultAddress). Or they are signed "
        f"for another chain or domain (here: chainId {LOCAL.chain.chain_id}, verifyingContract {VERIFYING_CONTRACT}, "
        f"{note}). Or the wallet was never approved. Check the bytes with `toolkit verify --env local`, and the "
        "approvals with GET /info/account/agent"
    )


@handles("approveAgent")
def approve_agent(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Approve an agent under a name, replace the name's agent, or revoke it.

    The zero address revokes.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, signer and transaction of the request.
    action : dict of str to object
        agentName, agentAddress, validitySeconds and maybe a referralCode.

    Raises
    ------
    Refused
        If the validity is out of its bounds, the wallet is taken, or there is nothing to revoke.
    """
    master, name = context.account.address, arguments.name(action["agentName"], "agentName")
    agent = str(action["agentAddress"]).lower()
    first = master not in core.state.permissions.by_master
    if agent == ZERO_ADDRESS:
        if not (found := _active_named(core, master, name)):
            raise Refused(TxCode.UNKNOWN_AGENT, f'there is no active agent named "{name}" to revoke')
        for approval in found:
            _end(core, context, approval, replaced=False)
            core.emit(UserNotice(master, "approveAgent", agent_row(core, approval)))
        return
    validity = int(action["validitySeconds"])
    if not 0 <= validity <= LONGEST_VALIDITY:
        reason = f"validitySeconds {validity} is not between 0 (7 days) and {LONGEST_VALIDITY} (365 days)"
        raise Refused(TxCode.BAD_VALIDITY, reason)
    _check_free(core, master, agent)
    code = action.get("referralCode")
    if first and code:
        referrals.bind(core, context.account, str(code))
    for approval in _active_named(core, master, name):
        _end(core, context, approval, replaced=True)
    known, now = core.state.permissions, core.state.time
    position, until = len(known.approvals), expiry(now, validity)
    approval = Approval(position + 1, master, agent, name, now, core.height, context.tx_hash, until)
    known.approvals.append(approval)
    known.by_agent.setdefault(agent, []).append(position)
    known.by_master.setdefault(master, []).append(position)
    core.emit(UserNotice(master, "approveAgent", agent_row(core, approval)))


def expiry(now_ms: int, validity_seconds: int) -> int:
    """Return when an approval ends, Unix ms.

    None outlasts the calendar (the year 9999).

    Parameters
    ----------
    now_ms : int
        Time of the approval, Unix ms.
    validity_seconds : int
        Validity in seconds. 0 stands for 7 days.
    """
    return min(now_ms + (validity_seconds or AGENT_VALIDITY) * 1000, MAX_TIME)


def _check_free(core: Core, master: str, agent: str) -> None:
    if agent == master:
        reason = f"{to_checksummed(agent)} is the account itself. An agent is another wallet"
        raise Refused(TxCode.AGENT_IS_ACCOUNT, reason)
    held = agent_of(core, agent)
    if held is not None and held.master != master:
        reason = f"{to_checksummed(agent)} is an active agent of another account. Use a fresh wallet"
        raise Refused(TxCode.AGENT_TAKEN, reason)
    grant = grant_of(core, agent)
    # A builder's own agent may sign for a trader too, and whoever has approved an agent may extend that.
    if grant is not None and held is None and master != grant.builder:
        reason = f"{to_checksummed(agent)} is a builder's agent with an active authorisation"
        raise Refused(TxCode.AGENT_OF_BUILDER, reason)


def _active_named(core: Core, master: str, name: str) -> list[Approval]:
    known, now = core.state.permissions, core.state.time
    mine = (known.approvals[position] for position in known.by_master.get(master, ()))
    return [approval for approval in mine if approval.name == name and approval.active(now)]


def _end(core: Core, context: ActionContext, approval: Approval, *, replaced: bool) -> None:
    approval.ended, approval.replaced = core.state.time, replaced
    approval.ended_height, approval.ended_tx = core.height, context.tx_hash


def agent_row(core: Core, approval: Approval) -> dict[str, Any]:
    """Return an AccountAgent record.

    Status 2 also stands for an approval that expired.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    approval : Approval
        Approval of an agent.
    """
    active = approval.active(core.state.time)
    return {
        "id": approval.id,
        "masterAddress": to_checksummed(approval.master),
        "agentAddress": to_checksummed(approval.agent),
        "agentName": approval.name,
        "status": (AgentStatus.ACTIVE if active else AgentStatus.REVOKED).name,
        "permission": "TRADE",
        "approvedAt": approval.approved,
        "approvedBlock": approval.height,
        "approvalTx": approval.tx_hash,
        "revokedAt": approval.ended,
        "revokedBlock": approval.ended_height,
        "revokeTx": approval.ended_tx,
    }


def agents(core: Core, address: str, *, as_agent: bool = False) -> list[dict[str, Any]]:
    """Return the AccountAgent records of a master or an agent, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Address of the master, or of the agent.
    as_agent : bool, optional
        True reads `address` as that of an agent (default: `False`).
    """
    known = core.state.permissions
    index = known.by_agent if as_agent else known.by_master
    return [agent_row(core, known.approvals[at]) for at in reversed(index.get(address.lower(), ()))]


def active_agent(core: Core, address: str, name: str) -> dict[str, Any] | None:
    """Return the AccountAgent record of the active agent of a name, `None` without one.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    address : str
        Address of the master.
    name : str
        Name of the agent.
    """
    found = _active_named(core, address.lower(), name)
    return agent_row(core, found[-1]) if found else None
