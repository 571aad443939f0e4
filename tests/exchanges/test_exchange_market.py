"""A local venue follows a market of another exchange by ccxt's own client, through cuts and gaps, and records it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ccxt", reason="the extra ccxt is not installed")

import toolkit
from tests.exchanges.binance_server import CANDLES, FIRST_MS, RATES, BinanceServer, raw_messages
from toolkit.errors import InputError, StaleData, TransportError, UnknownProduct
from toolkit.exchanges import ExchangeMarket
from toolkit.exchanges.readings import changes_of
from toolkit.exchanges.watching import Feed, View
from toolkit.following import FollowingVenue
from toolkit.research import Strategy, backtest, data, record
from toolkit.venue.local import LocalVenue

SYMBOL = "BTC/USDT:USDT"


@pytest.fixture
def server() -> Iterator[BinanceServer]:
    with BinanceServer() as serving:
        yield serving


class Watcher:
    """Waits until something is so that an update or a change of state brought about; never for a time."""

    def __init__(self, market: ExchangeMarket) -> None:
        self._changed = threading.Condition()
        self.states: list[tuple[str, str]] = []
        for view in (market.order_book("BTCUSDC"), market.trades("BTCUSDC"), market.ticker("BTCUSDC")):
            view.on_update(lambda update: self._note())
            view.on_state(self._on_state)

    def _on_state(self, view: Any) -> None:
        self.states.append((view.subject.split()[-1], view.state))
        self._note()

    def _note(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, 60), self.states


def followed(server: BinanceServer, **options: Any) -> tuple[toolkit.Session, FollowingVenue, Watcher]:
    market = ExchangeMarket(server.client(), SYMBOL)
    session = toolkit.connect("local", follow=market, **options)
    venue = session.venue
    assert isinstance(venue, FollowingVenue)
    server.await_subscriptions()
    return session, venue, Watcher(market)


def levels(venue: LocalVenue, side: int, count: int = 200) -> list[tuple[float, float]]:
    return [(price / 10, steps / 1000) for price, steps in venue.host.core.books[1].depth(side, count)]


def same_book(venue: LocalVenue, server: BinanceServer) -> bool:
    return all(
        levels(venue, sign) == [pytest.approx(one) for one in server.levels(side, 200)]
        for sign, side in ((1, "b"), (-1, "a"))
    )


def test_the_raw_messages_of_a_recording_make_its_book_and_trades(server: BinanceServer) -> None:
    messages = [one for one in raw_messages() if one.get("e") in ("depthUpdate", "trade")][:90]
    begun = 20
    for message in messages[:begun]:
        server.send(message)
    session, venue, watcher = followed(server)
    with session:
        assert session.products().index.tolist() == ["BTCUSDC"]
        for message in messages[begun:]:
            server.send(message)
        expected = [
            (-1 if one["m"] else 1, float(one["p"]), float(one["q"])) for one in messages[begun:] if one["e"] == "trade"
        ]
        done = venue.host.core.state.history.trades[1]
        watcher.until(lambda: len(done) >= len(expected) and same_book(venue, server))
        assert [(one.side, one.price / 10, one.quantity / 1000) for one in done] == [
            (side, pytest.approx(price), pytest.approx(size)) for side, price, size in expected
        ]
        assert len(expected) > 10
        market = venue.host.core.state.markets[1]
        assert (market.mark, market.oracle) == (618_005, 618_101)
        assert venue.host.core.violations() == []


def test_a_cut_is_said_pauses_trading_and_ends_with_the_whole_book(server: BinanceServer) -> None:
    changes = server.updates(40)
    for _, message in zip(range(5), changes, strict=False):
        server.send(message)
    session, venue, watcher = followed(server)
    with session:
        server.refused.set()
        server.cut()
        lost, found = ("order_book", "reconnecting"), ("order_book", "live")
        watcher.until(lambda: lost in watcher.states)  # the venue has been told before
        assert venue.following.state == "stale"
        assert "reconnecting" in venue.following.reason
        with pytest.raises(StaleData, match="reconnecting"):
            venue.following.upstream.stream.order_book("BTCUSDC").assert_healthy()
        with pytest.raises(toolkit.ToolkitError, match="paused"):
            session.buy("BTCUSDC", "0.01")
        for _, message in zip(range(10), changes, strict=False):
            server.send(message)  # nobody hears it
        server.refused.clear()
        watcher.until(lambda: found in watcher.states[watcher.states.index(lost) :])
        server.await_subscriptions()
        for message in changes:
            server.send(message)
        watcher.until(lambda: venue.following.state == "live" and same_book(venue, server))
        assert not venue.host.core.state.markets[1].paused
        assert [note.split(":")[0] for note in venue.following.notes][-2:] == ["stale", "live"]
        session.buy("BTCUSDC", "0.01")


def test_a_missing_update_is_noticed_and_the_book_is_read_anew(server: BinanceServer) -> None:
    changes = server.updates(30)
    for _, message in zip(range(5), changes, strict=False):
        server.send(message)
    session, venue, watcher = followed(server)
    with session:
        asked = server.asked.count("depth")
        server.send(next(changes), skip=True)
        server.send(next(changes))
        watcher.until(lambda: ("order_book", "resyncing") in watcher.states)
        watcher.until(lambda: server.asked.count("depth") > asked)
        for message in changes:
            server.send(message)
        watcher.until(lambda: venue.following.state == "live" and same_book(venue, server))
        assert any("ChecksumError" in note for note in venue.following.notes)


def test_a_feed_in_which_nothing_comes_counts_as_lost_until_something_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.exchanges.watching.SILENCE_S", 0.01)

    async def tried() -> list[tuple[str, str]]:
        coming: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        calls, states, changed = [], [], asyncio.Event()

        async def watch() -> int:
            calls.append(1)
            return await (coming if len(calls) == 1 else asyncio.get_running_loop().create_future())

        def note(view: Any) -> None:
            states.append((view.state, view.reason))
            changed.set()
            if view.state == "reconnecting":
                coming.set_result(5)

        feed = Feed("book", watch, lambda got, whole: ("snapshot", [{"got": got}], None), False)
        View(feed).on_state(note)
        running = asyncio.ensure_future(feed.run())
        while ("live", "") not in states:
            changed.clear()
            await asyncio.wait_for(changed.wait(), 60)
        running.cancel()
        return states[:2]

    assert asyncio.run(tried()) == [("reconnecting", "nothing came for 0.01 s"), ("live", "")]


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_backtest_of_what_was_recorded_has_the_fills_of_the_live_run(
    server: BinanceServer, tmp_path: Path, side: str
) -> None:
    for message in server.updates(1):
        server.send(message)
    session, venue, _ = followed(server)
    sign = 1 if side == "BUY" else -1
    best, taker = f"{61_800 - sign * 0.1:.1f}", "sell" if side == "BUY" else "buy"
    with session:
        done = venue.host.core.state.history.trades[1]
        with record(venue.following.upstream, tmp_path / "tape", ["BTCUSDC"]) as recorder:
            watcher = Watcher(venue.following.upstream)  # notified after the recorder has written
            placed = session.place(toolkit.orders.limit("BTCUSDC", side, "0.3", best, tif="POST_ONLY"))
            # in all 0.9 are traded at this price: 0.5 were ahead, so 0.3 are filled, in two parts
            for number, size in enumerate(("0.400", "0.250", "0.250"), 1):
                server.send(server.trade(taker, best + "0", size, number))
                watcher.until(lambda number=number: recorder.rows["trades"] >= number)  # type: ignore[misc]
            placed.wait("filled", timeout=60)
        fills = session.fills()[["side", "price", "quantity", "role"]].to_numpy().tolist()
        assert len(fills) == 2
        assert len(done) >= 3
    tape = data.load(tmp_path / "tape", format="recording")

    class Once(Strategy):
        def on_start(self, ctx: Any) -> None:
            self.placed = False

        def on_book(self, ctx: Any, book: Any) -> None:
            if not self.placed:
                self.placed = True
                ctx.place(toolkit.orders.limit("BTCUSDC", side, "0.3", best, tif="POST_ONLY"))

    run = backtest(Once(), {"BTCUSDC": tape}, partial_fills=True, latency=("0ms", "0ms"), funding=None)
    assert run.fills[["side", "price", "quantity", "role"]].to_numpy().tolist() == fills


def test_candles_and_funding_rates_come_in_the_frames_of_a_session(server: BinanceServer) -> None:
    market = ExchangeMarket(server.client(), SYMBOL)
    with LocalVenue(clock="manual") as venue, toolkit.connect(venue=venue) as session:
        ours = session.klines("BTCUSDC", "1m", limit=3)
        rates = session.info.funding_rate_history("BTCUSDC")
    end = FIRST_MS + 60_000 * CANDLES
    candles = market.klines("1m", "2024-08-09", end)
    assert (candles.dtypes == ours.dtypes).all()
    assert (candles.index.name, candles.index.dtype) == (ours.index.name, ours.index.dtype)
    assert len(candles) == CANDLES  # in pages of 1,000
    assert candles.index.is_unique
    assert float(server.candle(FIRST_MS + 7 * 60_000)[4]) == candles["close"].iloc[7]
    assert candles["turnover"].isna().all()
    found = market.funding_rates("2024-08-09", "2024-10-01")
    assert list(found.columns) == list(rates.columns)
    assert (found.dtypes == rates.dtypes).all()
    assert found["funding_rate"].tolist() == pytest.approx([float(f"0.0001{at:04}") for at in range(RATES)])
    with pytest.raises(InputError, match="no candles of 7m"):
        market.klines("7m")
    market.close()
    market.close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"follow": "binanse:BTC/USDT:USDT"}, "no live feed of an exchange 'binanse'. It has binance"),
        ({"as_symbol": "BTCUSDC"}, "as_symbol is for a market of another exchange"),
        ({"follow": "mainnet", "as_symbol": "BTCUSDC"}, "as_symbol is for a market of another exchange"),
    ],
)
def test_what_can_not_be_followed_is_said_before_anything_is_asked(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        toolkit.connect("local", **options)


def test_an_unknown_market_names_the_near_ones_and_ends_its_thread(server: BinanceServer) -> None:
    before = threading.active_count()
    with pytest.raises(UnknownProduct, match=r"no market 'BTC/USDT'\. Similar ones are BTC/USDT:USDT"):
        toolkit.connect("local", follow=ExchangeMarket(server.client(), "BTC/USDT"))
    with pytest.raises(InputError, match="as_symbol 'DOGE' is not a product"):
        toolkit.connect("local", follow=ExchangeMarket(server.client(), SYMBOL, as_symbol="DOGE"))
    with pytest.raises(InputError, match="accounts can't be copied"):
        ExchangeMarket("binance", SYMBOL).info  # noqa: B018
    assert threading.active_count() <= before


def test_an_exchange_that_does_not_answer_is_an_error_of_the_transport(server: BinanceServer) -> None:
    client = server.client()
    client.urls["api"]["fapiPublic"] = "http://127.0.0.1:1/fapi/v1"
    with pytest.raises(TransportError, match="binance: "):
        toolkit.connect("local", follow=ExchangeMarket(client, SYMBOL))


def test_changes_turn_any_book_into_any_other() -> None:
    import numpy as np

    random = np.random.default_rng(1)
    before: dict[tuple[str, float], float] = {}
    for _ in range(200):
        now = {
            (side, float(random.integers(1, 30))): float(random.integers(1, 9))
            for side in ("BUY", "SELL")
            for _ in range(random.integers(0, 12))
        }
        made = dict(before)
        for item in changes_of(before, now):
            key = item["side"], float(item["price"])
            made.pop(key, None)
            if item["quantity"]:
                made[key] = float(item["quantity"])
        assert made == now
        before = now


def test_our_rules_of_money_fees_and_orders_apply(server: BinanceServer) -> None:
    for message in server.updates(1):
        server.send(message)
    session, venue, _ = followed(server)
    with session:
        before = session.wallet_balances()["balance"].sum()
        bought = session.buy("BTCUSDC", "0.6")  # more than the best level has
        assert bought.filled == Decimal("0.6")
        fill = session.fills()
        assert fill["price"].tolist() == [61800.1, 61800.2]
        paid = float(session.fee_rates().loc["BTCUSDC", "taker"]) if "taker" in session.fee_rates() else None
        assert session.wallet_balances()["balance"].sum() < before
        assert paid is None or paid > 0
        with pytest.raises(InputError, match="tickSize"):
            session.buy("BTCUSDC", "0.01", price="61800.05")
        assert venue.host.core.violations() == []
