"""What a backtest lists, and the settlements that funding gives it, at their bounds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from tests.research.backtesting.known_runs import AAA, BTC, whole_bars
from tests.research.markets import bars, flat
from toolkit.errors import InputError
from toolkit.research import Results, backtest
from toolkit.research.backtesting import listing
from toolkit.research.backtesting.funding_schedule import constant_rate, settlement_rates
from toolkit.research.context import Context
from toolkit.research.data.bars import read_bars
from toolkit.research.market_data import Bar

HOUR = 3_600_000


def held(side: str, hours: int = 30, start: str = "2026-01-01 01:00", every: str = "h", **options: Any) -> Results:
    """Return a run that holds 0.1 BTC from the second bar on, long or short."""

    def on_bar(ctx: Context, bar: Bar) -> None:
        if ctx.bars().length == 1:
            (ctx.buy if side == "BUY" else ctx.sell)(BTC, "0.1")

    return backtest(on_bar, {BTC: bars(*flat(60_000.0, hours), start=start, every=every)}, fees=("0", "0"), **options)


@pytest.mark.parametrize("side", ["BUY", "SELL"])
@pytest.mark.parametrize("interval", [3_600, 14_400, 28_800])
@pytest.mark.parametrize("rate", [0.0, 0.0001, 0.00000001, 0.00123456, -0.0001, -0.00000001, -0.002, 0.02, -0.02])
def test_a_rate_is_settled_as_given_at_each_interval(side: str, interval: int, rate: float) -> None:
    """Longs pay a positive rate of 6,000 USDC; at multiples of the interval since 1970, whatever the formula is."""
    run = held(side, funding=rate, products={BTC: {"funding_interval": interval}})
    hours = [hour for hour in range(3, 31) if rate and hour * 3_600 % interval == 0]
    assert run.funding["rate"].tolist() == pytest.approx([rate] * len(hours), abs=1e-12)
    assert run.funding["time"].tolist() == [pd.Timestamp("2026-01-01", tz="UTC") + pd.Timedelta(hours=h) for h in hours]
    sign = 1 if side == "BUY" else -1
    assert run.funding["payment"].tolist() == pytest.approx([-sign * 6_000 * rate] * len(hours), abs=1e-6)
    assert run.funding["position"].tolist() == [0.1 * sign] * len(hours)


def test_interest_is_the_rate_of_the_venue_at_no_premium() -> None:
    """0.01 % for eight hours, in proportion for others."""
    assert [constant_rate("X", "interest", hours) for hours in (8, 4, 1)] == [0.0001, 0.00005, 0.0000125]
    assert constant_rate("X", 0.5, 1) == 0.5
    assert constant_rate("X", "0.25", 1) == 0.25
    for wrong in ("much", "nan", float("inf"), object()):
        with pytest.raises(InputError, match=r"X: funding .* is not a rate\. Give \"interest\", a number"):
            constant_rate("X", wrong, 1)


@pytest.mark.parametrize("rate", [0.02000001, -0.02000001])
def test_a_rate_beyond_the_cap_is_refused(rate: float) -> None:
    with pytest.raises(InputError, match=f"BTCUSDC: funding rate {rate} is beyond the cap"):
        held("BUY", funding=rate)


def test_rates_of_a_frame_a_series_or_by_symbol_are_those_within_the_bars() -> None:
    times = pd.to_datetime(["2026-01-01 00:59", "2026-01-01 01:00", "2026-01-01 05:30", "2026-01-01 07:00"], utc=True)
    series = pd.Series([0.001, 0.002, -0.003, 0.004], times)
    frame = pd.DataFrame({"time": times, "rate": series.to_numpy()})
    named = pd.concat([frame.assign(symbol=BTC), frame.assign(symbol="OTHER", rate=0.5)])
    found = read_bars({BTC: bars(*flat(60_000.0, 6), start="2026-01-01 01:00")})[BTC]
    inside = [int(time.timestamp()) * 1_000 for time in times[1:3]]
    naive = series.tz_localize(None)
    for given in (series, naive, frame, named, frame.assign(symbol="OTHER"), {BTC: series}, {BTC: frame}):
        at, rates = settlement_rates(BTC, found, given, HOUR)
        assert (at.tolist(), rates) == (inside, [0.002, -0.003])
    for nothing in (None, {}, {"OTHER": series}):
        at, rates = settlement_rates(BTC, found, nothing, HOUR)
        assert (at.tolist(), rates, str(at.dtype)) == ([], [], "int64")
    for start, first in (("2026-01-01 00:00", 0), ("2026-01-01 00:01", 4), ("2026-01-01 04:00", 4)):
        part = read_bars({BTC: bars(*flat(60_000.0, 8), start=start)})[BTC]
        at, rates = settlement_rates(BTC, part, 0.01, 4 * HOUR)
        begin = int(pd.Timestamp("2026-01-01", tz="UTC").timestamp()) * 1_000
        last = int(part.closed[-1])
        assert at.tolist() == [begin + hour * HOUR for hour in range(first, 16, 4) if begin + hour * HOUR < last]
        assert rates == [0.01] * len(at)
    for wrong, text in ((frame.drop(columns="rate"), "it has no rate"), (frame[[]], "it has no time, rate")):
        with pytest.raises(InputError, match=f"needs the columns time and rate, but {text}"):
            settlement_rates(BTC, found, wrong, HOUR)
    run = held("BUY", 6, funding=frame)
    assert run.funding["rate"].tolist() == [-0.003]
    with pytest.raises(InputError, match="XRPUSDC"):
        held("BUY", funding={"XRPUSDC": 0.1})


def test_a_strategy_sees_the_rates_that_are_known_beforehand() -> None:
    seen: dict[str, list[tuple[float, float, int]]] = {"number": [], "series": [], "none": []}
    times = pd.date_range("2026-01-01 02:00", periods=2, freq="2h", tz="UTC")
    for (_, found), given in zip(seen.items(), (0.0003, pd.Series([0.001, 0.002], times), None), strict=True):

        def on_bar(ctx: Context, bar: Bar, found: Any = found) -> None:
            rates = ctx.funding(BTC)
            found.append((rates.rate, rates.predicted, (rates.next_time - 1_767_225_600_000) // HOUR))

        backtest(on_bar, {BTC: bars(*flat(60_000.0, 5), start="2026-01-01 00:00")}, funding=given)
    assert seen["number"] == [*[(0.0003, 0.0003, 4)] * 3, *[(0.0003, 0.0003, 8)] * 2], "one was settled at midnight"
    assert [row[2] for row in seen["series"]] == [2, 2, 4, 4, -1_767_225_600_000 // HOUR]
    assert [row[:2] for row in seen["series"]] == [(0, 0), (0, 0), (0.001, 0.001), (0.001, 0.001), (0.002, 0.002)]
    assert {row[:2] for row in seen["none"]} == {(0.0, 0.0)}


@pytest.mark.parametrize(
    ("price", "tick", "step", "digits"),
    [(20.25, "0.01", "0.001", 3), (20.0, "1", "0.001", 3), (0.00012, "0.00001", "0.1", 1), (1234.5, "0.1", "0.001", 3)],
)
def test_a_symbol_that_is_not_listed_gets_the_tick_of_its_prices_and_an_exact_step(
    price: float, tick: str, step: str, digits: int
) -> None:
    """A tick times a step is a whole number of micro-USDC."""
    data = read_bars({BTC: bars(*flat(60_000.0, 2)), "NEW": bars(*flat(price, 2)), "NEXT": bars(*flat(price, 2))})
    rows, tables = listing.listings(data, None)
    assert [row["symbol"] for row in rows] == [BTC, "NEW", "NEXT"]
    listed, new, following = rows
    assert (new["tickSize"], new["stepSize"], new["qtyPrecision"]) == (tick, step, digits)
    assert Decimal(tick) * Decimal(step) % Decimal("0.000001") == 0
    assert new["pricePrecision"] == max(0, -int(Decimal(tick).as_tuple().exponent))
    assert (new["code"], following["code"]) == ("102", "103")
    assert (new["name"], new["baseCurrency"]) == ("NEW", "NEW")
    assert (new["maxOrderQty"], new["maxPositionNtnl"]) == ("1000000000", "100000000")
    for name in ("defaultMakerFeeRate", "defaultTakerFeeRate", "maxLeverage", "fundingInterval"):
        assert new[name] == listed[name]
    assert listing.listings(data, {}) == (rows, tables)


def test_fields_of_a_product_are_changed_and_read_back_as_they_were_given() -> None:
    given = {
        "tick_size": "0.05", "step_size": "0.5", "min_order_value": "7", "max_order_quantity": "900",
        "max_position_notional": "50000", "max_leverage": "8", "max_slippage_pct": "4", "maker_fee_rate": "-0.0001",
        "taker_fee_rate": "0.0009", "funding_interval": 3_600,
    }  # fmt: skip
    data = {AAA: whole_bars(1, 5, 2_000, per=100), BTC: whole_bars(1, 5, 600_000)}
    run = backtest(lambda ctx, bar: None, data, products={AAA: given})
    shown = run.settings["products"][AAA]
    assert {name: Decimal(value) for name, value in shown.items()} == {n: Decimal(value) for n, value in given.items()}
    usual = backtest(lambda ctx, bar: None, data).settings["products"]
    assert run.settings["products"][BTC] == usual[BTC]
    product = backtest(lambda ctx, bar: ctx.stop(), data)
    assert product.settings["products"] == usual
    with pytest.raises(InputError, match=r"products\['AAA'\] has 'tick'"):
        backtest(lambda ctx, bar: None, data, products={AAA: {"tick": 1}})
    seen = []
    backtest(lambda ctx, bar: seen.append(ctx.product(AAA)), data, products={AAA: given})
    again = backtest(lambda ctx, bar: None, data, products={AAA: seen[0]})
    assert again.settings["products"][AAA] == run.settings["products"][AAA]
    with pytest.raises(InputError, match=r"AAA: a price is below one tick of 100\. Give the product a smaller"):
        backtest(lambda ctx, bar: None, data, products={AAA: {"tick_size": "100", "step_size": "1"}})
    whole_ticks = backtest(lambda ctx, bar: None, data, products={AAA: {"tick_size": "20", "step_size": "1"}})
    assert whole_ticks.settings["products"][AAA]["tick_size"] == "20", "prices of about one tick pass"


HIGHEST = 0.025
"""The maintenance rate of the last tier of BTCUSDC, whose margins a symbol that is not listed has."""


def wakes(side: str, price: int, size: str, leverage: int) -> tuple[Any, float, Any]:
    """Return the state of a symbol while a position is open, its liquidation price and its position."""
    seen: list[Any] = []

    def on_bar(ctx: Context, bar: Bar) -> None:
        broker: Any = ctx._broker  # type: ignore[attr-defined]
        if ctx.bars().length == 1:
            (ctx.buy if side == "BUY" else ctx.sell)(AAA, size)
        elif ctx.bars().length == 3:
            broker.update_wake_prices()
            state = broker.states[AAA]
            bounds = state.wake_low, state.wake_high, state.floor_price, state.ceiling_price, state.tick
            seen.append((bounds, ctx.liquidation_price(AAA), broker.account))

    backtest(on_bar, {AAA: bars(*flat(price, 4))}, capital=1_000, leverage=leverage, funding=None, fees=("0", "0"))
    return seen[0]


@pytest.mark.parametrize(("size", "leverage"), [("30", 5), ("90", 10), ("150", 20)])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_position_wakes_the_run_before_it_can_be_liquidated(side: str, size: str, leverage: int) -> None:
    """Equity 1,000 ± size · (P − 100) is 2.5 % of size · P, the rate of the last tier, at P; two ticks before it."""
    bounds, liquidated, account = wakes(side, 100, size, leverage)
    low, high, floor, ceiling, tick = bounds
    (position,) = (one for one in account.positions.values() if one.long.size or one.short.size)
    assert (position.long.size > 0) is (side == "BUY")
    if side == "BUY":
        exact = (float(size) * 100 - 1_000) / (float(size) * (1 - HIGHEST)) / tick
        assert low == int(exact // 1) + 2
        assert high == 1 << 62
        assert low * tick > liquidated
        assert (floor, ceiling) == (pytest.approx((low + 0.51) * tick), float("inf"))
    else:
        exact = (float(size) * 100 + 1_000) / (float(size) * (1 + HIGHEST)) / tick
        assert high == int(exact // 1) - 2
        assert low == -1
        assert high * tick < liquidated
        assert (floor, ceiling) == (pytest.approx((low + 0.51) * tick), pytest.approx((high - 0.51) * tick))
