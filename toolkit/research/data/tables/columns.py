"""Columns of market data: candles, funding rates, metrics, trades and books from the tables of files and of frames.

Columns are found by their usual names, or stated. Several columns of volumes are told apart by their values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ....errors import InputError
from ....extras import need
from ..event_array import Kind, from_columns
from ..events import COLUMNS, Events, events_of_table
from ..formats import tardis
from ..formats.text_files import TextFile, hashed
from .cells import CLOCK, convert, decimal_of, read_numbers
from .shapes import NAMES, PRICES, flat, plain_name
from .times import read_times

TRADES = ("time", "local_time", "symbol", "side", "price", "quantity", "id")
CANDLES = ("time", "symbol", "open", "high", "low", "close", "volume", "rate")
METRICS = ("mark", "index", "open_interest", "open_interest_value", "premium")
"""Columns of a history of metrics, which any of them makes. Funding rates and other numbers stay in it."""
WANTED = ("time", "open", "high", "low", "close")
MATRICES = tuple(
    ("time", *order.split(), "volume")
    for order in ("open high low close", "open high low close vwap", "open close high low", "low high open close")
)
"""Columns of rows without names: of most, of Kraken, Bitfinex and Coinbase. One has all prices within the range."""
SIDES = {
    **dict.fromkeys(("buy", "b", "bid", "long", "1"), 1), **dict.fromkeys(("sell", "s", "a", "ask", "short", "-1"), -1),
    **dict.fromkeys(("", "unknown", "none", "nan", "0"), 0),
}  # fmt: skip
BUYER_MAKER = {**dict.fromkeys(("true", "1"), -1), **dict.fromkeys(("false", "0"), 1)}
QUOTES = ["usd", "usdt", "usdc", "busd", "fdusd", "tusd", "dai", "eur", "gbp", "jpy", "krw", "try", "currency", "quote"]
"""Currencies in which prices are: a volume in one of them is no volume in base units."""


def read_columns(source: TextFile, table: pd.DataFrame) -> dict[str, Any]:
    """Return what a table holds, by symbol, or under "" where rows say their symbol or none is known.

    Parameters
    ----------
    source : TextFile
        File or frame that the table is from.
    table : DataFrame
        Columns of text or of values, by the names that the source gives them.

    Returns
    -------
    dict of str to DataFrame or Events
        See `load`.

    Raises
    ------
    InputError
        For a column that is needed and not there, and for values of another kind.
    """
    table = flat(table, source.hints.times)
    names = set(table.columns)
    if set(COLUMNS) <= names:
        need("pyarrow")
        import pyarrow as pa

        # Of text and of numbers too: a file of lines has no types, and JSON has no times.
        table = convert(source, table, times=("exchange_time", "local_time"), numbers=("price", "quantity"))
        for name in {"id", "previous"} & names:
            table[name] = table[name].replace("", None).astype("Int64")
        events = events_of_table(source.path, pa.Table.from_pandas(table, preserve_index=False))
        return {events.symbol: events}
    if names >= tardis.KEYS:
        return tardis.read_rows(source, table)
    table = _joined_clock(table)
    if {"price", "quantity"} <= set(found := find(source, list(table.columns))):
        return _trades(source, table, found)
    return {"": _rows(source, table, _checked_time(source, table, found))}


def find(source: TextFile, names: list[str]) -> dict[str, str]:
    """Return our column → the table's column, stated or by its usual names.

    Parameters
    ----------
    source : TextFile
        File that the columns are from.
    names : list of str
        Names of the table's columns, in order.

    Raises
    ------
    InputError
        For a column that is needed and not there.
    """
    path, stated = source.path, source.hints.columns or {}
    lowered = {plain_name(name): name for name in reversed(names)}
    found = {}
    for ours, known in NAMES.items():
        match = next((lowered[name] for name in known.split() if name in lowered), None)
        if match is None and ours == "volume":  # such as "Volume BTC"
            match = next((name for name in names if plain_name(name).startswith("vol")), None)
        if match is not None:
            found[ours] = match
    for ours, theirs in stated.items():
        if ours not in NAMES or theirs not in names:
            where = f"columns are {', '.join(NAMES)}" if ours not in NAMES else f"{path} has {', '.join(names)}"
            raise InputError(f"columns={{{ours!r}: {theirs!r}}}: {where}", field="columns", value=theirs)
        found[ours] = theirs
    if not set(PRICES) <= set(found):  # "c" alone is any column
        found = {ours: name for ours, name in found.items() if ours not in PRICES or len(name) > 1 or ours in stated}
    metrics = {"time", *METRICS} & set(found)
    if len(metrics) > 1 and "time" in metrics and "close" not in found:
        more = [name for name in names if "ratio" in name]  # long to short, of accounts and of positions
        return {**{name: found[name] for name in NAMES if name in {*metrics, "symbol", "rate"} & set(found)},
                **dict(zip(more, more, strict=True))}  # fmt: skip
    if {"price", "quantity"} <= set(found) and "close" not in found and "time" in found:
        return {name: found[name] for name in TRADES if name in found}
    found = {name: found[name] for name in CANDLES if name in found}
    if "rate" in found and "close" not in found:
        found = {name: found[name] for name in ("time", "symbol", "rate") if name in found}
    found = {name: column for name, column in found.items() if name != "rate" or "close" not in found}
    missing = [name for name in (("time", "rate") if "rate" in found else WANTED) if name not in found]
    if missing:
        text = f"{path}: expected a column for {', '.join(missing)}, but it has {', '.join(names)}"
        raise _Missing(text, found, missing)
    return found


class OtherColumns(InputError):
    """Columns are missing or hold something else.

    Parameters
    ----------
    text : str
        What is wrong.
    rule : str
        Name of the broken rule.
    choices : sequence of mapping of str to str
        Columns that could be meant, as `columns` of `load` takes them.
    """

    def __init__(self, text: str, rule: str, choices: Sequence[Mapping[str, str]]) -> None:
        super().__init__(text, field="columns", rule=rule, nearest=tuple(map(str, choices)))
        self.choices = tuple(choices)


class _Missing(InputError):
    """Columns are missing. The caller, who has the table, knows which others could be meant."""

    def __init__(self, text: str, found: Mapping[str, str], missing: Sequence[str]) -> None:
        super().__init__(text, field="columns", rule="known")
        self.found, self.missing = dict(found), tuple(missing)


def columns_for(table: pd.DataFrame, error: InputError) -> dict[str, str]:
    """Return the columns that those missing could be: the only one of times, and four within their range.

    Parameters
    ----------
    table : DataFrame
        Table that misses them.
    error : InputError
        Error of `find`.
    """
    if not isinstance(error, _Missing):
        return {}
    head, guessed = table.head(200), dict[str, str]()
    free = [name for name in table.columns if name not in error.found.values()]
    if "time" in error.missing:
        times = [name for name in free if _reads_as_times(head[name])]
        guessed |= {"time": times[0]} if times else {}
        free = [name for name in free if name not in times]
    prices = [name for name in error.missing if name in PRICES]
    numeric = [name for name in free if np.isfinite(read_numbers(head[name])[0]).all()]
    if prices == list(PRICES) and len(numeric) >= 4:
        guessed |= dict(zip(PRICES, numeric, strict=False))
        guessed |= {"volume": numeric[4]} if len(numeric) > 4 and "volume" not in error.found else {}
        if not _inside(head, {name: guessed[name] for name in PRICES}):
            return {}
    return guessed if set(error.missing) <= set(guessed) else {}


def _reads_as_times(column: pd.Series) -> bool:
    try:
        return not read_times(column).wrong.any()
    except InputError:  # a date with two readings is one
        return True


def _checked_time(source: TextFile, table: pd.DataFrame, found: dict[str, str]) -> dict[str, str]:
    """Return the columns. Raises InputError that names another column of times where this one holds none."""
    column, head = found["time"], table.head(200)
    try:
        wrong = len(head) > 0 and read_times(head[column], source.hints.times).wrong.all()
    except InputError:
        return found  # the readings are shown when the whole column is read
    if wrong and "time" not in (source.hints.columns or {}):
        free = [name for name in table.columns if name not in found.values()]
        others = [{"time": name} for name in free if _reads_as_times(head[name])]
        if others:
            got = str(head[column].iloc[0])
            text = f"{source.path}: expected times in the column {column}, but it begins with {got!r}"
            raise OtherColumns(text, "times", others)
    return found


def _joined_clock(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which a day and a time of day in columns of their own are one column, as of MetaTrader."""
    named = {plain_name(name): name for name in reversed(list(table.columns))}
    if not {"date", "time"} <= set(named) or not len(table):
        return table
    clock = table[named["time"]].astype("str").str.strip()
    digits = clock.str.fullmatch(r"\d{4}|\d{6}") & (len(set(clock.str.len())) == 1)
    if not (digits | clock.str.fullmatch(CLOCK)).iloc[0]:
        return table
    clock = clock.mask(digits, clock.str.replace(r"(\d\d)(?=\d)", r"\1:", regex=True))
    days = table[named["date"]].astype("str").str.strip().str.replace(r"[ T]00:00:00$", "", regex=True)
    days = days.str.replace(r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3", regex=True)
    return table.assign(**{named["time"]: (days + " " + clock).where(clock.str.contains(":"), clock)})


def _rows(source: TextFile, table: pd.DataFrame, found: dict[str, str]) -> pd.DataFrame:
    """Return candles, rates or metrics."""
    if "close" in found and "volume" not in (source.hints.columns or {}):
        found = found | volume_of(source, table, found)
    empty = ("volume", *found) if set(METRICS) & set(found) else ("volume",)
    optional = [found[name] for name in found if name in empty and name not in ("time", "symbol")]
    numbers = [found[name] for name in found if name not in ("time", "symbol") and found[name] not in optional]
    table = convert(source, table, times=(found["time"],), numbers=numbers, optional=optional)
    made = pd.DataFrame({name: table[column] for name, column in found.items()}).reset_index(drop=True)
    made["time"] = pd.to_datetime(made["time"], unit="ns", utc=True).astype("datetime64[ms, UTC]")
    if "symbol" in made:
        made["symbol"] = made["symbol"].astype("string")
    made = made.astype({name: "float64" for name in made.columns if name not in ("time", "symbol")})
    if source.notes:
        made.attrs["notes"] = list(source.notes)
    return made


def volume_of(source: TextFile, table: pd.DataFrame, found: Mapping[str, str]) -> dict[str, str]:
    """Return {"volume": the column of the volume in base units}, nothing where there is none.

    Of two columns the quote's is the base's times a price of the bar. Where no pair is, names decide.

    Parameters
    ----------
    source : TextFile
        File that the table is from.
    table : DataFrame
        Columns of text or of values.
    found : mapping of str to str
        Columns that were found, prices among them.
    """
    plain = {name: plain_name(name) for name in table.columns if name not in {found[one] for one in PRICES}}
    named = [name for name, short in plain.items() if re.search(r"vol|turnover|^cost$|^v$|^amount$|qty|quant", short)]
    coins = [name for name in named if (match := re.fullmatch(r"vol(?:ume)?_(\w+)", plain[name]))
             and match[1] not in (*QUOTES, "base")]  # fmt: skip
    base = [name for name in named if plain[name] in NAMES["volume"].split()[:4]]
    ticks = [name for name in named if re.fullmatch(r"tick_?vol(?:ume)?", plain[name])]
    chosen = (base or coins or [found["volume"]] if "volume" in found else [*base, *coins])[:1]
    if len(named) > 1 and not base:
        try:
            decimal = source.hints.decimal or decimal_of({name: table[name] for name in named})
            values = {name: read_numbers(table[name], decimal)[0] for name in named}
            low, high = (read_numbers(table[found[name]], decimal)[0] for name in ("low", "high"))
        except InputError:
            return dict(zip(("volume",), chosen, strict=False))
        pairs = {one for one in named for other in named if _is_quote(values[other], values[one], low, high)}
        chosen = [next(iter(pairs))] if len(pairs) == 1 else chosen
        if chosen and chosen[0] not in ticks and ticks and not np.nan_to_num(values[chosen[0]]).any():
            source.notes.append(f"the volume is {ticks[0]}, a number of ticks, because {chosen[0]} is 0")
            chosen = ticks
    if chosen:
        source.understood["volume"] = chosen[0]
    return dict(zip(("volume",), chosen, strict=False))


def _is_quote(quote: Any, base: Any, low: Any, high: Any) -> bool:
    """Return whether one volume is the other times a price within the bar, nearly everywhere."""
    rows = (base > 0) & (quote > 0)
    if not rows.any():
        return False
    price = quote[rows] / base[rows]
    # A few trades may have been reported after their bar.
    return bool(np.mean((price >= low[rows] * 0.995) & (price <= high[rows] * 1.005)) > 0.95)


def matrix_names(source: TextFile, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of rows without names with the names of its columns, in the order that the prices allow.

    Parameters
    ----------
    source : TextFile
        File that the rows are from.
    table : DataFrame
        Columns 0, 1, …: three are trades (time, price, quantity), more are candles.
    """
    table = table.set_axis([str(name) for name in range(table.shape[1])], axis=1)
    if table.shape[1] == 3:
        return table.set_axis(["time", "price", "quantity"], axis=1)
    if len(table) and table["1"].astype("str").str.fullmatch(CLOCK).all():
        return table.set_axis(["date", *MATRICES[0], *map(str, range(7, 99))][: table.shape[1]], axis=1)
    orders = [order for order in MATRICES if (len(order) == 7) == (table.shape[1] == 8)]
    orders += [order for order in MATRICES if order not in orders]
    for order in orders:
        places = {name: str(at) for at, name in enumerate(order)}
        if len(order) <= table.shape[1] and _inside(table, places):
            break
    else:
        order = MATRICES[0]
    if order != MATRICES[0]:
        source.understood["columns"] = ", ".join(order)
    return table.iloc[:, : len(order)].set_axis(list(order[: table.shape[1]]), axis=1)


def _inside(table: pd.DataFrame, places: Mapping[str, str]) -> bool:
    """Return whether prices in these columns lie within low and high in nearly all rows."""
    columns = {name: table[places[name]] for name in (*PRICES, "vwap") if name in places}
    try:
        decimal = decimal_of(columns)
    except InputError:
        decimal = "."
    values = {name: read_numbers(column, decimal)[0] for name, column in columns.items()}
    highest = np.maximum.reduce([values[name] for name in values if name != "high"])
    others = [values[name] for name in values if name != "low" and values[name].any()]
    if not others:  # no rows, or nothing but zeros
        return False
    lowest = np.minimum.reduce(others)
    known = np.isfinite(highest + lowest + values["high"] + values["low"])
    return bool(known.any() and np.mean((highest <= values["high"])[known] & (lowest >= values["low"])[known]) > 0.99)


def _trades(source: TextFile, table: pd.DataFrame, found: Mapping[str, str]) -> dict[str, Events]:
    """Return trades by symbol. The time of the exchange stands for one of receipt that the table does not have."""
    choices: dict[str, Mapping[str, int]] = {}
    if side := found.get("side"):
        table = table.assign(**{side: table[side].map(str).str.strip().str.lower()})
        choices[side] = BUYER_MAKER if plain_name(side) in NAMES["side"].split()[4:] else SIDES
    times = tuple(found[name] for name in ("time", "local_time") if name in found)
    table = convert(source, table, times=times, numbers=(found["price"], found["quantity"]), choices=choices)
    columns = {
        "exchange_ns": table[times[0]],
        "local_ns": table[times[-1]],
        "side": table[side] if side else 0,
        "price": table[found["price"]],
        "quantity": table[found["quantity"]],
        "id": hashed(table[found["id"]].fillna("").astype("str").replace("None", "")) if "id" in found else 0,
    }
    array = from_columns({**columns, "kind": Kind.TRADE}, len(table))
    source.understood["volume"] = found["quantity"]
    where = source.path.name
    if "symbol" not in found:
        named = re.match(r"([A-Za-z0-9]+?)_?-?\d{4}-\d{2}", where)  # BTCUSDT_2024-01-31.csv.gz
        symbol = named[1] if named else ""
        return {symbol: Events(array, symbol=symbol, source=where, notes=source.notes)}
    symbols = np.asarray(table[found["symbol"]], dtype="str")
    return {
        symbol: Events(array[symbols == symbol], symbol=symbol, source=where, notes=source.notes)
        for symbol in map(str, pd.unique(table[found["symbol"]]))
    }
