"""Shared parts of the answers to Info queries: the objects that parameters name, filters, and pages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from ...errors import MalformedRequest
from ...products import VenueProduct
from ..engine.core import Core
from ..model.accounts import VenueAccount
from ..model.history import Log

Values = Mapping[str, Any]
"""Checked parameters by wire name, defaults filled in."""
T = TypeVar("T")
Test = Callable[[Any], bool]


def account_of(core: Core, values: Values) -> VenueAccount | None:
    """Return the account of an address parameter, `None` for an address without an account.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    address = values["userAddr"]
    return None if address is None else core.state.accounts.get(address)


def product_of(core: Core, values: Values, name: str = "symbol") -> VenueProduct | None:
    """Return the product of a code parameter, `None` without one.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    name : str, optional
        Name of the parameter (default: "symbol").

    Raises
    ------
    MalformedRequest
        If the code is unknown.
    """
    code = values[name]
    if code is None:
        return None
    product = core.products.get(code)
    if product is None:
        raise unknown_product(core, name, code)
    return product


def unknown_product(core: Core, name: str, value: object) -> MalformedRequest:
    """Return the error for a code or symbol that is not listed.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    name : str
        Name of the parameter.
    value : object
        Its value.
    """
    known = ", ".join(f"{product.code} {product.symbol}" for product in core.products.values())
    text = f"{name} {value!r} is not a product here. There are {known}"
    return MalformedRequest(text, field=name, rule="listed", value=value)


def page_of(
    values: Values, total: int, records: Iterable[Any], row: Callable[[Any], Any] | None = None, size: str = "pageSize"
) -> dict[str, Any]:
    """Return one page of records, which are read no further than needed.

    `row` makes the row of a record. Without it the records are rows already.

    Parameters
    ----------
    values : Values
        Checked parameters by wire name.
    total : int
        Number of all records.
    records : iterable of object
        All records, in order.
    row : callable or None, optional
        Makes the row of a record (default: none, the records are rows).
    size : str, optional
        Name of the parameter that has the size of a page (default: "pageSize").
    """
    begin = (values["page"] - 1) * values[size]
    items = list(islice(records, begin, begin + values[size])) if begin < total else []
    return {"total": total, "items": items if row is None else list(map(row, items))}


def window(values: Values, times: Sequence[Any], key: Callable[[Any], int]) -> range:
    """Return the range of positions whose time lies between startTime and endTime, both included.

    Parameters
    ----------
    values : Values
        Parameters with startTime and endTime, Unix ms. Without one, that end is open.
    times : sequence of object
        Records in order of time, or what `key` finds their time by.
    key : callable
        Returns the time of an item, Unix ms.
    """
    start, end = values.get("startTime"), values.get("endTime")
    low = 0 if start is None else bisect_left(times, start, key=key)
    high = len(times) if end is None else bisect_right(times, end, key=key)
    return range(low, max(low, high))


def paged_log(
    values: Values,
    log: Log[T],
    address: str,
    row: Callable[[T], dict[str, Any]],
    tests: Sequence[Test] = (),
    *,
    index: Mapping[str, list[int]] | None = None,
) -> dict[str, Any]:
    """Return a page of one account's records, newest first: within the window, passing every test.

    `index` has the positions of each account's records where they are a part of the log. Without tests the length of
    the window is the total, and only the records of the page are read.

    Parameters
    ----------
    values : Values
        Checked parameters by wire name.
    log : Log of T
        Records of all accounts.
    address : str
        Account in lower case.
    row : callable
        Makes the row of a record.
    tests : sequence of Test, optional
        Conditions that each record must pass (default: none).
    index : mapping of str to list of int or None, optional
        Account → positions of its records, where they are a part of the log (default: the log's own).
    """
    records: list[Any] = log.records
    positions = (log.by_account if index is None else index).get(address, [])
    span = window(values, positions, lambda at: records[at].time)
    newest = (records[positions[at]] for at in reversed(span))
    return tested_page(values, len(span), newest, row, tests)


def tested_page(
    values: Values, total: int, newest: Iterable[T], row: Callable[[T], dict[str, Any]], tests: Sequence[Test]
) -> dict[str, Any]:
    """Return a page of those of `total` records that pass every test.

    Parameters
    ----------
    values : Values
        Checked parameters by wire name.
    total : int
        Number of all records.
    newest : iterable of T
        The records, newest first.
    row : callable
        Makes the row of a record.
    tests : sequence of Test
        Conditions that each record must pass.
    """
    # Without tests the total is known, and only the records of the page are read.
    if not tests:
        return page_of(values, total, newest, row)
    found = [record for record in newest if all(test(record) for test in tests)]
    return page_of(values, len(found), found, row)


def equals(values: Values, **fields: str) -> list[Test]:
    """Return tests for the parameters that were given.

    Parameters
    ----------
    values : Values
        Checked parameters by wire name.
    **fields : str
        Attribute of the record → name of the parameter.
    """

    def test(attribute: str, wanted: object) -> Test:
        return lambda record: getattr(record, attribute) == wanted

    return [test(attribute, values[name]) for attribute, name in fields.items() if values[name] is not None]
