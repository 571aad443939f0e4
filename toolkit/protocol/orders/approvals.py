"""Approvals of agents and builders as actions on the wire.

Source: docs/published.md, "Exchange API".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...environments import Chain
from .names import ActionField, ActionType

AGENT_VALIDITY = 7 * 86_400
"""Seconds that validitySeconds 0 stands for."""


def agent_approval(chain: Chain, address: str, name: str, seconds: int) -> dict[str, Any]:
    """Return the approval of an agent. One of the zero address for 0 s revokes the agent of that name.

    Parameters
    ----------
    chain : Chain
        Chain of the signature.
    address : str
        Address of the agent.
    name : str
        Name under which it is approved.
    seconds : int
        How long it is approved, in seconds.
    """
    approval = {ActionField.AGENT.value: address, "agentName": name, "validitySeconds": seconds}
    return {"type": ActionType.APPROVE_AGENT.value, **approval, ActionField.CHAIN.value: chain.dex_chain}


def approved_agent(payload: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return address, name and validity in seconds of the agent that an approval on the wire names.

    Parameters
    ----------
    payload : mapping of str to object
        An approval of an agent.
    """
    seconds = int(payload["validitySeconds"]) or AGENT_VALIDITY
    return str(payload[ActionField.AGENT.value]), str(payload["agentName"]), seconds


def builder_revocation(chain: Chain) -> dict[str, Any]:
    """Return the revocation of all that builders may do for a trader.

    Parameters
    ----------
    chain : Chain
        Chain of the signature.
    """
    return {"type": ActionType.REVOKE_BUILDER.value, ActionField.CHAIN.value: chain.dex_chain}


def approved_builder(payload: Mapping[str, Any]) -> str:
    """Return the address of the builder that an approval on the wire names.

    Parameters
    ----------
    payload : mapping of str to object
        An approval of an agent to a builder.
    """
    return str(payload["builderAddress"])
