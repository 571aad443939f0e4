"""From a desk at the end of a backtest to its Results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...products import MICRO
from ...venue.model.accounts import VenueOrder as Live
from ...venue.model.constants import RATE, STATUS_NAMES
from ...venue.risk import ledger
from ..analysis.results import EQUITY, EVENTS, FILLS, FUNDING, ORDERS, SHOWN_ELSEWHERE, TRANSFERS, Results, frame
from ..data.bars import Bars
from ..strategy import Strategy
from .broker import ADDRESS, TYPE_NAMES, SimulatedBroker, fill_of
from .context import DeskContext

TIF_NAMES = ("", "GTC", "IOC", "FOK", "POST_ONLY")


def build_results(
    desk: SimulatedBroker,
    ctx: DeskContext,
    strategy: Strategy,
    bars: Mapping[str, Bars],
    start: int,
    end: int,
    settings: Mapping[str, Any],
) -> Results:
    """Return the Results of a run from `start` to `end` (ms)."""
    closes = [series.closed for series in bars.values()]
    stamps = np.concatenate([[start], closes[0] if len(closes) == 1 else np.unique(np.concatenate(closes))])
    stamps = stamps[stamps <= end]
    index = pd.DatetimeIndex(pd.to_datetime(stamps, unit="ms", utc=True).as_unit("ms"), name="time")
    ticks = _marks(desk, bars, stamps)
    cash, sizes, entries = _books(desk, stamps)
    units = np.array([line.product.unit for line in desk.lines.values()], dtype="int64")
    steps = np.array([float(line.product.step_size) for line in desk.lines.values()])
    grid = np.array([float(line.product.tick_size) for line in desk.lines.values()])
    worth = (sizes * ticks * units - entries).sum(axis=1)
    columns = {"equity": (cash + worth) / MICRO, "balance": cash / MICRO, "unrealized": worth / MICRO}
    symbols = list(desk.lines)
    history = desk.core.state.history
    live = list(desk.account.orders.values())
    return Results(
        strategy.name,
        pd.DataFrame(columns, index=index).astype(EQUITY),
        pd.DataFrame(sizes * steps, index=index, columns=symbols),
        pd.DataFrame(ticks * grid, index=index, columns=symbols),
        fills=_fills(desk),
        orders=frame([_order_row(desk, order) for order in [*history.orders.of(ADDRESS), *live]], ORDERS),
        funding=_funding(desk),
        transfers=_transfers(desk),
        events=frame(desk.notes, EVENTS),
        records=_records(ctx),
        params=strategy.params,
        settings=dict(settings),
    )


def _marks(desk: SimulatedBroker, bars: Mapping[str, Bars], stamps: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    """Return the price in ticks of each symbol at each stamp: the last close, before the first one the first open."""
    columns = []
    for line, series in zip(desk.lines.values(), bars.values(), strict=True):
        closes = np.rint(np.concatenate([series.open[:1], series.close]) / float(line.product.tick_size))
        columns.append(closes.astype("int64")[np.searchsorted(series.closed, stamps, side="right")])
    return np.column_stack(columns)


def _books(desk: SimulatedBroker, stamps: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Any, Any, Any]:
    """Return cash, signed steps and signed entry values at each stamp, from the changes the desk kept."""
    codes = list(desk.by_code)
    times = np.array([time for time, _, _ in desk.ledger], dtype="int64")
    cash = np.array([amount for _, amount, _ in desk.ledger], dtype="int64")
    none = (0, 0)
    held = np.array([[book.get(code, none) for code in codes] for _, _, book in desk.ledger], dtype="int64")
    rows = np.searchsorted(times, stamps, side="right") - 1
    return cash[rows], held[rows, :, 0], held[rows, :, 1]


def _fills(desk: SimulatedBroker) -> pd.DataFrame:
    rows = []
    for event in desk.core.state.history.fills_of(ADDRESS):
        fill = fill_of(event, desk.by_code[event.product].product)
        rows.append(
            (
                fill.time,
                fill.symbol,
                fill.side,
                fill.price,
                fill.quantity,
                fill.value,
                fill.fee,
                fill.realized_pnl,
                fill.role,
                fill.type,
                fill.order_id,
            )
        )
    return frame(rows, FILLS)


def _order_row(desk: SimulatedBroker, order: Live) -> tuple[Any, ...]:
    product = desk.by_code[order.product].product
    step = float(product.step_size)
    return (
        order.created,
        product.symbol,
        order.id,
        "BUY" if order.side > 0 else "SELL",
        TYPE_NAMES.get(order.type, str(order.type)),
        TIF_NAMES[order.tif],
        float(product.tick_size * order.price) if order.price else float("nan"),
        order.quantity * step,
        order.filled * step,
        STATUS_NAMES[order.status],
        order.reason,
    )


def _funding(desk: SimulatedBroker) -> pd.DataFrame:
    history = desk.core.state.history
    marks = {(rate.time, code): rate.mark for code, rates in history.funding_rates.items() for rate in rates}
    rows = []
    for paid in history.funding_payments.of(ADDRESS):
        product = desk.by_code[paid.product].product
        rows.append(
            (
                paid.time,
                product.symbol,
                float(product.step_size) * paid.size * paid.side,
                float(product.tick_size * marks[paid.time, paid.product]),
                paid.rate / RATE,
                paid.amount / MICRO,
            )
        )
    return frame(rows, FUNDING)


def _transfers(desk: SimulatedBroker) -> pd.DataFrame:
    rows = []
    for entry in ledger.entries(desk.core, ADDRESS)[1:]:
        if entry.kind not in SHOWN_ELSEWHERE:
            line = desk.by_code.get(entry.product)
            rows.append((entry.time, entry.kind, line.symbol if line else "", entry.amount / MICRO))
    return frame(rows, TRANSFERS)


def _records(ctx: DeskContext) -> pd.DataFrame:
    if not ctx.records:
        return pd.DataFrame()
    table = pd.DataFrame([values for _, values in ctx.records])
    table.index = pd.DatetimeIndex(
        pd.to_datetime([time for time, _ in ctx.records], unit="ms", utc=True).as_unit("ms"), name="time"
    )
    return table.groupby(level=0).last()
