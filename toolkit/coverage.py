"""Coverage of tables over time: which spans are proven complete, and what is quiet, forming or missing.

A frame has it as `frame.attrs["coverage"]`, a dict, so that pandas can copy, compare and write it.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Range = tuple[int, int]
"""Start (included) and end (excluded), Unix ms."""


SPANS = ("proven", "missing", "quiet_spans")


class Coverage(dict[str, Any]):
    """What a frame says of its coverage.

    A dict with the keys "proven", "missing" and "quiet_spans" (lists of pairs of UTC Timestamps), "quiet" and "forming"
    (int).
    `items` has the times as text: pandas writes `attrs` as JSON into Parquet files, and warns where it can't.
    """

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Return the keys with their values, times as ISO text."""
        texts = {name: [[each.isoformat() for each in pair] for pair in self[name]] for name in SPANS if name in self}
        return {**self, **texts}.items()

    def __deepcopy__(self, memo: object) -> Coverage:
        return Coverage(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Coverage, (dict(self),)  # by its items it would be texts after unpickling


def of_attrs(attrs: Mapping[Any, Any]) -> Coverage | None:
    """Return the coverage of a frame, of one from a Parquet file too. None where it says none.

    Parameters
    ----------
    attrs : mapping
        `attrs` of the frame.
    """
    import pandas as pd

    found = attrs.get("coverage")
    if not isinstance(found, Mapping) or not {"proven", "missing"} <= set(found):
        return None
    spans = {name: [tuple(map(pd.Timestamp, pair)) for pair in found[name]] for name in SPANS if name in found}
    return Coverage({"quiet": 0, "forming": 0, **found, **spans})


def coverage(
    proven: Iterable[Range] = (),
    missing: Iterable[Range] = (),
    *,
    quiet: int = 0,
    forming: int = 0,
    quiet_spans: Iterable[Range] = (),
) -> Coverage:
    """Return what a frame says of its coverage.

    Parameters
    ----------
    proven : iterable of Range, optional
        Spans that the source answered whole, Unix ms (default: none).
    missing : iterable of Range, optional
        Spans whose rows are not there and were not proven to be quiet, Unix ms (default: none).
    quiet : int, optional
        Number of intervals without a row within the proven spans: nothing was traded (default: 0).
    forming : int, optional
        Number of rows that may still change (default: 0).
    quiet_spans : iterable of Range, optional
        The spans of the quiet intervals, Unix ms (default: none).

    Returns
    -------
    Coverage
        A dict, see there.

    Examples
    --------
    >>> coverage([(0, 60_000)], quiet=2)["proven"]
    [(Timestamp('1970-01-01 00:00:00+0000', tz='UTC'), Timestamp('1970-01-01 00:01:00+0000', tz='UTC'))]
    """
    import pandas as pd

    spans = [
        [tuple(pd.Timestamp(at, unit="ms", tz="UTC") for at in pair) for pair in merged(pairs)]
        for pairs in (proven, missing, quiet_spans)
    ]
    return Coverage(proven=spans[0], quiet=quiet, forming=forming, missing=spans[1], quiet_spans=spans[2])


def of_rows(times: NDArray[np.int64], step_ms: int, proven: Iterable[Range], wanted: Range, now_ms: int) -> Coverage:
    """Return the coverage of rows that an interval has at most one of, such as candles.

    Parameters
    ----------
    times : array of int64
        Start of each row, Unix ms, increasing.
    step_ms : int
        Length of an interval, ms.
    proven : iterable of Range
        Spans that the source answered whole, Unix ms.
    wanted : Range
        Span that was asked for, Unix ms.
    now_ms : int
        The present, Unix ms. A row whose interval ends later is forming.
    """
    # What has not begun is neither quiet nor missing.
    end = min(wanted[1], now_ms)
    known = merged((max(start, wanted[0]), min(stop, end)) for start, stop in proven)
    quiet, silent = 0, list[Range]()
    for start, stop in known:
        inside = times[(times >= start) & (times < stop)]
        # Candles need not start at multiples of their length, so the spaces between them count.
        ends = [start - step_ms, *inside.tolist(), max(stop, int(inside.max(initial=start - step_ms)) + step_ms)]
        steps = [(a, b, (b - a) // step_ms - 1) for a, b in pairwise(ends)]
        quiet += sum(max(0, count) for _, _, count in steps)
        silent += [(max(a + step_ms, start), b) for a, b, count in steps if count > 0]
    forming = int((times + step_ms > now_ms).sum())
    unknown = [pair for pair in gaps(known, (wanted[0], end)) if pair[1] - pair[0] >= step_ms]
    return coverage(known, unknown, quiet=quiet, forming=forming, quiet_spans=silent)


def joined(parts: Iterable[Coverage | None]) -> Coverage:
    """Return the coverage of several frames as one: proven is what is proven of each, quiet what is of any.

    Parameters
    ----------
    parts : iterable of Coverage or None
        Coverage of each frame, None where it is not known.
    """
    each = [part or coverage() for part in parts]
    proven = [_plain(part["proven"]) for part in each]
    common = proven[0] if proven else []
    for other in proven[1:]:
        common = [(max(a, c), min(b, d)) for a, b in common for c, d in other if max(a, c) < min(b, d)]
    missing, silent = ([pair for part in each for pair in _plain(part.get(name, []))] for name in SPANS[1:])
    counts = {name: sum(part[name] for part in each) for name in ("quiet", "forming")}
    return coverage(common, missing, quiet_spans=silent, **counts)


def _plain(pairs: Iterable[tuple[Any, Any]]) -> list[Range]:
    return [(int(start.timestamp() * 1000), int(end.timestamp() * 1000)) for start, end in pairs]


def within(spans: Iterable[Range], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which ranges lie in one of the spans each.

    Parameters
    ----------
    spans : iterable of Range
        Disjoint spans in order.
    starts : array of int64
        Start of each range, in the unit of the spans.
    ends : array of int64
        End of each range.
    """
    import numpy as np

    # A range before the first span finds one that ends before all others.
    first, last = np.array([(np.iinfo(np.int64).min,) * 2, *spans], dtype=np.int64).T
    found: NDArray[np.bool_] = last[np.searchsorted(first, starts, side="right") - 1] >= ends
    return found


Unproven = tuple[str, int, int, int]
"""Kind ("missing", "forming" or "unproven"), start and end (Unix ms) and number of intervals of a span."""


def unproven(known: Mapping[str, Any], times: NDArray[np.int64], step_ms: int) -> list[Unproven]:
    """Return the spans of rows of which the source did not prove that they are complete.

    Parameters
    ----------
    known : Coverage
        Coverage that the frame of the rows says.
    times : array of int64
        Start of each row that there is now, Unix ms, increasing.
    step_ms : int
        Length of an interval, ms.
    """
    proven = _plain(known["proven"])
    quiet = _plain(known.get("quiet_spans", known["proven"]))
    found: list[Unproven] = []
    # Months have different lengths, so a gap is one of more than half an interval.
    places = (2 * (times[1:] - times[:-1]) > 3 * step_ms).nonzero()[0]
    starts, ends = times[places] + step_ms, times[places + 1]
    lost = ~within(quiet, starts, ends)
    for start, end in zip(starts[lost].tolist(), ends[lost].tolist(), strict=True):
        found.append(("missing", start, end, max(round((end - start) / step_ms), 1)))
    if not len(times):
        return found
    end, until = int(times[-1]) + step_ms, proven[-1][1] if proven else 0
    changing = [at for at in times[-known["forming"] :].tolist() if at + step_ms > until] if known["forming"] else []
    if changing:
        found.append(("forming", changing[0], end, len(changing)))
    for first, last in gaps(proven, (int(times[0]), changing[0] if changing else end)) if proven else ():
        if rows := times[(times >= first) & (times < last)].tolist():
            found.append(("unproven", rows[0], rows[-1] + step_ms, len(rows)))
    return sorted(found, key=lambda each: each[1])


def gaps(covered: Iterable[Range], wanted: Range) -> list[Range]:
    """Return the parts of a range that are not covered, in order.

    Parameters
    ----------
    covered : iterable of Range
        Disjoint ranges.
    wanted : Range
        Pair of begin and end, Unix ms.
    """
    found, at = [], wanted[0]
    for start, end in [*sorted(covered), (wanted[1], wanted[1])]:
        if at < (until := min(start, wanted[1])):
            found.append((at, until))
        at = max(at, end)
    return found


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Return the same coverage as some ranges, as disjoint ones, in order.

    Parameters
    ----------
    ranges : iterable of Range
        Pairs of begin and end, Unix ms, in any order.
    """
    disjoint: list[Range] = []
    for start, end in sorted(each for each in ranges if each[0] < each[1]):
        if disjoint and start <= disjoint[-1][1]:
            disjoint[-1] = (disjoint[-1][0], max(end, disjoint[-1][1]))
        else:
            disjoint.append((start, end))
    return disjoint
