"""Long reads of candles: window after window, from the cache where it has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...protocol.reads.info import ENDPOINTS
from ...protocol.reads.info_records import KLINE
from ..io.flow import Flow, Reply
from . import frames
from .candle_cache import CandleCache, Stretch, joined, missing
from .progress import Progress

if TYPE_CHECKING:
    from .reading import Reader

WINDOW = 1_000
"""Candles asked for at once."""
GRACE_MS = 60_000
"""A candle counts as closed for the cache this long after its end, in case clocks differ."""
_LIST = ENDPOINTS["klines"]
_ROUND = 50
"""A venue that cuts its answers off does so at a round number of candles."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read: candles of `interval` seconds that start in `first` … `last` (ms); `now` is the time."""

    symbol: str
    interval: int
    first: int
    last: int
    now: int
    exact: bool

    @property
    def span(self) -> int:
        """Length of a candle in ms."""
        return self.interval * 1000

    @property
    def stretch(self) -> Stretch:
        """Starts of the candles: the first one, and the end after the last one."""
        begin = -(-self.first // self.span) * self.span
        return begin, max(begin, self.last // self.span * self.span + self.span)


def read(reader: Reader, wanted: Wanted, cache: CandleCache | None, progress: Progress) -> Flow[pd.DataFrame]:
    """Return the candles, oldest first, in the columns of the candle query."""
    begin, end = wanted.stretch
    progress.expect((end - begin) // wanted.span)
    kept = frames.empty(KLINE, exact=wanted.exact)
    covered: list[Stretch] = []
    if cache is not None and not wanted.exact:
        kept, covered = cache.load(wanted.symbol, wanted.interval)
    pages: list[bytes] = []
    parts = [kept]
    for start, stop in missing(covered, (begin, end)):
        yield from _fetch(reader, wanted, start, stop, progress, pages, parts)
    whole = _unique(parts)
    if cache is not None and not wanted.exact:
        settled = (wanted.now - GRACE_MS) // wanted.span * wanted.span
        fresh = joined([*covered, (begin, min(end, settled))])
        if fresh != covered:
            cache.store(wanted.symbol, wanted.interval, whole[whole["time"] < _stamp(settled)], fresh)
        whole = whole[(whole["time"] >= _stamp(begin)) & (whole["time"] < _stamp(end))].reset_index(drop=True)
    whole.attrs["raw"] = frames.InfoAnswer(pages)
    return whole


def _fetch(
    reader: Reader,
    wanted: Wanted,
    begin: int,
    end: int,
    progress: Progress,
    pages: list[bytes],
    parts: list[pd.DataFrame],
) -> Flow[None]:
    """Put the answers for candles that start in [begin, end) into `pages`, and their frames into `parts`.

    After each answer the next window begins behind its last candle, so nothing is lost where a venue cuts its
    answers off at the end; one that was cut off at its beginning is asked for the part before.
    """
    at = begin
    while at < end:
        stop = min(at + WINDOW * wanted.span, end)
        reply: Reply = yield from reader.ask(_LIST, _query(wanted, at, stop))
        got = frames.frame(_LIST, reply.body, exact=wanted.exact)
        got = got[got["time"].notna()]
        pages.append(reply.body)
        progress.add(len(got))
        if got.empty:
            at = stop
            continue
        parts.append(got)
        oldest, newest = (int(stamp.timestamp() * 1000) for stamp in (got["time"].min(), got["time"].max()))
        cut = len(got) % _ROUND == 0
        if cut and at < oldest < stop:
            yield from _fetch(reader, wanted, at, oldest, progress, pages, parts)
        at = newest + wanted.span if cut and newest + wanted.span < stop else stop


def _query(wanted: Wanted, begin: int, end: int) -> tuple[tuple[str, str], ...]:
    return (
        ("symbol_name", wanted.symbol),
        ("interval", str(wanted.interval)),
        ("startTime", str(begin)),
        ("endTime", str(end - 1)),
    )


def _unique(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return candles by time, each start once (the one read last: it may have been forming before)."""
    some = [one for one in parts if len(one)] or parts[:1]
    whole = pd.concat(some, ignore_index=True) if len(some) > 1 else some[0]
    if whole["time"].is_monotonic_increasing and whole["time"].is_unique:
        return whole.reset_index(drop=True)
    return whole.drop_duplicates("time", keep="last").sort_values("time", ignore_index=True)


def _stamp(ms: int) -> pd.Timestamp:
    return pd.Timestamp(ms, unit="ms", tz="UTC")


def finished(candles: pd.DataFrame, wanted: Wanted, *, closed: bool, fill: bool) -> pd.DataFrame:
    """Return candles by time as users get them: without the forming one if `closed`, without holes if `fill`."""
    raw: Any = candles.attrs.get("raw")
    made = candles.set_index("time")
    if closed:
        made = made[made.index <= _stamp(wanted.now - wanted.span)]
    if fill and len(made) > 1:
        made = _filled(made, wanted)
    made.attrs["raw"] = raw
    return made


def _filled(candles: pd.DataFrame, wanted: Wanted) -> pd.DataFrame:
    every = pd.date_range(
        candles.index[0], candles.index[-1], freq=pd.Timedelta(milliseconds=wanted.span), name="time", unit="ms"
    )
    made = candles.reindex(every)
    close = made["close"].ffill()
    for name in ("open", "high", "low", "close"):
        made[name] = made[name].where(made[name].notna(), close)
    zero = type(candles["volume"].iloc[0])(0)
    for name in ("volume", "turnover", "trades"):
        made[name] = made[name].where(made[name].notna(), 0 if name == "trades" else zero)
    made["interval"] = made["interval"].fillna(wanted.interval)
    made["symbol"] = made["symbol"].fillna(wanted.symbol)
    return made
