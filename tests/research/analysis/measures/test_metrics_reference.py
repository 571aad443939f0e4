"""Every measure equals a second computation in plain Python, for curves of all shapes and for random fills."""

from __future__ import annotations

import math
import random
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.research import metrics
from toolkit.research.analysis.metrics import COLUMN_MEASURES, Curve, curve_of, measure, measure_columns
from toolkit.research.analysis.results import FILLS, FUNDING, frame

HOUR, DAY = 3_600_000, 86_400_000
START = 1_767_225_600_000
"""2026-01-01, Unix ms."""
NAN = math.nan
Fill = tuple[int, str, str, float, float, float]
"""Time, symbol, side, price, quantity, fee."""


def spaced(*, every: int, count: int) -> list[int]:
    return [START + every * number for number in range(count)]


def uneven(seed: int, *, most: int, count: int) -> list[int]:
    dice, times = random.Random(seed), [START]
    while len(times) < count:
        times.append(times[-1] + dice.randint(1, most))
    return times


TIMES = {
    "none": [],
    "one": [START],
    "two": spaced(every=HOUR, count=2),
    "three": spaced(every=DAY, count=3),
    "minutes": spaced(every=60_000, count=90),
    "hours": spaced(every=HOUR, count=72),
    "just two days": spaced(every=HOUR // 2, count=97),
    "just thirty days": spaced(every=6 * HOUR, count=121),
    "weeks": spaced(every=7 * DAY, count=12),
    "uneven, short": uneven(1, most=100_000, count=60),
    "uneven, some days": uneven(2, most=3 * HOUR, count=60),
    "uneven, long": uneven(3, most=2 * DAY, count=61),
}


def levels(kind: str, count: int) -> list[float]:
    """Return an equity curve: a random walk, steady growth, nothing at all, or one that loses everything."""
    dice = random.Random(f"{kind} {count}")
    if kind == "flat":
        return [1_000.0] * count
    if kind == "steady":
        return [1_000.0 * 1.001**number for number in range(count)]
    drift = {"rising": 0.004, "falling": -0.004}.get(kind, 0.0)
    found = [1_000.0]
    for _ in range(count - 1):
        found.append(found[-1] * math.exp(dice.gauss(drift, 0.02)))
    if kind == "ruined":
        found[count // 2 :] = [-50.0, *(25.0 - 10 * (number % 4) for number in range(count))][: count - count // 2]
    if kind == "begins at nothing":
        found[0] = 0.0
    return found[:count]


KINDS = ("rising", "falling", "flat", "steady", "ruined", "begins at nothing")


def sampling(times: Sequence[int]) -> int:
    """A day for 30 days or more, an hour for two days or more, else a minute, and never finer than the data."""
    spacing = int(statistics.median(b - a for a, b in pairwise(times)))
    elapsed = times[-1] - times[0]
    return max(spacing, DAY if elapsed >= 30 * DAY else HOUR if elapsed >= 2 * DAY else 60_000)


def returns_of(times: Sequence[int], equity: Sequence[float], step: int) -> list[tuple[int, float]]:
    """The last value known at each edge over that at the edge before, without those on nothing. The end is an edge."""
    edges = [*range(times[0], times[-1], step), times[-1]]
    known = [bisect_right(times, edge) - 1 for edge in edges]
    pairs = zip(edges[1:], known, known[1:], strict=False)
    return [(edge, equity[now] / equity[was] - 1) for edge, was, now in pairs if equity[was] > 0]


def over_time(times: Sequence[int], values: Sequence[float]) -> float:
    """The mean of values, each of which lasts until the next one."""
    if times[-1] == times[0]:
        return statistics.fmean(values)
    return sum(v * (b - a) for v, a, b in zip(values, times, times[1:], strict=False)) / (times[-1] - times[0])


def longest_fall(times: Sequence[int], equity: Sequence[float]) -> int:
    longest, high, since, fell = 0, equity[0], times[0], False
    for time, value in zip(times, equity, strict=True):
        longest = max(longest, time - since) if fell else longest
        if value >= high:
            high, since, fell = value, time, False
        else:
            fell = True
    return max(longest, times[-1] - since) if fell else longest


def expected_risk(times: Sequence[int], equity: Sequence[float], step: int, risk_free: float) -> dict[str, float]:
    returns = [value for _, value in returns_of(times, equity, step)]
    if len(returns) < 2:
        return dict.fromkeys(("volatility", "sharpe", "sortino"), NAN)
    year, rate = 365 * DAY / step, risk_free * step / (365 * DAY)
    mean, spread = statistics.fmean(returns), statistics.stdev(returns)
    lost = math.sqrt(statistics.fmean(min(value - rate, 0.0) ** 2 for value in returns))
    return {
        "volatility": spread * math.sqrt(year),
        "sharpe": (mean - rate) / spread * math.sqrt(year) if spread > 1e-12 * abs(mean) else NAN,
        "sortino": (mean - rate) / lost * math.sqrt(year) if lost else NAN,
    }


def trips_of(fills: Sequence[Fill]) -> list[tuple[Any, ...]]:
    """From flat to flat, in the order in which they ended, in exact numbers. A flip's fee is split by quantity."""
    open_: dict[str, list[Any]] = {}
    found = []
    for time, symbol, side, price, quantity, fee in fills:
        left = Fraction(quantity) * (1 if side == "BUY" else -1)
        while left:
            trip = open_.setdefault(symbol, [time, "LONG" if left > 0 else "SHORT", *[Fraction(0)] * 5])
            position = trip[2]
            closing = position * left < 0
            part = max(left, -position) if left < 0 and closing else min(left, -position) if closing else left
            trip[2] += part
            trip[3] += 0 if closing else abs(part)
            trip[4] += 0 if closing else abs(part) * Fraction(price)
            trip[5] += abs(part) * Fraction(price) if closing else 0
            trip[6] += Fraction(fee) * abs(part) / Fraction(quantity)
            left -= part
            if not trip[2]:
                opened, named, _, size, paid, received, fees = open_.pop(symbol)
                gross = (received - paid) * (1 if named == "LONG" else -1)
                amounts = map(float, (size, paid / size, received / size, gross, fees, gross - fees))
                found.append((symbol, named, opened, time, *amounts))
    return found


def random_fills(seed: int, symbols: int, count: int, flat: float = 0.3) -> list[Fill]:
    """Return fills that add, reduce, close and flip, some of nothing, with fees that are paid and received."""
    dice, held, fills = random.Random(seed), dict[str, int](), list[Fill]()
    for number in range(count):
        symbol = f"S{dice.randrange(symbols)}"
        eighths = dice.choice([-1, 1]) * dice.randint(0, 24)
        if held.get(symbol) and dice.random() < flat:
            eighths = -held[symbol]
        held[symbol] = held.get(symbol, 0) + eighths
        side = "BUY" if eighths > 0 else "SELL"
        fee = dice.randint(-2, 9) / 4 if eighths else 0.0
        fills.append((START + number * 1_000, symbol, side, dice.randint(400, 600) / 8, abs(eighths) / 8, fee))
    return fills


def fills_frame(fills: Sequence[Fill]) -> pd.DataFrame:
    rows = [
        (time, symbol, side, price, size, price * size, fee, 0.0, "TAKER", "MARKET", number)
        for number, (time, symbol, side, price, size, fee) in enumerate(fills)
    ]
    return frame(rows, FILLS)


def expected_summary(
    times: Sequence[int],
    equity: Sequence[float],
    gross: Sequence[float],
    fills: Sequence[Fill],
    paid: Sequence[float],
    step: int | None,
    risk_free: float,
) -> dict[str, Any]:
    """Every measure by its formula, for a curve of one point or more."""
    net = [trip[-1] for trip in trips_of(fills)]
    won, lost = sum(value for value in net if value > 0), -sum(value for value in net if value < 0)
    elapsed, fees, profit = times[-1] - times[0], sum(fill[-1] for fill in fills), equity[-1] - equity[0]
    total = equity[-1] / equity[0] - 1 if equity[0] > 0 else NAN
    annual, spacing = NAN, step or (sampling(times) if elapsed else 0)
    returns = [value for _, value in returns_of(times, equity, spacing)] if elapsed else []
    usual = len(returns_of(times, equity, sampling(times))) if elapsed else 0
    enough = elapsed >= 7 * DAY and usual >= 10
    spread = statistics.stdev(returns) if len(returns) > 1 else NAN
    mean = statistics.fmean(returns) if returns else NAN
    if enough and total == total:
        power = 365 * DAY / elapsed * math.log1p(total) if total > -1 else -math.inf
        annual = math.exp(power) - 1 if power < 700 else math.inf
    highs = [max(equity[: at + 1]) for at in range(len(equity))]
    deepest = min((value / high - 1 for value, high in zip(equity, highs, strict=True) if high > 0), default=NAN)
    leverage = [held / value if value > 0 else 0.0 for held, value in zip(gross, equity, strict=True)]
    mean_equity = over_time(times, equity)
    return {
        "start": pd.Timestamp(times[0], unit="ms", tz="UTC"),
        "end": pd.Timestamp(times[-1], unit="ms", tz="UTC"),
        "equity_start": equity[0],
        "equity_end": equity[-1],
        "period": pd.Timedelta(spacing, "ms"),
        "observations": len(returns),
        "annualised": enough or step is not None,
        "profit": profit,
        "total_return": total,
        "annual_return": annual,
        **(
            expected_risk(times, equity, step or sampling(times), risk_free)
            if elapsed and (enough or step)
            else dict.fromkeys(("volatility", "sharpe", "sortino"), NAN)
        ),
        "calmar": annual / -deepest if deepest < 0 else NAN,
        "period_sharpe": (mean - risk_free * spacing / (365 * DAY)) / spread if spread > 1e-12 * abs(mean) else NAN,
        "max_drawdown": deepest,
        "longest_drawdown": pd.Timedelta(longest_fall(times, equity), "ms"),
        "fills": len(fills),
        "round_trips": len(net),
        "hit_rate": sum(value > 0 for value in net) / len(net) if net else NAN,
        "profit_factor": won / lost if lost else NAN,
        "mean_trip": sum(net) / len(net) if net else NAN,
        "turnover": sum(fill[3] * fill[4] for fill in fills) / mean_equity if mean_equity > 0 else NAN,
        "time_in_market": over_time(times, [float(held > 0) for held in gross]),
        "leverage_mean": over_time(times, leverage),
        "leverage_max": max(leverage),
        "fees": fees,
        "fee_share": fees / (profit + fees) if profit + fees > 0 else NAN,
        "funding": sum(paid),
    }


def differ(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the measures that are not equal, up to rounding."""
    apart = {}
    for name, value in expected.items():
        got = found[name]
        if isinstance(value, float) and not math.isnan(value):
            same = math.isclose(got, value, rel_tol=1e-9, abs_tol=1e-9)
        else:
            same = bool(pd.isna(got)) if pd.isna(value) else got == value
        if not same:
            apart[name] = got, value
    return apart


def series(times: Sequence[int], values: Sequence[float]) -> pd.Series:
    return pd.Series(list(values), pd.to_datetime(list(times), unit="ms", utc=True), dtype="float64")


def exposures(count: int, seed: int) -> list[float]:
    dice = random.Random(seed)
    return [dice.choice([0.0, dice.uniform(10, 5_000)]) for _ in range(count)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [times for times in TIMES.values() if times], ids=list(TIMES)[1:])
def test_every_measure_is_that_of_its_formula(times: list[int], kind: str) -> None:
    equity, gross = levels(kind, len(times)), exposures(len(times), 5)
    for count, period, step, risk_free in ((0, None, None, 0.0), (1, "90min", 5_400_000, 0.08), (40, None, None, 0.08)):
        fills, paid = random_fills(count, 3, count), [1.5, -4.25, 0.5][:count]
        funding = frame([(START, "S0", 1.0, 100.0, 0.0001, amount) for amount in paid], FUNDING)
        given = series(times, equity), fills_frame(fills), funding, series(times, gross)
        found = metrics.summary(*given, period=period, risk_free=risk_free)
        expected = expected_summary(times, equity, gross, fills, paid, step, risk_free)
        assert list(found.index) == list(expected)
        assert not differ(found.to_dict(), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", list(TIMES)[2:])
def test_sampled_returns_and_drawdowns_are_those_of_their_formulas(name: str, kind: str) -> None:
    times = TIMES[name]
    equity = levels(kind, len(times))
    curve = series(times, equity)
    assert metrics.sampling_period(curve) == pd.Timedelta(sampling(times), "ms")
    for period, step in ((None, sampling(times)), ("90min", 5_400_000), (pd.Timedelta("3D"), 3 * DAY)):
        expected = returns_of(times, equity, step)
        found = metrics.sampled_returns(curve, period)
        assert found.index.tolist() == [pd.Timestamp(time, unit="ms", tz="UTC") for time, _ in expected]
        assert found.tolist() == pytest.approx([value for _, value in expected])
    highs = [max(equity[: at + 1]) for at in range(len(equity))]
    depths = [value / high - 1 if high > 0 else NAN for value, high in zip(equity, highs, strict=True)]
    assert metrics.drawdown(curve).tolist() == pytest.approx(depths, nan_ok=True)


def test_a_run_of_one_point_or_none_has_no_returns_and_no_period() -> None:
    for times in ([], [START]):
        curve = series(times, [1_000.0] * len(times))
        assert metrics.sampled_returns(curve).empty
        assert metrics.sampling_period(curve) == pd.Timedelta(0)
        assert metrics.longest_drawdown(curve) == pd.Timedelta(0)
        assert metrics.drawdown(curve).tolist() == [0.0] * len(times)
        assert all(math.isnan(f(curve)) for f in (metrics.volatility, metrics.sharpe, metrics.sortino, metrics.calmar))
    empty = metrics.summary(series([], []), fills_frame([]), frame([], FUNDING), series([], []))
    zeros = {
        "period": pd.Timedelta(0),
        "observations": 0,
        "annualised": False,
        "profit": 0.0,
        "longest_drawdown": pd.Timedelta(0),
        "fills": 0,
        "round_trips": 0,
        "fees": 0.0,
    }
    assert empty[list(zeros)].to_dict() == zeros
    assert empty["funding"] == 0.0
    assert empty.drop([*zeros, "funding"]).isna().all()


@pytest.mark.parametrize("symbols", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_round_trips_are_those_of_exact_numbers_one_fill_after_another(seed: int, symbols: int) -> None:
    fills = random_fills(seed, symbols, 60, flat=(0.0, 0.3, 0.7)[seed % 3])
    expected = frame_of_trips(trips_of(fills))
    found = metrics.round_trips(fills_frame(fills))
    assert len(expected)
    pd.testing.assert_frame_equal(found, expected, check_exact=False, rtol=1e-9, atol=1e-9)
    arrays = curve_of(series([START], [1.0]), fills_frame(fills), frame([], FUNDING), series([START], [0.0]))
    by_symbol = expected.sort_values("symbol", key=lambda column: column.map(first_seen(fills)), kind="stable")
    np.testing.assert_allclose(metrics.trip_profits(arrays), by_symbol["net"], atol=1e-9)


def first_seen(fills: Sequence[Fill]) -> dict[str, int]:
    return {symbol: at for at, symbol in reversed([(at, fill[1]) for at, fill in enumerate(fills)])}


def frame_of_trips(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(metrics.ROUND_TRIPS))
    for name in ("opened", "closed"):
        table[name] = pd.to_datetime(table[name].astype("int64"), unit="ms", utc=True)
    return table.astype(metrics.ROUND_TRIPS)


@pytest.mark.parametrize("name", list(TIMES)[1:])
def test_the_measures_of_many_runs_in_columns_are_those_of_each(name: str) -> None:
    times = TIMES[name]
    columns = [levels(kind, len(times)) for kind in KINDS if kind != "begins at nothing"]
    found = measure_columns(np.array(times), np.array(columns).T)
    assert list(found) == list(COLUMN_MEASURES)
    for number, equity in enumerate(columns):
        expected = measure(Curve(np.array(times), np.array(equity), gross=np.zeros(len(times))))
        for measured in COLUMN_MEASURES:
            value = found[measured][number]
            assert value == pytest.approx(expected[measured], rel=1e-9, abs=1e-12, nan_ok=True), (measured, number)


@pytest.mark.parametrize(
    ("points", "most", "hours"),
    [(513, 512, 1), (514, 512, 2), (1_025, 512, 2), (1_026, 512, 3), (10, 512, 1), (10, 3, 3), (11, 3, 4)],
)
def test_returns_for_measures_of_overfitting_are_in_so_many_periods_at_most(points: int, most: int, hours: int) -> None:
    times = spaced(every=HOUR, count=points)
    assert Curve(np.array(times), np.ones(points)).periods_ms(most) == hours * HOUR
    assert Curve(np.array(times[:1]), np.ones(1)).periods_ms(most) == 0


def test_measures_of_amounts_have_no_value_where_their_base_is_nothing() -> None:
    assert metrics.hit_rate(np.array([0.0, 0.5, -1.0, 2.0])) == 0.5
    assert metrics.profit_factor(np.array([0.5, -0.25, -0.75, 2.0])) == 2.5
    assert math.isnan(metrics.profit_factor(np.array([0.0, 0.5])))
    assert metrics.profit_factor(np.array([0.0, -0.5])) == 0.0
    assert [metrics.fee_share(net, fees) for net, fees in ((0.5, 0.25), (-0.25, 0.5))] == [1 / 3, 2.0]
    assert math.isnan(metrics.fee_share(-1.0, 1.0))
    held = series(spaced(every=HOUR, count=5), [0.5, -0.5, 0.0, 2.0, 0.0])
    assert metrics.time_in_market(held) == 0.75
    assert metrics.time_weighted(held) == pytest.approx(0.5)
    assert metrics.turnover(fills_frame([(START, "S0", "SELL", 50.0, 2.0, 0.0)]), held + 0.5) == 100.0
    for nothing in (held - 0.5, held - 2.0):
        assert math.isnan(metrics.turnover(fills_frame([(START, "S0", "SELL", 50.0, 2.0, 0.0)]), nothing))


def curve(values: list[float], every: str = "D") -> pd.Series:
    return pd.Series(values, index=pd.date_range("2026-01-01", periods=len(values), freq=every, tz="UTC"))


def test_risk_by_hand() -> None:
    returns = [0.1, -0.1, 0.2, -0.05]
    equity = curve([100.0, *(100 * np.cumprod([1 + r for r in returns]))])
    mean, deviation = np.mean(returns), np.std(returns, ddof=1)
    assert metrics.volatility(equity, "D") == pytest.approx(deviation * math.sqrt(365))
    assert metrics.sharpe(equity, "D") == pytest.approx(mean / deviation * math.sqrt(365))
    assert metrics.sharpe(equity, "D", risk_free=3.65) == pytest.approx((mean - 0.01) / deviation * math.sqrt(365))
    downside = math.sqrt((0.1**2 + 0.05**2) / 4)
    assert metrics.sortino(equity, "D") == pytest.approx(mean / downside * math.sqrt(365))


@settings(max_examples=15)
@given(seed=st.integers(0, 1000), largest=st.sampled_from([10, 10**6, 10**10]))
def test_round_trips_end_whenever_the_position_is_flat(seed: int, largest: int) -> None:
    """Quantities of up to ten million, in steps of 0.001: rounding leaves no trip open and opens none."""
    dice = random.Random(seed)
    held, flats, rows = 0, 0, []
    for number in range(100):
        steps = dice.randint(1, largest) * dice.choice([1, -1])
        steps = -held if held and dice.random() < 0.4 else steps
        flats += held * (held + steps) <= 0 and held != 0
        held += steps
        side, quantity = "BUY" if steps > 0 else "SELL", abs(steps) / 1000
        rows.append((number, "A", side, 1.0, quantity, quantity, 0.0, 0.0, "TAKER", "MARKET", number))
    assert len(metrics.round_trips(frame(rows, FILLS))) == flats
