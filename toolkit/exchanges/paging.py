"""Complete reads of another exchange's history: page by page to the end, over empty pages, and what was proven.

Exchanges answer `since` in three ways, and none says which:

- with the first rows from then on
- with those of a span of as many intervals as rows
- with the newest rows only, whatever was asked

So an empty page is never taken for the end. A part without rows counts as proven only if no answer was cut off there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..coverage import Range, gaps, merged

PAGE = 1_000
"""Rows that one call requests. An exchange may return fewer."""
CAREFUL = 100
"""Rows of a page that every exchange is taken to have."""
MANY = 20
"""Empty pages after which a longer interval is asked where the history begins."""


class History(NamedTuple):
    """Rows of a history.

    Attributes
    ----------
    rows : dict of int to object
        Row by its time, Unix ms, in order.
    proven : list of Range
        Spans of which all rows are here.
    wanted : Range
        Span that was asked for.
    now_ms : int
        Time of the read, Unix ms.
    """

    rows: dict[int, Any]
    proven: list[Range]
    wanted: Range
    now_ms: int

    def lost(self, step_ms: int) -> list[Range]:
        """Return the spans that are not proven and so long that they could have a row.

        Parameters
        ----------
        step_ms : int
            Length of an interval, ms.
        """
        found = gaps(self.proven, (self.wanted[0], min(self.wanted[1], self.now_ms)))
        return [pair for pair in found if pair[1] - pair[0] >= step_ms]


def read_all(
    ask: Callable[[int, int], Mapping[int, Any]],
    wanted: Range,
    step_ms: int,
    now_ms: int,
    first_before: Callable[[int], int | None],
) -> History:
    """Return all rows of a span.

    Parameters
    ----------
    ask : callable
        Function from a time (Unix ms) and a number of rows to rows by time, as the exchange answers.
    wanted : Range
        Span of the rows, Unix ms.
    step_ms : int
        Length of an interval, ms. A row has at most one each.
    now_ms : int
        The present, Unix ms.
    first_before : callable
        Function from a time to the first row of a longer interval from then on, None if it is not known.
    """
    rows: dict[int, Any] = {}
    proven: list[Range] = []
    begin, end = wanted[0], min(wanted[1], now_ms)
    # The last item says whether an answer that skipped this part ended at the present: it may be the newest rows only.
    left = [(begin, end, False)]
    largest = empty = 0
    while left:
        start, stop, doubtful = left.pop()
        if stop <= start:
            continue
        count = min(PAGE, -(-(stop - start) // step_ms))
        page = ask(start, PAGE if stop == end else count)
        largest = max(largest, len(page))
        inside = [time for time in page if start <= time < stop]
        if inside:
            empty = 0
            rows |= {time: page[time] for time in inside}
            first, last = min(inside), max(inside) + step_ms
            proven.append((first, last))
            left.append((last, stop, False))
            if len(page) < largest:  # not cut off: what it leaves out at its beginning is not there
                proven.append((start, first))
            else:
                left.append((start, first, max(page) + 2 * step_ms >= now_ms))
            continue
        if any(time >= stop for time in page):  # the next row is a later one
            if not doubtful or _is_first(first_before, start, min(page), step_ms):
                proven.append((start, stop))
            continue
        if not largest:  # how long is a page? Its newest rows show it
            largest = len(ask(max(begin, end - PAGE * step_ms), PAGE)) or CAREFUL
        reach, empty = min(stop, start + min(count, largest) * step_ms), empty + 1
        if not doubtful or _is_first(first_before, start, stop, step_ms):
            proven.append((start, reach))
        if empty == MANY and (found := first_before(start)) is not None and found > reach:
            proven.append((reach, min(found, stop)))
            reach = min(found, stop)
        left.append((reach, stop, doubtful))
    return History({time: rows[time] for time in sorted(rows)}, merged(proven), wanted, now_ms)


def _is_first(first_before: Callable[[int], int | None], start: int, first: int, step_ms: int) -> bool:
    """Return whether a longer interval proves that a history has nothing from `start` to its first row."""
    found = first_before(start)
    return found is not None and found + step_ms > first - first % step_ms
