"""Rows of a session's tables as strategies and results show them, and times in Unix ms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..account_data import Fill, FundingFee


def rows_of(table: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a frame, with the columns as attributes."""
    return iter(table.itertuples())


def id_or_zero(value: Any) -> int:
    """Return an id, 0 for a missing one."""
    return 0 if pd.isna(value) else int(value)


def _known(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def utc(time_ms: int) -> pd.Timestamp:
    """Return Unix ms as a UTC time."""
    return pd.Timestamp(time_ms, unit="ms", tz="UTC")


def unix_ms(time: Any) -> int:
    """Return a time as Unix ms."""
    return int(pd.Timestamp(time).timestamp() * 1000)


def fill_of(row: Any, buys: bool) -> Fill:
    """Return a row of session.fills() as a Fill."""
    return Fill(
        str(row.symbol),
        unix_ms(row.time),
        "BUY" if buys else "SELL",
        float(row.price),
        float(row.quantity),
        float(row.value),
        float(row.fee),
        float(row.realized_pnl),
        _known(row.role),
        _known(row.type),
        int(row.order_id),
        id_or_zero(row.client_order_id),
    )


def funding_row(row: Any) -> tuple[Any, ...]:
    """Return a row of info.funding_payments() in the columns of FUNDING, with the price derived from the amount."""
    size = float(row.size) * (1 if row.side in ("LONG", "BUY") else -1)
    rate, paid = float(row.funding_rate), float(row.amount)
    price = abs(paid / (size * rate)) if size and rate else float("nan")
    return unix_ms(row.time), str(row.symbol), size, price, rate, paid


def payment_of(row: Any, price: float) -> FundingFee:
    """Return a row of info.funding_payments() as a FundingFee."""
    time, symbol, size, known, rate, paid = funding_row(row)
    return FundingFee(symbol, time, size, known if known == known else price, rate, paid)


def order_rows(table: pd.DataFrame, placed: pd.Series[Any], reasons: dict[int, str]) -> list[tuple[Any, ...]]:
    """Return session.orders() in the columns of ORDERS, oldest first; `placed`: order id → time of its first event."""
    rows = []
    for row in rows_of(table.sort_values("order_id")):
        rows.append(
            (
                unix_ms(placed.get(row.order_id, row.time) if pd.isna(row.created) else row.created),
                str(row.symbol),
                int(row.order_id),
                str(row.side),
                str(row.type),
                str(row.tif),
                float(row.price) or float("nan"),
                float(row.trigger_price) or float("nan"),
                float(row.quantity),
                float(row.filled),
                str(row.status),
                reasons.get(int(row.order_id), ""),
                unix_ms(row.time),
            )
        )
    return rows
