"""A seed gives the same numbers everywhere: volatility, news, orders, queues, premiums, and the past before genesis.

Everything here is computed with integers, so these numbers are the same with each Python, numpy and platform. If one of
them changes, then saved venues, journals and notebooks continue in another market: say so in the changelog.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from tests.support.tuples import changed
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
def test_a_seed_gives_the_same_past_before_genesis_everywhere(name: str) -> None:
    assert before(SOURCES[name][0], STARTS.get(name, 600_000)) == BEFORE[name]


def test_every_part_of_a_source_changes_what_is_drawn() -> None:
    """A product, a seed of the venue and a seed of the market each have their own flow."""
    one = order_flow.source_of(Market(), 7, 1, "BTCUSDC")
    others = [
        order_flow.source_of(Market(), 8, 1, "BTCUSDC"),
        order_flow.source_of(Market(seed=1), 7, 1, "BTCUSDC"),
        changed(one, code=2),
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
