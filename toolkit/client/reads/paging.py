"""Complete reads of paged queries: every row once while new rows arrive, resumable after a failure.

Rows come newest first. A page number is no fixed position, because every new row moves the others down by one. The time
of the oldest row read so far is one. So each request asks for the first page up to that time (both ends of a window are
included) and drops rows that were read already, by their identity. Where more rows than a page share one millisecond,
further pages of that window are read. Queries without a window are read by page number: new rows shift the pages, which
repeats rows but never skips any.

A venue that returns the same rows for every page ends the read, with a DataWarning where there may be more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import warn
from ...progress import Progress
from ...protocol.reads.door import rows_of
from ...protocol.reads.endpoint import MAX_TIME, Endpoint
from ..io.flow import Flow, Reply
from .conversion import Query
from .frames import data_of

PAGE_SIZE = 500
"""Rows requested per page. A venue may return fewer."""

_REPEATED_PAGES = 3
"""A page that is returned this often in a row, for different page numbers, is all that the venue has."""
_ROUND = 10
"""A page that was cut off has a multiple of this many rows."""

FetchPage = Callable[[Query], Flow[Reply]]


@dataclass
class PagedRead:
    """A complete read of one query. After a failure `run` continues where it stopped.

    Attributes: `endpoint`, `query` (without page and window), `start` and `end` of the window (ms, None is open),
    `rows` by identity in the order of arrival, `pages` (responses as received), `done`.
    """

    endpoint: Endpoint
    query: Query
    start: int | None = None
    end: int | None = None
    rows: dict[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict)
    pages: list[bytes] = field(default_factory=list)
    done: bool = False
    _anchor_ms: int | None = None
    _page: int = 1
    _in_window: int = 0
    _newest_ms: int | None = None
    _last_page: list[tuple[str, ...]] = field(default_factory=list)
    _repeats: int = 0

    def run(self, fetch: FetchPage, progress: Progress) -> Flow[None]:
        """Read until no rows are left. An error keeps what was read. Run again to continue."""
        if self.rows and self.endpoint.windowed and self.end is None:
            # After an interruption: rows may have arrived since the newest one.
            yield from self._reread(fetch, max(self._times_ms(self.rows.values()), default=self.start or 0))
        while not self.done:
            yield from self._read_page(fetch, progress)
        # Rows that changed during the read moved to the front, perhaps before they were read.
        since_ms, changed = self._newest_ms, self.endpoint.record.changing and len(self.pages) > 1
        while since_ms is not None and changed:
            since_ms, changed = yield from self._reread(fetch, since_ms)

    def newest_first(self) -> list[Mapping[str, Any]]:
        """Return the rows by time and, within a millisecond, by number, newest first."""
        if not self.endpoint.windowed:
            return list(self.rows.values())
        numbered = sorted(self.rows.items(), key=self._place, reverse=True)
        return [row for _, row in numbered]

    def _place(self, item: tuple[tuple[str, ...], Mapping[str, Any]]) -> tuple[int, int]:
        """Return the time of a row and, for those of one millisecond, its number."""
        return self._time_ms(item[1]), _number(item[0])

    def _time_ms(self, row: Mapping[str, Any]) -> int:
        """Return the time of a row, 0 where it can't be read, so that the row sorts last."""
        try:
            time_ms = int(row.get(self.endpoint.record.time) or 0)
        except (TypeError, ValueError, OverflowError):
            return 0
        return max(0, time_ms) if time_ms <= MAX_TIME else 0

    def _times_ms(self, rows: Iterable[Mapping[str, Any]]) -> list[int]:
        """Return the times that can be read."""
        return [time_ms for time_ms in map(self._time_ms, rows) if time_ms]

    def _read_page(self, fetch: FetchPage, progress: Progress) -> Flow[None]:
        """Fetch one page, keep its new rows and move the anchor."""
        reply = yield from fetch(self._query_for(self._page))
        data = data_of(reply.body)
        rows = self._rows_of(data)
        if not self.pages and rows and self.endpoint.windowed:
            self._newest_ms = max(self._times_ms(rows), default=None)
        self.pages.append(reply.body)
        fresh = self._keep(rows)
        self._in_window += len(rows)
        total = self.endpoint.total(data)
        if len(self.pages) == 1:
            progress.expect(total)
        progress.add(len(fresh))
        self.done = not rows or (total is not None and self._in_window >= total)
        if not self.done and self._is_repeating(rows):
            self.done = yield from self._ignores_pages(fetch, rows, total)
        oldest_ms = min(self._times_ms(fresh), default=None) if self.endpoint.windowed else None
        if oldest_ms is not None and oldest_ms != self._anchor_ms:
            self._anchor_ms, self._page, self._in_window = oldest_ms, 1, 0
        else:
            # The query has no window, or all rows of the page share the anchor's millisecond.
            self._page += 1

    def _rows_of(self, data: Any) -> list[Mapping[str, Any]]:
        return [row for row in rows_of(self.endpoint, data) if isinstance(row, Mapping)]

    def _is_repeating(self, rows: list[Mapping[str, Any]]) -> bool:
        """Return whether several pages in a row were the same."""
        keys = [identity(self.endpoint, row) for row in rows]
        self._repeats = self._repeats + 1 if keys == self._last_page else 1
        self._last_page = keys
        return self._repeats >= _REPEATED_PAGES

    def _ignores_pages(self, fetch: FetchPage, rows: list[Mapping[str, Any]], total: int | None) -> Flow[bool]:
        """Return whether the venue ignores the page number. Warn where rows may be missing for that.

        Repeated pages alone are no proof: when a whole page of new rows arrives before each request, the list moves on
        just as fast as it is read. Then its first page holds the new rows, and the read continues.
        """
        reply = yield from fetch(self._query_for(1))
        if [identity(self.endpoint, row) for row in self._rows_of(data_of(reply.body))] != self._last_page:
            self._repeats = 0
            return False
        if len(rows) % _ROUND == 0 if total is None else total > len(self.rows):
            of_total = "" if total is None else f" of {total}"
            warn(
                f"{self.endpoint.path}: the venue answers every page with the same {len(rows)} rows. "
                f"{len(self.rows)}{of_total} rows were read, and there may be more"
            )
        return True

    def _keep(self, rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [row for row in rows if self.rows.setdefault(identity(self.endpoint, row), row) is row]

    def _reread(self, fetch: FetchPage, since_ms: int) -> Flow[tuple[int | None, bool]]:
        """Replace the rows of the window from `since_ms` on. Return its newest time and whether a row differed."""
        again = PagedRead(self.endpoint, self.query, start=since_ms, end=self.end)
        while not again.done:
            yield from again._read_page(fetch, Progress.silent())
        changed = any(self.rows.get(key) != row for key, row in again.rows.items())
        self.pages += again.pages
        self.rows |= again.rows
        return again._newest_ms, changed

    def _query_for(self, page: int) -> Query:
        pairs = list(self.query)
        end_ms = self.end if self._anchor_ms is None else self._anchor_ms
        if self.start is not None:
            pairs.append(("startTime", str(self.start)))
        if end_ms is not None and self.endpoint.windowed:
            pairs.append(("endTime", str(end_ms)))
        size_param = self.endpoint.size_param
        size = min(filter(None, (PAGE_SIZE, self.endpoint.params[size_param].high)))
        return (*pairs, ("page", str(page)), (size_param, str(size)))


def oldest_first(reads: Sequence[PagedRead]) -> list[Mapping[str, Any]]:
    """Return the rows of reads of one query by time and number, oldest first."""
    if len(reads) == 1:
        return reads[0].newest_first()[::-1]
    return [row for _, row in sorted((item for read in reads for item in read.rows.items()), key=reads[0]._place)]


def _number(key: tuple[str, ...]) -> int:
    return int(key[0]) if len(key) == 1 and key[0].isdigit() else 0


def identity(endpoint: Endpoint, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of a row's identity fields, or of all its fields where one of them is missing."""
    key = tuple(str(row.get(name, "")) for name in endpoint.record.identity)
    return key if key and all(key) else tuple(f"{name}={row[name]}" for name in sorted(row))
