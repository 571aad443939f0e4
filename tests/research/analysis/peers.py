"""Thirty equity curves that end anywhere, and what quantstats, empyrical-reloaded and backtesting.py measure on them.

`python -m tests.research.analysis.peers` writes `peers.json` anew, in an environment that has the three libraries.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FILE = Path(__file__).with_suffix(".json")
KINDS = ("mid-day", "bankrupt", "gaps", "one trade", "constant", "liquidated at the end")
SPACINGS = {"1h": 980, "5min": 2_900, "4h": 301, "1D": 71, "17min": 4_001}
"""Points of each spacing: the last one is somewhere within a day or an hour."""


def curves() -> dict[str, pd.Series[float]]:
    """Return equity by name, USDC over UTC times."""
    made = {}
    for number, (spacing, count) in enumerate(SPACINGS.items()):
        for kind in KINDS:
            dice = np.random.default_rng([number, KINDS.index(kind)])
            index = pd.date_range("2026-01-30 07:13", periods=count, freq=spacing, tz="UTC")
            moves = dice.normal(0.0002, 0.01, count)
            if kind == "constant":
                moves[:] = 0.0
            if kind == "one trade":
                moves[: count // 3] = moves[count // 2 :] = 0.0
            equity = pd.Series(10_000 * np.exp(moves.cumsum()), index)
            if kind == "bankrupt":
                equity.iloc[count // 2 :] = 0.0
            if kind == "liquidated at the end":
                equity.iloc[-2:] *= 0.1
            if kind == "gaps":
                known = np.repeat(dice.random(count // 10 + 1) > 0.3, 10)[:count]
                equity = equity[known | (np.arange(count) > count - 3)]
            made[f"{spacing} {kind}"] = equity
    return made


def returns_of(equity: pd.Series[float]) -> tuple[pd.Series[float], float]:
    """Return the returns of whole periods since the start and of the rest, by pandas, and the periods of a year."""
    step = "24h" if equity.index[-1] - equity.index[0] >= pd.Timedelta("30D") else "1h"
    ends = equity.resample(step, origin="start", closed="right", label="right").last().ffill()
    return ends.pct_change().iloc[1:].dropna(), pd.Timedelta("365D") / pd.Timedelta(step)


def measured(equity: pd.Series[float]) -> dict[str, dict[str, float]]:
    """Return what each of the libraries measures on a curve."""
    import empyrical  # type: ignore[import-not-found,unused-ignore]
    import quantstats.stats as qs  # type: ignore[import-not-found,unused-ignore]
    from backtesting._stats import compute_stats

    returns, year = returns_of(equity)
    naive = returns.set_axis(returns.index.tz_localize(None))
    prices = pd.DataFrame(dict.fromkeys(("Open", "High", "Low", "Close"), 1.0), equity.index)
    columns = ["EntryBar", "ExitBar", "Size", "EntryPrice", "ExitPrice", "PnL", "ReturnPct", "EntryTime", "ExitTime"]
    trades = pd.DataFrame(0.0, [], columns).assign(Commission=0.0, Duration=pd.Timedelta(0), Tag="")
    theirs = compute_stats(trades, equity.to_numpy(), prices, None)
    return {
        "quantstats": {
            "sharpe": qs.sharpe(naive, periods=year),
            "sortino": qs.sortino(naive, periods=year),
            "volatility": qs.volatility(naive, periods=year),
            "total_return": qs.comp(naive),
        },
        "empyrical": {
            "sharpe": empyrical.sharpe_ratio(returns, annualization=year),
            "sortino": empyrical.sortino_ratio(returns, annualization=year),
            "volatility": empyrical.annual_volatility(returns, annualization=year),
            "max_drawdown": empyrical.max_drawdown(equity.pct_change().dropna()),
            "value_at_risk": empyrical.value_at_risk(returns, 0.05),
            "expected_shortfall": empyrical.conditional_value_at_risk(returns, 0.05),
        },
        "backtesting.py": {
            "total_return": theirs["Return [%]"] / 100,
            "max_drawdown": theirs["Max. Drawdown [%]"] / 100,
        },
    }


def plain(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


if __name__ == "__main__":
    table = {
        name: {peer: {key: plain(value) for key, value in values.items()} for peer, values in measured(equity).items()}
        for name, equity in curves().items()
    }
    FILE.write_text(json.dumps(table, indent=1) + "\n")
