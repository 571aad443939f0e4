"""Named tuples with other values."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

Row = TypeVar("Row", bound=NamedTuple)


def changed(row: Row, **fields: object) -> Row:
    """Return a named tuple with some fields changed, as `copy.replace` does from CPython 3.13 on."""
    return row._replace(**fields)
