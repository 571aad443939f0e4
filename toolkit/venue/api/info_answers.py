"""Answers to Info queries, from the state and the history of a core.

The gateway calls `answer` with checked parameters. The queries themselves are the functions of the `info_*` modules
that have the name of their declaration.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...protocol.reads.info_queries import ENDPOINTS
from ..engine.core import Core
from . import info_accounts, info_market, info_programs
from .info_pages import Values

QUERIES: dict[str, Callable[[Core, Values], Any]] = {
    name: getattr(module, name)
    for module in (info_accounts, info_market, info_programs)
    for name in ENDPOINTS
    if hasattr(module, name)
}
"""Name of the declaration → function(core, values) that returns the answer's data."""

LONG = ("klines", "klines_last", "klines_before")
"""Queries that may compute a long history. They are answered from a view, so that nothing waits for them."""


def view(core: Core) -> Core:
    """Return what a long query reads of a core, as of now, while commands change the core itself.

    Only candles are copied: of all that these queries read, only the list of them and the last one change.

    Parameters
    ----------
    core : Core
        State machine of the venue. The lock is held.
    """
    history = copy.copy(core.state.history)
    history.candles = {
        code: [*kept[:-1], copy.copy(kept[-1])] if kept else [] for code, kept in history.candles.items()
    }
    seen, state = copy.copy(core), copy.copy(core.state)
    state.history = history
    seen.state = state
    return seen


def answer(core: Core, endpoint: str, values: Values) -> Any:
    """Return the data of an Info query, ready for JSON.

    For a long query it is an iterator over its rows.

    Parameters
    ----------
    core : Core
        State machine of the venue, or a `view` of it.
    endpoint : str
        Name of the query in `protocol.reads.info_queries.ENDPOINTS`.
    values : Values
        Result of its `parse`.

    Raises
    ------
    MalformedRequest
        If a well-formed parameter names no product, vault or past block.
    """
    return QUERIES[endpoint](core, values)
