"""Builds the Results of a backtest from the simulated broker at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...products import MICRO
from ...protocol.enums import OrderType, TimeInForce
from ...venue.model.accounts import VenueOrder
from ...venue.model.constants import RATE, STATUS_NAMES
from ...venue.risk import ledger
from ..analysis.results import (
    EQUITY,
    EVENTS,
    FILLS,
    FUNDING,
    ORDERS,
    SHOWN_ELSEWHERE,
    TRANSFERS,
    Results,
    frame,
    records_frame,
)
from ..data.bars import Bars
from ..market_data import time_index
from .broker import ADDRESS, SimulatedBroker, fill_of

Integers = NDArray[np.int64]


def build_results(
    broker: SimulatedBroker, bars: Mapping[str, Bars], start: int, end: int, settings: Mapping[str, Any]
) -> Results:
    """Return the Results of a run from `start` to `end` (Unix ms)."""
    closes = [series.closed for series in bars.values()]
    times = np.concatenate([[start], closes[0] if len(closes) == 1 else np.unique(np.concatenate(closes))])
    times = times[times <= end]
    index, symbols = time_index(times), list(broker.states)
    price_ticks = _marks(broker, bars, times)
    cash, sizes, entries = _balances(broker, times)
    units = np.array([state.product.unit for state in broker.states.values()], dtype="int64")
    steps = np.array([state.step for state in broker.states.values()])
    ticks = np.array([state.tick for state in broker.states.values()])
    unrealized = (sizes * price_ticks * units - entries).sum(axis=1)
    columns = {"equity": (cash + unrealized) / MICRO, "balance": cash / MICRO, "unrealized": unrealized / MICRO}
    history = broker.core.state.history
    orders = [*history.orders.of(ADDRESS), *broker.account.orders.values()]
    fills = (fill_of(event, broker.by_code[event.product]) for event in history.fills_of(ADDRESS))
    return Results(
        broker.strategy.name,
        pd.DataFrame(columns, index=index).astype(EQUITY),
        pd.DataFrame(sizes * steps, index=index, columns=symbols),
        pd.DataFrame(price_ticks * ticks, index=index, columns=symbols),
        fills=frame([tuple(getattr(fill, column) for column in FILLS) for fill in fills], FILLS),
        orders=frame([_order_row(broker, order) for order in orders], ORDERS),
        funding=_funding(broker),
        transfers=_transfers(broker),
        events=frame(broker.notes, EVENTS),
        records=records_frame(broker.ctx.records),
        params=broker.strategy.params,
        settings=dict(settings),
    )


def _marks(broker: SimulatedBroker, bars: Mapping[str, Bars], times: Integers) -> Integers:
    """Return the price in ticks of each symbol at each time: the last close, before the first one the first open."""
    columns = []
    for state, series in zip(broker.states.values(), bars.values(), strict=True):
        ticks = np.rint(np.concatenate([series.open[:1], series.close]) / state.tick).astype("int64")
        columns.append(ticks[np.searchsorted(series.closed, times, side="right")])
    return np.column_stack(columns)


def _balances(broker: SimulatedBroker, times: Integers) -> tuple[Integers, Integers, Integers]:
    """Return cash, signed steps and signed entry values at each time, from the changes the broker recorded."""
    changed = np.array([time for time, _, _ in broker.balances], dtype="int64")
    cash = np.array([amount for _, amount, _ in broker.balances], dtype="int64")
    flat = (0, 0)
    held = np.array(
        [[positions.get(code, flat) for code in broker.by_code] for _, _, positions in broker.balances], dtype="int64"
    )
    rows = np.searchsorted(changed, times, side="right") - 1
    return cash[rows], held[rows, :, 0], held[rows, :, 1]


def _order_row(broker: SimulatedBroker, order: VenueOrder) -> tuple[Any, ...]:
    state = broker.by_code[order.product]
    return (
        order.created,
        state.symbol,
        order.id,
        "BUY" if order.side > 0 else "SELL",
        OrderType(order.type).name,
        TimeInForce(order.tif).name,
        float(state.product.tick_size * order.price) if order.price else float("nan"),
        order.quantity * state.step,
        order.filled * state.step,
        STATUS_NAMES[order.status],
        order.reason,
    )


def _funding(broker: SimulatedBroker) -> pd.DataFrame:
    history = broker.core.state.history
    marks = {(rate.time, code): rate.mark for code, rates in history.funding_rates.items() for rate in rates}
    rows = []
    for paid in history.funding_payments.of(ADDRESS):
        state = broker.by_code[paid.product]
        size = state.step * paid.size * paid.side
        price = float(state.product.tick_size * marks[paid.time, paid.product])
        rows.append((paid.time, state.symbol, size, price, paid.rate / RATE, paid.amount / MICRO))
    return frame(rows, FUNDING)


def _transfers(broker: SimulatedBroker) -> pd.DataFrame:
    rows = []
    for entry in ledger.entries(broker.core, ADDRESS)[1:]:  # the first entry is the deposit of the capital
        if entry.kind not in SHOWN_ELSEWHERE:
            state = broker.by_code.get(entry.product)
            rows.append((entry.time, entry.kind, state.symbol if state else "", entry.amount / MICRO))
    return frame(rows, TRANSFERS)
