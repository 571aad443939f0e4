"""Figures show the data of their frames, in colours that can be told apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib import colors, dates, pyplot
from matplotlib.collections import LineCollection, PolyCollection

from toolkit import plots
from toolkit.client.reads import frames
from toolkit.errors import InputError
from toolkit.protocol.reads.info_queries import ENDPOINTS


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")
    plots.use("light")


def klines(count: int = 5) -> pd.DataFrame:
    rows = [
        {
            "symbolName": "BTCUSDC",
            "timestamp": 1767225600 + 3600 * at,
            "intrvl": 3600,
            "open": str(100 + at),
            "high": str(104 + at),
            "low": str(98 + at),
            "close": str(100 + at + (1 if at % 2 else -1)),
            "volume": str(10 + at),
            "turnover": "1000",
            "tradeCount": 3,
        }
        for at in range(count)
    ]
    return frames.from_rows(ENDPOINTS["klines"].record, rows)


@pytest.mark.parametrize("as_index", [False, True])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_candles_show_every_price_and_volume(as_index: bool, theme: str) -> None:
    frame = klines()
    upper, lower = plots.candles(frame.set_index("time") if as_index else frame, theme=theme)
    bodies = [path for group in upper.collections if isinstance(group, PolyCollection) for path in group.get_paths()]
    spans = sorted((path.vertices[:, 1].min(), path.vertices[:, 1].max()) for path in bodies)
    wanted = sorted(zip(frame[["open", "close"]].min(axis=1), frame[["open", "close"]].max(axis=1), strict=True))
    assert spans == wanted
    wicks = [line for group in upper.collections if isinstance(group, LineCollection) for line in group.get_segments()]
    assert {line[:, 1].max() for line in wicks} >= set(frame["high"])
    assert {line[:, 1].min() for line in wicks} >= set(frame["low"])
    assert [bar.get_height() for bar in lower.patches] == frame["volume"].tolist()
    assert upper.get_title(loc="left") == "BTCUSDC · 1h"
    assert (upper.get_ylabel(), lower.get_ylabel(), lower.get_xlabel()) == (
        "price (USDC)",
        "volume (BTC)",
        "time (UTC)",
    )
    first = dates.num2date(lower.patches[0].get_x())
    assert abs(first - pd.Timestamp("2026-01-01T00:00Z")) < pd.Timedelta("30min")


def test_rising_and_falling_candles_differ_in_form_and_colour() -> None:
    axes = plots.candles(klines(), volume=False)
    rising, falling = (group for group in axes.collections if isinstance(group, PolyCollection))
    assert colors.to_hex(rising.get_edgecolor()[0]) == plots.LIGHT.up.lower()
    assert colors.to_hex(falling.get_facecolor()[0]) == plots.LIGHT.down.lower()
    assert colors.to_hex(rising.get_facecolor()[0]) == plots.LIGHT.paper


def test_colours_are_configurable_and_east_asian_ones_at_hand() -> None:
    theme = plots.DARK.with_colours(down="#123456")
    axes = plots.candles(klines(), volume=False, theme=theme)
    falling = [group for group in axes.collections if isinstance(group, PolyCollection)][1]
    assert colors.to_hex(falling.get_facecolor()[0]) == "#123456"
    assert plots.use("east-asian").up == plots.LIGHT.down
    rising = plots.candles(klines(), volume=False).collections[1]
    assert colors.to_hex(rising.get_edgecolor()[0]) == plots.LIGHT.down.lower()
    with pytest.raises(ValueError, match=r"theme 'pink' is not known\. Use one of light, dark"):
        plots.use("pink")


def test_candles_draw_on_axes_that_are_given() -> None:
    _, axes = pyplot.subplots()
    assert plots.candles(klines(), ax=axes, title="mine") is axes
    assert axes.get_title(loc="left") == "mine"


def test_depth_adds_quantities_up_from_the_middle() -> None:
    book = pd.DataFrame(
        {"side": ["ASK", "BID", "BID", "ASK"], "price": [101, 99, 98, 103], "quantity": ["1", "2", "3", "4"]}
    )
    axes = plots.depth(book)
    bids, asks = axes.lines[0], axes.lines[1]
    assert (list(bids.get_xdata()), list(bids.get_ydata())) == ([99, 99, 98], [0, 2, 5])
    assert (list(asks.get_xdata()), list(asks.get_ydata())) == ([101, 101, 103], [0, 1, 5])
    assert axes.get_xlabel() == "price (USDC)"
    assert any("mid 100" in text.get_text() for text in axes.texts)


def test_equity_shows_its_drawdown_in_per_cent() -> None:
    index = pd.date_range("2026-01-01", periods=4, freq="h", tz="UTC", name="time")
    curve = pd.Series([100.0, 110.0, 99.0, 121.0], index=index)
    for given in (curve, curve.rename("equity").to_frame(), curve.rename("balance").reset_index()):
        upper, lower = plots.equity(given)
        assert list(upper.lines[0].get_ydata()) == curve.tolist()
        assert np.allclose(lower.lines[0].get_ydata(), [0, 0, -10, 0])
        assert (upper.get_ylabel(), lower.get_ylabel()) == ("equity (USDC)", "drawdown (%)")
    with pytest.raises(ValueError, match="no column equity or balance"):
        plots.equity(klines())


def test_funding_shows_rates_in_per_cent_and_payments_in_usdc() -> None:
    rates = frames.from_rows(
        ENDPOINTS["funding_rate_history"].record,
        [{"fundingTime": 1767225600000 + 14_400_000 * at, "fundingRate": "0.0001", "symbol": 1} for at in range(3)],
        symbols={1: "BTCUSDC"},
    )
    upper, lower = plots.funding(rates)
    assert np.allclose([bar.get_height() for bar in upper.patches], 0.01)
    assert np.allclose(lower.lines[0].get_ydata(), [0.01, 0.02, 0.03])
    assert upper.get_title(loc="left") == "Funding rate · BTCUSDC"
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("funding (% an interval)", "sum so far (%)")
    paid = frames.from_rows(
        ENDPOINTS["funding_payments"].record,
        [{"fundingTime": 1767225600000 + 14_400_000 * at, "fundingFee": str(-at)} for at in range(3)],
    )
    upper, lower = plots.funding(paid)
    assert [bar.get_height() for bar in upper.patches] == [0, -1, -2]
    assert list(lower.lines[0].get_ydata()) == [0, -1, -3]
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("funding (USDC, negative is paid)", "sum so far (USDC)")
    alone = pyplot.figure().subplots()
    assert plots.funding(paid, ax=alone) is alone
    loaded = pd.DataFrame({"time": pd.to_datetime(["2026-01-01", "2026-01-02"], utc=True), "rate": [0.0001, -0.0002]})
    assert np.allclose(plots.funding(loaded)[1].lines[0].get_ydata(), [0.01, -0.01])


def test_positions_add_fills_up_by_product() -> None:
    times = pd.to_datetime(["2026-01-01T00:00Z", "2026-01-01T01:00Z", "2026-01-01T02:00Z"])
    fills = pd.DataFrame(
        {
            "time": times,
            "symbol": ["BTCUSDC", "ETHUSDC", "BTCUSDC"],
            "side": ["BUY", "SELL", "SELL_CLOSE_HEDGE"],
            "quantity": [0.3, 2.0, 0.1],
        }
    )
    axes = plots.positions(fills)
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert lines["BTCUSDC"] == [0.3, 0.3, 0.2]
    assert lines["ETHUSDC"] == [0, -2, -2]
    wide = pd.DataFrame({"BTCUSDC": [1.0, 2.0]}, index=times[:2])
    assert list(plots.positions(wide).lines[0].get_ydata()) == [1, 2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_empty_frames_draw_empty_axes(theme: str) -> None:
    empty = {name: frames.empty(endpoint.record) for name, endpoint in ENDPOINTS.items()}
    assert plots.candles(empty["klines"], theme=theme)
    assert plots.funding(empty["funding_payments"], theme=theme)
    assert plots.funding(empty["funding_rate_history"], theme=theme)
    assert plots.positions(empty["fills"], theme=theme)
    assert plots.equity(empty["ledger"], theme=theme)
    assert plots.depth(pd.DataFrame({"side": [], "price": [], "quantity": []}), theme=theme)
    pyplot.gcf().canvas.draw()


def test_tables_of_other_libraries_are_drawn_alike() -> None:
    index = pd.date_range("2026-01-01", periods=3, freq="h", tz="UTC", name="time")
    table = pa.Table.from_pandas(pd.DataFrame({"equity": [100.0, 99.0, 101.0]}, index=index).reset_index())
    assert list(plots.equity(table)[0].lines[0].get_ydata()) == [100, 99, 101]
    upper = plots.candles(pa.Table.from_pandas(klines(), preserve_index=False), volume=False)
    assert upper.get_title(loc="left") == plots.candles(klines(), volume=False).get_title(loc="left")
    book = pa.table({"side": ["BID", "ASK"], "price": [99.0, 101.0], "quantity": [1.0, 2.0]})
    assert list(plots.depth(book).lines[0].get_xdata()) == [99, 99]


def test_positions_of_the_present_are_refused_and_one_rate_is_no_wall() -> None:
    with pytest.raises(InputError, match=r"held has no times, as session\.positions\(\) has none"):
        plots.positions(pd.DataFrame({"size": [1.0], "entry_price": [2.0]}, index=["BTCUSDC"]))
    one = pd.DataFrame({"time": [pd.Timestamp("2026-01-01", tz="UTC")], "funding_rate": [0.0001]})
    axes, _ = plots.funding(one)
    width = axes.patches[1].get_width() if len(axes.patches) > 1 else axes.patches[0].get_width()
    assert width < 0.5 * np.ptp(axes.get_xlim())
