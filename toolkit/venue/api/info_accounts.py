"""Info queries about accounts: wallet, ledger, agents, positions, funding paid."""

from __future__ import annotations

import heapq
from functools import partial
from typing import Any

from ...checks import SIDES
from ...protocol.enums import ENUMS
from ..api import records
from ..engine.core import Core
from ..model.accounts import VenueOrder
from ..model.constants import MAKER, STATUS_NAMES, TAKER
from ..model.history import Transfer
from ..programs import permissions
from ..risk.ledger import USDC_CODE
from .info_pages import Test, Values, account_of, equals, page_of, paged_log, product_of, tested_page, window


def wallet_balances(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return one row, for USDC.

    There is none for an unknown address, nor, without includeZero, for an empty account.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    account = account_of(core, values)
    if account is None or values["currency"] not in (None, USDC_CODE):
        return []
    row = records.wallet(core, account)
    empty = row["balance"] == row["equity"] == "0"
    return [] if empty and not values["includeZero"] else [row]


def ledger(core: Core, values: Values) -> dict[str, Any]:
    """Return every change of the balance, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    if values["currency"] not in (None, USDC_CODE):
        return page_of(values, 0, ())
    address = values["userAddr"]
    tests = equals(values, tx_hash="txHash")
    if values["bizType"] is not None:
        wanted = values["bizType"].upper()
        tests.append(lambda transfer: transfer.entry(address).kind == wanted)

    def row(transfer: Transfer) -> dict[str, Any]:
        return records.ledger_entry(transfer.entry(address))

    return paged_log(values, core.state.history.ledger, address, row, tests)


def agents(core: Core, values: Values) -> dict[str, Any]:
    """Return the approvals of a master, or (role AGENT) of an agent wallet, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    rows = permissions.agents(core, values["userAddr"], as_agent=values["role"] == "AGENT")
    found = [
        row
        for row in rows
        if values["status"] in (None, row["status"])
        and (values["agentAddress"] is None or row["agentAddress"].lower() == values["agentAddress"])
        and (values["masterAddress"] is None or row["masterAddress"].lower() == values["masterAddress"])
    ]
    return page_of(values, len(found), found)


def agent(core: Core, values: Values) -> dict[str, Any] | None:
    """Return the active agent of a name, `None` without one.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    return permissions.active_agent(core, values["userAddr"], values["agentName"])


def positions(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the positions by product code.

    Without includeZero there are only the open ones.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
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


def funding_payments(core: Core, values: Values) -> dict[str, Any]:
    """Return funding paid and received, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    product_of(core, values)  # raises for an unknown code
    tests, row = equals(values, product="symbol"), partial(records.funding_payment, core)
    return paged_log(values, core.state.history.funding_payments, values["userAddr"], row, tests)


def _tests(core: Core, values: Values, **fields: str) -> list[Test]:
    product_of(core, values)  # raises for an unknown code
    tests = equals(values, product="symbol", **fields)
    if values["side"] is not None:
        wanted = SIDES[values["side"]]
        tests.append(lambda record: (record.side, record.closing) == wanted)
    return tests


def _status(values: Values, name: str) -> list[Test]:
    if values[name] is None:
        return []
    wanted = STATUS_NAMES.index(values[name])
    return [lambda record: record.status == wanted]


def _changed(order: VenueOrder) -> tuple[int, int]:
    return order.updated, order.id


def order_states(core: Core, values: Values) -> dict[str, Any]:
    """Return live and ended orders, the one that changed last first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    account = account_of(core, values)
    if account is None:
        return page_of(values, 0, ())
    tests = _tests(core, values, id="orderId", client_id="clientOrderId", parent="parentOrderId")
    tests += _status(values, "status")
    if values["type"] is not None:
        wanted = ENUMS["order_type"].number_of[values["type"]]
        tests.append(lambda order: order.type == wanted)
    # Ended orders lie in the order of their last change. Live ones do not, so they are sorted and merged.
    live = sorted(account.orders.values(), key=_changed)
    live = [live[at] for at in window(values, live, lambda order: order.updated)]
    log = core.state.history.orders
    positions = log.by_account.get(account.address, [])
    span = window(values, positions, lambda at: log.records[at].updated)
    ended = (log.records[positions[at]] for at in reversed(span))
    newest = heapq.merge(live[::-1], ended, key=_changed, reverse=True)
    return tested_page(values, len(live) + len(span), newest, partial(records.order_state, core), tests)


def order_events(core: Core, values: Values) -> dict[str, Any]:
    """Return every event of every order, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    tests = _tests(core, values, order_id="orderId", client_id="clientOrderId") + _status(values, "execStatus")
    row = partial(records.order_event, core)
    return paged_log(values, core.state.history.order_events, values["userAddr"], row, tests)


def fills(core: Core, values: Values) -> dict[str, Any]:
    """Return the fills, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    tests = _tests(core, values, order_id="orderId", exec_id="execId")
    if values["role"] is not None:
        wanted = MAKER if values["role"] == "MAKER" else TAKER
        tests.append(lambda event: event.role == wanted)
    history, row = core.state.history, partial(records.trade, core)
    return paged_log(values, history.order_events, values["userAddr"], row, tests, index=history.fills)
