"""Events, trades and candles of matching, and the orders the venue itself places."""

from __future__ import annotations

import pytest

from tests.venue.floor import ADA, BOB, CYD, Floor
from tests.venue.storms import Storm, storm_core
from toolkit.venue.engine import changes as ev
from toolkit.venue.engine.commands import Refused
from toolkit.venue.model.constants import ADL, IOC, LIQUIDATION, REDUCE_ONLY
from toolkit.venue.model.history import ClosedPosition, OrderEvent, PublicTrade
from toolkit.venue.trading.matching import trade_off_book
from toolkit.venue.trading.placing import close_out, submit


def test_book_changes_add_up_to_the_book_with_sequences_without_gaps() -> None:
    core = storm_core(21)
    core.events.clear()
    levels: dict[tuple[int, int], dict[int, int]] = {(code, side): {} for code in core.products for side in (1, -1)}
    sequences = dict.fromkeys(core.products, 0)
    for command in Storm(core, 21).commands(600):
        core.apply(command)
        for event in core.events:
            if isinstance(event, ev.BookChange):
                sequences[event.product] += 1
                assert event.sequence == sequences[event.product]
                if event.total:
                    levels[event.product, event.side][event.price] = event.total
                else:
                    del levels[event.product, event.side][event.price]
        core.events.clear()
        for (code, side), found in levels.items():
            assert dict(core.books[code].depth(side, 10_000)) == found
    assert min(sequences[1], sequences[2]) > 50


def test_events_tell_every_trade_and_order_event_once_in_order() -> None:
    core = storm_core(23)
    core.events.clear()
    trades, changes = [], []
    for command in Storm(core, 23).commands(400):
        core.apply(command)
        trades += [event for event in core.events if isinstance(event, PublicTrade)]
        changes += [event for event in core.events if isinstance(event, OrderEvent)]
        closed = [event for event in core.events if isinstance(event, ClosedPosition)]
        assert all(record in core.state.history.closed_positions.records for record in closed)
        core.events.clear()
    history = core.state.history
    assert trades == sorted((trade for each in history.trades.values() for trade in each), key=lambda trade: trade.id)
    assert changes == history.order_events.records
    assert [change.id for change in changes] == list(range(1, len(changes) + 1))
    for address, found in history.fills.items():
        assert [history.order_events.records[at] for at in found] == [
            change for change in changes if change.exec_id and change.address == address
        ]


def test_candles_are_the_trades_of_their_minute() -> None:
    core = storm_core(24)
    for command in Storm(core, 24).commands(600):
        core.apply(command)
        core.events.clear()
    for code, product in core.products.items():
        trades, candles = core.state.history.trades[code], core.state.history.candles[code]
        assert [candle.start for candle in candles] == sorted({trade.time - trade.time % 60_000 for trade in trades})
        for candle in candles:
            own = [trade for trade in trades if trade.time - trade.time % 60_000 == candle.start]
            prices = [trade.price for trade in own]
            assert (candle.open, candle.high, candle.low, candle.close) == (
                prices[0],
                max(prices),
                min(prices),
                prices[-1],
            )
            assert candle.count == len(own)
            assert candle.volume == sum(trade.quantity for trade in own)
            assert candle.turnover == sum(trade.quantity * trade.price * product.unit for trade in own)
    assert len(core.state.history.candles[1]) > 3


def test_the_venue_places_orders_in_integers_through_the_same_rules() -> None:
    floor = Floor()
    core, product = floor.core, floor.product
    maker = submit(core, floor.account(BOB), product, -1, 5, 600_100)
    taker = submit(core, floor.account(ADA), product, 1, 3, tif=IOC)
    assert (maker.filled, taker.filled, floor.legs(ADA)) == (3, 3, (3, 0))
    bounded = submit(core, floor.account(ADA), product, 1, 1, tif=IOC, bound_ticks=600_099)
    assert bounded.filled == 0
    with pytest.raises(Refused, match="no long position"):
        submit(core, floor.account(CYD), product, -1, 1, 600_000, reduce=REDUCE_ONLY)


def test_closing_out_takes_what_the_book_has_within_its_bound() -> None:
    floor = Floor()
    floor.order(BOB, "SELL 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.005 at 60000.0")
    floor.order(CYD, "BUY 0.002 at 59500.0")
    floor.order(CYD, "BUY 0.009 at 59000.0")
    order = close_out(floor.core, floor.account(ADA), floor.product, -1, 5, 595_000, LIQUIDATION)
    assert (order.filled, floor.status(order.id), order.type) == (2, "CANCELED", LIQUIDATION)
    assert floor.legs(ADA) == (3, 0)


@pytest.mark.parametrize("hedged", [(), (ADA, BOB)])
def test_a_trade_outside_the_book_closes_both_sides_and_what_hung_on_them(hedged: tuple[str, ...]) -> None:
    floor = Floor(*hedged)
    floor.order(BOB, "SELL 0.005 at 60000.0")
    floor.order(ADA, "BUY 0.005 at 60000.0")
    close = "SELL_CLOSE_HEDGE" if hedged else "SELL"
    resting = floor.order(ADA, f"{close} 0.005 at 61000.0" + ("" if hedged else " REDUCE_ONLY"))
    waiting = floor.order(ADA, f"{close} 0 SL when 59000")
    buy, sell = trade_off_book(
        floor.core, floor.product, floor.account(BOB), floor.account(ADA), 5, 590_000, ADL, floor.account(BOB)
    )
    assert [floor.status(each.id) for each in (buy, sell)] == ["FILLED", "FILLED"]
    assert [(each.type, each.closing) for each in (buy, sell)] == [(ADL, bool(hedged))] * 2
    assert (floor.legs(ADA), floor.legs(BOB)) == ((0, 0), (0, 0))
    assert [floor.status(each.id) for each in (resting, waiting)] == ["CANCELED", "CANCELED"]
    assert floor.position(ADA).pnl == -5_000_000
    assert len(floor.core.state.history.trades[1]) == 1, "it is no public trade"
    assert floor.core.state.markets[1].last == 600_000
    assert floor.core.state.markets[1].open_interest == 0
