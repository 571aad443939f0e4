"""Info queries about orders: states, events, fills."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...protocol.enums import ENUMS
from ..model.accounts import VenueOrder
from ..model.constants import MAKER, STATUS_NAMES, TAKER
from . import records
from .info import Test, Values, account_of, answers, equals, merged, page_of, paged_log, passes, product_of, window

if TYPE_CHECKING:
    from ..engine.core import Core

_SIDES = {ENUMS["order_side"].name_of[number]: side for side, number in records.SIDE_NUMBERS.items()}
"""Name of a side → its sign, and whether it closes a hedge leg."""


def _tests(core: Core, values: Values, **fields: str) -> list[Test]:
    product_of(core, values)  # raises for an unknown code
    tests = equals(values, product="symbol", **fields)
    if values["side"] is not None:
        wanted = _SIDES[values["side"]]
        tests.append(lambda record: (record.side, record.closing) == wanted)
    return tests


def _status(values: Values, name: str) -> list[Test]:
    if values[name] is None:
        return []
    wanted = STATUS_NAMES.index(values[name])
    return [lambda record: record.status == wanted]


def _changed(order: VenueOrder) -> tuple[int, int]:
    return order.updated, order.id


@answers("order_states")
def order_states(core: Core, values: Values) -> dict[str, Any]:
    """Return live and ended orders, the one that changed last first."""
    account = account_of(core, values)
    if account is None:
        return page_of(values, 0, ())
    tests = _tests(core, values, id="orderId", client_id="clientOrderId", parent="parentOrderId")
    tests += _status(values, "status")
    if values["type"] is not None:
        wanted = ENUMS["order_type"].number_of[values["type"]]
        tests.append(lambda order: order.type == wanted)
    live = sorted(account.orders.values(), key=_changed)
    live = [live[at] for at in window(values, live, lambda order: order.updated)]
    log = core.state.history.orders
    positions = log.by_account.get(account.address, [])
    span = window(values, positions, lambda at: log.records[at].updated)
    ended = (log.records[positions[at]] for at in reversed(span))
    newest = merged([live[::-1], ended], _changed)
    row = partial(records.order_state, core)
    if not tests:
        return page_of(values, len(live) + len(span), newest, row)
    found = [order for order in newest if passes(order, tests)]
    return page_of(values, len(found), found, row)


@answers("order_events")
def order_events(core: Core, values: Values) -> dict[str, Any]:
    """Return every event of every order, newest first."""
    tests = _tests(core, values, order_id="orderId", client_id="clientOrderId") + _status(values, "execStatus")
    log = core.state.history.order_events
    positions = log.by_account.get(values["userAddr"], [])
    return paged_log(values, log, positions, lambda event: event.time, tests, partial(records.order_event, core))


@answers("fills")
def trades(core: Core, values: Values) -> dict[str, Any]:
    """Return the fills, newest first."""
    tests = _tests(core, values, order_id="orderId", exec_id="execId")
    if values["role"] is not None:
        wanted = MAKER if values["role"] == "MAKER" else TAKER
        tests.append(lambda event: event.role == wanted)
    history = core.state.history
    positions = history.fills.get(values["userAddr"], [])
    log = history.order_events
    return paged_log(values, log, positions, lambda event: event.time, tests, partial(records.trade, core))
