"""Complete reads of paged queries: every row once while new rows arrive, resumable after a failure.

Rows come newest first. A page number is no fixed position, because every new row moves the others down by one. The time
of the oldest row read so far is one. So each request asks for the first page up to that time (both ends of a window are
included) and drops rows that were read already, by their identity. Where more rows than a page share one millisecond,
further pages of that window are read. Queries without a window are read by page number: new rows shift the pages, which
repeats rows but never skips any.

Every read ends, and says what it could not prove. Rows that changed during the read are read once more, and `moved`
counts them. Distinct rows are compared with the venue's `total`: where some are missing, all are read once more. A
venue that returns the same rows for every page ends the read, and so does its budget. After that `missing` says why
rows may be missing, and `doubt` why the total can't be right. A table warns of both. A decision raises `missing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import BadAnswer
from ...progress import Progress
from ...protocol.reads.door import admit, answering, rows_of, tie
from ...protocol.reads.endpoint import MAX_TIME, Endpoint
from ...protocol.reads.info.parameters import END, START
from ...protocol.reads.rows import Row
from ..io.flow import Elapsed, Flow, Now, Reply
from ..io.read_budget import BUDGET, ReadBudget, Spent
from .conversion import Query
from .frames import data_of

PAGE_SIZE = 500
"""Rows requested per page. A venue may return fewer."""

_REPEATED_PAGES = 3
"""A page that is returned this often in a row, for different page numbers, is all that the venue has."""
_ROUND = 10
"""A page that is all that the venue sends may be cut off where it has a multiple of this many rows."""
_FULL = 50
"""A page of a multiple of this many rows ends no read, also where the total says so."""

FetchPage = Callable[[Query], Flow[Reply]]
Key = tuple[str, ...]
"""Identity of a row."""


@dataclass
class PagedRead:
    """A complete read of one query. After a failure `run` continues where it stopped.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    query : tuple of pairs of str
        The query without page and window.
    start : int, optional
        First time of the window in Unix ms, None is open (default: None).
    end : int, optional
        Last time of the window in Unix ms, None is open (default: None).
    rows : dict, optional
        Rows by identity, in the order of arrival (default: none).
    pages : list of bytes, optional
        Responses as received (default: none).
    done : bool, optional
        Whether it is complete (default: False).
    budget : ReadBudget, optional
        Budget of a pass (default: `BUDGET`).
    total : int, optional
        Number of rows that the venue reports, None where it does not (default: None).
    missing : str, optional
        Why rows may be missing, as a sentence, "" where nothing says so (default: "").
    doubt : str, optional
        Sentence on what could not be proved, "" where there is nothing (default: "").
    requests : int, optional
        Requests of all runs (default: 0).
    seconds : float, optional
        Seconds of the runs that have something to say (default: 0).
    in_part : bool, optional
        True if rows that answer another question are left out, which `missing` says (default: False, the answer is
        refused).
    """

    endpoint: Endpoint[Row]
    query: Query
    start: int | None = None
    end: int | None = None
    rows: dict[Key, Mapping[str, Any]] = field(default_factory=dict)
    pages: list[bytes] = field(default_factory=list)
    done: bool = False
    budget: ReadBudget = BUDGET
    total: int | None = None
    missing: str = ""
    doubt: str = ""
    requests: int = 0
    seconds: float = 0.0
    in_part: bool = False
    _left_out: str = ""
    """Why rows were left out."""
    _since_ms: int | None = None
    """Where a later pass begins, within the window."""
    _anchor_ms: int | None = None
    _page: int = 1
    _window: set[Key] = field(default_factory=set)
    """Rows that are there up to the anchor."""
    _newest_ms: int | None = None
    _last_page: list[Key] = field(default_factory=list)
    _repeats: int = 0
    _parts: int = 0
    """Pages that brought new rows. The rows of a single one are of one moment."""
    _longest: int = 0
    """Rows of the longest page."""
    _ignored: bool = False
    """Whether the venue ignores page numbers and may have more rows."""
    _contradicted: bool = False
    """Whether a page had more rows than the total that was reported with it."""
    _changed: set[Key] = field(default_factory=set)

    @property
    def moved(self) -> int:
        """Number of rows that changed during the read, or came to a list of rows that change."""
        return len(self._changed)

    def run(self, fetch: FetchPage, progress: Progress) -> Flow[None]:
        """Read until no rows are left, or the budget is spent. An error keeps what was read. Run again to continue.

        Parameters
        ----------
        fetch : callable
            Flow that returns one page.
        progress : Progress
            Counts the rows.
        """
        began_ms: int = yield Elapsed()
        if self.rows and self.endpoint.windowed and self.end is None:
            # After an interruption: rows may have arrived since the newest one.
            # From the newest row on, that millisecond included: others of it may have been missing.
            before, since_ms = len(self.rows), max(self._times_ms(self.rows.values()), default=self.start or 0)
            self._merge((yield from self._again(fetch, since_ms)))
            self.total = None if self.total is None else self.total + len(self.rows) - before
        # Newest first, so a row that arrives meanwhile shifts the others to later pages, where they are known by
        # identity.
        why = yield from self._pass(fetch, progress, began_ms)
        # Rows such as orders change their time and with it their page: one may move past the reader unseen.
        if not why and self.endpoint.record.changing and self._parts > 1 and self._newest_ms is not None:
            why = yield from self._read_changed(fetch, self._newest_ms)
        # Once more from the beginning: what is missing twice is not only late.
        if not why and self._is_short():
            known = set(self.rows)
            again = yield from self._again(fetch, self.start)
            changed = self._merge(again) & known  # one that is new was lost before
            self._changed |= changed if self.endpoint.record.changing else set()
            self.total, why = again.total, again.missing
        if not (self.endpoint.record.changing or self.in_part) and self._parts > 1:
            try:  # what no two rows share, on different pages
                tie(self.endpoint, list(self.rows.values()), (), by_rules=False)
            except BadAnswer:
                self.rows.clear()  # nothing of it can be continued
                raise
        if why or self._changed or self.total not in (None, len(self.rows)):
            ended_ms: int = yield Elapsed()
            self.seconds += (ended_ms - began_ms) / 1000
        self._conclude(why)

    def _read_changed(self, fetch: FetchPage, since_ms: int) -> Flow[str]:
        """Read rows once more that changed during the read: they moved to the front, perhaps before they were read.

        That is done once, not until nothing changes: an account may change its orders faster than a request takes.
        Returns why it ended early, or "".
        """
        again = yield from self._again(fetch, since_ms)
        self._changed = self._merge(again)
        if self._changed or self._is_short():
            # Rows may have come and left, so the first total is out of date. The first page has the present one.
            look, known = self._like(), set(self.rows)
            yield from look._read_page(fetch, Progress.silent())
            self._changed |= self._merge(look) & known
            self.total = look.total
        return again.missing

    def newest_first(self) -> list[Mapping[str, Any]]:
        """Return the rows by time and, within a millisecond, by number, newest first."""
        if not self.endpoint.windowed:
            return list(self.rows.values())
        # Pages overlap and venues order rows of one millisecond differently from page to page.
        numbered = sorted(self.rows.items(), key=self._place, reverse=True)
        return [row for _, row in numbered]

    def _place(self, item: tuple[Key, Mapping[str, Any]]) -> tuple[int, int]:
        """Return the time of a row and, for those of one millisecond, its number."""
        return self._time_ms(item[1]), _number(item[0])

    def _time_ms(self, row: Mapping[str, Any]) -> int:
        """Return the time of a row, 0 where it can't be read, so that the row sorts last."""
        try:
            time_ms = int(row.get(self.endpoint.record.time) or 0)
        except (TypeError, ValueError, OverflowError):
            return 0
        # A time that can't be true must not become the anchor of the next window.
        return max(0, time_ms) if time_ms <= MAX_TIME else 0

    def _times_ms(self, rows: Iterable[Mapping[str, Any]]) -> list[int]:
        """Return the times that can be read."""
        return [time_ms for time_ms in map(self._time_ms, rows) if time_ms]

    def _pass(self, fetch: FetchPage, progress: Progress, began_ms: int) -> Flow[str]:
        """Read the pages that are left. Return why it ended before the last one, "" where nothing says that it did."""
        spent = Spent(self.budget, began_ms)
        while not self.done:
            spent.add((yield from self._read_page(fetch, progress)))
            if not self.done and (why := spent.why_over((yield Elapsed()), min(len(self.rows), self.total or 0))):
                return why
        return f"the venue answers every page with the same {len(self._last_page):,} rows" if self._ignored else ""

    def _read_page(self, fetch: FetchPage, progress: Progress) -> Flow[int]:
        """Fetch one page, keep its new rows and move the anchor. Return the number of new ones."""
        is_first = not self.pages
        rows, total = yield from self._ask(fetch, self._page)
        if is_first:
            self.total = total
            progress.expect(total)
        if is_first and self.endpoint.windowed:
            self._newest_ms = max(self._times_ms(rows.values()), default=None)
        fresh = [row for key, row in rows.items() if self.rows.setdefault(key, row) is row]
        progress.add(len(fresh))
        self._parts += bool(fresh)
        self._window |= rows.keys()
        # A total below what was seen can't be true, so it may not end the read.
        total = self._believed(total, len(rows))
        is_complete = total is not None and len(self._window) >= total
        # Some venues report the rows of the page as the total. So a page that may have been cut off ends no read.
        self.done = not rows or (is_complete and not (fresh and self._may_be_cut_off(len(rows))))
        self._longest = max(self._longest, len(rows))
        if not self.done and self._is_repeating(list(rows)):
            self.done = yield from self._ignores_pages(fetch, total)
        oldest_ms = min(self._times_ms(fresh), default=None) if self.endpoint.windowed else None
        if oldest_ms is not None and oldest_ms != self._anchor_ms:
            # By time, not by page number: pages shift while rows arrive, and windows don't.
            self._anchor_ms, self._page, self._window = oldest_ms, 1, set()
        else:
            # The query has no window, or all rows of the page share the anchor's millisecond.
            self._page += 1
        return len(fresh)

    def _ask(self, fetch: FetchPage, page: int) -> Flow[tuple[dict[Key, Mapping[str, Any]], int | None]]:
        """Fetch a page. Return its rows by identity, and the total that it reports."""
        reply = yield from fetch(self._query_for(page))
        data = data_of(reply.body)
        # Tied to the window that was asked for. A venue that takes no notice of where a page begins is not refused: the
        # read ends, and says what may be missing.
        question = (*self.query, *self._window_of(self.start, self.end))
        if self.in_part:
            rows, left_out = answering(self.endpoint, data, question)
            self._left_out = self._left_out or left_out
        else:
            rows = rows_of(self.endpoint, data, question, (yield Now()))
        if not all(isinstance(row, Mapping) for row in rows):
            admit(self.endpoint.path, self.endpoint.record, rows)
        self.pages.append(reply.body)
        self.requests += 1
        return {identity(self.endpoint, row): row for row in rows}, self.endpoint.total(data)

    def _believed(self, total: int | None, count: int) -> int | None:
        """Return the total of a page of `count` rows, None for one below the rows that are there."""
        if total is None or len(self._window) <= total:
            return total
        self._contradicted |= count > total
        return None

    def _may_be_cut_off(self, count: int) -> bool:
        """Return whether a page of `count` rows is as long as those of a venue that sends fewer than requested."""
        usual = self.endpoint.params[self.endpoint.size_param].default
        return count % _FULL == 0 or count == usual or count >= (self._longest or self._size)

    def _is_repeating(self, keys: list[Key]) -> bool:
        """Return whether several pages in a row were the same."""
        self._repeats = self._repeats + 1 if keys == self._last_page else 1
        self._last_page = keys
        return self._repeats >= _REPEATED_PAGES

    def _ignores_pages(self, fetch: FetchPage, total: int | None) -> Flow[bool]:
        """Return whether the venue ignores the page number, and note whether rows may be missing for that.

        Repeated pages alone are no proof: when a whole page of new rows arrives before each request, the list moves on
        just as fast as it is read. Then its first page holds the new rows, and the read continues.
        """
        again, _ = yield from self._ask(fetch, 1)
        # The list moves as fast as it is read, so that each page looks like the one before.
        if list(again) != self._last_page:
            self._repeats = 0
            return False
        # Without a total, a round number of rows is the sign of a page that was cut off.
        self._ignored = len(again) % _ROUND == 0 if total is None else total > len(self.rows)
        return True

    def _again(self, fetch: FetchPage, since_ms: int | None) -> Flow[PagedRead]:
        """Read the rows of the window from `since_ms` on once more. Its `missing` is why that ended early."""
        again = self._like(since_ms)
        again.missing = yield from again._pass(fetch, Progress.silent(), (yield Elapsed()))
        return again

    def _like(self, since_ms: int | None = None) -> PagedRead:
        """Return a read of the same question that has not begun, of rows from `since_ms` on."""
        window = self.start, self.end
        return PagedRead(
            self.endpoint, self.query, *window, budget=self.budget, in_part=self.in_part, _since_ms=since_ms
        )

    def _merge(self, again: PagedRead) -> set[Key]:
        """Take the rows of a later read. Return those that differ or are new."""
        changed = {key for key, row in again.rows.items() if self.rows.get(key) != row}
        self.rows |= again.rows
        self.pages += again.pages
        self.requests += again.requests
        self._contradicted |= again._contradicted
        self._left_out = self._left_out or again._left_out
        return changed

    def _is_short(self) -> bool:
        return self.total is not None and len(self.rows) < self.total

    def _conclude(self, why: str) -> None:
        """Say what is not proved: `why` the read ended early, that rows were missing twice, that there are too many."""
        of_total = f" of {self.total:,}" if self._is_short() else ""
        took = f"in {self.requests:,} requests and {self.seconds:,.1f} s"
        said = f"{len(self.rows):,}{of_total} rows were read {took}"
        self.missing = self.doubt = ""
        if why:
            self.missing = f"{self.endpoint.path}: {why}. {said}, and there may be more"
        elif self._is_short():
            self.missing = f"{self.endpoint.path}: {said}. The others did not come at a second time either"
        self.missing = ". ".join(filter(None, (self.missing, self._left_out)))
        # Orders that changed may have left the list, so that it had more rows than now.
        if self.total is not None and self.total < len(self.rows) and (self._contradicted or not self._changed):
            said = "It" if self.missing else f"{self.endpoint.path}: {said}, but the venue"
            self.doubt = f"{said} reports a total of {self.total:,}"

    @property
    def _size(self) -> int:
        return min(filter(None, (PAGE_SIZE, self.endpoint.params[self.endpoint.size_param].high)))

    def _query_for(self, page: int) -> Query:
        start_ms = self.start if self._since_ms is None else self._since_ms
        window = self._window_of(start_ms, self.end if self._anchor_ms is None else self._anchor_ms)
        return (*self.query, *window, ("page", str(page)), (self.endpoint.size_param, str(self._size)))

    def _window_of(self, start_ms: int | None, end_ms: int | None) -> Query:
        """Return the bounds of a window as pairs of the query."""
        last = end_ms if self.endpoint.windowed else None
        bounds = ((START.wire, start_ms), (END.wire, last))
        return tuple((name, str(bound_ms)) for name, bound_ms in bounds if bound_ms is not None)


def unproved(reads: Sequence[PagedRead]) -> str:
    """Return what reads of one query could not prove, as sentences for one warning, "" where there is nothing.

    Parameters
    ----------
    reads : sequence of PagedRead
        Reads of one query.
    """
    said = [one for read in reads for one in (read.missing, read.doubt) if one]
    if moved := sum(read.moved for read in reads):
        rows, requests = (sum(each) for each in zip(*((len(read.rows), read.requests) for read in reads), strict=True))
        said.append(
            f"{reads[0].endpoint.path}: {moved:,} of {rows:,} rows changed while they were read, in {requests:,} "
            f"requests and {sum(read.seconds for read in reads):,.1f} s. Each is as it was read last, and may have "
            "changed since"
        )
    return ". ".join(said)


def latest(reads: Sequence[PagedRead]) -> list[Mapping[str, Any]]:
    """Return the rows of reads of one query by time, oldest first, each once: as it was at its latest time.

    Parameters
    ----------
    reads : sequence of PagedRead
        Reads of one query.
    """
    found: dict[Key, Mapping[str, Any]] = {}
    for key, row in sorted((item for read in reads for item in read.rows.items()), key=reads[0]._place):
        found.pop(key, None)
        found[key] = row
    return list(found.values())


def oldest_first(reads: Sequence[PagedRead]) -> list[Mapping[str, Any]]:
    """Return the rows of reads of one query by time and number, oldest first.

    Parameters
    ----------
    reads : sequence of PagedRead
        Reads of one query.
    """
    if len(reads) == 1:
        return reads[0].newest_first()[::-1]
    return [row for _, row in sorted((item for read in reads for item in read.rows.items()), key=reads[0]._place)]


def _number(key: Key) -> int:
    # Ids of one number grow with time. Others say nothing of the order.
    return int(key[0]) if len(key) == 1 and key[0].isdigit() else 0


def identity(endpoint: Endpoint[Row], row: Mapping[str, Any]) -> Key:
    """Return the values of a row's identity fields, or of all its fields where one of them is missing.

    Parameters
    ----------
    endpoint : Endpoint
        Declaration of the query.
    row : mapping
        The row, in wire names.
    """
    key = tuple(str(row.get(name, "")) for name in endpoint.record.identity)
    # Two equal rows without an id are counted once, which the total then shows.
    return key if key and all(key) else tuple(f"{name}={row[name]}" for name in sorted(row))
