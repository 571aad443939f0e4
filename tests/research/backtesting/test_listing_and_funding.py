"""What a backtest lists, and the settlements that funding gives it, at their bounds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

import toolkit
from tests.research.backtesting.known_runs import AAA, BTC, whole_bars
from tests.research.markets import Scripted, bars, flat
from toolkit.errors import DataWarning, InputError
from toolkit.research import History, Results, Strategy, backtest, optimise, sweep, walk_forward
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
    for given in (series, naive, frame, named, frame.assign(symbol="BTCUSDT"), {BTC: series}, {BTC: frame}):
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
    seen: dict[str, list[tuple[float, float, int]]] = {"number": [], "series": []}
    times = pd.date_range("2026-01-01 02:00", periods=2, freq="2h", tz="UTC")
    for (_, found), given in zip(seen.items(), (0.0003, pd.Series([0.001, 0.002], times)), strict=True):

        def on_bar(ctx: Context, bar: Bar, found: Any = found) -> None:
            rates = ctx.funding(BTC)
            found.append((rates.rate, rates.predicted, (rates.next_time - 1_767_225_600_000) // HOUR))

        backtest(on_bar, {BTC: bars(*flat(60_000.0, 5), start="2026-01-01 00:00")}, funding=given)
    assert seen["number"] == [*[(0.0003, 0.0003, 4)] * 3, *[(0.0003, 0.0003, 8)] * 2], "one was settled at midnight"
    assert [row[2] for row in seen["series"]] == [2, 2, 4, 4, -1_767_225_600_000 // HOUR]
    assert [row[:2] for row in seen["series"]] == [(0, 0), (0, 0), (0.001, 0.001), (0.001, 0.001), (0.002, 0.002)]
    for nothing, what in ((None, "no funding"), ("interest", "the interest as a constant rate")):
        with pytest.raises(InputError, match=f"no funding rates of BTCUSDC: this run settles {what}"):
            backtest(on_bar, {BTC: bars(*flat(60_000.0, 5))}, funding=nothing)


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


START = pd.Timestamp("2026-01-01", tz="UTC")


def settled(times: Any, values: Any, hours: int = 24, **columns: Any) -> tuple[list[int], list[float]]:
    """Return hours since the start and rates of the settlements of a frame of rates within some hours of bars."""
    part = read_bars({BTC: bars(*flat(60_000.0, hours), start="2026-01-01 00:00")})[BTC]
    frame = pd.DataFrame({"time": times, **({} if columns.pop("bare", 0) else {"rate": values}), **columns})
    at, rates = settlement_rates(BTC, part, frame, 8 * HOUR)
    return [(int(each) - int(START.timestamp() * 1_000)) // HOUR for each in at], rates


EVERY = pd.date_range(START, periods=3, freq="8h")


def test_rates_that_are_stamped_late_belong_to_their_settlement() -> None:
    """Of positions held only before or only after each settlement, those before it pay, however late the stamp is."""
    for late in ("0ms", "1ms", "19ms", "59s"):
        assert settled(EVERY + pd.Timedelta(late), [0.001, 0.002, 0.003]) == ([0, 8, 16], [0.001, 0.002, 0.003])
    late = pd.Series([0.001, 0.002], EVERY[1:] + pd.Timedelta("12ms"))
    for enter, leave, paid in ((6, 8, 0), (7, 9, 1), (8, 9, 0)):
        script = {enter - 1: lambda ctx: ctx.sell(BTC, "0.1"), leave - 1: lambda ctx: ctx.buy(BTC, "0.1")}
        run = backtest(Scripted(script), {BTC: bars(*flat(60_000.0, 12), start="2026-01-01 00:00")}, funding=late)
        assert (enter, len(run.funding)) == (enter, paid + (enter == 6))


def test_repeats_count_once_and_two_rates_of_a_settlement_are_refused() -> None:
    twice = [*EVERY, *(EVERY[1:] + pd.Timedelta("3ms"))]
    with pytest.warns(DataWarning, match="2 funding rates occur twice"):
        assert settled(twice, [0.001, 0.002, 0.003, 0.002, 0.003]) == ([0, 8, 16], [0.001, 0.002, 0.003])
    with pytest.raises(InputError, match=r"the settlement of 2026-01-01 08:00 has two rates, 0\.002 and 0\.004"):
        settled(twice, [0.001, 0.002, 0.003, 0.004, 0.003])


@pytest.mark.parametrize(
    ("symbol", "taken"),
    [("BTCUSDC", True), ("BTCUSDT", True), ("BTC-PERP", True), ("BTC/USDT:USDT", True), ("ETHUSDC", False)],
)
def test_rates_of_another_product_are_refused(symbol: str, taken: bool) -> None:
    if taken:
        assert settled(EVERY, [0.1, 0.2, 0.3], symbol=symbol)[1] == [0.1, 0.2, 0.3]
    else:
        with pytest.raises(InputError, match=r"rates are those of ETHUSDC, but the data is BTCUSDC"):
            settled(EVERY, [0.1, 0.2, 0.3], symbol=symbol)
    both = [*EVERY, *EVERY]
    assert settled(both, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], symbol=[BTC] * 3 + ["ETHUSDC"] * 3)[1] == [0.1, 0.2, 0.3]


def test_missing_settlements_are_named_and_rates_without_times_refused() -> None:
    days = pd.date_range(START, periods=15, freq="8h")
    gone = days.delete([4, 5, 6])
    with pytest.warns(DataWarning, match="3 funding settlements have no rate, most of them after 2026-01-02 00:00"):
        assert len(settled(gone, [0.001] * 12, hours=120)[0]) == 12
    with pytest.warns(DataWarning, match="none of 3 funding rates is within the data"):
        settled(EVERY + pd.Timedelta("30D"), [0.1] * 3)
    with pytest.raises(InputError, match=r"BTCUSDC: funding, row 1: expected a time from 1990 .* not '0'"):
        held("BUY", funding=pd.Series([0.001, 0.002]))
    assert settled(EVERY, None, bare=1, funding_rate=[0.1, 0.2, 0.3])[1] == [0.1, 0.2, 0.3], "as the venue names it"


class Carries(Strategy):
    share = 0.5

    def on_bar(self, ctx: Context, bar: Bar) -> None:
        ctx.target_share(bar.symbol, self.share if ctx.funding(bar.symbol).rate < 0 else -self.share, tolerance=0.1)


def test_a_history_of_a_session_carries_its_funding_into_every_kind_of_run() -> None:
    with toolkit.connect(clock="manual") as session:
        history = session.history(["BTCUSDC", "ETHUSDC"], "1h", "3d")
        table = session.info.funding_rate_history("BTCUSDC", start="3d")
    assert list(history) == list(history.funding) == list(history.products) == ["BTCUSDC", "ETHUSDC"]
    assert history["BTCUSDC"].index[0] == history.mark.index[0] == history.index.index[0]
    one = backtest(Carries, history)
    assert set(one.funding["rate"]) <= set(table["funding_rate"]) | set(history.funding["ETHUSDC"]["funding_rate"])
    assert len(one.funding)
    assert one.rerun().funding.equals(one.funding)
    plain = backtest(Carries, history.candles, funding=history.funding, products=history.products)
    assert plain.equity.equals(one.equity)
    found = sweep(Carries, {"share": [0.2, 0.5]}, history, workers=0, progress=False)
    assert found["funding"].iloc[1] == pytest.approx(one.funding["payment"].sum())
    assert optimise(Carries, {"share": [0.5]}, history, workers=0, progress=False).run.equity.equals(one.equity)
    walked = walk_forward(Carries, {"share": [0.5]}, history, train="1D", test="1D", workers=0, progress=False)
    assert [len(run.funding) > 0 for run in walked.runs] == [True, True]
    changed = History(history.candles, {"BTCUSDC": pd.Series([0.001], [history["BTCUSDC"].index[8]])})
    assert "of ETHUSDC" in sweep(Carries, {"share": [0.5]}, changed, workers=0, progress=False)["error"].item()
    with pytest.raises(InputError, match="XRPUSDC"):
        History(history.candles, {"XRPUSDC": table})
