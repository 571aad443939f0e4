"""Answers to Info queries, from the state and the history of a core.

The gateway calls `answer` with checked parameters. The queries themselves are in the `info_*` modules, registered by
the name of their declaration.
"""

from __future__ import annotations

import copy
import heapq
import importlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import MalformedRequest
from ...products import Product
from ...protocol.reads.info_queries import ENDPOINTS
from ..model.accounts import VenueAccount
from ..model.history import Log

if TYPE_CHECKING:
    from ..engine.core import Core

Values = Mapping[str, Any]
"""Checked parameters by wire name, defaults filled in."""
QueryHandler = Callable[["Core", Values], Any]
T = TypeVar("T")
Test = Callable[[Any], bool]

MODULES = ("info_accounts", "info_market", "info_programs")

QUERIES: dict[str, QueryHandler] = {}
"""Name of the declaration → function(core, values) that returns the answer's data."""


def answer(core: Core, endpoint: str, values: Values) -> Any:
    """Return the data of an Info query, JSON-ready.

    `endpoint` is a name in `protocol.reads.info_queries.ENDPOINTS`, `values` is the result of its `parse`. Raises
    MalformedRequest for a well-formed parameter that names no product, vault or past block.
    """
    if endpoint not in QUERIES:  # the modules register their queries when they are imported
        for module in MODULES:
            importlib.import_module(f".{module}", __package__)
        missing = ENDPOINTS.keys() - QUERIES.keys()
        assert not missing, f"no answer for {sorted(missing)}"
    return QUERIES[endpoint](core, values)


LONG = ("klines", "klines_last", "klines_before")
"""Queries that may compute a long history; they are answered from a view, so that nothing waits for them."""


def view(core: Core) -> Core:
    """Return what a long query reads of a core, as of now, while commands change the core itself.

    Only candles are copied: of all that these queries read, only the list of them and the last one change.
    """
    history = copy.copy(core.state.history)
    history.candles = {
        code: [*kept[:-1], copy.copy(kept[-1])] if kept else [] for code, kept in history.candles.items()
    }
    seen, state = copy.copy(core), copy.copy(core.state)
    state.history = history
    seen.state = state
    return seen


def answers(endpoint: str) -> Callable[[QueryHandler], QueryHandler]:
    """Register the function that answers a query."""

    def register(query: QueryHandler) -> QueryHandler:
        QUERIES[endpoint] = query
        return query

    return register


def account_of(core: Core, values: Values, name: str = "userAddr") -> VenueAccount | None:
    """Return the account of an address parameter; None for an address without an account."""
    address = values[name]
    return None if address is None else core.state.accounts.get(address)


def product_of(core: Core, values: Values, name: str = "symbol") -> Product | None:
    """Return the product of a code parameter, None without one. Raises MalformedRequest for an unknown code."""
    code = values[name]
    if code is None:
        return None
    product = core.products.get(code)
    if product is None:
        raise unknown_product(core, name, code)
    return product


def unknown_product(core: Core, name: str, value: object) -> MalformedRequest:
    """Return the error for a code or symbol that is not listed."""
    known = ", ".join(f"{product.code} {product.symbol}" for product in core.products.values())
    return MalformedRequest(
        f"{name} {value!r} is not a product here; there are {known}", field=name, rule="listed", value=value
    )


def page_of(
    values: Values, total: int, records: Iterable[Any], row: Callable[[Any], Any] | None = None, size: str = "pageSize"
) -> dict[str, Any]:
    """Return one page of `records`, which are all records in order, read no further than needed.

    `row` makes the row of a record; without it the records are rows already.
    """
    begin = (values["page"] - 1) * values[size]
    items = list(islice(records, begin, begin + values[size])) if begin < total else []
    return {"total": total, "items": items if row is None else list(map(row, items))}


def window(values: Values, times: Sequence[Any], key: Callable[[Any], int]) -> range:
    """Return the range of positions whose time lies between startTime and endTime, both included."""
    start, end = values.get("startTime"), values.get("endTime")
    low = 0 if start is None else bisect_left(times, start, key=key)
    high = len(times) if end is None else bisect_right(times, end, key=key)
    return range(low, max(low, high))


def paged_log(
    values: Values,
    log: Log[T],
    positions: Sequence[int],
    time: Callable[[T], int],
    tests: Sequence[Test],
    row: Callable[[T], dict[str, Any]],
) -> dict[str, Any]:
    """Return a page of one account's records, newest first: within the window, passing every test.

    Without tests the length of the window is the total, and only the records of the page are read.
    """
    records = log.records
    span = window(values, positions, lambda at: time(records[at]))
    if not tests:
        newest = (records[positions[at]] for at in reversed(span))
        return page_of(values, len(span), newest, row)
    found = [record for at in reversed(span) if passes(record := records[positions[at]], tests)]
    return page_of(values, len(found), found, row)


def passes(record: object, tests: Sequence[Test]) -> bool:
    """Return whether a record passes every test."""
    return all(test(record) for test in tests)


def merged(newest_first: Sequence[Iterable[T]], key: Callable[[T], Any]) -> Iterator[T]:
    """Merge iterables that each descend by `key` into one that descends."""
    return heapq.merge(*newest_first, key=key, reverse=True)


def equals(values: Values, **fields: str) -> list[Test]:
    """Return tests for the parameters that were given: keyword is the record's attribute, value the parameter."""
    return [_equal(attribute, values[name]) for attribute, name in fields.items() if values[name] is not None]


def _equal(attribute: str, wanted: object) -> Test:
    return lambda record: getattr(record, attribute) == wanted
