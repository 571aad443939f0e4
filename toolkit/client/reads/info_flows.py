"""What the methods of `session.info` do: one request, or all pages, whose rows are returned as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...coverage import joined as joined_coverage
from ...protocol.reads.endpoint import Param
from ...protocol.reads.info_queries import ENDPOINTS
from ...suggestions import Suggesting
from ..io.flow import Flow
from .reading import InfoSession, Reader

if TYPE_CHECKING:
    import pandas as pd

ANNUALISED = "funding_rate_history"
"""The query whose frame has one column more: `annualised`, as in `session.funding_rates()`."""


class InfoFlows(Suggesting):
    """Base of Info and AsyncInfo. The methods of the queries are in the module `info`.

    Parameters
    ----------
    session : InfoSession
        The session that they read for.
    """

    def __init__(self, session: InfoSession) -> None:
        self._session = session
        self._driver = session._driver
        self._reader = Reader(session)

    def _query(
        self, name: str, exact: bool, index: str | None, progress: bool | None = None, /, **given: Any
    ) -> Flow[pd.DataFrame]:
        """Send a query with the arguments of its method. Where rows have times and no page is given, read all pages."""
        from .derived_columns import with_annual_rate
        from .frames import indexed, joined

        endpoint, symbols = ENDPOINTS[name], given.get("symbol")
        if name == ANNUALISED and isinstance(symbols, Iterable) and not isinstance(symbols, str):
            parts: dict[object, pd.DataFrame] = {}
            for symbol in symbols:
                part = yield from self._query(name, exact, None, progress, **{**given, "symbol": symbol})
                parts.setdefault(part["symbol"].iloc[0] if len(part) else symbol, part)  # by name and by code
            frame = joined([*parts.values()])
            frame.attrs["missing"] = ". ".join(filter(None, (part.attrs.get("missing") for part in parts.values())))
            frame.attrs["coverage"] = joined_coverage(part.attrs.get("coverage") for part in parts.values())
            return indexed(frame, index)
        # A venue may not know a parameter, so those that the caller left at their defaults are not sent.
        for param in endpoint.params.values():
            if _is_same(given[param.name], default_of(param, windowed=endpoint.windowed)):
                del given[param.name]
        if endpoint.windowed and not {"page", "page_size"} & given.keys():
            window = given.pop("start", None), given.pop("end", None), progress
            read = yield from self._reader.resumable(name, given, *window)
            frame = yield from self._reader.frame_of([read], read.newest_first()[::-1], exact=exact)
        else:
            frame = yield from self._reader.table(name, given, exact)
        return indexed(with_annual_rate(frame, exact) if name == ANNUALISED else frame, index)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self._session.environment.name}: {', '.join(ENDPOINTS)}>"


def default_of(param: Param, *, windowed: bool) -> object:
    """Return the default of a method's argument.

    Parameters
    ----------
    param : Param
        Declaration of the parameter.
    windowed : bool
        Whether the query reads all its pages where none is given.
    """
    if param.required or param.leading or (windowed and param.kind == "page"):
        return None
    return param.default


def _is_same(value: object, default: object) -> bool:
    """Return whether an argument has its default. Rows of tables, which are no plain values, are never compared."""
    return type(value) is type(default) and value == default
