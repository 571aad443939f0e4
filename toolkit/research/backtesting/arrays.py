"""Vectorised backtests: target positions over whole arrays of many symbols, with fees and funding.

A target of row t is decided when bar t closes and traded at the open of bar t + 1, so no row can use later data. It
is a fast approximation: queues, margin, liquidation and minimum sizes are left to the event-driven backtest.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from ...errors import InputError
from ...interchange import to_pandas
from ...suggestions import check_known
from ..analysis.fingerprints import idea_of
from ..analysis.luck import trials
from ..analysis.measures.curve import Curve
from ..analysis.metrics import COLUMN_MEASURES, measure_columns
from ..analysis.recipes import repeatable
from ..analysis.results import FILLS, FUNDING, Results, frame
from ..data.bars import Bars, by_time, read_bars
from ..market_data import span_ms
from .funding_schedule import settlement_rates
from .run_source import RunSource, doubts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Sizing = Literal["quantity", "notional", "equity"]

FUNDING_MS = 14_400_000


@repeatable
def vectorised(
    data: object,
    targets: object,
    *,
    sizing: Sizing = "quantity",
    capital: float = 10_000.0,
    fee: float = 0.0006,
    slippage: float = 0.0,
    funding: object = "interest",
    step: float | Mapping[str, float] | None = None,
    rebalance: str | pd.Timedelta | float | None = None,
    name: str = "vectorised",
    params: Mapping[str, Any] | None = None,
) -> Results:
    """Return the Results of holding target positions on bars.

    Fills are TAKER at the open. Equity is valued at closes. There is no liquidation: `metrics()["leverage_max"]` shows
    how close it was.

    Parameters
    ----------
    data : DataFrame, Recording or mapping
        Bars of one or many symbols, in any shape `read_bars` accepts, all symbols at the same times.
    targets : DataFrame, Series, array, mapping or callable
        Signed targets, one row a bar and one column a symbol, or a mapping symbol → values. NaN keeps the position.
        Times in their index must be those of the bars, names in their columns the symbols. A function of the bars by
        symbol (frames) that returns them lets `audit` make the run again on less data.
    sizing : {"quantity", "notional", "equity"}, optional
        Unit of a target (default: "quantity", base units). With "notional" it is USDC at the close at which it was
        decided. With "equity" it is multiples of equity at that close, which compounds. A notional or equity target
        trades only when the target itself changes, and drifts with the price until then, unless `rebalance` is given.
    capital : float, optional
        USDC in the account at the start (default: 10000.0).
    fee : float, optional
        Taker fee as a ratio of the value (default: 0.0006).
    slippage : float, optional
        Ratio by which each price is worse (default: 0).
    funding : str, float, Series, DataFrame, mapping or None, optional
        As in `backtest`, a rate for each interval of 4 h (default: "interest"). A settlement applies to the position
        before trades of the same instant. It is valued at the open of its bar, in a gap between bars at the last close.
        Longs pay a positive rate.
    step : float or mapping of str to float, optional
        Quantities are rounded towards zero to multiples of this number of base units, or of one by symbol (default: not
        rounded).
    rebalance : str, Timedelta or float, optional
        When a notional or equity target that has not changed is traded again (default: never). With a span such as
        "1D" that is the first close of each. With a band such as 0.05 it is a close at which the position is further
        from the target than this part of equity, with "notional" of the target. `settings["drift"]` has the largest
        distance.
    name : str, optional
        Name of the Results (default: "vectorised").
    params : mapping of str to object, optional
        Parameters of the Results (default: none).

    Returns
    -------
    Results
        Frames, measures and report of the run, without orders.

    Raises
    ------
    InputError
        For shapes that don't match, and for times that are not those of the bars.

    Examples
    --------
    >>> research.vectorised(bars, (bars["close"].diff() > 0) * 0.1)
    Results('vectorised', 2025-12-23 16:00 to 2026-01-01 00:00, 10,000.00 → 9,663.75 USDC (-3.36%), 90 fills)
    """
    by_symbol = read_bars(data)
    bars = list(by_symbol.values())
    wanted = _without_gaps(_wanted(targets, by_symbol, bars))
    market, settled = _market_of(by_symbol, fee, slippage, funding, step)
    held = np.zeros_like(wanted)
    again = _again(rebalance, sizing, bars[0])
    settings: dict[str, Any] = {"engine": "vectorised"}
    if sizing == "equity" or again is not None:
        held = _compounded(wanted, market, settled, capital, sizing, again)
    else:
        units = wanted if sizing == "quantity" else _notional_units(wanted, market.closes)
        # The target of a row is held from the next row on, at whose open it is traded.
        held[1:] = _round_to_steps(units, market.steps)[:-1]
    source = ArraysSource(bars, market, settled, held, capital)
    if sizing != "quantity":
        settings["drift"] = source.drift(wanted, sizing)
    doubts = doubts_of({symbol: each.unproven for symbol, each in by_symbol.items()})
    return Results.of(source, name, dict(params or {}), {**settings, **doubts})


def vectorised_many(
    data: object, targets: Mapping[Any, Any], *, measures: Sequence[str] | None = None, **options: Any
) -> pd.DataFrame:
    """Return the measures of many target frames on the same bars.

    The measures total_return, volatility, sharpe and max_drawdown are computed for many runs together, which takes a
    fraction of the time. Memory is that of a few runs. For several processes use `sweep`.

    Parameters
    ----------
    data : DataFrame, Recording or mapping
        Bars, as in `vectorised`.
    targets : mapping of object to targets
        Targets of each run by its key, as in `vectorised`.
    measures : sequence of str, optional
        Measures to compute (default: all).
    **options : object
        Other arguments of `vectorised`.

    Returns
    -------
    DataFrame
        One row for each key, columns as `Results.measures`.

    Raises
    ------
    InputError
        For measures that are not known.

    Examples
    --------
    >>> many = {days: (bars["close"].diff(days * 24) > 0) * 0.1 for days in (1, 2)}
    >>> research.vectorised_many(bars, many, measures=["sharpe"]).round(2)["sharpe"].tolist()
    [-4.76, -8.54]
    """
    by_symbol = read_bars(data)
    names = list(measures or ())
    # Targets in multiples of equity depend on the equity before, so their columns can't be computed together.
    alone = options.get("sizing") == "equity" or options.get("rebalance") is not None
    if names and set(names) <= set(COLUMN_MEASURES) and not alone:
        idea = idea_of(next(iter(targets.values()), None), by_symbol)
        table = pd.DataFrame(_measured_together(by_symbol, list(targets.values()), idea, **options))[names]
    else:
        runs = [vectorised(by_symbol, wanted, **options).measures() for wanted in targets.values()]
        table = pd.DataFrame(runs).infer_objects()
        for name in names:
            check_known({name: 0}, table.columns, "measures", "measure")
        table = table[names] if names else table
    return table.set_axis(pd.Index(list(targets), tupleize_cols=False, name="run")).rename_axis(columns="measure")


BLOCK = 1 << 17
"""About this many values of targets are computed together: as many as a processor's cache holds."""


# Second form: what targets earn
def _measured_together(
    by_symbol: Mapping[str, Bars],
    targets: Sequence[Any],
    idea: str,
    *,
    sizing: Sizing = "quantity",
    capital: float = 10_000.0,
    fee: float = 0.0006,
    slippage: float = 0.0,
    funding: object = "interest",
    step: float | Mapping[str, float] | None = None,
    rebalance: None = None,
) -> dict[str, Array]:
    """Return the `COLUMN_MEASURES` of runs, which `vectorised` makes one at a time, in blocks of columns."""
    bars = list(by_symbol.values())
    market, settled = _market_of(by_symbol, fee, slippage, funding, step)
    early, late = settled.costs(market.opens.shape)
    times = np.concatenate([bars[0].opened[:1], bars[0].closed])
    width = math.ceil(BLOCK / len(bars[0]))
    found: list[dict[str, Array]] = []
    keys: list[str] = []
    terms = hashlib.sha256(repr((list(by_symbol), sizing, capital, fee, slippage, step)).encode())
    for part in (market.opens, market.closes, early, late):
        terms.update(np.ascontiguousarray(part).data)
    for first in range(0, len(targets), width):
        block = [_wanted(each, by_symbol, bars) for each in targets[first : first + width]]
        # The key says what a trial is: the prices, the terms and the targets. The same run again counts once.
        keys += [hashlib.sha256(terms.digest() + each.tobytes()).hexdigest()[:32] for each in block]
        equity = np.full((len(times), len(block)), float(capital))
        for number in range(len(bars)):
            wanted = _without_gaps(np.column_stack([each[:, number] for each in block]))
            closes, steps = market.closes[:, number, None], market.steps[number : number + 1]
            units = wanted if sizing == "quantity" else _notional_units(wanted, closes)
            held = np.zeros_like(wanted)
            held[1:] = _round_to_steps(units, steps)[:-1]
            # What is bought costs the open, and each unit traded the fee and the slippage, with its own fee.
            flow = np.diff(held, axis=0, prepend=0.0)
            cost = np.abs(flow)
            cost *= slippage + fee
            flow *= 1 + slippage * fee
            flow += cost
            flow *= -market.opens[:, number, None]
            rows = np.flatnonzero((early[:, number] != 0) | (late[:, number] != 0))
            flow[rows] -= (
                held[np.maximum(rows - 1, 0)] * early[rows, number, None] + held[rows] * late[rows, number, None]
            )
            np.cumsum(flow, axis=0, out=flow)
            held *= closes
            flow += held
            equity[1:] += flow
        found.append(measure_columns(times, equity))
    joined = {name: np.concatenate([each[name] for each in found]) for name in COLUMN_MEASURES}
    with trials.together():
        for key, ratio in zip(keys, joined["sharpe"].tolist(), strict=True):
            trials.add(f"{idea}|{key}", ratio)
    return joined


def _wanted(targets: object, by_symbol: Mapping[str, Bars], bars: list[Bars]) -> Array:
    """Return targets of any form as an array, one row a bar and one column a symbol."""
    if callable(targets):
        targets = targets({name: part.frame() for name, part in by_symbol.items()})
    if isinstance(targets, Mapping):
        check_known(targets, by_symbol, "targets", "symbol of the data")
        targets = np.column_stack([np.asarray(targets.get(name, np.zeros(len(bars[0])))) for name in by_symbol])
    return _targets(to_pandas(targets, "targets"), bars)


def _market_of(
    by_symbol: Mapping[str, Bars],
    fee: float,
    slippage: float,
    funding: object,
    step: float | Mapping[str, float] | None,
) -> tuple[_Market, _Settlements]:
    """Return what targets are traded at, and the settlements."""
    for field, given in (("funding", funding), ("step", step)):
        if isinstance(given, Mapping):
            check_known(given, by_symbol, field, "symbol of the data")
    bars = list(by_symbol.values())
    opens, closes = (np.column_stack([getattr(bar, name) for bar in bars]) for name in ("open", "close"))
    market = _Market(opens, closes, np.array([_step(step, bar.symbol) for bar in bars]), fee, slippage)
    return market, _settlements(to_pandas(funding, "funding"), bars, opens, closes)


def _targets(targets: object, bars: list[Bars]) -> Array:
    rows = len(bars[0])
    for other in bars[1:]:
        if len(other) != rows or not np.array_equal(other.opened, bars[0].opened):
            text = f"{other.symbol} and {bars[0].symbol} have different times. Align them first"
            raise InputError(text, field="data", rule="same times", value=other.symbol)
    targets = by_time(targets) if isinstance(targets, pd.DataFrame) else targets
    _check_times(targets, bars[0])
    if isinstance(targets, pd.DataFrame):
        symbols = [bar.symbol for bar in bars]
        missing = [symbol for symbol in symbols if symbol not in targets.columns]
        named = len(symbols) > 1 and any(isinstance(name, str) for name in targets.columns)
        if missing and (named or targets.shape[1] != len(symbols)):
            raise InputError(f"targets have no column {missing[0]}", field="targets", rule="columns", value=missing[0])
        targets = targets if missing else targets[symbols]
    array = np.asarray(targets, dtype="float64").copy()  # np.array doesn't copy what pandas 2 gives it
    array = array.reshape(-1, 1) if array.ndim == 1 else array
    if array.shape != (rows, len(bars)):
        text = f"targets have the shape {array.shape}, but {rows} bars of {len(bars)} symbols need {(rows, len(bars))}"
        raise InputError(text, field="targets", rule="shape", value=str(array.shape))
    if np.isinf(array).any():
        raise InputError("targets contain an infinite number", field="targets", rule="finite")
    return array


def _check_times(targets: object, bars: Bars) -> None:
    """Raise InputError when targets have other times than the bars: matched by position they could see the future."""
    index = getattr(targets, "index", None)
    if not isinstance(index, pd.DatetimeIndex) or len(index) != len(bars):
        return
    different = np.flatnonzero(pd.to_datetime(index, utc=True).as_unit("ms").asi8 != bars.opened)
    if len(different):
        at, opened = index[different[0]], pd.Timestamp(int(bars.opened[different[0]]), unit="ms", tz="UTC")
        text = f"row {different[0]} of the targets is at {at}, its bar at {opened}. Reindex them to the bars' times"
        raise InputError(text, field="targets", rule="same times", value=str(at))


def _without_gaps(wanted: Array) -> Array:
    """Return targets in which NaN has become the target before it, or nothing."""
    missing = np.isnan(wanted)
    if not missing.any():
        return wanted
    # Only missing at the beginning is the usual case, while an indicator's window fills.
    leading = np.logical_and.accumulate(missing, axis=0)
    wanted[leading] = 0.0
    return wanted if missing.sum() == leading.sum() else pd.DataFrame(wanted).ffill().to_numpy()


def _step(step: float | Mapping[str, float] | None, symbol: str) -> float:
    return float((step.get(symbol, 0.0) if isinstance(step, Mapping) else step) or 0.0)


def _round_to_steps(units: Array, steps: Array) -> Array:
    """Return quantities rounded towards zero to whole steps. Float noise just below a step counts as the step."""
    if not steps.any():
        return units
    whole = np.trunc(units / np.where(steps > 0, steps, 1.0) + np.sign(units) * 1e-9) * steps
    return np.where(steps > 0, whole, units)


def _notional_units(wanted: Array, closes: Array) -> Array:
    changed = np.diff(wanted, axis=0, prepend=np.nan) != 0
    units = np.where(changed, wanted / closes, np.nan)
    return pd.DataFrame(units).ffill().to_numpy()


class _Market(NamedTuple):
    """The prices and costs of trades, one row per bar and one column per symbol. `steps` has one number per symbol."""

    opens: Array
    closes: Array
    steps: Array
    fee: float
    slippage: float


class _Again(NamedTuple):
    """When a target that has not changed is traded again: at rows, or where its position is further off than a band."""

    rows: NDArray[np.bool_]
    band: float


def _again(rebalance: str | pd.Timedelta | float | None, sizing: Sizing, bars: Bars) -> _Again | None:
    if rebalance is None:
        return None
    if sizing == "quantity":
        text = 'a quantity does not drift. Give sizing="equity" or "notional", or leave rebalance out'
        raise InputError(text, field="rebalance", rule="a drifting target", value=str(rebalance))
    if isinstance(rebalance, str | pd.Timedelta):
        periods = bars.closed // span_ms(rebalance, "rebalance")
        return _Again(np.diff(periods, prepend=periods[0]) != 0, math.inf)
    if isinstance(rebalance, bool) or not 0 <= rebalance < math.inf:
        text = f'rebalance is {rebalance}. Give a band of 0 or above, such as 0.05, or a span such as "1D"'
        raise InputError(text, field="rebalance", rule="a band or a span", value=rebalance)
    return _Again(np.zeros(len(bars), dtype=bool), float(rebalance))


def _compounded(
    wanted: Array, market: _Market, settled: _Settlements, capital: float, sizing: Sizing, again: _Again | None
) -> Array:
    """Return the positions of targets that are sized at each close. Loops only over the closes that may trade."""
    opens, closes, steps, fee, slippage = market
    held, (early, late) = np.zeros_like(wanted), settled.costs(wanted.shape)
    trading = (np.diff(wanted, axis=0, prepend=0.0) != 0).any(axis=1)
    if again is not None:
        trading |= again.rows | (again.band < math.inf)
    changed = np.flatnonzero(trading)
    previous = np.zeros(wanted.shape[1])
    position, cash, done = previous, capital, 0
    for decided in changed.tolist():
        if decided + 1 >= len(wanted):
            break
        held[done : decided + 1] = position
        cash -= float((early[done : decided + 1] + late[done : decided + 1]).sum(axis=0) @ position)
        # The target is a multiple of the equity at this close, which contains all that was paid before it.
        equity = cash + float(position @ closes[decided])
        target = wanted[decided]
        # Without equity left nothing is opened.
        unit = max(equity, 0.0) if sizing == "equity" else 1.0
        resized = _round_to_steps(target * unit / closes[decided], steps)
        resizes = target != previous
        if again is not None:
            whole = unit if sizing == "equity" else np.abs(target)
            drifted = np.abs(position * closes[decided] - target * unit) > again.band * whole
            resizes = resizes | again.rows[decided] | drifted
        new = np.where(resizes, resized, position)
        traded = new - position
        price = opens[decided + 1] * (1 + np.sign(traded) * slippage)
        cash -= float(position @ early[decided + 1] + new @ late[decided + 1])
        cash -= float((traded * price + np.abs(traded) * price * fee).sum())
        held[decided + 1] = new
        previous, position, done = target, new, decided + 2
    held[done:] = position
    return held


class _Settlements(NamedTuple):
    """The funding settlements of all symbols: bar, symbol, Unix ms, rate and price, `late`: after the bar's start."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    times: NDArray[np.int64]
    rates: Array
    prices: Array
    late: NDArray[np.bool_]

    def costs(self, shape: tuple[int, ...]) -> list[Array]:
        """Return what one unit pays in each bar, USDC: held before it, and held in it.

        Parameters
        ----------
        shape : tuple of int
            Number of bars and of symbols.
        """
        found = [np.zeros(shape), np.zeros(shape)]
        for costs, chosen in zip(found, (~self.late, self.late), strict=True):
            np.add.at(costs, (self.rows[chosen], self.columns[chosen]), (self.rates * self.prices)[chosen])
        return found


def _settlements(funding: object, bars: list[Bars], opens: Array, closes: Array) -> _Settlements:
    """Return the settlements within the bars. One at a bar's start meets the position held before it."""
    found = []
    for column, bar in enumerate(bars):
        given = funding.get(bar.symbol) if isinstance(funding, Mapping) else funding
        if isinstance(given, pd.Series) and not np.isfinite(given.to_numpy(dtype="float64")).all():
            raise InputError(f"{bar.symbol}: a funding rate is not a number. Drop or fill it", field="funding")
        times, rates = settlement_rates(bar.symbol, bar, given, FUNDING_MS)
        # A settlement at the opening time belongs to the bar that opens then.
        rows = np.searchsorted(bar.opened, times, side="right") - 1
        in_gap = times >= bar.closed[rows]
        prices = np.where(in_gap, closes[rows, column], opens[rows, column])
        places = rows, np.full(len(rows), column)
        found.append(_Settlements(*places, times, np.array(rates), prices, times > bar.opened[rows]))
    return _Settlements(*map(np.concatenate, zip(*found, strict=True)))


class ArraysSource(RunSource):
    """The arrays of a vectorised run, and its frames, made when they are read. Targets are traded without orders.

    `_held` has one row a bar and one column a symbol, `_cash` one number a bar. `_rows`, `_columns`, `_signed`,
    `_prices` and `_fees` have one number a trade, `_sizes` (held then) and `_payments` one a settlement.

    Parameters
    ----------
    bars : list of Bars
        Bars of each symbol, all at the same times.
    market : _Market
        Prices and costs of trades.
    settled : _Settlements
        Funding settlements of all symbols.
    held : array of float64, shape (bars, symbols)
        Signed position in each bar, base units.
    capital : float
        USDC in the account at the start.
    """

    def __init__(self, bars: list[Bars], market: _Market, settled: _Settlements, held: Array, capital: float) -> None:
        self.symbols = [bar.symbol for bar in bars]
        self.times = np.concatenate([bars[0].opened[:1], bars[0].closed])
        self._opened = bars[0].opened
        self._closes = market.closes
        self._first_opens = market.opens[:1].copy()
        self._settled = settled
        self._capital = capital
        self._held = held
        traded = held.copy()
        traded[1:] -= held[:-1]
        # Few bars trade and fewer settle, so that money is counted where they do.
        self._rows, self._columns = np.divmod(np.flatnonzero(traded), len(bars))
        self._signed = signed = traded[self._rows, self._columns]
        self._prices = market.opens[self._rows, self._columns] * (1 + np.sign(signed) * market.slippage)
        self._fees = np.abs(signed) * self._prices * market.fee
        before = np.where(settled.rows > 0, held[settled.rows - 1, settled.columns], 0.0)
        self._sizes = np.where(settled.late, held[settled.rows, settled.columns], before)
        self._payments = -self._sizes * settled.prices * settled.rates
        traded_flows = np.bincount(self._rows, -signed * self._prices - self._fees, len(held))
        self._cash = capital + np.cumsum(traded_flows + np.bincount(settled.rows, self._payments, len(held)))

    def drift(self, wanted: Array, sizing: Sizing) -> float:
        """Return the largest distance of a position from its target at a close.

        Parameters
        ----------
        wanted : array of float64, shape (bars, symbols)
            Targets.
        sizing : {"notional", "equity"}
            Unit of a target.

        Returns
        -------
        float
            Part of the equity. With "notional": of the target.
        """
        values, asked = (self._held * self._closes)[1:], wanted[:-1]
        whole = self._equity[2:, None] if sizing == "equity" else np.abs(asked)
        asked = asked * whole if sizing == "equity" else asked
        apart = np.abs(values - asked)[(whole > 0) & (asked != 0)] if len(asked) else np.zeros(0)
        share = apart / np.broadcast_to(whole, asked.shape)[(whole > 0) & (asked != 0)] if len(apart) else apart
        return round(float(share.max(initial=0.0)), 6)

    @property
    def _equity(self) -> Array:
        return np.concatenate([[self._capital], self._cash + np.einsum("ij,ij->i", self._held, self._closes)])

    def curve(self) -> Curve:
        gross = np.concatenate([[0.0], np.einsum("ij,ij->i", np.abs(self._held), self._closes)])
        trades = self._columns, self._signed, self._prices, self._fees
        return Curve(self.times, self._equity, gross, *trades, float(self._payments.sum()))

    @cached_property
    def _fills(self) -> pd.DataFrame:
        rows, size, entry = [], [0.0] * len(self.symbols), [0.0] * len(self.symbols)
        columns = self._opened[self._rows], self._columns, self._signed, self._prices, self._fees
        trades = zip(*(values.tolist() for values in columns), strict=True)
        for number, (time, column, signed, price, fee) in enumerate(trades, start=1):
            pnl, size[column], entry[column] = average_cost(size[column], entry[column], signed, price)
            side, amounts = "BUY" if signed > 0 else "SELL", (price, abs(signed), abs(signed) * price, fee, pnl)
            rows.append((time, self.symbols[column], side, *amounts, "TAKER", "MARKET", number))
        return frame(rows, FILLS)

    def fills(self) -> pd.DataFrame:
        return self._fills

    def equity(self) -> pd.DataFrame:
        """Return the equity curve. Its balance books what is realised, by average cost."""
        fills, realised = self._fills, np.zeros(len(self.times))
        np.add.at(realised, self._rows + 1, (fills["realized_pnl"] - fills["fee"]).to_numpy())
        np.add.at(realised, self._settled.rows + 1, self._payments)
        return self.equity_frame(self._equity, self._capital + np.cumsum(realised))

    def positions(self) -> pd.DataFrame:
        return self.by_symbol(np.vstack([np.zeros(len(self.symbols)), self._held]))

    def marks(self) -> pd.DataFrame:
        return self.by_symbol(np.vstack([self._first_opens, self._closes]))

    def funding(self) -> pd.DataFrame:
        settled = self._settled
        columns = settled.times, settled.columns, self._sizes, settled.prices, settled.rates, self._payments
        order = np.argsort(settled.times, kind="stable")
        rows = zip(*(values[order].tolist() for values in columns), strict=True)
        paid = [(time, self.symbols[column], size, *rest) for time, column, size, *rest in rows if size]
        return frame(paid, FUNDING)


def average_cost(size: float, entry: float, signed: float, price: float) -> tuple[float, float, float]:
    """Return (realised PnL, new signed size, new entry price) of a fill, by average cost.

    Parameters
    ----------
    size : float
        Signed position before the fill, base units.
    entry : float
        Entry price before the fill, USDC.
    signed : float
        Signed quantity of the fill, base units.
    price : float
        Price of the fill, USDC.
    """
    if size * signed >= 0:
        total = size + signed
        return 0.0, total, (entry * size + price * signed) / total
    closing = min(abs(signed), abs(size))
    pnl = math.copysign(closing, size) * (price - entry)
    left = size + signed
    # What is left of two equal floats after rounding is no position.
    if abs(left) < 1e-12 + 1e-14 * (abs(size) + abs(signed)):
        return pnl, 0.0, 0.0
    return pnl, left, (entry if abs(signed) < abs(size) else price)
