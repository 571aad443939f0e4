"""Each form of times, through each door: every cell is right, or is refused with a remedy that was followed."""

from __future__ import annotations

import gzip
import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from toolkit.errors import InputError
from toolkit.research import data
from toolkit.research.backtesting.funding_schedule import settlement_rates
from toolkit.research.data.bars import read_bars
from toolkit.research.data.events import Events

HOURS = pd.date_range("2024-01-30", periods=96, freq="h", tz="UTC")
DAYS = pd.date_range("2024-01-01", periods=12, freq="D", tz="UTC")
LONG = pd.date_range("2024-01-10", periods=12, freq="D", tz="UTC")


def epochs(unit: str) -> Callable[[pd.DatetimeIndex], list[Any]]:
    return lambda times: times.as_unit(unit).asi8.tolist()  # type: ignore[arg-type]


def texts(form: str) -> Callable[[pd.DatetimeIndex], list[Any]]:
    return lambda times: times.strftime(form).tolist()


def mixed(*units: str) -> Callable[[pd.DatetimeIndex], list[Any]]:
    return lambda times: [epochs(units[at % len(units)])(times)[at] for at in range(len(times))]


FORMS: dict[str, tuple[pd.DatetimeIndex, Callable[[pd.DatetimeIndex], list[Any]], str]] = {
    **{unit: (HOURS, epochs(unit), "") for unit in ("s", "ms", "us", "ns")},
    "ms and µs": (HOURS, mixed("ms", "us"), ""),
    "s, ms, µs and ns": (HOURS, mixed("s", "ms", "us", "ns"), ""),
    "s with decimals": (HOURS, lambda times: [at / 1000 for at in epochs("ms")(times)], ""),
    "text of ms": (HOURS, lambda times: list(map(str, epochs("ms")(times))), ""),
    "yyyymmdd": (DAYS, lambda times: [int(one) for one in texts("%Y%m%d")(times)], ""),
    "yyyymmddHH": (HOURS, lambda times: [int(one) for one in texts("%Y%m%d%H")(times)], ""),
    "yyyymmddHHMM": (HOURS, lambda times: [int(one) for one in texts("%Y%m%d%H%M")(times)], ""),
    "yyyymmddHHMMSS": (HOURS, lambda times: [int(one) for one in texts("%Y%m%d%H%M%S")(times)], ""),
    "Excel serials": (HOURS, lambda times: [25_569 + at / 86_400 for at in epochs("s")(times)], ""),
    "Excel serials of days": (DAYS, lambda times: [25_569 + at // 86_400 for at in epochs("s")(times)], ""),
    **{
        form: (times, texts(form), "")
        for times, forms in (
            (HOURS, ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%f+00:00", "%Y/%m/%d %H:%M",
                     "%Y.%m.%d %H:%M", "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %I-%p", "%b %d, %Y %H:%M", "%d-%b-%y %H:%M",
                     "%m/%d/%Y %I:%M %p", "%d.%m.%Y %H:%M", "%d/%m/%y %H:%M", "%a, %d %b %Y %H:%M:%S GMT")),
            (LONG, ("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y-%m-%d", "%B %d, %Y", "%d %b %Y")),
        )
        for form in forms
    },
    "of Tokyo, by offset": (HOURS, lambda times: texts("%Y-%m-%dT%H:%M:%S%z")(times.tz_convert("Asia/Tokyo")), ""),
    "day first, all up to the 12th": (DAYS, texts("%d/%m/%Y"), 'date_format="DMY"'),
    "month first, all up to the 12th": (DAYS, texts("%m/%d/%Y"), 'date_format="MDY"'),
    "of New York, by abbreviation": (
        HOURS, lambda times: texts("%Y-%m-%d %H:%M EST")(times.tz_convert("Etc/GMT+5")),
        'zone="America/New_York"'),
    "of 1985": (pd.date_range("1985-01-01", periods=9, freq="D", tz="UTC"), texts("%Y-%m-%d"), 'oldest="1985"'),
    "of 1985 in s": (pd.date_range("1985-01-01", periods=9, freq="D", tz="UTC"), epochs("s"), 'oldest="1985"'),
    "of 2140": (pd.date_range("2140-01-01", periods=9, freq="D", tz="UTC"), texts("%Y-%m-%d"), 'newest="2141"'),
}  # fmt: skip
"""Form → the true times, their values in it, and the remedy that the refusal must name, "" for what is read."""


def bars(times: pd.DatetimeIndex, values: list[Any]) -> pd.DataFrame:
    close = [100.0 + at % 7 for at in range(len(times))]
    return pd.DataFrame({"time": values, "open": close, "high": 110.0, "low": 90.0, "close": close, "volume": 5.0})


def rates(times: pd.DatetimeIndex, values: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"time": values, "funding_rate": [at / 1e5 for at in range(len(times))]})


def trades(times: pd.DatetimeIndex, values: list[Any]) -> pd.DataFrame:
    sides = ["buy" if at % 3 else "sell" for at in range(len(times))]
    return pd.DataFrame(
        {"timestamp": values, "side": sides, "price": 100.5, "size": 0.5, "trade_id": range(len(times))}
    )


def books(times: pd.DatetimeIndex, values: list[Any]) -> pd.DataFrame:
    flags = [at == 0 for at in range(len(times))]
    return pd.DataFrame({"exchange": "x", "symbol": "A", "timestamp": values, "local_timestamp": values,
                         "is_snapshot": flags, "side": "bid", "price": 100.5, "amount": 1.0})  # fmt: skip


def polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").DataFrame({name: frame[name].tolist() for name in frame})


def written(frame: pd.DataFrame, path: Path, door: str) -> Any:
    """Return what `load` takes: a path, or a frame of a library."""
    if door == "CSV":
        frame.to_csv(path.with_suffix(".csv"), index=False)
        return path.with_suffix(".csv")
    if door == "CSV, packed, with semicolons and a byte order mark":
        path.with_suffix(".csv.gz").write_bytes(
            gzip.compress(b"\xef\xbb\xbf" + frame.to_csv(index=False, sep=";").encode())
        )
        return path.with_suffix(".csv.gz")
    if door.startswith("JSON"):
        rows = json.loads(frame.to_json(orient="records"))
        made = {"JSON": rows, "JSON of columns": {name: frame[name].tolist() for name in frame},
                "JSON in an answer": {"code": 0, "result": {"list": rows}}}.get(door)  # fmt: skip
        text = "\n".join(map(json.dumps, rows)) if made is None else json.dumps(made)
        path.with_suffix(".json").write_text(text)
        return path.with_suffix(".json")
    if door in ("Parquet", "Feather"):
        path = path.with_suffix(f".{door.lower()}")
        (frame.to_parquet if door == "Parquet" else frame.to_feather)(path)
        return path
    makers: dict[str, Callable[[pd.DataFrame], Any]] = {
        "pandas": lambda one: one, "pandas by index": lambda one: one.set_index(one.columns[0]),
        "categories": lambda one: one.astype({one.columns[0]: "category"}),
        "polars": polars, "Arrow": lambda one: pa.Table.from_pandas(one, preserve_index=False),
    }  # fmt: skip
    return makers[door](frame)


DOORS = ["CSV", "CSV, packed, with semicolons and a byte order mark", "JSON", "JSON of columns", "JSON in an answer",
         "JSON lines", "Parquet", "Feather", "pandas", "pandas by index", "categories", "polars", "Arrow"]  # fmt: skip


def remedies(error: InputError) -> Iterator[dict[str, Any]]:
    """Yield the arguments that an error names, as a program reads its sentence."""
    said = str(error).partition(". Pass ")[2]
    for way in re.split(r" or (?=\w+=)", said):
        found = re.findall(r"""(\w+)=("[^"]*"|'[^']*'|\{[^}]*\}|None)""", way.partition(" (")[0])
        if found:
            yield {name: literal_eval(value) for name, value in found}


def times_of(found: Any) -> list[pd.Timestamp]:
    if isinstance(found, Events):
        of = found.array["exchange_ns"][found.array["kind"] != 3]
        return list(pd.to_datetime(of, unit="ns", utc=True))
    return list(found["time"])


KINDS = [(make, door) for door in DOORS for make in (bars, rates, trades, books)]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_times_is_right_through_many_doors_or_its_remedy_works(form: str, tmp_path: Path) -> None:
    pass_through(form, KINDS[list(FORMS).index(form) % 4 :: 4], tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_times_is_right_through_some_doors(form: str, tmp_path: Path) -> None:
    at = list(FORMS).index(form)
    pass_through(form, [KINDS[(at * 7 + step) % len(KINDS)] for step in (0, 19)], tmp_path)


def loads(given: Any) -> list[tuple[str, Any]]:
    """Return what `load` reads, with no error, or what it reads with each remedy of its error, and the error."""
    try:
        return [("", data.load(given, progress=False))]
    except InputError as error:
        return [(str(error), data.load(given, progress=False, **way)) for way in remedies(error)]


def pass_through(form: str, kinds: list[tuple[Any, str]], tmp_path: Path) -> None:
    truth, values, remedy = FORMS[form]
    for make, door in kinds:
        found = loads(written(make(truth, values(truth)), tmp_path / make.__name__, door))
        assert any(times_of(each) == list(truth) for _, each in found), (make.__name__, door, found)
        assert all(bool(said) == bool(remedy) and remedy in said for said, _ in found), (make.__name__, door)


@pytest.mark.parametrize("read", [data.load, read_bars])
def test_a_zone_of_an_abbreviation_that_is_not_known_is_asked_for(read: Callable[[pd.DataFrame], Any]) -> None:
    frame = bars(LONG, [f"{each.day} Jan 2024 00:00:00 WAT" for each in LONG])
    with pytest.raises(InputError) as raised:
        read(frame)
    assert 'Pass zone with an area and a city, as in zone="Africa/Lagos"' in str(raised.value)
    assert "Pass  " not in str(raised.value)
    assert times_of(data.load(frame, zone="Africa/Lagos"))[0] == LONG[0] - pd.Timedelta(hours=1)


@pytest.mark.parametrize("form", FORMS)
def test_backtests_and_funding_read_times_as_files_do(form: str) -> None:
    truth, values, remedy = FORMS[form]
    wanted = truth.as_unit("ms").asi8.tolist()
    series = read_bars(bars(truth, truth.tolist()), symbol="A")["A"]
    frame, paid = bars(truth, values(truth)), rates(truth, values(truth))
    if remedy:
        with pytest.raises(InputError) as raised:
            read_bars(frame)
        assert remedy in str(raised.value)
        with pytest.raises(InputError) as raised:
            settlement_rates("A", series, paid, 1)
        assert remedy in str(raised.value)
        name, _, value = remedy.partition("=")
        frame, paid = (data.load(one, progress=False, **{name: value.strip('"')}) for one in (frame, paid))
    assert read_bars(frame, symbol="A")["A"].opened.tolist() == wanted
    assert settlement_rates("A", series, paid, 1)[0].tolist() == wanted
    column = "rate" if remedy else "funding_rate"
    if not remedy:
        assert settlement_rates("A", series, paid.set_index("time")[column], 1)[0].tolist() == wanted
