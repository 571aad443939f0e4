"""Complete reads of candles: one window after the other, from the cache where it covers them.

An interval without trades has no candle, and no answer says how many candles there are. So an answer that may have been
cut off is followed by requests for the rest of its window. The budget of the read counts the intervals that were
covered. `frame.attrs["missing"]` says which were not, "" where all were, and `frame.attrs["coverage"]` which were.

Where there is a hole between candles, the candle of that hour or day says whether it was quiet. If it counts more
trades than the shorter candles in it, some of them are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...coverage import Range, gaps, merged, of_rows
from ...errors import ExchangeError, warn
from ...progress import Progress
from ...protocol.reads.info.candles import Kline
from ...protocol.reads.info.parameters import END, START
from ...protocol.reads.info_queries import ENDPOINTS
from ..io.flow import Elapsed, Flow, Now, Reply
from ..io.read_budget import ReadBudget, Spent
from . import frames
from .candle_cache import CandleCache

if TYPE_CHECKING:
    from .reading import Reader

WINDOW = 1_000
"""Candles requested together."""
_MANY = 3
"""Before a range of more windows than this is read, the start of its candles is queried."""
_WEEK_S = 604_800
GRACE_MS = 60_000
"""A candle is cached as closed only this long after its end, because clocks differ."""
BUDGET = ReadBudget(rows=1 << 62)
"""The range of a request is the most candles that there can be."""
_KLINES = ENDPOINTS["klines"]
_BEFORE = ENDPOINTS["klines_before"]
_COVERS_S = (3_600, 86_400)
"""Lengths of the candles that say whether intervals without a shorter candle were quiet, in seconds."""
AGAIN = 8
"""Hours or days whose shorter candles are read again, in one read."""
_ROUND = 50
"""A response that was cut off has a multiple of this many candles."""


@dataclass(frozen=True, slots=True)
class CandleRequest:
    """Candles of a product that start in a window.

    Parameters
    ----------
    symbol : str
        Symbol of the product.
    interval_s : int
        Length of a candle in seconds.
    first_ms : int
        Earliest start of a candle, Unix ms.
    last_ms : int
        Latest start of a candle, Unix ms, included.
    now_ms : int
        The present in Unix ms.
    exact : bool
        True gives amounts as Decimal.
    budget : ReadBudget, optional
        Budget of the read (default: `BUDGET`).
    """

    symbol: str
    interval_s: int
    first_ms: int
    last_ms: int
    now_ms: int
    exact: bool
    budget: ReadBudget = BUDGET

    @property
    def interval_ms(self) -> int:
        """Length of a candle in ms."""
        return self.interval_s * 1000

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        """Product and interval, as all queries of candles have them."""
        return ("symbol_name", self.symbol), ("interval", str(self.interval_s))

    @property
    def range(self) -> Range:
        """Earliest start of a candle, and a time after the end of the last one (ms).

        Candles need not start at multiples of their length since 1970: weeks start on Mondays, and days of some venues
        at 16:00.
        """
        return self.first_ms, max(self.first_ms, self.last_ms // self.interval_ms * self.interval_ms + self.interval_ms)


def read(reader: Reader, request: CandleRequest, cache: CandleCache | None, progress: Progress) -> Flow[pd.DataFrame]:
    """Return the candles, oldest first, with the columns and dtypes of `help(session.info.klines)`.

    Parameters
    ----------
    reader : Reader
        Reader of the session.
    request : CandleRequest
        The candles to read.
    cache : CandleCache or None
        Cache of closed candles, None for none.
    progress : Progress
        Counts the rows of the read.
    """
    begin, end = request.range
    cached = frames.empty(Kline.declared, exact=request.exact)
    covered: list[Range] = []
    # The cache holds floats, so exact reads neither use nor fill it.
    if cache is not None and not request.exact:
        cached, covered = cache.load(request.symbol, request.interval_s)
        if len(cached) and cache.is_local and not (yield from _agrees(reader, request, cached)):
            file = cache.path(request.symbol, request.interval_s)
            text = f"{file} is of a venue that was started again and continued differently. It is replaced"
            warn(text)
            cached, covered = frames.empty(Kline.declared), []
    proven, unread = list(covered), gaps(covered, (begin, end))
    for at, (start, stop) in enumerate(unread):
        if stop - start > _MANY * WINDOW * request.interval_ms:
            unread[at] = (yield from _first_ms(reader, request, start, stop)), stop
            proven.append((start, unread[at][0]))
    progress.expect(sum(stop - start for start, stop in unread) // request.interval_ms)
    answers, answered, said = yield from _fetch(reader, request, unread, progress)
    candles = _unique([cached, *(received for _, received in answers)])
    candles, hidden, contradicted = yield from _without_hidden(reader, request, candles, answered)
    said = said or contradicted
    if cache is not None and not request.exact:
        now_ms: int = yield Now()  # known better after the answers than before them
        # The earlier of both times: a candle that closed during the read may have been read before. Those that start
        # earlier are closed, wherever they start.
        closed_ms = min(now_ms, request.now_ms) - GRACE_MS - request.interval_ms + 1
        now_covered = merged([*covered, (begin, min(end, closed_ms))])
        # An incomplete answer must not be remembered as all that there is.
        if now_covered != covered and not said:
            closed = candles[candles["time"] < _timestamp(closed_ms)]
            cache.store(request.symbol, request.interval_s, closed, now_covered)
    in_range = (candles["time"] >= _timestamp(request.first_ms)) & (candles["time"] <= _timestamp(request.last_ms))
    if not in_range.all():
        candles = candles[in_range].reset_index(drop=True)
    candles.attrs["raw"] = frames.InfoAnswer(page for page, _ in answers)
    known = merged([*proven, *answered])
    candles.attrs["missing"] = said
    candles.attrs["proven"] = [part for span in known for part in gaps(hidden, span)]
    return candles


def _agrees(reader: Reader, request: CandleRequest, cached: pd.DataFrame) -> Flow[bool]:
    """Return whether the venue has the last cached candle. One that was started again may have gone on differently."""
    last = cached.iloc[[-1]]
    before = (("timestamp", str(_unix_ms(last["time"].iloc[0]) + 1)), ("limit", "1"))
    query = (*request.query, *before)
    reply: Reply = yield from reader.fetch(_BEFORE, query)
    received = frames.frame(_BEFORE, reply.body, query, now_ms=(yield Now())).tail(1)
    names = ["time", "open", "high", "low", "close", "volume"]
    return received[names].to_dict("records") == last[names].to_dict("records")


def read_last(
    reader: Reader, request: CandleRequest, count: int, cache: CandleCache | None, progress: Progress
) -> Flow[pd.DataFrame]:
    """Return the last candles of a request.

    An interval without trades has no candle, so earlier ones are read for those that are missing.

    Parameters
    ----------
    reader : Reader
        Reader of the session.
    request : CandleRequest
        The candles to read.
    count : int
        Number of candles. The request covers that many intervals.
    cache : CandleCache or None
        Cache of closed candles, None for none.
    progress : Progress
        Counts the rows of the read.
    """
    candles = yield from read(reader, request, cache, progress)
    options: dict[str, Any] = {"exact": request.exact, "entrance": reader.door}
    pages, said, proven = list(candles.attrs["raw"].pages), str(candles.attrs["missing"]), candles.attrs["proven"]
    spent = Spent(request.budget, (yield Elapsed()))
    while len(candles) < count and not said:
        before = _unix_ms(candles["time"].min()) if len(candles) else request.last_ms + 1
        wanted = min(WINDOW, count - len(candles))
        query = (*request.query, ("timestamp", str(before)), ("limit", str(wanted)))
        reply: Reply = yield from reader.fetch(_BEFORE, query)
        options["now_ms"] = yield Now()
        received = frames.frame(_BEFORE, reply.body, query, **options)
        pages.append(reply.body)
        # A venue that takes no notice of the time would send the same candles for ever.
        received = received[received["time"] < _timestamp(before)]
        if received.empty:
            break
        proven.append((_unix_ms(received["time"].min()), before))
        candles = _unique([received.sort_values("time"), candles])
        spent.add(len(received))
        if len(candles) < count and (why := spent.why_over((yield Elapsed()), spent.rows)):
            were = f"{len(candles):,} of the last {count:,} candles of {request.symbol} were read"
            said = f"{_BEFORE.path}: {why}. {were}"
    candles = candles.tail(count).reset_index(drop=True)
    candles.attrs["raw"] = frames.InfoAnswer(pages)
    candles.attrs["missing"], candles.attrs["proven"] = said, merged(proven)
    return candles


def _first_ms(reader: Reader, request: CandleRequest, start: int, stop: int) -> Flow[int]:
    """Return where the candles in [start, stop) begin (ms): `stop` where there are none, `start` if it is not known."""
    spent = Spent(request.budget, (yield Elapsed()))
    for interval_s in (_WEEK_S, request.interval_s):  # a venue may have no candles of a week
        first, rows = stop, 0
        query = (("symbol_name", request.symbol), ("interval", str(interval_s)), ("limit", str(WINDOW)))
        try:
            while first > start and rows % _ROUND == 0:
                before = (*query, ("timestamp", str(first)))
                reply: Reply = yield from reader.fetch(_BEFORE, before)
                times = frames.frame(_BEFORE, reply.body, before, entrance=reader.door, now_ms=(yield Now()))["time"]
                older = times[times < _timestamp(first)]
                if older.empty:
                    break
                spent.add((first - _unix_ms(older.min())) // request.interval_ms)
                first, rows = _unix_ms(older.min()), len(times)
                if spent.why_over((yield Elapsed()), spent.rows):
                    return start
            if first < stop:
                break
        except ExchangeError:
            first = start
    return max(start, first // request.interval_ms * request.interval_ms)


def _fetch(
    reader: Reader, request: CandleRequest, unread: list[Range], progress: Progress
) -> Flow[tuple[list[tuple[bytes, pd.DataFrame]], list[Range], str]]:
    """Return the responses for candles of some spans, each with its frame, what they prove, and what they leave, or "".

    A venue may return fewer candles than a window has. After a response that may be cut off the next window begins
    after its last candle, and the part before its first candle is requested separately.
    """
    answers: list[tuple[bytes, pd.DataFrame]] = []
    proven: list[Range] = []
    outside = 0
    # A stack, so that the parts of a window that was cut off are read next, in the order of time.
    options: dict[str, Any] = {"exact": request.exact, "entrance": reader.door}
    left = [gap for gap in reversed(unread) if gap[0] < gap[1]]
    spent = Spent(request.budget, (yield Elapsed()))
    while left:
        begin, end = left.pop()
        stop = min(begin + WINDOW * request.interval_ms, end)
        # The query includes both ends.
        query = (*request.query, (START.wire, str(begin)), (END.wire, str(stop - 1)))
        reply: Reply = yield from reader.fetch(_KLINES, query)
        options["now_ms"] = yield Now()
        received = frames.frame(_KLINES, reply.body, query, **options)
        answers.append((reply.body, received))
        progress.add(len(received))
        first, last = _covered(received, begin, stop, request)
        foreign = len(received) > 0 and first == last
        outside += foreign
        # An answer without any candle of its window ends that window, or it would be asked for forever.
        first, last = (begin, stop) if first == last else (first, last)
        proven += [] if foreign else [(first, last)]
        left += [gap for gap in ((last, end), (begin, first)) if gap[0] < gap[1]]
        spent.add((last - first) // request.interval_ms)
        if left and (why := spent.why_over((yield Elapsed()), spent.rows)):
            count = sum(stop - start for start, stop in left) // request.interval_ms
            what = f"{count:,} intervals of {request.symbol} from {_timestamp(left[-1][0]):%Y-%m-%d %H:%M} on"
            return answers, proven, f"{_KLINES.path}: {why}. The candles of {what} were not read"
    if outside:
        said = f"{outside:,} of {len(answers):,} answers have only candles from outside the time that was asked for"
        return answers, proven, f"{_KLINES.path}: {said}, so others of {request.symbol} may be missing"
    return answers, proven, ""


def _without_hidden(
    reader: Reader, request: CandleRequest, candles: pd.DataFrame, read: list[Range]
) -> Flow[tuple[pd.DataFrame, list[Range], str]]:
    """Return the candles, which of the intervals without one were not quiet, and that in words.

    The candle of their hour, or of their day, counts more trades than the shorter ones in it.
    """
    step_ms, cover_s = request.interval_ms, next((one for one in _COVERS_S if one > request.interval_s), 0)
    if not cover_s or cover_s % request.interval_s:
        return candles, [], ""
    closed_ms, cover_ms = request.now_ms - step_ms + 1, cover_s * 1000
    wanted = [np.arange(-(-start // step_ms) * step_ms, min(stop, closed_ms), step_ms) for start, stop in read]
    times = candles["time"].astype("int64").to_numpy()
    holes = np.setdiff1d(np.concatenate([times[:0], *wanted]), times)
    covers = np.unique(holes // cover_ms * cover_ms)
    hidden, more, asked = list[Range](), 0, 0
    for at in range(0, len(covers), WINDOW):
        part = covers[at : at + WINDOW]
        longer = yield from _window(reader, request, cover_s, int(part[0]), int(part[-1]) + 1)
        for start, counted in zip(longer["time"].astype("int64"), longer["trades"], strict=True):
            if start not in part or pd.isna(counted):
                continue
            trades = _traded(candles, start, start + cover_ms)
            if counted > trades and asked < AGAIN:
                # What was read may be a part of it, or be older than it.
                again = yield from _window(reader, request, request.interval_s, int(start), int(start) + cover_ms)
                trades, asked = _traded(again, start, start + cover_ms), asked + 1
                candles = _unique([again, candles])
            if counted > trades:
                more += int(counted) - trades
                within = holes[(holes >= start) & (holes < start + cover_ms)]
                hidden += [(int(one), int(one) + step_ms) for one in within]
    if not hidden:
        return candles, [], ""
    where = f"from {_timestamp(hidden[0][0]):%Y-%m-%d %H:%M} to {_timestamp(hidden[-1][1]):%Y-%m-%d %H:%M}"
    said = f"{len(hidden):,} candles of {request.symbol} {where} are missing, as longer ones count {more:,} more trades"
    return candles, merged(hidden), f"{_KLINES.path}: {said}"


def _window(reader: Reader, request: CandleRequest, interval_s: int, begin: int, end: int) -> Flow[pd.DataFrame]:
    product = ("symbol_name", request.symbol), ("interval", str(interval_s))
    query = (*product, (START.wire, str(begin)), (END.wire, str(end - 1)))
    reply: Reply = yield from reader.fetch(_KLINES, query)
    options: dict[str, Any] = {"exact": request.exact, "entrance": reader.door, "now_ms": (yield Now())}
    return frames.frame(_KLINES, reply.body, query, **options)


def _traded(candles: pd.DataFrame, start: int, stop: int) -> int:
    """Return the number of trades in candles that start in [start, stop)."""
    times = candles["time"].astype("int64")
    return int(candles["trades"][(times >= start) & (times < stop)].sum())


def _covered(received: pd.DataFrame, begin: int, stop: int, request: CandleRequest) -> Range:
    """Return the part of the window [begin, stop) that an answer is complete in, an empty one if it has none of it."""
    times = np.sort(received["time"].astype("int64").to_numpy())
    times = times[(times >= begin) & (times < stop)]
    if not len(times):
        return begin, begin
    first, last = int(times[0]), int(times[-1]) + request.interval_ms
    between_ms = int(np.diff(times).max(initial=request.interval_ms)) - request.interval_ms
    # The candle that is forming may have no trade yet.
    closed = min(stop, request.now_ms // request.interval_ms * request.interval_ms)
    # One that was cut off has a round number of candles, or leaves out more at an end than is missing between them.
    # Less than a candle's length at an end is no candle: they need not start where the window does.
    lacking_ms = max(first - begin, closed - last) // request.interval_ms * request.interval_ms
    if len(received) % _ROUND == 0 or lacking_ms > between_ms:
        return first, last
    return begin, stop


def _unique(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return candles by time, each start once: the one read last, as it may have been forming before."""
    # Empty frames are left out because pd.concat warns about their dtypes.
    parts = [part for part in parts if len(part)] or parts[:1]
    candles = pd.concat(parts, ignore_index=True)
    # Most reads come in order, and sorting would copy the whole frame.
    if candles["time"].is_monotonic_increasing and candles["time"].is_unique:
        return candles
    return candles.drop_duplicates("time", keep="last").sort_values("time", ignore_index=True)


def _unix_ms(time: pd.Timestamp) -> int:
    return int(time.timestamp() * 1000)


def _timestamp(time_ms: int) -> pd.Timestamp:
    return pd.Timestamp(time_ms, unit="ms", tz="UTC")


def finish(
    candles: pd.DataFrame, request: CandleRequest, *, closed: bool, fill: bool, count: int | None = None
) -> pd.DataFrame:
    """Return candles with index `time`.

    Parameters
    ----------
    candles : DataFrame
        Candles, oldest first.
    request : CandleRequest
        The candles to read.
    closed : bool
        True leaves out the one that is still forming.
    fill : bool
        True fills gaps with flat candles at the last close.
    count : int, optional
        Number of the last candles to return (default: all).
    """
    attrs = dict(candles.attrs)
    indexed = candles.set_index("time")
    if closed:
        # On the venue's clock: this machine's may be ahead.
        indexed = indexed[indexed.index <= _timestamp(request.now_ms - request.interval_ms)]
    indexed = indexed if count is None else indexed.tail(count)
    proven, (begin, end) = attrs.pop("proven"), request.range
    times = np.asarray(indexed.index.astype("datetime64[ms, UTC]").astype("int64"))
    begin = int(times[0]) if count is not None and len(times) else begin
    attrs["coverage"] = of_rows(times, request.interval_ms, proven, (begin, end), request.now_ms)
    if fill and len(indexed):
        indexed = _filled(indexed, request)
        indexed = indexed if count is None else indexed.tail(count)
    indexed.attrs = attrs
    return indexed


def _filled(candles: pd.DataFrame, request: CandleRequest) -> pd.DataFrame:
    step = pd.Timedelta(milliseconds=request.interval_ms)
    times = pd.date_range(candles.index[0], candles.index[-1], freq=step, name="time", unit="ms")
    filled = candles.reindex(times)
    close = filled["close"].ffill()
    for name in ("open", "high", "low", "close"):
        filled[name] = filled[name].where(filled[name].notna(), close)
    zero = type(candles["volume"].iloc[0])(0)  # float or Decimal, as the frame has it
    for name in ("volume", "turnover", "trades"):
        filled[name] = filled[name].where(filled[name].notna(), 0 if name == "trades" else zero)
    filled["interval"] = filled["interval"].fillna(request.interval_s)
    filled["symbol"] = filled["symbol"].fillna(request.symbol)
    return filled
