"""Builder Code: builders, their authorisations by traders, and the orders they place for them.

A trader authorises one builder's agent at a time, and an agent serves one trader at a time [L], because the order
names no trader. Caps: the environment's, then the authorisation's, the order's rate lies under both. The fee is
charged on fills, to the trader, on top of the trading fee (`fees.charge`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...numerals import rate_text
from ...protocol.hexbytes import to_checksummed
from ...protocol.orders.order_actions import OrderAction
from ..engine import arguments
from ..engine.changes import UserNotice
from ..engine.commands import ActionContext, Outcome, Refused, TxCode
from ..engine.core import Core
from ..engine.registry import handles, handles_orders
from ..model.constants import RATE
from ..model.state import Builder, Grant
from ..trading import placing
from .permissions import agent_of, expiry, grant_of

FEE_CAP = RATE // 1000
"""The environment's cap on builder fees, parts of RATE: 0.001 [L]. Source: docs/published.md, "Trading rules"."""


def parts(rate: str, name: str) -> int:
    """Return decimal text of a fee rate in parts of RATE.

    Parameters
    ----------
    rate : str
        Rate as on the wire: "0.001" is 0.1 %.
    name : str
        Name of the field, for the refusal.

    Raises
    ------
    Refused
        If it has more than 8 decimals.
    """
    exact = Fraction(rate) * RATE
    if exact.denominator != 1:
        raise Refused(TxCode.FEE_RATE_TOO_PRECISE, f"{name} {rate} is finer than 0.00000001")
    return exact.numerator


@handles("registerBuilder")
def register_builder(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Register the signing master as a builder, once.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, signer and transaction of the request.
    action : dict of str to object
        The builder's `name`.

    Raises
    ------
    Refused
        If the account is a builder already.
    """
    address, known = context.account.address, core.state.permissions.builders
    if address in known:
        found = known[address]
        reason = f'{to_checksummed(address)} is a builder since {found.registered}, named "{found.name}"'
        raise Refused(TxCode.BUILDER_REGISTERED, reason)
    known[address] = Builder(address, arguments.name(action["name"], "name"), core.state.time)


@handles("approveAgentToBuilder")
def approve_agent_to_builder(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """Let a builder's agent place orders for the signing trader.

    The trader's earlier authorisation ends.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, signer and transaction of the request.
    action : dict of str to object
        agentAddress, builderAddress, maxFeeRate and validitySeconds.

    Raises
    ------
    Refused
        If the rate is above the cap, or agent and builder do not fit.
    """
    trader = context.account.address
    agent, builder = str(action["agentAddress"]).lower(), str(action["builderAddress"]).lower()
    cap = parts(action["maxFeeRate"], "maxFeeRate")
    if cap > FEE_CAP:
        reason = f"maxFeeRate {action['maxFeeRate']} is above the environment's cap {rate_text(FEE_CAP)}"
        raise Refused(TxCode.FEE_RATE_ABOVE_CAP, reason)
    _check_parties(core, trader, agent, builder)
    known, now = core.state.permissions, core.state.time
    before = active_grant(core, trader)
    if before is not None:
        before.ended, before.ended_tx, before.replaced = now, context.tx_hash, True
    position = len(known.grants)
    until = expiry(now, int(action["validitySeconds"]))
    grant = Grant(position + 1, trader, agent, builder, cap, now, context.tx_hash, until)
    # The list only grows: records of ended authorisations stay readable, and positions in it never change.
    known.grants.append(grant)
    indexes = (known.grants_by_agent, agent), (known.grants_by_trader, trader), (known.grants_by_builder, builder)
    for index, key in indexes:
        index.setdefault(key, []).append(position)
    core.emit(UserNotice(trader, "approveAgentToBuilder", builder_agent_row(core, grant)))


@handles("revokeAgentToBuilder")
def revoke_agent_to_builder(core: Core, context: ActionContext, action: dict[str, Any]) -> None:
    """End the trader's active authorisation.

    Builder and agent are found from it.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, signer and transaction of the request.
    action : dict of str to object
        The action, whose fields are not needed.

    Raises
    ------
    Refused
        If there is none.
    """
    grant = active_grant(core, context.account.address)
    if grant is None:
        raise Refused(TxCode.NO_BUILDER_GRANT, "there is no active builder authorisation to revoke")
    grant.ended, grant.ended_tx = core.state.time, context.tx_hash
    core.emit(UserNotice(grant.trader, "revokeAgentToBuilder", builder_agent_row(core, grant)))


@handles_orders("placeBuilderOrder")
def place_builder_order(core: Core, context: ActionContext, action: OrderAction) -> Outcome:
    """Place an order for the trader who authorised the signing agent.

    The fee is charged when it fills.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, signer and transaction of the request.
    action : OrderAction
        The order, the builder and its fee.

    Raises
    ------
    Refused
        If the authorisation does not cover the fee.
    """
    _set_rate(core, context, action)
    return placing.place_each(core, context, action)


@handles_orders("placeBuilderBracketOrder")
def place_builder_bracket_order(core: Core, context: ActionContext, action: OrderAction) -> Outcome:
    """Place a bracket for the trader who authorised the signing agent, all or nothing.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, signer and transaction of the request.
    action : OrderAction
        The orders of the bracket, the builder and its fee.

    Raises
    ------
    Refused
        If the authorisation does not cover the fee, or an order can't be placed.
    """
    _set_rate(core, context, action)
    return placing.place_bracket(core, context, action)


def _set_rate(core: Core, context: ActionContext, action: OrderAction) -> None:
    try:
        context.builder_rate = check_rate(core, context, action)
    except Refused as refusal:
        for item in action.orders:  # refused before their own rules were checked
            placing.reject_item(core, context, item, refusal)
        raise


def active_grant(core: Core, trader: str) -> Grant | None:
    """Return a trader's active authorisation, `None` without one.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    trader : str
        Account in lower case.
    """
    known, now = core.state.permissions, core.state.time
    positions = known.grants_by_trader.get(trader, ())
    found = known.grants[positions[-1]] if positions else None
    return found if found is not None and found.active(now) else None


def check_rate(core: Core, context: ActionContext, action: OrderAction) -> int:
    """Return the builder fee of an order in parts of RATE.

    While the order waited, the authorisation may have ended, or the agent got another trader's.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    context : ActionContext
        Account, signer and transaction of the request.
    action : OrderAction
        The orders, with the builder and its fee.

    Raises
    ------
    Refused
        Without this trader's authorisation, for another builder, for a rate above the cap, and for too many decimals.
    """
    grant = grant_of(core, context.signer)
    if grant is None or grant.trader != context.owner.address:
        reason = f"{to_checksummed(context.owner.address)} has not authorised the agent, or no longer"
        raise Refused(TxCode.NO_BUILDER_GRANT, reason)
    named = str(action.builder).lower()
    if named != grant.builder:
        reason = f"the agent is authorised for builder {to_checksummed(grant.builder)}, not {to_checksummed(named)}"
        raise Refused(TxCode.WRONG_BUILDER, reason)
    rate = parts(str(action.builder_fee_rate), "builderFeeRate")
    if rate > grant.cap:
        most = f"the authorisation's maxFeeRate {rate_text(grant.cap)}"
        raise Refused(TxCode.FEE_RATE_ABOVE_GRANT, f"builderFeeRate {action.builder_fee_rate} is above {most}")
    return rate


def _check_parties(core: Core, trader: str, agent: str, builder: str) -> None:
    if builder not in core.state.permissions.builders:
        reason = f"{to_checksummed(builder)} is no registered builder. It signs registerBuilder first"
        raise Refused(TxCode.UNKNOWN_BUILDER, reason)
    if builder == trader:
        raise Refused(TxCode.BUILDER_IS_TRADER, "an account can't be its own builder")
    if agent in (trader, builder):
        reason = f"{to_checksummed(agent)} is a master wallet of the two. Name the builder's agent"
        raise Refused(TxCode.AGENT_IS_MASTER, reason)
    own = agent_of(core, agent)
    if own is not None and own.master == trader:
        reason = f"{to_checksummed(agent)} is the trader's own agent \"{own.name}\". Name the builder's agent"
        raise Refused(TxCode.AGENT_OF_TRADER, reason)
    held = grant_of(core, agent)
    if held is not None and held.trader != trader:
        reason = f"{to_checksummed(agent)} is authorised by another trader. The builder needs an agent for each trader"
        raise Refused(TxCode.AGENT_OF_OTHER_TRADER, reason)


def builder_agent_row(core: Core, grant: Grant) -> dict[str, Any]:
    """Return a BuilderAgent record.

    Its `expiresAt` is in seconds.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    grant : Grant
        Authorisation of a builder's agent.
    """
    return {
        "wallet": to_checksummed(grant.trader),
        "agent": to_checksummed(grant.agent),
        "builder": to_checksummed(grant.builder),
        "maxFeeRate": rate_text(grant.cap),
        "expiresAt": grant.expires // 1000,
        "approveState": "REVOKED" if grant.ended else "APPROVED",
        "expired": core.state.time > grant.expires,
    }


def builder_agents(
    core: Core,
    builder: str | None,
    *,
    wallet: str | None = None,
    agent: str | None = None,
    approve_state: str = "APPROVED",
    include_expired: bool = False,
) -> list[dict[str, Any]]:
    """Return the BuilderAgent records of a builder or a trader, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue.
    builder : str or None
        Account of the builder. `None` returns those of the trader `wallet`.
    wallet : str or None, optional
        Account of the trader (default: every trader).
    agent : str or None, optional
        Address of the agent (default: every agent).
    approve_state : str, optional
        "APPROVED" or "REVOKED" (default: "APPROVED").
    include_expired : bool, optional
        True returns expired ones too (default: `False`).
    """
    known = core.state.permissions
    if builder is not None:
        positions = known.grants_by_builder.get(builder.lower(), [])
    else:
        positions = known.grants_by_trader.get((wallet or "").lower(), [])
    grants = (known.grants[at] for at in reversed(positions))
    return [
        row
        for grant in grants
        if (wallet is None or grant.trader == wallet.lower()) and (agent is None or grant.agent == agent.lower())
        for row in [builder_agent_row(core, grant)]
        if row["approveState"] == approve_state and (include_expired or not row["expired"])
    ]
