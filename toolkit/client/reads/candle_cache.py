"""Closed candles kept on disk as Parquet, so that reading them again needs no network.

One file for each venue, product and interval; beside the candles it remembers which stretches of time are complete, so
that a minute without trades is not asked for again and again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...protocol.reads.info_records import KLINE

if TYPE_CHECKING:
    import pandas as pd

Stretch = tuple[int, int]
"""Start (included) and end (excluded), ms."""
_COVERED = b"toolkit.covered"


class CandleCache:
    """A directory of closed candles. `scope` keeps venues apart: candles of one are never given for another's."""

    def __init__(self, directory: str | os.PathLike[str], scope: str = "") -> None:
        self.directory = Path(directory)
        self.scope = scope

    def path(self, symbol: str, interval: int) -> Path:
        """Return the file of a product and interval (seconds)."""
        readable = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{self.scope}_{symbol}").strip("_")[:60]
        mark = hashlib.sha256(f"{self.scope}\n{symbol}".encode()).hexdigest()[:8]
        return self.directory / f"{readable}_{mark}_{interval}.parquet"

    def load(self, symbol: str, interval: int) -> tuple[pd.DataFrame, list[Stretch]]:
        """Return the candles that are kept, oldest first, and the stretches they are complete for.

        A file that can't be read counts as empty.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        from . import frames

        try:
            table = pq.read_table(self.path(symbol, interval))
            covered = json.loads((table.schema.metadata or {})[_COVERED])
            kept = table.to_pandas()
            kept = kept.astype(frames.empty(KLINE).dtypes.to_dict())
            return kept[list(KLINE.columns)], [(int(start), int(end)) for start, end in covered]
        except (FileNotFoundError, KeyError, ValueError, TypeError, pa.ArrowException):
            return frames.empty(KLINE), []

    def store(self, symbol: str, interval: int, candles: pd.DataFrame, covered: list[Stretch]) -> None:
        """Replace what is kept for a product and interval. Readers see the old file or the new one, never half."""
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


def missing(covered: list[Stretch], wanted: Stretch) -> list[Stretch]:
    """Return the parts of `wanted` that no stretch covers, in order."""
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


def joined(stretches: list[Stretch]) -> list[Stretch]:
    """Return the same coverage as few stretches, in order."""
    out: list[Stretch] = []
    for start, end in sorted(stretch for stretch in stretches if stretch[0] < stretch[1]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def cache_of(given: Any, environment: Any) -> CandleCache | None:
    """Return the cache for what a user gave: a CandleCache, a directory, or None."""
    if given is None or isinstance(given, CandleCache):
        return given
    return CandleCache(given, f"{environment.name} {environment.base_url}")
