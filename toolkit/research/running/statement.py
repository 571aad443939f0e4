"""A statement of an account: each change of its balance, from the opening balance to the closing one."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd

from ...client.account.account_book import run_of
from ...client.limits.run_status import names_of_runs
from ...client.reads.reading import whole
from ...errors import BadAnswer

if TYPE_CHECKING:
    from ...client.reads.conversion import Time
    from ...plain_session import Session

USDC = 1
"""Code of the currency."""


def read_statement(session: Session, start: Time, end: Time | None) -> pd.DataFrame:
    """Return each change of an account's balance. See `Session.statement`.

    Parameters
    ----------
    session : Session
        Session of the account.
    start : time
        First time.
    end : time or None
        Last time, None for now.
    """
    entries = whole(session.info.ledger(currency=USDC, exact=True, start=start, end=end))
    rows = entries[["time", "kind", "symbol", "amount", "balance", "reference"]].copy()
    rows.insert(3, "run", _runs_of(session, entries))
    if rows.empty:
        before = session.info.ledger(currency=USDC, exact=True, page=1, page_size=1, end=end)
        opening = closing = before["balance"].iloc[0] if len(before) else Decimal(0)
    else:
        opening, closing = rows["balance"].iloc[0] - rows["amount"].iloc[0], rows["balance"].iloc[-1]
    expected = opening
    for entry, amount, balance in zip(entries["id"], rows["amount"], rows["balance"], strict=True):
        expected += amount
        if expected != balance:
            text = f"the balance after entry {entry} is {balance}, by those before it {expected}"
            raise BadAnswer(f"{text}. Entries may be missing: ask again, or for another time")
    # As text, since Parquet keeps attributes as JSON.
    rows.attrs = {"opening": f"{opening:f}", "closing": f"{closing:f}", "account": str(session.account)}
    return rows


def _runs_of(session: Session, entries: pd.DataFrame) -> pd.Series[str]:
    """Return the run of each entry that belongs to an order, "" for the owner's hand and what belongs to none."""
    names = names_of_runs(session.environment.label, str(session.account))
    none = pd.Series("", index=entries.index, dtype="string")
    if not names or entries.empty:
        return none
    fills = whole(session.fills(start=entries["time"].iloc[0], progress=False))
    named = fills[fills["client_order_id"].notna()]
    by_order = dict[str, str]()
    for order_id, client_id in zip(named["order_id"].astype("string"), named["client_order_id"], strict=True):
        if (number := run_of(client_id)) is not None:
            by_order[order_id] = names.get(number, "")
    of_orders = entries["kind"].isin(("TRADING_FEE", "REALIZED_PNL"))
    return entries["reference"].where(of_orders).map(by_order).fillna("").astype("string")
