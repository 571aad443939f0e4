"""The leaderboard: return, drawdown and fees of each student, from the venue's own records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..venue.engine.core import Core
from ..venue.risk import account_margin
from ..venue.risk.equity_curve import curve
from .roster import Student

MICRO = 1_000_000
COLUMNS = {
    "rank": "int64",
    "name": "string",
    "equity": "float64",
    "return": "float64",
    "drawdown": "float64",
    "fees": "float64",
    "trades": "int64",
}
"""Columns of the leaderboard: equity and fees in USDC; return and drawdown as ratios, 0.1 is 10 %."""


def standing(core: Core, student: Student) -> dict[str, Any]:
    """Return the row of a student, without the rank. Values are numbers, ready for JSON."""
    account = core.state.accounts.get(student.address.lower())
    if account is None:
        return {"name": student.name, "equity": 0.0, "return": 0.0, "drawdown": 0.0, "fees": 0.0, "trades": 0}
    points = curve(core, account, 0, core.state.time + 1)
    fills = core.state.history.fills_of(account.address)
    paid_in = max((point.net_deposits for point in points), default=0)
    profits = [point.equity - point.net_deposits for point in points]
    fees = sum(fill.open_fee + fill.close_fee + fill.builder_fee for fill in fills)
    return {
        "name": student.name,
        "equity": account_margin.wallet(core, account).equity / MICRO,
        "return": profits[-1] / paid_in if profits and paid_in > 0 else 0.0,
        "drawdown": _drawdown(paid_in, profits),
        "fees": fees / MICRO,
        "trades": len(fills),
    }


def _drawdown(paid_in: int, profits: Iterable[int]) -> float:
    """Return the largest fall from a high, as a share of it; deposits and withdrawals don't count."""
    high = worst = 0.0
    for profit in profits:
        value = paid_in + profit
        high = max(high, value)
        if high > 0:
            worst = max(worst, (high - value) / high)
    return worst


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return the leaderboard as a DataFrame with COLUMNS, and "seen" where the rows have it."""
    import pandas as pd

    rows = list(rows)
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in COLUMNS.items()})
