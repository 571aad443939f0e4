"""Info queries about products, candles and funding rates."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from itertools import chain
from math import gcd
from typing import Any

import msgspec
from msgspec.structs import replace

from ...errors import MalformedRequest
from ...numerals import rate_text, shortest_text
from ...products import Product, VenueProduct
from ..engine.core import Core
from ..model.constants import DAY, MINUTE_MS, RATE
from ..model.history import Candle, FundingRate
from ..risk import funding_settlement
from ..simulation import past
from ..simulation.participants import past_of
from . import records
from .info_pages import Values, page_of, product_of, unknown_product, window

PREMIUM_PLACES = 12
"""Premiums are summed in parts of 1e-12."""
_USDC = {"name": "USD Coin", "currency": "USDC", "code": 1, "walletPrecision": 6, "displayPrecision": 2}
MAX_CANDLES = 100_000
"""Candles in one answer of /info/kline/list. A wider window is refused [L]."""


def products(core: Core, values: Values) -> dict[str, Any]:
    """Return the product list with margin tables and currencies.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    meta = _product_meta(core, [row for _, row in sorted(core.state.products.items())], core.state.margin_tables)
    if (wanted := values["listStatus"]) is not None:
        kept = values.get("kept", ())  # codes whose status a trouble changes after this
        rows = meta["perpProducts"]
        meta["perpProducts"] = [row for row in rows if row["listStatus"].upper() == wanted or row["code"] in kept]
    return meta


def product(core: Core, values: Values) -> dict[str, Any]:
    """Return one product in the form of the list.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    wanted = product_of(core, values)
    assert wanted is not None
    row = core.state.products[wanted.code]
    return _product_meta(core, [row], {int(row["marginTableId"])})


def _product_meta(core: Core, rows: list[dict[str, Any]], tables: Collection[int]) -> dict[str, Any]:
    # While trading in one is paused, the venue accepts no orders for it.
    paused = {code for code, market in core.state.markets.items() if market.paused}
    statuses = [(row, "paused" if int(row["code"]) in paused else row["listStatus"]) for row in rows]
    meta = {
        "perpProducts": [_whole_numbers({**row, "listStatus": status}) for row, status in statuses],
        "marginTables": [
            {"tableId": table, "riskLimitVo": list(map(_whole_numbers, tiers))}
            for table, tiers in sorted(core.state.margin_tables.items())
            if table in tables
        ],
        "currencies": [_USDC],
    }
    return with_checksum(meta)


def with_checksum(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a product list with the checksum over all else in it.

    Parameters
    ----------
    meta : mapping
        The list, with or without a former checksum.
    """
    contents = {name: value for name, value in meta.items() if name != "md5Checksum"}
    checksum = hashlib.md5(msgspec.json.encode(contents, order="sorted"), usedforsecurity=False).hexdigest()
    return {"md5Checksum": checksum, **contents}


_WHOLE = ("maxLeverage", "maxOrderQty", "maxPositionNtnl")
"""Limits that are whole numbers on the wire."""


def _whole_numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the product list with its limits as numbers. A limit with a fraction stays text."""
    limits = {name: Decimal(str(row[name])) for name in _WHOLE if name in row}
    return {**row, **{name: int(limit) for name, limit in limits.items() if limit == limit.to_integral_value()}}


def klines_last(core: Core, values: Values) -> Iterator[dict[str, Any]]:
    """Return the latest candles, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    return _newest(core, values, core.state.time + 1)


def klines_before(core: Core, values: Values) -> Iterator[dict[str, Any]]:
    """Return the candles that start before a time, newest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    before = values["timestamp"]
    return _newest(core, values, core.state.time + 1 if before is None else min(before, core.state.time + 1))


def _newest(core: Core, values: Values, end: int) -> Iterator[dict[str, Any]]:
    """Return the last `limit` candles that start before `end`, newest first.

    Intervals without trades have no candle, so each round looks twice as far back as the one before.
    """
    listed, interval_ms, origin = _listed(core, values), values["interval"] * 1000, values.get("origin", 0)
    last = _start(end - 1, interval_ms, origin)
    found: list[Candle] = []
    count = values["limit"]
    while len(found) < values["limit"]:
        first = max(last - (count - 1) * interval_ms, 0)
        found = [*_candles(core, listed, first, last + interval_ms, interval_ms, origin), *found]
        if first <= earliest(core) or not last:
            break
        last, count = first - interval_ms, max(count, 1) * 2
    return (records.kline(listed, candle, values["interval"]) for candle in reversed(found[-values["limit"] :]))


def klines(core: Core, values: Values) -> Iterator[dict[str, Any]]:
    """Return the candles that start within a window, oldest first.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.

    Raises
    ------
    MalformedRequest
        If the window has more than 100,000 candles.
    """
    listed, interval_ms, origin = _listed(core, values), values["interval"] * 1000, values.get("origin", 0)
    # the first interval that starts in the window is rounded up; the very first candle may begin before `earliest`
    first = _start(max(values["startTime"], _start(earliest(core), interval_ms, origin)) - 1, interval_ms, origin)
    first += interval_ms
    last = _start(min(values["endTime"], core.state.time), interval_ms, origin)
    count = (last - first) // interval_ms + 1
    if count > MAX_CANDLES:
        start, nearest = values["startTime"], (str(last - (MAX_CANDLES - 1) * interval_ms),)
        window = f"startTime {start} is {count} candles of {values['interval']} s before endTime"
        said = f"{window}. At most {MAX_CANDLES} are returned per request"
        raise MalformedRequest(said, field="startTime", rule="window", value=start, nearest=nearest)
    candles = _candles(core, listed, first, last + interval_ms, interval_ms, origin)
    return (records.kline(listed, candle, values["interval"]) for candle in candles)


def _listed(core: Core, values: Values) -> VenueProduct:
    symbol = values["symbol_name"].upper()
    for listed in core.products.values():
        if listed.symbol.upper() == symbol:
            return listed
    raise unknown_product(core, "symbol_name", values["symbol_name"])


def earliest(core: Core) -> int:
    """Return the start of the first minute that can have a candle, Unix ms.

    The history keeps the minutes since genesis, the simulated market computes those before on demand.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    """
    genesis = core.state.genesis_time // MINUTE_MS * MINUTE_MS
    return genesis if core.state.simulation is None else genesis - past.DAYS * DAY


def _start(time: int, interval_ms: int, origin: int) -> int:
    """Return the start of the interval that a time lies in, of intervals that begin at `origin` (0: as 1970 began)."""
    return (time - origin) // interval_ms * interval_ms + origin


def _candles(core: Core, listed: Product, start: int, end: int, interval_ms: int, origin: int = 0) -> Iterator[Candle]:
    """Yield the candles that start in [start, end), oldest first."""
    # Minutes before genesis come joined, counted from 1970: to a length that begins with each interval.
    minutes = minute_candles(core, listed, start, end, gcd(interval_ms, origin))
    return minutes if interval_ms == MINUTE_MS else _aggregated(minutes, interval_ms, origin)


def minute_candles(core: Core, listed: Product, start: int, end: int, interval_ms: int = MINUTE_MS) -> Iterator[Candle]:
    """Yield the minutes of a product, oldest first, also from before genesis.

    Minutes without trades are missing. With a longer interval those before genesis come joined to it, in parts.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    listed : Product
        Product of the candles.
    start : int
        First time, Unix ms.
    end : int
        Time after the last one, Unix ms.
    interval_ms : int, optional
        Length to which the minutes before genesis are joined, in ms (default: one minute).
    """
    before = past_of(core, listed.code) if start < core.state.genesis_time else None
    if before is not None:
        yield from past.candles(before, start, min(end, core.state.genesis_time), interval_ms)
    kept = core.state.history.candles.get(listed.code, [])
    for at in window({"startTime": start, "endTime": end - 1}, kept, lambda candle: candle.start):
        yield kept[at]


def _aggregated(minutes: Iterable[Candle], interval_ms: int, origin: int) -> Iterator[Candle]:
    """Yield longer candles made of ascending shorter ones."""
    total: Candle | None = None
    for minute in minutes:
        start = _start(minute.start, interval_ms, origin)
        if total is not None and total.start == start:
            total.add(minute)
            continue
        if total is not None:
            yield total
        total = replace(minute, start=start)
    if total is not None:
        yield total


def funding_rate_history(core: Core, values: Values) -> dict[str, Any]:
    """Return the settled rates, newest first.

    The simulated market computes those before genesis.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    wanted = product_of(core, values)
    assert wanted is not None
    settled = core.state.history.funding_rates.get(wanted.code, [])
    span = window(values, settled, lambda point: point.time)
    newest = (settled[at] for at in reversed(span))
    before = past_of(core, wanted.code)
    if before is None:
        return page_of(values, len(span), newest, partial(records.funding_rate, core))
    start, end = values["startTime"] or 0, values["endTime"]
    genesis, interval_ms = core.state.genesis_time, wanted.funding_interval * 1000
    times = past.settlements(before, interval_ms, start, genesis if end is None else min(end, genesis))
    older = (_past_rate(core, wanted, before, time) for time in reversed(times))
    return page_of(values, len(span) + len(times), chain(newest, older), partial(records.funding_rate, core))


def _past_rate(core: Core, listed: VenueProduct, before: past.Past, time: int) -> FundingRate:
    """Return a settlement before genesis, as its premium would have made it."""
    premium_ppm = past.premium_before(before, listed.funding_interval * 1000, time)
    oracle = past.price_before(before, time)
    rate = funding_settlement.rate_of(core, listed.code, premium_ppm * (funding_settlement.FINE // 1_000_000))
    mark = oracle + oracle * premium_ppm // 1_000_000
    return FundingRate(time, listed.code, rate, mark, oracle, premium_ppm * (RATE // 1_000_000))


def funding_rates(core: Core, values: Values) -> list[dict[str, Any]]:
    """Return the current rate of one product or of all, by code.

    Parameters
    ----------
    core : Core
        State machine of the venue, which is only read.
    values : Values
        Checked parameters by wire name.
    """
    wanted = product_of(core, values)
    chosen = core.products.values() if wanted is None else [wanted]
    return [_current_rate(core, listed) for listed in sorted(chosen, key=lambda listed: listed.code)]


def _current_rate(core: Core, listed: VenueProduct) -> dict[str, Any]:
    market = core.state.markets[listed.code]
    settled = core.state.history.funding_rates.get(listed.code, [])
    mean = market.premium // market.samples if market.samples else 0
    return {
        "symbol": listed.code,
        "fundingRate": rate_text(funding_settlement.current_rate(core, listed.code)),
        "lastFundingRate": rate_text(settled[-1].rate) if settled else "0",
        "fundingInterval": listed.funding_interval,
        "nextFundingTime": funding_settlement.next_settlement(core, listed.code),
        "markPx": records.price(listed, market.mark),
        "oraclePx": records.price(listed, market.oracle),
        "premium": shortest_text(mean, PREMIUM_PLACES),
        "blockTime": core.state.time,
    }
