"""Results of a run: its frames, measures and report."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
import pandas as pd

from ...errors import InputError, ToolkitError, require, warn
from ...protocol.enums import PositionMode
from ...returns import CAPITAL_FLOWS, growth
from ...sides import BUYS, CLOSES
from ...stored.seals import FileKind, sealed
from ...stored.tables import read_table, write_table
from ...stored.writing import write_file
from ...suggestions import no_attribute
from ..formulas.execution import account
from ..market_data import time_index
from . import metrics as formulas
from .luck import assess, trials
from .measures.curve import Curve
from .measures.numbers import Values
from .measures.trips import fill_arrays, trip_table
from .metrics import measure
from .recipes import NotRepeatable, PackedRecipe, Recipe
from .report_text import card

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...pictures.interactive import Page

TIME = "datetime64[ms, UTC]"

FILLS = {
    "time": TIME,
    **dict.fromkeys(("symbol", "side"), "str"),
    **dict.fromkeys(("price", "quantity", "value", "fee", "realized_pnl"), "float64"),
    **dict.fromkeys(("role", "type"), "str"),
    "order_id": "int64",
}
"""Columns of `Results.fills`. Side BUY or SELL, role MAKER or TAKER, amounts in USDC (fee > 0 is paid)."""

ORDERS = {
    **{"time": TIME, "symbol": "str", "order_id": "int64"},
    **dict.fromkeys(("side", "type", "tif"), "str"),
    **dict.fromkeys(("price", "trigger_price", "quantity", "filled"), "float64"),
    **{"status": "str", "reason": "str", "updated": TIME},
}
"""Columns of `Results.orders`. Price is NaN for a market order, trigger_price without a trigger. Reason is that of a
rejection or cancel, and updated the time of the last change."""

FUNDING = {**{"time": TIME, "symbol": "str"}, **dict.fromkeys(("position", "price", "rate", "payment"), "float64")}
"""Columns of `Results.funding`. Payment > 0 was received, < 0 was paid, in USDC."""

TRANSFERS = {"time": TIME, "kind": "str", "symbol": "str", "amount": "float64"}
"""Columns of `Results.transfers`: other changes of the balance (liquidation fees, losses covered for a bankrupt
account, deposits during the run), in USDC. Amount > 0 was received."""

SHOWN_ELSEWHERE = ("TRADING_FEE", "BUILDER_FEE", "REALIZED_PNL", "FUNDING", "ISOLATED_MARGIN")
"""Kinds of ledger entries that are not transfers, because fills and funding show them."""

EQUITY = {"equity": "float64", "balance": "float64", "unrealized": "float64"}
"""Columns of `Results.equity`, on a UTC index, equity = balance + unrealized, USDC."""

EVENTS = {"time": TIME, "kind": "str", "symbol": "str", "text": "str"}
"""Columns of `Results.events`: liquidations, rejections, stops by a limit, errors of the strategy."""

FORMAT = 1
"""Number of the format of saved results."""
_KIND = FileKind("results", FORMAT, "make the run again, or load a copy")
SCHEMA = "bb132f11979d7ad6"
"""Hash of frames and columns. tests/test_persisted_formats.py says what to do on a change."""
META_FILE, RECIPE_FILE = "meta.json", "recipe.pickle"
THEIRS = {
    "stats": "run.metrics()", "summary": "run.metrics()", "plot": "run.page(), or run.report() for a picture",
    "trades": "run.round_trips, or run.fills", "closed_trades": "run.round_trips", "pnl": "run.attribution",
    "returns": "metrics.sampled_returns(run.growth)", "equity_curve": "run.equity", "tearsheet": "run.report(path)",
    "sharpe": "run.metrics()['sharpe']", "sharpe_ratio": "run.metrics()['sharpe']", "drawdowns": "run.drawdown",
    "max_drawdown": "run.metrics()['max_drawdown']", "optimize": "research.optimise(…)", "params_": "run.params",
}  # fmt: skip
"""Names of other libraries → ours."""
SHOWN_EXECUTION = ("rejected", "cut", "found_nothing", "unprotected", "shortfall")
"""Values of the account of execution that are among the measures."""
CENT = 0.01
"""Difference of amounts, USDC, that is shown."""
NOT_KEPT = NotRepeatable("how it was made was not kept")


DOUBTS = {
    "missing": ("bar is missing", "bars are missing"),
    "forming": ("bar may still change", "bars may still change"),
    "unproven": ("bar is not proven complete", "bars are not proven complete"),
    "funding": ("settlement has no funding rate", "settlements have no funding rate"),
}
"""Kind of an unproven span → its words for one and for several."""


def doubted(what: str, count: int) -> str:
    """Return in words how many bars or settlements are not proven.

    Parameters
    ----------
    what : str
        Kind of the span, a key of `DOUBTS`.
    count : int
        How many there are.
    """
    return f"{count} {DOUBTS[what][count != 1]}"


def frame(rows: Sequence[Any] | Mapping[str, Any], schema: Mapping[str, str]) -> pd.DataFrame:
    """Return rows as a frame with exactly the columns and dtypes of a schema.

    Parameters
    ----------
    rows : sequence of tuple or mapping
        Rows, or a mapping of columns. Integer times are Unix ms.
    schema : mapping of str to str
        Dtype of each column, such as `FILLS`.
    """
    if not isinstance(rows, Mapping) and not len(rows):
        return _empty(tuple(schema.items())).copy()
    return _typed(rows, schema)


@lru_cache(maxsize=64)
def _empty(schema: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    """Return the frame without rows, cached because most frames of a sweep's runs are empty."""
    return _typed([], dict(schema))


def _typed(rows: Sequence[Any] | Mapping[str, Any], schema: Mapping[str, str]) -> pd.DataFrame:
    if isinstance(rows, Mapping):
        table = pd.DataFrame({name: rows[name] for name in schema})
    else:
        table = pd.DataFrame.from_records(list(rows), columns=list(schema))
    for name, dtype in schema.items():
        if dtype == TIME and not isinstance(table[name].dtype, pd.DatetimeTZDtype):
            table[name] = pd.to_datetime(table[name].astype("int64"), unit="ms", utc=True)
    return table.astype(dict(schema))


def records_frame(records: Sequence[tuple[int, Mapping[str, float]]]) -> pd.DataFrame:
    """Return what `ctx.record` kept: index `time`, one column a name, the last values of each time.

    Parameters
    ----------
    records : sequence of (int, mapping of str to float)
        Values by name, each with its time in Unix ms.
    """
    if not records:
        return pd.DataFrame()
    table = pd.DataFrame([values for _, values in records], index=time_index([time_ms for time_ms, _ in records]))
    return table.groupby(level=0).last()


class ResultsSource(Protocol):
    """The data of a run: each frame of `Results` by a method of its name, and the arrays of its measures."""

    def equity(self) -> pd.DataFrame: ...
    def positions(self) -> pd.DataFrame: ...
    def marks(self) -> pd.DataFrame: ...
    def fills(self) -> pd.DataFrame: ...
    def orders(self) -> pd.DataFrame: ...
    def funding(self) -> pd.DataFrame: ...
    def transfers(self) -> pd.DataFrame: ...
    def events(self) -> pd.DataFrame: ...
    def records(self) -> pd.DataFrame: ...
    def curve(self) -> Curve: ...


@dataclass(frozen=True, repr=False)
class Results:
    """The results of a run: frames of floats with UTC times, whose columns are the schemas of this module.

    Parameters
    ----------
    name : str
        Name of the strategy.
    equity : DataFrame
        Index `time`, columns of `EQUITY`, USDC. The first row is the state before the first fill.
    positions : DataFrame
        Index as `equity`, one column a symbol: signed quantity, base units.
    marks : DataFrame
        Index as `equity`, one column a symbol: its mark price, USDC.
    fills : DataFrame, optional
        Columns of `FILLS`, one row a fill (default: none).
    orders : DataFrame, optional
        Columns of `ORDERS`, one row an order (default: none).
    funding : DataFrame, optional
        Columns of `FUNDING`, one row a settlement of a position (default: none).
    transfers : DataFrame, optional
        Columns of `TRANSFERS`, one row another change of the balance (default: none).
    events : DataFrame, optional
        Columns of `EVENTS`: liquidations, rejections, stops, errors (default: none).
    records : DataFrame, optional
        Values that the strategy kept with `ctx.record(name=value)`: index `time`, one column a name (default: none).
    params : mapping of str to object, optional
        Parameters of the strategy by name (default: none).
    settings : mapping of str to object, optional
        Settings of the run: models, seed, fees and others (default: none).
    recipe : Recipe, PackedRecipe or NotRepeatable, optional
        How it can be made again (default: it can't).
    """

    name: str
    equity: pd.DataFrame
    positions: pd.DataFrame
    marks: pd.DataFrame
    fills: pd.DataFrame = field(default_factory=lambda: frame([], FILLS))
    orders: pd.DataFrame = field(default_factory=lambda: frame([], ORDERS))
    funding: pd.DataFrame = field(default_factory=lambda: frame([], FUNDING))
    transfers: pd.DataFrame = field(default_factory=lambda: frame([], TRANSFERS))
    events: pd.DataFrame = field(default_factory=lambda: frame([], EVENTS))
    records: pd.DataFrame = field(default_factory=pd.DataFrame)
    params: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | PackedRecipe | NotRepeatable = field(default=NOT_KEPT, repr=False, compare=False)

    @classmethod
    def of(cls, source: ResultsSource, name: str, params: Mapping[str, Any], settings: Mapping[str, Any]) -> Results:
        """Return Results whose frames are made when they are first read.

        A sweep reads only the measures of its runs, and making frames would take it longer than the runs themselves.

        Parameters
        ----------
        source : ResultsSource
            The data of the run, with one method for each frame.
        name : str
            Name of the strategy.
        params : mapping of str to object
            Parameters of the strategy by name.
        settings : mapping of str to object
            Settings of the run by name.
        """
        # The constructor wants frames. They are made by `__getattr__` when they are first read.
        made = cls.__new__(cls)
        made.__dict__.update(name=name, params=params, settings=settings, recipe=NOT_KEPT, _source=source)
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Only called for what is no attribute yet: a frame that has not been read.
            source = self.__dict__.get("_source")
            if source is None or name not in FRAMES:
                raise no_attribute("'Results' object", name, dir(self), THEIRS.get(name, ""))
            value = getattr(source, name)()
            self.__dict__[name] = value
            return value

    def __getstate__(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in FRAMES}
        return {**self.__dict__, **values, "_source": None}

    def _curve(self) -> Curve:
        source: ResultsSource | None = self.__dict__.get("_source")
        if source is not None:
            return source.curve()
        return formulas.curve_of(self.growth, self._fill_arrays(), self.funding, self.exposure["gross"])

    def keep_recipe(self, recipe: Recipe | PackedRecipe | NotRepeatable, described: Mapping[str, Any]) -> None:
        """Keep the recipe of this run, and add its arguments to `settings`.

        Parameters
        ----------
        recipe : Recipe, PackedRecipe or NotRepeatable
            How the run can be made again.
        described : mapping of str to object
            The arguments as JSON can keep them, by name.
        """
        object.__setattr__(self, "recipe", recipe)
        object.__setattr__(self, "settings", {**described, **self.settings})
        trials.add(self._trial())

    @property
    def idea(self) -> str:
        """The idea that the run is a trial of: name, and a hash of code and data. "" if that was not kept."""
        return str(self.settings.get("idea", ""))

    def _trial(self) -> str:
        """Return what makes this run another trial than others: strategy, parameters and settings."""
        return f"{self.idea}|{self.name} {dict(self.params)} {dict(self.settings)}"

    def rerun(self, **changes: object) -> Results:
        """Make the run again and return its Results: the same numbers, or those of changed arguments.

        A live run, or one on your session, is made again as a backtest on the bars that it received, and a line says
        so. These bars contain its own trades, and market orders walk no book there. It usually looks better than the
        run, and `reconcile` says why. `rerun(data=events)` takes other data. A run that was loaded from a folder runs
        the code that was saved with it: repeat only runs whose origin you trust.

        Warns if the same run has other fills: its strategy is not deterministic.

        Parameters
        ----------
        **changes : object
            Arguments of `backtest` to change, such as `run.rerun(fees=("0", "0"))`.

        Returns
        -------
        Results
            The new run.

        Raises
        ------
        ToolkitError
            If nothing was kept, or another version of Python saved it.

        Examples
        --------
        >>> float(run.rerun(fees=("0", "0")).fills["fee"].sum())
        0.0
        """
        received = getattr(self.recipe, "received", None)
        if received is not None and received.function is self.recipe.function:  # type: ignore[union-attr]
            print("rerun: a backtest on the bars that the run received, which contain its own trades. See reconcile()")
        made: Results = self.recipe.run(changes)
        if not changes and made.settings == self.settings and not made.fills.equals(self.fills):
            text = f"{self.name} is not deterministic: the same run has {len(made.fills)} fills after {len(self.fills)}"
            warn(f"{text}, or others. Look for randomness without a seed, times and sets", UserWarning)
        return made

    def reconcile(self) -> pd.DataFrame:
        """Return why a run on a venue, paper or live, made another profit than its backtest on the same bars.

        Its orders are compared with those of the backtest that `rerun` makes. On a local venue in this process the
        market is made again from its seed, without the run, which separates spread, latency and own impact. That takes
        as long as the market took. Elsewhere they are one amount, `execution`.

        Returns
        -------
        DataFrame
            One row a cause, with the index `cause`, and a last row TOTAL:

            - amount: float64, USDC, below 0 where the run did worse. NaN is not known. The rows sum to the total.
            - detail: str, what the cause is

        Raises
        ------
        ToolkitError
            For a run that is a backtest itself.

        Examples
        --------
        >>> table = research.paper(Cross, ["BTCUSDC"], duration="1h").reconcile()
        Cross ended (the time is over). Still open: LONG 0.1 BTCUSDC
        >>> float(round(table["amount"].iloc[:-1].sum() - table.at["TOTAL", "amount"], 6))
        0.0
        """
        received = getattr(self.recipe, "received", None)
        if received is None:
            raise ToolkitError(
                "only a run on a venue is reconciled with its backtest. This one is a backtest, or loaded"
            )
        table: pd.DataFrame = received.reconciler(self, received)
        return table

    def audit(self) -> pd.DataFrame:
        """Return what may be wrong with the run.

        The checks are:

        - "execution": market orders that found nothing, orders filled in part, triggers that the price had passed
        - "rejected": orders that were rejected
        - "look-ahead": the run is made again on data that ends at some of its orders. A peek at less than the latency
          is not found.
        - "ties": fills with 1 ns more latency
        - "queue": fills under each queue model
        - "gaps": gaps in the data
        - "volume": fills larger than the bar's volume
        - "trials": how many there were

        The audit makes the run about a dozen times. The repr and the report then show the findings.

        Returns
        -------
        DataFrame
            One row a check, with the index `check`:

            - found: boolean, NA if it is not known
            - detail: str, what was found

        Examples
        --------
        >>> run.audit().loc["look-ahead", "detail"]
        'none at 11 orders'
        """
        from .audit import audit

        self.__dict__["audited"] = found = audit(self)
        return found

    def audited_in_short(self) -> str:
        """Return what `audit` found as one line. Before it is called, the faults of execution, "" for none."""
        from .audit import executed, in_short, rejected

        if "audited" in self.__dict__:
            return in_short(self.__dict__["audited"])
        return "; ".join(f"{name}: {detail}" for name, found, detail in (executed(self), rejected(self)) if found)

    @property
    def unproven(self) -> pd.DataFrame:
        """The spans of the data that `attrs["coverage"]` of its frames does not prove, one row a span.

        Columns symbol, what ("missing", "forming", "unproven" or "funding"), start, end (UTC, text) and count (int64,
        bars or settlements). A frame without a coverage says nothing of it.
        """
        rows = [(symbol, *row) for symbol, spans in self.settings.get("not_proven", {}).items() for row in spans]
        text = dict.fromkeys(("symbol", "what", "start", "end"), "str")
        return pd.DataFrame(rows, columns=[*text, "count"]).astype({**text, "count": "int64"})

    def unproven_in_short(self) -> str:
        """Return what nothing proves of the data in words, "" for nothing.

        Examples
        --------
        >>> run.unproven_in_short()
        ''
        """
        spans, said = self.unproven, list[str]()
        for what, count in spans.groupby("what", sort=False)["count"].sum().items():
            first = spans[spans["what"] == what].iloc[0]
            said.append(f"{doubted(str(what), count)}, the first from {first['start']} to {first['end']}")
        return "; ".join(said)

    @property
    def drawdown(self) -> pd.Series[float]:
        """Growth over its highest value so far, minus one. See `metrics.drawdown`."""
        return formulas.drawdown(self.growth)

    @property
    def growth(self) -> pd.Series[float]:
        """The equity that its first value would have become without deposits and withdrawals (time-weighted), USDC.

        The measures are those of it.
        """
        equity: pd.Series[float] = self.equity["equity"]
        moved = self.transfers[self.transfers["kind"].isin(CAPITAL_FLOWS)]
        if moved.empty:
            return equity
        deposited = moved.groupby("time")["amount"].sum().cumsum().reindex(equity.index, method="ffill").fillna(0.0)
        return pd.Series(growth(equity.to_list(), deposited.to_list()), equity.index) * equity.iloc[0]

    @property
    def exposure(self) -> pd.DataFrame:
        """Signed notional of each symbol (USDC) over time, with `net` and `gross` sums."""
        notional = self.positions * self.marks
        sizes = self._both_legs() if self._is_hedged else self.positions.abs()
        return notional.assign(net=notional.sum(axis=1), gross=(sizes * self.marks).sum(axis=1))

    @property
    def _is_hedged(self) -> bool:
        return self.settings.get("position_mode") == PositionMode.HEDGE.name

    def _legs_at_start(self) -> dict[str, tuple[float, float]]:
        """Return long and short before the first fill, base units, by symbol."""
        return {symbol: (long, short) for symbol, (long, short) in self.settings.get("at_start", {}).items()}

    def _both_legs(self) -> pd.DataFrame:
        """Return the sizes of long and short together over time, base units, in hedge mode."""
        found, start = {}, self._legs_at_start()
        for symbol in self.positions:
            fills = self.fills[self.fills["symbol"] == symbol]
            change = fills["quantity"].mask(fills["side"].isin(CLOSES), -fills["quantity"])
            sizes = np.append(0.0, np.cumsum(change)) + sum(start.get(str(symbol), (0.0, 0.0)))
            rows = np.searchsorted(pd.DatetimeIndex(fills["time"]), self.positions.index, side="right")
            found[symbol] = sizes[rows]
        return pd.DataFrame(found, index=self.positions.index)

    def _fill_arrays(self) -> Curve:
        return fill_arrays(self.fills, self._is_hedged or None, self._legs_at_start())

    @property
    def round_trips(self) -> pd.DataFrame:
        """One row for each position from flat to flat. See `metrics.round_trips`."""
        return trip_table(self.fills, self._fill_arrays())

    @property
    def attribution(self) -> pd.DataFrame:
        """Profit by symbol: price, fees (≤ 0), funding, other and net, in USDC. The last row is TOTAL.

        price = Σ sells − Σ buys + value held at the end − value held at the start (both at mark), before fees.
        `other` are the transfers. Those without a symbol are in a row ACCOUNT. The total's net is the change of equity.
        On a venue, OTHERS is what else has changed the account's equity: trades that are not the run's. If there were
        none, this row is UNEXPLAINED.
        """
        symbols = list(self.positions.columns)
        notional = self.positions * self.marks if len(self.positions) else pd.DataFrame(0.0, [0], symbols)

        def summed(amounts: pd.Series[float], of: pd.DataFrame) -> pd.Series[float]:
            return amounts.groupby(of["symbol"]).sum().reindex(symbols, fill_value=0.0)

        signed = self.fills["value"].mask(self.fills["side"].isin(BUYS), -self.fills["value"])
        columns = {
            "price": summed(signed, self.fills) + notional.iloc[-1] - notional.iloc[0],
            "fees": -summed(self.fills["fee"], self.fills),
            "funding": summed(self.funding["payment"], self.funding),
            "other": summed(self.transfers["amount"], self.transfers),
        }
        table = pd.DataFrame(columns, index=pd.Index(symbols, name="symbol")).fillna(0.0)
        unassigned = float(self.transfers.loc[~self.transfers["symbol"].isin(symbols), "amount"].sum())
        if unassigned:
            table.loc["ACCOUNT"] = [0.0, 0.0, 0.0, unassigned]
        equity = self.equity["equity"]
        if "environment" in self.settings and len(equity):
            rest = float(equity.iloc[-1] - equity.iloc[0] - table.to_numpy().sum())
            if abs(rest) >= CENT:
                table.loc["OTHERS" if self.settings.get("others") else "UNEXPLAINED"] = [0.0, 0.0, 0.0, rest]
        table["net"] = table.sum(axis=1)
        table.loc["TOTAL"] = table.sum(axis=0)
        return table

    def metrics(self, period: str | pd.Timedelta | None = None, risk_free: float = 0.0) -> pd.Series[Any]:
        """Return the measures. `toolkit.research.metrics` has their formulas.

        Parameters
        ----------
        period : str or Timedelta, optional
            Spacing of the returns, such as "1D" (default: that of `metrics.sampling_period`).
        risk_free : float, optional
            Yearly rate of a riskless investment, a ratio (0.04 is 4 %) (default: 0).

        Returns
        -------
        Series
            Measures by name, see `metrics.summary`, and of `execution`: rejected, cut, found_nothing, unprotected and
            shortfall. Amounts are USDC.

        Examples
        --------
        >>> run.metrics()[["sharpe", "max_drawdown"]].astype(float).round(3).to_dict()
        {'sharpe': 4.03, 'max_drawdown': -0.02}
        """
        found = {**self.measures(period, risk_free), **{name: self.executed[name] for name in SHOWN_EXECUTION}}
        return pd.Series(found, dtype="object", name="metrics")

    @property
    def executed(self) -> dict[str, Any]:
        """The account of execution as a mapping, see `execution.account`."""
        if "_account" not in self.__dict__:
            self.__dict__["_account"] = account(self.orders, self.events, self.fills, self.marks)
        found: dict[str, Any] = self.__dict__["_account"]
        return found

    def measures(self, period: str | pd.Timedelta | None = None, risk_free: float = 0.0) -> dict[str, Any]:
        """Return what `metrics` does as a plain mapping. A sweep of many runs takes it, because it makes no frame.

        Parameters
        ----------
        period : str or Timedelta, optional
            Spacing of the returns, such as "1D" (default: that of `metrics.sampling_period`).
        risk_free : float, optional
            Yearly rate of a riskless investment, a ratio (0.04 is 4 %) (default: 0).

        Returns
        -------
        dict of str to object
            Measures by name, see `metrics.summary`.

        Examples
        --------
        >>> round(run.measures()["total_return"], 4)
        0.0258
        """
        found = measure(self._curve(), period, risk_free)
        if doubts := self.settings.get("not_proven"):
            found["unproven"] = sum(row[-1] for spans in doubts.values() for row in spans)
        if period is None and not risk_free:
            trials.measured(self._trial, found["sharpe"])
        return found

    def risk(self, benchmark: pd.Series[float] | None = None) -> pd.Series[Any]:
        """Return tails, round trips and the run next to a benchmark. `toolkit.research.metrics` has the formulas.

        Parameters
        ----------
        benchmark : Series, optional
            Value of another investment over UTC times (default: `held`, buying and holding equal parts of the symbols).

        Returns
        -------
        Series
            Values by name, see `metrics.beside`, `metrics.tails` and `metrics.trip_measures`.

        Examples
        --------
        >>> run.risk()[["beta", "kelly"]].astype(float).round(2).to_dict()
        {'beta': -0.14, 'kelly': 0.29}
        """
        held = self.held() if benchmark is None else benchmark
        found = {**formulas.beside(self._curve(), held), **formulas.tails(self._curve())}
        return pd.Series({**found, **formulas.trip_measures(self.round_trips)}, dtype="object", name="risk")

    def execution(self) -> pd.Series[Any]:
        """Return the account of execution: the fate of the orders, fill ratio, costs, markouts and inventory.

        A markout is side · (mid later − price) / price. On bars the marks are too far apart for most of them.

        Returns
        -------
        Series
            The values are:

            - fill_ratio, maker_share: ratios of quantity and of value
            - spread_captured_bp: mean of side · (mark − price) / price at the fill, bp
            - markout_1s_bp, markout_10s_bp, markout_60s_bp: mean markouts, bp. NaN where the marks are further apart
            - adverse_selection_bp: how far the mark moved against the fills within 10 s, bp
            - inventory_mean, inventory_max: USDC, gross notional over time
            - orders, rejected, found_nothing, unprotected, shortfall and others: see `execution.account`

        Examples
        --------
        >>> run.execution()[["fill_ratio", "maker_share"]].astype(float).to_dict()
        {'fill_ratio': 1.0, 'maker_share': 0.0}
        """
        fills, asked, gross = self.fills, float(self.orders["quantity"].sum()), self.exposure["gross"]
        value = float(fills["value"].sum())
        marked = {seconds: formulas.markout(fills, self.marks, seconds) for seconds in (0, 1, 10, 60)}
        found = {
            "fill_ratio": float(self.orders["filled"].sum()) / asked if asked else float("nan"),
            "maker_share": float(fills.loc[fills["role"] == "MAKER", "value"].sum()) / value if value else float("nan"),
            "spread_captured_bp": marked[0],
            **{f"markout_{seconds}s_bp": marked[seconds] for seconds in (1, 10, 60)},
            "adverse_selection_bp": marked[0] - marked[10],
            "inventory_mean": formulas.time_weighted(gross) if len(gross) else float("nan"),
            "inventory_max": float(gross.max()) if len(gross) else float("nan"),
            **self.executed,
        }
        return pd.Series(found, dtype="float64", name="execution")

    def held(self) -> pd.Series[float]:
        """Return what the starting equity would have become in equal parts of the symbols, with funding, without fees.

        Returns
        -------
        Series of float
            USDC over UTC times. Without funding if the run cannot be repeated.

        Examples
        --------
        >>> round(run.held().iloc[-1])
        9831
        """
        recipe = getattr(self.recipe, "received", None) or self.recipe
        given = getattr(recipe, "arguments", {})
        if "strategy" in given and "data" in given:
            with trials.paused():
                made: Results = recipe.run({"strategy": _hold, "fees": ("0", "0")})
            return made.growth.rename("buy and hold")
        parts: pd.Series[float] = (self.marks / self.marks.iloc[0]).mean(axis=1)
        return (parts * float(self.equity["equity"].iloc[0])).rename("buy and hold")

    def fine_returns(self, most: int = 512) -> Values:
        """Return the returns of the run in equal periods, for measures of overfitting.

        Parameters
        ----------
        most : int, optional
            Number of periods that is exceeded by rounding only (default: 512).

        Returns
        -------
        array of float64, shape (n,)
            Return of each period, a ratio.

        Examples
        --------
        >>> len(run.fine_returns())
        200
        """
        curve = self._curve()
        return curve.sampled_every(curve.periods_ms(most)).returns

    def luck(self, *, trials: int | None = None, confidence: float = 0.9, seed: int = 7) -> pd.Series[Any]:
        """Return how likely this result is luck. `toolkit.research.luck` has the formulas and sources.

        Parameters
        ----------
        trials : int, optional
            Number of trials that this run is the best of (default: those of its idea, see `toolkit.research.trials`.
            All of the project if the idea was not kept).
        confidence : float, optional
            Share of the bootstrap intervals, from 0 to 1 (default: 0.9).
        seed : int, optional
            Seed of the bootstrap (default: 7).

        Returns
        -------
        Series
            The values are:

            - sharpe, sharpe_low, sharpe_high: yearly Sharpe ratio and its bootstrap interval, NaN if the data is too
              short to annualise
            - return_low, return_high: bootstrap interval of the total return, ratios
            - observations, period, skew, kurtosis: of the sampled returns
            - probabilistic_sharpe: probability that the true Sharpe ratio is above 0, as the only trial
            - trials: how many there were
            - idea: the idea that they are trials of, its name with a hash of code and data
            - expected_max_sharpe: yearly Sharpe ratio that the best of them would show without skill
            - deflated_sharpe: probability that the true Sharpe ratio is above 0, as the best of the trials
            - min_track_record: time after which this ratio would be above 0 with a probability of 95 %
            - track_record: time observed

        Examples
        --------
        >>> run.luck(trials=10)[["probabilistic_sharpe", "observations"]].astype(float).round(3).to_dict()
        {'probabilistic_sharpe': 0.728, 'observations': 200.0}
        """
        self.measures()  # so that this run is among the project's measured trials
        return pd.Series(
            assess(self._curve(), trials=trials, confidence=confidence, seed=seed, idea=self.idea), name="luck"
        )

    @overload
    def report(self, path: None = None, *, dark: bool = False) -> Figure: ...
    @overload
    def report(
        self, path: str | Path, *, against: Sequence[Results] | Mapping[str, Results] = (), dark: bool = False
    ) -> Path: ...
    def report(
        self,
        path: str | Path | None = None,
        *,
        against: Sequence[Results] | Mapping[str, Results] = (),
        dark: bool = False,
    ) -> Figure | Path:
        """Write the report to a file and return its path, or return it as a picture.

        The page shows the result and how far to trust it, price with trades, and equity with buy and hold. It also
        shows drawdown, exposure, rolling measures, months, costs, round trips and luck. Its figures need Plotly's
        script, which is written once into the folder, or with `page().save(path, alone=True)` into the page. The
        picture has equity, drawdown, exposure, attribution and measures. In a notebook, `page()` is interactive.

        Parameters
        ----------
        path : str or Path, optional
            Where to write (default: none, a matplotlib Figure is returned). A name that ends in .html makes an
            interactive page that needs no network, one that ends in .png, .svg or .pdf a picture.
        against : sequence of Results or mapping of str to Results, optional
            Runs to compare in the page, in a list, or by name in a dict (default: none).
        dark : bool, optional
            True for dark colours of the picture (default: False).

        Returns
        -------
        Path or matplotlib Figure
            The path that was written, or the picture.

        Raises
        ------
        MissingPackage
            Without Plotly, for a page.

        Examples
        --------
        >>> run.report().axes[0].get_title(loc="left")
        'Equity, USDC'
        """
        from .run_report import draw_page

        if path is None:
            return draw_page(self, dark=dark)
        target = Path(path)
        if target.suffix.lower() in (".html", ".htm"):
            return self.page(against=against).save(target)
        draw_page(self, dark=dark).savefig(target)
        return target

    def page(self, *, against: Sequence[Results] | Mapping[str, Results] = ()) -> Page:
        """Return the interactive report, which a notebook shows. `.save(path)` writes it.

        Parameters
        ----------
        against : sequence of Results or mapping of str to Results, optional
            Runs to compare in the page, in a list, or by name in a dict (default: none).

        Returns
        -------
        Page
            The page, as `report` describes it.

        Raises
        ------
        MissingPackage
            Without Plotly.

        Examples
        --------
        >>> run.page()
        <Page 'Cross (fast = 5, slow = 20)'>
        """
        from .run_report import page_of

        return page_of(self, against if isinstance(against, Mapping) else _named(against))

    def save(self, folder: str | Path) -> Path:
        """Write every frame as Parquet, the rest as meta.json, and how it was made.

        meta.json is written last and names the run that all files belong to. A folder that was only partly replaced is
        therefore not read as one run.

        Parameters
        ----------
        folder : str or Path
            Folder to write into. It is made if it is missing.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        OSError
            If the folder can't be written.

        Examples
        --------
        >>> run.save("my-run").name
        'my-run'
        """
        import pyarrow as pa

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        run = secrets.token_hex(8)
        for name in FRAMES:
            write_table(target / f"{name}.parquet", pa.Table.from_pandas(getattr(self, name)), _KIND, identity=run)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        if packed := self.recipe.pack():
            python = self.recipe.python if isinstance(self.recipe, PackedRecipe) else version
            write_file(target / RECIPE_FILE, sealed(packed + _KIND.header(run, python)))
        else:
            (target / RECIPE_FILE).unlink(missing_ok=True)
        # Last of all files: a folder without it, or with that of another run, is not read.
        about = {"name": self.name, "params": dict(self.params), "settings": dict(self.settings)}
        header = json.loads(_KIND.header(run))
        text = json.dumps({"run": about, "header": header}, default=str, separators=(",", ":"))
        write_file(target / META_FILE, sealed(text.encode()))
        return target

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Read what `save` wrote.

        Values of params and settings that JSON cannot express are read as text.

        Parameters
        ----------
        folder : str or Path
            Folder that `save` wrote.

        Returns
        -------
        Results
            The run.

        Raises
        ------
        InputError
            For a folder without results.
        StoredFileError
            For a file that is missing, damaged, of another run or of another version.

        Examples
        --------
        >>> _ = run.save("my-run")
        >>> research.Results.load("my-run").name
        'Cross'
        """
        source = Path(folder)
        meta = source / META_FILE
        if not meta.is_file():
            raise InputError(f"{source} has no saved results (meta.json is missing)", field="folder", value=str(source))
        raw = meta.read_bytes()
        run = _KIND.check(meta, raw).identity
        about = json.loads(raw)["run"]
        try:
            frames: dict[str, Any] = {
                name: read_table(source / f"{name}.parquet", _KIND, identity=run)[0].to_pandas() for name in FRAMES
            }
        except FileNotFoundError as error:
            raise _KIND.error(Path(error.filename), "it is missing") from None
        recipe: PackedRecipe | NotRepeatable = NOT_KEPT
        if (packed := source / RECIPE_FILE).is_file():
            raw = packed.read_bytes()
            recipe = PackedRecipe(raw, _KIND.check(packed, raw, run).python)
        return cls(**about, **frames, recipe=recipe)

    def _repr_html_(self) -> str:
        return card(self)

    def __repr__(self) -> str:
        if not len(self.equity):
            return f"Results({self.name!r}, empty)"
        first, last = self.equity["equity"].iloc[0], self.equity["equity"].iloc[-1]
        span = f"{self.equity.index[0]:%Y-%m-%d %H:%M} to {self.equity.index[-1]:%Y-%m-%d %H:%M}"
        change = f"{formulas.total_return(self.growth):+.2%}"
        audited = "".join(f"; {text}" for text in (self.unproven_in_short(), self.audited_in_short()) if text)
        figures = f"{first:,.2f} → {last:,.2f} USDC ({change}), {len(self.fills)} fills"
        return f"Results({self.name!r}, {span}, {figures}{audited})"


def _hold(ctx: Any, bar: Any) -> None:
    """Buy an equal part of the equity of each symbol with its first bar, and hold it."""
    if not ctx.position(bar.symbol) and not ctx.underway(bar.symbol):
        ctx.target_share(bar.symbol, 1 / len(ctx.symbols))


FRAMES = tuple(item.name for item in fields(Results) if item.type == "pd.DataFrame")


def compare(runs: Sequence[Results] | Mapping[str, Results]) -> pd.DataFrame:
    """Return the measures of several runs side by side.

    Parameters
    ----------
    runs : sequence of Results or mapping of str to Results
        Runs in a list, or by name in a dict. A list names its columns after the runs: name and parameters, numbered
        when they repeat.

    Returns
    -------
    DataFrame
        One row a measure of `Results.metrics`, one column a run.

    Raises
    ------
    InputError
        If one of them is not Results.

    Examples
    --------
    >>> other = run.rerun(strategy=Cross(fast=3))
    >>> research.compare({"5": run, "3": other}).loc["sharpe"].astype(float).round(2).to_dict()
    {'5': 4.03, '3': 4.52}
    """
    given = list(runs.values() if isinstance(runs, Mapping) else runs)
    for run in given:
        require(run, Results, "runs", "the Results of backtest() or live(), in a list, or by name in a dict")
    if not isinstance(runs, Mapping):
        runs = _named(given)
    if not runs:
        return pd.DataFrame(columns=pd.Index([], name="run"), index=pd.Index([], name="measure"))
    table = pd.concat({name: run.metrics() for name, run in runs.items()}, axis=1)
    return table.rename_axis(index="measure", columns="run")


def _named(runs: Sequence[Results]) -> dict[str, Results]:
    named: dict[str, Results] = {}
    for run in runs:
        values = ", ".join(f"{key}={value}" for key, value in run.params.items())
        base = f"{run.name}({values})" if values else run.name
        label, number = base, 2
        while label in named:
            label, number = f"{base} #{number}", number + 1
        named[label] = run
    return named
