"""Reconciliation: why a run on a venue made another profit than its backtest, as amounts that sum to the difference.

Orders of both are paired by symbol, side and bar. What the run requested otherwise, what was refused and what was not
filled is valued at the backtest's prices. The rest of a fill is its price. On a local venue the same seed without the
run shows what the market would have been, which separates spread, latency and the run's own impact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...sides import sign_of

if TYPE_CHECKING:
    from ...venue.model.genesis import Genesis
    from ..analysis.results import Results

ROWS = (
    "decisions",
    "refusals",
    "missed fills",
    "spread",
    "latency",
    "own impact",
    "execution",
    "fees",
    "funding",
    "other",
)
SAID = {
    "decisions": "orders that only one of them placed, or of another size, at the backtest's prices",
    "refusals": "orders that were refused, and those that made up for them later",
    "missed fills": "parts of orders that were not filled as in the backtest",
    "spread": "the best price instead of the price of the backtest, at the decision",
    "latency": "the move of the best price from the decision to the fill",
    "own impact": "what the run paid beyond the best price of the same market without it",
    "execution": "prices of fills: spread, latency and own impact together",
    "fees": "fees beyond the rates of the backtest",
    "funding": "rates of the venue instead of those of the backtest",
    "other": "what the rows above leave: transfers, liquidations, what was held before, and other last prices",
}


class Traded(NamedTuple):
    """One order of a run. Quantities are signed, in base units, and prices in USDC.

    Attributes
    ----------
    symbol : str
        Product symbol.
    bar : int
        Number of the bar at whose close it was decided.
    asked : float
        Quantity that was requested.
    filled : float
        Quantity that was filled.
    price : float
        Mean price of the fills, NaN without any.
    fee : float
        Fees, USDC.
    time : int
        Time of the first fill, Unix ms, that of the order without any.
    maker : bool
        Whether it rested in the book.
    """

    symbol: str
    bar: int
    asked: float
    filled: float
    price: float
    fee: float
    time: int
    maker: bool


@dataclass(frozen=True)
class Reconciler:
    """What reconciles a run with its backtest.

    Parameters
    ----------
    interval_ms : int
        Length of the bars, ms.
    genesis : Genesis or None
        Genesis of the local venue, None for any other.
    """

    interval_ms: int
    genesis: Genesis | None

    def __call__(self, run: Results, again: Any) -> pd.DataFrame:
        """Return the table of `Results.reconcile`.

        Parameters
        ----------
        run : Results
            Results of the run.
        again : Recipe
            The backtest on the bars that it received.
        """
        tested: Results = again.run({})
        own, theirs = self._orders(run), self._orders(tested)
        bars: Mapping[str, pd.DataFrame] = again.arguments["data"]
        quotes = self._quotes(bars, own)
        sums: defaultdict[str, float] = defaultdict(float)
        lacking: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        refused = {
            (str(row.symbol), self._bar(row.time)) for row in run.events[run.events["kind"] == "REJECTED"].itertuples()
        }
        rate = float(tested.fills["fee"].sum() / tested.fills["value"].sum()) if len(tested.fills) else None
        last = {symbol: float(tested.marks[symbol].iloc[-1]) for symbol in tested.marks}
        for one, other in _paired(own, theirs):
            known = one or other
            assert known is not None
            price = other.price if other is not None and other.filled else _next_open(bars[known.symbol], known, self)
            if price != price:
                continue
            share = abs(other.fee / (other.filled * price)) if other is not None and other.filled else rate
            share = (
                abs(one.fee / (one.filled * one.price)) if share is None and one is not None and one.filled else share
            )
            worth = _Worth(last[known.symbol], price, share or 0.0)
            before = other.filled if other is not None else 0.0
            ratio = other.filled / other.asked if other is not None else 1.0
            wanted, got = (one.asked * ratio, one.filled) if one is not None else (0.0, 0.0)
            was_refused = (known.symbol, known.bar) in refused and not got
            debts = lacking[known.symbol]
            if was_refused:
                wanted = before if one is None else wanted
                debts["refusals"] += before or wanted
                sums["refusals"] -= worth(before)
            else:
                left = _repaid(debts, wanted - before, sums, worth, wanted, before)
                sums["decisions"] += left
                sums["missed fills"] += worth(got) - worth(wanted)
                debts["missed fills"] += wanted - got
            if one is not None and got:
                for name, part in self._prices(one, price, quotes).items():
                    sums[name] -= abs(got) * part * (np.sign(got) + worth.share)
                sums["fees"] += worth.share * abs(got) * one.price - one.fee
        sums["funding"] = _funding(run, tested, again)
        return _table(run, tested, sums, known_prices=quotes is not None)

    def _bar(self, time: Any) -> int:
        return int(pd.Timestamp(time).value // 1_000_000 // self.interval_ms)

    def _orders(self, run: Results) -> list[Traded]:
        fills = dict(iter(run.fills.groupby("order_id")))
        found = []
        orders: Any = run.orders.sort_values("time", kind="stable").itertuples()
        for order in orders:
            sign, part = sign_of(order.side), fills.get(order.order_id)
            asked = float(order.quantity) if order.quantity else float(order.filled)
            time, amounts = pd.Timestamp(order.time).value // 1_000_000, (0.0, float("nan"), 0.0)
            maker = False
            if part is not None and len(part):
                size = float(part["quantity"].sum())
                amounts = sign * size, float(part["value"].sum()) / size, float(part["fee"].sum())
                time = pd.Timestamp(part["time"].iloc[0]).value // 1_000_000
                maker = bool((part["role"] == "MAKER").all())
            if asked:
                found.append(Traded(str(order.symbol), self._bar(order.time), sign * asked, *amounts, time, maker))
        return found

    def _quotes(self, bars: Mapping[str, pd.DataFrame], own: Sequence[Traded]) -> Any:
        """Return the best prices without the run, by symbol and Unix ms, None if they are not known."""
        if self.genesis is None or not own:
            return None
        from ...plain_session import session_on
        from ...venue.local import LocalVenue

        times = sorted({time for each in own for time in (each.bar * self.interval_ms, each.time)})
        symbols, found = sorted({each.symbol for each in own}), dict[tuple[str, int], tuple[float, float, float]]()
        end, opens = max(each.bar + 1 for each in own) * self.interval_ms, dict[str, pd.Series]()
        with LocalVenue(config=self.genesis, clock="manual") as venue, session_on(venue) as session:
            best = dict[tuple[str, int], tuple[float, float]]()
            for time in times:
                if time > venue.host.now_ms():
                    venue.advance(until=time, progress=False)
                for symbol in symbols:
                    book = session.order_book(symbol, depth=1).set_index("side")["price"]
                    best[symbol, time] = float(book["BUY"]), float(book["SELL"])
            venue.advance(until=max(end, venue.host.now_ms() + 1), progress=False)
            length = pd.Timedelta(self.interval_ms, "ms")
            for symbol in symbols:
                received = bars[symbol]
                opens[symbol] = session.klines(symbol, length, received.index[0], received.index[-1])["open"]
                # Before its first order the run has changed nothing. A market that differs is another one.
                first = pd.Timestamp(min(each.bar for each in own) * self.interval_ms, unit="ms", tz="UTC")
                early = received["open"][received.index < first]
                if not opens[symbol].reindex(early.index).equals(early.astype("float64")):
                    return None
        for (symbol, time), (bid, ask) in best.items():
            seen = opens[symbol].get(pd.Timestamp(time, unit="ms", tz="UTC"), float("nan"))
            found[symbol, time] = bid, ask, float(seen)
        return found

    def _prices(self, one: Traded, price: float, quotes: Any) -> dict[str, float]:
        """Return the parts of the difference of a fill's price from the backtest's, USDC per base unit."""
        if quotes is None:
            return {"execution": one.price - price}
        if one.maker:
            return {"spread": one.price - price}
        side = 1 if one.filled > 0 else 0
        decided, filled = quotes[one.symbol, one.bar * self.interval_ms], quotes[one.symbol, one.time]
        # The bars contain the run's own trades: the last price without them is what a backtest would have seen.
        seen = decided[2] if decided[2] == decided[2] else price
        return {
            "spread": decided[side] - seen,
            "latency": filled[side] - decided[side],
            "own impact": one.price - filled[side] + seen - price,
        }


@dataclass(frozen=True)
class _Worth:
    """What a quantity at the backtest's price is worth at the end, after fees, USDC."""

    last: float
    price: float
    share: float

    def __call__(self, quantity: float) -> float:
        return quantity * (self.last - self.price) - self.share * abs(quantity) * self.price


def _repaid(
    debts: defaultdict[str, float],
    more: float,
    sums: defaultdict[str, float],
    worth: _Worth,
    wanted: float,
    before: float,
) -> float:
    """Add what makes up for refusals and missed fills to their rows, and return what other decisions are worth."""
    whole = worth(wanted) - worth(before)
    if not more:
        return whole
    for cause in list(debts):
        part = min(abs(debts[cause]), abs(more)) if debts[cause] * more > 0 else 0.0
        if part:
            signed = part * np.sign(more)
            debts[cause] -= signed
            sums[cause] += whole * signed / more
            whole -= whole * signed / more
            more -= signed
        if not more:
            return 0.0
    return whole


def _paired(own: Sequence[Traded], theirs: Sequence[Traded]) -> Iterable[tuple[Traded | None, Traded | None]]:
    """Yield the orders of both in order of time, paired by symbol, side and bar."""
    waiting: defaultdict[Any, list[Traded]] = defaultdict(list)
    for each in theirs:
        waiting[each.symbol, each.asked > 0, each.bar].append(each)
    pairs: list[tuple[Traded | None, Traded | None]] = []
    for one in own:
        found = waiting[one.symbol, one.asked > 0, one.bar]
        pairs.append((one, found.pop(0) if found else None))
    pairs += [(None, each) for rest in waiting.values() for each in rest]
    return sorted(pairs, key=lambda pair: (pair[0] or pair[1]).bar)  # type: ignore[union-attr]


def _next_open(bars: pd.DataFrame, order: Traded, how: Reconciler) -> float:
    """Return the price at which a backtest would fill: the next open, else the last close."""
    at = int(bars.index.searchsorted(pd.Timestamp(order.bar * how.interval_ms, unit="ms", tz="UTC")))
    return (
        float(bars["open"].iloc[at]) if at < len(bars) else float(bars["close"].iloc[-1]) if len(bars) else float("nan")
    )


def _funding(run: Results, tested: Results, again: Any) -> float:
    """Return what the rates of the venue make of the backtest's positions, beyond those that it assumed."""
    settled = run.funding.drop_duplicates(["symbol", "time"]).set_index(["symbol", "time"])["rate"]
    total = 0.0
    rows: Any = tested.funding.itertuples()
    for row in rows:
        rate = settled.get((row.symbol, row.time))
        if rate is not None and rate == rate:
            total -= row.position * row.price * (float(rate) - row.rate)
    return total


def _table(run: Results, tested: Results, sums: Mapping[str, float], *, known_prices: bool) -> pd.DataFrame:
    ends = [each.growth.iloc[-1] - each.growth.iloc[0] for each in (run, tested)]
    difference = float(ends[0] - ends[1])
    unknown = ("execution",) if known_prices else ("spread", "latency", "own impact")
    amounts = {name: float("nan") if name in unknown else float(sums.get(name, 0.0)) for name in ROWS}
    amounts["other"] = difference - float(np.nansum([amounts[name] for name in ROWS[:-1]]))
    rows = [(name, amount, SAID[name] if amount == amount else "not known here") for name, amount in amounts.items()]
    text = f"the run made {ends[0]:,.2f} USDC, its backtest on the same bars {ends[1]:,.2f}"
    table = pd.DataFrame([*rows, ("TOTAL", difference, text)], columns=["cause", "amount", "detail"])
    if not known_prices:
        table.loc[table["cause"].isin(unknown), "detail"] = "not known here: see execution"
    else:
        table = table[table["cause"] != "execution"]
    return table.set_index("cause")
