"""Returns that transfers do not touch: what is paid in is no profit, what is withdrawn no loss."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

CAPITAL_FLOWS = frozenset(
    {"DEPOSIT", "FAUCET", "WITHDRAW", "TRANSFER", "VAULT_DEPOSIT", "VAULT_WITHDRAW", "VAULT_REBALANCE"}
)
"""Kinds of ledger entries for money that its owner moves in or out."""


def growth(equity: Sequence[float], deposited: Sequence[float]) -> list[float]:
    """Return the value at each point of 1 invested at the first: the time-weighted return, plus 1.

    A cash flow between two points counts from the first of them on. A span that begins without capital counts as 1.

    Parameters
    ----------
    equity : sequence of float
        Equity at each point.
    deposited : sequence of float
        Deposits less withdrawals so far at each point, in the unit of `equity`.

    Returns
    -------
    list of float
        One value a point, 1.0 at the first.

    Examples
    --------
    >>> growth([1_000, 900, 1_900, 1_900], [0, 0, 1_000, 1_000])
    [1.0, 0.9, 0.9, 0.9]
    """
    grown = [1.0] * min(len(equity), 1)
    for (before, after), (brought, later) in zip(pairwise(equity), pairwise(deposited), strict=True):
        capital = before + later - brought
        grown.append(grown[-1] * float(after / capital) if capital > 0 else grown[-1])
    return grown
