"""Days as a list of files: the same fills as of all events at once, with the memory of one file."""

from __future__ import annotations

import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.research.backtesting.events.recorded import MS, START, events_of, random_market
from toolkit.errors import InputError
from toolkit.research import Strategy, backtest, data
from toolkit.research.backtesting.events import event_broker
from toolkit.research.data.event_array import Kind
from toolkit.research.data.events import Events, merge

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "power": {"queue": "power:2", "latency": ("7ms", "13ms")},
    "log": {"queue": "log", "latency": ("0.3ms", "250ms"), "partial_fills": True},
    "feed": {"feed_latency": "40ms", "partial_fills": True, "latency": ("90ms", "10ms")},
    "impact": {"impact": "2s", "latency": ("20ms", "20ms")},
}

MORE_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 3)]


class Quotes(Strategy):
    """Quotes both sides at and behind the best price, stops its losses, and crosses now and then."""

    timer_ms = 170

    def on_start(self, ctx: Any) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.turn = 0

    def on_book(self, ctx: Any, book: Any) -> None:
        self.seen.append((ctx.now, book.bids[:3], book.asks[:3]))

    def on_trade(self, ctx: Any, trade: Any) -> None:
        self.seen.append((ctx.now, trade.side, trade.price, trade.quantity))

    def on_timer(self, ctx: Any) -> None:
        book, symbol = ctx.book(), ctx.symbols[0]
        self.turn += 1
        self.seen.append((ctx.now, round(ctx.position(symbol), 6), len(ctx.orders())))
        if not (book.bids and book.asks):
            return
        if self.turn % 9 == 0:
            for order in ctx.orders()[:2]:
                ctx.cancel(order)
        for side, best in (("BUY", book.bids[0][0]), ("SELL", book.asks[0][0])):
            if len(ctx.orders()) < 8:
                away = (self.turn % 3) * 0.1 * (-1 if side == "BUY" else 1)
                send = ctx.buy if side == "BUY" else ctx.sell
                send(symbol, "0.015", price=f"{best + away:.1f}", tif="POST_ONLY")
        if self.turn % 11 == 0:
            (ctx.sell if ctx.position(symbol) > 0 else ctx.buy)(symbol, "0.02")
        if self.turn == 5:
            ctx.sell(symbol, "0.02", trigger_price=f"{book.bids[0][0] - 0.5:.1f}")


def market(seed: int, *, feed_ms: float) -> Events:
    """Return 8 s of a market with marks and rates, whose feed takes a varying time."""
    base = random_market(seed)
    rng = np.random.default_rng(seed)
    marks = [
        (at * 700.0 + part, kind, 0, value, 0.0)
        for at in range(11)
        for part, kind, value in (
            (0, Kind.MARK, 60_000.0 + at / 10),
            (0.5, Kind.INDEX, 60_000.0),
            (1, Kind.FUNDING, 1e-4 * at),
        )
    ]
    array = np.concatenate([base.array, events_of(*marks).array])
    array = array[np.argsort(array["exchange_ns"], kind="stable")]
    array["local_ns"] = array["exchange_ns"] + np.round(rng.uniform(0, 2 * feed_ms, len(array)) * MS).astype("i8")
    array = array[np.argsort(array["local_ns"], kind="stable")]
    return Events(array, symbol="BTCUSDC", tick_size=base.tick_size, step_size=base.step_size)


def outcome(found: Any, seen: list[Any]) -> dict[str, str]:
    tables = {name: getattr(found, name) for name in ("fills", "orders", "events", "funding", "equity")}
    return {**{name: table.reset_index().to_csv() for name, table in tables.items()}, "seen": repr(seen)}


def run(given: Any, settings: dict[str, Any], strategy: type[Quotes] = Quotes) -> dict[str, str]:
    kept: list[Quotes] = []

    class Kept(strategy):  # type: ignore[misc, valid-type]
        def on_stop(self, ctx: Any) -> None:
            kept.append(self)

    found = backtest(Kept(), {"BTCUSDC": given}, **settings)
    return outcome(found, kept[0].seen)


@pytest.mark.parametrize("name", ["plain", "log", "impact"])
@pytest.mark.parametrize("feed_ms", [60])
@pytest.mark.parametrize("seed", [0, *MORE_SEEDS])
def test_files_one_after_another_are_the_events_at_once(name: str, feed_ms: float, seed: int) -> None:
    events = market(seed, feed_ms=feed_ms)
    whole = run(events, SETTINGS[name])
    assert whole["fills"].count("\n") > 5
    rng = np.random.default_rng(seed)
    cuts = sorted({0, len(events), *rng.integers(1, len(events), 4).tolist()})
    parts = [events[first:last] for first, last in itertools.pairwise(cuts)]
    assert run(parts, SETTINGS[name]) == whole
    if name == "plain":
        assert run(parts[::-1], SETTINGS[name]) == whole, "the order of the list decides nothing"


@pytest.mark.parametrize("name", ["power", "feed"])
@pytest.mark.parametrize("seed", [1, *MORE_SEEDS])
def test_how_far_ahead_fills_are_looked_for_changes_nothing(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, found = market(seed, feed_ms=30), []
    for ahead_ms in (0, 130, 60_000):
        monkeypatch.setattr(event_broker, "LOOK_AHEAD_NS", ahead_ms * MS)
        found.append(run(events, SETTINGS[name]))
    assert found[0]["fills"].count("\n") > 5
    assert found[0] == found[1] == found[2]


class Bars(Quotes):
    """Also takes bars, and reads a longer bar and an indicator of them."""

    def on_start(self, ctx: Any) -> None:
        super().on_start(ctx)
        self.mean = self.I(lambda closes: np.cumsum(closes) / np.arange(1, len(closes) + 1))

    def on_bar(self, ctx: Any, bar: Any) -> None:
        self.seen.append((ctx.now, bar, self.mean[-1], len(ctx.bars(interval="2s").close)))


@pytest.mark.parametrize("feed_latency", ["40ms"])
@pytest.mark.parametrize("seed", [0, *MORE_SEEDS])
def test_bars_of_files_are_those_of_the_events_at_once(seed: int, feed_latency: str | None) -> None:
    events = market(seed, feed_ms=30)
    settings = {"interval": "1s", "feed_latency": feed_latency}
    whole = run(events, settings, Bars)
    assert whole["seen"].count("Bar(") > 5
    cuts = sorted({0, len(events), *np.random.default_rng(seed).integers(1, len(events), 4).tolist()})
    assert run([events[first:last] for first, last in itertools.pairwise(cuts)], settings, Bars) == whole


@pytest.mark.slow
def test_a_run_on_files_is_audited_as_one_on_all_events(tmp_path: Path) -> None:
    events, files = market(5, feed_ms=20), []
    events = events[: len(events) // 3]  # an audit makes the run again many times
    for at in range(3):
        files.append(tmp_path / f"{at}.parquet")
        events[at * len(events) // 3 : (at + 1) * len(events) // 3].save(files[-1])
    honest = backtest(Quotes(), {"BTCUSDC": files}).audit()
    pd.testing.assert_frame_equal(honest.drop("trials"), backtest(Quotes(), {"BTCUSDC": events}).audit().drop("trials"))
    assert not honest["found"]["look-ahead"]


def test_trades_and_books_in_files_of_their_own_are_read_together(tmp_path: Path) -> None:
    events, files = market(7, feed_ms=20), []
    half = len(events) // 2
    about: dict[str, Any] = {"symbol": events.symbol, "tick_size": events.tick_size, "step_size": events.step_size}
    for day, part in enumerate((events[:half], events[half:])):
        trades = part.array["kind"] == Kind.TRADE
        for what, rows in (("trades", trades), ("book", ~trades)):
            files.append(tmp_path / f"{what}-{day}.parquet")
            Events(part.array[rows], **about).save(files[-1])
    joined = merge([data.load(file, format="parquet") for file in files])
    assert run(sorted(files), SETTINGS["power"]) == run(joined, SETTINGS["power"])


@pytest.mark.slow
def test_the_memory_is_that_of_one_file_however_many_there_are(tmp_path: Path) -> None:
    one = market(3, feed_ms=5)
    files = []
    for day in range(12):
        array = one.array.copy()
        for name in ("exchange_ns", "local_ns"):
            array[name] += day * 8_200 * MS
        files.append(tmp_path / f"{day:02}.parquet")
        Events(array, symbol=one.symbol, tick_size=one.tick_size, step_size=one.step_size).save(files[-1])

    class Looks(Strategy):
        timer_ms = 1_000

        def on_timer(self, ctx: Any) -> None:
            ctx.book()

    def peak(given: Any) -> int:
        tracemalloc.start()
        backtest(Looks(), {"BTCUSDC": given})
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(files[:2])  # what is imported and cached once
    few, many, at_once = peak(files[:3]), peak(files), peak(data.load(files, format="parquet"))
    assert many < 1.5 * few
    assert many < at_once / 3


def test_what_needs_all_events_at_once_says_so(tmp_path: Path) -> None:
    parts = [market(1, feed_ms=5)[:400], market(1, feed_ms=5)[400:]]
    with pytest.raises(InputError, match='queue "exact" needs loaded events'):
        backtest(Quotes(), {"BTCUSDC": parts}, queue="exact")
    with pytest.raises(InputError, match='latency "feed" needs loaded events'):
        backtest(Quotes(), {"BTCUSDC": parts}, latency="feed")
    with pytest.raises(InputError, match="there is no file"):
        backtest(Quotes(), {"BTCUSDC": [tmp_path / "none.parquet"]})
    other = Events(parts[1].array, symbol="ETHUSDC")
    with pytest.raises(InputError, match="the files are of BTCUSDC, ETHUSDC"):
        backtest(Quotes(), {"BTCUSDC": [parts[0], other]})
    bars = pd.DataFrame(
        {name: [1.0] for name in ("open", "high", "low", "close")}, index=pd.to_datetime([START], utc=True)
    )
    bars.rename_axis("time").reset_index().to_csv(tmp_path / "bars.csv", index=False)
    with pytest.raises(InputError, match="expected events of BTCUSDC"):
        backtest(Quotes(), {"BTCUSDC": [tmp_path / "bars.csv"]})
