"""What an Info query is: its parameters and their checks, its record, and the shapes of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ...errors import MalformedRequest
from .info_params import Param, ruled
from .record import Record

_COUNT = re.compile("[0-9]{1,18}")
DataShape = Literal["list", "paged", "one"]
ALWAYS_SENT = ("reason",)
"""Fields that are not published and that the local venue sends in either form: its rules ask for the reason of each
try of an exit and of each cancellation that the user did not ask for."""


class Endpoint:
    """One Info query.

    Attributes: `name` (Python name), `path`, `summary`, `params` by wire name, `record`, `shape` of the data
    ("list": an array, "paged": an object with total and items, "one": a single object), `items` (the key of the rows
    if the data is an object), `order` (how rows are sorted), `published` (whether the venue documents the record),
    `formerly` (an earlier Python name, which stays callable and is listed nowhere).
    """

    __slots__ = ("formerly", "items", "name", "order", "params", "path", "published", "record", "shape", "summary")

    def __init__(
        self,
        name: str,
        path: str,
        summary: str,
        record: Record,
        params: Iterable[Param] = (),
        *,
        shape: DataShape = "list",
        items: str = "items",
        order: str = "",
        published: bool = True,
        formerly: str = "",
    ) -> None:
        self.name = name
        self.path = path
        self.summary = summary
        self.record = record
        self.params = {param.wire: param for param in params}
        self.shape: DataShape = shape
        self.items = items
        self.order = order
        self.published = published
        self.formerly = formerly

    @property
    def size_param(self) -> str:
        """Wire name of the page-size parameter, "" for a query without pages."""
        return next((name for name in ("pageSize", "size") if name in self.params), "")

    @property
    def windowed(self) -> bool:
        """True for a query whose pages can be read completely by the times of its rows."""
        return self.shape == "paged" and "endTime" in self.params and bool(self.record.time)

    def parse(self, query: Iterable[tuple[str, str]] | Mapping[str, str]) -> dict[str, Any]:
        """Return the typed values of a query string by wire name, including defaults.

        Raises MalformedRequest (40003), which names a parameter that is unknown, repeated, missing or invalid.
        """
        pairs = query.items() if isinstance(query, Mapping) else query
        given: dict[str, str] = {}
        for name, value in pairs:
            if name not in self.params:
                raise ruled(name, "known", value, f"{self.path} has no such parameter; {self._known()}")
            if name in given:
                raise ruled(name, "once", value, "is given more than once")
            given[name] = value
        values: dict[str, Any] = {}
        for name, param in self.params.items():
            if name in given:
                values[name] = param.parse(given[name])
            elif param.required:
                raise ruled(name, "required", None, f"is required by {self.path}: {param.rule}")
            else:
                values[name] = param.default
        self._check_window(values)
        return values

    def _known(self) -> str:
        return f"it takes {', '.join(self.params)}" if self.params else "it takes none"

    @staticmethod
    def _check_window(values: Mapping[str, Any]) -> None:
        start, end = values.get("startTime"), values.get("endTime")
        if start is not None and end is not None and start > end:
            raise ruled("startTime", "order", start, f"must not be after endTime {end}")

    def rows(self, data: Any) -> list[Any]:
        """Return the rows of a response's `data`, in any of the shapes that the venue is known to use."""
        if data is None:
            return []
        if isinstance(data, list):
            return data
        if isinstance(data, Mapping):
            for key in (self.items, "items", "list"):
                if isinstance(data.get(key), list):
                    return list(data[key])
            # An object without the expected keys is the row itself, or a page without rows.
            if self.shape == "one":
                return [data]
            if self.items in data or "items" in data or "total" in data:
                return []
            return [data]
        raise MalformedRequest(
            f"the data of {self.path} is {type(data).__name__}; an array or an object was expected",
            field="data",
            rule="shape",
            value=data,
        )

    def as_published(self, data: Any) -> Any:
        """Return an answer's data without the fields that are not published. Its rows are changed in place."""
        hidden = [one.wire for one in self.record.fields if not (one.published or one.wire in ALWAYS_SENT)]
        if hidden and self.published:
            for row in self.rows(data):
                for name in hidden:
                    row.pop(name, None)
        return data

    def total(self, data: Any) -> int | None:
        """Return the number of rows in all pages, None if the venue does not report it."""
        total = data.get("total") if isinstance(data, Mapping) else None
        return int(total) if isinstance(total, int | str) and _COUNT.fullmatch(str(total)) else None
