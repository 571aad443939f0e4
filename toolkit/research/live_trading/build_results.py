"""Builds the Results of a run from its samples and the session's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

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
from ..market_data import time_index
from ..strategy import Strategy
from .run_state import RunState
from .session_rows import funding_row, order_rows, rows_of, utc


def build_results(state: RunState, strategy: Strategy, records: Sequence[tuple[int, Mapping[str, float]]]) -> Results:
    """Return the Results of a run, with the tables as the venue answers now."""
    session, begun, symbols = state.session, utc(state.started_ms), list(state.symbols)
    samples = {sample[0]: sample[1:] for sample in state.samples}  # the last sample of a time counts
    index, rows = time_index(list(samples)), list(samples.values())
    equity = pd.DataFrame(
        [(equity, balance, equity - balance) for equity, balance, _, _ in rows], index=index, columns=list(EQUITY)
    )
    sizes = pd.DataFrame([steps for _, _, steps, _ in rows], index=index, columns=symbols)
    marks = pd.DataFrame([prices for *_, prices in rows], index=index, columns=symbols)
    fills = state.own("fills", session.fills(start=begun, progress=False))
    orders = state.own("orders", session.orders(start=begun, progress=False))
    payments = state.own("funding", session.info.funding_payments(start=begun))
    entries = state.own("ledger", session.info.ledger(start=begun))
    moved = entries[~entries["kind"].isin(SHOWN_ELSEWHERE)].assign(symbol=lambda table: table["symbol"].fillna(""))
    first = session.info.order_events(start=begun).groupby("order_id")["time"].min()
    reasons = {placed.order_id: placed.reason for placed in state.placed}
    return Results(
        strategy.name,
        equity.astype(EQUITY),
        sizes * [float(product.step_size) for product in state.products.values()],
        marks.astype("float64").ffill().bfill(),
        fills=frame(dict(fills), FILLS),
        orders=frame(order_rows(orders, first, reasons), ORDERS),
        funding=frame([funding_row(row) for row in rows_of(payments)], FUNDING),
        transfers=frame(dict(moved), TRANSFERS),
        events=frame(state.notes, EVENTS),
        records=records_frame(records),
        params=strategy.params,
        settings={"mode": state.mode, "environment": session.environment.name, "dry_run": state.dry_run},
    )
