"""Load: market data of every known format, from one file or many, in one line."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ...errors import InputError
from ...guards import no_keys
from ...interchange import to_pandas
from .events import Events, holds_events, merge
from .formats import binance_archives, bybit, hftbacktest, hyperliquid, recordings, tardis
from .formats.binance import BinanceReader
from .formats.binance_archives import kind_of_table
from .formats.candle_files import read_csv, read_frame, read_freqtrade, read_parquet
from .formats.text_files import BOM, COMMENT, TextFile, delimiter_of, first_line
from .recording_store import JOURNAL


def _read_binance(source: TextFile) -> Mapping[str, Any]:
    """Read raw streams, or a table of the archives: trades and best prices, else candles, rates or metrics."""
    line, _ = first_line(source)
    if kind := kind_of_table(line):
        return binance_archives.read(source, kind)
    return read_csv(source) if line.count(b",") > 1 and b"{" not in line else BinanceReader(source).read()


FORMATS: dict[str, Callable[[TextFile], Mapping[str, Any]]] = {
    "binance-usdm": _read_binance,
    "tardis": tardis.read,
    "bybit": bybit.read,
    "hyperliquid": hyperliquid.read,
    "hftbacktest": hftbacktest.read,
    "freqtrade": read_freqtrade,
    "csv": read_csv,
    "parquet": read_parquet,
    "recording": recordings.read,
}
"""Format → what reads a file of it, by symbol."""
PathLike = str | os.PathLike[str]


@no_keys
def load(
    path: PathLike | Iterable[PathLike] | Any,
    format: str | None = None,
    *,
    symbol: str | None = None,
    columns: Mapping[str, str] | None = None,
    damaged: Literal["raise", "skip"] = "raise",
    progress: bool | None = None,
) -> Any:
    """Read market data: events of books and trades as `Events`, candles and funding rates as a DataFrame.

    The formats are:

    - "binance-usdm": raw streams, and the archives' trades, aggTrades, bookTicker and metrics
    - "tardis": incremental L2, snapshots, trades, quotes, derivative ticker
    - "bybit": archives of books and trades
    - "hyperliquid": l2Book and other messages
    - "hftbacktest": .npz files
    - "freqtrade": feather, Parquet and JSON lists of candles, trades and funding rates
    - "csv" and "parquet": candles, rates and metrics. A Parquet file of `Events.save` holds events.
    - "recording": a directory that `record` wrote

    Nothing is repaired or sorted within a file: see `check`.

    Parameters
    ----------
    path : path, iterable of paths or DataFrame
        A file, plain or compressed (.gz, .bz2, .xz, .zst, .lz4 or .zip), the directory of a recording or of files, or a
        pattern with `*`. It may also be a list of these. Files of one product become one, in the order of their local
        times (candles: of their first times). A frame of candles or funding rates of any library that has the Arrow
        interface is read as the table of a file would be.
    format : str, optional
        Name of the format (default: guessed from the contents, and printed).
    symbol : str, optional
        Product to return, if there are several (default: all, as a dict symbol → data, candles of several as one
        frame). It names events that have no name.
    columns : mapping of str to str, optional
        Columns of "csv" and "parquet", our name → the file's: time, open, high, low, close, volume, symbol, rate
        (default: guessed by their usual names).
    damaged : {"raise", "skip"}, optional
        "skip" leaves damaged lines out and says so in `notes` (default: "raise").
    progress : bool, optional
        True shows a progress bar immediately, False never (default: when reading takes long).

    Returns
    -------
    Events, DataFrame or dict
        Events of one product, a table, or either by symbol. The tables are:

        - candles: time (datetime64[ms, UTC]), symbol (string, if known), open, high, low, close (float64, USDC), volume
          (float64, base units)
        - funding rates: time, symbol, rate (float64, a ratio)
        - metrics: time, symbol and, if known, mark, index (USD), open_interest (base units), open_interest_value (USD),
          premium and ratios

    Raises
    ------
    InputError
        Names file and line and says what was expected there.

    Examples
    --------
    >>> bars.to_csv("bars.csv")
    >>> data.load("bars.csv", format="csv").shape
    (200, 7)
    """
    if format is not None and format not in FORMATS:
        text = f"format {format!r} is not known. Known are {', '.join(FORMATS)}"
        raise InputError(text, field="format", rule="known", value=format, nearest=tuple(FORMATS))
    if damaged not in ("raise", "skip"):
        raise InputError(f"damaged is {damaged!r}, not raise or skip", field="damaged", nearest=("raise", "skip"))
    table = to_pandas(path, "path") if not isinstance(path, str | os.PathLike) else None
    if isinstance(table, pd.DataFrame):
        return _only({"": read_frame(table, Path("the frame"), columns)}, symbol)
    found: dict[str, list[Any]] = {}
    for file in _files(path, format):
        chosen = format
        if chosen is None:
            chosen = guess_format(file)
            print(f"{file.name}: read as {chosen} (guessed)")
        if file.is_dir() != (chosen == "recording"):
            kind = "directory" if file.is_dir() else "file"
            raise InputError(f"{file} is a {kind}, which the format {chosen} is not", field="path", value=str(file))
        for name, part in FORMATS[chosen](TextFile(file, columns, skips=damaged == "skip", progress=progress)).items():
            found.setdefault(name, []).append(part)
    if not found:
        raise InputError(f"{path}: expected market data, but there is none", field="path", rule="not empty")
    return _only({name: _joined(name, parts) for name, parts in found.items()}, symbol)


def guess_format(path: Path) -> str:
    """Return the format of a file by its name and first bytes.

    Parameters
    ----------
    path : Path
        File, or directory of a recording.

    Raises
    ------
    InputError
        When it is none that is known.
    """
    if path.is_dir():
        return "recording"
    name = path.name.lower()
    if name.endswith((".npz", ".npy")):
        return "hftbacktest"
    if name.endswith(".feather"):
        return "freqtrade"
    if name.endswith(".parquet"):
        freqtrade = re.search(r"-(futures|mark|spot|funding_rate|trades)\.parquet$", name)
        return "parquet" if holds_events(path) or not freqtrade else "freqtrade"
    head = TextFile(path).head().removeprefix(BOM)
    if re.match(rb"\s*\[\s*(\[|\])", head):
        return "freqtrade"
    first = next((line.strip() for line in head.splitlines() if line.strip() and not COMMENT.match(line)), b"")
    if re.match(rb"([^\s{\[,;|]+[\s,;|]+)?[\[{]", first):
        if re.search(rb'"channel"\s*:\s*"(l2Book|trades|bbo|activeAssetCtx)"', head):
            return "hyperliquid"
        return "bybit" if re.search(rb'"topic"\s*:\s*"(orderbook|publicTrade|tickers)\.', head) else "binance-usdm"
    if kind_of_table(first):
        return "binance-usdm"
    names = {part.strip().strip('"') for part in first.decode(errors="replace").split(delimiter_of(first))}
    if {"exchange", "symbol", "timestamp", "local_timestamp"} <= names:
        return "tardis"
    if {"timestamp", "side", "price"} <= names and names & {"trdMatchID", "tickDirection", "volume", "size"}:
        return "bybit"
    if len(names) > 1:
        return "csv"
    expected, got = f"the beginning of one of the formats {', '.join(FORMATS)}", first[:60].decode(errors="replace")
    text = f"{path}, line 1: expected {expected}, but got {got!r}. Name it with format="
    raise InputError(text, field="format", value=str(path), nearest=tuple(FORMATS))


def _files(path: PathLike | Iterable[PathLike], format: str | None) -> list[Path]:
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    files = []
    for one in given:
        text = os.fspath(one)
        matches = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
        if not matches:
            raise InputError(f"no file matches {text}", field="path", value=text)
        files += [Path(match) for match in matches]
    if not files:
        raise InputError("there are no files to load", field="path")
    for file in files:
        if not file.exists():
            near = sorted(other.name for other in file.parent.glob("*"))[:5]
            others = f". {file.parent} has {', '.join(near)}" if near else ""
            raise InputError(f"there is no file {file}{others}", field="path", value=str(file), nearest=tuple(near))
    return files if format == "recording" else [one for file in files for one in _unfolded(file)]


def _unfolded(path: Path) -> list[Path]:
    """Return the files of a directory that is no recording, else the path itself."""
    if not path.is_dir() or any(path.glob("channel=*")) or (path / JOURNAL).exists():
        return [path]
    found = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
    if not found:
        raise InputError(f"{path}: expected a recording or files, but the directory is empty", field="path")
    return found


def _joined(name: str, parts: list[Any]) -> Any:
    if all(isinstance(part, Events) for part in parts):
        forms = {part.source.rpartition(", ")[2] for part in parts}
        # Both files together would count each trade twice.
        if {"trades)", "aggregated trades)"} <= forms:
            text = f"{name}: the files hold the same trades one by one and aggregated. Load one of the two"
            raise InputError(text, field="path", rule="one form of trades")
        return merge(parts)
    if len(parts) == 1:
        return parts[0]
    forms = {_form(part) for part in parts}
    if len(forms) > 1:
        held = " and ".join(sorted(forms))
        raise InputError(f"{name}: the files hold {held}. Load each kind separately", field="path")
    # Names of monthly archives don't always sort by month.
    frames: list[pd.DataFrame] = sorted(parts, key=lambda part: part["time"].min())
    joined = pd.concat(frames, ignore_index=True)
    joined.attrs["notes"] = [note for part in parts for note in part.attrs.get("notes", ())]
    return joined


def _form(part: Events | pd.DataFrame) -> str:
    if isinstance(part, Events):
        return "events"
    return "candles" if "close" in part else "rates" if set(part) <= {"time", "symbol", "rate"} else "metrics"


def _only(found: dict[str, Any], symbol: str | None) -> Any:
    first = next(iter(found.values()))
    if symbol is None:
        return first if len(found) == 1 else found
    if list(found) == [""]:
        if isinstance(first, Events):
            first.symbol = symbol
        if isinstance(first, Events) or "symbol" not in first:
            return first
        found = {str(name): part.reset_index(drop=True) for name, part in first.groupby("symbol")}
    if symbol not in found:
        text = f"{symbol} is not in the data, which has {', '.join(found)}"
        raise InputError(text, field="symbol", value=symbol, nearest=tuple(found))
    return found[symbol]
