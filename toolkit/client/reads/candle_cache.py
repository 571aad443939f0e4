"""Cache of closed candles on disk, as Parquet.

There is one file per market, product and interval. It also records which ranges of time are complete, so that intervals
without trades are not requested again. The market's identity is in the file's name and header. `candle_reads` also
compares the last candle with the venue's, because a venue may have been started again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...coverage import Range
from ...environments import LOCAL
from ...errors import StoredFileError, warn
from ...extras import need
from ...protocol.reads.info.candles import Kline
from ...stored.seals import FileKind
from ...stored.tables import read_table, write_table

if TYPE_CHECKING:
    import pandas as pd

_COVERED = b"toolkit.covered"
_KIND = FileKind("candle cache", 1, "the candles are read from the venue again, and the file is replaced")


class CandleCache:
    """A folder of closed candles, which markets can share.

    Parameters
    ----------
    directory : str or PathLike
        Path of the folder.
    scope : str, optional
        Identity of the market (default: "").
    """

    def __init__(self, directory: str | os.PathLike[str], scope: str = "") -> None:
        need("pyarrow")
        self.directory = Path(directory)
        self.scope = scope

    @property
    def is_local(self) -> bool:
        """Whether it is of a local venue, which may have other candles after a restart."""
        return LOCAL.name in self.scope.split()

    def of_market(self, identity: str) -> CandleCache:
        """Return the cache in the same folder for another market.

        Parameters
        ----------
        identity : str
            Identity of that market.
        """
        return CandleCache(self.directory, f"{self.scope} {identity}".strip())

    def path(self, symbol: str, interval: int) -> Path:
        """Return the file of a product and an interval.

        Parameters
        ----------
        symbol : str
            Symbol of the product.
        interval : int
            Length of a candle in seconds.
        """
        readable = re.sub(r"[^A-Za-z0-9_-]+", "_", f"{self.scope}_{symbol}").strip("_")[:60]
        # The readable name drops characters, so two scopes may share it; the digest distinguishes them.
        digest = hashlib.sha256(f"{self.scope}\n{symbol}".encode()).hexdigest()[:8]
        return self.directory / f"{readable}_{digest}_{interval}.parquet"

    def load(self, symbol: str, interval: int) -> tuple[pd.DataFrame, list[Range]]:
        """Return the cached candles, oldest first, and the ranges in which they are complete.

        A file that can't be used counts as empty, with a DataWarning.

        Parameters
        ----------
        symbol : str
            Symbol of the product.
        interval : int
            Length of a candle in seconds.

        Returns
        -------
        tuple of DataFrame and list
            Columns and dtypes are those of `help(session.info.klines)`. A range is a pair of Unix ms.
        """
        from . import frames

        path = self.path(symbol, interval)
        try:
            table, _ = read_table(path, _KIND, identity=self.scope)
            covered = json.loads((table.schema.metadata or {})[_COVERED])
            candles = table.to_pandas().astype(frames.empty(Kline.declared).dtypes.to_dict())
            return candles[list(Kline.declared.columns)], [(int(start), int(end)) for start, end in covered]
        except OSError:
            pass  # it is not there yet, or can't be opened, which storing will say
        except StoredFileError as error:
            warn(str(error))
        return frames.empty(Kline.declared), []

    def store(self, symbol: str, interval: int, candles: pd.DataFrame, covered: list[Range]) -> None:
        """Replace the file of a product and an interval. A failure is a DataWarning.

        Parameters
        ----------
        symbol : str
            Symbol of the product.
        interval : int
            Length of a candle in seconds.
        candles : DataFrame
            Candles, oldest first.
        covered : list of Range
            Ranges in which they are complete, pairs of Unix ms.
        """
        import pyarrow as pa

        plain = candles[list(Kline.declared.columns)].reset_index(drop=True)
        plain.attrs = {}
        about = {_COVERED: json.dumps(covered).encode()}
        path = self.path(symbol, interval)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            write_table(path, pa.Table.from_pandas(plain), _KIND, identity=self.scope, about=about)
        except OSError as error:
            text = f"{path} (candle cache) can't be written: {error.strerror}. The candles are complete, and not kept"
            warn(text)
