"""Every frame of a vectorised run equals a loop over its bars, with late settlements, gaps, steps and slippage."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.markets import walk
from toolkit.errors import InputError
from toolkit.research import Results, metrics, vectorised
from toolkit.research.analysis.results import FILLS, FUNDING, frame
from toolkit.research.backtesting.arrays import average_cost, vectorised_many

MINUTE = 60_000
START = 1_767_225_600_000
"""2026-01-01, Unix ms."""
CAPITAL, FEE, SLIPPAGE = 5_000.0, 0.0007, 0.002


def times_of(rows: int) -> list[int]:
    """Return opening times, 90 minutes apart, with a gap of a day after the tenth bar."""
    return [START + number * 90 * MINUTE + (1_440 * MINUTE if number >= 10 else 0) for number in range(rows)]


def bars_of(seed: int, symbols: int, rows: int = 24) -> dict[str, pd.DataFrame]:
    dice, index = random.Random(seed), pd.to_datetime(times_of(rows), unit="ms", utc=True)
    made = {}
    for number in range(symbols):
        price, columns = 100.0 * (number + 1), []
        for _ in range(rows):
            opened, price = price * dice.uniform(0.98, 1.02), price * dice.uniform(0.97, 1.03)
            columns.append((opened, max(opened, price) * 1.01, min(opened, price) * 0.99, price))
        made[f"S{number}"] = pd.DataFrame(columns, index, ["open", "high", "low", "close"])
    return made


def rates_of(symbol: int) -> pd.Series:
    """Return rates at the start of a bar, inside of bars, in the gap, and before and after all bars."""
    minutes = [-5, 0, 90, 100 + symbol, 45 * 7, 90 * 10, 90 * 10 + 700, 90 * 12 + 1_440, 90 * 20 + 1_441, 10**5]
    values = [0.1, 0.002, 0.003, -0.004, 0.001, 0.0005, -0.0025, 0.006, 0.0015, 0.1]
    return pd.Series(values, pd.to_datetime([START + minute * MINUTE for minute in minutes], unit="ms", utc=True))


def plain_average(size: float, entry: float, signed: float, price: float) -> tuple[float, float, float]:
    """Return realised profit, size and entry price after a fill, by average cost."""
    if size == 0 or (size > 0) == (signed > 0):
        return 0.0, size + signed, (size * entry + signed * price) / (size + signed)
    closed = min(abs(size), abs(signed))
    profit = closed * (price - entry) * (1 if size > 0 else -1)
    left = size + signed
    if abs(left) < 1e-9:
        return profit, 0.0, 0.0
    return profit, left, entry if abs(signed) < abs(size) else price


def looped(
    data: dict[str, pd.DataFrame], held: dict[str, list[float]], funding: dict[str, pd.Series]
) -> dict[str, pd.DataFrame]:
    """Return the frames of a run that holds so much in each bar, from its open on."""
    names, index = list(data), next(iter(data.values())).index
    opens = [int(time.timestamp() * 1_000) for time in index]
    closes = [min(opened + 90 * MINUTE, later) for opened, later in zip(opens, [*opens[1:], math.inf], strict=True)]
    fills: list[Any] = []
    paid: list[Any] = []
    realised = [0.0] * len(opens)
    flows = [0.0] * len(opens)
    for row, opened in enumerate(opens):
        for name in names:
            before = held[name][row - 1] if row else 0.0
            price = data[name]["open"].iloc[row]
            for time, rate in funding[name].items():
                at, end = int(time.timestamp() * 1_000), opens[row + 1] if row + 1 < len(opens) else closes[row]
                if opened <= at < end:
                    size = held[name][row] if at > opened else before
                    at_price = price if at < closes[row] else data[name]["close"].iloc[row]
                    flows[row] -= size * at_price * rate
                    realised[row] -= size * at_price * rate
                    if size:
                        paid.append((at, name, size, at_price, rate, -size * at_price * rate))
            signed = held[name][row] - before
            if signed:
                traded = price * (1 + SLIPPAGE if signed > 0 else 1 - SLIPPAGE)
                fee = abs(signed) * traded * FEE
                flows[row] -= signed * traded + fee
                fills.append([opened, name, signed, traded, fee])
    sizes, entries, rows = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0), []
    for number, (opened, name, signed, traded, fee) in enumerate(fills, start=1):
        profit, sizes[name], entries[name] = plain_average(sizes[name], entries[name], signed, traded)
        realised[opens.index(opened)] += profit - fee
        amounts = traded, abs(signed), abs(signed) * traded, fee, profit
        rows.append((opened, name, "BUY" if signed > 0 else "SELL", *amounts, "TAKER", "MARKET", number))
    cash = CAPITAL + np.cumsum(flows)
    worth = [sum(held[name][row] * data[name]["close"].iloc[row] for name in names) for row in range(len(opens))]
    times = pd.to_datetime([opens[0], *closes], unit="ms", utc=True)
    equity = [CAPITAL, *(cash + worth)]
    balance = [CAPITAL, *(CAPITAL + np.cumsum(realised))]
    return {
        "fills": frame(rows, FILLS),
        "funding": frame(sorted(paid, key=lambda one: (one[0], one[1])), FUNDING),
        "positions": pd.DataFrame({name: [0.0, *held[name]] for name in names}, times),
        "marks": pd.DataFrame({n: [data[n]["open"].iloc[0], *data[n]["close"]] for n in names}, times),
        "equity": pd.DataFrame(
            {"equity": equity, "balance": balance, "unrealized": np.subtract(equity, balance)}, times
        ),
    }


def compare(run: Results, expected: dict[str, pd.DataFrame]) -> None:
    measured = run.measures()
    for name, table in expected.items():
        found = getattr(run, name)
        pd.testing.assert_frame_equal(
            found, table, rtol=1e-9, atol=1e-8, check_freq=False, check_names=False, check_index_type=False
        )
    again = metrics.summary(run.growth, run.fills, run.funding, run.exposure["gross"]).to_dict()
    for name, value in measured.items():
        if isinstance(value, float):
            assert value == pytest.approx(again[name], rel=1e-9, abs=1e-9, nan_ok=True), name
        else:
            assert value == again[name], name
    assert run.orders.empty
    assert run.events.empty
    assert run.transfers.empty
    assert run.records.empty


@pytest.mark.parametrize("symbols", [1, 3])
@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("sizing", ["quantity", "notional"])
@pytest.mark.parametrize("step", [None, 0.5, {"S0": 0.25}])
def test_all_frames_are_those_of_a_loop(seed: int, symbols: int, sizing: str, step: Any) -> None:
    """A target is traded at the next open, in whole steps towards zero. NaN keeps what was wanted before."""
    data, dice = bars_of(seed, symbols), random.Random(seed + 100)
    names = list(data)
    scale = 1.0 if sizing == "quantity" else 150.0
    wanted = {n: [dice.choice([-2.3, -1.0, 0.0, 0.4, 1.0, 1.9, math.nan]) * scale for _ in range(24)] for n in names}
    held: dict[str, list[float]] = {}
    for name in names:
        known, units, rows = 0.0, 0.0, [0.0]
        for row, value in enumerate(wanted[name][:-1]):
            if value == value and (value != known or row == 0):
                known = value
                units = value if sizing == "quantity" else value / data[name]["close"].iloc[row]
            size = step.get(name, 0.0) if isinstance(step, dict) else step
            rows.append(math.trunc(units / size + math.copysign(1e-9, units)) * size if size else units)
        held[name] = rows
    funding = {name: rates_of(number) for number, name in enumerate(names)}
    run = vectorised(
        data, pd.DataFrame(wanted, next(iter(data.values())).index), sizing=sizing, capital=CAPITAL, fee=FEE,
        slippage=SLIPPAGE, funding=funding, step=step,
    )  # fmt: skip
    compare(run, looped(data, held, funding))


@pytest.mark.parametrize("symbols", [1, 2])
@pytest.mark.parametrize("seed", [1])
def test_multiples_of_equity_are_resized_where_the_target_changes(seed: int, symbols: int) -> None:
    data, dice = bars_of(seed, symbols), random.Random(seed)
    names, step = list(data), 0.01
    targets = [[dice.choice([-1.5, 0.0, 0.5, 2.0]) for _ in names] for _ in range(24)]
    targets[5:8] = [targets[4]] * 3
    funding = {name: rates_of(number) for number, name in enumerate(names)}
    held: dict[str, list[float]] = {name: [0.0] * 24 for name in names}
    known = [0.0] * symbols
    for row in range(23):
        so_far = looped(
            {n: table[: row + 1] for n, table in data.items()}, {n: held[n][: row + 1] for n in names}, funding
        )
        # The loop over fewer bars takes no settlement of the gap after its last bar; that one is paid a bar later.
        equity = so_far["equity"]["equity"].iloc[-1]
        if row == 9:
            paid = looped(data, held, funding)["funding"]
            gap = paid[(paid["time"] >= equity_time(data, 9)) & (paid["time"] < data[names[0]].index[10])]
            equity += gap["payment"].sum()
        for column, name in enumerate(names):
            before, target = held[name][row], targets[row][column]
            if target != known[column]:
                units = target * max(equity, 0.0) / data[name]["close"].iloc[row]
                before = math.trunc(units / step + math.copysign(1e-9, units)) * step
            held[name][row + 1 :] = [before] * (23 - row)
        known = targets[row]
    run = vectorised(
        data, targets, sizing="equity", capital=CAPITAL, fee=FEE, slippage=SLIPPAGE, funding=funding, step=step
    )
    compare(run, looped(data, held, funding))


def equity_time(data: dict[str, pd.DataFrame], row: int) -> pd.Timestamp:
    """Return when a bar closes."""
    return next(iter(data.values())).index[row] + pd.Timedelta(minutes=90)


def test_the_average_cost_of_fills_is_that_of_exact_numbers() -> None:
    dice = random.Random(3)
    for _ in range(200):
        size, entry = dice.randint(-6, 6), dice.randint(90, 110)
        signed, price = dice.choice([-8, -3, -1, 1, 4, 6]), dice.randint(80, 120)
        total = size + signed
        if size * signed >= 0:
            expected = Fraction(0), total, Fraction(size * entry + signed * price, total)
        else:
            closed = min(abs(size), abs(signed))
            left = entry if abs(signed) < abs(size) else price
            expected = (
                Fraction(closed * (price - entry) * (1 if size > 0 else -1)),
                total,
                Fraction(left if total else 0),
            )
        found = average_cost(float(size), float(entry), float(signed), float(price))
        assert found == pytest.approx(tuple(map(float, expected))), (size, entry, signed, price)
    assert average_cost(0.3, 5.0, -0.1 * 3, 6.0) == pytest.approx((0.3, 0.0, 0.0)), "a rest of rounding is nothing"
    assert average_cost(0.3, 5.0, -0.1 * 3, 6.0)[1:] == (0.0, 0.0)
    assert average_cost(1e9, 5.0, -1e9 + 1e-6, 6.0)[1:] == (0.0, 0.0)
    assert average_cost(1.0, 5.0, -1.0 + 1e-9, 6.0)[1] > 0


def test_targets_of_a_frame_need_all_names_or_the_number_of_the_symbols() -> None:
    data = bars_of(1, 2)
    index = data["S0"].index
    by_name = pd.DataFrame({"S1": 1.0, "S0": 2.0}, index)
    assert vectorised(data, by_name).positions.iloc[-1].tolist() == [2.0, 1.0]
    assert vectorised(data, by_name.assign(more=9.0)).positions.iloc[-1].tolist() == [2.0, 1.0]
    by_number = pd.DataFrame({0: 1.0, 1: 2.0}, index)
    assert vectorised(data, by_number).positions.iloc[-1].tolist() == [1.0, 2.0]
    for wrong in (by_name.rename(columns={"S0": "S9"}), by_number[[0]], pd.DataFrame({"S1": 1.0}, index)):
        with pytest.raises(InputError, match="targets have no column S0"):
            vectorised(data, wrong)
    one = {"S0": data["S0"]}
    assert vectorised(one, by_name[["S1"]]).positions.iloc[-1].tolist() == [1.0], "one column is that of one symbol"
    assert vectorised(one, by_name).positions.iloc[-1].tolist() == [2.0]
    with pytest.raises(InputError, match="targets have no column S0"):
        vectorised(one, by_name.rename(columns={"S0": "S9"}))
    with pytest.raises(InputError, match="targets contain an infinite number"):
        vectorised(one, [math.inf] * 24)


@pytest.mark.parametrize("kind", [pd.DataFrame, pd.Series, np.ndarray])
@pytest.mark.parametrize("many", [False, True])
def test_targets_and_bars_of_the_caller_stay_as_they_are(many: bool, kind: type) -> None:
    data = bars_of(4, 1)
    index = data["S0"].index
    column = np.array([math.nan, math.nan, *[0.5, -0.5] * 10, math.nan, 1.0])
    made = {pd.DataFrame: pd.DataFrame({"S0": column}, index), pd.Series: pd.Series(column, index), np.ndarray: column}
    targets: Any = made[kind]
    before, bars = targets.copy(), {name: part.copy() for name, part in data.items()}
    if many:
        vectorised_many(data, {"a": targets, "b": targets})
    else:
        vectorised(data, targets, sizing="equity").audit()
    np.testing.assert_array_equal(targets, before)
    pd.testing.assert_frame_equal(data["S0"], bars["S0"])


def test_targets_at_other_times_and_rates_that_are_none_are_refused() -> None:
    data = bars_of(1, 1)
    index = data["S0"].index
    moved = index.to_list()
    moved[3] += pd.Timedelta(minutes=1)
    with pytest.raises(
        InputError, match=r"row 3 of the targets is at 2026-01-01 04:31:00\+00:00, its bar at 2026-01-01"
    ):
        vectorised(data, pd.Series(1.0, pd.DatetimeIndex(moved)))
    with pytest.raises(InputError, match=r"targets have the shape \(23, 1\), but 24 bars of 1 symbols need \(24, 1\)"):
        vectorised(data, pd.Series(1.0, index[1:]))
    for wrong in (math.nan, math.inf):
        with pytest.raises(InputError, match="S0: a funding rate is not a number"):
            vectorised(data, [1.0] * 24, funding=pd.Series([0.1, wrong], index[:2]))
    data["S1"] = bars_of(1, 1)["S0"].set_axis(index + pd.Timedelta(minutes=1))
    with pytest.raises(InputError, match=r"S1 and S0 have different times\. Align them first"):
        vectorised(data, np.ones((24, 2)))
    for field in ("step", "funding"):
        with pytest.raises(InputError, match="S7"):
            vectorised(bars_of(1, 1), [1.0] * 24, **{field: {"S7": 0.1}})


@pytest.mark.parametrize("sizing", ["quantity", "notional", "equity"])
@pytest.mark.parametrize("measures", [None, ["sharpe", "max_drawdown"], ["total_return", "turnover"]])
def test_many_targets_have_the_measures_of_each_alone(sizing: Any, measures: list[str] | None) -> None:
    data, dice = bars_of(4, 2), np.random.default_rng(1)
    scale = {"quantity": 1.0, "notional": 100.0, "equity": 0.5}[sizing]
    targets = {name: dice.integers(-2, 3, (24, 2)) * scale for name in ("a", "b", ("c", 1))}
    funding = {name: rates_of(number) for number, name in enumerate(data)}
    options: dict[str, Any] = {
        "sizing": sizing, "capital": CAPITAL, "fee": FEE, "slippage": SLIPPAGE, "funding": funding, "step": {"S1": 0.1},
    }  # fmt: skip
    table = vectorised_many(data, targets, measures=measures, **options)
    assert list(table.index) == list(targets)
    assert (table.index.name, table.columns.name) == ("run", "measure")
    for key, wanted in targets.items():
        alone = vectorised(data, wanted, **options).measures()
        assert list(table.columns) == (measures or list(alone))
        for name in measures or ["sharpe", "profit", "fees", "funding", "hit_rate"]:
            assert table.loc[[key], name].iloc[0] == pytest.approx(alone[name], rel=1e-9, nan_ok=True), (key, name)
    with pytest.raises(InputError, match="sharp"):
        vectorised_many(data, targets, measures=["sharp"])


@pytest.mark.parametrize("sizing", ["equity", "notional"])
@pytest.mark.parametrize("rebalance", ["1D", 0.0, 0.02])
def test_constant_weights_are_rebalanced_as_a_loop_does(sizing: Any, rebalance: Any) -> None:
    """At a close beyond the band, or the first of a span, positions are traded to their targets at the next open."""
    data = {name: walk(seed, 120).assign(volume=1.0) for seed, name in enumerate("AB")}
    unit = CAPITAL if sizing == "notional" else 1.0
    run = vectorised(data, np.tile([0.6 * unit, 0.3 * unit], (120, 1)), sizing=sizing, rebalance=rebalance,
                     capital=CAPITAL, fee=FEE, funding=None)  # fmt: skip
    opens, closes = (np.column_stack([part[name] for part in data.values()]) for name in ("open", "close"))
    held, cash, traded, weights = np.zeros(2), CAPITAL, 0, np.array([0.6, 0.3])
    first = next(iter(data.values()))
    spans = (first.index + pd.Timedelta("1h")).floor(rebalance) if isinstance(rebalance, str) else None
    for row in range(119):
        equity = cash + held @ closes[row]
        base = equity if sizing == "equity" else CAPITAL
        apart = np.abs(held * closes[row] - weights * base)
        whole = equity if sizing == "equity" else weights * CAPITAL
        new_span = spans is not None and row > 0 and spans[row] != spans[row - 1]
        due = np.full(2, row == 0 or new_span) | ((apart > rebalance * whole) if spans is None else False)
        wanted = np.where(due, weights * base / closes[row], held)
        cash -= ((wanted - held) * opens[row + 1] + np.abs(wanted - held) * opens[row + 1] * FEE).sum()
        traded += int((wanted != held).sum())
        held = wanted
    assert len(run.fills) == traded > 2
    assert run.equity["equity"].iloc[-1] == pytest.approx(cash + held @ closes[-1])


def test_drift_is_shown_and_a_quantity_has_none() -> None:
    days = np.linspace(0, 1, 730)
    data = {
        name: pd.DataFrame(
            dict.fromkeys(("open", "high", "low", "close"), 100 * times**days),
            index=pd.date_range("2024-01-01", periods=730, freq="D", tz="UTC"),
        )
        for name, times in (("A", 3.5), ("B", 0.75))
    }
    weights = np.tile([0.6, 0.4], (730, 1))
    never, daily = (
        vectorised(data, weights, sizing="equity", rebalance=each, fee=0.0, funding=None) for each in (None, "1D")
    )
    assert (len(never.fills), never.settings["drift"]) == (2, pytest.approx(0.275, abs=0.001))
    shares = (never.positions * never.marks).iloc[-1] / never.equity["equity"].iloc[-1]
    assert shares.round(3).tolist() == [0.875, 0.125]
    assert daily.settings["drift"] < 0.002
    for options, words in (({"sizing": "quantity", "rebalance": "1D"}, "does not drift"),
                           ({"sizing": "equity", "rebalance": -0.1}, "a band of 0 or above")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            vectorised(data, weights, **options)  # type: ignore[arg-type]
