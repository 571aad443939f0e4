"""The account of execution of a run: the fate of its orders, and their prices against those at the decision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...sides import BUYS

NAN = math.nan


def account(orders: pd.DataFrame, events: pd.DataFrame, fills: pd.DataFrame, marks: pd.DataFrame) -> dict[str, Any]:
    """Return how the orders of a run were executed.

    Parameters
    ----------
    orders : DataFrame
        Its orders, as in `Results.orders`.
    events : DataFrame
        Its events, as in `Results.events`.
    fills : DataFrame
        Its fills, as in `Results.fills`.
    marks : DataFrame
        Its mark prices, as in `Results.marks`.

    Returns
    -------
    dict of str to object
        All values are NaN for a run with fills and without orders. The values are:

        - orders: how many there were, those that were rejected before they were sent included
        - rejected, cancelled: how many of them. A cancelled order may have been filled in part
        - cut: how many of the cancelled ones the venue ended when they were filled in part: the CUT events of others
        - untriggered: how many wait for their trigger at the end
        - retried: exits that found nothing, or too little, at their trigger, and were tried again (in backtests)
        - passed: how often the price had passed the trigger of an exit before it stood
        - market_orders, found_nothing: market orders that were not rejected, and those that were not filled at all
        - unprotected: part of the time in positions without a stop-loss at the venue, a ratio
        - shortfall: implementation shortfall, USDC: side · (price − mid at the decision) · quantity. The mid is that of
          the last known mark when the order reached the venue. That of an exit at a trigger is its trigger price
        - shortfall_market, shortfall_limit, shortfall_trigger: the same of each kind of order
    """
    if not len(orders) and len(fills):
        return dict.fromkeys(NAMES, NAN)
    status, ended = orders["status"], orders["status"] == "CANCELED"
    filled, waits = orders["filled"] > 0, orders["trigger_price"].notna()
    market = (orders["type"] == "MARKET") & ~waits & (status != "REJECTED")
    refused, noted = int((status == "REJECTED").sum()), int((events["kind"] == "REJECTED").sum())
    nothing = int((market & ended & ~filled).sum())
    paid = shortfall(orders, fills, marks)
    counts = (
        len(orders) + max(noted - refused, 0), max(refused, noted), int(ended.sum()),
        max(int((events["kind"] == "CUT").sum()) - nothing, 0), int((status == "ORDER_STATUS_UNTRIGGERED").sum()),
        int((events["kind"] == "UNTRIGGERED").sum()), int((events["kind"] == "PASSED").sum()),
        int(market.sum()), nothing,
    )  # fmt: skip
    return dict(
        zip(NAMES, (*counts, unprotected(orders, fills, marks), sum(paid.values()), *paid.values()), strict=True)
    )


NAMES = (
    "orders", "rejected", "cancelled", "cut", "untriggered", "retried", "passed", "market_orders", "found_nothing",
    "unprotected", "shortfall", "shortfall_market", "shortfall_limit", "shortfall_trigger",
)  # fmt: skip
"""Names of the values of `account`."""


def in_words(found: dict[str, Any]) -> str:
    """Return what went wrong with the orders of a run that were not rejected, "" for nothing.

    Parameters
    ----------
    found : dict of str to object
        What `account` returned.
    """
    parts = []
    if found["found_nothing"] > 0:
        parts.append(f"{found['found_nothing']} of {found['market_orders']} market orders found nothing")
    if found["cut"] > 0:
        many = "orders were" if found["cut"] > 1 else "order was"
        parts.append(f"{found['cut']} {many} filled in part only")
    if found["retried"] > 0:
        many = "exits found too little at their" if found["retried"] > 1 else "exit found too little at its"
        parts.append(f"{found['retried']} {many} trigger")
    if found["passed"] > 0:
        many = "triggers before they" if found["passed"] > 1 else "trigger before it"
        parts.append(f"the price had passed {found['passed']} {many} stood")
    return ", ".join(parts)


def shortfall(orders: pd.DataFrame, fills: pd.DataFrame, marks: pd.DataFrame) -> dict[str, float]:
    """Return the implementation shortfall of market, limit and trigger orders, USDC. See `account`.

    Parameters
    ----------
    orders : DataFrame
        Orders of the run.
    fills : DataFrame
        Fills of the run.
    marks : DataFrame
        Mark prices of the run.
    """
    known = orders.drop_duplicates("order_id").set_index("order_id")
    rows = fills[fills["order_id"].isin(known.index)]
    sent = known.loc[rows["order_id"]]
    mids = _marked(marks, sent["symbol"], _ms(sent["time"]), "right")
    triggers, limits = sent["trigger_price"].to_numpy(), sent["price"].to_numpy()
    reference = np.where(np.isnan(triggers), mids, triggers)
    sign = np.where(rows["side"].isin(BUYS), 1.0, -1.0)
    paid = sign * (rows["price"].to_numpy() - reference) * rows["quantity"].to_numpy()
    kinds = np.where(~np.isnan(triggers), "trigger", np.where(np.isnan(limits), "market", "limit"))
    return {kind: float(paid[kinds == kind].sum()) for kind in ("market", "limit", "trigger")}


def unprotected(orders: pd.DataFrame, fills: pd.DataFrame, marks: pd.DataFrame) -> float:
    """Return the part of the time in positions without a stop-loss at the venue, NaN without a position.

    Parameters
    ----------
    orders : DataFrame
        Orders of the run.
    fills : DataFrame
        Fills of the run.
    marks : DataFrame
        Mark prices of the run. The last one is the end of the run.
    """
    held = bare = 0.0
    exits = orders[orders["trigger_price"].notna() & (orders["status"] != "REJECTED")]
    # A stop that sells stays below the price, and a take-profit above it, until its last change.
    before = _marked(marks, exits["symbol"], _ms(exits["updated"]), "left")
    way = np.where(exits["side"].str.startswith("SELL"), -1, 1)
    stops = exits[(exits["trigger_price"].to_numpy() - before) * way >= 0]
    end = _ms(marks.index[-1:])
    for symbol, part in fills.groupby("symbol"):
        own = stops[stops["symbol"] == symbol]
        begun, sides = _ms(own["time"]), np.where(own["side"].str.startswith("SELL"), 1, -1)
        over = np.where(own["status"].isin(("FILLED", "CANCELED")), _ms(own["updated"]), end)
        times, signed = _ms(part["time"]), np.where(part["side"].isin(BUYS), 1, -1) * part["quantity"].to_numpy()
        edges = np.unique(np.concatenate([times, begun, over, end]))
        size = np.append(0.0, np.cumsum(signed))[np.searchsorted(times, edges[:-1], side="right")]
        lasting, way = np.diff(edges), np.where(np.abs(size) > 1e-12, np.sign(size), 0)
        held += float(lasting[way != 0].sum())
        for one in (1, -1):
            starts, ends = np.sort(begun[sides == one]), np.sort(over[sides == one])
            standing = starts.searchsorted(edges[:-1], side="right") - ends.searchsorted(edges[:-1], side="right")
            bare += float(lasting[(way == one) & (standing <= 0)].sum())
    return bare / held if held else NAN


def _ms(times: Any) -> NDArray[np.int64]:
    return np.asarray(pd.DatetimeIndex(times).as_unit("ms").asi8)


def _marked(marks: pd.DataFrame, symbols: pd.Series[str], times: NDArray[np.int64], side: Any) -> NDArray[np.float64]:
    """Return the last mark of each symbol at a time ("right"), or before it ("left"). Before the first: that one."""
    rows = (_ms(marks.index).searchsorted(times, side=side) - 1).clip(0)
    columns = marks.columns.get_indexer(pd.Index(symbols))
    return np.where(columns >= 0, marks.to_numpy(dtype="float64")[rows, columns], NAN) if len(times) else np.zeros(0)
