"""The chart: earlier candles, other intervals and indicators, prices of settlements, and the account's lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import toolkit
from tests.widgets.conftest import passes
from toolkit.errors import InputError
from toolkit.session import Session
from toolkit.venue.local import LocalVenue
from toolkit.widgets import Candles
from toolkit.widgets.base_panel.panel import REFRESHER
from toolkit.widgets.panels import candle_chart

BTC, ETH = "BTCUSDC", "ETHUSDC"
START_S = 1_767_225_600  # 2026-01-01


@pytest.fixture(scope="module")
def past() -> Iterator[Session]:
    """A session at a venue whose market has a past, ten minutes after its start."""
    with LocalVenue(clock="manual", start="2026-01-01T00:00:00Z") as venue, toolkit.connect(venue=venue) as made:
        venue.advance("10m")
        yield made


def rows(chart: Candles) -> list[Any]:
    return [*chart.history["rows"], *chart.view["rows"]]


def study(chart: Candles, name: str) -> list[Any]:
    return [*chart.history["studies"][name], *chart.view["studies"][name]]


def prices(chart: Candles) -> dict[int, tuple[Any, Any]]:
    """Mark and index price of each candle, by its start."""
    mark, index = ([*chart.history["prices"][one], *chart.view["prices"][one]] for one in ("mark", "index"))
    return {row[0]: pair for row, pair in zip(rows(chart), zip(mark, index, strict=True), strict=True)}


def candles(session: Session, interval: str, count: int) -> list[Any]:
    """The same candles, read apart from the chart."""
    frame = session.klines(BTC, interval, limit=count)
    names = ["open", "high", "low", "close", "volume"]
    return [[int(at.timestamp()), *map(float, row)] for at, *row in frame[names].itertuples()]


def test_earlier_candles_join_those_that_are_shown_without_a_gap_up_to_20_000(past: Session) -> None:
    chart = Candles(past, BTC, indicators=["SMA 2"])
    assert rows(chart) == candles(past, "1m", 500)
    assert (len(chart.view["rows"]), chart.history["complete"]) == (1, False)
    assert chart.older() == 500
    known = candles(past, "1m", 1000)
    assert rows(chart) == known
    means = [(before[4] + row[4]) / 2 for before, row in itertools.pairwise(known)]
    assert study(chart, "SMA 2") == [None, *map(pytest.approx, means)]
    for count, earlier in ((20_000, 0), (19_999, 500)):
        chart._data.rows = known[:1] * count
        assert (chart.older(), chart.history["complete"]) == (earlier, False)


def test_at_the_first_candle_the_history_is_complete_and_is_not_read_again(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        thin.buy(BTC, "0.01")
        passes(thin, "1m")
    chart = Candles(thin, BTC)
    assert ([row[0] - START_S for row in rows(chart)], chart.history["complete"]) == ([0, 60, 120], False)
    assert (chart.older(), chart.history["complete"]) == (0, True)
    monkeypatch.setattr(type(thin), "klines", lambda *_, **__: 1 / 0)
    assert chart.older() == 0


def test_another_interval_shows_the_candles_of_its_length_and_an_unknown_one_changes_nothing(past: Session) -> None:
    chart = Candles(past, BTC)
    assert (chart.view["interval"], chart.view["window"]) == ("1m", "2 h")
    before = chart.live
    chart.interval = "5m"
    assert (before.state, chart.live.stale) == ("closed", False)
    assert (chart.view["interval"], chart.history["interval"]) == ("5m", "5m")
    assert chart.view["window"] == f"{round(len(chart.frame()) * 5 / 60)} h"
    assert rows(chart) == candles(past, "5m", 500)
    assert chart.frame().equals(past.stream.candles(BTC, "5m").frame())
    shown = rows(chart)
    chart.interval = "7m"
    assert chart.problem.startswith("interval '7m' is not one of 1m, 3m, 5m")
    chart.refresh()
    assert (chart.interval, chart.view["interval"], rows(chart)) == ("5m", "5m", shown)
    assert not chart.live.stale
    with pytest.raises(InputError, match="interval '7m' is not one of"):
        Candles(past, BTC, "7m")


def test_other_indicators_are_computed_at_once_and_an_unknown_one_changes_nothing(past: Session) -> None:
    chart = Candles(past, BTC)
    assert chart.view["studies"] == chart.history["studies"] == {}
    for wanted in (["Highest 3"], ["Highest 3", "Lowest 500"]):
        chart.indicators = wanted
        assert list(chart.view["studies"]) == list(chart.history["studies"]) == wanted
        closes = [row[4] for row in rows(chart)]
        highest = [max(closes[at - 2 : at + 1]) for at in range(2, len(closes))]
        assert study(chart, "Highest 3") == [None, None, *highest]
    chart.indicators = ["WMA 3"]
    assert chart.problem.startswith("indicator 'WMA 3' is not known")
    assert list(chart.view["studies"]) == chart.indicators == ["Highest 3", "Lowest 500"]


@pytest.mark.parametrize("interval", ["1h", "4h", "30m"])
def test_candles_from_1_h_on_have_the_prices_of_the_settlements_at_their_ends(
    past: Session, interval: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    starts, read = [], past.info.funding_rate_history

    def noted(symbol: str, *, start: Any, **named: Any) -> Any:
        starts.append(start if isinstance(start, int) else int(start.timestamp()))
        return read(symbol, start=start, **named)

    monkeypatch.setattr(past.info, "funding_rate_history", noted, raising=False)
    chart = Candles(past, BTC, interval)
    first = rows(chart)[0][0]
    chart.older()
    monkeypatch.undo()
    assert starts == ([] if interval == "30m" else [first, rows(chart)[0][0]]), "no settlement is read twice"
    assert capsys.readouterr() == ("", ""), "no bar of the reads"
    found = prices(chart)
    *settled, latest = sorted(found)
    assert found[latest][0] is not None, "the mark price of now"
    known = {}
    if interval != "30m":
        length_s = int(interval[0]) * 3600
        frame = past.info.funding_rate_history(BTC, start=settled[0] * 1000, progress=False).reset_index()
        known = {
            int(at.timestamp()) - length_s: (mark, index)
            for at, mark, index in zip(frame["time"], frame["mark_price"], frame["oracle_price"], strict=True)
        }
        assert len(known) > 200
    assert {at: found[at] for at in settled if found[at] != (None, None)} == {
        at: pair for at, pair in known.items() if settled[0] <= at <= settled[-1]
    }


def test_candles_that_have_closed_are_counted_to_the_history_after_so_many(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candle_chart, "FOLD", 3)
    thin.buy(BTC, "0.01")
    passes(thin, "1s")
    chart = Candles(thin, BTC, indicators=["SMA 2"])
    counts = []
    for number in range(1, 8):
        counts.append((len(chart.history["rows"]), len(chart.view["rows"])))
        passes(thin, "1m")
        thin.venue.control.set_oracle(BTC, str(60_000 + number))  # type: ignore[union-attr]
        thin.buy(BTC, "0.01")
        passes(thin, "1s")
        chart.refresh()
    assert counts == [(0, 1), (0, 2), (0, 3), (3, 1), (3, 2), (3, 3), (6, 1)]
    assert [row[0] - START_S for row in rows(chart)] == list(range(0, 480, 60))
    assert study(chart, "SMA 2") == [None, *[60_010.0] * 7]
    assert [index for _, index in prices(chart).values()] == [60_000.0 + number for number in range(8)]


def test_a_chart_that_has_rested_has_the_candles_of_that_time(thin: Session) -> None:
    thin.buy(BTC, "0.01")
    chart = Candles(thin, BTC, indicators=["SMA 2"])
    REFRESHER.remove(chart)  # as after its last view
    for _ in range(9):
        passes(thin, "1m")
        thin.buy(BTC, "0.01")
    passes(thin, "1s")
    chart.refresh()
    assert [row[0] - START_S for row in rows(chart)] == list(range(0, 600, 60))
    assert study(chart, "SMA 2") == [None, *[60_010.0] * 9]


def test_only_orders_and_the_latest_fills_of_the_product_are_drawn(
    thin: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candle_chart, "FILLS", 2)
    for symbol, price in ((BTC, "59000"), (ETH, "2900")):
        for _ in range(3):
            thin.buy(symbol, "0.1")
        thin.buy(symbol, "0.1", price=price)
    thin.sell(BTC, "0.2")
    passes(thin, "1s")
    chart = Candles(thin, ETH)
    assert [one["kind"] for one in chart.view["lines"]] == ["order", "entry"]
    assert [one["shown"] for one in chart.view["lines"]] == ["2,900.00", "3,001.00"]
    assert [one[3] for one in chart.view["fills"]] == ["▲ buy 0.1 at 3,001.00"] * 2
    assert [one[3] for one in Candles(thin, BTC).view["fills"]] == [
        "▲ buy 0.1 at 60,010.0", "▼ sell 0.2 at 59,990.0",
    ]  # fmt: skip


@pytest.mark.parametrize("interval", ["1m", "1h"])
def test_a_chart_without_candles_is_empty_and_its_orders_buy(thin: Session, interval: str) -> None:
    chart = Candles(thin, BTC, interval)
    shown = [chart.view[name] for name in ("rows", "last", "change", "window", "lines", "fills")]
    assert shown == [[], "–", "", "0 min", [], []]
    assert repr(chart) == f"<Candles BTCUSDC {interval}: no candles yet>"
    assert "no candles yet" in chart.snapshot()
    assert chart.problem == ""
    assert chart.place("70000", "0.1").payload["orders"][0]["ordSide"] == "BUY"


def test_a_snapshot_has_the_last_six_candles_newest_first(thin: Session) -> None:
    for _ in range(7):
        thin.buy(BTC, "0.01")
        passes(thin, "1m")
    html = Candles(thin, BTC).snapshot()
    times = [html.find(f"01-01 00:{minute:02}") for minute in range(7)]
    assert times[0] == -1
    assert times[1:] == sorted(times[1:], reverse=True)
    assert times[-1] > 0
    assert "BTCUSDC 1m</b> <span" in html
    assert ">60,010.0 0.00 % in 7 min<" in html
