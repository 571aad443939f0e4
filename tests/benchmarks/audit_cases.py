"""The audit beside strategies that know the future, of the kinds that users of other libraries report, and honest ones.

Each case that looks ahead is refused by the run itself, found by the audit, or missed. An honest one that is accused is
a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from toolkit.errors import InputError
from toolkit.research import Strategy, backtest, vectorised
from toolkit.research.indicators import RSI, SMA, Highest

from . import Measurement

BARS = 720
SIZE = "0.01"


def market(seed: int = 1) -> pd.DataFrame:
    """Return bars of 5 minutes, a random walk."""
    dice = np.random.default_rng(seed)
    close = np.round(60_000 * np.exp(np.cumsum(dice.normal(0, 0.002, BARS))), 1)
    opened = np.concatenate([[60_000.0], close[:-1]])
    spread = dice.exponential(20.0, BARS).round(1)
    columns = {"open": opened, "high": np.maximum(opened, close) + spread, "low": np.minimum(opened, close) - spread}
    index = pd.date_range("2026-01-01", periods=BARS, freq="5min", tz="UTC", name="time")
    return pd.DataFrame({**columns, "close": close, "volume": dice.uniform(50, 150, BARS).round(1)}, index)


FRAME = market()
CLOSE = FRAME["close"]


def line(function: Callable[..., Any], *inputs: str) -> type[Strategy]:
    """Return a strategy that is long while the close is above a line of a function."""

    class Above(Strategy):
        def on_start(self, ctx: Any) -> None:
            self.line = self.I(function, *inputs)

        def on_bar(self, ctx: Any, bar: Any) -> None:
            if self.line.value == self.line.value:
                ctx.target(bar.symbol, SIZE if bar.close > self.line.value else f"-{SIZE}")

    return Above


def signs(function: Callable[[pd.DataFrame], Any]) -> Callable[[Any], Any]:
    """Return targets of a function of a frame."""
    return lambda given: np.sign(np.nan_to_num(np.asarray(function(given["BTCUSDC"]), dtype="float64"))) * 0.01


def table(values: pd.Series[float]) -> Callable[..., None]:
    """Return a strategy that reads a table of its own at the time of each bar."""

    def on_bar(ctx: Any, bar: Any) -> None:
        value = values.asof(pd.Timestamp(bar.time, unit="ms", tz="UTC"))
        if value == value:
            ctx.target(bar.symbol, SIZE if value > bar.close else f"-{SIZE}")

    return on_bar


def merged(rule: str, late: str = "0h") -> Callable[..., None]:
    longer = CLOSE.resample(rule).last()
    return table(longer.set_axis(longer.index + pd.Timedelta(late)))


def by_position(ahead: int, first: int = 0) -> Callable[..., None]:
    """Return a strategy that reads a list of closes at the number of the bar, and some places on."""
    prices = CLOSE.tolist()

    def on_bar(ctx: Any, bar: Any) -> None:
        at = ctx.bars(bar.symbol).length - 1 + ahead
        if first <= at < len(prices):
            ctx.target(bar.symbol, SIZE if prices[at] > bar.close else f"-{SIZE}")

    return on_bar


LEAKS: dict[str, Any] = {
    "shift(-1) of the close": signs(lambda b: b.close.shift(-1) - b.close),
    "shift(-3), seldom": signs(lambda b: (b.close.shift(-3) - b.close).where(np.arange(len(b)) % 9 == 0).ffill()),
    "mean of the whole sample": line(lambda c: np.full(len(c), c.mean()), "close"),
    "z-score of the whole sample": line(lambda c: c - (c - c.mean()) / c.std() * 100, "close"),
    "minimum and maximum scaling of the whole sample": line(
        lambda c: np.full(len(c), (c.min() + c.max()) / 2), "close"
    ),
    "centred rolling mean": line(lambda c: pd.Series(c).rolling(11, center=True).mean(), "close"),
    "backward fill": line(
        lambda c: pd.Series(np.where(np.arange(len(c)) % 5 == 0, c, np.nan)).bfill().ffill(), "close"
    ),
    "interpolation between known points": line(
        lambda c: pd.Series(np.where(np.arange(len(c)) % 7 == 0, c, np.nan)).interpolate(), "close"
    ),
    "resample('1h').last() of the present hour": line(
        lambda b: b.close.resample("1h").last().reindex(b.index, method="ffill"), "bars"
    ),
    "resample('4h').max() of the present bar": line(
        lambda b: b.high.resample("4h").max().reindex(b.index, method="ffill"), "bars"
    ),
    "groupby(day).transform('last')": line(lambda b: b.close.groupby(b.index.date).transform("last"), "bars"),
    "smoothing forwards and backwards": line(lambda c: pd.Series(c).ewm(9).mean()[::-1].ewm(9).mean()[::-1], "close"),
    "Fourier filter of the whole sample": line(
        lambda c: np.fft.irfft(np.where(np.arange(len(c) // 2 + 1) < 20, np.fft.rfft(c), 0), len(c)), "close"
    ),
    "polynomial fitted to the whole sample": line(
        lambda c: np.polyval(np.polyfit(np.arange(len(c)), c, 3), np.arange(len(c))), "close"
    ),
    "pivots that are confirmed later": line(
        lambda h: pd.Series(h).where(pd.Series(h) == pd.Series(h).rolling(9, center=True).max()).ffill(), "high"
    ),
    "merge_asof with the hour's own close": merged("1h"),
    "merge_asof with the day's own close": merged("1D"),
    "a list by position, one bar too far": by_position(1),
    "a list by position, six bars too far": by_position(6),
    "a place before the first, which is the last of a list": by_position(-1, first=-1),
    "tomorrow's signs as an array": np.sign(CLOSE.shift(-1) - CLOSE).fillna(0).to_numpy() * 0.01,
    "a threshold of the whole sample": signs(lambda b: b.close - b.close.quantile(0.5)),
    "a label of the next hour as a feature": signs(lambda b: b.close.shift(-12).rolling(3).mean() - b.close),
}
"""Cases that look ahead."""


class Crossing(Strategy):
    fast, slow = 5, 20

    def on_start(self, ctx: Any) -> None:
        self.short, self.long = SMA(self.fast), SMA(self.slow)

    def on_bar(self, ctx: Any, bar: Any) -> None:
        short, long = self.short.update(bar.close), self.long.update(bar.close)
        if long == long:
            ctx.target(bar.symbol, SIZE if short > long else f"-{SIZE}")


class Reverting(Strategy):
    def on_start(self, ctx: Any) -> None:
        self.index = RSI(7)

    def on_bar(self, ctx: Any, bar: Any) -> None:
        value = self.index.update(bar.close)
        if value == value and not 30 < value < 70:
            ctx.target(bar.symbol, SIZE if value < 30 else f"-{SIZE}")


class Breaking(Strategy):
    def on_start(self, ctx: Any) -> None:
        self.top = Highest(24)

    def on_bar(self, ctx: Any, bar: Any) -> None:
        before, _ = self.top.value, self.top.update(bar.high)
        if before == before:
            ctx.target(bar.symbol, SIZE if bar.close > before else 0)


class Quoting(Strategy):
    def on_bar(self, ctx: Any, bar: Any) -> None:
        ctx.cancel_all(bar.symbol)
        product = ctx.product(bar.symbol)
        for act, at in ((ctx.buy, 0.999), (ctx.sell, 1.001)):
            act(bar.symbol, SIZE, product.round_price(bar.close * at, "down"), tif="POST_ONLY")


HONEST: dict[str, Any] = {
    "averages": Crossing,
    "mean reversion": Reverting,
    "breakout": Breaking,
    "two-sided quotes": Quoting,
    "rolling mean by a function": line(lambda c: pd.Series(c).rolling(9).mean(), "close"),
    "expanding z-score": line(lambda c: pd.Series(c).expanding(30).mean(), "close"),
    "resample shifted by an hour": line(
        lambda b: b.close.resample("1h").last().shift(1).reindex(b.index, method="ffill"), "bars"
    ),
    "the hour before, merged": merged("1h", "1h"),
    "the day before, merged": merged("1D", "1D"),
    "a list by position, of the past": by_position(-1),
    "targets of past returns": signs(lambda b: b.close - b.close.shift(3)),
    "holds its own data, and does not look": table(CLOSE * 0 + 1e9),
    "buys and holds": lambda ctx, bar: ctx.target(bar.symbol, SIZE),
}
"""Cases that know the past alone."""


def verdict(case: Any) -> str:
    """Return "refused", "found", "not checked" or "missed"."""
    data = {"BTCUSDC": FRAME}
    arrays = isinstance(case, np.ndarray) or getattr(case, "__qualname__", "").startswith("signs.")
    try:
        run = vectorised(data, case) if arrays else backtest(case, data, funding=None)
    except InputError as error:
        if error.rule != "no look-ahead":
            raise
        return "refused"
    found = run.audit().loc["look-ahead", "found"]
    return "not checked" if pd.isna(found) else "found" if found else "missed"


def measure_audit() -> list[Measurement]:
    """Return how many cases are found, missed and accused without reason."""
    leaks, honest = ({name: verdict(case) for name, case in cases.items()} for cases in (LEAKS, HONEST))
    missed = [name for name, what in leaks.items() if what not in ("refused", "found")]
    accused = [name for name, what in honest.items() if what in ("refused", "found")]
    return [
        Measurement(
            "audit: look-ahead found", len(leaks) - len(missed), f"of {len(leaks)}", 20, note="; ".join(missed)
        ),
        Measurement("audit: of these refused by the run", list(leaks.values()).count("refused"), ""),
        Measurement("audit: false alarms", len(accused), f"of {len(honest)}", 0, "lower", note="; ".join(accused)),
    ]
