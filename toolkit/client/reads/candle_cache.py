"""Cache of closed candles on disk, as Parquet.

There is one file per venue, product and interval. It also records which ranges of time are complete, so that intervals
without trades are not requested again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...extras import need
from ...protocol.reads.info_records import KLINE

if TYPE_CHECKING:
    import pandas as pd

Range = tuple[int, int]
"""Start (included) and end (excluded), Unix ms."""
_COVERED = b"toolkit.covered"


class CandleCache:
    """A directory of closed candles. `scope` names the venue, so that venues can share the directory."""

    def __init__(self, directory: str | os.PathLike[str], scope: str = "") -> None:
        need("pyarrow")
        self.directory = Path(directory)
        self.scope = scope

    def path(self, symbol: str, interval: int) -> Path:
        """Return the file of a product and interval (seconds)."""
        readable = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{self.scope}_{symbol}").strip("_")[:60]
        # The readable name drops characters, so two scopes may share it; the digest distinguishes them.
        digest = hashlib.sha256(f"{self.scope}\n{symbol}".encode()).hexdigest()[:8]
        return self.directory / f"{readable}_{digest}_{interval}.parquet"

    def load(self, symbol: str, interval: int) -> tuple[pd.DataFrame, list[Range]]:
        """Return the cached candles, oldest first, and the ranges in which they are complete.

        The columns and dtypes are those of `help(session.info.klines)`. A file that can't be read counts as empty.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        from . import frames

        try:
            table = pq.read_table(self.path(symbol, interval))
            covered = json.loads((table.schema.metadata or {})[_COVERED])
            candles = table.to_pandas().astype(frames.empty(KLINE).dtypes.to_dict())
            return candles[list(KLINE.columns)], [(int(start), int(end)) for start, end in covered]
        except (FileNotFoundError, KeyError, ValueError, TypeError, pa.ArrowException):
            return frames.empty(KLINE), []

    def store(self, symbol: str, interval: int, candles: pd.DataFrame, covered: list[Range]) -> None:
        """Replace the file of a product and interval. The rename is atomic: readers see the old file or the new one."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        plain = candles[list(KLINE.columns)].reset_index(drop=True)
        plain.attrs = {}
        table = pa.Table.from_pandas(plain)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), _COVERED: json.dumps(covered).encode()})
        self.directory.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=".part", dir=self.directory)
        os.close(handle)
        try:
            pq.write_table(table, name)
            os.replace(name, self.path(symbol, interval))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def missing(covered: list[Range], wanted: Range) -> list[Range]:
    """Return the parts of `wanted` that are not covered, in order."""
    gaps, at = [], wanted[0]
    for start, end in sorted(covered):
        if end <= at:
            continue
        if start >= wanted[1]:
            break
        if start > at:
            gaps.append((at, start))
        at = end
    if at < wanted[1]:
        gaps.append((at, wanted[1]))
    return gaps


def merged(ranges: list[Range]) -> list[Range]:
    """Return the same coverage as disjoint ranges, in order."""
    disjoint: list[Range] = []
    for start, end in sorted(each for each in ranges if each[0] < each[1]):
        if disjoint and start <= disjoint[-1][1]:
            disjoint[-1] = (disjoint[-1][0], max(end, disjoint[-1][1]))
        else:
            disjoint.append((start, end))
    return disjoint


def cache_of(given: Any, environment: Any) -> CandleCache | None:
    """Return the cache for the `cache` argument of a read: a CandleCache, a directory, or None."""
    if given is None or isinstance(given, CandleCache):
        return given
    return CandleCache(given, f"{environment.name} {environment.base_url}")
