"""The source of a backtest's Results: their frames and the arrays of their measures, made when they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...coverage import Unproven
from ...errors import InputError
from ...numerals import time_text
from ...products import MICRO
from ...protocol.enums import OrderType, TimeInForce
from ...venue.model.constants import RATE, STATUS_NAMES
from ...venue.risk import ledger
from ..analysis import results as tables
from ..analysis.measures.curve import Curve
from ..analysis.results import Results, frame, records_frame
from ..data.bars import Bars
from ..market_data import time_index
from .bar_matching import ADDRESS
from .broker import SimulatedBroker, fill_of
from .funding_schedule import Gap

Integers = NDArray[np.int64]
Array = NDArray[np.float64]


class RunSource:
    """A source of Results whose frames have one row for each of `times`. Without orders, events and records."""

    symbols: Sequence[str]
    times: Integers

    def by_symbol(self, values: Array) -> pd.DataFrame:
        """Return values over time, one column a symbol.

        Parameters
        ----------
        values : array of float64, shape (times, symbols)
            Values of any unit.
        """
        return pd.DataFrame(values, index=time_index(self.times), columns=list(self.symbols))

    def equity_frame(self, equity: Array, balance: Array, unrealized: Array | None = None) -> pd.DataFrame:
        """Return an equity curve in the columns of `EQUITY`.

        Parameters
        ----------
        equity : array of float64, shape (times,)
            Balance plus unrealised PnL, USDC.
        balance : array of float64, shape (times,)
            Cash, USDC.
        unrealized : array of float64, shape (times,), optional
            Unrealised PnL, USDC (default: equity − balance).
        """
        unrealized = equity - balance if unrealized is None else unrealized
        columns = {"equity": equity, "balance": balance, "unrealized": unrealized}
        return pd.DataFrame(columns, index=time_index(self.times)).astype(tables.EQUITY)

    def orders(self) -> pd.DataFrame:
        """Return the orders."""
        return frame([], tables.ORDERS)

    def transfers(self) -> pd.DataFrame:
        """Return the other changes of the balance."""
        return frame([], tables.TRANSFERS)

    def events(self) -> pd.DataFrame:
        """Return the other events."""
        return frame([], tables.EVENTS)

    def records(self) -> pd.DataFrame:
        """Return what the strategy recorded."""
        return pd.DataFrame()


class _Marks(NamedTuple):
    """The times of an equity curve, Unix ms, and the price of each symbol (a column) at each: ticks and USDC."""

    times: Integers
    ticks: Integers
    prices: Array


@lru_cache(maxsize=2)  # the points of a sweep have the same
def _marks(bars: tuple[Bars, ...], ticks: tuple[float, ...], start: int, end: int) -> _Marks:
    """Return the marks from `start` to `end`: the last close, before the first one the first open."""
    closes = (series.closed for series in bars)
    times = np.unique(np.concatenate([[start], *closes]))
    times = times[(times <= end) & (times >= start)]
    columns = []
    for series, tick in zip(bars, ticks, strict=True):
        # The first open stands for all times before the first close, at index 0 of the search below.
        found = np.rint(np.concatenate([series.open[:1], series.close]) / tick).astype("int64")
        columns.append(found[np.searchsorted(series.closed, times, side="right")])
    marks = np.column_stack(columns)
    return _Marks(times, marks, marks * np.array(ticks))


class BacktestSource(RunSource):
    """The frames and arrays of a run on the core, from its broker at the end.

    Parameters
    ----------
    broker : SimulatedBroker
        Broker of the run.
    bars : mapping of str to Bars
        Bars by symbol, whose closes value the equity.
    start : int
        First time of the frames, Unix ms.
    end : int
        Last time of the frames, Unix ms.
    """

    def __init__(self, broker: SimulatedBroker, bars: Mapping[str, Bars], start: int, end: int) -> None:
        self._broker = broker
        self._records = broker.ctx.records
        self._states = list(broker.states.values())
        self._steps, self._ticks, self._units = (
            np.array(values) for values in zip(*((s.step, s.tick, s.product.unit) for s in self._states), strict=True)
        )
        self._bars = tuple(bars.values()), start, end
        self.symbols = list(broker.states)

    @cached_property
    def _marks(self) -> _Marks:
        bars, start, end = self._bars
        return _marks(bars, tuple(state.tick for state in self._states), start, end)

    @cached_property
    def times(self) -> Integers:  # type: ignore[override]
        """Closing times, Unix ms."""
        return self._marks.times

    @cached_property
    def _balances(self) -> tuple[Integers, Integers, Integers]:
        """Cash, signed steps and unrealised PnL (micro-USDC) at each time, from the changes the broker recorded."""
        table = np.array(self._broker.balances, dtype="int64")
        # The broker recorded changes only. Each time takes the last record at or before it.
        table = table[np.searchsorted(table[:, 0], self.times, side="right") - 1]
        cash, sizes, entries = table[:, 1], table[:, 2::2], table[:, 3::2]
        return cash, sizes, (sizes * self._marks.ticks * self._units - entries).sum(axis=1)

    def curve(self) -> Curve:
        """Return the arrays of the measures."""
        cash, sizes, unrealized = self._balances
        history, places = self._broker.core.state.history, {code: at for at, code in enumerate(self._broker.by_code)}
        gross = np.abs((sizes * self._steps) * self._marks.prices).sum(axis=1)
        rows = []
        for event in history.fills_of(ADDRESS):
            code, fee = event.product, event.open_fee + event.close_fee
            rows.append((code, places[code], event.side * event.fill_quantity, event.fill_price, fee))
        codes, at, signed, prices, fees = np.array(rows, dtype="int64").reshape(-1, 5).T
        fills = codes, signed * self._steps[at], prices * self._ticks[at], fees / MICRO
        paid = sum(paid.amount for paid in history.funding_payments.of(ADDRESS))
        return Curve(self.times, (cash + unrealized) / MICRO, gross, *fills, paid / MICRO)

    def equity(self) -> pd.DataFrame:
        """Return the equity curve."""
        cash, _, unrealized = self._balances
        return self.equity_frame((cash + unrealized) / MICRO, cash / MICRO, unrealized / MICRO)

    def positions(self) -> pd.DataFrame:
        """Return the positions."""
        return self.by_symbol(self._balances[1] * self._steps)

    def marks(self) -> pd.DataFrame:
        """Return the prices."""
        return self.by_symbol(self._marks.prices)

    def fills(self) -> pd.DataFrame:
        """Return the fills."""
        events = self._broker.core.state.history.fills_of(ADDRESS)
        rows = (fill_of(event, self._broker.by_code[event.product]) for event in events)
        return frame([tuple(getattr(fill, column) for column in tables.FILLS) for fill in rows], tables.FILLS)

    def orders(self) -> pd.DataFrame:
        rows: list[Any] = []
        for order in [*self._broker.core.state.history.orders.of(ADDRESS), *self._broker.account.orders.values()]:
            state = self._broker.by_code[order.product]
            tick, step, none = state.product.tick_size, state.step, float("nan")
            words = "BUY" if order.side > 0 else "SELL", OrderType(order.type).name, TimeInForce(order.tif).name
            prices = (float(tick * ticks) if ticks else none for ticks in (order.price, order.trigger))
            amounts = order.quantity * step, order.filled * step
            state_now = STATUS_NAMES[order.status], order.reason, order.updated
            rows.append((order.created, state.symbol, order.id, *words, *prices, *amounts, *state_now))
        return frame(rows, tables.ORDERS)

    def funding(self) -> pd.DataFrame:
        """Return the funding payments."""
        history = self._broker.core.state.history
        marks = {(rate.time, code): rate.mark for code, rates in history.funding_rates.items() for rate in rates}
        rows = []
        for paid in history.funding_payments.of(ADDRESS):
            state = self._broker.by_code[paid.product]
            size = state.step * paid.size * paid.side
            price = float(state.product.tick_size * marks[paid.time, paid.product])
            rows.append((paid.time, state.symbol, size, price, paid.rate / RATE, paid.amount / MICRO))
        return frame(rows, tables.FUNDING)

    def transfers(self) -> pd.DataFrame:
        rows = []
        for entry in ledger.entries(self._broker.core, ADDRESS)[1:]:  # the first one is the deposit of the capital
            if entry.kind not in tables.SHOWN_ELSEWHERE:
                state = self._broker.by_code.get(entry.product)
                rows.append((entry.time, entry.kind, state.symbol if state else "", entry.amount / MICRO))
        return frame(rows, tables.TRANSFERS)

    def events(self) -> pd.DataFrame:
        return frame(self._broker.notes, tables.EVENTS)

    def records(self) -> pd.DataFrame:
        return records_frame(self._records)


def doubts_of(
    spans: Mapping[str, Sequence[Unproven]], lacking: Mapping[str, Sequence[Gap]] | None = None, *, refuse: bool = False
) -> dict[str, Any]:
    """Return the setting `not_proven` of results: what nothing proves of a run's data, by symbol. Empty for nothing.

    Parameters
    ----------
    spans : mapping of str to sequence of Unproven
        Spans of bars by symbol.
    lacking : mapping of str to sequence of Gap, optional
        Settlements without a rate, by symbol (default: none).
    refuse : bool, optional
        Whether such data is an error (default: False).

    Raises
    ------
    InputError
        If it is.
    """
    found = dict[str, list[list[Any]]]()
    for symbol, doubts in spans.items():
        if every := [*doubts, *(("funding", *gap) for gap in (lacking or {}).get(symbol, ()))]:
            found[symbol] = [[what, time_text(start), time_text(end), count] for what, start, end, count in every]
    if found and refuse:
        symbol, ((what, start, end, count), *_) = next(iter(found.items()))
        text = f"{symbol}: {tables.doubted(what, count)} from {start} to {end}, and unproven='refuse' was given"
        raise InputError(f"{text}. Load what is missing, cut the data, or pass unproven='mark'", field="unproven")
    return {"not_proven": found} if found else {}


def build_results(
    broker: SimulatedBroker, bars: Mapping[str, Bars], start: int, end: int, settings: Mapping[str, Any]
) -> Results:
    """Return the Results of a run, and release its broker.

    Parameters
    ----------
    broker : SimulatedBroker
        Broker of the run.
    bars : mapping of str to Bars
        Bars by symbol, whose closes value the equity.
    start : int
        First time of the frames, Unix ms.
    end : int
        Last time of the frames, Unix ms.
    settings : mapping of str to object
        Settings that the Results show.
    """
    source = BacktestSource(broker, bars, start, end)
    results = Results.of(source, broker.strategy.name, broker.strategy.params, settings)
    broker.release()
    return results
