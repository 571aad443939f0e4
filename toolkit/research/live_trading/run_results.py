"""The Results of a run, as its venue lists them at the end, and where it does not, as the run knows them itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd
from msgspec import structs

from ...errors import ExchangeError, TransportError
from ..account_data import OrderHandle
from ..analysis import results as tables
from ..analysis.recipes import Recipe
from ..analysis.results import Results, frame, records_frame
from ..market_data import time_index
from .run_state import NAN, RunState, funding_fee, insist, rows_of, utc

T = TypeVar("T")


def results_of(
    state: RunState, name: str, params: Mapping[str, Any], records: Sequence[Any], recipe: Recipe
) -> Results:
    """Return the Results of the run of a strategy. They are made also where the venue does not answer now.

    Parameters
    ----------
    state : RunState
        State of the run's account.
    name : str
        Name of the strategy.
    params : mapping of str to object
        Parameters of the strategy by name.
    records : sequence of (int, dict)
        Values that `ctx.record` kept, each with its time in Unix ms.
    recipe : Recipe
        How the run can be made again.
    """
    session, info, begun, symbols = state.session, state.session.info, utc(state.first_ms), list(state.symbols)
    samples = {sample[0]: sample[1:] for sample in state.samples}  # the last sample of a time counts
    index, rows = time_index(list(samples)), list(samples.values())
    equity = [(equity, balance, equity - balance) for equity, balance, _, _ in rows]
    sizes = pd.DataFrame([steps for _, _, steps, _ in rows], index=index, columns=symbols)
    marks = pd.DataFrame([prices for *_, prices in rows], index=index, columns=symbols)
    reasons = {placed.order_id: placed.reason for placed in state.placed}

    def orders() -> pd.DataFrame:
        # Where the table of orders has no creation time, the first event of the order has it.
        first = info.order_events(start=begun).groupby("order_id")["time"].min()
        return order_table(state.own_rows("orders", session.orders(start=begun, progress=False)), first, reasons)

    def fills() -> pd.DataFrame:
        return frame(dict(state.own_rows("fills", session.fills(start=begun, progress=False))), tables.FILLS)

    def funding() -> pd.DataFrame:
        paid = state.own_rows("funding_payments", info.funding_payments(start=begun))
        return _funding_table(map(funding_fee, rows_of(paid)))

    def transfers() -> pd.DataFrame:
        entries = state.own_rows("ledger", info.ledger(start=begun))
        seen = pd.to_datetime(entries["id"].astype(str).map(state.moved), unit="ms", utc=True)
        moved = entries.assign(symbol=entries["symbol"].fillna(""), time=seen.fillna(entries["time"]))
        return frame(dict(moved[~entries["kind"].isin(tables.SHOWN_ELSEWHERE)]), tables.TRANSFERS)

    known = [tuple(getattr(each, name) for name in tables.FILLS) for each in state.taken.values()]
    found = {
        "fills": _asked(state, "fills", fills, lambda: frame(known, tables.FILLS)),
        "orders": _asked(state, "orders", orders, lambda: _orders_as_placed(state.placed, begun)),
        "funding": _asked(state, "funding payments", funding, lambda: _funding_table(state.paid)),
        "transfers": _asked(state, "transfers", transfers, lambda: frame([], tables.TRANSFERS)),
    }
    return Results(
        name,
        pd.DataFrame(equity, index=index, columns=list(tables.EQUITY)).astype(tables.EQUITY),
        sizes * [float(product.step_size) for product in state.products.values()],
        marks.astype("float64").ffill().bfill(),
        **found,
        events=frame(state.notes, tables.EVENTS),
        records=records_frame(records),
        params=params,
        settings={
            "mode": state.mode,
            "environment": session.environment.name,
            "dry_run": state.dry_run,
            **({"position_mode": "HEDGE"} if any(book.hedge for book in state.books.values()) else {}),
            **({"at_start": state.at_start} if state.at_start else {}),
            **({"others": True} if state.others_traded else {}),
        },
        recipe=recipe,
    )


def _asked(state: RunState, what: str, read: Callable[[], T], known: Callable[[], T]) -> T:
    """Return a table as the venue lists it, else as the run knows it. What is unknown is an event of the run."""
    try:
        return insist(read)
    except (TransportError, ExchangeError) as error:
        said = f"{what} could not be read at the end, and are those that the run had read. Others are unknown"
        state.note("UNKNOWN", "", f"{said}: {error}")
    return known()


def _funding_table(payments: Iterable[Any]) -> pd.DataFrame:
    return frame([(fee.time, fee.symbol, *structs.astuple(fee)[2:]) for fee in payments], tables.FUNDING)


def _orders_as_placed(placed: Iterable[OrderHandle], begun: pd.Timestamp) -> pd.DataFrame:
    """Return orders as the run knows them: when each was placed, and last changed, it does not."""
    rows = [
        (begun, str(each.order.symbol), each.order_id, str(each.order.side), "", each.order.tif,
         float(each.order.price or NAN), float(each.order.trigger_price or NAN), float(each.order.quantity),
         each.filled, each.state, each.reason, begun)
        for each in placed
    ]  # fmt: skip
    return frame({name: [row[at] for row in rows] for at, name in enumerate(tables.ORDERS)}, tables.ORDERS)


def order_table(table: pd.DataFrame, placed: pd.Series[Any], reasons: Mapping[int, str]) -> pd.DataFrame:
    """Return `session.orders()` in the columns of `ORDERS`, oldest first.

    Parameters
    ----------
    table : DataFrame
        Frame of `session.orders()`.
    placed : Series
        Time of the first event of each order id.
    reasons : mapping of int to str
        Reason of a rejection or cancellation by order id.
    """
    table = table.sort_values("order_id").reset_index(drop=True)
    ids, columns = table["order_id"].tolist(), (table["order_id"], table["created"], table["time"])
    first = [placed.get(key, time) if pd.isna(made) else made for key, made, time in zip(*columns, strict=True)]
    prices = {name: table[name].astype("float64").replace(0.0, NAN) for name in ("price", "trigger_price")}
    further = {"time": first, "reason": [reasons.get(key, "") for key in ids], "updated": table["time"]}
    return frame({**table, **prices, **further}, tables.ORDERS)
