"""Info queries about accounts: wallet, ledger, agents, positions, funding paid."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...protocol.enums import ENUMS
from ..programs import permissions
from . import records
from .info import Values, account_of, answers, equals, page_of, paged_log, product_of
from .records import USDC_CODE

if TYPE_CHECKING:
    from ..engine.core import Core


@answers("wallet_balances")
def wallet(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return one row, USDC; none for an unknown address, nor, without includeZero, for an empty account."""
    account = account_of(core, values)
    if account is None or values["currency"] not in (None, USDC_CODE):
        return []
    row = records.wallet(core, account)
    empty = row["balance"] == row["equity"] == "0"
    return [] if empty and not values["includeZero"] else [row]


@answers("ledger")
def ledger(core: Core, values: Values) -> dict[str, Any]:
    """Return every change of the balance, newest first."""
    if values["currency"] not in (None, USDC_CODE):
        return page_of(values, 0, ())
    address = values["userAddr"]
    tests = equals(values, tx_hash="txHash")
    if values["bizType"] is not None:
        wanted = values["bizType"].upper()
        tests.append(lambda transfer: transfer.entry(address).kind == wanted)
    log = core.state.history.ledger
    positions = log.by_account.get(address, [])
    return paged_log(
        values,
        log,
        positions,
        lambda transfer: transfer.time,
        tests,
        lambda transfer: records.ledger_entry(transfer.entry(address)),
    )


@answers("agents")
def agents(core: Core, values: Values) -> dict[str, Any]:
    """Return the approvals of a master, or (role AGENT) of an agent wallet, newest first."""
    rows = permissions.agents(core, values["userAddr"], as_agent=values["role"] == "AGENT")
    status = None if values["status"] is None else ENUMS["agent_status"].number_of[values["status"]]
    found = [
        row
        for row in rows
        if (status is None or row["status"] == status)
        and (values["agentAddress"] is None or row["agentAddress"].lower() == values["agentAddress"])
        and (values["masterAddress"] is None or row["masterAddress"].lower() == values["masterAddress"])
    ]
    return page_of(values, len(found), found)


@answers("agent")
def agent(core: Core, values: Values) -> dict[str, Any] | None:
    """Return the active agent of this name, or None."""
    return permissions.active_agent(core, values["userAddr"], values["agentName"])


@answers("positions")
def positions(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the positions by product code; without includeZero only the open ones."""
    wanted = product_of(core, values)
    account = account_of(core, values)
    if account is None:
        return []
    if values["posMode"] not in (None, ENUMS["position_mode"].name_of[account.position_mode]):
        return []
    return [
        records.position(core, account, held)
        for code, held in sorted(account.positions.items())
        if (wanted is None or code == wanted.code) and (values["includeZero"] or held.long.size or held.short.size)
    ]


@answers("funding_payments")
def funding_payments(core: Core, values: Values) -> dict[str, Any]:
    """Return funding paid and received, newest first."""
    product_of(core, values)  # raises for an unknown code
    log = core.state.history.funding_payments
    payments = log.by_account.get(values["userAddr"], [])
    tests = equals(values, product="symbol")
    return paged_log(values, log, payments, lambda paid: paid.time, tests, partial(records.funding_payment, core))
