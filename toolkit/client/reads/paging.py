"""Long reads: page after page of a query, complete and without doubles while new rows arrive, resumable.

Rows come newest first. A page number is no anchor, because every new row pushes the others down a place; the time of
the oldest row read so far is one. So each request asks for the first page up to that time (both ends of a window are
included) and the rows that were seen already are dropped by their id. Where more rows than a page share one
millisecond, further pages of that same window are read. Queries without a window are read by page number, which doubles
rows when new ones arrive but never skips any, as rows are only added in front.

A venue that answers the same rows to every page ends the read; where there may be more of them, a DataWarning says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...protocol.reads.info import Endpoint
from ..io.flow import Flow, Reply
from .frames import DataWarning, data_of
from .progress import Progress
from .reading import Query

PAGE_SIZE = 500
"""Rows asked for at once; a venue that gives fewer is followed all the same."""

_SAME_PAGES = 3
"""A page that comes this often in a row, asked for by different numbers, is all that the venue tells."""
_ROUND = 10
"""A list that was cut off has a round number of rows."""
_LATEST = 253_402_300_800_000
"""The year 10000 in ms: no row is from then."""

Ask = Callable[[Query], Flow[Reply]]


@dataclass
class Read:
    """A long read on its way. It can be taken up again after a failure with `run`.

    Attributes: `endpoint`, `query` (without page, window end), `start` and `end` of the window (ms, None is open),
    `rows` by identity in the order of arrival, `pages` (answers as they came), `done`.
    """

    endpoint: Endpoint
    query: Query
    start: int | None = None
    end: int | None = None
    rows: dict[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    pages: list[bytes] = field(default_factory=list)
    done: bool = False
    _anchor: int | None = None
    _page: int = 1
    _in_window: int = 0
    _newest: int | None = None
    _last: list[tuple[str, ...]] = field(default_factory=list)
    _repeats: int = 0

    def run(self, ask: Ask, progress: Progress) -> Flow[None]:
        """Read until nothing is left. An error leaves what was read in place; run again to go on."""
        if self.rows:
            yield from self._catch_up(ask)
        while not self.done:
            yield from self._step(ask, progress)
        if self.endpoint.record.changing and len(self.pages) > 1:
            yield from self._refresh(ask)

    def newest_first(self) -> list[Mapping[str, Any]]:
        """Return the rows by time and, within a millisecond, by number, newest first."""
        if not self._windowed:
            return list(self.rows.values())
        numbered = sorted(self.rows.items(), key=lambda item: (self._time(item[1]), _number(item[0])), reverse=True)
        return [row for _, row in numbered]

    @property
    def _windowed(self) -> bool:
        return "endTime" in self.endpoint.params and bool(self.endpoint.record.time)

    def _time(self, row: Mapping[str, Any]) -> int:
        """Return when a row happened in ms; 0 where that can't be read, so that it comes last."""
        try:
            time = int(row.get(self.endpoint.record.time) or 0)
        except (TypeError, ValueError, OverflowError):
            return 0
        return time if 0 <= time < _LATEST else 0

    def _times(self, rows: Iterable[Mapping[str, Any]]) -> list[int]:
        """Return the times that can be read."""
        return [time for time in map(self._time, rows) if time]

    def _step(self, ask: Ask, progress: Progress) -> Flow[None]:
        """Ask for one page, keep what is new of it and move the anchor."""
        reply = yield from ask(self._ask_for(self._page, self.end if self._anchor is None else self._anchor))
        data = data_of(reply.body)
        rows = [row for row in self.endpoint.rows(data) if isinstance(row, Mapping)]
        if not self.pages and rows and self._windowed:
            self._newest = max(self._times(rows), default=None)
        self.pages.append(reply.body)
        fresh = self._keep(rows)
        self._in_window += len(rows)
        total = self.endpoint.total(data)
        if len(self.pages) == 1:
            progress.expect(total)
        progress.add(len(fresh))
        self.done = not rows or (total is not None and self._in_window >= total) or self._goes_round(rows, total)
        oldest = min(self._times(fresh), default=None) if self._windowed else None
        if oldest is not None and oldest != self._anchor:
            self._anchor, self._page, self._in_window = oldest, 1, 0
        else:
            self._page += 1

    def _goes_round(self, rows: list[Mapping[str, Any]], total: int | None) -> bool:
        """Tell whether the venue answers one page after the other with the same rows."""
        keys = [identity(self.endpoint, row) for row in rows]
        self._repeats = self._repeats + 1 if keys == self._last else 1
        self._last = keys
        if self._repeats < _SAME_PAGES:
            return False
        if len(rows) % _ROUND == 0 if total is None else total > len(self.rows):
            said = "" if total is None else f" of {total}"
            warnings.warn(
                f"{self.endpoint.path}: the venue answers every page with the same {len(rows)} rows; "
                f"{len(self.rows)}{said} rows were read, and there may be more",
                DataWarning,
                stacklevel=2,
            )
        return True

    def _keep(self, rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        fresh = []
        for row in rows:
            key = identity(self.endpoint, row)
            if key not in self.rows:
                fresh.append(row)
                self.rows[key] = row
        return fresh

    def _catch_up(self, ask: Ask) -> Flow[None]:
        """After an interruption: read what is newer than the newest row."""
        if self._windowed and self.end is None:
            yield from self._read_again(ask, max(self._times(self.rows.values()), default=self.start or 0))

    def _refresh(self, ask: Ask) -> Flow[None]:
        """Read rows that changed during the read: they moved to the front, maybe before they were seen."""
        since, changed = self._newest, True
        while since is not None and changed:
            since, changed = yield from self._read_again(ask, since)

    def _read_again(self, ask: Ask, since: int) -> Flow[tuple[int | None, bool]]:
        """Read the window from `since` on, put its rows in place of the old; return its newest time, and if any did."""
        again = Read(self.endpoint, self.query, start=since, end=self.end)
        while not again.done:
            yield from again._step(ask, Progress.silent())
        changed = any(self.rows.get(key) != row for key, row in again.rows.items())
        self.pages += again.pages
        self.rows |= again.rows
        return again._newest, changed

    @property
    def _size(self) -> int:
        high = self.endpoint.params[self.endpoint.size_param].high or PAGE_SIZE
        return min(PAGE_SIZE, high)

    def _ask_for(self, page: int, end: int | None) -> Query:
        pairs = list(self.query)
        if self.start is not None:
            pairs.append(("startTime", str(self.start)))
        if end is not None and self._windowed:
            pairs.append(("endTime", str(end)))
        return (*pairs, ("page", str(page)), (self.endpoint.size_param, str(self._size)))


def _number(key: tuple[str, ...]) -> int:
    return int(key[0]) if len(key) == 1 and key[0].isdigit() else 0


def identity(endpoint: Endpoint, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells a row from the others: its identity fields, or all of it where one of them is missing."""
    key = tuple(str(row.get(name, "")) for name in endpoint.record.identity)
    return key if key and all(key) else tuple(f"{name}={row[name]}" for name in sorted(row))
