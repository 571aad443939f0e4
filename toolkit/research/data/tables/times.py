"""Times of tables in every form that files and frames have, as ns since 1970: one reader for all.

Each value has its own unit: a column may change from ms to µs. A form is taken only if it has one reading within the
range of times that are plausible. Otherwise the error shows the readings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....errors import InputError

Whole = NDArray[np.int64]
Rows = NDArray[np.bool_]
UNITS = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}
"""Unit of a number since 1970 → its ns."""
COMPACT = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S", 17: "%Y%m%d%H%M%S%f"}
"""Digits of a date without separators → its form."""
SERIAL = "Excel serial"
EPOCH_S = 25_569
"""1970-01-01 as an Excel serial."""
FIRST_NS = 10**17
"""1973-03-03. Between it and the year 5138 numbers of s, ms, µs and ns have different sizes."""
ORDERS = {"DMY": "day first", "MDY": "month first", "YMD": "year first"}
NUMBER = r"\d{1,30}(?:\.\d+)?(?:[eE]\+?\d{1,2})?"
"""Bounded: a longer number is no time, and a damaged exponent could ask for a text of gigabytes."""
DATE = re.compile(
    r"(?:[A-Za-z]{3,9},\s*)?(?P<a>\d{1,4}|[A-Za-z]{3,9})\.?[\s./-]\s*(?P<b>\d{1,2}|[A-Za-z]{3,9})\.?,?[\s./-]\s*"
    r"(?P<c>\d{1,4})(?:[\sT,]+(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::(?P<second>\d\d(?:\.\d{1,9})?))?"
    r"(?:[\s-]?(?P<half>[AaPp])\.?[Mm]\.?)?)?\s*(?P<zone>[+-]\d\d:?\d\d|[A-Za-z]{1,5})?"
)
"""A date of a person or a program: three parts in some order, perhaps a time of day and a zone."""
MONTHS = {name: f"{at:02}" for at, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}  # noqa: SIM905
ZONES = {
    **dict.fromkeys(("EST", "EDT", "ET"), "America/New_York"), **dict.fromkeys(("CST", "CDT"), "America/Chicago"),
    **dict.fromkeys(("PST", "PDT"), "America/Los_Angeles"), **dict.fromkeys(("CET", "CEST"), "Europe/Berlin"),
    **dict.fromkeys(("BST", "WET"), "Europe/London"), "JST": "Asia/Tokyo", "KST": "Asia/Seoul", "IST": "Asia/Kolkata",
    "HKT": "Asia/Hong_Kong", "SGT": "Asia/Singapore", "MSK": "Europe/Moscow",
}  # fmt: skip
"""Abbreviation of a zone → the zone that is probably meant. Several zones share most abbreviations."""


class TimeForm(NamedTuple):
    """What the reader can't know about times.

    Attributes
    ----------
    date_format : str or None
        "DMY", "MDY" or "YMD" for dates in numbers, or a form of strptime with "%" (default: recognised).
    zone : str or None
        Zone of times without one, such as "America/New_York" (default: UTC).
    oldest_ns : int
        Earliest plausible time, Unix ns (default: 1990).
    newest_ns : int
        Time before which plausible ones are, Unix ns (default: any). `time_form` bounds it by the present.
    """

    date_format: str | None = None
    zone: str | None = None
    oldest_ns: int = 631_152_000 * 10**9
    newest_ns: int = 2**63 - 1

    @property
    def span(self) -> tuple[int, int]:
        """First and last plausible time, Unix ns."""
        return self.oldest_ns, self.newest_ns - 1

    @property
    def years(self) -> str:
        """The plausible years in words."""
        first, last = (pd.Timestamp(each, unit="ns").year for each in self.span)
        return f"{first} to {last}"


class Times(NamedTuple):
    """Times of a column.

    Attributes
    ----------
    ns : array of int64
        Unix ns, 0 for what is no time.
    wrong : array of bool
        Whether a value is no time.
    unit : str
        Forms that occur, such as "ms and µs", "text" or "Excel serial".
    """

    ns: Whole
    wrong: Rows
    unit: str


def time_form(
    date_format: str | None = None,
    zone: str | None = None,
    oldest: object = None,
    newest: object = None,
    now_ms: int | None = None,
) -> TimeForm:
    """Return the form of times that arguments of `load` say.

    Parameters
    ----------
    date_format : str, optional
        "DMY", "MDY" or "YMD", or a form of strptime (default: recognised).
    zone : str, optional
        Zone of times without one (default: UTC).
    oldest : str, int, datetime, optional
        Earliest plausible time, such as 1928 or "1985-06-01" (default: 1990).
    newest : str, int, datetime, optional
        Time before which plausible ones are (default: the end of next year).
    now_ms : int, optional
        The present, Unix ms, which says which year is next (default: that of the machine's clock).

    Raises
    ------
    InputError
        For an argument that is none of these.
    """
    if date_format is not None and "%" not in date_format and date_format not in ORDERS:
        text = f"date_format {date_format!r} is none of {', '.join(ORDERS)}, and no form of strptime such as '%d/%m/%Y'"
        raise InputError(text, field="date_format", value=date_format, nearest=tuple(ORDERS))
    try:
        if zone is not None:
            ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        text = f"zone {zone!r} is not known. Give a name such as 'America/New_York', or 'UTC'"
        raise InputError(text, field="zone", value=zone, nearest=("UTC",)) from None
    present = datetime.now(UTC) if now_ms is None else datetime.fromtimestamp(now_ms / 1000, UTC)
    bounds = {"newest_ns": int(datetime(present.year + 2, 1, 1, tzinfo=UTC).timestamp()) * 10**9}
    for name, value in (("oldest", oldest), ("newest", newest)):
        if value is not None:
            try:
                given = pd.Timestamp(str(value))
                given = given.tz_localize("UTC") if given.tz is None else given
                bounds[f"{name}_ns"] = int(given.as_unit("ns").value)
            except (ValueError, OverflowError):
                text = f"{name} {value!r} is not a time from 1678 to 2261. Give a year or a date, such as 1970"
                raise InputError(text, field=name, value=str(value)) from None
    return TimeForm(date_format, zone, **bounds)


def read_times(values: Any, form: TimeForm | None = None) -> Times:
    """Return the times of a column.

    Parameters
    ----------
    values : Series or Index
        Times, periods, dates, numbers or texts, mixed as well. Without a zone they are UTC.
    form : TimeForm, optional
        What the reader can't know (default: nothing, in the year of the machine's clock).

    Raises
    ------
    InputError
        For dates with more than one reading, and for zones that are abbreviated.
    """
    form = form or time_form()
    column = pd.Series(values).reset_index(drop=True)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if isinstance(column.dtype, pd.ArrowDtype):
        column = pd.Series(column.array.__arrow_array__().to_pandas())  # type: ignore[attr-defined]
    if isinstance(column.dtype, pd.PeriodDtype):
        column = pd.Series(column.dt.to_timestamp())
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _within(_stamps_ns(column, form), form, "datetime")
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        known = column.notna().to_numpy()
        numbers = column.fillna(0).to_numpy(dtype="float64" if kind == "f" else "int64" if kind == "i" else "uint64")
        whole = known & (abs(numbers) < 2.0**63)
        if kind != "f" or (np.rint(numbers[whole]) == numbers[whole]).all():
            ns, unit = _epochs(np.where(whole, numbers, 0).astype("int64"), form)
            if unit or form.date_format is None:
                return _within((ns, ~whole | (ns == 0)), form, unit)
        column = column.astype(object)
    return _of_texts(column.map(_as_text).astype("str").str.strip().str.strip("'\""), form)


def _as_text(value: Any) -> str:
    """Return one value of a column of several types as text, "" for what is no time."""
    if isinstance(value, str | int | np.integer) and not isinstance(value, bool):
        return str(value)
    if value is None or value is pd.NA or value is pd.NaT or isinstance(value, bool) or value != value:
        return ""
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() and abs(float(value)) < 2**63 else repr(float(value))
    if isinstance(value, pd.Period):
        value = value.to_timestamp()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _stamps_ns(stamps: pd.Series, form: TimeForm) -> tuple[Whole, Rows]:
    """Return stamps as Unix ns and which of them are missing or beyond 64 bits. Those without a zone are in it."""
    if stamps.dt.tz is None:
        # One that the clock of the zone leaves out or shows twice becomes NaT, which is refused.
        stamps = stamps.dt.tz_localize(form.zone or "UTC", ambiguous="NaT", nonexistent="NaT")
    wrong = (stamps.isna() | ~stamps.dt.year.between(1678, 2261)).to_numpy(dtype=bool)
    stamps = stamps.mask(wrong, pd.Timestamp(0, tz="UTC").tz_convert(stamps.dt.tz)) if wrong.any() else stamps
    return stamps.dt.as_unit("ns").astype("int64").to_numpy(dtype=np.int64, copy=True), wrong.copy()


def _within(read: tuple[Whole, Rows], form: TimeForm, unit: str) -> Times:
    """Return times, of which those beyond the plausible span are wrong."""
    ns, wrong = read
    first, last = form.span
    wrong = wrong | (ns < first) | (ns > last)
    return Times(np.where(wrong, 0, ns), wrong, unit)


def _epochs(whole: Whole, form: TimeForm) -> tuple[Whole, str]:
    """Return numbers as Unix ns, 0 for those that are no times, and their units.

    Numbers since 1970 may differ in their unit. A compact date or a serial must be one in all of the column: among
    others it is a damaged number.
    """
    first, last = form.span
    first = max(first, FIRST_NS)
    ns = np.zeros(len(whole), dtype=np.int64)
    units = []
    for unit, scale in UNITS.items():
        within = (whole >= -(-first // scale)) & (whole <= last // scale)
        if within.any():
            ns[within] = whole[within] * scale
            units.append(unit)
    if not units:
        serials = (whole >= form.span[0] // (86_400 * 10**9) + EPOCH_S) & (whole < 10**6)
        if serials.any():
            return np.where(serials, (whole - EPOCH_S) * 86_400 * 10**9, 0), SERIAL
        return _compact(pd.Series(whole.astype("str")), form)
    return ns, " and ".join(units)


def _compact(texts: pd.Series, form: TimeForm) -> tuple[Whole, str]:
    """Return dates without separators as Unix ns, 0 for others."""
    lengths = texts.str.len()
    ns, units = np.zeros(len(texts), dtype=np.int64), []
    for digits, pattern in COMPACT.items():
        chosen = (lengths == digits).to_numpy(dtype=bool)
        if chosen.any():
            stamps = pd.to_datetime(texts[chosen], format=pattern, errors="coerce")
            found = _within(_stamps_ns(stamps, form), form, "")
            ns[chosen] = found.ns
            units += [pattern] if not found.wrong.all() else []
    return ns, " and ".join(units)


def _of_texts(texts: pd.Series, form: TimeForm) -> Times:
    if form.date_format is not None and form.date_format not in ORDERS:
        stamps = pd.to_datetime(texts, format=form.date_format, errors="coerce", utc="%z" in form.date_format)
        return _within(_stamps_ns(stamps, form), form, form.date_format)
    numeric = texts.str.fullmatch(NUMBER).to_numpy(dtype=bool)
    ns, wrong, units = np.zeros(len(texts), dtype=np.int64), np.ones(len(texts), dtype=bool), []
    # 99 of 99 texts alone are compared with the class of the others: a serial among texts is damage.
    if numeric.any() and (numeric.sum() * 2 > len(texts) or not _only_serials(texts[numeric])):
        ns[numeric], unit = _numeric_texts(texts[numeric], form)
        wrong[numeric] = ns[numeric] == 0
        units += [unit] if unit else []
    others = texts[~numeric & (texts != "").to_numpy()]
    if len(others):
        ns[others.index], wrong[others.index] = _dates(others, form)
        units.append("text")
    return _within((ns, wrong), form, " and ".join(units) or "text")


def _only_serials(texts: pd.Series) -> bool:
    return bool((texts.str.partition(".")[0].str.len() < 6).all())


def _numeric_texts(texts: pd.Series, form: TimeForm) -> tuple[Whole, str]:
    """Return numbers as Unix ns with all of their digits, which float64 can't hold."""
    if texts.str.contains("[eE]").any():
        texts = texts.map(_plain)
    parts = texts.str.partition(".")
    whole = parts[0].str.lstrip("0").where(parts[0].str.len() <= 18 + 1, "0")
    numbers = pd.to_numeric(whole.where(whole != "", "0"), errors="coerce").fillna(0)
    ns, unit = _epochs(numbers.clip(upper=2**63 - 1).to_numpy(dtype=np.int64), form)
    if unit == SERIAL:
        days = texts.astype("float64").clip(upper=1e6).to_numpy()
        # Serials have about ten decimals, and those of people fewer: the second is what was meant.
        exact = np.rint((days - EPOCH_S) * 86_400_000).astype("int64")
        second = (exact + 500) // 1_000 * 1_000
        places = parts[2].str.len().to_numpy()
        return np.where(ns != 0, np.where((abs(exact - second) <= 1) | (places < 7), second, exact) * 10**6, 0), unit
    fraction = parts[2].str.slice(0, 9).str.pad(9, "right", "0").astype("int64").to_numpy()
    scale = np.ones(len(ns), dtype=np.int64)
    for each in UNITS.values():
        scale[(ns != 0) & (numbers.to_numpy() == ns // each)] = each
    return np.where(ns != 0, ns + fraction * scale // 10**9, 0), unit


def _plain(text: str) -> str:
    """Return a number with an exponent in plain digits."""
    from decimal import Decimal

    return format(Decimal(text), "f")


def _dates(texts: pd.Series, form: TimeForm) -> tuple[Whole, Rows]:
    """Return texts of dates as Unix ns, and which are none."""
    plain = texts.str.replace(r"\s*\b(?:UTC|GMT|Z)$", "+00:00", regex=True)
    dotted = plain.str.fullmatch(r"\d{4}[./]\d.*").to_numpy(dtype=bool)
    plain = plain.mask(dotted, plain.str.replace(r"[./]", "-", n=2, regex=True))
    ns, wrong = _iso(plain, form)
    if not wrong.any():
        return ns, wrong
    places = np.flatnonzero(wrong)
    parts = texts.iloc[places].str.extract(rf"^{DATE.pattern}$").fillna("")
    found = (parts["a"] != "").to_numpy()
    if found.any():
        places, parts = places[found], parts[found]
        ns[places], wrong[places] = _of_parts(texts.iloc[places], parts, form)
    return ns, wrong


def _iso(texts: pd.Series, form: TimeForm) -> tuple[Whole, Rows]:
    """Return ISO texts as Unix ns, and which are none."""
    if form.zone is None:
        return _stamps_ns(pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601"), form)
    zoned = texts.str.fullmatch(r".*\d(?:Z|[+-]\d\d:?\d\d)").to_numpy(dtype=bool)
    ns, wrong = np.zeros(len(texts), dtype=np.int64), np.ones(len(texts), dtype=bool)
    for rows, utc in ((zoned, True), (~zoned, False)):
        if rows.any():
            stamps = pd.to_datetime(texts[rows], utc=utc, errors="coerce", format="ISO8601")
            ns[rows], wrong[rows] = _stamps_ns(stamps, form)
    return ns, wrong


def _of_parts(texts: pd.Series, parts: pd.DataFrame, form: TimeForm) -> tuple[Whole, Rows]:
    """Return dates of three parts as Unix ns: in the only order of day, month and year that all of them have."""
    zones = parts["zone"].str.upper()
    foreign = zones[zones.str.isalpha() & ~zones.isin(["UTC", "GMT", "Z"])]
    if len(foreign) and form.zone is None:
        name, text = foreign.iloc[0], texts.loc[foreign.index[0]]
        probable = ZONES.get(name)
        how = "Name the zone" if probable else 'Pass zone with an area and a city, as in zone="Africa/Lagos"'
        said = f"{text!r} has the zone {name}, an abbreviation that several zones may have. {how}"
        raise InputError(said, field="zone", value=text, nearest=(probable,) if probable else ())
    hours = parts["hour"].where(parts["hour"] != "", "0").astype("int64")
    halves = parts["half"].str.upper()
    hours = (hours % 12 + 12 * (halves == "P")).where(halves != "", hours)
    clock = hours.astype("str").str.zfill(2) + ":" + parts["minute"].where(parts["minute"] != "", "00")
    clock += ":" + parts["second"].where(parts["second"] != "", "00")
    offset = zones.where(~zones.str.isalpha(), "").mask(zones.isin(["UTC", "GMT", "Z"]), "+00:00")
    read: dict[str, tuple[Whole, Rows]] = {}
    for order in _orders(parts) if form.date_format is None else [form.date_format]:
        days = _ordered(parts, order, form)
        ns, wrong = _iso(days + " " + clock + offset, form)
        first, last = form.span
        read[order] = ns, wrong | (ns < first) | (ns > last)
    most = max(int((~wrong).sum()) for _, wrong in read.values())
    best = {order: one for order, one in read.items() if (~one[1]).sum() == most}
    (order, (ns, wrong)), *others = best.items()
    for _, (other, missing) in others if most else ():
        if differ := np.flatnonzero((other != ns) | (missing != wrong)).tolist():
            raise _ambiguous(
                str(texts.iloc[differ[0]]),
                {name: (one[0][differ[0]], bool(one[1][differ[0]])) for name, one in best.items()},
            )
    return ns, wrong


def _orders(parts: pd.DataFrame) -> list[str]:
    """Return the orders that dates may have: by the lengths of their parts."""
    longest = {name: parts[name].where(parts[name].str.isdigit(), "").str.len().max() for name in "abc"}
    return ["YMD"] if longest["a"] == 4 else ["DMY", "MDY"] if longest["c"] == 4 else ["DMY", "MDY", "YMD"]


def _ordered(parts: pd.DataFrame, order: str, form: TimeForm) -> pd.Series:
    """Return the days as ISO text in an order. A month by its name is one in each order."""
    columns = {letter: parts[name] for letter, name in zip(order, "abc", strict=True)}
    first, second = parts["a"].str.isalpha(), parts["b"].str.isalpha()
    # Jan 3, 2022 and 3-Jan-22 have no other reading.
    columns["M"] = columns["M"].mask(first, parts["a"]).mask(second, parts["b"])
    long = parts["a"].str.len() == 4
    columns["D"] = columns["D"].mask(first, parts["b"]).mask(second, parts["a"]).mask(second & long, parts["c"])
    columns["Y"] = columns["Y"].mask(first | second, parts["c"]).mask(second & long, parts["a"])
    months = columns["M"].str.lower().str.slice(0, 3).map(MONTHS).fillna(columns["M"])
    years = columns["Y"].where(columns["Y"].str.len() != 2, "20" + columns["Y"])
    newest = str(pd.Timestamp(form.span[1], unit="ns").year)
    years = years.mask((columns["Y"].str.len() == 2) & (years > newest), "19" + columns["Y"])
    return years + "-" + months.str.zfill(2) + "-" + columns["D"].str.zfill(2)


def _ambiguous(text: str, readings: Mapping[str, tuple[int, bool]]) -> InputError:
    valid = {name: pd.Timestamp(int(ns), unit="ns") for name, (ns, missing) in readings.items() if not missing}
    said = " or ".join(f"{stamp:%Y-%m-%d} ({ORDERS[name]})" for name, stamp in valid.items())
    message = f"the date {text!r} could be {said}, and no other date of the column decides it"
    if len(valid) < 2:
        message = f"the date {text!r} is {said}, and other dates of the column have another order"
    return InputError(message, field="date_format", rule="one reading", value=text, nearest=tuple(readings))


def expected_time(values: pd.Series, form: TimeForm) -> tuple[str, str, tuple[str, ...]]:
    """Return why values are no times, as part of a sentence, and the argument and its value with which they would be.

    Parameters
    ----------
    values : Series
        Values that `read_times` finds wrong.
    form : TimeForm
        Form that they were read by.
    """
    wide = read_times(values, form._replace(oldest_ns=-(2**63) + 2, newest_ns=2**63 - 1))
    expected = f"a time from {form.years}, as ISO text or as a number since 1970 in s, ms, µs or ns"
    if wide.wrong[0] or wide.unit == SERIAL or wide.unit.startswith("%"):
        return expected, "path", ()
    stamps = [pd.Timestamp(int(ns), unit="ns") for ns in (wide.ns[0], wide.ns[~wide.wrong].min(), wide.ns.max())]
    older = wide.ns[0] < form.span[0]
    bound = "oldest" if older else "newest"
    year = max(stamps[1].year, 1678) if older else min(stamps[2].year + 1, 2261)
    return f"{expected}, and it is {stamps[0]:%Y-%m-%d %H:%M:%S}", bound, (str(year),)
