"""Load: market data of every known format, from one file or many, in one line."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd

from ...coverage import coverage, joined, unproven
from ...errors import InputError
from ...guards import no_keys
from ...interchange import to_pandas
from .events import PIECE, Events, batches_of, holds_events, merge
from .formats import binance_archives, bybit, hftbacktest, hyperliquid, recordings, tardis
from .formats.binance import BinanceReader
from .formats.binance_archives import kind_of_table
from .formats.candle_files import read_csv, read_frame, read_freqtrade, read_json, read_parquet
from .formats.text_files import COMMENT, Hints, TextFile, TextPart, first_line
from .recording_store import JOURNAL
from .tables.cells import layout_of
from .tables.columns import OtherColumns
from .tables.times import time_form


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
    "json": read_json,
    "parquet": read_parquet,
    "recording": recordings.read,
}
"""Format → what reads a file of it, by symbol."""
PathLike = str | os.PathLike[str]


MESSAGE = re.compile(rb"([^\s{\[,;|]+[\s,;|]+)?[\[{]")
"""Beginning of a line that is JSON, perhaps after a time."""
ELSEWHERE = {
    (".h5", ".hdf", ".hdf5"): "pandas.read_hdf",
    (".xlsx", ".xls"): "pandas.read_excel",
    (".pkl", ".pickle"): "pandas.read_pickle",
}
"""Endings of files that another library reads → what reads one as the frame that `load` takes."""
TRIED = ("date_format", "zone", "decimal", "oldest", "newest", "columns")
"""Arguments that an error may name as its remedy, with values to try."""


@no_keys
def load(
    path: PathLike | Iterable[PathLike] | Any,
    format: str | None = None,
    *,
    symbol: str | None = None,
    columns: Mapping[str, str] | None = None,
    date_format: str | None = None,
    zone: str | None = None,
    decimal: Literal[".", ","] | None = None,
    oldest: str | int | None = None,
    newest: str | int | None = None,
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
    - "csv", "json" and "parquet" (Feather too): candles, rates, metrics and trades. A Parquet file of `Events.save`
      holds events.
    - "recording": a directory that `record` wrote

    One line is printed that says what was understood. Nothing is repaired or sorted within a file: see `check`. An
    error names only arguments with which the data was read when they were tried.

    Parameters
    ----------
    path : path, iterable of paths or DataFrame
        A file, plain or compressed (.gz, .bz2, .xz, .zst, .lz4 or .zip), the directory of a recording or of files, or a
        pattern with `*`. It may also be a list of these. Files of one product become one, in the order of their local
        times (candles: of their first times). A frame of any library that has the Arrow interface is read as the table
        of a file would be.
    format : str, optional
        Name of the format (default: guessed from the contents).
    symbol : str, optional
        Product to return, if there are several (default: all, as a dict symbol → data, candles of several as one
        frame). It names events that have no name.
    columns : mapping of str to str, optional
        Columns of a table, our name → the file's: time, open, high, low, close, volume, symbol, rate, and of trades
        price, quantity, side, id (default: guessed by their usual names).
    date_format : str, optional
        "DMY", "MDY" or "YMD" for dates such as 1/2/2022, or a form of strptime (default: the only possible order).
    zone : str, optional
        Zone of times that name none, such as "America/New_York" (default: UTC).
    decimal : {".", ","}, optional
        Sign before the decimals (default: recognised).
    oldest : str or int, optional
        Earliest time that is plausible, a year or date (default: 1990).
    newest : str or int, optional
        Time before which plausible ones are (default: the end of next year).
    damaged : {"raise", "skip"}, optional
        "skip" leaves damaged lines out and says so in `notes` (default: "raise").
    progress : bool, optional
        True shows a progress bar immediately, False neither a bar nor the line (default: a bar when reading takes
        long).

    Returns
    -------
    Events, DataFrame or dict
        Events of one product, a table, or either by symbol. The tables have `attrs["understood"]` (format, rows, from,
        to, unit and zone of the times, column of the volume) and `attrs["coverage"]`. They are:

        - candles: time (datetime64[ms, UTC]), symbol (string, if known), open, high, low, close (float64, USDC), volume
          (float64, base units)
        - funding rates: time, symbol, rate (float64, a ratio)
        - metrics: time, symbol and, if known, mark, index (USD), open_interest (base units), open_interest_value (USD),
          premium and ratios

    Raises
    ------
    InputError
        Names file and line, says what was expected there, and how the data can be read.

    Examples
    --------
    >>> bars.to_csv("bars.csv")
    >>> data.load("bars.csv", progress=False).shape
    (200, 7)
    """
    if format is not None and format not in FORMATS:
        text = f"format {format!r} is not known. Known are {', '.join(FORMATS)}"
        raise InputError(text, field="format", rule="known", value=format, nearest=tuple(FORMATS))
    if damaged not in ("raise", "skip"):
        raise InputError(f"damaged is {damaged!r}, not raise or skip", field="damaged", nearest=("raise", "skip"))
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal is {decimal!r}, not '.' or ','", field="decimal", nearest=(".", ","))
    given: dict[str, Any] = {
        "format": format, "columns": columns, "date_format": date_format, "zone": zone, "decimal": decimal,
        "oldest": oldest, "newest": newest, "damaged": damaged,
    }  # fmt: skip
    frame = to_pandas(path, "path") if not isinstance(path, str | os.PathLike) else None
    if not isinstance(frame, pd.DataFrame):
        frame, path = None, [path] if isinstance(path, str | os.PathLike) else list(path)
    try:
        found, said, _ = _read(frame, path, progress, **given)
    except InputError as error:
        raise _advised(error, frame, path, given) from None
    if progress is not False:
        print(said)
    return _only(found, symbol)


def _read(
    frame: pd.DataFrame | None, paths: Any, progress: bool | None, format: str | None, damaged: str, **hints: Any
) -> tuple[dict[str, Any], str, int]:
    """Return the data by symbol, what was understood in one line, and the number of lines that were left out."""
    form = time_form(*(hints[name] for name in ("date_format", "zone", "oldest", "newest")))
    about = Hints(hints["columns"], form, hints["decimal"]), damaged == "skip", progress
    parts: dict[str, list[Any]] = {}
    sources, chosen = [], format or "a frame"
    if frame is not None:
        sources.append(source := TextFile(Path("the frame"), about[0], skips=about[1]))
        parts = {name: [part] for name, part in read_frame(source, frame).items()}
    for file in _files(paths, format) if frame is None else ():
        chosen = format or guess_format(file)
        if file.is_dir() != (chosen == "recording"):
            kind = "directory" if file.is_dir() else "file"
            raise InputError(f"{file} is a {kind}, which the format {chosen} is not", field="path", value=str(file))
        sources.append(source := TextFile(file, about[0], skips=about[1], progress=about[2]))
        for name, part in FORMATS[chosen](source).items():
            parts.setdefault(name, []).append(part)
    left = sum(source.left_out for source in sources)
    if not any(len(part) for named in parts.values() for part in named):
        where = ", ".join(str(source.path) for source in sources)
        why = f', because damaged="skip" left out all of its {left:,} lines' if left else ""
        raise InputError(f"{where}: expected market data, but there is none{why}", field="path", rule="not empty")
    made = {name: _joined(name, named) for name, named in parts.items()}
    understood: dict[str, Any] = {"format": chosen, "rows": sum(map(len, made.values())), **_span_of(made)}
    for source in sources:
        understood |= source.understood
    for part in made.values():
        if isinstance(part, pd.DataFrame):
            part.attrs["understood"] = understood
    names = sources[0].path.name if len(sources) == 1 else f"{len(sources)} files"
    guessed = " (guessed)" if format is None and frame is None else ""
    return made, f"{names}: read as {chosen}{guessed}, {_sentence(understood)}", left


def _span_of(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the first and the last time of the data."""
    ends = [
        each
        for part in found.values()
        for each in (
            pd.to_datetime([part.array["local_ns"].min(), part.array["local_ns"].max()], unit="ns", utc=True)
            if isinstance(part, Events)
            else (part["time"].min(), part["time"].max())
        )
    ]
    known = [each for each in ends if pd.notna(each)]  # of a damaged file no row of a symbol may be left
    return {"from": min(known).isoformat(), "to": max(known).isoformat()} if known else {}


def _sentence(understood: Mapping[str, Any]) -> str:
    said = f"{understood['rows']:,} rows"
    if "from" in understood:
        first, last = (pd.Timestamp(understood[name]) for name in ("from", "to"))
        said += f", {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
    if unit := understood.get("unit"):
        zone = understood["zone"]
        said += f", times {'as' if unit in ('text', 'datetime') else 'in'} {unit}"
        said += f" of {zone}" if zone != "UTC" else ""
    return said + "".join(f", {name} in {understood[name]}" for name in ("volume", "columns") if name in understood)


def _advised(error: InputError, frame: pd.DataFrame | None, paths: Any, given: dict[str, Any]) -> InputError:
    """Return an error that names what reads the data, of what was tried: other arguments, one or two together."""
    working = [f"{said} ({sentence})" for said, sentence in _tried(error, frame, paths, given, 2)]
    advice = f"Pass {' or '.join(working)}" if working else ""
    if not advice and error.rule not in ("computed", "known form", "not found"):
        advice = "Mend it, or pass a DataFrame with a column time (datetime64) and open, high, low, close, volume"
    text = f"{error}. {advice}" if advice else str(error)
    return InputError(text, field=error.field, rule=error.rule, value=error.value, nearest=error.nearest)


def _tried(
    error: InputError, frame: pd.DataFrame | None, paths: Any, given: dict[str, Any], depth: int
) -> Iterable[tuple[str, str]]:
    """Yield the arguments that read the data, as they are written, with what is understood then."""
    values: Iterable[Any] = error.nearest
    if isinstance(error, OtherColumns):
        values = [{**(given["columns"] or {}), **choice} for choice in error.choices]
    options: list[tuple[str, Any]] = [(error.field, value) for value in values if error.field in TRIED]
    options += [("damaged", "skip")] if given["damaged"] == "raise" else []
    options += [("format", None)] if given["format"] is not None else []
    for name, value in options:
        try:
            tried = {**given, name: value}
            if tried == given:
                continue
            found, said, left = _read(frame, paths, False, **tried)
        except ValueError as other:
            if depth > 1 and name != "damaged" and isinstance(other, InputError) and other.field in TRIED:
                for more, sentence in _tried(other, frame, paths, tried, depth - 1):
                    yield f"{name}={value!r}, {more}", sentence
            continue
        # Leaving out most of a file reads something else than the file.
        if name != "damaged" or left <= sum(map(len, found.values())):
            note = f", without {left:,} damaged" if name == "damaged" else ""
            yield f'{name}="{value}"' if isinstance(value, str) else f"{name}={value!r}", said.partition(", ")[2] + note


def in_parts(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield what a file holds, by symbol, in parts that need the same memory for a file of any length.

    Parameters
    ----------
    path : Path
        File of events.

    Raises
    ------
    InputError
        As `load`, and for a form that has no parts.
    """
    chosen = guess_format(path)
    yield from map(FORMATS[chosen], _parts_of(TextFile(path, progress=False), chosen))


def _parts_of(source: TextFile, format: str) -> Iterator[TextFile]:
    """Yield the parts of a file: rows of a table or an array, or lines with the names of their columns."""
    path = source.path
    if format == "hftbacktest" or path.suffix in (".parquet", ".feather"):
        for rows in hftbacktest.parts_of(path, PIECE) if format == "hftbacktest" else batches_of(path):
            part = TextPart(source, b"", 1, b"")
            part.rows = rows
            yield part
        return
    first = _first_of(source.head())
    if not MESSAGE.match(first):
        yield from source.parts(layout_of(source).rows - 1)
        return
    lined = format not in ("json", "freqtrade")
    with suppress(msgspec.DecodeError):  # rows on lines, or a document
        lined = lined or bool(msgspec.json.decode(first))
    yield from source.parts(lined=lined)


def _first_of(head: bytes) -> bytes:
    """Return the first line that is not blank and no comment."""
    return next((line.strip() for line in head.splitlines() if line.strip() and not COMMENT.match(line)), b"")


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
    for endings, reader in ELSEWHERE.items():
        if name.endswith(endings):
            text = f"{path} is read by another library. Pass its frame: data.load({reader}({str(path)!r}))"
            raise InputError(text, field="path", rule="known form", value=str(path))
    if name.endswith((".npz", ".npy")):
        return "hftbacktest"
    if name.endswith((".feather", ".parquet")):
        freqtrade = re.search(r"-(futures|mark|spot|funding_rate|trades)\.parquet$|[a-z0-9]_.*-\w+\.feather$", name)
        return "freqtrade" if freqtrade and (name.endswith(".feather") or not holds_events(path)) else "parquet"
    head = TextFile(path).head()
    first = _first_of(head)
    if MESSAGE.match(first):
        if re.match(rb"\s*\[\s*(\[|\])", head):
            return "freqtrade" if re.search(r"[a-z0-9]_[a-z0-9]+(_[a-z0-9]+)?-\w+.*\.json", name) else "json"
        if re.search(rb'"channel"\s*:\s*"(l2Book|trades|bbo|activeAssetCtx)"', head):
            return "hyperliquid"
        if re.search(rb'"topic"\s*:\s*"(orderbook|publicTrade|tickers)\.', head):
            return "bybit"
        stream = re.search(rb'"(e|stream|lastUpdateId)"\s*:|"u"\s*:\s*\d.*"B"\s*:', head)
        return "binance-usdm" if stream or first[:1] not in b"{[" else "json"
    if kind_of_table(first):
        return "binance-usdm"
    layout = layout_of(TextFile(path)) if first else None
    names = {name for line in layout.names for name in line} if layout else set()
    if {"exchange", "symbol", "timestamp", "local_timestamp"} <= names:
        return "tardis"
    if {"timestamp", "side", "price"} <= names and names & {"trdMatchID", "tickDirection", "volume", "size"}:
        return "bybit"
    if len(names) > 1 or (layout and not layout.names):
        return "csv"
    expected, got = f"the beginning of one of the formats {', '.join(FORMATS)}", first[:60].decode(errors="replace")
    text = f"{path}, line 1: expected {expected}, but got {got!r}. Name it with format="
    raise InputError(text, field="format", value=str(path), nearest=tuple(FORMATS))


def _files(given: list[PathLike], format: str | None) -> list[Path]:
    files = []
    for one in given:
        text = os.fspath(one)
        matches = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
        if not matches:
            raise InputError(f"no file matches {text}", field="path", rule="not found", value=text)
        files += [Path(match) for match in matches]
    if not files:
        raise InputError("there are no files to load", field="path")
    for file in files:
        if not file.exists():
            near = sorted(other.name for other in file.parent.glob("*"))[:5]
            others = f". {file.parent} has {', '.join(near)}" if near else ""
            raise InputError(
                f"there is no file {file}{others}", field="path", rule="not found", value=str(file), nearest=tuple(near)
            )
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
        return _covered(parts[0])
    forms = {_form(part) for part in parts}
    if len(forms) > 1:
        held = " and ".join(sorted(forms))
        raise InputError(f"{name}: the files hold {held}. Load each kind separately", field="path")
    # Names of monthly archives don't always sort by month.
    frames: list[pd.DataFrame] = sorted(parts, key=lambda part: part["time"].min())
    made = pd.concat(frames, ignore_index=True)
    made.attrs = {"notes": [note for part in parts for note in part.attrs.get("notes", ())]}
    if all("coverage" in part.attrs for part in parts):
        made.attrs["coverage"] = joined(part.attrs["coverage"] for part in parts)
    return _covered(made)


def _covered(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame that says its coverage. That of a file is not proven: only its gaps show."""
    if "coverage" not in frame.attrs:
        names = frame["symbol"].astype("str") if "symbol" in frame else pd.Series("", frame.index)
        missing = []
        for _, times in frame["time"].astype("datetime64[ms, UTC]").astype("int64").groupby(names):
            ordered = np.unique(times.to_numpy()).astype(np.int64)
            lengths, counts = np.unique(np.diff(ordered), return_counts=True)
            usual = int(lengths[np.argmax(counts)]) if len(lengths) else 0
            missing += [(start, end) for _, start, end, _ in unproven(coverage(), ordered, usual)]
        frame.attrs["coverage"] = coverage(missing=missing)
    return frame


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
