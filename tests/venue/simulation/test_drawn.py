"""A seed gives the same numbers everywhere: volatility, news, orders, queues, premiums, and the past before genesis.

Everything here is computed with integers, so these numbers are the same with each Python, numpy and platform. If one of
them changes, then saved venues, journals and notebooks continue in another market: say so in the changelog.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from toolkit.venue.model.genesis import GENESIS_TIME
from toolkit.venue.model.market import Maker, Market, ProductFlow
from toolkit.venue.simulation import noise, order_flow, past
from toolkit.venue.simulation.order_flow import FlowSource

MINUTE = 60_000
HOUR = 60 * MINUTE
FIRST = GENESIS_TIME // MINUTE
WILD = Market(
    seed=5, clustering=(), jump_minutes=7, jump_ppm=50_000, informed_ppm=1_000_000, momentum_ppm=300_000,
    hedging_ppm=200_000, forced_ppm=400_000, premium_ppm=10_000, makers=(Maker(9, 8, 7, 6, 5, 4, 3),),
    products={"BTCUSDC": ProductFlow(500_000, 0, 20_000_000, 3), "DOGEUSDC": ProductFlow(1, 1_000_000, 0, 9)},
)  # fmt: skip
SOURCES = {
    "usual": (order_flow.source_of(Market(), 7, 1, "BTCUSDC"), "usual"),
    "wild": (order_flow.source_of(WILD, 0, 1, "BTCUSDC"), "stressed"),
}
STARTS = {"wild": 2**31 - 1}
"""Prices at genesis, in ticks, where it is not 600,000: the highest that has a past."""

DRAWN: dict[str, dict[str, Any]] = {
    "usual": {
        "sizes": (632455, 136179, 613481, 153752),
        "volatility": ([673406, 769580, 769580], "35d6380ba7c9"),
        "returns": ([-155864, 355156, -32091], "eeff94776255"),
        "premium": ([-349, -370, -390], "6ba1f369f526"),
        "jumps": ([37, 33], "41fd8296869b"),
        "news": [(720, "2ec5fc63c553"), (720, "93c615b9a824"), (720, "81122c3e5483")],
        "orders": [(604, "2813659c0f73"), (752, "38dbc799e4cb"), (604, "d4bff4b75dfd")],
        "first orders": [(16962, 2, -1, 3200000000), (17571, 2, 1, 2400000000)],
        "queues": ["d5bb4172b089", "bed1d102e362", "c13140f655c2"],
        "first queues": [362, 256, 444, 2978, 1498, 501],
        "premiums": ([581, 580], "70f37a07bdfd"),
    },
    "wild": {
        "sizes": (13176156, 1756820, 0, 13176156),
        "volatility": ([1000000, 1000000, 1000000], "bb75adfb7f0a"),
        "returns": ([23175356, -31142978, 25236555], "1c417c7007ff"),
        "premium": ([-17201, -17613, -18025], "32b03f853458"),
        "jumps": ([2792, 2807], "fedc7fe1a311"),
        "news": [(789, "b93167c9edff"), (791, "2749346c4b5f"), (789, "f02ae68f055a")],
        "orders": [(4678, "da3997bf3cf3"), (4768, "a2ac75b78098"), (4717, "8389487fa749")],
        "first orders": [(765, 5, 1, 1027472), (1117, 5, 1, 1000000)],
        "queues": ["f3231bebbd6c", "33af105941c5", "73730dc8fa58"],
        "first queues": [1665, 2551, 362, 355, 230, 63],
        "premiums": ([-11397, -11466], "bac3593ba48c"),
    },
}
BEFORE: dict[str, dict[str, Any]] = {
    "usual": {
        "minutes": (1499, (600550, 600555, 599992, 600000, 184, 11045046200, 8), "1f53f79813b2"),
        "days": (95, (581065, 604043, 569221, 599371), "263c04210449"),
        "trades": ([(-500, 1767223241231, 1, -1, 591438, 68)], "1a499a06f6ad"),
        "settlements": [172800000, 28800000],
        "premiums": ([543, -337, -84], "bb6284c352a6"),
        "prices": [586605, 592280, 600398],
    },
    "wild": {
        "minutes": (1499, (2097942543, 2147901587, 2094236672, 2147483647, 1, 212189111225, 38), "900fdabfac05"),
        "days": (95, (15867877136, 15918111946, 15817032187, 15867877136), "9111413389fb"),
        "trades": ([(-500, 1767195634016, 1, -1, 290630303, 1)], "1368cc9dbf86"),
        "settlements": [172800000, 28800000],
        "premiums": ([6602, -6767, 14], "7a3cb6c128db"),
        "prices": [1511906199, 290630303, 290630303],
    },
}


def digest(value: Any) -> str:
    """Return a short digest of whole numbers in lists and tuples."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:12]


def drawn(source: FlowSource, regime: str) -> dict[str, Any]:
    """Return what is drawn for a source: the first numbers of each kind, and a digest of many."""
    heat = order_flow.volatility(source, FIRST - 777, 10_000).tolist()
    moved = order_flow.minute_returns(source, np.array(heat), FIRST - 777).tolist()
    premium = order_flow.premium(source, FIRST - 5_000, 3_000, 10).tolist()
    jumps = [[part.tolist() for part in order_flow.jumps(source, owner, FIRST, 20_000)] for owner in (0, source.code)]
    found: dict[str, Any] = {
        "sizes": (source.minute_parts, source.usual_news, *source.shares),
        "volatility": (heat[:3], digest(heat)),
        "returns": (moved[:3], digest(moved)),
        "premium": (premium[:3], digest(premium)),
        "jumps": ([len(jumps[0][0]), len(jumps[1][0])], digest(jumps)),
    }
    blocks = [order_flow.block(source, Market.scales(regime), FIRST // 60 + at) for at in range(3)]
    first = blocks[1]
    found["news"] = [(len(block.news), digest((block.news_times, block.news))) for block in blocks]
    found["orders"] = [(len(block.orders), digest((block.order_times, block.orders))) for block in blocks]
    found["first orders"] = [(first.order_times[at] - FIRST * MINUTE - HOUR, *first.orders[at]) for at in range(2)]
    found["queues"] = [
        digest([part.tolist() for part in (block.queue_times, block.bid_queues, block.ask_queues)]) for block in blocks
    ]
    found["first queues"] = [*first.bid_queues.tolist()[:3], *first.ask_queues.tolist()[:3]]
    found["premiums"] = (first.premiums[:2], digest([block.premiums for block in blocks]))
    return found


def before(source: FlowSource, start: int) -> dict[str, Any]:
    """Return the past of a source before a genesis within a minute, from a price in ticks."""
    genesis = GENESIS_TIME + 12_345
    known = past.Past(source, genesis, start, 100)
    minutes = [_row(bar) for bar in past.candles(known, genesis - 25 * HOUR, genesis)]
    days = [_row(bar) for bar in past.candles(known, GENESIS_TIME - 95 * 24 * HOUR, GENESIS_TIME, 24 * HOUR)]
    trades = [_trade(trade) for trade in past.trades(known, 500)]
    times = list(past.settlements(known, 8 * HOUR, genesis - 50 * HOUR, genesis))
    premiums = [past.premium_before(known, span, at) for span in (HOUR, 8 * HOUR) for at in times]
    return {
        "minutes": (len(minutes), minutes[-1][1:], digest(minutes)),
        "days": (len(days), days[0][1:5], digest(days)),
        "trades": (trades[:1], digest(trades)),
        "settlements": [GENESIS_TIME - time for time in (times[0], times[-1])],
        "premiums": (premiums[:3], digest(premiums)),
        "prices": [past.price_before(known, at) for at in times][:3],
    }


def _row(bar: Any) -> tuple[int, ...]:
    return bar.start, bar.open, bar.high, bar.low, bar.close, bar.volume, bar.turnover, bar.count


def _trade(trade: Any) -> tuple[int, ...]:
    return trade.id, trade.time, trade.product, trade.side, trade.price, trade.quantity


@pytest.mark.parametrize("name", SOURCES)
def test_a_seed_draws_the_same_volatility_news_orders_and_queues_everywhere(name: str) -> None:
    assert drawn(*SOURCES[name]) == DRAWN[name]


@pytest.mark.parametrize("name", SOURCES)
def test_a_seed_gives_the_same_past_before_genesis_everywhere(name: str) -> None:
    assert before(SOURCES[name][0], STARTS.get(name, 600_000)) == BEFORE[name]


def test_every_part_of_a_source_changes_what_is_drawn() -> None:
    """A product, a seed of the venue and a seed of the market each have their own flow."""
    one = order_flow.source_of(Market(), 7, 1, "BTCUSDC")
    others = [
        order_flow.source_of(Market(), 8, 1, "BTCUSDC"),
        order_flow.source_of(Market(seed=1), 7, 1, "BTCUSDC"),
        one._replace(code=2),
    ]
    scales, number = Market.scales("usual"), FIRST // 60
    drawn_each = [order_flow.block(source, scales, number) for source in (one, *others)]
    for part in ("news_times", "news", "order_times", "orders", "premiums", "bid_queues", "ask_queues"):
        assert len({digest(list(getattr(block, part))) for block in drawn_each}) == 4, part


def test_random_numbers_have_the_values_of_their_definitions() -> None:
    assert noise.mix(1, 2, 3) == 15_020_427_595_393_229_491
    word = noise.words(3, np.arange(4))
    assert noise.bits(word, 60, 4).tolist() == [int(each) >> 60 for each in word]
    assert noise.bits(word, 3, 5).tolist() == [int(each) >> 3 & 31 for each in word]
    for one, found in zip(word.tolist(), noise.normals(word).tolist(), strict=True):
        total = sum(one >> shift & 0xFFFF for shift in (0, 16, 32, 48))
        assert found == (total - 2 * 65_535) * 1_000_000 // 37_837  # four uniform numbers less their mean
    assert noise.log_of_ppm(np.array([0, 1_000_000, -500_000])).tolist() == [0, 1 << 24, -1 << 23]


def test_the_past_has_minutes_from_1200_days_before_genesis_to_its_minute_and_none_beyond() -> None:
    source, genesis = SOURCES["usual"][0], GENESIS_TIME + 12_345
    known = past.Past(source, genesis, 600_000, 100)
    edge = GENESIS_TIME
    assert known.earliest == edge - 1_200 * 24 * HOUR
    whole = [bar.start for bar in past.candles(known, edge - 3 * MINUTE, edge + HOUR)]
    assert whole == [edge - 3 * MINUTE, edge - 2 * MINUTE, edge - MINUTE]
    for start, end, wanted in (
        (edge - 3 * MINUTE + 1, edge, whole[1:]),
        (edge - 3 * MINUTE, edge - MINUTE, whole[:2]),
        (edge - 3 * MINUTE, edge - MINUTE + 1, whole),
        (edge - MINUTE, edge - MINUTE, []),
        (edge, edge + MINUTE, []),
    ):
        assert [bar.start for bar in past.candles(known, start, end)] == wanted
    oldest = past.candles(known, 0, known.earliest + 2 * MINUTE)
    assert [bar.start for bar in oldest] == [known.earliest, known.earliest + MINUTE]
    assert [bar.start for bar in past.candles(known, 0, known.earliest + HOUR, HOUR)] == [known.earliest]


def test_hours_of_a_window_within_hours_are_joined_of_its_minutes_only() -> None:
    known = past.Past(SOURCES["usual"][0], GENESIS_TIME + 12_345, 600_000, 100)
    start, end = GENESIS_TIME - 3 * HOUR + 5 * MINUTE, GENESIS_TIME - 7 * MINUTE
    minutes = list(past.candles(known, start, end))
    hours = list(past.candles(known, start, end, HOUR))
    assert [bar.start for bar in hours] == [GENESIS_TIME - at * HOUR for at in (3, 2, 1)]
    assert [bar.count for bar in hours] == [
        sum(each.count for each in minutes if each.start // HOUR == bar.start // HOUR) for bar in hours
    ]
    assert (hours[0].open, hours[-1].close) == (minutes[0].open, minutes[-1].close)


def test_a_price_of_more_than_31_bits_has_no_past_and_stays_what_it_is() -> None:
    source, genesis = SOURCES["usual"][0], GENESIS_TIME
    for start, count in ((2**31 - 1, 60), (2**31, 0)):
        known = past.Past(source, genesis, start, 1)
        assert len(list(past.candles(known, genesis - HOUR, genesis))) == count
        assert len(past.trades(known, 20)) == (20 if count else 0)
        assert (past.price_before(known, genesis - HOUR) == start) == (not count)


def test_settlements_before_genesis_are_whole_intervals_of_which_all_premiums_are_known() -> None:
    known = past.Past(SOURCES["usual"][0], GENESIS_TIME + 12_345, 600_000, 100)
    every = 8 * HOUR
    found = past.settlements(known, every, 0, GENESIS_TIME * 2)
    assert found[0] == -(-known.earliest // every) * every + every
    assert found[-1] == GENESIS_TIME - every
    day = GENESIS_TIME - 24 * HOUR
    assert list(past.settlements(known, every, day, day + every)) == [day, day + every]
    assert list(past.settlements(known, every, day + 1, day + every - 1)) == []
    assert list(past.settlements(known, every, day + every, day)) == []


@pytest.mark.parametrize("end", [GENESIS_TIME - 24 * HOUR, GENESIS_TIME, GENESIS_TIME + MINUTE])
@pytest.mark.parametrize("hours", [1, 4])
def test_whole_hours_are_answered_from_kept_hours(end: int, hours: int) -> None:
    known = past.Past(order_flow.source_of(Market(), end, hours, "BTCUSDC"), GENESIS_TIME + 2 * MINUTE, 600_000, 100)
    start = GENESIS_TIME - 48 * HOUR
    before = past._hours.cache_info().misses
    assert list(past.candles(known, start, end + 1, hours * HOUR))
    assert past._hours.cache_info().misses == before, "the window ends within an hour"
    bars = list(past.candles(known, start, end if end < GENESIS_TIME else end + 9 * HOUR, hours * HOUR))
    assert past._hours.cache_info().misses > before
    assert [bar.start for bar in bars][:2] == [start, start + hours * HOUR]
